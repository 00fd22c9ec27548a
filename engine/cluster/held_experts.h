#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cluster/node_protocol.h"

namespace offstage::engine {

// The experts that a node should hold, and those that it has reported over its present
// connection. What changes them needs the owner's lock, and so does what returns more
// than a number.
class HeldExperts {
  public:
    explicit HeldExperts(const ExpertGrid& grid) : grid_(grid), held_(static_cast<std::size_t>(grid.size())) {}

    // Without a lock.
    bool holds(std::size_t index, kernels::WeightType format) const { return as(index) == held_as(format); }
    std::optional<kernels::WeightType> format(std::size_t index) const {
        const std::uint8_t as = this->as(index);
        return as == 0 ? std::nullopt : std::optional(static_cast<kernels::WeightType>(as - 1));
    }
    std::int64_t count() const { return n_held_.load(std::memory_order_relaxed); }

    // A new connection: nothing is held.
    void begin() {
        drop_all();
        first_.reset();
    }
    // The node has dropped all that it held, and must get it again.
    void drop_all() {
        for (std::atomic<std::uint8_t>& held : held_) held.store(0, std::memory_order_relaxed);
        n_held_ = 0;
        complete_ = false;
    }
    void want(std::vector<NodeExpert> wanted) {
        wanted_ = std::move(wanted);
        wanted_as_.assign(held_.size(), 0);
        for (const NodeExpert& expert : wanted_) wanted_as_[index_of(expert)] = held_as(expert.format);
    }
    // Experts that are not wanted, or not in the format that they are held in, count as
    // gone; the wanted ones are still to come.
    void drop_unwanted() {
        for (std::size_t i = 0; i < held_.size(); ++i) {
            if (as(i) != wanted_as_[i]) set(i, 0);
        }
        complete_ = false;
    }
    // holdings: of the grid.
    void take(const NodeHoldings& holdings) {
        for (const NodeExpert& expert : holdings.gone) set(index_of(expert), 0);
        for (const NodeExpert& expert : holdings.held) {
            // The request may have changed since the node began to pack it.
            const std::size_t i = index_of(expert);
            if (held_as(expert.format) == wanted_as_[i]) set(i, wanted_as_[i]);
        }
        if (!first_ && !holdings.held.empty()) first_ = holdings.held.front();
        complete_ = complete_ || holdings.complete;
    }

    const std::vector<NodeExpert>& wanted() const { return wanted_; }
    // No further wanted experts will come over the present connection.
    bool is_complete() const { return complete_; }
    // Over the present connection it has held one.
    bool has_any() const { return first_.has_value(); }
    // Up to `most` held experts in the format of the first one that came.
    std::vector<NodeExpert> of_one_format(std::size_t most) const {
        std::vector<NodeExpert> experts;
        for (const NodeExpert& expert : wanted_) {
            if (!first_ || expert.format != first_->format || experts.size() >= most) continue;
            if (holds(index_of(expert), expert.format)) experts.push_back(expert);
        }
        return experts;
    }

  private:
    // 0 is nothing.
    static std::uint8_t held_as(kernels::WeightType format) {
        return static_cast<std::uint8_t>(static_cast<unsigned>(format) + 1);
    }
    std::size_t index_of(const NodeExpert& expert) const {
        return static_cast<std::size_t>(expert.layer * grid_.n_experts + expert.expert);
    }
    std::uint8_t as(std::size_t index) const { return held_[index].load(std::memory_order_relaxed); }
    void set(std::size_t index, std::uint8_t as) {
        n_held_ += (as != 0) - (this->as(index) != 0);
        held_[index].store(as, std::memory_order_relaxed);
    }

    const ExpertGrid grid_;
    std::vector<std::atomic<std::uint8_t>> held_;  // (n_layers, n_experts): held_as()
    std::atomic<std::int64_t> n_held_ = 0;
    std::vector<NodeExpert> wanted_;
    std::vector<std::uint8_t> wanted_as_;  // the same as held_
    std::optional<NodeExpert> first_;
    bool complete_ = false;
};

}  // namespace offstage::engine
