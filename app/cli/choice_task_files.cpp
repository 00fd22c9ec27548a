#include "app/cli/choice_task_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "app/cli/command_messages.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/eval/choice_files.h"
#include "engine/files/text_file.h"

namespace offstage::cli {
namespace {

// The csv files of MMLU in a folder: those of its test questions if there are any.
std::vector<std::string> csv_files(const std::filesystem::path& folder) {
    std::vector<std::string> all, tests;
    std::error_code failure;
    for (const std::filesystem::path& base : {folder / "test", folder}) {
        if (!all.empty() || !std::filesystem::is_directory(base, failure)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(base, failure)) {
            const std::string path = entry.path().string();
            if (!path.ends_with(".csv")) continue;
            all.push_back(path);
            if (path.ends_with("_test.csv")) tests.push_back(path);
        }
    }
    if (all.empty()) {
        throw engine::Error(engine::ErrorKind::kNotFound,
                            engine::messages::folder_without_csv(engine::shown_path(folder)));
    }
    std::vector<std::string>& files = tests.empty() ? all : tests;
    std::sort(files.begin(), files.end());
    return files;
}

// The file of solved questions for the subject of a data file: `shots` itself, or the
// folder's file of that subject.
std::string shots_file(const std::string& shots, const std::string& data) {
    std::error_code failure;
    if (!std::filesystem::is_directory(shots, failure)) return shots;
    std::string name = engine::mmlu_subject(data) + "_dev.csv";
    std::replace(name.begin(), name.end(), ' ', '_');
    for (const std::filesystem::path& folder : {std::filesystem::path(shots) / "dev", std::filesystem::path(shots)}) {
        if (std::filesystem::exists(folder / name, failure)) return (folder / name).string();
    }
    throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::dev_file_missing(shots, name));
}

}  // namespace

std::string choice_file_help() {
    std::string files;
    for (const engine::ChoiceFormatRow& row : engine::choice_formats()) {
        files += std::string(row.name) + ": " + row.file + ". ";
    }
    return files;
}

void add_choice_file_options(CLI::App& command, ChoiceOptions& options) {
    command.add_option("--labels", options.labels, "piqa, winogrande, hellaswag: file with a label per line");
    CLI::Option* shots =
        command.add_option("--shots", options.shots,
                           "mmlu: solved questions to begin with: the dev csv, or a folder with that of each subject");
    add_checked(command, "--n-shots", options.n_shots, CLI::Range(0, 100), "So many of them, the first")->needs(shots);
    command.add_option("--subject", options.subject, "mmlu: the subject's name; by the file's name unless given");
}

std::vector<std::string> choice_tasks() {
    std::vector<std::string> names;
    for (const engine::ChoiceFormatRow& row : engine::choice_formats()) names.emplace_back(row.name);
    return names;
}

engine::ChoiceFormat choice_format_of(const std::string& task) {
    for (const engine::ChoiceFormatRow& row : engine::choice_formats()) {
        if (task == row.name) return row.format;
    }
    throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::no_such_task(task));
}

std::vector<engine::ChoiceTask> read_choice_tasks(engine::ChoiceFormat format, const ChoiceOptions& options) {
    std::vector<std::string> files = options.data;
    std::error_code failure;
    if (format == engine::ChoiceFormat::kMmlu && files.size() == 1 &&
        std::filesystem::is_directory(files.front(), failure)) {
        files = csv_files(files.front());
    }
    const std::string labels = options.labels.empty() ? std::string() : read_long_text(options.labels);
    std::vector<engine::ChoiceTask> tasks;
    for (const std::string& path : files) {
        const std::string data = read_long_text(path);
        engine::ChoiceFiles parts;
        parts.data = {data, path};
        parts.labels = {labels, options.labels};
        parts.n_shots = options.n_shots;
        parts.subject = options.subject;
        if (parts.subject.empty()) parts.subject = engine::mmlu_subject(path);
        std::string shots;
        if (!options.shots.empty() && options.n_shots > 0) {
            parts.shots.source = shots_file(options.shots, path);
            shots = read_long_text(parts.shots.source);
            parts.shots.text = shots;
        }
        std::vector<engine::ChoiceTask> more = engine::parse_choices(format, parts);
        tasks.insert(tasks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return tasks;
}

}  // namespace offstage::cli
