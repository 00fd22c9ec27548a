#include "engine/cluster/node_protocol.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cluster/node_messages.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {
namespace {

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
    if (request.activations != ActivationType::kF32 && request.activations != ActivationType::kBf16) {
        return wrong("the activations' type", static_cast<int>(request.activations), "0 or 1");
    }
    if (!(request.theta >= 0) || request.theta > static_cast<float>(kLargestTheta)) {
        return wrong("theta", static_cast<double>(request.theta), "0 or a positive number");
    }
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
    std::uint64_t n_rows = 0;
    std::int64_t last = -1;
    for (const ComputeExpert& expert : request.experts) {
        const NodeExpert key{request.layer, expert.expert, expert.format};
        if (Message message = check(key, grid); !message.empty()) return message;
        if (expert.expert <= last) return wrong("the expert", expert.expert, "experts in ascending order, each once");
        last = expert.expert;
        if (expert.n_rows < 1) return wrong("an expert's number of rows", expert.n_rows, "1 or more");
        n_rows += expert.n_rows;
    }
    if (n_rows != request.row_token.size()) {
        return wrong("the sum of the experts' rows", n_rows, std::to_string(request.row_token.size()));
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
