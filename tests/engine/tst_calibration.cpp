#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

#include <QDirIterator>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/error.h"
#include "engine/experts/disk_speed.h"
#include "engine/files/cache_folders.h"
#include "engine/model/cold_reads.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "kernels/thread_pool.h"
#include "tests/engine/errors.h"
#include "tests/fuzz/plan_files.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;

namespace {

constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kFfn = 512;
constexpr std::size_t kExpertBytes = std::size_t{3} * kHidden * kFfn * 2;
constexpr int kExperts = 6;

ExpertGrid grid(std::int64_t ffn_dim = kFfn) {
    ExpertGrid grid;
    grid.n_active = 2;
    grid.hidden_dim = kHidden;
    grid.ffn_dim = ffn_dim;
    return grid;
}

// So slow that every figure is far above the launches. The host is accounted too, so that
// nothing depends on this machine's speed.
HardwareProfile profile() {
    HardwareProfile p;
    p.id = "test";
    p.name = "Test GPU";
    p.memory_bytes = std::uint64_t{1} << 30;
    p.reserved_bytes = 1;
    p.memory_gbps = 4;
    p.memory_efficiency = 0.5;
    p.tflops = 0.1;
    p.compute_efficiency = 0.5;
    p.bus_gbps = 1;
    p.bus_efficiency = 0.8;
    p.launch_us = 5;
    p.sync_us = 12;
    p.copy_latency_us = 10;
    p.host = HostProfile{"test host", 2, 2.24, 20};
    return p;
}

bool isNear(double value, double expected, double share = 1e-6) {
    if (std::abs(value - expected) <= share * expected) return true;
    qWarning("%.6f is not %.6f within %g %%", value, expected, share * 100);
    return false;
}

struct Fixture {
    explicit Fixture(std::uint64_t budget = std::uint64_t{64} << 20, const HardwareProfile& p = profile(),
                     int n_slots = 1)
        : device(p, operations, budget) {
        for (int e = 0; e < kExperts; ++e) {
            auto& block = weights.emplace_back(kExpertBytes / 2);
            for (std::size_t i = 0; i < block.size(); ++i) {
                block[i] =
                    kernels::to_bf16(0.01f * static_cast<float>((i * 31 + static_cast<std::size_t>(e)) % 97) - 0.5f);
            }
            experts.push_back({block.data(), grid().layout(kernels::WeightType::kBf16)});
        }
        for (int i = 0; i < n_slots; ++i) {
            blocks.push_back(device.memory().allocate(kExpertBytes, MemoryUse::kStaging, "a test"));
            device_slots.push_back(blocks.back().data());
        }
        request.experts = experts;
        request.device_slots = device_slots;
        request.largest = 64;
        request.budget_s = 60;  // never spent
    }
    CostTable run() { return calibrate(device, operations, request, {}, {}); }

    kernels::ThreadPool pool{2};
    CpuOperations operations{pool, kernels::GemmMode::kF32};
    EmulatedAccelerator device;
    std::vector<std::vector<kernels::Bf16>> weights;
    std::vector<kernels::ExpertView> experts;
    std::vector<DeviceBlock> blocks;
    std::vector<std::byte*> device_slots;
    CalibrationRequest request;
};

// Carries a schedule out as a dispatcher would, and returns the layer's time by the
// device's clock. Every assignment's tokens are its own rows.
double executed_us(Fixture& f, const Schedule& schedule) {
    using Queue = DeviceEvent::Queue;
    constexpr std::size_t kSlots = 2;
    std::int64_t n_rows = 0;
    std::int64_t n_cpu_rows = 0;
    for (const Assignment& a : schedule.assignments) {
        n_rows += a.n_tokens;
        if (a.target == ExecutionTarget::kCpu) n_cpu_rows += a.n_tokens;
    }
    const auto bytes = static_cast<std::size_t>(n_rows * kHidden) * 4;
    const auto cpu_bytes = static_cast<std::size_t>(n_cpu_rows * kHidden) * 4;
    std::vector<float> x(static_cast<std::size_t>(n_rows * kHidden), 0.5f);
    std::vector<float> y(x.size());
    std::vector<std::int32_t> row_token(static_cast<std::size_t>(n_rows));
    for (std::size_t i = 0; i < row_token.size(); ++i) row_token[i] = static_cast<std::int32_t>(i);
    Arena& memory = f.device.memory();
    const DeviceBlock inputs = memory.allocate(bytes, MemoryUse::kWorkspace, "a test");
    const DeviceBlock outputs = memory.allocate(bytes, MemoryUse::kWorkspace, "a test");
    const DeviceBlock tokens = memory.allocate(row_token.size() * 4, MemoryUse::kWorkspace, "a test");
    const DeviceBlock expert_slots = memory.allocate((kSlots + 1) * kExpertBytes, MemoryUse::kStaging, "a test");
    f.device.upload(inputs.data(), x.data(), bytes);
    f.device.upload(tokens.data(), row_token.data(), row_token.size() * 4);
    f.device.host_wait(f.device.record(Queue::kCompute));

    const double begin = f.device.now_us();
    std::int64_t row = 0;
    const auto call = [&](std::size_t slot, const Assignment& a) {
        kernels::ExpertView weights = f.experts.front();
        weights.data = expert_slots.data() + slot * kExpertBytes;
        const ExpertCall one = {weights, row, a.n_tokens};
        f.device.submit(ops::Experts{{&one, 1}, inputs.as<float>(), tokens.as<std::int32_t>(), outputs.as<float>()});
        row += a.n_tokens;
    };
    std::array<DeviceEvent, kSlots> slot_free{};
    std::vector<DeviceEvent> copied;
    if (cpu_bytes > 0) f.device.download(y.data(), inputs.data(), cpu_bytes);
    const DeviceEvent downloaded = f.device.record(Queue::kCompute);
    const auto copy = [&](std::size_t i) {
        copied.push_back(*f.device.copy_weights(expert_slots.data() + i % kSlots * kExpertBytes,
                                                f.experts[i % kExperts].data, kExpertBytes, slot_free[i % kSlots]));
    };
    std::vector<Assignment> copies;
    std::vector<ExpertCall> cpu_calls;
    std::copy_if(schedule.assignments.begin(), schedule.assignments.end(), std::back_inserter(copies),
                 [](const Assignment& a) { return a.target == ExecutionTarget::kCopy; });
    for (std::size_t i = 0; i < std::min(kSlots, copies.size()); ++i) copy(i);
    for (const Assignment& a : schedule.assignments) {
        if (a.target == ExecutionTarget::kResident) call(kSlots, a);
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        f.device.wait(copied[i]);
        call(i % kSlots, copies[i]);
        slot_free[i % kSlots] = f.device.record(Queue::kCompute);
        if (i + kSlots < copies.size()) copy(i + kSlots);
    }
    HostWork work;
    for (const Assignment& a : schedule.assignments) {
        if (a.target != ExecutionTarget::kCpu) continue;
        // By the roofline of each expert, from the host's profile: times add up, not
        // bytes.
        cpu_calls.push_back({f.experts[static_cast<std::size_t>(a.expert) % kExperts], row, a.n_tokens});
        row += a.n_tokens;
    }
    if (!cpu_calls.empty()) {
        f.device.host_wait(downloaded);
        for (const ExpertCall& one : cpu_calls) {
            work = {static_cast<double>(kExpertBytes), 6.0 * kHidden * kFfn * static_cast<double>(one.n_rows)};
            f.device.run_on_host(work, [&] {
                f.operations.run(ops::Experts{{&one, 1}, x.data(), row_token.data(), y.data()});
            });
        }
        f.device.upload(outputs.data(), y.data(), cpu_bytes);
    }
    f.device.host_wait(f.device.record(Queue::kCompute));
    const double us = f.device.now_us() - begin - profile().sync_us;  // the last meeting is the next layer's matter
    f.device.host_wait(f.device.record(Queue::kCopy));
    return us;
}

CostTable fullTable() {
    CostTable t;
    t.device = "a \"device\"";
    t.weight_type = "BF16";
    t.hidden_dim = 4096;
    t.ffn_dim = 14336;
    t.expert_bytes = 352321536;
    t.pinned = true;
    t.weight_copy_us = 28000.25;
    t.activation_copy = {{1, 20.5}, {4, 21}};
    t.gpu_expert = {{1, 600.125}, {2, 601}};
    t.cpu_expert = {{1, 0.1 + 0.2}, {2, 9000}};
    t.sparse_cpu = {{0.25, 0.5}, {0.75, 1.125}};
    t.measured_at = 1795839671;
    t.disturbed = true;
    t.doubt = CostDoubt::kAnswered;
    t.sync_us = 12.5;
    t.cpu_slowdown = 1.25;
    t.copy_slowdown = 1.125;
    t.emulated = true;
    return t;
}

bool same(const std::vector<CostPoint>& a, const std::vector<CostPoint>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const CostPoint& x, const CostPoint& y) { return x.n_tokens == y.n_tokens && x.us == y.us; });
}

bool same(const CostTable& a, const CostTable& b) {
    return a.device == b.device && a.weight_type == b.weight_type && a.hidden_dim == b.hidden_dim &&
           a.ffn_dim == b.ffn_dim && a.expert_bytes == b.expert_bytes && a.pinned == b.pinned &&
           a.weight_copy_us == b.weight_copy_us && same(a.activation_copy, b.activation_copy) &&
           same(a.gpu_expert, b.gpu_expert) && same(a.cpu_expert, b.cpu_expert) && a.sync_us == b.sync_us &&
           a.cpu_slowdown == b.cpu_slowdown && a.copy_slowdown == b.copy_slowdown && a.emulated == b.emulated &&
           a.measured_at == b.measured_at && a.disturbed == b.disturbed && a.doubt == b.doubt &&
           std::equal(
               a.sparse_cpu.begin(), a.sparse_cpu.end(), b.sparse_cpu.begin(), b.sparse_cpu.end(),
               [](const SparseFactor& x, const SparseFactor& y) { return x.share == y.share && x.factor == y.factor; });
}

// One format's samples: any bytes that are no denormals will do.
struct FormatRequest {
    FormatRequest() {
        request.format = kernels::WeightType::kHqq4;
        request.grid = grid();
        request.largest = 4;
        request.checks = false;
        request.pack = [this](std::int64_t, std::byte* block) {
            std::memset(block, 0x35, grid().expert_bytes(request.format));
            ++n_packed;
        };
    }
    FormatRequest(const FormatRequest&) = delete;
    FormatRequest& operator=(const FormatRequest&) = delete;

    FormatCalibration request;
    int n_packed = 0;
};

// Records the reads, and whether they were cold.
class Disk final : public WeightSource, public ColdExperts {
  public:
    kernels::WeightType expert_type() const override { return kernels::WeightType::kBf16; }
    std::uint64_t dense_bytes() const override { return 0; }
    void watch(BytesProgressFn, std::stop_token) override {}
    void advance() override {}
    DenseWeights load_dense(Arena&) override { return {}; }
    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte*, kernels::ThreadPool&) override {
        read.push_back(layer.value * 10 + expert.value);
        n_cold += cold_ == read.back();
        all_cold = all_cold && cold_ == read.back();
        cold_ = -1;
    }
    bool make_cold(LayerIndex layer, ExpertIndex expert) override {
        cold_ = layer.value * 10 + expert.value;
        return there;
    }

    std::vector<int> read;
    bool all_cold = true;
    int n_cold = 0;
    bool there = true;

  private:
    int cold_ = -1;
};

// An environment variable as it was, at the end.
class Variable {
  public:
    Variable(const char* name, const QByteArray& value) : name_(name), was_set_(qEnvironmentVariableIsSet(name)) {
        old_ = qgetenv(name);
        if (value.isNull())
            qunsetenv(name);
        else
            qputenv(name, value);
    }
    ~Variable() {
        if (was_set_)
            qputenv(name_, old_);
        else
            qunsetenv(name_);
    }

  private:
    const char* name_;
    bool was_set_;
    QByteArray old_;
};

}  // namespace

class TestCalibration : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // An expert of a tiny model takes less than a microsecond.
    void timesInMessages_haveTwoDigits() {
        const auto said = [](double now_us, double kept_us) {
            return QString::fromStdString(
                cost_measured_again({messages::an_expert_on_the_cpu, kept_us, now_us}).english());
        };
        QVERIFY2(said(0.31, 4.2).endsWith(QStringLiteral("took 0.00031 ms, and 0.0042 ms were kept.")),
                 qPrintable(said(0.31, 4.2)));
        QVERIFY2(said(123.4, 45678).endsWith(QStringLiteral("took 0.123 ms, and 45.7 ms were kept.")),
                 qPrintable(said(123.4, 45678)));
        QVERIFY(said(0, 10).endsWith(QStringLiteral("took 0.000 ms, and 0.010 ms were kept.")));
    }
    // Otherwise one expert's weights would stay in the device's cache and be measured at
    // the cache's speed.
    void calibration_usesTheDevicesSlotsInTurn() {
        Fixture f(std::uint64_t{64} << 20, profile(), 3);
        for (std::byte* slot : f.device_slots) std::fill_n(slot, kExpertBytes, std::byte{0});
        f.run();
        for (const std::byte* slot : f.device_slots) {
            const bool holds_one = std::any_of(f.experts.begin(), f.experts.end(), [&](const kernels::ExpertView& e) {
                return std::memcmp(slot, e.data, kExpertBytes) == 0;
            });
            QVERIFY(holds_one);
        }
    }

    // The result is what the emulated device accounts: the profile's own figures.
    void calibration_ofAnEmulatedDevice_findsTheProfile_data() {
        QTest::addColumn<QString>("id");
        for (const char* id : {"", "fiddler-env1", "fiddler-env2"}) QTest::newRow(id[0] != 0 ? id : "a slow one") << id;
    }
    void calibration_ofAnEmulatedDevice_findsTheProfile() {
        QFETCH(QString, id);
        const HardwareProfile p = id.isEmpty() ? profile() : find_hardware_profile(id.toStdString());
        Fixture f(std::uint64_t{64} << 20, p);
        const HostProfile& host = *p.host;
        const CostTable t = f.run();
        QCOMPARE(t.device, p.name + " (emulated)");
        QCOMPARE(t.weight_type, std::string("BF16"));
        QCOMPARE(t.expert_bytes, std::uint64_t{kExpertBytes});
        QCOMPARE(t.hidden_dim, kHidden);
        QCOMPARE(t.ffn_dim, kFfn);
        QVERIFY(t.emulated);
        QVERIFY(isNear(t.weight_copy_us, p.copy_us(kExpertBytes)));
        QVERIFY(isNear(t.sync_us, p.sync_us + p.launch_us));  // the answer's first copy is launched after it

        const std::vector<std::int64_t> counts = {1, 2, 4, 8, 16, 32, 64};
        QCOMPARE(t.gpu_expert.size(), counts.size());
        QCOMPARE(t.cpu_expert.size(), counts.size());
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const auto n = static_cast<double>(counts[i]);
            const double flops = 6.0 * kHidden * kFfn * n;
            QCOMPARE(t.gpu_expert[i].n_tokens, counts[i]);
            QVERIFY(isNear(t.gpu_expert[i].us, p.operation_us(kExpertBytes + n * kHidden * 8, flops), 0.01));
            QCOMPARE(t.cpu_expert[i].n_tokens, counts[i]);
            QVERIFY(isNear(t.cpu_expert[i].us, std::max(kExpertBytes / host.read_gbps, flops / host.gflops) / 1e3));
        }
        for (const CostPoint& point : t.activation_copy) {
            QVERIFY(isNear(point.us, 2 * p.copy_us(static_cast<double>(point.n_tokens) * kHidden * 4), 0.01));
        }
        const double wanted_gbps = host.read_gbps + p.bus_gbps * p.bus_efficiency;
        // For an accounted host the bytes alone decide.
        const CostModel model(t);
        QVERIFY(isNear(model.sparse_factor(model.master(), 0.4), 0.6));
        QVERIFY(isNear(t.cpu_slowdown, std::max(1.0, wanted_gbps / host.dram_gbps)));
        QVERIFY(isNear(t.copy_slowdown, std::max(1.0, wanted_gbps / host.dram_gbps)));
    }

    // The whole chain: the calibration predicts a layer's time, with all sides at once.
    void prediction_ofALayer_isWhatTheDeviceAccounts() {
        Fixture f;
        const CostModel cost(f.run());
        std::mt19937 random(4);
        Schedule schedule;
        double worst = 0;
        double sum = 0;
        int n = 0;
        for (int round = 0; round < 40; ++round) {
            std::vector<ExpertLoad> loads;
            const int most = round % 2 == 0 ? 2 : 32;
            for (int expert = 0; expert < 8; ++expert) {
                const auto tokens = static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(most));
                loads.push_back({expert, tokens, random() % 3 == 0 ? Place::kDevice : Place::kRam});
            }
            for (const PolicyKind kind :
                 {PolicyKind::kBalanced, PolicyKind::kTransfer, PolicyKind::kStatic, PolicyKind::kThreshold}) {
                decide(kind, loads, cost, 2, schedule);
                const double error = executed_us(f, schedule) / schedule.makespan_us - 1;
                worst = std::max(worst, std::abs(error));
                sum += error;
                ++n;
            }
        }
        qInfo("predicted within %.1f %% of what was accounted, %.2f %% off on average", 100 * worst, 100 * sum / n);
        // The CPU's list assumes even demand, while the device accounts expert by expert.
        QVERIFY(worst < 0.1);
        QVERIFY(std::abs(sum / n) < 0.01);
    }

    // The same inputs would choose the same neurons each time.
    void thetas_areTimedWithOtherInputsEachTime() {
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        f.request.experts = std::span(f.experts).first(1);
        f.request.n_active = 1;
        f.request.largest = 2;
        f.request.budget_s = 0.5;
        const CostTable t = calibrate(cpu, f.operations, f.request, {}, {});
        if (t.disturbed) QSKIP("other work on this machine left no time to measure with thetas");
        const auto is_mean = [](const SparseFactor& point) {
            const double neurons = point.share * static_cast<double>(grid().ffn_dim);
            return std::abs(neurons - std::round(neurons)) > 1e-6;
        };
        QVERIFY(std::any_of(t.sparse_cpu.begin(), t.sparse_cpu.end(), is_mean));
    }

    void calibration_ofTheHost_timesItsExpertsAlone() {
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        f.request.budget_s = 2;
        const CostTable t = calibrate(cpu, f.operations, f.request, {}, {});
        QVERIFY(!t.has_accelerator());
        QVERIFY(t.activation_copy.empty());
        QCOMPARE(t.weight_copy_us, 0.0);
        QCOMPARE(t.cpu_expert.size(), std::size_t{7});
        for (const CostPoint& point : t.cpu_expert) QVERIFY(point.us > 0);
        QVERIFY(!t.emulated);
        // With thetas as well, by shares of the neurons that were counted.
        if (t.disturbed) QSKIP("other work on this machine left no time to measure with thetas");
        QVERIFY(t.sparse_cpu.size() > 1);
        for (const SparseFactor& point : t.sparse_cpu) QVERIFY(point.share > 0 && point.share < 1 && point.factor > 0);
        QVERIFY(t.sparse_cpu.front().share < 0.35 && t.sparse_cpu.back().share > 0.65);
        QVERIFY(std::abs(seconds_since_1970() - t.measured_at) < 3600);
    }

    // ---- other work on the machine
    void repeatedTime_leavesOutWhatOtherWorkAdded() {
        RepeatedTime time;
        QCOMPARE(time.us(), 0.0);
        time.add(900);
        QCOMPARE(time.us(), 900.0);  // the only one
        for (const double us : {100.0, 5000.0, 102.0, 0.0, 3000.0, 98.0}) time.add(us);
        QVERIFY(!time.is_settled());
        QCOMPARE(time.us(), 100.0);
        for (const double us : {104.0, 2500.0, 103.0}) time.add(us);
        QVERIFY(time.is_settled());
        QCOMPARE(time.us(), 102.0);
        // One that is much too short does not count either.
        time.add(1);
        QCOMPARE(time.us(), 102.0);
        RepeatedTime quiet;
        for (const double us : {7.0, 10.0, 11.0, 12.0, 10.5, 11.5}) quiet.add(us);
        QCOMPARE(quiet.us(), 11.0);  // the median
    }

    // Two short times, when other machines did not use the memory, are not what a run
    // takes.
    void repeatedTime_onAQuietComputer_isTheMedian() {
        RepeatedTime time;
        QCOMPARE(time.quiet_us(), 0.0);
        time.add(900);
        QCOMPARE(time.quiet_us(), 900.0);
        for (const double us : {58.0, 95.0, 96.0, 57.0, 94.0, 95.0, 97.0}) time.add(us);
        QCOMPARE(time.us(), 57.5);
        QCOMPARE(time.quiet_us(), 95.0);
    }

    // Other work has emptied the caches most of the time.
    void repeatedTime_withColdCaches_countsTheOthers() {
        RepeatedTime time;
        for (const double us : {126.0, 125.0, 124.0, 102.0, 123.0, 125.0, 100.0, 122.0, 101.0}) time.add(us);
        QVERIFY(!time.is_settled());
        time.add(103);
        QVERIFY(time.is_settled());
        QCOMPARE(time.us(), 101.5);
    }

    // Times that agree may all be those of a thread that waited for its core.
    void repeatedTime_ofWorkThatWaited_countsOnlyWhereNothingElseDoes() {
        RepeatedTime time;
        for (int i = 0; i < 8; ++i) time.add(4000 + i, 3000);
        QVERIFY(time.all_disturbed() && !time.is_settled());
        QCOMPARE(time.us(), 4004.0);
        for (const double us : {1000.0, 1010.0, 1020.0}) time.add(us, 10);
        QVERIFY(!time.all_disturbed() && !time.is_settled());
        QCOMPARE(time.us(), 1010.0);
        time.add(1030, 0);
        QVERIFY(time.is_settled());
        QVERIFY(waited_us() >= 0);
    }

    // What the thread waits is not the work's, on systems that report no waits either.
    void workOfOneThread_takesTheTimeThatItRan() {
        constexpr auto kWait = std::chrono::milliseconds(50);
        const double kWaitUs = 50'000;
        kernels::ThreadPool pool(1);
        CpuBackend cpu(pool, kernels::GemmMode::kF32, std::uint64_t{1} << 20);
        const auto timed_us = [&](bool thread_time) {
            cpu.use_thread_time(thread_time);
            return cpu.run_on_host(HostWork{}, [&] { std::this_thread::sleep_for(kWait); });
        };
        const double before = own_wait_us();
        QVERIFY(timed_us(false) >= kWaitUs);
        QVERIFY(own_wait_us() - before > 0.9 * kWaitUs);
        QVERIFY(timed_us(true) < 0.5 * kWaitUs);
    }

    void costs_ofFewerTokens_areNeverMore() {
        std::vector<CostPoint> points = {{1, 1339}, {2, 145}, {4, 150}, {8, 149}, {16, 200}};
        const auto worst = falling_cost(points);
        QVERIFY(worst && worst->before == 0 && worst->after == 1);
        make_rising(points);
        QVERIFY(same(points, {{1, 145}, {2, 145}, {4, 149}, {8, 149}, {16, 200}}));
        QVERIFY(!falling_cost(points));
        QVERIFY(!falling_cost({}));
    }

    // Weights are read once, however many tokens there are.
    void costs_ofAnotherTime_changeByTheSame() {
        std::vector<CostPoint> points = {{1, 50}, {2, 60}, {512, 4000}};
        retime(points, 62);
        QVERIFY(same(points, {{1, 62}, {2, 72}, {512, 4012}}));
        retime(points, 0);  // not measured
        QVERIFY(same(points, {{1, 62}, {2, 72}, {512, 4012}}));
        std::vector<CostPoint> none;
        retime(none, 62);
        QVERIFY(none.empty());
    }

    void keptCosts_drift_data() {
        QTest::addColumn<double>("now");
        QTest::addColumn<bool>("disturbed");
        QTest::addColumn<bool>("drifted");
        QTest::newRow("the same") << 100.0 << false << false;
        QTest::newRow("a little slower") << 125.0 << false << false;
        QTest::newRow("slower") << 135.0 << false << true;
        QTest::newRow("slower beside other work") << 1000.0 << true << false;
        QTest::newRow("faster") << 70.0 << false << true;
        QTest::newRow("faster, in spite of other work") << 70.0 << true << true;
        QTest::newRow("not measured") << 0.0 << false << false;
    }
    void keptCosts_drift() {
        QFETCH(double, now);
        QFETCH(bool, disturbed);
        QFETCH(bool, drifted);
        QCOMPARE(has_drifted(100, now, disturbed), drifted);
    }

    // An expert of n tokens takes 100 + 10 n; two of three times other work adds much,
    // and more to few tokens.
    void calibration_besideOtherWork_findsTheSame() {
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        int n_calls = 0, n_of_one = 0;
        f.request.timer = [&](std::int64_t n) {
            const double us = 100 + 10 * static_cast<double>(n);
            if (n == 1 && n_of_one++ < 3000) return 1339.0;  // one token at first always
            return ++n_calls % 3 == 0 ? us : us * (2 + n_calls % 7);
        };
        const CostTable t = calibrate(cpu, f.operations, f.request, {}, {});
        QCOMPARE(t.cpu_expert.size(), std::size_t{7});
        for (const CostPoint& point : t.cpu_expert) {
            const double least = point.n_tokens == 1 ? 110 : 100 + 10 * static_cast<double>(point.n_tokens);
            QVERIFY2(point.us >= least && point.us <= least * 1.1,
                     qPrintable(QStringLiteral("%1 tokens: %2").arg(point.n_tokens).arg(point.us)));
        }
    }

    void budget_thatIsSpent_leavesLargerCountsToExtrapolation() {
        Fixture f;
        f.request.budget_s = 0;
        const CostTable t = f.run();
        QCOMPARE(t.gpu_expert.size(), std::size_t{2});
        QCOMPARE(t.cpu_expert.size(), std::size_t{2});
        QCOMPARE(t.activation_copy.size(), std::size_t{2});
        QVERIFY(t.weight_copy_us > 0 && t.cpu_slowdown > 1 && t.copy_slowdown > 1);
        QVERIFY(CostModel(t).cpu_us(1000) >= t.cpu_expert.back().us);
    }

    void device_withLittleRoom_isCalibratedForFewerTokens() {
        const std::size_t slot = (kExpertBytes + 255) / 256 * 256;
        Fixture f(slot + 3 * 16 * kHidden * 4);
        f.request.n_active = 1;
        const CostTable t = f.run();
        QCOMPARE(t.gpu_expert.back().n_tokens, 16);
        QCOMPARE(f.device.memory().usage().used_bytes, std::uint64_t{slot});  // all given back
        Fixture full(slot + 256);
        QCOMPARE(mismatch(error_of([&] { full.run(); }), ErrorKind::kOutOfMemory), QString());
    }

    void copies_thatFail_endInAnErrorAndTheNextCalibrationWorks() {
        int failures = 0;
        Fixture f;
        f.request.largest = 4;
        for (int n = 1;; ++n) {
            f.device.fail_copy(n);
            try {
                f.run();
                break;
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kInternal);
                QVERIFY(QString(error.what()).contains("Test GPU (emulated)"));
                ++failures;
            }
            f.device.clear_failure();
            f.device.fail_copy(0);
            QCOMPARE(f.device.memory().usage().used_bytes, std::uint64_t{kExpertBytes});
        }
        QVERIFY(failures > 20);
        f.device.fail_copy(0);
        QVERIFY(f.run().weight_copy_us > 0);
    }

    void progress_growsToOne_andStopEndsIt() {
        Fixture f;
        f.request.largest = 4;
        std::vector<double> seen;
        calibrate(f.device, f.operations, f.request, [&](double part) { seen.push_back(part); }, {});
        QVERIFY(std::is_sorted(seen.begin(), seen.end()));
        QCOMPARE(seen.back(), 1.0);
        std::stop_source stop;
        std::size_t n = 0;
        QCOMPARE(mismatch(error_of([&] {
                              calibrate(
                                  f.device, f.operations, f.request,
                                  [&](double) {
                                      if (++n == 2) stop.request_stop();
                                  },
                                  stop.get_token());
                          }),
                          ErrorKind::kCancelled),
                 QString());
        QCOMPARE(n, std::size_t{2});
    }

    // ---- one format, kept or measured
    void format_isMeasuredOnce_andKeptForPageLockedMemory() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        FormatRequest wanted;
        bool measured = false;
        const CostTable first = calibrate_format(f.device, f.operations, wanted.request, cache, {}, {}, &measured);
        QVERIFY(measured && first.has_accelerator() && first.pinned);
        QCOMPARE(first.weight_type, std::string("HQQ4"));
        QCOMPARE(first.expert_bytes, grid().expert_bytes(kernels::WeightType::kHqq4));
        QVERIFY(isNear(first.weight_copy_us, profile().copy_us(static_cast<double>(first.expert_bytes))));
        QVERIFY(wanted.n_packed >= 2);
        QCOMPARE(f.device.memory().usage().used_bytes, std::uint64_t{kExpertBytes});  // its slot went back
        const int n_packed = wanted.n_packed;
        const CostTable second = calibrate_format(f.device, f.operations, wanted.request, cache, {}, {}, &measured);
        QVERIFY(!measured && same(first, second));
        QCOMPARE(wanted.n_packed, n_packed);
        // Copies from memory that is not page-locked are measured separately, and so is
        // another format.
        CostTable none;
        const auto kept = [&](kernels::WeightType format, bool pinned) {
            return cache.load(cost_key(place_of(f.device, f.operations), format, grid(), pinned), none);
        };
        QVERIFY(kept(kernels::WeightType::kHqq4, true));
        QVERIFY(!kept(kernels::WeightType::kHqq4, false));
        QVERIFY(!kept(kernels::WeightType::kBf16, true));
    }

    void format_withoutRoomForASlot_isOfTheCpuAlone_andNotKept() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f((kExpertBytes + 255) / 256 * 256 + 4096);
        FormatRequest wanted;
        for (int i = 0; i < 2; ++i) {
            bool measured = false;
            const CostTable t = calibrate_format(f.device, f.operations, wanted.request, cache, {}, {}, &measured);
            QVERIFY(measured && !t.has_accelerator() && !t.cpu_expert.empty());
        }
    }

    void format_onTheCpu_isKeptForAsManyTokensAsWereAsked() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatRequest wanted;
        const auto table = [&](std::int64_t largest, bool& measured) {
            wanted.request.largest = largest;
            return calibrate_format(cpu, f.operations, wanted.request, cache, {}, {}, &measured);
        };
        bool measured = false;
        const CostTable two = table(2, measured);
        QVERIFY(measured && two.cpu_expert.size() == 2);
        QVERIFY(same(table(2, measured), two) && !measured);
        QCOMPARE(table(4, measured).cpu_expert.size(), std::size_t{3});
        QVERIFY(measured);
        // A measurement with everything serves as well.
        CostTable full = two;
        full.cpu_expert = {{1, 5}, {2, 6}, {1024, 900}};
        cache.store(cost_key(place_of(cpu, f.operations), wanted.request.format, grid(), false), full);
        QVERIFY(same(table(2, measured), full) && !measured);
    }

    // Stored costs are timed again, and measured anew if they have changed.
    void format_thatIsKept_isChecked_data() {
        QTest::addColumn<double>("kept");  // times as much as it takes
        QTest::addColumn<int>("days");     // old
        QTest::addColumn<bool>("doubted");
        QTest::addColumn<bool>("anew");
        QTest::addColumn<bool>("noted");
        QTest::newRow("holds") << 1.0 << 0 << false << false << false;
        QTest::newRow("within the noise") << 1.25 << 0 << false << false << false;
        QTest::newRow("too slow") << 9.0 << 0 << false << true << true;
        QTest::newRow("too fast") << 0.5 << 0 << false << true << true;
        QTest::newRow("old") << 1.0 << 100 << false << true << false;
        QTest::newRow("not old") << 1.0 << 80 << false << false << false;
        QTest::newRow("in doubt") << 1.0 << 0 << true << true << false;
        QTest::newRow("measured beside other work") << 1.01 << 0 << false << true << false;
    }
    void format_thatIsKept_isChecked() {
        QFETCH(double, kept);
        QFETCH(int, days);
        QFETCH(bool, doubted);
        QFETCH(bool, anew);
        QFETCH(bool, noted);
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatRequest wanted;
        wanted.request.checks = true;
        wanted.request.timer = [](std::int64_t n) { return 50.0 * static_cast<double>(n); };
        bool measured = false;
        const auto table = [&] {
            return calibrate_format(cpu, f.operations, wanted.request, cache, {}, {}, &measured);
        };
        const std::string key =
            cost_key(place_of(cpu, f.operations), wanted.request.format, grid(), false) + "|up to 4";
        CostTable first = table();
        QVERIFY(measured && first.cpu_expert.front().us == 50.0);
        for (CostPoint& point : first.cpu_expert) point.us *= kept;
        first.measured_at -= days * std::int64_t{24 * 3600};
        first.disturbed = kept == 1.01;
        cache.store(key, first);
        QCOMPARE(doubted && raise_doubt<CostTable>(key, cache), doubted);
        const CostTable second = table();
        QCOMPARE(measured, anew);
        // This load counts with the time of now; the measurement that is kept stays.
        QCOMPARE(second.cpu_expert.front().us, 50.0);
        QCOMPARE(second.cpu_expert[1].us, anew ? 100.0 : 50 + 50 * kept);
        CostTable stored;
        QVERIFY(cache.load(key, stored));
        QCOMPARE(stored.cpu_expert.front().us, anew ? 50.0 : 50.0 * kept);
        QCOMPARE(cache.notes().size(), std::size_t{noted});
        if (noted)
            QVERIFY(cache.notes().front().english().find("an expert on the CPU took 0.050 ms") != std::string::npos);
        // Costs that were measured again hold, and if that followed a doubt no other is
        // raised.
        table();
        QVERIFY(!measured);
        QCOMPARE(second.doubt, doubted ? CostDoubt::kAnswered : CostDoubt::kNone);
        QCOMPARE(raise_doubt<CostTable>(key, cache), !doubted);
    }

    void format_isMeasuredAnew_whereThatIsAsked() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatRequest wanted;
        wanted.request.largest = kFullCalibration;
        wanted.request.budget_s = 0.01;
        bool measured = false;
        const auto table = [&] {
            return calibrate_format(cpu, f.operations, wanted.request, cache, {}, {}, &measured);
        };
        CostTable slow = table();
        QVERIFY(measured);
        for (CostPoint& point : slow.cpu_expert) point.us += 1e9;  // as on a busy machine
        const std::string key = cost_key(place_of(cpu, f.operations), wanted.request.format, grid(), false);
        cache.store(key, slow);
        QVERIFY(same(table(), slow) && !measured);
        wanted.request.anew = true;
        const CostTable anew = table();
        QVERIFY(measured && anew.cpu_expert.front().us < slow.cpu_expert.front().us);
        CostTable kept;
        QVERIFY(cache.load(key, kept) && same(kept, anew));
    }

    // ---- quantizing and disks
    void quantizing_isMeasuredOnce_perFormat() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        const QuantizingSpeeds speeds = quantizing_speeds(kHidden, cache, {});
        for (int i = 0; i < kernels::kWeightTypes; ++i) {
            QCOMPARE(speeds[static_cast<std::size_t>(i)] > 0, kernels::is_packed(static_cast<kernels::WeightType>(i)));
        }
        // Twice the same to the last bit is kept, not measured.
        QVERIFY(quantizing_speeds(kHidden, cache, {}) == speeds);
        QVERIFY(quantizing_speeds(kHidden * 2, cache, {}) != speeds);
        QVERIFY(quantizing_speeds(kHidden + 8, cache, {}) == QuantizingSpeeds{});  // cannot be packed
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(quantizing_speeds(kHidden, cache, stop.get_token()) == speeds);
        QVERIFY_THROWS_EXCEPTION(Error, quantizing_speeds(kHidden, MeasurementStore(""), stop.get_token()));
    }

    void quantizingSpeeds_writtenAndParsed_areTheSame() {
        QuantizingSpeeds speeds{};
        speeds[static_cast<std::size_t>(kernels::WeightType::kHqq4)] = 1234567.125;
        speeds[static_cast<std::size_t>(kernels::WeightType::kInt8)] = 0.1 + 0.2;
        const std::string text = stored_text(speeds);
        QVERIFY(parse_stored<QuantizingSpeeds>(text, "s.json") == speeds);
        QVERIFY(parse_stored<QuantizingSpeeds>("{}", "s.json") == QuantizingSpeeds{});
        for (const char* damaged : {"", "[", "{\"HQQ4\": -1}", "{\"HQQ4\": 1e300}", "{\"HQQ4\": \"fast\"}"}) {
            try {
                parse_stored<QuantizingSpeeds>(damaged, "s.json");
                QFAIL(damaged);
            } catch (const Error& error) {
                QVERIFY2(QString(error.what()).startsWith("s.json"), error.what());
            }
        }
        // A table and speeds under one key are not taken for each other.
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a", speeds);
        QuantizingSpeeds found{};
        CostTable table;
        QVERIFY(cache.load("a", found) && found == speeds);
        QVERIFY(!cache.load("a", table) && !cache.load("b", found));
        cache.store("a", fullTable());
        QVERIFY(!cache.load("a", found) && cache.load("a", table));
    }

    // Costs that were stored before one of their parts was measured are measured anew.
    void diskReads_areKeptWithTheirParts() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a", DiskReadCost{1500, 120, 70, 1560, 86400, CostDoubt::kAnswered});
        DiskReadCost found;
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.us, 1500.0);
        QCOMPARE(found.cpu_us, 120.0);
        QCOMPARE(found.latency_us, 70.0);
        QCOMPARE(found.check_us, 1560.0);
        QCOMPARE(found.measured_at, std::int64_t{86400});
        QCOMPARE(found.doubt, CostDoubt::kAnswered);
        QDirIterator files(folder.path(), QDir::Files, QDirIterator::Subdirectories);
        QVERIFY(files.hasNext());
        QFile file(files.next());
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        file.close();
        for (const QByteArray part : {"\"cpu_us\"", "\"latency_us\"", "\"check_us\"", "\"measured_at\""}) {
            QVERIFY(text.contains(part));
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            file.write(QByteArray(text).replace(part, "\"other\""));
            file.close();
            DiskReadCost old;
            QVERIFY(!cache.load("a", old));
        }
    }

    void habits_areKept_andOldOnesCountLess() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        RoutingHabits habits;
        QCOMPARE(habits.guess_recall(), 0.8);
        QVERIFY(!habits.hit_rate(3).has_value());
        habits.add({{1, 7}, 3000, 900, {100, 300, 0, 600}});
        QCOMPARE(habits.guess_recall(), 0.3);
        QCOMPARE(habits.hit_rate(0).value(), 0.0);
        QCOMPARE(habits.hit_rate(1.5).value(), 0.25);
        QCOMPARE(habits.hit_rate(9).value(), 1.0);
        cache.store("a", habits);
        RoutingHabits found;
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.guessable, 3000.0);
        QCOMPARE(found.guessed, 900.0);
        QCOMPARE(found.reused, habits.reused);
        QCOMPARE(found.calls, (std::vector<double>{1, 7}));
        const double most = RoutingHabits::kMostCalled;
        habits.add({{most, most}, most, most, {most, 0}});
        QVERIFY(habits.guessable <= most && habits.guess_recall() > 0.9);
        QVERIFY(habits.reused.front() <= most && habits.hit_rate(1).value() > 0.99);
        cache.store("a", habits);
        QVERIFY(cache.load("a", found));
        QCOMPARE(found.guess_recall(), habits.guess_recall());
        QCOMPARE(found.reused, habits.reused);
    }

    void disk_isReadColdEachTime_farApart() {
        Disk disk;
        kernels::ThreadPool pool(1);
        QVERIFY(measure_disk_read_us(disk, 4, 10, 1000, pool, {}) > 0);
        QVERIFY(!disk.read.empty() && disk.read.size() <= 5);
        QVERIFY(disk.all_cold);
        for (std::size_t i = 1; i < disk.read.size(); ++i) QCOMPARE(disk.read[i] - disk.read[i - 1], 8);
        Disk small;
        QVERIFY(measure_disk_read_us(small, 1, 2, 1000, pool, {}) > 0);
        QVERIFY(small.read.size() <= 2 && small.all_cold);
        // If the cache keeps them: all are read once more, and none is made cold.
        Disk cached;
        QVERIFY(measure_disk_read_us(cached, 4, 10, 1000, pool, {}, false) > 0);
        const std::size_t once = cached.read.size() / 2;
        QVERIFY(once > 0 && cached.read.size() == 2 * once && cached.n_cold == 0);
        for (std::size_t i = 0; i < once; ++i) QCOMPARE(cached.read[i], cached.read[once + i]);
        // Drawn weights have no disk; RAM without room for an expert leaves the cost
        // unknown.
        Disk none;
        none.there = false;
        QCOMPARE(measure_disk_read_us(none, 4, 10, 1000, pool, {}), 0.0);
        QCOMPARE(measure_disk_read_us(none, 4, 10, std::uint64_t{1} << 62, pool, {}), 0.0);
        Disk large;
        QCOMPARE(measure_disk_read_us(large, 4, 10, std::uint64_t{1} << 62, pool, {}), 0.0);
        QVERIFY(none.read.empty() && large.read.empty());
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_THROWS_EXCEPTION(Error, measure_disk_read_us(disk, 4, 10, 1000, pool, stop.get_token()));
    }

    // ---- JSON
    void table_writtenAndParsed_isTheSame() {
        const CostTable t = fullTable();
        QVERIFY(same(parse_stored<CostTable>(stored_text(t), "t.json"), t));
        QVERIFY(!same(parse_stored<CostTable>(stored_text(t), "t.json"), CostTable{}));
        CostTable cpu = fullTable();
        cpu.gpu_expert.clear();
        cpu.activation_copy.clear();
        QVERIFY(same(parse_stored<CostTable>(stored_text(cpu), "t.json"), cpu));
    }

    void table_damaged_namesFileAndKey_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* from, const char* to, const char* message) {
            QTest::newRow(name) << from << to << message;
        };
        row("no JSON", "{", "(", "not valid JSON");
        row("a key is missing", "\"weight_copy_us\"", "\"weight_copy\"", "\"weight_copy_us\" is missing");
        row("a negative time", "28000.25", "-1", "\"weight_copy_us\" is -1");
        row("a time without end", "28000.25", "1e300", "\"weight_copy_us\"");
        row("a speed-up", "1.25", "0.5", "\"cpu_slowdown\" is 0.5");
        row("no tokens", "600.125", "-1", "\"gpu_expert_us\"");
        row("not ascending", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[2, 1],", "\"cpu_expert_us\"");
        row("falling", "0.30000000000000004", "9000.5", "\"cpu_expert_us\"");
        row("a share above 1", "0.75", "1.75", "\"sparse_cpu\"");
        row("no age", "\"measured_at\"", "\"measured\"", "\"measured_at\" is missing");
        row("no pair", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[1],", "\"cpu_expert_us\"");
        row("a fraction of a token", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[0.5, 1],", "\"cpu_expert_us\"");
        row("tokens beyond all bounds", "\"cpu_expert_us\": [", "\"cpu_expert_us\": [[18446744073709551615, 1],",
            "\"cpu_expert_us\"");
        row("a size of nothing", "352321536", "0", "\"expert_bytes\" is 0");
    }
    void table_damaged_namesFileAndKey() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, message);
        QString text = QString::fromStdString(stored_text(fullTable()));
        QVERIFY(text.contains(from));
        text.replace(text.indexOf(from), from.size(), to);
        try {
            parse_stored<CostTable>(text.toStdString(), "t.json");
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).startsWith("t.json: "), error.what());
            QVERIFY2(QString(error.what()).contains(message), error.what());
        }
    }

    // ---- cache
    void cache_keepsTablesByKey() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString() + "/new/cache");
        CostTable found;
        QVERIFY(!cache.load("a", found));
        cache.store("a", fullTable());
        CostTable other = fullTable();
        other.weight_copy_us = 1;
        cache.store("b", other);
        QVERIFY(cache.load("a", found) && same(found, fullTable()));
        QVERIFY(cache.load("b", found) && same(found, other));
        QVERIFY(!cache.load("c", found));
        cache.store("a", other);
        QVERIFY(cache.load("a", found) && same(found, other));
    }

    void cache_withADamagedFile_hasNone_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::newRow("cut") << "\"version\""
                             << "";
        QTest::newRow("another version") << "\"version\": 5"
                                         << "\"version\": 1";
        QTest::newRow("another format") << "offstage-calibration"
                                        << "offstage";
        QTest::newRow("another key under the same hash") << "\"a key\""
                                                         << "\"another key\"";
        QTest::newRow("a damaged table") << "28000.25"
                                         << "null";
    }
    void cache_withADamagedFile_hasNone() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        cache.store("a key", fullTable());
        const auto file = std::filesystem::directory_iterator(folder.path().toStdString() + "/calibration")->path();
        QFile on_disk(QString::fromStdString(file.string()));
        QVERIFY(on_disk.open(QFile::ReadOnly));
        QString text = QString::fromUtf8(on_disk.readAll());
        on_disk.close();
        QVERIFY(text.contains(from));
        if (to.isEmpty())
            text.truncate(text.indexOf(from));
        else
            text.replace(from, to);
        QVERIFY(on_disk.open(QFile::WriteOnly));
        on_disk.write(text.toUtf8());
        on_disk.close();
        CostTable found;
        QVERIFY(!cache.load("a key", found));
        cache.store("a key", fullTable());
        QVERIFY(cache.load("a key", found));
    }

    void cache_withoutADirectory_keepsNothing_andOneThatCannotBeWrittenIsNoError() {
        CostTable found;
        for (const char* directory : {"", "/proc/none"}) {
            const MeasurementStore cache{std::filesystem::path(directory)};
            cache.store("a", fullTable());
            QVERIFY(!cache.load("a", found));
        }
    }

    void key_namesEverythingThatChangesTheTimes() {
        Fixture f;
        const auto key = [&](const Backend& device, const CpuOperations& host, kernels::WeightType type,
                             std::int64_t ffn) { return cost_key(place_of(device, host), type, grid(ffn)); };
        const std::string base = key(f.device, f.operations, kernels::WeightType::kBf16, kFfn);
        QVERIFY2(base.find("BF16 256x512") != std::string::npos, base.c_str());
        QVERIFY2(base.find(" x2 ") != std::string::npos, base.c_str());
        QVERIFY(base != key(f.device, f.operations, kernels::WeightType::kF16, kFfn));
        QVERIFY(base != key(f.device, f.operations, kernels::WeightType::kBf16, kFfn + 1));
        const std::string pageable =
            cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, grid(), false);
        QCOMPARE(pageable, base + "|pageable");
        ExpertGrid clamped = grid();
        clamped.expert.activation = kernels::Activation::kClamped;
        ExpertGrid biased = clamped;
        biased.expert.biases = true;
        const std::string with = cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, clamped);
        QVERIFY(base != with);
        QVERIFY(with != cost_key(place_of(f.device, f.operations), kernels::WeightType::kBf16, biased));
        kernels::ThreadPool three(3);
        CpuOperations more(three, kernels::GemmMode::kF32);
        QVERIFY(base != key(f.device, more, kernels::WeightType::kBf16, kFfn));
        CpuOperations bf16(f.pool, kernels::GemmMode::kBf16);
        QVERIFY(base != key(f.device, bf16, kernels::WeightType::kBf16, kFfn));
        HardwareProfile faster = profile();
        faster.bus_gbps = 2;
        Fixture other(std::uint64_t{64} << 20, faster);
        QVERIFY(base != key(other.device, f.operations, kernels::WeightType::kBf16, kFfn));
        QCOMPARE(base, key(f.device, f.operations, kernels::WeightType::kBf16, kFfn));
    }

    void cacheDirectory_followsTheEnvironment() {
        {
            const Variable xdg("XDG_CACHE_HOME", "/x");
            QCOMPARE(cache_directory(), std::filesystem::path("/x/offstage"));
        }
        const Variable home("HOME", "/h");
        {
            const Variable xdg("XDG_CACHE_HOME", "relative");
            QCOMPARE(cache_directory(), std::filesystem::path("/h/.cache/offstage"));
        }
        const Variable xdg("XDG_CACHE_HOME", QByteArray());
        QCOMPARE(cache_directory(), std::filesystem::path("/h/.cache/offstage"));
        const Variable none("HOME", QByteArray());
        QVERIFY(cache_directory().empty());
    }

    void storedInputs_keepTheReadersPromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/cost_table", QDir::Files);
        int n = 0;
        for (; files.hasNext(); ++n) {
            QFile file(files.next());
            QVERIFY(file.open(QFile::ReadOnly));
            const std::string broken = offstage::tests::check_cost_table(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + ": " + QString::fromStdString(broken)));
        }
        QVERIFY(n > 0);
    }
};

QTEST_GUILESS_MAIN(TestCalibration)
#include "tst_calibration.moc"
