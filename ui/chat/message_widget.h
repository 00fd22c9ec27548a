#pragma once

#include <QDate>
#include <QWidget>

#include "ui/base/message.h"
#include "ui/chat/message_body.h"

class QLabel;

namespace offstage::ui {

class MessageAttachments;
class MessageEditor;
class MessageFooter;
class ThoughtBlock;

// A prompt (a bubble at the right, below its files) or an answer (the full width), with
// its time above it and its branches and actions below it.
class MessageWidget : public QWidget {
    Q_OBJECT

  public:
    explicit MessageWidget(const Message& message, QWidget* parent = nullptr);

    MessageId messageId() const { return m_message.id; }
    MessageBody& body() const { return *m_body; }
    QString caption() const;                            // "Edited by you", "Stopped"; empty: there is none
    MessageEditor* editor() const { return m_editor; }  // null: not being edited

    // The date above the message that begins a day; an invalid one: none.
    void setDay(QDate day);
    void setMessage(const Message& message);
    // More of the thought, or its end; the rest of the message is unchanged.
    void setThought(const Thought& thought);
    ThoughtBlock* thought() const { return m_thought; }  // null: there was none
    void setThoughtUnfolded(bool unfolded);
    MessageAttachments* attachments() const { return m_attachments; }  // null: no files
    void showFile(const QString& words);                               // MessageAttachments::showWords()
    // Text that the message already holds, not yet shown.
    void appendText(const QString& text);
    void setIsLast(bool last);
    void setFocusInside(bool inside);
    void startEditing();
    void openEditor(const QString& text);  // leaves the focus where it is
    void stopEditing();
    bool isBusy() const;

    // Lays out the part in the window and returns the height.
    int layoutFor(int width, const LayoutWindow& window);
    // A place that keeps its y while heights above it change.
    MessageText::Anchor anchorAt(int y) const;
    int yOf(const MessageText::Anchor& anchor) const;
    int yOfSource(qsizetype offset) const;

    // The height of a message that has no widget, from the length of its text.
    static int estimatedHeight(const Message& message, int width, const QFontMetrics& metrics);

  Q_SIGNALS:
    void heightChanged();
    void editorResized();  // the editor was opened, or is as high as its new text
    void promptEdited(offstage::ui::MessageId id, const QString& text);
    void answerEdited(offstage::ui::MessageId id, const QString& text);
    void regenerateRequested(offstage::ui::MessageId id);
    void continueRequested(offstage::ui::MessageId id);
    void branchRequested(offstage::ui::MessageId id, int branch);
    void tokenTimelineRequested(offstage::ui::MessageId id);
    void tokenPicked(offstage::ui::MessageId id, int sourceOffset);
    void thoughtUnfolded(offstage::ui::MessageId id, bool unfolded);  // by the user
    // In the answer's text; `place`, global, is of the character.
    void sourceHovered(offstage::ui::MessageId id, int sourceOffset, const QRect& place);
    void sourceClicked(offstage::ui::MessageId id, int sourceOffset, const QRect& place);
    void menuOpening(offstage::ui::MessageId id, int sourceOffset, QMenu* menu);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

  private:
    void showAttachments();
    void showCut();
    void showTime();
    void refreshFooter();
    int layOutHead(int width);
    int layOutFooter(int width, int y);
    void restyle();
    bool isPrompt() const { return m_message.kind == Message::Kind::Prompt; }
    bool isComplete() const {
        return m_message.state != Message::State::Streaming && m_message.state != Message::State::Waiting;
    }

    Message m_message;
    bool m_shownComplete = false;
    QLabel* m_author = nullptr;  // an answer's
    QLabel* m_time = nullptr;    // null: not known
    QLabel* m_day = nullptr;     // above the first message of a day
    ThoughtBlock* m_thought = nullptr;
    bool m_thoughtUnfolded = false;
    MessageAttachments* m_attachments = nullptr;
    MessageBody* m_body;
    MessageFooter* m_footer;
    QLabel* m_cut = nullptr;  // above a prompt: what the model no longer sees
    MessageEditor* m_editor = nullptr;
    QRect m_bubble;
    int m_bubbleFor = -1;  // the width it was made for
    int m_textWidth = 0;   // inside it
    bool m_arranging = false;
    bool m_hovered = false;
    bool m_focusInside = false;
    bool m_isLast = false;
};

}  // namespace offstage::ui
