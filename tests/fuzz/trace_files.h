#pragma once
// The guarantees of the reader of routing traces, checked on any input: either an
// engine::Error or a trace whose ids index nothing out of range, and that a replay
// accepts. Returns the first broken guarantee, or "". Shared by the fuzz target and by
// the test that reads the stored inputs.

#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/eval/replay_report.h"

namespace offstage::tests {

inline std::string check_trace(std::string_view text) {
    constexpr const char* kSource = "input.trace";
    engine::RoutingTrace trace;
    try {
        trace = engine::parse_trace(text, kSource);
    } catch (const engine::Error& error) {
        if (!std::string_view(error.what()).starts_with(kSource)) return "a message that does not name the file";
        if (error.kind() != engine::ErrorKind::kInvalidModel) return "an error of another kind than kInvalidModel";
        return {};
    }
    const engine::TraceHeader& header = trace.header;
    if (header.n_layers < 1 || header.n_active < 1 || header.n_active > header.n_experts) return "a shape out of range";
    if (trace.experts.size() != trace.tokens.size() * header.experts_per_token() ||
        trace.guesses.size() != trace.tokens.size() * header.guesses_per_token()) {
        return "ids of another shape";
    }
    for (const std::int32_t expert : trace.experts) {
        if (expert < 0 || expert >= header.n_experts) return "an expert out of range";
    }
    for (const std::int32_t expert : trace.guesses) {
        if (expert < -1 || expert >= header.n_experts) return "a guess out of range";
    }
    for (std::size_t i = 1; i < trace.tokens.size(); ++i) {
        if (trace.tokens[i].step < trace.tokens[i - 1].step) return "steps that go back";
    }
    const std::int64_t total = header.n_layers * header.n_experts;
    if (trace.tokens.empty() || total > 4096) return {};
    engine::ReplayRequest request;
    request.policies = {engine::kCacheKinds.begin(), engine::kCacheKinds.end()};
    request.sizes = {total / 3};
    if (!header.distances.empty()) request.distance = header.distances.front();
    const auto nothing_known = engine::Popularity::uniform(header.n_layers, header.n_experts, header.n_active);
    for (const auto& result : engine::compare_policies(trace, nothing_known, request).results) {
        if (result.all.hits > result.all.calls) return "more hits than calls";
        if (result.evictions > result.admissions) return "more evictions than admissions";
        if (result.guessed_used > result.guessed_copies) return "more guesses used than made";
    }
    return {};
}

}  // namespace offstage::tests
