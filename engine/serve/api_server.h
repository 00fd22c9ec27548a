#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run/model_summary.h"
#include "engine/serve/access.h"
#include "engine/serve/answer_queue.h"
#include "engine/serve/api_request.h"
#include "engine/serve/http_server.h"
#include "engine/serve/server_metrics.h"

namespace offstage::engine {

struct ApiServerSettings {
    ListenAddress listen;
    std::string token;
    std::vector<std::string> origins;  // as parse_origin() returns them
    // How the owner can allow pages of another origin, for the message to refused ones.
    std::string how_to_allow_origin = "start it with --allow-origin to let them";
    std::size_t most_waiting = 16;  // requests, beside those that are answered
    std::size_t most_together = 1;  // requests that are answered at a time
    int comment_ms = 10'000;        // interval of "still waiting" comments in a stream without output
    HttpLimits http;
};

// Gives other programs of this computer access to a model, by parts of the HTTP APIs of
// OpenAI, Anthropic, Ollama and llama.cpp: endpoints() lists them. Every request must
// contain the token. Listens from the constructor to stop().
//
// The server has its own threads and never uses the Session: requests wait in queue()
// until its owner's run_next() answers them.
class ApiServer final : private HttpHandler {
  public:
    // Takes the address. Throws Error (kInvalidInput) where it cannot be had.
    explicit ApiServer(const ApiServerSettings& settings);
    ~ApiServer() override;  // stops
    ApiServer(const ApiServer&) = delete;
    ApiServer& operator=(const ApiServer&) = delete;

    const ListenAddress& address() const { return address_; }
    // "http://127.0.0.1:8080/v1", for clients.
    std::string base_url() const;

    // From now on requests are read; without a model they are answered 503.
    void start();
    // The model that the queue's owner answers with; nullopt: none, or it is being
    // loaded. Requests for the model before it are answered with 503. Any thread.
    void set_model(std::optional<ModelSummary> model);
    // Closes the queue and all connections, and returns when no thread is left. Answers
    // under way are stopped.
    void stop();

    AnswerQueue& queue() { return queue_; }
    const ServerMetrics& metrics() const { return metrics_; }

  private:
    std::optional<HttpReply> refuse(const HttpRequest& head) override;
    HttpReply answer(const HttpRequest& request, HttpClient& client) override;
    HttpReply error(int status, const std::string& sentence, const HttpRequest& head) override;
    void replied(const std::string& path, int status) override;

    struct Endpoint;
    static std::span<const Endpoint> endpoints();
    static const Endpoint* endpoint_of(std::string_view path);  // nullptr: there is none

    // ---- what endpoints do
    HttpReply complete(const HttpRequest& given, HttpClient& client, const Endpoint& endpoint);
    HttpReply describe_model(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint);
    HttpReply use_text(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint);
    HttpReply props(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint);
    HttpReply health(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint);
    HttpReply metrics_page(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint);

    struct Loaded {
        ModelSummary model;
        std::int64_t since;  // seconds since 1970
    };
    std::optional<Loaded> loaded() const;
    bool is_loaded(const std::string& source) const;
    Loaded require_model() const;  // throws ApiError (503)
    std::int64_t retry_after_s() const;

    const AccessRules access_;
    const int comment_ms_;
    AnswerQueue queue_;
    ServerMetrics metrics_;
    mutable std::mutex mutex_;
    std::optional<Loaded> loaded_;
    std::mutex text_mutex_;  // held by the one use_text() that works
    ListenAddress address_;
    HttpServer http_;
};

}  // namespace offstage::engine
