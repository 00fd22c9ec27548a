#pragma once
// One test body for every device: each operation of Backend against the same thing written out in double precision.
// A test opens its backend and runs each of checks() on it; see tst_backend.cpp.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <QTest>

#include "engine/device/backend.h"
#include "engine/device/mirror.h"
#include "engine/error.h"
#include "kernels/packed.h"
#include "tests/kernels/attention_shapes.h"
#include "tests/kernels/byte_inputs_reference.h"
#include "tests/kernels/expert_reference.h"
#include "tests/kernels/packed_data.h"
#include "tests/kernels/routing_reference.h"
#include "tests/kernels/test_data.h"

namespace offstage::engine::parity {

using kernels::AttentionShape;
using kernels::WeightType;
using kernels::test::grouped_attention;
using kernels::test::latent_attention;
using kernels::test::RandomWeights;

// What a device is held to.
struct Promise {
    // Of products and experts with more than kFewRows rows, as a share of the sum of the magnitudes of what is added
    // up. A device that rounds inputs to 16 bits for these says so here.
    double batched_tolerance = 3e-6;
    bool bit_exact = true;  // a row of experts() has the same bits in any company
    // Inputs of products with files' blocks are rounded to 8 bits: those that are expected too, then.
    bool byte_inputs = false;

    bool rounds(WeightType type) const { return byte_inputs && kernels::is_blocks(type); }
    // Of experts with many rows: all matrices are in blocks, or none is multiplied so.
    bool rounds(WeightType type, const kernels::ExpertLayout& layout, std::int64_t n_rows) const {
        return rounds(type) &&
               (n_rows <= kFewRows || (rounds(layout.gate) && rounds(layout.up) && rounds(layout.down)));
    }
    double tolerance(std::int64_t n_rows) const { return n_rows > kFewRows ? batched_tolerance : kTolerance; }
    static constexpr std::int64_t kFewRows = 8;
    static constexpr double kTolerance = 3e-6;  // float32 throughout
};

inline constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kBf16};
inline constexpr WeightType kPackedTypes[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3,
                                              WeightType::kHqq2};

// Reserved before every check: no check takes a larger step.
inline Backend::StepShape largest_step() {
    Backend::StepShape shape;
    shape.n_tokens = 256;
    shape.hidden_dim = 256;
    shape.ffn_dim = 256;
    shape.dense_ffn_dim = 300;
    shape.n_experts = 64;
    shape.n_active = 6;
    shape.attention = grouped_attention(8, 8, 128);
    shape.vocab_size = 512;
    shape.context = 1024;
    shape.weight_type = WeightType::kF32;
    return shape;
}

inline void finish(Backend& backend) {
    backend.host_wait(backend.record(DeviceEvent::Queue::kCompute));
}

// Values in the device's memory. The host's copy is kept, because upload() reads it until the next host_wait.
template <typename Value>
class OnDevice {
  public:
    OnDevice(Backend& backend, std::vector<Value> values) : backend_(backend), host_(std::move(values)) {
        block_ = backend.memory().allocate(host_.size() * sizeof(Value), MemoryUse::kWorkspace, "a test");
        backend.upload(block_.data(), host_.data(), host_.size() * sizeof(Value));
    }
    ~OnDevice() { finish(backend_); }  // nothing may still work on the memory
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    Value* data() const { return block_.template as<Value>(); }
    const std::vector<Value>& host() const { return host_; }

    std::vector<Value> download() const {
        std::vector<Value> values(host_.size());
        backend_.download(values.data(), data(), values.size() * sizeof(Value));
        finish(backend_);
        return values;
    }

  private:
    Backend& backend_;
    std::vector<Value> host_;
    DeviceBlock block_;
};

inline std::vector<float> random_floats(std::int64_t n, std::uint32_t seed, float scale = 1.0f) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed, scale);
    return values;
}

inline std::vector<float> filled(std::int64_t n, float value) {
    return std::vector<float>(static_cast<std::size_t>(n), value);
}

// Random rows of any type: their bytes, and the values that these stand for.
class RandomRows {
  public:
    RandomRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale)
        : n_cols_(n_cols),
          bytes_(static_cast<std::size_t>(n_rows) * kernels::row_bytes(type, n_cols)),
          values_(static_cast<std::size_t>(n_rows * n_cols)) {
        if (kernels::is_plain(type)) {
            const RandomWeights weights(type, n_rows * n_cols, seed, scale);
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

    const std::vector<std::byte>& bytes() const { return bytes_; }
    float at(std::int64_t row, std::int64_t col) const {
        return values_[static_cast<std::size_t>(row * n_cols_ + col)];
    }

  private:
    // So that the weights lie within about -scale .. scale, and no two groups are alike.
    void set_scales(WeightType type, std::byte* row, std::mt19937& generator, float scale) const {
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

    std::int64_t n_cols_;
    std::vector<std::byte> bytes_;
    std::vector<float> values_;
};

// A weight (rows, cols) as the device and as the reference see it; `offset`: bytes from
// an address of any alignment.
struct TestWeight {
    TestWeight(Backend& backend, WeightType type, std::int64_t rows, std::int64_t cols, std::uint32_t seed,
               std::size_t offset = 0)
        : values(type, rows, cols, seed, 0.5f),
          device(backend, behind(offset, values.bytes())),
          view{device.data() + offset, type, rows, cols} {}

    float at(std::int64_t row, std::int64_t col) const { return values.at(row, col); }
    static std::vector<std::byte> behind(std::size_t offset, std::vector<std::byte> bytes) {
        bytes.insert(bytes.begin(), offset, std::byte{0xff});
        return bytes;
    }

    RandomRows values;
    OnDevice<std::byte> device;
    kernels::WeightView view;
};

// An expected value and the sum of the magnitudes that it was made from, which bounds what rounding can do.
struct Expected {
    double value = 0;
    double magnitude = 0;
    void add(double term) {
        value += term;
        magnitude += std::abs(term);
    }
};

// Empty when all is well, else the first place that is not.
inline QString mismatch(std::span<const float> got, std::span<const Expected> want, double tolerance) {
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

#define PARITY_VERIFY(problem)                        \
    do {                                              \
        const QString found = (problem);              \
        QVERIFY2(found.isEmpty(), qPrintable(found)); \
    } while (false)

template <typename Value>
bool same_bits(std::span<const Value> a, std::span<const Value> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// ---------------------------------------------------------------- dense operations

inline void check_embed(Backend& backend, const Promise&) {
    constexpr std::int64_t kVocab = 101;
    for (const WeightType type : kTypes) {
        for (const std::int64_t hidden : {72, 200}) {
            for (const std::size_t n : {1, 5, 100}) {
                const TestWeight table(backend, type, kVocab, hidden, 1);
                std::vector<TokenId> tokens(n);
                for (std::size_t t = 0; t < n; ++t) tokens[t] = static_cast<TokenId>((t * 37 + 100) % kVocab);
                const OnDevice<TokenId> on_device(backend, tokens);
                const OnDevice<float> x(backend, filled(static_cast<std::int64_t>(n) * hidden, NAN));
                backend.embed(table.view, on_device.data(), static_cast<std::int64_t>(n), x.data());
                const std::vector<float> got = x.download();
                for (std::size_t i = 0; i < got.size(); ++i) {
                    const auto column = static_cast<std::int64_t>(i) % hidden;
                    QVERIFY(got[i] == table.at(tokens[i / static_cast<std::size_t>(hidden)], column));
                }
            }
        }
    }
}

// A row's norm, added to `want`.
inline void add_norm(const NormWeights& norm, const float* row, const float* weight, const float* bias,
                     std::vector<Expected>& want) {
    const auto n = static_cast<double>(norm.dim);
    const bool centred = norm.kind == kernels::NormKind::kLayer;
    double mean = 0;
    for (std::int64_t i = 0; i < norm.dim && centred; ++i) mean += double{row[i]} / n;
    double squares = 0;
    for (std::int64_t i = 0; i < norm.dim; ++i) squares += (double{row[i]} - mean) * (double{row[i]} - mean);
    const double factor = 1 / std::sqrt(squares / n + double{norm.eps});
    for (std::int64_t i = 0; i < norm.dim; ++i) {
        Expected value;
        value.add(double{row[i]} * factor * double{weight[i]});
        if (centred) {  // the mean's rounding is that of numbers as large as the row's
            value.add(-mean * factor * double{weight[i]});
            value.magnitude += std::sqrt(squares / n + mean * mean) * factor * std::abs(double{weight[i]});
        }
        if (bias != nullptr) value.add(double{bias[i]});
        want.push_back(value);
    }
}

inline void check_norm(Backend& backend, const Promise&) {
    using kernels::NormKind;
    for (const auto& [kind, biased] :
         {std::pair{NormKind::kRms, false}, {NormKind::kLayer, false}, {NormKind::kLayer, true}}) {
        for (const std::int64_t hidden : {72, 200, 256, 301}) {
            for (const std::int64_t n : {1, 3, 70}) {
                const OnDevice<float> x(backend, random_floats(n * hidden, 1, 3.0f));
                const OnDevice<float> weight(backend, random_floats(hidden, 2));
                const OnDevice<float> bias(backend, random_floats(hidden, 3));
                const OnDevice<float> out(backend, filled(n * hidden, NAN));
                const NormWeights norm{kind, weight.data(), biased ? bias.data() : nullptr, hidden, 1e-5f};
                backend.norm(norm, x.data(), n, out.data());
                std::vector<Expected> want;
                for (std::int64_t t = 0; t < n; ++t) {
                    add_norm(norm, x.host().data() + t * hidden, weight.host().data(),
                             biased ? bias.host().data() : nullptr, want);
                }
                PARITY_VERIFY(mismatch(out.download(), want, 1e-6));
            }
        }
    }
}

// Pieces in the middle of rows: what lies before and behind them stays.
inline void check_norm_pieces(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {20, 64, 128}) {
        for (const std::int64_t n_pieces : {1, 3, 12}) {
            for (const std::int64_t n : {1, 40}) {
                constexpr std::int64_t kBefore = 5;
                const std::int64_t stride = kBefore + n_pieces * dim + 7;
                const OnDevice<float> x(backend, random_floats(n * stride, 1, 3.0f));
                const OnDevice<float> weight(backend, random_floats(dim, 2));
                const NormWeights norm{kernels::NormKind::kRms, weight.data(), nullptr, dim, 1e-6f};
                backend.norm_pieces(norm, n, stride, n_pieces, x.data() + kBefore);
                const std::vector<float> got = x.download();
                for (std::int64_t t = 0; t < n; ++t) {
                    std::vector<float> row(got.begin() + t * stride, got.begin() + (t + 1) * stride);
                    const float* was = x.host().data() + t * stride;
                    std::vector<Expected> want;
                    for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
                        add_norm(norm, was + kBefore + piece * dim, weight.host().data(), nullptr, want);
                    }
                    PARITY_VERIFY(mismatch(std::span(row).subspan(kBefore, want.size()), want, 1e-6));
                    std::copy_n(was + kBefore, n_pieces * dim, row.begin() + kBefore);
                    QVERIFY(std::equal(row.begin(), row.end(), was));
                }
            }
        }
    }
}

inline void check_add_bias(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {1, 72, 301}) {
        for (const std::int64_t n : {1, 3, 70}) {
            const OnDevice<float> x(backend, random_floats(n * dim, 1));
            const OnDevice<float> bias(backend, random_floats(dim, 2));
            backend.add_bias(bias.data(), n, dim, x.data());
            const std::vector<float> got = x.download();
            for (std::size_t i = 0; i < got.size(); ++i) {
                QVERIFY(got[i] == x.host()[i] + bias.host()[i % static_cast<std::size_t>(dim)]);
            }
        }
    }
}

// For each number of rows.
// n inputs, rounded to 8 bits or not.
inline std::vector<double> as_multiplied(bool rounds, const float* x, std::int64_t n) {
    if (rounds) return kernels::test::rounded_inputs(x, n).values;
    return {x, x + n};
}

inline void check_product(Backend& backend, const Promise& promise, const TestWeight& weight,
                          std::initializer_list<std::int64_t> all_n) {
    const std::int64_t rows = weight.view.n_rows;
    const std::int64_t cols = weight.view.n_cols;
    for (const std::int64_t n : all_n) {
        const OnDevice<float> x(backend, random_floats(n * cols, static_cast<std::uint32_t>(n)));
        const OnDevice<float> y(backend, filled(n * rows, NAN));
        backend.multiply(weight.view, x.data(), n, y.data());
        std::vector<Expected> want(static_cast<std::size_t>(n * rows));
        for (std::int64_t t = 0; t < n; ++t) {
            const std::vector<double> in =
                as_multiplied(promise.rounds(weight.view.type), x.host().data() + t * cols, cols);
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t i = 0; i < cols; ++i) {
                    want[static_cast<std::size_t>(t * rows + r)].add(double{weight.at(r, i)} *
                                                                     in[static_cast<std::size_t>(i)]);
                }
            }
        }
        PARITY_VERIFY(mismatch(y.download(), want, promise.tolerance(n)));
    }
}

inline void check_multiply(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{37, 72}, {131, 200}, {256, 64}}) {
            check_product(backend, promise, TestWeight(backend, type, rows, cols, 3),
                          {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 130});
            if (QTest::currentTestFailed()) return;
        }
    }
}

inline void check_multiply_packed(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        check_product(backend, promise, TestWeight(backend, type, 37, 64, 3), {1, 2, 3, 4, 5, 6, 7, 8, 20});
        check_product(backend, promise, TestWeight(backend, type, 21, 192, 4), {1, 3, 8, 9});
        check_product(backend, promise, TestWeight(backend, type, 9, 320, 5), {1, 2, 5, 40});
        // Several super groups in a row of HQQ2, and more columns than a device takes at once.
        check_product(backend, promise, TestWeight(backend, type, 5, 2048 + 64, 6), {1, 2, 4, 7, 12});
        if (QTest::currentTestFailed()) return;
    }
    // Rows of a larger tensor, apart.
    TestWeight apart(backend, WeightType::kHqq3, 12, 128, 7);
    const kernels::WeightView view{apart.device.data(), WeightType::kHqq3, 6, 128,
                                   2 * kernels::row_bytes(WeightType::kHqq3, 128)};
    for (const std::int64_t n : {1, 10}) {
        const OnDevice<float> x(backend, random_floats(n * 128, 8));
        const OnDevice<float> y(backend, filled(n * 6, NAN));
        backend.multiply(view, x.data(), n, y.data());
        std::vector<Expected> want(static_cast<std::size_t>(n * 6));
        for (std::int64_t i = 0; i < n * 6 * 128; ++i) {
            const std::int64_t t = i / 128 / 6;
            want[static_cast<std::size_t>(i / 128)].add(double{apart.at(i / 128 % 6 * 2, i % 128)} *
                                                        double{x.host()[static_cast<std::size_t>(t * 128 + i % 128)]});
        }
        PARITY_VERIFY(mismatch(y.download(), want, promise.tolerance(n)));
    }
}

// Each head's own rows of the weight with its own piece of the input; what lies between the pieces stays.
inline void check_multiply_heads(Backend& backend, const Promise& promise) {
    struct Sizes {
        WeightType type;
        std::int64_t n_heads, rows, cols;
    };
    const Sizes all[] = {{WeightType::kF32, 3, 5, 20},   {WeightType::kBf16, 4, 33, 64}, {WeightType::kF16, 2, 16, 37},
                         {WeightType::kBf16, 1, 70, 72}, {WeightType::kInt8, 3, 12, 64}, {WeightType::kHqq4, 2, 9, 128},
                         {WeightType::kHqq3, 2, 20, 64}, {WeightType::kHqq2, 5, 7, 192}, {WeightType::kQ8_0, 3, 5, 96},
                         {WeightType::kQ4K, 2, 18, 256}, {WeightType::kMxfp4, 4, 33, 32}};
    for (const Sizes& sizes : all) {
        const TestWeight weight(backend, sizes.type, sizes.n_heads * sizes.rows, sizes.cols, 3);
        for (const std::int64_t n : {1, 2, 4, 7, 8, 9, 30}) {
            for (const std::int64_t gap : {0, 4}) {
                const std::int64_t x_head = sizes.cols + gap;
                const std::int64_t x_stride = sizes.n_heads * x_head + gap;
                const std::int64_t y_head = sizes.rows + gap;
                const std::int64_t y_stride = sizes.n_heads * y_head + gap;
                const OnDevice<float> x(backend, random_floats(n * x_stride, static_cast<std::uint32_t>(n)));
                const OnDevice<float> y(backend, filled(n * y_stride, 77.0f));
                backend.multiply_heads(weight.view, sizes.n_heads, x.data(), x_stride, x_head, n, y.data(), y_stride,
                                       y_head);
                const std::vector<float> got = y.download();
                for (std::int64_t place = 0; place < n * y_stride; ++place) {
                    const std::int64_t t = place / y_stride;
                    const std::int64_t head = place % y_stride / y_head;
                    const std::int64_t row = place % y_stride % y_head;
                    const float value = got[static_cast<std::size_t>(place)];
                    if (head >= sizes.n_heads || row >= sizes.rows) {
                        QCOMPARE(value, 77.0f);
                        continue;
                    }
                    Expected want;
                    for (std::int64_t i = 0; i < sizes.cols; ++i) {
                        want.add(double{weight.at(head * sizes.rows + row, i)} *
                                 double{x.host()[static_cast<std::size_t>(t * x_stride + head * x_head + i)]});
                    }
                    PARITY_VERIFY(mismatch({&value, 1}, {&want, 1}, promise.tolerance(n)));
                }
            }
        }
    }
}

inline void check_add(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        const OnDevice<float> x(backend, random_floats(n, 4));
        const OnDevice<float> y(backend, random_floats(n, 5));
        backend.add(y.data(), n, x.data(), 1.0f);
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(got[i] == x.host()[i] + y.host()[i]);
        backend.add(y.data(), n, x.data(), 0.25f);
        const std::vector<float> more = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double want = double{got[i]} + 0.25 * double{y.host()[i]};
            QVERIFY(std::abs(double{more[i]} - want) <= 1e-7 * std::abs(want) + 1e-9);
        }
    }
}

// Far beyond the cap, at it, and near nothing.
inline void check_soft_cap_and_clear(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 300, 100000}) {
        std::vector<float> values = random_floats(n, 1, 40.0f);
        values.front() = 1e4f;
        values.back() = -1e-3f;
        const OnDevice<float> x(backend, values);
        backend.soft_cap(30.0f, n, x.data());
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            QVERIFY(std::abs(double{got[i]} - 30.0 * std::tanh(double{x.host()[i]} / 30.0)) < 1e-5);
        }
        backend.clear(n / 2, x.data());
        const std::vector<float> cleared = x.download();
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            QCOMPARE(cleared[at], i < n / 2 ? 0.0f : got[at]);
        }
    }
}

// As with weights that are all 1, to the bit.
inline void check_norms_without_weights(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {5, 64, 301}) {
        constexpr std::int64_t kRows = 6;
        const std::vector<float> values = random_floats(kRows * dim, 1, 3.0f);
        const OnDevice<float> ones(backend, filled(dim, 1.0f));
        std::vector<float> results[2];
        for (const bool with : {false, true}) {
            const OnDevice<float> x(backend, values);
            const OnDevice<float> out(backend, filled(kRows * dim, NAN));
            const NormWeights norm{kernels::NormKind::kRms, with ? ones.data() : nullptr, nullptr, dim, 1e-6f};
            backend.norm(norm, x.data(), kRows, out.data());
            backend.norm_pieces(norm, 2, 3 * dim, 2, x.data());
            results[with ? 1 : 0] = out.download();
            const std::vector<float> pieces = x.download();
            results[with ? 1 : 0].insert(results[with ? 1 : 0].end(), pieces.begin(), pieces.end());
        }
        QVERIFY(same_bits<float>(results[0], results[1]));
        QVERIFY(std::isfinite(results[0].front()));
    }
}

inline void check_scale_and_clamp(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        const OnDevice<float> x(backend, random_floats(n, 4));
        backend.scale(3.0f, n, x.data());
        backend.clamp(0.5f, n, x.data());
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            QVERIFY(got[i] == std::clamp(3.0f * x.host()[i], -0.5f, 0.5f));
        }
    }
}

inline void check_add_gated(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {1, 72, 301}) {
        for (const std::int64_t n : {1, 3, 70}) {
            const OnDevice<float> gate(backend, random_floats(dim, 1));
            const OnDevice<float> input(backend, random_floats(n * dim, 2));
            const OnDevice<float> y(backend, random_floats(n * dim, 3));
            const OnDevice<float> x(backend, random_floats(n * dim, 4));
            backend.add_gated(gate.data(), input.data(), y.data(), n, dim, x.data());
            const std::vector<float> got = x.download();
            for (std::int64_t t = 0; t < n; ++t) {
                double logit = 0;
                for (std::int64_t i = 0; i < dim; ++i) {
                    logit += double{gate.host()[static_cast<std::size_t>(i)]} *
                             double{input.host()[static_cast<std::size_t>(t * dim + i)]};
                }
                for (std::int64_t i = 0; i < dim; ++i) {
                    const auto at = static_cast<std::size_t>(t * dim + i);
                    const double want = double{x.host()[at]} + double{y.host()[at]} / (1.0 + std::exp(-logit));
                    QVERIFY(std::abs(double{got[at]} - want) <= 1e-5 * (std::abs(want) + 1.0));
                }
            }
        }
    }
}

// ---------------------------------------------------------------- attention

// Blocks full of random rows.
inline std::vector<std::byte> random_cache(const kernels::KvShape& shape, std::int64_t n_blocks, std::uint32_t seed) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n_blocks * shape.block_bytes()));
    std::byte* to = bytes.data();
    const auto fill = [&](std::int64_t n_rows, std::int64_t n, std::int64_t stride) {
        const std::vector<float> values = random_floats(n_rows * n, seed++);
        for (std::int64_t r = 0; r < n_rows; ++r, to += stride)
            kernels::store_kv_row(values.data() + r * n, n, shape.type, to);
    };
    for (std::int64_t i = 0; i < n_blocks * shape.n_layers; ++i) {
        fill(shape.n_kv_heads * kernels::kKvBlockTokens, shape.key_dim, shape.key_stride());
        if (!shape.values_in_keys)
            fill(shape.n_kv_heads * kernels::kKvBlockTokens, shape.value_dim, shape.value_stride());
    }
    return bytes;
}

// A KV cache with random contents in every block, and sequences whose blocks lie anywhere in it: some of them in host
// memory, where the device can use that.
class TestSequences {
  public:
    struct Length {
        std::int64_t past;
        std::int64_t n_tokens;
    };
    enum class Blocks { kOnDevice, kEverywhere };

    TestSequences(Backend& backend, const AttentionShape& shape, std::span<const Length> lengths, std::int64_t n_layers,
                  Blocks where = Blocks::kEverywhere, kernels::KvType type = kernels::KvType::kF32)
        : shape_(kernels::kv_shape_of(n_layers, shape, type)) {
        std::vector<std::size_t> n_blocks;
        for (const Length& length : lengths) {
            n_blocks.push_back(static_cast<std::size_t>(length.past + length.n_tokens - 1) / kernels::kKvBlockTokens +
                               1);
        }
        const std::size_t n_all = std::accumulate(n_blocks.begin(), n_blocks.end(), std::size_t{2});
        std::vector<std::size_t> order(n_all);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), std::mt19937(7));
        on_device_ =
            std::make_unique<OnDevice<std::byte>>(backend, random_cache(shape_, static_cast<std::int64_t>(n_all), 8));
        in_host_.assign(n_all, 0);
        std::byte* mapped = nullptr;
        if (where == Blocks::kEverywhere) {
            host_ = PinnedHost<std::byte>(backend, on_device_->host().size(), "a test");
            std::copy(on_device_->host().begin(), on_device_->host().end(), host_.host());
            if (host_.pinned()) mapped = backend.mapped(host_.host());
        }
        for (std::size_t b = 1; mapped != nullptr && b < n_all; b += 3) in_host_[b] = 1;

        std::size_t taken = 0;
        tables_.reserve(lengths.size());
        for (std::size_t s = 0; s < lengths.size(); ++s) {
            Table& table = tables_.emplace_back();
            table.blocks.assign(order.begin() + static_cast<std::ptrdiff_t>(taken),
                                order.begin() + static_cast<std::ptrdiff_t>(taken + n_blocks[s]));
            taken += n_blocks[s];
            std::vector<std::byte*> addresses;
            // What lies before the first token's window is not there any more.
            const std::int64_t first_seen = shape.window > 0 ? lengths[s].past + 1 - shape.window : 0;
            for (const std::size_t block : table.blocks) {
                const auto end = static_cast<std::int64_t>(addresses.size() + 1) * kernels::kKvBlockTokens;
                const bool gone = end <= first_seen;
                std::byte* const memory = in_host_[block] != 0 ? mapped : on_device_->data();
                addresses.push_back(gone ? nullptr : memory + static_cast<std::int64_t>(block) * shape_.block_bytes());
                table.in_host.push_back(gone ? 0 : in_host_[block]);
            }
            table.addresses = std::make_unique<OnDevice<std::byte*>>(backend, std::move(addresses));
            AttentionSegment segment;
            segment.first_row = n_rows_;
            segment.n_tokens = lengths[s].n_tokens;
            segment.past = lengths[s].past;
            segment.blocks = table.addresses->host();
            segment.device_blocks = table.addresses->data();
            segment.in_host = table.in_host;
            segments_.push_back(segment);
            n_rows_ += lengths[s].n_tokens;
        }
    }

    const kernels::KvShape& shape() const { return shape_; }
    std::span<const AttentionSegment> segments() const { return segments_; }
    std::int64_t n_rows() const { return n_rows_; }

    // All blocks, one after the other: as they were made, and as they are.
    const std::vector<std::byte>& made() const { return on_device_->host(); }
    std::vector<std::byte> contents() const {
        std::vector<std::byte> all = on_device_->download();
        for (std::size_t b = 0; b < in_host_.size(); ++b) {
            if (in_host_[b] == 0) continue;
            const auto first = static_cast<std::ptrdiff_t>(b) * shape_.block_bytes();
            std::copy_n(host_.host() + first, shape_.block_bytes(), all.begin() + first);
        }
        return all;
    }

    // Where a key (part 0) or value (part 1) of a segment lies among them.
    std::size_t place(std::int64_t layer, std::int64_t part, std::int64_t kv_head, const AttentionSegment& segment,
                      std::int64_t key) const {
        const std::size_t s = static_cast<std::size_t>(&segment - segments_.data());
        const std::size_t block = tables_[s].blocks[static_cast<std::size_t>(key / kernels::kKvBlockTokens)];
        const std::int64_t first =
            part == 0 ? shape_.keys_offset(layer, kv_head) : shape_.values_offset(layer, kv_head);
        const std::int64_t stride = part == 0 ? shape_.key_stride() : shape_.value_stride();
        return static_cast<std::size_t>(static_cast<std::int64_t>(block) * shape_.block_bytes() + first +
                                        key % kernels::kKvBlockTokens * stride);
    }
    // The same as it was made, widened.
    std::vector<float> row(std::int64_t layer, std::int64_t part, std::int64_t kv_head, const AttentionSegment& segment,
                           std::int64_t key) const {
        const bool is_value = part == 1 && !shape_.values_in_keys;
        std::vector<float> values(static_cast<std::size_t>(is_value ? shape_.value_dim : shape_.key_dim));
        kernels::load_kv_row(made().data() + place(layer, part, kv_head, segment, key),
                             static_cast<std::int64_t>(values.size()), shape_.type, values.data());
        return values;
    }

  private:
    struct Table {
        std::vector<std::size_t> blocks;
        std::vector<std::uint8_t> in_host;
        std::unique_ptr<OnDevice<std::byte*>> addresses;
    };

    kernels::KvShape shape_;
    mutable PinnedHost<std::byte> host_;  // of blocks that lie there; before the rest, which waits for the device
    std::unique_ptr<OnDevice<std::byte>> on_device_;
    std::vector<std::uint8_t> in_host_;  // by block
    std::vector<Table> tables_;
    std::vector<AttentionSegment> segments_;
    std::int64_t n_rows_ = 0;
};

inline std::vector<AttentionShape> grouped_shapes() {
    std::vector<AttentionShape> shapes = {grouped_attention(4, 2, 16),       grouped_attention(8, 2, 64),
                                          grouped_attention(2, 2, 80),       grouped_attention(4, 1, 128),
                                          grouped_attention(8, 2, 64, 50),   grouped_attention(4, 4, 16, 64),
                                          grouped_attention(4, 2, 128, 100), grouped_attention(2, 1, 512)};
    AttentionShape partly_rotated = grouped_attention(4, 2, 64);
    partly_rotated.rotary_dim = 16;
    shapes.push_back(partly_rotated);
    partly_rotated.rotary_first = 30;
    partly_rotated.scale = 0.3f;
    shapes.push_back(partly_rotated);
    AttentionShape smaller_values = grouped_attention(6, 2, 40);
    smaller_values.value_dim = 24;
    shapes.push_back(smaller_values);
    AttentionShape larger_values = grouped_attention(2, 2, 18, 70);
    larger_values.value_dim = 33;
    shapes.push_back(larger_values);
    return shapes;
}

inline std::vector<AttentionShape> latent_shapes() {
    return {latent_attention(9, 48, 16), latent_attention(1, 20, 6), latent_attention(3, 33, 10, 50),
            latent_attention(2, 512, 64)};
}

inline std::vector<AttentionShape> attention_shapes() {
    std::vector<AttentionShape> shapes = grouped_shapes();
    for (const AttentionShape& shape : latent_shapes()) shapes.push_back(shape);
    return shapes;
}

struct KvCase {
    AttentionShape shape;
    kernels::KvType type;
};

// Each shape with float32, and of each kind one with the other types: they differ in how
// rows are read and written.
inline std::vector<KvCase> kv_cases(const std::vector<AttentionShape>& shapes) {
    std::vector<KvCase> cases;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        cases.push_back({shapes[i], kernels::KvType::kF32});
        if (i % 3 != 1) continue;
        cases.push_back({shapes[i], kernels::KvType::kBf16});
        cases.push_back({shapes[i], kernels::KvType::kInt8});
    }
    return cases;
}

// Of the rows that the queries are taken from.
inline std::int64_t query_stride(const AttentionShape& shape) {
    return shape.values_in_keys ? shape.query_width() : shape.qkv_width();
}

inline const std::vector<std::vector<TestSequences::Length>>& attention_steps() {
    static const std::vector<std::vector<TestSequences::Length>> steps = {{{0, 1}},
                                                                          {{0, 70}},
                                                                          {{63, 2}},
                                                                          {{200, 1}},
                                                                          {{130, 65}},
                                                                          {{10, 1}, {200, 1}, {64, 1}, {127, 1}},
                                                                          {{0, 5}, {100, 33}, {63, 1}}};
    return steps;
}

// What rotating a head's row gives at place i, and what it is when it is not rotated.
inline Expected rotated_value(const AttentionShape& shape, const float* head, std::int64_t i, const float* cos,
                              const float* sin) {
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t place = i - shape.rotary_first;
    Expected value;
    if (place < 0 || place >= shape.rotary_dim) {
        value.add(double{head[i]});
        return value;
    }
    const std::int64_t pair = place % half;
    const float* first = head + shape.rotary_first + pair;
    value.add(double{first[place < half ? 0 : half]} * double{cos[pair]});
    value.add((place < half ? -1 : 1) * double{first[place < half ? half : 0]} * double{sin[pair]});
    return value;
}

inline void check_rotate_and_store(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayers = 3;
    constexpr std::int64_t kLayer = 1;
    for (const auto& [shape, type] : kv_cases(grouped_shapes())) {
        for (const auto& lengths : attention_steps()) {
            const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
            const std::int64_t half = shape.rotary_dim / 2;
            const std::int64_t width = shape.qkv_width();
            const std::int64_t rotated_width = (shape.n_heads + shape.n_kv_heads) * shape.key_dim;
            const OnDevice<float> qkv(backend, random_floats(sequences.n_rows() * width, 9));
            const OnDevice<float> cos(backend, random_floats(sequences.n_rows() * half, 10));
            const OnDevice<float> sin(backend, random_floats(sequences.n_rows() * half, 11));
            backend.rotate_and_store(kLayer, shape, sequences.segments(), cos.data(), sin.data(), qkv.data(),
                                     sequences.shape());

            std::vector<Expected> want;
            for (std::int64_t row = 0; row < sequences.n_rows(); ++row) {
                const float* values = qkv.host().data() + row * width;
                for (std::int64_t i = 0; i < width; ++i) {
                    if (i < rotated_width) {
                        want.push_back(rotated_value(shape, values + i / shape.key_dim * shape.key_dim,
                                                     i % shape.key_dim, cos.host().data() + row * half,
                                                     sin.host().data() + row * half));
                    } else {
                        want.emplace_back();
                        want.back().add(double{values[i]});
                    }
                }
            }
            const std::vector<float> rotated = qkv.download();
            PARITY_VERIFY(mismatch(rotated, want, 1e-6));

            // The cache holds what qkv now does, and nothing else has changed.
            std::vector<std::byte> cache = sequences.made();
            for (const AttentionSegment& segment : sequences.segments()) {
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    const float* row = rotated.data() + (segment.first_row + t) * width;
                    for (std::int64_t head = 0; head < shape.n_kv_heads; ++head) {
                        const auto place = [&](std::int64_t part) {
                            return cache.data() + sequences.place(kLayer, part, head, segment, segment.past + t);
                        };
                        kernels::store_kv_row(row + (shape.n_heads + head) * shape.key_dim, shape.key_dim, type,
                                              place(0));
                        kernels::store_kv_row(row + rotated_width + head * shape.value_dim, shape.value_dim, type,
                                              place(1));
                    }
                }
            }
            const std::vector<std::byte> got = sequences.contents();
            QVERIFY(same_bits<std::byte>(got, cache));
        }
    }
}

inline void check_rotate_and_store_latent(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayers = 3;
    constexpr std::int64_t kLayer = 2;
    constexpr std::int64_t kNope = 12;
    for (const auto& [shape, type] : kv_cases(latent_shapes())) {
        for (const auto& lengths : attention_steps()) {
            const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
            const std::int64_t n = sequences.n_rows();
            const std::int64_t half = shape.rotary_dim / 2;
            const std::int64_t q_dim = kNope + shape.rotary_dim;
            const OnDevice<float> q(backend, random_floats(n * shape.n_heads * q_dim, 9));
            const OnDevice<float> latent(backend, random_floats(n * shape.key_dim, 12));
            const OnDevice<float> queries(backend, random_floats(n * shape.query_width(), 13));
            const OnDevice<float> cos(backend, random_floats(n * half, 10));
            const OnDevice<float> sin(backend, random_floats(n * half, 11));
            backend.rotate_and_store_latent(kLayer, shape, sequences.segments(), cos.data(), sin.data(), q.data(),
                                            kNope, latent.data(), queries.data(), sequences.shape());

            AttentionShape within_q = shape;  // there the rotary part is behind the other
            within_q.rotary_first = kNope;
            std::vector<Expected> want_queries;
            std::vector<Expected> want_latent;
            for (std::int64_t row = 0; row < n; ++row) {
                const float* c = cos.host().data() + row * half;
                const float* s = sin.host().data() + row * half;
                for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                    const float* from = q.host().data() + (row * shape.n_heads + head) * q_dim;
                    for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                        if (i >= shape.rotary_first) {
                            want_queries.push_back(rotated_value(within_q, from, kNope + i - shape.rotary_first, c, s));
                        } else {  // the latent part is there already
                            want_queries.emplace_back();
                            want_queries.back().add(double{queries.host()[want_queries.size() - 1]});
                        }
                    }
                }
                for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                    want_latent.push_back(rotated_value(shape, latent.host().data() + row * shape.key_dim, i, c, s));
                }
            }
            const std::vector<float> rotated = latent.download();
            PARITY_VERIFY(mismatch(rotated, want_latent, 1e-6));
            PARITY_VERIFY(mismatch(queries.download(), want_queries, 1e-6));

            std::vector<std::byte> cache = sequences.made();
            for (const AttentionSegment& segment : sequences.segments()) {
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    kernels::store_kv_row(rotated.data() + (segment.first_row + t) * shape.key_dim, shape.key_dim, type,
                                          cache.data() + sequences.place(kLayer, 0, 0, segment, segment.past + t));
                }
            }
            const std::vector<std::byte> got = sequences.contents();
            QVERIFY(same_bits<std::byte>(got, cache));
        }
    }
}

inline void check_attend(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayers = 2;
    constexpr std::int64_t kLayer = 1;
    int n_steps = 0;
    for (const auto& [plain, type] : kv_cases(attention_shapes())) {
        const OnDevice<float> sinks(backend, random_floats(plain.n_heads, 13, 4.0f));
        for (const auto& lengths : attention_steps()) {
            AttentionShape shape = plain;
            if (n_steps++ % 2 == 0) shape.sinks = sinks.data();
            const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
            const std::int64_t stride = query_stride(shape);
            const OnDevice<float> queries(backend, random_floats(sequences.n_rows() * stride, 12, 2.0f));
            const OnDevice<float> out(backend, filled(sequences.n_rows() * shape.output_width(), NAN));
            backend.attend(kLayer, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data());

            std::vector<Expected> want(out.host().size());
            for (const AttentionSegment& segment : sequences.segments()) {
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    const std::int64_t row = segment.first_row + t;
                    const std::int64_t last = segment.past + t;
                    const std::int64_t first =
                        shape.window > 0 ? std::max<std::int64_t>(0, last + 1 - shape.window) : 0;
                    for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                        const std::int64_t kv_head = head / (shape.n_heads / shape.n_kv_heads);
                        const float* q = queries.host().data() + row * stride + head * shape.key_dim;
                        std::vector<double> scores;
                        for (std::int64_t key = first; key <= last; ++key) {
                            const std::vector<float> k = sequences.row(kLayer, 0, kv_head, segment, key);
                            double score = 0;
                            for (std::int64_t i = 0; i < shape.key_dim; ++i)
                                score += double{q[i]} * double{k[static_cast<std::size_t>(i)]};
                            scores.push_back(score * double{shape.scale});
                        }
                        double largest = *std::max_element(scores.begin(), scores.end());
                        double sum = 0;
                        if (shape.sinks != nullptr) {
                            const double sink = sinks.host()[static_cast<std::size_t>(head)];
                            largest = std::max(largest, sink);
                            sum = std::exp(sink - largest);
                        }
                        for (double& score : scores) sum += score = std::exp(score - largest);
                        const std::int64_t place = row * shape.output_width() + head * shape.value_dim;
                        for (std::int64_t key = first; key <= last; ++key) {
                            const std::vector<float> v = sequences.row(kLayer, 1, kv_head, segment, key);
                            const double probability = scores[static_cast<std::size_t>(key - first)] / sum;
                            for (std::int64_t i = 0; i < shape.value_dim; ++i) {
                                want[static_cast<std::size_t>(place + i)].add(probability *
                                                                              double{v[static_cast<std::size_t>(i)]});
                            }
                        }
                    }
                }
            }
            // A score's rounding moves the whole softmax, so a little more than for a plain sum.
            PARITY_VERIFY(mismatch(out.download(), want, 2 * Promise::kTolerance));
        }
    }
}

inline void check_multiply_sigmoid(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        const OnDevice<float> x(backend, random_floats(n, 4)), gate(backend, random_floats(n, 5, 8.0f));
        backend.multiply_sigmoid(gate.data(), n, x.data());
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double want = double{x.host()[i]} / (1 + std::exp(-double{gate.host()[i]}));
            QVERIFY(std::abs(double{got[i]} - want) <= 1e-6 * std::abs(want) + 1e-30);
        }
    }
}

// What DeltaNetShape says, in double. `kept` is what a layer keeps of the sequence.
inline std::vector<double> delta_net_rows(const kernels::DeltaNetShape& shape, std::span<const float> qkv,
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

// Two sequences in a step, one with a state and one that begins; the first goes on in a
// second step.
inline void check_delta_net(Backend& backend, const Promise&) {
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
            backend.delta_net(kLayer, shape, segments, qkv.data(), gates.data(), z.data(), kv, out.data());
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

inline void check_copy_kv_block(Backend& backend, const Promise&) {
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
                backend.copy_kv_block(shape, from, target.type, to, n_tokens);
            } else {  // to host memory and back
                backend.copy_kv_block(shape, from, target.type, in_host, n_tokens);
                backend.copy_kv_block(target, in_host, target.type, to, n_tokens);
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

// Where the blocks lie changes no bit of the result.
inline void check_blocks_in_host_memory(Backend& backend, const Promise&) {
    using Blocks = TestSequences::Blocks;
    for (const AttentionShape& shape : {grouped_attention(8, 2, 64), grouped_attention(4, 2, 128, 100),
                                        grouped_attention(4, 4, 18), latent_attention(3, 48, 16)}) {
        for (const auto& lengths : attention_steps()) {
            std::vector<float> results[2];
            for (const Blocks where : {Blocks::kOnDevice, Blocks::kEverywhere}) {
                const TestSequences sequences(backend, shape, lengths, 1, where);
                const std::int64_t stride = query_stride(shape);
                const OnDevice<float> queries(backend, random_floats(sequences.n_rows() * stride, 21, 2.0f));
                const OnDevice<float> out(backend, filled(sequences.n_rows() * shape.output_width(), NAN));
                backend.attend(0, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data());
                results[where == Blocks::kOnDevice ? 0 : 1] = out.download();
            }
            QVERIFY(same_bits<float>(results[0], results[1]));
        }
    }
}

// ---------------------------------------------------------------- router and experts

// Against the reference in double precision. Where two experts are as good as equal, rounding may choose either.
inline void check_routing(Backend& backend, const kernels::RouterSpec& spec, std::int64_t n, bool biased,
                          bool scaled = false) {
    constexpr std::int64_t kHidden = 72;
    const std::int64_t n_experts = spec.n_experts;
    const std::int64_t n_active = spec.n_active;
    const OnDevice<float> gate(backend, random_floats(n_experts * kHidden, 14, 0.7f));
    const OnDevice<float> bias(backend, random_floats(n_experts, 16, 0.3f));
    const OnDevice<float> scale(backend, random_floats(n_experts, 17));
    const OnDevice<float> x(backend, random_floats(n * kHidden, 15));
    const OnDevice<std::int32_t> experts(backend,
                                         std::vector<std::int32_t>(static_cast<std::size_t>(n * n_active), -1));
    const OnDevice<float> weights(backend, filled(n * n_active, NAN));
    const kernels::RouterArrays arrays{gate.data(), biased ? bias.data() : nullptr, scaled ? scale.data() : nullptr};
    backend.route(spec, arrays, x.data(), n, kHidden, experts.data(), weights.data());
    const std::vector<std::int32_t> got = experts.download();
    const std::vector<float> got_weights = weights.download();
    for (std::int64_t t = 0; t < n; ++t) {
        std::vector<double> logits(static_cast<std::size_t>(n_experts), 0.0);
        for (std::int64_t e = 0; e < n_experts; ++e) {
            for (std::int64_t i = 0; i < kHidden; ++i) {
                logits[static_cast<std::size_t>(e)] += double{gate.host()[static_cast<std::size_t>(e * kHidden + i)]} *
                                                       double{x.host()[static_cast<std::size_t>(t * kHidden + i)]};
            }
        }
        const kernels::test::Routing want =
            kernels::test::expected_routing(spec, logits, biased ? bias.host() : std::vector<float>());
        for (std::size_t a = 0; a < static_cast<std::size_t>(n_active); ++a) {
            const std::size_t place = static_cast<std::size_t>(t * n_active) + a;
            QCOMPARE(got[place], want.experts[a]);
            const double factor = scaled ? double{scale.host()[static_cast<std::size_t>(want.experts[a])]} : 1.0;
            QVERIFY(std::abs(double{got_weights[place]} - factor * want.weights[a]) < 2e-5 * (1 + want.weights[a]));
        }
    }
}

inline void check_route(Backend& backend, const Promise&) {
    for (const auto& [n_experts, n_active] : {std::pair<int, int>{8, 2}, {16, 4}, {5, 1}, {3, 3}}) {
        kernels::RouterSpec spec;
        spec.n_experts = n_experts;
        spec.n_active = n_active;
        for (const std::int64_t n : {1, 2, 9, 100}) {
            check_routing(backend, spec, n, false);
            if (QTest::currentTestFailed()) return;
        }
    }
    for (const kernels::RouterSpec& spec : kernels::test::router_specs()) {
        for (const bool biased : {false, true}) {
            for (const bool scaled : {false, true}) {
                check_routing(backend, spec, 5, biased, scaled);
                if (QTest::currentTestFailed()) return;
            }
        }
    }
}

// Experts whose gates are the same, or nothing that can be compared: the lower index first, and never one that the
// model has not.
inline void check_route_of_equals(Backend& backend, const Promise&) {
    constexpr std::int64_t kHidden = 8;
    for (kernels::RouterSpec spec : kernels::test::router_specs()) {
        for (const float value : {0.25f, NAN}) {
            const OnDevice<float> gate(backend, filled(spec.n_experts * kHidden, value));
            const OnDevice<float> x(backend, filled(kHidden, 0.5f));
            const OnDevice<std::int32_t> experts(backend, std::vector<std::int32_t>(64, -1));
            const OnDevice<float> weights(backend, filled(64, NAN));
            // Also more experts than the groups in use have.
            for (const std::int32_t n_active : {spec.n_active, spec.n_experts}) {
                spec.n_active = n_active;
                backend.route(spec, {gate.data()}, x.data(), 1, kHidden, experts.data(), weights.data());
                const std::vector<std::int32_t> got = experts.download();
                const std::vector<float> got_weights = weights.download();
                for (std::int32_t a = 0; a < n_active; ++a) {
                    QCOMPARE(got[static_cast<std::size_t>(a)], a);
                    QVERIFY(std::isfinite(got_weights[static_cast<std::size_t>(a)]));
                }
            }
        }
    }
}

// Experts of one shape on the device, and steps over them.
class TestExperts {
  public:
    TestExperts(Backend& backend, WeightType type, std::int64_t hidden, std::int64_t ffn, std::size_t n_experts)
        : TestExperts(backend, std::vector<WeightType>(n_experts, type), hidden, ffn) {}
    TestExperts(Backend& backend, const std::vector<WeightType>& types, std::int64_t hidden, std::int64_t ffn,
                const kernels::ExpertSpec& spec = {})
        : TestExperts(backend, layouts_of(types, hidden, ffn, spec)) {}
    // Their hidden_dim is the same.
    TestExperts(Backend& backend, const std::vector<kernels::ExpertLayout>& layouts)
        : backend_(backend), hidden_(layouts.front().hidden_dim) {
        for (const kernels::ExpertLayout& layout : layouts) {
            const auto seed = static_cast<std::uint32_t>(20 + 3 * experts_.size());
            const auto scale = 1.0f / std::sqrt(static_cast<float>(hidden_));
            std::vector<std::byte> block(layout.bytes());
            const kernels::ExpertView own{block.data(), layout};
            const auto rows = [&](const kernels::WeightView& part, std::uint32_t n) {
                RandomRows random(part.type, part.n_rows, part.n_cols, seed + n, scale);
                const std::size_t row_bytes = kernels::row_bytes(part.type, part.n_cols);
                for (std::int64_t r = 0; r < part.n_rows; ++r) {
                    std::memcpy(block.data() + (part.row(r) - block.data()),
                                random.bytes().data() + static_cast<std::size_t>(r) * row_bytes, row_bytes);
                }
                return random;
            };
            Expert expert{layout, rows(own.gate(), 0), rows(own.up(), 1), rows(own.down(), 2), {}, nullptr};
            expert.biases = random_floats(2 * layout.ffn_dim + hidden_, seed + 100, 0.8f);
            if (layout.spec.biases) {
                std::memcpy(block.data() + layout.bias_offset(), expert.biases.data(), layout.bias_bytes());
            } else {
                std::fill(expert.biases.begin(), expert.biases.end(), 0.0f);
            }
            expert.block = std::make_unique<OnDevice<std::byte>>(backend, std::move(block));
            experts_.push_back(std::move(expert));
        }
    }

    kernels::ExpertView view(std::size_t expert) const {
        return {experts_[expert].block->data(), experts_[expert].layout};
    }

    // Runs the calls (expert, rows) in one step. Rows are in the calls' order, `gap` rows of nobody before each call.
    struct Share {
        std::size_t expert;
        std::vector<std::int32_t> tokens;
    };
    struct Result {
        std::vector<float> rows;
        std::vector<std::int64_t> first_rows;
    };
    Result run(std::span<const Share> shares, const OnDevice<float>& inputs, std::int64_t gap) const {
        std::vector<ExpertCall> calls;
        std::vector<std::int32_t> row_token;
        Result result;
        for (const Share& share : shares) {
            row_token.resize(row_token.size() + static_cast<std::size_t>(gap), 0);
            result.first_rows.push_back(static_cast<std::int64_t>(row_token.size()));
            calls.push_back(
                {view(share.expert), result.first_rows.back(), static_cast<std::int64_t>(share.tokens.size())});
            row_token.insert(row_token.end(), share.tokens.begin(), share.tokens.end());
        }
        const OnDevice<std::int32_t> tokens(backend_, row_token);
        const OnDevice<float> out(backend_, filled(static_cast<std::int64_t>(row_token.size()) * hidden_, 77.0f));
        backend_.experts(calls, inputs.data(), tokens.data(), out.data());
        result.rows = out.download();
        return result;
    }

    // Rows of one token and expert each, as the device finds them in a table.
    std::vector<float> choose(const std::vector<std::int32_t>& chosen, const std::vector<std::int32_t>& row_token,
                              const OnDevice<float>& inputs) const {
        std::vector<std::byte*> addresses;
        for (const Expert& expert : experts_) addresses.push_back(expert.block->data());
        const OnDevice<std::byte*> blocks(backend_, addresses);
        const OnDevice<std::int32_t> experts(backend_, chosen);
        const OnDevice<std::int32_t> tokens(backend_, row_token);
        const OnDevice<float> out(backend_, filled(static_cast<std::int64_t>(chosen.size()) * hidden_, 77.0f));
        backend_.chosen_experts(experts_.front().layout, blocks.data(), experts.data(),
                                static_cast<std::int64_t>(chosen.size()), inputs.data(), tokens.data(), out.data());
        return out.download();
    }

    // Of a row of an expert that has n_rows of them.
    std::vector<Expected> expected(std::size_t expert, const float* x, const Promise& promise,
                                   std::int64_t n_rows) const {
        const Expert& e = experts_[expert];
        const std::int64_t ffn = e.layout.ffn_dim;
        const kernels::ExpertSpec& spec = e.layout.spec;
        const float* biases = e.biases.data();
        const auto inputs_for = [&](WeightType type) {
            return as_multiplied(promise.rounds(type, e.layout, n_rows), x, hidden_);
        };
        const std::vector<double> gate_in = inputs_for(e.layout.gate);
        const std::vector<double> up_in = inputs_for(e.layout.up);
        std::vector<double> activations;
        std::vector<double> spreads;
        for (std::int64_t j = 0; j < ffn; ++j) {
            Expected gate;
            Expected up;
            gate.add(double{biases[j]});
            up.add(double{biases[ffn + j]});
            for (std::int64_t i = 0; i < hidden_; ++i) {
                gate.add(double{e.gate.at(j, i)} * gate_in[static_cast<std::size_t>(i)]);
                up.add(double{e.up.at(j, i)} * up_in[static_cast<std::size_t>(i)]);
            }
            const double activated = kernels::test::gate_in_double(spec, gate.value);
            const double factor = kernels::test::up_in_double(spec, up.value);
            // How far rounding inside the two sums can move the activation (its slope is
            // at most 1.2).
            const bool adds_one = spec.activation == kernels::Activation::kClamped;
            activations.push_back(activated * factor);
            spreads.push_back(1.2 * gate.magnitude * std::abs(factor) +
                              std::abs(activated) * (up.magnitude + (adds_one ? 1 : 0)));
        }
        if (promise.rounds(e.layout.down, e.layout, n_rows)) round_activations(activations, spreads);
        std::vector<Expected> out(static_cast<std::size_t>(hidden_));
        for (std::int64_t i = 0; i < hidden_; ++i) {
            Expected& value = out[static_cast<std::size_t>(i)];
            value.add(double{biases[2 * ffn + i]});
            for (std::int64_t j = 0; j < ffn; ++j) {
                const double column = double{e.layout.down_rows_are_outputs ? e.down.at(i, j) : e.down.at(j, i)};
                value.value += activations[static_cast<std::size_t>(j)] * column;
                value.magnitude += spreads[static_cast<std::size_t>(j)] * std::abs(column);
            }
        }
        return out;
    }

    std::span<const float> row(const Result& result, std::size_t share, std::size_t row) const {
        const auto first = static_cast<std::size_t>(result.first_rows[share]) + row;
        return std::span(result.rows)
            .subspan(first * static_cast<std::size_t>(hidden_), static_cast<std::size_t>(hidden_));
    }

  private:
    struct Expert {
        kernels::ExpertLayout layout;
        RandomRows gate, up, down;
        std::vector<float> biases;  // 0 where there are none
        std::unique_ptr<OnDevice<std::byte>> block;
    };

    // To 8 bits; the spread of what rounding before may bring to another code is that code's step.
    static void round_activations(std::vector<double>& activations, std::vector<double>& spreads) {
        constexpr double kTolerance = Promise::kTolerance;
        const std::vector<float> floats(activations.begin(), activations.end());
        const auto rounded = kernels::test::rounded_inputs(floats.data(), static_cast<std::int64_t>(floats.size()));
        double widest = 0;  // of 32, since they share a scale
        for (std::size_t j = 0; j < floats.size(); ++j) {
            if (j % 32 == 0) widest = *std::max_element(&spreads[j], &spreads[j] + 32);
            activations[j] = rounded.values[j];
            const double step = rounded.steps[j];
            const double moves = kTolerance * (spreads[j] + widest) + 1e-6 * step;
            spreads[j] += widest + (rounded.margins[j] * step < moves ? step / kTolerance : 0);
        }
    }
    static std::vector<kernels::ExpertLayout> layouts_of(const std::vector<WeightType>& types, std::int64_t hidden,
                                                         std::int64_t ffn, const kernels::ExpertSpec& spec) {
        std::vector<kernels::ExpertLayout> layouts;
        for (const WeightType type : types) layouts.push_back(kernels::expert_layout(type, hidden, ffn, spec));
        return layouts;
    }

    Backend& backend_;
    std::int64_t hidden_;
    std::vector<Expert> experts_;
};

// n different tokens of 64, in order when `apart` is 1, else scattered.
inline std::vector<std::int32_t> some_tokens(std::int64_t n, std::int32_t first, std::int32_t apart) {
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < n; ++i) tokens.push_back((first + i * apart) % 64);
    return tokens;
}

// One step's results, and the rows of nobody before each call.
inline void check_step(const Promise& promise, const TestExperts& experts, std::int64_t hidden,
                       const OnDevice<float>& inputs, const std::vector<TestExperts::Share>& shares) {
    const TestExperts::Result result = experts.run(shares, inputs, 2);
    for (std::size_t s = 0; s < shares.size(); ++s) {
        for (std::size_t r = 0; r < shares[s].tokens.size(); ++r) {
            const float* x = inputs.host().data() + shares[s].tokens[r] * hidden;
            const auto n_rows = static_cast<std::int64_t>(shares[s].tokens.size());
            PARITY_VERIFY(mismatch(experts.row(result, s, r), experts.expected(shares[s].expert, x, promise, n_rows),
                                   promise.tolerance(n_rows)));
        }
        for (std::int64_t i = -2 * hidden; i < 0; ++i) {
            QCOMPARE(result.rows[static_cast<std::size_t>(result.first_rows[s] * hidden + i)], 77.0f);
        }
    }
}

inline void check_experts(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        for (const auto& [hidden, ffn] :
             {std::pair<std::int64_t, std::int64_t>{72, 33}, {200, 130}, {64, 256}, {8, 5}}) {
            const TestExperts experts(backend, type, hidden, ffn, 4);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 30));
            std::vector<std::vector<TestExperts::Share>> steps;
            for (std::int64_t n = 1; n <= 9; ++n) steps.push_back({{0, some_tokens(n, 5, 7)}});
            steps.push_back({{1, some_tokens(1, 63, 1)}, {3, some_tokens(1, 0, 1)}});
            steps.push_back({{2, some_tokens(3, 0, 1)},
                             {0, some_tokens(40, 1, 3)},
                             {1, some_tokens(8, 9, 5)},
                             {3, some_tokens(12, 0, 1)}});
            for (const auto& shares : steps) {
                check_step(promise, experts, hidden, inputs, shares);
                if (QTest::currentTestFailed()) return;
            }
        }
    }
}

inline void check_experts_packed(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        const auto check = [&](std::int64_t hidden, std::int64_t ffn,
                               const std::vector<std::vector<TestExperts::Share>>& steps) {
            const TestExperts experts(backend, type, hidden, ffn, 2);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 30));
            for (const auto& shares : steps) {
                if (!QTest::currentTestFailed()) check_step(promise, experts, hidden, inputs, shares);
            }
        };
        std::vector<std::vector<TestExperts::Share>> steps;
        for (std::int64_t n = 1; n <= 8; ++n) steps.push_back({{0, some_tokens(n, 5, 7)}});
        check(64, 33, steps);
        check(192, 70, {{{0, some_tokens(1, 3, 1)}, {1, some_tokens(21, 0, 3)}}, {{1, some_tokens(6, 0, 1)}}});
        check(320, 5, {{{0, some_tokens(2, 3, 1)}, {1, some_tokens(4, 0, 3)}}, {{1, some_tokens(9, 0, 1)}}});
        check(640, 17, {{{1, some_tokens(1, 0, 1)}}, {{0, some_tokens(33, 0, 1)}}});
    }
}

// Each expert of a step in a format of its own.
inline void check_experts_of_mixed_formats(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 128;
    const std::vector<WeightType> types = {WeightType::kHqq2, WeightType::kBf16, WeightType::kHqq4, WeightType::kHqq4,
                                           WeightType::kHqq3, WeightType::kInt8, WeightType::kHqq2, WeightType::kF16};
    const TestExperts experts(backend, types, kHidden, 48);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 32));
    std::vector<TestExperts::Share> one_each;
    std::vector<TestExperts::Share> several;
    for (std::size_t e = 0; e < types.size(); ++e) {
        one_each.push_back({e, some_tokens(1, static_cast<std::int32_t>(e), 1)});
        several.push_back({e, some_tokens(static_cast<std::int64_t>(e * 3 + 1), static_cast<std::int32_t>(e), 3)});
    }
    check_step(promise, experts, kHidden, inputs, one_each);
    if (!QTest::currentTestFailed()) check_step(promise, experts, kHidden, inputs, several);
}

// Matrices of one expert in formats of their own, w2 either way round, few rows and many.
inline void check_experts_of_mixed_matrices(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 128;
    std::vector<kernels::ExpertLayout> layouts;
    const auto add = [&](WeightType gate, WeightType up, WeightType down, std::int64_t ffn, bool outputs) {
        kernels::ExpertLayout layout;
        layout.hidden_dim = kHidden;
        layout.ffn_dim = ffn;
        layout.gate = gate;
        layout.up = up;
        layout.down = down;
        layout.down_rows_are_outputs = outputs;
        layout.spec.biases = layouts.size() % 2 == 0;
        if (layout.spec.biases) layout.spec.activation = kernels::Activation::kClamped;
        layouts.push_back(layout);
    };
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 35, false);
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 33, false);
    add(WeightType::kHqq3, WeightType::kHqq2, WeightType::kHqq4, 48, false);
    add(WeightType::kBf16, WeightType::kInt8, WeightType::kF32, 21, false);
    add(WeightType::kHqq4, WeightType::kBf16, WeightType::kF16, 40, false);
    add(WeightType::kF32, WeightType::kF32, WeightType::kBf16, 17, false);
    add(WeightType::kF16, WeightType::kF16, WeightType::kHqq4, 70, false);
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 64, true);
    add(WeightType::kHqq2, WeightType::kHqq2, WeightType::kHqq2, 192, true);
    add(WeightType::kBf16, WeightType::kBf16, WeightType::kBf16, 53, true);
    add(WeightType::kF32, WeightType::kHqq3, WeightType::kF16, 30, true);
    const TestExperts experts(backend, layouts);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 34));
    std::vector<TestExperts::Share> together;
    for (std::size_t e = 0; e < layouts.size(); ++e) {
        for (const std::int64_t n : {1, 2, 3, 5, 8, 21}) {
            if (QTest::currentTestFailed()) return;
            check_step(promise, experts, kHidden, inputs, {{e, some_tokens(n, 3, 5)}});
        }
        together.push_back({e, some_tokens(static_cast<std::int64_t>(e * 2 + 1), 1, 3)});
    }
    check_step(promise, experts, kHidden, inputs, together);
}

// Every activation, with and without biases, in every format, few rows and many.
inline void check_all_specs(Backend& backend, const Promise& promise, const std::vector<WeightType>& types,
                            std::int64_t hidden, std::int64_t ffn) {
    for (kernels::ExpertSpec spec : kernels::test::all_expert_specs()) {
        for (const bool biases : {true, false}) {
            spec.biases = biases;
            const TestExperts experts(backend, types, hidden, ffn, spec);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 33));
            for (std::size_t e = 0; e < types.size(); ++e) {
                for (const std::int64_t n : {1, 2, 3, 8, 21}) {
                    if (!QTest::currentTestFailed())
                        check_step(promise, experts, hidden, inputs, {{e, some_tokens(n, 3, 5)}});
                }
            }
            std::vector<TestExperts::Share> together;
            for (std::size_t e = 0; e < types.size(); ++e) {
                together.push_back({e, some_tokens(static_cast<std::int64_t>(e * 4 + 1), 1, 3)});
            }
            if (!QTest::currentTestFailed()) check_step(promise, experts, hidden, inputs, together);
        }
    }
}
inline void check_experts_by_spec(Backend& backend, const Promise& promise) {
    check_all_specs(backend, promise, {std::begin(kTypes), std::end(kTypes)}, 29, 17);
}
inline void check_experts_by_spec_packed(Backend& backend, const Promise& promise) {
    check_all_specs(backend, promise, {std::begin(kPackedTypes), std::end(kPackedTypes)}, 128, 35);
}

// The first expert's rows come out the same alone and in company of the next four,
// wherever their inputs lie.
inline void check_company(Backend& backend, const Promise& promise, const TestExperts& experts, std::int64_t hidden,
                          std::initializer_list<std::int64_t> all_n) {
    const OnDevice<float> inputs(backend, random_floats(64 * hidden, 31));
    for (const std::int64_t n : all_n) {
        const TestExperts::Share share{0, some_tokens(n, 3, 5)};
        const std::vector<TestExperts::Share> alone = {share};
        const std::vector<TestExperts::Share> company = {{1, some_tokens(2, 0, 1)},
                                                         {2, some_tokens(1, 7, 1)},
                                                         share,
                                                         {3, some_tokens(20, 1, 3)},
                                                         {4, some_tokens(7, 2, 1)}};
        const TestExperts::Result a = experts.run(alone, inputs, 0);
        const TestExperts::Result b = experts.run(company, inputs, 1);
        for (std::size_t r = 0; r < share.tokens.size(); ++r) {
            if (promise.bit_exact) {
                QVERIFY(same_bits(experts.row(a, 0, r), experts.row(b, 2, r)));
            } else {
                const float* x = inputs.host().data() + share.tokens[r] * hidden;
                PARITY_VERIFY(mismatch(experts.row(b, 2, r), experts.expected(0, x, promise, n), promise.tolerance(n)));
            }
        }
    }
}

inline void check_experts_in_company(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        check_company(backend, promise, TestExperts(backend, type, 200, 250, 5), 200, {1, 2, 3, 5, 8, 9, 33});
        if (QTest::currentTestFailed()) return;
    }
}

// In company of its own format and of others.
inline void check_experts_packed_in_company(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        const std::vector<WeightType> types = {type, type, WeightType::kHqq3, WeightType::kBf16, type};
        check_company(backend, promise, TestExperts(backend, types, 128, 70), 128, {1, 4, 6, 20});
        if (QTest::currentTestFailed()) return;
    }
}

// The device's own choice among experts of one layout gives the bits of calls of one row.
inline void check_choice(Backend& backend, const kernels::ExpertLayout& layout, std::size_t n_rows = 4) {
    if (!backend.takes_chosen_experts(layout)) {
        QVERIFY(backend.info().kind != DeviceKind::kCuda);
        return;
    }
    constexpr std::size_t kExperts = 3;
    const TestExperts experts(backend, std::vector<kernels::ExpertLayout>(kExperts, layout));
    const OnDevice<float> inputs(backend, random_floats(64 * layout.hidden_dim, 30));
    std::vector<std::int32_t> chosen;
    std::vector<std::int32_t> tokens;
    std::vector<TestExperts::Share> shares;
    for (std::size_t r = 0; r < n_rows; ++r) {
        chosen.push_back(static_cast<std::int32_t>((r * r + 2) % kExperts));
        tokens.push_back(static_cast<std::int32_t>((r * 7 + 5) % 64));
        shares.push_back({static_cast<std::size_t>(chosen.back()), {tokens.back()}});
    }
    const std::vector<float> rows = experts.choose(chosen, tokens, inputs);
    QVERIFY2(backend.ok(), backend.failure().english().c_str());
    QVERIFY(same_bits<float>(rows, experts.run(shares, inputs, 0).rows));
}

inline void check_experts_chosen(Backend& backend, const Promise&) {
    kernels::ExpertSpec biased;
    biased.biases = true;
    biased.activation = kernels::Activation::kClamped;
    kernels::ExpertLayout mixed = kernels::expert_layout(WeightType::kInt8, 128, 21, biased);
    mixed.gate = WeightType::kBf16;
    mixed.down = WeightType::kF32;
    for (const kernels::ExpertLayout& layout :
         {kernels::expert_layout(WeightType::kBf16, 72, 130, biased),
          kernels::expert_layout(WeightType::kF32, 20, 9, kernels::ExpertSpec()),
          kernels::expert_layout(WeightType::kHqq4, 128, 35, biased),
          kernels::expert_layout(WeightType::kInt8, 64, 17, kernels::ExpertSpec()), mixed}) {
        check_choice(backend, layout);
        if (QTest::currentTestFailed()) return;
    }
    // More rows than a launch takes.
    check_choice(backend, kernels::expert_layout(WeightType::kF16, 24, 16, kernels::ExpertSpec()), 70);
    kernels::ExpertLayout outputs = kernels::expert_layout(WeightType::kBf16, 72, 16, kernels::ExpertSpec());
    outputs.down_rows_are_outputs = true;  // a product for each call
    QVERIFY(!backend.takes_chosen_experts(outputs));
}

// A network that every token passes is an expert with all rows, wider than the experts are.
inline void check_dense_network(Backend& backend, const Promise& promise) {
    for (const auto& [type, hidden] :
         {std::pair<WeightType, std::int64_t>{WeightType::kBf16, 72}, {WeightType::kHqq4, 128}}) {
        const TestExperts network(backend, type, hidden, 300, 1);
        const OnDevice<float> inputs(backend, random_floats(64 * hidden, 33));
        for (const std::int64_t n : {1, 5, 64}) {
            const std::vector<TestExperts::Share> all = {{0, some_tokens(n, 0, 1)}};
            check_step(promise, network, hidden, inputs, all);
            if (QTest::currentTestFailed()) return;
        }
    }
}

inline void check_combine(Backend& backend, const Promise&) {
    for (const std::int64_t n_active : {1, 2, 4}) {
        for (const std::int64_t n : {1, 3, 50}) {
            constexpr std::int64_t kHidden = 72;
            const OnDevice<float> rows(backend, random_floats(n * n_active * kHidden, 40));
            const OnDevice<float> weights(backend, random_floats(n * n_active, 41));
            std::vector<std::int32_t> row_of(static_cast<std::size_t>(n * n_active));
            std::iota(row_of.begin(), row_of.end(), 0);
            std::shuffle(row_of.begin(), row_of.end(), std::mt19937(5));
            const OnDevice<std::int32_t> order(backend, row_of);
            const OnDevice<float> x(backend, random_floats(n * kHidden, 42));
            backend.combine(rows.data(), order.data(), weights.data(), n, n_active, kHidden, x.data());
            std::vector<Expected> want;
            for (std::int64_t t = 0; t < n; ++t) {
                for (std::int64_t i = 0; i < kHidden; ++i) {
                    Expected value;
                    value.add(double{x.host()[static_cast<std::size_t>(t * kHidden + i)]});
                    for (std::int64_t a = t * n_active; a < (t + 1) * n_active; ++a) {
                        const auto row = static_cast<std::size_t>(row_of[static_cast<std::size_t>(a)] * kHidden + i);
                        value.add(double{weights.host()[static_cast<std::size_t>(a)]} * double{rows.host()[row]});
                    }
                    want.push_back(value);
                }
            }
            PARITY_VERIFY(mismatch(x.download(), want, 1e-6));
        }
    }
}

// ---------------------------------------------------------------- copies, events, clocks, failures

// Weights streamed through two slots, as a long prefill does: a slot is filled again only after the product that used
// it, and a product starts only when its weight is whole.
inline void check_streamed_weights(Backend& backend, const Promise&) {
    constexpr std::int64_t kRows = 256;
    constexpr std::int64_t kCols = 256;
    constexpr std::size_t kWeights = 12;
    const std::int64_t bytes = kRows * kCols * 2;
    std::vector<RandomRows> weights;
    for (std::size_t w = 0; w < kWeights; ++w) {
        weights.emplace_back(WeightType::kBf16, kRows, kCols, 50 + static_cast<std::uint32_t>(w), 1.0f);
    }
    const OnDevice<std::byte> two_slots(backend, std::vector<std::byte>(2 * static_cast<std::size_t>(bytes)));
    const OnDevice<float> x(backend, random_floats(kCols, 60));
    const OnDevice<float> y(backend, filled(static_cast<std::int64_t>(kWeights) * kRows, NAN));
    DeviceEvent used[2];
    used[0] = used[1] = backend.record(DeviceEvent::Queue::kCompute);
    DeviceEvent last;
    for (std::size_t w = 0; w < kWeights; ++w) {
        std::byte* slot = two_slots.data() + static_cast<std::int64_t>(w % 2) * bytes;
        const auto copied =
            backend.copy_weights(slot, weights[w].bytes().data(), static_cast<std::size_t>(bytes), used[w % 2]);
        QVERIFY(copied.has_value());
        QVERIFY(copied->queue == DeviceEvent::Queue::kCopy);
        backend.wait(*copied);
        backend.multiply({slot, WeightType::kBf16, kRows, kCols}, x.data(), 1,
                         y.data() + static_cast<std::int64_t>(w) * kRows);
        used[w % 2] = backend.record(DeviceEvent::Queue::kCompute);
        last = *copied;
    }
    backend.host_wait(used[0]);
    backend.host_wait(used[1]);
    QVERIFY(backend.has_happened(last));
    QVERIFY(backend.has_happened(used[0]));
    std::vector<Expected> want(kWeights * kRows);
    for (std::size_t i = 0; i < want.size(); ++i) {
        for (std::int64_t k = 0; k < kCols; ++k) {
            want[i].add(double{weights[i / kRows].at(static_cast<std::int64_t>(i % kRows), k)} *
                        double{x.host()[static_cast<std::size_t>(k)]});
        }
    }
    PARITY_VERIFY(mismatch(y.download(), want, Promise::kTolerance));
    QVERIFY(backend.ok());
}

// The host sees a copy's bytes on the device after waiting for its event, without any compute in between.
inline void check_copy_is_whole_after_event(Backend& backend, const Promise&) {
    constexpr std::size_t kBytes = 8 << 20;
    std::vector<std::byte> host(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) host[i] = static_cast<std::byte>(i * 31 >> 3);
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(kBytes));
    finish(backend);
    const auto copied = backend.copy_weights(slot.data(), host.data(), kBytes, {});
    QVERIFY(copied.has_value());
    backend.host_wait(*copied);
    QVERIFY(backend.has_happened(*copied));
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
}

inline void check_events_in_order(Backend& backend, const Promise&) {
    QVERIFY(backend.has_happened({}));
    backend.host_wait({});  // long past: returns
    const OnDevice<float> x(backend, filled(1 << 16, 1.0f));
    const OnDevice<float> y(backend, filled(1 << 16, 2.0f));
    const double before = backend.now_us();
    std::vector<DeviceEvent> events = {backend.record(DeviceEvent::Queue::kCompute)};
    for (int i = 0; i < 5; ++i) {
        backend.add(y.data(), 1 << 16, x.data(), 1.0f);
        events.push_back(backend.record(DeviceEvent::Queue::kCompute));
    }
    backend.host_wait(events.back());
    const double after = backend.now_us();
    QVERIFY(after >= before);
    double sum = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        QVERIFY(backend.has_happened(events[i]));
        if (i == 0) continue;
        QVERIFY(events[i].ticket > events[i - 1].ticket);
        QVERIFY(backend.elapsed_us(events[i - 1], events[i]) > 0);
        sum += backend.elapsed_us(events[i - 1], events[i]);
    }
    const double whole = backend.elapsed_us(events.front(), events.back());
    QVERIFY(std::abs(sum - whole) <= 0.01 * whole + 10);   // devices count time in steps
    QCOMPARE(backend.elapsed_us({}, events.back()), 0.0);  // never recorded: unknown
    QCOMPARE(x.download()[12345], 11.0f);
}

inline void check_run_on_host(Backend& backend, const Promise&) {
    bool ran = false;
    const double before = backend.now_us();
    const double taken = backend.run_on_host({1e6, 1e6}, [&] { ran = true; });
    const double after = backend.now_us();
    QVERIFY(ran);
    QVERIFY(taken >= 0);
    QVERIFY(after - before >= taken * 0.999);
}

inline void check_pin(Backend& backend, const Promise&) {
    std::vector<std::byte> host(1 << 20, std::byte{7});
    const bool pinned = backend.pin(host);  // false where the system refuses: copies work all the same
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(host.size()));
    finish(backend);  // the slot is uploaded on the other queue
    const auto copied = backend.copy_weights(slot.data(), host.data(), host.size(), {});
    QVERIFY(copied.has_value());
    backend.host_wait(*copied);
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
    if (pinned) backend.unpin(host);
    QVERIFY(backend.ok());
}

inline void check_failing_copies(Backend& backend, const Promise&) {
    const std::vector<std::byte> host(4096, std::byte{9});
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(host.size()));
    finish(backend);
    const auto copy = [&] { return backend.copy_weights(slot.data(), host.data(), host.size(), {}); };

    backend.fail_copy(2);
    QVERIFY(copy().has_value());
    QVERIFY(!copy().has_value());
    QVERIFY(backend.ok());  // a refused weight copy is no failure of the device
    const auto third = copy();
    QVERIFY(third.has_value());
    backend.host_wait(*third);

    backend.fail_copy(1);
    backend.upload(slot.data(), host.data(), host.size());
    finish(backend);
    QVERIFY(!backend.ok());
    QVERIFY(!backend.failure().empty());
    backend.clear_failure();
    QVERIFY(backend.ok());
    QVERIFY(backend.failure().empty());

    std::vector<std::byte> back(host.size());
    backend.fail_copy(1);
    backend.download(back.data(), slot.data(), back.size());
    finish(backend);
    QVERIFY(!backend.ok());
    backend.clear_failure();

    backend.fail_copy(1);
    backend.fail_copy(0);  // withdrawn
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
    QVERIFY(backend.ok());
}

inline void check_memory_budget(Backend& backend, const Promise&) {
    Arena& memory = backend.memory();
    const ArenaUsage before = memory.usage();
    {
        const DeviceBlock block = memory.allocate(1000, MemoryUse::kExperts, "a test");
        QVERIFY(block.size() == 1000);
        QVERIFY(reinterpret_cast<std::uintptr_t>(block.data()) % 256 == 0);
        QCOMPARE(memory.usage().used_bytes, before.used_bytes + 1024);
        try {
            const DeviceBlock more = memory.allocate(static_cast<std::size_t>(memory.available_bytes()) + 1,
                                                     MemoryUse::kExperts, "too much");
            QFAIL("more than the budget was given");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kOutOfMemory);
            QVERIFY(std::strstr(error.what(), "too much") != nullptr);
        }
        memory.fail_allocation(1);
        try {
            const DeviceBlock failing = memory.allocate(1, MemoryUse::kExperts, "the injected one");
            QFAIL("the injected failure did not happen");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kOutOfMemory);
        }
        const DeviceBlock next = memory.allocate(1, MemoryUse::kExperts, "the next one");
        QVERIFY(next);
    }
    QCOMPARE(memory.usage().used_bytes, before.used_bytes);
    QVERIFY(memory.usage().high_water_bytes <= memory.usage().budget_bytes);
}

// What reserve() takes is what scratch_bytes() said, to the arena's rounding; so a plan can count on it.
inline void check_reserve(Backend& backend, const Promise&) {
    const auto workspace = [&] {
        return backend.memory().usage().by_use[static_cast<std::size_t>(MemoryUse::kWorkspace)];
    };
    const std::uint64_t said = backend.scratch_bytes(largest_step());
    QVERIFY(workspace() <= said + 64 * 256);
    const std::uint64_t before = workspace();
    backend.reserve(largest_step());  // again: no more
    QCOMPARE(workspace(), before);
    Backend::StepShape small = largest_step();
    small.n_tokens = 1;
    QVERIFY(backend.scratch_bytes(small) <= said);
}

struct Check {
    const char* name;
    void (*run)(Backend&, const Promise&);
};

inline constexpr Check kChecks[] = {
    {"embed", check_embed},
    {"norm", check_norm},
    {"norm_pieces", check_norm_pieces},
    {"add_bias", check_add_bias},
    {"multiply", check_multiply},
    {"add", check_add},
    {"scale_and_clamp", check_scale_and_clamp},
    {"soft_cap_and_clear", check_soft_cap_and_clear},
    {"norms_without_weights", check_norms_without_weights},
    {"add_gated", check_add_gated},
    {"multiply_heads", check_multiply_heads},
    {"rotate_and_store", check_rotate_and_store},
    {"rotate_and_store_latent", check_rotate_and_store_latent},
    {"attend", check_attend},
    {"multiply_sigmoid", check_multiply_sigmoid},
    {"delta_net", check_delta_net},
    {"copy_kv_block", check_copy_kv_block},
    {"blocks_in_host_memory", check_blocks_in_host_memory},
    {"route", check_route},
    {"route_of_equals", check_route_of_equals},
    {"experts", check_experts},
    {"experts_by_spec", check_experts_by_spec},
    {"experts_by_spec_packed", check_experts_by_spec_packed},
    {"experts_in_company", check_experts_in_company},
    {"multiply_packed", check_multiply_packed},
    {"experts_packed", check_experts_packed},
    {"experts_packed_in_company", check_experts_packed_in_company},
    {"experts_of_mixed_formats", check_experts_of_mixed_formats},
    {"experts_of_mixed_matrices", check_experts_of_mixed_matrices},
    {"experts_chosen", check_experts_chosen},
    {"dense_network", check_dense_network},
    {"combine", check_combine},
    {"streamed_weights", check_streamed_weights},
    {"copy_is_whole_after_event", check_copy_is_whole_after_event},
    {"events_in_order", check_events_in_order},
    {"run_on_host", check_run_on_host},
    {"pin", check_pin},
    {"failing_copies", check_failing_copies},
    {"memory_budget", check_memory_budget},
    {"reserve", check_reserve},
};

// Reserves scratch memory and runs one check on a device just opened. 256 MiB are enough for every check.
inline void run_check(const Check& check, Backend& backend, const Promise& promise) {
    if (promise.byte_inputs) QVERIFY(backend.set_byte_inputs(kernels::ByteInputTypes::all()));
    QVERIFY(backend.ok());
    backend.reserve(largest_step());
    check.run(backend, promise);
}

}  // namespace offstage::engine::parity
