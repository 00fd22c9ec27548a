#include "engine/cluster/connected_nodes.h"

#include <bit>
#include <utility>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/shape_forecast.h"
#include "engine/run/moe_layer.h"

namespace offstage::engine {

NodeHello hello_of(ExpertHost& host, const std::string& desktop) {
    const ExpertGrid& grid = host.spec().experts;
    NodeHello hello;
    hello.desktop = printable(desktop, kMostNameBytes);
    const auto fingerprint = host.source().master().model_fingerprint();
    hello.fingerprint = fingerprint ? fingerprint->text() : std::string("unknown");
    hello.n_layers = grid.n_layers;
    hello.n_experts = grid.n_experts;
    hello.n_active = grid.n_active;
    hello.hidden_dim = grid.hidden_dim;
    hello.ffn_dim = grid.ffn_dim;
    hello.compute = kernels::name_of(host.form());
    return hello;
}

ExpertLists expert_lists(LoadedModel& model, std::size_t n, std::uint32_t machines) {
    machines &= (1u << n) - 1;
    ExpertLists of_them;
    if (machines != 0) {
        of_them = share_out_experts(static_cast<std::size_t>(std::popcount(machines)), model.spec().experts,
                                    model.plan(), model.experts().formats(), model.popularity());
    }
    ExpertLists lists(n);
    std::size_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if ((machines >> i & 1u) != 0) lists[i] = std::move(of_them[next++]);
    }
    return lists;
}

void ConnectedNodes::start(const std::vector<NodeAddress>& addresses, Start start) {
    if (start.links) {
        mesh_ = std::make_unique<NodeMesh>(addresses, settings_.patience.links_again_s, start.measures_links);
        mesh_->set_longer_us(start.links_longer_us);
    }
    if (start.shape == NodeShape::kDecentralised) {
        peers_ = std::make_unique<PeerGroup>(model_, settings_.activations, settings_.patience, *mesh_);
    }
    const auto last_step = [this] {
        return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_step_.load()));
    };
    NodeClient::Terms terms{hello_of(model_, settings_.desktop), model_.spec().experts, settings_.activations,
                            settings_.patience};
    terms.last_step = last_step;
    terms.turn = std::make_shared<MeasuringTurn>();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (peers_) terms.following = peers_->following(i);
        if (mesh_) terms.meeting = mesh_->meeting(i);
        nodes_.push_back(std::make_shared<NodeClient>(addresses[i], terms));
        nodes_.back()->costs().set_between_layers(start.pauses.request_us, start.pauses.share_us);
    }
    if (mesh_) mesh_->use(nodes_);
    if (peers_) {
        peers_->set_before_step([this] {
            note_step();
            follow_plan();
        });
        peers_->set_each_layer([this] { note_step(); });
        peers_->use(nodes_);
    }
    dealt_ = {start.machines & ((1u << nodes_.size()) - 1), model_.plan().places, model_.experts().formats()};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Room& room = rooms_.emplace_back();
        room.n_wanted = start.lists[i].size();
        if ((dealt_.machines >> i & 1u) != 0) room.last_up_at = std::chrono::steady_clock::now();
        nodes_[i]->start(std::move(start.lists[i]));
    }
}

void ConnectedNodes::put_to_use() {
    for (std::size_t i = 0; i < nodes_.size() && !peers_; ++i) {
        auto executor = std::make_unique<RemoteExecutor>(nodes_[i], model_.spec().experts, model_.experts(),
                                                         model_.host(), settings_.use);
        if (executors_.empty()) {
            executor->set_after_step([this] { follow_plan(); });
            executor->set_each_layer([this] { note_step(); });
        }
        executors_.push_back(executor.get());
        model_.forward().moe().add_executor(std::move(executor));
    }
}

ConnectedNodes::~ConnectedNodes() {
    for (RemoteExecutor* executor : executors_) {
        executor->set_after_step({});
        executor->set_each_layer({});
    }
    for (const std::shared_ptr<NodeClient>& node : nodes_) node->stop();
    const bool any = !executors_.empty() || peers_ != nullptr;
    peers_.reset();
    if (any) model_.forward().moe().remove_executors();
}

void ConnectedNodes::want(const ExpertLists& lists) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        rooms_[i].n_wanted = lists[i].size();
        nodes_[i]->want(lists[i]);
    }
}

// Another plan has other experts on disk, or in other formats; and the others take over
// the experts of a machine that stays away.
void ConnectedNodes::follow_plan() {
    if (mesh_) mesh_->retry();
    const auto now = std::chrono::steady_clock::now();
    std::uint32_t machines = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->is_up()) rooms_[i].last_up_at = now;
        const bool counts = now - rooms_[i].last_up_at < std::chrono::duration<double>(settings_.deal_anew_s);
        if (counts) machines |= 1u << i;
    }
    const Plan& plan = model_.plan();
    const std::vector<kernels::WeightType> formats = model_.experts().formats();
    if (machines == 0 || (machines == dealt_.machines && plan.places == dealt_.places && formats == dealt_.formats)) {
        return;
    }
    ExpertLists lists = expert_lists(model_, nodes_.size(), machines);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines >> i & 1u) == 0) continue;
        std::vector<NodeExpert>& list = lists[i];
        // Do not request experts beyond a machine's room: it would keep the ones that it
        // has instead.
        list.resize(n_within(list, model_.spec().experts, room_of(i)));
        rooms_[i].n_wanted = list.size();
        nodes_[i]->want(std::move(list));
    }
    dealt_ = {machines, plan.places, formats};
}

// Bytes of room for experts. A machine that makes the steps also has attention and the KV
// cache in its memory; its actual room shows when it cannot hold all requested experts.
// 0: unknown.
std::uint64_t ConnectedNodes::room_of(std::size_t i) {
    const NodeClient& node = *nodes_[i];
    Room& room = rooms_[i];
    if (node.is_up() && node.has_all() && static_cast<std::size_t>(node.n_held()) < room.n_wanted) {
        const ExpertGrid& grid = model_.spec().experts;
        room.bytes = 0;
        for (std::size_t e = 0; e < static_cast<std::size_t>(grid.size()); ++e) {
            if (const auto format = node.held_format(e)) room.bytes += grid.expert_bytes(*format);
        }
    }
    return room.bytes > 0 ? room.bytes : node.welcome().ram_bytes;
}

void ConnectedNodes::note_step() {
    last_step_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

std::uint32_t ConnectedNodes::up() const {
    std::uint32_t up = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) up |= nodes_[i]->is_up() ? 1u << i : 0;
    return up;
}

std::uint64_t ConnectedNodes::n_remeasurements() const {
    std::uint64_t n = 0;
    for (const std::shared_ptr<NodeClient>& node : nodes_) n += node->n_remeasurements();
    return n;
}

std::uint64_t ConnectedNodes::revision() const {
    std::uint64_t revision = 0;
    for (const std::shared_ptr<NodeClient>& node : nodes_) revision += node->n_changes();
    return revision + n_remeasurements() + (peers_ ? peers_->n_deals() : 0) + (mesh_ ? mesh_->n_changes() : 0);
}

}  // namespace offstage::engine
