#include "engine/run/prompt_feeder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/run/model_text.h"

namespace offstage::engine {

bool PromptFeeder::feed(std::span<const TokenId> tokens, const std::stop_token& stop) {
    KvSequence& sequence = steps_.conversation().sequence();
    const auto n_prompt = static_cast<std::int64_t>(tokens.size());
    // States are kept for a place shortly before the prompt's end: another answer begins
    // there, and so does the next turn if the template writes the prompt's end
    // differently.
    constexpr auto kBehindState = static_cast<std::size_t>(kPromptEndTokens);
    const bool has_states = sequence.cache().has_states() && tokens.size() > kBehindState;
    while (!tokens.empty()) {
        steps_.begin();
        std::size_t n = std::min(tokens.size(), steps_.max_tokens());
        if (has_states && tokens.size() == kBehindState) sequence.checkpoint();
        if (has_states && tokens.size() > kBehindState) n = std::min(n, tokens.size() - kBehindState);
        const bool last = n == tokens.size();
        const Segment segment{&sequence, tokens.first(n)};
        if (steps_.run({&segment, 1}, last ? Forward::Logits::kLast : Forward::Logits::kNone, stop, n_prompt) !=
            Forward::Outcome::kDone) {
            return false;
        }
        tokens = tokens.subspan(n);
    }
    return true;
}

bool PromptFeeder::feed_scored(const std::vector<TokenId>& prompt, int n_alternatives, const std::stop_token& stop,
                               std::vector<TokenChoice>& choices) {
    // A step keeps the logits of all its tokens.
    constexpr std::size_t kLogitsAtOnce = std::size_t{16} << 20;  // 64 MiB
    LoadedModel& model = steps_.model();
    const auto vocab = static_cast<std::size_t>(model.spec().vocab_size);
    const std::size_t most_rows = std::max(kLogitsAtOnce / vocab, std::size_t{1});
    const ModelText text(model);
    TokenChoice first;
    first.chosen = {prompt.front(), std::numeric_limits<double>::quiet_NaN()};
    text.describe(first);
    choices.push_back(std::move(first));
    for (std::span<const TokenId> left(prompt); !left.empty();) {
        steps_.begin();
        const Segment segment{&steps_.conversation().sequence(),
                              left.first(std::min({left.size(), most_rows, steps_.max_tokens()}))};
        left = left.subspan(segment.tokens.size());
        if (steps_.run({&segment, 1}, Forward::Logits::kAll, stop, static_cast<std::int64_t>(prompt.size())) !=
            Forward::Outcome::kDone) {
            return false;
        }
        // A token's row has the probabilities of the next token. The row of the prompt's
        // last token belongs to the answer.
        const std::span<const float> logits = model.forward().logits();
        for (std::size_t i = 0; i < segment.tokens.size() && choices.size() < prompt.size(); ++i) {
            choices.push_back(text.choice(logits.subspan(i * vocab, vocab), prompt[choices.size()], n_alternatives));
        }
    }
    return true;
}

}  // namespace offstage::engine
