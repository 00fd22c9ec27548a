#pragma once

#include <QFrame>
#include <QPlainTextEdit>

#include "ui/chat/attachment_chips.h"

class QLabel;
class QPushButton;
class QToolButton;

namespace offstage::ui {

class PasteOffer;

// Whether a key that no other widget uses begins a message: a character, and no shortcut.
bool beginsMessage(const QKeyEvent& key);

// A text of a few lines: Enter sends, Shift+Enter breaks the line. The window handles
// dropped files; pasting offers the clipboard's files.
class PromptEdit : public QPlainTextEdit {
    Q_OBJECT

  public:
    explicit PromptEdit(QWidget* parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void sendRequested();
    void filesPasted(const QStringList& paths);
    void textPasted(int from, int to);  // or dropped; it stands there now

  protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;

  private:
    int heightFor(int lines) const;
};

// The input box with its Send button, which is Stop while an answer is written, and one
// line of explanation. The files for the prompt are shown above the text.
class InputBar : public QFrame {
    Q_OBJECT

  public:
    enum class Mode {
        Send,         // a prompt can be sent
        Queue,        // a prompt can be sent; it waits for the model to load,
        QueueBehind,  // or until the engine's work for other programs is done
        Queued,       // one waits already
        NoModel,
        Busy,  // an answer is written: the button stops it
        Stopping,
    };

    explicit InputBar(QWidget* parent = nullptr);

    PromptEdit& edit() const { return *m_edit; }
    QToolButton& button() const { return *m_button; }
    QString hint() const;
    QString text() const { return m_edit->toPlainText(); }
    void setMode(Mode mode);
    // The keys of the window's Stop and Open, for the hints. Empty: no keys.
    void setKeys(const QString& stop, const QString& open);
    Mode mode() const { return m_mode; }

    // A returned prompt: it is joined with the text typed since.
    void returnPrompt(const QString& prompt);
    // Only into an empty box.
    void offerPrompt(const QString& prompt);
    // Unless it was changed.
    void withdrawPrompt(const QString& prompt);
    void clear() { m_edit->clear(); }
    // Whether Enter was pressed while an answer was on its way: what stands here is to be
    // sent after it. Typing, Enter again or Stop ends that.
    bool sendsNext() const { return m_sendsNext; }
    void setSendsNext(bool sendsNext);
    // The model's choices of thinking, and the chosen one ("": the model's default); no
    // choices: no button.
    void setThinking(const QStringList& choices, const QString& chosen);
    QToolButton& thinkingButton() const { return *m_thinking; }

    AttachmentChips& chips() const { return *m_chips; }
    PasteOffer& pasteOffer() const { return *m_paste; }
    void setFiles(const QList<AttachmentChips::File>& files);
    // Sentences about files that were not attached, below the chips; empty: none.
    void setNotice(const QString& notice);
    QString notice() const;
    // Shows that files are being read, with a button to cancel; empty: none are.
    void setReading(const QString& sentence);
    QString reading() const;
    // Why nothing can be sent, in the place of the hint; empty: it can.
    void setBlocked(const QString& why);
    bool isBlocked() const { return !m_blocked.isEmpty(); }

  Q_SIGNALS:
    void thinkingChosen(const QString& choice);
    void sendRequested(const QString& prompt);
    void stopRequested();
    void attachRequested();
    void readingCancelled();
    void filesOffered(const QStringList& paths);

  protected:
    void paintEvent(QPaintEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void refresh();
    void send();

    PromptEdit* m_edit;
    QToolButton* m_button;
    QToolButton* m_thinking;
    AttachmentChips* m_chips;
    PasteOffer* m_paste;
    QLabel* m_notice;
    QLabel* m_reading;
    QPushButton* m_cancelReading;
    QToolButton* m_attach;
    QLabel* m_hint;
    QWidget* m_box;
    QString m_stopKeys = QStringLiteral("Esc");
    QString m_openKeys = QStringLiteral("Ctrl+O");
    QString m_blocked;
    Mode m_mode = Mode::NoModel;
    bool m_sendsNext = false;
};

}  // namespace offstage::ui
