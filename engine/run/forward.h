#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/mirror.h"
#include "engine/model/model_spec.h"
#include "engine/run/kv_cache.h"
#include "engine/run/layers/positions.h"
#include "engine/run/layers/step_context.h"
#include "engine/run/step_listener.h"

namespace offstage::engine {

class CpuOperations;
class DeviceWeights;
class Dispatcher;
class ExpertStore;
class MoeLayer;
class PromptReading;
class StepProbe;
class TokenChooser;
class StreamMixer;
struct RouterWeights;

// Tokens of one sequence in a step: a piece of a prompt, or the next token of a beam. The
// next token may be followed by drafted ones, guesses of those that it will choose, if
// the step has no other segment.
struct Segment {
    KvSequence* sequence = nullptr;
    std::span<const TokenId> tokens;
    std::size_t n_drafted = 0;  // the last of `tokens`

    std::span<const TokenId> certain() const { return tokens.first(tokens.size() - n_drafted); }
};

// One pass of tokens through a model: embedding, then for each layer norm, attention,
// norm, and a dense network or router and experts, then the logits. LayerSpec defines
// each layer's computation: attention and networks are modules (engine/run/layers/). The
// dense part runs on the device, the experts wherever the dispatcher sends them.
// Activations are float32 throughout.
//
// One thread. Does not throw and does not allocate per token once the largest step was
// seen.
class Forward {
  public:
    static constexpr std::int64_t kMaxSegments = 16;

    // Steps take up to max_step tokens; longer prompts are fed in pieces. Sequences have
    // up to `context` tokens each, or the model's own context if that is more. The
    // referents must outlive this object. Throws Error (kOutOfMemory) for the workspace.
    Forward(const ModelSpec& spec, const DeviceWeights& weights, ExpertStore& experts, Backend& device,
            CpuOperations& host, Dispatcher& dispatcher, std::int64_t max_step, std::int64_t context);
    ~Forward();
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

    // From now on sequences have room for this many tokens, or for their present number.
    // Between steps. Throws Error (kOutOfMemory), and nothing changes. Positions stay
    // those of the first context (RopeSpec::original_context).
    void set_context(std::int64_t context);
    // From now on steps have up to so many tokens. Call between steps; invalidates
    // logits(). Throws Error (kOutOfMemory): then nothing has changed or, if the device
    // could not restore its old memory, the next step tries again.
    void set_max_step(std::int64_t max_step);

    using Logits = StepLogits;
    enum class Outcome {
        kDone,
        kStopped,  // a stop was requested: it is looked at before each layer
        kFull,     // the pool has no block left for the sequences, or they are longer than the context
        kFailed,   // the device failed: Backend::failure() has the reason
    };

    // Runs 1 .. max_step tokens, each segment's after the tokens of its sequence, and
    // adds them. For prompt tokens without logits the last layer computes keys, values
    // and the router's choice, and nothing after that; so they change no bit, unless the
    // order of sums depends on the number of rows (SumOrder::kByNumber). n_prompt: the
    // length of the prompt, if it is read in several steps. With float32 products, on the
    // CPU and on an emulated device, the division of a prompt into steps then changes no
    // bit. With any outcome but kDone, the sequences are unchanged.
    //
    // Drafted tokens are computed, but not added: accept_draft() adds them. On the CPU
    // and on an emulated device each row of such a step has the bits of a step of its own
    // (SumOrder::kAlone).
    //
    // With a chooser, the device chooses the token behind the logits of a step of one
    // token, if it can (chosen()); logits() are empty then unless the chooser needs them.
    // Where experts and keys lie on the device, it begins the step with that token at
    // once, while the host does its work after this step. That step is made by the next
    // call, and is lost if the call is for another one or experts have moved.
    Outcome step(std::span<const Segment> segments, Logits wanted, const std::stop_token& stop,
                 std::int64_t n_prompt = 0, TokenChooser* chooser = nullptr);

    // Adds the next drafted token of the last step's segment to its sequence.
    void accept_draft(KvSequence& sequence, TokenId token);

    MoeLayer& moe() { return *moe_; }
    // Called by step() between two layers; may move experts, must not throw. moves():
    // whether it may do so in the step that begins; empty: it may in any.
    void set_between_layers(std::function<void()> call, std::function<bool()> moves = {}) {
        between_layers_ = std::move(call);
        moves_ = std::move(moves);
    }
    // Whether the last layer computes all tokens of every step anyway, for comparisons;
    // off at first.
    void set_last_layer_whole(bool whole) { last_layer_whole_ = whole; }
    // ---- for a layer that predicts further tokens (ModelSpec::predicts)
    // The stream behind the last layer, for the last step's tokens that it computed,
    // (n_tokens, hidden_dim), on the device: until the next step.
    const float* stream() const { return x_.as<float>(); }
    // From now on steps copy it there, before the device begins another one; nullptr:
    // they do not.
    void keep_stream(float* to) { kept_stream_ = to; }
    NormWeights final_norm() const { return norm_of(TensorRole::kFinalNorm, TensorRole::kFinalNormBias, -1); }
    // Of that layer's own steps: the states that the next one's tokens come with,
    // (n_tokens, hidden_dim); norm: that they pass first, none without a dim.
    struct States {
        const float* rows = nullptr;
        NormWeights norm = {};
    };
    void set_states(const States& states) { states_ = states; }
    // The state behind the last step's last token; Logits::kLast.
    const float* last_state() const { return h_.as<float>(); }

    // Whether the last layer has experts, so that they wait for the tokens with logits.
    static bool ends_with_experts(const ModelSpec& spec) { return spec.layers.back().moe() != nullptr; }
    // From now on the probe sees every step; nullptr: none. It must outlive this object
    // or the next call.
    void set_probe(StepProbe* probe);
    // From now on the listener is called for every step; nullptr: none. It must outlive
    // this object or the next call.
    void set_listener(StepListener* listener) { listener_ = listener; }

    // From now on `reading` gets the progress of each step; nullptr: none. It must
    // outlive this object or the next call.
    void set_reading(PromptReading* reading) { reading_ = reading; }

    std::int64_t max_step() const { return std::clamp<std::int64_t>(max_step_, 1, limit_); }
    // From now on max_step() is at most this, which others have room for.
    void limit_steps(std::int64_t most) { limit_ = most; }
    // The workspace's largest step.
    std::int64_t reserved_step() const { return max_step_; }
    // The logits of the last step: kLast: one row per segment; kAll: one per token;
    // (rows, vocab_size).
    std::span<const float> logits() const { return logits_view_; }
    // The token that the device chose after the last step, -1 if none could be chosen.
    // nullopt: the host must choose.
    std::optional<TokenId> chosen() const { return chosen_token_; }
    // When the device began the next step, by its clock; now, unless it runs ahead.
    double next_begun_us() { return ahead_.running ? ahead_.begun_us : device_.now_us(); }
    // The routing of the last step: (n_tokens, layers with experts, n_active), best
    // expert first; for all tokens in every layer.
    std::span<const std::int32_t> routing() const { return {routing_.data(), routing_size_}; }

    // Bytes of workspace on the device, without Backend::scratch_bytes: a fixed part, and
    // a part for each token of the largest step.
    static std::uint64_t workspace_bytes(const ModelSpec& spec, std::int64_t context);
    static std::uint64_t workspace_bytes_per_token(const ModelSpec& spec);
    static Backend::StepShape step_shape(const ModelSpec& spec, kernels::WeightType type, std::int64_t max_step,
                                         std::int64_t context);

  private:
    void take_workspace(std::int64_t max_step);
    void give_back_workspace();
    std::size_t inputs_bytes(std::int64_t n_tokens, std::int64_t context) const;  // the most
    Mirror<std::byte> allocate_inputs(std::int64_t context) const;
    // These five and write_inputs(): of a step after `ahead` tokens more than the
    // sequences have, for one segment of one token.
    std::int64_t first_block_of(const Segment& segment, std::size_t group, std::int64_t ahead) const;
    std::int64_t n_counts_of(std::span<const Segment> segments, std::int64_t ahead) const;
    std::int64_t n_blocks_of(const Segment& segment, std::size_t group, std::int64_t ahead = 0) const;
    std::int64_t n_entries_of(std::span<const Segment> segments, std::size_t segment, std::size_t group,
                              std::int64_t ahead = 0) const;
    std::int64_t n_table_entries(std::span<const Segment> segments, std::int64_t ahead = 0) const;
    // Returns the bytes.
    std::size_t write_inputs(std::span<const Segment> segments, std::int64_t n_tokens, const kernels::TokenRule* rule,
                             std::byte* to, std::int64_t ahead = 0);
    void upload_inputs(std::span<const Segment> segments, std::int64_t n_tokens, const kernels::TokenRule* rule);
    void forget_other_sequences(bool chooses);
    void run_ahead(std::span<const Segment> segments, TokenChooser& chooser);
    void add_chunks(const AttentionSegment& whole, std::size_t group, std::int32_t* pasts,
                    const std::int32_t* device_pasts, std::int64_t& n_counts);
    void find_wanted(std::span<const Segment> segments, std::int64_t n_tokens, bool prefill, Logits wanted);
    StepContext context_of(std::int64_t n_tokens) const;
    Outcome run_layers(std::span<const Segment> segments, std::int64_t n_tokens, Logits wanted,
                       const std::stop_token& stop, TokenChooser* chooser);
    Outcome end_early();  // of a step that is not done; waits until the device has stopped
    void embed(std::int64_t n_tokens);
    void run_layer(std::int64_t layer, const StepContext& step);
    NormWeights begin_part(const StreamMixer* mixer, const StepContext& step, const NormWeights& norm) const;
    void run_experts(std::int64_t layer, const StepContext& step, NormWeights norm);
    // False: stopped, or the device failed.
    bool compute_logits(std::span<const Segment> segments, std::int64_t n_tokens, Logits wanted,
                        const std::stop_token& stop, const TokenChooser* chooser);
    void set_sum_order(SumOrder order);
    std::int32_t written_in(std::span<const Segment> segments, std::int64_t n_tokens) const;
    NormWeights norm_of(TensorRole weight, TensorRole bias, std::int64_t layer) const;

    struct Layer;  // its modules
    // The next step, which the device has begun before the host knew its token.
    struct Ahead {
        bool running = false;
        double begun_us = 0;
        std::size_t n_bytes = 0;            // of its inputs
        int place = 0;                      // which of the two places they lie in
        std::size_t room = 0;               // of a place
        PinnedHost<std::byte> inputs = {};  // two places, in turns: one may still be copied
    };

    const ModelSpec& spec_;
    const DeviceWeights& weights_;
    Backend& device_;
    CpuOperations& host_;
    Dispatcher& dispatcher_;
    std::int64_t max_step_ = 0;  // 0: there is no workspace
    std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
    Backend::StepShape shape_;
    const std::size_t n_kv_groups_;
    std::vector<std::int64_t> chunks_;  // by group: tokens of a chunk (KvGroup::chunked); 0: there are none
    std::vector<Layer> layers_;
    std::vector<RouterWeights> routers_;  // of the layers with experts
    std::unique_ptr<MoeLayer> moe_;
    std::function<void()> between_layers_;
    std::function<bool()> moves_;
    StepProbe* probe_ = nullptr;
    StepListener* listener_ = nullptr;
    PromptReading* reading_ = nullptr;
    std::uint32_t n_steps_ = 0;    // completed steps, and drafted tokens that were accepted
    bool repeats_ = false;         // the step's operations are likely to come again
    std::optional<bool> chooses_;  // steps that repeat: whether the device chooses their tokens
    int n_other_steps_ = 0;        // one after the other, of the other kind
    bool last_layer_whole_ = false;
    TokenRange all_tokens_;           // of the step
    std::vector<TokenRange> wanted_;  // of these, the tokens that the last layer computes
    float* kept_stream_ = nullptr;
    States states_;

    Positions positions_;
    // A step's inputs for the device, in one piece: token ids; how the token behind it is
    // chosen (kernels::TokenRule); in 4-byte words the positions (class Positions) and
    // each segment's number of tokens before the step, and of those of them that are in
    // its chunk; then, for each segment, each KV group's table of block addresses (8
    // bytes each; nullptr for released blocks; from the first token's chunk on). All
    // inputs of two single-token steps lie at the same addresses, except for tables after
    // the first when that grows by kTableStep. So the operations are the same, and all
    // differences between two tokens lie in this piece (Backend::begin_repeated).
    Mirror<std::byte> inputs_;
    Ahead ahead_;
    Mirror<std::int32_t> chosen_;  // ops::ChooseToken
    std::optional<TokenId> chosen_token_;
    std::vector<std::uint8_t> in_host_;  // beside the tables: AttentionSegment::in_host
    std::span<const Rotation> rotations_;
    const TokenId* tokens_ = nullptr;
    const kernels::TokenRule* rule_ = nullptr;
    std::vector<KvStep> kv_;  // the step's, by group

    Mirror<std::int32_t> identity_;  // (max_step): 0, 1, 2 ...; empty where no network needs it
    DeviceBlock x_;                  // (n_tokens, hidden_dim): the residual stream, StepContext::x
    DeviceBlock streams_;            // these two: StepContext; empty where there is one stream
    DeviceBlock coefficients_;
    std::unique_ptr<StreamMixer> head_streams_;
    DeviceBlock h_;        // (n_tokens, hidden_dim): normalised
    DeviceBlock further_;  // StepContext::further; empty where no layer needs it
    DeviceBlock latent_;   // StepContext::latent; these two are empty where experts read what the router reads
    DeviceBlock latent_sum_;
    DeviceBlock chosen_keys_;  // StepContext::chosen; empty where no layer has an indexer
    DeviceBlock workspace_;    // used by one module at a time
    Mirror<float> logits_;     // (kLogitsRows, vocab_size)
    std::vector<float> all_logits_;
    std::span<const float> logits_view_;
    std::vector<std::int32_t> routing_;
    std::size_t routing_size_ = 0;
};

}  // namespace offstage::engine
