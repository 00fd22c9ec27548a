#pragma once

#include <string>
#include <string_view>

#include "engine/text/template_ast.h"

namespace offstage::engine::jinja {

// Throws Error (kInvalidModel for broken syntax or too large a template, kUnsupported)
// naming `source` and the line.
Block parse_template(std::string_view jinja, const std::string& source);

}  // namespace offstage::engine::jinja
