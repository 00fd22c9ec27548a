#include "ui/chat/message_attachments.h"

#include <algorithm>

#include <QEvent>
#include <QFontDatabase>
#include <QPlainTextEdit>
#include <QTextBlock>
#include <QTextEdit>

#include "ui/base/found_colours.h"
#include "ui/base/theme.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/conversation_find.h"
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
        m_found.clear();
        if (m_text) {
            markFound();
        }
        return;
    }
    show(index);
    m_found = placesIn(m_attachments[index].text);
    m_found.resize(std::min(m_found.size(), kMostMarked));
    markFound();
    if (!m_found.isEmpty()) {
        QTextCursor first(m_text->document());
        first.setPosition(m_found.front().first);
        m_text->setTextCursor(first);
        // After it was laid out.
        QMetaObject::invokeMethod(m_text, &QPlainTextEdit::centerCursor, Qt::QueuedConnection);
    }
}

void MessageAttachments::markFound() {
    const FoundColours colours = foundColours(isDark(palette()));
    QList<QTextEdit::ExtraSelection> marks;
    for (const auto& [begin, end] : std::as_const(m_found)) {
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
    m_found.clear();
    for (int i = 0; i < m_chips->chips().size(); ++i) {
        m_chips->chips()[i]->setChecked(i == index);
    }
    if (index >= 0) {
        if (!m_text) {
            m_text = new QPlainTextEdit(this);
            m_text->setReadOnly(true);
            m_text->setTabChangesFocus(true);
            m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
            restyle();
        }
        m_text->setAccessibleName(tr("Text of %1").arg(m_attachments[index].name));
        QString text = m_attachments[index].text;
        if (text.endsWith(u'\n')) {
            text.chop(1);  // it ends the last line: no empty one follows
        }
        m_text->setPlainText(text);
        markFound();
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
    if (m_text && m_shown >= 0) {
        const int lines = std::clamp(linesFor(width - kAroundText), 2, kMostShownLines);
        const int height = lines * m_text->fontMetrics().lineSpacing() + kAroundText;
        m_text->setGeometry(0, y + kAboveText, width, height);
        y += kAboveText + height;
    }
    return y;
}

}  // namespace offstage::ui
