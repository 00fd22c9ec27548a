#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/model/model_spec.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/schedule.h"

namespace offstage::engine {

// The cost of computing experts on another machine: measured when it is connected,
// corrected by the times of layers. Any thread.
class LinkCosts {
  public:
    struct Measured {
        // Round trip of a small message, including both ends' software, and the extra
        // time that comes from this machine's computing between such messages.
        double latency_us = 0;
        double us_per_byte = 0;         // beyond that; both directions alike
        double row_bytes = 0;           // activations of one row, one direction
        std::vector<CostPoint> expert;  // one expert of `expert_bytes`, by its number of rows; ascending
        double expert_bytes = 0;
        // A small message one way, when both ends send one at the same time; otherwise as
        // latency_us. 0: not measured, half of latency_us.
        double exchange_us = 0;
        double send_us = 0;  // the sending thread's time for a message; a part of the times above
        double message_us() const { return exchange_us > 0 ? exchange_us : latency_us / 2; }
        double mbps() const { return us_per_byte > 0 ? 1 / us_per_byte : 0; }  // 1e6 bytes per second, one direction
    };

    // When it is connected.
    void set(Measured measured);
    // Over the same connection, some time later.
    void set_again(Measured measured);
    // Replaces the link's costs; those of experts stay.
    void set_link_again(const Measured& measured);
    Measured measured() const;
    // The extra time of requests and shares between the layers of a step (below 0: less
    // time) over messages that were measured alone. Holds for this measurement and later
    // ones.
    void set_between_layers(double request_us, double share_us);
    // The time of a message between layers, from its time alone and the extra time there
    // (below 0: less).
    static double between_layers(double alone_us, double longer_us);
    // The lesser of each value of two measurements: other work makes a machine slower and
    // never faster. Both of the same model.
    static Measured least_of(const Measured& a, const Measured& b);
    // Microseconds of a row of an expert of Measured::expert_bytes: as measured at the
    // connection, and as assumed now. 0: not measured.
    double first_expert_us() const;
    double expert_us() const;
    // One expert whose weights have so many bytes, once its inputs are there.
    double expert_us(double expert_bytes, std::int64_t n_rows) const;
    // All inputs there and all outputs back.
    double transfer_us(std::int64_t n_rows) const;

    // Corrects both costs after a request for so many rows of experts:
    // predicted_compute_us was the prediction of the other machine's compute_us; took_us
    // is the whole time here. Moves both by a tenth of the way, within 1/64 to 64 of the
    // measured values.
    void correct(double predicted_compute_us, double compute_us, std::int64_t n_rows, double took_us);
    // The same for a share of a layer, which needs no separate transfer.
    void correct_computing(double predicted_us, double compute_us);
    // Grows with every correction.
    std::uint64_t n_corrections() const;

    // Measured::message_us() of a share between layers, corrected as requests are.
    double message_us() const;

  private:
    double raw_transfer_us(std::int64_t n_rows) const;

    mutable std::mutex mutex_;
    Measured measured_;
    double first_expert_us_ = 0;
    double request_us_ = 0, share_us_ = 0;  // set_between_layers()
    double compute_factor_ = 1, transfer_factor_ = 1;
    std::uint64_t n_corrections_ = 0;
};

// The same for the experts of a model. The referents must outlive this object.
class NodeCost final : public ExecutorCost {
  public:
    NodeCost(const LinkCosts& costs, const ExpertGrid& grid, bool is_preferred)
        : costs_(costs), grid_(grid), is_preferred_(is_preferred) {}
    double expert_us(kernels::WeightType format, std::int64_t n_rows) const override {
        return costs_.expert_us(static_cast<double>(grid_.expert_bytes(format)), n_rows);
    }
    double transfer_us(std::int64_t n_rows) const override { return costs_.transfer_us(n_rows); }
    bool is_preferred() const override { return is_preferred_; }

  private:
    const LinkCosts& costs_;
    const ExpertGrid& grid_;
    const bool is_preferred_;
};

}  // namespace offstage::engine
