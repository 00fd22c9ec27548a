#include "engine/eval/choice_evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/print.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

// Encodes texts by one rule.
class TaskEncoder {
  public:
    TaskEncoder(const Tokenizer& tokenizer, bool special) : tokenizer_(tokenizer), special_(special) {}

    std::vector<TokenId> operator()(std::string_view text) const {
        std::vector<TokenId> tokens = tokenizer_.prefix();
        const std::vector<TokenId> own = special_ ? tokenizer_.encode_with_special(text) : tokenizer_.encode(text);
        tokens.insert(tokens.end(), own.begin(), own.end());
        return tokens;
    }

  private:
    const Tokenizer& tokenizer_;
    bool special_;
};

std::string choice_name(const ChoiceTask& task, std::size_t choice) {
    return task.where + ", choice " + std::to_string(choice + 1);
}

[[noreturn]] void no_token_of_its_own(const ChoiceTask& task, std::size_t choice) {
    throw Error(ErrorKind::kInvalidInput, messages::choice_adds_no_token(choice_name(task, choice)));
}

// Tokens of all choices of a task. If all have the same context, it is encoded once.
std::vector<ScoredTokens> lm_eval_tokens(const ChoiceTask& task, const TaskEncoder& encode) {
    const auto n_tokens_of = [&](std::string context) {
        context.resize(context.size() - trailing_space(context));
        return encode(context).size();
    };
    std::vector<ScoredTokens> choices;
    std::size_t first = 0;
    for (std::size_t i = 0; i < task.choices.size(); ++i) {
        const Choice& choice = task.choices[i];
        const std::string context = task.context + choice.lead;
        if (i == 0 || !choice.lead.empty()) first = n_tokens_of(context);
        ScoredTokens tokens{encode(context + choice.continuation), std::max<std::size_t>(first, 1), 0};
        tokens.end = tokens.tokens.size();
        if (tokens.first >= tokens.end) no_token_of_its_own(task, i);
        choices.push_back(std::move(tokens));
    }
    return choices;
}

// The first token in which the choices differ; if one text is the beginning of another,
// its last token.
std::size_t first_difference(std::span<const ScoredTokens> choices) {
    const std::vector<TokenId>& a = choices.front().tokens;
    std::size_t first = a.size() - 1;
    for (const ScoredTokens& choice : choices) {
        const std::vector<TokenId>& b = choice.tokens;
        first = std::min(first, b.size() - 1);
        first = std::min(first, as_size(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin()));
    }
    return first;
}

void set_llama_stretches(const ChoiceTask& task, ChoiceRule rule, const TaskEncoder& encode,
                         std::vector<ScoredTokens>& choices) {
    constexpr std::size_t kShortTail = 3;
    const std::size_t shared = first_difference(choices);
    bool whole_tail = rule == ChoiceRule::kMeanPerToken;
    for (const ScoredTokens& choice : choices) whole_tail |= choice.tokens.size() - shared <= kShortTail;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        ScoredTokens& choice = choices[i];
        choice.first = whole_tail ? shared : encode(task.context + task.choices[i].lead).size();
        choice.first = std::max<std::size_t>(choice.first, 1);  // nothing predicts the first token of a text
        choice.end = choice.tokens.size();
        if (choice.first >= choice.end) no_token_of_its_own(task, i);
        if (rule == ChoiceRule::kMeanAfterChoice && choice.end - choice.first > 1) --choice.end;
    }
}

}  // namespace

TaskTokens tokens_of_task(const ChoiceTask& task, ChoiceRule rule, const Tokenizer& tokenizer, std::int64_t context,
                          bool special) {
    const TaskEncoder encode(tokenizer, special);
    TaskTokens result;
    const bool is_lm_eval = rule == ChoiceRule::kSum || rule == ChoiceRule::kSumAndPerCharacter;
    if (!is_lm_eval) {
        for (std::size_t i = 0; i < task.choices.size(); ++i) {
            result.choices.push_back(
                {encode(task.context + task.choices[i].lead + task.choices[i].continuation), 1, 1});
            if (result.choices.back().tokens.empty()) no_token_of_its_own(task, i);
        }
        set_llama_stretches(task, rule, encode, result.choices);
    } else {
        result.choices = lm_eval_tokens(task, encode);
    }
    // The last token is not fed.
    const std::size_t most = as_size(context) + 1;
    for (std::size_t i = 0; i < task.choices.size(); ++i) {
        ScoredTokens& choice = result.choices[i];
        if (choice.end <= most) continue;
        const std::size_t n = choice.end - most;
        if (!is_lm_eval || n >= choice.first) {
            throw Error(ErrorKind::kInvalidInput, messages::choice_too_long(choice_name(task, i), choice.end, context));
        }
        choice.tokens.erase(choice.tokens.begin(), choice.tokens.begin() + static_cast<std::ptrdiff_t>(n));
        choice.first -= n;
        choice.end -= n;
        ++result.n_cut;
    }
    return result;
}

std::size_t chosen_by(ChoiceRule rule, std::size_t score, const ChoiceTask& task,
                      std::span<const double> log_likelihood, std::span<const std::int64_t> n_tokens) {
    std::size_t best = 0;
    double highest = 0;
    for (std::size_t i = 0; i < log_likelihood.size(); ++i) {
        double value = log_likelihood[i];
        if (rule == ChoiceRule::kMeanPerToken || rule == ChoiceRule::kMeanAfterChoice) {
            value /= static_cast<double>(n_tokens[i]);
        } else if (score == 1) {
            value /= static_cast<double>(task.choices[i].n_characters);
        }
        const bool takes_equal = rule == ChoiceRule::kMeanAfterChoice;
        if (i == 0 || value > highest || (takes_equal && value == highest)) {
            best = i;
            highest = value;
        }
    }
    return best;
}

double ChoiceReport::value(std::size_t score) const {
    return results.empty() ? 0.0 : static_cast<double>(scores[score].n_right) / static_cast<double>(results.size());
}

double ChoiceReport::standard_error(std::size_t score) const {
    if (results.size() < 2) return 0;
    const double p = value(score);
    return std::sqrt(p * (1 - p) / static_cast<double>(results.size() - 1));
}

ChoiceChange change_between(const ChoiceReport& before, const ChoiceReport& after, std::size_t score) {
    const std::size_t n_both = std::min(before.results.size(), after.results.size());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < n_both; ++i) {
        const int change = after.results[i].is_right[score] - before.results[i].is_right[score];
        sum += change;
        squares += change * change;
    }
    if (n_both == 0) return {};
    const auto n = static_cast<double>(n_both);
    const double mean = sum / n;
    if (n_both < 2) return {mean, 0};
    return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1))};
}

ChoiceReport evaluate_choices(LoadedModel& model, ChoiceFormat format, std::span<const ChoiceTask> tasks,
                              const ChoiceSettings& settings, const EvaluationProgressFn& progress,
                              const std::stop_token& stop) {
    if (model.tokenizer() == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::model_cannot_read_tasks(model.summary().name));
    }
    const auto seconds_so_far = [start = Clock::now()] {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const ChoiceRule rule = choice_format_row(format).rule;
    ChoiceReport report;
    report.format = format;
    report.scores.push_back({"acc"});
    if (rule == ChoiceRule::kSumAndPerCharacter) report.scores.push_back({"acc_norm"});
    const std::vector<std::size_t> order = choose_tasks(format, tasks.size(), settings.limit);
    report.n_tasks = static_cast<std::int64_t>(order.size());
    PrefixScorer scorer(model, settings.sharing);
    for (const std::size_t index : order) {
        const ChoiceTask& task = tasks[index];
        const TaskTokens tokens =
            tokens_of_task(task, rule, *model.tokenizer(), model.plan().context, settings.special);
        ChoiceResult result;
        try {
            result.log_likelihood = scorer.score(tokens.choices, stop);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kCancelled) throw;
            report.partial = true;
            break;
        }
        result.task = index;
        for (const ScoredTokens& choice : tokens.choices) {
            result.n_tokens.push_back(static_cast<std::int64_t>(choice.end - choice.first));
        }
        report.n_cut += tokens.n_cut;
        report.chance += static_cast<double>(std::count(task.is_right.begin(), task.is_right.end(), 1)) /
                         static_cast<double>(task.choices.size());
        if (report.groups.empty() || report.groups.back().name != task.group) report.groups.push_back({task.group});
        ++report.groups.back().n_done;
        for (std::size_t score = 0; score < report.scores.size(); ++score) {
            const std::size_t chosen = chosen_by(rule, score, task, result.log_likelihood, result.n_tokens);
            result.chosen.push_back(chosen);
            result.is_right.push_back(task.is_right[chosen]);
            report.scores[score].n_right += task.is_right[chosen];
            if (score == 0) report.groups.back().n_right += task.is_right[chosen];
        }
        report.results.push_back(std::move(result));
        if (progress) {
            const std::size_t shown = report.scores.size() - 1;
            progress({"Task", report.n_done(), report.n_tasks,
                      report.scores[shown].name + print(" %.2f %%", 100 * report.value(shown)), seconds_so_far()});
        }
    }
    if (report.groups.size() < 2) report.groups.clear();
    if (!report.results.empty()) report.chance /= static_cast<double>(report.n_done());
    report.n_read = scorer.n_read();
    report.n_alone = scorer.n_alone();
    report.seconds = seconds_so_far();
    return report;
}

}  // namespace offstage::engine
