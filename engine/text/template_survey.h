#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/text/template_ast.h"

namespace offstage::engine::jinja {

// Everything that a template mentions, even if a rendering does not reach it.
struct Survey {
    std::set<std::string, std::less<>> variables;   // names that are read: enable_thinking
    std::set<std::string, std::less<>> undeclared;  // of these: read before they are set, in Jinja's order
    std::set<std::string, std::less<>>
        fields;                      // attributes and text constants: message.thinking, "thinking" in message
    std::vector<std::string> texts;  // written as they are, and text constants of expressions
};
Survey survey(const Block& block);

}  // namespace offstage::engine::jinja
