#include "engine/serve/listen_address.h"

#include <arpa/inet.h>
#include <array>
#include <charconv>

#include "engine/error.h"
#include "engine/serve/serve_messages.h"

namespace offstage::engine {

bool ListenAddress::is_loopback() const {
    return host == "::1" || host.starts_with("127.");
}

std::string ListenAddress::text() const {
    const std::string number = std::to_string(port);
    return host.find(':') == std::string::npos ? host + ":" + number : "[" + host + "]:" + number;
}

ListenAddress parse_listen_address(const std::string& text) {
    const auto refuse = [&]() -> Error { return Error(ErrorKind::kInvalidInput, messages::no_address(text)); };
    ListenAddress address;
    const std::size_t colon = text.rfind(':');
    const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || error != std::errc() || end != port.data() + port.size()) throw refuse();
    if (colon == std::string::npos) return address;
    std::string host = text.substr(0, colon);
    const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (in_brackets) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    if (inet_pton(in_brackets ? AF_INET6 : AF_INET, host.c_str(), parsed.data()) != 1) throw refuse();
    std::array<char, INET6_ADDRSTRLEN> shortest{};  // one way to write each address
    inet_ntop(in_brackets ? AF_INET6 : AF_INET, parsed.data(), shortest.data(), shortest.size());
    address.host = shortest.data();
    return address;
}

}  // namespace offstage::engine
