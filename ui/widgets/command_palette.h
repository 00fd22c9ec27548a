#pragma once

#include <QFrame>
#include <QList>
#include <QPointer>

#include "ui/widgets/menu_commands.h"

class QLineEdit;
class QListWidget;
class QMenuBar;

namespace offstage::ui {

// How well `text` answers what was typed: -1 not at all (its letters do not occur in this order), else the larger, the
// better: letters side by side and at the beginnings of words count more. Case does not matter; nothing typed: 0.
int matchScore(const QString& typed, const QString& text);

// Every action of the menus in one list, found by typing a part of its name: what was chosen lately first, then panels
// and what has a shortcut. Return chooses, Escape leaves.
class CommandPalette : public QFrame {
    Q_OBJECT

  public:
    explicit CommandPalette(QMenuBar& menus, QWidget* window);

    // Reads the menus anew and shows itself over the window's upper part.
    void open();
    QLineEdit& input() const { return *m_input; }
    // What is listed now, best first: "View › Theme › Dark".
    QStringList listed() const;

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    static constexpr int kMostRecent = 6;

    void filter();
    void choose();
    void place();
    int commonness(const MenuCommand& command) const;  // the larger, the more common

    QMenuBar& m_menus;
    QLineEdit* m_input;
    QListWidget* m_list;
    QList<MenuCommand> m_commands;
    QStringList m_recent;  // paths, the last on top; kept in the settings
    QList<int> m_shown;    // of m_commands, by row
    QPointer<QWidget> m_focusBefore;
};

}  // namespace offstage::ui
