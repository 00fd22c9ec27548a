#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/sampler_settings.h"
#include "kernels/token_rule.h"

namespace offstage::engine {

class TokenMask;

// Which tokens may be chosen.
class TokenFilter {
  public:
    virtual ~TokenFilter() = default;

    // Whether a few tokens are best asked for one by one: mask() would look through much
    // of the vocabulary.
    virtual bool is_costly() = 0;
    virtual bool allows(TokenId token) = 0;
    // All of them; at least one. Valid until the next token.
    virtual const TokenMask& mask() = 0;
};

// Throws Error (kInvalidInput) naming the first field out of its range.
void validate(const SamplerSettings& settings);

// The seed of the answer with this number, if several are drawn from one seed: `seed`
// itself for number 0, otherwise a hash of both, so that the answers of neighbouring
// seeds differ.
std::uint64_t answer_seed(std::uint64_t seed, std::uint64_t answer);

// Chooses the next token from the logits of one position. Every filter works on the
// renormalised distribution of the filter before it; ties prefer the smaller token id.
// Random numbers come from std::mt19937_64 through our own mapping, so a seed gives the
// same choices with every standard library. Not thread-safe: one per answer.
class Sampler {
  public:
    // `seed` is used unchanged (if settings.seed is 0, the caller has drawn one). Throws
    // as validate() does.
    explicit Sampler(const SamplerSettings& settings, std::uint64_t seed);

    // The answer's next token. `logits`: [vocab_size]; `recent`: the tokens so far,
    // newest last, of which the last repeat_window count, or all (ids outside the
    // vocabulary are ignored). A logit that is NaN or -infinity is never chosen;
    // +infinity beats every number. Returns -1 when no logit can be chosen. Never throws
    // for its input, as far as `allowed` does not; allocates only when vocab_size grows.
    // allowed: decides before all other filters; nullptr: all may be chosen.
    TokenId sample(std::span<const float> logits, std::span<const TokenId> recent, TokenFilter* allowed = nullptr);

    // A device's part: the rule of the choice that follows n_ahead others, for a step
    // whose token, the newest, is known to the device. never: tokens that are not chosen;
    // before: the tokens before the newest. nullopt: the host must choose.
    std::optional<kernels::TokenRule> rule(std::size_t n_ahead, std::int64_t vocab_size, std::span<const TokenId> never,
                                           std::span<const TokenId> before);
    // A token was chosen by rule(0).
    void count_choice();

  private:
    using Candidate = kernels::TokenCandidate;

    static bool is_better(const Candidate& a, const Candidate& b) {
        return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
    }

    // Whether settings need the host's own bookkeeping.
    bool has_bias() const { return has_penalty() || !settings_.logit_bias.empty(); }
    bool has_penalty() const { return settings_.presence_penalty != 0.0f || settings_.frequency_penalty != 0.0f; }

    TokenId choose(std::span<const float> logits, std::span<const TokenId> recent, TokenFilter* allowed);
    // The candidates become the n best allowed tokens, sorted. False: there are fewer among
    // the best, and no candidates.
    bool collect_allowed(TokenFilter& allowed, std::size_t n);
    void keep_allowed(const TokenMask& allowed);
    void add_bias();
    void penalise(std::span<const TokenId> recent);
    void penalise_chosen();
    TokenId best() const;
    void collect();                    // every choosable token, by id
    void collect_best(std::size_t n);  // sorted
    void keep_top_p();
    std::uint64_t random(std::size_t n_ahead);

    SamplerSettings settings_;
    std::mt19937_64 random_;
    std::vector<std::uint64_t> drawn_;     // of the next choices
    std::vector<float> logits_;            // a copy, cleaned of NaN and infinity, penalised
    std::vector<bool> seen_;               // (vocab_size): the penalty counts a token once
    std::vector<std::uint32_t> n_chosen_;  // (vocab_size), for has_penalty(): how often each was chosen
    std::vector<Candidate> candidates_;
};

}  // namespace offstage::engine
