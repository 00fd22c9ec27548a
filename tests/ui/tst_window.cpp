// The window on the scripted engine: a user's actions, and their effects.

#include <random>

#include <QAbstractItemModelTester>
#include <QAction>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"
#include "ui/chat/suggested_prompts.h"
#include "ui/help/help_answers.h"
#include "ui/help/help_dialog.h"
#include "ui/panels/budget_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

class TestWindow : public QObject {
    Q_OBJECT

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

  private Q_SLOTS:

    void textSize_growsAndGoesBack() {
        WindowFixture f;
        const double before = QApplication::font().pointSizeF();
        const auto trigger = [&](const QString& text) {
            for (QAction* action : f.window->findChildren<QAction*>()) {
                if (action->text() == text) {
                    action->trigger();
                    return;
                }
            }
            QFAIL("no such action");
        };
        trigger(QStringLiteral("&Larger"));
        trigger(QStringLiteral("&Larger"));
        QCOMPARE(QApplication::font().pointSizeF(), before + 2);
        QTRY_VERIFY(test::part<ChatPage>(*f.window).input().edit().font().pointSizeF() > before);
        for (int i = 0; i < 20; ++i) {
            trigger(QStringLiteral("&Smaller"));
        }
        QCOMPARE(QApplication::font().pointSizeF(), before + kTextSmallest);
        trigger(QStringLiteral("&As the system"));
        QCOMPARE(QApplication::font().pointSizeF(), before);
    }

    void init() { QSettings().clear(); }

    void enter_sends_shiftEnterBreaksTheLine() {
        WindowFixture f;
        f.openAndWait();
        f.type(QStringLiteral("two"));
        QTest::keyClick(&test::part<ChatPage>(*f.window).input().edit(), Qt::Key_Return, Qt::ShiftModifier);
        f.type(QStringLiteral("lines"));
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), QStringLiteral("two\nlines"));
        QVERIFY(f.messages().isEmpty());
        f.pressEnter();
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("two\nlines"));
        QCOMPARE(f.last().text, QString::fromStdString(f.stage->script().answer));
        QVERIFY(test::part<ChatPage>(*f.window).input().text().isEmpty());
        QVERIFY(f.last().figures && f.last().figures->tokensOut == static_cast<qint64>(f.last().text.size() + 3) / 4);
    }

    void enter_blanks_sendNothing() {
        WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("   "));
        QVERIFY(f.messages().isEmpty());
        QVERIFY(!test::part<ChatPage>(*f.window).input().button().isEnabled());
    }

    void answer_isShownAsItComes() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        QTRY_VERIFY(f.last().text.size() > 40);
        const auto* widget = test::part<ChatPage>(*f.window).view().messageWidget(f.last().id);
        QTRY_VERIFY(widget->body().plainText().size() > 40);
        QVERIFY(f.stage->generating);
        QTRY_VERIFY(test::part<StatusLine>(*f.window).speedText().contains(QStringLiteral("tokens/s")));
    }

    void context_isCountedWhileWriting() {
        WindowFixture f(slow());
        f.openAndWait();
        QCOMPARE(test::part<StatusLine>(*f.window).contextText(),
                 QStringLiteral("0 of %1 tokens").arg(QLocale().toString(2048)));
        f.ask(QStringLiteral("hello"));
        const auto shown = [&f] { return test::part<StatusLine>(*f.window).contextText().section(u' ', 0, 0).toInt(); };
        QTRY_VERIFY(f.state() == State::Generating && shown() > 8);
        const int before = shown();
        QTRY_VERIFY(shown() > before);
        QCOMPARE(f.state(), State::Generating);
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
    }

    // The engine is further than the text that the window has; at the end the template
    // closes the answer and begins the next.
    void context_isNeverCountedBeyondItsSize() {
        Script script;
        script.answer = std::string(2000, 'x');
        script.context = 4 + 500;  // the question, and the answer in pieces of four
        WindowFixture f(script);
        f.openAndWait();
        QStringList beyond;
        QObject::connect(&f.window->core().engine, &EngineController::streamed, f.window.get(), [&] {
            const QStringList parts = test::part<StatusLine>(*f.window).contextText().split(u' ');
            if (QLocale().toInt(parts[0]) > QLocale().toInt(parts[2])) {
                beyond << parts.join(u' ');
            }
        });
        f.ask(QStringLiteral("hello"));
        QTRY_VERIFY(f.state() == State::Ready && f.last().kind == Message::Kind::Answer);
        QVERIFY2(beyond.isEmpty(), qPrintable(beyond.join(u' ')));
        QTRY_COMPARE(test::part<StatusLine>(*f.window).contextText(), QStringLiteral("504 of 504 tokens"));
        // What a draft needs is shown.
        f.type(QString(400, u'y'));
        QTRY_VERIFY(QLocale().toInt(test::part<StatusLine>(*f.window).contextText().section(u' ', 0, 0)) > 600);
    }

    void stop_endsTheAnswer() {
        WindowFixture f(slow());
        f.openAndWait();
        for (int round = 0; round < 5; ++round) {
            f.ask(QStringLiteral("hi"));
            QTRY_VERIFY(f.last().kind == Message::Kind::Answer && f.last().text.size() > 10);
            f.stage->deafToStop = true;
            QTest::keyClick(&test::part<ChatPage>(*f.window).input().edit(), Qt::Key_Escape);
            QVERIFY(f.stage->generating);  // the key does not wait for the engine
            f.stage->deafToStop = false;
            QTRY_COMPARE(f.state(), State::Ready);
            QCOMPARE(f.last().state, Message::State::Stopped);
            QVERIFY(f.last().text.size() < 40'000);
        }
        QVERIFY(!f.stage->generating);
    }

    void esc_inADropDown_closesItAlone() {
        WindowFixture f(slow());
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().kind == Message::Kind::Answer && f.last().text.size() > 10);
        test::part<PanelDocks>(*f.window).show(QStringLiteral("budget"));
        QComboBox& box = test::part<BudgetPanel>(*f.window).form().kv();
        QTRY_VERIFY(box.isVisible());
        box.setFocus();
        box.showPopup();
        QTRY_VERIFY(QApplication::activePopupWidget() != nullptr);
        QTest::keyClick(QApplication::activePopupWidget()->windowHandle(), Qt::Key_Escape);
        QTRY_VERIFY(QApplication::activePopupWidget() == nullptr);
        QTest::qWait(50);
        QCOMPARE(f.state(), State::Generating);
        QCOMPARE(f.last().state, Message::State::Streaming);
        QApplication::setActiveWindow(f.window.get());  // as a window manager does
        QTest::keyClick(&test::part<ChatPage>(*f.window).input().edit(), Qt::Key_Escape);
        QTRY_COMPARE(f.state(), State::Ready);
    }

    void stop_button_doesTheSame() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(test::part<ChatPage>(*f.window).input().mode(), InputBar::Mode::Busy);
        QTRY_VERIFY(f.last().text.size() > 4);
        QTest::mouseClick(&test::part<ChatPage>(*f.window).input().button(), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        // The next prompt works, and carries the history.
        f.ask(QStringLiteral("again"));
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.stage->requests()[1].messages.size(), size_t(3));
    }

    // Enter during the answer: the text stays in sight and is sent after it; it is never
    // lost, nor sent half written.
    void enter_duringTheAnswer_sendsTheTextAfterIt() {
        WindowFixture f;
        f.openAndWait();
        InputBar& input = test::part<ChatPage>(*f.window).input();
        const auto askAndHold = [&](const QString& text) {
            f.stage->heldFrom = 1;
            f.ask(text);
            QTRY_COMPARE(input.mode(), InputBar::Mode::Busy);
            QTRY_VERIFY(!f.last().text.isEmpty());
        };
        const auto end = [&] {
            f.stage->release();
            QTRY_COMPARE(f.state(), State::Ready);
            QTRY_VERIFY(!f.window->core().chat.hasWaitingPrompt());
        };
        askAndHold(QStringLiteral("first"));
        f.ask(QStringLiteral("second"));
        QCOMPARE(input.text(), QStringLiteral("second"));
        QVERIFY2(input.hint().contains(QStringLiteral("is sent when")), qPrintable(input.hint()));
        test::picture(*f.window, QStringLiteral("sends-next"), {900}, 500);
        f.stage->release();
        QTRY_COMPARE(f.messages().size(), 4);
        QCOMPARE(f.messages()[2].text, QStringLiteral("second"));
        QVERIFY(input.text().isEmpty());
        QTRY_COMPARE(f.last().state, Message::State::Done);
        // Written on, taken back, or the answer stopped: it stays.
        askAndHold(QStringLiteral("third"));
        f.ask(QStringLiteral("four"));
        QTest::keyClick(&input.edit(), Qt::Key_T);
        QVERIFY(!input.hint().contains(QStringLiteral("is sent when")));
        end();
        QCOMPARE(input.text(), QStringLiteral("fourt"));
        QCOMPARE(f.messages().size(), 6);
        input.clear();
        askAndHold(QStringLiteral("fifth"));
        f.ask(QStringLiteral("sixth"));
        f.pressEnter();
        end();
        QCOMPARE(input.text(), QStringLiteral("sixth"));
        QCOMPARE(f.messages().size(), 8);
        input.clear();
        askAndHold(QStringLiteral("seventh"));
        f.ask(QStringLiteral("eighth"));
        QTest::mouseClick(&input.button(), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        end();
        QCOMPARE(input.text(), QStringLiteral("eighth"));
        QCOMPARE(f.messages().size(), 10);
    }

    void stop_beforeTheFirstToken_leavesThePairOutOfTheHistory() {
        Script script = slow();
        script.promptMs = 60'000;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("never answered"));
        QTRY_VERIFY(f.stage->generating);
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(f.state(), State::Ready);
        f.stage->setScript({});
        f.ask(QStringLiteral("next"));
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.stage->requests()[1].messages.size(), size_t(1));
        QCOMPARE(f.stage->requests()[1].messages[0].content, std::string("next"));
    }

    // A long prompt shows its progress, in the answer and in the status line, until the
    // first token.
    void prompt_long_saysHowMuchOfItIsRead() {
        Script script = slow();
        script.promptMs = 60'000;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("long"));
        QTRY_VERIFY(f.stage->generating);
        QCOMPARE(f.last().note, QStringLiteral("Reading the prompt…"));
        f.stage->promptRead = 1024;
        f.stage->promptTokens = 4096;
        const QString quarter = QStringLiteral("Reading the prompt: 1,024 of 4,096 tokens");
        QTRY_COMPARE(f.last().note, quarter);
        QCOMPARE(test::part<StatusLine>(*f.window).stateText(), quarter);
        f.stage->promptRead = 2048;
        QTRY_COMPARE(f.last().note, QStringLiteral("Reading the prompt: 2,048 of 4,096 tokens"));
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QTRY_COMPARE(f.state(), State::Ready);
    }

    void prompt_queued_escTakesItBack() {
        Script script;
        script.loadMs = 60'000;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/fake"));
        f.ask(QStringLiteral("early"));
        QTest::keyClick(f.window.get(), Qt::Key_Escape);
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), QStringLiteral("early"));
        QVERIFY(f.messages().isEmpty());
        QVERIFY(f.state() == State::Loading);
    }

    // What was refused is not lost where the person deletes it in the box and writes
    // something else: it is another branch. The same text again is no second one.
    void refusedPrompt_deletedInTheBox_staysAsABranch() {
        Script script;
        script.context = 8;
        WindowFixture f(script);
        f.openAndWait();
        const QString text = QStringLiteral("a prompt that is longer than the context of this model");
        f.ask(text);
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QPlainTextEdit& edit = test::part<ChatPage>(*f.window).input().edit();
        QCOMPARE(edit.toPlainText(), text);
        QTest::keyClick(&edit, Qt::Key_Return);
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(f.messages().first().branches, 1);
        QTest::keyClick(&edit, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(&edit, Qt::Key_Delete);
        f.stage->setScript({});
        f.openAndWait();  // another model, with room
        QTest::keyClicks(&edit, QStringLiteral("short"));
        QTest::keyClick(&edit, Qt::Key_Return);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().branches, 2);
        auto& view = test::part<ChatPage>(*f.window).view();
        QTest::mouseClick(&test::find<QToolButton>(*view.messageWidget(f.messages().first().id), "The branch before"),
                          Qt::LeftButton);
        QTRY_COMPARE(f.messages().first().text, text);
    }

    void generate_promptTooLong_keepsTheText() {
        Script script;
        script.context = 8;
        WindowFixture f(script);
        f.openAndWait();
        const QString text = QStringLiteral("a prompt that is longer than the context of this model");
        f.ask(text);
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("the context holds 8")));
        QCOMPARE(f.messages().first().state, Message::State::Failed);
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), text);
        press(test::part<ChatPage>(*f.window).view(), textOf(ProblemAction::EditPrompt));
        QTRY_COMPARE(f.messages().size(), 1);  // without the card
        QCOMPARE(test::part<ChatPage>(*f.window).input().text(), text);
        test::part<ChatPage>(*f.window).input().clear();
        f.ask(QStringLiteral("short"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(1));
    }

    void generate_failingMidway_keepsWhatWasWritten() {
        Script script;
        script.answer = std::string(400, 'y');
        script.generateError =
            engine::Error(engine::ErrorKind::kOutOfMemory, engine::from_outside("2.1 GB are needed, 1.4 GB are free."));
        script.failAfterTokens = 10;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QCOMPARE(f.messages()[1].text, QString(40, u'y'));
        QCOMPARE(f.messages()[1].state, Message::State::Failed);
        script.generateError.reset();
        f.stage->setScript(script);
        press(test::part<ChatPage>(*f.window).view(), textOf(ProblemAction::TryAgain));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().text.size(), 400);
    }

    void generate_outOfMemory_showsACard() {
        Script script;
        script.generateThrowsBadAlloc = true;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        QVERIFY(f.last().problem.sentence.contains(QStringLiteral("memory")));
        f.stage->setScript({});
        test::part<ChatPage>(*f.window).input().clear();
        f.ask(QStringLiteral("and now"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    void newConversation_midStream_startsEmpty() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().text.size() > 4);
        const ConversationId first = f.window->core().chat.current();
        const MessageId answer = f.last().id;
        test::part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(f.messages().isEmpty());
        // The first answer is still being written; the next prompt waits for it.
        f.stage->setScript({});
        f.ask(QStringLiteral("fresh"));
        QCOMPARE(f.last().state, Message::State::Waiting);
        QVERIFY(f.last().note.contains(QStringLiteral("2")));
        const History& history = f.window->core().chat.conversations();
        QVERIFY(f.window->core().chat.openConversation(first));
        QCOMPARE(f.last().id, answer);
        const qsizetype length = f.last().text.size();
        QTRY_VERIFY(f.last().text.size() > length);
        f.window->core().chat.stop();
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->resets.load(), 1);
        QCOMPARE(f.stage->requests().back().messages.size(), size_t(1));
        QCOMPARE(history.conversations().size(), 2);
    }

    void close_midStream_joinsTheEngine() {
        WindowFixture f(slow());
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().text.size() > 4);
        QVERIFY(f.window->close());
        QVERIFY(!f.window->isVisible());
        QCOMPARE(f.stage->sessionsAlive.load(), 0);
        QVERIFY(f.last().text.size() < 40'000);  // it did not wait for the answer's end
    }

    void sampling_reachesTheRequest() {
        WindowFixture f;
        f.openAndWait();
        Sampling sampling;
        sampling.sampler.temperature = 0.25f;
        sampling.sampler.top_k = 7;
        sampling.sampler.top_p = 0.5f;
        sampling.sampler.min_p = 0.1f;
        sampling.sampler.repeat_penalty = 1.1f;
        sampling.sampler.seed = 1234567890123ull;
        sampling.maxTokens = 3;
        auto* spin = test::part<SamplingPanel>(*f.window).findChild<QSpinBox*>();
        QVERIFY(spin);
        test::part<SamplingPanel>(*f.window).setSampling(sampling);
        spin->setValue(spin->value() + 1);  // as a user would: announces the whole
        spin->setValue(spin->value() - 1);
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        const auto request = f.stage->requests().back();
        QCOMPARE(request.sampler.temperature, 0.25f);
        QCOMPARE(request.sampler.top_k, 7);
        QCOMPARE(request.sampler.top_p, 0.5f);
        QCOMPARE(request.sampler.min_p, 0.1f);
        QCOMPARE(request.sampler.repeat_penalty, 1.1f);
        QCOMPARE(request.sampler.seed, std::uint64_t(1234567890123ull));
        QCOMPARE(request.max_tokens, 3);
        QCOMPARE(f.last().figures->tokensOut, 3);
        QVERIFY(f.last().note.contains(QStringLiteral("3")));
        // Kept for the next start, and resettable.
        QVERIFY(SamplingPanel().sampling() == sampling);
        test::part<SamplingPanel>(*f.window).reset();
        QVERIFY(test::part<SamplingPanel>(*f.window).sampling() == defaultSampling());
        QVERIFY(SamplingPanel().sampling() == defaultSampling());
    }

    // Without a choice, answers are drawn as the model's publisher advises.
    void sampling_showsWhatTheModelAdvises() {
        test::Script script;
        script.advised.sampling = {{"temperature", 0.6}, {"top_k", 20}, {"max_tokens", 77}};
        WindowFixture f(script);
        SamplingPanel& panel = test::part<SamplingPanel>(*f.window);
        const auto shown = [&](const char* name) -> double {
            for (QDoubleSpinBox* box : panel.findChildren<QDoubleSpinBox*>()) {
                if (box->accessibleName() == QLatin1String(name)) {
                    return box->value();
                }
            }
            for (QSpinBox* box : panel.findChildren<QSpinBox*>()) {
                if (box->accessibleName() == QLatin1String(name)) {
                    return box->value();
                }
            }
            return -1;
        };
        const auto says = [&](const char* text) {
            return std::ranges::any_of(panel.findChildren<QLabel*>(),
                                       [&](QLabel* label) { return label->text() == QLatin1String(text); });
        };
        const double before = shown("Temperature");
        f.openAndWait();
        QTRY_COMPARE(shown("Temperature"), 0.6);
        QCOMPARE(shown("Top-k"), 20.0);
        QVERIFY(says("What this model's publisher advises"));
        QVERIFY(panel.sampling() == defaultSampling());
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(!f.stage->requests().empty());
        QCOMPARE(f.stage->requests().back().sampler.top_k, 20);
        QCOMPARE(f.stage->requests().back().max_tokens, 77);

        // A change starts from the shown values.
        auto* topK = panel.findChildren<QSpinBox*>().front();
        QCOMPARE(topK->accessibleName(), QStringLiteral("Top-k"));
        topK->setValue(21);
        QCOMPARE(panel.sampling().sampler.top_k, 21);
        QCOMPARE(panel.sampling().sampler.temperature, 0.6f);
        QVERIFY(!says("What this model's publisher advises"));
        topK->setValue(20);
        QVERIFY(panel.sampling() == defaultSampling());
        // Another model without advice; the user's choice stays.
        panel.setAdvised({});
        QCOMPARE(shown("Temperature"), before);
        topK->setValue(21);
        panel.setAdvised(script.advised);
        QCOMPARE(shown("Top-k"), 21.0);
        QCOMPARE(shown("Temperature"), before);
        panel.reset();
        QCOMPARE(shown("Top-k"), 20.0);
    }

    void sampling_spoiltSettings_fallBack() {
        QSettings settings;
        settings.setValue(QStringLiteral("sampling/temperature"), QStringLiteral("hot"));
        settings.setValue(QStringLiteral("sampling/topK"), -5);
        settings.setValue(QStringLiteral("sampling/topP"), 17);
        QVERIFY(readSampling() == defaultSampling());
    }

    void window_largerThanTheScreen_isMadeToFit() {
        WindowFixture f;
        const QRect room = f.window->screen()->availableGeometry();
        f.window->resize(2 * room.size());
        f.window->move(room.topLeft() - QPoint(300, 300));
        f.window->fitToScreen();
        QVERIFY(f.window->width() <= room.width() && f.window->height() < room.height());
        QVERIFY(room.contains(f.window->pos()));
        const QSize fits = f.window->size() - QSize(40, 30);
        f.window->resize(fits);
        f.window->fitToScreen();
        QCOMPARE(f.window->size(), fits);
    }

    void suggestedPrompts_badFiles_giveNone_data() {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<int>("count");
        QTest::newRow("two") << QByteArray(R"([{"domain":"a","prompt":"one"},{"prompt":"two"}])") << 2;
        QTest::newRow("empty file") << QByteArray() << 0;
        QTest::newRow("an object") << QByteArray(R"({"prompt":"x"})") << 0;
        QTest::newRow("other types") << QByteArray(R"([1,null,"x",{"prompt":7},{"prompt":"  "}])") << 0;
        QTest::newRow("cut off") << QByteArray(R"([{"domain":"a","prompt":"one"},)") << 0;
        QTest::newRow("too large") << QByteArray("[") + QByteArray(100'000, ' ') + R"({"prompt":"x"}])" << 0;
    }
    void suggestedPrompts_badFiles_giveNone() {
        QFETCH(QByteArray, json);
        QFETCH(int, count);
        QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("suggested_prompts.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(json);
        file.close();
        QCOMPARE(readSuggestedPrompts(folder.path()).size(), count);
        QCOMPARE(readSuggestedPrompts(folder.filePath(QStringLiteral("nothing/here"))).size(), 0);
    }

    void suggestedPrompt_clicked_isSent() {
        QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("suggested_prompts.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"([{"domain":"a","prompt":"one"},{"domain":"a","prompt":"two"},{"domain":"b","prompt":"three"}])");
        file.close();
        WindowFixture f;
        f.openAndWait(folder.path());
        for (auto* button : test::part<ChatPage>(*f.window).findChildren<QPushButton*>()) {
            if (button->accessibleName() == QStringLiteral("three")) {
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
        }
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("three"));
    }

    // A question about the program is answered by the manual, not by the model.
    void questionAboutTheProgram_isAnsweredFromTheHelp() {
        QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("suggested_prompts.json")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"([{"domain":"a","prompt":"one"}])");
        file.close();
        WindowFixture f;
        f.openAndWait(folder.path());
        const QString question = HelpAnswers::offered().first();
        const HelpAnswer answer = HelpAnswers().answerOfOffered(0);
        QVERIFY(answer.text.contains(QStringLiteral("GGUF")));
        for (auto* button : test::part<ChatPage>(*f.window).findChildren<QPushButton*>()) {
            if (button->accessibleName() == question) {
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
        }
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages().first().text, question);
        QCOMPARE(f.last().text, answer.text);
        QCOMPARE(f.last().helpPage, answer.page);
        QVERIFY(f.stage->requests().empty());
        QTest::mouseClick(
            &test::find<QToolButton>(test::part<ChatPage>(*f.window).view(), "Open this page of the help"),
            Qt::LeftButton);
        QTRY_COMPARE(test::part<HelpDialog>(*f.window).page(), answer.page);
        test::part<HelpDialog>(*f.window).close();
        f.ask(QStringLiteral("hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().size(), 4);
        const auto asked = f.stage->requests().back().messages;  // without the question and the help's text
        QCOMPARE(asked.size(), size_t(1));
        QCOMPARE(asked.front().content, std::string("hello"));
    }
    // What the demo model suggests is nothing about the program.
    void suggestedPrompts_ofTheDemoModel_areNotAboutTheProgram() {
        const auto prompts = readSuggestedPrompts(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model"));
        QVERIFY(prompts.size() >= 4);
        for (const SuggestedPrompt& prompt : prompts) {
            QVERIFY2(prompt.domain != QStringLiteral("Offstage"), qPrintable(prompt.prompt));
        }
    }

    void scrolledUp_staysThere() {
        Script script;
        script.answer = test::longAnswer(60'000);
        script.tokensPerSecond = 3000;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        auto& view = test::part<ChatPage>(*f.window).view();
        auto* bar = view.verticalScrollBar();
        QTRY_VERIFY(bar->maximum() > 800);
        QTRY_VERIFY(bar->value() == bar->maximum());
        bar->setValue(100);
        QVERIFY(!view.followsEnd());
        const int before = bar->maximum();
        QTRY_VERIFY(bar->maximum() > before + 300);
        QCOMPARE(bar->value(), 100);
        view.scrollToEnd();
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
        QTRY_COMPARE(bar->value(), bar->maximum());
    }

    void stream_isPaintedAtMost30TimesASecond() {
        Script script;
        script.answer = test::longAnswer(2000);
        script.tokensPerSecond = 2000;
        WindowFixture f(script);
        f.openAndWait();
        QElapsedTimer timer;
        timer.start();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const double seconds = static_cast<double>(timer.elapsed()) / 1000;
        const int flushes = test::part<ChatPage>(*f.window).view().pacer().turns();
        QVERIFY2(flushes <= 31 * seconds + 2, qPrintable(QStringLiteral("%1 in %2 s").arg(flushes).arg(seconds)));
        QVERIFY(flushes >= 2);
    }

    void copy_message_copiesItsMarkdown() {
        WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        auto* widget = test::part<ChatPage>(*f.window).view().messageWidget(f.last().id);
        const auto copy = [widget] { return widget->findChild<QToolButton*>(QString(), Qt::FindDirectChildrenOnly); };
        QTRY_VERIFY(copy() != nullptr);  // once its last text is shown
        QTest::mouseClick(copy(), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), QString::fromStdString(Script{}.answer));
    }

    void theme_switching_keepsWorking() {
        WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const QRgb light = f.window->grab().toImage().pixel(60, 200);
        applyTheme(*qApp, Theme::Dark);
        QCoreApplication::processEvents();
        const QRgb dark = f.window->grab().toImage().pixel(60, 200);
        QVERIFY(qGray(light) > 200 && qGray(dark) < 60);
        applyTheme(*qApp, Theme::Light);
    }

    void controls_haveNamesForScreenReaders() {
        Script script;
        script.answer = "```\ncode\n```";
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        for (auto* button : f.window->findChildren<QAbstractButton*>()) {
            const bool ours = button->isVisible() && !button->objectName().startsWith(QStringLiteral("qt_"));
            if (ours && button->text().isEmpty()) {
                QVERIFY2(!button->accessibleName().isEmpty(), button->metaObject()->className());
            }
        }
        QVERIFY(!test::part<ChatPage>(*f.window).input().edit().accessibleName().isEmpty());
    }

    void model_passesQtsModelTester() {
        ConversationModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        Message message;
        message.text = QStringLiteral("a");
        const MessageId first = model.append(message);
        const MessageId second = model.append(message);
        model.appendText(second, QStringLiteral("b"));
        model.edit(first, [](Message& m) { m.text = QStringLiteral("c"); });
        QCOMPARE(model.data(model.index(1), Qt::DisplayRole).toString(), QStringLiteral("ab"));
        model.remove(first);
        model.remove(first);
        QCOMPARE(model.rowCount(), 1);
        model.clear();
    }

    void randomActions_300_leaveItWorking() {
        std::mt19937 random(42);
        WindowFixture f;
        const auto pick = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        for (int i = 0; i < 300; ++i) {
            Script script;
            switch (pick(7)) {
                case 0:
                    script = slow();
                    break;
                case 1:
                    script = failingLoad();
                    break;
                case 2:
                    script.answer = test::longAnswer(500);
                    break;
                case 3:
                    script.generateError =
                        engine::Error(engine::ErrorKind::kInternal, engine::from_outside("It failed."), "x");
                    script.failAfterTokens = pick(4);
                    break;
                case 4:
                    script.layers = 1 + pick(48);
                    script.experts = 2 + pick(126);
                    break;
                default:
                    break;
            }
            f.stage->setScript(script);
            switch (pick(11)) {
                case 0:
                    f.window->opener().open(QStringLiteral("/models/r%1").arg(pick(4)));
                    break;
                case 1:
                    test::part<QAction>(*f.window, "newConversation").trigger();
                    break;
                case 2:
                    f.window->core().chat.stop();
                    break;
                case 3:
                    f.window->core().engine.cancelLoad();
                    break;
                case 4:
                    f.window->core().chat.tryAgain();
                    break;
                case 5:
                    f.window->core().chat.editFailedPrompt();
                    break;
                case 6:
                    f.window->resize(500 + pick(1200), 400 + pick(700));
                    break;
                case 7:
                    test::part<PanelDocks>(*f.window).reset();
                    break;
                case 8:
                    applyTheme(*qApp, pick(2) ? Theme::Dark : Theme::Light);
                    break;
                default:
                    f.window->core().chat.send(QStringLiteral("prompt %1").arg(i));
                    break;
            }
            for (int turn = pick(4); turn > 0; --turn) {
                QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
            }
        }
        applyTheme(*qApp, Theme::Light);
        f.stage->setScript({});
        f.openAndWait();
        test::part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(f.window->core().chat.send(QStringLiteral("still there?")));
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWindow)
#include "tst_window.moc"
