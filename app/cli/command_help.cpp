// The manual in a terminal: the pages of resources/help/en, which are the window's help
// as well.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string_view>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/near_names.h"
#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/files/text_file.h"

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

constexpr std::size_t kLargestPage = 1 << 20;

std::string read_page(const std::string& name) {
    const std::filesystem::path file = engine::resource_directory() / "help" / "en" / (name + ".md");
    if (const auto text = engine::read_small_file(file, kLargestPage)) return *text;
    throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::manual_missing(engine::shown_path(file)));
}

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

bool is_code(std::string_view line) {
    return line.starts_with("    ");
}

// Links to other pages, which may go over the end of a line, are shown as "TEXT [PAGE]".
std::string with_plain_links(std::string page) {
    for (std::size_t at = 0; (at = page.find("](", at)) != std::string::npos;) {
        const std::size_t open = page.rfind('[', at);
        const std::size_t end = page.find(')', at);
        const std::size_t line = page.rfind('\n', at) + 1;  // npos + 1 is 0
        if (open == std::string::npos || end == std::string::npos || is_code(std::string_view(page).substr(line))) {
            at += 2;
            continue;
        }
        const std::string target = page.substr(at + 2, end - at - 2);
        const std::string linked =
            page.substr(open + 1, at - open - 1) + " [" + target.substr(0, target.find(".md")) + "]";
        page.replace(open, end + 1 - open, linked);
        at = open + linked.size();
    }
    return page;
}

// Markdown is readable as it is, but for links, comments, escapes, and marks of bold
// text.
std::string plain(const std::string& page) {
    std::string text;
    std::istringstream lines(with_plain_links(page));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("<!--")) continue;
        for (const std::string_view mark : {"**", "\\"}) {
            for (std::size_t at = 0; !is_code(line) && (at = line.find(mark, at)) != std::string::npos;) {
                line.erase(at, mark.size());
            }
        }
        text += line + "\n";
    }
    return text;
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
        std::cout << plain(read_page(name));
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
