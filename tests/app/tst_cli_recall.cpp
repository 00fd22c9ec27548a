// offstage-cli recall, replay and activations: from a text to a trace, a picture, a
// comparison of policies, and a table.

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

using offstage::test::CliOutcome;
using offstage::test::runCli;
using offstage::test::words;

namespace {

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

}  // namespace

class TestCliRecall : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void recall_writesATrace_thatReplayReads() {
        QTemporaryDir folder;
        const QString text = folder.filePath(QStringLiteral("talk.jsonl"));
        const QString trace = folder.filePath(QStringLiteral("talk.trace"));
        const QString picture = folder.filePath(QStringLiteral("talk.svg"));
        write(text, R"({"messages":[{"role":"user","content":"What is an expert?"},)"
                    R"({"role":"assistant","content":"An expert is one of several small networks."}]})");
        const CliOutcome recall =
            runCli(words("recall --model %1 --text %2 --trace-out %3 --out %4 --json", {kDemo, text, trace, picture}),
                   {}, folder.path());
        QVERIFY2(recall.status == 0, recall.err.constData());
        const QJsonObject measured = recall.json();
        const int n_tokens = measured[QLatin1String("n_tokens")].toInt();
        QVERIFY(n_tokens > 10);
        // 1 and 2 layers ahead, 2 and 3 guesses; in the demo model no layer has another
        // 10 layers after it.
        QCOMPARE(measured[QLatin1String("ahead")].toArray().size(), 4);
        QFile svg(picture);
        QVERIFY(svg.open(QIODevice::ReadOnly) && svg.readAll().startsWith("<svg "));

        const QString profile = kDemo + QStringLiteral("/expert_popularity.json");
        const CliOutcome replay =
            runCli(words("replay --trace %1 --policy lru-layer,static --slots 32,64 --profile %2 --expert-bytes 1MiB "
                         "--ahead 1 --json",
                         {trace, profile}));
        QVERIFY2(replay.status == 0, replay.err.constData());
        QCOMPARE(replay.json()[QLatin1String("n_tokens")].toInt(), n_tokens);
        const QJsonArray results = replay.json()[QLatin1String("results")].toArray();
        QCOMPARE(results.size(), 6);
        QCOMPARE(results[0][QLatin1String("policy")].toString(), QStringLiteral("lru-layer"));
        QVERIFY(results[0][QLatin1String("guessed_used")].toInt() > 0);
        QVERIFY(results[0][QLatin1String("hit_rate")].toDouble() <= results[2][QLatin1String("hit_rate")].toDouble());
        QCOMPARE(results[3][QLatin1String("hit_rate")].toDouble(), 1.0);
        QCOMPARE(results[3][QLatin1String("bytes_per_token")].toDouble(), 0.0);

        const CliOutcome table = runCli(words("replay --trace %1", {trace}));
        QCOMPARE(table.status, 0);
        QVERIFY2(table.out.contains("slru") && table.out.contains("oracle") && table.out.contains("59.4 %"),
                 table.out.constData());

        const QString cache = folder.filePath(QStringLiteral("cache.svg"));
        QCOMPARE(runCli(words("replay --trace %1 --svg %2", {trace, cache})).status, 1);  // which of them?
        QVERIFY(!QFile::exists(cache));
        QCOMPARE(runCli(words("replay --trace %1 --svg %2 --policy lru --slots 16 --layers 7", {trace, cache})).status,
                 0);
        QFile cacheFile(cache);
        QVERIFY(cacheFile.open(QIODevice::ReadOnly) && cacheFile.readAll().contains("layer 7: "));
    }

    void activations_areATableOrJson() {
        QTemporaryDir folder;
        const QString text = folder.filePath(QStringLiteral("text.txt"));
        write(text, "Once upon a time there was a fox who lived in a forest.");
        const QStringList command = words("activations --model %1 --text %2", {kDemo, text});
        const CliOutcome json = runCli(command + words("--json"), {}, folder.path());
        QVERIFY2(json.status == 0, json.err.constData());
        const QJsonObject report = json.json();
        const int n_tokens = report[QLatin1String("n_tokens")].toInt();
        QVERIFY(n_tokens > 10);
        QCOMPARE(report[QLatin1String("bounds")].toArray(), (QJsonArray{0.001, 0.01, 0.1, 1.0}));
        const QJsonArray layers = report[QLatin1String("layers")].toArray();
        QCOMPARE(layers.size(), 8);
        for (const QJsonValue& layer : layers) {
            const QJsonArray below = layer[QLatin1String("below")].toArray();
            QCOMPARE(below.size(), 4);
            for (int b = 1; b < 4; ++b) QVERIFY(below[b].toDouble() >= below[b - 1].toDouble());
            QVERIFY(below[3].toDouble() > 0.5 && below[3].toDouble() <= 1);
            QCOMPARE(layer[QLatin1String("n_values")].toInt() % (2 * n_tokens), 0);  // two experts'
        }
        const CliOutcome table = runCli(command + words("--below 0.25,0.5"), {}, folder.path());
        QVERIFY2(table.out.contains("    < 0.25     < 0.5\n      0 ") && table.out.contains("\n    all "),
                 table.out.constData());
    }

    void cluster_hasARowForEachNumberOfMachines() {
        const QStringList command = words("cluster --model synthetic:dbrx --machines 5");
        const CliOutcome paper = runCli(command + words("--json"));
        QVERIFY2(paper.status == 0, paper.err.constData());
        const QJsonArray rows = paper.json()[QLatin1String("rows")].toArray();
        QCOMPARE(rows.size(), 5);
        QVERIFY(rows[0].toObject().contains(QLatin1String("failure")));
        QCOMPARE(qRound(10 * rows[1][QLatin1String("tokens_per_s")].toDouble()), 97);
        const CliOutcome others =
            runCli(command + words("--network infiniband --node-memory 300GiB --node-gbps 1600 --node-tflops 100"));
        QVERIFY2(others.out.contains("1600 GB/s, 100 TFLOP/s; InfiniBand") && others.out.contains("       1       16"),
                 others.out.constData());
    }

    void wrongUsage_isTold_data() {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("unknown policy") << QStringLiteral("replay --trace x --policy mru") << 2
                                        << QByteArray("lru-layer");
        QTest::newRow("slots and residency")
            << QStringLiteral("replay --trace x --slots 3 --residency 4") << 2 << QByteArray("excludes");
        QTest::newRow("residency") << QStringLiteral("replay --trace x --residency 25,half") << 2
                                   << QByteArray("\"half\"; expected per cent");
        QTest::newRow("more than all") << QStringLiteral("replay --trace x --residency 101%") << 2
                                       << QByteArray("from 0 to 100");
        QTest::newRow("no trace") << QStringLiteral("replay --trace /no/such") << 1 << QByteArray("/no/such");
        QTest::newRow("no text") << QStringLiteral("recall --model x") << 2 << QByteArray("--text");
        QTest::newRow("no bound") << QStringLiteral("activations --model x --text y --below 0") << 2
                                  << QByteArray("--below");
        QTest::newRow("no such network") << QStringLiteral("cluster --model synthetic:dbrx --network token-ring") << 2
                                         << QByteArray("rocev2");
        QTest::newRow("missing text") << QStringLiteral("recall --text /no/such --model ") + kDemo << 1
                                      << QByteArray("/no/such");
    }
    void wrongUsage_isTold() {
        QFETCH(QString, arguments);
        QFETCH(int, status);
        QFETCH(QByteArray, says);
        const CliOutcome outcome = runCli(words(arguments));
        QCOMPARE(outcome.status, status);
        QVERIFY2(outcome.err.contains(says), outcome.err.constData());
    }

    void moreSlotsThanExperts_areRefused() {
        QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("a.trace"));
        write(trace,
              "{\"format\":\"offstage-trace\",\"version\":1,\"model\":\"m\",\"n_layers\":1,\"n_experts\":2,\"n_"
              "active\":1}\n"
              "{\"step\":0,\"position\":0,\"kind\":\"decode\",\"experts\":[1]}\n");
        const auto replay = [&](const char* n_slots) {
            return runCli(words("replay --trace %1 --slots %2", {trace, QString::fromLatin1(n_slots)}));
        };
        QCOMPARE(replay("2").status, 0);
        const CliOutcome shares =
            runCli(words("replay --trace %1 --residency 50%,50,0.5,100 --policies lru --json", {trace}));
        QVERIFY2(shares.status == 0, shares.err.constData());
        QVERIFY2(shares.out.count("\"residency\":0.5") == 2 * 3, shares.out.constData());  // and the oracle's
        const CliOutcome outcome = replay("3");
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("0 to 2"), outcome.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestCliRecall)
#include "tst_cli_recall.moc"
