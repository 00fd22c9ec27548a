#include "engine/cluster/cluster_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include "engine/as_size.h"
#include "engine/cluster/cluster_messages.h"
#include "engine/error.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/weights.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

constexpr double kBytesPerOutput = 2;

struct ExpertGroup {
    std::int64_t n_experts = 0;
    std::int64_t n_machines = 0;  // machines that hold it
};

std::vector<ExpertGroup> groups_on(std::int64_t n_machines, std::int64_t n_groups, std::int64_t n_experts) {
    std::vector<ExpertGroup> groups(as_size(n_groups));
    for (std::int64_t g = 0; g < n_groups; ++g) {
        groups[as_size(g)] = {n_experts / n_groups + (g < n_experts % n_groups ? 1 : 0),
                              n_machines / n_groups + (g < n_machines % n_groups ? 1 : 0)};
    }
    return groups;
}

double n_choices(std::int64_t n, std::int64_t k) {
    double choices = 1;
    for (std::int64_t i = 0; i < k; ++i) choices = choices * static_cast<double>(n - i) / static_cast<double>(i + 1);
    return choices;
}

// The number of ways to choose n_active experts so that no machine computes more than
// `most` of them.
double n_ways(const std::vector<ExpertGroup>& groups, std::int64_t n_active, std::int64_t most) {
    std::vector<double> ways(as_size(n_active) + 1, 0.0);
    ways[0] = 1;
    for (const ExpertGroup& group : groups) {
        std::vector<double> next(ways.size(), 0.0);
        for (std::int64_t before = 0; before <= n_active; ++before) {
            const std::int64_t largest = std::min({most * group.n_machines, group.n_experts, n_active - before});
            for (std::int64_t k = 0; k <= largest; ++k)
                next[as_size(before + k)] += ways[as_size(before)] * n_choices(group.n_experts, k);
        }
        ways = std::move(next);
    }
    return ways.back();
}

double mean_busiest(const std::vector<ExpertGroup>& groups, std::int64_t n_active) {
    const double all = n_ways(groups, n_active, n_active);
    double mean = 0;  // the sum over m of the chance that some machine computes more than m
    for (std::int64_t m = 0; m < n_active; ++m) mean += 1 - n_ways(groups, n_active, m) / all;
    return mean;
}

// Sizes of a model's layers.
struct LayerWeights {
    double dense_bytes = 0, dense_weights = 0;    // matrices that every token passes, all layers
    double expert_bytes = 0, expert_weights = 0;  // of one expert of every layer
    double memory_bytes = 0;                      // the whole dense part

    explicit LayerWeights(const ModelShape& shape) {
        const ModelSpec& spec = shape.spec;
        const ExpertGrid& grid = spec.experts;
        memory_bytes = static_cast<double>(dense_bytes_in(spec, shape.type));
        for (const DenseTensor& tensor : dense_tensors(spec)) {
            if (tensor.layer < 0 || tensor.kind == DenseTensor::Kind::kVector) continue;
            dense_bytes += static_cast<double>(tensor.stored_bytes(shape.type));
            dense_weights += static_cast<double>(tensor.n_weights());
        }
        for (std::int64_t layer = 0; layer < grid.n_layers; ++layer)
            expert_bytes += static_cast<double>(grid.expert_bytes(grid.stored(shape.type, layer)));
        expert_weights = static_cast<double>(grid.n_layers * grid.expert_weights());
    }
};

// The fewest groups of experts of which one fits on a machine; nothing if not even a
// single expert does.
std::optional<std::int64_t> n_groups_of(const LayerWeights& weights, const ExpertGrid& grid, const ClusterNode& node) {
    const double room = static_cast<double>(node.memory_bytes) - weights.memory_bytes;
    const auto fitting = static_cast<std::int64_t>(std::max(0.0, room) / weights.expert_bytes);
    if (fitting < 1) return std::nullopt;
    return (grid.n_experts + fitting - 1) / fitting;
}

// The row of a measurement. Throws Error (kInvalidInput): nothing follows from it.
const ClusterBound& row_of(const ClusterBounds& bounds, std::int64_t n_machines, bool is_valid) {
    const auto found = std::find_if(bounds.rows.begin(), bounds.rows.end(), [&](const ClusterBound& row) {
        return row.n_machines == n_machines && row.failure.empty();
    });
    if (found != bounds.rows.end() && is_valid) return *found;
    throw Error(ErrorKind::kInvalidInput, messages::cluster_measured_elsewhere(n_machines));
}

// "MACHINES:NUMBER,NUMBER...". False: the text is another one.
bool parse_measured(const std::string& text, std::int64_t& machines, std::initializer_list<double*> numbers) {
    const char* at = text.c_str();
    char* end = nullptr;
    machines = std::strtoll(at, &end, 10);
    char before = ':';
    for (double* number : numbers) {
        if (end == at || *end != before) return false;
        at = end + 1;
        *number = std::strtod(at, &end);
        before = ',';
    }
    return end != at && *end == '\0' && machines >= 1;
}

std::string gigabytes(double bytes) {
    return print("%.1f GB", bytes / 1e9);
}

std::string prompts_text(const ClusterBounds& bounds) {
    const auto tokens = static_cast<double>(bounds.prompt_tokens);
    Table table({{"machines", 8},
                 {"load", 8, 3},
                 {"compute", 9, 3},
                 {"latency", 9, 3},
                 {"transfer", 10, 3},
                 {"first token", 13, 3},
                 {"tokens/s", 10, 1}});
    bool expects = false;
    for (const ClusterBound& row : bounds.rows) {
        if (!row.failure.empty()) continue;
        const PromptBound& prompt = row.prompt;
        std::vector<Cell>& cells = table.add({row.n_machines, prompt.load_s, prompt.compute_s, prompt.latency_s,
                                              prompt.transfer_s, prompt.time_s(), tokens / prompt.time_s()});
        if (prompt.expected_s > 0) cells.emplace_back(tokens / prompt.expected_s);
        expects = expects || prompt.expected_s > 0;
    }
    if (expects) table.add_column({"expected", 10, 1});
    return "\nThe least that a prompt of " + std::to_string(bounds.prompt_tokens) +
           " tokens can take until its first token, read in one step.\n\n" + table.text();
}

}  // namespace

ClusterBounds cluster_bounds(const ModelShape& shape, const ClusterNode& node, const Network& network,
                             std::int64_t n_machines) {
    const ExpertGrid& grid = shape.spec.experts;
    ClusterBounds bounds{shape.name, grid.n_layers, grid.n_experts, grid.n_active, node, network, {}};
    const LayerWeights weights(shape);
    const std::optional<std::int64_t> n_groups = n_groups_of(weights, grid, node);
    const auto n_layers = static_cast<double>(grid.n_layers);
    for (std::int64_t n = 1; n <= n_machines; ++n) {
        ClusterBound& row = bounds.rows.emplace_back();
        row.n_machines = n;
        if (!n_groups || n < *n_groups) {
            const std::string needed = n_groups ? std::to_string(*n_groups) + " machines" : "more memory";
            row.failure = gigabytes(weights.memory_bytes * static_cast<double>(n) +
                                    weights.expert_bytes * static_cast<double>(grid.n_experts)) +
                          " do not fit, needs " + needed;
            continue;
        }
        const std::vector<ExpertGroup> groups = groups_on(n, *n_groups, grid.n_experts);
        row.experts_per_machine = groups.front().n_experts;
        row.price_usd = price_usd(n, node.price_usd, network);
        row.busiest_experts = mean_busiest(groups, grid.n_active);
        row.load_s = (weights.dense_bytes + weights.expert_bytes * row.busiest_experts) / (node.memory_gbps * 1e9);
        row.compute_s =
            2 * (weights.dense_weights + weights.expert_weights * row.busiest_experts) / (node.tflops * 1e12);
        if (n == 1) continue;  // nothing is exchanged
        const double outputs = static_cast<double>(grid.n_active * grid.hidden_dim);
        row.latency_s = n_layers * network.latency_us / 1e6;
        row.transfer_s = n_layers * outputs * kBytesPerOutput / (network.gbps * 1e9);
    }
    return bounds;
}

void compare_shapes(ClusterBounds& bounds, const ModelShape& shape, const ClusterNode& desktop) {
    const LayerWeights weights(shape);
    const ExpertGrid& grid = shape.spec.experts;
    const auto n_layers = static_cast<double>(grid.n_layers);
    const auto seconds = [](const ClusterNode& node, double bytes, double n_weights) {
        return std::max(bytes / (node.memory_gbps * 1e9), 2 * n_weights / (node.tflops * 1e12));
    };
    for (ClusterBound& row : bounds.rows) {
        if (!row.failure.empty() || row.n_machines < 2) continue;
        const double experts_s = seconds(bounds.node, weights.expert_bytes * row.busiest_experts,
                                         weights.expert_weights * row.busiest_experts);
        const auto inputs = static_cast<double>((row.n_machines - 1) * grid.hidden_dim);
        const double there_s = n_layers * inputs * kBytesPerOutput / (bounds.network.gbps * 1e9);
        const double without_latency_s =
            seconds(desktop, weights.dense_bytes, weights.dense_weights) + experts_s + there_s + row.transfer_s;
        row.helpers_s = without_latency_s + 2 * row.latency_s;
        row.crossing_us = std::max(0.0, row.time_s() - row.latency_s - without_latency_s) / n_layers * 1e6;
    }
}

void bound_prompts(ClusterBounds& bounds, const ModelShape& shape, std::int64_t n_tokens) {
    const LayerWeights weights(shape);
    const ExpertGrid& grid = shape.spec.experts;
    const std::optional<std::int64_t> n_groups = n_groups_of(weights, grid, bounds.node);
    const auto tokens = static_cast<double>(n_tokens);
    const double active_share = static_cast<double>(grid.n_active) / static_cast<double>(grid.n_experts);
    bounds.prompt_tokens = n_tokens;
    for (ClusterBound& row : bounds.rows) {
        if (!row.failure.empty()) continue;
        double experts = 0;  // of a layer, on the busiest machine
        for (const ExpertGroup& group : groups_on(row.n_machines, *n_groups, grid.n_experts)) {
            experts = std::max(experts, static_cast<double>(group.n_experts) / static_cast<double>(group.n_machines));
        }
        const double called = std::max(row.busiest_experts, experts * (1 - std::pow(1 - active_share, tokens)));
        const double calls = std::max(row.busiest_experts, experts * active_share * tokens);
        row.prompt.load_s = (weights.dense_bytes + weights.expert_bytes * called) / (bounds.node.memory_gbps * 1e9);
        row.prompt.compute_s =
            2 * (weights.dense_weights * tokens + weights.expert_weights * calls) / (bounds.node.tflops * 1e12);
        row.prompt.latency_s = row.latency_s;
        row.prompt.transfer_s = row.transfer_s * tokens;
    }
}

void expect_prompts(ClusterBounds& bounds, const PromptMeasured& measured) {
    const ClusterBound& there = row_of(bounds, measured.n_machines, measured.tokens_per_s > 0);
    const double longer = static_cast<double>(bounds.prompt_tokens) / measured.tokens_per_s / there.prompt.time_s();
    for (ClusterBound& row : bounds.rows) {
        if (row.failure.empty()) row.prompt.expected_s = longer * row.prompt.time_s();
    }
}

PromptMeasured parse_prompt_measured(const std::string& text) {
    PromptMeasured measured;
    if (parse_measured(text, measured.n_machines, {&measured.tokens_per_s})) return measured;
    throw Error(ErrorKind::kInvalidInput, messages::prompt_measured_malformed(text));
}

void expect(ClusterBounds& bounds, const ClusterMeasured& measured) {
    const bool positive = measured.experts_s > 0 && measured.exchange_s >= 0 && measured.rest_s >= 0;
    const ClusterBound there = row_of(bounds, measured.n_machines, positive);
    const double exchange_s = there.latency_s + there.transfer_s;
    for (ClusterBound& row : bounds.rows) {
        if (!row.failure.empty()) continue;
        const double exchange = exchange_s > 0 ? (row.latency_s + row.transfer_s) / exchange_s : 1;
        row.expected_s = measured.experts_s * row.busiest_experts / there.busiest_experts +
                         measured.exchange_s * exchange + measured.rest_s;
    }
}

ClusterMeasured parse_cluster_measured(const std::string& text) {
    ClusterMeasured measured;
    if (parse_measured(text, measured.n_machines, {&measured.experts_s, &measured.exchange_s, &measured.rest_s})) {
        return measured;
    }
    throw Error(ErrorKind::kInvalidInput, messages::cluster_measured_malformed(text));
}

nlohmann::ordered_json to_json(const ClusterBounds& bounds) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, bounds, model, n_layers, n_experts, n_active);
    ADD_FIELDS(json["node"], bounds.node, memory_bytes, memory_gbps, tflops);
    json["network"] = bounds.network.id;
    json["rows"] = nlohmann::ordered_json::array();
    for (const ClusterBound& row : bounds.rows) {
        nlohmann::ordered_json entry = {{"n_machines", row.n_machines}};
        if (!row.failure.empty()) {
            entry["failure"] = row.failure;
        } else {
            entry["experts_per_machine"] = row.experts_per_machine;
            entry["busiest_experts"] = rounded(row.busiest_experts);
            entry["load_s"] = rounded(row.load_s);
            entry["compute_s"] = rounded(row.compute_s);
            entry["latency_s"] = rounded(row.latency_s);
            entry["transfer_s"] = rounded(row.transfer_s);
            entry["time_s"] = rounded(row.time_s());
            entry["tokens_per_s"] = rounded(row.tokens_per_s());
            if (row.helpers_s > 0) {
                entry["helpers_s"] = rounded(row.helpers_s);
                entry["helpers_tokens_per_s"] = rounded(row.helpers_tokens_per_s());
                entry["crossing_us"] = rounded(row.crossing_us);
            }
            if (bounds.prompt_tokens > 0) {
                const PromptBound& prompt = row.prompt;
                const auto tokens = static_cast<double>(bounds.prompt_tokens);
                entry["prompt"] = {{"tokens", bounds.prompt_tokens},
                                   {"load_s", rounded(prompt.load_s)},
                                   {"compute_s", rounded(prompt.compute_s)},
                                   {"latency_s", rounded(prompt.latency_s)},
                                   {"transfer_s", rounded(prompt.transfer_s)},
                                   {"first_token_s", rounded(prompt.time_s())},
                                   {"tokens_per_s", rounded(tokens / prompt.time_s())}};
                if (prompt.expected_s > 0) {
                    entry["prompt"]["expected_s"] = rounded(prompt.expected_s);
                    entry["prompt"]["expected_tokens_per_s"] = rounded(tokens / prompt.expected_s);
                }
            }
            if (row.expected_s > 0) {
                entry["expected_s"] = rounded(row.expected_s);
                entry["expected_tokens_per_s"] = rounded(row.expected_tokens_per_s());
            }
            if (row.price_usd > 0) {
                entry["price_usd"] = rounded(row.price_usd);
                entry["tokens_per_s_per_usd"] = row.tokens_per_s_per_usd();
            }
        }
        json["rows"].push_back(std::move(entry));
    }
    return json;
}

std::string to_text(const ClusterBounds& bounds) {
    const ClusterNode& node = bounds.node;
    const auto any = [&](double ClusterBound::*figure) {
        return std::any_of(bounds.rows.begin(), bounds.rows.end(),
                           [&](const ClusterBound& row) { return row.*figure > 0; });
    };
    const bool expects = any(&ClusterBound::expected_s), compares = any(&ClusterBound::helpers_s);
    Table table({{"machines", 8},
                 {"experts", 9},
                 {"busiest", 9, 2},
                 {"load", 8, 3},
                 {"compute", 9, 4},
                 {"latency", 9, 4},
                 {"transfer", 10, 4},
                 {"time", 8, 3},
                 {"tokens/s", 10, 1}});
    if (compares) table.add_column({"helpers", 10, 1});
    if (compares) table.add_column({"crossing", 10, 3, 1e-3, " ms"});
    if (expects) table.add_column({"expected", 10, 1});
    if (node.price_usd > 0) table.add_column({"USD", 10});
    if (node.price_usd > 0) table.add_column({"tokens/s per 1000 USD", 23, 3, 1000});
    for (const ClusterBound& row : bounds.rows) {
        if (!row.failure.empty()) {
            table.add({row.n_machines, "  " + row.failure});
            continue;
        }
        std::vector<Cell>& cells =
            table.add({row.n_machines, row.experts_per_machine, row.busiest_experts, row.load_s, row.compute_s,
                       row.latency_s, row.transfer_s, row.time_s(), row.tokens_per_s()});
        if (compares && row.helpers_s > 0) {
            cells.emplace_back(row.helpers_tokens_per_s());
            cells.push_back(row.crossing_us > 0 ? Cell(row.crossing_us) : Cell("never"));
        } else if (compares) {
            cells.insert(cells.end(), {"", ""});
        }
        if (expects) cells.emplace_back(row.expected_tokens_per_s());
        if (row.price_usd > 0) cells.insert(cells.end(), {row.price_usd, row.tokens_per_s_per_usd()});
    }
    return bounds.model + ": " + shape_text(bounds) +
           ". Machines: " + gigabytes(static_cast<double>(node.memory_bytes)) +
           print(", %g GB/s, %g TFLOP/s; ", node.memory_gbps, node.tflops) + bounds.network.name.english() +
           ".\nThe least that a decoded token can take, in seconds; an estimate, not a measurement.\n\n" +
           table.text() + (bounds.prompt_tokens > 0 ? prompts_text(bounds) : std::string());
}

}  // namespace offstage::engine
