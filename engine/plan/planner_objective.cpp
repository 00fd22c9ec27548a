#include "engine/plan/planner_objective.h"

#include "engine/plan/prompt_steps.h"
#include "engine/plan/routing_draw.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kDecodeTokens = 96;  // drawn for the mean
constexpr double kLeastRecall = 0.01;       // keeps the bytes read for a right guess finite

}  // namespace

bool is_better(const PlanScore& a, const PlanScore& b, const CostModel& cost) {
    const auto is_less = [](double x, double y) { return x < y * (1 - 1e-9); };
    if (cost.table().disk.us <= 0) {
        if (is_less(a.disk_calls, b.disk_calls)) return true;
        if (is_less(b.disk_calls, a.disk_calls)) return false;
    }
    if (is_less(a.us, b.us)) return true;
    if (is_less(b.us, a.us)) return false;
    return is_less(a.loss, b.loss);
}

double resident_rate(const Plan& plan, const ModelDemand& demand, const Popularity& popularity) {
    std::vector<std::uint8_t> fast(plan.places.size());
    const Place best = demand.shares_host_memory ? Place::kRam : Place::kDevice;
    std::transform(plan.places.begin(), plan.places.end(), fast.begin(),
                   [&](Place place) { return static_cast<std::uint8_t>(place == best); });
    return expected_hit_rate(popularity, fast);
}

double decode_dense_us(const Plan& plan, const CostModel& cost, PolicyKind decode, std::int64_t context) {
    const DenseCosts& dense = cost.table().dense;
    const bool guesses =
        plan.staging_slots > kDemandSlots && decode != PolicyKind::kStatic && decode != PolicyKind::kLayers;
    return dense.step_us(1, context) + (guesses ? dense.guess_us : 0);
}

DecodeSample::Conditions decode_conditions(const Plan& plan, const ModelDemand& demand, const Popularity& popularity,
                                           const CostModel& cost, PolicyKind decode, std::int64_t context) {
    DecodeSample::Conditions conditions;
    if (demand.disk_guess_slots > 0 && cost.table().disk_beside) {
        conditions.n_slots = std::min(plan.host_staging_slots / 2, demand.n_active);
    }
    conditions.recall = std::max(kLeastRecall, popularity.habits.guess_recall());
    const DenseCosts& dense = cost.table().dense;
    conditions.dense_us = std::max(decode_dense_us(plan, cost, decode, context),
                                   dense.step_us(1, context) + (conditions.n_slots > 0 ? dense.guess_us : 0));
    conditions.hit_rate =
        cached_hit_rate(plan.n_resident(), resident_rate(plan, demand, popularity), demand, popularity);
    return conditions;
}

double cached_hit_rate(std::int64_t n_resident, double resident_rate, const ModelDemand& demand,
                       const Popularity& popularity) {
    if (!demand.residents_change || demand.n_layers == 0) return 0;
    const double n_kept = static_cast<double>(n_resident) / static_cast<double>(demand.n_layers);
    const double found = popularity.habits.hit_rate(n_kept).value_or(0);
    return found > resident_rate ? found : 0;
}

Place place_with_hits(Place place, double hit_rate, std::mt19937& random) {
    if (place == Place::kDisk || hit_rate == 0) return place;
    return static_cast<double>(random()) < hit_rate * 0x1p32 ? Place::kDevice : Place::kRam;
}

DecodeCosts::DecodeCosts(const ModelDemand& demand, const CostModel& cost, PolicyKind policy)
    : cost_(cost), policy_(policy), master_(master_format(demand, cost)) {
    bytes_[static_cast<int>(master_)] = static_cast<double>(demand.expert_bytes);
    for (const ModelDemand::Format& f : demand.formats)
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
    figures.cpu_us = schedule_.cpu_us;
    figures.disk_us = schedule_.disk_us;
    for (const Assignment& a : schedule_.assignments) {
        if (a.target == ExecutionTarget::kCopy)
            figures.copied_bytes += a.copied_share * bytes_[static_cast<int>(a.format)];
    }
    known_.emplace(codes, figures);
    return figures;
}

Place HostSlots::use(Place place, std::size_t expert) {
    if (place != Place::kDisk || n_slots_ == 0) return place;
    const auto found = std::find(experts_.begin(), experts_.end(), expert);
    const bool is_there = found != experts_.end();
    if (is_there) {
        experts_.erase(found);
    } else if (experts_.size() == n_slots_) {
        experts_.erase(experts_.begin());
    }
    experts_.push_back(expert);
    return is_there ? Place::kRam : Place::kDisk;
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
    RoutingDraw routing(popularity.expected(), seed);
    *this = DecodeSample(demand, routing);
}

DecodeSample::Figures DecodeSample::play(const Plan& plan, DecodeCosts& times, const Conditions& conditions) const {
    HostSlots slots(plan.host_staging_slots);
    Figures sum;
    std::string key;
    double idle_us = 0;  // of the disk, before the present layer
    std::mt19937 random(1);
    const auto is_guessed = [&](std::size_t n_chosen) {
        const double share =
            std::min(conditions.recall, static_cast<double>(conditions.n_slots) / static_cast<double>(n_chosen));
        return static_cast<double>(random()) < share * 0x1p32;
    };
    for (std::int64_t token = 0; token < n_tokens(); ++token) {
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            key.clear();
            double ahead_us = 0;      // of the expert that was being read when the layer began
            double ahead_cpu_us = 0;  // of the experts read before
            for (const std::int32_t expert : chosen(token, layer)) {
                const auto i = static_cast<std::size_t>(layer * n_experts_ + expert);
                const kernels::WeightType format = plan.format(i, times.master());
                Place place = place_with_hits(slots.use(plan.places[i], i), conditions.hit_rate, random);
                if (place == Place::kDisk && layer > 0 && idle_us > 0 && is_guessed(chosen(token, layer).size())) {
                    const DiskReadCost read = times.disk_read(format);
                    // Wrong guesses are read as well.
                    const double needed_us = read.us / conditions.recall;
                    if (needed_us <= idle_us) {
                        place = Place::kRam;
                        ahead_cpu_us += read.cpu_us;
                    } else {
                        ahead_us = idle_us * conditions.recall;
                    }
                    idle_us = std::max(0.0, idle_us - needed_us);
                }
                key += DecodeCosts::code(place, format);
            }
            std::sort(key.begin(), key.end());
            const DecodeCosts::Figures figures = times.of(key, plan.staging_slots);
            const double us = std::max(std::min(figures.us, figures.cpu_us), figures.us - ahead_us) + ahead_cpu_us;
            idle_us =
                conditions.dense_us / static_cast<double>(n_layers_) + std::max(0.0, us - (figures.disk_us - ahead_us));
            sum.us += us;
            sum.copied_bytes += figures.copied_bytes;
        }
    }
    const auto n = static_cast<double>(n_tokens());
    return {sum.us / n, sum.copied_bytes / n};
}

}  // namespace offstage::engine
