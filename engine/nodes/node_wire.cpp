#include "engine/nodes/node_wire.h"

#include <google/protobuf/stubs/logging.h>
#include <type_traits>
#include <utility>

namespace offstage::engine {
namespace {

template <bool kWrites, typename Parts, typename WireParts>
void carry_parts(Parts& parts, WireParts& wire);

template <bool kWrites, typename What>
using Carried = std::conditional_t<kWrites, const What, What>;
template <typename Field>
constexpr bool kIsNumber = std::is_arithmetic_v<Field> || std::is_enum_v<Field>;

template <typename Field>
auto on_wire(Field value) {
    if constexpr (std::is_enum_v<Field>) {
        return static_cast<std::uint32_t>(value);
    } else {
        return value;
    }
}

// Enumerations on the wire are numbers; a value that does not fit becomes one that every
// check rejects.
template <typename Field, typename Number>
Field from_number(Number value) {
    if constexpr (std::is_enum_v<Field>) {
        return static_cast<Field>(value <= 0xff ? value : 0xff);
    } else {
        return value;
    }
}

// CARRIES(Type, field, ...) defines carry<kWrites>(what, wire), which copies the fields
// of a message to a wire message (kWrites) or moves them from there. Both have their
// names.
#define CARRY_FIELD(name)                                                            \
    if constexpr (kIsNumber<decltype(what.name)>) {                                  \
        if constexpr (kWrites) {                                                     \
            wire.set_##name(on_wire(what.name));                                     \
        } else {                                                                     \
            what.name = from_number<std::decay_t<decltype(what.name)>>(wire.name()); \
        }                                                                            \
    } else {                                                                         \
        carry_parts<kWrites>(what.name, *wire.mutable_##name());                     \
    }
#define CARRY_FIELDS(name, ...) CARRY_FIELD(name) __VA_OPT__(CARRY_AGAIN PARENTHESES(__VA_ARGS__))
#define CARRY_AGAIN() CARRY_FIELDS
#define PARENTHESES ()
#define SCANNED_16(...) SCANNED_4(SCANNED_4(SCANNED_4(SCANNED_4(__VA_ARGS__))))
#define SCANNED_4(...) SCANNED(SCANNED(SCANNED(SCANNED(__VA_ARGS__))))
#define SCANNED(...) __VA_ARGS__
#define CARRIES(Type, ...)                                                                   \
    template <bool kWrites, typename Wire>                                                   \
    void carry([[maybe_unused]] Carried<kWrites, Type>& what, [[maybe_unused]] Wire& wire) { \
        __VA_OPT__(SCANNED_16(CARRY_FIELDS(__VA_ARGS__)))                                    \
    }

CARRIES(NodeExpert, layer, expert, format)
CARRIES(ComputeExpert, expert, n_rows, format)
CARRIES(NodeState, ram_used_bytes, ram_bytes, n_held, n_desktops, n_requests, n_rows, compute_us)

CARRIES(NodeHello, version, desktop, fingerprint, n_layers, n_experts, n_active, hidden_dim, ffn_dim, compute)
CARRIES(NodeWant, experts)
CARRIES(NodeCompute, number, layer, order, theta, activations, experts, row_token, n_tokens, inputs)
CARRIES(NodePing, number, payload)
CARRIES(NodeFollow, instruction_set, context, max_step, kv, quantizes_dense, dense, activations)
CARRIES(NodeShares, machine, owners, formats)
CARRIES(NodeStep, number, machines, n_kept, n_prompt, theta, tokens)
CARRIES(NodeAbandon, step)
CARRIES(NodeOutputs, step, layer, machine, last, lost, activations, experts, row_token, outputs, compute_us, part,
        direct)
CARRIES(NodePeer, link, self, machine, name, fingerprint, address, between_layers)
CARRIES(NodePeerHello, version, link, machine)
CARRIES(NodeWelcome, name, instruction_set, n_threads, ram_bytes)
CARRIES(NodeHoldings, held, gone, complete)
CARRIES(NodeReply, number, n_rows, activations, outputs, compute_us, refusal)
CARRIES(NodePong, number, payload, state)
CARRIES(NodeDrain)
CARRIES(NodeRefusal, sentence)
CARRIES(NodeFollowing, refusal)
CARRIES(NodeStepped, number, done)
CARRIES(NodePeerWelcome, link)
CARRIES(NodePeerReport, link, machine, state, latency_us, us_per_byte, why, message_us, between_layers_us)

// Texts, lists and structs.
template <bool kWrites, typename Parts, typename WireParts>
void carry_parts(Parts& parts, WireParts& wire) {
    if constexpr (std::is_same_v<WireParts, std::string>) {
        if constexpr (kWrites) {
            wire = parts;
        } else {
            parts = std::move(wire);
        }
    } else if constexpr (std::is_same_v<WireParts, node::State>) {
        carry<kWrites>(parts, wire);
    } else if constexpr (kIsNumber<typename Parts::value_type>) {
        if constexpr (kWrites) {
            wire.Add(parts.begin(), parts.end());
        } else {
            parts.assign(wire.begin(), wire.end());
        }
    } else if constexpr (kWrites) {
        for (const auto& part : parts) carry<true>(part, *wire.Add());
    } else {
        parts.resize(static_cast<std::size_t>(wire.size()));
        for (std::size_t i = 0; i < parts.size(); ++i) carry<false>(parts[i], *wire.Mutable(static_cast<int>(i)));
    }
}

}  // namespace

void silence_protobuf() {
    google::protobuf::SetLogHandler(nullptr);
}

// Each message and the field of the wire's message that holds it.
#define TO_NODE(MESSAGE)      \
    MESSAGE(Hello, hello)     \
    MESSAGE(Want, want)       \
    MESSAGE(Compute, compute) \
    MESSAGE(Ping, ping)       \
    MESSAGE(Follow, follow)   \
    MESSAGE(Shares, shares)   \
    MESSAGE(Step, step)       \
    MESSAGE(Abandon, abandon) \
    MESSAGE(Outputs, outputs) \
    MESSAGE(Peer, peer)       \
    MESSAGE(PeerHello, peer_hello)
#define FROM_NODE(MESSAGE)             \
    MESSAGE(Welcome, welcome)          \
    MESSAGE(Holdings, holdings)        \
    MESSAGE(Reply, reply)              \
    MESSAGE(Pong, pong)                \
    MESSAGE(Drain, drain)              \
    MESSAGE(Refusal, refusal)          \
    MESSAGE(Following, following)      \
    MESSAGE(Stepped, stepped)          \
    MESSAGE(Outputs, outputs)          \
    MESSAGE(PeerWelcome, peer_welcome) \
    MESSAGE(PeerReport, peer_report)
#define WRITE(Name, field) \
    if (const auto* what = std::get_if<Node##Name>(&message)) carry<true>(*what, *wire.mutable_##field());
#define READ(Name, field)                               \
    case decltype(message.what_case())::k##Name: {      \
        Node##Name what;                                \
        carry<false>(what, *message.mutable_##field()); \
        return what;                                    \
    }

node::ToNode to_wire(const ToNode& message) {
    node::ToNode wire;
    TO_NODE(WRITE)
    return wire;
}

node::FromNode to_wire(const FromNode& message) {
    node::FromNode wire;
    FROM_NODE(WRITE)
    return wire;
}

std::optional<ToNode> from_wire(node::ToNode&& message) {
    switch (message.what_case()) {
        TO_NODE(READ)
        case node::ToNode::WHAT_NOT_SET:
            break;
    }
    return std::nullopt;
}

std::optional<FromNode> from_wire(node::FromNode&& message) {
    switch (message.what_case()) {
        FROM_NODE(READ)
        case node::FromNode::WHAT_NOT_SET:
            break;
    }
    return std::nullopt;
}

#undef CARRY_FIELD
#undef CARRY_FIELDS
#undef CARRY_AGAIN
#undef PARENTHESES
#undef SCANNED_16
#undef SCANNED_4
#undef SCANNED
#undef CARRIES
#undef TO_NODE
#undef FROM_NODE
#undef WRITE
#undef READ

}  // namespace offstage::engine
