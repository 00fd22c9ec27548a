#include "engine/serve/api_endpoints.h"

#include <utility>

#include "engine/serve/anthropic_reply.h"
#include "engine/serve/ollama_reply.h"
#include "engine/serve/openai_reply.h"
#include "engine/serve/responses_reply.h"
#include "engine/serve/token_api.h"

namespace offstage::engine {
namespace {

constexpr const char* kNoEmbeddings = "a language model's vectors are no embeddings to search with";

template <typename Writer>
std::unique_ptr<ReplyWriter> make_writer(const ApiRequest& request, ReplyLabel label) {
    return std::make_unique<Writer>(request, std::move(label));
}

}  // namespace

std::span<const ApiServer::Endpoint> ApiServer::endpoints() {
    using E = Endpoint;
    static const E kEndpoints[] = {
        // OpenAI's
        E::describes(
            "GET", "/v1/models",
            [](const ModelSummary& model, std::int64_t since, std::string_view) { return model_list(model, since); }),
        E::describes(
            "GET", "/v1/models/",
            [](const ModelSummary& model, std::int64_t since, std::string_view) { return model_object(model, since); }),
        E::answers("/v1/chat/completions", parse_chat_request, make_writer<OpenAiReply>),
        E::answers("/v1/completions", parse_completion_request, make_writer<OpenAiReply>),
        E::answers("/v1/responses", parse_responses_request, make_writer<ResponsesReply>),
        E::refused("/v1/embeddings", kNoEmbeddings),
        // Anthropic's
        E::answers("/v1/messages", parse_anthropic_request, make_writer<AnthropicReply>),
        E::uses_text("/v1/messages/count_tokens", count_tokens),
        // Ollama's
        E::answers("/api/chat", parse_ollama_chat, make_writer<OllamaReply>),
        E::answers("/api/generate", parse_ollama_generate, make_writer<OllamaReply>),
        E::describes("GET", "/api/tags",
                     [](const ModelSummary& model, std::int64_t since, std::string_view) {
                         return ollama_models(model, since);
                     }),
        E::describes("GET", "/api/ps",
                     [](const ModelSummary& model, std::int64_t, std::string_view) { return ollama_running(model); }),
        E::describes("POST", "/api/show", ollama_show),
        E::describes("GET", "/api/version",
                     [](const ModelSummary&, std::int64_t, std::string_view) { return ollama_version(); }),
        E::refused("/api/embed", kNoEmbeddings),
        // llama.cpp's
        E::uses_text("/tokenize", tokenize),
        E::uses_text("/detokenize", detokenize),
        {.path = "/props", .method = "GET", .handler = &ApiServer::props},
        {.path = "/health", .method = "GET", .handler = &ApiServer::health},
        {.path = "/metrics", .method = "GET", .handler = &ApiServer::metrics_page},
    };
    return kEndpoints;
}

const ApiServer::Endpoint* ApiServer::endpoint_of(std::string_view path) {
    for (const Endpoint& one : endpoints()) {
        const std::string_view its = one.path;
        const bool is_it = its.ends_with('/') ? path.size() > its.size() && path.starts_with(its) : path == its;
        if (is_it) return &one;
    }
    return nullptr;
}

}  // namespace offstage::engine
