#pragma once
// Conversations as files.
//
// JSON, "offstage.conversation" version 1, UTF-8:
//   {
//     "format": "offstage.conversation", "version": 1,
//     "program": "offstage 0.1.0",                  optional
//     "conversations": [{
//       "title": text, "pinned": bool, "archived": bool,
//       "created_ms": number, "changed_ms": number, since 1970, UTC
//       "model": text, "system_prompt": text,
//       "sampler": {...},                           history_json.h
//       "persona": text,                            optional: its id in this program
//       "folder": text,                             optional: its name
//       "draft": text,                              of the input field that the store
//                                                   could not take
//       "active": number,                           the shown path's end; 0: the newest
//       "messages": [{                              the tree, parents before children
//         "number": number,                         1, 2, 3 ... in this order
//         "parent": number,                         an earlier message; 0: none
//         "kind": "prompt" | "answer",
//         "state": "done" | "stopped" | "failed",   optional: "done"
//         "text": text,
//         "cut": text,                              optional: of a prompt from which on
//                                                   the model reads; the summary of what
//                                                   stands above, or empty
//         "author": text, "note": text,             optional
//         "help": text,                             optional: the page of the manual that
//                                                   gave this answer, not the model
//         "created_ms": number,                     optional
//         "figures": {...},                         optional; history_json.h
//         "thought": {...},                         optional: an answer's; the same
//         "attachments": [{...}]                    optional: a prompt's files; the same
//       }]
//     }]
//   }
// All fields of a conversation but "messages" are optional. Unknown fields are ignored,
// so that a later program can add some without another version.

#include <QByteArray>
#include <QString>

#include "ui/history/history_values.h"

namespace offstage::ui {

QByteArray conversationsToJson(const QList<StoredConversation>& conversations);

struct ImportedConversations {
    QList<StoredConversation> conversations;  // ids are numbers of the file; History::insert() gives new ones
    QString error;  // with file, field and expected value; empty: none. Then there are no conversations.
};
// `name`: of the file, for the error.
ImportedConversations conversationsFromJson(const QByteArray& json, const QString& name);
// Files above 1 GiB are refused.
ImportedConversations readConversations(const QString& file);

// The shown path, with a heading for each message and thoughts as quotes; the system
// prompt comes first if there is one.
QString conversationToMarkdown(const StoredConversation& conversation);

// As saveFile(). Empty: done; otherwise a sentence with the error.
QString writeFile(const QString& file, const QByteArray& content);

}  // namespace offstage::ui
