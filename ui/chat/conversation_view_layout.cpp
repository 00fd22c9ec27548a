// ConversationView's layout: the messages that have widgets, their heights and positions.
#include <algorithm>

#include <QScrollBar>
#include <QToolButton>

#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"

namespace offstage::ui {

namespace {

constexpr int kSideMargin = 24;
constexpr int kTopMargin = 24;
constexpr int kRowGap = 26;
constexpr int kNearEnd = 12;  // pixels from the end that still count as the end
constexpr int kAround = 400;  // pixels beyond the viewport that are laid out, so that small steps find it done

}  // namespace

int ConversationView::columnWidth() const {
    const int widest = kWidestColumn * fontMetrics().height() / 17;  // grows with a larger font
    return std::clamp(viewport()->width() - 2 * kSideMargin, 120, std::max(kWidestColumn, widest));
}

void ConversationView::computeTops() {
    m_tops.resize(m_rows.size() + 1);
    int y = kTopMargin;
    const QFontMetrics metrics = fontMetrics();
    for (qsizetype i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        if (row.height <= 0) {
            const Message& message = m_model.messages()[i];
            row.height = message.kind == Message::Kind::Problem
                             ? 8 * metrics.height()
                             : MessageWidget::estimatedHeight(message, m_width, metrics);
        }
        m_tops[i] = y;
        y += row.height + kRowGap;
    }
    m_tops.last() = y;
}

int ConversationView::rowAt(int y) const {
    const auto after = std::upper_bound(m_tops.begin(), m_tops.begin() + m_rows.size(), y);
    return static_cast<int>(std::max<qsizetype>(0, after - m_tops.begin() - 1));
}

ConversationView::Anchor ConversationView::currentAnchor() const {
    Anchor anchor;
    if (m_rows.isEmpty() || m_tops.size() != m_rows.size() + 1) {
        return anchor;
    }
    const int value = verticalScrollBar()->value();
    anchor.row = rowAt(value);
    const int into = value - m_tops[anchor.row];
    const auto* message = qobject_cast<MessageWidget*>(m_rows[anchor.row].widget);
    anchor.place = message ? message->anchorAt(into) : MessageBody::Anchor{-1, into};
    anchor.distance = message ? into - message->yOf(anchor.place) : 0;
    return anchor;
}

int ConversationView::valueFor(const Anchor& anchor) const {
    if (anchor.row < 0 || anchor.row >= m_rows.size()) {
        return verticalScrollBar()->value();
    }
    const auto* message = qobject_cast<MessageWidget*>(m_rows[anchor.row].widget);
    const int into = message ? message->yOf(anchor.place) + anchor.distance : anchor.place.offset;
    return m_tops[anchor.row] + into;
}

void ConversationView::arrangeLater() {
    if (!m_arrangeQueued) {
        m_arrangeQueued = true;
        QMetaObject::invokeMethod(this, &ConversationView::arrange, Qt::QueuedConnection);
    }
}

// Makes widgets and measures heights around this scroll position. False: a height differs
// from its estimate.
bool ConversationView::layOutAround(int value) {
    bool same = true;
    const int top = value - kAround;
    const int bottom = value + viewport()->height() + kAround;
    for (int i = rowAt(top); i < m_rows.size() && m_tops[i] <= bottom; ++i) {
        Row& row = m_rows[i];
        const bool isNew = !row.widget;
        if (isNew) {
            row.widget = makeWidget(i);
        }
        auto* message = qobject_cast<MessageWidget*>(row.widget);
        if (message) {
            message->setIsLast(i == m_rows.size() - 1);
        }
        const LayoutWindow window{top - m_tops[i], bottom - m_tops[i]};
        const int height =
            message ? message->layoutFor(m_width, window) : static_cast<ProblemCard*>(row.widget)->layoutFor(m_width);
        same = same && height == row.height;
        row.height = height;
        row.measuredFor = m_width;
        if (isNew) {
            row.widget->resize(m_width, height);
            row.widget->show();
        }
    }
    return same;
}

void ConversationView::arrange() {
    m_arrangeQueued = false;
    if (m_arranging || m_rows.size() != m_model.rowCount()) {
        return;
    }
    m_arranging = true;
    const Anchor anchor = currentAnchor();
    const int width = columnWidth();
    if (width != m_width) {
        // Heights of distant rows are scaled with the width; they are measured when they
        // come near.
        for (Row& row : m_rows) {
            row.height = m_width > 0 && row.height > 0 ? std::max(1, row.height * m_width / width) : 0;
            row.measuredFor = -1;
        }
        m_width = width;
    }
    QScrollBar* bar = verticalScrollBar();
    int value = 0;
    for (int pass = 0; pass < kLayoutPasses; ++pass) {
        computeTops();
        const int most = std::max(0, m_tops.last() - viewport()->height());
        value = m_follow ? most : std::clamp(valueFor(anchor), 0, most);
        if (layOutAround(value)) {
            break;
        }
        if (pass + 1 == kLayoutPasses) {
            computeTops();
            arrangeLater();
        }
    }
    const int most = std::max(0, m_tops.last() - viewport()->height());
    bar->setRange(0, most);
    bar->setPageStep(std::max(1, viewport()->height()));
    bar->setValue(m_follow ? most : std::clamp(valueFor(anchor), 0, most));
    place(bar->value());
    m_arranging = false;
    placeEndButton();
}

void ConversationView::place(int value) {
    const int x = std::max(kSideMargin, (viewport()->width() - m_width) / 2);
    const int keepTop = value - 2 * viewport()->height() - kAround;
    const int keepBottom = value + 3 * viewport()->height() + kAround;
    const int last = static_cast<int>(m_rows.size()) - 1;
    for (int i = 0; i <= last; ++i) {
        Row& row = m_rows[i];
        if (!row.widget) {
            continue;
        }
        auto* message = qobject_cast<MessageWidget*>(row.widget);
        const bool near = m_tops[i] + row.height >= keepTop && m_tops[i] <= keepBottom;
        if (!near && !(message && message->isBusy())) {
            release(row);
            continue;
        }
        if (message) {
            message->setIsLast(i == last);
        }
        row.widget->setGeometry(x, m_tops[i] - value, m_width, row.height);
    }
}

void ConversationView::scrollContentsBy(int, int) {
    if (m_arranging) {
        return;
    }
    QScrollBar* bar = verticalScrollBar();
    m_follow = bar->value() >= bar->maximum() - kNearEnd;
    if (m_tops.size() != m_rows.size() + 1) {
        return;
    }
    arrange();
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

}  // namespace offstage::ui
