#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cluster/peer_inbox.h"
#include "engine/cluster/remote_executor.h"
#include "engine/dispatch/expert_executor.h"

namespace offstage::engine {

// Transports a machine's share of a layer to the others that make the same step, and
// theirs here.
class PeerLinks {
  public:
    virtual ~PeerLinks() = default;
    // To these machines (bit i: machine i). Returns without waiting for it to be sent.
    virtual void send(NodeOutputs outputs, std::uint32_t machines) = 0;
    // Waits for a machine's next message of the layer. layer_us: this machine's time for
    // the layer so far. None: the machine counts as lost for the rest of the step.
    virtual std::optional<PeerInbox::Arrived> wait(std::int32_t layer, std::uint32_t machine, double layer_us) = 0;
    // A machine's share of a layer did not come, or differs from the agreed one.
    virtual void lost(std::int32_t layer, std::uint32_t machine, const Message& why) = 0;
};

// A step that several machines make together: each has the whole model but computes only
// the experts that it owns, and sends the others their outputs: one all-reduce for each
// layer ("Towards Building Private LLMs", RACS '24, section 4.3). The machines exchange
// the rows themselves, not their sums, so that every machine adds a token's rows in the
// router's order: the result equals that of one machine, bit by bit. If an owner does not
// deliver an expert, each machine computes it for itself.
//
// For a piece of a prompt the last layer's experts are computed for the desktop alone,
// for the last token: the nodes have their keys and values by then, and always send the
// desktop their experts' outputs for that token. If the desktop needs no logits it
// computes nothing there; if it needs all of them it computes all itself (n_shared).
struct PeerStep {
    std::uint64_t number = 0;
    std::uint32_t machines = 0;           // bit i: machine i makes it
    std::uint32_t self = 0;               // this machine
    const std::string* owners = nullptr;  // NodeShares::owners; until end_step()
    ActivationType activations = ActivationType::kF32;
    std::int64_t n_shared = 0;   // layers with experts that other machines' outputs are taken in
    std::int64_t n_awaited = 0;  // of these, those in which this machine needs the others
};

// The experts that other machines own, in such a step; in all others it accepts none. One
// thread, the one that makes steps.
class PeerExecutor final : public ElsewhereExecutor {
  public:
    // The referents must outlive this object.
    PeerExecutor(PeerLinks& links, const ExpertGrid& grid, const ExpertTable& experts, Backend& device);

    void begin_step(const PeerStep& step);
    void end_step();

    bool insists() const override { return true; }
    bool takes(std::int64_t layer, std::int64_t expert) const override;
    // These costs decide nothing: the executor insists on its experts, and undelivered
    // ones go to no other machine.
    double expert_us(kernels::WeightType, std::int64_t) const override { return kNever; }
    double transfer_us(std::int64_t) const override { return kNever; }
    void submit(LayerWork& work, std::span<const std::size_t> groups) override;
    void complete(LayerWork& work, std::span<const std::size_t> groups) override;

    // (kMostPeers): by machine; `rows`: received, failed_rows: not received.
    const std::vector<RemoteTotals>& totals() const { return totals_; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr double kNever = 1e15;  // microseconds

    std::uint32_t owner(std::int64_t layer, std::int64_t expert) const;
    bool is_present(std::uint32_t machine) const { return (step_.machines >> machine & 1u) != 0; }
    void bring_to_host(LayerWork& work, std::span<const std::size_t> groups);
    void send_own(LayerWork& work);
    void take_from(std::uint32_t machine, LayerWork& work, std::span<const std::size_t> groups);
    // Copies the rows of expected groups to the step's outputs and ignores all others.
    void take_rows(const NodeOutputs& outputs, LayerWork& work, std::span<const std::size_t> groups);

    PeerLinks& links_;
    const ExpertGrid& grid_;
    const ExpertTable& experts_;
    Backend& device_;
    PeerStep step_;
    std::int64_t computed_ = -1;   // the last layer of the step that has been submitted
    std::int64_t completed_ = -1;  // and completed
    Clock::time_point begun_;      // of the layer: the end of the one before
    Clock::time_point submitted_;
    double layer_us_ = 0;  // of this machine alone, until its share was done
    std::vector<std::size_t> own_, done_;
    std::vector<RemoteTotals> totals_;
};

}  // namespace offstage::engine
