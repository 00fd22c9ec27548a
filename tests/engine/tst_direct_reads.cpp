// Reads directly from the disk: the same bytes through io_uring and through threads,
// short reads, failures, and files that have changed.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/host_buffer.h"
#include "engine/files/direct_reads.h"

using namespace offstage::engine;

namespace {

constexpr std::size_t kPage = kDirectAlignment;

std::string someBytes(std::size_t n) {
    std::string bytes(n, '\0');
    std::uint32_t state = 1;
    for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    return bytes;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::size_t roundedUp(std::size_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

void submit(DirectReads& reads, const DirectRead& read) {
    reads.submit({&read, 1});
}

// Waits for this many results on this thread.
std::map<std::uint64_t, std::string> results(DirectReads& reads, int n) {
    std::map<std::uint64_t, std::string> found;
    for (int i = 0; i < n; ++i) {
        const auto result = reads.wait();
        if (result) found[result->id] = result->problem.english();
    }
    return found;
}

}  // namespace

class TestDirectReads : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path path(const char* name) const { return m_folder.filePath(name).toStdString(); }

  private Q_SLOTS:
    void reads_bringWhatTheFileHas_data() {
        QTest::addColumn<DirectReads::Kind>("kind");
        QTest::addColumn<QString>("folder");
        const auto row = [](const char* name, DirectReads::Kind kind, const QString& folder) {
            QTest::newRow(name) << kind << folder;
        };
        row("the best way", DirectReads::Kind::kBest, m_folder.path());
        row("threads", DirectReads::Kind::kThreads, m_folder.path());
        // A file system that keeps its files in memory.
        if (std::filesystem::is_directory("/dev/shm")) {
            row("the best way, in memory", DirectReads::Kind::kBest, QStringLiteral("/dev/shm"));
            row("threads, in memory", DirectReads::Kind::kThreads, QStringLiteral("/dev/shm"));
        }
    }
    void reads_bringWhatTheFileHas() {
        QFETCH(DirectReads::Kind, kind);
        QFETCH(QString, folder);
        QTemporaryDir own(folder + QStringLiteral("/offstage-XXXXXX"));
        if (!own.isValid()) QSKIP("no such folder");
        const std::string bytes = someBytes(37 * kPage + 123);  // the end is anywhere
        const std::filesystem::path file = own.filePath(QStringLiteral("file")).toStdString();
        write(file, bytes);
        const RegularFile regular(file);
        DirectFile direct(regular);
        constexpr int kDepth = 8;
        const auto reads = DirectReads::open(kind, kDepth);
        QVERIFY(kind == DirectReads::Kind::kBest || std::string_view(reads->name()) == "threads");
        HostBuffer memory(kDepth * 8 * kPage, "test");
        for (std::size_t round = 0; round < 5; ++round) {
            std::size_t offset[kDepth], size[kDepth];
            for (std::size_t i = 0; i < kDepth; ++i) {
                offset[i] = (round * 11 + i * 5) % 38 * kPage;
                size[i] = std::min((i % 8 + 1) * kPage, bytes.size() - offset[i]);
                submit(*reads, {&direct, offset[i], memory.data() + i * 8 * kPage, roundedUp(size[i]), size[i], i});
            }
            const auto found = results(*reads, kDepth);
            QCOMPARE(found.size(), std::size_t{kDepth});
            for (std::size_t i = 0; i < kDepth; ++i) {
                QCOMPARE(found.at(i), std::string());
                QVERIFY(std::memcmp(memory.data() + i * 8 * kPage, bytes.data() + offset[i], size[i]) == 0);
            }
        }
    }

    void file_cutShort_isNamed_data() {
        QTest::addColumn<DirectReads::Kind>("kind");
        QTest::newRow("the best way") << DirectReads::Kind::kBest;
        QTest::newRow("threads") << DirectReads::Kind::kThreads;
    }
    void file_cutShort_isNamed() {
        QFETCH(DirectReads::Kind, kind);
        write(path("shrinks"), someBytes(10 * kPage));
        const RegularFile regular(path("shrinks"));
        DirectFile direct(regular);
        std::filesystem::resize_file(path("shrinks"), 5 * kPage + 10);
        const auto reads = DirectReads::open(kind, 4);
        HostBuffer memory(8 * kPage, "test");
        submit(*reads, {&direct, 0, memory.data(), 4 * kPage, 4 * kPage, 0});
        submit(*reads, {&direct, 4 * kPage, memory.data() + 4 * kPage, 4 * kPage, 4 * kPage, 1});
        const auto found = results(*reads, 2);
        QCOMPARE(found.at(0), std::string());
        QCOMPARE(found.at(1), path("shrinks").string() + ": cannot be read: it has " + std::to_string(5 * kPage + 10) +
                                  " bytes now and had " + std::to_string(10 * kPage) +
                                  " when it was opened; put the file back as it was.");
    }

    void file_keepsItsBytes_whenItIsReplaced() {
        const std::string before = someBytes(2 * kPage);
        write(path("replaced"), before);
        const RegularFile regular(path("replaced"));
        write(path("other"), std::string(2 * kPage, 'x'));
        std::filesystem::rename(path("other"), path("replaced"));
        DirectFile direct(regular);
        const auto reads = DirectReads::open(DirectReads::Kind::kBest, 1);
        HostBuffer memory(2 * kPage, "test");
        submit(*reads, {&direct, 0, memory.data(), 2 * kPage, 2 * kPage, 7});
        QCOMPARE(results(*reads, 1).at(7), std::string());
        QVERIFY(std::memcmp(memory.data(), before.data(), before.size()) == 0);
    }

    // ---- what system calls may return
    void shortReads_goOnWhereTheyStopped() {
        write(path("short"), someBytes(8 * kPage));
        const RegularFile regular(path("short"));
        DirectFile direct(regular);
        std::byte* const to = nullptr;
        ReadProgress read({&direct, kPage, to, 4 * kPage, 3 * kPage + 5, 9});
        QVERIFY(!read.advance(-EINTR));
        QVERIFY(!read.advance(-EAGAIN));
        QCOMPARE(read.bytes(), 4 * kPage);
        QVERIFY(!read.advance(kPage + 100));
        // Direct reads begin on a boundary; others continue after the last byte.
        const std::size_t at = direct.is_direct() ? kPage : kPage + 100;
        QCOMPARE(read.offset(), kPage + at);
        QCOMPARE(read.bytes(), 4 * kPage - at);
        direct.give_up_direct();
        QVERIFY(!read.advance(17));
        QCOMPARE(read.offset(), kPage + at + 17);
        // All needed bytes are there, though not all requested ones.
        const auto done = read.advance(static_cast<std::int64_t>(3 * kPage + 5 - at - 17));
        QVERIFY(done && done->id == 9 && done->problem.empty());
    }

    void fileSystem_thatRefusesDirectReads_isReadThroughItsCache() {
        write(path("refuses"), someBytes(2 * kPage));
        const RegularFile regular(path("refuses"));
        DirectFile direct(regular);
        if (!direct.is_direct()) QSKIP("it is already");
        ReadProgress read({&direct, 0, nullptr, kPage, kPage, 1});
        QVERIFY(!read.advance(-EINVAL));
        QVERIFY(!direct.is_direct());
        QCOMPARE(read.descriptor(), regular.descriptor());
        const auto again = read.advance(-EINVAL);  // and now it is an error
        QVERIFY(again && !again->problem.empty());
    }

    void readError_namesFileAndByte() {
        write(path("broken"), someBytes(8 * kPage));
        const RegularFile regular(path("broken"));
        DirectFile direct(regular);
        ReadProgress read({&direct, 2 * kPage, nullptr, 4 * kPage, 4 * kPage, 3});
        QVERIFY(!read.advance(kPage));
        const auto done = read.advance(-EIO);
        QVERIFY(done && done->id == 3);
        QCOMPARE(done->problem.english(), path("broken").string() + ": cannot be read: Input/output error at byte " +
                                              std::to_string(3 * kPage) + " or soon after it.");
    }

    void stop_endsEveryWait() {
        for (const auto kind : {DirectReads::Kind::kBest, DirectReads::Kind::kThreads}) {
            const auto reads = DirectReads::open(kind, 8);
            std::vector<std::jthread> threads;
            std::atomic<int> ended = 0;
            for (int i = 0; i < reads->n_waiting(); ++i) {
                threads.emplace_back([&] { ended += reads->wait().has_value() ? 0 : 1; });
            }
            reads->stop();
            threads.clear();
            QCOMPARE(ended.load(), reads->n_waiting());
        }
    }
};

QTEST_GUILESS_MAIN(TestDirectReads)
#include "tst_direct_reads.moc"
