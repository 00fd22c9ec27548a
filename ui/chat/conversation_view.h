#pragma once

#include <array>

#include <QAbstractScrollArea>
#include <QHash>
#include <QMenu>
#include <QSet>

#include "ui/chat/conversation_model.h"
#include "ui/chat/message_column.h"
#include "ui/chat/stream_pacer.h"
#include "ui/chat/text_marks.h"

class QToolButton;

namespace offstage::ui {

class MessageWidget;

// Shows a ConversationModel: a column of messages of comfortable width. Only the messages
// in the viewport and about one viewport around it have widgets; the heights of the
// others are estimates until they come near, and the visible text keeps its place when an
// estimate turns out wrong. Stays at the end while text streams, unless the user has
// scrolled up. Streamed text is shown at most 30 times a second.
class ConversationView : public QAbstractScrollArea {
    Q_OBJECT

  public:
    static constexpr int kWidestColumn = MessageColumn::kWidest;
    static constexpr int kScrollBarWidth = 12;

    // [begin, end) of a message's text.
    using SourceRanges = QList<QPair<int, int>>;

    explicit ConversationView(ConversationModel& model, QWidget* parent = nullptr);
    ~ConversationView() override;

    bool followsEnd() const { return m_follow; }
    MessageWidget* messageWidget(MessageId id) const;  // null: far from the viewport, or no such text
    const StreamPacer& pacer() const { return m_pacer; }

    // Underlines the shown text of these ranges of the source; the ranges in order. An
    // empty list removes the line.
    void underlineTokens(MessageId id, const SourceRanges& ranges);
    // The one token that the user looks at; an empty range: none in this message.
    void markPickedToken(MessageId id, QPair<int, int> range);
    // Underlines tokens that were improbable for the model: lists for the levels 1 .. 4
    // of TokenChoicesView::surpriseLevel().
    void markSurprise(MessageId id, const QList<SourceRanges>& levels);
    void setReportsHover(bool reports);  // see sourceHovered()
    const ConversationModel& model() const { return m_model; }
    // The hits of a search, by message; `current` is highlighted.
    void setFound(const QHash<MessageId, SourceRanges>& found);
    void setCurrentFound(MessageId id, QPair<int, int> range);
    // Scrolls a place of a message's source into the viewport, if it is not there yet.
    void showSource(MessageId id, int offset);
    // Unfolds the thought before this answer.
    void showThought(MessageId id);
    // Shows the first of the prompt's files that has one of these words, with its hits.
    void showFile(MessageId id, const QString& words);
    void startEditing(MessageId id);  // in its place
    // The text of promptEdited() or answerEdited() was accepted, or refused: then the
    // editor stays, with the reason.
    void finishEditing(MessageId id);
    void refuseEdit(MessageId id, const QString& reason);

  public Q_SLOTS:
    void scrollToEnd();

  Q_SIGNALS:
    void actionChosen(offstage::ui::ProblemAction action, const offstage::ui::Problem& problem);
    void problemClosed(offstage::ui::MessageId problem);
    void promptEdited(offstage::ui::MessageId id, const QString& text);
    void answerEdited(offstage::ui::MessageId id, const QString& text);
    void regenerateRequested(offstage::ui::MessageId id);
    void continueRequested(offstage::ui::MessageId id);
    void branchRequested(offstage::ui::MessageId id, int branch);
    void tokenTimelineRequested(offstage::ui::MessageId id);
    // A character of an answer's source was picked by Alt+click, the context menu, or
    // Alt+Left and Alt+Right.
    void tokenPicked(offstage::ui::MessageId id, int sourceOffset);
    // As MessageWidget's.
    void sourceHovered(offstage::ui::MessageId id, int sourceOffset, const QRect& place);
    void sourceClicked(offstage::ui::MessageId id, int sourceOffset, const QRect& place);
    void menuOpening(offstage::ui::MessageId id, int sourceOffset, QMenu* menu);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool focusNextPrevChild(bool next) override;

  private:
    // The editor of a message whose widget was removed while it was edited; it is
    // restored with the widget.
    struct OpenEdit {
        QString text;
        int position = 0;
        bool focused = false;
    };
    void insertRows(int first, int last);
    void removeRows(int first, int last);
    void rowsChanged(int first, int last, const QList<int>& roles);
    void textAppended(int row, const QString& text);
    void thoughtChanged(int row);
    void unfoldThought(MessageId id, bool unfolded);
    void flush();
    void arrange();
    void arrangeLater();
    void rebuild();
    void placeEndButton();
    void restyle();

    QWidget* makeWidget(int row);
    void release(MessageColumn::Row& row);
    void setMark(MessageId id, TextMark mark, const SourceRanges& ranges);
    void ensureWidgetVisible(QWidget* widget);

    ConversationModel& m_model;
    MessageColumn m_column;
    StreamPacer m_pacer;
    QToolButton* m_toEnd;
    QSet<MessageId> m_changed;  // besides their text, when that is shown
    QHash<MessageId, std::array<SourceRanges, kTextMarks>> m_marks;
    MessageId m_currentFoundIn = 0;
    MessageId m_pickedIn = 0;
    bool m_reportsHover = false;
    QHash<MessageId, OpenEdit> m_openEdits;
    QSet<MessageId> m_unfolded;  // messages whose thoughts the user has unfolded
    bool m_follow = true;
    bool m_arranging = false;
    bool m_arrangeQueued = false;
};

}  // namespace offstage::ui
