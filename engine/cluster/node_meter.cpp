#include "engine/cluster/node_meter.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/cluster/exchange_probe.h"
#include "engine/cluster/node_client.h"
#include "engine/cluster/node_messages.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using MeterClock = std::chrono::steady_clock;

constexpr std::uint32_t kManyRows = 16;
constexpr int kProbes = 3;
constexpr int kRoundTrips = NodeClient::kMostProbed;
constexpr double kWorthSaying = 1.5;  // times faster or slower

}  // namespace

NodeMeter::NodeMeter(NodeClient& node)
    : node_(node), schedule_(node.patience().first_measuring_s, node.patience().longest_measuring_s) {}

bool NodeMeter::measures_again() const {
    return node_.terms().last_step && node_.patience().first_measuring_s > 0;
}

bool NodeMeter::begin(const std::stop_token& stop) {
    const auto measured = measure(stop);
    if (!measured) return false;
    costs_.set(*measured);
    last_ = *measured;
    schedule_.begin();
    schedule_.measured(MeterClock::now(), measured->expert.front().us, costs_.n_corrections());
    return true;
}

Message NodeMeter::measure_if_due(const std::stop_token& stop) {
    const MeterClock::time_point now = MeterClock::now(), last_step = node_.terms().last_step();
    if (schedule_.is_due(now, last_step, costs_.n_corrections())) return measure_again(stop);
    // Where shares of layers are exchanged, use does not show the link's cost.
    if (node_.terms().following && schedule_.is_link_due(now, last_step)) return measure_link_again(stop);
    return {};
}

// Latency and rate of the link, and what experts take there.
std::optional<LinkCosts::Measured> NodeMeter::measure(const std::stop_token& stop) {
    std::optional<MeasuringTurn::Guard> turn;
    if (node_.terms().turn) turn.emplace(*node_.terms().turn, node_.patience().turn_s, stop);
    const ExpertGrid& grid = node_.grid();
    LinkCosts::Measured measured;
    const Pings pings{[&](std::size_t bytes) { return node_.send_ping(bytes); },
                      [&](std::uint64_t number) { return node_.wait_for_pong(number, stop); }};
    const auto times = measure_pings(pings);
    if (!times) return {};
    // Other work on the two machines makes a ping longer, never shorter; and the node is
    // packing experts meanwhile.
    measured.latency_us = percentile(times->small_us, 0.25);
    measured.us_per_byte = times->us_per_byte;
    const std::size_t row = static_cast<std::size_t>(grid.hidden_dim) * bytes_of(node_.activations());
    measured.row_bytes = static_cast<double>(row);
    const std::vector<NodeExpert> experts = node_.experts_to_probe();
    if (experts.empty()) return {};
    measured.expert_bytes = static_cast<double>(grid.expert_bytes(experts.front().format));
    double one_row_us = 0;
    const auto round_trip = round_trip_us(experts, &one_row_us);
    if (!round_trip) return {};
    std::vector<double> many_rows;
    for (int i = 0; i < kProbes; ++i) {
        const auto reply = node_.probe(experts.front(), kManyRows);
        if (!reply) return {};
        many_rows.push_back(reply->compute_us);
    }
    const auto exchange = measure_exchanges(pings, row, *round_trip);
    if (!exchange) return {};
    const double row_us = measured.row_bytes * measured.us_per_byte;
    measured.latency_us = std::max(measured.latency_us, *round_trip - 2 * row_us);
    measured.exchange_us = std::max(measured.latency_us / 4, exchange->message_us - row_us);
    measured.send_us = exchange->send_us;
    measured.expert = {{1, one_row_us}, {kManyRows, median(many_rows)}};
    if (node_.address().counts_as) node_.address().counts_as(measured);
    return measured;
}

// A machine with occasional other work is rarely busy twice in a row: the lesser of two
// measurements counts. A machine that does not answer is handled by the code that next
// needs it.
Message NodeMeter::measure_again(const std::stop_token& stop) {
    const auto measured = measure(stop);
    if (!measured) return {};
    const double before_us = costs_.expert_us();
    costs_.set_again(LinkCosts::least_of(*measured, last_));
    last_ = *measured;
    schedule_.measured(MeterClock::now(), measured->expert.front().us, costs_.n_corrections());
    ++n_remeasurements_;
    const double now_us = costs_.expert_us();
    if (before_us > kWorthSaying * now_us) {
        return messages::node_is_faster(node_.name(), Decimal{before_us / now_us, 1});
    }
    if (now_us > kWorthSaying * before_us) {
        return messages::node_is_slower(node_.name(), Decimal{now_us / before_us, 1});
    }
    return {};
}

// The lesser of two rounds, and only if no step began on this machine meanwhile; the
// second follows at once, so that the link's new cost is known before the next answer.
Message NodeMeter::measure_link_again(const std::stop_token& stop) {
    const auto begin = MeterClock::now();
    schedule_.link_measured(begin);
    const auto first = measure(stop);
    const auto second = first ? measure(stop) : std::nullopt;
    if (!second || node_.terms().last_step() >= begin) return {};
    const LinkCosts::Measured now = LinkCosts::least_of(*first, *second);
    const double before_us = costs_.measured().latency_us;
    costs_.set_link_again(now);
    last_ = now;
    ++n_remeasurements_;
    const Decimal now_ms{now.latency_us / 1e3, 2}, before_ms{before_us / 1e3, 2};
    if (before_us > kWorthSaying * now.latency_us) {
        return messages::node_link_is_faster(node_.name(), now_ms, before_ms);
    }
    if (now.latency_us > kWorthSaying * before_us) {
        return messages::node_link_is_slower(node_.name(), now_ms, before_ms);
    }
    return {};
}

// The same sequence as with helpers, in each layer: this machine computes something,
// sends a row, and waits for the result.
std::optional<double> NodeMeter::round_trip_us(std::span<const NodeExpert> experts, double* expert_us) {
    ProbeWork work;
    std::vector<double> beside, computing;
    for (int i = 0; i < kRoundTrips; ++i) {
        const auto begin = MeterClock::now();
        work.us();
        const auto reply = node_.probe(experts[static_cast<std::size_t>(i) % experts.size()], 1);
        if (!reply) return {};
        const std::chrono::duration<double, std::micro> took = MeterClock::now() - begin;
        beside.push_back(took.count() - work.alone_us() - reply->compute_us);
        computing.push_back(reply->compute_us);
    }
    *expert_us = median(computing);
    return median(beside);
}

}  // namespace offstage::engine
