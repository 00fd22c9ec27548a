// offstage-cli on devices: budgets, policies, beams, profiles, plans, calibrations and
// scenarios, on the demo model and an emulated GPU with a few MiB.

#include <cmath>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

namespace {

using Outcome = offstage::test::CliOutcome;
using offstage::test::words;

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
const QString kText = kDemo + QStringLiteral("/README.md");
const QStringList kEmulated = words("--device emulated:rtx-3060 --vram 14MiB");
constexpr double kMiB = 1024 * 1024;

}  // namespace

class TestCliDevices : public QObject {
    Q_OBJECT

    QTemporaryDir home_;  // calibrations are stored here, not in the user's cache

    Outcome run(const QStringList& arguments) const { return offstage::test::runCli(arguments, {}, home_.path()); }
    QJsonObject json(const QStringList& arguments) const {
        const Outcome outcome = run(arguments + words("--json"));
        if (outcome.status != 0) qWarning("%s", outcome.err.constData());
        return outcome.json();
    }
    // One thread: on a busy machine more threads would mostly wait.
    QStringList generate(const QStringList& more = {}, const char* temperature = "--temperature 0") const {
        return words("generate --max-tokens 24 --context 256 --compute f32 --threads 1 --prompt %1 --model %2",
                     {QStringLiteral("What is an expert?"), kDemo}) +
               words(temperature) + more;
    }
    QString profile() const {
        const QString path = home_.filePath(QStringLiteral("profile.json"));
        if (!QFile::exists(path)) {
            run(words("profile --model %1 --text %2 --out %3", {kDemo, kText, path}));
        }
        return path;
    }

  private Q_SLOTS:
    void initTestCase() { QVERIFY(home_.isValid()); }

    void wrongUsage_isStatus2_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* arguments, const char* says) {
            QTest::newRow(name) << words(arguments) << QString::fromLatin1(says);
        };
        row("no such device", "generate --model x --prompt y --device gpu", "emulated:PROFILE");
        row("no device number", "chat --model x --device cuda:one", "cuda:N");
        row("size of letters", "logits --model x --tokens 1 --vram many", "many");
        row("size below zero", "bench --model x --vram -1MiB", "-1MiB");
        row("no such policy", "generate --model x --prompt y --policy fastest", "threshold");
        row("no such part of a policy", "generate --model x --prompt y --policy prefill=static,decod=static", "decod");
        row("beam too wide", "generate --model x --prompt y --beam 17", "16");
        row("no answers", "generate --model x --prompt y --answers 0", "--answers");
        row("beams and answers", "generate --model x --prompt y --beam 4 --answers 2", "--beam");
        row("comparison of nothing", "bench --model x --compare static", "--scenario");
        row("comparison with none", "bench --model x --compare-thetas 0.1,0", "--compare-thetas");
        row("no such scenario", "bench --model x --scenario chat", "prefill");
        row("no such policy to compare", "bench --model x --scenario decode --compare static,quick", "quick");
        row("width of 17", "bench --model x --scenario beam --widths 4,17", "16");
        row("profile of nothing", "profile --model x --out y", "--text");
        row("plan of nothing", "plan", "--model");
        row("prompt of nothing", "plan --model x --prompt 0", "--prompt");
    }
    void wrongUsage_isStatus2() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 2);
        QCOMPARE(outcome.out, QByteArray());
        QVERIFY2(QString::fromUtf8(outcome.err).contains(says), outcome.err.constData());
    }

    void failure_isOneLine_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("unknown profile of a device")
            << generate(words("--device emulated:voodoo-2")) << QStringLiteral("rtx-3060");
        QTest::newRow("budget below the dense weights")
            << generate(words("--device emulated:rtx-3060 --vram 1MiB")) << QStringLiteral("MiB");
        QTest::newRow("VRAM of the CPU") << generate(words("--vram 8MiB")) << QStringLiteral("VRAM");
        QTest::newRow("budget above the device")
            << generate(words("--device emulated:rtx-3060 --vram 13GiB")) << QStringLiteral("GiB");
        QTest::newRow("missing profile of expert use")
            << generate(kEmulated + words("--profile /no/such.json")) << QStringLiteral("/no/such.json");
        QTest::newRow("profile that is none")
            << generate(kEmulated + QStringList{QStringLiteral("--profile"), kDemo + QStringLiteral("/config.json")})
            << QStringLiteral("config.json");
        QTest::newRow("missing text") << words("profile --text /no/such.txt --out /dev/null --model %1", {kDemo})
                                      << QStringLiteral("/no/such.txt");
        QTest::newRow("text of nothing") << words("profile --text /dev/null --out /dev/null --model %1", {kDemo})
                                         << QStringLiteral("no token");
        QTest::newRow("text that is no text") << words("profile --out /dev/null --model %1 --text %2",
                                                       {kDemo, kDemo + QStringLiteral("/model.safetensors")})
                                              << QStringLiteral("UTF-8");
        QTest::newRow("scenario beyond the context")
            << words("bench --scenario prefill --in 4096 --model %1", {kDemo}) << QStringLiteral("2048");
    }
    void failure_isOneLine() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 1);
        QCOMPARE(outcome.out, QByteArray());
        QVERIFY2(outcome.err.endsWith('\n') && outcome.err.count('\n') == 1, outcome.err.constData());
        QVERIFY2(QString::fromUtf8(outcome.err).contains(says), outcome.err.constData());
    }

    void generate_json_saysWhereItRan_data() {
        QTest::addColumn<QStringList>("device");
        QTest::addColumn<QString>("id");
        QTest::newRow("cpu") << QStringList() << QStringLiteral("cpu");
        QTest::newRow("emulated") << kEmulated << QStringLiteral("emulated:rtx-3060");
    }
    void generate_json_saysWhereItRan() {
        QFETCH(QStringList, device);
        QFETCH(QString, id);
        const bool emulated = id != QLatin1String("cpu");
        const QJsonObject report = json(generate(device));
        for (const char* key : {"text", "tokens", "prompt_tokens", "ttft_s", "decode_tokens_per_s", "finish", "seed",
                                "device", "emulated", "policy", "resident_experts", "total_experts",
                                "vram_budget_bytes", "vram_high_water_bytes", "hit_rate", "bytes_copied"}) {
            QVERIFY2(report.contains(QLatin1String(key)), key);
        }
        QCOMPARE(report[QLatin1String("device")].toString(), id);
        QCOMPARE(report[QLatin1String("emulated")].toBool(!emulated), emulated);
        QCOMPARE(report[QLatin1String("total_experts")].toInt(), 64);
        QVERIFY(report[QLatin1String("policy")].toString().contains(QLatin1String("balanced")));
        const double high_water = report[QLatin1String("vram_high_water_bytes")].toDouble();
        const int resident = report[QLatin1String("resident_experts")].toInt();
        if (emulated) {
            QCOMPARE(report[QLatin1String("vram_budget_bytes")].toDouble(), 14 * kMiB);
            QVERIFY(high_water > 3 * kMiB && high_water <= 14 * kMiB);
            QVERIFY2(resident > 0 && resident < 64, qPrintable(QString::number(resident)));
            const double hit_rate = report[QLatin1String("hit_rate")].toDouble();
            QVERIFY2(hit_rate > 0 && hit_rate < 1, qPrintable(QString::number(hit_rate)));
        } else {
            QCOMPARE(resident, 64);
            QCOMPARE(report[QLatin1String("bytes_copied")].toDouble(-1), 0.0);
        }
    }

    // The state after the answer, not that at the model's load.
    void generate_json_saysWhatIsInForce() {
        QFile script(home_.filePath(QStringLiteral("replan.jsonl")));
        QVERIFY(script.open(QIODevice::WriteOnly));
        script.write("{\"at_token\": 0, \"vram\": \"11MiB\"}\n");
        script.close();
        const QStringList args = words(
                                     "generate --max-tokens 120 --context 256 --threads 1 --temperature 0 --prompt %1 "
                                     "--model %2",
                                     {QStringLiteral("Tell me a story about a fox."), kDemo}) +
                                 kEmulated;
        const QJsonObject before = json(args);
        const QJsonObject after = json(args + QStringList{QStringLiteral("--replan-script"), script.fileName()});
        const QJsonObject replan = after[QLatin1String("replans")].toArray().first().toObject();
        QVERIFY2(replan[QLatin1String("state")] == QLatin1String("done"),
                 qPrintable(replan[QLatin1String("state")].toString()));
        QCOMPARE(after[QLatin1String("vram_budget_bytes")].toDouble(), 11 * kMiB);
        QCOMPARE(after[QLatin1String("resident_experts")].toInt(), replan[QLatin1String("resident_experts")].toInt());
        QVERIFY(after[QLatin1String("resident_experts")].toInt() < before[QLatin1String("resident_experts")].toInt());
        QCOMPARE(after[QLatin1String("ram_budget_bytes")].toDouble() > 0, true);
    }

    void generate_sameAnswer_whateverTheDevice_data() {
        QTest::addColumn<QStringList>("device");
        QTest::newRow("emulated") << kEmulated;
        QTest::newRow("other GPU, everything fits") << words("--device emulated:a100 --vram 64MiB");
        QTest::newRow("few in RAM") << kEmulated + words("--ram 16MiB");
        for (const char* policy :
             {"balanced", "static", "threshold", "transfer", "layers", "prefill=transfer,decode=static"}) {
            QTest::newRow(policy) << kEmulated + words("--policy") + QStringList{QString::fromLatin1(policy)};
        }
        QTest::newRow("placed by profile") << kEmulated + words("--profile") + QStringList{QStringLiteral("PROFILE")};
    }
    void generate_sameAnswer_whateverTheDevice() {
        QFETCH(QStringList, device);
        device.replaceInStrings(QStringLiteral("PROFILE"), profile());
        static const QJsonObject cpu = json(generate());
        QVERIFY(cpu[QLatin1String("tokens")].toArray().size() > 10);
        const QJsonObject report = json(generate(device));
        QCOMPARE(report[QLatin1String("tokens")], cpu[QLatin1String("tokens")]);
        QCOMPARE(report[QLatin1String("text")], cpu[QLatin1String("text")]);
    }

    void transfer_copiesWhatIsMissing_staticCopiesNothing() {
        const QJsonObject transfer = json(generate(kEmulated + words("--policy transfer")));
        const QJsonObject none = json(generate(kEmulated + words("--policy static")));
        // Whole experts of 3 * 192 * 256 bfloat16.
        const double copied = transfer[QLatin1String("bytes_copied")].toDouble();
        QVERIFY(copied > 0);
        QCOMPARE(std::fmod(copied, 3 * 192 * 256 * 2), 0.0);
        QCOMPARE(none[QLatin1String("bytes_copied")].toDouble(-1), 0.0);
    }

    void emulatedRun_saysSo_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("generate") << generate(kEmulated);
        QTest::newRow("plan") << words("plan --context 256 --model %1", {kDemo}) + kEmulated;
        QTest::newRow("calibrate") << words("calibrate --model %1", {kDemo}) + kEmulated;
        QTest::newRow("scenario") << words("bench --scenario prefill --in 16 --repeat 1 --model %1", {kDemo}) +
                                         kEmulated;
    }
    void emulatedRun_saysSo() {
        QFETCH(QStringList, arguments);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 0);
        const QByteArray all = outcome.out + outcome.err;
        QVERIFY2(
            all.contains("RTX 3060") && all.contains("emulated") && all.contains("accounted time, not a measurement"),
            all.constData());
    }

    void beams_answersAreSorted_andTheBestIsTheText() {
        const QJsonObject report = json(generate(words("--beam 4 --length-penalty 0.5")));
        const QJsonArray answers = report[QLatin1String("answers")].toArray();
        QCOMPARE(answers.size(), 4);
        QCOMPARE(answers[0][QLatin1String("text")], report[QLatin1String("text")]);
        for (qsizetype i = 1; i < answers.size(); ++i) {
            QVERIFY(answers[i][QLatin1String("score")].toDouble() <= answers[i - 1][QLatin1String("score")].toDouble());
            QVERIFY(answers[i][QLatin1String("text")] != answers[0][QLatin1String("text")]);
        }
        const QJsonObject emulated = json(generate(kEmulated + words("--beam 4 --length-penalty 0.5")));
        const QJsonArray same = emulated[QLatin1String("answers")].toArray();
        for (qsizetype i = 0; i < answers.size(); ++i) {
            QCOMPARE(same[i][QLatin1String("tokens")], answers[i][QLatin1String("tokens")]);
        }
        const Outcome plain = run(generate(words("--beam 4 --length-penalty 0.5")));
        QCOMPARE(plain.out.count('\n'), 4);
        QVERIFY(plain.out.contains(report[QLatin1String("text")].toString().toUtf8()));
    }

    void answers_areAsManyAsAsked() {
        const QJsonObject report = json(generate(words("--answers 3 --seed 5"), "--temperature 1"));
        QCOMPARE(report[QLatin1String("answers")].toArray().size(), 3);
        QCOMPARE(report[QLatin1String("answers")][0][QLatin1String("text")], report[QLatin1String("text")]);
    }

    void profile_countsEveryToken_andServesPlacement() {
        QFile file(profile());
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject counted = QJsonDocument::fromJson(file.readAll()).object();
        QCOMPARE(counted[QLatin1String("format")].toString(), QStringLiteral("offstage-popularity"));
        const double tokens = counted[QLatin1String("n_tokens")].toDouble();
        QVERIFY(tokens > 1000);
        const QJsonArray layers = counted[QLatin1String("counts")].toArray();
        QCOMPARE(layers.size(), 8);
        for (const QJsonValue& layer : layers) {
            double sum = 0;
            for (const QJsonValue& count : layer.toArray()) sum += count.toDouble();
            QCOMPARE(sum, 2 * tokens);
        }
        // The device and its budget do not change the counts.
        const QString other = home_.filePath(QStringLiteral("emulated.json"));
        const QJsonObject report = json(words("profile --model %1 --text %2 --out %3", {kDemo, kText, other}) +
                                        words("--device emulated:rtx-3060 --vram 24MiB"));
        QCOMPARE(report[QLatin1String("n_tokens")].toDouble(), tokens);

        const QStringList plan = words("plan --context 256 --model %1", {kDemo}) + kEmulated;
        const QJsonObject known = json(plan + words("--profile %1", {profile()}));
        QCOMPARE(known[QLatin1String("popularity")].toString(), QStringLiteral("README.md"));
        const double share = known[QLatin1String("resident_experts")].toDouble() / 64;
        QVERIFY(known[QLatin1String("expected_hit_rate")].toDouble() > share);
    }

    // Shorter windows count the same tokens (the demo model's tokenizer adds no BOS),
    // with less context before them.
    void profile_windows_areTheContexts() {
        const QString text = home_.filePath(QStringLiteral("text.txt"));
        QFile file(text);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray("An expert is one of several small networks inside a layer. ").repeated(10));
        file.close();
        const auto count = [&](const char* context) {
            const QString out = home_.filePath(QStringLiteral("short.json"));
            const Outcome outcome = run(words("profile --context %1 --model %2 --text %3 --out %4",
                                              {QString::fromLatin1(context), kDemo, text, out}));
            QFile written(out);
            return outcome.status == 0 && written.open(QIODevice::ReadOnly)
                       ? QJsonDocument::fromJson(written.readAll()).object()
                       : QJsonObject();
        };
        const QJsonObject whole = count("2048"), again = count("1024"), windows = count("64");
        QVERIFY(whole[QLatin1String("n_tokens")].toInt() > 150);
        QCOMPARE(again, whole);
        QCOMPARE(windows[QLatin1String("n_tokens")], whole[QLatin1String("n_tokens")]);
        QVERIFY(windows[QLatin1String("counts")] != whole[QLatin1String("counts")]);
    }

    void bench_runsThePlanThatPlanShows() {
        const QStringList what =
            words("--prompt 32 --model %1 --compute f32 --threads 1 --device emulated:rtx-3060-desktop --vram 14MiB",
                  {kDemo});
        const QJsonObject planned = json(words("plan") + what);
        const QJsonObject benched = json(words("bench --decode 2 --repeat 1") + what);
        for (const char* figure : {"decode_tokens_per_s", "ttft_s", "hit_rate"}) {
            const double expected = planned[QLatin1String("forecast")][QLatin1String(figure)].toDouble();
            QVERIFY(expected > 0);
            QCOMPARE(benched[QLatin1String("forecast")][QLatin1String(figure)].toDouble(), expected);
        }
    }

    void plan_isWhatALoadDoes() {
        const QJsonObject plan =
            json(words("plan --context 256 --compute f32 --threads 2 --model %1", {kDemo}) + kEmulated);
        const double parts =
            plan[QLatin1String("dense_bytes")].toDouble() + plan[QLatin1String("kv_bytes")].toDouble() +
            plan[QLatin1String("expert_bytes")].toDouble() + plan[QLatin1String("staging_bytes")].toDouble() +
            plan[QLatin1String("workspace_bytes")].toDouble();
        QCOMPARE(plan[QLatin1String("vram_bytes")].toDouble(), parts);
        QVERIFY(parts <= 14 * kMiB);
        QCOMPARE(plan[QLatin1String("vram_budget_bytes")].toDouble(), 14 * kMiB);
        QCOMPARE(plan[QLatin1String("bytes_per_expert")].toDouble(), 3.0 * 192 * 256 * 2);
        int resident = 0;
        const QJsonArray layers = plan[QLatin1String("resident_per_layer")].toArray();
        QCOMPARE(layers.size(), 8);
        for (const QJsonValue& n : layers) resident += n.toInt();
        QCOMPARE(plan[QLatin1String("resident_experts")].toInt(), resident);
        QCOMPARE(resident + plan[QLatin1String("ram_experts")].toInt() + plan[QLatin1String("disk_experts")].toInt(),
                 64);
        const QJsonObject forecast = plan[QLatin1String("forecast")].toObject();
        QVERIFY(forecast[QLatin1String("decode_tokens_per_s")].toDouble() > 0);
        QVERIFY(forecast[QLatin1String("ttft_s")].toDouble() > 0);
        QVERIFY(plan[QLatin1String("emulated")].toBool());

        const QJsonObject loaded = json(generate(kEmulated));
        QCOMPARE(loaded[QLatin1String("resident_experts")].toInt(), resident);
        QCOMPARE(loaded[QLatin1String("expected_hit_rate")].toDouble(),
                 plan[QLatin1String("expected_hit_rate")].toDouble());
        QVERIFY(loaded[QLatin1String("vram_high_water_bytes")].toDouble() <= parts);
    }

    // Shapes are enough: of a folder with only config.json, and of a model far larger
    // than this machine.
    void plan_needsNoWeights() {
        QTemporaryDir folder;
        QVERIFY(QFile::copy(kDemo + QStringLiteral("/config.json"), folder.filePath(QStringLiteral("config.json"))));
        const QStringList options = words("--context 256 --device emulated:rtx-3060 --vram 14MiB");
        const QJsonObject bare = json(words("plan --model %1", {folder.path()}) + options);
        const QJsonObject whole = json(words("plan --model %1", {kDemo}) + options);
        QCOMPARE(bare[QLatin1String("resident_experts")], whole[QLatin1String("resident_experts")]);
        QCOMPARE(bare[QLatin1String("vram_bytes")], whole[QLatin1String("vram_bytes")]);

        const QJsonObject large = json(words("plan --model synthetic:mixtral-8x7b --device emulated:rtx-6000-ada"));
        QCOMPARE(large[QLatin1String("total_experts")].toInt(), 256);
        const int resident = large[QLatin1String("resident_experts")].toInt();
        QVERIFY2(resident > 100 && resident < 140, qPrintable(QString::number(resident)));
        QVERIFY(large[QLatin1String("forecast")][QLatin1String("decode_tokens_per_s")].toDouble() > 0.5);
    }

    // The neurons that a theta leaves out of the forecast, and the source of their
    // number.
    void plan_withATheta_saysWhatItAssumes() {
        const QStringList base = words(
            "plan --policy transfer --model synthetic:mixtral-8x7b --device emulated:corm "
            "--quant experts=hqq4 --vram 8GiB --ram 64GiB");
        const auto speed = [](const QJsonObject& plan) {
            return plan[QLatin1String("forecast")][QLatin1String("decode_tokens_per_s")].toDouble();
        };
        const QJsonObject whole = json(base);
        QCOMPARE(whole[QLatin1String("active_share")].toDouble(), 1.0);
        const QJsonObject assumed = json(base + words("--theta 0.25"));
        QCOMPARE(assumed[QLatin1String("active_share")].toDouble(), 0.5);
        QCOMPARE(assumed[QLatin1String("active_share_is")].toString(), QStringLiteral("assumed"));
        QVERIFY(assumed[QLatin1String("copies_sparse")].toBool());
        const QJsonObject given = json(base + words("--theta 0.25 --active-share 0.3"));
        QCOMPARE(given[QLatin1String("active_share_is")].toString(), QStringLiteral("given"));
        QVERIFY(speed(given) > speed(assumed) && speed(assumed) > speed(whole));
        QCOMPARE(speed(json(base + words("--theta 0.25 --active-share 1"))), speed(whole));
        const Outcome text = run(base + words("--theta 0.25"));
        QVERIFY2(text.out.contains("50 % of a token's are taken for active (assumed"), text.out.constData());
        QCOMPARE(run(base + words("--theta 0.25 --active-share nobody")).status, 1);
    }

    // A theta for each expert, stored beside the model; and invalid thetas.
    void thetaAuto_isThatOfTheModel() {
        const QStringList base = words("logits --model %1 --tokens 1,20,300", {kDemo});
        const QJsonObject own = json(base + words("--theta auto:0.003"));
        QCOMPARE(own[QLatin1String("theta_loss")].toDouble(), 0.003);
        QVERIFY(own[QLatin1String("theta")].toDouble() > 0.05);
        QVERIFY(own[QLatin1String("logits")] != json(base)[QLatin1String("logits")]);
        QCOMPARE(json(base + words("--theta auto"))[QLatin1String("theta_loss")].toDouble(), 0.01);
        const Outcome said = run(base + words("--theta auto"));
        QVERIFY2(said.err.contains("every expert has a theta of its own"), said.err.constData());
        const Outcome none = run(base + words("--theta auto:0.00001"));
        QCOMPARE(none.status, 1);
        QVERIFY2(none.err.contains("kept: 0.001, 0.003, 0.01"), none.err.constData());
        for (const char* const wrong : {"auto:", "auto:0", "autos", "-1", "x", "auto:0.1x"}) {
            QVERIFY2(run(base + QStringList{QStringLiteral("--theta"), QLatin1String(wrong)}).status != 0, wrong);
        }
        const QJsonObject plan = json(words("plan --policy transfer --theta 0.25 --model %1", {kDemo}) + kEmulated);
        QCOMPARE(plan[QLatin1String("active_share_is")].toString(), QStringLiteral("measured"));
        QVERIFY(std::abs(plan[QLatin1String("active_share")].toDouble() - 0.32) < 0.02);
    }

    // One floor for bits and neurons, with losses made by hand beside the model: the
    // cheaper one is chosen and reported.
    void plan_withAFloorOfNats_tradesBitsAgainstNeurons() {
        const QTemporaryDir folder;
        const QString model = folder.filePath(QStringLiteral("demo"));
        QVERIFY(QDir().mkdir(model));
        for (const QFileInfo& file : QDir(kDemo).entryInfoList(QDir::Files)) {
            if (file.fileName() != QStringLiteral("neuron_thresholds.json"))
                QVERIFY(QFile::link(file.canonicalFilePath(), model + u'/' + file.fileName()));
        }
        const auto write = [&](double formatKl, double thetaKl) {
            QFile file(model + QStringLiteral("/neuron_thresholds.json"));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(QStringLiteral(R"({"format": "offstage-neuron-thresholds", "version": 1, "n_tokens": 9,
                "perplexity": 5, "rows": [{"theta": 0.2, "active_share": 0.3, "perplexity": 5, "mean_kl": %1,
                "same_top": 1}], "formats": [{"format": "hqq4", "mean_kl": %2, "n_tokens": 9}]})")
                           .arg(thetaKl)
                           .arg(formatKl)
                           .toUtf8());
        };
        // A machine with accounted times: the same on every computer.
        const QStringList base = words("plan --device emulated:rtx-3060-desktop --vram 10MiB --model %1", {model});
        const auto plan = [&](const char* more) { return json(base + words(more)); };
        write(1, 0.004);
        QJsonObject said = plan("--max-kl 0.01");
        QCOMPARE(said[QLatin1String("theta")].toDouble(), 0.2);
        QCOMPARE(said[QLatin1String("neuron_kl")].toDouble(), 0.004);
        QVERIFY(said[QLatin1String("format_kl")].toDouble() <= 0.006);
        QCOMPARE(said[QLatin1String("active_share_is")].toString(), QStringLiteral("measured"));
        QVERIFY(said[QLatin1String("note")].toString().contains(QStringLiteral("the sum is an estimate")));
        write(0.004, 1);
        said = plan("--max-kl 0.01");
        QCOMPARE(said[QLatin1String("theta")].toDouble(), 0.0);
        QCOMPARE(said[QLatin1String("formats")].toArray().size(), 1);
        QCOMPARE(said[QLatin1String("formats")].toArray()[0].toObject()[QLatin1String("format")].toString(),
                 QStringLiteral("HQQ4"));
        // Off by default.
        QVERIFY(plan("")[QLatin1String("format_kl")].isNull());
        const Outcome over = run(base + words("--max-kl 0.01 --theta 0.2"));
        QCOMPARE(over.status, 1);
        QVERIFY2(over.err.contains("more than the floor of 0.01"), over.err.constData());
        QCOMPARE(run(base + words("--max-kl 0")).status, 2);
    }

    // Neurons predicted one layer ahead, and the gain of each part of leaving them out.
    void predictAndAblation_writeJson() {
        QFile file(home_.filePath(QStringLiteral("text.txt")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("The lantern stood in the window. The boat came home.");
        file.close();
        const QJsonObject predicted =
            json(words("predict --theta 0.1,0.25 --model %1 --text %2", {kDemo, file.fileName()}));
        QCOMPARE(predicted[QLatin1String("thetas")].toArray().size(), 2);
        QCOMPARE(predicted[QLatin1String("experts")].toArray().size(), 8);
        const QJsonObject ablation =
            json(words("ablation --dry --model synthetic:mixtral-8x7b?layers=2 --theta 0.25 "
                       "--active-share 0.45 --quant experts=hqq4 --decode 8"));
        const QJsonArray rows = ablation[QLatin1String("rows")].toArray();
        QCOMPARE(rows.size(), 5);
        QVERIFY(rows[1][QLatin1String("gain")].toDouble() > 1.1);
        QCOMPARE(ablation[QLatin1String("times")].toString(), QStringLiteral("accounted"));
        QCOMPARE(run(words("ablation --dry --model synthetic:mixtral-8x7b?layers=2")).status, 1);
    }

    void calibrate_json_isFiguresOfBothSides() {
        const QJsonObject table = json(words("calibrate --model %1", {kDemo}) + kEmulated);
        QVERIFY(table[QLatin1String("emulated")].toBool());
        QVERIFY(table[QLatin1String("weight_copy_us")].toDouble() > 0);
        QCOMPARE(table[QLatin1String("expert_bytes")].toDouble(), 3.0 * 192 * 256 * 2);
        for (const char* side : {"gpu_expert", "cpu_expert", "activation_copy"}) {
            const QJsonArray points = table[QLatin1String(side)].toArray();
            QVERIFY2(points.size() >= 5, side);
            QCOMPARE(points[0][QLatin1String("n_tokens")].toInt(), 1);
            for (qsizetype i = 0; i < points.size(); ++i) {
                QVERIFY2(points[i][QLatin1String("us")].toDouble() > 0, side);
                QVERIFY(i == 0 || points[i][QLatin1String("n_tokens")].toInt() >
                                      points[i - 1][QLatin1String("n_tokens")].toInt());
            }
        }
        QVERIFY(table[QLatin1String("cpu_slowdown")].toDouble() >= 1);
        QVERIFY(table[QLatin1String("copy_slowdown")].toDouble() >= 1);
    }

    void scenarios_json_hasARowPerPolicyAndLength() {
        const QJsonObject report =
            json(words("bench --scenario all --compare static,balanced,layers --in 16,24 --out 4,8 --widths 2,4 "
                       "--repeat 2 --markdown --model") +
                 QStringList{kDemo} + kEmulated);
        const QJsonArray rows = report[QLatin1String("rows")].toArray();
        QCOMPARE(rows.size(), 3 * (2 * 2 + 2 + 2 * 2 * 2));
        QVERIFY(report[QLatin1String("emulated")].toBool());
        QVERIFY(report[QLatin1String("bus_gb_per_s")].toDouble() > 0);
        QVERIFY(report[QLatin1String("read_bandwidth_gb_per_s")].toDouble() > 0);
        for (const QJsonValue& row : rows) {
            const QString name =
                row[QLatin1String("scenario")].toString() + QLatin1Char(' ') + row[QLatin1String("policy")].toString();
            QVERIFY2(row[QLatin1String("ttft_s")].toDouble() > 0, qPrintable(name));
            QVERIFY2(row[QLatin1String("tokens_per_s")].toDouble() > 0, qPrintable(name));
            QVERIFY(row[QLatin1String("total_s")].toDouble() >= row[QLatin1String("ttft_s")].toDouble());
            if (row[QLatin1String("out")].toInt() > 1) {
                QVERIFY2(row[QLatin1String("itl_median_s")].toDouble() > 0, qPrintable(name));
                QVERIFY(row[QLatin1String("itl_p95_s")].toDouble() >= row[QLatin1String("itl_median_s")].toDouble());
            }
            if (row[QLatin1String("policy")] == QLatin1String("static")) {
                QCOMPARE(row[QLatin1String("bytes_copied")].toDouble(-1), 0.0);
                QVERIFY(row[QLatin1String("hit_rate")].toDouble() > 0);
            }
            QCOMPARE(row[QLatin1String("repeats")].toInt(), 2);
        }
        // Static and balanced used the same experts.
        QCOMPARE(rows[0][QLatin1String("hit_rate")], rows[1][QLatin1String("hit_rate")]);
        const QString markdown = report[QLatin1String("markdown")].toString();
        QVERIFY(markdown.contains(QLatin1String("| 16 | 4 | 1 | static |")));
        QVERIFY(markdown.contains(QLatin1String("accounted time, not a measurement")));
    }

    void logits_areTheCpusBitByBit() {
        const QStringList base =
            words("logits --tokens 5,6,7,300,301 --all --compute f32 --threads 2 --json --model %1", {kDemo});
        const Outcome cpu = run(base);
        const Outcome emulated = run(base + kEmulated + words("--policy transfer"));
        QCOMPARE(cpu.status, 0);
        QCOMPARE(emulated.status, 0);
        QVERIFY(cpu.out.size() > 1000);
        QCOMPARE(emulated.out, cpu.out);
    }

    // "exact" is another name of f32: no input is rounded, unlike in the default mode
    // with the same weights.
    void computeExact_isF32() {
        const QStringList base =
            words("logits --tokens 5,6,7,300,301 --all --threads 1 --quant experts=hqq4 --json --model %1", {kDemo});
        const auto logits = [&](const char* compute) { return run(base + words("--compute") + words(compute)).out; };
        const QByteArray f32 = logits("f32");
        QVERIFY(f32.size() > 1000);
        QCOMPARE(logits("exact"), f32);
        QVERIFY(logits("int8") != f32);
    }
};

QTEST_GUILESS_MAIN(TestCliDevices)
#include "tst_cli_devices.moc"
