#include "engine/eval/step_model.h"

#include <algorithm>

namespace offstage::engine {

void feed_prompt(StepModel& model, std::span<const TokenId> tokens, const std::stop_token& stop) {
    const auto n_prompt = static_cast<std::int64_t>(tokens.size());
    while (!tokens.empty()) {
        const std::size_t n = std::min(tokens.size(), static_cast<std::size_t>(model.max_step()));
        model.feed(tokens.first(n), n_prompt, n == tokens.size(), stop);
        tokens = tokens.subspan(n);
    }
}

}  // namespace offstage::engine
