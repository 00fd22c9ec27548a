#include "engine/cluster/peer_inbox.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

constexpr std::size_t kBesideActivations = 256;  // bytes that a message takes at least
constexpr std::size_t kMostLost = 1024;

std::size_t held_bytes(const NodeOutputs& outputs) {
    return kBesideActivations + outputs.outputs.size() + outputs.row_token.size() * sizeof(std::uint32_t) +
           outputs.experts.size() * sizeof(ComputeExpert);
}

}  // namespace

void PeerInbox::begin_step(std::uint64_t step) {
    const std::scoped_lock lock(mutex_);
    step_ = step;
    lost_ = 0;
    while (!held_.empty() && std::get<0>(held_.begin()->first) < step) {
        for (const Arrived& one : held_.begin()->second.arrived) bytes_ -= held_bytes(one.outputs);
        held_.erase(held_.begin());
    }
    lost_in_.erase(lost_in_.begin(), lost_in_.lower_bound({step, 0}));
}

bool PeerInbox::put(NodeOutputs outputs) {
    const auto now = Clock::now();
    {
        const std::scoped_lock lock(mutex_);
        if (outputs.step < step_) return true;
        if (outputs.lost) {
            if (lost_in_.size() >= kMostLost) return false;
            lost_in_.insert({outputs.step, outputs.machine});
        } else {
            const Key key(outputs.step, outputs.layer, outputs.machine);
            const auto found = held_.find(key);
            if (found != held_.end() && outputs.part < found->second.next_part) return true;
            const std::size_t bytes = held_bytes(outputs);
            if (bytes_ + bytes > most_bytes_) return false;
            bytes_ += bytes;
            Held& held = held_[key];
            held.next_part = std::max(outputs.part, outputs.part + 1);  // it may be any number
            held.arrived.push_back({std::move(outputs), now});
        }
    }
    changed_.notify_all();
    return true;
}

std::optional<PeerInbox::Arrived> PeerInbox::take(std::int32_t layer, std::uint32_t machine,
                                                  std::optional<Clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const Key key(step_, layer, machine);
    auto found = held_.end();
    const auto decided = [&] {
        found = held_.find(key);
        if (found != held_.end() && found->second.arrived.empty()) found = held_.end();
        return found != held_.end() || (lost_ >> machine & 1u) != 0 || lost_in_.contains({step_, machine}) ||
               abandoned_ >= step_;
    };
    if (until) {
        changed_.wait_until(lock, *until, decided);
    } else {
        changed_.wait(lock, decided);
    }
    if (found == held_.end()) return {};
    Arrived first = std::move(found->second.arrived.front());
    found->second.arrived.pop_front();
    bytes_ -= held_bytes(first.outputs);
    return first;
}

void PeerInbox::lose(std::uint32_t machine) {
    const std::scoped_lock lock(mutex_);
    lost_ |= 1u << machine;
    changed_.notify_all();
}

void PeerInbox::lose_in(std::uint64_t step, std::uint32_t machine) {
    const std::scoped_lock lock(mutex_);
    if (step != step_) return;
    lost_ |= 1u << machine;
    changed_.notify_all();
}

void PeerInbox::abandon(std::uint64_t step) {
    const std::scoped_lock lock(mutex_);
    abandoned_ = std::max(abandoned_, step);
    changed_.notify_all();
}

std::size_t PeerInbox::n_bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

}  // namespace offstage::engine
