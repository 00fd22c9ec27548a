#include "engine/cluster/join_forecast.h"

#include <algorithm>

namespace offstage::engine {

ForecastDesktop JoinForecast::here(std::int64_t n_past) const {
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
    here.pause_us = known_.pauses.pause_us;
    here.wake_us = known_.pauses.wake_us;
    // By the places that nodes() gives them.
    std::vector<std::size_t> place(nodes_.size());
    std::size_t n_places = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) place[i] = is_counted(i) ? n_places++ : nodes_.size();
    for (ForecastLink link : links()) {
        link.a = place[link.a];
        link.b = place[link.b];
        if (std::max(link.a, link.b) < nodes_.size()) here.node_links.push_back(link);
    }
    return here;
}

ShapeTimes JoinForecast::in_force(std::int64_t n_past) const {
    const ForecastDesktop here = this->here(n_past);
    return (nodes_.peers() != nullptr ? forecast_as_peers(here, nodes()) : forecast_as_helpers(here, nodes())).times;
}

JoinForecast::Both JoinForecast::both() const {
    const ForecastDesktop here = this->here(kShapePast);
    const std::vector<ForecastNode> nodes = this->nodes();
    return {forecast_as_helpers(here, nodes).times, forecast_as_peers(here, nodes).times};
}

JoinForecast::Both JoinForecast::both(const ExpertLists& lists) const {
    const ForecastDesktop here = this->here(kShapePast);
    return {forecast_as_helpers(here, nodes(lists, false)).times, forecast_as_peers(here, nodes(lists, true)).times};
}

std::vector<double> JoinForecast::costs(std::uint32_t machines) const {
    std::vector<double> costs;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines >> i & 1u) == 0) continue;
        const LinkCosts& of = nodes_[i].costs();
        for (const double us : {static_cast<double>(i + 1), of.expert_us(), of.transfer_us(1), of.message_us()}) {
            costs.push_back(us);
        }
    }
    for (const ForecastLink& link : links()) costs.push_back(link.message_us);
    return costs;
}

std::vector<ForecastLink> JoinForecast::links() const {
    if (nodes_.mesh() == nullptr) return known_.links;
    std::vector<ForecastLink> links;
    for (std::size_t b = 0; b < nodes_.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            const NodeMesh::Link link = nodes_.mesh()->link(a, b);
            if (link.latency_us <= 0 || link.by_way) continue;
            const double longer_us = link.longer_us.value_or(known_.pauses.share_us);
            links.push_back({a, b, LinkCosts::between_layers(link.message_us, longer_us), link.us_per_byte});
        }
    }
    return links;
}

bool JoinForecast::is_counted(std::size_t i) const {
    return nodes_[i].is_up() && !(nodes_.peers() != nullptr && nodes_[i].refuses_to_follow());
}

std::vector<ForecastNode> JoinForecast::nodes() const {
    const std::vector<kernels::WeightType> formats = model_.experts().formats();
    std::vector<ForecastNode> forecast;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        if (!is_counted(n)) continue;
        ForecastNode& one = forecast.emplace_back(ForecastNode{&nodes_[n].costs(), {}});
        for (std::size_t i = 0; i < formats.size(); ++i) one.has.push_back(nodes_[n].holds(i, formats[i]) ? 1 : 0);
    }
    return forecast;
}

std::vector<ForecastNode> JoinForecast::nodes(const ExpertLists& lists, bool make_steps) const {
    const ExpertGrid& grid = model_.spec().experts;
    const ModelDemand& demand = model_.demand();
    std::vector<ForecastNode> forecast;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!is_counted(i)) continue;
        std::uint64_t room = nodes_[i].welcome().ram_bytes;
        if (make_steps) {
            room = room_beside_steps(room, demand.dense_bytes, demand.kv_bytes(model_.summary().context));
        }
        forecast.push_back({&nodes_[i].costs(), held_within(lists[i], grid, room)});
    }
    return forecast;
}

}  // namespace offstage::engine
