#include "engine/run/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "engine/error.h"
#include "engine/mix_bits.h"
#include "engine/run/run_messages.h"
#include "engine/text/token_masks.h"

namespace offstage::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
// Up to here one pass with a small heap beats partitioning the whole vocabulary.
constexpr std::size_t kHeapLimit = 1024;
// top-p sorts this many of the best tokens first, then four times as many, until the set
// is large enough.
constexpr std::size_t kFirstBatch = 256;

[[noreturn]] void refuse(const std::string& field, const Message& range, const MessageArgument& found) {
    throw Error(ErrorKind::kInvalidInput, messages::sampler_value_out_of_range(field, range, found));
}

void check_range(const std::string& field, float value, float low, float high) {
    // Written so that NaN fails.
    if (!(value >= low && value <= high)) {
        refuse(field, messages::between(low, high), value);
    }
}

}  // namespace

void validate(const SamplerSettings& settings) {
    check_range("temperature", settings.temperature, 0.0f, 100.0f);
    if (settings.top_k < 0) refuse("top_k", messages::off_or_more, settings.top_k);
    check_range("top_p", settings.top_p, 0.0f, 1.0f);
    check_range("min_p", settings.min_p, 0.0f, 1.0f);
    check_range("repeat_penalty", settings.repeat_penalty, 0.01f, 100.0f);
    check_range("presence_penalty", settings.presence_penalty, -2.0f, 2.0f);
    check_range("frequency_penalty", settings.frequency_penalty, -2.0f, 2.0f);
    for (const auto& [token, bias] : settings.logit_bias) check_range("logit_bias", bias, -100.0f, 100.0f);
    if (settings.repeat_window < 0) refuse("repeat_window", messages::all_tokens_or_more, settings.repeat_window);
}

std::uint64_t answer_seed(std::uint64_t seed, std::uint64_t answer) {
    if (answer == 0) return seed;
    return mix_bits(mix_bits(seed + kGoldenBits) + answer * kGoldenBits);
}

Sampler::Sampler(const SamplerSettings& settings, std::uint64_t seed) : settings_(settings), random_(seed) {
    validate(settings);
    drawn_.reserve(4);
}

TokenId Sampler::sample(std::span<const float> logits, std::span<const TokenId> recent, TokenFilter* allowed) {
    const TokenId token = choose(logits, recent, allowed);
    if (has_penalty() && token >= 0) ++n_chosen_[static_cast<std::size_t>(token)];
    return token;
}

TokenId Sampler::choose(std::span<const float> logits, std::span<const TokenId> recent, TokenFilter* allowed) {
    logits_.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const float x = logits[i];
        logits_[i] = std::isnan(x) ? kNever : std::min(x, std::numeric_limits<float>::max());
    }
    add_bias();
    penalise(recent);
    penalise_chosen();

    const bool greedy = settings_.temperature <= 0.0f;
    const bool use_top_k = settings_.top_k > 0 && static_cast<std::size_t>(settings_.top_k) < logits_.size();
    const std::size_t n_best = greedy ? 1 : use_top_k ? static_cast<std::size_t>(settings_.top_k) : 0;
    const bool is_collected =
        allowed != nullptr && n_best > 0 && allowed->is_costly() && collect_allowed(*allowed, n_best);
    if (allowed != nullptr && !is_collected) keep_allowed(allowed->mask());
    if (greedy) return is_collected ? candidates_.front().token : best();

    if (!is_collected) use_top_k ? collect_best(n_best) : collect();
    if (candidates_.empty()) return -1;
    const float best_logit = use_top_k ? candidates_.front().logit : logits_[static_cast<std::size_t>(best())];
    const double scale = 1.0 / static_cast<double>(settings_.temperature);
    for (Candidate& c : candidates_) {
        const double exponent = (static_cast<double>(c.logit) - static_cast<double>(best_logit)) * scale;
        c.weight = use_top_k ? kernels::exp_of(exponent) : std::exp(exponent);  // std::exp is faster
    }
    std::size_t n = candidates_.size();
    if (use_top_k) {
        n = static_cast<std::size_t>(kernels::kept_by_top_p(candidates_.data(), static_cast<int>(n), settings_.top_p));
    } else if (settings_.top_p < 1.0f) {
        keep_top_p();
        n = candidates_.size();
    }
    const std::uint64_t bits = random(0);
    count_choice();
    return kernels::draw_token(candidates_.data(), static_cast<std::int64_t>(n), settings_.min_p, best_logit, bits);
}

std::uint64_t Sampler::random(std::size_t n_ahead) {
    while (drawn_.size() <= n_ahead) drawn_.push_back(random_());
    return drawn_[n_ahead];
}

void Sampler::count_choice() {
    if (!drawn_.empty()) drawn_.erase(drawn_.begin());
}

std::optional<kernels::TokenRule> Sampler::rule(std::size_t n_ahead, std::int64_t vocab_size,
                                                std::span<const TokenId> never, std::span<const TokenId> before) {
    if (has_bias()) return std::nullopt;
    const bool greedy = settings_.temperature <= 0.0f;
    kernels::TokenRule rule;
    if (!greedy) {
        if (settings_.top_k < 1 || settings_.top_k > kernels::TokenRule::kMostBest || settings_.top_k >= vocab_size) {
            return std::nullopt;
        }
        rule.top_k = settings_.top_k;
        rule.temperature = settings_.temperature;
        rule.top_p = settings_.top_p;
        rule.min_p = settings_.min_p;
        rule.random = random(n_ahead);
    }
    std::span<const TokenId> seen;
    rule.repeat_penalty = settings_.repeat_penalty;
    if (rule.repeat_penalty != 1.0f) {
        const std::size_t most =
            settings_.repeat_window == 0 ? before.size() : static_cast<std::size_t>(settings_.repeat_window) - 1;
        seen = before.last(std::min(before.size(), most));
    }
    if (never.size() + seen.size() > std::size(rule.listed)) return std::nullopt;
    rule.n_never = static_cast<std::int32_t>(never.size());
    rule.n_seen = static_cast<std::int32_t>(seen.size());
    std::copy(seen.begin(), seen.end(), std::copy(never.begin(), never.end(), std::begin(rule.listed)));
    return rule;
}

// Most words of a mask have no token, or all.
void Sampler::keep_allowed(const TokenMask& allowed) {
    const std::span<const std::uint64_t> words = allowed.words();
    for (std::size_t begin = 0, i = 0; begin < logits_.size(); begin += 64, ++i) {
        const std::size_t n = std::min<std::size_t>(64, logits_.size() - begin);
        const std::uint64_t word = i < words.size() ? words[i] : 0;
        if (word == 0) {
            std::fill_n(logits_.begin() + static_cast<std::ptrdiff_t>(begin), n, kNever);
            continue;
        }
        for (std::uint64_t out = ~word; out != 0; out &= out - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(out));
            if (bit < n) logits_[begin + bit] = kNever;
        }
    }
}

void Sampler::add_bias() {
    for (const auto& [token, bias] : settings_.logit_bias) {
        if (token >= 0 && static_cast<std::size_t>(token) < logits_.size()) {
            logits_[static_cast<std::size_t>(token)] += bias;
        }
    }
}

void Sampler::penalise_chosen() {
    if (!has_penalty()) return;
    n_chosen_.resize(logits_.size());
    for (std::size_t i = 0; i < logits_.size(); ++i) {
        if (n_chosen_[i] == 0) continue;
        logits_[i] -= settings_.presence_penalty + static_cast<float>(n_chosen_[i]) * settings_.frequency_penalty;
    }
}

void Sampler::penalise(std::span<const TokenId> recent) {
    if (settings_.repeat_penalty == 1.0f) return;
    const auto window = settings_.repeat_window == 0
                            ? recent
                            : recent.last(std::min(recent.size(), static_cast<std::size_t>(settings_.repeat_window)));
    seen_.assign(logits_.size(), false);
    for (const TokenId token : window) {
        if (token < 0 || static_cast<std::size_t>(token) >= logits_.size()) continue;
        const auto i = static_cast<std::size_t>(token);
        float& x = logits_[i];
        if (x == kNever || seen_[i]) continue;
        seen_[i] = true;
        x = kernels::penalised(x, settings_.repeat_penalty);
    }
}

TokenId Sampler::best() const {
    TokenId token = -1;
    float highest = kNever;
    for (std::size_t i = 0; i < logits_.size(); ++i) {
        if (logits_[i] > highest) {
            highest = logits_[i];
            token = static_cast<TokenId>(i);
        }
    }
    return token;
}

void Sampler::collect() {
    candidates_.clear();
    candidates_.reserve(logits_.size());
    for (std::size_t i = 0; i < logits_.size(); ++i) {
        if (logits_[i] != kNever) candidates_.push_back({logits_[i], static_cast<TokenId>(i), 0.0});
    }
}

void Sampler::collect_best(std::size_t n) {
    if (n > kHeapLimit) {
        collect();
        if (n < candidates_.size()) {
            const auto cut = candidates_.begin() + static_cast<std::ptrdiff_t>(n);
            std::nth_element(candidates_.begin(), cut, candidates_.end(), is_better);
            candidates_.erase(cut, candidates_.end());
        }
    } else {
        // A heap with the worst of the best n on top; ids rise, so an equal logit never
        // displaces an earlier token.
        candidates_.clear();
        candidates_.reserve(n);
        for (std::size_t i = 0; i < logits_.size(); ++i) {
            const float x = logits_[i];
            if (x == kNever) continue;
            if (candidates_.size() < n) {
                candidates_.push_back({x, static_cast<TokenId>(i), 0.0});
                std::push_heap(candidates_.begin(), candidates_.end(), is_better);
            } else if (x > candidates_.front().logit) {
                std::pop_heap(candidates_.begin(), candidates_.end(), is_better);
                candidates_.back() = {x, static_cast<TokenId>(i), 0.0};
                std::push_heap(candidates_.begin(), candidates_.end(), is_better);
            }
        }
    }
    std::sort(candidates_.begin(), candidates_.end(), is_better);
}

bool Sampler::collect_allowed(TokenFilter& allowed, std::size_t n) {
    constexpr std::size_t kSpare = 16;
    collect_best(std::min(2 * n + kSpare, logits_.size()));
    std::size_t n_allowed = 0;
    for (std::size_t i = 0; i < candidates_.size() && n_allowed < n; ++i) {
        if (allowed.allows(candidates_[i].token)) candidates_[n_allowed++] = candidates_[i];
    }
    candidates_.resize(n_allowed == n ? n : 0);
    return n_allowed == n;
}

void Sampler::keep_top_p() {
    double total = 0.0;
    for (const Candidate& c : candidates_) total += c.weight;
    const double wanted = static_cast<double>(settings_.top_p) * total;

    // Tokens with less weight than this have in total less than 1 - p, so the set is
    // complete without them. Language models have peaked distributions, so that few other
    // tokens remain; only these are sorted.
    const double least = (total - wanted) / static_cast<double>(candidates_.size() + 1);
    if (wanted > 0.0) std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });

    double kept = 0.0;
    std::size_t n = 0;
    std::size_t n_sorted = 0;
    std::size_t batch = kFirstBatch;
    while (n < candidates_.size()) {
        if (n == n_sorted) {
            const std::size_t end = std::min(candidates_.size(), n_sorted + batch);
            const auto from = candidates_.begin() + static_cast<std::ptrdiff_t>(n_sorted);
            const auto to = candidates_.begin() + static_cast<std::ptrdiff_t>(end);
            if (to != candidates_.end()) std::nth_element(from, to, candidates_.end(), is_better);
            std::sort(from, to, is_better);
            n_sorted = end;
            batch *= 4;
        }
        kept += candidates_[n++].weight;
        if (kept >= wanted) break;
    }
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(n), candidates_.end());
}

}  // namespace offstage::engine
