#pragma once
// The models that engine tests run on: tiny random checkpoints with golden logits, and
// the demo model.

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QString>

#include "engine/indices.h"

namespace offstage::test {

inline QString sourcePath(const QString& relative) {
    return QStringLiteral(OFFSTAGE_SOURCE_DIR "/") + relative;
}
inline std::string demoModel() {
    return sourcePath(QStringLiteral("resources/demo-model")).toStdString();
}
inline std::string tinyModel(const QString& name) {
    return sourcePath(QStringLiteral("tests/engine/data/models/") + name).toStdString();
}

inline QJsonObject readJson(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

inline std::vector<engine::TokenId> tokensOf(const QJsonArray& array) {
    std::vector<engine::TokenId> tokens;
    for (const QJsonValue& value : array) tokens.push_back(value.toInt());
    return tokens;
}

inline std::vector<float> floatsOf(const QJsonArray& array) {
    std::vector<float> values;
    for (const QJsonValue& value : array) values.push_back(static_cast<float>(value.toDouble()));
    return values;
}

// |got - expected| / |expected|, both as Euclidean lengths.
inline double relativeError(std::span<const float> got, std::span<const float> expected) {
    if (got.size() != expected.size()) return HUGE_VAL;
    double difference = 0;
    double length = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double d = static_cast<double>(got[i]) - static_cast<double>(expected[i]);
        difference += d * d;
        length += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    return std::sqrt(difference / length);
}

}  // namespace offstage::test
