#pragma once

#include <QDialog>

#include "engine/device/hardware_profile.h"

class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace offstage::ui {

class SizeSpinBox;

// A hardware profile in a form; saved as a new one in the user's folder. GUI thread only.
class ProfileEditor : public QDialog {
    Q_OBJECT

  public:
    // Begins as a copy of this one.
    explicit ProfileEditor(const engine::HardwareProfile& profile, QWidget* parent = nullptr);

    // AppDataLocation/hardware; made where it is not there.
    static QString folder();
    // Profiles in folder() that can be read, as paths.
    static QStringList own();

    engine::HardwareProfile profile() const;
    QLineEdit& name() const { return *m_name; }
    SizeSpinBox& memory() const { return *m_memory; }
    QDoubleSpinBox& bandwidth() const { return *m_bandwidth; }
    QDoubleSpinBox& bus() const { return *m_bus; }
    QString problem() const;
    // Empty while nothing is saved.
    QString savedPath() const { return m_path; }

  public Q_SLOTS:
    // Checks it as any profile; accepts, or shows the error.
    void save();

  private:
    engine::HardwareProfile m_base;
    QLineEdit* m_name;
    SizeSpinBox* m_memory;
    SizeSpinBox* m_reserved;
    QDoubleSpinBox* m_bandwidth;
    QDoubleSpinBox* m_tflops;
    QDoubleSpinBox* m_bus;
    QDoubleSpinBox* m_launch;
    QDoubleSpinBox* m_sync;
    QLabel* m_problem;
    QString m_path;
};

}  // namespace offstage::ui
