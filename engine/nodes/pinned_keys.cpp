#include "engine/nodes/pinned_keys.h"

#include "engine/nodes/node_identity.h"

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

}  // namespace offstage::engine
