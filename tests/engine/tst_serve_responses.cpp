// OpenAI's Responses API: what it reads, and its items and events.

#include <QtTest>

#include "engine/run/local_session.h"
#include "engine/serve/api_error.h"
#include "engine/serve/responses_reply.h"
#include "tests/engine/running_server.h"
#include "tests/engine/test_models.h"
#include "tests/engine/thinker_session.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

const std::string kResponses = "/v1/responses";

QJsonObject body_of(const char* more = "{}") {
    QJsonObject body =
        QJsonDocument::fromJson(
            R"({"model": "demo-model", "temperature": 0, "max_output_tokens": 12, "input": "Tell me a story about a fox."})")
            .object();
    const QJsonObject given = QJsonDocument::fromJson(more).object();
    for (auto it = given.begin(); it != given.end(); ++it) body[it.key()] = it.value();
    return body;
}

struct Event {
    QString name;
    QJsonObject data;
};

QList<Event> events_in(const std::string& body) {
    QList<Event> events;
    for (const QString& one : QString::fromStdString(body).split(QStringLiteral("\n\n"), Qt::SkipEmptyParts)) {
        const QStringList lines = one.split(QLatin1Char('\n'));
        if (lines.size() != 2) continue;  // a comment
        events << Event{lines[0].mid(7), QJsonDocument::fromJson(lines[1].mid(6).toUtf8()).object()};
    }
    return events;
}

QString types_of(const QList<Event>& events) {
    QStringList types;
    for (const Event& event : events) {
        const QString type = event.name.mid(QStringLiteral("response.").size());
        if (types.isEmpty() || types.last() != type) types << type;
    }
    return types.join(QLatin1Char(' '));
}

QJsonObject response_in(const QList<Event>& events) {
    return events.last().data[QStringLiteral("response")].toObject();
}

// Answers with these deltas.
class Scripted : public GateSession {
  public:
    std::vector<TextDelta> deltas;
    GenerationResult result;

    GenerationResult generate(const GenerationRequest&, const TextDeltaFn& on_delta, std::stop_token) override {
        for (const TextDelta& delta : deltas) on_delta(delta);
        return result;
    }
};

// The same answer as a stream and as a whole.
struct Replies {
    QList<Event> events;
    QJsonObject whole;
};
Replies replies_of(Session& session, const ApiRequest& request) {
    ResponsesReply whole(request, {"m", "1", 2}), streamed(request, {"m", "1", 2});
    std::string events = streamed.begin();
    const AnswerTotals totals = answer_request(request, session, {}, [&](const AnswerPiece& piece) {
        whole.add(piece);
        events += streamed.events(piece);
    });
    events += streamed.end(totals);
    return {events_in(events), QJsonDocument::fromJson(QByteArray::fromStdString(whole.whole(totals))).object()};
}

const char* const kWeather =
    R"({"input": "Hi", "instructions": "Be brief.", "max_output_tokens": 99, "temperature": 0.5, "store": true,
    "tools": [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"z": {}, "a": {}}}}],
    "tool_choice": {"type": "function", "name": "weather"}, "parallel_tool_calls": false,
    "metadata": {"k": "v"}, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "minimal", "summary": "auto"}})";

}  // namespace

class TestServeResponses : public QObject {
    Q_OBJECT

    LocalSession m_session;
    std::unique_ptr<Running> m_demo;

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;
        request.context = 512;
        request.n_threads = 1;
        request.checks_costs = false;
        request.learn_placement = false;
        m_session.load(request, {}, {});
        m_demo = std::make_unique<Running>(m_session, m_session.model()->summary(), ApiServerSettings());
    }
    void cleanupTestCase() { m_demo.reset(); }

    void response_isTheEnginesAnswer() {
        const QJsonObject chat = choice_of_reply(m_demo->post(kChat, chat_body()));
        const QString expected = chat[QStringLiteral("message")][QStringLiteral("content")].toString();
        const HttpResponse response = m_demo->post(kResponses, body_of());
        QVERIFY2(response.status == 200, response.body.c_str());
        const QJsonObject whole = json_of(response);
        QCOMPARE(whole[QStringLiteral("object")].toString(), QStringLiteral("response"));
        QVERIFY(whole[QStringLiteral("id")].toString().startsWith(QStringLiteral("resp_")));
        QCOMPARE(whole[QStringLiteral("status")].toString(), QStringLiteral("incomplete"));
        QCOMPARE(whole[QStringLiteral("incomplete_details")][QStringLiteral("reason")].toString(),
                 QStringLiteral("max_output_tokens"));
        QCOMPARE(whole[QStringLiteral("output")].toArray().size(), qsizetype{1});
        const QJsonObject message = whole[QStringLiteral("output")][0].toObject();
        QCOMPARE(message[QStringLiteral("type")].toString(), QStringLiteral("message"));
        QCOMPARE(message[QStringLiteral("status")].toString(), QStringLiteral("incomplete"));
        QCOMPARE(message[QStringLiteral("content")][0][QStringLiteral("text")].toString(), expected);
        const QJsonObject usage = whole[QStringLiteral("usage")].toObject();
        QCOMPARE(usage[QStringLiteral("output_tokens")].toInt(), 12);
        QVERIFY(usage[QStringLiteral("input_tokens_details")][QStringLiteral("cached_tokens")].toInt() > 0);
        QCOMPARE(usage[QStringLiteral("total_tokens")].toInt(), usage[QStringLiteral("input_tokens")].toInt() + 12);

        const HttpResponse streamed = m_demo->post(kResponses, body_of(R"({"stream": true})"));
        QCOMPARE(streamed.headers.at("content-type"), std::string("text/event-stream"));
        const QList<Event> events = events_in(streamed.body);
        QCOMPARE(types_of(events), QStringLiteral("created in_progress output_item.added content_part.added "
                                                  "output_text.delta output_text.done content_part.done "
                                                  "output_item.done incomplete"));
        QString text;
        for (qsizetype i = 0; i < events.size(); ++i) {
            QCOMPARE(events[i].data[QStringLiteral("sequence_number")].toInteger(), qint64{i});
            QCOMPARE(events[i].data[QStringLiteral("type")].toString(), events[i].name);
            text += events[i].data[QStringLiteral("delta")].toString();
        }
        QCOMPARE(text, expected);
        QCOMPARE(events[0].data[QStringLiteral("response")][QStringLiteral("status")].toString(),
                 QStringLiteral("in_progress"));
        QCOMPARE(response_in(events)[QStringLiteral("output")][0][QStringLiteral("content")],
                 message[QStringLiteral("content")]);

        const QJsonObject form = json_of(m_demo->post(
            kResponses, body_of(R"({"max_output_tokens": 100, "text": {"format": {"type": "json_schema", "name": "n",
                "strict": true, "schema": {"enum": ["red"]}}}})")));
        QCOMPARE(form[QStringLiteral("status")].toString(), QStringLiteral("completed"));
        QCOMPARE(form[QStringLiteral("output")][0][QStringLiteral("content")][0][QStringLiteral("text")].toString(),
                 QStringLiteral("\"red\""));
    }

    void requests_areRead() {
        const ApiRequest request = parse_responses_request(kWeather);
        const GenerationRequest& answer = request.prompts[0];
        QCOMPARE(answer.messages.size(), std::size_t{2});
        QCOMPARE(answer.messages[0].role, Role::kSystem);
        QCOMPARE(answer.messages[1].content, std::string("Hi"));
        QCOMPARE(answer.max_tokens, 99);
        QCOMPARE(answer.sampler, (SamplerSettings{.temperature = 0.5F, .top_k = 0, .top_p = 1}));
        QCOMPARE(answer.thinking, std::string("minimal"));
        QVERIFY(answer.tools.required && !answer.tools.parallel);
        QCOMPARE(answer.tools.only, std::string("weather"));
        QCOMPARE(
            answer.tools.definitions,
            std::string(
                R"([{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}])"));
        QVERIFY(!request.stream);
        QCOMPARE(parse_responses_request(R"({"input": "Hi", "reasoning": {"effort": "none"}})").prompts[0].thinking,
                 std::string("none"));
        // A reply repeats what it was asked.
        Scripted session;
        const QJsonObject reply = replies_of(session, request).whole;
        QCOMPARE(reply[QStringLiteral("instructions")].toString(), QStringLiteral("Be brief."));
        QCOMPARE(reply[QStringLiteral("tools")][0][QStringLiteral("strict")].toBool(true), false);
        QCOMPARE(reply[QStringLiteral("tool_choice")][QStringLiteral("name")].toString(), QStringLiteral("weather"));
        QCOMPARE(reply[QStringLiteral("metadata")][QStringLiteral("k")].toString(), QStringLiteral("v"));
        QCOMPARE(reply[QStringLiteral("top_p")].toDouble(), 1.0);
        QCOMPARE(reply[QStringLiteral("store")].toBool(true), false);  // whatever was asked
        // An answer without anything is an empty message.
        QCOMPARE(reply[QStringLiteral("output")][0][QStringLiteral("content")][0][QStringLiteral("text")].toString(),
                 QString());
    }

    void keysOfAnObject_haveALimit() {
        const auto body = [](int n) {
            std::string keys;
            for (int i = 0; i < n; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\": 0";
            return R"({"input": "Hi", "metadata": {)" + keys + "}}";
        };
        QCOMPARE(parse_responses_request(body(2048)).repeated["metadata"].size(), std::size_t{2048});
        try {
            static_cast<void>(parse_responses_request(body(2049)));
            QFAIL("taken");
        } catch (const ApiError& error) {
            QCOMPARE(error.status(), 400);
            const QString message = QString::fromUtf8(error.what());
            QVERIFY2(message.contains(QStringLiteral("an object holds more than 2048 keys; expected fewer")),
                     error.what());
        }
    }

    // The items of a turn are one message of a template.
    void items_becomeMessages() {
        const std::vector<ChatMessage> messages = parse_responses_request(R"({"instructions": "A", "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "B"}]},
            {"role": "user", "content": "C"}, {"role": "user", "content": "D"},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "short"}],
             "content": [{"type": "reasoning_text", "text": "long"}], "encrypted_content": null},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
             "content": [{"type": "output_text", "text": "E", "annotations": [], "logprobs": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "[1]"},
            {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "short"}]},
            {"role": "assistant", "content": "F"}]})")
                                                      .prompts[0]
                                                      .messages;
        QCOMPARE(messages.size(), std::size_t{6});
        QCOMPARE(messages[0].role, Role::kSystem);
        QCOMPARE(messages[0].content, std::string("A\n\nB"));
        QCOMPARE(messages[1].content, std::string("C\n\nD"));
        QCOMPARE(messages[2].thought, std::string("long"));
        QCOMPARE(messages[2].content, std::string("E"));
        QCOMPARE(messages[2].tool_calls.size(), std::size_t{2});
        QCOMPARE(messages[2].tool_calls[0].arguments, std::string("[1]"));
        QCOMPARE(messages[3].role, Role::kTool);
        QCOMPARE(messages[3].tool_call_id, std::string("c1"));
        QCOMPARE(messages[4].content, std::string("two"));
        QCOMPARE(messages[5].thought, std::string("short"));
        QCOMPARE(messages[5].content, std::string("F"));
        QVERIFY(
            !parse_responses_request(R"({"input": [{"role": "assistant", "content": "F"}]})").prompts[0].continue_last);
    }

    void thoughtTextAndCalls_areItems() {
        Scripted session;
        const auto say = [&](const char* text, bool is_thinking) {
            TextDelta delta;
            delta.text = text;
            delta.is_thinking = is_thinking;
            session.deltas.push_back(delta);
        };
        const auto call = [&](std::size_t index, const char* name, const char* arguments) {
            TextDelta delta;
            delta.calls.push_back({index, name, arguments});
            session.deltas.push_back(delta);
        };
        say("So ", true);
        say("so.", true);
        say("I ", false);
        say("look.", false);
        call(0, "weather", "");
        call(0, "", R"({"city": )");
        call(0, "", R"("Ulm"})");
        call(1, "now", "{}");
        session.result.thought = "So so.";
        session.result.thought_tokens = 2;
        session.result.tool_calls = {{"", "weather", R"({"city": "Ulm"})"}, {"", "now", "{}"}};
        session.result.tokens = {1, 2, 3, 4, 5};
        const auto [events, whole] = replies_of(session, parse_responses_request(R"({"input": "Hi"})"));
        QCOMPARE(types_of(events),
                 QStringLiteral("created in_progress "
                                "output_item.added content_part.added reasoning_text.delta reasoning_text.done "
                                "content_part.done output_item.done "
                                "output_item.added content_part.added output_text.delta output_text.done "
                                "content_part.done output_item.done "
                                "output_item.added function_call_arguments.delta function_call_arguments.done "
                                "output_item.done "
                                "output_item.added function_call_arguments.delta function_call_arguments.done "
                                "output_item.done completed"));
        const QJsonArray output = whole[QStringLiteral("output")].toArray();
        QCOMPARE(response_in(events)[QStringLiteral("output")].toArray(), output);
        QCOMPARE(output.size(), qsizetype{4});
        QCOMPARE(output[0][QStringLiteral("content")][0][QStringLiteral("text")].toString(), QStringLiteral("So so."));
        QCOMPARE(output[1][QStringLiteral("content")][0][QStringLiteral("text")].toString(), QStringLiteral("I look."));
        QCOMPARE(output[2][QStringLiteral("arguments")].toString(), QStringLiteral(R"({"city": "Ulm"})"));
        QVERIFY(output[2][QStringLiteral("call_id")] != output[3][QStringLiteral("call_id")]);
        QCOMPARE(whole[QStringLiteral("status")].toString(), QStringLiteral("completed"));
        QCOMPARE(
            whole[QStringLiteral("usage")][QStringLiteral("output_tokens_details")][QStringLiteral("reasoning_tokens")]
                .toInt(),
            2);
        // Every event belongs to the item that was added before it.
        QJsonObject item;
        for (const Event& event : events) {
            if (event.name == QLatin1String("response.output_item.added")) {
                item = event.data;
                QCOMPARE(item[QStringLiteral("item")][QStringLiteral("status")].toString(),
                         QStringLiteral("in_progress"));
            }
            if (!event.data.contains(QStringLiteral("output_index"))) continue;
            QCOMPARE(event.data[QStringLiteral("output_index")], item[QStringLiteral("output_index")]);
            if (!event.data.contains(QStringLiteral("item_id"))) continue;
            QCOMPARE(event.data[QStringLiteral("item_id")], item[QStringLiteral("item")][QStringLiteral("id")]);
        }
    }

    // The end of an answer may close a call, and find one in a thought that was none.
    void whatTheEndAddsToCalls_isStreamed() {
        Scripted session;
        TextDelta delta;
        delta.calls = {{0, "now", "{}"}, {1, "weather", R"({"city": "Ulm")"}};
        session.deltas.push_back(delta);
        session.result.tool_calls = {
            {"", "now", "{}"}, {"", "weather", R"({"city": "Ulm"})"}, {"", "zone", R"({"of": "Ulm"})"}};
        const auto [events, whole] = replies_of(session, parse_responses_request(R"({"input": "Hi"})"));
        const QJsonArray output = whole[QStringLiteral("output")].toArray();
        QCOMPARE(output.size(), qsizetype{3});
        QCOMPARE(output[0][QStringLiteral("arguments")].toString(), QStringLiteral("{}"));
        QCOMPARE(output[1][QStringLiteral("arguments")].toString(), QStringLiteral(R"({"city": "Ulm"})"));
        QCOMPARE(output[2][QStringLiteral("name")].toString(), QStringLiteral("zone"));
        QCOMPARE(output[2][QStringLiteral("arguments")].toString(), QStringLiteral(R"({"of": "Ulm"})"));
        QCOMPARE(response_in(events)[QStringLiteral("output")].toArray(), output);
    }

    // What is held back as a possible stop text comes before a call, which the end
    // closes.
    void textBeforeACall_isNotHeldBackBehindIt() {
        Scripted session;
        TextDelta text, call;
        text.text = "I look";
        call.calls = {{0, "weather", R"({"city": "Ulm")"}};
        session.deltas = {text, call};
        session.result.tool_calls = {{"", "weather", R"({"city": "Ulm"})"}};
        ApiRequest request = parse_responses_request(R"({"input": "Hi"})");
        request.stop = {"look out"};
        const auto [events, whole] = replies_of(session, request);
        const QJsonArray output = response_in(events)[QStringLiteral("output")].toArray();
        QCOMPARE(output.size(), qsizetype{2});
        QCOMPARE(output[0][QStringLiteral("content")][0][QStringLiteral("text")].toString(), QStringLiteral("I look"));
        QCOMPARE(output[1][QStringLiteral("arguments")].toString(), QStringLiteral(R"({"city": "Ulm"})"));
        QCOMPARE(whole[QStringLiteral("output")].toArray(), output);
    }

    void failure_isAnEventOfTheSameStream() {
        ResponsesReply reply(parse_responses_request(R"({"input": "Hi"})"), {"m", "1", 2});
        std::string all = reply.begin();
        AnswerPiece piece;
        piece.text = "So";
        all += reply.events(piece);
        all += reply.error(ApiError(503, "No."));
        const QList<Event> events = events_in(all);
        QCOMPARE(events.last().name, QStringLiteral("response.failed"));
        QCOMPARE(events.last().data[QStringLiteral("sequence_number")].toInteger(), qint64{events.size() - 1});
        QCOMPARE(response_in(events)[QStringLiteral("error")][QStringLiteral("message")].toString(),
                 QStringLiteral("No."));
        QCOMPARE(response_in(events)[QStringLiteral("status")].toString(), QStringLiteral("failed"));
    }

    void whatIsNotDone_isRefusedByName_data() {
        QTest::addColumn<QByteArray>("more");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* more, const char* message) {
            QTest::newRow(name) << QByteArray(more) << QString::fromUtf8(message);
        };
        row("an earlier answer", R"({"previous_response_id": "resp_1"})",
            R"("previous_response_id" is "resp_1"; expected none: this server keeps no answers)");
        row("a conversation", R"({"conversation": "conv_1"})", R"("conversation" is "conv_1"; expected none: this)");
        row("a stored prompt", R"({"prompt": {"id": "p"}})",
            R"("prompt" is an object; expected none: this server keeps)");
        row("background", R"({"background": true})", R"("background" is true; expected false: an answer belongs to)");
        row("a search", R"({"tools": [{"type": "web_search"}]})",
            R"("tools[0].type" is "web_search"; expected "function": this server has no tools of its own.)");
        row("a tool without a name", R"({"tools": [{"type": "function"}]})", R"("tools[0].name" is missing)");
        row("a nested tool", R"({"tools": [{"type": "function", "function": {"name": "f"}}]})",
            R"("tools[0].function" is no field)");
        row("a picture", R"({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]})",
            R"("input[0].content" is "input_image"; expected parts of type "input_text" or "output_text": pictures)");
        row("a file", R"({"input": [{"role": "user", "content": [{"type": "input_file"}]}]})",
            R"("input[0].content" is "input_file"; expected parts of type "input_text" or "output_text": documents)");
        row("another item", R"({"input": [{"type": "web_search_call"}]})",
            R"("input[0].type" is "web_search_call"; expected message, function_call, function_call_output or reasoning.)");
        row("log probabilities", R"({"include": ["message.output_text.logprobs"]})",
            R"("include" is "message.output_text.logprobs"; expected "reasoning.encrypted_content" alone.)");
        row("verbosity", R"({"text": {"verbosity": "low"}})", R"("text.verbosity" is "low"; expected "medium")");
        row("a form", R"({"text": {"format": {"type": "xml"}}})",
            R"("text.format.type" is "xml"; expected text, json_object or json_schema.)");
        row("an effort", R"({"reasoning": {"effort": "high"}})", "demo-model");
        row("no input", R"({"input": null})", R"("input" is missing; expected a text or a list of items.)");
    }
    void whatIsNotDone_isRefusedByName() {
        QFETCH(const QByteArray, more);
        QFETCH(const QString, message);
        const HttpResponse response = m_demo->post(kResponses, body_of(more.constData()));
        QCOMPARE(response.status, 400);
        QVERIFY2(message_of(response).contains(message), qPrintable(message_of(response)));
    }
};

QTEST_GUILESS_MAIN(TestServeResponses)
#include "tst_serve_responses.moc"
