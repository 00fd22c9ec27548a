#include "engine/cluster/shape_forecast.h"

#include <algorithm>
#include <deque>
#include <random>

#include "engine/cluster/expert_owners.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/routing_draw.h"

namespace offstage::engine {
namespace {

constexpr int kTokensForecast = 32;
constexpr double kInsisted = 1e-4;  // of what it costs, where the person insists

class LinkedCost final : public ExecutorCost {
  public:
    LinkedCost(const LinkCosts& costs, const ExpertGrid& grid, double factor)
        : costs_(costs), grid_(grid), factor_(factor) {}
    double expert_us(kernels::WeightType format, std::int64_t n_rows) const override {
        return costs_.expert_us(static_cast<double>(grid_.expert_bytes(format)), n_rows) * factor_;
    }
    double transfer_us(std::int64_t n_rows) const override { return costs_.transfer_us(n_rows) * factor_; }

  private:
    const LinkCosts& costs_;
    const ExpertGrid& grid_;
    const double factor_;
};

// Those that have been measured, of the first kMostElsewhere; indices.
std::vector<std::size_t> measured_nodes(std::span<const ForecastNode> nodes) {
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < nodes.size() && i < kMostElsewhere; ++i) {
        if (nodes[i].costs->measured().expert_bytes > 0) measured.push_back(i);
    }
    return measured;
}

std::size_t grid_index(const ExpertGrid& grid, std::int64_t layer, std::int64_t expert) {
    return static_cast<std::size_t>(layer * grid.n_experts + expert);
}

// The layers of one token as helpers take them.
class HelpedToken {
  public:
    HelpedToken(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes, std::vector<std::size_t> measured)
        : desktop_(desktop), nodes_(nodes), measured_(std::move(measured)) {
        for (const std::size_t i : measured_) {
            costs_.emplace_back(*nodes[i].costs, desktop.grid, 1.0);
            deciding_costs_.emplace_back(*nodes[i].costs, desktop.grid, desktop.insists ? kInsisted : 1.0);
        }
        for (const LinkedCost& cost : costs_) summing_.push_back(&cost);
        for (const LinkedCost& cost : deciding_costs_) deciding_.push_back(&cost);
    }

    void begin_layer() { loads_.clear(); }
    void choose(std::int64_t layer, int expert) {
        const std::size_t at = grid_index(desktop_.grid, layer, expert);
        ExpertLoad load;
        load.expert = expert;
        load.n_tokens = 1;
        load.place = desktop_.places[at];
        load.format = desktop_.formats[at];
        for (std::size_t i = 0; i < measured_.size(); ++i) {
            if (nodes_[measured_[i]].has[at] != 0) load.elsewhere |= 1u << i;
        }
        loads_.push_back(load);
    }
    void end_layer(ShapeForecast& sum) {
        std::sort(loads_.begin(), loads_.end(),
                  [](const ExpertLoad& a, const ExpertLoad& b) { return a.expert < b.expert; });
        decide(desktop_.policy, loads_, desktop_.cost, desktop_.staging_slots, schedule_, deciding_);
        const double layer_us = makespan_us(schedule_.assignments, desktop_.cost, desktop_.staging_slots, summing_);
        here_.clear();
        std::vector<std::int64_t> rows(measured_.size());
        std::vector<double> there_us(measured_.size());
        for (const Assignment& assignment : schedule_.assignments) {
            if (!is_elsewhere(assignment.way)) {
                here_.push_back(assignment);
                sum.calls[0] += 1;
                continue;
            }
            const std::size_t i = index_elsewhere(assignment.way);
            rows[i] += assignment.n_tokens;
            there_us[i] += costs_[i].expert_us(assignment.format, assignment.n_tokens);
            sum.calls[1 + measured_[i]] += 1;
        }
        const double here_us = here_.empty() ? 0 : makespan_us(here_, desktop_.cost, desktop_.staging_slots);
        // What this machine waits for: the last answer's way, and before that the computing there.
        double network_us = 0, last_us = 0;
        for (std::size_t i = 0; i < measured_.size(); ++i) {
            if (rows[i] == 0) continue;
            const double transfer_us = costs_[i].transfer_us(rows[i]);
            if (transfer_us + there_us[i] <= last_us) continue;
            last_us = transfer_us + there_us[i];
            network_us = transfer_us;
        }
        const double beyond_us = std::max(0.0, layer_us - here_us);
        network_us = std::min(network_us, beyond_us);
        sum.times.computing_us += layer_us - beyond_us;
        sum.times.network_us += network_us;
        sum.times.waiting_us += beyond_us - network_us;
    }

  private:
    const ForecastDesktop& desktop_;
    std::span<const ForecastNode> nodes_;
    const std::vector<std::size_t> measured_;
    std::deque<LinkedCost> costs_, deciding_costs_;
    std::vector<const ExecutorCost*> summing_, deciding_;
    std::vector<ExpertLoad> loads_;
    std::vector<Assignment> here_;
    Schedule schedule_;
};

ShapeForecast mean_of(ShapeForecast sum) {
    for (double* us : {&sum.times.computing_us, &sum.times.network_us, &sum.times.waiting_us}) *us /= kTokensForecast;
    for (double& calls : sum.calls) calls /= kTokensForecast;
    return sum;
}

}  // namespace

ShapeForecast forecast_as_helpers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes) {
    std::vector<std::size_t> measured = measured_nodes(nodes);
    if (!desktop.knows_costs() || measured.empty()) return {};
    ShapeForecast sum;
    sum.calls.assign(1 + nodes.size(), 0);
    HelpedToken token(desktop, nodes, std::move(measured));
    ExpertDraw draw(desktop.popularity);
    std::mt19937_64 random(1);
    for (int i = 0; i < kTokensForecast; ++i) {
        for (std::int64_t layer = 0; layer < desktop.grid.n_layers; ++layer) {
            token.begin_layer();
            draw.draw(layer, random, [&](int expert) { token.choose(layer, expert); });
            token.end_layer(sum);
        }
    }
    sum = mean_of(std::move(sum));
    sum.times.computing_us += desktop.cost.table().dense.step_us(1, desktop.n_past);
    return sum;
}

ShapeForecast forecast_as_peers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes) {
    const std::vector<std::size_t> measured = measured_nodes(nodes);
    if (!desktop.knows_costs() || measured.empty()) return {};
    const ExpertGrid& grid = desktop.grid;
    const CostModel& cost = desktop.cost;
    const double n_layers = static_cast<double>(grid.n_layers);
    // Beside the experts, of one layer; this machine first.
    std::vector<double> dense_us(1 + nodes.size());
    dense_us[0] = cost.table().dense.step_us(1, desktop.n_past) / n_layers;
    double latency_us = 0, us_per_byte = 0;
    std::vector<std::uint8_t> takes_part(1 + nodes.size());
    takes_part[0] = 1;
    for (const std::size_t i : measured) {
        const LinkCosts::Measured link = nodes[i].costs->measured();
        dense_us[1 + i] =
            nodes[i].costs->expert_us(link.expert_bytes, 1) / link.expert_bytes * desktop.dense_bytes / n_layers;
        takes_part[1 + i] = 1;
        latency_us = std::max(latency_us, link.latency_us);
        us_per_byte = std::max(us_per_byte, link.us_per_byte);
    }
    const auto expert_us = [&](std::uint32_t machine, std::size_t at) {
        const kernels::WeightType format = desktop.formats[at];
        if (machine > 0) {
            const ForecastNode& node = nodes[machine - 1];
            if (takes_part[machine] == 0 || node.has[at] == 0) return -1.0;
            return node.costs->expert_us(static_cast<double>(grid.expert_bytes(format)), 1);
        }
        if (desktop.places[at] == Place::kDevice) return cost.gpu_us(1, format);
        return cost.cpu_us(1, format) + (desktop.places[at] == Place::kDisk ? cost.disk_read(format).us : 0);
    };
    ShapeForecast sum;
    sum.calls.assign(1 + nodes.size(), 0);
    sum.owners = deal_owners(grid, desktop.popularity, static_cast<std::uint32_t>(1 + nodes.size()), expert_us);
    ExpertDraw draw(desktop.popularity);
    std::mt19937_64 random(1);
    std::vector<double> ends;
    for (int i = 0; i < kTokensForecast; ++i) {
        for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
            ends = dense_us;
            draw.draw(layer, random, [&](int expert) {
                const std::size_t at = grid_index(grid, layer, expert);
                const auto machine = static_cast<std::uint32_t>(static_cast<unsigned char>(sum.owners[at]));
                ends[machine] += expert_us(machine, at);
                sum.calls[machine] += 1;
            });
            sum.times.computing_us += ends[0];
            sum.times.waiting_us += *std::max_element(ends.begin(), ends.end()) - ends[0];
        }
    }
    sum = mean_of(std::move(sum));
    const double messages = measured.size() > 1 ? 2 : 1;
    const double row_bytes = static_cast<double>(grid.hidden_dim) * static_cast<double>(bytes_of(desktop.activations));
    const double bytes = static_cast<double>(grid.n_active) * row_bytes * static_cast<double>(measured.size());
    sum.times.network_us = n_layers * (messages * latency_us / 2 + bytes * us_per_byte);
    return sum;
}

std::size_t n_within(std::span<const NodeExpert> experts, const ExpertGrid& grid, std::uint64_t room_bytes) {
    if (room_bytes == 0) return experts.size();
    std::size_t n = 0;
    for (const NodeExpert& expert : experts) {
        const std::uint64_t bytes = grid.expert_bytes(expert.format);
        if (bytes > room_bytes) break;
        room_bytes -= bytes;
        ++n;
    }
    return n;
}

std::vector<std::uint8_t> first_held(std::span<const NodeExpert> experts, const ExpertGrid& grid, std::size_t n) {
    std::vector<std::uint8_t> held(static_cast<std::size_t>(grid.size()));
    for (const NodeExpert& expert : experts.first(std::min(n, experts.size()))) {
        held[grid_index(grid, expert.layer, expert.expert)] = 1;
    }
    return held;
}

std::uint64_t room_beside_steps(std::uint64_t ram_bytes, std::uint64_t dense_bytes, std::uint64_t kv_bytes) {
    if (ram_bytes == 0) return 0;
    const std::uint64_t beside = dense_bytes + kv_bytes;
    return ram_bytes > beside ? ram_bytes - beside : 1;
}

}  // namespace offstage::engine
