// Calls of tools as each family writes them: found by template and tokens, split from the
// text whatever pieces it comes in, and written by a grammar that the same reader reads.

#include <QtTest>

#include "engine/text/grammar_automaton.h"
#include "engine/text/json_schema_grammar.h"
#include "engine/text/tokenizer.h"
#include "engine/text/tool_call_grammar.h"
#include "engine/text/tool_call_splitter.h"

using namespace offstage::engine;

namespace {

using Json = nlohmann::ordered_json;

const Json kTools = Json::parse(R"([
  {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties":
    {"city": {"type": "string"}, "days": {"$ref": "#/$defs/days"}}, "required": ["city"], "additionalProperties": false,
    "$defs": {"days": {"type": "integer", "minimum": 1, "maximum": 9}}}}},
  {"type": "function", "function": {"name": "now"}}])");

// A tokenizer that knows these special tokens, and no others; letters are not asked for.
class MarkerTokenizer final : public Tokenizer {
  public:
    explicit MarkerTokenizer(QStringList markers) : markers_(std::move(markers)) {}
    std::int64_t vocab_size() const override { return 1000; }
    TokenId bos() const override { return -1; }
    TokenId eos() const override { return -1; }
    std::vector<TokenId> ends() const override { return {}; }
    bool adds_bos() const override { return false; }
    bool adds_eos() const override { return false; }
    std::vector<TokenId> encode(std::string_view) const override { return {}; }
    std::vector<TokenId> encode_prompt(const PromptText&, const ChatTemplate*) const override { return {}; }
    std::vector<TokenId> encode_after(TokenId, std::string_view, const ChatTemplate*) const override { return {}; }
    std::string decode(std::span<const TokenId>) const override { return {}; }
    std::string piece_bytes(TokenId) const override { return {}; }
    bool begins_with_space() const override { return false; }
    std::string piece_name(TokenId) const override { return {}; }
    bool is_control(TokenId) const override { return true; }
    TokenId special_token(std::string_view text) const override {
        const auto at = markers_.indexOf(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
        return at < 0 ? -1 : static_cast<TokenId>(100 + at);
    }
    const QStringList& markers() const { return markers_; }

  private:
    QStringList markers_;
};

struct Family {
    const char* name;
    const char* texts;    // of its template
    QStringList markers;  // its special tokens
    QString reply;
};

std::vector<Family> families() {
    const QString bar = QStringLiteral("\uFF5C"), gap = QStringLiteral("\u2581");
    const auto deepseek = [&](const char* what) {
        return QStringLiteral("<%1tool%2%3%1>").arg(bar, gap, QString::fromLatin1(what).replace(QLatin1Char(' '), gap));
    };
    const QString calls = deepseek("calls begin"), calls_end = deepseek("calls end"), call = deepseek("call begin"),
                  call_end = deepseek("call end"), sep = deepseek("sep");
    const QStringList deepseek_tokens = {calls, calls_end, call, call_end, sep};
    return {
        {"Hermes",
         "<tool_call>",
         {},
         "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"K\u00f6ln \\\"}\", \"days\": "
         "3}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"},
        {"Qwen3, special tokens",
         "<tool_call>",
         {"<tool_call>", "</tool_call>"},
         "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"K\u00f6ln \\\"}\", \"days\": "
         "3}}\n</tool_call>\n<tool_call>\n{\"arguments\": {}, \"name\": \"now\"}\n</tool_call>"},
        {"Qwen3-Coder",
         "<tool_call> <function= <parameter=",
         {"<tool_call>", "</tool_call>"},
         "<tool_call>\n<function=weather>\n<parameter=city>\nK\u00f6ln "
         "\"}\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</"
         "tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>"},
        {"GLM-4.5",
         "<tool_call> <arg_key>",
         {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
         "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>K\u00f6ln "
         "\"}</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n</"
         "tool_call>"},
        {"MiniMax-M2",
         "<minimax:tool_call>",
         {"<minimax:tool_call>", "</minimax:tool_call>"},
         "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">K\u00f6ln "
         "\"}</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n<invoke "
         "name=\"now\">\n</invoke>\n</minimax:tool_call>"},
        {"DeepSeek-V3.1", "tool\u2581call\u2581begin", deepseek_tokens,
         calls + call + "weather" + sep + "{\"city\": \"K\u00f6ln \\\"}\", \"days\": 3}" + call_end + call + "now" +
             sep + "{}" + call_end + calls_end},
        {"DeepSeek-R1", "tool\u2581call\u2581begin ```json", deepseek_tokens,
         calls + call + "function" + sep + "weather\n```json\n{\"city\": \"K\u00f6ln \\\"}\", \"days\": 3}\n```" +
             call_end + "\n" + call + "function" + sep + "now\n```json\n{}\n```" + call_end + calls_end},
        {"Kimi-K2",
         "<|tool_calls_section_begin|>",
         {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>",
          "<|tool_call_argument_begin|>"},
         "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": "
         "\"K\u00f6ln \\\"}\", \"days\": "
         "3}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_"
         "calls_section_end|>"},
        {"Mistral-Nemo",
         "[TOOL_CALLS]",
         {"[TOOL_CALLS]"},
         "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"K\u00f6ln \\\"}\", \"days\": 3}, \"id\": "
         "\"abcdefghi\"}, {\"name\": \"now\", \"arguments\": {}}]"},
        {"Mistral-Small-3.2",
         "[TOOL_CALLS] [ARGS]",
         {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
         "[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{\"city\": \"K\u00f6ln \\\"}\", \"days\": "
         "3}[TOOL_CALLS]now[ARGS]{}"},
        {"Granite-3",
         "<|tool_call|>",
         {"<|tool_call|>"},
         "<|tool_call|>[{\"name\": \"weather\", \"arguments\": {\"city\": \"K\u00f6ln \\\"}\", \"days\": 3}}, "
         "{\"name\": \"now\", \"arguments\": {}}]"},
        {"Gemma-4",
         "<|tool_call>call:",
         {"<|tool_call>", "<tool_call|>", "<|\"|>"},
         "<|tool_call>call:weather{city:<|\"|>K\u00f6ln "
         "\"}<|\"|>,days:3}<tool_call|><|tool_call>call:now{}<tool_call|>"},
    };
}

std::unique_ptr<ChatTemplate> template_of(const Family& family) {
    std::string text = "{% if tools %}{% endif %}{{ '";
    for (const char c : std::string(family.texts)) text += c == '\'' ? std::string("\\'") : std::string(1, c);
    return ChatTemplate::parse(text + "' }}", "test");
}

struct Written {
    std::string text;
    std::vector<ToolCall> calls;
    std::string pieces;  // of the arguments, as they came

    std::string shown() const {
        std::string all = text;
        for (const ToolCall& call : calls)
            all += " | " + call.name + " " + Json::parse(call.arguments, nullptr, false).dump();
        return all;
    }
};

// The reply in pieces of n bytes; a special token is one of its own.
Written write(const ToolCallFormat& format, const MarkerTokenizer& tokenizer, const std::string& reply,
              std::size_t first, std::size_t n, bool was_cut = false) {
    ToolCallSplitter splitter(format, kTools);
    Written written;
    std::vector<std::string> streamed;
    const auto add = [&](const ToolCallSplitter::Piece& piece) {
        written.text += piece.text;
        for (const ToolCallDelta& delta : piece.calls) {
            if (!delta.name.empty()) streamed.emplace_back();
            streamed[delta.index] += delta.arguments;
        }
    };
    std::string waiting;
    const auto flush = [&] {
        for (std::size_t at = 0, size = first; at < waiting.size(); at += size, size = n)
            add(splitter.push(std::string_view(waiting).substr(at, size)));
        waiting.clear();
    };
    for (std::size_t at = 0; at < reply.size();) {
        std::string marker;
        for (const QString& one : tokenizer.markers()) {
            const std::string text = one.toStdString();
            if (std::string_view(reply).substr(at).starts_with(text) && text.size() > marker.size()) marker = text;
        }
        const TokenId token = marker.empty() ? -1 : tokenizer.special_token(marker);
        if (token >= 0 && splitter.is_marker(token)) {
            flush();
            add(splitter.push_marker(token));
            at += marker.size();
        } else {
            waiting += reply[at++];
        }
    }
    flush();
    add(splitter.finish(was_cut));
    written.calls = splitter.calls();
    for (std::size_t i = 0; i < streamed.size(); ++i) {
        if (streamed[i] != written.calls[i].arguments) written.text += " STREAMED " + streamed[i];
    }
    return written;
}

}  // namespace

class TestToolCalls : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void transcripts_areSplitAtEveryByte_data() { add_families(); }
    void transcripts_areSplitAtEveryByte() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        QVERIFY(format.any());
        const std::string reply = family.reply.toStdString();
        const std::string expected = "Well. | weather {\"city\":\"K\u00f6ln \\\"}\",\"days\":3} | now {}";
        for (std::size_t first = 1; first <= reply.size(); ++first) {
            QCOMPARE(write(format, tokenizer, "Well.\n\n" + reply, first, 1000).shown(), expected);
        }
        QCOMPARE(write(format, tokenizer, "Well.\n\n" + reply + "\n", 1, 1).shown(), expected);
    }

    void markersInCode_areText_data() { add_families(); }
    void markersInCode_areText() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const std::string reply = "So:\n```xml\n" + family.reply.toStdString() + "\n```\nDone.";
        const Written written = write(format, tokenizer, reply, 3, 3);
        QVERIFY(written.calls.empty());
        QCOMPARE(written.text, reply);
    }

    void callsThatBreakOff_areTextWithoutAName_data() { add_families(); }
    void callsThatBreakOff_areTextWithoutAName() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const std::string reply = family.reply.toStdString();
        for (std::size_t n = 1; n < reply.size(); ++n) {
            const Written written = write(format, tokenizer, reply.substr(0, n), 1, 1);
            if (written.calls.empty()) continue;
            QCOMPARE(written.calls[0].name, std::string("weather"));
            QVERIFY2(written.text.find("STREAMED") == std::string::npos, written.text.c_str());
        }
        const std::string opening = format.opening().text;
        const Written other = write(format, tokenizer, opening + "]so it goes", 1, 1);
        QVERIFY(other.calls.empty());
        QVERIFY2(other.text.find("so it goes") != std::string::npos, other.text.c_str());
    }

    // The model ended its turn behind a value.
    void endsThatAreMissing_areGiven_data() { add_families(); }
    void endsThatAreMissing_areGiven() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const std::string reply = family.reply.toStdString();
        const bool is_tagged = format.kind == ToolCallFormat::Kind::kTagged;
        const std::size_t number = reply.find('3'), value_end = is_tagged ? reply.find(format.value_end, number) : 0;
        const std::size_t behind = is_tagged ? value_end + format.value_end.size() : number + 1;
        const std::string arguments = "{\"city\":\"K\u00f6ln \\\"}\",\"days\":3}";
        // Every end until the next call.
        const std::size_t next = reply.find("now") - 1;
        for (std::size_t n = behind; n < next; ++n) {
            const Written written = write(format, tokenizer, reply.substr(0, n), 1, 1);
            QVERIFY2(!written.calls.empty(), reply.substr(0, n).c_str());
            QVERIFY2(written.text.find("STREAMED") == std::string::npos, written.text.c_str());
            const std::string shown = Json::parse(written.calls[0].arguments, nullptr, false).dump();
            const bool is_half_a_marker = is_tagged && shown != arguments;  // the model never ends there
            if (!is_half_a_marker) QCOMPARE(shown, arguments);
            if (n == behind) QVERIFY(!is_half_a_marker);
        }
        // One that was cut may have gone on, and a text that breaks off is no value.
        const auto is_open = [&](std::size_t n, bool was_cut) {
            const Written written = write(format, tokenizer, reply.substr(0, n), 1, 1, was_cut);
            return !written.calls.empty() && !Json::accept(written.calls[0].arguments);
        };
        QVERIFY(is_open(behind, true));
        QVERIFY(is_open(reply.find("ln \\\"}") == std::string::npos ? reply.find("ln \"}") : reply.find("ln \\\"}"),
                        false));
    }

    void callsWithoutArguments_haveAnEmptyObject() {
        for (const Family& family : families()) {
            const MarkerTokenizer tokenizer(family.markers);
            const auto chat = template_of(family);
            const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
            if (format.kind != ToolCallFormat::Kind::kNamed) continue;
            const std::string reply = family.reply.toStdString();
            const std::size_t begin = reply.rfind("now"), end = reply.find("{}", begin);
            const std::string cut = reply.substr(0, end);
            QCOMPARE(write(format, tokenizer, cut, 1, 1).calls.back().arguments, std::string("{}"));
            QCOMPARE(write(format, tokenizer, cut, 1, 1, true).calls.back().arguments, std::string());
        }
    }

    // gpt-oss: each call is a message of its own, with the tool in its header.
    void harmonysMessages_areCalls_data() {
        QTest::addColumn<QString>("reply");
        QTest::addColumn<QString>("expected");  // thought / text | calls
        const auto row = [](const char* name, const char* reply, const char* expected) {
            QTest::newRow(name) << QString::fromUtf8(reply) << QString::fromUtf8(expected);
        };
        row("a call behind a thought",
            "<|channel|>analysis<|message|>Look first.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.weather <|constrain|>json<|message|>{\"city\": \"Ulm\"}<|call|>",
            "Look first. /  | weather {\"city\":\"Ulm\"}");
        row("the tool before the channel, no blank before the form",
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant to=functions.weather<|channel|>commentary"
            "<|constrain|>json<|message|>{\"city\": \"Ulm\"}<|call|>",
            "Hm /  | weather {\"city\":\"Ulm\"}");
        row("no blank behind the tool",
            "<|channel|>commentary to=functions.weather<|constrain|>json<|message|>{\"city\": \"Ulm\"}<|call|>",
            " /  | weather {\"city\":\"Ulm\"}");
        row("a call in mid-analysis",
            "<|channel|>analysis<|message|>So<|end|><|start|>assistant<|channel|>analysis to=functions.weather "
            "<|constrain|>json<|message|>{\"city\": \"Ulm\"}<|end|><|start|>assistant<|channel|>analysis<|message|>And "
            "then<|end|><|start|>assistant<|channel|>final<|message|>Sunny.<|return|>",
            "So\n\nAnd then / Sunny. | weather {\"city\":\"Ulm\"}");
        row("a preamble and two calls",
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.weather "
            "<|constrain|>json<|message|>{\"city\": \"Ulm\"}<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.now<|message|>{}<|call|>",
            " / I look. | weather {\"city\":\"Ulm\"} | now {}");
        row("without arguments", "<|channel|>commentary to=functions.now<|message|><|call|>", " /  | now {}");
        row("a bracket is missing", "<|channel|>commentary to=functions.weather<|message|>{\"city\": \"Ulm\"<|call|>",
            " /  | weather {\"city\":\"Ulm\"}");
        row("no call", "<|channel|>final<|message|>to=functions.weather {}<|return|>", " / to=functions.weather {}");
    }
    void harmonysMessages_areCalls() {
        QFETCH(const QString, reply);
        QFETCH(const QString, expected);
        const MarkerTokenizer tokenizer(
            {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|return|>"});
        const auto chat =
            template_of({"gpt-oss",
                         "<|start|>assistant<|channel|>analysis<|message|>final<|end|> to=functions. <|constrain|>",
                         {},
                         {}});
        const ThinkingFormat thinking = find_thinking_format(*chat, tokenizer);
        QVERIFY(thinking.kind == ThinkingFormat::Kind::kHarmony);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        ThoughtSplitter thoughts(thinking);
        ToolCallSplitter calls(format, kTools);
        std::string thought, text;
        std::vector<std::string> streamed;
        const auto add = [&](const ToolCallSplitter::Piece& piece) {
            text += piece.text;
            for (const ToolCallDelta& delta : piece.calls) {
                if (!delta.name.empty()) streamed.emplace_back();
                streamed.at(delta.index) += delta.arguments;
            }
        };
        const std::string all = reply.toStdString();
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t end = all.compare(at, 2, "<|") == 0 ? all.find("|>", at) + 2 : at + 1;
            const std::string one = all.substr(at, end - at);
            at = end;
            if (one == "<|call|>" || one == "<|return|>") break;  // they end an answer
            const TokenId token = tokenizer.special_token(one);
            const bool is_marker = !thoughts.in_thought() && calls.is_marker(token);
            const ThoughtSplitter::Piece piece = thoughts.push(token, one.size() > 1 ? std::string() : one);
            thought += piece.thought;
            add(calls.take(token, is_marker, piece.answer, thoughts));
        }
        add(calls.push(thoughts.finish().answer));
        add(calls.finish());
        std::string shown = thought + " / " + text;
        for (std::size_t i = 0; i < calls.calls().size(); ++i) {
            const ToolCall& call = calls.calls()[i];
            QCOMPARE(streamed.at(i), call.arguments);
            shown += " | " + call.name + " " + Json::parse(call.arguments, nullptr, false).dump();
        }
        QCOMPARE(QString::fromStdString(shown), expected);
    }

    // Llama 3 writes the JSON alone, where an answer begins.
    void bareJson_isACallOfAKnownTool() {
        const Family family{"Llama", "\"parameters\": {\"name\": ", {}, {}};
        const MarkerTokenizer tokenizer({});
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const std::string call = R"({"name": "weather", "parameters": {"city": "Ulm"}})";
        for (std::size_t n = 1; n < 20; ++n) {
            QCOMPARE(write(format, tokenizer, call, n, n).shown(), std::string(" | weather {\"city\":\"Ulm\"}"));
            const std::string other = R"({"name": "Ann", "parameters": {"city": "Ulm"}} and so on)";
            QCOMPARE(write(format, tokenizer, other, n, n).shown(), other);
            QCOMPARE(write(format, tokenizer, "Well: " + call, n, n).shown(), "Well: " + call);
        }
        // An answer in JSON is shown as it comes.
        ToolCallSplitter splitter(format, kTools);
        std::string shown = splitter.push("{\"city\"").text;
        shown += splitter.push(": ").text;
        QCOMPARE(shown, std::string("{\"city\":"));
        QVERIFY(!splitter.in_call());
    }

    // The arguments before the fault are a whole object.
    void taggedCalls_thatBreakOffBehindAValue_areClosed() {
        const QStringList tagged = {"Qwen3-Coder", "GLM-4.5", "MiniMax-M2"};
        for (const Family& family : families()) {
            if (!tagged.contains(QLatin1String(family.name))) continue;
            const MarkerTokenizer tokenizer(family.markers);
            const auto chat = template_of(family);
            const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
            const std::string reply = family.reply.toStdString();
            const std::size_t end = reply.find(format.value_end) + format.value_end.size();
            const Written written = write(format, tokenizer, reply.substr(0, end) + "\nso it goes", 1, 1);
            QCOMPARE(written.shown(), std::string("so it goes | weather {\"city\":\"K\u00f6ln \\\"}\"}"));
            if (format.behind.empty()) continue;
            const std::size_t closed = reply.find(format.behind) + format.behind.size();
            const Written whole = write(format, tokenizer, reply.substr(0, closed) + "\nso it goes", 1, 1);
            QCOMPARE(whole.shown(), std::string("so it goes | weather {\"city\":\"K\u00f6ln \\\"}\",\"days\":3}"));
        }
    }

    void templatesWithoutTools_haveNoFormat() {
        const MarkerTokenizer tokenizer({});
        QVERIFY(!find_tool_call_format(*ChatTemplate::parse("{{ '<tool_call>' }}", "test"), tokenizer).any());
    }

    // Beside a form the answer is of it, or of calls.
    void callsBesideAForm_areEither_data() { add_families(); }
    void callsBesideAForm_areEither() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const Grammar form = json_schema_grammar({{"type", "array"}, {"items", {{"type", "integer"}}}});
        const auto calls = tool_call_grammar(format, {}, kTools, {}, true, false);
        const auto either = tool_call_grammar(format, {}, kTools, {}, true, true, &form);
        QVERIFY(either && calls);
        GrammarAutomaton automaton(*either), of_calls(*calls);
        QVERIFY(automaton.is_complete(automaton.read(automaton.start(), "[1, 2]")));
        QVERIFY(automaton.read(automaton.start(), "So: [1, 2]") == GrammarAutomaton::kDead);
        std::vector<std::uint32_t> symbols = calls->symbols;
        for (std::uint32_t byte = 0; byte < 256; ++byte) symbols.push_back(byte);
        for (const std::uint32_t symbol : symbols) {
            if (of_calls.step(of_calls.start(), symbol) == GrammarAutomaton::kDead) continue;
            QVERIFY(automaton.step(automaton.start(), symbol) != GrammarAutomaton::kDead);
        }
    }

    // The grammar of calls that are demanded gives what the reader reads.
    void demandedCalls_areReadAgain_data() { add_families(); }
    void demandedCalls_areReadAgain() {
        QFETCH(const int, i);
        const Family family = families()[static_cast<std::size_t>(i)];
        const MarkerTokenizer tokenizer(family.markers);
        const auto chat = template_of(family);
        const ToolCallFormat format = find_tool_call_format(*chat, tokenizer);
        const auto grammar = tool_call_grammar(format, {}, kTools, "weather", false, false);
        QVERIFY(grammar.has_value());
        // Random ways through the grammar, short ones first.
        for (unsigned seed = 0; seed < 8; ++seed) {
            GrammarAutomaton automaton(*grammar);
            GrammarAutomaton::State state = automaton.start();
            std::string reply;
            unsigned random = seed;
            while (!automaton.is_complete(state) && reply.size() < 3000) {
                std::vector<std::uint32_t> ways;
                std::vector<std::uint32_t> symbols = grammar->symbols;
                for (unsigned byte = 0; byte < 256; ++byte) symbols.push_back(byte);
                for (const std::uint32_t symbol : symbols) {
                    const bool is_plain = symbol >= 0x20 && symbol < 0x7F && symbol != '\\' && symbol != '<';
                    if (symbol < 256 && !is_plain && reply.size() % 5 != 0) continue;
                    if (automaton.step(state, symbol) != GrammarAutomaton::kDead) ways.push_back(symbol);
                }
                for (unsigned symbol = 0; symbol < 256 && ways.empty(); ++symbol) {
                    if (automaton.step(state, symbol) != GrammarAutomaton::kDead) ways.push_back(symbol);
                }
                QVERIFY(!ways.empty());
                random = random * 1664525U + 1013904223U;
                // Signs that end something come often enough.
                std::uint32_t way = ways[(random >> 8) % ways.size()];
                for (const std::uint32_t end : {std::uint32_t{'"'}, std::uint32_t{'<'}, ways.back()}) {
                    const bool is_there = std::find(ways.begin(), ways.end(), end) != ways.end();
                    if (is_there && reply.size() > 60 && (random >> 4) % 3 == 0) way = end;
                }
                state = automaton.step(state, way);
                reply +=
                    way < 256
                        ? std::string(1, static_cast<char>(way))
                        : tokenizer.markers()[static_cast<qsizetype>(way - Grammar::kFirstToken - 100)].toStdString();
            }
            if (!automaton.is_complete(state)) continue;
            const Written written = write(format, tokenizer, reply, 1, 1);
            QVERIFY2(written.calls.size() == 1, reply.c_str());
            QCOMPARE(written.calls[0].name, std::string("weather"));
            const Json arguments = Json::parse(written.calls[0].arguments, nullptr, false);
            QVERIFY2(arguments.is_object() && arguments["city"].is_string(), reply.c_str());
        }
    }

    // Gemma's texts have no escapes, and names no quotes; marks around texts are tokens.
    void gemmasCalls_areOfTheSchema_data() {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<bool>("is_one");
        const QString all = QStringLiteral("{mode:^fast^,text:^a \"b\", {c}\n\\^,list:[1,-2],inner:{x:true,y:null}}");
        QTest::newRow("all") << all << true;
        QTest::newRow("without an optional one") << QStringLiteral("{mode:^slow \"2\"^,list:[]}") << true;
        QTest::newRow("no member of the choice") << QStringLiteral("{mode:^other^,list:[]}") << false;
        QTest::newRow("JSON's quotes") << QStringLiteral("{mode:\"fast\",list:[]}") << false;
        QTest::newRow("quotes around names") << QStringLiteral("{\"mode\":^fast^,list:[]}") << false;
        QTest::newRow("a required one is missing") << QStringLiteral("{mode:^fast^}") << false;
        QTest::newRow("another type") << QStringLiteral("{mode:^fast^,list:[^1^]}") << false;
        QTest::newRow("another name") << QStringLiteral("{mode:^fast^,list:[],more:1}") << false;
        QTest::newRow("no object") << QStringLiteral("5") << false;
    }
    void gemmasCalls_areOfTheSchema() {
        QFETCH(const QString, arguments);
        const ToolDefinitions properties = {
            {"mode", {{"enum", {"fast", "slow \"2\""}}}},
            {"text", {{"type", "string"}}},
            {"list", {{"type", "array"}, {"items", {{"type", "integer"}}}}},
            {"inner", {{"const", {{"x", true}, {"y", nullptr}}}}},
        };
        const ToolDefinitions parameters = {
            {"properties", properties}, {"required", {"mode", "list"}}, {"additionalProperties", false}};
        const ToolDefinitions tools = {
            {{"type", "function"}, {"function", {{"name", "f"}, {"parameters", parameters}}}}};
        const Family family = families().back();
        QCOMPARE(std::string(family.name), std::string("Gemma-4"));
        const MarkerTokenizer tokenizer(family.markers);
        const ToolCallFormat format = find_tool_call_format(*template_of(family), tokenizer);
        const auto grammar = tool_call_grammar(format, {}, tools, {}, false, false);
        QVERIFY(grammar.has_value());
        GrammarAutomaton automaton(*grammar);
        GrammarAutomaton::State state = automaton.start();
        const auto token = [&](const char* text) {
            if (state != GrammarAutomaton::kDead)
                state = automaton.step(state, Grammar::symbol_of(tokenizer.special_token(text)));
        };
        token("<|tool_call>");
        std::string reply = "call:f";
        for (const char c : arguments.toStdString() + "|") {
            if (c != '^' && c != '|') {
                reply += c;
                continue;
            }
            if (state != GrammarAutomaton::kDead) state = automaton.read(state, reply);
            token(c == '^' ? "<|\"|>" : "<tool_call|>");
            reply.clear();
        }
        QTEST(state != GrammarAutomaton::kDead && automaton.is_complete(state), "is_one");
    }

  private:
    static void add_families() {
        QTest::addColumn<int>("i");
        const auto all = families();
        for (std::size_t i = 0; i < all.size(); ++i) QTest::newRow(all[i].name) << static_cast<int>(i);
    }
};

QTEST_GUILESS_MAIN(TestToolCalls)
#include "tst_tool_calls.moc"
