#include "ui/chat/suggested_prompts.h"

#include <QCoreApplication>
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

// The demo model's domains. Prompts stay in the language that the model speaks.
[[maybe_unused]] constexpr const char* kDomains[] = {
    QT_TRANSLATE_NOOP("SuggestedPrompts", "Offstage"),   QT_TRANSLATE_NOOP("SuggestedPrompts", "Stories"),
    QT_TRANSLATE_NOOP("SuggestedPrompts", "Arithmetic"), QT_TRANSLATE_NOOP("SuggestedPrompts", "Units"),
    QT_TRANSLATE_NOOP("SuggestedPrompts", "Code"),       QT_TRANSLATE_NOOP("SuggestedPrompts", "Words"),
    QT_TRANSLATE_NOOP("SuggestedPrompts", "Facts"),      QT_TRANSLATE_NOOP("SuggestedPrompts", "Talk")};

// In the window's language, if it is one of these; otherwise as it is written.
QString titleOf(QString domain) {
    if (!domain.isEmpty()) {
        domain[0] = domain[0].toUpper();
    }
    return QCoreApplication::translate("SuggestedPrompts", domain.toUtf8().constData());
}

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
        SuggestedPrompt prompt{titleOf(entry.toObject().value(QStringLiteral("domain")).toString()),
                               entry.toObject().value(QStringLiteral("prompt")).toString().trimmed()};
        if (!prompt.prompt.isEmpty() && prompt.prompt.size() <= kLongest && prompts.size() < kMostPrompts) {
            prompts.append(prompt);
        }
    }
    return prompts;
}

}  // namespace offstage::ui
