#include <algorithm>
#include <array>
#include <limits>

#include "engine/plan/layer_timeline.h"

namespace offstage::engine {
namespace {

using Candidate = Schedule::Candidate;

class Balancer {
  public:
    Balancer(std::vector<Candidate>& candidates, double resident_us, const CostModel& cost, std::int64_t staging_slots,
             std::int64_t n_rows, SplitHere here, ElsewhereCosts elsewhere)
        : candidates_(candidates),
          n_(candidates.size()),
          resident_us_(resident_us),
          here_(here),
          timeline_(cost, staging_slots, n_rows, elsewhere),
          elsewhere_(elsewhere) {
        for (const Candidate& candidate : candidates) least_copy_us_ = std::min(least_copy_us_, candidate.copy_us);
    }

    void search() {
        if (n_ == 0) return;
        best_us_ = std::numeric_limits<double>::infinity();
        if (here_ == SplitHere::kCpuAndCopies) {
            split_here();
        } else if (here_ == SplitHere::kCpu) {
            keep_if_best(evaluate());
        }
        if (!elsewhere_.empty()) split_everywhere();
        for (Candidate& candidate : candidates_) candidate.target = candidate.best;
    }

  private:
    static constexpr std::size_t kAllSplits = 8;
    static constexpr std::size_t kThorough = 24;
    static constexpr std::int64_t kMostSplits = 512;  // with executors elsewhere: of these all are tried

    static void set_copied(Candidate& candidate, bool copied) {
        candidate.target = copied ? ExecutionTarget::kCopy : ExecutionTarget::kCpu;
    }

    void split_here() {
        // Experts of one load and format are interchangeable: only the number of copies
        // must be chosen.
        if (all_alike()) {
            copy_most_loaded();
        } else if (n_ <= kAllSplits) {
            try_all();
        } else {
            copy_most_loaded();
            improve();
            if (n_ <= kThorough) {
                copy_least_loaded();
                improve();
            }
            go_by_turns(false);
            improve();
            copy_by_threshold();
        }
    }

    double evaluate() {
        ++evaluations_;
        return timeline_.makespan_us(candidates_, resident_us_);
    }

    // By more than rounding.
    static bool is_less(double us, double than_us) { return us < than_us * (1 - 1e-9); }

    void keep_if_best(double us) {
        if (!is_less(us, best_us_)) return;
        best_us_ = us;
        for (Candidate& candidate : candidates_) candidate.best = candidate.target;
    }

    void try_all() {
        for (Candidate& candidate : candidates_) candidate.target = ExecutionTarget::kCpu;
        for (unsigned split = 0; split < 1u << n_; ++split) {
            // Among equal experts the first ones are copied.
            bool repeated = false;
            for (std::size_t i = 0; i < n_; ++i) {
                set_copied(candidates_[i], (split >> i & 1u) != 0);
                repeated |= i > 0 && candidates_[i].copied() && !candidates_[i - 1].copied() &&
                            alike(candidates_[i - 1], candidates_[i]);
            }
            if (!repeated) keep_if_best(evaluate());
        }
    }

    // Copies m of them, counted from the most loaded or from the least, for the best m.
    template <typename Copied>
    void copy_some(const Copied& is_copied) {
        const auto makespan = [&](std::size_t m) {
            for (std::size_t i = 0; i < n_; ++i) set_copied(candidates_[i], is_copied(i, m));
            return evaluate();
        };
        // Coarse steps, then the neighbourhood of the best: with larger m the CPU's time
        // falls and the GPU's grows.
        std::size_t best = 0;
        double best_us = makespan(0);
        for (std::size_t step = std::max<std::size_t>(1, n_ / 8), begin = step, end = n_; step > 0;
             step = step > 1 ? std::max<std::size_t>(1, step / 4) : 0) {
            for (std::size_t m = begin; m <= end; m += step) {
                const double us = makespan(m);
                if (is_less(us, best_us)) {
                    best_us = us;
                    best = m;
                }
                // Whatever the CPU's share, this many copies take longer.
                if (static_cast<double>(m) * least_copy_us_ >= best_us) break;
            }
            begin = best > step ? best - step : 0;
            end = std::min(n_, best + step);
        }
        current_us_ = makespan(best);
        keep_if_best(current_us_);
    }
    void copy_most_loaded() {
        copy_some([](std::size_t i, std::size_t m) { return i < m; });
    }
    void copy_least_loaded() {
        copy_some([this](std::size_t i, std::size_t m) { return i + m >= n_; });
    }

    void copy_by_threshold() {
        for (Candidate& candidate : candidates_)
            set_copied(candidate, candidate.cpu_us > candidate.gpu_us + candidate.copy_us);
        keep_if_best(evaluate());
    }

    // Keeps the change when it helps.
    bool try_change(Candidate& a, Candidate& b) {
        const ExecutionTarget a_before = a.target;
        const ExecutionTarget b_before = b.target;
        set_copied(a, a_before != ExecutionTarget::kCopy);
        if (&a != &b) set_copied(b, b_before != ExecutionTarget::kCopy);
        const double us = evaluate();
        if (is_less(us, current_us_)) {
            current_us_ = us;
            return true;
        }
        b.target = b_before;
        a.target = a_before;
        return false;
    }

    // Moves one expert or exchanges two while that helps, trying one expert of each load.
    // The number of trials is bounded: a layer of a hundred misses is divided finely
    // enough without more.
    void improve() {
        evaluations_ = 0;
        const int limit = std::max(10, 12000 / static_cast<int>(n_ * (n_ <= kThorough ? 1 : 10)));
        for (bool better = true; better;) {
            better = false;
            for (std::size_t i = n_; i-- > 0 && !better;) {
                if (is_repeated(i)) continue;
                if (evaluations_ > limit) return keep_if_best(current_us_);
                better = try_change(candidates_[i], candidates_[i]);
            }
            for (std::size_t i = 0; i < n_ && !better; ++i) {
                if (!candidates_[i].copied() || is_repeated(i)) continue;
                for (std::size_t j = n_; j-- > 0 && !better;) {
                    if (candidates_[j].copied() || is_repeated(j)) continue;
                    if (evaluations_ > limit) return keep_if_best(current_us_);
                    better = try_change(candidates_[i], candidates_[j]);
                }
            }
        }
        keep_if_best(current_us_);
    }

    bool is_repeated(std::size_t i) const {
        return i > 0 && alike(candidates_[i - 1], candidates_[i]) && candidates_[i - 1].target == candidates_[i].target;
    }
    static bool alike(const Candidate& a, const Candidate& b) {
        return a.n_tokens == b.n_tokens && a.format == b.format && a.disk_us == b.disk_us;
    }

    // Calls body(way) for each executor that can take the candidate.
    template <typename Body>
    void for_each_target(const Candidate& candidate, const Body& body) const {
        if (here_ != SplitHere::kNothing) body(ExecutionTarget::kCpu);
        if (here_ == SplitHere::kCpuAndCopies) body(ExecutionTarget::kCopy);
        for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
            if ((candidate.elsewhere >> i & 1u) != 0) body(target_elsewhere(i));
        }
    }

    void split_everywhere() {
        std::int64_t n_splits = 1;
        for (const Candidate& candidate : candidates_) {
            std::int64_t n_ways = 0;
            for_each_target(candidate, [&](ExecutionTarget) { ++n_ways; });
            n_splits = std::min(n_splits * n_ways, kMostSplits + 1);
        }
        if (n_splits <= kMostSplits) {
            try_ways_from(0);
            return;
        }
        go_by_turns(true);
        for (Candidate& candidate : candidates_) candidate.target = candidate.best;
        for (bool better = true; better;) {
            better = false;
            for (Candidate& candidate : candidates_) {
                const double before = best_us_;
                for_each_target(candidate, [&](ExecutionTarget target) {
                    candidate.target = target;
                    keep_if_best(evaluate());
                });
                candidate.target = candidate.best;
                better |= best_us_ < before;
            }
            better = better || (n_ <= kThorough && try_passing_on());
        }
    }

    // Tries to give one expert to a machine that passes one of its own to another: this
    // levels the load where the other holders of the busiest machine's experts are as
    // busy. Leaves the best split.
    bool try_passing_on() {
        const double before = best_us_;
        for (Candidate& first : candidates_) {
            if (!is_elsewhere(first.best)) continue;
            for_each_target(first, [&](ExecutionTarget target) {
                if (!is_elsewhere(target) || target == first.best || best_us_ < before) return;
                first.target = target;
                for (Candidate& second : candidates_) {
                    if (&second == &first || second.best != target) continue;
                    for_each_target(second, [&](ExecutionTarget further) {
                        second.target = further;
                        if (further != target) keep_if_best(evaluate());
                    });
                    second.target = second.best;
                    if (best_us_ < before) return;
                }
            });
            first.target = first.best;
            if (best_us_ < before) break;
        }
        for (Candidate& candidate : candidates_) candidate.target = candidate.best;
        return best_us_ < before;
    }

    void try_ways_from(std::size_t i) {
        if (i == n_) return keep_if_best(evaluate());
        for_each_target(candidates_[i], [&](ExecutionTarget target) {
            candidates_[i].target = target;
            try_ways_from(i + 1);
        });
    }

    // From the most loaded: each goes to the side, or with everywhere = true to the
    // executor, with the earliest end so far.
    void go_by_turns(bool everywhere) {
        double copies_end = 0;
        double gpu_end = resident_us_;
        double cpu_end = 0;
        std::array<double, kMostElsewhere> ends{};
        std::array<std::int64_t, kMostElsewhere> n_rows{};
        for (Candidate& candidate : candidates_) {
            const double copied_at = copies_end + candidate.disk_us + candidate.preparing_us + candidate.copy_us;
            const auto end_us = [&](ExecutionTarget target) {
                if (target == ExecutionTarget::kCpu) return cpu_end + candidate.disk_us + candidate.cpu_us;
                if (target == ExecutionTarget::kCopy) return std::max(gpu_end, copied_at) + candidate.gpu_us;
                const std::size_t i = index_elsewhere(target);
                const ExecutorCost& cost = *elsewhere_[i];
                return ends[i] + cost.expert_us(candidate.format, candidate.n_tokens) +
                       cost.transfer_us(n_rows[i] + candidate.n_tokens);
            };
            double first = std::numeric_limits<double>::infinity();
            for_each_target(candidate, [&](ExecutionTarget target) {
                if (is_elsewhere(target) && !everywhere) return;
                const double end = end_us(target);
                if (end >= first) return;
                first = end;
                candidate.target = target;
            });
            if (candidate.target == ExecutionTarget::kCpu) {
                cpu_end = first;
            } else if (candidate.copied()) {
                copies_end = copied_at;
                gpu_end = first;
            } else {
                const std::size_t i = index_elsewhere(candidate.target);
                ends[i] += elsewhere_[i]->expert_us(candidate.format, candidate.n_tokens);
                n_rows[i] += candidate.n_tokens;
            }
        }
        current_us_ = evaluate();
        keep_if_best(current_us_);
    }

    bool all_alike() const {
        return std::all_of(candidates_.begin(), candidates_.end(),
                           [&](const Candidate& candidate) { return alike(candidate, candidates_.front()); });
    }

    std::vector<Candidate>& candidates_;
    const std::size_t n_;
    const double resident_us_;
    const SplitHere here_;
    double least_copy_us_ = std::numeric_limits<double>::infinity();
    LayerTimeline timeline_;
    const ElsewhereCosts elsewhere_;
    double current_us_ = 0;  // of `target`
    double best_us_ = 0;     // of `best`
    int evaluations_ = 0;
};

}  // namespace

void split_balanced(std::vector<Candidate>& candidates, double resident_us, const CostModel& cost,
                    std::int64_t staging_slots, std::int64_t n_rows, SplitHere here, ElsewhereCosts elsewhere) {
    Balancer(candidates, resident_us, cost, staging_slots, n_rows, here, elsewhere).search();
}

}  // namespace offstage::engine
