#include "engine/run/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

double score_of(double log_probability, std::size_t length, double length_penalty) {
    if (length == 0) return log_probability;
    return log_probability / std::pow(static_cast<double>(length), length_penalty);
}

// log(sum(exp(logits))); logits that are not finite are ignored. NaN if there is no
// other.
double log_sum_exp(std::span<const float> logits) {
    float best = -std::numeric_limits<float>::infinity();
    for (const float logit : logits) {
        if (std::isfinite(logit) && logit > best) best = logit;
    }
    if (!std::isfinite(best)) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const float logit : logits) {
        if (std::isfinite(logit)) sum += static_cast<double>(std::exp(logit - best));
    }
    return static_cast<double>(best) + std::log(sum);
}

}  // namespace

void validate(const BeamSettings& settings) {
    if (settings.width < 1 || settings.width > kLargestBeamWidth) {
        throw Error(ErrorKind::kInvalidInput, messages::beam_width_out_of_range(settings.width, kLargestBeamWidth));
    }
    if (!std::isfinite(settings.length_penalty) || std::abs(settings.length_penalty) > 100) {
        throw Error(ErrorKind::kInvalidInput, messages::length_penalty_out_of_range(settings.length_penalty));
    }
}

BeamSearch::BeamSearch(const BeamSettings& settings, std::vector<TokenId> end_tokens, std::int64_t max_tokens)
    : settings_(settings), end_tokens_(std::move(end_tokens)), max_tokens_(max_tokens) {
    std::sort(end_tokens_.begin(), end_tokens_.end());
    end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
    live_.emplace_back();
}

bool BeamSearch::done() const {
    return done_;
}

bool BeamSearch::is_end(TokenId token) const {
    return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

// Lists the best continuations of all beams, best first. On ties the better beam comes
// first, then the smaller token.
void BeamSearch::rank(std::span<const float> logits, std::int64_t vocab_size) {
    const auto is_better = [](const Candidate& a, const Candidate& b) {
        if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
        return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
    };
    // So many that `width` of them surely continue: each beam can end in every end token.
    const std::size_t wanted =
        std::max<std::size_t>(2, 1 + end_tokens_.size()) * static_cast<std::size_t>(settings_.width);
    candidates_.clear();  // a heap, the worst on top, once it is full
    for (std::size_t beam = 0; beam < live_.size(); ++beam) {
        const std::span<const float> row =
            logits.subspan(beam * static_cast<std::size_t>(vocab_size), static_cast<std::size_t>(vocab_size));
        const double base = live_[beam].log_probability - log_sum_exp(row);
        if (std::isnan(base)) continue;
        for (std::size_t token = 0; token < row.size(); ++token) {
            if (!std::isfinite(row[token])) continue;
            const Candidate candidate{base + static_cast<double>(row[token]), static_cast<std::int32_t>(beam),
                                      static_cast<TokenId>(token)};
            if (candidates_.size() < wanted) {
                candidates_.push_back(candidate);
                if (candidates_.size() == wanted) std::make_heap(candidates_.begin(), candidates_.end(), is_better);
            } else if (is_better(candidate, candidates_.front())) {
                std::pop_heap(candidates_.begin(), candidates_.end(), is_better);
                candidates_.back() = candidate;
                std::push_heap(candidates_.begin(), candidates_.end(), is_better);
            }
        }
    }
    std::sort(candidates_.begin(), candidates_.end(), is_better);
}

void BeamSearch::add_answer(const Candidate& candidate) {
    BeamAnswer answer;
    answer.tokens = live_[static_cast<std::size_t>(candidate.parent)].tokens;
    answer.ended = is_end(candidate.token);
    answer.log_probability = candidate.log_probability;
    answer.score = score_of(candidate.log_probability, answer.tokens.size() + 1, settings_.length_penalty);
    if (!answer.ended) answer.tokens.push_back(candidate.token);
    keep(std::move(answer));
}

// Best score first, at most `width`; of equals the earlier one is kept.
void BeamSearch::keep(BeamAnswer answer) {
    const auto place = std::upper_bound(answers_.begin(), answers_.end(), answer,
                                        [](const BeamAnswer& a, const BeamAnswer& b) { return a.score > b.score; });
    answers_.insert(place, std::move(answer));
    if (answers_.size() > static_cast<std::size_t>(settings_.width)) answers_.pop_back();
}

std::span<const BeamSearch::Branch> BeamSearch::advance(std::span<const float> logits, std::int64_t vocab_size) {
    branches_.clear();
    if (done_) return branches_;
    rank(logits, vocab_size);
    const auto width = static_cast<std::size_t>(settings_.width);
    const std::size_t length = live_.front().tokens.size() + 1;  // all live beams have the same length
    const bool last = max_tokens_ > 0 && static_cast<std::int64_t>(length) >= max_tokens_;

    next_.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        if (last || is_end(candidate.token)) {
            if (i < width) add_answer(candidate);
            continue;
        }
        if (branches_.size() == width) continue;
        branches_.push_back({candidate.parent, candidate.token});
        Beam beam{live_[static_cast<std::size_t>(candidate.parent)].tokens, candidate.log_probability};
        beam.tokens.push_back(candidate.token);
        next_.push_back(std::move(beam));
    }
    if (next_.empty()) {
        // This was the last token, or no beam can continue. The live beams are dropped
        // unless there is no answer at all.
        if (answers_.empty()) finish();
        done_ = true;
        branches_.clear();
        return branches_;
    }
    live_.swap(next_);
    if (answers_.size() == width &&
        score_of(live_.front().log_probability, length, settings_.length_penalty) <= answers_.back().score) {
        done_ = true;
        branches_.clear();
    }
    return branches_;
}

void BeamSearch::finish() {
    if (done_) return;
    done_ = true;
    for (const Beam& beam : live_) {
        keep({beam.tokens, beam.log_probability,
              score_of(beam.log_probability, beam.tokens.size(), settings_.length_penalty), false});
    }
}

std::vector<BeamAnswer> BeamSearch::answers() const {
    return answers_;
}

}  // namespace offstage::engine
