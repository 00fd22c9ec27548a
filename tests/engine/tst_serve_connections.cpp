// The local server beside clients that are slow, leave, or come all at once, with a
// session that answers only as far as the test allows.

#include <QDir>
#include <QJsonDocument>
#include <QtTest>

#include "engine/error.h"
#include "engine/serve/api_server.h"
#include "tests/engine/gate_session.h"
#include "tests/engine/loopback_client.h"
#include "tests/engine/running_server.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Fails after this many words.
class FailingSession : public GateSession {
  public:
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override {
        GenerationRequest some = request;
        some.max_tokens = 2;
        GateSession::generate(some, on_delta, stop);
        throw Error(ErrorKind::kDevice, from_outside("the device is gone"));
    }
};

}  // namespace

class TestServeConnections : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void slowHead_isCutOff() {
        GateSession session;
        ApiServerSettings settings;
        settings.http.head_ms = 1;
        Running running(session, "gate", settings);
        LoopbackClient client(running.port());
        client.send("GET /health HT");
        QCOMPARE(client.read_response().status, 408);
    }

    // ---------------------------------------------------------------- streams that wait
    void stream_beginsBeforeItsFirstWord_andIsNeverSilent() {
        GateSession session;
        ApiServerSettings settings;
        settings.comment_ms = 1;
        Running running(session, "gate", settings);
        const std::string text = running.text(
            "POST", kChat, QJsonDocument(chat_body({{QStringLiteral("stream"), true}})).toJson().toStdString());
        LoopbackClient first(running.port()), second(running.port());
        first.send(text);
        session.wait_for_begun(1);
        second.send(text);  // waits for the first
        for (LoopbackClient* client : {&first, &second}) {
            const std::string& received = client->read_until(": waiting\n\n\r\n");
            QVERIFY2(received.starts_with("HTTP/1.1 200 OK\r\n"), received.c_str());
            QVERIFY(received.find(": waiting\n\n") != std::string::npos);
            QVERIFY(received.find("data:") == std::string::npos);
        }
        session.allow(24);
        for (LoopbackClient* client : {&first, &second}) {
            const HttpResponse response = client->read_response();
            QVERIFY(response.whole);
            QVERIFY(response.body.ends_with("data: [DONE]\n\n"));
            QVERIFY(response.body.find("\"l \"") != std::string::npos);
        }
    }

    void errorOfTheEngine_isAStatus_orAnEventWhereTheStreamHasBegun() {
        FailingSession session;
        Running running(session, "gate");
        session.allow(4);
        const HttpResponse whole = running.post(kChat, chat_body());
        QCOMPARE(whole.status, 500);
        QCOMPARE(message_of(whole), QStringLiteral("the device is gone"));
        const HttpResponse streamed = running.post(kChat, chat_body({{QStringLiteral("stream"), true}}));
        QCOMPARE(streamed.status, 200);
        QVERIFY(streamed.whole);
        QCOMPARE(events_of(streamed).last()[QStringLiteral("error")][QStringLiteral("message")].toString(),
                 QStringLiteral("the device is gone"));
        QVERIFY(streamed.body.find("[DONE]") == std::string::npos);
    }

    // ---------------------------------------------------------------- many at once
    void threadsOfABurst_endAfterIt() {
        const auto n_threads = [] { return QDir(QStringLiteral("/proc/self/task")).entryList(QDir::Dirs).size(); };
        GateSession session;
        ApiServerSettings settings;
        settings.http.thread_ms = 200;
        Running running(session, "gate", settings);
        QCOMPARE(running.get("/health").status, 200);
        const qsizetype n_before = n_threads();
        constexpr int kBurst = 24;
        std::vector<std::unique_ptr<LoopbackClient>> clients;
        for (int i = 0; i < kBurst; ++i) {
            clients.push_back(std::make_unique<LoopbackClient>(running.port()));
            clients.back()->send("GET /health HT");
        }
        QTRY_VERIFY_WITH_TIMEOUT(n_threads() >= n_before + kBurst - 1, kPatienceMs);
        clients.clear();
        QTRY_VERIFY_WITH_TIMEOUT(n_threads() < n_before, kPatienceMs);  // its own has ended, too
        QCOMPARE(running.get("/health").status, 200);
    }

    // With no place to wait a client can ask again as soon as it has its reply.
    void nextRequestOfAClient_findsTheOnlyPlaceFree_data() {
        QTest::addColumn<bool>("stream");
        QTest::newRow("whole") << false;
        QTest::newRow("stream") << true;
    }
    void nextRequestOfAClient_findsTheOnlyPlaceFree() {
        QFETCH(const bool, stream);
        GateSession session;
        constexpr int kRequests = 200;
        session.allow(kRequests);
        ApiServerSettings settings;
        settings.most_waiting = 0;
        Running running(session, "gate", settings);
        const QJsonObject body = chat_body({{QStringLiteral("max_tokens"), 1}, {QStringLiteral("stream"), stream}});
        for (int i = 0; i < kRequests; ++i) QCOMPARE(running.post(kChat, body).status, 200);
    }

    // Connections without a token, silent ones and one that has begun a request, give
    // way.
    void connectionsWithoutAToken_keepNobodyOut() {
        GateSession session;
        ApiServerSettings settings;
        settings.http.connections = 2;
        settings.http.head_ms = kPatienceMs;
        Running running(session, "gate", settings);
        const std::string text = running.text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString());
        LoopbackClient answered(running.port());
        answered.send(text);
        session.wait_for_begun(1);
        std::vector<std::unique_ptr<LoopbackClient>> silent;
        for (int i = 0; i < 12; ++i) {
            silent.push_back(std::make_unique<LoopbackClient>(running.port()));
            if (i % 2 == 0) silent.back()->send("GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n");
            if (i % 3 == 0) QCOMPARE(running.get("/health").status, 200);
        }
        QCOMPARE(running.get("/health").status, 200);
        QCOMPARE(silent.front()->read_response().status, 0);  // the oldest is gone
        session.allow(12);
        QCOMPARE(answered.read_response().status, 200);  // who had shown it is not
    }

    void fullQueue_says503AndWhenToTryAgain() {
        GateSession session;
        ApiServerSettings settings;
        settings.most_waiting = 1;
        Running running(session, "gate", settings);
        const std::string text = running.text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString());
        LoopbackClient first(running.port());
        first.send(text);
        session.wait_for_begun(1);
        LoopbackClient second(running.port());
        second.send(text);
        QTRY_COMPARE_WITH_TIMEOUT(running.server().queue().n_waiting(), std::size_t{1}, kPatienceMs);
        const HttpResponse refused = running.ask(text);
        QCOMPARE(refused.status, 503);
        QVERIFY(std::stoi(refused.headers.at("retry-after")) >= 1);
        QVERIFY2(message_of(refused).startsWith(QStringLiteral("The queue is full: 1 requests")),
                 qPrintable(message_of(refused)));
        QVERIFY(running.get("/metrics").body.find("offstage_queue_waiting 1\n") != std::string::npos);
        session.allow(24);
        QCOMPARE(first.read_response().status, 200);
        QCOMPARE(second.read_response().status, 200);
    }

    void tooManyConnections_areRefusedAtOnce() {
        GateSession session;
        ApiServerSettings settings;
        settings.http.connections = 2;
        Running running(session, "gate", settings);
        const std::string text = running.text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString());
        LoopbackClient first(running.port()), second(running.port());
        first.send(text);
        second.send(text);
        session.wait_for_begun(1);
        QTRY_COMPARE_WITH_TIMEOUT(running.server().queue().n_waiting(), std::size_t{1}, kPatienceMs);
        const HttpResponse refused = running.get("/health");
        QCOMPARE(refused.status, 503);
        QCOMPARE(message_of(refused), QStringLiteral("Too many connections are open; try again."));
        session.allow(24);
        QCOMPARE(first.read_response().status, 200);
        QCOMPARE(second.read_response().status, 200);
        QCOMPARE(running.get("/health").status, 200);
    }

    void clientThatLeaves_stopsItsAnswer_data() {
        QTest::addColumn<bool>("stream");
        QTest::addColumn<int>("words");
        QTest::newRow("whole answer") << false << 0;
        QTest::newRow("stream, before its first word") << true << 0;
        QTest::newRow("stream, in the middle") << true << 3;
    }
    void clientThatLeaves_stopsItsAnswer() {
        QFETCH(bool, stream);
        QFETCH(int, words);
        GateSession session;
        Running running(session, "gate");
        {
            LoopbackClient client(running.port());
            client.send(running.text(
                "POST", kChat, QJsonDocument(chat_body({{QStringLiteral("stream"), stream}})).toJson().toStdString()));
            session.wait_for_begun(1);
            session.allow(words);
            if (words == 3) QVERIFY(client.read_until("\"c \"").find("\"c \"") != std::string::npos);
        }
        session.wait_for_stopped(1);
        session.allow(12);
        QCOMPARE(running.post(kChat, chat_body()).status, 200);
        QVERIFY(running.get("/metrics").body.find("offstage_answers_cancelled_total 1\n") != std::string::npos);
        const std::string status = stream ? "200" : "499";
        // The connection's thread counts it, perhaps after the next answer is read.
        QTRY_VERIFY_WITH_TIMEOUT(
            running.get("/metrics").body.find("completions\",status=\"" + status + "\"}") != std::string::npos,
            kPatienceMs);
    }

    // It counts as one that has left. What it is told is no error of the server's.
    void clientThatEndsItsSending_isToldSo() {
        GateSession session;
        Running running(session, "gate");
        LoopbackClient client(running.port());
        client.send(running.text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString()));
        session.wait_for_begun(1);
        client.end_sending();
        session.wait_for_stopped(1);
        const std::string& answer = client.read_until("whole.");
        QVERIFY2(answer.starts_with("HTTP/1.1 499 Client Closed Request\r\n"), answer.c_str());
        QVERIFY2(answer.find("The client left before its answer was whole.") != std::string::npos, answer.c_str());
    }

    void clientThatLeavesTheQueue_isNeverAnswered() {
        GateSession session;
        Running running(session, "gate");
        const std::string text = running.text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString());
        LoopbackClient first(running.port());
        first.send(text);
        session.wait_for_begun(1);
        {
            LoopbackClient second(running.port());
            second.send(text);
            QTRY_COMPARE_WITH_TIMEOUT(running.server().queue().n_waiting(), std::size_t{1}, kPatienceMs);
        }
        QTRY_COMPARE_WITH_TIMEOUT(running.server().queue().n_waiting(), std::size_t{0}, kPatienceMs);
        session.allow(24);
        QCOMPARE(first.read_response().status, 200);
        QCOMPARE(running.post(kChat, chat_body()).status, 200);
        QCOMPARE(session.n_begun(), 2);
    }

    // The engine continues with the next request while a client has unread output.
    void slowReader_getsEverything_andHoldsNobodyUp() {
        GateSession session;
        Running running(session, "gate");
        constexpr int kWords = 4000;
        LoopbackClient slow(running.port(), 2048);
        slow.send(running.text(
            "POST", kChat,
            QJsonDocument(chat_body({{QStringLiteral("stream"), true}, {QStringLiteral("max_tokens"), kWords}}))
                .toJson()
                .toStdString()));
        session.allow(kWords + 12);
        QCOMPARE(running.post(kChat, chat_body()).status, 200);
        const HttpResponse response = slow.read_response();
        QVERIFY(response.whole);
        QCOMPARE(events_of(response).size(), qsizetype{kWords + 3});  // the role before, the reason and "[DONE]" behind
    }

    void readerThatStandsStill_isCutOff() {
        GateSession session;
        ApiServerSettings settings;
        settings.http.write_ms = 1;
        Running running(session, "gate", settings);
        LoopbackClient client(running.port(), 2048);
        client.send(running.text(
            "POST", kChat,
            QJsonDocument(chat_body({{QStringLiteral("stream"), true}, {QStringLiteral("max_tokens"), 40'000}}))
                .toJson()
                .toStdString()));
        session.allow(40'000);
        QTRY_VERIFY_WITH_TIMEOUT(n_replies(running.server()) == 1, kPatienceMs);
        QVERIFY(!client.read_response().whole);
    }

    // ---------------------------------------------------------------- beginning and end
    void addressInUse_isSaidAtOnce() {
        GateSession session;
        Running running(session, "gate");
        ApiServerSettings settings;
        settings.listen = running.server().address();
        settings.token = kToken;
        try {
            ApiServer second(settings);
            QFAIL("two servers on one port");
        } catch (const Error& error) {
            const QString text = QString::fromUtf8(error.what());
            QVERIFY2(text.contains(QStringLiteral("another program listens there")), error.what());
            QVERIFY(text.contains(QString::fromStdString(running.server().address().text())));
        }
    }

    void withoutAToken_nothingListens() {
        ApiServerSettings settings;
        settings.listen.port = 0;
        QVERIFY_EXCEPTION_THROWN(ApiServer{settings}, Error);
    }

    void beforeTheModelIsThere_itSaysSo() {
        GateSession session;
        Running running(session, "gate");
        running.server().set_model(std::nullopt);
        QCOMPARE(running.get("/health").status, 503);
        QCOMPARE(json_of(running.get("/health"))[QStringLiteral("status")].toString(), QStringLiteral("loading"));
        const HttpResponse response = running.post(kChat, chat_body());
        QCOMPARE(response.status, 503);
        QCOMPARE(message_of(response), QStringLiteral("No model is loaded, or not yet; try again."));
        QVERIFY(response.headers.contains("retry-after"));
    }

    void stop_endsWhatIsUnderWay() {
        GateSession session;
        auto running = std::make_unique<Running>(session, "gate");
        const std::uint16_t port = running->port();
        LoopbackClient answered(port), waiting(port), silent(port);
        const std::string text = running->text("POST", kChat, QJsonDocument(chat_body()).toJson().toStdString());
        answered.send(text);
        session.wait_for_begun(1);
        waiting.send(text);
        QTRY_COMPARE_WITH_TIMEOUT(running->server().queue().n_waiting(), std::size_t{1}, kPatienceMs);
        running.reset();
        QVERIFY(answered.read_response().status != 200);
        QVERIFY(waiting.read_response().status != 200);
        QCOMPARE(silent.read_response().status, 0);
        QVERIFY_EXCEPTION_THROWN(LoopbackClient{port}, std::runtime_error);
    }

    void neverStarted_givesTheAddressBack() {
        ApiServerSettings settings;
        settings.listen.port = 0;
        settings.token = kToken;
        auto server = std::make_unique<ApiServer>(settings);
        settings.listen = server->address();
        server.reset();
        ApiServer again(settings);
        QCOMPARE(again.address().port, settings.listen.port);
        QCOMPARE(again.base_url(), "http://127.0.0.1:" + std::to_string(settings.listen.port) + "/v1");
    }
};

QTEST_GUILESS_MAIN(TestServeConnections)
#include "tst_serve_connections.moc"
