#pragma once

#include <QWidget>

#include "ui/settings/sampling.h"

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace offstage::ui {

// The sampler's settings in plain words, with presets. Kept in QSettings; the next answer uses them.
class SamplingPanel : public QWidget {
    Q_OBJECT

  public:
    explicit SamplingPanel(QWidget* parent = nullptr);

    Sampling sampling() const;
    void setSampling(const Sampling& sampling);

  public Q_SLOTS:
    void reset();

  Q_SIGNALS:
    void samplingChanged(const offstage::ui::Sampling& sampling);

  private:
    void edited();
    void refreshPreset();

    QComboBox* m_preset;
    QLabel* m_explanation;
    QDoubleSpinBox* m_temperature;
    QSpinBox* m_topK;
    QDoubleSpinBox* m_topP;
    QDoubleSpinBox* m_minP;
    QDoubleSpinBox* m_repeatPenalty;
    QSpinBox* m_repeatWindow;
    QLineEdit* m_seed;
    QSpinBox* m_maxTokens;
    bool m_filling = false;
};

}  // namespace offstage::ui
