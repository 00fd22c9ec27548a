// Answers of a given form over the server's APIs, on the demo model.

#include <QtTest>

#include "engine/run/local_session.h"
#include "engine/text/byte_level.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/engine/gate_session.h"
#include "tests/engine/running_server.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

QJsonObject body_of(const char* more) {
    QJsonObject body =
        QJsonDocument::fromJson(R"({"messages": [{"role": "user", "content": "Tell me a story about a fox."}]})")
            .object();
    const QJsonObject given = QJsonDocument::fromJson(more).object();
    for (auto it = given.begin(); it != given.end(); ++it) body[it.key()] = it.value();
    return body;
}

// The demo model's weights with a tokenizer of bytes and harmony's tokens, and a template
// like gpt-oss'.
class HarmonyDemo {
  public:
    static constexpr TokenId kEnd = 257;

    HarmonyDemo() {
        for (const QString& name : {QStringLiteral("config.json"), QStringLiteral("model.safetensors")}) {
            QFile::link(QString::fromStdString(demoModel()) + QLatin1Char('/') + name, dir_.filePath(name));
        }
        QJsonObject vocab;
        for (int byte = 0; byte < 256; ++byte) {
            vocab[QString::fromStdString(byte_level_text(std::string(1, static_cast<char>(byte))))] = byte;
        }
        QJsonArray added;
        for (const char* name :
             {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"}) {
            added << QJsonObject{{QStringLiteral("id"), 256 + static_cast<int>(added.size())},
                                 {QStringLiteral("content"), QLatin1String(name)},
                                 {QStringLiteral("special"), true}};
        }
        const QJsonObject byte_level{{QStringLiteral("type"), QStringLiteral("ByteLevel")},
                                     {QStringLiteral("add_prefix_space"), false}};
        write("tokenizer.json", {{QStringLiteral("added_tokens"), added},
                                 {QStringLiteral("decoder"), byte_level},
                                 {QStringLiteral("pre_tokenizer"), byte_level},
                                 {QStringLiteral("model"), QJsonObject{{QStringLiteral("type"), QStringLiteral("BPE")},
                                                                       {QStringLiteral("vocab"), vocab},
                                                                       {QStringLiteral("merges"), QJsonArray()}}}});
        write("generation_config.json", {{QStringLiteral("eos_token_id"), QJsonArray{261, 262}}});
        offstage::tests::write_file(
            dir_.filePath(QStringLiteral("chat_template.jinja")),
            "{{ '<|start|>system<|message|>Reasoning: ' + (reasoning_effort or 'medium') + '<|end|>' }}"
            "{% if tools %}{{ '<|start|>developer<|message|>functions.' + (tools | tojson) + '<|end|>' }}{% endif %}"
            "{% for m in messages %}{% if m.thinking %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + "
            "m.thinking + "
            "'<|end|>' }}{% endif %}{% if m.tool_calls %}{{ '<|start|>assistant<|channel|>commentary to=functions.' + "
            "m.tool_calls[0].function.name + ' <|constrain|>json<|message|>' + (m.tool_calls[0].function.arguments | "
            "tojson) + '<|call|>' }}{% elif m.role == 'assistant' %}{{ '<|start|>assistant<|channel|>final<|message|>' "
            "+ m.content + '<|end|>' }}{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}"
            "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}");
    }
    std::string path() const { return dir_.path().toStdString(); }

  private:
    void write(const char* name, const QJsonObject& file) const {
        QVERIFY(offstage::tests::write_file(dir_.filePath(QLatin1String(name)), QJsonDocument(file).toJson()));
    }

    QTemporaryDir dir_;
};

// The model's answers with a leaning towards these bytes, and a lesser one to end a
// thought, which each further byte of it makes greater.
class Leaning : public GateSession {
  public:
    Leaning(LocalSession& session, const std::string& bytes) : session_(session) {
        for (const char c : bytes) bias_.emplace_back(static_cast<TokenId>(static_cast<unsigned char>(c)), 100.0F);
        bias_.emplace_back(HarmonyDemo::kEnd, 60.0F);
    }
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override {
        GenerationRequest leaning = request;
        leaning.sampler.temperature = 0;
        leaning.sampler.frequency_penalty = 2;
        leaning.sampler.logit_bias = bias_;
        return session_.generate(leaning, on_delta, stop);
    }

  private:
    LocalSession& session_;
    std::vector<std::pair<TokenId, float>> bias_;
};

// Of a stream of events with names: their types without repetition, and their objects.
struct NamedEvents {
    QStringList types;
    QList<QJsonObject> objects;

    explicit NamedEvents(const HttpResponse& response) {
        for (const QString& line : QString::fromStdString(response.body).split(QLatin1Char('\n'))) {
            if (!line.startsWith(QStringLiteral("data: {"))) continue;
            objects << QJsonDocument::fromJson(line.mid(6).toUtf8()).object();
            const QString type = objects.last()[QStringLiteral("type")].toString();
            if (types.isEmpty() || types.last() != type) types << type;
        }
    }
    // All values of this key in objects of this type, one behind the other.
    QString joined(const char* type, const char* key, const char* within = nullptr) const {
        QString all;
        for (const QJsonObject& one : objects) {
            if (one[QStringLiteral("type")].toString() != QLatin1String(type)) continue;
            const QJsonObject at = within == nullptr ? one : one[QLatin1String(within)].toObject();
            all += at[QLatin1String(key)].toString();
        }
        return all;
    }
};

}  // namespace

class TestServeForms : public QObject {
    Q_OBJECT

    LocalSession m_session;
    std::unique_ptr<Running> m_demo;

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.context = 1024;
        request.n_threads = 1;
        request.checks_costs = false;
        request.learn_placement = false;
        m_session.load(request, {}, {});
        m_demo = std::make_unique<Running>(m_session, m_session.model()->summary(), ApiServerSettings());
    }
    void cleanupTestCase() { m_demo.reset(); }

    void forms_ofEachApi_holdTheAnswer_data() {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<QByteArray>("more");
        QTest::addColumn<QByteArray>("expected");  // a regular expression
        const auto row = [](const char* name, const char* path, const char* more, const char* expected) {
            QTest::newRow(name) << QByteArray(path) << QByteArray(more) << QByteArray(expected);
        };
        row("OpenAI's schema", "/v1/chat/completions",
            R"x({"temperature": 1.5, "seed": 3, "response_format": {"type": "json_schema", "json_schema": {"name": "record",
                "strict": true, "schema": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1,
                "maximum": 9}, "name": {"type": "string", "pattern": "^[a-z]{0,8}$"}}, "required": ["size", "name"],
                "additionalProperties": false}}}})x",
            R"x(\{\s*"size":\s*[1-9],\s*"name":\s*"\w{0,8}"\s*\})x");
        row("a stream", "/v1/chat/completions",
            R"x({"stream": true, "temperature": 1.5, "seed": 4, "json_schema": {"enum": ["red", "green"]}})x",
            "\"(red|green)\"");
        row("llama.cpp's grammar", "/v1/chat/completions", R"x({"grammar": "root ::= [0-9]{3} | [n-o]{4}"})x",
            "[0-9]{3}|[no]{4}");
        row("a completion's", "/v1/completions", R"x({"prompt": "The fox", "grammar": "root ::= [ ] [ir] [se] [d]?"})x",
            " [ir][se]d?");
        row("Ollama's schema", "/api/chat",
            R"x({"stream": false, "format": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}})x",
            R"x(\[\s*(true|false),\s*(true|false)\s*\])x");
        row("Ollama's generate", "/api/generate",
            R"x({"stream": false, "prompt": "Hi", "format": {"const": {"a": 1}}})x", R"x(\{"a":1\})x");
        row("Anthropic's", "/v1/messages",
            R"x({"max_tokens": 200, "output_config": {"format": {"type": "json_schema", "schema": {"type": "null"}}}})x",
            "null");
    }
    void forms_ofEachApi_holdTheAnswer() {
        QFETCH(const QByteArray, path);
        QFETCH(const QByteArray, more);
        QFETCH(const QByteArray, expected);
        // As text: the order of the schema's properties counts.
        const QByteArray messages = R"x("messages": [{"role": "user", "content": "Tell me a story about a fox."}], )x";
        const bool has_prompt = more.contains("\"prompt\"");
        const std::string text_of_body = (has_prompt ? more : "{" + messages + more.mid(1)).toStdString();
        const QJsonObject body = QJsonDocument::fromJson(more).object();
        const HttpResponse response = m_demo->ask(m_demo->text("POST", path.toStdString(), text_of_body));
        QVERIFY2(response.status == 200, response.body.c_str());
        const QJsonObject whole = json_of(response);
        QString text;
        if (body[QStringLiteral("stream")].toBool()) {
            for (const QJsonObject& event : events_of(response)) {
                text +=
                    event[QStringLiteral("choices")][0][QStringLiteral("delta")][QStringLiteral("content")].toString();
            }
        } else if (path == "/v1/messages") {
            text = whole[QStringLiteral("content")][0][QStringLiteral("text")].toString();
            QCOMPARE(whole[QStringLiteral("stop_reason")].toString(), QStringLiteral("end_turn"));
        } else if (path.startsWith("/api/")) {
            text = path == "/api/chat" ? whole[QStringLiteral("message")][QStringLiteral("content")].toString()
                                       : whole[QStringLiteral("response")].toString();
            QCOMPARE(whole[QStringLiteral("done_reason")].toString(), QStringLiteral("stop"));
        } else {
            const QJsonObject choice = choice_of_reply(response);
            text = path.endsWith("/completions") && choice.contains(QStringLiteral("text"))
                       ? choice[QStringLiteral("text")].toString()
                       : choice[QStringLiteral("message")][QStringLiteral("content")].toString();
            QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("stop"));
        }
        const QRegularExpression whole_text(QRegularExpression::anchoredPattern(QString::fromUtf8(expected)));
        QVERIFY2(whole_text.match(text).hasMatch(), qPrintable(text));
    }

    void severalChoices_haveTheFormEach() {
        const HttpResponse response = m_demo->post(
            kChat,
            body_of(
                R"({"n": 4, "seed": 1, "temperature": 2, "response_format": {"type": "json_object"}, "max_tokens": 900})"));
        QVERIFY2(response.status == 200, response.body.c_str());
        QSet<QString> texts;
        for (int i = 0; i < 4; ++i) {
            const QJsonObject choice = choice_of_reply(response, i);
            const QString text = choice[QStringLiteral("message")][QStringLiteral("content")].toString();
            texts << text;
            QVERIFY2(text.startsWith(QLatin1Char('{')), qPrintable(text));
            if (choice[QStringLiteral("finish_reason")] != QLatin1String("stop")) continue;
            QVERIFY2(QJsonDocument::fromJson(text.toUtf8()).isObject(), qPrintable(text));
        }
        QVERIFY(texts.size() > 1);
    }

    // A template that knows tools, on the demo model's tokens; a demanded call is one.
    void demandedCalls_areOfTheToolsSchema_inEachApi() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("tools.jinja"));
        QVERIFY(offstage::tests::write_file(
            path,
            "{% if tools %}{{ tools | tojson }} <tool_call>{% endif %}{% for m in messages %}{{ m.role }}: "
            "{% if m.tool_calls %}{{ m.tool_calls[0].function.name }}{% endif %}{{ m.content or '' }}\n{% endfor %}"));
        LocalSession session;
        LoadRequest request;
        request.model = demoModel();
        request.chat_template = path.toStdString();
        request.compute = ComputeMode::kF32;
        request.context = 1024;
        request.n_threads = 1;
        request.checks_costs = false;
        request.learn_placement = false;
        session.load(request, {}, {});
        const Running server(session, session.model()->summary(), ApiServerSettings());
        const QByteArray schema =
            R"x({"type": "object", "properties": {"city": {"type": "string", "maxLength": 6}, "days": {"enum": [1, 2]}},
                "required": ["city", "days"], "additionalProperties": false})x";
        const QByteArray openai =
            R"x("tools": [{"type": "function", "function": {"name": "weather", "parameters": )x" + schema + "}}]";
        const auto fits = [](const QJsonObject& arguments) {
            return arguments.size() == 2 && arguments[QStringLiteral("city")].isString() &&
                   (arguments[QStringLiteral("days")].toInt() == 1 || arguments[QStringLiteral("days")].toInt() == 2);
        };
        const auto parsed = [](const QString& text) { return QJsonDocument::fromJson(text.toUtf8()).object(); };

        const QByteArray demanded =
            "{" + openai + R"x(, "tool_choice": "required", "parallel_tool_calls": false, "seed": 5})x";
        QJsonObject choice = choice_of_reply(server.post(kChat, body_of(demanded.constData())));
        QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("tool_calls"));
        const QJsonObject message = choice[QStringLiteral("message")].toObject();
        QVERIFY(message[QStringLiteral("content")].isNull());
        const QJsonObject call = message[QStringLiteral("tool_calls")][0].toObject();
        QCOMPARE(call[QStringLiteral("id")].toString().size(), qsizetype{9});
        QVERIFY(fits(parsed(call[QStringLiteral("function")][QStringLiteral("arguments")].toString())));

        QJsonObject body = body_of(demanded.constData());
        body[QStringLiteral("stream")] = true;
        QString arguments, reason;
        for (const QJsonObject& event : events_of(server.post(kChat, body))) {
            const QJsonObject one = event[QStringLiteral("choices")][0].toObject();
            const QJsonObject part = one[QStringLiteral("delta")][QStringLiteral("tool_calls")][0].toObject();
            arguments += part[QStringLiteral("function")][QStringLiteral("arguments")].toString();
            if (one[QStringLiteral("finish_reason")].isString())
                reason = one[QStringLiteral("finish_reason")].toString();
        }
        QCOMPARE(reason, QStringLiteral("tool_calls"));
        QCOMPARE(arguments, call[QStringLiteral("function")][QStringLiteral("arguments")].toString());

        // The result goes back; without a demand the model answers as it likes.
        body = body_of(("{" + openai + R"x(, "max_tokens": 4})x").constData());
        QJsonArray messages = body[QStringLiteral("messages")].toArray();
        messages << message
                 << QJsonObject{{QStringLiteral("role"), QStringLiteral("tool")},
                                {QStringLiteral("tool_call_id"), call[QStringLiteral("id")]},
                                {QStringLiteral("content"), QStringLiteral("sunny")}};
        body[QStringLiteral("messages")] = messages;
        const HttpResponse again = server.post(kChat, body);
        QVERIFY2(again.status == 200, again.body.c_str());

        const QByteArray anthropic =
            R"x({"max_tokens": 300, "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": true},
            "tools": [{"name": "weather", "input_schema": )x" +
            schema + "}]}";
        const QJsonObject said = json_of(server.post("/v1/messages", body_of(anthropic.constData())));
        QCOMPARE(said[QStringLiteral("stop_reason")].toString(), QStringLiteral("tool_use"));
        const QJsonObject used = said[QStringLiteral("content")][0].toObject();
        QCOMPARE(used[QStringLiteral("type")].toString(), QStringLiteral("tool_use"));
        QVERIFY(fits(used[QStringLiteral("input")].toObject()));
        body = body_of(R"x({"max_tokens": 4})x");
        messages = body[QStringLiteral("messages")].toArray();
        messages << QJsonObject{{QStringLiteral("role"), QStringLiteral("assistant")},
                                {QStringLiteral("content"), said[QStringLiteral("content")]}}
                 << QJsonObject{{QStringLiteral("role"), QStringLiteral("user")},
                                {QStringLiteral("content"),
                                 QJsonArray{QJsonObject{{QStringLiteral("type"), QStringLiteral("tool_result")},
                                                        {QStringLiteral("tool_use_id"), used[QStringLiteral("id")]},
                                                        {QStringLiteral("content"), QStringLiteral("sunny")}}}}};
        body[QStringLiteral("messages")] = messages;
        const HttpResponse result = server.post("/v1/messages", body);
        QVERIFY2(result.status == 200, result.body.c_str());

        const QJsonObject shown = json_of(server.post("/api/show", {}));
        QVERIFY(shown[QStringLiteral("capabilities")].toArray().contains(QStringLiteral("tools")));
        const HttpResponse ollama = server.post(
            "/api/chat",
            body_of(("{\"stream\": false, \"options\": {\"num_predict\": 4}, " + openai + "}").constData()));
        QVERIFY2(ollama.status == 200, ollama.body.c_str());
    }

    // gpt-oss' messages: a thought, and a call in a message of its own.
    void harmonysThoughtsAndCalls_areStreamedInEachApi() {
        const HarmonyDemo demo;
        LocalSession session;
        LoadRequest request;
        request.model = demo.path();
        request.compute = ComputeMode::kF32;
        request.context = 1536;
        request.n_threads = 1;
        request.checks_costs = false;
        request.learn_placement = false;
        session.load(request, {}, {});
        const ModelSummary model = session.model()->summary();
        QCOMPARE(model.thinking_choices, (std::vector<std::string>{"low", "medium", "high"}));
        Leaning thinks(session, "a"), calls(session, "c"), answers(session, "f");
        const QByteArray schema =
            R"x({"type": "object", "properties": {"city": {"enum": ["Bonn", "Kiel"]}, "days": {"enum": [1, 2]}},
                "required": ["city", "days"], "additionalProperties": false})x";
        const QByteArray openai =
            R"x("tools": [{"type": "function", "function": {"name": "weather", "parameters": )x" + schema + "}}]";
        const auto parsed = [](const QString& text) { return QJsonDocument::fromJson(text.toUtf8()).object(); };
        const auto fits = [](const QJsonObject& arguments) {
            return arguments.size() == 2 &&
                   QStringLiteral("Bonn Kiel").contains(arguments[QStringLiteral("city")].toString()) &&
                   arguments[QStringLiteral("days")].toInt() > 0;
        };
        const auto streamed = [](const QByteArray& body) {
            QJsonObject object = body_of(body.constData());
            object[QStringLiteral("stream")] = true;
            return object;
        };
        QString thought, arguments;
        {
            const Running server(thinks, model, ApiServerSettings());
            // Chat completions.
            const QByteArray chat =
                "{" + openai +
                R"x(, "tool_choice": "required", "parallel_tool_calls": false, "reasoning_effort": "high"})x";
            const HttpResponse first = server.post(kChat, body_of(chat.constData()));
            QVERIFY2(first.status == 200, first.body.c_str());
            const QJsonObject message = choice_of_reply(first)[QStringLiteral("message")].toObject();
            thought = message[QStringLiteral("reasoning_content")].toString();
            QVERIFY2(!thought.isEmpty() && QString(thought).remove(QLatin1Char('a')).isEmpty(), first.body.c_str());
            QVERIFY(message[QStringLiteral("content")].isNull());
            const QJsonObject call = message[QStringLiteral("tool_calls")][0][QStringLiteral("function")].toObject();
            QCOMPARE(call[QStringLiteral("name")].toString(), QStringLiteral("weather"));
            arguments = call[QStringLiteral("arguments")].toString();
            QVERIFY2(fits(parsed(arguments)), qPrintable(arguments));
            QString said, thinking, called, name, reason;
            for (const QJsonObject& event : events_of(server.post(kChat, streamed(chat)))) {
                const QJsonObject one = event[QStringLiteral("choices")][0].toObject();
                const QJsonObject delta = one[QStringLiteral("delta")].toObject();
                thinking += delta[QStringLiteral("reasoning_content")].toString();
                said += delta[QStringLiteral("content")].toString();
                const QJsonObject part = delta[QStringLiteral("tool_calls")][0][QStringLiteral("function")].toObject();
                name += part[QStringLiteral("name")].toString();
                called += part[QStringLiteral("arguments")].toString();
                reason += one[QStringLiteral("finish_reason")].toString();
            }
            QCOMPARE(thinking, thought);
            QCOMPARE(said, QString());
            QCOMPARE(name, QStringLiteral("weather"));
            QCOMPARE(called, arguments);
            QCOMPARE(reason, QStringLiteral("tool_calls"));

            // Responses.
            const QByteArray flat = R"x({"input": "Tell me a story about a fox.", "tool_choice": "required",
                "parallel_tool_calls": false, "reasoning": {"effort": "high"}, "stream": true,
                "tools": [{"type": "function", "name": "weather", "parameters": )x" +
                                    schema + "}]}";
            NamedEvents items(server.ask(server.text("POST", "/v1/responses", flat.toStdString())));
            items.types.replaceInStrings(QStringLiteral("response."), QString());
            QCOMPARE(items.types.join(QLatin1Char(' ')),
                     QStringLiteral("created in_progress output_item.added content_part.added reasoning_text.delta "
                                    "reasoning_text.done content_part.done output_item.done output_item.added "
                                    "function_call_arguments.delta function_call_arguments.done output_item.done "
                                    "completed"));
            QCOMPARE(items.joined("response.reasoning_text.delta", "delta"), thought);
            QCOMPARE(items.joined("response.function_call_arguments.delta", "delta"), arguments);
            const QJsonArray output =
                items.objects.last()[QStringLiteral("response")][QStringLiteral("output")].toArray();
            QCOMPARE(output.size(), qsizetype{2});
            QCOMPARE(output[1][QStringLiteral("arguments")].toString(), arguments);

            // Messages.
            const QByteArray anthropic = R"x({"max_tokens": 300, "thinking": {"type": "enabled", "budget_tokens": 200},
                "output_config": {"effort": "high"}, "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
                "tools": [{"name": "weather", "input_schema": )x" +
                                         schema + "}]}";
            const NamedEvents blocks(server.post("/v1/messages", streamed(anthropic)));
            QCOMPARE(blocks.types.join(QLatin1Char(' ')),
                     QStringLiteral("message_start ping content_block_start content_block_delta content_block_stop "
                                    "content_block_start content_block_delta content_block_stop message_delta "
                                    "message_stop"));
            QCOMPARE(blocks.joined("content_block_delta", "thinking", "delta"), thought);
            QCOMPARE(blocks.joined("content_block_delta", "partial_json", "delta"), arguments);
            QCOMPARE(blocks.joined("content_block_start", "name", "content_block"), QStringLiteral("weather"));
            QCOMPARE(blocks.joined("message_delta", "stop_reason", "delta"), QStringLiteral("tool_use"));
            QCOMPARE(blocks.joined("content_block_delta", "text", "delta"), QString());
        }
        // Tools beside a form: a call, or the form in the final message.
        const QByteArray both = "{" + openai + R"x(, "response_format": {"type": "json_schema", "json_schema": {"name":
            "colour", "schema": {"enum": ["red", "green"]}}}})x";
        {
            const Running server(calls, model, ApiServerSettings());
            const QJsonObject choice = choice_of_reply(server.post(kChat, body_of(both.constData())));
            QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("tool_calls"));
            const QJsonObject call =
                choice[QStringLiteral("message")][QStringLiteral("tool_calls")][0][QStringLiteral("function")]
                    .toObject();
            QVERIFY(fits(parsed(call[QStringLiteral("arguments")].toString())));
        }
        const Running server(answers, model, ApiServerSettings());
        const QJsonObject choice = choice_of_reply(server.post(kChat, body_of(both.constData())));
        QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("stop"));
        const QString text = choice[QStringLiteral("message")][QStringLiteral("content")].toString();
        QVERIFY2(text == QLatin1String("\"red\"") || text == QLatin1String("\"green\""), qPrintable(text));
        QVERIFY(!choice[QStringLiteral("message")].toObject().contains(QStringLiteral("tool_calls")));
    }

    // Text beside a cut: with max_tokens the JSON is not whole, and the reply says so.
    void answersThatAreCut_sayLength() {
        const HttpResponse response =
            m_demo->post(kChat, body_of(R"({"max_tokens": 3, "json_schema": {"type": "string", "minLength": 50}})"));
        QCOMPARE(choice_of_reply(response)[QStringLiteral("finish_reason")].toString(), QStringLiteral("length"));
    }
};

QTEST_GUILESS_MAIN(TestServeForms)
#include "tst_serve_forms.moc"
