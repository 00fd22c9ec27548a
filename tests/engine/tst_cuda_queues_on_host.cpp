// The CUDA backend on the host: opening, queues, memory and graphs, and failures.

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <QTest>

#include "engine/device/mirror.h"
#include "engine/error.h"
#include "engine/experts/loading_overlap.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/parity/parity_values.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using test::open_on_host;
using test::problems_on_host;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;

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
        backend.submit(ops::Experts{{calls, 2}, x.as<float>(), indices.as<std::int32_t>(), y.as<float>()});
        backend.submit(ops::Multiply{
            {weights.data(), kernels::WeightType::kF32, 16, kHidden}, x.as<float>(), kRows, y.as<float>()});
        // After any failure the packed bytes are there: the processor makes them then.
        kernels::ThreadPool one(1);
        Quantizer(one, QuantMethod::kHqq, backend.ok() ? backend.row_quantizer() : nullptr)
            .quantize(plain, kernels::WeightType::kHqq3, fewer.data());
        backend.upload(packed.data(), fewer.data(), fewer.size());
        const kernels::ExpertView fewer_bits{packed.data(),
                                             kernels::expert_layout(kernels::WeightType::kHqq3, kHidden, kFfn)};
        const ExpertCall packed_calls[] = {{fewer_bits, 0, 2}, {fewer_bits, 2, kRows - 2}};
        backend.submit(ops::Experts{{packed_calls, 2}, x.as<float>(), indices.as<std::int32_t>(), y.as<float>()});
        backend.submit(ops::Add{x.as<float>(), kRows * kHidden, y.as<float>(), 1.0f});
        backend.download(result.data(), y.data(), kRows * kHidden * 4);
        parity::finish(backend);
        return copied && backend.ok();
    } catch (const Error& error) {
        return error.kind() == ErrorKind::kOutOfMemory && false;
    }
}

// Repeats x = factor x + y, and a copy to the host, as the same sequence with a split in
// its middle.
class Repeated {
  public:
    explicit Repeated(Backend& backend) : backend_(backend) {}

    void run(std::int64_t place, float factor, int times = 1) {
        for (int i = 0; i < times; ++i) {
            backend_.begin_repeated(place);
            backend_.submit(ops::Scale{factor, kValues, x_.data()});
            midst = backend_.record(DeviceEvent::Queue::kCompute);
            backend_.submit(ops::Add{y_.data(), kValues, x_.data(), 1.0f});
            on_host_.store(0, x_.data(), kValues);
            end = backend_.record(DeviceEvent::Queue::kCompute);
            backend_.end_repeated();
            if (!backend_.ok()) return;
            for (float& value : wanted_) value = factor * value + 1.0f;
            stored_ = wanted_;
        }
    }
    bool right() { return x_.download() == wanted_ && std::equal(stored_.begin(), stored_.end(), on_host_.host()); }
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
    std::vector<float> wanted_ = parity::filled(kValues, 2.0f), sent_, stored_;
    PinnedHost<float> on_host_{backend_, kValues, "a test"};
    parity::OnDevice<float> x_{backend_, wanted_}, y_{backend_, parity::filled(kValues, 1.0f)};
};

}  // namespace

class TestCudaQueuesOnHost : public QObject {
    Q_OBJECT

  private slots:
    void init() { cuda_host::reset(); }
    void opening_says_why_it_fails();
    void nth_failure_leaves_a_device_that_works_data();
    void nth_failure_leaves_a_device_that_works();
    void sequences_that_come_again_are_replayed();
    void graphs_are_of_the_budget();
    void a_graph_that_fails_changes_nothing_data();
    void a_graph_that_fails_changes_nothing();
    void memory_comes_and_goes_beside_the_work();
    void lost_context_stays_a_failure();
    void nothing_starts_after_a_failure();
    void tickets_long_past_have_happened();
    void experts_of_a_file_have_the_scratch_memory_of_blocks();
    void a_device_that_cannot_be_selected_is_a_failure();
    void stored_values_are_seen_without_the_runtime();
    void rows_of_the_host_are_awaited();
    void behind_a_copy_the_runtime_is_asked();
    void copies_of_unmeasured_steps_are_forgotten();
    void without_a_word_the_runtime_is_asked_data();
    void without_a_word_the_runtime_is_asked();
    void rows_are_laid_out_data();
    void rows_are_laid_out();
};

void TestCudaQueuesOnHost::opening_says_why_it_fails() {
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
    QCOMPARE(problems_on_host(), QString());

    const std::unique_ptr<Backend> whole = open_on_host(0);
    const ArenaUsage usage = whole->memory().usage();
    QVERIFY(usage.budget_bytes > 0 && usage.budget_bytes < whole->info().available_bytes);
    QVERIFY(whole->info().kind == DeviceKind::kCuda && !whole->info().emulated);
    QVERIFY(!whole->info().fingerprint.empty());
}

void TestCudaQueuesOnHost::nth_failure_leaves_a_device_that_works_data() {
    QTest::addColumn<QString>("function");
    for (const char* function :
         {"cudaMalloc", "cudaMallocFromPoolAsync", "cudaMemPoolCreate", "cudaMemcpyAsync", "cudaLaunchKernel",
          "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventSynchronize", "cudaSetDevice",
          "cudaStreamCreateWithPriority", "cudaEventCreate", "cudaStreamSynchronize", "cublasCreate", "cublasSetStream",
          "cublasGemmEx", "cudaMemGetInfo"}) {
        QTest::addRow("%s", function) << QString(function);
    }
}

void TestCudaQueuesOnHost::nth_failure_leaves_a_device_that_works() {
    QFETCH(QString, function);
    const std::string name = function.toStdString();
    int n_injected = 0;
    // Calls that occur often, for each block that is taken or given back, or each time
    // that the device is selected.
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
            QCOMPARE(problems_on_host(), QString());  // all that was opened is closed again
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
        QCOMPARE(problems_on_host(), QString());
        if (!injected) break;
    }
    QVERIFY(n_injected > 0);
}

void TestCudaQueuesOnHost::sequences_that_come_again_are_replayed() {
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
    // Other work in between comes after the recorded work: nothing is replayed then, and
    // nothing lost.
    for (int what = 0; what < 4; ++what) {
        backend->begin_repeated(0);
        repeated.run(0, 3.0f);  // goes on, and ends it
        QVERIFY(counts() == Counts(3, 7u + static_cast<unsigned>(what)));
        backend->begin_repeated(2);
        backend->submit(ops::Scale{1.0f, 0, nullptr});
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
    backend->submit(ops::Scale{2.0f, 8, value.data()});
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

// Their memory is counted as soon as they exist, and without room for it they are
// destroyed.
void TestCudaQueuesOnHost::graphs_are_of_the_budget() {
    const std::unique_ptr<Backend> backend = open_on_host();
    Repeated repeated(*backend);
    Arena& memory = backend->memory();
    const auto workspace = [&] { return memory.usage().by_use[static_cast<std::size_t>(MemoryUse::kWorkspace)]; };
    const std::uint64_t before = workspace(), others = backend->others_bytes();
    const std::size_t taken = cuda_host::taken_bytes();
    repeated.run(0, 0.5f, 2);
    constexpr std::uint64_t kGraph = 4 * 512;  // three kernels and the point between them
    QCOMPARE(cuda_host::taken_bytes() - taken, kGraph);
    QCOMPARE(backend->replays().bytes, kGraph);
    QCOMPARE(workspace() - before, kGraph);
    QCOMPARE(backend->others_bytes(), others);
    // Another one in its place reuses its memory.
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
    // With room they are built again on demand.
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

void TestCudaQueuesOnHost::a_graph_that_fails_changes_nothing_data() {
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

void TestCudaQueuesOnHost::a_graph_that_fails_changes_nothing() {
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
        // Graphs are given up, which is reported once; other failures stay failures, as
        // without graphs.
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
        QCOMPARE(problems_on_host(), QString());
        if (!injected) break;
        ++n_injected;
    }
    QVERIFY(n_injected > 0);
}

// Memory is allocated and released while the device works: nothing waits for it, and no
// block has two users.
void TestCudaQueuesOnHost::memory_comes_and_goes_beside_the_work() {
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
    // Released blocks are kept while the budget has room for them, and no longer.
    results.clear();
    QVERIFY(cuda_host::taken_bytes() > taken);
    memory.set_budget(memory.usage().used_bytes);
    QCOMPARE(cuda_host::taken_bytes(), taken);
}

void TestCudaQueuesOnHost::lost_context_stays_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    QVERIFY(run_a_step(*backend));
    cuda_host::lose_context(true);
    QVERIFY(!run_a_step(*backend));
    backend->clear_failure();
    QVERIFY(!backend->ok());
    QVERIFY(backend->has_happened(backend->record(DeviceEvent::Queue::kCompute)));  // no wait lasts forever
    cuda_host::lose_context(false);
    backend->clear_failure();
    QVERIFY(backend->ok());
    QVERIFY(run_a_step(*backend));
}

void TestCudaQueuesOnHost::nothing_starts_after_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->fail_copy(1);
    backend->upload(nullptr, nullptr, 0);
    QVERIFY(!backend->ok());
    const int launches = cuda_host::calls_of("cudaLaunchKernel");
    QVERIFY(!run_a_step(*backend));
    QCOMPARE(cuda_host::calls_of("cudaLaunchKernel"), launches);
}

void TestCudaQueuesOnHost::tickets_long_past_have_happened() {
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

// Experts as a model's file has them are blocks: they take what a prompt's experts take
// in these, and what strips of their rows take on their way.
void TestCudaQueuesOnHost::experts_of_a_file_have_the_scratch_memory_of_blocks() {
    const std::unique_ptr<Backend> backend = open_on_host();
    Backend::StepShape shape = parity::largest_step();
    const auto bytes_for = [&](kernels::WeightType type) {
        shape.weight_type = type;
        return backend->scratch_bytes(shape);
    };
    const std::uint64_t blocks = bytes_for(kernels::WeightType::kQ4_0);
    QVERIFY(blocks > bytes_for(kernels::WeightType::kBf16));
    QCOMPARE(bytes_for(kernels::WeightType::kFile1), blocks);
}

// A waiting thread continues, and finds a failure.
void TestCudaQueuesOnHost::a_device_that_cannot_be_selected_is_a_failure() {
    using Queue = DeviceEvent::Queue;
    const std::unique_ptr<Backend> backend = open_on_host();
    const DeviceEvent computed = backend->record(Queue::kCompute);
    const DeviceEvent copied = backend->record(Queue::kCopy);
    const std::function<void()> all[] = {
        [&] { backend->host_wait(computed); },           [&] { backend->host_wait(copied); },
        [&] { QVERIFY(backend->has_happened(copied)); }, [&] { backend->wait(copied); },
        [&] { backend->record(Queue::kCompute); },       [&] { backend->set_graphs(false); }};
    for (const auto& call : all) {
        cuda_host::fail_call("cudaSetDevice", 1);
        call();
        cuda_host::fail_call("cudaSetDevice", 0);
        QVERIFY(!backend->ok());
        QVERIFY(QString::fromStdString(backend->failure().english()).contains("cannot be selected"));
        backend->clear_failure();
        QVERIFY(backend->ok());
        call();
        QVERIFY(backend->ok());
    }
}

// By a word in host memory, in graphs too, and after a failure, behind which numbers
// begin anew; points before it then have their times.
void TestCudaQueuesOnHost::stored_values_are_seen_without_the_runtime() {
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
        cuda_host::Settings settings;
        settings.seed = seed;
        cuda_host::reset(settings);
        const std::unique_ptr<Backend> backend = open_on_host();
        backend->reserve(parity::largest_step());
        PinnedHost<float> host(*backend, 8, "a test");
        const parity::OnDevice<float> x(*backend, parity::filled(8, 1.0f));
        const parity::OnDevice<float> y(*backend, parity::filled(8, 1.0f));
        float wanted = 1.0f;
        for (int i = 0; i < 12; ++i) {
            if (i % 4 == 3) {
                backend->fail_copy(1);
                backend->upload(x.data(), &wanted, sizeof wanted);
                backend->clear_failure();
            }
            backend->begin_repeated(5);
            backend->submit(ops::Add{y.data(), 8, x.data(), 1.0f});
            const DeviceEvent added = backend->record(DeviceEvent::Queue::kCompute);
            host.store(0, x.data(), 3);
            host.store(3, x.data() + 3, 5);
            const DeviceEvent there = backend->record(DeviceEvent::Queue::kCompute);
            const DeviceEvent further = backend->record(DeviceEvent::Queue::kCompute);
            backend->end_repeated();
            const int waits = cuda_host::calls_of("cudaEventSynchronize");
            backend->host_wait(i % 2 == 0 ? there : further);
            QVERIFY(backend->has_happened(there));
            QCOMPARE(cuda_host::calls_of("cudaEventSynchronize"), waits);
            QCOMPARE(host.host()[7], wanted += 1.0f);
            QVERIFY(backend->elapsed_us(added, there) > 0);
            QVERIFY(backend->ok());
        }
        QVERIFY(backend->replays().n_replayed >= 6);
    }
}

// Twice in one sequence, which is a graph at once: each time the device has handed over
// what it has until then, and goes on with the rows that the host gives it. Where the host
// gives up, the sequence ends.
void TestCudaQueuesOnHost::rows_of_the_host_are_awaited() {
    constexpr std::int64_t kHidden = 300;
    const std::unique_ptr<Backend> backend = open_on_host();
    QVERIFY(!backend->awaits_host());  // without scratch memory
    backend->reserve(parity::largest_step());
    QVERIFY(backend->awaits_host());
    PinnedHost<float> rows(*backend, kHidden, "a test"), seen(*backend, kHidden, "a test");
    PinnedHost<std::int32_t> row_of(*backend, 1, "a test");
    row_of.host()[0] = ~0;
    const parity::OnDevice<float> x(*backend, parity::filled(kHidden, 1.0f));
    const parity::OnDevice<float> weight(*backend, {0.5f});
    const auto submit = [&](std::uint32_t* numbers) {
        backend->begin_repeated(5);
        for (int i = 0; i < 2; ++i) {
            seen.store(0, x.data(), kHidden);
            numbers[i] = backend->hand_over();
            backend->submit(
                ops::Combine{x.data(), row_of.mapped(), weight.data(), 1, 1, kHidden, x.data(), rows.mapped(), true});
        }
        backend->end_repeated();
    };
    float wanted = 1.0f;
    std::uint32_t numbers[2];
    for (int step = 0; step < 6; ++step) {
        submit(numbers);
        QCOMPARE(numbers[1], static_cast<std::uint32_t>(2 * step + 2));
        for (int i = 0; i < 2; ++i) {
            QVERIFY(backend->host_wait_handed(numbers[i]));
            QCOMPARE(seen.host()[kHidden - 1], wanted);
            const float value = wanted + static_cast<float>(i);
            std::fill_n(rows.host(), kHidden, value);
            wanted += 0.5f * value;
            backend->answer(numbers[i]);
        }
        QCOMPARE(x.download(), parity::filled(kHidden, wanted));
    }
    QCOMPARE(backend->replays().n_graphs, std::uint64_t{1});
    QCOMPARE(backend->replays().n_replayed, std::uint64_t{6});
    submit(numbers);
    QVERIFY(backend->host_wait_handed(numbers[0]));
    backend->give_up_answers();
    parity::finish(*backend);
    QVERIFY(backend->ok());
    submit(numbers);
    QVERIFY(backend->host_wait_handed(numbers[0]));
    backend->answer(numbers[0]);
    QVERIFY(backend->host_wait_handed(numbers[1]));
    backend->answer(numbers[1]);
    parity::finish(*backend);
    QVERIFY(backend->ok());
    backend->set_graphs(false);
    QVERIFY(!backend->awaits_host());
}

// A word says nothing of a copy for which the queue waits behind it.
void TestCudaQueuesOnHost::behind_a_copy_the_runtime_is_asked() {
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(parity::largest_step());
    PinnedHost<float> host(*backend, 8, "a test");
    const parity::OnDevice<float> x(*backend, parity::filled(8, 1.0f));
    const std::vector<std::byte> weights(4 << 20);
    const DeviceBlock slot = backend->memory().allocate(weights.size(), MemoryUse::kExperts, "a slot");
    backend->begin_repeated(5);
    backend->submit(ops::Scale{2.0f, 8, x.data()});
    host.store(0, x.data(), 8);
    const DeviceEvent there = backend->record(DeviceEvent::Queue::kCompute);
    backend->end_repeated();
    const auto copy = backend->copy_weights(slot.data(), weights.data(), weights.size(), {});
    QVERIFY(copy.has_value());
    backend->wait(*copy);
    const DeviceEvent behind = backend->record(DeviceEvent::Queue::kCompute);
    const int waits = cuda_host::calls_of("cudaEventSynchronize");
    backend->host_wait(there);
    QCOMPARE(cuda_host::calls_of("cudaEventSynchronize"), waits);
    backend->host_wait(behind);
    QCOMPARE(cuda_host::calls_of("cudaEventSynchronize"), waits + 1);
    QVERIFY(backend->has_happened(*copy));
    QCOMPARE(host.host()[7], 2.0f);
}

// One step in 16 is measured: it asks for its own copies alone.
void TestCudaQueuesOnHost::copies_of_unmeasured_steps_are_forgotten() {
    using Queue = DeviceEvent::Queue;
    const std::unique_ptr<Backend> backend = open_on_host();
    const std::vector<std::byte> weights(1 << 16);
    const DeviceBlock slot = backend->memory().allocate(weights.size(), MemoryUse::kExperts, "a slot");
    LoadingOverlap overlap(*backend);
    const auto copy = [&] {
        const DeviceEvent submitted = backend->record(Queue::kCopy);
        const auto end = backend->copy_weights(slot.data(), weights.data(), weights.size(), {});
        overlap.add_copy(submitted, {}, *end);
        return *end;
    };
    for (int step = 0; step < 15; ++step) {
        overlap.begin_step();
        for (int i = 0; i < 4; ++i) backend->host_wait(copy());
    }
    overlap.begin_step();
    const DeviceEvent begin = backend->record(Queue::kCompute);
    backend->host_wait(begin);
    backend->wait(copy());
    const DeviceEvent end = backend->record(Queue::kCompute);
    backend->host_wait(end);
    const int queries = cuda_host::calls_of("cudaEventQuery");
    const LoadingTimes times = overlap.measure({begin, 0, backend->elapsed_us(begin, end)}, {}, {});
    QCOMPARE(cuda_host::calls_of("cudaEventQuery"), queries + 2);  // its begin, its end
    QVERIFY(times.loading_us > 0);
}

// Where the word cannot be, and where it does not come because a kernel before it fails.
// A context that is known to be lost is not waited for.
void TestCudaQueuesOnHost::without_a_word_the_runtime_is_asked_data() {
    QTest::addColumn<QString>("refused");
    QTest::addColumn<bool>("has_failed");
    QTest::newRow("memory is not page-locked") << QStringLiteral("cudaHostRegister") << false;
    QTest::newRow("memory is not mapped") << QStringLiteral("cudaHostGetDevicePointer") << false;
    if (test::kSanitized) return;
    QTest::newRow("a kernel fails meanwhile") << QString() << false;
    QTest::newRow("a kernel has failed") << QString() << true;
}
void TestCudaQueuesOnHost::without_a_word_the_runtime_is_asked() {
    QFETCH(QString, refused);
    QFETCH(bool, has_failed);
    if (!refused.isEmpty()) cuda_host::fail_call(refused.toStdString(), 1);
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(parity::largest_step());
    PinnedHost<float> host(*backend, 8, "a test");
    const parity::OnDevice<float> x(*backend, parity::filled(8, 3.0f));
    float* const nowhere = reinterpret_cast<float*>(std::uintptr_t{64});
    if (refused.isEmpty()) cuda_host::hold_streams(true);
    backend->begin_repeated(5);
    if (refused.isEmpty()) backend->submit(ops::Scale{2.0f, 8, nowhere});
    host.store(0, x.data(), 8);
    const DeviceEvent there = backend->record(DeviceEvent::Queue::kCompute);
    backend->end_repeated();
    const int waits = cuda_host::calls_of("cudaEventSynchronize"), looks = cuda_host::calls_of("cudaEventQuery");
    std::jthread release;
    if (has_failed) {
        cuda_host::hold_streams(false);
        QTRY_VERIFY_WITH_TIMEOUT(cuda_host::has_lost_context(), 60'000);
    } else if (refused.isEmpty()) {
        release = std::jthread([looks, limit = std::chrono::steady_clock::now() + std::chrono::minutes(5)] {
            while (cuda_host::calls_of("cudaEventQuery") == looks) {
                if (std::chrono::steady_clock::now() > limit) {
                    qFatal("The runtime is not asked: a word is waited for that no kernel writes.");
                }
                std::this_thread::yield();
            }
            cuda_host::hold_streams(false);
        });
    }
    backend->host_wait(there);
    QCOMPARE(cuda_host::calls_of("cudaEventSynchronize"), waits + (has_failed ? 0 : 1));
    QCOMPARE(backend->ok(), !refused.isEmpty());
    if (backend->ok()) QCOMPARE(host.host()[7], 3.0f);
    cuda_host::lose_context(false);
    backend->clear_failure();
    QVERIFY(backend->ok());
}

// Codes first, from a multiple of 16 on: where rows begin elsewhere, a part of the scales
// lies before them.
void TestCudaQueuesOnHost::rows_are_laid_out_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("head");  // bytes of a block before its codes
    QTest::addColumn<int>("n_cols");
    QTest::addColumn<int>("offset");
    QTest::addColumn<bool>("laid_out");
    using kernels::WeightType;
    const auto row = [](WeightType type, int head, int n_cols, int offset, bool laid_out) {
        QTest::addRow("%s, %d, %d bytes behind", kernels::name_of(type), n_cols, offset)
            << static_cast<int>(type) << head << n_cols << offset << laid_out;
    };
    row(WeightType::kQ4_0, 2, 512, 0, true);
    row(WeightType::kQ4_0, 2, 576, 2, true);
    row(WeightType::kIq4Nl, 2, 288, 0, true);
    row(WeightType::kMxfp4, 1, 544, 1, true);
    row(WeightType::kMxfp4, 1, 480, 0, false);  // scales of 15 bytes
    row(WeightType::kQ4_0, 2, 224, 0, false);
    row(WeightType::kQ4_0, 2, 512, 1, false);  // scales of two bytes at odd addresses
    row(WeightType::kQ5_0, 6, 512, 0, false);
}

void TestCudaQueuesOnHost::rows_are_laid_out() {
    QFETCH(int, type);
    QFETCH(int, head);
    QFETCH(int, n_cols);
    QFETCH(int, offset);
    QFETCH(bool, laid_out);
    constexpr std::int64_t kRows = 9;
    constexpr std::size_t kCodes = 16;
    const auto backend = open_on_host();
    const std::size_t block = static_cast<std::size_t>(head) + kCodes;
    const std::size_t bytes = static_cast<std::size_t>(n_cols) / 32 * block;
    const auto begin = static_cast<std::size_t>(offset);
    std::vector<std::byte> rows(begin + kRows * bytes);
    std::mt19937 generator(1);
    for (std::byte& byte : rows) byte = static_cast<std::byte>(generator());
    const parity::OnDevice<std::byte> memory(*backend, rows);
    QCOMPARE(reinterpret_cast<std::uintptr_t>(memory.data()) % 16, std::uintptr_t{0});
    backend->lay_out(kernels::WeightView{memory.data() + begin, static_cast<kernels::WeightType>(type), kRows, n_cols});
    std::vector<std::byte> expected = rows;
    for (std::size_t at = begin; laid_out && at < rows.size(); at += bytes) {
        std::vector<std::byte> heads, codes;
        for (std::size_t b = at; b < at + bytes; b += block) {
            const auto its = rows.begin() + static_cast<std::ptrdiff_t>(b);
            heads.insert(heads.end(), its, its + head);
            codes.insert(codes.end(), its + head, its + static_cast<std::ptrdiff_t>(block));
        }
        heads.insert(heads.begin() + static_cast<std::ptrdiff_t>((16 - at % 16) % 16), codes.begin(), codes.end());
        std::copy(heads.begin(), heads.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
    QVERIFY(memory.download() == expected);
    QCOMPARE(expected != rows, laid_out);
}

QTEST_GUILESS_MAIN(TestCudaQueuesOnHost)
#include "tst_cuda_queues_on_host.moc"
