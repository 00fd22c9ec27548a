#include "engine/cluster/exchange_probe.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kProbeWorkBytes = std::size_t{1} << 20;
constexpr int kProbeWorkTimes = 9;
constexpr int kExchanges = 12, kExchangeBatches = 3;
constexpr int kSmallExchanges = 7, kLargeExchanges = 3;
constexpr std::size_t kLargePing = std::size_t{256} << 10;
constexpr std::size_t kWindowPing = 4096, kWindowBatch = 16;

double probe_us_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

ProbeWork::ProbeWork() : numbers_(kProbeWorkBytes / sizeof(std::uint64_t), 1) {
    std::vector<double> times;
    for (int i = 0; i < kProbeWorkTimes; ++i) times.push_back(us());
    alone_us_ = percentile(times, 0.25);
}

double ProbeWork::us() {
    const auto begin = std::chrono::steady_clock::now();
    sum_ = std::accumulate(numbers_.begin(), numbers_.end(), sum_.load(std::memory_order_relaxed));
    return probe_us_since(begin);
}

std::optional<ExchangeTimes> measure_exchanges(const Pings& pings, std::size_t bytes, double round_trip_us) {
    ProbeWork work;
    std::uint64_t first = pings.send(bytes);
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(round_trip_us / 2));
    std::vector<double> batches, sending;
    for (int batch = 0; batch < kExchangeBatches; ++batch) {
        std::vector<double> working;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kExchanges; ++i) {
            working.push_back(work.us());
            const auto sends = std::chrono::steady_clock::now();
            const std::uint64_t second = pings.send(bytes);
            sending.push_back(probe_us_since(sends));
            if (!pings.wait(first)) return {};
            first = second;
        }
        // Each ping's round contains that work once, and there are two of them; a layer
        // of the two machines has the work once, plus its extra time over working alone.
        const double work_us = median(working);
        batches.push_back(probe_us_since(begin) / kExchanges - work_us / 2 + std::max(0.0, work_us - work.alone_us()));
    }
    if (!pings.wait(first)) return {};
    return ExchangeTimes{median(batches), median(sending)};
}

std::optional<PingTimes> measure_pings(const Pings& pings, std::chrono::microseconds pause) {
    PingTimes times;
    std::vector<double> large_us;
    for (int i = 0; i < kSmallExchanges + kLargeExchanges; ++i) {
        const bool is_small = i < kSmallExchanges;
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        const auto begin = std::chrono::steady_clock::now();
        if (!pings.wait(pings.send(is_small ? kSmallPing : kLargePing))) return {};
        (is_small ? times.small_us : large_us).push_back(probe_us_since(begin));
    }
    // Other work on the two machines makes a ping longer, never shorter.
    const double beyond_us = *std::min_element(large_us.begin(), large_us.end()) -
                             *std::min_element(times.small_us.begin(), times.small_us.end());
    times.us_per_byte = std::max(0.0, beyond_us) / (2 * static_cast<double>(kLargePing));
    // Many at once: together they take no longer than one.
    for (std::size_t sent = 0; sent < kLargePing;) {
        std::uint64_t last = 0;
        for (std::size_t i = 0; i < kWindowBatch; ++i, sent += kWindowPing) last = pings.send(kWindowPing);
        if (!pings.wait(last)) return {};
    }
    return times;
}

}  // namespace offstage::engine
