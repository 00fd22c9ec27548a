#pragma once

#include <limits>
#include <memory>
#include <vector>

#include <QPoint>
#include <QRect>
#include <QTextDocument>

#include "ui/chat/code_highlight.h"
#include "ui/chat/markdown_renderer.h"

namespace offstage::ui {

// The visible part of a message, and a little around it: pixels from its top.
struct LayoutWindow {
    int top = 0;
    int bottom = std::numeric_limits<int>::max();

    LayoutWindow below(int y) const {
        return {top - y, bottom == std::numeric_limits<int>::max() ? bottom : bottom - y};
    }
};

// The text of one message in its column, without a widget. Markdown is kept as segments;
// those in the window have a document each, which is laid out once; distant ones have
// only a height. Only growing segments are rendered again. GUI thread only.
class MessageText {
  public:
    struct Part {
        MarkdownSegment segment;
        std::unique_ptr<QTextDocument> document;  // null: far from the window
        SourceMap map;                            // of the document
        TableColumns columns;
        QList<LexState> lexStates;  // before each line of code
        QRect box;                  // with the card around code
        QPoint textAt;
        int laidOutFor = -1;  // width; -1: not yet
        int textHeight = 0;   // at that width
        bool stale = true;    // the document does not show the segment
        bool plain = false;

        bool isShown() const { return document && !stale; }
        bool isCode() const { return segment.kind == MarkdownSegment::Kind::Code && !plain; }
    };
    // A place that stays fixed while heights above it change: a segment, and pixels below
    // its top.
    struct Anchor {
        int segment = -1;
        int offset = 0;
    };

    static constexpr int kCodePadding = 12;
    static constexpr int kCodeHeader = 30;  // above a block of code: its language

    explicit MessageText(const TextStyle& style) : m_style(style) {}

    const TextStyle& style() const { return m_style; }
    void setStyle(const TextStyle& style);
    void setPlain(const QString& text);
    void setMarkdown(const QString& text, bool complete);
    // True: everything was rendered anew.
    bool append(const QString& markdown);
    void finish();

    const QString& source() const { return m_source; }
    bool isPlain() const { return m_isPlain; }
    const std::vector<Part>& parts() const { return m_parts; }
    bool goesOn(size_t index) const { return index + 1 < m_parts.size() && m_parts[index + 1].segment.continued; }
    QTextDocument& documentOf(size_t index);
    QString plainText();  // as shown; documents are made for it

    // The height at this width: exact inside the window, an estimate (or an earlier
    // measurement) elsewhere. The document of the part `kept` stays.
    int layOut(int width, const LayoutWindow& window, int kept = -1);
    int naturalWidth() const;  // of the widest line in the last layout; -1: not known
    Anchor anchorAt(int y) const;
    int yOf(const Anchor& anchor) const;
    // The top of the line that shows this place of the source; exact if it lies in the
    // window of the last layout.
    int yOfSource(qsizetype offset) const;
    qsizetype characterAt(QPoint at) const;        // the character under this point; -1: there is none
    QRect rectOfSource(qsizetype offset) const;    // of the character at this place; exact as yOfSource()
    QString noteText(const QString& label) const;  // of a footnote, as it is written
    // A block of code, with its continuations.
    QString codeFrom(size_t index) const;

    int renderCount() const { return m_renderCount; }
    qint64 renderedCharacters() const { return m_renderedCharacters; }  // those rendered again counted again
    int documentCount() const;

  private:
    void rebuild();
    void setPart(size_t index, const MarkdownSegment& segment);
    void renderGrowing();
    void takeNotes(size_t first);
    void renderPart(size_t index);
    void colourCode(size_t index, int firstLine);
    LexState stateBefore(size_t index, const CodeLanguage& language) const;
    void layOutPart(size_t index, int textWidth);
    int estimatedHeight(const Part& part, int textWidth) const;

    QString m_source;
    bool m_isPlain = true;
    bool m_isFinished = false;  // no more text was expected
    MarkdownSplitter m_splitter;
    std::vector<Part> m_parts;
    QSet<QString> m_notes;  // the labels of the footnotes so far
    size_t m_frozen = 0;    // parts that will not be rendered again
    TextStyle m_style;
    double m_lineHeight = 20;  // of prose, for estimates
    double m_codeLineHeight = 18;
    double m_characterWidth = 8;
    int m_renderCount = 0;
    qint64 m_renderedCharacters = 0;
};

}  // namespace offstage::ui
