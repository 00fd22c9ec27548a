// The program under limits of memory, as a shell sets them.
#include <cmath>

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"
#include "tests/sanitized.h"

using namespace offstage::test;

namespace {

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

class Limited {
  public:
    // `ulimit`: the argument of the shell's command, in KiB: "-v 300000".
    CliOutcome run(const QString& ulimit, const QStringList& arguments) const {
        return runInShell(QStringLiteral("export OMP_NUM_THREADS=1; ulimit %1; exec \"$0\" \"$@\"").arg(ulimit),
                          arguments, {}, m_cache.path());
    }

  private:
    QTemporaryDir m_cache;
};

}  // namespace

class TestCliLimits : public QObject {
    Q_OBJECT

    const Limited m_limited;

  private Q_SLOTS:
    void initTestCase() {
        if (kSanitized) QSKIP("sanitizers take addresses without end");
    }

    void plan_keepsToTheLimit_data() {
        QTest::addColumn<QString>("ulimit");
        QTest::addColumn<QString>("name");
        QTest::addColumn<double>("limit_kib");
        QTest::newRow("addresses") << QStringLiteral("-v 1000000") << QStringLiteral("RLIMIT_AS") << 1000000.0;
        QTest::newRow("memory") << QStringLiteral("-d 500000") << QStringLiteral("RLIMIT_DATA") << 500000.0;
    }
    void plan_keepsToTheLimit() {
        QFETCH(QString, ulimit);
        QFETCH(QString, name);
        QFETCH(double, limit_kib);
        const CliOutcome outcome = m_limited.run(ulimit, words("plan --model %1 --threads 2 --json", {kDemo}));
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QJsonObject plan = outcome.json();
        QCOMPARE(plan[QStringLiteral("ram_limit")].toString(), name);
        QCOMPARE(plan[QStringLiteral("ram_limit_bytes")].toDouble(), 1024 * limit_kib);
        const double available = plan[QStringLiteral("ram_available_bytes")].toDouble();
        QVERIFY(available > 0 && available < 1024 * limit_kib);
        // The checkpoint will be mapped: of addresses that is taken off.
        if (name == QStringLiteral("RLIMIT_AS")) {
            QVERIFY(available < 1024 * limit_kib - static_cast<double>(
                                                       QFileInfo(kDemo + QStringLiteral("/model.safetensors")).size()));
        }
        QCOMPARE(plan[QStringLiteral("ram_budget_bytes")].toDouble(), available - std::floor(available / 10));
        QCOMPARE(plan[QStringLiteral("memory_note")].toString(), QString());
    }

    // Before anything is read, and in the JSON.
    void generate_nearTheLimit_saysSo() {
        // Context and experts take the rest of a budget that a longer context would
        // exceed.
        const auto arguments = [](const char* context) {
            return words("generate --model %1 --threads 1 --context %2 --prompt Hi --max-tokens 2 --seed 1 --json",
                         {kDemo, QString::fromLatin1(context)});
        };
        const CliOutcome roomy = m_limited.run(QStringLiteral("-d 2000000"), arguments("512"));
        QVERIFY2(roomy.status == 0, roomy.err.constData());
        QCOMPARE(roomy.err, QByteArray());
        QCOMPARE(roomy.notes(), QStringList());
        // The limit is lowered until the model takes nearly all, or does not fit any
        // more.
        const double needed = roomy.json()[QStringLiteral("ram_high_water_bytes")].toDouble() / 1024;
        QVERIFY(needed > 10'000);
        int said = 0, refused = 0;
        for (int step = 0; step < 40 && refused == 0; ++step) {
            const auto limit = static_cast<int>(2.2 * needed - 0.04 * needed * step);
            const CliOutcome outcome = m_limited.run(QStringLiteral("-d %1").arg(limit), arguments("512"));
            const bool near = outcome.err.contains("little is left for anything else");
            QCOMPARE(outcome.err.count("little is left"), near ? 1 : 0);
            said += near;
            if (outcome.status != 0) {
                ++refused;
                QCOMPARE(outcome.status, 1);
                QVERIFY2(outcome.err.contains("offstage-cli: "), outcome.err.constData());
                continue;
            }
            QCOMPARE(outcome.json()[QStringLiteral("text")], roomy.json()[QStringLiteral("text")]);
            QCOMPARE(near, outcome.notes().value(0).contains(QStringLiteral("(RLIMIT_DATA: ")));
        }
        QVERIFY(said > 0);
    }

    void budgetBeyondTheLimit_isRefused_withItsName() {
        const CliOutcome outcome =
            m_limited.run(QStringLiteral("-d 500000"), words("generate --model %1 --ram 1GiB --prompt Hi", {kDemo}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("The RAM budget is 1.0 GiB, but only ") &&
                     outcome.err.contains(" (RLIMIT_DATA: 488.3 MiB) are free; lower it."),
                 outcome.err.constData());
    }

    // What was read of the file is destroyed when there is no memory left.
    void configBeyondTheMemory_isRefused() {
        const QTemporaryDir model;
        QFile config(model.filePath(QStringLiteral("config.json")));
        QVERIFY(config.open(QIODevice::WriteOnly));
        const QByteArray texts = QByteArray("\"123456789012345678\",").repeated(999) + "\"\"]";
        for (int i = 0; i < 190; ++i) {
            config.write((i == 0 ? "{\"" : ",\"") + QByteArray::number(i) + "\":[" + texts);
        }
        config.write("}");
        config.close();
        const CliOutcome outcome = m_limited.run(QStringLiteral("-d 20000"), words("plan --model %1", {model.path()}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("There is not enough memory for this"), outcome.err.constData());
    }

    void checkpointBeyondTheAddresses_isRefused() {
        const QTemporaryDir model;
        QVERIFY(QFile::copy(kDemo + QStringLiteral("/config.json"), model.filePath(QStringLiteral("config.json"))));
        QFile weights(model.filePath(QStringLiteral("model.safetensors")));
        QVERIFY(weights.open(QIODevice::WriteOnly) && weights.resize(qint64{8} << 30));  // a hole: takes no room
        weights.close();
        const CliOutcome outcome =
            m_limited.run(QStringLiteral("-v 2000000"), words("plan --model %1", {model.path()}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("model.safetensors: cannot be mapped: ") &&
                     outcome.err.contains("(RLIMIT_AS: 2048000000 bytes)"),
                 outcome.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestCliLimits)
#include "tst_cli_limits.moc"
