#pragma once
// For tests of machines that all make every step: nodes in this process with experts of
// known costs, and what happened to their steps.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/node_parts.h"

namespace offstage::test {

// Shares follow the costs of experts. They are the same on all machines, so that each has
// some, however busy the computer is.
inline constexpr double kExpertUs = 100;

struct PeerNode : OneNode {
    explicit PeerNode(const engine::LoadRequest& request, engine::NodeExpertsSettings settings = {"cupboard", 2, 0})
        : OneNode(request, std::move(settings)) {
        node.faults.computes_us = kExpertUs;
    }
};

inline std::unique_ptr<engine::LoadedModel> openCosted(const engine::LoadRequest& request) {
    auto model = openModel(request);
    setCosts(*model, kExpertUs);
    return model;
}

inline engine::JoinSettings decentralised(double answer_s = 10) {
    engine::JoinSettings settings = quickToReturn(answer_s);
    settings.shape = engine::NodeShape::kDecentralised;
    return settings;
}

inline engine::NodeOutputs outputsOf(std::uint64_t step, std::int32_t layer, std::uint32_t machine, std::size_t bytes) {
    engine::NodeOutputs outputs;
    outputs.step = step;
    outputs.layer = layer;
    outputs.machine = machine;
    outputs.outputs.assign(bytes, 'x');
    return outputs;
}

// The steps that a node gets and makes. Without the last answer to one it has reported
// nothing.
struct StepWatch {
    // Its reports on steps are passed on if `passes` returns true.
    void put_on(NodeInProcess& node, const std::function<bool()>& passes = {}) {
        node.faults.sees = [this](const engine::ToNode& message) {
            const std::scoped_lock lock(mutex);
            if (const auto* step = std::get_if<engine::NodeStep>(&message)) sent.push_back(*step);
            if (const auto* abandon = std::get_if<engine::NodeAbandon>(&message))
                abandoned = {abandon->step, sent.size()};
        };
        node.faults.passes_back = [passes](engine::FromNode& message) {
            return !passes || !std::holds_alternative<engine::NodeStepped>(message) || passes();
        };
        node.faults.has_stepped = [this](const engine::NodeStepped& stepped) {
            const std::scoped_lock lock(mutex);
            const auto step = std::find_if(sent.begin(), sent.end(),
                                           [&](const engine::NodeStep& one) { return one.number == stepped.number; });
            if (stepped.done && step != sent.end()) n_made += step->tokens.size();
        };
    }
    // It has made steps of these numbers of tokens, one after the other.
    bool makes(std::size_t n_tokens) {
        return becomesTrue([&] {
            const std::scoped_lock lock(mutex);
            return n_made >= n_tokens;
        });
    }
    void clear() {
        const std::scoped_lock lock(mutex);
        sent.clear();
        n_made = 0;
    }
    std::mutex mutex;
    std::vector<engine::NodeStep> sent;
    std::size_t n_made = 0;                                    // tokens
    std::pair<std::uint64_t, std::size_t> abandoned = {0, 0};  // up to which number, before which of those sent
};

// Nodes with links between them. The desktop is each one's own.
struct LinkedNodes {
    LinkedNodes(const engine::LoadRequest& request, int n, const std::vector<int>& without_links = {}) {
        for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            engine::NodeExpertsSettings settings{"cupboard", 2, 0};
            const bool none = std::count(without_links.begin(), without_links.end(), i) > 0;
            if (!none) settings.connect_peer = network.connecting(at);
            machines.push_back(std::make_unique<PeerNode>(request, std::move(settings)));
            network.place(at, machines.back()->node);
            // The others' outputs, received from the desktop.
            machines.back()->node.faults.sees = [this](const engine::ToNode& message) {
                const auto* outputs = std::get_if<engine::NodeOutputs>(&message);
                if (outputs != nullptr && outputs->machine > 0 && !outputs->lost) ++n_by_desktop;
            };
        }
    }
    std::vector<engine::NodeAddress> addresses() {
        std::vector<engine::NodeAddress> all;
        for (std::size_t i = 0; i < machines.size(); ++i) {
            all.push_back(network.address(i, machines[i]->node, "node " + std::to_string(i)));
        }
        return all;
    }
    NodeNetwork network;
    std::atomic<int> n_by_desktop = 0;
    std::vector<std::unique_ptr<PeerNode>> machines;  // last: they use the network
};

}  // namespace offstage::test
