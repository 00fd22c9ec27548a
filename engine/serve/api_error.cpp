#include "engine/serve/api_error.h"

#include <nlohmann/json.hpp>

namespace offstage::engine {
namespace {

const char* type_of(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 503:
            return "overloaded_error";
        default:
            return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

nlohmann::ordered_json or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

std::string ApiError::body() const {
    const nlohmann::ordered_json error = {
        {"error",
         {{"message", what()}, {"type", type_of(status_)}, {"param", or_null(param_)}, {"code", or_null(code_)}}}};
    return error.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError api_error_of(int status, const Error& error) {
    // Text from a template or a library has no code in our catalogue.
    const bool is_outside = error.message().code() == from_outside({}).code();
    return {status, error.what(), {}, is_outside ? std::string() : std::string(error.message().code())};
}

HttpReply ApiError::reply() const {
    HttpReply reply;
    reply.status = status_;
    reply.body = body();
    return reply;
}

}  // namespace offstage::engine
