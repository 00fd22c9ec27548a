#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/eval/choice_task.h"

namespace offstage::cli {

// The tasks for a model, and their files.
struct ChoiceOptions {
    std::string task;               // one of evaluation_tasks(), or of choice_tasks()
    std::vector<std::string> data;  // files; mmlu: or one folder
    std::string labels;             // file; empty: the labels are in the data
    std::string shots;              // mmlu: file or folder of solved questions; empty: none
    std::int64_t n_shots = 5;
    std::string subject;     // mmlu; empty: by the file's name
    std::int64_t limit = 0;  // tasks, chunks or tokens at most; 0: all
};

// All but --task, --data and the limit.
void add_choice_file_options(CLI::App& command, ChoiceOptions& options);
// The files of each format, for --data.
std::string choice_file_help();

// Tokens of context for tasks: five solved questions and one more take up to 3000.
inline constexpr std::int64_t kChoiceContext = 4096;

std::vector<std::string> choice_tasks();  // names of the formats
// Throws Error (kInvalidInput): no such task.
engine::ChoiceFormat choice_format_of(const std::string& task);
// The tasks of all files. Throws Error: for unreadable files, as engine::parse_choices();
// kNotFound (a folder without csv files, no file of solved questions).
std::vector<engine::ChoiceTask> read_choice_tasks(engine::ChoiceFormat format, const ChoiceOptions& options);

}  // namespace offstage::cli
