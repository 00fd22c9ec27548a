#pragma once

#include <optional>

#include <QWidget>

#include "engine/run/session.h"

class QComboBox;
class QDoubleSpinBox;

namespace offstage::ui {

class ValueSlider;

// The precision of a model's experts: the original, a floor that the planner
// keeps to (with the measured loss one of neurons left out as well), or one format for
// all. GUI thread only.
class QualityEdit : public QWidget {
    Q_OBJECT

  public:
    explicit QualityEdit(QWidget* parent = nullptr);

    engine::QualityFloor floor() const;
    std::optional<engine::FormatId> experts() const;  // all in this format
    // Sets the formats that the model's experts can be converted to; keeps the choice and
    // emits nothing. Formats are excluded only if the file has experts in blocks.
    void setChoices(const engine::ExpertFormats& formats);
    void set(const engine::QualityFloor& floor, std::optional<engine::FormatId> experts);  // emits nothing

    QComboBox& choice() const { return *m_choice; }
    QDoubleSpinBox& value() const { return *m_value; }  // of the floor

  Q_SIGNALS:
    void changed();  // by the user

  private:
    enum Choice { Off, MeanBits, Loss, MeasuredLoss, FirstFormat };
    void chosen();
    void fillFormats(std::optional<engine::FormatId> kept);

    QComboBox* m_choice;
    QDoubleSpinBox* m_value;
    engine::ExpertFormats m_formats;
};

// The format of keys and values; the items' data are engine::KvType.
QComboBox* newKvBox();
engine::KvType kvOf(const QComboBox& box);
void setKv(QComboBox& box, engine::KvType kv);

// One below the other, all sliders get one length, and all numbers one width.
void alignFields(const QList<ValueSlider*>& sliders, QualityEdit& quality);

}  // namespace offstage::ui
