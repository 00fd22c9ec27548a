#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <QLockFile>

#include "ui/history/history_values.h"

namespace offstage::ui {

class ConversationStore;

// The history's database, opened by this program: one of the sessions that have it open.
struct OpenedHistory {
    QString file;
    std::unique_ptr<ConversationStore> store;
    quint64 session = 0;
    std::unique_ptr<QLockFile> sessionLock;  // held as long as the session lasts
    QList<ConversationInfo> conversations;
    QStringList folders;
    MessageId largestId = 0;
};

// The time that opening waits for other programs before it fails.
struct OpeningPatience {
    std::chrono::milliseconds opening{10'000};     // opening the database too
    std::chrono::milliseconds transaction{5'000};  // writing to it
};

// Handles the locks of other programs' sessions, and damage in the file, as described at
// History::open(). `newId` becomes the session's id; `mended` is called when a damaged
// file was renamed. Throws HistoryError: then nothing is open, and an undamaged file is
// unchanged. Blocks as long as `patience` allows, and while it reads.
OpenedHistory openHistory(const QString& folder, quint64 newId, const OpeningPatience& patience,
                          const std::function<void(const Problem&)>& mended);

}  // namespace offstage::ui
