#pragma once

#include <QHash>
#include <QObject>

#include "ui/history/history_values.h"

namespace offstage::ui {

class BenchmarkRunner;
class ChatPage;
class ModelOpener;
class PersonaBar;
class SetupBar;
struct ConversationSetup;
struct Core;

// Keeps the model, device and budgets that answer each conversation, and offers those of
// the shown one where they are not the present ones. GUI thread only.
class SetupWatch : public QObject {
    Q_OBJECT

  public:
    SetupWatch(Core& core, ModelOpener& opener, ChatPage& page, PersonaBar& persona, const BenchmarkRunner& benchmark,
               QObject* parent);

  private:
    bool personaWantsAnotherModel() const;
    ConversationSetup now() const;
    void keep();
    void refresh();
    void askAnew();
    void open();

    Core& m_core;
    ModelOpener& m_opener;
    ChatPage& m_page;
    PersonaBar& m_persona;
    const BenchmarkRunner& m_benchmark;
    SetupBar* m_bar;
    ConversationId m_goesOnAnyway = 0;           // the user has dismissed the bar
    QHash<quint64, ConversationId> m_replanned;  // by re-plan: where it was chosen; 0: its setup stays
};

}  // namespace offstage::ui
