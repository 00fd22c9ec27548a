#pragma once
// Settings that both ends of a connection share, apart from the messages.

#include <grpcpp/grpcpp.h>

#include "engine/cluster/node_protocol.h"
#include "engine/nodes/node_identity.h"

namespace offstage::engine {

// A peer that answers no ping for this time counts as gone, and its connection ends.
inline constexpr int kKeepaliveMs = 10'000, kKeepaliveTimeoutMs = 10'000;

template <typename Arguments>
void set_common_limits(Arguments&& set) {
    set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(kMostMessageBytes));
    set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, static_cast<int>(kMostMessageBytes));
    set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveMs / 2);
}

// Connects only to that machine: no proxy of the environment, no look-ups besides its
// name.
inline grpc::ChannelArguments direct_arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    arguments.SetSslTargetNameOverride(kNodeCertificateName);
    return arguments;
}

}  // namespace offstage::engine
