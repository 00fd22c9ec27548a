// A conversation continues with the setup of its answers, or the window shows that it
// does not.
#include <QAction>
#include <QPushButton>
#include <QTest>

#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/window/conversation_setup.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

class TestConversationSetup : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void setup_isKeptAsItIs() {
        ConversationSetup setup{QStringLiteral("/a/model"), QStringLiteral("model"), QStringLiteral("cuda:0"), {}, {}};
        setup.budget.vramBytes = quint64{6} << 30;
        setup.budget.ramBytes = 0;
        setup.budget.context = 4096;
        setup.budget.kv = engine::KvType::kInt8;
        setup.budget.quality = {4.5, 0, 0.02};
        setup.budget.theta = {0, 0.003, engine::NeuronGuesses::kAccept};
        setup.inForce = setup.budget;
        setup.inForce.ramBytes = quint64{20} << 30;
        ConversationSetups::keep(7, setup);
        QVERIFY(ConversationSetups::of(7) == setup);
        QVERIFY(!ConversationSetups::of(8));
        for (ConversationId id = 100; id < 100 + ConversationSetups::kMostKept; ++id) {
            ConversationSetups::keep(id, setup);
        }
        QVERIFY(!ConversationSetups::of(7));  // the oldest goes
        QVERIFY(ConversationSetups::of(101) == setup);
    }

    // In the language of the window that shows it, not of the one that stored it.
    void sentence_isMadeWhenItIsShown_andNamesTheDevice() {
        const QTemporaryDir model;
        ConversationId conversation = 0;
        const QTemporaryDir history;
        {
            WindowFixture f({}, {}, history.path());
            f.openAndWait(model.path());
            f.askAndWait(QStringLiteral("hello"));
            conversation = f.window->core().chat.current();
        }
        const QVariantMap kept = QSettings().value(QStringLiteral("conversationSetups/%1").arg(conversation)).toMap();
        QVERIFY(!kept.isEmpty() && !kept.contains(QStringLiteral("text")));
        QLocale::setDefault(QLocale(QLocale::German));
        WindowFixture f({}, {}, history.path());
        f.openAndWait(QStringLiteral("/models/fake-moe"));
        f.window->core().chat.openConversation(conversation);
        QTRY_VERIFY(part<SetupBar>(*f.window).isVisible());
        const QString said = part<SetupBar>(*f.window).sentence();
        QLocale::setDefault(QLocale::c());
        QVERIFY2(said.contains(QStringLiteral(" on the CPU, with ")), qPrintable(said));
        QVERIFY2(said.contains(QStringLiteral("context 2.048")), qPrintable(said));
        QCOMPARE(f.window->opener().devices().nameOf(QStringLiteral("emulated:rtx-3060-desktop")),
                 f.window->opener().devices().find(QStringLiteral("emulated:rtx-3060-desktop"))->name +
                     QStringLiteral(" (emulated)"));
    }

    void conversation_ofAnotherModel_saysSo_andOpensItAtAClick() {
        const QTemporaryDir models;
        QVERIFY(QDir(models.path()).mkdir(QStringLiteral("first")) &&
                QDir(models.path()).mkdir(QStringLiteral("second")));
        const QString one = models.filePath(QStringLiteral("first")), two = models.filePath(QStringLiteral("second"));
        WindowFixture f;
        f.openAndWait(one);
        f.askAndWait(QStringLiteral("to the first"));
        const ConversationId conversation = f.window->core().chat.current();
        QCOMPARE(part<SetupBar>(*f.window).sentence(), QString());
        f.openAndWait(two);
        QTRY_VERIFY(part<SetupBar>(*f.window).isVisible());
        QVERIFY2(part<SetupBar>(*f.window).sentence().startsWith(QStringLiteral("This conversation used ")),
                 qPrintable(part<SetupBar>(*f.window).sentence()));
        part<QAction>(*f.window, "newConversation").trigger();
        QCOMPARE(part<SetupBar>(*f.window).sentence(), QString());
        f.window->core().chat.openConversation(conversation);
        QTRY_VERIFY(part<SetupBar>(*f.window).isVisible());
        // It is directly above the input box.
        QCOMPARE(part<SetupBar>(*f.window).geometry().bottom() + 1, part<ChatPage>(*f.window).input().geometry().top());
        QTest::mouseClick(&part<SetupBar>(*f.window).openButton(), Qt::LeftButton);
        QTRY_VERIFY(f.window->core().engine.loadRequest().model == one.toStdString() &&
                    f.state() == EngineController::State::Ready);
        QTRY_COMPARE(part<SetupBar>(*f.window).sentence(), QString());
        QCOMPARE(f.window->core().chat.current(), conversation);
    }

    void setup_thatWasOpened_isThereAtTheNextStart() {
        const QTemporaryDir model;
        {
            WindowFixture f;
            f.openAndWait(QStringLiteral("/models/fake-moe"));
            f.askAndWait(QStringLiteral("hello"));
            ConversationSetup setup{
                model.path(), QStringLiteral("m"), QStringLiteral("emulated:rtx-3060-desktop"), {}, {}};
            setup.budget.vramBytes = quint64{700} << 20;
            setup.budget.ramBytes = quint64{5} << 30;
            setup.budget.context = 1024;
            setup.budget.kv = engine::KvType::kF32;
            ConversationSetups::keep(f.window->core().chat.current(), setup);
            part<QAction>(*f.window, "newConversation").trigger();
            f.window->core().chat.openConversation(f.window->core().history.conversations().constLast().id);
            QTRY_VERIFY(part<SetupBar>(*f.window).isVisible());
            QTest::mouseClick(&part<SetupBar>(*f.window).openButton(), Qt::LeftButton);
            QTRY_VERIFY(f.window->core().engine.loadRequest().model == model.path().toStdString() &&
                        f.state() == EngineController::State::Ready);
        }
        WindowFixture f;
        QCOMPARE(f.window->opener().modelToBeginWith(), model.path());
        f.openAndWait(f.window->opener().modelToBeginWith());
        const engine::LoadRequest now = f.stage->loads().back();
        QCOMPARE(now.device, std::string("emulated:rtx-3060-desktop"));
        QCOMPARE(now.vram_bytes, std::uint64_t{700} << 20);
        QCOMPARE(now.ram_bytes, std::uint64_t{5} << 30);
        QCOMPARE(now.context, std::int64_t{1024});
        QVERIFY(now.kv == engine::KvType::kF32);
    }

    void conversation_whoseModelIsGone_saysThatItCannot() {
        WindowFixture f;
        {
            const QTemporaryDir models;
            f.openAndWait(models.path());
            f.askAndWait(QStringLiteral("hello"));
        }
        f.openAndWait(QStringLiteral("/models/fake-moe"));
        QTRY_VERIFY(part<SetupBar>(*f.window).sentence().contains(QStringLiteral("no longer at")));
        QVERIFY(!part<SetupBar>(*f.window).openButton().isVisible());
        // The open model answers new prompts, and becomes the conversation's from then
        // on.
        f.askAndWait(QStringLiteral("again"));
        QTRY_COMPARE(part<SetupBar>(*f.window).sentence(), QString());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestConversationSetup)
#include "tst_conversation_setup.moc"
