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
constexpr qsizetype kMostPrompts = 16;
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
        SuggestedPrompt prompt{entry.toObject().value(QStringLiteral("domain")).toString(),
                               entry.toObject().value(QStringLiteral("prompt")).toString().trimmed()};
        if (!prompt.domain.isEmpty()) {
            prompt.domain[0] = prompt.domain[0].toUpper();
        }
        if (!prompt.prompt.isEmpty() && prompt.prompt.size() <= kLongest && prompts.size() < kMostPrompts) {
            prompts.append(prompt);
        }
    }
    return prompts;
}

}  // namespace offstage::ui
