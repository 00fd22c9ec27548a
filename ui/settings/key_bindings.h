#pragma once

#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QPointer>

class QAction;
class QMenuBar;

namespace offstage::ui {

// The shortcuts of the menu bar's commands: the program's defaults, and the user's
// changes, stored in QSettings as "keys/ID". A command's ID is the objectName of its
// action; temporary entries (recent models) have none. No two commands have the same
// keys. GUI thread only.
class KeyBindings : public QObject {
    Q_OBJECT

  public:
    struct Command {
        QString id;
        QString path;  // "View › Text size › Larger"
        QPointer<QAction> action;
        QKeySequence standard;  // the program's own; may be empty
    };

    // The menus are complete, and their actions have the program's own shortcuts.
    explicit KeyBindings(const QMenuBar& menus, QObject* parent = nullptr);

    const QList<Command>& commands() const { return m_commands; }  // in the menus' order
    const Command* find(const QString& id) const;                  // nullptr: none
    // The command that has these keys; nullptr: none.
    const Command* ownerOf(const QKeySequence& keys) const;
    // Why these keys cannot be a shortcut, a whole sentence; empty: they can.
    static QString refusal(const QKeySequence& keys);

    // Removes the keys from the command that has them. Empty: no shortcut. Refused keys
    // change nothing.
    void set(const QString& id, const QKeySequence& keys);
    // Back to the program's own.
    void reset(const QString& id);
    void resetAll();
    bool isStandard(const QString& id) const;

  Q_SIGNALS:
    void changed();

  private:
    void give(const Command& command, const QKeySequence& keys);

    QList<Command> m_commands;
};

}  // namespace offstage::ui
