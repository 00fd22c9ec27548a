#pragma once
// Packed rows under the names that products over plain rows have (products_simd.h,
// expert_ffn_simd.h): dot_products and add_columns, and unpacking.
//
// Weights are decoded to float32 and multiplied with float32 inputs: for one token in
// registers, for several from a buffer that stays in the first-level cache, where each is
// decoded once for all tokens. A pair of row and token is summed in the same order
// whichever rows are taken together with it.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/blocks_simd.h"
#include "kernels/cpu/products_simd.h"
#if OFFSTAGE_VECTOR_BITS == 512
#include "kernels/cpu/packed_avx512.h"
#else
#include "kernels/cpu/packed_avx2.h"
#endif

namespace offstage::kernels {
namespace {

inline constexpr int kBlockVectors = static_cast<int>(kPackedBlock) / kLanes;

// Rows of a packed weight, or all rows of an expert.
template <WeightType kType>
struct PackedRows {
    using Row = PackedRef<kType>;
    static constexpr bool kPacked = true;
    const std::byte* first = nullptr;
    std::size_t stride_bytes = 0;
    const PackedRow* layout = nullptr;

    Row operator[](std::int64_t i) const { return {first + i * static_cast<std::ptrdiff_t>(stride_bytes), layout}; }
    PackedRows from(std::int64_t i) const { return {(*this)[i].bytes, stride_bytes, layout}; }
    std::int64_t row_bytes(std::int64_t /*n*/) const { return layout->bytes; }
};

// Rows that share a pass over the inputs.
inline constexpr int kPackedRowsAtOnce = 2;
// Neurons whose w2 columns share a pass over the outputs, for several tokens.
inline constexpr int kPackedNeuronsAtOnce = 4;
// Columns of them that are unpacked together.
inline constexpr std::int64_t kUnpackedStretch = 1024;

template <WeightType kType>
__attribute__((always_inline)) inline void prefetch_groups(PackedRef<kType> row, std::int64_t block) {
    using Format = PackedFormat<kType>;
    const std::int64_t group = block * Format::kGroupsPerBlock * Format::kScaleBytes;
    prefetch(row.bytes + row.layout->scales + group);
    if constexpr (!Format::kSigned && !Format::kHalfScales) {
        prefetch(row.bytes + row.layout->zeros + group);
    }
}

// Calls body(block, n_blocks) for the batches of blocks in [begin, end), cut to that
// range.
template <typename Body>
__attribute__((always_inline)) inline void for_each_batch(std::int64_t begin, std::int64_t end, const Body& body) {
    while (begin < end) {
        const std::int64_t batch_end = std::min(end, (begin / kBatchBlocks + 1) * kBatchBlocks);
        body(begin, static_cast<int>(batch_end - begin));
        begin = batch_end;
    }
}

// out[i] = weight of column `begin` + i of the row, for n columns; begin and n are
// multiples of kPackedBlock.
template <WeightType kType>
void unpack(PackedRef<kType> row, std::int64_t begin, std::int64_t n, float* out) {
    for_each_batch(
        begin / kPackedBlock,
        (begin + n) / kPackedBlock, [&](std::int64_t first, int n_blocks) __attribute__((always_inline)) {
            GroupScales<kType> groups;
            groups.read(row, first, n_blocks);
            for (int b = 0; b < n_blocks; ++b) {
                PackedBlock<kType> block;
                block.read(row.bytes + row.layout->codes + (first + b) * PackedFormat<kType>::kBlockBytes, groups, b);
                float* const place = out + (first + b) * kPackedBlock - begin;
                unrolled<kBlockVectors>([&](auto v) __attribute__((always_inline)) {
                    constexpr int kVector = decltype(v)::value;
                    store(place + PackedBlock<kType>::template place<kVector>(), block.template vector<kVector>());
                });
            }
        });
}

// Fetches the bytes into cache that unpack() of the same part will read.
template <WeightType kType>
__attribute__((always_inline)) inline void prefetch_part(PackedRef<kType> row, std::int64_t begin, std::int64_t n) {
    constexpr std::int64_t kBlockBytes = PackedFormat<kType>::kBlockBytes;
    const std::byte* codes = row.bytes + row.layout->codes;
    prefetch(row.bytes);
    prefetch_groups(row, begin / kPackedBlock);
    const std::byte* const end = codes + (begin + n) / kPackedBlock * kBlockBytes;
    for (codes += begin / kPackedBlock * kBlockBytes; codes < end; codes += 64) prefetch(codes);
}

// The same rows for products of several tokens, which are compiled for all formats at
// once.
template <WeightType kType>
DecodedRows decoded(const PackedRows<kType>& rows) {
    static constexpr RowDecoder kDecoder = {
        [](const std::uint8_t* row, const PackedRow* layout, std::int64_t begin, std::int64_t n, float* out) {
            unpack(PackedRef<kType>{reinterpret_cast<const std::byte*>(row), layout}, begin, n, out);
        },
        [](const std::uint8_t* row, const PackedRow* layout, std::int64_t begin, std::int64_t n) {
            prefetch_part(PackedRef<kType>{reinterpret_cast<const std::byte*>(row), layout}, begin, n);
        }};
    return {{reinterpret_cast<const std::uint8_t*>(rows.first), &kDecoder, rows.layout}, rows.stride_bytes};
}
inline DecodedRows decoded(const DecodedRows& rows) {
    return rows;
}

// The same for a plain row, of any length.
template <typename Weight>
void widen_weights(const Weight* source, std::int64_t n, float* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + i, load(source + i));
    if (i < n) store_first(out + i, static_cast<int>(n - i), load_first(source + i, static_cast<int>(n - i)));
}

// sums[r] = rows[r] . x, one token.
template <int kRows, WeightType kType>
void dot_rows(const PackedRef<kType>* rows, const PackedRef<kType>* ahead, const float* x, std::int64_t /*n*/,
              float* sums) {
    constexpr int kSums = kLanes / 4;  // independent ones, to hide the latency of the multiply-add
    const PackedRow& layout = *rows[0].layout;
    Vector accumulators[kRows][kSums];
    for (int r = 0; r < kRows; ++r) {
        for (int a = 0; a < kSums; ++a) accumulators[r][a] = zero();
    }
    for_each_batch(
        0, layout.n_blocks, [&](std::int64_t first, int n_blocks) __attribute__((always_inline)) {
            GroupScales<kType> groups[kRows];
            for (int r = 0; r < kRows; ++r) {
                groups[r].read(rows[r], first, n_blocks);
                prefetch_groups(ahead[r], first);
            }
            for (int b = 0; b < n_blocks; ++b) {
                const std::int64_t codes = layout.codes + (first + b) * PackedFormat<kType>::kBlockBytes;
                const float* inputs = x + (first + b) * kPackedBlock;
                PackedBlock<kType> blocks[kRows];
                for (int r = 0; r < kRows; ++r) {
                    prefetch(ahead[r].bytes + codes);
                    blocks[r].read(rows[r].bytes + codes, groups[r], b);
                }
                unrolled<kBlockVectors>([&](auto v) __attribute__((always_inline)) {
                    constexpr int kVector = decltype(v)::value;
                    Vector input = load(inputs + PackedBlock<kType>::template place<kVector>());
                    if constexpr (kRows > 1) keep_in_register(input);
                    for (int r = 0; r < kRows; ++r) {
                        Vector& accumulator = accumulators[r][kVector % kSums];
                        accumulator = fma(blocks[r].template vector<kVector>(), input, accumulator);
                    }
                });
            }
        });
    for (int r = 0; r < kRows; ++r) {
        for (int half = kSums / 2; half > 0; half /= 2) {
            for (int a = 0; a < half; ++a) accumulators[r][a] = add(accumulators[r][a], accumulators[r][a + half]);
        }
        sums[r] = sum_of_lanes(accumulators[r][0]);
    }
}

// out += activation * column, one token.
template <WeightType kType>
void add_column(PackedRef<kType> column, std::int64_t /*n*/, std::int64_t ahead_bytes, float activation, float* out) {
    const PackedRow& layout = *column.layout;
    const Vector factor = broadcast(activation);
    for_each_batch(
        0, layout.n_blocks, [&](std::int64_t first, int n_blocks) __attribute__((always_inline)) {
            GroupScales<kType> groups;
            groups.read(column, first, n_blocks);
            prefetch_groups(PackedRef<kType>{column.bytes + ahead_bytes, &layout}, first);
            for (int b = 0; b < n_blocks; ++b) {
                const std::int64_t codes = layout.codes + (first + b) * PackedFormat<kType>::kBlockBytes;
                PackedBlock<kType> block;
                prefetch(column.bytes + ahead_bytes + codes);
                block.read(column.bytes + codes, groups, b);
                unrolled<kBlockVectors>([&](auto v) __attribute__((always_inline)) {
                    constexpr int kVector = decltype(v)::value;
                    float* const place =
                        out + (first + b) * kPackedBlock + PackedBlock<kType>::template place<kVector>();
                    store(place, fma(factor, block.template vector<kVector>(), load(place)));
                });
            }
        });
}

inline void add_column(DecodedRef column, std::int64_t n, std::int64_t ahead_bytes, float activation, float* out) {
    alignas(64) float weights[256];
    const Vector factor = broadcast(activation);
    for (std::int64_t begin = 0; begin < n; begin += 256) {
        const std::int64_t count = std::min<std::int64_t>(256, n - begin);
        DecodedRef ahead = column;
        ahead.bytes += ahead_bytes;
        prefetch_part(ahead, begin, count);
        unpack(column, begin, count, weights);
        for (std::int64_t i = 0; i < count; i += kLanes) {
            store(out + begin + i, fma(factor, load(weights + i), load(out + begin + i)));
        }
    }
}

// A row of weights that are decoded.
template <typename Ref>
concept PackedOrBlock = !std::is_pointer_v<Ref>;

// sums[r * kTokens + t] += weights[r] . x[t], n long, a multiple of kPackedBlock; rows
// kUnpackedStretch apart.
template <int kRows, int kTokens>
void dot_unpacked(const float* weights, const float* x, std::int64_t x_stride, std::int64_t n, float* sums) {
    // The sums of 2 x 8 pairs do not fit AVX2's registers: there one row follows the
    // other.
    constexpr int kAtOnce = kRows * kTokens + kRows + 1 <= kRegisters ? kRows : 1;
    for (int row = 0; row < kRows; row += kAtOnce) {
        Vector accumulators[kAtOnce][kTokens];
        for (int r = 0; r < kAtOnce; ++r) {
            for (int t = 0; t < kTokens; ++t) accumulators[r][t] = zero();
        }
        for (std::int64_t i = 0; i < n; i += kLanes) {
            Vector loaded[kAtOnce];
            for (int r = 0; r < kAtOnce; ++r) loaded[r] = load(weights + (row + r) * kUnpackedStretch + i);
            for (int t = 0; t < kTokens; ++t) {
                Vector input = load(x + t * x_stride + i);
                if constexpr (kAtOnce > 1) keep_in_register(input);
                for (int r = 0; r < kAtOnce; ++r) accumulators[r][t] = fma(loaded[r], input, accumulators[r][t]);
            }
        }
        for (int r = 0; r < kAtOnce; ++r) {
            for (int t = 0; t < kTokens; ++t) sums[(row + r) * kTokens + t] += sum_of_lanes(accumulators[r][t]);
        }
    }
}

// out[t] += sum_j activations[j * kTokens + t] * columns[j], n long, a multiple of
// kPackedBlock; columns kUnpackedStretch apart, out out_stride.
template <int kNeurons, int kTokens>
void add_unpacked(const float* columns, const float* activations, std::int64_t n, float* out, std::int64_t out_stride) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
        Vector weights[kNeurons];
        for (int j = 0; j < kNeurons; ++j) weights[j] = load(columns + j * kUnpackedStretch + i);
        for (int t = 0; t < kTokens; ++t) {
            float* const place = out + t * out_stride + i;
            Vector sum = load(place);
            for (int j = 0; j < kNeurons; ++j) sum = fma(broadcast(activations[j * kTokens + t]), weights[j], sum);
            store(place, sum);
        }
    }
}

// Calls body(weights, begin, n) for stretches of n_cols columns of the rows, unpacked
// kUnpackedStretch floats apart. Meanwhile the same columns of `ahead` are fetched.
template <int kRows, PackedOrBlock Ref, typename Body>
void for_each_unpacked(const Ref (&rows)[kRows], const Ref (&ahead)[kRows], std::int64_t n_cols, const Body& body) {
    alignas(64) float weights[kRows * kUnpackedStretch];
    for (std::int64_t begin = 0; begin < n_cols; begin += kUnpackedStretch) {
        const std::int64_t n = std::min(kUnpackedStretch, n_cols - begin);
        for (int r = 0; r < kRows; ++r) {
            prefetch_part(ahead[r], begin, n);
            unpack(rows[r], begin, n, weights + r * kUnpackedStretch);
        }
        body(static_cast<const float*>(weights), begin, n);
    }
}

template <int kRows, int kTokens, PackedOrBlock Ref>
void dot_products(const Ref (&rows)[kRows], const Ref (&ahead)[kRows], const float* x, std::int64_t x_stride,
                  std::int64_t n_cols, float (&sums)[kRows][kTokens]) {
    if constexpr (kTokens == 1) {
        dot_rows<kRows>(rows, ahead, x, n_cols, sums[0]);
    } else {
        for (int r = 0; r < kRows; ++r) std::fill_n(sums[r], kTokens, 0.0f);
        for_each_unpacked(rows, ahead, n_cols, [&](const float* weights, std::int64_t begin, std::int64_t n) {
            dot_unpacked<kRows, kTokens>(weights, x + begin, x_stride, n, sums[0]);
        });
    }
}

// out[t] += sum_j activations[j * kTokens + t] * columns[j], each n long. Prefetches
// ahead_bytes beyond the columns.
template <int kNeurons, int kTokens, PackedOrBlock Ref>
void add_columns(const Ref (&columns)[kNeurons], const float (&activations)[kNeurons * kTokens], std::int64_t n,
                 std::int64_t ahead_bytes, float* out) {
    if constexpr (kTokens == 1) {
        for (int j = 0; j < kNeurons; ++j) add_column(columns[j], n, ahead_bytes, activations[j], out);
    } else {
        Ref ahead[kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            ahead[j] = columns[j];
            ahead[j].bytes += ahead_bytes;
        }
        for_each_unpacked(columns, ahead, n, [&](const float* weights, std::int64_t begin, std::int64_t count) {
            add_unpacked<kNeurons, kTokens>(weights, activations, count, out + begin, n);
        });
    }
}

// One token: computes a neuron's gate and up, and adds the w2 of the neuron before it, in
// one pass.
template <WeightType kType>
void stream_neuron(PackedRef<kType> w1, PackedRef<kType> w3, PackedRef<kType> w2_before, float activation_before,
                   std::int64_t /*n*/, std::int64_t ahead_bytes, const float* x, float* out, float& gate_sum,
                   float& up_sum) {
    constexpr int kSums = 2;
    const PackedRow& layout = *w1.layout;
    const Vector activation = broadcast(activation_before);
    Vector gate[kSums] = {zero(), zero()};
    Vector up[kSums] = {zero(), zero()};
    const PackedRef<kType> rows[3] = {w1, w3, w2_before};
    for_each_batch(
        0, layout.n_blocks, [&](std::int64_t first, int n_blocks) __attribute__((always_inline)) {
            GroupScales<kType> groups[3];
            for (int r = 0; r < 3; ++r) {
                groups[r].read(rows[r], first, n_blocks);
                prefetch_groups(PackedRef<kType>{rows[r].bytes + ahead_bytes, &layout}, first);
            }
            for (int b = 0; b < n_blocks; ++b) {
                const std::int64_t codes = layout.codes + (first + b) * PackedFormat<kType>::kBlockBytes;
                const std::int64_t column = (first + b) * kPackedBlock;
                PackedBlock<kType> blocks[3];
                for (int r = 0; r < 3; ++r) {
                    prefetch(rows[r].bytes + ahead_bytes + codes);
                    blocks[r].read(rows[r].bytes + codes, groups[r], b);
                }
                unrolled<kBlockVectors>([&](auto v) __attribute__((always_inline)) {
                    constexpr int kVector = decltype(v)::value;
                    constexpr int kSum = kVector % kSums;
                    const std::int64_t place = column + PackedBlock<kType>::template place<kVector>();
                    Vector input = load(x + place);
                    keep_in_register(input);
                    gate[kSum] = fma(blocks[0].template vector<kVector>(), input, gate[kSum]);
                    up[kSum] = fma(blocks[1].template vector<kVector>(), input, up[kSum]);
                    store(out + place, fma(activation, blocks[2].template vector<kVector>(), load(out + place)));
                });
            }
        });
    gate_sum = sum_of_lanes(add(gate[0], gate[1]));
    up_sum = sum_of_lanes(add(up[0], up[1]));
}

inline void stream_neuron(DecodedRef w1, DecodedRef w3, DecodedRef w2_before, float activation_before, std::int64_t n,
                          std::int64_t ahead_bytes, const float* x, float* out, float& gate_sum, float& up_sum) {
    gate_sum = w1.decoder->dot(w1.bytes, w1.bytes + ahead_bytes, x, n);
    up_sum = w3.decoder->dot(w3.bytes, w3.bytes + ahead_bytes, x, n);
    add_column(w2_before, n, ahead_bytes, activation_before, out);
}

// Calls body(rows) with the rows that begin at data, of any type: PlainRows, PackedRows
// or DecodedRows.
template <typename Body>
__attribute__((always_inline)) inline void with_rows(const void* data, WeightType type, std::int64_t n_cols,
                                                     std::size_t stride_bytes, const Body& body) {
    const auto plain = [&](auto weight) {
        using Weight = decltype(weight);
        const auto stride = static_cast<std::int64_t>(stride_bytes / sizeof(Weight));
        body(PlainRows<Weight>{static_cast<const Weight*>(data), stride});
    };
    const auto packed = [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        const PackedRow layout = packed_row(kType, n_cols);
        body(PackedRows<kType>{static_cast<const std::byte*>(data), stride_bytes, &layout});
    };
    switch (type) {
        case WeightType::kF32:
            return plain(float{});
        case WeightType::kF16:
            return plain(F16{});
        case WeightType::kBf16:
            return plain(Bf16{});
        default:
            if (!is_blocks(type)) return with_packed_type(type, packed);
            return body(
                DecodedRows{{static_cast<const std::uint8_t*>(data), &OFFSTAGE_INSTRUCTION_SET::block_decoder(type),
                             nullptr, static_cast<std::int64_t>(row_bytes(type, 256))},
                            stride_bytes});
    }
}

}  // namespace
}  // namespace offstage::kernels
