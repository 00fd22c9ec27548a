// Packing of rows by the CUDA backend on the host.

#include <memory>

#include <QTest>

#include "engine/device/cpu_backend.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/parity/parity_values.h"
#include "tests/kernels/test_data.h"

using namespace offstage;
using namespace offstage::engine;
using test::open_on_host;
using test::problems_on_host;

namespace {

// A step of a model whose experts have 3,000 rows of this many weights.
Backend::StepShape quantizing_step(std::int64_t n_cols) {
    Backend::StepShape shape = parity::largest_step();
    shape.n_tokens = 1;
    shape.hidden_dim = n_cols;
    shape.ffn_dim = 1000;
    return shape;
}

std::unique_ptr<Backend> open_for_quantizing(std::int64_t n_cols = 8192 + 192) {
    std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(quantizing_step(n_cols));
    return backend;
}

}  // namespace

class TestCudaQuantizerOnHost : public QObject {
    Q_OBJECT

  private slots:
    void init() { cuda_host::reset(); }
    void quantizes_to_the_cpus_bytes_data();
    void quantizes_to_the_cpus_bytes();
    void what_cannot_be_quantized_is_refused();
    void quantizing_fails_over_to_the_cpu();

  private:
    kernels::ThreadPool pool_{1};
    CpuBackend cpu_{pool_, kernels::GemmMode::kF32, std::uint64_t{256} << 20};
};

void TestCudaQuantizerOnHost::quantizes_to_the_cpus_bytes_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("format");
    for (const kernels::WeightType type : parity::kTypes) {
        for (const kernels::WeightType format : parity::kPackedTypes) {
            QTest::addRow("%s to %s", kernels::name_of(type), kernels::name_of(format))
                << static_cast<int>(type) << static_cast<int>(format);
        }
    }
}

void TestCudaQuantizerOnHost::quantizes_to_the_cpus_bytes() {
    QFETCH(int, type);
    QFETCH(int, format);
    const auto from = static_cast<kernels::WeightType>(type);
    const auto to = static_cast<kernels::WeightType>(format);
    constexpr std::int64_t kRows = 5;
    const std::unique_ptr<Backend> backend = open_for_quantizing();
    // One block; several; more groups than threads and several super groups.
    for (const std::int64_t n_cols : {64, 320, 8192 + 192}) {
        std::vector<float> values = parity::random_floats(kRows * n_cols, 3, 0.03f);
        for (std::int64_t i = 0; i < kRows * n_cols; ++i) {
            float& value = values[static_cast<std::size_t>(i)];
            const std::int64_t row = i / n_cols;
            const std::int64_t group = i % n_cols / 16;
            if (row == 1) value *= value * value * 40000.0f;           // a few large ones
            if (row == 2 && i % 97 == 0) value = 7.0f;                 // outliers that the shrinkage leaves
            if (row == 3 && group % 8 < 4) value = 0.0f;               // groups of nothing
            if (row == 4 && group % 12 < 4) value = 3.0f + value / 8;  // groups far from zero
        }
        // Every other row of a larger tensor.
        const std::int64_t stride = 2 * n_cols;
        const std::size_t width = kernels::bytes_per_weight(from);
        std::vector<std::byte> plain(static_cast<std::size_t>(kRows * stride) * width);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t place =
                (i / static_cast<std::size_t>(n_cols) * static_cast<std::size_t>(n_cols) + i) * width;
            const std::uint16_t bits = from == kernels::WeightType::kF16
                                           ? kernels::test::to_f16_truncated(values[i]).bits
                                           : kernels::to_bf16(values[i]).bits;
            if (from == kernels::WeightType::kF32) {
                std::memcpy(plain.data() + place, &values[i], 4);
            } else {
                std::memcpy(plain.data() + place, &bits, 2);
            }
        }
        std::vector<std::byte> want(kRows * kernels::row_bytes(to, n_cols));
        const kernels::WeightView rows{plain.data(), from, kRows, n_cols, static_cast<std::size_t>(stride) * width};
        Quantizer(pool_).quantize(rows, to, want.data());

        RowQuantizer* const quantizer = backend->row_quantizer();
        QVERIFY(quantizer != nullptr);
        QVERIFY(quantizer->rows_per_piece(n_cols, from, to) >= kRows);
        const int slot = n_cols == 320;  // the other one
        QVERIFY(quantizer->start(slot, rows, to));
        const std::byte* packed = quantizer->finish(slot);
        QVERIFY(packed != nullptr);
        const std::vector<std::byte> got(packed, packed + want.size());
        const auto apart = std::mismatch(got.begin(), got.end(), want.begin());
        QVERIFY2(apart.first == got.end(), qPrintable(QStringLiteral("byte %1 of %2, rows of %3")
                                                          .arg(apart.first - got.begin())
                                                          .arg(got.size())
                                                          .arg(kernels::row_bytes(to, n_cols))));
    }
}

void TestCudaQuantizerOnHost::what_cannot_be_quantized_is_refused() {
    using kernels::WeightType;
    const std::unique_ptr<Backend> backend = open_for_quantizing();
    RowQuantizer& quantizer = *backend->row_quantizer();
    const std::vector<std::byte> rows(1 << 16);
    const int launches = cuda_host::calls_of("cudaLaunchKernel");
    QCOMPARE(quantizer.rows_per_piece(72, WeightType::kF32, WeightType::kHqq4), 0);
    QCOMPARE(quantizer.rows_per_piece(64, WeightType::kF32, WeightType::kBf16), 0);
    QCOMPARE(quantizer.rows_per_piece(64, WeightType::kInt8, WeightType::kHqq2), 0);
    QCOMPARE(quantizer.rows_per_piece(1 << 20, WeightType::kBf16, WeightType::kHqq2), 0);  // no row of it has room
    QVERIFY(!quantizer.start(0, {rows.data(), WeightType::kF32, 2, 72, 72}, WeightType::kHqq4));
    QVERIFY(!quantizer.start(0, {rows.data(), WeightType::kF32, 2, 64, 64}, WeightType::kBf16));
    QVERIFY(!quantizer.start(0, {rows.data(), WeightType::kInt8, 2, 64, 64}, WeightType::kHqq2));
    QCOMPARE(cuda_host::calls_of("cudaLaunchKernel"), launches);
    QVERIFY(backend->ok());
    QVERIFY(cpu_.row_quantizer() == nullptr);
    // A model whose rows suit no format reserves no memory for it.
    Backend::StepShape odd = parity::largest_step();
    odd.hidden_dim = 72;
    const std::unique_ptr<Backend> other = open_on_host();
    other->reserve(odd);
    QVERIFY(other->row_quantizer() == nullptr);
}

// With the program's own quantizer: many pieces in turn, and the threads do the work that
// the device cannot.
void TestCudaQuantizerOnHost::quantizing_fails_over_to_the_cpu() {
    using kernels::WeightType;
    constexpr std::int64_t kCols = 64 * 256, kRows = 200;  // 64 rows a piece
    std::vector<float> values = parity::random_floats(kRows * kCols, 9, 0.03f);
    const kernels::WeightView rows{values.data(), WeightType::kF32, kRows, kCols};
    std::vector<std::byte> want(kRows * kernels::row_bytes(WeightType::kInt8, kCols));
    const QuantError error = Quantizer(pool_).quantize(rows, WeightType::kInt8, want.data());
    const auto same = [&](Backend& backend, std::int64_t n_helped) {
        std::vector<std::byte> out(want.size());
        Quantizer quantizer(pool_, QuantMethod::kHqq, backend.row_quantizer());
        const QuantError found = quantizer.quantize(rows, WeightType::kInt8, out.data());
        QCOMPARE(quantizer.n_helped(), n_helped);
        QVERIFY(out == want);
        QVERIFY(std::abs(found.relative() / error.relative() - 1) < 1e-6);
    };
    for (const char* function : {"cudaMemcpyAsync", "cudaLaunchKernel", "cudaEventRecord", "cudaEventSynchronize"}) {
        std::unique_ptr<Backend> backend = open_for_quantizing(kCols);
        QCOMPARE(backend->row_quantizer()->rows_per_piece(kCols, WeightType::kF32, WeightType::kInt8), 64);
        same(*backend, kRows);
        // The third piece fails: two are done, or one if the second's result is not
        // known.
        cuda_host::fail_call(function, function[4] == 'M' ? 5 : 3);
        std::vector<std::byte> out(want.size());
        Quantizer quantizer(pool_, QuantMethod::kHqq, backend->row_quantizer());
        quantizer.quantize(rows, WeightType::kInt8, out.data());
        QVERIFY2(quantizer.n_helped() > 0 && quantizer.n_helped() < kRows, function);
        QVERIFY(out == want);
        cuda_host::fail_call(function, 0);
        same(*backend, 0);       // not again
        QVERIFY(backend->ok());  // tokens go on
        backend.reset();
        QCOMPARE(problems_on_host(), QString());
    }
    // Without a third queue, or pages that stay.
    for (const char* function : {"cudaStreamCreateWithPriority", "cudaHostRegister"}) {
        const std::unique_ptr<Backend> backend = open_on_host();
        cuda_host::fail_call(function, 1);
        backend->reserve(quantizing_step(kCols));
        cuda_host::fail_call(function, 0);
        QVERIFY(backend->row_quantizer() == nullptr);
        same(*backend, 0);
    }
}

QTEST_GUILESS_MAIN(TestCudaQuantizerOnHost)
#include "tst_cuda_quantizer_on_host.moc"
