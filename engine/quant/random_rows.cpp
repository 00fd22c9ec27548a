#include "engine/quant/random_rows.h"

#include <cstring>
#include <random>

#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

namespace {

// Codes at random, factors that make weights of about a hundredth.
void draw_block(kernels::WeightType type, std::mt19937& random, std::byte* block) {
    const kernels::FormatTraits& format = kernels::traits_of(type);
    const auto n = static_cast<std::size_t>(format.block_bytes);
    for (std::size_t i = 0; i < n; ++i) block[i] = static_cast<std::byte>(random() >> 24);
    constexpr std::uint16_t kSmall = 0x1400;  // 2^-10
    if (type == kernels::WeightType::kMxfp4) {
        block[0] = std::byte{119};  // 2^-8
    } else if (type == kernels::WeightType::kIq1M) {
        // Four bits in the highest ones of each of the last four words.
        for (std::size_t i = 0; i < 4; ++i) {
            std::byte& high = block[n - 7 + 2 * i];
            high = (high & std::byte{15}) | static_cast<std::byte>((kSmall >> (4 * i) & 15) << 4);
        }
    } else {
        for (const int at : {format.scale_at, format.minimum_at}) {
            if (at >= 0) std::memcpy(block + at, &kSmall, sizeof kSmall);
        }
    }
}

}  // namespace

std::vector<std::byte> random_rows(kernels::WeightType type, std::int64_t n_cols) {
    constexpr std::int64_t kRows = 16;
    std::mt19937 random(5);
    if (kernels::is_blocks(type)) {
        std::vector<std::byte> rows(static_cast<std::size_t>(kRows) * kernels::row_bytes(type, n_cols));
        const auto block_bytes = static_cast<std::size_t>(kernels::traits_of(type).block_bytes);
        for (std::size_t at = 0; at < rows.size(); at += block_bytes) draw_block(type, random, rows.data() + at);
        return rows;
    }
    std::vector<float> weights(static_cast<std::size_t>(kRows * n_cols));
    for (float& weight : weights) weight = (static_cast<float>(random() >> 8) / 8388608.0f - 1.0f) / 64.0f;
    std::vector<std::byte> rows(static_cast<std::size_t>(kRows) * kernels::row_bytes(type, n_cols));
    if (type == kernels::WeightType::kF16) {
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto bits = static_cast<std::uint16_t>(0x2000u | (random() & 0x83ffu));
            std::memcpy(rows.data() + 2 * i, &bits, 2);
        }
        return rows;
    }
    const kernels::WeightView view{weights.data(), kernels::WeightType::kF32, kRows, n_cols};
    kernels::ThreadPool pool(1);
    Quantizer(pool, QuantMethod::kNearest).quantize(view, type, rows.data());
    return rows;
}

void fill_random_expert(const kernels::ExpertLayout& layout, std::byte* block) {
    std::memset(block, 0, layout.bytes());
    const kernels::ExpertView expert{block, layout};
    expert.for_matrices([block](const kernels::WeightView& part) {
        const std::vector<std::byte> rows = random_rows(part.type, part.n_cols);
        const std::size_t row_bytes = kernels::row_bytes(part.type, part.n_cols);
        const std::size_t n_random = rows.size() / row_bytes;
        for (std::int64_t r = 0; r < part.n_rows; ++r) {
            std::byte* const target = block + (part.row(r) - block);
            std::memcpy(target, rows.data() + static_cast<std::size_t>(r) % n_random * row_bytes, row_bytes);
        }
    });
}

}  // namespace offstage::engine
