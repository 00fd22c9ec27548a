// The CUDA backend with its very kernels, on a CUDA that runs on the host (tests/cuda_host): no GPU is needed, and none
// is tested. What real hardware does with them is for tst_cuda_backend.cpp.

#include <map>
#include <memory>

#include <QTest>

#include "block_parity.h"
#include "engine/device/cpu_backend.h"
#include "engine/device/cuda_backend.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
// With cuBLAS, products of more than 8 rows round their inputs to the weights' type (bf16: 8 bits).
constexpr double kRounded = 4e-3;
constexpr double kExact = 3e-6;

std::unique_ptr<Backend> open_on_host(std::uint64_t budget = kBudget) {
    return make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, budget);
}

// A step of a model whose experts have 3,000 rows of so many weights.
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

QString problems() {
    QString all;
    for (const std::string& problem : cuda_host::problems()) all += QString::fromStdString(problem) + "; ";
    return all;
}

// A little of everything that a step does; true when nothing failed.
bool run_a_step(Backend& backend) {
    constexpr std::int64_t kHidden = 64;
    constexpr std::int64_t kFfn = 48;
    constexpr std::int64_t kRows = 12;
    const std::vector<float> host = parity::random_floats(3 * kHidden * kFfn, 1);
    std::vector<std::int32_t> tokens(kRows);
    std::vector<float> result(kRows * kHidden);
    std::vector<std::byte> fewer(kernels::expert_layout(kernels::WeightType::kHqq3, kHidden, kFfn).bytes());
    // Even after a failure nothing may still be copied from or to these.
    const struct Waits {
        Backend& backend;
        ~Waits() {
            for (int i = 0; i < 2; ++i) parity::finish(backend);  // the first may be what fails
        }
    } waits{backend};
    try {
        Backend::StepShape shape;
        shape.n_tokens = kRows;
        shape.hidden_dim = kHidden;
        shape.ffn_dim = kFfn;
        shape.n_experts = 2;
        shape.n_active = 1;
        shape.attention = parity::grouped_attention(4, 2, 16);
        shape.context = 64;
        backend.reserve(shape);
        Arena& memory = backend.memory();
        const DeviceBlock weights = memory.allocate(host.size() * 4, MemoryUse::kExperts, "weights");
        const DeviceBlock x = memory.allocate(kRows * kHidden * 4, MemoryUse::kWorkspace, "inputs");
        const DeviceBlock y = memory.allocate(kRows * kHidden * 4, MemoryUse::kWorkspace, "outputs");
        const DeviceBlock indices = memory.allocate(kRows * 4, MemoryUse::kWorkspace, "tokens");
        const kernels::WeightView plain{host.data(), kernels::WeightType::kF32, 3 * kFfn, kHidden};
        const DeviceBlock packed = memory.allocate(fewer.size(), MemoryUse::kExperts, "packed weights");
        bool copied = false;
        const auto copy = backend.copy_weights(weights.data(), host.data(), host.size() * 4, {});
        if (copy.has_value()) {
            copied = true;
            backend.wait(*copy);
        }
        backend.upload(x.data(), host.data(), kRows * kHidden * 4);
        backend.upload(indices.data(), tokens.data(), kRows * 4);
        const kernels::ExpertView expert{weights.data(),
                                         kernels::expert_layout(kernels::WeightType::kF32, kHidden, kFfn)};
        const ExpertCall calls[] = {{expert, 0, 3}, {expert, 3, kRows - 3}};
        backend.experts(calls, x.as<float>(), indices.as<std::int32_t>(), y.as<float>());
        backend.multiply({weights.data(), kernels::WeightType::kF32, 16, kHidden}, x.as<float>(), kRows, y.as<float>());
        // Whatever fails, the packed bytes are there: the processor makes them then.
        kernels::ThreadPool one(1);
        Quantizer(one, QuantMethod::kHqq, backend.ok() ? backend.row_quantizer() : nullptr)
            .quantize(plain, kernels::WeightType::kHqq3, fewer.data());
        backend.upload(packed.data(), fewer.data(), fewer.size());
        const kernels::ExpertView fewer_bits{packed.data(),
                                             kernels::expert_layout(kernels::WeightType::kHqq3, kHidden, kFfn)};
        const ExpertCall packed_calls[] = {{fewer_bits, 0, 2}, {fewer_bits, 2, kRows - 2}};
        backend.experts(packed_calls, x.as<float>(), indices.as<std::int32_t>(), y.as<float>());
        backend.add(x.as<float>(), kRows * kHidden, y.as<float>(), 1.0f);
        backend.download(result.data(), y.data(), kRows * kHidden * 4);
        parity::finish(backend);
        return copied && backend.ok();
    } catch (const Error& error) {
        return error.kind() == ErrorKind::kOutOfMemory && false;
    }
}

// x = factor x + y, so many times, each time as the same sequence with a point in its midst.
class Repeated {
  public:
    explicit Repeated(Backend& backend) : backend_(backend) {}

    void run(std::int64_t place, float factor, int times = 1) {
        for (int i = 0; i < times; ++i) {
            backend_.begin_repeated(place);
            backend_.scale(factor, kValues, x_.data());
            midst = backend_.record(DeviceEvent::Queue::kCompute);
            backend_.add(y_.data(), kValues, x_.data(), 1.0f);
            end = backend_.record(DeviceEvent::Queue::kCompute);
            backend_.end_repeated();
            if (!backend_.ok()) return;
            for (float& value : wanted_) value = factor * value + 1.0f;
        }
    }
    bool right() { return x_.download() == wanted_; }
    void set(float value) {
        wanted_.assign(kValues, value);
        sent_ = wanted_;
        backend_.upload(x_.data(), sent_.data(), kValues * sizeof(float));
    }
    double us() { return backend_.elapsed_us(midst, end); }

    DeviceEvent midst, end;

  private:
    static constexpr std::int64_t kValues = 40;
    Backend& backend_;
    std::vector<float> wanted_ = parity::filled(kValues, 2.0f), sent_;
    parity::OnDevice<float> x_{backend_, wanted_}, y_{backend_, parity::filled(kValues, 1.0f)};
};

// The largest difference of two results, as a share of 1 or of the value.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = a.size() == b.size() && !a.empty() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double difference = std::abs(double{a[i]} - double{b[i]}) / std::max(1.0, std::abs(double{b[i]}));
        if (!(difference <= largest)) largest = difference;  // NaN too
    }
    return largest;
}

std::vector<float> attended(Backend& backend, const kernels::AttentionShape& shape,
                            const std::vector<parity::TestSequences::Length>& lengths) {
    Backend::StepShape step = parity::largest_step();
    step.attention = shape;
    step.context = 8192;
    backend.reserve(step);
    const parity::TestSequences sequences(backend, shape, lengths, 1);
    const std::int64_t stride = parity::query_stride(shape);
    const parity::OnDevice<float> queries(backend, parity::random_floats(sequences.n_rows() * stride, 2));
    const parity::OnDevice<float> out(backend, parity::filled(sequences.n_rows() * shape.output_width(), NAN));
    backend.attend(0, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data());
    return out.download();
}

}  // namespace

class TestCudaOnHost : public QObject {
    Q_OBJECT

  private slots:
    void init() { cuda_host::reset(); }
    void keeps_the_contract_on_the_host_layer_data();
    void keeps_the_contract_on_the_host_layer();
    void attention_of_unusual_shapes_matches_the_cpu_data();
    void attention_of_unusual_shapes_matches_the_cpu();
    void more_experts_than_a_launch_takes_match_the_cpu();
    void more_rows_than_scratch_takes_match_the_cpu();
    void packed_experts_of_many_rows_are_multiplied_together();
    void prompts_read_keys_in_host_memory_once_data();
    void prompts_read_keys_in_host_memory_once();
    void opening_says_why_it_fails();
    void nth_failure_leaves_a_device_that_works_data();
    void nth_failure_leaves_a_device_that_works();
    void sequences_that_come_again_are_replayed();
    void graphs_are_of_the_budget();
    void a_graph_that_fails_changes_nothing_data();
    void a_graph_that_fails_changes_nothing();
    void one_tokens_place_may_be_the_devices_to_read();
    void memory_comes_and_goes_beside_the_work();
    void lost_context_stays_a_failure();
    void nothing_starts_after_a_failure();
    void too_little_scratch_is_a_failure();
    void layers_of_two_head_sizes_have_room();
    void packed_weights_that_are_not_aligned_are_a_failure();
    void quantizes_to_the_cpus_bytes_data();
    void quantizes_to_the_cpus_bytes();
    void what_cannot_be_quantized_is_refused();
    void quantizing_fails_over_to_the_cpu();
    void same_bits_in_any_order_of_threads();
    void tickets_long_past_have_happened();

  private:
    kernels::ThreadPool pool_{1};
    CpuBackend cpu_{pool_, kernels::GemmMode::kF32, kBudget};
};

void TestCudaOnHost::keeps_the_contract_on_the_host_layer_data() {
    QTest::addColumn<int>("compute_major");
    QTest::addColumn<int>("compute_minor");
    QTest::addColumn<bool>("cublas");
    QTest::addColumn<int>("seed");
    QTest::addColumn<int>("check");
    QTest::addColumn<bool>("byte_inputs");
    for (std::size_t i = 0; i < parity::kAllChecks.size(); ++i) {
        const char* name = parity::kAllChecks[i].name;
        const auto check = static_cast<int>(i);
        QTest::addRow("host layer as 9.0 with cuBLAS: %s", name) << 9 << 0 << true << 1 << check << false;
        const bool of_blocks = QString(name).contains("_blocks") && !QString(name).startsWith("embed");
        if (of_blocks) QTest::addRow("inputs of 8 bits: %s", name) << 8 << 6 << false << 4 << check << true;
        if (test::kSanitized) continue;  // every lane is a fiber: minutes
        // Without cuBLAS, and on older GPUs, products alone differ: cuBLAS has no bfloat16 for these.
        if (!QString(name).startsWith("multiply") && !QString(name).startsWith("experts")) continue;
        QTest::addRow("host layer as 8.6 without cuBLAS: %s", name) << 8 << 6 << false << 3 << check << false;
        QTest::addRow("host layer as 7.5 with cuBLAS: %s", name) << 7 << 5 << true << 2 << check << false;
    }
}

void TestCudaOnHost::keeps_the_contract_on_the_host_layer() {
    QFETCH(int, compute_major);
    QFETCH(int, compute_minor);
    QFETCH(bool, cublas);
    QFETCH(int, seed);
    QFETCH(int, check);
    QFETCH(bool, byte_inputs);
    cuda_host::Settings settings;
    settings.compute_major = compute_major;
    settings.compute_minor = compute_minor;
    settings.cublas = cublas;
    settings.seed = static_cast<std::uint32_t>(seed);
    cuda_host::reset(settings);
    const parity::Check& run = parity::kAllChecks[static_cast<std::size_t>(check)];
    // Tensor cores multiply many rows of packed weights, with cuBLAS or without.
    const bool rounds = cublas || QString(run.name).contains("packed") || QString(run.name).contains("mixed");
    parity::run_check(run, *open_on_host(), {rounds ? kRounded : kExact, true, byte_inputs});
    QCOMPARE(problems(), QString());
}

void TestCudaOnHost::attention_of_unusual_shapes_matches_the_cpu_data() {
    QTest::addColumn<int>("n_heads");
    QTest::addColumn<int>("n_kv_heads");
    QTest::addColumn<int>("head_dim");
    QTest::addColumn<int>("sliding_window");
    QTest::addRow("groups of 8, window") << 8 << 1 << 32 << 70;
    if (test::kSanitized) return;
    QTest::addRow("groups of 3") << 6 << 2 << 64 << 0;
    QTest::addRow("heads of 256") << 4 << 2 << 256 << 0;
    QTest::addRow("heads of 192, groups of 5") << 5 << 1 << 192 << 0;
    QTest::addRow("heads of 4") << 2 << 2 << 4 << 0;
    QTest::addRow("latent") << 5 << 0 << 30 << 0;
    QTest::addRow("latent in a window") << 2 << 0 << 25 << 100;
}

void TestCudaOnHost::attention_of_unusual_shapes_matches_the_cpu() {
    QFETCH(int, n_heads);
    QFETCH(int, n_kv_heads);
    QFETCH(int, head_dim);
    QFETCH(int, sliding_window);
    // No heads of the cache of their own: latent attention.
    const kernels::AttentionShape shape =
        n_kv_heads == 0 ? parity::latent_attention(n_heads, head_dim, head_dim / 10 * 2, sliding_window)
                        : parity::grouped_attention(n_heads, n_kv_heads, head_dim, sliding_window);
    const std::unique_ptr<Backend> backend = open_on_host();
    // More keys than the splits hold at their least; more segments than a launch takes; both ways in one step.
    std::vector<std::vector<parity::TestSequences::Length>> steps = {{{4500, 1}, {4096, 2}},
                                                                     {{70, 45}, {5, 3}, {0, 9}}};
    steps.emplace_back();
    for (std::int64_t s = 0; s < 70; ++s) steps.back().push_back({s * 3, s % 2 == 0 ? 1 : 9});
    for (const auto& lengths : steps) {
        const double apart = distance(attended(*backend, shape, lengths), attended(cpu_, shape, lengths));
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
        QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));
    }
}

void TestCudaOnHost::more_experts_than_a_launch_takes_match_the_cpu() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto rows = [](Backend& device) {
        device.reserve(parity::largest_step());
        const parity::TestExperts experts(device, kernels::WeightType::kF16, 24, 16, 70);
        const parity::OnDevice<float> inputs(device, parity::random_floats(64 * 24, 1));
        std::vector<parity::TestExperts::Share> shares;
        for (std::size_t e = 0; e < 70; ++e) {
            shares.push_back({e, parity::some_tokens(e < 66 ? 1 : 3, static_cast<std::int32_t>(e), 1)});
        }
        return experts.run(shares, inputs, 0).rows;
    };
    const double apart = distance(rows(*backend), rows(cpu_));
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));
}

// Products and experts of more rows than are converted at once.
void TestCudaOnHost::more_rows_than_scratch_takes_match_the_cpu() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto results = [](Backend& device) {
        constexpr std::int64_t kRows = 1100;
        Backend::StepShape step = parity::largest_step();
        step.hidden_dim = 32;
        step.ffn_dim = 16;
        step.attention = parity::grouped_attention(1, 1, 32);
        device.reserve(step);
        const parity::TestWeight weight(device, kernels::WeightType::kBf16, 8, 32, 3);
        const parity::OnDevice<float> x(device, parity::random_floats(kRows * 32, 4));
        const parity::OnDevice<float> y(device, parity::filled(kRows * 8, NAN));
        device.multiply(weight.view, x.data(), kRows, y.data());
        std::vector<float> all = y.download();
        const parity::TestExperts experts(device, kernels::WeightType::kBf16, 32, 16, 1);
        const parity::TestExperts::Share share{0, parity::some_tokens(kRows, 0, 1)};
        const std::vector<float> rows = experts.run(std::vector{share}, x, 0).rows;
        all.insert(all.end(), rows.begin(), rows.end());
        return all;
    };
    const double apart = distance(results(*backend), results(cpu_));
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QVERIFY2(apart < 3e-2, qPrintable(QString::number(apart)));  // inputs in bf16
    QVERIFY(apart > 0);
}

// From their bits, all of a layer in one launch for each matrix; cuBLAS only where rows are many.
void TestCudaOnHost::packed_experts_of_many_rows_are_multiplied_together() {
    using kernels::WeightType;
    const auto calls = [](const char* function) { return cuda_host::calls_of(function); };
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto rows = [](Backend& device) {
        device.reserve(parity::largest_step());
        const parity::TestExperts experts(device, WeightType::kHqq4, 64, 18, 66);
        const parity::OnDevice<float> inputs(device, parity::random_floats(64 * 64, 1));
        std::vector<parity::TestExperts::Share> shares;
        for (std::size_t e = 0; e < 66; ++e) {
            shares.push_back({e, parity::some_tokens(e == 0 ? 70 : 9, static_cast<std::int32_t>(e % 50), 1)});
        }
        return experts.run(shares, inputs, 0).rows;
    };
    const int launches = calls("cudaLaunchKernel");
    const std::vector<float> got = rows(*backend);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QCOMPARE(calls("cublasGemmEx"), 0);
    // Inputs, three products and the activation, of 64 experts and of the others.
    QCOMPARE(calls("cudaLaunchKernel") - launches, 10);
    const double difference = distance(got, rows(cpu_));
    QVERIFY2(difference > 0 && difference < 1e-2, qPrintable(QString::number(difference)));  // rounded to bf16

    const parity::TestWeight weight(*backend, WeightType::kHqq4, 8, 64, 3);
    const parity::OnDevice<float> x(*backend, parity::random_floats(257 * 64, 4));
    const parity::OnDevice<float> y(*backend, parity::filled(257 * 8, NAN));
    backend->multiply(weight.view, x.data(), 256, y.data());
    QCOMPARE(calls("cublasGemmEx"), 0);
    const std::vector<float> tiles = y.download();
    backend->multiply(weight.view, x.data(), 257, y.data());
    QVERIFY(calls("cublasGemmEx") > 0);
    std::vector<float> products = y.download();
    products.resize(256 * 8);
    const double apart = distance({tiles.begin(), tiles.begin() + 256 * 8}, products);
    QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));  // of the same numbers
}

void TestCudaOnHost::prompts_read_keys_in_host_memory_once_data() {
    QTest::addColumn<int>("key_dim");
    QTest::addColumn<int>("n_kv_heads");
    QTest::addColumn<int>("window");
    QTest::addColumn<int>("pieces");  // at least
    QTest::addRow("all keys") << 64 << 2 << 0 << 3;
    QTest::addRow("latent in a window") << 48 << 0 << 1900 << 2;
    if (test::kSanitized) return;
    QTest::addRow("heads of 256") << 256 << 1 << 0 << 2;
    QTest::addRow("in a window") << 64 << 2 << 1900 << 3;
}

// Copied to the device a few blocks at a time, as its memory allows; no bit differs.
void TestCudaOnHost::prompts_read_keys_in_host_memory_once() {
    QFETCH(int, key_dim);
    QFETCH(int, n_kv_heads);
    QFETCH(int, window);
    QFETCH(int, pieces);
    const kernels::AttentionShape shape = n_kv_heads == 0 ? parity::latent_attention(2, key_dim, 16, window)
                                                          : parity::grouped_attention(2, n_kv_heads, key_dim, window);
    cuda_host::Settings settings;
    settings.cublas = false;  // whose room is scratch memory as well
    cuda_host::reset(settings);
    const std::unique_ptr<Backend> backend = open_on_host();
    Backend::StepShape step;
    step.n_tokens = 24;
    step.hidden_dim = 16;
    step.ffn_dim = 16;
    step.n_experts = 1;
    step.n_active = 1;
    step.attention = shape;
    step.context = 2048;
    backend->reserve(step);
    using Blocks = parity::TestSequences::Blocks;
    std::vector<float> results[2];
    int launches[2];
    for (const Blocks where : {Blocks::kOnDevice, Blocks::kEverywhere}) {
        const std::vector<parity::TestSequences::Length> lengths = {{2000, 9}, {150, 9}, {7, 3}};
        const parity::TestSequences sequences(*backend, shape, lengths, 2, where);
        const std::int64_t stride = parity::query_stride(shape);
        const parity::OnDevice<float> queries(*backend, parity::random_floats(sequences.n_rows() * stride, 2, 2.0f));
        const parity::OnDevice<float> out(*backend, parity::filled(sequences.n_rows() * shape.output_width(), NAN));
        const int before = cuda_host::calls_of("cudaLaunchKernel");
        backend->attend(1, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data());
        const std::size_t at = where == Blocks::kOnDevice ? 0 : 1;
        results[at] = out.download();
        launches[at] = cuda_host::calls_of("cudaLaunchKernel") - before;
    }
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QVERIFY(parity::same_bits<float>(results[0], results[1]));
    // A table, then pieces of the prompt's keys, each copied by one launch and met by another.
    const QString said = QStringLiteral("%1 and %2 launches").arg(launches[0]).arg(launches[1]);
    QVERIFY2(launches[1] - launches[0] >= 2 * pieces && launches[1] <= 30, qPrintable(said));
}

void TestCudaOnHost::opening_says_why_it_fails() {
    const auto error_of = [](std::uint64_t budget) {
        try {
            open_on_host(budget);
        } catch (const Error& error) {
            return std::pair(error.kind(), QString(error.what()));
        }
        return std::pair(ErrorKind::kInternal, QString("opened"));
    };
    cuda_host::Settings settings;
    settings.compute_major = 7;
    settings.compute_minor = 0;
    cuda_host::reset(settings);
    QVERIFY(error_of(kBudget).first == ErrorKind::kUnsupported);
    QVERIFY(error_of(kBudget).second.contains("7.5"));
    settings = {};
    settings.n_devices = 0;
    cuda_host::reset(settings);
    QVERIFY(error_of(kBudget).first == ErrorKind::kUnsupported);
    cuda_host::reset();
    QVERIFY(error_of(std::uint64_t{2} << 30).first == ErrorKind::kInvalidInput);
    QCOMPARE(problems(), QString());

    const std::unique_ptr<Backend> whole = open_on_host(0);
    const ArenaUsage usage = whole->memory().usage();
    QVERIFY(usage.budget_bytes > 0 && usage.budget_bytes < whole->info().available_bytes);
    QVERIFY(whole->info().kind == DeviceKind::kCuda && !whole->info().emulated);
    QVERIFY(!whole->info().fingerprint.empty());
}

void TestCudaOnHost::nth_failure_leaves_a_device_that_works_data() {
    QTest::addColumn<QString>("function");
    for (const char* function :
         {"cudaMalloc", "cudaMallocFromPoolAsync", "cudaMemPoolCreate", "cudaMemcpyAsync", "cudaLaunchKernel",
          "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventSynchronize", "cudaSetDevice",
          "cudaStreamCreateWithPriority", "cudaEventCreate", "cudaStreamSynchronize", "cublasCreate", "cublasSetStream",
          "cublasGemmEx", "cudaMemGetInfo"}) {
        QTest::addRow("%s", function) << QString(function);
    }
}

void TestCudaOnHost::nth_failure_leaves_a_device_that_works() {
    QFETCH(QString, function);
    const std::string name = function.toStdString();
    int n_injected = 0;
    // Many are of one kind: of each block that is taken or given back, of each time that the device is selected.
    const bool often = name == "cudaEventRecord" || name == "cudaStreamWaitEvent" || name == "cudaSetDevice";
    const int stride = name == "cudaEventCreate" ? 500 : test::kSanitized ? 7 : often ? 3 : 1;
    cuda_host::Settings settings;
    settings.memory_pools = name != "cudaMalloc";
    for (int n = 1;; n += stride) {
        cuda_host::reset(settings);
        cuda_host::fail_call(name, n);
        std::unique_ptr<Backend> backend;
        try {
            backend = open_on_host();
        } catch (const Error& error) {
            QVERIFY(!QString(error.what()).isEmpty());
            QCOMPARE(problems(), QString());  // all that was opened is closed again
        }
        bool worked = backend != nullptr && run_a_step(*backend);
        const bool injected = cuda_host::calls_of(name) >= n;
        if (injected) {
            ++n_injected;
            cuda_host::fail_call(name, 0);
            if (backend == nullptr) backend = open_on_host();
            backend->clear_failure();
            QVERIFY2(backend->ok(), backend->failure().english().c_str());
            worked = run_a_step(*backend);
        }
        QVERIFY2(worked, qPrintable(QString("after failure %1: %2").arg(n).arg(backend->failure().english().c_str())));
        backend.reset();
        QCOMPARE(problems(), QString());
        if (!injected) break;
    }
    QVERIFY(n_injected > 0);
}

void TestCudaOnHost::sequences_that_come_again_are_replayed() {
    const std::unique_ptr<Backend> backend = open_on_host();
    Repeated repeated(*backend);
    const auto counts = [&] {
        const Backend::Replays replays = backend->replays();
        return std::pair(replays.n_graphs, replays.n_replayed);
    };
    using Counts = std::pair<std::uint64_t, std::uint64_t>;
    repeated.run(0, 2.0f);
    QVERIFY(counts() == Counts(0, 0));
    repeated.run(0, 2.0f);
    QVERIFY(counts() == Counts(1, 1));
    const int launches = cuda_host::calls_of("cudaLaunchKernel");
    repeated.run(0, 2.0f, 2);
    QVERIFY(counts() == Counts(1, 3));
    QCOMPARE(cuda_host::calls_of("cudaLaunchKernel"), launches);
    QCOMPARE(cuda_host::calls_of("cudaGraphLaunch"), 3);
    QVERIFY(repeated.right());
    // Points have their times until the graph is started again.
    QVERIFY(backend->has_happened(repeated.midst));
    QVERIFY(repeated.us() > 0);
    const DeviceEvent before[] = {repeated.midst, repeated.end};
    repeated.run(0, 2.0f);
    backend->host_wait(repeated.end);
    QVERIFY(repeated.us() > 0);
    QCOMPARE(backend->elapsed_us(before[0], before[1]), 0.0);
    QVERIFY(backend->has_happened(before[0]));
    // Another argument, and another place.
    repeated.run(0, 3.0f);
    repeated.run(1, 3.0f);
    QVERIFY(counts() == Counts(1, 4));
    repeated.run(1, 3.0f);
    repeated.run(0, 3.0f);
    QVERIFY(counts() == Counts(3, 6));
    QVERIFY(repeated.right());
    // What comes between goes after what was kept: nothing is replayed then, and nothing lost.
    for (int what = 0; what < 4; ++what) {
        backend->begin_repeated(0);
        repeated.run(0, 3.0f);  // goes on, and ends it
        QVERIFY(counts() == Counts(3, 7u + static_cast<unsigned>(what)));
        backend->begin_repeated(2);
        backend->scale(1.0f, 0, nullptr);
        repeated.midst = backend->record(DeviceEvent::Queue::kCompute);
        QVERIFY(!backend->has_happened(repeated.midst));
        if (what == 0) repeated.set(5.0f);
        if (what == 1) QVERIFY(repeated.right());
        if (what == 2) backend->host_wait(repeated.midst);
        if (what == 3) {
            const DeviceBlock block = backend->memory().allocate(256, MemoryUse::kWorkspace, "a test");
        }
        backend->host_wait(backend->record(DeviceEvent::Queue::kCompute));
        QVERIFY(backend->has_happened(repeated.midst));
        backend->end_repeated();
        QVERIFY(repeated.right());
    }
    // Copies that wait for a point, too.
    std::vector<float> copied(8);
    backend->begin_repeated(3);
    const parity::OnDevice<float> value(*backend, parity::filled(8, 4.0f));
    backend->begin_repeated(3);
    backend->scale(2.0f, 8, value.data());
    const DeviceEvent scaled = backend->record(DeviceEvent::Queue::kCompute);
    backend->host_wait(*backend->copy_to_host(copied.data(), value.data(), 8 * sizeof(float), scaled));
    QVERIFY(copied == parity::filled(8, 8.0f));
    backend->end_repeated();
    // Switched off.
    backend->set_graphs(false);
    const Counts until_now = counts();
    repeated.run(0, 3.0f, 3);
    QVERIFY(counts() == until_now);
    backend->set_graphs(true);
    repeated.run(0, 3.0f, 3);
    QVERIFY(counts() == Counts(until_now.first + 1, until_now.second + 2));
    QVERIFY(repeated.right());
    QVERIFY(backend->ok() && backend->take_note().empty());
}

// What they take is counted as soon as they are there, and where there is no room for it they go.
void TestCudaOnHost::graphs_are_of_the_budget() {
    const std::unique_ptr<Backend> backend = open_on_host();
    Repeated repeated(*backend);
    Arena& memory = backend->memory();
    const auto workspace = [&] { return memory.usage().by_use[static_cast<std::size_t>(MemoryUse::kWorkspace)]; };
    const std::uint64_t before = workspace(), others = backend->others_bytes();
    const std::size_t taken = cuda_host::taken_bytes();
    repeated.run(0, 0.5f, 2);
    constexpr std::uint64_t kGraph = 4 * 512;  // two kernels and two points
    QCOMPARE(cuda_host::taken_bytes() - taken, kGraph);
    QCOMPARE(backend->replays().bytes, kGraph);
    QCOMPARE(workspace() - before, kGraph);
    QCOMPARE(backend->others_bytes(), others);
    // Another one in its place takes what it left.
    repeated.run(0, 0.25f, 3);
    QCOMPARE(backend->replays().n_graphs, std::uint64_t{2});
    QCOMPARE(workspace() - before, kGraph);

    const std::uint64_t budget = memory.usage().budget_bytes;
    memory.set_budget(memory.usage().used_bytes + 3 * 512);
    repeated.run(1, 0.5f, 3);
    const Message note = backend->take_note();
    QVERIFY(QString::fromStdString(note.english()).contains("4096 bytes"));
    QVERIFY(backend->ok());
    QVERIFY(repeated.right());
    QCOMPARE(backend->replays().bytes, std::uint64_t{0});
    QCOMPARE(workspace(), before);
    QVERIFY(memory.usage().high_water_bytes <= memory.usage().budget_bytes);
    const std::uint64_t n_replayed = backend->replays().n_replayed;
    repeated.run(1, 0.5f, 3);
    QCOMPARE(backend->replays().n_replayed, n_replayed);
    // With room they come back when they are asked for.
    memory.set_budget(budget);
    backend->set_graphs(true);
    repeated.run(1, 0.5f, 3);
    QVERIFY(backend->replays().n_replayed > n_replayed && repeated.right());
    QCOMPARE(workspace() - before, kGraph);
    backend->set_graphs(false);
    QCOMPARE(workspace(), before);
    // Plans set some aside.
    Backend::StepShape shape = parity::largest_step();
    const std::uint64_t without = backend->scratch_bytes(shape);
    shape.n_layers = 32;
    QVERIFY(backend->scratch_bytes(shape) >= without + 32 * 20 * 512);
}

void TestCudaOnHost::a_graph_that_fails_changes_nothing_data() {
    QTest::addColumn<QString>("function");
    QTest::addColumn<bool>("of_graphs");
    for (const char* function : {"cudaGraphCreate", "cudaGraphAddKernelNode", "cudaGraphAddEventRecordNode",
                                 "cudaGraphInstantiateWithFlags", "cudaGraphLaunch", "cudaEventCreate"}) {
        QTest::addRow("%s", function) << QString(function) << true;
    }
    for (const char* function : {"cudaLaunchKernel", "cudaEventRecord", "cudaSetDevice"}) {
        QTest::addRow("%s", function) << QString(function) << false;
    }
}

void TestCudaOnHost::a_graph_that_fails_changes_nothing() {
    QFETCH(QString, function);
    QFETCH(bool, of_graphs);
    const std::string name = function.toStdString();
    int n_injected = 0;
    for (int n = 1;; ++n) {
        cuda_host::reset();
        std::unique_ptr<Backend> backend = open_on_host();
        auto repeated = std::make_unique<Repeated>(*backend);
        const int called = cuda_host::calls_of(name);
        cuda_host::fail_call(name, n);
        repeated->run(0, 2.0f, 4);
        repeated->run(1, 3.0f, 4);
        repeated->run(0, 3.0f, 2);
        const bool injected = cuda_host::calls_of(name) - called >= n;
        cuda_host::fail_call(name, 0);
        // Graphs are given up, which is said once; the rest fails, as it would without them.
        QCOMPARE(backend->ok(), of_graphs || !injected);
        QCOMPARE(backend->take_note().empty(), !(of_graphs && injected));
        QVERIFY(backend->take_note().empty());
        const std::uint64_t replayed = backend->replays().n_replayed;
        if (!of_graphs && injected) {
            backend->clear_failure();
            QVERIFY(backend->ok());
            repeated->set(1.0f);
        }
        repeated->run(0, 3.0f, 3);
        QVERIFY(repeated->right());
        QCOMPARE(backend->replays().n_replayed > replayed, !(of_graphs && injected));
        repeated.reset();
        backend.reset();
        QCOMPARE(problems(), QString());
        if (!injected) break;
        ++n_injected;
    }
    QVERIFY(n_injected > 0);
}

// Where a token's keys are counted on the device, as many splits are launched for many numbers of keys, and no bit
// differs.
void TestCudaOnHost::one_tokens_place_may_be_the_devices_to_read() {
    struct Case {
        kernels::AttentionShape shape;
        std::int64_t past;
    };
    std::vector<Case> cases;
    for (const std::int64_t past : {0, 63, 64, 127, 191, 200, 4300}) {
        cases.push_back({parity::grouped_attention(2, 1, 16), past});
    }
    for (const std::int64_t past : {60, 300}) cases.push_back({parity::grouped_attention(2, 1, 16, 70), past});
    for (const std::int64_t past : {63, 64, 1200}) cases.push_back({parity::latent_attention(2, 24, 8), past});
    const std::unique_ptr<Backend> backend = open_on_host();
    for (const Case& each : cases) {
        Backend::StepShape step = parity::largest_step();
        step.attention = each.shape;
        step.context = each.past + 1;  // no more scratch memory than so many keys need
        backend->reserve(step);
        const std::vector<parity::TestSequences::Length> lengths = {{each.past, 1}};
        const std::int64_t stride = parity::query_stride(each.shape);
        const parity::OnDevice<float> queries(*backend, parity::random_floats(stride, 2));
        const parity::OnDevice<std::int32_t> past(*backend, {static_cast<std::int32_t>(each.past)});
        std::vector<float> results[2];
        for (const bool on_device : {false, true}) {
            const parity::TestSequences sequences(*backend, each.shape, lengths, 1);
            std::vector<AttentionSegment> segments(sequences.segments().begin(), sequences.segments().end());
            if (on_device) segments[0].device_past = past.data();
            const parity::OnDevice<float> out(*backend, parity::filled(each.shape.output_width(), NAN));
            backend->attend(0, each.shape, segments, queries.data(), stride, sequences.shape(), out.data());
            results[on_device ? 1 : 0] = out.download();
        }
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
        QVERIFY(std::isfinite(results[0][0]));
        QVERIFY2(parity::same_bits<float>(results[0], results[1]), qPrintable(QString::number(each.past)));
    }
}

// Memory is taken and given back while the device works: nothing waits for it, and nobody gets what another still uses.
void TestCudaOnHost::memory_comes_and_goes_beside_the_work() {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    const std::unique_ptr<Backend> backend = open_on_host();
    Arena& memory = backend->memory();
    const std::size_t taken = cuda_host::taken_bytes();
    std::vector<std::vector<std::byte>> sent, got(2, std::vector<std::byte>(kBytes));
    for (int i = 0; i < 2; ++i) sent.emplace_back(kBytes, static_cast<std::byte>(i + 1));
    std::map<std::string, int> waits;
    for (const char* wait : {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaFree"}) {
        waits[wait] = cuda_host::calls_of(wait);
    }
    std::vector<DeviceBlock> results;
    for (int i = 0; i < 2; ++i) results.push_back(memory.allocate(kBytes, MemoryUse::kWorkspace, "a test"));
    const int rounds = test::kSanitized ? 5 : 20;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < 2; ++i) {
            const DeviceBlock block = memory.allocate(kBytes, MemoryUse::kExperts, "a test");
            if (i == 0) {
                backend->upload(block.data(), sent[i].data(), kBytes);
            } else {
                backend->wait(*backend->copy_weights(block.data(), sent[i].data(), kBytes, {}));
            }
            backend->copy_within(results[i].data(), block.data(), kBytes);
        }
    }
    for (const auto& [wait, calls] : waits) QCOMPARE(cuda_host::calls_of(wait), calls);
    for (std::size_t i = 0; i < 2; ++i) backend->download(got[i].data(), results[i].data(), kBytes);
    parity::finish(*backend);
    QVERIFY(backend->ok());
    QVERIFY(got == sent);
    // What was given back is kept while the budget has room for it, and no longer.
    results.clear();
    QVERIFY(cuda_host::taken_bytes() > taken);
    memory.set_budget(memory.usage().used_bytes);
    QCOMPARE(cuda_host::taken_bytes(), taken);
}

void TestCudaOnHost::lost_context_stays_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    QVERIFY(run_a_step(*backend));
    cuda_host::lose_context(true);
    QVERIFY(!run_a_step(*backend));
    backend->clear_failure();
    QVERIFY(!backend->ok());
    QVERIFY(backend->has_happened(backend->record(DeviceEvent::Queue::kCompute)));  // nobody waits for ever
    cuda_host::lose_context(false);
    backend->clear_failure();
    QVERIFY(backend->ok());
    QVERIFY(run_a_step(*backend));
}

void TestCudaOnHost::nothing_starts_after_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->fail_copy(1);
    backend->upload(nullptr, nullptr, 0);
    QVERIFY(!backend->ok());
    const int launches = cuda_host::calls_of("cudaLaunchKernel");
    QVERIFY(!run_a_step(*backend));
    QCOMPARE(cuda_host::calls_of("cudaLaunchKernel"), launches);
}

void TestCudaOnHost::too_little_scratch_is_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const parity::TestExperts experts(*backend, {kernels::WeightType::kBf16, kernels::WeightType::kHqq4}, 64, 64);
    const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * 64, 1));
    const auto lacks_scratch = [&] {
        const bool lacks = QString::fromStdString(backend->failure().english()).contains("scratch");
        backend->clear_failure();
        return lacks;
    };
    for (const std::int64_t n : {1, 20}) {  // nothing was reserved
        for (const std::size_t expert : {0, 1}) {
            const std::vector<parity::TestExperts::Share> shares = {{expert, parity::some_tokens(n, 0, 1)}};
            experts.run(shares, inputs, 0);
            QVERIFY(lacks_scratch());
        }
    }
    const parity::TestExperts alike(*backend, kernels::WeightType::kBf16, 64, 64, 2);
    alike.choose({1}, {0}, inputs);
    QVERIFY(lacks_scratch());
    const parity::TestWeight weight(*backend, kernels::WeightType::kInt8, 8, 64, 1);
    const parity::OnDevice<float> y(*backend, parity::filled(9 * 8, 0.0f));
    backend->multiply(weight.view, inputs.data(), 9, y.data());
    QVERIFY(lacks_scratch());
    // What is reserved for one token is enough for it, whatever the step before took.
    Backend::StepShape shape;
    shape.hidden_dim = 64;
    shape.ffn_dim = 64;
    shape.n_experts = 8;
    shape.n_active = 2;
    shape.attention = parity::grouped_attention(4, 2, 16);
    backend->reserve(shape);
    const std::vector<parity::TestExperts::Share> one = {{0, {5}}};
    experts.run(one, inputs, 0);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    // So it is for the network that every token passes, which is wider than the experts, and for many experts' logits.
    shape.dense_ffn_dim = 3000;
    shape.n_experts = 4096;
    backend->reserve(shape);
    const parity::TestExperts network(*backend, kernels::WeightType::kBf16, 64, 3000, 1);
    network.run(one, inputs, 0);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    kernels::RouterSpec router;
    router.n_experts = 4096;
    router.n_active = 2;
    const parity::OnDevice<float> gate(*backend, parity::random_floats(4096 * 64, 3));
    const parity::OnDevice<std::int32_t> chosen(*backend, std::vector<std::int32_t>(2));
    const parity::OnDevice<float> weights(*backend, parity::filled(2, 0.0f));
    const auto route = [&] {
        backend->route(router, {gate.data()}, inputs.data(), 1, 64, chosen.data(), weights.data());
        parity::finish(*backend);
        return backend->ok();
    };
    QVERIFY2(route(), backend->failure().english().c_str());
    router.n_experts = 4097;
    QVERIFY(!route());
    QVERIFY(QString::fromStdString(backend->failure().english()).contains("4096"));
}

// The smaller heads' keys are split into more pieces.
void TestCudaOnHost::layers_of_two_head_sizes_have_room() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const kernels::AttentionShape wide = parity::grouped_attention(2, 1, 512);
    Backend::StepShape step;
    step.hidden_dim = 64;
    step.ffn_dim = 64;
    step.n_experts = 8;
    step.n_active = 2;
    step.attention = wide;
    step.context = 4300;
    backend->reserve(step);
    for (const kernels::AttentionShape& shape : {wide, parity::grouped_attention(2, 1, 256)}) {
        const std::vector<parity::TestSequences::Length> lengths = {{4200, 1}};
        const parity::TestSequences sequences(*backend, shape, lengths, 1);
        const parity::OnDevice<float> queries(*backend, parity::random_floats(shape.qkv_width(), 1));
        const parity::OnDevice<float> out(*backend, parity::filled(shape.output_width(), NAN));
        backend->attend(0, shape, sequences.segments(), queries.data(), shape.qkv_width(), sequences.shape(),
                        out.data());
        QVERIFY(std::isfinite(out.download().back()));
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
    }
}

void TestCudaOnHost::packed_weights_that_are_not_aligned_are_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(parity::largest_step());
    const parity::TestWeight weight(*backend, kernels::WeightType::kHqq4, 4, 64, 1);
    const parity::OnDevice<float> x(*backend, parity::random_floats(10 * 64, 1));
    const parity::OnDevice<float> y(*backend, parity::filled(9 * 4, 0.0f));
    for (const std::int64_t n : {1, 9}) {
        kernels::WeightView apart = weight.view;
        apart.data = weight.device.data() + 4;
        apart.n_rows = 3;
        backend->multiply(apart, x.data(), n, y.data());
        QVERIFY(QString::fromStdString(backend->failure().english()).contains("aligned"));
        backend->clear_failure();
        backend->multiply(weight.view, x.data() + 1, n, y.data());
        QVERIFY(QString::fromStdString(backend->failure().english()).contains("aligned"));
        backend->clear_failure();
        backend->multiply(weight.view, x.data(), n, y.data());
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
    }
}

void TestCudaOnHost::quantizes_to_the_cpus_bytes_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("format");
    for (const kernels::WeightType type : parity::kTypes) {
        for (const kernels::WeightType format : parity::kPackedTypes) {
            QTest::addRow("%s to %s", kernels::name_of(type), kernels::name_of(format))
                << static_cast<int>(type) << static_cast<int>(format);
        }
    }
}

void TestCudaOnHost::quantizes_to_the_cpus_bytes() {
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

void TestCudaOnHost::what_cannot_be_quantized_is_refused() {
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
    // A model whose rows no format takes gives no memory away for it.
    Backend::StepShape odd = parity::largest_step();
    odd.hidden_dim = 72;
    const std::unique_ptr<Backend> other = open_on_host();
    other->reserve(odd);
    QVERIFY(other->row_quantizer() == nullptr);
}

// By way of the program's own quantizer: many pieces in turn, and what the device cannot do is done by the threads.
void TestCudaOnHost::quantizing_fails_over_to_the_cpu() {
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
        // The third piece fails: two are there, or one where that of the second is not known.
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
        QCOMPARE(problems(), QString());
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

// Sums must not depend on which block or thread comes first.
void TestCudaOnHost::same_bits_in_any_order_of_threads() {
    std::vector<float> first;
    for (const std::uint32_t seed : {1u, 2u, 3u, 4u}) {
        cuda_host::Settings settings;
        settings.seed = seed;
        settings.cublas = false;
        cuda_host::reset(settings);
        const std::unique_ptr<Backend> backend = open_on_host();
        backend->reserve(parity::largest_step());
        const parity::TestExperts experts(*backend, kernels::WeightType::kBf16, 72, 130, 3);
        const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * 72, 1));
        const std::vector<parity::TestExperts::Share> shares = {
            {0, {1, 5}}, {1, parity::some_tokens(8, 0, 3)}, {2, parity::some_tokens(20, 0, 1)}};
        std::vector<float> all = experts.run(shares, inputs, 0).rows;
        const parity::TestExperts packed(
            *backend, {kernels::WeightType::kHqq4, kernels::WeightType::kHqq2, kernels::WeightType::kInt8}, 192, 50);
        const parity::OnDevice<float> wider(*backend, parity::random_floats(64 * 192, 2));
        const std::vector<float> packed_rows = packed.run(shares, wider, 0).rows;
        all.insert(all.end(), packed_rows.begin(), packed_rows.end());

        const kernels::AttentionShape shape = parity::grouped_attention(4, 2, 64);
        const std::vector<parity::TestSequences::Length> lengths = {{300, 1}, {20, 40}};
        const parity::TestSequences sequences(*backend, shape, lengths, 1);
        const parity::OnDevice<float> qkv(*backend, parity::random_floats(sequences.n_rows() * 8 * 64, 2));
        const parity::OnDevice<float> out(*backend, parity::filled(sequences.n_rows() * 4 * 64, 0.0f));
        backend->attend(0, shape, sequences.segments(), qkv.data(), 8 * 64, sequences.shape(), out.data());
        const std::vector<float> grouped = out.download();
        all.insert(all.end(), grouped.begin(), grouped.end());
        const std::vector<float> latent = attended(*backend, parity::latent_attention(9, 40, 8), {{1200, 1}, {20, 12}});
        all.insert(all.end(), latent.begin(), latent.end());
        kernels::RouterSpec router;
        router.scoring = kernels::RouterScoring::kSigmoid;
        router.n_experts = 64;
        router.n_active = 6;
        router.n_groups = 8;
        router.n_groups_used = 3;
        router.group_score = kernels::GroupScore::kSumOfTwoBest;
        const parity::OnDevice<float> gate(*backend, parity::random_floats(64 * 72, 3));
        const parity::OnDevice<std::int32_t> chosen(*backend, std::vector<std::int32_t>(10 * 6));
        const parity::OnDevice<float> weights(*backend, parity::filled(10 * 6, 0.0f));
        backend->route(router, {gate.data(), gate.data()}, inputs.data(), 10, 72, chosen.data(), weights.data());
        const std::vector<float> shares_of_six = weights.download();
        all.insert(all.end(), shares_of_six.begin(), shares_of_six.end());
        QVERIFY(backend->ok());
        if (first.empty()) first = all;
        QVERIFY(parity::same_bits<float>(all, first));
    }
}

void TestCudaOnHost::tickets_long_past_have_happened() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const DeviceEvent first = backend->record(DeviceEvent::Queue::kCompute);
    DeviceEvent last = first;
    for (std::uint64_t i = 0; i < 3 * Backend::kTimedEvents; ++i) last = backend->record(DeviceEvent::Queue::kCompute);
    backend->host_wait(last);
    QVERIFY(backend->has_happened(first));
    backend->host_wait(first);
    backend->wait(first);
    QCOMPARE(backend->elapsed_us(first, last), 0.0);  // no longer known
    QVERIFY(backend->ok());
}

QTEST_GUILESS_MAIN(TestCudaOnHost)
#include "tst_cuda_on_host.moc"
