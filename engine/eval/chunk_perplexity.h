#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/evaluation_progress.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// Perplexity as llama.cpp's tool of that name computes it: a text in chunks of n_context
// tokens, each read from an empty cache with BOS in its first token's place where the
// model's texts begin with one. Positions n_context / 2 .. n_context - 2 are scored, each
// for the token after it; tokens left over at the text's end are not.

// A chunk's number of scored rows, and the position of the first.
constexpr std::int64_t scored_rows(std::int64_t n_context) {
    return n_context - 1 - n_context / 2;
}

// The text's tokens, with the tokenizer's prefix, cut to whole chunks. n_chunks: at most
// so many; 0: all. Throws Error (kInvalidInput): not UTF-8, fewer tokens than two chunks;
// kUnsupported (no tokenizer).
std::vector<TokenId> chunk_tokens(const LoadedModel& model, std::string_view text, std::int64_t n_context,
                                  std::int64_t n_chunks, bool special);

// Reads one chunk. rows(first, logits): logits (n, vocab_size) of the rows first .. first
// + n - 1 of the scored ones, in order. Throws Error: kInvalidInput (the chunk is longer
// than the context or shorter than 4 tokens), kCancelled, kOutOfMemory, kDevice.
using ChunkRowsFn = std::function<void(std::int64_t first, std::span<const float> logits)>;
void read_chunk(LoadedModel& model, std::span<const TokenId> chunk, const ChunkRowsFn& rows,
                const std::stop_token& stop);

// Sums of a sample, for its mean and error.
struct SampleSums {
    std::int64_t n = 0;
    double sum = 0, squares = 0;

    void add(double value) {
        ++n;
        sum += value;
        squares += value * value;
    }
    double mean() const { return n > 0 ? sum / static_cast<double>(n) : 0.0; }
    // Standard error of the mean: sqrt((mean of squares - mean^2) / (n - 1)); 0 for one.
    double standard_error() const;
};

struct ChunkPerplexity {
    std::int64_t n_context = 0;
    std::int64_t n_chunks = 0;   // chosen
    bool partial = false;        // stopped before all of them were done
    std::vector<double> so_far;  // after each chunk that is done: the perplexity up to there
    SampleSums negative_log_likelihood;
    double seconds = 0;

    double value() const;           // e^mean
    double standard_error() const;  // value() times that of the mean
};

// rows (may be empty) sees all logits that are scored, chunk by chunk. A stop ends it
// with the chunks that are done (`partial`).
ChunkPerplexity measure_chunk_perplexity(LoadedModel& model, std::span<const TokenId> tokens, std::int64_t n_context,
                                         const std::function<void(std::span<const float> logits)>& rows,
                                         const EvaluationProgressFn& progress, const std::stop_token& stop);

nlohmann::ordered_json to_json(const ChunkPerplexity& result);
std::string to_text(const ChunkPerplexity& result);

}  // namespace offstage::engine
