#pragma once

#include <QString>

namespace offstage::ui {

class ConversationStore;

// The data copied from a damaged file.
struct Salvage {
    int nConversations = 0;
    int nMessages = 0;
};

// Renames the database, with its log, to a name with the time
// ("conversations.damaged-2026-05-04-101500.sqlite"). Returns the new path; empty if it
// cannot be renamed.
QString setAside(const QString& file);

// Copies readable rows, from both ends of each table, into a new database; with the
// journaled text of unfinished answers, and without deleted conversations. Never throws
// for the damaged side: unreadable rows are skipped.
Salvage salvage(const QString& damagedFile, ConversationStore& into);

}  // namespace offstage::ui
