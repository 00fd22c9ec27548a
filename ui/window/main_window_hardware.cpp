// MainWindow's choice of the device that a model runs on.
#include <QActionGroup>
#include <QLabel>
#include <QMenu>
#include <QStatusBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/persona_bar.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_budget.h"
#include "ui/engine/kept_context.h"
#include "ui/help/help_pages.h"
#include "ui/load/fit_worker.h"
#include "ui/load/local_model_view.h"
#include "ui/load/local_models.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_form.h"
#include "ui/window/conversation_setup.h"
#include "ui/window/main_window.h"

namespace offstage::ui {
namespace {

// For the next start.
void keepDevice(const QString& device, quint64 vramBytes) {
    settings::kDevice.set(device);
    settings::kDeviceVram.set(vramBytes);
}

}  // namespace

engine::LoadRequest MainWindow::requestFor(const QString& model) const {
    engine::LoadRequest request;
    request.model = model.toStdString();
    request.device = m_device.toStdString();
    request.vram_bytes = m_vramBytes;
    request.kept_context = KeptContext::tokens();
    request.chat_template = KeptBudget::chatTemplate(model).toStdString();
    if (m_options.device.isEmpty()) {  // the command line's choice counts
        KeptBudget::applyTo(request);
    }
    return request;
}

void MainWindow::openModel(const QString& model) {
    open(requestFor(model));
}

// Lists the models on this computer, on the start page and in the dialog.
void MainWindow::offerModels() {
    if (!m_options.modelPlaces) {
        return;
    }
    m_local = new LocalModels(*m_options.modelPlaces, this);
    m_local->setRecent(m_recent.models());
    m_page->emptyState().offer(*m_local);
    connect(&m_recent, &RecentModels::changed, m_local, [this] { m_local->setRecent(m_recent.models()); });
    connect(&m_page->emptyState(), &EmptyState::modelChosen, this, [this](const QString& model) {
        const int fit = m_local->index(m_local->rowOf(model)).data(LocalModels::FitRole).toInt();
        if (fit == static_cast<int>(LocalModel::Fit::TooLarge)) {
            openWithOptions(model);  // it shows how to make the model fit
        } else {
            openModel(model);
        }
    });
    connect(&m_page->emptyState(), &EmptyState::allModelsRequested, this, [this] { openWithOptions(); });
    connect(&m_engine, &EngineController::modelLoaded, this, &MainWindow::estimateLocal);
    connect(&m_devices, &DeviceChoices::changed, this, &MainWindow::estimateLocal);
    m_local->search();
}

// Estimates with the settings of the start page.
void MainWindow::estimateLocal() {
    if (!m_page->emptyState().offered()->isHidden()) {  // the dialog sees to itself
        m_local->estimate(requestFor({}), heldBy(m_engine));
    }
}

// The open model is closed only for one whose files can be read.
void MainWindow::open(const engine::LoadRequest& request) {
    if (!m_options.looksAtFilesFirst || !m_engine.model()) {
        load(request);
        return;
    }
    if (!m_looker) {
        m_looker = new FitWorker(this);
        connect(m_looker, &FitWorker::estimated, this, [this] {
            statusBar()->clearMessage();
            load(m_lookedAt);
        });
        connect(m_looker, &FitWorker::failed, this, [this](const EngineFailure& failure) {
            statusBar()->clearMessage();
            Problem problem;
            problem.title = tr("“%1” could not be opened").arg(modelNameOf(QString::fromStdString(m_lookedAt.model)));
            problem.sentence = sentenceOf(failure) + u'\n' + tr("The model that is open stays open.");
            problem.detail = failure.detail;
            problem.actions = {ProblemAction::OpenModel};
            m_chat.reportProblem(problem);
        });
    }
    m_lookedAt = request;
    statusBar()->showMessage(
        tr("Looking at the files of “%1”…").arg(modelNameOf(QString::fromStdString(request.model))));
    m_looker->ask(request, heldBy(m_engine));
}

void MainWindow::load(const engine::LoadRequest& request) {
    if (!m_openedModel.isEmpty()) {
        m_previousModel = m_openedModel;
        m_openedModel.clear();
    }
    m_loadingModel = QString::fromStdString(request.model);
    engine::LoadRequest paced = request;
    paced.kept_context = KeptContext::tokens();
    paced.paced = request.device.starts_with("emulated:");
    m_engine.openModel(paced);
    refreshHardware();
}

void MainWindow::openWithOptions(const QString& model) {
    auto* dialog = new OpenModelDialog(m_engine, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->addAction(m_actions.help);  // its keys count there, too
    setHelpPage(*dialog, QStringLiteral("models"));
    dialog->setModel(!model.isEmpty() ? model : m_openedModel.isEmpty() ? m_loadingModel : m_openedModel);
    if (m_local != nullptr) {
        dialog->offer(*m_local);
        connect(dialog, &QDialog::finished, this, &MainWindow::estimateLocal);
    }
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const engine::LoadRequest request = dialog->request();
        m_device = QString::fromStdString(request.device);
        m_vramBytes = request.vram_bytes;
        keepDevice(m_device, m_vramBytes);
        KeptBudget::keep(request);
        open(request);
    });
    dialog->open();
}

void MainWindow::useDevice(const QString& device, quint64 vramBytes) {
    m_device = device;
    m_vramBytes = vramBytes;
    keepDevice(m_device, m_vramBytes);
    const QString model = !m_openedModel.isEmpty() ? m_openedModel : m_loadingModel;
    if (vramBytes > 0) {
        KeptBudget::forget(model, m_device);
    }
    if (model.isEmpty()) {
        refreshHardware();
    } else {
        openModel(model);
    }
}

void MainWindow::tryEmulatedGpu() {
    useDevice(DeviceChoices::demonstrationDevice(), DeviceChoices::kDemonstrationVram);
}

void MainWindow::createHardwareMenu() {
    m_device = m_options.device;
    m_vramBytes = m_options.vramBytes;
    if (m_device.isEmpty()) {
        m_device = settings::kDevice.value();
        m_vramBytes = m_device == QStringLiteral("cpu") ? 0 : settings::kDeviceVram.value();
    }
    connect(&m_devices, &DeviceChoices::changed, this, [this] {
        // The first start on a machine with a GPU uses the GPU without a question.
        if (m_options.device.isEmpty() && !settings::kDevice.kept() && m_devices.hasGpu()) {
            useDevice(QStringLiteral("cuda:0"));
        }
        refreshHardwareMenu();
        refreshHardware();
        refreshSetup();
    });
    refreshHardwareMenu();
    m_devices.look();
}

void MainWindow::refreshHardwareMenu() {
    m_hardwareMenu->clear();
    auto* group = new QActionGroup(m_hardwareMenu);
    const auto add = [&](QMenu& menu, const DeviceChoice& choice) {
        QAction* action = menu.addAction(QStringLiteral("%1 (%2)").arg(choice.name, choice.details), this,
                                         [this, id = choice.id] { useDevice(id); });
        action->setCheckable(true);
        action->setChecked(choice.id == m_device);
        action->setData(choice.id);
        group->addAction(action);
    };
    m_hardwareMenu->addSection(tr("This computer"));
    QMenu* emulated = nullptr;
    for (const DeviceChoice& choice : m_devices.choices()) {
        if (!choice.emulated) {
            add(*m_hardwareMenu, choice);
            continue;
        }
        if (!emulated) {
            m_hardwareMenu->addSeparator();
            emulated = m_hardwareMenu->addMenu(tr("&Emulated GPU (speed is simulated)"));
        }
        add(*emulated, choice);
    }
    m_hardwareMenu->addAction(tr("&Try a small emulated GPU"), this, &MainWindow::tryEmulatedGpu)
        ->setToolTip(tr("24 MiB of GPU memory: the demo model does not fit, and experts come and go"));
}

// Stores the user's budget changes since the model was opened, with their present values.
void MainWindow::keepBudget() {
    quint64 newest = 0;
    for (const engine::ReplanReport& report : m_engine.replans()) {
        newest = report.state == engine::ReplanState::kDone ? std::max(newest, quint64{report.id}) : newest;
    }
    if (newest > m_lastReplanKept && !m_benchmark->runner().isRunning()) {
        m_lastReplanKept = newest;
        const BudgetSetting now = settingInForce(m_engine);
        engine::ReplanRequest set;
        for (const auto& [id, request] : m_engine.replanRequests()) {
            if (id > newest || m_benchmark->runner().ownsReplan(id)) {
                continue;
            }
            if (request.vram_bytes) {
                set.vram_bytes = now.vramBytes;
            }
            if (request.ram_bytes) {
                set.ram_bytes = now.ramBytes;
            }
            if (request.context) {
                set.context = now.context;
            }
            if (request.kv) {
                set.kv = now.kv;
            }
            if (request.quality || request.experts) {
                set.experts = now.experts;
                set.quality = now.experts ? std::nullopt : std::optional(now.quality);
            }
        }
        const engine::LoadRequest& load = m_engine.loadRequest();
        KeptBudget::keep(QString::fromStdString(load.model), QString::fromStdString(load.device), set);
    }
    refreshHardware();
}

void MainWindow::createSetupBar() {
    m_setup = new SetupBar;
    auto* column = qobject_cast<QVBoxLayout*>(m_page->layout());
    column->insertWidget(column->count() - 1, m_setup);  // above the input box
    connect(m_setup, &SetupBar::openRequested, this, &MainWindow::openSetup);
    connect(m_setup, &SetupBar::dismissed, this, [this] {
        m_goesOnAnyway = m_chat.current();
        refreshSetup();
        m_page->input().setFocus();
    });
    connect(&m_engine, &EngineController::streamed, this, &MainWindow::noteSetup);
    connect(&m_engine, &EngineController::stateChanged, this, &MainWindow::refreshSetup);
    connect(&m_engine, &EngineController::thetaChanged, this, &MainWindow::refreshSetup);
    connect(&m_chat, &ChatController::currentChanged, this, [this] {
        m_goesOnAnyway = 0;
        refreshSetup();
    });
}

// After connectConversation(): the conversation has the panel's settings before the bar
// reads them.
void MainWindow::createPersonaBar() {
    m_personaBar = new PersonaBar(m_personas, m_chat, *m_sampling, [this] {
        const auto& model = m_engine.model();
        return model ? PersonaBar::Model{QString::fromStdString(model->source), QString::fromStdString(model->name)}
                     : PersonaBar::Model{};
    });
    auto* column = qobject_cast<QVBoxLayout*>(m_page->layout());
    column->insertWidget(0, m_personaBar);
    m_personaBar->setMinimumWidth(0);
    connect(m_personaBar, &PersonaBar::chosen, this, [this] {
        m_goesOnAnyway = 0;  // another choice, another question
        refreshSetup();
    });
    connect(m_personaBar, &PersonaBar::said, this,
            [this](const QString& sentence) { statusBar()->showMessage(sentence, 8000); });
    connect(&m_personas, &Personas::changed, this, &MainWindow::refreshSetup);
    refreshSetup();
}

bool MainWindow::personaWantsAnotherModel() const {
    const auto persona = m_personaBar == nullptr ? std::nullopt : m_personaBar->persona();
    return persona && !persona->model.isEmpty() && m_engine.state() == EngineController::State::Ready &&
           persona->model != QString::fromStdString(m_engine.model()->source);
}

// A model is open.
ConversationSetup MainWindow::setupNow() const {
    const engine::LoadRequest& load = m_engine.loadRequest();
    const engine::ModelSummary& model = *m_engine.model();
    ConversationSetup setup{QString::fromStdString(load.model), QString::fromStdString(model.name),
                            QString::fromStdString(load.device), settingInForce(m_engine), settingInForce(m_engine)};
    // Values left to the program differ from start to start with the free memory.
    if (load.vram_bytes == 0 && setup.budget.vramBytes == model.vram_budget_bytes) {
        setup.budget.vramBytes = 0;
    }
    if (load.ram_bytes == 0 && setup.budget.ramBytes == model.ram_budget_bytes) {
        setup.budget.ramBytes = 0;
    }
    if (load.context == 0 && setup.budget.context == model.context) {
        setup.budget.context = 0;
    }
    return setup;
}

// The conversation that is being answered, with what answers it.
void MainWindow::noteSetup() {
    for (const ChatController::Queued& each : m_chat.queue()) {
        if (each.running && m_engine.model() && !m_benchmark->runner().isRunning()) {
            ConversationSetups::keep(each.conversation, setupNow());
        }
    }
}

void MainWindow::refreshSetup() {
    const std::optional<ConversationSetup> setup = ConversationSetups::of(m_chat.current());
    const engine::LoadRequest& load = m_engine.loadRequest();
    // During a comparison plan B is in force for a while; no conversation may use it.
    const bool isReady = m_engine.state() == EngineController::State::Ready && !m_benchmark->runner().isRunning();
    const std::optional<ConversationSetup> now = isReady ? std::optional(setupNow()) : std::nullopt;
    const bool isAnother =
        setup && now && (setup->model != now->model || setup->device != now->device || !(setup->budget == now->budget));
    if (m_goesOnAnyway == m_chat.current()) {
        m_setup->setVisible(false);
        return;
    }
    if (personaWantsAnotherModel()) {  // the user's choice comes before the earlier setup
        const Persona persona = *m_personaBar->persona();
        m_setup->tell(persona, RecentModels::isMissing(persona.model));
        return;
    }
    if (!isAnother) {
        m_setup->setVisible(false);
        return;
    }
    m_setup->tell(*setup, m_devices.nameOf(setup->device),
                  setup->model != QString::fromStdString(load.model) && RecentModels::isMissing(setup->model));
}

void MainWindow::openSetup() {
    if (personaWantsAnotherModel()) {
        openModel(m_personaBar->persona()->model);
        m_page->input().setFocus();
        return;
    }
    const std::optional<ConversationSetup> setup = ConversationSetups::of(m_chat.current());
    if (!setup) {
        return;
    }
    m_device = setup->device;
    m_vramBytes = setup->budget.vramBytes;
    engine::LoadRequest request = requestFor(setup->model);
    request.vram_bytes = setup->budget.vramBytes;
    request.ram_bytes = setup->budget.ramBytes;
    request.context = setup->budget.context;
    request.kv = setup->budget.kv;
    request.quality = setup->budget.quality;
    request.quant.experts = setup->budget.experts;
    request.theta = setup->budget.theta.theta;
    request.theta_loss = setup->budget.theta.loss;
    request.neuron_guesses = setup->budget.theta.guesses;
    keepDevice(m_device, m_vramBytes);
    KeptBudget::keep(request);
    open(request);
    m_page->input().setFocus();
}

QString MainWindow::hardwareText() const {
    return m_hardware->text();
}

void MainWindow::refreshHardware() {
    const auto& model = m_engine.model();
    QString text;
    if (model) {
        engine::ModelSummary now = *model;
        if (const auto snapshot = m_engine.snapshot(); snapshot && snapshot->vram.budget > 0) {
            now.vram_budget_bytes = snapshot->vram.budget;
        }
        text = ui::hardwareText(now);
    } else if (const DeviceChoice* choice = m_devices.find(m_device)) {
        text = choice->name;
    } else {
        text = m_device;
    }
    m_hardware->setText(text);
    // Users without a GPU see the detected hardware at once, and how to emulate a GPU.
    const bool emulated = m_device.startsWith(QStringLiteral("emulated:"));
    m_page->emptyState().setHardware(emulated ? tr("Runs on %1: its speed is simulated, not measured.").arg(text)
                                              : tr("Runs on %1. Found here: %2.").arg(text, m_devices.found()),
                                     m_devices.looked() && !m_devices.hasGpu() && !emulated);
    m_hardware->setToolTip(tr("Where the model runs. Found here: %1").arg(m_devices.found()));
    for (QAction* action : m_hardwareMenu->findChildren<QAction*>()) {
        if (action->isCheckable()) {
            action->setChecked(action->data().toString() == m_device);
        }
    }
    for (QMenu* menu : m_hardwareMenu->findChildren<QMenu*>()) {
        for (QAction* action : menu->actions()) {
            action->setChecked(action->isCheckable() && action->data().toString() == m_device);
        }
    }
}

}  // namespace offstage::ui
