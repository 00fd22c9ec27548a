#include "ui/engine/engine_worker.h"

#include <new>
#include <utility>

#include <QElapsedTimer>

#include "engine/model/model_messages.h"
#include "engine/serve/answer_queue.h"

namespace offstage::ui {

namespace {

// At most 60 signals a second for text: the window paints 30 times at most.
constexpr qint64 kStreamIntervalMs = 16;

EngineFailure currentFailure() {
    try {
        throw;
    } catch (const engine::Error& error) {
        return {error.kind(), {}, QString::fromStdString(error.detail()), error.message()};
    } catch (const std::bad_alloc&) {
        return {engine::ErrorKind::kOutOfMemory, EngineWorker::tr("There is not enough free memory for this."), {}, {}};
    } catch (const std::exception& error) {
        return {engine::ErrorKind::kInternal,
                EngineWorker::tr("Something unexpected happened inside the engine."),
                QString::fromUtf8(error.what()),
                {}};
    } catch (...) {
        return {
            engine::ErrorKind::kInternal, EngineWorker::tr("Something unexpected happened inside the engine."), {}, {}};
    }
}

}  // namespace

void registerEngineValues() {
    qRegisterMetaType<EngineFailure>();
    qRegisterMetaType<StreamedText>();
    qRegisterMetaType<engine::LoadProgress>();
    qRegisterMetaType<engine::ModelSummary>();
    qRegisterMetaType<engine::GenerationResult>();
    qRegisterMetaType<engine::ReplanPreview>();
}

EngineWorker::EngineWorker(SessionFactory factory) : m_factory(std::move(factory)) {}

EngineWorker::~EngineWorker() {
    m_published.store(nullptr, std::memory_order_release);
}

engine::Session& EngineWorker::ensureSession() {
    if (!m_session) {
        m_session = m_factory();
        m_published.store(m_session.get(), std::memory_order_release);
    }
    return *m_session;
}

void EngineWorker::load(RequestId id, const engine::LoadRequest& request, const std::stop_token& stop) {
    try {
        if (stop.stop_requested()) {
            throw engine::Error(engine::ErrorKind::kCancelled, engine::messages::loading_cancelled);
        }
        const auto progress = [this, id](const engine::LoadProgress& p) { Q_EMIT loadProgressed(id, p); };
        const engine::ModelSummary model = ensureSession().load(request, progress, stop);
        Q_EMIT loaded(id, model);
    } catch (...) {
        Q_EMIT loadFailed(id, currentFailure());
    }
}

void EngineWorker::generate(RequestId id, const engine::GenerationRequest& request, const std::stop_token& stop) {
    try {
        if (stop.stop_requested()) {
            engine::GenerationResult nothing;
            nothing.finish = engine::FinishReason::kStopped;
            Q_EMIT answered(id, nothing);
            return;
        }
        // Throttled, never debounced: the first piece is sent at once, a steady stream
        // every kStreamIntervalMs.
        std::string waiting;
        std::string thought;
        int length = 0;  // of `waiting`, in QString's characters
        qint64 textTokens = 0;
        StreamedText piece;
        std::optional<std::uint64_t> lastStep;
        QElapsedTimer sinceLast;
        const auto flush = [&] {
            piece.text = QString::fromStdString(waiting);
            piece.thought = QString::fromStdString(thought);
            waiting.clear();
            thought.clear();
            sinceLast.start();
            Q_EMIT streamed(id, piece);
            piece.marks.clear();
            piece.choices.clear();
            piece.textWasThought = false;
            length = 0;
        };
        const auto onDelta = [&](const engine::TextDelta& delta) {
            if (delta.text_was_thought) {
                waiting.clear();
                piece.marks.clear();
                for (StreamedChoice& choice : piece.choices) {
                    choice.isThinking = true;
                }
                piece.thoughtTokens += std::exchange(textTokens, 0);
                piece.textWasThought = true;
                length = 0;
            }
            if (delta.is_thinking) {
                thought += delta.text;
                piece.thoughtTokens += delta.token >= 0 ? 1 : 0;
            } else {
                waiting += delta.text;
                length += static_cast<int>(QString::fromStdString(delta.text).size());
                if (delta.token >= 0) {
                    ++textTokens;
                    piece.marks.append({length, delta.step});
                }
            }
            if (delta.choice) {
                const bool isDrafted = lastStep == delta.step;
                piece.choices.push_back({length, delta.is_thinking, *delta.choice, isDrafted});
                lastStep = delta.step;
            }
            piece.tokens = delta.n_tokens;
            piece.tokensPerSecond = delta.decode_tokens_per_s;
            if (!sinceLast.isValid() || sinceLast.elapsed() >= kStreamIntervalMs) {
                flush();
            }
        };
        try {
            const engine::GenerationResult result = ensureSession().generate(request, onDelta, stop);
            if (!waiting.empty() || !thought.empty()) {
                flush();
            }
            Q_EMIT answered(id, result);
        } catch (...) {
            // Text written before the failure is kept for the user.
            if (!waiting.empty() || !thought.empty()) {
                flush();
            }
            throw;
        }
    } catch (...) {
        Q_EMIT answerFailed(id, currentFailure());
    }
}

void EngineWorker::advance(const std::stop_token& stop) {
    if (!m_session || !m_session->is_loaded()) {
        return;
    }
    try {
        m_session->advance(stop);
    } catch (...) {
        // The report of a failed re-plan contains the error.
    }
}

void EngineWorker::join(const engine::JoinMachinesFn& machines, const std::stop_token& stop) {
    if (!m_session || !m_session->is_loaded() || stop.stop_requested()) {
        return;
    }
    try {
        if (machines) {
            Q_EMIT joining();
        }
        m_session->join(machines, stop);
    } catch (const engine::Error& error) {
        if (error.kind() != engine::ErrorKind::kCancelled) {
            Q_EMIT joinFailed(currentFailure());
        }
    } catch (...) {
        Q_EMIT joinFailed(currentFailure());
    }
}

void EngineWorker::serve(engine::AnswerQueue& queue, const std::stop_token& stop) {
    if (m_session && m_session->is_loaded()) {
        // One after the other or all at a time, and then what else waits for this thread.
        queue.run_next(*m_session, stop, queue.most_together());
    }
    Q_EMIT served();
}

void EngineWorker::countTokens(RequestId id, const std::vector<engine::ChatMessage>& messages) {
    qint64 tokens = -1;
    try {
        tokens = m_session && m_session->is_loaded() ? m_session->count_tokens(messages) : -1;
    } catch (...) {
        // A model without a tokenizer or a template: nothing to count with.
    }
    Q_EMIT tokensCounted(id, tokens);
}

void EngineWorker::resetConversation() {
    leaveConversation(&engine::Session::reset_conversation);
}

void EngineWorker::beginConversation() {
    leaveConversation(&engine::Session::begin_conversation);
}

void EngineWorker::leaveConversation(void (engine::Session::*leave)()) {
    if (!m_session) {
        return;
    }
    try {
        (m_session.get()->*leave)();
    } catch (...) {
        // reset has no result that could fail; the next request reports any problem.
    }
}

}  // namespace offstage::ui
