#include "ui/settings/persona_editor.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>

#include "ui/help/help_pages.h"
#include "ui/settings/presets.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr QSize kEditorSize{520, 380};
constexpr int kBoxLetters = 24;

QString withTemperature(const QString& text, const Sampling& sampling) {
    return text.arg(QLocale().toString(static_cast<double>(sampling.sampler.temperature), 'g', 3));
}

}  // namespace

PersonaEditor::PersonaEditor(const Persona& persona, const Now& now, QWidget* parent)
    : QDialog(parent),
      m_before(persona),
      m_name(new QLineEdit(persona.name)),
      m_note(mutedLabel()),
      m_instructions(new QPlainTextEdit(persona.systemPrompt)),
      m_sampling(new QComboBox),
      m_withModel(new QCheckBox),
      m_model(persona.model.isEmpty() ? now.model : persona.model),
      m_modelName(persona.model.isEmpty() ? now.modelName : persona.modelName) {
    setWindowTitle(persona.name.isEmpty() ? tr("New persona") : tr("Edit a persona"));
    m_name->setMaxLength(Personas::kLongestName);
    m_name->setPlaceholderText(tr("Name of the persona"));
    m_instructions->setPlaceholderText(tr("What every answer should heed"));
    m_instructions->setTabChangesFocus(true);
    letShrink(*m_sampling, kBoxLetters);
    fillSampling(now);
    m_withModel->setText(m_model.isEmpty()
                             ? tr("The model that is open (none is)")
                             : tr("Offer %1").arg(QString(m_modelName).replace(u'&', QStringLiteral("&&"))));
    m_withModel->setToolTip(tr("Where another model is open, the window offers to open this one"));
    m_withModel->setChecked(!persona.model.isEmpty());
    m_withModel->setEnabled(!m_model.isEmpty());
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto row = [form](const QString& name, QWidget* field) {
        form->addRow(labelOf(field, name), field);
        field->setAccessibleName(QString(name).remove(u'&'));
    };
    row(tr("&Name"), m_name);
    form->addRow({}, m_note);  // its line is there while it is empty: nothing moves
    row(tr("&Instructions"), m_instructions);
    row(tr("&Sampling"), m_sampling);
    row(tr("&Model"), m_withModel);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Cancel);
    QPushButton* save = buttons->button(QDialogButtonBox::Save);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, [this] { QDialog::reject(); });
    columnOf(this, {{form, 1}, buttons});
    const auto refresh = [this, save, taken = now.takenNames] {
        const QString name = m_name->text().simplified();
        const bool isTaken = taken.contains(name);
        m_warned = false;
        m_note->setText(isTaken ? tr("Another persona has this name") : QString());
        save->setEnabled(!name.isEmpty() && !isTaken);
    };
    connect(m_name, &QLineEdit::textChanged, this, refresh);
    connect(m_instructions, &QPlainTextEdit::textChanged, this, refresh);
    refresh();
    setHelpPage(*this, QStringLiteral("chat"));
    resize(parent == nullptr ? kEditorSize : kEditorSize.boundedTo(parent->window()->size() - QSize(24, 24)));
}

void PersonaEditor::reject() {
    const QString typed = m_instructions->toPlainText();
    if (m_warned || typed.trimmed().isEmpty() || typed == m_before.systemPrompt) {
        QDialog::reject();
        return;
    }
    m_warned = true;
    m_note->setText(tr("Not saved yet: close once more to drop the instructions"));
}

// What the persona has comes first, or what is set up now for a new one.
void PersonaEditor::fillSampling(const Now& now) {
    const auto add = [this](const QString& text, const Sampling* sampling) {
        m_sampling->addItem(text);
        std::optional<Sampling>& added = m_samplings.emplaceBack();
        if (sampling != nullptr) {
            added = *sampling;
        }
    };
    if (m_before.sampling) {
        add(withTemperature(tr("As the persona has it: temperature %1"), *m_before.sampling), &*m_before.sampling);
    }
    if (!m_before.sampling || !(*m_before.sampling == now.sampling)) {
        add(withTemperature(tr("As set up now: temperature %1"), now.sampling), &now.sampling);
    }
    add(tr("The conversation's own"), nullptr);
    for (const SamplingPreset& preset : samplingPresets() + readOwnSamplingPresets()) {
        add(preset.name, &preset.sampling);
    }
    if (!m_before.name.isEmpty()) {
        m_sampling->setCurrentIndex(static_cast<int>(m_samplings.indexOf(m_before.sampling)));
    }
}

Persona PersonaEditor::persona() const {
    Persona out = m_before;
    out.name = m_name->text().simplified();
    out.systemPrompt = m_instructions->toPlainText();
    out.sampling = m_samplings[m_sampling->currentIndex()];
    out.model = m_withModel->isChecked() ? m_model : QString();
    out.modelName = m_withModel->isChecked() ? m_modelName : QString();
    return out;
}

}  // namespace offstage::ui
