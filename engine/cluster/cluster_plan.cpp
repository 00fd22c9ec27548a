#include "engine/cluster/cluster_plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>

#include "engine/cluster/cluster_messages.h"
#include "engine/cluster/expert_shares.h"
#include "engine/error.h"
#include "engine/plan/planner.h"

namespace offstage::engine {
namespace {

bool is_on_device(const Plan& machine, std::size_t expert) {
    return machine.places[expert] == Place::kDevice;
}

bool is_resident(const ClusterPlan& plan, std::size_t expert) {
    return std::any_of(plan.machines.begin(), plan.machines.end(),
                       [&](const Plan& machine) { return is_on_device(machine, expert); });
}

// The number of others' experts that fit on a machine after its own ones are placed.
std::size_t n_spare(const ModelDemand& demand, const Budget& budget, const Plan& placed,
                    std::span<const std::size_t> own) {
    const bool all_there =
        std::all_of(own.begin(), own.end(), [&](std::size_t expert) { return is_on_device(placed, expert); });
    if (!all_there || budget.vram_bytes <= placed.vram_bytes()) return 0;
    const std::uint64_t bytes = std::max(demand.expert_bytes, placed.slot_bytes);
    return static_cast<std::size_t>((budget.vram_bytes - placed.vram_bytes()) / bytes);
}

std::vector<std::vector<std::int32_t>> holders_of(const ClusterPlan& plan) {
    std::vector<std::vector<std::int32_t>> holders(plan.owners.size());
    for (std::size_t i = 0; i < holders.size(); ++i) {
        const std::int32_t owner = plan.owners[i];
        if (is_on_device(plan.machines[static_cast<std::size_t>(owner)], i) || !is_resident(plan, i)) {
            holders[i].push_back(owner);
        }
        for (std::int32_t m = 0; m < plan.n_machines(); ++m) {
            if (m != owner && is_on_device(plan.machines[static_cast<std::size_t>(m)], i)) holders[i].push_back(m);
        }
    }
    return holders;
}

}  // namespace

std::vector<std::int32_t> partition_experts(const ModelDemand& demand, const Popularity& popularity,
                                            std::int64_t n_machines) {
    if (n_machines < 1 || n_machines > demand.n_experts) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::too_many_machines(n_machines, demand.n_experts, demand.n_experts));
    }
    struct Hand {
        double load = 0;        // calls per token of this layer
        std::int64_t held = 0;  // in this layer
        std::int64_t in_all = 0;
    };
    const auto n = static_cast<std::size_t>(n_machines);
    const std::int64_t fewest = demand.n_experts / n_machines;
    std::vector<Hand> hands(n);
    std::vector<std::int32_t> owners(static_cast<std::size_t>(demand.n_layers * demand.n_experts));
    std::vector<std::int64_t> order(static_cast<std::size_t>(demand.n_experts));
    for (std::int64_t layer = 0; layer < demand.n_layers; ++layer) {
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            return popularity.count(layer, a) > popularity.count(layer, b);
        });
        for (Hand& hand : hands) hand.load = 0, hand.held = 0;
        std::int64_t left_over = demand.n_experts % n_machines;  // machines that may still get one more than the fewest
        for (const std::int64_t expert : order) {
            std::size_t to = n;
            for (std::size_t m = 0; m < n; ++m) {
                if (hands[m].held > fewest || (hands[m].held == fewest && left_over == 0)) continue;
                const auto rank = [&](const Hand& hand) { return std::tuple(hand.load, hand.held, hand.in_all); };
                if (to == n || rank(hands[m]) < rank(hands[to])) to = m;
            }
            if (hands[to].held == fewest) --left_over;
            hands[to].load += popularity.share(layer, expert);
            ++hands[to].held;
            ++hands[to].in_all;
            owners[static_cast<std::size_t>(layer * demand.n_experts + expert)] = static_cast<std::int32_t>(to);
        }
    }
    return owners;
}

std::int64_t ClusterPlan::n_resident() const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < owners.size(); ++i) n += is_resident(*this, i) ? 1 : 0;
    return n;
}

std::int64_t ClusterPlan::max_step() const {
    std::int64_t step = machines.front().max_step;
    for (const Plan& machine : machines) step = std::min(step, machine.max_step);
    return step;
}

ClusterPlan make_cluster_plan(const PlanInputs& inputs, const Budget& budget, std::int64_t n_machines) {
    const ModelDemand& demand = inputs.demand;
    const Popularity& popularity = inputs.popularity;
    const PlacementKind kind = placement_for(inputs.decode);
    assert(!budget.uniform.has_value() && !budget.quality.allows_fewer_bits());
    check_demand(inputs, budget);
    ClusterPlan plan;
    plan.n_experts = demand.n_experts;
    plan.owners = partition_experts(demand, popularity, n_machines);
    const std::vector<std::size_t> all = placement_order(inputs, kind);
    // No token needs more of one machine's experts at a time than a layer has there.
    PlanInputs part = inputs;
    part.demand.n_active = std::min(demand.n_active, (demand.n_experts + n_machines - 1) / n_machines);
    for (std::int64_t machine = 0; machine < n_machines; ++machine) {
        std::vector<std::size_t> held =
            holding_order(plan.owners, all, static_cast<std::int32_t>(machine), static_cast<std::int32_t>(n_machines));
        const auto n_own = static_cast<std::size_t>(
            std::count(plan.owners.begin(), plan.owners.end(), static_cast<std::int32_t>(machine)));
        std::vector<std::size_t> placed(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(n_own));
        FormatChoice choice;
        choice.order = &placed;
        Plan own = place_experts(part, budget, kind, choice);
        const std::size_t n_held = std::min(held.size(), n_own + n_spare(demand, budget, own, placed));
        if (n_held > n_own) {
            placed.assign(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(n_held));
            Plan with_copies = place_experts(part, budget, kind, choice);
            // Copies use only room that nothing else needs.
            if (with_copies.n_resident() == static_cast<std::int64_t>(n_held)) own = std::move(with_copies);
        }
        plan.machines.push_back(std::move(own));
    }
    plan.holders = holders_of(plan);
    std::vector<std::uint8_t> resident(plan.owners.size());
    for (std::size_t i = 0; i < resident.size(); ++i) resident[i] = is_resident(plan, i) ? 1 : 0;
    plan.hit_rate = n_machines == 1 ? plan.machines.front().expected_hit_rate : expected_hit_rate(popularity, resident);
    return plan;
}

}  // namespace offstage::engine
