#include "engine/cluster/node_experts.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/experts/interleave_expert.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

std::string fingerprint_of_model(ExpertHost& host) {
    const auto fingerprint = host.source().master().model_fingerprint();
    return fingerprint ? fingerprint->text() : std::string("unknown");
}

// Nothing in RAM, and no room for experts on disk: only held experts are computed.
Plan empty_plan(const ExpertGrid& grid) {
    Plan plan;
    plan.places.assign(static_cast<std::size_t>(grid.size()), Place::kDisk);
    plan.duplicates = false;
    return plan;
}

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kWarmedAtOnce = std::size_t{4} << 20;  // bytes; the longest delay of a request

std::chrono::steady_clock::time_point after(double seconds) {
    using Clock = std::chrono::steady_clock;
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// One byte of each page.
void touch_pages(std::span<const std::byte> bytes) {
    const volatile std::byte* const at = bytes.data();
    for (std::size_t i = 0; i < bytes.size(); i += kPageBytes) static_cast<void>(at[i]);
}

}  // namespace

NodeExperts::NodeExperts(ExpertHost& host, NodeExpertsSettings settings)
    : host_(host), settings_(std::move(settings)), fingerprint_(fingerprint_of_model(host)) {
    host_.fill(empty_plan(grid()));
    last_read_.resize(static_cast<std::size_t>(grid().size()));
    if (settings_.keep_warm_s > 0) warm_at_ = after(settings_.keep_warm_s);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

NodeExperts::~NodeExperts() {
    for (const auto& [desktop, peers] : peers_) peers->end();
    end_following();
    thread_.request_stop();
    thread_.join();
}

std::size_t NodeExperts::index(const NodeExpert& expert) const {
    return static_cast<std::size_t>(expert.layer * grid().n_experts + expert.expert);
}

bool NodeExperts::is_held(const NodeExpert& expert) const {
    const std::size_t i = index(expert);
    return host_.experts().in_ram(i) && host_.experts().format(i) == expert.format;
}

// ---------------------------------------------------------------- desktops
NodeExperts::Desktop NodeExperts::open(const NodeHello& hello, Send send, Message& refusal) {
    const ExpertGrid& grid = this->grid();
    const std::string compute = kernels::name_of(host_.form());
    refusal = check(hello);
    if (!refusal.empty()) return 0;
    const bool same_shape = hello.n_layers == grid.n_layers && hello.n_experts == grid.n_experts &&
                            hello.n_active == grid.n_active && hello.hidden_dim == grid.hidden_dim &&
                            hello.ffn_dim == grid.ffn_dim;
    if (hello.fingerprint != fingerprint_ || !same_shape) {
        refusal = messages::node_has_another_model(fingerprint_.substr(0, 8),
                                                   printable(hello.fingerprint, kMostNameBytes).substr(0, 8));
        return 0;
    }
    if (hello.compute != compute) {
        refusal = messages::node_forms_products_otherwise(compute, printable(hello.compute, kMostNameBytes));
        return 0;
    }
    const std::scoped_lock lock(turn_);
    if (const std::scoped_lock following(follower_mutex_); following_ != 0) {
        refusal = messages::node_follows_another;
        return 0;
    }
    if (desktops_.size() >= settings_.most_desktops) {
        refusal = messages::node_has_desktops_enough(settings_.most_desktops);
        return 0;
    }
    NodeWelcome welcome;
    welcome.name = settings_.name;
    welcome.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    welcome.n_threads = host_.pool().n_threads();
    welcome.ram_bytes = host_.ram().usage().budget_bytes;
    send(welcome);
    Client& client = desktops_[++last_desktop_];
    {
        const std::scoped_lock peers(peers_mutex_);
        peers_[last_desktop_] = std::make_shared<NodePeers>(
            settings_.connect_peer, send,
            [this, desktop = last_desktop_](NodeOutputs outputs) {
                return take_from_peer(desktop, std::move(outputs));
            },
            [this](const std::function<void(bool first)>& pause, const std::stop_token& stop) {
                // With separate threads and memory, beside the desktops' requests: they
                // wait for no turn.
                kernels::ThreadPool pool(host_.pool().n_threads());
                CpuOperations operations(pool, host_.form());
                return measure_paused_layers({host_.spec(), host_.plan_inputs().master}, operations, pause, stop);
            },
            settings_.note);
    }
    client.send = std::move(send);
    client.told.resize(last_read_.size());
    return last_desktop_;
}

Message NodeExperts::want(Desktop desktop, NodeWant want) {
    if (Message wrong = check(want, grid()); !wrong.empty()) return wrong;
    {
        const std::scoped_lock lock(turn_);
        const auto found = desktops_.find(desktop);
        if (found == desktops_.end()) return messages::node_wants_hello;
        // Experts that the desktop still requests in the same format count as reported to
        // it.
        std::vector<std::uint8_t> told(last_read_.size());
        for (const NodeExpert& expert : want.experts) {
            const std::size_t i = index(expert);
            told[i] = found->second.told[i] != 0 && is_held(expert) ? 1 : 0;
        }
        found->second.told = std::move(told);
        found->second.wanted = std::move(want.experts);
        found->second.next = 0;
        found->second.complete = false;
    }
    const std::scoped_lock lock(wake_mutex_);
    work_ = true;
    wake_.notify_all();
    return {};
}

// ---------------------------------------------------------------- other nodes
Message NodeExperts::meet(Desktop desktop, const NodePeer& peer) {
    std::shared_ptr<NodePeers> peers;
    {
        const std::scoped_lock lock(peers_mutex_);
        const auto found = peers_.find(desktop);
        if (found == peers_.end()) return messages::node_wants_hello;
        peers = found->second;
    }
    return peers->take(peer);
}

bool NodeExperts::expects_peer(const std::string& fingerprint) const {
    const std::scoped_lock lock(peers_mutex_);
    return std::any_of(peers_.begin(), peers_.end(), [&](const auto& one) { return one.second->expects(fingerprint); });
}

std::shared_ptr<NodePeers> NodeExperts::open_peer(const std::string& fingerprint, const NodePeerHello& hello,
                                                  const NodePeers::Port& port, Message& refusal) {
    std::vector<std::shared_ptr<NodePeers>> all;
    {
        const std::scoped_lock lock(peers_mutex_);
        for (const auto& [desktop, peers] : peers_) all.push_back(peers);
    }
    refusal = messages::node_peer_is_not_expected;
    for (const std::shared_ptr<NodePeers>& peers : all) {
        refusal = peers->open(fingerprint, hello, port);
        if (refusal.empty()) return peers;
    }
    return nullptr;
}

// Outputs that arrive before the desktop has requested steps are dropped.
Message NodeExperts::take_from_peer(Desktop desktop, NodeOutputs outputs) {
    const std::scoped_lock lock(follower_mutex_);
    return follower_ == nullptr || desktop != following_ ? Message() : follower_->take(std::move(outputs));
}

// -------------------------------------------------------------- making a desktop's steps
Message NodeExperts::follow(Desktop desktop, ToNode message) {
    if (const auto* follow = std::get_if<NodeFollow>(&message)) return begin_following(desktop, *follow);
    if (const auto* peer = std::get_if<NodePeer>(&message)) return meet(desktop, *peer);
    const std::shared_ptr<NodeFollower> follower = follower_of(desktop);
    if (follower == nullptr) return messages::node_does_not_follow;
    if (auto* shares = std::get_if<NodeShares>(&message)) return follower->take(std::move(*shares));
    if (auto* step = std::get_if<NodeStep>(&message)) return follower->take(std::move(*step));
    if (auto* outputs = std::get_if<NodeOutputs>(&message)) return follower->take(std::move(*outputs));
    if (const auto* abandon = std::get_if<NodeAbandon>(&message)) return follower->take(*abandon);
    return messages::node_message_empty;
}

std::shared_ptr<NodeFollower> NodeExperts::follower_of(Desktop desktop) const {
    const std::scoped_lock lock(follower_mutex_);
    return desktop == following_ ? follower_ : nullptr;
}

// Earlier requests make room; the desktop sends a new list afterwards.
Message NodeExperts::begin_following(Desktop desktop, const NodeFollow& follow) {
    if (Message wrong = check(follow); !wrong.empty()) return wrong;
    if (follower_of(desktop) != nullptr) end_following();
    std::unique_lock lock(turn_);
    const auto found = desktops_.find(desktop);
    if (found == desktops_.end()) return messages::node_wants_hello;
    Client& client = found->second;
    if (desktops_.size() > 1) {
        client.send(NodeFollowing{Message(messages::node_works_for_others).english()});
        return {};
    }
    client.wanted.clear();
    client.told.assign(client.told.size(), 0);
    client.complete = true;
    while (packing_ != kNoExpert) {  // one reader of the files at a time
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        lock.lock();
    }
    free_unwanted();
    try {
        std::shared_ptr<NodePeers> peers;
        {
            const std::scoped_lock peers_lock(peers_mutex_);
            peers = peers_.at(desktop);
        }
        auto follower = std::make_shared<NodeFollower>(
            host_, turn_, packing_, follow, client.send,
            [peers](const NodeOutputs& outputs, std::uint32_t machines) { return peers->send(outputs, machines); });
        const std::scoped_lock following(follower_mutex_);
        follower_ = std::move(follower);
        following_ = desktop;
    } catch (const Error& error) {
        client.send(NodeFollowing{error.message().english()});
        return {};
    }
    client.send(NodeFollowing{});
    return {};
}

void NodeExperts::end_following() {
    std::shared_ptr<NodeFollower> gone;  // waits for its thread without the lock
    const std::scoped_lock lock(follower_mutex_);
    gone = std::move(follower_);
    following_ = 0;
    if (gone == nullptr) return;
    const NodeFollower::Totals made = gone->totals();
    followed_.n_steps += made.n_steps;
    followed_.n_rows += made.n_rows;
    followed_.compute_us += made.compute_us;
}

void NodeExperts::close(Desktop desktop) {
    std::shared_ptr<NodePeers> peers;
    {
        const std::scoped_lock lock(peers_mutex_);
        if (const auto found = peers_.find(desktop); found != peers_.end()) {
            peers = std::move(found->second);
            peers_.erase(found);
        }
    }
    if (peers) peers->end();
    if (follower_of(desktop) != nullptr) end_following();
    {
        const std::scoped_lock lock(turn_);
        if (desktops_.erase(desktop) == 0) return;
        free_at_ = after(settings_.linger_s);
    }
    const std::scoped_lock lock(wake_mutex_);
    work_ = true;
    wake_.notify_all();
}

void NodeExperts::drain() {
    const std::scoped_lock lock(turn_);
    for (const auto& [id, client] : desktops_) client.send(NodeDrain{});
}

NodeState NodeExperts::state() const {
    const std::scoped_lock lock(turn_);
    NodeState state = totals_;
    {
        const std::scoped_lock following(follower_mutex_);
        for (const NodeFollower::Totals& made : {followed_, follower_ ? follower_->totals() : NodeFollower::Totals()}) {
            state.n_requests += made.n_steps;
            state.n_rows += made.n_rows;
            state.compute_us += made.compute_us;
        }
    }
    const auto usage = host_.ram().usage();
    state.ram_used_bytes = usage.used_bytes;
    state.ram_bytes = usage.budget_bytes;
    state.n_held = static_cast<std::uint64_t>(host_.experts().n_in_ram());
    state.n_desktops = desktops_.size();
    return state;
}

// ---------------------------------------------------------------- computing
Message NodeExperts::problem(Desktop desktop, const NodeCompute& request) const {
    if (Message wrong = check(request, grid()); !wrong.empty()) return wrong;
    if (!desktops_.contains(desktop)) return messages::node_wants_hello;
    for (const ComputeExpert& expert : request.experts) {
        if (is_held({request.layer, expert.expert, expert.format})) continue;
        return messages::node_expert_not_held(expert.expert, request.layer);
    }
    return {};
}

NodeReply NodeExperts::compute(Desktop desktop, const NodeCompute& request) {
    NodeReply reply;
    reply.number = request.number;
    reply.activations = request.activations;
    const std::scoped_lock lock(turn_);
    if (const Message wrong = problem(desktop, request); !wrong.empty()) {
        reply.refusal = wrong.english();
        return reply;
    }
    const auto begin = Clock::now();
    const auto width = static_cast<std::size_t>(grid().hidden_dim);
    const std::size_t n_rows = request.row_token.size();
    inputs_.resize(request.n_tokens * width);
    outputs_.resize(n_rows * width);
    read_activations(request.activations, request.inputs, 0, inputs_);
    row_token_.assign(request.row_token.begin(), request.row_token.end());
    calls_.clear();
    std::int64_t first_row = 0;
    for (const ComputeExpert& expert : request.experts) {
        ExpertCall call{host_.experts().on_host(request.layer, expert.expert), first_row, expert.n_rows};
        call.weights.layout.spec.theta = request.theta;
        calls_.push_back(call);
        last_read_[index({request.layer, expert.expert, expert.format})] = begin;
        first_row += expert.n_rows;
    }
    host_.host().set_sum_order(request.order);
    host_.host().run(ops::Experts{calls_, inputs_.data(), row_token_.data(), outputs_.data()});
    reply.n_rows = static_cast<std::uint32_t>(n_rows);
    append_activations(request.activations, outputs_, reply.outputs);
    reply.compute_us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    ++totals_.n_requests;
    totals_.n_rows += n_rows;
    totals_.compute_us += reply.compute_us;
    return reply;
}

// ---------------------------------------------------------------- making ready
void NodeExperts::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (make_ready_next(stop)) continue;
        if (Clock::now() >= warm_at_) keep_warm(stop);
        Clock::time_point until;
        {
            const std::scoped_lock lock(turn_);
            if (Clock::now() >= free_at_) {
                free_at_ = Clock::time_point::max();
                free_unwanted();
            }
            until = std::min(free_at_, warm_at_);
        }
        std::unique_lock lock(wake_mutex_);
        if (until == Clock::time_point::max()) {
            wake_.wait(lock, stop, [&] { return work_; });
        } else {
            wake_.wait_until(lock, stop, until, [&] { return work_; });
        }
        work_ = false;
    }
}

// Makes one expert ready, for the next desktop in turn that has open requests. False:
// there is nothing to do.
bool NodeExperts::make_ready_next(const std::stop_token& stop) {
    NodeExpert expert;
    Desktop desktop = 0;
    std::byte* block = nullptr;
    {
        const std::scoped_lock lock(turn_);
        const auto wants = [](const auto& entry) { return !entry.second.complete; };
        auto found = std::find_if(desktops_.upper_bound(last_served_), desktops_.end(), wants);
        if (found == desktops_.end()) found = std::find_if(desktops_.begin(), desktops_.end(), wants);
        if (found == desktops_.end()) return false;
        last_served_ = desktop = found->first;
        Client& client = found->second;
        NodeHoldings holdings;
        while (client.next < client.wanted.size()) {
            expert = client.wanted[client.next];
            const std::size_t i = index(expert);
            if (is_held(expert)) {
                holdings.held.push_back(expert);
                client.told[i] = 1;
            } else if (!host_.experts().in_ram(i) || let_go(i)) {
                break;  // if it stays in another format, some desktop uses it
            }
            ++client.next;
        }
        bool done = client.next >= client.wanted.size();
        if (!done) {
            block = room_for(expert, client);
            done = block == nullptr;
        }
        if (done) client.complete = holdings.complete = true;
        if (!holdings.held.empty() || holdings.complete) client.send(holdings);
        if (done) return true;
        packing_ = index(expert);
        ++client.next;
    }
    Message failure;
    try {
        host_.source().pack(LayerIndex{expert.layer}, ExpertIndex{expert.expert}, expert.format, block, packing_pool_,
                            stop);
        interleave_expert(host_.experts().ram_layout(expert.format), block, packing_pool_);
    } catch (const Error& error) {  // that expert is not held; the desktop computes it
        failure = messages::node_cannot_pack(expert.expert, expert.layer, error.message());
    }
    if (!failure.empty() && settings_.note && !stop.stop_requested()) settings_.note(failure);
    const std::scoped_lock lock(turn_);
    packing_ = kNoExpert;
    PreparedCopies& copies = host_.experts().copies();
    if (!failure.empty()) {
        copies.abandon(index(expert));
        host_.experts().settle();
        return true;
    }
    copies.commit(index(expert), true, false);
    for (auto& [id, client] : desktops_) {
        // Other desktops get it when their lists reach it.
        if (id != desktop) continue;
        client.told[index(expert)] = 1;
        client.send(NodeHoldings{{expert}, {}, false});
    }
    return true;
}

// Reads experts that have not been read since the last time; requests run in between.
void NodeExperts::keep_warm(const std::stop_token& stop) {
    const auto since = Clock::now() - std::chrono::duration<double>(settings_.keep_warm_s);
    for (std::size_t i = 0; i < last_read_.size() && !stop.stop_requested(); ++i) {
        for (std::size_t done = 0;;) {
            const std::scoped_lock lock(turn_);
            if (!host_.experts().in_ram(i) || i == packing_ || last_read_[i] > since) break;
            const auto layer = static_cast<std::int64_t>(i) / grid().n_experts;
            const kernels::ExpertView view =
                host_.experts().on_host(layer, static_cast<std::int64_t>(i) % grid().n_experts);
            const std::size_t bytes = view.layout.bytes();
            const std::size_t now = std::min(kWarmedAtOnce, bytes - done);
            touch_pages({static_cast<const std::byte*>(view.data) + done, now});
            done += now;
            if (done < bytes) continue;
            last_read_[i] = Clock::now();
            ++n_warmed_;
            break;
        }
    }
    warm_at_ = after(settings_.keep_warm_s);
}

// Drops an expert in its present format, unless a desktop requests it.
bool NodeExperts::let_go(std::size_t i) {
    const kernels::WeightType format = host_.experts().format(i);
    for (const auto& [id, client] : desktops_) {
        for (const NodeExpert& expert : client.wanted) {
            if (index(expert) == i && expert.format == format) return false;
        }
    }
    host_.experts().drop_ram(i);
    host_.experts().settle();
    return true;
}

// A block in RAM; nullptr: no room, even after dropping unrequested experts.
std::byte* NodeExperts::room_for(const NodeExpert& expert, const Client& client) {
    PreparedCopies& copies = host_.experts().copies();
    for (;;) {
        try {
            return copies.prepare_ram(index(expert), expert.format);
        } catch (const Error&) {
            if (!free_unwanted() && !free_what_matters_less(client)) return nullptr;
        }
    }
}

// Drops one of the held experts that no desktop has been informed about (left by an
// earlier one): the last in this client's list. False if there is none.
bool NodeExperts::free_what_matters_less(const Client& client) {
    for (std::size_t at = client.wanted.size(); at > client.next + 1; --at) {
        const std::size_t i = index(client.wanted[at - 1]);
        const bool is_known = std::any_of(desktops_.begin(), desktops_.end(),
                                          [&](const auto& entry) { return entry.second.told[i] != 0; });
        if (is_known || i == packing_ || !host_.experts().in_ram(i)) continue;
        host_.experts().drop_ram(i);
        host_.experts().settle();
        return true;
    }
    return false;
}

// Drops experts that no desktop requests. False if there is none.
bool NodeExperts::free_unwanted() {
    std::vector<std::uint8_t> wanted(host_.experts().size());
    for (const auto& [id, client] : desktops_) {
        for (const NodeExpert& expert : client.wanted) wanted[index(expert)] = 1;
    }
    bool freed = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] != 0 || !host_.experts().in_ram(i) || i == packing_) continue;
        host_.experts().drop_ram(i);
        freed = true;
    }
    if (freed) host_.experts().settle();
    return freed;
}

}  // namespace offstage::engine
