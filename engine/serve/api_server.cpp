#include "engine/serve/api_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/run/model_text.h"
#include "engine/serve/answer_channel.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_reply.h"
#include "engine/serve/serve_messages.h"
#include "engine/text/encoding_watch.h"

namespace offstage::engine {
namespace {

struct Endpoint {
    const char* path;
    const char* method;
};
constexpr std::array<Endpoint, 5> kEndpoints = {Endpoint{"/v1/models", "GET"},
                                                {"/v1/chat/completions", "POST"},
                                                {"/v1/completions", "POST"},
                                                {"/health", "GET"},
                                                {"/metrics", "GET"}};
constexpr std::string_view kOneModel = "/v1/models/";

// nullptr: unknown path.
const Endpoint* endpoint_of(const std::string& path) {
    if (path.size() > kOneModel.size() && path.starts_with(kOneModel)) return kEndpoints.data();
    const auto* const found =
        std::find_if(kEndpoints.begin(), kEndpoints.end(), [&](const Endpoint& e) { return path == e.path; });
    return found == kEndpoints.end() ? nullptr : found;
}

std::int64_t seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool is_json(std::string type) {
    type = type.substr(0, type.find(';'));
    std::erase_if(type, [](char c) { return c == ' ' || c == '\t'; });
    std::transform(type.begin(), type.end(), type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return type == "application/json";
}

ApiError api_error_of(const Error& error) {
    switch (error.kind()) {
        case ErrorKind::kInvalidInput:
        case ErrorKind::kUnsupported:
            return api_error_of(400, error);
        case ErrorKind::kOutOfMemory:
            return api_error_of(503, error);
        default:
            return api_error_of(500, error);
    }
}

constexpr const char* kServerStopped = "The request was stopped before it was answered.";
constexpr int kClientLeft = 499;  // for the metrics only: the client has left
constexpr const char* kClientLeftText = "The client left before its answer was whole.";

// The engine's end of a channel: if no other end was sent, reports that the request was
// dropped, as when the queue is closed.
class ChannelEnd {
  public:
    explicit ChannelEnd(std::shared_ptr<AnswerChannel> channel) : channel_(std::move(channel)) {}
    ~ChannelEnd() { channel_->put(ApiError(503, kServerStopped)); }
    ChannelEnd(const ChannelEnd&) = delete;
    ChannelEnd& operator=(const ChannelEnd&) = delete;
    AnswerChannel& channel() { return *channel_; }

  private:
    std::shared_ptr<AnswerChannel> channel_;
};

// The connection's end: while it exists the answer is needed.
class PendingAnswer {
  public:
    PendingAnswer(std::shared_ptr<AnswerChannel> channel, std::shared_ptr<AnswerQueue::Ticket> ticket,
                  HttpClient& client)
        : channel_(std::move(channel)), ticket_(std::move(ticket)), client_(client) {}
    ~PendingAnswer() { ticket_->cancel(); }
    PendingAnswer(const PendingAnswer&) = delete;
    PendingAnswer& operator=(const PendingAnswer&) = delete;

    // nullopt: the client left, or the server stops. Calls `still_waits` after each such
    // number of milliseconds without an event (-1: never); if it returns false, this ends
    // too.
    std::optional<AnswerEvent> next(int ms = -1, const std::function<bool()>& still_waits = {}) {
        while (true) {
            if (std::optional<AnswerEvent> event = channel_->take()) return event;
            const HttpClient::Wait wait = client_.wait(ms);
            if (wait == HttpClient::Wait::kEnds) return std::nullopt;
            if (wait == HttpClient::Wait::kNothing && !still_waits()) return std::nullopt;
        }
    }
    // Why next() gave nothing.
    ApiError unanswered() const {
        if (client_.server_stops()) return {503, kServerStopped};
        return {kClientLeft, kClientLeftText};
    }

  private:
    std::shared_ptr<AnswerChannel> channel_;
    std::shared_ptr<AnswerQueue::Ticket> ticket_;
    HttpClient& client_;
};

// Writes the events of a stream until its end, and a comment now and then while there are
// none: programs and proxies close a silent connection.
void write_events(PendingAnswer& pending, ApiReply& reply, int comment_ms, const HttpReply::Write& write) {
    const auto comment = [&] { return write(": waiting\n\n"); };
    while (const std::optional<AnswerEvent> event = pending.next(comment_ms, comment)) {
        if (const auto* piece = std::get_if<AnswerPiece>(&*event)) {
            if (!write(reply.events(*piece))) return;
            continue;
        }
        const auto* error = std::get_if<ApiError>(&*event);
        write(error != nullptr ? "data: " + error->body() + "\n\n" : reply.last_events(std::get<AnswerTotals>(*event)));
        return;
    }
    // Has no reader if the client left.
    write("data: " + pending.unanswered().body() + "\n\n");
}

HttpReply whole_reply(PendingAnswer& pending, ApiReply& reply) {
    while (const std::optional<AnswerEvent> event = pending.next()) {
        if (const auto* error = std::get_if<ApiError>(&*event)) throw *error;
        if (const auto* totals = std::get_if<AnswerTotals>(&*event)) {
            HttpReply http;
            http.body = reply.whole(*totals);
            return http;
        }
        reply.add(std::get<AnswerPiece>(*event));
    }
    throw pending.unanswered();
}

// Problems of the prompts are reported before the request is queued, so that they take no
// time of the engine's thread.
void make_prompts(ApiRequest& request, const ModelSummary& loaded, HttpClient& client) {
    if (loaded.text == nullptr) return;
    for (const auto& [token, bias] : request.prompts.front().sampler.logit_bias) {
        if (token < loaded.text->vocab_size) continue;
        throw ApiError(400,
                       "\"logit_bias\" names token " + std::to_string(token) + "; expected at most " +
                           std::to_string(loaded.text->vocab_size - 1) + ".",
                       "logit_bias");
    }
    // The model's own stop texts are used together with the request's.
    if (!request.prompts.front().ignore_end) {
        const std::vector<std::string>& stops = loaded.text->defaults.stops;
        request.stop.insert(request.stop.end(), stops.begin(), stops.end());
    }
    const EncodingWatch watch([&] {
        if (client.wait(0) == HttpClient::Wait::kEnds) throw ApiError(kClientLeft, kClientLeftText);
    });
    for (std::size_t i = 0; i < request.prompts.size(); ++i) {
        GenerationRequest& prompt = request.prompts[i];
        prompt.stop_at_texts = false;
        if (i % request.n_choices != 0) {
            prompt.made_prompt = request.prompts[i - 1].made_prompt;
            continue;
        }
        EncodingWatch::look();
        try {
            prompt.made_prompt = ModelText(*loaded.text).prompt_in_context(prompt);
        } catch (const Error& error) {
            throw api_error_of(error);
        }
    }
}

}  // namespace

ApiServer::ApiServer(const ApiServerSettings& settings)
    : access_(settings.token, settings.listen.is_loopback(), settings.origins, settings.how_to_allow_origin),
      comment_ms_(settings.comment_ms),
      queue_(settings.most_waiting),
      http_(*this, settings.http) {
    if (settings.token.empty()) throw Error(ErrorKind::kInvalidInput, messages::server_without_token);
    address_ = http_.bind(settings.listen);
}

ApiServer::~ApiServer() {
    stop();
}

std::string ApiServer::base_url() const {
    ListenAddress shown = address_;
    if (shown.host == "0.0.0.0") shown.host = "127.0.0.1";
    if (shown.host == "::") shown.host = "::1";
    return "http://" + shown.text() + "/v1";
}

void ApiServer::start() {
    http_.start();
}

void ApiServer::stop() {
    queue_.close();
    http_.stop();
}

void ApiServer::set_model(std::optional<ModelSummary> model) {
    {
        const std::lock_guard lock(mutex_);
        model_ = std::move(model);
        model_since_ = seconds_now();
    }
    queue_.cancel_all();  // requests for the model before
}

std::optional<ModelSummary> ApiServer::model() const {
    const std::lock_guard lock(mutex_);
    return model_;
}

bool ApiServer::is_loaded(const std::string& source) const {
    const std::lock_guard lock(mutex_);
    return model_ && model_->source == source;
}

ModelSummary ApiServer::require_model() const {
    std::optional<ModelSummary> loaded = model();
    if (!loaded) throw ApiError(503, "No model is loaded, or not yet; try again.");
    return std::move(*loaded);
}

std::int64_t ApiServer::retry_after_s() const {
    const double s = metrics_.mean_answer_s() * static_cast<double>(queue_.n_waiting() + 1) / 2;
    return std::clamp<std::int64_t>(std::llround(s), 1, 60);
}

std::optional<HttpReply> ApiServer::refuse(const HttpRequest& head) {
    const auto refusal = [&]() -> std::optional<HttpReply> {
        if (auto reply = access_.refuse_source(head)) return reply;
        if (auto reply = access_.answer_preflight(head)) return reply;
        if (auto reply = access_.refuse_token(head)) return reply;
        const Endpoint* const endpoint = endpoint_of(head.path);
        if (endpoint == nullptr) {
            return ApiError(404, "There is nothing at " + in_quotes(head.path) +
                                     "; expected /v1/models, /v1/chat/completions, /v1/completions, /health or "
                                     "/metrics.")
                .reply();
        }
        const std::string method = head.method == "HEAD" ? "GET" : head.method;
        if (method != endpoint->method) {
            return ApiError(405, std::string(endpoint->path) + " takes " + endpoint->method + " requests alone.")
                .reply()
                .with("Allow", endpoint->method);
        }
        if (method == "POST" && !is_json(head.header("content-type"))) {
            return ApiError(415, "Content-Type is " + in_quotes(head.header("content-type")) +
                                     "; expected application/json.")
                .reply();
        }
        return std::nullopt;
    }();
    if (!refusal) return std::nullopt;
    HttpReply reply = *refusal;
    access_.add_origin(head, reply);
    return reply;
}

HttpReply ApiServer::answer(const HttpRequest& request, HttpClient& client) {
    HttpReply reply;
    try {
        reply = route(request, client);
    } catch (const ApiError& error) {
        reply = error.reply();
        if (error.status() == 503) reply.with("Retry-After", std::to_string(retry_after_s()));
    } catch (const std::bad_alloc&) {
        reply = ApiError(503, "There is not enough memory for this request.").reply();
    }
    reply.with("Cache-Control", "no-store");
    access_.add_origin(request, reply);
    return reply;
}

HttpReply ApiServer::error(int status, const std::string& sentence, const HttpRequest& head) {
    HttpReply reply = ApiError(status, sentence).reply();
    if (status == 503) reply.with("Retry-After", std::to_string(retry_after_s()));
    access_.add_origin(head, reply);
    return reply;
}

void ApiServer::replied(const std::string& path, int status) {
    const Endpoint* const endpoint = endpoint_of(path);
    metrics_.count_reply(endpoint != nullptr ? endpoint->path : "other", status);
}

HttpReply ApiServer::health() const {
    HttpReply reply;
    const bool ready = model().has_value();
    reply.status = ready ? 200 : 503;
    reply.body = ready ? R"({"status":"ok"})" : R"({"status":"loading"})";
    return reply;
}

HttpReply ApiServer::route(const HttpRequest& request, HttpClient& client) {
    if (request.path == "/v1/chat/completions") return complete(ApiRequest::Kind::kChat, request.body, client);
    if (request.path == "/v1/completions") return complete(ApiRequest::Kind::kCompletion, request.body, client);
    if (request.path == "/health") return health();
    HttpReply reply;
    if (request.path == "/metrics") {
        reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
        reply.body = metrics_.text(queue_.n_waiting(), queue_.is_running(), queue_.most_waiting());
        return reply;
    }
    const ModelSummary loaded = require_model();
    if (request.path == "/v1/models") {
        reply.body = model_list(loaded, model_since_);
        return reply;
    }
    const std::string name = request.path.substr(kOneModel.size());
    if (name != loaded.name) {
        throw ApiError(404, "The model " + in_quotes(name) + " is not loaded; expected " + in_quotes(loaded.name) + ".",
                       "model", "model_not_found");
    }
    reply.body = model_object(loaded, model_since_);
    return reply;
}

HttpReply ApiServer::complete(ApiRequest::Kind kind, const std::string& body, HttpClient& client) {
    const ModelSummary loaded = require_model();
    const auto request = std::make_shared<ApiRequest>(kind == ApiRequest::Kind::kChat ? parse_chat_request(body)
                                                                                      : parse_completion_request(body));
    if (!request->model.empty() && request->model != loaded.name) {
        throw ApiError(
            404, "The model " + in_quotes(request->model) + " is not loaded; expected " + in_quotes(loaded.name) + ".",
            "model", "model_not_found");
    }
    make_prompts(*request, loaded, client);
    const auto channel = std::make_shared<AnswerChannel>(client.waker());
    // Only the work owns its end: if the queue drops the work, the channel ends.
    auto end = std::make_shared<ChannelEnd>(channel);
    auto ticket = queue_.submit(
        [this, request, source = loaded.source, end = std::move(end)](Session& session, const std::stop_token& stop) {
            if (!is_loaded(source)) return;  // the model changed between the check above and submit()
            const auto begin = std::chrono::steady_clock::now();
            AnswerEvent last = AnswerTotals();
            try {
                const auto emit = [&](AnswerPiece piece) { end->channel().put(std::move(piece)); };
                const AnswerTotals totals = answer_request(*request, session, stop, emit);
                const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
                metrics_.count_answer(totals, seconds.count());
                if (totals.stopped) return;
                last = totals;
            } catch (const Error& error) {
                last = api_error_of(error);
            } catch (const std::bad_alloc&) {
                last = ApiError(503, "There is not enough memory for this request.");
            } catch (const std::exception& error) {
                last = ApiError(500, std::string("Something went wrong inside Offstage: ") + error.what());
            }
            end->channel().put(std::move(last));
        });
    if (ticket == nullptr) {
        throw ApiError(
            503, "The queue is full: " + std::to_string(queue_.most_waiting()) + " requests wait already; try again.");
    }
    const auto pending = std::make_shared<PendingAnswer>(channel, std::move(ticket), client);
    const auto reply = std::make_shared<ApiReply>(*request, loaded.name, make_token().substr(0, 24), seconds_now());
    if (!request->stream) return whole_reply(*pending, *reply);
    HttpReply http;
    http.content_type = "text/event-stream";
    http.stream = [pending, reply, ms = comment_ms_](const HttpReply::Write& write) {
        write_events(*pending, *reply, ms, write);
    };
    return http;
}

}  // namespace offstage::engine
