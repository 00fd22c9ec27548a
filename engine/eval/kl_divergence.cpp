#include "engine/eval/kl_divergence.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

constexpr const char* kKlRule =
    "llama.cpp: Kullback-Leibler divergence from the base model's probabilities, in chunks as its perplexity";
constexpr double kLeastLogProbability = -16;  // tokens less probable in the base count for nothing
constexpr std::int64_t kEnoughTokens = 10;    // for covariances and errors

// The comparison of two rows for one token.
struct RowDistance {
    double nll, nll_base, kl, delta_p;
    bool same_top;
};

RowDistance distance_of(std::span<const float> logits, const LogitRow& base, TokenId token) {
    const auto top = std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(*top));
    const double shift = static_cast<double>(*top) + std::log(sum);
    const auto at = as_size(token);
    RowDistance result{shift - static_cast<double>(logits[at]), -static_cast<double>(base.log_probability(at)), 0, 0,
                       false};
    const auto base_top = std::max_element(base.codes.begin(), base.codes.end());
    result.same_top = top - logits.begin() == base_top - base.codes.begin();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const auto log_base = static_cast<double>(base.log_probability(i));
        if (log_base > kLeastLogProbability) {
            result.kl += std::exp(log_base) * (log_base - static_cast<double>(logits[i]) + shift);
        }
    }
    result.delta_p = std::exp(-result.nll) - std::exp(-result.nll_base);
    return result;
}

void add_distance(KlDivergence& sums, const RowDistance& row) {
    sums.nll.add(row.nll);
    sums.nll_base.add(row.nll_base);
    sums.nll_products += row.nll * row.nll_base;
    sums.kl.add(row.kl);
    sums.delta_p.add(row.delta_p);
    sums.delta_p2.add(row.delta_p * row.delta_p);
    if (row.same_top) ++sums.n_same_top;
    sums.kl_values.push_back(static_cast<float>(row.kl));
    sums.delta_p_values.push_back(static_cast<float>(row.delta_p));
}

std::vector<float> sorted_values(std::vector<float> values) {
    std::sort(values.begin(), values.end());
    return values;
}

struct NamedShare {
    const char* name;
    double share;
};
constexpr std::array<NamedShare, 13> kShares = {{{"maximum", 1},
                                                 {"99.9", 0.999},
                                                 {"99", 0.99},
                                                 {"95", 0.95},
                                                 {"90", 0.9},
                                                 {"75", 0.75},
                                                 {"median", 0.5},
                                                 {"25", 0.25},
                                                 {"10", 0.1},
                                                 {"5", 0.05},
                                                 {"1", 0.01},
                                                 {"0.1", 0.001},
                                                 {"minimum", 0}}};

nlohmann::ordered_json percentiles_json(const std::vector<float>& values) {
    const std::vector<float> sorted = sorted_values(values);
    nlohmann::ordered_json json;
    for (const NamedShare& entry : kShares) json[entry.name] = interpolated_percentile(sorted, entry.share);
    return json;
}

std::string value_with_error(const char* name, double value, double error) {
    return print("  %-26s %11.6f +/- %.6f\n", name, value, error);
}

}  // namespace

void KlDivergence::add(std::span<const float> logits, const LogitRow& base, TokenId token) {
    add_distance(*this, distance_of(logits, base, token));
}

double KlDivergence::perplexity() const {
    return std::exp(nll.mean());
}

double KlDivergence::base_perplexity() const {
    return std::exp(nll_base.mean());
}

double KlDivergence::covariance() const {
    if (nll.n < kEnoughTokens) return 0;
    const auto n = static_cast<double>(nll.n);
    return (nll_products / n - nll.mean() * nll_base.mean()) / (n - 1);
}

double KlDivergence::ln_ratio() const {
    return nll.mean() - nll_base.mean();
}

double KlDivergence::ln_ratio_error() const {
    const double a = nll.standard_error(), b = nll_base.standard_error();
    return std::sqrt(std::max(0.0, a * a + b * b - 2 * covariance()));
}

double KlDivergence::rms_delta_p() const {
    return std::sqrt(delta_p2.mean());
}

double KlDivergence::rms_delta_p_error() const {
    const double rms = rms_delta_p();
    return rms > 0 ? 0.5 / rms * delta_p2.standard_error() : 0.0;
}

double KlDivergence::same_top() const {
    return kl.n > 0 ? static_cast<double>(n_same_top) / static_cast<double>(kl.n) : 0.0;
}

double KlDivergence::same_top_error() const {
    return kl.n > 1 ? std::sqrt(same_top() * (1 - same_top()) / static_cast<double>(kl.n - 1)) : 0.0;
}

double interpolated_percentile(const std::vector<float>& sorted, double share) {
    if (sorted.empty()) return 0;
    const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double part = place - static_cast<double>(below);
    return (1 - part) * static_cast<double>(sorted[below]) + part * static_cast<double>(sorted[above]);
}

KlDivergence measure_kl_divergence(LoadedModel& model, const LogitFile& base, std::int64_t limit,
                                   const EvaluationProgressFn& progress, const std::stop_token& stop) {
    const auto start = std::chrono::steady_clock::now();
    const LogitFileHeader& header = base.header();
    if (header.vocab_size != model.spec().vocab_size) {
        throw Error(ErrorKind::kInvalidInput, messages::kl_base_of_other_vocabulary(
                                                  header.vocab_size, model.summary().name, model.spec().vocab_size));
    }
    const auto vocab_size = as_size(header.vocab_size);
    KlDivergence result;
    result.n_context = header.n_context;
    result.n_chunks = limit > 0 ? std::min(limit, header.n_chunks()) : header.n_chunks();
    for (std::int64_t i = 0; i < result.n_chunks; ++i) {
        const std::span<const TokenId> chunk =
            std::span(header.tokens).subspan(as_size(i * header.n_context), as_size(header.n_context));
        const std::vector<std::uint16_t> words = base.rows(i);
        std::vector<RowDistance> rows(as_size(scored_rows(header.n_context)));
        const auto compare = [&](std::int64_t first, std::span<const float> logits) {
            const auto n = static_cast<std::int64_t>(logits.size() / vocab_size);
            model.pool().parallel_for(n, 2, [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t row = begin; row < end; ++row) {
                    const auto at = as_size(first + row);
                    const LogitRow other = decode_logit_row(
                        std::span(words).subspan(at * header.row_words(), header.row_words()), header.vocab_size);
                    rows[at] = distance_of(logits.subspan(as_size(row) * vocab_size, vocab_size), other,
                                           chunk[as_size(header.n_context / 2 + 1) + at]);
                }
            });
        };
        try {
            read_chunk(model, chunk, compare, stop);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kCancelled) throw;
            result.partial = true;
            break;
        }
        for (const RowDistance& row : rows) add_distance(result, row);
        ++result.n_done;
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (progress) {
            progress({"Chunk", result.n_done, result.n_chunks, print("mean KL divergence %.6f", result.kl.mean()),
                      result.seconds});
        }
    }
    return result;
}

nlohmann::ordered_json to_json(const KlDivergence& result) {
    const auto pair = [](double value, double error) {
        return nlohmann::ordered_json{{"value", value}, {"standard_error", error}};
    };
    return {{"task", "kl-divergence"},
            {"rule", kKlRule},
            {"n_ctx", result.n_context},
            {"n_tasks", result.n_chunks},
            {"n_done", result.n_done},
            {"partial", result.partial},
            {"n_tokens", result.kl.n},
            {"perplexity", pair(result.perplexity(), result.perplexity() * result.nll.standard_error())},
            {"base_perplexity",
             pair(result.base_perplexity(), result.base_perplexity() * result.nll_base.standard_error())},
            {"ln_perplexity_ratio", pair(result.ln_ratio(), result.ln_ratio_error())},
            {"mean_kl", pair(result.kl.mean(), result.kl.standard_error())},
            {"kl_percentiles", percentiles_json(result.kl_values)},
            {"mean_delta_p", pair(result.delta_p.mean(), result.delta_p.standard_error())},
            {"delta_p_percentiles", percentiles_json(result.delta_p_values)},
            {"rms_delta_p", pair(result.rms_delta_p(), result.rms_delta_p_error())},
            {"same_top", pair(result.same_top(), result.same_top_error())},
            {"seconds", result.seconds}};
}

std::string to_text(const KlDivergence& result) {
    std::string text = "kl-divergence: " + std::to_string(result.n_done) + " of " + std::to_string(result.n_chunks) +
                       " chunks" + (result.partial ? ", stopped: partial" : "") + "\n";
    text += value_with_error("PPL", result.perplexity(), result.perplexity() * result.nll.standard_error());
    text += value_with_error("PPL of the base", result.base_perplexity(),
                             result.base_perplexity() * result.nll_base.standard_error());
    text += value_with_error("ln(PPL / PPL of the base)", result.ln_ratio(), result.ln_ratio_error());
    text += value_with_error("mean KL divergence", result.kl.mean(), result.kl.standard_error());
    text += value_with_error("mean delta p, %", 100 * result.delta_p.mean(), 100 * result.delta_p.standard_error());
    text += value_with_error("RMS delta p, %", 100 * result.rms_delta_p(), 100 * result.rms_delta_p_error());
    text += value_with_error("same top token, %", 100 * result.same_top(), 100 * result.same_top_error());
    const std::vector<float> kl = sorted_values(result.kl_values), delta_p = sorted_values(result.delta_p_values);
    text += "  percentile    KL divergence     delta p, %\n";
    for (const NamedShare& entry : kShares) {
        text += print("  %-10s  %15.6f  %13.4f\n", entry.name, interpolated_percentile(kl, entry.share),
                      100 * interpolated_percentile(delta_p, entry.share));
    }
    return text + "Rule: " + kKlRule + print("; n_ctx %lld.\n", static_cast<long long>(result.n_context));
}

}  // namespace offstage::engine
