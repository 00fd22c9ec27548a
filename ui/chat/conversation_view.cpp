#include "ui/chat/conversation_view.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QPointer>
#include <QScrollBar>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/base/window_style.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

static_assert(ConversationView::kScrollBarWidth == WindowStyle::kScrollBar);

namespace {

constexpr int kLayoutPasses = 4;  // until nothing in the viewport is an estimate
constexpr int kNearEnd = 12;      // pixels from the end that still count as the end

}  // namespace

ConversationView::ConversationView(ConversationModel& model, QWidget* parent)
    : QAbstractScrollArea(parent),
      m_model(model),
      m_column(
          model, *viewport(), [this](int row) { return makeWidget(row); },
          [this](MessageColumn::Row& row) { release(row); }),
      m_pacer(*viewport()),
      m_toEnd(new QToolButton(this)) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // so that the first overflow does not change the width
    setAccessibleName(tr("Conversation"));
    setFocusPolicy(Qt::StrongFocus);
    setBackgroundRole(QPalette::Base);
    viewport()->setBackgroundRole(QPalette::Base);
    viewport()->setAutoFillBackground(true);
    verticalScrollBar()->setSingleStep(24);

    describe(*m_toEnd, tr("Go to the latest message"), tr("Go to the latest message"));
    m_toEnd->setIconSize({20, 20});
    m_toEnd->setFixedSize(36, 36);
    m_toEnd->hide();
    connect(m_toEnd, &QToolButton::clicked, this, &ConversationView::scrollToEnd);

    connect(&m_pacer, &StreamPacer::due, this, &ConversationView::flush);
    connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, [this](int low, int high) {
        verticalScrollBar()->setEnabled(high > low);  // drawn without a handle where there is nothing to scroll
    });
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (const MessageColumn::Row& row : std::as_const(m_column).rows()) {
            if (MessageWidget* message = row.message()) {
                message->setFocusInside(now && message->isAncestorOf(now));
            }
        }
        if (now && viewport()->isAncestorOf(now)) {
            ensureWidgetVisible(now);
        }
    });
    connect(&m_model, &QAbstractItemModel::rowsInserted, this,
            [this](const QModelIndex&, int first, int last) { insertRows(first, last); });
    connect(&m_model, &QAbstractItemModel::rowsRemoved, this,
            [this](const QModelIndex&, int first, int last) { removeRows(first, last); });
    connect(&m_model, &QAbstractItemModel::modelReset, this, &ConversationView::rebuild);
    connect(&m_model, &QAbstractItemModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last, const QList<int>& roles) {
                rowsChanged(first.row(), last.row(), roles);
            });
    connect(&m_model, &ConversationModel::textAppended, this, &ConversationView::textAppended);
    connect(&m_model, &ConversationModel::thoughtChanged, this, &ConversationView::thoughtChanged);
    restyle();
    rebuild();
}

ConversationView::~ConversationView() {
    // The base closes the window, which moves the focus: by then the rows are gone.
    disconnect(qApp, nullptr, this, nullptr);
}

MessageWidget* ConversationView::messageWidget(MessageId id) const {
    const int row = m_model.rowOf(id);
    return row < 0 || row >= m_column.rows().size() ? nullptr : m_column.rows()[row].message();
}

// ---- Rows

void ConversationView::rebuild() {
    // Hiding a widget may move the focus and thus change the rows: they are removed from
    // the view first.
    QList<MessageColumn::Row> before = std::exchange(m_column.rows(), {});
    for (MessageColumn::Row& row : before) {
        release(row);
    }
    m_pacer.clear();
    m_changed.clear();
    for (auto& marks : m_marks) {
        marks[static_cast<size_t>(TextMark::Token)].clear();
    }
    m_follow = true;
    m_column.rows().resize(m_model.rowCount());
    MessageId editing = 0;
    for (auto edit = m_openEdits.cbegin(); edit != m_openEdits.cend(); ++edit) {
        if (edit->focused && m_model.rowOf(edit.key()) >= 0) {
            editing = edit.key();
        }
    }
    arrange();
    if (editing != 0) {
        startEditing(editing);
    }
}

void ConversationView::insertRows(int first, int last) {
    m_column.rows().insert(first, last - first + 1, {});
    if (last == m_model.rowCount() - 1) {
        m_follow = true;  // shows a message that the user has just sent, or must see
    }
    arrange();
}

void ConversationView::removeRows(int first, int last) {
    for (int row = last; row >= first; --row) {
        release(m_column.rows()[row]);
        m_column.rows().removeAt(row);
    }
    m_column.dropTops();
    arrangeLater();
}

void ConversationView::release(MessageColumn::Row& row) {
    const MessageWidget* message = row.message();
    if (QWidget* widget = std::exchange(row.widget, nullptr)) {
        if (const MessageEditor* editor = message ? message->editor() : nullptr) {
            const QPlainTextEdit& edit = editor->edit();
            m_openEdits[message->messageId()] = {editor->text(), edit.textCursor().position(), edit.hasFocus()};
        }
        widget->hide();
        widget->deleteLater();  // the click that led here may come from inside it
    }
}

void ConversationView::rowsChanged(int first, int last, const QList<int>& roles) {
    if (roles == QList<int>{Qt::DisplayRole} || roles == QList<int>{ConversationModel::ThoughtRole}) {
        return;  // streamed: textAppended() and thoughtChanged() have it
    }
    for (int row = first; row <= last; ++row) {
        const Message& message = m_model.messages()[row];
        MessageWidget* widget = m_column.rows()[row].message();
        if (!widget) {
            m_pacer.drop(message.id);
            m_column.rows()[row].height = 0;
            arrangeLater();
            continue;
        }
        if (m_pacer.isMoreThanASlice(message.id)) {
            m_changed.insert(message.id);  // shown when its text is: flush()
            continue;
        }
        const QString unshown = m_pacer.textOf(message.id);
        m_pacer.drop(message.id);
        if (!unshown.isEmpty()) {
            widget->appendText(unshown);
        }
        widget->setMessage(message);
    }
}

void ConversationView::textAppended(int row, const QString& text) {
    m_pacer.append(m_model.messages()[row].id, text);
}

void ConversationView::thoughtChanged(int row) {
    const Message& message = m_model.messages()[row];
    if (MessageWidget* widget = m_column.rows()[row].message()) {
        widget->setThought(message.thought);
    } else {
        m_column.rows()[row].height = 0;
    }
}

// The clicked line keeps its place, also at the conversation's end.
void ConversationView::unfoldThought(MessageId id, bool unfolded) {
    if (unfolded) {
        m_unfolded.insert(id);
    } else {
        m_unfolded.remove(id);
    }
    m_follow = false;
    arrange();
    m_follow = verticalScrollBar()->value() == verticalScrollBar()->maximum();
}

void ConversationView::showThought(MessageId id) {
    if (m_model.rowOf(id) < 0) {
        return;
    }
    if (MessageWidget* widget = messageWidget(id)) {
        widget->setThoughtUnfolded(true);
    }
    unfoldThought(id, true);
}

void ConversationView::showFile(MessageId id, const QString& words) {
    showSource(id, 0);  // makes its widget
    if (MessageWidget* widget = messageWidget(id)) {
        widget->showFile(words);
    }
}

void ConversationView::flush() {
    m_arrangeQueued = true;  // the messages' requests are processed below, once
    m_pacer.begin();
    for (const MessageId id : m_pacer.waiting()) {
        MessageWidget* widget = messageWidget(id);
        if (widget && !m_pacer.show(id, *widget)) {
            continue;
        }
        m_pacer.drop(id);
        const int row = m_model.rowOf(id);
        if (!widget && row >= 0) {
            m_column.rows()[row].height = 0;  // longer than it was
        }
        if (m_changed.remove(id) && widget && row >= 0) {
            widget->setMessage(m_model.messages()[row]);
        }
    }
    arrange();
    m_pacer.end();
}

QWidget* ConversationView::makeWidget(int row) {
    const Message& message = m_model.messages()[row];
    if (message.kind == Message::Kind::Problem) {
        auto* card = new ProblemCard(message, viewport());
        connect(card, &ProblemCard::actionChosen, this, &ConversationView::actionChosen);
        // Queued: the card goes, whose button was clicked.
        connect(card, &ProblemCard::closed, this, &ConversationView::problemClosed, Qt::QueuedConnection);
        connect(card, &ProblemCard::heightChanged, this, &ConversationView::arrangeLater);
        return card;
    }
    auto* widget = new MessageWidget(message, viewport());
    m_pacer.drop(message.id);  // it shows all there is
    m_changed.remove(message.id);
    connect(widget, &MessageWidget::heightChanged, this, &ConversationView::arrangeLater);
    connect(widget, &MessageWidget::promptEdited, this, &ConversationView::promptEdited);
    // Queued: after it was laid out.
    connect(
        widget, &MessageWidget::editorResized, this,
        [this, of = QPointer(widget)] {
            if (of != nullptr && of->editor() != nullptr) {
                ensureWidgetVisible(of->editor());
            }
        },
        Qt::QueuedConnection);
    connect(widget, &MessageWidget::answerEdited, this, &ConversationView::answerEdited);
    connect(widget, &MessageWidget::regenerateRequested, this, &ConversationView::regenerateRequested);
    connect(widget, &MessageWidget::continueRequested, this, &ConversationView::continueRequested);
    connect(widget, &MessageWidget::branchRequested, this, &ConversationView::branchRequested);
    connect(widget, &MessageWidget::tokenTimelineRequested, this, &ConversationView::tokenTimelineRequested);
    connect(widget, &MessageWidget::tokenPicked, this, &ConversationView::tokenPicked);
    connect(widget, &MessageWidget::thoughtUnfolded, this, &ConversationView::unfoldThought);
    connect(widget, &MessageWidget::sourceHovered, this, &ConversationView::sourceHovered);
    connect(widget, &MessageWidget::sourceClicked, this, &ConversationView::sourceClicked);
    connect(widget, &MessageWidget::menuOpening, this, &ConversationView::menuOpening);
    widget->body().setReportsHover(m_reportsHover);
    widget->setDay(m_model.dayBegunBy(row));
    widget->setThoughtUnfolded(m_unfolded.contains(message.id));
    const auto marks = m_marks.value(message.id);
    for (size_t mark = 0; mark < kTextMarks; ++mark) {
        widget->body().setMarks(static_cast<TextMark>(mark), marks[mark]);
    }
    if (m_openEdits.contains(message.id)) {
        const OpenEdit edit = m_openEdits.take(message.id);
        widget->openEditor(edit.text);
        if (MessageEditor* editor = widget->editor()) {
            QTextCursor cursor = editor->edit().textCursor();
            cursor.setPosition(edit.position);
            editor->edit().setTextCursor(cursor);
        }
    }
    return widget;
}

// ---- Layout

void ConversationView::arrangeLater() {
    if (!m_arrangeQueued) {
        m_arrangeQueued = true;
        QMetaObject::invokeMethod(this, &ConversationView::arrange, Qt::QueuedConnection);
    }
}

void ConversationView::arrange() {
    m_arrangeQueued = false;
    if (m_arranging || m_column.rows().size() != m_model.rowCount()) {
        return;
    }
    m_arranging = true;
    QScrollBar* bar = verticalScrollBar();
    const MessageColumn::Anchor anchor = m_column.anchorAt(bar->value());
    m_column.fitWidth();
    int most = 0;
    const auto wanted = [&] {
        m_column.computeTops();
        most = std::max(0, m_column.bottom() - viewport()->height());
        const int kept =
            anchor.row < 0 || anchor.row >= m_column.rows().size() ? bar->value() : m_column.valueFor(anchor);
        return m_follow ? most : std::clamp(kept, 0, most);
    };
    bool same = false;
    for (int pass = 0; pass < kLayoutPasses && !same; ++pass) {
        same = m_column.layOutAround(wanted());
    }
    if (!same) {
        arrangeLater();
    }
    const int value = wanted();
    bar->setRange(0, most);
    bar->setPageStep(std::max(1, viewport()->height()));
    bar->setValue(value);
    m_column.place(bar->value());
    m_arranging = false;
    placeEndButton();
}

void ConversationView::scrollContentsBy(int, int) {
    if (m_arranging) {
        return;
    }
    QScrollBar* bar = verticalScrollBar();
    m_follow = bar->value() >= bar->maximum() - kNearEnd;
    if (m_column.hasTops()) {
        arrange();
    }
}

void ConversationView::scrollToEnd() {
    m_follow = true;
    arrange();
}

void ConversationView::placeEndButton() {
    const bool away = verticalScrollBar()->value() < verticalScrollBar()->maximum() - 4 * kNearEnd;
    m_toEnd->setVisible(away);
    if (away) {
        m_toEnd->move((viewport()->width() - m_toEnd->width()) / 2, height() - m_toEnd->height() - 14);
        m_toEnd->raise();
    }
}

void ConversationView::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    arrange();
}

// ---- Places and marks

void ConversationView::setMark(MessageId id, TextMark mark, const SourceRanges& ranges) {
    if (id == 0 || (ranges.isEmpty() && !m_marks.contains(id))) {
        return;
    }
    m_marks[id][static_cast<size_t>(mark)] = ranges;
    if (MessageWidget* widget = messageWidget(id)) {
        widget->body().setMarks(mark, ranges);
    }
}

void ConversationView::markPickedToken(MessageId id, QPair<int, int> range) {
    const bool none = range.first >= range.second;
    if (none && id != m_pickedIn) {
        return;
    }
    setMark(std::exchange(m_pickedIn, none ? 0 : id), TextMark::PickedToken, {});
    if (!none) {
        setMark(id, TextMark::PickedToken, {range});
        showSource(id, range.first);
    }
}

void ConversationView::underlineTokens(MessageId id, const SourceRanges& ranges) {
    setMark(id, TextMark::Token, ranges);
}

void ConversationView::markSurprise(MessageId id, const QList<SourceRanges>& levels) {
    for (int level = 0; level < 4; ++level) {
        setMark(id, static_cast<TextMark>(static_cast<int>(TextMark::Surprise1) + level), levels.value(level));
    }
}

void ConversationView::setReportsHover(bool reports) {
    m_reportsHover = reports;
    for (const MessageColumn::Row& row : std::as_const(m_column).rows()) {
        if (MessageWidget* message = row.message()) {
            message->body().setReportsHover(reports);
        }
    }
}

void ConversationView::setFound(const QHash<MessageId, SourceRanges>& found) {
    for (const MessageId id : m_marks.keys()) {
        setMark(id, TextMark::Found, found.value(id));
    }
    for (auto hits = found.cbegin(); hits != found.cend(); ++hits) {
        setMark(hits.key(), TextMark::Found, hits.value());
    }
    for (const MessageColumn::Row& row : m_column.rows()) {
        if (MessageWidget* widget = row.message(); widget && found.isEmpty()) {
            widget->showFile({});
        }
    }
}

void ConversationView::setCurrentFound(MessageId id, QPair<int, int> range) {
    setMark(std::exchange(m_currentFoundIn, id), TextMark::FoundCurrent, {});
    setMark(id, TextMark::FoundCurrent, {range});
}

void ConversationView::showSource(MessageId id, int offset) {
    const int row = m_model.rowOf(id);
    if (row < 0) {
        return;
    }
    if (!m_column.hasTops()) {
        arrange();
    }
    // The nearer it comes the more exactly its place is known.
    for (int pass = 0; pass < kLayoutPasses; ++pass) {
        const MessageWidget* message = m_column.rows()[row].message();
        const int y = m_column.topOf(row) + (message ? message->yOfSource(offset) : 0);
        QScrollBar* bar = verticalScrollBar();
        const int height = viewport()->height();
        const bool shows = message && y >= bar->value() + 8 && y <= bar->value() + height - 3 * fontMetrics().height();
        if (shows) {
            return;
        }
        m_follow = false;
        const int before = bar->value();
        bar->setValue(std::clamp(y - height / 3, 0, bar->maximum()));
        if (bar->value() == before) {
            arrange();
        }
    }
}

void ConversationView::startEditing(MessageId id) {
    showSource(id, 0);
    if (MessageWidget* widget = messageWidget(id)) {
        widget->startEditing();
    }
}

void ConversationView::finishEditing(MessageId id) {
    m_openEdits.remove(id);
    if (MessageWidget* widget = messageWidget(id)) {
        widget->stopEditing();
    }
}

void ConversationView::refuseEdit(MessageId id, const QString& reason) {
    MessageWidget* widget = messageWidget(id);
    if (MessageEditor* editor = widget ? widget->editor() : nullptr) {
        editor->refuse(reason);
    }
}

// ---- Keyboard

void ConversationView::ensureWidgetVisible(QWidget* widget) {
    const QRect area(widget->mapTo(viewport(), QPoint(0, 0)), widget->size());
    // The button to the end lies over the lower end, and so would lie over an editor's.
    const int below = qobject_cast<MessageEditor*>(widget) != nullptr ? m_toEnd->height() + 20 : 0;
    QScrollBar* bar = verticalScrollBar();
    if (area.height() > viewport()->height()) {
        if (area.top() > viewport()->height() - 40 || area.bottom() < 40) {
            bar->setValue(bar->value() + area.top() - 40);
        }
    } else if (area.top() < 0) {
        bar->setValue(bar->value() + area.top() - 12);
    } else if (area.bottom() > viewport()->height() - below) {
        bar->setValue(bar->value() + area.bottom() - viewport()->height() + std::max(12, below));
    }
}

void ConversationView::keyPressEvent(QKeyEvent* event) {
    QScrollBar* bar = verticalScrollBar();
    switch (event->key()) {
        case Qt::Key_Home:
            bar->setValue(0);
            return;
        case Qt::Key_End:
            scrollToEnd();
            return;
        case Qt::Key_PageUp:
            bar->triggerAction(QAbstractSlider::SliderPageStepSub);
            return;
        case Qt::Key_PageDown:
            bar->triggerAction(QAbstractSlider::SliderPageStepAdd);
            return;
        case Qt::Key_Up:
            bar->triggerAction(QAbstractSlider::SliderSingleStepSub);
            return;
        case Qt::Key_Down:
            bar->triggerAction(QAbstractSlider::SliderSingleStepAdd);
            return;
        default:
            event->ignore();
    }
}

// Widgets are made as they come near, so the order of creation is not the order on the
// screen.
bool ConversationView::focusNextPrevChild(bool next) {
    QList<QWidget*> chain;
    for (const MessageColumn::Row& row : std::as_const(m_column).rows()) {
        if (!row.widget) {
            continue;
        }
        QList<QWidget*> inside;
        for (QWidget* child : row.widget->findChildren<QWidget*>()) {
            if ((child->focusPolicy() & Qt::TabFocus) != 0 && child->isVisibleTo(row.widget) && child->isEnabled()) {
                inside.append(child);
            }
        }
        const QWidget* origin = row.widget;
        std::stable_sort(inside.begin(), inside.end(), [origin](QWidget* a, QWidget* b) {
            const QPoint left = a->mapTo(origin, QPoint(0, 0));
            const QPoint right = b->mapTo(origin, QPoint(0, 0));
            return left.y() != right.y() ? left.y() < right.y() : left.x() < right.x();
        });
        chain += inside;
    }
    const qsizetype at = chain.indexOf(QApplication::focusWidget());
    const qsizetype to = at < 0 ? -1 : at + (next ? 1 : -1);
    if (to >= 0 && to < chain.size()) {
        chain[to]->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
        return true;
    }
    if (at >= 0) {
        // Leaves the messages: continues from the view itself, so that the order in which
        // widgets were made does not matter.
        setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
        if (!next) {
            return true;
        }
        QWidget* after = this;
        do {
            after = after->nextInFocusChain();
        } while (after != this && (isAncestorOf(after) || (after->focusPolicy() & Qt::TabFocus) == 0 ||
                                   !after->isVisible() || !after->isEnabled()));
        after->setFocus(Qt::TabFocusReason);
        return true;
    }
    if (next && hasFocus() && !chain.isEmpty()) {
        // Into the messages, at the first that shows.
        for (QWidget* widget : chain) {
            if (widget->mapTo(viewport(), QPoint(0, widget->height())).y() > 0) {
                widget->setFocus(Qt::TabFocusReason);
                return true;
            }
        }
    }
    return QAbstractScrollArea::focusNextPrevChild(next);
}

void ConversationView::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        restyle();
    } else if (event->type() == QEvent::FontChange) {
        arrangeLater();
    }
}

void ConversationView::restyle() {
    const Colours colours = Colours::of(palette());
    m_toEnd->setIcon(themedIcon(QStringLiteral("down"), palette()));
    m_toEnd->setStyleSheet(QStringLiteral("QToolButton { border: 1px solid %1; border-radius: 18px; background: %2; } "
                                          "QToolButton:focus, QToolButton:hover { border-color: %3; }")
                               .arg(colours.line.name(), colours.surface.name(), colours.accent.name()));
}

}  // namespace offstage::ui
