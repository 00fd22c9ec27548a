#include "ui/help/help_desk.h"

#include <QAction>
#include <QApplication>
#include <QCursor>
#include <QDesktopServices>
#include <QLineEdit>
#include <QMainWindow>

#include "ui/help/help_dialog.h"

namespace offstage::ui {

HelpDesk::HelpDesk(QMainWindow& window, const QMenuBar& menus)
    : QObject(&window), m_window(window), m_menus(menus), m_action(new QAction(tr("&Contents"), this)) {
    m_action->setObjectName(QStringLiteral("help"));
    m_action->setShortcut(QKeySequence(Qt::Key_F1));
    connect(m_action, &QAction::triggered, this, &HelpDesk::openHere);
    QDesktopServices::setUrlHandler(QStringLiteral("help"), this, "openLink");
    s_newest = this;
}

HelpDesk::~HelpDesk() {
    if (s_newest == this) {
        QDesktopServices::unsetUrlHandler(QStringLiteral("help"));
        s_newest = nullptr;
    }
}

HelpDialog* HelpDesk::dialog() const {
    return m_dialog;
}

void HelpDesk::openHere() {
    const QWidget* focus = QApplication::focusWidget();
    QString page = helpPageOf(focus != nullptr ? focus : QApplication::activeWindow());
    // The message box has the focus most of the time, so its page is seldom the wanted
    // one.
    if (page.isEmpty() || page == QStringLiteral("chat")) {
        const QString pointed = helpPageOf(QApplication::widgetAt(QCursor::pos()));
        page = pointed.isEmpty() ? page : pointed;
    }
    open(page.isEmpty() ? QStringLiteral("start") : page);
}

void HelpDesk::open(const QString& page) {
    // A modal dialog would block a help window beside it.
    QWidget* const modal = QApplication::activeModalWidget();
    QWidget* const parent = modal != nullptr && modal != m_dialog ? modal : &m_window;
    if (m_dialog && m_dialog->parentWidget() != parent) {
        delete m_dialog;
    }
    if (!m_dialog) {
        m_dialog = new HelpDialog(parent);
        m_dialog->setAttribute(Qt::WA_DeleteOnClose);
    }
    m_dialog->setPages(helpPages(m_menus));
    m_dialog->showPage(page);
    m_dialog->show();
    m_dialog->raise();
    m_dialog->activateWindow();
    m_dialog->searchEdit().setFocus();
}

}  // namespace offstage::ui
