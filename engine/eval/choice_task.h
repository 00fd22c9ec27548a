#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offstage::engine {

// Multiple choice by log-likelihood: the tasks, and the rule that scores them. There are
// two common programs, lm-evaluation-harness (lm-eval, read in 0.4.13) and the perplexity
// tool of llama.cpp, whose figures are not comparable; so a format has the rule of its
// origin.

// How the choices of a task are scored. A task counts as right if the choice with the
// highest score (the first of equals, unless noted otherwise) is a right one.
enum class ChoiceRule {
    // lm-eval: the sum of ln p of the choice's tokens (acc).
    kSum,
    // lm-eval: that (acc), and the same divided by the choice's characters (acc_norm).
    kSumAndPerCharacter,
    // llama.cpp: the mean of ln p over all tokens from the first one on in which the
    // texts of the choices differ.
    kMeanPerToken,
    // llama.cpp's Winogrande: the mean of ln p over the tokens after the choice but the
    // last one; if one of the texts differs from the other in its last 3 tokens or fewer,
    // over those from the first difference on instead. Of equals the second.
    kMeanAfterChoice,
};

enum class ChoiceFormat {
    kMmlu,
    kPiqa,
    kWinogrande,
    kHellaSwag,
    kArc,
    kLlamaHellaSwag,
    kLlamaWinogrande,
    kLlamaChoices,
};

struct ChoiceFormatRow {
    ChoiceFormat format;
    const char* name;  // "llama-hellaswag": on the command line and in results
    ChoiceRule rule;
    const char* file;       // the form of its file, for help texts
    const char* rule_text;  // the rule in words, for results
};

// All formats, in the order of ChoiceFormat.
std::span<const ChoiceFormatRow> choice_formats();
const ChoiceFormatRow& choice_format_row(ChoiceFormat format);

struct Choice {
    std::string lead;               // follows the task's context; given as well. Only Winogrande has one
    std::string continuation;       // follows both: scored by the rule
    std::int64_t n_characters = 0;  // lm-eval: of the choice itself, without what joins it to the context
};

struct ChoiceTask {
    std::string where;  // "FILE, line 3": for messages and results
    std::string group;  // MMLU: the subject; else empty
    std::string context;
    std::vector<Choice> choices;
    std::vector<std::uint8_t> is_right;  // by choice; at least one is
};

// Selects the scored tasks and their order. limit: so many at most; 0 or less: all.
// lm-eval takes the first ones. llama.cpp draws them with std::mt19937(1): HellaSwag
// always, the others if the limit leaves some out, each by its own method.
std::vector<std::size_t> choose_tasks(ChoiceFormat format, std::size_t n_tasks, std::int64_t limit);

}  // namespace offstage::engine
