#include "engine/experts/slot_heap.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace offstage::engine {
namespace {

constexpr std::uint64_t kAlignment = 256;  // the arenas'

std::uint64_t rounded_up(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

SlotHeap::SlotHeap(Arena& arena, MemoryUse use, std::string purpose, std::uint64_t slab_bytes)
    : arena_(&arena), use_(use), purpose_(std::move(purpose)), slab_bytes_(slab_bytes) {}

SlotHeap::~SlotHeap() {
    for (Slab& slab : slabs_) unpin(slab);
}

void SlotHeap::set_pinning(Backend* backend, std::uint64_t budget_bytes) {
    pins_ = backend;
    pin_budget_bytes_ = budget_bytes;
}

SlotHeap::Slot SlotHeap::cut(Slab& slab, std::size_t hole, std::uint64_t bytes) {
    Hole& h = slab.holes[hole];
    const Slot slot{slab.memory.data() + h.offset, bytes};
    h.offset += rounded_up(bytes);
    h.bytes -= rounded_up(bytes);
    if (h.bytes == 0) slab.holes.erase(slab.holes.begin() + static_cast<std::ptrdiff_t>(hole));
    ++slab.n_slots;
    return slot;
}

SlotHeap::Slot SlotHeap::allocate(std::uint64_t bytes, std::int64_t expected) {
    if (bytes == 0) return {};
    const std::uint64_t wanted = rounded_up(bytes);
    // The smallest hole that is large enough.
    Slab* best_slab = nullptr;
    std::size_t best = 0;
    for (Slab& slab : slabs_) {
        for (std::size_t i = 0; i < slab.holes.size(); ++i) {
            if (slab.holes[i].bytes < wanted) continue;
            if (best_slab == nullptr || slab.holes[i].bytes < best_slab->holes[best].bytes) {
                best_slab = &slab;
                best = i;
            }
        }
    }
    if (best_slab != nullptr) return cut(*best_slab, best, bytes);

    const std::uint64_t n = std::clamp<std::uint64_t>(slab_bytes_ / wanted, 1,
                                                      static_cast<std::uint64_t>(std::max<std::int64_t>(1, expected)));
    Slab slab;
    slab.memory = arena_->allocate(static_cast<std::size_t>(n * wanted), use_, purpose_);
    slab.holes.push_back({0, n * wanted});
    if (pins_ != nullptr && pinned_bytes_ + n * wanted <= pin_budget_bytes_) {
        slab.pinned = pins_->pin({slab.memory.data(), slab.memory.size()});
        if (slab.pinned) pinned_bytes_ += n * wanted;
        if (!slab.pinned) pin_budget_bytes_ = pinned_bytes_;  // the system gives no more
    }
    slabs_.push_back(std::move(slab));
    return cut(slabs_.back(), 0, bytes);
}

void SlotHeap::unpin(Slab& slab) {
    if (!slab.pinned) return;
    pins_->unpin({slab.memory.data(), slab.memory.size()});
    pinned_bytes_ -= slab.memory.size();
    slab.pinned = false;
}

void SlotHeap::release(Slot slot) {
    if (!slot) return;
    const auto at = std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& slab) {
        return slot.data >= slab.memory.data() && slot.data < slab.memory.data() + slab.memory.size();
    });
    assert(at != slabs_.end());
    if (--at->n_slots == 0) {
        unpin(*at);
        slabs_.erase(at);
        return;
    }
    const Hole freed{static_cast<std::uint64_t>(slot.data - at->memory.data()), rounded_up(slot.bytes)};
    auto next =
        std::find_if(at->holes.begin(), at->holes.end(), [&](const Hole& h) { return h.offset > freed.offset; });
    next = at->holes.insert(next, freed);
    if (const auto after = next + 1; after != at->holes.end() && next->offset + next->bytes == after->offset) {
        next->bytes += after->bytes;
        at->holes.erase(after);
    }
    if (next != at->holes.begin()) {
        const auto before = next - 1;
        if (before->offset + before->bytes == next->offset) {
            before->bytes += next->bytes;
            at->holes.erase(next);
        }
    }
}

std::uint64_t SlotHeap::bytes() const {
    std::uint64_t sum = 0;
    for (const Slab& slab : slabs_) sum += slab.memory.size();
    return sum;
}

std::uint64_t SlotHeap::pinned_bytes() const {
    return pinned_bytes_;
}

std::vector<std::span<const std::byte>> SlotHeap::slabs() const {
    std::vector<std::span<const std::byte>> spans;
    for (const Slab& slab : slabs_) spans.emplace_back(slab.memory.data(), slab.memory.size());
    return spans;
}

}  // namespace offstage::engine
