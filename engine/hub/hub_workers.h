#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "engine/hub/hub_connection.h"

namespace offstage::engine {

// Calls `work` once for each of [0, n) on up to `connections` threads, each with a
// connection of its own. The first failure stops the others and is thrown; so is a stop
// (kCancelled).
void for_each_with_connection(
    const HubAccess& access, int connections, std::size_t n, const std::stop_token& stop,
    const std::function<void(HubConnection& connection, std::size_t i, const std::stop_token& stop)>& work);

}  // namespace offstage::engine
