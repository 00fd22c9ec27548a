#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/eval/chunk_perplexity.h"
#include "engine/eval/evaluation_progress.h"
#include "engine/eval/logit_file.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// The distance of a model from the one whose logits a file holds, with the figures of
// llama.cpp's --kl-divergence. For each scored token:
//   KL    sum over the vocabulary of p_base (ln p_base - ln p), where ln p_base > -16
//   delta p   p - p_base of the text's token
//   same top  whether both have the same most probable token, the first of equals
// and ln PPL(Q) / PPL(base) with its error by covariance.
struct KlDivergence {
    std::int64_t n_context = 0;
    std::int64_t n_chunks = 0;
    std::int64_t n_done = 0;
    bool partial = false;
    SampleSums nll, nll_base, kl, delta_p, delta_p2;
    double nll_products = 0;  // sum of nll * nll_base
    std::int64_t n_same_top = 0;
    std::vector<float> kl_values, delta_p_values;  // one per scored token
    double seconds = 0;

    // Adds one row: the model's logits, the base's row, and the token that stands there.
    void add(std::span<const float> logits, const LogitRow& base, TokenId token);

    double perplexity() const;       // of the model
    double base_perplexity() const;  // as the file has it
    double covariance() const;       // of the two means of -ln p; 0 for fewer than 10 tokens
    double ln_ratio() const;         // ln(perplexity / base_perplexity)
    double ln_ratio_error() const;
    double rms_delta_p() const;
    double rms_delta_p_error() const;
    double same_top() const;  // share
    double same_top_error() const;
};

// Linear between the two nearest of the sorted values; 0 for none.
double interpolated_percentile(const std::vector<float>& sorted, double share);

// Reads the base's text with the model. A stop ends it with the chunks that are done
// (`partial`). Throws Error: kInvalidInput (another vocabulary, chunks longer than the
// context), as LogitFile::rows(), kOutOfMemory, kDevice.
KlDivergence measure_kl_divergence(LoadedModel& model, const LogitFile& base, std::int64_t limit,
                                   const EvaluationProgressFn& progress, const std::stop_token& stop);

nlohmann::ordered_json to_json(const KlDivergence& result);
std::string to_text(const KlDivergence& result);

}  // namespace offstage::engine
