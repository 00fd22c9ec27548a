#include "tests/engine/parity/parity_values.h"

#include "tests/kernels/byte_inputs_reference.h"
#include "tests/kernels/packed_data.h"
#include "tests/kernels/test_data.h"

namespace offstage::engine::parity {

Backend::StepShape largest_step() {
    Backend::StepShape shape;
    shape.n_tokens = 256;
    shape.hidden_dim = 256;
    shape.ffn_dim = 256;
    shape.dense_ffn_dim = 300;
    shape.n_experts = 64;
    shape.n_active = 6;
    shape.attention = grouped_attention(8, 8, 128);
    shape.attention.top_k = 128;
    shape.attention.n_choices = 9;
    shape.vocab_size = 512;
    shape.context = 1024;
    shape.weight_type = WeightType::kF32;
    return shape;
}

void finish(Backend& backend) {
    backend.host_wait(backend.record(DeviceEvent::Queue::kCompute));
}

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed, float scale) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed, scale);
    return values;
}

std::vector<float> filled(std::int64_t n, float value) {
    return std::vector<float>(static_cast<std::size_t>(n), value);
}

RandomRows::RandomRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale)
    : n_cols_(n_cols),
      bytes_(static_cast<std::size_t>(n_rows) * kernels::row_bytes(type, n_cols)),
      values_(static_cast<std::size_t>(n_rows * n_cols)) {
    if (kernels::is_plain(type)) {
        const kernels::test::RandomWeights weights(type, n_rows * n_cols, seed, scale);
        std::memcpy(bytes_.data(), weights.data(), bytes_.size());
        for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = weights[static_cast<std::int64_t>(i)];
        return;
    }
    std::mt19937 generator(seed);
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(generator());  // the unused ones at the end too
    for (std::int64_t r = 0; r < n_rows; ++r) {
        std::byte* row = bytes_.data() + static_cast<std::size_t>(r) * kernels::row_bytes(type, n_cols);
        if (kernels::is_blocks(type)) {
            kernels::test::fill_block_row(type, n_cols, generator, scale, row);
            kernels::unpack_blocks(type, row, 0, n_cols, values_.data() + r * n_cols);
            continue;
        }
        set_scales(type, row, generator, scale);
        kernels::unpack_row(type, row, n_cols, 0, n_cols, values_.data() + r * n_cols);
    }
}

// So that the weights are within about -scale .. scale, and all groups differ.
void RandomRows::set_scales(WeightType type, std::byte* row, std::mt19937& generator, float scale) const {
    const kernels::PackedRow layout = kernels::packed_row(type, n_cols_);
    std::uniform_real_distribution<float> factor(0.5f, 1.0f);
    for (std::int64_t g = 0; type == WeightType::kInt8 && g < layout.n_groups; ++g) {
        const kernels::Bf16 value = kernels::to_bf16(scale / 127.0f * factor(generator));
        std::memcpy(row + layout.scales + 2 * g, &value, sizeof value);
    }
    const auto codes = static_cast<float>((1 << kernels::traits_of(type).bits) - 1);
    const float steps = type == WeightType::kHqq2 ? 15.0f : 255.0f;
    for (std::int64_t i = 0; i < layout.n_supers; ++i) {
        kernels::PackedSuper super;
        super.scale_offset = scale / codes * factor(generator);
        super.scale_step = scale / codes / steps * factor(generator);
        super.zero_offset = 0.4f * codes * factor(generator);
        super.zero_step = 0.4f * codes / steps * factor(generator);
        std::memcpy(row + i * 16, &super, sizeof super);
    }
}

QString mismatch(std::span<const float> got, std::span<const Expected> want, double tolerance) {
    if (got.size() != want.size()) return QStringLiteral("%1 values, not %2").arg(got.size()).arg(want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::abs(double{got[i]} - want[i].value) <= tolerance * (want[i].magnitude + 1e-3)) continue;  // not NaN
        return QStringLiteral("place %1 of %2: %3, expected %4")
            .arg(i)
            .arg(got.size())
            .arg(double{got[i]}, 0, 'g', 9)
            .arg(want[i].value, 0, 'g', 9);
    }
    return {};
}

std::vector<double> as_multiplied(bool rounds, const float* x, std::int64_t n) {
    if (rounds) return kernels::test::rounded_inputs(x, n).values;
    return {x, x + n};
}

}  // namespace offstage::engine::parity
