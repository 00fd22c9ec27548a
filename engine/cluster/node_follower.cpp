#include "engine/cluster/node_follower.h"

#include <algorithm>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/load_planner.h"
#include "engine/run/moe_layer.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostQueuedSteps = 512;
// The limit of activations that arrive early: the desktop is at most one layer ahead of a
// node, and a machine that waits for nothing from a node some layers more.
constexpr std::size_t kInboxLayers = 4;
constexpr std::size_t kLeastInbox = 2 * kMostMessageBytes;
constexpr std::size_t kMostInbox = std::size_t{1} << 30;  // limit for every size of the largest step

LoadRequest request_of(const ExpertHost& host, const NodeFollow& follow) {
    LoadRequest request = host.request();
    request.context = follow.context;
    request.kv = follow.kv;
    if (follow.quantizes_dense) request.quant.dense = follow.dense;
    return request;
}

std::unique_ptr<ModelRuntime> open_runtime(ExpertHost& host, const NodeFollow& follow) {
    const LoadRequest request = request_of(host, follow);
    WeightSource& master = host.source().master();
    host.describe_load(request);
    Plan plan = plan_load(host.plan_inputs());
    plan.max_step = follow.max_step;
    DenseWeights dense = master.load_dense(host.ram());
    if (request.quant.dense) quantize_dense(dense, *request.quant.dense, host.ram(), host.pool());
    const std::uint64_t read_bytes = dense.decode_bytes();
    DeviceWeights weights(std::move(dense), host.spec().n_layers(), host.device(), host.host());
    // Room for experts that are not held.
    const ExpertGrid& grid = host.spec().experts;
    std::uint64_t largest = 0;
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        largest = std::max(largest, grid.expert_bytes(grid.stored(host.plan_inputs().master, layer)));
    }
    host.experts().disk_slots().resize(grid.n_active, largest, false);
    return std::make_unique<ModelRuntime>(host, std::move(weights), read_bytes, std::move(plan));
}

}  // namespace

NodeFollower::NodeFollower(ExpertHost& host, TurnLock& turn, const std::size_t& packing, const NodeFollow& follow,
                           Send send, SendDirectly send_directly)
    : host_(host),
      turn_(turn),
      packing_(packing),
      follow_(follow),
      send_(std::move(send)),
      send_directly_(std::move(send_directly)),
      inbox_(std::clamp(kInboxLayers * static_cast<std::size_t>(follow.max_step) *
                            static_cast<std::size_t>(host.spec().experts.n_active) *
                            static_cast<std::size_t>(host.spec().experts.hidden_dim) * sizeof(float),
                        kLeastInbox, kMostInbox)) {
    const std::string here(kernels::name_of(kernels::cpu_kernels().instruction_set));
    if (follow.instruction_set != here) {
        throw Error(ErrorKind::kUnsupported,
                    messages::node_would_choose_otherwise(here, printable(follow.instruction_set, kMostNameBytes)));
    }
    runtime_ = open_runtime(host, follow);
    sequence_ = KvSequence(runtime_->kv(), follow.context);
    PeerLinks& links = *this;
    auto executor = std::make_unique<PeerExecutor>(links, host.spec().experts, host.experts(), host.device());
    executor_ = executor.get();
    runtime_->forward().moe().add_executor(std::move(executor));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

NodeFollower::~NodeFollower() {
    take(NodeAbandon{kAllSteps});
    thread_.request_stop();
    thread_.join();
    const std::scoped_lock turn(turn_);
    sequence_ = {};
    runtime_.reset();
    host_.experts().disk_slots().shrink(0, 0, false);
}

NodeFollower::Totals NodeFollower::totals() const {
    const std::scoped_lock lock(mutex_);
    return totals_;
}

// ---------------------------------------------------------------- received messages
Message NodeFollower::queue(std::variant<NodeShares, NodeStep> what) {
    const std::scoped_lock lock(mutex_);
    if (queue_.size() >= kMostQueuedSteps) return messages::node_has_steps_enough(kMostQueuedSteps);
    queue_.push_back(std::move(what));
    changed_.notify_all();
    return {};
}

Message NodeFollower::take(NodeShares shares) {
    if (Message wrong = check(shares, host_.spec().experts); !wrong.empty()) return wrong;
    return queue(std::move(shares));
}

Message NodeFollower::take(NodeStep step) {
    if (Message wrong = check(step, host_.spec().vocab_size); !wrong.empty()) return wrong;
    return queue(std::move(step));
}

Message NodeFollower::take(NodeOutputs outputs) {
    if (Message wrong = check(outputs, host_.spec().experts); !wrong.empty()) return wrong;
    return inbox_.put(std::move(outputs)) ? Message() : messages::node_has_steps_enough(kMostQueuedSteps);
}

Message NodeFollower::take(const NodeAbandon& abandon) {
    inbox_.abandon(abandon.step);
    const std::scoped_lock lock(mutex_);
    abandoned_ = std::max(abandoned_, abandon.step);
    if (making_ <= abandoned_) stop_step_.request_stop();
    return {};
}

// ---------------------------------------------------------------- steps
// The desktop gets the message in any case, and passes it on to the machines that did not
// get it from here.
void NodeFollower::send(NodeOutputs outputs, std::uint32_t machines) {
    {
        const std::scoped_lock lock(mutex_);
        totals_.n_rows += outputs.row_token.size();
        totals_.compute_us += outputs.compute_us;
    }
    without_turn([&] {
        outputs.direct = send_directly_(outputs, machines & ~1u);
        send_(std::move(outputs));
    });
}

std::optional<PeerInbox::Arrived> NodeFollower::wait(std::int32_t layer, std::uint32_t machine, double) {
    std::optional<PeerInbox::Arrived> arrived;
    without_turn([&] { arrived = inbox_.take(layer, machine, {}); });
    return arrived;
}

// Meanwhile other code, which uses another order of sums, may use the machine.
template <typename Function>
void NodeFollower::without_turn(const Function& function) {
    const SumOrder order = host_.host().sum_order();
    turn_.unlock();
    function();
    turn_.lock();
    host_.host().set_sum_order(order);
    host_.device().set_sum_order(order);
}

void NodeFollower::run(const std::stop_token& stop) {
    while (true) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return !queue_.empty(); })) return;
        std::variant<NodeShares, NodeStep> next = std::move(queue_.front());
        queue_.pop_front();
        if (auto* shares = std::get_if<NodeShares>(&next)) {
            lock.unlock();
            use(std::move(*shares));
            continue;
        }
        const NodeStep& step = std::get<NodeStep>(next);
        making_ = step.number;
        stop_step_ = std::stop_source();
        const bool begins = step.number > abandoned_;
        lock.unlock();
        bool done = false;
        if (begins) {
            const std::scoped_lock turn(turn_);
            try {
                done = make(step);
            } catch (const Error&) {  // an expert could not be read
                executor_->end_step();
            }
        }
        lock.lock();
        totals_.n_steps += done ? 1 : 0;
        lock.unlock();
        send_(NodeStepped{step.number, done});
    }
}

void NodeFollower::use(NodeShares shares) {
    const std::scoped_lock turn(turn_);
    shares_ = std::move(shares);
}

// Sets each expert's format for computing. An expert that is held in another format is
// useless and is dropped.
void NodeFollower::follow_formats() {
    ExpertStore& experts = host_.experts();
    std::uint64_t largest = experts.disk_slots().slot_bytes();
    for (std::size_t i = 0; i < shares_.formats.size(); ++i) {
        const auto format = static_cast<kernels::WeightType>(static_cast<unsigned char>(shares_.formats[i]));
        largest = std::max(largest, host_.source().expert_bytes(format));
        if (experts.format(i) == format || i == packing_) continue;
        if (experts.in_ram(i)) {
            experts.drop_ram(i);
            experts.settle();
        }
        experts.copies().prepare_format(i, format);
        experts.copies().commit(i, false, false);
    }
    experts.disk_slots().resize(host_.spec().experts.n_active, largest, false);
}

bool NodeFollower::make(const NodeStep& step) {
    if (sequence_.size() < step.n_kept || sequence_.truncate(step.n_kept) != step.n_kept ||
        static_cast<std::int64_t>(step.tokens.size()) > follow_.max_step || shares_.owners.empty()) {
        return false;
    }
    follow_formats();
    std::stop_token stop;
    {
        const std::scoped_lock lock(mutex_);
        stop = stop_step_.get_token();
    }
    Forward& forward = runtime_->forward();
    forward.moe().set_theta(ExpertThetas(static_cast<double>(step.theta)));
    inbox_.begin_step(step.number);
    const std::uint32_t together = 1u | 1u << shares_.machine;  // the desktop and this machine
    const bool alone = (step.machines & together) != together;
    const ModelSpec& spec = host_.spec();
    const bool all_needed = step.tokens.size() == 1 || !Forward::ends_with_experts(spec);
    executor_->begin_step({step.number, alone ? 0 : step.machines, shares_.machine, &shares_.owners,
                           follow_.activations, spec.experts.n_layers, spec.experts.n_layers - (all_needed ? 0 : 1)});
    const Segment segment{&sequence_, step.tokens};
    const auto wanted = alone ? Forward::Logits::kNone : Forward::Logits::kLastElsewhere;
    const Forward::Outcome outcome = forward.step({&segment, 1}, wanted, stop, step.n_prompt);
    executor_->end_step();
    // A place where the next prompt can continue.
    if (outcome == Forward::Outcome::kDone && step.tokens.size() > 1) sequence_.checkpoint();
    return outcome == Forward::Outcome::kDone;
}

}  // namespace offstage::engine
