// The log of each token, and the links between tokens, experts and text.
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/window_fixture.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/cache_comparison.h"
#include "ui/panels/selection.h"
#include "ui/panels/token_log.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

struct Call {
    int layer;
    int expert;
};

// Events of one step, one per layer, each with the experts called there.
engine::LayerEvents stepOf(quint64 number, quint64 first, int layers, const std::vector<Call>& calls, int tokens = 1) {
    engine::LayerEvents events;
    events.first = first;
    for (int layer = 0; layer < layers; ++layer) {
        engine::LayerEvent event;
        event.step = number;
        event.layer = layer;
        event.n_tokens = tokens;
        event.first_assignment = static_cast<std::uint32_t>(events.assignments.size());
        for (const Call& call : calls) {
            if (call.layer == layer) {
                engine::AssignmentEvent a;
                a.expert = static_cast<std::uint16_t>(call.expert);
                a.n_tokens = static_cast<std::uint32_t>(tokens);
                events.assignments.push_back(a);
                ++event.n_assignments;
            }
        }
        events.events.push_back(event);
    }
    return events;
}

StreamedText pieceOf(const QString& text, const QList<TokenMark>& marks) {
    StreamedText piece;
    piece.text = text;
    piece.marks = marks;
    return piece;
}

}  // namespace

class TestTokenLog : public QObject {
    Q_OBJECT

    std::shared_ptr<test::Stage> m_stage = std::make_shared<test::Stage>();

    std::unique_ptr<EngineController> controller() {
        return std::make_unique<EngineController>([stage = m_stage] { return makeFakeSession(stage); });
    }

  private Q_SLOTS:
    void tokens_ofPieces_standWhereTheyWereWritten() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(2, 4);
        log.addTokens(7, 0, pieceOf(QStringLiteral("Hello wor"), {{5, 0}, {9, 1}}));
        log.addTokens(7, 9, pieceOf(QStringLiteral("ld"), {{2, 2}}));
        QCOMPARE(log.tokenCount(7), 3);
        QCOMPARE(log.token(7, 2)->text, (TextRange{9, 11}));
        for (const auto& [offset, index] : std::vector<std::pair<int, int>>{{0, 0}, {4, 0}, {5, 1}, {9, 2}, {10, 2}}) {
            const auto token = log.tokenAt(7, offset);
            QVERIFY(token);
            QCOMPARE(token->index, index);
        }
        QVERIFY(!log.tokenAt(7, 11));
        QVERIFY(!log.tokenAt(8, 0));
        QVERIFY(!log.token(7, 3));
    }

    void tokens_ofTextThatWasAThought_areForgotten() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(1, 2);
        log.addTokens(1, 0, pieceOf(QStringLiteral("hm yes"), {{2, 0}, {6, 1}}));
        StreamedText piece = pieceOf(QStringLiteral("Hi"), {{2, 2}});
        piece.textWasThought = true;
        log.addTokens(1, 0, piece);
        QCOMPARE(log.tokenAt(1, 1)->step, log.token(1, 0)->step);
        QVERIFY(!log.tokenAt(1, 4));
        piece.marks.clear();
        log.addTokens(1, 0, piece);
        QVERIFY(!log.tokenAt(1, 1));
    }

    void tokens_ofOneCharacter_shareItsRange() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(1, 2);
        // Three tokens for one character, the last of them in a later piece.
        log.addTokens(1, 0, pieceOf(QStringLiteral("a"), {{1, 0}, {1, 1}}));
        log.addTokens(1, 1, pieceOf({}, {{0, 2}}));
        QCOMPARE(log.token(1, 1)->text.begin, log.token(1, 1)->text.end);
        log.addTokens(1, 1, pieceOf(QStringLiteral("\u20ac!"), {{1, 3}, {2, 4}}));
        for (const int index : {1, 2, 3}) {
            QCOMPARE(log.token(1, index)->text, (TextRange{1, 2}));
        }
        QCOMPARE(log.token(1, 0)->text, (TextRange{0, 1}));
        QCOMPARE(log.tokenAt(1, 2)->index, 4);
    }

    void expert_ofTokens_findsTheirText() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(2, 4);
        log.addEvents(stepOf(0, 0, 2, {{0, 0}, {1, 3}}, 12));  // the prompt's: its tokens' calls are not known
        log.addEvents(stepOf(1, 2, 2, {{0, 1}, {1, 2}}));
        log.addEvents(stepOf(2, 4, 2, {{0, 1}, {1, 3}}));
        log.addEvents(stepOf(3, 6, 2, {{0, 2}, {1, 3}}));
        log.addEvents(stepOf(4, 8, 2, {{0, 1}, {1, 0}}));
        log.addTokens(5, 10, pieceOf(QStringLiteral("aabbcc"), {{2, 0}, {4, 1}, {6, 2}}));
        log.addTokens(6, 0, pieceOf(QStringLiteral("ddee"), {{2, 3}, {4, 4}}));

        const auto one = log.textOf({0, 1});
        QCOMPARE(one.size(), 2);
        QCOMPARE(one.value(5), (QList<TextRange>{{12, 16}}));  // neighbours are joined
        QCOMPARE(one.value(6), (QList<TextRange>{{2, 4}}));
        const auto three = log.textOf({1, 3});
        QCOMPARE(three.value(5), (QList<TextRange>{{14, 16}}));
        QCOMPARE(three.value(6), (QList<TextRange>{{0, 2}}));
        QVERIFY(log.textOf({0, 3}).isEmpty());
        QVERIFY(log.textOf({9, 9}).isEmpty());
        QCOMPARE(log.expertsOf(*log.token(5, 2)), (std::vector<ExpertId>{{0, 1}, {1, 3}}));
        QVERIFY(log.expertsOf(*log.token(5, 0)).empty());
    }

    void step_stoppedHalfway_isReplacedByTheOneOfItsNumber() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(2, 4);
        auto half = stepOf(0, 0, 2, {{0, 1}, {1, 1}});
        half.events.pop_back();
        log.addEvents(half);
        log.addEvents(stepOf(0, 1, 2, {{0, 2}, {1, 2}}));
        log.addTokens(1, 0, pieceOf(QStringLiteral("x"), {{1, 0}}));
        QCOMPARE(log.steps().size(), size_t(1));
        QCOMPARE(log.expertsOf(*log.token(1, 0)), (std::vector<ExpertId>{{0, 2}, {1, 2}}));
        QVERIFY(log.textOf({0, 1}).isEmpty());
        QCOMPARE(log.textOf({0, 2}).size(), 1);
    }

    void model_loadedAfterAnother_keepsBothApart() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(1, 4);
        log.addEvents(stepOf(0, 0, 1, {{0, 1}}));
        log.addTokens(1, 0, pieceOf(QStringLiteral("old"), {{3, 0}}));
        log.beginModel(1, 4);
        log.addEvents(stepOf(0, 0, 1, {{0, 1}}));
        log.addTokens(2, 0, pieceOf(QStringLiteral("new"), {{3, 0}}));
        QCOMPARE(log.steps().size(), size_t(2));
        const auto text = log.textOf({0, 1});
        QCOMPARE(text.size(), 1);
        QVERIFY(text.contains(2));
        const auto old = log.token(1, 0);
        QVERIFY(old && log.step(old->step) && !log.isOfPresentModel(old->step));
        QVERIFY(log.isOfPresentModel(log.token(2, 0)->step));
    }

    void memory_overTheBound_losesTheOldest() {
        const auto engine = controller();
        constexpr std::size_t kLimit = 200'000;
        TokenLog log(*engine, kLimit);
        log.beginModel(4, 4);
        for (quint64 i = 0; i < 2000; ++i) {
            log.addEvents(stepOf(i, 4 * i, 4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
            log.addTokens(1 + i / 100, static_cast<int>(i % 100), pieceOf(QStringLiteral("x"), {{1, i}}));
            QVERIFY(log.memoryBytes() <= kLimit);
        }
        QVERIFY(log.droppedSteps() > 0);
        QCOMPARE(log.droppedSteps() + log.steps().size(), quint64(2000));
        QVERIFY(!log.token(1, 0));  // gone with its steps
        QVERIFY(log.step(log.token(20, 99)->step));
        int characters = 0;
        const auto text = log.textOf({0, 1});
        for (const auto& ranges : text) {
            for (const TextRange& range : ranges) {
                characters += range.end - range.begin;
            }
        }
        QCOMPARE(characters, static_cast<int>(log.steps().size()));
    }

    void events_overwrittenBeforeTheVisit_areCounted() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(1, 4);
        log.addEvents(stepOf(0, 0, 1, {{0, 1}}));
        log.addEvents(stepOf(11, 11, 1, {{0, 1}}));
        QCOMPARE(log.lostEvents(), quint64(10));
    }

    // Reported, not judged: 20,000 tokens of 32 layers, two experts each.
    void expert_ofALongAnswer_isFoundQuickly() {
        const auto engine = controller();
        TokenLog log(*engine, std::size_t{512} << 20);
        constexpr int kTokens = 20'000, kLayers = 32, kExperts = 8;
        log.beginModel(kLayers, kExperts);
        StreamedText piece;
        QElapsedTimer clock;
        clock.start();
        for (int i = 0; i < kTokens; ++i) {
            std::vector<Call> calls;
            for (int layer = 0; layer < kLayers; ++layer) {
                calls.push_back({layer, (i + layer) % kExperts});
                calls.push_back({layer, (i + 3 * layer + 1) % kExperts == (i + layer) % kExperts
                                            ? (i + layer + 1) % kExperts
                                            : (i + 3 * layer + 1) % kExperts});
            }
            log.addEvents(stepOf(static_cast<quint64>(i), static_cast<quint64>(i) * kLayers, kLayers, calls));
            piece.marks.append({4 * (i + 1), static_cast<quint64>(i)});
        }
        log.addTokens(1, 0, piece);
        const double taken_us = static_cast<double>(clock.nsecsElapsed()) / 1e3 / kTokens;
        clock.restart();
        const auto text = log.textOf({7, 3});
        const double asked_ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
        QCOMPARE(text.size(), 1);
        int characters = 0;
        for (const TextRange& range : text.value(1)) {
            characters += range.end - range.begin;
        }
        int expected = 0;
        for (int i = 0; i < kTokens; ++i) {
            const int first = (i + 7) % kExperts, second = (i + 22) % kExperts;
            expected += first == 3 || (second == first ? (i + 8) % kExperts : second) == 3 ? 4 : 0;
        }
        QCOMPARE(characters, expected);
        qInfo("20,000 tokens x 32 layers: %.1f MiB, %.1f us to take a token over, %.2f ms to find an expert's tokens",
              static_cast<double>(log.memoryBytes()) / (1 << 20), taken_us, asked_ms);
    }

    void selection_ofToken_hasItsExperts() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(2, 4);
        Selection selection(log);
        QSignalSpy changed(&selection, &Selection::tokenChanged);
        QSignalSpy marked(&selection, &Selection::tokenMarked);
        QVERIFY(!selection.selectToken(1, 0));
        QVERIFY(!selection.canStepToken(1));
        log.addTokens(1, 0, pieceOf(QStringLiteral("abc"), {{1, 0}, {2, 1}, {3, 2}}));
        QVERIFY(selection.stepToken(1));  // without one: the latest
        QCOMPARE(selection.token()->index, 2);
        QVERIFY(selection.selectTokenAt(1, 1));
        QVERIFY(selection.expertsOfToken().empty());  // not written down yet
        QCOMPARE(changed.size(), 2);
        log.addEvents(stepOf(1, 2, 2, {{0, 3}, {1, 0}}));
        Q_EMIT log.stepsAdded();
        QCOMPARE(selection.expertsOfToken(), (std::vector<ExpertId>{{0, 3}, {1, 0}}));
        QCOMPARE(changed.size(), 3);
        QVERIFY(selection.canStepToken(1) && selection.canStepToken(-1));
        QVERIFY(selection.stepToken(1));
        QVERIFY(!selection.stepToken(1));
        QCOMPARE(selection.token()->index, 2);
        selection.clearToken();
        QVERIFY(!selection.token());
        QCOMPARE(marked.back().at(1).value<TextRange>(), TextRange{});
    }

    void selection_ofExpert_underlinesWhatIsWritten() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(1, 4);
        Selection selection(log);
        QSignalSpy underlined(&selection, &Selection::underlined);
        log.addEvents(stepOf(0, 0, 1, {{0, 2}}));
        log.addTokens(1, 0, pieceOf(QStringLiteral("ab"), {{1, 0}, {2, 1}}));
        selection.selectExpert({0, 2});
        QCOMPARE(underlined.size(), 1);
        QCOMPARE(underlined.back().at(1).value<QList<TextRange>>(), (QList<TextRange>{{0, 1}}));
        // The answer goes on.
        log.addEvents(stepOf(1, 1, 1, {{0, 2}}));
        Q_EMIT log.stepsAdded();
        QCOMPARE(underlined.size(), 2);
        QCOMPARE(underlined.back().at(1).value<QList<TextRange>>(), (QList<TextRange>{{0, 2}}));
        // A token whose layers were known before its text.
        log.addEvents(stepOf(2, 2, 1, {{0, 2}}));
        log.addTokens(1, 2, pieceOf(QStringLiteral("c"), {{1, 2}}));
        QTRY_COMPARE(underlined.size(), 3);
        selection.selectExpert({0, 3});
        QCOMPARE(underlined.size(), 4);
        QCOMPARE(underlined.back().at(0).toULongLong(), quint64(1));
        QVERIFY(underlined.back().at(1).value<QList<TextRange>>().isEmpty());
    }

    // For a piece of a prompt before its end the last layer computes nothing. An
    // incomplete step does not count.
    void cacheCalls_ofAPromptsPiece_areWhole() {
        const auto engine = controller();
        TokenLog log(*engine);
        log.beginModel(2, 4);
        for (const quint64 number : {0, 1}) {
            engine::LayerEvents events = stepOf(number, 2 * number, 2, {{0, 1}, {0, 3}}, 8);
            for (engine::LayerEvent& event : events.events) {
                event.is_prefill = number == 0 ? 1 : 0;
            }
            log.addEvents(events);
        }
        const engine::CacheCalls calls = cacheCallsOf(log, 2, 4);
        QCOMPARE(calls.layers.size(), size_t(2));
        QCOMPARE(calls.calls.size(), size_t(2));
        QCOMPARE(calls.layers.back().n_calls, size_t(0));
    }

    void answer_ofTheEngine_isFollowed() {
        test::Script script;
        script.answer = test::longAnswer(300);
        script.layers = 4;
        m_stage->setScript(script);
        EngineController engine([stage = m_stage] { return makeFakeSession(stage); });
        TokenLog log(engine);
        QString text;
        connect(&engine, &EngineController::streamed, &log, [&](quint64, const StreamedText& piece) {
            log.addTokens(3, static_cast<int>(text.size()), piece);
            text += piece.text;
        });
        QSignalSpy answered(&engine, &EngineController::answered);
        engine.openModel({});
        QTRY_COMPARE(engine.state(), EngineController::State::Ready);
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        engine.generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QTRY_COMPARE(engine.state(), EngineController::State::Ready);
        const int count = log.tokenCount(3);
        QCOMPARE(count, static_cast<int>(answered.back().at(1).value<engine::GenerationResult>().tokens.size()));
        QVERIFY(count >= 300);
        for (int i = 0; i < count; ++i) {
            const auto token = log.token(3, i);
            const LoggedStep* step = log.step(token->step);
            QVERIFY2(step != nullptr, qPrintable(QString::number(i)));
            QCOMPARE(step->layers.size(), size_t(4));
            QCOMPARE(log.expertsOf(*token).size(), size_t(i == 0 ? 0 : 8));
        }
        QCOMPARE(log.token(3, count - 1)->text.end, static_cast<int>(text.size()));
        QCOMPARE(log.lostEvents(), quint64(0));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestTokenLog)
#include "tst_panels_token_log.moc"
