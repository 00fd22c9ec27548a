#pragma once
// Values exchanged between the engine's thread and the window: plain, registered with
// Qt's meta-type system.

#include <functional>
#include <memory>

#include <QList>
#include <QMetaType>
#include <QString>

#include "engine/error.h"
#include "engine/run/session.h"

namespace offstage::ui {

using RequestId = quint64;
using SessionFactory = std::function<std::unique_ptr<engine::Session>()>;

// An engine::Error (or any other exception at the engine's boundary) as a value.
struct EngineFailure {
    engine::ErrorKind kind = engine::ErrorKind::kInternal;
    QString sentence;         // for the user, in the window's language; EngineController fills it from the message
    QString detail;           // for the log, and for "Details"
    engine::Message message;  // empty: the sentence came from elsewhere
};

// A token of a streamed answer.
struct TokenMark {
    int end = 0;       // of its text, in StreamedText::text; equal to the one before if a character is incomplete
    quint64 step = 0;  // the engine's step that wrote it: engine::LayerEvent::step
};

// The same with the alternatives; also for tokens outside the text.
struct StreamedChoice {
    int end = 0;  // as TokenMark::end
    bool isThinking = false;
    engine::TokenChoice choice;
    bool isDrafted = false;  // the step of the token before it wrote it
};

// The output since the last one: several deltas of the engine, joined.
struct StreamedText {
    QString text;
    QString thought;                      // the model's thinking before its answer; no part of `text`
    bool textWasThought = false;          // it is the text so far, which was no answer
    qint64 thoughtTokens = 0;             // so far
    QList<TokenMark> marks;               // of `text`
    std::vector<StreamedChoice> choices;  // for all tokens, if requested
    qint64 tokens = 0;                    // generated so far
    double tokensPerSecond = 0;           // decode, so far
};

// Once, before the first queued signal.
void registerEngineValues();

}  // namespace offstage::ui

Q_DECLARE_METATYPE(offstage::ui::EngineFailure)
Q_DECLARE_METATYPE(offstage::ui::StreamedText)
Q_DECLARE_METATYPE(offstage::engine::LoadProgress)
Q_DECLARE_METATYPE(offstage::engine::ModelSummary)
Q_DECLARE_METATYPE(offstage::engine::GenerationResult)
Q_DECLARE_METATYPE(offstage::engine::ReplanPreview)
