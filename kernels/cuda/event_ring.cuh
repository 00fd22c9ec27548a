#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <vector>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda_context.h"

namespace offstage::kernels::cuda {

// The last kTimedTickets points of a stream. A slot is used again for a later ticket;
// waiting for it then takes longer than needed, never shorter.
//
// A point may be recorded by a CUDA graph, in an event of that graph. The runtime's
// answers about such an event between the graph's launch and its end are not used: it has
// its time once a later point of the stream has happened, and a waiter waits for that
// later point.
class EventRing {
  public:
    cudaError_t open() {
        points_.resize(CudaContext::kTimedTickets);
        for (Point& point : points_) {
            // A waiting host thread sleeps, after a while: Context::host_wait().
            const cudaError_t status = cudaEventCreateWithFlags(point.own.out(), cudaEventBlockingSync);
            if (status != cudaSuccess) return status;
        }
        return cudaSuccess;
    }
    // A new ticket: last(). Its event is recorded next, unless set_recorded() follows.
    cudaEvent_t next() {
        ++last_;
        Point& point = at(last_);
        point.timed = point.own.get();
        point.awaited = last_;
        return point.timed;
    }
    // The point is recorded in another event, and has happened when that of `later` has.
    void set_recorded(std::uint64_t ticket, cudaEvent_t event, std::uint64_t later) {
        if (!is_known(ticket)) return;
        at(ticket).timed = event;
        at(ticket).awaited = later;
    }
    // The event is recorded anew or destroyed: the point loses its time.
    void forget_time(std::uint64_t ticket, cudaEvent_t event) {
        if (is_known(ticket) && at(ticket).timed == event) at(ticket).timed = nullptr;
    }

    std::uint64_t last() const { return last_; }
    // The event to wait for; nullptr: never recorded. For a ticket long past: the oldest
    // known, which is later.
    cudaEvent_t find(std::uint64_t ticket) const {
        if (ticket == 0 || ticket > last_) return nullptr;
        return at(at(is_known(ticket) ? ticket : last_ + 1 - CudaContext::kTimedTickets).awaited).own.get();
    }
    // The event with the point's time; nullptr: no longer known.
    cudaEvent_t timed(std::uint64_t ticket) const { return is_known(ticket) ? at(ticket).timed : nullptr; }

  private:
    struct Point {
        Event own;
        cudaEvent_t timed = nullptr;
        std::uint64_t awaited = 0;  // the ticket whose own event is awaited: this one or a later one
    };
    bool is_known(std::uint64_t ticket) const {
        return ticket >= 1 && ticket <= last_ && ticket + CudaContext::kTimedTickets > last_;
    }
    Point& at(std::uint64_t ticket) { return points_[ticket % CudaContext::kTimedTickets]; }
    const Point& at(std::uint64_t ticket) const { return points_[ticket % CudaContext::kTimedTickets]; }
    std::vector<Point> points_;
    std::uint64_t last_ = 0;
};

}  // namespace offstage::kernels::cuda
