#pragma once

#include <filesystem>
#include <memory>

#include "engine/cluster/machine_network.h"

namespace offstage::engine {

// The machines with keys in a folder (machines_folder()), over TLS.
std::unique_ptr<MachineNetwork> open_machine_network(std::filesystem::path folder);

}  // namespace offstage::engine
