#include "ui/chat/message_widget.h"

#include <algorithm>
#include <utility>

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHash>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QTimer>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/theme.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/message_attachments.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/thought_block.h"
#include "ui/engine/format.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kBubblePadX = 16;
constexpr int kBubblePadTop = 12;
constexpr int kBubblePadBottom = 8;  // the last line has its own space below
constexpr int kCaptionGap = 6;
constexpr double kBubbleCorner = 14;
constexpr double kBubbleShare = 0.84;  // of the width, at most
constexpr int kButton = 26;
constexpr int kAuthorGap = 6;
constexpr int kThoughtGap = 8;
constexpr int kAttachmentsGap = 6;
constexpr int kCutGap = 8;
constexpr int kThoughtOutdent = 5;
constexpr qsizetype kShortPrompt = 2000;  // characters; a longer one fills the widest bubble

// Drawing an icon costs more than everything else of a message's buttons.
QIcon mutedIcon(const QString& name, const QColor& colour) {
    static QHash<QPair<QString, QRgb>, QIcon> made;
    QIcon& icon = made[{name, colour.rgba()}];
    if (icon.isNull()) {
        icon = colouredIcon(name, colour);
    }
    return icon;
}

}  // namespace

MessageWidget::MessageWidget(const Message& message, QWidget* parent)
    : QWidget(parent), m_body(new MessageBody(this)), m_caption(new QLabel(this)) {
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
    connect(m_body, &MessageBody::tokenPicked, this, [this](qsizetype offset) {
        if (!isPrompt()) {
            Q_EMIT tokenPicked(m_message.id, static_cast<int>(offset));
        }
    });
    if (message.kind == Message::Kind::Answer) {
        connect(m_body, &MessageBody::hovered, this, [this](qsizetype offset) {
            const QRect place = offset < 0 ? QRect() : m_body->text().rectOfSource(offset);
            Q_EMIT sourceHovered(m_message.id, static_cast<int>(offset),
                                 QRect(m_body->mapToGlobal(place.topLeft()), place.size()));
        });
        connect(m_body, &MessageBody::menuOpening, this, [this](qsizetype offset, QMenu* menu) {
            Q_EMIT menuOpening(m_message.id, static_cast<int>(offset), menu);
            if (isComplete()) {
                menu->addAction(tr("Edit this answer: a new branch"), this, &MessageWidget::startEditing);
            }
        });
    } else if (message.kind == Message::Kind::Prompt) {
        connect(m_body, &MessageBody::menuOpening, this, [this](qsizetype, QMenu* menu) {
            menu->addAction(tr("Edit this message: a new branch"), this, &MessageWidget::startEditing);
        });
    }
    restyle();
    m_message.kind = message.kind;
    m_message.text = QString(u'\0');  // differs from any text: setMessage() shows the first one
    setMessage(message);
}

void MessageWidget::setMessage(const Message& message) {
    const QString shown = m_message.text;
    m_message = message;
    const bool complete = isComplete();
    if (isPrompt()) {
        if (shown != message.text) {
            m_body->setPlainText(message.text);
        }
        m_body->setAccessibleName(tr("Your message"));
        showAttachments();
        showCut();
    } else {
        if (m_body->source() != message.text) {
            m_body->setMarkdown(message.text, complete);
        } else if (complete && !m_shownComplete) {
            m_body->finishMarkdown();
        }
        m_shownComplete = complete;
        setThought(message.thought);
        m_author->setText(message.author.isEmpty() ? tr("Offstage") : message.author);
        m_body->setAccessibleName(message.edited ? tr("Answer, edited by you") : tr("Answer"));
    }
    if (complete) {
        m_body->setAccessibleDescription(message.text);
    }
    refreshCaption();
    refreshBranches();
    refreshActions();
    refreshFigures();
    Q_EMIT heightChanged();
}

void MessageWidget::refreshCaption() {
    QStringList parts;
    if (m_message.edited) {
        parts += tr("Edited by you");
    }
    if (!m_message.note.isEmpty()) {
        parts += noteText(m_message.note);
    }
    const QString why =
        m_message.edited ? tr("You have changed this answer. What it was before is another branch.") : QString();
    m_caption->setText(parts.join(QStringLiteral(" · ")));
    m_caption->setToolTip(why);
    m_caption->setAccessibleDescription(why);
    m_caption->setVisible(!parts.isEmpty() && !m_editor);
}

void MessageWidget::refreshFigures() {
    // While more is written, they belong to the text before.
    const bool hasFigures = isComplete() && m_message.figures && m_message.figures->tokensIn > 0;
    if (hasFigures && !m_figures) {
        m_figures = makeButton({}, {});
        m_figures->setToolButtonStyle(Qt::ToolButtonTextOnly);
        connect(m_figures, &QToolButton::clicked, this, [this] { Q_EMIT tokenTimelineRequested(m_message.id); });
        restyle();
    }
    if (m_figures) {
        const QString figures = hasFigures ? figuresText(*m_message.figures) : QString();
        m_figures->setVisible(hasFigures && !m_editor);
        describe(*m_figures, tr("Figures of this answer: %1").arg(figures),
                 tr("%1\nClick for the timeline of its tokens").arg(figures));
    }
}

void MessageWidget::showAttachments() {
    if (!m_attachments && m_message.attachments.isEmpty()) {
        return;
    }
    if (!m_attachments) {
        m_attachments = new MessageAttachments(this);
        connect(m_attachments, &MessageAttachments::heightChanged, this, &MessageWidget::heightChanged);
    }
    m_attachments->setAttachments(m_message.attachments);
    m_attachments->setVisible(!m_message.attachments.isEmpty());
}

void MessageWidget::showCut() {
    if (!m_message.cut) {
        delete std::exchange(m_cut, nullptr);
        return;
    }
    if (!m_cut) {
        m_cut = textLabel();
        m_cut->setParent(this);
        m_cut->setAlignment(Qt::AlignHCenter);
        m_cut->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        m_cut->show();
        restyle();
    }
    m_cut->setText(m_message.cut->isEmpty()
                       ? tr("The model no longer sees what stands above.")
                       : tr("The model no longer sees what stands above, but this summary of it:") + u'\n' +
                             *m_message.cut);
}

void MessageWidget::setThought(const Thought& thought) {
    m_message.thought = thought;
    if (isPrompt() || thought.isEmpty()) {
        if (m_thought) {
            m_thought->hide();
            m_thought->deleteLater();
            m_thought = nullptr;
        }
        return;
    }
    const bool isNew = !m_thought;
    if (isNew) {
        m_thought = new ThoughtBlock(this);
        connect(m_thought, &ThoughtBlock::heightChanged, this, [this] {
            if (!m_arranging) {
                Q_EMIT heightChanged();
            }
        });
        connect(m_thought, &ThoughtBlock::unfoldedByPerson, this, [this](bool unfolded) {
            m_thoughtUnfolded = unfolded;
            Q_EMIT thoughtUnfolded(m_message.id, unfolded);
        });
    }
    m_thought->setThought(thought, thought.isOpen && !isComplete());
    if (isNew) {
        m_thought->setUnfolded(m_thoughtUnfolded);
        m_thought->show();
        Q_EMIT heightChanged();
    }
}

void MessageWidget::setThoughtUnfolded(bool unfolded) {
    m_thoughtUnfolded = unfolded;
    if (m_thought && m_thought->isUnfolded() != unfolded) {
        m_thought->setUnfolded(unfolded);
    }
}

bool MessageWidget::isBusy() const {
    return m_editor || m_body->isBusy() || m_focusInside || (m_thought && m_thought->isBusy()) ||
           (m_attachments && m_attachments->isUnfolded());
}

QString MessageWidget::caption() const {
    return m_caption->text();
}

void MessageWidget::appendText(const QString& text) {
    m_message.text += text;
    m_body->appendMarkdown(text);
}

QToolButton* MessageWidget::makeButton(const QString& icon, const QString& name) {
    auto* button = new QToolButton(this);
    button->setAutoRaise(true);
    button->setIconSize({16, 16});
    describe(*button, name, name);
    button->setProperty("iconName", icon);
    if (!icon.isEmpty()) {
        button->setIcon(mutedIcon(icon, Colours::of(palette()).muted));
    }
    button->hide();
    return button;
}

void MessageWidget::makeActions() {
    if (m_copy) {
        return;
    }
    m_copy = makeButton(QStringLiteral("copy"), tr("Copy the whole message"));
    connect(m_copy, &QToolButton::clicked, this, &MessageWidget::copy);
    m_edit = makeButton(QStringLiteral("edit"),
                        isPrompt() ? tr("Edit this message: a new branch") : tr("Edit this answer: a new branch"));
    connect(m_edit, &QToolButton::clicked, this, &MessageWidget::startEditing);
    if (isPrompt()) {
        return;
    }
    m_again = makeButton(QStringLiteral("again"), tr("Answer again: a new branch"));
    connect(m_again, &QToolButton::clicked, this, [this] { Q_EMIT regenerateRequested(m_message.id); });
    m_continue = makeButton(QStringLiteral("continue"), tr("Continue this answer"));
    connect(m_continue, &QToolButton::clicked, this, [this] { Q_EMIT continueRequested(m_message.id); });
}

void MessageWidget::refreshActions() {
    const bool complete = isComplete() && !m_editor;
    const bool wanted = complete && (m_hovered || m_focusInside || (m_isLast && !isPrompt()));
    if (wanted) {
        makeActions();
    }
    if (!m_copy) {
        return;
    }
    m_copy->setVisible(wanted && !m_message.text.isEmpty());
    if (m_edit) {
        m_edit->setVisible(wanted);
    }
    if (m_again) {
        m_again->setVisible(wanted);
        // An answer edited by the user can be continued while no message follows it.
        const bool stopped = m_message.state == Message::State::Stopped && (m_isLast || !m_message.edited);
        const bool cutShort = stopped || m_message.state == Message::State::Failed;
        m_continue->setVisible(wanted && cutShort && !(m_message.text.isEmpty() && m_message.thought.text.isEmpty()));
    }
    m_arranging = true;
    layOutFooter(width(), isPrompt() ? (m_editor ? 0 : m_bubble.bottom() + 1) : m_body->geometry().bottom() + 1);
    m_arranging = false;
}

void MessageWidget::refreshBranches() {
    const bool several = m_message.branches > 1;
    if (several && !m_branch) {
        m_previous = makeButton(QStringLiteral("left"), tr("The branch before"));
        m_next = makeButton(QStringLiteral("right"), tr("The next branch"));
        m_branch = new QLabel(this);
        m_branch->setTextFormat(Qt::PlainText);
        m_branch->setAlignment(Qt::AlignCenter);
        connect(m_previous, &QToolButton::clicked, this,
                [this] { Q_EMIT branchRequested(m_message.id, m_message.branch - 1); });
        connect(m_next, &QToolButton::clicked, this,
                [this] { Q_EMIT branchRequested(m_message.id, m_message.branch + 1); });
        restyle();
    }
    if (!m_branch) {
        return;
    }
    const QString text = tr("%1/%2").arg(m_message.branch + 1).arg(m_message.branches);
    m_branch->setText(text);
    describe(*m_branch, tr("Branch %1 of %2").arg(m_message.branch + 1).arg(m_message.branches));
    m_previous->setEnabled(m_message.branch > 0);
    m_next->setEnabled(m_message.branch + 1 < m_message.branches);
    for (QWidget* widget :
         {static_cast<QWidget*>(m_previous), static_cast<QWidget*>(m_next), static_cast<QWidget*>(m_branch)}) {
        widget->setVisible(several && !m_editor);
    }
}

void MessageWidget::setIsLast(bool last) {
    if (m_isLast != last) {
        m_isLast = last;
        refreshActions();
    }
}

void MessageWidget::setFocusInside(bool inside) {
    if (m_focusInside != inside) {
        m_focusInside = inside;
        refreshActions();
    }
}

void MessageWidget::startEditing() {
    if (!m_editor) {
        openEditor(m_message.text);
    }
    if (m_editor) {
        m_editor->edit().setFocus();
        Q_EMIT editorResized();
    }
}

void MessageWidget::openEditor(const QString& text) {
    if (m_editor || !isComplete()) {
        return;
    }
    m_editor = new MessageEditor(isPrompt() ? MessageEditor::Of::Prompt : MessageEditor::Of::Answer, text, this);
    connect(m_editor, &MessageEditor::left, this, &MessageWidget::stopEditing);
    connect(m_editor, &MessageEditor::heightChanged, this, [this] {
        Q_EMIT heightChanged();
        Q_EMIT editorResized();
    });
    connect(m_editor, &MessageEditor::accepted, this, [this](const QString& now) {
        if (now == m_message.text) {
            stopEditing();
        } else if (isPrompt()) {
            Q_EMIT promptEdited(m_message.id, now);  // who takes it closes the editor
        } else {
            Q_EMIT answerEdited(m_message.id, now);
        }
    });
    m_body->hide();
    m_editor->show();
    refreshCaption();
    refreshBranches();
    refreshActions();
    refreshFigures();
    update();
    Q_EMIT heightChanged();
}

void MessageWidget::stopEditing() {
    if (!m_editor) {
        return;
    }
    m_editor->hide();
    m_editor->deleteLater();  // its own signal may have led here
    m_editor = nullptr;
    m_body->show();
    m_body->setFocus();
    refreshCaption();
    refreshBranches();
    refreshActions();
    refreshFigures();
    update();
    Q_EMIT heightChanged();
}

int MessageWidget::layoutFor(int width, const LayoutWindow& window) {
    m_arranging = true;
    int y = 0;
    if (m_cut) {
        const int height = m_cut->heightForWidth(width);
        m_cut->setGeometry(0, kCutGap, width, height);
        y = height + 3 * kCutGap;
    }
    if (m_attachments && !m_message.attachments.isEmpty()) {
        const int height = m_attachments->layoutFor(width);
        m_attachments->setGeometry(0, y, width, height);
        y += height + kAttachmentsGap;
    }
    if (!isPrompt()) {
        m_author->setGeometry(0, 0, width, m_author->sizeHint().height());
        y = m_author->height() + kAuthorGap;
        if (m_thought) {
            // Its arrow is where the answer's text begins.
            const int height = m_thought->layoutFor(width + kThoughtOutdent, window.below(y));
            m_thought->setGeometry(-kThoughtOutdent, y, width + kThoughtOutdent, height);
            y += height + (m_body->source().isEmpty() && !m_editor ? 0 : kThoughtGap);
        }
    }
    if (m_editor) {
        const int height = m_editor->heightAt(width);
        m_editor->setGeometry(0, y, width, height);
        m_bubble = {};
        m_arranging = false;
        return y + height;
    }
    if (isPrompt()) {
        const int widest = std::max(80, static_cast<int>(width * kBubbleShare) - 2 * kBubblePadX);
        if (m_bubbleFor != width) {
            // The bubble is as wide as its longest line: it is laid out with the largest
            // width first, then with that width.
            m_textWidth = widest;
            if (m_message.text.size() <= kShortPrompt) {
                m_body->layoutFor(widest);
                m_textWidth = std::clamp(m_body->naturalWidth() + 1, 24, widest);
            }
            m_bubbleFor = width;
        }
        const int textHeight = m_body->layoutFor(m_textWidth, window.below(y + kBubblePadTop));
        m_bubble = QRect(width - m_textWidth - 2 * kBubblePadX, y, m_textWidth + 2 * kBubblePadX,
                         textHeight + kBubblePadTop + kBubblePadBottom);
        m_body->setGeometry(m_bubble.adjusted(kBubblePadX, kBubblePadTop, -kBubblePadX, -kBubblePadBottom));
        y = m_bubble.bottom() + 1;
    } else {
        const int height = m_body->layoutFor(width, window.below(y));
        m_body->setGeometry(0, y, width, height);
        y += height;
    }
    y = layOutFooter(width, y);
    m_arranging = false;
    return y;
}

// The row below the text; its height is the same with and without buttons, so that
// hovering moves nothing. A prompt's buttons are beside its bubble, where there is always
// room for them.
int MessageWidget::layOutFooter(int width, int y) {
    if (m_editor) {
        return y;
    }
    const bool right = isPrompt();
    const bool branches = m_branch && !m_branch->isHidden();
    int x = right ? m_bubble.left() - 4 : 0;
    if (right) {
        for (QToolButton* button : {m_edit, m_copy}) {
            if (button) {
                x -= kButton;
                button->setGeometry(x, m_bubble.bottom() - kButton - 4, kButton, kButton);
            }
        }
    }
    const bool hasRow = right ? branches || !m_caption->isHidden() : isComplete() || !m_caption->isHidden();
    if (!hasRow) {
        return y;
    }
    y += m_body->source().isEmpty() ? 0 : kCaptionGap;
    QList<QWidget*> row;
    if (branches) {
        row << m_previous << m_branch << m_next;
    }
    for (QToolButton* button : {right ? nullptr : m_copy, right ? nullptr : m_edit, m_again, m_continue}) {
        if (button && !button->isHidden()) {
            row << button;
        }
    }
    int used = 0;
    const auto widthOf = [this](const QWidget* widget) {
        return widget == m_branch ? widget->sizeHint().width() + 4 : kButton;
    };
    for (const QWidget* widget : row) {
        used += widthOf(widget);
    }
    x = right ? width - used : -4;
    for (QWidget* widget : row) {
        widget->setGeometry(x, y, widthOf(widget), kButton);
        x += widthOf(widget);
    }
    // The room of buttons is kept free, also while they are hidden.
    const int kept = right ? used : std::max(used, isComplete() ? 4 * kButton + (branches ? 84 : 0) : 0);
    int free = std::max(0, width - kept - 8);
    int bottom = y + (isComplete() || branches ? kButton : 0);
    if (m_figures && !m_figures->isHidden()) {
        const QString text = figuresText(*m_message.figures);
        const int natural = m_figures->fontMetrics().horizontalAdvance(text) + 14;
        const bool besides = natural <= free;
        const int w = std::min(natural, width);
        m_figures->setText(m_figures->fontMetrics().elidedText(text, Qt::ElideRight, w - 10));
        m_figures->setGeometry(besides ? width - w : -4, besides ? y : bottom, w, kButton);
        bottom += besides ? 0 : kButton;
        free -= besides ? w + 8 : 0;
    }
    if (!m_caption->isHidden()) {
        m_caption->setWordWrap(false);
        const int natural = m_caption->sizeHint().width();
        const int w = std::min(natural, width);
        m_caption->setWordWrap(natural > w);
        const int h = m_caption->wordWrap() ? m_caption->heightForWidth(w) : m_caption->sizeHint().height();
        if (natural <= free) {
            const int at = right ? width - kept - natural - 2 : kept + (kept > 0 ? 4 : 0);
            m_caption->setGeometry(at, y + std::max(0, (kButton - h) / 2), natural, h);
            bottom = std::max(bottom, y + std::max(h, kButton));
        } else {
            m_caption->setGeometry(right ? width - w : 0, bottom, w, h);
            bottom += h;
        }
    }
    return bottom;
}

MessageText::Anchor MessageWidget::anchorAt(int y) const {
    const MessageText::Anchor anchor = m_body->text().anchorAt(y - m_body->y());
    return m_editor || anchor.segment < 0 ? MessageText::Anchor{-1, y} : anchor;
}

int MessageWidget::yOf(const MessageText::Anchor& anchor) const {
    return anchor.segment < 0 ? anchor.offset : m_body->y() + m_body->text().yOf(anchor);
}

int MessageWidget::yOfSource(qsizetype offset) const {
    return m_body->y() + m_body->text().yOfSource(offset);
}

int MessageWidget::estimatedHeight(const Message& message, int width, const QFontMetrics& metrics) {
    const bool prompt = message.kind == Message::Kind::Prompt;
    const double textWidth = prompt ? std::max(80.0, width * kBubbleShare - 2 * kBubblePadX) : width;
    const auto breaks = static_cast<double>(message.text.count(u'\n'));
    const double wrapped = static_cast<double>(message.text.size()) * metrics.averageCharWidth() / textWidth;
    const double line = metrics.height() * 1.32;
    const int files = message.attachments.isEmpty()
                          ? 0
                          : AttachmentChips::estimatedHeight(message.attachments.size(), metrics) + kAttachmentsGap;
    const int cut = message.cut ? static_cast<int>(3 * kCutGap + line * (1 + static_cast<double>(message.cut->size()) *
                                                                                 metrics.averageCharWidth() / width))
                                : 0;
    const int frame = files + cut + (prompt ? kBubblePadTop + kBubblePadBottom : metrics.height() + kAuthorGap) +
                      (message.thought.isEmpty() ? 0 : ThoughtBlock::foldedHeight(metrics) + kThoughtGap);
    // A text's last lines are half empty; a paragraph's end adds a gap.
    return frame + static_cast<int>(line * (1 + wrapped * 0.9 + breaks * 0.75)) + (prompt ? 0 : kCaptionGap + kButton);
}

void MessageWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    if (m_cut) {
        painter.setPen(QPen(colours.line, 1, Qt::DashLine));
        painter.drawLine(0, 0, width(), 0);
    }
    if (!isPrompt() || m_editor) {
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
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

void MessageWidget::enterEvent(QEnterEvent* event) {
    QWidget::enterEvent(event);
    m_hovered = true;
    refreshActions();
}

void MessageWidget::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    m_hovered = false;
    refreshActions();
}

void MessageWidget::restyle() {
    const Colours colours = Colours::of(palette());
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.88);
    for (QLabel* label : {m_caption, m_branch, m_cut}) {
        if (label) {
            label->setForegroundRole(QPalette::PlaceholderText);
            label->setFont(small);
        }
    }
    if (m_author) {
        m_author->setForegroundRole(QPalette::PlaceholderText);
        QFont name = small;
        name.setWeight(QFont::DemiBold);
        m_author->setFont(name);
    }
    if (m_figures) {
        m_figures->setFont(small);
        QPalette muted = palette();
        muted.setColor(QPalette::ButtonText, colours.muted);
        if (m_figures->palette().color(QPalette::ButtonText) != colours.muted) {
            m_figures->setPalette(muted);
        }
    }
    for (QToolButton* button : {m_copy, m_edit, m_again, m_continue, m_previous, m_next}) {
        if (button) {
            button->setIcon(mutedIcon(button->property("iconName").toString(), colours.muted));
        }
    }
}

void MessageWidget::copy() {
    QGuiApplication::clipboard()->setText(m_message.text);
    m_copy->setIcon(mutedIcon(QStringLiteral("check"), Colours::of(palette()).accent));
    QTimer::singleShot(1200, this, &MessageWidget::restyle);
}

}  // namespace offstage::ui
