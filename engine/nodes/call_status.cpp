#include "engine/nodes/call_status.h"

#include <array>
#include <string>
#include <string_view>

#include "engine/cluster/node_messages.h"
#include "engine/nodes/nodes_messages.h"

namespace offstage::engine {
namespace {

// Words in gRPC's text of a connection that cannot be made, or has ended. The status code
// is the same for all of them.
struct Cause {
    std::string_view words;
    const MessageCode<0>& reason;
};
const std::array kCauses = {
    Cause{"Connection refused", messages::call_nothing_listens},
    Cause{"DNS resolution failed", messages::call_name_unknown},
    Cause{"Name or service not known", messages::call_name_unknown},
    Cause{"No route to host", messages::call_no_way_there},
    Cause{"Network is unreachable", messages::call_no_way_there},
    Cause{"andshake", messages::call_other_key},
    Cause{"ertificate", messages::call_other_key},
    Cause{"imed out", messages::call_no_answer},
    Cause{"imeout", messages::call_no_answer},
    Cause{"Socket closed", messages::node_link_ended},
    Cause{"Connection reset", messages::node_link_ended},
    Cause{"Broken pipe", messages::node_link_ended},
    Cause{"GOAWAY", messages::node_link_ended},
};

bool never_connected(const grpc::Status& status) {
    return status.error_message().find("failed to connect") != std::string::npos;
}

}  // namespace

Message reason_of(const grpc::Status& status) {
    switch (status.error_code()) {
        case grpc::StatusCode::DEADLINE_EXCEEDED:
            return messages::call_no_answer;
        case grpc::StatusCode::UNAUTHENTICATED:
        case grpc::StatusCode::PERMISSION_DENIED:
            return messages::call_other_key;
        case grpc::StatusCode::UNIMPLEMENTED:
            return messages::call_other_program;
        case grpc::StatusCode::RESOURCE_EXHAUSTED:
            return messages::call_message_too_large;
        case grpc::StatusCode::UNAVAILABLE:
        case grpc::StatusCode::UNKNOWN:
        case grpc::StatusCode::INTERNAL:
            for (const Cause& cause : kCauses) {
                if (status.error_message().find(cause.words) == std::string::npos) continue;
                // With TLS 1.3 a side learns after its own handshake that the other
                // refuses its key.
                return &cause.reason == &messages::node_link_ended && never_connected(status) ? messages::call_other_key
                                                                                              : cause.reason;
            }
            return status.error_code() == grpc::StatusCode::UNAVAILABLE ? Message(messages::call_not_connected)
                                                                        : Message(messages::node_link_ended);
        default:
            return messages::node_link_ended;
    }
}

}  // namespace offstage::engine
