// Answers of a given form over the server's APIs, on the demo model.

#include <QtTest>

#include "engine/run/local_session.h"
#include "tests/engine/checkpoint_writer.h"
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

    // Text beside a cut: with max_tokens the JSON is not whole, and the reply says so.
    void answersThatAreCut_sayLength() {
        const HttpResponse response =
            m_demo->post(kChat, body_of(R"({"max_tokens": 3, "json_schema": {"type": "string", "minLength": 50}})"));
        QCOMPARE(choice_of_reply(response)[QStringLiteral("finish_reason")].toString(), QStringLiteral("length"));
    }
};

QTEST_GUILESS_MAIN(TestServeForms)
#include "tst_serve_forms.moc"
