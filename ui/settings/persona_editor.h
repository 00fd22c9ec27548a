#pragma once

#include <QDialog>

#include "ui/settings/personas.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;

namespace offstage::ui {

// Name, instructions, sampling and model of one of the user's personas. GUI thread only.
class PersonaEditor : public QDialog {
    Q_OBJECT

  public:
    // What is set up now, which a persona can take over.
    struct Now {
        Sampling sampling;
        QString model;  // as Persona has it; empty: none is open
        QString modelName;
        QStringList takenNames;  // the user's other personas'
    };

    // A persona without a name is a new one.
    PersonaEditor(const Persona& persona, const Now& now, QWidget* parent = nullptr);

    Persona persona() const;  // as the fields stand
    // By Esc or the window's frame: instructions that were typed go only by the second one.
    void reject() override;

  private:
    void fillSampling(const Now& now);

    const Persona m_before;
    QLineEdit* m_name;
    QLabel* m_note;
    bool m_warned = false;  // of instructions that are not saved
    QPlainTextEdit* m_instructions;
    QComboBox* m_sampling;
    QList<std::optional<Sampling>> m_samplings;  // of the box's rows
    QCheckBox* m_withModel;
    QString m_model, m_modelName;  // of that choice
};

}  // namespace offstage::ui
