#include "engine/cluster/expert_shares.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace offstage::engine {
namespace {

// The experts that are most expensive for this machine come first.
int rank_of(Place place) {
    switch (place) {
        case Place::kDisk:
            return 0;
        case Place::kRam:
            return 1;
        case Place::kDevice:
            return 2;
    }
    return 0;
}

// Assigns one expert after the other; if all holders of one are full, assigned ones move
// to other holders, as far as the limit allows (augmenting paths of bipartite matching).
class Balance {
  public:
    Balance(std::span<const std::span<const std::int32_t>> holders, std::int64_t n_machines, std::span<std::int32_t> to)
        : holders_(holders), to_(to), load_(static_cast<std::size_t>(n_machines)), seen_(load_.size()) {}

    std::int64_t run() {
        std::fill(to_.begin(), to_.end(), -1);
        std::int64_t most = 1;
        for (std::size_t i = 0; i < holders_.size(); ++i) {
            while (!place(i, most)) ++most;
        }
        return holders_.empty() ? 0 : most;
    }

  private:
    bool place(std::size_t expert, std::int64_t most) {
        std::fill(seen_.begin(), seen_.end(), std::uint8_t{0});
        return find_room(expert, most);
    }
    bool find_room(std::size_t expert, std::int64_t most) {
        for (const std::int32_t machine : holders_[expert]) {
            const auto m = static_cast<std::size_t>(machine);
            if (seen_[m] != 0) continue;
            seen_[m] = 1;
            if (load_[m] >= most && !move_one_away(machine, most)) continue;
            to_[expert] = machine;
            ++load_[m];
            return true;
        }
        return false;
    }
    bool move_one_away(std::int32_t machine, std::int64_t most) {
        for (std::size_t other = 0; other < to_.size(); ++other) {
            if (to_[other] != machine || !find_room(other, most)) continue;
            --load_[static_cast<std::size_t>(machine)];
            return true;
        }
        return false;
    }

    const std::span<const std::span<const std::int32_t>> holders_;
    const std::span<std::int32_t> to_;
    std::vector<std::int64_t> load_;
    std::vector<std::uint8_t> seen_;  // machines, for the expert at hand
};

}  // namespace

std::vector<std::size_t> holding_order(std::span<const std::int32_t> owners, std::span<const std::size_t> order,
                                       std::int32_t machine, std::int32_t n_machines) {
    std::vector<std::size_t> holding;
    holding.reserve(order.size());
    for (std::int32_t behind = 0; behind < n_machines; ++behind) {
        const std::int32_t owner = (machine + n_machines - behind) % n_machines;
        std::copy_if(order.begin(), order.end(), std::back_inserter(holding),
                     [&](std::size_t expert) { return owners[expert] == owner; });
    }
    return holding;
}

std::int64_t balance_over_holders(std::span<const std::span<const std::int32_t>> holders, std::int64_t n_machines,
                                  std::span<std::int32_t> to) {
    assert(to.size() == holders.size());
    return Balance(holders, n_machines, to).run();
}

void spread_tokens(std::span<const std::span<const std::int32_t>> holders, std::span<const std::int32_t> n_tokens,
                   std::int64_t n_machines, std::span<std::int32_t> to) {
    assert(to.size() == holders.size() && n_tokens.size() == holders.size());
    std::vector<std::size_t> order(holders.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return n_tokens[a] > n_tokens[b]; });
    std::vector<std::int64_t> load(static_cast<std::size_t>(n_machines));
    const auto load_of = [&](std::int32_t machine) { return load[static_cast<std::size_t>(machine)]; };
    for (const std::size_t i : order) {
        to[i] = *std::min_element(holders[i].begin(), holders[i].end(),
                                  [&](std::int32_t a, std::int32_t b) { return load_of(a) < load_of(b); });
        load[static_cast<std::size_t>(to[i])] += n_tokens[i];
    }
}

std::vector<std::vector<NodeExpert>> share_out_experts(std::size_t n_nodes, const ExpertGrid& grid, const Plan& plan,
                                                       const std::vector<kernels::WeightType>& formats,
                                                       const Popularity& popularity) {
    std::vector<std::size_t> order(static_cast<std::size_t>(grid.size()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto share = [&](std::size_t i) {
        return popularity.share(static_cast<std::int64_t>(i) / grid.n_experts,
                                static_cast<std::int64_t>(i) % grid.n_experts);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const int rank_a = rank_of(plan.places[a]), rank_b = rank_of(plan.places[b]);
        if (rank_a != rank_b) return rank_a < rank_b;
        const double share_a = share(a), share_b = share(b);
        return share_a != share_b ? share_a > share_b : a < b;
    });
    // Each layer's experts go round by themselves, so that every machine has its part of
    // each layer.
    std::vector<std::size_t> turn(static_cast<std::size_t>(grid.n_layers));
    std::iota(turn.begin(), turn.end(), std::size_t{0});
    std::vector<std::int32_t> owners(order.size());
    for (const std::size_t i : order) {
        owners[i] = static_cast<std::int32_t>(turn[i / static_cast<std::size_t>(grid.n_experts)]++ % n_nodes);
    }
    std::vector<std::vector<NodeExpert>> lists(n_nodes);
    for (std::size_t n = 0; n < n_nodes; ++n) {
        for (const std::size_t i :
             holding_order(owners, order, static_cast<std::int32_t>(n), static_cast<std::int32_t>(n_nodes))) {
            lists[n].push_back({static_cast<std::int32_t>(static_cast<std::int64_t>(i) / grid.n_experts),
                                static_cast<std::int32_t>(static_cast<std::int64_t>(i) % grid.n_experts), formats[i]});
        }
    }
    return lists;
}

std::string deal_owners(const ExpertGrid& grid, const Popularity& popularity, std::uint32_t n_machines,
                        const std::function<double(std::uint32_t machine, std::size_t expert)>& cost_us) {
    std::string owners(static_cast<std::size_t>(grid.size()), '\0');
    std::vector<std::int64_t> order(static_cast<std::size_t>(grid.n_experts));
    std::vector<double> load_us;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            return popularity.share(layer, a) > popularity.share(layer, b);
        });
        load_us.assign(n_machines, 0);
        for (const std::int64_t expert : order) {
            const auto index = static_cast<std::size_t>(layer * grid.n_experts + expert);
            // Experts without calls count a little, so that they are distributed too.
            const double calls = popularity.share(layer, expert) + 1e-6;
            std::uint32_t to = 0;
            double least_us = load_us[0] + calls * cost_us(0, index);
            for (std::uint32_t machine = 1; machine < n_machines; ++machine) {
                const double us = cost_us(machine, index);
                if (us < 0 || load_us[machine] + calls * us >= least_us) continue;
                to = machine;
                least_us = load_us[machine] + calls * us;
            }
            load_us[to] = least_us;
            owners[index] = static_cast<char>(to);
        }
    }
    return owners;
}

}  // namespace offstage::engine
