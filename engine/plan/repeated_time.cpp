#include "engine/plan/repeated_time.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <system_error>

#include "engine/device/thread_time.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kAgreeing = 4;
constexpr double kAlike = 1.15;
constexpr double kFallsBy = 1.03;
constexpr double kShownWait = 0.05;  // of the time
constexpr double kUsualTurnUs = 3000;

}  // namespace

double waited_us() {
    double ns = 0;
    bool reported = false;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
        // Nanoseconds on a core, nanoseconds waiting for one, turns.
        std::ifstream file(thread.path() / "schedstat");
        double running = 0, waiting = 0;
        if (!(file >> running >> waiting)) continue;
        reported = true;
        ns += waiting;
    }
    return reported ? ns / 1000 : kUsualTurnUs * static_cast<double>(n_preempted());
}

double own_wait_us() {
    const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now().time_since_epoch();
    return all.count() - thread_time_us();
}

bool is_disturbed(double us, double waited_us) {
    return waited_us > kShownWait * us;
}

void RepeatedTime::add(double us, double waited_us) {
    if (us > 0 && std::isfinite(us)) times_.push_back({us, is_disturbed(us, waited_us)});
}

bool RepeatedTime::all_disturbed() const {
    return std::all_of(times_.begin(), times_.end(), [](const Time& time) { return time.disturbed; });
}

std::vector<double> RepeatedTime::counting() const {
    std::vector<double> us;
    const std::size_t first = times_.size() > 1 ? 1 : 0;
    for (const bool disturbed : {false, true}) {
        for (std::size_t i = first; i < times_.size(); ++i) {
            if (times_[i].disturbed == disturbed) us.push_back(times_[i].us);
        }
        if (!us.empty()) break;
    }
    std::sort(us.begin(), us.end());
    if (us.empty()) return us;
    const double shortest = us[us.size() > 3 ? 1 : 0];
    us.erase(std::upper_bound(us.begin(), us.end(), shortest * kAlike), us.end());
    us.erase(us.begin(), std::lower_bound(us.begin(), us.end(), shortest / kCostNoise));
    return us;
}

double RepeatedTime::us() const {
    return median(counting());
}

double RepeatedTime::quiet_us() const {
    std::vector<double> us;
    for (std::size_t i = times_.size() > 1 ? 1 : 0; i < times_.size(); ++i) us.push_back(times_[i].us);
    return median(std::move(us));
}

bool RepeatedTime::is_settled() const {
    return !all_disturbed() && counting().size() >= kAgreeing;
}

std::optional<FallingCost> falling_cost(const std::vector<CostPoint>& points) {
    std::optional<FallingCost> worst;
    double most = kFallsBy;
    for (std::size_t before = 0; before < points.size(); ++before) {
        for (std::size_t after = before + 1; after < points.size(); ++after) {
            if (!(points[before].us > most * points[after].us)) continue;
            most = points[before].us / points[after].us;
            worst = {before, after};
        }
    }
    return worst;
}

void make_rising(std::vector<CostPoint>& points) {
    for (std::size_t i = points.size(); i-- > 1;) points[i - 1].us = std::min(points[i - 1].us, points[i].us);
}

std::int64_t n_preempted() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

bool has_drifted(double kept_us, double now_us, bool disturbed) {
    if (!(now_us > 0)) return false;
    if (kept_us > now_us * kCostNoise) return true;
    return !disturbed && now_us > kept_us * kCostNoise;
}

void retime(std::vector<CostPoint>& points, double now_us) {
    if (points.empty() || !(now_us > 0)) return;
    const double more_us = now_us - points.front().us;
    for (CostPoint& point : points) point.us = std::max(point.us + more_us, now_us);
}

std::int64_t seconds_since_1970() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool are_old(std::int64_t measured_at) {
    return seconds_since_1970() - measured_at > kOldestCosts;
}

}  // namespace offstage::engine
