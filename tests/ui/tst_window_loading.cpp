// Models in the window: opened, dropped, failing, switched and given up, beside what is
// being written.

#include <QDir>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QUrl>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/load_banner.h"
#include "ui/chat/problem_card.h"
#include "ui/load/open_model_dialog.h"

using namespace offstage;
using namespace offstage::ui;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

class TestWindowLoading : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }
    void shortMemory_cardLeadsToWhatWouldFit() {
        Script script;
        script.loadError =
            engine::Error(engine::ErrorKind::kOutOfMemory, engine::from_outside("The model needs 3 GiB more."));
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/large"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(f.last().problem.actions.first(), ProblemAction::OpenWithOptions);
        Q_EMIT test::part<ChatPage>(*f.window).actionChosen(ProblemAction::OpenWithOptions);
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        QVERIFY(dialog != nullptr);
        QCOMPARE(dialog->path().text(), QStringLiteral("/models/large"));
        dialog->reject();
    }

    // As published a model is a folder: it is chosen like a file.
    void openWithOptions_choosesAFolderToo() {
        const QTemporaryDir place;
        QVERIFY(QDir(place.path()).mkdir(QStringLiteral("moe")));
        const QString model = place.filePath(QStringLiteral("moe"));
        settings::kLastFolder.set(place.path());
        WindowFixture f;
        QTest::keyClick(f.window.get(), Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() != nullptr);
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        QTest::mouseClick(&test::find<QPushButton>(*dialog, "Folder…"), Qt::LeftButton);
        QTRY_VERIFY(dialog->findChild<QFileDialog*>() != nullptr);
        auto* files = dialog->findChild<QFileDialog*>();
        auto* name = files->findChild<QLineEdit*>();
        QTest::keyClicks(name, QStringLiteral("moe"));
        QTest::keyClick(name, Qt::Key_Return);
        QTRY_COMPARE(dialog->path().text(), model);
        QCOMPARE(QString::fromStdString(dialog->request().model), model);
        QCOMPARE(settings::folderOf(settings::kLastFolder), place.path());
        dialog->reject();
    }

    // The first time beside the model that is named, later where the last one was chosen.
    void openWithOptions_beginsWhereModelsAre() {
        const QTemporaryDir place, other;
        const QString model = place.filePath(QStringLiteral("moe.gguf"));
        WindowFixture f;
        QTest::keyClick(f.window.get(), Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() != nullptr);
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        dialog->path().setText(model);
        for (const char* button : {"File…", "Folder…"}) {
            for (const QString& last : {QString(), other.path(), other.filePath(QStringLiteral("gone"))}) {
                settings::kLastFolder.set(last);
                QTest::mouseClick(&test::find<QPushButton>(*dialog, button), Qt::LeftButton);
                QTRY_VERIFY(dialog->findChild<QFileDialog*>() != nullptr);
                auto* files = dialog->findChild<QFileDialog*>();
                QCOMPARE(files->directory().absolutePath(), last == other.path() ? last : place.path());
                delete files;
            }
        }
        dialog->reject();
    }

    // A model of the command line may be named from the folder that one is in.
    void openWithOptions_beginsBesideARelativePath() {
        const QTemporaryDir place;
        QVERIFY(QDir(place.path()).mkdir(QStringLiteral("moe")));
        const QString before = QDir::currentPath();
        QVERIFY(QDir::setCurrent(place.path()));
        const auto back = qScopeGuard([&before] { QDir::setCurrent(before); });
        WindowFixture f;
        settings::kLastFolder.set({});
        QTest::keyClick(f.window.get(), Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() != nullptr);
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        dialog->path().setText(QStringLiteral("moe"));
        QTest::mouseClick(&test::find<QPushButton>(*dialog, "Folder…"), Qt::LeftButton);
        QTRY_VERIFY(dialog->findChild<QFileDialog*>() != nullptr);
        auto* files = dialog->findChild<QFileDialog*>();
        QCOMPARE(files->directory().canonicalPath(), QDir(place.path()).canonicalPath());
        delete files;
        dialog->reject();
    }

    void startingWithoutAGpu_namesTheHardware_andOffersAnEmulatedOne() {
        WindowFixture f({}, QStringLiteral("/models/demo"));
        f.openAndWait(QStringLiteral("/models/demo"));
        QTRY_VERIFY(f.window->opener().devices().looked());
        if (f.window->opener().devices().hasGpu()) {
            QSKIP("this machine has a GPU");
        }
        QVERIFY(test::part<ChatPage>(*f.window).emptyState().hardware().contains(f.window->opener().devices().found()));
        Q_EMIT test::part<ChatPage>(*f.window).emptyState().emulatedRequested();
        QTRY_COMPARE(f.stage->loads().size(), std::size_t{2});
        QCOMPARE(QString::fromStdString(f.stage->loads().back().device), DeviceChoices::demonstrationDevice());
        QCOMPARE(f.stage->loads().back().vram_bytes, std::uint64_t{DeviceChoices::kDemonstrationVram});
        QVERIFY(f.stage->loads().back().paced);
        QTRY_COMPARE(f.state(), State::Ready);
        QSettings().remove(QStringLiteral("device"));
        QSettings().remove(QStringLiteral("vram"));
    }

    void prompt_whileLoading_waitsForTheModel() {
        Script script;
        script.loadMs = 300;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/fake"));
        QVERIFY(test::child<LoadBanner>(test::part<ChatPage>(*f.window)).isVisible());
        f.ask(QStringLiteral("early"));
        QCOMPARE(f.last().state, Message::State::Waiting);
        QCOMPARE(test::part<ChatPage>(*f.window).input().mode(), InputBar::Mode::Queued);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().size(), size_t(1));
        QVERIFY(!test::child<LoadBanner>(test::part<ChatPage>(*f.window)).isVisible());
    }

    void prompt_whileLoadingFails_comesBack() {
        Script script = failingLoad();
        script.loadMs = 200;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/broken"));
        f.ask(QStringLiteral("precious text"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), QStringLiteral("precious text"));
        QCOMPARE(f.messages().size(), 1);
    }

    void load_failing_showsACardAndGoesOn() {
        WindowFixture f(failingLoad());
        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("num_local_experts")));
        QCOMPARE(f.last().problem.detail, QStringLiteral("offset 120"));
        auto* card = test::part<ChatPage>(*f.window).view().findChild<ProblemCard*>();
        QVERIFY(card && card->isVisible());
        auto* details = card->findChild<QPlainTextEdit*>();
        QVERIFY(details && !details->isVisible());
        QTest::mouseClick(card->findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(details->isVisible());
        f.stage->setScript({});
        f.openAndWait();
        f.ask(QStringLiteral("works"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QVERIFY(f.window->core().conversation.messages().first().kind != Message::Kind::Problem);
    }

    void errorCard_narrowWindow_itsButtonsAreWholeAndApart_data() {
        QTest::addColumn<int>("width");
        QTest::newRow("800") << 800;
        QTest::newRow("640") << 640;
    }
    void errorCard_narrowWindow_itsButtonsAreWholeAndApart() {
        QFETCH(const int, width);
        WindowFixture f;
        f.openAndWait(QStringLiteral("/models/good"));
        Script tooLarge;
        tooLarge.loadError = engine::Error(engine::ErrorKind::kOutOfMemory, engine::from_outside("Not enough memory."),
                                           "9.0 GiB are needed, 4.0 GiB are there");
        f.stage->setScript(tooLarge);
        f.window->opener().open(QStringLiteral("/models/large"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        f.window->resize(width, 700);
        auto* card = test::part<ChatPage>(*f.window).view().findChild<ProblemCard*>();
        QVERIFY(card != nullptr);
        const QList<QAbstractButton*> buttons = card->findChildren<QAbstractButton*>();
        QCOMPARE(buttons.size(), 5);  // with the one that closes it
        const auto wrong = [&] {
            QStringList names;
            QRegion taken;
            for (const QAbstractButton* button : buttons) {
                const QRect place(button->mapTo(card, QPoint()), button->size());
                if (place.width() < button->sizeHint().width() || !card->rect().contains(place) ||
                    taken.intersects(place)) {
                    names << button->text();
                }
                taken += place;
            }
            return names;
        };
        QTRY_COMPARE(wrong(), QStringList());
        QVERIFY(card->width() < width);
        test::picture(*card, QStringLiteral("error-card"), {card->width()}, card->height());
    }

    void load_failing_offersThePreviousModel() {
        WindowFixture f;
        f.openAndWait(QStringLiteral("/models/good"));
        f.stage->setScript(failingLoad());
        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY(f.last().problem.actions.contains(ProblemAction::OpenPreviousModel));
        f.stage->setScript({});
        press(test::part<ChatPage>(*f.window).view(), textOf(ProblemAction::OpenPreviousModel));
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->loads().back().model, std::string("/models/good"));
    }

    void load_foreignException_showsACard() {
        Script script;
        script.loadThrowsForeign = true;
        WindowFixture f(script, QStringLiteral("/models/demo"));
        f.window->opener().open(QStringLiteral("/models/odd"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(f.last().problem.detail, QStringLiteral("something foreign"));
        QVERIFY(f.last().problem.actions.contains(ProblemAction::OpenDemoModel));
    }

    void load_cancelled_leavesTheProgramWorking() {
        Script script;
        script.loadMs = 60'000;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/huge"));
        press(test::child<LoadBanner>(test::part<ChatPage>(*f.window)), QStringLiteral("Cancel"));
        QTRY_COMPARE(f.state(), State::NoModel);
        QVERIFY(!test::child<LoadBanner>(test::part<ChatPage>(*f.window)).isVisible());
        f.stage->setScript({});
        f.openAndWait();
    }

    void load_switchedWhileLoading_onlyTheLastCounts() {
        Script script;
        script.loadMs = 60'000;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/first"));
        QTRY_COMPARE(f.stage->loads().size(), size_t(1));
        f.stage->setScript({});
        f.window->opener().open(QStringLiteral("/models/second"));
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.window->core().engine.model()->source, std::string("/models/second"));
        QVERIFY(f.messages().isEmpty());
    }

    void openModel_midStream_stopsAndKeepsTheConversation() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().text.size() > 4);
        f.stage->setScript({});
        f.window->opener().open(QStringLiteral("/models/other"));
        QCOMPARE(f.last().state, Message::State::Stopped);
        const QString kept = f.last().text;
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.last().text, kept);
        f.ask(QStringLiteral("go on"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(3));
    }

    void close_midLoad_joinsTheEngine() {
        Script script;
        script.loadMs = 60'000;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/huge"));
        QTRY_COMPARE(f.stage->loads().size(), size_t(1));
        QVERIFY(f.window->close());
        QCOMPARE(f.stage->sessionsAlive.load(), 0);
    }

    void start_beginsWithTheLastModel_notWithOneThatEndedTheProgram() {
        QTemporaryDir models;
        const QString demo = models.filePath(QStringLiteral("demo")), own = models.filePath(QStringLiteral("own"));
        QVERIFY(QDir().mkpath(demo) && QDir().mkpath(own));
        const auto begins = [&demo] { return WindowFixture({}, demo).window->opener().modelToBeginWith(); };
        QCOMPARE(begins(), demo);
        {
            WindowFixture f({}, demo);
            f.openAndWait(own);
        }
        QCOMPARE(begins(), own);
        {
            WindowFixture f({}, demo);
            f.openAndWait(demo);
        }
        QCOMPARE(begins(), demo);
        {
            WindowFixture f({}, demo);
            f.openAndWait(own);
        }
        QSettings().setValue(QStringLiteral("model/opening"), own);  // as a program leaves it that ends there
        QCOMPARE(begins(), demo);
        QSettings().remove(QStringLiteral("model/opening"));
        QCOMPARE(begins(), own);
        QVERIFY(QDir(own).removeRecursively());
        QCOMPARE(begins(), demo);
    }

    void recent_keepsTenLatestFirst() {
        QTemporaryDir folder;
        WindowFixture f;
        for (int i = 0; i < 12; ++i) {
            f.openAndWait(QStringLiteral("/models/m%1").arg(i));
        }
        f.openAndWait(QStringLiteral("/models/m5"));
        f.openAndWait(folder.path());
        const QStringList recent = f.window->opener().recent().models();
        QCOMPARE(recent.size(), 10);
        QCOMPARE(recent[0], folder.path());
        QCOMPARE(recent[1], QStringLiteral("/models/m5"));
        QCOMPARE(recent.count(QStringLiteral("/models/m5")), 1);
        QVERIFY(RecentModels::isMissing(recent[1]));
        QVERIFY(!RecentModels::isMissing(recent[0]));
        QCOMPARE(RecentModels().models(), recent);
    }

    void drop_folder_opensIt() {
        QTemporaryDir folder;
        WindowFixture f;
        QMimeData mime;
        mime.setUrls({QUrl::fromLocalFile(folder.path())});
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(f.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(f.window.get(), &drop);
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->loads().back().model, folder.path().toStdString());
    }

    void drop_partsOfAModelInCapitals_areOne() {
        WindowFixture f;
        QMimeData parts;
        parts.setUrls({QUrl::fromLocalFile(QStringLiteral("/m/a-00001-of-00002.GGUF")),
                       QUrl::fromLocalFile(QStringLiteral("/m/a-00002-of-00002.GGUF"))});
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &parts, Qt::LeftButton, Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(f.window.get(), &enter);
        QVERIFY(enter.isAccepted());
    }

    void drop_other_isRefused() {
        WindowFixture f;
        QMimeData web;
        web.setUrls({QUrl(QStringLiteral("https://example.org/model"))});
        QMimeData two;
        two.setUrls({QUrl::fromLocalFile(QStringLiteral("/a")), QUrl::fromLocalFile(QStringLiteral("/b"))});
        QMimeData text;
        text.setText(QStringLiteral("words"));
        for (QMimeData* mime : {&web, &two, &text}) {
            QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, mime, Qt::LeftButton, Qt::NoModifier);
            enter.ignore();
            QApplication::sendEvent(f.window.get(), &enter);
            QVERIFY(!enter.isAccepted());
        }
        QVERIFY(f.stage->loads().empty());
    }

  private:
    static Script slow() {
        Script script;
        script.answer = std::string(40'000, 'x');
        script.tokensPerSecond = 100;
        script.layerMs = 5;
        return script;
    }
    static Script failingLoad() {
        Script script;
        script.loadError = engine::Error(
            engine::ErrorKind::kInvalidModel,
            engine::from_outside("config.json: \"num_local_experts\" is 0; a number from 1 to 1024 was expected."),
            "offset 120");
        return script;
    }
    static void press(QWidget& parent, const QString& text) {
        for (auto* button : parent.findChildren<QPushButton*>()) {
            if (button->text() == text && button->isVisible()) {
                QTest::mouseClick(button, Qt::LeftButton);
                return;
            }
        }
        QFAIL(qPrintable(QStringLiteral("no button ") + text));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWindowLoading)
#include "tst_window_loading.moc"
