#include "ui/chat/persona_bar.h"

#include <QAction>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>

#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_controller.h"
#include "ui/chat/message_column.h"
#include "ui/history/conversation_files.h"
#include "ui/settings/persona_editor.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/boxes.h"

namespace offstage::ui {

namespace {

constexpr int kPersonaMargin = 24;  // as the conversation's
constexpr int kNameLength = 22;
constexpr qint64 kLargestFile = 4 << 20;

constexpr int kWidestChip = 360;
constexpr int kLongestTip = 600;  // characters

// Otherwise a menu would take what stands behind & for a key.
QString menuText(QString name) {
    return name.replace(u'&', QStringLiteral("&&"));
}

}  // namespace

// As much of the text as there is room for.
class SystemPromptChip : public QToolButton {
  public:
    SystemPromptChip() {
        setAccessibleName(PersonaBar::tr("System prompt of this conversation"));
        setFocusPolicy(Qt::TabFocus);
        setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
        setMaximumWidth(kWidestChip);
    }
    void setPrompt(const QString& prompt) {
        const QString line = prompt.simplified();
        setText(PersonaBar::tr("System prompt: %1").arg(line.left(kWidestChip)));
        setToolTip(PersonaBar::tr("This conversation's alone; click to change it") + QStringLiteral("\n\n") +
                   prompt.trimmed().left(kLongestTip));
        setAccessibleDescription(prompt);
        setVisible(!line.isEmpty());
    }
    QSize minimumSizeHint() const override { return {4 * QToolButton::sizeHint().height(), sizeHint().height()}; }
};

PersonaBar::PersonaBar(Personas& personas, ChatController& chat, SamplingPanel& sampling,
                       const EngineController& engine, QWidget* parent)
    : QWidget(parent),
      m_personas(personas),
      m_chat(chat),
      m_sampling(sampling),
      m_engine(engine),
      m_bar(new PresetBar),
      m_prompt(new SystemPromptChip),
      m_choices(new QMenu(this)) {
    m_bar->setForOthers(tr("Make, edit or delete a persona"));
    m_bar->box().setAccessibleName(tr("Persona of this conversation"));
    m_bar->box().setToolTip(tr("Persona: system prompt, sampling and model under a name"));
    // One width for all choices: the menu beside it keeps its place.
    m_bar->box().setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_bar->box().setMinimumContentsLength(kNameLength);
    m_bar->box().setFocusPolicy(Qt::TabFocus);
    QMenu& menu = m_bar->menu();
    m_new = new QAction(tr("&New persona…"), this);
    m_edit = new QAction(tr("Edi&t…"), this);
    m_update = new QAction(tr("&Change it to what is set up now"), this);
    m_ofNew = new QAction(tr("&Use for new conversations"), this);
    m_ofNew->setCheckable(true);
    m_restore = new QAction(this);
    m_restore->setVisible(false);
    m_import = new QAction(tr("&Import personas…"), this);
    m_export = new QAction(tr("&Export my personas…"), this);
    menu.insertActions(&m_bar->deleteAction(), {m_new, m_edit, m_update, m_ofNew});
    menu.addAction(m_restore);
    menu.addSeparator();
    menu.addAction(m_import);
    menu.addAction(m_export);
    auto* label = new QLabel(tr("Persona"));
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setBuddy(&m_bar->box());
    rowOf(this, {label, m_bar, m_prompt, Stretch{1}}, inset(kPersonaMargin, 4, kPersonaMargin, 4));
    standOnColumn(*this);

    m_chat.setPersonas(personas);
    if (const auto ofNew = personas.ofNew()) {  // a first conversation is there
        m_chat.setPersona(ofNew->id);
        m_sampling.choose(ofNew->systemPrompt, ofNew->sampling.value_or(m_chat.sampling()));
    }
    connect(m_prompt, &QToolButton::clicked, this, &PersonaBar::systemPromptRequested);
    connect(m_bar, &PresetBar::chosen, this, &PersonaBar::choose);
    connect(m_bar, &PresetBar::deleted, this, [this](int own) { remove(m_personas.own()[own]); });
    connect(m_new, &QAction::triggered, this, [this] {
        Persona fresh;
        fresh.systemPrompt = m_chat.systemPrompt();
        edit(fresh);
    });
    connect(m_edit, &QAction::triggered, this, [this] { edit(persona().value_or(Persona())); });
    connect(m_restore, &QAction::triggered, this, &PersonaBar::restore);
    connect(m_update, &QAction::triggered, this, [this] {
        if (const auto now = persona()) {
            m_personas.put(setupNow(*now));
        }
    });
    connect(m_ofNew, &QAction::triggered, this, [this](bool on) {
        settings::kPersonaOfNew.set(on ? m_chat.persona() : QString());
        refresh();
    });
    connect(m_import, &QAction::triggered, this, &PersonaBar::chooseImport);
    connect(m_export, &QAction::triggered, this, &PersonaBar::chooseExport);
    connect(&m_personas, &Personas::changed, this, &PersonaBar::refresh);
    connect(&m_chat, &ChatController::currentChanged, this, &PersonaBar::refresh, Qt::QueuedConnection);
    connect(&m_sampling, &SamplingPanel::samplingChanged, this, &PersonaBar::refresh);
    connect(&m_sampling, &SamplingPanel::systemPromptChanged, this, &PersonaBar::refresh);
    // The possible actions depend on the open model.
    connect(&menu, &QMenu::aboutToShow, this, &PersonaBar::refresh);
    connect(m_choices, &QMenu::aboutToShow, this, [this] {
        m_choices->clear();
        for (int i = 0; i < m_bar->box().count(); ++i) {
            m_choices->addAction(menuText(m_bar->box().itemText(i)), this, [this, i] { choose(i - 1); });
        }
    });
    refresh();
}

std::optional<Persona> PersonaBar::persona() const {
    return m_personas.find(m_chat.persona());
}

bool PersonaBar::isChanged() const {
    return persona() && !m_personas.isAsChosen(m_chat.conversations().info(m_chat.current()));
}

Persona PersonaBar::setupNow(const Persona& of) const {
    Persona persona = of;
    persona.systemPrompt = m_chat.systemPrompt();
    persona.sampling = m_chat.sampling();
    return persona;
}

Sampling PersonaBar::ownSampling() const {
    return m_chat.hasPersonasSampling() ? m_chat.samplingOfNew() : m_chat.sampling();
}

void PersonaBar::choose(qsizetype index) {
    // The sampling of the persona before goes with it; instructions that the user has
    // changed stay where none take their place.
    const bool takesPrompt = index >= 0 || (persona() && !isChanged());
    const Sampling own = ownSampling();
    const Persona now = index >= 0 ? all()[index] : Persona();
    m_chat.setPersona(now.id);
    m_sampling.choose(takesPrompt ? now.systemPrompt : m_chat.systemPrompt(), now.sampling.value_or(own));
    refresh();
    Q_EMIT chosen();
}

void PersonaBar::edit(const Persona& before) {
    PersonaEditor::Now now{m_chat.sampling(), {}, {}, {}};
    for (const Persona& each : m_personas.own()) {
        if (each.id != before.id) {
            now.takenNames << each.name;
        }
    }
    if (const auto& model = m_engine.model()) {
        now.model = QString::fromStdString(model->source);
        now.modelName = QString::fromStdString(model->name);
    }
    auto* editor = new PersonaEditor(before, now, this);
    editor->setAttribute(Qt::WA_DeleteOnClose);
    connect(editor, &QDialog::accepted, this, [this, editor] { save(editor->persona()); });
    editor->open();
}

// A new one is the conversation's at once. So is an edited one, unless the conversation
// was changed since.
void PersonaBar::save(const Persona& made) {
    const bool isNew = made.id.isEmpty();
    const bool follows = isNew || (made.id == m_chat.persona() && !isChanged());
    const Sampling own = ownSampling();
    const QString id = m_personas.put(made);
    if (isNew) {
        m_chat.setPersona(id);
    }
    if (follows) {
        m_sampling.choose(made.systemPrompt, made.sampling.value_or(own));
    }
    refresh();
    Q_EMIT chosen();
}

// At once and without a question, because it can be restored.
void PersonaBar::remove(const Persona& persona) {
    m_removed = persona;
    m_restore->setText(tr("&Bring back %1").arg(menuText(persona.name)));
    m_restore->setVisible(true);
    m_personas.remove(m_removed.id);
}

void PersonaBar::restore() {
    m_restore->setVisible(false);
    m_personas.put(m_removed);  // conversations refer to it by its id
}

void PersonaBar::refresh() {
    QStringList builtIn, own;
    const QString id = m_chat.persona();
    qsizetype current = -1;
    const QList<Persona> personas = all();
    for (qsizetype i = 0; i < personas.size(); ++i) {
        (i < Personas::builtIn().size() ? builtIn : own) += personas[i].name;
        current = personas[i].id == id ? i : current;
    }
    m_bar->setNames(builtIn, own, tr("None"));
    m_bar->setCurrent(current);
    m_bar->setMark(isChanged() ? tr("%1, changed") : QString());
    const bool isOwn = current >= builtIn.size();
    m_update->setEnabled(isOwn && isChanged());
    m_edit->setEnabled(isOwn);
    // "None" is unchecked by another one.
    const bool isOfNew = (current < 0 ? QString() : id) == (m_personas.ofNew().value_or(Persona()).id);
    m_ofNew->setChecked(isOfNew);
    m_ofNew->setEnabled(current >= 0 || !isOfNew);
    m_export->setEnabled(!own.isEmpty());
    m_prompt->setPrompt(m_chat.systemPrompt());
}

void PersonaBar::importFrom(const QString& file) {
    QFile in(file);
    const QString name = QFileInfo(file).fileName();
    if (!in.open(QIODevice::ReadOnly)) {
        Q_EMIT said(tr("%1 cannot be read: %2.").arg(name, in.errorString()));
        return;
    }
    QString problem;
    const int n = m_personas.addFrom(in.read(kLargestFile), name, problem);
    Q_EMIT said(n > 0 ? tr("%n persona(s) imported", nullptr, n) : problem);
}

void PersonaBar::exportTo(const QString& file) {
    const QString problem = writeFile(file, Personas::toJson(m_personas.own()));
    Q_EMIT said(problem.isEmpty() ? tr("Saved as %1").arg(QDir::toNativeSeparators(file)) : problem);
}

void PersonaBar::chooseImport() {
    openFileDialog(this, tr("Import personas"), {tr("Personas (*.json)")}, settings::kLastExportFolder,
                   [this](const QString& file) { importFrom(file); });
}

void PersonaBar::chooseExport() {
    openSaveDialog(this, tr("Export my personas"), {tr("Personas (*.json)")}, QStringLiteral("personas"),
                   [this](const QString& file) { exportTo(file); });
}

}  // namespace offstage::ui
