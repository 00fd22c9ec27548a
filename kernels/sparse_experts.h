#pragma once
// Experts that compute only the neurons that matter (CORM, section 4.1, on the CPU): w1
// of every neuron first; then w3's rows and w2's columns of the neurons that
// ExpertSpec::theta does not leave out, for at least one token. The other rows and
// columns are not read. A token's sums contain only its own active neurons, not those of
// other tokens.

#include <cstdint>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

// (token, neuron) pairs, and bytes of weights that were not read.
struct NeuronCounts {
    std::uint64_t neurons = 0;
    std::uint64_t active = 0;
    std::uint64_t skipped_bytes = 0;

    NeuronCounts& operator+=(const NeuronCounts& other) {
        neurons += other.neurons;
        active += other.active;
        skipped_bytes += other.skipped_bytes;
        return *this;
    }
};

// Neurons of a range that are chosen from before the first of their w3 rows is read.
inline constexpr std::int64_t kChosenTogether = 256;

// CpuKernels::expert_ffn with a theta above 0. Adds to counts. A token's result depends
// only on the expert, its input, the range and n_tokens, bit by bit.
using SparseExpertFfn = void (*)(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                                 std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts);
SparseExpertFfn sparse_expert_ffn(InstructionSet set);  // precondition: available

// The same for ExpertFfnBytes. With one token, kRoundedNeurons consecutive active neurons
// share a step of rounding; with several, those of each kRoundedNeurons places.
using SparseExpertFfnBytes = void (*)(const ExpertView& expert, const std::byte* const* inputs, const float* scale,
                                      int n_tokens, std::int64_t neuron_begin, std::int64_t neuron_end, float* out,
                                      NeuronCounts& counts);
SparseExpertFfnBytes sparse_expert_ffn_bytes(InstructionSet set);  // precondition: available

// Lists the neurons of [neuron_begin, neuron_end) that the functions above would choose,
// for every range with the same ends: only w1 is read. chosen: room for all; ascending.
// Returns their number; adds the (token, neuron) pairs to active.
using ChosenNeuronsOf = std::int64_t (*)(const ExpertView& expert, const float* x, int n_tokens,
                                         std::int64_t neuron_begin, std::int64_t neuron_end, std::int32_t* chosen,
                                         std::uint64_t& active);
ChosenNeuronsOf chosen_neurons(InstructionSet set);  // precondition: available
using ChosenNeuronsOfBytes = std::int64_t (*)(const ExpertView& expert, const std::byte* const* inputs, int n_tokens,
                                              std::int64_t neuron_begin, std::int64_t neuron_end, std::int32_t* chosen,
                                              std::uint64_t& active);
ChosenNeuronsOfBytes chosen_neurons_bytes(InstructionSet set);  // precondition: available

}  // namespace offstage::kernels
