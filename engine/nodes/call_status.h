#pragma once

#include <grpcpp/support/status.h>

#include "engine/message.h"

namespace offstage::engine {

// Why a call between machines ended, as a part of a sentence: "nothing listens there".
// gRPC's own words are for its developers and are not shown.
Message reason_of(const grpc::Status& status);

}  // namespace offstage::engine
