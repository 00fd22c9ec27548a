#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "engine/device/byte_size.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/eval/cache_picture.h"
#include "engine/eval/replay_report.h"
#include "engine/json.h"

namespace offstage::cli {

std::vector<engine::CacheKind> parse_cache_kinds(const std::string& list) {
    if (list == "all") return {engine::kCacheKinds.begin(), engine::kCacheKinds.end()};
    std::vector<engine::CacheKind> kinds;
    for (const std::string_view name : split_list(list)) kinds.push_back(engine::parse_cache_kind(name));
    return kinds;
}

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

int run_replay(const ReplayOptions& options) {
    const engine::RoutingTrace trace = engine::read_trace(options.trace);
    const engine::TraceHeader& header = trace.header;
    if (trace.tokens.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::trace_without_token(options.trace));
    }
    engine::Popularity popularity = engine::Popularity::uniform(header.n_layers, header.n_experts, header.n_active);
    if (!options.profile.empty()) popularity = engine::read_popularity(options.profile);

    engine::ReplayRequest request;
    request.policies = parse_cache_kinds(options.policies);
    const std::int64_t total = header.n_layers * header.n_experts;
    for (const std::int64_t slots : options.slots) {
        if (slots > total) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::too_many_slots(slots, total));
        }
        request.sizes.push_back(slots);
    }
    for (const std::string& residency : options.residency) {
        request.sizes.push_back(std::llround(parse_residency(residency) * static_cast<double>(total)));
    }
    request.settings = options.settings;
    request.distance = options.ahead;
    request.n_guesses = options.guesses;
    if (!options.expert_bytes.empty()) {
        request.expert_bytes = engine::parse_bytes(options.expert_bytes, "--expert-bytes");
    }
    if (!options.svg.empty()) {
        if (request.policies.size() != 1 || request.sizes.size() != 1) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::picture_of_several);
        }
        write_or_throw(options.svg,
                       engine::cache_picture(trace, popularity,
                                             {request.policies.front(), request.sizes.front(), request.settings,
                                              options.layers, options.from, options.tokens}));
    }
    const engine::ReplayReport report = engine::compare_policies(trace, popularity, request);
    print_report(report, options.json, report.model + ": ");
    return 0;
}

}  // namespace offstage::cli
