#include "ui/help/help_answers.h"

#include <array>

#include <QCoreApplication>
#include <QFile>
#include <QRegularExpression>

#include "engine/model/model_finder.h"
#include "ui/base/language.h"

namespace offstage::ui {

namespace {

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

struct Offered {
    const char* question;
    const char* page;
    const char* heading;
};
constexpr std::array kOffered{
    Offered{QT_TRANSLATE_NOOP("HelpAnswers", "Which models can this program open?"), "models", "What can be opened"},
    Offered{QT_TRANSLATE_NOOP("HelpAnswers", "Does this program send my data anywhere?"), "privacy",
            "What connects, what listens"},
};

// Around the manual's text stands the language of the question, where that is not
// English, else the window's.
HelpAnswer shown(const engine::ManualAnswer& answer) {
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w-]+)\\.md(#[\\w-]+)?\\)"));
    const bool isEnglish = answer.language.empty() || answer.language == "en";
    const auto say = [&](const char* source) {
        return isEnglish ? HelpText::tr(source)
                         : translatedTo(QString::fromStdString(answer.language), "HelpAnswers", source);
    };
    const QString page = QString::fromStdString(answer.page);
    const QString toPage = QStringLiteral("[%1](help:%2)").arg(QString::fromStdString(answer.title), page);
    if (answer.text.empty()) {
        return {page,
                say(QT_TRANSLATE_NOOP("HelpAnswers",
                                      "The demo model does not know this program well enough to answer. %1 says where "
                                      "everything is, and the search in the help (F1) looks through all of its pages."))
                    .arg(toPage)};
    }
    QString text = QString::fromStdString(answer.text);
    if (answer.lists_families) {
        QStringList families;
        for (const std::string& name : engine::family_names()) {
            families << QString::fromStdString(name);
        }
        text += QStringLiteral("\n\n") +
                say(QT_TRANSLATE_NOOP("HelpAnswers", "Families: %1.")).arg(families.join(QStringLiteral(", ")));
    }
    text.replace(link, QStringLiteral("](help:\\1)"));
    static const char kLanguage[] = QT_TRANSLATE_NOOP(
        "HelpAnswers", "The help is in English, with the English names of menus and buttons. It says:");
    if (const QString language = say(kLanguage); language != QLatin1String(kLanguage)) {
        text.prepend(language + QStringLiteral("\n\n"));
    }
    return {page,
            text + QStringLiteral("\n\n") + say(QT_TRANSLATE_NOOP("HelpAnswers", "More in the help: %1")).arg(toPage)};
}

}  // namespace

HelpAnswers::HelpAnswers()
    : m_manual([](const std::string& name) {
          QFile file(QStringLiteral(":/help/") + QString::fromStdString(name));
          return file.open(QFile::ReadOnly) ? file.readAll().toStdString() : std::string();
      }) {}

QStringList HelpAnswers::offered() {
    QStringList questions;
    for (const Offered& each : kOffered) {
        questions << HelpText::tr(each.question);
    }
    return questions;
}

HelpAnswer HelpAnswers::answerOfOffered(qsizetype question) const {
    const Offered& offered = kOffered.at(static_cast<size_t>(question));
    return shown(m_manual.part_of(offered.page, offered.heading));
}

std::optional<HelpAnswer> HelpAnswers::answerOf(const QString& typed) const {
    const auto answer = m_manual.answer_of(typed.toStdString());
    return answer ? std::optional(shown(*answer)) : std::nullopt;
}

}  // namespace offstage::ui
