#include "engine/run/forward.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/plan/plan.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/attention.h"
#include "engine/run/layers/network.h"
#include "engine/run/layers/streams.h"
#include "engine/run/moe_layer.h"
#include "engine/run/prompt_reading.h"
#include "engine/run/run_messages.h"
#include "engine/run/step_inputs.h"
#include "engine/run/step_probe.h"
#include "engine/run/token_chooser.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kLogitsRows = 32;  // rows of logits made at a time
constexpr std::int64_t kTableStep = 32;   // entries

// Floats of the most demanding module for one token.
std::int64_t module_workspace(const ModelSpec& spec) {
    // A network's output.
    std::int64_t most = std::max(WorkspacePieces::rounded(spec.hidden_dim), stream_workspace(spec));
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) most = std::max(most, attention_workspace(spec, l));
    return most;
}

bool needs_further(const ModelSpec& spec) {
    return std::any_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& layer) {
        return layer.moe() != nullptr && (layer.output_norms || layer.moe()->router_norm || layer.moe()->weighs_inputs);
    });
}

// Of one token's input and sum of experts: where they are not the model's.
std::int64_t latent_floats(const ModelSpec& spec) {
    const bool any = std::ranges::any_of(
        spec.layers, [](const LayerSpec& layer) { return layer.moe() != nullptr && layer.moe()->latent; });
    return any ? spec.experts.hidden_dim : 0;
}

// Of one token, where there are many streams.
std::int64_t stream_floats(const ModelSpec& spec) {
    return spec.streams.many() ? spec.streams.n * spec.hidden_dim + spec.streams.n_coefficients() : 0;
}

bool is_prefill(std::span<const Segment> segments) {
    return std::ranges::any_of(segments, [](const Segment& segment) { return segment.certain().size() > 1; });
}

bool has_draft(std::span<const Segment> segments) {
    return std::ranges::any_of(segments, [](const Segment& segment) { return segment.n_drafted > 0; });
}

// States that a segment's recurrent layers write: after all tokens, or after each.
std::size_t n_states_of(const Segment& segment) {
    return segment.n_drafted > 0 ? segment.tokens.size() : 1;
}

// A group's tokens of a chunk; 0: none.
std::int64_t chunk_of(const KvGroup& group) {
    return group.chunked ? group.window : 0;
}

// Counts of tokens before a step, of a sequence and of the chunks that its tokens lie in.
std::int64_t most_counts(std::span<const std::int64_t> chunks, std::int64_t n_tokens) {
    std::int64_t n = Forward::kMaxSegments;
    for (const std::int64_t chunk : chunks) n += chunk > 0 ? 2 * Forward::kMaxSegments + n_tokens / chunk : 0;
    return n;
}

std::int64_t table_entries_of(std::size_t n_groups, std::int64_t context) {
    return static_cast<std::int64_t>(n_groups) * Forward::kMaxSegments * (context / kernels::kKvBlockTokens + 2);
}

}  // namespace

struct Forward::Layer {
    NormWeights attention_norm;
    std::unique_ptr<AttentionModule> attention;           // nullptr: the layer is its network alone
    std::unique_ptr<StreamMixer> attention_streams = {};  // nullptr: there is one stream
    std::unique_ptr<StreamMixer> ffn_streams = {};
    NormWeights ffn_norm;
    NetworkModule network;                // dense, or the shared experts; neither: none
    std::int64_t moe_layer = -1;          // -1: no experts
    NormWeights expert_output_norm = {};  // these two: MoeSpec::own_norms, LayerSpec::output_norms
    OutputRule output = {};               // of a layer with experts
    kernels::WeightView latent_up = {};   // MoeSpec::latent; otherwise without data
    float scale = 1;                      // for the residual stream, at the end
};

Forward::Forward(const ModelSpec& spec, const DeviceWeights& weights, ExpertStore& experts, Backend& device,
                 CpuOperations& host, Dispatcher& dispatcher, std::int64_t max_step, std::int64_t context)
    : spec_(spec),
      weights_(weights),
      device_(device),
      host_(host),
      dispatcher_(dispatcher),
      shape_(step_shape(spec, experts.master_type(), max_step, std::max(context, spec.max_context))),
      n_kv_groups_(kv_layout_of(spec, {}).groups.size()),
      moe_(std::make_unique<MoeLayer>(spec.experts, experts, device, host, dispatcher, max_step)),
      positions_(spec, context) {
    device.reserve(shape_);
    moe_->set_choice_awaited(spec.predicts);  // between steps of other operations, which repeat
    in_host_.resize(as_size(table_entries_of(n_kv_groups_, shape_.context)));
    kv_.resize(n_kv_groups_);
    const KvLayout layout = kv_layout_of(spec, {});
    for (const KvGroup& group : layout.groups) chunks_.push_back(chunk_of(group));
    for (KvStep& group : kv_) group.segments.reserve(as_size(most_counts(chunks_, max_step)));
    take_workspace(max_step);
    head_streams_ = make_stream_mixer(spec, weights, StreamPart::kHead, -1);
    wanted_.reserve(as_size(kMaxSegments));

    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const LayerSpec& of_spec = spec.layers[as_size(l)];
        Layer layer{
            .attention_norm = norm_of(TensorRole::kAttentionNorm, TensorRole::kAttentionNormBias, l),
            .attention = make_attention(spec, weights, l, layout, positions_.kind_of(l), positions_.pooled_kind_of(l)),
            .ffn_norm = norm_of(TensorRole::kFfnNorm, TensorRole::kFfnNormBias, l),
            .network = NetworkModule(spec, weights, l)};
        layer.attention_streams = make_stream_mixer(spec, weights, StreamPart::kAttention, l);
        layer.ffn_streams = make_stream_mixer(spec, weights, StreamPart::kNetwork, l);
        layer.scale = weights.number(TensorRole::kLayerScale, l);
        if (const MoeSpec* const moe = of_spec.moe(); moe != nullptr) {
            assert(!moe->weighs_inputs || !(of_spec.output_norms || moe->router_norm));  // StepContext::further
            layer.moe_layer = std::ssize(routers_);
            routers_.push_back(router_of(spec, weights, layer.moe_layer));
            assert(!moe->latent || !(of_spec.output_norms || moe->weighs_inputs));  // MoeCall::sum
            layer.latent_up = weights.matrix(TensorRole::kExpertLatentUp, l);
            if (moe->own_norms) layer.ffn_norm = rms_norm_of(spec, weights, TensorRole::kExpertNorm, l);
            layer.expert_output_norm = rms_norm_of(spec, weights, TensorRole::kExpertOutputNorm, l);
            layer.output = {rms_norm_of(spec, weights, TensorRole::kFfnOutputNorm, l), 1};
        }
        layers_.push_back(std::move(layer));
    }
}

Forward::~Forward() {
    // Inputs of a step that was to run ahead may still be copied.
    if (ahead_.room > 0) device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
}

void Forward::set_probe(StepProbe* probe) {
    probe_ = probe;
    moe_->set_choice_awaited(probe != nullptr || spec_.predicts);
}

// With moe_ of that many tokens.
void Forward::take_workspace(std::int64_t max_step) {
    const auto workspace = [&](std::int64_t floats, const MessageArgument& purpose) {
        return device_.memory().allocate(as_size(max_step * floats) * sizeof(float), MemoryUse::kWorkspace, purpose);
    };
    max_step_ = max_step;
    inputs_ = allocate_inputs(shape_.context);
    if (device_.runs_ahead()) {
        chosen_ = Mirror<std::int32_t>(device_, 2, MemoryUse::kWorkspace, messages::step_inputs);
        ahead_.room = inputs_bytes(1, shape_.context);
        ahead_.inputs = PinnedHost<std::byte>(device_, 2 * ahead_.room, messages::step_inputs);
    }
    x_ = workspace(spec_.hidden_dim, messages::activations);
    h_ = workspace(spec_.hidden_dim, messages::activations);
    if (spec_.streams.many()) {
        streams_ = workspace(spec_.streams.n * spec_.hidden_dim, messages::activations);
        coefficients_ = workspace(spec_.streams.n_coefficients(), messages::activations);
    }
    if (const std::int64_t n = latent_floats(spec_); n > 0) {
        latent_ = workspace(n, messages::activations);
        latent_sum_ = workspace(n, messages::activations);
    }
    if (needs_further(spec_)) further_ = workspace(spec_.hidden_dim, messages::activations);
    workspace_ = workspace(module_workspace(spec_), messages::intermediate_results);
    if (const std::int64_t n = spec_.largest_attention().choice_width(); n > 0) {
        chosen_keys_ = workspace(n, messages::intermediate_results);
    }
    if (spec_.dense_ffn_dim() > 0) {
        identity_ =
            Mirror<std::int32_t>(device_, as_size(max_step), MemoryUse::kWorkspace, messages::rows_of_a_dense_network);
        std::iota(identity_.host(), identity_.host() + max_step, 0);
        identity_.upload(0, as_size(max_step));
        device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    }
    const std::int64_t rows = std::min(kLogitsRows, std::max(max_step, kMaxSegments));
    logits_ = Mirror<float>(device_, as_size(rows * spec_.vocab_size), MemoryUse::kWorkspace, "logits");
}

void Forward::give_back_workspace() {
    max_step_ = 0;
    inputs_ = {};
    chosen_ = {};
    ahead_ = {};
    for (DeviceBlock* const block :
         {&x_, &h_, &streams_, &coefficients_, &further_, &latent_, &latent_sum_, &chosen_keys_, &workspace_})
        *block = DeviceBlock();
    identity_ = {};
    logits_ = {};
    logits_view_ = {};
    moe_->set_max_step(0);
}

void Forward::set_max_step(std::int64_t max_step) {
    if (max_step == max_step_) return;
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));  // the old memory may still be read
    const std::int64_t before = max_step_;
    // Frees the old one first: a budget rarely has room for both.
    const auto change = [&](std::int64_t n) {
        give_back_workspace();
        shape_.n_tokens = 0;
        device_.reserve(shape_);
        shape_.n_tokens = n;
        device_.reserve(shape_);
        moe_->set_max_step(n);
        take_workspace(n);
    };
    try {
        change(max_step);
    } catch (const Error&) {
        try {
            change(std::max<std::int64_t>(1, before));
        } catch (const Error&) {
            give_back_workspace();
        }
        throw;
    }
}

NormWeights Forward::norm_of(TensorRole weight, TensorRole bias, std::int64_t layer) const {
    return {spec_.norm.kind, weights_.vector(weight, layer), weights_.vector(bias, layer), spec_.hidden_dim,
            spec_.norm.eps};
}

std::uint64_t Forward::workspace_bytes(const ModelSpec& spec, std::int64_t context) {
    const KvLayout layout = kv_layout_of(spec, {});
    const auto n_chunked = std::ranges::count_if(layout.groups, &KvGroup::chunked);
    return static_cast<std::uint64_t>(kLogitsRows * spec.vocab_size) * sizeof(float) +
           static_cast<std::uint64_t>(table_entries_of(layout.groups.size(), std::max(context, spec.max_context))) *
               sizeof(std::byte*) +
           positions_begin(1) + static_cast<std::uint64_t>(kMaxSegments * (1 + 2 * n_chunked)) * sizeof(std::int32_t) +
           ResidentLayers::device_bytes(spec.experts) + 16 * 256;  // each piece is rounded up
}

std::uint64_t Forward::workspace_bytes_per_token(const ModelSpec& spec) {
    const KvLayout layout = kv_layout_of(spec, {});
    // At most a count each.
    const std::int64_t n_chunked = std::ranges::count_if(layout.groups, &KvGroup::chunked);
    const std::int64_t words = (needs_further(spec) ? 3 : 2) * spec.hidden_dim + stream_floats(spec) +
                               2 * latent_floats(spec) + module_workspace(spec) +
                               spec.largest_attention().choice_width() + Positions::floats_per_token(spec) + 1 +
                               (spec.dense_ffn_dim() > 0 ? 1 : 0) + n_chunked;
    return static_cast<std::uint64_t>(words) * sizeof(float) + RoutedRows::bytes_per_token(spec.experts);
}

Backend::StepShape Forward::step_shape(const ModelSpec& spec, kernels::WeightType type, std::int64_t max_step,
                                       std::int64_t context) {
    return {.n_tokens = max_step,
            .hidden_dim = spec.hidden_dim,
            .ffn_dim = spec.experts.ffn_dim,
            .dense_ffn_dim = spec.dense_ffn_dim(),
            .widest_row = spec.streams.n * spec.hidden_dim,
            .n_experts = spec.experts.n_experts,
            .n_active = spec.experts.n_active,
            .n_layers = spec.n_layers(),
            .attention = spec.largest_attention(),
            .vocab_size = spec.vocab_size,
            .context = context,
            .weight_type = type};
}

std::size_t Forward::inputs_bytes(std::int64_t n_tokens, std::int64_t context) const {
    const std::size_t words = as_size(n_tokens * Positions::floats_per_token(spec_) + most_counts(chunks_, n_tokens));
    return as_size(table_entries_of(n_kv_groups_, context)) * sizeof(std::byte*) +
           tables_begin(as_size(n_tokens), words);
}

Mirror<std::byte> Forward::allocate_inputs(std::int64_t context) const {
    return {device_, inputs_bytes(max_step_, context), MemoryUse::kWorkspace, messages::step_inputs};
}

void Forward::set_context(std::int64_t context) {
    if (context <= shape_.context) return;
    Backend::StepShape shape = shape_;
    shape.context = context;
    Mirror<std::byte> inputs = allocate_inputs(context);
    PinnedHost<std::byte> ahead;
    if (ahead_.room > 0) ahead = PinnedHost<std::byte>(device_, 2 * inputs_bytes(1, context), messages::step_inputs);
    in_host_.resize(as_size(table_entries_of(n_kv_groups_, context)));
    device_.reserve(shape);
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));  // the old inputs may still be read
    inputs_ = std::move(inputs);
    ahead_ = {.room = ahead.size() / 2, .inputs = std::move(ahead)};
    shape_ = shape;
}

void Forward::set_sum_order(SumOrder order) {
    device_.set_sum_order(order);
    host_.set_sum_order(order);
}

Forward::Outcome Forward::step(std::span<const Segment> segments, Logits wanted, const std::stop_token& stop,
                               std::int64_t n_prompt, TokenChooser* chooser) {
    std::int64_t n_tokens = 0;
    for (const Segment& segment : segments) n_tokens += std::ssize(segment.tokens);
    if (max_step_ == 0) set_max_step(std::max(n_tokens, kSmallestStep));
    assert(n_tokens >= 1 && n_tokens <= max_step_ && static_cast<std::int64_t>(segments.size()) <= kMaxSegments);
    assert(!has_draft(segments) || (segments.size() == 1 && segments[0].certain().size() == 1));
    const HostTimes::Scope preparing(dispatcher_.host_times(), HostTimes::Phase::kPreparing);
    const double entered_us = device_.now_us();
    if (n_table_entries(segments) > table_entries_of(n_kv_groups_, shape_.context)) return Outcome::kFull;
    for (const Segment& segment : segments) {
        KvSequence& sequence = *segment.sequence;
        const std::int64_t n = std::ssize(segment.tokens);
        if (sequence.size() + n > sequence.capacity()) return Outcome::kFull;
        if (!sequence.prepare(n, device_, n_states_of(segment))) return Outcome::kFull;
    }
    std::optional<kernels::TokenRule> rule;
    const bool may_choose =
        n_tokens == 1 && wanted == Logits::kLast && ahead_.room > 0 && listener_ == nullptr && probe_ == nullptr;
    if (chooser != nullptr && may_choose) rule = chooser->rule(0);
    if (!rule) chooser = nullptr;
    upload_inputs(segments, n_tokens, rule ? &*rule : nullptr);
    const double start_us = std::min(entered_us, ahead_.begun_us);
    routing_size_ = as_size(n_tokens * spec_.experts.n_layers * spec_.experts.n_active);
    if (routing_.size() < routing_size_) routing_.resize(routing_size_);

    if (!device_.ok()) return Outcome::kFailed;  // the device must not look up token ids that never came

    // A prompt that fits in the smallest step is read in one under any budget, so it may
    // use the fastest order.
    const bool many = std::max(n_tokens, n_prompt) > kSmallestStep;
    set_sum_order(many ? SumOrder::kMany : has_draft(segments) ? SumOrder::kAlone : SumOrder::kByNumber);
    if (listener_ != nullptr) listener_->begin_step(segments, wanted, n_prompt);
    dispatcher_.begin_step(n_tokens, is_prefill(segments), segments[0].n_drafted);
    Outcome outcome = Outcome::kFailed;
    try {
        outcome = run_layers(segments, n_tokens, wanted, stop, chooser);
    } catch (...) {  // an expert that cannot be read: the device must not wait for it
        end_early();
        throw;
    }
    if (outcome == Outcome::kDone) {
        dispatcher_.end_step(device_.now_us() - start_us);
        const std::int32_t together = many ? WrittenToken::kInAnyStep : written_in(segments, n_tokens);
        ++n_steps_;
        for (const Segment& segment : segments) segment.sequence->commit(segment.certain(), together, n_steps_);
    }
    if (listener_ != nullptr) listener_->end_step(outcome == Outcome::kDone);
    return outcome;
}

// WrittenToken::n_together of a step's tokens.
std::int32_t Forward::written_in(std::span<const Segment> segments, std::int64_t n_tokens) const {
    if (segments.size() > 1) return WrittenToken::kBesideOthers;
    if (segments[0].n_drafted == 0) return static_cast<std::int32_t>(n_tokens);
    return device_.keeps_sum_order() ? 1 : WrittenToken::kBesideOthers;
}

void Forward::accept_draft(KvSequence& sequence, TokenId token) {
    sequence.commit({&token, 1}, device_.keeps_sum_order() ? 1 : WrittenToken::kBesideOthers, ++n_steps_);
}

Forward::Outcome Forward::run_layers(std::span<const Segment> segments, std::int64_t n_tokens, Logits wanted,
                                     const std::stop_token& stop, TokenChooser* chooser) {
    const bool prefill = is_prefill(segments);
    const HostTimes::Scope starting(dispatcher_.host_times(), HostTimes::Phase::kStarting);
    find_wanted(segments, n_tokens, prefill, wanted);
    std::int64_t n_last = n_tokens;
    if (ends_with_experts(spec_)) {
        n_last = 0;
        for (const TokenRange& tokens : wanted_) n_last += tokens.n;
    }
    moe_->begin_step({.prefill = prefill,
                      .n_tokens = n_tokens,
                      .last = wanted == Logits::kLast || wanted == Logits::kAll,
                      .n_last = n_last,
                      .whole = chooser != nullptr,
                      .experts_move = between_layers_ && (!moves_ || moves_())});
    repeats_ = n_tokens == 1 && probe_ == nullptr && !spec_.predicts;
    if (repeats_) {
        forget_other_sequences(chooser != nullptr);
        device_.begin_repeated(moe_->place(0));
    }
    embed(n_tokens);
    moe_->begin_layers();
    if (probe_ != nullptr) probe_->begin_step(n_tokens);
    const StepContext context = context_of(n_tokens);
    for (std::int64_t layer = 0; layer < spec_.n_layers(); ++layer) {
        if (stop.stop_requested() || !device_.ok()) return end_early();
        if (reading_ != nullptr) reading_->begin_layer(layer, spec_.n_layers());
        run_layer(layer, context);
    }
    if (chooser == nullptr) moe_->fetch();
    if (!compute_logits(segments, n_tokens, wanted, stop, chooser)) return end_early();
    if (kept_stream_ != nullptr) {
        device_.copy_within(kept_stream_, x_.data(), as_size(n_tokens * spec_.hidden_dim) * sizeof(float));
    }
    if (chooser != nullptr) {  // not in the sequence: the next one may run while the host reads these
        moe_->fetch();
        chosen_.store(0, 1);
    }
    const DeviceEvent end = device_.record(DeviceEvent::Queue::kCompute);
    if (chooser != nullptr) run_ahead(segments, *chooser);
    {
        const HostTimes::Scope waiting(dispatcher_.host_times(), HostTimes::Phase::kWaiting);
        moe_->read_choices();
        device_.host_wait(end);
    }
    if (!device_.ok()) return Outcome::kFailed;
    if (chooser != nullptr) chosen_token_ = chosen_.host()[0];
    ahead_.begun_us = device_.now_us();
    moe_->finish();
    return Outcome::kDone;
}

void Forward::embed(std::int64_t n_tokens) {
    const std::int64_t n = n_tokens * spec_.hidden_dim;
    const ops::Embed embedded{weights_.matrix(TensorRole::kEmbedding), tokens_, n_tokens,
                              spec_.predicts ? workspace_.as<float>() : x_.as<float>()};
    if (spec_.predicts) {
        const auto norm = [&](const NormWeights& weights, const float* rows) {
            device_.submit(ops::Norm{weights, rows, n_tokens, h_.as<float>()});
        };
        const auto rms = [&](TensorRole role) { return norm_of(role, TensorRole::kFinalNormBias, -1); };
        const auto multiply = [&](TensorRole role, float* to) {
            device_.submit(ops::Multiply{weights_.matrix(role), h_.as<float>(), n_tokens, to});
        };
        // The states may lie in h_.
        if (states_.norm.dim > 0) norm(states_.norm, states_.rows);
        norm(rms(TensorRole::kPredictionStateNorm), states_.norm.dim > 0 ? h_.as<float>() : states_.rows);
        multiply(TensorRole::kPredictionState, x_.as<float>());
        device_.submit(embedded);
        norm(rms(TensorRole::kPredictionTokenNorm), embedded.x);
        multiply(TensorRole::kPredictionToken, embedded.x);
        device_.submit(ops::Add{embedded.x, n, x_.as<float>()});
        return;
    }
    device_.submit(embedded);
    if (spec_.embedding_scale != 1) device_.submit(ops::Scale{spec_.embedding_scale, n, x_.as<float>()});
    if (!spec_.streams.many()) return;
    device_.submit(ops::WriteStreams{.y = x_.as<float>(),
                                     .n_streams = spec_.streams.n,
                                     .n = n_tokens,
                                     .dim = spec_.hidden_dim,
                                     .streams = streams_.as<float>()});
}

Forward::Outcome Forward::end_early() {
    device_.forget_keys();
    moe_->give_up_answers();
    device_.end_repeated();
    device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
    return device_.ok() ? Outcome::kStopped : Outcome::kFailed;
}

void Forward::find_wanted(std::span<const Segment> segments, std::int64_t n_tokens, bool prefill, Logits wanted) {
    all_tokens_ = {0, n_tokens};
    wanted_.clear();
    // A step of single tokens does not depend on `wanted`, so that its operations may
    // repeat.
    if (wanted == Logits::kAll || !prefill || last_layer_whole_) {
        wanted_.push_back(all_tokens_);
    } else if (wanted != Logits::kNone) {
        std::int64_t last = -1;
        for (const Segment& segment : segments) {
            last += std::ssize(segment.tokens);
            if (!wanted_.empty() && wanted_.back().first + wanted_.back().n == last) {
                ++wanted_.back().n;
            } else {
                wanted_.push_back({last, 1});
            }
        }
    }
}

StepContext Forward::context_of(std::int64_t n_tokens) const {
    return {device_,
            n_tokens,
            spec_.hidden_dim,
            kv_,
            rotations_,
            identity_.device(),
            x_.as<float>(),
            h_.as<float>(),
            workspace_.as<float>(),
            further_.as<float>(),
            {&all_tokens_, 1},
            chosen_keys_.as<std::int32_t>(),
            streams_.as<float>(),
            coefficients_.as<float>(),
            tokens_,
            latent_.as<float>(),
            latent_sum_.as<float>()};
}

// Before a part with a mixer, which then only makes x; the norm that it still needs.
NormWeights Forward::begin_part(const StreamMixer* mixer, const StepContext& step, const NormWeights& norm) const {
    if (mixer == nullptr) return norm;
    mixer->read(step, norm, step.normalised);
    device_.submit(ops::Clear{step.n_tokens * step.hidden_dim, step.x});
    return {};
}

void Forward::run_layer(std::int64_t layer, const StepContext& step) {
    const Layer& modules = layers_[as_size(layer)];
    if (repeats_) device_.begin_repeated(moe_->place(layer));
    if (modules.attention) {
        const StreamMixer* const mixer = modules.attention_streams.get();
        modules.attention->run(step, begin_part(mixer, step, modules.attention_norm));
        if (mixer != nullptr) mixer->write(step);
        const auto next = std::find_if(layers_.begin() + layer + 1, layers_.end(),
                                       [](const Layer& later) { return later.attention != nullptr; });
        if (next != layers_.end()) next->attention->fetch_keys(step);
    }
    StepContext behind = step;
    if (layer + 1 == spec_.n_layers()) behind.wanted = wanted_;
    const StreamMixer* const mixer = modules.ffn_streams.get();
    const NormWeights norm = begin_part(mixer, step, modules.ffn_norm);
    if (modules.moe_layer >= 0) run_experts(layer, behind, norm);
    for (const TokenRange& tokens : behind.wanted) {
        const StepContext wanted = behind.only(tokens);
        if (modules.moe_layer < 0 && modules.network) {
            wanted.normalise(norm);
            modules.network.compute(wanted);
            modules.network.add(wanted, wanted.x);
        }
        if (modules.scale != 1) device_.submit(ops::Scale{modules.scale, wanted.n_tokens * spec_.hidden_dim, wanted.x});
    }
    if (mixer != nullptr) mixer->write(step);
}

void Forward::run_experts(std::int64_t layer, const StepContext& step, NormWeights norm) {
    const Layer& modules = layers_[as_size(layer)];
    const std::int64_t moe_layer = modules.moe_layer;
    if (probe_ != nullptr) {
        step.normalise(norm);
        norm = {};
        routers_[as_size(moe_layer)].make_latent(step);
        probe_->submit(moe_layer, weights_, step);
    }
    const RouterWeights* const next =
        as_size(moe_layer + 1) < routers_.size() ? &routers_[as_size(moe_layer + 1)] : nullptr;
    if (between_layers_ && moe_layer > 0) between_layers_();
    const std::int64_t n_active = spec_.experts.n_active;
    std::int32_t* const routing = routing_.data() + moe_layer * n_active;
    const std::int64_t stride = spec_.experts.n_layers * n_active;
    float* const sum = modules.latent_up.data != nullptr       ? step.latent_sum
                       : modules.output.norm.weight != nullptr ? step.further
                                                               : step.x;
    moe_->run({moe_layer, routers_[as_size(moe_layer)], next, modules.network, step, norm, sum, routing, stride});
    // The router's answer was waited for.
    if (probe_ != nullptr && device_.ok()) probe_->collect(moe_layer, routing, stride);
    if (sum == step.x) return;
    for (const TokenRange& tokens : step.wanted) {
        const StepContext wanted = step.only(tokens);
        if (sum == step.latent_sum) {
            float* const output = WorkspacePieces(wanted).take(spec_.hidden_dim);
            device_.submit(
                ops::Multiply{modules.latent_up, sum + tokens.first * modules.latent_up.n_cols, tokens.n, output});
            device_.submit(ops::Add{output, tokens.n * spec_.hidden_dim, wanted.x});
            continue;
        }
        OutputRule{modules.expert_output_norm}.normalise(wanted, wanted.further);
        if (modules.network) modules.network.add(wanted, wanted.further);
        modules.output.add(wanted, spec_.hidden_dim, wanted.further);
    }
}

// The first block of a group's table: where its text is cut into chunks, that of the
// first token's.
std::int64_t Forward::first_block_of(const Segment& segment, std::size_t group, std::int64_t ahead) const {
    const std::int64_t chunk = chunks_[group];
    return chunk == 0 ? 0 : (segment.sequence->size() + ahead) / chunk * chunk / kernels::kKvBlockTokens;
}

// Recurrent layers: the state to read, and those to write.
std::int64_t Forward::n_blocks_of(const Segment& segment, std::size_t group, std::int64_t ahead) const {
    if (segment.sequence->cache().pool(group).is_state()) return 1 + static_cast<std::int64_t>(n_states_of(segment));
    return kv_blocks_for(segment.sequence->size() + static_cast<std::int64_t>(segment.tokens.size()) + ahead) -
           first_block_of(segment, group, ahead);
}

// Of tokens before the step: one for each segment, and one for each chunk that it has
// tokens in.
std::int64_t Forward::n_counts_of(std::span<const Segment> segments, std::int64_t ahead) const {
    std::int64_t n = std::ssize(segments);
    for (const Segment& segment : segments) {
        const std::int64_t past = segment.sequence->size() + ahead;
        const std::int64_t last = past + std::ssize(segment.tokens) - 1;
        for (const std::int64_t chunk : chunks_) n += chunk > 0 ? last / chunk - past / chunk + 1 : 0;
    }
    return n;
}

// To attention each chunk is a sequence of its own.
void Forward::add_chunks(const AttentionSegment& whole, std::size_t group, std::int32_t* pasts,
                         const std::int32_t* device_pasts, std::int64_t& n_counts) {
    const std::int64_t chunk = chunks_[group];
    const std::int64_t base = whole.past / chunk * chunk;
    for (std::int64_t t = 0; t < whole.n_tokens;) {
        const std::int64_t begin = (whole.past + t) / chunk * chunk;
        const std::int64_t end = std::min(whole.n_tokens, begin + chunk - whole.past);
        const std::int64_t first = (begin - base) / kernels::kKvBlockTokens;
        const std::size_t n_blocks = as_size(kv_blocks_for(whole.past + end - begin));
        pasts[n_counts] = static_cast<std::int32_t>(whole.past + t - begin);
        kv_[group].segments.push_back({whole.first_row + t,
                                       end - t,
                                       whole.past + t - begin,
                                       {whole.blocks.data() + first, n_blocks},
                                       whole.device_blocks + first,
                                       {whole.in_host.data() + first, n_blocks},
                                       device_pasts + n_counts});
        ++n_counts;
        t = end;
    }
}

// Entries of a group's table, including spare ones at its end.
std::int64_t Forward::n_entries_of(std::span<const Segment> segments, std::size_t segment, std::size_t group,
                                   std::int64_t ahead) const {
    const std::int64_t n_blocks = n_blocks_of(segments[segment], group, ahead);
    const bool is_last = segment + 1 == segments.size() && group + 1 == n_kv_groups_;
    if (is_last || segments.size() > 1 || segments[0].tokens.size() > 1) return n_blocks;
    return (n_blocks + kTableStep - 1) / kTableStep * kTableStep;  // the others have room for 15 more segments
}

// For all groups of layers.
std::int64_t Forward::n_table_entries(std::span<const Segment> segments, std::int64_t ahead) const {
    std::int64_t n = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        for (std::size_t g = 0; g < n_kv_groups_; ++g) n += n_entries_of(segments, s, g, ahead);
    }
    return n;
}

void Forward::upload_inputs(std::span<const Segment> segments, std::int64_t n_tokens, const kernels::TokenRule* rule) {
    const std::size_t n_bytes = write_inputs(segments, n_tokens, rule, inputs_.host());
    // The device has begun this step if it has these inputs, and has chosen this token.
    const std::size_t first = rule_begin(1);
    const bool begun = std::exchange(ahead_.running, false) && rule != nullptr && n_bytes == ahead_.n_bytes &&
                       chosen_token_ == segments.front().tokens.front() &&
                       std::equal(inputs_.host() + first, inputs_.host() + n_bytes,
                                  ahead_.inputs.host() + as_size(ahead_.place) * ahead_.room + first);
    chosen_token_.reset();
    if (begun) return;
    ahead_.begun_us = device_.now_us();
    inputs_.upload(0, n_bytes);
}

std::size_t Forward::write_inputs(std::span<const Segment> segments, std::int64_t n_tokens,
                                  const kernels::TokenRule* rule, std::byte* to, std::int64_t ahead) {
    const std::int64_t n_floats = n_tokens * Positions::floats_per_token(spec_);
    const std::size_t positions_at = positions_begin(as_size(n_tokens));
    const std::int64_t n_counts = n_counts_of(segments, ahead);
    const std::size_t tables_at = tables_begin(as_size(n_tokens), as_size(n_floats + n_counts));
    auto* const tokens = reinterpret_cast<std::int32_t*>(to);
    auto* const positions = reinterpret_cast<float*>(to + positions_at);
    auto* const pasts = reinterpret_cast<std::int32_t*>(positions + n_floats);
    const auto* const on_device = reinterpret_cast<const float*>(inputs_.device() + positions_at);
    const auto* const device_pasts = reinterpret_cast<const std::int32_t*>(on_device + n_floats);
    tokens_ = reinterpret_cast<const TokenId*>(inputs_.device());
    rule_ = reinterpret_cast<const kernels::TokenRule*>(inputs_.device() + rule_begin(as_size(n_tokens)));
    if (rule != nullptr) std::memcpy(to + rule_begin(as_size(n_tokens)), rule, sizeof *rule);
    pasts[n_counts] = 0;  // what may lie between the counts and the tables
    auto** const tables = reinterpret_cast<std::byte**>(to + tables_at);
    auto** const device_tables = reinterpret_cast<std::byte**>(inputs_.device() + tables_at);
    std::int64_t row = 0;
    std::int64_t entry = 0;
    std::int64_t count = std::ssize(segments);
    for (KvStep& group : kv_) group.segments.clear();
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const Segment& segment = segments[s];
        const auto n = static_cast<std::int64_t>(segment.tokens.size());
        const std::int64_t past = segment.sequence->size() + ahead;
        positions_.fill(past, n, row, n_tokens, positions);
        std::copy(segment.tokens.begin(), segment.tokens.end(), tokens + row);
        pasts[s] = static_cast<std::int32_t>(past);
        for (std::size_t g = 0; g < n_kv_groups_; ++g) {
            const KvPool& pool = segment.sequence->cache().pool(g);
            const KvSequence::Table& table = segment.sequence->table(g);
            const std::int64_t n_blocks = n_blocks_of(segment, g, ahead);
            const std::int64_t n_entries = n_entries_of(segments, s, g, ahead);
            const std::int64_t first = ahead == 0 ? table.first : segment.sequence->first_after(g, ahead);
            const std::int64_t base = first_block_of(segment, g, ahead);
            for (std::int64_t b = 0; b < n_entries; ++b) {
                const std::int64_t block_number = base + b;
                const std::int32_t number = b >= n_blocks              ? -1
                                            : pool.is_state() && b > 0 ? table.next_states[as_size(b - 1)]
                                            : block_number < first || block_number >= table.end()
                                                ? -1
                                                : table.at(block_number);
                const KvBlock block = number < 0 ? KvBlock() : pool.block(number);
                tables[entry + b] = block.data;
                in_host_[as_size(entry + b)] = block.in_host ? 1 : 0;
            }
            kv_[g].shape = pool.shape();
            const AttentionSegment whole{row,
                                         n,
                                         past,
                                         {tables + entry, as_size(n_blocks)},
                                         device_tables + entry,
                                         {in_host_.data() + entry, as_size(n_blocks)},
                                         device_pasts + s};
            if (chunks_[g] > 0) {
                add_chunks(whole, g, pasts, device_pasts, count);
            } else {
                kv_[g].segments.push_back(whole);
            }
            entry += n_entries;
        }
        row += n;
    }
    rotations_ = positions_.places(on_device, n_tokens);
    return tables_at + as_size(entry) * sizeof(std::byte*);
}

// What repeats of steps whose token the device chooses, and of those whose token the host
// chooses, would take memory side by side. Steps of both kinds may take turns, too.
void Forward::forget_other_sequences(bool chooses) {
    const bool is_first = !chooses_.has_value();
    n_other_steps_ = is_first || *chooses_ == chooses ? 0 : n_other_steps_ + 1;
    if (n_other_steps_ == 2) device_.forget_repeated();
    if (is_first || n_other_steps_ == 2) chooses_ = chooses;
}

// Has the device begin the next step, of the token that it has chosen, if its operations
// are this step's and only its inputs differ.
void Forward::run_ahead(std::span<const Segment> segments, TokenChooser& chooser) {
    KvSequence& sequence = *segments.front().sequence;
    if (!device_.ok() || !device_.runs_ahead() || !moe_->is_like_next() || sequence.cache().has_states()) return;
    if (sequence.size() + 2 > sequence.capacity()) return;
    for (std::size_t g = 0; g < n_kv_groups_; ++g) {
        if (n_entries_of(segments, 0, g, 1) != n_entries_of(segments, 0, g) && g + 1 < n_kv_groups_) return;
    }
    const std::optional<kernels::TokenRule> rule = chooser.rule(1);
    if (!rule || n_table_entries(segments, 1) > table_entries_of(n_kv_groups_, shape_.context) ||
        !sequence.prepare(2, device_))
        return;
    ahead_.place = 1 - ahead_.place;
    std::byte* const inputs = ahead_.inputs.host() + as_size(ahead_.place) * ahead_.room;
    ahead_.n_bytes = write_inputs(segments, 1, &*rule, inputs, 1);
    if (std::count(in_host_.begin(), in_host_.begin() + n_table_entries(segments, 1), 1) > 0) return;
    const std::size_t first = rule_begin(1);
    device_.upload(inputs_.device() + first, inputs + first, ahead_.n_bytes - first);
    device_.copy_within(inputs_.device(), chosen_.device() + 1, sizeof(TokenId));
    ahead_.running = device_.start_again(moe_->place(0));
}

bool Forward::compute_logits(std::span<const Segment> segments, std::int64_t n_tokens, Logits wanted,
                             const std::stop_token& stop, const TokenChooser* chooser) {
    logits_view_ = {};
    all_logits_.clear();
    if (wanted == Logits::kNone || wanted == Logits::kLastElsewhere) {
        device_.end_repeated();
        return moe_->answer_layers(stop);
    }
    const std::int64_t vocab = spec_.vocab_size;
    // One row per sequence in every step. The host may still have a part of the layers to compute.
    if (wanted == Logits::kLast) device_.set_sum_order(SumOrder::kByNumber);
    const NormWeights norm = norm_of(TensorRole::kFinalNorm, TensorRole::kFinalNormBias, -1);
    const float* const head_bias = weights_.vector(TensorRole::kHeadBias);
    const auto rows = [&](std::int64_t first, std::int64_t n) {
        if (head_streams_ != nullptr) {
            StepContext step = context_of(n);
            step.streams += first * spec_.streams.n * spec_.hidden_dim;
            head_streams_->read(step, norm, h_.as<float>());
        } else {
            device_.submit(ops::Norm{norm, x_.as<float>() + first * spec_.hidden_dim, n, h_.as<float>()});
        }
        device_.submit(ops::Multiply{weights_.logits(), h_.as<float>(), n, logits_.device()});
        if (head_bias != nullptr) device_.submit(ops::AddBias{head_bias, n, vocab, logits_.device()});
        if (spec_.logits_scale != 1) device_.submit(ops::Scale{spec_.logits_scale, n * vocab, logits_.device()});
        if (spec_.logits_cap > 0) device_.submit(ops::SoftCap{spec_.logits_cap, n * vocab, logits_.device()});
        if (chooser != nullptr) {
            device_.submit(ops::ChooseToken{logits_.device(), vocab, rule_, tokens_, chosen_.device()});
        }
        device_.end_repeated();
        if (!moe_->answer_layers(stop)) return false;
        if (chooser == nullptr || chooser->needs_logits()) logits_.download(0, as_size(n * vocab));
        return true;
    };
    const std::int64_t n_segments = std::ssize(segments);
    const std::int64_t n_rows = wanted == Logits::kAll ? n_tokens : n_segments;
    if (n_rows <= kMaxSegments && (n_rows == n_tokens || n_rows == 1)) {
        if (!rows(n_tokens - n_rows, n_rows)) return false;
        if (chooser == nullptr || chooser->needs_logits()) logits_view_ = {logits_.host(), as_size(n_rows * vocab)};
        return true;
    }
    bool done = true;
    const auto keep = [&](std::int64_t first, std::int64_t n) {
        done = done && rows(first, n);
        device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
        if (done) all_logits_.insert(all_logits_.end(), logits_.host(), logits_.host() + n * vocab);
    };
    if (wanted == Logits::kAll) {
        for (std::int64_t t = 0; t < n_tokens; t += kLogitsRows) keep(t, std::min(kLogitsRows, n_tokens - t));
    } else {
        std::int64_t last = -1;
        for (const Segment& segment : segments) keep(last += std::ssize(segment.tokens), 1);
    }
    logits_view_ = all_logits_;
    return done;
}

}  // namespace offstage::engine
