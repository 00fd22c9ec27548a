#pragma once
// Paired machines of which none is ever connected to.

#include "engine/cluster/machine_network.h"

namespace offstage::test {

class NoMachines final : public engine::MachineNetwork {
  public:
    std::vector<engine::PairedMachine> machines() const override { return m_paired; }
    std::string list_file() const override { return {}; }
    std::string pairing_address(const std::string& text) const override { return text; }
    engine::PairedMachine pair(const std::string&, const std::string&, const std::string&,
                               const std::stop_token&) override {
        return {};
    }
    void remove(const std::string&) override {}
    engine::MachineTest test(const std::string&, const std::stop_token&) override { return {}; }
    engine::JoinMachinesFn joining(const std::vector<std::string>&, const engine::MachineUse&) const override {
        return {};
    }
    std::vector<engine::PairedMachine> m_paired;
};

}  // namespace offstage::test
