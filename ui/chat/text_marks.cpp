#include "ui/chat/text_marks.h"

#include <algorithm>

#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>

#include "ui/base/found_colours.h"
#include "ui/chat/surprise_legend.h"

namespace offstage::ui {

bool TextMarks::set(TextMark mark, const Ranges& ranges) {
    Ranges& now = m_ranges[static_cast<size_t>(mark)];
    const bool other = now != ranges;
    now = ranges;
    return other;
}

void TextMarks::addTo(QList<QAbstractTextDocumentLayout::Selection>& selections, const MessageText::Part& part,
                      const TextStyle& style) const {
    for (size_t kind = 0; kind < m_ranges.size(); ++kind) {
        const auto mark = static_cast<TextMark>(kind);
        if (m_ranges[kind].isEmpty() || part.map.runs().isEmpty() || mark <= TextMark::Surprise4) {
            continue;
        }
        QAbstractTextDocumentLayout::Selection chosen;
        if (mark == TextMark::PickedToken) {
            chosen.format.setBackground(style.colours.accent);
            chosen.format.setForeground(style.colours.surface);
        } else if (mark == TextMark::Token) {
            QColor tint = style.colours.accent;
            tint.setAlphaF(style.dark ? 0.22F : 0.13F);
            chosen.format.setBackground(tint);
            chosen.format.setUnderlineStyle(QTextCharFormat::SingleUnderline);
            chosen.format.setUnderlineColor(style.colours.accent);
        } else {
            const FoundColours found = foundColours(style.dark, mark == TextMark::FoundCurrent);
            chosen.format.setBackground(found.background);
            chosen.format.setForeground(found.text);
        }
        const auto& runs = part.map.runs();
        const qsizetype begin = runs.first().source;
        const qsizetype end = runs.last().source + runs.last().sourceLength;
        auto range = std::lower_bound(m_ranges[kind].begin(), m_ranges[kind].end(), begin,
                                      [](const QPair<int, int>& one, qsizetype at) { return one.second <= at; });
        for (; range != m_ranges[kind].end() && range->first < end; ++range) {
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

// A strip below the lines.
void TextMarks::paintSurprise(QPainter& painter, const MessageText::Part& part, const TextStyle& style) const {
    if (part.map.runs().isEmpty()) {
        return;
    }
    const qsizetype begin = part.map.runs().first().source;
    const qsizetype end = part.map.runs().last().source + part.map.runs().last().sourceLength;
    for (size_t level = 0; level < kSurpriseBounds.size(); ++level) {
        const QPen pen = surprisePen(level, style.dark);
        painter.setPen(pen);
        const Ranges& marks = m_ranges[level];
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
                        const double y = origin.y() + line.y() + line.ascent() + line.descent() + pen.widthF() / 2;
                        painter.drawLine(QPointF(origin.x() + line.cursorToX(first) + 0.5, y),
                                         QPointF(origin.x() + line.cursorToX(last) - 0.5, y));
                    }
                }
            }
        }
    }
}

}  // namespace offstage::ui
