// A second program hands over what it was started for to the window that is open.
#include <thread>

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
