#pragma once
// The choices of a load that have names.

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/kv_type.h"

namespace offstage::engine {

enum class PolicyKind : std::uint8_t {
    kThreshold,  // Fiddler's Algorithm 1: expert by expert, CPU or copy, whichever is shorter alone
    kBalanced,   // CPU, copy engine and GPU side by side: the split with the smallest makespan
    kTransfer,   // every miss is copied
    kStatic,     // every miss runs on the CPU
    kLayers,  // a layer runs on the GPU when all the experts it uses are there, else on the CPU (with their copies in
              // RAM)
};
std::string_view name_of(PolicyKind kind);       // "threshold", "balanced", "transfer", "static", "layers"
PolicyKind parse_policy(std::string_view name);  // throws Error (kInvalidInput), listing the names

// Rules by which experts keep their place on the device (engine/experts/cache_policy.h).
enum class CacheKind : std::uint8_t {
    kStatic,    // nothing moves
    kLruLayer,  // least recently used of the same layer: every layer keeps its number of slots
                // (Mixtral-Offloading, 3.1)
    kLru,       // least recently used of all layers
    kLfu,       // least frequently used, counts that halve
    // Segmented LRU: the hottest residents are protected. Of the others the least
    // recently used is evicted, or else the coldest; and only for an expert that is
    // hotter by a margin, so that a scan of experts called once evicts none.
    kSlru,
};
inline constexpr std::array kCacheKinds = {CacheKind::kStatic, CacheKind::kLruLayer, CacheKind::kLru, CacheKind::kLfu,
                                           CacheKind::kSlru};
std::string_view name_of(CacheKind kind);           // "static", "lru-layer", "lru", "lfu", "slru"
CacheKind parse_cache_kind(std::string_view name);  // throws Error (kInvalidInput), listing the names

// The format of the conversation's keys and values.
using kernels::KvType;
inline constexpr std::array kKvTypes = {KvType::kF32, KvType::kBf16, KvType::kInt8};

std::string_view name_of(KvType type);        // "f32", "bf16", "int8"
KvType parse_kv_type(std::string_view name);  // throws Error (kInvalidInput), listing the names

// Speculative loading: copying experts that the next layer will probably call.
enum class PrefetchMode : std::uint8_t {
    kOff,
    kAuto,    // if copy engine and memory have slack, as long as live tokens show a gain
    kAlways,  // at any cost: for measuring
};
std::string_view name_of(PrefetchMode mode);         // "off", "auto", "always"
PrefetchMode parse_prefetch(std::string_view name);  // throws Error (kInvalidInput), listing the names

// Drafts: several tokens at a step, of which those that the model would have chosen one
// by one are kept (engine/run/draft_policy.h). Results do not change.
enum class DraftMode : std::uint8_t {
    kOff,
    kAuto,    // as long as live tokens show a gain
    kAlways,  // at any cost: for measuring
};
std::string_view name_of(DraftMode mode);       // "off", "auto", "always"
DraftMode parse_drafts(std::string_view name);  // throws Error (kInvalidInput), listing the names

// How a prompt's experts are copied to the device. A layer of a long prompt calls nearly
// all of its experts, so the next layer's can be copied before its router has run: the
// copy engine would otherwise be idle while this layer's last experts and the next one's
// attention are computed.
enum class PromptLoading : std::uint8_t {
    kOnDemand,  // when the router has called them
    kAhead,     // the next layer's as well, into the staging slots that are free
    kLend,      // in addition, if the cost model favours more slots, residents' places are borrowed
};
std::string_view name_of(PromptLoading loading);            // "on-demand", "ahead", "lend"
PromptLoading parse_prompt_loading(std::string_view name);  // throws Error (kInvalidInput), listing the names

// Whether experts are copied to the device without the neurons that a theta leaves out
// (SparseCopies).
enum class SparseLoading : std::uint8_t {
    kOff,
    kAuto,    // if gathering them takes less time than it saves
    kAlways,  // unless more than kMostCopiedShare are active: for measuring
};
std::string_view name_of(SparseLoading loading);            // "off", "auto", "always"
SparseLoading parse_sparse_loading(std::string_view name);  // throws Error (kInvalidInput), listing the names

// The handling of an expert that needs other neurons than those guessed for it.
enum class NeuronGuesses : std::uint8_t {
    kCorrect,  // missing ones are copied before the expert is computed
    kAccept,   // it is computed with the present ones (CORM, section 4.2): results change
};
std::string_view name_of(NeuronGuesses guesses);            // "correct", "accept"
NeuronGuesses parse_neuron_guesses(std::string_view name);  // throws Error (kInvalidInput), listing the names

// How experts are read from the disk while a model runs.
enum class DiskReads : std::uint8_t {
    kAuto,    // kDirect where free memory has no room for all experts: no cache keeps them then
    kDirect,  // past the system's cache, several at a time and beside the computation (ExpertReader)
    kCached,  // through the mapped file
};
std::string_view name_of(DiskReads reads);          // "auto", "direct", "cached"
DiskReads parse_disk_reads(std::string_view name);  // throws Error (kInvalidInput), listing the names

// A user's choice of neurons of routed experts to leave out. A value.
struct ThetaChoice {
    double theta = 0;  // LoadRequest::theta: one for all experts; 0: none
    double loss = 0;   // LoadRequest::theta_loss: above 0 `theta` is 0, and each expert has its own
    NeuronGuesses guesses = NeuronGuesses::kCorrect;

    // Implicit conversion: a number means one theta for all.
    constexpr ThetaChoice(double of_all = 0) : theta(of_all) {}
    constexpr ThetaChoice(double of_all, double of_loss, NeuronGuesses how)
        : theta(of_all), loss(of_loss), guesses(how) {}
    static constexpr ThetaChoice for_loss(double loss) { return {0, loss, NeuronGuesses::kCorrect}; }

    bool leaves_out() const { return theta > 0 || loss > 0; }
    bool accepts_guesses() const { return leaves_out() && guesses == NeuronGuesses::kAccept; }
    // If nothing is left out, nothing is guessed.
    bool operator==(const ThetaChoice& other) const {
        return theta == other.theta && loss == other.loss && accepts_guesses() == other.accepts_guesses();
    }
};

}  // namespace offstage::engine
