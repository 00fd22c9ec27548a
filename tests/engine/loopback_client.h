#pragma once
// A client of HTTP servers on this computer that uses only a socket: it can be as slow,
// as wrong and as sudden as real ones. The only file of the tests that opens sockets.

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <map>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace offstage::test {

struct HttpResponse {
    int status = 0;                              // 0: the connection ended before there was one
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;                            // chunks put together
    bool whole = false;                          // by its length, or up to the last chunk
};

class LoopbackClient {
  public:
    explicit LoopbackClient(std::uint16_t port, int receive_buffer_bytes = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        if (receive_buffer_bytes > 0) {
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
        }
        const timeval patience{60, 0};  // then a test fails, instead of standing still
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            close();
            throw std::runtime_error("nothing listens there");
        }
    }
    ~LoopbackClient() { close(); }
    LoopbackClient(const LoopbackClient&) = delete;
    LoopbackClient& operator=(const LoopbackClient&) = delete;

    // False: the other side accepts no more.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    // The received text when `end` has come, or the connection's end.
    const std::string& read_until(std::string_view end) {
        while (received_.find(end) == std::string::npos && read_some()) {
        }
        return received_;
    }
    // Up to this many bytes at once; false: the connection has ended.
    bool read_some(std::size_t most = 65536) {
        std::array<char, 65536> bytes{};
        const ssize_t n = ::recv(socket_, bytes.data(), std::min(most, bytes.size()), 0);
        if (n > 0) received_.append(bytes.data(), static_cast<std::size_t>(n));
        return n > 0;
    }
    HttpResponse read_response() {
        while (read_some()) {
        }
        return parse(received_);
    }
    // The other side reads an end, and can still answer.
    void end_sending() { ::shutdown(socket_, SHUT_WR); }
    // At once, without a word.
    void close() {
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
    }

    static HttpResponse parse(const std::string& text) {
        HttpResponse response;
        const std::size_t head_end = text.find("\r\n\r\n");
        if (!text.starts_with("HTTP/1.1 ") || head_end == std::string::npos) return response;
        response.status = std::stoi(text.substr(9, 3));
        for (std::size_t at = text.find("\r\n") + 2; at < head_end;) {
            const std::size_t end = text.find("\r\n", at), colon = text.find(": ", at);
            std::string name = text.substr(at, colon - at);
            for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            response.headers[name] = text.substr(colon + 2, end - colon - 2);
            at = end + 2;
        }
        const std::string body = text.substr(head_end + 4);
        if (response.headers["transfer-encoding"] != "chunked") {
            response.body = body;
            const std::string length = response.headers["content-length"];
            response.whole = length.empty() || std::to_string(body.size()) == length;
            return response;
        }
        for (std::size_t at = 0; at < body.size();) {
            const std::size_t n = std::stoul(body.substr(at, body.find("\r\n", at) - at), nullptr, 16);
            at = body.find("\r\n", at) + 2;
            response.whole = n == 0;
            if (n == 0 || at + n + 2 > body.size()) break;
            response.body += body.substr(at, n);
            at += n + 2;
        }
        return response;
    }

  private:
    int socket_ = -1;
    std::string received_;
};

}  // namespace offstage::test
