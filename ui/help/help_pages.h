#pragma once
// The help in the program: the manual of resources/help/en, as the resource file has it.

#include <QList>
#include <QString>

class QMenuBar;
class QWidget;

namespace offstage::ui {

struct HelpPage {
    QString id;     // of the file budget.md: "budget"
    QString title;  // its heading
    QString text;   // Markdown, with the heading
};

// In the order in which the manual's README.md lists them. The table of the page "keys" has the keys that
// the menus' commands have now.
QList<HelpPage> helpPages(const QMenuBar& menus);

// The page of a panel of that name: "whatIf" has "what-if".
QString helpPageOfPanel(const QString& panel);

// The page that explains a part of a window. A part without one has that of what it lies in.
void setHelpPage(QWidget& part, const QString& id);
// Of a widget; empty: neither it nor what it lies in has one.
QString helpPageOf(const QWidget* widget);

}  // namespace offstage::ui
