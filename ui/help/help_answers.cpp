#include "ui/help/help_answers.h"

#include <algorithm>

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>

#include "engine/model/model_finder.h"
#include "ui/help/help_pages.h"

namespace offstage::ui {

namespace {

constexpr qsizetype kLongestQuestion = 16;

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

QString offeredQuestion(const QString& page) {
    return page == QStringLiteral("models")    ? HelpText::tr("Which models can this program open?")
           : page == QStringLiteral("privacy") ? HelpText::tr("Does this program send my data anywhere?")
                                               : QString();
}

// Below this heading of the page, up to the first blank line: a paragraph, or one item of
// a list after the other. Empty: below the page's own heading.
QString beginningOf(const QString& text, const QString& heading) {
    const qsizetype at = text.indexOf(QStringLiteral("## ") + heading + u'\n');
    const QString below = (at < 0 ? text : text.mid(at)).section(u'\n', 1);
    return below.trimmed().section(QStringLiteral("\n\n"), 0, 0).trimmed();
}

QString answerText(const QString& page, const QString& from, const QString& heading) {
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w-]+)\\.md(#[\\w-]+)?\\)"));
    static const QRegularExpression comment(QStringLiteral("<!--[^\\n]*-->\\n?"));
    const QString pageText = helpPageText(page);
    QString text = beginningOf(from == page ? pageText : helpPageText(from), heading);
    if (page == QStringLiteral("models")) {
        QStringList families;
        for (const std::string& name : engine::family_names()) {
            families << QString::fromStdString(name);
        }
        text += QStringLiteral("\n\n") + HelpText::tr("Families: %1.").arg(families.join(QStringLiteral(", ")));
    }
    text.remove(comment).replace(link, QStringLiteral("](help:\\1)"));
    const QString title = QStringLiteral("[%1](help:%2)").arg(pageText.section(u'\n', 0, 0).mid(2), page);
    return text + QStringLiteral("\n\n") + HelpText::tr("More in the help: %1").arg(title);
}

// Words alone, each between blanks.
QString plainWords(const QString& text) {
    QString out;
    for (const QChar c : text.normalized(QString::NormalizationForm_C).toLower()) {
        out += c.isLetterOrNumber() ? c : u' ';
    }
    return u' ' + out.simplified() + u' ';
}

bool hasOneOf(const QString& plain, const QString& phrases, bool atItsBeginning) {
    const QStringList all = phrases.split(u',', Qt::SkipEmptyParts);
    return std::any_of(all.begin(), all.end(), [&](const QString& phrase) {
        const QString words = plainWords(phrase);
        const QStringView wanted = QStringView(words).chopped(phrase.endsWith(u'*') ? 1 : 0);
        return atItsBeginning ? plain.startsWith(wanted) : plain.contains(wanted);
    });
}

}  // namespace

QList<HelpAnswer> helpAnswers() {
    QFile file(QStringLiteral(":/help/questions.json"));
    const QJsonObject all =
        file.open(QFile::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
    const QJsonObject begins = all[QLatin1String("begins")].toObject();
    const QJsonObject program = all[QLatin1String("program")].toObject();
    QList<HelpAnswer> answers;
    for (const QJsonValue& topic : all[QLatin1String("topics")].toArray()) {
        const QString page = topic[QLatin1String("page")].toString();
        const QString from = topic[QLatin1String("from")].toString(page);
        HelpAnswer answer{
            offeredQuestion(page), page, answerText(page, from, topic[QLatin1String("heading")].toString()), {}};
        for (auto language = begins.begin(); language != begins.end(); ++language) {
            QStringList lists{language.value().toString()};
            for (const QJsonValue& list : topic[language.key()].toArray()) {
                lists << list.toString().replace(QStringLiteral("@program"), program[language.key()].toString());
            }
            if (lists.size() > 1) {
                answer.words << lists;
            }
        }
        answers << answer;
    }
    return answers;
}

const HelpAnswer* answerOf(const QList<HelpAnswer>& answers, const QString& typed) {
    const QString plain = plainWords(typed);
    if (typed.trimmed().contains(u'\n') || plain.count(u' ') > kLongestQuestion + 1) {
        return nullptr;
    }
    const auto isAsked = [&plain](const QStringList& lists) {
        for (qsizetype i = 0; i < lists.size(); ++i) {
            if (!hasOneOf(plain, lists[i], i == 0)) {
                return false;
            }
        }
        return true;
    };
    const auto found = std::find_if(answers.begin(), answers.end(), [&](const HelpAnswer& answer) {
        return (!answer.question.isEmpty() && plain == plainWords(answer.question)) ||
               std::any_of(answer.words.begin(), answer.words.end(), isAsked);
    });
    return found == answers.end() ? nullptr : &*found;
}

}  // namespace offstage::ui
