#include "engine/serve/answer_queue.h"

#include <algorithm>
#include <exception>
#include <list>
#include <optional>
#include <utility>

#include "engine/serve/queued_work.h"

namespace offstage::engine {

void AnswerQueue::drop_cancelled() {
    std::erase_if(waiting_, [](const std::shared_ptr<Ticket>& ticket) { return ticket->is_cancelled(); });
}

std::shared_ptr<AnswerQueue::Ticket> AnswerQueue::submit(Work work, std::function<void()> ended) {
    std::shared_ptr<Ticket> ticket(new Ticket(std::move(work), std::move(ended)));
    {
        const std::lock_guard lock(mutex_);
        drop_cancelled();
        // The first ones do not wait while less is being done than may be.
        const std::size_t places = most_waiting_ + most_together_ - std::min(running_.size(), most_together_);
        if (closed_ || waiting_.size() >= places) return nullptr;
        waiting_.push_back(ticket);
    }
    changed_.notify_one();
    if (on_submit_) on_submit_();
    return ticket;
}

void AnswerQueue::cancel_all() {
    std::deque<std::shared_ptr<Ticket>> dropped;
    {
        const std::lock_guard lock(mutex_);
        dropped.swap(waiting_);
        for (const auto& ticket : running_) ticket->cancel();
    }
    // Callers may keep the tickets; the objects that the work owns are destroyed now.
    for (const auto& ticket : dropped) {
        ticket->cancel();
        ticket->forget_work();
    }
}

void AnswerQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    cancel_all();
    changed_.notify_all();
}

std::size_t AnswerQueue::n_waiting() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(waiting_.begin(), waiting_.end(), [](const auto& ticket) { return !ticket->is_cancelled(); }));
}

std::size_t AnswerQueue::n_running() const {
    const std::lock_guard lock(mutex_);
    return running_.size();
}

std::shared_ptr<AnswerQueue::Ticket> AnswerQueue::begin_next() {
    const std::lock_guard lock(mutex_);
    drop_cancelled();
    if (waiting_.empty()) return nullptr;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    return running_.back();
}

void AnswerQueue::end(const std::shared_ptr<Ticket>& ticket) {
    {
        const std::lock_guard lock(mutex_);
        std::erase(running_, ticket);
    }
    if (ticket->ended_) ticket->ended_();
    ticket->forget_work();
}

bool AnswerQueue::run_next(Session& session, const std::stop_token& stop, std::size_t most) {
    if (most_together_ > 1) return run_together(session, stop, most);
    const std::shared_ptr<Ticket> ticket = begin_next();
    if (ticket == nullptr) return false;
    {
        const std::stop_callback forward(stop, [&] { ticket->cancel(); });
        ticket->work_(session, ticket->stop_.get_token());
    }
    end(ticket);
    return true;
}

// Work that asks for a further answer stands behind the others again.
bool AnswerQueue::run_together(Session& session, const std::stop_token& stop, std::size_t most) {
    struct Begun {
        std::shared_ptr<Ticket> ticket;
        std::unique_ptr<QueuedWork> work;
    };
    std::list<Begun> begun;
    std::deque<AnswerCall> asked;
    const std::stop_callback forward(stop, [this] {
        const std::lock_guard lock(mutex_);
        for (const auto& ticket : running_) ticket->cancel();
    });
    const auto step = [&](std::list<Begun>::iterator one) {
        if (std::optional<AnswerCall> call = one->work->step()) return asked.push_back(std::move(*call));
        end(one->ticket);
        begun.erase(one);
    };
    const auto begin = [&] {
        const std::shared_ptr<Ticket> ticket = stop.stop_requested() ? nullptr : begin_next();
        if (ticket == nullptr) return false;
        --most;
        if (stop.stop_requested()) ticket->cancel();  // since, and not among those that `forward` saw
        const auto one = begun.insert(begun.end(), {ticket, nullptr});
        const auto work = [ticket](Session& beside) { ticket->work_(beside, ticket->stop_.get_token()); };
        try {
            one->work = std::make_unique<QueuedWork>(session, work, [step, one] { step(one); });
        } catch (const std::exception&) {  // no thread for it
            end(ticket);
            begun.erase(one);
            return false;
        }
        step(one);
        return true;
    };
    const auto next = [&]() -> std::optional<AnswerCall> {
        const auto may_begin = [&] { return most > 0 && begun.size() < most_together_ && !alone_; };
        while (asked.empty() && may_begin() && begin()) {
        }
        if (asked.empty()) return std::nullopt;
        AnswerCall call = std::move(asked.front());
        asked.pop_front();
        return call;
    };
    if (!begin()) return false;
    while (!asked.empty()) {
        try {
            session.generate_together(next, static_cast<int>(most_together_));
        } catch (...) {  // no model
            const std::exception_ptr problem = std::current_exception();
            while (const std::optional<AnswerCall> call = next()) call->end({}, problem);
        }
    }
    return true;
}

bool AnswerQueue::wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return closed_ || !waiting_.empty(); });
    return !closed_ && !stop.stop_requested();
}

}  // namespace offstage::engine
