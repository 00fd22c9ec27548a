#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/thinking_format.h"

namespace offstage::engine {

// The tools of a request, as chat templates take them: [{"type": "function", "function":
// {"name", "description", "parameters"}}, ...].
using ToolDefinitions = nlohmann::ordered_json;
const ToolDefinitions* find_tool(const ToolDefinitions& tools, std::string_view name);  // its "function"; nullptr: none

// How a model writes calls of tools in its replies: sections of calls, each between `begin`
// and `end`. Markers without text are not there.
struct ToolCallFormat {
    enum class Kind {
        kNone,     // its template knows no tools
        kJson,     // {"name": ..., "arguments": {...}}
        kNamed,    // the name, a separator, the arguments in JSON
        kTagged,   // the name, and each argument between tags
        kGemma,    // call:NAME{KEY:VALUE,...}, texts between <|"|>
        kHarmony,  // a message to=functions.NAME on the channel "commentary"
    };
    Kind kind = Kind::kNone;
    ThoughtMarker section_begin, section_end, begin, end;
    bool is_list = false;                 // kJson: a section is a JSON list of calls
    std::string arguments = "arguments";  // kJson: the name of their field
    // kNamed, kTagged: around the name. kNamed: what stands behind the arguments.
    std::string name_prefix, name_end, behind;
    // kTagged: around an argument's name and its value, and between the last one and `end`.
    std::string key_begin, key_end, value_begin, value_end;
    std::vector<ThoughtMarker> inner = {};  // further special tokens within a call

    bool any() const { return kind != Kind::kNone; }
    // What begins a call in an answer's text.
    const ThoughtMarker& opening() const { return section_begin.text.empty() ? begin : section_begin; }
    bool has_marker() const { return !opening().text.empty(); }
};

// Found by the texts of the template, and the tokenizer's special tokens.
ToolCallFormat find_tool_call_format(const ChatTemplate& chat, const Tokenizer& tokenizer);

// What the beginning of a call's text says, behind `begin`; the more text, the more of the
// arguments.
struct ToolCallText {
    std::string name;        // empty: not known yet
    std::string arguments;   // JSON, as far as it is known; of a broken call with a name the whole
    bool is_ended = false;   // the first n_read bytes are the call
    bool is_broken = false;  // it is none, or breaks off behind its name
    std::size_t n_read = 0;
};
ToolCallText read_tool_call(const ToolCallFormat& format, const ToolDefinitions& tools, std::string_view text);
// The same of a whole reply's last call, with the end that it lacks; nullopt: a value
// breaks off.
std::optional<ToolCallText> complete_tool_call(const ToolCallFormat& format, const ToolDefinitions& tools,
                                               std::string_view text);
// What closes the brackets of JSON; nothing where it breaks off elsewhere.
std::string missing_brackets(std::string_view json);

}  // namespace offstage::engine
