#include "ui/chat/text_marks.h"

#include <algorithm>

#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>

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
            const bool current = mark == TextMark::FoundCurrent;
            chosen.format.setBackground(current      ? QColor(0xff, 0xa9, 0x2e)
                                        : style.dark ? QColor(0x6b, 0x56, 0x14)
                                                     : QColor(0xff, 0xe9, 0x9a));
            chosen.format.setForeground(current || !style.dark ? QColor(0x1b, 0x1f, 0x27) : QColor(0xff, 0xff, 0xff));
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

// A strip below the lines. Its pattern and its colour both show how improbable the token
// above was; the colours can be distinguished without seeing red or green.
void TextMarks::paintSurprise(QPainter& painter, const MessageText::Part& part, const TextStyle& style) const {
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
        QPen pen(QColor(style.dark ? kDark[level] : kLight[level]), kWidth[level], Qt::SolidLine, Qt::FlatCap);
        if (!kDashes[level].isEmpty()) {
            pen.setDashPattern(kDashes[level]);
        }
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
                        const double y = origin.y() + line.y() + line.ascent() + line.descent() + kWidth[level] / 2;
                        painter.drawLine(QPointF(origin.x() + line.cursorToX(first) + 0.5, y),
                                         QPointF(origin.x() + line.cursorToX(last) - 0.5, y));
                    }
                }
            }
        }
    }
}

}  // namespace offstage::ui
