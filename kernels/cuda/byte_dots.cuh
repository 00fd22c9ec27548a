#pragma once
// Dot products of files' blocks with rounded inputs (byte_products.cuh).
// A lane takes every 32nd pair of parts of 16 weights, four products and their sum in an
// instruction. A sum's bits depend on neither the number of rows nor that of inputs.

#include "kernels/cuda/async_copies.cuh"
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"

namespace offstage::kernels::cuda {

constexpr std::size_t kMostSharedBytes = 48 * 1024;  // launch.cuh

// The value of code 0 in unsigned codes. The inputs' sum corrects for it.
template <WeightType kType>
constexpr int kCodesBegin = code_zero(kType) == 128 ? 0 : code_zero(kType);

// sums[r][t] += a pair of row r, which load(r, pair) loads, with input t: the row's parts
// first_part + Pair::part_of(pair, ...).
template <WeightType kType, int kRows, int kInputs, typename Load>
__device__ inline void add_pair(const Load& load, int pair, int first_part, const unsigned char* inputs, int n_inputs,
                                std::int64_t n_columns, float (&sums)[kRows][kInputs]) {
    using Pair = BlockPair<kType>;
    Pair pairs[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        load(r, pairs[r]);
        if constexpr (kCodesBegin<kType> == 0) {
#pragma unroll
            for (auto& of_part : pairs[r].words) {
#pragma unroll
                for (unsigned& word : of_part) word = signed_codes<kType>(word);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        if (t >= n_inputs) break;
        const unsigned char* const x = inputs + t * rounded_bytes(n_columns);
        uint4 codes[2];
        InputPart of_part[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int part = first_part + Pair::part_of(pair, i);
            codes[i] = reinterpret_cast<const uint4*>(x)[part];
            of_part[i] = reinterpret_cast<const InputPart*>(x + n_columns)[part];
        }
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            float& sum = sums[r][t];
            int dot = 0;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const unsigned words[4] = {codes[i].x, codes[i].y, codes[i].z, codes[i].w};
                if (i == 0 || !Pair::kOneScale) dot = 0;
                if constexpr (kCodesBegin<kType> != 0) dot -= kCodesBegin<kType> * of_part[i].sum;
#pragma unroll
                for (int w = 0; w < 4; ++w) {
                    dot = __dp4a(static_cast<int>(pairs[r].words[i][w]), static_cast<int>(words[w]), dot);
                }
                if (i == 0 && Pair::kOneScale) continue;  // both parts' inputs have one scale, too
                const BlockPart& weights = pairs[r].parts[Pair::kOneScale ? 0 : i];
                sum = fmaf(weights.scale * of_part[i].scale, static_cast<float>(dot), sum);
                if constexpr (has_bias(kType)) {
                    const int total = Pair::kOneScale ? of_part[0].sum + of_part[1].sum : of_part[i].sum;
                    sum = fmaf(weights.bias * of_part[i].scale, static_cast<float>(total), sum);
                }
            }
        }
    }
}

// A lane's pairs have one place in their blocks. The compiler is told so where what
// follows from the place saves instructions and fits into registers.
template <WeightType kType, bool kStaged>
constexpr bool kKeepsPlace = kType == (kStaged ? WeightType::kQ6K : WeightType::kQ4K);
static_assert(kWarp % BlockPair<WeightType::kQ4K>::kPairs == 0, "from one pair to the next");

// sums[r][t] += the lane's share of rows[r] with input t: every 32nd of n_pairs pairs of
// parts.
template <WeightType kType, int kRows, int kInputs, bool kAligned>
__device__ inline void add_byte_products(const unsigned char* const (&rows)[kRows], int n_pairs,
                                         const unsigned char* inputs, int n_inputs, std::int64_t n_columns, int lane,
                                         float (&sums)[kRows][kInputs]) {
    using Pair = BlockPair<kType>;
    // Enough loads in flight to hide the memory's latency, few enough to stay in
    // registers.
#pragma unroll(kInputs == 1 && !has_codebook(kType) && kType != WeightType::kQ3K ? 2 : 1)
    for (int index = lane; index < n_pairs; index += kWarp) {
        const int block = index / Pair::kPairs;
        const unsigned char* blocks[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            blocks[r] = rows[r] + static_cast<std::int64_t>(block) * BlockSizes<kType>::kBytes;
        }
        const int pair = (kKeepsPlace<kType, false> ? lane : index) % Pair::kPairs;
        const auto load = [&](int r, Pair& its) { its.template load<kAligned>(blocks[r], pair); };
        add_pair<kType>(load, pair, block * BlockSizes<kType>::kParts, inputs, n_inputs, n_columns, sums);
    }
}

// The same of rows that are laid out: codes are words of 16 bytes that follow each other
// from lane to lane.
template <WeightType kType, int kRows, int kInputs>
__device__ inline void add_laid_out_rows(const unsigned char* const (&rows)[kRows], int n_pairs,
                                         const unsigned char* inputs, int n_inputs, std::int64_t n_columns, int lane,
                                         float (&sums)[kRows][kInputs]) {
    constexpr int kPairs = BlockPair<kType>::kPairs;
#pragma unroll(kInputs == 1 ? 2 : 1)
    for (int index = lane; index < n_pairs; index += kWarp) {
        const int block = index / kPairs;
        const int pair = (kWarp % kPairs == 0 ? lane : index) % kPairs;
        const auto load = [&](int r, BlockPair<kType>& its) {
            its.load(LaidOutRow<kType>(rows[r], n_pairs / kPairs), block, pair);
        };
        add_pair<kType>(load, pair, block * BlockSizes<kType>::kParts, inputs, n_inputs, n_columns, sums);
    }
}

// Either.
template <WeightType kType, int kRows, int kInputs>
__device__ inline void add_rows_in_place(const unsigned char* const (&rows)[kRows], const unsigned char* inputs,
                                         int n_inputs, std::int64_t n_columns, int lane,
                                         float (&sums)[kRows][kInputs]) {
    const int n_pairs = static_cast<int>(n_columns / (2 * kPartWeights));
    if constexpr (is_laid_out(kType)) {
        add_laid_out_rows<kType>(rows, n_pairs, inputs, n_inputs, n_columns, lane, sums);
    } else {
        constexpr bool kVector = BlockSizes<kType>::kVector;
        bool aligned = kVector;
#pragma unroll
        for (int r = 0; r < kRows; ++r) aligned = aligned && is_aligned(rows[r]);
        if (kVector && aligned) {
            add_byte_products<kType, kRows, kInputs, kVector>(rows, n_pairs, inputs, n_inputs, n_columns, lane, sums);
        } else {
            add_byte_products<kType, kRows, kInputs, false>(rows, n_pairs, inputs, n_inputs, n_columns, lane, sums);
        }
    }
}

// Rows whose blocks begin at any address come through shared memory: a load of 32 lanes
// from there has two passes where the cache has five, and the next stages are on their
// way meanwhile, in words of 16 bytes. A stage has what a warp reads at once.
template <WeightType kType>
struct RowStages {
    static constexpr bool kUsed = !BlockSizes<kType>::kVector && !is_laid_out(kType);
    static constexpr int kBytes = kWarp / BlockPair<kType>::kPairs * BlockSizes<kType>::kBytes;  // of the row
    static constexpr int kStages = kBytes > 720 ? 2 : 3;
    static constexpr int kRoom = (kBytes + 15 + 15) / 16 * 16;
    // Bytes of shared memory of a warp, for so many rows.
    template <int kRows>
    static constexpr int kOfWarp = kUsed ? kStages* kRows* kRoom : 0;
};

// Those of a block, beside `used` bytes; 0: rows are read where they lie.
template <WeightType kType, int kRows>
std::size_t stage_bytes(const Worker& worker, int n_warps, std::size_t used) {
    const auto bytes = static_cast<std::size_t>(n_warps * RowStages<kType>::template kOfWarp<kRows>);
    return worker.compute_major >= 8 && used + bytes <= kMostSharedBytes ? bytes : 0;
}
// The present warp's, of those that begin at `stages`.
template <WeightType kType, int kRows>
__device__ inline unsigned char* stages_of_warp(bool staged, unsigned char* stages) {
    return staged ? stages + static_cast<int>(threadIdx.x) / kWarp * RowStages<kType>::template kOfWarp<kRows>
                  : nullptr;
}

// Each lane copies 16 bytes in turn, and multiplies a pair of each stage.
template <WeightType kType, int kRows>
__device__ inline void add_staged_rows(const unsigned char* const (&rows)[kRows], const unsigned char* input,
                                       std::int64_t n_columns, int lane, unsigned char* stages,
                                       float (&sums)[kRows][1]) {
    using Pair = BlockPair<kType>;
    using Stages = RowStages<kType>;
    static_assert(Stages::kBytes % 8 == 0, "where stages begin in words of 16 bytes");
    const int n_pairs = static_cast<int>(n_columns / (2 * kPartWeights));
    const int row_bytes = n_pairs / Pair::kPairs * BlockSizes<kType>::kBytes;
    int first_beyond[kRows];  // bytes before the row in its first word
    const unsigned char* from[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        first_beyond[r] = static_cast<int>(reinterpret_cast<std::uintptr_t>(rows[r]) % 16);
        from[r] = rows[r] - first_beyond[r] + 16 * lane;
    }
    const auto beyond = [&](int s, int r) {
        return Stages::kBytes % 16 == 0 ? first_beyond[r] : first_beyond[r] ^ (s % 2 * 8);
    };
    constexpr int kTurn = Stages::kStages * kRows * Stages::kRoom;
    const SharedPlace places = shared_place(stages + 16 * lane);
    AsyncCopies copies;
    int next = 0, to = 0;  // the stage that is copied next, and its place
    int left = row_bytes;  // from there on
    // copy(r, place, source): the lane's words of the next stage.
    const auto for_words = [&](const auto& copy) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            const unsigned char* const source = from[r] + (first_beyond[r] - beyond(next, r));
#pragma unroll
            for (int i = 0; i < Stages::kRoom; i += 16 * kWarp) {
                if (16 * lane < Stages::kRoom - i) copy(r, r * Stages::kRoom + i, source + i);
            }
        }
    };
    const auto begin = [&] {
        if (left >= Stages::kRoom) {  // bytes of the row alone
            for_words(
                [&](int, int place, const unsigned char* source) { copies.copy_word(places + to + place, source); });
        } else if (left > 0) {  // nobody would wait for copies beyond the row
            for_words([&](int r, int place, const unsigned char* source) {
                const int n = left - static_cast<int>(source - from[r]) + first_beyond[r] - 16 * lane;
                if (n > 0) copies.copy(stages + to + place + 16 * lane, source, n < 16 ? n : 16);
            });
        }
        copies.commit();
        ++next;
        left -= Stages::kBytes;
        to = to + kRows * Stages::kRoom == kTurn ? 0 : to + kRows * Stages::kRoom;
#pragma unroll
        for (int r = 0; r < kRows; ++r) from[r] += Stages::kBytes;
    };
#pragma unroll
    for (int s = 0; s + 1 < Stages::kStages; ++s) begin();
    constexpr int kParts = kWarp / Pair::kPairs * BlockSizes<kType>::kParts;  // of a stage
    const int block = lane / Pair::kPairs;
    int first_part = block * BlockSizes<kType>::kParts;
    int now = block * BlockSizes<kType>::kBytes;  // the place of the lane's block
    const int end = now + kTurn;
#pragma unroll 1
    for (int s = 0; s * kWarp < n_pairs; ++s) {
        copies.template wait<Stages::kStages - 2>();
        __syncwarp();  // the stage is there, and the one before it was read
        begin();
        const int index = s * kWarp + lane;
        if (index < n_pairs) {
            const unsigned char* blocks[kRows];
#pragma unroll
            for (int r = 0; r < kRows; ++r) blocks[r] = stages + now + r * Stages::kRoom + beyond(s, r);
            const int pair = (kKeepsPlace<kType, true> ? lane : index) % Pair::kPairs;
            const auto load = [&](int r, Pair& its) { its.template load<false>(blocks[r], pair); };
            add_pair<kType>(load, pair, first_part, input, 1, n_columns, sums);
        }
        first_part += kParts;
        now = now + kRows * Stages::kRoom == end ? block * BlockSizes<kType>::kBytes : now + kRows * Stages::kRoom;
    }
    __syncwarp();  // before the next rows come
}

// Rows at any addresses with one input: the lane's share of the sums. stages: shared
// memory, stages_of_warp(), at a multiple of 16; nullptr: rows are read where they lie.
// kFits: they are there from compute capability 8.0 on.
template <WeightType kType, int kRows, bool kFits>
__device__ inline void add_byte_rows(const unsigned char* const (&rows)[kRows], const unsigned char* input,
                                     std::int64_t n_columns, int lane, unsigned char* stages, float (&sums)[kRows][1]) {
#if defined(OFFSTAGE_CUDA_ON_HOST) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
#if defined(OFFSTAGE_CUDA_ON_HOST)
    const bool there = stages != nullptr;
#else
    const bool there = kFits || stages != nullptr;
#endif
    if constexpr (RowStages<kType>::kUsed) {
        if (there) {
            add_staged_rows<kType, kRows>(rows, input, n_columns, lane, stages, sums);
            return;
        }
    }
#endif
    add_rows_in_place<kType>(rows, input, 1, n_columns, lane, sums);
}

}  // namespace offstage::kernels::cuda
