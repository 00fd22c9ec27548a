#pragma once
// Where the matrices of an expert lie in its block, and all byte counts and offsets that
// follow. C++17, because device code includes this.
//
// Neuron-major: for neuron j of ffn_dim [ w1 row j | w3 row j | w2 column j ], each a row
// of hidden_dim weights in its matrix's own format, so that one copy moves an expert and
// one copy moves a neuron. Where the rows of w2 are outputs, as files with block formats
// have them, a neuron is [ w1 row j | w3 row j ], and w2 (hidden_dim rows of ffn_dim)
// follows the last one. Biases are the end of a block: float32, of w1 (ffn_dim), of w3
// (ffn_dim), of w2 (hidden_dim).
//
// An expert of two matrices (ExpertSpec::has_gate()) has w1 where w3 is: whatever reads
// both reads the same rows.
//
// Rows lie one after the other without gaps. So a float32 matrix beside a 16-bit one
// needs an even number of weights in a row, or its rows are not aligned. Where one of w1
// and w3 alone is of a file's blocks, whose rows end at any byte, both begin at multiples
// of 4 bytes.

#include <cstddef>
#include <cstdint>

#include "kernels/expert_spec.h"
#include "kernels/interleaved.h"
#include "kernels/types.h"

namespace offstage::kernels {

struct ExpertLayout {
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;
    WeightType gate = WeightType::kBf16;  // w1
    WeightType up = WeightType::kBf16;    // w3
    WeightType down = WeightType::kBf16;  // w2
    ExpertSpec spec = {};
    bool down_rows_are_outputs = false;
    // Rows lie as kernels/interleaved.h has them, where possible: those of w1 and w3, in
    // stored order, as those of one matrix, and w2's.
    bool interleaved = false;

    constexpr bool interleaves_gate_and_up() const {
        return interleaved && down_rows_are_outputs && gate == up && can_interleave(gate, gate_and_up_rows());
    }
    constexpr bool interleaves_down() const {
        return interleaved && down_rows_are_outputs && can_interleave(down, hidden_dim);
    }
    constexpr bool has_strips() const { return interleaves_gate_and_up() || interleaves_down(); }

    constexpr std::int64_t gate_and_up_rows() const { return (spec.n_matrices() - 1) * ffn_dim; }
    constexpr std::int64_t n_weights() const { return spec.n_matrices() * hidden_dim * ffn_dim; }

    constexpr std::size_t up_offset() const { return spec.has_gate() ? beside_blocks(row_bytes(gate, hidden_dim)) : 0; }
    constexpr std::size_t down_offset() const {
        return down_rows_are_outputs ? rounded(static_cast<std::size_t>(ffn_dim) * neuron_bytes())
                                     : up_offset() + row_bytes(up, hidden_dim);
    }
    // From one neuron to the next.
    constexpr std::size_t neuron_bytes() const {
        return beside_blocks(up_offset() + row_bytes(up, hidden_dim)) +
               (down_rows_are_outputs ? 0 : row_bytes(down, hidden_dim));
    }
    constexpr std::size_t down_stride() const {
        return down_rows_are_outputs ? row_bytes(down, ffn_dim) : neuron_bytes();
    }
    // The bytes of a neuron's rows besides that of w1.
    constexpr std::size_t chosen_bytes() const {
        return (spec.has_gate() ? row_bytes(up, hidden_dim) : 0) + row_bytes(down, hidden_dim);
    }
    // The bytes of the matrices.
    constexpr std::size_t weight_bytes() const {
        return down_rows_are_outputs ? down_offset() + static_cast<std::size_t>(hidden_dim) * down_stride()
                                     : static_cast<std::size_t>(ffn_dim) * neuron_bytes();
    }
    constexpr std::size_t bias_offset() const { return rounded(weight_bytes()); }
    constexpr std::size_t bias_bytes() const {
        return spec.biases ? static_cast<std::size_t>(2 * ffn_dim + hidden_dim) * sizeof(float) : 0;
    }
    // The bytes of the whole block.
    constexpr std::size_t bytes() const { return spec.biases ? bias_offset() + bias_bytes() : weight_bytes(); }

    // The block is n_rows() rows of one format.
    constexpr bool is_uniform() const { return gate == up && up == down && !down_rows_are_outputs; }
    constexpr std::int64_t n_rows() const { return spec.n_matrices() * ffn_dim; }

    bool operator==(const ExpertLayout& other) const {
        return hidden_dim == other.hidden_dim && ffn_dim == other.ffn_dim && gate == other.gate && up == other.up &&
               down == other.down && spec == other.spec && down_rows_are_outputs == other.down_rows_are_outputs &&
               interleaved == other.interleaved;
    }

  private:
    constexpr std::size_t beside_blocks(std::size_t bytes) const {
        return is_blocks(gate) == is_blocks(up) ? bytes : (bytes + 3) / 4 * 4;
    }
    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
};

// The layout for a format of the table.
constexpr ExpertLayout expert_layout(WeightType format, std::int64_t hidden_dim, std::int64_t ffn_dim,
                                     const ExpertSpec& spec = {}) {
    const FormatTraits& traits = traits_of(format);
    ExpertLayout layout;
    layout.hidden_dim = hidden_dim;
    layout.ffn_dim = ffn_dim;
    layout.gate = layout.up = traits.gate_and_up;
    layout.down = traits.down;
    layout.spec = spec;
    return layout;
}

// nullptr: there are none.
struct ExpertBiases {
    const float* gate = nullptr;
    const float* up = nullptr;
    const float* down = nullptr;
};

// An expert in memory: a block and its layout. Does not own the memory.
struct ExpertView {
    const void* data = nullptr;
    ExpertLayout layout = {};
    // The place of the i-th neuron among those of the block, (ffn_dim), in host memory,
    // for kernels/sparse_experts.h, whose sums are formed in this order. Without biases.
    // nullptr: the stored order.
    const std::int32_t* order = nullptr;

    std::int64_t place(std::int64_t neuron) const { return order == nullptr ? neuron : order[neuron]; }

    // w1 and w3 one by one: not where they are interleaved.
    WeightView gate() const {  // (ffn_dim, hidden_dim)
        return {data, layout.gate, layout.ffn_dim, layout.hidden_dim, layout.neuron_bytes()};
    }
    WeightView up() const {  // (ffn_dim, hidden_dim)
        return {at(layout.up_offset()), layout.up, layout.ffn_dim, layout.hidden_dim, layout.neuron_bytes()};
    }
    // w1 and w3 of one type of a file's blocks as one matrix, whose rows are read in
    // order: w1's first, w3's first, w1's second, ... Precondition: w2's rows are
    // outputs.
    WeightView gate_and_up() const {  // (gate_and_up_rows(), hidden_dim)
        return {data,
                layout.gate,
                layout.gate_and_up_rows(),
                layout.hidden_dim,
                row_bytes(layout.gate, layout.hidden_dim),
                layout.interleaves_gate_and_up()};
    }
    // (ffn_dim, hidden_dim): transposed; (hidden_dim, ffn_dim) where its rows are
    // outputs.
    WeightView down() const {
        const bool outputs = layout.down_rows_are_outputs;
        return {at(layout.down_offset()),
                layout.down,
                outputs ? layout.hidden_dim : layout.ffn_dim,
                outputs ? layout.ffn_dim : layout.hidden_dim,
                layout.down_stride(),
                layout.interleaves_down()};
    }
    // Calls each(matrix) for those that there are: gate, up, down.
    template <typename Each>
    void for_matrices(const Each& each) const {
        if (layout.spec.has_gate()) each(gate());
        each(up());
        each(down());
    }
    ExpertBiases biases() const {
        if (!layout.spec.biases) return {};
        const auto* const first = reinterpret_cast<const float*>(at(layout.bias_offset()));
        return {first, first + layout.ffn_dim, first + 2 * layout.ffn_dim};
    }

  private:
    const std::byte* at(std::size_t offset) const { return static_cast<const std::byte*>(data) + offset; }
};

// Bytes of an expert's block: strips of interleaved rows of n_cols weights, or (n_cols 0)
// bytes as they are.
struct ExpertPart {
    std::size_t begin = 0;
    std::size_t bytes = 0;
    WeightType type = WeightType::kBf16;
    std::int64_t n_cols = 0;

    bool is_interleaved() const { return n_cols > 0; }
    std::size_t strip_bytes() const { return static_cast<std::size_t>(kInterleavedRows) * row_bytes(type, n_cols); }
};

// Calls each(part) for the parts of a block, in their order.
template <typename Each>
void for_parts(const ExpertLayout& layout, const Each& each) {
    std::size_t begin = 0;
    const auto add = [&](const ExpertPart& part) {
        if (part.begin > begin) each(ExpertPart{begin, part.begin - begin});
        if (part.bytes > 0) each(part);
        begin = part.begin + part.bytes;
    };
    const auto add_rows = [&](std::size_t at, WeightType type, std::int64_t n_rows, std::int64_t n_cols) {
        add({at, static_cast<std::size_t>(n_rows) * row_bytes(type, n_cols), type, n_cols});
    };
    if (layout.interleaves_gate_and_up()) add_rows(0, layout.gate, layout.gate_and_up_rows(), layout.hidden_dim);
    if (layout.interleaves_down()) add_rows(layout.down_offset(), layout.down, layout.hidden_dim, layout.ffn_dim);
    add({layout.bytes(), 0});
}

}  // namespace offstage::kernels
