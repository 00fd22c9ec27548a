#include "engine/cluster/cluster_forecast.h"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "engine/as_size.h"
#include "engine/cluster/expert_shares.h"
#include "engine/plan/planner_objective.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {
namespace {

// Plays decoded tokens on all machines at once.
class ClusterDecode {
  public:
    struct Figures {
        double us = 0;  // busiest machine, all layers, one token
        double copied_bytes = 0;
        double busiest_experts = 0;  // per layer
    };

    // hit_rate: as in DecodeSample::Conditions.
    ClusterDecode(const ClusterPlan& plan, const PlanInputs& inputs, double hit_rate)
        : plan_(plan), n_layers_(inputs.demand.n_layers), hit_rate_(hit_rate), keys_(plan.machines.size()) {
        for (const Plan& machine : plan.machines) {
            times_.emplace_back(inputs);
            slots_.emplace_back(machine.host_staging_slots);
        }
    }

    Figures play(const DecodeSample& sample) {
        Figures sum;
        for (std::int64_t token = 0; token < sample.n_tokens(); ++token) {
            for (std::int64_t layer = 0; layer < n_layers_; ++layer) add(sample.chosen(token, layer), layer, sum);
        }
        const auto n = static_cast<double>(sample.n_tokens());
        return {sum.us / n, sum.copied_bytes / n, sum.busiest_experts / (n * static_cast<double>(n_layers_))};
    }

  private:
    void add(std::span<const std::int32_t> chosen, std::int64_t layer, Figures& sum) {
        const auto first = static_cast<std::size_t>(layer * plan_.n_experts);
        for (std::string& key : keys_) key.clear();
        holders_.clear();
        for (const std::int32_t expert : chosen) holders_.emplace_back(plan_.holders[first + as_size(expert)]);
        machines_.resize(holders_.size());
        balance_over_holders(holders_, plan_.n_machines(), machines_);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            const std::size_t at = first + as_size(chosen[i]);
            const std::size_t m = as_size(machines_[i]);
            const Plan& machine = plan_.machines[m];
            const Place place = place_with_hits(slots_[m].use(machine.places[at], at), hit_rate_, random_);
            keys_[m] += DecodeCosts::code(place, machine.format(at, times_.front().master()));
        }
        double slowest_us = 0;
        std::size_t most = 0;
        for (std::size_t m = 0; m < keys_.size(); ++m) {
            if (keys_[m].empty()) continue;
            std::sort(keys_[m].begin(), keys_[m].end());
            const DecodeCosts::Figures figures = times_[m].of(keys_[m], plan_.machines[m].staging_slots);
            slowest_us = std::max(slowest_us, figures.us);
            most = std::max(most, keys_[m].size());
            sum.copied_bytes += figures.copied_bytes;
        }
        sum.us += slowest_us;
        sum.busiest_experts += static_cast<double>(most);
    }

    const ClusterPlan& plan_;
    const std::int64_t n_layers_;
    const double hit_rate_;
    std::mt19937 random_{1};
    std::deque<DecodeCosts> times_;  // one per machine, for each may have another number of staging slots
    std::vector<HostSlots> slots_;
    std::vector<std::string> keys_;
    std::vector<std::span<const std::int32_t>> holders_;  // of the chosen experts
    std::vector<std::int32_t> machines_;                  // that compute them
};

// The machine that computes each of a layer's experts in a step of many tokens; -1: not
// called.
class StepShares {
  public:
    explicit StepShares(const ClusterPlan& plan) : plan_(plan) {}

    std::span<const std::int32_t> of(std::int64_t layer, std::span<const std::int32_t> counts) {
        called_.clear();
        holders_.clear();
        n_tokens_.clear();
        for (std::size_t e = 0; e < counts.size(); ++e) {
            if (counts[e] <= 0) continue;
            called_.push_back(e);
            holders_.emplace_back(plan_.holders[as_size(layer * plan_.n_experts) + e]);
            n_tokens_.push_back(counts[e]);
        }
        machines_.resize(called_.size());
        spread_tokens(holders_, n_tokens_, plan_.n_machines(), machines_);
        shares_.assign(counts.size(), -1);
        for (std::size_t i = 0; i < called_.size(); ++i) shares_[called_[i]] = machines_[i];
        return shares_;
    }

  private:
    const ClusterPlan& plan_;
    std::vector<std::size_t> called_;
    std::vector<std::span<const std::int32_t>> holders_;
    std::vector<std::int32_t> n_tokens_, machines_, shares_;
};

}  // namespace

ClusterForecast forecast_cluster(const ClusterPlan& plan, const PlanInputs& inputs, const Network& network,
                                 double exchange_bytes, std::int64_t prompt_tokens) {
    const ModelDemand& demand = inputs.demand;
    const CostModel& cost = inputs.cost;
    if (plan.n_machines() == 1) {
        return {.whole = inputs.forecast(plan.machines.front(), prompt_tokens),
                .busiest_experts = static_cast<double>(demand.n_active)};
    }
    const auto n_layers = static_cast<double>(demand.n_layers);
    const auto exchange_us = [&](std::int64_t n_tokens) {
        return network.all_reduce_us(exchange_bytes * static_cast<double>(n_tokens));
    };
    ClusterForecast result;
    Forecast& whole = result.whole;
    whole.hit_rate = plan.hit_rate;
    whole.prompt_tokens = prompt_tokens;
    whole.prompt_steps = n_prompt_steps(prompt_tokens, plan.max_step());
    whole.mean_bits = plan.machines.front().mean_bits;
    whole.predicted_loss = plan.machines.front().predicted_loss;
    RoutingDraw routing(inputs.popularity.expected(), 1);

    const double hit_rate = cached_hit_rate(plan.n_resident(), whole.hit_rate, inputs);
    const ClusterDecode::Figures token = ClusterDecode(plan, inputs, hit_rate).play(DecodeSample(demand, routing));
    result.busiest_experts = token.busiest_experts;
    result.network_us = n_layers * exchange_us(1);
    const double token_us =
        token.us + decode_dense_us(plan.machines.front(), inputs, prompt_tokens) + result.network_us;
    whole.decode_layer_us = token.us / n_layers;
    whole.bytes_per_token = token.copied_bytes;
    if (token_us > 0) whole.decode_tokens_per_s = 1e6 / token_us;

    std::deque<StepCosts> steps;
    for (std::int64_t m = 0; m < plan.n_machines(); ++m) steps.emplace_back(inputs);
    StepShares shares(plan);
    const auto step_us = [&](std::int64_t n_tokens, bool is_last) {
        for (StepCosts& machine : steps) machine.begin_step(n_tokens, cost.table().dense.step_us(n_tokens, 0));
        double us = 0;
        for (std::int64_t layer = 0; layer < demand.n_layers; ++layer) {
            const std::int64_t n_computed = computed_tokens(demand, layer, n_tokens, is_last);
            if (n_computed == 0) continue;
            const std::vector<std::int32_t>& counts = routing.draw(layer, n_computed);
            const std::span<const std::int32_t> computed_by = shares.of(layer, counts);
            double slowest_us = 0;
            for (std::int32_t m = 0; m < plan.n_machines(); ++m) {
                const auto i = static_cast<std::size_t>(m);
                slowest_us = std::max(slowest_us, steps[i].of(plan.machines[i], layer, counts, computed_by, m));
            }
            us += slowest_us + exchange_us(n_computed);
        }
        return us;
    };
    const double us = cost.table().dense.prompt_us(prompt_tokens, plan.max_step()) +
                      prompt_steps_us(prompt_tokens, plan.max_step(), step_us);
    whole.ttft_s = us / 1e6;
    if (us > 0) whole.prefill_tokens_per_s = static_cast<double>(prompt_tokens) / whole.ttft_s;
    return result;
}

}  // namespace offstage::engine
