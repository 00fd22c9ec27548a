#include "ui/chat/message_attachments.h"

#include <algorithm>

#include <QFontDatabase>
#include <QKeyEvent>
#include <QPlainTextEdit>
#include <QTextBlock>
#include <QTextEdit>

#include "ui/base/found_colours.h"
#include "ui/base/theme.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/find_bar.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

constexpr int kMostShownLines = 16;
constexpr qsizetype kMostMarked = 1000;
constexpr int kAboveText = 6;
constexpr int kAroundText = 22;  // border and padding, of both sides

}  // namespace

MessageAttachments::MessageAttachments(QWidget* parent)
    : QWidget(parent), m_chips(new AttachmentChips(AttachmentChip::Kind::Opening, Qt::AlignRight, this)) {
    connect(m_chips, &AttachmentChips::clicked, this,
            [this](int index) { show(m_chips->chips()[index]->isChecked() ? index : -1); });
}

void MessageAttachments::setAttachments(const QList<Attachment>& attachments) {
    if (m_attachments == attachments) {
        return;
    }
    m_attachments = attachments;
    QList<AttachmentChips::File> files;
    for (const Attachment& attachment : attachments) {
        files.append({attachment.name, bytesText(static_cast<quint64>(attachment.bytes))});
    }
    m_chips->setFiles(files);
    show(-1);
}

void MessageAttachments::showWords(const QString& words) {
    const auto placesIn = [&words](const QString& text) {
        Message message;
        message.text = text;
        return placesOfWords(message, words);
    };
    const auto firstWith = [this, &placesIn](QString Attachment::*part) {
        const auto found = std::find_if(m_attachments.begin(), m_attachments.end(), [&](const Attachment& attachment) {
            return !placesIn(attachment.*part).isEmpty();
        });
        return found == m_attachments.end() ? -1 : static_cast<int>(found - m_attachments.begin());
    };
    int index = words.isEmpty() ? -1 : firstWith(&Attachment::text);
    if (index < 0 && !words.isEmpty()) {
        index = firstWith(&Attachment::name);
    }
    if (index < 0) {
        showFound({});
        return;
    }
    show(index);
    showFound(placesIn(m_attachments[index].text));
}

void MessageAttachments::showFound(const QList<QPair<int, int>>& found) {
    const bool isOther = found.isEmpty() != m_found.isEmpty();
    m_found = found;
    if (!m_steps && !m_found.isEmpty()) {
        m_steps = new HitSteps(this);
        connect(m_steps, &HitSteps::previous, this, [this] { goToFound(m_current - 1); });
        connect(m_steps, &HitSteps::next, this, [this] { goToFound(m_current + 1); });
    }
    if (m_steps) {
        m_steps->setVisible(!m_found.isEmpty());
    }
    if (!m_found.isEmpty()) {
        goToFound(0);
    } else if (m_text) {
        markFound();
    }
    if (isOther) {
        Q_EMIT heightChanged();
    }
}

// Round and round.
void MessageAttachments::goToFound(qsizetype index) {
    m_current = (index + m_found.size()) % m_found.size();
    m_steps->setHits(m_current, m_found.size());
    markFound();
    QTextCursor place(m_text->document());
    place.setPosition(m_found[m_current].first);
    m_text->setTextCursor(place);
    // After it was laid out.
    QMetaObject::invokeMethod(m_text, &QPlainTextEdit::centerCursor, Qt::QueuedConnection);
}

void MessageAttachments::markFound() {
    QList<QTextEdit::ExtraSelection> marks;
    for (qsizetype i = 0; i < m_found.size(); ++i) {
        if (i >= kMostMarked && i != m_current) {
            continue;
        }
        const auto& [begin, end] = m_found[i];
        const FoundColours colours = foundColours(isDark(palette()), i == m_current);
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(m_text->document());
        mark.cursor.setPosition(begin);
        mark.cursor.setPosition(end, QTextCursor::KeepAnchor);
        mark.format.setBackground(colours.background);
        mark.format.setForeground(colours.text);
        marks.append(mark);
    }
    m_text->setExtraSelections(marks);
}

void MessageAttachments::show(int index) {
    m_shown = index;
    showFound({});
    for (int i = 0; i < m_chips->chips().size(); ++i) {
        m_chips->chips()[i]->setChecked(i == index);
    }
    if (index >= 0) {
        if (!m_text) {
            m_text = new QPlainTextEdit(this);
            m_text->setReadOnly(true);
            m_text->setTabChangesFocus(true);
            m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
            m_text->installEventFilter(this);
            restyle();
        }
        m_text->setAccessibleName(tr("Text of %1").arg(m_attachments[index].name));
        QString text = m_attachments[index].text;
        if (text.endsWith(u'\n')) {
            text.chop(1);  // it ends the last line: no empty one follows
        }
        m_text->setPlainText(text);
    }
    if (m_text) {
        m_text->setVisible(index >= 0);
    }
    Q_EMIT heightChanged();
}

void MessageAttachments::restyle() {
    const Colours colours = Colours::of(palette());
    m_text->setStyleSheet(QStringLiteral("QPlainTextEdit { border: 1px solid %1; border-radius: 8px; background: %2; "
                                         "padding: 4px; } QPlainTextEdit:focus { border-color: %3; }")
                              .arg(colours.line.name(), colours.raised.name(), colours.accent.name()));
}

void MessageAttachments::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_text) {
        restyle();
        markFound();
    }
}

// As in the search of the conversation.
bool MessageAttachments::eventFilter(QObject* watched, QEvent* event) {
    const bool press = event->type() == QEvent::KeyPress;
    if (watched == m_text && !m_found.isEmpty() && (press || event->type() == QEvent::ShortcutOverride)) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter || key->key() == Qt::Key_F3) {
            event->accept();
            if (press) {
                goToFound(m_current + ((key->modifiers() & Qt::ShiftModifier) != 0 ? -1 : 1));
            }
            return press;
        }
    }
    return QWidget::eventFilter(watched, event);
}

// Lines of the shown text, wrapped, limited to those visible without scrolling.
int MessageAttachments::linesFor(int width) const {
    const int letters = std::max(1, width / std::max(1, m_text->fontMetrics().horizontalAdvance(u'x')));
    int lines = 0;
    for (QTextBlock block = m_text->document()->begin(); block.isValid() && lines < kMostShownLines;
         block = block.next()) {
        lines += 1 + std::max(0, block.length() - 2) / letters;  // its length counts the end of the line
    }
    return lines;
}

int MessageAttachments::layoutFor(int width) {
    int y = m_chips->heightForWidth(width);
    m_chips->setGeometry(0, 0, width, y);
    if (m_steps && !m_found.isEmpty()) {
        const QSize size = m_steps->sizeHint();
        m_steps->setGeometry(width - size.width(), y + kAboveText, size.width(), size.height());
        y += kAboveText + size.height();
    }
    if (m_text && m_shown >= 0) {
        const int lines = std::clamp(linesFor(width - kAroundText), 2, kMostShownLines);
        const int height = lines * m_text->fontMetrics().lineSpacing() + kAroundText;
        m_text->setGeometry(0, y + kAboveText, width, height);
        y += kAboveText + height;
    }
    return y;
}

}  // namespace offstage::ui
