#include "app/cli/manual.h"

#include <filesystem>
#include <sstream>
#include <string_view>

#include "app/cli/command_messages.h"
#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/model/model_finder.h"

namespace offstage::cli {
namespace {

constexpr std::size_t kLargestPage = 1 << 20;

std::filesystem::path manual_directory() {
    return engine::resource_directory() / "help";
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

}  // namespace

std::string read_page(const std::string& name) {
    const std::filesystem::path file = manual_directory() / "en" / (name + ".md");
    if (const auto text = engine::read_small_file(file, kLargestPage)) return *text;
    throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::manual_missing(engine::shown_path(file)));
}

// Markdown is readable as it is, but for links, comments, escapes, and marks of bold
// text.
std::string plain_markdown(const std::string& text) {
    std::string plain;
    std::istringstream lines(with_plain_links(text));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("<!--")) continue;
        for (const std::string_view mark : {"**", "\\"}) {
            for (std::size_t at = 0; !is_code(line) && (at = line.find(mark, at)) != std::string::npos;) {
                line.erase(at, mark.size());
            }
        }
        plain += line + "\n";
    }
    return plain;
}

engine::ManualAnswers manual_answers() {
    return engine::ManualAnswers([](const std::string& file) {
        try {
            return engine::read_small_file(manual_directory() / file, kLargestPage).value_or(std::string());
        } catch (const engine::Error&) {  // as if it were not there
            return std::string();
        }
    });
}

std::string answer_text(const engine::ManualAnswer& answer) {
    std::string text = plain_markdown(answer.text);
    if (answer.lists_families) {
        std::string families;
        for (const std::string& name : engine::family_names()) families += (families.empty() ? "" : ", ") + name;
        text += "\nFamilies: " + families + ".\n";
    }
    const std::string whole = "offstage-cli help " + answer.page;
    if (text.empty()) {
        return "The demo model does not know this program well enough to answer; " + whole +
               " says where everything is.\n";
    }
    const bool is_english = answer.language.empty() || answer.language == "en";
    return text + "\n  [from the manual" + (is_english ? "" : ", which is in English") + ": " + whole + "]\n";
}

}  // namespace offstage::cli
