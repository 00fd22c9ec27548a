#pragma once

#include <QString>

namespace offstage::ui {

class ConversationStore;

// What could be taken over from a damaged file.
struct Salvage {
    int nConversations = 0;
    int nMessages = 0;
};

// Renames the database, with its log, to a name that says when ("conversations.damaged-2026-05-04-101500.sqlite").
// Returns the new path; empty where it cannot be renamed.
QString setAside(const QString& file);

// Copies what can still be read, row by row, from both ends of each table, into a whole database; with it what was
// journaled of answers that were being written, and without what had been deleted. Never throws for the damaged side:
// what cannot be read is left.
Salvage salvage(const QString& damagedFile, ConversationStore& into);

}  // namespace offstage::ui
