#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/thread_pool.h"

namespace offstage::engine {

// 128 bits that identify some bytes: equal bytes have equal fingerprints, on every
// machine; different ones differ except for a chance of about 2^-64 in a collection of
// billions. Against mistakes and damage, not against an attacker: it is no cryptographic
// hash.
struct Fingerprint {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    auto operator<=>(const Fingerprint&) const = default;
    std::string text() const;  // 32 hexadecimal digits
};

// Pieces of 1 MiB are mixed on their own - eight 64-bit lanes, each step a bijection of
// the word and of the state, so that a change in one word always changes its lane - and
// then their fingerprints with the length. At the speed of memory. The result does not
// depend on the number of threads.
Fingerprint fingerprint_of(std::span<const std::byte> bytes, kernels::ThreadPool& pool);
Fingerprint fingerprint_of(std::span<const std::byte> bytes);  // on this thread
// For a sequence of values.
Fingerprint combine(std::span<const Fingerprint> parts, std::uint64_t salt);

}  // namespace offstage::engine
