#include "ui/chat/conversation_view.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QScrollBar>
#include <QToolButton>

#include "ui/chat/message_body.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"
#include "ui/icons.h"
#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kSideMargin = 24;
constexpr int kTopMargin = 24;
constexpr int kRowGap = 26;
constexpr int kLayoutBudgetMs = 6;
constexpr qsizetype kSlice = 1536;  // characters rendered in one turn; 30 times a second
constexpr qint64 kLongestIntervalMs = 200;
constexpr int kNearEnd = 12;  // pixels from the end that still count as the end

}  // namespace

ConversationView::ConversationView(ConversationModel& model, QWidget* parent)
    : QScrollArea(parent), m_model(model), m_column(new QWidget), m_toEnd(new QToolButton(this)) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);  // so that the first overflow does not change the width
    setAccessibleName(tr("Conversation"));
    setWidget(m_column);
    setBackgroundRole(QPalette::Base);
    viewport()->setBackgroundRole(QPalette::Base);
    m_column->setBackgroundRole(QPalette::Base);
    m_column->setAutoFillBackground(true);
    verticalScrollBar()->setSingleStep(24);

    m_toEnd->setToolTip(tr("Go to the latest message"));
    m_toEnd->setAccessibleName(tr("Go to the latest message"));
    m_toEnd->setIconSize({20, 20});
    m_toEnd->setFixedSize(36, 36);
    m_toEnd->hide();
    connect(m_toEnd, &QToolButton::clicked, this, &ConversationView::scrollToEnd);

    m_flushTimer.setSingleShot(true);
    connect(&m_flushTimer, &QTimer::timeout, this, &ConversationView::flush);
    connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this](int value) {
        if (!m_arranging) {
            m_follow = value >= verticalScrollBar()->maximum() - kNearEnd;
        }
        placeEndButton();
    });

    connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, [this](int low, int high) {
        verticalScrollBar()->setEnabled(high > low);  // drawn without a handle where there is nothing to scroll
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
    restyle();
    rebuild();
}

MessageWidget* ConversationView::messageWidget(MessageId id) const {
    const int row = m_model.rowOf(id);
    return row < 0 ? nullptr : qobject_cast<MessageWidget*>(m_rows[row]);
}

void ConversationView::rebuild() {
    qDeleteAll(m_rows);
    m_rows.clear();
    m_unshown.clear();
    m_changed.clear();
    m_follow = true;
    if (m_model.rowCount() > 0) {
        insertRows(0, m_model.rowCount() - 1);
    } else {
        arrange();
    }
}

void ConversationView::insertRows(int first, int last) {
    for (int row = first; row <= last; ++row) {
        const Message& message = m_model.messages()[row];
        QWidget* widget = nullptr;
        if (message.kind == Message::Kind::Problem) {
            auto* card = new ProblemCard(message, m_column);
            connect(card, &ProblemCard::actionChosen, this, &ConversationView::actionChosen);
            connect(card, &ProblemCard::heightChanged, this, &ConversationView::arrangeLater);
            widget = card;
        } else {
            auto* text = new MessageWidget(message, m_column);
            connect(text, &MessageWidget::heightChanged, this, &ConversationView::arrangeLater);
            widget = text;
        }
        m_rows.insert(row, widget);
        widget->show();
    }
    if (last == m_model.rowCount() - 1) {
        m_follow = true;  // what the person has just sent, or must know, is shown
    }
    arrange();
}

void ConversationView::removeRows(int first, int last) {
    for (int row = last; row >= first; --row) {
        m_rows[row]->hide();
        m_rows[row]->deleteLater();  // the click that led here may come from inside it
        m_rows.removeAt(row);
    }
    arrangeLater();
}

void ConversationView::rowsChanged(int first, int last, const QList<int>& roles) {
    if (roles == QList<int>{Qt::DisplayRole}) {
        return;  // streamed text: textAppended() has it
    }
    for (int row = first; row <= last; ++row) {
        const Message& message = m_model.messages()[row];
        auto* widget = qobject_cast<MessageWidget*>(m_rows[row]);
        if (!widget) {
            continue;
        }
        const QString unshown = m_unshown.value(message.id);
        if (unshown.size() > kSlice) {
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

void ConversationView::startFlushTimer() {
    if (m_flushTimer.isActive()) {
        return;  // throttled, not debounced: the timer is never started anew
    }
    // Where rendering turns out dear, it leaves the event loop most of the time.
    const qint64 interval = std::clamp<qint64>(4 * m_flushCostMs, kPaintIntervalMs, kLongestIntervalMs);
    const qint64 since = m_sinceFlush.isValid() ? m_sinceFlush.elapsed() : interval;
    m_flushTimer.start(static_cast<int>(std::max<qint64>(0, interval - since)));
}

void ConversationView::flush() {
    m_sinceFlush.start();
    ++m_flushCount;
    m_arrangeQueued = true;  // what the messages ask for happens below, once
    const QList<MessageId> ids = m_unshown.keys();
    for (const MessageId id : ids) {
        MessageWidget* widget = messageWidget(id);
        QString& unshown = m_unshown[id];
        if (widget) {
            // A slice: text that came faster than it can be shown does not make one long turn of the loop.
            qsizetype length = std::min(kSlice, unshown.size());
            length -= length < unshown.size() && unshown[length - 1].isHighSurrogate() ? 1 : 0;
            widget->appendText(unshown.first(length));
            unshown.remove(0, length);
        }
        if (!widget || unshown.isEmpty()) {
            m_unshown.remove(id);
            const Message* message = m_model.find(id);
            if (m_changed.remove(id) && widget && message) {
                widget->setMessage(*message);
            }
        }
    }
    arrange();
    m_flushCostMs = m_sinceFlush.elapsed();
    m_sinceFlush.start();
    if (!m_unshown.isEmpty()) {
        startFlushTimer();
    }
}

void ConversationView::arrangeLater() {
    if (!m_arrangeQueued) {
        m_arrangeQueued = true;
        QMetaObject::invokeMethod(this, &ConversationView::arrange, Qt::QueuedConnection);
    }
}

void ConversationView::arrange() {
    m_arrangeQueued = false;
    if (m_arranging) {
        return;
    }
    m_arranging = true;
    const int available = viewport()->width();
    const int widest = kWidestColumn * fontMetrics().height() / 17;  // grows with a larger font
    const int width = std::clamp(available - 2 * kSideMargin, 120, std::max(kWidestColumn, widest));
    const int x = std::max(kSideMargin, (available - width) / 2);
    LayoutBudget budget{QDeadlineTimer(kLayoutBudgetMs)};
    int y = kTopMargin;
    for (QWidget* row : std::as_const(m_rows)) {
        auto* message = qobject_cast<MessageWidget*>(row);
        const int height =
            message ? message->layoutFor(width, budget) : static_cast<ProblemCard*>(row)->layoutFor(width);
        row->setGeometry(x, y, width, height);
        y += height + kRowGap;
    }
    m_column->resize(available, std::max(viewport()->height(), y));
    if (m_follow) {
        verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    }
    m_arranging = false;
    placeEndButton();
    if (budget.left) {
        arrangeLater();
    }
}

void ConversationView::scrollToEnd() {
    m_follow = true;
    verticalScrollBar()->setValue(verticalScrollBar()->maximum());
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
    QScrollArea::resizeEvent(event);
    arrange();
}

void ConversationView::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        restyle();
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
