#include "engine/eval/recall.h"

#include <algorithm>
#include <numeric>

#include "engine/as_size.h"
#include "engine/eval/text_sequences.h"
#include "engine/run/routing_probe.h"

namespace offstage::engine {
namespace {

double mean_of(std::span<const double> values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Computes hit rates for all k at once: an expert that was the d-th most recently used
// hits in every cache of more than d.
void measure_lru(const RoutingTrace& trace, RecallReport& report) {
    const auto n_experts = as_size(report.n_experts), n_active = as_size(report.n_active);
    std::vector<std::int32_t> recent(n_experts), used(n_active);
    std::vector<std::uint64_t> at_depth(n_experts);
    for (std::size_t layer = 0; layer < as_size(report.n_layers); ++layer) {
        std::iota(recent.begin(), recent.end(), 0);
        std::fill(at_depth.begin(), at_depth.end(), 0);
        for (std::size_t token = 0; token < trace.tokens.size(); ++token) {
            const auto row = trace.experts_of(token).subspan(layer * n_active, n_active);
            std::copy(row.begin(), row.end(), used.begin());
            std::sort(used.begin(), used.end());
            // Looks up all experts of a token before it uses any of them: they are needed
            // at the same time.
            for (const std::int32_t expert : used) {
                ++at_depth[static_cast<std::size_t>(std::find(recent.begin(), recent.end(), expert) - recent.begin())];
            }
            for (const std::int32_t expert : used) {
                const auto place = std::find(recent.begin(), recent.end(), expert);
                std::rotate(recent.begin(), place, place + 1);
            }
        }
        std::uint64_t hits = 0;
        for (std::size_t k = 0; k < n_experts; ++k) {
            hits += at_depth[k];
            report.lru.push_back(static_cast<double>(hits) /
                                 static_cast<double>(std::max<std::size_t>(1, trace.tokens.size() * n_active)));
        }
    }
    for (std::size_t k = 0; k < n_experts; ++k) {
        double sum = 0;
        for (std::size_t layer = 0; layer < as_size(report.n_layers); ++layer) sum += report.lru[layer * n_experts + k];
        report.lru_mean.push_back(sum / static_cast<double>(report.n_layers));
    }
}

RecallReport::Ahead measure_ahead(const RoutingTrace& trace, std::size_t distance_index, std::int64_t n_guesses) {
    const TraceHeader& header = trace.header;
    const auto n_layers = as_size(header.n_layers), n_active = as_size(header.n_active);
    RecallReport::Ahead ahead;
    ahead.distance = header.distances[distance_index];
    ahead.n_guesses = n_guesses;
    ahead.layers.assign(n_layers, -1);
    std::vector<double> known;
    for (std::size_t layer = as_size(ahead.distance); layer < n_layers; ++layer) {
        std::uint64_t found = 0;
        for (std::size_t token = 0; token < trace.tokens.size(); ++token) {
            const auto guessed = std::span(trace.guesses)
                                     .subspan(token * header.guesses_per_token() +
                                                  (distance_index * n_layers + layer) * as_size(header.n_guesses),
                                              as_size(n_guesses));
            for (const std::int32_t expert : trace.experts_of(token).subspan(layer * n_active, n_active)) {
                if (std::find(guessed.begin(), guessed.end(), expert) != guessed.end()) ++found;
            }
        }
        ahead.layers[layer] =
            static_cast<double>(found) / static_cast<double>(std::max<std::size_t>(1, trace.tokens.size() * n_active));
        known.push_back(ahead.layers[layer]);
    }
    ahead.mean = mean_of(known);
    return ahead;
}

}  // namespace

RecallReport measure_recall(const RoutingTrace& trace) {
    RecallReport report;
    report.model = trace.header.model;
    report.n_layers = trace.header.n_layers;
    report.n_experts = trace.header.n_experts;
    report.n_active = trace.header.n_active;
    report.n_tokens = static_cast<std::int64_t>(trace.tokens.size());
    measure_lru(trace, report);
    for (std::size_t d = 0; d < trace.header.distances.size(); ++d) {
        for (std::int64_t n = report.n_active; n <= std::min(report.n_active + 1, trace.header.n_guesses); ++n) {
            report.ahead.push_back(measure_ahead(trace, d, n));
        }
    }
    return report;
}

RoutingTrace record_routing(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                            std::span<const std::int64_t> distances,
                            const std::function<void(std::int64_t done)>& progress, const std::stop_token& stop) {
    const ExpertGrid& grid = model.spec().experts;
    RoutingTrace trace;
    trace.header = {model.summary().name, grid.n_layers, grid.n_experts, grid.n_active, {}, 0};
    for (const std::int64_t distance : distances) {
        if (distance < grid.n_layers) trace.header.distances.push_back(distance);
    }
    if (!trace.header.distances.empty()) trace.header.n_guesses = std::min(grid.n_active + 1, grid.n_experts);

    // Guesses take room on the device for every token of a step.
    const std::int64_t max_step = std::min<std::int64_t>(model.forward().max_step(), 256);
    RoutingProbe probe(model.spec(), model.device(), trace.header.distances,
                       std::max<std::int64_t>(1, trace.header.n_guesses), max_step);
    const auto keep = [&](std::int64_t first, std::int64_t n_tokens) {
        const auto routing = model.forward().routing();
        trace.experts.insert(trace.experts.end(), routing.begin(), routing.end());
        trace.guesses.insert(trace.guesses.end(), probe.guesses().begin(), probe.guesses().end());
        for (std::int64_t position = first; position < first + n_tokens; ++position) {
            trace.tokens.push_back({static_cast<std::int64_t>(trace.tokens.size()), position, TokenKind::kDecode});
        }
        if (progress) progress(static_cast<std::int64_t>(trace.tokens.size()));
    };
    run_sequences(model, sequences, max_step, &probe, keep, stop);
    return trace;
}

}  // namespace offstage::engine
