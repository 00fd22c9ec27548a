#pragma once
// The guarantees of both ends of a connection for any received bytes: they become no
// message, or one that converts back to the same bytes; and one that passes the checks
// indexes nothing out of range and can be read to its end. The first byte selects the
// receiver. Returns the first broken guarantee, or "". Shared by the fuzz target and by
// the test that reads the stored inputs.

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/cluster/node_protocol.h"
#include "engine/nodes/node_wire.h"

namespace offstage::tests {

// For the messages below; small, so that a valid one is found soon.
inline engine::ExpertGrid node_grid() {
    engine::ExpertGrid grid;
    grid.n_layers = 3;
    grid.n_experts = 4;
    grid.n_active = 2;
    grid.hidden_dim = 4;
    grid.ffn_dim = 8;
    return grid;
}

inline bool names_an_expert(std::int64_t layer, std::int64_t expert, kernels::WeightType format) {
    const engine::ExpertGrid grid = node_grid();
    return layer >= 0 && layer < grid.n_layers && expert >= 0 && expert < grid.n_experts &&
           static_cast<std::size_t>(format) < static_cast<std::size_t>(kernels::kWeightTypes) &&
           grid.expert_bytes(format) > 0;
}

// Reads numbers as the receiver does.
inline bool reads_whole(engine::ActivationType type, const std::string& bytes, std::size_t n_rows) {
    const auto width = static_cast<std::size_t>(node_grid().hidden_dim);
    if (bytes.size() != n_rows * width * engine::bytes_of(type)) return false;
    std::vector<float> values(width);
    std::string back;
    for (std::size_t row = 0; row < n_rows; ++row) {
        engine::read_activations(type, bytes, row * width, values);
        if (type == engine::ActivationType::kF32) engine::append_activations(type, values, back);
    }
    return type != engine::ActivationType::kF32 || back == bytes;
}

inline constexpr std::int64_t kVocabulary = 16;

inline std::string check_outputs(const engine::NodeOutputs& outputs) {
    const engine::ExpertGrid grid = node_grid();
    if (!engine::check(outputs, grid).empty()) return {};
    if (outputs.machine >= engine::kMostPeers) return "a machine that is none";
    std::uint64_t n_rows = 0;
    std::int64_t last = -1;
    for (const engine::ComputeExpert& expert : outputs.experts) {
        if (!names_an_expert(outputs.layer, expert.expert, expert.format)) return "an expert that is none";
        if (expert.expert <= last) return "an expert twice";
        last = expert.expert;
        n_rows += expert.n_rows;
    }
    if (outputs.layer < 0 || outputs.layer >= grid.n_layers) return "a layer that is none";
    if (n_rows != outputs.row_token.size()) return "rows that do not add up";
    if (!reads_whole(outputs.activations, outputs.outputs, n_rows)) return "outputs of another size";
    return {};
}

// Messages only for a node that makes steps.
inline std::string check_to_follower(const engine::ToNode& message) {
    const engine::ExpertGrid grid = node_grid();
    if (const auto* follow = std::get_if<engine::NodeFollow>(&message)) {
        if (!engine::check(*follow).empty()) return {};
        if (follow->context < 1 || follow->context > engine::kMostFollowedContext) return "a context of no size";
        if (follow->max_step < 1 || follow->max_step > engine::kMostStepTokens) return "a step of no size";
        if (static_cast<int>(follow->kv) >= kernels::kKvTypes) return "keys of no type";
        if (follow->quantizes_dense && !kernels::traits_of(follow->dense).for_dense) return "a format of no weights";
    } else if (const auto* shares = std::get_if<engine::NodeShares>(&message)) {
        if (!engine::check(*shares, grid).empty()) return {};
        const auto n = static_cast<std::size_t>(grid.size());
        if (shares->owners.size() != n || shares->formats.size() != n) return "shares of another model";
        for (std::size_t i = 0; i < n; ++i) {
            if (static_cast<unsigned char>(shares->owners[i]) >= engine::kMostPeers) return "an owner that is none";
            const auto format = static_cast<kernels::WeightType>(static_cast<unsigned char>(shares->formats[i]));
            if (!names_an_expert(static_cast<std::int64_t>(i) / grid.n_experts,
                                 static_cast<std::int64_t>(i) % grid.n_experts, format)) {
                return "a format that is none";
            }
        }
        if (shares->machine < 1 || shares->machine >= engine::kMostPeers) return "a machine that is none";
    } else if (const auto* step = std::get_if<engine::NodeStep>(&message)) {
        if (!engine::check(*step, kVocabulary).empty()) return {};
        if (step->number == 0 || step->tokens.empty()) return "a step of nothing";
        if (step->n_kept < 0 || step->n_prompt < 0) return "fewer tokens than none";
        for (const engine::TokenId token : step->tokens) {
            if (token < 0 || token >= kVocabulary) return "a token that is none";
        }
        if (!(step->theta >= 0)) return "a theta below 0";
    } else if (const auto* outputs = std::get_if<engine::NodeOutputs>(&message)) {
        return check_outputs(*outputs);
    }
    return {};
}

// Messages about links between nodes.
inline std::string check_peer(const engine::NodePeer& peer) {
    if (!engine::check(peer).empty()) return {};
    for (const std::uint32_t machine : {peer.self, peer.machine}) {
        if (machine == 0 || machine >= engine::kMostPeers) return "a node that is none";
    }
    if (peer.self == peer.machine) return "a link to itself";
    if (peer.name.size() > engine::kMostNameBytes) return "a long name";
    if (!peer.fingerprint.empty() && peer.fingerprint.size() != engine::kFingerprintDigits) return "a key of no size";
    if (peer.address.empty() == (peer.self < peer.machine && !peer.fingerprint.empty())) return "nowhere to connect to";
    // Nothing that a resolver takes for a scheme, a path or an escape.
    const std::size_t colon = peer.address.rfind(':');
    if (!peer.address.empty() &&
        (colon == std::string::npos || peer.address.find_first_of("/%@?#\\ ") != std::string::npos)) {
        return "an address that is none";
    }
    const std::string host = peer.address.substr(0, peer.address.empty() ? 0 : colon);
    if (host.find(':') != std::string::npos && (host.front() != '[' || host.back() != ']'))
        return "a host with a scheme";
    return {};
}

inline std::string check_to_node(const engine::ToNode& message) {
    const engine::ExpertGrid grid = node_grid();
    if (const auto* hello = std::get_if<engine::NodeHello>(&message)) {
        if (!engine::check(*hello).empty()) return {};
        if (hello->version != engine::kNodeProtocol) return "another version";
        if (hello->desktop.size() > engine::kMostNameBytes || hello->compute.size() > engine::kMostNameBytes ||
            hello->fingerprint.size() > engine::kMostNameBytes) {
            return "a long name";
        }
    } else if (const auto* want = std::get_if<engine::NodeWant>(&message)) {
        if (!engine::check(*want, grid).empty()) return {};
        if (want->experts.size() > static_cast<std::size_t>(grid.size())) return "more experts than there are";
        for (const engine::NodeExpert& expert : want->experts) {
            if (!names_an_expert(expert.layer, expert.expert, expert.format)) return "an expert that is none";
        }
    } else if (const auto* ping = std::get_if<engine::NodePing>(&message)) {
        if (engine::check(*ping).empty() && ping->payload.size() > engine::kMostPingBytes) return "a large ping";
    } else if (const auto* peer = std::get_if<engine::NodePeer>(&message)) {
        return check_peer(*peer);
    } else if (const auto* greeting = std::get_if<engine::NodePeerHello>(&message)) {
        if (!engine::check(*greeting).empty()) return {};
        if (greeting->version != engine::kNodeProtocol) return "another version";
        if (greeting->machine == 0 || greeting->machine >= engine::kMostPeers) return "a node that is none";
    } else if (!std::holds_alternative<engine::NodeCompute>(message)) {
        return check_to_follower(message);
    } else {
        const auto& request = std::get<engine::NodeCompute>(message);
        if (!engine::check(request, grid).empty()) return {};
        std::uint64_t n_rows = 0;
        std::int64_t last = -1;
        for (const engine::ComputeExpert& expert : request.experts) {
            if (!names_an_expert(request.layer, expert.expert, expert.format)) return "an expert that is none";
            if (expert.expert <= last) return "an expert twice";
            last = expert.expert;
            n_rows += expert.n_rows;
        }
        if (n_rows != request.row_token.size() || n_rows == 0) return "rows that do not add up";
        for (const std::uint32_t token : request.row_token) {
            if (token >= request.n_tokens) return "a row of no token";
        }
        if (!(request.theta >= 0)) return "a theta below 0";
        if (!reads_whole(request.activations, request.inputs, request.n_tokens)) return "activations of another size";
        if (request.order != engine::SumOrder::kByNumber && request.order != engine::SumOrder::kMany) return "an order";
    }
    return {};
}

inline std::string check_from_node(const engine::FromNode& message) {
    const engine::ExpertGrid grid = node_grid();
    const auto is_printable = [](const std::string& text, std::size_t most) {
        const std::string printed = engine::printable(text, most);
        if (printed.size() > most) return false;
        for (const char c : printed) {
            if (c < 0x20 || c >= 0x7f) return false;
        }
        return true;
    };
    if (const auto* welcome = std::get_if<engine::NodeWelcome>(&message)) {
        if (!is_printable(welcome->name, engine::kMostNameBytes)) return "a name that is not printable";
    } else if (const auto* holdings = std::get_if<engine::NodeHoldings>(&message)) {
        if (!engine::check(*holdings, grid).empty()) return {};
        for (const auto* list : {&holdings->held, &holdings->gone}) {
            for (const engine::NodeExpert& expert : *list) {
                if (!names_an_expert(expert.layer, expert.expert, expert.format)) return "an expert that is none";
            }
        }
    } else if (const auto* reply = std::get_if<engine::NodeReply>(&message)) {
        if (!is_printable(reply->refusal, engine::kMostSentenceBytes)) return "a refusal that is not printable";
        for (const auto type : {engine::ActivationType::kF32, engine::ActivationType::kBf16}) {
            for (const std::size_t n_rows : {std::size_t{1}, std::size_t{3}, std::size_t{reply->n_rows}}) {
                if (!engine::check(*reply, n_rows, type, grid).empty()) continue;
                if (reply->activations != type || reply->n_rows != n_rows) return "a reply to something else";
                if (!reads_whole(type, reply->outputs, n_rows)) return "outputs of another size";
            }
        }
    } else if (const auto* refusal = std::get_if<engine::NodeRefusal>(&message)) {
        if (!is_printable(refusal->sentence, engine::kMostSentenceBytes)) return "a refusal that is not printable";
    } else if (const auto* following = std::get_if<engine::NodeFollowing>(&message)) {
        if (!is_printable(following->refusal, engine::kMostSentenceBytes)) return "a refusal that is not printable";
    } else if (const auto* outputs = std::get_if<engine::NodeOutputs>(&message)) {
        return check_outputs(*outputs);
    } else if (const auto* report = std::get_if<engine::NodePeerReport>(&message)) {
        if (!is_printable(report->why, engine::kMostSentenceBytes)) return "a reason that is not printable";
        if (!engine::check(*report).empty()) return {};
        if (report->machine == 0 || report->machine >= engine::kMostPeers) return "a node that is none";
        if (report->state > engine::NodePeerReport::State::kEnded) return "a state that is none";
        if (!(report->latency_us >= 0 && report->latency_us < 1e10)) return "a latency that is none";
        if (!(report->us_per_byte >= 0 && report->us_per_byte < 1e10)) return "a rate that is none";
        if (!(report->message_us >= 0 && report->message_us < 1e10)) return "a message's time that is none";
    }
    return {};
}

// Wire: node::ToNode or node::FromNode.
template <typename Wire, typename Check>
std::string check_wire(std::string_view bytes, const Check& check) {
    Wire wire;
    if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
    const auto message = engine::from_wire(std::move(wire));
    if (!message) return {};
    const std::string once = engine::to_wire(*message).SerializeAsString();
    Wire again;
    if (!again.ParseFromString(once)) return "a message that is none when it is sent on";
    const auto same = engine::from_wire(std::move(again));
    if (!same || same->index() != message->index()) return "another message when it is sent on";
    if (engine::to_wire(*same).SerializeAsString() != once) return "other fields when it is sent on";
    return check(*message);
}

inline std::string check_node_message(std::string_view input) {
    if (input.empty() || input.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
    const std::string_view bytes = input.substr(1);
    if (input[0] == 'n') {
        return check_wire<node::ToNode>(bytes, [](const auto& message) { return check_to_node(message); });
    }
    return check_wire<node::FromNode>(bytes, [](const auto& message) { return check_from_node(message); });
}

}  // namespace offstage::tests
