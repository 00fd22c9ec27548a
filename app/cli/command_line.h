#pragma once
// Commands and their options, as CLI11 and the manual need them.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace offstage::cli {

// Adds commands to the program. An option is declared once, in `declare` of its command
// or in a function that several commands call (model_options.h), with its field, help,
// default and check; CLI11 reads it, `--help` and list_commands() show it.
class Commands {
  public:
    // status: set to the exit status of the command that runs. Both must outlive the
    // parsing.
    Commands(CLI::App& app, int& status) : app_(app), status_(status) {}

    // declare(CLI::App&, Options&) declares the options; run(Options&) runs the command
    // after the whole command line was read.
    template <typename Options, typename Run>
    void add(const char* name, const char* help, void (*declare)(CLI::App&, Options&), Run run) {
        CLI::App& command = *app_.add_subcommand(name, help);
        const auto options = std::make_shared<Options>();
        declare(command, *options);
        command.callback([options, run, &status = status_] { status = run(*options); });
    }

    // For commands of two words.
    Commands add_group(const char* name, const char* help) {
        CLI::App& group = *app_.add_subcommand(name, help);
        group.require_subcommand(1);
        return {group, status_};
    }

  private:
    CLI::App& app_;
    int& status_;
};

// The message for an unknown word in the place of a command; empty: there is no such
// word.
std::string unknown_command(const CLI::App& app, int argc, char** argv);

struct OptionRow {
    std::string name;           // "--top-k"
    std::string value;          // "INT in [1 - 16]"; empty: a flag
    std::string default_value;  // empty: none is shown
    std::string help;
    bool required = false;
};

struct CommandRow {
    std::string name;  // "nodes pair"
    std::string help;
    std::vector<OptionRow> options;  // as declared
};

// All commands of one and of two words, as declared.
std::vector<CommandRow> list_commands(const CLI::App& app);

}  // namespace offstage::cli
