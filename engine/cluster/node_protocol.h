#pragma once
// The messages between a desktop and a node, as plain values: a node holds experts of the
// desktop's model and computes them. Either the desktop computes attention and chooses
// experts (NodeCompute), or the node makes every step as well, and the two exchange the
// outputs of their experts (NodeFollow and the messages after it); nodes that make them
// may send each other theirs directly (NodePeer). The transport (engine/nodes/) converts
// them to bytes and back. All input from outside is checked here against the model: no
// pointer, stride or operation is ever sent, only indices and numbers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/backend.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "kernels/kv_type.h"
#include "kernels/types.h"

namespace offstage::engine {

inline constexpr std::uint32_t kNodeProtocol = 3;
// Bytes of activations in a message; a message has little besides.
inline constexpr std::size_t kMostActivationBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostMessageBytes = kMostActivationBytes + (std::size_t{8} << 20);
inline constexpr std::size_t kMostRowsOfMessage = std::size_t{1} << 20;
inline constexpr std::size_t kMostPingBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostNameBytes = 64;
inline constexpr std::size_t kMostSentenceBytes = 512;
inline constexpr std::size_t kMostAddressBytes = 260;  // "host:port"
inline constexpr std::size_t kFingerprintDigits = 64;
// Machines that make a step together, the desktop among them: a bit of a word each.
inline constexpr std::uint32_t kMostPeers = 32;
inline constexpr std::int64_t kMostStepTokens = 1 << 16;
inline constexpr std::int64_t kMostFollowedContext = std::int64_t{1} << 24;

// The format of activations in messages; the other side computes in float32.
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
    std::string compute;  // the form of products: name_of(ProductForm)
};
struct NodeExpert {
    std::int32_t layer = 0;  // counts the layers with experts
    std::int32_t expert = 0;
    kernels::WeightType format = kernels::WeightType::kBf16;
};
// The experts that the node should hold, most important first; replaces the list before.
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

// ---- either way, between machines that make the same steps. Machine 0 is the desktop.
// A machine's rows of a layer, for all other machines; the last message ends its layer.
// Every machine sends its share of every layer, even an empty one. `lost` (from the
// desktop): that machine computes nothing more in this step.
struct NodeOutputs {
    std::uint64_t step = 0;  // NodeStep::number
    std::int32_t layer = 0;
    std::uint32_t machine = 0;
    bool last = true;
    bool lost = false;
    std::uint32_t part = 0;    // number of this machine's message of the layer, from 0; repeated ones are dropped
    std::uint32_t direct = 0;  // to the desktop: bit i: machine i has it from the sender itself
    ActivationType activations = ActivationType::kF32;
    std::vector<ComputeExpert> experts;    // ascending; their rows follow each other
    std::vector<std::uint32_t> row_token;  // (rows): the token of the step that each is of
    std::string outputs;                   // (rows, hidden_dim)
    double compute_us = 0;                 // that machine's, for its share of the layer
};

// ---- to the node, for making the same steps
// Opens the whole model: attention, routers, KV cache. The reply is NodeFollowing; all
// later messages need a node that follows.
struct NodeFollow {
    std::string instruction_set;  // the desktop's: another one would sometimes choose other experts
    std::int64_t context = 0;     // tokens of a sequence, and of the KV cache
    std::int64_t max_step = 0;
    kernels::KvType kv = kernels::KvType::kBf16;
    bool quantizes_dense = false;  // to `dense`
    kernels::WeightType dense = kernels::WeightType::kBf16;
    ActivationType activations = ActivationType::kF32;
};
// Who computes which expert, and in what format each is, from the next step on.
// (n_layers, n_experts) each, a byte for a number.
struct NodeShares {
    std::uint32_t machine = 0;  // the node that this is sent to; above 0
    std::string owners;         // machines
    std::string formats;        // kernels::WeightType
};
// A step of one sequence, after the first n_kept tokens that the node has.
struct NodeStep {
    std::uint64_t number = 0;    // grows
    std::uint32_t machines = 0;  // bit i: machine i makes it; 0: the node alone, which sends nothing
    std::int64_t n_kept = 0;
    std::int64_t n_prompt = 0;  // Forward::step()'s
    float theta = 0;            // kernels::ExpertSpec::theta of all experts
    std::vector<TokenId> tokens;
};
// The step is not to be finished.
struct NodeAbandon {
    std::uint64_t step = 0;
};
// ---- links between the nodes of a desktop
// To a node: names another one with which it may exchange shares of layers directly, as
// long as the connection lasts that this message came by. The lower number connects to
// the higher one, which gets the message first.
struct NodePeer {
    std::uint64_t link = 0;     // its number; a link to that machine under an earlier number ends
    std::uint32_t self = 0;     // the machine that this is sent to; above 0
    std::uint32_t machine = 0;  // the other one; above 0
    std::string name;           // the other's, for the log
    std::string fingerprint;    // of its key; empty: no link to it from now on
    std::string address;        // "host:port" where it listens; empty: it connects to here
    // For the connecting node: measure messages between the layers of a step as well
    // (NodePeerReport::between_layers_us). A node of an earlier version ignores this
    // field.
    bool between_layers = false;
};
// To a node, from another one: the first message of a link. Only NodePing and NodeOutputs
// may follow.
struct NodePeerHello {
    std::uint32_t version = kNodeProtocol;
    std::uint64_t link = 0;     // NodePeer::link, as both have received it from the desktop
    std::uint32_t machine = 0;  // the sender
};
using ToNode = std::variant<NodeHello, NodeWant, NodeCompute, NodePing, NodeFollow, NodeShares, NodeStep, NodeAbandon,
                            NodeOutputs, NodePeer, NodePeerHello>;

// ---- from the node
struct NodeWelcome {
    std::string name;
    std::string instruction_set;
    std::int32_t n_threads = 0;
    std::uint64_t ram_bytes = 0;  // the limit for its experts
};
// Changes of the experts that it holds for the desktop.
struct NodeHoldings {
    std::vector<NodeExpert> held, gone;
    bool complete = false;  // no further requested experts will follow
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
// A node's present state.
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
// It is about to end: send nothing more.
struct NodeDrain {};
// It refuses to work for this desktop. The connection ends.
struct NodeRefusal {
    std::string sentence;
};
struct NodeFollowing {
    std::string refusal;  // a sentence; empty: the model is open
};
// A finished step. done: the sequence holds its tokens; otherwise its contents are
// unknown.
struct NodeStepped {
    std::uint64_t number = 0;
    bool done = false;
};
// To another node: the link is open. NodePong and NodeOutputs may follow.
struct NodePeerWelcome {
    std::uint64_t link = 0;
};
// To the desktop: the state of a link to another node.
struct NodePeerReport {
    enum class State : std::uint8_t { kExpected, kUp, kEnded };
    std::uint64_t link = 0;
    std::uint32_t machine = 0;  // the other one
    State state = State::kEnded;
    double latency_us = 0;   // kUp: measured round trip of a small message
    double us_per_byte = 0;  // kUp: beyond that, one direction
    std::string why;         // kEnded: a sentence
    // kUp: a small message one way, when both ends send one at the same time and compute
    // between; 0: not measured.
    double message_us = 0;
    // kUp: the same between the layers of a step; 0: not requested, or not measured (by a
    // node of an earlier version).
    double between_layers_us = 0;
};
using FromNode = std::variant<NodeWelcome, NodeHoldings, NodeReply, NodePong, NodeDrain, NodeRefusal, NodeFollowing,
                              NodeStepped, NodeOutputs, NodePeerWelcome, NodePeerReport>;

// ---- checks: a sentence with field, value and expected value; empty: no error
// A hello, apart from the model: version and shape of its texts.
Message check(const NodeHello& hello);
Message check(const NodeWant& want, const ExpertGrid& grid);
Message check(const NodeCompute& request, const ExpertGrid& grid);
Message check(const NodePing& ping);
Message check(const NodeHoldings& holdings, const ExpertGrid& grid);
Message check(const NodeOutputs& outputs, const ExpertGrid& grid);
Message check(const NodeFollow& follow);
Message check(const NodeShares& shares, const ExpertGrid& grid);
Message check(const NodeStep& step, std::int64_t vocab_size);
Message check(const NodePeer& peer);
Message check(const NodePeerHello& hello);
Message check(const NodePeerReport& report);
// The reply to a request for n_rows rows.
Message check(const NodeReply& reply, std::size_t n_rows, ActivationType activations, const ExpertGrid& grid);

// A node's text, safe to print: without control characters, and cut to the length.
std::string printable(const std::string& text, std::size_t most_bytes);

// Writes n numbers after `bytes`, and reads them. `bytes` holds n of the type.
void append_activations(ActivationType type, std::span<const float> values, std::string& bytes);
void read_activations(ActivationType type, const std::string& bytes, std::size_t first, std::span<float> values);

}  // namespace offstage::engine
