#include "engine/model/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/mix_bits.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kStripe = kLanes * sizeof(std::uint64_t);
// Odd, hence invertible; from the digits of pi.
constexpr std::array<std::uint64_t, kLanes> kFactors = {0x243f6a8885a308d3u, 0x13198a2e03707345u, 0xa4093822299f31d1u,
                                                        0x082efa98ec4e6c89u, 0x452821e638d01377u, 0xbe5466cf34e90c6du,
                                                        0xc0ac29b7c97c50ddu, 0x3f84d5b5b5470917u};

struct State {
    std::array<std::uint64_t, kLanes> lanes = kFactors;

    void take(const std::byte* stripe) {
        std::array<std::uint64_t, kLanes> words{};
        std::memcpy(words.data(), stripe, kStripe);
        if constexpr (std::endian::native == std::endian::big) {
            for (std::uint64_t& word : words) word = __builtin_bswap64(word);
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            lanes[l] = (std::rotl(lanes[l], 29) ^ words[l]) * kFactors[l];
        }
    }

    Fingerprint finish(std::uint64_t length) const {
        Fingerprint result{mix_bits(length + kFactors[0]), mix_bits(length + kFactors[1])};
        for (std::size_t l = 0; l < kLanes; ++l) {
            result.high = mix_bits(result.high * kFactors[2] + lanes[l]);
            result.low = mix_bits((result.low ^ lanes[l]) * kFactors[3] + kFactors[l]);
        }
        return result;
    }
};

Fingerprint of_piece(std::span<const std::byte> bytes) {
    State state;
    std::size_t i = 0;
    for (; i + kStripe <= bytes.size(); i += kStripe) state.take(bytes.data() + i);
    if (i < bytes.size()) {
        std::array<std::byte, kStripe> rest{};
        std::memcpy(rest.data(), bytes.data() + i, bytes.size() - i);
        state.take(rest.data());
    }
    return state.finish(bytes.size());
}

std::span<const std::byte> piece_of(std::span<const std::byte> bytes, std::size_t index) {
    return bytes.subspan(index * kPiece, std::min(kPiece, bytes.size() - index * kPiece));
}

}  // namespace

std::string Fingerprint::text() const {
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return digits.data();
}

Fingerprint combine(std::span<const Fingerprint> parts, std::uint64_t salt) {
    Fingerprint result{mix_bits(salt + kFactors[4]), mix_bits(parts.size() + kFactors[5])};
    for (const Fingerprint& part : parts) {
        result.high = mix_bits((std::rotl(result.high, 29) ^ part.high) * kFactors[6] + part.low);
        result.low = mix_bits((std::rotl(result.low, 31) ^ part.low) * kFactors[7] + result.high);
    }
    return result;
}

Fingerprint fingerprint_of(std::span<const std::byte> bytes, kernels::ThreadPool& pool) {
    std::vector<Fingerprint> pieces((bytes.size() + kPiece - 1) / kPiece);
    pool.parallel_dynamic(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i, int) {
        const auto index = static_cast<std::size_t>(i);
        pieces[index] = of_piece(piece_of(bytes, index));
    });
    return combine(pieces, bytes.size());
}

Fingerprint fingerprint_of(std::span<const std::byte> bytes) {
    std::vector<Fingerprint> pieces((bytes.size() + kPiece - 1) / kPiece);
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = of_piece(piece_of(bytes, i));
    return combine(pieces, bytes.size());
}

}  // namespace offstage::engine
