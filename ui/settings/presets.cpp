#include "ui/settings/presets.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>

#include "ui/history/history_json.h"

namespace offstage::ui {

namespace {

const QString kSampling = QStringLiteral("presets/sampling");
const QString kSystemPrompts = QStringLiteral("presets/systemPrompts");

struct PresetsText {
    Q_DECLARE_TR_FUNCTIONS(Presets)
};

QJsonArray readList(QSettings& settings, const QString& key) {
    return QJsonDocument::fromJson(settings.value(key).toByteArray()).array();
}

void writeList(QSettings& settings, const QString& key, const QJsonArray& list) {
    settings.setValue(key, QJsonDocument(list).toJson(QJsonDocument::Compact));
}

}  // namespace

QList<SystemPromptPreset> systemPromptPresets() {
    return {
        {PresetsText::tr("Concise"), PresetsText::tr("Answer in as few words as the question allows.")},
        {PresetsText::tr("Teacher"),
         PresetsText::tr("Explain step by step, with one example for each step, and end with a "
                         "question that checks what was understood.")},
        {PresetsText::tr("Programmer"),
         PresetsText::tr("Answer with code first, and then only what the code does not say. Name "
                         "what could go wrong.")},
    };
}

QList<SamplingPreset> readOwnSamplingPresets(QSettings& settings) {
    QList<SamplingPreset> out;
    for (const QJsonValue& value : readList(settings, kSampling)) {
        const QString name = value[QLatin1String("name")].toString().simplified();
        if (!name.isEmpty()) {
            out.append({name, {}, samplingFrom(value[QLatin1String("sampling")].toObject())});
        }
    }
    return out;
}

void writeOwnSamplingPresets(QSettings& settings, const QList<SamplingPreset>& presets) {
    QJsonArray list;
    for (const SamplingPreset& preset : presets) {
        list.append(
            QJsonObject{{QStringLiteral("name"), preset.name}, {QStringLiteral("sampling"), toJson(preset.sampling)}});
    }
    writeList(settings, kSampling, list);
}

QList<SystemPromptPreset> readOwnSystemPromptPresets(QSettings& settings) {
    QList<SystemPromptPreset> out;
    for (const QJsonValue& value : readList(settings, kSystemPrompts)) {
        const QString name = value[QLatin1String("name")].toString().simplified();
        if (!name.isEmpty() && value[QLatin1String("text")].isString()) {
            out.append({name, value[QLatin1String("text")].toString()});
        }
    }
    return out;
}

void writeOwnSystemPromptPresets(QSettings& settings, const QList<SystemPromptPreset>& presets) {
    QJsonArray list;
    for (const SystemPromptPreset& preset : presets) {
        list.append(QJsonObject{{QStringLiteral("name"), preset.name}, {QStringLiteral("text"), preset.text}});
    }
    writeList(settings, kSystemPrompts, list);
}

}  // namespace offstage::ui
