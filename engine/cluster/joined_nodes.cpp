#include "engine/cluster/joined_nodes.h"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/run/dense_costs.h"
#include "engine/run/measurements.h"
#include "engine/run/moe_layer.h"
#include "engine/statistics.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMeasuredTokens = 64;
constexpr double kMeasuringSeconds = 0.5;
constexpr std::size_t kRecentTokens = 32;
constexpr double kWorthSayingOfUse = 2;      // times slower or faster
constexpr std::size_t kTokensAfterLoss = 4;  // before a note about how much slower they are

// The time until a thread runs that another one has woken after some idle time: the
// median of some.
double thread_wake_us() {
    using Clock = std::chrono::steady_clock;
    constexpr int kTimes = 31;
    constexpr std::chrono::microseconds kIdle{200};  // about a message's time
    std::mutex mutex;
    std::condition_variable changed;
    Clock::time_point woken;
    int n_said = 0;
    std::vector<double> times;
    std::jthread other([&] {
        std::unique_lock lock(mutex);
        for (int i = 1; i <= kTimes; ++i) {
            changed.wait(lock, [&] { return n_said >= i; });
            times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - woken).count());
        }
    });
    for (int i = 1; i <= kTimes; ++i) {
        std::this_thread::sleep_for(kIdle);
        const std::scoped_lock lock(mutex);
        woken = Clock::now();
        n_said = i;
        changed.notify_all();
    }
    other.join();
    return median(times);
}

}  // namespace

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

JoinedNodes::JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                         const LoadProgressFn& progress, const std::stop_token& stop)
    : model_(model), settings_(settings), addresses_(std::move(addresses)), shape_switch_(settings.choose_again_s) {
    if (addresses_.empty()) return;
    if (addresses_.size() > kMostNodes) {
        throw Error(ErrorKind::kInvalidInput, messages::too_many_nodes(addresses_.size(), kMostNodes));
    }
    try {
        if (chooses()) {
            choose_shape(progress, stop);
        } else {
            const bool decentralised = settings.shape == NodeShape::kDecentralised;
            connect(decentralised ? NodeShape::kDecentralised : NodeShape::kHelpers, lists(), progress, stop);
        }
    } catch (...) {
        disconnect();
        throw;
    }
    if (settings.activations == ActivationType::kBf16) notes_.push_back(messages::node_activations_rounded);
}

JoinedNodes::JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                         Earlier earlier)
    : model_(model),
      settings_(settings),
      addresses_(std::move(addresses)),
      counted_(earlier.counted),
      is_last_(earlier.is_last),
      shape_switch_(earlier.shape_switch),
      earlier_links_(std::move(earlier.node_links)),
      links_longer_us_(std::move(earlier.links_longer_us)),
      pause_us_(earlier.pause_us),
      wake_us_(earlier.wake_us),
      request_us_(earlier.request_us),
      share_us_(earlier.share_us),
      notes_(std::move(earlier.notes)),
      as_helpers_(earlier.helpers),
      as_peers_(earlier.peers) {
    // Machines that are away get their old experts, if they come back before the others
    // have these.
    const std::vector<std::uint8_t> there = by_node(counted_);
    Lists all = lists(), of_these = lists_of(there);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (there[i] != 0) all[i] = std::move(of_these[i]);
    }
    try {
        start_connecting(earlier.shape, all, earlier.shape == NodeShape::kDecentralised);
        put_to_use();
    } catch (...) {
        disconnect();
        throw;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (there[i] == 0) last_up_at_[i] = {};
    }
    dealt_.counted = there;
}

JoinedNodes::Lists JoinedNodes::lists() const {
    return lists_of(std::vector<std::uint8_t>(addresses_.size(), 1));
}

JoinedNodes::Lists JoinedNodes::lists_of(const std::vector<std::uint8_t>& counted) const {
    const auto n = static_cast<std::size_t>(std::count(counted.begin(), counted.end(), 1));
    Lists of_counted;
    if (n > 0) {
        of_counted =
            share_out_experts(n, model_.spec().experts, model_.plan(), model_.experts().formats(), model_.popularity());
    }
    Lists lists(counted.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < counted.size(); ++i) {
        if (counted[i] != 0) lists[i] = std::move(of_counted[next++]);
    }
    return lists;
}

std::vector<std::uint8_t> JoinedNodes::by_node(std::uint32_t machines) const {
    std::vector<std::uint8_t> is_one;
    for (std::size_t i = 0; i < addresses_.size(); ++i) is_one.push_back(machines >> i & 1u);
    return is_one;
}

void JoinedNodes::connect(NodeShape shape, const Lists& lists, const LoadProgressFn& progress,
                          const std::stop_token& stop) {
    start_connecting(shape, lists, shape == NodeShape::kDecentralised);
    measure_here(settings_.forecasts, stop);
    wait_for_experts(progress, stop);
    if (settings_.waits) wait_for_links(links_until(), stop);
    if (settings_.forecasts) measure_pauses(stop);
    put_to_use();
}

void JoinedNodes::start_connecting(NodeShape shape, const Lists& lists, bool with_links) {
    const ExpertGrid& grid = model_.spec().experts;
    const NodeHello hello = hello_of(model_, settings_.desktop);
    if (with_links) {
        mesh_ =
            std::make_unique<NodeMesh>(addresses_, settings_.patience.links_again_s, settings_.forecasts || chooses());
        mesh_->set_longer_us(links_longer_us_);
    }
    if (shape == NodeShape::kDecentralised) {
        peers_ = std::make_unique<PeerGroup>(model_, settings_.activations, settings_.patience, *mesh_);
    }
    const auto measuring_turn = std::make_shared<MeasuringTurn>();
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
        nodes_.push_back(
            std::make_shared<NodeClient>(addresses_[i], hello, grid, settings_.activations, settings_.patience));
        if (peers_) nodes_.back()->set_following(peers_->following(i));
        if (mesh_) nodes_.back()->set_meeting(mesh_->meeting(i));
        nodes_.back()->set_measuring_turn(measuring_turn);
        nodes_.back()->costs().set_between_layers(request_us_, share_us_);
        nodes_.back()->set_last_step([this] {
            return std::chrono::steady_clock::time_point(std::chrono::steady_clock::duration(last_step_.load()));
        });
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
    n_wanted_.clear();
    room_bytes_.assign(nodes_.size(), 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        n_wanted_.push_back(lists[i].size());
        nodes_[i]->start(lists[i]);
    }
    announced_.assign(nodes_.size(), 0);
    known_costs_.assign(nodes_.size(), {});
    last_up_at_.assign(nodes_.size(), std::chrono::steady_clock::now());
    dealt_ = {std::vector<std::uint8_t>(nodes_.size(), 1), model_.plan().places, model_.experts().formats()};
}

void JoinedNodes::wait_for_experts(const LoadProgressFn& progress, const std::stop_token& stop) {
    const auto all = static_cast<std::uint64_t>(model_.spec().experts.size());
    for (std::size_t i = 0; i < nodes_.size() && settings_.waits; ++i) {
        const std::shared_ptr<NodeClient>& node = nodes_[i];
        node->wait_until_settled(
            [&](std::int64_t held) {
                if (!progress) return;
                progress({messages::loading_experts_elsewhere, static_cast<std::uint64_t>(held), all, false});
            },
            stop);
        if (progress) progress({messages::loading_experts_elsewhere, all, all, false});
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_experts_elsewhere);
        announce(i);
    }
}

std::chrono::steady_clock::time_point JoinedNodes::links_until() const {
    return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(settings_.links_s));
}

void JoinedNodes::wait_for_links(std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
    if (mesh_) mesh_->wait_until_settled(until, stop);
}

void JoinedNodes::put_to_use() {
    const ExpertGrid& grid = model_.spec().experts;
    for (std::size_t i = 0; i < nodes_.size() && !peers_; ++i) {
        auto executor =
            std::make_unique<RemoteExecutor>(nodes_[i], grid, model_.experts(), model_.host(), settings_.use);
        if (executors_.empty()) {
            executor->set_after_step([this] { follow_plan(); });
            executor->set_each_layer([this] { note_step(); });
        }
        executors_.push_back(executor.get());
        model_.forward().moe().add_executor(std::move(executor));
    }
    seen_.assign(nodes_.size(), {});
    last_up_ = up();
}

void JoinedNodes::disconnect() {
    for (RemoteExecutor* executor : executors_) {
        executor->set_after_step({});
        executor->set_each_layer({});
    }
    if (mesh_) {
        for (Message& note : mesh_->take_notes()) notes_.push_back(std::move(note));
        links_longer_us_ = mesh_->longer_us();
    }
    for (const std::shared_ptr<NodeClient>& node : nodes_) node->stop();
    const bool any = !executors_.empty() || peers_ != nullptr;
    executors_.clear();
    peers_.reset();
    if (any) model_.forward().moe().remove_executors();
    mesh_.reset();
    nodes_.clear();
}

// Another plan has other experts on disk, or in other formats; and the others take over
// the experts of a machine that stays away.
void JoinedNodes::follow_plan() {
    if (mesh_) mesh_->retry();
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::uint8_t> counted(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->is_up()) last_up_at_[i] = now;
        counted[i] = now - last_up_at_[i] < std::chrono::duration<double>(settings_.deal_anew_s) ? 1 : 0;
    }
    const bool any = std::find(counted.begin(), counted.end(), 1) != counted.end();
    const Plan& plan = model_.plan();
    const std::vector<kernels::WeightType> formats = model_.experts().formats();
    if (!any || (counted == dealt_.counted && plan.places == dealt_.places && formats == dealt_.formats)) return;
    const ExpertGrid& grid = model_.spec().experts;
    Lists lists = lists_of(counted);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (counted[i] == 0) continue;
        std::vector<NodeExpert>& list = lists[i];
        // Do not request experts beyond a machine's room: it would keep the ones that it
        // has instead.
        list.resize(n_within(list, grid, room_of(i)));
        n_wanted_[i] = list.size();
        nodes_[i]->want(std::move(list));
    }
    dealt_ = {std::move(counted), plan.places, formats};
}

// Bytes of room for experts. A machine that makes the steps also has attention and the KV
// cache in its memory; its actual room shows when it cannot hold all requested experts.
// 0: unknown.
std::uint64_t JoinedNodes::room_of(std::size_t i) {
    const NodeClient& node = *nodes_[i];
    if (node.is_up() && node.has_all() && static_cast<std::size_t>(node.n_held()) < n_wanted_[i]) {
        const ExpertGrid& grid = model_.spec().experts;
        room_bytes_[i] = 0;
        for (std::size_t e = 0; e < static_cast<std::size_t>(grid.size()); ++e) {
            if (const auto format = node.held_format(e)) room_bytes_[i] += grid.expert_bytes(*format);
        }
    }
    return room_bytes_[i] > 0 ? room_bytes_[i] : node.welcome().ram_bytes;
}

JoinedNodes::~JoinedNodes() {
    disconnect();
}

JoinMachinesFn joining(std::vector<NodeAddress> addresses, const JoinSettings& settings) {
    return [addresses = std::move(addresses), settings](LoadedModel& model, const std::stop_token& stop) {
        return std::make_unique<JoinedNodes>(model, addresses, settings, LoadProgressFn{}, stop);
    };
}

// Once, when all that it will hold is there.
void JoinedNodes::announce(std::size_t i) {
    const NodeClient& node = *nodes_[i];
    if (announced_[i] != 0 || !node.is_up() || !node.has_all()) return;
    announced_[i] = 1;
    const LinkCosts::Measured measured = node.costs().measured();
    notes_.push_back(messages::node_is_used(node.name(), node.n_held(), model_.spec().experts.size(),
                                            Decimal{measured.latency_us / 1e3, 2},
                                            Decimal{measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0, 0}));
    const std::string here(kernels::name_of(kernels::cpu_kernels().instruction_set));
    const NodeWelcome welcome = node.welcome();
    if (welcome.instruction_set != here) {
        notes_.push_back(messages::node_rounds_otherwise(node.name(), welcome.instruction_set, here));
    }
}

// A load on the CPU alone measures nothing, because there is nothing to choose. With
// other machines there is.
void JoinedNodes::measure_here(bool forecasts, const std::stop_token& stop) {
    CostModel& cost = model_.cost();
    Measurements measurements = model_.measurements();
    if (cost.table().cpu_expert.empty()) {
        std::vector<kernels::WeightType> formats = model_.experts().formats();
        std::sort(formats.begin(), formats.end());
        formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
        CostModel measured = measurements.costs(
            {model_.device(), model_.host(), {}, stop}, formats,
            {.largest = kMeasuredTokens, .budget_s = kMeasuringSeconds, .reserved = true, .dense = forecasts});
        for (const ModelDemand::Format& row : model_.demand().formats) {
            measured.set_expert_bytes(row.format, model_.source().expert_bytes(row.format));
        }
        cost = std::move(measured);
    }
    if (lacks_disk_cost(model_.request(), model_.device().info(), cost, model_.plan())) {
        cost.set_disk(measurements.disk(model_.source().master(), model_.host(), stop),
                      disk_reads_beside(measurements.reads(), model_.device().info()));
    }
}

// Between two layers one of the machines, if any is up, computes a row of an expert. For
// helpers this machine waits for it; for the exchange of shares, another row is on its
// way meanwhile. The extra time of messages between layers is assumed to be the same for
// all machines.
void JoinedNodes::measure_pauses(const std::stop_token& stop) {
    if (wake_us_ > 0 || !model_.device().shares_host_memory()) return;
    const auto node = std::find_if(nodes_.begin(), nodes_.end(), [](const auto& one) { return one->is_up(); });
    if (node == nodes_.end()) return;
    const std::vector<NodeExpert> experts = (*node)->experts_to_probe();
    if (experts.empty()) return;
    const LoadRequest& request = model_.request();
    const DenseProbeModel layers{model_.spec(), model_.plan_inputs().master, request.quant.dense, request.kv};
    const LinkCosts& link = (*node)->costs();
    const LinkCosts::Measured measured = link.measured();
    std::size_t n_sent = 0, n_lost = 0;
    const auto send = [&] { return (*node)->send_probe(experts[n_sent++ % experts.size()], 1); };
    std::vector<double> computing;
    const auto take = [&](std::uint64_t number) {
        const auto reply = (*node)->wait_for_probe(number, 1);
        if (reply) computing.push_back(reply->compute_us);
        n_lost += reply ? 0 : 1;
    };
    const PausedLayers asked = measure_paused_layers(
        layers, model_.host(), [&](bool) { take(send()); }, stop);
    const double request_us = asked.pause_us - median(std::exchange(computing, {})) - link.transfer_us(1);
    std::uint64_t first = 0;
    const auto exchange = [&](bool begins) {
        if (begins) {
            if (first != 0) take(first);
            first = send();
            std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(measured.latency_us / 2));
        }
        const std::uint64_t second = send();
        take(std::exchange(first, second));
    };
    const PausedLayers shared = measure_paused_layers(layers, model_.host(), exchange, stop);
    if (first != 0) take(first);
    wake_us_ = thread_wake_us();
    if (n_lost > 0 || stop.stop_requested()) return;
    pause_us_ = asked.longer_us;
    if (!(asked.pause_us > 0 && shared.pause_us > 0)) return;
    // With two requests that follow each other at half of their round trip, each layer
    // and its pause take half of one request's time, its computing and a layer. A layer's
    // extra time over that beside a single request counts for the share as well.
    const double message_us = shared.pause_us + (shared.layer_us - median(computing)) / 2;
    const double share_us = message_us - measured.message_us() - measured.row_bytes * measured.us_per_byte +
                            shared.longer_us - asked.longer_us;
    request_us_ = request_us;
    share_us_ = share_us;
    for (const std::shared_ptr<NodeClient>& one : nodes_) one->costs().set_between_layers(request_us, share_us);
}

std::vector<JoinedNodes::Figures> JoinedNodes::figures() const {
    std::vector<Figures> figures;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const LinkCosts::Measured measured = nodes_[i]->costs().measured();
        figures.push_back({nodes_[i]->name(), nodes_[i]->is_up(), nodes_[i]->n_held(), measured.latency_us,
                           measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0, totals_of(i)});
    }
    return figures;
}

RemoteTotals JoinedNodes::totals_of(std::size_t i) const {
    return peers_ ? peers_->totals(i) : executors_[i]->totals();
}

std::uint32_t JoinedNodes::up() const {
    std::uint32_t up = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) up |= nodes_[i]->is_up() ? 1u << i : 0;
    return up;
}

void JoinedNodes::after_step(double us, std::int64_t n_tokens) {
    note_step();
    Token token{us, {}};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const RemoteTotals now = totals_of(i);
        const RemoteTotals& then = seen_[i];
        token.of_nodes.push_back({now.requests - then.requests, now.rows - then.rows, now.bytes - then.bytes,
                                  now.failed_rows - then.failed_rows, now.compute_us - then.compute_us,
                                  now.network_us - then.network_us, now.waiting_us - then.waiting_us});
        seen_[i] = now;
    }
    const std::uint32_t now = up();
    // At the first token that these machines decode together.
    const bool others = now != last_up_ || tokens_.empty() || n_remeasurements() != seen_remeasurements_;
    if (settings_.forecasts && n_tokens == 1 && others) forecast_anew();
    const std::scoped_lock lock(mutex_);
    say_who_steps();
    say_what_use_found();
    if (now != last_up_) {
        // Machines came or went during this step: it belongs neither to the old set of
        // machines nor to the new one.
        follow_losses(now);
        tokens_.clear();
    } else if (n_tokens == 1) {
        tokens_.push_back(std::move(token));
        if (tokens_.size() > kRecentTokens) tokens_.pop_front();
        if (tokens_.size() == kTokensAfterLoss) follow_losses(now);
    }
    last_up_ = now;
}

// Once for each reason, until the steps are made together again.
void JoinedNodes::say_who_steps() {
    const StepsAlone alone = peers_ ? peers_->alone() : StepsAlone::kNo;
    if (alone == StepsAlone::kNo || alone == std::exchange(said_alone_, alone)) return;
    notes_.push_back(alone == StepsAlone::kKvType ? messages::node_steps_alone_for_kv : messages::node_steps_alone);
}

// Only for helpers among which the dispatcher chooses. The user already knows new
// measurements.
void JoinedNodes::say_what_use_found() {
    for (std::size_t i = 0; i < executors_.size() && settings_.use == NodeUse::kMeasured; ++i) {
        const NodeClient& node = *nodes_[i];
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
void JoinedNodes::follow_losses(std::uint32_t now) {
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
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if ((gone >> i & 1u) != 0) lost_ += (lost_.empty() ? "" : ", ") + nodes_[i]->name();
        }
        return;
    }
    if (lost_.empty()) return;
    // An emulated device's steps have accounted times, which cannot be compared.
    if (const double after_us = mean_us(); before_us_ > 0 && after_us > 0 && !model_.summary().emulated) {
        notes_.push_back(messages::node_loss_costs(lost_, Decimal{after_us / 1e3, 1}, Decimal{before_us_ / 1e3, 1}));
    }
    lost_.clear();
}

std::uint64_t JoinedNodes::revision() const {
    std::uint64_t revision = 0;
    for (const std::shared_ptr<NodeClient>& node : nodes_) revision += node->n_changes();
    return revision + n_remeasurements() + (peers_ ? peers_->n_deals() : 0) + (mesh_ ? mesh_->n_changes() : 0);
}

std::uint64_t JoinedNodes::n_remeasurements() const {
    std::uint64_t n = 0;
    for (const std::shared_ptr<NodeClient>& node : nodes_) n += node->n_remeasurements();
    return n;
}

void JoinedNodes::note_step() {
    last_step_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

void JoinedNodes::fill(Snapshot& snapshot) const {
    const ExpertGrid& grid = model_.spec().experts;
    snapshot.elsewhere.assign(nodes_.empty() ? 0 : static_cast<std::size_t>(grid.size()), 0);
    const std::string owners = peers_ ? peers_->owners() : std::string();
    snapshot.expert_owners.assign(owners.begin(), owners.end());
    MachineShape& shape = snapshot.machine_shape;
    shape.decentralised = peers_ != nullptr;
    shape.automatic = chooses();
    shape.alone = peers_ ? peers_->alone() : StepsAlone::kNo;
    shape.late = chooses() && (up() & ~counted_) != 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const NodeClient& node = *nodes_[i];
        MachineFigures figures;
        figures.name = node.name();
        NodeClient::Status status = node.status();
        figures.state = status.state;
        figures.why = std::move(status.why);
        figures.n_losses = node.n_losses();
        figures.n_owned = std::count(owners.begin(), owners.end(), static_cast<char>(i + 1));
        shape.refuses = shape.refuses || (peers_ && node.refuses_to_follow());
        if (figures.state == MachineState::kUp) {
            const LinkCosts::Measured measured = node.costs().measured();
            figures.latency_us = measured.latency_us;
            figures.mbps = measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0;
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
        for (std::size_t other = 0; other < nodes_.size() && peers_; ++other) {
            if (other == i || !node.is_up() || !nodes_[other]->is_up()) continue;
            const NodeMesh::Link link = mesh_->link(i, other);
            if (!link.direct && !link.by_way) continue;
            figures.links.push_back({nodes_[other]->name(), link.direct, link.latency_us,
                                     link.us_per_byte > 0 ? 1 / link.us_per_byte : 0, link.why});
        }
        snapshot.machines.push_back(std::move(figures));
    }
    const std::scoped_lock lock(mutex_);
    shape.helpers = as_helpers_;
    shape.peers = as_peers_;
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

std::vector<Message> JoinedNodes::take_notes() {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) announce(i);
    std::vector<Message> notes = std::exchange(notes_, {});
    for (const std::shared_ptr<NodeClient>& node : nodes_) {
        for (Message& note : node->take_notes()) notes.push_back(std::move(note));
    }
    if (mesh_) {
        for (Message& note : mesh_->take_notes()) notes.push_back(std::move(note));
    }
    if (peers_) {
        for (Message& note : peers_->take_notes()) notes.push_back(std::move(note));
    }
    return notes;
}

}  // namespace offstage::engine
