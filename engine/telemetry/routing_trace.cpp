#include "engine/telemetry/routing_trace.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include "engine/base_messages.h"
#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/shape_limits.h"
#include "engine/telemetry/telemetry_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestTrace = std::size_t{1} << 30;
constexpr std::size_t kLongestLine = std::size_t{4} << 20;
constexpr std::int64_t kMostActive = 1024;
constexpr std::int64_t kMostDistances = 64;
// Ids of one token: its line stays below the longest.
constexpr std::size_t kMostIds = std::size_t{1} << 18;
constexpr std::int64_t kLargestTraceCount = std::int64_t{1} << 48;

constexpr std::string_view name_of(TokenKind kind) {
    return kind == TokenKind::kPrompt ? "prompt" : "decode";
}

[[noreturn]] void reject(const std::string& where, const MessageArgument& found, const MessageArgument& expected) {
    throw Error(ErrorKind::kInvalidModel, messages::trace_value_rejected(where, found, expected));
}

TraceHeader read_header(std::string_view line, const std::string& source) {
    const json document = parse_json(line, source, {.max_depth = 4, .max_values = 1000});
    const JsonFields fields(document, source);
    if (fields.text("format") != "offstage-trace") fields.reject("format", "\"offstage-trace\"");
    fields.integer("version", 1, 1);
    TraceHeader header;
    header.model = fields.text("model");
    header.n_layers = fields.integer("n_layers", 1, kMostLayers);
    header.n_experts = fields.integer("n_experts", 1, kMostExperts);
    header.n_active = fields.integer("n_active", 1, std::min(kMostActive, header.n_experts));
    if (const json* list = fields.find("distances"); list != nullptr) {
        if (!list->is_array() || list->empty() || list->size() > static_cast<std::size_t>(kMostDistances)) {
            fields.reject("distances", messages::a_list_of_distances);
        }
        for (const json& value : *list) {
            const std::int64_t least = header.distances.empty() ? 1 : header.distances.back() + 1;
            if (!value.is_number_integer() || value < least || value >= header.n_layers) {
                fields.reject("distances", messages::ascending_distances);
            }
            header.distances.push_back(value.get<std::int64_t>());
        }
        header.n_guesses = fields.integer("n_guesses", 1, std::min(kMostActive, header.n_experts));
    }
    if (header.experts_per_token() + header.guesses_per_token() > kMostIds) {
        throw Error(
            ErrorKind::kInvalidModel,
            messages::trace_token_too_large(source, header.experts_per_token() + header.guesses_per_token(), kMostIds));
    }
    return header;
}

// Appends a list of `n` ids from `lowest` to n_experts - 1.
void read_ids(const JsonFields& fields, const char* key, std::size_t n, std::int64_t lowest, std::int64_t n_experts,
              const std::string& where, std::vector<std::int32_t>& ids) {
    const json* list = fields.find(key);
    if (list == nullptr || !list->is_array() || list->size() != n) {
        fields.reject(key, messages::a_list_of_numbers_counted(n));
    }
    for (std::size_t i = 0; i < n; ++i) {
        const json& value = (*list)[i];
        if (!value.is_number_integer() || value < lowest || value >= n_experts) {
            reject(where + ": \"" + key + "\"[" + std::to_string(i) + "]", describe(value),
                   messages::a_number_in_range(lowest, n_experts - 1));
        }
        ids.push_back(value.get<std::int32_t>());
    }
}

void read_token(std::string_view line, const std::string& where, RoutingTrace& trace) {
    const TraceHeader& header = trace.header;
    const json document = parse_json(line, where, {.max_depth = 4, .max_values = kMostIds + 100});
    const JsonFields fields(document, where);
    TracedToken token;
    token.step = fields.integer("step", trace.tokens.empty() ? 0 : trace.tokens.back().step, kLargestTraceCount);
    token.position = fields.integer("position", 0, kLargestTraceCount);
    const std::string kind = fields.text("kind");
    if (kind != name_of(TokenKind::kPrompt) && kind != name_of(TokenKind::kDecode)) {
        fields.reject("kind", messages::prompt_or_decode);
    }
    token.kind = kind == name_of(TokenKind::kPrompt) ? TokenKind::kPrompt : TokenKind::kDecode;
    const std::size_t first = trace.experts.size();
    read_ids(fields, "experts", header.experts_per_token(), 0, header.n_experts, where, trace.experts);
    const auto n_active = static_cast<std::size_t>(header.n_active);
    for (std::size_t i = first; i < trace.experts.size(); ++i) {
        const std::size_t row = first + (i - first) / n_active * n_active;
        for (std::size_t j = row; j < i; ++j) {
            if (trace.experts[i] != trace.experts[j]) continue;
            throw Error(ErrorKind::kInvalidModel, messages::traced_expert_twice(where, i - first, trace.experts[i]));
        }
    }
    if (header.distances.empty()) {
        if (fields.has("guesses")) fields.reject("guesses", messages::no_guesses_without_distances);
    } else {
        read_ids(fields, "guesses", header.guesses_per_token(), -1, header.n_experts, where, trace.guesses);
    }
    trace.tokens.push_back(token);
}

void append(std::string& text, std::int64_t value) {
    std::array<char, 24> digits{};
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

template <typename T>
void append_list(std::string& text, std::span<const T> values) {
    text += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ',';
        append(text, values[i]);
    }
    text += ']';
}

}  // namespace

RoutingTrace parse_trace(std::string_view text, const std::string& source) {
    RoutingTrace trace;
    std::int64_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string where = source + ", line " + std::to_string(++number);
        if (line.size() > kLongestLine) {
            throw Error(ErrorKind::kInvalidModel, messages::trace_line_too_long(where, line.size()));
        }
        if (number == 1) {
            trace.header = read_header(line, where);
        } else {
            read_token(line, where, trace);
        }
    }
    if (number == 0) throw Error(ErrorKind::kInvalidModel, messages::trace_empty(source));
    return trace;
}

RoutingTrace read_trace(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_small_file(file, kLargestTrace);
    if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_trace(shown_path(file)));
    return parse_trace(*text, shown_path(file));
}

TraceWriter::TraceWriter(const std::filesystem::path& file, const TraceHeader& header)
    : name_(shown_path(file)), header_(header), file_(file) {
    if (!file_.failure().empty()) {
        throw Error(ErrorKind::kInvalidInput, messages::trace_cannot_be_written(name_, file_.failure()));
    }
    const std::string model = json(header.model).dump(-1, ' ', false, json::error_handler_t::replace);
    line_ = R"({"format":"offstage-trace","version":1,"model":)" + model + R"(,"n_layers":)" +
            std::to_string(header.n_layers) + R"(,"n_experts":)" + std::to_string(header.n_experts) +
            R"(,"n_active":)" + std::to_string(header.n_active);
    if (!header.distances.empty()) {
        line_ += R"(,"distances":)";
        append_list<std::int64_t>(line_, header.distances);
        line_ += R"(,"n_guesses":)" + std::to_string(header.n_guesses);
    }
    line_ += "}\n";
    file_.write(line_);
}

void TraceWriter::add_step(std::span<const std::int32_t> experts, std::span<const std::int64_t> positions,
                           TokenKind kind, std::span<const std::int32_t> guesses) {
    const std::size_t n_experts = header_.experts_per_token();
    const std::size_t n_guesses = header_.guesses_per_token();
    assert(experts.size() == positions.size() * n_experts && guesses.size() == positions.size() * n_guesses);
    for (std::size_t t = 0; t < positions.size(); ++t) {
        add_token(experts.subspan(t * n_experts, n_experts), positions[t], kind,
                  guesses.subspan(t * n_guesses, n_guesses));
    }
    ++step_;
}

void TraceWriter::add_step(std::span<const std::int32_t> experts, std::int64_t n_tokens, std::int64_t first_position,
                           TokenKind kind, std::span<const std::int32_t> guesses) {
    const std::size_t n_experts = header_.experts_per_token();
    const std::size_t n_guesses = header_.guesses_per_token();
    assert(experts.size() == static_cast<std::size_t>(n_tokens) * n_experts &&
           guesses.size() == static_cast<std::size_t>(n_tokens) * n_guesses);
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        const auto at = static_cast<std::size_t>(t);
        add_token(experts.subspan(at * n_experts, n_experts), first_position + t, kind,
                  guesses.subspan(at * n_guesses, n_guesses));
    }
    ++step_;
}

void TraceWriter::add_token(std::span<const std::int32_t> experts, std::int64_t position, TokenKind kind,
                            std::span<const std::int32_t> guesses) {
    line_ = R"({"step":)";
    append(line_, step_);
    line_ += R"(,"position":)";
    append(line_, position);
    line_ += R"(,"kind":")";
    line_ += name_of(kind);
    line_ += R"(","experts":)";
    append_list(line_, experts);
    if (!guesses.empty()) {
        line_ += R"(,"guesses":)";
        append_list(line_, guesses);
    }
    line_ += "}\n";
    file_.write(line_);
    ++n_tokens_;
}

void TraceWriter::finish() {
    if (const std::string failure = file_.commit(); !failure.empty()) {
        throw Error(ErrorKind::kInvalidInput, messages::trace_not_written(name_, failure));
    }
}

}  // namespace offstage::engine
