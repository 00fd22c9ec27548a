// The list of messages: only near ones have widgets, visible text keeps its place, and
// the actions on it.
#include <algorithm>
#include <ctime>
#include <random>
#include <vector>

#include <QClipboard>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <QTranslator>
#include <QWheelEvent>

#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/message_widgets.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/persona_bar.h"
#include "ui/widgets/focus_ring.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

double threadCpuMs() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1000.0 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e6;
}

QList<Message> conversation(int count) {
    const QString answer = QString::fromStdString(test::longAnswer(400));
    QList<Message> messages;
    for (int i = 0; i < count; ++i) {
        Message message;
        message.id = static_cast<MessageId>(i + 1);
        message.kind = i % 2 == 0 ? Message::Kind::Prompt : Message::Kind::Answer;
        message.text = i % 2 == 0 ? QStringLiteral("Prompt %1, with a few words of its own").arg(i)
                                  : QStringLiteral("Answer %1.\n\n").arg(i) + answer.left(100 + i * 37 % 1500);
        message.author = QStringLiteral("model");
        if (i % 2 == 1) {
            message.figures = AnswerFigures{0.12, 37.5, 34, 0, 120};
        }
        messages.append(message);
    }
    return messages;
}

struct Shown {
    explicit Shown(QList<Message> messages, QSize size = {900, 700}) {
        model.reset(std::move(messages));
        view = std::make_unique<ConversationView>(model);
        view->resize(size);
        view->show();
        QApplication::setActiveWindow(view.get());
        settle();
    }
    static void settle() {
        for (int i = 0; i < 5; ++i) {
            QCoreApplication::processEvents();
        }
    }
    QScrollBar& bar() const { return *view->verticalScrollBar(); }
    int topOf(MessageId id) const {
        const MessageWidget* widget = view->messageWidget(id);
        return widget ? widget->y() : -100'000;
    }
    // The first message whose top is visible.
    MessageId firstShown() const {
        for (const Message& message : model.messages()) {
            const MessageWidget* widget = view->messageWidget(message.id);
            if (widget && widget->y() >= 0) {
                return message.id;
            }
        }
        return 0;
    }
    QToolButton* button(MessageId id, const QString& name) const {
        for (auto* one : view->messageWidget(id)->findChildren<QToolButton*>()) {
            if (one->accessibleName().startsWith(name)) {
                return one;
            }
        }
        return nullptr;
    }

    ConversationModel model;
    std::unique_ptr<ConversationView> view;
};

}  // namespace

class TestChatView : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void tenThousandMessages_openWithAFewWidgets() {
        QList<Message> messages = conversation(10'000);
        Shown s({});
        const double before = threadCpuMs();
        s.model.reset(messages);
        s.view->grab();
        const double opened = threadCpuMs() - before;
        QVERIFY2(test::messageWidgets(*s.view).size() < 40,
                 qPrintable(QString::number(test::messageWidgets(*s.view).size())));
        QVERIFY(s.bar().maximum() > 1'000'000);
        QCOMPARE(s.bar().value(), s.bar().maximum());
        QVERIFY(s.view->messageWidget(10'000));
        QVERIFY(!s.view->messageWidget(1));

        std::vector<double> frames;
        for (int step = 0; step < 300; ++step) {
            const double begin = threadCpuMs();
            s.bar().setValue(s.bar().value() - (step % 3 == 2 ? 700 : 120));
            QCoreApplication::processEvents();
            frames.push_back(threadCpuMs() - begin);
        }
        std::sort(frames.begin(), frames.end());
        qInfo(
            "10,000 messages: opened in %.1f ms of CPU; a step of scrolling: median %.2f, 99 %% %.2f, longest %.2f ms",
            opened, frames[frames.size() / 2], frames[frames.size() * 99 / 100], frames.back());
        QVERIFY(test::messageWidgets(*s.view).size() < 60);
        QVERIFY(test::documentCount(*s.view) < 400);
    }

    void scrolling_whatShows_movesByWhatWasAsked() {
        Shown s(conversation(400));
        for (int step = 0; step < 60; ++step) {
            const MessageId id = s.firstShown();
            QVERIFY(id != 0);
            const int before = s.topOf(id);
            s.bar().setValue(s.bar().value() - 90);
            QCOMPARE(s.topOf(id), before + 90);
            Shown::settle();
            QCOMPARE(s.topOf(id), before + 90);  // and estimates that are corrected later do not move it
        }
    }

    void resized_theTopMessage_staysAtTheTop() {
        Shown s(conversation(400));
        s.bar().setValue(s.bar().maximum() / 2);
        Shown::settle();
        const int value = s.bar().value();
        const MessageId id = s.firstShown();
        s.view->resize(500, 700);
        Shown::settle();
        QVERIFY(s.bar().value() != value);
        QVERIFY(s.view->messageWidget(id));
        QVERIFY2(std::abs(s.topOf(id)) < 2000, qPrintable(QString::number(s.topOf(id))));
    }

    void keys_homeEndAndPages_scroll() {
        Shown s(conversation(200));
        s.view->setFocus();
        QTest::keyClick(s.view.get(), Qt::Key_Home);
        QCOMPARE(s.bar().value(), 0);
        QVERIFY(s.view->messageWidget(1));
        QCOMPARE(s.view->messageWidget(1)->body().accessibleName(), QStringLiteral("Your message"));
        QTest::keyClick(s.view.get(), Qt::Key_PageDown);
        QCOMPARE(s.bar().value(), s.view->viewport()->height());
        QTest::keyClick(s.view.get(), Qt::Key_PageUp);
        QCOMPARE(s.bar().value(), 0);
        QTest::keyClick(s.view.get(), Qt::Key_End);
        QVERIFY(s.view->followsEnd());
        QCOMPARE(s.bar().value(), s.bar().maximum());
    }

    void tab_goesThroughTheMessagesInOrder() {
        Shown s(conversation(30));
        s.bar().setValue(0);
        Shown::settle();
        s.view->scrollToEnd();
        Shown::settle();
        QVERIFY(s.view->messageWidget(28));
        s.view->messageWidget(28)->body().setFocus();
        int last = s.view->messageWidget(28)->y() + s.bar().value();
        int moved = 0;
        for (int i = 0; i < 12 && s.view->isAncestorOf(QApplication::focusWidget()); ++i) {
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
            const QWidget* now = QApplication::focusWidget();
            if (!now || now == s.view.get() || !s.view->viewport()->isAncestorOf(now)) {
                break;
            }
            const int y = now->mapTo(s.view->viewport(), QPoint()).y() + s.bar().value();
            QVERIFY(i == 0 || y >= last);
            last = y;
            ++moved;
        }
        QVERIFY(moved >= 4);
    }

    void focusByKey_ringsTheText_withoutTouchingIt() {
        Shown s(conversation(4));
        MessageBody& body = s.view->messageWidget(2)->body();
        const QImage before = body.grab().toImage();
        const auto ring = [&s]() -> QWidget* {
            const auto rings = s.view->findChildren<FocusRing*>();
            return rings.isEmpty() ? nullptr : rings.first();
        };
        body.setFocus(Qt::MouseFocusReason);
        QVERIFY(ring() == nullptr);  // a click shows its place by itself
        body.clearFocus();
        body.setFocus(Qt::TabFocusReason);
        QVERIFY(body.hasFocus());
        QVERIFY(ring() != nullptr && ring()->isVisible());
        QVERIFY(body.grab().toImage() == before);
        const auto around = [&] {
            const QRect text(body.mapTo(s.view->viewport(), QPoint()), body.size());
            return ring()->geometry().adjusted(3, 3, -3, -3).contains(text);
        };
        QVERIFY(around());
        QVERIFY(s.view->viewport()->rect().left() <= ring()->x());
        s.bar().setValue(s.bar().value() > 20 ? s.bar().value() - 20 : 20);
        Shown::settle();
        QVERIFY(around());
        s.view->resize(700, 600);
        Shown::settle();
        QVERIFY(around());
        QTest::keyClick(&body, Qt::Key_Tab);
        QVERIFY(!body.hasFocus());
        s.view->setFocus();
        QVERIFY(ring() == nullptr);
    }

    void selection_farAway_isKept() {
        Shown s(conversation(300));
        MessageBody& body = s.view->messageWidget(300)->body();
        body.setFocus();
        body.selectAll();
        const QString text = body.selectedText();
        s.bar().setValue(0);
        Shown::settle();
        QVERIFY(s.view->messageWidget(300));
        QCOMPARE(s.view->messageWidget(300)->body().selectedText(), text);
    }

    void stream_whileScrolledAway_changesNothingThatShows() {
        QList<Message> messages = conversation(100);
        messages.last().state = Message::State::Streaming;
        Shown s(messages);
        s.bar().setValue(300);
        Shown::settle();
        const MessageId id = s.firstShown();
        const int top = s.topOf(id);
        const int value = s.bar().value();
        const int maximum = s.bar().maximum();
        for (int i = 0; i < 40; ++i) {
            s.model.appendText(100, QStringLiteral("More text of the answer, a line of it.\n\n"));
        }
        QTRY_VERIFY(s.bar().maximum() > maximum + 200);
        QCOMPARE(s.topOf(id), top);
        QCOMPARE(s.bar().value(), value);
        s.view->scrollToEnd();
        Shown::settle();
        QTRY_VERIFY(s.view->messageWidget(100)->body().plainText().trimmed().endsWith(QStringLiteral("a line of it.")));
    }

    void rows_changing_anyWay_areShownAsTheyAre() {
        Shown s(conversation(60));
        std::mt19937 random(3);
        for (int i = 0; i < 200; ++i) {
            const int n = s.model.rowCount();
            const auto id = [&] {
                return s.model.messages()[static_cast<int>(random() % static_cast<unsigned>(n))].id;
            };
            switch (random() % 6) {
                case 0: {
                    Message added = conversation(2)[static_cast<int>(random() % 2)];
                    added.id = 0;  // a new one
                    s.model.append(added);
                    break;
                }
                case 1:
                    if (n > 20) {
                        s.model.remove(id());
                    }
                    break;
                case 2:
                    s.model.appendText(id(), QStringLiteral("\n\nadded **text**"));
                    break;
                case 3:
                    s.model.edit(id(), [](Message& m) { m.text = QStringLiteral("changed"); });
                    break;
                case 4:
                    s.bar().setValue(static_cast<int>(random() % static_cast<unsigned>(s.bar().maximum() + 1)));
                    break;
                default:
                    s.view->resize(400 + static_cast<int>(random() % 900), 300 + static_cast<int>(random() % 600));
                    break;
            }
            if (random() % 4 == 0) {
                QCoreApplication::processEvents();
            }
        }
        QTRY_VERIFY([&s] {
            for (const Message& message : s.model.messages()) {
                const MessageWidget* widget = s.view->messageWidget(message.id);
                if (widget && widget->body().source() != message.text) {
                    return false;
                }
            }
            return true;
        }());
        int bottom = -1'000'000;
        for (const Message& message : s.model.messages()) {
            if (const MessageWidget* widget = s.view->messageWidget(message.id)) {
                QVERIFY(widget->y() > bottom);
                bottom = widget->geometry().bottom();
            }
        }
    }

    void branches_buttonsAskForTheirNeighbours() {
        QList<Message> messages = conversation(4);
        messages[3].branch = 1;
        messages[3].branches = 3;
        Shown s(messages);
        QSignalSpy asked(s.view.get(), &ConversationView::branchRequested);
        QTest::mouseClick(s.button(4, QStringLiteral("The branch before")), Qt::LeftButton);
        QTest::mouseClick(s.button(4, QStringLiteral("The next branch")), Qt::LeftButton);
        QCOMPARE(asked.size(), 2);
        QCOMPARE(asked[0], (QVariantList{QVariant::fromValue<MessageId>(4), 0}));
        QCOMPARE(asked[1], (QVariantList{QVariant::fromValue<MessageId>(4), 2}));
        QVERIFY(!s.button(2, QStringLiteral("The next branch")));
    }

    // The old answer's figures were painted over the new text.
    void answer_goneOnWith_hidesItsFiguresUntilItEnds() {
        QList<Message> messages = conversation(4);
        messages[3].state = Message::State::Stopped;
        Shown s(messages);
        QVERIFY(s.button(4, QStringLiteral("Figures"))->isVisible());
        messages[3].state = Message::State::Streaming;
        s.model.edit(4, [&messages](Message& m) { m = messages[3]; });
        QTRY_VERIFY(!s.button(4, QStringLiteral("Figures"))->isVisible());
        messages[3].state = Message::State::Done;
        s.model.edit(4, [&messages](Message& m) { m = messages[3]; });
        QTRY_VERIFY(s.button(4, QStringLiteral("Figures"))->isVisible());
    }

    // In the line of the buttons, which takes the place of the gap before the next
    // message.
    void figures_appearUnderTheMouse_moveNothing_andLeaveNoBlank() {
        for (const int width : {900, 340}) {
            Shown s(conversation(6), {width, 700});
            s.bar().setValue(0);
            Shown::settle();
            MessageWidget* answer = s.view->messageWidget(2);
            QVERIFY(answer);
            QTest::mouseMove(&s.bar());
            QTRY_VERIFY(!s.button(2, QStringLiteral("Figures"))->isVisible());
            const auto places = test::placesOf(*s.view);
            const int blank = s.topOf(3) - (s.topOf(2) + answer->body().geometry().bottom() + 1);
            QVERIFY2(blank <= 40, qPrintable(QString::number(blank)));
            QTest::mouseMove(answer, QPoint(20, 20));
            QToolButton* figures = s.button(2, QStringLiteral("Figures"));
            QTRY_VERIFY(figures->isVisible());
            QCOMPARE(figures->y(), s.button(2, QStringLiteral("Copy"))->y());
            QVERIFY(answer->rect().contains(figures->geometry()));
            QVERIFY(figures->text().contains(QStringLiteral("37.5 tokens/s")));
            QVERIFY(figures->toolTip().contains(QStringLiteral("34 in, 120 out")));
            QCOMPARE(test::movedSince(places, *s.view), QStringList());
            QTest::mouseMove(&s.bar());
            QTRY_VERIFY(!figures->isVisible());
        }
    }

    // With little room the tokens go first, then the time to the first one.
    void figures_withLittleRoom_keepTheTimes() {
        QStringList forms;
        Shown s(conversation(2));
        s.bar().setValue(0);
        Shown::settle();
        QTest::mouseMove(s.view->messageWidget(2), QPoint(20, 20));
        QTRY_VERIFY(s.button(2, QStringLiteral("Figures"))->isVisible());
        for (int width = 900; width >= 300; width -= 20) {
            s.view->resize(width, 700);
            Shown::settle();
            QVERIFY(s.button(2, QStringLiteral("Figures"))->isVisible());
            const QString text = s.button(2, QStringLiteral("Figures"))->text();
            if (!forms.contains(text)) {
                forms << text;
            }
        }
        QVERIFY2(forms.size() >= 3, qPrintable(forms.join(u'\n')));
        QVERIFY2(forms[0].endsWith(QStringLiteral("120 out")), qPrintable(forms[0]));
        QCOMPARE(forms[1], QStringLiteral("first token 120 ms · 37.5 tokens/s (measured)"));
        QCOMPARE(forms[2], QStringLiteral("37.5 tokens/s (measured)"));
    }

    // Why it ended, and beside it what can be done; not where messages follow: nothing
    // would happen.
    void stopped_lastAnswer_canBeContinued() {
        QList<Message> messages = conversation(6);
        for (const int row : {1, 5}) {
            messages[row].state = Message::State::Stopped;
            messages[row].note = QStringLiteral("Stopped");
        }
        Message card;
        card.id = 100;
        card.kind = Message::Kind::Problem;
        card.problem.title = QStringLiteral("A notice");
        for (const int width : {900, 340}) {
            for (const bool withCard : {false, true}) {
                Shown s(withCard ? messages + QList<Message>{card} : messages, {width, 700});
                QToolButton* more = s.button(6, QStringLiteral("Continue"));
                QVERIFY(more != nullptr && more->isVisible());
                QCOMPARE(more->text(), QStringLiteral("Continue"));
                QVERIFY(more->width() > more->fontMetrics().horizontalAdvance(more->text()) + more->iconSize().width());
                QVERIFY(!more->geometry().intersects(s.button(6, QStringLiteral("Figures"))->geometry()));
                s.bar().setValue(0);
                Shown::settle();
                QTest::mouseMove(s.view->messageWidget(2), QPoint(20, 20));
                QTRY_VERIFY(s.button(2, QStringLiteral("Figures"))->isVisible());
                QToolButton* none = s.button(2, QStringLiteral("Continue"));
                QVERIFY(none == nullptr || !none->isVisible());
            }
        }
    }

    void times_andDates_areTheDatabases() {
        QList<Message> messages = conversation(6);
        const QDateTime evening(QDate(2024, 2, 28), QTime(23, 58));
        for (qsizetype i = 0; i < messages.size(); ++i) {
            messages[i].createdMs = evening.addSecs(60 * i).toMSecsSinceEpoch();
        }
        messages[5].createdMs = 0;  // not known
        Shown s(messages);
        s.bar().setValue(0);
        Shown::settle();
        const QLocale locale;
        const auto shows = [&s](MessageId id, const QString& text) {
            for (const QLabel* label : s.view->messageWidget(id)->findChildren<QLabel*>()) {
                if (label->text() == text && label->isVisibleTo(s.view.get())) {
                    return label;
                }
            }
            return static_cast<const QLabel*>(nullptr);
        };
        const QString day = locale.toString(QDate(2024, 2, 28), QLocale::LongFormat);
        const QString next = locale.toString(QDate(2024, 2, 29), QLocale::LongFormat);
        QVERIFY(shows(1, day));  // the first, since it is not of today
        QVERIFY(!shows(2, day) && !shows(2, next));
        QVERIFY(shows(3, next));  // midnight lies before it
        QVERIFY(!shows(4, next));
        for (const MessageId id : {1, 2, 3, 4, 5}) {
            const QDateTime when = evening.addSecs(60 * (static_cast<qint64>(id) - 1));
            const QLabel* time = shows(id, locale.toString(when.time(), QLocale::ShortFormat));
            QVERIFY(time);
            QCOMPARE(time->toolTip(), locale.toString(when, QLocale::LongFormat));
            const MessageWidget* widget = s.view->messageWidget(id);
            QVERIFY(widget->rect().contains(time->geometry()));
            QVERIFY(!time->geometry().intersects(widget->body().geometry()));
        }
        // Today's conversation begins without a date.
        messages.resize(1);
        messages[0].createdMs = QDateTime::currentMSecsSinceEpoch();
        Shown today(messages);
        QVERIFY(!today.model.dayBegunBy(0).isValid());
    }

    void pictures() {
        QList<Message> messages = conversation(4);
        const QDateTime evening(QDate(2024, 2, 28), QTime(23, 58));
        for (qsizetype i = 0; i < messages.size(); ++i) {
            messages[i].createdMs = evening.addSecs(60 * i).toMSecsSinceEpoch();
        }
        messages[1].text = QStringLiteral(
            "Two claims[^1], of which one has a longer source[^note].\n\n- [x] read\n- [ ] check $x_1^2$\n"
            "- plain\n\n1. [x] first\n2. second\n\n[^1]: *A book*, page 3\n[^note]: A paper with a title that is so "
            "long that its line is broken more than once in a narrow window\n");
        messages[3].text = QStringLiteral("An answer that was stopp");
        messages[3].state = Message::State::Stopped;
        messages[3].note = QStringLiteral("Stopped");
        messages[3].branches = 2;
        Shown s(messages);
        test::picture(*s.view, QStringLiteral("messages"), {300, 500, 900});
    }

    void newMessages_haveTheirTimes() {
        test::WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        for (const Message& message : f.messages()) {
            QVERIFY(message.createdMs > 0);
            const auto* widget = test::part<ChatPage>(*f.window).view().messageWidget(message.id);
            const QDateTime when = QDateTime::fromMSecsSinceEpoch(message.createdMs);
            const QString name = QLocale().toString(when, QLocale::LongFormat);
            QCOMPARE(test::textOf(*widget, name), QLocale().toString(when.time(), QLocale::ShortFormat));
        }
    }

    void bars_standOnTheColumn() {
        test::WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const auto& page = test::part<ChatPage>(*f.window);
        for (const int width : {700, 1280, 1900}) {
            f.window->resize(width, 800);
            Shown::settle();
            const QWidget* message = page.view().messageWidget(f.last().id);
            const int left = message->mapTo(f.window.get(), QPoint()).x();
            const int right = left + message->width();
            const auto& persona = test::part<PersonaBar>(*f.window);
            const QWidget* label = persona.findChild<QLabel*>();
            QCOMPARE(label->mapTo(f.window.get(), QPoint()).x(), left);
            const QMargins margins = persona.layout()->contentsMargins();
            QCOMPARE(persona.mapTo(f.window.get(), QPoint(persona.width() - margins.right(), 0)).x(), right);
            const QMargins input = page.input().layout()->contentsMargins();
            QCOMPARE(page.input().mapTo(f.window.get(), QPoint(input.left(), 0)).x(), left);
        }
    }

    void notes_ofTheHistory_areInThePersonsLanguage() {
        QList<Message> messages = conversation(4);
        messages[1].note = QString::fromUtf8(kClosedWhileWriting);
        messages[3].note = QString::fromUtf8(kClosedBefore);
        class German : public QTranslator {
            QString translate(const char* context, const char* text, const char*, int) const override {
                return QLatin1String(context) == QLatin1String("History")
                           ? QStringLiteral("DE ") + QString::fromUtf8(text)
                           : QString();
            }
            bool isEmpty() const override { return false; }
        } german;
        QVERIFY(QCoreApplication::installTranslator(&german));
        Shown s(messages);
        const auto caption = [&s](MessageId id) { return s.view->messageWidget(id)->caption(); };
        QCOMPARE(caption(2), QStringLiteral("DE Offstage was closed while this was being written"));
        QVERIFY(caption(4).startsWith(QStringLiteral("DE Offstage was closed before")));
    }

    void answer_buttons_askForWhatTheySay() {
        QList<Message> messages = conversation(4);
        messages[3].state = Message::State::Stopped;
        Shown s(messages);
        QSignalSpy again(s.view.get(), &ConversationView::regenerateRequested);
        QSignalSpy more(s.view.get(), &ConversationView::continueRequested);
        QSignalSpy timeline(s.view.get(), &ConversationView::tokenTimelineRequested);
        QVERIFY(!s.button(2, QStringLiteral("Answer again")));  // not under the mouse, no focus
        s.view->messageWidget(2)->body().setFocus(Qt::TabFocusReason);
        QVERIFY(s.button(2, QStringLiteral("Answer again"))->isVisible());
        QVERIFY(!s.button(2, QStringLiteral("Continue"))->isVisible());  // it is complete
        QTest::mouseClick(s.button(4, QStringLiteral("Answer again")), Qt::LeftButton);
        QTest::mouseClick(s.button(4, QStringLiteral("Continue")), Qt::LeftButton);
        QTest::mouseClick(s.button(4, QStringLiteral("Figures")), Qt::LeftButton);
        QCOMPARE(again.size(), 1);
        QCOMPARE(more.size(), 1);
        QCOMPARE(timeline.size(), 1);
        QCOMPARE(timeline[0][0].value<MessageId>(), MessageId(4));
    }

    void edit_enterSends_shiftEnterBreaksTheLine_escLeaves() {
        Shown s(conversation(4));
        QSignalSpy edited(s.view.get(), &ConversationView::promptEdited);
        s.view->startEditing(3);
        MessageWidget* widget = s.view->messageWidget(3);
        QVERIFY(widget->editor());
        QTest::keyClicks(&widget->editor()->edit(), QStringLiteral(" more"));
        QTest::keyClick(&widget->editor()->edit(), Qt::Key_Escape);
        QVERIFY(!widget->editor());
        QVERIFY(edited.isEmpty());
        s.view->startEditing(3);
        QTest::keyClicks(&widget->editor()->edit(), QStringLiteral(" now"));
        QTest::keyClick(&widget->editor()->edit(), Qt::Key_Return, Qt::ShiftModifier);
        QTest::keyClicks(&widget->editor()->edit(), QStringLiteral("then"));
        QVERIFY(edited.isEmpty());
        QTest::keyClick(&widget->editor()->edit(), Qt::Key_Return);
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited[0][1].toString(), s.model.find(3)->text + QStringLiteral(" now\nthen"));
        QVERIFY(widget->editor());  // until the edit is accepted
        s.view->refuseEdit(3, QStringLiteral("not now"));
        QCOMPARE(widget->editor()->hint(), QStringLiteral("not now"));
        s.view->finishEditing(3);
        QVERIFY(!widget->editor());
        s.view->startEditing(3);
        s.bar().setValue(0);
        QTest::keyClick(&s.view->messageWidget(3)->editor()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(edited.size(), 1);  // nothing was changed
    }

    void editAnswer_enterBreaksTheLine_ctrlEnterSaves_escLeaves() {
        QList<Message> messages = conversation(4);
        messages[3].text = QStringLiteral("A **bold**\u00a0word.\n\nAnd a second paragraph.");
        messages[3].thought.text = QStringLiteral("Something thought");
        Shown s(messages);
        QSignalSpy edited(s.view.get(), &ConversationView::answerEdited);
        QSignalSpy prompts(s.view.get(), &ConversationView::promptEdited);
        const MessageWidget* widget = s.view->messageWidget(4);
        QTest::mouseClick(s.button(4, QStringLiteral("Edit this answer")), Qt::LeftButton);
        QVERIFY(widget->editor());
        Shown::settle();
        QPlainTextEdit* edit = &widget->editor()->edit();
        QVERIFY(edit->hasFocus());
        QCOMPARE(widget->editor()->text(), messages[3].text);  // its source, not its shown form
        QVERIFY(!widget->body().isVisible());
        for (const char* hidden : {"Edit this answer", "Answer again", "Figures"}) {
            QVERIFY2(!s.button(4, QLatin1String(hidden))->isVisible(), hidden);
        }
        QVERIFY(widget->editor()->geometry().top() > 0);  // the model's name stays above
        QTest::keyClicks(edit, QStringLiteral(" more"));
        QTest::keyClick(edit, Qt::Key_Escape);
        QVERIFY(!widget->editor());
        QVERIFY(widget->body().isVisible());
        QVERIFY(s.button(4, QStringLiteral("Figures"))->isVisible());
        QCOMPARE(s.model.find(4)->text, messages[3].text);
        s.view->startEditing(4);
        edit = &widget->editor()->edit();
        QTest::keyClick(edit, Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(!widget->editor());  // nothing was changed
        s.view->startEditing(4);
        edit = &widget->editor()->edit();
        QTest::keyClick(edit, Qt::Key_Return);
        QTest::keyClicks(edit, QStringLiteral("more"));
        QVERIFY(edited.isEmpty());
        QTest::keyClick(edit, Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited[0][0].value<MessageId>(), MessageId(4));
        QCOMPARE(edited[0][1].toString(), messages[3].text + QStringLiteral("\nmore"));
        QVERIFY(prompts.isEmpty());
        QVERIFY(widget->editor());  // until the edit is accepted
        s.view->finishEditing(4);
        QVERIFY(!widget->editor());
    }

    void editAnswer_isInItsMenu() {
        Shown s(conversation(2));
        MessageBody& body = s.view->messageWidget(2)->body();
        QContextMenuEvent event(QContextMenuEvent::Mouse, {10, 10}, body.mapToGlobal(QPoint(10, 10)));
        QApplication::sendEvent(&body, &event);
        auto* menu = body.findChild<QMenu*>();
        QVERIFY(menu);
        const QList<QAction*> actions = menu->actions();
        const auto edit = std::find_if(actions.begin(), actions.end(), [](const QAction* action) {
            return action->text().startsWith(QStringLiteral("Edit this answer"));
        });
        QVERIFY(edit != actions.end());
        (*edit)->trigger();
        menu->close();
        QVERIFY(s.view->messageWidget(2)->editor());
    }

    void editAnswer_isNotOfferedWhileItIsWritten() {
        QList<Message> messages = conversation(2);
        messages[1].state = Message::State::Streaming;
        Shown s(messages);
        s.view->messageWidget(2)->body().setFocus(Qt::TabFocusReason);
        QVERIFY(!s.button(2, QStringLiteral("Edit this answer")));
        s.view->startEditing(2);
        QVERIFY(!s.view->messageWidget(2)->editor());
        messages[1].state = Message::State::Done;
        s.model.edit(2, [&messages](Message& m) { m = messages[1]; });
        QTRY_VERIFY(s.button(2, QStringLiteral("Edit this answer")));
        QVERIFY(s.button(2, QStringLiteral("Edit this answer"))->isVisible());
        messages[1].state = Message::State::Streaming;
        s.model.edit(2, [&messages](Message& m) { m = messages[1]; });
        QVERIFY(!s.button(2, QStringLiteral("Edit this answer"))->isVisible());
    }

    void editedAnswer_saysThatItIs() {
        QList<Message> messages = conversation(4);
        for (const int row : {1, 3}) {
            messages[row].edited = true;
            messages[row].state = Message::State::Stopped;
            messages[row].figures.reset();
        }
        Shown s(messages);
        MessageWidget* last = s.view->messageWidget(4);
        QCOMPARE(last->caption(), QStringLiteral("Edited by you"));
        QCOMPARE(last->body().accessibleName(), QStringLiteral("Answer, edited by you"));
        QVERIFY(!s.button(4, QStringLiteral("Figures")));
        QVERIFY(s.button(4, QStringLiteral("Continue"))->isVisible());
        // An answer with a message after it cannot be continued.
        s.view->messageWidget(2)->body().setFocus(Qt::TabFocusReason);
        QVERIFY(s.button(2, QStringLiteral("Edit this answer"))->isVisible());
        QVERIFY(!s.button(2, QStringLiteral("Continue"))->isVisible());
        messages[3].note = QStringLiteral("Stopped");
        s.model.edit(4, [&messages](Message& m) { m = messages[3]; });
        QTRY_COMPARE(last->caption(), QStringLiteral("Edited by you · Stopped"));
    }

    void find_farRows_areFoundMarkedAndShown() {
        QList<Message> messages = conversation(2000);
        messages[7].text += QStringLiteral("\n\nA **Needle** in it");
        messages[1500].text = QStringLiteral("needle needle");
        Shown s(messages);
        ConversationFind find(s.model);
        QWidget window;
        FindBar bar(find, *s.view, &window);
        window.show();
        bar.start();
        QTest::keyClicks(&bar.edit(), QStringLiteral("needle"));
        QCOMPARE(find.count(), 3);
        QVERIFY(bar.countText().endsWith(QStringLiteral("3")));
        QVERIFY(s.view->messageWidget(1501));  // the last one is shown first
        QVERIFY(std::abs(s.topOf(1501) - 300) < 400);
        QTest::keyClick(&bar.edit(), Qt::Key_Return);
        const MessageWidget* widget = s.view->messageWidget(8);
        QVERIFY(widget);
        const int y = widget->y() + widget->yOfSource(s.model.find(8)->text.indexOf(QStringLiteral("Needle")));
        QVERIFY2(y >= 0 && y < s.view->viewport()->height(), qPrintable(QString::number(y)));
        s.model.remove(1501);
        QTRY_COMPARE(find.count(), 1);
        QTest::keyClick(&bar.edit(), Qt::Key_Escape);
        QVERIFY(!bar.isVisible());
        QCOMPARE(find.count(), 0);
    }

    void find_readsAnswersAsTheyAreShown_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("wanted");
        QTest::addColumn<QStringList>("hits");
        const auto row = [](const char* name, const char* text, const char* wanted, QStringList hits) {
            QTest::newRow(name) << QString::fromUtf8(text) << QString::fromUtf8(wanted) << hits;
        };
        row("bold", "a **bold** word", "bold word", {QStringLiteral("bold** word")});
        row("bold and italic", "*an* **odd**, `code` end", "an odd, code end",
            {QStringLiteral("an* **odd**, `code` end")});
        row("half a word", "**F**iddler", "fiddler", {QStringLiteral("F**iddler")});
        row("a link's text", "see [the *guide*](http://a.example/x) now", "the guide now",
            {QStringLiteral("the *guide*](http://a.example/x) now")});
        row("not its address", "see [guide](http://a.example/guide)", "guide", {QStringLiteral("guide")});
        row("a bare address", "see http://a.example/guide", "guide", {QStringLiteral("guide")});
        row("across lines", "one\ntwo", "one two", {QStringLiteral("one\ntwo")});
        row("names as written", "snake_case and a*b", "snakecase", {});
        row("marks that are meant", "snake_case", "snake_case", {QStringLiteral("snake_case")});
        row("an escape", "1\\. begin", "1. begin", {QStringLiteral("1\\. begin")});
        row("an expression", "(a+b) [c] .*", "(a+b) [c] .*", {QStringLiteral("(a+b) [c] .*")});
        row("other letters", "Ein **Übermaß** an 😀 Text", "übermaß an 😀", {QStringLiteral("Übermaß** an 😀")});
    }

    void find_readsAnswersAsTheyAreShown() {
        QFETCH(QString, text);
        QFETCH(QString, wanted);
        QFETCH(QStringList, hits);
        ConversationModel model;
        Message answer;
        answer.id = 1;
        answer.kind = Message::Kind::Answer;
        answer.text = text;
        Message prompt = answer;  // shown as it is written
        prompt.id = 2;
        prompt.kind = Message::Kind::Prompt;
        model.reset({answer});
        ConversationFind find(model);
        find.setText(wanted);
        QStringList found;
        for (const ConversationFind::Hit& hit : find.hits()) {
            found << text.mid(hit.range.first, hit.range.second - hit.range.first);
        }
        QCOMPARE(found, hits);
        model.reset({prompt});
        QTRY_VERIFY(find.count() == text.count(wanted, Qt::CaseInsensitive));
    }

    // Unclosed marks must not make the search read the whole text for each of them.
    void find_inAnswersOfMarksAlone_ends() {
        ConversationModel model;
        QList<Message> answers;
        for (const char* piece : {"a](", "a*", "a[", "a` ", "](", "a\\n"}) {
            Message answer;
            answer.id = answers.size() + 1;
            answer.kind = Message::Kind::Answer;
            answer.text = QString::fromLatin1(piece).repeated(100'000);
            answers << answer;
        }
        model.reset(answers);
        ConversationFind find(model);
        QElapsedTimer clock;
        clock.start();
        for (const char* wanted : {"a b", "a ab", "needle", "](x", "a a"}) {
            find.setText(QString::fromLatin1(wanted));
        }
        qInfo("five searches of %d answers took %lld ms", model.rowCount(), clock.elapsed());
        QVERIFY(find.count() > 0);
    }

    void find_inTheWindow_opensWithItsShortcut() {
        test::WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTest::keyClick(f.window.get(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(test::child<FindBar>(test::part<ChatPage>(*f.window)).isVisible());
        QTest::keyClicks(&test::child<FindBar>(test::part<ChatPage>(*f.window)).edit(), QStringLiteral("fake ENGINE"));
        QCOMPARE(test::child<FindBar>(test::part<ChatPage>(*f.window)).countText(), QStringLiteral("1 / 1"));
        QApplication::setActiveWindow(f.window.get());
        QStringList reached;
        for (int i = 0; i < 3; ++i) {
            QTest::keyClick(f.window->focusWidget(), Qt::Key_Tab);
            reached << f.window->focusWidget()->accessibleName();
        }
        QCOMPARE(reached, QStringList({QStringLiteral("Previous hit (Shift+Enter)"), QStringLiteral("Next hit (Enter)"),
                                       QStringLiteral("Close (Esc)")}));
        QTest::keyClick(&test::child<FindBar>(test::part<ChatPage>(*f.window)).edit(), Qt::Key_Escape);
        QVERIFY(!test::child<FindBar>(test::part<ChatPage>(*f.window)).isVisible());
    }

    void tokens_underlined_surviveScrollingAway() {
        Shown s(conversation(300));
        const QImage plain = s.view->messageWidget(300)->grab().toImage();
        s.view->underlineTokens(300, {{0, 6}});
        QVERIFY(s.view->messageWidget(300)->grab().toImage() != plain);
        s.bar().setValue(0);
        Shown::settle();
        QVERIFY(!s.view->messageWidget(300));
        s.view->scrollToEnd();
        Shown::settle();
        QVERIFY(s.view->messageWidget(300)->grab().toImage() != plain);
        s.view->underlineTokens(300, {});
        QCOMPARE(s.view->messageWidget(300)->grab().toImage(), plain);
    }

    void closed_withTheFocusInside_endsQuietly() {
        for (int i = 0; i < 3; ++i) {
            Shown s(conversation(20));
            s.view->messageWidget(20)->body().setFocus();
            QVERIFY(s.view->isAncestorOf(QApplication::focusWidget()));
            if (i == 1) {
                s.model.reset(conversation(20));  // as many rows as before, and the focus in a removed one
                Shown::settle();
                QVERIFY(s.view->messageWidget(20));
            }
        }
    }

    void wheel_overAMessage_scrollsTheConversation() {
        Shown s(conversation(100));
        const int before = s.bar().value();
        const QPointF at(400, 300);
        QWheelEvent wheel(at, s.view->viewport()->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        // A message ignores it, so that it reaches the viewport: Qt passes on only real
        // mouse events.
        QApplication::sendEvent(&s.view->messageWidget(100)->body(), &wheel);
        QVERIFY(!wheel.isAccepted());
        QApplication::sendEvent(s.view->viewport(), &wheel);
        QVERIFY(s.bar().value() < before);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestChatView)
#include "tst_chat_view.moc"
