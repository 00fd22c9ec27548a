// KV blocks: shared by forks, copied on writing, given back; moved between the device and
// RAM while sequences hold them.

#include <cstring>
#include <numeric>
#include <random>

#include <QtTest>

#include "engine/device/emulated_accelerator.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"
#include "engine/run/kv_cache.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/kv_refusal.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;
using kernels::kKvBlockTokens;

namespace {

constexpr kernels::KvShape kSmall = {.n_layers = 2, .n_kv_heads = 2, .key_dim = 4, .value_dim = 4};

constexpr std::uint64_t kBudget = std::uint64_t{1} << 26;

HardwareProfile someGpu() {
    HardwareProfile profile;
    profile.id = "round-numbers";
    profile.name = "Round Numbers";
    profile.memory_bytes = std::uint64_t{1} << 30;
    profile.memory_gbps = 100;
    profile.memory_efficiency = 0.5;
    profile.tflops = 2;
    profile.compute_efficiency = 0.5;
    profile.bus_gbps = 20;
    profile.bus_efficiency = 0.5;
    profile.launch_us = 4;
    profile.host = HostProfile{"Round CPU", 30, 20, 1000};  // so that no real time counts
    return profile;
}

// A pool of an emulated accelerator: its memory is not the RAM, although the host reads
// both.
struct Fixture {
    kernels::ThreadPool threads{1};
    CpuOperations operations{threads, kernels::GemmMode::kF32};
    EmulatedAccelerator device{someGpu(), operations, kBudget};
    HostMemory source;
    Arena ram{"RAM", source, kBudget};
    KvCache cache;
    KvPool& pool = cache.pool(0);

    explicit Fixture(KvRoom room, std::int64_t window = 0)
        : cache({{{kSmall, window}}, {}, {}, {}, {}, {}}, {&room, 1}, device, ram) {}
    explicit Fixture(std::int64_t device_blocks) : Fixture(KvRoom{device_blocks, 0}) {}

    std::uint64_t blockBytes() const { return static_cast<std::uint64_t>(kSmall.block_bytes()); }
    static std::uint64_t used(const Arena& arena) {
        return arena.usage().by_use[static_cast<std::size_t>(MemoryUse::kKvCache)];
    }
    bool usesWhatItsRoomSays() {
        return used(device.memory()) == static_cast<std::uint64_t>(pool.room().device_blocks) * blockBytes() &&
               used(ram) == static_cast<std::uint64_t>(pool.room().host_blocks) * blockBytes();
    }

    float& at(const KvSequence& sequence, std::int64_t layer, std::int64_t part, std::int64_t head,
              std::int64_t token) {
        const KvBlock block = pool.block(sequence.table(0).at(token / kKvBlockTokens));
        const std::int64_t offset =
            part == 0 ? pool.shape().keys_offset(layer, head) : pool.shape().values_offset(layer, head);
        return reinterpret_cast<float*>(block.data + offset + token % kKvBlockTokens * kSmall.key_stride())[0];
    }
    bool inHost(const KvSequence& sequence, std::size_t index) const {
        return pool.block(sequence.table(0).blocks[index]).in_host;
    }
    // Writes n tokens of a sequence: a number for each place.
    void write(KvSequence& sequence, std::int64_t n, float value) {
        QVERIFY(sequence.prepare(n, device));
        for (std::int64_t t = sequence.size(); t < sequence.size() + n; ++t) {
            for (std::int64_t l = 0; l < 2; ++l) {
                for (std::int64_t p = 0; p < 2; ++p) {
                    for (std::int64_t h = 0; h < 2; ++h) {
                        at(sequence, l, p, h, t) = value + static_cast<float>(l * 4 + p * 2 + h);
                    }
                }
            }
        }
        sequence.commit(n);
    }
    bool holds(const KvSequence& sequence, std::int64_t token, float value) {
        for (std::int64_t l = 0; l < 2; ++l) {
            for (std::int64_t p = 0; p < 2; ++p) {
                for (std::int64_t h = 0; h < 2; ++h) {
                    if (at(sequence, l, p, h, token) != value + static_cast<float>(l * 4 + p * 2 + h)) return false;
                }
            }
        }
        return true;
    }
};

}  // namespace

class TestKvPool : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void blocksFor_roundsUp() {
        QCOMPARE(kv_blocks_for(0), 0);
        QCOMPARE(kv_blocks_for(1), 1);
        QCOMPARE(kv_blocks_for(kKvBlockTokens), 1);
        QCOMPARE(kv_blocks_for(kKvBlockTokens + 1), 2);
    }

    void pool_takesTheMemoryThatItsRoomSays() {
        Fixture f(KvRoom{5, 3});
        QCOMPARE(f.pool.n_blocks(), 8);
        QCOMPARE(f.pool.n_free(), 8);
        QVERIFY(f.usesWhatItsRoomSays());
    }

    void fork_sharesEveryBlockAndCopiesNothing() {
        Fixture f(10);
        KvSequence a(f.cache, 640);
        f.write(a, 3 * kKvBlockTokens + 5, 1.0f);
        const std::int64_t free_before = f.pool.n_free();
        KvSequence b = a.fork();
        QCOMPARE(f.pool.n_free(), free_before);
        QCOMPARE(b.size(), a.size());
        QVERIFY(std::equal(a.table(0).blocks.begin(), a.table(0).blocks.end(), b.table(0).blocks.begin(),
                           b.table(0).blocks.end()));
    }

    void writeAfterFork_partsTheLastBlockAlone() {
        Fixture f(10);
        KvSequence a(f.cache, 640);
        f.write(a, kKvBlockTokens + 5, 1.0f);
        KvSequence b = a.fork();
        f.write(b, 1, 50.0f);
        f.write(a, 1, 90.0f);
        QCOMPARE(a.table(0).blocks[0], b.table(0).blocks[0]);
        QVERIFY(a.table(0).blocks[1] != b.table(0).blocks[1]);
        const std::int64_t last = kKvBlockTokens + 5;
        for (std::int64_t l = 0; l < 2; ++l) {
            QCOMPARE(f.at(a, l, 0, 1, last), 90.0f + static_cast<float>(l * 4 + 1));
            QCOMPARE(f.at(b, l, 0, 1, last), 50.0f + static_cast<float>(l * 4 + 1));
            for (std::int64_t t = 0; t < last; ++t) {
                QCOMPARE(f.at(a, l, 1, 0, t), 1.0f + static_cast<float>(l * 4 + 2));
                QCOMPARE(f.at(b, l, 1, 0, t), 1.0f + static_cast<float>(l * 4 + 2));
            }
        }
        // The remaining sequence keeps the old block: nothing was copied for it.
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks() - 3);
    }

    void prepare_withoutFreeBlocks_changesNothing() {
        Fixture f(2);
        KvSequence a(f.cache, 1000);
        f.write(a, kKvBlockTokens + 1, 1.0f);
        KvSequence b = a.fork();
        QVERIFY(!b.prepare(1, f.device));  // its last block is shared, and there is no other
        QCOMPARE(b.size(), a.size());
        QVERIFY(!a.prepare(kKvBlockTokens, f.device));
        b.clear();
        QVERIFY(a.prepare(1, f.device));
    }

    void truncateIntoASharedBlock_partsBeforeWriting() {
        Fixture f(8);
        KvSequence a(f.cache, 512);
        f.write(a, 2 * kKvBlockTokens, 1.0f);
        KvSequence b = a.fork();
        b.truncate(kKvBlockTokens / 2);
        f.write(b, 1, 70.0f);
        QCOMPARE(f.at(a, 0, 0, 0, kKvBlockTokens / 2), 1.0f);
        QCOMPARE(f.at(b, 0, 0, 0, kKvBlockTokens / 2), 70.0f);
        QCOMPARE(f.at(b, 0, 0, 0, kKvBlockTokens / 2 - 1), 1.0f);
    }

    // The rest of a cut step depends on the tokens after it, and so these are kept.
    void cutSteps_keepTheirRest() {
        Fixture f(64);
        KvSequence a(f.cache, 4096);
        const auto write = [&](KvSequence& to, TokenId first, int n, std::int32_t together, std::uint32_t step) {
            std::vector<TokenId> tokens;
            for (int i = 0; i < n; ++i) tokens.push_back(first + i);
            QVERIFY(to.prepare(n, f.device));
            to.commit(tokens, together, step);
        };
        using Cuts = std::vector<std::pair<std::size_t, std::vector<TokenId>>>;
        const auto cuts = [](const KvSequence& of) {
            Cuts all;
            for (const KvSequence::CutStep& cut : of.cut_steps()) all.emplace_back(cut.end, cut.rest);
            return all;
        };
        write(a, 0, 20, 20, 1);
        write(a, 100, 6, 6, 2);
        QVERIFY(cuts(a).empty());
        a.truncate(23);
        QVERIFY((cuts(a) == Cuts{{23, {103, 104, 105}}}));
        a.truncate(23);
        QVERIFY((cuts(a) == Cuts{{23, {103, 104, 105}}}));
        write(a, 200, 3, 3, 3);
        a.truncate(25);
        QVERIFY((cuts(a) == Cuts{{23, {103, 104, 105}}, {25, {202}}}));
        KvSequence b = a.fork();
        a.truncate(24);
        QVERIFY((cuts(a) == Cuts{{23, {103, 104, 105}}, {24, {201, 202}}}));
        a.truncate(22);
        QVERIFY((cuts(a) == Cuts{{22, {102, 103, 104, 105}}}));
        a.truncate(20);
        QVERIFY(cuts(a).empty());
        QVERIFY((cuts(b) == Cuts{{23, {103, 104, 105}}, {25, {202}}}));
        KvSequence moved = std::move(b);
        moved.truncate(23);
        QVERIFY((cuts(moved) == Cuts{{23, {103, 104, 105}}}));
        // For steps of which any part gives the same, and for those that cannot be
        // repeated, nothing is kept.
        write(a, 300, 70, WrittenToken::kInAnyStep, 4);
        a.truncate(50);
        write(a, 400, 6, WrittenToken::kBesideOthers, 5);
        a.truncate(53);
        QVERIFY(cuts(a).empty());
        moved.clear();
        QVERIFY(cuts(moved).empty());
    }

    void anyOrderOfForksAndEnds_givesEveryBlockBack() {
        Fixture f(64);
        std::mt19937 random(3);
        std::vector<KvSequence> live;
        live.emplace_back(f.cache, 4096);
        for (int i = 0; i < 2000; ++i) {
            const std::size_t which = random() % live.size();
            switch (random() % 4) {
                case 0:
                    if (live.size() < 12) live.push_back(live[which].fork());
                    break;
                case 1:
                    live[which].truncate(live[which].size() / 2);
                    break;
                case 2:
                    if (live.size() > 1) live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
                    break;
                default: {
                    const std::int64_t n = 1 + random() % 90;
                    if (live[which].prepare(n, f.device)) live[which].commit(n);
                }
            }
            std::vector<int> references(static_cast<std::size_t>(f.pool.n_blocks()), 0);
            for (const KvSequence& sequence : live) {
                QVERIFY(static_cast<std::int64_t>(sequence.table(0).blocks.size()) * kKvBlockTokens >= sequence.size());
                for (const std::int32_t block : sequence.table(0).blocks) ++references[static_cast<std::size_t>(block)];
            }
            const auto used = std::count_if(references.begin(), references.end(), [](int n) { return n > 0; });
            QCOMPARE(f.pool.n_free(), f.pool.n_blocks() - used);
        }
        live.clear();
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks());
    }

    // ---- idle sequences

    void idleSequence_leavesTheDeviceToWhoRuns_andComesBack() {
        Fixture f(KvRoom{3, 5});
        const auto nInHost = [&](const KvSequence& sequence) {
            return static_cast<int>(f.inHost(sequence, 0)) + f.inHost(sequence, 1) + f.inHost(sequence, 2);
        };
        KvSequence a(f.cache, 1000), b(f.cache, 1000);
        f.write(a, 3 * kKvBlockTokens, 1.0f);
        a.set_idle(true);
        f.write(b, 3 * kKvBlockTokens, 50.0f);
        QCOMPARE(nInHost(b), 0);
        QCOMPARE(nInHost(a), 3);
        b.set_idle(true);
        a.set_idle(false);
        f.cache.bring_to_device();
        QCOMPARE(nInHost(a), 0);
        QCOMPARE(nInHost(b), 3);
        for (std::int64_t t = 0; t < 3 * kKvBlockTokens; ++t) QVERIFY(f.holds(a, t, 1.0f) && f.holds(b, t, 50.0f));
        // Blocks that a running sequence shares stay in the fast memory.
        KvSequence c = a.fork();
        a.set_idle(true);
        KvSequence d(f.cache, 1000);
        f.write(d, kKvBlockTokens, 90.0f);
        QCOMPARE(nInHost(c), 0);
        QVERIFY(f.inHost(d, 0));
        c.clear();
        f.cache.bring_to_device();
        QVERIFY(!f.inHost(d, 0));
        QVERIFY(f.holds(a, 5, 1.0f) && f.holds(d, 5, 90.0f));
        QVERIFY(f.usesWhatItsRoomSays());
    }

    void blocksShort_idleOnesAreGivenUpBeforeTheLastCheckpoint() {
        Fixture f({9, 0}, 100);
        KvSequence idle(f.cache, 10'000), runs(f.cache, 10'000);
        f.write(idle, 300, 1.0f);
        idle.checkpoint();
        f.write(idle, 100, 1.0f);
        idle.set_idle(true);
        std::vector<KvCache::GiveUp> asked;
        f.cache.set_give_up([&](KvCache::GiveUp what) {
            asked.push_back(what);
            if (what == KvCache::GiveUp::kEnds) return idle.give_up_end();
            const bool any = idle.size() > 0;
            idle = KvSequence(f.cache, 10'000);
            return any;
        });
        f.write(runs, 150, 5.0f);
        runs.checkpoint();
        QVERIFY(asked.empty());
        f.write(runs, 200, 5.0f);
        QCOMPARE(asked.size(), std::size_t{1});
        QCOMPARE(idle.size(), 300);  // at its checkpoint
        QVERIFY(f.holds(idle, 299, 1.0f));
        f.write(runs, 200, 5.0f);
        QCOMPARE(idle.size(), 0);
        QCOMPARE(runs.truncate(150), 150);
        f.cache.set_give_up({});
    }

    // ---- windows

    // The plan's count is enough for any steps, with a checkpoint at the last prompt's
    // end, which is never lost.
    void window_takesNoMoreBlocksThanPlanned_data() {
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("max_step");
        for (const int window : {1, 2, 63, 64, 65, 100, 128, 300}) {
            for (const int step : {1, 7, 64, 65, 200}) QTest::addRow("%d, %d", window, step) << window << step;
        }
    }
    void window_takesNoMoreBlocksThanPlanned() {
        QFETCH(int, window);
        QFETCH(int, max_step);
        const KvGroupDemand demand{window, {}};
        Fixture f({demand.n_blocks(100'000) + demand.n_other_blocks(max_step) - kSpareKvBlocks, 0}, window);
        std::mt19937 random(7);
        KvSequence sequence(f.cache, 100'000);
        for (int turn = 0; turn < 12; ++turn) {
            for (int i = 0; i < 10; ++i) {
                const std::int64_t n = 1 + static_cast<std::int64_t>(random()) % max_step;
                QVERIFY(sequence.prepare(n, f.device));
                sequence.commit(n);
            }
            sequence.checkpoint();
            const std::int64_t prompt = sequence.size();
            const int n_answer = static_cast<int>(random() % 400);
            for (int i = 0; i < n_answer; ++i) {
                QVERIFY(sequence.prepare(1, f.device));
                sequence.commit(1);
            }
            if (turn % 3 != 0) QCOMPARE(sequence.truncate(prompt - turn % 2), prompt - turn % 2);
        }
        sequence.clear();
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks());
    }

    void truncate_underAWindow_goesBackToWhatIsLeft() {
        Fixture f({20, 0}, 100);
        KvSequence a(f.cache, 10'000);
        f.write(a, 300, 1.0f);
        QCOMPARE(a.table(0).first, 3);   // tokens from 200 on: block 3 begins with 192
        QCOMPARE(a.truncate(291), 291);  // sees tokens from 192 on
        a.checkpoint();
        f.write(a, 400, 1.0f);
        QCOMPARE(a.table(0).first, (691 - 100) / kKvBlockTokens);
        QCOMPARE(a.truncate(690), 690);
        QCOMPARE(a.truncate(400), 291);
        QVERIFY(f.holds(a, 192, 1.0f) && f.holds(a, 290, 1.0f));
        f.write(a, 300, 5.0f);  // another conversation from there
        QVERIFY(f.holds(a, 590, 5.0f));
        QCOMPARE(a.truncate(291), 291);
        QVERIFY(f.holds(a, 290, 1.0f));
        f.write(a, 300, 5.0f);
        QCOMPARE(a.truncate(250), 0);  // before the checkpoint's window
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks());
        f.write(a, 10, 2.0f);
        QVERIFY(f.holds(a, 0, 2.0f));
    }

    void checkpoints_giveWayToTokens() {
        Fixture f({5, 0}, 100);
        KvSequence a(f.cache, 10'000);
        for (int i = 1; i <= 10; ++i) {  // at 320 and 640: 2 blocks each, the second two shared with the sequence
            f.write(a, 64, 1.0f);
            if (i % 5 == 0) a.checkpoint();
        }
        QCOMPARE(f.pool.n_free(), 1);
        QVERIFY(a.prepare(192, f.device));  // blocks that only the older one holds must go
        a.commit(192);
        QCOMPARE(a.truncate(640), 640);
        QCOMPARE(a.truncate(400), 0);
        QCOMPARE(f.pool.n_free(), 5);
    }

    void checkpointAtOnePlace_isKeptOnce() {
        Fixture f({20, 0}, 100);
        KvSequence a(f.cache, 10'000);
        f.write(a, 300, 1.0f);
        a.checkpoint();
        f.write(a, 100, 1.0f);
        for (int i = 0; i < 10; ++i) a.checkpoint();
        QCOMPARE(a.checkpoints().size(), std::size_t{2});
        QCOMPARE(a.truncate(300), 300);
    }

    void groups_haveTablesAndPoolsOfTheirOwn() {
        using kernels::KvType;
        Fixture f(1);
        kernels::KvShape wide = kSmall;
        wide.key_dim = wide.value_dim = 8;
        const KvRoom rooms[] = {{10, 0}, {6, 0}};
        KvCache cache({{{kSmall, 0}, {wide, 100}}, {}, {}, {}, {}, {}}, rooms, f.device, f.ram);
        KvSequence a(cache, 1000);
        for (int i = 0; i < 500; i += 20) {
            QVERIFY(a.prepare(20, f.device));
            a.commit(20);
        }
        QCOMPARE(a.table(0).first, 0);
        QCOMPARE(a.table(0).blocks.size(), std::size_t{8});
        QCOMPARE(a.table(1).first, 400 / kKvBlockTokens);
        QCOMPARE(a.table(1).blocks.size(), std::size_t{2});
        KvSequence b = a.fork();
        QVERIFY(b.prepare(1, f.device));  // parts in both groups
        QVERIFY(a.table(0).blocks.back() != b.table(0).blocks.back());
        QVERIFY(a.table(1).blocks.back() != b.table(1).blocks.back());
        b.clear();
        const KvRoom spilled[] = {{3, 6}, {2, 0}};
        cache.resize(spilled);
        QCOMPARE(cache.n_held_in_host(), 5);
        QVERIFY(cache.pool(0).room() == spilled[0] && cache.pool(1).room() == spilled[1]);
        // The second group finds no memory: the first is freed.
        cache.retype(KvType::kInt8);
        const std::uint64_t used = f.device.memory().usage().used_bytes;
        f.device.memory().fail_allocation(5);
        QVERIFY_THROWS_EXCEPTION(Error, cache.retype(KvType::kF32));
        f.device.memory().fail_allocation(0);
        QVERIFY(cache.pool(0).shape().type == KvType::kInt8 && cache.pool(1).shape().type == KvType::kInt8);
        QCOMPARE(f.device.memory().usage().used_bytes, used);
    }

    // ---- resizing

    void blocks_areTakenOnTheDeviceFirst() {
        Fixture f(KvRoom{2, 3});
        KvSequence a(f.cache, 1000);
        f.write(a, 4 * kKvBlockTokens, 1.0f);
        QVERIFY(!f.inHost(a, 0) && !f.inHost(a, 1) && f.inHost(a, 2) && f.inHost(a, 3));
        QCOMPARE(f.pool.n_held_in_host(), 2);
        QVERIFY(f.holds(a, 3 * kKvBlockTokens, 1.0f));
        KvSequence b = a.fork();
        b.truncate(2 * kKvBlockTokens + 1);
        f.write(b, 1, 30.0f);  // parts inside a block in RAM
        QVERIFY(f.holds(b, 2 * kKvBlockTokens, 1.0f) && f.holds(b, 2 * kKvBlockTokens + 1, 30.0f));
        QVERIFY(f.holds(a, 2 * kKvBlockTokens + 1, 1.0f));
    }

    void resize_movesWhatMustAndGivesMemoryBack() {
        Fixture f(6);
        KvSequence a(f.cache, 1000);
        for (int block = 0; block < 5; ++block) f.write(a, kKvBlockTokens, static_cast<float>(100 * block));
        const std::vector<std::int32_t> numbers(a.table(0).blocks.begin(), a.table(0).blocks.end());
        for (const KvRoom room : {KvRoom{2, 3}, {0, 7}, {4, 1}, {5, 0}, {5, 4}, {1, 4}, {9, 0}}) {
            f.pool.resize(room);
            QVERIFY(f.pool.room() == room);
            QVERIFY(f.usesWhatItsRoomSays());
            QCOMPARE(f.pool.n_free(), room.n_blocks() - 5);
            QCOMPARE(f.pool.n_held_in_host(), std::max<std::int64_t>(0, 5 - room.device_blocks));
            QVERIFY(std::equal(numbers.begin(), numbers.end(), a.table(0).blocks.begin(), a.table(0).blocks.end()));
            for (int block = 0; block < 5; ++block) {
                for (const std::int64_t t : {std::int64_t{0}, kKvBlockTokens - 1}) {
                    QVERIFY(f.holds(a, block * kKvBlockTokens + t, static_cast<float>(100 * block)));
                }
            }
        }
    }

    void newestBlocksLeaveTheDevice_sharedOnesLast() {
        Fixture f(6);
        KvSequence a(f.cache, 1000);
        f.write(a, 2 * kKvBlockTokens, 1.0f);
        KvSequence b(f.cache, 1000);
        f.write(b, 2 * kKvBlockTokens, 2.0f);
        KvSequence c = b.fork();
        f.pool.resize({3, 3});
        QVERIFY(!f.inHost(a, 0) && f.inHost(a, 1) && !f.inHost(b, 0) && !f.inHost(b, 1));
        f.pool.resize({2, 3});
        QVERIFY(f.inHost(a, 0) && f.inHost(a, 1) && !f.inHost(b, 0) && !f.inHost(b, 1));
        // Shared blocks in RAM are exchanged for unshared ones.
        KvSequence d = a.fork();
        KvSequence e = a.fork();
        f.pool.resize(f.pool.room());
        QVERIFY(!f.inHost(a, 0) && !f.inHost(a, 1) && f.inHost(b, 0) && f.inHost(b, 1));
        QVERIFY(f.holds(a, kKvBlockTokens, 1.0f) && f.holds(c, kKvBlockTokens, 2.0f));
    }

    void oldestBlocksLeaveTheDevice_underASlidingWindow() {
        Fixture f(KvRoom{4, 0}, 200);
        KvSequence a(f.cache, 1000);
        f.write(a, 4 * kKvBlockTokens, 1.0f);
        f.pool.resize({2, 2});
        QVERIFY(f.inHost(a, 0) && f.inHost(a, 1) && !f.inHost(a, 2) && !f.inHost(a, 3));
    }

    void blocksTakenInRam_moveUpWhenTheDeviceHasRoomAgain() {
        Fixture f(KvRoom{2, 2});
        KvSequence a(f.cache, 1000);
        f.write(a, 2 * kKvBlockTokens, 1.0f);
        KvSequence b(f.cache, 1000);
        f.write(b, 2 * kKvBlockTokens, 2.0f);
        QCOMPARE(f.pool.n_held_in_host(), 2);
        a.clear();
        f.pool.resize(f.pool.room());
        QCOMPARE(f.pool.n_held_in_host(), 0);
        QVERIFY(f.holds(b, 0, 2.0f) && f.holds(b, 2 * kKvBlockTokens - 1, 2.0f));
    }

    void resize_belowWhatIsHeld_isRefused() {
        Fixture f(KvRoom{3, 1});
        KvSequence a(f.cache, 1000);
        f.write(a, 2 * kKvBlockTokens + 1, 1.0f);
        QString text;
        QVERIFY(refusal(f.pool, {1, 1}, &text) == ErrorKind::kInvalidInput);
        QVERIFY2(text.contains("128 tokens") && text.contains("192 are in use"), qPrintable(text));
        QVERIFY(refusal(f.pool, {-1, 9}) == ErrorKind::kInvalidInput);
        QVERIFY((f.pool.room() == KvRoom{3, 1}) && f.usesWhatItsRoomSays());
        a.truncate(2 * kKvBlockTokens);
        f.pool.resize({1, 1});
        QVERIFY(f.holds(a, 2 * kKvBlockTokens - 1, 1.0f));

        a.set_capacity(2 * kKvBlockTokens);
        QCOMPARE(a.capacity(), 2 * kKvBlockTokens);
        QVERIFY_THROWS_EXCEPTION(Error, a.set_capacity(2 * kKvBlockTokens - 1));
        QCOMPARE(a.capacity(), 2 * kKvBlockTokens);
    }

    // After any failure, everything is unchanged, and the same call works afterwards.
    void resizeFails_leavesEverythingAsItWas_data() {
        QTest::addColumn<QString>("what");
        QTest::newRow("device memory") << QStringLiteral("device");
        QTest::newRow("RAM") << QStringLiteral("ram");
        QTest::newRow("copies") << QStringLiteral("copy");
    }
    void resizeFails_leavesEverythingAsItWas() {
        QFETCH(QString, what);
        const KvRoom before{4, 2};
        const KvRoom targets[] = {{7, 4}, {1, 5}, {8, 0}};
        int n_failed = 0;
        for (const KvRoom target : targets) {
            for (int n = 1; n < 20; ++n) {
                Fixture f(before);
                KvSequence a(f.cache, 1000);
                for (int block = 0; block < 6; ++block) f.write(a, kKvBlockTokens, static_cast<float>(100 * block));
                const auto fail = [&](int nth) {
                    if (what == QStringLiteral("device")) f.device.memory().fail_allocation(nth);
                    if (what == QStringLiteral("ram")) f.ram.fail_allocation(nth);
                    if (what == QStringLiteral("copy")) f.device.fail_copy(nth);
                };
                fail(n);
                const ErrorKind kind = refusal(f.pool, target);
                fail(0);
                const bool copying = !f.device.ok();
                f.device.clear_failure();
                const bool failed = kind != ErrorKind::kInternal;
                if (failed) {
                    QVERIFY(kind == (copying ? ErrorKind::kDevice : ErrorKind::kOutOfMemory));
                    QVERIFY(f.pool.room() == before);
                    QCOMPARE(f.pool.n_held_in_host(), 2);
                }
                QVERIFY(f.usesWhatItsRoomSays());
                for (int again = 0; again < 2; ++again) {
                    for (int block = 0; block < 6; ++block) {
                        QVERIFY(f.holds(a, (block + 1) * kKvBlockTokens - 1, static_cast<float>(100 * block)));
                    }
                    f.pool.resize(target);
                    QVERIFY(f.pool.room() == target && f.usesWhatItsRoomSays());
                }
                QCOMPARE(f.pool.n_held_in_host(), std::max<std::int64_t>(0, 6 - target.device_blocks));
                n_failed += failed;
                if (!failed && !copying) break;
                QVERIFY(n < 19);
            }
        }
        QVERIFY(n_failed >= 3);
    }

    void anyResizesBetweenForksAndEnds_loseNoToken_data() {
        QTest::addColumn<int>("most");  // blocks at a time; 0: all
        QTest::newRow("at once") << 0;
        QTest::newRow("a block at a time, rooms given up half way") << 1;
        QTest::newRow("some blocks at a time, rooms given up half way") << 4;
    }
    void anyResizesBetweenForksAndEnds_loseNoToken() {
        QFETCH(int, most);
        Fixture f(KvRoom{20, 10});
        std::mt19937 random(5);
        const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
        struct Told {
            KvSequence sequence;
            std::vector<float> values;  // of each token
        };
        std::vector<Told> live;
        live.push_back({KvSequence(f.cache, 4096), {}});
        int n_resized = 0;
        for (int i = 0; i < 600; ++i) {
            Told& told = live[static_cast<std::size_t>(below(static_cast<std::uint32_t>(live.size())))];
            switch (below(5)) {
                case 0:
                    if (live.size() < 6) live.push_back({told.sequence.fork(), told.values});
                    break;
                case 1:
                    told.sequence.truncate(told.sequence.size() / 2);
                    told.values.resize(static_cast<std::size_t>(told.sequence.size()));
                    break;
                case 2: {
                    const std::int64_t n = 1 + below(200);
                    if (!told.sequence.prepare(n, f.device)) break;
                    f.write(told.sequence, n, static_cast<float>(i));
                    told.values.resize(static_cast<std::size_t>(told.sequence.size()), static_cast<float>(i));
                    break;
                }
                default: {
                    const std::int64_t held = f.pool.n_blocks() - f.pool.n_free();
                    const KvRoom room{below(25), below(25)};
                    ErrorKind kind = ErrorKind::kInternal;
                    bool reached = most == 0;
                    if (most == 0) kind = refusal(f.pool, room);
                    for (auto calls = most == 0 ? 0 : below(30); calls >= 0 && !reached && most > 0; --calls) {
                        const KvRoom was = f.pool.room();
                        const std::int64_t in_host = f.pool.n_held_in_host();
                        try {
                            reached = f.pool.approach(room, most);
                        } catch (const Error& error) {
                            kind = error.kind();
                            break;
                        }
                        QVERIFY(std::abs(f.pool.room().device_blocks - was.device_blocks) <= most &&
                                std::abs(f.pool.room().host_blocks - was.host_blocks) <= most &&
                                std::abs(f.pool.n_held_in_host() - in_host) <= most && f.usesWhatItsRoomSays());
                    }
                    QVERIFY((kind == ErrorKind::kInvalidInput) == (held > room.n_blocks()));
                    QVERIFY(f.usesWhatItsRoomSays());
                    if (kind != ErrorKind::kInternal || !reached) break;
                    QVERIFY(f.pool.room() == room);
                    QCOMPARE(f.pool.n_held_in_host(), std::max<std::int64_t>(0, held - room.device_blocks));
                    ++n_resized;
                }
            }
            for (const Told& each : live) {
                for (std::int64_t t = 0; t < each.sequence.size(); t += 23) {
                    QVERIFY(f.holds(each.sequence, t, each.values[static_cast<std::size_t>(t)]));
                }
            }
        }
        QVERIFY(n_resized > (most == 1 ? 20 : 50));
    }

    void retype_keepsWhatSequencesHold() {
        using kernels::KvType;
        Fixture f(KvRoom{3, 3});
        KvSequence a(f.cache, 1000);
        f.write(a, kKvBlockTokens + 5, 1.0f / 3);
        KvSequence b = a.fork();
        f.write(b, 200, 2.7f);  // b's last blocks lie in RAM
        QVERIFY(f.inHost(b, 4));
        const auto row_of = [&](const KvSequence& sequence, std::int64_t token) {
            const kernels::KvShape& shape = f.pool.shape();
            const KvBlock block = f.pool.block(sequence.table(0).at(token / kKvBlockTokens));
            std::vector<float> row(4);
            kernels::load_kv_row(block.data + shape.values_offset(1, 1) + token % kKvBlockTokens * shape.value_stride(),
                                 4, shape.type, row.data());
            return row;
        };
        const std::vector<float> first = row_of(a, 7), shared = row_of(b, 7), last = row_of(b, 210);
        QVERIFY(first == shared);
        for (const KvType type : {KvType::kBf16, KvType::kInt8, KvType::kF32}) {
            const auto rounded = [&](const std::vector<float>& row) {
                std::vector<std::byte> bytes(static_cast<std::size_t>(kernels::kv_row_bytes(type, 4)));
                std::vector<float> result(4);
                kernels::store_kv_row(row.data(), 4, type, bytes.data());
                kernels::load_kv_row(bytes.data(), 4, type, result.data());
                return result;
            };
            const std::vector<float> want = rounded(row_of(a, 7)), want_last = rounded(row_of(b, 210));
            f.pool.retype(type);
            QCOMPARE(f.pool.shape().type, type);
            QVERIFY(row_of(a, 7) == want);
            QVERIFY(row_of(b, 7) == want);
            QVERIFY(row_of(b, 210) == want_last);
            QCOMPARE(f.pool.n_free(), 0);
            QCOMPARE(f.pool.n_blocks(), 6);  // two of a, of which b parted from the second; four more of b
            QCOMPARE(f.used(f.device.memory()) + f.used(f.ram),
                     static_cast<std::uint64_t>(6 * f.pool.shape().block_bytes()));
            f.pool.resize({4, 6});
            QCOMPARE(f.pool.n_free(), 4);
            f.write(b, 0, 0);
        }
    }

    void retype_withoutMemory_changesNothing() {
        using kernels::KvType;
        Fixture f(KvRoom{4, 0});
        KvSequence a(f.cache, 1000);
        f.write(a, 4 * kKvBlockTokens, 1.5f);
        f.pool.retype(KvType::kInt8);
        const std::uint64_t used = f.device.memory().usage().used_bytes;
        f.device.memory().set_budget(used + 2 * static_cast<std::uint64_t>(kSmall.block_bytes()));
        // Two blocks of float32 fit in the remaining room, the third does not.
        try {
            f.pool.retype(KvType::kF32);
            QFAIL("it fitted");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
        }
        QCOMPARE(f.pool.shape().type, KvType::kInt8);
        QCOMPARE(f.device.memory().usage().used_bytes, used);
        f.device.memory().set_budget(kBudget);
        f.pool.retype(KvType::kF32);
        for (std::int64_t t = 0; t < a.size(); ++t) {
            const float got = f.at(a, 0, 0, 0, t);
            QVERIFY2(std::abs(got - 1.5f) < 0.01f, qPrintable(QString::number(got)));
        }
    }

    // 10,000 bytes a microsecond over the bus, 50,000 in the device's memory.
    void blocksInRam_areAccountedOverTheBus() {
        Fixture f(KvRoom{1, 3});
        const kernels::AttentionShape shape{.n_heads = 2, .n_kv_heads = 2, .key_dim = 4, .value_dim = 4, .scale = 0.5f};
        KvSequence a(f.cache, 1000);
        f.write(a, 4 * kKvBlockTokens, 1.0f);
        std::vector<std::byte*> table;
        std::vector<std::uint8_t> in_host;
        for (const std::int32_t number : a.table(0).blocks) {
            table.push_back(f.pool.block(number).data);
            in_host.push_back(f.pool.block(number).in_host ? 1 : 0);
        }
        QCOMPARE(std::accumulate(in_host.begin(), in_host.end(), 0), 3);
        std::vector<float> qkv(24, 0.5f), out(8);
        const auto microseconds = [&](std::int64_t window, bool told) {
            kernels::AttentionShape windowed = shape;
            windowed.window = window;
            AttentionSegment segment{0, 1, 4 * kKvBlockTokens - 1, table, table.data(), {}};
            if (told) segment.in_host = in_host;
            const DeviceEvent begin = f.device.record(DeviceEvent::Queue::kCompute);
            f.device.submit(
                ops::Attend{0, windowed, {&segment, 1}, qkv.data(), windowed.qkv_width(), f.pool.shape(), out.data()});
            const DeviceEvent end = f.device.record(DeviceEvent::Queue::kCompute);
            f.device.host_wait(end);
            return f.device.elapsed_us(begin, end);
        };
        // A key and its value are 2 heads * 4 dimensions * 4 bytes each.
        const double key_bytes = 64;
        const auto are_close = [](double got, double want) { return std::abs(got - want) < 1e-6; };
        const double over_bus = static_cast<double>(3 * kKvBlockTokens) * key_bytes / 10'000;
        const double in_memory = (static_cast<double>(4 * kKvBlockTokens) * key_bytes + 64) / 50'000;
        QVERIFY(are_close(microseconds(0, true) - microseconds(0, false), over_bus - in_memory));
        // The window's ten keys are in the last block, which is in RAM.
        QVERIFY(are_close(microseconds(10, true) - microseconds(10, false),
                          10 * key_bytes / 10'000 - (10 * key_bytes + 64) / 50'000));
    }
};

QTEST_GUILESS_MAIN(TestKvPool)
#include "tst_kv_pool.moc"
