#include "ui/chat/message_widget.h"

#include <algorithm>
#include <utility>

#include <QDateTime>
#include <QEvent>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPlainTextEdit>

#include "ui/base/prompt_text.h"
#include "ui/base/theme.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/message_attachments.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_footer.h"
#include "ui/chat/thought_block.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kBubblePadX = 16;
constexpr int kBubblePadTop = 12;
constexpr int kBubblePadBottom = 8;  // the last line has its own space below
constexpr int kFooterGap = 6;
constexpr int kFooterHeight = 26;  // of a whole answer's, for estimates
constexpr double kBubbleCorner = 14;
constexpr double kBubbleShare = 0.84;  // of the width, at most
constexpr int kAuthorGap = 6;
constexpr int kTimeGap = 8;  // beside the author
constexpr int kDayGap = 18;
constexpr int kThoughtGap = 8;
constexpr int kAttachmentsGap = 6;
constexpr int kCutGap = 8;
constexpr int kThoughtOutdent = 5;
constexpr qsizetype kShortPrompt = 2000;  // characters; a longer one fills the widest bubble

}  // namespace

MessageWidget::MessageWidget(const Message& message, QWidget* parent)
    : QWidget(parent), m_body(new MessageBody(this)), m_footer(new MessageFooter(m_message, *this)) {
    if (message.kind == Message::Kind::Answer) {
        m_author = lineLabel();
        m_author->setParent(this);
    }
    connect(m_footer, &MessageFooter::editRequested, this, &MessageWidget::startEditing);
    connect(m_footer, &MessageFooter::regenerateRequested, this, [this] { Q_EMIT regenerateRequested(m_message.id); });
    connect(m_footer, &MessageFooter::continueRequested, this, [this] { Q_EMIT continueRequested(m_message.id); });
    connect(m_footer, &MessageFooter::branchRequested, this,
            [this](int branch) { Q_EMIT branchRequested(m_message.id, branch); });
    connect(m_footer, &MessageFooter::timelineRequested, this, [this] { Q_EMIT tokenTimelineRequested(m_message.id); });
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
        const auto placeOf = [this](qsizetype offset) {
            const QRect place = offset < 0 ? QRect() : m_body->text().rectOfSource(offset);
            return QRect(m_body->mapToGlobal(place.topLeft()), place.size());
        };
        connect(m_body, &MessageBody::hovered, this, [this, placeOf](qsizetype offset) {
            Q_EMIT sourceHovered(m_message.id, static_cast<int>(offset), placeOf(offset));
        });
        connect(m_body, &MessageBody::clicked, this, [this, placeOf](qsizetype offset) {
            Q_EMIT sourceClicked(m_message.id, static_cast<int>(offset), placeOf(offset));
        });
        connect(m_body, &MessageBody::menuOpening, this, [this](qsizetype offset, QMenu* menu) {
            Q_EMIT menuOpening(m_message.id, static_cast<int>(offset), menu);
            if (isComplete() && m_message.helpPage.isEmpty()) {
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
        m_author->setText(speakerOf(message));
        m_body->setAccessibleName(!message.helpPage.isEmpty() ? tr("Answer from the help")
                                  : message.edited            ? tr("Answer, edited by you")
                                                              : tr("Answer"));
    }
    if (complete) {
        m_body->setAccessibleDescription(message.text);
    }
    showTime();
    refreshFooter();
    Q_EMIT heightChanged();
}

void MessageWidget::showTime() {
    if (m_message.createdMs == 0) {
        return;
    }
    if (!m_time) {
        m_time = lineLabel();
        m_time->setParent(this);
        m_time->show();
        restyle();
    }
    const QDateTime when = QDateTime::fromMSecsSinceEpoch(m_message.createdMs);
    const QLocale locale;
    m_time->setText(locale.toString(when.time(), QLocale::ShortFormat));
    describe(*m_time, locale.toString(when, QLocale::LongFormat));
}

void MessageWidget::setDay(QDate day) {
    if (!day.isValid()) {
        delete std::exchange(m_day, nullptr);
        return;
    }
    if (!m_day) {
        m_day = lineLabel();
        m_day->setParent(this);
        m_day->show();
        restyle();
    }
    m_day->setText(QLocale().toString(day, QLocale::LongFormat));
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

void MessageWidget::showFile(const QString& words) {
    if (m_attachments) {
        m_attachments->showWords(words);
    }
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
    m_cut->setText(cutText(m_message));
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
    return m_footer->caption();
}

void MessageWidget::appendText(const QString& text) {
    m_message.text += text;
    m_body->appendMarkdown(text);
}

void MessageWidget::refreshFooter() {
    m_footer->refresh(m_hovered || m_focusInside, m_isLast, m_editor != nullptr);
    m_arranging = true;
    layOutFooter(width(), (isPrompt() ? m_bubble : m_body->geometry()).bottom() + 1);
    m_arranging = false;
}

void MessageWidget::setIsLast(bool last) {
    if (m_isLast != last) {
        m_isLast = last;
        refreshFooter();
    }
}

void MessageWidget::setFocusInside(bool inside) {
    if (m_focusInside != inside) {
        m_focusInside = inside;
        refreshFooter();
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
    refreshFooter();
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
    refreshFooter();
    update();
    Q_EMIT heightChanged();
}

int MessageWidget::layOutHead(int width) {
    int y = 0;
    if (m_day) {
        const QSize size = m_day->sizeHint();
        m_day->setGeometry((width - size.width()) / 2, y, size.width(), size.height());
        y += size.height() + kDayGap;
    }
    if (m_cut) {
        const int height = m_cut->heightForWidth(width);
        m_cut->setGeometry(0, y + kCutGap, width, height);
        y += height + 3 * kCutGap;
    }
    const QSize time = m_time ? m_time->sizeHint() : QSize();
    int timeAt = width - time.width();
    if (m_author) {
        const QSize size = m_author->sizeHint();
        timeAt = std::min(timeAt, size.width() + kTimeGap);
        m_author->setGeometry(0, y, m_time ? timeAt - kTimeGap : std::min(size.width(), width), size.height());
    }
    if (m_time) {
        m_time->setGeometry(timeAt, y, time.width(), time.height());
    }
    const QLabel* line = m_author ? m_author : m_time;
    return line ? line->geometry().bottom() + 1 + kAuthorGap : y;
}

int MessageWidget::layoutFor(int width, const LayoutWindow& window) {
    m_arranging = true;
    int y = layOutHead(width);
    if (m_attachments && !m_message.attachments.isEmpty()) {
        const int height = m_attachments->layoutFor(width);
        m_attachments->setGeometry(0, y, width, height);
        y += height + kAttachmentsGap;
    }
    if (m_thought) {
        // Its arrow is where the answer's text begins.
        const int height = m_thought->layoutFor(width + kThoughtOutdent, window.below(y));
        m_thought->setGeometry(-kThoughtOutdent, y, width + kThoughtOutdent, height);
        y += height + (m_body->source().isEmpty() && !m_editor ? 0 : kThoughtGap);
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

int MessageWidget::layOutFooter(int width, int y) {
    return m_editor ? y : m_footer->layOut(width, y, m_body->source().isEmpty() ? 0 : kFooterGap, m_bubble);
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
    const int head = prompt && message.createdMs == 0 ? 0 : metrics.height() + kAuthorGap;
    const int frame = files + cut + head + (prompt ? kBubblePadTop + kBubblePadBottom : 0) +
                      (message.thought.isEmpty() ? 0 : ThoughtBlock::foldedHeight(metrics) + kThoughtGap);
    // A text's last lines are half empty; a paragraph's end adds a gap.
    return frame + static_cast<int>(line * (1 + wrapped * 0.9 + breaks * 0.75)) +
           (prompt ? 0 : kFooterGap + kFooterHeight);
}

void MessageWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    if (m_day) {
        const QRect day = m_day->geometry();
        painter.setPen(colours.line);
        painter.drawLine(0, day.center().y(), day.left() - kDayGap, day.center().y());
        painter.drawLine(day.right() + kDayGap, day.center().y(), width(), day.center().y());
    }
    if (m_cut) {
        painter.setPen(QPen(colours.line, 1, Qt::DashLine));
        painter.drawLine(0, m_cut->y() - kCutGap, width(), m_cut->y() - kCutGap);
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
    refreshFooter();
}

void MessageWidget::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    m_hovered = false;
    refreshFooter();
}

void MessageWidget::restyle() {
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.88);
    for (QLabel* label : {m_time, m_day, m_cut}) {
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
    m_footer->restyle();
}

}  // namespace offstage::ui
