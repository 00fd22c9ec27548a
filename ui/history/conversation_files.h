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
//       "draft": text,                              the input box's text; only if it
//       could not be saved
//       "active": number,                           the message at the end of the shown
//       path; 0: the newest
//       "messages": [{                              the whole tree, parents before
//       children
//         "number": number,                         1, 2, 3 ... in this order
//         "parent": number,                         0 for a first message, else that of
//         an earlier one
//         "kind": "prompt" | "answer",
//         "state": "done" | "stopped" | "failed",   optional: "done"
//         "text": text,
//         "author": text, "note": text,             optional
//         "created_ms": number,                     optional
//         "figures": {...}                          optional; history_json.h
//         "thought": {...}                          optional: before the answer;
//         history_json.h
//         "attachments": [{...}]                    optional: the prompt's files;
//         history_json.h
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
