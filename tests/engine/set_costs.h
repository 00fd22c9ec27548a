#pragma once

#include "engine/run/loaded_model.h"

namespace offstage::test {

// Sets what an expert takes on this machine, and a decoded token beside its experts,
// instead of measuring it. step_us 0: stays as it is.
inline void setCosts(engine::LoadedModel& model, double expert_us, double step_us = 0) {
    engine::CostTable table = model.cost().table();
    table.cpu_expert = {{1, expert_us}};
    if (step_us > 0) table.dense.step = {{1, step_us}};
    model.cost() = engine::CostModel(table);
    model.cost().set_master(model.plan_inputs().master);
    for (const engine::ModelDemand::Format& row : model.demand().formats) {
        model.cost().set_expert_bytes(row.format, model.source().expert_bytes(row.format));
    }
}

}  // namespace offstage::test
