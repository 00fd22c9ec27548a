#include <utility>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "ui/base/icons.h"
#include "ui/chat/code_language.h"

namespace offstage::ui {

namespace {

constexpr std::pair<const char*, bool CodeLanguage::*> kFeatures[] = {{"nestedComments", &CodeLanguage::nestedComments},
                                                                      {"anyCase", &CodeLanguage::anyCase},
                                                                      {"capitalTypes", &CodeLanguage::capitalTypes},
                                                                      {"preprocessor", &CodeLanguage::preprocessor},
                                                                      {"attributes", &CodeLanguage::attributes},
                                                                      {"dollarNames", &CodeLanguage::dollarNames},
                                                                      {"lifetimes", &CodeLanguage::lifetimes}};
constexpr std::pair<const char*, CodeFamily> kFamilies[] = {{"markup", CodeFamily::Markup},
                                                            {"style", CodeFamily::Style},
                                                            {"data", CodeFamily::Data},
                                                            {"diff", CodeFamily::Diff}};

QStringList wordsIn(const QJsonValue& list) {
    return list.toString().split(u' ', Qt::SkipEmptyParts);
}

QSet<QString> setOf(const QJsonValue& list) {
    const QStringList words = wordsIn(list);
    return {words.begin(), words.end()};
}

CodeLanguage languageOf(const QJsonObject& json, const QJsonObject& strings) {
    CodeLanguage language;
    language.label = json[u"label"].toString();
    language.names = wordsIn(json[u"names"]);
    for (const auto& [name, family] : kFamilies) {
        if (json[u"family"].toString() == QLatin1String(name)) {
            language.family = family;
        }
    }
    language.keywords = setOf(json[u"keywords"]);
    language.types = setOf(json[u"types"]);
    language.lineComments = wordsIn(json[u"lineComments"]);
    language.commentOpen = json[u"comment"][0].toString();
    language.commentClose = json[u"comment"][1].toString();
    for (const QJsonValue& rule : strings[json[u"strings"].toString()].toArray()) {
        language.strings.append({rule[u"open"].toString(), rule[u"close"].toString(), rule[u"escapes"].toBool(true),
                                 rule[u"lines"].toBool()});
    }
    const QStringList features = wordsIn(json[u"features"]);
    for (const auto& [name, feature] : kFeatures) {
        language.*feature = features.contains(QLatin1String(name));
    }
    return language;
}

}  // namespace

const QList<CodeLanguage>& codeLanguages() {
    static const QList<CodeLanguage> all = [] {
        keepResources();
        QFile file(QStringLiteral(":/code/languages.json"));
        file.open(QFile::ReadOnly);
        const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
        QList<CodeLanguage> languages;
        for (const QJsonValue& language : json[u"languages"].toArray()) {
            languages.append(languageOf(language.toObject(), json[u"strings"].toObject()));
        }
        return languages;
    }();
    return all;
}

}  // namespace offstage::ui
