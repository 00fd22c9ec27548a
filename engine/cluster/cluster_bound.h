#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cluster/network.h"
#include "engine/run/model_shape.h"

namespace offstage::engine {

// One machine of a cluster; by default the Mac Studio of "Towards Building Private LLMs"
// (RACS '24, tables 1 and 2).
struct ClusterNode {
    std::uint64_t memory_bytes = 192'000'000'000;
    double memory_gbps = 800;  // 1e9 bytes per second
    double tflops = 54;        // bf16 products
    double price_usd = 0;      // 0: not known; the paper's list price is 6,599 (table 5)
};

// The least time of a prompt until its first token, read in one step: the same terms as a
// decoded token's.
struct PromptBound {
    // The dense weights and the experts of the busiest machine that any token calls, read
    // once.
    double load_s = 0;
    // Products of all tokens with the dense weights, and with the busiest machine's share
    // of the calls.
    double compute_s = 0;
    double latency_s = 0, transfer_s = 0;  // of one exchange per layer, with all tokens' outputs
    double expected_s = 0;  // with the measured time beyond the bound (expect_prompts()); 0: not measured
    double time_s() const { return (load_s > compute_s ? load_s : compute_s) + latency_s + transfer_s; }
};

// A row of that paper's table 6: the least time of a decoded token on this many machines.
struct ClusterBound {
    std::int64_t n_machines = 1;
    std::string failure;                   // why the model does not run there; all below is 0 then
    std::int64_t experts_per_machine = 0;  // of a layer
    double busiest_experts = 0;            // a token's experts of one layer on the machine that has most of them, mean
    double load_s = 0;                     // all weights that a token needs of the busiest machine, read once
    double compute_s = 0;                  // their products, two operations for a weight
    double latency_s = 0;                  // one exchange per layer
    double transfer_s = 0;                 // the experts' outputs, 16 bits each
    double time_s() const { return (load_s > compute_s ? load_s : compute_s) + latency_s + transfer_s; }
    double tokens_per_s() const { return failure.empty() ? 1 / time_s() : 0; }
    // The other shape (compare_shapes): one machine has the dense part and sends the
    // other machines the inputs of their experts.
    double helpers_s = 0;  // 0: not computed, or there is one machine
    // The paper's shape is faster above this latency of one message; 0: it is always
    // faster.
    double crossing_us = 0;
    double helpers_tokens_per_s() const { return helpers_s > 0 ? 1 / helpers_s : 0; }
    PromptBound prompt;     // bound_prompts()
    double expected_s = 0;  // with the measured time beyond the bound (expect()); 0: not measured
    double expected_tokens_per_s() const { return expected_s > 0 ? 1 / expected_s : 0; }
    double price_usd = 0;  // all machines with their network cards; 0: not known
    // Table 5's "TP./USD": from the expected time if something was measured, otherwise
    // from the bound.
    double tokens_per_s_per_usd() const {
        return price_usd > 0 ? (expected_s > 0 ? expected_tokens_per_s() : tokens_per_s()) / price_usd : 0;
    }
};

// The measured times of a decoded token on some number of machines, in seconds: the
// columns of that paper's tables 3 and 4.
struct ClusterMeasured {
    std::int64_t n_machines = 2;
    double experts_s = 0;   // "MoE"
    double exchange_s = 0;  // "Comm."
    double rest_s = 0;      // "Misc.": attention, router, weighted sum
};

struct ClusterBounds {
    std::string model;
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;  // the layers with experts
    ClusterNode node;
    Network network;
    std::vector<ClusterBound> rows;  // 1 .. n machines
    std::int64_t prompt_tokens = 0;  // of the rows' prompts; 0: there are none
};

// The paper's equation 1. As there, the dense part counts only the layers' matrices (no
// embedding, head, norm, router nor KV cache), every choice of experts is equally likely,
// and the experts of a layer are split into the smallest number of groups, equal except
// for one expert, of which a machine holds one beside the dense part. Machines beyond the
// number of groups hold the first group again, then the second, and so on; the chosen
// experts of a group are divided evenly among the machines that hold it (router-aided
// dynamic loading). For DBRX on two, three and four machines that gives the paper's
// "executed experts per node and layer" of 2.65, 2.32 and 1.57. Experts and dense weights
// count in the checkpoint's format. Precondition: n_machines >= 1.
ClusterBounds cluster_bounds(const ModelShape& shape, const ClusterNode& node, const Network& network,
                             std::int64_t n_machines);

// Sets helpers_s and crossing_us of all rows: attention, router and sum on `desktop`
// alone, which is one of the machines; each layer takes two messages, inputs there and
// outputs back, instead of one all-reduce, and its dense part runs before the experts, on
// the desktop's hardware only. In the paper's shape the slower machines' time for the
// dense part counts.
void compare_shapes(ClusterBounds& bounds, const ModelShape& shape, const ClusterNode& desktop);

// Sets the prompts of all rows. Every choice of experts is equally likely, and each
// expert's tokens are divided evenly among the machines that hold it. Precondition:
// n_tokens >= 1.
void bound_prompts(ClusterBounds& bounds, const ModelShape& shape, std::int64_t n_tokens);
// The measured speed of such a prompt on one number of machines ("Prompt evaluation
// throughput", section 5.3 of the paper).
struct PromptMeasured {
    std::int64_t n_machines = 2;
    double tokens_per_s = 0;
};
// Sets PromptBound::expected_s of all rows: a prompt takes longer than its bound by the
// same factor on each number of machines. Throws Error (kInvalidInput) as expect().
// Follows bound_prompts().
void expect_prompts(ClusterBounds& bounds, const PromptMeasured& measured);
// "2:10.9": machines, then tokens of the prompt per second. Throws Error (kInvalidInput).
PromptMeasured parse_prompt_measured(const std::string& text);

// Sets expected_s of all rows from measurements with one number of machines: the experts'
// time grows with the busiest machine's number of them, the exchange with its bound, and
// the rest stays. Throws Error (kInvalidInput): the model does not run on so few
// machines, there is no such row, or a figure is not above 0.
void expect(ClusterBounds& bounds, const ClusterMeasured& measured);
// "2:0.081,0.038,0.047": the number of machines, then seconds of experts, exchange and
// rest. Throws Error (kInvalidInput).
ClusterMeasured parse_cluster_measured(const std::string& text);

nlohmann::ordered_json to_json(const ClusterBounds& bounds);
std::string to_text(const ClusterBounds& bounds);

}  // namespace offstage::engine
