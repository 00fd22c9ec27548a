#include "ui/chat/message_text.h"

#include <algorithm>
#include <cmath>

#include <QAbstractTextDocumentLayout>
#include <QFontMetricsF>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>

namespace offstage::ui {

namespace {

constexpr int kSegmentGap = 12;          // between segments
constexpr int kKeepAround = 2400;        // pixels around the window in which documents are kept
constexpr qsizetype kPlainPiece = 4096;  // characters of a prompt in one document, cut at a line's end
constexpr int kTableSeam = 4;            // a table's height beyond its rows: two borders overlap

using Kind = MarkdownSegment::Kind;

QString shownCode(const QString& text) {
    return text.endsWith(u'\n') ? text.chopped(1) : text;
}

}  // namespace

void MessageText::setStyle(const TextStyle& style) {
    m_style = style;
    rebuild();
}

void MessageText::setPlain(const QString& text) {
    m_source = text;
    m_isPlain = true;
    rebuild();
}

void MessageText::setMarkdown(const QString& text, bool complete) {
    m_isPlain = false;
    m_source = text;
    m_isFinished = complete;
    m_splitter = {};
    m_splitter.append(text);
    if (complete) {
        m_splitter.finish();
    }
    rebuild();
}

bool MessageText::append(const QString& markdown) {
    if (m_isPlain) {
        setMarkdown(markdown, false);
        return true;
    }
    if (m_isFinished) {  // the answer is continued: its last block, which was closed, is reopened
        setMarkdown(m_source + markdown, false);
        return true;
    }
    m_source += markdown;
    m_splitter.append(markdown);
    renderGrowing();
    return false;
}

void MessageText::finish() {
    m_isFinished = true;
    m_splitter.finish();
    renderGrowing();
}

void MessageText::rebuild() {
    m_parts.clear();
    m_notes.clear();
    m_frozen = 0;
    const QFontMetricsF prose(m_style.font);
    m_lineHeight = prose.height() * 1.32;
    m_characterWidth = std::max(1.0, prose.averageCharWidth());
    m_codeLineHeight = QFontMetricsF(m_style.code).height() * 1.18;
    if (m_isPlain) {
        qsizetype from = 0;
        do {
            qsizetype to = m_source.size();
            if (to - from > kPlainPiece) {
                const qsizetype end = m_source.indexOf(u'\n', from + kPlainPiece);
                to = end < 0 ? to : end;
            }
            Part& part = m_parts.emplace_back();
            part.plain = true;
            part.segment.text = m_source.mid(from, to - from);
            part.segment.lines = {{0, from}};
            part.segment.continued = from > 0;
            from = to + 1;
        } while (from < m_source.size());
        m_frozen = m_parts.size();
    } else {
        renderGrowing();
    }
}

void MessageText::setPart(size_t index, const MarkdownSegment& segment) {
    const bool isNew = index >= m_parts.size();
    if (isNew) {
        m_parts.emplace_back();
    }
    Part& part = m_parts[index];
    if (!isNew && part.segment == segment) {
        return;  // the growing segments finished unchanged
    }
    const bool sameCode = !isNew && !part.stale && segment.kind == Kind::Code && part.segment.kind == Kind::Code &&
                          segment.language == part.segment.language && segment.continued == part.segment.continued;
    const QString before = shownCode(part.segment.text);
    const QString now = shownCode(segment.text);
    part.segment = segment;
    if (sameCode && part.document && !before.isEmpty() && now.startsWith(before)) {
        ++m_renderCount;
        m_renderedCharacters += now.size() - before.size();
        QTextCursor end(part.document.get());
        const int firstLine = part.document->blockCount() - 1;
        end.beginEditBlock();
        end.movePosition(QTextCursor::End);
        end.insertText(now.mid(before.size()));
        part.map = SourceMap::ofLines(segment);
        colourCode(index, firstLine);
        end.endEditBlock();
        if (part.laidOutFor > 0) {
            part.textHeight = static_cast<int>(std::ceil(part.document->size().height()));
        }
    } else {
        part.stale = true;
        part.laidOutFor = -1;
        part.lexStates.clear();
    }
}

// A reference shows as one as soon as its footnote is there, which comes later as a rule.
void MessageText::takeNotes(size_t first) {
    const qsizetype before = m_notes.size();
    for (size_t i = first; i < m_parts.size(); ++i) {
        if (!m_parts[i].segment.note.isEmpty()) {
            m_notes.insert(m_parts[i].segment.note);
        }
    }
    if (m_notes.size() == before) {
        return;
    }
    for (Part& part : m_parts) {
        if (!part.isCode() && part.segment.text.contains(u"[^")) {
            part.stale = true;
            part.laidOutFor = -1;
        }
    }
}

QString MessageText::noteText(const QString& label) const {
    const auto part =
        std::find_if(m_parts.begin(), m_parts.end(), [&label](const Part& each) { return each.segment.note == label; });
    const QString text = part == m_parts.end() ? QString() : part->segment.text;
    return text.mid(text.indexOf(u"]:") + 2).simplified();
}

void MessageText::renderGrowing() {
    const size_t before = m_frozen;
    const QList<MarkdownSegment>& finished = m_splitter.finished();
    for (qsizetype i = static_cast<qsizetype>(m_frozen); i < finished.size(); ++i) {
        setPart(static_cast<size_t>(i), finished[i]);
    }
    m_frozen = static_cast<size_t>(finished.size());
    const QList<MarkdownSegment> growing = m_splitter.growing();
    for (qsizetype i = 0; i < growing.size(); ++i) {
        setPart(m_frozen + static_cast<size_t>(i), growing[i]);
    }
    while (m_parts.size() > m_frozen + static_cast<size_t>(growing.size())) {
        m_parts.pop_back();
    }
    takeNotes(before);
}

QTextDocument& MessageText::documentOf(size_t index) {
    if (m_parts[index].stale || !m_parts[index].document) {
        renderPart(index);
    }
    return *m_parts[index].document;
}

void MessageText::renderPart(size_t index) {
    Part& part = m_parts[index];
    ++m_renderCount;
    m_renderedCharacters += part.segment.text.size();
    // A new one each time: a document that has a layout would be laid out for its new
    // text, for its table's width and for its own width, one after the other; a new one
    // only once, when all are known.
    part.document = std::make_unique<QuietDocument>();
    if (part.plain) {
        renderPlain(part.segment.text, m_style, *part.document);
        part.map = SourceMap::ofLines(part.segment);
    } else {
        if (part.segment.kind == Kind::Table && part.segment.continued) {
            // A continued table takes the columns of the segment it begins with.
            size_t first = index;
            while (first > 0 && m_parts[first].segment.continued) {
                --first;
            }
            if (m_parts[first].columns.isEmpty() && first != index) {
                documentOf(first);
            }
            part.columns = m_parts[first].columns;
        }
        renderSegment(part.segment, m_style, m_notes, *part.document, part.columns, part.map);
    }
    part.stale = false;
    part.laidOutFor = -1;
    if (part.isCode()) {
        part.lexStates.clear();
        colourCode(index, 0);
    }
}

// The lexer's state at the beginning of a segment of code: that at the end of the segment
// before it.
LexState MessageText::stateBefore(size_t index, const CodeLanguage& language) const {
    size_t first = index;
    while (first > 0 && m_parts[first].segment.continued && m_parts[first].lexStates.isEmpty()) {
        --first;
    }
    LexState state = m_parts[first].lexStates.isEmpty() ? LexState{} : m_parts[first].lexStates.first();
    for (size_t i = first; i < index; ++i) {
        const QString code = shownCode(m_parts[i].segment.text);
        for (const QStringView line : QStringView(code).split(u'\n')) {
            lexLine(language, line, state);
        }
    }
    return state;
}

void MessageText::colourCode(size_t index, int firstLine) {
    Part& part = m_parts[index];
    const CodeLanguage* language = findLanguage(part.segment.language);
    if (!language) {
        return;
    }
    if (part.lexStates.isEmpty()) {
        part.lexStates.append(stateBefore(index, *language));
        firstLine = 0;
    }
    firstLine = std::min(firstLine, static_cast<int>(part.lexStates.size()) - 1);
    part.lexStates.resize(firstLine + 1);
    LexState state = part.lexStates.last();
    for (QTextBlock block = part.document->findBlockByNumber(firstLine); block.isValid(); block = block.next()) {
        const QString line = block.text();
        QList<QTextLayout::FormatRange> ranges;
        for (const CodeSpan& span : lexLine(*language, line, state)) {
            QTextLayout::FormatRange range;
            range.start = span.begin;
            range.length = span.length;
            range.format.setForeground(toneColour(span.tone, m_style.dark));
            range.format.setFontItalic(span.tone == CodeTone::Comment);
            ranges.append(range);
        }
        block.layout()->setFormats(ranges);
        if (block.next().isValid()) {
            part.lexStates.append(state);
        }
    }
}

QString MessageText::codeFrom(size_t index) const {
    QString code;
    for (size_t i = index; i < m_parts.size(); ++i) {
        const MarkdownSegment& segment = m_parts[i].segment;
        if (segment.kind != Kind::Code || (i != index && !segment.continued)) {
            break;
        }
        code += segment.text;
    }
    return code;
}

void MessageText::layOutPart(size_t index, int textWidth) {
    documentOf(index);
    Part& part = m_parts[index];
    if (part.laidOutFor == textWidth) {
        return;
    }
    if (part.segment.kind == Kind::Table) {
        fitTable(*part.document, part.columns, textWidth);
    }
    if (part.isCode()) {
        QTextOption option = part.document->defaultTextOption();
        option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
        part.document->setDefaultTextOption(option);
    }
    part.document->setTextWidth(textWidth);
    part.laidOutFor = textWidth;
    part.textHeight = static_cast<int>(std::ceil(part.document->size().height()));
}

int MessageText::estimatedHeight(const Part& part, int textWidth) const {
    if (part.laidOutFor > 0) {
        const bool wraps = !part.isCode();
        return wraps ? static_cast<int>(static_cast<qint64>(part.textHeight) * part.laidOutFor / textWidth)
                     : part.textHeight;
    }
    const auto breaks = static_cast<double>(part.segment.text.count(u'\n'));
    const double size = static_cast<double>(part.segment.text.size());
    double height = 0;
    if (part.isCode()) {
        height = m_codeLineHeight * std::max(1.0, breaks);
    } else if (part.segment.kind == Kind::Table) {
        height = (m_lineHeight + 13) * std::max(1.0, breaks - (part.segment.continued ? 2 : 1));
    } else {
        height = m_lineHeight * (1 + 0.8 * breaks + std::floor(size * m_characterWidth / textWidth));
    }
    return static_cast<int>(height);
}

int MessageText::layOut(int width, const LayoutWindow& window, int kept) {
    int y = 0;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        const bool code = m_parts[i].isCode();
        const int inset = code ? kCodePadding : 0;
        const int textWidth = std::max(40, width - 2 * inset);
        int textHeight = estimatedHeight(m_parts[i], textWidth);
        if (y + textHeight + kCodeHeader + kSegmentGap >= window.top && y <= window.bottom) {
            layOutPart(i, textWidth);
            textHeight = m_parts[i].textHeight;
        }
        Part& part = m_parts[i];
        const bool isFar = y + textHeight < window.top - kKeepAround || y - kKeepAround > window.bottom;
        if (isFar && part.document && static_cast<int>(i) != kept) {
            part.document.reset();
            part.stale = true;
            part.map.clear();
        }
        const bool joins = part.segment.continued;
        if (i > 0 && !joins) {
            y += kSegmentGap;
        } else if (joins && !code && !part.plain) {
            y -= kTableSeam;
        }
        const int top = y;
        if (code) {
            y += joins ? 0 : kCodeHeader;
        }
        part.textAt = QPoint(inset, y);
        y += textHeight;
        if (code && !goesOn(i)) {
            y += kCodePadding;
        }
        part.box = QRect(0, top, width, y - top);
    }
    return y;
}

int MessageText::naturalWidth() const {
    double widest = 0;
    for (const Part& part : m_parts) {
        if (!part.document) {
            return -1;
        }
        widest = std::max(widest, part.document->idealWidth());
    }
    return static_cast<int>(std::ceil(widest));
}

int MessageText::documentCount() const {
    return static_cast<int>(
        std::count_if(m_parts.begin(), m_parts.end(), [](const Part& part) { return part.document != nullptr; }));
}

QString MessageText::plainText() {
    QString text;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        if (i > 0) {
            text += m_parts[i].segment.continued ? u"\n" : u"\n\n";
        }
        text += documentOf(i).toPlainText();
    }
    return text;
}

MessageText::Anchor MessageText::anchorAt(int y) const {
    Anchor anchor{-1, y};
    for (size_t i = 0; i < m_parts.size() && m_parts[i].box.top() <= y; ++i) {
        anchor = {static_cast<int>(i), y - m_parts[i].box.top()};
    }
    return anchor;
}

int MessageText::yOf(const Anchor& anchor) const {
    if (anchor.segment < 0 || anchor.segment >= static_cast<int>(m_parts.size())) {
        return anchor.offset;
    }
    const QRect box = m_parts[static_cast<size_t>(anchor.segment)].box;
    return box.top() + std::min(anchor.offset, std::max(0, box.height() + kSegmentGap));
}

int MessageText::yOfSource(qsizetype offset) const {
    const Part* found = nullptr;
    for (const Part& part : m_parts) {
        const QList<SourceLine>& lines = part.segment.lines;
        if (!lines.isEmpty() && lines.last().source <= offset) {
            found = &part;
        } else if (!lines.isEmpty() && part.segment.sourceOf(0) <= offset && !part.segment.continued) {
            found = &part;
        }
    }
    if (!found) {
        return 0;
    }
    const auto pieces = found->isShown() ? found->map.pieces(offset, offset + 1) : QList<QPair<int, int>>();
    if (pieces.isEmpty()) {
        return found->textAt.y();
    }
    const QTextBlock block = found->document->findBlock(pieces.first().first);
    const QRectF area = found->document->documentLayout()->blockBoundingRect(block);
    const QTextLine line = block.layout()->lineForTextPosition(pieces.first().first - block.position());
    return found->textAt.y() + static_cast<int>(area.top() + (line.isValid() ? line.y() : 0));
}

QRect MessageText::rectOfSource(qsizetype offset) const {
    for (const Part& part : m_parts) {
        if (!part.isShown()) {
            continue;
        }
        const auto pieces = part.map.pieces(offset, offset + 1);
        if (pieces.isEmpty()) {
            continue;
        }
        const QTextBlock block = part.document->findBlock(pieces.first().first);
        const QTextLine line = block.layout()->lineForTextPosition(pieces.first().first - block.position());
        if (!line.isValid()) {
            continue;
        }
        const QPointF origin = part.document->documentLayout()->blockBoundingRect(block).topLeft();
        const int inBlock = pieces.first().first - block.position();
        const double from = line.cursorToX(inBlock);
        const double to = line.cursorToX(inBlock + 1);
        return QRectF(part.textAt + origin + QPointF(std::min(from, to), line.y()),
                      QSizeF(std::max(1.0, std::abs(to - from)), line.height()))
            .toAlignedRect();
    }
    return {};
}

qsizetype MessageText::characterAt(QPoint at) const {
    for (const Part& part : m_parts) {
        if (!part.box.contains(at) || !part.isShown()) {
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

}  // namespace offstage::ui
