#pragma once
// Chat templates in Go's language (package text/template): Ollama keeps them in a layer
// beside its models.

#include <memory>
#include <string>
#include <string_view>

namespace offstage::engine {

class ChatTemplate;

// Whether a template is in Ollama's language, not in Jinja.
bool is_go_template(std::string_view text);

// The same template in Jinja. Includes Ollama's own processing: a template of .Messages
// gets neighbours of one role joined, one of .Prompt and .Response is written once for
// each turn, the last time up to .Response. `bos`: the token that the tokenizer puts
// before a text; empty: none. It is written first, unless the template has it.
//
// Supported are if, with, range, else, break, continue, variables, pipelines, comments,
// trim markers, and the functions and or not eq ne lt le gt ge len index slice print
// printf json currentDate. A call of another function fails when it is reached, as do
// those that write tools. Throws Error (kUnsupported, kInvalidModel) with `source` and
// the template's line. Source: Go's package documentation, Ollama's docs/template.md.
std::string jinja_of_go_template(std::string_view text, const std::string& source, std::string_view bos);

// A template in either language. Throws as jinja_of_go_template() and
// ChatTemplate::parse() do.
std::unique_ptr<ChatTemplate> parse_either_template(std::string_view text, const std::string& source,
                                                    std::string_view bos);

}  // namespace offstage::engine
