#include "engine/plan/cost_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace

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

bool CostModel::has_table(kernels::WeightType format) const {
    return format == master_ || others_[static_cast<int>(format)].measured;
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

// A weight copy does not know how many tokens it is for.
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
    // Disks know bytes, not formats.
    if (!known) scale = static_cast<double>(table.expert_bytes) / static_cast<double>(table_.expert_bytes);
    const DiskReadCost& read = known ? table.disk : table_.disk;
    return {read.us * scale, read.cpu_us * scale, read.latency_us};
}

void CostModel::correct(Side side, double tokens_per_expert, double predicted_us, double measured_us) {
    if (!(predicted_us > 0) || !(measured_us > 0) || !std::isfinite(predicted_us) || !std::isfinite(measured_us))
        return;
    double& factor = factor_[static_cast<int>(side)][side == Side::kCopy ? 0 : group(tokens_per_expert)];
    factor = std::clamp(factor * std::pow(measured_us / predicted_us, 0.1), 0.125, 8.0);
}

double CostModel::correction(Side side, double tokens_per_expert) const {
    return factor_[static_cast<int>(side)][side == Side::kCopy ? 0 : group(tokens_per_expert)];
}

}  // namespace offstage::engine
