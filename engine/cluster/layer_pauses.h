#pragma once

#include <stop_token>

namespace offstage::engine {

class LoadedModel;
class NodeClient;

// What it costs this machine that its layers wait for messages. Microseconds.
struct LayerPauses {
    double pause_us = 0, wake_us = 0;     // as ForecastDesktop's
    double request_us = 0, share_us = 0;  // as LinkCosts::set_between_layers()
    bool known() const { return wake_us > 0; }
};

// Measured with a node that is up: between two layers it computes a row of an expert. For
// helpers this machine waits for it; for the exchange of shares, another row is on its
// way meanwhile. All 0: the node holds nothing. Some tenths of a second.
LayerPauses measure_pauses(LoadedModel& model, NodeClient& node, const std::stop_token& stop);

// Measures this machine's own costs, as far as the model does not know them: a load on
// the CPU alone measures nothing, because there is nothing to choose. With other machines
// there is. dense: also what a step takes beside its experts.
void measure_here(LoadedModel& model, bool dense, const std::stop_token& stop);

}  // namespace offstage::engine
