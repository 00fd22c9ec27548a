#pragma once

#include <cstdint>
#include <string>

namespace offstage::engine {

// The address that a server listens on: numeric, never a name that would have to be
// looked up.
struct ListenAddress {
    std::string host = "127.0.0.1";  // IPv4 or IPv6, without brackets
    std::uint16_t port = 8080;       // 0: a free one

    // 127.0.0.0/8 and ::1: only programs of this computer can connect.
    bool is_loopback() const;
    // "127.0.0.1:8080", "[::1]:8080".
    std::string text() const;
};
// "ADDRESS:PORT", "[IPV6]:PORT", "PORT" (of 127.0.0.1); "localhost" is 127.0.0.1. Throws
// Error (kInvalidInput).
ListenAddress parse_listen_address(const std::string& text);

}  // namespace offstage::engine
