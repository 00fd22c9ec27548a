#include "engine/cluster/cluster_plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>
#include <tuple>

#include "engine/cluster/cluster_messages.h"
#include "engine/error.h"
#include "engine/plan/placer.h"

namespace offstage::engine {

std::vector<std::int32_t> deal_experts(const ModelDemand& demand, const Popularity& popularity,
                                       std::int64_t n_machines) {
    if (n_machines < 1 || n_machines > demand.n_experts) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::too_many_machines(n_machines, demand.n_experts, demand.n_experts));
    }
    struct Hand {
        double load = 0;        // calls per token of this layer
        std::int64_t held = 0;  // of this layer
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
    for (const Plan& machine : machines) n += machine.n_resident();
    return n;
}

double ClusterPlan::expected_hit_rate() const {
    double rate = 0;
    for (const Plan& machine : machines) rate += machine.expected_hit_rate;
    return rate;
}

std::int64_t ClusterPlan::max_step() const {
    std::int64_t step = machines.front().max_step;
    for (const Plan& machine : machines) step = std::min(step, machine.max_step);
    return step;
}

ClusterPlan make_cluster_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity,
                              PlacementKind kind, std::int64_t n_machines) {
    assert(!budget.uniform.has_value() && !budget.quality.allows_fewer_bits());
    check_demand(demand, budget, popularity);
    ClusterPlan plan;
    plan.n_experts = demand.n_experts;
    plan.owners = deal_experts(demand, popularity, n_machines);
    const std::vector<std::size_t> all = placement_order(demand, popularity, kind);
    // No token needs more of one machine's experts at a time than a layer has there.
    ModelDemand part = demand;
    part.n_active = std::min(demand.n_active, (demand.n_experts + n_machines - 1) / n_machines);
    for (std::int64_t machine = 0; machine < n_machines; ++machine) {
        std::vector<std::size_t> own;
        std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                     [&](std::size_t expert) { return plan.owners[expert] == machine; });
        FormatChoice choice;
        choice.order = &own;
        plan.machines.push_back(place_experts(part, budget, popularity, kind, choice));
    }
    return plan;
}

}  // namespace offstage::engine
