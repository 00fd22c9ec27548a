#pragma once

#include <cstddef>
#include <span>

#include "engine/indices.h"

namespace offstage::engine {

// For measurements of a disk: optional interfaces of checkpoints and weight sources (use
// dynamic_cast).

// A Checkpoint on a disk.
class ColdBytes {
  public:
    virtual ~ColdBytes() = default;
    // As Checkpoint::release(), and the system forgets the bytes too as far as it will: reading them again is reading
    // from the disk. Any thread.
    virtual void drop_cached(std::span<const std::byte> bytes) const = 0;
};

// A WeightSource on a disk.
class ColdExperts {
  public:
    virtual ~ColdExperts() = default;
    // Sees to it that the next pack_expert() of this one reads from the disk. False where its checkpoint is none of
    // ColdBytes. Any thread.
    virtual bool make_cold(LayerIndex layer, ExpertIndex expert) = 0;
};

}  // namespace offstage::engine
