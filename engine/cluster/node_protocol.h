#pragma once
// What a desktop and a node say to each other, as plain values: the desktop computes
// attention and chooses experts, a node holds experts of the same model and computes
// them. The transport (engine/nodes/) turns them into bytes and back. Everything that
// comes from outside is checked here against the model: no pointer, stride or operation
// is ever sent, only indices and numbers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/backend.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "kernels/types.h"

namespace offstage::engine {

inline constexpr std::uint32_t kNodeProtocol = 1;
// Bytes of activations in a message; a message has little besides.
inline constexpr std::size_t kMostActivationBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostMessageBytes = kMostActivationBytes + (std::size_t{8} << 20);
inline constexpr std::size_t kMostRowsOfMessage = std::size_t{1} << 20;
inline constexpr std::size_t kMostPingBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostNameBytes = 64;
inline constexpr std::size_t kMostSentenceBytes = 512;

// What activations are sent as; the other side computes in float32.
enum class ActivationType : std::uint8_t { kF32, kBf16 };
constexpr std::size_t bytes_of(ActivationType type) {
    return type == ActivationType::kF32 ? 4 : 2;
}

// ---- to the node
struct NodeHello {
    std::uint32_t version = kNodeProtocol;
    std::string desktop;      // its name, for the node's log
    std::string fingerprint;  // of the model (WeightSource::model_fingerprint)
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0, hidden_dim = 0, ffn_dim = 0;
    std::string compute;  // how products are formed: name_of(ProductForm)
};
struct NodeExpert {
    std::int32_t layer = 0;  // counts the layers with experts
    std::int32_t expert = 0;
    kernels::WeightType format = kernels::WeightType::kBf16;
};
// The experts that the node should hold, what matters most first; replaces what was
// wanted before.
struct NodeWant {
    std::vector<NodeExpert> experts;
};
struct ComputeExpert {
    std::int32_t expert = 0;
    std::uint32_t n_rows = 0;
    kernels::WeightType format = kernels::WeightType::kBf16;
};
struct NodeCompute {
    std::uint64_t number = 0;
    std::int32_t layer = 0;
    SumOrder order = SumOrder::kByNumber;
    float theta = 0;  // kernels::ExpertSpec::theta
    ActivationType activations = ActivationType::kF32;
    std::vector<ComputeExpert> experts;    // their rows follow each other
    std::vector<std::uint32_t> row_token;  // (rows): the row of `inputs` that each is computed from
    std::uint32_t n_tokens = 0;
    std::string inputs;  // (n_tokens, hidden_dim)
};
struct NodePing {
    std::uint64_t number = 0;
    std::string payload;  // comes back
};
using ToNode = std::variant<NodeHello, NodeWant, NodeCompute, NodePing>;

// ---- from the node
struct NodeWelcome {
    std::string name;
    std::string instruction_set;
    std::int32_t n_threads = 0;
    std::uint64_t ram_bytes = 0;  // what it may hold
};
// What has changed of what it holds for the desktop.
struct NodeHoldings {
    std::vector<NodeExpert> held, gone;
    bool complete = false;  // nothing more will come of what is wanted
};
struct NodeReply {
    std::uint64_t number = 0;
    std::uint32_t n_rows = 0;
    ActivationType activations = ActivationType::kF32;
    std::string outputs;  // (n_rows, hidden_dim)
    double compute_us = 0;
    std::string refusal;                              // a sentence; then there are no rows
    std::chrono::steady_clock::time_point arrived{};  // here; never sent
};
// How a node is at the moment.
struct NodeState {
    std::uint64_t ram_used_bytes = 0, ram_bytes = 0;
    std::uint64_t n_held = 0;      // experts
    std::uint64_t n_desktops = 0;  // connected
    std::uint64_t n_requests = 0, n_rows = 0;
    double compute_us = 0;
};
struct NodePong {
    std::uint64_t number = 0;
    std::string payload;
    NodeState state;
};
// It is about to end: nothing more is to be sent.
struct NodeDrain {};
// It will not work for this desktop. The connection ends.
struct NodeRefusal {
    std::string sentence;
};
using FromNode = std::variant<NodeWelcome, NodeHoldings, NodeReply, NodePong, NodeDrain, NodeRefusal>;

// ---- checks: a sentence that names field, value and what was expected; empty: all is well
// Of a hello, apart from the model: version and shape of its texts.
Message check(const NodeHello& hello);
Message check(const NodeExpert& expert, const ExpertGrid& grid);
Message check(const NodeWant& want, const ExpertGrid& grid);
Message check(const NodeCompute& request, const ExpertGrid& grid);
Message check(const NodePing& ping);
Message check(const NodeHoldings& holdings, const ExpertGrid& grid);
// Of the reply to a request for n_rows rows.
Message check(const NodeReply& reply, std::size_t n_rows, ActivationType activations, const ExpertGrid& grid);

// What a node says in words, safe to print: control characters are gone, and what is too
// long is cut.
std::string printable(const std::string& text, std::size_t most_bytes);

// n numbers behind `bytes`; their reading. `bytes` holds n of the type.
void append_activations(ActivationType type, std::span<const float> values, std::string& bytes);
void read_activations(ActivationType type, const std::string& bytes, std::size_t first, std::span<float> values);

}  // namespace offstage::engine
