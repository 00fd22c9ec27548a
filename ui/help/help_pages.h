#pragma once
// The help in the program: what each page says. The one place of these texts.

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

// A panel of the window: its name, and what its tab says.
struct PanelTitle {
    QString name;
    QString title;
};

// In the order of the list, the panels in the order they are given. The keys are those that the menus' commands have
// now.
QList<HelpPage> helpPages(const QList<PanelTitle>& panels, const QMenuBar& menus);

// The page that tells about a part of a window. A part without one has that of what it lies in.
void setHelpPage(QWidget& part, const QString& id);
// Of a widget; empty: neither it nor what it lies in has one.
QString helpPageOf(const QWidget* widget);

}  // namespace offstage::ui
