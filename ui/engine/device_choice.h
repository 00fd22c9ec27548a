#pragma once
// The devices for models: the CPU, the GPUs found, and the GPUs that can be emulated.

#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QThreadPool>

#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"

namespace offstage::ui {

struct DeviceChoice {
    QString id;       // as engine::LoadRequest::device takes it
    QString name;     // "NVIDIA H200", "GeForce RTX 3060"
    QString details;  // "131 GiB, 129 GiB free"
    bool emulated = false;
    quint64 memoryBytes = 0;
};

// One name for each, by which they can be told apart: of two cards of one name the
// memory, "laptop" or "desktop" where there are both, and the CPU of a profile that has
// its own: "GeForce RTX 3060 with 8 desktop cores".
QStringList hardwareNames(const std::vector<engine::HardwareProfile>& profiles);

// Detects hardware in the background (a driver's first start takes a second) and lists
// it. Emulated profiles are available at once. GUI thread.
class DeviceChoices : public QObject {
    Q_OBJECT

  public:
    explicit DeviceChoices(QObject* parent = nullptr);
    ~DeviceChoices() override;

    void look();
    bool looked() const { return m_looked; }
    const QList<DeviceChoice>& choices() const { return m_choices; }  // the CPU first
    bool hasGpu() const;
    // "2 cores, 24 GiB RAM; no GPU (no NVIDIA driver is loaded)": the detected hardware,
    // as a part of a sentence.
    QString found() const { return m_found; }
    const DeviceChoice* find(const QString& id) const;
    // For users, after "on": "the CPU", "NVIDIA H200", "GeForce RTX 3060 (emulated)"; the
    // id itself if it is unknown.
    QString nameOf(const QString& id) const;

    // A small one, so that the demo model does not fit: for "Try an emulated GPU".
    static QString demonstrationDevice() { return QStringLiteral("emulated:rtx-3060-desktop"); }
    static constexpr quint64 kDemonstrationVram = quint64{24} << 20;

  Q_SIGNALS:
    void changed();

  private:
    void fill(const engine::Hardware& hardware);

    QThreadPool m_thread;
    QList<DeviceChoice> m_choices;
    QString m_found;
    bool m_looked = false;
};

}  // namespace offstage::ui
