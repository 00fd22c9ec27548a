#pragma once

#include <string>
#include <string_view>

namespace offstage::engine {

// The Jinja chat template that the models of a family were trained with: users can choose
// it by this name for a file without one ("chatml", "mixtral" ...). It writes calls of
// tools and their results where the family has a form for them, and no definitions.
// Empty: there is no such name.
std::string family_template(std::string_view name);
// "chatml, deepseek, ..."
std::string family_template_names();

}  // namespace offstage::engine
