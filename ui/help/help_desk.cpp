#include "ui/help/help_desk.h"

#include <QApplication>
#include <QCursor>
#include <QDockWidget>
#include <QMainWindow>

#include "ui/help/help_dialog.h"

namespace offstage::ui {

HelpDesk::HelpDesk(QMainWindow& window, const QList<QDockWidget*>& panels, const QMenuBar& menus)
    : QObject(&window), m_window(window), m_panels(panels), m_menus(menus) {}

HelpDialog* HelpDesk::dialog() const {
    return m_dialog;
}

void HelpDesk::openHere() {
    const QWidget* focus = QApplication::focusWidget();
    QString page = helpPageOf(focus != nullptr ? focus : QApplication::activeWindow());
    if (page.isEmpty()) {
        page = helpPageOf(QApplication::widgetAt(QCursor::pos()));
    }
    open(page.isEmpty() ? QStringLiteral("start") : page);
}

void HelpDesk::open(const QString& page) {
    if (!m_dialog) {
        m_dialog = new HelpDialog(&m_window);
        m_dialog->setAttribute(Qt::WA_DeleteOnClose);
    }
    QList<PanelTitle> panels;
    for (const QDockWidget* dock : m_panels) {
        panels.append({helpPageOf(dock), dock->windowTitle()});
    }
    m_dialog->setPages(helpPages(panels, m_menus));
    m_dialog->showPage(page);
    m_dialog->show();
    m_dialog->raise();
    m_dialog->activateWindow();
    m_dialog->searchEdit().setFocus();
}

}  // namespace offstage::ui
