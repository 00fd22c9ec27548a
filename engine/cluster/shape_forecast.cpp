#include "engine/cluster/shape_forecast.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/peer_timeline.h"
#include "engine/model/dense_tensors.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {
namespace {

constexpr int kTokensForecast = 32;

// The measured ones of the first kMostElsewhere; indices.
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
            costs_.emplace_back(*nodes[i].costs, desktop.grid, desktop.insists);
        }
        for (const NodeCost& cost : costs_) elsewhere_.push_back(&cost);
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
        decide(desktop_.policy, loads_, desktop_.cost, desktop_.staging_slots, schedule_, elsewhere_);
        here_.clear();
        std::vector<std::int64_t> rows(measured_.size());
        std::vector<double> there_us(measured_.size());
        for (const Assignment& assignment : schedule_.assignments) {
            if (!is_elsewhere(assignment.target)) {
                here_.push_back(assignment);
                sum.calls[0] += 1;
                continue;
            }
            const std::size_t i = index_elsewhere(assignment.target);
            rows[i] += assignment.n_tokens;
            there_us[i] += costs_[i].expert_us(assignment.format, assignment.n_tokens);
            sum.calls[1 + measured_[i]] += 1;
        }
        const double here_us = here_.empty() ? 0 : makespan_us(here_, desktop_.cost, desktop_.staging_slots);
        // This machine waits for the last answer's transfer, and before that for the
        // computing there. One thread sends the requests, one after the other.
        double network_us = 0, last_us = 0, sent_us = 0;
        for (std::size_t i = 0; i < measured_.size(); ++i) {
            if (rows[i] == 0) continue;
            const LinkCosts& link = *nodes_[measured_[i]].costs;
            const double way_us = sent_us + costs_[i].transfer_us(rows[i]);
            sent_us += link.measured().send_us;
            if (way_us + there_us[i] <= last_us) continue;
            last_us = way_us + there_us[i];
            network_us = way_us;
        }
        const double layer_us = std::max(schedule_.makespan_us, last_us);
        const double beyond_us = std::max(0.0, layer_us - here_us);
        network_us = std::min(network_us, beyond_us);
        const bool waits = std::any_of(rows.begin(), rows.end(), [](std::int64_t n) { return n > 0; });
        sum.times.computing_us += layer_us - beyond_us + (waits ? desktop_.pause_us : 0);
        sum.times.network_us += network_us;
        sum.times.waiting_us += beyond_us - network_us;
    }

  private:
    const ForecastDesktop& desktop_;
    std::span<const ForecastNode> nodes_;
    const std::vector<std::size_t> measured_;
    std::deque<NodeCost> costs_;
    std::vector<const ExecutorCost*> elsewhere_;
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
    const double step_us = cost.table().dense.step_us(1, desktop.n_past);
    const double head_us = step_us * desktop.head_share;
    const auto here_bytes = static_cast<double>(grid.expert_bytes(cost.master()));
    const double here_us_per_byte = cost.cpu_us(1) / here_bytes;
    // Beside the experts, of one layer; this machine first.
    std::vector<double> dense_us(1 + nodes.size());
    const double computed_us = (step_us - head_us) / n_layers;
    dense_us[0] = computed_us + desktop.pause_us;
    std::vector<std::uint8_t> takes_part(1 + nodes.size());
    takes_part[0] = 1;
    std::vector<PeerTimeline::Link> links(1);      // of those that take part
    std::vector<std::size_t> place(nodes.size());  // of each among them; 0: it does not
    std::vector<double> send_us;                   // of each of them, one message
    for (const std::size_t i : measured) {
        const LinkCosts::Measured link = nodes[i].costs->measured();
        const double us_per_byte = nodes[i].costs->expert_us(link.expert_bytes, 1) / link.expert_bytes;
        // A wait adds other threads' turns, which do not depend on the speed of
        // computing.
        dense_us[1 + i] = desktop.on_processor
                              ? computed_us * us_per_byte / here_us_per_byte + desktop.pause_us
                              : us_per_byte * desktop.dense_bytes * (1 - desktop.head_share) / n_layers;
        takes_part[1 + i] = 1;
        place[i] = links.size();
        links.push_back({nodes[i].costs->message_us() + desktop.wake_us / 2, link.us_per_byte});
        send_us.push_back(link.send_us);
    }
    // To all but the first, whose message time includes it; for links between two of the
    // others nothing else is known.
    const double send_step_us = std::accumulate(send_us.begin(), send_us.end(), 0.0);
    dense_us[0] += send_step_us - send_us.front();
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
    const double row_bytes = static_cast<double>(grid.hidden_dim) * static_cast<double>(bytes_of(desktop.activations));
    std::vector<PeerTimeline::Direct> direct;
    for (const ForecastLink& link : desktop.node_links) {
        if (link.a >= place.size() || link.b >= place.size() || place[link.a] == 0 || place[link.b] == 0) continue;
        direct.push_back({place[link.a],
                          place[link.b],
                          {link.message_us + desktop.wake_us / 2 + send_us[place[link.a] - 1], link.us_per_byte}});
    }
    PeerTimeline timeline(links, direct), without_network(std::vector<PeerTimeline::Link>(links.size()));
    std::vector<double> layer_us, work_us, sent_bytes;
    for (int i = 0; i < kTokensForecast; ++i) {
        timeline.begin_step();
        without_network.begin_step();
        double here_us = 0;
        for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
            layer_us = dense_us;
            sent_bytes.assign(1 + nodes.size(), 0);
            draw.draw(layer, random, [&](int expert) {
                const std::size_t at = grid_index(grid, layer, expert);
                const auto machine = static_cast<std::uint32_t>(static_cast<unsigned char>(sum.owners[at]));
                layer_us[machine] += expert_us(machine, at);
                sent_bytes[machine] += row_bytes;
                sum.calls[machine] += 1;
            });
            here_us += layer_us[0];
            // The timelines contain only the machines that take part.
            work_us.clear();
            std::size_t n = 0;
            for (std::size_t m = 0; m < layer_us.size(); ++m) {
                if (takes_part[m] == 0) continue;
                work_us.push_back(layer_us[m]);
                sent_bytes[n++] = sent_bytes[m];
            }
            timeline.add_layer(work_us, sent_bytes);
            without_network.add_layer(work_us, sent_bytes);
        }
        sum.times.computing_us += here_us + head_us;
        sum.times.network_us += send_step_us;
        sum.times.waiting_us += without_network.desktop_us() - here_us;
        sum.times.network_us += timeline.desktop_us() - without_network.desktop_us();
    }
    return mean_of(std::move(sum));
}

double head_share_of(const ModelSpec& spec) {
    double head = 0, all = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        const auto read = static_cast<double>(tensor.unused_in_decode ? tensor.n_cols : tensor.n_weights());
        const bool tied = tensor.role == TensorRole::kEmbedding && !tensor.unused_in_decode;
        if (tensor.role == TensorRole::kHead || tied) head += read;
        all += read;
    }
    return all > 0 ? head / all : 0;
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

std::vector<std::uint8_t> held_within(std::span<const NodeExpert> experts, const ExpertGrid& grid,
                                      std::uint64_t room_bytes) {
    std::vector<std::uint8_t> held(static_cast<std::size_t>(grid.size()));
    for (const NodeExpert& expert : experts.first(n_within(experts, grid, room_bytes))) {
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
