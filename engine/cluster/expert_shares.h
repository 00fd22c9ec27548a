#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/cluster/node_protocol.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// The experts that a machine should hold, most important first: its own, then spare
// copies of those of the machine before it, then of the one before that, and so on round.
// So every expert has a second holder before any has a third, and copies of one machine's
// experts level its load. owners: the machine of each expert; order: the existing
// experts, in the order in which each machine should take them. Result: indices of
// experts, as long as order.
std::vector<std::size_t> holding_order(std::span<const std::int32_t> owners, std::span<const std::size_t> order,
                                       std::int32_t machine, std::int32_t n_machines);

// Chooses a holder for each of a layer's chosen experts, so that the largest number on
// one machine is minimal (router-aided dynamic loading: each machine may compute as many
// as the busiest one must). holders: of each chosen expert, one or more of 0 ..
// n_machines - 1, preferred ones first. to: as many. Returns that largest number.
std::int64_t balance_over_holders(std::span<const std::span<const std::int32_t>> holders, std::int64_t n_machines,
                                  std::span<std::int32_t> to);

// The same for experts with unequal numbers of tokens, most first: each expert goes to
// the holder that has the fewest tokens so far. This is not always the optimum. Each of
// n_tokens is above 0.
void spread_tokens(std::span<const std::span<const std::int32_t>> holders, std::span<const std::int32_t> n_tokens,
                   std::int64_t n_machines, std::span<std::int32_t> to);

// The experts that each of n machines should hold, most important first: those that this
// machine has on disk before those in RAM, before those on its accelerator; within each
// the popular ones first, distributed in turn; and after its own share, as far as a
// machine has room, copies of the others' (holding_order). Result: (n_nodes), each with
// all experts.
std::vector<std::vector<NodeExpert>> share_out_experts(std::size_t n_nodes, const ExpertGrid& grid, const Plan& plan,
                                                       const std::vector<kernels::WeightType>& formats,
                                                       const Popularity& popularity);

// The machine that computes each expert when all machines make the same steps
// (NodeShares::owners): in each layer the most popular expert first, each to the machine
// that will have the least load with it, by its cost there and its calls. cost_us: of an
// expert (its index) on a machine; below 0: it is not there. Machine 0 has all.
std::string deal_owners(const ExpertGrid& grid, const Popularity& popularity, std::uint32_t n_machines,
                        const std::function<double(std::uint32_t machine, std::size_t expert)>& cost_us);

}  // namespace offstage::engine
