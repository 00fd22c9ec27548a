// Grammars over bytes: GBNF, JSON schemas, patterns; and the masks of a vocabulary's tokens.

#include <random>

#include <QFile>
#include <QtTest>

#include "engine/error.h"
#include "engine/text/gbnf.h"
#include "engine/text/grammar_automaton.h"
#include "engine/text/json_schema_grammar.h"
#include "engine/text/token_masks.h"
#include "engine/text/utf8.h"
#include "tests/engine/schema_check.h"
#include "tests/engine/test_models.h"
#include "tests/engine/tokenizer_folder.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

using Json = nlohmann::ordered_json;

bool reads(const Grammar& grammar, const std::string& text) {
    GrammarAutomaton automaton(grammar);
    const GrammarAutomaton::State state = automaton.read(automaton.start(), text);
    return state != GrammarAutomaton::kDead && automaton.accepts(state);
}

QString error_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

Grammar of_schema(const QString& schema) {
    return json_schema_grammar(Json::parse(schema.toStdString()));
}

// A vocabulary of byte-level pairs: all bytes, and pieces that cut JSON and characters in
// awkward places.
std::string byte_level_tokenizer() {
    const auto shown = [](unsigned byte) {  // GPT-2's letters for bytes
        const bool is_plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        if (is_plain) return byte;
        unsigned n = 0;
        for (unsigned other = 0; other < byte; ++other) {
            n += (other >= 33 && other <= 126) || (other >= 161 && other <= 172) || other >= 174 ? 0U : 1U;
        }
        return 256 + n;
    };
    const auto name = [&](const std::string& bytes) {
        std::string text;
        for (const char c : bytes) append_utf8(shown(static_cast<unsigned char>(c)), text);
        return text;
    };
    Json vocab = Json::object(), merges = Json::array();
    int id = 0;
    for (unsigned byte = 0; byte < 256; ++byte) vocab[name(std::string(1, static_cast<char>(byte)))] = id++;
    for (const char* piece :
         {"\",", "\": ", "\":", "\"}",  "{\"", "[[",         "]]",       "}}",      "true",     "nu", "ll",  "12",
          ", ",  " \"",  "a\"", "\\\"", "\\n", "\xC3\xA4\"", "\xE2\x82", "\xAC\",", "\xF0\x9F", "ab", "abc", "name"}) {
        vocab[name(piece)] = id++;
    }
    Json added = Json::array();
    for (const char* special : {"<s>", "<end>", "<tool>"}) {
        added.push_back({{"id", id++}, {"content", special}, {"special", std::string(special) != "<tool>"}});
    }
    return Json{{"added_tokens", added},
                {"normalizer", nullptr},
                {"decoder", {{"type", "ByteLevel"}}},
                {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                {"post_processor", nullptr},
                {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}}
        .dump();
}

// The masks, found as the engine does it, beside each token read on its own.
void compare_masks(const Tokenizer& tokenizer, std::int64_t vocab_size, const Grammar& grammar, const std::string& text,
                   int& n_allowed) {
    const VocabularyTree tree(tokenizer, vocab_size);
    TokenMasks masks(std::make_shared<const Grammar>(grammar), tree);
    GrammarAutomaton automaton(grammar);
    GrammarAutomaton::State state = automaton.start();
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const TokenMask mask = masks.find(automaton, state);
        GrammarAutomaton alone(grammar);
        const GrammarAutomaton::State before = alone.read(alone.start(), text.substr(0, at));
        for (TokenId token = 0; token < vocab_size; ++token) {
            const std::string bytes = tokenizer.piece_bytes(token);
            const bool is_special =
                tokenizer.is_control(token) || tokenizer.special_token(tokenizer.piece_name(token)) == token;
            const bool fits = !bytes.empty() && !is_special && alone.read(before, bytes) != GrammarAutomaton::kDead;
            if (mask.has(token) != fits || masks.allows(automaton, state, token, bytes) != fits) {
                QFAIL(qPrintable(QStringLiteral("after '%1' token %2 '%3': %4")
                                     .arg(QString::fromStdString(text.substr(0, at)))
                                     .arg(token)
                                     .arg(QString::fromStdString(tokenizer.piece_name(token)))
                                     .arg(fits)));
            }
            n_allowed += fits ? 1 : 0;
        }
        if (at < text.size()) state = automaton.step(state, static_cast<unsigned char>(text[at]));
        if (at % 7 == 3) state = automaton.forget_others(state);
    }
}

}  // namespace

class TestGrammar : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void gbnf_readsItsTexts_data();
    void gbnf_readsItsTexts();
    void gbnf_errors_sayTheLineAndWhatWasExpected_data();
    void gbnf_errors_sayTheLineAndWhatWasExpected();
    void schema_allowsAndExcludes_data();
    void schema_allowsAndExcludes();
    void schemaKeywords_withoutSupport_areRefusedByName_data();
    void schemaKeywords_withoutSupport_areRefusedByName();
    void integerBounds_areExact();
    void numbers_stayWithinBounds();
    void numbers_haveFractionsBesideEachBound_data();
    void numbers_haveFractionsBesideEachBound();
    void patterns_findTheSameAsARegularExpression_data();
    void patterns_findTheSameAsARegularExpression();
    void characters_areWholeUtf8();
    void masks_areThoseOfEachTokenAlone_data();
    void masks_areThoseOfEachTokenAlone();
    void masks_ofCountedParts_areThoseOfEachTokenAlone();
    void masks_ofCounts_areShared_data();
    void masks_ofCounts_areShared();
    void masks_farFromABound_readNothingMore();
    void masks_ofTheSamePlaceInOtherObjects_areShared();
    void masks_nearTheDeepestCall_allowNothingBehindIt();
    void charactersInTokens_areAllowedInPieces();
    void grammars_haveBounds();
};

void TestGrammar::gbnf_readsItsTexts_data() {
    QTest::addColumn<QString>("grammar");
    QTest::addColumn<QStringList>("texts");
    QTest::addColumn<QStringList>("others");
    QTest::newRow("literal") << "root ::= \"red\"" << QStringList{"red"} << QStringList{"", "re", "redd", "Red"};
    QTest::newRow("alternatives") << "root ::= \"a\" | \"bc\" | [d-f]" << QStringList{"a", "bc", "d", "e", "f"}
                                  << QStringList{"b", "g", "ab"};
    QTest::newRow("lines")
        << "# a comment\nroot ::=\n  first\n  | second # or so\nfirst ::= \"1\"\n\nsecond ::= (\n \"2\"\n |\n \"3\" )\n"
        << QStringList{"1", "2", "3"} << QStringList{"", "12"};
    QTest::newRow("repetition") << "root ::= \"a\"* \"b\"+ \"c\"? [0-9]{2} \"x\"{1,} \"y\"{0,2} \"z\"{ 1 , 2 }"
                                << QStringList{"b12xz", "aabbc34xxyyzz"}
                                << QStringList{"a12xz", "b1xz", "b12z", "b12xyyyz", "b12xzzz"};
    QTest::newRow("not these") << "root ::= [^\"\\n\\x41]+" << QStringList{"b", "\u00e4\u20ac\U0001F98A"}
                               << QStringList{"A", "a\n", "\""};
    QTest::newRow("class signs") << "root ::= [\\]a-c\\\\-]+" << QStringList{"]", "a]b\\-"} << QStringList{"d", "["};
    QTest::newRow("unicode") << "root ::= [\u3041-\u309f]+ | \"\\u00e4\" \"\\U0001F98A\" | \"\u20ac\""
                             << QStringList{"\u3042\u3044", "\u00e4\U0001F98A", "\u20ac"}
                             << QStringList{"\u30a2", "\u00e4"};
    QTest::newRow("any") << "root ::= . .{2}" << QStringList{"abc", "\u20ac\n\U0001F98A"} << QStringList{"ab", "abcd"};
    QTest::newRow("recursion") << "root ::= \"(\" root? \")\"" << QStringList{"()", "((()))"}
                               << QStringList{"(", "(()", "())"};
    QTest::newRow("arithmetic") << "root ::= (expr \"=\" term \"\\n\")+\nexpr ::= term ([-+*/] term)*\n"
                                   "term ::= num | \"(\" expr \")\"\nnum ::= [0-9]+"
                                << QStringList{"1+2=3\n", "(1+2)*(3-4)=5\n7=7\n"}
                                << QStringList{"1+=2\n", "(1=2\n", "1=2"};
    QTest::newRow("empty") << "root ::= \"a\" nothing \"b\"\nnothing ::= \"\" | (\"x\" |)" << QStringList{"ab", "axb"}
                           << QStringList{"axxb"};
    QTest::newRow("loops of nothing") << "root ::= (\"a\"* \"b\"?)* \"c\"" << QStringList{"c", "aabbac"}
                                      << QStringList{"", "d"};
    QTest::newRow("names") << "root ::= a-1 b_2\na-1 ::= \"x\"\nb_2 ::= \"y\"" << QStringList{"xy"} << QStringList{"x"};
    QTest::newRow("lists") << "root ::= item+\nitem ::= \"- \" [^\\r\\n]+ \"\\n\"" << QStringList{"- a\n- b c\n"}
                           << QStringList{"- \n", "-a\n"};
    QTest::newRow("ambiguous") << "root ::= (\"a\" | \"aa\" | \"aaa\")+" << QStringList{"a", QString(60, 'a')}
                               << QStringList{"b"};
}

void TestGrammar::gbnf_readsItsTexts() {
    QFETCH(const QString, grammar);
    QFETCH(const QStringList, texts);
    QFETCH(const QStringList, others);
    const Grammar made = parse_gbnf(grammar.toStdString());
    for (const QString& text : texts) QVERIFY2(reads(made, text.toStdString()), qPrintable(text));
    for (const QString& text : others) QVERIFY2(!reads(made, text.toStdString()), qPrintable(text));
}

void TestGrammar::gbnf_errors_sayTheLineAndWhatWasExpected_data() {
    QTest::addColumn<QString>("grammar");
    QTest::addColumn<QString>("expected");
    QTest::newRow("nothing") << ""
                             << "no rule \"root\"";
    QTest::newRow("another root") << "main ::= \"a\""
                                  << "no rule \"root\"";
    QTest::newRow("undefined") << "root ::= a"
                               << "no rule \"a\"";
    QTest::newRow("twice") << "root ::= \"a\"\nroot ::= \"b\""
                           << "\"root\" twice";
    QTest::newRow("no sign") << "root = \"a\""
                             << "line 1: found \"= \"a\"\"; expected ::=";
    QTest::newRow("open literal") << "root ::= \"a"
                                  << "line 1: found its end; expected a character";
    QTest::newRow("open class") << "root ::= [a"
                                << "expected a character";
    QTest::newRow("open group") << "root ::= (\"a\"\nx ::= \"b\""
                                << "line 2";
    QTest::newRow("escape") << "root ::= \"\\q\""
                            << "escape";
    QTest::newRow("surrogate") << "root ::= \"\\uD800\""
                               << "a character of Unicode";
    QTest::newRow("digits") << "root ::= \"\\x4\""
                            << "hexadecimal digits";
    QTest::newRow("falling range") << "root ::= [z-a]"
                                   << "a range that rises";
    QTest::newRow("falling count") << "root ::= \"a\"{3,2}"
                                   << "{m}, {m,} or {m,n}";
    QTest::newRow("huge count") << "root ::= \"a\"{100000000000}"
                                << "a number up to 20000";
    QTest::newRow("star of nothing") << "root ::= *"
                                     << "line's end";
    QTest::newRow("token") << "root ::= <think> \"a\""
                           << "special tokens are never part of it";
    QTest::newRow("left recursion") << "root ::= root \"a\" | \"a\""
                                    << "\"root\" begins with itself";
    QTest::newRow("left recursion behind nothing") << "root ::= a\na ::= b? c\nb ::= \"x\"\nc ::= (b | \"\") a"
                                                   << "has no end";
    QTest::newRow("left recursion by turns") << "root ::= a | \"x\"\na ::= \"y\"? b\nb ::= root \"z\""
                                             << "begins with itself";
    QTest::newRow("no end") << "root ::= \"a\" root"
                            << "\"root\" has no end";
    QTest::newRow("no characters") << "root ::= [^\\U00000000-\\U0010FFFF]"
                                   << "no characters";
}

void TestGrammar::gbnf_errors_sayTheLineAndWhatWasExpected() {
    QFETCH(const QString, grammar);
    QFETCH(const QString, expected);
    const QString said = error_of([&] { parse_gbnf(grammar.toStdString()); });
    QVERIFY2(said.contains(expected), qPrintable(said));
}

void TestGrammar::schema_allowsAndExcludes_data() {
    QTest::addColumn<QString>("schema");
    QTest::addColumn<QStringList>("texts");
    QTest::addColumn<QStringList>("others");
    const auto row = [](const char* name, const char* schema, const QStringList& texts, const QStringList& others) {
        QTest::newRow(name) << schema << texts << others;
    };
    row("anything", "true", {"1", "\"a\"", "[1, {\"b\": null}]", "{}", "true", "-0.5e+10"},
        {"", "01", "1.", "nul", "[1,]", "{\"a\"}", "\"\\x\"", "\"\n\"", "'a'", "1e999", "+1"});
    row("object", R"({"type": "object"})", {"{}", "{\"a\": 1}", "{\n  \"a\": [],\n  \"b\": {}\n}"},
        {"[]", "1", "{}{}", " {}"});
    row("strings", R"({"type": "string"})",
        {R"("")", R"("\"\\\/\b\f\n\r\t")", R"("\u00e4\ud83d\ude00")", "\"\u00e4\U0001F98A\""},
        {R"("\ud83d")", R"("\ude00\ud83d")", R"("\u00g0")", "\"\t\"", "a"});
    row("types", R"({"type": ["integer", "null", "boolean"]})", {"12", "-3", "null", "false"}, {"1.5", "\"a\"", "[]"});
    row("properties in order", R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}},
        "required": ["b", "a"], "additionalProperties": false})",
        {R"({"b":1,"a":""})", R"({"b": 1, "a": "x"})"},
        {"{}", R"({"a":"","b":1})", R"({"b":1})", R"({"b":1,"a":"","c":1})"});
    row("optional ones",
        R"({"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]})",
        {R"({"b":2})", R"({"a":1,"b":2})", R"({"b":2,"c":3})", R"({"a":1, "b":2, "c":3})"},
        {"{}", R"({"a":1})", R"({"b":2,})"});
    row("others of a kind",
        R"({"type": "object", "properties": {"ab": {"type": "null"}, "abc": {"type": "null"}, "é\"": true},
        "additionalProperties": {"type": "integer"}})",
        {"{}", R"({"ab":null})", R"({"a":1,"abcd":2,"":3})", R"({"ab":null,"abc":null,"b":1})", R"({"é":1})"},
        {R"({"ab":1})", R"({"abc":1})", R"({"a":"x"})", R"({"\u0061b":1})"});
    row("required, not listed", R"({"type": "object", "required": ["x"], "additionalProperties": {"type": "null"}})",
        {R"({"x":null})", R"({"x":null,"y":null})"}, {"{}", R"({"x":1})"});
    row("lists", R"({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3})",
        {"[true]", "[true, false,true]"}, {"[]", "[1]", "[true,true,true,true]"});
    row("list of none", R"({"type": "array", "maxItems": 0})", {"[]", "[ ]"}, {"[1]"});
    row("tuples",
        R"({"type": "array", "prefixItems": [{"const": 1}, {"const": "b"}], "items": {"type": "null"}, "minItems": 2})",
        {R"([1,"b"])", R"([1,"b",null,null])"}, {"[1]", "[]", R"([1,"b",2])"});
    row("closed tuples", R"({"prefixItems": [{"const": 1}, {"const": 2}], "items": false})", {"[]", "[1]", "[1,2]"},
        {"[1,2,3]", "[2]"});
    row("enumeration", R"({"enum": ["a", 1, null, {"x": [1]}, "\""]})",
        {"\"a\"", "1", "null", "{\"x\":[1]}", "\"\\\"\""}, {"2", "\"b\""});
    row("enumeration of a type", R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"});
    row("any of",
        R"({"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": false}]})",
        {"5", "{}", R"({"a":null})"}, {"\"a\"", R"({"b":1})"});
    row("any of, beside others",
        R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        {R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"}, {"{}"});
    row("one of", R"({"oneOf": [{"const": 1}, {"const": "a"}]})", {"1", "\"a\""}, {"2"});
    row("all of", R"({"allOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
        {"$ref": "#/$defs/b"}], "$defs": {"b": {"properties": {"b": {"type": "integer", "minimum": 3}}, "required": ["b"]}}})",
        {R"({"a":1,"b":3})"}, {R"({"a":1})", R"({"b":3})", R"({"a":1,"b":2})"});
    row("reference with more",
        R"({"$defs": {"n": {"type": "integer", "minimum": 0}}, "properties": {"x": {"$ref": "#/$defs/n", "maximum": 3, "description": "d"}}})",
        {R"({"x":0})", R"({"x":3})"}, {R"({"x":4})", R"({"x":-1})"});
    row("recursion",
        R"({"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "required": ["v", "next"], "additionalProperties": false}}, "$ref": "#/$defs/node"})",
        {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"}, {R"({"v":1})", R"({"v":1,"next":{}})"});
    row("the root itself", R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[],[[]]]"}, {"[1]"});
    row("names in pointers", R"({"$defs": {"a/b~c d": {"const": 1}}, "$ref": "#/$defs/a~1b~0c d"})", {"1"}, {"2"});
    row("lengths", R"({"type": "string", "minLength": 2, "maxLength": 3})",
        {"\"ab\"", "\"\u20ac\U0001F98Ax\"", "\"\\n\\u0041\""}, {"\"a\"", "\"abcd\""});
    row("dates", R"({"type": "string", "format": "date"})", {"\"2026-11-30\"", "\"2024-02-28\""},
        {"\"2026-11-31\"", "\"2026-13-01\"", "\"2026-02-30\"", "\"26-01-01\""});
    row("times", R"({"format": "date-time"})", {"\"2026-11-30T23:59:59Z\"", "\"2026-11-30T00:00:00.123+01:00\""},
        {"\"2026-11-30\"", "\"2026-11-30T24:00:00Z\""});
    row("uuid", R"({"format": "uuid"})", {"\"01234567-89ab-cdef-0123-456789abcdef\""}, {"\"01234567\""});
    row("annotations",
        R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "null", "examples": [1], "x-order": 3, "uniqueItems": false})",
        {"null"}, {"1"});
}

void TestGrammar::schema_allowsAndExcludes() {
    QFETCH(const QString, schema);
    QFETCH(const QStringList, texts);
    QFETCH(const QStringList, others);
    const Grammar grammar = of_schema(schema);
    for (const QString& text : texts) QVERIFY2(reads(grammar, text.toStdString()), qPrintable(text));
    for (const QString& text : others) QVERIFY2(!reads(grammar, text.toStdString()), qPrintable(text));
}

void TestGrammar::schemaKeywords_withoutSupport_areRefusedByName_data() {
    QTest::addColumn<QString>("schema");
    QTest::addColumn<QString>("expected");
    for (const char* keyword :
         {"not", "if", "contains", "uniqueItems", "patternProperties", "propertyNames", "multipleOf", "minProperties",
          "dependentRequired", "unevaluatedProperties", "contentEncoding", "$dynamicRef", "discriminator", "madeUp"}) {
        QTest::newRow(keyword)
            << QStringLiteral(R"({"properties": {"a/b": {"%1": 3}}})").arg(QLatin1String(keyword))
            << QStringLiteral("\"%1\" at #/properties/a~1b is not supported").arg(QLatin1String(keyword));
    }
    QTest::newRow("remote") << R"({"$ref": "https://example.org/a.json"})"
                            << "#/$ref is \"https://example.org/a.json\"";
    QTest::newRow("nowhere") << R"({"$ref": "#/$defs/a"})"
                             << "a place that the schema has";
    QTest::newRow("itself") << R"({"$ref": "#"})"
                            << "has no end";
    QTest::newRow("itself and more") << R"({"$ref": "#", "type": "object"})"
                                     << "too large or too deep";
    QTest::newRow("no end") << R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})"
                            << "has no end";
    QTest::newRow("type") << R"({"type": "date"})"
                          << "#/type is \"date\"";
    QTest::newRow("format") << R"({"format": "color"})"
                            << "#/format is \"color\"";
    QTest::newRow("false") << "false"
                           << "# allows no value";
    QTest::newRow("empty range") << R"({"type": "integer", "minimum": 3, "maximum": 2})"
                                 << "allows no value";
    QTest::newRow("empty enumeration") << R"({"type": "null", "enum": [1]})"
                                       << "allows no value";
    QTest::newRow("pattern") << R"({"pattern": "(?=a)b"})"
                             << "The pattern \"(?=a)b\" is not supported";
    QTest::newRow("pattern and length") << R"({"pattern": "a", "maxLength": 3})"
                                        << "\"maxLength\" beside \"pattern\"";
    QTest::newRow("enumeration and bound") << R"({"enum": [1, 5], "minimum": 3})"
                                           << "\"minimum\" beside \"enum\"";
    QTest::newRow("different types") << R"({"allOf": [{"type": "object"}, {"type": "array"}]})"
                                     << "\"type\" at #/allOf/1";
    QTest::newRow("closed by another")
        << R"({"allOf": [{"properties": {"a": true}, "additionalProperties": false}, {"properties": {"b": true}}]})"
        << "\"allOf\" beside \"additionalProperties\"";
    QTest::newRow("required, excluded") << R"({"type": "object", "required": ["a"], "additionalProperties": false})"
                                        << "#/required allows no value";
    QTest::newRow("no schema") << R"({"items": 3})"
                               << "#/items is 3; expected an object, true or false";
    QTest::newRow("list of schemas") << R"({"items": [true]})"
                                     << "#/items is";
    QTest::newRow("too many") << R"({"type": "string", "maxLength": 100000})"
                              << "too large";
}

void TestGrammar::schemaKeywords_withoutSupport_areRefusedByName() {
    QFETCH(const QString, schema);
    QFETCH(const QString, expected);
    const QString said = error_of([&] { of_schema(schema); });
    QVERIFY2(said.contains(expected), qPrintable(said));
}

void TestGrammar::integerBounds_areExact() {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const int span = round < 20 ? 30 : 3000;
        const int a = static_cast<int>(random() % static_cast<unsigned>(2 * span)) - span;
        const int b = a + static_cast<int>(random() % static_cast<unsigned>(span));
        const bool excludes = round % 3 == 0 && b - a > 2;
        const Grammar grammar = json_schema_grammar({{"type", "integer"},
                                                     {excludes ? "exclusiveMinimum" : "minimum", a},
                                                     {excludes ? "exclusiveMaximum" : "maximum", b}});
        for (int i = -2 * span - 5; i <= 2 * span + 5; ++i) {
            const bool fits = excludes ? i > a && i < b : i >= a && i <= b;
            if (reads(grammar, std::to_string(i)) != fits)
                QFAIL(qPrintable(QStringLiteral("%1 in %2..%3").arg(i).arg(a).arg(b)));
        }
        QVERIFY(!reads(grammar, "-0") && !reads(grammar, "007"));
    }
    const Grammar from_one = json_schema_grammar({{"type", "integer"}, {"minimum", 1}});
    QVERIFY(reads(from_one, "1") && reads(from_one, "9007199254740992") && !reads(from_one, "0") &&
            !reads(from_one, "-5"));
}

void TestGrammar::numbers_stayWithinBounds() {
    const Grammar share = json_schema_grammar({{"type", "number"}, {"minimum", 0}, {"maximum", 1}});
    for (const char* text : {"0", "1", "0.5", "0.99999999"}) QVERIFY2(reads(share, text), text);
    for (const char* text : {"1.5", "2", "-0.5", "1.00000001"}) QVERIFY2(!reads(share, text), text);
    const Grammar between =
        json_schema_grammar({{"type", "number"}, {"exclusiveMinimum", -2}, {"exclusiveMaximum", 3}});
    for (const char* text : {"-1.5", "-1", "-0.25", "0", "2.75"}) QVERIFY2(reads(between, text), text);
    for (const char* text : {"-2", "3", "-2.5", "3.1", "-0.0"}) QVERIFY2(!reads(between, text), text);
}

// One bound, bounds that are no whole numbers, and bounds that are out.
void TestGrammar::numbers_haveFractionsBesideEachBound_data() {
    QTest::addColumn<QString>("schema");
    QTest::addColumn<QStringList>("texts");
    QTest::addColumn<QStringList>("others");
    QTest::newRow("above 0") << R"({"type":"number","exclusiveMinimum":0})" << QStringList{"9.99", "0.5", "3"}
                             << QStringList{"0", "0.0", "-1", "-0.5"};
    QTest::newRow("up to 100") << R"({"type":"number","maximum":100})" << QStringList{"99.5", "-0.25", "-1000.5", "100"}
                               << QStringList{"100.5", "101"};
    QTest::newRow("halves") << R"({"type":"number","minimum":0.5,"maximum":1})"
                            << QStringList{"0.5", "0.75", "0.501", "1"} << QStringList{"0.4", "0.49", "0", "1.1"};
    QTest::newRow("within one") << R"({"type":"number","minimum":0.1,"maximum":0.9})"
                                << QStringList{"0.1", "0.10", "0.5", "0.899", "0.9"}
                                << QStringList{"0.05", "0.91", "0.90001", "0", "1"};
    QTest::newRow("over several") << R"({"type":"number","minimum":0.1,"maximum":2.25})"
                                  << QStringList{"0.1", "1", "1.99", "2.2", "2.25", "2"}
                                  << QStringList{"0.09", "2.26", "2.3", "0"};
    QTest::newRow("out") << R"({"type":"number","exclusiveMinimum":0.25,"exclusiveMaximum":0.75})"
                         << QStringList{"0.3", "0.26", "0.74", "0.2501", "0.7"}
                         << QStringList{"0.25", "0.250", "0.75", "0.7500", "0.2", "0.8"};
    QTest::newRow("below zero") << R"({"type":"number","minimum":-1.5,"maximum":-0.5})"
                                << QStringList{"-1.5", "-1", "-0.5", "-0.75"}
                                << QStringList{"-1.6", "-0.4", "0.5", "-2"};
}

void TestGrammar::numbers_haveFractionsBesideEachBound() {
    QFETCH(const QString, schema);
    QFETCH(const QStringList, texts);
    QFETCH(const QStringList, others);
    const Grammar grammar = of_schema(schema);
    for (const QString& text : texts) QVERIFY2(reads(grammar, text.toStdString()), qPrintable(text));
    for (const QString& text : others) QVERIFY2(!reads(grammar, text.toStdString()), qPrintable(text));
}

void TestGrammar::patterns_findTheSameAsARegularExpression_data() {
    QTest::addColumn<QString>("pattern");
    for (const char* pattern :
         {"^a+b?$",         "ab",      "^[a-c]{2,3}$", "^(ab|c)*$",       "b$",      "^a", "^[^a]+$", "^a.c$",
          "^\\w\\d$",       "^\\\"b$", "^\\\\$",       "^(?:a|b)c{0,1}$", "^a{2,}$", "^$", "a|^b$",   "^[\\]a-]+$",
          "^\\x61\\u0062$", "^a+?$",   "\\s",          "^\\D\\W$"}) {
        QTest::newRow(pattern) << QString::fromLatin1(pattern);
    }
}

// All texts of up to four of these characters.
void TestGrammar::patterns_findTheSameAsARegularExpression() {
    QFETCH(const QString, pattern);
    const Grammar grammar = json_schema_grammar({{"pattern", pattern.toStdString()}});
    const QRegularExpression expression(QString(pattern).replace(QLatin1String("\\u0062"), QLatin1String("b")),
                                        QRegularExpression::DontCaptureOption);
    QVERIFY(expression.isValid());
    const QString letters = QStringLiteral("abc1\"\\ ]-\n\u00e4");
    std::vector<QString> texts = {QString()};
    int n_found = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const QString text = texts[i];
        // Of ECMA 262, where $ is the very end.
        const QString exact = QString(expression.pattern()).replace(QLatin1String("$"), QLatin1String("\\z"));
        const bool finds = QRegularExpression(exact).match(text).hasMatch();
        n_found += finds ? 1 : 0;
        if (reads(grammar, Json(text.toStdString()).dump()) != finds) QFAIL(qPrintable(text));
        if (text.size() < (i < 200 ? 4 : 3)) {
            for (const QChar letter : letters) texts.push_back(text + letter);
        }
    }
    QVERIFY(n_found > 0);
}

void TestGrammar::characters_areWholeUtf8() {
    GrammarBuilder builder;
    const GrammarBuilder::Rule rule = builder.rule("root");
    builder.define(rule, builder.characters(std::vector<CharacterRange>{{0, kLastCharacter}}));
    const Grammar any = builder.compile(rule);
    std::mt19937 random(3);
    for (int i = 0; i < 200'000; ++i) {
        std::string bytes;
        for (unsigned n = random() % 4 + 1, j = 0; j < n; ++j)
            bytes += static_cast<char>(random() % 4 == 0 ? random() % 256 : 0x80 + random() % 0x80);
        const bool is_one = find_invalid_utf8(bytes) == std::string::npos && character_bytes(bytes, 0) == bytes.size();
        if (reads(any, bytes) != is_one) QFAIL(QByteArray::fromStdString(bytes).toHex().constData());
    }
    for (const std::uint32_t c : {0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
        std::string bytes;
        append_utf8(c, bytes);
        QVERIFY(reads(any, bytes));
    }
}

void TestGrammar::masks_areThoseOfEachTokenAlone_data() {
    QTest::addColumn<QString>("schema");
    QTest::addColumn<QString>("text");
    QTest::newRow("anything") << "true"
                              << R"([{"a": "ä\n€ \u00e4", "b": [true, null, -1.5e3]}, ""])";
    QTest::newRow("object")
        << R"({"properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "integer"}, "of": {"type": "array", "items": {"enum": ["ab", "abc"]}}}})"
        << R"({"name": "ab\"c€", "n": 120, "of": ["ab", "abc"]})";
    QTest::newRow("pattern") << R"({"pattern": "^(ab|abc|name)+[0-9]{2}$"})"
                             << R"("abnameabc12")";
}

void TestGrammar::masks_areThoseOfEachTokenAlone() {
    QFETCH(const QString, schema);
    QFETCH(const QString, text);
    const Grammar grammar = of_schema(schema);
    TokenizerFolder folder(283);
    folder.write("tokenizer.json", byte_level_tokenizer());
    int n_allowed = 0;
    const auto bytes = folder.open();
    compare_masks(*bytes, 283, grammar, text.toStdString(), n_allowed);
    const auto pieces = Tokenizer::open(demoModel(), 2048);
    compare_masks(*pieces, 2048, grammar, text.toStdString(), n_allowed);
    QVERIFY(n_allowed > 200);
}

// Of random bounds, with random texts: vocabularies whose tokens reach over several
// counts.
void TestGrammar::masks_ofCountedParts_areThoseOfEachTokenAlone() {
    TokenizerFolder folder(283);
    folder.write("tokenizer.json", byte_level_tokenizer());
    const auto bytes = folder.open(), pieces = Tokenizer::open(demoModel(), 2048);
    int n_allowed = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        const auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
        const auto count = [&] {
            const int least = pick(3) == 0 ? 0 : pick(20);
            return "{" + std::to_string(least) + "," + std::to_string(least + pick(25)) + "}";
        };
        const int low = pick(15), high = low + pick(25);
        const Json text = {{"type", "string"}, {"minLength", low}, {"maxLength", high}};
        const Json list = {{"type", "array"}, {"items", text}, {"minItems", low / 5}, {"maxItems", 1 + high / 3}};
        const std::string part = "(\"ab\" | a" + count() + " | (\"c\"? \"1\"" + count() + "))" + count();
        const Grammar grammar =
            seed % 5 == 0   ? json_schema_grammar(text)
            : seed % 5 == 1 ? json_schema_grammar(list)
            : seed % 5 == 2 ? json_schema_grammar({{"pattern", "^(ab|[^x]c?)" + count() + "a" + count() + "$"}})
            : seed % 5 == 3 ? parse_gbnf("root ::= " + part + " \"]\"\na ::= [a-c] b\nb ::= \"\" | \"1\" | \"\\\"\"")
                            : json_schema_grammar({{"properties", {{"abc", list}, {"name", text}}}});
        GrammarAutomaton automaton(grammar);
        GrammarAutomaton::State state = automaton.start();
        std::string made;
        for (int tries = 0; made.size() < 60 && tries < 2000; ++tries) {
            const std::string_view usual = "aaaabbbbcccc11nme  \"\\,:[]{}\xC3\xA4";
            const char next = tries % 50 == 49
                                  ? static_cast<char>(pick(256))
                                  : usual[static_cast<std::size_t>(pick(static_cast<unsigned>(usual.size())))];
            const GrammarAutomaton::State to = automaton.step(state, static_cast<unsigned char>(next));
            if (to == GrammarAutomaton::kDead) continue;
            made += next;
            state = to;
        }
        compare_masks(*bytes, 283, grammar, made, n_allowed);
        if (seed % 4 == 0) compare_masks(*pieces, 2048, grammar, made, n_allowed);
        if (QTest::currentTestFailed()) QFAIL(qPrintable(QStringLiteral("seed %1").arg(seed)));
    }
    QVERIFY(n_allowed > 10'000);
}

void TestGrammar::masks_ofCounts_areShared_data() {
    QTest::addColumn<QString>("grammar");
    QTest::addColumn<QString>("text");
    const QString word = QStringLiteral("a fox ").repeated(60);
    QTest::newRow("at most") << R"({"type": "string", "maxLength": 2000})"
                             << "\"" + word;
    QTest::newRow("at least") << R"({"type": "string", "minLength": 2000})"
                              << "\"" + word;
    QTest::newRow("a pattern") << R"({"pattern": "^[a-z ]{5,900}$"})"
                               << "\"" + word;
    QTest::newRow("a list") << R"({"type": "array", "items": {"type": "string", "maxLength": 300}, "maxItems": 400})"
                            << QStringLiteral("[\"fox\"") + QStringLiteral(", \"a fox\"").repeated(40);
    QTest::newRow("no bound") << "root ::= plain*\nplain ::= [a-z] | \" \"" << word;
}

// An amount, not a time: a walk through the vocabulary for each token would read it 360
// times.
void TestGrammar::masks_ofCounts_areShared() {
    QFETCH(const QString, grammar);
    QFETCH(const QString, text);
    const auto tokenizer = Tokenizer::open(demoModel(), 2048);
    const VocabularyTree tree(*tokenizer, 2048);
    const auto made = std::make_shared<const Grammar>(
        grammar.startsWith(QLatin1String("root")) ? parse_gbnf(grammar.toStdString()) : of_schema(grammar));
    TokenMasks masks(made, tree);
    GrammarAutomaton automaton(*made);
    GrammarAutomaton::State state = automaton.start();
    for (const char c : text.toStdString()) {
        masks.find(automaton, state);
        state = automaton.step(state, static_cast<unsigned char>(c));
        QVERIFY(state != GrammarAutomaton::kDead);
    }
    const std::size_t n_walks = masks.n_read() / tree.nodes().size();
    QVERIFY2(n_walks < 60, std::to_string(n_walks).c_str());
}

// Where more is left than the longest token has, all counts are the same; and tokens of
// plain characters are found without reading each.
void TestGrammar::masks_farFromABound_readNothingMore() {
    const auto tokenizer = Tokenizer::open(demoModel(), 2048);
    const VocabularyTree tree(*tokenizer, 2048);
    const auto made =
        std::make_shared<const Grammar>(of_schema(QStringLiteral(R"({"type": "string", "maxLength": 900})")));
    TokenMasks masks(made, tree);
    GrammarAutomaton automaton(*made);
    GrammarAutomaton::State state = automaton.read(automaton.start(), "\"A");
    masks.find(automaton, state);
    const std::size_t n_first = masks.n_read();
    // Two walks, of which each would read all.
    QVERIFY2(n_first < tree.nodes().size() * 3 / 2, std::to_string(n_first).c_str());
    for (int i = 0; i < 600; ++i) {
        state = automaton.step(state, 'a');
        masks.find(automaton, state);
    }
    QCOMPARE(masks.n_read(), n_first);
}

void TestGrammar::masks_ofTheSamePlaceInOtherObjects_areShared() {
    const Grammar grammar = of_schema(QStringLiteral(R"({"type": "array", "items": {"type": "string"}})"));
    GrammarAutomaton automaton(grammar);
    const auto state = [&](const char* text) { return automaton.read(automaton.start(), text); };
    QCOMPARE(automaton.positions(state("[\"ab")), automaton.positions(state("[\"\", \"c")));
    const Grammar nested = of_schema(QStringLiteral("true"));
    GrammarAutomaton deep(nested);
    const GrammarAutomaton::State outer = deep.read(deep.start(), "{\"a\": \"b"),
                                  inner = deep.read(deep.start(), "[[{\"a\": {\"b\": \"c");
    QVERIFY(outer != inner);
    QCOMPARE(deep.positions(outer), deep.positions(inner));
}

void TestGrammar::masks_nearTheDeepestCall_allowNothingBehindIt() {
    TokenizerFolder folder(283);
    folder.write("tokenizer.json", byte_level_tokenizer());
    const auto tokenizer = folder.open();
    const VocabularyTree tree(*tokenizer, 283);
    const Grammar grammar = of_schema(QStringLiteral("true"));
    TokenMasks masks(std::make_shared<const Grammar>(grammar), tree);
    GrammarAutomaton automaton(grammar);
    TokenId open = 0;
    while (tokenizer->piece_bytes(open) != "[") ++open;
    int n = 0;
    for (GrammarAutomaton::State state = automaton.start(); n < 2000; ++n) {
        const TokenMask mask = masks.find(automaton, state);
        const GrammarAutomaton::State next = automaton.step(state, '[');
        QCOMPARE(mask.has(open), next != GrammarAutomaton::kDead);
        QVERIFY(mask.any());
        if (next == GrammarAutomaton::kDead) break;
        state = next;
    }
    QVERIFY(n > 50 && n < 2000);
}

void TestGrammar::charactersInTokens_areAllowedInPieces() {
    TokenizerFolder folder(283);
    folder.write("tokenizer.json", byte_level_tokenizer());
    const auto tokenizer = folder.open();
    const VocabularyTree tree(*tokenizer, 283);
    const Grammar grammar = parse_gbnf("root ::= \"\u20ac\" | \"\u00e4\"");
    TokenMasks masks(std::make_shared<const Grammar>(grammar), tree);
    GrammarAutomaton automaton(grammar);
    const auto names = [&](const TokenMask& mask) {
        QStringList list;
        for (TokenId token = 0; token < 283; ++token) {
            if (mask.has(token))
                list << QString::fromLatin1(QByteArray::fromStdString(tokenizer->piece_bytes(token)).toHex());
        }
        return list;
    };
    QCOMPARE(names(masks.find(automaton, automaton.start())), (QStringList{"c3", "e2", "e282"}));
    QCOMPARE(names(masks.find(automaton, automaton.read(automaton.start(), "\xE2\x82"))), QStringList{"ac"});
}

// Hostile ones end in an error, soon.
void TestGrammar::grammars_haveBounds() {
    std::string rules = "root ::= a0\n";
    for (int i = 0; i < 5000; ++i) rules += "a" + std::to_string(i) + " ::= \"x\" a" + std::to_string(i + 1) + "\n";
    QVERIFY(error_of([&] { parse_gbnf(rules); }).contains(QStringLiteral("too many rules")));
    QVERIFY(error_of([] {
                parse_gbnf("root ::= ((((\"a\"{1,500}){1,500}){1,500}){1,500})");
            }).contains(QStringLiteral("too large")));
    QVERIFY(error_of([] {
                parse_gbnf("root ::= " + std::string(1000, '(') + "\"a\"" + std::string(1000, ')'));
            }).contains(QStringLiteral("fewer groups")));
    Json chain = {{"$ref", "#/$defs/d0"}, {"$defs", Json::object()}};
    for (int i = 0; i < 1000; ++i) {
        chain["$defs"]["d" + std::to_string(i)] = {{"type", "array"},
                                                   {"items", {{"$ref", "#/$defs/d" + std::to_string(i + 1)}}}};
    }
    chain["$defs"]["d1000"] = {{"type", "null"}};
    QVERIFY(error_of([&] { json_schema_grammar(chain); }).contains(QStringLiteral("too deep")));
    // Nothing, however often; and a part within very many others.
    QVERIFY(reads(parse_gbnf("root ::= \"\"{20000}{20000}{20000}{20000} \"a\""), "a"));
    QVERIFY(error_of([] {
                parse_gbnf("root ::= \"a\"" + std::string(100'000, '?'));
            }).contains(QStringLiteral("too deep")));
    QVERIFY(error_of([] {
                parse_gbnf("root ::= (" + std::string(900'000, ' ').replace(0, 300'000, std::string(300'000, '.')) +
                           "){9000}");
            }).contains(QStringLiteral("too large")));
    std::string classes = "root ::= \"\"";
    for (int i = 1; i < 5000; ++i) {
        classes += " [";
        for (int bit = 0; bit < 13; ++bit)
            classes += (i >> bit & 1) != 0 ? std::string(1, static_cast<char>('a' + bit)) : "";
        classes += "]";
    }
    QVERIFY(error_of([&] { parse_gbnf(classes); }).contains(QStringLiteral("too many classes")));
    // Nesting beyond the deepest is left out.
    const Grammar nested = parse_gbnf("root ::= \"(\" root \")\" | \"x\"");
    QVERIFY(reads(nested, std::string(200, '(') + "x" + std::string(200, ')')));
    QVERIFY(!reads(nested, std::string(2000, '(') + "x" + std::string(2000, ')')));
    // Each letter doubles the ways.
    const Grammar wide = parse_gbnf("root ::= (\"a\" root \"b\" | \"a\" root \"c\" | \"a\" root \"d\")?");
    GrammarAutomaton automaton(wide);
    QVERIFY(error_of([&] {
                automaton.read(automaton.start(), std::string(40, 'a'));
            }).contains(QStringLiteral("ways at once")));
}

QTEST_GUILESS_MAIN(TestGrammar)
#include "tst_grammar.moc"
