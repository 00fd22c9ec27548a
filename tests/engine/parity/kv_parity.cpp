// States of DeltaNet layers, and blocks of the KV cache that are copied.
#include "kernels/cpu_kernels.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_sequences.h"

namespace offstage::engine::parity {

namespace {

// DeltaNetShape's definition, in double. `kept`: a layer's state of the sequence.
std::vector<double> delta_net_rows(const kernels::DeltaNetShape& shape, std::span<const float> qkv,
                                   std::span<const float> decay_beta, std::span<const float> z,
                                   std::span<const float> convolution, std::span<const float> rate,
                                   std::span<const float> bias, std::span<const float> norm,
                                   std::vector<double>& kept) {
    const auto at = [](const auto& values, std::int64_t i) { return double{values[static_cast<std::size_t>(i)]}; };
    const std::int64_t width = shape.qkv_width(), n_before = shape.kernel_size - 1, k_dim = shape.key_dim;
    const std::int64_t v_dim = shape.value_dim, n_heads = shape.n_value_heads;
    const std::int64_t n_tokens = std::ssize(qkv) / width;
    std::vector<double> inputs(kept.begin() + shape.states_size(), kept.end());
    inputs.insert(inputs.end(), qkv.begin(), qkv.end());
    std::vector<double> out;
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        std::vector<double> row;
        for (std::int64_t c = 0; c < width; ++c) {
            double sum = 0;
            for (std::int64_t i = 0; i <= n_before; ++i) {
                sum += at(convolution, c * shape.kernel_size + i) * at(inputs, (t + i) * width + c);
            }
            row.push_back(sum / (1 + std::exp(-sum)));
        }
        for (std::int64_t head = 0; head < 2 * shape.n_key_heads; ++head) {
            double squares = 1e-6;
            for (std::int64_t i = 0; i < k_dim; ++i) squares += at(row, head * k_dim + i) * at(row, head * k_dim + i);
            if (head < shape.n_key_heads) squares *= static_cast<double>(k_dim);
            for (std::int64_t i = 0; i < k_dim; ++i)
                row[static_cast<std::size_t>(head * k_dim + i)] /= std::sqrt(squares);
        }
        for (std::int64_t head = 0; head < n_heads; ++head) {
            const std::int64_t key_head = shape.key_head(head);
            const double* const q = row.data() + key_head * k_dim;
            const double* const k = q + shape.n_key_heads * k_dim;
            const double* const v = row.data() + 2 * shape.n_key_heads * k_dim + head * v_dim;
            const double a = at(decay_beta, t * 2 * n_heads + head) + at(bias, head);
            const double decay = std::exp(at(rate, head) * std::log1p(std::exp(a)));
            const double beta = 1 / (1 + std::exp(-at(decay_beta, (t * 2 + 1) * n_heads + head)));
            std::vector<double> values;
            double squares = 0;
            for (std::int64_t c = 0; c < v_dim; ++c) {
                double* const state = kept.data() + head * k_dim * v_dim + c;
                double known = 0, value = 0;
                for (std::int64_t i = 0; i < k_dim; ++i) known += k[i] * (state[i * v_dim] *= decay);
                for (std::int64_t i = 0; i < k_dim; ++i) {
                    state[i * v_dim] += k[i] * beta * (v[c] - known);
                    value += q[i] * state[i * v_dim];
                }
                values.push_back(value);
                squares += value * value;
            }
            const double length = std::sqrt(squares / static_cast<double>(v_dim) + double{shape.norm_eps});
            for (std::int64_t c = 0; c < v_dim; ++c) {
                const double gate = at(z, (t * n_heads + head) * v_dim + c);
                out.push_back(at(values, c) / length * at(norm, c) * gate / (1 + std::exp(-gate)));
            }
        }
    }
    std::copy(inputs.end() - n_before * width, inputs.end(), kept.begin() + shape.states_size());
    return out;
}

// Two sequences in a step, one with a state and one that begins; the first continues in a
// second step.
void check_delta_net(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayer = 1;
    for (kernels::DeltaNetShape shape : {kernels::DeltaNetShape{2, 4, 16, 16, 4, false},
                                         {2, 6, 7, 9, 3, true},
                                         {1, 1, 130, 33, 2, false},
                                         {1, 2, 128, 128, 4, false},
                                         {3, 3, 5, 70, 1, false}}) {
        const std::int64_t width = shape.qkv_width(), out_width = shape.output_width(), n_heads = shape.n_value_heads;
        const OnDevice<float> convolution(backend, random_floats(width * shape.kernel_size, 1));
        std::vector<float> rates = random_floats(n_heads, 2);
        for (float& rate : rates) rate = -std::abs(rate) - 0.01f;
        const OnDevice<float> rate(backend, rates), bias(backend, random_floats(n_heads, 3));
        const OnDevice<float> norm(backend, random_floats(shape.value_dim, 4));
        shape.convolution = convolution.data();
        shape.decay_rate = rate.data();
        shape.time_bias = bias.data();
        shape.norm = norm.data();
        shape.norm_eps = 1e-6f;
        const kernels::KvShape kv = kernels::kv_shape_of(2, shape);
        const std::int64_t n_floats = kv.block_bytes() / 4, place = kv.keys_offset(kLayer, 0) / 4;
        const OnDevice<float> before(backend, random_floats(n_floats, 5)), after(backend, filled(n_floats, NAN)),
            other(backend, filled(n_floats, NAN)), last(backend, filled(n_floats, NAN));
        const auto address = [](const OnDevice<float>& block) { return reinterpret_cast<std::byte*>(block.data()); };
        const OnDevice<std::byte*> tables(
            backend, {address(before), address(after), nullptr, address(other), address(after), address(last)});
        const auto segment = [&](std::int64_t first_row, std::int64_t n_tokens, std::int64_t past, std::size_t table) {
            return AttentionSegment{
                first_row, n_tokens, past, std::span(tables.host()).subspan(2 * table, 2), tables.data() + 2 * table,
                {}};
        };
        std::vector<double> kept(before.host().begin() + place, before.host().begin() + place + shape.kept_size());
        std::vector<double> kept_of_other(kept.size());
        for (const int step : {0, 1}) {
            const std::vector<AttentionSegment> segments =
                step == 0 ? std::vector{segment(0, 6, 20, 0), segment(6, 2, 0, 1)} : std::vector{segment(0, 1, 26, 2)};
            const std::int64_t n = step == 0 ? 8 : 1;
            const auto seed = static_cast<std::uint32_t>(10 * step);
            const OnDevice<float> qkv(backend, random_floats(n * width, seed + 6, 3.0f));
            const OnDevice<float> gates(backend, random_floats(n * 2 * n_heads, seed + 7, 3.0f));
            const OnDevice<float> z(backend, random_floats(n * out_width, seed + 8, 3.0f));
            const OnDevice<float> out(backend, filled(n * out_width, NAN));
            backend.submit(ops::DeltaNet{kLayer, shape, segments, qkv.data(), gates.data(), z.data(), kv, out.data()});
            std::vector<double> want;
            for (const AttentionSegment& s : segments) {
                const auto rows = [&](const OnDevice<float>& values, std::int64_t row_width) {
                    return std::span(values.host())
                        .subspan(static_cast<std::size_t>(s.first_row * row_width),
                                 static_cast<std::size_t>(s.n_tokens * row_width));
                };
                const auto part = delta_net_rows(shape, rows(qkv, width), rows(gates, 2 * n_heads), rows(z, out_width),
                                                 convolution.host(), rate.host(), bias.host(), norm.host(),
                                                 s.past > 0 ? kept : kept_of_other);
                want.insert(want.end(), part.begin(), part.end());
            }
            const auto near = [](const std::vector<float>& got, std::int64_t first, const std::vector<double>& wanted) {
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    const double value = double{got[static_cast<std::size_t>(first) + i]};
                    if (!(std::abs(value - wanted[i]) <= 1e-4 * (1 + std::abs(wanted[i])))) return false;
                }
                return true;
            };
            QVERIFY(near(out.download(), 0, want));
            QVERIFY(near((step == 0 ? after : last).download(), place, kept));
            if (step == 0) QVERIFY(near(other.download(), place, kept_of_other));
        }
        QVERIFY(same_bits<float>(before.download(), before.host()));
    }
}

void check_copy_kv_block(Backend& backend, const Promise&) {
    using kernels::KvType;
    for (const auto& [kept, target_type] : {std::pair{kernels::KvShape{2, 3, 16, 16, false}, KvType::kF32},
                                            {{3, 2, 24, 10, false}, KvType::kBf16},
                                            {{2, 1, 26, 20, true}, KvType::kF32},
                                            {{1, 1, 9, 31, false, KvType::kBf16}, KvType::kBf16},
                                            {{2, 2, 70, 66, false}, KvType::kInt8},
                                            {{2, 2, 70, 67, false, KvType::kInt8}, KvType::kInt8},
                                            {{1, 2, 80, 15, false, KvType::kInt8}, KvType::kBf16}}) {
        const kernels::KvShape& shape = kept;
        kernels::KvShape target = shape;
        target.type = target_type;
        PinnedHost<std::byte> host(backend, static_cast<std::size_t>(target.block_bytes()), "a test");
        std::byte* const mapped = host.pinned() ? backend.mapped(host.host()) : nullptr;
        for (const std::int64_t n_tokens : {1, 17, 64}) {
            const OnDevice<std::byte> source(backend, random_cache(shape, 1, 13));
            const OnDevice<std::byte> memory(backend, random_cache(target, 1, 14));
            const KvBlock from{source.data(), false};
            const KvBlock to{memory.data(), false};
            const KvBlock in_host{mapped, true};
            if (mapped == nullptr) {
                backend.submit(ops::CopyKvBlock{shape, from, target.type, to, n_tokens});
            } else {  // to host memory and back
                backend.submit(ops::CopyKvBlock{shape, from, target.type, in_host, n_tokens});
                backend.submit(ops::CopyKvBlock{target, in_host, target.type, to, n_tokens});
            }
            std::vector<std::byte> want = memory.host();
            const auto expect = [&](std::int64_t first, std::int64_t stride, std::int64_t place,
                                    std::int64_t target_stride, std::int64_t n) {
                for (std::int64_t t = 0; t < n_tokens; ++t) {
                    const std::byte* row = source.host().data() + first + t * stride;
                    std::byte* to_row = want.data() + place + t * target_stride;
                    if (shape.type == target.type) {
                        std::copy_n(row, stride, to_row);
                        continue;
                    }
                    std::vector<float> values(static_cast<std::size_t>(n));
                    kernels::load_kv_row(row, n, shape.type, values.data());
                    kernels::store_kv_row(values.data(), n, target.type, to_row);
                }
            };
            for (std::int64_t layer = 0; layer < shape.n_layers; ++layer) {
                for (std::int64_t head = 0; head < shape.n_kv_heads; ++head) {
                    expect(shape.keys_offset(layer, head), shape.key_stride(), target.keys_offset(layer, head),
                           target.key_stride(), shape.key_dim);
                    if (shape.values_in_keys) continue;
                    expect(shape.values_offset(layer, head), shape.value_stride(), target.values_offset(layer, head),
                           target.value_stride(), shape.value_dim);
                }
            }
            const std::vector<std::byte> got = memory.download();
            QVERIFY(same_bits<std::byte>(got, want));
        }
    }
}

}  // namespace

std::vector<Check> kv_checks() {
    return {{"delta_net", check_delta_net}, {"copy_kv_block", check_copy_kv_block}};
}

}  // namespace offstage::engine::parity
