#include "ui/window/steps_owner.h"

#include "ui/panels/benchmark_runner.h"
#include "ui/panels/panel.h"
#include "ui/window/core.h"

namespace offstage::ui {

StepsOwner::StepsOwner(Core& core, const BenchmarkRunner& benchmark, const QList<Panel*>& panels, QObject* parent)
    : QObject(parent), m_core(core), m_panels(panels) {
    connect(&core.chat, &ChatController::engineEntered, this, [this](ConversationId conversation) {
        if (m_core.engine.isServingOthers()) {
            m_next = conversation;  // its steps come after those of the request that runs
        } else {
            begin(Owner::Conversation, conversation);
        }
    });
    connect(&benchmark, &BenchmarkRunner::began, this, [this] { begin(Owner::Benchmark); });
    connect(&core.engine, &EngineController::servingChanged, this, [this] {
        if (m_core.engine.isServingOthers() && m_owner != Owner::Program) {
            m_core.engine.beginConversation();  // before the request
            begin(Owner::Program);
        } else if (!m_core.engine.isServing() && m_next != 0) {
            begin(Owner::Conversation, m_next);
        }
    });
    connect(&core.chat, &ChatController::currentChanged, this, &StepsOwner::refresh);
    connect(&core.history, &History::changed, this, [this](ConversationId conversation) {
        if (conversation == m_conversation) {
            refresh();  // its title
        }
    });
}

void StepsOwner::begin(Owner owner, ConversationId conversation) {
    m_owner = owner;
    m_conversation = conversation;
    m_next = 0;
    if (owner != Owner::Conversation) {
        m_core.chat.leaveEngine();
    }
    m_core.tokens.beginShown();
    refresh();
}

void StepsOwner::refresh() {
    constexpr int kTitle = 16;  // characters
    const QString title = m_core.history.info(m_conversation).title;
    QString text;
    if (m_owner == Owner::Benchmark) {
        text = tr("A benchmark");
    } else if (m_owner == Owner::Program) {
        text = tr("Another program");
    } else if (m_conversation == m_core.chat.current()) {
        text = tr("This conversation");
    } else if (title.isEmpty()) {
        text = m_conversation != 0 ? tr("A new conversation") : QString();
    } else {
        text = tr("“%1”").arg(title.size() > kTitle ? QString(title.left(kTitle - 1).trimmed() + u'…') : title);
    }
    const QString tip =
        tr("Experts, Cache and Dispatch show what the engine did last, from the beginning of the "
           "conversation, benchmark or request of another program on.");
    for (Panel* panel : std::as_const(m_panels)) {
        panel->setOwner(text, text.isEmpty() ? QString() : tip);
    }
}

}  // namespace offstage::ui
