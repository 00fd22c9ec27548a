#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace offstage::engine {

// Which of two ways of working is faster is decided on live tokens: short windows of decode steps alternate between
// them; the one with the smaller median wins and is used until the next comparison. Neither changes a result, so nobody
// notices but for the speed. One thread.
class LiveComparison {
  public:
    static constexpr int kWindow = 8;             // decode steps per window
    static constexpr int kWindows = 4;            // windows per side and comparison
    static constexpr std::int64_t kEvery = 1024;  // decode steps from one comparison to the next

    // What a person reads: "balanced", "without prefetch".
    LiveComparison(std::string favourite, std::string challenger);

    bool uses_favourite() const;  // in the next decode step
    // What the step took, and whether the two ways differed in it at all: while they do not, there is nothing to
    // compare and the favourite stays.
    // True: this step has brought a verdict, the last of verdicts().
    bool record(double step_us, bool differ);
    bool comparing() const { return comparing_; }

    struct Verdict {
        std::int64_t at_step = 0;
        bool favourite_kept = true;
        double favourite_us = 0;  // median per step
        double challenger_us = 0;
        std::string reason;  // "balanced is kept: 41.2 ms per token against 44.0 with static (32 tokens each)"
    };
    const std::vector<Verdict>& verdicts() const { return verdicts_; }  // the last 64

  private:
    std::string favourite_, challenger_;
    bool favourite_kept_ = true;
    std::int64_t steps_ = 0;
    std::int64_t next_comparison_ = 0;
    bool comparing_ = false;
    int window_ = 0, in_window_ = 0;
    std::vector<double> favourite_steps_, challenger_steps_;
    std::vector<Verdict> verdicts_;
};

}  // namespace offstage::engine
