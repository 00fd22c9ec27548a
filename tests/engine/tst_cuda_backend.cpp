// The CUDA backend on a real GPU: the checks for every device, and those that a CPU
// cannot run. Skipped, with the reason, if there is none.

#include <cmath>
#include <memory>
#include <vector>

#include <QTest>

#include "engine/device/cuda_backend.h"
#include "engine/device/cuda_messages.h"
#include "engine/error.h"
#include "engine/quant/quantizer.h"
#include "kernels/cuda_devices.h"
#include "kernels/thread_pool.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_experts.h"

using namespace offstage;
using namespace offstage::engine;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
// Products of more than 8 rows round their inputs to the weights' type (bf16: 8 bits).
constexpr parity::Promise kPromise{4e-3, true};

std::unique_ptr<Backend> open() {
    return open_cuda_backend(0, kBudget);
}

}  // namespace

class TestCudaBackend : public QObject {
    Q_OBJECT

  private slots:
    void without_a_gpu_opening_is_an_error();
    void keeps_the_contract_data();
    void keeps_the_contract();
    void same_bits_in_every_run();
    void quantizes_to_the_cpus_bytes_data();
    void quantizes_to_the_cpus_bytes();
    void memory_beyond_the_device_is_refused();
};

void TestCudaBackend::without_a_gpu_opening_is_an_error() {
    const kernels::CudaDevices found = kernels::cuda_devices();
    const int no_such = static_cast<int>(found.devices.size());
    try {
        open_cuda_backend(no_such, 0);
        QFAIL("a GPU that is not there was opened");
    } catch (const Error& error) {
        QVERIFY(error.kind() == ErrorKind::kUnsupported);
        QVERIFY(QString(error.what()).contains(QString("cuda:%1").arg(no_such)));
    }
}

#define SKIP_WITHOUT_GPU()                                                                                            \
    do {                                                                                                              \
        const kernels::CudaDevices found = kernels::cuda_devices();                                                   \
        if (found.devices.empty()) QSKIP(("no GPU to test on: " + message_of(found.none_because).english()).c_str()); \
        const kernels::CudaDevice& device = found.devices.front();                                                    \
        if (device.compute_major * 10 + device.compute_minor < 75) QSKIP("the GPU is older than sm_75");              \
    } while (false)

void TestCudaBackend::keeps_the_contract_data() {
    QTest::addColumn<int>("check");
    QTest::addColumn<bool>("byte_inputs");
    for (std::size_t i = 0; i < parity::all_checks().size(); ++i) {
        const QString name = parity::all_checks()[i].name;
        QTest::addRow("%s", qPrintable(name)) << static_cast<int>(i) << false;
        if (name.contains("_blocks") && !name.startsWith("embed")) {
            QTest::addRow("inputs of 8 bits: %s", qPrintable(name)) << static_cast<int>(i) << true;
        }
    }
}

void TestCudaBackend::keeps_the_contract() {
    SKIP_WITHOUT_GPU();
    QFETCH(int, check);
    QFETCH(bool, byte_inputs);
    parity::Promise promise = kPromise;
    promise.byte_inputs = byte_inputs;
    parity::run_check(parity::all_checks()[static_cast<std::size_t>(check)], *open(), promise);
}

void TestCudaBackend::same_bits_in_every_run() {
    SKIP_WITHOUT_GPU();
    const std::unique_ptr<Backend> backend = open();
    Backend::StepShape step = parity::largest_step();
    step.hidden_dim = 1024;
    step.ffn_dim = 2048;
    backend->reserve(step);
    const parity::TestExperts experts(*backend, kernels::WeightType::kBf16, 1024, 2048, 3);
    const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * 1024, 1));
    const std::vector<parity::TestExperts::Share> shares = {
        {0, {1}}, {1, parity::some_tokens(8, 0, 3)}, {2, parity::some_tokens(3, 0, 1)}};
    const std::vector<float> first = experts.run(shares, inputs, 0).rows;
    for (int run = 0; run < 20; ++run) {
        QVERIFY(parity::same_bits<float>(experts.run(shares, inputs, 0).rows, first));
    }
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
}

void TestCudaBackend::quantizes_to_the_cpus_bytes_data() {
    QTest::addColumn<int>("format");
    for (const kernels::WeightType format : parity::kPackedTypes) {
        QTest::addRow("%s", kernels::name_of(format)) << static_cast<int>(format);
    }
}

void TestCudaBackend::quantizes_to_the_cpus_bytes() {
    SKIP_WITHOUT_GPU();
    QFETCH(int, format);
    const auto to = static_cast<kernels::WeightType>(format);
    constexpr std::int64_t kCols = 4096, kRows = 1000;  // four pieces
    const std::unique_ptr<Backend> backend = open();
    Backend::StepShape step = parity::largest_step();
    step.hidden_dim = kCols;
    step.ffn_dim = 8 * kRows;
    backend->reserve(step);
    std::vector<kernels::Bf16> weights;
    for (const float value : parity::random_floats(kRows * kCols, 5, 0.03f)) {
        weights.push_back(kernels::to_bf16(value * value * value * 4000.0f + value));
    }
    const kernels::WeightView rows{weights.data(), kernels::WeightType::kBf16, kRows, kCols};
    kernels::ThreadPool pool(4);
    std::vector<std::byte> want(kRows * kernels::row_bytes(to, kCols)), got(want.size());
    const QuantError error = Quantizer(pool).quantize(rows, to, want.data());
    Quantizer helped(pool, QuantMethod::kHqq, backend->row_quantizer());
    const QuantError found = helped.quantize(rows, to, got.data());
    QCOMPARE(helped.n_helped(), kRows);
    QVERIFY(got == want);
    QVERIFY(std::abs(found.relative() / error.relative() - 1) < 1e-6);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
}

void TestCudaBackend::memory_beyond_the_device_is_refused() {
    SKIP_WITHOUT_GPU();
    const std::unique_ptr<Backend> backend = open_cuda_backend(0, 0);
    try {
        open_cuda_backend(0, backend->info().memory_bytes + 1);
        QFAIL("a budget above the device's memory was taken");
    } catch (const Error& error) {
        QVERIFY(error.kind() == ErrorKind::kInvalidInput);
    }
}

QTEST_GUILESS_MAIN(TestCudaBackend)
#include "tst_cuda_backend.moc"
