// MessageBody's mouse, keyboard and clipboard.
#include <algorithm>

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QMenu>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextTable>
#include <QUrl>

#include "ui/chat/message_body.h"
#include "ui/widgets/focus_ring.h"

namespace offstage::ui {

namespace {

// The text for the clipboard: formulas as their source, a table's cells separated by
// tabs.
QString textBetween(const QTextDocument& document, int from, int to) {
    QString text;
    int row = -1;
    for (QTextBlock block = document.findBlock(from); block.isValid() && block.position() <= to; block = block.next()) {
        const QTextTable* table = QTextCursor(block).currentTable();
        const int itsRow = table ? table->cellAt(block.position()).row() : -1;
        if (block.position() > from) {
            text += table && itsRow == row ? u'\t' : u'\n';
        }
        row = itsRow;
        QVariant formula;
        for (auto it = block.begin(); !it.atEnd(); ++it) {
            const QTextFragment fragment = it.fragment();
            const int first = std::max(from, fragment.position());
            const int last = std::min(to, fragment.position() + fragment.length());
            if (first >= last) {
                continue;
            }
            const QVariant number = fragment.charFormat().property(kMathNumberProperty);
            if (!number.isValid()) {
                text += fragment.text().mid(first - fragment.position(), last - first);
            } else if (number != formula) {
                text += fragment.charFormat().property(kMathSourceProperty).toString();
            }
            formula = number;
        }
    }
    text.replace(QChar(QChar::LineSeparator), u'\n');
    text.replace(QChar(QChar::Nbsp), u' ');
    return text;
}

}  // namespace

MessageBody::Place MessageBody::placeAt(QPoint at) const {
    Place place;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        const Part& part = m_parts[i];
        if (i > 0 && at.y() < part.box.top()) {
            break;
        }
        if (!part.document || part.stale) {
            continue;
        }
        place.part = static_cast<int>(i);
        place.position = part.document->documentLayout()->hitTest(at - part.textAt, Qt::FuzzyHit);
    }
    return place;
}

QTextCharFormat MessageBody::formatAt(QPoint at) const {
    for (const Part& part : m_parts) {
        if (part.box.contains(at) && part.document && !part.stale) {
            return part.document->documentLayout()->formatAt(at - part.textAt).toCharFormat();
        }
    }
    return {};
}

qsizetype MessageBody::sourceAt(QPoint at) const {
    const Place place = placeAt(at);
    return place.part < 0 ? -1 : m_parts[static_cast<size_t>(place.part)].map.sourceAt(place.position);
}

// Unlike placeAt(), which looks for the nearest gap between two characters.
qsizetype MessageBody::characterAt(QPoint at) const {
    for (const Part& part : m_parts) {
        if (!part.box.contains(at) || !part.document || part.stale) {
            continue;
        }
        const QAbstractTextDocumentLayout& layout = *part.document->documentLayout();
        const QPointF inside = at - part.textAt;
        const int nearest = layout.hitTest(inside, Qt::ExactHit);
        if (nearest < 0) {
            return -1;
        }
        const QTextBlock block = part.document->findBlock(nearest);
        const QPointF inBlock = inside - layout.blockBoundingRect(block).topLeft();
        for (int i = 0; i < block.layout()->lineCount(); ++i) {
            const QTextLine line = block.layout()->lineAt(i);
            if (inBlock.y() < line.y() || inBlock.y() >= line.y() + line.height()) {
                continue;
            }
            if (!line.naturalTextRect().contains(inBlock)) {
                return -1;
            }
            return part.map.sourceAt(block.position() + line.xToCursor(inBlock.x(), QTextLine::CursorOnCharacter));
        }
    }
    return -1;
}

void MessageBody::hover(qsizetype source) {
    if (m_reportsHover && source != m_hovered) {
        m_hovered = source;
        Q_EMIT hovered(source);
    }
}

void MessageBody::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    hover(-1);
}

std::pair<MessageBody::Place, MessageBody::Place> MessageBody::selection() const {
    return m_anchor < m_caret ? std::pair(m_anchor, m_caret) : std::pair(m_caret, m_anchor);
}

QString MessageBody::selectedText() {
    const auto [from, to] = selection();
    QString text;
    for (int i = std::max(0, from.part); i <= to.part && from != to; ++i) {
        const QTextDocument& document = documentOf(static_cast<size_t>(i));
        const int last = std::max(0, document.characterCount() - 1);
        if (i > from.part) {
            text += m_parts[static_cast<size_t>(i)].segment.continued ? u"\n" : u"\n\n";
        }
        text += textBetween(document, i == from.part ? std::min(from.position, last) : 0,
                            i == to.part ? std::min(to.position, last) : last);
    }
    return text;
}

void MessageBody::selectAll() {
    if (m_parts.empty()) {
        return;
    }
    m_anchor = {0, 0};
    m_caret = {static_cast<int>(m_parts.size()) - 1, documentOf(m_parts.size() - 1).characterCount() - 1};
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
    if ((event->modifiers() & Qt::ControlModifier) != 0) {  // Alt and a click belong to many window managers
        const qsizetype source = sourceAt(event->position().toPoint());
        if (source >= 0 && m_picksTokens) {
            m_anchor = m_caret = place;
            Q_EMIT tokenPicked(source);
        }
        return;
    }
    if ((event->modifiers() & Qt::ShiftModifier) == 0 || m_anchor.part < 0) {
        m_anchor = place;
    }
    m_caret = place;
    m_selecting = true;
    update();
}

void MessageBody::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    hover(m_selecting || !m_reportsHover ? -1 : characterAt(at));
    if (m_selecting) {
        m_caret = placeAt(at);
        update();
        return;
    }
    const QTextCharFormat format = formatAt(at);
    setCursor(format.anchorHref().isEmpty() ? Qt::IBeamCursor : Qt::PointingHandCursor);
    const QString formula = format.property(kMathSourceProperty).toString();
    const QString tip = format.anchorHref().isEmpty() ? formula : format.anchorHref();
    // Both come from the model: any markup in them is shown as characters.
    setToolTip(tip.isEmpty()
                   ? tip
                   : QStringLiteral("<qt>%1</qt>").arg(tip.toHtmlEscaped().replace(u'\n', QStringLiteral("<br>"))));
}

void MessageBody::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !m_selecting) {
        return;
    }
    m_selecting = false;
    if (m_anchor == m_caret) {
        const QString anchor = formatAt(event->position().toPoint()).anchorHref();
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
    QTextCursor word(&documentOf(static_cast<size_t>(place.part)));
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
    } else if (event->modifiers() == Qt::AltModifier &&
               (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)) {
        pickWord(event->key() == Qt::Key_Right);
    } else {
        event->ignore();  // scrolling keys belong to the conversation
    }
}

void MessageBody::pickWord(bool forward) {
    if (m_parts.empty()) {
        return;
    }
    // From the last selected place; at first from the top of the visible part.
    size_t part = m_caret.part >= 0 ? static_cast<size_t>(m_caret.part) : 0;
    QTextCursor cursor(&documentOf(part));
    cursor.setPosition(std::clamp(m_caret.part < 0 ? 0
                                  : forward        ? m_caret.position
                                                   : m_anchor.position,
                                  0, std::max(0, documentOf(part).characterCount() - 1)));
    bool first = m_caret.part < 0;
    const auto isWord = [&cursor] {
        QTextCursor word = cursor;
        word.select(QTextCursor::WordUnderCursor);
        const QString text = word.selectedText();
        return std::any_of(text.begin(), text.end(), [](QChar c) { return c.isLetterOrNumber(); });
    };
    while (true) {
        const bool moved = first || cursor.movePosition(forward ? QTextCursor::NextWord : QTextCursor::PreviousWord);
        first = false;
        if (!moved) {
            if (forward ? part + 1 >= m_parts.size() : part == 0) {
                return;
            }
            part += forward ? 1 : static_cast<size_t>(-1);
            cursor = QTextCursor(&documentOf(part));
            cursor.movePosition(forward ? QTextCursor::Start : QTextCursor::End);
            first = forward;
            continue;
        }
        if (isWord()) {
            break;
        }
    }
    cursor.select(QTextCursor::WordUnderCursor);
    m_anchor = {static_cast<int>(part), cursor.selectionStart()};
    m_caret = {static_cast<int>(part), cursor.selectionEnd()};
    update();
    const qsizetype source = m_parts[part].map.sourceAt(cursor.selectionStart());
    if (source >= 0 && m_picksTokens) {
        Q_EMIT tokenPicked(source);
    }
    hover(source);
}

void MessageBody::contextMenuEvent(QContextMenuEvent* event) {
    // The menu is opened without waiting for it: the message may be removed meanwhile,
    // which also removes the menu.
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    QAction* copy = menu->addAction(tr("&Copy"), this, &MessageBody::copySelection);
    copy->setEnabled(!selectedText().isEmpty());
    menu->addAction(tr("Copy the whole &message"), this, [this] { QGuiApplication::clipboard()->setText(m_source); });
    // By keyboard, at the word that was picked.
    const bool byKeyboard = event->reason() == QContextMenuEvent::Keyboard && m_caret.part >= 0;
    const Place from = selection().first;
    QPoint menuAt = event->globalPos();
    if (!m_isPlain && m_picksTokens) {
        const qsizetype under = byKeyboard ? -1 : characterAt(event->pos());
        const qsizetype source = byKeyboard   ? m_parts[static_cast<size_t>(from.part)].map.sourceAt(from.position)
                                 : under >= 0 ? under
                                              : sourceAt(event->pos());
        if (byKeyboard && source >= 0) {
            menuAt = mapToGlobal(rectOfSource(source).bottomLeft());
        }
        QAction* pick = menu->addAction(tr("Show its &experts"), this, [this, source] { Q_EMIT tokenPicked(source); });
        pick->setEnabled(source >= 0);
        Q_EMIT menuOpening(source, menu);
    } else if (m_isPlain) {
        Q_EMIT menuOpening(-1, menu);
    }
    const QString anchor = formatAt(event->pos()).anchorHref();
    if (!anchor.isEmpty()) {
        menu->addAction(tr("Copy the &link"), this, [anchor] { QGuiApplication::clipboard()->setText(anchor); });
    }
    menu->addSeparator();
    menu->addAction(tr("Select &all"), this, &MessageBody::selectAll);
    menu->popup(menuAt);
}

void MessageBody::focusInEvent(QFocusEvent* event) {
    // A frame only for focus by keyboard; a click shows its place by itself.
    delete m_ring;
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason) {
        m_ring = new FocusRing(*this);  // outside: within it would cross the text
    }
    QWidget::focusInEvent(event);
    update();
    Q_EMIT focused();
}

void MessageBody::focusOutEvent(QFocusEvent* event) {
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) {
        m_anchor = m_caret = {};
    }
    hover(-1);
    delete m_ring;
    QWidget::focusOutEvent(event);
    update();
}

}  // namespace offstage::ui
