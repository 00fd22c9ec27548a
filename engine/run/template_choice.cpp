#include "engine/run/template_choice.h"

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/model/model_finder.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "engine/text/family_templates.h"
#include "engine/text/go_template.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxGivenTemplateBytes = 1u << 20;

std::string bos_of(const Tokenizer& tokenizer) {
    const bool begins = tokenizer.adds_bos() && tokenizer.bos() >= 0;
    return begins ? tokenizer.piece_name(tokenizer.bos()) : std::string();
}

}  // namespace

TemplateChoice choose_chat_template(const std::filesystem::path& model, const std::string& chosen,
                                    const Tokenizer& tokenizer) {
    if (!chosen.empty()) {
        if (const std::string jinja = family_template(chosen); !jinja.empty()) {
            return {ChatTemplate::parse(jinja, chosen), {}, {}};
        }
        const auto text = read_small_file(chosen, kMaxGivenTemplateBytes);
        if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_chat_template(chosen, family_template_names()));
        return {parse_either_template(*text, chosen, bos_of(tokenizer)), {}, {}};
    }
    const auto manifest = ollama_manifest_of(std::filesystem::absolute(model).lexically_normal());
    if (!manifest || !manifest->template_first) {
        if (auto own = ChatTemplate::read(model_path(model))) return {std::move(own), {}, {}};
    }
    auto kept = manifest ? read_chat_template(*manifest, bos_of(tokenizer)) : nullptr;
    if (kept == nullptr) return {};
    return {std::move(kept), messages::template_of_ollama(manifest->name), {}};
}

TemplateChoice try_chat_template(const std::filesystem::path& model, const std::string& chosen,
                                 const Tokenizer& tokenizer) {
    TemplateChoice choice;
    try {
        choice = choose_chat_template(model, chosen, tokenizer);
        if (choice.chat == nullptr) return choice;
        const auto name = [&](TokenId token) { return token < 0 ? std::string() : tokenizer.piece_name(token); };
        choice.chat->render({{Role::kUser, "Hi"}}, {name(tokenizer.bos()), name(tokenizer.eos())}, true);
    } catch (const Error& error) {
        choice.problem = messages::template_unusable(error.message());
    }
    return choice;
}

}  // namespace offstage::engine
