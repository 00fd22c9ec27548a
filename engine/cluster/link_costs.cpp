#include "engine/cluster/link_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace offstage::engine {
namespace {

// Straight between the points, along the last two beyond them.
double at(const std::vector<CostPoint>& points, std::int64_t n) {
    if (points.empty()) return 0;
    if (points.size() == 1 || n <= points.front().n_tokens) return points.front().us;
    std::size_t above = 1;
    while (above + 1 < points.size() && points[above].n_tokens < n) ++above;
    const CostPoint& a = points[above - 1];
    const CostPoint& b = points[above];
    const double slope = std::max(0.0, (b.us - a.us) / static_cast<double>(b.n_tokens - a.n_tokens));
    return a.us + slope * static_cast<double>(n - a.n_tokens);
}

// The greatest correction: a machine that was measured while it started seemed 300 times
// slower than it is.
constexpr double kMostCorrection = 64;

double moved(double factor, double predicted, double really) {
    if (!(predicted > 0) || !(really > 0) || !std::isfinite(really)) return factor;
    return std::clamp(factor * std::pow(really / predicted, 0.1), 1 / kMostCorrection, kMostCorrection);
}

}  // namespace

void LinkCosts::set(Measured measured) {
    const std::scoped_lock lock(mutex_);
    measured_ = std::move(measured);
    first_expert_us_ = at(measured_.expert, 1);
    compute_factor_ = transfer_factor_ = 1;
}

void LinkCosts::set_again(Measured measured) {
    const std::scoped_lock lock(mutex_);
    measured_ = std::move(measured);
    compute_factor_ = transfer_factor_ = 1;
}

void LinkCosts::set_link_again(const Measured& measured) {
    const std::scoped_lock lock(mutex_);
    measured_.latency_us = measured.latency_us;
    measured_.us_per_byte = measured.us_per_byte;
    measured_.exchange_us = measured.exchange_us;
    measured_.send_us = measured.send_us;
    transfer_factor_ = 1;
}

void LinkCosts::set_between_layers(double request_us, double share_us) {
    const std::scoped_lock lock(mutex_);
    request_us_ = request_us;
    share_us_ = share_us;
}

double LinkCosts::between_layers(double alone_us, double longer_us) {
    return std::max(alone_us / 4, alone_us + longer_us);
}

LinkCosts::Measured LinkCosts::least_of(const Measured& a, const Measured& b) {
    Measured least = a;
    least.latency_us = std::min(a.latency_us, b.latency_us);
    least.us_per_byte = std::min(a.us_per_byte, b.us_per_byte);
    least.exchange_us = std::min(a.exchange_us, b.exchange_us);
    least.send_us = std::min(a.send_us, b.send_us);
    // By the time of a byte, where the experts that were measured have other formats.
    const double scale = a.expert_bytes > 0 && b.expert_bytes > 0 ? a.expert_bytes / b.expert_bytes : 1;
    for (std::size_t i = 0; i < std::min(a.expert.size(), b.expert.size()); ++i) {
        least.expert[i].us = std::min(a.expert[i].us, b.expert[i].us * scale);
    }
    return least;
}

double LinkCosts::first_expert_us() const {
    const std::scoped_lock lock(mutex_);
    return first_expert_us_;
}

double LinkCosts::expert_us() const {
    const std::scoped_lock lock(mutex_);
    return at(measured_.expert, 1) * compute_factor_;
}

LinkCosts::Measured LinkCosts::measured() const {
    const std::scoped_lock lock(mutex_);
    return measured_;
}

double LinkCosts::expert_us(double expert_bytes, std::int64_t n_rows) const {
    const std::scoped_lock lock(mutex_);
    const double scale = measured_.expert_bytes > 0 ? expert_bytes / measured_.expert_bytes : 1;
    return at(measured_.expert, n_rows) * scale * compute_factor_;
}

double LinkCosts::raw_transfer_us(std::int64_t n_rows) const {
    return between_layers(measured_.latency_us, request_us_) +
           2 * static_cast<double>(n_rows) * measured_.row_bytes * measured_.us_per_byte;
}

double LinkCosts::transfer_us(std::int64_t n_rows) const {
    const std::scoped_lock lock(mutex_);
    return raw_transfer_us(n_rows) * transfer_factor_;
}

void LinkCosts::correct(double predicted_compute_us, double compute_us, std::int64_t n_rows, double took_us) {
    const std::scoped_lock lock(mutex_);
    compute_factor_ = moved(compute_factor_, predicted_compute_us, compute_us);
    transfer_factor_ = moved(transfer_factor_, raw_transfer_us(n_rows) * transfer_factor_, took_us - compute_us);
    ++n_corrections_;
}

void LinkCosts::correct_computing(double predicted_us, double compute_us) {
    const std::scoped_lock lock(mutex_);
    compute_factor_ = moved(compute_factor_, predicted_us, compute_us);
    ++n_corrections_;
}

std::uint64_t LinkCosts::n_corrections() const {
    const std::scoped_lock lock(mutex_);
    return n_corrections_;
}

double LinkCosts::message_us() const {
    const std::scoped_lock lock(mutex_);
    return between_layers(measured_.message_us(), share_us_) * transfer_factor_;
}

}  // namespace offstage::engine
