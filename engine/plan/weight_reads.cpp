#include "engine/plan/weight_reads.h"

#include <cmath>

namespace offstage::engine {

WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats) {
    double experts = 0;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < grid.n_experts; ++expert) {
            const auto i = static_cast<std::size_t>(layer * grid.n_experts + expert);
            const kernels::WeightType format = expert_formats.empty() ? grid.stored(master, layer) : expert_formats[i];
            experts += popularity.share(layer, expert) * static_cast<double>(grid.expert_bytes(format));
        }
    }
    return {dense_read_bytes, static_cast<std::uint64_t>(std::llround(experts))};
}

}  // namespace offstage::engine
