#include "engine/plan/routing_draw.h"

namespace offstage::engine {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): well mixed from any state, so a state may be made of what is to be told apart.
std::uint64_t mix(std::uint64_t& state) {
    std::uint64_t bits = state += 0x9e3779b97f4a7c15ull;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    return bits ^ (bits >> 31);
}

}  // namespace

void PositionRouting::operator()(std::int64_t layer, std::int64_t position, std::int64_t row, std::int32_t* experts) {
    std::uint64_t state = seed_;
    for (const std::int64_t part : {layer, position, row}) {
        state ^= static_cast<std::uint64_t>(part);
        state = mix(state);
    }
    std::int64_t n = 0;
    draw_.draw(
        layer, [&] { return mix(state); }, [&](int expert) { experts[n++] = expert; });
    // Shares that add up to a hair less than n_active can leave the last place open.
    for (std::int32_t expert = 0; n < draw_.n_active(); ++expert) {
        bool taken = false;
        for (std::int64_t i = 0; i < n; ++i) taken |= experts[i] == expert;
        if (!taken) experts[n++] = expert;
    }
}

}  // namespace offstage::engine
