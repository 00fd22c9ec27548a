#include "engine/nodes/node_server.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/nodes/grpc_limits.h"
#include "engine/nodes/node.grpc.pb.h"
#include "engine/nodes/node_wire.h"
#include "engine/nodes/nodes_messages.h"
#include "engine/nodes/paired_peers.h"
#include "engine/nodes/pinned_keys.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostQueuedBytes = 2 * kMostMessageBytes;
constexpr std::size_t kMostWrittenAtOnce = std::size_t{64} << 10;  // bytes; by the thread that reads requests
constexpr int kMostServingThreads = 64;
constexpr std::chrono::milliseconds kRemovalPoll{100};
constexpr std::chrono::milliseconds kRefusalTime{300};  // so that the sentence is sent before the link is cut

using Stream = grpc::ServerReaderWriter<node::FromNode, node::ToNode>;

std::size_t bytes_of(const FromNode& message) {
    if (const auto* reply = std::get_if<NodeReply>(&message)) return reply->outputs.size() + 64;
    if (const auto* outputs = std::get_if<NodeOutputs>(&message)) return outputs->outputs.size() + 64;
    if (const auto* pong = std::get_if<NodePong>(&message)) return pong->payload.size() + 64;
    if (const auto* holdings = std::get_if<NodeHoldings>(&message)) {
        return 16 * (holdings->held.size() + holdings->gone.size()) + 64;
    }
    return 64;
}

// Messages to a desktop. push() leaves them to a separate thread: a desktop that does not
// read delays only its own requests. write() is for threads that work for that desktop
// alone: if nothing else is waiting they write the message themselves, which saves waking
// a thread for every message.
class Outgoing {
  public:
    explicit Outgoing(Stream& stream) : stream_(stream), thread_([this] { run(); }) {}
    ~Outgoing() { finish(); }

    void push(FromNode message) {
        const std::scoped_lock lock(mutex_);
        push_locked(std::move(message));
    }
    // May take as long as the desktop takes to read.
    void write(FromNode message) {
        std::unique_lock lock(mutex_);
        if (closed_ || finishing_ || writing_ || !queue_.empty()) {
            push_locked(std::move(message));
            return;
        }
        writing_ = true;
        lock.unlock();
        const bool written = stream_.Write(to_wire(message));
        lock.lock();
        writing_ = false;
        closed_ = closed_ || !written;
        if (closed_ || finishing_ || !queue_.empty()) changed_.notify_all();
    }
    // Until the queue has room again, or the connection has ended.
    void wait_for_room() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || bytes_ <= kMostQueuedBytes; });
    }
    // Waits until all pushed messages are written, the connection has ended, or the time
    // is over.
    void wait_until_written(std::chrono::milliseconds most) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, most, [&] { return closed_ || bytes_ == 0; });
    }
    // Writes the queued messages, as far as the connection accepts them, and ends.
    void finish() {
        {
            const std::scoped_lock lock(mutex_);
            finishing_ = true;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
    }

  private:
    void push_locked(FromNode message) {
        if (closed_) return;
        bytes_ += bytes_of(message);
        queue_.push_back(std::move(message));
        changed_.notify_all();
    }
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return !writing_ && (closed_ || finishing_ || !queue_.empty()); });
            if (closed_ || queue_.empty()) break;
            const FromNode message = std::move(queue_.front());
            queue_.pop_front();
            writing_ = true;
            lock.unlock();
            const bool written = stream_.Write(to_wire(message));
            lock.lock();
            writing_ = false;
            bytes_ -= bytes_of(message);
            if (!written) break;
            changed_.notify_all();
        }
        closed_ = true;
        changed_.notify_all();
    }

    Stream& stream_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<FromNode> queue_;
    std::size_t bytes_ = 0;
    bool writing_ = false, finishing_ = false, closed_ = false;
    std::thread thread_;  // last: it uses all the others
};

}  // namespace

class NodeServer::Service final : public node::Node::Service {
  public:
    Service(NodeExperts& experts, std::filesystem::path folder, std::function<void(const std::string&)> log)
        : experts_(experts),
          folder_(std::move(folder)),
          log_(std::move(log)),
          watch_([this](const std::stop_token& stop) { watch(stop); }) {}
    // No link is cut from now on.
    void stop_watching() {
        watch_.request_stop();
        if (watch_.joinable()) watch_.join();
    }

    // Whether a connection with this key passes its handshake; any thread.
    bool admits(const std::string& fingerprint) const {
        return name_of(fingerprint).has_value() || experts_.expects_peer(fingerprint);
    }

    grpc::Status Link(grpc::ServerContext* context, Stream* stream) override {
        // The handshake has rejected other keys; but a machine may have been removed
        // since its connection began.
        const std::string fingerprint = fingerprint_of(*context);
        const auto outgoing = std::make_shared<Outgoing>(*stream);
        // Before everything else, so that watch() cuts the connection if its machine is
        // removed from now on.
        OpenLink link(*this, {fingerprint, context, outgoing.get()});
        const std::optional<std::string> peer = name_of(fingerprint);
        if (!peer && experts_.expects_peer(fingerprint)) {
            link.be_of_node();
            return serve_peer(context, *stream, outgoing, fingerprint);
        }
        if (!peer) return {grpc::StatusCode::PERMISSION_DENIED, ""};
        const NodeExperts::Desktop desktop = greet(*stream, outgoing);
        if (desktop != 0) {
            log_(*peer + " connected");
            serve(*stream, *outgoing, desktop);
            experts_.close(desktop);
            log_(*peer + " disconnected");
        }
        outgoing->finish();
        return grpc::Status::OK;
    }

  private:
    struct OpenLinkEntry {
        std::string fingerprint;
        grpc::ServerContext* context = nullptr;
        Outgoing* outgoing = nullptr;
        bool is_node = false;  // else a desktop
    };
    // A connection that watch() may cut, while this object exists.
    class OpenLink {
      public:
        OpenLink(Service& service, OpenLinkEntry entry) : service_(service) {
            const std::scoped_lock lock(service_.links_mutex_);
            at_ = service_.links_.insert(service_.links_.end(), std::move(entry));
        }
        ~OpenLink() {
            const std::scoped_lock lock(service_.links_mutex_);
            service_.links_.erase(at_);
        }
        // It is another node's, and ends with that of the desktop which has named it.
        void be_of_node() {
            const std::scoped_lock lock(service_.links_mutex_);
            at_->is_node = true;
        }
        OpenLink(const OpenLink&) = delete;
        OpenLink& operator=(const OpenLink&) = delete;

      private:
        Service& service_;
        std::list<OpenLinkEntry>::iterator at_;
    };

    // Empty: there is none.
    static std::string fingerprint_of(const grpc::ServerContext& context) {
        const auto certificates = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
        if (certificates.size() != 1) return {};
        return certificate_fingerprint({certificates[0].data(), certificates[0].size()});
    }
    std::optional<std::string> name_of(const std::string& fingerprint) const {
        if (fingerprint.empty()) return {};
        try {
            const PairedPeers peers(folder_);
            if (!peers.trusts(fingerprint)) return {};
            return peers.find(fingerprint)->name;
        } catch (const Error& error) {
            log_(error.message().english());
            return {};
        }
    }

    // Cuts the links of desktops that are removed from the list while they are connected.
    void watch(const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any changed;
        std::unique_lock lock(mutex);
        std::filesystem::file_time_type read_at{};
        while (!stop.stop_requested()) {
            std::error_code failure;
            const auto written_at = std::filesystem::last_write_time(PairedPeers::list_file(folder_), failure);
            if (!failure && written_at != read_at) {
                read_at = written_at;
                cut_removed();
            }
            changed.wait_for(lock, stop, kRemovalPoll, [] { return false; });
        }
    }
    void cut_removed() {
        const std::scoped_lock lock(links_mutex_);
        try {
            const PairedPeers peers(folder_);
            for (const OpenLinkEntry& link : links_) {
                if (link.is_node || peers.trusts(link.fingerprint)) continue;
                log_(link.fingerprint.substr(0, 16) + " is no longer paired: its connection ends");
                link.outgoing->push(NodeRefusal{Message(messages::node_forgot_desktop).english()});
                link.outgoing->wait_until_written(kRefusalTime);
                link.context->TryCancel();
            }
        } catch (const Error& error) {
            log_(error.message().english());
        }
    }

    // Large answers go while the next request is computed.
    static void send(FromNode answer, Outgoing& outgoing) {
        if (bytes_of(answer) <= kMostWrittenAtOnce) {
            outgoing.write(std::move(answer));
        } else {
            outgoing.push(std::move(answer));
        }
    }

    // The first message other than pings must be a hello that the node accepts; 0: it is
    // not.
    NodeExperts::Desktop greet(Stream& stream, const std::shared_ptr<Outgoing>& outgoing) {
        node::ToNode wire;
        std::optional<ToNode> message;
        while (true) {
            if (!stream.Read(&wire)) return 0;
            message = from_wire(std::move(wire));
            auto* const ping = message ? std::get_if<NodePing>(&*message) : nullptr;
            if (ping == nullptr || !check(*ping).empty()) break;
            send(NodePong{ping->number, std::move(ping->payload), experts_.state()}, *outgoing);
            outgoing->wait_for_room();
        }
        const NodeHello* const hello = message ? std::get_if<NodeHello>(&*message) : nullptr;
        Message refusal = messages::node_wants_hello;
        // Messages of a step come from the thread that makes it.
        const auto deliver = [outgoing](FromNode what) {
            if (std::holds_alternative<NodeOutputs>(what) || std::holds_alternative<NodeStepped>(what)) {
                outgoing->write(std::move(what));
            } else {
                outgoing->push(std::move(what));
            }
        };
        const NodeExperts::Desktop desktop = hello == nullptr ? 0 : experts_.open(*hello, deliver, refusal);
        if (desktop == 0) outgoing->push(NodeRefusal{refusal.english()});
        return desktop;
    }

    // Another node, which a desktop has named: it greets as such, or gets nothing.
    grpc::Status serve_peer(grpc::ServerContext* context, Stream& stream, const std::shared_ptr<Outgoing>& outgoing,
                            const std::string& fingerprint) {
        node::ToNode wire;
        if (!stream.Read(&wire)) return grpc::Status::OK;
        const std::optional<ToNode> first = from_wire(std::move(wire));
        const NodePeerHello* const hello = first ? std::get_if<NodePeerHello>(&*first) : nullptr;
        if (hello == nullptr) return {grpc::StatusCode::PERMISSION_DENIED, ""};
        Message refusal;
        const std::shared_ptr<NodePeers> peers = experts_.open_peer(
            fingerprint, *hello,
            {[outgoing](FromNode what) { outgoing->push(std::move(what)); }, [context] { context->TryCancel(); }},
            refusal);
        while (peers != nullptr && refusal.empty() && stream.Read(&wire)) {
            std::optional<ToNode> message = from_wire(std::move(wire));
            refusal = message ? peers->receive(hello->link, std::move(*message)) : messages::node_message_empty;
            outgoing->wait_for_room();
        }
        if (!refusal.empty()) outgoing->push(NodeRefusal{refusal.english()});
        if (peers != nullptr) peers->close(hello->link);
        outgoing->finish();
        return grpc::Status::OK;
    }

    void serve(Stream& stream, Outgoing& outgoing, NodeExperts::Desktop desktop) {
        node::ToNode wire;
        while (stream.Read(&wire)) {
            std::optional<ToNode> message = from_wire(std::move(wire));
            Message wrong = messages::node_message_empty;
            if (message) wrong = answer(std::move(*message), outgoing, desktop);
            if (!wrong.empty()) {
                outgoing.push(NodeRefusal{wrong.english()});
                return;
            }
            outgoing.wait_for_room();
        }
    }

    Message answer(ToNode message, Outgoing& outgoing, NodeExperts::Desktop desktop) {
        if (auto* want = std::get_if<NodeWant>(&message)) return experts_.want(desktop, std::move(*want));
        if (const auto* request = std::get_if<NodeCompute>(&message)) {
            send(experts_.compute(desktop, *request), outgoing);
            return {};
        }
        if (auto* ping = std::get_if<NodePing>(&message)) {
            if (Message wrong = check(*ping); !wrong.empty()) return wrong;
            send(NodePong{ping->number, std::move(ping->payload), experts_.state()}, outgoing);
            return {};
        }
        if (std::holds_alternative<NodeHello>(message)) return messages::node_message_empty;  // a second one
        return experts_.follow(desktop, std::move(message));
    }

    NodeExperts& experts_;
    const std::filesystem::path folder_;
    const std::function<void(const std::string&)> log_;
    std::mutex links_mutex_;
    std::list<OpenLinkEntry> links_;
    std::jthread watch_;  // last: it uses all the others
};

struct NodeServer::State {
    NodeExperts& experts;
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;
    std::shared_ptr<PinnedKeys::Admission> admission;
    int port = 0;
};

NodeServer::NodeServer(NodeExperts& experts, const std::filesystem::path& folder, const std::string& address,
                       std::function<void(const std::string&)> log)
    : state_(new State{experts, std::make_unique<Service>(experts, folder, std::move(log)), {}, {}, 0}) {
    const NodeIdentity identity = read_or_make_identity(folder);
    grpc::experimental::TlsServerCredentialsOptions options(own_certificate(identity));
    options.watch_identity_key_cert_pairs();
    // Its key is what counts of a certificate: PinnedKeys.
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    state_->admission = std::make_shared<PinnedKeys::Admission>(
        [service = state_->service.get()](const std::string& fingerprint) { return service->admits(fingerprint); });
    options.set_certificate_verifier(PinnedKeys::verifier(state_->admission));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::experimental::TlsServerCredentials(options), &state_->port);
    builder.RegisterService(state_->service.get());
    set_common_limits([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 2);
    grpc::ResourceQuota quota("node");
    quota.SetMaxThreads(kMostServingThreads);
    builder.SetResourceQuota(quota);
    state_->server = builder.BuildAndStart();
    if (state_->server == nullptr || state_->port == 0) {
        throw Error(ErrorKind::kInvalidInput, messages::node_cannot_listen(printable(address, 256)));
    }
}

NodeServer::~NodeServer() {
    if (state_->server == nullptr) return;
    state_->service->stop_watching();
    state_->admission->close();
    state_->experts.drain();
    state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    state_->server->Wait();
}

int NodeServer::port() const {
    return state_->port;
}

void silence_grpc() {
    gpr_set_log_function([](gpr_log_func_args*) {});
    silence_protobuf();
}

}  // namespace offstage::engine
