#include "engine/cluster/node_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/cluster/node_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostNotes = 64;
constexpr std::chrono::microseconds kSenderLooks{100};
constexpr int kRefusalsThatMayPass = 4;  // of whole steps: each retry comes later than the one before
constexpr double kLookSeconds = 1;       // between checks whether it is time to measure again
constexpr double kPackingSeconds = 1;    // to wait for a node to be ready with all its experts, and idle

}  // namespace

NodeClient::NodeClient(NodeAddress address, Terms terms)
    : address_(std::move(address)), terms_(std::move(terms)), meter_(*this), held_(terms_.grid) {}

NodeClient::~NodeClient() {
    stop();
}

void NodeClient::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void NodeClient::start(std::vector<NodeExpert> wanted) {
    {
        const std::scoped_lock lock(mutex_);
        held_.want(std::move(wanted));
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

// Lists must be sent in their order, so the lock is held.
void NodeClient::send_want_locked() {
    now_.want_sent = true;
    now_.channel->send(NodeWant{held_.wanted()});
}

void NodeClient::want(std::vector<NodeExpert> wanted) {
    const std::scoped_lock lock(mutex_);
    held_.want(std::move(wanted));
    if (!now_.open || !now_.want_sent || now_.channel == nullptr) return;  // sent with the next connection
    held_.drop_unwanted();
    settled_ = settled_ && !is_up();  // if it is not up, nothing will come
    ++n_changes_;
    send_want_locked();
}

void NodeClient::wait_until_settled(const std::function<void(std::int64_t held)>& held, const std::stop_token& stop,
                                    std::optional<Clock::time_point> until) {
    Lock lock(mutex_);
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
    return now_.welcome.value_or(NodeWelcome{});
}

bool NodeClient::has_all() const {
    const std::scoped_lock lock(mutex_);
    return held_.is_complete();
}

NodeClient::Status NodeClient::status() const {
    const std::scoped_lock lock(mutex_);
    if (is_up()) {
        if (!terms_.following || follows_) return {MachineState::kUp, {}};
        return {now_.cannot_follow.empty() ? MachineState::kConnecting : MachineState::kRefused, now_.cannot_follow};
    }
    if (now_.draining) return {MachineState::kEnding, {}};
    if (trouble_.empty()) return {MachineState::kConnecting, {}};
    const bool answers = trouble_.is(messages::node_refuses) || trouble_.is(messages::node_holds_nothing);
    return {answers ? MachineState::kRefused : MachineState::kUnreachable, trouble_};
}

bool NodeClient::refuses_to_follow() const {
    const std::scoped_lock lock(mutex_);
    const bool may_pass = now_.n_refused_for_now > 0 && now_.n_refused_for_now <= kRefusalsThatMayPass;
    return is_up() && !now_.cannot_follow.empty() && !may_pass;
}

template <typename Condition>
bool NodeClient::wait_for(Lock& lock, const std::stop_token& stop, double seconds, const Condition& condition) {
    return changed_.wait_for(lock, stop, std::chrono::duration<double>(seconds),
                             [&] { return !now_.open || condition(); }) &&
           now_.open && !stop.stop_requested();
}

// ---------------------------------------------------------- the thread in the background
void NodeClient::run(const std::stop_token& stop) {
    double retry_s = terms_.patience.first_retry_s;
    while (!stop.stop_requested()) {
        const std::uint64_t used = n_connections_;
        const End end = serve_connection(stop);
        if (end == End::kStopped) return;
        if (n_connections_ != used) retry_s = terms_.patience.first_retry_s;
        Lock lock(mutex_);
        settled_ = true;
        changed_.notify_all();
        if (end == End::kRefused) retry_s = terms_.patience.longest_retry_s;
        changed_.wait_for(lock, stop, std::chrono::duration<double>(retry_s), [] { return false; });
        retry_s = std::min(2 * retry_s, terms_.patience.longest_retry_s);
    }
}

// Connects, and returns when that connection has ended.
NodeClient::End NodeClient::serve_connection(const std::stop_token& stop) {
    std::uint64_t connection = 0;
    {
        const std::scoped_lock lock(mutex_);
        connection = now_.number + 1;
        now_ = {};
        now_.number = connection;
        now_.open = true;
        follows_ = false;
        held_.begin();
    }
    std::shared_ptr<NodeChannel> channel =
        address_.connect({[this, connection](FromNode message) { received(connection, std::move(message)); },
                          [this, connection](const Message& why) {
                              const std::scoped_lock lock(mutex_);
                              if (connection == now_.number) end_locked(why);
                          }});
    {
        Lock lock(mutex_);
        now_.channel = channel;
        const bool used = becomes_ready(lock, stop);
        if (used) {
            if (n_connections_++ > 0) note_locked(messages::node_is_back(name()));
            unreachable_ = trouble_ = {};
            ++n_changes_;
            up_.store(true, std::memory_order_release);
        } else if (now_.open && !held_.is_complete()) {
            end_locked(messages::node_is_silent(Decimal{terms_.patience.connecting_s, 0}));
        }
        if (!used || held_.is_complete()) settled_ = true;
        changed_.notify_all();
        if (used) stay_up(lock, stop);
        changed_.wait(lock, stop, [&] { return !now_.open; });
        up_.store(false, std::memory_order_release);
        now_.channel.reset();
        if (!used && !now_.refused && !stop.stop_requested() && !now_.end_reason.empty() && !now_.draining) {
            // Only the first of repeated reasons becomes a note.
            if (n_connections_ == 0 && unreachable_.code() != now_.end_reason.code()) {
                note_locked(messages::node_not_reached(name(), now_.end_reason));
            }
            unreachable_ = now_.end_reason;
        }
        now_.open = false;
    }
    channel->close();
    // A sending thread has a reference meanwhile. This reference must be the last: a
    // channel's destructor waits for its events, and they may wait for a lock of the
    // sender, or run on the sender's thread.
    while (channel.use_count() > 1) std::this_thread::sleep_for(kSenderLooks);
    channel.reset();  // no event comes any more
    const std::scoped_lock lock(mutex_);
    now_.requests.clear();
    if (stop.stop_requested()) return End::kStopped;
    return now_.refused ? End::kRefused : End::kLost;
}

// Greets the node, requests its experts, and measures it. False: it cannot be used.
bool NodeClient::becomes_ready(Lock& lock, const std::stop_token& stop) {
    const std::shared_ptr<NodeChannel> channel = now_.channel;
    const auto ends = [&] { return held_.is_complete() || now_.refused; };
    lock.unlock();
    channel->send(terms_.hello);
    lock.lock();
    const auto greeted = [&] { return now_.welcome.has_value() || now_.refused; };
    if (!wait_for(lock, stop, terms_.patience.connecting_s, greeted) || now_.refused) return false;
    // Before experts fill its memory.
    if (terms_.following) channel->send(terms_.following->follow);
    send_want_locked();
    // The first expert may have to be read and quantized.
    while (!wait_for(lock, stop, 1, [&] { return held_.has_any() || ends(); }) && now_.open && !stop.stop_requested()) {
    }
    if (held_.has_any()) wait_for(lock, stop, kPackingSeconds, ends);
    if (!now_.open || now_.refused || stop.stop_requested()) return false;
    if (!held_.has_any()) {
        if (!held_.is_complete()) return false;
        trouble_ = messages::node_holds_nothing(name());
        ++n_changes_;
        note_locked(trouble_);
        return false;
    }
    lock.unlock();
    const bool measured = meter_.begin(stop);
    lock.lock();
    return measured && now_.open;
}

// Returns when the connection has ended.
void NodeClient::stay_up(Lock& lock, const std::stop_token& stop) {
    if (terms_.meeting) {
        lock.unlock();
        terms_.meeting->up();
        lock.lock();
    }
    double ask_again_s = terms_.patience.first_retry_s;
    const auto has_news = [&] { return !now_.open || now_.follows_later; };
    while (now_.open && !stop.stop_requested()) {
        if (now_.follows_later) {
            const std::chrono::duration<double> interval(ask_again_s);
            if (changed_.wait_for(lock, stop, interval, [&] { return !now_.open; }) || stop.stop_requested()) return;
            ask_again_s = std::min(2 * ask_again_s, terms_.patience.longest_retry_s);
            now_.follows_later = false;
            now_.channel->send(terms_.following->follow);
            send_want_locked();
        } else if (!meter_.measures_again()) {
            changed_.wait(lock, stop, has_news);
        } else {
            const double interval_s = std::min(kLookSeconds, terms_.patience.first_measuring_s / 2);
            if (changed_.wait_for(lock, stop, std::chrono::duration<double>(interval_s), has_news)) continue;
            // While experts are being packed or are missing there, a measurement would
            // include that.
            if (!held_.is_complete() || stop.stop_requested()) continue;
            lock.unlock();
            Message note = meter_.measure_if_due(stop);
            lock.lock();
            if (!note.empty()) note_locked(std::move(note));
        }
    }
}

std::vector<NodeExpert> NodeClient::experts_to_probe() const {
    const std::scoped_lock lock(mutex_);
    return held_.of_one_format(kMostProbed);
}

std::uint64_t NodeClient::send_ping(std::size_t bytes) {
    Lock lock(mutex_);
    const std::shared_ptr<NodeChannel> channel = channel_locked(Needs::kConnected);
    if (channel == nullptr) return 0;
    const std::uint64_t number = ++next_number_;
    lock.unlock();
    channel->send(NodePing{number, std::string(bytes, 'p')});
    return number;
}

bool NodeClient::wait_for_pong(std::uint64_t number, const std::stop_token& stop) {
    Lock lock(mutex_);
    return number != 0 && wait_for(lock, stop, terms_.patience.most_answer_s, [&] { return now_.ponged >= number; });
}

std::uint64_t NodeClient::send_probe(const NodeExpert& expert, std::uint32_t n_rows) {
    NodeCompute request;
    request.layer = expert.layer;
    request.activations = activations();
    request.experts.push_back({expert.expert, n_rows, expert.format});
    request.n_tokens = n_rows;
    std::vector<float> row(static_cast<std::size_t>(grid().hidden_dim));
    for (std::uint32_t i = 0; i < n_rows; ++i) {
        request.row_token.push_back(i);
        for (std::size_t j = 0; j < row.size(); ++j) {
            row[j] = 0.01f * static_cast<float>(static_cast<int>((j * 7 + i) % 31) - 15);
        }
        append_activations(activations(), row, request.inputs);
    }
    return ask(std::move(request), Needs::kConnected);
}

std::optional<NodeReply> NodeClient::wait_for_probe(std::uint64_t number, std::uint32_t n_rows) {
    if (number == 0) return {};
    auto reply = wait(number, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(terms_.patience.most_answer_s)));
    if (!reply || !reply->refusal.empty() || !check(*reply, n_rows, activations(), grid()).empty()) return {};
    return reply;
}

// ---------------------------------------------------------------- events of the channel
void NodeClient::received(std::uint64_t connection, FromNode message) {
    auto* const reply = std::get_if<NodeReply>(&message);
    if (reply != nullptr) reply->arrived = Clock::now();
    {
        Lock lock(mutex_);
        if (connection != now_.number || !now_.open) return;
        const auto* const outputs = std::get_if<NodeOutputs>(&message);
        const auto* const report = std::get_if<NodePeerReport>(&message);
        const bool is_of_step = outputs != nullptr || std::holds_alternative<NodeStepped>(message);
        if (is_of_step && follows_ && (outputs == nullptr || check(*outputs, grid()).empty())) {
            lock.unlock();
            terms_.following->received(std::move(message));
            return;
        }
        if (report != nullptr && terms_.meeting && check(*report).empty()) {
            lock.unlock();
            terms_.meeting->reported(*report);
            return;
        }
        std::visit([&](auto&& what) { take_locked(std::forward<decltype(what)>(what)); }, std::move(message));
    }
    // A reply wakes the engine's thread and no other.
    if (reply != nullptr) {
        replied_.notify_all();
    } else {
        changed_.notify_all();
    }
}

void NodeClient::take_locked(NodeWelcome welcome) {
    welcome.name = printable(welcome.name, kMostNameBytes);
    welcome.instruction_set = printable(welcome.instruction_set, kMostNameBytes);
    now_.welcome = std::move(welcome);
}

void NodeClient::take_locked(const NodeHoldings& holdings) {
    if (const Message wrong = check(holdings, grid()); !wrong.empty()) {
        end_locked(messages::node_sent_nonsense(wrong));
        return;
    }
    held_.take(holdings);
    ++n_changes_;
    if (held_.is_complete() && is_up()) settled_ = true;
}

void NodeClient::take_locked(NodeReply reply) {
    const auto found = now_.requests.find(reply.number);
    if (found != now_.requests.end()) found->second = std::move(reply);
}

void NodeClient::take_locked(const NodeDrain&) {
    now_.draining = true;
    end_locked(messages::node_says_farewell);
}

void NodeClient::take_locked(const NodeRefusal& refusal) {
    now_.refused = true;
    // The connection is tried again now and then; a note is made only for a new reason.
    Message note = messages::node_refuses(name(), printable(refusal.sentence, kMostSentenceBytes));
    if (note != unreachable_) note_locked(note);
    unreachable_ = trouble_ = std::move(note);
    end_locked(messages::node_link_ended);
}

void NodeClient::take_locked(const NodeFollowing& following) {
    if (!terms_.following) {
        end_as_nonsense_locked({});
        return;
    }
    ++n_changes_;
    if (following.refusal.empty()) {
        held_.drop_all();
        if (unreachable_ == now_.cannot_follow) unreachable_ = {};
        now_.cannot_follow = {};
        ++n_followings_;
        follows_ = true;
        return;
    }
    Message note = messages::node_cannot_follow(name(), printable(following.refusal, kMostSentenceBytes));
    if (note != unreachable_) note_locked(note);
    unreachable_ = now_.cannot_follow = std::move(note);
    // Another desktop may leave, or the node has not noticed yet that this desktop's last
    // connection ended.
    now_.follows_later = following.refusal == Message(messages::node_works_for_others).english();
    now_.n_refused_for_now = now_.follows_later ? now_.n_refused_for_now + 1 : 0;
}

void NodeClient::end_as_nonsense_locked(const Message& wrong) {
    end_locked(messages::node_sent_nonsense(wrong.empty() ? Message(messages::node_message_empty) : wrong));
}

void NodeClient::end_locked(const Message& why) {
    if (!now_.open) return;
    now_.open = false;
    now_.end_reason = why;
    if (!now_.refused) trouble_ = why;
    ++n_changes_;
    if (follows_.exchange(false)) terms_.following->lost();
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

// --------------------------------------------------------------- for the engine's thread
std::shared_ptr<NodeChannel> NodeClient::channel_locked(Needs needs) const {
    const bool is_ready = needs == Needs::kConnected || (needs == Needs::kUp ? is_up() : follows());
    return now_.open && is_ready ? now_.channel : nullptr;
}

bool NodeClient::send(ToNode message, Needs needs) {
    Lock lock(mutex_);
    const std::shared_ptr<NodeChannel> channel = channel_locked(needs);
    lock.unlock();
    if (channel != nullptr) channel->send(std::move(message));
    return channel != nullptr;
}

std::uint64_t NodeClient::ask(NodeCompute request, Needs needs) {
    Lock lock(mutex_);
    const std::shared_ptr<NodeChannel> channel = channel_locked(needs);
    if (channel == nullptr) return 0;
    const std::uint64_t number = request.number = ++next_number_;
    now_.requests[number];
    lock.unlock();
    channel->send(std::move(request));
    return number;
}

std::optional<NodeReply> NodeClient::wait(std::uint64_t number, Clock::time_point until) {
    Lock lock(mutex_);
    const auto answered = [&] {
        const auto found = now_.requests.find(number);
        return found == now_.requests.end() || found->second.has_value();
    };
    replied_.wait_until(lock, until, [&] { return answered() || !now_.open; });
    const auto found = now_.requests.find(number);
    if (found == now_.requests.end()) return {};
    std::optional<NodeReply> reply = std::move(found->second);
    now_.requests.erase(found);
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
