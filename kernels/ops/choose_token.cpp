#include "kernels/ops/choose_token.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace offstage::kernels::ops {

void compute(CpuWorker&, const ChooseToken& op) {
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    const TokenRule& rule = *op.rule;
    const std::int32_t* const seen = rule.listed + rule.n_never;
    const auto logit_of = [&](std::int32_t token) {
        const float x = op.logits[token];
        if (std::isnan(x) || x == kNever || std::count(rule.listed, seen, token) > 0) return kNever;
        const float finite = std::min(x, kLargestLogit);
        const bool counts =
            rule.repeat_penalty != 1.0f && (token == *op.last || std::count(seen, seen + rule.n_seen, token) > 0);
        return counts ? penalised(finite, rule.repeat_penalty) : finite;
    };
    // The best so far in order: tokens rise, so an equal one goes behind them.
    std::array<TokenCandidate, TokenRule::kMostBest> best;
    std::size_t n = 0;
    const auto most = static_cast<std::size_t>(rule.top_k);
    for (std::int32_t token = 0; token < op.vocab_size; ++token) {
        const float logit = logit_of(token);
        if (logit == kNever || (n == most && logit <= best[n - 1].logit)) continue;
        std::size_t at = n < most ? n++ : n - 1;
        for (; at > 0 && logit > best[at - 1].logit; --at) best[at] = best[at - 1];
        best[at] = {logit, token, 1.0};
    }
    std::int32_t token = n > 0 ? best[0].token : -1;
    if (n > 0 && rule.temperature > 0.0f) {
        for (std::size_t i = 0; i < n; ++i) best[i].weight = weight_of(best[i].logit, best[0].logit, rule.temperature);
        const int kept = kept_by_top_p(best.data(), static_cast<int>(n), rule.top_p);
        token = draw_token(best.data(), kept, rule.min_p, best[0].logit, rule.random);
    }
    op.chosen[0] = token;
    op.chosen[1] = std::max(token, 0);
}

}  // namespace offstage::kernels::ops
