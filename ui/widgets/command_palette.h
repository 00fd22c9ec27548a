#pragma once

#include <QFrame>
#include <QList>
#include <QPointer>

#include "ui/widgets/menu_commands.h"

class QLineEdit;
class QListWidget;
class QMenuBar;

namespace offstage::ui {

// How well `text` matches the typed letters: -1 not at all (the letters do not occur in
// this order), otherwise the larger, the better: letters side by side and at the
// beginnings of words count more. Case does not matter; nothing typed: 0.
int matchScore(const QString& typed, const QString& text);
// The same for whole beginnings of words, in any order: every typed word begins one.
int wordScore(const QString& typed, const QString& text);

// Every action of the menus in one list, and further ones, found by typing a part of its
// name or of its synonyms: recently chosen ones first, then those of high priority,
// panels and actions with a shortcut. Return chooses, Escape closes.
class CommandPalette : public QFrame {
    Q_OBJECT

  public:
    explicit CommandPalette(QMenuBar& menus, QWidget* window);

    // Not in the menus: its text is its path.
    void add(QAction& action) { m_more.append(&action); }
    // Of a menu that is not in the menu bar, below this path.
    void add(const QString& path, QMenu& menu) { m_moreMenus.append({path, &menu}); }
    // Reads the menus again and shows itself over the window's upper part.
    void open();
    QLineEdit& input() const { return *m_input; }
    // The present list, best first: "View › Theme › Dark".
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
    QList<QAction*> m_more;
    QList<QPair<QString, QMenu*>> m_moreMenus;
    QList<MenuCommand> m_commands;
    QStringList m_recent;  // paths, the last on top; kept in the settings
    QList<int> m_shown;    // in m_commands, by row
    QPointer<QWidget> m_focusBefore;
};

}  // namespace offstage::ui
