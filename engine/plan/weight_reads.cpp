#include "engine/plan/weight_reads.h"

#include <cmath>

#include "engine/plan/cost_model.h"

namespace offstage::engine {
namespace {

// share_read(layer, expert, format): of an expert's bytes.
template <typename ShareRead>
WeightReads reads_of(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                     kernels::WeightType master, std::span<const kernels::WeightType> expert_formats,
                     const ShareRead& share_read) {
    double experts = 0;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < grid.n_experts; ++expert) {
            const auto i = static_cast<std::size_t>(layer * grid.n_experts + expert);
            const kernels::WeightType format = expert_formats.empty() ? grid.stored(master, layer) : expert_formats[i];
            experts += popularity.share(layer, expert) * static_cast<double>(grid.expert_bytes(format)) *
                       share_read(layer, i, format);
        }
    }
    return {dense_read_bytes, static_cast<std::uint64_t>(std::llround(experts))};
}

}  // namespace

WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, std::span<const kernels::WeightType> expert_formats) {
    return reads_of(grid, dense_read_bytes, popularity, master, expert_formats,
                    [](std::int64_t, std::size_t, kernels::WeightType) { return 1.0; });
}

WeightReads expected_reads(const ExpertGrid& grid, std::uint64_t dense_read_bytes, const Popularity& popularity,
                           kernels::WeightType master, const Plan& plan, const CostModel& cost) {
    return reads_of(grid, dense_read_bytes, popularity, master, plan.formats,
                    [&](std::int64_t layer, std::size_t i, kernels::WeightType format) {
                        const bool whole = plan.places[i] == Place::kDevice || !lies_by_neurons(format);
                        return whole ? 1.0 : read_share(cost.active_share(layer, 1));
                    });
}

}  // namespace offstage::engine
