

#include <algorithm>
#include <cstring>
#include <random>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/error.h"
#include "engine/experts/disk_speed.h"
#include "engine/model/cold_reads.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "kernels/thread_pool.h"
#include "tests/engine/calibration_fixture.h"
#include "tests/engine/errors.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;

namespace {

bool isNear(double value, double expected, double share = 1e-6) {
    if (std::abs(value - expected) <= share * expected) return true;
    qWarning("%.6f is not %.6f within %g %%", value, expected, share * 100);
    return false;
}

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

FormatCalibration small_request() {
    FormatCalibration request;
    request.format = kernels::WeightType::kHqq4;
    request.grid = grid();
    request.largest = 4;
    request.checks = false;
    return request;
}

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

}  // namespace

class TestCalibration : public QObject {
    Q_OBJECT

  private Q_SLOTS:
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
        FormatCalibration wanted = small_request();
        bool measured = false;
        const CostTable first = calibrate_format(f.device, f.operations, wanted, cache, {}, {}, &measured);
        QVERIFY(measured && first.has_accelerator() && first.pinned);
        QCOMPARE(first.weight_type, std::string("HQQ4"));
        QCOMPARE(first.expert_bytes, grid().expert_bytes(kernels::WeightType::kHqq4));
        QVERIFY(isNear(first.weight_copy_us, profile().copy_us(static_cast<double>(first.expert_bytes))));
        QCOMPARE(f.device.memory().usage().used_bytes, std::uint64_t{kExpertBytes});  // its slot went back
        const CostTable second = calibrate_format(f.device, f.operations, wanted, cache, {}, {}, &measured);
        QVERIFY(!measured && same(first, second));
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
        FormatCalibration wanted = small_request();
        for (int i = 0; i < 2; ++i) {
            bool measured = false;
            const CostTable t = calibrate_format(f.device, f.operations, wanted, cache, {}, {}, &measured);
            QVERIFY(measured && !t.has_accelerator() && !t.cpu_expert.empty());
        }
    }

    void format_onTheCpu_isKeptForAsManyTokensAsWereAsked() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatCalibration wanted = small_request();
        const auto table = [&](std::int64_t largest, bool& measured) {
            wanted.largest = largest;
            return calibrate_format(cpu, f.operations, wanted, cache, {}, {}, &measured);
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
        cache.store(cost_key(place_of(cpu, f.operations), wanted.format, grid(), false), full);
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
        FormatCalibration wanted = small_request();
        wanted.checks = true;
        wanted.timer = [](std::int64_t n) { return 50.0 * static_cast<double>(n); };
        bool measured = false;
        const auto table = [&] { return calibrate_format(cpu, f.operations, wanted, cache, {}, {}, &measured); };
        const std::string key = cost_key(place_of(cpu, f.operations), wanted.format, grid(), false) + "|up to 4";
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

    // Loads find the costs of all numbers of tokens first.
    void format_thatIsKeptForAllNumbersOfTokens_isMeasuredAnewForAll() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatCalibration wanted = small_request();
        wanted.checks = true;
        wanted.timer = [](std::int64_t n) { return 50.0 * static_cast<double>(n); };
        bool measured = false;
        const auto us_of_load = [&](std::int64_t largest) {
            wanted.largest = largest;
            return calibrate_format(cpu, f.operations, wanted, cache, {}, {}, &measured).cpu_expert.back().us;
        };
        const double us = us_of_load(kFullCalibration);
        const std::string key = cost_key(place_of(cpu, f.operations), wanted.format, grid(), false);
        CostTable full;
        QVERIFY(cache.load(key, full));
        for (CostPoint& point : full.cpu_expert) point.us *= 9;
        cache.store(key, full);
        QCOMPARE(us_of_load(4), us);
        QVERIFY(measured);
        QCOMPARE(us_of_load(4), us);
        QVERIFY(!measured);
        QVERIFY(raise_doubt<CostTable>(key, cache));
        us_of_load(4);
        QVERIFY(measured);
        us_of_load(4);
        QVERIFY(!measured);
    }

    void format_isMeasuredAnew_whereThatIsAsked() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        Fixture f;
        CpuBackend cpu(f.pool, kernels::GemmMode::kF32, std::uint64_t{16} << 20);
        FormatCalibration wanted = small_request();
        wanted.largest = kFullCalibration;
        wanted.budget_s = 0.01;
        bool measured = false;
        const auto table = [&] { return calibrate_format(cpu, f.operations, wanted, cache, {}, {}, &measured); };
        CostTable slow = table();
        QVERIFY(measured);
        for (CostPoint& point : slow.cpu_expert) point.us += 1e9;  // as on a busy machine
        const std::string key = cost_key(place_of(cpu, f.operations), wanted.format, grid(), false);
        cache.store(key, slow);
        QVERIFY(same(table(), slow) && !measured);
        wanted.anew = true;
        const CostTable anew = table();
        QVERIFY(measured && anew.cpu_expert.front().us < slow.cpu_expert.front().us);
        CostTable kept;
        QVERIFY(cache.load(key, kept) && same(kept, anew));
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
};

QTEST_GUILESS_MAIN(TestCalibration)
#include "tst_calibration.moc"
