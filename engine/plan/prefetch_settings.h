#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace offstage::engine {

// Speculative loading: copying experts that the next layer will probably call.
enum class PrefetchMode : std::uint8_t {
    kOff,
    kAuto,    // if copy engine and memory have slack, as long as live tokens show a gain
    kAlways,  // at any cost: for measuring
};
std::string_view name_of(PrefetchMode mode);         // "off", "auto", "always"
PrefetchMode parse_prefetch(std::string_view name);  // throws Error (kInvalidInput), listing the names

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

}  // namespace offstage::engine
