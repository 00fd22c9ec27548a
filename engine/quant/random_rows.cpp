#include "engine/quant/random_rows.h"

#include <cstring>
#include <random>

#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

std::vector<std::byte> random_rows(kernels::WeightType type, std::int64_t n_cols) {
    constexpr std::int64_t kRows = 16;
    std::mt19937 random(5);
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
    for (const kernels::WeightView& part : {expert.gate(), expert.up(), expert.down()}) {
        const std::vector<std::byte> rows = random_rows(part.type, part.n_cols);
        const std::size_t row_bytes = kernels::row_bytes(part.type, part.n_cols);
        const std::size_t n_random = rows.size() / row_bytes;
        for (std::int64_t r = 0; r < part.n_rows; ++r) {
            std::byte* const target = block + (part.row(r) - block);
            std::memcpy(target, rows.data() + static_cast<std::size_t>(r) % n_random * row_bytes, row_bytes);
        }
    }
}

}  // namespace offstage::engine
