#include "engine/cluster/peer_group.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/node_messages.h"
#include "engine/run/forward.h"
#include "engine/run/moe_layer.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostStepsOfFeed = 128;   // at once
constexpr int kRestAfterFailure = 16;           // steps
constexpr std::int64_t kTokensOfPatience = 64;  // a longer step may take as many times longer
// The layers whose shares may be stored here: a node is never ahead by more than one.
constexpr std::size_t kLayersHeld = 4;
// A machine that lacks another machine's share of a layer is at most one layer behind
// that machine.
constexpr std::size_t kLayersOnTheirWay = 2;
constexpr std::size_t kMostPartsOfLayer = 64;
constexpr std::size_t kLeastHeldBytes = 2 * kMostMessageBytes;
// Corrections of this machine's costs: a tenth of the way with each layer, as those of
// the others (LinkCosts::correct).
constexpr double kLearns = 0.1, kMostOwnCorrection = 8;
constexpr std::size_t kMostNotesOfShares = 64;
// The assumed cost of an expert on this machine's disk, if reading it was not measured.
constexpr double kUnknownDiskFactor = 10;

NodeFollow follow_of(LoadedModel& model, ActivationType activations) {
    NodeFollow follow;
    follow.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    follow.context = model.summary().context;  // positions stay those of the load
    follow.max_step = model.forward().max_step();
    follow.kv = model.kv().type();
    if (const auto dense = model.request().quant.dense) {
        follow.quantizes_dense = true;
        follow.dense = *dense;
    }
    follow.activations = activations;
    return follow;
}

std::size_t common_beginning(std::span<const WrittenToken> a, std::span<const WrittenToken> b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// The tokens of the step to repeat from `at` on, and how many of them the sequence still
// holds. None if a single sequence would not give the same result: the step had other
// sequences, or its end is not known.
struct StepAgain {
    std::vector<TokenId> tokens;
    std::size_t n_held = 0;
};
StepAgain step_again(const KvSequence& sequence, std::size_t at, std::size_t most) {
    const std::span<const WrittenToken> past = sequence.written();
    const WrittenToken& first = past[at];
    if (first.n_together == WrittenToken::kBesideOthers || first.place != 0) return {};
    const bool any = first.n_together == WrittenToken::kInAnyStep;
    const std::size_t n = any ? most : static_cast<std::size_t>(first.n_together);
    StepAgain step;
    std::size_t end = at;
    for (; end < past.size() && end - at < n; ++end) {
        if (past[end].n_together != first.n_together || past[end].step != first.step) break;
        step.tokens.push_back(past[end].token);
    }
    step.n_held = end - at;
    for (const KvSequence::CutStep& cut : sequence.cut_steps()) {
        if (!any && cut.end == end) step.tokens.insert(step.tokens.end(), cut.rest.begin(), cut.rest.end());
    }
    if (!any && step.tokens.size() != n) return {};
    return step;
}

}  // namespace

PeerGroup::PeerGroup(LoadedModel& model, ActivationType activations, NodePatience patience, NodeMesh& mesh)
    : model_(model),
      follow_(follow_of(model, activations)),
      patience_(patience),
      mesh_(mesh),
      inbox_(std::max(kLeastHeldBytes, kLayersHeld * static_cast<std::size_t>(follow_.max_step) *
                                           static_cast<std::size_t>(model.spec().experts.n_active) *
                                           static_cast<std::size_t>(model.spec().experts.hidden_dim) * sizeof(float))) {
    PeerLinks& links = *this;
    auto executor = std::make_unique<PeerExecutor>(links, model.spec().experts, model.experts(), model.device());
    executor_ = executor.get();
    model.forward().moe().add_executor(std::move(executor));
    mesh_.set_on_ended([this] { send_again(); });
}

PeerGroup::~PeerGroup() {
    mesh_.set_on_ended({});
    model_.forward().set_listener(nullptr);
    model_.forward().limit_steps(std::numeric_limits<std::int64_t>::max());
}

NodeClient::Following PeerGroup::following(std::size_t i) {
    return {follow_, [this, i](FromNode message) { received(i, std::move(message)); },
            [this, i] { lost_connection(i); }};
}

void PeerGroup::use(std::vector<std::shared_ptr<NodeClient>> nodes) {
    nodes_ = std::move(nodes);
    peers_.resize(nodes_.size());
    direct_.resize(nodes_.size());
    {
        const std::scoped_lock lock(mutex_);
        said_.resize(nodes_.size());
    }
    model_.forward().set_listener(this);
    model_.forward().limit_steps(follow_.max_step);  // independent of this machine's re-plans
}

// ---------------------------------------------------------------- what comes from nodes
void PeerGroup::received(std::size_t i, FromNode message) {
    if (const auto* stepped = std::get_if<NodeStepped>(&message)) {
        {
            const std::scoped_lock lock(mutex_);
            if (i >= said_.size()) return;
            Said& said = said_[i];
            (stepped->done ? said.done : said.failed) = stepped->number;
            if (stepped->done) said.before_that = std::exchange(said.done_at, Clock::now());
        }
        if (!stepped->done) inbox_.lose_in(stepped->number, static_cast<std::uint32_t>(i + 1));
        return;
    }
    NodeOutputs outputs = std::get<NodeOutputs>(std::move(message));
    const auto machine = static_cast<std::uint32_t>(i + 1);
    const std::uint32_t machines = machines_;
    if (outputs.step != number_ || (machines >> machine & 1u) == 0) return;
    if (const double us = share_us(i, outputs); us > 0) nodes_[i]->costs().correct_computing(us, outputs.compute_us);
    outputs.machine = machine;
    outputs.lost = false;
    const std::uint32_t others = machines & ~(1u | 1u << machine);
    outputs.direct &= others & mesh_.direct_machines(i);
    NodeOutputs for_others;
    if (others != 0) for_others = outputs;
    if (!inbox_.put(std::move(outputs)) || !send_on(i, std::move(for_others), others)) {
        nodes_[i]->give_up(messages::node_ran_ahead);
    }
}

// Forwards to machines that do not get it directly. False: more messages than a layer can
// have.
bool PeerGroup::send_on(std::size_t i, NodeOutputs outputs, std::uint32_t machines) {
    if (machines == 0) return true;
    const std::scoped_lock lock(direct_mutex_);
    // If a link has ended meanwhile, it is unknown which messages have arrived over it.
    const std::uint32_t direct = outputs.direct & machines & mesh_.direct_machines(i);
    outputs.direct = 0;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if (((machines & ~direct) >> (other + 1) & 1u) != 0) nodes_[other]->send_peer(outputs);
    }
    if (direct == 0) return true;
    auto& kept = direct_[i];
    std::vector<NodeOutputs>& parts = kept[{outputs.step, outputs.layer}];
    if (parts.size() >= kMostPartsOfLayer) return false;
    outputs.direct = direct;
    parts.push_back(std::move(outputs));
    while (kept.size() > kLayersOnTheirWay) kept.erase(kept.begin());
    return true;
}

// Sends again the messages that were sent over ended links; machines that have them drop
// them.
void PeerGroup::send_again() {
    const std::scoped_lock lock(direct_mutex_);
    for (std::size_t i = 0; i < direct_.size(); ++i) {
        const std::uint32_t links = mesh_.direct_machines(i);
        for (auto& [layer, parts] : direct_[i]) {
            for (NodeOutputs& outputs : parts) {
                const std::uint32_t missing = std::exchange(outputs.direct, outputs.direct & links) & ~links;
                if (missing == 0) continue;
                NodeOutputs one = outputs;
                one.direct = 0;
                for (std::size_t other = 0; other < nodes_.size(); ++other) {
                    if ((missing >> (other + 1) & 1u) != 0) nodes_[other]->send_peer(one);
                }
            }
        }
    }
}

// For the running step only; the connection may still exist.
void PeerGroup::lost_connection(std::size_t i) {
    inbox_.lose(static_cast<std::uint32_t>(i + 1));
}

// The predicted time of a machine's share of a layer: for a single message with all of it
// and one row of each expert. Otherwise 0, because it would not show the time of a row.
double PeerGroup::share_us(std::size_t i, const NodeOutputs& outputs) const {
    if (outputs.part != 0 || !outputs.last || !learns()) return 0;
    const ExpertGrid& grid = model_.spec().experts;
    double us = 0;
    for (const ComputeExpert& expert : outputs.experts) {
        if (expert.n_rows != 1) return 0;
        us += nodes_[i]->costs().expert_us(static_cast<double>(grid.expert_bytes(expert.format)), 1);
    }
    return us;
}

// ---------------------------------------------------------------- what goes to them
void PeerGroup::send(NodeOutputs outputs, std::uint32_t) {
    if (each_layer_) each_layer_();
    learn_own(outputs);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines_ >> (i + 1) & 1u) != 0) nodes_[i]->send_peer(outputs);
    }
}

std::optional<PeerInbox::Arrived> PeerGroup::wait(std::int32_t layer, std::uint32_t machine, double layer_us) {
    const double longer = std::max(1.0, static_cast<double>(n_tokens_) / static_cast<double>(kTokensOfPatience));
    const double most_s = std::max(patience_.least_answer_s, patience_.most_answer_s * longer);
    // It may have to catch up with missing tokens first.
    const bool is_late = layer == 0 && peers_[machine - 1].n_sure < n_past_;
    const double wait_s =
        std::clamp(patience_.answer_factor * layer_us / 1e6, is_late ? most_s : patience_.least_answer_s, most_s);
    const auto after = [begin = Clock::now()](double seconds) {
        return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    };
    // The machine may itself wait for another machine's share that a link between the two
    // has lost. So its links are given up long before the machine: messages that were
    // sent over them are then sent from here.
    const auto half = after(wait_s / 2), until = after(wait_s);
    auto arrived = inbox_.take(layer, machine, half);
    if (!arrived && Clock::now() >= half) {
        mesh_.drop(machine - 1, messages::node_is_silent(Decimal{wait_s / 2, 1}));
        arrived = inbox_.take(layer, machine, until);
    }
    // A machine that has reported a reason, or whose connection has ended, is not silent.
    if (!arrived && Clock::now() >= until) nodes_[machine - 1]->give_up(messages::node_is_silent(Decimal{wait_s, 1}));
    return arrived;
}

void PeerGroup::lost(std::int32_t layer, std::uint32_t machine, const Message& why) {
    machines_ &= ~(1u << machine);
    Peer& peer = peers_[machine - 1];
    if (peer.n_sure < n_past_) {  // it has not caught up
        peer.rests = kRestAfterFailure;
        peer.step_s = 0;
    }
    peer.holds.clear();  // its state is unknown
    if (!why.empty()) nodes_[machine - 1]->give_up(messages::node_sent_nonsense(why));
    nodes_[machine - 1]->send_peer(NodeAbandon{number_});  // if it is still there, it stops waiting
    NodeOutputs message;
    message.step = number_;
    message.layer = layer;
    message.machine = machine;
    message.lost = true;
    message.activations = follow_.activations;
    // Outputs that it has sent directly to some of the others count for all, and must
    // arrive before this.
    mesh_.drop(machine - 1, why.empty() ? Message(messages::node_link_ended) : why);
    send(std::move(message), machines_);
}

// ---------------------------------------------------------------- steps
void PeerGroup::begin_step(std::span<const Segment> segments, StepLogits wanted, std::int64_t n_prompt) {
    if (before_step_) before_step_();
    const ExpertThetas& thetas = model_.forward().moe().thetas();
    alone_ = model_.kv().type() != follow_.kv                ? StepsAlone::kKvType
             : segments.size() != 1 || !thetas.one_for_all() ? StepsAlone::kAnswer
                                                             : StepsAlone::kNo;
    if (alone_ != StepsAlone::kNo) return;
    sequence_ = segments.front().sequence;
    const std::span<const WrittenToken> past = sequence_->written();
    n_past_ = past.size();
    n_tokens_ = static_cast<std::int64_t>(segments.front().tokens.size());
    const bool begins_answer = n_tokens_ > 1 || n_past_ != expected_past_;
    expected_past_ = n_past_ + static_cast<std::size_t>(n_tokens_);
    std::uint32_t machines = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (takes_part(i, past)) machines |= 1u << (i + 1);
    }
    if (machines == 0) return;
    machines |= 1;
    follow_shares(machines, begins_answer);
    NodeStep step;
    step.number = ++number_;
    step.machines = machines;
    step.n_kept = static_cast<std::int64_t>(n_past_);
    step.n_prompt = n_prompt;
    step.theta = thetas.mean();
    step.tokens.assign(segments.front().tokens.begin(), segments.front().tokens.end());
    inbox_.begin_step(step.number);
    machines_ = machines;
    // After the last layer's attention the others continue with the last token alone.
    const bool is_last_token = n_tokens_ == 1 || wanted == StepLogits::kLast;
    const bool shares_all = is_last_token || !Forward::ends_with_experts(model_.spec());
    const std::int64_t n_shared = model_.spec().experts.n_layers - (shares_all ? 0 : 1);
    executor_->begin_step({step.number, machines, 0, &shares_.owners, follow_.activations, n_shared, n_shared});
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines >> (i + 1) & 1u) == 0) continue;
        send_shares(i);
        // If the connection has just ended, its share is missed in the first layer.
        if (!nodes_[i]->send_peer(step)) lost_connection(i);
    }
}

void PeerGroup::end_step(bool done) {
    const std::uint32_t machines = machines_.exchange(0);
    executor_->end_step();
    if (machines == 0) return;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if ((machines >> (i + 1) & 1u) == 0) continue;
        Peer& peer = peers_[i];
        if (!done) {  // nor the tokens that it was to catch up with, if it did not get to them
            peer.holds.resize(peer.n_sure);
            nodes_[i]->send_peer(NodeAbandon{number_});
            continue;
        }
        peer.holds.resize(n_past_);
        const std::span<const WrittenToken> written = sequence_->written();
        peer.holds.insert(peer.holds.end(), written.begin() + static_cast<std::ptrdiff_t>(n_past_), written.end());
    }
}

void PeerGroup::look_what_it_said(std::size_t i) {
    Peer& peer = peers_[i];
    if (peer.feeding == 0) return;
    Said said;
    {
        const std::scoped_lock lock(mutex_);
        said = said_[i];
    }
    const std::uint64_t first = peer.feeding + 1 - peer.fed_ends.size();
    if (said.done >= first && said.done <= peer.feeding) {
        const std::size_t holds = peer.fed_ends[said.done - first];
        peer.holds.assign(peer.fed.begin(), peer.fed.begin() + static_cast<std::ptrdiff_t>(holds));
        const Clock::time_point begun = std::max(said.before_that, peer.fed_at);
        peer.step_s = std::chrono::duration<double>(said.done_at - begun).count();
    }
    if (std::max(said.done, said.failed) < peer.feeding) return;
    // Steps of a feed follow each other: if one fails, all later ones fail.
    if (said.done != peer.feeding) {
        peer.holds.clear();
        peer.rests = kRestAfterFailure;
    }
    peer.feeding = 0;
}

// It holds the part that it has reported as done.
void PeerGroup::stop_feeding(std::size_t i) {
    nodes_[i]->send_peer(NodeAbandon{std::exchange(peers_[i].feeding, 0)});
}

bool PeerGroup::takes_part(std::size_t i, std::span<const WrittenToken> past) {
    NodeClient& node = *nodes_[i];
    Peer& peer = peers_[i];
    if (!node.follows()) return false;
    if (const std::uint64_t now = node.following_number(); now != peer.following) {
        peer = {};
        peer.following = now;
        const std::scoped_lock lock(mutex_);
        said_[i] = {};
    }
    look_what_it_said(i);
    if (peer.feeding != 0 && common_beginning(peer.fed, past) < peer.fed.size()) stop_feeding(i);
    if (peer.feeding != 0) {
        if (Clock::now() > peer.fed_by) node.give_up(messages::node_is_silent(Decimal{feed_s(peer.fed.size()), 1}));
        return false;
    }
    const std::size_t same = common_beginning(peer.holds, past);
    peer.n_sure = same;
    if (same == past.size()) return true;
    if (peer.rests > 0) {
        --peer.rests;
        return false;
    }
    return feed(i, past, same) && makes_up_at_once(i, past, same);
}

// The missing tokens have been sent. If, by the time of its last step, it can catch up
// quickly, this machine waits for it; otherwise it might not catch up before the answer
// ends.
bool PeerGroup::makes_up_at_once(std::size_t i, std::span<const WrittenToken> past, std::size_t begin) {
    Peer& peer = peers_[i];
    const double takes_s = peer.step_s * static_cast<double>(past.size() - begin);
    if (peer.fed.size() != past.size() || !(takes_s > 0) || takes_s > patience_.least_answer_s) return false;
    peer.feeding = 0;
    peer.n_sure = peer.holds.size();
    peer.holds = std::move(peer.fed);
    return true;
}

// The time that a node may take to catch up with this many tokens.
double PeerGroup::feed_s(std::size_t n_tokens) const {
    return patience_.most_answer_s *
           std::max(1.0, static_cast<double>(n_tokens) / static_cast<double>(kTokensOfPatience));
}

// Sends the steps that the machine lacks, in the form in which they were made here.
// False: there are none, or the machine has gone.
bool PeerGroup::feed(std::size_t i, std::span<const WrittenToken> past, std::size_t begin) {
    Peer& peer = peers_[i];
    if (past[begin].n_together > 0) begin -= static_cast<std::size_t>(past[begin].place);
    if (shares_.owners.empty()) follow_shares(1, false);
    send_shares(i);
    NodeStep step;
    step.theta = model_.forward().moe().thetas().mean();
    peer.holds.resize(begin);
    peer.fed_ends.clear();
    peer.fed_at = Clock::now();
    std::size_t at = begin;
    while (at < past.size() && peer.fed_ends.size() < kMostStepsOfFeed) {
        const bool any = past[at].n_together == WrittenToken::kInAnyStep;
        StepAgain again = step_again(*sequence_, at, static_cast<std::size_t>(follow_.max_step));
        if (again.tokens.empty()) break;
        step.n_kept = static_cast<std::int64_t>(at);
        step.n_prompt = any ? kSmallestStep + 1 : 0;
        step.tokens = std::move(again.tokens);
        at += again.n_held;
        step.number = ++number_;
        if (!nodes_[i]->send_peer(step)) {
            peer.feeding = 0;
            return false;
        }
        peer.feeding = step.number;
        peer.fed_ends.push_back(at);
    }
    peer.fed.assign(past.begin(), past.begin() + static_cast<std::ptrdiff_t>(at));
    peer.fed_by = peer.fed_at + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(feed_s(at)));
    if (peer.feeding == 0) peer.rests = kRestAfterFailure;
    return peer.feeding != 0;
}

// ---------------------------------------------------------------- shares
std::string PeerGroup::deal() const {
    const ExpertGrid& grid = model_.spec().experts;
    const CostModel& cost = model_.cost();
    const bool known = !cost.table().cpu_expert.empty();
    return deal_owners(grid, model_.popularity(), static_cast<std::uint32_t>(nodes_.size() + 1),
                       [&](std::uint32_t machine, std::size_t i) {
                           const kernels::WeightType format = model_.experts().format(i);
                           if (machine == 0) {
                               const Place place =
                                   model_.experts().place(static_cast<std::int64_t>(i) / grid.n_experts,
                                                          static_cast<std::int64_t>(i) % grid.n_experts);
                               const double read_us = cost.disk_read(format).us;
                               if (!known) return place == Place::kDisk ? kUnknownDiskFactor : 1.0;
                               if (place == Place::kDevice) return cost.gpu_us(1, format);
                               return own_factor_ * cost.cpu_us(1, format) + (place == Place::kDisk ? read_us : 0);
                           }
                           const NodeClient& node = *nodes_[machine - 1];
                           if ((shared_by_ >> machine & 1u) == 0 || !node.holds(i, format)) return -1.0;
                           const double us = node.costs().expert_us(static_cast<double>(grid.expert_bytes(format)), 1);
                           return known ? us : 1.0;
                       });
}

// With an accelerator the dispatcher corrects this machine's costs. Without one a share
// of a layer does: experts in RAM, one row of each.
void PeerGroup::learn_own(const NodeOutputs& outputs) {
    const CostModel& cost = model_.cost();
    if (!learns() || cost.table().has_accelerator() || cost.table().cpu_expert.empty()) return;
    if (outputs.part != 0 || !outputs.last || !(outputs.compute_us > 0)) return;
    double us = 0;
    for (const ComputeExpert& expert : outputs.experts) {
        if (expert.n_rows != 1 || model_.experts().place(outputs.layer, expert.expert) != Place::kRam) return;
        us += cost.cpu_us(1, expert.format);
    }
    if (!(us > 0)) return;
    own_factor_ = std::clamp(own_factor_ * std::pow(outputs.compute_us / (us * own_factor_), kLearns),
                             1 / kMostOwnCorrection, kMostOwnCorrection);
}

std::vector<double> PeerGroup::costs_us() const {
    const CostModel& cost = model_.cost();
    if (cost.table().cpu_expert.empty()) return {};
    std::vector<double> us = {own_factor_ * cost.cpu_us(1)};
    for (const auto& node : nodes_) us.push_back(node->costs().expert_us());
    return us;
}

// Relative to this machine: if all have become slower by the same factor, a new
// distribution would equal the old one. In the middle of an answer only a slower machine,
// for which all wait in each layer, is worth a new one.
bool PeerGroup::cost_otherwise(const std::vector<double>& costs_us, std::uint32_t machines, bool begins_answer) const {
    if (!learns() || costs_us.empty() || costs_us.size() != shares_costs_us_.size()) return false;
    for (std::size_t m = 1; m < costs_us.size(); ++m) {
        if ((machines >> m & 1u) == 0) continue;
        const double now = costs_us[m] * shares_costs_us_[0], then = shares_costs_us_[m] * costs_us[0];
        if (begins_answer && std::max(now, then) > patience_.deal_anew_factor * std::min(now, then)) return true;
        if (!begins_answer && now > patience_.deal_amid_factor * then) return true;
    }
    return false;
}

// Distributes the experts anew if machines come or go, hold other experts, or experts of
// this machine have moved; and if the costs that the distribution was based on have
// changed.
void PeerGroup::follow_shares(std::uint32_t machines, bool begins_answer) {
    std::uint64_t changes = 0;
    for (const auto& node : nodes_) changes += node->n_changes();
    std::string formats;
    for (const kernels::WeightType format : model_.experts().formats()) formats += static_cast<char>(format);
    const std::vector<Place>& places = model_.plan().places;
    const bool same =
        machines == shared_by_ && changes == shares_changes_ && formats == shares_.formats && places == shares_places_;
    std::vector<double> costs = costs_us();
    if (same && !cost_otherwise(costs, machines, begins_answer)) return;
    shared_by_ = machines;
    shares_changes_ = changes;
    shares_places_ = places;
    shares_costs_us_ = std::move(costs);
    std::string owners = deal();
    if (owners == shares_.owners && formats == shares_.formats) return;
    std::swap(shares_.owners, owners);
    if (same) note_shares(owners);
    shares_.formats = std::move(formats);
    ++shares_version_;
    const std::scoped_lock lock(mutex_);
    owners_in_force_ = shares_.owners;
    ++n_deals_;
}

void PeerGroup::note_shares(const std::string& before) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto share = [&](const std::string& owners) {
            return std::count(owners.begin(), owners.end(), static_cast<char>(i + 1));
        };
        if (share(shares_.owners) == share(before) || notes_.size() >= kMostNotesOfShares) continue;
        notes_.push_back(messages::node_share_changed(nodes_[i]->name(), share(shares_.owners), shares_.owners.size(),
                                                      share(before)));
    }
}

std::vector<Message> PeerGroup::take_notes() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(notes_, {});
}

std::string PeerGroup::owners() const {
    const std::scoped_lock lock(mutex_);
    return owners_in_force_;
}

void PeerGroup::send_shares(std::size_t i) {
    Peer& peer = peers_[i];
    if (peer.shares_sent == shares_version_) return;
    NodeShares shares = shares_;
    shares.machine = static_cast<std::uint32_t>(i + 1);
    if (nodes_[i]->send_peer(std::move(shares))) peer.shares_sent = shares_version_;
}

}  // namespace offstage::engine
