// The clock of the emulated accelerator, computed by hand, and that its results are the
// host's.

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include <QTest>

#include "engine/device/emulated_accelerator.h"
#include "engine/experts/loading_overlap.h"
#include "kernels/thread_pool.h"
#include "tests/kernels/attention_shapes.h"
#include "tests/kernels/test_data.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::WeightType;
using kernels::test::RandomWeights;
using Queue = DeviceEvent::Queue;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;
constexpr double kLaunch = 4;
constexpr double kSync = 10;
constexpr double kLatency = 8;

// 50,000 bytes or 1e6 operations a microsecond; copies 10,000 bytes a microsecond.
HardwareProfile profile_without_host() {
    HardwareProfile profile;
    profile.id = "round-numbers";
    profile.name = "Round Numbers";
    profile.memory_bytes = std::uint64_t{1} << 30;
    profile.reserved_bytes = std::uint64_t{1} << 20;
    profile.memory_gbps = 100;
    profile.memory_efficiency = 0.5;
    profile.tflops = 2;
    profile.compute_efficiency = 0.5;
    profile.bus_gbps = 20;
    profile.bus_efficiency = 0.5;
    profile.launch_us = kLaunch;
    profile.sync_us = kSync;
    profile.copy_latency_us = kLatency;
    return profile;
}

// The CPU reads 30,000 bytes a microsecond alone, and computes 1e6 operations; CPU and
// bus need 40 GB/s of the available 20.
HardwareProfile profile_with_host() {
    HardwareProfile profile = profile_without_host();
    profile.host = HostProfile{"Round CPU", 30, 20, 1000};
    return profile;
}

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed);
    return values;
}

}  // namespace

class TestEmulatedAccelerator : public QObject {
    Q_OBJECT

  private slots:
    void info_is_labelled_as_emulated();
    void computes_what_the_host_computes();
    void operation_takes_launch_and_roofline();
    void operations_follow_each_other_behind_their_launches();
    void a_latent_layer_takes_what_it_reads_and_multiplies();
    void drawn_routing_counts_layers_with_experts_alone();
    void a_dry_run_downloads_choices_alone();
    void copy_runs_beside_compute();
    void what_copies_have_beside_them_is_measured_layer_by_layer();
    void copy_waits_for_event();
    void compute_waits_for_copy();
    void host_work_is_accounted_from_profile();
    void host_work_and_copy_share_memory();
    void clock_does_not_depend_on_the_machine();
    void real_host_time_counts_without_host_profile();
    void waiting_for_past_event_costs_a_meeting();
    void asking_for_an_event_ends();
    void more_copies_than_the_queue_holds_all_arrive();
    void closing_with_copies_under_way_is_safe();
    void refused_copy_takes_no_bus_time();
    void paced_wait_takes_real_time();
    void memory_is_bounded_by_budget();

  private:
    kernels::ThreadPool pool_{2};
    CpuOperations operations_{pool_, kernels::GemmMode::kF32};
};

void TestEmulatedAccelerator::info_is_labelled_as_emulated() {
    const EmulatedAccelerator gpu(profile_without_host(), operations_, kBudget);
    QVERIFY(gpu.info().kind == DeviceKind::kEmulated);
    QVERIFY(gpu.info().emulated);
    QVERIFY(!gpu.info().emulated_host);
    QCOMPARE(gpu.info().id, std::string("emulated:round-numbers"));
    QCOMPARE(gpu.info().name, std::string("Round Numbers (emulated)"));
    QCOMPARE(gpu.info().memory_bytes, std::uint64_t{1} << 30);
    QCOMPARE(gpu.info().available_bytes, (std::uint64_t{1} << 30) - (std::uint64_t{1} << 20));
    QVERIFY(!gpu.shares_host_memory());
    const EmulatedAccelerator other(profile_with_host(), operations_, kBudget);
    QVERIFY(other.info().emulated_host);
    QVERIFY(other.info().fingerprint != gpu.info().fingerprint);
}

void TestEmulatedAccelerator::computes_what_the_host_computes() {
    EmulatedAccelerator gpu(profile_without_host(), operations_, kBudget);
    constexpr std::int64_t kHidden = 136;
    constexpr std::int64_t kFfn = 200;
    for (const std::int64_t n : {1, 7, 30}) {
        const RandomWeights values(WeightType::kBf16, 3 * kHidden * kFfn, 1, 0.1f);
        const std::vector<float> x = random_floats(n * kHidden, 2);
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(n));
        std::iota(tokens.rbegin(), tokens.rend(), 0);
        const ExpertCall call{{values.data(), kernels::expert_layout(WeightType::kBf16, kHidden, kFfn)}, 0, n};
        std::vector<float> want(x.size());
        std::vector<float> got(x.size());
        operations_.run(ops::Experts{{&call, 1}, x.data(), tokens.data(), want.data()});
        gpu.submit(ops::Experts{{&call, 1}, x.data(), tokens.data(), got.data()});
        QVERIFY(std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0);
    }
}

void TestEmulatedAccelerator::operation_takes_launch_and_roofline() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    QCOMPARE(gpu.now_us(), 0.0);
    constexpr std::int64_t kRows = 500;
    constexpr std::int64_t kCols = 1000;
    const RandomWeights values(WeightType::kF16, kRows * kCols, 1);
    const kernels::WeightView weight{values.data(), WeightType::kF16, kRows, kCols};

    // One row: bound by the 1,000,000 bytes of weights and 6000 of activations: 20.12 us.
    std::vector<float> x = random_floats(100 * kCols, 2);
    std::vector<float> y(100 * kRows);
    gpu.submit(ops::Multiply{weight, x.data(), 1, y.data()});
    QCOMPARE(gpu.now_us(), kLaunch);  // the host's time
    const DeviceEvent first = gpu.record(Queue::kCompute);
    gpu.host_wait(first);
    QCOMPARE(gpu.now_us(), kLaunch + kLaunch + 1'006'000 / 50'000.0 + kSync);

    // A hundred rows: bound by 2 * 100 * 500,000 operations: 100 us.
    const double before = gpu.now_us();
    gpu.submit(ops::Multiply{weight, x.data(), 100, y.data()});
    const DeviceEvent second = gpu.record(Queue::kCompute);
    gpu.host_wait(second);
    QCOMPARE(gpu.now_us() - before, kLaunch + kLaunch + 100.0 + kSync);
    // From the first end to the second: the host's synchronisation and launch in between,
    // then the operation.
    QCOMPARE(gpu.elapsed_us(first, second), kSync + kLaunch + kLaunch + 100.0);
}

void TestEmulatedAccelerator::operations_follow_each_other_behind_their_launches() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    std::vector<float> x(1000);
    const std::vector<float> y(1000, 1.0f);
    // 12,000 bytes: 4 + 0.24 us each on the device, launched every 4 us: the first begins
    // at 4, the rest follow it.
    for (int i = 0; i < 10; ++i) gpu.submit(ops::Add{y.data(), 1000, x.data(), 1.0f});
    QCOMPARE(gpu.now_us(), 10 * kLaunch);
    gpu.host_wait(gpu.record(Queue::kCompute));
    QCOMPARE(gpu.now_us(), kLaunch + 10 * (kLaunch + 0.24) + kSync);
    QCOMPARE(x[999], 10.0f);
}

// On a dry device, so that nothing has to be there.
void TestEmulatedAccelerator::a_latent_layer_takes_what_it_reads_and_multiplies() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget,
                            [](std::int64_t, std::int64_t, std::int64_t, bool, std::int32_t*) {});
    const kernels::AttentionShape shape = kernels::test::latent_attention(10, 100, 20);
    const kernels::KvShape kv = kernels::kv_shape_of(3, shape);
    // 1000 tokens after 3000; a third of the blocks of these is in host memory.
    const std::vector<std::byte*> blocks(63);
    std::vector<std::uint8_t> in_host(63, 0);
    std::fill_n(in_host.begin(), 20, std::uint8_t{1});
    const AttentionSegment segment{0, 1000, 3000, blocks, nullptr, in_host};
    const auto expect_us = [&](double want, const auto& operation) {
        const DeviceEvent begin = gpu.record(Queue::kCompute);
        operation();
        const DeviceEvent end = gpu.record(Queue::kCompute);
        gpu.host_wait(end);
        QCOMPARE(gpu.elapsed_us(begin, end), kLaunch + kLaunch + want);
    };
    constexpr double kBytesPerUs = 50'000;
    constexpr double kFlopsPerUs = 1e6;
    constexpr double kBusBytesPerUs = 10'000;
    const NormWeights norm{kernels::NormKind::kRms, nullptr, nullptr, 100, 1e-6f};
    expect_us(1000 * 3 * 100 * 8 / kBytesPerUs, [&] { gpu.submit(ops::NormPieces{norm, 1000, 300, 3, nullptr}); });
    expect_us(2001 * 100 * 4 / kBytesPerUs, [&] { gpu.submit(ops::AddBias{nullptr, 1000, 100, nullptr}); });
    const kernels::WeightView weight{nullptr, WeightType::kF16, 10 * 100, 30};
    expect_us((30'000 * 2 + 1000 * (300 + 1000) * 4) / kBytesPerUs, [&] {
        gpu.submit(ops::MultiplyHeads{weight, 10, nullptr, 300, 30, 1000, nullptr, 1200, 120});
    });
    expect_us((30'000 * 2 + (300 + 1000) * 4) / kBytesPerUs, [&] {
        gpu.submit(ops::MultiplyHeads{weight, 10, nullptr, 300, 30, 1, nullptr, 1200, 120});
    });
    // Rotated: 20 values each of ten heads and of the key, read and written; of each row
    // 120 read and 120 stored.
    expect_us(1000 * (2 * 11 * 20 + 120 + 120) * 4 / kBytesPerUs, [&] {
        gpu.submit(
            ops::RotateAndStoreLatent{0, shape, {&segment, 1}, nullptr, nullptr, nullptr, 30, nullptr, nullptr, kv});
    });
    // A query needs 120 products for a key, and 100 more for its value; values are no
    // further bytes. All rows: bound by arithmetic; one row: by the 1280 keys that cross
    // the bus.
    const double pairs = 1000 * 3000 + 1000 * 1001 / 2;
    expect_us(2 * pairs * 10 * 220 / kFlopsPerUs, [&] {
        gpu.submit(ops::Attend{0, shape, {&segment, 1}, nullptr, 1200, kv, nullptr});
    });
    const AttentionSegment one{0, 1, 3999, blocks, nullptr, in_host};
    expect_us(1280 * 120 * 4 / kBusBytesPerUs, [&] {
        gpu.submit(ops::Attend{0, shape, {&one, 1}, nullptr, 1200, kv, nullptr});
    });

    // A quarter of the keys, wherever they lie, and the numbers of all: those chosen by
    // four heads of an indexer, which reads its own keys, and its scores five times.
    kernels::AttentionShape chosen = shape;
    chosen.top_k = 1000;
    expect_us(1280 * 120 * 4 / 4 / kBusBytesPerUs, [&] {
        gpu.submit(ops::Attend{0, chosen, {&one, 1}, nullptr, 1200, kv, nullptr, nullptr});
    });
    kernels::AttentionShape indexer;
    indexer.n_heads = 4;
    indexer.n_kv_heads = 1;
    indexer.key_dim = 50;
    indexer.values_in_keys = true;
    indexer.top_k = 1000;
    const AttentionSegment on_device{0, 1, 3999, blocks, nullptr, {}};
    expect_us((4000 * 50 * 4 + 4000 * 5 * 4 + (4 * 51 + 1000) * 4) / kBytesPerUs, [&] {
        gpu.submit(
            ops::ChooseKeys{0, indexer, {&on_device, 1}, nullptr, nullptr, kernels::kv_shape_of(3, indexer), nullptr});
    });

    // Half a layer takes what its operations take.
    ops::GroupedAttention half;
    half.n = 1;
    half.norm = norm;
    half.projections[0] = {nullptr, WeightType::kF16, 1440, 100};
    half.shape = kernels::test::grouped_attention(10, 1, 120);
    half.query_norm = half.key_norm = {kernels::NormKind::kRms, nullptr, nullptr, 120, 1e-6f};
    half.segments = {&one, 1};
    half.kv = kv;
    half.output = {nullptr, WeightType::kF16, 100, 1200};
    const auto us_of = [&](const auto& operation) {
        const DeviceEvent begin = gpu.record(Queue::kCompute);
        operation();
        const DeviceEvent end = gpu.record(Queue::kCompute);
        gpu.host_wait(end);
        return gpu.elapsed_us(begin, end);
    };
    const double parts_us = us_of([&] { half.for_each([&](const auto& part) { gpu.submit(part); }); });
    QCOMPARE(us_of([&] { gpu.submit(half); }), parts_us);
    QVERIFY(parts_us > 8 * kLaunch);
}

void TestEmulatedAccelerator::drawn_routing_counts_layers_with_experts_alone() {
    std::vector<std::string> draws;
    EmulatedAccelerator gpu(
        profile_with_host(), operations_, kBudget,
        [&](std::int64_t layer, std::int64_t position, std::int64_t row, bool guess, std::int32_t*) {
            draws.push_back(std::to_string(layer) + (guess ? " guessed" : "") + " at " + std::to_string(position) +
                            " in row " + std::to_string(row));
        });
    const kernels::AttentionShape grouped = kernels::test::grouped_attention(2, 1, 8);
    const kernels::AttentionShape latent = kernels::test::latent_attention(2, 8, 4);
    const std::vector<std::byte*> blocks(1);
    kernels::RouterSpec router;
    router.n_experts = 4;
    router.n_active = 1;
    std::vector<std::int32_t> experts(2);
    const auto route = [&](std::int64_t n) {
        gpu.submit(ops::Route{router, {}, nullptr, n, 8, experts.data(), nullptr});
    };
    // The first layer has no experts; the last guesses nothing.
    const auto step = [&](std::int64_t past, std::int64_t n) {
        const AttentionSegment segment{0, n, past, blocks, nullptr, {}};
        draws.clear();
        gpu.submit(ops::Embed{{}, nullptr, 0, nullptr});  // begins it
        gpu.submit(ops::RotateAndStore{
            0, grouped, {&segment, 1}, nullptr, nullptr, nullptr, kernels::kv_shape_of(3, grouped)});
        for (const std::int64_t layer : {1, 2}) {
            gpu.submit(ops::RotateAndStoreLatent{layer,
                                                 latent,
                                                 {&segment, 1},
                                                 nullptr,
                                                 nullptr,
                                                 nullptr,
                                                 4,
                                                 nullptr,
                                                 nullptr,
                                                 kernels::kv_shape_of(3, latent)});
            route(n);
            if (layer == 1) route(n);
        }
    };
    step(5, 1);
    QCOMPARE(draws, (std::vector<std::string>{"0 at 5 in row 0", "1 guessed at 5 in row 0", "1 at 5 in row 0"}));
    step(6, 2);
    QCOMPARE(draws, (std::vector<std::string>{"0 at 6 in row 0", "0 at 7 in row 1", "1 guessed at 6 in row 0",
                                              "1 guessed at 7 in row 1", "1 at 6 in row 0", "1 at 7 in row 1"}));
}

// Nothing has been computed elsewhere; all of it is accounted.
void TestEmulatedAccelerator::a_dry_run_downloads_choices_alone() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget,
                            [](std::int64_t, std::int64_t, std::int64_t row, bool, std::int32_t* experts) {
                                *experts = static_cast<std::int32_t>(5 + row);
                            });
    using Values = std::vector<std::int32_t>;
    Values there(8, 1);
    const auto download = [&](std::size_t first, std::size_t n) {
        Values host(n, 2);
        const double before = gpu.now_us();
        gpu.download(host.data(), there.data() + first, n * sizeof(std::int32_t));
        gpu.host_wait(gpu.record(Queue::kCompute));
        return gpu.now_us() > before + kLatency ? host : Values();
    };
    QCOMPARE(download(0, 8), Values(8, 2));
    const kernels::AttentionShape grouped = kernels::test::grouped_attention(2, 1, 8);
    const std::vector<std::byte*> blocks(1);
    const AttentionSegment segment{0, 2, 0, blocks, nullptr, {}};
    kernels::RouterSpec router;
    router.n_experts = 8;
    router.n_active = 1;
    gpu.submit(
        ops::RotateAndStore{0, grouped, {&segment, 1}, nullptr, nullptr, nullptr, kernels::kv_shape_of(3, grouped)});
    gpu.submit(ops::Route{router, {}, nullptr, 2, 8, there.data() + 3, nullptr});
    QCOMPARE(download(0, 3), Values(3, 2));
    QCOMPARE(download(5, 3), Values(3, 2));
    QCOMPARE(download(3, 2), (Values{5, 6}));
    QCOMPARE(download(4, 2), (Values{6, 1}));
    QCOMPARE(download(0, 8), (Values{1, 1, 1, 5, 6, 1, 1, 1}));
}

void TestEmulatedAccelerator::copy_runs_beside_compute() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(1'000'000, std::byte{3});
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    std::vector<float> x(100'000);
    const std::vector<float> y(100'000, 1.0f);
    const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size(), {});  // 8 + 100 us from 4 on
    QVERIFY(copied.has_value());
    gpu.submit(ops::Add{y.data(), 100'000, x.data(), 1.0f});  // 4 + 24 us from 8 on
    const DeviceEvent added = gpu.record(Queue::kCompute);
    QVERIFY(!gpu.has_happened(added));
    const double polled = gpu.now_us() - 2 * kLaunch;
    gpu.host_wait(added);
    QCOMPARE(gpu.now_us(), 8 + 4 + 24 + kSync);
    QVERIFY(polled > 0);  // polling took time, but not beyond the end
    QVERIFY(!gpu.has_happened(*copied));
    gpu.host_wait(*copied);
    QCOMPARE(gpu.now_us(), kLaunch + kLatency + 100 + kSync);
    QVERIFY(std::memcmp(slot.data(), host.data(), host.size()) == 0);
}

void TestEmulatedAccelerator::what_copies_have_beside_them_is_measured_layer_by_layer() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(1'000'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    std::vector<float> x(100'000);
    const std::vector<float> y(100'000, 1.0f);
    const auto add = [&] { gpu.submit(ops::Add{y.data(), 100'000, x.data(), 1.0f}); };  // 4 + 24 us
    LoadingOverlap overlap(gpu);
    const auto copy = [&](DeviceEvent after) {
        const DeviceEvent submitted = gpu.record(Queue::kCopy);
        const auto end = gpu.copy_weights(slot.data(), host.data(), host.size(), after);
        overlap.add_copy(submitted, after, *end);
        return *end;
    };
    const auto measure = [&](DeviceEvent begin, DeviceEvent routed, DeviceEvent end,
                             std::span<const LoadingOverlap::Span> device,
                             std::span<const LoadingOverlap::Span> on_host, double seen_us) {
        return overlap.measure({begin, gpu.elapsed_us(begin, routed), gpu.elapsed_us(begin, end), seen_us}, device,
                               on_host);
    };
    overlap.begin_step();
    const DeviceEvent begin = gpu.record(Queue::kCompute);
    add();  // attention: until 4 + 28
    const DeviceEvent routed = gpu.record(Queue::kCompute);
    gpu.host_wait(routed);
    QCOMPARE(gpu.now_us(), 32 + kSync);
    const DeviceEvent copied = copy({});  // from 32 + kSync + kLaunch on: 108 us
    const double host_begin = gpu.now_us();
    gpu.run_on_host(HostWork{0, 4e7}, [] {});  // 40 us, without the memory
    const LoadingOverlap::Span on_host = {host_begin, gpu.now_us()};
    gpu.wait(copied);
    const DeviceEvent experts = gpu.record(Queue::kCompute);
    add();
    const DeviceEvent end = gpu.record(Queue::kCompute);
    // The next layer's experts come while this one's are computed, and go on beyond it.
    copy({});
    gpu.host_wait(end);
    const LoadingOverlap::Span computed = {gpu.elapsed_us(begin, experts), gpu.elapsed_us(begin, end)};
    const LoadingTimes first = measure(begin, routed, end, {&computed, 1}, {&on_host, 1}, 32 + kSync);
    const double experts_us = computed.end_us - computed.begin_us;
    QCOMPARE(experts_us, 28.0);
    // The host's clock is known to within what it takes to learn of an event.
    QCOMPARE(first.computing_us, 32 + 40 + experts_us);
    QCOMPARE(first.loading_us, kLaunch + 108 + experts_us);  // with what it takes to submit it to an idle queue
    QVERIFY(first.overlap_us <= 40 + experts_us + kLaunch + 1e-6);
    QVERIFY(first.overlap_us >= 40 + experts_us - kSync - 1e-6);
    QCOMPARE(first.hidden_loading(), first.overlap_us / first.loading_us);

    add();
    const DeviceEvent later = gpu.record(Queue::kCompute);
    const DeviceEvent waiting = copy(later);  // of the layer after that
    gpu.host_wait(later);
    gpu.host_wait(waiting);
    const double layer_us = gpu.elapsed_us(end, later);
    const LoadingTimes second = measure(end, later, later, {}, {}, 0);
    QCOMPARE(second.computing_us, layer_us);
    QCOMPARE(second.loading_us, layer_us);
    QCOMPARE(second.overlap_us, layer_us);
    QCOMPARE(second.hidden_computing(), 1.0);

    // Nothing is counted twice.
    const DeviceEvent last = gpu.record(Queue::kCompute);
    gpu.host_wait(last);
    const LoadingTimes third = measure(later, later, last, {}, {}, 0);
    QCOMPARE(first.loading_us + second.loading_us + third.loading_us, kLaunch + 3 * 108.0);
    QCOMPARE(third.overlap_us, 0.0);
}

void TestEmulatedAccelerator::copy_waits_for_event() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(100'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    std::vector<float> x(100'000);
    const std::vector<float> weight(100'000, 1.0f);
    gpu.submit(ops::Add{weight.data(), 0, x.data(), 1.0f});  // 4 us from 4 on
    const NormWeights norm{kernels::NormKind::kRms, weight.data(), nullptr, 100'000, 1e-5f};
    gpu.submit(ops::Norm{norm, x.data(), 1, x.data()});  // 4 + 16 us from 8 on
    const DeviceEvent used = gpu.record(Queue::kCompute);
    const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size(), used);
    gpu.host_wait(*copied);
    QCOMPARE(gpu.now_us(), 8 + 4 + 16 + kLatency + 10 + kSync);
}

void TestEmulatedAccelerator::compute_waits_for_copy() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<float> host(100'000, 5.0f);
    const DeviceBlock slot = gpu.memory().allocate(host.size() * 4, MemoryUse::kExperts, "a slot");
    std::vector<float> x(100'000, 1.0f);
    const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size() * 4, {});  // 8 + 40 us from 4 on
    gpu.wait(*copied);
    gpu.submit(ops::Add{slot.as<float>(), 100'000, x.data(), 1.0f});
    QCOMPARE(x[99'999], 6.0f);
    gpu.host_wait(gpu.record(Queue::kCompute));
    QCOMPARE(gpu.now_us(), kLaunch + kLatency + 40 + kLaunch + 24 + kSync);
}

void TestEmulatedAccelerator::host_work_is_accounted_from_profile() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    bool ran = false;
    QCOMPARE(gpu.run_on_host({300'000, 1e6}, [&] { ran = true; }), 10.0);  // bound by reading
    QVERIFY(ran);
    QCOMPARE(gpu.run_on_host({300'000, 5e7}, [] {}), 50.0);  // bound by computing
    QCOMPARE(gpu.run_on_host(HostWork{}, [] {}), 0.0);
    QCOMPARE(gpu.now_us(), 60.0);
}

void TestEmulatedAccelerator::host_work_and_copy_share_memory() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(1'000'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size(), {});  // 108 us alone, from 4 on
    // 900,000 bytes: 30 us alone. 30 + 10 GB/s of the available 20: half the speed.
    QCOMPARE(gpu.run_on_host({900'000, 0}, [] {}), 60.0);
    gpu.host_wait(*copied);
    QCOMPARE(gpu.now_us(), kLaunch + 60 + (108 - 30) + kSync);
    // Work that reads little does not slow the copy down: it uses 10 GB/s, and 10 remain
    // for the copy.
    const auto again = gpu.copy_weights(slot.data(), host.data(), host.size(), {});
    QCOMPARE(gpu.run_on_host({500'000, 5e7}, [] {}), 50.0);
    gpu.host_wait(*again);
}

void TestEmulatedAccelerator::clock_does_not_depend_on_the_machine() {
    std::vector<double> times;
    for (const int n_threads : {1, 3}) {
        kernels::ThreadPool pool(n_threads);
        CpuOperations operations(pool, kernels::GemmMode::kF32);
        EmulatedAccelerator gpu(profile_with_host(), operations, kBudget);
        const RandomWeights values(WeightType::kBf16, 300 * 300, 1);
        const std::vector<std::byte> host(200'000);
        const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
        const std::vector<float> x = random_floats(9 * 300, 2);
        std::vector<float> y(9 * 300);
        for (const std::int64_t n : {1, 4, 9}) {
            const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size(), {});
            gpu.submit(ops::Multiply{{values.data(), WeightType::kBf16, 300, 300}, x.data(), n, y.data()});
            gpu.run_on_host({123'456, 1e5}, [] {});
            gpu.wait(*copied);
            gpu.host_wait(gpu.record(Queue::kCompute));
        }
        times.push_back(gpu.now_us());
    }
    QVERIFY(times[0] == times[1]);
    QVERIFY(times[0] > 0);
}

void TestEmulatedAccelerator::real_host_time_counts_without_host_profile() {
    EmulatedAccelerator gpu(profile_without_host(), operations_, kBudget);
    const double before = gpu.now_us();
    const auto start = Clock::now();
    const double taken = gpu.run_on_host({1, 1}, [&] {
        while (Clock::now() - start < std::chrono::microseconds(500)) {
        }
    });
    QVERIFY(taken >= 400);  // the clock began a moment after `start`
    QVERIFY(gpu.now_us() - before >= 500 - 100);
}

void TestEmulatedAccelerator::waiting_for_past_event_costs_a_meeting() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    gpu.host_wait({});
    QCOMPARE(gpu.now_us(), 0.0);
    const DeviceEvent event = gpu.record(Queue::kCompute);
    QVERIFY(gpu.has_happened(event));
    gpu.host_wait(event);
    QCOMPARE(gpu.now_us(), kSync);
}

void TestEmulatedAccelerator::asking_for_an_event_ends() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(100'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    const auto copied = gpu.copy_weights(slot.data(), host.data(), host.size(), {});
    int asked = 0;
    while (!gpu.has_happened(*copied)) QVERIFY(++asked < 1000);
    QVERIFY(asked > 0);
    QVERIFY(gpu.now_us() >= kLaunch + kLatency + 10);
}

void TestEmulatedAccelerator::more_copies_than_the_queue_holds_all_arrive() {
    EmulatedAccelerator gpu(profile_without_host(), operations_, kBudget);
    constexpr std::size_t kCopies = 500;
    constexpr std::size_t kBytes = 4099;
    std::vector<std::byte> host(kCopies * kBytes);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7 >> 2);
    const DeviceBlock block = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "slots");
    std::optional<DeviceEvent> last;
    for (std::size_t i = 0; i < kCopies; ++i) {
        last = gpu.copy_weights(block.data() + i * kBytes, host.data() + i * kBytes, kBytes, {});
        QVERIFY(last.has_value());
    }
    gpu.host_wait(*last);
    QVERIFY(std::memcmp(block.data(), host.data(), host.size()) == 0);
}

void TestEmulatedAccelerator::closing_with_copies_under_way_is_safe() {
    const std::vector<std::byte> host(1 << 20);
    std::vector<std::byte> slot(host.size());
    for (int round = 0; round < 20; ++round) {
        EmulatedAccelerator gpu(profile_without_host(), operations_, kBudget);
        for (int i = 0; i < 5; ++i) gpu.copy_weights(slot.data(), host.data(), host.size(), {});
    }
}

void TestEmulatedAccelerator::refused_copy_takes_no_bus_time() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(100'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    gpu.fail_copy(1);
    QVERIFY(!gpu.copy_weights(slot.data(), host.data(), host.size(), {}).has_value());
    QVERIFY(gpu.has_happened(gpu.record(Queue::kCopy)));
    QCOMPARE(gpu.now_us(), kLaunch);
}

void TestEmulatedAccelerator::paced_wait_takes_real_time() {
    EmulatedAccelerator gpu(profile_with_host(), operations_, kBudget);
    const std::vector<std::byte> host(20'000'000);
    const DeviceBlock slot = gpu.memory().allocate(host.size(), MemoryUse::kExperts, "a slot");
    gpu.set_paced(true);
    const auto start = Clock::now();
    const double start_us = gpu.now_us();
    for (int i = 0; i < 2; ++i) {
        gpu.host_wait(*gpu.copy_weights(slot.data(), host.data(), host.size(), {}));
        const std::chrono::duration<double, std::micro> real = Clock::now() - start;
        // 2 ms of copy each. The clock was set to run a moment before `start`.
        QVERIFY(gpu.now_us() - start_us >= 2000);
        QVERIFY(real.count() >= 0.95 * 2000 * (i + 1));
    }
}

void TestEmulatedAccelerator::memory_is_bounded_by_budget() {
    EmulatedAccelerator gpu(profile_without_host(), operations_, 1 << 20);
    const DeviceBlock block = gpu.memory().allocate(1 << 20, MemoryUse::kExperts, "all of it");
    QCOMPARE(gpu.memory().available_bytes(), 0u);
    QCOMPARE(gpu.memory().usage().high_water_bytes, std::uint64_t{1} << 20);
}

QTEST_GUILESS_MAIN(TestEmulatedAccelerator)
#include "tst_emulated_accelerator.moc"
