#include "ui/window/setup_watch.h"

#include <QVBoxLayout>

#include "ui/chat/chat_page.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/persona_bar.h"
#include "ui/panels/benchmark_runner.h"
#include "ui/panels/budget_form.h"
#include "ui/window/conversation_setup.h"
#include "ui/window/core.h"
#include "ui/window/model_opener.h"

namespace offstage::ui {

SetupWatch::SetupWatch(Core& core, ModelOpener& opener, ChatPage& page, PersonaBar& persona,
                       const BenchmarkRunner& benchmark, QObject* parent)
    : QObject(parent),
      m_core(core),
      m_opener(opener),
      m_page(page),
      m_persona(persona),
      m_benchmark(benchmark),
      m_bar(new SetupBar) {
    auto* column = qobject_cast<QVBoxLayout*>(m_page.layout());
    column->insertWidget(column->count() - 1, m_bar);  // above the input box
    connect(m_bar, &SetupBar::openRequested, this, [this] {
        open();
        m_page.input().setFocus();
    });
    connect(m_bar, &SetupBar::dismissed, this, [this] {
        m_goesOnAnyway = m_core.chat.current();
        refresh();
        m_page.input().setFocus();
    });
    connect(&m_core.engine, &EngineController::streamed, this, &SetupWatch::keep);
    // A budget that was chosen in a conversation is its own, whichever one is shown when
    // it comes into force.
    connect(&m_core.engine, &EngineController::replanRequested, this, [this](quint64 id) {
        m_replanned[id] = m_bar->isHidden() && !m_benchmark.isRunning() ? m_core.chat.current() : 0;
    });
    connect(&m_core.engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        const ConversationId conversation = m_replanned.take(report.id);
        if (report.state == engine::ReplanState::kDone && m_core.engine.model() &&
            ConversationSetups::of(conversation)) {
            ConversationSetups::keep(conversation, now());
            refresh();
        }
    });
    connect(&m_core.engine, &EngineController::loadStarted, this, [this] { m_replanned.clear(); });
    connect(&m_core.engine, &EngineController::stateChanged, this, &SetupWatch::refresh);
    connect(&m_core.engine, &EngineController::thetaChanged, this, &SetupWatch::refresh);
    connect(&m_core.chat, &ChatController::currentChanged, this, &SetupWatch::askAnew);
    connect(&m_persona, &PersonaBar::chosen, this, &SetupWatch::askAnew);
    connect(&m_core.personas, &Personas::changed, this, &SetupWatch::refresh);
    connect(&m_opener.devices(), &DeviceChoices::changed, this, &SetupWatch::refresh);
    connect(&m_benchmark, &BenchmarkRunner::ended, this, &SetupWatch::refresh);
    refresh();
}

void SetupWatch::askAnew() {
    m_goesOnAnyway = 0;
    refresh();
}

bool SetupWatch::personaWantsAnotherModel() const {
    const auto persona = m_persona.persona();
    return persona && !persona->model.isEmpty() && m_core.engine.state() == EngineController::State::Ready &&
           persona->model != QString::fromStdString(m_core.engine.model()->source);
}

// A model is open.
ConversationSetup SetupWatch::now() const {
    const engine::LoadRequest& load = m_core.engine.loadRequest();
    const engine::ModelSummary& model = *m_core.engine.model();
    const BudgetSetting inForce = settingInForce(m_core.engine);
    ConversationSetup setup{QString::fromStdString(load.model), QString::fromStdString(model.name),
                            QString::fromStdString(load.device), inForce, inForce};
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
void SetupWatch::keep() {
    for (const ChatController::Queued& each : m_core.chat.queue()) {
        if (each.running && m_core.engine.model() && !m_benchmark.isRunning()) {
            ConversationSetups::keep(each.conversation, now());
        }
    }
}

void SetupWatch::refresh() {
    const std::optional<ConversationSetup> setup = ConversationSetups::of(m_core.chat.current());
    // During a comparison plan B is in force for a while; no conversation may use it.
    const bool isReady = m_core.engine.state() == EngineController::State::Ready && !m_benchmark.isRunning();
    if (m_goesOnAnyway == m_core.chat.current()) {
        m_bar->setVisible(false);
        return;
    }
    if (personaWantsAnotherModel()) {  // the user's choice comes before the earlier setup
        const Persona persona = *m_persona.persona();
        m_bar->tell(persona, RecentModels::isMissing(persona.model));
        return;
    }
    const std::optional<ConversationSetup> present = isReady ? std::optional(now()) : std::nullopt;
    if (!setup || !present ||
        (setup->model == present->model && setup->device == present->device && setup->budget == present->budget)) {
        m_bar->setVisible(false);
        return;
    }
    m_bar->tell(*setup, m_opener.devices().nameOf(setup->device),
                setup->model != present->model && RecentModels::isMissing(setup->model));
}

void SetupWatch::open() {
    if (personaWantsAnotherModel()) {
        m_opener.open(m_persona.persona()->model);
    } else if (const std::optional<ConversationSetup> setup = ConversationSetups::of(m_core.chat.current())) {
        const BudgetSetting& budget = setup->budget;
        engine::LoadRequest request = m_opener.requestFor(setup->model, setup->device, budget.vramBytes);
        request.vram_bytes = budget.vramBytes;
        request.ram_bytes = budget.ramBytes;
        request.context = budget.context;
        request.kv = budget.kv;
        request.quality = budget.quality;
        request.quant.experts = budget.experts;
        request.theta = budget.theta.theta;
        request.theta_loss = budget.theta.loss;
        request.neuron_guesses = budget.theta.guesses;
        m_opener.openAsChosen(request);
    }
}

}  // namespace offstage::ui
