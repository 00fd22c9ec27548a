#include "engine/device/arena.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/device/counted_bytes.h"
#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"

namespace offstage::engine {

std::string_view name_of(MemoryUse use) {
    constexpr std::string_view kNames[] = {"dense weights", "KV cache", "experts", "staging", "workspace"};
    return kNames[static_cast<std::size_t>(use)];
}

DeviceBlock::~DeviceBlock() {
    if (arena_ != nullptr) arena_->give_back(*this);
}

DeviceBlock::DeviceBlock(DeviceBlock&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      use_(other.use_) {}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
    if (this == &other) return *this;
    if (arena_ != nullptr) arena_->give_back(*this);
    arena_ = std::exchange(other.arena_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    use_ = other.use_;
    return *this;
}

Arena::Arena(MessageArgument place, MemorySource& source, std::uint64_t budget_bytes)
    : place_(std::move(place)), source_(source) {
    usage_.budget_bytes = budget_bytes;
    source_.set_limit(budget_bytes);
}

Arena::~Arena() {
    assert(usage_.used_bytes == 0 && "a block outlives its arena");
}

DeviceBlock Arena::allocate(std::size_t bytes, MemoryUse use, const MessageArgument& purpose) {
    DeviceBlock block;
    if (bytes == 0) return block;
    const std::uint64_t counted = counted_bytes(bytes);
    const std::lock_guard lock(mutex_);
    const std::uint64_t left = usage_.budget_bytes - usage_.used_bytes;
    const ByteSize asked{bytes}, budget{usage_.budget_bytes};
    if (counted > left) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_room(place_, purpose, asked, ByteSize{left}, budget));
    }
    const bool injected = fail_in_ > 0 && --fail_in_ == 0;
    void* data = injected ? nullptr : source_.allocate(static_cast<std::size_t>(counted));
    if (data == nullptr) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_room_given(place_, purpose, asked, ByteSize{left}, budget));
    }
    assert(reinterpret_cast<std::uintptr_t>(data) % kBlockAlignment == 0);
    usage_.used_bytes += counted;
    usage_.by_use[static_cast<std::size_t>(use)] += counted;
    usage_.high_water_bytes = std::max(usage_.high_water_bytes, usage_.used_bytes);
    assert(usage_.high_water_bytes <= usage_.budget_bytes);
    block.arena_ = this;
    block.data_ = static_cast<std::byte*>(data);
    block.bytes_ = bytes;
    block.use_ = use;
    return block;
}

void Arena::give_back(DeviceBlock& block) noexcept {
    const std::uint64_t counted = counted_bytes(block.bytes_);
    const std::lock_guard lock(mutex_);
    source_.release(block.data_, static_cast<std::size_t>(counted));
    usage_.used_bytes -= counted;
    usage_.by_use[static_cast<std::size_t>(block.use_)] -= counted;
}

bool Arena::count_beside(std::uint64_t bytes, MemoryUse use) {
    const std::uint64_t counted = counted_bytes(bytes);
    const std::lock_guard lock(mutex_);
    const std::uint64_t blocks = usage_.used_bytes - beside_bytes_;
    if (counted > beside_bytes_ && counted > usage_.budget_bytes - blocks) return false;
    usage_.by_use[static_cast<std::size_t>(use)] += counted - beside_bytes_;
    usage_.used_bytes = blocks + counted;
    usage_.high_water_bytes = std::max(usage_.high_water_bytes, usage_.used_bytes);
    beside_bytes_ = counted;
    source_.set_limit(usage_.budget_bytes - beside_bytes_);
    return true;
}

ArenaUsage Arena::usage() const {
    const std::lock_guard lock(mutex_);
    return usage_;
}

std::uint64_t Arena::available_bytes() const {
    const std::lock_guard lock(mutex_);
    return usage_.budget_bytes - usage_.used_bytes;
}

void Arena::set_budget(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes < usage_.used_bytes) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::budget_below_use(ByteSize{bytes}, place_, ByteSize{usage_.used_bytes}));
    }
    usage_.budget_bytes = bytes;
    usage_.high_water_bytes = usage_.used_bytes;
    source_.set_limit(bytes - beside_bytes_);
}

void Arena::lower_budget(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes = std::max(bytes, usage_.used_bytes);
    if (bytes >= usage_.budget_bytes) return;
    usage_.budget_bytes = bytes;
    if (usage_.high_water_bytes > bytes) usage_.high_water_bytes = usage_.used_bytes;
    source_.set_limit(bytes - beside_bytes_);
}

void Arena::fail_allocation(int n) {
    const std::lock_guard lock(mutex_);
    fail_in_ = n;
}

}  // namespace offstage::engine
