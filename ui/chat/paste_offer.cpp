#include "ui/chat/paste_offer.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>

#include "ui/chat/attachment_file.h"
#include "ui/engine/format.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

PasteOffer::PasteOffer(QPlainTextEdit& edit, QWidget* parent)
    : QWidget(parent), m_edit(edit), m_question(textLabel(tr("Long text"))) {
    auto* attach = new QPushButton(tr("Attach as a file"));
    auto* keep = new QPushButton(tr("Keep as text"));
    columnOf(this, {m_question, rowOf({attach, keep, Stretch{1}})}, flush(6));
    hide();
    connect(attach, &QPushButton::clicked, this, &PasteOffer::accepted);
    connect(keep, &QPushButton::clicked, this, [this] {
        hide();
        m_edit.setFocus();
    });
    // Also where another conversation's draft takes its place. A document that is cleared
    // emits this while it keeps a list of its cursors, so none may be destroyed here.
    connect(edit.document(), &QTextDocument::contentsChanged, this, [this] {
        if (!m_range.hasSelection()) {
            hide();
        }
    });
}

void PasteOffer::pasted(int from, int to) {
    m_range = QTextCursor(m_edit.document());
    m_range.setPosition(from);
    m_range.setPosition(to, QTextCursor::KeepAnchor);
    const qint64 bytes = text().toUtf8().size();
    if (bytes <= kLongPaste || bytes > kLargestAttachment) {
        hide();
        return;
    }
    m_question->setText(tr("A long text (%1): attach it as a file?").arg(bytesText(static_cast<quint64>(bytes))));
    show();
}

QString PasteOffer::text() const {
    QString text = m_range.selectedText();
    return text.replace(QChar(QChar::ParagraphSeparator), u'\n').replace(QChar(QChar::LineSeparator), u'\n');
}

void PasteOffer::removeText() {
    m_range.removeSelectedText();
    hide();
}

}  // namespace offstage::ui
