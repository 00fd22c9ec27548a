#pragma once
// An expert in pieces that are read from its file one by one: where each lies, and how it
// becomes part of the expert's block.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/model/file_bytes.h"
#include "engine/model/pack_neurons.h"
#include "kernels/expert_layout.h"

namespace offstage::engine {

// Rows of one matrix or bias, [begin, end) of those that are consecutive in the file:
// neurons, or values of hidden_dim if those are the outer ones.
struct StripPart {
    int piece = 0;  // 0 gate, 1 up, 2 down, 3 to 5 their biases
    kernels::WeightType type = kernels::WeightType::kF32;
    std::int64_t neuron_stride = 0, hidden_stride = 0;  // as in NeuronMatrix
    bool by_neurons = true;
    std::int64_t begin = 0, end = 0;
    float factor = 1;                                        // as in NeuronMatrix
    std::uint64_t skipped_bytes = 0, skipped_exponents = 0;  // of the ranges, before row `begin`
};

struct ExpertStrip {
    FileRange weights;
    FileRange exponents;           // see ExpertPart; without bytes where there are none
    std::vector<StripPart> parts;  // several where they lie between each other
};

// One piece of an expert as a whole.
struct StripSource {
    StripPart part;     // all rows; without skipped bytes
    FileRange weights;  // from its first weight to its last
    FileRange exponents;
};

// Strips of about `most_bytes`, at least a row each, in the order of the pieces. Pieces
// whose ranges overlap share strips, so that no byte is read twice.
std::vector<ExpertStrip> cut_into_strips(std::span<const StripSource> pieces, std::uint64_t most_bytes);

// Writes the strip's contents to the expert's block. weights, exponents: the first bytes
// of its ranges. Strips of one block may be written by several threads at once.
void pack_strip(const ExpertStrip& strip, const std::byte* weights, const std::byte* exponents,
                const kernels::ExpertLayout& layout, std::byte* block);

// Optional interface of a WeightSource whose experts lie in files (use dynamic_cast). Any
// thread.
class FileExperts {
  public:
    virtual ~FileExperts() = default;
    virtual std::vector<const RegularFile*> files() const = 0;
    // The strips of one expert in the file's format; empty: its bytes lie in no file.
    virtual std::vector<ExpertStrip> expert_strips(LayerIndex layer, ExpertIndex expert,
                                                   std::uint64_t most_bytes) const = 0;
};

}  // namespace offstage::engine
