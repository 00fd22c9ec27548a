// tests/device: what measures on a GPU, tried without one. decode_layers runs on a CUDA
// made of threads; device_kit.sh packs programs, and runs parts within their limits.

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

using namespace offstage::test;

namespace {

const QString kScript = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/device/device_kit.sh");
const QString kDecodeLayers = QStringLiteral(OFFSTAGE_BIN_DIR "/../tests/decode_layers_on_host");
const QString kPromptExperts = QStringLiteral(OFFSTAGE_BIN_DIR "/../tests/prompt_experts_on_host");

void write(const QString& path, const QByteArray& text) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write(text) == text.size());
}

// With the variables of `environment`, "NAME=value" each.
CliOutcome runKit(const QStringList& environment, const QStringList& arguments) {
    return runProgram(QStringLiteral("env"), environment + arguments);
}

QJsonObject resultIn(const QString& folder) {
    QFile file(folder + QStringLiteral("/result.json"));
    QTest::qVerify(file.open(QIODevice::ReadOnly), "result.json", "", __FILE__, __LINE__);
    return QJsonDocument::fromJson(file.readAll()).object()[QLatin1String("parts")].toObject();
}

}  // namespace

class TestDeviceKit : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Layers of each shape become graphs; nothing fails, and all that is printed is JSON.
    void decodeLayers_timesEveryOperationInGraphs() {
        const CliOutcome outcome =
            runProgram(kDecodeLayers, words(QStringLiteral("--widths narrow --layers 2 --past 70 --rounds 1")));
        QVERIFY2(outcome.status == 0, outcome.err);
        const QList<QByteArray> lines = outcome.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        qsizetype graphs = 0, shapes = 0;
        for (const QByteArray& line : lines) {
            const QJsonObject shape = QJsonDocument::fromJson(line).object();
            QVERIFY2(shape[QLatin1String("ok")].toBool(), line);
            const bool blocks = !line.contains("HQQ4");
            QCOMPARE(shape.contains(QLatin1String("int8_inputs")), blocks);
            QCOMPARE(shape[QLatin1String("row_layout")][QLatin1String("same_bits")].toBool(), blocks);
            const QJsonObject times = shape[QLatin1String("float32_inputs")].toObject();
            const QJsonObject oneByOne = times[QLatin1String("one_by_one")].toObject();
            const qsizetype n_operations = line.contains("Q4_K") ? 14 : 10;  // with head norms and three projections
            QCOMPARE(oneByOne[QLatin1String("less_without")].toObject().size(), n_operations);
            const QJsonObject toHost = times[QLatin1String("to_host")].toObject();
            for (const QJsonValue& us : {times[QLatin1String("us_a_layer")], oneByOne[QLatin1String("us_a_layer")],
                                         toHost[QLatin1String("by_words")], toHost[QLatin1String("by_events")],
                                         times[QLatin1String("logits_us")]}) {
                QVERIFY(us.toDouble() > 0);
            }
            // In few kernels, operation by operation, with points, without each
            // operation, and the logits: a graph each, and one for each layer to the host
            // by words and by events; replayed from the second of five times on. Blocks once
            // more with rows laid out and as in the file. With a part of the host's: two of
            // each layer and one behind them, or one, which is built at once.
            graphs += (n_operations + 4 + 4 + (blocks ? 2 : 0)) * (blocks ? 2 : 1) + 5 + 1;
            QCOMPARE(shape[QLatin1String("graphs")].toInt(), graphs);
            QCOMPARE(shape[QLatin1String("replayed")].toInt(), 4 * graphs + ++shapes);
            const QJsonObject hostPart = shape[QLatin1String("host_part")].toObject();
            QVERIFY2(hostPart[QLatin1String("same_bits")].toBool(), line);
            QCOMPARE(hostPart[QLatin1String("graphs")].toArray(), QJsonArray({1, 5}));
            QVERIFY(hostPart[QLatin1String("one_graph_us")].toDouble() > 0);
            QVERIFY(hostPart[QLatin1String("two_graphs_a_layer_us")].toDouble() > 0);
        }
    }

    // A prompt's experts, grouped by the device and by the host: the same bits.
    void promptExperts_haveTheSameBitsEitherWay() {
        const CliOutcome outcome =
            runProgram(kPromptExperts, words(QStringLiteral("--widths narrow --tokens 40 --rounds 1")));
        QVERIFY2(outcome.status == 0, outcome.err);
        const QList<QByteArray> lines = outcome.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 2);
        for (const QByteArray& line : lines) {
            const QJsonObject experts = QJsonDocument::fromJson(line).object();
            QVERIFY2(experts[QLatin1String("ok")].toBool(), line);
            QVERIFY(experts[QLatin1String("listed_us")].toDouble() > 0);
            QVERIFY2(experts[QLatin1String("grouped_us")].toDouble() > 0, line);
        }
    }

    // Where an expert has more rows than the table of products groups, both ways are
    // timed all the same.
    void promptExperts_areGroupedBeyondTheLimit() {
        const CliOutcome outcome = runProgram(
            kPromptExperts,
            words(QStringLiteral("--widths narrow --groups always --choice one --tokens 40,520 --rounds 1")));
        QVERIFY2(outcome.status == 0, outcome.err);
        const QList<QByteArray> lines = outcome.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 2);
        for (const QByteArray& line : lines) {
            const QJsonObject experts = QJsonDocument::fromJson(line).object();
            QVERIFY2(experts[QLatin1String("ok")].toBool() && line.contains("HQQ4"), line);
            QVERIFY2(experts[QLatin1String("grouped_us")].toDouble() > 0, line);
            QCOMPARE(experts[QLatin1String("chosen")].toBool(), experts[QLatin1String("tokens")].toInt() == 40);
        }
    }

    // A part that hangs, one that fails, one that is not there, and one that would take
    // the time of a more important one.
    void run_keepsPartsWithinTheirTime() {
        const QTemporaryDir folder;
        const QString parts = folder.filePath(QStringLiteral("parts"));
        write(parts, R"(part 1 1 60 json printf '{"a": 1,\n "b": [2]}\n'
part 1 1 60 lines printf '{"a": 1}\n{"a": 2}\n'
part 1 1 60 text printf 'a "quoted" \\ back\tslash\nsecond\n'
part 1 1 60 fails bash -c 'echo "no GPU" >&2; echo partly; exit 3'
part 1 1 20 hangs bash -c 'echo begun; sleep 60'
part 3 1000 2000 minor true
part 2 1 5 nothing no-such-program
part 1 1000 2000 last printf '{"end": true}'
)");
        const CliOutcome outcome = runKit({QStringLiteral("KIT_PARTS=") + parts, QStringLiteral("KIT_SECONDS=1500")},
                                          {kScript, QStringLiteral("run"), folder.filePath(QStringLiteral("out"))});
        QCOMPARE(outcome.status, 0);
        const QJsonObject got = resultIn(folder.filePath(QStringLiteral("out")));
        const auto state = [&](const char* part) {
            return got[QLatin1String(part)][QLatin1String("state")].toString();
        };
        const auto result = [&](const char* part) { return got[QLatin1String(part)][QLatin1String("result")]; };
        QCOMPARE(state("json"), QStringLiteral("ok"));
        QCOMPARE(result("json")[QLatin1String("b")].toArray().at(0).toInt(), 2);
        QCOMPARE(result("lines").toArray().at(1)[QLatin1String("a")].toInt(), 2);
        QCOMPARE(result("text").toString(), QStringLiteral("a \"quoted\" \\ back\tslash\nsecond"));
        QCOMPARE(state("fails"), QStringLiteral("failed"));
        QCOMPARE(got[QLatin1String("fails")][QLatin1String("exit")].toInt(), 3);
        QCOMPARE(got[QLatin1String("fails")][QLatin1String("error")].toString().trimmed(), QStringLiteral("no GPU"));
        QCOMPARE(state("hangs"), QStringLiteral("timed_out"));
        QCOMPARE(result("hangs").toString().trimmed(), QStringLiteral("begun"));
        QCOMPARE(state("minor"), QStringLiteral("left_out"));
        QCOMPARE(state("nothing"), QStringLiteral("absent"));
        QCOMPARE(state("last"), QStringLiteral("ok"));
        QVERIFY(QFileInfo::exists(folder.filePath(QStringLiteral("out/logs.tar.gz"))));
    }

    // The packed kit has the programs' libraries, and runs where it was unpacked.
    void pack_runsElsewhere() {
        if (QStandardPaths::findExecutable(QStringLiteral("xz")).isEmpty()) QSKIP("no xz here");
        const QTemporaryDir folder;
        const QDir here(folder.path());
        QVERIFY(here.mkpath(QStringLiteral("programs")) && here.mkpath(QStringLiteral("elsewhere")));
        QVERIFY(QFile::copy(kDecodeLayers, here.filePath(QStringLiteral("programs/decode_layers"))));
        const QStringList pack = {kScript, QStringLiteral("pack"), here.filePath(QStringLiteral("programs"))};
        const QString quickly = QStringLiteral("KIT_XZ_LEVEL=0");
        const CliOutcome packed = runKit({quickly}, pack);
        QVERIFY2(packed.status == 0, packed.err);
        const CliOutcome refused = runKit({quickly, QStringLiteral("KIT_MOST_MIB=0")}, pack);
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.err.contains("larger than 0 MiB"), refused.err);
        QCOMPARE(
            runProgram(QStringLiteral("tar"), {QStringLiteral("-C"), here.filePath(QStringLiteral("elsewhere")),
                                               QStringLiteral("-xJf"), here.filePath(QStringLiteral("kit.tar.xz"))})
                .status,
            0);
        const QString kit = here.filePath(QStringLiteral("elsewhere/kit/"));
        QVERIFY(QFileInfo::exists(kit + QStringLiteral("lib/libstdc++.so.6")));
        const QString parts = here.filePath(QStringLiteral("parts"));
        write(parts, "part 1 1 500 layers ./decode_layers --widths narrow --layers 1 --rounds 1\n");
        const CliOutcome ran = runKit({QStringLiteral("KIT_PARTS=") + parts},
                                      {kit + QStringLiteral("device_kit.sh"), QStringLiteral("run")});
        QCOMPARE(ran.status, 0);
        const QJsonObject layers = resultIn(kit + QStringLiteral("out"))[QLatin1String("layers")].toObject();
        QCOMPARE(layers[QLatin1String("result")].toArray().size(), 3);
        const CliOutcome plan = runKit({}, {kit + QStringLiteral("device_kit.sh"), QStringLiteral("plan")});
        QCOMPARE(plan.status, 0);
        QVERIFY(plan.out.contains("layers          \n") && plan.out.contains("contract          absent\n"));
    }
};

QTEST_GUILESS_MAIN(TestDeviceKit)
#include "tst_device_kit.moc"
