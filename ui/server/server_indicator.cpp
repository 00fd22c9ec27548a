#include "ui/server/server_indicator.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/server/local_server_switch.h"

namespace offstage::ui {

ServerIndicator::ServerIndicator(LocalServerSwitch& server)
    : m_server(server), m_button(new QToolButton), m_stop(new QToolButton) {
    m_button->setAccessibleName(tr("Local server"));
    m_stop->setAccessibleName(tr("Stop the answer to another program"));
    m_stop->setToolTip(tr("Stop the answer that another program is getting"));
    for (QToolButton* button : {m_button, m_stop}) {
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
    }
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(2, 0, 2, 0);
    row->setSpacing(0);
    row->addWidget(m_stop);
    row->addWidget(m_button);
    connect(m_button, &QToolButton::clicked, this, &ServerIndicator::settingsRequested);
    connect(m_stop, &QToolButton::clicked, &m_server, &LocalServerSwitch::stopAnswer);
    connect(&m_server, &LocalServerSwitch::changed, this, &ServerIndicator::refresh);
    m_stop->setIcon(themedIcon(QStringLiteral("stop"), palette()));
    refresh();
}

void ServerIndicator::refresh() {
    const bool failed = !m_server.isOn() && !m_server.problem().isEmpty();
    setVisible(m_server.isOn() || failed);
    m_stop->setVisible(m_server.isAnswering());
    m_button->setText(failed ? tr("Local server: not on") : tr("Local server: %1").arg(m_server.listensAt()));
    m_button->setToolTip(
        tr("%1\nClick to open the local server's settings.").arg(failed ? m_server.problem() : m_server.stateText()));
}

void ServerIndicator::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        m_stop->setIcon(themedIcon(QStringLiteral("stop"), palette()));
    }
}

}  // namespace offstage::ui
