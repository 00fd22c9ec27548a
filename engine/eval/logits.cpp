#include "engine/eval/logits.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"

namespace offstage::engine {

std::vector<std::vector<float>> compute_logits(LoadedModel& model, std::span<const TokenId> tokens, bool all) {
    const ModelSpec& spec = model.spec();
    const auto n_tokens = static_cast<std::int64_t>(tokens.size());
    if (tokens.empty()) throw Error(ErrorKind::kInvalidInput, messages::no_tokens_given);
    const std::int64_t room = model.plan().context;
    if (n_tokens > room) {
        throw Error(ErrorKind::kInvalidInput, messages::tokens_beyond_context(n_tokens, model.summary().name, room));
    }
    for (const TokenId token : tokens) {
        if (token >= 0 && token < spec.vocab_size) continue;
        throw Error(ErrorKind::kInvalidInput,
                    messages::token_outside_vocabulary(token, model.summary().name, spec.vocab_size - 1));
    }
    KvSequence sequence = model.new_sequence();
    std::vector<std::vector<float>> rows;
    while (!tokens.empty()) {
        const std::size_t n = std::min(tokens.size(), static_cast<std::size_t>(model.forward().max_step()));
        const bool last = n == tokens.size();
        const auto wanted = all ? Forward::Logits::kAll : last ? Forward::Logits::kLast : Forward::Logits::kNone;
        const Segment segment{&sequence, tokens.first(n)};
        require_done(model.forward().step({&segment, 1}, wanted, {}, n_tokens), model.device());
        const std::span<const float> logits = model.forward().logits();
        const auto width = static_cast<std::size_t>(spec.vocab_size);
        for (std::size_t row = 0; row < logits.size(); row += width) {
            rows.emplace_back(logits.begin() + static_cast<std::ptrdiff_t>(row),
                              logits.begin() + static_cast<std::ptrdiff_t>(row + width));
        }
        tokens = tokens.subspan(n);
    }
    return rows;
}

}  // namespace offstage::engine
