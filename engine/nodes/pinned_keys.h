#pragma once

#include <functional>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/nodes/node_identity.h"

namespace offstage::engine {

// Ends a TLS handshake in which the other end shows a key that is not admitted. That it has the key which it shows, the
// handshake proves; no authority signs anything, so that nothing else is asked for.
class PinnedKeys final : public grpc::experimental::ExternalCertificateVerifier {
  public:
    // Who is admitted, by fingerprints; any thread. May be closed while handshakes go on.
    class Admission {
      public:
        explicit Admission(std::function<bool(const std::string& fingerprint)> admits) : admits_(std::move(admits)) {}
        bool admits(const std::string& fingerprint) const;
        void close();  // nobody any more; when it has returned, the function is not called again

      private:
        mutable std::mutex mutex_;
        std::function<bool(const std::string&)> admits_;
    };

    explicit PinnedKeys(std::shared_ptr<Admission> admission) : admission_(std::move(admission)) {}
    bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
                std::function<void(grpc::Status)> callback, grpc::Status* status) override;
    void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

    static std::shared_ptr<grpc::experimental::CertificateVerifier> verifier(std::shared_ptr<Admission> admission);

  private:
    const std::shared_ptr<Admission> admission_;
};

// What a machine shows of itself at either end of a connection.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> own_certificate(const NodeIdentity& own);
// For who connects; the verifier alone decides about the other end, whatever its certificate says.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(
    const NodeIdentity& own, const std::shared_ptr<grpc::experimental::CertificateVerifier>& verifier);

}  // namespace offstage::engine
