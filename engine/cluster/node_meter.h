#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "engine/cluster/link_costs.h"
#include "engine/cluster/node_protocol.h"
#include "engine/cluster/remeasure_schedule.h"
#include "engine/message.h"

namespace offstage::engine {

class NodeClient;

// Measures what a node costs: latency and rate of the link to it, and its time for
// experts; when it is connected, and later while nothing is computed here. One thread,
// that of the node's connection; costs() and n_remeasurements(): any.
class NodeMeter {
  public:
    // By the node's terms. The node must outlive this object.
    explicit NodeMeter(NodeClient& node);

    LinkCosts& costs() { return costs_; }
    const LinkCosts& costs() const { return costs_; }
    // Grows whenever it has been measured again over the same connection.
    std::uint64_t n_remeasurements() const { return n_remeasurements_.load(); }

    // Over a new connection, when the node holds an expert. False: it does not answer.
    bool begin(const std::stop_token& stop);
    // Whether it may ever be measured again over the same connection.
    bool measures_again() const;
    // Measures again, if it is time to. Returns a sentence for the user, or nothing.
    Message measure_if_due(const std::stop_token& stop);

  private:
    std::optional<LinkCosts::Measured> measure(const std::stop_token& stop);
    Message measure_again(const std::stop_token& stop);
    Message measure_link_again(const std::stop_token& stop);
    std::optional<double> round_trip_us(std::span<const NodeExpert> experts, double* expert_us);

    NodeClient& node_;
    LinkCosts costs_;
    RemeasureSchedule schedule_;
    LinkCosts::Measured last_;  // measurement by itself
    std::atomic<std::uint64_t> n_remeasurements_ = 0;
};

}  // namespace offstage::engine
