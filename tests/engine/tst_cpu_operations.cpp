// What CpuOperations promises beyond Backend's contract: the same bits on any number of threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <QTest>

#include "engine/device/cpu_operations.h"
#include "kernels/thread_pool.h"
#include "tests/kernels/packed_data.h"
#include "tests/kernels/test_data.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::GemmMode;
using kernels::WeightType;
using kernels::test::RandomPackedRows;
using kernels::test::RandomWeights;

namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 7, 16};

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed);
    return values;
}

// n_rows rows of random weights of any type, one after the other.
class RandomRows {
  public:
    RandomRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale = 1.0f) {
        if (kernels::is_packed(type)) {
            packed_ = std::make_unique<RandomPackedRows>(type, n_rows, n_cols, seed, scale);
        } else {
            plain_ = std::make_unique<RandomWeights>(type, n_rows * n_cols, seed, scale);
        }
    }
    const void* data() const { return packed_ ? packed_->data() : plain_->data(); }

  private:
    std::unique_ptr<RandomPackedRows> packed_;
    std::unique_ptr<RandomWeights> plain_;
};

// Calls compute(operations) on pools of different sizes; each must leave the same bits in `result`.
template <typename Compute>
void compare_thread_counts(GemmMode mode, std::vector<float>& result, const Compute& compute) {
    std::vector<float> first;
    for (const int n_threads : kThreadCounts) {
        kernels::ThreadPool pool(n_threads);
        CpuOperations operations(pool, mode);
        std::fill(result.begin(), result.end(), 0.0f);
        compute(operations);
        if (first.empty()) first = result;
        QVERIFY2(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)) == 0,
                 qPrintable(QStringLiteral("%1 threads give other bits than one").arg(n_threads)));
    }
}

}  // namespace

class TestCpuOperations : public QObject {
    Q_OBJECT

  private slots:
    void multiply_same_on_any_number_of_threads_data() { add_rows(); }
    void multiply_same_on_any_number_of_threads();
    void experts_same_on_any_number_of_threads_data() { add_rows(); }
    void experts_same_on_any_number_of_threads();

    void experts_of_few_and_many_rows_agree_data();
    void experts_of_few_and_many_rows_agree();

  private:
    static void add_rows() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("type");
        QTest::addColumn<qint64>("n");
        for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
            for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16, WeightType::kInt8,
                                          WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2}) {
                for (const qint64 n : {1, 2, 3, 5, 7, 8, 9, 33, 200}) {
                    if (offstage::test::kSanitized && n != 1 && n != 7 && n != 33) continue;
                    if (kernels::is_packed(type) && n != 1 && n != 3 && n != 8 && n != 33) continue;
                    QTest::addRow("%s products, %s weights, %lld rows", name_of(mode).data(), name_of(type),
                                  static_cast<long long>(n))
                        << static_cast<int>(mode) << static_cast<int>(type) << n;
                }
            }
        }
    }
};

void TestCpuOperations::multiply_same_on_any_number_of_threads() {
    QFETCH(int, mode);
    QFETCH(int, type);
    QFETCH(qint64, n);
    const auto format = static_cast<WeightType>(type);
    const std::int64_t cols = kernels::is_packed(format) ? 2112 : 2100;
    for (const std::int64_t rows : {37, 331, 1100}) {
        const RandomRows values(format, rows, cols, 1);
        const kernels::WeightView weight{values.data(), format, rows, cols};
        const std::vector<float> x = random_floats(n * cols, 2);
        std::vector<float> y(static_cast<std::size_t>(n * rows));
        compare_thread_counts(static_cast<GemmMode>(mode), y,
                              [&](CpuOperations& operations) { operations.multiply(weight, x.data(), n, y.data()); });
    }
}

void TestCpuOperations::experts_same_on_any_number_of_threads() {
    QFETCH(int, mode);
    QFETCH(int, type);
    QFETCH(qint64, n);
    const auto format = static_cast<WeightType>(type);
    const std::int64_t hidden = kernels::is_packed(format) ? 384 : 344;
    constexpr std::int64_t kFfn = 1171;
    const RandomRows values(format, 3 * kFfn, hidden, 3, 0.1f);
    const kernels::ExpertView view{values.data(), kernels::expert_layout(format, hidden, kFfn)};
    const std::vector<float> x = random_floats(n * hidden, 4);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(n) + 1);
    std::iota(tokens.begin(), tokens.end() - 1, 0);
    std::shuffle(tokens.begin(), tokens.end() - 1, std::mt19937(5));
    tokens.back() = 0;
    const std::vector<ExpertCall> calls = {{view, 0, n}, {view, n, 1}};
    std::vector<float> out(static_cast<std::size_t>((n + 1) * hidden));
    compare_thread_counts(static_cast<GemmMode>(mode), out, [&](CpuOperations& operations) {
        operations.experts(calls, x.data(), tokens.data(), out.data());
    });
}

void TestCpuOperations::experts_of_few_and_many_rows_agree_data() {
    QTest::addColumn<int>("type");
    for (const WeightType type : kernels::test::kDecodedTypes) {
        QTest::addRow("%s", kernels::name_of(type)) << static_cast<int>(type);
    }
}

// The one-pass kernel and the batched product read the same packed expert: a row's result differs by rounding alone.
void TestCpuOperations::experts_of_few_and_many_rows_agree() {
    QFETCH(int, type);
    const auto format = static_cast<WeightType>(type);
    constexpr std::int64_t kHidden = 256;
    constexpr std::int64_t kFfn = 200;
    constexpr std::int64_t kRows = 12;
    const RandomPackedRows weights(format, 3 * kFfn, kHidden, 6);
    const kernels::ExpertView view{weights.data(), kernels::expert_layout(format, kHidden, kFfn)};
    const std::vector<float> x = random_floats(kRows * kHidden, 7);
    std::vector<std::int32_t> tokens(kRows);
    std::iota(tokens.begin(), tokens.end(), 0);
    kernels::ThreadPool pool(2);
    CpuOperations operations(pool, GemmMode::kF32);
    std::vector<float> many(kRows * kHidden);
    std::vector<float> few(kRows * kHidden);
    const std::vector<ExpertCall> all = {{view, 0, kRows}};
    operations.experts(all, x.data(), tokens.data(), many.data());
    const std::vector<ExpertCall> parts = {{view, 0, 1}, {view, 1, 3}, {view, 4, 8}};
    operations.experts(parts, x.data(), tokens.data(), few.data());
    float largest = 0.0f;
    for (const float value : many) largest = std::max(largest, std::abs(value));
    QVERIFY(largest > 0.0f);
    for (std::size_t i = 0; i < many.size(); ++i) {
        if (std::abs(few[i] - many[i]) <= 1e-5f * largest) continue;
        QFAIL(qPrintable(QStringLiteral("place %1: %2 and %3").arg(i).arg(few[i]).arg(many[i])));
    }
}

QTEST_GUILESS_MAIN(TestCpuOperations)
#include "tst_cpu_operations.moc"
