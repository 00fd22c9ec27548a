#include "app/cli/options_page.h"

#include <map>

#include "app/cli/command_line.h"

namespace offstage::cli {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
    return text;
}

// Signs that would mean something in Markdown, here those that help texts have, do not.
std::string literal(std::string text) {
    for (const std::string_view sign : {"|", "*", "<"}) text = replaced(text, sign, "\\" + std::string(sign));
    return text;
}

// CLI11's "INT:INT in [1 - 16]" becomes "1 to 16", "TEXT:{a,b}" becomes "a, b".
std::string value_text(const std::string& type) {
    const std::size_t colon = type.find(':');
    std::string rule = colon == std::string::npos ? std::string() : type.substr(colon + 1);
    if (const std::size_t open = rule.find('['); open != std::string::npos) {
        return replaced(rule.substr(open + 1, rule.find(']') - open - 1), " - ", " to ");
    }
    if (rule.starts_with('{')) return replaced(rule.substr(1, rule.find('}') - 1), ",", ", ");
    const std::string kind = type.substr(0, colon);
    if (kind == "TEXT") return "text";
    if (kind != "INT" && kind != "UINT" && kind != "FLOAT") return literal(type);
    const std::string number = kind == "FLOAT" ? "number" : "whole number";
    if (rule == "POSITIVE") return number + " above 0";
    return rule == "NONNEGATIVE" ? number + " from 0 on" : number;
}

constexpr char kTableHead[] = "\n| option | what it does |\n|---|---|\n";

std::string cells(const OptionRow& option) {
    const std::string value = option.value.empty() ? "" : " " + value_text(option.value);
    const std::string fallback = option.required                ? ". Required"
                                 : option.default_value.empty() ? ""
                                                                : ". Default: `" + option.default_value + "`";
    return "| `" + option.name + "`" + value + " | " + literal(option.help) + fallback + " |\n";
}

}  // namespace

std::string options_page(const CLI::App& app) {
    const std::vector<CommandRow> commands = list_commands(app);
    std::map<std::string, std::string> users;  // of an option, its whole row: the commands
    std::vector<std::string> shared;           // in the order of declaration
    for (const CommandRow& command : commands) {
        for (const OptionRow& option : command.options) {
            std::string& names = users[cells(option)];
            if (!names.empty() && names.find(' ') == std::string::npos) shared.push_back(cells(option));
            names += (names.empty() ? "" : ", ") + replaced(command.name, " ", "\u00a0");
        }
    }
    const auto is_shared = [&](const std::string& row) { return users[row].find(' ') != std::string::npos; };
    std::map<std::string, std::string> tables;  // by the commands that share their options
    std::vector<std::string> groups;
    for (const std::string& row : shared) {
        const auto [table, is_new] = tables.try_emplace(users[row]);
        if (is_new) groups.push_back(users[row]);
        table->second += row;
    }
    std::string page =
        "# Options\n\nThe tables have the options of all commands of `offstage-cli`, as the program declares them.\n"
        "`offstage-cli COMMAND --help` shows those of one command, and [Command line](command-line.md) has\n"
        "examples.\n\n## Of several commands\n";
    for (const std::string& group : groups) page += "\n**" + group + "**\n" + kTableHead + tables[group];
    for (const CommandRow& command : commands) {
        page += "\n## " + command.name + "\n\n" + literal(command.help) + ".\n";
        std::string table;
        for (const OptionRow& option : command.options) {
            if (const std::string row = cells(option); !is_shared(row)) table += row;
        }
        if (!table.empty()) page += kTableHead + table;
    }
    return page;
}

}  // namespace offstage::cli
