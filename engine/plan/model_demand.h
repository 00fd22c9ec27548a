#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/load_settings.h"
#include "engine/plan/plan.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {

// Blocks of a KV pool in each memory.
struct KvRoom {
    std::int64_t device_blocks = 0;
    std::int64_t host_blocks = 0;  // in RAM, page-locked: the device reads and writes them over the bus

    std::int64_t n_blocks() const { return device_blocks + host_blocks; }
    friend bool operator==(const KvRoom&, const KvRoom&) = default;
};

constexpr std::int64_t kv_blocks_for(std::int64_t n_tokens) {
    return n_tokens / kernels::kKvBlockTokens + (n_tokens % kernels::kKvBlockTokens != 0 ? 1 : 0);
}

// A pool's blocks beside the context: each of 16 beams may part from the others inside a
// block, and the context need not end with one.
inline constexpr std::int64_t kSpareKvBlocks = 17;

// Blocks of a group of DeltaNet layers: the state of one sequence, the new one of a step,
// and two checkpoints (KvSequence::checkpoint). Beams take more memory when they begin.
inline constexpr std::int64_t kStateBlocks = 4;

// Other conversations whose state or window is stored without a request: as many as RAM
// has room for, at most so many.
inline constexpr std::int64_t kMostOtherSequences = 32;

// For other conversations stored beside the running one: each counts as so many tokens,
// if its state does not grow with its tokens.
inline constexpr std::int64_t kKeptTokensEach = 2048;
inline constexpr std::int64_t kMostKeptSequences = 16;

constexpr std::int64_t kept_sequences(std::int64_t kept_tokens) {
    const std::int64_t n = kept_tokens / kKeptTokensEach + (kept_tokens % kKeptTokensEach != 0 ? 1 : 0);
    return std::min(n, kMostKeptSequences);
}

// A template may write so many tokens at the end of a prompt in another way once the
// answer follows: what a token there sees is kept.
inline constexpr std::int64_t kPromptEndTokens = 8;

// The blocks of a group of layers with equal KV cache (KvGroup), of kKvBlockTokens
// tokens.
struct KvGroupDemand {
    std::int64_t window = 0;                                     // tokens that are kept; 0: all
    std::array<std::uint64_t, kernels::kKvTypes> token_bytes{};  // by KvType
    bool is_state = false;                                       // KvGroup::is_state

    std::uint64_t bytes_per_token(KvType type) const { return token_bytes[static_cast<std::size_t>(type)]; }

    // For a context of so many tokens, at least 1. A window, with the kPromptEndTokens
    // before it, needs one block more than its tokens fill, because it need not begin at
    // a block, and it is stored twice: where the sequence ends, and where its last prompt
    // ended (KvSequence::checkpoint).
    std::int64_t n_blocks(std::int64_t context) const {
        if (is_state) return kStateBlocks;
        const std::int64_t all = kv_blocks_for(context);
        return window == 0 ? all : std::min(all, 2 * window_blocks());
    }
    // Further blocks: spare ones, and under a window those of a step's tokens, of which
    // the first still sees a whole window.
    std::int64_t n_other_blocks(std::int64_t max_step) const {
        if (is_state) return 0;
        return kSpareKvBlocks + (window == 0 ? 0 : kv_blocks_for(max_step));
    }
    // Besides all these, for this many tokens of other conversations. Each of these has
    // states and windows twice, like the running one.
    std::int64_t n_kept_blocks(std::int64_t kept_tokens) const {
        const std::int64_t n = kept_sequences(kept_tokens);
        if (is_state) return 2 * n;
        const std::int64_t all = kv_blocks_for(kept_tokens);
        return window == 0 ? all : std::min(all, n * 2 * window_blocks());
    }
    // Further blocks for n other conversations whose tokens lie in the unused part of the
    // context: the state or the window at the place where each continues.
    std::int64_t n_other_sequences_blocks(std::int64_t context, std::int64_t n) const {
        if (is_state) return n;
        if (window == 0) return 0;
        const std::int64_t all = kv_blocks_for(context);
        return std::min(all - std::min(all, n_blocks(context)), n * window_blocks());
    }

  private:
    std::int64_t window_blocks() const { return kv_blocks_for(window + kPromptEndTokens) + 1; }
};

// A model's needs on one device, in bytes. Filled by code that knows both.
struct ModelDemand {
    // One format that experts may be kept in.
    struct Format {
        kernels::WeightType format = kernels::WeightType::kBf16;
        std::uint64_t expert_bytes = 0;  // rounded up as arenas do
        double bits_per_weight = 16;
    };

    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;     // 0: not known
    std::uint64_t expert_bytes = 0;  // in the master's format
    std::vector<Format> formats;     // allowed formats of experts, the master's first; empty: only that
    // If the file has experts in several formats: those, and each layer's index into them
    // (n_layers). formats.front() then has the largest one's bytes and the mean bits.
    // Otherwise empty.
    std::vector<Format> file_formats;
    std::vector<std::uint8_t> layer_format;
    // The block formats of the file's experts, "Q4_K, Q6_K": another format is a second
    // quantization of the same values, and the note of a plan with such experts says so.
    std::string file_blocks;
    std::uint64_t dense_bytes = 0;         // on the device
    std::uint64_t dense_read_bytes = 0;    // of these, the bytes that one decoded token reads
    std::uint64_t dense_file_bytes = 0;    // the dense weights as a load reads them
    std::uint64_t dense_peak_bytes = 0;    // RAM that they take at once, before the device has its copy
    std::vector<KvGroupDemand> kv_groups;  // of the KV cache, in the order of KvLayout
    kernels::KvType kv = kernels::KvType::kBf16;
    std::uint64_t host_fixed_bytes = 0;  // RAM that is not experts: dense weights kept there, buffers
    std::int64_t max_context = 0;        // of the model
    std::int64_t short_context = 0;      // RopeSpec::original_context; 0: positions are the same in every context
    // Workspace on the device for steps of up to n tokens: fixed + per_token * n. With
    // the blocks that KV groups have beside the context's.
    std::uint64_t workspace_fixed_bytes = 0;
    std::uint64_t workspace_bytes_per_token = 0;
    std::int64_t staging_slots = 2;  // wished for: one is filled while the other is computed with, more for guesses
    // Experts on disk are in files that are read directly (ExpertReader). That needs
    // buffers and, if possible, more slots than a token's experts, for guesses.
    bool reads_directly = false;
    std::int64_t disk_guess_slots = 0;
    bool shares_host_memory = false;  // the device is the CPU: one memory, nothing is copied
    bool residents_change = false;    // experts copied on demand may stay on the device, in others' place
    bool ends_with_experts = false;   // only a prompt's last token passes the experts of the last layer
    bool loads_ahead = false;         // a prompt's experts are copied before their layer's router has run
    bool kv_may_lie_in_ram = false;   // the runtime can keep blocks of the KV cache in RAM
    std::int64_t kept_context = 0;    // LoadRequest::kept_context

    // The format of an expert that is assigned formats[f].
    const Format& format_of(std::size_t f, std::size_t expert) const {
        if (f > 0 || layer_format.empty()) return formats[f];
        return file_formats[layer_format[expert / static_cast<std::size_t>(n_experts)]];
    }
    // nullptr: not of this model.
    const Format* find(kernels::WeightType format) const;
    // Of an expert, as arenas count; of another model's formats: of the master's.
    std::uint64_t bytes_of(kernels::WeightType format) const;
    std::uint64_t kv_bytes(std::int64_t context) const;
    // For kept_context: in RAM, or on the device if the two share their memory.
    std::uint64_t kept_bytes() const;
    // Bytes of the states and windows of n other conversations.
    std::uint64_t sequences_bytes(std::int64_t context, std::int64_t n) const;
    // The number of them that fit; 0 also if no layer has any.
    std::int64_t sequences_in(std::int64_t context, std::uint64_t bytes) const;
    // The KV groups' part of the workspace: a line over the tokens of a step.
    std::uint64_t kv_workspace_bytes(std::int64_t max_step) const;
    // The same with keys and values kept otherwise.
    ModelDemand with_kv(kernels::KvType type) const;
    // The pools of a plan, a group's each.
    std::vector<KvRoom> kv_rooms(const Plan& plan) const;
};

}  // namespace offstage::engine
