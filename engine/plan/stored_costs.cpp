// How costs are kept on disk.

#include "engine/json.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/measurement_store.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPoints = 1024;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr double kLargestFactor = 1000, kLeastShareStep = 1e-6;
constexpr std::int64_t kLastSecond = std::int64_t{1} << 40;

json points_to_json(const std::vector<CostPoint>& points) {
    json list = json::array();
    for (const CostPoint& point : points) list.push_back({point.n_tokens, point.us});
    return list;
}

json sparse_to_json(const std::vector<SparseFactor>& factors) {
    json list = json::array();
    for (const SparseFactor& point : factors) list.push_back({point.share, point.factor});
    return list;
}

// [[n_tokens, us], ...], both ascending.
std::vector<CostPoint> points_of(const JsonFields& fields, const char* key, bool may_be_empty) {
    static const std::string kExpected =
        "a list of pairs [tokens, microseconds], tokens ascending from 1, microseconds not falling";
    const json* list = fields.find(key);
    if (list == nullptr || !list->is_array() || list->size() > kMostPoints || (list->empty() && !may_be_empty)) {
        fields.reject(key, kExpected);
    }
    std::vector<CostPoint> points;
    for (const json& pair : *list) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !pair[1].is_number()) {
            fields.reject(key, kExpected);
        }
        // As doubles, which hold any integer with enough precision for the comparison, of
        // either sign.
        const double n_tokens = pair[0].get<double>();
        const double us = pair[1].get<double>();
        const double least = points.empty() ? 1 : static_cast<double>(points.back().n_tokens) + 1;
        const double least_us = points.empty() ? 0 : points.back().us;
        if (!(n_tokens >= least) || !(n_tokens <= static_cast<double>(kMostTokens)) || !(us >= least_us) ||
            !(us <= kLongestUs)) {
            fields.reject(key, kExpected);
        }
        points.push_back({static_cast<std::int64_t>(n_tokens), us});
    }
    return points;
}

// [[share, factor], ...], shares ascending.
std::vector<SparseFactor> sparse_of(const JsonFields& fields, const char* key) {
    static const std::string kExpected = "a list of pairs [share, factor], shares ascending from 0 to 1";
    const json* list = fields.find(key);
    std::vector<SparseFactor> factors;
    if (list == nullptr) return factors;
    if (!list->is_array() || list->size() > kMostPoints) fields.reject(key, kExpected);
    for (const json& pair : *list) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) {
            fields.reject(key, kExpected);
        }
        const SparseFactor point{pair[0].get<double>(), pair[1].get<double>()};
        const bool ascends = factors.empty() ? point.share >= 0 : point.share > factors.back().share + kLeastShareStep;
        if (!ascends || !(point.share <= 1) || !(point.factor > 0) || !(point.factor <= kLargestFactor)) {
            fields.reject(key, kExpected);
        }
        factors.push_back(point);
    }
    return factors;
}

template <typename Costs>
void read_age(const JsonFields& fields, Costs& costs) {
    costs.measured_at = fields.integer("measured_at", 0, kLastSecond);
    costs.doubt = static_cast<CostDoubt>(fields.integer("doubt", 0, static_cast<int>(CostDoubt::kAnswered), 0));
}

}  // namespace

void StoredAs<CostTable>::write(const CostTable& table, json& out) {
    out = {{"device", table.device},
           {"emulated", table.emulated},
           {"weight_type", table.weight_type},
           {"hidden_dim", table.hidden_dim},
           {"ffn_dim", table.ffn_dim},
           {"expert_bytes", table.expert_bytes},
           {"pinned", table.pinned},
           {"weight_copy_us", table.weight_copy_us},
           {"activation_copy_us", points_to_json(table.activation_copy)},
           {"gpu_expert_us", points_to_json(table.gpu_expert)},
           {"cpu_expert_us", points_to_json(table.cpu_expert)},
           {"sparse_cpu", sparse_to_json(table.sparse_cpu)},
           {"sync_us", table.sync_us},
           {"cpu_slowdown", table.cpu_slowdown},
           {"copy_slowdown", table.copy_slowdown},
           {"disk_read_us", table.disk.us},
           {"disk_cpu_us", table.disk.cpu_us},
           {"disk_latency_us", table.disk.latency_us},
           {"measured_at", table.measured_at},
           {"disturbed", table.disturbed},
           {"doubt", static_cast<int>(table.doubt)}};
}

CostTable StoredAs<CostTable>::read(const JsonFields& fields) {
    constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;
    CostTable table;
    table.device = fields.text("device");
    table.emulated = fields.boolean("emulated", false);
    table.weight_type = fields.text("weight_type");
    table.hidden_dim = fields.integer("hidden_dim", 1, kLargestDim);
    table.ffn_dim = fields.integer("ffn_dim", 1, kLargestDim);
    table.expert_bytes = static_cast<std::uint64_t>(fields.integer("expert_bytes", 1, std::int64_t{1} << 62));
    table.pinned = fields.boolean("pinned", false);
    table.weight_copy_us = fields.number("weight_copy_us", 0, kLongestUs);
    table.activation_copy = points_of(fields, "activation_copy_us", true);
    table.gpu_expert = points_of(fields, "gpu_expert_us", true);
    table.cpu_expert = points_of(fields, "cpu_expert_us", false);
    table.sparse_cpu = sparse_of(fields, "sparse_cpu");
    read_age(fields, table);
    table.disturbed = fields.boolean("disturbed", false);
    table.sync_us = fields.number("sync_us", 0, kLongestUs);
    table.cpu_slowdown = fields.number("cpu_slowdown", 1, 100);
    table.copy_slowdown = fields.number("copy_slowdown", 1, 100);
    table.disk.us = fields.number("disk_read_us", 0, kLongestUs, 0.0);
    table.disk.cpu_us = fields.number("disk_cpu_us", 0, kLongestUs, 0.0);
    table.disk.latency_us = fields.number("disk_latency_us", 0, kLongestUs, 0.0);
    return table;
}

void StoredAs<DenseCosts>::write(const DenseCosts& costs, json& out) {
    out = {{"step_us", points_to_json(costs.step)},
           {"past_us", points_to_json(costs.past)},
           {"pairs_us", points_to_json(costs.pairs)},
           {"guess_us", costs.guess_us},
           {"check_us", costs.check_us},
           {"measured_at", costs.measured_at},
           {"disturbed", costs.disturbed},
           {"doubt", static_cast<int>(costs.doubt)}};
}

DenseCosts StoredAs<DenseCosts>::read(const JsonFields& fields) {
    DenseCosts costs;
    costs.step = points_of(fields, "step_us", false);
    costs.past = points_of(fields, "past_us", true);
    costs.pairs = points_of(fields, "pairs_us", true);
    costs.guess_us = fields.number("guess_us", 0, kLongestUs);
    costs.check_us = fields.number("check_us", 0, kLongestUs);
    read_age(fields, costs);
    costs.disturbed = fields.boolean("disturbed", false);
    return costs;
}

void StoredAs<DiskReadCost>::write(const DiskReadCost& read, json& out) {
    out = {{"read_us", read.us},        {"cpu_us", read.cpu_us},           {"latency_us", read.latency_us},
           {"check_us", read.check_us}, {"measured_at", read.measured_at}, {"doubt", static_cast<int>(read.doubt)}};
}

DiskReadCost StoredAs<DiskReadCost>::read(const JsonFields& fields) {
    DiskReadCost read{fields.number("read_us", 0, kLongestUs), fields.number("cpu_us", 0, kLongestUs),
                      fields.number("latency_us", 0, kLongestUs), fields.number("check_us", 0, kLongestUs)};
    read_age(fields, read);
    return read;
}

}  // namespace offstage::engine
