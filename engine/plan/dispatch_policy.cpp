#include "engine/plan/dispatch_policy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "engine/error.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

using Candidate = Schedule::Candidate;

constexpr std::array<PolicyKind, 5> kPolicies = {PolicyKind::kThreshold, PolicyKind::kBalanced, PolicyKind::kTransfer,
                                                 PolicyKind::kStatic, PolicyKind::kLayers};
constexpr std::int64_t kMostSlots = 16;  // more are as good as 16: the GPU is never that far behind the copies

// The CPU's share.
struct CpuList {
    double us = 0;       // without slow-downs by copies and reads
    double disk_us = 0;  // reading from disk, before all else
    // Experts that are read while others are computed, in their order.
    double beside_us = 0;       // reading all of them
    double first_read_us = 0;   // the first one
    double beside_cpu_us = 0;   // of `us`, computing them
    double last_beside_us = 0;  // with the last one
    double reading_us = 0;      // of `us`, the time of one token for each expert
    std::int64_t n_experts = 0;
    std::int64_t n_tokens = 0;

    void add(double expert_us, double one_us, const DiskReadCost& read, bool beside, std::int64_t tokens) {
        us += expert_us;
        reading_us += one_us;
        if (beside && read.us > 0) {
            us += read.cpu_us;
            if (beside_us == 0) beside_us = first_read_us = read.latency_us;
            if (beside_cpu_us == 0) first_read_us += read.us;
            beside_us += read.us;
            beside_cpu_us += expert_us + read.cpu_us;
            last_beside_us = expert_us;
        } else {
            disk_us += read.us;
        }
        ++n_experts;
        n_tokens += tokens;
    }
};

// The shares of executors elsewhere.
class ElsewhereLists {
  public:
    explicit ElsewhereLists(ElsewhereCosts costs) : costs_(costs.first(std::min(costs.size(), kMostElsewhere))) {}

    void clear() {
        if (!costs_.empty()) lists_ = {};
    }
    void add(ExecutionTarget target, kernels::WeightType format, std::int64_t n_rows) {
        const auto i = index_elsewhere(target);
        lists_[i].us += costs_[i]->expert_us(format, n_rows);
        lists_[i].n_rows += n_rows;
    }
    // When the last of them is done.
    double end_us() const {
        double end = 0;
        for (std::size_t i = 0; i < costs_.size(); ++i) {
            if (lists_[i].n_rows > 0) end = std::max(end, lists_[i].us + costs_[i]->transfer_us(lists_[i].n_rows));
        }
        return end;
    }
    std::size_t size() const { return costs_.size(); }
    const ExecutorCost& cost(std::size_t i) const { return *costs_[i]; }

  private:
    struct List {
        double us = 0;
        std::int64_t n_rows = 0;
    };
    ElsewhereCosts costs_;
    std::array<List, kMostElsewhere> lists_{};
};

// A layer played through, event by event, as makespan_us() describes it.
class LayerTimeline {
  public:
    // n_rows: tokens of all experts together.
    LayerTimeline(const CostModel& cost, std::int64_t staging_slots, std::int64_t n_rows)
        : cost_(cost),
          n_rows_(n_rows),
          copy_us_(cost.weight_copy_us()),
          one_token_us_(cost.cpu_us(1)),
          n_slots_(std::clamp<std::int64_t>(staging_slots, 1, kMostSlots)) {}

    // copied_disk_us: before everything else the host reads experts that are copied
    // later. preparing_us: the host's work for copies before its own experts.
    void begin(double resident_us, const CpuList& list, double copied_disk_us, double preparing_us) {
        const bool hands_over = list.n_experts > 0 && cost_.table().has_accelerator();
        // Down before the GPU and the CPU begin, up when both are done.
        const double activations_us = hands_over ? download_us(list.n_tokens) : 0;
        upload_us_ = hands_over ? cost_.activation_copy_us(list.n_tokens) / 2 : 0;
        gpu_end_ = activations_us + copied_disk_us + resident_us;
        copy_end_ = copying_ = read_end_ = 0;
        n_copied_ = 0;
        cpu_clock_ = 0;
        cpu_lead_ =
            (hands_over ? activations_us + cost_.table().sync_us : 0) + list.disk_us + copied_disk_us + preparing_us;
        cpu_work_ = list.us;
        cpu_busy_ = 0;
        // The CPU computes experts that have arrived; at the end it waits for the last
        // one.
        reads_end_ = 0;
        if (list.beside_us > 0) {
            reads_end_ = std::max(list.beside_us + list.last_beside_us, list.first_read_us + list.beside_cpu_us) +
                         list.disk_us + copied_disk_us;
        }
        // The slow-downs were measured with one token, for which the CPU reads an
        // expert's weights at full speed. An expert with more tokens computes longer and
        // uses less of the memory's bandwidth.
        const double reading = list.us > 0 ? std::min(1.0, list.reading_us / list.us) : 0;
        const double demand =
            copy_us_ > 0 && one_token_us_ > 0 ? (one_token_us_ + reading * copy_us_) / (one_token_us_ + copy_us_) : 1;
        copy_slowdown_ = std::max(1.0, cost_.table().copy_slowdown * demand);
        cpu_slowdown_ = std::max(1.0, cost_.table().cpu_slowdown * demand);
    }

    // Adds the next expert to copy, after it has been read from disk and prepared; then
    // it runs for `gpu_us`.
    void copy(double copy_us, double before_us, double gpu_us) {
        read_end_ += before_us;
        double begin = std::max(copy_end_, read_end_);
        // A slot is free again when the expert that was in it has been computed.
        if (n_copied_ >= n_slots_) begin = std::max(begin, done_[static_cast<std::size_t>(n_copied_ % n_slots_)]);
        run_cpu(begin, 1.0);
        copy_end_ = begin + copy_beside_cpu(begin, copy_us);
        copying_ += copy_end_ - begin;
        gpu_end_ = std::max(gpu_end_, copy_end_) + gpu_us;
        done_[static_cast<std::size_t>(n_copied_ % n_slots_)] = gpu_end_;
        ++n_copied_;
    }

    // Ends the layer.
    double finish() {
        // The clock of a CPU that finished before the last copy is beyond its end, but
        // the GPU then ends later still.
        cpu_busy_ += cpu_work_;
        return std::max({gpu_end_, cpu_clock_ + cpu_lead_ + cpu_work_, reads_end_}) + upload_us_;
    }

    double copying_us() const { return copying_; }
    double cpu_busy_us() const { return cpu_busy_; }

  private:
    // All tokens of the step come to the host, each once; a few tokens do so anyway.
    double download_us(std::int64_t n_cpu_rows) const {
        const DenseCosts& dense = cost_.table().dense;
        if (!dense.known()) return cost_.activation_copy_us(n_cpu_rows) / 2;
        const std::int64_t n_tokens = n_rows_ / dense.n_active;
        return n_tokens <= kEagerTokens ? 0 : cost_.activation_copy_us(n_tokens) / 2;
    }

    // The CPU works until `until`; each microsecond of its work takes `slowdown`.
    void run_cpu(double until, double slowdown) {
        double time = until - cpu_clock_;
        if (time <= 0) return;
        cpu_clock_ = until;
        const double lead = std::min(time, cpu_lead_);
        cpu_lead_ -= lead;
        time -= lead;
        const double work = std::min(time / slowdown, cpu_work_);
        cpu_work_ -= work;
        cpu_busy_ += work * slowdown;
    }

    // Duration of one copy that begins now (the CPU's work has been advanced to this
    // time): full speed in the CPU's lead and after its end, slowed down in between.
    double copy_beside_cpu(double begin, double copy_us) {
        double left = copy_us;
        double duration = std::min(left, cpu_lead_);
        left -= duration;
        if (left > 0 && cpu_work_ > 0) {
            const double together = std::min(left * copy_slowdown_, cpu_work_ * cpu_slowdown_);
            left -= together / copy_slowdown_;
            duration += together;
        }
        duration += std::max(left, 0.0);
        run_cpu(begin + duration, cpu_slowdown_);
        return duration;
    }

    const CostModel& cost_;
    const std::int64_t n_rows_;
    const double copy_us_, one_token_us_;
    const std::int64_t n_slots_;
    double copy_slowdown_ = 1, cpu_slowdown_ = 1, upload_us_ = 0;
    std::array<double, kMostSlots> done_{};
    std::int64_t n_copied_ = 0;
    double gpu_end_ = 0, copy_end_ = 0, copying_ = 0, read_end_ = 0;
    double cpu_clock_ = 0, cpu_lead_ = 0, cpu_work_ = 0, cpu_busy_ = 0;
    double reads_end_ = 0;  // when the CPU has computed with the last expert that was read beside it
};

// Searches the split of the candidates (most loaded first) with the smallest makespan;
// sets `way`. Only copies and the CPU: with few candidates it tries all splits. With more
// it takes the best of three simple splits (copy the most loaded, copy the least loaded,
// put each where it ends first), each improved by single moves and exchanges. With
// executors elsewhere: few candidates: all splits. More: each goes where it ends first;
// the better of this split and the best without the executors is improved by single
// moves, and by moves from one machine to the next.
class Balancer {
  public:
    enum class Here {
        kNothing,  // each is for an executor elsewhere, and has one
        kCpu,
        kCpuAndCopies,  // there is an accelerator, and room on it for copies
    };
    Balancer(std::vector<Candidate>& candidates, double resident_us, const CostModel& cost, std::int64_t staging_slots,
             std::int64_t n_rows, Here here, ElsewhereCosts elsewhere)
        : candidates_(candidates),
          n_(candidates.size()),
          resident_us_(resident_us),
          here_(here),
          cost_(cost),
          timeline_(cost, staging_slots, n_rows),
          elsewhere_(elsewhere) {
        for (const Candidate& candidate : candidates) least_copy_us_ = std::min(least_copy_us_, candidate.copy_us);
    }

    void search() {
        if (n_ == 0) return;
        best_us_ = std::numeric_limits<double>::infinity();
        if (here_ == Here::kCpuAndCopies) {
            split_here();
        } else if (here_ == Here::kCpu) {
            keep_if_best(evaluate());
        }
        if (elsewhere_.size() > 0) split_everywhere();
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
            copy_by_turns();
            improve();
            copy_by_threshold();
        }
    }

    double evaluate() {
        CpuList list;
        double copied_disk_us = 0;
        double preparing_us = 0;
        elsewhere_.clear();
        for (const Candidate& candidate : candidates_) {
            if (candidate.copied()) {
                copied_disk_us += candidate.disk_us;
                preparing_us += candidate.preparing_us;
            } else if (candidate.target == ExecutionTarget::kCpu) {
                list.add(candidate.cpu_us, candidate.one_us,
                         candidate.disk_us > 0 ? cost_.disk_read(candidate.format) : DiskReadCost{},
                         cost_.reads_beside(candidate.format), candidate.n_tokens);
            } else if (is_elsewhere(candidate.target)) {
                elsewhere_.add(candidate.target, candidate.format, candidate.n_tokens);
            }
        }
        timeline_.begin(resident_us_, list, copied_disk_us, preparing_us);
        for (const Candidate& candidate : candidates_) {
            if (!candidate.copied()) continue;
            timeline_.copy(candidate.copy_us, candidate.disk_us + candidate.preparing_us, candidate.gpu_us);
        }
        ++evaluations_;
        return std::max(timeline_.finish(), elsewhere_.end_us());
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

    // From the most loaded: each goes to the side that would finish it first.
    void copy_by_turns() {
        double copies_end = 0;
        double gpu_end = resident_us_;
        double cpu_end = 0;
        for (Candidate& candidate : candidates_) {
            const double copied_at = copies_end + candidate.disk_us + candidate.preparing_us + candidate.copy_us;
            const double there = std::max(gpu_end, copied_at) + candidate.gpu_us;
            const double here = cpu_end + candidate.disk_us + candidate.cpu_us;
            set_copied(candidate, there < here);
            if (candidate.copied()) {
                copies_end = copied_at;
                gpu_end = there;
            } else {
                cpu_end = here;
            }
        }
        current_us_ = evaluate();
        keep_if_best(current_us_);
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
        if (here_ != Here::kNothing) body(ExecutionTarget::kCpu);
        if (here_ == Here::kCpuAndCopies) body(ExecutionTarget::kCopy);
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
        go_by_turns();
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

    // From the most loaded: each goes to the executor with the earliest end so far.
    void go_by_turns() {
        elsewhere_.clear();
        double copies_end = 0;
        double gpu_end = resident_us_;
        double cpu_end = 0;
        std::array<double, kMostElsewhere> ends{};
        std::array<std::int64_t, kMostElsewhere> n_rows{};
        for (Candidate& candidate : candidates_) {
            double first = std::numeric_limits<double>::infinity();
            const auto end_us = [&](ExecutionTarget target) {
                if (target == ExecutionTarget::kCpu) return cpu_end + candidate.disk_us + candidate.cpu_us;
                if (target == ExecutionTarget::kCopy)
                    return std::max(gpu_end,
                                    copies_end + candidate.disk_us + candidate.preparing_us + candidate.copy_us) +
                           candidate.gpu_us;
                const std::size_t i = index_elsewhere(target);
                const ExecutorCost& cost = elsewhere_.cost(i);
                return ends[i] + cost.expert_us(candidate.format, candidate.n_tokens) +
                       cost.transfer_us(n_rows[i] + candidate.n_tokens);
            };
            for_each_target(candidate, [&](ExecutionTarget target) {
                const double end = end_us(target);
                if (end >= first) return;
                first = end;
                candidate.target = target;
            });
            if (candidate.target == ExecutionTarget::kCpu) {
                cpu_end = first;
            } else if (candidate.copied()) {
                copies_end += candidate.disk_us + candidate.preparing_us + candidate.copy_us;
                gpu_end = first;
            } else {
                const std::size_t i = index_elsewhere(candidate.target);
                ends[i] += elsewhere_.cost(i).expert_us(candidate.format, candidate.n_tokens);
                n_rows[i] += candidate.n_tokens;
            }
        }
        keep_if_best(evaluate());
    }

    bool all_alike() const {
        return std::all_of(candidates_.begin(), candidates_.end(),
                           [&](const Candidate& candidate) { return alike(candidate, candidates_.front()); });
    }

    std::vector<Candidate>& candidates_;
    const std::size_t n_;
    const double resident_us_;
    const Here here_;
    double least_copy_us_ = std::numeric_limits<double>::infinity();
    const CostModel& cost_;
    LayerTimeline timeline_;
    ElsewhereLists elsewhere_;
    double current_us_ = 0;  // of `way`
    double best_us_ = 0;     // of `best`
    int evaluations_ = 0;
};

// The order in which the GPU finishes first (Johnson's rule for two machines, except for
// the bounded number of slots). Copies of one format all take the same time: the longest
// expert comes first.
void sort_for_copying(std::vector<Candidate>& candidates) {
    const bool one_kind = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return candidate.format == candidates.front().format && candidate.disk_us == candidates.front().disk_us;
    });
    if (one_kind) {
        std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return a.n_tokens != b.n_tokens ? a.n_tokens > b.n_tokens : a.expert < b.expert;
        });
        return;
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        const double a_arrives = a.disk_us + a.preparing_us + a.copy_us;
        const double b_arrives = b.disk_us + b.preparing_us + b.copy_us;
        const bool a_first = a_arrives <= a.gpu_us;
        const bool b_first = b_arrives <= b.gpu_us;
        if (a_first != b_first) return a_first;
        if (a_first && a_arrives != b_arrives) return a_arrives < b_arrives;
        if (!a_first && a.gpu_us != b.gpu_us) return a.gpu_us > b.gpu_us;
        if (a.n_tokens != b.n_tokens) return a.n_tokens > b.n_tokens;
        return a.format != b.format ? a.format < b.format : a.expert < b.expert;
    });
}

void add_assignments(ExecutionTarget target, const std::vector<Candidate>& candidates, Schedule& out) {
    for (const Candidate& miss : candidates) {
        if (miss.target != target) continue;
        out.assignments.push_back({miss.expert, miss.n_tokens, target, miss.format, miss.place, miss.cpu_us,
                                   miss.gpu_us, miss.copy_us, miss.preparing_us, miss.copied_share});
    }
}

// Bit i: the i-th executor.
std::uint32_t preferred_of(ElsewhereCosts elsewhere) {
    std::uint32_t preferred = 0;
    for (std::size_t i = 0; i < elsewhere.size(); ++i) preferred |= elsewhere[i]->is_preferred() ? 1u << i : 0;
    return preferred;
}

// The kind of execution that is shortest by itself.
ExecutionTarget fastest_target(const Candidate& miss, bool can_copy, ElsewhereCosts elsewhere) {
    double shortest = miss.cpu_us;
    ExecutionTarget target = ExecutionTarget::kCpu;
    const auto consider = [&](ExecutionTarget other, double us) {
        if (us >= shortest) return;
        shortest = us;
        target = other;
    };
    if (can_copy) consider(ExecutionTarget::kCopy, miss.gpu_us + miss.copy_us + miss.preparing_us);
    for (std::size_t i = 0; i < elsewhere.size(); ++i) {
        if ((miss.elsewhere >> i & 1u) == 0) continue;
        const ExecutorCost& cost = *elsewhere[i];
        consider(target_elsewhere(i), cost.expert_us(miss.format, miss.n_tokens) + cost.transfer_us(miss.n_tokens));
    }
    return target;
}

DiskReadCost disk_read(Place place, kernels::WeightType format, const CostModel& cost) {
    return place == Place::kDisk ? cost.disk_read(format) : DiskReadCost{};
}

// Plays the finished schedule, its costs set, through and writes its figures.
void predict(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
             ElsewhereCosts elsewhere, const LayerAtHand& layer, Schedule& figures) {
    double resident_us = 0;
    double copied_us = 0;
    double copied_disk_us = 0;
    double preparing_us = 0;
    std::int64_t n_rows = 0;
    CpuList list;
    ElsewhereLists lists(elsewhere);
    for (const Assignment& a : assignments) {
        n_rows += a.n_tokens;
        if (a.target == ExecutionTarget::kResident) resident_us += a.gpu_us;
        if (is_elsewhere(a.target)) lists.add(a.target, a.format, a.n_tokens);
        if (a.target == ExecutionTarget::kCopy) {
            copied_disk_us += disk_read(a.place, a.format, cost).us;
            preparing_us += a.preparing_us;
        }
        if (a.target == ExecutionTarget::kCpu) {
            const double one_us = a.n_tokens == 1 ? a.cpu_us : cost.expert_costs(layer, 1, a.format).cpu_us;
            const DiskReadCost read = disk_read(a.place, a.format, cost);
            const bool beside = cost.reads_beside(a.format);
            list.add(a.cpu_us, one_us, read, beside, a.n_tokens);
            if (beside) figures.disk_us += read.us + (figures.disk_us == 0 ? read.latency_us : 0);
        }
    }
    LayerTimeline timeline(cost, staging_slots, n_rows);
    timeline.begin(resident_us, list, copied_disk_us, preparing_us);
    for (const Assignment& a : assignments) {
        if (a.target != ExecutionTarget::kCopy) continue;
        copied_us += a.gpu_us;
        timeline.copy(a.copy_us, disk_read(a.place, a.format, cost).us + a.preparing_us, a.gpu_us);
    }
    figures.makespan_us = std::max(timeline.finish(), lists.end_us());
    figures.gpu_us = resident_us + copied_us;
    figures.copy_us = timeline.copying_us();
    figures.cpu_us = timeline.cpu_busy_us();
}

}  // namespace

std::string_view name_of(PolicyKind kind) {
    switch (kind) {
        case PolicyKind::kThreshold:
            return "threshold";
        case PolicyKind::kBalanced:
            return "balanced";
        case PolicyKind::kTransfer:
            return "transfer";
        case PolicyKind::kStatic:
            return "static";
        case PolicyKind::kLayers:
            return "layers";
    }
    return "?";
}

PolicyKind parse_policy(std::string_view name) {
    std::string names;
    for (const PolicyKind kind : kPolicies) {
        if (name == name_of(kind)) return kind;
        names += (names.empty() ? "" : ", ") + std::string(name_of(kind));
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_dispatch_policy(name, names));
}

void Schedule::clear() {
    assignments.clear();
    candidates.clear();
    preferred.clear();
    gpu_us = copy_us = cpu_us = makespan_us = disk_us = 0;
}

void decide(PolicyKind policy, std::span<const ExpertLoad> loads, const CostModel& cost, std::int64_t staging_slots,
            Schedule& out, ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    assert(elsewhere.size() <= kMostElsewhere);
    out.clear();
    const bool accelerated = cost.table().has_accelerator();
    const std::uint32_t preferred = preferred_of(elsewhere);
    // Away from the policy, which has the others.
    const auto goes_there = [&](const ExpertLoad& load) {
        return (load.elsewhere & preferred) != 0 && !(accelerated && load.place == Place::kDevice);
    };
    const bool all_resident = std::all_of(loads.begin(), loads.end(), [&](const ExpertLoad& load) {
        return load.place == Place::kDevice || goes_there(load);
    });
    const bool use_residents = accelerated && (policy != PolicyKind::kLayers || all_resident);

    double resident_us = 0;
    std::int64_t n_rows = 0;
    for (const ExpertLoad& load : loads) {
        if (load.n_tokens <= 0) continue;
        n_rows += load.n_tokens;
        const CostModel::ExpertCosts costs = cost.expert_costs(layer, load.n_tokens, load.format, load.held);
        if (load.place == Place::kDevice && use_residents) {
            const double gpu_us = cost.gpu_us(load.n_tokens, load.format);
            out.assignments.push_back({load.expert, load.n_tokens, ExecutionTarget::kResident, load.format, load.place,
                                       costs.cpu_us, gpu_us, 0});
            resident_us += gpu_us;
        } else {
            const bool there = goes_there(load);
            (there ? out.preferred : out.candidates)
                .push_back({load.expert, load.n_tokens, load.format, costs.gpu_us, costs.cpu_us,
                            load.n_tokens == 1 ? costs.cpu_us : cost.expert_costs(layer, 1, load.format).cpu_us,
                            costs.copy_us, disk_read(load.place, load.format, cost).us, costs.preparing_us,
                            costs.copied_share, load.place, there ? load.elsewhere & preferred : load.elsewhere});
        }
    }
    sort_for_copying(out.candidates);
    sort_for_copying(out.preferred);
    Balancer(out.preferred, 0, cost, 0, n_rows, Balancer::Here::kNothing, elsewhere).search();
    const bool can_copy = accelerated && staging_slots > 0;
    if (can_copy || !elsewhere.empty()) {
        switch (policy) {
            case PolicyKind::kThreshold:
                for (Candidate& miss : out.candidates) miss.target = fastest_target(miss, can_copy, elsewhere);
                break;
            case PolicyKind::kTransfer:
                for (Candidate& miss : out.candidates)
                    miss.target = can_copy ? ExecutionTarget::kCopy : ExecutionTarget::kCpu;
                break;
            case PolicyKind::kBalanced:
                Balancer(out.candidates, resident_us, cost, staging_slots, n_rows,
                         can_copy ? Balancer::Here::kCpuAndCopies : Balancer::Here::kCpu, elsewhere)
                    .search();
                break;
            case PolicyKind::kStatic:
            case PolicyKind::kLayers:
                break;
        }
    }
    add_assignments(ExecutionTarget::kCopy, out.candidates, out);
    add_assignments(ExecutionTarget::kCpu, out.candidates, out);
    for (std::size_t i = 0; i < elsewhere.size(); ++i) {
        add_assignments(target_elsewhere(i), out.preferred, out);
        add_assignments(target_elsewhere(i), out.candidates, out);
    }
    predict(out.assignments, cost, staging_slots, elsewhere, layer, out);
}

double makespan_us(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
                   ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    Schedule figures;
    figures.assignments.assign(assignments.begin(), assignments.end());
    for (Assignment& a : figures.assignments) {
        const CostModel::ExpertCosts costs = cost.expert_costs(layer, a.n_tokens, a.format);
        a.cpu_us = costs.cpu_us;
        a.gpu_us = a.target == ExecutionTarget::kCopy ? costs.gpu_us : cost.gpu_us(a.n_tokens, a.format);
        a.copy_us = costs.copy_us;
        a.preparing_us = costs.preparing_us;
        a.copied_share = costs.copied_share;
    }
    predict(figures.assignments, cost, staging_slots, elsewhere, layer, figures);
    return figures.makespan_us;
}

}  // namespace offstage::engine
