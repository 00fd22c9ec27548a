// Rows of blocks times inputs of 8 bits, on every instruction set: against products of
// the decoded weights with the inputs as they are rounded.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <QTest>

#include "byte_inputs_reference.h"
#include "kernels/cpu_kernels.h"
#include "packed_data.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// Of the sum of the terms' magnitudes.
constexpr double kRelative = 1e-5;
constexpr int kMostTokens = 17;  // more than go together, and one left over

// y as from CpuKernels::matvec_multi, over buffers of the exact size.
void multiply(const CpuKernels& kernels, const WeightView& weight, const float* x, int n_tokens, std::int64_t begin,
              std::int64_t end, float* y) {
    const std::int64_t n = weight.n_cols;
    TestBuffer<float> exact_x(n_tokens * n);
    std::copy_n(x, n_tokens * n, exact_x.data());
    TestBuffer<std::byte> inputs(n_tokens * rounded_input_bytes(n));
    std::fill_n(inputs.data(), n_tokens * rounded_input_bytes(n), std::byte{0xff});
    kernels.round_inputs(weight.type, exact_x.data(), n, n_tokens, n, inputs.data());
    std::vector<const std::byte*> places;
    for (int t = 0; t < n_tokens; ++t) places.push_back(inputs.data() + t * rounded_input_bytes(n));
    const TestBuffer<std::byte> scratch(byte_product_scratch(n), 1);
    kernels.matvec_bytes(weight, places.data(), n_tokens, begin, end, y, weight.n_rows, scratch.data());
    QVERIFY(scratch.guards_intact());
}

}  // namespace

class TestByteInputs : public QObject {
    Q_OBJECT

    // Inputs of the tokens, a stretch of zeros, one that stands out and one very small
    // among them.
    static std::vector<float> inputs(std::int64_t n_cols) {
        std::vector<float> x(static_cast<std::size_t>(kMostTokens * n_cols));
        fill_random(x, 3, 2.0f);
        std::fill_n(x.begin(), 32, 0.0f);
        x[40] = 300.0f;
        std::fill_n(x.begin() + n_cols, 32, 1e-30f);
        return x;
    }

  private slots:
    void products_of_rounded_inputs_data() {
        QTest::addColumn<int>("set");
        QTest::addColumn<int>("type");
        for (const InstructionSet set : available_instruction_sets()) {
            for (const WeightType type : kDecodedTypes) {
                if (!is_blocks(type)) continue;
                QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                    << static_cast<int>(set) << static_cast<int>(type);
            }
        }
    }

    // Any range of rows, any number of tokens, and columns that are no whole group of
    // 256 where the type has such rows.
    void products_of_rounded_inputs() {
        QFETCH(int, set);
        QFETCH(int, type);
        const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
        for (const std::int64_t some : {64, 256, 1088}) {
            const std::int64_t n_cols = length_for(static_cast<WeightType>(type), some);
            constexpr std::int64_t kRows = 41, kBegin = 2, kEnd = 37;
            const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n_cols, 11);
            const std::vector<float> x = inputs(n_cols);
            for (const int n_tokens : {1, 3, 6, kMostTokens}) {
                std::vector<float> y(static_cast<std::size_t>(n_tokens * kRows), -1.0f);
                multiply(kernels, rows.view(), x.data(), n_tokens, kBegin, kEnd, y.data());
                for (int t = 0; t < n_tokens; ++t) {
                    const std::vector<double> in = rounded_inputs(x.data() + t * n_cols, n_cols).values;
                    for (std::int64_t r = 0; r < kRows; ++r) {
                        const float got = y[static_cast<std::size_t>(t * kRows + r)];
                        if (r < kBegin || r >= kEnd) {
                            QCOMPARE(got, -1.0f);
                            continue;
                        }
                        double sum = 0.0;
                        double magnitude = 0.0;
                        for (std::int64_t i = 0; i < n_cols; ++i) {
                            const double term = double{rows[r * n_cols + i]} * in[static_cast<std::size_t>(i)];
                            sum += term;
                            magnitude += std::abs(term);
                        }
                        QVERIFY2(std::abs(double{got} - sum) <= kRelative * magnitude,
                                 qPrintable(QStringLiteral("%1 columns, token %2, row %3: %4, not %5")
                                                .arg(n_cols)
                                                .arg(t)
                                                .arg(r)
                                                .arg(double{got})
                                                .arg(sum)));
                    }
                }
            }
        }
    }

    void a_token_is_summed_alike_in_any_company_data() { products_of_rounded_inputs_data(); }
    void a_token_is_summed_alike_in_any_company() {
        QFETCH(int, set);
        QFETCH(int, type);
        const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
        const std::int64_t n_cols = length_for(static_cast<WeightType>(type), 512);
        constexpr std::int64_t kRows = 19;
        const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n_cols, 12);
        const std::vector<float> x = inputs(n_cols);
        std::vector<float> together(kMostTokens * kRows);
        std::vector<float> alone(kMostTokens * kRows);
        for (int t = 0; t < kMostTokens; ++t) {
            multiply(kernels, rows.view(), x.data() + t * n_cols, 1, 0, kRows, alone.data() + t * kRows);
        }
        for (int n_tokens = 1; n_tokens <= kMostTokens; ++n_tokens) {
            multiply(kernels, rows.view(), x.data(), n_tokens, 0, kRows, together.data());
            QCOMPARE(
                std::memcmp(alone.data(), together.data(), sizeof(float) * static_cast<std::size_t>(n_tokens) * kRows),
                0);
        }
    }
};

QTEST_GUILESS_MAIN(TestByteInputs)
#include "tst_byte_inputs.moc"
