#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "engine/serve/http_server.h"

namespace offstage::engine {

// The API in whose form a reply is written.
enum class ApiStyle : std::uint8_t { kOpenAi, kOllama, kAnthropic };
ApiStyle style_of_path(std::string_view path);

// The refusal of a request. what() is the message.
class ApiError : public std::runtime_error {
  public:
    // param: the field that is wrong; empty: null. code: empty: null.
    ApiError(int status, const std::string& message, std::string param = {}, std::string code = {})
        : std::runtime_error(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

    int status() const { return status_; }
    // One line of JSON: {"error": {"message", "type", "param", "code"}}, {"error": MESSAGE},
    // or {"type": "error", "error": {"type", "message"}}. Text that is not UTF-8 is mended.
    std::string body(ApiStyle style) const;
    HttpReply reply(ApiStyle style) const;

  private:
    int status_;
    std::string param_;
    std::string code_;
};

// The same of an Error: its sentence in English, and its code.
ApiError api_error_of(int status, const Error& error);
// With the status that its kind has.
ApiError api_error_of(const Error& error);

}  // namespace offstage::engine
