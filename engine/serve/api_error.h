#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "engine/error.h"
#include "engine/serve/http_server.h"

namespace offstage::engine {

// The refusal of a request, in the form of OpenAI's API: {"error": {"message", "type",
// "param", "code"}}. what() is the message.
class ApiError : public std::runtime_error {
  public:
    // param: the field that is wrong; empty: null. code: empty: null.
    ApiError(int status, const std::string& message, std::string param = {}, std::string code = {})
        : std::runtime_error(message), status_(status), param_(std::move(param)), code_(std::move(code)) {}

    int status() const { return status_; }
    // One line of JSON. Text that is not UTF-8 is mended.
    std::string body() const;
    HttpReply reply() const;

  private:
    int status_;
    std::string param_;
    std::string code_;
};

// The same of an Error: its sentence in English, and its code.
ApiError api_error_of(int status, const Error& error);

}  // namespace offstage::engine
