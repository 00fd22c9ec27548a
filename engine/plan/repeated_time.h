#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/cost_model.h"

namespace offstage::engine {

// Costs that differ by less than this factor count as the same.
inline constexpr double kCostNoise = 1.3;

// The time that threads of this process were ready but had no core, summed over all
// threads so far; microseconds. Takes some tens of microseconds. Systems that do not
// report it tell how often threads lost a core: each time counts as a usual turn of
// another thread.
double waited_us();
// The time that the calling thread did not run so far: if it computes all the time, its
// wait for a core.
double own_wait_us();
// Whether so long a wait has a visible effect on a measurement of `us`.
bool is_disturbed(double us, double waited_us);

// Times of the same work, repeated on a computer that may do other work as well. Other
// work only adds to a time: often a multiple, and somewhat where it has emptied caches.
// So times count that waited for no core, and of these - of all, where each did - those
// that are a little longer than the second-shortest one, by their median: on a quiet
// computer that is the median of all. The first time touches memory that the others find
// in caches: it counts only while it is the only one. Caches stay cold for a while: times
// one after the other may all be too long, so that those of one measurement should lie
// apart.
class RepeatedTime {
  public:
    // Microseconds; nothing was measured where that is not above 0.
    void add(double us, double waited_us = 0);
    std::size_t size() const { return times_.size(); }
    double us() const;  // 0: no times
    // The median of all but the first, for times between which no other work ran here.
    // They differ where other machines share the memory's bandwidth, and so does a run:
    // the shortest ones would promise too much.
    double quiet_us() const;
    bool is_settled() const;  // whether enough undisturbed ones agree
    bool all_disturbed() const;

  private:
    struct Time {
        double us = 0;
        bool disturbed = false;
    };
    std::vector<double> counting() const;  // ascending

    std::vector<Time> times_;
};

// Two points of which the one of more tokens took less, the worst ones; nothing: costs
// rise with the number of tokens, except for a few percent.
struct FallingCost {
    std::size_t before = 0, after = 0;  // indices
};
std::optional<FallingCost> falling_cost(const std::vector<CostPoint>& points);
// So that no number of tokens costs more than a larger one does: the cost of the larger
// one is the better measured, as other work only adds.
void make_rising(std::vector<CostPoint>& points);

// How often threads of this process lost a core to other work while they were ready, so
// far.
std::int64_t n_preempted();

// Whether a stored cost does not hold any more. A too high one is detected in any case; a
// too low one only if no other work interrupted the new measurement (`disturbed`).
bool has_drifted(double kept_us, double now_us, bool disturbed);
// Costs of which the first point takes now_us at present. All change by the difference:
// weights are read once, however many tokens there are.
void retime(std::vector<CostPoint>& points, double now_us);

// Stored costs are measured again after this many seconds.
inline constexpr std::int64_t kOldestCosts = std::int64_t{90} * 24 * 3600;
std::int64_t seconds_since_1970();
bool are_old(std::int64_t measured_at);

// A stored cost counts as too low only if everything takes longer for so many seconds:
// computers become slower for a moment, by a third, without other work of their own.
inline constexpr double kSlowerForS = 1;

// Seconds that a measurement has taken so far. Where one thread does all (`alone`), other
// work makes it longer instead of worse: then the thread's wait for a core counts only
// beyond three times as much.
class MeasuringTime {
  public:
    explicit MeasuringTime(bool alone) : alone_(alone) {}
    double seconds() const {
        const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        return alone_ ? std::max(all / 4, all - (own_wait_us() - waited_before_us_) / 1e6) : all;
    }

  private:
    const bool alone_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const double waited_before_us_ = own_wait_us();
};

}  // namespace offstage::engine
