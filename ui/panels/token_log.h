#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <QHash>
#include <QList>
#include <QObject>
#include <QTimer>

#include "engine/formats.h"
#include "engine/telemetry/layer_event.h"
#include "ui/base/message.h"
#include "ui/engine/engine_values.h"

namespace offstage::engine {
struct ModelSummary;
}

namespace offstage::ui {

class EngineController;

// A piece of a message's source text, in QString's characters.
struct TextRange {
    int begin = 0;
    int end = 0;
    bool operator==(const TextRange&) const = default;
};

// A step of the engine, numbered from the start of the program: the engine's own numbers
// restart with each model.
using StepId = quint64;

struct LoggedToken {
    MessageId message = 0;
    int index = 0;   // among the message's tokens
    TextRange text;  // in Message::text. Tokens that share a character share its range; empty until it is whole
    StepId step = 0;
};

// The layers of one step.
struct LoggedStep {
    StepId id = 0;
    std::vector<engine::LayerEvent> layers;  // ascending; LayerEvent::first_assignment: place in `assignments`
    std::vector<engine::AssignmentEvent> assignments;

    QList<int> layerNumbers;  // the model's own, by LayerEvent::layer; empty: the same
    std::span<const engine::FormatRow> formats = engine::format_rows();  // the model's, by AssignmentEvent::format

    int layerNumber(int layer) const { return layerNumbers.value(layer, layer); }
    int drafted() const { return layers.empty() ? 0 : layers.front().n_drafted; }  // of tokens(), the last
    int tokens() const { return layers.empty() ? 0 : layers.front().n_tokens; }
    bool isPrompt() const { return !layers.empty() && layers.front().is_prefill != 0; }
    std::vector<engine::AssignmentEvent> assignmentsOf(const engine::LayerEvent& layer) const;
};

struct ExpertId {
    int layer = 0;
    int expert = 0;
    bool operator==(const ExpertId&) const = default;
};

// Which step wrote which token of which answer, and the layers' events of that step: kept
// while the program runs, the latest within a limit of memory. Reads the engine 4 times a
// second while an answer is being written, and once when it is done. GUI thread only.
//
// A step that computed several tokens at once (a prompt's) does not record which of them
// called which expert: it belongs to no token's experts.
class TokenLog : public QObject {
    Q_OBJECT

  public:
    static constexpr std::size_t kLimitBytes = std::size_t{128} << 20;
    static constexpr int kIntervalMs = 250;

    explicit TokenLog(EngineController& engine, std::size_t limitBytes = kLimitBytes, QObject* parent = nullptr);

    // A piece of an answer, which begins at textOffset in the message's text. The pieces
    // of a message come in order.
    void addTokens(MessageId message, int textOffset, const StreamedText& piece);
    // Takes the engine's new events since the last time.
    void poll();
    // The work of poll() with them; `first` and steps in the engine's numbering.
    void addEvents(const engine::LayerEvents& events);
    // A model of this shape was loaded: the engine's numbers begin again.
    void beginModel(int layers, int experts, const QList<int>& layerNumbers = {},
                    std::span<const engine::FormatRow> formats = engine::format_rows());

    // Steps from now on are another conversation's, a benchmark's, another program's: the
    // panels show these alone.
    void beginShown();
    StepId firstShown() const { return std::max(m_base, m_shown); }

    int tokenCount(MessageId message) const;
    std::optional<LoggedToken> token(MessageId message, int index) const;
    // The token that wrote the character at this place of the message's text.
    std::optional<LoggedToken> tokenAt(MessageId message, int offset) const;
    // The first token that this step wrote.
    std::optional<LoggedToken> tokenOfStep(StepId id) const;
    int tokenCountOfStep(StepId id) const;  // so far
    // The latest token of all answers.
    std::optional<LoggedToken> lastToken() const;

    // Oldest first.
    const std::deque<LoggedStep>& steps() const { return m_steps; }
    // Null: not taken yet, or no longer kept.
    const LoggedStep* step(StepId id) const;
    bool isOfPresentModel(StepId id) const { return id >= m_base; }
    StepId firstOfPresentModel() const { return m_base; }

    // Experts that this token alone called, by layer; nothing if that is not known.
    std::vector<ExpertId> expertsOf(const LoggedToken& token) const;
    // The places of the tokens that called this expert of the present model, touching
    // ranges joined.
    QHash<MessageId, QList<TextRange>> textOf(ExpertId expert) const;

    std::size_t memoryBytes() const { return m_bytes; }
    std::size_t limitBytes() const { return m_limitBytes; }
    quint64 droppedSteps() const { return m_droppedSteps; }  // because of the limit of memory
    quint64 lostEvents() const { return m_lostEvents; }      // overwritten before they were looked at

  Q_SIGNALS:
    void tokensAdded(quint64 message);
    void stepsAdded();
    void modelBegun();
    void shownBegun();

  private:
    void begin(const engine::ModelSummary& model);
    void onStateChanged();
    LoggedStep& stepFor(const engine::LayerEvent& event, StepId id);
    void addToIndex(const LoggedStep& step, const engine::LayerEvent& event);
    void removeFromIndex(StepId id);
    static std::size_t bytesOf(const LoggedStep& step);
    void trim();
    std::vector<quint32>* usesOf(ExpertId expert);
    const std::vector<quint32>* usesOf(ExpertId expert) const;

    EngineController& m_engine;
    std::size_t m_limitBytes;
    QTimer m_timer;

    std::deque<LoggedStep> m_steps;
    StepId m_base = 0;    // of the present model's step 0
    StepId m_shown = 0;   // the first since beginShown()
    StepId m_nextId = 0;  // one past the last step that was seen
    quint64 m_next = 0;   // running number of the next event to read
    std::size_t m_bytes = 0;
    quint64 m_droppedSteps = 0;
    quint64 m_lostEvents = 0;

    // For each (layer, expert) of the present model the single-token steps that called
    // it, ascending, from m_base on.
    int m_layers = 0;
    int m_experts = 0;
    QList<int> m_layerNumbers;
    std::span<const engine::FormatRow> m_formats = engine::format_rows();
    std::vector<std::vector<quint32>> m_uses;

    QHash<MessageId, std::vector<LoggedToken>> m_tokens;  // ascending in step and in text
    MessageId m_lastMessage = 0;
};

}  // namespace offstage::ui
