// The path's target decides how it is written: regular files are replaced whole, links
// followed, all else written to.
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>

#include "engine/files/file_writer.h"

namespace fs = std::filesystem;
using offstage::engine::FileWriter;
using offstage::engine::write_file;

namespace {

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

struct stat status_of(const fs::path& file) {
    struct stat status {};
    ::lstat(file.c_str(), &status);
    return status;
}

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

struct Folder {
    QTemporaryDir folder;
    fs::path operator/(const char* name) const { return fs::path(folder.path().toStdString()) / name; }
    fs::path path() const { return folder.path().toStdString(); }
};

}  // namespace

class TestFileWriter : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void newFile_hasTheUsualPermissions() {
        const Folder folder;
        const mode_t mask = ::umask(027);
        const std::string failure = write_file(folder / "new", "text");
        ::umask(mask);
        QCOMPARE(failure, std::string());
        QCOMPARE(read(folder / "new"), std::string("text"));
        QCOMPARE(status_of(folder / "new").st_mode & 07777, mode_t{0640});
        QCOMPARE(names_in(folder.path()).size(), std::size_t{1});
    }

    void regularFile_isReplacedWhole_andKeepsItsPermissions_data() {
        QTest::addColumn<uint>("mode");
        QTest::newRow("for the owner alone") << 0600u;
        QTest::newRow("for a group") << 0664u;
        QTest::newRow("a program") << 0755u;
    }
    void regularFile_isReplacedWhole_andKeepsItsPermissions() {
        QFETCH(const uint, mode);
        const Folder folder;
        put(folder / "file", "old");
        fs::create_hard_link(folder / "file", folder / "second name");
        ::chmod((folder / "file").c_str(), static_cast<mode_t>(mode));
        const uid_t owner = ::geteuid() == 0 ? 4321 : ::geteuid();
        QCOMPARE(::chown((folder / "file").c_str(), owner, static_cast<gid_t>(-1)), 0);
        QCOMPARE(write_file(folder / "file", "the new text"), std::string());
        QCOMPARE(read(folder / "file"), std::string("the new text"));
        QCOMPARE(read(folder / "second name"), std::string("old"));
        QCOMPARE(status_of(folder / "file").st_mode & 07777, static_cast<mode_t>(mode));
        QCOMPARE(status_of(folder / "file").st_uid, owner);
        QCOMPARE(names_in(folder.path()), (std::set<std::string>{"file", "second name"}));
    }

    void largeFile_arrivesWhole() {
        const Folder folder;
        std::string text;
        FileWriter writer(folder / "large");
        for (int i = 0; i < 40'000; ++i) {
            const std::string line = "line " + std::to_string(i) + "\n";
            text += line;
            writer.write(line);
        }
        QCOMPARE(writer.commit(), std::string());
        QVERIFY(read(folder / "large") == text);
    }

    void withoutCommit_whatWasThereStays() {
        const Folder folder;
        put(folder / "file", "old");
        {
            FileWriter writer(folder / "file");
            writer.write(std::string(std::size_t{200} << 10, 'x'));
            QCOMPARE(writer.failure(), std::string());
            QCOMPARE(names_in(folder.path()).size(), std::size_t{2});
        }
        QCOMPARE(read(folder / "file"), std::string("old"));
        QCOMPARE(names_in(folder.path()), (std::set<std::string>{"file"}));
    }

    void link_itsTargetIsWritten_data() {
        QTest::addColumn<QString>("link");  // from folder/links/link
        QTest::addColumn<bool>("exists");
        QTest::newRow("absolute") << QStringLiteral("%1/files/file") << true;
        QTest::newRow("relative") << QStringLiteral("../files/file") << true;
        QTest::newRow("a chain") << QStringLiteral("second") << true;
        QTest::newRow("its target is missing") << QStringLiteral("../files/file") << false;
        QTest::newRow("a chain to a target that is missing") << QStringLiteral("second") << false;
    }
    void link_itsTargetIsWritten() {
        QFETCH(const QString, link);
        QFETCH(const bool, exists);
        const Folder folder;
        fs::create_directory(folder / "files");
        fs::create_directory(folder / "links");
        if (exists) put(folder / "files/file", "old");
        const fs::path to = QString(link).replace(QStringLiteral("%1"), folder.folder.path()).toStdString();
        fs::create_symlink("../files/file", folder / "links/second");
        fs::create_symlink(to, folder / "links/link");
        QCOMPARE(write_file(folder / "links/link", "new"), std::string());
        QCOMPARE(fs::read_symlink(folder / "links/link"), to);
        QCOMPARE(fs::read_symlink(folder / "links/second"), fs::path("../files/file"));
        QVERIFY(S_ISREG(status_of(folder / "files/file").st_mode));
        QCOMPARE(read(folder / "files/file"), std::string("new"));
        QCOMPARE(names_in(folder / "files").size(), std::size_t{1});
        QCOMPARE(names_in(folder / "links").size(), std::size_t{2});
    }

    void linkInTheWorkingFolder_isFollowed() {
        const Folder folder;
        const fs::path before = fs::current_path();
        fs::current_path(folder.path());
        fs::create_symlink("file", "link");
        const std::string failure = write_file("link", "new");
        fs::current_path(before);
        QCOMPARE(failure, std::string());
        QCOMPARE(read(folder / "file"), std::string("new"));
        QVERIFY(fs::is_symlink(folder / "link"));
    }

    void device_isWrittenTo_andStays_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<bool>("takes");
        QTest::newRow("a link to /dev/null") << QStringLiteral("link:/dev/null") << true;
        QTest::newRow("a link to /dev/full") << QStringLiteral("link:/dev/full") << false;
        QTest::newRow("/dev/null") << QStringLiteral("/dev/null") << true;
        QTest::newRow("/dev/full") << QStringLiteral("/dev/full") << false;
    }
    void device_isWrittenTo_andStays() {
        QFETCH(const QString, path);
        QFETCH(const bool, takes);
        const Folder folder;
        fs::path file = path.toStdString();
        if (path.startsWith(QStringLiteral("link:"))) {
            file = folder / "link";
            fs::create_symlink(path.mid(5).toStdString(), file);
        }
        if (!fs::exists(file)) QSKIP("no such device on this system");
        QCOMPARE(write_file(file, "text"), takes ? std::string() : std::string("No space left on device"));
        QVERIFY(fs::is_character_file(file));
        QCOMPARE(fs::is_symlink(file), path.startsWith(QStringLiteral("link:")));
    }

    void fifo_itsReaderGetsTheBytes() {
        const Folder folder;
        QCOMPARE(::mkfifo((folder / "fifo").c_str(), 0600), 0);
        std::string got;
        std::thread reader([&] { got = read(folder / "fifo"); });
        const std::string text(std::size_t{300} << 10, 'x');
        const std::string failure = write_file(folder / "fifo", text);
        if (!fs::is_fifo(folder / "fifo")) {  // replaced: the reader gets nothing any more
            reader.detach();
            QFAIL("the FIFO is gone");
        }
        reader.join();
        QCOMPARE(failure, std::string());
        QVERIFY(got == text);
        QCOMPARE(names_in(folder.path()).size(), std::size_t{1});
    }

    void fifoWithoutReader_isAFailureWhereNobodyWaits() {
        const Folder folder;
        QCOMPARE(::mkfifo((folder / "fifo").c_str(), 0600), 0);
        QCOMPARE(write_file(folder / "fifo", "text", {.wait_for_reader = false}),
                 std::string("No such device or address"));
        QVERIFY(fs::is_fifo(folder / "fifo"));
    }

    void ownDescriptor_isWrittenToWhereItStands_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("/dev/fd") << QStringLiteral("/dev/fd/");
        QTest::newRow("/proc/self/fd") << QStringLiteral("/proc/self/fd/");
        QTest::newRow("/proc/PID/fd") << QStringLiteral("/proc/%1/fd/").arg(::getpid());
    }
    // Like "--out /dev/stdout > file".
    void ownDescriptor_isWrittenToWhereItStands() {
        QFETCH(const QString, folder);
        if (!fs::exists("/dev/fd")) QSKIP("no /dev/fd on this system");
        const Folder place;
        const int file = ::open((place / "file").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        QCOMPARE(::write(file, "before, ", 8), ssize_t{8});
        const fs::path path = (folder + QString::number(file)).toStdString();
        const std::string first = write_file(path, "between");
        const ssize_t after = ::write(file, ", after", 7);
        ::close(file);
        QCOMPARE(first, std::string());
        QCOMPARE(after, ssize_t{7});
        QCOMPARE(read(place / "file"), std::string("before, between, after"));
        QVERIFY(!write_file(path, "closed").empty());
    }

    void pipeOfItsOwn_isWrittenTo() {
        std::array<int, 2> ends{};
        QCOMPARE(::pipe(ends.data()), 0);
        const std::string failure = write_file("/proc/self/fd/" + std::to_string(ends[1]), "text");
        std::array<char, 8> got{};
        ::close(ends[1]);
        const ssize_t n = ::read(ends[0], got.data(), got.size());
        ::close(ends[0]);
        QCOMPARE(failure, std::string());
        QCOMPARE(std::string(got.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))), std::string("text"));
    }

    void whatCannotBeWritten_isReported_andStays() {
        const Folder folder;
        fs::create_directory(folder / "folder");
        QCOMPARE(write_file(folder / "folder", "x"), std::string("Is a directory"));
        QCOMPARE(write_file(folder / "missing/", "x"), std::string("Is a directory"));
        fs::create_symlink("loop", folder / "loop");
        QCOMPARE(write_file(folder / "loop", "x"), std::string("Too many levels of symbolic links"));
        QCOMPARE(::mknod((folder / "socket").c_str(), S_IFSOCK | 0600, 0), 0);
        QCOMPARE(write_file(folder / "socket", "x"), std::string("No such device or address"));
        put(folder / "file", "text");
        QCOMPARE(write_file(folder / "file/below", "x"), std::string("Not a directory"));
        QCOMPARE(names_in(folder.path()), (std::set<std::string>{"folder", "loop", "socket", "file"}));
        QVERIFY(fs::is_directory(folder / "folder") && fs::is_symlink(folder / "loop") &&
                fs::is_socket(folder / "socket"));
        QVERIFY(fs::is_empty(folder / "folder"));
    }

    void fileThatMayNotBeWritten_stays() {
        if (::geteuid() == 0) QSKIP("the superuser may write every file");
        const Folder folder;
        put(folder / "file", "old");
        ::chmod((folder / "file").c_str(), 0444);
        QCOMPARE(write_file(folder / "file", "new"), std::string("Permission denied"));
        QCOMPARE(read(folder / "file"), std::string("old"));
    }

    void missingFolders_areMadeWhereThatIsWanted() {
        const Folder folder;
        QCOMPARE(FileWriter(folder / "a/b/file").commit(), std::string("No such file or directory"));
        QVERIFY(!fs::exists(folder / "a"));
        QCOMPARE(write_file(folder / "a/b/file", "text"), std::string());
        QCOMPARE(read(folder / "a/b/file"), std::string("text"));
    }

    void longestName_isWritten() {
        const Folder folder;
        const std::string name(255, 'n');
        QCOMPARE(write_file(folder / name.c_str(), "text"), std::string());
        QCOMPARE(names_in(folder.path()), (std::set<std::string>{name}));
        QCOMPARE(write_file(folder / (name + "n").c_str(), "text"), std::string("File name too long"));
    }

    void twoWriters_eachWritesAWholeFile() {
        const Folder folder;
        FileWriter first(folder / "file");
        FileWriter second(folder / "file");
        first.write("first");
        second.write("second");
        QCOMPARE(first.commit(), std::string());
        QCOMPARE(read(folder / "file"), std::string("first"));
        QCOMPARE(second.commit(), std::string());
        QCOMPARE(read(folder / "file"), std::string("second"));
        QCOMPARE(names_in(folder.path()).size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestFileWriter)
#include "tst_file_writer.moc"
