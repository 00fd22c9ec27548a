#include "ui/engine/kept_text.h"

#include <algorithm>
#include <limits>

#include <QCoreApplication>
#include <QLocale>

#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

struct KeptArgument {
    QJsonValue operator()(const std::string& text) const { return QString::fromStdString(text); }
    QJsonValue operator()(std::int64_t count) const { return qint64{count}; }
    // JSON's whole numbers here are signed: what is larger is kept in digits.
    QJsonValue operator()(std::uint64_t count) const {
        if (count <= static_cast<std::uint64_t>(std::numeric_limits<qint64>::max())) {
            return static_cast<qint64>(count);
        }
        return QJsonObject{{QStringLiteral("count"), QString::number(count)}};
    }
    QJsonValue operator()(const engine::Decimal& number) const {
        return QJsonObject{{QStringLiteral("number"), number.value}, {QStringLiteral("decimals"), number.decimals}};
    }
    // The engine's logs are exact; users read "145.0 MiB".
    QJsonValue operator()(const engine::ByteSize& size) const {
        const auto largest = static_cast<std::uint64_t>(std::numeric_limits<qint64>::max());
        return QJsonObject{{QStringLiteral("bytes"), static_cast<qint64>(std::min(size.bytes, largest))}};
    }
    QJsonValue operator()(const std::shared_ptr<const engine::Message>& message) const { return keptText(*message); }
};

QString filled(const QString& form, const QJsonArray& with) {
    QString text;
    for (qsizetype i = 0; i < form.size(); ++i) {
        const int place = form[i] == u'%' && i + 1 < form.size() ? form[i + 1].digitValue() : 0;
        if (place >= 1 && place <= with.size()) {
            text += textOf(with[place - 1]);
            ++i;
        } else {
            text += form[i];
        }
    }
    return text;
}

}  // namespace

QJsonObject keptText(const char* context, const char* text, const QJsonArray& with) {
    return {{QStringLiteral("in"), QString::fromLatin1(context)},
            {QStringLiteral("text"), QString::fromUtf8(text)},
            {QStringLiteral("with"), with}};
}

QJsonObject keptText(const engine::Message& message) {
    if (message.empty()) {
        return {};
    }
    QJsonArray with;
    for (const engine::MessageArgument& argument : message.arguments()) {
        with.append(std::visit(KeptArgument(), argument.value()));
    }
    // The catalogue's texts end where their string literals do.
    QJsonObject kept = keptText("EngineText", message.english_template().data(), with);
    kept[QStringLiteral("code")] = QString::fromLatin1(message.code().data());
    return kept;
}

QString textOf(const QJsonValue& kept) {
    if (kept.isDouble()) {
        return QLocale().toString(kept.toInteger());
    }
    if (kept.isArray()) {
        QStringList sentences;
        for (const QJsonValue& each : kept.toArray()) {
            sentences += textOf(each);
        }
        return sentences.join(u' ');
    }
    if (!kept.isObject()) {
        return kept.toString();
    }
    if (const QJsonValue count = kept[QLatin1String("count")]; count.isString()) {
        return QLocale().toString(count.toString().toULongLong());
    }
    if (const QJsonValue bytes = kept[QLatin1String("bytes")]; bytes.isDouble()) {
        return bytesText(static_cast<quint64>(bytes.toInteger()));
    }
    if (const QJsonValue number = kept[QLatin1String("number")]; number.isDouble()) {
        const int decimals = kept[QLatin1String("decimals")].toInt(-1);
        return decimals < 0 ? QLocale().toString(number.toDouble(), 'g', 6)
                            : QLocale().toString(number.toDouble(), 'f', decimals);
    }
    const auto part = [&](const char* key) { return kept[QLatin1String(key)].toString().toUtf8(); };
    const QByteArray text = part("text");
    return text.isEmpty() ? QString()
                          : filled(QCoreApplication::translate(part("in"), text, part("code")),
                                   kept[QLatin1String("with")].toArray());
}

void setTexts(Problem& problem, const QJsonValue& title, const QJsonValue& sentences) {
    problem.title = textOf(title);
    problem.sentence = textOf(sentences);
    problem.kept = {title, sentences};
}

}  // namespace offstage::ui
