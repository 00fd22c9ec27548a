#include "engine/cluster/node_client.h"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "engine/cluster/exchange_probe.h"
#include "engine/cluster/node_messages.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostNotes = 64;
constexpr int kSmallPings = 7, kLargePings = 3;
constexpr std::size_t kLargePing = std::size_t{256} << 10;
constexpr std::uint32_t kManyRows = 16;
constexpr int kProbes = 3;
constexpr int kRoundTrips = 15;
constexpr std::chrono::microseconds kSenderLooks{100};
constexpr int kRefusalsThatMayPass = 4;  // of whole steps: each retry comes later than the one before
constexpr double kLookSeconds = 1;       // between checks whether it is time to measure again
constexpr double kWorthSaying = 1.5;     // times faster or slower
constexpr double kPackingSeconds = 1;    // to wait for a node to be ready with all its experts, and idle
constexpr double kTurnSeconds = 2;       // and for other nodes to be measured

double microseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

NodeClient::NodeClient(NodeAddress address, NodeHello hello, const ExpertGrid& grid, ActivationType activations,
                       NodePatience patience)
    : address_(std::move(address)),
      hello_(std::move(hello)),
      grid_(grid),
      activations_(activations),
      patience_(patience),
      held_(static_cast<std::size_t>(grid.size())),
      remeasuring_(patience.first_measuring_s, patience.longest_measuring_s) {}

NodeClient::~NodeClient() {
    stop();
}

void NodeClient::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void NodeClient::set_following(Following following) {
    following_ = std::move(following);
}

void NodeClient::set_measuring_turn(std::shared_ptr<MeasuringTurn> turn) {
    turn_ = std::move(turn);
}

void NodeClient::set_meeting(Meeting meeting) {
    meeting_ = std::move(meeting);
}

void NodeClient::set_last_step(std::function<std::chrono::steady_clock::time_point()> last_step) {
    last_step_ = std::move(last_step);
}

bool NodeClient::send_up(ToNode message) {
    std::shared_ptr<NodeChannel> channel;
    {
        const std::scoped_lock lock(mutex_);
        if (!open_ || !is_up() || channel_ == nullptr) return false;
        channel = channel_;
    }
    channel->send(std::move(message));
    return true;
}

bool NodeClient::send_peer(ToNode message) {
    std::shared_ptr<NodeChannel> channel;
    {
        const std::scoped_lock lock(mutex_);
        if (!open_ || !follows() || channel_ == nullptr) return false;
        channel = channel_;
    }
    channel->send(std::move(message));
    return true;
}

void NodeClient::start(std::vector<NodeExpert> wanted) {
    {
        const std::scoped_lock lock(mutex_);
        set_wanted_locked(std::move(wanted));
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void NodeClient::set_wanted_locked(std::vector<NodeExpert> wanted) {
    wanted_ = std::move(wanted);
    wanted_as_.assign(held_.size(), 0);
    for (const NodeExpert& expert : wanted_) wanted_as_[index_of(expert)] = held_as(expert.format);
}

// Lists must be sent in their order, so the lock is held.
void NodeClient::send_want_locked() {
    want_sent_ = true;
    channel_->send(NodeWant{wanted_});
}

void NodeClient::want(std::vector<NodeExpert> wanted) {
    const std::scoped_lock lock(mutex_);
    set_wanted_locked(std::move(wanted));
    if (!open_ || !want_sent_ || channel_ == nullptr) return;  // sent with the next connection
    for (std::size_t i = 0; i < held_.size(); ++i) {
        const std::uint8_t as = held_[i].load(std::memory_order_relaxed);
        if (as == 0 || as == wanted_as_[i]) continue;
        held_[i].store(0, std::memory_order_relaxed);
        --n_held_;
    }
    complete_ = false;
    settled_ = settled_ && !is_up();  // if it is not up, nothing will come
    ++n_changes_;
    send_want_locked();
}

void NodeClient::wait_until_settled(const std::function<void(std::int64_t held)>& held, const std::stop_token& stop,
                                    std::optional<Clock::time_point> until) {
    std::unique_lock lock(mutex_);
    while (!settled_ && !stop.stop_requested() && (!until || Clock::now() < *until)) {
        changed_.wait_for(lock, stop, std::chrono::milliseconds(100), [&] { return settled_; });
        if (!held) continue;
        lock.unlock();
        held(n_held());
        lock.lock();
    }
}

NodeWelcome NodeClient::welcome() const {
    const std::scoped_lock lock(mutex_);
    return welcome_.value_or(NodeWelcome{});
}

bool NodeClient::has_all() const {
    const std::scoped_lock lock(mutex_);
    return complete_;
}

NodeClient::Status NodeClient::status() const {
    const std::scoped_lock lock(mutex_);
    if (is_up()) {
        if (!following_ || follows_) return {MachineState::kUp, {}};
        return {cannot_follow_.empty() ? MachineState::kConnecting : MachineState::kRefused, cannot_follow_};
    }
    if (draining_) return {MachineState::kEnding, {}};
    if (trouble_.empty()) return {MachineState::kConnecting, {}};
    const bool answers = trouble_.is(messages::node_refuses) || trouble_.is(messages::node_holds_nothing);
    return {answers ? MachineState::kRefused : MachineState::kUnreachable, trouble_};
}

bool NodeClient::refuses_to_follow() const {
    const std::scoped_lock lock(mutex_);
    const bool may_pass = n_refused_for_now_ > 0 && n_refused_for_now_ <= kRefusalsThatMayPass;
    return is_up() && !cannot_follow_.empty() && !may_pass;
}

NodeState NodeClient::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

template <typename Condition>
bool NodeClient::wait_for(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, double seconds,
                          const Condition& condition) {
    return changed_.wait_for(lock, stop, std::chrono::duration<double>(seconds),
                             [&] { return !open_ || condition(); }) &&
           open_ && !stop.stop_requested();
}

// ---------------------------------------------------------------- the thread in the background
void NodeClient::run(const std::stop_token& stop) {
    double retry_s = patience_.first_retry_s;
    while (!stop.stop_requested()) {
        const std::uint64_t used = n_connections_;
        const End end = serve_connection(stop);
        if (end == End::kStopped) return;
        if (n_connections_ != used) retry_s = patience_.first_retry_s;
        std::unique_lock lock(mutex_);
        settled_ = true;
        changed_.notify_all();
        if (end == End::kRefused) retry_s = patience_.longest_retry_s;
        changed_.wait_for(lock, stop, std::chrono::duration<double>(retry_s), [] { return false; });
        retry_s = std::min(2 * retry_s, patience_.longest_retry_s);
    }
}

// Connects, and returns when that connection has ended.
NodeClient::End NodeClient::serve_connection(const std::stop_token& stop) {
    std::uint64_t connection = 0;
    {
        const std::scoped_lock lock(mutex_);
        connection = ++connection_;
        open_ = true;
        refused_ = draining_ = complete_ = want_sent_ = false;
        follows_ = follows_later_ = false;
        n_refused_for_now_ = 0;
        end_reason_ = cannot_follow_ = {};
        first_held_.reset();
        ponged_ = 0;
        for (std::atomic<std::uint8_t>& held : held_) held.store(0, std::memory_order_relaxed);
        n_held_ = 0;
        waiting_.clear();
    }
    std::shared_ptr<NodeChannel> channel =
        address_.connect({[this, connection](FromNode message) { received(connection, std::move(message)); },
                          [this, connection](const Message& why) { ended(connection, why); }});
    bool used = false;
    {
        std::unique_lock lock(mutex_);
        channel_ = channel;
        welcome_.reset();
        lock.unlock();
        channel->send(hello_);
        lock.lock();
        bool ready =
            wait_for(lock, stop, patience_.connecting_s, [&] { return welcome_.has_value() || refused_; }) && !refused_;
        if (ready) {
            // Before experts fill its memory.
            if (following_) channel->send(following_->follow);
            send_want_locked();
            // The first expert may have to be read and quantized.
            while (wait_for(lock, stop, 1, [&] { return first_held_.has_value() || complete_ || refused_; }) == false &&
                   open_ && !stop.stop_requested()) {
            }
            if (first_held_) wait_for(lock, stop, kPackingSeconds, [&] { return complete_ || refused_; });
            ready = open_ && !refused_ && first_held_.has_value() && !stop.stop_requested();
            if (open_ && !ready && complete_) {
                trouble_ = messages::node_holds_nothing(name());
                ++n_changes_;
                note_locked(trouble_);
            }
            lock.unlock();
            if (ready) {
                const auto measured = measure(stop);
                ready = measured.has_value();
                if (ready) {
                    costs_.set(*measured);
                    last_measured_ = *measured;
                    remeasuring_.begin();
                    remeasuring_.measured(Clock::now(), measured->expert.front().us, costs_.n_corrections());
                }
            }
            lock.lock();
        }
        if (ready && open_) {
            used = true;
            if (n_connections_++ > 0) note_locked(messages::node_is_back(name()));
            unreachable_ = trouble_ = {};
            ++n_changes_;
            up_.store(true, std::memory_order_release);
            if (complete_) settled_ = true;
            changed_.notify_all();
            if (meeting_) {
                lock.unlock();
                meeting_->up();
                lock.lock();
            }
        } else {
            if (open_ && !complete_) end_locked(messages::node_is_silent(Decimal{patience_.connecting_s, 0}));
            settled_ = true;
            changed_.notify_all();
        }
        const bool looks = used && last_step_ && patience_.first_measuring_s > 0;
        double ask_again_s = patience_.first_retry_s;
        const auto has_news = [&] { return !open_ || follows_later_; };
        while (used && open_ && !stop.stop_requested()) {
            if (follows_later_) {
                const std::chrono::duration<double> interval(ask_again_s);
                if (changed_.wait_for(lock, stop, interval, [&] { return !open_; })) break;
                if (stop.stop_requested()) break;
                ask_again_s = std::min(2 * ask_again_s, patience_.longest_retry_s);
                follows_later_ = false;
                channel->send(following_->follow);
                send_want_locked();
                continue;
            }
            if (!looks) {
                changed_.wait(lock, stop, has_news);
                continue;
            }
            const std::chrono::duration<double> interval(std::min(kLookSeconds, patience_.first_measuring_s / 2));
            if (changed_.wait_for(lock, stop, interval, has_news)) continue;
            // While experts are being packed or are missing there, a measurement would
            // include that.
            if (!complete_ || stop.stop_requested()) continue;
            const bool due = remeasuring_.is_due(Clock::now(), last_step_(), costs_.n_corrections());
            const bool link_due = !due && following_ && remeasuring_.is_link_due(Clock::now(), last_step_());
            if (!due && !link_due) continue;
            lock.unlock();
            if (due) {
                measure_again(stop);
            } else {
                measure_link_again(stop);
            }
            lock.lock();
        }
        changed_.wait(lock, stop, [&] { return !open_; });
        up_.store(false, std::memory_order_release);
        channel_.reset();
        if (!used && !refused_ && !stop.stop_requested() && !end_reason_.empty() && !draining_) {
            // Only the first of repeated reasons becomes a note.
            if (n_connections_ == 0 && unreachable_.code() != end_reason_.code()) {
                note_locked(messages::node_not_reached(name(), end_reason_));
            }
            unreachable_ = end_reason_;
        }
        open_ = false;
    }
    channel->close();
    // A sending thread has a reference meanwhile. This reference must be the last: a
    // channel's destructor waits for its events, and they may wait for a lock of the
    // sender, or run on the sender's thread.
    while (channel.use_count() > 1) std::this_thread::sleep_for(kSenderLooks);
    channel.reset();  // no event comes any more
    const std::scoped_lock lock(mutex_);
    waiting_.clear();
    if (stop.stop_requested()) return End::kStopped;
    return refused_ ? End::kRefused : End::kLost;
}

// Latency and rate of the link, and what experts take there.
std::optional<LinkCosts::Measured> NodeClient::measure(const std::stop_token& stop) {
    std::optional<MeasuringTurn::Guard> turn;
    if (turn_) turn.emplace(*turn_, kTurnSeconds, stop);
    LinkCosts::Measured measured;
    std::vector<double> small, large;
    for (int i = 0; i < kSmallPings; ++i) {
        const auto us = ping_us(16, stop);
        if (!us) return {};
        small.push_back(*us);
    }
    for (int i = 0; i < kLargePings; ++i) {
        const auto us = ping_us(kLargePing, stop);
        if (!us) return {};
        large.push_back(*us);
    }
    const auto comes_back = [&](std::uint64_t number) { return wait_for_pong(number, stop); };
    if (!use_up_window(
            kLargePing, [&](std::size_t bytes) { return send_ping(bytes); }, comes_back)) {
        return {};
    }
    // Other work on the two machines makes a ping longer, never shorter; and the node is
    // packing experts meanwhile.
    measured.latency_us = percentile(small, 0.25);
    const double beyond_us =
        *std::min_element(large.begin(), large.end()) - *std::min_element(small.begin(), small.end());
    measured.us_per_byte = std::max(0.0, beyond_us) / (2 * static_cast<double>(kLargePing));
    measured.row_bytes = static_cast<double>(grid_.hidden_dim) * static_cast<double>(bytes_of(activations_));
    const std::vector<NodeExpert> experts = experts_to_probe();
    if (experts.empty()) return {};
    measured.expert_bytes = static_cast<double>(grid_.expert_bytes(experts.front().format));
    double one_row_us = 0;
    const auto round_trip = round_trip_us(experts, &one_row_us);
    if (!round_trip) return {};
    std::vector<double> many_rows;
    for (int i = 0; i < kProbes; ++i) {
        const auto reply = probe(experts.front(), kManyRows);
        if (!reply) return {};
        many_rows.push_back(reply->compute_us);
    }
    const std::size_t row = static_cast<std::size_t>(grid_.hidden_dim) * bytes_of(activations_);
    const auto exchange = measure_exchanges(
        *round_trip, [&] { return send_ping(row); }, comes_back);
    if (!exchange) return {};
    const double row_us = measured.row_bytes * measured.us_per_byte;
    measured.latency_us = std::max(measured.latency_us, *round_trip - 2 * row_us);
    measured.exchange_us = std::max(measured.latency_us / 4, exchange->message_us - row_us);
    measured.send_us = exchange->send_us;
    measured.expert = {{1, one_row_us}, {kManyRows, median(many_rows)}};
    return measured;
}

// A machine with occasional other work is rarely busy twice in a row: the lesser of two
// measurements counts. A machine that does not answer is handled by the code that next
// needs it.
void NodeClient::measure_again(const std::stop_token& stop) {
    const auto measured = measure(stop);
    if (!measured) return;
    const double before_us = costs_.expert_us();
    costs_.set_again(LinkCosts::least_of(*measured, last_measured_));
    last_measured_ = *measured;
    remeasuring_.measured(Clock::now(), measured->expert.front().us, costs_.n_corrections());
    ++n_remeasurements_;
    const double now_us = costs_.expert_us();
    const std::scoped_lock lock(mutex_);
    if (before_us > kWorthSaying * now_us) {
        note_locked(messages::node_is_faster(name(), Decimal{before_us / now_us, 1}));
    } else if (now_us > kWorthSaying * before_us) {
        note_locked(messages::node_is_slower(name(), Decimal{now_us / before_us, 1}));
    }
}

// The lesser of two rounds, and only if no step began on this machine meanwhile; the
// second follows at once, so that the link's new cost is known before the next answer.
void NodeClient::measure_link_again(const std::stop_token& stop) {
    const auto begin = Clock::now();
    remeasuring_.link_measured(begin);
    const auto first = measure(stop);
    const auto second = first ? measure(stop) : std::nullopt;
    if (!second || last_step_() >= begin) return;
    const LinkCosts::Measured now = LinkCosts::least_of(*first, *second);
    const double before_us = costs_.measured().latency_us;
    costs_.set_link_again(now);
    last_measured_ = now;
    ++n_remeasurements_;
    const Decimal now_ms{now.latency_us / 1e3, 2}, before_ms{before_us / 1e3, 2};
    const std::scoped_lock lock(mutex_);
    if (before_us > kWorthSaying * now.latency_us) {
        note_locked(messages::node_link_is_faster(name(), now_ms, before_ms));
    } else if (now.latency_us > kWorthSaying * before_us) {
        note_locked(messages::node_link_is_slower(name(), now_ms, before_ms));
    }
}

// Held experts in the format of the first, a different one for each probe if there are so
// many: one that has just been computed is in the node's caches.
std::vector<NodeExpert> NodeClient::experts_to_probe() const {
    const std::scoped_lock lock(mutex_);
    std::vector<NodeExpert> experts;
    if (!first_held_) return experts;
    for (const NodeExpert& expert : wanted_) {
        if (expert.format != first_held_->format || experts.size() >= kRoundTrips) continue;
        if (held_[index_of(expert)].load(std::memory_order_relaxed) == held_as(expert.format))
            experts.push_back(expert);
    }
    return experts;
}

// The same sequence as with helpers, in each layer: this machine computes something,
// sends a row, and waits for the result.
std::optional<double> NodeClient::round_trip_us(std::span<const NodeExpert> experts, double* expert_us) {
    ProbeWork work;
    std::vector<double> beside, computing;
    for (int i = 0; i < kRoundTrips; ++i) {
        const auto begin = Clock::now();
        work.us();
        const auto reply = probe(experts[static_cast<std::size_t>(i) % experts.size()], 1);
        if (!reply) return {};
        beside.push_back(microseconds_since(begin) - work.alone_us() - reply->compute_us);
        computing.push_back(reply->compute_us);
    }
    *expert_us = median(computing);
    return median(beside);
}

std::uint64_t NodeClient::send_ping(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    if (channel_ == nullptr || !open_) return 0;
    const std::uint64_t number = ++next_number_;
    const std::shared_ptr<NodeChannel> channel = channel_;
    lock.unlock();
    channel->send(NodePing{number, std::string(bytes, 'p')});
    return number;
}

bool NodeClient::wait_for_pong(std::uint64_t number, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return number != 0 && wait_for(lock, stop, patience_.most_answer_s, [&] { return ponged_ >= number; });
}

std::optional<double> NodeClient::ping_us(std::size_t bytes, const std::stop_token& stop) {
    const auto begin = Clock::now();
    if (!wait_for_pong(send_ping(bytes), stop)) return {};
    return microseconds_since(begin);
}

std::uint64_t NodeClient::send_probe(const NodeExpert& expert, std::uint32_t n_rows) {
    NodeCompute request;
    request.layer = expert.layer;
    request.activations = activations_;
    request.experts.push_back({expert.expert, n_rows, expert.format});
    request.n_tokens = n_rows;
    std::vector<float> row(static_cast<std::size_t>(grid_.hidden_dim));
    for (std::uint32_t i = 0; i < n_rows; ++i) {
        request.row_token.push_back(i);
        for (std::size_t j = 0; j < row.size(); ++j) {
            row[j] = 0.01f * static_cast<float>(static_cast<int>((j * 7 + i) % 31) - 15);
        }
        append_activations(activations_, row, request.inputs);
    }
    std::uint64_t number = 0;
    {
        std::unique_lock lock(mutex_);
        if (channel_ == nullptr || !open_) return 0;
        request.number = number = ++next_number_;
        waiting_[number];
        const std::shared_ptr<NodeChannel> channel = channel_;
        lock.unlock();
        channel->send(std::move(request));
    }
    return number;
}

std::optional<NodeReply> NodeClient::wait_for_probe(std::uint64_t number, std::uint32_t n_rows) {
    if (number == 0) return {};
    auto reply = wait(number, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(patience_.most_answer_s)));
    if (!reply || !reply->refusal.empty() || !check(*reply, n_rows, activations_, grid_).empty()) return {};
    return reply;
}

// ---------------------------------------------------------------- events of the channel
void NodeClient::received(std::uint64_t connection, FromNode message) {
    const auto now = Clock::now();
    if (is_for_peers(connection, message)) {
        following_->received(std::move(message));
        return;
    }
    if (is_of_links(connection, message)) {
        meeting_->reported(std::get<NodePeerReport>(message));
        return;
    }
    // A reply wakes the engine's thread and no other.
    const bool is_reply = std::holds_alternative<NodeReply>(message);
    {
        const std::scoped_lock lock(mutex_);
        if (connection != connection_ || !open_) return;
        received_locked(std::move(message), now);
    }
    if (is_reply) {
        replied_.notify_all();
    } else {
        changed_.notify_all();
    }
}

bool NodeClient::is_for_peers(std::uint64_t connection, const FromNode& message) {
    if (!std::holds_alternative<NodeStepped>(message) && !std::holds_alternative<NodeOutputs>(message)) return false;
    const std::scoped_lock lock(mutex_);
    if (connection != connection_ || !open_ || !following_ || !follows_) return false;
    const auto* const outputs = std::get_if<NodeOutputs>(&message);
    return outputs == nullptr || check(*outputs, grid_).empty();
}

bool NodeClient::is_of_links(std::uint64_t connection, const FromNode& message) {
    const auto* const report = std::get_if<NodePeerReport>(&message);
    if (report == nullptr || !meeting_ || !check(*report).empty()) return false;
    const std::scoped_lock lock(mutex_);
    return connection == connection_ && open_;
}

void NodeClient::received_locked(FromNode message, Clock::time_point now) {
    std::visit(
        [&](auto&& what) {
            using T = std::decay_t<decltype(what)>;
            if constexpr (std::is_same_v<T, NodeWelcome>) {
                what.name = printable(what.name, kMostNameBytes);
                what.instruction_set = printable(what.instruction_set, kMostNameBytes);
                welcome_ = std::move(what);
            } else if constexpr (std::is_same_v<T, NodeHoldings>) {
                if (const Message wrong = check(what, grid_); !wrong.empty()) {
                    end_locked(messages::node_sent_nonsense(wrong));
                    return;
                }
                const auto set = [&](const NodeExpert& expert, std::uint8_t as) {
                    // The request may have changed since the node began to pack it.
                    if (as != 0 && as != wanted_as_[index_of(expert)]) return;
                    auto& held = held_[index_of(expert)];
                    n_held_ += (as != 0) - (held.load(std::memory_order_relaxed) != 0);
                    held.store(as, std::memory_order_relaxed);
                };
                for (const NodeExpert& expert : what.gone) set(expert, 0);
                for (const NodeExpert& expert : what.held) set(expert, held_as(expert.format));
                ++n_changes_;
                if (!first_held_ && !what.held.empty()) first_held_ = what.held.front();
                complete_ = complete_ || what.complete;
                if (complete_ && is_up()) settled_ = true;
            } else if constexpr (std::is_same_v<T, NodeReply>) {
                what.arrived = now;
                const auto found = waiting_.find(what.number);
                if (found != waiting_.end()) found->second.reply = std::move(what);
            } else if constexpr (std::is_same_v<T, NodePong>) {
                ponged_ = what.number;
                state_ = what.state;
            } else if constexpr (std::is_same_v<T, NodeDrain>) {
                draining_ = true;
                end_locked(messages::node_says_farewell);
            } else if constexpr (std::is_same_v<T, NodeFollowing>) {
                if (!following_) {
                    end_locked(messages::node_sent_nonsense(messages::node_message_empty));
                } else if (what.refusal.empty()) {
                    // The node has dropped all that it held and must get it again.
                    for (std::atomic<std::uint8_t>& held : held_) held.store(0, std::memory_order_relaxed);
                    n_held_ = 0;
                    complete_ = false;
                    if (unreachable_ == cannot_follow_) unreachable_ = {};
                    cannot_follow_ = {};
                    ++n_followings_;
                    follows_ = true;
                    ++n_changes_;
                } else {
                    Message note = messages::node_cannot_follow(name(), printable(what.refusal, kMostSentenceBytes));
                    if (note != unreachable_) note_locked(note);
                    unreachable_ = cannot_follow_ = std::move(note);
                    // Another desktop may leave, or the node has not noticed yet that
                    // this desktop's last connection ended.
                    follows_later_ = what.refusal == Message(messages::node_works_for_others).english();
                    n_refused_for_now_ = follows_later_ ? n_refused_for_now_ + 1 : 0;
                    ++n_changes_;
                }
            } else if constexpr (std::is_same_v<T, NodeStepped> || std::is_same_v<T, NodeOutputs> ||
                                 std::is_same_v<T, NodePeerReport> || std::is_same_v<T, NodePeerWelcome>) {
                // Unrequested steps or links, or of the wrong shape.
                Message wrong = messages::node_message_empty;
                if constexpr (std::is_same_v<T, NodePeerReport>) {
                    if (Message shape = check(what); !shape.empty()) wrong = std::move(shape);
                }
                if constexpr (std::is_same_v<T, NodeOutputs>) {
                    if (Message shape = check(what, grid_); !shape.empty()) wrong = std::move(shape);
                }
                end_locked(messages::node_sent_nonsense(wrong));
            } else {
                refused_ = true;
                // The connection is tried again now and then; a note is made only for a
                // new reason.
                Message note = messages::node_refuses(name(), printable(what.sentence, kMostSentenceBytes));
                if (note != unreachable_) note_locked(note);
                unreachable_ = trouble_ = std::move(note);
                end_locked(messages::node_link_ended);
            }
        },
        std::move(message));
}

void NodeClient::ended(std::uint64_t connection, const Message& why) {
    const std::scoped_lock lock(mutex_);
    if (connection == connection_) end_locked(why);
}

void NodeClient::end_locked(const Message& why) {
    if (!open_) return;
    open_ = false;
    end_reason_ = why;
    if (!refused_) trouble_ = why;
    ++n_changes_;
    if (follows_.exchange(false)) following_->lost();
    if (up_.exchange(false)) {
        ++n_losses_;
        note_locked(messages::node_lost(name(), why));
    }
    changed_.notify_all();
    replied_.notify_all();
}

void NodeClient::note_locked(Message note) {
    if (notes_.size() < kMostNotes) notes_.push_back(std::move(note));
}

// ---------------------------------------------------------------- for the engine's thread
std::uint64_t NodeClient::send(NodeCompute request) {
    std::shared_ptr<NodeChannel> channel;
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (!open_ || !is_up() || channel_ == nullptr) return 0;
        request.number = number = ++next_number_;
        waiting_[number];
        channel = channel_;
    }
    channel->send(std::move(request));
    return number;
}

std::optional<NodeReply> NodeClient::wait(std::uint64_t number, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    const auto answered = [&] {
        const auto found = waiting_.find(number);
        return found == waiting_.end() || found->second.reply.has_value();
    };
    replied_.wait_until(lock, until, [&] { return answered() || !open_; });
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return {};
    std::optional<NodeReply> reply = std::move(found->second.reply);
    waiting_.erase(found);
    return reply;
}

void NodeClient::give_up(const Message& why) {
    const std::scoped_lock lock(mutex_);
    end_locked(why);
}

std::vector<Message> NodeClient::take_notes() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(notes_, {});
}

}  // namespace offstage::engine
