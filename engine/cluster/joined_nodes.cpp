#include "engine/cluster/joined_nodes.h"

#include <algorithm>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

std::chrono::steady_clock::time_point in_seconds(double s) {
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(s));
}

}  // namespace

JoinedNodes::JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                         const LoadProgressFn& progress, const std::stop_token& stop)
    : model_(model),
      settings_(settings),
      addresses_(std::move(addresses)),
      journal_(settings.use == NodeUse::kMeasured, model.summary().emulated) {
    if (addresses_.size() > kMostNodes) {
        throw Error(ErrorKind::kInvalidInput, messages::too_many_nodes(addresses_.size(), kMostNodes));
    }
    known_.shape_switch = ShapeSwitch(settings.choose_again_s);
    known_.pauses = settings.pauses;
    if (addresses_.empty()) {
        start(NodeShape::kHelpers, {}, false);
        return;
    }
    if (chooses()) {
        choose_shape(progress, stop);
    } else {
        const bool decentralised = settings.shape == NodeShape::kDecentralised;
        connect(decentralised ? NodeShape::kDecentralised : NodeShape::kHelpers,
                expert_lists(model_, addresses_.size(), ~0u), progress, stop);
    }
    if (settings.activations == ActivationType::kBf16) journal_.add({messages::node_activations_rounded});
}

JoinedNodes::JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                         Earlier earlier)
    : model_(model),
      settings_(settings),
      addresses_(std::move(addresses)),
      known_(std::move(earlier.known)),
      journal_(settings.use == NodeUse::kMeasured, model.summary().emulated) {
    journal_.add(std::move(earlier.notes));
    // Machines that are away get their old experts, if they come back before the others
    // have these.
    ExpertLists all = expert_lists(model_, addresses_.size(), ~0u);
    ExpertLists of_these = expert_lists(model_, addresses_.size(), known_.counted);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((known_.counted >> i & 1u) != 0) all[i] = std::move(of_these[i]);
    }
    start(earlier.shape, std::move(all), earlier.shape == NodeShape::kDecentralised, known_.counted);
    put_to_use();
}

JoinMachinesFn joining(std::vector<NodeAddress> addresses, const JoinSettings& settings) {
    return [addresses = std::move(addresses), settings](LoadedModel& model, const std::stop_token& stop) {
        return std::make_unique<JoinedNodes>(model, addresses, settings, LoadProgressFn{}, stop);
    };
}

void JoinedNodes::start(NodeShape shape, ExpertLists lists, bool links, std::uint32_t machines) {
    nodes_ = std::make_unique<ConnectedNodes>(model_, settings_);
    nodes_->start(addresses_, {shape, std::move(lists), machines, links, settings_.forecasts || chooses(),
                               known_.links_longer_us, known_.pauses});
    journal_.begin(*nodes_);
}

void JoinedNodes::connect(NodeShape shape, const ExpertLists& lists, const LoadProgressFn& progress,
                          const std::stop_token& stop) {
    start(shape, lists, shape == NodeShape::kDecentralised);
    measure_here(model_, settings_.forecasts, stop);
    wait_for_experts(progress, stop);
    if (settings_.waits && nodes_->mesh() != nullptr) {
        nodes_->mesh()->wait_until_settled(in_seconds(settings_.links_s), stop);
    }
    if (settings_.forecasts) measure_pauses(stop);
    put_to_use();
}

void JoinedNodes::put_to_use() {
    nodes_->put_to_use();
    journal_.begin_steps(nodes_->up());
}

void JoinedNodes::disconnect() {
    if (nodes_->mesh() != nullptr) {
        journal_.add(nodes_->mesh()->take_notes());
        known_.links_longer_us = nodes_->mesh()->longer_us();
    }
    nodes_.reset();
}

void JoinedNodes::wait_for_experts(const LoadProgressFn& progress, const std::stop_token& stop) {
    const auto all = static_cast<std::uint64_t>(model_.spec().experts.size());
    for (std::size_t i = 0; i < size() && settings_.waits; ++i) {
        node(i).wait_until_settled(
            [&](std::int64_t held) {
                if (!progress) return;
                progress({messages::loading_experts_elsewhere, static_cast<std::uint64_t>(held), all, false});
            },
            stop);
        if (progress) progress({messages::loading_experts_elsewhere, all, all, false});
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_experts_elsewhere);
        journal_.announce(*nodes_, i);
    }
}

// With one of the machines, if any is up. The extra time of messages between layers is
// assumed to be the same for all machines.
void JoinedNodes::measure_pauses(const std::stop_token& stop) {
    if (known_.pauses.known() || !model_.device().shares_host_memory()) return;
    for (std::size_t i = 0; i < size(); ++i) {
        if (!node(i).is_up()) continue;
        known_.pauses = engine::measure_pauses(model_, node(i), stop);
        for (const std::shared_ptr<NodeClient>& one : nodes_->all()) {
            one->costs().set_between_layers(known_.pauses.request_us, known_.pauses.share_us);
        }
        return;
    }
}

// -------------------------------------------------------------- the choice of the shape
// Measures links and experts with one expert on each machine, so that no machine packs
// experts for a shape that is not chosen. If a machine then cannot make steps, the shape
// stays kHelpers.
void JoinedNodes::choose_shape(const LoadProgressFn& progress, const std::stop_token& stop) {
    const ExpertLists all = expert_lists(model_, addresses_.size(), ~0u);
    ExpertLists one = all;
    for (std::vector<NodeExpert>& list : one) list.resize(std::min<std::size_t>(1, list.size()));
    start(NodeShape::kHelpers, std::move(one), true);
    measure_here(model_, true, stop);
    const auto until = in_seconds(settings_.choice_s);
    for (const std::shared_ptr<NodeClient>& node : nodes_->all()) {
        node->wait_until_settled({}, stop, settings_.waits ? std::nullopt : std::optional(until));
    }
    nodes_->mesh()->wait_until_settled(settings_.waits ? in_seconds(settings_.links_s) : until, stop);
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_experts_elsewhere);
    known_.counted = settled_up_ = nodes_->up();
    measure_pauses(stop);
    set_forecasts(forecast().both(all));
    settled_since_ = std::chrono::steady_clock::now();
    known_.shape_switch.chosen(settled_since_, forecast().costs(known_.counted));
    const double helpers_us = known_.helpers.us(), peers_us = known_.peers.us();
    const Decimal helpers{helpers_us / 1e3, 2}, peers{peers_us / 1e3, 2};
    const bool known = helpers_us > 0 && peers_us > 0;
    Message chosen = known ? messages::node_shape_helpers(helpers, peers) : messages::node_shape_not_forecast;
    if (known && peers_us < helpers_us) {
        disconnect();
        connect(NodeShape::kDecentralised, all, progress, stop);
        const auto fails = [&](const std::shared_ptr<NodeClient>& node) {
            return settings_.waits && node->is_up() && !node->follows();
        };
        if (std::none_of(nodes_->all().begin(), nodes_->all().end(), fails)) {
            journal_.add({messages::node_shape_decentralised(peers, helpers)});
            return;
        }
        for (const std::shared_ptr<NodeClient>& node : nodes_->all()) journal_.add(node->take_notes());
        disconnect();
        connect(NodeShape::kHelpers, all, progress, stop);
    } else {
        nodes_->mesh()->withdraw();
        nodes_->want(all);
        wait_for_experts(progress, stop);
        put_to_use();
    }
    journal_.add({std::move(chosen)});
}

JoinMachinesFn JoinedNodes::join_again(const std::stop_token& stop) {
    const auto now = std::chrono::steady_clock::now();
    const std::uint32_t up = nodes_->up();
    if (up != std::exchange(settled_up_, up)) settled_since_ = now;
    if (!chooses() || up == 0 || !(settings_.choose_again_s > 0) || stop.stop_requested()) return {};
    const bool makes_steps = nodes_->peers() != nullptr;
    const auto refuses = [](const auto& node) { return node->refuses_to_follow(); };
    if (makes_steps && std::any_of(nodes_->all().begin(), nodes_->all().end(), refuses)) {
        return joining_as(NodeShape::kHelpers, true);
    }
    if (now - settled_since_ < std::chrono::duration<double>(settings_.deal_anew_s)) return {};
    std::vector<double> costs = forecast().costs(up);
    if (!known_.shape_switch.is_due(now, costs)) return {};
    measure_pauses(stop);  // if there was no machine until now
    set_forecasts(forecast().both(expert_lists(model_, size(), up)));
    const double helpers_us = known_.helpers.us(), peers_us = known_.peers.us();
    // A machine lost meanwhile returns with its old costs: compare again only after a
    // forecast of both.
    if (helpers_us > 0 && peers_us > 0) known_.shape_switch.forecast(std::move(costs));
    if (!ShapeSwitch::is_better(makes_steps ? peers_us : helpers_us, makes_steps ? helpers_us : peers_us)) return {};
    return joining_as(makes_steps ? NodeShape::kHelpers : NodeShape::kDecentralised, false);
}

JoinMachinesFn JoinedNodes::joining_as(NodeShape shape, bool is_last) {
    const JoinForecast forecast = this->forecast();
    Earlier earlier{shape, known_, {}};
    ShapeKnowledge& known = earlier.known;
    known.is_last = is_last;
    known.counted = nodes_->up();
    known.shape_switch.switched(std::chrono::steady_clock::now(), forecast.costs(known.counted));
    known.links = forecast.links();
    if (nodes_->mesh() != nullptr) known.links_longer_us = nodes_->mesh()->longer_us();
    const Decimal helpers{known.helpers.us() / 1e3, 2}, peers{known.peers.us() / 1e3, 2};
    if (!is_last) {
        earlier.notes.push_back(shape == NodeShape::kHelpers ? messages::node_shape_now_helpers(helpers, peers)
                                                             : messages::node_shape_now_decentralised(peers, helpers));
    }
    return [addresses = addresses_, settings = settings_, earlier = std::move(earlier)](LoadedModel& model,
                                                                                        const std::stop_token&) {
        return std::make_unique<JoinedNodes>(model, addresses, settings, earlier);
    };
}

void JoinedNodes::set_forecasts(const JoinForecast::Both& both) {
    const std::scoped_lock lock(mutex_);
    known_.helpers = both.helpers;
    known_.peers = both.peers;
}

double JoinedNodes::forecast_tokens_per_s(std::int64_t n_past) const {
    const double us = forecast().in_force(n_past).us();
    return us > 0 ? 1e6 / us : 0;
}

// ------------------------------------------------------------ steps, and what is shown
void JoinedNodes::after_step(double us, std::int64_t n_tokens) {
    nodes_->note_step();
    // At the first token that these machines decode together.
    const bool others = journal_.is_news(nodes_->up()) || nodes_->n_remeasurements() != seen_remeasurements_;
    if (settings_.forecasts && n_tokens == 1 && others) {
        seen_remeasurements_ = nodes_->n_remeasurements();
        set_forecasts(forecast().both());
    }
    journal_.after_step(*nodes_, us, n_tokens);
}

std::vector<JoinedNodes::Figures> JoinedNodes::figures() const {
    std::vector<Figures> figures;
    for (std::size_t i = 0; i < size(); ++i) {
        const NodeClient& node = (*nodes_)[i];
        const LinkCosts::Measured measured = node.costs().measured();
        figures.push_back(
            {node.name(), node.is_up(), node.n_held(), measured.latency_us, measured.mbps(), nodes_->totals(i)});
    }
    return figures;
}

void JoinedNodes::fill(Snapshot& snapshot) const {
    const ExpertGrid& grid = model_.spec().experts;
    const ConnectedNodes& nodes = *nodes_;
    const PeerGroup* const peers = nodes.peers();
    snapshot.elsewhere.assign(size() == 0 ? 0 : static_cast<std::size_t>(grid.size()), 0);
    const std::string owners = peers != nullptr ? peers->owners() : std::string();
    snapshot.expert_owners.assign(owners.begin(), owners.end());
    MachineShape& shape = snapshot.machine_shape;
    shape.decentralised = peers != nullptr;
    shape.automatic = chooses();
    shape.alone = peers != nullptr ? peers->alone() : StepsAlone::kNo;
    shape.late = chooses() && (nodes.up() & ~known_.counted) != 0;
    for (std::size_t i = 0; i < size(); ++i) {
        const NodeClient& node = nodes[i];
        MachineFigures figures;
        figures.name = node.name();
        NodeClient::Status status = node.status();
        figures.state = status.state;
        figures.why = std::move(status.why);
        figures.n_losses = node.n_losses();
        figures.n_owned = std::count(owners.begin(), owners.end(), static_cast<char>(i + 1));
        shape.refuses = shape.refuses || (peers != nullptr && node.refuses_to_follow());
        if (figures.state == MachineState::kUp) {
            const LinkCosts::Measured measured = node.costs().measured();
            figures.latency_us = measured.latency_us;
            figures.mbps = measured.mbps();
            figures.first_expert_us = node.costs().first_expert_us();
            figures.expert_us = node.costs().expert_us();
            NodeWelcome welcome = node.welcome();
            figures.ram_bytes = welcome.ram_bytes;
            figures.n_threads = welcome.n_threads;
            figures.instruction_set = std::move(welcome.instruction_set);
            for (std::size_t e = 0; e < snapshot.elsewhere.size(); ++e) {
                const auto format = node.held_format(e);
                if (!format) continue;
                snapshot.elsewhere[e] = static_cast<std::uint16_t>(snapshot.elsewhere[e] | 1u << i);
                figures.n_held += 1;
                figures.held_bytes += grid.expert_bytes(*format);
            }
        }
        for (std::size_t other = 0; other < size() && peers != nullptr; ++other) {
            if (other == i || !node.is_up() || !nodes[other].is_up()) continue;
            const NodeMesh::Link link = nodes.mesh()->link(i, other);
            if (!link.direct && !link.by_way) continue;
            figures.links.push_back({nodes[other].name(), link.direct, link.latency_us,
                                     link.us_per_byte > 0 ? 1 / link.us_per_byte : 0, link.why});
        }
        snapshot.machines.push_back(std::move(figures));
    }
    {
        const std::scoped_lock lock(mutex_);
        shape.helpers = known_.helpers;
        shape.peers = known_.peers;
    }
    journal_.fill(snapshot);
}

}  // namespace offstage::engine
