#include "ui/chat/title_writer.h"

#include <algorithm>

#include <QRegularExpression>

#include "ui/base/settings.h"
#include "ui/chat/chat_controller.h"
#include "ui/engine/engine_controller.h"

namespace offstage::ui {

namespace {

constexpr int kMostTokens = 24;
constexpr qsizetype kMostAnswers = 2;  // of a conversation that has no title yet
constexpr qsizetype kMostWords = 12;

// In English for every model: it names the language to answer in.
constexpr char kInstruction[] =
    "Write a title of two to six words for this conversation, in the language of my first message. Answer with the "
    "title alone, without quotation marks.";

}  // namespace

QString titleFromModel(const QString& written) {
    static const QRegularExpression marks(QStringLiteral("^[\\s\"'“”„«»*_#`:-]+|[\\s\"'“”„«»*_#`.:-]+$"));
    static const QRegularExpression label(QStringLiteral("^(title|titel)\\s*:\\s*"),
                                          QRegularExpression::CaseInsensitiveOption);
    QString line = written.trimmed().section(u'\n', 0, 0).simplified();
    line = line.remove(marks).remove(label).remove(marks);
    return line.count(u' ') < kMostWords ? titleFrom(line) : QString();
}

TitleWriter::TitleWriter(EngineController& engine, ChatController& chat, const QString& untitled, QObject* parent)
    : QObject(parent),
      m_engine(engine),
      m_chat(chat),
      m_untitled(untitled),
      m_queue(std::make_shared<engine::AnswerQueue>(1)) {
    connect(&m_chat, &ChatController::queueChanged, this, [this] {
        const QList<ChatController::Queued> queue = m_chat.queue();
        if (!queue.isEmpty()) {
            giveUp();
            m_answered = queue.first().conversation;
        }
    });
    // Later: an answer that waits begins first.
    connect(&m_engine, &EngineController::answered, this, &TitleWriter::consider, Qt::QueuedConnection);
    connect(&m_engine, &EngineController::loadStarted, this, &TitleWriter::giveUp);
}

TitleWriter::~TitleWriter() {
    m_queue->close();
}

void TitleWriter::giveUp() {
    if (m_ticket) {
        m_ticket->cancel();
        m_ticket.reset();
    }
}

void TitleWriter::setHeld(bool held) {
    m_held = held;
    if (held) {
        giveUp();
    }
}

bool TitleWriter::wantsTitle(ConversationId conversation) const {
    History& history = m_chat.conversations();
    const ConversationInfo& info = history.info(conversation);
    const ConversationTree* tree = history.contains(conversation) ? history.open(conversation) : nullptr;
    if (tree == nullptr || info.titleByPerson || m_tried.contains(conversation)) {
        return false;
    }
    const QList<Message> path = tree->path();
    const auto answers =
        std::count_if(path.begin(), path.end(), [](const Message& m) { return m.kind == Message::Kind::Answer; });
    return answers > 0 && answers <= kMostAnswers && info.title == titleFrom(path.first().text) &&
           path.last().kind == Message::Kind::Answer && path.last().state == Message::State::Done;
}

void TitleWriter::consider() {
    const auto& model = m_engine.model();
    if (!model || m_engine.state() != EngineController::State::Ready || m_engine.isServing() || m_held || m_ticket ||
        !settings::kModelTitles.value() || !m_chat.queue().isEmpty() || !m_chat.draft().trimmed().isEmpty() ||
        !wantsTitle(m_answered)) {
        return;
    }
    const std::vector<std::string>& thinking = model->thinking_choices;
    const bool canBeBrief = !model->thinks || std::find(thinking.begin(), thinking.end(), "off") != thinking.end();
    if (!canBeBrief || !model->has_chat_template || QString::fromStdString(model->source) == m_untitled) {
        return;
    }
    engine::GenerationRequest request;
    request.messages = m_chat.messagesOf(m_answered);
    request.messages.push_back({engine::Role::kUser, kInstruction});
    request.sampler.temperature = 0;
    request.max_tokens = kMostTokens;
    request.thinking = model->thinks ? "off" : "";
    const auto work = [this, number = ++m_request, conversation = m_answered, request](engine::Session& session,
                                                                                       const std::stop_token& stop) {
        QString written;
        try {
            const auto ignore = [](const engine::TextDelta&) {};
            const engine::GenerationResult result = session.generate(request, ignore, stop);
            if (result.finish == engine::FinishReason::kEndOfTurn || result.text.find('\n') != std::string::npos) {
                written = QString::fromStdString(result.text);
            }
        } catch (const std::exception&) {
            // A title is not worth a message.
        }
        const bool whole = !stop.stop_requested();
        QMetaObject::invokeMethod(
            this, [this, number, conversation, written, whole] { take(number, conversation, written, whole); },
            Qt::QueuedConnection);
    };
    m_ticket = m_queue->submit(work);
    m_engine.serve(m_queue, EngineController::Service::OwnWork);
}

void TitleWriter::take(quint64 request, ConversationId conversation, const QString& written, bool whole) {
    if (request != m_request || !m_ticket) {
        return;  // given up
    }
    m_ticket.reset();
    const QString title = titleFromModel(written);
    if (whole && wantsTitle(conversation)) {
        m_tried.insert(conversation);
        if (!title.isEmpty()) {
            m_chat.conversations().setModelTitle(conversation, title);
        }
    }
}

}  // namespace offstage::ui
