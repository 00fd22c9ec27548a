// A model's thinking before its answer, in the window: folded above the answer, live,
// stored, exported, chosen.
#include <QComboBox>
#include <QMenu>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/thought_block.h"
#include "ui/history/conversation_files.h"
#include "ui/settings/sampling_panel.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

test::Script thinkingScript() {
    test::Script script;
    script.thought = "The person says hello.\n\nI answer:\n\n- in a friendly way,\n- in one sentence.";
    script.thinkingChoices = {"off", "on"};
    return script;
}

}  // namespace

class TestThoughtBlock : public QObject {
    Q_OBJECT

    static MessageWidget* widgetOf(const test::WindowFixture& f, MessageId id) {
        return test::part<ChatPage>(*f.window).view().messageWidget(id);
    }
    static ThoughtBlock* blockOf(const test::WindowFixture& f) {
        const MessageWidget* widget = widgetOf(f, f.last().id);
        return widget ? widget->thought() : nullptr;
    }
    static void answer(test::WindowFixture& f) {
        f.openAndWait();
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_VERIFY(blockOf(f) != nullptr);
    }

  private Q_SLOTS:
    void cleanup() { QSettings().clear(); }

    void aThought_isFoldedAboveItsAnswer() {
        test::WindowFixture f(thinkingScript());
        answer(f);
        const Message message = f.last();
        QCOMPARE(message.thought.text, QString::fromStdString(thinkingScript().thought));
        QVERIFY(!message.thought.isOpen);
        QCOMPARE(message.text, QString::fromStdString(thinkingScript().answer));
        QCOMPARE(message.thought.tokens, qint64{19});
        ThoughtBlock* block = blockOf(f);
        QVERIFY2(block->header().text().startsWith(QStringLiteral("Thought")), qPrintable(block->header().text()));
        QVERIFY(block->header().text().endsWith(QStringLiteral("19 tokens")));
        QCOMPARE(block->header().accessibleName(), block->header().text());
        QVERIFY(!block->body());
        const MessageBody& text = widgetOf(f, message.id)->body();
        QTRY_VERIFY(block->geometry().bottom() < text.y());
    }

    void clickAndKeyboard_unfoldAndFold() {
        test::WindowFixture f(thinkingScript());
        answer(f);
        ThoughtBlock* block = blockOf(f);
        const int folded = block->height();
        const int headerAt = block->header().mapTo(f.window.get(), QPoint()).y();
        QTest::mouseClick(&block->header(), Qt::LeftButton);
        QVERIFY(block->body());
        QCOMPARE(block->body()->source(), f.last().thought.text);
        QTRY_VERIFY(block->height() > folded);
        QCOMPARE(block->header().mapTo(f.window.get(), QPoint()).y(), headerAt);  // nothing moves under the pointer
        // Words can be selected only in texts whose tokens are stored.
        block->body()->setFocus();
        QTest::keyClick(block->body(), Qt::Key_Right, Qt::AltModifier);
        QVERIFY(!f.window->core().selection.token());
        block->header().setFocus();
        QTest::keyClick(&block->header(), Qt::Key_Space);
        QVERIFY(!block->body());
        QTRY_COMPARE(block->height(), folded);
        QTest::keyClick(&block->header(), Qt::Key_Space);
        QVERIFY(block->body());
        // It stays unfolded, even when its widget is removed and made again.
        f.window->core().chat.openConversation(f.window->core().chat.current());
        QTRY_VERIFY(blockOf(f) && blockOf(f) != block && blockOf(f)->isUnfolded());
        test::picture(*f.window, QStringLiteral("thought"), {560, 1280}, 800);
    }

    void whileItThinks_itSaysSo_andIsContinuedAfterStop() {
        test::Script script = thinkingScript();
        script.tokensPerSecond = 100;
        script.thought = std::string(40'000, 'x');
        test::WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("Hello"));
        QTRY_VERIFY(blockOf(f) && blockOf(f)->header().text().startsWith(QStringLiteral("Thinking…")));
        QTRY_VERIFY(f.last().thought.tokens > 3);
        QTRY_VERIFY(blockOf(f)->header().text().contains(QStringLiteral(" tokens")));
        QVERIFY(f.last().thought.isOpen);
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        QVERIFY(f.last().thought.isOpen);
        QVERIFY(!f.last().thought.text.isEmpty());
        QVERIFY(f.last().text.isEmpty());
        QTRY_VERIFY(blockOf(f)->header().text().startsWith(QStringLiteral("Thought")));
        // It continues within the thought.
        const QString before = f.last().thought.text;
        QVERIFY(f.window->core().chat.canContinue(f.last().id));
        script.tokensPerSecond = 0;
        script.thought = "and so on";
        f.stage->setScript(script);
        const auto more = [&f]() -> QToolButton* {
            for (QToolButton* button : widgetOf(f, f.last().id)->findChildren<QToolButton*>()) {
                if (button->accessibleName().startsWith(QStringLiteral("Continue"))) {
                    return button;
                }
            }
            return nullptr;
        };
        QTRY_VERIFY(more() != nullptr && more()->isVisible());  // once its last text is shown
        QTest::mouseClick(more(), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const engine::GenerationRequest request = f.stage->requests().back();
        QVERIFY(request.continue_last);
        QVERIFY(request.messages.back().thought_is_open);
        QCOMPARE(QString::fromStdString(request.messages.back().thought), before);
        QCOMPARE(f.last().thought.text, before + QStringLiteral("and so on"));
        QCOMPARE(f.last().text, QString::fromStdString(script.answer));
        QVERIFY(!f.last().thought.isOpen);
        // The next prompt's history has it as a thought, not as text.
        f.ask(QStringLiteral("Again"));
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{3});
        const std::vector<engine::ChatMessage> asked = f.stage->requests().back().messages;
        QCOMPARE(asked.size(), std::size_t{3});
        QCOMPARE(QString::fromStdString(asked[1].content), QString::fromStdString(script.answer));
        QVERIFY(!asked[1].thought.empty());
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    // Where it becomes known late that the text was one.
    void textThatWasAThought_leavesTheAnswer() {
        test::Script script = thinkingScript();
        script.thoughtIsTakenBack = true;
        script.answer = test::longAnswer(300);
        script.tokensPerSecond = 40;  // each token comes by itself
        test::WindowFixture f(script);
        f.openAndWait();
        f.stage->heldFrom = 6;
        f.ask(QStringLiteral("Hello"));
        const QString thought = QString::fromStdString(script.thought);
        QTRY_VERIFY(f.last().text.size() > 8);
        QVERIFY(thought.startsWith(f.last().text));
        f.stage->heldFrom = 40;  // in the answer
        QTRY_VERIFY(!f.last().thought.text.isEmpty() && !f.last().text.isEmpty());
        QCOMPARE(f.last().thought.text, thought);
        QCOMPARE(f.last().state, Message::State::Streaming);
        QVERIFY(QString::fromStdString(script.answer).startsWith(f.last().text));
        QTRY_VERIFY(blockOf(f) != nullptr);
    }

    void thoughts_areKept_andExported() {
        const QTemporaryDir folder;
        Message before;
        StoredConversation stored;
        {
            test::WindowFixture f(thinkingScript(), {}, folder.path());
            answer(f);
            before = f.last();
            stored = *f.window->core().history.stored(f.window->core().chat.current());
        }
        QCOMPARE(stored.messages.last().thought, before.thought);
        test::WindowFixture f(thinkingScript(), {}, folder.path());
        QCOMPARE(f.window->core().history.conversations().size(), 1);
        QVERIFY(f.window->core().chat.openConversation(f.window->core().history.conversations().first().id));
        QCOMPARE(f.last().thought, before.thought);
        QVERIFY(f.last().figures.has_value());
        QCOMPARE(f.last().figures->tokensOut, before.figures->tokensOut);

        const QByteArray json = conversationsToJson({stored});
        const ImportedConversations read = conversationsFromJson(json, QStringLiteral("file"));
        QCOMPARE(read.error, QString());
        QCOMPARE(read.conversations.first().messages.last().thought, before.thought);
        QByteArray broken = json;
        broken.replace("\"open\": 0", "\"open\": \"no\"");
        QVERIFY(conversationsFromJson(broken, QStringLiteral("file")).error.contains(QStringLiteral("thought.open")));
        const QString markdown = conversationToMarkdown(stored);
        QVERIFY2(markdown.contains(QStringLiteral("> The person says hello.\n> \n> I answer:")), qPrintable(markdown));
        QVERIFY(markdown.contains(QStringLiteral("\n\nHello! This is")));
    }

    void choices_areOffered_andTravelWithTheRequest() {
        test::WindowFixture f(thinkingScript());
        QToolButton& button = test::part<ChatPage>(*f.window).input().thinkingButton();
        QVERIFY(!button.isVisible());
        f.openAndWait();
        QTRY_VERIFY(button.isVisible());
        QCOMPARE(button.menu()->actions().size(), 3);
        button.menu()->actions()[1]->trigger();
        QCOMPARE(button.text(), QStringLiteral("Thinking: Off"));
        QCOMPARE(test::find<QComboBox>(test::part<SamplingPanel>(*f.window), "Thinking").currentText(),
                 QStringLiteral("Off"));
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().back().thinking, std::string("off"));
        QVERIFY(f.last().thought.isEmpty());
        QVERIFY(!blockOf(f));
        // In the panel, by keyboard.
        test::part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
        QComboBox& box = test::find<QComboBox>(test::part<SamplingPanel>(*f.window), "Thinking");
        QVERIFY(box.isVisibleTo(&test::part<SamplingPanel>(*f.window)));
        box.setFocus();
        QTest::keyClick(&box, Qt::Key_Down);
        QCOMPARE(f.window->core().chat.sampling().thinking, QStringLiteral("on"));
        QCOMPARE(button.text(), QStringLiteral("Thinking: On"));
        // A model without choices: none is requested, and the earlier choice is kept.
        f.stage->setScript({});
        f.openAndWait(QStringLiteral("/models/other"));
        QTRY_VERIFY(!button.isVisible());
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().back().thinking, std::string());
        QCOMPARE(f.window->core().chat.sampling().thinking, QStringLiteral("on"));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestThoughtBlock)
#include "tst_thought_block.moc"
