#include "ui/window/hardware_menu.h"

#include <QActionGroup>
#include <QToolButton>

#include "ui/chat/empty_state.h"
#include "ui/engine/format.h"
#include "ui/window/core.h"
#include "ui/window/model_opener.h"

namespace offstage::ui {

HardwareMenu::HardwareMenu(Core& core, ModelOpener& opener, EmptyState& start, QWidget* parent)
    : QMenu(tr("&Hardware"), parent),
      m_core(core),
      m_opener(opener),
      m_start(start),
      m_button(new QToolButton),
      m_leave(new QAction(m_button)) {
    setToolTipsVisible(true);
    m_button->setAccessibleName(tr("Hardware"));
    m_button->setPopupMode(QToolButton::InstantPopup);
    m_button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_button->setMenu(this);
    // Not to this menu: removing an action disconnects it from its menu.
    connect(m_leave, &QAction::triggered, &m_opener, [this] { m_opener.useDevice(m_leave->data().toString()); });
    connect(&m_opener.devices(), &DeviceChoices::changed, this, &HardwareMenu::list);
    connect(&m_opener, &ModelOpener::deviceChosen, this, &HardwareMenu::refresh);
    connect(&m_core.engine, &EngineController::stateChanged, this, &HardwareMenu::refresh);
    connect(&m_core.engine, &EngineController::modelLoaded, this, &HardwareMenu::refresh);
    connect(&m_core.engine, &EngineController::replanEnded, this, &HardwareMenu::refresh);  // a new budget is in force
    list();
}

QString HardwareMenu::text() const {
    return m_button->text();
}

void HardwareMenu::list() {
    clear();
    addAction(m_leave);
    auto* group = new QActionGroup(this);
    const auto add = [&](QMenu& menu, const DeviceChoice& choice) {
        QAction* action = menu.addAction(QStringLiteral("%1 (%2)").arg(choice.name, choice.details), this,
                                         [this, id = choice.id] { m_opener.useDevice(id); });
        action->setCheckable(true);
        action->setData(choice.id);
        group->addAction(action);
    };
    addSection(tr("This computer"));
    QMenu* emulated = nullptr;
    for (const DeviceChoice& choice : m_opener.devices().choices()) {
        if (!choice.emulated) {
            add(*this, choice);
            continue;
        }
        if (!emulated) {
            addSeparator();
            emulated = addMenu(tr("&Emulated GPU (speed is simulated)"));
        }
        add(*emulated, choice);
    }
    addAction(tr("&Try a small emulated GPU"), &m_opener, &ModelOpener::tryEmulatedGpu)
        ->setToolTip(tr("24 MiB of GPU memory: the demo model does not fit, and experts come and go"));
    refresh();
}

void HardwareMenu::refresh() {
    const auto& model = m_core.engine.model();
    const DeviceChoices& devices = m_opener.devices();
    const QString& device = m_opener.device();
    QString text = device;
    if (model) {
        engine::ModelSummary now = *model;
        if (const auto snapshot = m_core.engine.snapshot(); snapshot && snapshot->vram.budget > 0) {
            now.vram_budget_bytes = snapshot->vram.budget;
        }
        text = hardwareText(now);
    } else if (const DeviceChoice* choice = devices.find(device)) {
        text = choice->name;
    }
    m_button->setText(text);
    m_button->setToolTip(tr("Where the model runs. Found here: %1").arg(devices.found()));
    // Users without a GPU see the detected hardware at once, and how to emulate a GPU.
    const bool emulated = device.startsWith(QStringLiteral("emulated:"));
    const DeviceChoice* real = nullptr;  // a GPU, if there is one: the CPU comes first
    for (const DeviceChoice& choice : devices.choices()) {
        real = choice.emulated ? real : &choice;
    }
    m_leave->setVisible(emulated && real != nullptr);
    if (real != nullptr) {
        m_leave->setData(real->id);
        m_leave->setText(tr("&Back to %1").arg(devices.nameOf(real->id)));
        m_leave->setToolTip(tr("Leave the emulated GPU: the model runs on %1 again, and speeds are measured")
                                .arg(devices.nameOf(real->id)));
    }
    m_start.setHardware(emulated ? tr("Runs on %1: its speed is simulated, not measured.").arg(text)
                                 : tr("Runs on %1. Found here: %2.").arg(text, devices.found()),
                        devices.looked() && !devices.hasGpu() && !emulated);
    for (QAction* action : findChildren<QAction*>()) {
        if (action->isCheckable()) {
            action->setChecked(action->data().toString() == device);
        }
    }
}

}  // namespace offstage::ui
