#pragma once

#include <optional>

#include <QObject>
#include <QStringList>
#include <QTimer>

class QMainWindow;

namespace offstage::ui {

class History;
class UnsavedBar;

// Handles unsaved conversations while the window is open and at its end: nothing is lost
// unless the user agrees. GUI thread only.
class UnsavedGuard : public QObject {
    Q_OBJECT

  public:
    UnsavedGuard(QMainWindow& window, History& history);

    // Shown while History::trouble() lasts. It becomes a question when the window is
    // closed and could not save everything; a second close closes it.
    UnsavedBar& bar() const { return *m_bar; }
    // Whether the window may close now; false: the bar asks.
    bool mayClose();
    bool sessionEnds() const { return m_sessionEnds; }  // no time is left for questions
    // Saves the unsaved conversations in ConversationList::exportTo()'s format, with
    // their drafts; then closes, if the window was to be closed.
    void saveTo(const QString& file);

  public Q_SLOTS:
    // The desktop's session ends: saves everything possible, and closing shows no
    // question any more.
    void endSession();

  private:
    void refresh();
    void tryAgain();
    void closeWithoutSaving();
    void chooseFile();

    QMainWindow& m_window;
    History& m_history;
    UnsavedBar* m_bar;
    QTimer m_reading;                   // runs while the bar's question is new
    quint64 m_askedAt = 0;              // changes of the history at the question
    QStringList m_sinceTrouble;         // the tries since the trouble began, for the bar
    std::optional<quint64> m_inFileAt;  // changes of the history when all that is unsaved was saved as a file
    bool m_closesUnsaved = false;
    bool m_sessionEnds = false;
};

}  // namespace offstage::ui
