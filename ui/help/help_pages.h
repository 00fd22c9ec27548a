#pragma once
// The help in the program: what each page says. The one place of these texts.

#include <QHash>
#include <QList>
#include <QString>

class QMenuBar;
class QWidget;

namespace offstage::ui {

struct HelpPage {
    QString id;     // "start", "keys"; a panel's page has the panel's name: "budget"
    QString title;  // as it is listed
    QString text;   // Markdown, without the title
};

// In the order of the list. `panels`: titles by name, as on their tabs. The keys are those that the menus' commands
// have now.
QList<HelpPage> helpPages(const QHash<QString, QString>& panels, const QMenuBar& menus);

// The page that tells about a part of a window. A part without one has that of what it lies in.
void setHelpPage(QWidget& part, const QString& id);
// Of a widget; empty: neither it nor what it lies in has one.
QString helpPageOf(const QWidget* widget);

}  // namespace offstage::ui
