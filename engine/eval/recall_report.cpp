// A RecallReport as JSON and text.

#include <algorithm>

#include "engine/as_size.h"
#include "engine/eval/recall.h"
#include "engine/eval/svg_plot.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

using nlohmann::ordered_json;

ordered_json shares(std::span<const double> values) {
    ordered_json list = ordered_json::array();
    for (const double value : values) list.push_back(value < 0 ? ordered_json(nullptr) : ordered_json(rounded(value)));
    return list;
}

std::span<const double> lru_of(const RecallReport& report, std::int64_t layer) {
    return std::span(report.lru)
        .subspan(static_cast<std::size_t>(layer * report.n_experts), static_cast<std::size_t>(report.n_experts));
}

std::vector<double> whole_numbers(std::int64_t first, std::size_t n) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(static_cast<double>(first) + static_cast<double>(i));
    return numbers;
}

// From light (the first layer) to dark blue (the last).
std::string colour_of_layer(std::int64_t layer, std::int64_t n_layers) {
    const double depth = n_layers > 1 ? static_cast<double>(layer) / static_cast<double>(n_layers - 1) : 1;
    const auto mix = [&](double light, double dark) { return static_cast<int>(light + depth * (dark - light)); };
    return print("#%02x%02x%02x", mix(125, 16), mix(185, 48), mix(235, 105));
}

}  // namespace

ordered_json to_json(const RecallReport& report) {
    ordered_json json;
    ADD_FIELDS(json, report, model, n_layers, n_experts, n_active, n_tokens);
    ordered_json layers = ordered_json::array();
    for (std::int64_t layer = 0; layer < report.n_layers; ++layer) layers.push_back(shares(lru_of(report, layer)));
    json["lru"] = {{"mean", shares(report.lru_mean)}, {"layers", layers}};
    json["ahead"] = ordered_json::array();
    for (const RecallReport::Ahead& ahead : report.ahead) {
        json["ahead"].push_back({{"distance", ahead.distance},
                                 {"n_guesses", ahead.n_guesses},
                                 {"mean", rounded(ahead.mean)},
                                 {"layers", shares(ahead.layers)}});
    }
    return json;
}

std::string to_text(const RecallReport& report) {
    // A table of more columns is no table: the JSON and the picture have them all.
    const std::int64_t n_columns = std::min<std::int64_t>(report.n_experts, 16);
    const std::int64_t step = (report.n_experts + n_columns - 1) / n_columns;
    Table cache({{"k", 7}}), guesses({{"ahead", 7}});
    std::vector<Cell>& guessed = guesses.add({"guesses"});
    for (std::int64_t k = step; k <= report.n_experts; k += step) cache.add_column({std::to_string(k), 7, 1, 100});
    for (const auto& ahead : report.ahead) {
        guesses.add_column({std::to_string(ahead.distance), 7, 1, 100});
        guessed.emplace_back(std::to_string(ahead.n_guesses));
    }
    for (std::int64_t layer = 0; layer <= report.n_layers; ++layer) {
        const bool is_mean = layer == report.n_layers;
        const std::string name = is_mean ? "mean" : std::to_string(layer);
        const std::span<const double> shares_of_k = is_mean ? report.lru_mean : lru_of(report, layer);
        std::vector<Cell>& of_cache = cache.add({name});
        for (std::int64_t k = step; k <= report.n_experts; k += step) {
            of_cache.push_back(if_known(shares_of_k[as_size(k - 1)]));
        }
        std::vector<Cell>& recalls = guesses.add({name});
        for (const auto& ahead : report.ahead) {
            recalls.push_back(if_known(is_mean ? ahead.mean : ahead.layers[as_size(layer)]));
        }
    }
    const std::string text = std::to_string(report.n_tokens) + " tokens, " + shape_text(report) +
                             "; shares in %\n\nLRU hit rate with k experts kept per layer\n" + cache.text();
    if (report.ahead.empty()) return text;
    return text + "\nRecall of the experts guessed some layers ahead\n" + guesses.text();
}

std::string to_svg(const RecallReport& report) {
    Plot cache{"LRU cache: experts already there",
               "experts kept per layer (k)",
               "hit rate",
               1,
               static_cast<double>(report.n_experts),
               {}};
    const std::vector<double> k = whole_numbers(1, static_cast<std::size_t>(report.n_experts));
    for (std::int64_t layer = 0; layer < report.n_layers; ++layer) {
        const auto shares_of_layer = lru_of(report, layer);
        PlotSeries series{
            {}, k, {shares_of_layer.begin(), shares_of_layer.end()}, colour_of_layer(layer, report.n_layers), 1.5};
        if (layer == 0) series.name = "layer 0";
        if (layer > 0 && layer == report.n_layers - 1) series.name = print("layer %lld", static_cast<long long>(layer));
        cache.series.push_back(std::move(series));
    }
    cache.series.push_back({"mean of all layers", k, report.lru_mean, "#c2410c", 3, false, true});

    Plot guesses{"Speculative loading: experts guessed",   "layer", "recall", 0,
                 static_cast<double>(report.n_layers - 1), {}};
    const std::vector<double> layers = whole_numbers(0, static_cast<std::size_t>(report.n_layers));
    const std::vector<std::string> colours = {"#1f5fa8", "#c2410c", "#15803d", "#7e22ce", "#a16207"};
    std::int64_t last = 0;
    std::size_t colour = colours.size() - 1;
    for (const RecallReport::Ahead& ahead : report.ahead) {
        if (ahead.distance != last) colour = (colour + 1) % colours.size();
        last = ahead.distance;
        guesses.series.push_back(
            {print("%lld layer%s ahead, %lld guesses: mean %.1f %%", static_cast<long long>(ahead.distance),
                   ahead.distance == 1 ? "" : "s", static_cast<long long>(ahead.n_guesses), 100 * ahead.mean),
             layers, ahead.layers, colours[colour], 2, ahead.n_guesses > report.n_active, true});
    }
    std::vector<Plot> plots = {cache};
    if (!report.ahead.empty()) plots.push_back(guesses);
    Utf8Stream name;
    const std::string model = name.push(report.model) + name.finish();
    return to_svg(plots, model + ": " + std::to_string(report.n_tokens) + " tokens");
}

}  // namespace offstage::engine
