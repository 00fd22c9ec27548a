// offstage-cli perplexity and quantize-report: figures, progress, and errors for wrong
// input.

#include <cmath>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QMap>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

using offstage::test::CliOutcome;
using offstage::test::runCli;
using offstage::test::words;

namespace {

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
const QString kData = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/");
// The bytes of demo_text.txt that are the 150 tokens of the golden file's last case.
constexpr qsizetype kGoldenBytes = 317;

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

// The demo model's first layer as a separate model, an eighth of the work.
bool writeOneLayer(const QString& folder) {
    for (const char* file : {"tokenizer.model", "tokenizer_config.json", "special_tokens_map.json"}) {
        if (!QFile::copy(kDemo + QLatin1Char('/') + QLatin1String(file),
                         folder + QLatin1Char('/') + QLatin1String(file)))
            return false;
    }
    const QString weights = QStringLiteral("/model.safetensors");
    if (!QFile::link(kDemo + weights, folder + weights)) return false;
    QJsonObject config = QJsonDocument::fromJson(bytesOf(kDemo + QStringLiteral("/config.json"))).object();
    config[QLatin1String("num_hidden_layers")] = 1;
    return write(folder + QStringLiteral("/config.json"), QJsonDocument(config).toJson());
}

// One thread: with many small products, threads on a busy machine would mostly wait.
QStringList command(const char* name, const QString& model, const QString& text, const char* more = "") {
    return words("%1 --model %2 --text %3 --threads 1", {QString::fromLatin1(name), model, text}) + words(more);
}

}  // namespace

class TestCliPerplexity : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void perplexity_isThatOfTransformers() {
        const QJsonObject file =
            QJsonDocument::fromJson(bytesOf(kData + QStringLiteral("perplexity_golden.json"))).object();
        const QJsonObject golden = file[QLatin1String("cases")].toArray().last().toObject();
        QCOMPARE(golden[QLatin1String("window")].toInt(), 40);
        QCOMPARE(golden[QLatin1String("stride")].toInt(), 13);
        const QTemporaryDir folder;
        const QString text = folder.filePath(QStringLiteral("part.txt"));
        QVERIFY(write(text, bytesOf(kData + QStringLiteral("demo_text.txt")).left(kGoldenBytes)));
        const CliOutcome outcome = runCli(
            command("perplexity", kDemo, text, "--window 40 --stride 13 --compute f32 --json"), {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        QVERIFY2(outcome.err.isEmpty(), outcome.err.constData());  // progress is for terminals
        const QJsonObject json = outcome.json();
        const int n_scored = golden[QLatin1String("n_scored")].toInt();
        const double expected = golden[QLatin1String("negative_log_likelihood")].toDouble();
        QCOMPARE(json[QLatin1String("n_tokens")].toInt(), n_scored);
        const double measured = json[QLatin1String("negative_log_likelihood")].toDouble();
        QVERIFY2(std::abs(measured / expected - 1) < 1e-4, qPrintable(QString::number(measured, 'g', 12)));
        QVERIFY(std::abs(json[QLatin1String("perplexity")].toDouble() / std::exp(expected / n_scored) - 1) < 1e-3);
        QCOMPARE(json[QLatin1String("model")].toString(), QStringLiteral("demo-model"));
        QCOMPARE(json[QLatin1String("text")].toString(), text);
        QCOMPARE(json[QLatin1String("window")].toInt(), 40);
        QCOMPARE(json[QLatin1String("stride")].toInt(), 13);
        QCOMPARE(json[QLatin1String("answers_after")].toString(), QString());
        QCOMPARE(json[QLatin1String("weight_type")].toString(), QStringLiteral("BF16"));
        QCOMPARE(json[QLatin1String("compute")].toString(), QStringLiteral("f32"));
        QVERIFY(json[QLatin1String("weight_bytes")].toDouble() > 1e6);

        const CliOutcome sentence =
            runCli(command("perplexity", kDemo, text, "--window 40 --stride 13 --compute f32"), {}, folder.path());
        QCOMPARE(sentence.status, 0);
        QVERIFY2(sentence.out.contains("over 149 tokens (windows of 40, stride 13)"), sentence.out.constData());
    }

    void report_hasEveryCell_andTellsHowFarItIs() {
        const QTemporaryDir folder;
        const QString text = folder.filePath(QStringLiteral("short.txt"));
        QVERIFY(write(text, bytesOf(kData + QStringLiteral("demo_text.txt")).left(60)));
        const QString model = folder.filePath(QStringLiteral("one-layer"));
        QVERIFY(QDir().mkdir(model) && writeOneLayer(model));
        const CliOutcome outcome =
            runCli(command("quantize-report", model, text, "--window 16 --stride 8 --json --keep"), {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QJsonObject json = outcome.json();
        const QJsonArray rows = json[QLatin1String("rows")].toArray();
        QCOMPARE(rows.size(), 3 * 8);
        QCOMPARE(json[QLatin1String("text")].toString(), QStringLiteral("short.txt"));
        QVERIFY(json[QLatin1String("n_tokens")].toInt() > 10);
        QSet<QString> cells;
        for (const QJsonValue& row : rows) {
            cells.insert(QString::number(row[QLatin1String("attention_bits")].toInt()) + QLatin1Char(' ') +
                         row[QLatin1String("experts")].toString());
            QVERIFY(row[QLatin1String("perplexity")].toDouble() >= 1);
            QVERIFY(row[QLatin1String("mean_kl")].toDouble() >= 0);
            QVERIFY(row[QLatin1String("bytes")].toDouble() <= rows[0][QLatin1String("bytes")].toDouble());
        }
        QCOMPARE(cells.size(), rows.size());
        QVERIFY(cells.contains(QStringLiteral("16 bf16")) && cells.contains(QStringLiteral("4 hqq2")));
        // The first is the reference for the others: no distance to itself.
        QVERIFY(rows[0][QLatin1String("mean_kl")].toDouble() < 1e-6);  // its logits are kept rounded
        QCOMPARE(rows[0][QLatin1String("same_top")].toDouble(), 1.0);
        QCOMPARE(json[QLatin1String("markdown")].toString().count(QLatin1Char('\n')), rows.size() + 2);
        QVERIFY2(outcome.err.count('\n') >= rows.size(), outcome.err.constData());
        QVERIFY2(outcome.err.contains("hqq3"), outcome.err.constData());
        // The loss of each format of experts, all else as in the first row, is stored
        // beside the model.
        const QByteArray written = bytesOf(model + QStringLiteral("/neuron_thresholds.json"));
        const QJsonObject kept = QJsonDocument::fromJson(written).object();
        QMap<QString, double> losses;
        for (const QJsonValue& each : kept[QLatin1String("formats")].toArray()) {
            losses[each[QLatin1String("format")].toString()] = each[QLatin1String("mean_kl")].toDouble();
            QCOMPARE(each[QLatin1String("text")].toString(), QStringLiteral("short.txt"));
        }
        int found = 0;
        for (const QJsonValue& row : rows) {
            const QString experts = row[QLatin1String("experts")].toString();
            if (row[QLatin1String("attention_bits")].toInt() != 16 || !losses.contains(experts)) continue;
            QCOMPARE(losses[experts], row[QLatin1String("mean_kl")].toDouble());
            ++found;
        }
        QCOMPARE(found, losses.size());
        QVERIFY(losses.contains(QStringLiteral("hqq4")) && losses.contains(QStringLiteral("int8")) &&
                !losses.contains(QStringLiteral("bf16")) && !losses.contains(QStringLiteral("rtn2")));
    }

    void wrongInput_isTold_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("options");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no text") << QByteArray() << QString() << 1 << QByteArray("there is no such text");
        QTest::newRow("not UTF-8") << QByteArray("\xff\xfe") << QString() << 1 << QByteArray("is not UTF-8");
        QTest::newRow("a stride as long as the window")
            << QByteArray("once upon a time") << QStringLiteral("--window 8 --stride 8") << 1
            << QByteArray("expected 1 to 7");
        QTest::newRow("a window of nothing")
            << QByteArray("once") << QStringLiteral("--window 0") << 2 << QByteArray("--window");
        QTest::newRow("answers without special tokens")
            << QByteArray("once") << QStringLiteral("--answers-after <|user|>") << 2 << QByteArray("--special");
        QTest::newRow("unknown policy") << QByteArray("once") << QStringLiteral("--policy mine") << 2
                                        << QByteArray("auto, threshold");
    }
    void wrongInput_isTold() {
        QFETCH(QByteArray, text);
        QFETCH(QString, options);
        QFETCH(int, status);
        QFETCH(QByteArray, says);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("some.txt"));
        if (!text.isEmpty()) QVERIFY(write(file, text));
        for (const char* name : {"perplexity", "quantize-report"}) {
            const CliOutcome outcome =
                runCli(command(name, kDemo, file, options.toLatin1().constData()), {}, folder.path());
            QCOMPARE(outcome.status, status);
            QVERIFY2(outcome.err.contains(says), outcome.err.constData());
            QVERIFY(outcome.out.isEmpty());
            if (text.isEmpty()) QVERIFY2(outcome.err.contains(file.toUtf8()), outcome.err.constData());
        }
    }

    void model_thatIsNotThere_isNamed() {
        const QTemporaryDir folder;
        const QString text = folder.filePath(QStringLiteral("some.txt"));
        QVERIFY(write(text, "once upon a time"));
        for (const char* name : {"perplexity", "quantize-report"}) {
            const CliOutcome outcome = runCli(command(name, QStringLiteral("/no/model"), text), {}, folder.path());
            QCOMPARE(outcome.status, 1);
            QVERIFY2(outcome.err.contains("/no/model") && outcome.err.contains("config.json"), outcome.err.constData());
        }
    }
};

QTEST_GUILESS_MAIN(TestCliPerplexity)
#include "tst_cli_perplexity.moc"
