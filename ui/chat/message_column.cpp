#include "ui/chat/message_column.h"

#include <algorithm>

#include <QEvent>
#include <QLayout>

#include "ui/chat/conversation_model.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/problem_card.h"

namespace offstage::ui {

namespace {

constexpr int kSideMargin = 24;
constexpr int kTopMargin = 24;
constexpr int kRowGap = 26;
constexpr int kGapBelowAnswer = 8;  // and its actions (MessageFooter)
constexpr int kAround = 400;        // pixels beyond the viewport that are laid out, so that small steps find it done

}  // namespace

MessageWidget* MessageColumn::Row::message() const {
    return qobject_cast<MessageWidget*>(widget);
}

int MessageColumn::widthIn(int viewport, const QFontMetrics& metrics) {
    const int widest = kWidest * metrics.height() / 17;  // grows with a larger font
    return std::clamp(viewport - 2 * kSideMargin, 120, std::max(kWidest, widest));
}

int MessageColumn::leftIn(int viewport, const QFontMetrics& metrics) {
    return std::max(kSideMargin, (viewport - widthIn(viewport, metrics)) / 2);
}

void MessageColumn::fitWidth() {
    const int width = widthIn(m_viewport.width(), m_viewport.fontMetrics());
    if (width != m_width) {
        for (Row& row : m_rows) {
            row.height = m_width > 0 && row.height > 0 ? std::max(1, row.height * m_width / width) : 0;
        }
        m_width = width;
    }
}

void MessageColumn::computeTops() {
    m_tops.resize(m_rows.size() + 1);
    int y = kTopMargin;
    const QFontMetrics metrics = m_viewport.fontMetrics();
    for (qsizetype i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        const Message& message = m_model.messages()[i];
        if (row.height <= 0) {
            row.height = message.kind == Message::Kind::Problem
                             ? 8 * metrics.height()
                             : MessageWidget::estimatedHeight(message, m_width, metrics);
        }
        m_tops[i] = y;
        y += row.height + (message.kind == Message::Kind::Answer ? kGapBelowAnswer : kRowGap);
    }
    m_tops.last() = y;
}

int MessageColumn::rowAt(int y) const {
    const auto after = std::upper_bound(m_tops.begin(), m_tops.begin() + m_rows.size(), y);
    return static_cast<int>(std::max<qsizetype>(0, after - m_tops.begin() - 1));
}

int MessageColumn::lastMessage() const {
    int row = static_cast<int>(m_rows.size()) - 1;
    while (row >= 0 && m_model.messages()[row].kind == Message::Kind::Problem) {
        --row;
    }
    return row;
}

MessageColumn::Anchor MessageColumn::anchorAt(int value) const {
    Anchor anchor;
    if (m_rows.isEmpty() || !hasTops()) {
        return anchor;
    }
    anchor.row = rowAt(value);
    const int into = value - m_tops[anchor.row];
    const MessageWidget* message = m_rows[anchor.row].message();
    anchor.place = message ? message->anchorAt(into) : MessageText::Anchor{-1, into};
    anchor.distance = message ? into - message->yOf(anchor.place) : 0;
    return anchor;
}

int MessageColumn::valueFor(const Anchor& anchor) const {
    const MessageWidget* message = m_rows[anchor.row].message();
    return m_tops[anchor.row] + (message ? message->yOf(anchor.place) + anchor.distance : anchor.place.offset);
}

bool MessageColumn::layOutAround(int value) {
    bool same = true;
    const int last = lastMessage();
    const int top = value - kAround;
    const int bottom = value + m_viewport.height() + kAround;
    for (int i = rowAt(top); i < m_rows.size() && m_tops[i] <= bottom; ++i) {
        Row& row = m_rows[i];
        const bool isNew = !row.widget;
        if (isNew) {
            row.widget = m_make(i);
        }
        MessageWidget* message = row.message();
        if (message) {
            message->setIsLast(i == last);
        }
        const LayoutWindow window{top - m_tops[i], bottom - m_tops[i]};
        const int height =
            message ? message->layoutFor(m_width, window) : static_cast<ProblemCard*>(row.widget)->layoutFor(m_width);
        same = same && height == row.height;
        row.height = height;
        if (isNew) {
            row.widget->resize(m_width, height);
            row.widget->show();
        }
    }
    return same;
}

void MessageColumn::place(int value) {
    const int x = leftIn(m_viewport.width(), m_viewport.fontMetrics());
    const int keepTop = value - 2 * m_viewport.height() - kAround;
    const int keepBottom = value + 3 * m_viewport.height() + kAround;
    const int last = lastMessage();
    for (int i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        if (!row.widget) {
            continue;
        }
        MessageWidget* message = row.message();
        const bool near = m_tops[i] + row.height >= keepTop && m_tops[i] <= keepBottom;
        if (!near && !(message && message->isBusy())) {
            m_release(row);
            continue;
        }
        if (message) {
            message->setIsLast(i == last);
        }
        row.widget->setGeometry(x, m_tops[i] - value, m_width, row.height);
    }
}

void standOnColumn(QWidget& bar) {
    class Watch : public QObject {
      public:
        using QObject::QObject;
        bool eventFilter(QObject* watched, QEvent* event) override {
            auto* bar = static_cast<QWidget*>(watched);
            if ((event->type() == QEvent::Resize || event->type() == QEvent::FontChange) && bar->layout()) {
                const int viewport = bar->width() - ConversationView::kScrollBarWidth;
                const int side = MessageColumn::leftIn(viewport, bar->fontMetrics());
                QMargins margins = bar->layout()->contentsMargins();
                margins.setLeft(side);
                margins.setRight(bar->width() - side - MessageColumn::widthIn(viewport, bar->fontMetrics()));
                bar->layout()->setContentsMargins(margins);
            }
            return false;
        }
    };
    bar.installEventFilter(new Watch(&bar));
}

}  // namespace offstage::ui
