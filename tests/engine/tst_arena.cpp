#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <QTest>

#include "engine/device/arena.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"

using namespace offstage::engine;

namespace {

// Ordinary memory, counted; may be empty.
class CountingSource final : public MemorySource {
  public:
    void* allocate(std::size_t bytes) noexcept override {
        if (empty) return nullptr;
        outstanding += bytes;
        return std::aligned_alloc(256, bytes);
    }
    void release(void* data, std::size_t bytes) noexcept override {
        outstanding -= bytes;
        std::free(data);
    }
    std::atomic<std::size_t> outstanding{0};
    bool empty = false;
};

QString error_of(Arena& arena, std::size_t bytes) {
    try {
        const DeviceBlock block = arena.allocate(bytes, MemoryUse::kExperts, "expert 7 of layer 3");
    } catch (const Error& error) {
        return error.kind() == ErrorKind::kOutOfMemory ? error.what() : "another kind of error";
    }
    return {};
}

// Of this process.
std::size_t mapped_bytes() {
    std::ifstream sizes("/proc/self/statm");
    std::size_t n_pages = 0;
    sizes >> n_pages;
    return n_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool addresses_are_limited() {
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return true;
    }
    return false;
}

std::uint64_t used(const Arena& arena, MemoryUse use) {
    return arena.usage().by_use[static_cast<std::size_t>(use)];
}

}  // namespace

class TestArena : public QObject {
    Q_OBJECT

  private slots:
    void allocate_counts_rounded_bytes_by_use();
    void allocate_nothing_is_free();
    void high_water_stays();
    void budget_is_never_passed();
    void budget_error_says_what_is_left();
    void device_without_memory_is_reported();
    void injected_failure_hits_the_nth();
    void block_moves_with_its_memory();
    void block_assigned_over_gives_back();
    void set_budget_below_use_is_refused();
    void set_budget_starts_high_water_again();
    void lower_budget_keeps_high_water();
    void threads_share_an_arena();
    void uses_have_names();
    void host_memory_is_zeroed_and_aligned();
    void host_memory_refuses_what_machine_lacks();
    void address_space_hands_out_many_blocks_of_few_ranges();
    void address_space_gives_ranges_back();
    void address_space_takes_what_is_asked_where_limited();
};

void TestArena::allocate_counts_rounded_bytes_by_use() {
    CountingSource source;
    Arena arena("a test", source, 10'000);
    {
        const DeviceBlock a = arena.allocate(1, MemoryUse::kDense, "a");
        const DeviceBlock b = arena.allocate(256, MemoryUse::kDense, "b");
        const DeviceBlock c = arena.allocate(257, MemoryUse::kKvCache, "c");
        QCOMPARE(a.size(), std::size_t{1});
        QVERIFY(a && b && c);
        for (const DeviceBlock* block : {&a, &b, &c}) {
            QCOMPARE(reinterpret_cast<std::uintptr_t>(block->data()) % 256, std::uintptr_t{0});
        }
        QCOMPARE(arena.usage().used_bytes, 1024u);
        QCOMPARE(used(arena, MemoryUse::kDense), 512u);
        QCOMPARE(used(arena, MemoryUse::kKvCache), 512u);
        QCOMPARE(used(arena, MemoryUse::kExperts), 0u);
        QCOMPARE(arena.available_bytes(), 10'000u - 1024u);
        QCOMPARE(source.outstanding.load(), std::size_t{1024});
    }
    QCOMPARE(arena.usage().used_bytes, 0u);
    QCOMPARE(used(arena, MemoryUse::kDense), 0u);
    QCOMPARE(source.outstanding.load(), std::size_t{0});
}

void TestArena::allocate_nothing_is_free() {
    CountingSource source;
    Arena arena("a test", source, 0);
    const DeviceBlock block = arena.allocate(0, MemoryUse::kDense, "nothing");
    QVERIFY(!block);
    QCOMPARE(block.size(), std::size_t{0});
}

void TestArena::high_water_stays() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    {
        const DeviceBlock a = arena.allocate(1000, MemoryUse::kExperts, "a");
        const DeviceBlock b = arena.allocate(1000, MemoryUse::kExperts, "b");
    }
    const DeviceBlock c = arena.allocate(1000, MemoryUse::kExperts, "c");
    QCOMPARE(arena.usage().used_bytes, 1024u);
    QCOMPARE(arena.usage().high_water_bytes, 2048u);
}

void TestArena::budget_is_never_passed() {
    CountingSource source;
    Arena arena("a test", source, 1000);  // no multiple of the alignment: three pieces fit, not four
    std::vector<DeviceBlock> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(arena.allocate(256, MemoryUse::kExperts, "a piece"));
    QVERIFY(!error_of(arena, 1).isEmpty());
    QCOMPARE(arena.usage().high_water_bytes, 768u);
    blocks.pop_back();
    blocks.push_back(arena.allocate(200, MemoryUse::kExperts, "a piece"));
    QVERIFY(!error_of(arena, ~std::size_t{0}).isEmpty());
    QVERIFY(!error_of(arena, ~std::size_t{0} - 300).isEmpty());
    QCOMPARE(source.outstanding.load(), std::size_t{768});
}

void TestArena::budget_error_says_what_is_left() {
    CountingSource source;
    Arena arena("Some GPU", source, 4096);
    const DeviceBlock block = arena.allocate(1024, MemoryUse::kDense, "weights");
    const QString error = error_of(arena, 8192);
    for (const char* part : {"Some GPU", "expert 7 of layer 3", "8.0 KiB", "3.0 KiB", "4.0 KiB"}) {
        QVERIFY2(error.contains(part), qPrintable(error));
    }
}

void TestArena::device_without_memory_is_reported() {
    CountingSource source;
    source.empty = true;
    Arena arena("Some GPU", source, 4096);
    const QString error = error_of(arena, 100);
    QVERIFY2(error.contains("not given, although"), qPrintable(error));
    QCOMPARE(arena.usage().used_bytes, 0u);
    source.empty = false;
    QCOMPARE(error_of(arena, 100), QString());
}

void TestArena::injected_failure_hits_the_nth() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    arena.fail_allocation(3);
    QVERIFY(error_of(arena, 1).isEmpty());
    QVERIFY(error_of(arena, 1).isEmpty());
    QVERIFY(error_of(arena, 1).contains("not given, although"));
    QVERIFY(error_of(arena, 1).isEmpty());
    arena.fail_allocation(1);
    arena.fail_allocation(0);
    QVERIFY(error_of(arena, 1).isEmpty());
    QCOMPARE(source.outstanding.load(), std::size_t{0});
}

void TestArena::block_moves_with_its_memory() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    DeviceBlock a = arena.allocate(100, MemoryUse::kStaging, "a");
    std::byte* data = a.data();
    const DeviceBlock b = std::move(a);
    QCOMPARE(b.data(), data);
    QCOMPARE(b.size(), std::size_t{100});
    QVERIFY(!a);  // NOLINT(bugprone-use-after-move): the moved-from object must be empty
    QCOMPARE(arena.usage().used_bytes, 256u);
}

void TestArena::block_assigned_over_gives_back() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    DeviceBlock a = arena.allocate(100, MemoryUse::kStaging, "a");
    DeviceBlock b = arena.allocate(1000, MemoryUse::kDense, "b");
    b = std::move(a);
    QCOMPARE(arena.usage().used_bytes, 256u);
    QCOMPARE(used(arena, MemoryUse::kDense), 0u);
    DeviceBlock& same = b;
    b = std::move(same);
    QVERIFY(b);
    b = {};
    QCOMPARE(arena.usage().used_bytes, 0u);
}

void TestArena::set_budget_below_use_is_refused() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    const DeviceBlock block = arena.allocate(1024, MemoryUse::kDense, "a");
    try {
        arena.set_budget(1023);
        QFAIL("a budget below what is used was taken");
    } catch (const Error& error) {
        QVERIFY(error.kind() == ErrorKind::kInvalidInput);
    }
    QCOMPARE(arena.usage().budget_bytes, 4096u);
    arena.set_budget(1024);
    QCOMPARE(arena.available_bytes(), 0u);
}

void TestArena::set_budget_starts_high_water_again() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    { const DeviceBlock block = arena.allocate(4096, MemoryUse::kDense, "a"); }
    const DeviceBlock block = arena.allocate(512, MemoryUse::kDense, "b");
    arena.set_budget(2048);
    QCOMPARE(arena.usage().high_water_bytes, 512u);
}

void TestArena::lower_budget_keeps_high_water() {
    CountingSource source;
    Arena arena("a test", source, 4096);
    { const DeviceBlock block = arena.allocate(3072, MemoryUse::kDense, "a"); }
    const DeviceBlock block = arena.allocate(512, MemoryUse::kDense, "b");
    arena.lower_budget(8192);
    QCOMPARE(arena.usage().budget_bytes, 4096u);
    arena.lower_budget(3072);
    QCOMPARE(arena.usage().budget_bytes, 3072u);
    QCOMPARE(arena.usage().high_water_bytes, 3072u);
    arena.lower_budget(2048);
    QCOMPARE(arena.usage().high_water_bytes, 512u);
    arena.lower_budget(0);
    QCOMPARE(arena.usage().budget_bytes, 512u);
}

void TestArena::threads_share_an_arena() {
    CountingSource source;
    constexpr std::uint64_t kBudget = 20 * 256;
    Arena arena("a test", source, kBudget);
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                std::vector<DeviceBlock> blocks;
                try {
                    for (int i = 0; i < 8; ++i) blocks.push_back(arena.allocate(200, MemoryUse::kExperts, "a piece"));
                } catch (const Error&) {
                    ++refused;
                }
                if (arena.usage().used_bytes > kBudget) ++refused;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(arena.usage().used_bytes, 0u);
    QVERIFY(arena.usage().high_water_bytes <= kBudget);
    QCOMPARE(source.outstanding.load(), std::size_t{0});
}

void TestArena::uses_have_names() {
    std::set<std::string_view> names;
    for (std::size_t use = 0; use < kMemoryUses; ++use) names.insert(name_of(static_cast<MemoryUse>(use)));
    QCOMPARE(names.size(), kMemoryUses);
    QVERIFY(!names.contains("?"));
}

void TestArena::host_memory_is_zeroed_and_aligned() {
    HostMemory memory;
    for (const std::size_t bytes : {std::size_t{256}, std::size_t{5} << 20}) {
        auto* data = static_cast<std::byte*>(memory.allocate(bytes));
        QVERIFY(data != nullptr);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(data) % 4096, std::uintptr_t{0});
        for (std::size_t i = 0; i < bytes; i += 101) QVERIFY(data[i] == std::byte{});
        std::memset(data, 1, bytes);
        memory.release(data, bytes);
    }
}

void TestArena::host_memory_refuses_what_machine_lacks() {
    HostMemory memory;
    QVERIFY(memory.allocate(std::size_t{1} << 50) == nullptr);
    QVERIFY(memory.allocate(0) == nullptr);
}

// A model's experts are tens of thousands of blocks, far larger than the machine's RAM. The
// system gives a few ranges; its own mappings would each begin at a page.
void TestArena::address_space_hands_out_many_blocks_of_few_ranges() {
    constexpr std::size_t kBytes = (std::size_t{24} << 20) + 1, kCounted = (std::size_t{24} << 20) + 256;
    constexpr std::size_t kBlocks = 15'000, kMostRanges = 32;
    if (addresses_are_limited()) QSKIP("This process has a limit of addresses.");
    AddressSpace source;
    Arena arena("a test", source, std::uint64_t{1} << 44);
    std::vector<DeviceBlock> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        blocks.push_back(arena.allocate(kBytes, MemoryUse::kExperts, "an expert"));
    }
    std::set<std::byte*> places;
    for (const DeviceBlock& block : blocks) places.insert(block.data());
    QCOMPARE(places.size(), kBlocks);
    std::size_t n_gaps = 0;
    for (auto next = std::next(places.begin()); next != places.end(); ++next) {
        const auto distance = static_cast<std::size_t>(*next - *std::prev(next));
        QVERIFY(distance >= kCounted && distance % 256 == 0);
        n_gaps += distance > kCounted ? 1 : 0;
    }
    QVERIFY2(n_gaps < kMostRanges, qPrintable(QString::number(n_gaps)));
    for (const std::size_t i : {std::size_t{0}, kBlocks / 2, kBlocks - 1}) {
        QVERIFY(blocks[i].data()[0] == std::byte{} && blocks[i].data()[kBytes - 1] == std::byte{});
        blocks[i].data()[0] = blocks[i].data()[kBytes - 1] = std::byte{1};
    }
}

// What others hold of a range stays.
void TestArena::address_space_gives_ranges_back() {
    if (addresses_are_limited()) QSKIP("This process has a limit of addresses.");
    AddressSpace source;
    Arena arena("a test", source, std::uint64_t{1} << 44);
    const std::size_t before = mapped_bytes();
    std::vector<DeviceBlock> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(arena.allocate(std::size_t{1} << 30, MemoryUse::kExperts, "it"));
    QVERIFY(mapped_bytes() >= before + (std::size_t{1000} << 30));
    const DeviceBlock kept = std::move(blocks[500]);
    kept.data()[7] = std::byte{7};
    blocks.clear();
    QVERIFY(kept.data()[7] == std::byte{7});
    const DeviceBlock other = arena.allocate(std::size_t{1} << 30, MemoryUse::kExperts, "it");
    QVERIFY(other.data()[7] == std::byte{});
    QVERIFY(mapped_bytes() < before + (std::size_t{1000} << 30));
}

// Each block is a range of its own then.
void TestArena::address_space_takes_what_is_asked_where_limited() {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    rlimit before{};
    QCOMPARE(getrlimit(RLIMIT_AS, &before), 0);
    if (before.rlim_cur != RLIM_INFINITY) QSKIP("This process has a limit of addresses.");
    rlimit limited = before;
    limited.rlim_cur = mapped_bytes() + (std::size_t{1} << 40);
    AddressSpace source;
    QCOMPARE(setrlimit(RLIMIT_AS, &limited), 0);
    const std::size_t mapped = mapped_bytes();
    std::vector<void*> blocks;
    for (int i = 0; i < 3000; ++i) blocks.push_back(source.allocate(kBytes));
    const std::size_t taken = mapped_bytes() - mapped;
    QCOMPARE(setrlimit(RLIMIT_AS, &before), 0);
    QVERIFY(std::find(blocks.begin(), blocks.end(), nullptr) == blocks.end());
    QVERIFY2(taken < 3100 * kBytes, qPrintable(QString::number(taken)));
    for (std::size_t i = 0; i < blocks.size(); i += 2) source.release(blocks[i], kBytes);
    for (std::size_t i = 1; i < blocks.size(); i += 2) source.release(blocks[i], kBytes);
    QVERIFY(mapped_bytes() < mapped + 100 * kBytes);
    QVERIFY(source.allocate(0) == nullptr);
}

QTEST_GUILESS_MAIN(TestArena)
#include "tst_arena.moc"
