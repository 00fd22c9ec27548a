#include "engine/run/layer_drafter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/as_size.h"
#include "engine/device/mirror.h"
#include "engine/error.h"
#include "engine/model/prediction_layer.h"
#include "engine/run/draft_policy.h"
#include "engine/run/model_runtime.h"
#include "engine/run/moe_layer.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kRowsOfAStep = 1 + static_cast<std::int64_t>(DraftPolicy::kMostDrafted);

Plan plan_of(const PredictionLayer& layer) {
    Plan plan;
    plan.places.assign(as_size(layer.spec.experts.size()), Place::kRam);
    return plan;
}

ExpertStore::Options options_of(ExpertHost& host) {
    ExpertStore::Options options;
    // Of what the model's experts have left.
    if (host.device().info().emulated) {
        options.pin_budget_bytes = std::uint64_t{1} << 62;
    } else {
        const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(0, host.memory().total_bytes / 4 * 3));
        options.pin_budget_bytes = most - std::min(most, host.experts().pinned_bytes());
    }
    options.interleaves = host.host().wants_interleaved();
    return options;
}

// Tokens of the layer's sequence.
std::int64_t layer_context(const ModelDemand& demand) {
    return std::min(demand.max_context, kMostPredictionContext);
}

KvRoom layer_room(std::int64_t context) {
    return {.device_blocks = kv_blocks_for(context) + 1};
}

std::uint64_t arena_bytes(std::uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

std::uint64_t states_bytes(const ModelSpec& spec, std::int64_t n) {
    return static_cast<std::uint64_t>(n * spec.hidden_dim) * sizeof(float);
}

}  // namespace

LayerDrafter::LayerDrafter(PredictionLayer& layer, ExpertHost& host, ModelRuntime& runtime)
    : spec_(layer.spec),
      device_(host.device()),
      model_(runtime.forward()),
      weights_(layer.weights->load_dense(host.ram()), 1, device_, host.host()),
      source_(spec_.experts, *layer.weights, nullptr),
      experts_(spec_.experts, source_, plan_of(layer), device_, host.ram(), host.pool(), options_of(host)),
      cost_(host.cost()),
      dispatcher_(cost_, host.request().dispatch),
      kv_(kv_layout_of(spec_, host.request().kv), std::vector{layer_room(layer_context(host.demand()))}, device_,
          host.ram()),
      forward_(spec_, weights_, experts_, device_, host.host(), dispatcher_, kSmallestStep,
               layer_context(host.demand())),
      states_(device_.memory().allocate(states_bytes(spec_, kMostPending + kRowsOfAStep), MemoryUse::kWorkspace,
                                        messages::activations)),
      sequence_(kv_, layer_context(host.demand())) {
    weights_.share_vocabulary(runtime.weights());
    dispatcher_.set_prefetch(PrefetchMode::kOff);
    dispatcher_.recorder().reshape(1, spec_.experts.n_experts);
}

std::unique_ptr<PredictionLayer> LayerDrafter::open(const LoadRequest& request, WeightSource& source,
                                                    kernels::ThreadPool& pool, std::vector<Message>& notes) {
    if (request.drafts == DraftMode::kOff) return nullptr;
    try {
        return source.open_prediction_layer(pool);
    } catch (const Error& error) {
        notes.push_back(messages::prediction_layer_left_out(error.message()));
        return nullptr;
    }
}

std::uint64_t LayerDrafter::expert_bytes(const PredictionLayer& layer) {
    const ExpertGrid& grid = layer.spec.experts;
    const std::uint64_t one = grid.expert_bytes(grid.stored(layer.weights->expert_type(), 0));
    return static_cast<std::uint64_t>(grid.size()) * arena_bytes(one);
}

void LayerDrafter::add_to(ModelDemand& demand, const PredictionLayer& layer, KvType kv) {
    const ModelSpec& spec = layer.spec;
    demand.host_fixed_bytes += expert_bytes(layer);
    demand.dense_bytes += DeviceWeights::device_bytes(spec, layer.weights->dense_bytes());
    const KvGroup group = kv_layout_of(spec, kv).groups.front();
    demand.workspace_fixed_bytes += static_cast<std::uint64_t>(layer_room(layer_context(demand)).device_blocks) *
                                        arena_bytes(group.shape.block_bytes()) +
                                    Forward::workspace_bytes(spec, layer_context(demand)) +
                                    std::uint64_t{kSmallestStep} * Forward::workspace_bytes_per_token(spec) +
                                    arena_bytes(states_bytes(spec, kMostPending + kRowsOfAStep));
}

// ---------------------------------------------------------------- the conversation

bool LayerDrafter::follow(const KvSequence& sequence, std::span<const TokenId> tokens) {
    if (followed_ != nullptr) return false;
    followed_ = &sequence;
    tokens = tokens.first(std::min(tokens.size(), as_size(sequence.size())));
    const auto [mine, its] = std::ranges::mismatch(tokens_, tokens);
    cut(as_size(mine - tokens_.begin()));
    tokens_.insert(tokens_.end(), its, tokens.end());
    return true;
}

void LayerDrafter::leave(const KvSequence& sequence) {
    if (followed_ != &sequence) return;
    followed_ = nullptr;
    model_.keep_stream(nullptr);
    model_.set_last_layer_whole(false);
}

// The sequence holds its first n_tokens tokens alone.
void LayerDrafter::cut(std::size_t n_tokens) {
    if (n_tokens >= tokens_.size()) return;
    tokens_.resize(n_tokens);
    const auto n = static_cast<std::int64_t>(n_tokens);
    // An entry has the token behind its place as well.
    entries_.erase(std::ranges::lower_bound(entries_, n - 1), entries_.end());
    sequence_.truncate(std::ssize(entries_));
    pending_.erase(std::ranges::lower_bound(pending_, n), pending_.end());
}

void LayerDrafter::begin_step(std::span<const Segment> segments, std::int64_t n_prompt) {
    step_ = {};
    model_.keep_stream(nullptr);
    model_.set_last_layer_whole(false);
    if (followed_ == nullptr || segments.size() != 1 || segments.front().sequence != followed_) return;
    const Segment& segment = segments.front();
    cut(as_size(followed_->size()));
    // Steps that were not seen.
    for (const WrittenToken& token : followed_->written().subspan(tokens_.size())) tokens_.push_back(token.token);
    step_ = segment.certain();
    is_prompt_ = step_.size() > 1;
    is_whole_ = std::max<std::int64_t>(std::ssize(step_), n_prompt) > kSmallestStep;
    if (is_prompt_) return model_.set_last_layer_whole(is_whole_);
    if (std::ssize(pending_) >= kMostPending) feed_pending(step_.front(), Forward::Logits::kNone);
    model_.keep_stream(pending_row(pending_.size()));
}

void LayerDrafter::end_step(Forward::Logits wanted, bool done) {
    model_.set_last_layer_whole(false);
    const std::span<const TokenId> step = std::exchange(step_, {});
    if (!done || step.empty()) return;
    const auto first = std::ssize(tokens_), n = std::ssize(step);
    const TokenId begins = step.front();
    if (!is_prompt_) {
        tokens_.push_back(begins);
        return pending_.push_back(first);
    }
    feed_pending(begins, Forward::Logits::kNone);
    tokens_.insert(tokens_.end(), step.begin(), step.end());
    const bool has_last = is_whole_ || wanted != Forward::Logits::kNone;
    if (is_whole_ || wanted == Forward::Logits::kAll) {
        std::vector<std::int64_t> places(as_size(n - 1));
        std::iota(places.begin(), places.end(), first);
        feed(places, -1, {model_.stream(), model_.final_norm()}, Forward::Logits::kNone);
    }
    if (!has_last) return;
    device_.copy_within(pending_row(0), model_.stream() + (n - 1) * spec_.hidden_dim, states_bytes(spec_, 1));
    pending_.assign(1, first + n - 1);
}

void LayerDrafter::accept(const KvSequence& sequence, TokenId token) {
    if (followed_ != &sequence || pending_.empty()) return;
    pending_.push_back(std::ssize(tokens_));  // its state lies behind that of the token before
    tokens_.push_back(token);
}

// ---------------------------------------------------------------- the layer's steps

// Entries for the tokens at these places, whose states are these rows. next: behind the
// last of all. False: there are none.
bool LayerDrafter::feed(std::span<const std::int64_t> places, TokenId next, const Forward::States& states,
                        Forward::Logits wanted) {
    std::vector<TokenId> behind;
    for (std::size_t at = 0; at < places.size(); at += behind.size()) {
        const std::size_t n = std::min(places.size() - at, as_size(kSmallestStep));
        behind.clear();
        for (const std::int64_t place : places.subspan(at, n)) {
            behind.push_back(as_size(place + 1) < tokens_.size() ? tokens_[as_size(place + 1)] : next);
        }
        // Full: it begins anew.
        if (sequence_.size() + std::ssize(behind) + kRowsOfAStep > sequence_.capacity()) {
            sequence_.clear();
            entries_.clear();
        }
        const Segment segment{&sequence_, behind};
        forward_.set_states({states.rows + static_cast<std::int64_t>(at) * spec_.hidden_dim, states.norm});
        const bool is_last = at + n == places.size();
        const auto outcome = forward_.step({&segment, 1}, is_last ? wanted : Forward::Logits::kNone, {});
        if (outcome != Forward::Outcome::kDone) return false;
        entries_.insert(entries_.end(), places.begin() + static_cast<std::ptrdiff_t>(at),
                        places.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
    return !places.empty();
}

bool LayerDrafter::feed_pending(TokenId next, Forward::Logits wanted) {
    const std::vector<std::int64_t> places = std::exchange(pending_, {});
    return feed(places, next, {states_.as<float>(), model_.final_norm()}, wanted);
}

std::size_t LayerDrafter::draft(TokenId next, std::span<TokenId> draft) {
    if (followed_ == nullptr || draft.empty() || !feed_pending(next, Forward::Logits::kLast)) return 0;
    const std::int64_t n_entries = sequence_.size();
    std::size_t n = 0;
    while (true) {
        const std::span<const float> logits = forward_.logits();
        draft[n] = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
        if (++n == draft.size()) break;
        const Segment segment{&sequence_, draft.subspan(n - 1, 1)};
        forward_.set_states({forward_.last_state()});
        if (forward_.step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) {
            n = 0;
            break;
        }
    }
    sequence_.truncate(n_entries);
    return n;
}

std::vector<float> LayerDrafter::logits_of(std::span<const TokenId> tokens, std::span<const float> states) {
    KvSequence sequence(kv_, sequence_.capacity());
    Mirror<float> rows(device_, states.size(), MemoryUse::kWorkspace, messages::activations);
    std::ranges::copy(states, rows.host());
    rows.upload(0, states.size());
    const Segment segment{&sequence, tokens};
    forward_.set_states({rows.device()});
    if (forward_.step({&segment, 1}, Forward::Logits::kAll, {}) != Forward::Outcome::kDone) return {};
    return {forward_.logits().begin(), forward_.logits().end()};
}

}  // namespace offstage::engine
