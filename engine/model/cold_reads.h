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
    // Like Checkpoint::release(), but also removes the bytes from the system's cache as
    // far as possible: the next read comes from the disk. Any thread.
    virtual void drop_cached(std::span<const std::byte> bytes) const = 0;
};

// A WeightSource on a disk.
class ColdExperts {
  public:
    virtual ~ColdExperts() = default;
    // Makes the next pack_expert() of this expert read from the disk. False if its
    // checkpoint is not a ColdBytes. Any thread.
    virtual bool make_cold(LayerIndex layer, ExpertIndex expert) = 0;
};

}  // namespace offstage::engine
