#include "ui/chat/message_body.h"

#include <algorithm>
#include <cmath>

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QEvent>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QPaintEvent>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>
#include <QToolButton>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kSegmentGap = 12;  // between segments
constexpr int kCodePadding = 12;
constexpr int kCodeHeader = 30;
constexpr double kCorner = 8;
constexpr int kKeepAround = 2400;        // pixels around the window in which documents are kept
constexpr qsizetype kPlainPiece = 4096;  // characters of a prompt in one document, cut at a line's end
constexpr int kTableSeam = 4;            // a table's height beyond its rows: two borders overlap

using Kind = MarkdownSegment::Kind;

QString shownCode(const QString& text) {
    return text.endsWith(u'\n') ? text.chopped(1) : text;
}

}  // namespace

MessageBody::MessageBody(QWidget* parent) : QWidget(parent), m_style(TextStyle::of(font(), palette())) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setCursor(Qt::IBeamCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

MessageBody::~MessageBody() {
    delete m_ring;
}

void MessageBody::setPlainText(const QString& text) {
    m_source = text;
    m_isPlain = true;
    rebuild();
}

void MessageBody::setMarkdown(const QString& text, bool complete) {
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

void MessageBody::appendMarkdown(const QString& text) {
    if (m_isPlain) {
        setMarkdown(text, false);
        return;
    }
    if (m_isFinished) {  // the answer is continued: its last block, which was closed, is reopened
        setMarkdown(m_source + text, false);
        return;
    }
    m_source += text;
    m_splitter.append(text);
    renderGrowing();
    contentChanged();
}

void MessageBody::finishMarkdown() {
    m_isFinished = true;
    m_splitter.finish();
    renderGrowing();
    contentChanged();
}

void MessageBody::rebuild() {
    truncateParts(0);
    m_frozen = 0;
    m_anchor = m_caret = {};
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
    contentChanged();
}

void MessageBody::renderGrowing() {
    const QList<MarkdownSegment>& finished = m_splitter.finished();
    for (qsizetype i = static_cast<qsizetype>(m_frozen); i < finished.size(); ++i) {
        setPart(static_cast<size_t>(i), finished[i]);
    }
    m_frozen = static_cast<size_t>(finished.size());
    const QList<MarkdownSegment> growing = m_splitter.growing();
    for (qsizetype i = 0; i < growing.size(); ++i) {
        setPart(m_frozen + static_cast<size_t>(i), growing[i]);
    }
    truncateParts(m_frozen + static_cast<size_t>(growing.size()));
}

void MessageBody::setPart(size_t index, const MarkdownSegment& segment) {
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

QTextDocument& MessageBody::documentOf(size_t index) {
    if (m_parts[index].stale || !m_parts[index].document) {
        renderPart(index);
    }
    return *m_parts[index].document;
}

void MessageBody::renderPart(size_t index) {
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
        renderSegment(part.segment, m_style, *part.document, part.columns, part.map);
    }
    part.stale = false;
    part.laidOutFor = -1;
    if (isCode(part)) {
        part.lexStates.clear();
        colourCode(index, 0);
    }
    const bool wantsCopy = isCode(part) && !part.segment.continued;
    if (wantsCopy && !part.copy) {
        makeCopyButton(part);
    } else if (!wantsCopy && part.copy) {
        part.copy->deleteLater();
        part.copy = nullptr;
    }
}

// The lexer's state at the beginning of a segment of code: that at the end of the segment
// before it.
LexState MessageBody::stateBefore(size_t index, const CodeLanguage& language) const {
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

void MessageBody::colourCode(size_t index, int firstLine) {
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

void MessageBody::release(Part& part) {
    if (!part.document || (part.copy && part.copy->hasFocus())) {
        return;
    }
    part.document.reset();
    part.stale = true;
    part.map.clear();
    if (part.copy) {
        part.copy->hide();
        part.copy->deleteLater();
        part.copy = nullptr;
    }
}

int MessageBody::documentCount() const {
    return static_cast<int>(
        std::count_if(m_parts.begin(), m_parts.end(), [](const Part& part) { return part.document != nullptr; }));
}

bool MessageBody::isBusy() const {
    return m_selecting || m_anchor != m_caret || hasFocus();
}

void MessageBody::truncateParts(size_t count) {
    while (m_parts.size() > count) {
        if (m_parts.back().copy) {
            m_parts.back().copy->hide();
            m_parts.back().copy->deleteLater();
        }
        m_parts.pop_back();
    }
    const auto inside = [this](const Place& place) { return place.part < static_cast<int>(m_parts.size()); };
    if (!inside(m_anchor) || !inside(m_caret)) {
        m_anchor = m_caret = {};
    }
}

void MessageBody::makeCopyButton(Part& part) {
    part.copy = new QToolButton(this);
    part.copy->setText(tr("Copy"));
    part.copy->setAutoRaise(true);
    part.copy->setCursor(Qt::ArrowCursor);
    part.copy->setAccessibleName(tr("Copy this code"));
    part.copy->setToolTip(tr("Copy this code"));
    connect(part.copy, &QToolButton::clicked, this, [this, button = part.copy] {
        for (size_t i = 0; i < m_parts.size(); ++i) {
            if (m_parts[i].copy == button) {
                QGuiApplication::clipboard()->setText(codeFrom(static_cast<int>(i)));
            }
        }
    });
    part.copy->show();
}

QString MessageBody::codeFrom(int part) const {
    QString code;
    for (size_t i = static_cast<size_t>(part); i < m_parts.size(); ++i) {
        const MarkdownSegment& segment = m_parts[i].segment;
        if (segment.kind != Kind::Code || (static_cast<int>(i) != part && !segment.continued)) {
            break;
        }
        code += segment.text;
    }
    return code;
}

void MessageBody::contentChanged() {
    if (m_width > 0) {
        layoutFor(m_width, m_window);
    }
    updateGeometry();
    update();
    Q_EMIT heightChanged();
}

void MessageBody::layOutPart(size_t index, int textWidth) {
    documentOf(index);
    Part& part = m_parts[index];
    if (part.laidOutFor == textWidth) {
        return;
    }
    if (part.segment.kind == Kind::Table) {
        fitTable(*part.document, part.columns, textWidth);
    }
    if (isCode(part)) {
        QTextOption option = part.document->defaultTextOption();
        option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
        part.document->setDefaultTextOption(option);
    }
    part.document->setTextWidth(textWidth);
    part.laidOutFor = textWidth;
    part.textHeight = static_cast<int>(std::ceil(part.document->size().height()));
}

int MessageBody::estimatedHeight(const Part& part, int textWidth) const {
    if (part.laidOutFor > 0) {
        const bool wraps = !isCode(part);
        return wraps ? static_cast<int>(static_cast<qint64>(part.textHeight) * part.laidOutFor / textWidth)
                     : part.textHeight;
    }
    const auto breaks = static_cast<double>(part.segment.text.count(u'\n'));
    const double size = static_cast<double>(part.segment.text.size());
    double height = 0;
    if (isCode(part)) {
        height = m_codeLineHeight * std::max(1.0, breaks);
    } else if (part.segment.kind == Kind::Table) {
        height = (m_lineHeight + 13) * std::max(1.0, breaks - (part.segment.continued ? 2 : 1));
    } else {
        height = m_lineHeight * (1 + 0.8 * breaks + std::floor(size * m_characterWidth / textWidth));
    }
    return static_cast<int>(height);
}

int MessageBody::layoutFor(int width, const LayoutWindow& window) {
    m_width = width;
    m_window = window;
    int y = 0;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        const bool code = isCode(m_parts[i]);
        const int inset = code ? kCodePadding : 0;
        const int textWidth = std::max(40, width - 2 * inset);
        int textHeight = estimatedHeight(m_parts[i], textWidth);
        if (y + textHeight + kCodeHeader + kSegmentGap >= window.top && y <= window.bottom) {
            layOutPart(i, textWidth);
            textHeight = m_parts[i].textHeight;
        } else if (y + textHeight < window.top - kKeepAround || y - kKeepAround > window.bottom) {
            release(m_parts[i]);
        }
        Part& part = m_parts[i];
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
        const bool goesOn = i + 1 < m_parts.size() && m_parts[i + 1].segment.continued;
        if (code && !goesOn) {
            y += kCodePadding;
        }
        part.box = QRect(0, top, width, y - top);
        if (part.copy) {
            const QSize size = part.copy->sizeHint();
            part.copy->setGeometry(width - size.width() - 6, top + (kCodeHeader - size.height()) / 2, size.width(),
                                   size.height());
        }
    }
    m_height = y;
    return y;
}

QSize MessageBody::sizeHint() const {
    return {std::max(m_width, 100), m_height};
}

int MessageBody::naturalWidth() const {
    double widest = 0;
    for (const Part& part : m_parts) {
        if (!part.document) {
            return m_width;  // a text of many segments is as wide as it may be
        }
        widest = std::max(widest, part.document->idealWidth());
    }
    return static_cast<int>(std::ceil(widest));
}

std::vector<MarkdownSegment> MessageBody::segments() const {
    std::vector<MarkdownSegment> out;
    for (const Part& part : m_parts) {
        out.push_back(part.segment);
    }
    return out;
}

QString MessageBody::plainText() {
    QString text;
    for (size_t i = 0; i < m_parts.size(); ++i) {
        if (i > 0) {
            text += m_parts[i].segment.continued ? u"\n" : u"\n\n";
        }
        text += documentOf(i).toPlainText();
    }
    if (m_width > 0) {
        layoutFor(m_width, m_window);  // lets go again of what does not show
    }
    return text;
}

MessageBody::Anchor MessageBody::anchorAt(int y) const {
    Anchor anchor{-1, y};
    for (size_t i = 0; i < m_parts.size() && m_parts[i].box.top() <= y; ++i) {
        anchor = {static_cast<int>(i), y - m_parts[i].box.top()};
    }
    return anchor;
}

int MessageBody::yOf(const Anchor& anchor) const {
    if (anchor.segment < 0 || anchor.segment >= static_cast<int>(m_parts.size())) {
        return anchor.offset;
    }
    const QRect box = m_parts[static_cast<size_t>(anchor.segment)].box;
    return box.top() + std::min(anchor.offset, std::max(0, box.height() + kSegmentGap));
}

int MessageBody::yOfSource(qsizetype offset) const {
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
    const auto pieces =
        found->document && !found->stale ? found->map.pieces(offset, offset + 1) : QList<QPair<int, int>>();
    if (pieces.isEmpty()) {
        return found->textAt.y();
    }
    const QTextBlock block = found->document->findBlock(pieces.first().first);
    const QRectF area = found->document->documentLayout()->blockBoundingRect(block);
    const QTextLine line = block.layout()->lineForTextPosition(pieces.first().first - block.position());
    return found->textAt.y() + static_cast<int>(area.top() + (line.isValid() ? line.y() : 0));
}

QRect MessageBody::rectOfSource(qsizetype offset) const {
    for (const Part& part : m_parts) {
        if (!part.document || part.stale) {
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

void MessageBody::setMarks(TextMark mark, const QList<QPair<int, int>>& sourceRanges) {
    auto& now = m_marks[static_cast<size_t>(mark)];
    if (now != sourceRanges) {
        now = sourceRanges;
        update();
    }
}

void MessageBody::addMarks(const Part& part, QList<QAbstractTextDocumentLayout::Selection>& selections) const {
    for (size_t kind = 0; kind < m_marks.size(); ++kind) {
        const auto mark = static_cast<TextMark>(kind);
        if (m_marks[kind].isEmpty() || part.map.runs().isEmpty() || mark <= TextMark::Surprise4) {
            continue;
        }
        QAbstractTextDocumentLayout::Selection chosen;
        if (mark == TextMark::PickedToken) {
            chosen.format.setBackground(m_style.colours.accent);
            chosen.format.setForeground(m_style.colours.surface);
        } else if (mark == TextMark::Token) {
            QColor tint = m_style.colours.accent;
            tint.setAlphaF(m_style.dark ? 0.22F : 0.13F);
            chosen.format.setBackground(tint);
            chosen.format.setUnderlineStyle(QTextCharFormat::SingleUnderline);
            chosen.format.setUnderlineColor(m_style.colours.accent);
        } else {
            const bool current = mark == TextMark::FoundCurrent;
            chosen.format.setBackground(current        ? QColor(0xff, 0xa9, 0x2e)
                                        : m_style.dark ? QColor(0x6b, 0x56, 0x14)
                                                       : QColor(0xff, 0xe9, 0x9a));
            chosen.format.setForeground(current || !m_style.dark ? QColor(0x1b, 0x1f, 0x27) : QColor(0xff, 0xff, 0xff));
        }
        const auto& runs = part.map.runs();
        const qsizetype begin = runs.first().source;
        const qsizetype end = runs.last().source + runs.last().sourceLength;
        auto range = std::lower_bound(m_marks[kind].begin(), m_marks[kind].end(), begin,
                                      [](const QPair<int, int>& one, qsizetype at) { return one.second <= at; });
        for (; range != m_marks[kind].end() && range->first < end; ++range) {
            for (const auto& [position, length] : part.map.pieces(range->first, range->second)) {
                chosen.cursor = QTextCursor(part.document.get());
                chosen.cursor.setPosition(position);
                chosen.cursor.setPosition(std::min(position + length, part.document->characterCount() - 1),
                                          QTextCursor::KeepAnchor);
                selections.append(chosen);
            }
        }
    }
}

// A strip below the lines. Its pattern and its colour both show how improbable the token
// above was; the colours can be distinguished without seeing red or green.
void MessageBody::paintSurprise(QPainter& painter, const Part& part) const {
    static constexpr std::array<QRgb, 4> kLight = {0x7d93aa, 0x0072b2, 0xc77700, 0xc43c00};
    static constexpr std::array<QRgb, 4> kDark = {0x8fa9c4, 0x56b4e9, 0xe69f00, 0xff7a45};
    static constexpr std::array<double, 4> kWidth = {1.5, 2, 2, 3.5};
    static const std::array<QList<double>, 4> kDashes = {QList<double>{1.5, 1.5}, QList<double>{3.5, 1.5}, {}, {}};
    if (part.map.runs().isEmpty()) {
        return;
    }
    const qsizetype begin = part.map.runs().first().source;
    const qsizetype end = part.map.runs().last().source + part.map.runs().last().sourceLength;
    for (size_t level = 0; level < kWidth.size(); ++level) {
        QPen pen(QColor(m_style.dark ? kDark[level] : kLight[level]), kWidth[level], Qt::SolidLine, Qt::FlatCap);
        if (!kDashes[level].isEmpty()) {
            pen.setDashPattern(kDashes[level]);
        }
        painter.setPen(pen);
        const QList<QPair<int, int>>& marks = m_marks[level];
        auto range = std::lower_bound(marks.begin(), marks.end(), begin,
                                      [](const QPair<int, int>& one, qsizetype at) { return one.second <= at; });
        for (; range != marks.end() && range->first < end; ++range) {
            for (const auto& [position, length] : part.map.pieces(range->first, range->second)) {
                const QTextBlock block = part.document->findBlock(position);
                const QPointF origin = part.document->documentLayout()->blockBoundingRect(block).topLeft();
                const int from = position - block.position();
                const int to = from + length;
                for (int i = 0; i < block.layout()->lineCount(); ++i) {
                    const QTextLine line = block.layout()->lineAt(i);
                    const int first = std::max(from, line.textStart());
                    const int last = std::min(to, line.textStart() + line.textLength());
                    if (first < last) {
                        const double y = origin.y() + line.y() + line.ascent() + line.descent() + kWidth[level] / 2;
                        painter.drawLine(QPointF(origin.x() + line.cursorToX(first) + 0.5, y),
                                         QPointF(origin.x() + line.cursorToX(last) - 0.5, y));
                    }
                }
            }
        }
    }
}

void MessageBody::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    const QRect clip = event->rect();
    for (size_t i = 0; i < m_parts.size(); ++i) {
        if (m_parts[i].box.intersects(clip) && m_parts[i].document && !m_parts[i].stale) {
            paintPart(painter, m_parts[i], static_cast<int>(i), clip);
        }
    }
}

void MessageBody::paintPart(QPainter& painter, const Part& part, int index, const QRect& clip) const {
    painter.save();
    if (isCode(part)) {
        const bool goesOn =
            index + 1 < static_cast<int>(m_parts.size()) && m_parts[static_cast<size_t>(index) + 1].segment.continued;
        // If the card continues in the next segment its corners are outside of the
        // painted area.
        const QRectF card = QRectF(part.box).adjusted(0.5, part.segment.continued ? -2 * kCorner : 0.5, -0.5,
                                                      goesOn ? 2 * kCorner : -0.5);
        painter.setClipRect(part.box);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(m_style.colours.line);
        painter.setBrush(m_style.colours.raised);
        painter.drawRoundedRect(card, kCorner, kCorner);
        if (!part.segment.continued) {
            painter.setPen(m_style.colours.muted);
            QFont small = m_style.font;
            small.setPointSizeF(small.pointSizeF() * 0.88);
            painter.setFont(small);
            const QString language =
                part.segment.language.isEmpty() ? tr("text") : languageLabel(part.segment.language);
            painter.drawText(QRect(kCodePadding, part.box.top(), part.box.width() - 100, kCodeHeader),
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
                painter.fillRect(QRectF(d * 16, area.top() - 4, 3, area.height() + 8), m_style.colours.line);
            }
        }
    }
    addMarks(part, context.selections);
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
    paintSurprise(painter, part);
    painter.restore();
}

void MessageBody::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_style = TextStyle::of(font(), palette());
        rebuild();
    }
}

}  // namespace offstage::ui
