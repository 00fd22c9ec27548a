// The window where two things interact: a menu and a conversation that is rebuilt, a
// benchmark and a prompt, an edit and an answer, the keyboard and the widget with the
// focus.
#include <QAction>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QLineEdit>
#include <QListView>
#include <QLocale>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTest>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/event_log.h"
#include "ui/panels/experts_panel.h"
#include "ui/widgets/command_palette.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

class TestWindowCrossings : public QObject {
    Q_OBJECT

    static Script endless() {
        Script script;
        script.answer = std::string(400'000, 'x');
        script.tokensPerSecond = 100;
        return script;
    }
    static Script failing() {
        Script script;
        script.generateError = engine::Error(engine::ErrorKind::kOutOfMemory, engine::from_outside("No room."));
        return script;
    }
    // The second answer is held back, and fails when it is released: then the
    // conversation is rebuilt.
    static void answerOneAndHoldTheNext(WindowFixture& f) {
        f.openAndWait();
        f.askAndWait(QStringLiteral("first"));
        f.stage->setScript(failing());
        f.stage->heldBack = true;
        f.ask(QStringLiteral("second"));
        QTRY_VERIFY(f.stage->generating);
    }
    static MessageWidget* widgetOf(WindowFixture& f, int row) {
        return test::part<ChatPage>(*f.window).view().messageWidget(f.messages()[row].id);
    }
    static bool boxHasFocus(WindowFixture& f) { return test::part<ChatPage>(*f.window).input().edit().hasFocus(); }

  private Q_SLOTS:
    void menu_ofAMessageThatGoes_goesWithIt() {
        WindowFixture f;
        answerOneAndHoldTheNext(f);
        MessageBody& body = widgetOf(f, 1)->body();
        QContextMenuEvent event(QContextMenuEvent::Mouse, {10, 10}, body.mapToGlobal(QPoint(10, 10)));
        QApplication::sendEvent(&body, &event);
        const QPointer<QWidget> menu = QApplication::activePopupWidget();
        QVERIFY(menu);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);  // the conversation was built anew meanwhile
        QTRY_VERIFY(!menu);
        QTRY_COMPARE(f.state(), State::Ready);
    }

    void prompt_duringABenchmark_isAnsweredAfterIt() {
        WindowFixture f;
        f.openAndWait();
        f.stage->setScript(endless());
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*f.window).runner();
        BenchmarkRunner::Scenario scenario;
        scenario.repeats = 2;
        QVERIFY(runner.runScenario(scenario));
        QTRY_VERIFY(f.stage->generating);
        QCOMPARE(test::part<ChatPage>(*f.window).input().mode(), InputBar::Mode::QueueBehind);
        QVERIFY(!test::part<ChatPage>(*f.window).input().hint().contains(QStringLiteral("loading")));
        f.ask(QStringLiteral("hello"));
        QCOMPARE(f.last().state, Message::State::Waiting);
        QVERIFY2(f.last().note.contains(QStringLiteral("benchmark")), qPrintable(f.last().note));
        f.stage->setScript({});
        runner.cancel();
        QTRY_VERIFY(!runner.isRunning());
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.last().text, QString::fromStdString(Script{}.answer));
    }

    void speed_ofABenchmark_isNotKeptForTheAnswers() {
        WindowFixture f;
        f.openAndWait();
        const StatusLine& status = test::part<StatusLine>(*f.window);
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*f.window).runner();
        BenchmarkRunner::Scenario scenario;
        scenario.repeats = 1;
        scenario.tokensOut = 8;
        Script slow;
        slow.tokensPerSecond = 40;  // each token comes by itself
        f.stage->setScript(slow);
        f.stage->heldFrom = 4;
        QVERIFY(runner.runScenario(scenario));
        QTRY_VERIFY(!status.speedText().isEmpty());  // while it runs, its own
        f.stage->release();
        QTRY_VERIFY(!runner.isRunning());
        QCOMPARE(status.speedText(), QString());
        f.stage->setScript({});  // many times as fast
        f.askAndWait(QStringLiteral("hello"));
        const QString before = status.speedText();
        QVERIFY(!before.isEmpty());
        f.stage->setScript(slow);
        f.stage->heldFrom = 4;
        QVERIFY(runner.runScenario(scenario));
        QTRY_VERIFY(status.speedText() != before);
        f.stage->release();
        QTRY_VERIFY(!runner.isRunning());
        QCOMPARE(status.speedText(), before);
    }

    void stop_duringABenchmark_endsItWithoutARow() {
        WindowFixture f;
        f.openAndWait();
        f.stage->setScript(endless());
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*f.window).runner();
        QSignalSpy ended(&runner, &BenchmarkRunner::ended);
        QSignalSpy rows(&runner, &BenchmarkRunner::runFinished);
        QVERIFY(runner.runScenario({}));
        QTRY_VERIFY(f.stage->generating);
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(ended.size(), 1);
        QCOMPARE(ended[0][0].toString(), QString());
        QCOMPARE(rows.size(), 0);
    }

    void newConversation_duringABenchmark_leavesItAlone() {
        WindowFixture f;
        f.openAndWait();
        f.stage->setScript(endless());
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*f.window).runner();
        QVERIFY(runner.runScenario({}));
        QTRY_VERIFY(f.stage->generating);
        test::part<QAction>(*f.window, "newConversation").trigger();
        QCoreApplication::processEvents();
        QVERIFY(runner.isRunning());
        QCOMPARE(f.state(), State::Generating);
        runner.cancel();
        QTRY_VERIFY(!runner.isRunning());
    }

    void edit_thatCannotBeSentNow_staysWithTheReason() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("first"));
        f.stage->setScript(endless());
        f.ask(QStringLiteral("second"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        MessageWidget* prompt = widgetOf(f, 0);
        prompt->startEditing();
        prompt->editor()->edit().setPlainText(QStringLiteral("a careful rewrite"));
        const QString hint = prompt->editor()->hint();
        QTest::keyClick(&prompt->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(prompt->editor());
        QCOMPARE(prompt->editor()->edit().toPlainText(), QStringLiteral("a careful rewrite"));
        QVERIFY(prompt->editor()->hint() != hint);
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
        f.stage->setScript({});
        QTest::keyClick(&prompt->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_COMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages()[0].text, QStringLiteral("a careful rewrite"));
        QCOMPARE(f.messages()[0].branches, 2);
        QVERIFY(!widgetOf(f, 0)->editor());
        QVERIFY(boxHasFocus(f));
        // The previous branch is unchanged, and nothing is being edited there.
        QTRY_COMPARE(f.state(), State::Ready);
        QVERIFY(f.window->core().chat.switchBranch(f.messages()[0].id, -1));
        QCOMPARE(f.messages()[0].text, QStringLiteral("first"));
        QVERIFY(!widgetOf(f, 0)->editor());
    }

    void editAnswer_savesABranch_thatTheNextPromptIsSentWith() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("first"));
        const QString written = f.last().text;
        const size_t requests = f.stage->requests().size();
        widgetOf(f, 1)->startEditing();
        QTest::keyClick(&widgetOf(f, 1)->editor()->edit(), Qt::Key_X);
        QTest::keyClick(&widgetOf(f, 1)->editor()->edit(), Qt::Key_Escape);
        QVERIFY(!widgetOf(f, 1)->editor());
        QCOMPARE(f.last().text, written);
        QCOMPARE(f.last().branches, 1);
        test::part<ChatPage>(*f.window).view().startEditing(f.last().id);
        widgetOf(f, 1)->editor()->edit().setPlainText(QStringLiteral("what I would have said"));
        QTest::keyClick(&widgetOf(f, 1)->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_COMPARE(f.last().text, QStringLiteral("what I would have said"));
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().branches, 2);
        QVERIFY(!widgetOf(f, 1)->editor());
        QCOMPARE(widgetOf(f, 1)->caption(), QStringLiteral("Edited by you"));
        QVERIFY(boxHasFocus(f));
        QCOMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->requests().size(), requests);
        f.askAndWait(QStringLiteral("second"));
        QCOMPARE(f.stage->requests().back().messages[1].content, std::string("what I would have said"));
        // The model's text is unchanged, and nothing is being edited there.
        QVERIFY(f.window->core().chat.switchBranch(f.messages()[1].id, -1));
        QCOMPARE(f.last().text, written);
        QVERIFY(!widgetOf(f, 1)->editor());
    }

    void editAnswer_thatCannotBeSavedNow_staysWithTheReason() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("first"));
        f.stage->setScript(endless());
        f.ask(QStringLiteral("second"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        MessageWidget* answer = widgetOf(f, 1);
        answer->startEditing();
        answer->editor()->edit().setPlainText(QStringLiteral("a careful rewrite"));
        QTest::keyClick(&answer->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(answer->editor());
        QVERIFY2(answer->editor()->hint().contains(QStringLiteral("save it after")),
                 qPrintable(answer->editor()->hint()));
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
        QTest::keyClick(&answer->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_COMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().text, QStringLiteral("a careful rewrite"));
        QCOMPARE(f.state(), State::Ready);
    }

    void edit_openWhileTheConversationIsRebuilt_staysOpen() {
        WindowFixture f;
        answerOneAndHoldTheNext(f);
        widgetOf(f, 0)->startEditing();
        widgetOf(f, 0)->editor()->edit().setPlainText(QStringLiteral("typing a rewrite"));
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        MessageEditor* editor = widgetOf(f, 0)->editor();
        QVERIFY(editor);
        QCOMPARE(editor->edit().toPlainText(), QStringLiteral("typing a rewrite"));
        QVERIFY(editor->edit().hasFocus());
        QTest::keyClick(&editor->edit(), Qt::Key_Escape);
        QVERIFY(!widgetOf(f, 0)->editor());
        test::part<QAction>(*f.window, "newConversation").trigger();
        f.window->core().chat.openConversation(f.window->core().history.conversations().first().id);
        QVERIFY(!widgetOf(f, 0)->editor());
    }

    void palette_withItsMenuOpen_stays() {
        WindowFixture f;
        CommandPalette& palette = test::part<CommandPalette>(*f.window);
        palette.open();
        QTest::keyClicks(&palette.input(), QStringLiteral("lay"));
        QFocusEvent byMenu(QEvent::FocusOut, Qt::PopupFocusReason);
        QApplication::sendEvent(&palette.input(), &byMenu);
        QVERIFY(palette.isVisible());
        QFocusEvent byTab(QEvent::FocusOut, Qt::TabFocusReason);
        QApplication::sendEvent(&palette.input(), &byTab);
        QVERIFY(!palette.isVisible());
    }

    void focus_returnsToTheMessageBox() {
        WindowFixture f;
        f.openAndWait();
        Q_EMIT test::part<ChatPage>(*f.window).emptyState().promptChosen(QStringLiteral("suggested"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.state(), State::Ready);
        QVERIFY(boxHasFocus(f));
        test::part<ChatPage>(*f.window).view().setFocus();
        Q_EMIT test::part<ChatPage>(*f.window).view().regenerateRequested(f.last().id);
        QVERIFY(boxHasFocus(f));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.state(), State::Ready);
        test::part<ChatPage>(*f.window).find();
        QVERIFY(!boxHasFocus(f));
        QTest::keyClick(&test::child<FindBar>(test::part<ChatPage>(*f.window)).edit(), Qt::Key_Escape);
        QVERIFY(boxHasFocus(f));
    }

    void typing_wherever_beginsAMessage() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        MessageBody& body = widgetOf(f, 1)->body();
        body.setFocus();
        QTest::keyClicks(&body, QStringLiteral("n"));
        QVERIFY(boxHasFocus(f));
        QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("ext question"));
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), QStringLiteral("next question"));
        body.setFocus();
        QTest::keyClick(&body, Qt::Key_Space);  // no letter: not a message's beginning
        QTest::keyClick(&body, Qt::Key_A, Qt::AltModifier);
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), QStringLiteral("next question"));
    }

    void context_countsTheConversationShownAndTheDraft() {
        WindowFixture f;
        f.openAndWait();
        const auto shows = [&f](int tokens) {
            return test::part<StatusLine>(*f.window).contextText() ==
                   QStringLiteral("%1 of %2 tokens").arg(QLocale().toString(tokens), QLocale().toString(2048));
        };
        const auto asTokens = [](qsizetype characters) { return 3 + static_cast<int>(characters / 4); };
        f.type(QStringLiteral("a draft of forty characters, as it stands"));
        QTRY_VERIFY2(shows(asTokens(41)), qPrintable(test::part<StatusLine>(*f.window).contextText()));
        f.pressEnter();
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const int conversation = asTokens(41) + asTokens(qsizetype(Script{}.answer.size()));
        QTRY_VERIFY2(shows(conversation), qPrintable(test::part<StatusLine>(*f.window).contextText()));
        const ConversationId first = f.window->core().chat.current();
        test::part<QAction>(*f.window, "newConversation").trigger();
        QTRY_VERIFY(shows(0));
        f.window->core().chat.openConversation(first);
        QTRY_VERIFY(shows(conversation));
        f.type(QStringLiteral("and more"));
        QTRY_VERIFY(shows(conversation + asTokens(8)));
        // No output of a benchmark belongs to the conversation.
        f.stage->setScript(endless());
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*f.window).runner();
        QVERIFY(runner.runScenario({}));
        QSignalSpy streamed(&f.window->core().engine, &EngineController::streamed);
        QTRY_VERIFY(!streamed.isEmpty());
        QVERIFY(shows(conversation + asTokens(8)));
        runner.cancel();
        QTRY_VERIFY(!runner.isRunning());
    }

    void figures_ofAnOldAnswer_doNotShowAnother() {
        test::HistoryFolder folder;
        ConversationId old = 0;
        {
            WindowFixture f({}, {}, folder.path());
            f.openAndWait();
            f.askAndWait(QStringLiteral("before the restart"));
            old = f.window->core().chat.current();
        }
        WindowFixture f({}, {}, folder.path());
        f.openAndWait();
        f.askAndWait(QStringLiteral("after it"));
        f.window->core().chat.openConversation(old);
        Q_EMIT test::part<ChatPage>(*f.window).view().tokenTimelineRequested(f.last().id);
        QVERIFY(!test::part<PanelDocks>(*f.window).dock(QStringLiteral("dispatch"))->isVisible());
        QVERIFY(f.window->statusBar()->currentMessage().contains(QStringLiteral("no longer kept")));
    }

    void token_picked_isMarkedInTheChatAndInTheHeatMap() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        const ConversationId first = f.window->core().chat.current();
        const MessageId answer = f.last().id;
        test::part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        Selection& selection = f.window->core().selection;
        QVERIFY(selection.selectTokenAt(answer, 10));
        const TextRange at = selection.token()->text;
        const auto marks = [&] {
            const auto* widget = test::part<ChatPage>(*f.window).view().messageWidget(answer);
            return widget ? widget->body().marks().of(TextMark::PickedToken) : QList<QPair<int, int>>();
        };
        QCOMPARE(marks(), (QList<QPair<int, int>>{{at.begin, at.end}}));
        HeatMap& map = test::part<ExpertsPanel>(*f.window).map();
        QTRY_VERIFY(!map.highlighted().empty());
        // Another conversation has no such token.
        test::part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(map.highlighted().empty());
        QVERIFY(!selection.token());
        f.window->core().chat.openConversation(first);
        QVERIFY(marks().isEmpty());
        QVERIFY(selection.selectTokenAt(answer, 10));
        QVERIFY(selection.stepToken(1));
        QCOMPARE(marks(), (QList<QPair<int, int>>{{selection.token()->text.begin, selection.token()->text.end}}));
        selection.clearToken();
        QVERIFY(marks().isEmpty());
    }

    void conversationMenu_doesWhatTheListDoes() {
        test::HistoryFolder folder;
        WindowFixture f({}, {}, folder.path());
        f.openAndWait();
        QMenu* menu = nullptr;
        for (QAction* action : f.window->menuBar()->actions()) {
            menu = action->text() == QStringLiteral("&Conversation") ? action->menu() : menu;
        }
        QVERIFY(menu);
        const auto action = [menu](const QString& text) {
            for (QAction* each : menu->actions()) {
                if (each->text() == text) {
                    return each;
                }
            }
            return static_cast<QAction*>(nullptr);
        };
        Q_EMIT menu->aboutToShow();
        QVERIFY(!action(QStringLiteral("&Delete"))->isEnabled());  // nothing is listed yet
        Q_EMIT menu->aboutToHide();
        f.askAndWait(QStringLiteral("a question"));
        const ConversationId id = f.window->core().chat.current();
        History& history = f.window->core().history;
        test::part<PanelDocks>(*f.window).dock(QStringLiteral("conversations"))->hide();
        action(QStringLiteral("&Pinned"))->trigger();
        QVERIFY(history.info(id).pinned);
        Q_EMIT menu->aboutToShow();
        QVERIFY(action(QStringLiteral("&Pinned"))->isChecked());
        Q_EMIT menu->aboutToHide();
        action(QStringLiteral("&Archived"))->trigger();
        QVERIFY(history.info(id).archived);
        ConversationList& list = test::part<ConversationList>(*f.window);
        QTest::keyClick(f.window.get(), Qt::Key_F2);
        QVERIFY(list.isVisible());
        auto* editor = list.view().findChild<QLineEdit*>();
        QVERIFY(editor);
        editor->setText(QStringLiteral("Renamed"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(history.info(id).title, QStringLiteral("Renamed"));
        test::part<CommandPalette>(*f.window).open();
        test::part<CommandPalette>(*f.window).input().setText(QStringLiteral("export"));
        QVERIFY(test::part<CommandPalette>(*f.window).listed().join(u'|').contains(QStringLiteral("Export")));
        test::part<CommandPalette>(*f.window).hide();
        action(QStringLiteral("&Delete"))->trigger();
        QVERIFY(history.conversations().isEmpty());
        QVERIFY(list.notice().contains(QStringLiteral("Renamed")));
        list.undoRemove();
        QCOMPARE(history.conversations().size(), 1);
    }

    void decisions_areLoggedOnceAndInOrder() {
        Script script;
        script.decisions = {"balanced is kept"};
        WindowFixture f(script);
        f.openAndWait();
        const auto logged = [&f] {
            QStringList texts;
            for (int i = 0; i < f.window->core().log.size(); ++i) {
                if (f.window->core().log.at(i).kind == LogKind::Decision) {
                    texts << f.window->core().log.at(i).text;
                }
            }
            return texts;
        };
        f.askAndWait(QStringLiteral("one"));
        QStringList all{QStringLiteral("balanced is kept")};
        QCOMPARE(logged(), all);
        f.askAndWait(QStringLiteral("two"));
        all << QStringLiteral("balanced is kept");
        QCOMPARE(logged(), all);
        // More than the engine keeps: dropped ones are not invented.
        script.decisions = {"a", "b", "c", "d", "e"};
        f.stage->setScript(script);
        f.askAndWait(QStringLiteral("three"));
        all << QStringLiteral("b") << QStringLiteral("c") << QStringLiteral("d") << QStringLiteral("e");
        QCOMPARE(logged(), all);
        script.decisions = {};
        f.stage->setScript(script);
        f.askAndWait(QStringLiteral("four"));
        QCOMPARE(logged(), all);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWindowCrossings)
#include "tst_window_crossings.moc"
