#pragma once
// w2 by neurons on its way through shared memory: what a thread block reads of 16
// neurons, 16 blocks of 64 columns. Copies have 16 bytes, and a neuron's scales come once
// for all of these columns: warps that read their own blocks where they lie touch a line
// of the cache for each neuron's byte.

#include <cstdint>

#include "kernels/cuda/async_copies.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/packed.cuh"

namespace offstage::kernels::cuda {

constexpr int kStageNeurons = 16;
constexpr int kStageBlocks = 16;

// Activations of a stretch's neurons, n_inputs rows; 0 for an input that is missing.
struct Activations {
    const float* first;
    unsigned stride;
    int n_inputs;
    __device__ const float* place(int t, int neuron) const {
        return first + (static_cast<unsigned>(t) * stride + static_cast<unsigned>(neuron));
    }
    __device__ float of(int t, int neuron) const { return t < n_inputs ? *place(t, neuron) : 0.0f; }
};

template <WeightType kType, int kInputs>
struct NeuronStage {
    static constexpr bool kSigned = traits_of(kType).coding == WeightCoding::kSigned;
    static constexpr bool kPerQuarter = traits_of(kType).has_half_scales();
    static constexpr int kBlockBytes = traits_of(kType).bits * 8;
    static constexpr int kRowBytes = kStageBlocks * kBlockBytes;
    static constexpr int kScaleBytes = kSigned ? 2 : kPerQuarter ? 4 : 1;  // of a block
    static_assert(kSigned || traits_of(kType).super_group % (kStageBlocks * (kPerQuarter ? 4 : 1)) == 0, "one super");
    // Words of a neuron: the super, scales, zeros, which begin at any byte.
    static constexpr int kScales = kSigned ? 0 : 4;
    static constexpr int kZeros = kScales + kStageBlocks * kScaleBytes / 4;
    static constexpr int kWords = kZeros + (kSigned || kPerQuarter ? 0 : kStageBlocks / 4 + 1);
    // Neurons are apart, so that lanes that read together meet in no bank.
    static constexpr int kStride = (kWords + 1) / 4 * 4 + 2;  // words
    static constexpr int kApart = 32;                         // bytes, behind four neurons
    static_assert(4 * kRowBytes % 128 == 0, "see above");

    alignas(16) unsigned char codes[kStageNeurons * kRowBytes + kStageNeurons / 4 * kApart];
    alignas(8) unsigned words[kStageNeurons][kStride];
    float activations[kInputs][kStageNeurons];

    __device__ static constexpr int row(int neuron) { return neuron * kRowBytes + neuron / 4 * kApart; }
};

// The copies of a thread block's columns from one stretch of neurons.
template <WeightType kType, int kInputs>
class NeuronCopies {
    using Stage = NeuronStage<kType, kInputs>;
    static constexpr int kThreads = kFewExpertThreads;
    static constexpr int kThreadsOfNeuron = kThreads / kStageNeurons;
    static constexpr int kTurns = (Stage::kWords + kThreadsOfNeuron - 1) / kThreadsOfNeuron;

  public:
    // w2: the stretch's first neuron; first_block: of the columns, a multiple of 16.
    __device__ NeuronCopies(const unsigned char* w2, std::int64_t stride, int n_neurons, const PackedPlaces& places,
                            int first_block, const Activations& activations)
        : w2_(w2),
          stride_(stride),
          last_(n_neurons - 1),
          aligned_(is_aligned(w2) && stride % 16 == 0),  // the blocks of a row are at a multiple of 16
          codes_(places.codes + first_block * Stage::kBlockBytes),
          activations_(activations) {
        const int left = places.n_blocks - first_block;
        const int n_blocks = left < kStageBlocks ? left : kStageBlocks;
        code_bytes_ = n_blocks * Stage::kBlockBytes;
#pragma unroll
        for (int i = 0; i < kTurns; ++i) {
            const int word = i * kThreadsOfNeuron + static_cast<int>(threadIdx.x) % kThreadsOfNeuron;
            const bool zeros = word >= Stage::kZeros;
            const int begin = (zeros ? places.zeros : places.scales) + first_block * Stage::kScaleBytes;
            const int at = begin / 4 * 4 + 4 * (word - (zeros ? Stage::kZeros : Stage::kScales));
            word_[i] = word >= Stage::kWords || (word >= Stage::kScales && at >= begin + n_blocks * Stage::kScaleBytes)
                           ? -1
                           : at;
            if (word < Stage::kScales) {
                const int group = first_block * (Stage::kPerQuarter ? 4 : 1);
                word_[i] = group / places.super_group * static_cast<int>(sizeof(float4)) + 4 * word;
            }
        }
    }
    // Those of neurons first ... of the stretch, which exist up to its end: the last one
    // is taken again, with activations of 0.
    __device__ void begin(AsyncCopies& copies, Stage& to, int first) const {
        constexpr int kPieces = Stage::kRowBytes / 16;  // of a neuron
        const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
        for (int i = 0; i < kStageNeurons * kPieces; i += kThreads) {
            const int neuron = (i + thread) / kPieces;
            const int at = (i + thread) % kPieces * 16;
            const int left = code_bytes_ - at;
            if (neuron >= kStageNeurons || left <= 0) continue;
            const unsigned char* const from = row(first + neuron) + codes_ + at;
            unsigned char* const place = to.codes + Stage::row(neuron) + at;
            if (aligned_) {
                copies.copy<16>(place, from, left < 16 ? left : 16);
            } else {
                copies.copy<8>(place, from);
                if (left > 8) copies.copy<8>(place + 8, from + 8);
            }
        }
        const int neuron = thread / kThreadsOfNeuron;
#pragma unroll
        for (int i = 0; i < kTurns; ++i) {
            if (word_[i] < 0) continue;
            const int word = i * kThreadsOfNeuron + thread % kThreadsOfNeuron;
            copies.copy<4>(&to.words[neuron][word], row(first + neuron) + word_[i]);
        }
        if (thread < kInputs * kStageNeurons) {
            const int t = thread / kStageNeurons;
            const int its = first + thread % kStageNeurons;
            copies.copy<4>(&to.activations[t][thread % kStageNeurons], activations_.place(t, its),
                           t < activations_.n_inputs && its <= last_ ? 4 : 0);
        }
    }

  private:
    __device__ const unsigned char* row(int neuron) const {
        return w2_ + static_cast<std::int64_t>(neuron < last_ ? neuron : last_) * stride_;
    }

    const unsigned char* w2_;
    std::int64_t stride_;
    int last_;
    bool aligned_;
    int codes_, code_bytes_;  // of a neuron
    int word_[kTurns];        // from the neuron's row on, in bytes; -1: none
    Activations activations_;
};

}  // namespace offstage::kernels::cuda
