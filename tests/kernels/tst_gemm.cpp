// Gemm against a product in double precision, in both modes and layouts.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <QTest>

#include "kernels/gemm.h"
#include "test_buffer.h"
#include "test_data.h"
#include "tests/sanitized.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

struct Shape {
    std::int64_t n_tokens;
    std::int64_t n_in;
    std::int64_t n_out;
    std::int64_t gap;  // elements between the rows of the weight
};

// Odd sizes, one of everything, and sizes beyond a panel's in either direction.
constexpr Shape kShapes[] = {
    {1, 64, 64, 0},    {1, 1, 1, 0},    {2, 33, 17, 5},   {3, 300, 600, 0},  {5, 257, 65, 7},    {2, 1100, 140, 3},
    {16, 300, 31, 64}, {17, 96, 96, 0}, {130, 70, 40, 0}, {200, 20, 130, 1}, {11, 2112, 45, 32},
};

}  // namespace

class TestGemm : public QObject {
    Q_OBJECT

  private slots:
    void matches_double_for_any_shape_data();
    void matches_double_for_any_shape();
    void many_token_counts_in_a_row_stay_correct_data();
    void many_token_counts_in_a_row_stay_correct();
    void result_depends_on_no_other_token_data();
    void result_depends_on_no_other_token();
    void no_tokens_writes_nothing();
    void productTrial_timesEachProduct();
    void library_version_is_known();
};

void TestGemm::matches_double_for_any_shape_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<int>("layout");
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("n_threads");
    for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
        for (const GemmLayout layout : {GemmLayout::kRowsAreOutputs, GemmLayout::kRowsAreInputs}) {
            for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16}) {
                for (const int n_threads : {1, 3}) {
                    QTest::addRow("%s %s %s, %d threads", name_of(mode).data(),
                                  layout == GemmLayout::kRowsAreOutputs ? "rows are outputs" : "rows are inputs",
                                  name_of(type), n_threads)
                        << static_cast<int>(mode) << static_cast<int>(layout) << static_cast<int>(type) << n_threads;
                }
            }
        }
    }
}

void TestGemm::matches_double_for_any_shape() {
    QFETCH(int, mode);
    QFETCH(int, layout);
    QFETCH(int, type);
    QFETCH(int, n_threads);
    const bool rows_are_outputs = static_cast<GemmLayout>(layout) == GemmLayout::kRowsAreOutputs;
    const bool bf16 = static_cast<GemmMode>(mode) == GemmMode::kBf16;
    // In bf16 mode both factors are rounded as the contract says, also in the expected
    // value.
    const auto factor = [&](float value) { return double{bf16 ? to_float(to_bf16(value)) : value}; };
    ThreadPool pool(n_threads);
    Gemm gemm(pool);
    for (const Shape& shape : kShapes) {
        const std::int64_t n_rows = rows_are_outputs ? shape.n_out : shape.n_in;
        const std::int64_t n_cols = rows_are_outputs ? shape.n_in : shape.n_out;
        const std::int64_t row_stride = n_cols + shape.gap;
        const RandomWeights weights(static_cast<WeightType>(type), n_rows * row_stride, 1);
        const WeightView view{weights.data(), weights.type(), n_rows, n_cols,
                              static_cast<std::size_t>(row_stride) * bytes_per_weight(weights.type())};
        const std::int64_t x_stride = shape.n_in + 3;
        const std::int64_t y_stride = shape.n_out + 2;
        TestBuffer<float> x(x_stride * (shape.n_tokens - 1) + shape.n_in);
        TestBuffer<float> y(y_stride * (shape.n_tokens - 1) + shape.n_out, 12);
        fill_random(x.span(), 2);
        std::fill(y.span().begin(), y.span().end(), 77.0f);
        gemm.multiply(static_cast<GemmMode>(mode), static_cast<GemmLayout>(layout), x.data(), x_stride, shape.n_tokens,
                      view, y.data(), y_stride);
        QVERIFY(y.guards_intact());
        for (std::int64_t t = 0; t < shape.n_tokens; ++t) {
            for (std::int64_t o = 0; o < shape.n_out; ++o) {
                double want = 0.0;
                double magnitude = 0.0;
                for (std::int64_t i = 0; i < shape.n_in; ++i) {
                    const std::int64_t place = rows_are_outputs ? o * row_stride + i : i * row_stride + o;
                    const double term = factor(x[t * x_stride + i]) * factor(weights[place]);
                    want += term;
                    magnitude += std::abs(term);
                }
                const double got = double{y[t * y_stride + o]};
                QVERIFY2(std::abs(got - want) <= 2e-6 * magnitude + 1e-12,
                         qPrintable(QString("%1 tokens, %2 -> %3: token %4 output %5 is %6, expected %7")
                                        .arg(shape.n_tokens)
                                        .arg(shape.n_in)
                                        .arg(shape.n_out)
                                        .arg(t)
                                        .arg(o)
                                        .arg(got)
                                        .arg(want)));
            }
            for (std::int64_t o = shape.n_out; t + 1 < shape.n_tokens && o < y_stride; ++o)
                QCOMPARE(y[t * y_stride + o], 77.0f);
        }
    }
}

void TestGemm::many_token_counts_in_a_row_stay_correct_data() {
    QTest::addColumn<int>("mode");
    QTest::newRow("f32") << static_cast<int>(GemmMode::kF32);
    QTest::newRow("bf16") << static_cast<int>(GemmMode::kBf16);
}

// Whole numbers small enough that both modes are exact: every token's result must be
// right after any earlier count.
void TestGemm::many_token_counts_in_a_row_stay_correct() {
    QFETCH(int, mode);
    ThreadPool pool(2);
    Gemm gemm(pool);
    constexpr std::int64_t kIn = 40;
    constexpr std::int64_t kOut = 70;
    std::vector<Bf16> weights(kIn * kOut);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = to_bf16(static_cast<float>(static_cast<int>(i % 7) - 3));
    const WeightView view{weights.data(), WeightType::kBf16, kOut, kIn};
    for (std::int64_t n_tokens = 1; n_tokens <= 300;
         n_tokens += n_tokens < 40 && !offstage::test::kSanitized ? 1 : 13) {
        std::vector<float> x(static_cast<std::size_t>(n_tokens * kIn));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 11) - 5);
        TestBuffer<float> y(n_tokens * kOut, 4);
        gemm.multiply(static_cast<GemmMode>(mode), GemmLayout::kRowsAreOutputs, x.data(), kIn, n_tokens, view, y.data(),
                      kOut);
        QVERIFY(y.guards_intact());
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            for (std::int64_t o = 0; o < kOut; ++o) {
                float want = 0.0f;
                for (std::int64_t i = 0; i < kIn; ++i) {
                    want += x[static_cast<std::size_t>(t * kIn + i)] *
                            to_float(weights[static_cast<std::size_t>(o * kIn + i)]);
                }
                QCOMPARE(y[t * kOut + o], want);
            }
        }
    }
}

void TestGemm::result_depends_on_no_other_token_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<int>("layout");
    QTest::addColumn<int>("n_in");
    QTest::addColumn<int>("n_out");
    for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
        for (const GemmLayout layout : {GemmLayout::kRowsAreOutputs, GemmLayout::kRowsAreInputs}) {
            // One panel of inputs, several, and sizes that nothing divides.
            for (const auto& [n_in, n_out] : {std::pair{128, 300}, {2816, 256}, {1333, 75}}) {
                QTest::addRow("%s, layout %d, %d x %d", std::string(name_of(mode)).c_str(), static_cast<int>(layout),
                              n_in, n_out)
                    << static_cast<int>(mode) << static_cast<int>(layout) << n_in << n_out;
            }
        }
    }
}

// Bit by bit: 1 token, the last tokens of many, some in the middle.
void TestGemm::result_depends_on_no_other_token() {
    QFETCH(int, mode);
    QFETCH(int, layout);
    QFETCH(int, n_in);
    QFETCH(int, n_out);
    ThreadPool pool(2);
    Gemm gemm(pool);
    constexpr std::int64_t kTokens = 300;
    const bool rows_are_outputs = static_cast<GemmLayout>(layout) == GemmLayout::kRowsAreOutputs;
    std::vector<float> x(static_cast<std::size_t>(kTokens * n_in));
    fill_random(x, 1);
    std::vector<float> drawn(static_cast<std::size_t>(n_in) * static_cast<std::size_t>(n_out));
    fill_random(drawn, 2);
    std::vector<Bf16> weights(drawn.size());
    std::transform(drawn.begin(), drawn.end(), weights.begin(), [](float w) { return to_bf16(w); });
    const WeightView view{weights.data(), WeightType::kBf16, rows_are_outputs ? n_out : n_in,
                          rows_are_outputs ? n_in : n_out};
    const auto products = [&](std::int64_t first, std::int64_t n) {
        std::vector<float> y(static_cast<std::size_t>(n * n_out));
        gemm.multiply(static_cast<GemmMode>(mode), static_cast<GemmLayout>(layout), x.data() + first * n_in, n_in, n,
                      view, y.data(), n_out);
        return y;
    };
    const std::vector<float> all = products(0, kTokens);
    for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 31, 64, 65, 127, 128, 191, 255}) {
        for (const std::int64_t first : {std::int64_t{0}, (kTokens - n) / 2, kTokens - n}) {
            const std::vector<float> some = products(first, n);
            QVERIFY2(std::equal(some.begin(), some.end(), all.begin() + first * n_out),
                     qPrintable(QStringLiteral("%1 tokens from %2 on").arg(n).arg(first)));
        }
    }
}

void TestGemm::no_tokens_writes_nothing() {
    ThreadPool pool(2);
    Gemm gemm(pool);
    const std::vector<float> weights(12, 1.0f);
    const WeightView view{weights.data(), WeightType::kF32, 3, 4};
    const float x[4] = {};
    float y[3] = {5.0f, 5.0f, 5.0f};
    gemm.multiply(GemmMode::kF32, GemmLayout::kRowsAreOutputs, x, 4, 0, view, y, 3);
    for (const float value : y) QCOMPARE(value, 5.0f);
}

void TestGemm::productTrial_timesEachProduct() {
    ThreadPool pool(1);
    ProductTrial trial(pool);
    for (const TrialProduct product : {TrialProduct::kManyF32, TrialProduct::kManyBf16, TrialProduct::kManyF32,
                                       TrialProduct::kFewFloatInputs, TrialProduct::kFewByteInputs}) {
        QVERIFY(trial.run_us(product) > 0);
    }
}

void TestGemm::library_version_is_known() {
    QVERIFY(Gemm::library_version().find('.') != std::string_view::npos);
}

QTEST_GUILESS_MAIN(TestGemm)
#include "tst_gemm.moc"
