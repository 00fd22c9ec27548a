#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>

#include <QHash>
#include <QLockFile>
#include <QObject>

#include "ui/history/conversation_tree.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

class ConversationStore;
class HistoryWriter;
struct OpeningPatience;

// All conversations: the list of them, and the messages of the opened ones. Kept in
// memory, and after open() on disk too: this thread reads, HistoryWriter's writes. On any
// problem with the disk the conversations in memory continue; trouble() has the reason
// why they are not saved, noticed() reports other problems. GUI thread only.
class History : public QObject {
    Q_OBJECT

  public:
    explicit History(QObject* parent = nullptr);
    ~History() override;  // close()

    // Opens or creates conversations.sqlite in this folder. After a program that did not
    // close it, the file is checked and unfinished answers are completed. A damaged file
    // is renamed, a new one begun, and the readable data is copied; but not while another
    // program has it open. A file of a newer version is left unchanged. False:
    // conversations are kept in memory only, until tryAgain(); trouble() has the reason.
    // Once, before anything else.
    bool open(const QString& folder);
    // What the engine has read of a conversation is kept beside conversations.sqlite, in
    // `kv`, as GenerationRequest::kept_in names it; empty: conversations are in memory
    // only. remove() deletes it.
    QString keptFile(ConversationId id) const;
    // Tries once more to commit the rest. False: something could not be written.
    bool close();
    // Waits until all changes so far are on the disk.
    bool flush();
    // The same, in one try of at most three seconds. If open() failed and something is
    // unsaved, opens first. False: not everything is on the disk.
    bool saveNow();
    // As saveNow(), but opens also if nothing is unsaved.
    bool tryAgain();
    bool isOpen() const { return m_writer != nullptr; }
    // The reason why conversations are not saved: open() failed, or the last try to write
    // did. Empty: they are saved, or open() was not called.
    QString trouble() const;
    // Whether this conversation has changes that the trouble keeps from the disk.
    bool isUnsaved(ConversationId id) const;
    // There is a message or a draft that is not on the disk.
    bool hasUnsaved() const;
    // The conversations that have changes not yet on the disk, complete; not those
    // without messages and draft.
    QList<StoredConversation> unsaved();
    // The time that a try to save or to open again waits for another program's
    // transaction: a second by default.
    void setBusyTimeout(std::chrono::milliseconds timeout);
    // Changes since open() was called, and saved(n): the first n of them are on the disk.
    quint64 changeCount() const { return m_changes; }
    // open()'s messages for the user, besides trouble().
    QList<Problem> notices() const { return m_notices; }

    // ---- the list
    // Those with messages or a draft, not deleted; in no order.
    QList<ConversationInfo> conversations() const;
    // Those that were made or had a conversation once, in no order; a conversation may be
    // in another one.
    const QStringList& folders() const { return m_folders; }
    void setFolderExists(const QString& folder, bool exists);
    bool contains(ConversationId id) const;
    const ConversationInfo& info(ConversationId id) const;  // an empty one where there is none
    // Neither listed nor on the disk before its first message or draft.
    ConversationId create(const QString& systemPrompt, const Sampling& sampling, const QString& persona = {});
    void setTitle(ConversationId id, const QString& title);       // blanks: back to the one made from the first prompt
    void setModelTitle(ConversationId id, const QString& title);  // no change of one that a person wrote
    void setPinned(ConversationId id, bool pinned);
    void setArchived(ConversationId id, bool archived);
    void setSystemPrompt(ConversationId id, const QString& prompt);
    void setSampling(ConversationId id, const Sampling& sampling);
    void setPersona(ConversationId id, const QString& persona);
    void setFolder(ConversationId id, const QString& folder);  // empty: in none
    void setDraft(ConversationId id, const QString& draft);
    // Can be taken back until the next start.
    void remove(ConversationId id);
    void undoRemove(ConversationId id);
    // In every conversation; those with a matching title come first, with message 0.
    QList<SearchHit> search(const QString& query);

    // ---- messages
    // Null: the conversation cannot be read (noticed() has the reason). The pointer stays
    // valid.
    const ConversationTree* open(ConversationId id);
    // Gives the message its id, and its time if it has none; becomes the end of the path.
    MessageId add(ConversationId id, Message message);
    // Everything but id and parent.
    template <typename Edit>
    void edit(ConversationId id, MessageId message, Edit&& change) {
        if (Message* found = editable(id, message)) {
            change(*found);
            store(id, *found);
        }
    }
    // To a message that is being streamed.
    void appendText(ConversationId id, MessageId message, const QString& text);
    // In memory only: the next edit() stores it.
    void appendThought(ConversationId id, MessageId message, const QString& text, qint64 tokens, double seconds);
    void removeMessage(ConversationId id, MessageId message);
    bool switchBranch(ConversationId id, MessageId message, int step);
    void show(ConversationId id, MessageId message);  // as ConversationTree::show

    // ---- whole conversations, for files
    // None: it cannot be read (noticed() has the reason).
    std::optional<StoredConversation> stored(ConversationId id);
    // A new conversation with new ids.
    ConversationId insert(const StoredConversation& conversation);

    // Above all existing ids; grows with time.
    quint64 newId();

  Q_SIGNALS:
    void added(quint64 conversation);
    void changed(quint64 conversation);  // its info
    void removed(quint64 conversation);
    void listed();  // many were added at once
    void troubleChanged();
    void noticed(const offstage::ui::Problem& problem);
    void saved(quint64 changes);

  private:
    struct Entry {
        ConversationInfo info;
        std::unique_ptr<ConversationTree> tree;  // null: not opened yet
        bool listed = false;
        bool deleted = false;
        QHash<MessageId, QString> titles = {};  // of first messages that are not shown, as they were
    };

    Entry* entry(ConversationId id);
    Message* editable(ConversationId id, MessageId message);
    void store(ConversationId id, const Message& message);
    void touch(Entry& entry);
    static void retitle(Entry& entry, MessageId firstBefore);
    void write(ConversationId id, Change change);  // 0: of no conversation
    void writeWhole(const Entry& entry);
    bool hasContent(ConversationId id) const;
    bool openFolder(const OpeningPatience& patience);
    void startWriter(const QString& file);
    void notice(const Problem& problem);
    void notice(const QString& title, const QString& sentence);

    std::unordered_map<ConversationId, Entry> m_entries;
    QHash<ConversationId, quint64> m_unsaved;  // changeCount() at the last change of each that is not on the disk
    QStringList m_folders;
    quint64 m_changes = 0;
    QString m_folder;      // empty: nothing is saved
    QString m_whyNotOpen;  // empty: it is open, or not to be opened
    std::unique_ptr<ConversationStore> m_store;
    std::unique_ptr<HistoryWriter> m_writer;
    std::unique_ptr<QLockFile> m_sessionLock;
    std::chrono::milliseconds m_busyTimeout{1000};
    quint64 m_session = 0;
    quint64 m_lastId = 0;
    bool m_foundDamage = false;
    QList<Problem> m_notices;
};

// A first line of at most about 48 characters, cut at a word.
QString titleFrom(const QString& prompt);

}  // namespace offstage::ui
