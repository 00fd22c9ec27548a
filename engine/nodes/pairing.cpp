#include "engine/nodes/pairing.h"

#include <array>
#include <condition_variable>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/cluster/node_protocol.h"
#include "engine/cluster/pairing_words.h"
#include "engine/error.h"
#include "engine/nodes/call_status.h"
#include "engine/nodes/grpc_limits.h"
#include "engine/nodes/node.grpc.pb.h"
#include "engine/nodes/nodes_messages.h"
#include "engine/nodes/pinned_keys.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kNonceBytes = 32;
constexpr int kMostPairingBytes = 4096;
constexpr std::chrono::seconds kConnecting{5};
constexpr std::chrono::milliseconds kLookForStop{100};

std::string nonce() {
    std::array<unsigned char, kNonceBytes> bytes{};
    fill_random(bytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Every part has a fixed length, except the last.
std::string proof(const std::string& code, const char* role, const std::string& desktop_fingerprint,
                  const std::string& node_fingerprint, const std::string& desktop_nonce, const std::string& node_nonce,
                  const std::string& rest) {
    return message_authentication(code, std::string("offstage pairing 1\n") + role + "\n" + desktop_fingerprint +
                                            node_fingerprint + desktop_nonce + node_nonce + rest);
}
constexpr const char* kDesktopRole = "desktop";
constexpr const char* kNodeRole = "node   ";

std::string of_node(const std::string& name, std::uint32_t port) {
    return std::to_string(port) + "\n" + name;
}

// Lets any certificate pass, and keeps it: that of the connection's other end.
class KeepingVerifier final : public grpc::experimental::ExternalCertificateVerifier {
  public:
    struct Kept {
        std::mutex mutex;
        std::string certificate_pem;
    };
    explicit KeepingVerifier(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
    bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
                std::function<void(grpc::Status)> /*callback*/, grpc::Status* status) override {
        const std::string certificate(request->peer_cert().data(), request->peer_cert().size());
        const std::scoped_lock lock(kept_->mutex);
        // The proofs are made for one certificate: reject a connection with another one.
        if (kept_->certificate_pem.empty()) kept_->certificate_pem = certificate;
        *status = kept_->certificate_pem == certificate
                      ? grpc::Status()
                      : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "another certificate");
        return true;
    }
    void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

  private:
    std::shared_ptr<Kept> kept_;
};

}  // namespace

// ---------------------------------------------------------------- the node's side
class PairingOffer::Service final : public node::Pairing::Service {
  public:
    Service(std::filesystem::path folder, NodeIdentity identity, std::string code, int service_port, std::string name)
        : folder_(std::move(folder)),
          identity_(std::move(identity)),
          code_(std::move(code)),
          service_port_(service_port),
          name_(std::move(name)) {}

    grpc::Status Pair(grpc::ServerContext* context, const node::PairRequest* request, node::PairReply* reply) override {
        const grpc::Status refused(grpc::StatusCode::PERMISSION_DENIED, "refused");
        const auto certificates = context->auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
        if (certificates.size() != 1) return refused;
        const std::string certificate(certificates[0].data(), certificates[0].size());
        const std::string fingerprint = certificate_fingerprint(certificate);
        const std::scoped_lock lock(mutex_);
        if (paired_ || failure_ || n_tries_ >= kMostPairingTries) return refused;
        ++n_tries_;
        const std::string expected =
            proof(code_, kDesktopRole, fingerprint, identity_.fingerprint, request->nonce(), "", request->name());
        if (fingerprint.empty() || request->nonce().size() != kNonceBytes ||
            !is_same_proof(request->proof(), expected)) {
            if (n_tries_ >= kMostPairingTries) {
                failure_.emplace(ErrorKind::kInvalidInput, messages::pairing_spent(kMostPairingTries));
            }
            changed_.notify_all();
            return refused;
        }
        try {
            PairedPeers peers(folder_);
            paired_ = peers.add({printable(request->name(), kMostNameBytes), "", certificate, fingerprint});
        } catch (const Error& error) {
            failure_ = error;
            changed_.notify_all();
            return refused;
        }
        const auto port = static_cast<std::uint32_t>(service_port_);
        reply->set_nonce(nonce());
        reply->set_name(name_);
        reply->set_port(port);
        reply->set_proof(proof(code_, kNodeRole, fingerprint, identity_.fingerprint, request->nonce(), reply->nonce(),
                               of_node(name_, port)));
        changed_.notify_all();
        return grpc::Status::OK;
    }

    PairedPeer wait(std::chrono::seconds lifetime, const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        const bool decided = changed_.wait_for(lock, stop, lifetime, [&] { return paired_ || failure_; });
        if (paired_) return *paired_;
        if (failure_) throw Error(*failure_);
        if (!decided && !stop.stop_requested()) {
            throw Error(ErrorKind::kInvalidInput, messages::pairing_expired(lifetime.count() / 60));
        }
        throw Error(ErrorKind::kCancelled, messages::pairing_expired(lifetime.count() / 60));
    }

    const std::string& code() const { return code_; }

  private:
    const std::filesystem::path folder_;
    const NodeIdentity identity_;
    const std::string code_;
    const int service_port_;
    const std::string name_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    int n_tries_ = 0;
    std::optional<PairedPeer> paired_;
    std::optional<Error> failure_;
};

struct PairingOffer::State {
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;
    int port = 0;
};

PairingOffer::PairingOffer(std::filesystem::path folder, const std::string& address, int service_port, std::string name)
    : state_(std::make_unique<State>()) {
    const NodeIdentity identity = read_or_make_identity(folder);
    std::array<unsigned char, 2 * kPairingWords> random{};
    fill_random(random);
    state_->service = std::make_unique<Service>(std::move(folder), identity, pairing_code(random), service_port,
                                                printable(name, kMostNameBytes));
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    options.pem_key_cert_pairs.push_back({identity.key_pem, identity.certificate_pem});
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::SslServerCredentials(options), &state_->port);
    builder.RegisterService(state_->service.get());
    builder.SetMaxReceiveMessageSize(kMostPairingBytes);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    grpc::ResourceQuota quota("pairing");
    quota.SetMaxThreads(8);
    builder.SetResourceQuota(quota);
    state_->server = builder.BuildAndStart();
    if (state_->server == nullptr || state_->port == 0) {
        throw Error(ErrorKind::kInvalidInput, messages::node_cannot_listen(printable(address, 256)));
    }
}

PairingOffer::~PairingOffer() {
    if (state_->server == nullptr) return;
    // First sends the reply to a machine that has just been paired.
    state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    state_->server->Wait();
}

const std::string& PairingOffer::code() const {
    return state_->service->code();
}

int PairingOffer::port() const {
    return state_->port;
}

PairedPeer PairingOffer::wait(std::chrono::seconds lifetime, const std::stop_token& stop) {
    return state_->service->wait(lifetime, stop);
}

// ---------------------------------------------------------------- the desktop's side
PairedPeer pair_with_node(const std::filesystem::path& folder, const std::string& address, const std::string& code,
                          const std::string& name, const std::stop_token& stop) {
    const std::string words = normal_pairing_code(code);
    const NodeIdentity own = read_or_make_identity(folder);
    PairedPeers peers(folder);
    const auto kept = std::make_shared<KeepingVerifier::Kept>();
    grpc::ChannelArguments arguments = direct_arguments();
    arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMostPairingBytes);
    const auto keys =
        channel_credentials(own, grpc::experimental::ExternalCertificateVerifier::Create<KeepingVerifier>(kept));
    const auto channel = grpc::CreateCustomChannel(address, keys, arguments);
    const std::string shown_address = printable(address, 256);
    const auto until = std::chrono::system_clock::now() + kConnecting;
    const auto look_again = [&] { return std::min(until, std::chrono::system_clock::now() + kLookForStop); };
    while (!stop.stop_requested() && !channel->WaitForConnected(look_again())) {
        if (std::chrono::system_clock::now() < until) continue;
        throw Error(ErrorKind::kNotFound,
                    messages::pairing_not_reached(shown_address, Message(messages::call_no_answer)));
    }
    std::string node_certificate;
    {
        const std::scoped_lock lock(kept->mutex);
        node_certificate = kept->certificate_pem;
    }
    const std::string node_fingerprint = certificate_fingerprint(node_certificate);
    node::PairRequest request;
    request.set_nonce(nonce());
    request.set_name(printable(name_of_this_machine(), kMostNameBytes));
    request.set_proof(
        proof(words, kDesktopRole, own.fingerprint, node_fingerprint, request.nonce(), "", request.name()));
    node::PairReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kConnecting);
    const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
    const grpc::Status status = node::Pairing::NewStub(channel)->Pair(&context, request, &reply);
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::pairing_cancelled);
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
        throw Error(ErrorKind::kInvalidInput, messages::pairing_refused(shown_address));
    }
    if (!status.ok()) {
        throw Error(ErrorKind::kNotFound, messages::pairing_not_reached(shown_address, reason_of(status)));
    }
    const std::string expected = proof(words, kNodeRole, own.fingerprint, node_fingerprint, request.nonce(),
                                       reply.nonce(), of_node(reply.name(), reply.port()));
    if (node_fingerprint.empty() || reply.nonce().size() != kNonceBytes || reply.port() < 1 || reply.port() > 65535 ||
        !is_same_proof(reply.proof(), expected)) {
        throw Error(ErrorKind::kInvalidInput, messages::pairing_not_proven(shown_address));
    }
    const std::string host = address.substr(0, address.rfind(':'));
    return peers.add({name.empty() ? printable(reply.name(), kMostNameBytes) : printable(name, kMostNameBytes),
                      host + ":" + std::to_string(reply.port()), node_certificate, node_fingerprint});
}

}  // namespace offstage::engine
