// The work of a turn of the event loop while an answer streams: its amount, which is the
// same on every machine. tests/bench/bench_event_loop.cpp measures its time.
#include <QTest>

#include "tests/sanitized.h"
#include "tests/ui/message_widgets.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

// For one turn: a slice of new text, and the growing segments, twice at most, rendered
// again with it. If segments were not cut, or text that came all at once were shown all
// at once, it would be tens of thousands.
constexpr qint64 kMostAtOnce = 10'000;

QString shownSource(test::WindowFixture& f) {
    const auto* widget = test::part<ChatPage>(*f.window).view().messageWidget(f.last().id);
    return widget ? widget->body().source() : QString();
}

}  // namespace

class TestEventLoop : public QObject {
    Q_OBJECT

    // An answer that comes faster than it can be shown.
    static void stream(test::WindowFixture& f, const std::string& answer) {
        test::Script script;
        script.answer = answer;
        script.bytesPerToken = 16;
        script.context = 100'000;
        f.stage->setScript(script);
        f.window->resize(1280, 800);
        f.openAndWait();
        f.ask(QStringLiteral("a long answer, please"));
        const QString whole = QString::fromStdString(answer);
        QTRY_VERIFY_WITH_TIMEOUT(f.last().state == Message::State::Done && shownSource(f) == whole, 200'000);
    }

  private Q_SLOTS:
    void streaming_longAnswer_givesATurnLittle() {
        test::WindowFixture f;
        stream(f, test::longAnswer(test::kSanitized ? 5'000 : 20'000));
        const auto& view = test::part<ChatPage>(*f.window).view();
        const auto& body = view.messageWidget(f.last().id)->body();
        qInfo("%lld characters: %lld rendered in %d turns, %lld in the one with the most; %d documents alive",
              qint64{body.source().size()}, body.text().renderedCharacters(), view.pacer().turns(),
              view.pacer().mostRenderedAtOnce(), test::documentCount(view));
        QVERIFY(view.pacer().mostRenderedAtOnce() > 0);
        QVERIFY2(view.pacer().mostRenderedAtOnce() < kMostAtOnce,
                 qPrintable(QString::number(view.pacer().mostRenderedAtOnce())));
        // The view keeps only the segments around the viewport laid out, not all
        // hundreds.
        QVERIFY2(test::documentCount(view) < 100, qPrintable(QString::number(test::documentCount(view))));
        f.window->resize(900, 700);
        QCoreApplication::processEvents();
        QVERIFY2(test::documentCount(view) < 100, qPrintable(QString::number(test::documentCount(view))));
    }

    // The cost of one more token must not grow with the text before it.
    void streaming_longOneKindTexts_haveABound_data() {
        QTest::addColumn<QString>("text");
        QString table = QStringLiteral("| a | b | c |\n|---|---|---|\n");
        QString code = QStringLiteral("```\n");
        QString prose;
        QString list;
        while (table.size() < (test::kSanitized ? 20'000 : 60'000)) {
            table += QStringLiteral("| cell | another *cell* | third |\n");
            code += QStringLiteral("for (int i = 0; i < n; ++i) { sum += a[i]; }\n");
            prose += QStringLiteral("words without an end and without a line ");
            list += QStringLiteral("- a point of a list that does not end\n");
        }
        QTest::newRow("table") << table;
        QTest::newRow("code") << code;
        QTest::newRow("one line") << prose;
        QTest::newRow("list") << list;
    }
    void streaming_longOneKindTexts_haveABound() {
        QFETCH(QString, text);
        test::WindowFixture f;
        stream(f, text.toStdString());
        const auto& view = test::part<ChatPage>(*f.window).view();
        const auto& body = view.messageWidget(f.last().id)->body();
        qInfo("%lld characters: %lld rendered in %d turns, %lld in the one with the most", qint64{body.source().size()},
              body.text().renderedCharacters(), view.pacer().turns(), view.pacer().mostRenderedAtOnce());
        QVERIFY(view.pacer().mostRenderedAtOnce() > 0);
        QVERIFY2(view.pacer().mostRenderedAtOnce() < kMostAtOnce,
                 qPrintable(QString::number(view.pacer().mostRenderedAtOnce())));
    }

    // Painting new text takes as long as rendering it: it waits for the next turn.
    void muchNewText_isPaintedInTheNextTurn() {
        ConversationModel model;
        Message answer;
        answer.id = 1;
        answer.kind = Message::Kind::Answer;
        answer.state = Message::State::Streaming;
        model.reset({answer});
        ConversationView view(model);
        view.resize(900, 700);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const MessageWidget* widget = view.messageWidget(1);
        QVERIFY(widget);
        QList<bool> mayPaint;
        connect(widget, &MessageWidget::heightChanged, this,
                [&] { mayPaint.append(view.viewport()->updatesEnabled()); });
        // First, while a slice has its initial size: slow rendering makes it smaller.
        model.appendText(1, QStringLiteral("Many more words than that. ").repeated(20));
        QTRY_VERIFY(!mayPaint.isEmpty());
        QVERIFY(!mayPaint.contains(true));
        QTRY_VERIFY(view.viewport()->updatesEnabled());
        mayPaint.clear();
        model.appendText(1, QStringLiteral("A few words. "));
        QTRY_VERIFY(!mayPaint.isEmpty());
        QVERIFY(!mayPaint.contains(false));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestEventLoop)
#include "tst_event_loop.moc"
