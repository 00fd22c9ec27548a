#include "ui/chat/chat_controller.h"

#include "ui/base/settings.h"
#include "ui/engine/context_in_force.h"

namespace offstage::ui {

namespace {

Message promptBeside(const Message& other, const QString& text, const QList<Attachment>& attachments) {
    Message prompt;
    prompt.text = text;
    prompt.attachments = attachments;
    prompt.parent = other.parent;
    prompt.cut = other.cut;
    return prompt;
}

}  // namespace

ChatController::ChatController(EngineController& engine, ConversationModel& conversation, QObject* parent)
    : QObject(parent),
      m_engine(engine),
      m_conversation(conversation),
      m_ownHistory(std::make_unique<History>()),
      m_history(*m_ownHistory),
      m_writer(engine, m_history),
      m_fullContext(engine, this) {
    connectAll();
}

ChatController::ChatController(EngineController& engine, ConversationModel& conversation, History& history,
                               QObject* parent)
    : QObject(parent),
      m_engine(engine),
      m_conversation(conversation),
      m_history(history),
      m_writer(engine, m_history),
      m_fullContext(engine, this) {
    connectAll();
}

void ChatController::connectAll() {
    connect(&m_writer, &AnswerWriter::changed, this, &ChatController::waitingChanged);
    connect(&m_writer, &AnswerWriter::queueChanged, this, &ChatController::queueChanged);
    connect(&m_writer, &AnswerWriter::engineEntered, this, &ChatController::engineEntered);
    connect(&m_writer, &AnswerWriter::messageChanged, this, &ChatController::showMessage);
    connect(&m_writer, &AnswerWriter::pathChanged, this, [this](ConversationId conversation) {
        if (conversation == m_current) {
            refreshModel();
        }
    });
    connect(&m_writer, &AnswerWriter::textAppended, this,
            [this](ConversationId conversation, MessageId answer, int offset, const StreamedText& piece) {
                Q_EMIT answerExtended(answer, offset, piece);
                if (conversation == m_current) {
                    m_conversation.appendText(answer, piece.text);
                }
            });
    connect(&m_writer, &AnswerWriter::thoughtChanged, this, [this](ConversationId conversation, MessageId answer) {
        const ConversationTree* shown = conversation == m_current ? tree() : nullptr;
        if (const Message* now = shown ? shown->find(answer) : nullptr) {
            m_conversation.setThought(answer, now->thought);
        }
    });
    connect(&m_writer, &AnswerWriter::promptReturned, this, &ChatController::returnPrompt);
    connect(&m_writer, &AnswerWriter::promptFailed, this, &ChatController::offerPrompt);
    connect(&m_writer, &AnswerWriter::failed, this, &ChatController::tell);
    connect(&m_writer, &AnswerWriter::contextFilled, this, &ChatController::offerRoom);
    connect(&m_fullContext, &FullContext::offered, this, &ChatController::tell);
    connect(&m_fullContext, &FullContext::ended, this, [this] { m_writer.setHeldFor(m_fullContext, {}); });
    connect(&m_history, &History::removed, this, &ChatController::onRemoved);
    connect(&m_engine, &EngineController::modelLoaded, this, [this] {
        dismissProblems([](const Message& m) {
            const QList<ProblemAction>& offered = m.problem.actions;
            return offered.contains(ProblemAction::OpenModel) && !offered.contains(ProblemAction::TryAgain);
        });
    });
    m_current = create();
}

// ---------------------------------------------------------------- the conversation that is shown

ConversationId ChatController::create() {
    const std::optional<Persona> persona = m_personas ? m_personas->ofNew() : std::nullopt;
    return persona ? m_history.create(persona->systemPrompt, persona->sampling.value_or(m_sampling), persona->id)
                   : m_history.create({}, m_sampling);
}

void ChatController::refreshModel() {
    const ConversationTree* shown = tree();
    m_conversation.reset((shown ? shown->path() : QList<Message>()) + m_problems.value(m_current));
}

void ChatController::showConversation(ConversationId id) {
    m_current = id;
    refreshModel();
    Q_EMIT currentChanged(id);
    Q_EMIT waitingChanged();
}

bool ChatController::openConversation(ConversationId id, MessageId message) {
    const ConversationTree* opened = m_history.contains(id) ? m_history.open(id) : nullptr;
    if (!opened) {
        return false;
    }
    if (message != 0) {
        m_history.show(id, message);
    }
    const Message* end = opened->find(opened->leaf());
    if (end && end->state == Message::State::Failed && !end->problem.title.isEmpty() && !m_problems.contains(id)) {
        Problem card = end->problem;  // of an earlier start
        card.actions = {ProblemAction::EditPrompt, ProblemAction::TryAgain};
        addProblem(id, card);
    }
    showConversation(id);
    return true;
}

void ChatController::newConversation(Beside beside) {
    const ConversationTree* shown = tree();
    const bool isEmpty = shown && shown->size() == 0 && m_history.contains(m_current);
    if (isEmpty) {
        m_problems.remove(m_current);
    }
    const ConversationInfo& info = m_history.info(m_current);
    const bool hasDraft = !info.draft.trimmed().isEmpty();
    // The list has no conversation of files alone.
    const bool isWritten = hasDraft || !draftAttachments().isEmpty() || m_awaitFiles.contains(m_current);
    // Chosen again in no time; what the user wrote or set stays.
    const bool isChosen = m_personas && info.persona != m_personas->ofNew().value_or(Persona()).id &&
                          (info.persona.isEmpty() ? info.systemPrompt.isEmpty() : m_personas->isAsChosen(info));
    const bool stays = isEmpty && !(hasDraft && beside == Beside::Draft) && (isWritten || !isChosen);
    showConversation(stays ? m_current : create());
    m_writer.prepareFor(m_current);
}

bool ChatController::hasPersonasSampling() const {
    if (!m_personas || persona().isEmpty()) {
        return false;
    }
    const std::optional<Persona> now = m_personas->find(persona());
    return !now || now->sampling || (m_personas->own().contains(*now) && !(sampling() == m_sampling));
}

void ChatController::setSampling(const Sampling& sampling) {
    if (!hasPersonasSampling()) {
        m_sampling = sampling;
    }
    m_history.setSampling(m_current, sampling);
}

void ChatController::setSystemPrompt(const QString& prompt) {
    m_history.setSystemPrompt(m_current, prompt);
}

// What the stored draft keeps behind the typed text.
QString ChatController::pastedOf(ConversationId conversation) const {
    QString pasted;
    const QList<Attachment> texts = m_pasted.value(conversation);
    for (const Attachment& file : m_draftAttachments.value(conversation)) {
        if (texts.contains(file)) {
            pasted += QStringLiteral("\n\n") + file.text;
        }
    }
    return pasted;
}

QString ChatController::draftOf(ConversationId conversation) const {
    QString draft = m_history.info(conversation).draft;
    const QString pasted = pastedOf(conversation);
    if (draft.endsWith(pasted)) {
        draft.chop(pasted.size());
    }
    return draft;
}

void ChatController::storeDraft(ConversationId conversation, const QString& typed) {
    m_history.setDraft(conversation, typed + pastedOf(conversation));
}

void ChatController::putDraftAttachments(ConversationId conversation, const QList<Attachment>& attachments) {
    const QString typed = draftOf(conversation);
    m_draftAttachments[conversation] = attachments;
    storeDraft(conversation, typed);
    if (conversation == m_current) {
        Q_EMIT draftAttachmentsChanged();
    }
}

void ChatController::setDraftAttachments(const QList<Attachment>& attachments) {
    putDraftAttachments(m_current, attachments);
}

void ChatController::addDraftAttachments(ConversationId conversation, const QList<Attachment>& attachments) {
    if (!attachments.isEmpty() && m_history.info(conversation).id == conversation) {
        putDraftAttachments(conversation, m_draftAttachments.value(conversation) + attachments);
    }
}

void ChatController::attachPasted(const Attachment& text) {
    m_pasted[m_current].append(text);
    addDraftAttachments(m_current, {text});
}

// Gives the files of an unanswered prompt back to the draft; files already there stay.
void ChatController::returnAttachments(ConversationId conversation, const QList<Attachment>& attachments) {
    if (attachments.isEmpty()) {
        return;
    }
    QList<Attachment> all = attachments;
    for (const Attachment& later : m_draftAttachments.value(conversation)) {
        if (!all.contains(later)) {
            all.append(later);
        }
    }
    putDraftAttachments(conversation, all);
}

void ChatController::returnPrompt(ConversationId conversation, const QString& text,
                                  const QList<Attachment>& attachments) {
    returnAttachments(conversation, attachments);
    if (conversation == m_current) {
        Q_EMIT promptReturned(text);
    } else {
        const QString draft = draftOf(conversation);
        storeDraft(conversation, draft.isEmpty() ? text : text + u'\n' + draft);
    }
}

void ChatController::offerPrompt(ConversationId conversation, MessageId prompt) {
    m_problems[conversation];  // its card comes, and not a second one
    const Message* asked = conversation == m_current ? tree()->find(prompt) : nullptr;
    if (!asked) {
        return;
    }
    if (draft().trimmed().isEmpty() && draftAttachments().isEmpty()) {
        returnAttachments(m_current, asked->attachments);
    }
    Q_EMIT promptOffered(asked->text);
}

void ChatController::withdrawOffer(MessageId prompt) {
    const Message* asked = tree()->find(prompt);
    if (!asked) {
        return;
    }
    if (draftAttachments() == asked->attachments) {
        putDraftAttachments(m_current, {});
    }
    Q_EMIT offerWithdrawn(asked->text);
}

void ChatController::onRemoved(ConversationId conversation) {
    m_writer.abandon(conversation);
    m_problems.remove(conversation);
    m_draftAttachments.remove(conversation);
    m_pasted.remove(conversation);
    if (conversation == m_current) {
        showConversation(create());
    }
}

// Updates the row that shows this message from History.
void ChatController::showMessage(ConversationId conversation, MessageId message) {
    const ConversationTree* shown = conversation == m_current ? tree() : nullptr;
    const Message* now = shown ? shown->find(message) : nullptr;
    if (!now) {
        return;
    }
    m_conversation.edit(message, [now](Message& m) {
        const int branch = m.branch;
        const int branches = m.branches;
        m = *now;
        m.branch = branch;
        m.branches = branches;
    });
}

MessageId ChatController::lastPrompt() const {
    const ConversationTree* shown = tree();
    for (MessageId id = shown ? shown->leaf() : 0; id != 0; id = shown->find(id)->parent) {
        if (shown->find(id)->kind == Message::Kind::Prompt) {
            return id;
        }
    }
    return 0;
}

// ---------------------------------------------------------------- prompts

bool ChatController::canSend() const {
    return m_engine.state() != EngineController::State::NoModel && !isAnswering() && !hasWaitingPrompt() && tree();
}

bool ChatController::sendDraft(const QString& prompt) {
    const QList<Attachment> attachments = draftAttachments();
    if (!send(prompt, attachments)) {
        return false;
    }
    if (!attachments.isEmpty()) {
        setDraftAttachments({});
    }
    return true;
}

bool ChatController::send(const QString& prompt, const QList<Attachment>& attachments) {
    if (prompt.trimmed().isEmpty() || !canSend()) {
        return false;
    }
    clearProblems();
    const Message question = nextPrompt(prompt, attachments);
    const MessageId id = m_history.add(m_current, question);
    if (tree()->children(question.parent).size() > 1) {
        refreshModel();
    } else {
        m_conversation.append(*tree()->find(id));
    }
    ask(id, AnswerWriter::Ask::Prompt);
    return true;
}

// At the end, or beside a prompt that was never answered, which stays as a branch unless
// it is the same.
Message ChatController::nextPrompt(const QString& text, const QList<Attachment>& attachments) {
    Message end;
    end.parent = tree()->leaf();
    const Message* last = tree()->find(end.parent);
    const bool isFailed = last && last->kind == Message::Kind::Prompt && last->state == Message::State::Failed;
    const Message prompt = promptBeside(isFailed ? *last : end, text, attachments);
    if (isFailed && last->text == text && last->attachments == attachments) {
        removeFailedPrompt();
    }
    return prompt;
}

bool ChatController::answerFromHelp(const QString& question, const QString& text, const QString& page,
                                    MessageId beside) {
    if (!tree() || isAnswering() || hasWaitingPrompt() || (beside != 0 && !tree()->find(beside))) {
        return false;
    }
    clearProblems();
    const Message prompt = beside != 0 ? promptBeside(*tree()->find(beside), question, {}) : nextPrompt(question, {});
    Message answer;
    answer.kind = Message::Kind::Answer;
    answer.text = text;
    answer.helpPage = page;
    answer.parent = m_history.add(m_current, prompt);
    m_history.add(m_current, answer);
    refreshModel();
    Q_EMIT waitingChanged();
    return true;
}

bool ChatController::editPrompt(MessageId prompt, const QString& text) {
    const Message* before = canSend() ? tree()->find(prompt) : nullptr;
    if (!before || before->kind != Message::Kind::Prompt || text.trimmed().isEmpty()) {
        return false;
    }
    clearProblems();
    const MessageId id = m_history.add(m_current, promptBeside(*before, text, before->attachments));
    refreshModel();
    ask(id, AnswerWriter::Ask::Prompt);
    return true;
}

bool ChatController::regenerate(MessageId answer) {
    const Message* before = canSend() ? tree()->find(answer) : nullptr;
    const Message* prompt = before && before->kind == Message::Kind::Answer ? tree()->find(before->parent) : nullptr;
    if (!prompt || prompt->kind != Message::Kind::Prompt) {
        return false;
    }
    clearProblems();
    ask(prompt->id, AnswerWriter::Ask::Regenerate);
    return true;
}

bool ChatController::editAnswer(MessageId answer, const QString& text) {
    const bool canEdit = tree() && !isAnswering() && !hasWaitingPrompt();
    const Message* before = canEdit ? tree()->find(answer) : nullptr;
    if (!before || before->kind != Message::Kind::Answer || !before->helpPage.isEmpty() || text.trimmed().isEmpty()) {
        return false;
    }
    clearProblems();
    // Its figures and its thought belong to the model's text: they stay there.
    Message edited;
    edited.kind = Message::Kind::Answer;
    edited.state = Message::State::Stopped;
    edited.text = text;
    edited.author = before->author;
    edited.edited = true;
    edited.parent = before->parent;
    m_history.add(m_current, edited);
    refreshModel();
    Q_EMIT waitingChanged();
    return true;
}

bool ChatController::canContinue(MessageId answer) const {
    const Message* found = canSend() ? tree()->find(answer) : nullptr;
    return found && found->kind == Message::Kind::Answer && found->helpPage.isEmpty() &&
           !(found->text.isEmpty() && found->thought.text.isEmpty()) && tree()->leaf() == answer;
}

bool ChatController::continueAnswer(MessageId answer) {
    if (!canContinue(answer)) {
        return false;
    }
    clearProblems();
    m_history.edit(m_current, answer, [](Message& m) { m.state = Message::State::Waiting; });
    showMessage(m_current, answer);
    m_writer.add({m_current, answer, AnswerWriter::Ask::Continue, {}, 0});
    return true;
}

MessageId ChatController::branchFrom(MessageId answer, const QString& begun,
                                     const std::vector<engine::TokenId>& tokens) {
    const Message* before = canSend() && !tokens.empty() ? tree()->find(answer) : nullptr;
    if (!before || before->kind != Message::Kind::Answer) {
        return 0;
    }
    clearProblems();
    Message branch;
    branch.kind = Message::Kind::Answer;
    branch.state = Message::State::Waiting;
    branch.note = tr("Reading the prompt…");
    branch.parent = before->parent;
    branch.text = begun;
    branch.thought = before->thought;
    const MessageId id = m_history.add(m_current, branch);
    refreshModel();
    m_writer.add({m_current, id, AnswerWriter::Ask::Branch, tokens, 0});
    return id;
}

bool ChatController::switchBranch(MessageId message, int step) {
    if (!m_history.switchBranch(m_current, message, step)) {
        return false;
    }
    refreshModel();
    Q_EMIT waitingChanged();
    return true;
}

QList<ChatController::Queued> ChatController::queue() const {
    QList<Queued> out;
    if (const auto& job = m_writer.running()) {
        out.append({job->conversation, job->answer, true});
    }
    for (const AnswerWriter::Job& job : m_writer.waiting()) {
        out.append({job.conversation, job.answer, false});
    }
    return out;
}

void ChatController::stop() {
    if (!m_writer.takeBack(m_current)) {
        m_engine.stop();
    }
}

void ChatController::tryAgain() {
    const MessageId prompt = lastPrompt();
    if (prompt == 0 || !canSend()) {
        return;
    }
    clearProblems();
    withdrawOffer(prompt);
    m_history.edit(m_current, prompt, [](Message& m) {
        m.state = Message::State::Done;
        m.note.clear();
    });
    refreshModel();
    ask(prompt, tree()->children(prompt).isEmpty() ? AnswerWriter::Ask::Prompt : AnswerWriter::Ask::Regenerate);
}

void ChatController::editFailedPrompt() {
    const Message* prompt = tree() ? tree()->find(lastPrompt()) : nullptr;
    if (!prompt || prompt->state != Message::State::Failed) {
        return;
    }
    const QString text = prompt->text;
    const QList<Attachment> attachments = prompt->attachments;
    clearProblems();
    returnAttachments(m_current, attachments);
    Q_EMIT promptReturned(text);
}

void ChatController::askAnew() {
    const Message* prompt = tree() ? tree()->find(lastPrompt()) : nullptr;
    if (!prompt || prompt->state != Message::State::Failed || !canSend()) {
        return;
    }
    const QString text = prompt->text;
    const QList<Attachment> attachments = prompt->attachments;
    withdrawOffer(prompt->id);
    removeFailedPrompt();
    clearProblems();
    newConversation();
    send(text, attachments);
}

// ---------------------------------------------------------------- a full context

void ChatController::offerRoom(ConversationId conversation, MessageId end, const Problem& problem, qint64 tokens) {
    const ConversationTree* all = m_history.open(conversation);
    const QList<Message> path = all ? all->pathTo(end) : QList<Message>();
    const qint64 context = contextInForce(m_engine);
    m_fullContext.offer(conversation, problem, tokens,
                        cutOfPath(path, context) != 0 && !isPromptTooLong(path, tokens, context));
}

void ChatController::makeRoom(ProblemAction action, qint64 context) {
    if (!canSend()) {
        return;
    }
    MessageId cut = 0;
    if (action == ProblemAction::LargerContext) {
        if (!m_fullContext.enlarge(context)) {
            return;
        }
        m_writer.setHeldFor(m_fullContext, tr("Making the context larger…"));
    } else {
        cut = cutOfPath(tree()->path(), contextInForce(m_engine));
        if (cut == 0) {
            return;
        }
        m_history.edit(m_current, cut, [](Message& m) { m.cut = QString(); });
        showMessage(m_current, cut);
    }
    goOn(action == ProblemAction::SummariseOldest ? cut : 0);
}

// The last prompt is asked again, or the last answer goes on.
void ChatController::goOn(MessageId summariseAbove) {
    const Message* leaf = tree()->find(tree()->leaf());
    if (!leaf) {
        return;
    }
    clearProblems();
    const MessageId id = leaf->id;
    withdrawOffer(id);
    const bool isAnswer = leaf->kind == Message::Kind::Answer;
    m_history.edit(m_current, id, [isAnswer](Message& m) {
        m.state = isAnswer ? Message::State::Waiting : Message::State::Done;
        m.note.clear();
    });
    showMessage(m_current, id);
    if (isAnswer) {
        m_writer.add({m_current, id, AnswerWriter::Ask::Continue, {}, summariseAbove});
    } else {
        const bool isNew = tree()->children(id).isEmpty();
        ask(id, isNew ? AnswerWriter::Ask::Prompt : AnswerWriter::Ask::Regenerate, summariseAbove);
    }
}

// Adds an empty answer below the prompt, at the end of the path, and queues it for the
// engine.
void ChatController::ask(MessageId prompt, AnswerWriter::Ask kind, MessageId summariseAbove) {
    Message answer;
    answer.kind = Message::Kind::Answer;
    answer.state = Message::State::Waiting;
    answer.note = tr("Reading the prompt…");
    answer.parent = prompt;
    const bool siblings = !tree()->children(prompt).isEmpty();
    const MessageId id = m_history.add(m_current, answer);
    if (siblings) {
        refreshModel();
    } else {
        m_conversation.append(*tree()->find(id));
    }
    m_writer.add({m_current, id, kind, {}, summariseAbove});
}

std::vector<engine::ChatMessage> ChatController::messagesOf(ConversationId conversation) const {
    const ConversationTree* all = m_history.open(conversation);
    return m_writer.messagesFor(conversation, all ? all->leaf() : 0);
}

// ---------------------------------------------------------------- problems

void ChatController::clearProblems() {
    const QList<Message> problems = m_problems.take(m_current);
    for (const Message& problem : problems) {
        m_conversation.remove(problem.id);
    }
}

void ChatController::removeFailedPrompt() {
    const Message* last = tree() ? tree()->find(tree()->leaf()) : nullptr;
    if (last && last->kind == Message::Kind::Prompt && last->state == Message::State::Failed) {
        const MessageId id = last->id;
        m_history.removeMessage(m_current, id);
        m_conversation.remove(id);
        if (tree()->leaf() != 0 && m_conversation.find(tree()->leaf()) == nullptr) {
            refreshModel();  // the branch that the failed prompt stood beside
        }
    }
}

void ChatController::addProblem(ConversationId conversation, const Problem& problem) {
    Message message;
    message.id = m_history.newId();
    message.kind = Message::Kind::Problem;
    message.problem = problem;
    m_problems[conversation].append(message);
    if (conversation == m_current) {
        m_conversation.append(message);
    }
}

void ChatController::tell(ConversationId conversation, const Problem& error) {
    addProblem(conversation, error);
    Q_EMIT errorTold(error);
}

void ChatController::dismissProblem(MessageId problem) {
    dismissProblems([problem](const Message& m) { return m.id == problem; });
}

void ChatController::dismissProblems(const std::function<bool(const Message&)>& which) {
    for (QList<Message>& problems : m_problems) {
        problems.removeIf([&](const Message& m) {
            if (which(m)) {
                m_conversation.remove(m.id);
                return true;
            }
            return false;
        });
    }
}

void ChatController::reportProblem(const Problem& problem) {
    tell(m_current, problem);
}

void ChatController::showNotice(const Problem& notice) {
    addProblem(m_current, notice);
}

}  // namespace offstage::ui
