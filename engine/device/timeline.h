#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "engine/device/backend.h"

namespace offstage::engine {

// Accounts time for a host and a device with two queues, driven by the host's calls: the
// duration of each queue entry is given, its begin and end follow. A queue processes its
// entries in order; an entry begins when it has been submitted, the entry before it has
// ended and the event that it waits for has happened. One thread.
//
// While the host computes (host_work) and a copy runs, they share the memory's bandwidth:
// both proceed at the rate given to host_work() (1: undisturbed). Compute on the device,
// and other host time, are not slowed.
class Timeline {
  public:
    using Queue = DeviceEvent::Queue;

    double now_us() const { return now_us_; }

    // Appends work to a queue; it does not begin before `after` has happened. Returns its
    // end event.
    DeviceEvent submit(Queue queue, double work_us, DeviceEvent after = {});
    // The same, and elapsed times can be computed from it later. The last
    // Backend::kTimedEvents of each queue are kept.
    DeviceEvent submit_timed(Queue queue, double work_us, DeviceEvent after = {});
    // The next entry of `queue` begins after `event`.
    void wait_in(Queue queue, DeviceEvent event) { submit(queue, 0, event); }

    // Host time passes.
    void advance_host(double us);
    // The host works on something that takes `us` alone; while a copy runs, both proceed
    // at `rate` (0 < rate <= 1). Returns the time it took.
    double host_work(double us, double rate);
    // Advances the host's time until the event has happened. An event that was never
    // submitted counts as past.
    void wait(DeviceEvent event);

    bool has_happened(DeviceEvent event) const { return event.ticket <= line(event.queue).n_ended; }
    // The event's time; nothing if it has not happened, is not timed, or is too old.
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
