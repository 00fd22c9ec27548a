// Copies, events, clocks, memory and failures.
#include "engine/device/mirror.h"
#include "engine/error.h"
#include "engine/experts/interleave_expert.h"
#include "kernels/thread_pool.h"
#include "tests/engine/parity/backend_parity.h"

namespace offstage::engine::parity {

namespace {

// Weights streamed through two slots, as in a long prefill: a slot is filled again only
// after the product that used it, and a product starts only when its weight is complete.
void check_streamed_weights(Backend& backend, const Promise&) {
    constexpr std::int64_t kRows = 256;
    constexpr std::int64_t kCols = 256;
    constexpr std::size_t kWeights = 12;
    const std::int64_t bytes = kRows * kCols * 2;
    std::vector<RandomRows> weights;
    for (std::size_t w = 0; w < kWeights; ++w) {
        weights.emplace_back(WeightType::kBf16, kRows, kCols, 50 + static_cast<std::uint32_t>(w), 1.0f);
    }
    const OnDevice<std::byte> two_slots(backend, std::vector<std::byte>(2 * static_cast<std::size_t>(bytes)));
    const OnDevice<float> x(backend, random_floats(kCols, 60));
    const OnDevice<float> y(backend, filled(static_cast<std::int64_t>(kWeights) * kRows, NAN));
    DeviceEvent used[2];
    used[0] = used[1] = backend.record(DeviceEvent::Queue::kCompute);
    DeviceEvent last;
    for (std::size_t w = 0; w < kWeights; ++w) {
        std::byte* slot = two_slots.data() + static_cast<std::int64_t>(w % 2) * bytes;
        const auto copied =
            backend.copy_weights(slot, weights[w].bytes().data(), static_cast<std::size_t>(bytes), used[w % 2]);
        QVERIFY(copied.has_value());
        QVERIFY(copied->queue == DeviceEvent::Queue::kCopy);
        backend.wait(*copied);
        backend.submit(ops::Multiply{
            {slot, WeightType::kBf16, kRows, kCols}, x.data(), 1, y.data() + static_cast<std::int64_t>(w) * kRows});
        used[w % 2] = backend.record(DeviceEvent::Queue::kCompute);
        last = *copied;
    }
    backend.host_wait(used[0]);
    backend.host_wait(used[1]);
    QVERIFY(backend.has_happened(last));
    QVERIFY(backend.has_happened(used[0]));
    std::vector<Expected> want(kWeights * kRows);
    for (std::size_t i = 0; i < want.size(); ++i) {
        for (std::int64_t k = 0; k < kCols; ++k) {
            want[i].add(double{weights[i / kRows].at(static_cast<std::int64_t>(i % kRows), k)} *
                        double{x.host()[static_cast<std::size_t>(k)]});
        }
    }
    PARITY_VERIFY(mismatch(y.download(), want, Promise::kTolerance));
    QVERIFY(backend.ok());
}

// The host sees a copy's bytes on the device after waiting for its event, without any
// compute in between.
void check_copy_is_whole_after_event(Backend& backend, const Promise&) {
    constexpr std::size_t kBytes = 8 << 20;
    std::vector<std::byte> host(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) host[i] = static_cast<std::byte>(i * 31 >> 3);
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(kBytes));
    finish(backend);
    const DeviceEvent before = backend.record(DeviceEvent::Queue::kCompute);
    backend.host_wait(before);  // the copy's queue does not wait for it
    const auto copied = backend.copy_weights(slot.data(), host.data(), kBytes, {});
    QVERIFY(copied.has_value());
    backend.host_wait(*copied);
    QVERIFY(backend.has_happened(*copied));
    // The queues have one clock.
    QVERIFY(backend.elapsed_us(before, *copied) > 0);
    QVERIFY(backend.elapsed_us(*copied, before) < 0);
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
}

void check_events_in_order(Backend& backend, const Promise&) {
    QVERIFY(backend.has_happened({}));
    backend.host_wait({});  // long past: returns
    const OnDevice<float> x(backend, filled(1 << 16, 1.0f));
    const OnDevice<float> y(backend, filled(1 << 16, 2.0f));
    const double before = backend.now_us();
    std::vector<DeviceEvent> events = {backend.record(DeviceEvent::Queue::kCompute)};
    for (int i = 0; i < 5; ++i) {
        backend.submit(ops::Add{y.data(), 1 << 16, x.data(), 1.0f});
        events.push_back(backend.record(DeviceEvent::Queue::kCompute));
    }
    backend.host_wait(events.back());
    const double after = backend.now_us();
    QVERIFY(after >= before);
    double sum = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        QVERIFY(backend.has_happened(events[i]));
        if (i == 0) continue;
        QVERIFY(events[i].ticket > events[i - 1].ticket);
        QVERIFY(backend.elapsed_us(events[i - 1], events[i]) > 0);
        sum += backend.elapsed_us(events[i - 1], events[i]);
    }
    const double whole = backend.elapsed_us(events.front(), events.back());
    QVERIFY(std::abs(sum - whole) <= 0.01 * whole + 10);   // devices count time in steps
    QCOMPARE(backend.elapsed_us({}, events.back()), 0.0);  // never recorded: unknown
    QCOMPARE(x.download()[12345], 11.0f);
}

// What is stored is there once the host has waited for the point behind it, also when the
// sequence comes again: more and fewer values, at any alignment.
void check_stored_values(Backend& backend, const Promise&) {
    // From, how many.
    constexpr std::size_t kPieces[][2] = {{0, 3}, {3, 1024}, {1028, 2048}, {3076, 1}, {3080, 1001}, {4081, 1048}};
    constexpr std::size_t kValues = 5130;
    const OnDevice<float> x(backend, random_floats(kValues, 8));
    const OnDevice<float> y(backend, filled(kValues, 1.0f));
    PinnedHost<float> host(backend, kValues, "a test");
    std::vector<float> wanted(x.host().begin(), x.host().end());
    std::fill_n(host.host(), kValues, -1.0f);
    for (int i = 0; i < 6; ++i) {
        const DeviceEvent before = backend.record(DeviceEvent::Queue::kCompute);
        backend.begin_repeated(77);
        backend.submit(ops::Add{y.data(), kValues, x.data(), 1.0f});
        for (const auto& [first, n] : kPieces) host.store(first, x.data() + first, n);
        const DeviceEvent there = backend.record(DeviceEvent::Queue::kCompute);
        backend.end_repeated();
        backend.host_wait(there);
        for (float& value : wanted) value += 1.0f;
        for (const auto& [first, n] : kPieces) {
            QVERIFY(std::equal(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                               wanted.begin() + static_cast<std::ptrdiff_t>(first + n), host.host() + first));
        }
        for (const int beside : {1027, 3077, 5129}) QCOMPARE(host.host()[beside], -1.0f);
        QVERIFY(backend.has_happened(there));
        QVERIFY(backend.elapsed_us(before, there) > 0);
    }
    QVERIFY(backend.ok());
}

void check_run_on_host(Backend& backend, const Promise&) {
    bool ran = false;
    const double before = backend.now_us();
    const double taken = backend.run_on_host({1e6, 1e6}, [&] { ran = true; });
    const double after = backend.now_us();
    QVERIFY(ran);
    QVERIFY(taken >= 0);
    QVERIFY(after - before >= taken * 0.999);
}

void check_pin(Backend& backend, const Promise&) {
    std::vector<std::byte> host(1 << 20, std::byte{7});
    const bool pinned = backend.pin(host);  // false where the system refuses: copies work all the same
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(host.size()));
    finish(backend);  // the slot is uploaded on the other queue
    const auto copied = backend.copy_weights(slot.data(), host.data(), host.size(), {});
    QVERIFY(copied.has_value());
    backend.host_wait(*copied);
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
    if (pinned) backend.unpin(host);
    QVERIFY(backend.ok());
}

// Experts on their way to the device and back, two at once; `dims`: hidden_dim, ffn_dim.
void check_experts_there_and_back(Backend& backend, kernels::ExpertLayout on_host, bool interleaved) {
    kernels::ThreadPool pool(1);
    std::mt19937 generator(7);
    const kernels::ExpertLayout in_rows = on_host;
    on_host.interleaved = interleaved;
    const std::size_t bytes = on_host.bytes();
    std::vector<std::vector<std::byte>> plain(2), in_ram(2), back(2, std::vector<std::byte>(bytes));
    for (std::size_t i = 0; i < 2; ++i) {
        plain[i].resize(bytes);
        for (std::byte& byte : plain[i]) byte = static_cast<std::byte>(generator());
        in_ram[i] = plain[i];
        interleave_expert(on_host, in_ram[i].data(), pool);
        QCOMPARE(in_ram[i] != plain[i], interleaved);
    }
    const OnDevice<std::byte> first(backend, std::vector<std::byte>(bytes));
    const OnDevice<std::byte> second(backend, std::vector<std::byte>(bytes));
    const DeviceEvent after = backend.record(DeviceEvent::Queue::kCompute);
    QVERIFY(backend.copy_expert(first.data(), {in_ram[0].data(), on_host}, after).has_value());
    const auto copied = backend.copy_expert(second.data(), {in_ram[1].data(), on_host}, {});
    QVERIFY(copied.has_value());
    backend.wait(*copied);
    // As rows that were uploaded and laid out.
    for (const OnDevice<std::byte>* const uploaded : {&first, &second}) {
        const OnDevice<std::byte> rows(backend, plain[uploaded == &first ? 0 : 1]);
        backend.lay_out(kernels::ExpertView{rows.data(), in_rows});
        QVERIFY(same_bits<std::byte>(uploaded->download(), rows.download()));
    }
    const DeviceEvent read = backend.record(DeviceEvent::Queue::kCompute);
    QVERIFY(backend.copy_expert_to_host(back[0].data(), on_host, first.data(), read).has_value());
    // The device's memory is filled anew behind that copy.
    QVERIFY(backend.copy_expert(first.data(), {in_ram[1].data(), on_host}, {}).has_value());
    const auto came = backend.copy_expert_to_host(back[1].data(), on_host, first.data(), {});
    QVERIFY(came.has_value());
    backend.host_wait(*came);
    QVERIFY(back[0] == in_ram[0] && back[1] == in_ram[1]);
}

// Rows that are interleaved in host memory lie one after the other on the device, each as
// its kernels read it, and are interleaved again when they come back; so do others.
void check_interleaved_experts(Backend& backend, const Promise&) {
    if (backend.shares_host_memory()) return;  // never copied
    Backend::StepShape step = largest_step();
    step.hidden_dim = 512;
    step.ffn_dim = 1024;
    step.weight_type = WeightType::kFile1;
    backend.reserve(step);
    using enum WeightType;
    // Rows of 288 and 544 weights begin at any distance from a multiple of 16.
    const auto check = [&](WeightType gate, WeightType up, WeightType down, bool odd = false) {
        kernels::ExpertLayout layout;
        layout.hidden_dim = odd ? 288 : 512;
        layout.ffn_dim = odd ? 544 : 1024;
        layout.gate = gate;
        layout.up = up;
        layout.down = down;
        layout.spec.biases = gate == kMxfp4;
        layout.down_rows_are_outputs = true;
        for (const bool interleaved : {true, false}) {
            check_experts_there_and_back(backend, layout, interleaved);
            if (!QTest::currentTestFailed()) continue;
            qInfo("%s, %s, %s", kernels::name_of(gate), kernels::name_of(up), kernels::name_of(down));
            return;
        }
    };
    for (const bool odd : {false, true}) {
        check(kQ8_0, kQ8_0, kQ8_0, odd);
        check(kQ4_0, kQ4_0, kIq4Nl, odd);
        check(kMxfp4, kMxfp4, kMxfp4, odd);
        check(kQ4_0, kQ5_0, kQ8_0, odd);  // of gate and up one alone
    }
    check(kQ2K, kQ2K, kQ3K);
    check(kQ4K, kQ4K, kQ6K);
    check(kQ6K, kQ6K, kQ6K);
    check(kQ5K, kQ5K, kIq4Xs);
    check(kQ4_0, kQ8_0, kQ4K);
    check(kQ4_0, kQ4K, kQ6K);  // rows of the same bytes
    check(kQ4K, kQ4K, kIq3Xxs);
    QVERIFY(backend.ok());
}

void check_failing_copies(Backend& backend, const Promise&) {
    const std::vector<std::byte> host(4096, std::byte{9});
    const OnDevice<std::byte> slot(backend, std::vector<std::byte>(host.size()));
    finish(backend);
    const auto copy = [&] { return backend.copy_weights(slot.data(), host.data(), host.size(), {}); };

    backend.fail_copy(2);
    QVERIFY(copy().has_value());
    QVERIFY(!copy().has_value());
    QVERIFY(backend.ok());  // a refused weight copy is no failure of the device
    const auto third = copy();
    QVERIFY(third.has_value());
    backend.host_wait(*third);

    backend.fail_copy(1);
    backend.upload(slot.data(), host.data(), host.size());
    finish(backend);
    QVERIFY(!backend.ok());
    QVERIFY(!backend.failure().empty());
    backend.clear_failure();
    QVERIFY(backend.ok());
    QVERIFY(backend.failure().empty());

    std::vector<std::byte> back(host.size());
    backend.fail_copy(1);
    backend.download(back.data(), slot.data(), back.size());
    finish(backend);
    QVERIFY(!backend.ok());
    backend.clear_failure();

    backend.fail_copy(1);
    backend.fail_copy(0);  // withdrawn
    const std::vector<std::byte> got = slot.download();
    QVERIFY(same_bits<std::byte>(got, host));
    QVERIFY(backend.ok());
}

void check_memory_budget(Backend& backend, const Promise&) {
    Arena& memory = backend.memory();
    const ArenaUsage before = memory.usage();
    {
        const DeviceBlock block = memory.allocate(1000, MemoryUse::kExperts, "a test");
        QVERIFY(block.size() == 1000);
        QVERIFY(reinterpret_cast<std::uintptr_t>(block.data()) % 256 == 0);
        QCOMPARE(memory.usage().used_bytes, before.used_bytes + 1024);
        try {
            const DeviceBlock more = memory.allocate(static_cast<std::size_t>(memory.available_bytes()) + 1,
                                                     MemoryUse::kExperts, "too much");
            QFAIL("more than the budget was given");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kOutOfMemory);
            QVERIFY(std::strstr(error.what(), "too much") != nullptr);
        }
        memory.fail_allocation(1);
        try {
            const DeviceBlock failing = memory.allocate(1, MemoryUse::kExperts, "the injected one");
            QFAIL("the injected failure did not happen");
        } catch (const Error& error) {
            QVERIFY(error.kind() == ErrorKind::kOutOfMemory);
        }
        const DeviceBlock next = memory.allocate(1, MemoryUse::kExperts, "the next one");
        QVERIFY(next);
    }
    QCOMPARE(memory.usage().used_bytes, before.used_bytes);
    QVERIFY(memory.usage().high_water_bytes <= memory.usage().budget_bytes);
}

// reserve() allocates the size from scratch_bytes(), except for the arena's rounding; so
// a plan can rely on it.
void check_reserve(Backend& backend, const Promise&) {
    const auto workspace = [&] {
        return backend.memory().usage().by_use[static_cast<std::size_t>(MemoryUse::kWorkspace)];
    };
    const std::uint64_t said = backend.scratch_bytes(largest_step());
    QVERIFY(workspace() <= said + 64 * 256);
    const std::uint64_t before = workspace();
    backend.reserve(largest_step());  // again: nothing more is allocated
    QCOMPARE(workspace(), before);
    Backend::StepShape small = largest_step();
    small.n_tokens = 1;
    QVERIFY(backend.scratch_bytes(small) <= said);
}

}  // namespace

std::vector<Check> queues_checks() {
    return {{"streamed_weights", check_streamed_weights},
            {"copy_is_whole_after_event", check_copy_is_whole_after_event},
            {"events_in_order", check_events_in_order},
            {"stored_values", check_stored_values},
            {"run_on_host", check_run_on_host},
            {"pin", check_pin},
            {"interleaved_experts", check_interleaved_experts},
            {"failing_copies", check_failing_copies},
            {"memory_budget", check_memory_budget},
            {"reserve", check_reserve}};
}

}  // namespace offstage::engine::parity
