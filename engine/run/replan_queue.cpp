#include "engine/run/replan_queue.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "engine/error.h"
#include "engine/run/run_messages.h"

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace offstage::engine {
namespace {

void give_way() {
#ifdef __linux__
    // A third of a computing thread's share where both need one core: a plan is awaited,
    // but less urgent than a token.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);  // refused: it runs as others do
#endif
}

}  // namespace

PlanningThread::~PlanningThread() {
    thread_.request_stop();
    changed_.notify_all();
}

void PlanningThread::start(Plan plan) {
    ++under_way_;
    {
        const std::lock_guard lock(mutex_);
        plans_.push_back(std::move(plan));
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& ends) { work(ends); });
    changed_.notify_all();
}

bool PlanningThread::finish_next() {
    if (under_way_ == 0) return false;
    std::function<void()> finish;
    {
        const std::lock_guard lock(mutex_);
        if (made_.empty()) return false;
        finish = std::move(made_.front());
        made_.pop_front();
    }
    --under_way_;
    finish();
    return true;
}

void PlanningThread::wait(const std::stop_token& stop) {
    if (under_way_ == 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !made_.empty() || woken_; });
    woken_ = false;
}

void PlanningThread::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    changed_.notify_all();
}

void PlanningThread::work(const std::stop_token& ends) {
    give_way();
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, ends, [&] { return !plans_.empty(); })) {
        if (ends.stop_requested()) return;
        std::function<void()> finish;
        {
            const Plan plan = std::move(plans_.front());
            plans_.pop_front();
            lock.unlock();
            finish = plan();
        }
        lock.lock();
        made_.push_back(std::move(finish));
        changed_.notify_all();
    }
}

void ReplanQueue::open(LoadedModel& model, DecodeWatch& watch, std::function<std::int64_t()> tokens_in_use) {
    model_ = &model;
    watch_ = &watch;
    replanner_ = std::make_unique<Replanner>(model);
    planning_ = std::make_unique<PlanningThread>();
    awaited_ = 0;
    tokens_made_ = 0;
    error_ = {};
    replanner_->set_tokens_in_use(std::move(tokens_in_use));
    model.forward().set_between_layers([this] { replanner_->between_layers(); },
                                       [this] { return replanner_->moving(); });
    const std::lock_guard lock(mutex_);
    n_layers_ = model.spec().experts.n_layers;
    n_experts_ = model.spec().experts.n_experts;
}

void ReplanQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        orders_.clear();
        reports_.clear();
        n_layers_ = n_experts_ = 0;  // from now on post() wakes nobody
    }
    planning_.reset();
    replanner_.reset();
}

std::uint64_t ReplanQueue::post(const std::function<Order(std::uint64_t id)>& make) {
    const std::lock_guard lock(mutex_);
    if (n_layers_ == 0) throw Error(ErrorKind::kInvalidInput, messages::no_model_loaded);
    const std::uint64_t id = ++last_id_;
    orders_.push_back(make(id));
    planning_->wake();
    return id;
}

template <typename Make, typename Done>
void ReplanQueue::plan_beside_steps(Make make, Done done) {
    planning_->start([make = std::move(make), done = std::move(done), inputs = inputs()] {
        std::optional<decltype(make(inputs))> made;
        Message problem;
        try {
            made = make(inputs);
        } catch (const std::exception& error) {
            problem = message_of(error);
        }
        return [done, made = std::move(made), problem = std::move(problem)] { done(made, problem); };
    });
}

bool ReplanQueue::carry_out_orders() {
    bool any = false;
    while (planning_->finish_next()) any = true;
    while (const std::optional<Order> next = next_order()) {
        next->carry_out();
        any = true;
    }
    return any;
}

// The first; while a re-plan is being planned, a cancellation that only previews precede.
std::optional<ReplanQueue::Order> ReplanQueue::next_order() {
    const std::lock_guard lock(mutex_);
    auto next = orders_.begin();
    if (awaited_ != 0) {
        next = std::ranges::find_if(orders_, [](const Order& order) { return order.effect != Effect::kNone; });
        if (next != orders_.end() && next->effect != Effect::kCancel) return std::nullopt;
    }
    if (next == orders_.end()) return std::nullopt;
    Order order = std::move(*next);
    orders_.erase(next);
    return order;
}

bool ReplanQueue::between_steps() {
    bool any = carry_out_orders();
    if (replanner_->moving()) {
        watch_->clear();
        replanner_->between_steps(tokens_made_);
        any = true;
    }
    if (any) copy_reports();
    return any;
}

void ReplanQueue::copy_reports() {
    const std::lock_guard lock(mutex_);
    reports_.assign(replanner_->reports().begin(), replanner_->reports().end());
}

std::size_t ReplanQueue::index_of(std::int64_t layer, std::int64_t expert) const {
    const std::lock_guard lock(mutex_);
    if (layer < 0 || layer >= n_layers_ || expert < 0 || expert >= n_experts_) {
        throw Error(ErrorKind::kInvalidInput, messages::no_such_expert(expert, layer, n_layers_, n_experts_));
    }
    return static_cast<std::size_t>(layer * n_experts_ + expert);
}

void ReplanQueue::request_preview(const ReplanRequest& request, PreviewFn done) {
    post([&](std::uint64_t) {
        return Order{[this, request, done = std::move(done)] {
            auto error = std::make_shared<ForecastError>(error_);
            plan_beside_steps(
                [request, error](const PlanInputs& inputs) { return preview_of(inputs, request, error.get()); },
                [this, error, done](const std::optional<ReplanPreview>& preview, const Message& problem) {
                    if (preview) error_ = *error;
                    done(preview, problem);
                });
        }};
    });
}

std::uint64_t ReplanQueue::replan(const ReplanRequest& request) {
    return post([&](std::uint64_t id) {
        return Order{[this, id, request] {
                         awaited_ = id;
                         plan_beside_steps([request](const PlanInputs& inputs) { return replanned(inputs, request); },
                                           [this, id](const std::optional<Plan>& made, const Message& problem) {
                                               if (awaited_ != id) return;  // cancelled
                                               awaited_ = 0;
                                               if (made) {
                                                   replanner_->begin(id, *made, tokens_made_);
                                               } else {
                                                   replanner_->refuse(id, problem, tokens_made_);
                                               }
                                           });
                     },
                     Effect::kChange};
    });
}

void ReplanQueue::cancel() {
    post([this](std::uint64_t) {
        return Order{[this] {
                         replanner_->cancel();
                         if (awaited_ == 0) return;
                         replanner_->refuse(std::exchange(awaited_, 0), {}, tokens_made_, ReplanState::kCancelled);
                     },
                     Effect::kCancel};
    });
}

std::uint64_t ReplanQueue::change_experts(const ExpertChange& change) {
    std::vector<std::size_t> experts;
    for (const ExpertChange::Expert& one : change.experts) experts.push_back(index_of(one.layer, one.expert));
    return post([&](std::uint64_t id) {
        return Order{[this, id, experts = std::move(experts), kind = change.kind, format = change.format] {
                         replanner_->change(id, kind, experts, format, tokens_made_);
                     },
                     Effect::kChange};
    });
}

std::vector<ReplanReport> ReplanQueue::reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
}

bool ReplanQueue::advance(const std::stop_token& stop, const std::function<void()>& after) {
    bool any = carry_out_orders();
    copy_reports();
    while ((planning_->busy() || replanner_->moving()) && !stop.stop_requested()) {
        // First work that a plan may make unnecessary.
        if (planning_->busy()) {
            planning_->wait(stop);
        } else {
            watch_->clear();
            replanner_->move_idle(tokens_made_);
        }
        carry_out_orders();
        copy_reports();
        after();
        any = true;
    }
    return any;
}

ReplanQueue::Mark ReplanQueue::mark() const {
    return {replanner_->reports().empty() ? 0 : replanner_->reports().back().id, replanner_->moving()};
}

std::vector<ReplanReport> ReplanQueue::since(const Mark& mark) const {
    std::vector<ReplanReport> reports;
    for (const ReplanReport& report : replanner_->reports()) {
        if (report.id > mark.last_id || (mark.moving && report.id == mark.last_id)) reports.push_back(report);
    }
    return reports;
}

}  // namespace offstage::engine
