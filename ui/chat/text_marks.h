#pragma once

#include <array>

#include <QAbstractTextDocumentLayout>
#include <QList>
#include <QPair>

#include "ui/chat/message_text.h"

class QPainter;

namespace offstage::ui {

// Marks drawn over the text, by places in its source.
enum class TextMark { Surprise1, Surprise2, Surprise3, Surprise4, Found, FoundCurrent, Token, PickedToken };
inline constexpr size_t kTextMarks = 8;

// The marks of one message. Exact in paragraphs, code and lists; formulas are marked
// whole.
class TextMarks {
  public:
    using Ranges = QList<QPair<int, int>>;  // [first, second) in the source, in order

    // Whether it changes anything.
    bool set(TextMark mark, const Ranges& ranges);
    const Ranges& of(TextMark mark) const { return m_ranges[static_cast<size_t>(mark)]; }

    // Backgrounds, for the part's document to draw.
    void addTo(QList<QAbstractTextDocumentLayout::Selection>& selections, const MessageText::Part& part,
               const TextStyle& style) const;
    // Strips below the lines, over the drawn document.
    void paintSurprise(QPainter& painter, const MessageText::Part& part, const TextStyle& style) const;

  private:
    std::array<Ranges, kTextMarks> m_ranges;
};

}  // namespace offstage::ui
