#pragma once

#include <utility>

#include <QMap>
#include <QMenu>
#include <QPointer>
#include <QWidget>

#include "ui/chat/message_text.h"
#include "ui/chat/text_marks.h"

class QToolButton;

namespace offstage::ui {

// The text of one message: selectable, copyable, painted only where it is visible.
class MessageBody : public QWidget {
    Q_OBJECT

  public:
    explicit MessageBody(QWidget* parent = nullptr);
    ~MessageBody() override;

    void setPlainText(const QString& text);
    void setMarkdown(const QString& text, bool complete);
    void appendMarkdown(const QString& text);
    void finishMarkdown();

    const MessageText& text() const { return m_text; }
    const QString& source() const { return m_text.source(); }
    QString plainText();       // as shown
    QString selectedText();    // formulas as they are written
    int naturalWidth() const;  // of the widest line in the present layout

    // See MessageText::layOut().
    int layoutFor(int width, const LayoutWindow& window);
    int layoutFor(int width) { return layoutFor(width, {}); }  // everything
    QSize sizeHint() const override;

    void setMarks(TextMark mark, const TextMarks::Ranges& ranges);
    const TextMarks& marks() const { return m_marks; }
    qsizetype sourceAt(QPoint at) const;  // -1: none
    // Whether hovered() and clicked() are emitted.
    void setReportsHover(bool reports) { m_reportsHover = reports; }

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
    void clicked(qsizetype sourceOffset);  // or chosen with Enter, where it was selected by keyboard
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
    struct Place {
        int part = -1;
        int position = 0;
        bool operator==(const Place&) const = default;
        bool operator<(const Place& other) const {
            return part != other.part ? part < other.part : position < other.position;
        }
    };

    Place placeAt(QPoint at) const;
    void hover(qsizetype source);
    QTextCharFormat formatAt(QPoint at) const;
    std::pair<Place, Place> selection() const;
    void paintPart(QPainter& painter, const MessageText::Part& part, int index, const QRect& clip) const;
    void placeCopyButtons();
    void contentChanged(bool anew);

    MessageText m_text;
    TextMarks m_marks;
    bool m_picksTokens = true;
    bool m_reportsHover = false;
    qsizetype m_hovered = -1;
    LayoutWindow m_window;
    Place m_anchor;
    Place m_caret;
    bool m_selecting = false;
    QPointer<QWidget> m_ring;          // while the focus is here and came by keyboard
    QMap<int, QToolButton*> m_copies;  // by the part of the code
    int m_width = -1;
    int m_height = 0;
};

}  // namespace offstage::ui
