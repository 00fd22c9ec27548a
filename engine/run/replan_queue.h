#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/run/decode_watch.h"
#include "engine/run/replanner.h"

namespace offstage::engine {

// Plans beside the steps, one after the other, on a thread with a lower priority than
// those that compute. All functions are called by one thread, the engine's.
class PlanningThread {
  public:
    PlanningThread() = default;
    ~PlanningThread();  // waits for the plan that is being made, and drops the others
    PlanningThread(const PlanningThread&) = delete;
    PlanningThread& operator=(const PlanningThread&) = delete;

    // Runs on the planning thread, and must not throw; what it returns is done with the
    // plan on the engine's thread.
    using Plan = std::function<std::function<void()>()>;
    void start(Plan plan);
    bool busy() const { return under_way_ > 0; }  // a plan is not finished yet
    // Does what the next plan that was made returned, in the order of start(); false:
    // there is none.
    bool finish_next();
    // Until finish_next() has a plan, wake() or a stop; at once when not busy.
    void wait(const std::stop_token& stop);
    void wake();  // any thread

  private:
    void work(const std::stop_token& ends);

    std::int64_t under_way_ = 0;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Plan> plans_;
    std::deque<std::function<void()>> made_;
    bool woken_ = false;
    std::jthread thread_;  // the last member: it uses the others
};

// Requests of other threads that change the plan, carried out by the engine's thread
// between two steps, in order: while a re-plan is being planned the later ones wait, but
// not one to cancel it, unless another that changes the plan waits before it: previews,
// which change nothing, do not hold it back.
// Functions are for the engine's thread unless marked otherwise.
class ReplanQueue {
  public:
    // The referents must outlive close(). tokens_in_use: how many tokens conversations
    // hold.
    void open(LoadedModel& model, DecodeWatch& watch, std::function<std::int64_t()> tokens_in_use);
    void close();

    // ---- any thread; throws Error (kInvalidInput) without a model, or for an unknown
    // expert. See Session.
    std::uint64_t replan(const ReplanRequest& request);
    void request_preview(const ReplanRequest& request, PreviewFn done);
    void cancel();
    std::uint64_t change_experts(const ExpertChange& change);
    std::vector<ReplanReport> reports() const;

    void count_token() { ++tokens_made_; }
    // Returns whether there was anything to do.
    bool between_steps();
    // Between two answers: until all is done or a stop is requested; requests are carried
    // out, and `after` is called, after each piece: one expert, or some blocks of the KV
    // cache. Returns whether there was anything to do.
    bool advance(const std::stop_token& stop, const std::function<void()>& after);
    ReplanPreview preview(const ReplanRequest& request) { return preview_of(inputs(), request, &error_); }

    void wait_for_plan() { planning_->wait({}); }
    const Replanner& replanner() const { return *replanner_; }
    // Marks which reports an answer gets: those that ended or were under way since.
    struct Mark {
        std::uint64_t last_id = 0;
        bool moving = false;
    };
    Mark mark() const;
    std::vector<ReplanReport> since(const Mark& mark) const;

  private:
    enum class Effect { kNone, kChange, kCancel };  // on the plan
    struct Order {
        std::function<void()> carry_out;
        Effect effect = Effect::kNone;
    };
    std::uint64_t post(const std::function<Order(std::uint64_t id)>& make);
    PlanInputs inputs() const { return replanner_->inputs(watch_->measured(*model_)); }
    // Has the planning thread call make(inputs); done(result, problem) follows between
    // two steps.
    template <typename Make, typename Done>
    void plan_beside_steps(Make make, Done done);
    bool carry_out_orders();
    std::optional<Order> next_order();
    void copy_reports();
    std::size_t index_of(std::int64_t layer, std::int64_t expert) const;

    LoadedModel* model_ = nullptr;
    DecodeWatch* watch_ = nullptr;
    std::unique_ptr<Replanner> replanner_;
    std::unique_ptr<PlanningThread> planning_;
    std::uint64_t awaited_ = 0;  // the re-plan that is being planned; 0: none
    ForecastError error_;        // of the last preview's forecasts
    std::int64_t tokens_made_ = 0;

    mutable std::mutex mutex_;  // never held while anything is computed
    std::deque<Order> orders_;
    std::uint64_t last_id_ = 0;
    std::vector<ReplanReport> reports_;          // a copy for other threads
    std::int64_t n_layers_ = 0, n_experts_ = 0;  // of the loaded model, for other threads
};

}  // namespace offstage::engine
