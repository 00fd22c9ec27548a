#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <QDeadlineTimer>
#include <QWidget>

#include "ui/chat/markdown_renderer.h"

class QToolButton;

namespace offstage::ui {

// Time for laying out texts, shared by all messages of a conversation.
struct LayoutBudget {
    QDeadlineTimer until;
    bool left = false;  // something had to be left for later
};

// The text of one message: selectable, copyable, painted only where it shows. Markdown is kept as one document per
// finished segment, which is laid out once; only what still grows is rendered again.
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
    QString plainText() const;  // as shown
    QString selectedText() const;
    int naturalWidth() const;  // of the widest line in the present layout

    // The height at this width. What was laid out at another width, and does not show, is laid out anew only while the
    // budget lasts; until then its height is an estimate, and `budget.left` is set: ask again in the loop's next turn.
    int layoutFor(int width, LayoutBudget& budget);
    int layoutFor(int width);  // everything
    QSize sizeHint() const override;

    std::vector<MarkdownSegment> segments() const;
    int renderCount() const { return m_renderCount; }

  public Q_SLOTS:
    void selectAll();
    void copySelection();

  Q_SIGNALS:
    void heightChanged();

  protected:
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
        std::unique_ptr<QTextDocument> document;
        TableColumns columns;
        QToolButton* copy = nullptr;  // of a code block that begins here; child of this widget
        QRect box;                    // with the card around code
        QPoint textAt;
        int laidOutFor = -1;  // width; -1: not yet
        int textHeight = 0;
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
    void layOutPart(Part& part, int textWidth);
    void rebuild();
    void makeCopyButton(Part& part);
    QString codeFrom(int part) const;
    Place placeAt(QPoint at) const;
    QString anchorAt(QPoint at) const;
    std::pair<Place, Place> selection() const;
    void paintPart(QPainter& painter, const Part& part, int index, const QRect& clip) const;
    void contentChanged();

    QString m_source;
    bool m_isPlain = true;
    MarkdownSplitter m_splitter;
    std::vector<Part> m_parts;
    size_t m_frozen = 0;  // parts that will not be rendered again
    TextStyle m_style;
    Place m_anchor;
    Place m_caret;
    bool m_selecting = false;
    bool m_focusByKey = false;
    int m_width = -1;
    int m_height = 0;
    int m_renderCount = 0;
};

}  // namespace offstage::ui
