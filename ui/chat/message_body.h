#pragma once

#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <QAbstractTextDocumentLayout>
#include <QMenu>
#include <QPointer>
#include <QWidget>

#include "ui/chat/code_highlight.h"
#include "ui/chat/markdown_renderer.h"

class QToolButton;

namespace offstage::ui {

// The visible part of a message, and a little around it: pixels from its top.
struct LayoutWindow {
    int top = 0;
    int bottom = std::numeric_limits<int>::max();

    LayoutWindow below(int y) const {
        return {top - y, bottom == std::numeric_limits<int>::max() ? bottom : bottom - y};
    }
};

// Marks drawn over the text, by places in its source.
enum class TextMark { Surprise1, Surprise2, Surprise3, Surprise4, Found, FoundCurrent, Token, PickedToken };
inline constexpr size_t kTextMarks = 8;

// The text of one message: selectable, copyable, painted only where it is visible.
// Markdown is kept as segments; those in the window have a document each, which is laid
// out once; distant ones have only a height. Only growing segments are rendered again.
class MessageBody : public QWidget {
    Q_OBJECT

  public:
    explicit MessageBody(QWidget* parent = nullptr);
    ~MessageBody() override;

    void setPlainText(const QString& text);
    void setMarkdown(const QString& text, bool complete);
    void appendMarkdown(const QString& text);
    void finishMarkdown();

    const QString& source() const { return m_source; }
    QString plainText();       // as shown
    QString selectedText();    // formulas as they are written
    int naturalWidth() const;  // of the widest line in the present layout

    // The height at this width: exact inside the window, an estimate (or an earlier
    // measurement) elsewhere.
    int layoutFor(int width, const LayoutWindow& window);
    int layoutFor(int width) { return layoutFor(width, {}); }  // everything
    QSize sizeHint() const override;

    // A place that stays fixed while heights above it change: a segment, and pixels below
    // its top.
    struct Anchor {
        int segment = -1;
        int offset = 0;
    };
    Anchor anchorAt(int y) const;
    int yOf(const Anchor& anchor) const;
    // The top of the line that shows this place of the source; exact if it lies in the
    // window of the last layout.
    int yOfSource(qsizetype offset) const;

    // Places [first, second) in the source, in order. Exact in paragraphs, code and
    // lists; formulas are marked whole.
    void setMarks(TextMark mark, const QList<QPair<int, int>>& sourceRanges);
    const QList<QPair<int, int>>& marks(TextMark mark) const { return m_marks[static_cast<size_t>(mark)]; }
    qsizetype sourceAt(QPoint at) const;         // -1: none
    qsizetype characterAt(QPoint at) const;      // the character under this point; -1: there is none
    QRect rectOfSource(qsizetype offset) const;  // of the character at this place; exact as yOfSource()
    // Whether hovered() is emitted.
    void setReportsHover(bool reports) { m_reportsHover = reports; }

    std::vector<MarkdownSegment> segments() const;
    int renderCount() const { return m_renderCount; }
    qint64 renderedCharacters() const { return m_renderedCharacters; }  // those rendered again counted again
    int documentCount() const;
    // Whether its words can be selected to see their experts; only for texts in the token
    // log.
    void setPicksTokens(bool picks) { m_picksTokens = picks; }
    bool isBusy() const;  // holds a selection, or the mouse: not to be taken away

  public Q_SLOTS:
    void selectAll();
    void copySelection();
    // Picks the word before or after the last picked one and reports it, like a click
    // with Alt.
    void pickWord(bool forward);

  Q_SIGNALS:
    void heightChanged();
    void tokenPicked(qsizetype sourceOffset);
    void focused();
    // The character under the pointer, or selected by keyboard; -1: none any more.
    void hovered(qsizetype sourceOffset);
    // Before the context menu at this place opens, so that others can add entries.
    void menuOpening(qsizetype sourceOffset, QMenu* menu);

  protected:
    void leaveEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    struct Part {
        MarkdownSegment segment;
        std::unique_ptr<QTextDocument> document;  // null: far from the window
        SourceMap map;                            // of the document
        TableColumns columns;
        QList<LexState> lexStates;    // before each line of code
        QToolButton* copy = nullptr;  // of a code block that begins here; child of this widget
        QRect box;                    // with the card around code
        QPoint textAt;
        int laidOutFor = -1;  // width; -1: not yet
        int textHeight = 0;   // at that width
        bool stale = true;    // the document does not show the segment
        bool plain = false;
    };
    struct Place {
        int part = -1;
        int position = 0;
        bool operator==(const Place&) const = default;
        bool operator<(const Place& other) const {
            return part != other.part ? part < other.part : position < other.position;
        }
    };

    void setPart(size_t index, const MarkdownSegment& segment);
    void truncateParts(size_t count);
    void renderGrowing();
    void renderPart(size_t index);
    void colourCode(size_t index, int firstLine);
    LexState stateBefore(size_t index, const CodeLanguage& language) const;
    QTextDocument& documentOf(size_t index);
    void release(Part& part);
    void layOutPart(size_t index, int textWidth);
    int estimatedHeight(const Part& part, int textWidth) const;
    void rebuild();
    void makeCopyButton(Part& part);
    bool isCode(const Part& part) const { return part.segment.kind == MarkdownSegment::Kind::Code && !part.plain; }
    QString codeFrom(int part) const;
    Place placeAt(QPoint at) const;
    void hover(qsizetype source);
    QTextCharFormat formatAt(QPoint at) const;
    std::pair<Place, Place> selection() const;
    void paintPart(QPainter& painter, const Part& part, int index, const QRect& clip) const;
    void paintSurprise(QPainter& painter, const Part& part) const;
    void addMarks(const Part& part, QList<QAbstractTextDocumentLayout::Selection>& selections) const;
    void contentChanged();

    QString m_source;
    bool m_isPlain = true;
    bool m_isFinished = false;  // no more text was expected
    bool m_picksTokens = true;
    bool m_reportsHover = false;
    qsizetype m_hovered = -1;
    MarkdownSplitter m_splitter;
    std::vector<Part> m_parts;
    size_t m_frozen = 0;  // parts that will not be rendered again
    TextStyle m_style;
    double m_lineHeight = 20;  // of prose, for estimates
    double m_codeLineHeight = 18;
    double m_characterWidth = 8;
    std::array<QList<QPair<int, int>>, kTextMarks> m_marks;
    LayoutWindow m_window;
    Place m_anchor;
    Place m_caret;
    bool m_selecting = false;
    QPointer<QWidget> m_ring;  // while the focus is here and came by keyboard
    int m_width = -1;
    int m_height = 0;
    int m_renderCount = 0;
    qint64 m_renderedCharacters = 0;
};

}  // namespace offstage::ui
