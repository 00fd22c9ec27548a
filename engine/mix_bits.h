#pragma once

#include <cstdint>

namespace offstage::engine {

// A bijection in which every bit of the result depends on every bit of x: the finaliser
// of SplitMix64 (Steele, Lea, Flood 2014; Stafford's mix 13).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGoldenBits = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio: SplitMix64's step

}  // namespace offstage::engine
