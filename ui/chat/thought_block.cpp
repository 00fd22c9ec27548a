#include "ui/chat/thought_block.h"

#include <algorithm>

#include <QEvent>
#include <QPainter>
#include <QToolButton>

#include "ui/base/delay.h"
#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

constexpr int kThoughtShowMs = 50;
constexpr int kThoughtIndent = 23;  // of the text, after a line
constexpr int kThoughtTextGap = 6;
constexpr int kThoughtLineAt = 11;

}  // namespace

ThoughtBlock::ThoughtBlock(QWidget* parent) : QWidget(parent), m_header(new QToolButton(this)) {
    m_header->setAutoRaise(true);
    m_header->setFocusPolicy(Qt::StrongFocus);
    m_header->setIconSize({14, 14});
    m_header->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    connect(m_header, &QToolButton::clicked, this, [this] {
        setUnfolded(!m_unfolded);
        Q_EMIT unfoldedByPerson(m_unfolded);
    });
    callAfter(m_showSoon, kThoughtShowMs, this, [this] {
        refreshHeader();
        showText();
    });
    m_seconds.setInterval(1000);
    connect(&m_seconds, &QTimer::timeout, this, &ThoughtBlock::refreshHeader);
    restyle();
}

int ThoughtBlock::foldedHeight(const QFontMetrics& metrics) {
    return metrics.height() + 10;
}

void ThoughtBlock::setThought(const Thought& thought, bool goesOn) {
    const bool same = thought == m_thought && goesOn == m_goesOn;
    const bool first = m_thought.isEmpty();
    m_thought = thought;
    m_goesOn = goesOn;
    if (goesOn) {
        m_sinceChange.start();
        if (!m_seconds.isActive()) {
            m_seconds.start();
        }
        if (!first) {
            if (!m_showSoon.isActive()) {
                m_showSoon.start();  // throttled, not debounced
            }
            return;
        }
    } else {
        m_seconds.stop();
        m_showSoon.stop();
    }
    if (!same) {
        refreshHeader();
        showText();
    }
}

void ThoughtBlock::setUnfolded(bool unfolded) {
    m_unfolded = unfolded;
    if (unfolded && !m_body) {
        m_body = new MessageBody(this);
        m_body->setPicksTokens(false);
        m_body->setAccessibleName(tr("Thought before the answer"));
        connect(m_body, &MessageBody::heightChanged, this, &ThoughtBlock::heightChanged);
        m_shownWhole = false;
        restyle();
        showText();
        m_body->show();
    } else if (!unfolded && m_body) {
        if (m_body->hasFocus()) {
            m_header->setFocus();
        }
        m_body->hide();
        m_body->deleteLater();
        m_body = nullptr;
    }
    refreshHeader();
    update();
    Q_EMIT heightChanged();
}

void ThoughtBlock::refreshHeader() {
    Thought now = m_thought;
    if (m_goesOn && m_sinceChange.isValid()) {
        now.seconds += static_cast<double>(m_sinceChange.elapsed()) / 1000;
    }
    const QString text = thoughtText(now, m_goesOn);
    if (m_header->text() != text) {
        m_header->setText(text);
        m_header->setAccessibleName(text);
        m_header->resize(m_header->sizeHint().width(), m_header->height());
    }
    const QString icon = isUnfolded() ? QStringLiteral("below") : QStringLiteral("right");
    if (m_header->property("iconName").toString() != icon) {
        m_header->setProperty("iconName", icon);
        m_header->setIcon(colouredIcon(icon, Colours::of(palette()).muted));
        m_header->setToolTip(isUnfolded() ? tr("Hide what the model thought") : tr("Show what the model thought"));
        m_header->setAccessibleDescription(m_header->toolTip());
    }
}

void ThoughtBlock::showText() {
    if (!m_body) {
        return;
    }
    const QString shown = m_body->source();
    const bool grows = !shown.isEmpty() && !m_shownWhole && m_thought.text.startsWith(shown);
    if (!grows) {
        m_body->setMarkdown(m_thought.text, !m_goesOn);
    } else {
        if (m_thought.text.size() > shown.size()) {
            m_body->appendMarkdown(m_thought.text.mid(shown.size()));
        }
        if (!m_goesOn) {
            m_body->finishMarkdown();
        }
    }
    m_shownWhole = !m_goesOn;
    if (!m_goesOn) {
        m_body->setAccessibleDescription(m_thought.text);
    }
}

int ThoughtBlock::layoutFor(int width, const LayoutWindow& window) {
    const int top = foldedHeight(m_header->fontMetrics());
    m_header->setGeometry(0, 0, std::min(m_header->sizeHint().width(), width), top);
    if (!m_body) {
        return top;
    }
    const int textWidth = std::max(40, width - kThoughtIndent);
    const int height = m_body->layoutFor(textWidth, window.below(top + kThoughtTextGap));
    m_body->setGeometry(kThoughtIndent, top + kThoughtTextGap, textWidth, height);
    return top + kThoughtTextGap + height + kThoughtTextGap;
}

void ThoughtBlock::paintEvent(QPaintEvent*) {
    if (!m_body) {
        return;
    }
    QPainter painter(this);
    painter.fillRect(QRect(kThoughtLineAt, m_body->y(), 2, m_body->height()), Colours::of(palette()).line);
}

void ThoughtBlock::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        restyle();
    }
}

void ThoughtBlock::restyle() {
    const Colours colours = Colours::of(palette());
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.88);
    m_header->setFont(small);
    QPalette muted = palette();
    muted.setColor(QPalette::ButtonText, colours.muted);
    if (m_header->palette().color(QPalette::ButtonText) != colours.muted) {
        m_header->setPalette(muted);
    }
    m_header->setProperty("iconName", QString());
    refreshHeader();
    if (m_body) {
        QPalette quiet = palette();
        quiet.setColor(QPalette::Text, colours.muted);
        if (m_body->palette().color(QPalette::Text) != colours.muted) {
            m_body->setPalette(quiet);
        }
    }
}

}  // namespace offstage::ui
