#pragma once

#include <QWidget>

#include "ui/base/message.h"

class QPlainTextEdit;

namespace offstage::ui {

class AttachmentChips;
class HitSteps;

// The files of a sent prompt as chips; a click on one shows the file's text below them,
// another click hides it.
class MessageAttachments : public QWidget {
    Q_OBJECT

  public:
    explicit MessageAttachments(QWidget* parent = nullptr);

    void setAttachments(const QList<Attachment>& attachments);
    AttachmentChips& chips() const { return *m_chips; }
    bool isUnfolded() const { return m_shown >= 0; }
    QPlainTextEdit* text() const { return m_text; }  // null: none was ever unfolded
    int layoutFor(int width);                        // returns the height
    // Unfolds the first file that has one of these words, in its text or else in its name,
    // marks them there and says how many; buttons above the text, Enter and F3 lead from one
    // to the next. None has one: nothing is marked any more.
    void showWords(const QString& words);

  Q_SIGNALS:
    void heightChanged();

  protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void restyle();
    void show(int index);
    void showFound(const QList<QPair<int, int>>& found);
    void goToFound(qsizetype index);
    void markFound();
    int linesFor(int width) const;

    QList<Attachment> m_attachments;
    AttachmentChips* m_chips;
    QPlainTextEdit* m_text = nullptr;
    int m_shown = -1;
    QList<QPair<int, int>> m_found;  // in the shown text
    qsizetype m_current = 0;         // of these
    HitSteps* m_steps = nullptr;     // null: nothing was ever found
};

}  // namespace offstage::ui
