#pragma once

#include <memory>

#include "engine/cluster/machine_network.h"

namespace offstage {

// The machines that are paired with this one; nullptr: this program was built without the
// libraries that connections need.
std::shared_ptr<engine::MachineNetwork> machine_network();

}  // namespace offstage
