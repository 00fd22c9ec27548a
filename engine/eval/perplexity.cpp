#include "engine/eval/perplexity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

// The vocabulary of a step's rows is summed by several threads.
std::vector<double> log_probabilities(std::span<const float> logits, std::span<const TokenId> tokens,
                                      std::size_t vocab_size, kernels::ThreadPool& pool) {
    std::vector<double> values(tokens.size());
    pool.parallel_for(static_cast<std::int64_t>(tokens.size()), 4, [&](std::int64_t begin, std::int64_t end, int) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            values[i] = log_probability(logits.subspan(i * vocab_size, vocab_size), tokens[i]);
        }
    });
    return values;
}

}  // namespace

std::vector<TokenId> tokens_of_text(const LoadedModel& model, std::string_view text, bool special) {
    if (model.tokenizer() == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::model_cannot_read_text(model.summary().name));
    }
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid != std::string::npos) {
        throw Error(ErrorKind::kInvalidInput, messages::text_is_not_utf8(invalid + 1));
    }
    std::vector<TokenId> tokens =
        special ? model.tokenizer()->encode_with_special(text) : model.tokenizer()->encode(text);
    if (tokens.size() < 2) {
        throw Error(ErrorKind::kInvalidInput, messages::text_too_short(tokens.size()));
    }
    return tokens;
}

std::vector<std::uint8_t> answers_of(const LoadedModel& model, std::span<const TokenId> tokens,
                                     const std::string& marker) {
    const TokenId begins = model.tokenizer()->special_token(marker);
    if (begins < 0) {
        throw Error(ErrorKind::kInvalidInput, messages::no_special_token(model.summary().name, in_quotes(marker)));
    }
    std::vector<std::uint8_t> counts(tokens.size(), 0);
    bool answer = false;
    bool any = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        counts[i] = answer ? 1 : 0;
        any = any || answer;
        if (tokens[i] == begins) answer = true;
        if (tokens[i] == model.tokenizer()->eos()) answer = false;
    }
    if (!any) throw Error(ErrorKind::kInvalidInput, messages::no_answer_in_text(in_quotes(marker)));
    return counts;
}

void score_text(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& settings,
                const LogitRowsFn& rows, const std::stop_token& stop) {
    const std::vector<TokenId> prefix =
        model.tokenizer() != nullptr ? model.tokenizer()->prefix() : std::vector<TokenId>();
    const auto n_prefix = static_cast<std::int64_t>(prefix.size());
    const std::int64_t shortest = std::max<std::int64_t>(2, n_prefix + 1);
    const std::int64_t room = settings.window - n_prefix;
    const std::int64_t context = std::min(model.spec().max_context, model.plan().context);
    if (settings.window < shortest || settings.window > context) {
        throw Error(ErrorKind::kInvalidInput, messages::window_out_of_range(settings.window, shortest, context));
    }
    // Without a prefix a window's first token is predicted by nothing: the windows must
    // overlap.
    const std::int64_t longest = n_prefix > 0 ? room : room - 1;
    if (settings.stride < 1 || settings.stride > longest) {
        throw Error(ErrorKind::kInvalidInput, messages::stride_out_of_range(settings.stride, longest));
    }
    const auto n_tokens = static_cast<std::int64_t>(tokens.size());
    std::int64_t scored = n_prefix > 0 ? 0 : 1;  // tokens before this one are done
    std::vector<TokenId> window;
    for (std::int64_t begin = 0; scored < n_tokens; begin += settings.stride) {
        const std::int64_t end = std::min(n_tokens, begin + room);
        window = prefix;
        window.insert(window.end(), tokens.begin() + begin, tokens.begin() + end);
        // The last token predicts none of this window's.
        window.pop_back();
        // window[i] predicts token begin + i + 1 - n_prefix.
        const std::int64_t first_row = scored - begin + n_prefix - 1;

        KvSequence sequence = model.new_sequence();
        // Token by token it is read as an answer is made.
        const std::int64_t n_prompt = settings.step == 1 ? 0 : static_cast<std::int64_t>(window.size());
        std::span<const TokenId> left(window);
        std::int64_t done = 0;
        while (!left.empty()) {
            const std::int64_t most = model.forward().max_step();
            std::size_t n = std::min(left.size(), as_size(settings.step > 0 ? std::min(settings.step, most) : most));
            const bool wanted = done >= first_row;
            if (!wanted) n = std::min(n, static_cast<std::size_t>(first_row - done));
            const Segment segment{&sequence, left.first(n)};
            require_done(model.forward().step({&segment, 1}, wanted ? Forward::Logits::kAll : Forward::Logits::kNone,
                                              stop, n_prompt),
                         model.device());
            if (wanted) {
                rows(static_cast<std::size_t>(scored), model.forward().logits());
                scored += static_cast<std::int64_t>(n);
            }
            done += static_cast<std::int64_t>(n);
            left = left.subspan(n);
        }
    }
}

double Perplexity::value() const {
    return n_tokens > 0 ? std::exp(negative_log_likelihood / static_cast<double>(n_tokens)) : 0.0;
}

Perplexity measure_perplexity(LoadedModel& model, std::span<const TokenId> tokens, std::span<const std::uint8_t> counts,
                              const WindowSettings& settings,
                              const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                              const std::stop_token& stop, bool* partial) {
    const auto start = std::chrono::steady_clock::now();
    const auto vocab_size = static_cast<std::size_t>(model.spec().vocab_size);
    Perplexity result;
    const auto score = [&](std::size_t first, std::span<const float> logits) {
        const std::span<const TokenId> wanted = tokens.subspan(first, logits.size() / vocab_size);
        std::size_t token = first;
        for (const double value : log_probabilities(logits, wanted, vocab_size, model.pool())) {
            if (!counts.empty() && counts[token++] == 0) continue;
            result.negative_log_likelihood -= value;
            ++result.n_tokens;
        }
        const auto done = static_cast<std::int64_t>(first + wanted.size());
        if (progress) progress(done, static_cast<std::int64_t>(tokens.size()));
    };
    try {
        score_text(model, tokens, settings, score, stop);
    } catch (const Error& error) {
        if (partial == nullptr || error.kind() != ErrorKind::kCancelled) throw;
        *partial = true;
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace offstage::engine
