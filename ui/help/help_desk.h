#pragma once

#include <QObject>
#include <QPointer>
#include <QUrl>

class QAction;
class QMainWindow;
class QMenuBar;

namespace offstage::ui {

class HelpDialog;

// Opens the help page of the widget with the keyboard's focus. If that is the chat, or
// has no page, the page of the widget under the pointer comes first: a panel may have
// nothing to focus. Links "help:PAGE" anywhere in the program open that page. GUI thread
// only.
class HelpDesk : public QObject {
    Q_OBJECT

  public:
    HelpDesk(QMainWindow& window, const QMenuBar& menus);
    ~HelpDesk() override;

    // Only one dialog at a time; its pages are made again.
    void open(const QString& page);
    // If neither has a page: the first steps.
    void openHere();
    QAction* action() const { return m_action; }  // openHere(), for the menu and for dialogs
    HelpDialog* dialog() const;                   // nullptr: not open

  public Q_SLOTS:
    void openLink(const QUrl& link) { open(link.path()); }

  private:
    QMainWindow& m_window;
    const QMenuBar& m_menus;
    QAction* m_action;
    QPointer<HelpDialog> m_dialog;
    static inline HelpDesk* s_newest = nullptr;  // which opens links to the help
};

}  // namespace offstage::ui
