#include "engine/text/tool_call_grammar.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/json_schema_grammar.h"

namespace offstage::engine {
namespace {

// Keywords that say of what type a value is.
constexpr const char* kSayType[] = {"type", "$ref", "allOf", "anyOf", "oneOf", "const", "enum"};

class CallGrammar {
  public:
    using Node = GrammarBuilder::Node;
    using Kind = ToolCallFormat::Kind;

    CallGrammar(const ToolCallFormat& format, const ThinkingFormat& thinking) : format_(format), thinking_(thinking) {}

    Grammar make(const std::vector<const ToolDefinitions*>& tools, bool is_parallel, bool or_text,
                 const Grammar* form) {
        std::vector<Node> calls;
        for (const ToolDefinitions* tool : tools) {
            const GrammarBuilder::Rule rule = builder_.new_rule((*tool)["name"].get<std::string>());
            builder_.define(rule, call_of(*tool));
            calls.push_back(builder_.call(rule));
        }
        const GrammarBuilder::Rule one = builder_.new_rule("call");
        builder_.define(one, builder_.choice(std::move(calls)));
        Node root = section(builder_.call(one), is_parallel);
        if (or_text) {
            const Node text =
                form != nullptr ? builder_.call(*form) : builder_.repeat(any_character(), 0, GrammarBuilder::kNoLimit);
            if (format_.kind == Kind::kHarmony) {
                root = builder_.choice({builder_.sequence({header("final"), text}), root});
            } else {
                root = form != nullptr ? builder_.choice({text, root})
                                       : builder_.sequence({text, builder_.optional(root)});
            }
        }
        const GrammarBuilder::Rule rule = builder_.new_rule("calls");
        builder_.define(rule, root);
        return builder_.compile(rule);
    }

  private:
    Node any_character() { return builder_.characters(std::vector<CharacterRange>{{0, kLastCharacter}}); }
    Node marker(const ThoughtMarker& one) {
        return one.token >= 0 ? builder_.symbol(Grammar::symbol_of(one.token)) : builder_.text(one.text);
    }
    // A text in which the format's inner markers are tokens.
    Node marked(std::string_view text) {
        std::vector<Node> parts;
        while (!text.empty()) {
            std::size_t first = text.size();
            const ThoughtMarker* found = nullptr;
            for (const ThoughtMarker& one : format_.inner) {
                const std::size_t at = one.token < 0 ? std::string_view::npos : text.find(one.text);
                if (at >= first) continue;
                first = at;
                found = &one;
            }
            parts.push_back(builder_.text(text.substr(0, first)));
            if (found != nullptr) parts.push_back(marker(*found));
            text.remove_prefix(first + (found != nullptr ? found->text.size() : 0));
        }
        return builder_.sequence(std::move(parts));
    }
    Node header(std::string_view channel) {
        return builder_.sequence({marker(thinking_.open), marked(channel), marker(thinking_.message)});
    }

    Node section(Node call, bool is_parallel) {
        if (format_.kind == Kind::kHarmony) return call;
        const bool is_list = format_.is_list;
        if (is_parallel) {
            const Node between = is_list ? builder_.text(", ") : builder_.optional(builder_.text("\n"));
            call = builder_.sequence(
                {call, builder_.repeat(builder_.sequence({between, call}), 0, GrammarBuilder::kNoLimit)});
        }
        return builder_.sequence(
            {marker(format_.section_begin), builder_.text(is_list ? "[" : ""), call, marker(format_.section_end)});
    }

    Node call_of(const ToolDefinitions& tool) {
        static const ToolDefinitions kAny = {{"type", "object"}};
        const std::string name = tool["name"].get<std::string>();
        const auto given = tool.find("parameters");
        ToolDefinitions schema = given == tool.end() || given->is_null() || given->empty() ? kAny : *given;
        const auto says = [&](const char* keyword) { return schema.contains(keyword); };
        if (std::none_of(std::begin(kSayType), std::end(kSayType), says)) schema["type"] = "object";
        const auto arguments = [&] { return JsonSchemaGrammar(values_, schema).value(); };
        Node body = 0;
        switch (format_.kind) {
            case Kind::kJson:
                body = builder_.sequence({builder_.text("{\"name\": "), values_.string_of(name),
                                          builder_.text(", \"" + format_.arguments + "\": "), arguments(),
                                          builder_.text("}")});
                if (!format_.begin.text.empty()) {
                    body = builder_.sequence({builder_.text("\n"), body, builder_.text("\n")});
                }
                break;
            case Kind::kNamed: {
                const std::string behind = format_.behind.empty() ? std::string() : "\n" + format_.behind;
                Node number = builder_.empty();
                if (format_.name_prefix == "functions.") {  // of the call, as Kimi counts them
                    const ByteSet digits(ByteSet().set() >> (256 - 10) << '0');
                    number = builder_.optional(builder_.sequence(
                        {builder_.text(":"), builder_.repeat(builder_.bytes(digits), 1, GrammarBuilder::kNoLimit)}));
                }
                body = builder_.sequence({marked(format_.name_prefix + name), number, marked(format_.name_end),
                                          arguments(), builder_.text(behind)});
                break;
            }
            case Kind::kTagged:
                body = tagged(name, schema);
                break;
            case Kind::kGemma:
                body = builder_.sequence({builder_.text("call:" + name), arguments()});
                break;
            default:  // kHarmony
                return builder_.sequence(
                    {header("commentary to=functions." + name + " <|constrain|>json"), arguments()});
        }
        return builder_.sequence({marker(format_.begin), body, marker(format_.end)});
    }

    Node tagged(const std::string& name, const ToolDefinitions& schema) {
        const bool has_lines = format_.name_prefix == "<function=";  // around values
        const bool has_prefix = !format_.name_prefix.empty();
        std::vector<Node> parts = {
            marked((has_prefix ? "\n" : "") + format_.name_prefix + name + format_.name_end + "\n")};
        JsonSchemaGrammar forms(values_, schema);
        const ToolDefinitions none = ToolDefinitions::object();
        const auto found = schema.find("properties");
        const ToolDefinitions& properties = found == schema.end() ? none : *found;
        for (const auto& property : properties.items()) {
            const auto required = schema.find("required");
            const bool is_required = required != schema.end() &&
                                     std::find(required->begin(), required->end(), property.key()) != required->end();
            const std::string begin = format_.key_begin + property.key() + format_.key_end +
                                      (format_.value_begin.empty() ? "" : "\n" + format_.value_begin) +
                                      (has_lines ? "\n" : "");
            const Node argument = builder_.sequence(
                {marked(begin),
                 argument_value(forms, property.value(), property.key(), (has_lines ? "\n" : "") + format_.value_end),
                 builder_.text("\n")});
            parts.push_back(is_required ? argument : builder_.optional(argument));
        }
        parts.push_back(marked(format_.behind + (has_prefix ? "\n" : "")));
        return builder_.sequence(std::move(parts));
    }

    // With what ends it. Texts are written as they are.
    Node argument_value(JsonSchemaGrammar& forms, const ToolDefinitions& schema, const std::string& key,
                        const std::string& end) {
        const bool is_text = schema.is_object() && schema.value("type", ToolDefinitions()) == "string";
        if (!is_text) return builder_.sequence({forms.value(schema, "#/properties/" + key), marked(end)});
        if (const auto list = schema.find("enum"); list != schema.end()) {
            std::vector<Node> choices;
            for (const auto& value : *list) {
                if (value.is_string()) choices.push_back(builder_.text(value.get<std::string>()));
            }
            if (!choices.empty()) return builder_.sequence({builder_.choice(std::move(choices)), marked(end)});
        }
        return text_until(end);
    }

    // A text up to the first `end`: a rule for each beginning of it that was read.
    Node text_until(const std::string& end) {
        const auto inner = std::find_if(format_.inner.begin(), format_.inner.end(),
                                        [&](const ThoughtMarker& one) { return one.token >= 0 && one.text == end; });
        if (inner != format_.inner.end()) {
            return builder_.sequence({builder_.repeat(any_character(), 0, GrammarBuilder::kNoLimit), marker(*inner)});
        }
        const auto known = texts_.find(end);
        if (known != texts_.end()) return builder_.call(known->second);
        std::vector<GrammarBuilder::Rule> rules;
        for (std::size_t i = 0; i < end.size(); ++i) rules.push_back(builder_.new_rule("text until " + end));
        for (std::size_t i = 0; i < end.size(); ++i) {
            ByteSet others = ByteSet().set();
            std::vector<Node> parts;
            for (unsigned byte = 0; byte < 256; ++byte) {
                const std::string read = end.substr(0, i) + static_cast<char>(byte);
                std::size_t n = std::min(read.size(), end.size());
                while (n > 0 && read.substr(read.size() - n) != end.substr(0, n)) --n;
                if (n == 0) continue;
                others.reset(byte);
                const Node one = builder_.text(read.substr(read.size() - 1));
                parts.push_back(n == end.size() ? one : builder_.sequence({one, builder_.call(rules[n])}));
            }
            parts.push_back(builder_.sequence({builder_.bytes(others), builder_.call(rules[0])}));
            builder_.define(rules[i], builder_.choice(std::move(parts)));
        }
        texts_[end] = rules[0];
        return builder_.call(rules[0]);
    }

    const ToolCallFormat& format_;
    const ThinkingFormat& thinking_;
    GrammarBuilder builder_;
    JsonGrammar values_{builder_,
                        format_.kind == Kind::kGemma ? std::optional(marker(format_.inner.front())) : std::nullopt};
    std::map<std::string, GrammarBuilder::Rule> texts_;
};

}  // namespace

std::optional<Grammar> tool_call_grammar(const ToolCallFormat& format, const ThinkingFormat& thinking,
                                         const ToolDefinitions& tools, std::string_view only, bool is_parallel,
                                         bool or_text, const Grammar* form) {
    const bool is_harmony = format.kind == ToolCallFormat::Kind::kHarmony;
    const bool can_be = format.any() && (!or_text || form != nullptr || is_harmony || format.opening().token >= 0) &&
                        (!is_harmony || thinking.kind == ThinkingFormat::Kind::kHarmony);
    std::vector<const ToolDefinitions*> wanted;
    for (const auto& tool : tools) {
        if (only.empty() || tool["function"]["name"] == only) wanted.push_back(&tool["function"]);
    }
    if (!can_be || wanted.empty()) return std::nullopt;
    return CallGrammar(format, thinking).make(wanted, is_parallel, or_text, form);
}

}  // namespace offstage::engine
