#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "engine/eval/choice_task.h"

namespace offstage::cli {

// Tokens of context for tasks: five solved questions and one more take up to 3000.
inline constexpr std::int64_t kChoiceContext = 4096;

std::vector<std::string> choice_tasks();  // names of the formats
// Throws Error (kInvalidInput): no such task.
engine::ChoiceFormat choice_format_of(const std::string& task);
// The tasks of all files. Throws Error: for unreadable files, as engine::parse_choices();
// kNotFound (a folder without csv files, no file of solved questions).
std::vector<engine::ChoiceTask> read_choice_tasks(engine::ChoiceFormat format, const ChoiceOptions& options);

}  // namespace offstage::cli
