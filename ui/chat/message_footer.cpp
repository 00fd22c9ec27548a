#include "ui/chat/message_footer.h"

#include <algorithm>

#include <QClipboard>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QHash>
#include <QLabel>
#include <QTimer>
#include <QToolButton>
#include <QUrl>

#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/engine/format.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

constexpr int kButton = 26;
constexpr int kButtonOutdent = 4;  // a button's icon stands below the text's first letter
constexpr int kBesideBubble = 4;
constexpr int kBetween = 8;

// Drawing an icon costs more than everything else of a message's buttons.
QIcon mutedIcon(const QString& name, const QColor& colour) {
    static QHash<QPair<QString, QRgb>, QIcon> made;
    QIcon& icon = made[{name, colour.rgba()}];
    if (icon.isNull()) {
        icon = colouredIcon(name, colour);
    }
    return icon;
}

void setShown(std::initializer_list<QWidget*> widgets, bool shown) {
    for (QWidget* widget : widgets) {
        if (widget) {
            widget->setVisible(shown);
        }
    }
}

}  // namespace

MessageFooter::MessageFooter(const Message& message, QWidget& parent)
    : QObject(&parent), m_message(message), m_parent(parent), m_caption(new QLabel(&parent)) {
    m_caption->setTextFormat(Qt::PlainText);
}

QString MessageFooter::caption() const {
    return m_caption->text();
}

bool MessageFooter::hasFigures() const {
    // While more is written, they belong to the text before.
    return isComplete() && m_message.figures && m_message.figures->tokensIn > 0;
}

QToolButton* MessageFooter::makeButton(const QString& icon, const QString& name) {
    auto* button = new QToolButton(&m_parent);
    button->setAutoRaise(true);
    button->setIconSize({16, 16});
    describe(*button, name);
    button->setProperty("iconName", icon);
    if (!icon.isEmpty()) {
        button->setIcon(mutedIcon(icon, Colours::of(m_parent.palette()).muted));
    }
    button->hide();
    return button;
}

void MessageFooter::makeActions() {
    if (m_copy) {
        return;
    }
    m_copy = makeButton(QStringLiteral("copy"), tr("Copy the whole message"));
    connect(m_copy, &QToolButton::clicked, this, &MessageFooter::copy);
    if (isHelp()) {
        const auto withText = [](QToolButton* button, const QString& text) {
            button->setText(text);
            button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        };
        m_page = makeButton(QStringLiteral("open"), tr("Open this page of the help"));
        withText(m_page, tr("Read the page"));
        connect(m_page, &QToolButton::clicked, this,
                [this] { QDesktopServices::openUrl(QUrl(QStringLiteral("help:") + m_message.helpPage)); });
        m_again = makeButton(QStringLiteral("again"), tr("Let the model answer this: a new branch"));
        withText(m_again, tr("Ask the model anyway"));
        connect(m_again, &QToolButton::clicked, this, &MessageFooter::regenerateRequested);
        restyle();
        return;
    }
    m_edit = makeButton(QStringLiteral("edit"),
                        isPrompt() ? tr("Edit this message: a new branch") : tr("Edit this answer: a new branch"));
    connect(m_edit, &QToolButton::clicked, this, &MessageFooter::editRequested);
    if (isPrompt()) {
        return;
    }
    m_again = makeButton(QStringLiteral("again"), tr("Answer again: a new branch"));
    connect(m_again, &QToolButton::clicked, this, &MessageFooter::regenerateRequested);
    m_continue = makeButton(QStringLiteral("continue"), tr("Continue this answer"));
    m_continue->setText(tr("Continue"));
    m_continue->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    connect(m_continue, &QToolButton::clicked, this, &MessageFooter::continueRequested);
    restyle();
}

void MessageFooter::refresh(bool active, bool isLast, bool isEdited) {
    refreshCaption(isEdited);
    refreshBranches(isEdited);
    const bool shown = isComplete() && !isEdited && (active || isHelp() || (isLast && !isPrompt()));
    refreshActions(shown, isLast);
    refreshFigures(shown);
}

void MessageFooter::refreshCaption(bool isEdited) {
    QStringList parts;
    if (m_message.edited) {
        parts += tr("Edited by you");
    }
    if (!m_message.note.isEmpty()) {
        parts += noteText(m_message.note);
    }
    if (isHelp()) {
        parts += tr("The model sees neither this nor the question");
    }
    const QString why =
        m_message.edited ? tr("You have changed this answer. What it was before is another branch.") : QString();
    m_caption->setText(parts.join(QStringLiteral(" · ")));
    m_caption->setToolTip(why);
    m_caption->setAccessibleDescription(why);
    m_caption->setVisible(!parts.isEmpty() && !isEdited);
}

void MessageFooter::refreshBranches(bool isEdited) {
    const bool several = m_message.branches > 1;
    if (several && !m_branch) {
        m_previous = makeButton(QStringLiteral("left"), tr("The branch before"));
        m_next = makeButton(QStringLiteral("right"), tr("The next branch"));
        m_branch = new QLabel(&m_parent);
        m_branch->setTextFormat(Qt::PlainText);
        m_branch->setAlignment(Qt::AlignCenter);
        connect(m_previous, &QToolButton::clicked, this, [this] { Q_EMIT branchRequested(m_message.branch - 1); });
        connect(m_next, &QToolButton::clicked, this, [this] { Q_EMIT branchRequested(m_message.branch + 1); });
        restyle();
    }
    if (!m_branch) {
        return;
    }
    m_branch->setText(tr("%1/%2").arg(m_message.branch + 1).arg(m_message.branches));
    describe(*m_branch, tr("Branch %1 of %2").arg(m_message.branch + 1).arg(m_message.branches));
    m_previous->setEnabled(m_message.branch > 0);
    m_next->setEnabled(m_message.branch + 1 < m_message.branches);
    setShown({m_previous, m_branch, m_next}, several && !isEdited);
}

void MessageFooter::refreshActions(bool shown, bool isLast) {
    const bool cutShort = m_message.state == Message::State::Stopped || m_message.state == Message::State::Failed;
    const bool canContinue =
        !isPrompt() && isLast && cutShort && !(m_message.text.isEmpty() && m_message.thought.text.isEmpty());
    if (shown) {
        makeActions();
    }
    setShown({m_copy}, shown && !m_message.text.isEmpty());
    setShown({m_edit, m_again, m_page}, shown);
    setShown({m_continue}, shown && canContinue);
}

void MessageFooter::refreshFigures(bool shown) {
    if (hasFigures() && !m_figures) {
        m_figures = makeButton({}, {});
        m_figures->setToolButtonStyle(Qt::ToolButtonTextOnly);
        connect(m_figures, &QToolButton::clicked, this, &MessageFooter::timelineRequested);
        restyle();
    }
    if (m_figures) {
        const QString figures = hasFigures() ? figuresText(*m_message.figures) : QString();
        const bool isSimulated = hasFigures() && m_message.figures->emulated;
        m_figures->setVisible(hasFigures() && shown);
        const QString drafts = hasFigures()
                                   ? draftsText(m_message.figures->drafted, m_message.figures->accepted,
                                                m_message.figures->tokensPerStep, m_message.figures->moreExperts)
                                   : QString();
        describe(
            *m_figures, tr("Figures of this answer: %1").arg(figures),
            (isSimulated ? tr("%1\nSimulated: what the emulated device would reach, worked out from its datasheet; "
                              "the text came at another speed here.\nClick for the timeline of its tokens")
                         : tr("%1\nClick for the timeline of its tokens"))
                .arg(drafts.isEmpty() ? figures : figures + u'\n' + drafts));
    }
}

int MessageFooter::widthOf(const QWidget* widget) const {
    const auto* const button = qobject_cast<const QToolButton*>(widget);
    const bool hasText = button != nullptr && button->toolButtonStyle() == Qt::ToolButtonTextBesideIcon;
    return widget == m_branch ? widget->sizeHint().width() + 4 : hasText ? widget->sizeHint().width() : kButton;
}

int MessageFooter::place(std::initializer_list<QWidget*> widgets, int x, int y) {
    for (QWidget* widget : widgets) {
        if (widget) {
            widget->setGeometry(x, y, widthOf(widget), kButton);
            x += widthOf(widget);
        }
    }
    return x;
}

bool MessageFooter::showsBranches() const {
    return m_branch && !m_branch->isHidden();
}

int MessageFooter::layOut(int width, int y, int gap, const QRect& bubble) {
    if (isPrompt() && m_copy) {
        place({m_copy, m_edit}, bubble.left() - kBesideBubble - 2 * kButton, bubble.bottom() - kButton - 4);
    }
    if (m_caption->isHidden() && (isPrompt() ? !showsBranches() : !isComplete())) {
        return y;
    }
    return isPrompt() ? layOutPrompt(width, y + gap) : layOutAnswer(width, y + gap);
}

// From the right.
int MessageFooter::layOutPrompt(int width, int y) {
    int bottom = y;
    int used = 0;
    if (showsBranches()) {
        used = 2 * kButton + widthOf(m_branch);
        bottom += kButton;
        place({m_previous, m_branch, m_next}, width - used, y);
    }
    if (m_caption->isHidden()) {
        return bottom;
    }
    m_caption->setWordWrap(false);
    const QSize natural = m_caption->sizeHint();
    if (natural.width() <= width - used - kBetween) {
        m_caption->setGeometry(width - used - natural.width() - 2, y + (kButton - natural.height()) / 2,
                               natural.width(), natural.height());
        bottom = y + kButton;
    } else {
        m_caption->setWordWrap(true);
        const int w = std::min(natural.width(), width);
        m_caption->setGeometry(width - w, bottom, w, m_caption->heightForWidth(w));
        bottom = m_caption->geometry().bottom() + 1;
    }
    return bottom;
}

// From the left. A note without room in the row, and its button, have rows of their own.
int MessageFooter::layOutAnswer(int width, int y) {
    int bottom = y + (isComplete() || showsBranches() ? kButton : 0);
    int x = -kButtonOutdent;
    if (showsBranches()) {
        x = place({m_previous, m_branch, m_next}, x, y);
    }
    if (isHelp()) {
        bottom = layOutHelp(width, x, y);
    } else if (isComplete()) {
        place({m_copy, m_edit, m_again}, x, y);
        x += 3 * kButton;
    }
    if (!m_caption->isHidden()) {
        m_caption->setWordWrap(false);
        const QSize natural = m_caption->sizeHint();
        const int at = std::max(0, x + kBetween);
        if (at + natural.width() <= width) {
            m_caption->setGeometry(at, y + (kButton - natural.height()) / 2, natural.width(), natural.height());
            bottom = std::max(bottom, y + kButton);
            x = at + natural.width();
        } else {
            m_caption->setWordWrap(true);
            m_caption->setGeometry(0, bottom, width, m_caption->heightForWidth(width));
            bottom = m_caption->geometry().bottom() + 1;
        }
    }
    if (m_continue && !m_continue->isHidden()) {
        const bool besides = x + kBetween + widthOf(m_continue) <= width;
        const int end = place({m_continue}, besides ? x + kBetween : -kButtonOutdent, besides ? y : bottom);
        x = besides ? end : x;
        bottom += besides ? 0 : kButton;
    }
    layOutFigures(x, width, y);
    return bottom;
}

// In as many rows as the width asks for.
int MessageFooter::layOutHelp(int width, int& x, int y) {
    const int top = y;
    for (QToolButton* button : {m_copy, m_page, m_again}) {
        if (x > 0 && x + widthOf(button) > width) {
            x = -kButtonOutdent;
            y += kButton;
        }
        x = place({button}, x, y);
    }
    x = y > top ? width : x;  // its note then has a row of its own
    return y + kButton;
}

// In the same row, at its right end: all of them, or what the room is enough for: the
// times, or the speed alone.
void MessageFooter::layOutFigures(int x, int width, int y) {
    if (!hasFigures()) {
        return;
    }
    constexpr int kPadding = 14;
    const QFontMetrics metrics = m_figures->fontMetrics();
    const int room = std::max(kButton, width - std::max(0, x + kBetween));
    const AnswerFigures& figures = *m_message.figures;
    const QStringList parts = figureParts(figures);
    const QString speed = tokenSpeedText(figures.tokensPerSecond, figures.emulated);
    QString text = figuresText(figures);
    for (const QString& shorter : {parts.first(parts.indexOf(speed) + 1).join(QStringLiteral(" · ")), speed}) {
        if (metrics.horizontalAdvance(text) + kPadding > room && figures.tokensPerSecond > 0) {
            text = shorter;
        }
    }
    const int w = std::min(metrics.horizontalAdvance(text) + kPadding, room);
    m_figures->setText(metrics.elidedText(text, Qt::ElideRight, w - kPadding + 4));
    m_figures->setGeometry(width - w, y, w, kButton);
}

void MessageFooter::restyle() {
    const Colours colours = Colours::of(m_parent.palette());
    QFont small = m_parent.font();
    small.setPointSizeF(small.pointSizeF() * 0.88);
    for (QLabel* label : {m_caption, m_branch}) {
        if (label) {
            label->setForegroundRole(QPalette::PlaceholderText);
            label->setFont(small);
        }
    }
    for (QToolButton* button : {m_figures, m_continue, m_page, isHelp() ? m_again : nullptr}) {
        if (button) {
            button->setFont(small);
            QPalette muted = m_parent.palette();
            muted.setColor(QPalette::ButtonText, colours.muted);
            if (button->palette().color(QPalette::ButtonText) != colours.muted) {
                button->setPalette(muted);
            }
        }
    }
    for (QToolButton* button : {m_copy, m_edit, m_again, m_continue, m_page, m_previous, m_next}) {
        if (button) {
            button->setIcon(mutedIcon(button->property("iconName").toString(), colours.muted));
        }
    }
}

void MessageFooter::copy() {
    QGuiApplication::clipboard()->setText(m_message.text);
    m_copy->setIcon(mutedIcon(QStringLiteral("check"), Colours::of(m_parent.palette()).accent));
    QTimer::singleShot(1200, this, &MessageFooter::restyle);
}

}  // namespace offstage::ui
