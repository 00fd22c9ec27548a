#include "ui/history/history_json.h"

#include <array>
#include <cmath>

#include "engine/run/session.h"
#include "ui/engine/kept_text.h"

namespace offstage::ui {

namespace {

constexpr std::array kKinds = {"prompt", "answer", "problem"};
constexpr qsizetype kLongestChoice = 64;
constexpr std::array kStates = {"done", "waiting", "streaming", "stopped", "failed"};

template <typename Enum, std::size_t N>
std::optional<Enum> valueOf(const std::array<const char*, N>& names, const QString& name) {
    for (std::size_t i = 0; i < N; ++i) {
        if (name == QLatin1String(names[i])) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

QString nameOf(Message::Kind kind) {
    return QString::fromLatin1(kKinds[static_cast<std::size_t>(kind)]);
}

QString nameOf(Message::State state) {
    return QString::fromLatin1(kStates[static_cast<std::size_t>(state)]);
}

std::optional<Message::Kind> messageKind(const QString& name) {
    return valueOf<Message::Kind>(kKinds, name);
}

std::optional<Message::State> messageState(const QString& name) {
    return valueOf<Message::State>(kStates, name);
}

QJsonObject toJson(const AnswerFigures& figures) {
    return {{QStringLiteral("ttft_s"), figures.ttftSeconds},
            {QStringLiteral("tokens_per_s"), figures.tokensPerSecond},
            {QStringLiteral("tokens_in"), figures.tokensIn},
            {QStringLiteral("tokens_reused"), figures.tokensReused},
            {QStringLiteral("tokens_out"), figures.tokensOut},
            {QStringLiteral("drafted"), figures.drafted},
            {QStringLiteral("accepted"), figures.accepted},
            {QStringLiteral("tokens_per_step"), figures.tokensPerStep},
            {QStringLiteral("more_experts"), figures.moreExperts},
            {QStringLiteral("emulated"), figures.emulated ? 1 : 0},
            {QStringLiteral("theta"), figures.theta},
            {QStringLiteral("theta_loss"), figures.thetaLoss},
            {QStringLiteral("accepts_guesses"), figures.acceptsGuesses ? 1 : 0}};
}

AnswerFigures figuresFrom(const QJsonObject& json) {
    AnswerFigures figures;
    figures.ttftSeconds = json[QLatin1String("ttft_s")].toDouble();
    figures.tokensPerSecond = json[QLatin1String("tokens_per_s")].toDouble();
    figures.tokensIn = json[QLatin1String("tokens_in")].toInteger();
    figures.tokensReused = json[QLatin1String("tokens_reused")].toInteger();
    figures.tokensOut = json[QLatin1String("tokens_out")].toInteger();
    figures.drafted = json[QLatin1String("drafted")].toInteger();
    figures.accepted = json[QLatin1String("accepted")].toInteger();
    figures.tokensPerStep = json[QLatin1String("tokens_per_step")].toDouble();
    figures.moreExperts = json[QLatin1String("more_experts")].toDouble();
    figures.emulated = json[QLatin1String("emulated")].toInteger() != 0;
    figures.theta = json[QLatin1String("theta")].toDouble();
    figures.thetaLoss = json[QLatin1String("theta_loss")].toDouble();
    figures.acceptsGuesses = json[QLatin1String("accepts_guesses")].toInteger() != 0;
    return figures;
}

QJsonObject toJson(const Thought& thought) {
    return {{QStringLiteral("text"), thought.text},
            {QStringLiteral("open"), thought.isOpen ? 1 : 0},
            {QStringLiteral("tokens"), thought.tokens},
            {QStringLiteral("seconds"), thought.seconds}};
}

Thought thoughtFrom(const QJsonObject& json) {
    Thought thought;
    thought.text = json[QLatin1String("text")].toString();
    thought.isOpen = json[QLatin1String("open")].toInteger() != 0;
    thought.tokens = json[QLatin1String("tokens")].toInteger();
    thought.seconds = json[QLatin1String("seconds")].toDouble();
    return thought;
}

QJsonArray toJson(const QList<Attachment>& attachments) {
    QJsonArray json;
    for (const Attachment& attachment : attachments) {
        json.append(QJsonObject{{QStringLiteral("name"), attachment.name},
                                {QStringLiteral("bytes"), attachment.bytes},
                                {QStringLiteral("text"), attachment.text}});
    }
    return json;
}

QList<Attachment> attachmentsFrom(const QJsonArray& json) {
    QList<Attachment> attachments;
    for (const QJsonValue& value : json) {
        attachments.append({value[QLatin1String("name")].toString(), value[QLatin1String("bytes")].toInteger(),
                            value[QLatin1String("text")].toString()});
    }
    return attachments;
}

QJsonObject figuresColumn(const Message& message) {
    QJsonObject json = message.figures ? toJson(*message.figures) : QJsonObject();
    if (!message.thought.isEmpty()) {
        json[QStringLiteral("thought")] = toJson(message.thought);
    }
    if (!message.attachments.isEmpty()) {
        json[QStringLiteral("attachments")] = toJson(message.attachments);
    }
    if (message.edited) {
        json[QStringLiteral("edited")] = 1;
    }
    if (message.cut) {
        json[QStringLiteral("cut")] = *message.cut;
    }
    if (!message.helpPage.isEmpty()) {
        json[QStringLiteral("help")] = message.helpPage;
    }
    if (message.state == Message::State::Failed && !message.problem.kept.isEmpty()) {
        json[QStringLiteral("refused")] = message.problem.kept;
    }
    return json;
}

void readFiguresColumn(const QJsonObject& json, Message& message) {
    const QJsonValue thought = json[QLatin1String("thought")];
    if (!thought.isUndefined()) {
        message.thought = thoughtFrom(thought.toObject());
    }
    const QJsonValue attachments = json[QLatin1String("attachments")];
    message.attachments = attachmentsFrom(attachments.toArray());
    const QJsonValue edited = json[QLatin1String("edited")];
    message.edited = edited.toInteger() != 0;
    const QJsonValue cut = json[QLatin1String("cut")];
    message.cut = cut.isString() ? std::optional(cut.toString()) : std::nullopt;
    const QJsonValue help = json[QLatin1String("help")];
    message.helpPage = help.toString();
    const QJsonValue refused = json[QLatin1String("refused")];
    if (!refused.isUndefined()) {
        setTexts(message.problem, refused[0], refused[1]);  // two texts in the language of their day before
    }
    // An unfinished answer has a thought and no figures, a prompt has files and no
    // figures, and so has an answer that the user or the manual wrote.
    const qsizetype others = (thought.isUndefined() ? 0 : 1) + (attachments.isUndefined() ? 0 : 1) +
                             (edited.isUndefined() ? 0 : 1) + (cut.isUndefined() ? 0 : 1) +
                             (refused.isUndefined() ? 0 : 1) + (help.isUndefined() ? 0 : 1);
    if (others == 0 || json.size() > others) {
        message.figures = figuresFrom(json);
    }
}

QJsonObject toJson(const Sampling& s) {
    // A float's shortest decimal form: 0.7, not 0.699999988.
    const auto shortest = [](float value) { return QString::number(value, 'g', 7).toDouble(); };
    QJsonObject json = {{QStringLiteral("temperature"), shortest(s.sampler.temperature)},
                        {QStringLiteral("top_k"), s.sampler.top_k},
                        {QStringLiteral("top_p"), shortest(s.sampler.top_p)},
                        {QStringLiteral("min_p"), shortest(s.sampler.min_p)},
                        {QStringLiteral("repeat_penalty"), shortest(s.sampler.repeat_penalty)},
                        {QStringLiteral("repeat_window"), s.sampler.repeat_window},
                        {QStringLiteral("seed"), QString::number(s.sampler.seed)},
                        {QStringLiteral("max_tokens"), s.maxTokens},
                        {QStringLiteral("beam_width"), s.beamWidth}};
    if (!s.thinking.isEmpty()) {
        json[QStringLiteral("thinking")] = s.thinking;
    }
    return json;
}

Sampling samplingFrom(const QJsonObject& json, QString* complaint) {
    Sampling s = defaultSampling();
    const auto complain = [complaint](const char* field) {
        if (complaint && complaint->isEmpty()) {
            *complaint = QString::fromLatin1(field);
        }
    };
    const auto take = [&](const char* field, auto& into, double low, double high) {
        const QJsonValue value = json[QLatin1String(field)];
        if (value.isUndefined()) {
            return;
        }
        using T = std::remove_reference_t<decltype(into)>;
        const double v = value.toDouble(std::nan(""));
        if (v >= low && v <= high && (std::is_floating_point_v<T> || v == std::floor(v))) {
            into = static_cast<T>(v);
        } else {
            complain(field);
        }
    };
    take("temperature", s.sampler.temperature, 0, 2);
    take("top_k", s.sampler.top_k, 0, 1000);
    take("top_p", s.sampler.top_p, 0, 1);
    take("min_p", s.sampler.min_p, 0, 1);
    take("repeat_penalty", s.sampler.repeat_penalty, 1, 2);
    take("repeat_window", s.sampler.repeat_window, 0, 4096);
    take("max_tokens", s.maxTokens, 0, 1'000'000);
    take("beam_width", s.beamWidth, 1, engine::kLargestBeamWidth);
    const QJsonValue thinking = json[QLatin1String("thinking")];
    if (thinking.isString() && thinking.toString().size() <= kLongestChoice) {
        s.thinking = thinking.toString();
    } else if (!thinking.isUndefined()) {
        complain("thinking");
    }
    const QJsonValue seed = json[QLatin1String("seed")];
    if (!seed.isUndefined()) {
        bool ok = false;
        s.sampler.seed = seed.toString().toULongLong(&ok);
        if (!ok) {
            s.sampler.seed = 0;
            complain("seed");
        }
    }
    return s;
}

}  // namespace offstage::ui
