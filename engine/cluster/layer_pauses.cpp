#include "engine/cluster/layer_pauses.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cluster/node_client.h"
#include "engine/run/dense_costs.h"
#include "engine/run/loaded_model.h"
#include "engine/run/measurements.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMeasuredTokens = 64;
constexpr double kMeasuringSeconds = 0.5;

// The time until a thread runs that another one has woken after some idle time: the
// median of some.
double thread_wake_us() {
    using Clock = std::chrono::steady_clock;
    constexpr int kTimes = 31;
    constexpr std::chrono::microseconds kIdle{200};  // about a message's time
    std::mutex mutex;
    std::condition_variable changed;
    Clock::time_point woken;
    int n_said = 0;
    std::vector<double> times;
    std::jthread other([&] {
        std::unique_lock lock(mutex);
        for (int i = 1; i <= kTimes; ++i) {
            changed.wait(lock, [&] { return n_said >= i; });
            times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - woken).count());
        }
    });
    for (int i = 1; i <= kTimes; ++i) {
        std::this_thread::sleep_for(kIdle);
        const std::scoped_lock lock(mutex);
        woken = Clock::now();
        n_said = i;
        changed.notify_all();
    }
    other.join();
    return median(times);
}

}  // namespace

LayerPauses measure_pauses(LoadedModel& model, NodeClient& node, const std::stop_token& stop) {
    const std::vector<NodeExpert> experts = node.experts_to_probe();
    if (experts.empty()) return {};
    const LoadRequest& request = model.request();
    const DenseProbeModel layers{model.spec(), model.plan_inputs().master, request.quant.dense, request.kv};
    const LinkCosts::Measured measured = node.costs().measured();
    std::size_t n_sent = 0, n_lost = 0;
    const auto send = [&] { return node.send_probe(experts[n_sent++ % experts.size()], 1); };
    std::vector<double> computing;
    const auto take = [&](std::uint64_t number) {
        const auto reply = node.wait_for_probe(number, 1);
        if (reply) computing.push_back(reply->compute_us);
        n_lost += reply ? 0 : 1;
    };
    const PausedLayers asked = measure_paused_layers(
        layers, model.host(), [&](bool) { take(send()); }, stop);
    const double request_us = asked.pause_us - median(std::exchange(computing, {})) - node.costs().transfer_us(1);
    std::uint64_t first = 0;
    const auto exchange = [&](bool begins) {
        if (begins) {
            if (first != 0) take(first);
            first = send();
            std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(measured.latency_us / 2));
        }
        const std::uint64_t second = send();
        take(std::exchange(first, second));
    };
    const PausedLayers shared = measure_paused_layers(layers, model.host(), exchange, stop);
    if (first != 0) take(first);
    LayerPauses pauses;
    pauses.wake_us = thread_wake_us();
    if (n_lost > 0 || stop.stop_requested()) return pauses;
    pauses.pause_us = asked.longer_us;
    if (!(asked.pause_us > 0 && shared.pause_us > 0)) return pauses;
    // With two requests that follow each other at half of their round trip, each layer
    // and its pause take half of one request's time, its computing and a layer. A layer's
    // extra time over that beside a single request counts for the share as well.
    const double message_us = shared.pause_us + (shared.layer_us - median(computing)) / 2;
    pauses.request_us = request_us;
    pauses.share_us = message_us - measured.message_us() - measured.row_bytes * measured.us_per_byte +
                      shared.longer_us - asked.longer_us;
    return pauses;
}

void measure_here(LoadedModel& model, bool dense, const std::stop_token& stop) {
    CostModel& cost = model.cost();
    Measurements measurements = model.measurements();
    if (cost.table().cpu_expert.empty()) {
        std::vector<kernels::WeightType> formats = model.experts().formats();
        std::sort(formats.begin(), formats.end());
        formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
        CostModel measured = measurements.costs(
            {model.device(), model.host(), {}, stop}, formats,
            {.largest = kMeasuredTokens, .budget_s = kMeasuringSeconds, .reserved = true, .dense = dense});
        for (const ModelDemand::Format& row : model.demand().formats) {
            measured.set_expert_bytes(row.format, model.source().expert_bytes(row.format));
        }
        cost = std::move(measured);
    }
    if (model.plan_inputs().lacks_disk_cost(model.plan())) {
        model.plan_inputs().set_disk(measurements.disk(model.source().master(), model.host(), stop));
    }
}

}  // namespace offstage::engine
