#include "engine/eval/choice_task.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace offstage::engine {
namespace {

constexpr const char* kSumText =
    "lm-eval: acc is the share of tasks whose right choice has the highest sum of ln p over its tokens";
constexpr const char* kSumAndPerCharacterText =
    "lm-eval: acc is the share of tasks whose right choice has the highest sum of ln p over its tokens, acc_norm that "
    "with the sum divided by the choice's characters";
constexpr const char* kMeanPerTokenText =
    "llama.cpp: share of tasks whose right choice has the highest mean of ln p over the tokens from the first "
    "difference of the choices on";
constexpr const char* kMeanAfterChoiceText =
    "llama.cpp: share of tasks whose right choice has the higher mean of ln p over the tokens after the choice, the "
    "last one left out";

constexpr ChoiceFormatRow kChoiceFormats[] = {
    {ChoiceFormat::kMmlu, "mmlu", ChoiceRule::kSum,
     "csv as published, or the folder of them: question, A, B, C, D, answer letter; --shots: the dev csv", kSumText},
    {ChoiceFormat::kPiqa, "piqa", ChoiceRule::kSumAndPerCharacter,
     "jsonl as published: goal, sol1, sol2; --labels: the file with a 0 or 1 per line", kSumAndPerCharacterText},
    {ChoiceFormat::kWinogrande, "winogrande", ChoiceRule::kSum,
     "jsonl as published: sentence with _, option1, option2, answer", kSumText},
    {ChoiceFormat::kHellaSwag, "hellaswag", ChoiceRule::kSumAndPerCharacter,
     "jsonl as published: activity_label, ctx_a, ctx_b, endings, label", kSumAndPerCharacterText},
    {ChoiceFormat::kArc, "arc", ChoiceRule::kSumAndPerCharacter,
     "jsonl as published, or as on Hugging Face: question, choices, answerKey", kSumAndPerCharacterText},
    {ChoiceFormat::kLlamaHellaSwag, "llama-hellaswag", ChoiceRule::kMeanPerToken,
     "llama.cpp's text, six lines a task: context, label, four endings", kMeanPerTokenText},
    {ChoiceFormat::kLlamaWinogrande, "llama-winogrande", ChoiceRule::kMeanAfterChoice,
     "llama.cpp's csv: index, sentence with _, choice 1, choice 2, answer", kMeanAfterChoiceText},
    {ChoiceFormat::kLlamaChoices, "llama-choices", ChoiceRule::kMeanPerToken, "llama.cpp's binary multiple choice",
     kMeanPerTokenText},
};

// Draws one of the remaining tasks at a time; the rest keeps its order.
std::vector<std::size_t> draw_in_order(std::size_t n_tasks, std::size_t n) {
    std::mt19937 random(1);
    std::vector<std::size_t> left(n_tasks), drawn;
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = std::uniform_int_distribution<std::size_t>(0, left.size() - 1)(random);
        drawn.push_back(left[at]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return drawn;
}

// Takes one of those left at a time; the last one takes its place. The product is formed
// in float, as there.
std::vector<std::size_t> draw_and_swap(std::size_t n_tasks, std::size_t n) {
    std::mt19937 random(1);
    constexpr float kScale = 1.0f / 4294967296.0f;
    std::vector<std::size_t> left(n_tasks), drawn;
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (std::size_t i = 0; i < n; ++i) {
        const float product = kScale * static_cast<float>(random()) * static_cast<float>(left.size());
        const std::size_t at = std::min(static_cast<std::size_t>(product), left.size() - 1);
        drawn.push_back(left[at]);
        left[at] = left.back();
        left.pop_back();
    }
    return drawn;
}

}  // namespace

std::span<const ChoiceFormatRow> choice_formats() {
    return kChoiceFormats;
}

const ChoiceFormatRow& choice_format_row(ChoiceFormat format) {
    return kChoiceFormats[static_cast<std::size_t>(format)];
}

std::vector<std::size_t> choose_tasks(ChoiceFormat format, std::size_t n_tasks, std::int64_t limit) {
    const std::size_t n = limit > 0 ? std::min(n_tasks, static_cast<std::size_t>(limit)) : n_tasks;
    if (format == ChoiceFormat::kLlamaHellaSwag) return draw_in_order(n_tasks, n);
    const bool draws = format == ChoiceFormat::kLlamaWinogrande || format == ChoiceFormat::kLlamaChoices;
    if (draws && n < n_tasks) return draw_and_swap(n_tasks, n);
    std::vector<std::size_t> first(n);
    std::iota(first.begin(), first.end(), std::size_t{0});
    return first;
}

}  // namespace offstage::engine
