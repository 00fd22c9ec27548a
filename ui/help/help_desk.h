#pragma once

#include <QList>
#include <QObject>
#include <QPointer>

class QDockWidget;
class QMainWindow;
class QMenuBar;

namespace offstage::ui {

class HelpDialog;

// Opens the help at the page of what has the keyboard's focus, or else, as of a panel without anything to focus, of
// what is under the pointer. GUI thread only.
class HelpDesk : public QObject {
    Q_OBJECT

  public:
    // `panels`: with a help page each (setHelpPage()), in the order of the list of pages.
    HelpDesk(QMainWindow& window, const QList<QDockWidget*>& panels, const QMenuBar& menus);

    // One at a time; the pages are made anew.
    void open(const QString& page);
    // Where neither has a page: the first.
    void openHere();
    HelpDialog* dialog() const;  // nullptr: not open

  private:
    QMainWindow& m_window;
    QList<QDockWidget*> m_panels;
    const QMenuBar& m_menus;
    QPointer<HelpDialog> m_dialog;
};

}  // namespace offstage::ui
