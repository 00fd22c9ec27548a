#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/eval/choice_task.h"

namespace offstage::engine {

// The text of a file and its name for messages.
struct NamedText {
    std::string_view text;
    std::string source;
};

// The files of one set of tasks.
struct ChoiceFiles {
    NamedText data;
    NamedText labels;  // kPiqa, kWinogrande, kHellaSwag: a label per line; without source: they are in the data
    NamedText shots;   // kMmlu: solved questions; without source: none are shown
    std::int64_t n_shots = 5;
    std::string subject;  // kMmlu: "abstract algebra"
};

// The tasks of a file. Throws Error (kInvalidModel): file, line or task, field, actual
// value, expected value and remedy. There is at least one task, each with at least two
// choices, none of them empty, and a right one.
//
// The prompts are those of lm-eval's tasks of the same name (doc_to_text ...):
//   kMmlu        "The following are multiple choice questions (with answers) about
//                SUBJECT.\n\n", n_shots solved ones, the question, "A. ..." to "D. ...",
//                "Answer:"; the choices are the letters
//   kPiqa, kArc  "Question: ...\nAnswer:"
//   kWinogrande  the sentence up to the blank with either option in it; the scored text
//   is
//                the rest of the sentence
//   kHellaSwag   "LABEL: CTX_A Ctx_b", without the brackets of WikiHow
// and of llama.cpp the text with each choice in it:
//   kLlamaHellaSwag   six lines a task: context, number of the right ending, four endings
//   kLlamaWinogrande  index,sentence,choice 1,choice 2,answer; the sentence may be in
//                     double quotes. Other than there, a line that cannot be read is an
//                     error,
//                     and a last line without line end counts.
//   kLlamaChoices     little endian: uint32 n, uint32 offsets[n] of the tasks in the file
//                     (not needed here: they follow each other); a task: the question,
//                     then twice (one right answer; several, not used) uint32 k, k
//                     answers, int32 labels[k], 1: right. Texts: uint32 bytes, then
//                     those.
std::vector<ChoiceTask> parse_choices(ChoiceFormat format, const ChoiceFiles& files);

// "abstract algebra" of ".../abstract_algebra_test.csv".
std::string mmlu_subject(std::string_view path);

// For parse_choices(): the formats of the two programs.
std::vector<ChoiceTask> parse_lm_eval_choices(ChoiceFormat format, const ChoiceFiles& files);
std::vector<ChoiceTask> parse_llama_choices(ChoiceFormat format, const NamedText& data);

}  // namespace offstage::engine
