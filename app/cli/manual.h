#pragma once
// The manual in a terminal: the pages of resources/help/en, which are the window's help as
// well.

#include <string>

#include "engine/manual/manual_answers.h"

namespace offstage::cli {

// The text of a page: "models". Throws Error (kNotFound) naming its file.
std::string read_page(const std::string& name);
// A page's Markdown as it reads without being rendered.
std::string plain_markdown(const std::string& text);
// Answers from the installed manual; none where it is not installed.
engine::ManualAnswers manual_answers();
// The answer to read, with the command for the rest of its page.
std::string answer_text(const engine::ManualAnswer& answer);

}  // namespace offstage::cli
