#pragma once

#include <string>
#include <string_view>

namespace offstage::engine {

// The chat template in Jinja that the models of a family were trained with, for text
// alone: a file that brings none can be given it by this name ("chatml", "mixtral" ...).
// Empty: there is no such name.
std::string family_template(std::string_view name);
// "chatml, deepseek, ..."
std::string family_template_names();

}  // namespace offstage::engine
