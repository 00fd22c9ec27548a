#include "engine/cluster/node_journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kRecentTokens = 32;
constexpr double kWorthSayingOfUse = 2;      // times slower or faster
constexpr std::size_t kTokensAfterLoss = 4;  // before a note about how much slower they are

void append(std::vector<Message>& notes, std::vector<Message> more) {
    std::move(more.begin(), more.end(), std::back_inserter(notes));
}

}  // namespace

void NodeJournal::begin(const ConnectedNodes& nodes) {
    const std::scoped_lock lock(mutex_);
    announced_.assign(nodes.size(), 0);
    known_costs_.assign(nodes.size(), {});
    seen_.assign(nodes.size(), {});
}

void NodeJournal::add(std::vector<Message> notes) {
    const std::scoped_lock lock(mutex_);
    append(notes_, std::move(notes));
}

void NodeJournal::announce(const ConnectedNodes& nodes, std::size_t i) {
    const std::scoped_lock lock(mutex_);
    announce_locked(nodes, i);
}

void NodeJournal::announce_locked(const ConnectedNodes& nodes, std::size_t i) {
    const NodeClient& node = nodes[i];
    if (announced_[i] != 0 || !node.is_up() || !node.has_all()) return;
    announced_[i] = 1;
    const LinkCosts::Measured measured = node.costs().measured();
    notes_.push_back(messages::node_is_used(node.name(), node.n_held(), node.grid().size(),
                                            Decimal{measured.latency_us / 1e3, 2}, Decimal{measured.mbps(), 0}));
    const std::string here(kernels::name_of(kernels::cpu_kernels().instruction_set));
    const NodeWelcome welcome = node.welcome();
    if (welcome.instruction_set != here) {
        notes_.push_back(messages::node_rounds_otherwise(node.name(), welcome.instruction_set, here));
    }
}

bool NodeJournal::is_news(std::uint32_t up) const {
    return up != last_up_ || tokens_.empty();
}

void NodeJournal::after_step(const ConnectedNodes& nodes, double us, std::int64_t n_tokens) {
    Token token{us, {}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const RemoteTotals now = nodes.totals(i);
        const RemoteTotals& then = seen_[i];
        token.of_nodes.push_back({now.requests - then.requests, now.rows - then.rows, now.bytes - then.bytes,
                                  now.failed_rows - then.failed_rows, now.compute_us - then.compute_us,
                                  now.network_us - then.network_us, now.waiting_us - then.waiting_us});
        seen_[i] = now;
    }
    const std::uint32_t now = nodes.up();
    const std::scoped_lock lock(mutex_);
    say_who_steps(nodes.peers() != nullptr ? nodes.peers()->alone() : StepsAlone::kNo);
    // Only for helpers among which the dispatcher chooses.
    if (nodes.peers() == nullptr && measured_) say_what_use_found(nodes);
    if (now != last_up_) {
        // Machines came or went during this step: it belongs neither to the old set of
        // machines nor to the new one.
        follow_losses(nodes, now);
        tokens_.clear();
    } else if (n_tokens == 1) {
        tokens_.push_back(std::move(token));
        if (tokens_.size() > kRecentTokens) tokens_.pop_front();
        if (tokens_.size() == kTokensAfterLoss) follow_losses(nodes, now);
    }
    last_up_ = now;
}

// Once for each reason, until the steps are made together again.
void NodeJournal::say_who_steps(StepsAlone alone) {
    if (alone == StepsAlone::kNo || alone == std::exchange(said_alone_, alone)) return;
    notes_.push_back(alone == StepsAlone::kKvType ? messages::node_steps_alone_for_kv : messages::node_steps_alone);
}

// The user already knows new measurements.
void NodeJournal::say_what_use_found(const ConnectedNodes& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const NodeClient& node = nodes[i];
        if (!node.is_up()) continue;
        const std::uint64_t measurement = node.n_connections() + node.n_remeasurements();
        const double us = node.costs().expert_us() + node.costs().transfer_us(1);
        KnownCost& known = known_costs_[i];
        if (known.measurement != measurement) {
            known = {measurement, us};
        } else if (std::max(us, known.us) > kWorthSayingOfUse * std::min(us, known.us)) {
            const Decimal now_ms{us / 1e3, 2}, before_ms{known.us / 1e3, 2};
            notes_.push_back(us > known.us ? messages::node_use_is_slower(node.name(), now_ms, before_ms)
                                           : messages::node_use_is_faster(node.name(), now_ms, before_ms));
            known.us = us;
        }
    }
}

// Notes the time of a token without a lost machine, as soon as it is known.
void NodeJournal::follow_losses(const ConnectedNodes& nodes, std::uint32_t now) {
    const auto mean_us = [&] {
        double sum = 0;
        for (const Token& token : tokens_) sum += token.us;
        return tokens_.empty() ? 0 : sum / static_cast<double>(tokens_.size());
    };
    if (now != last_up_) {
        if ((now & ~last_up_) != 0) lost_.clear();  // one is back: nothing to compare with
        const std::uint32_t gone = last_up_ & ~now;
        if (gone == 0) return;
        if (lost_.empty()) before_us_ = mean_us();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if ((gone >> i & 1u) != 0) lost_ += (lost_.empty() ? "" : ", ") + nodes[i].name();
        }
        return;
    }
    if (lost_.empty()) return;
    // An emulated device's steps have accounted times, which cannot be compared.
    if (const double after_us = mean_us(); before_us_ > 0 && after_us > 0 && !emulated_) {
        notes_.push_back(messages::node_loss_costs(lost_, Decimal{after_us / 1e3, 1}, Decimal{before_us_ / 1e3, 1}));
    }
    lost_.clear();
}

void NodeJournal::fill(Snapshot& snapshot) const {
    const std::scoped_lock lock(mutex_);
    snapshot.machine_tokens = static_cast<std::int64_t>(tokens_.size());
    for (const Token& token : tokens_) {
        const double share = 1 / static_cast<double>(tokens_.size());
        snapshot.machine_token_us += share * token.us;
        for (std::size_t i = 0; i < token.of_nodes.size(); ++i) {
            const RemoteTotals& of = token.of_nodes[i];
            MachineFigures& figures = snapshot.machines[i];
            figures.compute_us += share * of.compute_us;
            figures.network_us += share * of.network_us;
            figures.waiting_us += share * of.waiting_us;
            figures.bytes += share * static_cast<double>(of.bytes);
            figures.rows += share * static_cast<double>(of.rows);
        }
    }
}

std::vector<Message> NodeJournal::take_notes(const ConnectedNodes& nodes) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < nodes.size(); ++i) announce_locked(nodes, i);
    std::vector<Message> notes = std::exchange(notes_, {});
    for (const std::shared_ptr<NodeClient>& node : nodes.all()) append(notes, node->take_notes());
    if (nodes.mesh() != nullptr) append(notes, nodes.mesh()->take_notes());
    if (nodes.peers() != nullptr) append(notes, nodes.peers()->take_notes());
    return notes;
}

}  // namespace offstage::engine
