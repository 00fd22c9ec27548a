#include "app/cli/nodes_joined.h"

#include <iostream>
#include <utility>

#include "app/cli/command_messages.h"
#include "engine/cluster/joined_nodes.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/nodes/nodes_messages.h"
#include "engine/print.h"
#include "engine/run/local_session.h"

namespace offstage::cli {
namespace {

std::vector<engine::NodeAddress> addresses_of(const ModelOptions& options) {
    engine::silence_grpc();
    const std::filesystem::path folder = engine::machines_folder();
    const engine::PairedPeers peers(folder);
    std::vector<engine::NodeAddress> addresses;
    for (const std::string& text : options.nodes) {
        const engine::PairedPeer* const peer = peers.find(text);
        if (peer == nullptr) throw peers.unknown(text);
        addresses.push_back(engine::address_of(*peer, engine::read_or_make_identity(folder)));
    }
    return addresses;
}

engine::JoinSettings settings_of(const ModelOptions& options) {
    engine::JoinSettings settings;
    if (options.node_use == "always") settings.use = engine::NodeUse::kAlways;
    if (options.node_activations == "bf16") settings.activations = engine::ActivationType::kBf16;
    if (options.node_shape == "auto") settings.shape = engine::NodeShape::kAuto;
    if (options.node_shape == "decentralised") settings.shape = engine::NodeShape::kDecentralised;
    settings.desktop = engine::name_of_this_machine();
    return settings;
}

class Joined final : public NodesJoined {
  public:
    Joined(engine::LoadedModel& model, const ModelOptions& options, bool forecasts)
        : nodes_(model, addresses_of(options), with_forecasts(settings_of(options), forecasts), progress_on_terminal(),
                 {}) {}

    void print_notes() override {
        for (const engine::Message& note : nodes_.take_notes()) {
            std::cerr << "note: " << note.english() << std::endl;
        }
    }
    nlohmann::ordered_json to_json() const override {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        const bool decentralised = nodes_.shape() == engine::NodeShape::kDecentralised;
        for (const engine::JoinedNodes::Figures& node : nodes_.figures()) {
            list.push_back({{"name", node.name},
                            {"shape", decentralised ? "decentralised" : "helpers"},
                            {"up", node.up},
                            {"experts", node.n_held},
                            {"round_trip_us", node.latency_us},
                            {"mb_per_s", node.mbps},
                            {"requests", node.totals.requests},
                            {"rows", node.totals.rows},
                            {"failed_rows", node.totals.failed_rows},
                            {"bytes", node.totals.bytes},
                            {"compute_us", node.totals.compute_us},
                            {"waiting_us", node.totals.waiting_us}});
        }
        return list;
    }
    double forecast_tokens_per_s(std::int64_t n_past) const override { return nodes_.forecast_tokens_per_s(n_past); }

  private:
    static engine::JoinSettings with_forecasts(engine::JoinSettings settings, bool forecasts) {
        settings.forecasts = forecasts;
        return settings;
    }
    engine::JoinedNodes nodes_;
};

}  // namespace

std::unique_ptr<NodesJoined> join_nodes(engine::LoadedModel& model, const ModelOptions& options, bool forecasts) {
    if (options.nodes.empty()) return nullptr;
    auto joined = std::make_unique<Joined>(model, options, forecasts);
    joined->print_notes();
    return joined;
}

std::unique_ptr<NodesJoined> join_nodes(engine::Session& session, const ModelOptions& options) {
    if (options.nodes.empty()) return nullptr;
    return join_nodes(*dynamic_cast<engine::LocalSession&>(session).model(), options, false);
}

void report_nodes(const ModelOptions& options, nlohmann::ordered_json* json) {
    if (options.nodes.empty()) return;
    engine::ExpertHost host(load_request(options));
    const engine::ExpertGrid& grid = host.spec().experts;
    const engine::JoinSettings settings = settings_of(options);
    const engine::NodeHello hello = engine::hello_of(host, settings.desktop);
    const kernels::WeightType format = options.quant.empty() || !host.request().quant.experts
                                           ? grid.stored(host.basis().master, 0)
                                           : *host.request().quant.experts;
    for (engine::NodeAddress& address : addresses_of(options)) {
        // One expert is enough to measure with.
        engine::NodeClient node(std::move(address), hello, grid, settings.activations, settings.patience);
        node.start({{0, 0, format}});
        node.wait_until_settled({}, {});
        for (const engine::Message& note : node.take_notes()) std::cerr << "note: " << note.english() << std::endl;
        if (!node.is_up()) continue;
        const engine::LinkCosts::Measured measured = node.costs().measured();
        const auto bytes = static_cast<std::uint64_t>(measured.expert_bytes);
        const std::uint64_t room = node.welcome().ram_bytes / std::max<std::uint64_t>(1, bytes);
        const auto experts = std::min<std::uint64_t>(room, static_cast<std::uint64_t>(grid.size()));
        const double mbps = measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0;
        if (json != nullptr) {
            (*json)["nodes"].push_back({{"name", node.name()},
                                        {"experts", experts},
                                        {"round_trip_us", measured.latency_us},
                                        {"mb_per_s", mbps},
                                        {"expert_us", node.costs().expert_us(measured.expert_bytes, 1)}});
            continue;
        }
        std::cout
            << engine::print(
                   "%s: room for %llu of %lld experts; %.2f ms there and back, %.0f MB/s, an expert for one token "
                   "%.3f ms",
                   node.name().c_str(), static_cast<unsigned long long>(experts), static_cast<long long>(grid.size()),
                   measured.latency_us / 1e3, mbps, node.costs().expert_us(measured.expert_bytes, 1) / 1e3)
            << std::endl;
    }
}

}  // namespace offstage::cli
