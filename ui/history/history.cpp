#include "ui/history/history.h"

#include <algorithm>
#include <utility>

#include <QDateTime>
#include <QFile>
#include <QRandomGenerator>

#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_opening.h"
#include "ui/history/history_writer.h"

namespace offstage::ui {

namespace {

constexpr std::chrono::seconds kFlushWait{10};
constexpr std::chrono::seconds kSaveWait{3};
constexpr std::chrono::seconds kOpenAgainWait{1};
constexpr qsizetype kTitleLength = 48;

}  // namespace

QString titleFrom(const QString& prompt) {
    QString line = prompt.trimmed().section(u'\n', 0, 0).simplified();
    if (line.size() <= kTitleLength) {
        return line;
    }
    const qsizetype space = line.lastIndexOf(u' ', kTitleLength);
    line.truncate(space > kTitleLength / 2 ? space : kTitleLength);
    if (line.back().isHighSurrogate()) {
        line.chop(1);
    }
    return line + u'…';
}

History::History(QObject* parent) : QObject(parent) {}

History::~History() {
    close();
}

quint64 History::newId() {
    // Milliseconds and 20 random bits: two programs that write to one file get different
    // ids, and later ids are larger.
    const auto now = static_cast<quint64>(QDateTime::currentMSecsSinceEpoch()) << 20;
    m_lastId = std::max(m_lastId + 1, now | QRandomGenerator::global()->bounded(1u << 20));
    return m_lastId;
}

// ---------------------------------------------------------------- the file

bool History::open(const QString& folder) {
    m_folder = folder;
    return openFolder({});
}

bool History::openFolder(const OpeningPatience& patience) {
    OpenedHistory opened;
    try {
        opened = openHistory(m_folder, newId(), patience, [this](const Problem& mended) { notice(mended); });
    } catch (const HistoryError& error) {
        m_whyNotOpen = error.sentence();
        Q_EMIT troubleChanged();
        return false;
    }
    m_store = std::move(opened.store);
    m_sessionLock = std::move(opened.sessionLock);
    m_session = opened.session;
    m_lastId = std::max(m_lastId, opened.largestId);
    m_whyNotOpen.clear();
    startWriter(opened.file);
    // Messages from before it could be opened.
    m_unsaved.clear();
    for (const auto& [id, each] : m_entries) {
        writeWhole(each);
    }
    for (const QString& folder : std::as_const(m_folders)) {
        write(0, change::SetFolder{folder});
    }
    m_folders += opened.folders;
    m_folders.removeDuplicates();
    for (const ConversationInfo& info : std::as_const(opened.conversations)) {
        m_entries.try_emplace(info.id, Entry{info, nullptr, true, false});
    }
    Q_EMIT listed();
    Q_EMIT troubleChanged();
    return true;
}

void History::startWriter(const QString& file) {
    m_writer = std::make_unique<HistoryWriter>(file, m_session);
    m_writer->setBusyTimeout(m_busyTimeout);
    connect(m_writer.get(), &HistoryWriter::committed, this, [this, before = m_changes](quint64 changes) {
        const quint64 all = before + changes;
        m_unsaved.removeIf([all](const auto& each) { return each.value() <= all; });
        Q_EMIT saved(all);
    });
    connect(m_writer.get(), &HistoryWriter::troubled, this, &History::troubleChanged);
    connect(m_writer.get(), &HistoryWriter::recovered, this, &History::troubleChanged);
    connect(m_writer.get(), &HistoryWriter::refused, this, [this](const QString& sentence) {
        notice(tr("A change of the conversation could not be saved"), sentence);
    });
}

bool History::flush() {
    return m_writer ? m_writer->flush(kFlushWait) : !hasUnsaved();
}

bool History::saveNow() {
    return (!m_writer && !hasUnsaved()) || tryAgain();
}

bool History::tryAgain() {
    const bool isOpen = m_writer || (!m_folder.isEmpty() && openFolder({kOpenAgainWait, m_busyTimeout}));
    return isOpen && m_writer->tryNow(kSaveWait);
}

void History::setBusyTimeout(std::chrono::milliseconds timeout) {
    m_busyTimeout = timeout;
    if (m_writer) {
        m_writer->setBusyTimeout(timeout);
    }
}

QString History::trouble() const {
    return m_writer ? m_writer->trouble() : m_whyNotOpen;
}

bool History::isUnsaved(ConversationId id) const {
    return m_unsaved.contains(id) && !trouble().isEmpty();
}

bool History::hasContent(ConversationId id) const {
    const auto found = m_entries.find(id);
    if (found == m_entries.end() || found->second.deleted) {
        return false;
    }
    const Entry& e = found->second;
    return !e.tree || e.tree->size() > 0 || !e.info.draft.trimmed().isEmpty();
}

bool History::hasUnsaved() const {
    return std::any_of(m_unsaved.keyBegin(), m_unsaved.keyEnd(), [this](ConversationId id) { return hasContent(id); });
}

QList<StoredConversation> History::unsaved() {
    QList<StoredConversation> out;
    QList<ConversationId> ids = m_unsaved.keys();
    std::sort(ids.begin(), ids.end());
    for (const ConversationId id : std::as_const(ids)) {
        if (const std::optional<StoredConversation> each = hasContent(id) ? stored(id) : std::nullopt) {
            out.append(*each);
        }
    }
    return out;
}

bool History::close() {
    m_folder.clear();  // further changes are not to be saved
    if (!m_writer) {
        return !hasUnsaved();
    }
    bool whole = m_writer->close();
    m_writer.reset();
    try {
        // A session that stays on the list has the file checked at the next start.
        m_store->setBusyTimeout(m_busyTimeout);
        if (!m_foundDamage) {
            m_store->settle(m_session);
        }
    } catch (const HistoryError&) {
        whole = false;
    }
    m_store.reset();
    m_sessionLock.reset();
    return whole;
}

void History::notice(const Problem& problem) {
    m_notices.append(problem);
    Q_EMIT noticed(problem);
}

void History::notice(const QString& title, const QString& sentence) {
    Problem problem;
    problem.title = title;
    problem.sentence = sentence;
    notice(problem);
}

// ---------------------------------------------------------------- the list

History::Entry* History::entry(ConversationId id) {
    const auto found = m_entries.find(id);
    return found == m_entries.end() ? nullptr : &found->second;
}

bool History::contains(ConversationId id) const {
    const auto found = m_entries.find(id);
    return found != m_entries.end() && !found->second.deleted;
}

QList<ConversationInfo> History::conversations() const {
    QList<ConversationInfo> out;
    for (const auto& [id, e] : m_entries) {
        if (e.listed && !e.deleted) {
            out.append(e.info);
        }
    }
    return out;
}

const ConversationInfo& History::info(ConversationId id) const {
    static const ConversationInfo none;
    const auto found = m_entries.find(id);
    return found == m_entries.end() ? none : found->second.info;
}

ConversationId History::create(const QString& systemPrompt, const Sampling& sampling, const QString& persona) {
    Entry fresh;
    fresh.info.id = newId();
    fresh.info.createdMs = fresh.info.changedMs = QDateTime::currentMSecsSinceEpoch();
    fresh.info.systemPrompt = systemPrompt;
    fresh.info.sampling = sampling;
    fresh.info.persona = persona;
    fresh.tree = std::make_unique<ConversationTree>();
    const ConversationId id = fresh.info.id;
    m_entries[id] = std::move(fresh);
    return id;
}

void History::write(ConversationId id, Change change) {
    if (m_folder.isEmpty()) {
        return;
    }
    m_unsaved.insert(id, ++m_changes);
    if (m_writer) {
        m_writer->write(std::move(change));
    }
}

void History::writeWhole(const Entry& e) {
    if (!e.listed) {
        return;
    }
    write(e.info.id, change::PutConversation{e.info});
    for (const Message& message : e.tree->messages()) {
        store(e.info.id, message);
    }
    if (e.deleted) {
        write(e.info.id, change::SetDeleted{e.info.id, true});
    }
}

// After a change of the info.
void History::touch(Entry& e) {
    const bool first = !e.listed && (!e.info.draft.trimmed().isEmpty() || (e.tree && e.tree->size() > 0));
    e.listed = e.listed || first;
    if (e.listed) {
        write(e.info.id, change::PutConversation{e.info});
    }
    if (first) {
        Q_EMIT added(e.info.id);
    } else if (e.listed && !e.deleted) {
        Q_EMIT changed(e.info.id);
    }
}

void History::setTitle(ConversationId id, const QString& title) {
    Entry* e = entry(id);
    if (!e) {
        return;
    }
    const QString chosen = title.simplified();
    e->info.titleByPerson = !chosen.isEmpty();
    e->info.title = chosen;
    if (chosen.isEmpty() && open(id)) {
        retitle(*e, 0);
    }
    touch(*e);
}

// Where another message is the first one now, the title is made from it, unless a person
// wrote it.
void History::retitle(Entry& e, MessageId firstBefore) {
    const MessageId first = e.tree->first();
    const Message* const message = e.tree->find(first);
    if (first == firstBefore || e.info.titleByPerson) {
        return;
    }
    e.titles[firstBefore] = e.info.title;  // a model may have written it
    if (message && message->kind == Message::Kind::Problem) {
        return;  // what is damaged has no title of its own
    }
    e.info.title = e.titles.take(first);
    if (e.info.title.isEmpty() && message) {
        e.info.title = titleFrom(message->text);
    }
}

void History::setModelTitle(ConversationId id, const QString& title) {
    Entry* e = entry(id);
    if (e && !e->info.titleByPerson) {
        e->info.title = title;
        touch(*e);
    }
}

void History::setPinned(ConversationId id, bool pinned) {
    if (Entry* e = entry(id)) {
        e->info.pinned = pinned;
        touch(*e);
    }
}

void History::setArchived(ConversationId id, bool archived) {
    if (Entry* e = entry(id)) {
        e->info.archived = archived;
        touch(*e);
    }
}

void History::setSystemPrompt(ConversationId id, const QString& prompt) {
    if (Entry* e = entry(id)) {
        e->info.systemPrompt = prompt;
        touch(*e);
    }
}

void History::setSampling(ConversationId id, const Sampling& sampling) {
    if (Entry* e = entry(id)) {
        e->info.sampling = sampling;
        touch(*e);
    }
}

void History::setPersona(ConversationId id, const QString& persona) {
    Entry* e = entry(id);
    if (e != nullptr && e->info.persona != persona) {
        e->info.persona = persona;
        touch(*e);
    }
}

void History::setFolder(ConversationId id, const QString& folder) {
    Entry* e = entry(id);
    if (e && e->info.folder != folder) {
        e->info.folder = folder;
        touch(*e);
    }
}

void History::setFolderExists(const QString& folder, bool exists) {
    if (folder.isEmpty() || m_folders.contains(folder) == exists) {
        return;
    }
    if (exists) {
        m_folders.append(folder);
    } else {
        m_folders.removeAll(folder);
    }
    write(0, change::SetFolder{folder, exists});
}

void History::setDraft(ConversationId id, const QString& draft) {
    Entry* e = entry(id);
    if (e && e->info.draft != draft) {
        e->info.draft = draft;
        touch(*e);
    }
}

QString History::keptFile(ConversationId id) const {
    return !m_writer ? QString() : QStringLiteral("%1/kv/%2").arg(m_folder).arg(id);
}

void History::remove(ConversationId id) {
    Entry* e = entry(id);
    if (!e || e->deleted) {
        return;
    }
    e->deleted = true;
    if (const QString kept = keptFile(id); !kept.isEmpty()) {
        QFile::remove(kept + QStringLiteral(".kv"));
        QFile::remove(kept + QStringLiteral(".end"));
    }
    if (e->listed) {
        write(id, change::SetDeleted{id, true});
    }
    Q_EMIT removed(id);
}

void History::undoRemove(ConversationId id) {
    Entry* e = entry(id);
    if (!e || !e->deleted) {
        return;
    }
    e->deleted = false;
    if (e->listed) {
        write(id, change::SetDeleted{id, false});
        Q_EMIT added(id);
    }
}

QList<SearchHit> History::search(const QString& query) {
    QList<SearchHit> hits;
    const QString wanted = query.simplified();
    if (wanted.isEmpty()) {
        return hits;
    }
    for (const ConversationInfo& each : conversations()) {
        const qsizetype at = each.title.indexOf(wanted, 0, Qt::CaseInsensitive);
        if (at >= 0) {
            SearchHit hit;
            hit.conversation = each.id;
            hit.createdMs = each.changedMs;
            hit.snippet = each.title;
            hit.marks.append({at, wanted.size()});
            hits.append(hit);
        }
    }
    std::sort(hits.begin(), hits.end(),
              [](const SearchHit& a, const SearchHit& b) { return a.createdMs > b.createdMs; });
    if (m_store) {
        try {
            for (const SearchHit& hit : m_store->search(query)) {
                if (contains(hit.conversation)) {
                    hits.append(hit);
                }
            }
        } catch (const HistoryError& error) {
            notice(tr("The chat history could not be searched"), error.sentence());
        }
    }
    return hits;
}

// ---------------------------------------------------------------- messages

const ConversationTree* History::open(ConversationId id) {
    Entry* e = entry(id);
    if (!e) {
        return nullptr;
    }
    if (!e->tree) {
        try {
            const StoredConversation loaded = m_store->load(id);
            e->tree = std::make_unique<ConversationTree>();
            e->tree->reset(loaded.messages, e->info.activeLeaf);
        } catch (const HistoryError& error) {
            m_foundDamage = m_foundDamage || error.kind() == HistoryError::Kind::Damaged;
            notice(tr("“%1” cannot be opened").arg(e->info.title), error.sentence());
            return nullptr;
        }
    }
    return e->tree.get();
}

Message* History::editable(ConversationId id, MessageId message) {
    return open(id) ? entry(id)->tree->find(message) : nullptr;
}

void History::store(ConversationId id, const Message& message) {
    write(id, change::PutMessage{id, message});
}

MessageId History::add(ConversationId id, Message message) {
    Entry* e = entry(id);
    if (!e || !open(id) || (message.parent != 0 && !e->tree->contains(message.parent))) {
        return 0;
    }
    message.id = newId();
    if (message.createdMs == 0) {
        message.createdMs = QDateTime::currentMSecsSinceEpoch();
    }
    const MessageId first = e->tree->first();
    e->tree->add(message);
    e->info.activeLeaf = message.id;
    e->info.changedMs = std::max(e->info.changedMs, message.createdMs);
    retitle(*e, first);
    if (message.kind == Message::Kind::Answer && !message.author.isEmpty()) {
        e->info.model = message.author;
    }
    touch(*e);
    store(id, message);
    return message.id;
}

void History::appendText(ConversationId id, MessageId message, const QString& text) {
    if (Message* found = editable(id, message)) {
        found->text += text;
        if (!text.isEmpty()) {
            write(id, change::AppendText{message, text});
        }
    }
}

void History::appendThought(ConversationId id, MessageId message, const QString& text, qint64 tokens, double seconds) {
    if (Message* found = editable(id, message)) {
        found->thought.text += text;
        found->thought.isOpen = true;
        found->thought.tokens = tokens;
        found->thought.seconds = seconds;
    }
}

void History::removeMessage(ConversationId id, MessageId message) {
    if (!editable(id, message)) {
        return;
    }
    Entry* e = entry(id);
    QList<MessageId> doomed = {message};
    for (qsizetype i = 0; i < doomed.size(); ++i) {
        doomed += e->tree->children(doomed[i]);
    }
    const MessageId first = e->tree->first();
    e->tree->remove(message);
    e->info.activeLeaf = e->tree->leaf();
    retitle(*e, first);
    for (auto it = doomed.crbegin(); it != doomed.crend(); ++it) {
        write(id, change::RemoveMessage{*it});
    }
    touch(*e);
}

bool History::switchBranch(ConversationId id, MessageId message, int step) {
    const MessageId first = editable(id, message) ? entry(id)->tree->first() : 0;
    if (first == 0 || !entry(id)->tree->switchBranch(message, step)) {
        return false;
    }
    Entry* e = entry(id);
    retitle(*e, first);
    e->info.activeLeaf = e->tree->leaf();
    touch(*e);
    return true;
}

void History::show(ConversationId id, MessageId message) {
    if (editable(id, message)) {
        Entry* e = entry(id);
        const MessageId first = e->tree->first();
        e->tree->show(message);
        retitle(*e, first);
        e->info.activeLeaf = e->tree->leaf();
        touch(*e);
    }
}

// ---------------------------------------------------------------- whole conversations

std::optional<StoredConversation> History::stored(ConversationId id) {
    const ConversationTree* tree = open(id);
    if (!tree) {
        return std::nullopt;
    }
    StoredConversation out;
    out.info = info(id);
    out.messages = tree->messages();
    return out;
}

ConversationId History::insert(const StoredConversation& conversation) {
    Entry fresh;
    fresh.info = conversation.info;
    fresh.info.id = newId();
    const ConversationId id = fresh.info.id;
    QHash<MessageId, MessageId> ids = {{0, 0}};
    QList<Message> messages = conversation.messages;
    for (Message& message : messages) {
        const MessageId before = message.id;
        message.id = newId();
        message.parent = ids.value(message.parent, 0);
        if (message.state == Message::State::Waiting || message.state == Message::State::Streaming) {
            message.state = Message::State::Stopped;
        }
        ids.insert(before, message.id);
    }
    fresh.info.activeLeaf = ids.value(conversation.info.activeLeaf, 0);
    fresh.tree = std::make_unique<ConversationTree>();
    fresh.tree->reset(messages, fresh.info.activeLeaf);
    m_entries[id] = std::move(fresh);
    touch(m_entries[id]);
    for (const Message& message : std::as_const(messages)) {
        store(id, message);
    }
    return id;
}

}  // namespace offstage::ui
