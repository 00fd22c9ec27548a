#include "engine/cluster/expert_owners.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace offstage::engine {

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
