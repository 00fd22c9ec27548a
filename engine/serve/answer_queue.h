#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "engine/run/session.h"

namespace offstage::engine {

// Work for the engine from any number of threads, done by one thread, the one that drives
// the Session: one after another, or up to so many together. The server puts work in; the
// owner of the session takes it out with run_next() - the command line in a loop, a
// window between its own answers.
class AnswerQueue {
  public:
    // Runs on the engine's thread or, together with others, in turns with it on one of
    // its own, on a session that answers but does not load or forget. Must not throw;
    // must end soon after `stop` is requested.
    using Work = std::function<void(Session& session, const std::stop_token& stop)>;

    // A place in the queue. Any thread.
    class Ticket {
      public:
        // The work is not begun, or its stop token is set. More than once does nothing.
        void cancel() { stop_.request_stop(); }
        bool is_cancelled() const { return stop_.stop_requested(); }

      private:
        friend class AnswerQueue;
        Ticket(Work work, std::function<void()> ended) : work_(std::move(work)), ended_(std::move(ended)) {}
        void forget_work() {
            work_ = nullptr;
            ended_ = nullptr;
        }

        std::stop_source stop_;
        Work work_;
        std::function<void()> ended_;
    };

    // most_waiting: work that waits while other work is done; most_together: work that is
    // done at a time.
    explicit AnswerQueue(std::size_t most_waiting, std::size_t most_together = 1)
        : most_waiting_(most_waiting), most_together_(most_together) {}

    // ---- any thread
    // nullptr: the queue is full, or closed. ended: called on the engine's thread when
    // the work was done and its place is free for the next.
    std::shared_ptr<Ticket> submit(Work work, std::function<void()> ended = {});
    // Drops waiting work and cancels what is being done.
    void cancel_all();
    // The same, and from now on nothing is accepted.
    void close();
    // Waiting, cancelled work not counted, and being done.
    std::size_t n_waiting() const;
    std::size_t n_running() const;
    std::size_t most_waiting() const { return most_waiting_; }
    std::size_t most_together() const { return most_together_; }
    // While it is set run_next() does one piece of work alone, or none beside those that
    // are being done.
    void set_alone(bool alone) { alone_ = alone; }
    // Called by submit(), on its thread, after each piece of work that was taken. Set
    // before the first.
    void set_on_submit(std::function<void()> call) { on_submit_ = std::move(call); }

    // ---- the engine's thread
    // Does the oldest work that waits and, if several may be done together, further work
    // until none is left, or so many pieces were begun. False: none waited. `stop`
    // cancels it.
    bool run_next(Session& session, const std::stop_token& stop,
                  std::size_t most = std::numeric_limits<std::size_t>::max());
    // Waits for work. False: `stop` is requested, or the queue is closed.
    bool wait(const std::stop_token& stop);

  private:
    // Removes work that was cancelled while it waited.
    void drop_cancelled();
    std::shared_ptr<Ticket> begin_next();
    void end(const std::shared_ptr<Ticket>& ticket);
    bool run_together(Session& session, const std::stop_token& stop, std::size_t most);

    const std::size_t most_waiting_, most_together_;
    std::function<void()> on_submit_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::shared_ptr<Ticket>> waiting_;
    std::vector<std::shared_ptr<Ticket>> running_;
    bool closed_ = false;
    std::atomic<bool> alone_ = false;
};

}  // namespace offstage::engine
