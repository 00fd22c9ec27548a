// The window on the real engine and the demo model: from a cold start to an answer, a
// stop, and errors.
#include <algorithm>
#include <array>

#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_body.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using State = EngineController::State;

class TestDemoModel : public QObject {
    Q_OBJECT

    QString m_model;
    std::unique_ptr<MainWindow> m_window;

    void begin() {
        MainWindow::Options options;
        options.models.demoModel = m_model;
        options.theme = Theme::Light;
        options.models.looksAtFilesFirst = true;
        m_window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
        m_window->show();
    }
    void ask(const QString& text) {
        auto& edit = test::part<ChatPage>(*m_window).input().edit();
        edit.setPlainText(text);
        QTest::keyClick(&edit, Qt::Key_Return);
    }
    Message last() const {
        const auto& all = m_window->core().conversation.messages();
        return all.isEmpty() ? Message{} : all.last();
    }
    bool showsText() const {
        const auto* widget = test::part<ChatPage>(*m_window).view().messageWidget(last().id);
        return widget && last().kind == Message::Kind::Answer && !widget->body().plainText().trimmed().isEmpty();
    }

  private Q_SLOTS:
    void initTestCase() {
        m_model = test::demoModel();
        if (!QFile::exists(m_model)) {
            QSKIP("the demo model is not in this tree");
        }
    }
    void cleanup() { m_window.reset(); }

    void coldStart_aPromptWaitsForTheModel() {
        QElapsedTimer timer;
        timer.start();
        begin();
        m_window->opener().open(m_model);
        const qint64 shown = timer.elapsed();
        ask(QStringLiteral("What is an expert?"));  // the model is still loading: the prompt waits
        QElapsedTimer sinceEnter;
        sinceEnter.start();
        QTRY_VERIFY_WITH_TIMEOUT(showsText(), 60'000);
        qInfo("window and load begun after %lld ms; first text %lld ms after Enter, with the model still to load",
              shown, sinceEnter.elapsed());
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        QVERIFY(last().figures && last().figures->tokensOut > 0);
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        QTRY_COMPARE(test::part<ExpertsPanel>(*m_window).map().rows(), 8);

        // The conversation so far is not computed again.
        ask(QStringLiteral("What is a cache hit?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        QVERIFY(last().figures->tokensReused > 0);
    }

    // A title is read and written beside the conversation: what the KV cache has of that
    // is still there for the next prompt.
    void title_leavesTheConversationInTheCache() {
        QSettings().clear();
        std::array<qint64, 2> reused{}, read{};
        for (const bool titles : {false, true}) {
            settings::kModelTitles.set(titles);
            MainWindow::Options options;  // this model is not the one that writes none
            options.theme = Theme::Light;
            m_window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
            m_window->show();
            m_window->opener().open(m_model);
            QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
            Sampling greedy = defaultSampling();
            greedy.sampler.temperature = 0;
            m_window->core().chat.setSampling(greedy);
            QSignalSpy served(&m_window->core().engine, &EngineController::servingChanged);
            ask(QStringLiteral("What is an expert?"));
            QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
            if (titles) {
                QTRY_COMPARE_WITH_TIMEOUT(served.size(), 2, 60'000);  // begun and ended
            }
            ask(QStringLiteral("What is a cache hit?"));
            QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
            QCOMPARE(m_window->core().conversation.messages().size(), 4);
            reused[titles] = last().figures->tokensReused;
            read[titles] = last().figures->tokensIn;
        }
        QCOMPARE(read[1], read[0]);
        QVERIFY2(reused[0] > 0 && reused[1] >= reused[0],
                 qPrintable(QStringLiteral("%1 of %2, without a title %3").arg(reused[1]).arg(read[1]).arg(reused[0])));
    }

    void stop_realEngine_endsTheAnswer() {
        begin();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        ask(QStringLiteral("Tell me a long story about a fox who finds a lantern."));
        QTRY_VERIFY_WITH_TIMEOUT(last().text.size() > 20 || last().figures, 60'000);
        if (last().figures) {
            QSKIP("the answer ended before Stop could be pressed");
        }
        QTest::keyClick(m_window.get(), Qt::Key_Escape);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        if (last().state == Message::State::Done) {
            QSKIP("the answer ended before Stop reached the engine");
        }
        QCOMPARE(last().state, Message::State::Stopped);
    }

    void prompt_longerThanTheContext_showsACard() {
        begin();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        const QString text = QStringLiteral("a very long prompt ").repeated(1000);  // a longer one is not sent
        ask(text);
        QTRY_COMPARE_WITH_TIMEOUT(last().kind, Message::Kind::Problem, 60'000);
        qInfo("%s", qPrintable(last().problem.sentence));
        QVERIFY(last().problem.sentence.contains(QStringLiteral("context")));
        QCOMPARE(test::part<ChatPage>(*m_window).input().text().size(), text.size());
        test::part<ChatPage>(*m_window).input().clear();
        ask(QStringLiteral("What is 47 + 38?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().kind == Message::Kind::Answer && last().figures, 60'000);
    }

    // One that alone is too long for the context, but not for the model's: a click makes
    // room for it.
    void firstPrompt_tooLong_isAnsweredWithALargerContext() {
        begin();
        auto& engine = m_window->core().engine;
        engine::LoadRequest request;
        request.model = m_model.toStdString();
        request.device = "cpu";
        request.context = 128;
        engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), State::Ready, 60'000);
        ask(QStringLiteral("Tell me a story about a fox who finds a lantern. ").repeated(20));
        QTRY_COMPARE_WITH_TIMEOUT(last().kind, Message::Kind::Problem, 60'000);
        const Problem problem = last().problem;
        qInfo("%s", qPrintable(problem.sentence));
        QVERIFY(!problem.sentence.contains(QStringLiteral("new conversation")));
        QVERIFY2(problem.sentence.contains(QStringLiteral("With a context of")), qPrintable(problem.sentence));
        QCOMPARE(problem.actions, QList<ProblemAction>({ProblemAction::LargerContext, ProblemAction::EditPrompt}));
        QTest::mouseClick(&test::find<QPushButton>(test::part<ChatPage>(*m_window).view(), "Use the larger context"),
                          Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(last().kind == Message::Kind::Answer && last().figures, 60'000);
        QCOMPARE(m_window->core().conversation.messages().size(), 2);
        const QString context = QLocale().toString(engine.snapshot()->context_size);
        QTRY_VERIFY2_WITH_TIMEOUT(test::part<StatusLine>(*m_window).contextText().contains(context),
                                  qPrintable(test::part<StatusLine>(*m_window).contextText()), 60'000);
    }

    // A benchmark's steps come between: the map shows those, then the conversation's again.
    void selectedExpert_staysSelected_overABenchmark() {
        begin();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        ask(QStringLiteral("What is 47 + 38?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        test::part<PanelDocks>(*m_window).show(QStringLiteral("experts"));
        auto& panel = test::part<ExpertsPanel>(*m_window);
        HeatMap& map = panel.map();
        QTRY_VERIFY(map.isVisible() && map.rows() == 8);
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({2, 3}).center());
        const auto isSelected = [&] {
            return map.selected() == HeatMap::Cell{2, 3} &&
                   test::find<QToolButton>(panel, "Change the selected experts").isEnabled() &&
                   m_window->core().selection.expert() == ExpertId{2, 3};
        };
        QVERIFY(isSelected());
        BenchmarkRunner& runner = test::part<BenchmarkPanel>(*m_window).runner();
        QVERIFY(runner.runScenario({64, 8, 1, 1}));
        QTRY_VERIFY_WITH_TIMEOUT(!runner.isRunning(), 60'000);
        QTRY_VERIFY(map.rows() == 8 && isSelected());
        ask(QStringLiteral("What is the capital of France?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value() && m_window->core().engine.state() == State::Ready, 60'000);
        QTRY_VERIFY(map.rows() == 8 && isSelected());
    }

    // What a second start asks is for the model that it names, also while its files are
    // looked at.
    void secondStart_waitsForItsModel() {
        begin();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        QSignalSpy loads(&m_window->core().engine, &EngineController::loadStarted);
        m_window->handle({m_model, QStringLiteral("What is an expert?"), false});
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        QCOMPARE(loads.size(), 1);
        QCOMPARE(last().state, Message::State::Done);
    }

    // As --prompt of the first start and of a second one: a question about the program is
    // the manual's while the demo model is opened, and the model's where another one comes.
    void promptOfAStart_isAnsweredByTheManual_forTheDemoModelAlone() {
        const QString question = QStringLiteral("How do I quit?");
        begin();
        m_window->handle({m_model, question, false});
        QVERIFY(m_window->core().engine.state() != State::Ready);
        QCOMPARE(last().helpPage, QStringLiteral("start"));
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        const QTemporaryDir folder;
        const QString copy = folder.filePath(QStringLiteral("copy"));
        QVERIFY(QFile::link(m_model, copy));
        m_window->handle({copy, question, false});
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        QVERIFY(last().helpPage.isEmpty());
    }

    // A context of 192 tokens is full after a few turns: each way on is a button in
    // place.
    void fullContext_goesOnInPlace_data() {
        QTest::addColumn<ProblemAction>("way");
        QTest::newRow("larger context") << ProblemAction::LargerContext;
        QTest::newRow("without the oldest turns") << ProblemAction::LeaveOutOldest;
        QTest::newRow("a summary of them") << ProblemAction::SummariseOldest;
    }
    void fullContext_goesOnInPlace() {
        QFETCH(ProblemAction, way);
        begin();
        auto& engine = m_window->core().engine;
        engine::LoadRequest request;
        request.model = m_model.toStdString();
        request.device = "cpu";
        request.context = 192;
        engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(engine.state(), State::Ready, 60'000);
        Sampling sampling;
        sampling.sampler.temperature = 0;
        m_window->core().chat.setSampling(sampling);
        for (int turn = 0; turn < 12 && last().kind != Message::Kind::Problem; ++turn) {
            ask(turn % 2 == 0 ? QStringLiteral("What is the capital of France?")
                              : QStringLiteral("Tell me a story about a fox who finds a lantern."));
            QTRY_VERIFY_WITH_TIMEOUT(engine.state() == State::Ready && m_window->core().chat.queue().isEmpty(), 60'000);
            QTRY_VERIFY_WITH_TIMEOUT(last().kind == Message::Kind::Problem ||
                                         (last().kind == Message::Kind::Answer && last().note.isEmpty()),
                                     60'000);
        }
        QTRY_COMPARE_WITH_TIMEOUT(last().kind, Message::Kind::Problem, 60'000);
        const Problem problem = last().problem;
        qInfo("%s", qPrintable(problem.sentence));
        QVERIFY(problem.actions.contains(way));
        QVERIFY2(problem.sentence.contains(QStringLiteral("With a context of 384 tokens")),
                 qPrintable(problem.sentence));
        const qsizetype before = m_window->core().conversation.rowCount();
        test::picture(*m_window, QStringLiteral("full-context"), {620, 1280}, 800);
        for (auto* button : test::part<ChatPage>(*m_window).view().findChildren<QPushButton*>()) {
            if (button->text() == textOf(way)) {
                QTest::mouseClick(button, Qt::LeftButton);
                break;
            }
        }
        QTRY_VERIFY_WITH_TIMEOUT(engine.state() == State::Ready && m_window->core().chat.queue().isEmpty() &&
                                     last().kind == Message::Kind::Answer && last().figures &&
                                     last().state == Message::State::Done,
                                 120'000);
        QVERIFY(m_window->core().conversation.rowCount() >= before - 1);      // nothing is erased
        QCOMPARE(test::part<ChatPage>(*m_window).input().text(), QString());  // the offered prompt was asked
        const auto& messages = m_window->core().conversation.messages();
        const auto cut =
            std::find_if(messages.begin(), messages.end(), [](const Message& m) { return m.cut.has_value(); });
        QCOMPARE(cut == messages.end(), way == ProblemAction::LargerContext);
        QCOMPARE(engine.snapshot()->context_size, std::int64_t{way == ProblemAction::LargerContext ? 384 : 192});
        if (cut != messages.end()) {
            QCOMPARE(!cut->cut->isEmpty(), way == ProblemAction::SummariseOldest);
            auto& view = test::part<ChatPage>(*m_window).view();
            view.showSource(cut->id, 0);
            bool isSaid = false;
            QTRY_VERIFY(view.messageWidget(cut->id) != nullptr);
            for (const auto* label : view.messageWidget(cut->id)->findChildren<QLabel*>()) {
                isSaid = isSaid || (label->isVisible() && label->text().contains(QStringLiteral("no longer sees")));
            }
            QVERIFY(isSaid);
            QVERIFY(m_window->core().chat.history().size() < static_cast<std::size_t>(messages.size()));
        }
        test::picture(*m_window, QStringLiteral("full-context-%1").arg(static_cast<int>(way)), {620, 1280}, 800);
        if (cut != messages.end()) {  // the same prompt in other words stands behind the same cut
            const std::optional<QString> summary = cut->cut;
            const MessageId first = messages.first().id;
            QVERIFY(m_window->core().chat.editPrompt(cut->id, QStringLiteral("What is the capital of Spain?")));
            QTRY_VERIFY_WITH_TIMEOUT(engine.state() == State::Ready && last().kind == Message::Kind::Answer &&
                                         last().state == Message::State::Done,
                                     60'000);
            QCOMPARE(messages.first().id, first);
            QVERIFY(messages[messages.size() - 2].cut == summary);
        }
    }

    void load_brokenFolder_namesTheFile() {
        QTemporaryDir folder;
        begin();
        m_window->opener().open(folder.path());
        QTRY_COMPARE_WITH_TIMEOUT(last().kind, Message::Kind::Problem, 60'000);
        qInfo("%s", qPrintable(last().problem.sentence));
        QVERIFY(last().problem.sentence.contains(QStringLiteral("config.json")) ||
                last().problem.sentence.contains(folder.path()));
        QVERIFY(last().problem.actions.contains(ProblemAction::OpenDemoModel));
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
    }

    void load_brokenFile_leavesTheModelThatIsOpen() {
        QTemporaryDir folder;
        const QString demo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model/");
        for (const char* name : {"config.json", "tokenizer.model", "tokenizer_config.json"}) {
            QFile::copy(demo + QLatin1String(name), folder.filePath(QLatin1String(name)));
        }
        QFile whole(demo + QStringLiteral("model.safetensors")),
            half(folder.filePath(QStringLiteral("model.safetensors")));
        QVERIFY(whole.open(QIODevice::ReadOnly) && half.open(QIODevice::WriteOnly));
        half.write(whole.read(whole.size() / 2));
        half.close();
        begin();
        m_window->opener().open(m_model);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
        ask(QStringLiteral("What is an expert?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        QSignalSpy loads(&m_window->core().engine, &EngineController::loadStarted);
        m_window->opener().open(folder.path());
        QTRY_COMPARE_WITH_TIMEOUT(last().kind, Message::Kind::Problem, 60'000);
        QVERIFY2(last().problem.sentence.contains(QStringLiteral("model.safetensors")),
                 qPrintable(last().problem.sentence));
        QVERIFY(last().problem.sentence.contains(QStringLiteral("stays open")));
        QCOMPARE(m_window->core().engine.state(), State::Ready);
        QVERIFY(m_window->core().engine.model() && loads.isEmpty());
        ask(QStringLiteral("What is a cache hit?"));
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        QVERIFY(last().figures->tokensReused > 0);  // the conversation is as it was
        m_window->opener().useDevice(QStringLiteral("emulated:rtx-3060-desktop"), quint64{24} << 20);
        QTRY_COMPARE_WITH_TIMEOUT(loads.size(), 1, 60'000);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), State::Ready, 60'000);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestDemoModel)
#include "tst_demo_model.moc"
