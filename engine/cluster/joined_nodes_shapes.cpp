// The choice of the machines' shape: both shapes are forecast from measurements, and the
// choice is checked again between answers.
#include <algorithm>
#include <utility>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/joined_nodes.h"
#include "engine/cluster/node_messages.h"
#include "engine/error.h"

namespace offstage::engine {

// Measures links and experts with one expert on each machine, so that no machine packs
// experts for a shape that is not chosen. If a machine then cannot make steps, the shape
// stays kHelpers.
void JoinedNodes::choose_shape(const LoadProgressFn& progress, const std::stop_token& stop) {
    const Lists all = lists();
    Lists one = all;
    for (std::vector<NodeExpert>& list : one) list.resize(std::min<std::size_t>(1, list.size()));
    start_connecting(NodeShape::kHelpers, one, true);
    measure_here(true, stop);
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                              std::chrono::duration<double>(settings_.choice_s));
    for (const std::shared_ptr<NodeClient>& node : nodes_) {
        node->wait_until_settled({}, stop, settings_.waits ? std::nullopt : std::optional(until));
    }
    wait_for_links(settings_.waits ? links_until() : until, stop);
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_experts_elsewhere);
    counted_ = up();
    measure_pauses(stop);
    choose_by(all);
    settled_up_ = counted_;
    settled_since_ = std::chrono::steady_clock::now();
    shape_switch_.chosen(settled_since_, costs_of(counted_));
    const Decimal helpers{as_helpers_.us() / 1e3, 2}, peers{as_peers_.us() / 1e3, 2};
    const bool known = as_helpers_.us() > 0 && as_peers_.us() > 0;
    Message chosen = known ? messages::node_shape_helpers(helpers, peers) : messages::node_shape_not_forecast;
    if (known && as_peers_.us() < as_helpers_.us()) {
        disconnect();
        connect(NodeShape::kDecentralised, all, progress, stop);
        const auto fails = [&](const std::shared_ptr<NodeClient>& node) {
            return settings_.waits && node->is_up() && !node->follows();
        };
        if (std::none_of(nodes_.begin(), nodes_.end(), fails)) {
            notes_.push_back(messages::node_shape_decentralised(peers, helpers));
            return;
        }
        for (const std::shared_ptr<NodeClient>& node : nodes_) {
            for (Message& note : node->take_notes()) notes_.push_back(std::move(note));
        }
        disconnect();
        connect(NodeShape::kHelpers, all, progress, stop);
    } else {
        mesh_->withdraw();
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            n_wanted_[i] = all[i].size();
            nodes_[i]->want(all[i]);
        }
        wait_for_experts(progress, stop);
        put_to_use();
    }
    notes_.push_back(std::move(chosen));
}

// Forecasts of both shapes, with the experts that the machines will hold.
void JoinedNodes::choose_by(const Lists& lists) {
    const ForecastDesktop here = forecast_here(kShapePast);
    const ShapeTimes helpers = forecast_as_helpers(here, forecast_nodes(lists, false)).times;
    const ShapeTimes peers = forecast_as_peers(here, forecast_nodes(lists, true)).times;
    const std::scoped_lock lock(mutex_);
    as_helpers_ = helpers;
    as_peers_ = peers;
}

// The inputs of a forecast of shapes that change with time.
std::vector<double> JoinedNodes::costs_of(std::uint32_t machines) const {
    std::vector<double> costs;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines >> i & 1u) == 0) continue;
        const LinkCosts& of = nodes_[i]->costs();
        for (const double us : {static_cast<double>(i + 1), of.expert_us(), of.transfer_us(1), of.message_us()}) {
            costs.push_back(us);
        }
    }
    for (const ForecastLink& link : node_links()) costs.push_back(link.message_us);
    return costs;
}

JoinMachinesFn JoinedNodes::join_again(const std::stop_token& stop) {
    const auto now = std::chrono::steady_clock::now();
    const std::uint32_t up = this->up();
    if (up != std::exchange(settled_up_, up)) settled_since_ = now;
    if (!chooses() || up == 0 || !(settings_.choose_again_s > 0) || stop.stop_requested()) return {};
    const auto refuses = [](const auto& node) { return node->refuses_to_follow(); };
    if (peers_ && std::any_of(nodes_.begin(), nodes_.end(), refuses)) return joining_as(NodeShape::kHelpers, true);
    if (now - settled_since_ < std::chrono::duration<double>(settings_.deal_anew_s)) return {};
    std::vector<double> costs = costs_of(up);
    if (!shape_switch_.is_due(now, costs)) return {};
    measure_pauses(stop);  // if there was no machine until now
    choose_by(lists_of(by_node(up)));
    const double helpers_us = as_helpers_.us(), peers_us = as_peers_.us();
    // A machine lost meanwhile returns with its old costs: compare again only after a
    // forecast of both.
    if (helpers_us > 0 && peers_us > 0) shape_switch_.forecast(std::move(costs));
    if (!ShapeSwitch::is_better(peers_ ? peers_us : helpers_us, peers_ ? helpers_us : peers_us)) return {};
    return joining_as(peers_ ? NodeShape::kHelpers : NodeShape::kDecentralised, false);
}

JoinMachinesFn JoinedNodes::joining_as(NodeShape shape, bool is_last) {
    const std::uint32_t up = this->up();
    Earlier earlier;
    earlier.shape = shape;
    earlier.is_last = is_last;
    earlier.counted = up;
    earlier.shape_switch = shape_switch_;
    earlier.shape_switch.switched(std::chrono::steady_clock::now(), costs_of(up));
    earlier.helpers = as_helpers_;
    earlier.peers = as_peers_;
    earlier.pause_us = pause_us_;
    earlier.wake_us = wake_us_;
    earlier.request_us = request_us_;
    earlier.share_us = share_us_;
    earlier.node_links = node_links();
    earlier.links_longer_us = mesh_ ? mesh_->longer_us() : links_longer_us_;
    const Decimal helpers{as_helpers_.us() / 1e3, 2}, peers{as_peers_.us() / 1e3, 2};
    if (!is_last) {
        earlier.notes.push_back(shape == NodeShape::kHelpers ? messages::node_shape_now_helpers(helpers, peers)
                                                             : messages::node_shape_now_decentralised(peers, helpers));
    }
    return [addresses = addresses_, settings = settings_, earlier = std::move(earlier)](LoadedModel& model,
                                                                                        const std::stop_token&) {
        return std::make_unique<JoinedNodes>(model, addresses, settings, earlier);
    };
}

double JoinedNodes::forecast_tokens_per_s(std::int64_t n_past) const {
    const double us = forecast_times(n_past).us();
    return us > 0 ? 1e6 / us : 0;
}

ShapeTimes JoinedNodes::forecast_times(std::int64_t n_past) const {
    const ForecastDesktop here = forecast_here(n_past);
    const std::vector<ForecastNode> nodes = forecast_nodes();
    return (peers_ ? forecast_as_peers(here, nodes) : forecast_as_helpers(here, nodes)).times;
}

ForecastDesktop JoinedNodes::forecast_here(std::int64_t n_past) const {
    const ExpertGrid& grid = model_.spec().experts;
    ExpertStore& store = model_.experts();
    ForecastDesktop here{grid, model_.popularity(), model_.cost(), {}, store.formats()};
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < grid.n_experts; ++expert) {
            here.places.push_back(store.place(layer, expert));
        }
    }
    here.staging_slots = store.staging().n_demand();
    here.policy = model_.dispatcher().decode_policy();
    here.dense_bytes = static_cast<double>(model_.reads().dense);
    here.head_share = head_share_of(model_.spec());
    here.on_processor = model_.device().shares_host_memory();
    here.activations = settings_.activations;
    here.insists = settings_.use == NodeUse::kAlways;
    here.n_past = n_past;
    here.pause_us = pause_us_;
    here.wake_us = wake_us_;
    // By the places that forecast_nodes() gives them.
    std::vector<std::size_t> place(nodes_.size());
    std::size_t n_places = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) place[i] = is_forecast(i) ? n_places++ : nodes_.size();
    for (ForecastLink link : node_links()) {
        link.a = place[link.a];
        link.b = place[link.b];
        if (std::max(link.a, link.b) < nodes_.size()) here.node_links.push_back(link);
    }
    return here;
}

// By node: the links between two other machines, between the layers of a step: as
// measured by the nodes themselves, or otherwise by pings, plus the extra time of this
// machine's messages. Without a connection between them, as last measured.
std::vector<ForecastLink> JoinedNodes::node_links() const {
    if (!mesh_) return earlier_links_;
    std::vector<ForecastLink> links;
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            const NodeMesh::Link link = mesh_->link(a, b);
            if (link.latency_us <= 0 || link.by_way) continue;
            const double longer_us = link.longer_us.value_or(share_us_);
            links.push_back({a, b, LinkCosts::between_layers(link.message_us, longer_us), link.us_per_byte});
        }
    }
    return links;
}

bool JoinedNodes::is_forecast(std::size_t i) const {
    return nodes_[i]->is_up() && !(peers_ && nodes_[i]->refuses_to_follow());
}

std::vector<ForecastNode> JoinedNodes::forecast_nodes() const {
    const std::vector<kernels::WeightType> formats = model_.experts().formats();
    std::vector<ForecastNode> forecast;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (!is_forecast(n)) continue;
        ForecastNode& one = forecast.emplace_back(ForecastNode{&nodes_[n]->costs(), {}});
        for (std::size_t i = 0; i < formats.size(); ++i) one.has.push_back(nodes_[n]->holds(i, formats[i]) ? 1 : 0);
    }
    return forecast;
}

// With the experts that they will hold.
std::vector<ForecastNode> JoinedNodes::forecast_nodes(const Lists& lists, bool make_steps) const {
    const ExpertGrid& grid = model_.spec().experts;
    const ModelDemand& demand = model_.demand();
    std::vector<ForecastNode> forecast;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!is_forecast(i)) continue;
        std::uint64_t room = nodes_[i]->welcome().ram_bytes;
        if (make_steps) {
            room = room_beside_steps(room, demand.dense_bytes, demand.kv_bytes(model_.summary().context));
        }
        forecast.push_back({&nodes_[i]->costs(), first_held(lists[i], grid, n_within(lists[i], grid, room))});
    }
    return forecast;
}

// For both shapes, with the machines' present experts. The engine's thread.
void JoinedNodes::forecast_anew() {
    seen_remeasurements_ = n_remeasurements();
    const ForecastDesktop here = forecast_here(kShapePast);
    const std::vector<ForecastNode> nodes = forecast_nodes();
    const ShapeTimes helpers = forecast_as_helpers(here, nodes).times;
    const ShapeTimes peers = forecast_as_peers(here, nodes).times;
    const std::scoped_lock lock(mutex_);
    as_helpers_ = helpers;
    as_peers_ = peers;
}

}  // namespace offstage::engine
