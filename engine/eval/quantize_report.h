#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/perplexity.h"
#include "engine/model/model_spec.h"
#include "engine/plan/load_request.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/quant/weight_format.h"

namespace offstage::engine {

// One way to store a model: the formats of attention's matrices and of experts.
// Everything else, and a format that is not set, stays unchanged.
struct QuantCell {
    std::optional<kernels::WeightType> attention;  // FormatTraits::for_dense
    std::optional<kernels::WeightType> experts;
    QuantMethod method = QuantMethod::kHqq;
    // "hqq3"; "rtn3" if rounded to nearest; `stored` if unchanged from the file.
    std::string experts_name(const std::string& stored) const;
    std::string attention_name() const;  // "4 bit"; "as in the file"
};

// Mixtral-Offloading's Table 1 and more: every format for dense weights x every format
// for experts, and below four bits round to nearest too. The first is the reference for
// the others. Without packed formats if the model's width does not allow them.
//
// For a file with experts in blocks: the file unchanged, then experts in every format of
// fewer bits, made from its blocks.
//
// wanted: only these formats for experts; empty: all. Throws Error (kInvalidInput) if one
// of them has no fewer bits than the file's blocks.
std::vector<QuantCell> quantize_report_cells(const ExpertGrid& grid, std::span<const FormatId> wanted = {});

struct QuantRow {
    QuantCell cell;
    std::uint64_t bytes = 0;     // all weights
    double bits_per_weight = 0;  // all weights, scales and zeros included
    // For the experts' weights: sum (w - q(w))^2 / sum w^2, w as stored in the model's
    // files, the mean over the experts, a sample of each (measure_sensitivity()). Not
    // measured for formats with round to nearest.
    std::optional<double> squared_error;
    Perplexity perplexity;  // of no token if no text was given
    // Against the first row, at each scored token: sum over the vocabulary of p ln(p /
    // q), p the first row's, in double; the mean. And the share of tokens with the same
    // most likely next token.
    double mean_kl = 0;
    double same_top = 0;
};

struct QuantizeReport {
    std::string model;
    std::string text;    // its name, for the user
    std::string stored;  // the experts' formats in the files: "BF16", "Q4_K, Q6_K"
    std::string blocks;  // those of them that were quantized once before; empty: none
    std::int64_t n_experts = 0;
    std::string answers_after;
    WindowSettings windows;
    std::vector<QuantRow> rows;
};

// Largest memory for the first row's probabilities (scored tokens x vocab_size x 4
// bytes); longer texts are cut, evenly for all rows.
inline constexpr std::uint64_t kLargestReference = std::uint64_t{1} << 30;

// Measures the loss of the formats on every expert, and if a text is given loads the
// model once per cell. text, special: see tokens_of_text(); answers_after: only tokens
// found by answers_of() count, empty: all. request.quant is overwritten. `progress` (may
// be empty) gets a line per cell. Throws Error as loading and measure_perplexity() do.
QuantizeReport make_quantize_report(LoadRequest request, std::optional<std::string_view> text, bool special,
                                    const std::string& answers_after, const WindowSettings& windows,
                                    const std::vector<QuantCell>& cells,
                                    const std::function<void(const std::string& line)>& progress,
                                    const std::stop_token& stop);

// The losses of experts in each format with all else as in the first row, for HQQ and
// plain formats; empty without a text.
std::vector<FormatLoss> format_losses(const QuantizeReport& report);
// A note for the user that the rows' weights are quantized a second time. Empty: they are
// not.
std::string note_of(const QuantizeReport& report);
nlohmann::ordered_json to_json(const QuantizeReport& report);
std::string to_markdown(const QuantizeReport& report);

}  // namespace offstage::engine
