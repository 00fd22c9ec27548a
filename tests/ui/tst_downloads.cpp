// Downloads in the window: what is shown before, the queue, pause, cancel, the next
// start.
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>

#include "tests/engine/hub_server.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/chat/empty_state.h"
#include "ui/load/download_queue.h"
#include "ui/load/downloads_dialog.h"
#include "ui/load/suggestions_dialog.h"
#include "ui/window/main_window.h"
#include "ui/window/unsaved_bar.h"
#include "ui/window/unsaved_guard.h"

using namespace offstage;
using namespace offstage::ui;
using test::find;
using test::textOf;

class TestDownloads : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_cache;
    std::unique_ptr<test::HubServer> m_hub;
    const QString m_name = QStringLiteral("maker/Tiny-GGUF:Q4_K_M");

    static QByteArray contents(const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    static engine::LoadRequest onCpu() {
        engine::LoadRequest load;
        load.device = "cpu";
        return load;
    }
    QStringList blobs() const {
        return QDir(m_cache->filePath(QStringLiteral("models--maker--Tiny-GGUF/blobs"))).entryList(QDir::Files);
    }
    // The hub sends so many bytes and no more.
    static constexpr qint64 kHeldAfter = 6'000'000;
    void begin(DownloadQueue& queue) {
        m_hub->allow(kHeldAfter);
        queue.add(m_name);
    }
    bool isHeld(const DownloadQueue& queue) const {
        return m_hub->bytesSent() == kHeldAfter && queue.at(0).bytesDone > 0;
    }

  private Q_SLOTS:
    void init() {
        m_cache = std::make_unique<QTemporaryDir>();
        m_hub = std::make_unique<test::HubServer>();
        qunsetenv("http_proxy");
        qputenv("HF_ENDPOINT", QByteArray::fromStdString(m_hub->endpoint()));
        qputenv("HF_HUB_CACHE", m_cache->path().toUtf8());
        settings::kDownloads.remove();
        settings::kDownloadsGot.remove();
        const QString model = m_cache->filePath(QStringLiteral("model.gguf"));
        offstage::tests::write_mixed_gguf(model.toStdString());
        m_hub->add("Tiny-Q4_K_M.gguf", contents(model) + QByteArray(12'000'000, 'x'));
    }

    void file_isShownFirst_thenGot_andOpened() {
        DownloadQueue queue;
        DownloadsDialog dialog(queue);
        QSignalSpy chosen(&dialog, &DownloadsDialog::chosen), asked(&queue, &DownloadQueue::asked);
        dialog.show();
        auto& get = find<QPushButton>(dialog, "Download");
        QVERIFY(!get.isEnabled());
        QVERIFY(m_hub->takeRequests().isEmpty());  // nothing is asked before a person does
        dialog.offer(m_name, onCpu(), {});
        QTRY_VERIFY_WITH_TIMEOUT(get.isEnabled(), 60'000);
        QCOMPARE(asked.size(), 1);
        const QString facts = textOf(dialog, QStringLiteral("The file"));
        QVERIFY2(facts.startsWith(m_name + QStringLiteral("\n14.0 MiB from 127.0.0.1 to ")), qPrintable(facts));
        QVERIFY2(facts.contains(QStringLiteral("of RAM here.")), qPrintable(facts));
        QVERIFY(m_hub->bytesSent() < 3'000'000);  // the headers
        QVERIFY(blobs().isEmpty());
        test::picture(dialog, QStringLiteral("download-offer"), {480, 860}, 480);
        QTest::keyClick(&get, Qt::Key_Space);
        QTRY_COMPARE_WITH_TIMEOUT(queue.at(0).state, Download::State::Done, 60'000);
        QCOMPARE(contents(queue.at(0).path), m_hub->file("Tiny-Q4_K_M.gguf"));
        test::picture(dialog, QStringLiteral("download-done"), {480, 860}, 480);
        bool wasThere = true;
        connect(&dialog, &DownloadsDialog::chosen, this, [&] { wasThere = dialog.isVisible(); });
        QTest::keyClick(&find<QTableView>(dialog, "Downloads"), Qt::Key_Return);
        QCOMPARE(chosen.value(0).value(0).toString(), queue.at(0).path);
        QVERIFY(!wasThere);  // a dialog that opening shows stands alone
    }

    void queue_pauses_andOutlivesTheProgram() {
        {
            DownloadQueue queue;
            DownloadsDialog dialog(queue);
            dialog.show();
            begin(queue);
            queue.add(QStringLiteral("maker/Other-GGUF"));
            QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
            QCOMPARE(queue.at(1).state, Download::State::Waiting);
            queue.pause(1);
            test::picture(dialog, QStringLiteral("downloads"), {480, 860}, 480);
            find<QTableView>(dialog, "Downloads").selectRow(0);
            auto& pause = find<QPushButton>(dialog, "Pause");
            pause.click();
            QCOMPARE(queue.at(0).state, Download::State::Paused);
            QCOMPARE(pause.text().remove(u'&'), QStringLiteral("Resume"));
            pause.click();
        }
        m_hub->takeRequests();
        m_hub->allow(1'000'000'000);
        DownloadQueue next;
        QCOMPARE(next.rowCount(), 2);
        QCOMPARE(next.at(0).state, Download::State::Paused);
        QVERIFY(!blobs().isEmpty());
        const QString got = next.index(0, DownloadQueue::Progress).data().toString();
        QVERIFY2(got.endsWith(QStringLiteral("of 14.0 MiB")) && !got.startsWith(u'0'), qPrintable(got));
        QVERIFY(m_hub->takeRequests().isEmpty());
        next.resume(0);
        QTRY_COMPARE_WITH_TIMEOUT(next.at(0).state, Download::State::Done, 60'000);
        QCOMPARE(contents(next.at(0).path), m_hub->file("Tiny-Q4_K_M.gguf"));
        QCOMPARE(settings::kDownloads.value(), QStringList{QStringLiteral("maker/Other-GGUF")});
    }

    void removing_discardsTheParts() {
        DownloadQueue queue;
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        QVERIFY(!blobs().isEmpty());
        queue.remove(0);
        QTRY_VERIFY(blobs().isEmpty());
        QVERIFY(settings::kDownloads.value().isEmpty());
    }

    void removing_isDone_beforeTheSameIsGotAgain() {
        DownloadQueue queue;
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        queue.pause(0);
        queue.add(QStringLiteral("maker/Other-GGUF"));  // runs once the first one has ended
        QTRY_COMPARE_WITH_TIMEOUT(queue.at(1).state, Download::State::Running, 60'000);
        queue.pause(1);
        m_hub->allow(1'000'000'000);
        queue.remove(0);
        queue.add(m_name);
        QCOMPARE(queue.at(1).state, Download::State::Waiting);
        QTRY_VERIFY_WITH_TIMEOUT(queue.at(1).state >= Download::State::Failed, 60'000);
        QCOMPARE(queue.at(1).state, Download::State::Done);
    }

    // They do not tell whose they are.
    void removing_keepsThePartsOfTheSameRepository() {
        DownloadQueue queue;
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        queue.add(QStringLiteral("maker/Tiny-GGUF:Q8_0"));
        queue.pause(1);
        queue.add(QStringLiteral("maker/Other-GGUF"));
        queue.remove(0);
        QTRY_VERIFY(queue.at(1).state != Download::State::Waiting);  // the first one has ended
        QVERIFY(!blobs().isEmpty());
        queue.remove(0);
        QTRY_VERIFY(blobs().isEmpty());
    }

    // Gigabytes do not go with one click.
    void removing_asksFirst_whereSomethingHasCome() {
        DownloadQueue queue;
        DownloadsDialog dialog(queue);
        dialog.show();
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        queue.add(QStringLiteral("maker/Other-GGUF"));
        auto& table = find<QTableView>(dialog, "Downloads");
        const auto press = [&](int row) {
            table.selectRow(row);
            QTest::mouseClick(&find<QPushButton>(dialog, "Remove"), Qt::LeftButton);
            return dialog.findChild<QMessageBox*>();
        };
        QVERIFY(press(1) == nullptr);  // nothing of it is here
        QCOMPARE(queue.rowCount(), 1);
        QMessageBox* question = press(0);
        QVERIFY(question != nullptr && question->isVisible());
        test::picture(*question, QStringLiteral("download-remove"), {480}, 200);
        QTest::keyClick(question, Qt::Key_Escape);
        QTRY_VERIFY(dialog.findChild<QMessageBox*>() == nullptr);
        QCOMPARE(queue.rowCount(), 1);
        QVERIFY(!blobs().isEmpty());
        question = press(0);
        QTest::mouseClick(&find<QPushButton>(*question, "Remove"), Qt::LeftButton);
        QCOMPARE(queue.rowCount(), 0);
        QTRY_VERIFY(blobs().isEmpty());
    }

    void closing_endsTheLook() {
        DownloadQueue queue;
        QSignalSpy looked(&queue, &DownloadQueue::looked);
        {
            DownloadsDialog dialog(queue);
            dialog.offer(m_name, onCpu(), {});
        }
        m_hub->takeRequests();
        DownloadsDialog dialog(queue);
        dialog.offer(m_name, onCpu(), {});
        QTRY_VERIFY_WITH_TIMEOUT(find<QPushButton>(dialog, "Download").isEnabled(), 60'000);
        QCOMPARE(looked.size(), 1);
    }

    void failure_isTold_andTriedAgain() {
        m_hub->setFault([](const test::HubRequest&, test::HubAnswer& answer) { answer = {.status = 404}; });
        DownloadQueue queue;
        queue.add(m_name);
        QTRY_COMPARE_WITH_TIMEOUT(queue.at(0).state, Download::State::Failed, 60'000);
        QCOMPARE(queue.index(0, DownloadQueue::Status).data().toString(),
                 QStringLiteral("127.0.0.1 has no maker/Tiny-GGUF."));
        m_hub->setFault({});
        queue.resume(0);
        QTRY_COMPARE_WITH_TIMEOUT(queue.at(0).state, Download::State::Done, 60'000);
    }

    // It would stop without a word, though nothing that has come is lost.
    void closingTheWindow_asksWhileSomethingIsGot_andOnlyThen() {
        test::WindowFixture f;
        f.window->show();
        auto& queue = *f.window->findChild<DownloadQueue*>();
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        const auto question = [&f] { return f.window->findChild<QMessageBox*>(); };
        QVERIFY(!f.window->close());
        QVERIFY(f.window->isVisible());
        QVERIFY(question() != nullptr && question()->isVisible());
        QCOMPARE(question()->text(), QStringLiteral("maker/Tiny-GGUF:Q4_K_M is still being downloaded."));
        QVERIFY(question()->informativeText().contains(QStringLiteral("of 14.0 MiB have come. Closing pauses this.")));
        QVERIFY(!f.window->close());  // no second one
        QCOMPARE(f.window->findChildren<QMessageBox*>().size(), 1);
        test::picture(*question(), QStringLiteral("download-close"), {480}, 200);
        QTest::keyClick(question(), Qt::Key_Escape);
        QTRY_VERIFY(question() == nullptr);
        QCOMPARE(queue.at(0).state, Download::State::Running);
        QVERIFY(!f.window->close());
        QTest::mouseClick(&find<QPushButton>(*question(), "Close"), Qt::LeftButton);
        QTRY_VERIFY(!f.window->isVisible());
        QCOMPARE(settings::kDownloads.value(), QStringList{m_name});
        QVERIFY(!blobs().isEmpty());
    }

    // "Close without saving", then "Keep downloading": the next close went past both.
    void closingTheWindow_asksOfDownloads_thenOfWhatIsNotSaved() {
        const test::HistoryFolder folder;
        test::WindowFixture f{{}, {}, folder.path()};
        test::Sql other{folder.file()};
        f.openAndWait();
        f.askAndWait(QStringLiteral("kept"));
        f.window->core().history.flush();
        f.window->core().history.setBusyTimeout(std::chrono::milliseconds(0));
        QCOMPARE(other(QStringLiteral("BEGIN IMMEDIATE")).toString(), QString());
        f.askAndWait(QStringLiteral("new"));
        auto& queue = *f.window->findChild<DownloadQueue*>();
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        const auto question = [&f] { return f.window->findChild<QMessageBox*>(); };
        const UnsavedBar& bar = test::part<UnsavedBar>(*f.window);
        QVERIFY(!f.window->close());
        QVERIFY(question() != nullptr && !bar.isAsking());
        QTest::mouseClick(&find<QPushButton>(*question(), "Close"), Qt::LeftButton);
        QTRY_VERIFY(question() == nullptr);
        QVERIFY(f.window->isVisible() && bar.isAsking());
        QCOMPARE(queue.at(0).state, Download::State::Running);
        // Another download since then is asked for, and what is not saved is asked for again.
        queue.add(QStringLiteral("maker/Other-GGUF"));
        QTest::mouseClick(&find<QPushButton>(bar, "Close without saving"), Qt::LeftButton);
        QVERIFY(f.window->isVisible() && question() != nullptr);
        QTest::keyClick(question(), Qt::Key_Escape);
        QTRY_VERIFY(question() == nullptr);
        QVERIFY(!f.window->close());
        QTest::mouseClick(&find<QPushButton>(*question(), "Close"), Qt::LeftButton);
        QTRY_VERIFY(question() == nullptr);
        QVERIFY(f.window->isVisible() && bar.isAsking());
        QTest::mouseClick(&find<QPushButton>(bar, "Close without saving"), Qt::LeftButton);
        QVERIFY(!f.window->isVisible());
    }

    void closingTheWindow_asksNothing_whereNothingRuns() {
        test::WindowFixture f;
        f.window->show();
        auto& queue = *f.window->findChild<DownloadQueue*>();
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        queue.pause(0);
        QVERIFY(f.window->close());
    }

    void closingTheWindow_asksNothing_whereTheSessionEnds() {
        test::WindowFixture f;
        f.window->show();
        auto& queue = *f.window->findChild<DownloadQueue*>();
        begin(queue);
        QTRY_VERIFY_WITH_TIMEOUT(isHeld(queue), 60'000);
        f.window->findChild<UnsavedGuard*>()->endSession();
        QVERIFY(f.window->close());
    }

    // The next start says what was under way.
    void nextStart_saysWhatCanBeResumed() {
        settings::kDownloads.set({QStringLiteral("maker/Tiny-GGUF"), QStringLiteral("maker/Other-GGUF")});
        test::WindowFixture f;
        QTRY_VERIFY2(f.window->statusBar()->currentMessage().startsWith(QStringLiteral("2 download")),
                     qPrintable(f.window->statusBar()->currentMessage()));
        f.window->show();
        QTRY_VERIFY(f.window->isVisible());
        for (const QLabel* label : f.window->statusBar()->findChildren<QLabel*>()) {
            QVERIFY(label->accessibleName() != QStringLiteral("What the engine does") || !label->isVisible());
        }
        settings::kDownloads.remove();
        test::WindowFixture without;
        QCoreApplication::processEvents();
        QCOMPARE(without.window->statusBar()->currentMessage(), QString());
    }

    void window_takesANameThatIsTyped() {
        test::WindowFixture shown({}, test::demoModel());
        auto& start = test::part<EmptyState>(*shown.window);
        start.setModelsShown(true);
        find<QPushButton>(start, "What runs here…").click();
        find<QPushButton>(test::part<SuggestionsDialog>(*shown.window), "Downloads…").click();
        // Behind it the list stays, and is there again.
        auto& suggestions = test::part<SuggestionsDialog>(*shown.window);
        QTest::keyClick(&test::part<DownloadsDialog>(*shown.window), Qt::Key_Escape);
        QTRY_VERIFY(suggestions.findChild<DownloadsDialog*>() == nullptr);
        QVERIFY(suggestions.isVisible());
        find<QPushButton>(suggestions, "Downloads…").click();
        auto& downloads = test::part<DownloadsDialog>(*shown.window);
        auto& name = test::part<QLineEdit>(downloads);
        QVERIFY(!find<QPushButton>(downloads, "Look").isEnabled());
        QTest::keyClicks(&name, u' ' + QString::fromStdString(m_hub->endpoint()) +
                                    QStringLiteral("/maker/Tiny-GGUF/blob/v2/Tiny-Q4_K_M.gguf"));
        QTest::keyClick(&name, Qt::Key_Return);
        auto& get = find<QPushButton>(downloads, "Download");
        QTRY_VERIFY_WITH_TIMEOUT(get.isEnabled(), 60'000);
        QVERIFY(m_hub->takeRequests().value(0).target.contains("/revision/v2?"));
        QVERIFY(downloads.isVisible());
        get.click();
        QTRY_COMPARE_WITH_TIMEOUT(test::textOf(downloads, QStringLiteral("The file")).count(u"v2"), 1, 60'000);
        QTRY_VERIFY_WITH_TIMEOUT(!blobs().isEmpty(), 60'000);
        QTRY_COMPARE_WITH_TIMEOUT(blobs().size(), 1, 60'000);
    }

    // From the first start, by the start page's button.
    void window_leadsFromTheStartPageToTheFile() {
        test::WindowFixture shown({}, test::demoModel());
        auto& start = test::part<EmptyState>(*shown.window);
        start.setModelsShown(true);
        test::picture(start, QStringLiteral("start-page"), {480, 900}, 760);
        find<QPushButton>(start, "What runs here…").click();
        auto& suggestions = test::part<SuggestionsDialog>(*shown.window);
        Q_EMIT suggestions.wanted(m_name);
        auto& downloads = test::part<DownloadsDialog>(*shown.window);
        QTRY_VERIFY_WITH_TIMEOUT(find<QPushButton>(downloads, "Download").isEnabled(), 60'000);
        QCOMPARE(shown.window->core().log.connections(), 1);
        QVERIFY(shown.window->core().log.at(shown.window->core().log.size() - 1).text.contains(m_name));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestDownloads)
#include "tst_downloads.moc"
