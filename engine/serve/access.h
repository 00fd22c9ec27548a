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

// The token that a file holds (16 to 1024 printable characters without blanks, what
// surrounds them is passed over). A file that is not there is made with a new one, to be
// read and written by its owner alone, and so are the folders on the way to it. Throws Error: kInvalidInput (others may read the
// file, or it holds no such token), kNotFound (it cannot be read or made).
struct TokenFile {
    std::string token;
    bool made = false;
};
TokenFile read_or_make_token_file(const std::filesystem::path& file);

// Whether both are the same, in a time that does not tell where they differ.
bool is_same_secret(std::string_view given, std::string_view expected);

// "scheme://host" or "scheme://host:port" in lower case, as browsers send it. Throws Error
// (kInvalidInput) for anything else, "*" and "null" among them.
std::string parse_origin(const std::string& text);

// The value of a Host header names this computer: localhost, 127.x.x.x or [::1], with or
// without a port.
bool is_loopback_host(std::string_view host);

// What a request must bring. Immutable; any thread.
class AccessRules {
  public:
    // origins: as parse_origin() returns them. how_to_allow: what its owner does to let the
    // pages of another origin in, as the end of a sentence: "start it with ... to let them".
    AccessRules(std::string token, bool loopback_only, std::vector<std::string> origins, std::string how_to_allow = {})
        : token_(std::move(token)),
          loopback_only_(loopback_only),
          origins_(std::move(origins)),
          how_to_allow_(std::move(how_to_allow)) {}

    // The refusal of a request by its Host and Origin headers, or nothing. A page whose
    // host name was made to point to this computer ("DNS rebinding") sends its own name.
    std::optional<HttpReply> refuse_source(const HttpRequest& head) const;
    // The same by its token.
    std::optional<HttpReply> refuse_token(const HttpRequest& head) const;
    // The answer to a browser that asks, before a request of a page, whether it may be
    // made; nothing: the request is another one. After refuse_source().
    std::optional<HttpReply> answer_preflight(const HttpRequest& head) const;
    // Adds the headers by which a browser shows the reply to a page that is allowed.
    void add_origin(const HttpRequest& head, HttpReply& reply) const;

  private:
    bool allows(const std::string& origin) const;

    std::string token_;
    bool loopback_only_;
    std::vector<std::string> origins_;
    std::string how_to_allow_;
};

}  // namespace offstage::engine
