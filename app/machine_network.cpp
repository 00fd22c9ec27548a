#include "app/machine_network.h"

#include "engine/nodes/node_identity.h"
#include "engine/nodes/paired_network.h"

namespace offstage {

std::shared_ptr<engine::MachineNetwork> machine_network() {
    return engine::open_machine_network(engine::machines_folder());
}

}  // namespace offstage
