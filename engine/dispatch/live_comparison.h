#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/message.h"

namespace offstage::engine {

// Decides on live tokens which of several alternatives is faster. A comparison is one
// trial after the other: a challenger against the winner so far, which at first is the
// forecast's choice. In a trial the two take turns, kPairs windows of kWindow decode
// steps each, in the order A B B A, so that a machine that grows slower favours neither.
// The challenger must be faster by kMargin, and by kStandardErrors of the mean over the
// pairs; otherwise the other stays. So noise does not decide, and a comparison ends after
// 2 x kWindow x kPairs steps a challenger. No alternative changes a result, only the
// speed. One thread.
class LiveComparison {
  public:
    static constexpr int kWindow = 4;             // decode steps; their median counts
    static constexpr int kPairs = 8;              // windows of each side in a trial
    static constexpr int kLeastPairs = 3;         // after so many, a challenger that is clearly slower is given up
    static constexpr double kMargin = 0.02;       // of the time per token
    static constexpr double kStandardErrors = 4;  // of 8 pairs: chance wins one trial between equals in 400
    static constexpr std::int64_t kEvery = 1024;  // decode steps from one comparison to the next
    static constexpr std::int64_t kAgain = 64;    // after one that found nothing to compare

    // Names for users: "balanced", "static". The first is the forecast's choice; at least
    // two.
    explicit LiveComparison(std::vector<MessageArgument> names);

    // The alternative for the next decode step, an index into the names.
    std::size_t way() const;
    // A comparison may begin with the next step: call begin() with the challengers.
    bool is_due() const { return !comparing_ && steps_ >= next_comparison_; }
    // In this order, except for the present alternative, which comes first. None: nothing
    // is compared for kAgain steps.
    void begin(std::span<const std::size_t> challengers);
    bool comparing() const { return comparing_; }
    // The two of the trial, while comparing().
    std::size_t holder() const { return holder_; }
    std::size_t challenger() const { return challengers_.front(); }

    // The step's time, and whether the trial's two alternatives differed in it: steps
    // without a difference are left out. True: this step has ended a trial; its result is
    // the last of verdicts().
    bool record(double step_us, bool differ);

    struct Verdict {
        std::int64_t at_step = 0;
        std::size_t winner = 0;
        bool is_clear = false;                    // false: within margin or noise, and the holder wins
        double holder_us = 0, challenger_us = 0;  // median per step
        Message reason;  // "balanced is kept: 41.2 ms per token against 44.0 with static (32 tokens each)"
    };
    const std::vector<Verdict>& verdicts() const { return verdicts_; }  // the last 64

  private:
    bool is_holders_turn() const;
    void begin_trial();
    void end_trial(double change, double noise);

    std::vector<MessageArgument> names_;
    std::size_t in_use_ = 0;
    std::size_t holder_ = 0;
    std::vector<std::size_t> challengers_;  // still to be tried, the present one first
    std::int64_t steps_ = 0;
    std::int64_t next_comparison_ = 0;
    bool comparing_ = false;
    std::vector<double> holder_steps_, challenger_steps_;  // of the trial
    std::vector<double> window_;
    std::vector<double> window_us_;  // medians of the trial's windows
    std::vector<Verdict> verdicts_;
};

}  // namespace offstage::engine
