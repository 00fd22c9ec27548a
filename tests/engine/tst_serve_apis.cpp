// The server's APIs: the tables of fields, and llama.cpp's endpoints on the demo model.

#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QtTest>

#include "engine/run/local_session.h"
#include "engine/run/model_text.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "tests/engine/running_server.h"
#include "tests/engine/test_models.h"

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
    for (const auto table : {openai_fields()}) {
        all.insert(all.end(), table.begin(), table.end());
    }
    return all;
}

QStringList names_of(const FieldRule& rule) {
    return QString::fromUtf8(rule.names.data(), static_cast<qsizetype>(rule.names.size())).split(QLatin1Char(' '));
}

constexpr RequestObject kLastObject = RequestObject::kThinking;

std::vector<RequestObject> objects_of(unsigned bits) {
    std::vector<RequestObject> objects;
    for (unsigned i = 0; i <= static_cast<unsigned>(kLastObject); ++i) {
        if ((bits >> i & 1U) != 0) objects.push_back(static_cast<RequestObject>(i));
    }
    return objects;
}

// What check_fields() says of one field; empty: it is taken.
QString refusal(RequestObject kind, const QString& name, const nlohmann::json& value) {
    try {
        check_fields({{name.toStdString(), value}}, kind, "x.");
    } catch (const ApiError& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

QString error_text(const HttpResponse& response) {
    const QJsonValue error = json_of(response)[QStringLiteral("error")];
    return error.isString() ? error.toString() : error[QStringLiteral("message")].toString();
}

}  // namespace

class TestServeApis : public QObject {
    Q_OBJECT

    LocalSession m_session;
    std::unique_ptr<Running> m_demo;

    // Bodies that are taken, of the endpoint that has such objects: {path, body}.
    static std::pair<std::string, QJsonObject> endpoint_with(RequestObject kind, const QString& field,
                                                             const QJsonValue& value, const char* role);

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
                    const nlohmann::json odd = {{"odd", {1, 2}}};
                    QCOMPARE(refusal(kind, name, nullptr), QString());
                    QVERIFY(refusal(kind, name + QStringLiteral("_"), odd).contains(QStringLiteral("is no field")));
                    if (rule.treatment == FieldRule::kRead || rule.treatment == FieldRule::kHarmless) {
                        QCOMPARE(refusal(kind, name, odd), QString());
                        continue;
                    }
                    const QString says = refusal(kind, name, odd);
                    QVERIFY2(says.startsWith(QStringLiteral("\"x.%1\" is an object; expected ").arg(name)),
                             qPrintable(name + says));
                    for (const nlohmann::json& neutral : nlohmann::json::parse(rule.treatment)) {
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

    void fieldsThatTheManualLists_areThoseTakenWithAnyValue() {
        QFile page(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en/server.md"));
        QVERIFY(page.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(page.readAll());
        QString table = text.section(QStringLiteral("| fields | why"), 1);
        table.truncate(table.indexOf(QStringLiteral("\n\n")));
        const QStringList parts = table.split(QLatin1Char('`'));
        QSet<QString> listed, taken;
        for (qsizetype i = 1; i < parts.size(); i += 2) listed.insert(parts[i]);
        const unsigned bodies = bit(RequestObject::kChat) | bit(RequestObject::kCompletion);
        for (const FieldRule& rule : all_rules()) {
            if (rule.treatment != FieldRule::kHarmless || (rule.objects & bodies) == 0) continue;
            for (const QString& name : names_of(rule)) taken.insert(name);
        }
        QVERIFY(taken.size() > 40);
        QCOMPARE(QStringList((taken - listed).values()).join(QLatin1Char(' ')), QString());
        QCOMPARE(QStringList((listed - taken).values()).join(QLatin1Char(' ')), QString());
        // Every path of the server is on the page.
        const QString nothing = message_of(m_demo->get("/nothing"));
        const QStringList paths =
            nothing.section(QStringLiteral("expected one of "), 1).chopped(1).split(QStringLiteral(", "));
        QVERIFY(paths.size() > 10);
        for (const QString& path : paths) QVERIFY2(text.contains(path), qPrintable(path));
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

    void endpointsThatAreRefused_sayWhy() {
        for (const char* path : {"/v1/embeddings", "/v1/responses"}) {
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
    const QJsonObject part = object_of(R"({"type": "text", "text": "x"})"), given{{field, value}};
    const auto of_call = [&](const QJsonObject& call) {
        return chat(
            {{QStringLiteral("role"), QStringLiteral("assistant")}, {QStringLiteral("tool_calls"), QJsonArray{call}}});
    };
    switch (kind) {
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
        case RequestObject::kTokenize:
            return {"/tokenize", given};
        case RequestObject::kDetokenize:
            return {"/detokenize", given};
        default:
            break;
    }
    return {};
}

QTEST_GUILESS_MAIN(TestServeApis)
#include "tst_serve_apis.moc"
