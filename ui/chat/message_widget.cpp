#include "ui/chat/message_widget.h"

#include <algorithm>

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QPainter>
#include <QTimer>
#include <QToolButton>

#include "ui/chat/message_body.h"
#include "ui/format.h"
#include "ui/icons.h"
#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kBubblePadX = 16;
constexpr int kBubblePadTop = 12;
constexpr int kBubblePadBottom = 8;  // the last line brings its own space below
constexpr int kCaptionGap = 6;
constexpr double kBubbleCorner = 14;
constexpr double kBubbleShare = 0.84;  // of the width, at most

}  // namespace

MessageWidget::MessageWidget(const Message& message, QWidget* parent)
    : QWidget(parent), m_body(new MessageBody(this)), m_caption(new QLabel(this)), m_copy(new QToolButton(this)) {
    m_copy->setAutoRaise(true);
    m_copy->setIconSize({16, 16});
    m_copy->setToolTip(tr("Copy the whole message"));
    m_copy->setAccessibleName(tr("Copy the whole message"));
    connect(m_copy, &QToolButton::clicked, this, &MessageWidget::copy);
    m_caption->setTextFormat(Qt::PlainText);
    if (message.kind == Message::Kind::Answer) {
        m_author = new QLabel(this);
        m_author->setTextFormat(Qt::PlainText);
    }
    connect(m_body, &MessageBody::heightChanged, this, [this] {
        if (!m_arranging) {
            m_bubbleFor = -1;
            Q_EMIT heightChanged();
        }
    });
    restyle();
    m_message.kind = message.kind;
    m_message.text = QString(u'\0');  // differs from any text: setMessage() shows the first one
    setMessage(message);
}

void MessageWidget::setMessage(const Message& message) {
    const bool complete = message.state != Message::State::Streaming && message.state != Message::State::Waiting;
    const QString shown = m_message.text;
    m_message = message;
    if (message.kind == Message::Kind::Prompt) {
        if (shown != message.text) {
            m_body->setPlainText(message.text);
        }
        m_body->setAccessibleName(tr("Your message"));
        m_body->setAccessibleDescription(message.text);
    } else {
        if (m_body->source() != message.text) {
            m_body->setMarkdown(message.text, complete);
        } else if (complete && !m_shownComplete) {
            m_body->finishMarkdown();
        }
        m_shownComplete = complete;
        m_author->setText(message.author.isEmpty() ? tr("Offstage") : message.author);
        m_body->setAccessibleName(tr("Answer"));
        if (complete) {
            m_body->setAccessibleDescription(m_body->plainText());
        }
    }
    m_caption->setText(caption());
    m_caption->setVisible(!m_caption->text().isEmpty());
    m_copy->setVisible(!message.text.isEmpty() && complete);
    Q_EMIT heightChanged();
}

void MessageWidget::appendText(const QString& text) {
    m_message.text += text;
    m_body->appendMarkdown(text);
}

QString MessageWidget::caption() const {
    QStringList parts;
    if (!m_message.note.isEmpty()) {
        parts << m_message.note;
    }
    if (m_message.figures && m_message.figures->tokensIn > 0) {
        parts << figuresText(*m_message.figures);
    }
    return parts.join(QStringLiteral(" · "));
}

int MessageWidget::layoutFor(int width, LayoutBudget& budget) {
    m_arranging = true;
    int y = 0;
    if (m_message.kind == Message::Kind::Prompt) {
        const int widest = std::max(80, static_cast<int>(width * kBubbleShare) - 2 * kBubblePadX);
        if (m_bubbleFor != width) {
            // The bubble is as wide as its longest line: laid out at the widest, then at that.
            m_body->layoutFor(widest);
            m_textWidth = std::clamp(m_body->naturalWidth() + 1, 24, widest);
            m_bubbleFor = width;
        }
        const int textWidth = m_textWidth;
        const int textHeight = m_body->layoutFor(textWidth);
        m_bubble = QRect(width - textWidth - 2 * kBubblePadX, 0, textWidth + 2 * kBubblePadX,
                         textHeight + kBubblePadTop + kBubblePadBottom);
        m_body->setGeometry(m_bubble.adjusted(kBubblePadX, kBubblePadTop, -kBubblePadX, -kBubblePadBottom));
        y = m_bubble.bottom() + 1;
    } else {
        m_author->setGeometry(0, 0, width, m_author->sizeHint().height());
        y = m_author->height() + 6;
        const int height = m_body->layoutFor(width, budget);
        m_body->setGeometry(0, y, width, height);
        y += height;
    }
    const QSize button = m_copy->sizeHint();
    const bool hasRow = !m_copy->isHidden() || !m_caption->isHidden();
    if (hasRow) {
        y += m_body->source().isEmpty() ? 0 : kCaptionGap;
        const bool right = m_message.kind == Message::Kind::Prompt;
        const int buttonWidth = m_copy->isHidden() ? 0 : button.width() + 6;
        m_caption->setWordWrap(false);
        const int natural = m_caption->sizeHint().width();
        const int captionWidth = std::min(natural, width - buttonWidth);
        m_caption->setWordWrap(natural > captionWidth);
        const int captionHeight = m_caption->isHidden()   ? 0
                                  : m_caption->wordWrap() ? m_caption->heightForWidth(captionWidth)
                                                          : m_caption->sizeHint().height();
        const int row = std::max(captionHeight, button.height());
        m_copy->setGeometry(right ? width - button.width() : -4, y, button.width(), button.height());
        const int x = right ? width - buttonWidth - captionWidth : std::max(0, buttonWidth - 4);
        m_caption->setGeometry(x, y + std::max(0, (button.height() - captionHeight) / 2), captionWidth, captionHeight);
        y += row;
    }
    m_arranging = false;
    return y;
}

void MessageWidget::paintEvent(QPaintEvent*) {
    if (m_message.kind != Message::Kind::Prompt) {
        return;
    }
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    const bool failed = m_message.state == Message::State::Failed;
    painter.setPen(failed ? QPen(colours.problem, 1, Qt::DashLine) : QPen(Qt::NoPen));
    painter.setBrush(failed ? colours.surface : colours.prompt);
    painter.drawRoundedRect(QRectF(m_bubble).adjusted(0.5, 0.5, -0.5, -0.5), kBubbleCorner, kBubbleCorner);
}

void MessageWidget::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        restyle();
    }
}

void MessageWidget::restyle() {
    const Colours colours = Colours::of(palette());
    m_caption->setForegroundRole(QPalette::PlaceholderText);
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.88);
    m_caption->setFont(small);
    if (m_author) {
        m_author->setForegroundRole(QPalette::PlaceholderText);
        QFont name = small;
        name.setWeight(QFont::DemiBold);
        m_author->setFont(name);
    }
    m_copy->setIcon(colouredIcon(QStringLiteral("copy"), colours.muted));
}

void MessageWidget::copy() {
    QGuiApplication::clipboard()->setText(m_message.text);
    m_copy->setIcon(colouredIcon(QStringLiteral("check"), Colours::of(palette()).accent));
    QTimer::singleShot(1200, this, &MessageWidget::restyle);
}

}  // namespace offstage::ui
