#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/files/direct_reads.h"

namespace offstage::engine {

// Buffers in RAM for reads from the disk into blocks of weights: one strip each.
struct ReadBuffers {
    std::uint64_t strip_bytes = 0;  // a block is read in pieces of about so many
    std::uint64_t buffer_bytes = 0;
    int n = 0;
    std::uint64_t bytes() const { return kDirectAlignment + buffer_bytes * static_cast<std::uint64_t>(n); }
};

inline constexpr int kMostReadsAtOnce = 16;  // of strips

// For reading `n_blocks` of `block_bytes` at a time. Large blocks get more buffers than
// are read into at once, together more than caches hold: with few, reads from a virtual
// disk were up to 1.5 times as slow in some measurements and not in others. Probably a
// write to a buffer that a CPU has just copied from must first remove it from that CPU's
// caches; that is not proven.
inline ReadBuffers read_buffers_for(std::uint64_t block_bytes, std::int64_t n_blocks) {
    constexpr std::uint64_t kMostStripBytes = std::uint64_t{512} << 10;
    constexpr std::uint64_t kLeastBuffers = 4;
    constexpr std::uint64_t kBeyondCachesBytes = std::uint64_t{32} << 20;
    const auto aligned = [](std::uint64_t bytes) {
        return (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
    };
    ReadBuffers buffers;
    buffers.strip_bytes = std::clamp<std::uint64_t>(aligned(block_bytes / 4), kDirectAlignment, kMostStripBytes);
    // Both ends of a strip are anywhere; the exponents of its weights may be elsewhere.
    buffers.buffer_bytes = buffers.strip_bytes + aligned(buffers.strip_bytes / 16) + 3 * kDirectAlignment;
    const std::uint64_t wanted = static_cast<std::uint64_t>(n_blocks) * block_bytes / buffers.strip_bytes;
    const std::uint64_t beyond_caches = kBeyondCachesBytes / buffers.buffer_bytes;
    const std::uint64_t most = wanted >= beyond_caches ? std::max<std::uint64_t>(kMostReadsAtOnce, beyond_caches)
                                                       : std::uint64_t{kMostReadsAtOnce};
    buffers.n = static_cast<int>(std::clamp<std::uint64_t>(wanted, kLeastBuffers, most));
    return buffers;
}

}  // namespace offstage::engine
