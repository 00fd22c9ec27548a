#include "engine/plan/cost_model.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "engine/device/cpu_operations.h"
#include "engine/json.h"
#include "engine/plan/measurement_store.h"

namespace offstage::engine {
namespace {

double interpolate(const std::vector<CostPoint>& points, std::int64_t n_tokens) {
    if (points.empty() || n_tokens <= 0) return 0;
    if (n_tokens <= points.front().n_tokens || points.size() == 1) return points.front().us;
    const auto above = std::lower_bound(points.begin() + 1, points.end() - 1, n_tokens,
                                        [](const CostPoint& point, std::int64_t n) { return point.n_tokens < n; });
    const CostPoint& b = *above;
    const CostPoint& a = *(above - 1);
    double slope = (b.us - a.us) / static_cast<double>(b.n_tokens - a.n_tokens);
    // Beyond the last point a falling slope is noise, and would end below zero.
    if (n_tokens > b.n_tokens) slope = std::max(slope, 0.0);
    return b.us + slope * static_cast<double>(n_tokens - b.n_tokens);
}

constexpr std::int64_t kFewTokens = CpuOperations::kFewTokens;  // these are computed neuron by neuron

// The time to copy this share of an expert's bytes. It contains the whole latency: about
// the time of one token's activations in one direction.
double part_copy_us(const CostModel& model, kernels::WeightType format, double share) {
    const double copy_us = model.weight_copy_us(format);
    const double latency_us = std::min(model.activation_copy_us(1) / 2, copy_us);
    return latency_us + share * (copy_us - latency_us);
}

}  // namespace

std::vector<SparseFactor> accounted_sparse_factors(const kernels::ExpertSpec& expert) {
    return {{0, expert.read_share(0)}, {1, expert.read_share(1)}};
}

bool lies_by_neurons(kernels::WeightType format) {
    const kernels::FormatTraits& traits = kernels::traits_of(format);
    return !traits.is_of_file() && !traits.is_blocks();
}

double DenseCosts::step_us(std::int64_t n_tokens, std::int64_t n_past) const {
    const double alone = interpolate(step, n_tokens);
    if (n_past <= 0) return alone;
    const std::vector<CostPoint>& points = n_tokens > 1 ? pairs : past;
    if (points.empty()) return alone;
    const CostPoint& first = points.front();
    const bool along_first = n_past < first.n_tokens || points.size() == 1;
    const double of_one = along_first ? first.us / static_cast<double>(first.n_tokens) * static_cast<double>(n_past)
                                      : interpolate(points, n_past);
    return alone + static_cast<double>(n_tokens) * of_one;
}

double DenseCosts::prompt_us(std::int64_t prompt_tokens, std::int64_t max_step) const {
    const std::int64_t step_tokens = std::max<std::int64_t>(1, max_step);
    double us = 0;
    for (std::int64_t done = 0; done < prompt_tokens; done += step_tokens) {
        us += step_us(std::min(step_tokens, prompt_tokens - done), done);
    }
    return us;
}

CostModel::CostModel(CostTable table) : table_(std::move(table)) {}

int CostModel::group(double tokens_per_expert) {
    if (tokens_per_expert < 1.5) return 0;
    if (tokens_per_expert < 8.5) return 1;
    return tokens_per_expert < 64.5 ? 2 : 3;
}

void CostModel::set_table(kernels::WeightType format, CostTable table) {
    Other& other = others_[static_cast<int>(format)];
    other.measured = true;
    other.table = std::move(table);
}

void CostModel::set_expert_bytes(kernels::WeightType format, std::uint64_t bytes) {
    if (table_.expert_bytes == 0) return;
    others_[static_cast<int>(format)].scale = static_cast<double>(bytes) / static_cast<double>(table_.expert_bytes);
}

const CostTable& CostModel::times(kernels::WeightType format, double& scale) const {
    scale = 1;
    if (format == master_) return table_;
    const Other& other = others_[static_cast<int>(format)];
    if (other.measured) return other.table;
    scale = other.scale;
    return table_;
}

double CostModel::cpu_us(std::int64_t n_tokens, kernels::WeightType format) const {
    double scale = 1;
    const double us = interpolate(times(format, scale).cpu_expert, n_tokens) * scale;
    return us * factor_[0][group(static_cast<double>(n_tokens))];
}

double CostModel::gpu_us(std::int64_t n_tokens, kernels::WeightType format) const {
    double scale = 1;
    const double us = interpolate(times(format, scale).gpu_expert, n_tokens) * scale;
    return us * factor_[1][group(static_cast<double>(n_tokens))];
}

// The cost of a weight copy does not depend on the number of tokens.
double CostModel::weight_copy_us(kernels::WeightType format) const {
    double scale = 1;
    const double us = times(format, scale).weight_copy_us * scale;
    return us * factor_[2][0];
}

double CostModel::activation_copy_us(std::int64_t n_tokens) const {
    return interpolate(table_.activation_copy, n_tokens);
}

DiskReadCost CostModel::disk_read(kernels::WeightType format) const {
    double scale = 1;
    const CostTable& table = times(format, scale);
    const bool known = table.disk.us > 0 || table_.expert_bytes == 0;
    // A disk's time depends on bytes, not on the format.
    if (!known) scale = static_cast<double>(table.expert_bytes) / static_cast<double>(table_.expert_bytes);
    const DiskReadCost& read = known ? table.disk : table_.disk;
    return {read.us * scale, read.cpu_us * scale, read.latency_us};
}

void CostModel::correct(Side side, double tokens_per_expert, double predicted_us, double measured_us) {
    move(factor_[static_cast<int>(side)][side == Side::kCopy ? 0 : group(tokens_per_expert)], predicted_us,
         measured_us);
}

void CostModel::move(double& factor, double predicted_us, double measured_us) {
    if (!(predicted_us > 0) || !(measured_us > 0) || !std::isfinite(predicted_us) || !std::isfinite(measured_us))
        return;
    factor = std::clamp(factor * std::pow(measured_us / predicted_us, 0.1), 0.125, 8.0);
}

void CostModel::set_theta(double theta, SparseLoading loading, double prior, std::span<const double> priors) {
    if (theta != theta_) counted_.clear();  // another theta leaves other neurons out
    theta_ = theta;
    loading_ = theta > 0 ? loading : SparseLoading::kOff;
    prior_share_ = prior > 0 ? std::min(prior, 1.0) : kUnknownActiveShare;
    priors_.assign(priors.begin(), priors.end());
}

void CostModel::add_active(std::int64_t layer, std::uint64_t neurons, std::uint64_t active) {
    constexpr double kKept = 31.0 / 32;
    if (neurons == 0) return;
    const auto place = static_cast<std::size_t>(layer);
    if (counted_.size() <= place) counted_.resize(place + 1);
    Counted& counted = counted_[place];
    counted.neurons = kKept * counted.neurons + static_cast<double>(neurons);
    counted.active = kKept * counted.active + static_cast<double>(active);
}

double CostModel::active_share(std::int64_t layer, std::int64_t n_tokens) const {
    if (!leaves_out()) return 1;
    Counted sum;
    if (layer < 0) {
        for (const Counted& of_layer : counted_) {
            if (of_layer.neurons == 0) continue;
            sum.neurons += 1;
            sum.active += of_layer.active / of_layer.neurons;
        }
    } else if (static_cast<std::size_t>(layer) < counted_.size()) {
        sum = counted_[static_cast<std::size_t>(layer)];
    }
    const bool known = layer >= 0 && static_cast<std::size_t>(layer) < priors_.size();
    const double prior = known ? priors_[static_cast<std::size_t>(layer)] : prior_share_;
    const double of_one = sum.neurons > 0 ? sum.active / sum.neurons : prior;
    // As if each token chose independently: tokens of one text have more in common, and
    // need fewer.
    return n_tokens == 1 ? of_one : 1 - std::pow(1 - of_one, static_cast<double>(n_tokens));
}

double CostModel::sparse_factor(kernels::WeightType format, double share) const {
    double scale = 1;
    const std::vector<SparseFactor>& points = times(format, scale).sparse_cpu;
    if (points.empty()) return 1;
    if (points.size() == 1) return points.front().factor;
    const auto above = std::lower_bound(points.begin() + 1, points.end() - 1, share,
                                        [](const SparseFactor& point, double s) { return point.share < s; });
    const SparseFactor& a = *(above - 1);
    const SparseFactor& b = *above;
    const double slope = (b.factor - a.factor) / (b.share - a.share);
    return std::max(1.0 / table_.n_matrices, a.factor + slope * (share - a.share));
}

double CostModel::choosing_us(std::int64_t n_tokens, kernels::WeightType format) const {
    return cpu_us(n_tokens, format) / table_.n_matrices * choosing_factor_;
}

// Before it is measured: an expert of one token is computed as fast as its weights are
// read, and gathering reads and writes.
double CostModel::gathering_us(kernels::WeightType format, double share) const {
    return 2 * cpu_us(1, format) * share * gathering_factor_;
}

double CostModel::cross_over(kernels::WeightType format) const {
    const double saved_us = weight_copy_us(format) - part_copy_us(*this, format, 0);
    const double taken_us = saved_us + gathering_us(format, 1);
    return taken_us > 0 ? saved_us / taken_us : 0;
}

CostModel::ExpertCosts CostModel::expert_costs(const LayerAtHand& layer, std::int64_t n_tokens,
                                               kernels::WeightType format, double held) const {
    ExpertCosts costs;
    costs.cpu_us = cpu_us(n_tokens, format);
    costs.gpu_us = gpu_us(n_tokens, format);
    costs.copy_us = weight_copy_us(format);
    if (!leaves_out()) return costs;
    const double share = active_share(layer.index, n_tokens);
    if (n_tokens <= kFewTokens) costs.cpu_us *= sparse_factor(format, share);
    if (layer.prompt || !copies_sparse(layer.index, n_tokens, format, held)) return costs;
    const double copied = share * (1 - held);
    costs.gpu_us *= share;
    costs.copy_us = part_copy_us(*this, format, copied);
    costs.preparing_us = choosing_us(n_tokens, format) + gathering_us(format, copied);
    costs.copied_share = copied;
    return costs;
}

bool CostModel::copies_sparse(std::int64_t layer, std::int64_t n_tokens, kernels::WeightType format,
                              double held) const {
    if (loading_ == SparseLoading::kOff || !lies_by_neurons(format) || n_tokens > kFewTokens) return false;
    const double share = active_share(layer, n_tokens) * (1 - held);
    if (share > kMostCopiedShare) return false;
    if (loading_ == SparseLoading::kAlways) return true;
    return choosing_us(n_tokens, format) + gathering_us(format, share) + part_copy_us(*this, format, share) <
           weight_copy_us(format);
}

namespace {

using nlohmann::json;

constexpr std::size_t kMostPoints = 1024;
constexpr double kMostTokens = 0x1p40;
constexpr double kLargestFactor = 1000, kLeastShareStep = 1e-6;
constexpr std::int64_t kLastSecond = std::int64_t{1} << 40;

// [[n_tokens, us], ...] or [[share, factor], ...]
template <typename Point>
json pairs_json(const std::vector<Point>& points) {
    json list = json::array();
    for (const auto& [x, y] : points) list.push_back({x, y});
    return list;
}

bool may_follow(const CostPoint* before, const CostPoint& point) {
    return point.n_tokens >= (before == nullptr ? 1 : before->n_tokens + 1) &&
           point.us >= (before == nullptr ? 0 : before->us) && point.us <= kLongestUs;
}

bool may_follow(const SparseFactor* before, const SparseFactor& point) {
    const bool ascends = before == nullptr || point.share > before->share + kLeastShareStep;
    return ascends && point.share <= 1 && point.factor > 0 && point.factor <= kLargestFactor;
}

template <typename Point>
void read_pairs(const JsonFields& fields, const char* key, std::vector<Point>& points) {
    const auto reject = [&] { fields.reject(key, "a list of pairs, the first numbers ascending, times not falling"); };
    const json* const list = fields.find(key);
    if (list == nullptr || !list->is_array() || list->size() > kMostPoints) reject();
    for (const json& pair : *list) {
        const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_number();
        const double first = is_pair ? pair[0].get<double>() : -1;
        if (!(first >= 0 && first <= kMostTokens)) reject();
        Point point;
        auto& [x, y] = point;
        x = static_cast<std::remove_cvref_t<decltype(x)>>(first);
        y = pair[1].get<double>();
        const bool is_whole = static_cast<double>(x) == first;
        if (!is_whole || !may_follow(points.empty() ? nullptr : &points.back(), point)) reject();
        points.push_back(point);
    }
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
           {"n_matrices", table.n_matrices},
           {"expert_bytes", table.expert_bytes},
           {"pinned", table.pinned},
           {"weight_copy_us", table.weight_copy_us},
           {"activation_copy_us", pairs_json(table.activation_copy)},
           {"gpu_expert_us", pairs_json(table.gpu_expert)},
           {"cpu_expert_us", pairs_json(table.cpu_expert)},
           {"sparse_cpu", pairs_json(table.sparse_cpu)},
           {"sync_us", table.sync_us},
           {"cpu_slowdown", table.cpu_slowdown},
           {"copy_slowdown", table.copy_slowdown},
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
    table.n_matrices = static_cast<int>(fields.integer("n_matrices", 2, 3, 3));
    table.expert_bytes = static_cast<std::uint64_t>(fields.integer("expert_bytes", 1, std::int64_t{1} << 62));
    table.pinned = fields.boolean("pinned", false);
    table.weight_copy_us = fields.number("weight_copy_us", 0, kLongestUs);
    read_pairs(fields, "activation_copy_us", table.activation_copy);
    read_pairs(fields, "gpu_expert_us", table.gpu_expert);
    read_pairs(fields, "cpu_expert_us", table.cpu_expert);
    if (table.cpu_expert.empty()) fields.reject("cpu_expert_us", "a point at least");
    read_pairs(fields, "sparse_cpu", table.sparse_cpu);
    read_age(fields, table);
    table.disturbed = fields.boolean("disturbed", false);
    table.sync_us = fields.number("sync_us", 0, kLongestUs);
    table.cpu_slowdown = fields.number("cpu_slowdown", 1, 100);
    table.copy_slowdown = fields.number("copy_slowdown", 1, 100);
    return table;
}

void StoredAs<DenseCosts>::write(const DenseCosts& costs, json& out) {
    out = {{"step_us", pairs_json(costs.step)},   {"past_us", pairs_json(costs.past)},
           {"pairs_us", pairs_json(costs.pairs)}, {"guess_us", costs.guess_us},
           {"check_us", costs.check_us},          {"measured_at", costs.measured_at},
           {"disturbed", costs.disturbed},        {"doubt", static_cast<int>(costs.doubt)}};
}

DenseCosts StoredAs<DenseCosts>::read(const JsonFields& fields) {
    DenseCosts costs;
    read_pairs(fields, "step_us", costs.step);
    if (costs.step.empty()) fields.reject("step_us", "a point at least");
    read_pairs(fields, "past_us", costs.past);
    read_pairs(fields, "pairs_us", costs.pairs);
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

void StoredAs<QuantizingSpeeds>::write(const QuantizingSpeeds& speeds, json& out) {
    out = json::object();
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        if (speeds[i] > 0) out[kernels::name_of(static_cast<kernels::WeightType>(i))] = speeds[i];
    }
}

QuantizingSpeeds StoredAs<QuantizingSpeeds>::read(const JsonFields& fields) {
    constexpr double kFastest = 1e15;  // weights per second
    QuantizingSpeeds speeds{};
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        speeds[i] = fields.number(kernels::name_of(static_cast<kernels::WeightType>(i)), 0, kFastest, 0.0);
    }
    return speeds;
}

}  // namespace offstage::engine
