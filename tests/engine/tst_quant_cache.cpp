#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <QDirIterator>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/quant/quant_cache.h"
#include "tests/fuzz/quant_files.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::WeightType;
namespace fs = std::filesystem;

namespace {

QuantKey keyOf(std::uint64_t source, std::int64_t rows = 48) {
    return {{source, ~source}, WeightType::kHqq3, rows, 192};
}

std::vector<std::byte> blockOf(const QuantKey& key) {
    std::vector<std::byte> block(key.block_bytes());
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>((i * 7 + key.source.high) & 0xffu);
    return block;
}

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

// A file system of 100 GiB, of which other files take all but `left_bytes`; the cache's
// files take their part of those.
class TestDisk {
  public:
    explicit TestDisk(std::uint64_t left_bytes) : left_bytes_(left_bytes) {}

    // The space beyond the reserve.
    static TestDisk beyondTheReserve(std::uint64_t bytes) { return TestDisk(5 * kGib + bytes); }
    void set_left(std::uint64_t bytes) { left_bytes_ = bytes; }
    DiskSpace look(const fs::path& folder) const {
        std::uint64_t kept = 0;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder, none)) kept += entry.file_size();
        return {100 * kGib, left_bytes_ - std::min(left_bytes_, kept)};
    }

  private:
    std::uint64_t left_bytes_;
};

class TestCache {
  public:
    explicit TestCache(std::uint64_t budget = QuantCache::kDefaultBudget, TestDisk* disk = nullptr)
        : cache(fs::path(folder.path().toStdString()) / "new" / "quantized", budget, spaceOf(disk)) {}

    // Without a disk to examine there is plenty of room, however full this machine's disk
    // is.
    static DiskSpaceFn spaceOf(TestDisk* disk) {
        if (disk == nullptr) return [](const fs::path&) { return DiskSpace{1000 * kGib, 900 * kGib}; };
        return [disk](const fs::path& folder) { return disk->look(folder); };
    }

    bool store(const QuantKey& key) { return cache.store(key, blockOf(key), {1.5, 100.0}, pool); }
    bool has(const QuantKey& key) {
        std::vector<std::byte> block(key.block_bytes());
        QuantError error;
        return cache.load(key, block, error, pool) && block == blockOf(key) && error.squared == 1.5 &&
               error.weights == 100.0;
    }
    fs::path fileOf(const QuantKey& key) const { return cache.directory() / key.file_name(); }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(cache.directory())) {
            if (entry.path().filename() != "lock") names.push_back(entry.path().filename().string());
        }
        return names;
    }

    QTemporaryDir folder;
    kernels::ThreadPool pool{2};
    QuantCache cache;
};

void setAge(const fs::path& file, int minutes) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
}

}  // namespace

class TestQuantCache : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { qunsetenv("OFFSTAGE_DISK_RESERVE"); }

    void fingerprint_changesWithEveryByte_andWithTheLength() {
        std::vector<std::byte> bytes(3000, std::byte{0});
        kernels::ThreadPool pool(3);
        std::vector<Fingerprint> seen;
        for (std::size_t n = 0; n <= 130; ++n) seen.push_back(fingerprint_of(std::span(bytes).first(n)));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            for (const unsigned bit : {1u, 128u}) {
                bytes[i] ^= static_cast<std::byte>(bit);
                seen.push_back(fingerprint_of(bytes));
                bytes[i] ^= static_cast<std::byte>(bit);
            }
        }
        const std::size_t n = seen.size();
        std::sort(seen.begin(), seen.end());
        QCOMPARE(static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin()), n);
        // Each half alone distinguishes them.
        std::vector<std::uint64_t> halves;
        for (const Fingerprint& f : seen) halves.push_back(f.low);
        std::sort(halves.begin(), halves.end());
        QVERIFY(std::unique(halves.begin(), halves.end()) == halves.end());

        std::vector<std::byte> large((std::size_t{5} << 20) + 77);
        for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i % 251);
        const Fingerprint once = fingerprint_of(large);
        QCOMPARE(fingerprint_of(large, pool), once);
        std::swap_ranges(large.begin(), large.begin() + (1 << 20), large.begin() + (1 << 20));
        QVERIFY(fingerprint_of(large) != once);
        // Stored copies outlive the program: the function must not change without a new
        // version of the cache.
        QCOMPARE(fingerprint_of(std::span(bytes).first(100)).text(), std::string("d203aedf661b02af4007cd0baf67cf80"));
    }

    void stored_isLoaded_byItsKeyAlone() {
        TestCache t;
        QVERIFY(!t.has(keyOf(1)));
        QVERIFY(t.store(keyOf(1)));
        QVERIFY(t.store(keyOf(1)));  // again: nothing doubles
        QVERIFY(t.has(keyOf(1)));
        QCOMPARE(t.files().size(), std::size_t{1});
        QCOMPARE(t.cache.bytes(), 128 + keyOf(1).block_bytes());
        QVERIFY(!t.has(keyOf(2)));
        QVERIFY(!t.has(keyOf(1, 49)));
        QuantKey other = keyOf(1);
        other.format = WeightType::kHqq4;
        QVERIFY(!t.has(other));
        QVERIFY(t.has(keyOf(1)));
    }

    void withoutAFolder_nothingIsKept() {
        kernels::ThreadPool pool(1);
        for (const char* where : {"", "/proc/none/quantized"}) {
            QuantCache cache(where);
            std::vector<std::byte> block = blockOf(keyOf(1));
            QuantError error;
            QVERIFY(!cache.store(keyOf(1), block, {}, pool));
            QVERIFY(!cache.load(keyOf(1), block, error, pool));
            QCOMPARE(cache.bytes(), std::uint64_t{0});
        }
    }

    void aDamagedFile_isAbsentAndRemoved_data() {
        QTest::addColumn<int>("position");  // of the changed byte; negative: cut to so many bytes less
        for (const int position : {0, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 95, 96, 111, 112, 127, 128, 1000}) {
            QTest::addRow("byte %d", position) << position;
        }
        for (const int cut : {1, 100, 1000000}) QTest::addRow("%d bytes less", cut) << -cut;
    }
    void aDamagedFile_isAbsentAndRemoved() {
        QFETCH(int, position);
        TestCache t;
        QVERIFY(t.store(keyOf(1)));
        QVERIFY(t.store(keyOf(2)));
        const fs::path file = t.fileOf(keyOf(1));
        const auto size = static_cast<std::int64_t>(fs::file_size(file));
        if (position < 0) {
            fs::resize_file(file, static_cast<std::uintmax_t>(std::max<std::int64_t>(0, size + position)));
        } else {
            QVERIFY(position < size);
            std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
            stream.seekg(position);
            const int byte = stream.get();
            stream.seekp(position);
            stream.put(static_cast<char>(byte ^ 4));
        }
        QVERIFY(!t.has(keyOf(1)));
        QVERIFY(!fs::exists(file));
        QVERIFY(t.has(keyOf(2)));
        QVERIFY(t.store(keyOf(1)));
        QVERIFY(t.has(keyOf(1)));
    }

    void anotherFileInItsPlace_isNotTrusted() {
        TestCache t;
        QVERIFY(t.store(keyOf(1)));
        fs::copy_file(t.fileOf(keyOf(1)), t.fileOf(keyOf(2)));
        QVERIFY(!t.has(keyOf(2)));
        fs::create_directory(t.fileOf(keyOf(3)));
        QVERIFY(!t.has(keyOf(3)));
        QVERIFY(!t.store(keyOf(3)));
        fs::create_symlink(t.fileOf(keyOf(1)), t.fileOf(keyOf(4)));
        QVERIFY(!t.has(keyOf(4)));
        QVERIFY(t.has(keyOf(1)));
        QCOMPARE(std::ranges::count_if(t.files(), [](const std::string& name) { return name[0] == '.'; }), 0);
    }

    void overTheBudget_oldestUseGoesFirst() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        TestCache t(10 * size);
        for (std::uint64_t i = 0; i < 8; ++i) {
            QVERIFY(t.store(keyOf(i)));
            setAge(t.fileOf(keyOf(i)), 100 - static_cast<int>(i));
        }
        QVERIFY(t.has(keyOf(0)));  // used now: the oldest is 1
        for (std::uint64_t i = 8; i < 40; ++i) {
            QVERIFY(t.store(keyOf(i)));
            QVERIFY2(t.cache.bytes() <= 10 * size, qPrintable(QString::number(t.cache.bytes() / size)));
            if (i < 12) QVERIFY(fs::exists(t.fileOf(keyOf(0))));
        }
        QVERIFY(!t.has(keyOf(1)));
        QVERIFY(t.has(keyOf(39)));
        QVERIFY(t.cache.bytes() >= 7 * size);
    }

    void aBlockBeyondTheBudget_isNotKept() {
        TestCache t(1000);
        QVERIFY(!t.store(keyOf(1)));
        QVERIFY(!t.has(keyOf(1)));
        QVERIFY(!fs::exists(t.cache.directory()) || t.files().empty());
    }

    void reserve_isATwentieth_withinBounds() {
        QCOMPARE((DiskSpace{8 * kGib, kGib}).reserve_bytes(), kGib);
        QCOMPARE((DiskSpace{20 * kGib, kGib}).reserve_bytes(), kGib);
        QCOMPARE((DiskSpace{40 * kGib, kGib}).reserve_bytes(), 2 * kGib);
        QCOMPARE((DiskSpace{4000 * kGib, kGib}).reserve_bytes(), 8 * kGib);
        QCOMPARE((DiskSpace{40 * kGib, 3 * kGib}).missing_bytes(), std::uint64_t{0});
        QCOMPARE((DiskSpace{40 * kGib, 3 * kGib}).missing_bytes(kGib), std::uint64_t{0});
        QCOMPARE((DiskSpace{40 * kGib, 3 * kGib}).missing_bytes(kGib + 7), std::uint64_t{7});
        QCOMPARE((DiskSpace{40 * kGib, kGib}).missing_bytes(5), kGib + 5);
        QCOMPARE((DiskSpace{40 * kGib, 0}).missing_bytes(5), 2 * kGib + 5);
    }

    void reserve_isWhatTheEnvironmentSays() {
        qputenv("OFFSTAGE_DISK_RESERVE", "3MiB");
        const auto back = qScopeGuard([] { qunsetenv("OFFSTAGE_DISK_RESERVE"); });
        QCOMPARE((DiskSpace{40 * kGib, kGib}).reserve_bytes(), std::uint64_t{3} << 20);
        qputenv("OFFSTAGE_DISK_RESERVE", "much");
        QVERIFY_EXCEPTION_THROWN(TestCache(1000).has(keyOf(1)), offstage::engine::Error);
    }

    void diskSpace_isOfTheNearestFolder() {
        const QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        const auto there = disk_space(path);
        QVERIFY(there && there->total_bytes >= there->free_bytes && there->total_bytes > 0);
        const auto below = disk_space(path / "not" / "there" / "yet");
        QVERIFY(below);
        QCOMPARE(below->total_bytes, there->total_bytes);
        QVERIFY(!disk_space(""));
        QVERIFY(!disk_space("/proc/self/status/x"));  // below a file
    }

    // If other files fill the disk meanwhile, cached blocks are removed for them: at the
    // next listing or load.
    void whatOthersNeed_oldestUseGoesFirst() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        TestDisk disk = TestDisk::beyondTheReserve(20 * size);
        TestCache t(QuantCache::kDefaultBudget, &disk);
        for (std::uint64_t i = 0; i < 10; ++i) {
            QVERIFY(t.store(keyOf(i)));
            setAge(t.fileOf(keyOf(i)), 100 - static_cast<int>(i));
        }
        QVERIFY(t.has(keyOf(0)));  // used now: the oldest is 1
        QVERIFY(t.cache.take_problem().empty());
        disk.set_left(5 * kGib + 8 * size - 1);  // three less than there are
        QVERIFY(t.has(keyOf(9)));
        QCOMPARE(t.files().size(), std::size_t{7});
        for (const std::uint64_t gone : {1, 2, 3}) QVERIFY(!fs::exists(t.fileOf(keyOf(gone))));
        QVERIFY(t.has(keyOf(0)));
        const std::string said = t.cache.take_problem().english();
        const std::string where = t.cache.directory().string();
        QVERIFY2(said.ends_with(" of quantized experts were removed from " + where +
                                ": 5.0 GiB were free there, and 5.0 GiB must stay free for other files."),
                 said.c_str());
        QVERIFY(t.cache.take_problem().empty());
        // At the start of the next program.
        disk.set_left(4 * kGib);
        QuantCache next(t.cache.directory(), QuantCache::kDefaultBudget, TestCache::spaceOf(&disk));
        next.keep_reserve();
        QVERIFY(t.files().empty());
        QVERIFY(next.take_problem().english().find("removed") != std::string::npos);
    }

    void aNewBlock_takesTheRoomOfUnusedOnes_neverTheReserve() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        constexpr int kDay = 24 * 60;
        TestDisk disk = TestDisk::beyondTheReserve(4 * size + size / 2);
        TestCache t(QuantCache::kDefaultBudget, &disk);
        for (std::uint64_t i = 0; i < 12; ++i) {
            QVERIFY(t.store(keyOf(i)));
            setAge(t.fileOf(keyOf(i)), kDay + 100 - static_cast<int>(i));
            QVERIFY(disk.look(t.cache.directory()).free_bytes >= 5 * kGib);
        }
        QCOMPARE(t.files().size(), std::size_t{4});
        for (std::uint64_t i = 8; i < 12; ++i) QVERIFY(t.has(keyOf(i)));
        // All are in use: none is removed for a new one, and the stored ones can be used
        // again.
        for (std::uint64_t i = 12; i < 20; ++i) QVERIFY(!t.store(keyOf(i)));
        for (std::uint64_t i = 8; i < 12; ++i) QVERIFY(t.has(keyOf(i)));
        setAge(t.fileOf(keyOf(9)), kDay + 1);
        QVERIFY(t.store(keyOf(20)));
        QVERIFY(!t.has(keyOf(9)));
        for (const std::uint64_t i : {8, 10, 11, 20}) QVERIFY(t.has(keyOf(i)));
    }

    void withoutRoomBesideTheReserve_nothingIsKept_saidOnce() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        TestDisk disk(3 * kGib);
        TestCache t(QuantCache::kDefaultBudget, &disk);
        QVERIFY(!t.store(keyOf(1)));
        QVERIFY(t.files().empty());
        QCOMPARE(t.cache.take_problem().english(),
                 "Quantized experts are not kept in " + t.cache.directory().string() +
                     ": 3.0 GiB are free there, and 5.0 GiB must stay free for other files.");
        for (std::uint64_t i = 0; i < 5; ++i) QVERIFY(!t.store(keyOf(i)));
        QVERIFY(t.cache.take_problem().empty());
        // There is room for a while.
        disk.set_left(5 * kGib + 3 * size);
        QVERIFY(t.store(keyOf(1)));
        QVERIFY(t.has(keyOf(1)));
        // A block that does not fit even without the others removes none of them.
        QVERIFY(!t.store(keyOf(2, 4 * 48)));
        QVERIFY(t.has(keyOf(1)));
        QVERIFY(!t.cache.take_problem().empty());
    }

    void whatIsBeingRead_isNotRemoved() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        TestDisk disk = TestDisk::beyondTheReserve(20 * size);
        TestCache t(4 * size, &disk);
        QVERIFY(t.store(keyOf(1)));
        QVERIFY(t.store(keyOf(2)));
        setAge(t.fileOf(keyOf(1)), 100);
        // Held like by another program's load().
        const int reader = ::open(t.fileOf(keyOf(1)).c_str(), O_RDONLY | O_CLOEXEC);
        QCOMPARE(flock(reader, LOCK_SH), 0);
        disk.set_left(kGib);
        t.cache.keep_reserve();
        QVERIFY(fs::exists(t.fileOf(keyOf(1))));
        QVERIFY(!fs::exists(t.fileOf(keyOf(2))));
        disk.set_left(100 * kGib);
        for (std::uint64_t i = 3; i < 20; ++i) QVERIFY(t.store(keyOf(i)));  // beyond the budget
        QVERIFY(fs::exists(t.fileOf(keyOf(1))));
        ::close(reader);
        disk.set_left(kGib);
        t.cache.keep_reserve();
        QVERIFY(t.files().empty());
    }

    // Like a full disk: writing stops in the middle of the file.
    void aFullDisk_keepsNothingAndLeavesNothing() {
        TestCache t;
        QVERIFY(t.store(keyOf(1)));
        const auto handler = signal(SIGXFSZ, SIG_IGN);
        rlimit old{};
        getrlimit(RLIMIT_FSIZE, &old);
        rlimit small = old;
        for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{128}, rlim_t{1000}}) {
            small.rlim_cur = bytes;
            setrlimit(RLIMIT_FSIZE, &small);
            const bool kept = t.store(keyOf(2));
            setrlimit(RLIMIT_FSIZE, &old);
            QVERIFY(!kept);
            QCOMPARE(t.files().size(), std::size_t{1});
        }
        signal(SIGXFSZ, handler);
        QVERIFY(t.has(keyOf(1)));
        QVERIFY(t.store(keyOf(2)));
    }

    void abandonedFiles_areRemoved_freshOnesLeft() {
        TestCache t(4 * (128 + keyOf(1).block_bytes()));
        QVERIFY(t.store(keyOf(1)));
        std::ofstream(t.cache.directory() / ".writing-old") << "x";
        std::ofstream(t.cache.directory() / ".writing-new") << "x";
        setAge(t.cache.directory() / ".writing-old", 120);
        QVERIFY(t.store(keyOf(2)));
        QVERIFY(!fs::exists(t.cache.directory() / ".writing-old"));
        QVERIFY(fs::exists(t.cache.directory() / ".writing-new"));
    }

    void manyThreadsAndTwoCaches_neverSeeHalfAFile() {
        const std::uint64_t size = 128 + keyOf(1).block_bytes();
        TestCache t(12 * size);
        std::atomic<int> wrong{0};
        std::atomic<int> found{0};
        std::vector<std::jthread> threads;
        for (int n = 0; n < 4; ++n) {
            threads.emplace_back([&, n] {
                kernels::ThreadPool pool(1);
                QuantCache other(t.cache.directory(), 12 * size, TestCache::spaceOf(nullptr));
                QuantCache& cache = n % 2 == 0 ? t.cache : other;
                for (std::uint64_t i = 0; i < 60; ++i) {
                    const QuantKey key = keyOf((i * 7 + static_cast<std::uint64_t>(n)) % 20);
                    std::vector<std::byte> block(key.block_bytes());
                    QuantError error;
                    if (cache.load(key, block, error, pool)) {
                        ++found;
                        if (block != blockOf(key)) ++wrong;
                    } else {
                        cache.store(key, blockOf(key), {1.5, 100.0}, pool);
                    }
                }
            });
        }
        threads.clear();
        QCOMPARE(wrong.load(), 0);
        QVERIFY(found > 0);
        QVERIFY(t.cache.bytes() <= 14 * size);
    }

    void storedInputs_keepTheReadersPromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/quant_file", QDir::Files);
        int n = 0;
        for (; files.hasNext(); ++n) {
            QFile file(files.next());
            QVERIFY(file.open(QFile::ReadOnly));
            const QByteArray bytes = file.readAll();
            const std::string broken = tests::check_quant_file(std::as_bytes(std::span(bytes.data(), bytes.size())));
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + ": " + QString::fromStdString(broken)));
        }
        QVERIFY(n > 0);
    }
};

QTEST_GUILESS_MAIN(TestQuantCache)
#include "tst_quant_cache.moc"
