// What CpuOperations promises beyond Backend's contract: the same bits on any number of threads.

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <QTest>

#include "engine/device/cpu_operations.h"
#include "kernels/thread_pool.h"
#include "tests/kernels/test_data.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::GemmMode;
using kernels::WeightType;
using kernels::test::RandomWeights;

namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 7, 16};

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed);
    return values;
}

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

  private:
    static void add_rows() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("type");
        QTest::addColumn<qint64>("n");
        for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
            for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16}) {
                for (const qint64 n : {1, 2, 3, 5, 7, 8, 9, 33, 200}) {
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
    constexpr std::int64_t kCols = 2100;
    for (const std::int64_t rows : {37, 331, 1100}) {
        const RandomWeights values(static_cast<WeightType>(type), rows * kCols, 1);
        const kernels::WeightView weight{values.data(), values.type(), rows, kCols, kCols};
        const std::vector<float> x = random_floats(n * kCols, 2);
        std::vector<float> y(static_cast<std::size_t>(n * rows));
        compare_thread_counts(static_cast<GemmMode>(mode), y,
                              [&](CpuOperations& operations) { operations.multiply(weight, x.data(), n, y.data()); });
    }
}

void TestCpuOperations::experts_same_on_any_number_of_threads() {
    QFETCH(int, mode);
    QFETCH(int, type);
    QFETCH(qint64, n);
    constexpr std::int64_t kHidden = 344;
    constexpr std::int64_t kFfn = 1171;
    const RandomWeights values(static_cast<WeightType>(type), 3 * kHidden * kFfn, 3, 0.1f);
    const kernels::ExpertView view{values.data(), values.type(), kHidden, kFfn};
    const std::vector<float> x = random_floats(n * kHidden, 4);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(n) + 1);
    std::iota(tokens.begin(), tokens.end() - 1, 0);
    std::shuffle(tokens.begin(), tokens.end() - 1, std::mt19937(5));
    tokens.back() = 0;
    const std::vector<ExpertCall> calls = {{view, 0, n}, {view, n, 1}};
    std::vector<float> out(static_cast<std::size_t>((n + 1) * kHidden));
    compare_thread_counts(static_cast<GemmMode>(mode), out, [&](CpuOperations& operations) {
        operations.experts(calls, x.data(), tokens.data(), out.data());
    });
}

QTEST_GUILESS_MAIN(TestCpuOperations)
#include "tst_cpu_operations.moc"
