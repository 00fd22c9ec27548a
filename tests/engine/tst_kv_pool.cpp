// KV blocks: shared by forks, parted on writing, given back.

#include <cstring>
#include <numeric>
#include <random>

#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/run/kv_pool.h"

using namespace offstage::engine;
namespace kernels = offstage::kernels;
using kernels::kKvBlockTokens;

namespace {

ModelConfig smallConfig() {
    ModelConfig c;
    c.n_layers = 2;
    c.n_kv_heads = 2;
    c.head_dim = 4;
    return c;
}

struct Fixture {
    kernels::ThreadPool threads{1};
    CpuBackend device{threads, kernels::GemmMode::kF32, std::uint64_t{1} << 26};
    ModelConfig config = smallConfig();
    KvPool pool;

    explicit Fixture(std::int64_t context, std::int64_t spare = 0) : pool(config, context, spare, device) {}

    float& at(const KvSequence& sequence, std::int64_t layer, std::int64_t part, std::int64_t head,
              std::int64_t token) {
        const std::int32_t block = sequence.blocks()[static_cast<std::size_t>(token / kKvBlockTokens)];
        const std::int64_t slot = block * kKvBlockTokens + token % kKvBlockTokens;
        return pool.view().part(layer, part, head)[slot * config.head_dim];
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
};

}  // namespace

class TestKvPool : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void pool_roundsUpToBlocks() {
        Fixture f(kKvBlockTokens + 1, 3);
        QCOMPARE(f.pool.n_blocks(), 5);
        QCOMPARE(f.pool.n_free(), 5);
        QCOMPARE(f.device.memory().usage().by_use[static_cast<std::size_t>(MemoryUse::kKvCache)],
                 KvPool::bytes_per_token(f.config) * static_cast<std::uint64_t>(5 * kKvBlockTokens));
    }

    void fork_sharesEveryBlockAndCopiesNothing() {
        Fixture f(10 * kKvBlockTokens);
        KvSequence a(f.pool, 640);
        f.write(a, 3 * kKvBlockTokens + 5, 1.0f);
        const std::int64_t free_before = f.pool.n_free();
        KvSequence b = a.fork();
        QCOMPARE(f.pool.n_free(), free_before);
        QCOMPARE(b.size(), a.size());
        QVERIFY(std::equal(a.blocks().begin(), a.blocks().end(), b.blocks().begin(), b.blocks().end()));
    }

    void writeAfterFork_partsTheLastBlockAlone() {
        Fixture f(10 * kKvBlockTokens);
        KvSequence a(f.pool, 640);
        f.write(a, kKvBlockTokens + 5, 1.0f);
        KvSequence b = a.fork();
        f.write(b, 1, 50.0f);
        f.write(a, 1, 90.0f);
        QCOMPARE(a.blocks()[0], b.blocks()[0]);
        QVERIFY(a.blocks()[1] != b.blocks()[1]);
        const std::int64_t last = kKvBlockTokens + 5;
        for (std::int64_t l = 0; l < 2; ++l) {
            QCOMPARE(f.at(a, l, 0, 1, last), 90.0f + static_cast<float>(l * 4 + 1));
            QCOMPARE(f.at(b, l, 0, 1, last), 50.0f + static_cast<float>(l * 4 + 1));
            for (std::int64_t t = 0; t < last; ++t) {
                QCOMPARE(f.at(a, l, 1, 0, t), 1.0f + static_cast<float>(l * 4 + 2));
                QCOMPARE(f.at(b, l, 1, 0, t), 1.0f + static_cast<float>(l * 4 + 2));
            }
        }
        // The one who stayed alone with the old block keeps it: nothing was copied for it.
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks() - 3);
    }

    void prepare_withoutFreeBlocks_changesNothing() {
        Fixture f(2 * kKvBlockTokens);
        KvSequence a(f.pool, 1000);
        f.write(a, kKvBlockTokens + 1, 1.0f);
        KvSequence b = a.fork();
        QVERIFY(!b.prepare(1, f.device));  // its last block is shared, and there is no other
        QCOMPARE(b.size(), a.size());
        QVERIFY(!a.prepare(kKvBlockTokens, f.device));
        b.clear();
        QVERIFY(a.prepare(1, f.device));
    }

    void truncateIntoASharedBlock_partsBeforeWriting() {
        Fixture f(8 * kKvBlockTokens);
        KvSequence a(f.pool, 512);
        f.write(a, 2 * kKvBlockTokens, 1.0f);
        KvSequence b = a.fork();
        b.truncate(kKvBlockTokens / 2);
        f.write(b, 1, 70.0f);
        QCOMPARE(f.at(a, 0, 0, 0, kKvBlockTokens / 2), 1.0f);
        QCOMPARE(f.at(b, 0, 0, 0, kKvBlockTokens / 2), 70.0f);
        QCOMPARE(f.at(b, 0, 0, 0, kKvBlockTokens / 2 - 1), 1.0f);
    }

    void anyOrderOfForksAndEnds_givesEveryBlockBack() {
        Fixture f(64 * kKvBlockTokens);
        std::mt19937 random(3);
        std::vector<KvSequence> live;
        live.emplace_back(f.pool, 4096);
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
                QVERIFY(static_cast<std::int64_t>(sequence.blocks().size()) * kKvBlockTokens >= sequence.size());
                for (const std::int32_t block : sequence.blocks()) ++references[static_cast<std::size_t>(block)];
            }
            const auto used = std::count_if(references.begin(), references.end(), [](int n) { return n > 0; });
            QCOMPARE(f.pool.n_free(), f.pool.n_blocks() - used);
        }
        live.clear();
        QCOMPARE(f.pool.n_free(), f.pool.n_blocks());
    }
};

QTEST_GUILESS_MAIN(TestKvPool)
#include "tst_kv_pool.moc"
