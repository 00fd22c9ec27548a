#pragma once

#include <QHash>
#include <QObject>
#include <QPair>
#include <QTimer>

#include "ui/chat/attachment_reader.h"
#include "ui/chat/chat_controller.h"

namespace offstage::ui {

class ContextCounter;
class InputBar;

// The files for the prompt that the user is writing. Reads them, shows them as chips
// above the input box with each file's tokens, and blocks sending while they, or a long
// text in the box, do not fit the largest context of the model. GUI thread only; the
// engine's thread counts tokens while no answer is written.
class DraftAttachments : public QObject {
    Q_OBJECT

  public:
    static constexpr int kMostFiles = 20;  // for one prompt

    DraftAttachments(EngineController& engine, ChatController& chat, ContextCounter& counter, InputBar& input,
                     QObject* parent = nullptr);

    // Reads them on another thread; they belong to the conversation that is shown now.
    // Files that cannot be attached are named above the input box, with the reason.
    void attach(const QStringList& paths);
    bool isReading() const { return m_reader.isReading(); }
    void chooseFiles();
    // False: not now. If files are still being read or tokens counted, readyToSend()
    // follows when they are attached and fit, unless the user has changed the message
    // before.
    bool maySend();

  Q_SIGNALS:
    void readyToSend();

  private:
    using Key = QPair<QString, QString>;  // name and text

    static constexpr qint64 kNotCounted = -1;
    static constexpr qint64 kCannotCount = -2;  // the model has nothing to count with

    static Key keyOf(const Attachment& attachment) { return {attachment.name, attachment.text}; }
    struct Batch {
        ConversationId conversation = 0;
        QStringList paths;
    };

    void tellAwaited();
    void readNext();
    void onRead(const QList<ReadAttachment>& files);
    static QString tooManyFor(const QString& name);
    bool attachText(const QString& text);  // false: there are as many files as may be
    void remove(int index);
    void showChips();
    void countNext();
    void onCounted(RequestId id, qint64 tokens);
    void forgetCounts();
    void checkFit();
    bool isLongText() const;
    void onSettled();

    EngineController& m_engine;
    ChatController& m_chat;
    ContextCounter& m_counter;
    InputBar& m_input;
    AttachmentReader m_reader;
    QList<Batch> m_batches;  // the first is being read
    QTimer m_soon;           // delay before "reading files" is shown: most take no time
    QHash<Key, qint64> m_tokens;
    qint64 m_frameTokens = kNotCounted;  // of a prompt with kProbe only
    RequestId m_asked = 0;               // 0: none
    Key m_askedFor;                      // two empty texts: kProbe only
    bool m_sendsWhenCounted = false;
};

}  // namespace offstage::ui
