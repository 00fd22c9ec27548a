#include "engine/eval/loaded_step_model.h"

#include <algorithm>
#include <utility>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/statistics.h"
#include "kernels/machine_limits.h"

namespace offstage::engine {

double LoadedStepModel::measure_read_gbps() {
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    require_ram(kBytes, messages::measuring_memory_bandwidth);
    kernels::ReadBandwidthProbe probe(model_.pool(), kBytes);
    return median({probe.measure_gbps(), probe.measure_gbps(), probe.measure_gbps()});
}

void require_done(Forward::Outcome outcome, const Backend& device) {
    switch (outcome) {
        case Forward::Outcome::kDone:
            return;
        case Forward::Outcome::kStopped:
            throw Error(ErrorKind::kCancelled, messages::evaluation_stopped);
        case Forward::Outcome::kFull:
            throw Error(ErrorKind::kOutOfMemory, messages::kv_cache_full);
        case Forward::Outcome::kFailed:
            throw Error(ErrorKind::kDevice, device.failure());
    }
}

std::int64_t LoadedStepModel::vocab_size() const {
    return model_.spec().vocab_size;
}

std::int64_t LoadedStepModel::context() const {
    return model_.plan().context;
}

std::int64_t LoadedStepModel::max_step() const {
    return model_.forward().max_step();
}

double LoadedStepModel::now_us() {
    return model_.device().now_us();
}

void LoadedStepModel::set_policy(const DispatchSettings& settings) {
    model_.dispatcher().set_policy(settings);
}

DispatchTotals LoadedStepModel::totals() const {
    return model_.dispatcher().totals();
}

void LoadedStepModel::reset_totals() {
    model_.dispatcher().reset_totals();
}

void LoadedStepModel::restart() {
    sequences_.clear();
}

void LoadedStepModel::feed(std::span<const TokenId> tokens, std::int64_t n_prompt, bool wants_logits,
                           const std::stop_token& stop) {
    if (sequences_.empty()) sequences_.push_back(model_.new_sequence());
    const Segment segment{&sequences_.front(), tokens};
    step({&segment, 1}, wants_logits ? Forward::Logits::kLast : Forward::Logits::kNone, stop, n_prompt);
}

void LoadedStepModel::advance(std::span<const BeamSearch::Branch> branches, const std::stop_token& stop) {
    next_.clear();
    for (std::size_t i = 0; i < branches.size(); ++i) {
        KvSequence& parent = sequences_[static_cast<std::size_t>(branches[i].parent)];
        // The last child takes its parent's place, the others share its blocks.
        const bool last = std::none_of(branches.begin() + static_cast<std::ptrdiff_t>(i) + 1, branches.end(),
                                       [&](const BeamSearch::Branch& b) { return b.parent == branches[i].parent; });
        next_.push_back(last ? std::move(parent) : parent.fork());
    }
    sequences_.swap(next_);
    next_.clear();  // releases sequences that are not continued
    segments_.clear();
    for (std::size_t i = 0; i < branches.size(); ++i) {
        segments_.push_back({&sequences_[i], std::span<const TokenId>(&branches[i].token, 1)});
    }
    step(segments_, Forward::Logits::kLast, stop);
}

void LoadedStepModel::step(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop,
                           std::int64_t n_prompt) {
    require_done(model_.forward().step(segments, wanted, stop, n_prompt), model_.device());
}

std::span<const float> LoadedStepModel::logits() const {
    return model_.forward().logits();
}

std::span<const std::int32_t> LoadedStepModel::routing() const {
    return model_.forward().routing();
}

}  // namespace offstage::engine
