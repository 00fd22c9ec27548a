#pragma once
// Products of packed weights with split inputs (split_products.cuh). A block forms 16
// outputs, of one matrix or of w1 and w3, for all inputs: its warps take every fourth
// piece of four blocks of 64 weights, so that a weight is read once and by 16 rows at a
// time. The columns of a warp's products are inputs' parts, eight at a time: three for
// each input. The number of inputs does not change a sum's bits.

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/async_copies.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/split_products.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {

constexpr int kSplitWarps = 4;
constexpr int kSplitThreads = kSplitWarps * kWarp;
constexpr int kSplitRows = 16;  // weight rows of a block
constexpr int kBlocksAtOnce = 4;

// Where four blocks of a row that follow each other are, or copies of them.
struct FourPlaces {
    const unsigned char* codes;
    const unsigned char* groups;  // S; HQQ2: S and Z, four of a block; INT8: scales
    const unsigned char* zeros;   // Z
    const unsigned char* super;   // of all their groups: a super group has a multiple of 16
};

// A lane's 16 weights of each of the four blocks, and their groups: of all, or (kHeld 1,
// from shared memory) of the block that was loaded last. load_block() and load_groups()
// only read.
template <WeightType kType, int kHeld = kBlocksAtOnce>
struct FourBlocks {
    static constexpr int kBlocksHeld = kHeld;
    static constexpr bool kCopied = kHeld == 1;
    static constexpr int kBits = traits_of(kType).bits;
    static constexpr int kBlockBytes = kBits * 8;
    static constexpr bool kGroupPerWord = traits_of(kType).has_half_scales();  // word k is of group k
    static constexpr int kGroupBytes = kGroupPerWord ? 16 : 4;                 // at FourPlaces::groups
    unsigned low[kHeld], high[kHeld];
    unsigned groups[kGroupPerWord ? kHeld : 2];  // a block's four, S and Z; else all S, all Z
    SuperPlaces super;

    __device__ void load_block(const FourPlaces& at, int b, int quarter) {
        const unsigned char* const codes = at.codes + b * kBlockBytes;
        if (kBits == 4) {
            const uint2 both = read_once<kCopied>(reinterpret_cast<const uint2*>(codes) + quarter);
            low[b % kHeld] = both.x;
            high[b % kHeld] = both.y;
        } else if (kBits == 3) {
            // 48 bits from bit 48 * quarter: see words().
            const unsigned* words = reinterpret_cast<const unsigned*>(codes) + (3 * quarter) / 2;
            low[b % kHeld] = read_once<kCopied>(words);
            high[b % kHeld] = read_once<kCopied>(words + 1);
        } else {
            low[b % kHeld] = read_once<kCopied>(reinterpret_cast<const unsigned*>(codes) + quarter);
        }
        if (kGroupPerWord) {
            groups[b % (kGroupPerWord ? kHeld : 2)] = reinterpret_cast<const unsigned*>(at.groups)[b];
        }
    }
    __device__ void load_groups(const FourPlaces& at) {
        if (!kGroupPerWord) {
            groups[0] = *reinterpret_cast<const unsigned*>(at.groups);
            groups[1] = *reinterpret_cast<const unsigned*>(at.zeros);
        }
        super.load(at.super, 0);
    }
    // Codes of block b, four in a word.
    __device__ void words(int b, int quarter, unsigned (&words)[4]) const {
        if (kBits == 4) {
            words[0] = low[b % kHeld] & 0x0f0f0f0fu;
            words[1] = low[b % kHeld] >> 4 & 0x0f0f0f0fu;
            words[2] = high[b % kHeld] & 0x0f0f0f0fu;
            words[3] = high[b % kHeld] >> 4 & 0x0f0f0f0fu;
        } else if (kBits == 3) {
            // An odd quarter begins in the middle of a word.
            const bool odd = quarter % 2 == 1;
            const unsigned first = odd ? low[b % kHeld] >> 16 | high[b % kHeld] << 16 : low[b % kHeld];
            const unsigned second = odd ? high[b % kHeld] >> 16 : high[b % kHeld];
            const unsigned lanes[4] = {first, first >> 12, first >> 24 | second << 8, second >> 4};
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                words[j] = (lanes[j] & 0x7u) | (lanes[j] << 5 & 0x700u) | (lanes[j] << 10 & 0x70000u) |
                           (lanes[j] << 15 & 0x7000000u);
            }
        } else {
#pragma unroll
            for (int k = 0; k < 4; ++k) words[k] = low[b % kHeld] >> (2 * k) & 0x03030303u;
        }
    }
    // The scale and zero of block b's group, or of its word's.
    __device__ void group(int b, int word, float& scale, float& zero) const {
        const unsigned bits = kGroupPerWord ? groups[b % (kGroupPerWord ? kHeld : 2)] >> (8 * word) : 0;
        const unsigned s = kGroupPerWord ? bits & 15u : groups[0] >> (8 * b) & 255u;
        const unsigned z = kGroupPerWord ? bits >> 4 & 15u : groups[1] >> (8 * b) & 255u;
        scale = fmaf(super.scale.y, small_to_float(s), super.scale.x);
        zero = fmaf(super.zero.y, small_to_float(z), super.zero.x);
    }
};

template <int kHeld>
struct FourBlocks<WeightType::kInt8, kHeld> {
    static constexpr int kBlocksHeld = kHeld;
    static constexpr int kBlockBytes = 64;
    static constexpr bool kGroupPerWord = false;
    static constexpr int kGroupBytes = 8;
    uint2 codes[kBlocksAtOnce][2];
    uint2 scales;  // bf16

    __device__ void load_block(const FourPlaces& at, int b, int quarter) {
        const uint2* const from = reinterpret_cast<const uint2*>(at.codes + b * kBlockBytes);
        codes[b][0] = __ldcs(from + quarter);
        codes[b][1] = __ldcs(from + 4 + quarter);
    }
    __device__ void load_groups(const FourPlaces& at) { scales = *reinterpret_cast<const uint2*>(at.groups); }
    __device__ void words(int b, int, unsigned (&words)[4]) const {
        words[0] = codes[b][0].x;
        words[1] = codes[b][0].y;
        words[2] = codes[b][1].x;
        words[3] = codes[b][1].y;
    }
    __device__ void group(int b, int, float& scale, float& zero) const {
        const unsigned pair = b < 2 ? scales.x : scales.y;
        scale = __uint_as_float(b % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
        zero = 0.0f;
    }
};

template <WeightType kType>
__device__ inline FourPlaces four_in_row(const unsigned char* row, const PackedPlaces& places, int first) {
    using Four = FourBlocks<kType>;
    const int group = Four::kGroupPerWord ? 4 * first : first;
    return {row + places.codes + first * Four::kBlockBytes,
            row + places.scales + first * (Four::kGroupBytes / kBlocksAtOnce), row + places.zeros + first,
            row + group / places.super_group * static_cast<int>(2 * sizeof(float2))};
}

// What a warp reads of its 16 rows at once, on its way through shared memory: while it
// multiplies, the next blocks are copied, and no register waits for them. Rows are apart,
// so that the lanes that read together meet in no bank.
template <WeightType kType, int kMatrices>
struct SplitStage {
    using Four = FourBlocks<kType>;
    static constexpr bool kUsed = kType != WeightType::kInt8;  // two of four warps do not fit
    static constexpr int kCodeBytes = kBlocksAtOnce * Four::kBlockBytes;
    static constexpr int kStride = kCodeBytes + (kCodeBytes % 128 == 0 ? 32 : kCodeBytes % 64 == 0 ? 16 : 0);
    static constexpr int kSuperBytes = 2 * sizeof(float2);
    alignas(16) unsigned char codes[kMatrices][kSplitRows][kStride];
    alignas(16) unsigned char supers[kMatrices][kSplitRows][kSuperBytes];
    alignas(16) unsigned char groups[kMatrices][kSplitRows][Four::kGroupPerWord ? 16 : 8];

    __device__ FourPlaces four(int m, int r) const {
        return {codes[m][r], groups[m][r], groups[m][r] + Four::kGroupBytes, supers[m][r]};
    }
    // The lane's part; rows: those of the lane, lane / 4 and lane / 4 + 8.
    __device__ void begin(AsyncCopies& copies, const unsigned char* const (&rows)[kMatrices][2],
                          const PackedPlaces& places, int first, int lane) {
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const FourPlaces from = four_in_row<kType>(rows[m][h], places, first);
                if (is_aligned(rows[m][h])) {
                    copy_four<16>(copies, from, m, lane / 4 + 8 * h, lane % 4);
                } else {
                    copy_four<8>(copies, from, m, lane / 4 + 8 * h, lane % 4);
                }
            }
        }
    }

  private:
    template <int kBytes>
    __device__ void copy_four(AsyncCopies& copies, const FourPlaces& from, int m, int r, int quarter) {
#pragma unroll
        for (int i = 0; i < kCodeBytes; i += 4 * kBytes) {
            const int at = i + quarter * kBytes;
            if (at < kCodeBytes) copies.copy<kBytes>(codes[m][r] + at, from.codes + at);
        }
        if (quarter >= 2) {
            const int half = quarter % 2 * 8;
            copies.copy<8>(supers[m][r] + half, from.super + half);
        } else if (Four::kGroupPerWord) {
            copies.copy<8>(groups[m][r] + 8 * quarter, from.groups + 8 * quarter);
        } else {
            copies.copy<4>(groups[m][r] + 4 * quarter, quarter == 0 ? from.groups : from.zeros);
        }
    }
};

// Bytes of shared memory for a block's stages.
template <WeightType kType, int kMatrices>
constexpr std::size_t kSplitStageBytes = SplitStage<kType, kMatrices>::kUsed
                                             ? 2 * kSplitWarps * sizeof(SplitStage<kType, kMatrices>)
                                             : 0;

// Calls body(first, four, load) with what a lane holds of each four blocks of the warp,
// from block `first` on; before the b-th of them is used, load(b). kStaged: they come
// through stages, of kSplitStageBytes; else, and before compute capability 8.0, where
// stages is nullptr, rows are read where they lie, all four blocks at once.
template <WeightType kType, int kMatrices, bool kStaged, typename Body>
__device__ inline void for_fours(const unsigned char* const (&rows)[kMatrices][2], const PackedPlaces& places, int lane,
                                 int warp, [[maybe_unused]] unsigned char* stages, const Body& body) {
    constexpr int kStep = kSplitWarps * kBlocksAtOnce;
    const auto for_rows = [&](const auto& each) {
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) each(m, h);
        }
    };
    const int begin = warp * kBlocksAtOnce;
    const auto in_place = [&] {
#pragma unroll 1
        for (int first = begin; first < places.n_blocks; first += kStep) {
            FourBlocks<kType> four[kMatrices][2];
            for_rows([&](int m, int h) {
                const FourPlaces at = four_in_row<kType>(rows[m][h], places, first);
#pragma unroll
                for (int b = 0; b < kBlocksAtOnce; ++b) four[m][h].load_block(at, b, lane % 4);
                four[m][h].load_groups(at);
            });
            body(first, four, [](int) {});
        }
    };
#if defined(OFFSTAGE_CUDA_ON_HOST) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
    if constexpr (kStaged) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
        if (stages == nullptr) return in_place();
#endif
        using Stage = SplitStage<kType, kMatrices>;
        Stage* const both = reinterpret_cast<Stage*>(stages) + 2 * warp;
        FourBlocks<kType, 1> four[kMatrices][2];
        AsyncCopies copies;
        int now = 0;
        if (begin < places.n_blocks) both[now].begin(copies, rows, places, begin, lane);
        copies.commit();
#pragma unroll 1
        for (int first = begin; first < places.n_blocks; first += kStep) {
            copies.template wait<0>();
            __syncwarp();  // the copies of all lanes are there, and all have read the other stage
            if (first + kStep < places.n_blocks) both[1 - now].begin(copies, rows, places, first + kStep, lane);
            copies.commit();
            const auto at = [&](int m, int h) { return both[now].four(m, lane / 4 + 8 * h); };
            for_rows([&](int m, int h) { four[m][h].load_groups(at(m, h)); });
            body(first, four,
                 [&](int b) { for_rows([&](int m, int h) { four[m][h].load_block(at(m, h), b, lane % 4); }); });
            now = 1 - now;
        }
        __syncthreads();  // the stages' memory is free again
    } else {
        in_place();
    }
#else
    in_place();
#endif
}

template <int kMatrices, int kGroups>
constexpr int kSplitSums = kSplitWarps* kMatrices* kGroups* kWarp * 4;

// Adds the products of a turn to a lane's sums: rows lane / 4 and lane / 4 + 8, columns
// 2 * (lane % 4) and the next.
template <WeightType kType>
__device__ inline void add_turn(const unsigned (&words)[2][4], const uint4& codes, int turn, const float (&scale)[2],
                                const float (&zero)[2], const SplitBlock (&its)[2], float (&sums)[4]) {
    constexpr int kTurns = FourBlocks<kType>::kGroupPerWord ? 4 : 1;
    const unsigned in[4] = {codes.x, codes.y, codes.z, codes.w};
    int dots[4] = {};
    [[maybe_unused]] int input_sums[4] = {};  // the turn's 16 codes
    if constexpr (kTurns == 4) {
        const unsigned a[2] = {words[0][turn], words[1][turn]};
        const unsigned one[1] = {in[turn]};
        const unsigned ones[2] = {0x01010101u, 0x01010101u};
        multiply_bytes<1>(dots, a, one);
        multiply_bytes<1>(input_sums, ones, one);
    } else {
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
            const unsigned a[4] = {words[0][s], words[1][s], words[0][s + 1], words[1][s + 1]};
            const unsigned two[2] = {in[s], in[s + 1]};
            multiply_bytes<2>(dots, a, two);
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float product = static_cast<float>(dots[2 * h + i]);
            if constexpr (kTurns == 4) {
                product = fmaf(-zero[h], static_cast<float>(input_sums[2 * h + i]), product);
            }
            product *= its[i].scale;
            if constexpr (kType != WeightType::kInt8 && kTurns == 1) {
                product = fmaf(-zero[h], its[i].sum, product);
            }
            sums[2 * h + i] = fmaf(scale[h], product, sums[2 * h + i]);
        }
    }
}

// The products of 16 rows of each matrix with rows of split inputs from `split` on, by a
// block of kSplitThreads; rows: those of the lane, lane / 4 and lane / 4 + 8. kGroups: of
// eight columns. exchange: kSplitSums of shared memory, for split_sum() behind the next
// barrier. kStaged, stages: see for_fours(); exchange may lie there.
template <WeightType kType, int kMatrices, int kGroups, bool kStaged>
__device__ inline void store_split_sums(const unsigned char* const (&rows)[kMatrices][2], const PackedPlaces& places,
                                        const unsigned char* split, int n_inputs, std::int64_t n_columns,
                                        float* exchange, unsigned char* stages) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int row = lane / 4;
    const int quarter = lane % 4;
    // Beyond the end the last one is taken again and dropped.
    const auto row_of = [&](int column) {
        const int t = column / kSplitParts;
        return split + (t < n_inputs ? t : n_inputs - 1) * split_bytes(n_columns);
    };
    const int n_blocks = places.n_blocks;
    const unsigned char* x[kGroups];       // the codes of column `row`, from this lane's on
    const SplitBlock* blocks[kGroups][2];  // columns 2 * quarter and the next
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
        const int column = 8 * g + row;
        x[g] = row_of(column) + column % kSplitParts * n_columns + kPiece * quarter;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int its = 8 * g + 2 * quarter + i;
            blocks[g][i] = reinterpret_cast<const SplitBlock*>(row_of(its) + kSplitParts * n_columns) +
                           its % kSplitParts * n_blocks;
        }
    }

    float sums[kMatrices][kGroups][4] = {};
    const auto add_four = [&](int first, auto& four, const auto& load) {
        [[maybe_unused]] constexpr int kUnrolled = std::decay_t<decltype(four[0][0])>::kBlocksHeld;
#pragma unroll(kUnrolled)
        for (int b = 0; b < kBlocksAtOnce; ++b) {
            load(b);
            uint4 codes[kGroups];
            SplitBlock its[kGroups][2];
#pragma unroll
            for (int g = 0; g < kGroups; ++g) {
                codes[g] = *reinterpret_cast<const uint4*>(x[g] + (first + b) * kPackedBlock);
#pragma unroll
                for (int i = 0; i < 2; ++i) its[g][i] = blocks[g][i][first + b];
            }
#pragma unroll
            for (int m = 0; m < kMatrices; ++m) {
                unsigned words[2][4];
#pragma unroll
                for (int h = 0; h < 2; ++h) four[m][h].words(b, quarter, words[h]);
                constexpr int kTurns = FourBlocks<kType>::kGroupPerWord ? 4 : 1;
#pragma unroll
                for (int turn = 0; turn < kTurns; ++turn) {
                    float scale[2], zero[2];
#pragma unroll
                    for (int h = 0; h < 2; ++h) four[m][h].group(b, turn, scale[h], zero[h]);
#pragma unroll
                    for (int g = 0; g < kGroups; ++g) {
                        add_turn<kType>(words, codes[g], turn, scale, zero, its[g], sums[m][g]);
                    }
                }
            }
        }
    };
    for_fours<kType, kMatrices, kStaged>(rows, places, lane, warp, stages, add_four);

#pragma unroll
    for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
            store_four(exchange + (((warp * kMatrices + m) * kGroups + g) * kWarp + lane) * 4, sums[m][g]);
        }
    }
}

// Row r of matrix m with input t.
template <int kMatrices, int kGroups>
__device__ inline float split_sum(const float* exchange, int m, int r, int t) {
    float sum = 0.0f;
    for (int part = 0; part < kSplitParts; ++part) {
        const int column = t * kSplitParts + part;
        const int its_lane = r % 8 * 4 + column % 8 / 2;
        for (int w = 0; w < kSplitWarps; ++w) {
            sum += exchange[(((w * kMatrices + m) * kGroups + column / 8) * kWarp + its_lane) * 4 + r / 8 * 2 +
                            column % 2];
        }
    }
    return sum;
}

}  // namespace offstage::kernels::cuda
