#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/load_settings.h"
#include "engine/telemetry/draft_report.h"

namespace offstage::engine {

// Decides on live tokens how many drafted tokens a decode step verifies, and whose. A
// step with drafts costs more: they are computed, and its rows call other experts. So it
// is to give more tokens for its time, by kMargin, than steps without. Two things are
// measured of each drafter:
// - how often a drafted token is right, by the length of the match before it (prompt
//   lookup) or its place in the draft. A lookup costs nothing: a draft that was not used
//   is compared with the answer as well, so that drafts begin again where the answer
//   begins to repeat its prompt. The others make a draft for that every kProbeSteps;
// - the times of steps with 0, 1, 2 ... drafted tokens, the drafter's own among them,
//   medians of the last ones. A number that was not tried is estimated from one that was;
//   few or old times are measured again, which costs a few steps in kTimesLast.
// No choice changes a result. One thread, the engine's; lives as long as the model.
class DraftPolicy {
  public:
    static constexpr std::size_t kMostDrafted = 4;
    static constexpr std::size_t kMatches = 8;  // lengths of matches that are told apart; longer ones count as this
    static constexpr double kMargin = 0.03;     // of the tokens per time
    static constexpr double kHopedCost = 0.1;   // of a drafted token, in steps, before any was measured
    static constexpr std::int64_t kTimesLast = 512;      // decode steps
    static constexpr std::int64_t kPlainTimesLast = 64;  // of steps without drafts
    static constexpr std::int64_t kProbeSteps = 48;
    static constexpr double kHopedShare = 0.6;  // of right tokens, of a drafter that computes them

    void set_mode(DraftMode mode);  // of the model that was loaded; forgets everything
    DraftMode mode() const { return mode_; }

    struct Choice {
        std::size_t length = 0;
        double worth = 0;  // expected tokens per time, or of the step
    };
    // How many tokens the next step verifies of a draft of `offered` tokens, at most
    // kMostDrafted, behind a match of so many tokens; of drafters that compute them: 1.
    // Of several drafters the one of most worth is to be used.
    Choice choose(std::size_t offered, std::size_t matched, Drafter drafter) const;
    std::size_t length(std::size_t offered, std::size_t matched, Drafter drafter = Drafter::kLookup) const {
        return choose(offered, matched, drafter).length;
    }
    // Whether a draft is to be made only to be compared.
    bool probes(Drafter drafter) const;
    // A drafted token behind a match of so many tokens (with the right ones of its draft
    // before it) was right, or was not.
    void add_outcome(std::size_t matched, bool right, Drafter drafter = Drafter::kLookup);
    // A decode step of one answer alone, with the time of its draft.
    void add_step(std::size_t n_drafted, double step_us, Drafter drafter = Drafter::kLookup);
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
    // Of one drafter.
    struct Observed {
        std::array<Share, kMatches> shares{};
        std::array<Times, 1 + kMostDrafted> times{};  // by drafted tokens; without any: kLookup's
        std::int64_t last_outcome = 0;                // step
    };
    Observed& of(Drafter drafter) { return observed_[static_cast<std::size_t>(drafter)]; }
    const Observed& of(Drafter drafter) const { return observed_[static_cast<std::size_t>(drafter)]; }
    const Times& plain() const { return of(Drafter::kLookup).times[0]; }
    bool knows_plain() const { return plain().n >= kFewestPlain && n_steps_ - plain().last_step <= kPlainTimesLast; }
    double step_us(std::size_t n_drafted, double plain_us, const Observed& observed) const;
    static std::size_t place_of(std::size_t matched) { return (matched < kMatches ? matched : kMatches) - 1; }

    DraftMode mode_ = DraftMode::kOff;
    std::array<Observed, kDrafters> observed_{};
    std::int64_t n_steps_ = 0;
    std::int64_t last_drafted_ = -kPlainTimesLast;
};

}  // namespace offstage::engine
