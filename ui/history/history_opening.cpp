#include "ui/history/history_opening.h"

#include <algorithm>

#include <QDir>
#include <QFileInfo>

#include "ui/history/conversation_store.h"
#include "ui/history/history_error.h"
#include "ui/history/history_recovery.h"
#include "ui/history/history_schema.h"

namespace offstage::ui {

namespace {

using Kind = HistoryError::Kind;

QString lockOf(quint64 session, const QString& folder) {
    return QDir(folder).filePath(QStringLiteral("session-%1.lock").arg(session));
}

// Whether its lock can be taken: the program is no longer running.
bool hasEnded(const QString& sessionLock) {
    refuseSpecialFile(sessionLock);  // QLockFile reads the file
    QLockFile lock(sessionLock);
    lock.setStaleLockTime(0);
    return lock.tryLock(0);
}

// Uses the locks, because the file's own list of sessions may be damaged.
bool isOpenElsewhere(const QString& folder) {
    const QDir dir(folder);
    const QStringList locks = dir.entryList({QStringLiteral("session-*.lock")}, QDir::Files);
    return std::any_of(locks.begin(), locks.end(),
                       [&dir](const QString& name) { return !hasEnded(dir.filePath(name)); });
}

// Opens the file and completes the sessions of programs that ended without closing it.
// Null: the file is damaged inside.
std::unique_ptr<ConversationStore> openStore(const QString& file, std::chrono::milliseconds patience) {
    auto store = std::make_unique<ConversationStore>(file, patience);
    QList<quint64> gone;
    for (const quint64 session : store->sessions()) {
        if (hasEnded(lockOf(session, QFileInfo(file).path()))) {
            gone.append(session);
        }
    }
    if (!gone.isEmpty() && !store->faults().isEmpty()) {
        return nullptr;
    }
    for (const quint64 session : std::as_const(gone)) {
        store->settle(session);
    }
    store->removeDeleted();
    return store;
}

Problem takeOver(const QString& damagedFile, ConversationStore& into) {
    const Salvage saved = salvage(damagedFile, into);
    Problem problem;
    problem.title = HistoryText::tr("The chat history was damaged");
    problem.sentence =
        HistoryText::tr("A new one was begun with what could be read: %n message(s)", nullptr, saved.nMessages) +
        HistoryText::tr(" in %n conversation(s).", nullptr, saved.nConversations);
    problem.detail = HistoryText::tr("The damaged file is kept as %1").arg(damagedFile);
    return problem;
}

}  // namespace

OpenedHistory openHistory(const QString& folder, quint64 newId, const OpeningPatience& patience,
                          const std::function<void(const Problem&)>& mended) {
    if (!QDir().mkpath(folder)) {
        throw HistoryError(Kind::Unavailable,
                           HistoryText::tr("The folder %1 cannot be made.").arg(QDir::toNativeSeparators(folder)));
    }
    const QString openingLock = QDir(folder).filePath(QStringLiteral("opening.lock"));
    refuseSpecialFile(openingLock);
    // Programs that start at the same time open the file one after the other.
    QLockFile opening(openingLock);
    const bool others =
        !opening.tryLock(static_cast<int>(patience.opening.count())) && opening.error() == QLockFile::LockFailedError;
    OpenedHistory out;
    out.file = QDir(folder).filePath(QStringLiteral("conversations.sqlite"));
    QString damagedFile;
    for (int attempt = 0; !out.store; ++attempt) {
        try {
            out.store = openStore(out.file, patience.transaction);
            if (!out.store) {
                throw HistoryError(Kind::Damaged, HistoryText::tr("The chat history is damaged."));
            }
        } catch (const HistoryError& error) {
            const bool spoilt = error.kind() == Kind::Damaged || error.kind() == Kind::Foreign;
            if (spoilt && (others || isOpenElsewhere(folder))) {
                const QString hint = HistoryText::tr(
                    "Another Offstage still uses the file, so it was left as it is. Close all "
                    "others, and try again: then what can be read is taken over.");
                throw HistoryError(error.kind(), error.sentence() + u' ' + hint);
            }
            damagedFile = spoilt && attempt == 0 ? setAside(out.file) : QString();
            if (damagedFile.isEmpty()) {
                throw;
            }
        }
    }
    if (!damagedFile.isEmpty()) {
        mended(takeOver(damagedFile, *out.store));
    }
    out.session = newId;
    out.sessionLock = std::make_unique<QLockFile>(lockOf(newId, folder));
    out.sessionLock->setStaleLockTime(0);
    out.sessionLock->tryLock(0);
    out.store->addSession(newId);
    out.conversations = out.store->conversations();
    out.folders = out.store->folders();
    out.largestId = out.store->largestId();
    return out;
}

}  // namespace offstage::ui
