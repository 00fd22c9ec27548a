#include "ui/settings/presets.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "ui/base/settings.h"
#include "ui/history/history_json.h"

namespace offstage::ui {

QList<SamplingPreset> readOwnSamplingPresets() {
    QList<SamplingPreset> out;
    for (const QJsonValue& value : QJsonDocument::fromJson(settings::kSamplingPresets.value()).array()) {
        const QString name = value[QLatin1String("name")].toString().simplified();
        if (!name.isEmpty()) {
            out.append({name, {}, samplingFrom(value[QLatin1String("sampling")].toObject())});
        }
    }
    return out;
}

void writeOwnSamplingPresets(const QList<SamplingPreset>& presets) {
    QJsonArray list;
    for (const SamplingPreset& preset : presets) {
        list.append(
            QJsonObject{{QStringLiteral("name"), preset.name}, {QStringLiteral("sampling"), toJson(preset.sampling)}});
    }
    settings::kSamplingPresets.set(QJsonDocument(list).toJson(QJsonDocument::Compact));
}

}  // namespace offstage::ui
