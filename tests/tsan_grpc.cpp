// Describes to ThreadSanitizer what gRPC hands from one thread to another: gRPC's
// libraries are not instrumented, and much of their synchronisation is atomic operations
// inside, which ThreadSanitizer cannot see. Linked into programs that use gRPC, this file
// wraps gRPC's functions, and declares gRPC's guarantees:
// - work before an operation is started happens before the function that is called at its
//   end;
// - work before a verifier of certificates is given to gRPC happens before it is called;
// - calls of a verifier happen before it is destroyed.
// Nothing else is ordered by it: races between two operations under way, and between two
// calls of a verifier, are still found.
//
// Compiled without access control: the function called at an operation's end is a private
// one of a class of gRPC's.

#include <cstdlib>
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/support/callback_common.h>
#include <sanitizer/tsan_interface.h>

namespace {

using Tag = grpc_completion_queue_functor;
using Verifier = grpc_tls_certificate_verifier_external;

template <typename Function>
Function* of_grpc(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) std::abort();
    return reinterpret_cast<Function*>(found);
}

template <void (*Run)(Tag*, int)>
void run_after_start(Tag* tag, int ok) {
    __tsan_acquire(tag);
    Run(tag, ok);
}

template <void (*Run)(Tag*, int)>
bool order_if_it_runs(Tag& tag) {
    if (tag.functor_run == Run) tag.functor_run = run_after_start<Run>;
    return tag.functor_run == run_after_start<Run>;
}

Verifier functions_of_grpc{};  // one and the same for all verifiers

// Represents the calls of a verifier; its address represents its creation.
char* calls_of(void* verifier) {
    return static_cast<char*>(verifier) + 1;
}

int verify_after_creation(void* verifier, grpc_tls_custom_verification_check_request* request,
                          grpc_tls_on_custom_verification_check_done_cb done, void* argument, grpc_status_code* status,
                          char** error) {
    __tsan_acquire(verifier);
    const int decided = functions_of_grpc.verify(verifier, request, done, argument, status, error);
    __tsan_release(calls_of(verifier));
    return decided;
}

void destruct_after_calls(void* verifier) {
    __tsan_acquire(verifier);
    __tsan_acquire(calls_of(verifier));
    functions_of_grpc.destruct(verifier);
}

}  // namespace

extern "C" {

// A tag is an object that begins with the function to be called, or another object about
// which nothing is known.
grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t n_ops, void* tag, void* reserved) {
    static auto* const original = of_grpc<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
    auto* const called = static_cast<Tag*>(tag);
    if (called != nullptr && (order_if_it_runs<&grpc::internal::CallbackWithSuccessTag::StaticRun>(*called) ||
                              order_if_it_runs<&grpc::internal::CallbackWithStatusTag::StaticRun>(*called))) {
        __tsan_release(called);
    }
    return original(call, ops, n_ops, tag, reserved);
}

grpc_tls_certificate_verifier* grpc_tls_certificate_verifier_external_create(Verifier* verifier) {
    static auto* const original = of_grpc<decltype(grpc_tls_certificate_verifier_external_create)>(
        "grpc_tls_certificate_verifier_external_create");
    static const Verifier first = functions_of_grpc = *verifier;
    if (verifier->verify != first.verify || verifier->destruct != first.destruct) std::abort();
    verifier->verify = verify_after_creation;
    verifier->destruct = destruct_after_calls;
    __tsan_release(verifier->user_data);
    return original(verifier);
}

}  // extern "C"
