#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/load_settings.h"

namespace offstage::engine {

// Decides on live tokens how many drafted tokens a decode step verifies. A step with
// drafts costs more: its rows call experts of their own. So it is to give more tokens for
// its time, by kMargin, than steps without. Two things are measured:
// - how often a drafted token is right, by the length of the match before it. That costs
//   nothing: a draft that was not used is compared with the answer as well, so that
//   drafts begin again where the answer begins to repeat its prompt;
// - the times of steps with 0, 1, 2 ... drafted tokens, medians of the last ones. A
//   number that was not tried is estimated from one that was; times that are old are
//   measured again, which costs a few steps in kTimesLast.
// No choice changes a result. One thread, the engine's; lives as long as the model.
class DraftPolicy {
  public:
    static constexpr std::size_t kMostDrafted = 4;
    static constexpr std::size_t kMatches = 8;  // lengths of matches that are told apart; longer ones count as this
    static constexpr double kMargin = 0.03;     // of the tokens per time
    static constexpr double kHopedCost = 0.1;   // of a drafted token, in steps, before any was measured
    static constexpr std::int64_t kTimesLast = 512;      // decode steps
    static constexpr std::int64_t kPlainTimesLast = 64;  // of steps without drafts

    void set_mode(DraftMode mode);  // of the model that was loaded; forgets everything
    DraftMode mode() const { return mode_; }

    // How many tokens the next step verifies of a draft of `offered` tokens, at most
    // kMostDrafted, behind a match of so many tokens.
    std::size_t length(std::size_t offered, std::size_t matched) const;
    // A drafted token behind a match of so many tokens (with the right ones of its draft
    // before it) was right, or was not.
    void add_outcome(std::size_t matched, bool right);
    // A decode step of one answer alone.
    void add_step(std::size_t n_drafted, double step_us);
    // Experts have moved, or the plan has changed.
    void forget_times();

    // Whether drafts were verified lately: the device need not begin steps ahead.
    bool in_use() const { return mode_ != DraftMode::kOff && n_steps_ - last_drafted_ < kPlainTimesLast; }

  private:
    static constexpr std::size_t kFewestPlain = 4;
    static constexpr std::size_t kFewestTimes = 3;  // a median of fewer says little: the shortest counts

    // The last times of one kind of step.
    struct Times {
        std::array<double, 9> us{};
        std::size_t n = 0;  // ever
        std::int64_t last_step = 0;

        void add(double value, std::int64_t step);
        double typical(std::size_t fewest) const;
    };
    struct Share {
        double right = 0;
        std::int64_t n = 0;
    };
    double step_us(std::size_t n_drafted, double plain_us) const;
    static std::size_t place_of(std::size_t matched) { return (matched < kMatches ? matched : kMatches) - 1; }

    DraftMode mode_ = DraftMode::kOff;
    std::array<Share, kMatches> shares_{};
    std::array<Times, 1 + kMostDrafted> times_{};  // by drafted tokens
    std::int64_t n_steps_ = 0;
    std::int64_t last_drafted_ = -kPlainTimesLast;
};

}  // namespace offstage::engine
