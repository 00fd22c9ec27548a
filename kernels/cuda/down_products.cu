// w2 of experts with few rows, by neurons, on tensor cores. Of packed weights:
//   out[c] += activation[n] * scale[n][g] * (code[n][c] - zero[n][g]), g: the group of c
// Codes less the middle of their range are whole numbers that bf16 holds exactly. They
// are the first operand: 16 columns of one group, 16 neurons. activation * scale, a
// float32, is taken apart into three numbers of bf16 (24 bits), which are columns of the
// second operand; the sums are float32. What the zeros take off, activation * scale *
// (zero - middle), is the same for all columns of a group and is added up beside it.
// Weights of bf16 are their own codes, with a scale of 1.
#include "kernels/cuda/expert_sums.cuh"
#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/neuron_stages.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = kFewExpertThreads;
constexpr int kWarps = kFewExpertWarps;
constexpr int kNeurons = kStageNeurons;          // of an mma
constexpr int kBlocks = 2;                       // a warp's blocks of 64 columns
constexpr int kTiles = 4;                        // tiles of a block: 16 columns each
constexpr int kBlocksAtOnce = kBlocks * kWarps;  // for a thread block, each warp with its own
static_assert(kBlocksAtOnce == kStageBlocks, "a stage is for all warps");
constexpr int kParts = 3;

// a * b + c of two bf16 in each word.
__device__ inline unsigned fma_bf16(unsigned a, unsigned b, unsigned c) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    const auto low = [](unsigned word) { return __uint_as_float(word << 16); };
    const auto high = [](unsigned word) { return __uint_as_float(word & 0xffff0000u); };
    return pack_bf16(fmaf(low(a), low(b), low(c)), fmaf(high(a), high(b), high(c)));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned result;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
#else
    return a + b + c;  // never called there
#endif
}

// (a & mask) | bits in one instruction: with two constants the compiler makes two of it.
__device__ inline unsigned and_or(unsigned a, unsigned mask, unsigned bits) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    return (a & mask) | bits;
#else
    unsigned result;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(mask), "r"(bits));
    return result;
#endif
}

// Hides the pointer's origin from the compiler: an address in a loop is then this plus
// one product, in one instruction, rather than a sum of four.
template <typename T>
__device__ inline T* as_it_is(T* pointer) {
#if !defined(OFFSTAGE_CUDA_ON_HOST)
    asm("" : "+l"(pointer));
#endif
    return pointer;
}

// A power of two, and a whole number from 1 to 255 of at most eight bits, as bf16, twice.
__device__ constexpr unsigned bf16_of_power(int exponent) {
    return static_cast<unsigned>(127 + exponent) * 0x00800080u;
}
__device__ constexpr unsigned bf16_of_number(unsigned number) {
    int exponent = 0;
    while (number >> (exponent + 1) != 0) ++exponent;
    const unsigned bits = static_cast<unsigned>(127 + exponent) << 7 | (number << 7 >> exponent & 0x7fu);
    return bits * 0x00010001u;
}

// An eighth of a block's weights, of one neuron: of HQQ the lanes 2 * eighth and the next
// (packed.h), of INT8 and bf16 eight weights that follow each other. load() only reads.
template <WeightType kType>
struct Eighth {
    static constexpr int kBits = traits_of(kType).bits;
    unsigned words[kBits == 16 ? 4 : kBits == 8 || kBits == 3 ? 2 : 1];

    // The byte offset in a block; for HQQ3, whose 24 bits begin at any byte, that of its
    // word.
    __device__ static int offset(int eighth) { return kBits == 3 ? 3 * eighth / 4 * 4 : kBits * eighth; }
    // From there to the next word that is read: the last word has none, nor needs one.
    __device__ static int next_word(int eighth) { return eighth == 7 ? 0 : 1; }
    template <bool kCopied>
    __device__ void load(const unsigned char* place, int eighth) {
        if constexpr (kBits == 16) {
            const uint4 all = read_once<kCopied>(reinterpret_cast<const uint4*>(place));
            words[0] = all.x;
            words[1] = all.y;
            words[2] = all.z;
            words[3] = all.w;
        } else if constexpr (kBits == 8) {
            const uint2 both = read_once<kCopied>(reinterpret_cast<const uint2*>(place));
            words[0] = both.x;
            words[1] = both.y;
        } else if constexpr (kBits == 4) {
            words[0] = read_once<kCopied>(reinterpret_cast<const unsigned*>(place));
        } else if constexpr (kBits == 3) {
            words[0] = read_once<kCopied>(reinterpret_cast<const unsigned*>(place));
            words[1] = read_once<kCopied>(reinterpret_cast<const unsigned*>(place) + next_word(eighth));
        } else {
            words[0] = read_once<kCopied>(reinterpret_cast<const unsigned short*>(place));
        }
    }
    // HQQ: the first lane's codes in the lowest bits, then the second's.
    __device__ unsigned codes(int eighth) const {
        if constexpr (kBits == 3)
            return __funnelshift_r(words[0], words[1], 8u * (3u * static_cast<unsigned>(eighth) % 4u));
        return words[0];
    }
};

// Column of row m of tile k, within the block.
template <WeightType kType>
__device__ inline int column_of(int k, int m) {
    return Eighth<kType>::kBits >= 8 ? 8 * (m % 8) + 2 * k + m / 8 : 16 * k + 2 * (m % 8) + m / 8;
}

// Tile k of the lane's four neurons as the first operand of multiply_bf16(). `middle` is
// subtracted from the codes.
template <WeightType kType>
__device__ inline void tile_of(const Eighth<kType> (&neurons)[4], int eighth, int k, unsigned (&a)[4]) {
    constexpr int kBits = Eighth<kType>::kBits;
    // Adds the bits to the mantissa of 128, whose lowest seven bits are whole numbers.
    constexpr unsigned k128 = 0x43004300u;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
        const Eighth<kType>& first = neurons[2 * s];
        const Eighth<kType>& second = neurons[2 * s + 1];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if constexpr (kBits == 16) {
                a[2 * s + h] = __byte_perm(first.words[k], second.words[k], h == 0 ? 0x5410u : 0x7632u);
            } else if constexpr (kBits == 8) {
                const unsigned byte = static_cast<unsigned>(2 * (k % 2) + h);
                const unsigned pair = __byte_perm(first.words[k / 2], second.words[k / 2], 0x4400u + byte * 0x1111u);
                // Seven bits, and the sign: -128 or, together with the exponent's lowest
                // bit, -256.
                const unsigned low = and_or(pair, 0x007f007fu, k128);
                const unsigned sign = and_or(pair, 0x00800080u, 0xc300c300u);
                a[2 * s + h] = fma_bf16(low, bf16_of_power(0), sign);
            } else {
                const unsigned x = first.codes(eighth);
                const unsigned y = second.codes(eighth);
                const unsigned pair = kBits == 4   ? __byte_perm(x, y, h == 0 ? 0x5410u : 0x7632u)
                                      : kBits == 3 ? __byte_perm(x >> (12 * h), y >> (12 * h), 0x5410u)
                                                   : __byte_perm(x, y, h == 0 ? 0x4400u : 0x5511u);
                const int place = kBits * k;
                const int shift = place + kBits <= 7 ? 0 : kBits == 3 ? 6 : place;
                const int left = place - shift;  // the code stands there: 128 + code * 2^left
                const unsigned mask = ((1u << kBits) - 1u) * 0x00010001u << left;
                const unsigned code = and_or(pair >> shift, mask, k128);
                const unsigned off = (128u >> left) + (1u << (kBits - 1));
                a[2 * s + h] = fma_bf16(code, bf16_of_power(-left), bf16_of_number(off) | 0x80008000u);
            }
        }
    }
}

// Scales and zeros of a block of one neuron. load() only reads.
template <WeightType kType>
struct BlockGroups {
    static constexpr bool kPlain = traits_of(kType).is_plain();
    static constexpr bool kSigned = traits_of(kType).coding == WeightCoding::kSigned;
    static constexpr bool kHasZeros = !kPlain && !kSigned;
    static constexpr int kGroups = traits_of(kType).has_half_scales() ? kTiles : 1;  // one a tile, or one for all
    unsigned scales;  // INT8: bf16; one group: a byte; four: their bytes
    unsigned zeros;
    float2 super[2];  // SuperPlaces: scale, zero

    __device__ static int scale_offset(const PackedPlaces& places, int block) {
        return places.scales + block * (kSigned ? 2 : kGroups);
    }
    __device__ static int super_offset(const PackedPlaces& places, int block) {
        return kGroups * block / places.super_group * static_cast<int>(sizeof(float4));
    }
    template <bool kCopied>
    __device__ void load(const unsigned char* its_scales, const unsigned char* its_zeros,
                         const unsigned char* its_super) {
        if constexpr (kPlain) {
            (void)its_scales, (void)its_zeros, (void)its_super;
        } else if constexpr (kSigned) {
            scales = read_once<kCopied>(reinterpret_cast<const unsigned short*>(its_scales));
        } else {
            if constexpr (kGroups == 1) {
                scales = read_once<kCopied>(its_scales);
                zeros = read_once<kCopied>(its_zeros);
            } else {
                scales = read_once<kCopied>(reinterpret_cast<const unsigned*>(its_scales));
            }
            super[0] =
                read_once<kCopied>(reinterpret_cast<const float2*>(its_super));  // rows are aligned to 8 bytes only
            super[1] = read_once<kCopied>(reinterpret_cast<const float2*>(its_super) + 1);
        }
    }
    // zero: less the middle of the codes.
    __device__ void get(int g, float& scale, float& zero) const {
        if constexpr (kPlain) {
            scale = 1.0f;
            zero = 0.0f;
        } else if constexpr (kSigned) {
            scale = __uint_as_float(scales << 16);
            zero = 0.0f;
        } else {
            const unsigned s = kGroups == 1 ? scales : scales >> (8 * g) & 15u;
            const unsigned z = kGroups == 1 ? zeros : scales >> (8 * g + 4) & 15u;
            scale = fmaf(super[0].y, small_to_float(s), super[0].x);
            zero =
                fmaf(super[1].y, small_to_float(z), super[1].x) - static_cast<float>(1 << (Eighth<kType>::kBits - 1));
        }
    }
};

// The addresses that a lane reads, for the stretch's first neuron; the others are
// `stride` bytes apart. Codes: neurons 4 * place .. + 3 of 16 (place = lane % 4), eighth
// lane / 4 of both blocks. The rest: neuron lane % 16, block lane / 16. A missing neuron
// is read as the last one, with an activation of 0.
template <WeightType kType>
struct Places {
    static constexpr int kBlockBytes = Eighth<kType>::kBits * 8;
    const unsigned char* codes;  // the first block's
    const unsigned char* scales;
    const unsigned char* zeros;
    const unsigned char* super;
    unsigned stride;
    int last;  // neuron

    __device__ Places(const unsigned char* row, const PackedPlaces& places, int first_block, int lane,
                      unsigned its_stride, int its_last)
        : stride(its_stride), last(its_last) {
        codes = as_it_is(row + places.codes + first_block * kBlockBytes + Eighth<kType>::offset(lane / 4));
        const int block = first_block + lane / kNeurons;
        scales = as_it_is(row + BlockGroups<kType>::scale_offset(places, block));
        zeros = as_it_is(row + places.zeros + block);
        super = as_it_is(row + BlockGroups<kType>::super_offset(places, block));
    }
    __device__ const unsigned char* of(const unsigned char* place, int neuron) const {
        return place + static_cast<std::uint64_t>(static_cast<unsigned>(neuron < last ? neuron : last)) * stride;
    }
};

// The same within a stage, in bytes; block: of the stage.
template <WeightType kType, int kInputs>
struct StagedPlaces {
    using Stage = NeuronStage<kType, kInputs>;
    int codes, scales, zeros, neuron;

    __device__ StagedPlaces(const PackedPlaces& places, int block, int lane) : neuron(lane % kNeurons) {
        codes = Stage::row(lane % 4 * 4) + block * Stage::kBlockBytes + Eighth<kType>::offset(lane / 4);
        const int its_block = block + lane / kNeurons;
        scales = 4 * Stage::kScales + its_block * Stage::kScaleBytes;
        zeros = 4 * Stage::kZeros + places.zeros % 4 + its_block;
    }
};

// A lane's share of 16 neurons, the first of which is the stretch's `first`-th.
template <WeightType kType, int kInputs>
struct Share {
    Eighth<kType> codes[kBlocks][4];
    BlockGroups<kType> groups;
    float activation[kInputs];

    __device__ void load_codes(const Places<kType>& places, int b, int first, int lane) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            codes[b][j].template load<false>(
                places.of(places.codes, first + lane % 4 * 4 + j) + b * Places<kType>::kBlockBytes, lane / 4);
        }
    }
    __device__ void load_groups(const Places<kType>& places, int first, int lane, const Activations& from) {
        const int neuron = first + lane % kNeurons;
        groups.template load<false>(places.of(places.scales, neuron), places.of(places.zeros, neuron),
                                    places.of(places.super, neuron));
#pragma unroll
        for (int t = 0; t < kInputs; ++t) activation[t] = neuron <= places.last ? from.of(t, neuron) : 0.0f;
    }
    __device__ void load(const Places<kType>& places, int first, int lane, const Activations& from) {
        load_groups(places, first, lane, from);
#pragma unroll
        for (int b = 0; b < kBlocks; ++b) load_codes(places, b, first, lane);
    }
    __device__ void load(const NeuronStage<kType, kInputs>& from, const StagedPlaces<kType, kInputs>& at, int lane) {
        const auto* const words = reinterpret_cast<const unsigned char*>(from.words[at.neuron]);
        groups.template load<true>(words + at.scales, words + at.zeros, words);
#pragma unroll
        for (int t = 0; t < kInputs; ++t) activation[t] = from.activations[t][at.neuron];
#pragma unroll
        for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                codes[b][j].template load<true>(from.codes + at.codes + j * from.kRowBytes + b * from.kBlockBytes,
                                                lane / 4);
            }
        }
    }
};

// Numbers of kernels for kInputs rows of inputs.
template <WeightType kType, int kInputs>
struct Shapes {
    static constexpr int kGroups = BlockGroups<kType>::kGroups;
    static constexpr int kSlots = kInputs < 2 ? 2 : kInputs;  // part p of row t is column p * kSlots + t
    static constexpr int kProducts = (kParts * kSlots + 7) / 8;
    static constexpr int kColumns = 8 * kProducts;
    static constexpr int kWarpFactors = kBlocks * kGroups * kColumns * kNeurons;  // bf16
    static constexpr int kTilesAtOnce = kProducts > 2 ? 2 : kTiles;               // exchanged at once
    static constexpr int kTileSums = kProducts * 16 * 8;
    static constexpr int kExchanged = kWarps * kTilesAtOnce * kTileSums;
    static constexpr int kZeros = kWarps * kGroups * kInputs;
    static constexpr std::size_t kMostBytes = 48 * 1024;  // what a block may have
    static constexpr std::size_t kFactorBytes = kWarps * kWarpFactors * sizeof(std::uint16_t);
    static constexpr std::size_t kStageBytes = sizeof(NeuronStage<kType, kInputs>);
    // Behind the factors; 0: rows are read where they lie.
    static constexpr int kStages = kFactorBytes + 3 * kStageBytes <= kMostBytes   ? 3
                                   : kFactorBytes + 2 * kStageBytes <= kMostBytes ? 2
                                                                                  : 0;
    static constexpr std::size_t kLoopBytes = kFactorBytes + kStages * kStageBytes;
    static constexpr std::size_t kEndBytes = (kExchanged + kZeros) * sizeof(float);
    static constexpr std::size_t kSharedBytes = kLoopBytes > kEndBytes ? kLoopBytes : kEndBytes;
    static_assert(kSharedBytes <= kMostBytes, "it fits");
};

// A warp's first block.
__device__ inline int first_block_of(int warp) {
    return static_cast<int>(blockIdx.x) * kBlocksAtOnce + warp * kBlocks;
}
// The same as it is read. Where rows lie, the last warp with columns takes the last two
// blocks, even if one of them is another warp's; a stage has room behind the last.
template <bool kStaged>
__device__ inline int first_block_read(int first_block, const PackedPlaces& places) {
    const int last_pair = places.n_blocks - kBlocks;
    return kStaged || first_block < last_pair ? first_block : last_pair;
}

// Adds up the lanes, parts and warps of a block, and stores the partial sums of its
// columns.
template <WeightType kType, int kInputs>
__device__ inline void store_partials(const FewCall& call, const PackedPlaces& places, std::int64_t hidden_dim,
                                      const float (&sums)[kBlocks][kTiles][Shapes<kType, kInputs>::kProducts][4],
                                      float (&zeros)[Shapes<kType, kInputs>::kGroups][kInputs], float* partials) {
    using Sizes = Shapes<kType, kInputs>;
    constexpr int kGroups = Sizes::kGroups;
    constexpr int kProducts = Sizes::kProducts;
    const std::int64_t stretch = blockIdx.y;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    // Over the 16 neurons' lanes of a block.
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
#pragma unroll
            for (int distance = kNeurons / 2; distance > 0; distance /= 2) {
                zeros[g][t] += __shfl_xor_sync(kAllLanes, zeros[g][t], distance);
            }
        }
    }
    // Add up the parts, some tiles at a time.
    constexpr bool kStaged = Sizes::kStages > 0;
    constexpr int kTilesAtOnce = Sizes::kTilesAtOnce;
    float* const exchange = shared_memory<float>();               // (kWarps, kTilesAtOnce, kProducts, 16, 8)
    float* const exchanged_zeros = exchange + Sizes::kExchanged;  // (kWarps, kGroups, kInputs)
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int first_tile = 0; first_tile < kTiles; first_tile += kTilesAtOnce) {
            __syncthreads();  // all have read the old contents
#pragma unroll
            for (int k = 0; k < kTilesAtOnce; ++k) {
#pragma unroll
                for (int m = 0; m < kProducts; ++m) {
                    const float(&tile)[4] = sums[b][first_tile + k][m];
#pragma unroll
                    for (int h = 0; h < 2; ++h) {
                        float2 two;
                        two.x = tile[2 * h];
                        two.y = tile[2 * h + 1];
                        const int row = m * 16 + lane / 4 + 8 * h;
                        const int place = (warp * kTilesAtOnce + k) * Sizes::kTileSums + row * 8 + lane % 4 * 2;
                        *reinterpret_cast<float2*>(exchange + place) = two;
                    }
                }
            }
            if (lane == b * kNeurons) {
#pragma unroll
                for (int g = 0; g < kGroups; ++g) {
#pragma unroll
                    for (int t = 0; t < kInputs; ++t) exchanged_zeros[(warp * kGroups + g) * kInputs + t] = zeros[g][t];
                }
            }
            __syncthreads();
            constexpr int kRows = kTilesAtOnce * 16;
            for (int place = static_cast<int>(threadIdx.x); place < kWarps * kRows * call.n_rows; place += kThreads) {
                const int m = place % 16;
                const int k = place / 16 % kTilesAtOnce;
                const int w = place / kRows % kWarps;
                const int t = place / (kRows * kWarps);
                const int its_block = first_block_of(w);
                const int block = first_block_read<kStaged>(its_block, places) + b;
                // None, or another warp's.
                if (its_block >= places.n_blocks || (kStaged ? block >= places.n_blocks : block < its_block)) continue;
                const int g = kGroups > 1 ? first_tile + k : 0;
                const float* const tile = exchange + (w * kTilesAtOnce + k) * Sizes::kTileSums + m * 8;
                float parts[kParts];
#pragma unroll
                for (int p = 0; p < kParts; ++p) {
                    const int column = p * Sizes::kSlots + t;
                    parts[p] = tile[column / 8 * (16 * 8) + column % 8];
                }
                float sum = 0.0f;
                sum += parts[2] + parts[1] + parts[0];
                if (BlockGroups<kType>::kHasZeros) sum -= exchanged_zeros[(w * kGroups + g) * kInputs + t];
                const std::int64_t column = block * kPackedBlock + column_of<kType>(first_tile + k, m);
                partials[(call.partial_row + stretch * call.n_rows + t) * hidden_dim + column] = sum;
            }
        }
    }
}

// Adds the products of a share to a warp's sums. factors: the second operand, (kBlocks,
// kGroups, kColumns, kNeurons) of shared memory of the warp. groups_used(),
// codes_used(b): behind the last use of these registers.
template <WeightType kType, int kInputs, typename GroupsUsed, typename CodesUsed>
__device__ inline void multiply_share(Share<kType, kInputs>& now, int lane, std::uint16_t* factors,
                                      float (&sums)[kBlocks][kTiles][Shapes<kType, kInputs>::kProducts][4],
                                      float (&zeros)[Shapes<kType, kInputs>::kGroups][kInputs],
                                      const GroupsUsed& groups_used, const CodesUsed& codes_used) {
    using Sizes = Shapes<kType, kInputs>;
    constexpr int kGroups = Sizes::kGroups;
    constexpr int kProducts = Sizes::kProducts;
    std::uint16_t* const my_factors =
        factors + lane / kNeurons * (kGroups * Sizes::kColumns * kNeurons) + lane % kNeurons;
    const std::uint16_t* const read_factors = factors + lane / 4 * kNeurons + lane % 4 * 4;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
        float scale;
        float zero;
        now.groups.get(g, scale, zero);
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            float left = now.activation[t] * scale;
            if (BlockGroups<kType>::kHasZeros) zeros[g][t] = fmaf(left, zero, zeros[g][t]);
#pragma unroll
            for (int p = 0; p < kParts; ++p) {
                const unsigned part = pack_bf16(left, 0.0f);
                left -= __uint_as_float(part << 16);
                my_factors[(g * Sizes::kColumns + p * Sizes::kSlots + t) * kNeurons] = static_cast<std::uint16_t>(part);
            }
        }
    }
    groups_used();
    __syncwarp();
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
        unsigned factor[kProducts][2];
#pragma unroll
        for (int k = 0; k < kTiles; ++k) {
            if (k == 0 || kGroups > 1) {
#pragma unroll
                for (int m = 0; m < kProducts; ++m) {
                    const int place = ((b * kGroups + (kGroups > 1 ? k : 0)) * Sizes::kColumns + 8 * m) * kNeurons;
                    const uint2 both = *reinterpret_cast<const uint2*>(read_factors + place);
                    factor[m][0] = both.x;
                    factor[m][1] = both.y;
                }
            }
            unsigned a[4];
            tile_of<kType>(now.codes[b], lane / 4, k, a);
#pragma unroll
            for (int m = 0; m < kProducts; ++m) multiply_bf16(sums[b][k][m], a, factor[m]);
        }
        codes_used(b);
    }
    __syncwarp();
}

// places.n_blocks: kBlocks at least.
template <WeightType kType, int kInputs>
__global__ void __launch_bounds__(kThreads, kInputs <= 2 ? 2 : 1)
    down_products(FewCalls list, PackedPlaces places, std::int64_t offset, std::int64_t stride, std::int64_t hidden_dim,
                  std::int64_t ffn_dim, const float* activations, float* partials, TokenSum token) {
    let_next_begin();
    wait_for_previous();
    using Sizes = Shapes<kType, kInputs>;
    const FewCall& call = list.call(blockIdx.z);
    const void* const weights = list.weights(blockIdx.z);
    const std::int64_t stretch = blockIdx.y;
    if (stretch >= call.n_stretches || weights == nullptr) return;  // the whole block
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int my_block = first_block_of(warp);
    const std::int64_t begin = ffn_dim * stretch / call.n_stretches;
    const int n_neurons = static_cast<int>(ffn_dim * (stretch + 1) / call.n_stretches - begin);
    const unsigned char* const w2 = static_cast<const unsigned char*>(weights) + offset + begin * stride;
    const Activations its_activations{activations + call.scratch_row * ffn_dim + begin, static_cast<unsigned>(ffn_dim),
                                      call.n_rows};

    std::uint16_t* const factors = shared_memory<std::uint16_t>() + warp * Sizes::kWarpFactors;
    float sums[kBlocks][kTiles][Sizes::kProducts][4] = {};
    float zeros[Sizes::kGroups][kInputs] = {};
    const auto multiply = [&](Share<kType, kInputs>& now, const auto& groups_used, const auto& codes_used) {
        multiply_share<kType, kInputs>(now, lane, factors, sums, zeros, groups_used, codes_used);
    };
    if constexpr (Sizes::kStages > 0) {
        auto* const stages =
            reinterpret_cast<NeuronStage<kType, kInputs>*>(shared_memory<unsigned char>() + Sizes::kFactorBytes);
        const NeuronCopies<kType, kInputs> neurons(w2, stride, n_neurons, places, first_block_of(0), its_activations);
        const StagedPlaces<kType, kInputs> at(places, warp * kBlocks, lane);
        AsyncCopies copies;
        const auto begin_copies = [&](int stage, int first) {
            if (first < n_neurons) neurons.begin(copies, stages[stage], first);
            copies.commit();
        };
        constexpr int kAhead = Sizes::kStages - 1;
#pragma unroll
        for (int s = 0; s < kAhead; ++s) begin_copies(s, s * kNeurons);
        int now = 0;
        int next = kAhead;
#pragma unroll 1
        for (int first = 0; first < n_neurons; first += kNeurons) {
            copies.template wait<kAhead - 1>();
            __syncthreads();  // the stage is there, and the one before it was read
            begin_copies(next, first + kAhead * kNeurons);
            if (my_block < places.n_blocks) {
                Share<kType, kInputs> share;
                share.load(stages[now], at, lane);
                multiply(
                    share, [] {}, [](int) {});
            }
            now = now == kAhead ? 0 : now + 1;
            next = next == kAhead ? 0 : next + 1;
        }
    } else {
        const Places<kType> from(w2, places, first_block_read<false>(my_block, places), lane,
                                 static_cast<unsigned>(stride), n_neurons - 1);
        // Two shares are being loaded while a third is multiplied. Registers are loaded
        // anew as soon as a share no longer needs them.
        Share<kType, kInputs> shares[2];
        const auto multiply_and_load = [&](Share<kType, kInputs>& now, int after) {
            multiply(
                now, [&] { now.load_groups(from, after, lane, its_activations); },
                [&](int b) { now.load_codes(from, b, after, lane); });
        };
        // A warp beyond the columns has no neurons.
        const int end = my_block < places.n_blocks ? n_neurons : 0;
        shares[0].load(from, 0, lane, its_activations);
        shares[1].load(from, kNeurons, lane, its_activations);
        for (int first = 0; first < end; first += 2 * kNeurons) {
            multiply_and_load(shares[0], first + 2 * kNeurons);
            if (first + kNeurons < end) multiply_and_load(shares[1], first + 3 * kNeurons);
        }
    }

    store_partials<kType, kInputs>(call, places, hidden_dim, sums, zeros, partials);
    if constexpr (kInputs == 1) {
        if (token.x != nullptr) {
            add_behind<kBlocksAtOnce * kPackedBlock>(list, token, hidden_dim, partials, shared_memory<int>());
        }
    }
}

template <WeightType kType, int kInputs>
void start_down_products(Worker& worker, const ExpertLayout& layout, const PackedPlaces& places, const FewCalls& list,
                         const float* activations, float* partials, const TokenSum& token) {
    const dim3 grid(blocks_for(places.n_blocks, kBlocksAtOnce), static_cast<unsigned>(list.most_stretches),
                    static_cast<unsigned>(list.n));
    worker.start_dependent(down_products<kType, kInputs>, grid, kThreads, Shapes<kType, kInputs>::kSharedBytes, list,
                           places, static_cast<std::int64_t>(layout.down_offset()),
                           static_cast<std::int64_t>(layout.down_stride()), layout.hidden_dim, layout.ffn_dim,
                           activations, partials, token);
}

}  // namespace

bool has_whole_columns(const ExpertLayout& layout) {
    return layout.hidden_dim % kPackedBlock == 0 && layout.hidden_dim >= kBlocks * kPackedBlock;
}

void down_on_tensor_cores(Worker& worker, const ExpertLayout& layout, int n_inputs, const FewCalls& list,
                          const float* activations, float* partials, const TokenSum& token) {
    if (layout.down == WeightType::kBf16) {
        PackedPlaces places;
        places.n_blocks = static_cast<std::int32_t>(layout.hidden_dim / kPackedBlock);
        (n_inputs <= 4
             ? start_down_products<WeightType::kBf16, 4>
             : start_down_products<WeightType::kBf16, 8>)(worker, layout, places, list, activations, partials, token);
        return;
    }
    const PackedPlaces places = places_of(layout.down, layout.hidden_dim);
    with_packed_type(layout.down, [&](auto type) {
        with_inputs(n_inputs, [&](auto number) {
            start_down_products<decltype(type)::value, decltype(number)::value>(worker, layout, places, list,
                                                                                activations, partials, token);
        });
    });
}

}  // namespace offstage::kernels::cuda
