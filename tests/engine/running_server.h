#pragma once
// A local server on a session, and requests to it.

#include <sstream>
#include <string>
#include <thread>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/error.h"
#include "engine/serve/api_server.h"
#include "tests/engine/loopback_client.h"

namespace offstage::test {

inline const std::string kToken = "0123456789abcdef0123456789abcdef";
inline constexpr int kPatienceMs = 60'000;  // until a test gives up
inline const std::string kChat = "/v1/chat/completions";
inline const std::string kCompletions = "/v1/completions";

// A server and the thread that answers its queue.
class Running {
  public:
    explicit Running(engine::Session& session, const std::string& model, engine::ApiServerSettings settings = {})
        : Running(session, named(model), std::move(settings)) {}
    Running(engine::Session& session, const engine::ModelSummary& model, engine::ApiServerSettings settings)
        : server_(with_defaults(std::move(settings))) {
        server_.start();
        server_.set_model(model);
        engine_ = std::jthread([this, &session](const std::stop_token& stop) {
            while (server_.queue().wait(stop)) server_.queue().run_next(session, stop);
        });
    }
    ~Running() {
        engine_.request_stop();
        server_.stop();
    }

    engine::ApiServer& server() { return server_; }
    std::uint16_t port() const { return server_.address().port; }

    std::string text(const std::string& method, const std::string& path, const std::string& body = {},
                     const std::string& headers = {}) const {
        std::string text =
            method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + kToken + "\r\n";
        if (method == "POST") {
            text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
        }
        return text + headers + "\r\n" + body;
    }
    HttpResponse ask(const std::string& text) const {
        LoopbackClient client(port());
        client.send(text);
        return client.read_response();
    }
    HttpResponse get(const std::string& path, const std::string& headers = {}) const {
        return ask(text("GET", path, {}, headers));
    }
    HttpResponse post(const std::string& path, const QJsonObject& body, const std::string& headers = {}) const {
        return ask(text("POST", path, QJsonDocument(body).toJson().toStdString(), headers));
    }

  private:
    static engine::ModelSummary named(const std::string& name) {
        engine::ModelSummary model;
        model.name = name;
        return model;
    }
    static engine::ApiServerSettings with_defaults(engine::ApiServerSettings settings) {
        settings.listen.port = 0;
        settings.token = kToken;
        return settings;
    }

    engine::ApiServer server_;
    std::jthread engine_;
};

inline QJsonObject json_of(const HttpResponse& response) {
    return QJsonDocument::fromJson(QByteArray::fromStdString(response.body)).object();
}
inline QString message_of(const HttpResponse& response) {
    return json_of(response)[QStringLiteral("error")].toObject()[QStringLiteral("message")].toString();
}
inline QJsonObject choice_of_reply(const HttpResponse& response, int i = 0) {
    return json_of(response)[QStringLiteral("choices")].toArray().at(i).toObject();
}
inline QJsonObject chat_body(const QJsonObject& more = {}) {
    QJsonObject body{
        {QStringLiteral("temperature"), 0},
        {QStringLiteral("max_tokens"), 12},
        {QStringLiteral("messages"),
         QJsonArray{QJsonObject{{QStringLiteral("role"), QStringLiteral("user")},
                                {QStringLiteral("content"), QStringLiteral("Tell me a story about a fox.")}}}}};
    for (auto it = more.begin(); it != more.end(); ++it) body[it.key()] = it.value();
    return body;
}
inline QJsonObject completion_body(const QJsonObject& more = {}) {
    QJsonObject body{{QStringLiteral("temperature"), 0},
                     {QStringLiteral("max_tokens"), 6},
                     {QStringLiteral("prompt"), QStringLiteral("The fox went into the")}};
    for (auto it = more.begin(); it != more.end(); ++it) body[it.key()] = it.value();
    return body;
}
// The objects of a stream; the last one, "[DONE]", as an empty one.
inline QList<QJsonObject> events_of(const HttpResponse& response) {
    QList<QJsonObject> events;
    for (const QByteArray& event : QByteArray::fromStdString(response.body).replace("\n\n", "\x01").split('\x01')) {
        if (event.isEmpty()) continue;
        if (!event.startsWith("data: ")) return {};
        events << QJsonDocument::fromJson(event.mid(6)).object();
    }
    return events;
}

inline engine::GenerationRequest story(int max_tokens) {
    engine::GenerationRequest request;
    request.messages = {{engine::Role::kUser, "Tell me a story about a fox."}};
    request.sampler.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

// By the metrics that the server shows.
inline std::uint64_t n_replies(const engine::ApiServer& server) {
    std::istringstream lines(server.metrics().text(engine::AnswerQueue(0)));
    std::uint64_t n = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("offstage_http_replies_total{")) n += std::stoull(line.substr(line.rfind(' ')));
    }
    return n;
}

}  // namespace offstage::test
