#include "ui/settings/sampling_panel.h"

#include <algorithm>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpressionValidator>
#include <QSpinBox>

#include "ui/base/settings.h"
#include "ui/settings/preset_bar.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

QDoubleSpinBox* number(double low, double high, double step, const QString& offText) {
    auto* box = new QDoubleSpinBox;
    box->setRange(low, high);
    box->setSingleStep(step);
    box->setDecimals(2);
    box->setSpecialValueText(offText);  // shown at the lowest value
    return box;
}

QSpinBox* count(int high, const QString& offText) {
    auto* box = new QSpinBox;
    box->setRange(0, high);
    box->setSpecialValueText(offText);
    box->setGroupSeparatorShown(true);
    return box;
}

}  // namespace

SamplingPanel::SamplingPanel(QWidget* parent)
    : QWidget(parent),
      m_prompt(new QPlainTextEdit),
      m_preset(new PresetBar),
      m_explanation(new QLabel),
      m_temperature(number(0, 2, 0.05, tr("0 · always the most probable"))),
      m_topK(count(1000, tr("off"))),
      m_topP(number(0, 1, 0.01, {})),
      m_minP(number(0, 1, 0.01, tr("off"))),
      m_repeatPenalty(number(1, 2, 0.01, tr("off"))),
      m_repeatWindow(count(4096, tr("all tokens"))),
      m_seed(new QLineEdit),
      m_maxTokens(count(1'000'000, tr("no limit"))),
      m_beamWidth(count(engine::kLargestBeamWidth, {})),
      m_form(new QFormLayout),
      m_thinking(new QComboBox) {
    m_beamWidth->setMinimum(1);
    m_beamWidth->setSpecialValueText(tr("1 · no beam search"));
    m_prompt->setPlaceholderText(tr("What every answer of this conversation should heed"));
    m_prompt->setTabChangesFocus(true);
    m_prompt->setFixedHeight(m_prompt->fontMetrics().lineSpacing() * 4 + 14);
    m_maxTokens->setSingleStep(64);
    m_seed->setPlaceholderText(tr("a new one for each answer"));
    m_seed->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{0,19}")), m_seed));
    m_explanation->setWordWrap(true);
    m_explanation->setForegroundRole(QPalette::PlaceholderText);
    QFormLayout* form = m_form;
    form->setRowWrapPolicy(QFormLayout::DontWrapRows);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->setHorizontalSpacing(14);
    form->setVerticalSpacing(8);
    const auto row = [form](const QString& name, QWidget* field, const QString& tip) {
        form->addRow(name, field);
        field->setAccessibleName(QString(name).remove(u'&'));
        field->setAccessibleDescription(tip);
        field->setToolTip(tip);
        form->labelForField(field)->setToolTip(tip);
        QWidget* label = form->labelForField(field);
        // A text with a mnemonic is measured with kerning and drawn without.
        label->setMinimumWidth(label->sizeHint().width() + 4);
    };
    auto* promptLabel = labelOf(m_prompt, tr("Instructions (system prompt)"));
    form->addRow(promptLabel);
    form->addRow(m_prompt);
    m_prompt->setAccessibleName(tr("System prompt"));
    row(tr("Thinking"), m_thinking,
        tr("How much this model thinks before it answers; more takes longer. From the next answer on"));
    row(tr("Preset"), m_preset, tr("A good set of values to begin with"));
    form->addRow(m_explanation);
    row(tr("Temperature"), m_temperature,
        tr("How adventurous: 0 always takes the most probable word, 1 takes words as often as the model believes in "
           "them"));
    row(tr("Top-k"), m_topK, tr("Only this many of the most probable words are considered"));
    row(tr("Top-p"), m_topP,
        tr("Only the most probable words that together have this probability are considered; 1 considers all"));
    row(tr("Min-p"), m_minP, tr("Words less probable than this share of the most probable word are left out"));
    row(tr("Repetition penalty"), m_repeatPenalty,
        tr("Makes words that were just used less probable; 1 does nothing, much more than 1.2 hurts the language"));
    row(tr("Penalty looks back"), m_repeatWindow,
        tr("How many of the latest tokens count as just used; 0: all of the conversation"));
    row(tr("Seed"), m_seed,
        tr("The same seed, prompt and settings give the same answer; empty or 0: a new seed each time"));
    row(tr("Longest answer"), m_maxTokens, tr("An answer ends after this many tokens"));

    row(tr("Beam width"), m_beamWidth,
        tr("How many answers are followed side by side; the most probable one is shown, at once and without chance. "
           "Costs time and memory in proportion"));

    auto* resetButton = new QPushButton(tr("Reset to Balanced"));
    resetButton->setAccessibleName(resetButton->text());
    columnOf(this, {form, Gap{6}, {resetButton, 0, Qt::AlignLeft}, Stretch{1}}, inset(12, 12, 12, 12));

    setSampling(readSampling());
    setThinkingChoices({});

    connect(resetButton, &QPushButton::clicked, this, &SamplingPanel::reset);
    connectPresets();
    for (QDoubleSpinBox* box : {m_temperature, m_topP, m_minP, m_repeatPenalty}) {
        connect(box, &QDoubleSpinBox::valueChanged, this, &SamplingPanel::edited);
    }
    for (QSpinBox* box : {m_topK, m_repeatWindow, m_maxTokens, m_beamWidth}) {
        connect(box, &QSpinBox::valueChanged, this, &SamplingPanel::edited);
    }
    connect(m_seed, &QLineEdit::textChanged, this, &SamplingPanel::edited);
    connect(m_thinking, &QComboBox::activated, this,
            [this](int index) { chooseThinking(m_thinking->itemData(index).toString()); });
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &SamplingPanel::promptEdited);
}

void SamplingPanel::connectPresets() {
    m_ownPresets = readOwnSamplingPresets();
    refreshPreset();

    connect(m_preset, &PresetBar::chosen, this, [this](qsizetype index) {
        const QList<SamplingPreset> presets = allPresets();
        if (index >= 0) {
            // A preset concerns the choice of words: the user's seed and length stay.
            Sampling chosen = presets[index].sampling;
            chosen.sampler.seed = sampling().sampler.seed;
            chosen.maxTokens = sampling().maxTokens;
            chosen.thinking = m_thinkingChoice;
            setSampling(chosen);
            edited();
        } else {
            refreshPreset();
        }
    });
    const auto keep = [this] {
        writeOwnSamplingPresets(m_ownPresets);
        refreshPreset();
    };
    connect(m_preset, &PresetBar::saved, this, [this, keep](const QString& name) {
        m_ownPresets.removeIf([&name](const SamplingPreset& each) { return each.name == name; });
        m_ownPresets.append({name, {}, sampling()});
        keep();
    });
    connect(m_preset, &PresetBar::renamed, this, [this, keep](int index, const QString& name) {
        m_ownPresets[index].name = name;
        keep();
    });
    connect(m_preset, &PresetBar::deleted, this, [this, keep](int index) {
        m_ownPresets.removeAt(index);
        keep();
    });
}

QList<SamplingPreset> SamplingPanel::allPresets() const {
    return samplingPresets() + m_ownPresets;
}

QString SamplingPanel::systemPrompt() const {
    return m_prompt->toPlainText();
}

void SamplingPanel::setSystemPrompt(const QString& prompt) {
    m_filling = true;
    if (prompt != systemPrompt()) {
        m_prompt->setPlainText(prompt);
    }
    m_filling = false;
}

void SamplingPanel::choose(const QString& prompt, const Sampling& sampling) {
    if (prompt != systemPrompt()) {
        m_prompt->setPlainText(prompt);
    }
    if (!(sampling == this->sampling())) {
        setSampling(sampling);
        edited();
    }
}

void SamplingPanel::promptEdited() {
    if (!m_filling) {
        Q_EMIT systemPromptChanged(systemPrompt());
    }
}

void SamplingPanel::editSystemPrompt() {
    m_prompt->setFocus(Qt::OtherFocusReason);
    m_prompt->moveCursor(QTextCursor::End);
}

Sampling SamplingPanel::sampling() const {
    Sampling s = shown();
    if (m_shownAdvice && s.sampler == *m_shownAdvice) {
        s.sampler = defaultSampling().sampler;
    }
    return s;
}

void SamplingPanel::setAdvised(const engine::ModelDefaults& advised) {
    const Sampling now = sampling();
    m_advised = advised;
    const int most = advised.max_tokens();
    m_maxTokens->setSpecialValueText(most > 0 ? tr("%L1, as the model advises").arg(most) : tr("no limit"));
    setSampling(now);
}

Sampling SamplingPanel::shown() const {
    Sampling s;
    s.sampler.temperature = static_cast<float>(m_temperature->value());
    s.sampler.top_k = m_topK->value();
    s.sampler.top_p = static_cast<float>(m_topP->value());
    s.sampler.min_p = static_cast<float>(m_minP->value());
    s.sampler.repeat_penalty = static_cast<float>(m_repeatPenalty->value());
    s.sampler.repeat_window = m_repeatWindow->value();
    s.sampler.seed = m_seed->text().toULongLong();
    s.maxTokens = m_maxTokens->value();
    s.beamWidth = m_beamWidth->value();
    s.thinking = m_thinkingChoice;
    return s;
}

void SamplingPanel::setSampling(const Sampling& given) {
    Sampling s = given;
    const bool isDefault = s.sampler == defaultSampling().sampler;
    if (isDefault) {
        m_advised.apply(s.sampler);
    }
    m_filling = true;
    m_temperature->setValue(static_cast<double>(s.sampler.temperature));
    m_topK->setValue(s.sampler.top_k);
    m_topP->setValue(static_cast<double>(s.sampler.top_p));
    m_minP->setValue(static_cast<double>(s.sampler.min_p));
    m_repeatPenalty->setValue(static_cast<double>(s.sampler.repeat_penalty));
    m_repeatWindow->setValue(s.sampler.repeat_window);
    m_seed->setText(s.sampler.seed == 0 ? QString() : QString::number(s.sampler.seed));
    m_maxTokens->setValue(s.maxTokens);
    m_beamWidth->setValue(s.beamWidth);
    m_thinkingChoice = s.thinking;
    m_filling = false;
    const bool isAdvised = isDefault && !(s.sampler == given.sampler);
    m_shownAdvice = isAdvised ? std::optional(shown().sampler) : std::nullopt;
    refreshThinking();
    refreshPreset();
}

void SamplingPanel::setThinkingChoices(const QStringList& choices) {
    m_thinkingChoices = choices;
    m_form->setRowVisible(m_thinking, !choices.isEmpty());
    refreshThinking();
}

void SamplingPanel::chooseThinking(const QString& choice) {
    if (choice != m_thinkingChoice) {
        m_thinkingChoice = choice;
        refreshThinking();
        edited();
    }
}

void SamplingPanel::refreshThinking() {
    m_thinking->clear();
    m_thinking->addItem(thinkingText({}), QString());
    for (const QString& choice : m_thinkingChoices) {
        m_thinking->addItem(thinkingText(choice), choice);
    }
    m_thinking->setCurrentIndex(std::max(0, m_thinking->findData(m_thinkingChoice)));
}

void SamplingPanel::reset() {
    setSampling(defaultSampling());
    edited();
}

void SamplingPanel::edited() {
    if (m_filling) {
        return;
    }
    const Sampling s = sampling();
    refreshPreset();
    Q_EMIT samplingChanged(s);
}

void SamplingPanel::refreshPreset() {
    const auto names = [](const QList<SamplingPreset>& presets) {
        QStringList out;
        for (const SamplingPreset& preset : presets) {
            out += preset.name;
        }
        return out;
    };
    m_preset->setNames(names(samplingPresets()), names(m_ownPresets), tr("Own settings"));
    const Sampling now = sampling();
    const QList<SamplingPreset> presets = allPresets();
    qsizetype match = -1;
    for (qsizetype i = 0; i < presets.size(); ++i) {
        Sampling preset = presets[i].sampling;
        preset.sampler.seed = now.sampler.seed;
        preset.maxTokens = now.maxTokens;
        preset.thinking = now.thinking;
        if (preset == now) {
            match = i;
        }
    }
    m_preset->setCurrent(match);
    const QString explanation = match < 0 ? tr("Your own mixture") : presets[match].explanation;
    const bool isAdvised = m_shownAdvice && shown().sampler == *m_shownAdvice;
    m_explanation->setText(isAdvised               ? tr("What this model's publisher advises")
                           : explanation.isEmpty() ? tr("A preset of yours")
                                                   : explanation);
}

}  // namespace offstage::ui
