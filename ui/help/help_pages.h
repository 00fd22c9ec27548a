#pragma once
// The help in the program: the manual of resources/help/en, as the resource file has it.

#include <QList>
#include <QString>

class QMenuBar;
class QWidget;

namespace offstage::ui {

struct HelpPage {
    QString id;     // for the file budget.md: "budget"
    QString title;  // its heading
    QString text;   // Markdown, with the heading
};

// In the order of the manual's README.md. The table of the page "keys" has the present
// keys of the menus' commands.
QList<HelpPage> helpPages(const QMenuBar& menus);

// A page's Markdown without that table; empty: there is no such page.
QString helpPageText(const QString& id);

// The page of a panel of that name: "whatIf" has "what-if".
QString helpPageOfPanel(const QString& panel);

// Sets the page about a part of a window. A part without one uses its parent's.
void setHelpPage(QWidget& part, const QString& id);
// A widget's page; empty: neither it nor its parents have one.
QString helpPageOf(const QWidget* widget);

}  // namespace offstage::ui
