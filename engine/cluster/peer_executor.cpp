#include "engine/cluster/peer_executor.h"

#include <algorithm>
#include <utility>

#include "engine/cluster/node_messages.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

}  // namespace

PeerExecutor::PeerExecutor(PeerLinks& links, const ExpertGrid& grid, const ExpertTable& experts, Backend& device)
    : links_(links), grid_(grid), experts_(experts), device_(device), totals_(kMostPeers) {}

void PeerExecutor::begin_step(const PeerStep& step) {
    step_ = step;
    computed_ = completed_ = -1;
    begun_ = Clock::now();
}

void PeerExecutor::end_step() {
    step_ = {};
}

std::uint32_t PeerExecutor::owner(std::int64_t layer, std::int64_t expert) const {
    return static_cast<unsigned char>((*step_.owners)[static_cast<std::size_t>(layer * grid_.n_experts + expert)]);
}

// Called again for undelivered experts when a layer's outputs are there: it accepts
// nothing twice.
bool PeerExecutor::takes(std::int64_t layer, std::int64_t expert) const {
    if (step_.machines == 0 || layer <= computed_ || layer >= step_.n_shared) return false;
    const std::uint32_t machine = owner(layer, expert);
    return machine != step_.self && is_present(machine);
}

void PeerExecutor::submit(LayerWork& work, std::span<const std::size_t>) {
    computed_ = work.layer;
    submitted_ = Clock::now();
}

// This machine sends its share before it waits for any other's.
void PeerExecutor::complete(LayerWork& work, std::span<const std::size_t> groups) {
    // A second call for experts that others did not deliver: there is nothing left to do.
    if (step_.machines == 0 || work.layer <= completed_) return;
    completed_ = work.layer;
    own_.clear();
    for (std::size_t g = 0; g < work.rows.groups().size() && work.layer < step_.n_shared; ++g) {
        if (owner(work.layer, work.rows.groups()[g].expert) == step_.self) own_.push_back(g);
    }
    send_own(work);
    done_.clear();
    if (work.layer >= step_.n_awaited) return;
    std::vector<std::size_t> of_machine;
    for (std::uint32_t machine = 0; machine < kMostPeers; ++machine) {
        if (machine == step_.self || !is_present(machine)) continue;
        of_machine.clear();
        for (const std::size_t g : groups) {
            if (owner(work.layer, work.rows.groups()[g].expert) == machine) of_machine.push_back(g);
        }
        take_from(machine, work, of_machine);
    }
    std::sort(done_.begin(), done_.end());
    work.rows.upload(done_);
    begun_ = Clock::now();
}

// Downloads neighbouring groups together, and waits for a device with separate memory.
void PeerExecutor::bring_to_host(LayerWork& work, std::span<const std::size_t> groups) {
    if (device_.shares_host_memory()) return;
    const auto width = static_cast<std::size_t>(grid_.hidden_dim);
    bool any = false;
    for (const std::size_t g : groups) {
        if (work.assignments[g].target == ExecutionTarget::kCpu) continue;  // computed on the host
        const RowGroup& group = work.rows.groups()[g];
        work.rows.outputs().download(static_cast<std::size_t>(group.first_row) * width,
                                     static_cast<std::size_t>(group.n_rows) * width);
        any = true;
    }
    if (any) device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
}

// Sends the outputs of its own experts; if no machine needs them, an empty message, so
// that waiting machines continue.
void PeerExecutor::send_own(LayerWork& work) {
    bring_to_host(work, own_);
    const auto now = Clock::now();
    layer_us_ = elapsed_between(begun_, now);
    std::sort(own_.begin(), own_.end(), [&](std::size_t a, std::size_t b) {
        return work.rows.groups()[a].expert < work.rows.groups()[b].expert;
    });
    const auto width = static_cast<std::size_t>(grid_.hidden_dim);
    const std::size_t row_bytes = width * bytes_of(step_.activations);
    const std::size_t most_rows = std::min(kMostActivationBytes / row_bytes, kMostRowsOfMessage);
    const std::int32_t* const row_token = work.rows.host_row_token();
    NodeOutputs message;
    std::uint32_t part = 0;
    const auto begin_message = [&] {
        message = {};
        message.step = step_.number;
        message.layer = static_cast<std::int32_t>(work.layer);
        message.machine = step_.self;
        message.activations = step_.activations;
        message.last = false;
        message.part = part++;
    };
    const auto send = [&] {
        for (std::uint32_t machine = 0; machine < kMostPeers; ++machine) {
            if (machine != step_.self && is_present(machine)) totals_[machine].bytes += message.outputs.size();
        }
        links_.send(std::move(message), step_.machines & ~(1u << step_.self));
        begin_message();
    };
    begin_message();
    bool rounds = false;
    for (const std::size_t g : own_) {
        const RowGroup& group = work.rows.groups()[g];
        const auto n_rows = static_cast<std::size_t>(group.n_rows);
        if (n_rows > most_rows) continue;  // not awaited: each machine computes it
        if (message.row_token.size() + n_rows > most_rows) send();
        message.experts.push_back({group.expert, static_cast<std::uint32_t>(n_rows),
                                   experts_.format(experts_.index(work.layer, group.expert))});
        for (std::size_t r = 0; r < n_rows; ++r) {
            message.row_token.push_back(
                static_cast<std::uint32_t>(row_token[static_cast<std::size_t>(group.first_row) + r]));
        }
        const std::span<float> rows(work.rows.outputs().host() + static_cast<std::size_t>(group.first_row) * width,
                                    n_rows * width);
        const std::size_t first = message.outputs.size() / bytes_of(step_.activations);
        append_activations(step_.activations, rows, message.outputs);
        // All machines add the same numbers, this one too.
        if (step_.activations == ActivationType::kBf16) {
            read_activations(step_.activations, message.outputs, first, rows);
            rounds = true;
        }
    }
    message.last = true;
    message.compute_us = elapsed_between(submitted_, now);
    send();
    if (!rounds) return;
    std::sort(own_.begin(), own_.end());
    work.rows.upload(own_);
}

void PeerExecutor::take_from(std::uint32_t machine, LayerWork& work, std::span<const std::size_t> groups) {
    const auto begin = Clock::now();
    RemoteTotals& totals = totals_[machine];
    const std::size_t n_done = done_.size();
    Message why;
    for (bool last = false; !last;) {
        const auto arrived = links_.wait(static_cast<std::int32_t>(work.layer), machine, layer_us_);
        if (!arrived) {
            step_.machines &= ~(1u << machine);
            links_.lost(static_cast<std::int32_t>(work.layer), machine, {});
            break;
        }
        const NodeOutputs& outputs = arrived->outputs;
        if (outputs.activations != step_.activations) {
            why = messages::node_field_invalid("the activations' type", static_cast<int>(outputs.activations),
                                               "the one that was agreed on");
            step_.machines &= ~(1u << machine);
            links_.lost(static_cast<std::int32_t>(work.layer), machine, why);
            break;
        }
        take_rows(outputs, work, groups);
        totals.requests += 1;
        totals.bytes += outputs.outputs.size();
        // The others have it from this machine, unless they have it from that one.
        for (std::uint32_t other = 1; other < kMostPeers && step_.self == 0; ++other) {
            const bool direct = (outputs.direct >> other & 1u) != 0;
            if (other != machine && is_present(other) && !direct) totals_[other].bytes += outputs.outputs.size();
        }
        last = outputs.last;
        if (!last) continue;
        totals.compute_us += outputs.compute_us;
        totals.network_us +=
            std::max(0.0, elapsed_between(begun_, arrived->at) - std::max(layer_us_, outputs.compute_us));
    }
    for (const std::size_t g : groups) {
        const auto n_rows = static_cast<std::uint64_t>(work.rows.groups()[g].n_rows);
        if (std::find(done_.begin() + static_cast<std::ptrdiff_t>(n_done), done_.end(), g) != done_.end()) {
            totals.rows += n_rows;
            continue;
        }
        totals.failed_rows += n_rows;
        work.leave_to_cpu(g);
    }
    totals.waiting_us += elapsed_between(begin, Clock::now());
}

void PeerExecutor::take_rows(const NodeOutputs& outputs, LayerWork& work, std::span<const std::size_t> groups) {
    const auto width = static_cast<std::size_t>(grid_.hidden_dim);
    const std::int32_t* const row_token = work.rows.host_row_token();
    std::size_t first = 0;
    for (const ComputeExpert& expert : outputs.experts) {
        const std::size_t begin = std::exchange(first, first + expert.n_rows);
        const auto found = std::find_if(groups.begin(), groups.end(),
                                        [&](std::size_t g) { return work.rows.groups()[g].expert == expert.expert; });
        if (found == groups.end() || std::find(done_.begin(), done_.end(), *found) != done_.end()) continue;
        const RowGroup& group = work.rows.groups()[*found];
        // Only for the same tokens in the same format: two machines may round
        // differently, and choose differently.
        const bool same =
            static_cast<std::uint32_t>(group.n_rows) == expert.n_rows &&
            experts_.format(experts_.index(work.layer, group.expert)) == expert.format &&
            std::equal(row_token + group.first_row, row_token + group.first_row + group.n_rows,
                       outputs.row_token.begin() + static_cast<std::ptrdiff_t>(begin),
                       [](std::int32_t a, std::uint32_t b) { return static_cast<std::uint32_t>(a) == b; });
        if (!same) continue;
        float* const to = work.rows.outputs().host() + static_cast<std::size_t>(group.first_row) * width;
        read_activations(outputs.activations, outputs.outputs, begin * width, {to, expert.n_rows * width});
        done_.push_back(*found);
    }
}

}  // namespace offstage::engine
