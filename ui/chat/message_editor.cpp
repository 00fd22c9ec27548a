#include "ui/chat/message_editor.h"

#include <algorithm>
#include <cmath>

#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextBlock>

#include "ui/base/theme.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

constexpr int kMostEditedLines = 14;
constexpr int kFewestLines = 2;
constexpr int kPadding = 12;

}  // namespace

MessageEditor::MessageEditor(Of of, const QString& text, QWidget* parent)
    : QFrame(parent),
      m_of(of),
      m_edit(new QPlainTextEdit(text, this)),
      m_send(new QPushButton(of == Of::Prompt ? tr("Send as a new branch") : tr("Save as a new branch"), this)),
      m_leave(new QPushButton(tr("Cancel"), this)),
      m_hint(new QLabel(this)) {
    m_edit->setFrameShape(QFrame::NoFrame);
    const bool isPrompt = of == Of::Prompt;
    m_edit->setAccessibleName(isPrompt ? tr("Edit your message") : tr("Edit the answer"));
    m_edit->setAccessibleDescription(
        isPrompt ? tr("Enter sends it as a new branch, Shift and Enter begins a new line, Esc leaves it as it was")
                 : tr("Ctrl and Enter saves it as a new branch, Esc leaves it as it was"));
    m_edit->setTabChangesFocus(true);
    m_edit->viewport()->setAutoFillBackground(false);
    m_edit->moveCursor(QTextCursor::End);
    m_edit->installEventFilter(this);
    describe(*m_send, m_send->text(), isPrompt ? tr("Enter") : tr("Ctrl+Enter"));
    m_send->setDefault(true);
    describe(*m_leave, tr("Leave the message as it was"), tr("Esc"));
    m_hint->setText(tr("What was there stays, as a branch of its own."));
    m_hint->setTextFormat(Qt::PlainText);
    m_hint->setForegroundRole(QPalette::PlaceholderText);
    m_hint->setWordWrap(true);
    columnOf(this, {{m_edit, 1}, rowOf({{m_hint, 1}, m_leave, m_send})}, inset(kPadding, kPadding, kPadding, kPadding));
    connect(m_send, &QPushButton::clicked, this, &MessageEditor::accept);
    connect(m_leave, &QPushButton::clicked, this, &MessageEditor::left);
    connect(m_edit, &QPlainTextEdit::textChanged, this, [this] {
        m_send->setEnabled(!m_edit->toPlainText().trimmed().isEmpty());
        Q_EMIT heightChanged();
    });
}

QString MessageEditor::text() const {
    QString text = m_edit->document()->toRawText();
    text.replace(QChar::ParagraphSeparator, u'\n');
    text.replace(QChar::LineSeparator, u'\n');
    return text;
}

void MessageEditor::refuse(const QString& reason) {
    m_hint->setText(reason);
    m_hint->setForegroundRole(QPalette::Link);
}

QString MessageEditor::hint() const {
    return m_hint->text();
}

int MessageEditor::heightAt(int width) const {
    const QFontMetricsF metrics(m_edit->font());
    const double available = std::max(60, width - 2 * kPadding - 24);
    int lines = 0;
    for (QTextBlock block = m_edit->document()->begin(); block.isValid() && lines < kMostEditedLines;
         block = block.next()) {
        lines += 1 + static_cast<int>(metrics.horizontalAdvance(block.text().left(4000)) / available);
    }
    lines = std::clamp(lines, kFewestLines, kMostEditedLines);
    return static_cast<int>(std::ceil(lines * metrics.lineSpacing())) + 3 * kPadding + 12 + m_send->sizeHint().height();
}

void MessageEditor::accept() {
    if (!m_edit->toPlainText().trimmed().isEmpty()) {
        Q_EMIT accepted(text());
    }
}

bool MessageEditor::eventFilter(QObject* watched, QEvent* event) {
    // Esc is the window's Stop elsewhere: here it is taken before the shortcut sees it.
    const bool press = event->type() == QEvent::KeyPress;
    if (press || event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        const bool shift = (key->modifiers() & Qt::ShiftModifier) != 0;
        const bool ctrl = (key->modifiers() & Qt::ControlModifier) != 0;
        const bool newLine = shift || (m_of == Of::Answer && !ctrl);
        if (enter && newLine && press) {
            m_edit->textCursor().insertBlock();  // a paragraph, not the line separator that Qt would insert
            m_edit->ensureCursorVisible();
            return true;
        }
        if (key->key() == Qt::Key_Escape || (enter && !newLine)) {
            event->accept();
            if (press && enter) {
                accept();
            } else if (press) {
                Q_EMIT left();
            }
            return press;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void MessageEditor::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    painter.setPen(QPen(colours.accent, 1.6));
    painter.setBrush(colours.surface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 14, 14);
}

}  // namespace offstage::ui
