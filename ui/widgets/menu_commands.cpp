#include "ui/widgets/menu_commands.h"

#include <QMenu>
#include <QMenuBar>

namespace offstage::ui {

namespace {

constexpr char kSynonyms[] = "synonyms";

void collect(const QMenu& menu, const QString& path, QList<MenuCommand>& commands) {
    for (QAction* action : menu.actions()) {
        if (action->isSeparator() || !action->isVisible()) {
            continue;
        }
        const QString here = path + QStringLiteral(" › ") + plainMenuText(action->text());
        if (action->menu()) {
            collect(*action->menu(), here, commands);
        } else {
            commands.append({here, action});
        }
    }
}

}  // namespace

void setSynonyms(QAction& action, const QString& words) {
    action.setProperty(kSynonyms, words);
}

QString synonymsOf(const QAction& action) {
    return action.property(kSynonyms).toString();
}

QString plainMenuText(const QString& text) {
    QString plain = text;
    return plain.replace(QStringLiteral("&&"), QStringLiteral("\x01")).remove(u'&').replace(u'\x01', u'&');
}

QList<MenuCommand> menuCommands(const QMenuBar& menus) {
    QList<MenuCommand> commands;
    for (QAction* action : menus.actions()) {
        if (QMenu* menu = action->menu()) {
            commands += menuCommands(*menu, plainMenuText(action->text()));
        }
    }
    return commands;
}

QList<MenuCommand> menuCommands(QMenu& menu, const QString& path) {
    QList<MenuCommand> commands;
    Q_EMIT menu.aboutToShow();
    collect(menu, path, commands);
    Q_EMIT menu.aboutToHide();
    return commands;
}

}  // namespace offstage::ui
