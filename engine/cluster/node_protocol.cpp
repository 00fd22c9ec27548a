#include "engine/cluster/node_protocol.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cluster/node_messages.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {
namespace {

constexpr double kMostLinkUs = 1e9;

Message wrong(const char* field, MessageArgument value, std::string expected) {
    return messages::node_field_invalid(field, std::move(value), std::move(expected));
}

std::string below(std::int64_t end) {
    return "0 to " + std::to_string(end - 1);
}

Message check_index(const char* field, std::int64_t value, std::int64_t end) {
    return value >= 0 && value < end ? Message() : wrong(field, value, below(end));
}

Message check_text(const char* field, const std::string& text, std::size_t most) {
    return text.size() <= most ? Message()
                               : wrong(field, text.size(), "at most " + std::to_string(most) + " bytes of text");
}

// A format that experts of this layer may be in.
Message check_format(kernels::WeightType format, std::int64_t layer, const ExpertGrid& grid) {
    const auto number = static_cast<std::size_t>(format);
    if (number >= static_cast<std::size_t>(kernels::kWeightTypes)) {
        return wrong("the format", number, "a format of experts");
    }
    const kernels::FormatTraits& traits = kernels::traits_of(format);
    if (traits.is_of_file()) {
        const bool own = !grid.file_formats.empty() && grid.file_formats[static_cast<std::size_t>(layer)] == format;
        return own ? Message() : wrong("the format", number, "the one that the model's file has this layer in");
    }
    const bool plain = traits.coding == kernels::WeightCoding::kPlain;
    const bool packed = traits.for_experts && (plain || grid.hidden_dim % kernels::kPackedBlock == 0);
    return packed || plain ? Message() : wrong("the format", traits.name, "a format of experts");
}

}  // namespace

Message check(const NodeHello& hello) {
    if (hello.version != kNodeProtocol) return messages::node_protocol_differs(kNodeProtocol, hello.version);
    if (Message message = check_text("the desktop's name", hello.desktop, kMostNameBytes); !message.empty()) {
        return message;
    }
    if (Message message = check_text("the fingerprint", hello.fingerprint, kMostNameBytes); !message.empty()) {
        return message;
    }
    return check_text("the form of products", hello.compute, kMostNameBytes);
}

Message check(const NodeExpert& expert, const ExpertGrid& grid) {
    if (Message message = check_index("the layer", expert.layer, grid.n_layers); !message.empty()) return message;
    if (Message message = check_index("the expert", expert.expert, grid.n_experts); !message.empty()) return message;
    return check_format(expert.format, expert.layer, grid);
}

Message check(const NodeWant& want, const ExpertGrid& grid) {
    if (want.experts.size() > static_cast<std::size_t>(grid.size())) {
        return wrong("the number of wanted experts", want.experts.size(), "at most " + std::to_string(grid.size()));
    }
    for (const NodeExpert& expert : want.experts) {
        if (Message message = check(expert, grid); !message.empty()) return message;
    }
    return {};
}

Message check(const NodeHoldings& holdings, const ExpertGrid& grid) {
    for (const auto* list : {&holdings.held, &holdings.gone}) {
        if (Message message = check(NodeWant{*list}, grid); !message.empty()) return message;
    }
    return {};
}

namespace {

Message check_activations(ActivationType type) {
    if (type == ActivationType::kF32 || type == ActivationType::kBf16) return {};
    return wrong("the activations' type", static_cast<int>(type), "0 or 1");
}

Message check_theta(float theta) {
    if (theta >= 0 && theta <= static_cast<float>(kLargestTheta)) return {};
    return wrong("theta", static_cast<double>(theta), "0 or a positive number");
}

// Ascending, each once, with rows, in a format of the layer; n_rows: in all.
Message check_experts(std::span<const ComputeExpert> experts, std::int32_t layer, std::size_t n_rows,
                      const ExpertGrid& grid) {
    std::uint64_t sum = 0;
    std::int64_t last = -1;
    for (const ComputeExpert& expert : experts) {
        const NodeExpert key{layer, expert.expert, expert.format};
        if (Message message = check(key, grid); !message.empty()) return message;
        if (expert.expert <= last) return wrong("the expert", expert.expert, "experts in ascending order, each once");
        last = expert.expert;
        if (expert.n_rows < 1) return wrong("an expert's number of rows", expert.n_rows, "1 or more");
        sum += expert.n_rows;
    }
    return sum == n_rows ? Message() : wrong("the sum of the experts' rows", sum, std::to_string(n_rows));
}

}  // namespace

Message check(const NodeOutputs& outputs, const ExpertGrid& grid) {
    if (Message message = check_index("the layer", outputs.layer, grid.n_layers); !message.empty()) return message;
    if (outputs.machine >= kMostPeers) return wrong("the machine", outputs.machine, below(kMostPeers));
    if (Message message = check_activations(outputs.activations); !message.empty()) return message;
    const std::size_t row_bytes = static_cast<std::size_t>(grid.hidden_dim) * bytes_of(outputs.activations);
    const std::size_t most_rows = std::min(kMostActivationBytes / row_bytes, kMostRowsOfMessage);
    if (outputs.row_token.size() > most_rows) {
        return wrong("the number of rows", outputs.row_token.size(), "at most " + std::to_string(most_rows));
    }
    if (outputs.outputs.size() != outputs.row_token.size() * row_bytes) {
        return wrong("the size of the activations", outputs.outputs.size(),
                     std::to_string(outputs.row_token.size() * row_bytes) + " bytes");
    }
    return check_experts(outputs.experts, outputs.layer, outputs.row_token.size(), grid);
}

Message check(const NodeFollow& follow) {
    if (Message message = check_text("the instruction set", follow.instruction_set, kMostNameBytes); !message.empty()) {
        return message;
    }
    if (follow.context < 1 || follow.context > kMostFollowedContext) {
        return wrong("the context", follow.context, "1 to " + std::to_string(kMostFollowedContext) + " tokens");
    }
    if (follow.max_step < 1 || follow.max_step > kMostStepTokens) {
        return wrong("the largest step", follow.max_step, "1 to " + std::to_string(kMostStepTokens) + " tokens");
    }
    if (static_cast<int>(follow.kv) >= kernels::kKvTypes) {
        return wrong("the KV cache's type", static_cast<int>(follow.kv), below(kernels::kKvTypes));
    }
    const auto dense = static_cast<std::size_t>(follow.dense);
    if (dense >= static_cast<std::size_t>(kernels::kWeightTypes) ||
        (follow.quantizes_dense && !kernels::traits_of(follow.dense).for_dense)) {
        return wrong("the format", dense, "a format of dense weights");
    }
    return check_activations(follow.activations);
}

Message check(const NodeShares& shares, const ExpertGrid& grid) {
    if (shares.machine < 1 || shares.machine >= kMostPeers) {
        return wrong("the machine", shares.machine, "1 to " + std::to_string(kMostPeers - 1));
    }
    const auto n = static_cast<std::size_t>(grid.size());
    if (shares.owners.size() != n || shares.formats.size() != n) {
        return wrong("the number of owners and formats", shares.owners.size() + shares.formats.size(),
                     "twice " + std::to_string(n));
    }
    for (std::size_t i = 0; i < n; ++i) {
        const auto owner = static_cast<unsigned char>(shares.owners[i]);
        if (owner >= kMostPeers) return wrong("the machine", static_cast<unsigned>(owner), below(kMostPeers));
        const auto format = static_cast<kernels::WeightType>(static_cast<unsigned char>(shares.formats[i]));
        const auto layer = static_cast<std::int64_t>(i) / grid.n_experts;
        if (Message message = check_format(format, layer, grid); !message.empty()) return message;
    }
    return {};
}

Message check(const NodeStep& step, std::int64_t vocab_size) {
    if (step.number < 1) return wrong("the step's number", step.number, "1 or more");
    if (step.n_kept < 0 || step.n_kept > kMostFollowedContext) {
        return wrong("the number of kept tokens", step.n_kept, "0 to " + std::to_string(kMostFollowedContext));
    }
    if (step.n_prompt < 0 || step.n_prompt > kMostFollowedContext) {
        return wrong("the prompt's length", step.n_prompt, "0 to " + std::to_string(kMostFollowedContext));
    }
    if (Message message = check_theta(step.theta); !message.empty()) return message;
    if (step.tokens.empty() || step.tokens.size() > static_cast<std::size_t>(kMostStepTokens)) {
        return wrong("the number of tokens", step.tokens.size(), "1 to " + std::to_string(kMostStepTokens));
    }
    for (const TokenId token : step.tokens) {
        if (Message message = check_index("the token", token, vocab_size); !message.empty()) return message;
    }
    return {};
}

namespace {

bool is_fingerprint(const std::string& text) {
    return text.size() == kFingerprintDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// "host:port" or "[v6]:port", without anything that a resolver could read as a scheme, a
// path or an escape.
bool is_address(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (text.size() > kMostAddressBytes || colon == text.npos || colon == 0) return false;
    const std::string port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos) return false;
    if (std::stoi(port) < 1 || std::stoi(port) > 65535) return false;
    std::string host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        return host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
    }
    return host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == host.npos;
}

Message check_node_number(std::uint32_t machine) {
    return machine >= 1 && machine < kMostPeers
               ? Message()
               : wrong("the machine", machine, "1 to " + std::to_string(kMostPeers - 1));
}

}  // namespace

Message check(const NodePeer& peer) {
    for (const std::uint32_t machine : {peer.self, peer.machine}) {
        if (Message message = check_node_number(machine); !message.empty()) return message;
    }
    if (peer.self == peer.machine) return wrong("the machine", peer.machine, "another one than itself");
    if (Message message = check_text("the machine's name", peer.name, kMostNameBytes); !message.empty()) return message;
    if (!peer.fingerprint.empty() && !is_fingerprint(peer.fingerprint)) {
        return wrong("the fingerprint", printable(peer.fingerprint, 8), "64 hexadecimal digits");
    }
    const bool connects = peer.self < peer.machine && !peer.fingerprint.empty();
    if (connects != !peer.address.empty() || (connects && !is_address(peer.address))) {
        return wrong("the address", printable(peer.address, kMostNameBytes),
                     connects ? "host:port" : "none: the other machine connects");
    }
    return {};
}

Message check(const NodePeerHello& hello) {
    if (hello.version != kNodeProtocol) return messages::node_protocol_differs(kNodeProtocol, hello.version);
    return check_node_number(hello.machine);
}

Message check(const NodePeerReport& report) {
    if (Message message = check_node_number(report.machine); !message.empty()) return message;
    if (report.state > NodePeerReport::State::kEnded) {
        return wrong("the state of a link", static_cast<int>(report.state), below(3));
    }
    for (const double us : {report.latency_us, report.us_per_byte, report.message_us, report.between_layers_us}) {
        if (!(us >= 0 && us <= kMostLinkUs)) return wrong("what a link takes", us, "0 to 1e9 microseconds");
    }
    return {};
}

Message check(const NodePing& ping) {
    return ping.payload.size() <= kMostPingBytes
               ? Message()
               : wrong("the payload", ping.payload.size(), "at most " + std::to_string(kMostPingBytes) + " bytes");
}

Message check(const NodeCompute& request, const ExpertGrid& grid) {
    if (Message message = check_index("the layer", request.layer, grid.n_layers); !message.empty()) return message;
    if (request.order != SumOrder::kByNumber && request.order != SumOrder::kMany) {
        return wrong("the order of sums", static_cast<int>(request.order), "0 or 1");
    }
    if (Message message = check_activations(request.activations); !message.empty()) return message;
    if (Message message = check_theta(request.theta); !message.empty()) return message;
    if (request.experts.empty() || request.experts.size() > static_cast<std::size_t>(grid.n_experts)) {
        return wrong("the number of experts", request.experts.size(), "1 to " + std::to_string(grid.n_experts));
    }
    if (request.row_token.empty() || request.row_token.size() > kMostRowsOfMessage) {
        return wrong("the number of rows", request.row_token.size(), "1 to " + std::to_string(kMostRowsOfMessage));
    }
    const std::size_t row_bytes = static_cast<std::size_t>(grid.hidden_dim) * bytes_of(request.activations);
    const std::size_t most_rows = kMostActivationBytes / row_bytes;
    if (request.n_tokens < 1 || request.n_tokens > most_rows) {
        return wrong("the number of tokens", request.n_tokens, "1 to " + std::to_string(most_rows));
    }
    if (request.row_token.size() > most_rows) {
        return wrong("the number of rows", request.row_token.size(), "at most " + std::to_string(most_rows));
    }
    if (request.inputs.size() != request.n_tokens * row_bytes) {
        return wrong("the size of the activations", request.inputs.size(),
                     std::to_string(request.n_tokens * row_bytes) + " bytes");
    }
    if (Message message = check_experts(request.experts, request.layer, request.row_token.size(), grid);
        !message.empty()) {
        return message;
    }
    for (const std::uint32_t token : request.row_token) {
        if (token >= request.n_tokens) return wrong("a row's token", token, below(request.n_tokens));
    }
    return {};
}

Message check(const NodeReply& reply, std::size_t n_rows, ActivationType activations, const ExpertGrid& grid) {
    if (reply.n_rows != n_rows) return wrong("the number of rows", reply.n_rows, std::to_string(n_rows));
    if (reply.activations != activations) {
        return wrong("the activations' type", static_cast<int>(reply.activations), "the one of the request");
    }
    const std::size_t bytes = n_rows * static_cast<std::size_t>(grid.hidden_dim) * bytes_of(activations);
    if (reply.outputs.size() != bytes) {
        return wrong("the size of the activations", reply.outputs.size(), std::to_string(bytes) + " bytes");
    }
    return {};
}

std::string printable(const std::string& text, std::size_t most_bytes) {
    std::string out;
    for (const char c : text.substr(0, most_bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 0x20 || byte >= 0x7f ? '?' : c;
    }
    return out;
}

void append_activations(ActivationType type, std::span<const float> values, std::string& bytes) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + values.size() * bytes_of(type));
    if (type == ActivationType::kF32) {
        std::memcpy(bytes.data() + begin, values.data(), values.size_bytes());
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t bits = kernels::to_bf16(values[i]).bits;
        std::memcpy(bytes.data() + begin + 2 * i, &bits, 2);
    }
}

void read_activations(ActivationType type, const std::string& bytes, std::size_t first, std::span<float> values) {
    const char* const from = bytes.data() + first * bytes_of(type);
    if (type == ActivationType::kF32) {
        std::memcpy(values.data(), from, values.size_bytes());
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        kernels::Bf16 value;
        std::memcpy(&value.bits, from + 2 * i, 2);
        values[i] = kernels::to_float(value);
    }
}

}  // namespace offstage::engine
