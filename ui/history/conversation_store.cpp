#include "ui/history/conversation_store.h"

#include <atomic>
#include <sys/stat.h>
#include <utility>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QJsonDocument>
#include <QSqlError>

#include "ui/history/history_error.h"
#include "ui/history/history_json.h"
#include "ui/history/history_schema.h"

namespace offstage::ui {

namespace {

// Around a match in a snippet; neither can be typed.
constexpr QChar kMarkBegin(2);
constexpr QChar kMarkEnd(3);

QString compact(const QJsonObject& json) {
    return QString::fromUtf8(QJsonDocument(json).toJson(QJsonDocument::Compact));
}

QJsonObject objectFrom(const QVariant& column) {
    return QJsonDocument::fromJson(column.toString().toUtf8()).object();
}

bool isText(const QVariant& column) {
    return column.metaType().id() == QMetaType::QString;
}

Message damagedMessage(MessageId id, MessageId parent) {
    Message message;
    message.id = id;
    message.parent = parent;
    message.kind = Message::Kind::Problem;
    message.state = Message::State::Failed;
    message.problem.title = HistoryText::tr("One message is damaged");
    message.problem.sentence = HistoryText::tr("It could not be read from the chat history and is not shown.");
    return message;
}

// Takes the marks out of a snippet, and line breaks too: it is one line.
void readSnippet(QString marked, SearchHit& hit) {
    for (QChar& c : marked) {
        if (c != kMarkBegin && c != kMarkEnd && c.isSpace()) {
            c = u' ';
        }
    }
    qsizetype begin = 0;
    for (const QChar c : std::as_const(marked)) {
        if (c == kMarkBegin) {
            begin = hit.snippet.size();
        } else if (c == kMarkEnd) {
            hit.marks.append({begin, hit.snippet.size() - begin});
        } else {
            hit.snippet += c;
        }
    }
}

// SQLite's integers are signed; Qt would bind an unsigned one as text.
QVariant number(quint64 id) {
    return static_cast<qint64>(id);
}

std::pair<quint64, quint64> identityOf(const QString& file) {
    struct stat status {};
    if (::stat(QFile::encodeName(file).constData(), &status) != 0) {
        return {};
    }
    return {status.st_dev, status.st_ino};
}

bool isIncomplete(Message::State state) {
    return state == Message::State::Waiting || state == Message::State::Streaming;
}

// The sampling, and the persona that may have set it.
QJsonObject samplerColumn(const ConversationInfo& info) {
    QJsonObject json = toJson(info.sampling);
    if (!info.persona.isEmpty()) {
        json[QLatin1String("persona")] = info.persona;
    }
    return json;
}

}  // namespace

ConversationInfo conversationOf(const QSqlQuery& row) {
    ConversationInfo info;
    info.id = row.value(0).toULongLong();
    info.title = row.value(1).toString();
    info.titleByPerson = row.value(2).toBool();
    info.pinned = row.value(3).toBool();
    info.archived = row.value(4).toBool();
    info.createdMs = row.value(5).toLongLong();
    info.changedMs = row.value(6).toLongLong();
    info.model = row.value(7).toString();
    info.systemPrompt = row.value(8).toString();
    const QJsonObject sampler = objectFrom(row.value(9));
    info.sampling = samplingFrom(sampler);
    info.persona = sampler[QLatin1String("persona")].toString();
    info.activeLeaf = row.value(10).toULongLong();
    info.draft = row.value(11).toString();
    info.folder = row.value(12).toString();
    return info;
}

Message messageOf(const QSqlQuery& row) {
    Message message;
    message.id = row.value(0).toULongLong();
    message.parent = row.value(1).toULongLong();
    message.kind = messageKind(row.value(2).toString()).value_or(Message::Kind::Answer);
    message.state = messageState(row.value(3).toString()).value_or(Message::State::Stopped);
    message.text = row.value(4).toString();
    message.author = row.value(5).toString();
    message.note = row.value(6).toString();
    if (const QVariant figures = row.value(7); isText(figures) && !figures.toString().isEmpty()) {
        readFiguresColumn(objectFrom(figures), message);
    }
    message.createdMs = row.value(8).toLongLong();
    return message;
}

void refuseSpecialFile(const QString& path) {
    const QFileInfo info(path);
    if (info.exists() && !info.isFile()) {
        throw HistoryError(HistoryError::Kind::Unavailable,
                           HistoryText::tr("%1 is in the way of the chat history: it is not a regular file.")
                               .arg(QDir::toNativeSeparators(path)));
    }
}

QString fullTextQuery(const QString& typed) {
    QStringList phrases;
    bool quoted = false;
    const auto add = [&phrases](const QString& words, bool prefix) {
        bool hasWord = false;
        for (const uint c : words.toUcs4()) {
            hasWord = hasWord || QChar::isLetterOrNumber(c);
        }
        if (hasWord) {
            // Inside quotes FTS5 has no operators.
            phrases += u'"' + words + u'"' + (prefix ? QStringLiteral("*") : QString());
        }
    };
    for (const QString& part : typed.split(u'"')) {
        if (quoted) {
            add(part.simplified(), false);
        } else {
            for (const QString& word : part.split(u' ', Qt::SkipEmptyParts)) {
                add(word.simplified(), true);
            }
        }
        quoted = !quoted;
    }
    return phrases.join(u' ');
}

ConversationStore::ConversationStore(const QString& file, std::chrono::milliseconds busyTimeout) : m_file(file) {
    static std::atomic<quint64> count = 0;
    m_connection = QStringLiteral("history-%1").arg(++count);
    m_database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_connection);
    try {
        m_database.setDatabaseName(file);
        m_database.setConnectOptions(QStringLiteral("QSQLITE_BUSY_TIMEOUT=%1").arg(busyTimeout.count()));
        if (!m_database.isValid()) {
            throw HistoryError(HistoryError::Kind::Unavailable,
                               HistoryText::tr("The chat history needs Qt's SQLite driver, which is not installed."));
        }
        for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
            refuseSpecialFile(file + QLatin1String(suffix));
        }
        if (!m_database.open()) {
            throwHistoryError(m_database.lastError(), file);
        }
        readVersion(m_database, historyMigrations());  // a file of another program or version stays unchanged
        execute(m_database, QStringLiteral("PRAGMA journal_mode = WAL"));
        execute(m_database, QStringLiteral("PRAGMA synchronous = FULL"));
        execute(m_database, QStringLiteral("PRAGMA foreign_keys = ON"));
        migrate(m_database, historyMigrations());
        m_identity = identityOf(file);
    } catch (...) {
        m_database.close();
        m_database = {};
        QSqlDatabase::removeDatabase(m_connection);
        throw;
    }
}

ConversationStore::~ConversationStore() {
    m_prepared.clear();
    m_database.close();
    m_database = {};
    QSqlDatabase::removeDatabase(m_connection);
}

void ConversationStore::setBusyTimeout(std::chrono::milliseconds timeout) {
    execute(m_database, QStringLiteral("PRAGMA busy_timeout = %1").arg(timeout.count()));
}

QSqlQuery& ConversationStore::prepared(const char* statement, const QVariantList& values) {
    std::shared_ptr<QSqlQuery>& query = m_prepared[statement];
    if (!query) {
        query = std::make_shared<QSqlQuery>(m_database);
        query->setForwardOnly(true);
        if (!query->prepare(QString::fromLatin1(statement))) {
            throwHistoryError(query->lastError(), m_file);
        }
    }
    for (int i = 0; i < values.size(); ++i) {
        query->bindValue(i, values[i]);
    }
    if (!query->exec()) {
        throwHistoryError(query->lastError(), m_file);
    }
    return *query;
}

void ConversationStore::run(const char* statement, const QVariantList& values) {
    prepared(statement, values).finish();
}

template <typename Take>
void ConversationStore::forEach(const char* statement, const QVariantList& values, Take take) {
    QSqlQuery& query = prepared(statement, values);
    while (query.next()) {
        take(query);
    }
    const QSqlError error = query.lastError();
    query.finish();
    if (error.isValid()) {
        throwHistoryError(error, m_file);
    }
}

QList<ConversationInfo> ConversationStore::conversations() {
    static const QByteArray statement =
        QByteArray("SELECT ") + kConversationColumns +
        " FROM conversations WHERE deleted_by IS NULL ORDER BY changed_ms DESC, id DESC";
    QList<ConversationInfo> out;
    forEach(statement.constData(), {}, [&out](const QSqlQuery& row) { out.append(conversationOf(row)); });
    return out;
}

QStringList ConversationStore::folders() {
    QStringList out;
    forEach("SELECT name FROM folders", {}, [&out](const QSqlQuery& row) { out.append(row.value(0).toString()); });
    return out;
}

StoredConversation ConversationStore::load(ConversationId id) {
    StoredConversation out;
    for (const ConversationInfo& info : conversations()) {
        if (info.id == id) {
            out.info = info;
        }
    }
    if (out.info.id == 0) {
        throw HistoryError(HistoryError::Kind::Refused, HistoryText::tr("This conversation is no longer there."));
    }
    // The journaled text of an answer that another running program is writing now.
    QHash<MessageId, QString> journal;
    static constexpr char kJournal[] =
        "SELECT message, journal.text FROM journal JOIN messages ON messages.id = message "
        "WHERE conversation = ? ORDER BY message, piece";
    forEach(kJournal, {number(id)},
            [&](const QSqlQuery& row) { journal[row.value(0).toULongLong()] += row.value(1).toString(); });
    static const QByteArray messages =
        QByteArray("SELECT ") + kMessageColumns + " FROM messages WHERE conversation = ? ORDER BY id";
    forEach(messages.constData(), {number(id)}, [&](const QSqlQuery& row) {
        Message message = messageOf(row);
        message.text += journal.value(message.id);
        const bool whole = messageKind(row.value(2).toString()) && messageState(row.value(3).toString());
        if (!whole || !isText(row.value(4))) {
            message = damagedMessage(message.id, message.parent);
            ++out.nDamaged;
        }
        out.messages.append(std::move(message));
    });
    return out;
}

QList<SearchHit> ConversationStore::search(const QString& typed, int limit) {
    // Newest first is also what FTS5 can give without ranking every match. char(2),
    // char(3): kMarkBegin, kMarkEnd.
    static const auto statements = [](const char* index, const char* source) {
        const QString hit =
            QStringLiteral("SELECT messages.id, messages.conversation, messages.kind, messages.created_ms, ");
        const QString joined = QStringLiteral("JOIN conversations ON conversations.id = messages.conversation WHERE ");
        const QString words = hit +
                              QStringLiteral(
                                  "snippet(%1, 0, char(2), char(3), char(8230), 14) FROM %1 JOIN messages ON "
                                  "messages.id = %1.rowid ")
                                  .arg(QLatin1String(index)) +
                              joined +
                              QStringLiteral("%1 MATCH ? AND deleted_by IS NULL ORDER BY %1.rowid DESC LIMIT ?")
                                  .arg(QLatin1String(index));
        const QString literal =
            hit +
            QStringLiteral(
                "substr(source.text, max(1, instr(source.text, ?) - 40), 120) FROM %1 AS source "
                "JOIN messages ON messages.id = source.id ")
                .arg(QLatin1String(source)) +
            joined +
            QStringLiteral("instr(source.text, ?) > 0 AND deleted_by IS NULL ORDER BY messages.id DESC LIMIT ?");
        return std::pair(words.toLatin1(), literal.toLatin1());
    };
    using Place = SearchHit::Place;
    static const std::pair<Place, std::pair<QByteArray, QByteArray>> kSources[] = {
        {Place::Text, statements("message_text", "messages")},
        {Place::Thought, statements("thought_text", "message_thoughts")},
        {Place::File, statements("file_text", "message_files")}};
    const QString literal = typed.trimmed();
    QList<SearchHit> hits;
    if (literal.isEmpty()) {
        return hits;
    }
    const QString words = fullTextQuery(typed);
    Place place = Place::Text;
    const auto take = [&](const QSqlQuery& row) {
        SearchHit hit;
        hit.place = place;
        hit.message = row.value(0).toULongLong();
        hit.conversation = row.value(1).toULongLong();
        hit.kind = messageKind(row.value(2).toString()).value_or(Message::Kind::Answer);
        hit.createdMs = row.value(3).toLongLong();
        readSnippet(row.value(4).toString(), hit);
        if (words.isEmpty()) {
            hit.marks.append({std::max<qsizetype>(0, hit.snippet.indexOf(literal)), literal.size()});
        }
        hits.append(hit);
    };
    for (const auto& [source, texts] : kSources) {
        place = source;
        if (words.isEmpty()) {
            forEach(texts.second.constData(), {literal, literal, limit}, take);
        } else {
            forEach(texts.first.constData(), {words, limit}, take);
        }
    }
    // Newest first; within a message its text before its thought and its files.
    std::stable_sort(hits.begin(), hits.end(),
                     [](const SearchHit& a, const SearchHit& b) { return a.message > b.message; });
    hits.resize(std::min<qsizetype>(hits.size(), limit));
    return hits;
}

MessageId ConversationStore::largestId() {
    static constexpr char kStatement[] =
        "SELECT max(coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(id) FROM conversations), 0))";
    MessageId largest = 0;
    forEach(kStatement, {}, [&largest](const QSqlQuery& row) { largest = row.value(0).toULongLong(); });
    return largest;
}

QString ConversationStore::faults() {
    static constexpr char kStatement[] = "PRAGMA quick_check(1)";
    QSqlQuery& query = prepared(kStatement, {});
    const QString first = query.next() ? query.value(0).toString() : query.lastError().text();
    query.finish();
    return first == QLatin1String("ok") ? QString() : first;
}

void ConversationStore::commit(const QList<Change>& changes, quint64 session) {
    inTransaction(m_database, [&] {
        for (const Change& change : changes) {
            apply(change, session);
        }
    });
    checkIsThere();
}

// SQLite does not notice that a file which it has open was removed, renamed or replaced.
void ConversationStore::checkIsThere() const {
    const auto now = identityOf(m_file);
    if (now != m_identity || now == decltype(now){}) {
        throw HistoryError(HistoryError::Kind::Unavailable,
                           HistoryText::tr("The chat history %1 was removed or replaced while it was open.")
                               .arg(QFileInfo(m_file).fileName()));
    }
}

void ConversationStore::apply(const Change& change, quint64 session) {
    // A null QString would be stored as NULL.
    const auto full = [](const QString& value) { return value.isNull() ? QStringLiteral("") : value; };
    const auto put = [&](const change::PutConversation& c) {
        static constexpr char kStatement[] =
            "INSERT INTO conversations (id, title, title_by_person, pinned, archived, created_ms, changed_ms, model, "
            "system_prompt, sampler, active_leaf, draft, folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET title = excluded.title, title_by_person = excluded.title_by_person, "
            "pinned = excluded.pinned, archived = excluded.archived, changed_ms = excluded.changed_ms, "
            "model = excluded.model, system_prompt = excluded.system_prompt, sampler = excluded.sampler, "
            "active_leaf = excluded.active_leaf, draft = excluded.draft, folder = excluded.folder";
        run(kStatement,
            {number(c.info.id), full(c.info.title), c.info.titleByPerson, c.info.pinned, c.info.archived,
             c.info.createdMs, c.info.changedMs, full(c.info.model), full(c.info.systemPrompt),
             compact(samplerColumn(c.info)), number(c.info.activeLeaf), full(c.info.draft), full(c.info.folder)});
    };
    const auto putMessage = [&](const change::PutMessage& c) {
        static constexpr char kStatement[] =
            "INSERT INTO messages (id, conversation, parent, kind, state, text, author, note, figures, created_ms, "
            "session) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, state = excluded.state, text = excluded.text, "
            "author = excluded.author, note = excluded.note, figures = excluded.figures, session = excluded.session";
        static constexpr char kFold[] = "DELETE FROM journal WHERE message = ?";
        // Restores a conversation that another program deleted and that this one
        // continues.
        static constexpr char kBringBack[] =
            "UPDATE conversations SET deleted_by = NULL WHERE id = ? AND deleted_by IS NOT NULL AND deleted_by <> ? "
            "AND NOT EXISTS (SELECT 1 FROM messages WHERE id = ?)";
        const Message& m = c.message;
        const QJsonObject figures = figuresColumn(m);
        run(kBringBack, {number(c.conversation), number(session), number(m.id)});
        run(kStatement,
            {number(m.id), number(c.conversation), number(m.parent), nameOf(m.kind), nameOf(m.state), full(m.text),
             full(m.author), full(m.note), figures.isEmpty() ? QVariant() : QVariant(compact(figures)), m.createdMs,
             isIncomplete(m.state) ? number(session) : QVariant()});
        run(kFold, {number(m.id)});
    };
    const auto appendText = [&](const change::AppendText& c) {
        static constexpr char kStatement[] =
            "INSERT INTO journal (message, piece, text) "
            "SELECT ?, coalesce((SELECT max(piece) FROM journal WHERE message = ?), 0) + 1, ?";
        run(kStatement, {number(c.message), number(c.message), full(c.text)});
    };
    if (const auto* c = std::get_if<change::PutConversation>(&change)) {
        put(*c);
    } else if (const auto* m = std::get_if<change::PutMessage>(&change)) {
        putMessage(*m);
    } else if (const auto* a = std::get_if<change::AppendText>(&change)) {
        appendText(*a);
    } else if (const auto* r = std::get_if<change::RemoveMessage>(&change)) {
        static constexpr char kStatement[] = "DELETE FROM messages WHERE id = ?";
        run(kStatement, {number(r->message)});
    } else if (const auto* d = std::get_if<change::SetDeleted>(&change)) {
        static constexpr char kStatement[] = "UPDATE conversations SET deleted_by = ? WHERE id = ?";
        run(kStatement, {d->deleted ? number(session) : QVariant(), number(d->conversation)});
    } else if (const auto* f = std::get_if<change::SetFolder>(&change)) {
        static constexpr char kAdd[] = "INSERT OR IGNORE INTO folders (name) VALUES (?)";
        static constexpr char kRemove[] = "DELETE FROM folders WHERE name = ?";
        run(f->exists ? kAdd : kRemove, {f->name});
    }
}

QList<quint64> ConversationStore::sessions() {
    static constexpr char kStatement[] = "SELECT id FROM sessions";
    QList<quint64> out;
    forEach(kStatement, {}, [&out](const QSqlQuery& row) { out.append(row.value(0).toULongLong()); });
    return out;
}

void ConversationStore::addSession(quint64 session) {
    execute(m_database, QStringLiteral("INSERT INTO sessions (id, started_ms) VALUES (%1, %2)")
                            .arg(session)
                            .arg(QDateTime::currentMSecsSinceEpoch()));
}

void ConversationStore::removeDeleted() {
    execute(m_database, QStringLiteral("DELETE FROM conversations WHERE deleted_by IS NOT NULL "
                                       "AND NOT EXISTS (SELECT 1 FROM sessions)"));
    // Conversations without any message.
    execute(m_database, QStringLiteral("DELETE FROM conversations WHERE trim(draft) = '' "
                                       "AND id NOT IN (SELECT conversation FROM messages) "
                                       "AND NOT EXISTS (SELECT 1 FROM sessions)"));
}

int ConversationStore::settle(quint64 deadSession) {
    static constexpr char kAnswers[] = "SELECT id, text FROM messages WHERE session = ?";
    static constexpr char kPieces[] = "SELECT text FROM journal WHERE message = ? ORDER BY piece";
    static constexpr char kComplete[] =
        "UPDATE messages SET text = text || ?, state = 'stopped', note = ?, session = NULL WHERE id = ?";
    static constexpr char kFold[] = "DELETE FROM journal WHERE message = ?";
    static constexpr char kForget[] = "DELETE FROM sessions WHERE id = ?";
    QList<std::pair<QVariant, bool>> answers;  // and whether some of it had been written
    inTransaction(m_database, [&] {
        forEach(kAnswers, {number(deadSession)}, [&answers](const QSqlQuery& row) {
            answers.append({row.value(0), !row.value(1).toString().isEmpty()});
        });
        for (const auto& [answer, begun] : std::as_const(answers)) {
            QString journaled = QStringLiteral("");
            forEach(kPieces, {answer}, [&journaled](const QSqlQuery& row) { journaled += row.value(0).toString(); });
            const char* const note = begun || !journaled.isEmpty() ? kClosedWhileWriting : kClosedBefore;
            run(kComplete, {journaled, QString::fromUtf8(note), answer});
            run(kFold, {answer});
        }
        run(kForget, {number(deadSession)});
    });
    return static_cast<int>(answers.size());
}

}  // namespace offstage::ui
