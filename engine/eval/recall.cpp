#include "engine/eval/recall.h"

#include <algorithm>
#include <numeric>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/json.h"
#include "engine/run/routing_probe.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kLongestText = std::size_t{16} << 20;

double mean_of(std::span<const double> values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Hit rates of all k at once: an expert that was used as the d-th most recent one hits in every cache of more than d.
void measure_lru(const RoutingTrace& trace, RecallReport& report) {
    const auto n_experts = as_size(report.n_experts), n_active = as_size(report.n_active);
    std::vector<std::int32_t> recent(n_experts), used(n_active);
    std::vector<std::uint64_t> at_depth(n_experts);
    for (std::size_t layer = 0; layer < as_size(report.n_layers); ++layer) {
        std::iota(recent.begin(), recent.end(), 0);
        std::fill(at_depth.begin(), at_depth.end(), 0);
        for (std::size_t token = 0; token < trace.tokens.size(); ++token) {
            const auto row = trace.experts_of(token).subspan(layer * n_active, n_active);
            std::copy(row.begin(), row.end(), used.begin());
            std::sort(used.begin(), used.end());
            // All of a token's experts are looked up before any of them is used: they are needed at the same time.
            for (const std::int32_t expert : used) {
                ++at_depth[static_cast<std::size_t>(std::find(recent.begin(), recent.end(), expert) - recent.begin())];
            }
            for (const std::int32_t expert : used) {
                const auto place = std::find(recent.begin(), recent.end(), expert);
                std::rotate(recent.begin(), place, place + 1);
            }
        }
        std::uint64_t hits = 0;
        for (std::size_t k = 0; k < n_experts; ++k) {
            hits += at_depth[k];
            report.lru.push_back(static_cast<double>(hits) /
                                 static_cast<double>(std::max<std::size_t>(1, trace.tokens.size() * n_active)));
        }
    }
    for (std::size_t k = 0; k < n_experts; ++k) {
        double sum = 0;
        for (std::size_t layer = 0; layer < as_size(report.n_layers); ++layer) sum += report.lru[layer * n_experts + k];
        report.lru_mean.push_back(sum / static_cast<double>(report.n_layers));
    }
}

RecallReport::Ahead measure_ahead(const RoutingTrace& trace, std::size_t distance_index, std::int64_t n_guesses) {
    const TraceHeader& header = trace.header;
    const auto n_layers = as_size(header.n_layers), n_active = as_size(header.n_active);
    RecallReport::Ahead ahead;
    ahead.distance = header.distances[distance_index];
    ahead.n_guesses = n_guesses;
    ahead.layers.assign(n_layers, -1);
    std::vector<double> known;
    for (std::size_t layer = as_size(ahead.distance); layer < n_layers; ++layer) {
        std::uint64_t found = 0;
        for (std::size_t token = 0; token < trace.tokens.size(); ++token) {
            const auto guessed = std::span(trace.guesses)
                                     .subspan(token * header.guesses_per_token() +
                                                  (distance_index * n_layers + layer) * as_size(header.n_guesses),
                                              as_size(n_guesses));
            for (const std::int32_t expert : trace.experts_of(token).subspan(layer * n_active, n_active)) {
                if (std::find(guessed.begin(), guessed.end(), expert) != guessed.end()) ++found;
            }
        }
        ahead.layers[layer] =
            static_cast<double>(found) / static_cast<double>(std::max<std::size_t>(1, trace.tokens.size() * n_active));
        known.push_back(ahead.layers[layer]);
    }
    ahead.mean = mean_of(known);
    return ahead;
}

const Tokenizer& tokenizer_of(const LoadedModel& model) {
    if (model.tokenizer() == nullptr) {
        throw Error(ErrorKind::kUnsupported,
                    "The model " + model.summary().name + " has no tokenizer, so it cannot read text.");
    }
    return *model.tokenizer();
}

std::vector<ChatMessage> read_messages(std::string_view line, const std::string& where) {
    const nlohmann::json document = parse_json(line, where, {.max_depth = 8, .max_values = 10'000});
    const JsonFields fields(document, where);
    const nlohmann::json* list = fields.find("messages");
    if (list == nullptr || !list->is_array() || list->empty()) {
        fields.reject("messages", "a list of {\"role\": ..., \"content\": ...}");
    }
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const JsonFields message((*list)[i], where, "messages[" + std::to_string(i) + "].");
        const std::string role = message.text("role");
        if (role == name_of(Role::kSystem)) {
            messages.push_back({Role::kSystem, message.text("content")});
        } else if (role == name_of(Role::kUser)) {
            messages.push_back({Role::kUser, message.text("content")});
        } else if (role == name_of(Role::kAssistant)) {
            messages.push_back({Role::kAssistant, message.text("content")});
        } else {
            message.reject("role", R"("system", "user" or "assistant")");
        }
    }
    return messages;
}

[[noreturn]] void no_token() {
    throw Error(ErrorKind::kInvalidInput, "The text holds no token; expected some text to measure.");
}

}  // namespace

RecallReport measure_recall(const RoutingTrace& trace) {
    RecallReport report;
    report.model = trace.header.model;
    report.n_layers = trace.header.n_layers;
    report.n_experts = trace.header.n_experts;
    report.n_active = trace.header.n_active;
    report.n_tokens = static_cast<std::int64_t>(trace.tokens.size());
    measure_lru(trace, report);
    for (std::size_t d = 0; d < trace.header.distances.size(); ++d) {
        for (std::int64_t n = report.n_active; n <= std::min(report.n_active + 1, trace.header.n_guesses); ++n) {
            report.ahead.push_back(measure_ahead(trace, d, n));
        }
    }
    return report;
}

RoutingTrace record_routing(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                            std::span<const std::int64_t> distances,
                            const std::function<void(std::int64_t done)>& progress, const std::stop_token& stop) {
    const ExpertGrid& grid = model.spec().experts;
    Forward& forward = model.forward();
    RoutingTrace trace;
    trace.header = {model.summary().name, grid.n_layers, grid.n_experts, grid.n_active, {}, 0};
    for (const std::int64_t distance : distances) {
        if (distance < grid.n_layers) trace.header.distances.push_back(distance);
    }
    if (!trace.header.distances.empty()) trace.header.n_guesses = std::min(grid.n_active + 1, grid.n_experts);

    // Guesses take room on the device for every token of a step.
    const std::int64_t max_step = std::min<std::int64_t>(forward.max_step(), 256);
    RoutingProbe probe(model.spec(), model.device(), trace.header.distances,
                       std::max<std::int64_t>(1, trace.header.n_guesses), max_step);
    struct Attached {
        Forward& forward;
        ~Attached() { forward.set_probe(nullptr); }
    } attached{forward};
    forward.set_probe(&probe);

    for (const std::vector<TokenId>& tokens : sequences) {
        KvSequence sequence = model.new_sequence();
        std::span<const TokenId> left(tokens);
        while (!left.empty()) {
            const Segment segment{&sequence, left.first(std::min(left.size(), as_size(max_step)))};
            const std::int64_t first = sequence.size();
            require_done(
                forward.step({&segment, 1}, Forward::Logits::kNone, stop, static_cast<std::int64_t>(tokens.size())),
                model.device());
            const auto routing = forward.routing();
            trace.experts.insert(trace.experts.end(), routing.begin(), routing.end());
            trace.guesses.insert(trace.guesses.end(), probe.guesses().begin(), probe.guesses().end());
            for (std::int64_t position = first; position < sequence.size(); ++position) {
                trace.tokens.push_back({static_cast<std::int64_t>(trace.tokens.size()), position, TokenKind::kDecode});
            }
            left = left.subspan(segment.tokens.size());
            if (progress) progress(static_cast<std::int64_t>(trace.tokens.size()));
        }
    }
    return trace;
}

std::vector<std::vector<TokenId>> text_sequences(const LoadedModel& model, std::string_view text) {
    const Tokenizer& tokenizer = tokenizer_of(model);
    const std::vector<TokenId> tokens = tokenizer.encode(text);
    if (tokens.empty()) no_token();
    const std::vector<TokenId> bos = tokenizer.adds_bos() ? std::vector{tokenizer.bos()} : std::vector<TokenId>();
    const auto context = as_size(model.plan().context);
    if (context <= bos.size()) throw Error(ErrorKind::kInvalidInput, "The context is too short to measure anything.");
    std::vector<std::vector<TokenId>> sequences;
    for (std::span<const TokenId> left(tokens); !left.empty();) {
        const auto window = left.first(std::min(left.size(), context - bos.size()));
        sequences.push_back(bos);
        sequences.back().insert(sequences.back().end(), window.begin(), window.end());
        left = left.subspan(window.size());
    }
    return sequences;
}

std::vector<std::vector<TokenId>> conversation_sequences(const LoadedModel& model, std::string_view lines,
                                                         const std::string& source) {
    const Tokenizer& tokenizer = tokenizer_of(model);
    if (model.chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, "The model " + model.summary().name +
                                                 " has no chat template; expected plain text, not conversations.");
    }
    if (lines.size() > kLongestText) {
        throw Error(ErrorKind::kInvalidInput, source + " is larger than 16 MiB; expected fewer conversations.");
    }
    const auto piece = [&](TokenId token) { return token < 0 ? std::string() : tokenizer.piece_name(token); };
    const ChatTemplate::Tokens special{piece(tokenizer.bos()), piece(tokenizer.eos())};
    std::vector<std::vector<TokenId>> sequences;
    for (std::int64_t number = 1; !lines.empty(); ++number) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto messages = read_messages(line, source + ", line " + std::to_string(number));
        sequences.push_back(tokenizer.encode_with_special(model.chat_template()->render(messages, special, false)));
        if (sequences.back().size() > as_size(model.plan().context))
            sequences.back().resize(as_size(model.plan().context));
    }
    if (std::all_of(sequences.begin(), sequences.end(), [](const auto& tokens) { return tokens.empty(); })) no_token();
    return sequences;
}

}  // namespace offstage::engine
