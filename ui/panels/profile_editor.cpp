#include "ui/panels/profile_editor.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QStandardPaths>

#include "engine/cluster/what_if.h"
#include "engine/error.h"
#include "ui/base/save_file.h"
#include "ui/engine/engine_text.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/size_spin_box.h"

namespace offstage::ui {

namespace {

constexpr double kProfileGiB = 1024.0 * 1024.0 * 1024.0;

QDoubleSpinBox* numberBox(double value, double lo, double hi, int decimals, const QString& suffix, const QString& name,
                          const QString& tip) {
    auto* box = new QDoubleSpinBox;
    box->setDecimals(decimals);
    box->setRange(lo, hi);
    box->setValue(value);
    box->setSuffix(suffix);
    box->setAlignment(Qt::AlignRight);
    describe(*box, name, tip);
    return box;
}

SizeSpinBox* sizeBox(quint64 bytes, double lo, const QString& name, const QString& tip) {
    auto* box = new SizeSpinBox;
    box->setUnit(static_cast<quint64>(kProfileGiB), QStringLiteral("GiB"));
    box->setShownDecimals(2);
    box->setRange(lo, 1e6);
    box->setValue(static_cast<double>(bytes) / kProfileGiB);
    describe(*box, name, tip);
    return box;
}

}  // namespace

ProfileEditor::ProfileEditor(const engine::HardwareProfile& profile, QWidget* parent)
    : QDialog(parent),
      m_base(profile),
      m_name(new QLineEdit),
      m_problem(textLabel(tr("What is wrong with the profile"))) {
    setWindowTitle(tr("Hardware profile"));
    m_name->setText(tr("%1, changed").arg(QString::fromStdString(profile.name)));
    m_name->setAccessibleName(tr("Name of the profile"));
    m_memory = sizeBox(profile.memory_bytes, 0.01, tr("Memory"), tr("Of the GPU in all"));
    m_reserved = sizeBox(profile.reserved_bytes, 0, tr("Reserved"), tr("Of the memory, what driver and display take"));
    m_bandwidth =
        numberBox(profile.memory_gbps, 0.1, 1e6, 1, tr(" GB/s"), tr("Memory bandwidth"), tr("As the datasheet has it"));
    m_tflops = numberBox(profile.tflops, 0.01, 1e6, 2, tr(" TFLOP/s"), tr("Arithmetic"),
                         tr("16-bit matrix products, dense, as the datasheet has it"));
    m_bus = numberBox(profile.bus_gbps, 0.01, 1e5, 2, tr(" GB/s"), tr("Bus bandwidth"), tr("One direction"));
    m_launch = numberBox(profile.launch_us, 0, 1e6, 2, tr(" µs"), tr("Launch"), tr("Per operation of the GPU"));
    m_sync = numberBox(profile.sync_us, 0, 1e6, 2, tr(" µs"), tr("Synchronisation"),
                       tr("Each time host and GPU wait for each other"));
    m_problem->hide();

    auto* form = new QFormLayout;
    form->addRow(tr("&Name"), m_name);
    form->addRow(tr("&Memory"), m_memory);
    form->addRow(tr("&Reserved"), m_reserved);
    form->addRow(tr("Memory &bandwidth"), m_bandwidth);
    form->addRow(tr("&Arithmetic"), m_tflops);
    form->addRow(tr("B&us"), m_bus);
    form->addRow(tr("&Launch"), m_launch);
    form->addRow(tr("M&eeting"), m_sync);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
    columnOf(this, {form, m_problem, buttons});
    connect(buttons, &QDialogButtonBox::accepted, this, &ProfileEditor::save);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

QString ProfileEditor::folder() {
    const QString path =
        QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/hardware");
    QDir().mkpath(path);
    return path;
}

QStringList ProfileEditor::own() {
    QStringList paths;
    const QDir dir(folder());
    for (const QString& name : dir.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        try {
            static_cast<void>(engine::find_hardware_profile(dir.filePath(name).toStdString()));
            paths << dir.filePath(name);
        } catch (const engine::Error&) {
            // An incomplete file, not written by this editor.
        }
    }
    return paths;
}

engine::HardwareProfile ProfileEditor::profile() const {
    engine::HardwareProfile profile = m_base;
    profile.name = m_name->text().trimmed().toStdString();
    profile.memory_bytes = static_cast<std::uint64_t>(m_memory->value() * kProfileGiB);
    profile.reserved_bytes = static_cast<std::uint64_t>(m_reserved->value() * kProfileGiB);
    profile.memory_gbps = m_bandwidth->value();
    profile.tflops = m_tflops->value();
    profile.bus_gbps = m_bus->value();
    profile.launch_us = m_launch->value();
    profile.sync_us = m_sync->value();
    profile.source = "changed by hand, from " + m_base.name;
    return profile;
}

QString ProfileEditor::problem() const {
    return m_problem->isHidden() ? QString() : m_problem->text();
}

void ProfileEditor::save() {
    static const QRegularExpression notAName(QStringLiteral("[^a-z0-9]+"));
    QString id = m_name->text().toLower().replace(notAName, QStringLiteral("-"));
    while (id.startsWith(u'-')) {
        id.remove(0, 1);
    }
    const QString stem = folder() + u'/' + (id.isEmpty() ? QStringLiteral("profile") : id);
    QString path = stem + QStringLiteral(".json");
    for (int n = 2; QFile::exists(path); ++n) {  // another profile's: it stays
        path = stem + QStringLiteral("-%1.json").arg(n);
    }
    const std::string json = engine::to_json(profile());
    QString why;
    try {
        static_cast<void>(engine::parse_hardware_profile(json, path.toStdString()));
        const QString failure = saveFile(path, QByteArray::fromStdString(json));
        if (failure.isEmpty()) {
            m_path = path;
            accept();
            return;
        }
        why = tr("The profile could not be saved as %1: %2.").arg(path, failure);
    } catch (const engine::Error& error) {
        why = engineText(error.message());
    }
    m_problem->setText(why);
    m_problem->show();
}

}  // namespace offstage::ui
