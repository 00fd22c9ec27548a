// Memory that a process may use, read from folders in place of /proc and /sys.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <QTemporaryDir>
#include <QTest>

#include "engine/device/control_groups.h"
#include "engine/device/hardware.h"
#include "engine/device/memory_size.h"

using namespace offstage::engine;

namespace {

constexpr std::int64_t kMib = 1024 * 1024;

using Files = std::map<std::string, std::string>;

void write(const QTemporaryDir& root, const Files& files) {
    const std::filesystem::path top = root.path().toStdString();
    for (const auto& [path, text] : files) {
        std::filesystem::create_directories((top / path).parent_path());
        std::ofstream(top / path) << text;
    }
}

// A machine of 8 GiB with 6 of them free, and these files besides.
MemorySize sizeWith(const Files& files, std::uint64_t mapped_later_bytes = 0) {
    const QTemporaryDir root;
    write(root, {{"proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1000 kB\nMemAvailable: 6291456 kB\n"}});
    write(root, files);
    return memory_size(root.path().toStdString(), mapped_later_bytes);
}

// A group with 3072 MiB in use, 1024 of them pages of files.
Files group(int version, const std::string& folder, const std::string& limit) {
    if (version == 2) {
        return {{folder + "/memory.max", limit},
                {folder + "/memory.current", "3221225472\n"},
                {folder + "/memory.stat", "anon 1\ninactive_file 536870912\nactive_file 536870912\n"}};
    }
    // Memory that excludes the groups below ("active_file") does not count.
    return {{folder + "/memory.limit_in_bytes", limit},
            {folder + "/memory.usage_in_bytes", "3221225472\n"},
            {folder + "/memory.stat",
             "cache 5\ninactive_file 7\nactive_file 9\ntotal_inactive_file 536870912\ntotal_active_file 536870912\n"}};
}

Files operator+(Files a, const Files& b) {
    a.insert(b.begin(), b.end());
    return a;
}

const std::string k4Gib = "4294967296\n";
const std::string kV1 = "sys/fs/cgroup/memory";
const std::string kMounts =
    "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";

}  // namespace

Q_DECLARE_METATYPE(Files)

class TestMemorySize : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void withoutLimits_isTheMachines() {
        const MemorySize memory = sizeWith({});
        QCOMPARE(memory.total_bytes, 8192 * kMib);
        QCOMPARE(memory.available_bytes, 6144 * kMib);
        QVERIFY(memory.limit.empty());
        QCOMPARE(free_memory_text(memory).english(), std::string("6.0 GiB"));
    }

    void controlGroups_lower_data() {
        QTest::addColumn<Files>("files");
        QTest::addColumn<qint64>("total_mib");
        QTest::addColumn<qint64>("available_mib");
        QTest::addColumn<QString>("limit");
        const auto row = [](const char* name, Files files, qint64 total, qint64 available, const char* limit) {
            QTest::newRow(name) << std::move(files) << total << available << QString(limit);
        };
        const auto own = [](const char* line) { return Files{{"proc/self/cgroup", line}}; };
        const auto mounts = [](const std::string& line) { return Files{{"proc/self/mountinfo", kMounts + line}}; };
        const std::string v2 = "sys/fs/cgroup";
        // ---- version 2
        row("container", own("0::/\n") + group(2, v2, k4Gib), 4096, 2048, "/sys/fs/cgroup/memory.max");
        row("own group", own("0::/a.slice/b.service\n") + group(2, v2 + "/a.slice/b.service", k4Gib), 4096, 2048,
            "/sys/fs/cgroup/a.slice/b.service/memory.max");
        row("group above", own("0::/a.slice/b.service\n") + group(2, v2 + "/a.slice", k4Gib), 4096, 2048,
            "/sys/fs/cgroup/a.slice/memory.max");
        row("group seen from outside the container", own("0::/../../x\n") + group(2, v2, k4Gib), 4096, 2048,
            "/sys/fs/cgroup/memory.max");
        row("no limit", own("0::/a.slice\n") + group(2, v2 + "/a.slice", "max\n"), 8192, 6144, "");
        row("limit above the machine", own("0::/a.slice\n") + group(2, v2 + "/a.slice", "1099511627776\n"), 8192, 6144,
            "");
        row("used up", own("0::/a.slice\n") + group(2, v2 + "/a.slice", "1073741824\n"), 1024, 0,
            "/sys/fs/cgroup/a.slice/memory.max");
        row("another's group", own("0::/a.slice\n") + group(2, v2 + "/b.slice", k4Gib), 8192, 6144, "");
        row("throttled above less than the limit",
            own("0::/a\n") + group(2, v2 + "/a", k4Gib) + Files{{v2 + "/a/memory.high", "3221225472\n"}}, 3072, 1024,
            "/sys/fs/cgroup/a/memory.high");
        row("mounted elsewhere",
            own("0::/a\n") + mounts("41 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n") +
                group(2, v2 + "/unified/a", k4Gib) + group(2, v2 + "/a", "1073741824\n"),
            4096, 2048, "/sys/fs/cgroup/unified/a/memory.max");
        row("mounted nowhere", own("0::/a\n4:memory:/a\n") + mounts("") + group(2, v2 + "/a", k4Gib), 8192, 6144, "");
        // ---- version 1
        row("1: own group", own("5:memory:/a\n") + group(1, kV1 + "/a", k4Gib), 4096, 2048,
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        row("1: group above", own("5:memory:/a/b/c\n") + group(1, kV1 + "/a", k4Gib), 4096, 2048,
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        row("1: the smaller of two, which has less left",
            own("5:memory:/a/b\n") + group(1, kV1 + "/a", k4Gib) +
                Files{{kV1 + "/a/b/memory.limit_in_bytes", "838860800\n"}, {kV1 + "/a/b/memory.usage_in_bytes", "0\n"}},
            800, 800, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
        row("1: the larger of two, which has less left",
            own("5:memory:/a/b\n") + group(1, kV1 + "/a", k4Gib) +
                Files{{kV1 + "/a/b/memory.limit_in_bytes", "3221225472\n"},
                      {kV1 + "/a/b/memory.usage_in_bytes", "0\n"}},
            3072, 2048, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        row("1: groups above that leave it alone",
            own("5:memory:/a/b\n") + group(1, kV1 + "/a", k4Gib) + Files{{kV1 + "/a/memory.use_hierarchy", "0\n"}},
            8192, 6144, "");
        row("1: no limit", own("5:memory:/a\n") + group(1, kV1 + "/a", "9223372036854771712\n"), 8192, 6144, "");
        row("1: another's group", own("5:memory:/a\n") + group(1, kV1 + "/b", k4Gib), 8192, 6144, "");
        row("1: with another controller",
            own("0::/x\n5:cpu:/y\n4:hugetlb,memory:/a:b\n") +
                mounts("35 30 0:31 / /sys/fs/cgroup/both rw - cgroup cgroup rw,hugetlb,memory\n") +
                group(1, v2 + "/both/a:b", k4Gib),
            4096, 2048, "/sys/fs/cgroup/both/a:b/memory.limit_in_bytes");
        row("1: a container that sees its own groups alone",
            own("5:memory:/docker/0af\n") +
                mounts("35 30 0:31 /docker/0af /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n") +
                group(1, kV1, k4Gib),
            4096, 2048, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
        row("1: a group inside such a container",
            own("5:memory:/docker/0af/in\n") +
                mounts("35 30 0:31 /docker/0af /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n") +
                group(1, kV1 + "/in", k4Gib),
            4096, 2048, "/sys/fs/cgroup/memory/in/memory.limit_in_bytes");
        row("1: a container whose group's name is known outside alone",
            own("5:memory:/docker/0af\n") +
                mounts("35 30 0:31 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n") + group(1, kV1, k4Gib),
            4096, 2048, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
        row("1: a mount with a blank in its name",
            own("5:memory:/a\n") + mounts("35 30 0:31 / /my\\040groups rw - cgroup cgroup rw,memory\n") +
                group(1, "my groups/a", k4Gib),
            4096, 2048, "/my groups/a/memory.limit_in_bytes");
        // ---- both
        row("limits of both",
            own("4:memory:/a\n0::/b\n") + group(1, kV1 + "/a", k4Gib) + group(2, v2 + "/b", "3221225472\n"), 3072, 1024,
            "/sys/fs/cgroup/b/memory.max");
        row("both, version 2 without memory",
            own("9:name=systemd:/\n4:memory:/a\n0::/\n") +
                mounts("35 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                       "41 30 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n") +
                group(1, kV1 + "/a", k4Gib),
            4096, 2048, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
    }
    void controlGroups_lower() {
        QFETCH(Files, files);
        QFETCH(qint64, total_mib);
        QFETCH(qint64, available_mib);
        QFETCH(QString, limit);
        const MemorySize memory = sizeWith(files);
        QCOMPARE(QString::fromStdString(memory.limit), limit);
        QCOMPARE(memory.total_bytes, total_mib * kMib);
        QCOMPARE(memory.available_bytes, available_mib * kMib);
    }

    void limitsOfTheProcess_lower_data() {
        QTest::addColumn<QString>("data");
        QTest::addColumn<QString>("addresses");
        QTest::addColumn<qint64>("later_mib");  // to be mapped besides
        QTest::addColumn<qint64>("total_mib");
        QTest::addColumn<qint64>("available_mib");
        QTest::addColumn<QString>("limit");
        // In use: 500 MiB of addresses, 100 of them memory.
        QTest::newRow("none") << "unlimited"
                              << "unlimited" << qint64{3000} << qint64{8192} << qint64{6144} << "";
        QTest::newRow("addresses") << "unlimited"
                                   << "2147483648" << qint64{0} << qint64{2048} << qint64{1548} << "RLIMIT_AS";
        QTest::newRow("addresses, a file to be mapped")
            << "unlimited"
            << "2147483648" << qint64{1000} << qint64{2048} << qint64{548} << "RLIMIT_AS";
        QTest::newRow("addresses, a file too large")
            << "unlimited"
            << "2147483648" << qint64{4000} << qint64{2048} << qint64{0} << "RLIMIT_AS";
        QTest::newRow("memory, whatever is mapped")
            << "1073741824"
            << "unlimited" << qint64{4000} << qint64{1024} << qint64{924} << "RLIMIT_DATA";
        QTest::newRow("both") << "1073741824"
                              << "1073741824" << qint64{0} << qint64{1024} << qint64{524} << "RLIMIT_AS";
        QTest::newRow("above the machine") << "1099511627776"
                                           << "1099511627776" << qint64{0} << qint64{8192} << qint64{6144} << "";
    }
    void limitsOfTheProcess_lower() {
        QFETCH(QString, data);
        QFETCH(QString, addresses);
        QFETCH(qint64, later_mib);
        QFETCH(qint64, total_mib);
        QFETCH(qint64, available_mib);
        QFETCH(QString, limit);
        const auto line = [](const QString& name, const QString& soft) {
            return (name.leftJustified(26) + soft.leftJustified(21) + QStringLiteral("unlimited            bytes\n"))
                .toStdString();
        };
        const MemorySize memory = sizeWith(
            {{"proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units\n" +
                                      line("Max data size", data) + line("Max resident set", "1024") +
                                      line("Max address space", addresses)},
             {"proc/self/status", "Name:\tx\nVmPeak:\t  9999999 kB\nVmSize:\t  512000 kB\nVmData:\t  102400 kB\n"}},
            static_cast<std::uint64_t>(later_mib * kMib));
        QCOMPARE(QString::fromStdString(memory.limit), limit);
        QCOMPARE(memory.total_bytes, total_mib * kMib);
        QCOMPARE(memory.available_bytes, available_mib * kMib);
    }

    void text_namesTheLimit() {
        QCOMPARE(free_memory_text({8192 * kMib, 612 * kMib, "RLIMIT_AS", 2000 * kMib}).english(),
                 std::string("612.0 MiB (RLIMIT_AS: 2.0 GiB)"));
    }

    void brokenFiles_giveZero() {
        const QTemporaryDir empty;
        QCOMPARE(memory_size(empty.path().toStdString()).total_bytes, std::int64_t{0});
        const MemorySize memory = sizeWith({{"proc/meminfo", "MemTotal: lots\nMemAvailable\n"},
                                            {"proc/self/cgroup", "0::/\n0::\n:\n4:memory\n4:memory:\n4:memory:x\n"},
                                            {"proc/self/mountinfo", " - \n1 2 3 - cgroup2\n1 2 3 4 \\ - cgroup2 x y\n"},
                                            {"proc/self/limits", "Max address space\nMax data size lots\n"},
                                            {"sys/fs/cgroup/memory.max", ""}});
        QCOMPARE(memory.total_bytes, std::int64_t{0});
        QCOMPARE(memory.available_bytes, std::int64_t{0});
    }

    void cpuTime_isTheLeastOfTheGroups_data() {
        QTest::addColumn<Files>("files");
        QTest::addColumn<double>("cores");
        const auto row = [](const char* name, const Files& files, double cores) {
            QTest::newRow(name) << files << cores;
        };
        const std::string v2 = "sys/fs/cgroup/", v1 = "sys/fs/cgroup/cpu,cpuacct/";
        const std::string mount = "36 30 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        row("no groups", {}, 0);
        row("2: container", {{"proc/self/cgroup", "0::/\n"}, {v2 + "cpu.max", "250000 100000\n"}}, 2.5);
        row("2: none", {{"proc/self/cgroup", "0::/a\n"}, {v2 + "a/cpu.max", "max 100000\n"}}, 0);
        row("2: the group above has less",
            {{"proc/self/cgroup", "0::/a/b\n"},
             {v2 + "a/b/cpu.max", "400000 100000\n"},
             {v2 + "a/cpu.max", "50000 100000\n"}},
            0.5);
        row("1: own group",
            {{"proc/self/cgroup", "3:cpu,cpuacct:/a\n"},
             {"proc/self/mountinfo", mount},
             {v1 + "a/cpu.cfs_quota_us", "150000\n"},
             {v1 + "a/cpu.cfs_period_us", "50000\n"}},
            3);
        row("1: none",
            {{"proc/self/cgroup", "3:cpu,cpuacct:/a\n"},
             {"proc/self/mountinfo", mount},
             {v1 + "a/cpu.cfs_quota_us", "-1\n"},
             {v1 + "a/cpu.cfs_period_us", "100000\n"}},
            0);
        row("damaged", {{"proc/self/cgroup", "0::/\n"}, {v2 + "cpu.max", "100000 0\n"}}, 0);
    }
    void cpuTime_isTheLeastOfTheGroups() {
        QFETCH(Files, files);
        QFETCH(double, cores);
        const QTemporaryDir root;
        write(root, files);
        const std::filesystem::path top = root.path().toStdString();
        QCOMPARE(cpu_quota(top), cores);
        const int own = cores_to_use(root.filePath(QStringLiteral("none")).toStdString());
        QVERIFY(own >= 1);
        QCOMPARE(cores_to_use(top), cores > 0 ? std::min(own, static_cast<int>(std::ceil(cores))) : own);
    }

    void thisMachine_hasMemory() {
        const MemorySize memory = memory_size();
        QVERIFY(memory.total_bytes > 64 * kMib);
        QVERIFY(memory.available_bytes > 0);
        QVERIFY(memory.available_bytes <= memory.total_bytes);
        QCOMPARE(memory.limit.empty(), memory.limit_bytes == 0);
    }
};

QTEST_GUILESS_MAIN(TestMemorySize)
#include "tst_memory_size.moc"
