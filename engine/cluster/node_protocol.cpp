#include "engine/cluster/node_protocol.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {
namespace {

constexpr double kMostLinkUs = 1e9;

// Checks the fields of a message one after the other. Only the first error counts: what
// follows it is not looked at.
class FieldChecks {
  public:
    template <typename Value>
    FieldChecks& range(const char* field, Value value, std::int64_t least, std::int64_t most, const char* unit = "") {
        const bool fits = std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most);
        if (ok() && !fits) set(field, value, std::to_string(least) + " to " + std::to_string(most) + unit);
        return *this;
    }
    FieldChecks& index(const char* field, std::int64_t value, std::int64_t end) {
        return range(field, value, 0, end - 1);
    }
    FieldChecks& least_1(const char* field, std::uint64_t value) { return that(value >= 1, field, value, "1 or more"); }
    FieldChecks& at_most(const char* field, std::size_t value, std::size_t most, const char* unit = "") {
        if (ok() && value > most) set(field, value, "at most " + std::to_string(most) + unit);
        return *this;
    }
    FieldChecks& equal(const char* field, std::size_t value, std::size_t expected, const char* unit = "") {
        if (ok() && value != expected) set(field, value, std::to_string(expected) + unit);
        return *this;
    }
    template <typename Value>
    FieldChecks& that(bool fits, const char* field, Value value, const char* expected) {
        if (ok() && !fits) set(field, value, expected);
        return *this;
    }
    FieldChecks& text(const char* field, const std::string& text) {
        return at_most(field, text.size(), kMostNameBytes, " bytes of text");
    }
    // A node's; the desktop is none.
    FieldChecks& node(std::uint32_t machine) { return range("the machine", machine, 1, kMostPeers - 1); }
    FieldChecks& activations(ActivationType type) {
        const bool fits = type == ActivationType::kF32 || type == ActivationType::kBf16;
        return that(fits, "the activations' type", static_cast<int>(type), "0 or 1");
    }
    FieldChecks& theta(float theta) {
        const bool fits = theta >= 0 && theta <= static_cast<float>(kLargestTheta);
        return that(fits, "theta", static_cast<double>(theta), "0 or a positive number");
    }
    FieldChecks& version(std::uint32_t version) {
        if (version != kNodeProtocol) error_ = messages::node_protocol_differs(kNodeProtocol, version);
        return *this;
    }
    // A format that experts of this layer may be in.
    FieldChecks& format(kernels::WeightType format, std::int64_t layer, const ExpertGrid& grid) {
        const auto number = static_cast<std::size_t>(format);
        that(number < static_cast<std::size_t>(kernels::kWeightTypes), "the format", number, "a format of experts");
        if (!ok()) return *this;
        const kernels::FormatTraits& traits = kernels::traits_of(format);
        if (traits.is_of_file()) {
            const bool own = !grid.file_formats.empty() && grid.file_formats[static_cast<std::size_t>(layer)] == format;
            return that(own, "the format", number, "the one that the model's file has this layer in");
        }
        const bool plain = traits.coding == kernels::WeightCoding::kPlain;
        const bool packed = traits.for_experts && (plain || grid.hidden_dim % kernels::kPackedBlock == 0);
        return that(packed || plain, "the format", traits.name, "a format of experts");
    }
    FieldChecks& expert(const NodeExpert& expert, const ExpertGrid& grid) {
        index("the layer", expert.layer, grid.n_layers).index("the expert", expert.expert, grid.n_experts);
        return ok() ? format(expert.format, expert.layer, grid) : *this;
    }
    FieldChecks& experts(const std::vector<NodeExpert>& experts, const ExpertGrid& grid) {
        at_most("the number of wanted experts", experts.size(), static_cast<std::size_t>(grid.size()));
        for (const NodeExpert& one : experts) expert(one, grid);
        return *this;
    }
    // Ascending, each once, with rows, in a format of the layer; n_rows: in all.
    FieldChecks& experts(const std::vector<ComputeExpert>& experts, std::int32_t layer, std::size_t n_rows,
                         const ExpertGrid& grid) {
        std::uint64_t sum = 0;
        std::int64_t last = -1;
        for (const ComputeExpert& one : experts) {
            expert({layer, one.expert, one.format}, grid);
            that(one.expert > last, "the expert", one.expert, "experts in ascending order, each once");
            least_1("an expert's number of rows", one.n_rows);
            last = one.expert;
            sum += one.n_rows;
        }
        return equal("the sum of the experts' rows", sum, n_rows);
    }

    bool ok() const { return error_.empty(); }
    operator Message() { return std::move(error_); }  // at the end

  private:
    void set(const char* field, MessageArgument value, std::string expected) {
        error_ = messages::node_field_invalid(field, std::move(value), std::move(expected));
    }
    Message error_;
};

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

std::size_t row_bytes_of(const ExpertGrid& grid, ActivationType type) {
    return static_cast<std::size_t>(grid.hidden_dim) * bytes_of(type);
}

}  // namespace

Message check(const NodeHello& hello) {
    FieldChecks fields;
    fields.version(hello.version).text("the desktop's name", hello.desktop).text("the fingerprint", hello.fingerprint);
    return fields.text("the form of products", hello.compute);
}

Message check(const NodeWant& want, const ExpertGrid& grid) {
    return FieldChecks().experts(want.experts, grid);
}

Message check(const NodeHoldings& holdings, const ExpertGrid& grid) {
    return FieldChecks().experts(holdings.held, grid).experts(holdings.gone, grid);
}

Message check(const NodeOutputs& outputs, const ExpertGrid& grid) {
    FieldChecks fields;
    fields.index("the layer", outputs.layer, grid.n_layers).index("the machine", outputs.machine, kMostPeers);
    if (!fields.activations(outputs.activations).ok()) return fields;
    const std::size_t row_bytes = row_bytes_of(grid, outputs.activations), n_rows = outputs.row_token.size();
    fields.at_most("the number of rows", n_rows, std::min(kMostActivationBytes / row_bytes, kMostRowsOfMessage));
    fields.equal("the size of the activations", outputs.outputs.size(), n_rows * row_bytes, " bytes");
    return fields.experts(outputs.experts, outputs.layer, n_rows, grid);
}

Message check(const NodeFollow& follow) {
    FieldChecks fields;
    fields.text("the instruction set", follow.instruction_set);
    fields.range("the context", follow.context, 1, kMostFollowedContext, " tokens");
    fields.range("the largest step", follow.max_step, 1, kMostStepTokens, " tokens");
    fields.index("the KV cache's type", static_cast<int>(follow.kv), kernels::kKvTypes);
    const auto dense = static_cast<std::size_t>(follow.dense);
    const bool fits = dense < static_cast<std::size_t>(kernels::kWeightTypes) &&
                      (!follow.quantizes_dense || kernels::traits_of(follow.dense).for_dense);
    return fields.that(fits, "the format", dense, "a format of dense weights").activations(follow.activations);
}

Message check(const NodeShares& shares, const ExpertGrid& grid) {
    FieldChecks fields;
    const auto n = static_cast<std::size_t>(grid.size());
    if (fields.node(shares.machine).ok() && (shares.owners.size() != n || shares.formats.size() != n)) {
        return messages::node_field_invalid("the number of owners and formats",
                                            shares.owners.size() + shares.formats.size(), "twice " + std::to_string(n));
    }
    for (std::size_t i = 0; i < n && fields.ok(); ++i) {
        const auto format = static_cast<kernels::WeightType>(static_cast<unsigned char>(shares.formats[i]));
        fields.index("the machine", static_cast<unsigned char>(shares.owners[i]), kMostPeers);
        fields.format(format, static_cast<std::int64_t>(i) / grid.n_experts, grid);
    }
    return fields;
}

Message check(const NodeStep& step, std::int64_t vocab_size) {
    FieldChecks fields;
    fields.least_1("the step's number", step.number);
    fields.range("the number of kept tokens", step.n_kept, 0, kMostFollowedContext);
    fields.range("the prompt's length", step.n_prompt, 0, kMostFollowedContext).theta(step.theta);
    fields.range("the number of tokens", step.tokens.size(), 1, kMostStepTokens);
    for (const TokenId token : step.tokens) fields.index("the token", token, vocab_size);
    return fields;
}

Message check(const NodePeer& peer) {
    FieldChecks fields;
    fields.node(peer.self).node(peer.machine);
    fields.that(peer.self != peer.machine, "the machine", peer.machine, "another one than itself");
    fields.text("the machine's name", peer.name);
    fields.that(peer.fingerprint.empty() || is_fingerprint(peer.fingerprint), "the fingerprint",
                printable(peer.fingerprint, 8), "64 hexadecimal digits");
    const bool connects = peer.self < peer.machine && !peer.fingerprint.empty();
    const bool fits = connects == !peer.address.empty() && (!connects || is_address(peer.address));
    return fields.that(fits, "the address", printable(peer.address, kMostNameBytes),
                       connects ? "host:port" : "none: the other machine connects");
}

Message check(const NodePeerHello& hello) {
    FieldChecks fields;
    return fields.version(hello.version).ok() ? fields.node(hello.machine) : fields;
}

Message check(const NodePeerReport& report) {
    FieldChecks fields;
    fields.node(report.machine).index("the state of a link", static_cast<int>(report.state), 3);
    for (const double us : {report.latency_us, report.us_per_byte, report.message_us, report.between_layers_us}) {
        fields.that(us >= 0 && us <= kMostLinkUs, "what a link takes", us, "0 to 1e9 microseconds");
    }
    return fields;
}

Message check(const NodePing& ping) {
    return FieldChecks().at_most("the payload", ping.payload.size(), kMostPingBytes, " bytes");
}

Message check(const NodeCompute& request, const ExpertGrid& grid) {
    FieldChecks fields;
    fields.index("the layer", request.layer, grid.n_layers);
    const bool known = request.order == SumOrder::kByNumber || request.order == SumOrder::kMany;
    fields.that(known, "the order of sums", static_cast<int>(request.order), "0 or 1");
    if (!fields.activations(request.activations).theta(request.theta).ok()) return fields;
    const std::size_t row_bytes = row_bytes_of(grid, request.activations), n_rows = request.row_token.size();
    const auto most_rows = static_cast<std::int64_t>(kMostActivationBytes / row_bytes);
    fields.range("the number of experts", request.experts.size(), 1, grid.n_experts);
    fields.range("the number of rows", n_rows, 1, static_cast<std::int64_t>(kMostRowsOfMessage));
    fields.range("the number of tokens", request.n_tokens, 1, most_rows);
    fields.at_most("the number of rows", n_rows, static_cast<std::size_t>(most_rows));
    fields.equal("the size of the activations", request.inputs.size(), request.n_tokens * row_bytes, " bytes");
    fields.experts(request.experts, request.layer, n_rows, grid);
    for (const std::uint32_t token : request.row_token) fields.index("a row's token", token, request.n_tokens);
    return fields;
}

Message check(const NodeReply& reply, std::size_t n_rows, ActivationType activations, const ExpertGrid& grid) {
    FieldChecks fields;
    fields.equal("the number of rows", reply.n_rows, n_rows);
    fields.that(reply.activations == activations, "the activations' type", static_cast<int>(reply.activations),
                "the one of the request");
    return fields.equal("the size of the activations", reply.outputs.size(), n_rows * row_bytes_of(grid, activations),
                        " bytes");
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
