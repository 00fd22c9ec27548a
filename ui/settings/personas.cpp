#include "ui/settings/personas.h"

#include <algorithm>

#include <QCoreApplication>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QUuid>

#include "ui/base/language.h"
#include "ui/base/settings.h"
#include "ui/history/history_json.h"

namespace offstage::ui {

namespace {

const QString kPersonasFormat = QStringLiteral("offstage.personas");
constexpr int kPersonasVersion = 1;

struct BuiltIn {
    const char* id;
    const char* name;
    const char* systemPrompt;
};
constexpr BuiltIn kBuiltIn[] = {
    {"concise", QT_TRANSLATE_NOOP("offstage::ui::Personas", "Concise"),
     QT_TRANSLATE_NOOP("offstage::ui::Personas", "Answer in as few words as the question allows.")},
    {"teacher", QT_TRANSLATE_NOOP("offstage::ui::Personas", "Teacher"),
     QT_TRANSLATE_NOOP("offstage::ui::Personas",
                       "Explain step by step, with one example for each step, and end with a question that checks "
                       "what was understood.")},
    {"programmer", QT_TRANSLATE_NOOP("offstage::ui::Personas", "Programmer"),
     QT_TRANSLATE_NOOP("offstage::ui::Personas",
                       "Answer with code first, and then only what the code does not say. Name what could go wrong.")},
};

// In each of the window's languages. Reading them takes milliseconds.
const QStringList& builtInPrompts(const QString& id) {
    static const QHash<QString, QStringList> kPrompts = [] {
        QHash<QString, QStringList> prompts;
        for (const BuiltIn& each : kBuiltIn) {
            for (const Language& language : languages()) {
                prompts[QString::fromLatin1(each.id)] +=
                    translatedTo(language.code, "offstage::ui::Personas", each.systemPrompt);
            }
        }
        return prompts;
    }();
    static const QStringList kNone;
    const auto found = kPrompts.constFind(id);
    return found == kPrompts.constEnd() ? kNone : *found;
}

QString newId() {
    return QUuid::createUuid().toString(QUuid::WithoutBraces);
}

QJsonObject jsonOf(const Persona& persona) {
    QJsonObject json{{QStringLiteral("id"), persona.id},
                     {QStringLiteral("name"), persona.name},
                     {QStringLiteral("system_prompt"), persona.systemPrompt}};
    if (persona.sampling) {
        json.insert(QStringLiteral("sampling"), toJson(*persona.sampling));
    }
    if (!persona.model.isEmpty()) {
        json.insert(QStringLiteral("model"), persona.model);
        json.insert(QStringLiteral("model_name"), persona.modelName);
    }
    return json;
}

// Without a name: none.
std::optional<Persona> personaFrom(const QJsonObject& json) {
    Persona persona;
    persona.id = json[QLatin1String("id")].toString();
    persona.name = json[QLatin1String("name")].toString().simplified().left(Personas::kLongestName);
    persona.systemPrompt = json[QLatin1String("system_prompt")].toString();
    if (json[QLatin1String("sampling")].isObject()) {
        persona.sampling = samplingFrom(json[QLatin1String("sampling")].toObject());
    }
    persona.model = json[QLatin1String("model")].toString();
    persona.modelName = json[QLatin1String("model_name")].toString();
    return persona.name.isEmpty() ? std::nullopt : std::optional(persona);
}

}  // namespace

Personas::Personas(QObject* parent) : QObject(parent) {
    const auto listAt = [](const Setting<QByteArray>& setting) {
        return QJsonDocument::fromJson(setting.value()).array();
    };
    for (const QJsonValue& value : listAt(settings::kPersonas)) {
        if (const auto persona = personaFrom(value.toObject()); persona && !persona->id.isEmpty()) {
            m_own.append(*persona);
        }
    }
    const QJsonArray earlier = listAt(settings::kEarlierPersonas);
    for (const QJsonValue& value : earlier) {
        const QString name = value[QLatin1String("name")].toString().simplified().left(Personas::kLongestName);
        if (!name.isEmpty()) {
            m_own.append({newId(), name, value[QLatin1String("text")].toString(), std::nullopt, {}, {}});
        }
    }
    if (!earlier.isEmpty()) {
        settings::kEarlierPersonas.remove();
        keep();
    }
}

QList<Persona> Personas::builtIn() {
    QList<Persona> personas;
    for (const BuiltIn& each : kBuiltIn) {
        personas.append({QString::fromLatin1(each.id), tr(each.name), tr(each.systemPrompt), {}, {}, {}});
    }
    return personas;
}

std::optional<Persona> Personas::find(const QString& id) const {
    for (const QList<Persona>& list : {builtIn(), m_own}) {
        const auto found = std::find_if(list.begin(), list.end(), [&](const Persona& each) { return each.id == id; });
        if (found != list.end()) {
            return *found;
        }
    }
    return std::nullopt;
}

std::optional<Persona> Personas::ofNew() const {
    return find(settings::kPersonaOfNew.value());
}

bool Personas::isAsChosen(const ConversationInfo& conversation) const {
    const std::optional<Persona> now = find(conversation.persona);
    return now &&
           (now->systemPrompt == conversation.systemPrompt ||
            builtInPrompts(now->id).contains(conversation.systemPrompt)) &&
           (!now->sampling || *now->sampling == conversation.sampling);
}

QString Personas::put(const Persona& persona) {
    Persona put = persona;
    const auto same = std::find_if(m_own.begin(), m_own.end(), [&](const Persona& each) {
        return put.id.isEmpty() ? each.name == put.name : each.id == put.id;
    });
    if (same != m_own.end()) {
        put.id = same->id;
        *same = put;
    } else {
        put.id = put.id.isEmpty() ? newId() : put.id;
        m_own.append(put);
    }
    keep();
    Q_EMIT changed();
    return put.id;
}

void Personas::remove(const QString& id) {
    if (m_own.removeIf([&](const Persona& each) { return each.id == id; }) > 0) {
        keep();
        Q_EMIT changed();
    }
}

void Personas::keep() {
    QJsonArray list;
    for (const Persona& each : m_own) {
        list.append(jsonOf(each));
    }
    settings::kPersonas.set(QJsonDocument(list).toJson(QJsonDocument::Compact));
}

QByteArray Personas::toJson(const QList<Persona>& personas) {
    QJsonArray list;
    for (const Persona& each : personas) {
        QJsonObject json = jsonOf(each);
        json.remove(QStringLiteral("id"));  // means nothing elsewhere
        list.append(json);
    }
    return QJsonDocument(QJsonObject{{QStringLiteral("format"), kPersonasFormat},
                                     {QStringLiteral("version"), kPersonasVersion},
                                     {QStringLiteral("personas"), list}})
        .toJson();
}

int Personas::addFrom(const QByteArray& json, const QString& fileName, QString& problem) {
    problem.clear();
    QJsonParseError error;
    const QJsonObject file = QJsonDocument::fromJson(json, &error).object();
    if (error.error != QJsonParseError::NoError || file[QLatin1String("format")].toString() != kPersonasFormat) {
        problem = tr("%1 is not a file of personas that Offstage wrote.").arg(fileName);
        return 0;
    }
    if (file[QLatin1String("version")].toInt() != kPersonasVersion) {
        problem = tr("%1 was written by a newer Offstage and cannot be read by this one.").arg(fileName);
        return 0;
    }
    int n = 0;
    for (const QJsonValue& value : file[QLatin1String("personas")].toArray()) {
        if (auto persona = personaFrom(value.toObject())) {
            persona->id.clear();
            put(*persona);
            ++n;
        }
    }
    if (n == 0) {
        problem = tr("%1 holds no personas.").arg(fileName);
    }
    return n;
}

}  // namespace offstage::ui
