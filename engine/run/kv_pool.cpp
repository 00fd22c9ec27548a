#include "engine/run/kv_pool.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

using kernels::kKvBlockTokens;

KvPool::Memory::Memory(Memory&& other) noexcept
    : bytes(std::move(other.bytes)),
      place(std::exchange(other.place, {})),
      pinned_by(std::exchange(other.pinned_by, nullptr)),
      locker(std::exchange(other.locker, nullptr)) {}

KvPool::Memory& KvPool::Memory::operator=(Memory&& other) noexcept {
    Memory gone(std::move(*this));
    bytes = std::move(other.bytes);
    place = std::exchange(other.place, {});
    pinned_by = std::exchange(other.pinned_by, nullptr);
    locker = std::exchange(other.locker, nullptr);
    return *this;
}

KvPool::Memory::~Memory() {
    if (locker != nullptr) {
        locker->release(std::move(bytes), pinned_by != nullptr);
    } else if (pinned_by != nullptr) {
        pinned_by->unpin({bytes.data(), bytes.size()});
    }
}

KvPool::KvPool(const KvGroup& group, KvRoom room, Backend& device, Arena& ram, PageLocker* locker)
    : shape_(group.shape),
      window_(group.window),
      is_state_(group.is_state),
      keeps_type_(group.keeps_type()),
      device_(device),
      ram_(ram),
      locker_(locker) {
    resize(room);
}

std::int64_t KvPool::n_held_in_host() const {
    return room_.host_blocks - static_cast<std::int64_t>(spare_[static_cast<std::size_t>(Place::kHost)].size());
}

void KvPool::set_idle(std::int32_t block, bool idle) {
    Held& held = held_[static_cast<std::size_t>(block)];
    held.idle += idle ? 1 : -1;
    n_idle_ += idle ? 1 : -1;
    assert(held.idle >= 0 && held.idle <= held.references);
}

void KvPool::bring_to_device() {
    settle(2 * n_blocks() + 2);
}

void KvPool::make_device_room() {
    if (n_idle_ == 0 || !spare(Place::kDevice).empty() || spare(Place::kHost).empty()) return;
    const std::vector<std::int32_t> on_device = held_in(Place::kDevice);
    if (on_device.empty()) return;
    const Held& least = held_[static_cast<std::size_t>(on_device.front())];
    if (least.idle == least.references) move(std::span(on_device).first(1), Place::kDevice);
}

std::int32_t KvPool::take() {
    make_device_room();
    const Place place = spare(Place::kDevice).empty() ? Place::kHost : Place::kDevice;
    if (spare(place).empty()) return -1;
    const std::int32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    Held& held = held_[static_cast<std::size_t>(number)];
    held.memory = std::move(spare(place).back());
    spare(place).pop_back();
    held.references = 1;
    held.age = ++n_taken_;
    return number;
}

void KvPool::drop(std::int32_t block) {
    Held& held = held_[static_cast<std::size_t>(block)];
    assert(held.references > 0);
    if (--held.references > 0) return;
    spare(held.memory.place.in_host ? Place::kHost : Place::kDevice).push_back(std::move(held.memory));
    free_numbers_.push_back(block);
}

bool KvPool::download(std::int32_t block, std::byte* to) {
    const Memory& memory = held_[static_cast<std::size_t>(block)].memory;
    if (!memory.place.in_host) device_.download(to, memory.bytes.data(), memory.bytes.size());
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    if (memory.place.in_host) std::memcpy(to, memory.bytes.data(), memory.bytes.size());
    return device_.ok();
}

bool KvPool::upload(std::int32_t block, const std::byte* from) {
    const Memory& memory = held_[static_cast<std::size_t>(block)].memory;
    if (!memory.place.in_host) device_.upload(memory.bytes.data(), from, memory.bytes.size());
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    if (memory.place.in_host) std::memcpy(memory.bytes.data(), from, memory.bytes.size());
    return device_.ok();
}

bool KvPool::add_block() {
    for (const KvRoom& room :
         {KvRoom{room_.device_blocks + 1, room_.host_blocks}, KvRoom{room_.device_blocks, room_.host_blocks + 1}}) {
        try {
            change_room(room);
            return true;
        } catch (const Error&) {
        }
    }
    return false;
}

// ---------------------------------------------------------------- resizing

void KvPool::resize(KvRoom room) {
    const std::int64_t all = std::max<std::int64_t>(0, room.n_blocks()) + n_blocks() + 1;
    while (!approach(room, all, false)) {
    }
    prepared_.clear();
    if (locker_ != nullptr) locker_->wait();  // for pending releases
}

bool KvPool::approach(KvRoom room, std::int64_t most_blocks) {
    try {
        return approach(room, most_blocks, locker_ != nullptr);
    } catch (const Error&) {
        prepared_.clear();
        throw;
    }
}

bool KvPool::drop_prepared() {
    if (prepared_.empty()) return false;
    prepared_.clear();
    return true;
}

bool KvPool::approach(KvRoom room, std::int64_t most_blocks, bool prepares) {
    assert(most_blocks > 0);
    const std::int64_t n_held = n_blocks() - n_free();
    if (is_state_ && n_held > room.n_blocks()) {  // more than planned: see add_block()
        (device_.shares_host_memory() ? room.device_blocks : room.host_blocks) += n_held - room.n_blocks();
    }
    if (room.device_blocks < 0 || room.host_blocks < 0 || n_held > room.n_blocks()) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::kv_cache_below_use(std::max<std::int64_t>(0, room.n_blocks()) * kKvBlockTokens,
                                                 n_held * kKvBlockTokens, kKvBlockTokens));
    }
    // Both memories move the same number of blocks towards their end. So the held blocks
    // always fit: where one shrinks by more than the other still grows, the other has
    // reached its end, and the two ends together hold everything.
    const auto nearer = [&](std::int64_t now, std::int64_t end) {
        return std::clamp(end, now - most_blocks, now + most_blocks);
    };
    const KvRoom next{nearer(room_.device_blocks, room.device_blocks), nearer(room_.host_blocks, room.host_blocks)};
    if (prepares && !prepare(shape_, next.host_blocks - room_.host_blocks, room.host_blocks, Shortage::kThrows)) {
        return false;
    }
    const std::int64_t n_copied = change_room(next);
    return settle(most_blocks - n_copied) && room_ == room;
}

std::int64_t KvPool::change_room(KvRoom room) {
    if (room == room_) return 0;
    const std::int64_t n_held = n_blocks() - n_free();
    std::int64_t n_copied = 0;
    // Everything that throws comes first, and memory taken by then releases itself.
    std::vector<Memory> added[2] = {
        allocate(Place::kDevice, shape_, room.device_blocks - room_.device_blocks, room.device_blocks),
        allocate(Place::kHost, shape_, room.host_blocks - room_.host_blocks, room.host_blocks)};
    const auto n_numbers = std::max(held_.size(), static_cast<std::size_t>(room.n_blocks()));
    free_numbers_.reserve(n_numbers);
    for (std::vector<Memory>& memories : spare_) memories.reserve(n_numbers);
    held_.reserve(n_numbers);

    for (const Place from : {Place::kDevice, Place::kHost}) {
        std::vector<std::int32_t> leaving = held_in(from);
        const std::int64_t kept = from == Place::kDevice ? room.device_blocks : room.host_blocks;
        if (static_cast<std::int64_t>(leaving.size()) <= kept) continue;  // at most one place has too many
        leaving.resize(leaving.size() - static_cast<std::size_t>(kept));
        // Enough for all: the other place has at least as many memories as its new room
        // needs, and the held blocks fit in it.
        std::vector<Memory*> to;
        for (Memory& memory : spare(other(from))) to.push_back(&memory);
        for (Memory& memory : added[static_cast<std::size_t>(other(from))]) to.push_back(&memory);
        assert(to.size() >= leaving.size());
        if (!copy(leaving, from, to)) {
            throw Error(ErrorKind::kDevice, messages::kv_cache_keeps_size(device_.failure()));
        }
        n_copied += static_cast<std::int64_t>(leaving.size());
        for (std::size_t i = 0; i < leaving.size(); ++i) {
            std::swap(held_[static_cast<std::size_t>(leaving[i])].memory, *to[i]);
        }
        // Memory that was swapped out lies among the other place's: move it back to its
        // own.
        for (std::vector<Memory>* memories : {&spare(other(from)), &added[static_cast<std::size_t>(other(from))]}) {
            const auto strays = std::partition(memories->begin(), memories->end(), [&](const Memory& memory) {
                return memory.place.in_host == (other(from) == Place::kHost);
            });
            std::move(strays, memories->end(), std::back_inserter(spare(from)));
            memories->erase(strays, memories->end());
        }
    }

    // Nothing below fails.
    const auto n_held_on_device = static_cast<std::size_t>(held_in(Place::kDevice).size());
    for (const Place place : {Place::kDevice, Place::kHost}) {
        std::vector<Memory>& memories = spare(place);
        std::move(added[static_cast<std::size_t>(place)].begin(), added[static_cast<std::size_t>(place)].end(),
                  std::back_inserter(memories));
        const std::size_t held_here =
            place == Place::kDevice ? n_held_on_device : static_cast<std::size_t>(n_held) - n_held_on_device;
        const auto wanted =
            static_cast<std::size_t>(place == Place::kDevice ? room.device_blocks : room.host_blocks) - held_here;
        memories.erase(memories.begin() + static_cast<std::ptrdiff_t>(wanted), memories.end());
    }
    for (auto number = static_cast<std::int32_t>(n_numbers); number-- > static_cast<std::int32_t>(held_.size());) {
        free_numbers_.push_back(number);
    }
    held_.resize(n_numbers);
    room_ = room;
    return n_copied;
}

bool KvPool::prepare_retype(kernels::KvType type, KvRoom room) {
    if (locker_ == nullptr || type == shape_.type || keeps_type_) return true;
    kernels::KvShape target = shape_;
    target.type = type;
    const std::int64_t n = std::max(room.host_blocks, n_held_in_host());
    try {
        return prepare(target, n, n, Shortage::kIsLeft);
    } catch (const Error&) {
        prepared_.clear();
        throw;
    }
}

void KvPool::retype(kernels::KvType type) {
    if (type == shape_.type || keeps_type_) return;
    for (std::vector<Memory>& memories : spare_) memories.clear();
    room_ = {};
    std::vector<Held*> in_use;
    for (Held& held : held_) {
        if (held.references == 0) continue;
        in_use.push_back(&held);
        ++(held.memory.place.in_host ? room_.host_blocks : room_.device_blocks);
    }
    const kernels::KvType before = shape_.type;
    std::size_t done = 0;
    try {
        for (; done < in_use.size(); ++done) rewrite(*in_use[done], type);
    } catch (const Error&) {
        // Back to where each fitted before.
        prepared_.clear();
        shape_.type = type;
        while (done > 0) rewrite(*in_use[--done], before);
        shape_.type = before;
        throw;
    }
    shape_.type = type;
}

void KvPool::rewrite(Held& held, kernels::KvType type) {
    kernels::KvShape target = shape_;
    target.type = type;
    const Place place = held.memory.place.in_host ? Place::kHost : Place::kDevice;
    Memory memory = std::move(allocate(place, target, 1, room_.n_blocks()).front());
    device_.submit(ops::CopyKvBlock{shape_, held.memory.place, type, memory.place, kKvBlockTokens});
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    if (!device_.ok()) {
        throw Error(ErrorKind::kDevice, messages::kv_cache_keeps_format(device_.failure()));
    }
    held.memory = std::move(memory);
}

Message KvPool::purpose_of(const kernels::KvShape& shape, std::int64_t of_all) const {
    return messages::kv_cache_of_all(
        ByteSize{static_cast<std::uint64_t>(of_all) * static_cast<std::uint64_t>(shape.block_bytes())});
}

// With a locker.
DeviceBlock KvPool::allocate_host(std::size_t bytes, const Message& purpose) {
    try {
        return ram_.allocate(bytes, MemoryUse::kKvCache, purpose);
    } catch (const Error&) {
        if (!locker_->wait()) throw;  // memory that is being unlocked may be enough
    }
    return ram_.allocate(bytes, MemoryUse::kKvCache, purpose);
}

// Memory that is being locked has no address yet: see map_locked().
KvPool::Memory KvPool::being_locked(DeviceBlock bytes) {
    Memory memory;
    memory.bytes = std::move(bytes);
    locker_->lock({memory.bytes.data(), memory.bytes.size()});
    memory.locker = locker_;
    return memory;
}

// Once nothing is on its way.
void KvPool::map_locked(std::span<Memory> memories, const Message& purpose) {
    for (Memory& memory : memories) {
        if (memory.place.data != nullptr) continue;
        std::byte* const address =
            locker_->is_locked(memory.bytes.data()) ? device_.mapped(memory.bytes.data()) : nullptr;
        if (address == nullptr) throw Error(ErrorKind::kOutOfMemory, messages::no_more_page_locked_ram(purpose));
        memory.place = {address, true};
    }
}

// Without a locker.
KvPool::Memory KvPool::pinned_host(std::size_t bytes, const Message& purpose) {
    Memory memory;
    memory.bytes = ram_.allocate(bytes, MemoryUse::kKvCache, purpose);
    if (device_.pin({memory.bytes.data(), bytes})) memory.pinned_by = &device_;
    std::byte* const address = memory.pinned_by != nullptr ? device_.mapped(memory.bytes.data()) : nullptr;
    if (address == nullptr) throw Error(ErrorKind::kOutOfMemory, messages::no_more_page_locked_ram(purpose));
    memory.place = {address, true};
    return memory;
}

// Takes the next n blocks in RAM and lets the locker lock them. False: not locked yet.
bool KvPool::prepare(const kernels::KvShape& shape, std::int64_t n, std::int64_t of_all, Shortage shortage) {
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, n));
    const auto bytes = static_cast<std::size_t>(shape.block_bytes());
    if (!prepared_.empty() && prepared_.front().bytes.size() != bytes) prepared_.clear();
    while (prepared_.size() > wanted) prepared_.pop_back();
    if (wanted == 0) return true;
    const Message purpose = purpose_of(shape, of_all);
    while (prepared_.size() < wanted) {
        try {
            prepared_.push_back(being_locked(ram_.allocate(bytes, MemoryUse::kKvCache, purpose)));
        } catch (const Error&) {
            if (locker_->busy()) return false;  // memory that is being unlocked may be enough
            if (shortage == Shortage::kThrows) throw;
            break;
        }
    }
    if (locker_->busy()) return false;
    map_locked(prepared_, purpose);
    return true;
}

// Uses the blocks that prepare() had locked first.
std::vector<KvPool::Memory> KvPool::allocate(Place place, const kernels::KvShape& shape, std::int64_t n,
                                             std::int64_t of_all) {
    std::vector<Memory> memories;
    if (n <= 0) return memories;
    memories.reserve(static_cast<std::size_t>(n));
    const auto bytes = static_cast<std::size_t>(shape.block_bytes());
    const Message purpose = purpose_of(shape, of_all);
    for (; n > 0; --n) {
        if (place == Place::kDevice) {
            Memory memory;
            memory.bytes = device_.memory().allocate(bytes, MemoryUse::kKvCache, purpose);
            memory.place = {memory.bytes.data(), false};
            memories.push_back(std::move(memory));
        } else if (locker_ == nullptr) {
            memories.push_back(pinned_host(bytes, purpose));
        } else if (!prepared_.empty() && prepared_.back().bytes.size() == bytes) {
            memories.push_back(std::move(prepared_.back()));
            prepared_.pop_back();
        } else {
            memories.push_back(being_locked(allocate_host(bytes, purpose)));
        }
    }
    const auto has_no_address = [](const Memory& memory) { return memory.place.data == nullptr; };
    if (std::any_of(memories.begin(), memories.end(), has_no_address)) {
        locker_->wait();
        map_locked(memories, purpose);
    }
    return memories;
}

bool KvPool::is_read_more(const Held& a, const Held& b) const {
    const std::int64_t n_a = a.references - a.idle, n_b = b.references - b.idle;
    if (n_a == 0 || n_b == 0) return n_a > n_b;
    return !keeps_all() ? a.age > b.age : n_a > n_b;
}

std::vector<std::int32_t> KvPool::held_in(Place place) const {
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        const Held& held = held_[i];
        if (held.references > 0 && held.memory.place.in_host == (place == Place::kHost)) {
            numbers.push_back(static_cast<std::int32_t>(i));
        }
    }
    std::sort(numbers.begin(), numbers.end(), [&](std::int32_t x, std::int32_t y) {
        const Held& a = held_[static_cast<std::size_t>(x)];
        const Held& b = held_[static_cast<std::size_t>(y)];
        if (is_read_more(a, b) || is_read_more(b, a)) return is_read_more(b, a);
        return a.age > b.age;
    });
    return numbers;
}

bool KvPool::copy(std::span<const std::int32_t> blocks, Place from, std::span<Memory* const> to) {
    const auto wait = [&] { device_.host_wait(device_.record(DeviceEvent::Queue::kCompute)); };
    wait();  // nothing may write the blocks during the copy
    if (!device_.ok()) return false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Memory& source = held_[static_cast<std::size_t>(blocks[i])].memory;
        if (from == Place::kDevice) {
            device_.download(to[i]->bytes.data(), source.bytes.data(), source.bytes.size());
        } else {
            device_.upload(to[i]->bytes.data(), source.bytes.data(), source.bytes.size());
        }
    }
    wait();
    return device_.ok();
}

bool KvPool::move(std::span<const std::int32_t> blocks, Place from) {
    std::vector<Memory>& targets = spare(other(from));
    std::vector<Memory*> to;
    for (std::size_t i = 0; i < blocks.size(); ++i) to.push_back(&targets[targets.size() - 1 - i]);
    if (!copy(blocks, from, to)) return false;
    for (const std::int32_t block : blocks) {
        Memory& memory = held_[static_cast<std::size_t>(block)].memory;
        spare(from).push_back(std::exchange(memory, std::move(targets.back())));
        targets.pop_back();
    }
    return true;
}

// Fills the device, most-read blocks first, then exchanges less-read blocks there for
// more-read ones. False: more is left to do than these blocks. Only a preference: if the
// device fails, the blocks stay where they are, and the next computation reports the
// failure.
bool KvPool::settle(std::int64_t most_blocks) {
    for (std::int64_t left = most_blocks;;) {
        const std::vector<std::int32_t> in_host = held_in(Place::kHost);
        if (in_host.empty()) return true;
        const std::size_t n_up = std::min(in_host.size(), spare(Place::kDevice).size());
        if (n_up > 0) {
            if (left <= 0) return false;
            const std::size_t n = std::min(n_up, static_cast<std::size_t>(left));
            if (!move(std::span(in_host).last(n), Place::kHost)) return true;
            left -= static_cast<std::int64_t>(n);
            continue;
        }
        const std::vector<std::int32_t> on_device = held_in(Place::kDevice);
        const std::size_t most = std::min({on_device.size(), in_host.size(), spare(Place::kHost).size()});
        std::size_t n_down = 0;
        while (n_down < most && is_read_more(held_[static_cast<std::size_t>(in_host[in_host.size() - 1 - n_down])],
                                             held_[static_cast<std::size_t>(on_device[n_down])])) {
            ++n_down;
        }
        if (n_down == 0) return true;
        if (left <= 0) return false;
        // An exchange consists of two copies and is not interrupted between them: the
        // next token would use the freed block.
        n_down = std::min(n_down, static_cast<std::size_t>(std::max<std::int64_t>(1, left / 2)));
        if (!move(std::span(on_device).first(n_down), Place::kDevice)) return true;
        if (!move(std::span(in_host).last(n_down), Place::kHost)) return true;
        left -= 2 * static_cast<std::int64_t>(n_down);
    }
}

}  // namespace offstage::engine
