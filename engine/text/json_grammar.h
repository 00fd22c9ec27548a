#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/text/grammar.h"

namespace offstage::engine {

// The parts of JSON, for grammars. Between values there is no white space, a blank, or a
// line end and up to 20 blanks. Characters are written as they are where JSON allows it.
// With a mark it is the form that Gemma's calls have: texts as they are between two
// marks, names of members without, and no white space.
class JsonGrammar {
  public:
    using Node = GrammarBuilder::Node;

    explicit JsonGrammar(GrammarBuilder& builder, std::optional<Node> mark = {}) : builder_(builder), mark_(mark) {}

    GrammarBuilder& builder() { return builder_; }
    Node any_value() { return shared("value", &JsonGrammar::make_value); }
    Node any_object() { return shared("object", &JsonGrammar::make_object); }
    Node any_array() { return list(any_value(), 0, GrammarBuilder::kNoLimit); }
    Node any_string() { return shared("string", &JsonGrammar::make_string); }
    Node any_number() { return shared("number", &JsonGrammar::make_number); }
    Node any_boolean() { return builder_.choice({builder_.text("true"), builder_.text("false")}); }
    Node space() { return shared("space", &JsonGrammar::make_space); }
    Node comma() { return builder_.sequence({builder_.text(","), space()}); }
    Node member(Node key, Node value) { return builder_.sequence({key, builder_.text(":"), space(), value}); }
    Node enclosed(const char* open, Node inside, const char* close);
    Node list(Node item, int least, int most);  // in brackets
    // A string: of so many characters, of a pattern (see add_pattern()), this one, or any
    // other than these.
    Node string(int least, int most);
    Node string_of_pattern(std::string_view pattern);
    Node string_of(const std::string& value);
    Node string_except(std::vector<std::string> values);
    Node name(const std::string& of_member);
    Node literal(const nlohmann::ordered_json& value);

    // Numbers between the bounds, or without one.
    struct Bounds {
        std::optional<double> low, high;
        bool without_low = false, without_high = false;  // the bounds themselves are out
    };
    // nullopt: there are none.
    std::optional<Node> number(const Bounds& bounds, bool is_integer);

  private:
    Node shared(const char* name, Node (JsonGrammar::*make)());  // as a rule
    Node make_value();
    Node make_object();
    Node make_string();
    Node make_character();
    Node make_number();
    Node make_space();
    Node character() { return shared("character", &JsonGrammar::make_character); }
    Node escape();
    Node plain_character(const std::vector<CharacterRange>& besides);
    Node characters(std::span<const CharacterRange> ranges);
    Node quote() { return mark_ ? *mark_ : builder_.text("\""); }
    Node quoted(Node inside) { return builder_.sequence({quote(), inside, quote()}); }
    std::string inside_quotes(std::uint32_t character) const;
    Node other_rest(const std::vector<std::string>& values, std::size_t begin, std::size_t end, std::size_t at);

    Node one_of(char first, char last);
    Node fraction(bool is_not_zero);
    Node digits(int least, int most) { return builder_.repeat(one_of('0', '9'), least, most); }
    Node integers(std::int64_t low, std::int64_t high);  // from 0 on
    // "." and digits from those of one number to those of the other; no high: to the next
    // whole number.
    std::optional<Node> fractions(std::string low, std::string high, bool without_low, bool without_high);
    void add_partial(double low, double high, const Bounds& bounds, std::vector<Node>& parts);
    Node same_length(const std::string& low, const std::string& high, std::size_t at);
    std::optional<Node> magnitudes(const Bounds& bounds, bool is_integer);

    GrammarBuilder& builder_;
    const std::optional<Node> mark_;
    std::map<std::string, GrammarBuilder::Rule> shared_;
};

}  // namespace offstage::engine
