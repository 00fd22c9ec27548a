#include "app/cli/nodes_joined.h"

#include <algorithm>
#include <chrono>
#include <iostream>

#include "app/cli/terminal_output.h"
#include "engine/cluster/expert_shares.h"
#include "engine/cluster/joined_nodes.h"
#include "engine/cluster/shape_forecast.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/run/local_session.h"

namespace offstage::cli {
namespace {

std::vector<engine::NodeAddress> addresses_of(const ModelOptions& options) {
    engine::silence_grpc();
    const std::filesystem::path folder = engine::machines_folder();
    const engine::PairedPeers peers(folder);
    std::vector<engine::NodeAddress> addresses;
    for (const std::string& text : options.nodes) {
        addresses.push_back(engine::address_of(peers.at(text), engine::read_or_make_identity(folder)));
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
        std::size_t n = 0;
        for (const engine::JoinedNodes::Figures& node : nodes_.figures()) {
            nlohmann::ordered_json direct = nlohmann::ordered_json::array();  // the others that it is connected to
            for (std::size_t other = 0; other < nodes_.size(); ++other) {
                if (other != n && nodes_.link(n, other).direct) direct.push_back(nodes_.name(other));
            }
            ++n;
            list.push_back({{"name", node.name},
                            {"shape", decentralised ? "decentralised" : "helpers"},
                            {"up", node.up},
                            {"experts", node.n_held},
                            {"round_trip_us", node.latency_us},
                            {"mb_per_s", node.mbps},
                            {"direct", direct}});
            ADD_FIELDS(list.back(), node.totals, requests, rows, failed_rows, bytes, compute_us, waiting_us);
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

// A machine that a plan could use: measured, and with the experts that it would hold as a
// helper and as a peer.
struct PlannedNode {
    std::shared_ptr<engine::NodeClient> client;
    std::vector<std::uint8_t> as_helper, as_peer;
    std::size_t index = 0;
};

std::int64_t n_held(const std::vector<std::uint8_t>& has) {
    return std::count(has.begin(), has.end(), 1);
}

std::vector<engine::ForecastNode> forecast_nodes(const std::vector<PlannedNode>& nodes, bool make_steps) {
    std::vector<engine::ForecastNode> forecast;
    for (const PlannedNode& node : nodes) {
        forecast.push_back({&node.client->costs(), make_steps ? node.as_peer : node.as_helper});
    }
    return forecast;
}

// Connects to each with one expert, which is enough to measure with. Prints the reasons
// of unusable ones to stderr.
std::vector<PlannedNode> planned_nodes(const ModelOptions& options, const engine::FitEstimate& report,
                                       const std::vector<kernels::WeightType>& formats,
                                       std::vector<engine::ForecastLink>& links) {
    engine::ExpertHost host(load_request(options));
    const engine::ExpertGrid& grid = host.spec().experts;
    const engine::JoinSettings settings = settings_of(options);
    const std::vector<engine::NodeAddress> addresses = addresses_of(options);
    engine::NodeMesh mesh(addresses);
    engine::NodeClient::Terms terms{engine::hello_of(host, settings.desktop), grid, settings.activations,
                                    settings.patience};
    std::vector<std::shared_ptr<engine::NodeClient>> clients;
    const auto lists =
        engine::share_out_experts(addresses.size(), grid, report.plan, formats, report.inputs.popularity);
    std::vector<PlannedNode> nodes;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        terms.meeting = mesh.meeting(i);
        clients.push_back(std::make_shared<engine::NodeClient>(addresses[i], terms));
        nodes.push_back({clients.back(), {}, {}, i});
    }
    // All of them may come up at once.
    mesh.use(clients);
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].client->start({lists[i].front()});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        engine::NodeClient& client = *nodes[i].client;
        client.wait_until_settled({}, {});
        for (const engine::Message& note : client.take_notes()) {
            std::cerr << "note: " << note.english() << std::endl;
        }
        const std::uint64_t room = client.welcome().ram_bytes;
        const std::uint64_t beside = engine::room_beside_steps(room, report.inputs.demand.dense_bytes,
                                                               report.inputs.demand.kv_bytes(report.plan.context));
        nodes[i].as_helper = engine::held_within(lists[i], grid, room);
        nodes[i].as_peer = engine::held_within(lists[i], grid, beside);
    }
    const std::chrono::duration<double> most(settings.links_s);
    mesh.wait_until_settled(
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(most), {});
    for (const engine::Message& note : mesh.take_notes()) std::cerr << "note: " << note.english() << std::endl;
    std::erase_if(nodes, [](const PlannedNode& node) { return !node.client->is_up(); });
    for (std::size_t b = 0; b < nodes.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            const engine::NodeMesh::Link link = mesh.link(nodes[a].index, nodes[b].index);
            if (link.direct) links.push_back({a, b, link.message_us, link.us_per_byte});
        }
    }
    // Later reports are not used.
    for (const auto& client : clients) client->stop();
    return nodes;
}

nlohmann::ordered_json to_json(const engine::ShapeForecast& forecast) {
    return {{"ms_per_token", forecast.times.us() / 1e3},
            {"computing_ms", forecast.times.computing_us / 1e3},
            {"network_ms", forecast.times.network_us / 1e3},
            {"waiting_ms", forecast.times.waiting_us / 1e3},
            {"calls", forecast.calls}};
}

// Machine of each expert, one list a layer.
nlohmann::ordered_json by_layer(const std::string& owners, std::int64_t n_experts) {
    nlohmann::ordered_json layers = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < owners.size(); ++i) {
        if (static_cast<std::int64_t>(i) % n_experts == 0) layers.push_back(nlohmann::ordered_json::array());
        layers.back().push_back(static_cast<int>(static_cast<unsigned char>(owners[i])));
    }
    return layers;
}

// Experts that are on one machine of a layer: "0-3, 7".
std::string ranges_of(const std::string& owners, std::int64_t layer, std::int64_t n_experts, std::size_t machine) {
    std::string text;
    const auto is_there = [&](std::int64_t e) {
        return e < n_experts &&
               static_cast<unsigned char>(owners[static_cast<std::size_t>(layer * n_experts + e)]) == machine;
    };
    for (std::int64_t e = 0; e < n_experts; ++e) {
        if (!is_there(e)) continue;
        std::int64_t last = e;
        while (is_there(last + 1)) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(e);
        if (last > e) text += "-" + std::to_string(last);
        e = last;
    }
    return text.empty() ? "none" : text;
}

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

void join_session(engine::Session& session, const ModelOptions& options) {
    if (options.nodes.empty()) return;
    session.join(
        [&](engine::LoadedModel& model, const std::stop_token& stop) {
            return std::make_unique<engine::JoinedNodes>(model, addresses_of(options), settings_of(options),
                                                         progress_on_terminal(), stop);
        },
        {});
    print_machine_notes(session);
}

void report_nodes(const ModelOptions& options, const engine::FitEstimate& report, nlohmann::ordered_json* json) {
    if (options.nodes.empty()) return;
    const engine::ExpertGrid& grid = report.shape.spec.experts;
    const engine::JoinSettings settings = settings_of(options);
    engine::ForecastDesktop here{grid, report.inputs.popularity, report.inputs.cost, report.plan.places,
                                 report.plan.formats};
    for (std::size_t i = here.formats.size(); i < here.places.size(); ++i) {
        here.formats.push_back(grid.stored(report.inputs.cost.master(), static_cast<std::int64_t>(i) / grid.n_experts));
    }
    here.staging_slots = report.plan.staging_slots;
    here.policy = report.inputs.decode;
    here.dense_bytes = static_cast<double>(report.inputs.demand.dense_read_bytes);
    here.head_share = engine::head_share_of(report.shape.spec);
    here.on_processor = report.inputs.device.kind == engine::DeviceKind::kCpu;
    here.activations = settings.activations;
    here.insists = settings.use == engine::NodeUse::kAlways;
    here.n_past = report.forecast->prompt_tokens;
    const std::vector<PlannedNode> nodes = planned_nodes(options, report, here.formats, here.node_links);
    const engine::ShapeForecast helpers = engine::forecast_as_helpers(here, forecast_nodes(nodes, false));
    const engine::ShapeForecast peers = engine::forecast_as_peers(here, forecast_nodes(nodes, true));
    const bool known = helpers.times.us() > 0 && peers.times.us() > 0;
    const bool faster = known && peers.times.us() < helpers.times.us();
    const bool decentralised = settings.shape == engine::NodeShape::kDecentralised ||
                               (settings.shape == engine::NodeShape::kAuto && !here.insists && faster);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const engine::NodeClient& node = *nodes[i].client;
        const engine::LinkCosts::Measured measured = node.costs().measured();
        const double expert_us = node.costs().expert_us(measured.expert_bytes, 1);
        if (json != nullptr) {
            (*json)["nodes"].push_back({{"name", node.name()},
                                        {"experts", n_held(nodes[i].as_helper)},
                                        {"experts_beside_steps", n_held(nodes[i].as_peer)},
                                        {"round_trip_us", measured.latency_us},
                                        {"mb_per_s", measured.mbps()},
                                        {"expert_us", expert_us}});
            continue;
        }
        std::cout << engine::print(
                         "%s: room for %lld of %lld experts; %.2f ms there and back, %.0f MB/s, an expert for one "
                         "token %.3f ms",
                         node.name().c_str(), static_cast<long long>(n_held(nodes[i].as_helper)),
                         static_cast<long long>(grid.size()), measured.latency_us / 1e3, measured.mbps(),
                         expert_us / 1e3)
                  << std::endl;
    }
    if (nodes.empty()) return;
    const double alone_us = report.forecast->decode_tokens_per_s > 0 ? 1e6 / report.forecast->decode_tokens_per_s : 0;
    if (json != nullptr) {
        (*json)["joint"] = {
            {"shape", decentralised ? "decentralised" : "helpers"},
            {"chosen_by_forecast", settings.shape == engine::NodeShape::kAuto && !here.insists && known},
            {"alone_ms_per_token", alone_us / 1e3},
            {"helpers", to_json(helpers)},
            {"decentralised", to_json(peers)},
            {"owners", by_layer(peers.owners, grid.n_experts)}};
        return;
    }
    if (!known) {
        std::cout << "Nothing is known that a forecast with these machines could be made of." << std::endl;
        return;
    }
    engine::Table table({{"Forecast of a decoded token after " + std::to_string(here.n_past) + " others, ms", -1},
                         {"all", 9, 2, 1e-3},
                         {"computing", 11, 2, 1e-3},
                         {"network", 9, 2, 1e-3},
                         {"waiting", 9, 2, 1e-3}});
    table.add({"  this machine alone", alone_us});
    const auto add = [&](const std::string& name, const engine::ShapeTimes& times, bool used) {
        table.add({(used ? "* " : "  ") + name, times.us(), times.computing_us, times.network_us, times.waiting_us});
    };
    add("desktop and helpers (--node-shape helpers)", helpers.times, !decentralised);
    add("every machine (--node-shape decentralised)", peers.times, decentralised);
    std::cout << "\n"
              << table.text()
              << (settings.shape != engine::NodeShape::kAuto ? "* as --node-shape says\n"
                  : here.insists                             ? "* helpers, as --node-use always asks for\n"
                                                             : "* the faster one, which would be used\n");
    // The helpers' share of a token's calls, or each machine's.
    const engine::ShapeForecast& used = decentralised ? peers : helpers;
    double all_calls = 0;
    for (const double calls : used.calls) all_calls += calls;
    for (std::size_t machine = 0; machine < used.calls.size(); ++machine) {
        const std::string name = machine == 0 ? "this machine" : nodes[machine - 1].client->name();
        std::cout << engine::print("%s: computes %.0f %% of a token's experts", name.c_str(),
                                   all_calls > 0 ? 100 * used.calls[machine] / all_calls : 0);
        if (decentralised) {
            std::cout << engine::print("; %lld of %lld are its own in every step",
                                       static_cast<long long>(std::count(peers.owners.begin(), peers.owners.end(),
                                                                         static_cast<char>(machine))),
                                       static_cast<long long>(grid.size()));
        }
        std::cout << '\n';
        for (std::int64_t layer = 0; layer < grid.n_layers && decentralised; ++layer) {
            std::cout << engine::print("  layer %lld: %s\n", static_cast<long long>(layer),
                                       ranges_of(peers.owners, layer, grid.n_experts, machine).c_str());
        }
    }
    std::cout << std::flush;
}

}  // namespace offstage::cli
