#include "engine/experts/migrator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/device/counted_bytes.h"
#include "engine/error.h"
#include "engine/experts/experts_messages.h"

namespace offstage::engine {

Migrator::Migrator(ExpertStore& store, ExpertSource& source, Backend& device, bool dry)
    : store_(store), device_(device), dry_(dry), packer_(source, dry) {}

double Migrator::now_us() const {
    if (dry_) return device_.now_us();
    using Us = std::chrono::duration<double, std::micro>;
    return std::chrono::duration_cast<Us>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Migrator::begin(const Plan& plan) {
    stop();
    state_ = MigrationState::kMoving;
    progress_ = {};
    problem_ = {};
    changes_ = 0;
    no_room_ = false;
    shortage_ = {};
    may_upload_ = true;
    copied_.reset();
    n_slots_ = plan.host_staging_slots;
    slot_bytes_ = 0;
    buffered_ = plan.disk_buffer_bytes > 0;
    const bool shared = device_.shares_host_memory();
    // Exchanges under way end first: the plan is compared with the state after them.
    store_.places().set_borrowing(false);
    while (store_.places().busy()) {
        device_.host_wait(device_.record(DeviceEvent::Queue::kCopy));
        store_.places().poll();
    }
    for (std::size_t i = 0; i < store_.size(); ++i) {
        Task task;
        task.expert = i;
        task.format = plan.formats.empty() ? store_.stored(i) : plan.formats[i];
        task.device = plan.places[i] == Place::kDevice && !shared;
        task.ram = plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && (plan.duplicates || shared));
        task.changes = task.requantizes = task.format != store_.format(i);
        slot_bytes_ = std::max(slot_bytes_, store_.expert_bytes(task.format));
        const ExpertMove move = move_of(copies_of(i), {task.ram, task.device, task.format});
        if (move.copies > 0 || task.changes) {
            progress_.work.add(move, task.format);
            progress_.requested += move.copies;
            progress_.bytes_requested += static_cast<std::uint64_t>(move.copies) * store_.expert_bytes(task.format);
            (needs_packing(task) ? to_pack_ : to_upload_).push_back(task);
        } else {
            // No new copy is needed, so unneeded ones can go at once.
            if (!task.device && store_.on_device(i)) store_.drop_device(i);
            if (!task.ram && store_.in_ram(i)) store_.drop_ram(i);
        }
    }
    // Tasks that reduce memory come first, at the end of the list: the device's, and then
    // all of it.
    const auto growth = [&](const Task& t) {
        const auto bytes = static_cast<std::int64_t>(store_.expert_bytes(t.format));
        const auto old_bytes = static_cast<std::int64_t>(store_.bytes(t.expert));
        const std::int64_t ram = (t.ram ? bytes : 0) - (store_.in_ram(t.expert) ? old_bytes : 0);
        const std::int64_t device = (t.device ? bytes : 0) - (store_.on_device(t.expert) ? old_bytes : 0);
        return std::pair(device, ram + device);
    };
    std::stable_sort(to_pack_.begin(), to_pack_.end(),
                     [&](const Task& a, const Task& b) { return growth(a) > growth(b); });
    queued_since_us_ = to_upload_.empty() ? std::nullopt : std::optional(now_us());
}

void Migrator::stop() {
    const auto packed = packer_.cancel();
    if (packed.has_value() && !packing_->passes) store_.copies().pinned(packing_->expert, packed->pinned);
    const auto give_up = [&](const Task& task) { store_.copies().abandon(task.expert); };
    if (packing_.has_value()) give_up(*packing_);
    if (uploading_.has_value()) give_up(*uploading_);
    for (const Task& task : ready_) give_up(task);
    for (const Task& task : to_upload_) give_up(task);
    packing_.reset();
    uploading_.reset();
    ready_.clear();
    to_upload_.clear();
    to_pack_.clear();
    passing_ = {};
    if (state_ == MigrationState::kMoving) state_ = MigrationState::kNone;
}

ExpertCopies Migrator::copies_of(std::size_t expert) const {
    return {store_.in_ram(expert), store_.on_device(expert), store_.format(expert)};
}

bool Migrator::needs_packing(const Task& task) const {
    return !task.packed && move_of(copies_of(task.expert), {task.ram, task.device, task.format}).packs;
}

bool Migrator::needs_device(const Task& task) const {
    return task.device && (task.changes || !store_.on_device(task.expert));
}

void Migrator::fail(const Message& problem) {
    stop();
    state_ = MigrationState::kFailed;
    problem_ = problem;
}

void Migrator::change_over(const Task& task) {
    const bool new_ram = task.ram && (task.changes || !store_.in_ram(task.expert));
    const bool new_device = task.device && (task.changes || !store_.on_device(task.expert));
    if (task.passes) {
        if (slots_may_go_for(task.expert)) store_.disk_slots().shrink(0, 0, false);
        try {
            store_.replace(task.expert, task.format, passing_.host(), task.ram, task.device);
        } catch (const Error& error) {
            return fail(message_of(error));
        }
        if (task.device) ++progress_.done.uploaded[static_cast<std::size_t>(task.format)];
    } else {
        if (task.changes && !task.ram && !task.device) store_.copies().prepare_format(task.expert, task.format);
        store_.copies().commit(task.expert, task.ram, task.device);
    }
    progress_.visible += static_cast<int>(new_ram) + static_cast<int>(new_device);
    progress_.done.copies = progress_.visible;
    ++changes_;
}

void Migrator::finish_packing(When when) {
    if (!packing_.has_value()) return;
    const auto result = packer_.poll();
    if (!result.has_value()) return;
    Task task = *std::exchange(packing_, std::nullopt);
    if (!task.passes) store_.copies().pinned(task.expert, result->pinned);
    if (!result->ok) {
        store_.copies().abandon(task.expert);
        fail(result->problem);
        return;
    }
    task.packed = true;
    MigrationRates& rates = rates_[when == When::kIdle ? 1 : 0];
    MigrationRates::learn(task.requantizes ? rates.change_us : rates.pack_us, task.format,
                          now_us() - packing_since_us_);
    ++(task.requantizes ? progress_.done.changed : progress_.done.packed)[static_cast<std::size_t>(task.format)];
    progress_.bytes_moved += task.ram ? store_.expert_bytes(task.format) : 0;
    ++changes_;
    if (needs_device(task) && !task.passes) {
        to_upload_.insert(to_upload_.begin(), task);
    } else {
        ready_.push_back(task);
    }
}

void Migrator::finish_upload(When when) {
    if (!uploading_.has_value() || !store_.copies().is_on_device(uploading_->expert)) return;
    const Task task = *std::exchange(uploading_, std::nullopt);
    if (when == When::kBetweenLayers) {
        copied_ = task.format;  // the next one has to wait for the step's end
    } else {
        learn_upload(when, task.format);
    }
    ++progress_.done.uploaded[static_cast<std::size_t>(task.format)];
    progress_.bytes_moved += store_.expert_bytes(task.format);
    if (task.changes && when == When::kBetweenLayers) {
        ready_.push_back(task);
        ++changes_;
    } else {
        change_over(task);
    }
}

void Migrator::learn_upload(When when, kernels::WeightType format) {
    const double now = now_us();
    MigrationRates::learn(rates_[when == When::kIdle ? 1 : 0].upload_us, format, now - uploading_since_us_);
    queued_since_us_ = to_upload_.empty() ? std::nullopt : std::optional(now);
}

void Migrator::finish_ready() {
    while (moving() && !ready_.empty()) {
        const Task task = ready_.front();
        ready_.erase(ready_.begin());
        change_over(task);
    }
}

// Releases dropped memory; between layers only memory that needs no wait. True: some was
// released. If store_.freeing() afterwards, more will follow.
bool Migrator::make_room(When when) {
    return when == When::kIdle ? store_.settle() : store_.free_dropped(when == When::kBetweenSteps);
}

void Migrator::pack_next(When when) {
    const auto waiting =
        std::count_if(to_upload_.begin(), to_upload_.end(), [](const Task& task) { return task.packed; });
    if (waiting >= kPackedAhead && !no_room_) return;
    while (!packing_.has_value() && !to_pack_.empty()) {
        Task task = to_pack_.back();
        to_pack_.pop_back();
        if (!needs_packing(task)) {  // only the format of an expert on disk
            ready_.push_back(task);
            continue;
        }
        try {
            PreparedCopies& copies = store_.copies();
            std::byte* block = copies.prepare_ram(task.expert, task.format, SlotHeap::Pinning::kLater);
            start_packing(task, block, copies.to_pin(task.expert), when);
        } catch (const Error& error) {
            shortage_ = message_of(error);
            const bool waits = uploading_.has_value() || !ready_.empty() || !to_upload_.empty();
            const bool freed = make_room(when);
            if (freed || waits || store_.freeing()) {
                to_pack_.push_back(task);
                if (waits || !freed) return;
                continue;
            }
            // Another one may fit, and make room for this one.
            const std::int64_t last_try = std::exchange(task.tried_at, changes_);
            to_pack_.insert(last_try == changes_ ? to_pack_.end() : to_pack_.begin(), task);
            if (last_try == changes_) return;
        }
    }
}

void Migrator::start_packing(const Task& task, std::byte* block, Backend* pins, When when) {
    const ExpertKey key = store_.key(task.expert);
    packer_.start(LayerIndex{key.layer}, ExpertIndex{key.expert}, task.format,
                  {block, static_cast<std::size_t>(store_.expert_bytes(task.format))}, store_.ram_layout(task.format),
                  pins);
    if (when != When::kIdle) packer_.begin();
    packing_ = task;
    packing_since_us_ = now_us();
}

// Nothing is on its way, and no task finds room beside the present copies.
bool Migrator::is_stuck(When when) const {
    if (when == When::kBetweenLayers || packing_ || uploading_ || !ready_.empty() || store_.freeing()) return false;
    if (!to_upload_.empty()) return may_upload_ || when == When::kIdle;
    return !to_pack_.empty();
}

void Migrator::find_room(When when) {
    const auto fitting =
        std::find_if(to_pack_.rbegin(), to_pack_.rend(), [&](const Task& task) { return fits_in_its_place(task); });
    ++changes_;
    if (fitting == to_pack_.rend()) {
        if (!drop_second_copy() && !reduce_slots()) fail(shortage_);
        return;
    }
    Task task = *fitting;
    to_pack_.erase(std::next(fitting).base());
    task.passes = true;
    try {
        const auto bytes = static_cast<std::size_t>(store_.expert_bytes(task.format));
        if (passing_.size() < bytes) {
            passing_ = {};
            passing_ = PinnedHost<std::byte>(device_, bytes, messages::experts_on_their_way);
        }
        start_packing(task, passing_.host(), nullptr, when);
    } catch (const Error& error) {
        fail(message_of(error));
    }
}

// The plan has no slots for experts on disk, and no other expert needs them.
bool Migrator::slots_may_go_for(std::size_t expert) const {
    if (n_slots_ > 0 || store_.disk_slots().size() == 0) return false;
    for (std::size_t i = 0; i < store_.size(); ++i) {
        if (i != expert && !store_.in_ram(i) && !store_.on_device(i)) return false;
    }
    return true;
}

bool Migrator::fits_in_its_place(const Task& task) const {
    const std::uint64_t bytes = counted_bytes(store_.expert_bytes(task.format));
    const std::uint64_t old_bytes = counted_bytes(store_.bytes(task.expert));
    std::uint64_t ram = store_.ram_room() + (store_.in_ram(task.expert) ? old_bytes : 0);
    if (slots_may_go_for(task.expert)) {
        DiskSlots& slots = store_.disk_slots();
        ram += static_cast<std::uint64_t>(slots.size()) * counted_bytes(slots.slot_bytes());
    }
    const std::uint64_t device = store_.device_room() + (store_.on_device(task.expert) ? old_bytes : 0);
    return (!task.ram || bytes <= ram) && (!task.device || bytes <= device);
}

// Of an expert in its old format that has a copy on the device as well. False: none.
bool Migrator::drop_second_copy() {
    const auto found = std::find_if(to_pack_.rbegin(), to_pack_.rend(), [&](const Task& task) {
        return task.changes && store_.in_ram(task.expert) && store_.on_device(task.expert);
    });
    if (found == to_pack_.rend()) return false;
    store_.drop_ram(found->expert);
    return true;
}

// Reduces slots for experts on disk to those of the plan, and to one if that has none.
// Experts on disk get their new format there; one whose new copy waits for the device
// keeps a slot for its old format. False: there was nothing to reduce.
bool Migrator::reduce_slots() {
    DiskSlots& slots = store_.disk_slots();
    const std::int64_t n = std::max<std::int64_t>(1, n_slots_);
    if (slots.size() <= n && slots.slot_bytes() <= slot_bytes_) return false;
    for (Task& task : to_pack_) {
        if (!task.changes || store_.in_ram(task.expert) || store_.on_device(task.expert)) continue;
        store_.copies().prepare_format(task.expert, task.format);
        store_.copies().commit(task.expert, false, false);
        task.changes = false;
    }
    std::uint64_t needed = slot_bytes_;
    for (const Task& task : to_upload_) {
        if (!store_.in_ram(task.expert) && !store_.on_device(task.expert))
            needed = std::max(needed, store_.bytes(task.expert));
    }
    const std::int64_t size = slots.size();
    const std::uint64_t bytes = slots.slot_bytes();
    slots.shrink(n, needed, buffered_);
    return slots.size() < size || slots.slot_bytes() < bytes;
}

void Migrator::upload_next(When when) {
    while (!uploading_.has_value() && !to_upload_.empty() && (may_upload_ || when == When::kIdle)) {
        Task task = to_upload_.front();
        to_upload_.erase(to_upload_.begin());
        if (!needs_device(task)) {  // only the format of an expert on disk
            ready_.push_back(task);
            continue;
        }
        try {
            if (!store_.copies().prepare_device(task.expert)) {
                store_.copies().abandon(task.expert);
                return fail(messages::copy_of_expert_refused(device_name(device_.info())));
            }
            uploading_ = task;
            uploading_since_us_ = queued_since_us_.value_or(now_us());
            queued_since_us_.reset();
            may_upload_ = false;
            no_room_ = false;
        } catch (const Error& error) {
            shortage_ = message_of(error);
            const bool freed = make_room(when);
            if (freed || store_.freeing()) {
                to_upload_.insert(to_upload_.begin(), task);
                if (!freed) return;
                continue;
            }
            if (task.changes && task.packed && store_.on_device(task.expert)) {
                // There is no room for both formats: the new one is used from RAM until
                // the old one's place is free.
                if (when == When::kBetweenLayers) {
                    to_upload_.insert(to_upload_.begin(), task);
                    return;
                }
                store_.copies().commit(task.expert, true, false);
                task.changes = false;
                if (task.ram) progress_.done.copies = ++progress_.visible;
                ++changes_;
                to_upload_.insert(to_upload_.begin(), task);
                continue;
            }
            no_room_ = true;
            const std::int64_t last_try = std::exchange(task.tried_at, changes_);
            to_upload_.push_back(task);
            if (last_try == changes_) return;
        }
    }
}

void Migrator::advance(When when) {
    if (!moving()) return;
    if (when == When::kBetweenSteps) may_upload_ = true;
    if (when != When::kIdle) packer_.begin();  // for a job that was left to wait() at the end of an answer
    if (when != When::kBetweenLayers && copied_.has_value())
        learn_upload(When::kBetweenSteps, *std::exchange(copied_, {}));
    // A format changes only between two steps, when no address of the old one is in use.
    bool had_room = false;
    for (std::int64_t before = -1; moving() && (before != changes_ || (had_room && no_room_));) {
        before = changes_;
        had_room = !no_room_;
        finish_packing(when);
        if (moving()) finish_upload(when);
        if (moving() && when != When::kBetweenLayers) finish_ready();
        if (moving()) pack_next(when);
        if (moving()) upload_next(when);
        if (moving() && before == changes_ && !(had_room && no_room_) && is_stuck(when)) find_room(when);
    }
    // The caller that sees the end settles everything: memory that is being unlocked has
    // been released before.
    if (when != When::kIdle && store_.unlocking()) {
        store_.free_dropped(false);
        if (store_.unlocking()) return;
    }
    if (moving() && to_pack_.empty() && to_upload_.empty() && ready_.empty() && !packing_ && !uploading_) {
        state_ = MigrationState::kDone;
    }
}

void Migrator::wait(kernels::ThreadPool& pool) {
    if (!moving()) return;
    if (packing_.has_value()) {  // while another one's copy is on its way
        packer_.wait(pool);
    } else if (uploading_.has_value()) {
        device_.host_wait(device_.record(DeviceEvent::Queue::kCopy));
    }
}

}  // namespace offstage::engine
