#include <charconv>
#include <cmath>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/eval/cache_picture.h"
#include "engine/eval/replay_report.h"
#include "engine/json.h"

namespace offstage::cli {
namespace {

struct ReplayOptions {
    std::string trace;
    std::vector<engine::CacheKind> policies{engine::kCacheKinds.begin(), engine::kCacheKinds.end()};
    std::vector<std::int64_t> slots;
    std::vector<double> residency;   // shares of all experts; empty, without slots: 0.1, 0.25, 0.4 and 0.6
    std::string profile;             // of expert use; empty: none
    std::uint64_t expert_bytes = 0;  // 0: not known
    engine::CacheSettings settings;
    std::int64_t ahead = 0;  // layers; 0: no speculative loading
    std::int64_t guesses = 2;
    std::string svg;                   // the file for a picture of the cache; empty: none
    std::vector<std::int64_t> layers;  // in the picture; empty: first, middle and last
    std::int64_t from = 0, tokens = 64;
    bool json = false;
};

// "all", or names separated by commas. Throws Error (kInvalidInput).
std::vector<engine::CacheKind> parse_cache_kinds(const std::string& list) {
    if (list == "all") return {engine::kCacheKinds.begin(), engine::kCacheKinds.end()};
    std::vector<engine::CacheKind> kinds;
    for (const std::string_view name : split_list(list)) kinds.push_back(engine::parse_cache_kind(name));
    return kinds;
}

// "25%" and "25": 0.25 of all experts. A number below 1 without a sign is that share
// itself. Throws Error.
double parse_residency(const std::string& text) {
    const bool has_sign = text.ends_with('%');
    const char* const end = text.data() + text.size() - (has_sign ? 1 : 0);
    double number = -1;
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || !(number >= 0 && number <= 100)) {
        throw engine::Error(engine::ErrorKind::kInvalidInput,
                            engine::messages::residency_invalid(engine::in_quotes(text)));
    }
    return !has_sign && number < 1 ? number : number / 100;
}

void declare_replay(CLI::App& command, ReplayOptions& options) {
    command.add_option("--trace", options.trace, "The trace (offstage-cli recall --trace-out, generate --trace)")
        ->required();
    add_parsed(command, "--policy,--policies", options.policies, parse_cache_kinds,
               "all, or some of static, lru-layer, lru, lfu, slru")
        ->default_str("all");
    CLI::Option* slots =
        command.add_option("--slots", options.slots, "Experts that the cache holds: a number or several")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber);
    add_parsed_list(command, "--residency", options.residency, parse_residency,
                    "The same in per cent of all experts, 25% or 25, or as a share below 1, 0.25; 10,25,40,60 unless "
                    "given")
        ->delimiter(',')
        ->excludes(slots);
    command.add_option(
        "--profile", options.profile,
        "Profile of expert use: what is resident at the beginning, and what lfu and slru begin to count from");
    add_parsed(command, "--expert-bytes", options.expert_bytes, parse_size,
               "Size of an expert, to say bytes instead of copies");
    add_checked(command, "--half-life", options.settings.half_life, CLI::Range(0.1, 1e9),
                "Steps after which lfu and slru count a use half");
    add_checked(command, "--protected", options.settings.protected_share, CLI::Range(0.0, 1.0),
                "Share of the residents that slru protects");
    add_checked(command, "--margin", options.settings.margin, CLI::Range(1.0, 1000.0),
                "slru: how many times hotter an expert must be than the one that goes");
    add_checked(command, "--ahead", options.ahead, CLI::Range(0, 4096),
                "Speculative loading so many layers ahead, by the trace's guesses; 0: none");
    add_checked(command, "--guesses", options.guesses, CLI::Range(1, 1024), "Experts guessed per layer");
    CLI::Option* const picture =
        command.add_option("--svg", options.svg,
                           "A picture of one policy and size: experts over tokens, which were used and which were in "
                           "the cache");
    command.add_option("--layers", options.layers, "Layers that it shows; first, middle and last unless given")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber)
        ->needs(picture);
    command.add_option("--from", options.from, "Its first token")->check(CLI::NonNegativeNumber)->needs(picture);
    add_checked(command, "--tokens", options.tokens, CLI::Range(1, 4096), "How many tokens it shows")->needs(picture);
    add_json_option(command, options.json);
}

int run_replay(const ReplayOptions& options) {
    const engine::RoutingTrace trace = engine::read_trace(options.trace);
    const engine::TraceHeader& header = trace.header;
    if (trace.tokens.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::trace_without_token(options.trace));
    }
    engine::Popularity popularity = engine::Popularity::uniform(header.n_layers, header.n_experts, header.n_active);
    if (!options.profile.empty()) popularity = engine::read_popularity(options.profile);

    engine::ReplayRequest request;
    request.policies = options.policies;
    const std::int64_t total = header.n_layers * header.n_experts;
    for (const std::int64_t slots : options.slots) {
        if (slots > total) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::too_many_slots(slots, total));
        }
        request.sizes.push_back(slots);
    }
    std::vector<double> residency = options.residency;
    if (options.slots.empty() && residency.empty()) residency = {0.1, 0.25, 0.4, 0.6};
    for (const double share : residency) request.sizes.push_back(std::llround(share * static_cast<double>(total)));
    request.settings = options.settings;
    request.distance = options.ahead;
    request.n_guesses = options.guesses;
    request.expert_bytes = options.expert_bytes;
    if (!options.svg.empty()) {
        if (request.policies.size() != 1 || request.sizes.size() != 1) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::picture_of_several);
        }
        write_or_throw(options.svg, engine::to_svg(engine::cache_picture(
                                        trace, popularity,
                                        {request.policies.front(), request.sizes.front(), request.settings,
                                         options.layers, options.from, options.tokens})));
    }
    const engine::ReplayReport report = engine::compare_policies(trace, popularity, request);
    print_report(report, options.json, report.model + ": ");
    return 0;
}

}  // namespace

void add_replay(Commands& commands) {
    commands.add("replay", "Cache policies on a recorded routing trace, without the model", declare_replay, run_replay);
}

}  // namespace offstage::cli
