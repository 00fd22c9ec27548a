#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/serve/api_server.h"
#include "engine/serve/reply_writer.h"

namespace offstage::engine {

// What the server does for a path.
struct ApiServer::Endpoint {
    const char* path;  // with '/' at its end: a name follows, which is not empty
    const char* method;
    HttpReply (ApiServer::*handler)(const HttpRequest&, HttpClient&, const Endpoint&) = nullptr;
    const char* why = nullptr;  // it is refused
    // What the handlers need.
    ApiRequest (*read)(std::string_view body) = nullptr;
    std::unique_ptr<ReplyWriter> (*writer)(const ApiRequest& request, ReplyLabel label) = nullptr;
    std::string (*describe)(const ModelSummary& model, std::int64_t loaded, std::string_view body) = nullptr;
    std::string (*use_text)(const ModelSummary& model, std::string_view body) = nullptr;

    static constexpr Endpoint answers(const char* path, decltype(read) read, decltype(writer) writer) {
        return {.path = path, .method = "POST", .handler = &ApiServer::complete, .read = read, .writer = writer};
    }
    static constexpr Endpoint describes(const char* method, const char* path, decltype(describe) describe) {
        return {.path = path, .method = method, .handler = &ApiServer::describe_model, .describe = describe};
    }
    static constexpr Endpoint uses_text(const char* path, decltype(use_text) use_text) {
        return {.path = path, .method = "POST", .handler = &ApiServer::use_text, .use_text = use_text};
    }
    static constexpr Endpoint refused(const char* path, const char* why) {
        return {.path = path, .method = "POST", .why = why};
    }
};

}  // namespace offstage::engine
