#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/step_model.h"

namespace offstage::engine {

// The three scenarios of Fiddler's evaluation (section 4).
enum class ScenarioKind : std::uint8_t {
    kDecode,   // one answer after a short prompt
    kPrefill,  // the first token after a long prompt
    kBeam,     // beam search
};
std::string_view name_of(ScenarioKind kind);  // "decode", "prefill", "beam"

// A dispatch policy under the name that reports show.
struct ScenarioPolicy {
    std::string name;
    DispatchSettings settings;
};

struct ScenarioRequest {
    std::vector<ScenarioKind> kinds = {ScenarioKind::kDecode, ScenarioKind::kPrefill, ScenarioKind::kBeam};
    std::vector<ScenarioPolicy> policies;
    // The paper's lengths, in tokens.
    std::vector<std::int64_t> decode_in = {32, 64, 128, 256};
    std::vector<std::int64_t> decode_out = {64, 128, 256, 512};
    std::vector<std::int64_t> prefill_in = {512, 1024, 2048, 4096};
    std::vector<std::int64_t> beam_in = {32};
    std::vector<std::int64_t> beam_out = {64};
    std::vector<std::int64_t> beam_widths = {4, 8, 12, 16};
    int repeats = 3;
    // The source of prompts: each is the beginning of a sequence that is long enough,
    // another one in every repeat, and a decode continues with the sequence's tokens.
    // Empty: random tokens.
    std::vector<std::vector<TokenId>> sequences;
};

// Throws Error (kInvalidInput) naming the list and the value: an empty list, a length
// below 1, a width outside 1 .. kLargestBeamWidth.
void validate(const ScenarioRequest& request);
// Removes lengths that do not fit a model of so many tokens; returns a sentence on the
// removed ones, or none. Throws Error (kInvalidInput) when nothing is left.
std::string fit_to_context(ScenarioRequest& request, std::int64_t max_context);
// Tokens of KV cache that the request takes at most, all beams together.
std::int64_t context_of(const ScenarioRequest& request);

// Medians over the repeats.
struct ScenarioRow {
    ScenarioKind kind = ScenarioKind::kDecode;
    std::string policy;
    std::int64_t in = 0;       // tokens of the prompt
    std::int64_t out = 0;      // tokens of each answer; the prompt's own step makes the first
    std::int64_t width = 1;    // beams
    double ttft_us = 0;        // the prompt's steps
    double itl_median_us = 0;  // from one token to the next: median and 95th percentile of a repeat. 0: out is 1
    double itl_p95_us = 0;
    double total_us = 0;                                         // from the request to the last token
    double tokens_per_s = 0;                                     // out / total; prefill: in / ttft
    double hit_rate = 0;                                         // (token, expert) pairs whose expert was resident
    double bytes_copied = 0;                                     // weights
    double copied_calls = 0, cpu_calls = 0, resident_calls = 0;  // experts of a layer and step, by where they ran
    int repeats = 0;
};

// Runs every case under every policy, `repeats` times; the policies take turns within a
// repeat and begin with another one each time, so that a machine that grows slower
// favours none. All policies get the same tokens. A decode to the longest `out` gives the
// rows of the shorter ones as well. `log` (may be empty) gets a line for each run. Throws
// Error as StepModel does, and as validate(); kInvalidInput if no sequence is as long as
// a prompt.
std::vector<ScenarioRow> run_scenarios(StepModel& model, const ScenarioRequest& request,
                                       const std::function<void(const std::string&)>& log, const std::stop_token& stop);

}  // namespace offstage::engine
