#pragma once

#include <stdexcept>

#include <QString>

namespace offstage::ui {

// Errors of the history's database. Thrown by ConversationStore, caught by History and
// HistoryWriter: it never passes through an event loop.
class HistoryError : public std::runtime_error {
  public:
    enum class Kind {
        Damaged,      // the file is not a database, or not a whole one
        Foreign,      // a database, but not of this program
        Newer,        // made by a newer version of this program
        Unavailable,  // for now or for here: no space, no permission, locked, a failing disk
        Refused,      // this change breaks a rule of the database; others may pass
    };

    HistoryError(Kind kind, const QString& sentence)
        : std::runtime_error(sentence.toStdString()), m_kind(kind), m_sentence(sentence) {}

    Kind kind() const { return m_kind; }
    const QString& sentence() const { return m_sentence; }

  private:
    Kind m_kind;
    QString m_sentence;
};

}  // namespace offstage::ui
