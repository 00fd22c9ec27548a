// Families that are known by name, and what each needs that is not here.

#include <algorithm>
#include <array>

#include "engine/error.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

struct RefusedFamily {
    const MessageCode<0>* lacks = nullptr;
    // Classes and model types of config.json, general.architecture of GGUF.
    std::array<std::string_view, 4> names;
};

constexpr std::array kRefused = {
    RefusedFamily{&messages::embeddings_of_n_grams,
                  {"Qwen4ExpForCausalLM", "Qwen4ExpForConditionalGeneration", "qwen4_exp", "qwen4exp"}},
    RefusedFamily{&messages::experts_of_several_sizes, {"NemotronHPuzzleForCausalLM", "nemotron_h_puzzle"}},
    RefusedFamily{&messages::layers_of_mamba1, {"JambaForCausalLM", "jamba"}},
    RefusedFamily{&messages::a_decay_of_each_channel, {"KimiLinearForCausalLM", "kimi_linear", "kimi-linear"}},
    RefusedFamily{&messages::lightning_attention,
                  {"MiniMaxForCausalLM", "MiniMaxM1ForCausalLM", "minimax", "minimax-01"}},
};

}  // namespace

void refuse_by_name(const std::string& source, std::string_view name) {
    const auto found = std::ranges::find_if(kRefused, [&](const RefusedFamily& family) {
        return std::ranges::find(family.names, name) != family.names.end();
    });
    if (name.empty() || found == kRefused.end()) return;
    throw Error(ErrorKind::kUnsupported, messages::family_needs(source, in_quotes(name), *found->lacks));
}

}  // namespace offstage::engine
