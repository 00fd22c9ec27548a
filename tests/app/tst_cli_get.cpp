// offstage-cli get, from a hub on this computer into an invented home.
#include <csignal>
#include <random>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"
#include "tests/engine/hub_server.h"
#include "tests/engine/mixed_gguf.h"

using namespace offstage::test;

class TestCliGet : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_home;
    std::unique_ptr<HubServer> m_hub;
    QByteArray m_model;  // a file's bytes, many of them
    const QString m_name = QStringLiteral("maker/Tiny-GGUF");

    void prepare(QProcess& process, const QStringList& arguments) const {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* const name : {"http_proxy", "all_proxy", "HF_HOME", "HF_HUB_CACHE", "HF_TOKEN"}) {
            environment.remove(QLatin1String(name));
        }
        environment.insert(QStringLiteral("HOME"), m_home->path());
        environment.insert(QStringLiteral("XDG_CACHE_HOME"), m_home->filePath(QStringLiteral("cache")));
        environment.insert(QStringLiteral("HF_ENDPOINT"), QString::fromStdString(m_hub->endpoint()));
        process.setProcessEnvironment(environment);
        process.setProgram(cliProgram());
        // Its costs are known.
        process.setArguments(
            QStringList{QStringLiteral("get"), QStringLiteral("--device"), QStringLiteral("emulated:fiddler-env1")} +
            arguments);
    }
    CliOutcome get(const QStringList& arguments) const {
        QProcess process;
        prepare(process, arguments);
        process.start();
        if (!process.waitForFinished(240'000)) return {};
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(),
                process.readAllStandardError()};
    }
    static QByteArray contents(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    QString snapshot() const {
        return m_home->filePath(QStringLiteral("cache/huggingface/hub/models--maker--Tiny-GGUF/snapshots/")) +
               QString::fromLatin1(m_hub->commit());
    }

  private Q_SLOTS:
    void initTestCase() {
        const QTemporaryDir folder;
        const QString model = folder.filePath(QStringLiteral("model.gguf"));
        offstage::tests::write_mixed_gguf(model.toStdString());
        m_model = contents(model);
        std::minstd_rand random(7);
        while (m_model.size() < 20'000'000) m_model += QByteArray::number(random());
    }
    void init() {
        m_home = std::make_unique<QTemporaryDir>();
        m_hub = std::make_unique<HubServer>();
        m_hub->add("Tiny-Q4_K_M.gguf", m_model);
        m_hub->add("Tiny-Q8_0.gguf", m_model + m_model);
    }

    void model_isGot_andItsPathPrinted() {
        const CliOutcome got = get({m_name});
        QVERIFY2(got.status == 0, got.err.constData());
        const QString path = snapshot() + QStringLiteral("/Tiny-Q4_K_M.gguf");
        QCOMPARE(QString::fromUtf8(got.out).trimmed(), path);
        QCOMPARE(contents(path), m_hub->file("Tiny-Q4_K_M.gguf"));
        QVERIFY2(got.err.startsWith("maker/Tiny-GGUF:Q4_K_M, 19.1 MiB from 127.0.0.1 to "), got.err.constData());
        QVERIFY2(got.err.contains("tokens/s"), got.err.constData());  // the forecast came before
        const CliOutcome again = get({m_name, QStringLiteral("--json")});
        QCOMPARE(again.json()[QStringLiteral("path")].toString(), path);
    }

    void plan_readsHeadersAlone() {
        const CliOutcome plan = get({m_name + QStringLiteral(":q8_0"), QStringLiteral("--plan")});
        QVERIFY2(plan.status == 0, plan.err.constData());
        QVERIFY2(plan.out.contains("tokens/s"), plan.out.constData());
        QVERIFY(m_hub->bytesSent() < 4 << 20);
        QVERIFY(!QDir(snapshot()).exists());
    }

    void list_namesTypes() {
        const CliOutcome list = get({m_name, QStringLiteral("--list")});
        QCOMPARE(list.status, 0);
        QVERIFY2(list.out.startsWith("type"), list.out.constData());
        QVERIFY2(list.out.contains("\nQ4_K_M") && list.out.contains("\nQ8_0"), list.out.constData());
        QCOMPARE(m_hub->requests(), 0);
    }

    void modelWithoutRoomInMemory_isGotOnlyAnyway() {
        const QStringList arguments{m_name, QStringLiteral("--vram"), QStringLiteral("1MiB")};
        const CliOutcome refused = get(arguments);
        QCOMPARE(refused.status, 1);
        QVERIFY2(refused.err.contains("--anyway gets it all the same"), refused.err.constData());
        QVERIFY(!QDir(snapshot()).exists());
        QCOMPARE(get(arguments + QStringList{QStringLiteral("--anyway")}).status, 0);
    }

    void interrupt_leavesParts_andTheSameCommandGoesOn() {
        m_hub->allow(10'000'000);
        QProcess process;
        prepare(process, {m_name});
        process.start();
        QTRY_VERIFY_WITH_TIMEOUT(m_hub->bytesSent() == 10'000'000, 60'000);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitCode(), 130);
        QVERIFY(process.readAllStandardError().contains("the same command goes on"));
        m_hub->allow(1'000'000'000);
        QCOMPARE(get({m_name}).status, 0);
        QCOMPARE(contents(snapshot() + QStringLiteral("/Tiny-Q4_K_M.gguf")), m_hub->file("Tiny-Q4_K_M.gguf"));
        QVERIFY2(m_hub->bytesSent() < 27'000'000, qPrintable(QString::number(m_hub->bytesSent())));
    }

    // OFFSTAGE_FAULT_MOMENTS=50 tries fifty.
    void killing_atRandomMoments_endsWithTheRightFile() {
        const int kills = std::max(5, qEnvironmentVariableIntValue("OFFSTAGE_FAULT_MOMENTS"));
        std::minstd_rand random(static_cast<unsigned>(kills));
        const QString path = snapshot() + QStringLiteral("/Tiny-Q8_0.gguf");
        const QString name = m_name + QStringLiteral(":Q8_0");
        int n_whole = 0;
        for (int n = 0; n < kills; ++n) {
            const qint64 moment = m_hub->bytesSent() + static_cast<qint64>(random() % 12'000'000);
            m_hub->allow(moment);
            QProcess process;
            prepare(process, {name});
            process.start();
            QTRY_VERIFY_WITH_TIMEOUT(m_hub->bytesSent() == moment || process.state() == QProcess::NotRunning, 60'000);
            process.kill();
            QTRY_COMPARE(process.state(), QProcess::NotRunning);
            if (!QFile::exists(path)) continue;
            QCOMPARE(contents(path), m_hub->file("Tiny-Q8_0.gguf"));
            ++n_whole;
            QVERIFY(QDir(QDir::cleanPath(snapshot() + QStringLiteral("/../.."))).removeRecursively());
        }
        m_hub->allow(std::numeric_limits<qint64>::max());
        QCOMPARE(get({name}).status, 0);
        QCOMPARE(contents(path), m_hub->file("Tiny-Q8_0.gguf"));
        qInfo("%d kills, %d times the file was whole before", kills, n_whole);
    }
};

QTEST_GUILESS_MAIN(TestCliGet)
#include "tst_cli_get.moc"
