#include "ui/chat/message_body.h"

#include <algorithm>

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextTable>
#include <QToolButton>
#include <QUrl>

#include "ui/widgets/fields.h"
#include "ui/widgets/focus_ring.h"

namespace offstage::ui {

namespace {

constexpr double kCorner = 8;

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

MessageBody::MessageBody(QWidget* parent) : QWidget(parent), m_text(TextStyle::of(font(), palette())) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setCursor(Qt::IBeamCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

MessageBody::~MessageBody() {
    delete m_ring;
}

void MessageBody::setPlainText(const QString& text) {
    m_text.setPlain(text);
    contentChanged(true);
}

void MessageBody::setMarkdown(const QString& text, bool complete) {
    m_text.setMarkdown(text, complete);
    contentChanged(true);
}

void MessageBody::appendMarkdown(const QString& text) {
    contentChanged(m_text.append(text));
}

void MessageBody::finishMarkdown() {
    m_text.finish();
    contentChanged(false);
}

void MessageBody::contentChanged(bool anew) {
    const auto isGone = [this](const Place& place) { return place.part >= static_cast<int>(m_text.parts().size()); };
    if (anew || isGone(m_anchor) || isGone(m_caret)) {
        m_anchor = m_caret = {};
    }
    if (m_width > 0) {
        layoutFor(m_width, m_window);
    }
    updateGeometry();
    update();
    Q_EMIT heightChanged();
}

int MessageBody::layoutFor(int width, const LayoutWindow& window) {
    m_width = width;
    m_window = window;
    int focused = -1;
    for (auto copy = m_copies.cbegin(); copy != m_copies.cend(); ++copy) {
        focused = copy.value()->hasFocus() ? copy.key() : focused;
    }
    m_height = m_text.layOut(width, window, focused);
    placeCopyButtons();
    return m_height;
}

// One in the header of each block of code that has a document.
void MessageBody::placeCopyButtons() {
    const std::vector<MessageText::Part>& parts = m_text.parts();
    const auto hasButton = [&parts](size_t i) {
        return i < parts.size() && parts[i].isCode() && !parts[i].segment.continued && parts[i].document;
    };
    for (const int part : m_copies.keys()) {
        if (!hasButton(static_cast<size_t>(part))) {
            QToolButton* button = m_copies.take(part);
            button->hide();
            button->deleteLater();
        }
    }
    for (size_t i = 0; i < parts.size(); ++i) {
        if (!hasButton(i)) {
            continue;
        }
        QToolButton*& button = m_copies[static_cast<int>(i)];
        if (button == nullptr) {
            button = new QToolButton(this);
            button->setText(tr("Copy"));
            button->setAutoRaise(true);
            button->setCursor(Qt::ArrowCursor);
            describe(*button, tr("Copy this code"), tr("Copy this code"));
            connect(button, &QToolButton::clicked, this,
                    [this, i] { QGuiApplication::clipboard()->setText(m_text.codeFrom(i)); });
            button->show();
        }
        const QSize size = button->sizeHint();
        button->setGeometry(m_width - size.width() - 6,
                            parts[i].box.top() + (MessageText::kCodeHeader - size.height()) / 2, size.width(),
                            size.height());
    }
}

QString MessageBody::plainText() {
    const QString text = m_text.plainText();
    if (m_width > 0) {
        layoutFor(m_width, m_window);  // lets go again of what does not show
    }
    return text;
}

int MessageBody::naturalWidth() const {
    const int width = m_text.naturalWidth();
    return width < 0 ? m_width : width;  // a text of many segments is as wide as it may be
}

QSize MessageBody::sizeHint() const {
    return {std::max(m_width, 100), m_height};
}

bool MessageBody::isBusy() const {
    return m_selecting || m_anchor != m_caret || hasFocus();
}

void MessageBody::setMarks(TextMark mark, const TextMarks::Ranges& ranges) {
    if (m_marks.set(mark, ranges)) {
        update();
    }
}

void MessageBody::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    const QRect clip = event->rect();
    for (size_t i = 0; i < m_text.parts().size(); ++i) {
        if (m_text.parts()[i].box.intersects(clip) && m_text.parts()[i].isShown()) {
            paintPart(painter, m_text.parts()[i], static_cast<int>(i), clip);
        }
    }
}

void MessageBody::paintPart(QPainter& painter, const MessageText::Part& part, int index, const QRect& clip) const {
    painter.save();
    if (part.isCode()) {
        const bool goesOn = m_text.goesOn(static_cast<size_t>(index));
        // If the card continues in the next segment its corners are outside of the
        // painted area.
        const QRectF card = QRectF(part.box).adjusted(0.5, part.segment.continued ? -2 * kCorner : 0.5, -0.5,
                                                      goesOn ? 2 * kCorner : -0.5);
        painter.setClipRect(part.box);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(m_text.style().colours.line);
        painter.setBrush(m_text.style().colours.raised);
        painter.drawRoundedRect(card, kCorner, kCorner);
        if (!part.segment.continued) {
            painter.setPen(m_text.style().colours.muted);
            QFont small = m_text.style().font;
            small.setPointSizeF(small.pointSizeF() * 0.88);
            painter.setFont(small);
            const QString language =
                part.segment.language.isEmpty() ? tr("text") : languageLabel(part.segment.language);
            painter.drawText(
                QRect(MessageText::kCodePadding, part.box.top(), part.box.width() - 100, MessageText::kCodeHeader),
                Qt::AlignVCenter | Qt::AlignLeft, language);
        }
    }
    painter.translate(part.textAt);
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette = palette();
    context.clip = QRectF(clip.translated(-part.textAt));
    painter.setClipRect(context.clip, Qt::IntersectClip);

    for (QTextBlock block = part.document->begin(); block.isValid(); block = block.next()) {
        const int depth = block.blockFormat().intProperty(kQuoteDepthProperty);
        if (depth > 0) {
            const QRectF area = part.document->documentLayout()->blockBoundingRect(block);
            for (int d = 0; d < depth; ++d) {
                painter.fillRect(QRectF(d * 16, area.top() - 4, 3, area.height() + 8), m_text.style().colours.line);
            }
        }
    }
    m_marks.addTo(context.selections, part, m_text.style());
    const auto [from, to] = selection();
    if (from != to && from.part <= index && index <= to.part) {
        QTextCursor cursor(part.document.get());
        const int last = std::max(0, part.document->characterCount() - 1);
        cursor.setPosition(from.part == index ? std::min(from.position, last) : 0);
        cursor.setPosition(to.part == index ? std::min(to.position, last) : last, QTextCursor::KeepAnchor);
        QAbstractTextDocumentLayout::Selection chosen;
        chosen.cursor = cursor;
        chosen.format.setBackground(palette().highlight());
        chosen.format.setForeground(palette().highlightedText());
        context.selections.append(chosen);
    }
    part.document->documentLayout()->draw(&painter, context);
    m_marks.paintSurprise(painter, part, m_text.style());
    painter.restore();
}

void MessageBody::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_text.setStyle(TextStyle::of(font(), palette()));
        contentChanged(true);
    }
}

MessageBody::Place MessageBody::placeAt(QPoint at) const {
    Place place;
    for (size_t i = 0; i < m_text.parts().size(); ++i) {
        const MessageText::Part& part = m_text.parts()[i];
        if (i > 0 && at.y() < part.box.top()) {
            break;
        }
        if (!part.isShown()) {
            continue;
        }
        place.part = static_cast<int>(i);
        place.position = part.document->documentLayout()->hitTest(at - part.textAt, Qt::FuzzyHit);
    }
    return place;
}

QTextCharFormat MessageBody::formatAt(QPoint at) const {
    for (const MessageText::Part& part : m_text.parts()) {
        if (part.box.contains(at) && part.isShown()) {
            return part.document->documentLayout()->formatAt(at - part.textAt).toCharFormat();
        }
    }
    return {};
}

qsizetype MessageBody::sourceAt(QPoint at) const {
    const Place place = placeAt(at);
    return place.part < 0 ? -1 : m_text.parts()[static_cast<size_t>(place.part)].map.sourceAt(place.position);
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
        const QTextDocument& document = m_text.documentOf(static_cast<size_t>(i));
        const int last = std::max(0, document.characterCount() - 1);
        if (i > from.part) {
            text += m_text.parts()[static_cast<size_t>(i)].segment.continued ? u"\n" : u"\n\n";
        }
        text += textBetween(document, i == from.part ? std::min(from.position, last) : 0,
                            i == to.part ? std::min(to.position, last) : last);
    }
    return text;
}

void MessageBody::selectAll() {
    if (m_text.parts().empty()) {
        return;
    }
    m_anchor = {0, 0};
    m_caret = {static_cast<int>(m_text.parts().size()) - 1,
               m_text.documentOf(m_text.parts().size() - 1).characterCount() - 1};
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
    hover(m_selecting || !m_reportsHover ? -1 : m_text.characterAt(at));
    if (m_selecting) {
        m_caret = placeAt(at);
        update();
        return;
    }
    const QTextCharFormat format = formatAt(at);
    setCursor(format.anchorHref().isEmpty() ? Qt::IBeamCursor : Qt::PointingHandCursor);
    const QString note = format.property(kNoteProperty).toString();
    const QString source = note.isEmpty() ? format.property(kMathSourceProperty).toString() : m_text.noteText(note);
    const QString tip = format.anchorHref().isEmpty() ? source : format.anchorHref();
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
            QDesktopServices::openUrl(QUrl(anchor));  // http, https, mailto and help only: see renderSegment()
        } else if (m_reportsHover) {
            Q_EMIT clicked(m_text.characterAt(event->position().toPoint()));
        }
    }
}

void MessageBody::mouseDoubleClickEvent(QMouseEvent* event) {
    const Place place = placeAt(event->position().toPoint());
    if (place.part < 0 || event->button() != Qt::LeftButton) {
        return;
    }
    QTextCursor word(&m_text.documentOf(static_cast<size_t>(place.part)));
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
    } else if (m_hovered >= 0 && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)) {
        Q_EMIT clicked(m_hovered);
    } else {
        event->ignore();  // scrolling keys belong to the conversation
    }
}

void MessageBody::pickWord(bool forward) {
    if (m_text.parts().empty()) {
        return;
    }
    // From the last selected place; at first from the top of the visible part.
    size_t part = m_caret.part >= 0 ? static_cast<size_t>(m_caret.part) : 0;
    QTextCursor cursor(&m_text.documentOf(part));
    cursor.setPosition(std::clamp(m_caret.part < 0 ? 0
                                  : forward        ? m_caret.position
                                                   : m_anchor.position,
                                  0, std::max(0, m_text.documentOf(part).characterCount() - 1)));
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
            if (forward ? part + 1 >= m_text.parts().size() : part == 0) {
                return;
            }
            part += forward ? 1 : static_cast<size_t>(-1);
            cursor = QTextCursor(&m_text.documentOf(part));
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
    const qsizetype source = m_text.parts()[part].map.sourceAt(cursor.selectionStart());
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
    menu->addAction(tr("Copy the whole &message"), this,
                    [this] { QGuiApplication::clipboard()->setText(m_text.source()); });
    // By keyboard, at the word that was picked.
    const bool byKeyboard = event->reason() == QContextMenuEvent::Keyboard && m_caret.part >= 0;
    const Place from = selection().first;
    QPoint menuAt = event->globalPos();
    if (!m_text.isPlain() && m_picksTokens) {
        const qsizetype under = byKeyboard ? -1 : m_text.characterAt(event->pos());
        const qsizetype source = byKeyboard ? m_text.parts()[static_cast<size_t>(from.part)].map.sourceAt(from.position)
                                 : under >= 0 ? under
                                              : sourceAt(event->pos());
        if (byKeyboard && source >= 0) {
            menuAt = mapToGlobal(m_text.rectOfSource(source).bottomLeft());
        }
        QAction* pick = menu->addAction(tr("Show its &experts"), this, [this, source] { Q_EMIT tokenPicked(source); });
        pick->setEnabled(source >= 0);
        Q_EMIT menuOpening(source, menu);
    } else if (m_text.isPlain()) {
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
