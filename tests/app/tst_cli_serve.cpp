// offstage-cli serve from its first line to its end.
#include <csignal>
#include <thread>

#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"
#include "tests/engine/loopback_client.h"

using namespace offstage::test;

class TestCliServe : public QObject {
    Q_OBJECT

    const QString m_demo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

    // Starts the program; returns its output until it is ready, or until its end.
    static QByteArray start(QProcess& process, const QStringList& arguments) {
        process.start(cliProgram(),
                      QStringList{QStringLiteral("serve"), QStringLiteral("--listen"), QStringLiteral("127.0.0.1:0"),
                                  QStringLiteral("--threads"), QStringLiteral("1")} +
                          arguments);
        QByteArray out;
        while (!out.contains("Ctrl+C ends.\n") && process.waitForReadyRead(60'000))
            out += process.readAllStandardOutput();
        return out;
    }
    static std::uint16_t port_of(const QByteArray& out) {
        static const QRegularExpression url(QStringLiteral("http://127\\.0\\.0\\.1:(\\d+)/v1"));
        return url.match(QString::fromUtf8(out)).captured(1).toUShort();
    }
    static HttpResponse ask(std::uint16_t port, const std::string& token) {
        LoopbackClient client(port);
        client.send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
        return client.read_response();
    }

  private Q_SLOTS:
    void serve_answersUntilItIsEnded_data() {
        QTest::addColumn<int>("signal");
        QTest::addColumn<int>("times");
        QTest::newRow("kill") << SIGTERM << 1;
        QTest::newRow("Ctrl+C") << SIGINT << 1;
        QTest::newRow("Ctrl+C, and once more of a group's") << SIGINT << 2;
    }
    void serve_answersUntilItIsEnded() {
        QFETCH(int, signal);
        QFETCH(int, times);
        QProcess process;
        const QByteArray out = start(process, {QStringLiteral("--model"), m_demo});
        const std::uint16_t port = port_of(out);
        QVERIFY2(port != 0, out + process.readAllStandardError());
        QVERIFY(out.startsWith("demo-model answers at "));
        const QByteArray token = out.split('\n')[1].split(' ').last();
        QCOMPARE(token.size(), qsizetype{64});
        QCOMPARE(ask(port, token.toStdString()).status, 200);
        QCOMPARE(ask(port, "another").status, 401);

        // A second one on the same address fails at once, before its model is searched.
        const CliOutcome second =
            runCli({QStringLiteral("serve"), QStringLiteral("--model"), QStringLiteral("/no/such"),
                    QStringLiteral("--listen"), QStringLiteral("127.0.0.1:%1").arg(port)});
        QCOMPARE(second.status, 1);
        QVERIFY2(second.err.contains("another program listens there"), second.err.constData());

        QFile status(QStringLiteral("/proc/%1/status").arg(process.processId()));
        const auto pends = [&] {
            if (!status.open(QIODevice::ReadOnly)) return false;
            const QByteArray text = status.readAll();
            status.close();
            return (text.mid(text.indexOf("ShdPnd:") + 7, 17).trimmed().toULongLong(nullptr, 16) >> (signal - 1) &
                    1U) != 0;
        };
        for (int i = 0; i < times; ++i) {
            ::kill(static_cast<pid_t>(process.processId()), signal);
            while (pends()) std::this_thread::yield();
        }
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 0);
        QCOMPARE(withoutCostNotes(process.readAllStandardError()), QByteArray());
    }

    void tokenFile_isMadeAndNotPrinted() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("token"));
        QProcess process;
        const QByteArray out =
            start(process, {QStringLiteral("--model"), m_demo, QStringLiteral("--token-file"), path});
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray token = file.readAll().trimmed();
        QCOMPARE(token.size(), qsizetype{64});
        QVERIFY(!out.contains(token));
        QCOMPARE(file.permissions() & (QFile::ReadGroup | QFile::ReadOther | QFile::WriteGroup | QFile::WriteOther),
                 QFile::Permissions());
        QCOMPARE(ask(port_of(out), token.toStdString()).status, 200);
        process.terminate();
        QVERIFY(process.waitForFinished(60'000));
    }

    void modelThatIsNotThere_isAFailure() {
        const CliOutcome outcome =
            runCli({QStringLiteral("serve"), QStringLiteral("--model"), QStringLiteral("/no/such"),
                    QStringLiteral("--listen"), QStringLiteral("127.0.0.1:0")});
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("/no/such"), outcome.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestCliServe)
#include "tst_cli_serve.moc"
