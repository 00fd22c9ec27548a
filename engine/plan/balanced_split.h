#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/schedule.h"

namespace offstage::engine {

// The sides between which candidates are split, besides executors elsewhere.
enum class SplitHere : std::uint8_t {
    kNothing,  // each is for an executor elsewhere, and has one
    kCpu,
    kCpuAndCopies,  // there is an accelerator, and room on it for copies
};

// Searches the split of the candidates (most loaded first) with the smallest makespan;
// sets `target`. Only copies and the CPU: with few candidates it tries all splits. With
// more it takes the best of three simple splits (copy the most loaded, copy the least
// loaded, put each where it ends first), each improved by single moves and exchanges.
// With executors elsewhere: few candidates: all splits. More: each goes where it ends
// first; the better of this split and the best without the executors is improved by
// single moves, and by moves from one machine to the next.
void split_balanced(std::vector<Schedule::Candidate>& candidates, double resident_us, const CostModel& cost,
                    std::int64_t staging_slots, std::int64_t n_rows, SplitHere here, ElsewhereCosts elsewhere);

}  // namespace offstage::engine
