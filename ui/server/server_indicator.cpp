#include "ui/server/server_indicator.h"

#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/on_palette.h"
#include "ui/server/local_server_switch.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

ServerIndicator::ServerIndicator(LocalServerSwitch& server)
    : m_server(server), m_button(new QToolButton), m_stop(new QToolButton) {
    m_button->setAccessibleName(tr("Local server"));
    describe(*m_stop, tr("Stop the answer to another program"), tr("Stop the answer that another program is getting"));
    for (QToolButton* button : {m_button, m_stop}) {
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
    }
    rowOf(this, {m_stop, m_button}, inset(2, 0, 2, 0, 0));
    connect(m_button, &QToolButton::clicked, this, &ServerIndicator::settingsRequested);
    connect(m_stop, &QToolButton::clicked, &m_server, &LocalServerSwitch::stopAnswer);
    connect(&m_server, &LocalServerSwitch::changed, this, &ServerIndicator::refresh);
    onPalette(this, [this] { m_stop->setIcon(themedIcon(QStringLiteral("stop"), palette())); });
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

}  // namespace offstage::ui
