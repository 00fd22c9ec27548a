#pragma once
// Who may talk to the local server: the holder of a token, from this program's own host
// name, and web pages only where they were named.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/http_server.h"

namespace offstage::engine {

// 256 bits of the system's randomness, as 64 hexadecimal digits. Throws Error (kInternal)
// where the system has none.
std::string make_token();

// The token in a file (16 to 1024 printable characters without blanks; surrounding ones
// are ignored). A missing file is created with a new one, readable and writable by its
// owner alone, and so are the folders on the way to it. Throws Error: kInvalidInput
// (other users may read the file, or it holds no such token), kNotFound (it cannot be
// read or made).
struct TokenFile {
    std::string token;
    bool made = false;
};
TokenFile read_or_make_token_file(const std::filesystem::path& file);

// Whether both are the same, in a time that does not depend on where they differ.
bool is_same_secret(std::string_view given, std::string_view expected);

// "scheme://host" or "scheme://host:port" in lower case, as browsers send it. Throws
// Error (kInvalidInput) for anything else, including "*" and "null".
std::string parse_origin(const std::string& text);

// The value of a Host header names this computer: localhost, 127.x.x.x or [::1], with or
// without a port.
bool is_loopback_host(std::string_view host);

// The conditions for a request. Immutable; any thread.
class AccessRules {
  public:
    // origins: as parse_origin() returns them. how_to_allow: how the owner can allow
    // pages of another origin, as the end of a sentence: "start it with ... to let them".
    AccessRules(std::string token, bool loopback_only, std::vector<std::string> origins, std::string how_to_allow = {})
        : token_(std::move(token)),
          loopback_only_(loopback_only),
          origins_(std::move(origins)),
          how_to_allow_(std::move(how_to_allow)) {}

    // The refusal of a request by its Host and Origin headers, or nothing. A page whose
    // host name was pointed to this computer ("DNS rebinding") sends its own name.
    std::optional<HttpReply> refuse_source(const HttpRequest& head) const;
    // The same by its token.
    std::optional<HttpReply> refuse_token(const HttpRequest& head) const;
    // The answer to a browser's preflight request; nothing: the request is another one.
    // After refuse_source().
    std::optional<HttpReply> answer_preflight(const HttpRequest& head) const;
    // Adds the headers that let a browser give the reply to an allowed page.
    void add_origin(const HttpRequest& head, HttpReply& reply) const;

  private:
    bool allows(const std::string& origin) const;

    std::string token_;
    bool loopback_only_;
    std::vector<std::string> origins_;
    std::string how_to_allow_;
};

}  // namespace offstage::engine
