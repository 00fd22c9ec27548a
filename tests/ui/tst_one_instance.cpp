// A second program hands over what it was started for to the window that is open.
#include <thread>

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "ui/window/one_instance.h"

using namespace offstage::ui;

class TestOneInstance : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void second_handsOver() {
        const QTemporaryDir folder;
        OneInstance first(folder.path());
        QVERIFY(first.isFirst());
        QList<OneInstance::Request> asked;
        connect(&first, &OneInstance::asked, this, [&asked](const OneInstance::Request& r) { asked << r; });
        bool isFirst = true, taken = false;
        std::thread second([&] {
            const OneInstance later(folder.path());
            isFirst = later.isFirst();
            taken = later.handOver({QStringLiteral("/models/a b.gguf"), QStringLiteral("Guten Tag?"), true});
        });
        QTRY_COMPARE(asked.size(), 1);
        second.join();
        QVERIFY(!isFirst && taken);
        QCOMPARE(asked.first().model, QStringLiteral("/models/a b.gguf"));
        QCOMPARE(asked.first().prompt, QStringLiteral("Guten Tag?"));
        QVERIFY(asked.first().newChat);
        QVERIFY(QDir(folder.filePath(QStringLiteral("requests"))).isEmpty());
    }

    // Two programs start at once: what the second asked before the first watched is read,
    // the earliest first. What nobody waits for any more is not.
    void requestBeforeTheWatch_isRead() {
        const QTemporaryDir folder;
        QVERIFY(QDir(folder.path()).mkdir(QStringLiteral("requests")));
        const auto request = [&folder](const QString& name, int ageMs) {
            QFile file(folder.filePath(QStringLiteral("requests/%1.json").arg(name)));
            return file.open(QFile::WriteOnly) && file.write("{\"prompt\": \"" + name.toUtf8() + "\"}") > 0 &&
                   file.flush() &&
                   file.setFileTime(QDateTime::currentDateTime().addMSecs(-ageMs), QFileDevice::FileModificationTime);
        };
        QVERIFY(request(QStringLiteral("2"), 0));
        QVERIFY(request(QStringLiteral("1"), 100));
        QVERIFY(request(QStringLiteral("0"), 10 * OneInstance::kPatienceMs));
        OneInstance first(folder.path());
        QStringList prompts;
        connect(&first, &OneInstance::asked, this, [&prompts](const OneInstance::Request& r) { prompts << r.prompt; });
        QTRY_COMPARE(prompts, (QStringList{QStringLiteral("1"), QStringLiteral("2")}));
        QVERIFY(QDir(folder.filePath(QStringLiteral("requests"))).isEmpty());
    }

    // A first one that no longer answers: the second runs itself, and leaves nothing.
    void noAnswer_isNoticed() {
        const QTemporaryDir folder;
        const OneInstance first(folder.path());
        const OneInstance second(folder.path());
        QVERIFY(!second.isFirst());
        QVERIFY(!second.handOver({}));  // this thread has no time for the first
        QVERIFY(QDir(folder.filePath(QStringLiteral("requests"))).isEmpty());
    }

    void afterTheFirst_thereIsAFirstAgain() {
        const QTemporaryDir folder;
        { QVERIFY(OneInstance(folder.path()).isFirst()); }
        QVERIFY(OneInstance(folder.path()).isFirst());
        // A lock that a dead program left.
        QFile lock(folder.filePath(QStringLiteral("window.lock")));
        QVERIFY(lock.open(QFile::WriteOnly));
        lock.write("999999999\noffstage\n\n");
        lock.close();
        QVERIFY(OneInstance(folder.path()).isFirst());
    }

    void folderOfOthers_isNoObstacle() { QVERIFY(OneInstance(QStringLiteral("/proc/nothing/here")).isFirst()); }
};

QTEST_GUILESS_MAIN(TestOneInstance)
#include "tst_one_instance.moc"
