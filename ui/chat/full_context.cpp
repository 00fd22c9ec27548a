#include "ui/chat/full_context.h"

#include <algorithm>
#include <variant>

#include <QLocale>

#include "ui/base/prompt_text.h"
#include "ui/engine/context_in_force.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

constexpr double kUsualCharacters = 2;  // of a token, where none was counted: rather too few

qsizetype charactersOf(const Message& message) {
    return (message.kind == Message::Kind::Prompt ? promptForModel(message.text, message.attachments) : message.text)
               .size() +
           message.thought.text.size() + (message.cut ? message.cut->size() : 0);
}

// The part of the path that the model sees.
QList<Message> seenPart(const QList<Message>& path) {
    qsizetype first = 0;
    for (qsizetype i = 0; i < path.size(); ++i) {
        if (path[i].cut) {
            first = i;
        }
    }
    QList<Message> seen = path.mid(first);
    for (qsizetype i = seen.size() - 1; i > 0; --i) {
        if (!seen[i].helpPage.isEmpty()) {
            const std::optional<QString> cut = seen[i - 1].cut;
            seen.remove(i - 1, 2);  // the manual's answer, and the question
            --i;
            if (cut && i < seen.size()) {
                seen[i].cut = cut;
            }
        }
    }
    return seen;
}

// Whether nothing that decides about speed changes, so that no costs need be known: places
// and formats of experts, and what a note says (no room to copy experts, keys and values
// in RAM).
bool allStay(const EngineController& engine, const engine::ReplanPreview& preview) {
    const auto snapshot = engine.snapshot();
    return snapshot && preview.bytes_to_move == 0 && preview.plan.note.empty() &&
           std::equal(preview.plan.places.begin(), preview.plan.places.end(), snapshot->experts.place.begin(),
                      snapshot->experts.place.end(),
                      [](engine::Place then, std::uint8_t now) { return static_cast<std::uint8_t>(then) == now; });
}

}  // namespace

MessageId cutOfPath(const QList<Message>& path, qint64 context) {
    const QList<Message> seen = seenPart(path);
    double perToken = kUsualCharacters;
    qsizetype characters = 0;
    for (const Message& message : seen) {
        characters += charactersOf(message);
        if (message.figures && message.figures->tokensIn > 0) {
            perToken = static_cast<double>(characters) /
                       static_cast<double>(message.figures->tokensIn + message.figures->tokensOut);
        }
    }
    const double most = perToken * static_cast<double>(context) / 2;
    MessageId cut = 0;
    characters = 0;
    for (qsizetype i = seen.size() - 1; i > 0; --i) {
        characters += charactersOf(seen[i]);
        if (seen[i].kind != Message::Kind::Prompt) {
            continue;
        }
        if (cut != 0 && static_cast<double>(characters) > most) {
            break;
        }
        cut = seen[i].id;
    }
    return cut;
}

bool isPromptTooLong(const QList<Message>& path, qint64 tokens, qint64 context) {
    const QList<Message> seen = seenPart(path);
    if (seen.isEmpty() || seen.last().kind != Message::Kind::Prompt) {
        return false;
    }
    qsizetype characters = 0;
    for (const Message& message : seen) {
        characters += charactersOf(message);
    }
    const auto share = static_cast<double>(charactersOf(seen.last())) / static_cast<double>(characters);
    return seen.size() == 1 || share * static_cast<double>(tokens) >= static_cast<double>(context);
}

qint64 tokensOf(const engine::MessageArgument& argument) {
    if (const auto* inner = std::get_if<std::shared_ptr<const engine::Message>>(&argument.value())) {
        return (*inner)->arguments().empty() ? 0 : tokensOf((*inner)->arguments().front());
    }
    const auto* tokens = std::get_if<std::int64_t>(&argument.value());
    return tokens != nullptr ? qint64{*tokens} : 0;
}

QString transcriptOf(const std::vector<engine::ChatMessage>& messages, qint64 context) {
    QString text;
    for (const engine::ChatMessage& message : messages) {
        if (message.role == engine::Role::kSystem) {
            continue;
        }
        text += (message.role == engine::Role::kUser ? FullContext::tr("Question: ", "in a transcript for the model")
                                                     : FullContext::tr("Answer: ", "in a transcript for the model")) +
                QString::fromStdString(message.content) + QStringLiteral("\n\n");
    }
    return text.right(static_cast<qsizetype>(kUsualCharacters * static_cast<double>(context) / 2)).trimmed();
}

FullContext::FullContext(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    m_patience.setSingleShot(true);
    m_patience.setInterval(kPreviewMs);
    connect(&m_patience, &QTimer::timeout, this, [this] { finishOffer(nullptr, {}); });
    connect(&m_engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        if (m_replanId != 0 && report.id == m_replanId) {
            m_replanId = 0;
            Q_EMIT ended();
        }
    });
    connect(&m_engine, &EngineController::previewed, this,
            [this](RequestId id, const engine::ReplanPreview& preview, const QString& problem) {
                if (m_offer && id == m_previewId) {
                    finishOffer(problem.isEmpty() ? &preview : nullptr, problem);
                }
            });
    connect(&m_engine, &EngineController::loadStarted, this, [this] {
        finishOffer(nullptr, {});
        if (m_replanId != 0) {
            m_replanId = 0;
            Q_EMIT ended();
        }
    });
}

void FullContext::offer(ConversationId conversation, const Problem& problem, qint64 tokens, bool canCut) {
    finishOffer(nullptr, {});
    m_offer = Offer{conversation, problem, canCut};
    const auto& model = m_engine.model();
    const qint64 context = contextInForce(m_engine);
    const qint64 most = model ? qint64{model->max_context} : 0;
    if (context == 0 || most <= std::max(context, tokens)) {
        if (most > 0) {
            m_offer->problem.sentence +=
                u' ' + tr("A larger context does not help: %1 tokens are the most that this model can have.")
                           .arg(QLocale().toString(most));
        }
        finishOffer(nullptr, {});
        return;
    }
    // Twice as long, until the conversation leaves a quarter of it free.
    qint64 larger = 2 * context;
    while (larger < most && larger < tokens + tokens / 3) {
        larger *= 2;
    }
    m_offer->problem.context = std::min(larger, most);
    engine::ReplanRequest request;
    request.context = m_offer->problem.context;
    m_previewId = m_engine.requestPreview(request);
    if (m_previewId == 0) {
        finishOffer(nullptr, {});
    } else {
        m_patience.start();
    }
}

// Without a preview the speed stays unsaid; with an obstacle there is no larger context.
void FullContext::finishOffer(const engine::ReplanPreview* preview, const QString& obstacle) {
    m_patience.stop();
    m_previewId = 0;
    if (!m_offer) {
        return;
    }
    Offer done = *std::exchange(m_offer, std::nullopt);
    Problem& problem = done.problem;
    QList<ProblemAction> actions;
    if (!obstacle.isEmpty()) {
        problem.sentence += u' ' + tr("A larger context is not possible: %1").arg(obstacle);
        problem.context = 0;
    } else if (problem.context > 0) {
        actions << ProblemAction::LargerContext;
        const QString larger = QLocale().toString(problem.context);
        const double now = preview ? preview->before.decode_tokens_per_s : 0;
        const double then = preview ? preview->after.decode_tokens_per_s : 0;
        const bool isKnown = now > 0 && then > 0;
        const bool isSame = isKnown ? rateText(now) == rateText(then) : preview && allStay(m_engine, *preview);
        problem.sentence +=
            u' ' + (!isKnown && !isSame ? tr("What a context of %1 tokens costs in speed is not known yet.").arg(larger)
                    : isSame ? tr("With a context of %1 tokens the speed stays the same (forecast).").arg(larger)
                             : tr("With a context of %1 tokens: about %2 tokens/s instead of %3 (forecast).")
                                   .arg(larger, rateText(then), rateText(now)));
    }
    if (done.canCut) {
        actions << ProblemAction::LeaveOutOldest << ProblemAction::SummariseOldest;
    }
    problem.actions = actions + problem.actions;
    Q_EMIT offered(done.conversation, problem);
}

bool FullContext::enlarge(qint64 context) {
    engine::ReplanRequest request;
    request.context = context;
    m_replanId = context > 0 ? m_engine.replan(request) : 0;
    return m_replanId != 0;
}

}  // namespace offstage::ui
