#pragma once
// HTTP/1.1 on one address, without any meaning: the HttpHandler decides about access and
// answers.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/listen_address.h"

namespace offstage::engine {

struct HttpLimits {
    std::size_t head_bytes = std::size_t{32} << 10;  // request line and headers
    std::size_t body_bytes = std::size_t{8} << 20;
    // Limit of simultaneous connections that HttpHandler::refuse() accepted; further ones
    // are answered 503. As many others are read beside them: a further one replaces the
    // oldest.
    std::size_t connections = 64;
    // Milliseconds: for the head; for the body; without any byte written to a client that
    // does not read.
    int head_ms = 5'000, body_ms = 60'000, write_ms = 30'000;
    int thread_ms = 10'000;  // after which a thread without a connection ends
};

struct HttpRequest {
    std::string method;                               // "GET"
    std::string path;                                 // decoded, without what follows '?'
    std::multimap<std::string, std::string> headers;  // names in lower case
    std::string body;

    // The value of a header that is there once; empty: not there. Twice: "a, b".
    std::string header(std::string_view lower_case_name) const;
};

struct HttpReply {
    using Headers = std::vector<std::pair<std::string, std::string>>;
    // Writes a piece of the body; false: the client is gone, or the server stops.
    using Write = std::function<bool(std::string_view piece)>;

    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    Headers headers;
    std::function<void(const Write& write)> stream;  // writes the body in the place of `body`, as chunks

    HttpReply& with(std::string name, std::string value) {
        headers.emplace_back(std::move(name), std::move(value));
        return *this;
    }
};

// The connection of a request, while it is answered. One thread, the connection's, except
// for the function that waker() returns.
class HttpClient {
  public:
    virtual ~HttpClient() = default;
    // Any thread, even after this object is gone: ends the running wait(), or the next
    // one.
    virtual std::function<void()> waker() = 0;
    enum class Wait { kWoken, kNothing, kEnds };
    // Waits until it is woken, or so many milliseconds (-1: no limit). kEnds: the client
    // closed the connection, or the server stops.
    virtual Wait wait(int ms) = 0;
    virtual bool server_stops() const = 0;
};

// Called by the connections' threads, several at a time.
class HttpHandler {
  public:
    virtual ~HttpHandler() = default;
    // After the head of a request was read, before its body is: a reply that refuses it,
    // or nothing. Only POST requests have a body; it is not read where they are refused.
    virtual std::optional<HttpReply> refuse(const HttpRequest& head) = 0;
    virtual HttpReply answer(const HttpRequest& request, HttpClient& client) = 0;
    // The reply's body for refusals of this file: a malformed request, one that is too
    // large, too many connections.
    virtual HttpReply error(int status, const std::string& sentence, const HttpRequest& head) = 0;
    // After each reply; `path` may be empty where the request could not be read.
    virtual void replied(const std::string& path, int status) = 0;
};

// Listens on one address. Each connection has a thread and carries one request. Requests
// are read within HttpLimits, for any client input; unread input of a refused request is
// discarded for a moment, so that the client can read the reason. Clients that
// HttpHandler::refuse() rejects cannot keep others out, however many connections they
// open.
class HttpServer {
  public:
    HttpServer(HttpHandler& handler, const HttpLimits& limits);
    ~HttpServer();  // stops
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Binds the address. Returns it with the port. Throws Error (kInvalidInput: in use,
    // not this computer's, not permitted).
    ListenAddress bind(const ListenAddress& address);
    // From now on connections are answered. Once, after bind().
    void start();
    // Ends running answers (HttpClient::wait() returns kEnds); returns when all threads
    // have ended.
    void stop();

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace offstage::engine
