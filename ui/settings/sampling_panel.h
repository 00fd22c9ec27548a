#pragma once

#include <optional>

#include <QStringList>
#include <QWidget>

#include "engine/run/session.h"
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

// The system prompt and the sampler's settings in plain words, with presets: those of the
// shown conversation; the next answer uses them. It begins with readSampling(); who
// connects it keeps what is to be kept.
class SamplingPanel : public QWidget {
    Q_OBJECT

  public:
    explicit SamplingPanel(QWidget* parent = nullptr);

    Sampling sampling() const;
    void setSampling(const Sampling& sampling);
    // The choices of thinking of the open model's chat template; none: nothing is
    // offered, and a choice for another model is kept.
    void setThinkingChoices(const QStringList& choices);
    const QStringList& thinkingChoices() const { return m_thinkingChoices; }
    void chooseThinking(const QString& choice);  // as if by the user
    // The advice of the open model's publisher: shown in place of the default's values,
    // because it applies while the default is chosen.
    void setAdvised(const engine::ModelDefaults& advised);
    QString systemPrompt() const;
    void setSystemPrompt(const QString& prompt);
    void editSystemPrompt();  // its field gets the focus
    // As if by the user: the signals are emitted.
    void choose(const QString& prompt, const Sampling& sampling);

  public Q_SLOTS:
    void reset();

  Q_SIGNALS:
    // By the user, not by setSampling() and setSystemPrompt().
    void samplingChanged(const offstage::ui::Sampling& sampling);
    void systemPromptChanged(const QString& prompt);

  private:
    void connectPresets();
    void edited();
    void promptEdited();
    void refreshThinking();
    void refreshPreset();
    Sampling shown() const;  // as the fields stand
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
    engine::ModelDefaults m_advised;
    // The advised values as the fields show them; nothing: others are shown.
    std::optional<engine::SamplerSettings> m_shownAdvice;
    bool m_filling = false;
};

}  // namespace offstage::ui
