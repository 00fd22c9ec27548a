#pragma once

#include <QAction>
#include <QList>
#include <QPointer>
#include <QString>

class QMenu;
class QMenuBar;

namespace offstage::ui {

// A command of the menu bar, and its place there.
struct MenuCommand {
    QString path;  // "View › Theme › Dark"
    QPointer<QAction> action;
};

// Words that an action is found by besides its name: "german" for "Deutsch".
void setSynonyms(QAction& action, const QString& words);
QString synonymsOf(const QAction& action);

// The present entries of the menus, in their order, without separators and hidden
// entries. Menus that are filled when they open are filled first. GUI thread only.
QList<MenuCommand> menuCommands(const QMenuBar& menus);
// The same of one menu, whose entries' paths begin with `path`.
QList<MenuCommand> menuCommands(QMenu& menu, const QString& path);

// A menu's visible text, without the mark of its mnemonic.
QString plainMenuText(const QString& text);

}  // namespace offstage::ui
