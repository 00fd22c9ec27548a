// The probabilities of an answer's tokens, in the window: at the pointer, by keyboard,
// under the text, and branches from alternatives.
#include <algorithm>
#include <cmath>

#include <QContextMenuEvent>
#include <QFileInfo>
#include <QMenu>
#include <QStatusBar>

#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/surprise_legend.h"
#include "ui/chat/token_choices.h"
#include "ui/chat/token_choices_view.h"
#include "ui/settings/sampling_panel.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

StreamedText pieceOf(const QStringList& texts, engine::TokenId first = 0) {
    StreamedText piece;
    for (const QString& text : texts) {
        piece.text += text;
        const int end = static_cast<int>(piece.text.size());
        piece.marks.append({end, 0});
        engine::TokenChoice choice;
        choice.chosen = {first++, -0.1, text.toStdString(), false};
        choice.alternatives = {choice.chosen, {900, -3.0, " other", false}, {901, -4.0, "\xC3", false}};
        piece.choices.push_back({end, false, choice});
    }
    return piece;
}

const QString kSwitch = QStringLiteral("Token probabilities (from the next answer on)");

QAction* actionNamed(const QMenu& menu, const QString& begin) {
    for (QAction* action : menu.actions()) {
        if (QString(action->text()).remove(u'&').startsWith(begin)) {
            return action;
        }
    }
    return nullptr;
}

}  // namespace

class TestTokenChoices : public QObject {
    Q_OBJECT

    static QAction* action(const test::WindowFixture& f, const QString& name) {
        for (QAction* one : f.window->findChildren<QAction*>()) {
            if (QString(one->text()).remove(u'&') == name) {
                return one;
            }
        }
        return nullptr;
    }
    static MessageBody& bodyOf(const test::WindowFixture& f, MessageId id) {
        return test::part<ChatPage>(*f.window).view().messageWidget(id)->body();
    }
    static void answer(test::WindowFixture& f) {
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_VERIFY(test::part<ChatPage>(*f.window).view().messageWidget(f.last().id) != nullptr);
        QTRY_VERIFY(!bodyOf(f, f.last().id).text().rectOfSource(0).isEmpty());
    }
    // The centre of the character that shows this place of the source.
    static void point(MessageBody& body, int source) {
        QTest::mouseMove(&body, body.text().rectOfSource(source).center());
    }

  private Q_SLOTS:
    void cleanup() { QSettings().clear(); }

    void store_keepsWholeAnswers_withinItsBound() {
        TokenChoices choices(6);
        choices.add(1, 0, pieceOf({QStringLiteral("One"), QStringLiteral(" two")}));
        choices.add(1, 7, pieceOf({QStringLiteral(" three")}, 2));
        QCOMPARE(choices.count(1), 3);
        QCOMPARE(choices.indexAt(1, 0), 0);
        QCOMPARE(choices.indexAt(1, 6), 1);
        QCOMPARE(choices.indexAt(1, 12), 2);
        QCOMPARE(choices.indexAt(1, 13), -1);
        QCOMPARE(choices.indexAt(2, 0), -1);
        // An answer that began before choices were requested, and one without them from
        // some point on, are not stored.
        choices.add(2, 5, pieceOf({QStringLiteral("x")}));
        QCOMPARE(choices.count(2), 0);
        StreamedText bare = pieceOf({QStringLiteral("y")});
        choices.add(3, 0, bare);
        bare.choices.clear();
        choices.add(3, 1, bare);
        QCOMPARE(choices.count(3), 0);
        // The oldest goes, whole.
        choices.add(4, 0,
                    pieceOf({QStringLiteral("a"), QStringLiteral("b"), QStringLiteral("c"), QStringLiteral("d")}));
        QCOMPARE(choices.count(1), 0);
        QCOMPARE(choices.count(4), 4);
        QCOMPARE(choices.size(), std::size_t{4});
        choices.add(4, 4, pieceOf({QStringLiteral("e"), QStringLiteral("f"), QStringLiteral("g")}));
        QCOMPARE(choices.count(4), 0);  // longer than the bound: nothing of it
        QCOMPARE(choices.size(), std::size_t{0});
    }

    void store_followsTextThatWasAThought() {
        TokenChoices choices;
        choices.add(1, 0, pieceOf({QStringLiteral("Gone"), QStringLiteral(" on")}));
        choices.add(1, 7, pieceOf({QStringLiteral(" hm"), QStringLiteral(" yes")}, 2));
        StreamedText thought;  // of what came behind the first seven characters
        thought.thought = QStringLiteral("hm yes");
        thought.textWasThought = true;
        choices.add(1, 7, thought);
        QCOMPARE(choices.indexAt(1, 8), -1);
        QVERIFY(choices.token(1, 2)->isThinking && choices.token(1, 3)->isThinking);
        choices.add(1, 7, pieceOf({QStringLiteral(" Hi")}, 4));
        QCOMPARE(choices.count(1), 5);
        QCOMPARE(choices.indexAt(1, 5), 1);
        QCOMPARE(choices.indexAt(1, 8), 4);
    }

    void store_knowsBranches() {
        TokenChoices choices;
        choices.add(1, 0, pieceOf({QStringLiteral("One"), QStringLiteral(" two"), QStringLiteral(" three")}));
        QVERIFY(!choices.beginningWith(1, 1, 1));  // the token itself
        QVERIFY(!choices.beginningWith(1, 1, 77));
        QVERIFY(!choices.beginningWith(1, 9, 900));
        const auto beginning = choices.beginningWith(1, 1, 900);
        QVERIFY(beginning);
        QCOMPARE(beginning->ids, (std::vector<engine::TokenId>{0, 900}));
        QCOMPARE(beginning->rivalText, QStringLiteral(" other"));
        QCOMPARE(choices.beginningWith(1, 0, 900)->rivalText, QStringLiteral("other"));  // without the leading blank
        QCOMPARE(choices.beginningWith(1, 1, 901)->rivalText, QString());                // half a character
        choices.addBranch(2, 1, 1, 900);
        QCOMPARE(choices.count(2), 2);
        QCOMPARE(choices.indexAt(2, 4), 1);
        choices.add(2, 9, pieceOf({QStringLiteral(" more")}, 50));
        QCOMPARE(choices.beginningWith(2, 2, 900)->ids, (std::vector<engine::TokenId>{0, 900, 900}));
        // The token that was there is an alternative now.
        QCOMPARE(choices.beginningWith(2, 1, 1)->rivalText, QStringLiteral(" two"));
        // A character of two tokens: both are it.
        StreamedText piece = pieceOf({QString(), QStringLiteral("é"), QStringLiteral("!")});
        choices.add(5, 0, piece);
        QCOMPARE(choices.token(5, 0)->end, 1);
        QCOMPARE(choices.indexAt(5, 0), 0);
        QCOMPARE(choices.indexAt(5, 1), 2);
    }

    void texts_areVisible() {
        QCOMPARE(visibleText({1, 0, " the\n", false}), QStringLiteral("␣the⏎"));
        QCOMPARE(visibleText({1, 0, "\xE4\xBD", false}), QStringLiteral("0xe4 0xbd"));
        QCOMPARE(visibleText({1, 0, "</s>", true}), QStringLiteral("</s>"));
        QCOMPARE(probabilityText(0.9312), QStringLiteral("93.1 %"));
        QCOMPARE(probabilityText(1), QStringLiteral("100 %"));
        QCOMPARE(probabilityText(0.0004), QStringLiteral("< 0.1 %"));
        QCOMPARE(TokenChoicesView::surpriseLevel(0.9), 0);
        QCOMPARE(TokenChoicesView::surpriseLevel(0.4), 1);
        QCOMPARE(TokenChoicesView::surpriseLevel(0.001), 4);
    }

    void offByDefault_nothingIsAskedForNorShown() {
        test::WindowFixture f;
        f.openAndWait();
        answer(f);
        QCOMPARE(f.stage->requests().back().n_alternatives, -1);
        point(bodyOf(f, f.last().id), 2);
        QVERIFY(!test::part<TokenChoicesView>(*f.window).tip().isVisible());
        QCOMPARE(f.window->core().choices.size(), std::size_t{0});
    }

    void pointerAndKeyboard_showTheToken() {
        test::WindowFixture f;
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        QCOMPARE(f.stage->requests().back().n_alternatives, TokenChoices::kAlternatives);
        MessageBody& body = bodyOf(f, f.last().id);
        TokenChoicesTip& tip = test::part<TokenChoicesView>(*f.window).tip();
        point(body, 1);
        QTRY_VERIFY(tip.isVisible());
        QCOMPARE(tip.rows().size(), 6);
        QCOMPARE(tip.rows()[0], QStringLiteral("Hell 90.0 %"));
        QCOMPARE(tip.rows()[1], QStringLiteral("␣rival0 5.0 %"));
        QVERIFY(tip.accessibleDescription().startsWith(QStringLiteral("Hell 90.0 %")));
        // The token under the pointer, up to its last pixel.
        const QRect last = body.text().rectOfSource(3);
        QTest::mouseMove(&body, QPoint(last.right(), last.center().y()));
        QCOMPARE(tip.rows()[0], QStringLiteral("Hell 90.0 %"));
        QTest::mouseMove(&body, QPoint(last.right() + 3, last.center().y()));
        QCOMPARE(tip.rows()[0], QStringLiteral("o!␣T 40.0 %"));
        QTest::mouseMove(&body, QPoint(body.width() - 2, last.center().y()));  // beside the text
        QVERIFY(!tip.isVisible());
        // By keyboard the word that is picked.
        body.setFocus();
        QTest::keyClick(&body, Qt::Key_Right, Qt::AltModifier);
        QTRY_VERIFY(tip.isVisible());
        QCOMPARE(tip.rows()[0], QStringLiteral("Hell 90.0 %"));
        test::part<ChatPage>(*f.window).input().setFocus();
        QVERIFY(!tip.isVisible());
        // The choice is kept.
        QVERIFY(QSettings().value(QStringLiteral("view/tokenProbabilities")).toBool());
        action(f, kSwitch)->trigger();
        point(body, 2);
        QVERIFY(!tip.isVisible());
    }

    void aDraftedToken_saysSo() {
        test::Script script;
        script.tokensPerStep = 2;
        test::WindowFixture f(script);
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        MessageBody& body = bodyOf(f, f.last().id);
        const TokenChoicesTip& tip = test::part<TokenChoicesView>(*f.window).tip();
        // The prompt's step writes the first one, the next step the second and the third.
        for (const auto& [place, isDrafted] : {std::pair(1, false), std::pair(5, false), std::pair(9, true)}) {
            point(body, place);
            QTRY_VERIFY(tip.isVisible());
            QTRY_COMPARE(tip.accessibleDescription().contains(QStringLiteral("Drafted")), isDrafted);
        }
        test::picture(test::part<TokenChoicesView>(*f.window).tip(), QStringLiteral("drafted tip"),
                      {tip.sizeHint().width()}, tip.sizeHint().height());
    }

    void aRival_isABranch() {
        test::WindowFixture f;
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        const Message before = f.last();
        MessageBody& body = bodyOf(f, before.id);
        body.setFocus();
        const QPoint at = body.text().rectOfSource(6).center();
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, body.mapToGlobal(at));
        QCoreApplication::sendEvent(&body, &event);
        auto* menu = body.findChild<QMenu*>();
        QVERIFY(menu);
        QAction* instead = actionNamed(*menu, QStringLiteral("Instead of “o!␣T” go on with"));
        QVERIFY(instead && instead->isEnabled());
        QCOMPARE(instead->menu()->actions().size(), 4);  // of five alternatives one ends the turn
        QAction* rival = actionNamed(*instead->menu(), QStringLiteral("“␣rival1”"));
        QVERIFY(rival);
        rival->trigger();
        menu->close();
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{2});
        const engine::GenerationRequest request = f.stage->requests().back();
        QCOMPARE(request.reply_begin, (std::vector<engine::TokenId>{0, 3001}));
        QVERIFY(!request.continue_last);
        QCOMPARE(request.messages.size(), std::size_t{1});
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const Message branch = f.last();
        QVERIFY(branch.id != before.id);
        QCOMPARE(branch.branches, 2);
        QCOMPARE(branch.text, QStringLiteral("Hell rival1") + before.text);
        // From the branch another one.
        QCOMPARE(f.window->core().choices.count(branch.id), 2 + f.window->core().choices.count(before.id));
        QCOMPARE(f.window->core().choices.beginningWith(branch.id, 2, 3000)->ids,
                 (std::vector<engine::TokenId>{0, 3001, 3000}));
    }

    void aClick_keepsThePopupOpen_andARivalInItIsABranch() {
        test::WindowFixture f;
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        const Message before = f.last();
        MessageBody& body = bodyOf(f, before.id);
        TokenChoicesTip& tip = test::part<TokenChoicesView>(*f.window).tip();
        const QPoint at = body.text().rectOfSource(5).center();
        QTest::mouseMove(&body, at);
        QTRY_VERIFY(tip.isVisible());
        const QRect place = tip.geometry();
        // Before the click nothing in it can be chosen.
        QTest::mouseClick(&tip, Qt::LeftButton, {}, tip.rowRect(2).center());
        QCOMPARE(f.stage->requests().size(), std::size_t{1});
        QTest::mouseClick(&body, Qt::LeftButton, {}, at);
        QVERIFY(tip.isPinned() && tip.isVisible());
        QCOMPARE(tip.geometry(), place);
        QCOMPARE(tip.rows()[0], QStringLiteral("o!␣T 40.0 %"));
        test::picture(tip, QStringLiteral("pinned"), {tip.width()}, tip.height());
        tip.resize(place.size());
        // The pointer may go to it: over other words, and out of the text.
        point(body, 1);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(&body, &leave);
        QVERIFY(tip.isVisible());
        QCOMPARE(tip.rows()[0], QStringLiteral("o!␣T 40.0 %"));
        // The chosen token is no rival, nor is the end of the turn.
        QTest::mouseClick(&tip, Qt::LeftButton, {}, tip.rowRect(0).center());
        QVERIFY(tip.isVisible());
        QTest::mouseClick(&tip, Qt::LeftButton, {}, tip.rowRect(2).center());
        QVERIFY(!tip.isVisible());
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{2});
        QCOMPARE(f.stage->requests().back().reply_begin, (std::vector<engine::TokenId>{0, 3001}));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.last().branches, 2);
        QCOMPARE(f.last().text, QStringLiteral("Hell rival1") + before.text);
    }

    void pinned_isLeftByEscAndByAClickElsewhere_andDrivenByKeys() {
        test::WindowFixture f;
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        MessageBody& body = bodyOf(f, f.last().id);
        TokenChoicesTip& tip = test::part<TokenChoicesView>(*f.window).tip();
        const auto click = [&body](int source) {
            QTest::mouseClick(&body, Qt::LeftButton, {}, body.text().rectOfSource(source).center());
        };
        click(5);
        QVERIFY(tip.isPinned());
        click(1);  // another token's
        QVERIFY(tip.isPinned());
        QCOMPARE(tip.rows()[0], QStringLiteral("Hell 90.0 %"));
        QTest::keyClick(&body, Qt::Key_Escape);
        QVERIFY(!tip.isVisible() && !tip.isPinned());
        click(5);
        QTest::mouseClick(f.window->statusBar(), Qt::LeftButton);
        QVERIFY(!tip.isVisible());
        // Two clicks select the word.
        QTest::mouseDClick(&body, Qt::LeftButton, {}, body.text().rectOfSource(5).center());
        QTest::mouseRelease(&body, Qt::LeftButton, {}, body.text().rectOfSource(5).center());
        QVERIFY(!tip.isPinned());
        QVERIFY(!body.selectedText().isEmpty());
        // By keyboard: the picked word, Enter, the arrows, Enter.
        body.setFocus();
        QTest::keyClick(&body, Qt::Key_Right, Qt::AltModifier);
        QTRY_VERIFY(tip.isVisible());
        QTest::keyClick(&body, Qt::Key_Return);
        QVERIFY(tip.isPinned());
        QTest::keyClick(&body, Qt::Key_Up);  // the last one, but for the end of the turn
        QTest::keyClick(&body, Qt::Key_Up);
        QTest::keyClick(&body, Qt::Key_Down);
        QTest::keyClick(&body, Qt::Key_Return);
        QTRY_COMPARE(f.stage->requests().size(), std::size_t{2});
        QVERIFY(!f.stage->requests().back().reply_begin.empty());
        QVERIFY(!tip.isVisible());
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    void surprise_isMarkedByChoice() {
        test::WindowFixture f;
        f.openAndWait();
        QAction* surprise = action(f, QStringLiteral("Underline unlikely words"));
        surprise->trigger();
        answer(f);
        MessageBody& body = bodyOf(f, f.last().id);
        QTRY_VERIFY(!body.marks().of(TextMark::Surprise4).isEmpty());
        QCOMPARE(body.marks().of(TextMark::Surprise1).first(), (QPair<int, int>{4, 8}));
        QCOMPARE(body.marks().of(TextMark::Surprise2).first(), (QPair<int, int>{8, 12}));
        QCOMPARE(body.marks().of(TextMark::Surprise4).first(), (QPair<int, int>{16, 20}));
        action(f, kSwitch)->trigger();
        point(body, 6);
        QTRY_VERIFY(test::part<TokenChoicesView>(*f.window).tip().isVisible());
        test::picture(*f.window, QStringLiteral("surprise"), {560, 1280}, 800);
        test::picture(test::part<TokenChoicesView>(*f.window).tip(), QStringLiteral("tip"),
                      {test::part<TokenChoicesView>(*f.window).tip().sizeHint().width()},
                      test::part<TokenChoicesView>(*f.window).tip().sizeHint().height());
        // What the lines mean stands in the status bar, as long as there are any.
        const auto& legend = test::part<SurpriseLegend>(*f.window);
        QVERIFY(legend.isVisible() && legend.accessibleName().contains(QStringLiteral("dashed < 20 %")));
        surprise->trigger();
        QVERIFY(!legend.isVisible());
        QVERIFY(body.marks().of(TextMark::Surprise1).isEmpty());
        QVERIFY(body.marks().of(TextMark::Surprise4).isEmpty());
    }

    // The demo model: real tokens, real probabilities, and a branch whose beginning is in
    // the KV cache.
    void realModel_branchesFromARival() {
        const QString demo = test::demoModel();
        if (!QFileInfo(demo).isDir()) {
            QSKIP("the demo model is not a folder here");
        }
        MainWindow::Options options;
        options.theme = Theme::Light;
        MainWindow window([] { return engine::Session::create(); }, options);
        window.show();
        for (QAction* one : window.findChildren<QAction*>()) {
            if (QString(one->text()).remove(u'&') == kSwitch) {
                one->setChecked(true);
            }
        }
        Sampling sampling;
        sampling.sampler.temperature = 0;
        sampling.maxTokens = 12;
        test::part<SamplingPanel>(window).setSampling(sampling);
        window.core().chat.setSampling(sampling);
        engine::LoadRequest load;
        load.model = demo.toStdString();
        load.compute = engine::ComputeMode::kF32;
        window.core().engine.openModel(load);
        QTRY_COMPARE_WITH_TIMEOUT(window.core().engine.state(), EngineController::State::Ready, 60'000);
        QVERIFY(window.core().chat.send(QStringLiteral("What is 3 plus 4?")));
        const auto last = [&] { return window.core().conversation.messages().last(); };
        QTRY_VERIFY_WITH_TIMEOUT(last().figures.has_value(), 60'000);
        const Message before = last();
        TokenChoices& choices = window.core().choices;
        QCOMPARE(choices.count(before.id), static_cast<int>(before.figures->tokensOut));
        // Greedy: each token is the most probable one, and all together are at most
        // certain.
        for (int i = 0; i < choices.count(before.id); ++i) {
            const ChosenToken& token = *choices.token(before.id, i);
            double sum = token.probability();
            for (const engine::TokenProbability& rival : token.rivals()) {
                QVERIFY(std::exp(rival.log_probability) <= token.probability() + 1e-9);
                sum += std::exp(rival.log_probability);
            }
            QVERIFY2(sum > 0 && sum < 1 + 1e-6, qPrintable(QString::number(sum)));
        }
        // The ranges are the text; a token of a blank that is not in the text shares that
        // of the next one.
        int end = 0;
        for (int i = 0; i < choices.count(before.id); ++i) {
            const ChosenToken& token = *choices.token(before.id, i);
            QVERIFY(token.begin == end || (i > 0 && token.begin == choices.token(before.id, i - 1)->begin));
            end = token.end;
        }
        QCOMPARE(end, static_cast<int>(before.text.size()));
        const int index = 2;
        const auto rivals = choices.token(before.id, index)->rivals();
        const auto rival = std::find_if(rivals.begin(), rivals.end(), [](const auto& one) { return !one.is_control; });
        QVERIFY(rival != rivals.end());
        const auto beginning = choices.beginningWith(before.id, index, rival->token);
        Q_EMIT test::part<TokenChoicesView>(window).rivalChosen(before.id, index, rival->token);
        QTRY_VERIFY_WITH_TIMEOUT(last().id != before.id && last().figures.has_value(), 60'000);
        const Message branch = last();
        QVERIFY2(
            branch.text.startsWith(before.text.left(choices.token(before.id, index)->begin) + beginning->rivalText),
            qPrintable(branch.text));
        QVERIFY(branch.text != before.text);
        QVERIFY(branch.figures->tokensReused >= before.figures->tokensIn);  // the KV cache has the beginning
        QCOMPARE(choices.count(branch.id), static_cast<int>(branch.figures->tokensOut));
        QCOMPARE(branch.branches, 2);
    }

    void thoughtsTokens_countForBranches() {
        test::Script script;
        script.thought = "Think first";
        test::WindowFixture f(script);
        f.openAndWait();
        action(f, kSwitch)->trigger();
        answer(f);
        const MessageId id = f.last().id;
        QCOMPARE(f.window->core().choices.indexAt(id, 0), 3);  // after three tokens of the thought
        QCOMPARE(f.window->core().choices.beginningWith(id, 3, 3000)->ids,
                 (std::vector<engine::TokenId>{0, 1, 2, 3000}));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestTokenChoices)
#include "tst_token_choices.moc"
