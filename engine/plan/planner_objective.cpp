#include "engine/plan/planner_objective.h"

#include <algorithm>
#include <cmath>

#include "engine/model/model_spec.h"
#include "engine/plan/forecast.h"
#include "engine/plan/popularity.h"
#include "engine/plan/repeated_time.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kDecodeTokens = 96;  // drawn for the mean
constexpr double kLeastRecall = 0.01;       // keeps the bytes read for a right guess finite

// Hit rate of the other plan: misses shrink, or hits do, as was forecast.
double hits_then(double measured, double now, double then) {
    const double hits = then >= now ? (now < 1 ? 1 - (1 - measured) * (1 - then) / (1 - now) : measured)
                                    : measured * then / now;  // now > then >= 0
    return std::clamp(hits, 0.0, 1.0);
}

void put_right(Forecast& forecast, const ForecastError& error) {
    add_overhead(forecast, error.overhead_us);
    forecast.decode_tokens_per_s *= error.speedup;
    if (error.forecast_hits >= 0) {
        forecast.hit_rate = hits_then(error.measured_hits, error.forecast_hits, forecast.hit_rate);
    }
}

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

double resident_rate(const Plan& plan, const PlanInputs& inputs) {
    std::vector<std::uint8_t> fast(plan.places.size());
    const Place best = inputs.demand.shares_host_memory ? Place::kRam : Place::kDevice;
    std::transform(plan.places.begin(), plan.places.end(), fast.begin(),
                   [&](Place place) { return static_cast<std::uint8_t>(place == best); });
    return expected_hit_rate(inputs.popularity, fast);
}

double decode_dense_us(const Plan& plan, const PlanInputs& inputs, std::int64_t context) {
    const DenseCosts& dense = inputs.cost.table().dense;
    const bool guesses = plan.staging_slots > kDemandSlots && inputs.decode != PolicyKind::kStatic &&
                         inputs.decode != PolicyKind::kLayers;
    return dense.step_us(1, context) + (guesses ? dense.guess_us : 0);
}

DecodeSample::Conditions decode_conditions(const Plan& plan, const PlanInputs& inputs, std::int64_t context) {
    const ModelDemand& demand = inputs.demand;
    const CostTable& table = inputs.cost.table();
    DecodeSample::Conditions conditions;
    if (demand.disk_guess_slots > 0 && table.disk_beside) {
        conditions.n_slots = std::min(plan.host_staging_slots / 2, demand.n_active);
    }
    conditions.recall = std::max(kLeastRecall, inputs.popularity.habits.guess_recall());
    conditions.dense_us =
        std::max(decode_dense_us(plan, inputs, context),
                 table.dense.step_us(1, context) + (conditions.n_slots > 0 ? table.dense.guess_us : 0));
    conditions.hit_rate = cached_hit_rate(plan.n_resident(), resident_rate(plan, inputs), inputs);
    return conditions;
}

double cached_hit_rate(std::int64_t n_resident, double resident_rate, const PlanInputs& inputs) {
    const ModelDemand& demand = inputs.demand;
    if (!demand.residents_change || demand.n_layers == 0) return 0;
    const double n_kept = static_cast<double>(n_resident) / static_cast<double>(demand.n_layers);
    const double found = inputs.popularity.habits.hit_rate(n_kept).value_or(0);
    return found > resident_rate ? found : 0;
}

Place place_with_hits(Place place, double hit_rate, std::mt19937& random) {
    if (place == Place::kDisk || hit_rate == 0) return place;
    return static_cast<double>(random()) < hit_rate * 0x1p32 ? Place::kDevice : Place::kRam;
}

DecodeCosts::DecodeCosts(const PlanInputs& inputs)
    : cost_(inputs.cost), policy_(inputs.decode), master_(inputs.demand.formats.front().format) {
    for (const ModelDemand::Format& f : inputs.demand.formats)
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

DecodeSample::DecodeSample(const PlanInputs& inputs) {
    RoutingDraw routing(inputs.popularity.expected(), 1);
    *this = DecodeSample(inputs.demand, routing);
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

StepCosts::StepCosts(const PlanInputs& inputs)
    : cost_(inputs.cost),
      policy_(inputs.prefill),
      master_(inputs.demand.formats.front().format),
      demand_(inputs.demand) {}

void StepCosts::begin_step(std::int64_t n_tokens, double dense_us) {
    calls_all_ = n_tokens * demand_.n_active >= kSureTokens * demand_.n_experts;
    loads_ahead_ = demand_.loads_ahead && calls_all_;
    read_us_ = 0;
    dense_us_ = dense_us / static_cast<double>(demand_.n_layers);
    ahead_us_ = 0;
}

double StepCosts::of(const Plan& plan, std::int64_t layer, std::span<const std::int32_t> counts,
                     std::span<const std::int32_t> owners, std::int32_t owner) {
    const auto n_experts = static_cast<std::int64_t>(counts.size());
    // Nothing is loaded ahead for the experts of one token.
    if (demand_.ends_with_experts && layer + 1 == demand_.n_layers) ahead_us_ = read_us_ = 0;
    loads_.clear();
    for (std::int64_t expert = 0; expert < n_experts; ++expert) {
        const auto e = static_cast<std::size_t>(expert);
        if (counts[e] == 0 || (!owners.empty() && owners[e] != owner)) continue;
        loads_.push_back({static_cast<std::int32_t>(expert), counts[e], plan.place(layer, n_experts, expert),
                          plan.format(static_cast<std::size_t>(layer * n_experts) + e, master_)});
    }
    decide(policy_, loads_, cost_, plan.staging_slots, schedule_, {}, {-1, true});
    if (!loads_ahead_) return without_reads_ahead(plan);
    const double ahead_us = std::min(ahead_us_, schedule_.copy_us);
    const double us = std::max(schedule_.makespan_us - ahead_us, std::min(schedule_.makespan_us, schedule_.gpu_us));
    const double copy_us = schedule_.copy_us - ahead_us;
    const bool shares = std::any_of(schedule_.assignments.begin(), schedule_.assignments.end(),
                                    [](const Assignment& a) { return a.target == ExecutionTarget::kCpu; });
    ahead_us_ = shares || copy_us <= 0
                    ? 0
                    : std::min(std::max(0.0, us - copy_us + dense_us_),
                               static_cast<double>(plan.staging_slots) * cost_.weight_copy_us(master_));
    return us;
}

// The disk reads the next layer's experts while no expert of this layer is read.
double StepCosts::without_reads_ahead(const Plan& plan) {
    const double read_us = std::min(read_us_, schedule_.disk_us);
    const double us = std::max(std::min(schedule_.makespan_us, schedule_.cpu_us), schedule_.makespan_us - read_us);
    const double idle_us = dense_us_ + std::max(0.0, us - (schedule_.disk_us - read_us));
    const bool guesses = calls_all_ && demand_.disk_guess_slots > 0 && cost_.table().disk_beside;
    const std::int64_t n_slots = plan.host_staging_slots / 2;
    read_us_ = guesses ? std::min(idle_us, static_cast<double>(n_slots) * cost_.disk_read(master_).us) : 0;
    return us;
}

Forecast PlanInputs::forecast(const Plan& plan, std::int64_t prompt_tokens) const {
    Forecast result;
    result.hit_rate = resident_rate(plan, *this);
    result.prompt_tokens = prompt_tokens;
    result.prompt_steps = n_prompt_steps(prompt_tokens, plan.max_step);
    RoutingDraw routing(popularity.expected(), 1);

    DecodeCosts times(*this);
    const DecodeSample::Conditions conditions = decode_conditions(plan, *this, prompt_tokens);
    const DecodeSample::Figures token = DecodeSample(demand, routing).play(plan, times, conditions);
    const double token_us = token.us + conditions.dense_us;
    result.decode_layer_us = token.us / static_cast<double>(demand.n_layers);
    result.bytes_per_token = token.copied_bytes;
    if (token_us > 0) result.decode_tokens_per_s = 1e6 / token_us;
    result.mean_bits = plan.mean_bits;
    result.predicted_loss = plan.predicted_loss;

    StepCosts steps(*this);
    const DenseCosts& dense = cost.table().dense;
    const auto step_us = [&](std::int64_t n_tokens, bool is_last) {
        steps.begin_step(n_tokens, dense.step_us(n_tokens, 0));
        double us = 0;
        for (std::int64_t layer = 0; layer < demand.n_layers; ++layer)
            us += steps.of(plan, layer, routing.draw(layer, computed_tokens(demand, layer, n_tokens, is_last)));
        return us;
    };
    const double us =
        dense.prompt_us(prompt_tokens, plan.max_step) + prompt_steps_us(prompt_tokens, plan.max_step, step_us);
    result.ttft_s = us / 1e6;
    if (us > 0) result.prefill_tokens_per_s = static_cast<double>(prompt_tokens) / result.ttft_s;
    return result;
}

double overhead_us(double forecast_us, const MeasuredDecode& measured) {
    return measured.n_steps == 0 || forecast_us <= 0 ? 0 : std::max(0.0, measured.step_us - forecast_us);
}

bool is_unlike(const MeasuredDecode& measured, double forecast_us) {
    if (measured.n_steps == 0 || forecast_us <= 0) return false;
    return has_drifted(forecast_us, measured.typical_us(), measured.is_disturbed());
}

void add_overhead(Forecast& forecast, double us) {
    if (us <= 0) return;
    if (forecast.decode_tokens_per_s > 0)
        forecast.decode_tokens_per_s = 1e6 / (1e6 / forecast.decode_tokens_per_s + us);
    if (forecast.ttft_s <= 0) return;
    forecast.ttft_s += us * static_cast<double>(forecast.prompt_steps) / 1e6;
    forecast.prefill_tokens_per_s = static_cast<double>(forecast.prompt_tokens) / forecast.ttft_s;
}

ForecastError correct(Forecast& now, Forecast& then, const MeasuredDecode& measured, const ForecastError& known) {
    const bool is_measured = measured.n_steps > 0 && measured.step_us > 0;
    const double forecast_per_s = now.decode_tokens_per_s;
    const double measured_per_s = is_measured ? 1e6 / measured.step_us : 0;
    ForecastError error = known;
    if (is_measured) {
        error = {};
        if (forecast_per_s > 0) {
            error.overhead_us = overhead_us(1e6 / forecast_per_s, measured);
            error.speedup = std::max(1.0, measured_per_s / forecast_per_s);
        }
        if (measured.hit_rate.has_value()) {
            error.measured_hits = *measured.hit_rate;
            error.forecast_hits = now.hit_rate;
        }
    }
    put_right(now, error);
    put_right(then, error);
    if (is_measured) now.decode_tokens_per_s = measured_per_s;
    return error;
}

WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats,
                           const Plan* plan, const CostModel* cost) {
    double experts = 0;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < grid.n_experts; ++expert) {
            const auto i = static_cast<std::size_t>(layer * grid.n_experts + expert);
            const kernels::WeightType format = expert_formats.empty() ? grid.stored(master, layer) : expert_formats[i];
            const bool whole = plan == nullptr || plan->places[i] == Place::kDevice || !lies_by_neurons(format);
            experts += popularity.share(layer, expert) * static_cast<double>(grid.expert_bytes(format)) *
                       (whole ? 1.0 : grid.expert.read_share(cost->active_share(layer, 1)));
        }
    }
    return {dense_read_bytes, static_cast<std::uint64_t>(std::llround(experts))};
}

}  // namespace offstage::engine
