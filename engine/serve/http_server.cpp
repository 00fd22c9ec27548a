#include "engine/serve/http_server.h"

// The only file that uses the library.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <httplib.h>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/error.h"
#include "engine/serve/http_socket.h"
#include "engine/serve/serve_messages.h"

namespace offstage::engine {
namespace {

// A socket as httplib reads and writes it; its own reading is bounded in neither size nor
// time.
class Connection final : public httplib::Stream, public HttpSocket {
  public:
    using HttpSocket::HttpSocket;

    HttpRequest& request() { return request_; }
    int status = 0;         // of the reply; 0: none
    bool is_whole = false;  // the request was read to its end
    bool is_let_in = false;

    // ---- Stream
    bool is_readable() const override { return has_input(); }
    bool is_writable() const override { return can_send(); }
    ssize_t read(char* to, std::size_t size) override { return receive(to, size); }
    // httplib has no phrase for 499 and writes that of 500, which is as long as this one.
    ssize_t write(const char* from, std::size_t size) override {
        constexpr std::string_view kHead = "HTTP/1.1 499 ", kPhrase = "Client Closed Request";
        std::string own;
        if (std::string_view(from, size).starts_with(kHead) && size > kHead.size() + kPhrase.size()) {
            from = own.assign(from, size).replace(kHead.size(), kPhrase.size(), kPhrase).data();
        }
        return send(from, size);
    }
    void get_remote_ip_and_port(std::string&, int&) const override {}  // not used
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return descriptor(); }

  private:
    HttpRequest request_;
};

// The connections being read or answered: admitted ones, up to a number, and the others,
// in the order of their arrival.
class Places {
  private:
    struct Place {
        Connection* connection = nullptr;  // nullptr: no thread has begun it
        bool is_cut_off = false;
    };

  public:
    using Ticket = std::list<Place>::iterator;

    explicit Places(std::size_t most) : most_(most) {}

    Ticket arrive() {
        const std::lock_guard lock(mutex_);
        return others_.insert(others_.end(), Place());
    }
    void begin(Ticket ticket, Connection& connection) {
        const std::lock_guard lock(mutex_);
        ticket->connection = &connection;
        if (ticket->is_cut_off) connection.cut_off();
    }
    // The connection keeps its place from now on. False: there are too many of these.
    bool let_in(Ticket ticket, Connection& connection) {
        const std::lock_guard lock(mutex_);
        if (connection.is_let_in) return true;
        if (n_let_in_ == most_) return false;
        ++n_let_in_;
        connection.is_let_in = true;
        others_.erase(ticket);
        return true;
    }
    void end(Ticket ticket, const Connection& connection) {
        const std::lock_guard lock(mutex_);
        if (connection.is_let_in) {
            --n_let_in_;
        } else {
            others_.erase(ticket);
        }
    }
    // Cuts off the oldest of the others that is not cut off already.
    void cut_off_oldest() {
        const std::lock_guard lock(mutex_);
        const auto oldest =
            std::find_if(others_.begin(), others_.end(), [](const Place& place) { return !place.is_cut_off; });
        if (oldest == others_.end()) return;
        oldest->is_cut_off = true;
        if (oldest->connection != nullptr) oldest->connection->cut_off();
    }

  private:
    const std::size_t most_;
    std::mutex mutex_;
    std::list<Place> others_;
    std::size_t n_let_in_ = 0;
};

// The connection of this thread: httplib's callbacks do not pass it.
thread_local Connection* serving = nullptr;
thread_local Places::Ticket its_ticket;
// This is the listening thread: there are too many connections.
thread_local bool refusing = false;

// A thread for each connection, for twice as many as may be let in; threads wait for
// further ones, a while.
class ConnectionThreads final : public httplib::TaskQueue {
  public:
    ConnectionThreads(const HttpLimits& limits, Places& places)
        : most_(2 * limits.connections), most_idle_(limits.thread_ms), places_(places) {}

    void enqueue(std::function<void()> task) override {
        const bool has_idle = has_thread();
        if (!has_idle) places_.cut_off_oldest();
        {
            const std::lock_guard lock(mutex_);
            // The thread of the cut-off connection takes it in a moment.
            if (has_idle || tasks_.size() < most_) {
                tasks_.push_back([task = std::move(task), ticket = places_.arrive()] {
                    its_ticket = ticket;
                    task();
                });
                task = nullptr;
            }
        }
        if (task == nullptr) {
            changed_.notify_one();
            return;
        }
        refusing = true;
        task();
        refusing = false;
    }
    void shutdown() override {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        changed_.notify_all();
        for (std::list<std::thread>* list : {&threads_, &ended_}) {
            for (std::thread& thread : *list) thread.join();
        }
    }

  private:
    // For one more task; makes a thread if none waits.
    bool has_thread() {
        const std::lock_guard lock(mutex_);
        for (std::thread& thread : ended_) thread.join();  // in a moment
        ended_.clear();
        if (tasks_.size() < n_idle_) return true;
        if (threads_.size() == most_) return false;
        threads_.emplace_back();
        const auto self = std::prev(threads_.end());
        try {
            *self = std::thread([this, self] { work(self); });
        } catch (const std::system_error&) {
            threads_.erase(self);
            return false;
        }
        ++n_idle_;
        return true;
    }
    void work(std::list<std::thread>::iterator self) {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait_for(lock, most_idle_, [this] { return ends_ || !tasks_.empty(); });
            if (tasks_.empty()) {
                if (ends_) return;
                --n_idle_;
                ended_.splice(ended_.end(), threads_, self);
                return;
            }
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            --n_idle_;
            lock.unlock();
            task();
            lock.lock();
            ++n_idle_;
        }
    }

    const std::size_t most_;
    const std::chrono::milliseconds most_idle_;
    Places& places_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::list<std::thread> threads_, ended_;
    std::size_t n_idle_ = 0;  // threads that wait, those with a task in tasks_ among them
    bool ends_ = false;
};

std::string lower_case(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

HttpRequest head_of(const httplib::Request& request) {
    HttpRequest head;
    head.method = request.method;
    head.path = request.path;
    // httplib adds these to the client's headers.
    constexpr std::array<std::string_view, 4> kOwn = {"remote_addr", "remote_port", "local_addr", "local_port"};
    for (const auto& [name, value] : request.headers) {
        std::string key = lower_case(name);
        if (std::find(kOwn.begin(), kOwn.end(), key) == kOwn.end()) head.headers.emplace(std::move(key), value);
    }
    return head;
}

void put(HttpReply reply, httplib::Response& response) {
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    if (reply.stream) {
        response.set_chunked_content_provider(
            reply.content_type, [stream = std::move(reply.stream)](std::size_t, httplib::DataSink& sink) {
                bool open = true;
                stream([&](std::string_view piece) {
                    // An empty piece would end the body.
                    open = open && (piece.empty() || (sink.write(piece.data(), piece.size()) && sink.is_writable()));
                    return open;
                });
                if (open) sink.done();
                return open;
            });
    } else if (!reply.body.empty()) {
        response.set_content(reply.body, reply.content_type);
    }
}

struct Refusal {
    int status = 0;
    std::string sentence;
};

// A problem of a POST request's body that its headers show, before it is read.
std::optional<Refusal> body_problem(const HttpRequest& head, std::size_t most_bytes) {
    const std::string length = head.header("content-length");
    const std::string coding = lower_case(head.header("transfer-encoding"));
    const std::string content = lower_case(head.header("content-encoding"));
    if (!content.empty() && content != "identity") {
        return Refusal{415, "The body is compressed (Content-Encoding: " + content + "); send it as it is."};
    }
    if (!coding.empty() && coding != "chunked") {
        return Refusal{400, "Transfer-Encoding is " + coding + "; expected chunked, or none."};
    }
    if (!coding.empty() && !length.empty()) {
        return Refusal{400, "Content-Length and Transfer-Encoding contradict each other; send one of them."};
    }
    if (!coding.empty()) return std::nullopt;
    if (length.empty()) return Refusal{411, "Content-Length is missing; say how long the body is."};
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), n);
    if (end != length.data() + length.size() || error == std::errc::invalid_argument) {
        return Refusal{400, "Content-Length is no number."};
    }
    if (error != std::errc() || n > most_bytes) {
        return Refusal{413, "The body has " + length + " bytes; expected at most " + std::to_string(most_bytes) + "."};
    }
    return std::nullopt;
}

// Binds like httplib, but without sharing the port with a second program.
void set_listening_options(socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

}  // namespace

std::string HttpRequest::header(std::string_view lower_case_name) const {
    std::string all;
    const auto [begin, end] = headers.equal_range(std::string(lower_case_name));
    for (auto it = begin; it != end; ++it) all += (all.empty() ? "" : ", ") + it->second;
    return all;
}

class HttpServer::Implementation final : public httplib::Server {
  public:
    Implementation(HttpHandler& handler, const HttpLimits& limits)
        : handler_(handler), limits_(limits), places_(limits.connections) {
        new_task_queue = [this] { return new ConnectionThreads(limits_, places_); };
        set_socket_options(set_listening_options);
        set_tcp_nodelay(true);
        set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
            return begin(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
        });
        Post(".*", [this](const httplib::Request&, httplib::Response& response, const httplib::ContentReader& body) {
            finish(response, body);
        });
        // A client that waits for "100 Continue" is refused before it sends the body.
        set_expect_100_continue_handler([this](const httplib::Request& request, httplib::Response& response) {
            return begin(request, response) ? response.status : 100;
        });
        set_exception_handler([this](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
            reply(error(500, "Something went wrong inside Offstage."), response);
        });
        set_error_handler([this](const httplib::Request&, httplib::Response& response) {
            if (!response.body.empty() || response.content_provider_) return;
            // Refusals by httplib itself.
            const bool long_path = response.status == 414;
            reply(error(response.status, long_path ? "The path is too long." : "The request is no HTTP/1.1."),
                  response);
        });
    }
    ~Implementation() override { end(); }

    ListenAddress take(const ListenAddress& address) {
        errno = 0;
        const int port = address.port != 0
                             ? (bind_to_port(address.host, address.port, AI_NUMERICHOST) ? address.port : -1)
                             : bind_to_any_port(address.host, AI_NUMERICHOST);
        if (port > 0) {
            ::listen(svr_sock_, SOMAXCONN);  // httplib lets five connections wait to be accepted
            return {address.host, static_cast<std::uint16_t>(port)};
        }
        const int code = errno;
        Message remedy = messages::choose_another_address;
        if (code == EADDRINUSE) remedy = messages::address_in_use;
        if (code == EADDRNOTAVAIL) remedy = messages::address_not_here;
        if (code == EACCES) remedy = messages::port_not_allowed;
        throw Error(ErrorKind::kInvalidInput, messages::cannot_listen(address.text(), remedy), std::strerror(code));
    }

    void begin_listening() {
        // Signals go to the threads that handle them.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        listener_ = std::thread([this] { listen_after_bind(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        while (!is_running()) std::this_thread::yield();  // stop() does nothing before
    }

    void end() {
        stop_event_.set();
        if (listener_.joinable()) {
            stop();
            listener_.join();
        } else if (const socket_t socket = svr_sock_.exchange(INVALID_SOCKET); socket != INVALID_SOCKET) {
            ::close(socket);  // bound, and never started
        }
    }

  private:
    // One connection, one request.
    bool process_and_close_socket(socket_t socket) override {
        Connection connection(socket, limits_, stop_event_);
        serving = &connection;
        try {
            if (refusing) {
                // No waiting here: only what has come already is thrown away.
                std::array<char, 65536> discarded;
                static_cast<void>(!::recv(socket, discarded.data(), discarded.size(), MSG_DONTWAIT));
                send_refusal(connection, 503, kTooMany);
            } else {
                places_.begin(its_ticket, connection);
                serve(connection);
            }
        } catch (const std::exception&) {  // no memory for it: the client sees a connection that ends
        }
        if (!refusing) places_.end(its_ticket, connection);
        serving = nullptr;
        ::close(socket);
        return true;
    }

    void serve(Connection& connection) {
        bool closed = false;
        process_request(connection, true, closed, [](httplib::Request& request) { request.ranges.clear(); });
        if (connection.problem() == Connection::Problem::kHeadTooLarge) {
            send_refusal(connection, 431,
                         "The headers have more than " + std::to_string(limits_.head_bytes) + " bytes.");
        } else if (connection.problem() == Connection::Problem::kTooSlow) {
            send_refusal(connection, 408, "The request did not come in time.");
        } else if (connection.any_read()) {
            handler_.replied(connection.request().path, connection.status);
        }
        if (!connection.is_whole) connection.linger();
    }

    // Without httplib, which has given up this connection.
    void send_refusal(Connection& connection, int status, const std::string& sentence) {
        const HttpReply reply = handler_.error(status, sentence, connection.request());
        std::string text = "HTTP/1.1 " + std::to_string(status) +
                           " Refused\r\nConnection: close\r\nContent-Type: " + reply.content_type +
                           "\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n";
        for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
        connection.send_all(text + "\r\n" + reply.body);
        handler_.replied(connection.request().path, status);
    }

    HttpReply error(int status, const std::string& sentence) {
        return handler_.error(status, sentence, serving->request());
    }

    void reply(HttpReply reply, httplib::Response& response) {
        serving->status = reply.status;
        put(std::move(reply), response);
    }

    // True: answered. Called twice where the client waits for "100 Continue".
    bool begin(const httplib::Request& request, httplib::Response& response) {
        serving->end_head();
        HttpRequest& head = serving->request() = head_of(request);
        serving->is_whole = head.method == "GET" || head.method == "HEAD" || head.method == "OPTIONS";
        if (std::optional<HttpReply> refusal = handler_.refuse(head)) {
            reply(std::move(*refusal), response);
            return true;
        }
        if (!places_.let_in(its_ticket, *serving)) {
            reply(error(503, kTooMany), response);
            return true;
        }
        if (head.method != "POST") {
            reply(handler_.answer(head, *serving), response);
            return true;
        }
        if (const std::optional<Refusal> problem = body_problem(head, limits_.body_bytes)) {
            reply(error(problem->status, problem->sentence), response);
            return true;
        }
        return false;
    }

    void finish(httplib::Response& response, const httplib::ContentReader& read_body) {
        std::string& body = serving->request().body;
        bool too_large = false;
        const bool whole = read_body([&](const char* bytes, std::size_t n) {
            too_large = body.size() + n > limits_.body_bytes;
            if (!too_large) body.append(bytes, n);
            return !too_large;
        });
        if (too_large) {
            reply(
                error(413, "The body is too large; expected at most " + std::to_string(limits_.body_bytes) + " bytes."),
                response);
        } else if (!whole) {
            reply(error(400, "The body ended before it was whole."), response);
        } else {
            serving->is_whole = true;
            reply(handler_.answer(serving->request(), *serving), response);
        }
    }

    static constexpr const char* kTooMany = "Too many connections are open; try again.";

    HttpHandler& handler_;
    const HttpLimits limits_;
    Places places_;
    EventFile stop_event_;
    std::thread listener_;
};

HttpServer::HttpServer(HttpHandler& handler, const HttpLimits& limits)
    : implementation_(std::make_unique<Implementation>(handler, limits)) {}

HttpServer::~HttpServer() = default;

ListenAddress HttpServer::bind(const ListenAddress& address) {
    return implementation_->take(address);
}

void HttpServer::start() {
    implementation_->begin_listening();
}

void HttpServer::stop() {
    implementation_->end();
}

}  // namespace offstage::engine
