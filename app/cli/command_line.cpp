#include "app/cli/command_line.h"

#include "app/cli/near_names.h"

namespace offstage::cli {
namespace {

void list_into(std::vector<CommandRow>& rows, const CLI::App& parent, const std::string& prefix) {
    for (const CLI::App* const command : parent.get_subcommands({})) {
        if (!command->get_subcommands({}).empty()) {
            list_into(rows, *command, prefix + command->get_name() + " ");
            continue;
        }
        CommandRow row{prefix + command->get_name(), command->get_description(), {}};
        for (const CLI::Option* const option : command->get_options()) {
            if (option == command->get_help_ptr()) continue;
            const bool is_flag = option->get_items_expected_max() == 0;
            row.options.push_back({option->get_name(false, true), is_flag ? std::string() : option->get_type_name(),
                                   option->get_default_str(), option->get_description(), option->get_required()});
        }
        rows.push_back(std::move(row));
    }
}

}  // namespace

std::vector<CommandRow> list_commands(const CLI::App& app) {
    std::vector<CommandRow> rows;
    list_into(rows, app, {});
    return rows;
}

std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    const CLI::App* at = &app;
    for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
        const std::string word = argv[i];
        if (word.starts_with('-')) return {};
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* const command : at->get_subcommands({})) {
            names.push_back(command->get_name());
            if (word == command->get_name()) next = command;
        }
        if (next != nullptr) {
            at = next;
            continue;
        }
        std::string text =
            "\"" + word + "\" is no command of " + (at == &app ? "" : app.get_name() + " ") + at->get_name() + "; ";
        const std::vector<std::string> near = near_names(word, names);
        for (std::size_t n = 0; n < near.size(); ++n) text += (n == 0 ? "is " : " or ") + near[n];
        return text + (near.empty() ? "--help lists them" : " meant?");
    }
    return {};
}

}  // namespace offstage::cli
