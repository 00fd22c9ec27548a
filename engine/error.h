#pragma once

#include <stdexcept>
#include <string>

namespace offstage::engine {

enum class ErrorKind {
    kNotFound,      // no such path, or a file that must be there is missing
    kInvalidModel,  // a file of the model breaks its format or contradicts another
    kUnsupported,   // well formed, but an architecture, dtype or feature that Offstage does not know
    kInvalidInput,  // a request that cannot be served: text that is not UTF-8, a prompt longer than the context ...
    kOutOfMemory,
    kCancelled,
    kDevice,  // a GPU or a copy failed while it worked; the next request may succeed
    kInternal,
};

// Thrown at load and at requests, never inside the per-token path. what() is one sentence for the person: it names the
// file, the field, what was found and what was expected. detail() is for the log and may be empty.
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& sentence, std::string detail = {})
        : std::runtime_error(sentence), kind_(kind), detail_(std::move(detail)) {}

    ErrorKind kind() const { return kind_; }
    const std::string& detail() const { return detail_; }

  private:
    ErrorKind kind_;
    std::string detail_;
};

}  // namespace offstage::engine
