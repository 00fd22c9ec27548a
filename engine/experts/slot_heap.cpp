#include "engine/experts/slot_heap.h"

#include <cassert>
#include <utility>

#include "engine/error.h"

namespace offstage::engine {

SlotHeap::SlotHeap(Arena& arena, MemoryUse use, MessageArgument purpose)
    : arena_(&arena), use_(use), purpose_(std::move(purpose)) {}

SlotHeap::~SlotHeap() {
    for (auto& [address, piece] : pieces_) give_back(piece);
}

void SlotHeap::set_pinning(Backend* backend, std::uint64_t budget_bytes, PageLocker* locker) {
    pins_ = backend;
    locker_ = locker;
    pin_budget_bytes_ = budget_bytes;
}

DeviceBlock SlotHeap::take(std::uint64_t bytes, Pinning pinning) {
    const auto size = static_cast<std::size_t>(bytes);
    try {
        return arena_->allocate(size, use_, purpose_);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory || pinning == Pinning::kLater || locker_ == nullptr ||
            !locker_->wait()) {
            throw;
        }
    }
    return arena_->allocate(size, use_, purpose_);
}

SlotHeap::Slot SlotHeap::allocate(std::uint64_t bytes, Pinning pinning) {
    if (bytes == 0) return {};
    Piece piece;
    piece.memory = take(bytes, pinning);
    if (pins_ != nullptr && pinned_bytes_ + bytes <= pin_budget_bytes_) {
        pinned_bytes_ += bytes;
        piece.waits = pinning == Pinning::kLater;
        piece.pinned = !piece.waits && pins_->pin({piece.memory.data(), piece.memory.size()});
        if (!piece.waits && !piece.pinned) {
            pinned_bytes_ -= bytes;
            pin_budget_bytes_ = pinned_bytes_;  // the system allows no more
        }
    }
    const Slot slot{piece.memory.data(), bytes};
    bytes_ += bytes;
    pieces_.emplace(slot.data, std::move(piece));
    return slot;
}

Backend* SlotHeap::to_pin(Slot slot) const {
    return pieces_.at(slot.data).waits ? pins_ : nullptr;
}

void SlotHeap::pinned(Slot slot, Pinned outcome) {
    Piece& piece = pieces_.at(slot.data);
    if (!piece.waits) return;
    piece.waits = false;
    piece.pinned = outcome == Pinned::kYes;
    if (!piece.pinned) pinned_bytes_ -= piece.memory.size();
    if (outcome == Pinned::kRefused) pin_budget_bytes_ = pinned_bytes_;
}

void SlotHeap::give_back(Piece& piece) {
    if (piece.pinned || piece.waits) pinned_bytes_ -= piece.memory.size();
    if (piece.pinned && locker_ != nullptr) {
        locker_->release(std::move(piece.memory), true);
    } else if (piece.pinned) {
        pins_->unpin({piece.memory.data(), piece.memory.size()});
    }
    piece.pinned = piece.waits = false;
}

void SlotHeap::release(Slot slot) {
    if (!slot) return;
    const auto found = pieces_.find(slot.data);
    assert(found != pieces_.end() && found->second.memory.size() == slot.bytes);
    give_back(found->second);
    bytes_ -= slot.bytes;
    pieces_.erase(found);
}

std::vector<std::span<const std::byte>> SlotHeap::pieces() const {
    std::vector<std::span<const std::byte>> spans;
    spans.reserve(pieces_.size());
    for (const auto& [address, piece] : pieces_) spans.emplace_back(piece.memory.data(), piece.memory.size());
    return spans;
}

}  // namespace offstage::engine
