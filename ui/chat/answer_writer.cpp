#include "ui/chat/answer_writer.h"

#include <algorithm>
#include <utility>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLocale>

#include "engine/run/run_messages.h"
#include "ui/base/prompt_text.h"
#include "ui/base/settings.h"
#include "ui/chat/full_context.h"
#include "ui/chat/token_choices.h"
#include "ui/engine/context_in_force.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_text.h"

namespace offstage::ui {

namespace {

// The model's input for a prompt: a summary of what it no longer sees comes first.
QString inputFor(const Message& prompt) {
    const QString text = promptForModel(prompt.text, prompt.attachments);
    return prompt.cut && !prompt.cut->isEmpty() ? AnswerWriter::tr("Summary of the conversation so far:") + u'\n' +
                                                      *prompt.cut + QStringLiteral("\n\n") + text
                                                : text;
}

QJsonObject keptOf(const char* text, const QJsonArray& with = {}) {
    return keptText(AnswerWriter::staticMetaObject.className(), text, with);
}

}  // namespace

AnswerWriter::AnswerWriter(EngineController& engine, History& history) : m_engine(engine), m_history(history) {
    connect(&m_engine, &EngineController::modelLoaded, this, &AnswerWriter::start);
    connect(&m_engine, &EngineController::loadFailed, this, [this] {
        while (!m_queue.isEmpty()) {
            takeBackAt(m_queue.size() - 1);
        }
    });
    connect(&m_engine, &EngineController::streamed, this, &AnswerWriter::onStreamed);
    connect(&m_engine, &EngineController::promptRead, this, &AnswerWriter::onPromptRead);
    connect(&m_engine, &EngineController::answered, this, &AnswerWriter::onAnswered);
    connect(&m_engine, &EngineController::tokensCounted, this, [this](RequestId id, qint64 tokens) {
        if (id == m_countId && tokens > 0) {
            m_promptTokens = tokens;
        }
    });
    connect(&m_engine, &EngineController::answerFailed, this, &AnswerWriter::onAnswerFailed);
    connect(&m_engine, &EngineController::answerInterrupted, this, &AnswerWriter::onInterrupted);
    connect(&m_engine, &EngineController::stateChanged, this, [this](EngineController::State state) {
        renumber();
        if (state == EngineController::State::Ready) {
            startSoon();  // the answer may have been for another part of the program
        }
    });
}

const Message* AnswerWriter::answerOf(const Job& job) const {
    const ConversationTree* all = m_history.open(job.conversation);
    return all ? all->find(job.answer) : nullptr;
}

void AnswerWriter::edit(const Job& job, const std::function<void(Message&)>& change) {
    m_history.edit(job.conversation, job.answer, change);
    Q_EMIT messageChanged(job.conversation, job.answer);
}

// ---------------------------------------------------------------- the queue

qsizetype AnswerWriter::find(ConversationId conversation) const {
    const auto found = std::ranges::find(m_queue, conversation, &Job::conversation);
    return found == m_queue.end() ? -1 : found - m_queue.begin();
}

void AnswerWriter::add(const Job& job) {
    m_queue.append(job);
    start();
    renumber();
    Q_EMIT changed();
}

// Gives every waiting answer its place in the queue.
void AnswerWriter::renumber() {
    using State = EngineController::State;
    const State state = m_engine.state();
    const bool loading = state == State::Loading;
    const bool elsewhere = m_held || (!m_running && (state == State::Generating || state == State::Stopping));
    qsizetype place = m_running ? 2 : 1;
    for (const Job& job : std::as_const(m_queue)) {
        const QString note = place > 1              ? tr("Number %1 in the queue").arg(place)
                             : loading              ? tr("Waiting for the model to load…")
                             : !m_heldFor.isEmpty() ? *m_heldFor.cbegin()
                             : elsewhere            ? tr("Waiting for the benchmark to end…")
                                                    : tr("Reading the prompt…");
        ++place;
        const Message* answer = answerOf(job);
        if (answer && answer->note != note) {
            edit(job, [&note](Message& m) { m.note = note; });
        }
    }
    Q_EMIT queueChanged();
}

void AnswerWriter::setHeld(bool held) {
    m_held = held;
    renumber();
    startSoon();
}

void AnswerWriter::setHeldFor(const QObject& by, const QString& note) {
    if (note.isEmpty()) {
        m_heldFor.remove(&by);
    } else {
        m_heldFor[&by] = note;
    }
    renumber();
    startSoon();
}

void AnswerWriter::startSoon() {
    // Later: other listeners to the engine get the end of this answer before the next one
    // begins.
    QMetaObject::invokeMethod(this, &AnswerWriter::start, Qt::QueuedConnection);
}

void AnswerWriter::start() {
    if (m_running || m_held || !m_heldFor.isEmpty() || m_queue.isEmpty() ||
        m_engine.state() != EngineController::State::Ready) {
        return;
    }
    const Job job = m_queue.takeFirst();
    const Message* answer = answerOf(job);
    if (!answer) {
        startSoon();
        return;
    }
    if (m_engineConversation != job.conversation) {
        enterEngine(job.conversation);
    }
    const Sampling sampling = m_history.info(job.conversation).sampling;
    if (job.summariseAbove != 0) {
        edit(job, [](Message& m) { m.note = tr("Summarising the oldest turns…"); });
        m_running = job;
        m_request = m_engine.generate(summaryRequest(job));
        renumber();
        Q_EMIT changed();
        return;
    }
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
    keepOnDisk(job.conversation, request);
    edit(job, [this](Message& m) {
        m.author = QString::fromStdString(m_engine.model()->name);
        m.note = tr("Reading the prompt…");
    });
    m_running = job;
    m_promptTokens.reset();
    // Before the answer: the engine's thread has it by the answer's end.
    m_countId = request.continue_last ? m_engine.countTokens(messagesFor(job.conversation, answerOf(job)->parent)) : 0;
    m_request = m_engine.generate(request);
    renumber();
    Q_EMIT changed();
}

// The engine keeps a conversation only where its file is: the file of one that is deleted
// does not come back.
void AnswerWriter::keepOnDisk(ConversationId conversation, engine::GenerationRequest& request) const {
    const int most = settings::kKeptOnDisk.value();
    const QString name = m_history.keptFile(conversation);
    const QString folder = QFileInfo(name).path();
    if (most <= 0 || name.isEmpty() || !QDir().mkpath(folder) ||
        !QFile::setPermissions(folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner)) {
        return;
    }
    QFile kept(name + QStringLiteral(".kv"));
    if (kept.open(QIODevice::Append) && kept.setPermissions(QFile::ReadOwner | QFile::WriteOwner)) {
        request.kept_in = QFile::encodeName(name).toStdString();
        request.kept_bytes = static_cast<std::uint64_t>(most) << 30;
    }
}

bool AnswerWriter::takeBack(ConversationId conversation) {
    const qsizetype place = find(conversation);
    if (place >= 0) {
        takeBackAt(place);
    }
    return place >= 0;
}

void AnswerWriter::withdraw(MessageId answer) {
    for (qsizetype i = 0; i < m_queue.size(); ++i) {
        if (m_queue[i].answer == answer) {
            takeBackAt(i);
            return;
        }
    }
}

void AnswerWriter::takeBackAt(qsizetype place) {
    const Job job = m_queue.takeAt(place);
    const Message* answer = answerOf(job);
    if (answer && job.ask == Ask::Continue) {
        m_history.edit(job.conversation, job.answer, &AnswerWriter::markStopped);
    } else if (answer) {
        const Message* prompt = m_history.open(job.conversation)->find(answer->parent);
        const QString text = prompt ? prompt->text : QString();
        const QList<Attachment> attachments = prompt ? prompt->attachments : QList<Attachment>();
        m_history.removeMessage(job.conversation, job.ask == Ask::Prompt && prompt ? prompt->id : job.answer);
        if (job.ask == Ask::Prompt) {
            Q_EMIT promptReturned(job.conversation, text, attachments);
        }
    }
    Q_EMIT pathChanged(job.conversation);
    renumber();
    Q_EMIT changed();
}

void AnswerWriter::abandon(ConversationId conversation) {
    if (m_running && m_running->conversation == conversation) {
        m_engine.stop();
    }
    if (const qsizetype place = find(conversation); place >= 0) {
        const Job job = m_queue.takeAt(place);
        m_history.edit(job.conversation, job.answer, &AnswerWriter::markStopped);
        renumber();
    }
}

void AnswerWriter::prepareFor(ConversationId conversation) {
    if (!m_running && !m_held && !m_engine.isServingOthers() && m_engine.state() == EngineController::State::Ready) {
        enterEngine(conversation);
    }
}

void AnswerWriter::enterEngine(ConversationId conversation) {
    if (m_engineConversation != 0) {
        m_engine.beginConversation();
    }
    m_engineConversation = conversation;
    Q_EMIT engineEntered(conversation);
}

void AnswerWriter::markStopped(Message& answer) {
    answer.state = Message::State::Stopped;
    answer.note = QString::fromLatin1(kStopped);
}

std::vector<engine::ChatMessage> AnswerWriter::messagesFor(ConversationId conversation, MessageId end) const {
    std::vector<engine::ChatMessage> out;
    const ConversationTree* all = m_history.open(conversation);
    QList<const Message*> path;
    for (const Message* m = all ? all->find(end) : nullptr; m; m = m->cut ? nullptr : all->find(m->parent)) {
        path.prepend(m);
    }
    const QString system = m_history.info(conversation).systemPrompt.trimmed();
    if (!system.isEmpty()) {
        out.push_back({engine::Role::kSystem, system.toStdString()});
    }
    const Message* prompt = nullptr;
    std::optional<QString> cut;  // of a prompt that is left out: the next one has it
    const auto input = [&](Message asked) {
        asked.cut = asked.cut ? asked.cut : std::exchange(cut, {});
        return inputFor(asked).toStdString();
    };
    // Templates require alternating roles: a prompt without an answer is left out
    // together with its empty answer.
    for (const Message* message : path) {
        if (message->kind == Message::Kind::Prompt) {
            cut = prompt != nullptr && prompt->cut ? prompt->cut : cut;
            prompt = message;
        }
        if (message->state == Message::State::Failed ? message == prompt : !message->helpPage.isEmpty()) {
            cut = prompt != nullptr && prompt->cut ? prompt->cut : cut;
            prompt = nullptr;  // it failed, or the manual answered it
        } else if (message->kind == Message::Kind::Answer && prompt &&
                   !(message->text.trimmed().isEmpty() && (message->id != end || message->thought.text.isEmpty()))) {
            // An answer that ends within its thought counts only if it is being
            // continued.
            out.push_back({engine::Role::kUser, input(*prompt)});
            out.push_back({engine::Role::kAssistant, message->text.toStdString(), message->thought.text.toStdString(),
                           message->thought.isOpen});
            prompt = nullptr;
        }
    }
    if (prompt) {
        out.push_back({engine::Role::kUser, input(*prompt)});
    }
    return out;
}

// ------------------------------------------------------- a summary of what no longer fits

engine::GenerationRequest AnswerWriter::summaryRequest(const Job& job) const {
    constexpr qint64 kSummaryShare = 8;  // of the context
    const ConversationTree* all = m_history.open(job.conversation);
    const Message* cut = all ? all->find(job.summariseAbove) : nullptr;
    const qint64 context = contextInForce(m_engine);
    const QString transcript = transcriptOf(messagesFor(job.conversation, cut ? cut->parent : 0), context);
    const QString wish =
        tr("Summarise this conversation in a few sentences, so that it can go on from them: names, "
           "facts, decisions and open questions.");
    engine::GenerationRequest request;
    request.messages = {{engine::Role::kUser, (transcript + QStringLiteral("\n\n") + wish).toStdString()}};
    request.max_tokens = static_cast<int>(std::max<qint64>(1, context / kSummaryShare));
    request.sampler = m_history.info(job.conversation).sampling.sampler;
    return request;
}

void AnswerWriter::takeSummary(Job job, const engine::GenerationResult& result) {
    if (result.finish == engine::FinishReason::kStopped) {
        edit(job, &AnswerWriter::markStopped);
        Q_EMIT changed();
        return;
    }
    const QString summary = QString::fromStdString(result.text).trimmed();
    m_history.edit(job.conversation, job.summariseAbove, [&](Message& m) { m.cut = summary; });
    Q_EMIT messageChanged(job.conversation, job.summariseAbove);
    job.summariseAbove = 0;
    m_queue.prepend(job);
    renumber();
    Q_EMIT changed();
}

// ---------------------------------------------------------------- what comes back

void AnswerWriter::onPromptRead(RequestId id, qint64 read, qint64 tokens) {
    if (id != m_request || !m_running || m_running->summariseAbove != 0) {
        return;
    }
    const Job job = *m_running;
    const Message* answer = answerOf(job);
    const QString note = readingText(read, tokens);
    if (answer && answer->state == Message::State::Waiting && answer->note != note) {
        edit(job, [&note](Message& m) { m.note = note; });
    }
}

void AnswerWriter::onStreamed(RequestId id, const StreamedText& piece) {
    if (id != m_request || !m_running || m_running->summariseAbove != 0) {
        return;
    }
    const Job job = *m_running;
    const Message* answer = answerOf(job);
    if (answer && answer->state == Message::State::Waiting) {
        edit(job, [](Message& m) {
            m.state = Message::State::Streaming;
            m.note.clear();
        });
    }
    if (piece.textWasThought) {
        edit(job, [this](Message& m) { m.text = m_begun; });
    }
    if (!piece.thought.isEmpty()) {
        addThought(job, piece);
    }
    if (!piece.text.isEmpty()) {
        endThought(job);
    }
    const int before = answer ? static_cast<int>(answer->text.size()) : 0;
    m_history.appendText(job.conversation, job.answer, piece.text);
    Q_EMIT textAppended(job.conversation, job.answer, before, piece);
}

// Stored once a second, whole: until the answer begins the message has no other text.
void AnswerWriter::addThought(const Job& job, const StreamedText& piece) {
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
    Q_EMIT thoughtChanged(job.conversation, job.answer);
}

// The answer begins.
void AnswerWriter::endThought(const Job& job) {
    const Message* answer = answerOf(job);
    if (!answer || !answer->thought.isOpen) {
        return;
    }
    m_history.edit(job.conversation, job.answer, [this](Message& m) {
        m.thought.isOpen = false;
        if (m_thinking.isValid()) {
            m.thought.seconds = m_begunThought.seconds + static_cast<double>(m_thinking.elapsed()) / 1000;
        }
    });
    Q_EMIT thoughtChanged(job.conversation, job.answer);
}

// The job of this request, which no longer runs; none for an outdated one.
std::optional<AnswerWriter::Job> AnswerWriter::finish(RequestId id) {
    if (id != m_request || !m_running) {
        return std::nullopt;
    }
    m_request = 0;
    startSoon();
    return std::exchange(m_running, std::nullopt);
}

QString AnswerWriter::noteFor(const Job& job, const engine::GenerationResult& result) const {
    switch (result.finish) {
        case engine::FinishReason::kEndOfTurn:
            return QString::fromLatin1(result.thought_is_open ? kEndedInThought : "");
        case engine::FinishReason::kStopped:
            return QString::fromLatin1(kStopped);
        case engine::FinishReason::kMaxTokens:
            return QString::fromLatin1(kEndedAtLimit).arg(m_history.info(job.conversation).sampling.maxTokens);
        case engine::FinishReason::kContextFull:
            return QString::fromLatin1(kContextWasFull);
    }
    return {};
}

void AnswerWriter::onAnswered(RequestId id, const engine::GenerationResult& result) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    if (job->summariseAbove != 0) {
        takeSummary(*job, result);
        return;
    }
    const bool contextIsFull = result.finish == engine::FinishReason::kContextFull;
    const QString text = m_begun + QString::fromStdString(result.text);
    edit(*job, [&](Message& m) {
        if (m.text != text) {
            m.text = text;  // the engine's word is the last one
        }
        m.thought.text = m_begunThought.text + QString::fromStdString(result.thought);
        m.thought.isOpen = result.thought_is_open;
        m.thought.tokens = m_begunThought.tokens + result.thought_tokens;
        // An answer that reached a limit can be continued, like a stopped one.
        const bool cutShort = result.finish == engine::FinishReason::kStopped ||
                              result.finish == engine::FinishReason::kMaxTokens || contextIsFull;
        m.state = cutShort ? Message::State::Stopped : Message::State::Done;
        m.note = noteFor(*job, result);
        if (result.prompt_tokens == 0) {
            return;  // stopped before it began
        }
        // Of the whole answer: the engine reads its beginning with the prompt.
        const qint64 read = result.prompt_tokens;
        const qint64 in = std::min(m_promptTokens.value_or(read - static_cast<qint64>(job->begin.size())), read);
        const bool hadBegun = job->ask == Ask::Continue && m.figures && m.figures->ttftSeconds > 0;
        m.figures = AnswerFigures{hadBegun ? m.figures->ttftSeconds : result.ttft_s,
                                  result.decode_tokens_per_s,
                                  in,
                                  std::min(in, qint64{result.reused_tokens}),
                                  read - in + static_cast<qint64>(result.tokens.size()),
                                  m_engine.model() && m_engine.model()->emulated,
                                  m_engine.answerTheta().theta,
                                  m_engine.answerTheta().loss,
                                  m_engine.answerTheta().accepts_guesses(),
                                  result.drafts.drafted,
                                  result.drafts.accepted,
                                  result.drafts.tokens_per_step(),
                                  result.drafts.more_experts()};
    });
    if (contextIsFull) {
        const qint64 tokens = contextInForce(m_engine);
        Problem problem;
        problem.title = tr("The context is full");
        problem.sentence = tr("The answer ended because the conversation fills the model's context: %1 tokens.")
                               .arg(QLocale().toString(tokens));
        Q_EMIT contextFilled(job->conversation, job->answer, problem, tokens);
    }
    Q_EMIT changed();
}

void AnswerWriter::onAnswerFailed(RequestId id, const EngineFailure& failure) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    const Message* written = answerOf(*job);
    const bool isEmpty = written && written->text.trimmed().isEmpty() && written->thought.text.isEmpty();
    const MessageId end = isEmpty ? written->parent : job->answer;
    const bool invalid = failure.kind == engine::ErrorKind::kInvalidInput;
    const bool isFull = failure.message.is(engine::messages::prompt_longer_than_context);
    const bool isTemplate = failure.message.is(engine::messages::model_without_template);
    const qint64 tokens = isFull ? tokensOf(failure.message.arguments().front()) : 0;
    Problem problem;
    const QJsonObject said = keptText(failure.message);
    const QJsonObject full = keptOf(QT_TR_NOOP("The conversation has %1 tokens with this prompt, and the context holds "
                                               "%2: the answer needs room too."),
                                    {said[QLatin1String("with")][0], contextInForce(m_engine)});
    const QJsonObject lacking =
        keptOf(QT_TR_NOOP("The model has no chat template, so messages cannot be written for "
                          "it. Choose that of its family, or a file."));
    setTexts(problem,
             keptOf(isFull                ? QT_TR_NOOP("The context is full")
                    : written && !isEmpty ? QT_TR_NOOP("The answer ended early")
                    : invalid             ? QT_TR_NOOP("This prompt cannot be answered")
                                          : QT_TR_NOOP("The answer could not be written")),
             isFull           ? QJsonValue(full)
             : isTemplate     ? QJsonValue(lacking)
             : said.isEmpty() ? QJsonValue(failure.sentence)
                              : QJsonValue(said));
    problem.detail = failure.detail;
    const bool tooLong = isFull && tellTooLong(job->conversation, end, tokens, problem);
    if (isEmpty) {
        // Without an answer the prompt stays visible, leaves the history, and is given
        // back to the user - unless it has other answers.
        m_history.removeMessage(job->conversation, job->answer);
        const ConversationTree* all = m_history.open(job->conversation);
        if (all->find(end) && all->children(end).isEmpty()) {
            m_history.edit(job->conversation, end, [&problem](Message& m) {
                m.state = Message::State::Failed;
                m.note = QString::fromLatin1(kNotAnswered);
                m.problem = problem;
            });
            if (isTemplate) {
                problem.actions.append(ProblemAction::ChooseTemplate);
            } else if (isFull && !tooLong) {
                problem.actions.append(ProblemAction::AskAnew);
            }
            problem.actions.append(ProblemAction::EditPrompt);
            Q_EMIT promptFailed(job->conversation, end);
        }
        Q_EMIT pathChanged(job->conversation);
    } else if (written) {
        edit(*job, [](Message& m) {
            m.state = Message::State::Failed;
            m.note = QString::fromLatin1(kNotComplete);
        });
    }
    if (!invalid) {
        problem.actions.append(ProblemAction::TryAgain);
        problem.actions.append(ProblemAction::OpenModel);
    }
    if (isFull) {
        Q_EMIT contextFilled(job->conversation, end, problem, tokens);
    } else {
        Q_EMIT failed(job->conversation, problem);
    }
    Q_EMIT changed();
}

// A prompt that is too long by itself would be so in a new conversation, too.
bool AnswerWriter::tellTooLong(ConversationId conversation, MessageId end, qint64 tokens, Problem& problem) const {
    const ConversationTree* all = m_history.open(conversation);
    const QList<Message> path = all ? all->pathTo(end) : QList<Message>();
    const qint64 context = contextInForce(m_engine);
    if (!isPromptTooLong(path, tokens, context)) {
        return false;
    }
    QJsonArray sentences = {
        keptOf(QT_TR_NOOP("The prompt alone fills the context of %1 tokens, and the answer needs room too."),
               {context}),
        keptOf(path.last().attachments.isEmpty()
                   ? QT_TR_NOOP("What helps is a shorter one.")
                   : QT_TR_NOOP("What helps is a shorter one, or fewer or smaller files."))};
    if (!m_history.info(conversation).systemPrompt.isEmpty()) {
        sentences += keptOf(QT_TR_NOOP("The instructions count, too."));
    }
    setTexts(problem, keptOf(QT_TR_NOOP("This prompt is too long")), sentences);
    return true;
}

void AnswerWriter::onInterrupted(RequestId id) {
    const std::optional<Job> job = finish(id);
    if (!job) {
        return;
    }
    edit(*job, &AnswerWriter::markStopped);
    Q_EMIT changed();
}

}  // namespace offstage::ui
