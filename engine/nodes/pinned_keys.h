#pragma once

#include <functional>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

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

}  // namespace offstage::engine
