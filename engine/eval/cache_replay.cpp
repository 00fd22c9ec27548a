#include "engine/eval/cache_replay.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>
#include <utility>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

std::size_t index_of(const CacheCalls& calls, ExpertKey key) {
    return as_size(key.layer * calls.n_experts + key.expert);
}

ReplayResult empty_result(const CacheCalls& calls, std::string policy, std::int64_t n_slots) {
    ReplayResult result;
    result.policy = std::move(policy);
    result.n_slots = n_slots;
    result.layers.resize(as_size(calls.n_layers));
    return result;
}

void count(const CacheCalls::Layer& layer, bool hit, ReplayResult& result) {
    for (HitCount* counted : {&result.all, layer.decode ? &result.decode : &result.prompt,
                              &result.layers[static_cast<std::size_t>(layer.layer)]}) {
        ++counted->calls;
        if (hit) ++counted->hits;
    }
}

class Replay {
  public:
    Replay(const CacheCalls& calls, CachePolicy& policy, std::int64_t n_slots, std::vector<ExpertKey> residents,
           const Speculation& speculation)
        : calls_(calls),
          policy_(policy),
          n_slots_(as_size(n_slots)),
          residents_(std::move(residents)),
          slot_of_(as_size(calls.n_layers * calls.n_experts), -1),
          called_(slot_of_.size(), 0),
          result_(empty_result(calls, std::string(name_of(policy.kind())), n_slots)) {
        assert(residents_.size() <= n_slots_);
        for (std::size_t i = 0; i < residents_.size(); ++i) {
            slot_of_[index_of(calls_, residents_[i])] = static_cast<std::int64_t>(i);
            policy_.entered(residents_[i]);
        }
        if (speculation.trace == nullptr) return;
        const TraceHeader& header = speculation.trace->header;
        const auto at = std::find(header.distances.begin(), header.distances.end(), speculation.distance);
        assert(at != header.distances.end());
        guesses_ = speculation.trace->guesses;
        guesses_per_token_ = header.guesses_per_token();
        guess_row_ = as_size(header.n_guesses);
        guess_first_ = static_cast<std::size_t>(at - header.distances.begin()) * as_size(header.n_layers) * guess_row_;
        n_guesses_ = std::min(guess_row_, as_size(speculation.n_guesses));
    }

    ReplayResult run(const ReplayWatch& watch) {
        for (const CacheCalls::Layer& layer : calls_.layers) {
            if (layer.layer == 0) policy_.begin_step();
            if (watch) watch(layer, slot_of_);
            guess(layer);
            const auto calls = std::span(calls_.calls).subspan(layer.first, layer.n_calls);
            for (const CacheCalls::Call& call : calls) {
                policy_.used(call.key, call.n_tokens);
                called_[index_of(calls_, call.key)] = 1;
            }
            missed_.clear();
            for (const CacheCalls::Call& call : calls) {
                const bool hit = slot_of_[index_of(calls_, call.key)] >= 0;
                count(layer, hit, result_);
                if (hit) continue;
                missed_.push_back(call.key);
                if (std::find(staged_.begin(), staged_.end(), call.key) != staged_.end()) ++result_.guessed_used;
            }
            for (const ExpertKey key : missed_) admit(key);
            for (const CacheCalls::Call& call : calls) called_[index_of(calls_, call.key)] = 0;
        }
        return std::move(result_);
    }

  private:
    void guess(const CacheCalls::Layer& layer) {
        staged_.clear();
        if (guesses_.empty() || layer.n_tokens != 1) return;
        const auto row = guesses_.subspan(
            layer.token * guesses_per_token_ + guess_first_ + as_size(layer.layer) * guess_row_, n_guesses_);
        for (const std::int32_t expert : row) {
            const ExpertKey key{layer.layer, expert};
            if (expert < 0 || slot_of_[index_of(calls_, key)] >= 0) continue;
            if (std::find(staged_.begin(), staged_.end(), key) != staged_.end()) continue;
            staged_.push_back(key);
            ++result_.guessed_copies;
        }
    }

    void admit(ExpertKey key) {
        std::size_t slot = residents_.size();
        if (slot < n_slots_) {
            residents_.push_back(key);
        } else {
            const auto victim =
                policy_.victim(key, [&](ExpertKey resident) { return called_[index_of(calls_, resident)] == 0; });
            if (!victim) return;
            const std::size_t evicted = index_of(calls_, *victim);
            policy_.left(*victim);
            slot = as_size(slot_of_[evicted]);
            slot_of_[evicted] = -1;
            residents_[slot] = key;
            ++result_.evictions;
        }
        policy_.entered(key);
        slot_of_[index_of(calls_, key)] = static_cast<std::int64_t>(slot);
        ++result_.admissions;
    }

    const CacheCalls& calls_;
    CachePolicy& policy_;
    std::size_t n_slots_;
    std::vector<ExpertKey> residents_;
    std::vector<std::int64_t> slot_of_;  // (n_layers, n_experts): into residents_, -1: not resident
    std::vector<std::uint8_t> called_;   // (n_layers, n_experts): by the layer that runs now
    std::vector<ExpertKey> missed_, staged_;
    std::span<const std::int32_t> guesses_;
    std::size_t guesses_per_token_ = 0, guess_first_ = 0, guess_row_ = 0, n_guesses_ = 0;
    ReplayResult result_;
};

}  // namespace

void require_shapes(const Popularity& popularity, const TraceHeader& header) {
    if (popularity.n_layers == header.n_layers && popularity.n_experts == header.n_experts) return;
    throw Error(ErrorKind::kInvalidInput,
                messages::popularity_of_other_trace(shape_text(popularity), shape_text(header)));
}

CacheCalls cache_calls(const RoutingTrace& trace) {
    CacheCalls result;
    result.n_layers = trace.header.n_layers;
    result.n_experts = trace.header.n_experts;
    result.n_tokens = static_cast<std::int64_t>(trace.tokens.size());
    const auto n_active = as_size(trace.header.n_active);
    std::vector<std::int64_t> counts(as_size(result.n_experts), 0);
    std::vector<std::int32_t> chosen;
    for (std::size_t begin = 0, end = 0; begin < trace.tokens.size(); begin = end) {
        bool decode = true;
        while (end < trace.tokens.size() && trace.tokens[end].step == trace.tokens[begin].step) {
            decode &= trace.tokens[end++].kind == TokenKind::kDecode;
        }
        for (std::int32_t layer = 0; layer < result.n_layers; ++layer) {
            chosen.clear();
            for (std::size_t token = begin; token < end; ++token) {
                for (const std::int32_t e : trace.experts_of(token).subspan(as_size(layer) * n_active, n_active)) {
                    if (counts[as_size(e)]++ == 0) chosen.push_back(e);
                }
            }
            std::sort(chosen.begin(), chosen.end());
            result.layers.push_back({layer, decode, result.calls.size(), chosen.size(), begin, end - begin});
            for (const std::int32_t e : chosen) {
                result.calls.push_back({{layer, e}, std::exchange(counts[as_size(e)], 0)});
            }
        }
    }
    return result;
}

std::vector<ExpertKey> initial_residents(std::int64_t n_slots, bool per_layer, const Popularity& popularity) {
    assert(n_slots >= 0 && n_slots <= popularity.n_layers * popularity.n_experts);
    const auto hotter = [&](ExpertKey a, ExpertKey b) {
        return popularity.share(a.layer, a.expert) > popularity.share(b.layer, b.expert);
    };
    std::vector<ExpertKey> residents;
    if (!per_layer && popularity.n_tokens > 0) {
        for (std::int32_t layer = 0; layer < popularity.n_layers; ++layer) {
            for (std::int32_t e = 0; e < popularity.n_experts; ++e) residents.push_back({layer, e});
        }
        std::stable_sort(residents.begin(), residents.end(), hotter);
        residents.resize(as_size(n_slots));
        return residents;
    }
    std::vector<ExpertKey> row(as_size(popularity.n_experts));
    for (std::int32_t layer = 0; layer < popularity.n_layers; ++layer) {
        for (std::int32_t e = 0; e < popularity.n_experts; ++e) row[as_size(e)] = {layer, e};
        if (popularity.n_tokens > 0) std::stable_sort(row.begin(), row.end(), hotter);
        const std::int64_t n = n_slots / popularity.n_layers + (layer < n_slots % popularity.n_layers ? 1 : 0);
        residents.insert(residents.end(), row.begin(), row.begin() + n);
    }
    return residents;
}

ReplayResult replay(const CacheCalls& calls, CachePolicy& policy, std::int64_t n_slots,
                    std::vector<ExpertKey> residents, const Speculation& speculation, const ReplayWatch& watch) {
    return Replay(calls, policy, n_slots, std::move(residents), speculation).run(watch);
}

ReplayResult replay_oracle(const CacheCalls& calls, std::int64_t n_slots, std::span<const ExpertKey> residents) {
    ReplayResult result = empty_result(calls, "oracle", n_slots);
    constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
    // For each call, the index in calls.layers of the next call of its expert.
    std::vector<std::size_t> next(calls.calls.size());
    std::vector<std::size_t> soonest(as_size(calls.n_layers * calls.n_experts), kNever);
    for (std::size_t at = calls.layers.size(); at-- > 0;) {
        const CacheCalls::Layer& layer = calls.layers[at];
        for (std::size_t i = layer.first; i < layer.first + layer.n_calls; ++i) {
            next[i] = std::exchange(soonest[index_of(calls, calls.calls[i].key)], at);
        }
    }
    std::set<std::pair<std::size_t, std::size_t>> kept;  // (when it is called next, which expert)
    for (const ExpertKey key : residents) {
        const std::size_t expert = index_of(calls, key);
        kept.emplace(soonest[expert], expert);
    }
    std::vector<std::size_t> missed;
    for (std::size_t at = 0; at < calls.layers.size(); ++at) {
        const CacheCalls::Layer& layer = calls.layers[at];
        missed.clear();
        for (std::size_t i = layer.first; i < layer.first + layer.n_calls; ++i) {
            const std::size_t expert = index_of(calls, calls.calls[i].key);
            const bool hit = kept.erase({at, expert}) > 0;
            count(layer, hit, result);
            kept.emplace(next[i], expert);
            if (!hit) missed.push_back(expert);
        }
        result.admissions += missed.size();
        while (kept.size() > as_size(n_slots)) {
            const auto last = std::prev(kept.end());
            // An expert that leaves as soon as it was copied does not count as admitted.
            if (std::find(missed.begin(), missed.end(), last->second) != missed.end()) {
                --result.admissions;
            } else {
                ++result.evictions;
            }
            kept.erase(last);
        }
    }
    return result;
}

}  // namespace offstage::engine
