#include "engine/serve/api_error.h"

#include <nlohmann/json.hpp>

namespace offstage::engine {
namespace {

const char* type_of(int status, ApiStyle style) {
    const bool is_anthropic = style == ApiStyle::kAnthropic;
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 404:
            return is_anthropic ? "not_found_error" : "invalid_request_error";
        case 413:
            return is_anthropic ? "request_too_large" : "invalid_request_error";
        case 503:
            return "overloaded_error";
        default:
            if (status < 500) return "invalid_request_error";
            return is_anthropic ? "api_error" : "server_error";
    }
}

nlohmann::ordered_json or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

ApiStyle style_of_path(std::string_view path) {
    if (path.starts_with("/api/")) return ApiStyle::kOllama;
    return path == "/v1/messages" || path.starts_with("/v1/messages/") ? ApiStyle::kAnthropic : ApiStyle::kOpenAi;
}

std::string ApiError::body(ApiStyle style) const {
    nlohmann::ordered_json error;
    const char* const type = type_of(status_, style);
    if (style == ApiStyle::kOllama) {
        error = {{"error", what()}};
    } else if (style == ApiStyle::kAnthropic) {
        error = {{"type", "error"}, {"error", {{"type", type}, {"message", what()}}}};
    } else {
        error = {
            {"error", {{"message", what()}, {"type", type}, {"param", or_null(param_)}, {"code", or_null(code_)}}}};
    }
    return error.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError api_error_of(int status, const Error& error) {
    // Text from a template or a library has no code in our catalogue.
    const bool is_outside = error.message().code() == from_outside({}).code();
    return {status, error.what(), {}, is_outside ? std::string() : std::string(error.message().code())};
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

HttpReply ApiError::reply(ApiStyle style) const {
    HttpReply reply;
    reply.status = status_;
    reply.body = body(style);
    return reply;
}

}  // namespace offstage::engine
