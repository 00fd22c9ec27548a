#include "engine/cluster/node_mesh.h"

#include <algorithm>
#include <random>
#include <utility>

#include "engine/cluster/node_messages.h"

namespace offstage::engine {
namespace {

constexpr std::chrono::milliseconds kLookForLosses{100};

std::uint64_t random_number() {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) | 1;
}

}  // namespace

NodeMesh::NodeMesh(const std::vector<NodeAddress>& addresses, double again_s, bool between_layers)
    : again_s_(again_s), between_layers_(between_layers), next_link_(random_number()) {
    for (const NodeAddress& address : addresses) places_.push_back({address.fingerprint, address.for_nodes});
    for (std::size_t b = 1; b < places_.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            Pair pair;
            pair.a = a;
            pair.b = b;
            pairs_.push_back(std::move(pair));
        }
    }
}

NodeMesh::Longer NodeMesh::longer_us() const {
    Longer known;
    const std::scoped_lock lock(mutex_);
    for (const Pair& pair : pairs_) known.push_back(pair.known.longer_us);
    return known;
}

void NodeMesh::set_longer_us(const Longer& known) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < std::min(pairs_.size(), known.size()); ++i) pairs_[i].known.longer_us = known[i];
}

void NodeMesh::use(std::vector<std::shared_ptr<NodeClient>> nodes) {
    nodes_ = std::move(nodes);
}

void NodeMesh::set_on_ended(std::function<void()> call) {
    on_ended_ = std::move(call);
}

NodeClient::Meeting NodeMesh::meeting(std::size_t i) {
    return {[this, i] { came_up(i); }, [this, i](const NodePeerReport& report) { reported(i, report); }};
}

const NodeMesh::Pair& NodeMesh::pair_of(std::size_t a, std::size_t b) const {
    const std::size_t high = std::max(a, b);
    return pairs_[high * (high - 1) / 2 + std::min(a, b)];
}

bool NodeMesh::can_meet(const Pair& pair) const {
    return meets_ && nodes_[pair.a]->is_up() && nodes_[pair.b]->is_up() && !places_[pair.a].fingerprint.empty() &&
           !places_[pair.b].fingerprint.empty() && !places_[pair.b].address.empty();
}

// ---------------------------------------------------------------- introductions
void NodeMesh::set_locked(Pair& pair, State state) {
    pair.state = state;
    pair.since = Clock::now();
    ++n_changes_;
    settled_.notify_all();
}

// Informs one of the two that there is to be a link, or that there is none any more.
void NodeMesh::tell_locked(const Pair& pair, std::size_t to, bool expects_link) const {
    const std::size_t other = to == pair.a ? pair.b : pair.a;
    NodePeer peer;
    peer.link = pair.link;
    peer.self = static_cast<std::uint32_t>(to + 1);
    peer.machine = static_cast<std::uint32_t>(other + 1);
    peer.name = printable(nodes_[other]->name(), kMostNameBytes);
    if (expects_link) peer.fingerprint = places_[other].fingerprint;
    if (expects_link && to == pair.a) {
        peer.address = places_[other].address;
        peer.between_layers = between_layers_ && !pair.known.longer_us;
    }
    nodes_[to]->send_up(std::move(peer));
}

void NodeMesh::introduce_locked(Pair& pair) {
    pair.link = next_link_++;
    pair.connection_a = nodes_[pair.a]->n_connections();
    pair.connection_b = nodes_[pair.b]->n_connections();
    set_locked(pair, State::kAsked);
    tell_locked(pair, pair.b, true);
}

void NodeMesh::end_locked(Pair& pair, const Message& why) {
    pair.known.why = why;
    pair.is_news = !pair.is_reported || pair.state == State::kDirect;
    set_locked(pair, State::kByWay);
}

// The two of a pair may come up at the same time, each seeing the other.
void NodeMesh::came_up(std::size_t i) {
    const std::scoped_lock lock(mutex_);
    for (Pair& pair : pairs_) {
        if ((pair.a != i && pair.b != i) || !can_meet(pair)) continue;
        const bool same = pair.connection_a == nodes_[pair.a]->n_connections() &&
                          pair.connection_b == nodes_[pair.b]->n_connections();
        if (pair.state == State::kNone || !same) introduce_locked(pair);
    }
}

void NodeMesh::reported(std::size_t i, const NodePeerReport& report) {
    bool ended = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
            const std::size_t other = report.machine - 1;
            return pair.link == report.link && pair.a == std::min(i, other) && pair.b == std::max(i, other);
        });
        if (found == pairs_.end() || found->state == State::kNone || found->state == State::kByWay) return;
        Pair& pair = *found;
        switch (report.state) {
            case NodePeerReport::State::kExpected:
                if (pair.state != State::kAsked || i != pair.b) return;
                set_locked(pair, State::kConnecting);
                tell_locked(pair, pair.a, true);
                break;
            case NodePeerReport::State::kUp:
                if (pair.state != State::kConnecting || i != pair.a) return;
                pair.known.latency_us = report.latency_us;
                pair.known.us_per_byte = report.us_per_byte;
                pair.known.message_us = report.message_us > 0 ? report.message_us : report.latency_us / 2;
                if (report.between_layers_us > 0) {
                    pair.known.longer_us = report.between_layers_us - pair.known.message_us;
                }
                pair.is_reported = false;
                set_locked(pair, State::kDirect);
                notes_.push_back(messages::node_pair_is_direct(
                    nodes_[pair.a]->name(), nodes_[pair.b]->name(), Decimal{report.latency_us / 1e3, 2},
                    Decimal{report.us_per_byte > 0 ? 1 / report.us_per_byte : 0, 0}));
                break;
            case NodePeerReport::State::kEnded:
                ended = true;
                end_locked(pair, from_outside(printable(report.why, kMostSentenceBytes)));
                // The other one of the two may still wait for it.
                tell_locked(pair, i == pair.a ? pair.b : pair.a, false);
                break;
        }
    }
    if (ended && on_ended_) on_ended_();
}

bool NodeMesh::drop(std::size_t i, const Message& why) {
    bool any = false;
    {
        const std::scoped_lock lock(mutex_);
        for (Pair& pair : pairs_) {
            if ((pair.a != i && pair.b != i) || pair.state != State::kDirect) continue;
            any = true;
            end_locked(pair, why);
            tell_locked(pair, pair.a, false);
            tell_locked(pair, pair.b, false);
        }
    }
    if (any && on_ended_) on_ended_();
    return any;
}

void NodeMesh::retry() {
    const std::scoped_lock lock(mutex_);
    for (Pair& pair : pairs_) {
        if (pair.state == State::kByWay && Clock::now() - pair.since > std::chrono::duration<double>(again_s_) &&
            can_meet(pair)) {
            introduce_locked(pair);
        }
    }
}

void NodeMesh::withdraw() {
    const std::scoped_lock lock(mutex_);
    meets_ = false;
    for (Pair& pair : pairs_) {
        if (pair.state == State::kNone || pair.state == State::kByWay) continue;
        if (pair.state == State::kDirect) {
            notes_.push_back(messages::node_pair_parted(nodes_[pair.a]->name(), nodes_[pair.b]->name()));
        }
        set_locked(pair, State::kNone);
        tell_locked(pair, pair.a, false);
        tell_locked(pair, pair.b, false);
    }
}

// ---------------------------------------------------------------- known links
NodeMesh::Link NodeMesh::link(std::size_t a, std::size_t b) const {
    const std::scoped_lock lock(mutex_);
    const Pair& pair = pair_of(a, b);
    Link link = pair.known;
    link.direct = pair.state == State::kDirect;
    link.by_way = pair.state == State::kByWay;
    return link;
}

std::uint32_t NodeMesh::direct_machines(std::size_t i) const {
    std::uint32_t machines = 0;
    const std::scoped_lock lock(mutex_);
    for (const Pair& pair : pairs_) {
        if (pair.state != State::kDirect) continue;
        if (pair.a == i) machines |= 1u << (pair.b + 1);
        if (pair.b == i) machines |= 1u << (pair.a + 1);
    }
    return machines;
}

void NodeMesh::wait_until_settled(Clock::time_point until, const std::stop_token& stop) const {
    const auto is_open = [&](const Pair& pair) {
        return can_meet(pair) && pair.state != State::kDirect && pair.state != State::kByWay;
    };
    std::unique_lock lock(mutex_);
    // This object gets no event when a node is lost: it checks for that.
    while (!stop.stop_requested() && Clock::now() < until && std::any_of(pairs_.begin(), pairs_.end(), is_open)) {
        settled_.wait_until(lock, stop, std::min(until, Clock::now() + kLookForLosses),
                            [&] { return std::none_of(pairs_.begin(), pairs_.end(), is_open); });
    }
}

std::vector<Message> NodeMesh::take_notes() {
    const std::scoped_lock lock(mutex_);
    for (Pair& pair : pairs_) {
        if (!pair.is_news || pair.state != State::kByWay) continue;
        pair.is_news = false;
        // If one of the two is gone, that is already reported.
        if (!nodes_[pair.a]->is_up() || !nodes_[pair.b]->is_up()) continue;
        pair.is_reported = true;
        notes_.push_back(
            messages::node_pair_by_desktop(nodes_[pair.a]->name(), nodes_[pair.b]->name(), pair.known.why));
    }
    return std::exchange(notes_, {});
}

std::uint64_t NodeMesh::n_changes() const {
    const std::scoped_lock lock(mutex_);
    return n_changes_;
}

}  // namespace offstage::engine
