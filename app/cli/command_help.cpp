// The manual in a terminal.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "app/cli/commands.h"
#include "app/cli/manual.h"
#include "app/cli/near_names.h"

namespace offstage::cli {
namespace {

struct HelpOptions {
    std::string subject;
    const CLI::App* program = nullptr;
};

// A subject, or (without a name) the heading of those that follow.
struct Subject {
    std::string name;
    std::string text;
};

// The manual's list of pages: "## HEADING", "- [TITLE](NAME.md): TEXT".
std::vector<Subject> subjects() {
    std::vector<Subject> list;
    std::istringstream lines(read_page("README"));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find("](");
        const std::size_t end = line.find(".md): ");
        if (line.starts_with("## ")) {
            list.push_back({{}, line.substr(3)});
        } else if (line.starts_with("- [") && begin < end && end != std::string::npos) {
            list.push_back({line.substr(begin + 2, end - begin - 2), line.substr(end + 6)});
        }
    }
    return list;
}

void list_subjects(const std::vector<Subject>& list) {
    std::size_t width = 0;
    for (const Subject& subject : list) width = std::max(width, subject.name.size());
    for (const Subject& subject : list) {
        if (subject.name.empty()) {
            std::cout << "\n" << subject.text << "\n";
        } else {
            std::cout << "  " << subject.name << std::string(width - subject.name.size() + 2, ' ') << subject.text
                      << "\n";
        }
    }
    std::cout << "\noffstage-cli help SUBJECT prints a page, offstage-cli COMMAND --help the options of a command.\n";
}

void declare_help(CLI::App& command, HelpOptions& options) {
    options.program = command.get_parent();
    command.add_option("SUBJECT", options.subject, "A page of the manual; unless given, all are listed");
}

int run_help(const HelpOptions& options) {
    const std::vector<Subject> list = subjects();
    if (options.subject.empty()) {
        list_subjects(list);
        return 0;
    }
    std::vector<std::string> names;
    for (const Subject& subject : list) {
        if (!subject.name.empty()) names.push_back(subject.name);
    }
    const std::string name = options.subject.substr(0, options.subject.find(".md"));  // of a link
    if (std::find(names.begin(), names.end(), name) != names.end()) {
        std::cout << plain_markdown(read_page(name));
        return 0;
    }
    const auto is_named = [&](const CLI::App* command) { return command->get_name() == name; };
    if (!options.program->get_subcommands(is_named).empty()) {
        std::cout << "\"" << name << "\" is a command: offstage-cli " << name
                  << " --help lists its options, offstage-cli help command-line shows commands at work.\n";
        return 0;
    }
    const std::vector<std::string> near = near_names(name, names);
    std::string text = "\"" + name + "\" is no subject of the manual; ";
    for (std::size_t n = 0; n < near.size(); ++n) text += (n == 0 ? "is " : " or ") + near[n];
    std::cerr << "offstage-cli: " << text << (near.empty() ? "offstage-cli help lists them" : " meant?") << std::endl;
    return 2;
}

}  // namespace

void add_help(Commands& commands) {
    commands.add("help", "The manual: its subjects, or the page of one", declare_help, run_help);
}

}  // namespace offstage::cli
