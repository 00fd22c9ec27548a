#include "engine/nodes/pinned_keys.h"

#include <grpcpp/security/tls_credentials_options.h>
#include <vector>

namespace offstage::engine {

bool PinnedKeys::Admission::admits(const std::string& fingerprint) const {
    const std::scoped_lock lock(mutex_);
    return !fingerprint.empty() && admits_ && admits_(fingerprint);
}

void PinnedKeys::Admission::close() {
    const std::scoped_lock lock(mutex_);
    admits_ = {};
}

// Decides at once, and so never calls back.
bool PinnedKeys::Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
                        std::function<void(grpc::Status)>, grpc::Status* status) {
    const std::string certificate(request->peer_cert().data(), request->peer_cert().size());
    *status = admission_->admits(certificate_fingerprint(certificate))
                  ? grpc::Status()
                  : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "not paired");
    return true;
}

std::shared_ptr<grpc::experimental::CertificateVerifier> PinnedKeys::verifier(std::shared_ptr<Admission> admission) {
    return ExternalCertificateVerifier::Create<PinnedKeys>(std::move(admission));
}

std::shared_ptr<grpc::experimental::CertificateProviderInterface> own_certificate(const NodeIdentity& own) {
    return std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
        std::vector<grpc::experimental::IdentityKeyCertPair>{{own.key_pem, own.certificate_pem}});
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(
    const NodeIdentity& own, const std::shared_ptr<grpc::experimental::CertificateVerifier>& verifier) {
    grpc::experimental::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(own_certificate(own));
    options.watch_identity_key_cert_pairs();
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(verifier);
    return grpc::experimental::TlsCredentials(options);
}

}  // namespace offstage::engine
