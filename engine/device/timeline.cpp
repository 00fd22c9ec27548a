#include "engine/device/timeline.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace offstage::engine {
namespace {

constexpr double kNeverHappens = std::numeric_limits<double>::infinity();

}  // namespace

DeviceEvent Timeline::submit(Queue queue, double work_us, DeviceEvent after) {
    return append(queue, work_us, after, false);
}

DeviceEvent Timeline::submit_timed(Queue queue, double work_us, DeviceEvent after) {
    return append(queue, work_us, after, true);
}

DeviceEvent Timeline::append(Queue queue, double work_us, DeviceEvent after, bool timed) {
    assert(work_us >= 0);
    // A wait for an event that was never submitted would never end.
    assert(after.ticket <= line(after.queue).n_submitted);
    Line& to = line(queue);
    to.entries.push_back({++to.n_submitted, work_us, after, timed});
    end_finished();
    return {queue, to.n_submitted};
}

Timeline::Entry* Timeline::running(Queue queue) {
    Line& from = line(queue);
    if (from.entries.empty() || !has_happened(from.entries.front().after)) return nullptr;
    return &from.entries.front();
}

// Removes entries that are finished. The end of one can release the other queue's first
// entry, and so on.
void Timeline::end_finished() {
    for (bool ended = true; ended;) {
        ended = false;
        for (const Queue queue : {Queue::kCompute, Queue::kCopy}) {
            const Entry* entry = running(queue);
            if (entry == nullptr || entry->left_us > 0) continue;
            Line& from = line(queue);
            from.n_ended = entry->ticket;
            if (entry->timed) {
                from.times.emplace_back(entry->ticket, now_us_);
                if (from.times.size() > Backend::kTimedEvents) from.times.pop_front();
            }
            from.entries.pop_front();
            ended = true;
        }
    }
}

double Timeline::next_end_us(double copy_rate) {
    const Entry* compute = running(Queue::kCompute);
    const Entry* copy = running(Queue::kCopy);
    return std::min(compute == nullptr ? kNeverHappens : compute->left_us,
                    copy == nullptr ? kNeverHappens : copy->left_us / copy_rate);
}

// `us` must not reach beyond the next end. Work that ends then is left with exactly zero,
// in spite of rounding.
void Timeline::step(double us, double copy_rate) {
    const auto work = [&](Queue queue, double rate) {
        Entry* entry = running(queue);
        if (entry == nullptr) return;
        entry->left_us = us >= entry->left_us / rate ? 0 : entry->left_us - us * rate;
    };
    work(Queue::kCompute, 1);
    work(Queue::kCopy, copy_rate);
    now_us_ += us;
    end_finished();
}

void Timeline::advance_host(double us) {
    while (us > 0) {
        const double part = std::min(us, next_end_us(1));
        step(part, 1);
        us -= part;
    }
}

double Timeline::host_work(double us, double rate) {
    assert(rate > 0 && rate <= 1);
    const double begin = now_us_;
    while (us > 0) {
        const double host_rate = running(Queue::kCopy) != nullptr ? rate : 1;
        const double alone_us = us / host_rate;
        const double part = std::min(alone_us, next_end_us(rate));
        step(part, rate);
        us = part < alone_us ? us - part * host_rate : 0;
    }
    return now_us_ - begin;
}

void Timeline::wait(DeviceEvent event) {
    while (!has_happened(event)) {
        const double part = next_end_us(1);
        if (part == kNeverHappens) {
            assert(false && "an event that nobody has submitted");
            return;
        }
        step(part, 1);
    }
}

std::optional<double> Timeline::time_of(DeviceEvent event) const {
    const auto& times = line(event.queue).times;
    // Nearly all calls are for one of the last few.
    constexpr int kLast = 32;
    auto newest = times.end();
    for (int i = 0; i < kLast && newest != times.begin(); ++i) {
        --newest;
        if (newest->first == event.ticket) return newest->second;
    }
    const auto found = std::lower_bound(times.begin(), times.end(), event.ticket,
                                        [](const auto& entry, std::uint64_t ticket) { return entry.first < ticket; });
    if (found == times.end() || found->first != event.ticket) return std::nullopt;
    return found->second;
}

}  // namespace offstage::engine
