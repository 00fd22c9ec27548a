#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/eval/choice_task.h"
#include "engine/eval/evaluation_progress.h"
#include "engine/eval/prefix_scorer.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// The tokens of a task's choices, and which of them are scored.
struct TaskTokens {
    std::vector<ScoredTokens> choices;
    std::int64_t n_cut = 0;  // choices that lost tokens at their beginning, to fit the context
};

// As in the rule's original program. Texts begin with Tokenizer::prefix(). special: the
// strings of special tokens are recognized. lm-eval's rules: context and continuation are
// encoded as one text, of which the first tokens, as many as the context alone has, are
// given; white space at the context's end belongs to the continuation; texts longer than
// the context lose tokens at their beginning. llama.cpp's: a task that is longer than the
// context is an Error (kInvalidInput). So is a choice without a separate token.
TaskTokens tokens_of_task(const ChoiceTask& task, ChoiceRule rule, const Tokenizer& tokenizer, std::int64_t context,
                          bool special);

// One figure of an evaluation: how many tasks were right by it.
struct ChoiceScore {
    std::string name;  // "acc", "acc_norm"
    std::int64_t n_right = 0;
};

struct ChoiceResult {
    std::size_t task = 0;                // index in the file
    std::vector<double> log_likelihood;  // by choice: sum of ln p over the scored tokens
    std::vector<std::int64_t> n_tokens;  // by choice: tokens that are scored
    std::vector<std::size_t> chosen;     // by score
    std::vector<std::uint8_t> is_right;  // by score
};

struct ChoiceReport {
    ChoiceFormat format{};
    std::int64_t n_tasks = 0;  // chosen
    bool partial = false;      // stopped before all of them were done
    std::vector<ChoiceScore> scores;
    std::vector<ChoiceResult> results;  // the completed ones, in the order of completion
    double chance = 0;                  // expected share of right answers by chance
    // MMLU: the subjects, in the order of the file(s), with their right answers by the
    // first score; empty if there is only one.
    struct Group {
        std::string name;
        std::int64_t n_done = 0, n_right = 0;
    };
    std::vector<Group> groups;
    std::int64_t n_read = 0;   // tokens that went through the model
    std::int64_t n_alone = 0;  // without the sharing of beginnings
    std::int64_t n_cut = 0;    // choices cut to the context
    double seconds = 0;

    std::int64_t n_done() const { return static_cast<std::int64_t>(results.size()); }
    double value(std::size_t score) const;  // share, 0 .. 1
    // sqrt(p (1 - p) / (n - 1)), as both schools print it; 0 for one task.
    double standard_error(std::size_t score) const;
};

// The difference of the shares of right answers to another evaluation of the same tasks,
// over the tasks completed by both.
struct ChoiceChange {
    double value = 0;  // difference of the shares
    // The standard error of the mean of the tasks' differences (-1, 0 or 1): smaller than
    // that of two independent shares, because the tasks are the same.
    double standard_error = 0;
};
ChoiceChange change_between(const ChoiceReport& before, const ChoiceReport& after, std::size_t score);

struct ChoiceSettings {
    std::int64_t limit = 0;  // tasks at most; 0: all
    bool special = false;
    PrefixScorer::Sharing sharing = PrefixScorer::Sharing::kShared;
};

// The choice that a score selects, from the sums of ln p. score: 0, or 1 for acc_norm.
std::size_t chosen_by(ChoiceRule rule, std::size_t score, const ChoiceTask& task,
                      std::span<const double> log_likelihood, std::span<const std::int64_t> n_tokens);

// Scores the tasks of choose_tasks(). A stop ends it with the completed tasks
// (`partial`). Throws Error: as tokens_of_task(), kUnsupported (no tokenizer),
// kOutOfMemory, kDevice.
ChoiceReport evaluate_choices(LoadedModel& model, ChoiceFormat format, std::span<const ChoiceTask> tasks,
                              const ChoiceSettings& settings, const EvaluationProgressFn& progress,
                              const std::stop_token& stop);

// with_results: each task's choices, with `tasks` for their places in the file.
nlohmann::ordered_json to_json(const ChoiceReport& report, std::span<const ChoiceTask> tasks, bool with_results);
std::string to_text(const ChoiceReport& report);

}  // namespace offstage::engine
