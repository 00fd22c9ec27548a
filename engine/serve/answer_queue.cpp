#include "engine/serve/answer_queue.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {

void AnswerQueue::drop_cancelled() {
    std::erase_if(waiting_, [](const std::shared_ptr<Ticket>& ticket) { return ticket->is_cancelled(); });
}

std::shared_ptr<AnswerQueue::Ticket> AnswerQueue::submit(Work work) {
    std::shared_ptr<Ticket> ticket(new Ticket(std::move(work)));
    {
        const std::lock_guard lock(mutex_);
        drop_cancelled();
        // While nothing is being done, the first one does not wait.
        const std::size_t places = most_waiting_ + (running_ == nullptr ? 1 : 0);
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
        if (running_ != nullptr) running_->cancel();
    }
    // Callers may keep the tickets; the objects that the work owns are destroyed now.
    for (const auto& ticket : dropped) {
        ticket->cancel();
        ticket->work_ = nullptr;
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

bool AnswerQueue::is_running() const {
    const std::lock_guard lock(mutex_);
    return running_ != nullptr;
}

bool AnswerQueue::run_next(Session& session, const std::stop_token& stop) {
    std::shared_ptr<Ticket> ticket;
    {
        const std::lock_guard lock(mutex_);
        drop_cancelled();
        if (waiting_.empty()) return false;
        ticket = std::move(waiting_.front());
        waiting_.pop_front();
        running_ = ticket;
    }
    {
        const std::stop_callback forward(stop, [&] { ticket->cancel(); });
        ticket->work_(session, ticket->stop_.get_token());
    }
    ticket->work_ = nullptr;
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
    return true;
}

bool AnswerQueue::wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return closed_ || !waiting_.empty(); });
    return !closed_ && !stop.stop_requested();
}

}  // namespace offstage::engine
