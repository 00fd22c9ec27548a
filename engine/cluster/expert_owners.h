#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/model/model_spec.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// The machine that computes each expert when all machines make the same steps
// (NodeShares::owners): in each layer the most popular expert first, each to the machine
// that will have the least load with it, by its cost there and its calls. cost_us: of an
// expert (its index) on a machine; below 0: it is not there. Machine 0 has all.
std::string deal_owners(const ExpertGrid& grid, const Popularity& popularity, std::uint32_t n_machines,
                        const std::function<double(std::uint32_t machine, std::size_t expert)>& cost_us);

}  // namespace offstage::engine
