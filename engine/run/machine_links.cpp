#include "engine/run/machine_links.h"

#include <utility>

#include "engine/error.h"

namespace offstage::engine {

void MachineLinks::join(const JoinMachinesFn& join, LoadedModel& model, const std::stop_token& stop) {
    part();
    std::unique_ptr<JoinedMachines> joined = join ? join(model, stop) : nullptr;
    const std::lock_guard lock(mutex_);
    machines_ = std::move(joined);
}

void MachineLinks::join_again(LoadedModel& model, const std::stop_token& stop) {
    if (machines_ == nullptr) return;
    const JoinMachinesFn again = machines_->join_again(stop);
    if (!again) return;
    try {
        join(again, model, {});
    } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        notes_.push_back(error.message());
    }
}

void MachineLinks::part() {
    std::unique_ptr<JoinedMachines> gone;  // ends its connections when the lock is free
    const std::lock_guard lock(mutex_);
    if (machines_ == nullptr) return;
    revision_ += machines_->revision() + 1;
    for (Message& note : machines_->take_notes()) notes_.push_back(std::move(note));
    gone = std::move(machines_);
}

std::vector<Message> MachineLinks::take_notes() {
    const std::lock_guard lock(mutex_);
    std::vector<Message> notes = std::exchange(notes_, {});
    if (machines_ == nullptr) return notes;
    for (Message& note : machines_->take_notes()) notes.push_back(std::move(note));
    return notes;
}

void MachineLinks::fill(Snapshot& snapshot) const {
    const std::lock_guard lock(mutex_);
    snapshot.revision += revision_;
    if (machines_ == nullptr) return;
    snapshot.revision += machines_->revision();
    machines_->fill(snapshot);
}

}  // namespace offstage::engine
