#pragma once
// Weights and other memory on a GPU for the programs that measure there, by
// kernels/cuda_context.h alone.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cuda_context.h"
#include "kernels/packed.h"

namespace offstage::kernels {

using W = WeightType;

// Random codes with scales of some thousandths, or random values of that size.
inline void fill(W type, std::int64_t n_cols, std::vector<std::byte>& data, std::minstd_rand& random) {
    constexpr std::uint16_t kThousandth = 0x3a83;  // of bf16, and the upper half of a float32
    for (std::byte& byte : data) byte = static_cast<std::byte>(random() >> 8);
    if (is_packed(type)) {
        const PackedRow row = packed_row(type, n_cols);
        const PackedSuper super{0.001f, 1e-6f, 7.5f, 1e-3f};
        for (std::size_t at = 0; at + row_bytes(type, n_cols) <= data.size(); at += row_bytes(type, n_cols)) {
            for (std::size_t s = 0; s < static_cast<std::size_t>(row.codes); s += sizeof super) {
                std::memcpy(data.data() + at + s, &super, sizeof super);
            }
            for (std::size_t g = 0; row.n_supers == 0 && g < static_cast<std::size_t>(row.n_groups); ++g) {
                std::memcpy(data.data() + at + static_cast<std::size_t>(row.scales) + 2 * g, &kThousandth, 2);
            }
        }
        return;
    }
    const FormatTraits& format = traits_of(type);
    const auto block_bytes = static_cast<std::size_t>(format.block_bytes);
    constexpr std::uint16_t kScale = 0x0419;  // 6e-5: it is multiplied by codes of up to 63 once more
    constexpr std::uint16_t kOnlyScale = 0x1419;
    if (!format.is_blocks()) {
        const std::size_t bytes = type == W::kF32 ? 4 : 2;
        for (std::size_t at = bytes - 2; at + 2 <= data.size(); at += bytes) {
            const std::uint16_t sign = std::to_integer<std::uint16_t>(data[at]) << 15;
            const std::uint16_t value = sign | (type == W::kF16 ? kOnlyScale : kThousandth);
            std::memcpy(&data[at], &value, 2);
        }
        return;
    }
    for (std::size_t block = 0; block + block_bytes <= data.size(); block += block_bytes) {
        for (const int at : {format.scale_at, format.minimum_at}) {
            if (at >= 0) std::memcpy(&data[block] + at, type == W::kQ4_0 ? &kOnlyScale : &kScale, sizeof kScale);
        }
    }
}

// Memory of the GPU until the end of a shape.
class Memory {
  public:
    explicit Memory(CudaContext& context) : context_(context) {}
    ~Memory() {
        wait();
        for (void* const place : taken_) context_.release(place);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* take(std::size_t bytes) {
        void* const place = context_.allocate(bytes);
        if (place == nullptr) {
            std::fprintf(stderr, "the GPU has no room for %zu bytes more\n", bytes);
            std::exit(1);
        }
        taken_.push_back(place);
        return place;
    }
    template <typename T>
    T* copy_of(const std::vector<T>& values) {
        T* const place = static_cast<T*>(take(values.size() * sizeof(T)));
        context_.upload(place, values.data(), values.size() * sizeof(T));
        wait();
        return place;
    }
    float* floats(std::int64_t n, float scale) {
        std::vector<float> values(static_cast<std::size_t>(n));
        for (float& value : values) value = scale * (static_cast<float>(random_() % 2001) / 1000.0f - 1.0f);
        return copy_of(values);
    }
    // Rows of n_cols weights, the same 64 again and again.
    std::byte* rows(W type, std::int64_t n_cols, std::size_t bytes) {
        std::vector<std::byte> piece(64 * row_bytes(type, n_cols));
        fill(type, n_cols, piece, random_);
        auto* const place = static_cast<std::byte*>(take(bytes));
        for (std::size_t at = 0; at < bytes; at += piece.size()) {
            context_.upload(place + at, piece.data(), std::min(piece.size(), bytes - at));
        }
        wait();
        return place;
    }
    WeightView matrix(W type, std::int64_t n_rows, std::int64_t n_cols) {
        const WeightView view{rows(type, n_cols, static_cast<std::size_t>(n_rows) * row_bytes(type, n_cols)), type,
                              n_rows, n_cols};
        context_.lay_out(view);
        return view;
    }
    void wait() { context_.host_wait(CudaQueue::kCompute, context_.record(CudaQueue::kCompute)); }

  private:
    CudaContext& context_;
    std::vector<void*> taken_;
    std::minstd_rand random_{1};
};

// Host memory that the GPU reads and writes.
class PinnedBytes {
  public:
    PinnedBytes(CudaContext& context, std::size_t bytes) : context_(context), memory_(bytes) {
        pinned_ = context.pin(memory_.data(), bytes);
        if (pinned_) mapped_ = static_cast<std::byte*>(context.mapped(memory_.data()));
    }
    ~PinnedBytes() {
        if (pinned_) context_.unpin(memory_.data());
    }
    PinnedBytes(const PinnedBytes&) = delete;
    PinnedBytes& operator=(const PinnedBytes&) = delete;
    std::byte* mapped() const { return mapped_; }  // nullptr: the GPU cannot
    std::byte* host() { return memory_.data(); }

  private:
    CudaContext& context_;
    std::vector<std::byte> memory_;
    bool pinned_ = false;
    std::byte* mapped_ = nullptr;
};

}  // namespace offstage::kernels
