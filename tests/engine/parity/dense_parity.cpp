#include <cmath>

#include "tests/engine/parity/backend_parity.h"
#include "tests/kernels/test_data.h"

namespace offstage::engine::parity {

namespace {

void check_embed(Backend& backend, const Promise&) {
    constexpr std::int64_t kVocab = 101;
    for (const WeightType type : kTypes) {
        for (const std::int64_t hidden : {72, 200}) {
            for (const std::size_t n : {1, 5, 100}) {
                const TestWeight table(backend, type, kVocab, hidden, 1);
                std::vector<TokenId> tokens(n);
                for (std::size_t t = 0; t < n; ++t) tokens[t] = static_cast<TokenId>((t * 37 + 100) % kVocab);
                const OnDevice<TokenId> on_device(backend, tokens);
                const OnDevice<float> x(backend, filled(static_cast<std::int64_t>(n) * hidden, NAN));
                backend.submit(ops::Embed{table.view, on_device.data(), static_cast<std::int64_t>(n), x.data()});
                const std::vector<float> got = x.download();
                for (std::size_t i = 0; i < got.size(); ++i) {
                    const auto column = static_cast<std::int64_t>(i) % hidden;
                    QVERIFY(got[i] == table.at(tokens[i / static_cast<std::size_t>(hidden)], column));
                }
            }
        }
    }
}

// Adds a row's norm to `want`.
void add_norm(const NormWeights& norm, const float* row, const float* weight, const float* bias,
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

void check_norm(Backend& backend, const Promise&) {
    using kernels::NormKind;
    for (const auto& [kind, biased] :
         {std::pair{NormKind::kRms, false}, {NormKind::kLayer, false}, {NormKind::kLayer, true}}) {
        for (const std::int64_t hidden : {72, 200, 256, 301, 5000, 9004, 9005}) {
            for (const std::int64_t n : {1, 3, 70}) {
                if (hidden > 4096 && n > 3) continue;
                const OnDevice<float> x(backend, random_floats(n * hidden, 1, 3.0f));
                const OnDevice<float> weight(backend, random_floats(hidden, 2));
                const OnDevice<float> bias(backend, random_floats(hidden, 3));
                const OnDevice<float> out(backend, filled(n * hidden, NAN));
                const NormWeights norm{kind, weight.data(), biased ? bias.data() : nullptr, hidden, 1e-5f};
                backend.submit(ops::Norm{norm, x.data(), n, out.data()});
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

// Pieces in the middle of rows: the values around them stay.
void check_norm_pieces(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {20, 64, 128}) {
        for (const std::int64_t n_pieces : {1, 3, 12}) {
            for (const std::int64_t n : {1, 40}) {
                const std::int64_t before = n == 1 ? 5 : 8;  // aligned for vectors, or not
                const std::int64_t stride = before + n_pieces * dim + (n == 1 ? 7 : 4);
                const OnDevice<float> x(backend, random_floats(n * stride, 1, 3.0f));
                const OnDevice<float> weight(backend, random_floats(dim, 2));
                const NormWeights norm{kernels::NormKind::kRms, weight.data(), nullptr, dim, 1e-6f};
                backend.submit(ops::NormPieces{norm, n, stride, n_pieces, x.data() + before});
                const std::vector<float> got = x.download();
                for (std::int64_t t = 0; t < n; ++t) {
                    std::vector<float> row(got.begin() + t * stride, got.begin() + (t + 1) * stride);
                    const float* was = x.host().data() + t * stride;
                    std::vector<Expected> want;
                    for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
                        add_norm(norm, was + before + piece * dim, weight.host().data(), nullptr, want);
                    }
                    PARITY_VERIFY(mismatch(std::span(row).subspan(before, want.size()), want, 1e-6));
                    std::copy_n(was + before, n_pieces * dim, row.begin() + before);
                    QVERIFY(std::equal(row.begin(), row.end(), was));
                }
            }
        }
    }
}

// Rows that take turns with their weights: the same as a norm of each alone, to the bit.
void check_norm_of_streams(Backend& backend, const Promise&) {
    constexpr std::int64_t kStreams = 3, kTokens = 5;
    for (const std::int64_t dim : {20, 301, 9004}) {
        const OnDevice<float> x(backend, random_floats(kTokens * kStreams * dim, 1, 3.0f));
        const OnDevice<float> weights(backend, random_floats(kStreams * dim, 2));
        const OnDevice<float> together(backend, filled(kTokens * kStreams * dim, NAN));
        const OnDevice<float> alone(backend, filled(kTokens * kStreams * dim, NAN));
        const NormWeights norm{kernels::NormKind::kRms, weights.data(), nullptr, dim, 1e-6f};
        backend.submit(ops::Norm{norm, x.data(), kTokens * kStreams, together.data(), kStreams});
        for (std::int64_t r = 0; r < kTokens * kStreams; ++r) {
            NormWeights own = norm;
            own.weight += r % kStreams * dim;
            backend.submit(ops::Norm{own, x.data() + r * dim, 1, alone.data() + r * dim});
        }
        QVERIFY(same_bits<float>(together.download(), alone.download()));
    }
}

void check_activate(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        for (const bool by_itself : {false, true}) {
            const OnDevice<float> x(backend, random_floats(n, 4, 8.0f));
            backend.submit(ops::Activate{0.25f, 2.0f, by_itself, n, x.data()});
            const std::vector<float> got = x.download();
            std::vector<Expected> want(got.size());
            for (std::size_t i = 0; i < got.size(); ++i) {
                const double value = 0.25 * double{x.host()[i]};
                want[i].add(2.0 * (by_itself ? value : 1.0) / (1.0 + std::exp(-value)));
            }
            PARITY_VERIFY(mismatch(got, want, 1e-6));
        }
    }
}

// Each token has its own coefficients, behind and before others.
void check_streams(Backend& backend, const Promise&) {
    for (const std::int64_t n_streams : {2, 4, 8}) {
        for (const std::int64_t dim : {1, 72, 301}) {
            for (const std::int64_t n : {1, 3, 40}) {
                const std::int64_t stride = n_streams * (n_streams + 1) + 3;
                const auto size = [](const auto& v) { return static_cast<std::size_t>(v); };
                const OnDevice<float> streams(backend, random_floats(n * n_streams * dim, 1));
                const OnDevice<float> gates(backend, random_floats(n * n_streams * dim, 2, 4.0f));
                const OnDevice<float> coefficients(backend, random_floats(n * stride, 3));
                const OnDevice<float> y(backend, random_floats(n * dim, 4));
                const OnDevice<float> read(backend, filled(n * dim, NAN));
                const OnDevice<float> gated(backend, filled(n * dim, NAN));
                const float* const weights = coefficients.data() + 1;
                const float* const mix = weights + n_streams;
                backend.submit(ops::ReadStreams{streams.data(), n_streams, n, dim, weights, stride, read.data()});
                backend.submit(ops::ReadGatedStreams{streams.data(), gates.data(), n_streams, n, dim, gated.data()});
                const OnDevice<float> added(backend, streams.host());
                backend.submit(ops::WriteStreams{y.data(), n_streams, n, dim, weights, nullptr, stride, added.data()});
                const OnDevice<float> begun(backend, streams.host());
                backend.submit(ops::WriteStreams{
                    .y = y.data(), .n_streams = n_streams, .n = n, .dim = dim, .streams = begun.data()});
                backend.submit(ops::WriteStreams{y.data(), n_streams, n, dim, weights, mix, stride, streams.data()});

                std::vector<Expected> want_read(size(n * dim)), want_gated(size(n * dim));
                std::vector<Expected> want_added(size(n * n_streams * dim)), want_mixed(size(n * n_streams * dim));
                std::vector<float> want_begun(size(n * n_streams * dim));
                for (std::int64_t i = 0; i < n * n_streams * dim; ++i) {
                    const std::int64_t t = i / (n_streams * dim), s = i / dim % n_streams, d = i % dim;
                    const float* const own = coefficients.host().data() + t * stride + 1;
                    const double value = double{streams.host()[size(i)]};
                    const double output = double{y.host()[size(t * dim + d)]};
                    want_read[size(t * dim + d)].add(double{own[s]} * value);
                    want_gated[size(t * dim + d)].add(value / (1 + std::exp(-double{gates.host()[size(i)]})) /
                                                      static_cast<double>(n_streams));
                    want_added[size(i)].add(value);
                    for (auto* const want : {&want_added, &want_mixed}) (*want)[size(i)].add(double{own[s]} * output);
                    for (std::int64_t r = 0; r < n_streams; ++r) {
                        want_mixed[size(i)].add(double{own[n_streams + r * n_streams + s]} *
                                                double{streams.host()[size((t * n_streams + r) * dim + d)]});
                    }
                    want_begun[size(i)] = y.host()[size(t * dim + d)];
                }
                PARITY_VERIFY(mismatch(read.download(), want_read, 1e-6));
                PARITY_VERIFY(mismatch(gated.download(), want_gated, 1e-6));
                PARITY_VERIFY(mismatch(added.download(), want_added, 1e-6));
                PARITY_VERIFY(mismatch(streams.download(), want_mixed, 1e-6));
                QVERIFY(same_bits<float>(begun.download(), want_begun));
            }
        }
    }
}

void check_add_bias(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {1, 72, 301}) {
        for (const std::int64_t n : {1, 3, 70}) {
            const OnDevice<float> x(backend, random_floats(n * dim, 1));
            const OnDevice<float> bias(backend, random_floats(dim, 2));
            backend.submit(ops::AddBias{bias.data(), n, dim, x.data()});
            const std::vector<float> got = x.download();
            for (std::size_t i = 0; i < got.size(); ++i) {
                QVERIFY(got[i] == x.host()[i] + bias.host()[i % static_cast<std::size_t>(dim)]);
            }
        }
    }
}

void check_multiply(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        for (const auto& [rows, cols] :
             {std::pair<std::int64_t, std::int64_t>{37, 72}, {131, 200}, {256, 64}, {19, 1096}, {300, 8}}) {
            check_product(backend, promise, TestWeight(backend, type, rows, cols, 3),
                          {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 130});
            if (QTest::currentTestFailed()) return;
        }
    }
}

void check_multiply_packed(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        check_product(backend, promise, TestWeight(backend, type, 37, 64, 3), {1, 2, 3, 4, 5, 6, 7, 8, 20});
        check_product(backend, promise, TestWeight(backend, type, 21, 192, 4), {1, 3, 8, 9});
        check_product(backend, promise, TestWeight(backend, type, 9, 320, 5), {1, 2, 5, 40});
        // Several super groups in a row of HQQ2, and more columns than a device takes at
        // once.
        check_product(backend, promise, TestWeight(backend, type, 5, 2048 + 64, 6), {1, 2, 4, 7, 12});
        // Inputs that are split.
        check_product(backend, promise, TestWeight(backend, type, 37, 256, 8), {1, 2, 3, 4, 5, 6, 7, 8, 9});
        check_product(backend, promise, TestWeight(backend, type, 16, 2304, 9), {1, 3, 8});
        if (QTest::currentTestFailed()) return;
    }
    // Rows of a larger tensor, apart.
    TestWeight apart(backend, WeightType::kHqq3, 12, 128, 7);
    const kernels::WeightView view{apart.device.data(), WeightType::kHqq3, 6, 128,
                                   2 * kernels::row_bytes(WeightType::kHqq3, 128)};
    for (const std::int64_t n : {1, 10}) {
        const OnDevice<float> x(backend, random_floats(n * 128, 8));
        const OnDevice<float> y(backend, filled(n * 6, NAN));
        backend.submit(ops::Multiply{view, x.data(), n, y.data()});
        std::vector<Expected> want(static_cast<std::size_t>(n * 6));
        for (std::int64_t i = 0; i < n * 6 * 128; ++i) {
            const std::int64_t t = i / 128 / 6;
            want[static_cast<std::size_t>(i / 128)].add(double{apart.at(i / 128 % 6 * 2, i % 128)} *
                                                        double{x.host()[static_cast<std::size_t>(t * 128 + i % 128)]});
        }
        PARITY_VERIFY(mismatch(y.download(), want, promise.tolerance(n)));
    }
}

// Multiplies each head's own rows of the weight by its own piece of the input; the gaps
// between the pieces stay unchanged.
void check_multiply_heads(Backend& backend, const Promise& promise) {
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
                backend.submit(ops::MultiplyHeads{weight.view, sizes.n_heads, x.data(), x_stride, x_head, n, y.data(),
                                                  y_stride, y_head});
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

void check_add(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        const OnDevice<float> x(backend, random_floats(n, 4));
        const OnDevice<float> y(backend, random_floats(n, 5));
        backend.submit(ops::Add{y.data(), n, x.data(), 1.0f});
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(got[i] == x.host()[i] + y.host()[i]);
        backend.submit(ops::Add{y.data(), n, x.data(), 0.25f});
        const std::vector<float> more = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double want = double{got[i]} + 0.25 * double{y.host()[i]};
            QVERIFY(std::abs(double{more[i]} - want) <= 1e-7 * std::abs(want) + 1e-9);
        }
    }
}

// Far beyond the cap, at it, and near nothing.
void check_soft_cap_and_clear(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 300, 100000}) {
        std::vector<float> values = random_floats(n, 1, 40.0f);
        values.front() = 1e4f;
        values.back() = -1e-3f;
        const OnDevice<float> x(backend, values);
        backend.submit(ops::SoftCap{30.0f, n, x.data()});
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            QVERIFY(std::abs(double{got[i]} - 30.0 * std::tanh(double{x.host()[i]} / 30.0)) < 1e-5);
        }
        backend.submit(ops::Clear{n / 2, x.data()});
        const std::vector<float> cleared = x.download();
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            QCOMPARE(cleared[at], i < n / 2 ? 0.0f : got[at]);
        }
    }
}

void check_weighted_inputs(Backend& backend, const Promise&) {
    for (const auto& [n, dim] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 64}, {17, 301}, {5, 1000}}) {
        const OnDevice<float> x(backend, random_floats(n * dim, 4));
        const OnDevice<float> weights(backend, random_floats(n, 5));
        const OnDevice<float> out(backend, random_floats(n * dim, 6));
        backend.submit(ops::WeighInputs{x.data(), weights.data(), n, dim, out.data()});
        const std::vector<float> got = out.download(), left = weights.download();
        for (std::int64_t i = 0; i < n * dim; ++i) {
            const auto at = static_cast<std::size_t>(i), row = static_cast<std::size_t>(i / dim);
            QCOMPARE(got[at], weights.host()[row] * x.host()[at]);
            QCOMPARE(left[row], 1.0f);
        }
    }
}

// The same as with weights of 1, to the bit.
void check_norms_without_weights(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {5, 64, 301, 9004}) {
        constexpr std::int64_t kRows = 6;
        const std::vector<float> values = random_floats(kRows * dim, 1, 3.0f);
        const OnDevice<float> ones(backend, filled(dim, 1.0f));
        std::vector<float> results[2];
        for (const bool with : {false, true}) {
            const OnDevice<float> x(backend, values);
            const OnDevice<float> out(backend, filled(kRows * dim, NAN));
            const NormWeights norm{kernels::NormKind::kRms, with ? ones.data() : nullptr, nullptr, dim, 1e-6f};
            backend.submit(ops::Norm{norm, x.data(), kRows, out.data()});
            backend.submit(ops::NormPieces{norm, 2, 3 * dim, 2, x.data()});
            results[with ? 1 : 0] = out.download();
            const std::vector<float> pieces = x.download();
            results[with ? 1 : 0].insert(results[with ? 1 : 0].end(), pieces.begin(), pieces.end());
        }
        QVERIFY(same_bits<float>(results[0], results[1]));
        QVERIFY(std::isfinite(results[0].front()));
    }
}

void check_scale_and_clamp(Backend& backend, const Promise&) {
    for (const std::int64_t n : {1, 7, 1000, 100'003}) {
        const OnDevice<float> x(backend, random_floats(n, 4));
        backend.submit(ops::Scale{3.0f, n, x.data()});
        backend.submit(ops::Clamp{0.5f, n, x.data()});
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            QVERIFY(got[i] == std::clamp(3.0f * x.host()[i], -0.5f, 0.5f));
        }
    }
}

void check_add_gated(Backend& backend, const Promise&) {
    for (const std::int64_t dim : {1, 72, 301, 9004, 9005}) {
        for (const std::int64_t n : {1, 3, 70}) {
            if (dim > 4096 && n > 3) continue;
            const OnDevice<float> gate(backend, random_floats(dim, 1));
            const OnDevice<float> input(backend, random_floats(n * dim, 2));
            const OnDevice<float> y(backend, random_floats(n * dim, 3));
            const OnDevice<float> x(backend, random_floats(n * dim, 4));
            backend.submit(ops::AddGated{gate.data(), input.data(), y.data(), n, dim, x.data()});
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

void check_multiply_sigmoid(Backend& backend, const Promise&) {
    for (const auto& [n_gates, n_alike] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 1}, {1000, 1}, {100'003, 1}, {3, 5}, {12, 128}, {301, 24}}) {
        const std::int64_t n = n_gates * n_alike;
        const OnDevice<float> x(backend, random_floats(n, 4)), gate(backend, random_floats(n_gates, 5, 8.0f));
        backend.submit(ops::MultiplySigmoid{gate.data(), n, x.data(), n_alike});
        const std::vector<float> got = x.download();
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double own = double{gate.host()[i / static_cast<std::size_t>(n_alike)]};
            const double want = double{x.host()[i]} / (1 + std::exp(-own));
            QVERIFY(std::abs(double{got[i]} - want) <= 1e-6 * std::abs(want) + 1e-30);
        }
    }
}

// By the contract, in double precision.
void check_sinkhorn_coefficients(Backend& backend, const Promise&) {
    constexpr std::int64_t kRows = 37;
    constexpr float kEps = 1e-3f;
    for (const auto& [n, n_steps] : {std::pair<std::int64_t, std::int64_t>{4, 20}, {4, 1}, {3, 2}, {4, 0}}) {
        ops::SinkhornCoefficients op{.n = kRows, .n_streams = n, .n_steps = n_steps, .eps = kEps};
        const std::int64_t width = op.width();
        const OnDevice<float> x(backend, random_floats(kRows * width, 3, 3.0f));
        const OnDevice<float> base(backend, random_floats(width, 4));
        const OnDevice<float> scale(backend, random_floats(3, 5));
        op.x = x.data();
        op.base = base.data();
        op.scale = scale.data();
        backend.submit(op);
        const std::vector<float> got = x.download();
        for (std::int64_t row = 0; row < kRows; ++row) {
            std::vector<double> want;
            for (std::int64_t i = 0; i < width; ++i) {
                const std::int64_t part = i < n ? 0 : i < 2 * n ? 1 : 2;
                const double a = double{x.host()[static_cast<std::size_t>(row * width + i)]} *
                                     double{scale.host()[static_cast<std::size_t>(part)]} +
                                 double{base.host()[static_cast<std::size_t>(i)]};
                const double sigmoid = 1 / (1 + std::exp(-a));
                want.push_back(part == 0 ? sigmoid + double{kEps} : part == 1 ? 2 * sigmoid : std::exp(a));
            }
            const auto at = [&, n = n](std::int64_t r, std::int64_t c) -> double& {
                return want[static_cast<std::size_t>(2 * n + r * n + c)];
            };
            const auto divide_rows = [&, n = n](double more) {
                for (std::int64_t r = 0; r < n; ++r) {
                    double sum = more;
                    for (std::int64_t c = 0; c < n; ++c) sum += at(r, c);
                    for (std::int64_t c = 0; c < n; ++c) at(r, c) /= sum;
                }
            };
            for (std::int64_t step = 0; step < n_steps; ++step) {
                divide_rows(step == 0 ? 0 : double{kEps});
                for (std::int64_t c = 0; c < n; ++c) {
                    double sum = double{kEps};
                    for (std::int64_t r = 0; r < n; ++r) sum += at(r, c) += step == 0 ? double{kEps} : 0;
                    for (std::int64_t r = 0; r < n; ++r) at(r, c) /= sum;
                }
            }
            for (std::int64_t i = 0; i < width; ++i) {
                const double value = want[static_cast<std::size_t>(i)];
                QVERIFY(std::abs(double{got[static_cast<std::size_t>(row * width + i)]} - value) < 1e-5 * (1 + value));
            }
        }
    }
}

}  // namespace

std::vector<Check> dense_checks() {
    return {{"embed", check_embed},
            {"norm", check_norm},
            {"norm_pieces", check_norm_pieces},
            {"add_bias", check_add_bias},
            {"norm_of_streams", check_norm_of_streams},
            {"activate", check_activate},
            {"streams", check_streams},
            {"multiply", check_multiply},
            {"add", check_add},
            {"scale_and_clamp", check_scale_and_clamp},
            {"soft_cap_and_clear", check_soft_cap_and_clear},
            {"weighted_inputs", check_weighted_inputs},
            {"norms_without_weights", check_norms_without_weights},
            {"add_gated", check_add_gated},
            {"sinkhorn_coefficients", check_sinkhorn_coefficients},
            {"multiply_heads", check_multiply_heads},
            {"multiply_sigmoid", check_multiply_sigmoid},
            {"multiply_packed", check_multiply_packed}};
}

}  // namespace offstage::engine::parity
