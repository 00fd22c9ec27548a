#include "ui/settings/settings_format.h"

#include <QFileDevice>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace offstage::ui {

namespace {

const QString kBytes = QStringLiteral("base64");
constexpr qint64 kMostExact = qint64{1} << 53;  // of a double

QJsonValue toJson(const QVariant& value) {
    switch (value.typeId()) {
        case QMetaType::QByteArray:
            return QJsonObject{{kBytes, QString::fromLatin1(value.toByteArray().toBase64())}};
        case QMetaType::ULongLong:
            return value.toULongLong() <= quint64{kMostExact} ? QJsonValue(value.toLongLong()) : value.toString();
        case QMetaType::LongLong:
            return std::abs(value.toLongLong()) <= kMostExact ? QJsonValue(value.toLongLong()) : value.toString();
        default:
            return QJsonValue::fromVariant(value);
    }
}

QVariant fromJson(const QJsonValue& value) {
    const QJsonObject object = value.toObject();
    if (object.contains(kBytes)) {
        return QByteArray::fromBase64(object.value(kBytes).toString().toLatin1());
    }
    return value.toVariant();
}

bool readSettings(QIODevice& device, QSettings::SettingsMap& settings) {
    const QByteArray bytes = device.readAll();
    const QJsonDocument document = QJsonDocument::fromJson(bytes);
    const QJsonObject all = document.object();
    for (auto each = all.begin(); each != all.end(); ++each) {
        settings.insert(each.key(), fromJson(each.value()));
    }
    return document.isObject() || bytes.isEmpty();
}

bool writeSettings(QIODevice& device, const QSettings::SettingsMap& settings) {
    QJsonObject all;
    for (auto each = settings.begin(); each != settings.end(); ++each) {
        all.insert(each.key(), toJson(each.value()));
    }
    const QByteArray bytes = QJsonDocument(all).toJson();
    auto* const file = qobject_cast<QFileDevice*>(&device);
    return device.write(bytes) == bytes.size() && (file == nullptr || file->flush());
}

}  // namespace

QSettings::Format settingsFormat() {
    static const QSettings::Format format =
        QSettings::registerFormat(QStringLiteral("json"), readSettings, writeSettings);
    return format;
}

void useSettingsFormat() {
    QSettings::setDefaultFormat(settingsFormat());
    QSettings settings;
    if (!settings.allKeys().isEmpty()) {
        return;
    }
    const QSettings before(QSettings::NativeFormat, QSettings::UserScope, settings.organizationName(),
                           settings.applicationName());
    for (const QString& key : before.allKeys()) {
        settings.setValue(key, before.value(key));
    }
}

}  // namespace offstage::ui
