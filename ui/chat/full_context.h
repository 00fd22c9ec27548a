#pragma once

#include <optional>
#include <vector>

#include <QObject>
#include <QTimer>

#include "ui/engine/engine_controller.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

// The prompt from which on a path takes no more than half of `context` tokens: at least
// the last turn, and fewer than all turns that the model sees now. 0: there is no such
// prompt. The tokens are judged by the characters and tokens of the latest counted
// answer.
MessageId cutOfPath(const QList<Message>& path, qint64 context);

// Whether the path's last prompt alone takes the whole context, where what the model sees
// of the path was refused with so many tokens, judged by the characters.
bool isPromptTooLong(const QList<Message>& path, qint64 tokens, qint64 context);

// The tokens that a refusal names, also within its sentence: "at least 5000". 0: none.
qint64 tokensOf(const engine::MessageArgument& argument);

// The conversation as one text, at most about half of `context` tokens of it: the newest.
QString transcriptOf(const std::vector<engine::ChatMessage>& messages, qint64 context);

// Offers what can be done where a conversation fills the model's context, and makes the
// context larger. GUI thread only.
class FullContext : public QObject {
    Q_OBJECT

  public:
    FullContext(EngineController& engine, QObject* parent);

    // Adds actions to the problem: a context with room for `tokens` and more, with what
    // it costs in speed by the engine's preview, and, if turns can be left out, to go on
    // without them. offered() follows, at the latest after kPreviewMs.
    void offer(ConversationId conversation, const Problem& problem, qint64 tokens, bool canCut);
    // ended() follows. False: not possible now.
    bool enlarge(qint64 context);

    static constexpr int kPreviewMs = 5000;

  Q_SIGNALS:
    void offered(quint64 conversation, const offstage::ui::Problem& problem);
    void ended();  // the larger context is in force, or cannot be had

  private:
    struct Offer {
        ConversationId conversation = 0;
        Problem problem;
        bool canCut = false;
    };
    void finishOffer(const engine::ReplanPreview* preview, const QString& obstacle);

    EngineController& m_engine;
    std::optional<Offer> m_offer;
    RequestId m_previewId = 0;
    QTimer m_patience;       // for the preview
    quint64 m_replanId = 0;  // of the larger context; 0: none
};

}  // namespace offstage::ui
