#include "engine/text/tool_call_format.h"

#include <algorithm>
#include <optional>

#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

using Kind = ToolCallFormat::Kind;

constexpr std::string_view kCallBlanks = " \t\r\n";
constexpr std::string_view kGemmaQuote = "<|\"|>";
// DeepSeek's signs: a wide bar, and a low block.
#define OFFSTAGE_BAR "\xEF\xBD\x9C"
#define OFFSTAGE_GAP "\xE2\x96\x81"

// Reads a text that may end anywhere. A step that needs more text returns false, and so
// does one that cannot be; broken() tells them apart.
class CallCursor {
  public:
    explicit CallCursor(std::string_view text) : text_(text) {}

    std::size_t at() const { return at_; }
    bool broken() const { return broken_; }
    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return text_[at_]; }
    std::string_view rest() const { return text_.substr(at_); }
    void skip(std::size_t n) { at_ += n; }
    bool fail() {
        broken_ = true;
        return false;
    }

    void blanks() { at_ = std::min(text_.find_first_not_of(kCallBlanks, at_), text_.size()); }
    // nullopt: not known yet.
    std::optional<bool> looks_at(std::string_view text) const {
        if (rest().starts_with(text)) return true;
        if (text.starts_with(rest())) return std::nullopt;
        return false;
    }
    bool take(std::string_view text) {
        const std::optional<bool> is_there = looks_at(text);
        if (is_there == true) {
            at_ += text.size();
        } else if (is_there == false) {
            return fail();
        }
        return is_there == true;
    }
    bool take_until(std::string_view end, std::string& taken) {
        const std::size_t found = text_.find(end, at_);
        if (found == std::string_view::npos) return false;
        taken = text_.substr(at_, found - at_);
        at_ = found + end.size();
        return true;
    }
    // A value of JSON, as far as it is there. True: all of it is.
    bool take_json(std::string_view& value) {
        const std::size_t begin = at_;
        const bool is_whole = skip_json();
        value = text_.substr(begin, at_ - begin);
        return is_whole;
    }

  private:
    bool skip_json() {
        if (at_end()) return false;
        int depth = 0;
        bool in_string = false;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (in_string) {
                if (c == '\\') {
                    if (++at_ == text_.size()) return false;
                } else if (c == '"') {
                    in_string = false;
                    if (depth == 0) return ++at_, true;
                }
            } else if (c == '"') {
                in_string = true;
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if (c == '}' || c == ']') {
                if (--depth < 0) return true;  // what is around a number
                if (depth == 0) return ++at_, true;
            } else if (depth == 0 && (c == ',' || kCallBlanks.find(c) != std::string_view::npos)) {
                return true;
            }
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool broken_ = false;
};

std::optional<nlohmann::ordered_json> json_of_text(std::string_view text) {
    auto parsed = nlohmann::ordered_json::parse(text, nullptr, false);
    return parsed.is_discarded() ? std::nullopt : std::optional(std::move(parsed));
}

// Whether a tool's argument is a text; those that are not known are.
bool is_text_argument(const ToolDefinitions& tools, const std::string& tool, const std::string& key) {
    const ToolDefinitions* function = find_tool(tools, tool);
    if (function == nullptr) return true;
    try {
        const auto& type = function->at("parameters").at("properties").at(key).at("type");
        return type == "string";
    } catch (const nlohmann::json::exception&) {
        return false;  // JSON, if it is any
    }
}

std::string json_argument(const ToolDefinitions& tools, const std::string& tool, const std::string& key,
                          const std::string& value) {
    const auto parsed = is_text_argument(tools, tool, key) ? std::nullopt : json_of_text(value);
    return parsed ? parsed->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  : nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// {"name": ..., "arguments": ...}, in any order, with other fields.
bool read_json_call(const ToolCallFormat& format, CallCursor& cursor, ToolCallText& call) {
    cursor.blanks();
    if (!cursor.take("{")) return false;
    std::string_view arguments;
    for (bool is_first = true;; is_first = false) {
        cursor.blanks();
        if (cursor.at_end()) return false;
        if (cursor.peek() == '}') {
            cursor.skip(1);
            if (call.name.empty()) return cursor.fail();
            if (arguments.empty()) call.arguments = "{}";
            return true;
        }
        if (!is_first && !cursor.take(",")) return false;
        cursor.blanks();
        std::string_view key, value;
        if (cursor.at_end()) return false;
        if (cursor.peek() != '"') return cursor.fail();
        if (!cursor.take_json(key)) return false;
        cursor.blanks();
        if (!cursor.take(":")) return false;
        cursor.blanks();
        const bool is_whole = cursor.take_json(value);
        const auto name = json_of_text(key);
        // Without a marker, JSON that begins with another field is an answer, and shown as
        // it comes.
        constexpr std::string_view kFirst[] = {"name", "type", "id", "arguments", "parameters"};
        const std::string* const named = name ? name->get_ptr<const std::string*>() : nullptr;
        const bool is_call =
            format.has_marker() || (named != nullptr && std::ranges::find(kFirst, *named) != std::end(kFirst));
        if (is_first && !is_call) return cursor.fail();
        const bool are_arguments = name && (*name == format.arguments || *name == "arguments" || *name == "parameters");
        if (are_arguments && value.starts_with('{')) {
            arguments = value;
            call.arguments = value;
        } else if (are_arguments && is_whole) {  // JSON in a text
            const auto text = json_of_text(value);
            arguments = value;
            call.arguments = text && text->is_string() ? text->get<std::string>() : std::string(value);
        }
        if (!is_whole) return false;
        if (!name || *name != "name") continue;
        const auto text = json_of_text(value);
        if (!text || !text->is_string() || text->get_ref<const std::string&>().empty()) return cursor.fail();
        call.name = text->get<std::string>();
    }
}

bool read_named_call(const ToolCallFormat& format, CallCursor& cursor, ToolCallText& call) {
    cursor.blanks();
    if (!cursor.take(format.name_prefix)) return false;
    std::string name;
    if (!cursor.take_until(format.name_end, name)) return false;
    // Further parts: an index ("NAME:0"), an identity ("NAME[CALL_ID]x").
    name.resize(std::min({name.size(), name.find(':'), name.find('['), name.find_last_not_of(kCallBlanks) + 1}));
    if (name.empty()) return cursor.fail();
    call.name = name;
    cursor.blanks();
    if (cursor.at_end()) return false;
    if (cursor.peek() != '{') return cursor.fail();
    std::string_view value;
    const bool is_whole = cursor.take_json(value);
    call.arguments = value;
    if (!is_whole || format.behind.empty()) return is_whole;
    cursor.blanks();
    return cursor.take(format.behind);
}

bool read_tagged_call(const ToolCallFormat& format, const ToolDefinitions& tools, CallCursor& cursor,
                      ToolCallText& call) {
    const bool has_name_end = !format.name_end.empty();
    cursor.blanks();
    if (!cursor.take(format.name_prefix)) return false;
    std::string name;
    if (has_name_end) {
        if (!cursor.take_until(format.name_end, name)) return false;
    } else {  // it goes to the first tag
        const std::size_t n = cursor.rest().find('<');
        if (n == std::string_view::npos) return false;
        name = cursor.rest().substr(0, n);
        cursor.skip(n);
    }
    name.erase(std::min(name.find_last_not_of(kCallBlanks) + 1, name.size()));
    if (name.empty()) return cursor.fail();
    call.name = name;
    call.arguments = "{";
    while (true) {
        cursor.blanks();
        const std::optional<bool> is_key = cursor.looks_at(format.key_begin);
        const std::optional<bool> is_end = cursor.looks_at(format.behind.empty() ? format.end.text : format.behind);
        if (is_end == true) {
            cursor.skip(format.behind.size());
            call.arguments += "}";
            return true;
        }
        if (is_key != true) return is_key == false && is_end == false ? cursor.fail() : false;
        cursor.skip(format.key_begin.size());
        std::string key, value;
        if (!cursor.take_until(format.key_end, key)) return false;
        if (!format.value_begin.empty()) cursor.blanks();
        if (!cursor.take(format.value_begin) || !cursor.take_until(format.value_end, value)) return false;
        if (value.starts_with('\n')) value.erase(0, 1);
        if (value.ends_with('\n')) value.pop_back();
        call.arguments += (call.arguments.size() > 1 ? ", " : "") +
                          nlohmann::json(key).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ": " +
                          json_argument(tools, name, key, value);
    }
}

// A value of Gemma's; its JSON is appended. False: there is more to come, or it is broken.
bool read_gemma_value(CallCursor& cursor, std::string& parsed, int depth) {
    constexpr int kDeepest = 32;
    if (depth > kDeepest) return cursor.fail();
    const auto text = [&](std::string_view value) {
        parsed += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    cursor.blanks();
    if (cursor.at_end()) return false;
    if (const std::optional<bool> quoted = cursor.looks_at(kGemmaQuote); quoted != false) {
        std::string value;
        if (!quoted || !cursor.take(kGemmaQuote) || !cursor.take_until(kGemmaQuote, value)) return false;
        text(value);
        return true;
    }
    const char open = cursor.peek();
    if (open == '"') {
        std::string_view value;
        const bool is_whole = cursor.take_json(value);
        parsed += value;
        return is_whole;
    }
    if (open != '{' && open != '[') {
        const std::size_t n = cursor.rest().find_first_of(",}]");
        if (n == std::string_view::npos) return false;
        const std::string_view word = cursor.rest().substr(0, n);
        cursor.skip(n);
        if (json_of_text(word)) {
            parsed += word;
        } else {
            text(word);
        }
        return true;
    }
    const char close = open == '{' ? '}' : ']';
    parsed += open;
    cursor.skip(1);
    for (bool is_first = true;; is_first = false) {
        cursor.blanks();
        if (cursor.at_end()) return false;
        if (cursor.peek() == close) {
            parsed += close;
            cursor.skip(1);
            return true;
        }
        if (!is_first) {
            if (!cursor.take(",")) return false;
            parsed += ", ";
        }
        if (open == '{') {
            std::string key;
            cursor.blanks();
            const bool is_quoted = cursor.looks_at(kGemmaQuote) == true;
            if (is_quoted) cursor.skip(kGemmaQuote.size());
            if (!cursor.take_until(is_quoted ? kGemmaQuote : ":", key)) return false;
            if (is_quoted && !cursor.take(":")) return false;
            text(key);
            parsed += ": ";
        }
        if (!read_gemma_value(cursor, parsed, depth + 1)) return false;
    }
}

bool read_gemma_call(CallCursor& cursor, ToolCallText& call) {
    std::string name, arguments;
    if (!cursor.take("call:") || !cursor.take_until("{", name)) return false;
    if (name.empty()) return cursor.fail();
    call.name = name;
    const std::string whole = "{" + std::string(cursor.rest());
    CallCursor values(whole);
    if (!read_gemma_value(values, arguments, 0)) return values.broken() ? cursor.fail() : false;
    cursor.skip(values.at() - 1);
    call.arguments = arguments;
    return true;
}

// What closes the brackets that are open in a text, in which quotes stand around texts.
std::string closing_brackets(std::string_view text, std::string_view quote) {
    std::string closing;
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (text.substr(i).starts_with(quote)) {
            is_quoted = !is_quoted;
            i += quote.size() - 1;
        } else if (is_quoted) {
            if (c == '\\' && quote.size() == 1) ++i;
        } else if (c == '{' || c == '[') {
            closing.insert(0, 1, c == '{' ? '}' : ']');
        } else if ((c == '}' || c == ']') && !closing.empty()) {
            closing.erase(0, 1);
        }
    }
    return closing;
}

}  // namespace

const ToolDefinitions* find_tool(const ToolDefinitions& tools, std::string_view name) {
    for (const auto& tool : tools) {
        if (tool.contains("function") && tool["function"].value("name", "") == name) return &tool["function"];
    }
    return nullptr;
}

ToolCallFormat find_tool_call_format(const ChatTemplate& chat, const Tokenizer& tokenizer) {
    const auto marker = [&](std::string_view text) {
        return ThoughtMarker{std::string(text), text.empty() ? TokenId{-1} : tokenizer.special_token(text)};
    };
    ToolCallFormat format;
    const auto between = [&](Kind kind, std::string_view begin, std::string_view end,
                             std::string_view section_begin = {}, std::string_view section_end = {}) {
        format.kind = kind;
        format.begin = marker(begin);
        format.end = marker(end);
        format.section_begin = marker(section_begin);
        format.section_end = marker(section_end);
    };
    if (!chat.has_variable("tools")) return format;
    if (chat.has_text("<|channel|>") && chat.has_text("functions.")) {
        format.kind = Kind::kHarmony;
    } else if (chat.has_text("minimax:tool_call>")) {
        between(Kind::kTagged, "<invoke name=\"", "</invoke>", "<minimax:tool_call>", "</minimax:tool_call>");
        format.name_end = "\">";
        format.key_begin = "<parameter name=\"";
        format.key_end = "\">";
        format.value_end = "</parameter>";
    } else if (chat.has_text("<function=") && chat.has_text("<parameter=")) {
        between(Kind::kTagged, "<tool_call>", "</tool_call>");
        format.name_prefix = "<function=";
        format.name_end = ">";
        format.key_begin = "<parameter=";
        format.key_end = ">";
        format.value_end = "</parameter>";
        format.behind = "</function>";
    } else if (chat.has_text("<arg_key>")) {
        between(Kind::kTagged, "<tool_call>", "</tool_call>");
        format.key_begin = "<arg_key>";
        format.key_end = "</arg_key>";
        format.value_begin = "<arg_value>";
        format.value_end = "</arg_value>";
        for (const char* text : {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}) {
            format.inner.push_back(marker(text));
        }
    } else if (chat.has_text("<|tool_call>call:")) {
        between(Kind::kGemma, "<|tool_call>", "<tool_call|>");
        format.inner.push_back(marker(kGemmaQuote));
    } else if (chat.has_text("tool" OFFSTAGE_GAP "call" OFFSTAGE_GAP "begin")) {
        between(Kind::kNamed, "<" OFFSTAGE_BAR "tool" OFFSTAGE_GAP "call" OFFSTAGE_GAP "begin" OFFSTAGE_BAR ">",
                "<" OFFSTAGE_BAR "tool" OFFSTAGE_GAP "call" OFFSTAGE_GAP "end" OFFSTAGE_BAR ">",
                "<" OFFSTAGE_BAR "tool" OFFSTAGE_GAP "calls" OFFSTAGE_GAP "begin" OFFSTAGE_BAR ">",
                "<" OFFSTAGE_BAR "tool" OFFSTAGE_GAP "calls" OFFSTAGE_GAP "end" OFFSTAGE_BAR ">");
        const std::string separator = "<" OFFSTAGE_BAR "tool" OFFSTAGE_GAP "sep" OFFSTAGE_BAR ">";
        format.inner.push_back(marker(separator));
        const bool is_fenced = chat.has_text("```json");  // V3 and R1; V3.1 has the name before the sign
        format.name_prefix = is_fenced ? "function" + separator : std::string();
        format.name_end = is_fenced ? "\n```json\n" : separator;
        if (is_fenced) format.behind = "```";
    } else if (chat.has_text("<|tool_calls_section_begin|>")) {
        between(Kind::kNamed, "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_calls_section_begin|>",
                "<|tool_calls_section_end|>");
        format.name_prefix = "functions.";
        format.name_end = "<|tool_call_argument_begin|>";
        format.inner.push_back(marker(format.name_end));
    } else if (chat.has_text("[TOOL_CALLS]") && chat.has_text("[ARGS]")) {
        between(Kind::kNamed, "[TOOL_CALLS]", {});
        format.name_end = "[ARGS]";
        for (const char* text : {"[ARGS]", "[CALL_ID]"}) format.inner.push_back(marker(text));
    } else if (chat.has_text("[TOOL_CALLS]")) {
        between(Kind::kJson, {}, {}, "[TOOL_CALLS]", "]");
        format.is_list = true;
    } else if (chat.has_text("<|tool_call|>")) {
        between(Kind::kJson, {}, {}, "<|tool_call|>", "]");
        format.is_list = true;
    } else if (chat.has_text("<tool_call>")) {
        between(Kind::kJson, "<tool_call>", "</tool_call>");
    } else if (chat.has_text("\"parameters\": ") && chat.has_text("{\"name\": ")) {
        between(Kind::kJson, {}, {});
        format.arguments = "parameters";
    }
    return format;
}
#undef OFFSTAGE_BAR
#undef OFFSTAGE_GAP

ToolCallText read_tool_call(const ToolCallFormat& format, const ToolDefinitions& tools, std::string_view text) {
    ToolCallText call;
    CallCursor cursor(text);
    bool is_whole = false;
    switch (format.kind) {
        case Kind::kJson:
            is_whole = read_json_call(format, cursor, call);
            break;
        case Kind::kNamed:
            is_whole = read_named_call(format, cursor, call);
            break;
        case Kind::kTagged:
            is_whole = read_tagged_call(format, tools, cursor, call);
            break;
        case Kind::kGemma:
            is_whole = read_gemma_call(cursor, call);
            break;
        case Kind::kNone:
        case Kind::kHarmony:
            cursor.fail();
            break;
    }
    const bool is_closed = is_whole;
    if (is_whole && !format.end.text.empty()) {
        cursor.blanks();
        is_whole = cursor.take(format.end.text);
    }
    call.is_ended = is_whole;
    call.is_broken = cursor.broken();
    // What breaks off behind its name has whole values.
    if (call.is_broken && format.kind == Kind::kTagged && !call.name.empty() && !is_closed) call.arguments += "}";
    call.n_read = cursor.at();
    return call;
}

std::optional<ToolCallText> complete_tool_call(const ToolCallFormat& format, const ToolDefinitions& tools,
                                               std::string_view text) {
    const std::string_view quote = format.kind == Kind::kGemma ? kGemmaQuote : "\"";
    const std::string brackets = format.kind == Kind::kTagged ? std::string() : closing_brackets(text, quote);
    for (const std::string& end : {brackets, brackets + format.behind, "{}" + format.behind}) {
        std::string whole(text);
        whole += end;
        whole += format.end.text;
        ToolCallText call = read_tool_call(format, tools, whole);
        if (call.is_ended && !call.is_broken) return call;
    }
    return std::nullopt;
}

std::string missing_brackets(std::string_view json) {
    std::string brackets = closing_brackets(json, "\"");
    std::string whole(json);
    whole += brackets;
    return json_of_text(whole) ? brackets : std::string();
}

}  // namespace offstage::engine
