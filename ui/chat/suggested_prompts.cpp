#include "ui/chat/suggested_prompts.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace offstage::ui {

namespace {

constexpr qint64 kMostBytes = 64 * 1024;
constexpr qsizetype kMost = 8;
constexpr qsizetype kLongest = 400;  // characters of one prompt

}  // namespace

QList<SuggestedPrompt> readSuggestedPrompts(const QString& model) {
    const QFileInfo info(model);
    const QDir folder(info.isDir() ? info.filePath() : info.path());
    QFile file(folder.filePath(QStringLiteral("suggested_prompts.json")));
    if (!info.exists() || file.size() > kMostBytes || !file.open(QIODevice::ReadOnly)) {
        return {};
    }
    QList<SuggestedPrompt> prompts;
    const QJsonArray entries = QJsonDocument::fromJson(file.readAll()).array();
    for (const QJsonValue& entry : entries) {
        const SuggestedPrompt prompt{entry.toObject().value(QStringLiteral("domain")).toString(),
                                     entry.toObject().value(QStringLiteral("prompt")).toString().trimmed()};
        if (!prompt.prompt.isEmpty() && prompt.prompt.size() <= kLongest && prompts.size() < kMost) {
            prompts.append(prompt);
        }
    }
    return prompts;
}

}  // namespace offstage::ui
