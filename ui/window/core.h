#pragma once

#include <memory>

#include "ui/chat/chat_controller.h"
#include "ui/chat/token_choices.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/machines.h"
#include "ui/history/history.h"
#include "ui/panels/event_log.h"
#include "ui/panels/selection.h"
#include "ui/panels/token_log.h"
#include "ui/settings/personas.h"

namespace offstage::ui {

// What the window's parts share: the engine, the conversations, and what is selected in
// them. No widgets. GUI thread only.
struct Core {
    Core(SessionFactory factory, std::shared_ptr<engine::MachineNetwork> network)
        : engine(std::move(factory)), machines(std::move(network), engine) {
        log.follow(engine);
        QObject::connect(&chat, &ChatController::errorTold, &log, &EventLog::appendError);
    }

    EngineController engine;
    Machines machines;
    ConversationModel conversation;
    History history;
    ChatController chat{engine, conversation, history};
    TokenLog tokens{engine};
    Selection selection{tokens};
    TokenChoices choices;
    Personas personas;
    EventLog log;
};

}  // namespace offstage::ui
