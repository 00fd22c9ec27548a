#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/experts/migrator.h"
#include "engine/message.h"
#include "engine/plan/planner.h"
#include "engine/run/loaded_model.h"
#include "engine/run/replan.h"

namespace offstage::engine {

// What a request makes of a loaded model (PlanInputs::present), while the model
// continues: any thread plans with a copy of the inputs. Throws Error where no plan can
// be made: kInvalidInput, kOutOfMemory.
Plan replanned(const PlanInputs& inputs, const ReplanRequest& request);
// error: of forecasts before the plan in force; becomes that of this preview's.
ReplanPreview preview_of(const PlanInputs& inputs, const ReplanRequest& request, ForecastError* error = nullptr);

// An expert that a user pins to the device takes the place of the least popular one that
// is no smaller; if there is none, it takes that one's format as well.
void apply_pins(const PlanInputs& inputs, const std::vector<std::uint8_t>& pinned, Plan& plan);

// The remaining time of a re-plan, from its progress so far: a computer that is busy with
// other work, or with an answer, may take a thousand times as long as the parts of a
// re-plan were measured to take alone.
class ReplanPace {
  public:
    // work_us: the expected time of all of it, n_pieces of equal size. At first two
    // pieces and a tenth of the work count as done at that pace, so that the first real
    // ones, which also wait for memory, do not decide alone; half of that after five
    // seconds.
    void begin(double work_us, std::int64_t n_pieces) {
        *this = {};
        piece_us_ = std::max(0.0, work_us) / static_cast<double>(std::max<std::int64_t>(1, n_pieces));
        at_first_us_ = 2 * piece_us_ + std::max(0.0, work_us) / 10;
    }
    // done_us: the expected time of what was finished since the last call; elapsed_us:
    // since begin(). Older progress counts less, and much less if answers began or ended
    // since.
    void advance(double done_us, double elapsed_us, bool idle) {
        constexpr double kHalfLifeUs = 10e6;
        elapsed_us_ = elapsed_us;
        if (!(done_us > 0)) return;
        Stretch fresh{done_us, elapsed_us - progress_at_us_};
        progress_at_us_ = elapsed_us;
        const double kept = std::exp2(-fresh.us / kHalfLifeUs) * (idle == idle_ ? 1.0 : 0.1);
        idle_ = idle;
        at_first_us_ *= std::exp2(-2 * fresh.us / kHalfLifeUs);
        for (Stretch* const old : {&recent_, &longest_}) *old = {old->done_us * kept, old->us * kept};
        if (fresh.us > longest_.us) std::swap(fresh, longest_);
        recent_ = {recent_.done_us + fresh.done_us, recent_.us + fresh.us};
    }
    // left_us: the expected time of the rest. One wait alone, the longest so far or the
    // present one, is no pace: such a one is expected once more, towards the end less.
    double seconds(double left_us) const {
        if (!(left_us > 0)) return 0;
        const double expected_us = at_first_us_ + recent_.done_us;
        if (!(expected_us > 0)) return longest_.done_us > 0 ? left_us * longest_.us / longest_.done_us / 1e6 : 0;
        const double pace = (at_first_us_ + recent_.us) / expected_us;
        const double again = std::min(1.0, left_us / (recent_.done_us + longest_.done_us + piece_us_));
        const double past_us = again * (longest_.us - longest_.done_us * pace);
        const double present_us = elapsed_us_ - progress_at_us_ - piece_us_ * pace;
        return (left_us * pace + std::max({0.0, past_us, present_us})) / 1e6;
    }

  private:
    struct Stretch {
        double done_us = 0, us = 0;  // expected, real
    };

    double piece_us_ = 0, at_first_us_ = 0;
    double elapsed_us_ = 0, progress_at_us_ = 0;
    Stretch recent_, longest_;  // between two progresses: the longest one by itself
    bool idle_ = true;
};

// Changes the plan of a loaded model while it generates tokens: from a request to a plan,
// from the plan to migrations, and back when one is cancelled or fails. Budgets grow
// before anything is moved and shrink after everything is, so that the present state fits
// at every moment; a plan that turns out larger than its budgets fails. Each step moves
// at most about one expert's bytes beside its own work: blocks of the KV cache, or a copy
// of an expert, never both. One thread, the engine's.
class Replanner {
  public:
    // The model must outlive this object.
    explicit Replanner(LoadedModel& model);

    // The number of tokens in conversations: no context may be shorter.
    void set_tokens_in_use(std::function<std::int64_t()> tokens) { tokens_in_use_ = std::move(tokens); }

    // All inputs of re-plans as of now (PlanInputs::present), for any thread.
    PlanInputs inputs(const MeasuredDecode& measured = {}) const;

    // Between two steps: begins the moves towards a plan by those.
    void begin(std::uint64_t id, Plan target, std::int64_t at_token);
    // Reports a request for which no plan could be made, or was wanted any longer.
    void refuse(std::uint64_t id, const Message& problem, std::int64_t at_token,
                ReplanState state = ReplanState::kFailed);
    void change(std::uint64_t id, ExpertChange::Kind kind, std::span<const std::size_t> experts,
                kernels::WeightType format, std::int64_t at_token);
    void cancel();

    void between_layers();
    void between_steps(std::int64_t at_token);
    // Between two answers: moves one expert, or some blocks of the KV cache.
    void move_idle(std::int64_t at_token);
    // The same until all is done or a stop is requested.
    void finish(const std::stop_token& stop);
    bool moving() const { return moving_; }

    // The last migration's work and progress.
    const MigrationProgress& progress() const { return migrator_.progress(); }
    // Oldest first, the last 256.
    const std::deque<ReplanReport>& reports() const { return reports_; }
    // The plan that is in force, or was the last to be so as a whole.
    const Plan& in_force() const { return in_force_; }
    Plan now() const;  // with the places and formats that are in force at this moment

  private:
    Plan base(Plan else_from) const;  // that a request changes: the migration's, else this one
    void start(std::uint64_t id, Plan target, std::int64_t at_token);
    void start_moving();
    std::vector<std::uint8_t> pinned() const;
    void make_fit(Plan& plan, std::span<const std::size_t> wanted) const;
    void take_free_room(Plan& plan, std::span<const std::size_t> experts) const;
    std::optional<std::size_t> least_popular(const std::function<bool(std::size_t)>& among) const;
    void advance(Migrator::When when);
    void report_progress();
    void resize_kv();
    void settle();  // the migration is done: does the rest, budgets among it
    void keep_current_plan(const Message& problem);
    void release_to_budget();
    void go_back(ReplanState because, const Message& problem);
    void end(ReplanState state, const Message& problem);
    ReplanReport& report() { return reports_.back(); }

    LoadedModel& model_;
    Migrator migrator_;
    Plan in_force_;
    Plan target_;
    std::function<std::int64_t()> tokens_in_use_;
    // The phases of a move: blocks of the KV cache leave the device to make room, experts
    // move, the KV cache becomes the plan's.
    enum class Phase : std::uint8_t { kFreeing, kExperts, kKvCache };
    bool moving_ = false;
    bool idle_ = true;         // no tokens are being made
    MigrationRates expected_;  // of the migration, as known when it began
    ReplanPace pace_;
    MigrationWork paced_;  // of which pace_ knows
    Phase phase_ = Phase::kExperts;
    std::optional<ReplanState> going_back_;  // and the state to report at its end
    Message problem_;
    double moving_since_us_ = 0;  // there, or back
    double started_us_ = 0;
    std::int64_t at_token_ = 0;
    std::deque<ReplanReport> reports_;
};

}  // namespace offstage::engine
