#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/perplexity.h"
#include "engine/plan/load_request.h"
#include "engine/quant/weight_format.h"

namespace offstage::engine {

// One way to store a model. Attention's matrices and experts; everything else stays as it is.
struct QuantCell {
    kernels::WeightType attention = kernels::WeightType::kBf16;  // FormatTraits::for_dense
    kernels::WeightType experts = kernels::WeightType::kBf16;
    QuantMethod method = QuantMethod::kHqq;
    std::string experts_name() const;  // "hqq3"; "rtn3" where rounded to nearest
};

// Mixtral-Offloading's Table 1 and more: every format for dense weights x every format
// for experts, and below four bits rounded to nearest too. The first is what the others
// are compared with. Without packed formats where the model's width does not allow them.
std::vector<QuantCell> quantize_report_cells(const ModelSpec& spec);

struct QuantRow {
    QuantCell cell;
    std::uint64_t bytes = 0;     // of all weights
    double bits_per_weight = 0;  // of all weights, scales and zeros included
    Perplexity perplexity;
    // Against the first row, at each scored token: sum over the vocabulary of p ln(p / q), p the first row's, in
    // double; the mean. And the share of tokens at which the likeliest next token is the same.
    double mean_kl = 0;
    double same_top = 0;
};

struct QuantizeReport {
    std::string model;
    std::string text;  // its name, for the person
    std::string answers_after;
    WindowSettings windows;
    std::vector<QuantRow> rows;
};

// Largest memory for the first row's probabilities (scored tokens x vocab_size x 4 bytes); longer texts are cut, evenly
// for all rows.
inline constexpr std::uint64_t kLargestReference = std::uint64_t{1} << 30;

// Loads the model once per cell. text, special: see tokens_of_text();
// answers_after: only what answers_of() finds counts, empty: all. request.quant is overwritten. `progress` (may be
// empty) gets a line per cell. Throws Error as loading and measure_perplexity() do.
QuantizeReport make_quantize_report(LoadRequest request, std::string_view text, bool special,
                                    const std::string& answers_after, const WindowSettings& windows,
                                    const std::vector<QuantCell>& cells,
                                    const std::function<void(const std::string& line)>& progress,
                                    const std::stop_token& stop);

nlohmann::ordered_json to_json(const QuantizeReport& report);
std::string to_markdown(const QuantizeReport& report);

}  // namespace offstage::engine
