// Titles of conversations that the model writes.

#include <QCheckBox>
#include <QLineEdit>
#include <QTest>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/title_writer.h"
#include "ui/settings/settings_dialog.h"

using namespace offstage;
using namespace offstage::ui;
using test::part;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

class TestTitles : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    }

    // ---- titles by the model

    void title_isWrittenAfterTheFirstAnswer_fromTheConversation() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "\"Pears and quinces.\"";
        WindowFixture f(script);
        f.openAndWait();
        f.askAndWait(QStringLiteral("Which fruits are related?"));
        const ConversationId id = f.window->core().chat.current();
        QTRY_COMPARE(f.window->core().history.info(id).title, QStringLiteral("Pears and quinces"));
        QCOMPARE(f.messages().size(), 2);  // nothing of it is in the conversation
        const auto requests = f.stage->requests();
        QCOMPARE(requests.size(), size_t(2));
        // It goes on from the conversation, so that the KV cache has its beginning.
        QCOMPARE(requests[1].messages.size(), size_t(3));
        QCOMPARE(requests[1].messages[0].content, requests[0].messages[0].content);
        QCOMPARE(requests[1].messages[1].content, script.answer);
        QCOMPARE(f.stage->resets.load(), 0);
        f.askAndWait(QStringLiteral("More?"));
        QCOMPARE(f.stage->requests().size(), size_t(3));  // once
        QVERIFY(!f.window->core().history.info(id).titleByPerson);
    }

    void title_isGivenUp_whenThePersonTypes_andTriedAgain() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "Pears and quinces";
        WindowFixture f(script);
        f.openAndWait();
        f.stage->heldFrom = 2;
        f.ask(QStringLiteral("Which fruits are related?"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        f.stage->heldBack = true;  // the title's answer does not come
        f.stage->release();
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const ConversationId id = f.window->core().chat.current();
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.state(), State::Ready);  // nobody waits for it
        f.type(QStringLiteral("A"));
        QTRY_VERIFY(!f.window->core().engine.isServing());  // it is stopped, not waited for
        QCOMPARE(f.window->core().history.info(id).title, QStringLiteral("Which fruits are related?"));
        f.stage->heldBack = false;
        f.ask(QStringLiteral(" second"));
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.window->core().history.info(id).title, QStringLiteral("Pears and quinces"));
    }

    // A prompt that comes from elsewhere than the input box ends it, too; and a title
    // that was typed meanwhile stays.
    void title_comesAfterPrompts_andNotOverATypedOne() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "Pears and quinces";
        WindowFixture f(script);
        f.openAndWait();
        f.stage->heldFrom = 2;
        f.ask(QStringLiteral("one"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        f.stage->heldBack = true;
        f.stage->release();
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        f.window->handle({{}, QStringLiteral("two"), false});
        QTRY_COMPARE(f.stage->requests().size(), size_t(3));  // the title did not hold it back
        const ConversationId id = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_F2);
        auto* editor = part<ConversationList>(*f.window).view().findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, QStringLiteral("Mine"));
        QTest::keyClick(editor, Qt::Key_Return);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.state(), State::Ready);
        QCoreApplication::processEvents();
        QCOMPARE(f.stage->requests().size(), size_t(3));
        QCOMPARE(f.window->core().history.info(id).title, QStringLiteral("Mine"));
    }

    void title_notWritten_data() {
        QTest::addColumn<bool>("switchedOff");
        QTest::addColumn<QString>("demo");
        QTest::newRow("switched off") << true << QString();
        QTest::newRow("the demo model") << false << QStringLiteral("/models/fake-moe");
    }
    void title_notWritten() {
        QFETCH(const bool, switchedOff);
        QFETCH(const QString, demo);
        settings::kModelTitles.set(true);
        WindowFixture f({}, demo);
        f.openAndWait();
        if (switchedOff) {
            QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
            part<SettingsDialog>(*f.window).showPage(SettingsDialog::Page::Conversations);
            auto& choice = test::find<QCheckBox>(part<SettingsDialog>(*f.window), "Let the model write the titles");
            choice.setFocus();
            QTest::keyClick(&choice, Qt::Key_Space);
            part<SettingsDialog>(*f.window).close();
        }
        for (const char* prompt : {"one", "two"}) {
            f.askAndWait(QString::fromLatin1(prompt));
            QCoreApplication::processEvents();  // a title would be asked for then
        }
        QCOMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.window->core().history.info(f.window->core().chat.current()).title, QStringLiteral("one"));
    }

    void titles_areTakenFromWhatModelsWrite_data() {
        QTest::addColumn<QString>("written");
        QTest::addColumn<QString>("title");
        QTest::newRow("plain") << "Related fruits"
                               << "Related fruits";
        QTest::newRow("marks") << "**\"Related fruits.\"**\n\nIs there more?"
                               << "Related fruits";
        QTest::newRow("label") << "Title: Related fruits"
                               << "Related fruits";
        QTest::newRow("German") << QStringLiteral("„Verwandte Früchte“") << QStringLiteral("Verwandte Früchte");
        QTest::newRow("question") << "Which fruits?"
                                  << "Which fruits?";
        QTest::newRow("nothing") << " \n "
                                 << "";
        QTest::newRow("an answer")
            << "Sure! Here is what I would say about all of the fruits that you have named so far"
            << "";
    }
    void titles_areTakenFromWhatModelsWrite() {
        QFETCH(const QString, written);
        QTEST(titleFromModel(written), "title");
    }
};

OFFSTAGE_UI_TEST_MAIN(TestTitles)
#include "tst_titles.moc"
