#include "engine/plan/routing_draw.h"

#include <algorithm>
#include <cmath>

#include "engine/mix_bits.h"

namespace offstage::engine {
namespace {

// SplitMix64: well mixed from any state, so a state may be built from the values that
// identify a draw.
std::uint64_t mix(std::uint64_t& state) {
    return mix_bits(state += kGoldenBits);
}

double unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The draw looks back at most this far: a hundred equal choices in a row practically
// never happen.
constexpr std::int64_t kLongestRepeat = 100;

constexpr std::int64_t kDrawnTokens = 64;  // for more, the counts are drawn, not each token's choice

bool contains(const std::int32_t* experts, std::int64_t n, std::int32_t expert) {
    return std::find(experts, experts + n, expert) != experts + n;
}

}  // namespace

RoutingDraw::RoutingDraw(const Popularity& popularity, std::uint64_t seed)
    : experts_(popularity), random_(seed), counts_(static_cast<std::size_t>(popularity.n_experts)) {}

const std::vector<std::int32_t>& RoutingDraw::draw(std::int64_t layer, std::int64_t n_tokens) {
    const double* shares = experts_.shares(layer);
    std::fill(counts_.begin(), counts_.end(), 0);
    if (n_tokens > kDrawnTokens) {
        const auto n = static_cast<double>(n_tokens);
        for (std::size_t e = 0; e < counts_.size(); ++e) {
            const double p = shares[e];
            const double count = std::round(n * p + std::sqrt(n * p * (1 - p)) * normal());
            counts_[e] = static_cast<std::int32_t>(std::clamp(count, 0.0, n));
        }
        return counts_;
    }
    for (std::int64_t token = 0; token < n_tokens; ++token) {
        experts_.draw(layer, random_, [&](int expert) { ++counts_[static_cast<std::size_t>(expert)]; });
    }
    return counts_;
}

// Our own function: the standard's distributions differ between libraries, and forecasts
// must not.
double RoutingDraw::uniform() {
    return unit(random_());
}

double RoutingDraw::normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
}

void PositionRouting::choose(std::int64_t layer, std::int64_t position, std::int64_t row, std::int32_t* experts) {
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
        if (!contains(experts, n, expert)) experts[n++] = expert;
    }
}

void PositionRouting::operator()(std::int64_t layer, std::int64_t position, std::int64_t row, bool guess,
                                 std::int32_t* experts) {
    const std::int64_t n = draw_.n_active();
    const auto dice = [&](std::int64_t place, std::int64_t slot, std::uint64_t kind) {
        std::uint64_t state = seed_ ^ (kind * 0x632be59bd9b4e019ull);
        for (const std::int64_t part : {layer, place, row, slot}) {
            state ^= static_cast<std::uint64_t>(part);
            state = mix(state);
        }
        return mix(state);
    };
    choose(layer, position, row, experts);
    if (habits_.repeat > 0) {
        before_.resize(static_cast<std::size_t>(n));
        for (std::int64_t slot = 0; slot < n; ++slot) {
            // Goes back as far as this choice was only repeated.
            std::int64_t origin = position;
            while (origin > 0 && position - origin < kLongestRepeat && unit(dice(origin, slot, 1)) < habits_.repeat) {
                --origin;
            }
            if (origin == position) continue;
            choose(layer, origin, row, before_.data());
            const std::int32_t kept = before_[static_cast<std::size_t>(slot)];
            if (!contains(experts, n, kept)) experts[slot] = kept;
        }
    }
    if (!guess) return;
    for (std::int64_t slot = 0; slot < n; ++slot) {
        if (unit(dice(position, slot, 2)) < habits_.guess_recall) continue;
        const auto wrong = static_cast<std::int32_t>(dice(position, slot, 3) % static_cast<std::uint64_t>(n_experts_));
        if (!contains(experts, n, wrong)) experts[slot] = wrong;
    }
}

}  // namespace offstage::engine
