#include "engine/experts/expert_store.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <deque>
#include <utility>

#include "engine/error.h"
#include "engine/experts/experts_messages.h"
#include "engine/experts/interleave_expert.h"

namespace offstage::engine {

ExpertStore::ExpertStore(const ExpertGrid& grid, ExpertSource& source, const Plan& plan, Backend& device, Arena& ram,
                         kernels::ThreadPool& pool, const Options& options)
    : ExpertTable(grid, source.master_type(), device, ram),
      source_(source),
      pool_(pool),
      dry_(options.dry),
      n_speculative_(options.n_speculative),
      reader_(options.dry || !options.reads ? nullptr : ExpertReader::open(grid, source.master(), *options.reads)),
      disk_slots_(device, ram) {
    assert(plan.places.size() == entries_.size());
    interleaves_ = options.interleaves && !options.dry;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!plan.formats.empty()) entries_[i].format = plan.formats[i];
        largest = std::max(largest, bytes(i));
    }
    if (!device.shares_host_memory()) {
        if (!device.info().emulated) locker_ = std::make_unique<PageLocker>(device);
        ram_.set_pinning(&device, options.pin_budget_bytes, locker_.get());
        disk_slots_.set_locker(locker_.get());
    }
    if (reader_ != nullptr) {
        disk_slots_.set_reader(reader_.get(),
                               [this](std::size_t index, std::byte* block, ExpertReader::Urgency urgency) {
                                   return begin_read(index, block, urgency);
                               });
    }
    disk_slots_.resize(plan.host_staging_slots, largest, plan.disk_buffer_bytes > 0);
    if (!device.shares_host_memory()) {
        std::vector<SlotHeap::Slot> memory;
        for (std::int64_t i = 0; i < plan.staging_slots; ++i) {
            try {
                memory.push_back(slots_.allocate(largest));
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::kOutOfMemory) throw;
                notes_.push_back(messages::no_room_for_copies(device_name(device.info()), message_of(error)));
                break;
            }
        }
        staging_.reset(std::move(memory), largest, options.n_speculative);
    }
    PinnedHost<std::byte> passing;
    try {
        fill(plan, passing);
    } catch (...) {
        wait_for_device();  // it may still read the memory that is released now
        throw;
    }
    if (locker_ != nullptr) locker_->wait();  // so that the first copies are as fast as later ones
    if (!device.shares_host_memory() && pinned_bytes() < ram_.bytes()) {
        notes_.push_back(messages::partly_page_locked(ByteSize{pinned_bytes()}, ByteSize{ram_.bytes()}));
    }
}

ExpertStore::~ExpertStore() {
    wait_for_device();
}

// Waits until the device no longer reads or writes memory that is about to be released.
void ExpertStore::wait_for_device() {
    device_.host_wait(device_.record(DeviceEvent::Queue::kCopy));
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
}

void ExpertStore::set_staging(std::int64_t n, std::uint64_t slot_bytes) {
    if (n == staging_.n_slots() && slot_bytes == staging_.slot_bytes() && !places_.swapping() &&
        staging_.n_borrowed() == 0) {
        return;
    }
    places_.set_borrowing(false);
    do {
        wait_for_device();
        places_.poll();
    } while (staging_.n_borrowed() > 0);
    for (Staging::Slot& slot : staging_.all()) slots_.release(slot.memory);
    staging_.reset({}, slot_bytes, 0);
    std::vector<SlotHeap::Slot> memory;
    try {
        for (std::int64_t i = 0; i < n; ++i) memory.push_back(slots_.allocate(slot_bytes));
    } catch (const Error&) {
        for (const SlotHeap::Slot& slot : memory) slots_.release(slot);
        throw;
    }
    staging_.reset(std::move(memory), slot_bytes, n_speculative_);
}

ExpertReader::Handle ExpertStore::begin_read(std::size_t index, std::byte* block, ExpertReader::Urgency urgency) {
    return format(index) == stored(index) ? reader_->start(key(index), block, urgency) : nullptr;
}

void ExpertStore::expect(std::span<const std::size_t> needed, std::span<const std::size_t> guesses) {
    const auto on_disk = [this](std::span<const std::size_t> experts, std::vector<DiskSlots::Expert>& list) {
        list.clear();
        for (const std::size_t i : experts) {
            if (!in_ram(i) && !on_device(i)) list.push_back({i, bytes(i)});
        }
    };
    on_disk(needed, needed_);
    on_disk(guesses, guesses_);
    disk_slots_.expect(needed_, guesses_);
}

std::optional<kernels::ExpertView> ExpertStore::on_host_now(std::int64_t layer, std::int64_t expert) {
    const std::size_t i = index(layer, expert);
    if (entries_[i].ram) return ram_view(i);
    const std::byte* const block = disk_slots_.find(i);
    if (block == nullptr) return std::nullopt;
    return in_its_layer(i, view(block, entries_[i].format));
}

void ExpertStore::pack(std::size_t index, std::byte* block) {
    const ExpertKey expert = key(index);
    if (reader_ != nullptr && disk_slots_.size() > 0) {
        if (const auto read = begin_read(index, block, ExpertReader::Urgency::kNeeded)) return reader_->wait(read);
    }
    if (!dry_) source_.pack(LayerIndex{expert.layer}, ExpertIndex{expert.expert}, format(index), block, pool_);
}

// passing: memory that the device still copies from when this fails.
void ExpertStore::fill(const Plan& plan, PinnedHost<std::byte>& passing) {
    const auto in_ram = [&](std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    // Experts without a copy in RAM pass through two blocks: one is packed while the
    // other is copied.
    std::array<DeviceEvent, 2> passed;
    std::uint64_t passing_bytes = 0;
    for (const Entry& entry : entries_) passing_bytes = std::max(passing_bytes, expert_bytes(entry.format));
    std::size_t next = 0;
    std::int64_t refused = 0;
    // Where experts stay on disk, the model is larger than RAM: those for RAM are read
    // past the system's cache, some at a time.
    constexpr std::size_t kReadAtOnce = 4;
    std::deque<std::pair<ExpertReader::Handle, std::size_t>> reads;
    const auto interleave = [&](std::size_t i) {
        interleave_expert(ram_layout(entries_[i].format), entries_[i].ram.data, pool_);
    };
    const auto wait_until = [&](std::size_t n_left) {
        for (; reads.size() > n_left; reads.pop_front()) {
            const auto& [read, expert] = reads.front();
            reader_->wait(read);
            interleave(expert);
            source_.master().advance();
        }
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        const bool to_device = plan.places[i] == Place::kDevice && !device_.shares_host_memory();
        if (in_ram(i)) {
            set_ram(entry, ram_.allocate(expert_bytes(entry.format)));
            if (reader_ != nullptr && disk_slots_.size() > 0 && !to_device) {
                if (auto read = begin_read(i, entry.ram.data, ExpertReader::Urgency::kNeeded)) {
                    reads.emplace_back(std::move(read), i);
                    wait_until(kReadAtOnce);
                    continue;
                }
            }
            pack(i, entry.ram.data);
            interleave(i);
            if (to_device && !put_on_device(i, ram_view(i))) ++refused;
        } else if (to_device) {
            if (passing.size() == 0) {
                passing = PinnedHost<std::byte>(device_, static_cast<std::size_t>(2 * passing_bytes),
                                                messages::experts_on_their_way);
            }
            device_.host_wait(passed[next]);
            std::byte* block = passing.host() + next * passing_bytes;
            pack(i, block);
            if (!put_on_device(i, view(block, entry.format))) ++refused;
            passed[next] = device_.record(DeviceEvent::Queue::kCopy);
            next = 1 - next;
        } else {
            continue;
        }
        source_.master().advance();
    }
    wait_until(0);
    device_.host_wait(device_.record(DeviceEvent::Queue::kCopy));
    if (!device_.ok()) {
        throw Error(ErrorKind::kDevice,
                    messages::copying_experts_failed(device_name(device_.info()), device_.failure()));
    }
    if (refused > 0) {
        notes_.push_back(messages::experts_left_over(device_name(device_.info()), n_resident(), refused));
        if (disk_slots_.size() == 0 && !plan.duplicates) {
            throw Error(ErrorKind::kOutOfMemory,
                        messages::device_memory_less_than_planned(device_name(device_.info())));
        }
    }
}

bool ExpertStore::put_on_device(std::size_t index, const kernels::ExpertView& block) {
    Entry& entry = entries_[index];
    SlotHeap::Slot slot;
    try {
        slot = slots_.allocate(expert_bytes(entry.format));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return false;
    }
    if (!device_.copy_expert(slot.data, block, DeviceEvent{})) {
        slots_.release(slot);
        return false;
    }
    set_device(entry, slot);
    return true;
}

void ExpertStore::replace(std::size_t index, kernels::WeightType format, const std::byte* block, bool in_ram,
                          bool on_device) {
    Entry& entry = entries_[index];
    drop_ram(index);
    drop_device(index);
    settle();
    entry.format = format;
    disk_slots_.forget(index);
    const auto put_in_ram = [&] {
        set_ram(entry, ram_.allocate(expert_bytes(format)));
        if (!dry_) std::memcpy(entry.ram.data, block, static_cast<std::size_t>(entry.ram.bytes));
    };
    if (in_ram) put_in_ram();
    if (!on_device) return;
    if (!put_on_device(index, {block, ram_layout(format)})) {
        if (!in_ram) put_in_ram();
        throw Error(ErrorKind::kDevice, messages::copy_of_expert_refused(device_name(device_.info())));
    }
    device_.host_wait(device_.record(DeviceEvent::Queue::kCopy));
}

kernels::ExpertView ExpertStore::on_host(std::int64_t layer, std::int64_t expert) {
    const std::size_t i = index(layer, expert);
    if (entries_[i].ram) return ram_view(i);
    const std::byte* const packed = disk_slots_.find_or_pack(i, bytes(i), [&](std::byte* block) { pack(i, block); });
    return in_its_layer(i, view(packed, format(i)));
}

void ExpertStore::hold(std::int64_t layer, std::int64_t expert, DeviceEvent event) {
    const std::size_t i = index(layer, expert);
    if (entries_[i].ram) {
        entries_[i].ram_read = event;
    } else {
        disk_slots_.hold(i, event);
    }
}

}  // namespace offstage::engine
