#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QTest>

#include "engine/error.h"
#include "engine/text/chat_template.h"
#include "engine/text/family_templates.h"
#include "engine/text/go_template.h"

using namespace offstage::engine;

namespace {

// Tuesday, 3 November 2026, 14:05:09, as in make_text_golden.py.
std::tm time_of_golden() {
    std::tm now = {};
    now.tm_year = 126;
    now.tm_mon = 10;
    now.tm_mday = 3;
    now.tm_hour = 14;
    now.tm_min = 5;
    now.tm_sec = 9;
    now.tm_wday = 2;
    now.tm_yday = 306;
    return now;
}
const ChatTemplate::Tokens kTokens = {"<s>", "</s>", time_of_golden()};

const nlohmann::json& golden() {
    static const nlohmann::json json = [] {
        std::ifstream file(OFFSTAGE_SOURCE_DIR "/tests/engine/data/text/templates.json");
        return nlohmann::json::parse(file);
    }();
    return json;
}

std::vector<ChatMessage> conversation(std::size_t index) {
    std::vector<ChatMessage> messages;
    for (const auto& turn : golden()["conversations"][index]) {
        const auto role = turn["role"].get<std::string>();
        messages.push_back({role == "system" ? Role::kSystem
                            : role == "user" ? Role::kUser
                                             : Role::kAssistant,
                            turn["content"].get<std::string>()});
    }
    return messages;
}

std::string render(const std::string& jinja, const std::vector<ChatMessage>& messages = {}) {
    return ChatTemplate::parse(jinja, "test")->render(messages, kTokens, true).bytes;
}

// The error of parsing and rendering, or nothing.
std::optional<Error> error_of(const std::string& jinja, const std::vector<ChatMessage>& messages = {}) {
    try {
        render(jinja, messages);
    } catch (const Error& e) {
        return e;
    }
    return std::nullopt;
}

void compare_with_golden(const nlohmann::json& expected, const std::string& jinja,
                         const std::vector<ChatMessage>& messages, bool prompt) {
    try {
        const std::string text = ChatTemplate::parse(jinja, "golden")->render(messages, kTokens, prompt).bytes;
        QVERIFY2(expected.contains("text"), qPrintable("rendered, but should not: " + QString::fromStdString(text)));
        QCOMPARE(QString::fromStdString(text), QString::fromStdString(expected["text"].get<std::string>()));
        QCOMPARE(text, expected["text"].get<std::string>());
    } catch (const Error& e) {
        QVERIFY2(!expected.contains("text"), e.what());
        if (expected.contains("refused")) QCOMPARE(e.what(), expected["refused"].get<std::string>());
        const bool is_syntax = expected.value("failed", "") == "TemplateSyntaxError";
        QVERIFY(e.kind() == ErrorKind::kUnsupported ||
                e.kind() == (is_syntax ? ErrorKind::kInvalidModel : ErrorKind::kInvalidInput));
    }
}

// A template's output for these messages, with {} around data.
std::string shown(const std::string& jinja, const std::vector<ChatMessage>& messages) {
    const PromptText text = ChatTemplate::parse(jinja, "test")->render(messages, kTokens, true);
    std::string out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.end_of_stretch(begin);
        const std::string stretch = text.bytes.substr(begin, end - begin);
        out += text.has_data(begin, 1) ? "{" + stretch + "}" : stretch;
        begin = end;
    }
    return out;
}

std::string repeated(const std::string& text, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += text;
    return out;
}

void write(const QTemporaryDir& dir, const char* name, const std::string& text) {
    std::ofstream(std::filesystem::path(dir.path().toStdString()) / name, std::ios::binary) << text;
}

}  // namespace

class ChatTemplateTest : public QObject {
    Q_OBJECT

  private slots:
    void render_equals_jinja2_data() {
        QTest::addColumn<int>("shape");
        QTest::addColumn<int>("case_");
        const auto& shapes = golden()["templates"];
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            const auto name = shapes[i]["name"].get<std::string>();
            for (std::size_t k = 0; k < shapes[i]["cases"].size(); ++k) {
                QTest::addRow("%s %zu", name.c_str(), k) << static_cast<int>(i) << static_cast<int>(k);
            }
        }
    }
    void render_equals_jinja2() {
        QFETCH(int, shape);
        QFETCH(int, case_);
        const auto& golden_shape = golden()["templates"][static_cast<std::size_t>(shape)];
        const auto& expected = golden_shape["cases"][static_cast<std::size_t>(case_)];
        compare_with_golden(expected, golden_shape["template"].get<std::string>(),
                            conversation(expected["conversation"].get<std::size_t>()), expected["prompt"].get<bool>());
    }

    void snippet_equals_jinja2_data() {
        QTest::addColumn<int>("index");
        const auto& snippets = golden()["snippets"];
        QVERIFY(snippets.size() > 90);
        for (std::size_t i = 0; i < snippets.size(); ++i) QTest::addRow("snippet %zu", i) << static_cast<int>(i);
    }
    void snippet_equals_jinja2() {
        QFETCH(int, index);
        const auto& expected = golden()["snippets"][static_cast<std::size_t>(index)];
        const auto jinja = expected["template"].get<std::string>();
        compare_with_golden(expected, jinja, conversation(2), true);
        if (QTest::currentTestFailed()) qWarning("template: %s", jinja.c_str());
    }

    void parse_broken_syntax_is_named_with_its_line_data() {
        QTest::addColumn<QString>("jinja");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* jinja, const char* part) { QTest::addRow("%s", jinja) << jinja << part; };
        row("a\nb{{ 1 ", "line 2: the chat template has a tag that does not end");
        row("{{ }}", "a value is expected");
        row("{{ 1 + }}", "a value is expected");
        row("{{ (1 }}", "unexpected");
        row("{{ 1) }}", "unexpected ')'");
        row("{{ 'x }}", "a string that does not end");
        row("{# x", "a comment that does not end");
        row("\n\n{% if x %}", "line 3: the chat template has no {% endif %}");
        row("{% for x in y %}{% endif %}", "'endif' where it does not belong");
        row("{% endif %}", "'endif' where it does not belong");
        row("{% else %}", "'else' where it does not belong");
        row("{% if %}{% endif %}", "a value is expected");
        row("{% for x %}{% endfor %}", "'in' is expected");
        row("{% for true in x %}{% endfor %}", "an assignment to 'true'");
        row("{% set loop = 1 %}", "an assignment to 'loop'");
        row("{% break %}", "outside of a loop");
        row("{% set x = 1 y %}", "'%}' is expected");
        row("{{ x.1y }}", "a letter");
        row("{{ f(a=1, 2) }}", "behind a named one");
        row("{{ $ }}", "unexpected character '$'");
        row("{{ '\\ud800' }}", "no character");
        row("{{ '\\xq' }}", "broken \\x escape");
    }
    void parse_broken_syntax_is_named_with_its_line() {
        QFETCH(QString, jinja);
        QFETCH(QString, part);
        const auto error = error_of(jinja.toStdString());
        QVERIFY(error.has_value());
        QVERIFY(error->kind() == ErrorKind::kInvalidModel || error->kind() == ErrorKind::kUnsupported);
        QVERIFY2(QString(error->what()).contains(part), error->what());
        QVERIFY2(QString(error->what()).startsWith("test, line "), error->what());
    }

    void unknown_construct_is_unsupported_data() {
        QTest::addColumn<QString>("jinja");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* jinja, const char* part) { QTest::addRow("%s", jinja) << jinja << part; };
        row("{% include 'x' %}", "the tag 'include'");
        row("{% import 'os' as os %}", "the tag 'import'");
        row("{% call range(1) %}{% endcall %}", "a value of type function is called");
        row("{% strange %}", "the tag 'strange'");
        row("{{ 1 | strange }}", "the filter 'strange'");
        row("{{ 1 is strange }}", "the test 'strange'");
        row("{{ strange() }}", "the function 'strange'");
        row("{{ strftime_now('%Q') }}", "strftime_now with the directive 'Q'");
        row("{{ 'a'.encode() }}", "the method 'encode'");
        row("{{ 'a'.format }}", "the attribute 'format' of a value of type str");
        row("{{ 'a'.casefold }}", "the attribute 'casefold' of a value of type str");
        row("{{ {}.items }}", "the attribute 'items' of a value of type dict");
        row("{{ 5 | attr('real') or (5).real }}", "the filter 'attr'");
        row("{{ (5).real }}", "the attribute 'real' of a value of type int");
        row("{{ range(3).start }}", "the attribute 'start' of a value of type range");
        row("{% for x in [1] %}{{ loop.cycle }}{% endfor %}", "the attribute 'cycle' of a value of type namespace");
        row("{% macro m() %}{% endmacro %}{{ m.name }}", "the attribute 'name' of a value of type function");
        row("{{ self }}", "the name 'self'");
        row("{{ lipsum }}", "printing a function");
        row("{{ cycler('a') }}", "the function 'cycler'");
        row("{{ [1] is sameas [1] }}", "the test 'sameas' of two values of type list");
        row("{{ 'a' is sameas 'a' }}", "the test 'sameas' of two values of type str");
        row("{{ [1] | map('string') }}", "printing a generator");
        row("{% set g = [1, 2] | map('string') %}{{ g | first }}{{ g | list }}", "a generator that gave a part");
        row("{% set g = [1] | map('string') %}{% set h = g | map('int') %}{{ g | list }}", "a generator that gave a");
        row("{% set n = namespace(a=1) %}{% set g = [n] | map(attribute='a') %}{% set n.a = 2 %}{{ g | list }}",
            "a generator of a namespace's values");
        row("{% set n = namespace(a=1) %}{% for x in [1, 2] if n.a %}{{ loop.last }}{% set n.a = 0 %}{% endfor %}",
            "a loop whose filter reads a namespace");
        row("{{ 'nan' | float }}", "the number nan");
        row("{{ (-8) ** 0.5 }}", "the number nan");
        row("{{ '\u0663' | int }}", "the number");
        row("{{ ''.__class__.__mro__ }}", "");
        row("{{ self.__init__.__globals__ }}", "");
        row("{{ cycler.__init__.__globals__.os.popen('id').read() }}", "");
        row("{{ messages | attr('__class__') }}", "the filter 'attr'");
        row("{{ __import__('os').system('id') }}", "the function '__import__'");
        row("{{ messages.append(1) }}", "the method 'append'");
        row("{{ {}.update({}) }}", "the method 'update'");
        row("{{ '%c' % 65 }}", "the text format '%c'");
        row("{{ f(*x) }}", "unpacked arguments");
        row("{{ [namespace()] }}", "printing a namespace");
        row("{% for x in [1] %}{% set y = [loop] %}{% endfor %}", "a namespace inside another value");
        row("{{ [range] }}", "a function used as a value");
        row("{{ range }}", "printing a function");
        row("{% set n = namespace() %}{% set n.n = range %}", "a function used as a value");
    }
    void unknown_construct_is_unsupported() {
        QFETCH(QString, jinja);
        QFETCH(QString, part);
        const auto error = error_of(("\n" + jinja).toStdString());
        QVERIFY(error.has_value());
        if (!part.isEmpty()) QCOMPARE(error->kind(), ErrorKind::kUnsupported);
        QVERIFY2(QString(error->what()).contains(part), error->what());
        QVERIFY2(QString(error->what()).startsWith("test, line 2: "), error->what());
    }

    void unknown_construct_is_passed_over_when_not_reached() {
        QCOMPARE(render("{% if false %}{{ strange(1) | strange is strange }}{% endif %}a"), std::string("a"));
        QCOMPARE(render("{% if strange is defined %}{{ strange('%d') }}{% else %}26 Jul{% endif %}"),
                 std::string("26 Jul"));
    }

    void raise_exception_gives_the_templates_own_words() {
        const auto error = error_of("\n{{ raise_exception('Roles must alternate!') }}");
        QVERIFY(error.has_value());
        QCOMPARE(error->kind(), ErrorKind::kInvalidInput);
        QCOMPARE(error->what(), std::string("Roles must alternate!"));
        QCOMPARE(error->detail(), std::string("test, line 2"));
    }

    void generation_tag_is_transparent() { QCOMPARE(render("{% generation %}x{% endgeneration %}"), std::string("x")); }

    // Each of these would take unlimited time, all memory or the whole stack.
    void bound_ends_rendering_data() {
        QTest::addColumn<QString>("jinja");
        const auto row = [](const char* name, const std::string& jinja) {
            QTest::addRow("%s", name) << QString::fromStdString(jinja);
        };
        row("loops in loops", "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}");
        row("range", "{{ range(1000000000) | length }}");
        row("range backwards", "{{ range(0, -9223372036854775807, -1) | length }}");
        row("output", "{% for a in range(99999) %}" + repeated("x", 1000) + "{% endfor %}");
        row("doubled text",
            "{% set n = namespace(s='x') %}{% for a in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}");
        row("doubled text, +",
            "{% set n = namespace(s='x') %}{% for a in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}");
        row("repeated text", "{{ ('x' * 99999999999) | length }}");
        row("repeated list", "{{ ([1] * 99999999999) | length }}");
        row("repeated empty", "{{ ('' * 9223372036854775807) | length }}{{ 1 / 0 }}");
        row("replaced text", "{{ ('x' * 1000000) | replace('x', 'y' * 1000000) | length }}");
        row("replaced nothing", "{{ ('x' * 1000000) | replace('', 'y' * 1000000) | length }}");
        row("joined text", "{{ (range(99999) | join('y' * 1000000)) | length }}");
        row("doubled list",
            "{% set n = namespace(s=[1]) %}{% for a in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}");
        row("list of itself twice",
            "{% set n = namespace(s=[1]) %}{% for a in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}");
        row("list of itself twice, compared",
            "{% set n = namespace(s=[1], t=[1]) %}{% for a in range(60) %}{% set n.s = [n.s, n.s] %}{% set n.t = [n.t, "
            "n.t] %}{% endfor %}{{ n.s == n.t }}");
        std::string entries;
        for (int i = 0; i < 1000; ++i) entries += std::to_string(i) + ": 1,";
        for (const char* compared : {"d == e", "d.keys() == e.keys()", "[d.items()] == [e.items()]",
                                     "d.keys() is eq e.keys()", "d.keys() in [e.keys()]"})
            row(compared, "{% set d = {" + entries + "} %}{% set e = {" + entries + "} %}{% for i in range(300) %}{{ " +
                              compared + " }}{% endfor %}");
        row("deep list", "{% set n = namespace(s=[1]) %}{% for a in range(9999) %}{% set n.s = [n.s] %}{% endfor %}");
        row("deep dict",
            "{% set n = namespace(s={}) %}{% for a in range(9999) %}{% set n.s = {'a': n.s} %}{% endfor %}");
        row("macro calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
        row("macros call each other",
            "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}");
        row("macro default calls it", "{% macro m(x=m()) %}{% endmacro %}{{ m() }}");
        row("power", "{{ 9 ** 9999999999 }}");
        row("power of power", "{{ 10 ** 18 * 10 ** 18 }}");
        row("smallest", "{{ (-9223372036854775807 - 1) // -1 }}");
        row("smallest, negated", "{{ -(-9223372036854775807 - 1) }}");
        row("smallest, abs", "{{ (-9223372036854775807 - 1) | abs }}");
        row("map of map", "{{ [1] | map('map', 'map', 'map') | list }}");
        row("indent", "{{ [1] | tojson(indent=999999999) }}");
        row("parentheses", "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}");
        row("lists", "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}");
        row("nots", "{{ " + repeated("not ", 5000) + "1 }}");
        row("signs", "{{ " + repeated("- ", 5000) + "1 }}");
        row("sums", "{{ 1" + repeated(" + 1", 5000) + " }}");
        row("dots", "{{ messages" + repeated(".a", 5000) + " }}");
        row("subscripts", "{{ messages" + repeated("[0]", 5000) + " }}");
        row("filters", "{{ 1" + repeated("|string", 5000) + " }}");
        row("tests", "{{ 1" + repeated(" is defined", 5000) + " }}");
        row("test arguments", "{{ 1" + repeated(" is eq 1", 5000) + " }}");
        row("choices", "{{ 1" + repeated(" if 1 else 1", 5000) + " }}");
        row("ors", "{{ 0" + repeated(" or 0", 5000) + " }}");
        row("ifs", repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000));
        row("fors", repeated("{% for a in [1] %}", 5000) + repeated("{% endfor %}", 5000));
        row("template size", repeated("x", (256u << 10) + 1));
        row("number", "{{ 99999999999999999999 }}");
    }
    void bound_ends_rendering() {
        QFETCH(QString, jinja);
        const auto error = error_of(jinja.toStdString());
        QVERIFY(error.has_value());
        QVERIFY(error->kind() != ErrorKind::kInternal);
    }

    void bound_leaves_room_for_real_use() {
        // A long conversation with long turns, through a template that reads everything
        // twice.
        std::vector<ChatMessage> messages;
        for (int i = 0; i < 400; ++i) {
            messages.push_back({i % 2 == 0 ? Role::kUser : Role::kAssistant, repeated("many words ", 1000)});
        }
        for (const auto& shape : golden()["templates"]) {
            const auto text =
                ChatTemplate::parse(shape["template"].get<std::string>(), "long")->render(messages, kTokens, true);
            QVERIFY(text.size() > 4'000'000);
        }
        // Chains of a length that occurs in practice.
        QCOMPARE(render("{{ ''" + repeated(" + 'x'", 100) + " }}").size(), std::size_t{100});
        QVERIFY(!error_of("{% if 0 %}" + repeated("{% elif 0 %}", 2000) + "{% endif %}").has_value());
    }

    // A template that reads only the parts of a content gets them.
    void contents_are_parts_where_a_text_would_be_lost() {
        const std::vector<ChatMessage> messages = {
            {Role::kSystem, "S"}, {Role::kUser, "U"}, {Role::kAssistant, "A"}, {Role::kUser, "V"}};
        const std::string parts =
            "{% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]{% endif %}{% endfor %}";
        QCOMPARE(shown("{% for m in messages %}" + parts + "{% endfor %}", messages), "[{S}][{U}][{A}][{V}]");
        QCOMPARE(shown("{% for m in messages %}{% if m.role == 'user' %}" + parts +
                           "{% else %}{{ m.content }}{% endif %}{% endfor %}",
                       messages),
                 "{S}[{U}]{A}[{V}]");
        QCOMPARE(shown("{% for m in messages %}{{ m.content[0].text if m.content is not string else m.content }}"
                       "{% endfor %}",
                       messages),
                 "{SUAV}");  // either will do
        QCOMPARE(shown("{% for m in messages %}{{ m.content[0]['text'] }}{% endfor %}", messages), "{SUAV}");
        QCOMPARE(shown("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
                       "{% for m in messages %}{{ m.content | map(attribute='text') | join }}{% endfor %}",
                       {{Role::kUser, "U"}}),
                 "{U}");
        QCOMPARE(shown("{{ messages | length }}", messages), "4");  // which shows no text at all
    }

    // Text of a message is marked as such whatever a template does with it.
    void text_of_messages_stays_data_data() {
        QTest::addColumn<QString>("jinja");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* jinja, const char* expected) {
            QTest::addRow("%s", jinja) << jinja << expected;
        };
        row("{{ c }}", "{ B-b, }");
        row("{{ bos_token + messages[0].role + c + eos_token }}", "<s>user{ B-b, }</s>");
        row("{{ '<' ~ c ~ '>' ~ 1 }}", "<{ B-b, }>1");
        row("{{ '<' + c | trim + '>' }}", "<{B-b,}>");
        row("{{ c.strip() + c.lstrip() + c.rstrip(', ') + c.strip(' B') }}", "{B-b,B-b,  B-b-b,}");
        row("{{ c[1:3] + c[-2] + c[::2] + c[0] }}", "{B-, -, }");
        row("{{ c.split('-')[0] + '|' + c.split('-')[-1] }}", "{ B}|{b, }");
        row("{{ c.split() | join('|') }}", "{B-b,}");
        row("{{ (c * 2).split() | join('|') }}", "{B-b,}|{B-b,}");
        row("{{ '|'.join(c.split('-')) + c.join(['x', 'y']) }}", "{ B}|{b, }x{ B-b, }y");
        row("{{ c.splitlines()[0] }}", "{ B-b, }");
        row("{{ c | replace('-', '+') }}", "{ B}+{b, }");
        row("{{ '1-2' | replace('-', c) }}", "1{ B-b, }2");
        row("{{ c.replace('', '.') }}", ".{ }.{B}.{-}.{b}.{,}.{ }.");
        row("{{ c | upper + c | lower + ('<' + c) | capitalize + c.title() }}", "{ B-B,  b-b, < b-b,  B-B, }");
        row("{% for x in c %}{{ loop.index ~ x }}{% endfor %}", "1{ }2{B}3{-}4{b}5{,}6{ }");
        row("{{ c | reverse }}{{ c | list | join }}{{ c | first }}{{ c | last }}", "{ ,b-B  B-b,   }");
        row("{{ c | indent(first=true) }}", "    { B-b, }");
        row("{{ 'x\\ny' | indent(c) }}", "x\n{ B-b, }y");
        row("{{ {'a': c} | tojson }}{{ 'x' | tojson }}", R"({{"a": " B-b, "}}"x")");
        row("{{ [c, 1] }}{{ ['x', 1] }}", "{[' B-b, ', 1]}['x', 1]");
        row("{{ messages[0] | tojson }}", R"({{"role": "user", "content": " B-b, "}})");
        row("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(c) | trim }}", "<{ B-b, }>");
        row("{% set x %}<{{ c }}>{% endset %}{{ x }}", "<{ B-b, }>");
        row("{% set n = namespace(x=c) %}{% set n.x = n.x + '>' %}{{ n.x }}", "{ B-b, }>");
        row("{% set d = {c: 1} %}{% for k in d %}{{ k }}{% endfor %}{{ d.items() | list }}", "{ B-b, [(' B-b, ', 1)]}");
        row("{{ none | default(c) }}{{ x | default(c) }}{{ c | default('x') | string | safe }}", "None{ B-b,  B-b, }");
        row("{{ messages | map(attribute='content') | join('|') }}", "{ B-b, }|{A}|");
        row("{{ messages[1].reasoning_content }}{{ messages[1].thinking }}", "{TT}");
        row("{{ c == ' B-b, ' }}{{ c in ' B-b, ' }}{{ c.find('-') }}{{ c | length }}", "TrueTrue26");
        row("{{ strftime_now('%Y' + c) }}{{ strftime_now('%Y') }}", "{2026 B-b, }2026");
        row("{{ c.removeprefix(' ') + c.removesuffix(' ') }}", "{B-b,  B-b,}");
        row("{{ '<{}|{:>8}>'.format(c, c) }}{{ c.format() }}", "<{ B-b, }|  { B-b, }>{ B-b, }");
        row("{{ '{:{}>3}|{:{}}'.format('x', c[1], c, 8) }}", "{BB}x|{ B-b, }  ");
        row("{% raw %}{{ c }}{% endraw %}{% with d = c %}{{ d }}{% endwith %}", "{{ c }}{ B-b, }");
        row("{{ '<%s|%8s|%.2s>' % (c, c, c) }}{{ c % () }}", "<{ B-b, }|  { B-b, }|{ B}>{ B-b, }");
        row("{{ '<%r>' | format(c) }}{{ ('<' + c) | e }}", "<{' B-b, '}>&lt;{ B-b, }");
        row("{{ c.rsplit('-', 1)[1] + '|' + c.partition('-')[0] + c.center(8) }}", "{b, }|{ B} { B-b, } ");
        row("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ c }}{% endcall %}", "<{ B-b, }>");
        row("{% filter trim %} <{{ c }}>{% endfilter %}", "<{ B-b, }>");
        row("{% for x in [c] recursive %}<{{ x }}{{ loop([c]) if loop.depth == 1 }}>{% endfor %}",
            "<{ B-b, }<{ B-b, }>>");
        row("{{ [c] | min }}{{ [[c]] | sum(start=[]) | first }}{{ dict(a=c).a }}", "{ B-b,  B-b,  B-b, }");
    }
    void text_of_messages_stays_data() {
        QFETCH(QString, jinja);
        QFETCH(QString, expected);
        ChatMessage answer{Role::kAssistant, "A"};
        answer.thought = "T";
        const std::vector<ChatMessage> messages = {{Role::kUser, " B-b, "}, answer, {Role::kUser, ""}};
        QCOMPARE(QString::fromStdString(shown("{% set c = messages[0].content %}" + jinja.toStdString(), messages)),
                 expected);
    }

    void render_invalid_utf8_is_refused() {
        const auto chat = ChatTemplate::parse("{{ messages[0].content }}", "test");
        const std::vector<std::string> broken = {"\377", "a\303", "\355\240\200"};
        for (const auto& bad : broken) {
            QVERIFY_THROWS_EXCEPTION(Error, chat->render({{Role::kUser, bad}}, kTokens, true));
        }
        QVERIFY_THROWS_EXCEPTION(Error, ChatTemplate::parse("\377", "test"));
        QCOMPARE(chat->render({{Role::kUser, std::string("a\0b", 3)}}, kTokens, true).bytes, std::string("a\0b", 3));
    }

    // An agent's conversation: the model called a tool and got its result.
    void tool_calls_are_given_as_the_template_takes_them_data() {
        QTest::addColumn<QByteArray>("call");  // the template's output for a message with calls
        QTest::addColumn<QString>("expected");
        QTest::newRow("arguments in an object")
            << QByteArray("{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}")
            << QStringLiteral("call1 f z=1;a=[True, None, 0.5, 'x'];");
        QTest::newRow("arguments as text") << QByteArray("{{ '' + c.function.arguments }}")
                                           << QStringLiteral(R"(call1 f {"z": 1, "a": [true, null, 0.5, "x"]})");
        QTest::newRow("content that is none")
            << QByteArray("{{ m.content is none }}") << QStringLiteral("call1 f True");
        QTest::newRow("content that must be text")
            << QByteArray("{{ m.content + c.type }}") << QStringLiteral("call1 f function");
        QTest::newRow("both as text") << QByteArray("{{ m.content + c.function.arguments }}")
                                      << QStringLiteral(R"(call1 f {"z": 1, "a": [true, null, 0.5, "x"]})");
    }
    void tool_calls_are_given_as_the_template_takes_them() {
        QFETCH(QByteArray, call);
        QFETCH(QString, expected);
        ChatMessage asks{Role::kAssistant, ""}, result{Role::kTool, "42"};
        asks.tool_calls = {{"call1", "f", R"({"z": 1, "a": [true, null, 0.5, "x"]})"}};
        result.tool_call_id = "call1";
        result.name = "f";
        const std::string jinja =
            "{% for m in messages %}{% if m.role == 'tool' %}|{{ m.name }} {{ m.tool_call_id }} {{ m.content }}"
            "{% elif m.tool_calls %}{% for c in m.tool_calls %}{{ c.id }} {{ c.function.name }} " +
            call.toStdString() + "{% endfor %}{% endif %}{% endfor %}";
        QCOMPARE(QString::fromStdString(render(jinja, {{Role::kUser, "Hi"}, asks, result})),
                 expected + QStringLiteral("|f call1 42"));
    }

    void tool_calls_with_damaged_arguments_stay_text() {
        ChatMessage asks{Role::kAssistant, ""};
        asks.tool_calls = {{"1", "f", "{\"a\": "}, {"2", "g", ""}};
        QCOMPARE(render("{% for c in messages[-1].tool_calls %}{{ c.function.name }} {{ c.function.arguments is string "
                        "}} {% endfor %}",
                        {asks}),
                 std::string("f True g False "));
    }

    void tools_the_template_does_not_know_are_named() {
        ChatMessage asks{Role::kAssistant, ""};
        asks.tool_calls = {{"1", "f", "{}"}};
        const std::string plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}";
        const auto calls = error_of(plain, {asks}), result = error_of(plain, {{Role::kTool, "42"}});
        QVERIFY(calls && calls->kind() == ErrorKind::kInvalidInput);
        QVERIFY(std::string(calls->what()).find("has no place for \"tool_calls\"") != std::string::npos);
        // It writes the text of any role.
        QCOMPARE(render(plain, {{Role::kTool, "42"}}), std::string("tool: 42"));
        QVERIFY(!result);
    }
    // Naming a role or a field is not writing it.
    void tools_that_are_named_but_not_written_are_refused() {
        ChatMessage asks{Role::kAssistant, "a"};
        asks.tool_calls = {{"1", "f", "{}"}};
        const std::string skips =
            "{% for m in messages %}{% if m.role != 'tool' and not m.tool_calls %}{{ m.content }}{% endif %}{% endfor "
            "%}";
        const auto calls = error_of(skips, {asks}), result = error_of(skips, {{Role::kTool, "42"}});
        QVERIFY(calls && result);
        QVERIFY(std::string(result->what()).find("has no place for the role \"tool\"") != std::string::npos);
        // A template's own words are better than those of the probe.
        const auto own = error_of(
            "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}"
            "{% endif %}{% endfor %}",
            {{Role::kTool, "42"}});
        QVERIFY(own && std::string(own->what()).find("no tools here") != std::string::npos);
    }

    void render_twice_gives_the_same() {
        const auto chat = ChatTemplate::parse("{% set n = namespace(x=0) %}{% set n.x = n.x + 1 %}{{ n.x }}", "test");
        QCOMPARE(chat->render({}, kTokens, true).bytes, std::string("1"));
        QCOMPARE(chat->render({}, kTokens, true).bytes, std::string("1"));
    }

    void read_takes_the_file_then_the_configuration() {
        QTemporaryDir dir;
        const std::filesystem::path path = dir.path().toStdString();
        QVERIFY(ChatTemplate::read(path) == nullptr);
        write(dir, "tokenizer_config.json", R"({"bos_token": "<s>"})");
        QVERIFY(ChatTemplate::read(path) == nullptr);
        write(dir, "tokenizer_config.json", R"({"chat_template": null})");
        QVERIFY(ChatTemplate::read(path) == nullptr);
        write(dir, "tokenizer_config.json", R"({"chat_template": "config"})");
        QCOMPARE(ChatTemplate::read(path)->render({}, kTokens, true).bytes, std::string("config"));
        write(dir, "tokenizer_config.json",
              R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
        QCOMPARE(ChatTemplate::read(path)->render({}, kTokens, true).bytes, std::string("d"));
        write(dir, "chat_template.jinja", "own {{ bos_token }}\n");
        QCOMPARE(ChatTemplate::read(path)->render({}, kTokens, true).bytes, std::string("own <s>"));
    }

    void read_broken_configuration_names_the_file_data() {
        QTest::addColumn<QString>("json");
        const auto row = [](const char* json) { QTest::addRow("%s", json) << json; };
        row("{");
        row("[]");
        row("{\"chat_template\": 1}");
        row("{\"chat_template\": []}");
        row("{\"chat_template\": [{\"name\": \"default\"}]}");
        row("{\"chat_template\": \"{{ \"}");
    }
    void read_broken_configuration_names_the_file() {
        QFETCH(QString, json);
        QTemporaryDir dir;
        write(dir, "tokenizer_config.json", json.toStdString());
        try {
            ChatTemplate::read(dir.path().toStdString());
            QFAIL("no error");
        } catch (const Error& e) {
            QCOMPARE(e.kind(), ErrorKind::kInvalidModel);
            QVERIFY2(QString(e.what()).contains("tokenizer_config.json"), e.what());
        }
    }

    // ---- templates in Go's language
    void go_templates_are_rendered_data() {
        QTest::addColumn<QString>("go");
        QTest::addColumn<int>("messages");  // of the conversation system, user, assistant, user: the last ones
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const char* go, int messages, const char* text) {
            QTest::addRow("%s", name) << go << messages << text;
        };
        const char* const turns =
            "{{ if .System }}<sys>{{ .System }}</sys>\n{{ end }}{{ if .Prompt }}<user>{{ .Prompt }}</user>\n{{ end }}"
            "<bot>{{ .Response }}</bot>\n";
        row("turns: a question", turns, 1, "<user>Q2</user>\n<bot>");
        row("turns: the whole", turns, 4, "<sys>S</sys>\n<user>Q1</user>\n<bot>A1</bot>\n<user>Q2</user>\n<bot>");
        row("turns: without .Response", "[{{ .Prompt }}]", 3, "[Q1]A1[Q2]");
        row("turns: .Response in a branch",
            "{{ .Prompt }}{{ if .System }}!{{ .Response }}x{{ else }}?{{ .Response }}y{{ end }}z", 1, "Q2?");
        const char* const list =
            "{{- range $i, $m := .Messages }}\n{{- $last := eq (len (slice $.Messages $i)) 1 }}\n"
            "{{- if or (eq .Role \"user\") (eq .Role \"system\") }}<{{ .Role }}>{{ .Content }}\n"
            "{{- if $last }}<assistant>{{ end }}\n{{- else }}<assistant>{{ .Content }}{{ end }}\n{{- end }}";
        row("a list", list, 4, "<system>S<user>Q1<assistant>A1<user>Q2<assistant>");
        row("root and system",
            "{{ if $.System }}({{ $.System }}){{ end }}{{ range .Messages }}{{ $.System }}{{ .Content }}{{ end }}", 2,
            "A1Q2");
        row("a variable that a loop sets", "{{ $n := 0 }}{{ range $i, $_ := .Messages }}{{ $n = $i }}{{ end }}{{ $n }}",
            3, "2");
        row("else if, with, index",
            "{{ with index .Messages 0 }}{{ if eq .Role \"x\" }}a{{ else if ne .Role \"user\" }}b"
            "{{ else }}c{{ .Content }}{{ end }}{{ end }}",
            1, "cQ2");
        row("break and else of a loop",
            "{{ range .Messages }}{{ .Content }}{{ break }}{{ end }}{{ range .Tools }}t{{ else }}none{{ end }}", 3,
            "Q1none");
        row("pipes and printf", "{{ range .Messages }}{{ .Content | printf \"%s-%v\" \"a\" | json }}{{ end }}", 1,
            "\"a-Q2\"");
        row("comparisons", "{{ if and (lt 1 2) (ge 2 2) (not (gt 1 2)) .Messages }}yes{{ end }}", 1, "yes");
        row("trimmed, commented, quoted",
            "  {{- /* {{ no }} */ -}}  a {{ `}}'\\n` }}{{ \"\\n\\\"\" }} {{- .Messages | len }}", 1, "a }}'\\n\n\"1");
        row("tools are reached never",
            "{{ range .Tools }}{{ toTypeScriptType . }}{{ end }}{{ range .Messages }}{{ .Content }}{{ end }}", 1, "Q2");
    }
    void go_templates_are_rendered() {
        QFETCH(QString, go);
        QFETCH(int, messages);
        QFETCH(QString, text);
        const std::vector<ChatMessage> all = {
            {Role::kSystem, "S"}, {Role::kUser, "Q1"}, {Role::kAssistant, "A1"}, {Role::kUser, "Q2"}};
        QVERIFY(is_go_template(go.toStdString()));
        QCOMPARE(QString::fromStdString(
                     render(jinja_of_go_template(go.toStdString(), "test", ""), {all.end() - messages, all.end()})),
                 text);
    }

    void go_templates_of_neighbours_of_one_role_have_them_as_one() {
        const std::vector<ChatMessage> messages = {
            {Role::kSystem, "S"}, {Role::kSystem, "T"}, {Role::kUser, "a"}, {Role::kUser, "b"}};
        const std::string go = "{{ range .Messages }}[{{ .Content }}]{{ end }}{{ .System }}";
        QCOMPARE(render(jinja_of_go_template(go, "test", ""), messages), std::string("[S\n\nT][a\n\nb]S\n\nT"));
    }

    // The tokenizer's text before a prompt, once.
    void go_templates_begin_with_the_bos_token() {
        const std::vector<ChatMessage> messages = {{Role::kUser, "hi"}};
        QCOMPARE(render(jinja_of_go_template("{{ .Prompt }}", "test", "<s>"), messages), std::string("<s>hi"));
        QCOMPARE(render(jinja_of_go_template("<s>{{ .Prompt }}", "test", "<s>"), messages), std::string("<s>hi"));
    }

    void go_templates_that_are_not_known_are_refused_by_their_line_data() {
        QTest::addColumn<QString>("go");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* go, const char* says) { QTest::addRow("%s", go) << go << says; };
        row("a\n{{ define \"x\" }}b{{ end }}", "line 2: the chat template uses {{ define \"x\" }}");
        row("a\n\n{{ .Unknown }}", "line 3: the chat template uses .Unknown");
        row("{{ $x }}", "line 1: the chat template uses $x");
        row("{{ if .Prompt }}\n", "line 1: the chat template has {{if}} without {{end}}");
        row("{{ end }}", "line 1");
        row("a\n{{ .Prompt", "line 2: the chat template has a tag that does not end");
        row("{{ .Prompt \"a\" }}", "line 1");
        row("{{ if .Prompt }}{{ else }}{{ else }}{{ end }}", "line 1");
    }
    void go_templates_that_are_not_known_are_refused_by_their_line() {
        QFETCH(QString, go);
        QFETCH(QString, says);
        try {
            jinja_of_go_template(go.toStdString(), "x.tmpl", "");
            QFAIL("no error");
        } catch (const Error& e) {
            QVERIFY2(QString(e.what()).startsWith("x.tmpl, ") && QString(e.what()).contains(says), e.what());
        }
    }
    void go_templates_fail_by_their_own_line() {
        const auto error = [] {
            try {
                render(
                    jinja_of_go_template("a\n{{ range .Messages }}\n{{ toTypeScriptType .Content }}{{ end }}", "t", ""),
                    {{Role::kUser, "hi"}});
            } catch (const Error& e) {
                return QString(e.what());
            }
            return QString();
        }();
        QVERIFY2(error.contains(QStringLiteral("line 3 calls toTypeScriptType")), qPrintable(error));
    }
    void jinja_is_no_go_template() {
        for (const char* jinja :
             {"{% for m in messages %}{{ m.content }}{% endfor %}", "{{ messages[0].content }}", "text"}) {
            QVERIFY(!is_go_template(jinja));
        }
    }

    // ---- families
    void templates_of_families_are_rendered_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const char* text) { QTest::addRow("%s", name) << name << text; };
        row("chatml",
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ1<|im_end|>\n<|im_start|>assistant\nA1<|im_end|>\n"
            "<|im_start|>user\nQ2<|im_end|>\n<|im_start|>assistant\n");
        row("mixtral", "<s>[INST] S\n\nQ1 [/INST] A1</s>[INST] Q2 [/INST]");
        row("phi",
            "<|system|>\nS<|end|>\n<|user|>\nQ1<|end|>\n<|assistant|>\nA1<|end|>\n<|user|>\nQ2<|end|>\n<|assistant|>"
            "\n");
        row("glm4", "[gMASK]<sop><|system|>\nS<|user|>\nQ1<|assistant|>\nA1<|user|>\nQ2<|assistant|>");
        row("deepseek-v2",
            "<｜begin▁of▁sentence｜>S\n\nUser: Q1\n\nAssistant: A1<｜end▁of▁sentence｜>User: Q2\n\nAssistant:");
    }
    void templates_of_families_are_rendered() {
        QFETCH(QString, name);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(render(
                     family_template(name.toStdString()),
                     {{Role::kSystem, "S"}, {Role::kUser, "Q1"}, {Role::kAssistant, "A1"}, {Role::kUser, "Q2"}})),
                 text);
    }
    // Two calls, their results and the answer, then a further question: in the form that
    // the families' own templates have.
    void tools_of_families_are_rendered_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("turns");    // between the first question and the second,
        QTest::addColumn<QString>("results");  // and the end of a prompt whose last message is a result
        const auto row = [](const char* name, const char* turns, const char* results) {
            QTest::addRow("%s", name) << name << turns << results;
        };
        row("qwen3",
            "<|im_start|>assistant\nLet me see.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"to\": "
            "\"x\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call><|im_end|>\n"
            "<|im_start|>user\n<tool_response>\nR1\n</tool_response>\n<tool_response>\nR2\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\nA<|im_end|>\n",
            "</tool_response><|im_end|>\n<|im_start|>assistant\n");
        row("deepseek-v3",
            "<｜Assistant｜>Let me see.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
            "{\"a\": 1, \"to\": "
            "\"x\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n"
            "```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁outputs▁begin｜><"
            "｜tool▁output▁begin｜>"
            "R1<｜tool▁output▁end｜>\n<｜tool▁output▁begin｜>R2<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"
            "A<｜end▁of▁sentence｜>",
            "R2<｜tool▁output▁end｜><｜tool▁outputs▁end｜>");
        row("gemma4",
            "<|turn>model\nLet me see.<|tool_call>call:add{a:1,to:<|\"|>x<|\"|>}<tool_call|><|tool_call>call:now{}"
            "<tool_call|><|tool_response>response:add{value:<|\"|>R1<|\"|>}<tool_response|><|tool_response>response:now"
            "{value:<|\"|>R2<|\"|>}<tool_response|>A<turn|>\n",
            "R2<|\"|>}<tool_response|>");
        row("glm4",
            "<|assistant|>\nLet me see.\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n"
            "<arg_key>to</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n<tool_call>now\n</"
            "tool_call><|observation|>\n"
            "<tool_response>\nR1\n</tool_response>\n<tool_response>\nR2\n</tool_response><|assistant|>\nA",
            "R2\n</tool_response><|assistant|>");
        row("gpt-oss",
            "<|start|>assistant<|channel|>analysis<|message|>Let me see.<|end|><|start|>assistant to=functions.add"
            "<|channel|>commentary json<|message|>{\"a\": 1, \"to\": \"x\"}<|call|><|start|>assistant to=functions.now"
            "<|channel|>commentary json<|message|>{}<|call|><|start|>functions.add to=assistant<|channel|>commentary"
            "<|message|>\"R1\"<|end|><|start|>functions.now to=assistant<|channel|>commentary<|message|>\"R2\"<|end|>"
            "<|start|>assistant<|channel|>final<|message|>A<|end|>",
            "\"R2\"<|end|><|start|>assistant");
        row("granite",
            "<|start_of_role|>assistant<|end_of_role|>Let me see.<|tool_call|>[{\"name\": \"add\", \"arguments\": "
            "{\"a\": 1, "
            "\"to\": \"x\"}}, {\"name\": \"now\", \"arguments\": {}}]<|end_of_text|>\n<|start_of_role|>tool_response"
            "<|end_of_role|>R1<|end_of_text|>\n<|start_of_role|>tool_response<|end_of_role|>R2<|end_of_text|>\n"
            "<|start_of_role|>assistant<|end_of_role|>A<|end_of_text|>\n",
            "R2<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>");
        row("kimi-k2",
            "<|im_assistant|>assistant<|im_middle|>Let me see.<|tool_calls_section_begin|><|tool_call_begin|>c1"
            "<|tool_call_argument_begin|>{\"a\": 1, \"to\": \"x\"}<|tool_call_end|><|tool_call_begin|>c2"
            "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|><|im_system|>tool<|im_"
            "middle|>"
            "## Return of c1\nR1<|im_end|><|im_system|>tool<|im_middle|>## Return of c2\nR2<|im_end|>"
            "<|im_assistant|>assistant<|im_middle|>A<|im_end|>",
            "R2<|im_end|><|im_assistant|>assistant<|im_middle|>");
        row("minimax-m2",
            "]~b]ai\nLet me see.\n<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"a\">1</parameter>\n"
            "<parameter name=\"to\">x</parameter>\n</invoke>\n<invoke "
            "name=\"now\">\n</invoke>\n</minimax:tool_call>[e~[\n"
            "]~b]tool\n<response>R1</response>\n<response>R2</response>[e~[\n]~b]ai\nA[e~[\n",
            "R2</response>[e~[\n]~b]ai\n<think>\n");
    }
    void tools_of_families_are_rendered() {
        QFETCH(QString, name);
        QFETCH(QString, turns);
        QFETCH(QString, results);
        ChatMessage asks{Role::kAssistant, "Let me see."}, first{Role::kTool, "R1"}, second{Role::kTool, "R2"};
        asks.tool_calls = {{"c1", "add", R"({"a": 1, "to": "x"})"}, {"c2", "now", "{}"}};
        first.tool_call_id = "c1";
        second.tool_call_id = "c2";
        const std::string jinja = family_template(name.toStdString());
        const QString whole = QString::fromStdString(
            render(jinja, {{Role::kUser, "Q1"}, asks, first, second, {Role::kAssistant, "A"}, {Role::kUser, "Q2"}}));
        QVERIFY2(whole.contains(turns), qPrintable(whole));
        const QString before = QString::fromStdString(render(jinja, {{Role::kUser, "Q1"}, asks, first, second}));
        QVERIFY2(before.endsWith(results), qPrintable(before));
        // A call alone, with arguments that are no JSON.
        asks.content.clear();
        asks.tool_calls = {{"c1", "add", "{\"a\": "}};
        const QString alone = QString::fromStdString(render(jinja, {{Role::kUser, "Q1"}, asks, first}));
        QVERIFY2(alone.contains(QStringLiteral("{\"a\": ")) && !alone.contains(QStringLiteral("None")),
                 qPrintable(alone));
    }
    // The others were published without a form for tools.
    void families_without_tools_refuse_them() {
        ChatMessage asks{Role::kAssistant, "a"};
        asks.tool_calls = {{"1", "f", "{}"}};
        for (const char* name : {"chatml", "deepseek-v2", "mixtral", "olmoe", "phi"}) {
            QVERIFY(error_of(family_template(name), {{Role::kUser, "Q"}, asks}).has_value());
            QVERIFY(error_of(family_template(name), {{Role::kUser, "Q"}, {Role::kTool, "42"}}).has_value());
        }
    }
    void templates_of_families_all_parse() {
        const QStringList names = QString::fromStdString(family_template_names()).split(QStringLiteral(", "));
        QVERIFY(names.size() >= 12);
        for (const QString& name : names) {
            const std::string text = render(family_template(name.toStdString()), {{Role::kUser, "Hello"}});
            QVERIFY2(text.find("Hello") != std::string::npos && text.find("{{") == std::string::npos, qPrintable(name));
        }
        QCOMPARE(family_template("no-such-family"), std::string());
    }

    void findings_of_fuzzing_end_in_text_or_an_error() {
        const std::filesystem::path corpus = OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/fuzz_chat_template";
        int n = 0;
        for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
            std::ifstream file(entry.path(), std::ios::binary);
            error_of(std::string(std::istreambuf_iterator<char>(file), {}), conversation(4));
            ++n;
        }
        QVERIFY(n > 0);
    }
};

QTEST_APPLESS_MAIN(ChatTemplateTest)
#include "tst_chat_template.moc"
