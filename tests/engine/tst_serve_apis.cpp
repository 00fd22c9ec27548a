// The server's APIs: the tables of fields, and Ollama's, Anthropic's and llama.cpp's
// endpoints on the demo model.

#include <future>

#include <QDateTime>
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QVersionNumber>
#include <QtTest>

#include "engine/run/local_session.h"
#include "engine/run/model_text.h"
#include "engine/serve/anthropic_reply.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/ollama_reply.h"
#include "engine/serve/request_parts.h"
#include "tests/engine/running_server.h"
#include "tests/engine/test_models.h"
#include "tests/engine/thinker_session.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

QJsonObject object_of(const char* json) {
    return QJsonDocument::fromJson(json).object();
}

QJsonObject with(QJsonObject object, const QString& name, const QJsonValue& value) {
    object[name] = value;
    return object;
}

std::vector<FieldRule> all_rules() {
    std::vector<FieldRule> all;
    for (const auto table : {openai_fields(), responses_fields(), ollama_fields(), anthropic_fields()}) {
        all.insert(all.end(), table.begin(), table.end());
    }
    return all;
}

QStringList names_of(const FieldRule& rule) {
    return QString::fromUtf8(rule.names.data(), static_cast<qsizetype>(rule.names.size())).split(QLatin1Char(' '));
}

constexpr RequestObject kLastObject = RequestObject::kThinking;

std::vector<RequestObject> objects_of(std::uint64_t bits) {
    std::vector<RequestObject> objects;
    for (unsigned i = 0; i <= static_cast<unsigned>(kLastObject); ++i) {
        if ((bits >> i & 1U) != 0) objects.push_back(static_cast<RequestObject>(i));
    }
    return objects;
}

// What check_fields() says of one field; empty: it is taken.
QString refusal(RequestObject kind, const QString& name, const RequestJson& value) {
    try {
        check_fields({{name.toStdString(), value}}, kind, "x.");
    } catch (const ApiError& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

// The lines of a stream of Ollama's, or the data of one of Anthropic's.
QList<QJsonObject> objects_in(const HttpResponse& response, const QByteArray& prefix) {
    QList<QJsonObject> objects;
    for (const QByteArray& line : QByteArray::fromStdString(response.body).split('\n')) {
        if (line.isEmpty() || !line.startsWith(prefix)) continue;
        objects << QJsonDocument::fromJson(line.mid(prefix.size())).object();
    }
    return objects;
}

QString error_text(const HttpResponse& response) {
    const QJsonValue error = json_of(response)[QStringLiteral("error")];
    return error.isString() ? error.toString() : error[QStringLiteral("message")].toString();
}

const std::string kOllamaChat = "/api/chat", kGenerate = "/api/generate", kMessages = "/v1/messages",
                  kResponses = "/v1/responses";

}  // namespace

class TestServeApis : public QObject {
    Q_OBJECT

    LocalSession m_session;
    std::unique_ptr<Running> m_demo;

    GenerationResult own(const GenerationRequest& request) {
        std::promise<GenerationResult> result;
        m_demo->server().queue().submit(
            [&](Session& session, const std::stop_token&) { result.set_value(session.generate(request, {}, {})); });
        return result.get_future().get();
    }
    // Bodies that are taken, of the endpoint that has such objects: {path, body}.
    static std::pair<std::string, QJsonObject> endpoint_with(RequestObject kind, const QString& field,
                                                             const QJsonValue& value, const char* role);
    static QJsonObject ollama_story() {
        return object_of(R"({"stream": false, "options": {"temperature": 0, "num_predict": 12, "repeat_penalty": 1},
            "messages": [{"role": "user", "content": "Tell me a story about a fox."}]})");
    }
    static QJsonObject anthropic_story() {
        return object_of(R"({"model": "demo-model", "temperature": 0, "max_tokens": 12,
            "messages": [{"role": "user", "content": "Tell me a story about a fox."}]})");
    }

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;
        request.context = 512;
        request.learn_placement = false;
        m_session.load(request, {}, {});
        m_demo = std::make_unique<Running>(m_session, m_session.model()->summary(), ApiServerSettings());
    }
    void cleanupTestCase() { m_demo.reset(); }

    // ---------------------------------------------------------------- the tables
    void fields_areTreatedAsTheTablesSay() {
        QSet<QPair<int, QString>> seen;
        for (const FieldRule& rule : all_rules()) {
            QVERIFY(!objects_of(rule.objects).empty());
            for (const RequestObject kind : objects_of(rule.objects)) {
                for (const QString& name : names_of(rule)) {
                    const QPair<int, QString> key(static_cast<int>(kind), name);
                    QVERIFY2(!seen.contains(key), qPrintable(name));  // one rule for each
                    seen.insert(key);
                    const RequestJson odd = {{"odd", {1, 2}}};
                    QCOMPARE(refusal(kind, name, nullptr), QString());
                    QVERIFY(refusal(kind, name + QStringLiteral("_"), odd).contains(QStringLiteral("is no field")));
                    if (rule.treatment == FieldRule::kRead || rule.treatment == FieldRule::kHarmless) {
                        QCOMPARE(refusal(kind, name, odd), QString());
                        continue;
                    }
                    const QString says = refusal(kind, name, odd);
                    QVERIFY2(says.startsWith(QStringLiteral("\"x.%1\" is an object; expected ").arg(name)),
                             qPrintable(name + says));
                    for (const RequestJson& neutral : RequestJson::parse(rule.treatment)) {
                        QCOMPARE(refusal(kind, name, neutral), QString());
                    }
                }
            }
        }
        QVERIFY(seen.size() > 150);
    }

    // A field counts as read only if a value of no sense is refused.
    void fieldsThatAreRead_areLookedAt() {
        for (const FieldRule& rule : all_rules()) {
            if (rule.treatment != FieldRule::kRead) continue;
            for (const RequestObject kind : objects_of(rule.objects)) {
                for (const QString& name : names_of(rule)) {
                    bool refused = false;
                    const QRegularExpression word(QStringLiteral("\\b%1\\b").arg(name));
                    for (const char* role : {"user", "assistant", "tool"}) {
                        for (const QJsonValue& value : {QJsonValue(object_of(R"({"odd": [1]})")), QJsonValue(-7.5)}) {
                            const auto [path, body] = endpoint_with(kind, name, value, role);
                            const HttpResponse response = m_demo->post(path, body);
                            refused = refused || (response.status == 400 && error_text(response).contains(word));
                        }
                    }
                    QVERIFY2(refused, qPrintable(QString::number(static_cast<int>(kind)) + name));
                }
            }
        }
    }

    void objectsThatTheTablesHave_areOnTheManualsPage() {
        const QString page = QString::fromStdString(fields_page());
        for (const FieldRule& rule : all_rules()) {
            for (const QString& name : names_of(rule)) {
                QVERIFY2(page.contains(QStringLiteral("`%1`").arg(name)), qPrintable(name));
            }
            if (rule.treatment == FieldRule::kHarmless) QVERIFY2(!rule.why.empty(), rule.names.data());
        }
        // A place for each object that a rule is about: no section leaves one out.
        qsizetype n_rows = 0, n_listed = 0;
        for (const FieldRule& rule : all_rules()) n_rows += static_cast<qsizetype>(objects_of(rule.objects).size());
        for (const QString& line : page.split(QLatin1Char('\n'))) {
            if (!line.startsWith(QStringLiteral("| `"))) continue;
            n_listed += line.section(QStringLiteral(" | "), 0, 0).count(QStringLiteral("`")) / 2;
        }
        QCOMPARE(n_listed, n_rows);
    }

    void pathsOfTheServer_areOnItsPage() {
        QFile page(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en/server.md"));
        QVERIFY(page.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(page.readAll());
        const QString nothing = message_of(m_demo->get("/nothing"));
        const QStringList paths =
            nothing.section(QStringLiteral("expected one of "), 1).chopped(1).split(QStringLiteral(", "));
        QVERIFY(paths.size() > 10);
        for (const QString& path : paths) QVERIFY2(text.contains(path), qPrintable(path));
    }

    // ---------------------------------------------------------------- Ollama
    void ollamaChat_isTheEnginesAnswer() {
        const GenerationResult expected = own(story(12));
        const QJsonObject whole = json_of(m_demo->post(kOllamaChat, ollama_story()));
        QCOMPARE(whole[QStringLiteral("message")][QStringLiteral("content")].toString().toStdString(), expected.text);
        QCOMPARE(whole[QStringLiteral("done")].toBool(), true);
        QCOMPARE(whole[QStringLiteral("done_reason")].toString(), QStringLiteral("length"));
        QCOMPARE(whole[QStringLiteral("prompt_eval_count")].toInteger(), expected.prompt_tokens);
        QCOMPARE(whole[QStringLiteral("eval_count")].toInt(), 12);
        QVERIFY(whole[QStringLiteral("eval_duration")].toInteger() > 0);
        QVERIFY(whole[QStringLiteral("total_duration")].toInteger() >=
                whole[QStringLiteral("load_duration")].toInteger());

        QJsonObject body = ollama_story();
        body.remove(QStringLiteral("stream"));  // it is a stream unless it says otherwise
        body[QStringLiteral("model")] = QStringLiteral("demo-model:latest");
        const HttpResponse streamed = m_demo->post(kOllamaChat, body);
        QCOMPARE(streamed.headers.at("content-type"), std::string("application/x-ndjson"));
        const QList<QJsonObject> lines = objects_in(streamed, {});
        QVERIFY(lines.size() > 6);
        std::string text;
        for (const QJsonObject& line : lines) {
            text += line[QStringLiteral("message")][QStringLiteral("content")].toString().toStdString();
            QCOMPARE(line[QStringLiteral("done")].toBool(), &line == &lines.last());
        }
        QCOMPARE(text, expected.text);
        QCOMPARE(lines.last()[QStringLiteral("eval_count")].toInt(), 12);
    }

    void ollamaGenerate_isAConversationUnlessRaw() {
        QJsonObject body = ollama_story();
        body.remove(QStringLiteral("messages"));
        body[QStringLiteral("prompt")] = QStringLiteral("Tell me a story about a fox.");
        body[QStringLiteral("keep_alive")] = QStringLiteral("5m");
        body[QStringLiteral("format")] = QString();
        const auto response = [&] {
            return json_of(m_demo->post(kGenerate, body))[QStringLiteral("response")].toString().toStdString();
        };
        QCOMPARE(response(), own(story(12)).text);
        GenerationRequest request = story(12);
        request.messages.insert(request.messages.begin(), {Role::kSystem, "Be brief."});
        body[QStringLiteral("system")] = QStringLiteral("Be brief.");
        QCOMPARE(response(), own(request).text);
        request = story(12);
        request.raw = request.raw_special = true;
        request.raw_prompt = "Tell me a story about a fox.";
        body[QStringLiteral("raw")] = true;
        const HttpResponse both = m_demo->post(kGenerate, body);  // with "system"
        QCOMPARE(both.status, 400);
        QVERIFY2(error_text(both).startsWith(QStringLiteral("\"system\" is \"Be brief.\"; expected none with \"raw\"")),
                 qPrintable(error_text(both)));
        body.remove(QStringLiteral("system"));
        QCOMPARE(response(), own(request).text);
        // Without a prompt it asks for the model alone.
        body[QStringLiteral("prompt")] = QString();
        const QJsonObject loaded = json_of(m_demo->post(kGenerate, body));
        QCOMPARE(loaded[QStringLiteral("done_reason")].toString(), QStringLiteral("load"));
        QCOMPARE(loaded[QStringLiteral("response")].toString(), QString());
    }

    void ollamaOptions_areRead() {
        const ApiRequest request = parse_ollama_chat(R"({"messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "thinking": "So", "tool_calls": [{"function": {"name": "f", "arguments":
             {"a": 1}}}]}, {"role": "tool", "tool_name": "f", "content": "42"}], "think": false,
            "options": {"seed": 5, "top_k": 7, "stop": ["x"], "num_ctx": 4096, "num_predict": -2}})");
        const GenerationRequest& answer = request.prompts[0];
        QVERIFY(request.stream);
        QCOMPARE(answer.sampler, (SamplerSettings{.temperature = 0.8F,
                                                  .top_k = 7,
                                                  .top_p = 0.9F,
                                                  .repeat_penalty = 1.1F,
                                                  .repeat_window = 64,
                                                  .seed = 5}));
        QCOMPARE(answer.max_tokens, 0);
        QCOMPARE(request.stop, std::vector<std::string>{"x"});
        QCOMPARE(request.think, std::optional(false));
        QCOMPARE(answer.messages[1].thought, std::string("So"));
        QCOMPARE(answer.messages[1].tool_calls[0].arguments, std::string(R"({"a":1})"));
        QCOMPARE(answer.messages[2].name, std::string("f"));
        QCOMPARE(parse_ollama_chat(R"({"messages": [{"role": "user", "content": "Hi"}], "think": "low"})")
                     .prompts[0]
                     .thinking,
                 std::string("low"));
        QVERIFY_THROWS_EXCEPTION(
            ApiError, parse_ollama_chat(R"({"messages": [{"role": "user", "content": "Hi"}], "think": "much"})"));
    }

    void levelOfThinking_isOneOfTheModels_data() {
        QTest::addColumn<QByteArray>("choices");
        QTest::addColumn<QByteArray>("think");
        QTest::addColumn<QByteArray>("chosen");
        const auto row = [](const char* name, const char* choices, const char* think, const char* chosen) {
            QTest::newRow(name) << QByteArray(choices) << QByteArray(think) << QByteArray(chosen);
        };
        row("a level, and the model only on and off", "off on", "\"high\"", "on");
        row("a level of the model's", "low medium high", "\"high\"", "high");
        row("on, and the model levels", "low medium high", "true", "medium");
        row("off, and no such choice", "low medium high", "false", "");
        row("off", "off on", "false", "off");
        row("a level, and the model always thinks", "", "\"low\"", "");
    }
    void levelOfThinking_isOneOfTheModels() {
        QFETCH(QByteArray, choices);
        QFETCH(QByteArray, think);
        QFETCH(QByteArray, chosen);
        ModelSummary model;
        model.thinks = true;
        for (const QByteArray& choice : choices.split(' ')) {
            if (!choice.isEmpty()) model.thinking_choices.push_back(choice.toStdString());
        }
        ApiRequest request = parse_ollama_chat(R"({"messages": [{"role": "user", "content": "Hi"}], "think": )" +
                                               think.toStdString() + "}");
        choose_thinking(request, model);
        QCOMPARE(request.prompts[0].thinking, chosen.toStdString());
        // Anthropic's names for the same.
        const bool off = think == "false";
        const std::string effort = think.startsWith('"') ? R"({"effort": )" + think.toStdString() + "}" : "{}";
        request = parse_anthropic_request(R"({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}],
            "thinking": {"type": ")" + std::string(off ? "disabled" : "adaptive") +
                                          R"("}, "output_config": )" + effort + "}");
        choose_thinking(request, model);
        QCOMPARE(request.prompts[0].thinking, chosen.toStdString());
    }

    // Of OpenAI's, which not every model has; what none is near to stays, so that the
    // refusal names it.
    void levelsThatAModelLacks_areTheNearest_data() {
        QTest::addColumn<QByteArray>("choices");
        QTest::addColumn<QByteArray>("asked");
        QTest::addColumn<QByteArray>("chosen");
        const auto row = [](const char* choices, const char* asked, const char* chosen) {
            QTest::addRow("%s of %s", asked, choices) << QByteArray(choices) << QByteArray(asked) << QByteArray(chosen);
        };
        row("low medium high", "minimal", "low");
        row("low medium high", "xhigh", "high");
        row("low medium high", "max", "high");
        row("minimal low high", "minimal", "minimal");
        row("low high max", "max", "max");
        row("off on", "minimal", "minimal");
        row("off on", "max", "max");
    }
    void levelsThatAModelLacks_areTheNearest() {
        QFETCH(QByteArray, choices);
        QFETCH(QByteArray, asked);
        QFETCH(QByteArray, chosen);
        ModelSummary model;
        model.thinks = true;
        for (const QByteArray& choice : choices.split(' ')) model.thinking_choices.push_back(choice.toStdString());
        const std::string effort = "\"" + asked.toStdString() + "\"";
        for (ApiRequest request :
             {parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": )" + effort +
                                 "}"),
              parse_responses_request(R"({"input": "Hi", "reasoning": {"effort": )" + effort + "}}")}) {
            choose_thinking(request, model);
            QCOMPARE(request.prompts[0].thinking, chosen.toStdString());
        }
    }

    // OpenAI's "none" is the model's "off", and nothing where it does not think anyway;
    // where it always thinks the engine refuses it.
    void noThinking_isOff() {
        for (const bool thinks : {true, false}) {
            ModelSummary model;
            model.thinks = thinks;
            for (ApiRequest request :
                 {parse_chat_request(
                      R"({"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "none"})"),
                  parse_responses_request(R"({"input": "Hi", "reasoning": {"effort": "none"}})")}) {
                choose_thinking(request, model);
                QCOMPARE(request.prompts[0].thinking, std::string(thinks ? "off" : ""));
            }
        }
    }

    void ollamaModels_areDescribed() {
        const QJsonObject model =
            json_of(m_demo->get("/api/tags"))[QStringLiteral("models")].toArray().at(0).toObject();
        QCOMPARE(model[QStringLiteral("name")].toString(), QStringLiteral("demo-model"));
        QVERIFY(QDateTime::fromString(model[QStringLiteral("modified_at")].toString(), Qt::ISODate).isValid());
        QVERIFY(model[QStringLiteral("size")].toInteger() > 0);
        const QString digest = model[QStringLiteral("digest")].toString();
        QVERIFY2(QRegularExpression(QStringLiteral("^[0-9a-f]{64}$")).match(digest).hasMatch(), qPrintable(digest));
        ModelSummary other = m_session.model()->summary();
        QCOMPARE(QJsonDocument::fromJson(QByteArray::fromStdString(ollama_models(other, 5)))
                     .object()[QStringLiteral("models")][0][QStringLiteral("digest")]
                     .toString(),
                 digest);  // at another time
        ++other.weight_bytes;
        QVERIFY(ollama_models(other, 5).find(digest.toStdString()) == std::string::npos);
        const QJsonObject shown = json_of(m_demo->post("/api/show", object_of(R"({"model": "demo-model"})")));
        const QString family = shown[QStringLiteral("details")][QStringLiteral("family")].toString();
        QCOMPARE(shown[QStringLiteral("model_info")][family + QStringLiteral(".expert_count")].toInteger(),
                 qint64{m_session.model()->summary().n_experts});
        QCOMPARE(shown[QStringLiteral("capabilities")].toArray().at(0).toString(), QStringLiteral("completion"));
        QCOMPARE(m_demo->post("/api/show", object_of(R"({"model": "other"})")).status, 404);
        const QJsonObject running =
            json_of(m_demo->get("/api/ps"))[QStringLiteral("models")].toArray().at(0).toObject();
        QCOMPARE(running[QStringLiteral("name")].toString(), QStringLiteral("demo-model"));
        QCOMPARE(running[QStringLiteral("context_length")].toInt(), 512);
        QCOMPARE(running[QStringLiteral("size_vram")].toInt(), 0);
        QVERIFY(QDateTime::fromString(running[QStringLiteral("expires_at")].toString(), Qt::ISODate).isValid());
        QCOMPARE(shown[QStringLiteral("digest")].toString(), digest);
        const QString version = json_of(m_demo->get("/api/version"))[QStringLiteral("version")].toString();
        QVERIFY2(QVersionNumber::fromString(version) >= QVersionNumber(0, 12), qPrintable(version));
    }

    void ollamaErrors_areOneText() {
        const auto error = [&](const QJsonObject& more, int status) {
            QJsonObject body = ollama_story();
            for (auto it = more.begin(); it != more.end(); ++it) body[it.key()] = it.value();
            const HttpResponse response = m_demo->post(kOllamaChat, body);
            return response.status == status ? json_of(response)[QStringLiteral("error")].toString() : QString();
        };
        QVERIFY(error({{QStringLiteral("format"), QStringLiteral("xml")}}, 400)
                    .startsWith(QStringLiteral("\"format\" is \"xml\"; expected \"json\" or a JSON schema.")));
        QVERIFY(
            error({{QStringLiteral("model"), QStringLiteral("other")}}, 404).contains(QStringLiteral("not loaded")));
        QVERIFY(error({{QStringLiteral("think"), true}}, 400).contains(QStringLiteral("demo-model")));
        QVERIFY(error({{QStringLiteral("options"), object_of(R"({"num_ctxx": 1})")}}, 400)
                    .startsWith(QStringLiteral("\"options.num_ctxx\" is no field")));
        const HttpResponse refused = m_demo->ask("POST /api/chat HTTP/1.1\r\nHost: localhost\r\n\r\n");
        QCOMPARE(refused.status, 401);
        QVERIFY(json_of(refused)[QStringLiteral("error")].isString());
    }

    // ---------------------------------------------------------------- Anthropic
    void anthropicMessage_isTheEnginesAnswer() {
        const GenerationResult expected = own(story(12));
        const QJsonObject whole = json_of(m_demo->post(kMessages, anthropic_story()));
        QCOMPARE(whole[QStringLiteral("type")].toString(), QStringLiteral("message"));
        const QJsonArray content = whole[QStringLiteral("content")].toArray();
        QCOMPARE(content.size(), qsizetype{1});
        QCOMPARE(content[0][QStringLiteral("text")].toString().toStdString(), expected.text);
        QCOMPARE(whole[QStringLiteral("stop_reason")].toString(), QStringLiteral("max_tokens"));
        QVERIFY(whole[QStringLiteral("stop_sequence")].isNull());
        const QJsonObject usage = whole[QStringLiteral("usage")].toObject();
        QCOMPARE(usage[QStringLiteral("input_tokens")].toInteger() +
                     usage[QStringLiteral("cache_read_input_tokens")].toInteger(),
                 expected.prompt_tokens);
        QCOMPARE(usage[QStringLiteral("output_tokens")].toInt(), 12);
        QJsonObject count = anthropic_story();
        count.remove(QStringLiteral("max_tokens"));
        QCOMPARE(json_of(m_demo->post("/v1/messages/count_tokens", count))[QStringLiteral("input_tokens")].toInteger(),
                 expected.prompt_tokens);
        // A prompt that cannot fit is refused unread.
        count[QStringLiteral("system")] = QString(7'900'000, QLatin1Char('a'));
        const HttpResponse huge = m_demo->post("/v1/messages/count_tokens", count);
        QCOMPARE(huge.status, 400);
        QVERIFY2(error_text(huge).startsWith(QStringLiteral("The prompt has at least ")), qPrintable(error_text(huge)));
    }

    void anthropicStream_hasItsEventsInOrder() {
        const std::string expected = own(story(12)).text;
        const std::size_t cut = expected.find(' ', expected.size() / 2);
        const std::string stop = expected.substr(cut, 4);
        QJsonObject body = with(anthropic_story(), QStringLiteral("stream"), true);
        body[QStringLiteral("stop_sequences")] = QJsonArray{QString::fromStdString(stop)};
        const HttpResponse response = m_demo->post(kMessages, body);
        QCOMPARE(response.headers.at("content-type"), std::string("text/event-stream"));
        QStringList types;
        std::string text;
        QJsonObject delta, usage;
        for (const QJsonObject& event : objects_in(response, "data: ")) {
            const QString type = event[QStringLiteral("type")].toString();
            if (types.isEmpty() || types.last() != type) types << type;
            text += event[QStringLiteral("delta")][QStringLiteral("text")].toString().toStdString();
            if (type != QLatin1String("message_delta")) continue;
            delta = event[QStringLiteral("delta")].toObject();
            usage = event[QStringLiteral("usage")].toObject();
        }
        QCOMPARE(types.join(QLatin1Char(' ')),
                 QStringLiteral("message_start ping content_block_start content_block_delta content_block_stop "
                                "message_delta message_stop"));
        QCOMPARE(text, expected.substr(0, expected.find(stop)));
        QCOMPARE(delta[QStringLiteral("stop_reason")].toString(), QStringLiteral("stop_sequence"));
        QCOMPARE(delta[QStringLiteral("stop_sequence")].toString().toStdString(), stop);
        QVERIFY(usage[QStringLiteral("output_tokens")].toInt() > 0);
        for (const char* name : {"event: message_start\ndata: {", "event: message_stop\ndata: {"}) {
            QVERIFY(response.body.find(name) != std::string::npos);
        }
    }

    // The last piece of a stream says why it ended, whatever ended it.
    void streamsThatAStopTextEnds_sayThatTheyEnded_data() {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<QByteArray>("expected");  // the last two objects, as a regular expression
        const auto row = [](const char* path, const char* expected) {
            QTest::newRow(path) << QByteArray(path) << QByteArray(expected);
        };
        const char* const of_openai = R"x("finish_reason":"stop".*\ndata: \[DONE\]\n\n$)x";
        row("/v1/chat/completions", of_openai);
        row("/v1/completions", of_openai);
        row("/v1/messages", R"x("stop_reason":"stop_sequence".*\ndata: \{"type":"message_stop"\}\n\n$)x");
        row("/api/chat", R"x("done":true,"done_reason":"stop"[^\n]*\n$)x");
        row("/api/generate", R"x("done":true,"done_reason":"stop"[^\n]*\n$)x");
    }
    void streamsThatAStopTextEnds_sayThatTheyEnded() {
        QFETCH(QByteArray, path);
        QFETCH(QByteArray, expected);
        const std::string text = own(story(12)).text;
        const QJsonArray stops{QString::fromStdString(text.substr(text.find(' ', text.size() / 2), 4))};
        const bool has_prompt = path == "/v1/completions" || path == "/api/generate";
        QJsonObject body = path.startsWith("/api/") ? ollama_story() : anthropic_story();
        if (path.startsWith("/api/")) {
            QJsonObject options = body[QStringLiteral("options")].toObject();
            options[QStringLiteral("stop")] = stops;
            body[QStringLiteral("options")] = options;
        } else {
            body[path == "/v1/messages" ? QStringLiteral("stop_sequences") : QStringLiteral("stop")] = stops;
        }
        if (has_prompt) {
            body.remove(QStringLiteral("messages"));
            body[QStringLiteral("prompt")] = QStringLiteral("Tell me a story about a fox.");
        }
        if (path == "/v1/completions") {  // has no template: its own text
            body.remove(QStringLiteral("stop"));
            body[QStringLiteral("prompt")] = QStringLiteral("The fox went into the");
            const QString free =
                json_of(m_demo->post(path.toStdString(), body))[QStringLiteral("choices")][0][QStringLiteral("text")]
                    .toString();
            body[QStringLiteral("stop")] = free.mid(free.size() / 2, 3);
        }
        body[QStringLiteral("stream")] = true;
        const HttpResponse response = m_demo->post(path.toStdString(), body);
        QVERIFY(response.whole);
        const QRegularExpression last(QString::fromUtf8(expected), QRegularExpression::DotMatchesEverythingOption);
        QVERIFY2(last.match(QString::fromStdString(response.body)).hasMatch(), response.body.c_str());
    }

    void thoughts_areBlocksOfTheirOwn() {
        Thinker session;
        const ApiRequest request = parse_anthropic_request(R"({"max_tokens": 9, "messages": [
            {"role": "user", "content": "Hi"}], "stop_sequences": ["no"], "thinking": {"type": "enabled",
            "budget_tokens": 1024}})");
        QCOMPARE(request.think, std::optional(true));
        QCOMPARE(request.prompt_of(0).max_thought_tokens, 1024);
        AnthropicReply whole(request, {"m", "1", 2}), streamed(request, {"m", "1", 2});
        OllamaReply lines(request, {"m", "1", 2});
        std::string events = streamed.begin(), ollama;
        const AnswerTotals totals = answer_request(request, session, {}, [&](const AnswerPiece& piece) {
            whole.add(piece);
            events += streamed.events(piece);
            ollama += lines.events(piece);
        });
        events += streamed.end(totals);
        const QJsonArray content = QJsonDocument::fromJson(QByteArray::fromStdString(whole.whole(totals)))
                                       .object()[QStringLiteral("content")]
                                       .toArray();
        QCOMPARE(content.size(), qsizetype{2});
        QCOMPARE(content[0][QStringLiteral("thinking")].toString(), QStringLiteral("So so."));
        QCOMPARE(content[1][QStringLiteral("text")].toString(), QStringLiteral("Yes"));
        std::size_t at = 0;
        for (const char* part :
             {R"("index":0,"content_block":{"type":"thinking")",
              R"("delta":{"type":"thinking_delta","thinking":"So "})",
              R"("index":0,"delta":{"type":"signature_delta","signature":""})",
              R"({"type":"content_block_stop","index":0})", R"("index":1,"content_block":{"type":"text")",
              R"("delta":{"type":"text_delta","text":"Yes"})", R"({"type":"content_block_stop","index":1})",
              R"("stop_reason":"stop_sequence","stop_sequence":"no")"}) {
            at = events.find(part, at);
            QVERIFY2(at != std::string::npos, part);
        }
        QVERIFY(ollama.find(R"("content":"","thinking":"So ")") != std::string::npos);
        QVERIFY(ollama.find(R"("content":"Yes"})") != std::string::npos);
        // A failure in mid-stream.
        QVERIFY(streamed.error(ApiError(503, "No.")).starts_with("event: error\ndata: {\"type\":\"error\","));
        QCOMPARE(lines.error(ApiError(503, "No.")), std::string("{\"error\":\"No.\"}\n"));
    }

    // A model that always thinks: without "thinking" the first block is the text.
    void thoughts_thatNobodyAskedFor_areLeftOut() {
        Thinker session;
        const ApiRequest request = parse_anthropic_request(
            R"({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stop_sequences": ["no"]})");
        AnthropicReply whole(request, {"m", "1", 2}), streamed(request, {"m", "1", 2});
        std::string events = streamed.begin();
        const auto n_pings = [&] { return QByteArray::fromStdString(events).count("event: ping"); };
        const qsizetype before = n_pings();
        const AnswerTotals totals = answer_request(request, session, {}, [&](const AnswerPiece& piece) {
            whole.add(piece);
            events += streamed.events(piece);
        });
        events += streamed.end(totals);
        const QJsonArray content = QJsonDocument::fromJson(QByteArray::fromStdString(whole.whole(totals)))
                                       .object()[QStringLiteral("content")]
                                       .toArray();
        QCOMPARE(content.size(), qsizetype{1});
        QCOMPARE(content[0][QStringLiteral("text")].toString(), QStringLiteral("Yes"));
        QCOMPARE(n_pings(), before + 2);  // one for each piece of the thought
        QVERIFY2(events.find("thinking") == std::string::npos, events.c_str());
        QVERIFY(events.find(R"("index":0,"content_block":{"type":"text")") != std::string::npos);
        // Without a text, too, there is a block.
        AnthropicReply empty(request, {"m", "1", 2});
        QVERIFY(empty.end({}).find(R"("index":0,"content_block":{"type":"text")") != std::string::npos);
    }

    void anthropicMessages_ofOneRole_areJoined() {
        const ApiRequest request = parse_anthropic_request(R"({"max_tokens": 7, "system": "", "messages": [
            {"role": "user", "content": "Hi"}, {"role": "user", "content": [{"type": "text", "text": "there"}]},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "thinking",
            "thinking": "So", "signature": "s"}]}, {"role": "assistant", "content": "Yes"}]})");
        const std::vector<ChatMessage>& messages = request.prompts[0].messages;
        QCOMPARE(messages.size(), std::size_t{2});  // an empty system is none
        QCOMPARE(messages[0].content, std::string("Hi\n\nthere"));
        QCOMPARE(messages[1].content, std::string("Yes"));
        QCOMPARE(messages[1].thought, std::string("So"));
    }

    void anthropicMessages_areRead() {
        const ApiRequest request = parse_anthropic_request(R"({"model": "m", "max_tokens": 7, "top_k": 3,
            "system": [{"type": "text", "text": "Be ", "cache_control": {"type": "ephemeral"}}, {"type": "text",
            "text": "brief."}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "So", "signature": ""}, {"type": "text",
            "text": "Yes", "citations": null}]}, {"role": "user", "content": "And?"},
            {"role": "assistant", "content": "Well"}], "metadata": {"user_id": "u"}, "tools": []})");
        const GenerationRequest& answer = request.prompts[0];
        QCOMPARE(answer.messages.size(), std::size_t{5});
        QCOMPARE(answer.messages[0].role, Role::kSystem);
        QCOMPARE(answer.messages[0].content, std::string("Be brief."));
        QCOMPARE(answer.messages[2].thought, std::string("So"));
        QCOMPARE(answer.messages[2].content, std::string("Yes"));
        QVERIFY(answer.continue_last);
        QCOMPARE(answer.max_tokens, 7);
        QCOMPARE(answer.sampler, (SamplerSettings{.temperature = 1, .top_k = 3, .top_p = 1}));
        QCOMPARE(request.think, std::optional(false));  // unless it is asked for
    }

    void anthropicErrors_haveItsForm_data() {
        QTest::addColumn<QString>("field");
        QTest::addColumn<QJsonValue>("value");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* field, const char* value, int status, const char* type,
                            const char* message) {
            const QJsonValue given = QJsonDocument::fromJson(QByteArray("[") + value + "]").array().at(0);
            QTest::newRow(name) << QString::fromUtf8(field) << given << status << QString::fromUtf8(type)
                                << QString::fromUtf8(message);
        };
        const char* const kInvalid = "invalid_request_error";
        row("tools", "tools", R"([{"name": "f"}])", 400, kInvalid,
            "This model's template knows no tools; leave \"tools\" out.");
        row("no limit", "max_tokens", "null", 400, kInvalid, R"("max_tokens" is missing; expected)");
        row("a picture", "messages", R"([{"role": "user", "content": [{"type": "image"}]}])", 400, kInvalid,
            R"("messages[0].content" is "image"; expected parts of type "text": pictures are not read.)");
        const auto part = [&](const char* name, const char* role, const char* object, const char* message) {
            const QString list =
                QStringLiteral(R"([{"role": "%1", "content": [%2]}])").arg(QLatin1String(role), QLatin1String(object));
            row(name, "messages", list.toUtf8().constData(), 400, kInvalid, message);
        };
        part("a call of the user's", "user", R"({"type": "tool_use", "id": "t", "name": "f", "input": {}})",
             R"("messages[0].content" is "tool_use"; expected parts of type "text": calls belong to the assistant)");
        part("a result of the assistant's", "assistant",
             R"({"type": "tool_result", "tool_use_id": "t", "content": "x"})",
             R"("messages[0].content" is "tool_result"; expected parts of type "text": calls belong to the assistant)");
        part("a document", "user", R"({"type": "document", "source": {}})",
             R"("messages[0].content" is "document"; expected parts of type "text": documents are not read.)");
        part("a thought of the user's", "user", R"({"type": "thinking", "thinking": "x"})",
             R"("messages[0].content" is "thinking"; expected parts of type "text")");
        part("a thought in a text", "assistant", R"({"type": "text", "text": "x", "thinking": "y"})",
             R"("messages[0].content.thinking" is no field)");
        part("a text in a thought", "assistant", R"({"type": "thinking", "thinking": "x", "text": "y"})",
             R"("messages[0].content.text" is no field)");
        row("an effort", "output_config", R"({"effort": "much"})", 400, kInvalid,
            R"("output_config.effort" is "much"; expected low, medium, high, xhigh or max.)");
        row("a form", "output_config", R"({"format": {"type": "json_schema"}})", 400, kInvalid,
            R"("output_config.format.schema" is missing; expected a JSON schema.)");
        row("system of parts", "system", R"([{"type": "text", "text": "x", "annotations": []}])", 400, kInvalid,
            R"("system.annotations" is no field)");
        row("a tool's message", "messages", R"([{"role": "tool", "content": "x"}])", 400, kInvalid,
            R"("messages[0].role" is "tool"; expected user, assistant or system.)");
        row("thoughts of a model without them", "thinking", R"({"type": "enabled", "budget_tokens": 1024})", 400,
            kInvalid, "");
        row("a way to think", "thinking", R"({"type": "much"})", 400, kInvalid,
            R"("thinking.type" is "much"; expected enabled, adaptive or disabled.)");
        row("unknown", "temprature", "0", 400, kInvalid, R"("temprature" is no field that this server knows there)");
        row("another model", "model", R"("claude")", 404, "not_found_error", R"(The model "claude" is not loaded)");
    }
    void anthropicErrors_haveItsForm() {
        QFETCH(QString, field);
        QFETCH(QJsonValue, value);
        QFETCH(int, status);
        QFETCH(QString, type);
        QFETCH(QString, message);
        const HttpResponse response = m_demo->post(kMessages, with(anthropic_story(), field, value));
        QCOMPARE(response.status, status);
        QCOMPARE(json_of(response)[QStringLiteral("type")].toString(), QStringLiteral("error"));
        QCOMPARE(json_of(response)[QStringLiteral("error")][QStringLiteral("type")].toString(), type);
        QVERIFY2(message_of(response).startsWith(message), qPrintable(message_of(response)));
    }

    void anthropicHeaders_areRead() {
        const std::string body = QJsonDocument(anthropic_story()).toJson().toStdString();
        const auto status = [&](const std::string& headers) {
            return m_demo
                ->ask("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n" + headers +
                      "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                      body)
                .status;
        };
        const std::string key = "x-api-key: " + kToken + "\r\n";
        QCOMPARE(status(key), 200);
        QCOMPARE(status(key + "anthropic-version: 2023-06-01\r\nanthropic-beta: x\r\n"), 200);
        QCOMPARE(status(key + "anthropic-version: 2026-10-21\r\n"), 200);
        QCOMPARE(status(key + "anthropic-version: 2023-01-01\r\n"), 400);
        QCOMPARE(status("x-api-key: " + kToken + "0\r\n"), 401);
        QCOMPARE(status(key + key), 401);
        QCOMPARE(status("x-api-key:\r\n"), 401);
    }

    // ---------------------------------------------------------------- llama.cpp
    void texts_becomeTokensAndBack() {
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "The fox went into the";
        const std::vector<TokenId> expected = ModelText(*m_session.model()).prompt_tokens(request);
        QJsonArray ids;
        for (const TokenId id : expected) ids.append(id);
        const QJsonObject body = object_of(R"({"content": "The fox went into the", "add_special": true})");
        QCOMPARE(json_of(m_demo->post("/tokenize", body))[QStringLiteral("tokens")].toArray(), ids);
        const QJsonArray plain =
            json_of(m_demo->post("/tokenize", object_of(R"({"content": "The fox"})")))[QStringLiteral("tokens")]
                .toArray();
        QJsonArray alone;  // without the tokens around a text
        for (const TokenId id : m_session.model()->text().tokenizer->encode("The fox")) alone.append(id);
        QCOMPARE(plain, alone);
        const QJsonArray pieces = json_of(m_demo->post(
            "/tokenize", with(body, QStringLiteral("with_pieces"), true)))[QStringLiteral("tokens")]
                                      .toArray();
        QString joined;
        for (const QJsonValue& piece : pieces) joined += piece[QStringLiteral("piece")].toString();
        const QString back =
            json_of(m_demo->post("/detokenize", {{QStringLiteral("tokens"), ids}}))[QStringLiteral("content")]
                .toString();
        QCOMPARE(joined, back);
        QVERIFY2(back.endsWith(QStringLiteral("The fox went into the")), qPrintable(back));
        QCOMPARE(json_of(m_demo->post("/tokenize", object_of(R"({"content": "</s>"})")))[QStringLiteral("tokens")]
                     .toArray()
                     .size(),
                 qsizetype{1});
        QVERIFY(json_of(m_demo->post(
                    "/tokenize", object_of(R"({"content": "</s>", "parse_special": false})")))[QStringLiteral("tokens")]
                    .toArray()
                    .size() > 1);
        QCOMPARE(m_demo->post("/detokenize", object_of(R"({"tokens": [99999999]})")).status, 400);
        QCOMPARE(m_demo->post("/detokenize", object_of(R"({"tokens": "x"})")).status, 400);
        QCOMPARE(json_of(m_demo->get("/props"))[QStringLiteral("default_generation_settings")][QStringLiteral("n_ctx")]
                     .toInt(),
                 512);
    }

    // Tokenizers take up to a hundred times the bytes of a text.
    void textsBeyondTheLimit_areRefused() {
        const auto status = [&](qsizetype n) {
            const QJsonObject body{{QStringLiteral("content"), QString(n, QLatin1Char('a'))}};
            return m_demo->post("/tokenize", body).status;
        };
        QCOMPARE(status(1 << 20), 200);
        QCOMPARE(status((1 << 20) + 1), 400);
    }

    // Also where the client leaves.
    void longTexts_areDoneOneAtATime() {
        QString words;
        for (int i = 0; i < 50'000; ++i) words += QStringLiteral("fox ");
        const QJsonObject body{{QStringLiteral("content"), words}, {QStringLiteral("with_pieces"), true}};
        std::vector<std::future<qsizetype>> answers;
        for (int i = 0; i < 3; ++i) {
            answers.push_back(std::async(std::launch::async, [&] {
                return json_of(m_demo->post("/tokenize", body))[QStringLiteral("tokens")].toArray().size();
            }));
        }
        {
            LoopbackClient leaves(m_demo->port());
            leaves.send(m_demo->text("POST", "/tokenize", QJsonDocument(body).toJson().toStdString()));
        }
        const qsizetype n = answers.front().get();
        QVERIFY(n >= 50'000);
        for (std::size_t i = 1; i < answers.size(); ++i) QCOMPARE(answers[i].get(), n);
        QCOMPARE(m_demo->post("/tokenize", object_of(R"({"content": "x"})")).status, 200);
    }

    void listOfModels_hasNoModelWithoutAName() {
        const HttpResponse response = m_demo->get("/v1/models/");
        QCOMPARE(response.status, 404);
        QVERIFY(error_text(response).contains(QStringLiteral(", /v1/models/NAME, ")));
        QVERIFY(!error_text(response).contains(QStringLiteral("/v1/embeddings")));
        QCOMPARE(m_demo->get("/v1/models/demo-model").status, 200);
    }

    void endpointsThatAreRefused_sayWhy() {
        for (const char* path : {"/v1/embeddings", "/api/embed"}) {
            const HttpResponse response = m_demo->post(path, {});
            QCOMPARE(response.status, 404);
            QVERIFY2(response.body.find(std::string(path) + " is not answered here: ") != std::string::npos, path);
        }
    }
};

std::pair<std::string, QJsonObject> TestServeApis::endpoint_with(RequestObject kind, const QString& field,
                                                                 const QJsonValue& value, const char* role) {
    const QJsonObject message{{QStringLiteral("role"), QLatin1String(role)},
                              {QStringLiteral("content"), QStringLiteral("x")}};
    const auto chat = [&](const QJsonObject& one) {
        return with(object_of(R"({"max_tokens": 1})"), QStringLiteral("messages"), QJsonArray{one});
    };
    const auto ollama = [&](const QJsonObject& one) {
        return with(object_of(R"({"options": {"num_predict": 1}})"), QStringLiteral("messages"), QJsonArray{one});
    };
    const QJsonObject part = object_of(R"({"type": "text", "text": "x"})"), given{{field, value}};
    const auto of_call = [&](const QJsonObject& call) {
        return chat(
            {{QStringLiteral("role"), QStringLiteral("assistant")}, {QStringLiteral("tool_calls"), QJsonArray{call}}});
    };
    const auto item = [&](const char* json) {
        const QJsonArray items{with(object_of(json), field, value)};
        return std::pair(kResponses, QJsonObject{{QStringLiteral("input"), items}});
    };
    const auto response = [&](const QString& name, const QJsonValue& of) {
        return std::pair(kResponses, with(object_of(R"({"input": "x"})"), name, of));
    };
    switch (kind) {
        case RequestObject::kResponses:
            return response(field, value);
        case RequestObject::kResponseMessage:
            return item(R"({"type": "message", "role": "user", "content": "x"})");
        case RequestObject::kResponseReasoning:
            return item(R"({"type": "reasoning"})");
        case RequestObject::kResponseCall:
            return item(R"({"type": "function_call", "name": "f"})");
        case RequestObject::kResponseResult:
            return item(R"({"type": "function_call_output", "output": "x"})");
        case RequestObject::kResponsePart:
        case RequestObject::kReasoningPart: {
            const bool is_thought = kind == RequestObject::kReasoningPart;
            const QJsonObject one = object_of(is_thought ? R"({"type": "reasoning_text", "text": "x"})"
                                                         : R"({"type": "input_text", "text": "x"})");
            const QJsonObject holder = object_of(is_thought ? R"({"type": "reasoning"})" : R"({"role": "user"})");
            const QJsonArray parts{with(one, field, value)};
            return response(QStringLiteral("input"), QJsonArray{with(holder, QStringLiteral("content"), parts)});
        }
        case RequestObject::kResponseTool:
            return response(QStringLiteral("tools"),
                            QJsonArray{with(object_of(R"({"type": "function", "name": "f"})"), field, value)});
        case RequestObject::kResponseToolChoice: {
            const QJsonArray tools{object_of(R"({"type": "function", "name": "f"})")};
            const QJsonObject body = with(object_of(R"({"input": "x"})"), QStringLiteral("tools"), tools);
            return {kResponses, with(body, QStringLiteral("tool_choice"),
                                     with(object_of(R"({"type": "function"})"), field, value))};
        }
        case RequestObject::kReasoning:
            return response(QStringLiteral("reasoning"), given);
        case RequestObject::kResponseText:
            return response(QStringLiteral("text"), given);
        case RequestObject::kTextFormat:
            return response(
                QStringLiteral("text"),
                QJsonObject{{QStringLiteral("format"), with(object_of(R"({"type": "json_schema"})"), field, value)}});
        case RequestObject::kChat:
            return {kChat, with(chat(message), field, value)};
        case RequestObject::kCompletion:
            return {kCompletions, with(object_of(R"({"prompt": "a", "max_tokens": 1})"), field, value)};
        case RequestObject::kMessage:
            return {kChat, chat(with(message, field, value))};
        case RequestObject::kPart:
            return {kChat, chat(with(message, QStringLiteral("content"), QJsonArray{with(part, field, value)}))};
        case RequestObject::kStreamOptions:
            return {kChat, with(chat(message), QStringLiteral("stream_options"), given)};
        case RequestObject::kToolCall:
            return {kChat, of_call(with(object_of(R"({"function": {"name": "f"}})"), field, value))};
        case RequestObject::kFunction:
            return {kChat, of_call({{QStringLiteral("function"), with(object_of(R"({"name": "f"})"), field, value)}})};
        case RequestObject::kTool:
            return {kChat, with(chat(message), QStringLiteral("tools"),
                                QJsonArray{with(object_of(R"({"function": {"name": "f"}})"), field, value)})};
        case RequestObject::kToolFunction:
            return {kChat, with(chat(message), QStringLiteral("tools"),
                                QJsonArray{QJsonObject{
                                    {QStringLiteral("function"), with(object_of(R"({"name": "f"})"), field, value)}}})};
        case RequestObject::kToolChoice: {
            const QJsonArray tools{object_of(R"({"function": {"name": "f"}})")};
            const QJsonObject body = with(chat(message), QStringLiteral("tools"), tools);
            const bool is_inner = field == QLatin1String("name");
            return {kChat, with(body, QStringLiteral("tool_choice"),
                                is_inner ? QJsonObject{{QStringLiteral("function"), given}} : given)};
        }
        case RequestObject::kResponseFormat: {
            const QJsonObject object = object_of(R"({"type": "json_object"})"),
                              schema = object_of(R"({"type": "json_schema"})");
            const bool is_inner = field == QLatin1String("json_schema");
            return {kChat, with(chat(message), QStringLiteral("response_format"),
                                with(is_inner ? schema : object, field, value))};
        }
        case RequestObject::kJsonSchema:
            return {kChat, with(chat(message), QStringLiteral("response_format"),
                                with(object_of(R"({"type": "json_schema"})"), QStringLiteral("json_schema"), given))};
        case RequestObject::kTokenize:
            return {"/tokenize", given};
        case RequestObject::kDetokenize:
            return {"/detokenize", given};
        case RequestObject::kOllamaChat:
            return {kOllamaChat, with(ollama(message), field, value)};
        case RequestObject::kOllamaGenerate:
            return {kGenerate, with(object_of(R"({"prompt": "a", "options": {"num_predict": 1}})"), field, value)};
        case RequestObject::kOllamaOptions:
            return {kOllamaChat, with(ollama(message), QStringLiteral("options"), given)};
        case RequestObject::kOllamaMessage:
            return {kOllamaChat, ollama(with(message, field, value))};
        case RequestObject::kOllamaShow:
            return {"/api/show", given};
        case RequestObject::kAnthropic:
            return {kMessages, with(chat(message), field, value)};
        case RequestObject::kAnthropicMessage:
            return {kMessages, chat(with(message, field, value))};
        case RequestObject::kAnthropicPart:
            return {kMessages, chat(with(message, QStringLiteral("content"), QJsonArray{with(part, field, value)}))};
        case RequestObject::kAnthropicThought:
        case RequestObject::kAnthropicRedacted: {
            const bool is_thought = kind == RequestObject::kAnthropicThought;
            const QJsonObject one =
                object_of(is_thought ? R"({"type": "thinking"})" : R"({"type": "redacted_thinking"})");
            return {kMessages, chat(with(message, QStringLiteral("content"), QJsonArray{with(one, field, value)}))};
        }
        case RequestObject::kOutputConfig:
            return {kMessages, with(chat(message), QStringLiteral("output_config"), given)};
        case RequestObject::kAnthropicCall:
        case RequestObject::kAnthropicResult: {
            const bool is_call = kind == RequestObject::kAnthropicCall;
            const QJsonObject one = object_of(is_call ? R"({"type": "tool_use"})" : R"({"type": "tool_result"})");
            return {kMessages, chat(with(message, QStringLiteral("content"), QJsonArray{with(one, field, value)}))};
        }
        case RequestObject::kAnthropicTool:
            return {kMessages, with(chat(message), QStringLiteral("tools"),
                                    QJsonArray{with(object_of(R"({"name": "f"})"), field, value)})};
        case RequestObject::kAnthropicChoice: {
            QJsonObject body = with(chat(message), QStringLiteral("tools"), QJsonArray{object_of(R"({"name": "f"})")});
            return {kMessages,
                    with(body, QStringLiteral("tool_choice"), with(object_of(R"({"type": "tool"})"), field, value))};
        }
        case RequestObject::kOutputFormat:
            return {kMessages, with(chat(message), QStringLiteral("output_format"),
                                    with(object_of(R"({"type": "json_schema"})"), field, value))};
        case RequestObject::kThinking:
            return {kMessages, with(chat(message), QStringLiteral("thinking"), given)};
    }
    return {};
}

QTEST_GUILESS_MAIN(TestServeApis)
#include "tst_serve_apis.moc"
