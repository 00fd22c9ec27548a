#include "ui/engine/device_choice.h"

#include <algorithm>
#include <vector>

#include "engine/error.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

// What resources/hardware calls a host that is no product.
[[maybe_unused]] const char* const kHosts[] = {QT_TRANSLATE_NOOP("offstage::ui::DeviceChoices", "8 desktop cores"),
                                               QT_TRANSLATE_NOOP("offstage::ui::DeviceChoices", "4 cloud threads")};

}  // namespace

QStringList hardwareNames(const std::vector<engine::HardwareProfile>& profiles) {
    const QString laptop = QStringLiteral(" Laptop");
    const auto cardOf = [](const engine::HardwareProfile& profile) { return QString::fromStdString(profile.name); };
    const auto hasOther = [&](const auto& isOther) { return std::any_of(profiles.begin(), profiles.end(), isOther); };
    QStringList names;
    for (const engine::HardwareProfile& each : profiles) {
        const QString card = cardOf(each);
        QString name = card;
        if (card.endsWith(laptop)) {
            name = DeviceChoices::tr("%1, laptop").arg(card.chopped(laptop.size()));
        } else if (hasOther([&](const auto& other) { return cardOf(other) == card + laptop; })) {
            name = DeviceChoices::tr("%1, desktop").arg(card);
        }
        if (hasOther(
                [&](const auto& other) { return cardOf(other) == card && other.memory_bytes != each.memory_bytes; })) {
            name += QStringLiteral(", ") + bytesText(each.memory_bytes);
        }
        if (each.host) {
            const QString cpu = QString::fromStdString(each.host->name).section(u',', 0, 0);
            name = DeviceChoices::tr("%1 with %2", "a GPU, the CPU beside it")
                       .arg(name, DeviceChoices::tr(cpu.toUtf8().constData()));
        }
        names << name;
    }
    return names;
}

DeviceChoices::DeviceChoices(QObject* parent) : QObject(parent) {
    m_thread.setMaxThreadCount(1);
    fill(engine::detect_host());
}

DeviceChoices::~DeviceChoices() {
    m_thread.waitForDone();
}

void DeviceChoices::look() {
    m_thread.start([this] {
        const engine::Hardware hardware = engine::detect_hardware();
        QMetaObject::invokeMethod(
            this,
            [this, hardware] {
                m_looked = true;
                fill(hardware);
                Q_EMIT changed();
            },
            Qt::QueuedConnection);
    });
}

void DeviceChoices::fill(const engine::Hardware& hardware) {
    m_choices.clear();
    const auto ram = static_cast<quint64>(std::max<std::int64_t>(0, hardware.ram.total_bytes));
    m_choices.append({QStringLiteral("cpu"), QString::fromStdString(hardware.cpu_model),
                      tr("%n core(s), %1 RAM", nullptr, hardware.n_cores).arg(bytesText(ram)), false, ram});
    m_found = m_choices.first().details;
    for (const auto& gpu : hardware.cuda.devices) {
        const auto total = static_cast<quint64>(gpu.total_bytes);
        const QString details =
            gpu.free_bytes < 0
                ? bytesText(total)
                : tr("%1, %2 free").arg(bytesText(total), bytesText(static_cast<quint64>(gpu.free_bytes)));
        m_choices.append(
            {QStringLiteral("cuda:%1").arg(gpu.ordinal), QString::fromStdString(gpu.name), details, false, total});
        m_found += tr("; %1 (%2)").arg(m_choices.last().name, details);
    }
    if (m_looked && hardware.cuda.devices.empty()) {
        const QString why = engineText(hardware.no_gpu_because());
        m_found += why.isEmpty() ? tr("; no GPU") : tr("; no GPU (%1)").arg(why);
    }
    std::vector<engine::HardwareProfile> profiles;
    QStringList ids;
    for (const std::string& id : engine::hardware_profile_ids()) {
        try {
            profiles.push_back(engine::find_hardware_profile(id));
            ids << QString::fromStdString(id);
        } catch (const engine::Error&) {
            // A profile that cannot be read is not listed; naming it on the command line
            // shows its error.
        }
    }
    const QStringList names = hardwareNames(profiles);
    for (qsizetype i = 0; i < ids.size(); ++i) {
        const quint64 memory = profiles[static_cast<std::size_t>(i)].memory_bytes;
        m_choices.append({QStringLiteral("emulated:") + ids[i], names[i], bytesText(memory), true, memory});
    }
}

bool DeviceChoices::hasGpu() const {
    return std::any_of(m_choices.begin(), m_choices.end(),
                       [](const DeviceChoice& choice) { return choice.id.startsWith(QStringLiteral("cuda")); });
}

const DeviceChoice* DeviceChoices::find(const QString& id) const {
    const auto found =
        std::find_if(m_choices.begin(), m_choices.end(), [&](const DeviceChoice& choice) { return choice.id == id; });
    return found == m_choices.end() ? nullptr : &*found;
}

QString DeviceChoices::nameOf(const QString& id) const {
    if (id.isEmpty() || id == QStringLiteral("cpu")) {
        return tr("the CPU", "after on");
    }
    const DeviceChoice* choice = find(id);
    return choice == nullptr ? id : choice->emulated ? tr("%1 (emulated)").arg(choice->name) : choice->name;
}

}  // namespace offstage::ui
