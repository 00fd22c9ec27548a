#pragma once
// Rows of files' blocks laid out for a GPU, within the same bytes: first the blocks'
// codes, then what else the blocks have, so that lanes that read neighbouring blocks read
// words of 16 bytes that follow each other. The order, block after block in each section
// (row_sections()), is
//
//   rest (beginning) | codes, from the row's first multiple of 16 on | rest (end)
//
// where the beginning is as long as it takes to get there: 0 to 15 bytes, mostly none.
//
// To the kernels such rows are of a type of their own, laid_out(type).

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/expert_layout.h"
#include "kernels/types.h"

namespace offstage::kernels::cuda {

// Bytes begin ... of each block that lie together.
struct RowSection {
    int begin = 0;
    int bytes = 0;
};
constexpr int kRowSections = 4;
struct RowSections {
    RowSection of[kRowSections] = {};
    int n_codes = 0;  // the first ones: codes, of multiples of 16 bytes

    __host__ __device__ constexpr bool none() const { return n_codes == 0; }
    __host__ __device__ constexpr int code_bytes() const { return before(n_codes); }  // of a block
    __host__ __device__ constexpr int rest_bytes() const { return before(kRowSections) - code_bytes(); }
    // Of a block, of the sections before section s.
    __host__ __device__ constexpr int before(int s) const {
        int bytes = 0;
        for (int i = 0; i < kRowSections; ++i) bytes += i < s ? of[i].bytes : 0;
        return bytes;
    }
};

// The table of types that are laid out: those whose inner loop takes fewer instructions
// then.
constexpr RowSections row_sections(WeightType type) {
    switch (type) {
        case WeightType::kQ4_0:
        case WeightType::kIq4Nl:
            return {{{2, 16}, {0, 2}}, 1};
        case WeightType::kMxfp4:
            return {{{1, 16}, {0, 1}}, 1};
        case WeightType::kQ8_0:
            return {{{2, 16}, {18, 16}, {0, 2}}, 2};
        case WeightType::kQ6K:
            return {{{0, 128}, {128, 64}, {192, 16}, {208, 2}}, 2};
        default:
            return {};
    }
}

// A row goes through a block's shared memory when it is laid out.
constexpr std::size_t kMostLaidOutBytes = 48 * 1024;

// Whether rows like these can be laid out: what is no code suffices for the beginning,
// which divides no number.
inline bool can_lay_out(const WeightView& rows) {
    const RowSections sections = row_sections(rows.type);
    if (sections.none() || row_bytes(rows.type, rows.n_cols) > kMostLaidOutBytes) return false;
    const auto places = reinterpret_cast<std::uintptr_t>(rows.data) | rows.stride_bytes();
    return rows.n_cols / traits_of(rows.type).group * sections.rest_bytes() >= 16 &&
           (places % 2 == 0 || rows.type == WeightType::kMxfp4);
}

constexpr int kLaidOutBit = 0x80;
__host__ __device__ constexpr WeightType laid_out(WeightType type) {
    return static_cast<WeightType>(static_cast<int>(type) | kLaidOutBit);
}
__host__ __device__ constexpr bool is_laid_out(WeightType type) {
    return (static_cast<int>(type) & kLaidOutBit) != 0;
}
// As a kernel's template argument: nvcc's host code knows only an enumeration's named
// values.
using RowType = int;
template <WeightType kType>
constexpr RowType kRowType = static_cast<RowType>(kType);
// The type that the rows' bytes have in files.
__host__ __device__ constexpr WeightType file_type(WeightType type) {
    return static_cast<WeightType>(static_cast<int>(type) & (kLaidOutBit - 1));
}

// Calls body with std::integral_constant<WeightType, type>: a file's blocks, or such rows
// laid out.
template <typename Body>
void with_row_type(WeightType type, const Body& body) {
    with_block_type(file_type(type), [&](auto constant) {
        constexpr WeightType kFile = decltype(constant)::value;
        if (!is_laid_out(type)) {
            body(constant);
        } else if constexpr (!row_sections(kFile).none()) {
            body(std::integral_constant<WeightType, laid_out(kFile)>());
        }
    });
}

// Bytes of a row before its codes.
__device__ inline int beginning_of(const unsigned char* row) {
    return static_cast<int>(0u - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row))) & 15;
}

// A row as kernels read it.
template <WeightType kType>
struct LaidOutRow {
    static constexpr WeightType kFile = file_type(kType);
    static constexpr RowSections kSections = row_sections(kFile);
    static constexpr int kCodes = kSections.code_bytes();

    const unsigned char* codes;  // at a multiple of 16
    const unsigned char* row;
    int n_blocks;
    int beginning;
    int code_bytes;  // of the row

    __device__ LaidOutRow(const unsigned char* its_row, int blocks)
        : row(its_row), n_blocks(blocks), beginning(beginning_of(its_row)), code_bytes(blocks * kCodes) {
        codes = its_row + beginning;
    }
    // Where byte `byte` of a block's section kSection is; codes follow it there.
    template <int kSection>
    __device__ const unsigned char* at(int block, int byte = 0) const {
        constexpr int kBefore = kSections.before(kSection);
        constexpr int kBytes = kSections.of[kSection].bytes;
        if constexpr (kSection < kSections.n_codes) {
            return codes + (n_blocks * kBefore + block * kBytes + byte);
        } else {
            const int place = n_blocks * (kBefore - kCodes) + block * kBytes + byte;
            return row + (place + (place < beginning ? 0 : code_bytes));
        }
    }
};

// Where the bytes of a row lie when it is laid out, for kernels that move them.
struct RowPlaces {
    RowSections sections;
    int block_bytes = 0;
    int n_blocks = 0;

    __device__ int place(const unsigned char* row, int byte) const {
        const int block = static_cast<int>(static_cast<unsigned>(byte) / static_cast<unsigned>(block_bytes));
        const int in_block = byte - block * block_bytes;
        const int beginning = beginning_of(row);
        const int code_bytes = n_blocks * sections.code_bytes();
        int before = 0;
#pragma unroll
        for (int s = 0; s < kRowSections; ++s) {
            const RowSection& section = sections.of[s];
            if (in_block >= section.begin && in_block < section.begin + section.bytes) {
                const int place = n_blocks * before + block * section.bytes + in_block - section.begin;
                if (s < sections.n_codes) return beginning + place;
                return place - code_bytes < beginning ? place - code_bytes : place;
            }
            before += section.bytes;
        }
        return byte;
    }
};
inline RowPlaces row_places(const WeightView& rows) {
    return {row_sections(rows.type), traits_of(rows.type).block_bytes,
            static_cast<int>(rows.n_cols / traits_of(rows.type).group)};
}

// Lays out rows that lie as in files, in place, or (back) the other way round; those that
// cannot be stay as they are. strip_copies.cu.
cudaError_t lay_out_rows(const WeightView& rows, bool back, cudaStream_t stream);

}  // namespace offstage::kernels::cuda
