#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace offstage::cli {

// The manual's page about options (resources/help/en/options.md) in Markdown, from the
// declarations: first the options that several commands share, by these commands, then
// the others by command.
std::string options_page(const CLI::App& app);

}  // namespace offstage::cli
