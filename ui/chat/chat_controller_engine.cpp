// ChatController's work with the engine: the queue, and the results.
#include <algorithm>
#include <utility>

#include "ui/chat/chat_controller.h"
#include "ui/chat/token_choices.h"
#include "ui/engine/format.h"

namespace offstage::ui {

// ---------------------------------------------------------------- the queue

qsizetype ChatController::queuedFor(ConversationId conversation) const {
    for (qsizetype i = 0; i < m_queue.size(); ++i) {
        if (m_queue[i].conversation == conversation) {
            return i;
        }
    }
    return -1;
}

QList<ChatController::Queued> ChatController::queue() const {
    QList<Queued> out;
    if (m_running) {
        out.append({m_running->conversation, m_running->answer, true});
    }
    for (const Job& job : m_queue) {
        out.append({job.conversation, job.answer, false});
    }
    return out;
}

void ChatController::enqueue(const Job& job) {
    m_queue.append(job);
    startNext();
    renumberQueue();
    Q_EMIT waitingChanged();
}

// Gives every waiting answer its place in the queue.
void ChatController::renumberQueue() {
    using State = EngineController::State;
    const State state = m_engine.state();
    const bool loading = state == State::Loading;
    const bool elsewhere = m_held || (!m_running && (state == State::Generating || state == State::Stopping));
    qsizetype place = m_running ? 2 : 1;
    for (const Job& job : std::as_const(m_queue)) {
        const QString note = place > 1   ? tr("Number %1 in the queue").arg(place)
                             : loading   ? tr("Waiting for the model to load…")
                             : elsewhere ? tr("Waiting for the benchmark to end…")
                                         : tr("Reading the prompt…");
        ++place;
        const ConversationTree* all = m_history.open(job.conversation);
        const Message* answer = all ? all->find(job.answer) : nullptr;
        if (answer && answer->note != note) {
            m_history.edit(job.conversation, job.answer, [&note](Message& m) { m.note = note; });
            showMessage(job.conversation, job.answer);
        }
    }
    Q_EMIT queueChanged();
}

void ChatController::setHeld(bool held) {
    m_held = held;
    renumberQueue();
    startNextSoon();
}

void ChatController::startNextSoon() {
    // Later: other listeners to the engine get the end of this answer before the next one
    // begins.
    QMetaObject::invokeMethod(this, &ChatController::startNext, Qt::QueuedConnection);
}

void ChatController::startNext() {
    if (m_running || m_held || m_queue.isEmpty() || m_engine.state() != EngineController::State::Ready) {
        return;
    }
    const Job job = m_queue.takeFirst();
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* answer = all ? all->find(job.answer) : nullptr;
    if (!answer) {
        startNextSoon();
        return;
    }
    if (m_engineConversation != job.conversation) {
        if (m_engineConversation != 0) {
            m_engine.beginConversation();
        }
        m_engineConversation = job.conversation;
    }
    const Sampling sampling = m_history.info(job.conversation).sampling;
    engine::GenerationRequest request;
    request.continue_last = job.ask == Ask::Continue;
    const bool begun = job.ask == Ask::Continue || job.ask == Ask::Branch;
    m_begun = begun ? answer->text : QString();
    m_begunThought = begun ? answer->thought : Thought();
    m_thinking.invalidate();
    m_sinceThoughtStored.invalidate();
    request.messages = messagesFor(job.conversation, request.continue_last ? job.answer : answer->parent);
    request.reply_begin = job.begin;
    request.n_alternatives = m_wantsChoices ? TokenChoices::kAlternatives : -1;
    request.sampler = sampling.sampler;
    request.max_tokens = sampling.maxTokens;
    // Without a choice of the user: the settings recommended by the model's publisher.
    const engine::ModelDefaults& advised = m_engine.model()->defaults;
    if (sampling.sampler == defaultSampling().sampler) {
        advised.apply(request.sampler);
    }
    if (request.max_tokens == 0) {
        request.max_tokens = advised.max_tokens();
    }
    request.beam.width = job.ask == Ask::Branch ? 1 : sampling.beamWidth;
    const std::vector<std::string>& choices = m_engine.model()->thinking_choices;
    if (std::find(choices.begin(), choices.end(), sampling.thinking.toStdString()) != choices.end()) {
        request.thinking = sampling.thinking.toStdString();  // of another model: this one uses its template's default
    }
    m_history.edit(job.conversation, job.answer, [this](Message& m) {
        m.author = QString::fromStdString(m_engine.model()->name);
        m.note = tr("Reading the prompt…");
    });
    showMessage(job.conversation, job.answer);
    m_running = job;
    m_request = m_engine.generate(request);
    renumberQueue();
    Q_EMIT waitingChanged();
}

void ChatController::stop() {
    if (const qsizetype queued = queuedFor(m_current); queued >= 0) {
        takeBack(queued);
    } else {
        m_engine.stop();
    }
}

void ChatController::withdraw(MessageId answer) {
    for (qsizetype i = 0; i < m_queue.size(); ++i) {
        if (m_queue[i].answer == answer) {
            takeBack(i);
            return;
        }
    }
}

void ChatController::takeBack(qsizetype queued) {
    const Job job = m_queue.takeAt(queued);
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* answer = all ? all->find(job.answer) : nullptr;
    if (answer && job.ask == Ask::Continue) {
        m_history.edit(job.conversation, job.answer, [](Message& m) {
            m.state = Message::State::Stopped;
            m.note = ChatController::tr("Stopped");
        });
    } else if (answer) {
        const Message* prompt = all->find(answer->parent);
        const QString text = prompt ? prompt->text : QString();
        const QList<Attachment> attachments = prompt ? prompt->attachments : QList<Attachment>();
        m_history.removeMessage(job.conversation, job.ask == Ask::Prompt && prompt ? prompt->id : job.answer);
        if (job.ask == Ask::Prompt) {
            returnAttachments(job.conversation, attachments);
            if (job.conversation == m_current) {
                Q_EMIT promptReturned(text);
            } else {
                const QString draft = m_history.info(job.conversation).draft;
                m_history.setDraft(job.conversation, draft.isEmpty() ? text : text + u'\n' + draft);
            }
        }
    }
    if (job.conversation == m_current) {
        refreshModel();
    }
    renumberQueue();
    Q_EMIT waitingChanged();
}

void ChatController::onLoadFailed() {
    while (!m_queue.isEmpty()) {
        takeBack(m_queue.size() - 1);
    }
}

// ---------------------------------------------------------------- what comes back

void ChatController::onPromptRead(RequestId id, qint64 read, qint64 tokens) {
    if (id != m_request || !m_running) {
        return;
    }
    const Job job = *m_running;
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* answer = all ? all->find(job.answer) : nullptr;
    const QString note = readingText(read, tokens);
    if (answer && answer->state == Message::State::Waiting && answer->note != note) {
        m_history.edit(job.conversation, job.answer, [&note](Message& m) { m.note = note; });
        showMessage(job.conversation, job.answer);
    }
}

void ChatController::onStreamed(RequestId id, const StreamedText& piece) {
    if (id != m_request || !m_running) {
        return;
    }
    const Job job = *m_running;
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* answer = all ? all->find(job.answer) : nullptr;
    if (answer && answer->state == Message::State::Waiting) {
        m_history.edit(job.conversation, job.answer, [](Message& m) {
            m.state = Message::State::Streaming;
            m.note.clear();
        });
        showMessage(job.conversation, job.answer);
    }
    if (!piece.thought.isEmpty()) {
        addThought(job, piece);
    }
    if (!piece.text.isEmpty()) {
        endThought(job);
    }
    const int before = answer ? static_cast<int>(answer->text.size()) : 0;
    m_history.appendText(job.conversation, job.answer, piece.text);
    Q_EMIT answerExtended(job.answer, before, piece);
    if (job.conversation == m_current) {
        m_conversation.appendText(job.answer, piece.text);
    }
}

// Stored once a second, whole: until the answer begins the message has no other text.
void ChatController::addThought(const Job& job, const StreamedText& piece) {
    constexpr qint64 kStoreMs = 1000;
    if (!m_thinking.isValid()) {
        m_thinking.start();
        m_sinceThoughtStored.start();
    }
    const double seconds = m_begunThought.seconds + static_cast<double>(m_thinking.elapsed()) / 1000;
    m_history.appendThought(job.conversation, job.answer, piece.thought, m_begunThought.tokens + piece.thoughtTokens,
                            seconds);
    if (m_sinceThoughtStored.elapsed() >= kStoreMs) {
        m_history.edit(job.conversation, job.answer, [](Message&) {});
        m_sinceThoughtStored.start();
    }
    const ConversationTree* all = job.conversation == m_current ? m_history.open(job.conversation) : nullptr;
    if (const Message* now = all ? all->find(job.answer) : nullptr) {
        m_conversation.setThought(job.answer, now->thought);
    }
}

// The answer begins.
void ChatController::endThought(const Job& job) {
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* answer = all ? all->find(job.answer) : nullptr;
    if (!answer || !answer->thought.isOpen) {
        return;
    }
    m_history.edit(job.conversation, job.answer, [this](Message& m) {
        m.thought.isOpen = false;
        if (m_thinking.isValid()) {
            m.thought.seconds = m_begunThought.seconds + static_cast<double>(m_thinking.elapsed()) / 1000;
        }
    });
    if (job.conversation == m_current) {
        m_conversation.setThought(job.answer, answer->thought);
    }
}

// The job of this request, which no longer runs; none for an outdated one.
std::optional<ChatController::Job> ChatController::finish(RequestId id) {
    if (id != m_request || !m_running) {
        return std::nullopt;
    }
    m_request = 0;
    startNextSoon();
    return std::exchange(m_running, std::nullopt);
}

QString ChatController::noteFor(const Job& job, const engine::GenerationResult& result) const {
    switch (result.finish) {
        case engine::FinishReason::kEndOfTurn:
            return result.thought_is_open ? tr("The model ended its turn within the thought, without an answer")
                                          : QString();
        case engine::FinishReason::kStopped:
            return tr("Stopped");
        case engine::FinishReason::kMaxTokens:
            return tr("Ended at the limit of %1 tokens (Sampling panel)")
                .arg(m_history.info(job.conversation).sampling.maxTokens);
        case engine::FinishReason::kContextFull:
            return tr("The context is full: begin a new conversation, or ask for something shorter");
    }
    return {};
}

void ChatController::onAnswered(RequestId id, const engine::GenerationResult& result) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    const QString text = m_begun + QString::fromStdString(result.text);
    m_history.edit(job->conversation, job->answer, [&](Message& m) {
        if (m.text != text) {
            m.text = text;  // the engine's word is the last one
        }
        m.thought.text = m_begunThought.text + QString::fromStdString(result.thought);
        m.thought.isOpen = result.thought_is_open;
        m.thought.tokens = m_begunThought.tokens + result.thought_tokens;
        // An answer that reached the limit can be continued, like a stopped one.
        const bool cutShort =
            result.finish == engine::FinishReason::kStopped || result.finish == engine::FinishReason::kMaxTokens;
        m.state = cutShort ? Message::State::Stopped : Message::State::Done;
        m.note = noteFor(*job, result);
        const qint64 before =
            job->ask == Ask::Continue && m.figures ? m.figures->tokensOut : static_cast<qint64>(job->begin.size());
        m.figures = AnswerFigures{result.ttft_s,
                                  result.decode_tokens_per_s,
                                  result.prompt_tokens,
                                  result.reused_tokens,
                                  before + static_cast<qint64>(result.tokens.size()),
                                  m_engine.model() && m_engine.model()->emulated,
                                  m_engine.answerTheta().theta,
                                  m_engine.answerTheta().loss,
                                  m_engine.answerTheta().accepts_guesses()};
    });
    showMessage(job->conversation, job->answer);
    Q_EMIT waitingChanged();
}

void ChatController::onAnswerFailed(RequestId id, const EngineFailure& failure) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    Problem problem;
    problem.sentence = failure.sentence;
    problem.detail = failure.detail;
    const ConversationTree* all = m_history.open(job->conversation);
    const Message* written = all ? all->find(job->answer) : nullptr;
    const bool invalid = failure.kind == engine::ErrorKind::kInvalidInput;
    if (written && written->text.trimmed().isEmpty() && written->thought.text.isEmpty()) {
        // Without an answer the prompt stays visible, leaves the history, and is given
        // back to the user - unless it has other answers.
        const MessageId prompt = written->parent;
        m_history.removeMessage(job->conversation, job->answer);
        problem.title = invalid ? tr("This prompt cannot be answered") : tr("The answer could not be written");
        if (const Message* asked = all->find(prompt); asked && all->children(prompt).isEmpty()) {
            m_history.edit(job->conversation, prompt, [](Message& m) {
                m.state = Message::State::Failed;
                m.note = ChatController::tr("Not answered");
            });
            problem.actions = {ProblemAction::EditPrompt};
            if (job->conversation == m_current) {
                if (draft().trimmed().isEmpty() && draftAttachments().isEmpty()) {
                    returnAttachments(m_current, asked->attachments);
                }
                Q_EMIT promptOffered(asked->text);
            }
        }
        if (job->conversation == m_current) {
            refreshModel();
        }
    } else if (written) {
        m_history.edit(job->conversation, job->answer, [](Message& m) {
            m.state = Message::State::Failed;
            m.note = ChatController::tr("Not complete");
        });
        showMessage(job->conversation, job->answer);
        problem.title = tr("The answer ended early");
    }
    if (!invalid) {
        problem.actions.append(ProblemAction::TryAgain);
        problem.actions.append(ProblemAction::OpenModel);
    }
    addProblem(job->conversation, problem);
    Q_EMIT waitingChanged();
}

void ChatController::onInterrupted(RequestId id) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    m_history.edit(job->conversation, job->answer, [](Message& m) {
        m.state = Message::State::Stopped;
        m.note = ChatController::tr("Stopped");
    });
    showMessage(job->conversation, job->answer);
    Q_EMIT waitingChanged();
}

}  // namespace offstage::ui
