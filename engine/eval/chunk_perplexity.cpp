#include "engine/eval/chunk_perplexity.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/perplexity.h"
#include "engine/print.h"
#include "engine/run/token_choice.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kShortestChunk = 4;
constexpr const char* kChunkRule =
    "llama.cpp: chunks of n_ctx tokens, each from an empty cache; positions n_ctx / 2 to n_ctx - 2 are scored";

void require_chunk_fits(const LoadedModel& model, std::int64_t n_context) {
    const std::int64_t most = std::min(model.spec().max_context, model.plan().context);
    if (n_context >= kShortestChunk && n_context <= most) return;
    throw Error(ErrorKind::kInvalidInput, messages::chunk_out_of_range(n_context, kShortestChunk, most));
}

}  // namespace

std::vector<TokenId> chunk_tokens(const LoadedModel& model, std::string_view text, std::int64_t n_context,
                                  std::int64_t n_chunks, bool special) {
    require_chunk_fits(model, n_context);
    std::vector<TokenId> tokens = tokens_of_text(model, text, special);
    const std::vector<TokenId> prefix = model.tokenizer()->prefix();
    tokens.insert(tokens.begin(), prefix.begin(), prefix.end());
    const auto n_tokens = static_cast<std::int64_t>(tokens.size());
    if (n_tokens < 2 * n_context) {
        throw Error(ErrorKind::kInvalidInput, messages::text_too_short_for_chunks(n_tokens, n_context));
    }
    const std::int64_t all = n_tokens / n_context;
    tokens.resize(as_size((n_chunks > 0 ? std::min(n_chunks, all) : all) * n_context));
    return tokens;
}

void read_chunk(LoadedModel& model, std::span<const TokenId> chunk, const ChunkRowsFn& rows,
                const std::stop_token& stop) {
    const auto n_context = static_cast<std::int64_t>(chunk.size());
    require_chunk_fits(model, n_context);
    std::vector<TokenId> fed(chunk.begin(), chunk.end() - 1);  // the last token predicts nothing that is scored
    if (model.tokenizer() != nullptr && model.tokenizer()->adds_bos()) fed.front() = model.tokenizer()->bos();
    const std::int64_t first_row = n_context / 2;
    KvSequence sequence = model.new_sequence();
    std::int64_t done = 0;
    for (std::span<const TokenId> left(fed); !left.empty();) {
        const bool wanted = done >= first_row;
        std::size_t n = std::min(left.size(), as_size(model.forward().max_step()));
        if (!wanted) n = std::min(n, as_size(first_row - done));
        const Segment segment{&sequence, left.first(n)};
        require_done(model.forward().step({&segment, 1}, wanted ? Forward::Logits::kAll : Forward::Logits::kNone, stop,
                                          static_cast<std::int64_t>(fed.size())),
                     model.device());
        if (wanted) rows(done - first_row, model.forward().logits());
        done += static_cast<std::int64_t>(n);
        left = left.subspan(n);
    }
}

double SampleSums::standard_error() const {
    if (n < 2) return 0;
    const double variance = squares / static_cast<double>(n) - mean() * mean();
    return variance > 0 ? std::sqrt(variance / static_cast<double>(n - 1)) : 0.0;
}

double ChunkPerplexity::value() const {
    return std::exp(negative_log_likelihood.mean());
}

double ChunkPerplexity::standard_error() const {
    return value() * negative_log_likelihood.standard_error();
}

ChunkPerplexity measure_chunk_perplexity(LoadedModel& model, std::span<const TokenId> tokens, std::int64_t n_context,
                                         const std::function<void(std::span<const float> logits)>& rows,
                                         const EvaluationProgressFn& progress, const std::stop_token& stop) {
    require_chunk_fits(model, n_context);
    const auto start = std::chrono::steady_clock::now();
    const auto vocab_size = as_size(model.spec().vocab_size);
    const std::int64_t first_target = n_context / 2 + 1;
    ChunkPerplexity result;
    result.n_context = n_context;
    result.n_chunks = static_cast<std::int64_t>(tokens.size()) / n_context;
    for (std::int64_t i = 0; i < result.n_chunks; ++i) {
        const std::span<const TokenId> chunk = tokens.subspan(as_size(i * n_context), as_size(n_context));
        std::vector<double> values(as_size(scored_rows(n_context)));
        const auto score = [&](std::int64_t first, std::span<const float> logits) {
            const auto n = static_cast<std::int64_t>(logits.size() / vocab_size);
            model.pool().parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t row = begin; row < end; ++row) {
                    values[as_size(first + row)] =
                        log_probability(logits.subspan(as_size(row) * vocab_size, vocab_size),
                                        chunk[as_size(first_target + first + row)]);
                }
            });
            if (rows) rows(logits);
        };
        try {
            read_chunk(model, chunk, score, stop);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kCancelled) throw;
            result.partial = true;
            break;
        }
        for (const double value : values) result.negative_log_likelihood.add(-value);
        result.so_far.push_back(result.value());
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (progress) {
            progress({"Chunk", i + 1, result.n_chunks, print("perplexity %.4f", result.value()), result.seconds});
        }
    }
    return result;
}

nlohmann::ordered_json to_json(const ChunkPerplexity& result) {
    return {{"task", "perplexity"},
            {"rule", kChunkRule},
            {"n_ctx", result.n_context},
            {"n_tasks", result.n_chunks},
            {"n_done", result.so_far.size()},
            {"partial", result.partial},
            {"perplexity", result.value()},
            {"standard_error", result.standard_error()},
            {"n_tokens", result.negative_log_likelihood.n},
            {"negative_log_likelihood", result.negative_log_likelihood.sum},
            {"so_far", result.so_far},
            {"seconds", result.seconds}};
}

std::string to_text(const ChunkPerplexity& result) {
    return "perplexity: " + std::to_string(result.so_far.size()) + " of " + std::to_string(result.n_chunks) +
           " chunks" + (result.partial ? ", stopped: partial" : "") + "\n" +
           print("  PPL = %.4f +/- %.5f over %lld tokens\n", result.value(), result.standard_error(),
                 static_cast<long long>(result.negative_log_likelihood.n)) +
           "Rule: " + kChunkRule + print("; n_ctx %lld.\n", static_cast<long long>(result.n_context));
}

}  // namespace offstage::engine
