// offstage-cli models: the caches of an invented home.
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"
#include "tests/engine/mixed_gguf.h"

using namespace offstage::test;

class TestCliModels : public QObject {
    Q_OBJECT

  private:
    CliOutcome run(const QStringList& arguments) const {
        return runCommand(QStringList{QStringLiteral("models")} + arguments);
    }
    CliOutcome runCommand(const QStringList& arguments) const {
        return runInShell(QStringLiteral("h=$1; shift; exec env -u HF_HOME -u HF_HUB_CACHE -u LLAMA_CACHE "
                                         "-u OLLAMA_MODELS -u XDG_CACHE_HOME HOME=\"$h\" \"$0\" \"$@\""),
                          QStringList{m_home->path()} + arguments);
    }
    QString put(const char* model, const QString& inHome) const {
        const QString path = m_home->filePath(inHome);
        QDir().mkpath(QFileInfo(path).path());
        return QFile::copy(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/gguf/") + QLatin1String(model), path)
                   ? path
                   : QString();
    }

    // One that can be opened for text: it has a tokenizer.
    QString putWhole(const QString& inHome) const {
        const QString path = m_home->filePath(inHome);
        QDir().mkpath(QFileInfo(path).path());
        offstage::tests::write_mixed_gguf(path.toStdString());
        return path;
    }

    std::unique_ptr<QTemporaryDir> m_home;

  private Q_SLOTS:
    void init() { m_home = std::make_unique<QTemporaryDir>(); }

    void suggestions_nameFileRoomAndSpeed_ofThisComputer() {
        putWhole(QStringLiteral(".lmstudio/models/ann/coder/Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf"));
        const QStringList suggest = {QStringLiteral("suggest"),  QStringLiteral("--known-costs"),
                                     QStringLiteral("--for"),    QStringLiteral("code"),
                                     QStringLiteral("--device"), QStringLiteral("emulated:fiddler-env1"),
                                     QStringLiteral("--vram"),   QStringLiteral("12GiB"),
                                     QStringLiteral("--ram"),    QStringLiteral("64GiB")};
        const CliOutcome table = runCommand(suggest);
        QCOMPARE(table.status, 0);
        const QString text = QString::fromUtf8(table.out);
        static const QRegularExpression first(QStringLiteral(
            "^model .*\nQwen3-Coder-30B-A3B-Instruct \\(on this computer\\) +code +30.5B, 3.0B active +Q4_K +4.50 "
            "+16.0 GiB +GPU and RAM +\\d"));
        QVERIFY2(text.contains(first), table.out.constData());
        QVERIFY2(
            text.contains(QRegularExpression(QStringLiteral("\n\\d+ more have no room \\(--all lists them\\)\n$"))),
            table.out.constData());
        const CliOutcome all = runCommand(suggest + QStringList{QStringLiteral("--all"), QStringLiteral("--json")});
        const QJsonArray rows = QJsonDocument::fromJson(all.out).object()[QStringLiteral("suggestions")].toArray();
        const QJsonObject here = rows.first().toObject();
        QCOMPARE(here[QStringLiteral("repository")].toString(), QStringLiteral("Qwen/Qwen3-Coder-30B-A3B-Instruct"));
        QCOMPARE(here[QStringLiteral("contexts")].toArray().size(), 2);
        QVERIFY(here[QStringLiteral("contexts")][0][QStringLiteral("decode_tokens_per_s")].toDouble() > 0);
        const QJsonObject last = rows.last().toObject();
        QVERIFY(last[QStringLiteral("room_in")].toString().isEmpty());
        QVERIFY(last[QStringLiteral("contexts")][0][QStringLiteral("short_by")].toDouble() > 0);
        const CliOutcome few = runCommand(
            suggest + QStringList{QStringLiteral("--first"), QStringLiteral("2"), QStringLiteral("--markdown")});
        const QList<QByteArray> lines = few.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 4);  // heads, what parts them, two models
        QVERIFY2(lines[1].startsWith("|---"), few.out.constData());
        QVERIFY2(lines[2].startsWith("| Qwen3-Coder-30B-A3B-Instruct (on this computer) |"), few.out.constData());
        for (const char* name : {"no such model", "-", "\u00e9"}) {
            QCOMPARE(runCommand(suggest + QStringList{QStringLiteral("--name"), QString::fromUtf8(name)}).out,
                     QByteArray("No model of the catalogue is of this kind\n"));
        }
        const CliOutcome wrong =
            runCommand({QStringLiteral("suggest"), QStringLiteral("--for"), QStringLiteral("poetry")});
        QCOMPARE(wrong.status, 2);
    }

    void models_areListed_withWhatIsMissing() {
        const QString whole = putWhole(QStringLiteral(".lmstudio/models/ann/tiny/Tiny.gguf"));
        QVERIFY(!put("qwen3_moe_bf16.gguf", QStringLiteral(".lmstudio/models/ann/tiny/Mute-BF16.gguf")).isEmpty());
        QVERIFY(!put("gpt_oss_mxfp4.gguf", QStringLiteral(".cache/llama.cpp/big-00001-of-00002.gguf")).isEmpty());
        const CliOutcome table = run({});
        QCOMPARE(table.status, 0);
        const QString text = QString::fromUtf8(table.out);
        QVERIFY2(
            text.contains(QRegularExpression(QStringLiteral("Tiny +LM Studio .* yes, but needs a chat template *\n"))),
            table.out.constData());
        QVERIFY2(
            table.out.contains("Tiny: " + whole.toUtf8() + " (no chat template that can be used: --chat-template)\n"),
            table.out.constData());
        // What generate would refuse does not fit.
        QVERIFY2(text.contains(QRegularExpression(QStringLiteral("Mute-BF16 +LM Studio +Qwen3Moe +196.4 KiB +16.31 "
                                                                 "+16 x 3 *\n"))),
                 table.out.constData());
        QVERIFY2(text.contains(QRegularExpression(QStringLiteral("Mute-BF16: .* has no tokenizer"))),
                 table.out.constData());
        QVERIFY2(table.out.contains("/big-00002-of-00002.gguf: is missing"), table.out.constData());

        const CliOutcome json = run({QStringLiteral("--json")});
        QCOMPARE(json.status, 0);
        const QJsonArray models = json.json()[QLatin1String("models")].toArray();
        QCOMPARE(models.size(), 3);
        QCOMPARE(models[0][QLatin1String("path")].toString(), whole);
        QCOMPARE(models[0][QLatin1String("supported")].toBool(), true);
        QCOMPARE(models[0][QLatin1String("bytes")].toInteger(), QFileInfo(whole).size());
        QCOMPARE(models[0][QLatin1String("fits")].toBool(), true);
        QCOMPARE(models[1][QLatin1String("name")].toString(), QStringLiteral("Mute-BF16"));
        QCOMPARE(models[1][QLatin1String("supported")].toBool(), false);
        QVERIFY(models[1][QLatin1String("fits")].isNull());
        QCOMPARE(models[2][QLatin1String("name")].toString(), QStringLiteral("big"));
        QVERIFY(models[2][QLatin1String("bytes")].isNull());
        QVERIFY(!models[2][QLatin1String("problem")].isNull());
    }

    void severalNamesOfAFile_areRows() {
        putWhole(QStringLiteral(".ollama/models/blobs/sha256-aa"));
        for (const char* name : {"pirate", "qwen3"}) {
            QFile manifest(m_home->filePath(QStringLiteral(".ollama/models/manifests/registry.ollama.ai/library/") +
                                            QLatin1String(name) + QStringLiteral("/latest")));
            QVERIFY(QDir().mkpath(QFileInfo(manifest).path()) && manifest.open(QIODevice::WriteOnly));
            manifest.write(R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},)"
                           "{\"mediaType\": \"application/vnd.ollama.image.params\", \"digest\": \"sha256:");
            manifest.write(QByteArray(name).toHex() + "\"}]}");
        }
        const CliOutcome table = run({});
        QVERIFY2(table.out.contains("library/qwen3/latest (no chat template"), table.out.constData());
        const QJsonArray models = run({QStringLiteral("--json")}).json()[QLatin1String("models")].toArray();
        QCOMPARE(models.size(), 2);
        for (const int i : {0, 1}) {
            const QString name = i == 0 ? QStringLiteral("pirate") : QStringLiteral("qwen3");
            QCOMPARE(models[i][QLatin1String("name")].toString(), name + QStringLiteral(":latest"));
            QVERIFY(models[i][QLatin1String("path")].toString().endsWith(name + QStringLiteral("/latest")));
            QVERIFY(models[i][QLatin1String("supported")].toBool());
        }
    }

    void nothing_saysWhere_andAFolderIsLookedInToo() {
        const CliOutcome none = run({});
        QCOMPARE(none.status, 0);
        if (!QFileInfo::exists(QStringLiteral("/usr/share/ollama/.ollama/models"))) {
            QVERIFY2(none.out.contains("Hugging Face: " + m_home->path().toUtf8() + "/.cache/huggingface/hub\n"),
                     none.out.constData());
        }
        putWhole(QStringLiteral("own/a.gguf"));
        const CliOutcome own = run({QStringLiteral("--folder"), m_home->filePath(QStringLiteral("own"))});
        QCOMPARE(own.status, 0);
        QVERIFY2(own.out.contains("own/a.gguf (no chat template that can be used: --chat-template)\n"),
                 own.out.constData());
    }

    // As long as a file system lets it be, of characters of two bytes.
    void longName_isCutInTheTableAlone() {
        const QString name = QStringLiteral("x") + QString(QChar(0xe4)).repeated(121) + QStringLiteral("-Q4_K_M");
        const QString path = putWhole(QStringLiteral(".lmstudio/models/ann/x/") + name + QStringLiteral(".gguf"));
        QVERIFY(QFile::exists(path));
        const CliOutcome list = run({});
        QCOMPARE(QString::fromUtf8(list.out).toUtf8(), list.out);  // no character is cut
        const QList<QByteArray> lines = list.out.split('\n');
        QVERIFY2(lines[1].startsWith("x\u00e4") && lines[1].contains("...\u00e4") && lines[1].contains("-Q4_K_M  LM"),
                 lines[1].constData());
        QVERIFY2(lines[1].size() < 200, lines[1].constData());
        QVERIFY2(list.out.contains(name.toUtf8() + ": " + path.toUtf8()), list.out.constData());
    }

    // A file that ends too early may be still on its way.
    void incompleteFile_isNamed_byTheListAndByInfo() {
        const QString path = putWhole(QStringLiteral(".lmstudio/models/ann/x/a.gguf"));
        QFile file(path);
        QVERIFY(file.resize(file.size() - 100));
        const QString words = QStringLiteral("incomplete: %1 of ").arg(file.size());
        const QString list = QString::fromUtf8(run({}).out);
        QVERIFY2(list.contains(path + QStringLiteral(": ") + words), qPrintable(list));
        const QString info = QString::fromUtf8(runCommand({QStringLiteral("info"), path}).err);
        QVERIFY2(info.contains(words) && info.contains(QStringLiteral("still being copied?")), qPrintable(info));
    }
};

QTEST_GUILESS_MAIN(TestCliModels)
#include "tst_cli_models.moc"
