#pragma once

#include <QWidget>

#include "engine/run/session.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;

namespace offstage::ui {

// The choice of neurons of the experts to leave out: none, those up to one activation, or
// those up to the thresholds chosen for each expert for a loss; and, on a device with
// separate memory, whether guessed neurons are accepted. GUI thread only.
class LeftOutEdit : public QWidget {
    Q_OBJECT

  public:
    explicit LeftOutEdit(QWidget* parent = nullptr);

    // The measurements of the model, and whether experts are copied to its device. Keeps
    // the choice and emits nothing.
    void setMeasured(const engine::NeuronThresholds& measured, bool copiesExperts);
    engine::ThetaChoice choice() const;
    void set(const engine::ThetaChoice& choice);  // emits nothing
    // Disabled, with the reason: the shown value is the plan's choice.
    void setChosenByPlan(bool chosen);

    QComboBox& how() const { return *m_how; }
    QDoubleSpinBox& value() const { return *m_value; }  // of one theta
    QCheckBox& guesses() const { return *m_guesses; }

  Q_SIGNALS:
    void changed();  // by the user

  private:
    enum How { None, OneTheta, FirstLoss };
    void chosen();
    void fill(double keptLoss);
    double theta() const;

    QComboBox* m_how;  // data: a loss
    QDoubleSpinBox* m_value;
    QCheckBox* m_guesses;
    engine::NeuronThresholds m_measured;
    bool m_copiesExperts = false;
    bool m_isFilled = false;
    double m_exact = 0;  // set()'s value, while the box shows it rounded
    double m_shownExact = -1;
};

}  // namespace offstage::ui
