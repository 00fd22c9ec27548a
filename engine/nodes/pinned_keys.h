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

// Ends a TLS handshake in which the other end presents a key that is not admitted. The
// handshake itself proves that it has that key; no authority signs anything, so nothing
// else is checked.
class PinnedKeys final : public grpc::experimental::ExternalCertificateVerifier {
  public:
    // Who is admitted, by fingerprints; any thread. May be closed while handshakes go on.
    class Admission {
      public:
        explicit Admission(std::function<bool(const std::string& fingerprint)> admits) : admits_(std::move(admits)) {}
        bool admits(const std::string& fingerprint) const;
        void close();  // admits no key any more; after the return, the function is not called again

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

// The certificate that a machine presents at either end of a connection.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> own_certificate(const NodeIdentity& own);
// For the connecting end; the verifier alone decides about the other end, not its
// certificate's contents.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(
    const NodeIdentity& own, const std::shared_ptr<grpc::experimental::CertificateVerifier>& verifier);

}  // namespace offstage::engine
