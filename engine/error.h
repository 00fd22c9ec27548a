#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/message.h"

namespace offstage::engine {

enum class ErrorKind {
    kNotFound,      // no such path, or a required file is missing
    kInvalidModel,  // a file of the model breaks its format or contradicts another
    kUnsupported,   // well formed, but an architecture, dtype or feature that Offstage does not support
    kInvalidInput,  // a request that cannot be served: text that is not UTF-8, a prompt longer than the context ...
    kOutOfMemory,
    kCancelled,
    kDevice,  // a GPU or a copy failed while it worked; the next request may succeed
    kInternal,
};

// Thrown at load and at requests, never in the per-token path. message(): one sentence
// for the user, with file, field, actual and expected value; what(): the same in English;
// detail(): for the log, may be empty. Each Error has a code of a catalogue, not free
// text.
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, Message message, std::string detail = {})
        : std::runtime_error(message.english()),
          kind_(kind),
          message_(std::move(message)),
          detail_(std::move(detail)) {}

    ErrorKind kind() const { return kind_; }
    const Message& message() const { return message_; }
    const std::string& detail() const { return detail_; }

  private:
    ErrorKind kind_;
    Message message_;
    std::string detail_;
};

// The message of any exception. The words of one that is no Error are not translated.
inline Message message_of(const std::exception& exception) {
    const auto* const error = dynamic_cast<const Error*>(&exception);
    return error != nullptr ? error->message() : from_outside(exception.what());
}

}  // namespace offstage::engine
