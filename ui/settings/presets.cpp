#include "ui/settings/presets.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>

#include "ui/history/history_json.h"

namespace offstage::ui {

namespace {

const QString kSampling = QStringLiteral("presets/sampling");

QJsonArray readList(QSettings& settings, const QString& key) {
    return QJsonDocument::fromJson(settings.value(key).toByteArray()).array();
}

void writeList(QSettings& settings, const QString& key, const QJsonArray& list) {
    settings.setValue(key, QJsonDocument(list).toJson(QJsonDocument::Compact));
}

}  // namespace

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

}  // namespace offstage::ui
