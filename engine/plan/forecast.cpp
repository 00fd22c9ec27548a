#include "engine/plan/forecast.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/plan/routing_draw.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kDecodeTokens = 96;  // drawn for the mean
constexpr std::int64_t kDrawnTokens = 64;   // steps of more tokens: counts from their normal approximation

}  // namespace

// Draws how many of a layer's tokens each expert gets.
class RoutingDraw {
  public:
    RoutingDraw(const Popularity& popularity, std::uint64_t seed)
        : experts_(popularity), random_(seed), counts_(static_cast<std::size_t>(popularity.n_experts)) {}

    const std::vector<std::int32_t>& draw(std::int64_t layer, std::int64_t n_tokens) {
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

  private:
    // Of our own: the standard's distributions differ between libraries, and forecasts must not.
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

    ExpertDraw experts_;
    std::mt19937_64 random_;
    std::vector<std::int32_t> counts_;
};

namespace {

kernels::WeightType master_of(const ModelDemand& demand, const CostModel& cost) {
    return demand.formats.empty() ? cost.master() : demand.formats.front().format;
}

// Microseconds.
double expert_step(const Plan& plan, const ModelDemand& demand, const CostModel& cost, PolicyKind policy,
                   std::int64_t n_tokens, RoutingDraw& routing, Schedule& schedule) {
    double us = 0;
    const kernels::WeightType master = master_of(demand, cost);
    std::vector<ExpertLoad> loads;
    for (std::int64_t layer = 0; layer < demand.n_layers; ++layer) {
        const std::vector<std::int32_t>& counts = routing.draw(layer, n_tokens);
        loads.clear();
        for (std::int64_t expert = 0; expert < demand.n_experts; ++expert) {
            const std::int32_t n = counts[static_cast<std::size_t>(expert)];
            if (n == 0) continue;
            loads.push_back({static_cast<std::int32_t>(expert), n, plan.place(layer, demand.n_experts, expert),
                             plan.format(static_cast<std::size_t>(layer * demand.n_experts + expert), master)});
        }
        decide(policy, loads, cost, plan.staging_slots, schedule);
        us += schedule.makespan_us;
    }
    return us;
}

}  // namespace

DecodeCosts::DecodeCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy)
    : cost_(cost), policy_(policy), master_(master_of(demand, cost)) {
    bytes_[static_cast<int>(master_)] = static_cast<double>(demand.expert_bytes);
    for (const FormatDemand& f : demand.formats)
        bytes_[static_cast<int>(f.format)] = static_cast<double>(f.expert_bytes);
}

DecodeCosts::Figures DecodeCosts::of(const std::string& codes, std::int64_t staging_slots) {
    if (staging_slots != staging_slots_) {
        known_.clear();
        staging_slots_ = staging_slots;
    }
    const auto known = known_.find(codes);
    if (known != known_.end()) return known->second;
    loads_.clear();
    for (const char c : codes) {
        loads_.push_back({static_cast<std::int32_t>(loads_.size()), 1, static_cast<Place>(c / kernels::kWeightTypes),
                          static_cast<kernels::WeightType>(c % kernels::kWeightTypes)});
    }
    decide(policy_, loads_, cost_, staging_slots, schedule_);
    Figures figures;
    figures.us = schedule_.makespan_us;
    for (const Assignment& a : schedule_.assignments) {
        if (a.way == Way::kCopy) figures.copied_bytes += bytes_[static_cast<int>(a.format)];
    }
    known_.emplace(codes, figures);
    return figures;
}

DecodeSample::DecodeSample(const ModelDemand& demand, RoutingDraw& routing)
    : n_layers_(demand.n_layers), n_experts_(demand.n_experts) {
    experts_.reserve(static_cast<std::size_t>(kDecodeTokens * n_layers_));
    for (std::int64_t token = 0; token < kDecodeTokens; ++token) {
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            const std::vector<std::int32_t>& counts = routing.draw(layer, 1);
            std::vector<std::int32_t>& chosen = experts_.emplace_back();
            for (std::size_t e = 0; e < counts.size(); ++e) {
                if (counts[e] > 0) chosen.push_back(static_cast<std::int32_t>(e));
            }
        }
    }
}

DecodeSample::DecodeSample(const ModelDemand& demand, const Popularity& popularity, std::uint64_t seed) {
    RoutingDraw routing(popularity, seed);
    *this = DecodeSample(demand, routing);
}

DecodeSample::Figures DecodeSample::play(const Plan& plan, DecodeCosts& times) const {
    std::vector<char> codes(plan.places.size());
    for (std::size_t i = 0; i < codes.size(); ++i)
        codes[i] = DecodeCosts::code(plan.places[i], plan.format(i, times.master()));
    Figures sum;
    std::string key;
    for (std::size_t i = 0; i < experts_.size(); ++i) {
        const char* const layer =
            codes.data() + i % static_cast<std::size_t>(n_layers_) * static_cast<std::size_t>(n_experts_);
        key.clear();
        for (const std::int32_t expert : experts_[i]) key += layer[expert];
        std::sort(key.begin(), key.end());
        const DecodeCosts::Figures figures = times.of(key, plan.staging_slots);
        sum.us += figures.us;
        sum.copied_bytes += figures.copied_bytes;
    }
    return {sum.us / kDecodeTokens, sum.copied_bytes / kDecodeTokens};
}

Forecast forecast(const Plan& plan, const ModelDemand& demand, const Popularity& popularity, const CostModel& cost,
                  PolicyKind prefill, PolicyKind decode, std::int64_t prompt_tokens, std::uint64_t seed) {
    Forecast result;
    std::vector<std::uint8_t> fast(plan.places.size());
    const Place best = demand.shares_host_memory ? Place::kRam : Place::kDevice;
    std::transform(plan.places.begin(), plan.places.end(), fast.begin(),
                   [&](Place place) { return static_cast<std::uint8_t>(place == best); });
    result.hit_rate = expected_hit_rate(popularity, fast);
    result.prompt_tokens = prompt_tokens;
    RoutingDraw routing(popularity, seed);
    Schedule schedule;

    DecodeCosts times(demand, cost, decode);
    const DecodeSample::Figures token = DecodeSample(demand, routing).play(plan, times);
    const double token_us = token.us + cost.table().dense_us;
    result.decode_layer_us = token.us / static_cast<double>(demand.n_layers);
    result.bytes_per_token = token.copied_bytes;
    if (token_us > 0) result.decode_tokens_per_s = 1e6 / token_us;
    result.mean_bits = plan.mean_bits;
    result.predicted_loss = plan.predicted_loss;

    // Every full step costs about the same: a few are drawn, the rest taken alike.
    constexpr std::int64_t kFullSteps = 4;
    const std::int64_t step_tokens = std::max<std::int64_t>(1, plan.max_step);
    const std::int64_t full_steps = prompt_tokens / step_tokens;
    const std::int64_t rest = prompt_tokens % step_tokens;
    double us = cost.table().dense_us_per_token * static_cast<double>(prompt_tokens);
    if (full_steps > 0) {
        const std::int64_t n = std::min(full_steps, kFullSteps);
        double full_us = 0;
        for (std::int64_t i = 0; i < n; ++i)
            full_us += expert_step(plan, demand, cost, prefill, step_tokens, routing, schedule);
        us += full_us / static_cast<double>(n) * static_cast<double>(full_steps);
    }
    if (rest > 0) us += expert_step(plan, demand, cost, prefill, rest, routing, schedule);
    result.ttft_s = us / 1e6;
    if (us > 0) result.prefill_tokens_per_s = static_cast<double>(prompt_tokens) / result.ttft_s;
    return result;
}

}  // namespace offstage::engine
