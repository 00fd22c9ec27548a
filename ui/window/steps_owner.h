#pragma once

#include <QList>
#include <QObject>

#include "ui/history/history_values.h"

namespace offstage::ui {

class BenchmarkRunner;
class Panel;
struct Core;

// Whose steps the panels of experts, cache and dispatch show, which is what the engine
// did last: a conversation's, from when the engine went over to it, a benchmark's, or
// another program's. Says so in the panels. GUI thread only.
class StepsOwner : public QObject {
    Q_OBJECT

  public:
    StepsOwner(Core& core, const BenchmarkRunner& benchmark, const QList<Panel*>& panels, QObject* parent);

  private:
    enum class Owner { Conversation, Benchmark, Program };

    void begin(Owner owner, ConversationId conversation = 0);
    void refresh();

    Core& m_core;
    QList<Panel*> m_panels;
    Owner m_owner = Owner::Conversation;
    ConversationId m_conversation = 0;  // 0: none yet
    ConversationId m_next = 0;          // after another program's request; 0: none
};

}  // namespace offstage::ui
