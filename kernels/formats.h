#pragma once
// The number formats that weights are stored in: one table, a row for each. Lists of
// formats, names, bytes of a row and what a format may be used for are all worked out
// from it.
//
// A further format is a value of WeightType and its row, as long as it is HQQ of 2 to 4
// bits in groups of 64 or 16; another coding needs its arithmetic too: packed.h,
// quantize.h and its CPU file, packed_avx2.h, packed_avx512.h, cuda/packed.cuh and
// cuda/quantize.cu.
//
// Files have formats of their own, blocks of 32 or 256 weights (GGUF's tensor types):
// those are multiplied as they are and never written.
//
// C++17, because the device code includes this and nvcc 11 knows no newer standard.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace offstage::kernels {

// The number of a row. Kept files hold these numbers: rows are added at the end.
enum class WeightType : std::uint8_t {
    kF32,
    kF16,
    kBf16,
    kInt8,
    kHqq4,
    kHqq3,
    kHqq2,
    kHqq4Down8,
    // blocks of files
    kQ8_0,
    kQ5_1,
    kQ5_0,
    kQ4_1,
    kQ4_0,
    kQ6K,
    kQ5K,
    kQ4K,
    kQ3K,
    kQ2K,
    kIq4Nl,
    kIq4Xs,
    kIq3S,
    kIq3Xxs,
    kIq2S,
    kIq2Xs,
    kIq2Xxs,
    kIq1M,
    kIq1S,
    kMxfp4,
    // experts as the model's file has them
    kFile1,
    kFile2,
    kFile3,
    kFile4,
    kFile5,
    kFile6,
    kFile7,
    kFile8,
};

enum class WeightCoding : std::uint8_t {
    kPlain,   // one number after the other
    kSigned,  // packed (packed.h): signed bytes and scales
    kHqq,     // packed: half-quadratic quantization, codes from 0 with scales and zeros
    kMixed,   // experts: w1 and w3 in one format, w2 in another, both packed; no own rows
    kBlocks,  // blocks of a file, one after the other (blocks.h)
    kFile,    // experts: as in the file, in a layout that the model defines; no own rows
};

struct FormatTraits {
    WeightType type;
    const char* name;    // in reports and kept measurements
    const char* option;  // the name in options
    const char* method;  // for users, beside the bits
    WeightCoding coding;
    int bits;                       // of a weight, or of its code
    int group;                      // packed: weights that share a scale; blocks: weights in one
    int super_group;                // HQQ: groups whose scales and zeros are quantized together
    bool for_experts;               // users may choose it for experts of any checkpoint
    bool for_dense;                 // and for attention's matrices and dense networks
    double typical_error;           // sqrt(sum (w - q(w))^2 / sum w^2) of normally distributed weights, rows of 4096
    WeightType gate_and_up = type;  // kMixed: the format of its w1 and w3
    WeightType down = type;
    int block_bytes = 0;  // kBlocks
    int ggml_type = -1;   // its number in GGUF files (ggml's enum ggml_type); -1: it has none
    // Blocks: where the scale is, a binary16 number (MXFP4: an exponent in one byte), and
    // what is subtracted; -1: none. (kernels/block_parts.h)
    int scale_at = -1;
    int minimum_at = -1;

    constexpr bool is_plain() const { return coding == WeightCoding::kPlain; }
    constexpr bool is_mixed() const { return coding == WeightCoding::kMixed; }
    constexpr bool is_blocks() const { return coding == WeightCoding::kBlocks; }
    constexpr bool is_of_file() const { return coding == WeightCoding::kFile; }
    // In one of our own codings, in rows of a multiple of kPackedBlock weights.
    constexpr bool is_packed() const {
        return coding == WeightCoding::kSigned || coding == WeightCoding::kHqq || coding == WeightCoding::kMixed;
    }
    // HQQ in groups of 16: scale and zero of a group share one byte. In groups of 64 each
    // has a byte.
    constexpr bool has_half_scales() const { return group == 16; }
};

constexpr FormatTraits plain_numbers(WeightType type, int ggml_type, const char* name, const char* option, int bits,
                                     bool for_weights) {
    return {type, name, option, name,     WeightCoding::kPlain, bits, 0, 0, for_weights, for_weights, 0,
            type, type, 0,      ggml_type};
}
// A row of blocks: `bits` rounded down from those of a weight with its scales.
constexpr FormatTraits blocks_of_file(WeightType type, int ggml_type, const char* name, const char* option, int weights,
                                      int bytes, int scale_at, int minimum_at = -1) {
    return {type,
            name,
            option,
            "GGUF",
            WeightCoding::kBlocks,
            bytes * 8 / weights,
            weights,
            0,
            false,
            false,
            0,
            type,
            type,
            bytes,
            ggml_type,
            scale_at,
            minimum_at};
}
constexpr FormatTraits experts_of_file(WeightType type, const char* name, const char* option) {
    return {type, name, option, "as in the file", WeightCoding::kFile, 0, 0, 0, false, false, 0};
}

// (bits, groups and super groups of HQQ: Mixtral-Offloading, section 4.2)
inline constexpr FormatTraits kFormats[] = {
    plain_numbers(WeightType::kF32, 0, "F32", "f32", 32, false),
    plain_numbers(WeightType::kF16, 1, "F16", "f16", 16, false),
    plain_numbers(WeightType::kBf16, 30, "BF16", "bf16", 16, true),
    {WeightType::kInt8, "INT8", "int8", "INT8", WeightCoding::kSigned, 8, 64, 0, true, true, 0.0060},
    {WeightType::kHqq4, "HQQ4", "hqq4", "HQQ", WeightCoding::kHqq, 4, 64, 256, true, true, 0.0863},
    {WeightType::kHqq3, "HQQ3", "hqq3", "HQQ", WeightCoding::kHqq, 3, 64, 128, true, false, 0.1850},
    {WeightType::kHqq2, "HQQ2", "hqq2", "HQQ", WeightCoding::kHqq, 2, 16, 128, true, false, 0.2799},
    // w2 moves an output most: half of what 4 bits cost in quality for a third more
    // bytes.
    {WeightType::kHqq4Down8, "HQQ4D8", "hqq4d8", "HQQ, w2 INT8", WeightCoding::kMixed, 5, 0, 0, true, false, 0.0705,
     WeightType::kHqq4, WeightType::kInt8},
    blocks_of_file(WeightType::kQ8_0, 8, "Q8_0", "q8_0", 32, 34, 0),
    blocks_of_file(WeightType::kQ5_1, 7, "Q5_1", "q5_1", 32, 24, 0, 2),
    blocks_of_file(WeightType::kQ5_0, 6, "Q5_0", "q5_0", 32, 22, 0),
    blocks_of_file(WeightType::kQ4_1, 3, "Q4_1", "q4_1", 32, 20, 0, 2),
    blocks_of_file(WeightType::kQ4_0, 2, "Q4_0", "q4_0", 32, 18, 0),
    blocks_of_file(WeightType::kQ6K, 14, "Q6_K", "q6_k", 256, 210, 208),
    blocks_of_file(WeightType::kQ5K, 13, "Q5_K", "q5_k", 256, 176, 0, 2),
    blocks_of_file(WeightType::kQ4K, 12, "Q4_K", "q4_k", 256, 144, 0, 2),
    blocks_of_file(WeightType::kQ3K, 11, "Q3_K", "q3_k", 256, 110, 108),
    blocks_of_file(WeightType::kQ2K, 10, "Q2_K", "q2_k", 256, 84, 80, 82),
    blocks_of_file(WeightType::kIq4Nl, 20, "IQ4_NL", "iq4_nl", 32, 18, 0),
    blocks_of_file(WeightType::kIq4Xs, 23, "IQ4_XS", "iq4_xs", 256, 136, 0),
    blocks_of_file(WeightType::kIq3S, 21, "IQ3_S", "iq3_s", 256, 110, 0),
    blocks_of_file(WeightType::kIq3Xxs, 18, "IQ3_XXS", "iq3_xxs", 256, 98, 0),
    blocks_of_file(WeightType::kIq2S, 22, "IQ2_S", "iq2_s", 256, 82, 0),
    blocks_of_file(WeightType::kIq2Xs, 17, "IQ2_XS", "iq2_xs", 256, 74, 0),
    blocks_of_file(WeightType::kIq2Xxs, 16, "IQ2_XXS", "iq2_xxs", 256, 66, 0),
    blocks_of_file(WeightType::kIq1M, 29, "IQ1_M", "iq1_m", 256, 56, -1),
    blocks_of_file(WeightType::kIq1S, 19, "IQ1_S", "iq1_s", 256, 50, 0),
    blocks_of_file(WeightType::kMxfp4, 39, "MXFP4", "mxfp4", 32, 17, 0),
    experts_of_file(WeightType::kFile1, "FILE1", "file1"),
    experts_of_file(WeightType::kFile2, "FILE2", "file2"),
    experts_of_file(WeightType::kFile3, "FILE3", "file3"),
    experts_of_file(WeightType::kFile4, "FILE4", "file4"),
    experts_of_file(WeightType::kFile5, "FILE5", "file5"),
    experts_of_file(WeightType::kFile6, "FILE6", "file6"),
    experts_of_file(WeightType::kFile7, "FILE7", "file7"),
    experts_of_file(WeightType::kFile8, "FILE8", "file8"),
};
inline constexpr int kWeightTypes = static_cast<int>(std::size(kFormats));

constexpr const FormatTraits& traits_of(WeightType type) {
    return kFormats[static_cast<std::size_t>(type)];
}

constexpr bool formats_are_in_order() {
    for (int i = 0; i < kWeightTypes; ++i) {
        if (static_cast<int>(kFormats[i].type) != i) return false;
    }
    return true;
}
static_assert(formats_are_in_order(), "a row's place is its type's number");

constexpr const char* name_of(WeightType type) {
    return traits_of(type).name;
}

constexpr bool is_packed(WeightType type) {
    return traits_of(type).is_packed();
}

constexpr bool is_plain(WeightType type) {
    return traits_of(type).is_plain();
}

constexpr bool is_blocks(WeightType type) {
    return traits_of(type).is_blocks();
}

// For plain types. Others have no whole bytes per weight: row_bytes().
constexpr std::size_t bytes_per_weight(WeightType type) {
    return static_cast<std::size_t>(traits_of(type).bits / 8);
}

// Columns of packed rows come in blocks of this many.
inline constexpr std::int64_t kPackedBlock = 64;

// The places of the parts of one packed row of n_cols weights (a multiple of
// kPackedBlock), in bytes from its beginning. kernels/packed.h defines their contents.
struct PackedRow {
    std::int64_t n_blocks = 0;
    std::int64_t block_bytes = 0;  // of codes
    std::int64_t group = 0;        // weights that share a scale
    std::int64_t n_groups = 0;
    std::int64_t super_group = 0;  // groups whose scales and zeros are quantized together
    std::int64_t n_supers = 0;
    std::int64_t codes = 0;   // offset of the blocks
    std::int64_t scales = 0;  // offset of the groups' scales
    std::int64_t zeros = 0;   // offset of the groups' zeros; scales == zeros: both in one byte, or no zeros
    std::int64_t bytes = 0;   // of the whole row, a multiple of 8
};

constexpr PackedRow packed_row(WeightType type, std::int64_t n_cols) {
    const FormatTraits& format = traits_of(type);
    const std::int64_t scale_bytes = format.coding == WeightCoding::kSigned ? 2 : 1;
    PackedRow row;
    row.n_blocks = n_cols / kPackedBlock;
    row.block_bytes = kPackedBlock * format.bits / 8;
    row.group = format.group;
    row.n_groups = n_cols / row.group;
    row.super_group = format.super_group;
    row.n_supers = row.super_group == 0 ? 0 : (row.n_groups + row.super_group - 1) / row.super_group;
    row.codes = row.n_supers * 16;
    row.scales = row.codes + row.n_blocks * row.block_bytes;
    const bool own_zeros = format.coding == WeightCoding::kHqq && !format.has_half_scales();
    row.zeros = row.scales + (own_zeros ? row.n_groups : 0);
    row.bytes = (row.zeros + row.n_groups * scale_bytes + 7) / 8 * 8;
    return row;
}

// Rows have a multiple of this many weights.
constexpr std::int64_t row_multiple(WeightType type) {
    return is_blocks(type) ? traits_of(type).group : is_packed(type) ? kPackedBlock : 1;
}

// Bytes of one row of n_cols weights, in any storage.
constexpr std::size_t row_bytes(WeightType type, std::int64_t n_cols) {
    const FormatTraits& format = traits_of(type);
    if (format.is_blocks()) {
        return static_cast<std::size_t>(n_cols / format.group) * static_cast<std::size_t>(format.block_bytes);
    }
    return format.is_packed() ? static_cast<std::size_t>(packed_row(type, n_cols).bytes)
                              : static_cast<std::size_t>(n_cols) * bytes_per_weight(type);
}

// Calls body(std::integral_constant<WeightType, type>()) if `type` is packed; otherwise
// does nothing.
template <typename Body, std::size_t... kRows>
inline void with_packed_row(WeightType type, const Body& body, std::index_sequence<kRows...> /*rows*/) {
    const auto try_row = [&](auto row) {
        constexpr FormatTraits kFormat = kFormats[decltype(row)::value];
        if constexpr (kFormat.is_packed() && !kFormat.is_mixed()) {
            if (type == kFormat.type) body(std::integral_constant<WeightType, kFormat.type>());
        }
    };
    (try_row(std::integral_constant<std::size_t, kRows>()), ...);
}

template <typename Body>
inline void with_packed_type(WeightType type, const Body& body) {
    with_packed_row(type, body, std::make_index_sequence<std::size(kFormats)>());
}

// The same where `type` is a file's blocks.
template <typename Body, std::size_t... kRows>
inline void with_block_row(WeightType type, const Body& body, std::index_sequence<kRows...> /*rows*/) {
    const auto try_row = [&](auto row) {
        constexpr FormatTraits kFormat = kFormats[decltype(row)::value];
        if constexpr (kFormat.is_blocks()) {
            if (type == kFormat.type) body(std::integral_constant<WeightType, kFormat.type>());
        }
    };
    (try_row(std::integral_constant<std::size_t, kRows>()), ...);
}

template <typename Body>
inline void with_block_type(WeightType type, const Body& body) {
    with_block_row(type, body, std::make_index_sequence<std::size(kFormats)>());
}

}  // namespace offstage::kernels
