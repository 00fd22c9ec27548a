#include "engine/serve/api_server.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/run/model_text.h"
#include "engine/serve/api_endpoints.h"
#include "engine/serve/api_error.h"
#include "engine/serve/pending_answer.h"
#include "engine/serve/request_parts.h"
#include "engine/serve/serve_messages.h"
#include "engine/serve/token_api.h"
#include "engine/text/encoding_watch.h"

namespace offstage::engine {
namespace {

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

constexpr const char* kNoMemory = "There is not enough memory for this request.";

HttpReply json_reply(std::string body) {
    HttpReply http;
    http.body = std::move(body);
    return http;
}

// An EncodingWatch that ends the work for a client that has left.
std::function<void()> while_there(HttpClient& client) {
    return [&client] {
        if (client.wait(0) == HttpClient::Wait::kEnds) throw ApiError(kClientLeft, kClientLeftText);
    };
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
    if (!request.prompts.front().ignore_end) request.model_stop = loaded.text->defaults.stops;
    const EncodingWatch watch(while_there(client));
    for (GenerationRequest& prompt : request.prompts) {
        prompt.stop_at_texts = false;
        EncodingWatch::look();
        prompt.made_prompt = ModelText(*loaded.text).prompt_in_context(prompt);
        if (prompt.tools.any()) prompt.grammar = ModelText(*loaded.text).tool_grammar(prompt);
    }
}

}  // namespace

ApiServer::ApiServer(const ApiServerSettings& settings)
    : access_(settings.token, settings.listen.is_loopback(), settings.origins, settings.how_to_allow_origin),
      comment_ms_(settings.comment_ms),
      queue_(settings.most_waiting, settings.most_together),
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
        loaded_.reset();
        if (model) loaded_ = Loaded{std::move(*model), seconds_now()};
    }
    queue_.cancel_all();  // requests for the model before
}

std::optional<ApiServer::Loaded> ApiServer::loaded() const {
    const std::lock_guard lock(mutex_);
    return loaded_;
}

bool ApiServer::is_loaded(const std::string& source) const {
    const std::lock_guard lock(mutex_);
    return loaded_ && loaded_->model.source == source;
}

ApiServer::Loaded ApiServer::require_model() const {
    std::optional<Loaded> found = loaded();
    if (!found) throw ApiError(503, "No model is loaded, or not yet; try again.");
    return std::move(*found);
}

std::int64_t ApiServer::retry_after_s() const {
    const double s = metrics_.mean_answer_s() * static_cast<double>(queue_.n_waiting() + 1) /
                     static_cast<double>(2 * queue_.most_together());
    return std::clamp<std::int64_t>(std::llround(s), 1, 60);
}

std::optional<HttpReply> ApiServer::refuse(const HttpRequest& head) {
    const auto refusal = [&]() -> std::optional<HttpReply> {
        if (auto reply = access_.refuse_source(head)) return reply;
        if (auto reply = access_.answer_preflight(head)) return reply;
        if (auto reply = access_.refuse_token(head)) return reply;
        const Endpoint* const endpoint = endpoint_of(head.path);
        const ApiStyle style = style_of_path(head.path);
        if (endpoint == nullptr) {
            std::string paths;
            for (const Endpoint& one : endpoints()) {
                if (one.why != nullptr) continue;
                paths += (paths.empty() ? "" : ", ") + std::string(one.path);
                if (paths.back() == '/') paths += "NAME";
            }
            return ApiError(404, "There is nothing at " + in_quotes(head.path) + "; expected one of " + paths + ".")
                .reply(style);
        }
        if (endpoint->why != nullptr) {
            return ApiError(404, std::string(endpoint->path) + " is not answered here: " + endpoint->why + ".")
                .reply(style);
        }
        const std::string method = head.method == "HEAD" ? "GET" : head.method;
        if (method != endpoint->method) {
            return ApiError(405, std::string(endpoint->path) + " takes " + endpoint->method + " requests alone.")
                .reply(style)
                .with("Allow", endpoint->method);
        }
        const std::string version = head.header("anthropic-version");
        // Replies and events are the same in both.
        if (style == ApiStyle::kAnthropic && !version.empty() && version != "2023-06-01" && version != "2026-10-21") {
            return ApiError(400, "anthropic-version is " + in_quotes(version) + "; expected 2023-06-01 or 2026-10-21.")
                .reply(style);
        }
        if (method == "POST" && !is_json(head.header("content-type"))) {
            return ApiError(415, "Content-Type is " + in_quotes(head.header("content-type")) +
                                     "; expected application/json.")
                .reply(style);
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
    const auto refuse_by = [&](const ApiError& error) {
        reply = error.reply(style_of_path(request.path));
        if (error.status() == 503) reply.with("Retry-After", std::to_string(retry_after_s()));
    };
    try {
        const Endpoint* const endpoint = endpoint_of(request.path);  // there is one: refuse() has checked it
        reply = (this->*endpoint->handler)(request, client, *endpoint);
    } catch (const ApiError& error) {
        refuse_by(error);
    } catch (const Error& error) {
        refuse_by(api_error_of(error));
    } catch (const std::bad_alloc&) {
        refuse_by(ApiError(503, kNoMemory));
    }
    reply.with("Cache-Control", "no-store");
    access_.add_origin(request, reply);
    return reply;
}

HttpReply ApiServer::error(int status, const std::string& sentence, const HttpRequest& head) {
    HttpReply reply = ApiError(status, sentence).reply(style_of_path(head.path));
    if (status == 503) reply.with("Retry-After", std::to_string(retry_after_s()));
    access_.add_origin(head, reply);
    return reply;
}

void ApiServer::replied(const std::string& path, int status) {
    const Endpoint* const endpoint = endpoint_of(path);
    metrics_.count_reply(endpoint != nullptr ? endpoint->path : "other", status);
}

HttpReply ApiServer::health(const HttpRequest&, HttpClient&, const Endpoint&) {
    HttpReply reply;
    const bool ready = loaded().has_value();
    reply.status = ready ? 200 : 503;
    reply.body = ready ? R"({"status":"ok"})" : R"({"status":"loading"})";
    return reply;
}

HttpReply ApiServer::metrics_page(const HttpRequest&, HttpClient&, const Endpoint&) {
    HttpReply reply = json_reply(metrics_.text(queue_));
    reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return reply;
}

HttpReply ApiServer::props(const HttpRequest&, HttpClient&, const Endpoint&) {
    return json_reply(model_props(require_model().model, queue_.most_together()));
}

HttpReply ApiServer::describe_model(const HttpRequest& request, HttpClient&, const Endpoint& endpoint) {
    const Loaded loaded = require_model();
    if (const std::string_view path = endpoint.path; path.ends_with('/')) {
        check_model(request.path.substr(path.size()), loaded.model.name);
    }
    return json_reply(endpoint.describe(loaded.model, loaded.since, request.body));
}

HttpReply ApiServer::use_text(const HttpRequest& request, HttpClient& client, const Endpoint& endpoint) {
    const ModelSummary loaded = require_model().model;
    if (loaded.text == nullptr) throw ApiError(400, "The model " + in_quotes(loaded.name) + " has no tokenizer.");
    const EncodingWatch watch(while_there(client));
    // One request at a time, since its lists may be many times as long as its text.
    constexpr int kLookMs = 20;
    std::unique_lock one(text_mutex_, std::try_to_lock);
    while (!one.owns_lock()) {
        if (client.wait(kLookMs) == HttpClient::Wait::kEnds) throw ApiError(kClientLeft, kClientLeftText);
        static_cast<void>(one.try_lock());
    }
    return json_reply(endpoint.use_text(loaded, request.body));
}

HttpReply ApiServer::complete(const HttpRequest& given, HttpClient& client, const Endpoint& endpoint) {
    const ModelSummary loaded = require_model().model;
    const auto request = std::make_shared<ApiRequest>(endpoint.read(given.body));
    check_model(request->model, loaded.name);
    choose_thinking(*request, loaded);
    if (!request->prompts.empty()) make_prompts(*request, loaded, client);
    const std::shared_ptr<ReplyWriter> writer =
        endpoint.writer(*request, {loaded.name, make_token().substr(0, 24), seconds_now()});
    if (request->prompts.empty()) {  // Ollama's programs load a model so
        AnswerPiece last;
        last.finish_reason = "load";
        writer->add(last);
        return json_reply(writer->whole({}));
    }
    const auto channel = std::make_shared<AnswerChannel>(client.waker());
    // Only the work owns its end: if the queue drops the work, the channel ends.
    auto end = std::make_shared<ChannelEnd>(channel);
    const auto last = std::make_shared<std::optional<AnswerEvent>>();
    auto ticket = queue_.submit(
        [this, request, source = loaded.source, end, last](Session& session, const std::stop_token& stop) {
            if (!is_loaded(source)) return;  // the model changed between the check above and submit()
            const auto begin = std::chrono::steady_clock::now();
            try {
                const auto emit = [&](AnswerPiece piece) { end->channel().put(std::move(piece)); };
                const AnswerTotals totals = answer_request(*request, session, stop, emit);
                const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
                metrics_.count_answer(totals, seconds.count());
                if (!totals.stopped) *last = totals;
            } catch (const Error& error) {
                *last = api_error_of(error);
            } catch (const std::bad_alloc&) {
                *last = ApiError(503, kNoMemory);
            } catch (const std::exception& error) {
                *last = ApiError(500, std::string("Something went wrong inside Offstage: ") + error.what());
            }
        },
        // Behind the work, so that the client can ask again at once.
        [end, last] {
            if (last->has_value()) end->channel().put(std::move(**last));
        });
    end = nullptr;
    if (ticket == nullptr) {
        throw ApiError(
            503, "The queue is full: " + std::to_string(queue_.most_waiting()) + " requests wait already; try again.");
    }
    const auto pending = std::make_shared<PendingAnswer>(channel, std::move(ticket), client);
    if (!request->stream) return json_reply(whole_answer(*pending, *writer));
    HttpReply http;
    http.content_type = writer->stream_type();
    http.stream = [pending, writer, ms = comment_ms_](const HttpReply::Write& write) {
        write_events(*pending, *writer, ms, write);
    };
    return http;
}

}  // namespace offstage::engine
