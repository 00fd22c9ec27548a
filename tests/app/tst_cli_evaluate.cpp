// offstage-cli evaluate, and sensitivity with tasks: results as text and JSON, files of
// llama.cpp's logits, refusals, and Ctrl+C.

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

using offstage::test::CliOutcome;
using offstage::test::cliProgram;
using offstage::test::runCli;
using offstage::test::words;

namespace {

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

QByteArray arcLine(const QByteArray& country, const QByteArray& first, const QByteArray& second, char key) {
    return R"({"question": "What is the capital of )" + country + R"(?", "choices": {"text": ["The capital of )" +
           country + " is " + first + R"(.", "The capital of )" + country + " is " + second +
           R"(."], "label": ["A", "B"]}, "answerKey": ")" + key + "\"}\n";
}

// One thread: with many small products, threads on a busy machine would mostly wait.
QStringList evaluate(const QString& more, const QStringList& values = {}) {
    return words(QStringLiteral("evaluate --threads 1 --compute f32 --model ")) + QStringList{kDemo} +
           words(more, values);
}

QStringList sensitivity(const QString& more, const QStringList& values = {}) {
    return words(QStringLiteral("sensitivity --threads 1 --compute f32 --model ")) + QStringList{kDemo} +
           words(more, values);
}

double scoreOf(const QJsonObject& json, int score) {
    return json[QLatin1String("scores")].toArray()[score].toObject()[QLatin1String("value")].toDouble();
}

}  // namespace

class TestCliEvaluate : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void choices_areScored() {
        const QTemporaryDir folder;
        const QString data = folder.filePath(QStringLiteral("facts.jsonl"));
        write(data, arcLine("France", "Paris", "Rome", 'A') + arcLine("Japan", "Lima", "Tokyo", 'B') +
                        arcLine("Italy", "Rome", "Oslo", 'B'));  // the last key is wrong
        const CliOutcome outcome =
            runCli(evaluate(QStringLiteral("--task arc --data %1 --json --results"), {data}), {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        QVERIFY2(outcome.err.isEmpty(), outcome.err.constData());  // progress is for terminals
        const QJsonObject json = outcome.json();
        QCOMPARE(json[QLatin1String("task")].toString(), QStringLiteral("arc"));
        QVERIFY(json[QLatin1String("rule")].toString().startsWith(QStringLiteral("lm-eval: ")));
        QCOMPARE(json[QLatin1String("n_tasks")].toInt(), 3);
        QCOMPARE(json[QLatin1String("n_done")].toInt(), 3);
        QCOMPARE(json[QLatin1String("partial")].toBool(true), false);
        QVERIFY(std::abs(scoreOf(json, 0) - 2.0 / 3) < 1e-9 && std::abs(scoreOf(json, 1) - 2.0 / 3) < 1e-9);
        const QJsonObject acc = json[QLatin1String("scores")].toArray()[0].toObject();
        QVERIFY(std::abs(acc[QLatin1String("standard_error")].toDouble() - 1.0 / 3) < 1e-9);
        QCOMPARE(json[QLatin1String("model")].toString(), QStringLiteral("demo-model"));
        QCOMPARE(json[QLatin1String("compute")].toString(), QStringLiteral("f32"));
        QCOMPARE(json[QLatin1String("weight_type")].toString(), QStringLiteral("BF16"));
        QCOMPARE(json[QLatin1String("kv_type")].toString(), QStringLiteral("bf16"));
        QVERIFY(json[QLatin1String("tokens_read")].toInt() < json[QLatin1String("tokens_alone")].toInt());
        const QJsonArray results = json[QLatin1String("results")].toArray();
        QCOMPARE(results.size(), 3);
        QCOMPARE(results[1][QLatin1String("chosen")].toArray()[0].toInt(), 1);
        QCOMPARE(results[1][QLatin1String("where")].toString(), data + QStringLiteral(", line 2"));

        const CliOutcome text =
            runCli(evaluate(QStringLiteral("--task arc --data %1 --limit 2"), {data}), {}, folder.path());
        QVERIFY2(text.status == 0, text.err.constData());
        QVERIFY2(text.out.contains("arc: 2 of 2 tasks") && text.out.contains("acc_norm  100.00 %") &&
                     text.out.contains("Rule: lm-eval"),
                 text.out.constData());
    }

    void mmlu_isReadFromItsFolder() {
        const QTemporaryDir folder;
        QVERIFY(QDir(folder.path()).mkpath(QStringLiteral("mmlu/test")) &&
                QDir(folder.path()).mkpath(QStringLiteral("mmlu/dev")));
        const QString base = folder.filePath(QStringLiteral("mmlu"));
        for (const char* subject : {"odd_numbers", "anatomy"}) {
            write(base + QStringLiteral("/test/%1_test.csv").arg(QLatin1String(subject)),
                  "One?,1,2,3,4,A\nTwo?,1,2,3,4,B\n");
            write(base + QStringLiteral("/dev/%1_dev.csv").arg(QLatin1String(subject)), "Three?,1,2,3,4,C\n");
        }
        const CliOutcome outcome = runCli(
            evaluate(QStringLiteral("--task mmlu --data %1 --shots %1 --n-shots 1 --json"), {base}), {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QJsonArray groups = outcome.json()[QLatin1String("groups")].toArray();
        QCOMPARE(groups.size(), 2);
        QCOMPARE(groups[0][QLatin1String("name")].toString(), QStringLiteral("anatomy"));
        QCOMPARE(groups[1][QLatin1String("name")].toString(), QStringLiteral("odd numbers"));
        QCOMPARE(outcome.json()[QLatin1String("n_shots")].toInt(), 1);
        QCOMPARE(outcome.json()[QLatin1String("n_done")].toInt(), 4);
        QVERIFY(QFile::remove(base + QStringLiteral("/dev/anatomy_dev.csv")));
        const CliOutcome missing =
            runCli(evaluate(QStringLiteral("--task mmlu --data %1 --shots %1"), {base}), {}, folder.path());
        QCOMPARE(missing.status, 1);
        QVERIFY2(missing.err.contains("anatomy_dev.csv"), missing.err.constData());
    }

    void perplexity_writesABase_thatKlDivergenceReads() {
        const QTemporaryDir folder;
        QFile source(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/demo_text.txt"));
        QVERIFY(source.open(QIODevice::ReadOnly));
        const QString text = folder.filePath(QStringLiteral("text.txt")),
                      base = folder.filePath(QStringLiteral("base"));
        write(text, source.readAll().left(1200));
        const CliOutcome written = runCli(
            evaluate(QStringLiteral("--task perplexity --data %1 --window 64 --limit 2 --kl-base-write %2 --json"),
                     {text, base}),
            {}, folder.path());
        QVERIFY2(written.status == 0, written.err.constData());
        const double perplexity = written.json()[QLatin1String("perplexity")].toDouble();
        QVERIFY(perplexity > 1);
        QVERIFY(written.json()[QLatin1String("standard_error")].toDouble() > 0);
        QCOMPARE(written.json()[QLatin1String("so_far")].toArray().size(), 2);
        QCOMPARE(QFile(base).size(), qint64{20 + 4 * 128 + 2 * 31 * (2048 + 4) * 2});

        const CliOutcome compared =
            runCli(evaluate(QStringLiteral("--task kl-divergence --kl-base %1 --json"), {base}), {}, folder.path());
        QVERIFY2(compared.status == 0, compared.err.constData());
        const QJsonObject json = compared.json();
        QCOMPARE(json[QLatin1String("n_tokens")].toInt(), 62);
        QVERIFY(std::abs(json[QLatin1String("perplexity")][QLatin1String("value")].toDouble() / perplexity - 1) < 1e-6);
        QVERIFY(json[QLatin1String("mean_kl")][QLatin1String("value")].toDouble() < 1e-4);
        QCOMPARE(json[QLatin1String("same_top")][QLatin1String("value")].toDouble(), 1.0);

        const CliOutcome strided = runCli(
            evaluate(QStringLiteral("--task perplexity-strided --data %1 --window 40 --stride 13 --limit 150 --json"),
                     {text}),
            {}, folder.path());
        QVERIFY2(strided.status == 0, strided.err.constData());
        QCOMPARE(strided.json()[QLatin1String("n_tokens")].toInt(), 149);
        QVERIFY(strided.json()[QLatin1String("rule")].toString().startsWith(QStringLiteral("transformers: ")));
    }

    void klDivergence_needsNoTokenizer() {
        constexpr qint32 kContext = 8, kVocab = 64, kScoredRows = 3;
        QByteArray bytes("_logits_");
        for (const qint32 number : {kContext, kVocab, 1, 5, 9, 2, 6, 5, 3, 1, 7}) {
            bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
        }
        const float numbers[] = {0, -std::log(float{kVocab})};  // scale and minimum: every token is as probable
        for (qint32 row = 0; row < kScoredRows; ++row) {
            bytes.append(reinterpret_cast<const char*>(numbers), sizeof numbers).append(2 * kVocab, '\0');
        }
        const QTemporaryDir folder;
        const QString base = folder.filePath(QStringLiteral("base"));
        write(base, bytes);
        const CliOutcome outcome =
            runCli(words(QStringLiteral("evaluate --threads 1 --model synthetic:fine?layers=1&vocab=64 --task "
                                        "kl-divergence --kl-base %1 --json"),
                         {base}),
                   {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        QCOMPARE(outcome.json()[QLatin1String("n_tokens")].toInt(), int{kScoredRows});
    }

    void wrongInput_isTold_data() {
        QTest::addColumn<QString>("options");
        QTest::addColumn<QByteArray>("data");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no such task") << QStringLiteral("--task gsm8k --data %1") << QByteArray() << 2
                                      << QByteArray("--task");
        QTest::newRow("no data") << QStringLiteral("--task arc") << QByteArray() << 1
                                 << QByteArray("needs --data FILE");
        QTest::newRow("no base") << QStringLiteral("--task kl-divergence") << QByteArray() << 1
                                 << QByteArray("needs --kl-base FILE");
        QTest::newRow("no such file") << QStringLiteral("--task arc --data /no/such") << QByteArray() << 1
                                      << QByteArray("/no/such");
        QTest::newRow("a bad line") << QStringLiteral("--task piqa --data %1") << QByteArray("{\"goal\": 7}\n") << 1
                                    << QByteArray("line 1: \"goal\" is 7");
        QTest::newRow("a base that is none")
            << QStringLiteral("--task kl-divergence --kl-base %1") << QByteArray("text") << 1
            << QByteArray("does not begin with \"_logits_\"");
        QTest::newRow("a text too short") << QStringLiteral("--task perplexity --data %1")
                                          << QByteArray("once upon a time") << 1 << QByteArray("two chunks of 512");
        QTest::newRow("shots alone") << QStringLiteral("--task mmlu --data %1 --n-shots 3") << QByteArray("x") << 2
                                     << QByteArray("--shots");
    }
    void wrongInput_isTold() {
        QFETCH(QString, options);
        QFETCH(QByteArray, data);
        QFETCH(int, status);
        QFETCH(QByteArray, says);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("data"));
        write(file, data);
        const CliOutcome outcome = runCli(evaluate(options, {file}), {}, folder.path());
        QCOMPARE(outcome.status, status);
        QVERIFY2(outcome.err.contains(says), outcome.err.constData());
        QVERIFY(outcome.out.isEmpty());
    }

    // Each theta gets the tasks of evaluate.
    void sensitivity_hasTheTasksScores() {
        const QTemporaryDir folder;
        const QString data = folder.filePath(QStringLiteral("facts.jsonl")),
                      text = folder.filePath(QStringLiteral("text.txt")),
                      svg = folder.filePath(QStringLiteral("t.svg"));
        write(data, arcLine("France", "Paris", "Rome", 'A') + arcLine("Japan", "Lima", "Tokyo", 'B') +
                        arcLine("Italy", "Rome", "Oslo", 'B'));  // the last key is wrong
        write(text, "The capital of France is Paris. The capital of Japan is Tokyo.");
        const CliOutcome outcome =
            runCli(sensitivity(QStringLiteral("--theta 0.1 --decode 0 --task arc --data %1 --text %2 --svg %3 --json"),
                               {data, text, svg}),
                   {}, folder.path());
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QJsonObject json = outcome.json();
        QCOMPARE(json[QLatin1String("n_tasks")].toInt(), 3);
        QCOMPARE(json[QLatin1String("partial")].toBool(true), false);
        const QJsonArray rows = json[QLatin1String("rows")].toArray();
        QCOMPARE(rows.size(), 2);
        QVERIFY(std::abs(scoreOf(rows[0].toObject(), 0) - 2.0 / 3) < 1e-9);
        QFile picture(svg);
        QVERIFY(picture.open(QIODevice::ReadOnly) && picture.readAll().contains("Accuracy: arc, 3 tasks"));
        const CliOutcome alone = runCli(sensitivity(QStringLiteral("--task arc --text %1"), {text}), {}, folder.path());
        QCOMPARE(alone.status, 2);
        QVERIFY2(alone.err.contains("--data"), alone.err.constData());
    }

    // On a terminal there is a line of progress; Ctrl+C ends the run and keeps the
    // finished part.
    void interrupt_keepsWhatIsDone_data() {
        QTest::addColumn<bool>("of_thetas");
        QTest::newRow("evaluate") << false;
        QTest::newRow("sensitivity") << true;
    }
    void interrupt_keepsWhatIsDone() {
        QFETCH(bool, of_thetas);
        const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) QSKIP("no pseudo-terminal here");
        const QByteArray name = ptsname(terminal);
        const QTemporaryDir folder;
        const QString data = folder.filePath(QStringLiteral("facts.jsonl"));
        write(data, arcLine("France", "Paris", "Rome", 'A').repeated(20'000));
        QProcess process;
        process.setChildProcessModifier([&name] {
            const int error = ::open(name.constData(), O_RDWR | O_NOCTTY);
            if (error >= 0) ::dup2(error, STDERR_FILENO);
        });
        const QString text = folder.filePath(QStringLiteral("text.txt"));
        write(text, "The capital of France is Paris.");
        process.start(cliProgram(), of_thetas
                                        ? sensitivity(QStringLiteral("--theta 0.1 --decode 0 --task arc --data %1 "
                                                                     "--text %2 --json"),
                                                      {data, text})
                                        : evaluate(QStringLiteral("--task arc --data %1 --json"), {data}));
        QVERIFY(process.waitForStarted());
        QByteArray seen;
        char bytes[4096];
        while (!seen.contains("Task ")) {
            const ssize_t n = ::read(terminal, bytes, sizeof(bytes));
            QVERIFY2(n > 0, seen.constData());
            seen.append(bytes, n);
        }
        QCOMPARE(kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
        while (!seen.contains("partial")) {
            const ssize_t n = ::read(terminal, bytes, sizeof(bytes));
            if (n <= 0) break;
            seen.append(bytes, n);
        }
        QVERIFY(process.waitForFinished(120'000));
        ::close(terminal);
        QVERIFY2(seen.contains(of_thetas ? " of 40000: theta 0, acc_norm " : " of 20000: acc_norm ") &&
                     seen.contains(" left"),
                 seen.constData());
        QVERIFY2(seen.contains("Stopped by Ctrl+C: the result is partial"), seen.constData());
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        const QJsonObject json = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
        QCOMPARE(json[QLatin1String("partial")].toBool(), true);
        const QJsonObject asked = of_thetas ? json[QLatin1String("rows")].toArray()[0].toObject() : json;
        const int n_done = asked[QLatin1String("n_done")].toInt();
        QVERIFY(n_done >= 1 && n_done < 20'000);
        QCOMPARE(json[QLatin1String("n_tasks")].toInt(), 20'000);
        QCOMPARE(scoreOf(asked, 0), 1.0);
    }
};

QTEST_GUILESS_MAIN(TestCliEvaluate)
#include "tst_cli_evaluate.moc"
