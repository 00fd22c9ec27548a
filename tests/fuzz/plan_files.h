#pragma once
// The guarantees of the readers of the planner's files, checked on any input: either an
// engine::Error or a value that keeps its contract. Each function returns the first
// broken guarantee, or "". Shared by the fuzz targets and by the tests that read the
// stored inputs.

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"

namespace offstage::tests {

constexpr const char* kPlanSource = "input.json";

inline std::string check_plan_error(const engine::Error& error) {
    if (!std::string_view(error.what()).starts_with(kPlanSource)) return "a message that does not name the file";
    if (error.kind() != engine::ErrorKind::kInvalidModel) return "an error of another kind than kInvalidModel";
    return {};
}

// A measurement as a store keeps it.
template <typename T>
T parse_stored(std::string_view text, const std::string& source) {
    const nlohmann::json document = engine::parse_json(text, source, {.max_depth = 8, .max_values = 100'000});
    return engine::StoredAs<T>::read(engine::JsonFields(document, source));
}
template <typename T>
std::string stored_text(const T& value) {
    nlohmann::json document;
    engine::StoredAs<T>::write(value, document);
    return document.dump(1);
}

inline std::string check_popularity(std::string_view text) {
    engine::Popularity p;
    try {
        p = engine::parse_popularity(text, kPlanSource);
    } catch (const engine::Error& error) {
        return check_plan_error(error);
    }
    if (p.n_layers < 1 || p.n_experts < 1 || p.n_active < 1 || p.n_active > p.n_experts || p.n_tokens < 0) {
        return "a shape out of range";
    }
    if (p.counts.size() != static_cast<std::size_t>(p.n_layers * p.n_experts)) return "counts of another shape";
    for (const double count : p.counts) {
        if (!std::isfinite(count) || count < 0) return "a count that is negative or not finite";
    }
    for (std::int64_t layer = 0; layer < p.n_layers; ++layer) {
        double sum = 0;
        const std::int64_t most = std::min<std::int64_t>(p.n_experts, 64);  // each share() sums the layer
        for (std::int64_t expert = 0; expert < most; ++expert) {
            const double share = p.share(layer, expert);
            if (!(share >= 0 && share <= 1)) return "a share that is no probability";
            sum += share;
        }
        if (most == p.n_experts && std::abs(sum / static_cast<double>(p.n_active) - 1) > 2e-3) {
            return "shares that do not add up to n_active";
        }
    }
    engine::ModelDemand demand;
    demand.n_layers = p.n_layers;
    demand.n_experts = p.n_experts;
    demand.n_active = p.n_active;
    demand.expert_bytes = 1000;
    demand.formats = {{engine::FormatId::kBf16, 1000, 16}};
    demand.max_context = 64;
    const std::uint64_t half = static_cast<std::uint64_t>(p.n_layers * p.n_experts) * 500;
    engine::PlanInputs inputs;
    inputs.demand = demand;
    inputs.popularity = p;
    inputs.sensitivity = engine::Sensitivity::typical(p.n_layers, p.n_experts);
    const engine::Plan plan = engine::make_plan(inputs, {half, 0, 0}, engine::PlacementKind::kPopular);
    if (!(plan.expected_hit_rate >= 0 && plan.expected_hit_rate <= 1 + 1e-9)) return "a hit rate that is no share";
    if (plan.vram_bytes() > half) return "a plan beyond its budget";
    return {};
}

inline std::string check_sensitivity(std::string_view text) {
    engine::Sensitivity s;
    try {
        s = parse_stored<engine::Sensitivity>(text, kPlanSource);
    } catch (const engine::Error& error) {
        return check_plan_error(error);
    }
    if (s.n_layers < 1 || s.n_experts < 1) return "a shape out of range";
    for (const engine::Sensitivity::Format& format : s.formats) {
        if (format.errors.size() != static_cast<std::size_t>(s.n_layers * s.n_experts))
            return "errors of another shape";
        for (const double error : format.errors) {
            if (!std::isfinite(error) || error < 0) return "an error that is negative or not finite";
        }
    }
    const std::string written = stored_text(s);
    const bool same = stored_text(parse_stored<engine::Sensitivity>(written, kPlanSource)) == written;
    return same ? "" : "another table once written";
}

inline std::string check_points(const std::vector<engine::CostPoint>& points) {
    std::int64_t last = 0;
    for (const engine::CostPoint& point : points) {
        if (point.n_tokens <= last) return "token counts that do not ascend";
        if (!std::isfinite(point.us) || point.us < 0) return "a time that is negative or not finite";
        last = point.n_tokens;
    }
    return {};
}

inline std::string check_cost_table(std::string_view text) {
    engine::CostTable table;
    try {
        table = parse_stored<engine::CostTable>(text, kPlanSource);
    } catch (const engine::Error& error) {
        return check_plan_error(error);
    }
    for (const auto* points : {&table.activation_copy, &table.gpu_expert, &table.cpu_expert}) {
        if (std::string broken = check_points(*points); !broken.empty()) return broken;
    }
    if (table.cpu_expert.empty()) return "a table without the CPU";
    if (!(table.cpu_slowdown >= 1 && table.copy_slowdown >= 1)) return "a slow-down below 1";
    const engine::CostModel model(table);
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4096}, std::int64_t{1} << 40}) {
        for (const double us : {model.cpu_us(n), model.gpu_us(n), model.activation_copy_us(n)}) {
            if (!std::isfinite(us) || us < 0) return "a predicted time that is negative or not finite";
        }
    }
    for (const double share : {0.0, 0.1, 0.5, 1.0}) {
        const double factor = model.sparse_factor(model.master(), share);
        if (!std::isfinite(factor) || factor < 0) return "a factor that is negative or not finite";
    }
    // Written and read again it is the same.
    const std::string written = stored_text(table);
    if (stored_text(parse_stored<engine::CostTable>(written, kPlanSource)) != written)
        return "another table once written";
    return {};
}

}  // namespace offstage::tests
