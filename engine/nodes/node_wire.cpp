#include "engine/nodes/node_wire.h"

#include <google/protobuf/stubs/logging.h>
#include <type_traits>
#include <utility>

namespace offstage::engine {
namespace {

// Enumerations on the wire are numbers; a value that does not fit becomes one that every
// check rejects.
template <typename T>
T narrowed(std::uint32_t value) {
    return static_cast<T>(value <= 0xff ? value : 0xff);
}

template <typename Wire>
void put(const NodeExpert& from, Wire* to) {
    to->set_layer(from.layer);
    to->set_expert(from.expert);
    to->set_format(static_cast<std::uint32_t>(from.format));
}

template <typename List>
std::vector<NodeExpert> experts_of(const List& list) {
    std::vector<NodeExpert> experts;
    experts.reserve(static_cast<std::size_t>(list.size()));
    for (const node::Expert& expert : list) {
        experts.push_back({expert.layer(), expert.expert(), narrowed<kernels::WeightType>(expert.format())});
    }
    return experts;
}

template <typename List>
void put(const std::vector<ComputeExpert>& from, List* to) {
    for (const ComputeExpert& expert : from) {
        node::ComputeExpert* const one = to->Add();
        one->set_expert(expert.expert);
        one->set_n_rows(expert.n_rows);
        one->set_format(static_cast<std::uint32_t>(expert.format));
    }
}

template <typename List>
std::vector<ComputeExpert> computed_of(const List& list) {
    std::vector<ComputeExpert> experts;
    experts.reserve(static_cast<std::size_t>(list.size()));
    for (const node::ComputeExpert& one : list) {
        experts.push_back({one.expert(), one.n_rows(), narrowed<kernels::WeightType>(one.format())});
    }
    return experts;
}

void put(const NodeOutputs& from, node::Outputs* to) {
    to->set_step(from.step);
    to->set_layer(from.layer);
    to->set_machine(from.machine);
    to->set_last(from.last);
    to->set_lost(from.lost);
    to->set_activations(static_cast<std::uint32_t>(from.activations));
    put(from.experts, to->mutable_experts());
    to->mutable_row_token()->Add(from.row_token.begin(), from.row_token.end());
    to->set_outputs(from.outputs);
    to->set_compute_us(from.compute_us);
    to->set_part(from.part);
    to->set_direct(from.direct);
}

NodeOutputs outputs_of(node::Outputs& from) {
    NodeOutputs to;
    to.step = from.step();
    to.layer = from.layer();
    to.machine = from.machine();
    to.last = from.last();
    to.lost = from.lost();
    to.activations = narrowed<ActivationType>(from.activations());
    to.experts = computed_of(from.experts());
    to.row_token.assign(from.row_token().begin(), from.row_token().end());
    to.outputs = std::move(*from.mutable_outputs());
    to.compute_us = from.compute_us();
    to.part = from.part();
    to.direct = from.direct();
    return to;
}

// Of both directions.
template <typename Wire>
void put(const NodeOutputs& what, Wire& wire) {
    put(what, wire.mutable_outputs());
}

// ---- to a node
void put(const NodeHello& what, node::ToNode& wire) {
    node::Hello* const to = wire.mutable_hello();
    to->set_version(what.version);
    to->set_desktop(what.desktop);
    to->set_fingerprint(what.fingerprint);
    to->set_n_layers(what.n_layers);
    to->set_n_experts(what.n_experts);
    to->set_n_active(what.n_active);
    to->set_hidden_dim(what.hidden_dim);
    to->set_ffn_dim(what.ffn_dim);
    to->set_compute(what.compute);
}

void put(const NodeWant& what, node::ToNode& wire) {
    node::Want* const to = wire.mutable_want();
    for (const NodeExpert& expert : what.experts) put(expert, to->add_experts());
}

void put(const NodeCompute& what, node::ToNode& wire) {
    node::Compute* const to = wire.mutable_compute();
    to->set_number(what.number);
    to->set_layer(what.layer);
    to->set_order(static_cast<std::uint32_t>(what.order));
    to->set_theta(what.theta);
    to->set_activations(static_cast<std::uint32_t>(what.activations));
    put(what.experts, to->mutable_experts());
    to->mutable_row_token()->Add(what.row_token.begin(), what.row_token.end());
    to->set_n_tokens(what.n_tokens);
    to->set_inputs(what.inputs);
}

void put(const NodePing& what, node::ToNode& wire) {
    wire.mutable_ping()->set_number(what.number);
    wire.mutable_ping()->set_payload(what.payload);
}

void put(const NodeFollow& what, node::ToNode& wire) {
    node::Follow* const to = wire.mutable_follow();
    to->set_instruction_set(what.instruction_set);
    to->set_context(what.context);
    to->set_max_step(what.max_step);
    to->set_kv(static_cast<std::uint32_t>(what.kv));
    to->set_quantizes_dense(what.quantizes_dense);
    to->set_dense(static_cast<std::uint32_t>(what.dense));
    to->set_activations(static_cast<std::uint32_t>(what.activations));
}

void put(const NodeShares& what, node::ToNode& wire) {
    wire.mutable_shares()->set_machine(what.machine);
    wire.mutable_shares()->set_owners(what.owners);
    wire.mutable_shares()->set_formats(what.formats);
}

void put(const NodeStep& what, node::ToNode& wire) {
    node::Step* const to = wire.mutable_step();
    to->set_number(what.number);
    to->set_machines(what.machines);
    to->set_n_kept(what.n_kept);
    to->set_n_prompt(what.n_prompt);
    to->set_theta(what.theta);
    to->mutable_tokens()->Add(what.tokens.begin(), what.tokens.end());
}

void put(const NodeAbandon& what, node::ToNode& wire) {
    wire.mutable_abandon()->set_step(what.step);
}

void put(const NodePeer& what, node::ToNode& wire) {
    node::Peer* const to = wire.mutable_peer();
    to->set_link(what.link);
    to->set_self(what.self);
    to->set_machine(what.machine);
    to->set_name(what.name);
    to->set_fingerprint(what.fingerprint);
    to->set_address(what.address);
    to->set_between_layers(what.between_layers);
}

void put(const NodePeerHello& what, node::ToNode& wire) {
    wire.mutable_peer_hello()->set_version(what.version);
    wire.mutable_peer_hello()->set_link(what.link);
    wire.mutable_peer_hello()->set_machine(what.machine);
}

// ---- from a node
void put(const NodeWelcome& what, node::FromNode& wire) {
    node::Welcome* const to = wire.mutable_welcome();
    to->set_name(what.name);
    to->set_instruction_set(what.instruction_set);
    to->set_n_threads(what.n_threads);
    to->set_ram_bytes(what.ram_bytes);
}

void put(const NodeHoldings& what, node::FromNode& wire) {
    node::Holdings* const to = wire.mutable_holdings();
    for (const NodeExpert& expert : what.held) put(expert, to->add_held());
    for (const NodeExpert& expert : what.gone) put(expert, to->add_gone());
    to->set_complete(what.complete);
}

void put(const NodeReply& what, node::FromNode& wire) {
    node::Reply* const to = wire.mutable_reply();
    to->set_number(what.number);
    to->set_n_rows(what.n_rows);
    to->set_activations(static_cast<std::uint32_t>(what.activations));
    to->set_outputs(what.outputs);
    to->set_compute_us(what.compute_us);
    to->set_refusal(what.refusal);
}

void put(const NodePong& what, node::FromNode& wire) {
    node::Pong* const to = wire.mutable_pong();
    to->set_number(what.number);
    to->set_payload(what.payload);
    node::State* const state = to->mutable_state();
    state->set_ram_used_bytes(what.state.ram_used_bytes);
    state->set_ram_bytes(what.state.ram_bytes);
    state->set_n_held(what.state.n_held);
    state->set_n_desktops(what.state.n_desktops);
    state->set_n_requests(what.state.n_requests);
    state->set_n_rows(what.state.n_rows);
    state->set_compute_us(what.state.compute_us);
}

void put(const NodeDrain& /*what*/, node::FromNode& wire) {
    wire.mutable_drain();
}

void put(const NodeRefusal& what, node::FromNode& wire) {
    wire.mutable_refusal()->set_sentence(what.sentence);
}

void put(const NodeFollowing& what, node::FromNode& wire) {
    wire.mutable_following()->set_refusal(what.refusal);
}

void put(const NodeStepped& what, node::FromNode& wire) {
    wire.mutable_stepped()->set_number(what.number);
    wire.mutable_stepped()->set_done(what.done);
}

void put(const NodePeerWelcome& what, node::FromNode& wire) {
    wire.mutable_peer_welcome()->set_link(what.link);
}

void put(const NodePeerReport& what, node::FromNode& wire) {
    node::PeerReport* const to = wire.mutable_peer_report();
    to->set_link(what.link);
    to->set_machine(what.machine);
    to->set_state(static_cast<std::uint32_t>(what.state));
    to->set_latency_us(what.latency_us);
    to->set_us_per_byte(what.us_per_byte);
    to->set_why(what.why);
    to->set_message_us(what.message_us);
    to->set_between_layers_us(what.between_layers_us);
}

}  // namespace

void silence_protobuf() {
    google::protobuf::SetLogHandler(nullptr);
}

node::ToNode to_wire(const ToNode& message) {
    node::ToNode wire;
    std::visit([&](const auto& what) { put(what, wire); }, message);
    return wire;
}

std::optional<ToNode> from_wire(node::ToNode&& message) {
    switch (message.what_case()) {
        case node::ToNode::kHello: {
            const node::Hello& from = message.hello();
            return NodeHello{from.version(),  from.desktop(),    from.fingerprint(), from.n_layers(), from.n_experts(),
                             from.n_active(), from.hidden_dim(), from.ffn_dim(),     from.compute()};
        }
        case node::ToNode::kWant:
            return NodeWant{experts_of(message.want().experts())};
        case node::ToNode::kCompute: {
            node::Compute& from = *message.mutable_compute();
            NodeCompute to;
            to.number = from.number();
            to.layer = from.layer();
            to.order = narrowed<SumOrder>(from.order());
            to.theta = from.theta();
            to.activations = narrowed<ActivationType>(from.activations());
            to.experts = computed_of(from.experts());
            to.row_token.assign(from.row_token().begin(), from.row_token().end());
            to.n_tokens = from.n_tokens();
            to.inputs = std::move(*from.mutable_inputs());
            return to;
        }
        case node::ToNode::kPing:
            return NodePing{message.ping().number(), std::move(*message.mutable_ping()->mutable_payload())};
        case node::ToNode::kFollow: {
            const node::Follow& from = message.follow();
            return NodeFollow{from.instruction_set(),
                              from.context(),
                              from.max_step(),
                              narrowed<kernels::KvType>(from.kv()),
                              from.quantizes_dense(),
                              narrowed<kernels::WeightType>(from.dense()),
                              narrowed<ActivationType>(from.activations())};
        }
        case node::ToNode::kShares: {
            node::Shares& from = *message.mutable_shares();
            return NodeShares{from.machine(), std::move(*from.mutable_owners()), std::move(*from.mutable_formats())};
        }
        case node::ToNode::kStep: {
            const node::Step& from = message.step();
            return NodeStep{from.number(),   from.machines(), from.n_kept(),
                            from.n_prompt(), from.theta(),    {from.tokens().begin(), from.tokens().end()}};
        }
        case node::ToNode::kAbandon:
            return NodeAbandon{message.abandon().step()};
        case node::ToNode::kOutputs:
            return outputs_of(*message.mutable_outputs());
        case node::ToNode::kPeer: {
            const node::Peer& from = message.peer();
            return NodePeer{from.link(),        from.self(),    from.machine(),       from.name(),
                            from.fingerprint(), from.address(), from.between_layers()};
        }
        case node::ToNode::kPeerHello:
            return NodePeerHello{message.peer_hello().version(), message.peer_hello().link(),
                                 message.peer_hello().machine()};
        case node::ToNode::WHAT_NOT_SET:
            break;
    }
    return std::nullopt;
}

node::FromNode to_wire(const FromNode& message) {
    node::FromNode wire;
    std::visit([&](const auto& what) { put(what, wire); }, message);
    return wire;
}

std::optional<FromNode> from_wire(node::FromNode&& message) {
    switch (message.what_case()) {
        case node::FromNode::kWelcome: {
            const node::Welcome& from = message.welcome();
            return NodeWelcome{from.name(), from.instruction_set(), from.n_threads(), from.ram_bytes()};
        }
        case node::FromNode::kHoldings: {
            const node::Holdings& from = message.holdings();
            return NodeHoldings{experts_of(from.held()), experts_of(from.gone()), from.complete()};
        }
        case node::FromNode::kReply: {
            node::Reply& from = *message.mutable_reply();
            NodeReply to;
            to.number = from.number();
            to.n_rows = from.n_rows();
            to.activations = narrowed<ActivationType>(from.activations());
            to.outputs = std::move(*from.mutable_outputs());
            to.compute_us = from.compute_us();
            to.refusal = std::move(*from.mutable_refusal());
            return to;
        }
        case node::FromNode::kPong: {
            const node::State& from = message.pong().state();
            NodePong to;
            to.number = message.pong().number();
            to.payload = std::move(*message.mutable_pong()->mutable_payload());
            to.state = {from.ram_used_bytes(), from.ram_bytes(), from.n_held(),    from.n_desktops(),
                        from.n_requests(),     from.n_rows(),    from.compute_us()};
            return to;
        }
        case node::FromNode::kDrain:
            return NodeDrain{};
        case node::FromNode::kRefusal:
            return NodeRefusal{message.refusal().sentence()};
        case node::FromNode::kFollowing:
            return NodeFollowing{std::move(*message.mutable_following()->mutable_refusal())};
        case node::FromNode::kStepped:
            return NodeStepped{message.stepped().number(), message.stepped().done()};
        case node::FromNode::kOutputs:
            return outputs_of(*message.mutable_outputs());
        case node::FromNode::kPeerWelcome:
            return NodePeerWelcome{message.peer_welcome().link()};
        case node::FromNode::kPeerReport: {
            node::PeerReport& from = *message.mutable_peer_report();
            return NodePeerReport{
                from.link(),       from.machine(),          narrowed<NodePeerReport::State>(from.state()),
                from.latency_us(), from.us_per_byte(),      std::move(*from.mutable_why()),
                from.message_us(), from.between_layers_us()};
        }
        case node::FromNode::WHAT_NOT_SET:
            break;
    }
    return std::nullopt;
}

}  // namespace offstage::engine
