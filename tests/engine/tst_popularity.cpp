#include <filesystem>
#include <fstream>
#include <numeric>

#include <QDirIterator>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/plan/popularity.h"
#include "tests/engine/errors.h"
#include "tests/fuzz/plan_files.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

Popularity fiddler() {
    return read_popularity(OFFSTAGE_SOURCE_DIR "/resources/profiles/mixtral-8x7b-fiddler.json");
}

// The n experts with the largest (or smallest) counts.
std::vector<std::uint8_t> chosen(const Popularity& popularity, std::size_t n, bool largest) {
    std::vector<std::size_t> order(popularity.counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return largest ? popularity.counts[a] > popularity.counts[b] : popularity.counts[a] < popularity.counts[b];
    });
    std::vector<std::uint8_t> resident(order.size(), 0);
    for (std::size_t i = 0; i < n; ++i) resident[order[i]] = 1;
    return resident;
}

// The paper's own rate: of all 256 counts together.
double rateOverAllCounts(const Popularity& popularity, const std::vector<std::uint8_t>& resident) {
    double hit = 0;
    double all = 0;
    for (std::size_t i = 0; i < resident.size(); ++i) {
        all += popularity.counts[i];
        if (resident[i] != 0) hit += popularity.counts[i];
    }
    return hit / all;
}

bool isNear(double value, double expected, double tolerance) {
    if (std::abs(value - expected) <= tolerance) return true;
    qWarning("%.6f is not %.6f within %g", value, expected, tolerance);
    return false;
}

std::string document(const std::string& counts, const std::string& more = {}) {
    return R"({"format": "offstage-popularity", "version": 1, "model": "m", "source": "s", "n_layers": 2, )"
           R"("n_experts": 3, "n_active": 2, "n_tokens": 10, )" +
           more + R"("counts": )" + counts + "}";
}

}  // namespace

class TestPopularity : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void share_withoutCounts_isEven() {
        const Popularity p = Popularity::uniform(2, 8, 2);
        QCOMPARE(p.share(1, 7), 0.25);
        QCOMPARE(p.n_tokens, 0);
    }

    void add_routing_countsPerLayer() {
        Popularity p = Popularity::uniform(2, 4, 2);
        const std::vector<std::int32_t> routing = {0, 1, 2, 3, 0, 2, 3, 1};  // two tokens, two layers
        p.add(routing, 2);
        QCOMPARE(p.counts, (std::vector<double>{2, 1, 1, 0, 0, 1, 1, 2}));
        QCOMPARE(p.n_tokens, 2);
        QCOMPARE(p.share(0, 0), 1.0);
        QCOMPARE(p.share(0, 3), 0.0);
        QCOMPARE(p.share(1, 1), 0.5);
    }

    void hitRate_ofLayersWithDifferentSums_countsLayersAlike() {
        Popularity p = Popularity::uniform(2, 2, 1);
        p.counts = {1, 3, 3000, 1000};
        QVERIFY(isNear(expected_hit_rate(p, std::vector<std::uint8_t>{1, 0, 1, 0}), 0.5, 1e-12));
        p.counts = {0, 0, 3000, 1000};  // a layer without counts: even
        QVERIFY(isNear(expected_hit_rate(p, std::vector<std::uint8_t>{1, 0, 1, 0}), 0.625, 1e-12));
        QCOMPARE(expected_hit_rate(p, std::vector<std::uint8_t>{0, 0, 0, 0}), 0.0);
        QCOMPARE(expected_hit_rate(p, std::vector<std::uint8_t>{1, 1, 1, 1}), 1.0);
    }

    void fiddlersProfile_hasThePublishedStatistics() {
        const Popularity p = fiddler();
        QCOMPARE(p.n_layers, 32);
        QCOMPARE(p.n_experts, 8);
        QVERIFY(p.source.find("not measured") != std::string::npos);
        std::vector<double> values = p.counts;
        std::sort(values.begin(), values.end());
        for (double& value : values) value /= values.back();
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 256;
        double variance = 0;
        for (const double value : values) variance += (value - mean) * (value - mean) / 256;
        QVERIFY(isNear(mean, 0.71, 0.005));
        QVERIFY(isNear(std::sqrt(variance), 0.08, 0.005));
        QVERIFY(isNear(values.front(), 0.22, 0.005));
        QVERIFY(isNear(values[63] + 0.75 * (values[64] - values[63]), 0.67, 0.005));
        QVERIFY(isNear(values[191] + 0.25 * (values[192] - values[191]), 0.76, 0.005));
        QCOMPARE(std::count_if(values.begin(), values.end(), [](double v) { return v < 0.6; }), 15);
        QCOMPARE(std::count_if(values.begin(), values.end(), [](double v) { return v > 0.8; }), 27);
    }

    void fiddlersProfile_givesThePublishedHitRates_data() {
        QTest::addColumn<int>("n");
        QTest::addColumn<double>("best");
        QTest::addColumn<double>("mean");
        QTest::addColumn<double>("worst");
        QTest::newRow("environment 1") << 56 << 0.252 << 0.219 << 0.187;
        QTest::newRow("environment 2") << 125 << 0.530 << 0.488 << 0.446;
    }
    void fiddlersProfile_givesThePublishedHitRates() {
        QFETCH(int, n);
        QFETCH(double, best);
        QFETCH(double, mean);
        QFETCH(double, worst);
        const Popularity p = fiddler();
        for (const auto& [largest, expected] : {std::pair{true, best}, std::pair{false, worst}}) {
            const std::vector<std::uint8_t> resident = chosen(p, static_cast<std::size_t>(n), largest);
            QVERIFY(isNear(expected_hit_rate(p, resident), expected, 0.0005));
            QVERIFY(isNear(rateOverAllCounts(p, resident), expected, 0.0005));
        }
        // Any n experts: the mean over all rotations of one choice is exactly n / 256.
        double sum = 0;
        for (std::size_t shift = 0; shift < 256; ++shift) {
            std::vector<std::uint8_t> resident(256, 0);
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) resident[(shift + 37 * i) % 256] = 1;
            sum += expected_hit_rate(p, resident);
        }
        QVERIFY(isNear(sum / 256, mean, 0.0005));
    }

    void file_writtenAndRead_isTheSame() {
        const QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "new" / "p.json";
        Popularity p = fiddler();
        p.source = "quotes \" and \xff bytes that are not text";
        p.counts[3] = 0.1 + 0.2;
        write_popularity(p, "m", file);
        const Popularity q = read_popularity(file);
        QCOMPARE(q.counts, p.counts);
        QCOMPARE(q.n_tokens, p.n_tokens);
        QCOMPARE(q.n_active, p.n_active);
        write_popularity(Popularity::uniform(1, 2, 1), "m", file);  // overwrites the file
        QCOMPARE(read_popularity(file).n_experts, 2);
        // Only the file remains.
        QCOMPARE(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1);
    }

    void writing_whereItIsNotPossible_isAnError() {
        try {
            write_popularity(Popularity::uniform(1, 2, 1), "m", "/proc/none/p.json");
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY(std::string(error.what()).find("/proc/none/p.json cannot be written") != std::string::npos);
        }
    }

    void reading_aMissingFile_isNotFound() {
        QCOMPARE(mismatch(error_of([&] { read_popularity("/nowhere/p.json"); }), ErrorKind::kNotFound), QString());
    }

    void parse_wellFormed_isRead() {
        const Popularity p = parse_popularity(document("[[1, 2.5, 3], [0, 0, 0]]"), "p.json");
        QCOMPARE(p.counts, (std::vector<double>{1, 2.5, 3, 0, 0, 0}));
        QCOMPARE(p.source, std::string("s"));
    }

    void parse_damaged_namesFileAndKey_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const std::string& text, const char* message) {
            QTest::newRow(name) << QString::fromStdString(text) << QString(message);
        };
        row("not JSON", "{", "not valid JSON");
        row("a list", "[]", "expected a JSON object");
        row("another format", R"({"format": "x"})", "\"format\" is \"x\"");
        row("another version", R"({"format": "offstage-popularity", "version": 2})", "\"version\" is 2");
        row("a layer too few", document("[[1, 2, 3]]"), "\"counts\" is a list of 1; expected a list of 2 lists");
        row("counts no list", document("7"), "\"counts\" is 7");
        row("an expert too many", document("[[1, 2, 3], [1, 2, 3, 4]]"), "\"counts\"[1] is a list of 4");
        row("a text", document("[[1, 2, 3], [1, \"2\", 3]]"), "\"counts\"[1][1] is \"2\"");
        row("negative", document("[[1, 2, 3], [1, -2, 3]]"), "\"counts\"[1][1] is -2");
        row("beyond double", document("[[1, 2, 3], [1, 1e999, 3]]"), "number out of range");
        row("too large", document("[[1, 2, 3], [1, 1e16, 3]]"), "\"counts\"[1][1]");
        row("more than a token can choose", document("[[1, 2, 9], [1, 1, 1]]"), "\"counts\"[0]");
        row("a key twice", document("[]", R"("n_experts": 4, )"), "appears twice");
        row("more active than experts",
            R"({"format": "offstage-popularity", "version": 1, "n_layers": 1, "n_experts": 2, "n_active": 3})",
            "\"n_active\" is 3");
        row("experts without end",
            R"({"format": "offstage-popularity", "version": 1, "n_layers": 1, "n_experts": 9223372036854775808})",
            "\"n_experts\"");
    }
    void parse_damaged_namesFileAndKey() {
        QFETCH(QString, text);
        QFETCH(QString, message);
        try {
            parse_popularity(text.toStdString(), "p.json");
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
            QVERIFY2(QString(error.what()).startsWith("p.json: "), error.what());
            QVERIFY2(QString(error.what()).contains(message), error.what());
        }
    }

    void storedInputs_keepTheReadersPromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/popularity", QDir::Files);
        int n = 0;
        for (; files.hasNext(); ++n) {
            QFile file(files.next());
            QVERIFY(file.open(QFile::ReadOnly));
            const std::string broken = offstage::tests::check_popularity(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + ": " + QString::fromStdString(broken)));
        }
        QVERIFY(n > 0);
    }
};

QTEST_GUILESS_MAIN(TestPopularity)
#include "tst_popularity.moc"
