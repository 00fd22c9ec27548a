// KV blocks in page-locked RAM, by the CUDA of threads: which thread locks and unlocks
// their pages, and what is left where the system refuses that.

#include <algorithm>
#include <cstring>
#include <thread>

#include <QtTest>

#include "engine/device/cuda_backend.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"
#include "engine/run/kv_cache.h"
#include "kernels/cpu_kernels.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/engine/kv_refusal.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

namespace {

constexpr kernels::KvShape kSmall = {.n_layers = 2, .n_kv_heads = 2, .key_dim = 4, .value_dim = 4};
constexpr std::uint64_t kBudget = std::uint64_t{1} << 26;
constexpr std::uint64_t kDeviceBytes = std::uint64_t{64} << 20;

int calls(const char* function) {
    return cuda_host::calls_of(function);
}

int here(const char* function) {
    return cuda_host::calls_of(function, std::this_thread::get_id());
}

struct LockingCache {
    std::unique_ptr<Backend> device = make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, kDeviceBytes);
    HostMemory source;
    Arena ram{"RAM", source, kBudget};
    KvCache cache;
    KvPool& pool = cache.pool(0);

    explicit LockingCache(KvRoom room) : cache({{{kSmall, 0}}, {}, {}, {}, {}, {}}, {&room, 1}, *device, ram) {
        device->host_wait(device->record(DeviceEvent::Queue::kCompute));  // its memory is there
    }
    std::uint64_t used() const { return ram.usage().by_use[static_cast<std::size_t>(MemoryUse::kKvCache)]; }
};

}  // namespace

class TestKvLocking : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void pinningRefused_isNoRoom() {
        cuda_host::reset();
        {
            const auto device = make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, kDeviceBytes);
            HostMemory source;
            Arena ram("RAM", source, kBudget);
            KvPool pool({kSmall, 0}, {2, 0}, *device, ram);  // on its own it waits for no other thread
            for (const char* function : {"cudaHostRegister", "cudaHostGetDevicePointer"}) {
                cuda_host::fail_call(function, 2);
                QVERIFY(refusal(pool, {2, 3}) == ErrorKind::kOutOfMemory);
                QVERIFY((pool.room() == KvRoom{2, 0}));
                QCOMPARE(ram.usage().used_bytes, std::uint64_t{0});
            }
            pool.resize({0, 3});
            QVERIFY(device->ok());
        }
        QVERIFY(cuda_host::problems().empty());  // nothing stays pinned or allocated
    }

    // While tokens are made no page is locked or unlocked on their thread.
    void approach_locksPagesOnAnotherThread() {
        cuda_host::reset();
        {
            LockingCache f({4, 0});
            const int of_device = here("cudaHostRegister");  // its own
            const auto block_bytes = static_cast<std::uint64_t>(kSmall.block_bytes());
            const auto approach = [&](KvRoom room) { return f.cache.approach({&room, 1}, 3 * block_bytes); };
            const auto reach = [&](KvRoom room) {
                int n = 1;
                for (; !approach(room); ++n) f.cache.wait_for_memory();
                return n;
            };
            const auto blocks_in_ram = [&] { return f.used() / block_bytes; };
            std::vector<std::int32_t> held;
            for (int i = 0; i < 4; ++i) {
                held.push_back(f.pool.take());
                std::memset(f.pool.block(held.back()).data, 10 + i, static_cast<std::size_t>(block_bytes));
            }
            const auto keep_theirs = [&] {
                for (int i = 0; i < 4; ++i) {
                    const std::byte* const data = f.pool.block(held[static_cast<std::size_t>(i)]).data;
                    const auto is = [&](std::byte value) { return value == static_cast<std::byte>(10 + i); };
                    if (!std::all_of(data, data + block_bytes, is)) return false;
                }
                return true;
            };

            QVERIFY(reach({1, 7}) >= 3);  // pieces
            QVERIFY((f.pool.room() == KvRoom{1, 7}) && blocks_in_ram() == 7);
            QCOMPARE(f.pool.n_held_in_host(), 3);
            QVERIFY(keep_theirs());
            QCOMPARE(calls("cudaHostRegister") - of_device, 7);
            // Another room while some are being locked; and one that is given up.
            QVERIFY(!approach({1, 12}));
            QCOMPARE(blocks_in_ram(), std::uint64_t{10});
            reach({2, 5});
            QVERIFY((f.pool.room() == KvRoom{2, 5}) && blocks_in_ram() == 5);
            QVERIFY(!approach({2, 12}));
            f.cache.drop_prepared();
            QCOMPARE(blocks_in_ram(), static_cast<std::uint64_t>(f.pool.room().host_blocks));
            reach({2, 5});
            // A refusal by the system changes nothing.
            cuda_host::fail_call("cudaHostRegister", 2);
            ErrorKind refused = ErrorKind::kInternal;
            try {
                reach({2, 8});
            } catch (const Error& error) {
                refused = error.kind();
            }
            f.cache.wait_for_memory();
            QVERIFY(refused == ErrorKind::kOutOfMemory);
            QVERIFY((f.pool.room() == KvRoom{2, 5}) && blocks_in_ram() == 5);
            // Memory that is on its way back is waited for.
            f.ram.set_budget(5 * block_bytes);
            approach({3, 4});
            reach({2, 5});
            QCOMPARE(blocks_in_ram(), std::uint64_t{5});
            QVERIFY(keep_theirs());
            QCOMPARE(here("cudaHostRegister") + here("cudaHostUnregister"), of_device);
            QVERIFY(calls("cudaHostUnregister") > 0);
            for (const std::int32_t block : held) f.pool.drop(block);
            QVERIFY(f.device->ok());
        }
        QVERIFY(cuda_host::problems().empty());
    }

    // RAM for a change of the type is locked on another thread: before the change, as far
    // as there is room for it beside the old blocks, and the rest during it.
    void retype_locksPagesOnAnotherThread_data() {
        QTest::addColumn<int>("room");  // for blocks in RAM, beside those that are held there
        QTest::addColumn<bool>("prepared");
        QTest::newRow("before") << 100 << true;
        QTest::newRow("a part of it before") << 2 << true;
        QTest::newRow("during it") << 100 << false;
    }
    void retype_locksPagesOnAnotherThread() {
        using kernels::KvType;
        QFETCH(int, room);
        QFETCH(bool, prepared);
        cuda_host::reset();
        {
            LockingCache f({1, 4});
            const int of_device = here("cudaHostRegister");  // its own
            std::vector<std::int32_t> held;
            for (int i = 0; i < 4; ++i) {
                held.push_back(f.pool.take());
                auto* const values = reinterpret_cast<float*>(f.pool.block(held.back()).data);
                std::fill_n(values, f.pool.shape().block_bytes() / 4, static_cast<float>(10 + i));
            }
            KvRoom next{1, 6};
            const auto prepare = [&] { return f.cache.prepare_retype(KvType::kBf16, {&next, 1}); };
            f.ram.set_budget(f.ram.usage().used_bytes + static_cast<std::uint64_t>(room * kSmall.block_bytes() / 2));
            int locked = calls("cudaHostRegister");
            if (prepared) {
                // Memory locked for another plan is released.
                (void)prepare();
                f.cache.drop_prepared();
                f.cache.wait_for_memory();
                QCOMPARE(f.used(), static_cast<std::uint64_t>(4 * kSmall.block_bytes()));
                locked = calls("cudaHostRegister");
                while (!prepare()) f.cache.wait_for_memory();
                QCOMPARE(calls("cudaHostRegister") - locked, std::min(room, 6));
            }
            f.cache.retype(KvType::kBf16);
            f.ram.set_budget(kBudget);
            f.cache.resize({&next, 1});
            QVERIFY((f.pool.room() == next));
            QCOMPARE(f.used(), static_cast<std::uint64_t>(6 * f.pool.shape().block_bytes()));
            QCOMPARE(calls("cudaHostRegister") - locked, 6);
            QCOMPARE(here("cudaHostRegister") + here("cudaHostUnregister"), of_device);
            for (int i = 0; i < 4; ++i) {
                std::vector<float> row(4);
                kernels::load_kv_row(f.pool.block(held[static_cast<std::size_t>(i)]).data, 4, KvType::kBf16,
                                     row.data());
                QVERIFY(row == std::vector<float>(4, static_cast<float>(10 + i)));
            }
            // A refusal by the system leaves nothing behind.
            cuda_host::fail_call("cudaHostRegister", 2);
            QVERIFY_THROWS_EXCEPTION(
                Error, while (!f.cache.prepare_retype(KvType::kF32, {&next, 1})) f.cache.wait_for_memory());
            f.cache.wait_for_memory();
            QCOMPARE(f.used(), static_cast<std::uint64_t>(6 * f.pool.shape().block_bytes()));
            for (const std::int32_t block : held) f.pool.drop(block);
            QVERIFY(f.device->ok());
        }
        QVERIFY(cuda_host::problems().empty());
    }
};

QTEST_GUILESS_MAIN(TestKvLocking)
#include "tst_kv_locking.moc"
