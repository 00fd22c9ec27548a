#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "engine/device/backend.h"

namespace offstage::engine {

// An account of time for a host and a device with two queues, driven by what the host does: what each queue's entries
// take is known, when they begin and end follows. A queue works its entries off in order; an entry begins when it has
// been submitted, the one before it has ended and what it waits for has happened. One thread.
//
// While the host computes (host_work) and a copy runs, they share the memory's bandwidth: both go on at the rate that
// host_work() is given (1: undisturbed). Compute on the device, and host time as such, are not disturbed.
class Timeline {
  public:
    using Queue = DeviceEvent::Queue;

    double now_us() const { return now_us_; }

    // Appends work to a queue; it does not begin before `after` has happened. Returns the event of its end.
    DeviceEvent submit(Queue queue, double work_us, DeviceEvent after = {});
    // The same, and its time can be asked for later. The last Backend::kTimedEvents of each queue are kept.
    DeviceEvent submit_timed(Queue queue, double work_us, DeviceEvent after = {});
    // What was submitted to `queue` next begins after `event`.
    void wait_in(Queue queue, DeviceEvent event) { submit(queue, 0, event); }

    // Host time passes.
    void advance_host(double us);
    // The host works on something that takes `us` alone; while a copy runs, both go on at `rate` (0 < rate <= 1).
    // Returns how long it took.
    double host_work(double us, double rate);
    // Host time passes until the event has happened. An event that was never submitted counts as past.
    void wait(DeviceEvent event);

    bool has_happened(DeviceEvent event) const { return event.ticket <= line(event.queue).n_ended; }
    // When it happened; nothing for events that have not, that are not timed, or are too old.
    std::optional<double> time_of(DeviceEvent event) const;

  private:
    struct Entry {
        std::uint64_t ticket = 0;
        double left_us = 0;
        DeviceEvent after;
        bool timed = false;
    };
    struct Line {
        std::deque<Entry> entries;
        std::uint64_t n_submitted = 0;
        std::uint64_t n_ended = 0;  // tickets 1 .. n_ended have happened
        std::deque<std::pair<std::uint64_t, double>> times;
    };

    Line& line(Queue queue) { return lines_[static_cast<std::size_t>(queue)]; }
    const Line& line(Queue queue) const { return lines_[static_cast<std::size_t>(queue)]; }
    DeviceEvent append(Queue queue, double work_us, DeviceEvent after, bool timed);
    Entry* running(Queue queue);  // nullptr: idle, or waiting
    void end_finished();
    void step(double us, double copy_rate);
    double next_end_us(double copy_rate);

    double now_us_ = 0;
    std::array<Line, 2> lines_;
};

}  // namespace offstage::engine
