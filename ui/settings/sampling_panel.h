#pragma once

#include <QStringList>
#include <QWidget>

#include "ui/settings/presets.h"

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace offstage::ui {

class PresetBar;

// The system prompt and the sampler's settings in plain words, with presets: those of the conversation that is shown,
// and of the next new one. What the person chose last is kept in QSettings; the next answer uses it.
class SamplingPanel : public QWidget {
    Q_OBJECT

  public:
    explicit SamplingPanel(QWidget* parent = nullptr);

    Sampling sampling() const;
    void setSampling(const Sampling& sampling);
    // What the open model's chat template lets one choose of its thinking; none: nothing is offered, and what was
    // chosen for another model is kept.
    void setThinkingChoices(const QStringList& choices);
    const QStringList& thinkingChoices() const { return m_thinkingChoices; }
    void chooseThinking(const QString& choice);  // as the person does
    QComboBox& thinkingBox() const { return *m_thinking; }
    QString systemPrompt() const;
    void setSystemPrompt(const QString& prompt);
    // As the person does: both are kept, and the signals come.
    void choose(const QString& prompt, const Sampling& sampling);
    PresetBar& samplingPresetBar() const { return *m_preset; }
    QPlainTextEdit& promptEdit() const { return *m_prompt; }

  public Q_SLOTS:
    void reset();

  Q_SIGNALS:
    // By the person, not by setSampling() and setSystemPrompt().
    void samplingChanged(const offstage::ui::Sampling& sampling);
    void systemPromptChanged(const QString& prompt);

  private:
    void connectPresets();
    void edited();
    void promptEdited();
    void refreshThinking();
    void refreshPreset();
    QList<SamplingPreset> allPresets() const;

    QPlainTextEdit* m_prompt;
    PresetBar* m_preset;
    QLabel* m_explanation;
    QDoubleSpinBox* m_temperature;
    QSpinBox* m_topK;
    QDoubleSpinBox* m_topP;
    QDoubleSpinBox* m_minP;
    QDoubleSpinBox* m_repeatPenalty;
    QSpinBox* m_repeatWindow;
    QLineEdit* m_seed;
    QSpinBox* m_maxTokens;
    QSpinBox* m_beamWidth;
    QFormLayout* m_form;
    QComboBox* m_thinking;
    QStringList m_thinkingChoices;
    QString m_thinkingChoice;
    QList<SamplingPreset> m_ownPresets;
    bool m_filling = false;
};

}  // namespace offstage::ui
