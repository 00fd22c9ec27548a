// MessageBody's mouse, keyboard and clipboard.
#include <algorithm>

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QMenu>
#include <QTextCursor>
#include <QTextDocumentFragment>
#include <QUrl>

#include "ui/chat/message_body.h"

namespace offstage::ui {

MessageBody::Place MessageBody::placeAt(QPoint at) const {
    Place place;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        const Part& part = m_parts[i];
        if (i > 0 && at.y() < part.box.top()) {
            break;
        }
        place.part = static_cast<int>(i);
        place.position = part.document->documentLayout()->hitTest(at - part.textAt, Qt::FuzzyHit);
    }
    return place;
}

QString MessageBody::anchorAt(QPoint at) const {
    for (const Part& part : m_parts) {
        if (part.box.contains(at)) {
            return part.document->documentLayout()->anchorAt(at - part.textAt);
        }
    }
    return {};
}

std::pair<MessageBody::Place, MessageBody::Place> MessageBody::selection() const {
    return m_anchor < m_caret ? std::pair(m_anchor, m_caret) : std::pair(m_caret, m_anchor);
}

QString MessageBody::selectedText() const {
    const auto [from, to] = selection();
    QString text;
    for (int i = std::max(0, from.part); i <= to.part && from != to; ++i) {
        const Part& part = m_parts[static_cast<size_t>(i)];
        QTextCursor cursor(part.document.get());
        const int last = std::max(0, part.document->characterCount() - 1);
        cursor.setPosition(i == from.part ? std::min(from.position, last) : 0);
        cursor.setPosition(i == to.part ? std::min(to.position, last) : last, QTextCursor::KeepAnchor);
        if (i > from.part) {
            text += part.segment.continued ? u"\n" : u"\n\n";
        }
        text += cursor.selection().toPlainText();
    }
    return text;
}

void MessageBody::selectAll() {
    if (m_parts.empty()) {
        return;
    }
    m_anchor = {0, 0};
    m_caret = {static_cast<int>(m_parts.size()) - 1, m_parts.back().document->characterCount() - 1};
    update();
}

void MessageBody::copySelection() {
    const QString text = selectedText();
    if (!text.isEmpty()) {
        QGuiApplication::clipboard()->setText(text);
    }
}

void MessageBody::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) {
        return;
    }
    const Place place = placeAt(event->position().toPoint());
    if ((event->modifiers() & Qt::ShiftModifier) == 0 || m_anchor.part < 0) {
        m_anchor = place;
    }
    m_caret = place;
    m_selecting = true;
    update();
}

void MessageBody::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (m_selecting) {
        m_caret = placeAt(at);
        update();
        return;
    }
    const QString anchor = anchorAt(at);
    setCursor(anchor.isEmpty() ? Qt::IBeamCursor : Qt::PointingHandCursor);
    setToolTip(anchor);
}

void MessageBody::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !m_selecting) {
        return;
    }
    m_selecting = false;
    if (m_anchor == m_caret) {
        const QString anchor = anchorAt(event->position().toPoint());
        if (!anchor.isEmpty()) {
            QDesktopServices::openUrl(QUrl(anchor));  // http, https and mailto only: see renderSegment()
        }
    }
}

void MessageBody::mouseDoubleClickEvent(QMouseEvent* event) {
    const Place place = placeAt(event->position().toPoint());
    if (place.part < 0 || event->button() != Qt::LeftButton) {
        return;
    }
    QTextCursor word(m_parts[static_cast<size_t>(place.part)].document.get());
    word.setPosition(place.position);
    word.select(QTextCursor::WordUnderCursor);
    m_anchor = {place.part, word.selectionStart()};
    m_caret = {place.part, word.selectionEnd()};
    update();
}

void MessageBody::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy)) {
        copySelection();
    } else if (event->matches(QKeySequence::SelectAll)) {
        selectAll();
    } else {
        event->ignore();  // scrolling keys belong to the conversation
    }
}

void MessageBody::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    QAction* copy = menu.addAction(tr("&Copy"), this, &MessageBody::copySelection);
    copy->setEnabled(!selectedText().isEmpty());
    menu.addAction(tr("Copy the whole &message"), this, [this] { QGuiApplication::clipboard()->setText(m_source); });
    const QString anchor = anchorAt(event->pos());
    if (!anchor.isEmpty()) {
        menu.addAction(tr("Copy the &link"), this, [anchor] { QGuiApplication::clipboard()->setText(anchor); });
    }
    menu.addSeparator();
    menu.addAction(tr("Select &all"), this, &MessageBody::selectAll);
    menu.exec(event->globalPos());
}

void MessageBody::focusInEvent(QFocusEvent* event) {
    // A frame only for those who came by keyboard; a click shows its place by itself.
    m_focusByKey = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    QWidget::focusInEvent(event);
    update();
}

void MessageBody::focusOutEvent(QFocusEvent* event) {
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) {
        m_anchor = m_caret = {};
    }
    QWidget::focusOutEvent(event);
    update();
}

}  // namespace offstage::ui
