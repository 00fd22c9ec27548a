#include "ui/chat/conversation_view.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"

namespace offstage::ui {

namespace {

// Characters rendered in one turn, 30 times a second: fewer for text that is expensive to
// render (a table's rows).
constexpr qsizetype kSlice = 768;
constexpr qsizetype kLeastSlice = 192;
constexpr double kTurnMs = 5;     // limit of a turn, without painting
constexpr double kPiecesMs = 3;   // after which a turn begins no further piece
constexpr int kPieceRows = 8;     // table rows in one piece: as many as in a segment
constexpr qsizetype kMuch = 256;  // characters in a turn that are painted in the next one
constexpr qint64 kLongestIntervalMs = 200;

// The length of a turn's first piece: up to a paragraph's end, or some rows of a table,
// so that a piece is rendered once and as a whole.
qsizetype pieceOf(QStringView text) {
    int rows = 0;
    qsizetype from = 0;
    while (true) {
        const qsizetype end = text.indexOf(u'\n', from);
        if (end < 0) {
            return text.size();
        }
        const QStringView line = text.mid(from, end - from).trimmed();
        rows = line.startsWith(u'|') ? rows + 1 : 0;
        from = end + 1;
        if ((line.isEmpty() && from > 1) || rows == kPieceRows) {
            return from;
        }
    }
}

}  // namespace

ConversationView::ConversationView(ConversationModel& model, QWidget* parent)
    : QAbstractScrollArea(parent), m_model(model), m_toEnd(new QToolButton(this)) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // so that the first overflow does not change the width
    setAccessibleName(tr("Conversation"));
    setFocusPolicy(Qt::StrongFocus);
    setBackgroundRole(QPalette::Base);
    viewport()->setBackgroundRole(QPalette::Base);
    viewport()->setAutoFillBackground(true);
    verticalScrollBar()->setSingleStep(24);

    m_toEnd->setToolTip(tr("Go to the latest message"));
    m_toEnd->setAccessibleName(tr("Go to the latest message"));
    m_toEnd->setIconSize({20, 20});
    m_toEnd->setFixedSize(36, 36);
    m_toEnd->hide();
    connect(m_toEnd, &QToolButton::clicked, this, &ConversationView::scrollToEnd);

    m_flushTimer.setSingleShot(true);
    connect(&m_flushTimer, &QTimer::timeout, this, &ConversationView::flush);
    m_paintTimer.setSingleShot(true);
    m_paintTimer.setInterval(0);
    connect(&m_paintTimer, &QTimer::timeout, this, [this] { viewport()->setUpdatesEnabled(true); });
    connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, [this](int low, int high) {
        verticalScrollBar()->setEnabled(high > low);  // drawn without a handle where there is nothing to scroll
    });
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
        for (const Row& row : std::as_const(m_rows)) {
            if (auto* message = qobject_cast<MessageWidget*>(row.widget)) {
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
    return row < 0 || row >= m_rows.size() ? nullptr : qobject_cast<MessageWidget*>(m_rows[row].widget);
}

int ConversationView::widgetCount() const {
    return static_cast<int>(
        std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.widget != nullptr; }));
}

int ConversationView::documentCount() const {
    int count = 0;
    for (const Row& row : m_rows) {
        if (const auto* message = qobject_cast<MessageWidget*>(row.widget)) {
            count += message->body().documentCount();
        }
    }
    return count;
}

// ---- Rows

void ConversationView::rebuild() {
    // Hiding a widget may move the focus and thus change the rows: they are removed from
    // the view first.
    QList<Row> before = std::exchange(m_rows, {});
    for (Row& row : before) {
        release(row);
    }
    m_unshown.clear();
    m_changed.clear();
    m_tokens.clear();
    m_follow = true;
    m_rows.resize(m_model.rowCount());
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
    m_rows.insert(first, last - first + 1, Row{});
    if (last == m_model.rowCount() - 1) {
        m_follow = true;  // shows a message that the user has just sent, or must see
    }
    arrange();
}

void ConversationView::removeRows(int first, int last) {
    for (int row = last; row >= first; --row) {
        release(m_rows[row]);
        m_rows.removeAt(row);
    }
    m_tops.clear();
    arrangeLater();
}

void ConversationView::release(Row& row) {
    if (QWidget* widget = std::exchange(row.widget, nullptr)) {
        const auto* message = qobject_cast<MessageWidget*>(widget);
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
        auto* widget = qobject_cast<MessageWidget*>(m_rows[row].widget);
        if (!widget) {
            m_unshown.remove(message.id);
            m_rows[row].measuredFor = -1;
            m_rows[row].height = 0;
            arrangeLater();
            continue;
        }
        const QString unshown = m_unshown.value(message.id);
        if (unshown.size() > m_slice) {
            m_changed.insert(message.id);  // shown when its text is: flush()
            continue;
        }
        m_unshown.remove(message.id);
        if (!unshown.isEmpty()) {
            widget->appendText(unshown);
        }
        widget->setMessage(message);
    }
}

void ConversationView::textAppended(int row, const QString& text) {
    m_unshown[m_model.messages()[row].id] += text;
    startFlushTimer();
}

void ConversationView::thoughtChanged(int row) {
    const Message& message = m_model.messages()[row];
    if (auto* widget = qobject_cast<MessageWidget*>(m_rows[row].widget)) {
        widget->setThought(message.thought);
    } else {
        m_rows[row].measuredFor = -1;
        m_rows[row].height = 0;
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
    for (int row = 0; row < m_model.rowCount(); ++row) {
        if (m_model.messages()[row].id != id) {
            continue;
        }
        if (auto* widget = qobject_cast<MessageWidget*>(m_rows[row].widget)) {
            widget->setThoughtUnfolded(true);
        }
        unfoldThought(id, true);
    }
}

void ConversationView::startFlushTimer() {
    if (m_flushTimer.isActive()) {
        return;  // throttled, not debounced: the timer is never started anew
    }
    // If rendering is expensive, it leaves the event loop free most of the time.
    const qint64 interval = std::clamp<qint64>(4 * m_flushCostMs, kPaintIntervalMs, kLongestIntervalMs);
    const qint64 since = m_sinceFlush.isValid() ? m_sinceFlush.elapsed() : interval;
    m_flushTimer.start(static_cast<int>(std::max<qint64>(0, interval - since)));
}

// Shows one slice: text that arrives faster than it can be shown does not block the event
// loop.
void ConversationView::showSome(MessageWidget& widget, QString& unshown) {
    qsizetype left = std::min(m_slice, unshown.size());
    left -= left < unshown.size() && unshown[left - 1].isHighSurrogate() ? 1 : 0;
    if (left > kMuch) {
        // Painting takes as long as rendering: other events are processed between the
        // two.
        viewport()->setUpdatesEnabled(false);
        m_paintTimer.start();
    }
    do {
        const qsizetype length = pieceOf(QStringView(unshown).first(left));
        widget.appendText(unshown.first(length));
        unshown.remove(0, length);
        left -= length;
    } while (left > 0 && static_cast<double>(m_sinceFlush.nsecsElapsed()) * 1e-6 < kPiecesMs);
}

void ConversationView::flush() {
    m_sinceFlush.start();
    ++m_flushCount;
    m_arrangeQueued = true;  // the messages' requests are processed below, once
    const QList<MessageId> ids = m_unshown.keys();
    qint64 rendered = 0;
    for (const MessageId id : ids) {
        MessageWidget* widget = messageWidget(id);
        QString& unshown = m_unshown[id];
        if (widget) {
            const qint64 before = widget->body().renderedCharacters();
            showSome(*widget, unshown);
            rendered += widget->body().renderedCharacters() - before;
        } else if (const int row = m_model.rowOf(id); row >= 0) {
            m_rows[row].measuredFor = -1;  // longer than it was
            m_rows[row].height = 0;
        }
        if (!widget || unshown.isEmpty()) {
            m_unshown.remove(id);
            const Message* message = m_model.find(id);
            if (m_changed.remove(id) && widget && message) {
                widget->setMessage(*message);
            }
        }
    }
    m_mostRenderedAtOnce = std::max(m_mostRenderedAtOnce, rendered);
    arrange();
    const double cost = static_cast<double>(m_sinceFlush.nsecsElapsed()) * 1e-6;
    m_flushCostMs = static_cast<qint64>(cost);
    m_slice = cost > kTurnMs
                  ? std::max(kLeastSlice, static_cast<qsizetype>(static_cast<double>(m_slice) * kTurnMs / cost))
                  : std::min(kSlice, m_slice + m_slice / 4);
    m_sinceFlush.start();
    if (!m_unshown.isEmpty()) {
        startFlushTimer();
    }
}

QWidget* ConversationView::makeWidget(int row) {
    const Message& message = m_model.messages()[row];
    if (message.kind == Message::Kind::Problem) {
        auto* card = new ProblemCard(message, viewport());
        connect(card, &ProblemCard::actionChosen, this, &ConversationView::actionChosen);
        connect(card, &ProblemCard::heightChanged, this, &ConversationView::arrangeLater);
        return card;
    }
    auto* widget = new MessageWidget(message, viewport());
    m_unshown.remove(message.id);  // it shows all there is
    m_changed.remove(message.id);
    connect(widget, &MessageWidget::heightChanged, this, &ConversationView::arrangeLater);
    connect(widget, &MessageWidget::promptEdited, this, &ConversationView::promptEdited);
    connect(widget, &MessageWidget::answerEdited, this, &ConversationView::answerEdited);
    connect(widget, &MessageWidget::regenerateRequested, this, &ConversationView::regenerateRequested);
    connect(widget, &MessageWidget::continueRequested, this, &ConversationView::continueRequested);
    connect(widget, &MessageWidget::branchRequested, this, &ConversationView::branchRequested);
    connect(widget, &MessageWidget::tokenTimelineRequested, this, &ConversationView::tokenTimelineRequested);
    connect(widget, &MessageWidget::tokenPicked, this, &ConversationView::tokenPicked);
    connect(widget, &MessageWidget::thoughtUnfolded, this, &ConversationView::unfoldThought);
    connect(widget, &MessageWidget::sourceHovered, this, &ConversationView::sourceHovered);
    connect(widget, &MessageWidget::menuOpening, this, &ConversationView::menuOpening);
    widget->body().setReportsHover(m_reportsHover);
    widget->setThoughtUnfolded(m_unfolded.contains(message.id));
    showMarks(*widget);
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

// ---- Places and marks

void ConversationView::showMarks(MessageWidget& widget) const {
    const MessageId id = widget.messageId();
    widget.body().setMarks(TextMark::Found, m_found.value(id));
    widget.body().setMarks(TextMark::FoundCurrent,
                           id == m_currentFoundIn ? SourceRanges{m_currentFound} : SourceRanges());
    widget.body().setMarks(TextMark::Token, m_tokens.value(id));
    const QList<SourceRanges> surprise = m_surprise.value(id);
    for (int level = 0; level < 4; ++level) {
        widget.body().setMarks(static_cast<TextMark>(static_cast<int>(TextMark::Surprise1) + level),
                               surprise.value(level));
    }
    widget.body().setMarks(TextMark::PickedToken, id == m_pickedIn ? SourceRanges{m_picked} : SourceRanges());
}

void ConversationView::markPickedToken(MessageId id, QPair<int, int> range) {
    const bool none = range.first >= range.second;
    if (none && id != m_pickedIn) {
        return;
    }
    const MessageId before = std::exchange(m_pickedIn, none ? 0 : id);
    m_picked = range;
    for (const MessageId changed : {before, id}) {
        if (MessageWidget* widget = messageWidget(changed)) {
            showMarks(*widget);
        }
    }
    if (!none) {
        showSource(id, range.first);
    }
}

void ConversationView::underlineTokens(MessageId id, const SourceRanges& ranges) {
    if (ranges.isEmpty()) {
        m_tokens.remove(id);
    } else {
        m_tokens.insert(id, ranges);
    }
    if (MessageWidget* widget = messageWidget(id)) {
        showMarks(*widget);
    }
}

void ConversationView::markSurprise(MessageId id, const QList<SourceRanges>& levels) {
    const bool none =
        std::all_of(levels.begin(), levels.end(), [](const SourceRanges& ranges) { return ranges.isEmpty(); });
    if (none) {
        m_surprise.remove(id);
    } else {
        m_surprise.insert(id, levels);
    }
    if (MessageWidget* widget = messageWidget(id)) {
        showMarks(*widget);
    }
}

void ConversationView::setReportsHover(bool reports) {
    m_reportsHover = reports;
    for (const Row& row : std::as_const(m_rows)) {
        if (auto* message = qobject_cast<MessageWidget*>(row.widget)) {
            message->body().setReportsHover(reports);
        }
    }
}

void ConversationView::setFound(const QHash<MessageId, SourceRanges>& found) {
    m_found = found;
    for (const Row& row : std::as_const(m_rows)) {
        if (auto* message = qobject_cast<MessageWidget*>(row.widget)) {
            showMarks(*message);
        }
    }
}

void ConversationView::setCurrentFound(MessageId id, QPair<int, int> range) {
    const MessageId before = std::exchange(m_currentFoundIn, id);
    m_currentFound = range;
    for (const MessageId changed : {before, id}) {
        if (MessageWidget* widget = messageWidget(changed)) {
            showMarks(*widget);
        }
    }
}

void ConversationView::showSource(MessageId id, int offset) {
    const int row = m_model.rowOf(id);
    if (row < 0) {
        return;
    }
    if (m_tops.size() != m_rows.size() + 1) {
        arrange();
    }
    // The nearer it comes the more exactly its place is known.
    for (int pass = 0; pass < kLayoutPasses; ++pass) {
        const auto* message = qobject_cast<MessageWidget*>(m_rows[row].widget);
        const int y = m_tops[row] + (message ? message->yOfSource(offset) : 0);
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
    QScrollBar* bar = verticalScrollBar();
    if (area.height() > viewport()->height()) {
        if (area.top() > viewport()->height() - 40 || area.bottom() < 40) {
            bar->setValue(bar->value() + area.top() - 40);
        }
    } else if (area.top() < 0) {
        bar->setValue(bar->value() + area.top() - 12);
    } else if (area.bottom() > viewport()->height()) {
        bar->setValue(bar->value() + area.bottom() - viewport()->height() + 12);
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
    for (const Row& row : std::as_const(m_rows)) {
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
    verticalScrollBar()->setStyleSheet(
        QStringLiteral(
            "QScrollBar:vertical { background: %1; width: %3px; margin: 0; border: none; }"
            "QScrollBar::handle:vertical { background: %2; border-radius: 4px; min-height: 32px; margin: 2px; }"
            "QScrollBar::handle:vertical:hover { background: %4; }"
            "QScrollBar::handle:vertical:disabled { background: transparent; }"
            "QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical { height: 0; }"
            "QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical { background: none; }")
            .arg(colours.surface.name(), colours.line.name())
            .arg(kScrollBarWidth)
            .arg(colours.muted.name()));
}

}  // namespace offstage::ui
