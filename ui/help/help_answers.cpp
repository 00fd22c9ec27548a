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

constexpr qsizetype kLongestQuestion = 40;  // words
constexpr qsizetype kFewestFound = 2;       // words of a question that a part of any page must have

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

// Words alone, each between blanks.
QString plainWords(const QString& text) {
    QString out;
    for (const QChar c : text.normalized(QString::NormalizationForm_C).toLower()) {
        out += c.isLetterOrNumber() ? c : u' ';
    }
    return u' ' + out.simplified() + u' ';
}

QStringList phrasesOf(const QString& list) {
    QStringList out;
    for (const QString& phrase : list.split(u',', Qt::SkipEmptyParts)) {
        const QString words = plainWords(phrase);
        out << (phrase.endsWith(u'*') ? words.chopped(1) : words);
    }
    return out;
}

QList<QStringList> byLanguage(const QJsonValue& lists) {
    QList<QStringList> out;
    for (const char* language : {"en", "de", "vi"}) {
        out << phrasesOf(lists[QLatin1String(language)].toString());
    }
    return out;
}

bool hasOneOf(const QString& plain, const QStringList& phrases) {
    return std::any_of(phrases.begin(), phrases.end(), [&](const QString& each) { return plain.contains(each); });
}

bool hasOneOf(const QString& plain, const QList<QStringList>& lists) {
    return std::any_of(lists.begin(), lists.end(), [&](const QStringList& each) { return hasOneOf(plain, each); });
}

// Paragraphs and whole lists below the heading, or of the whole page: what can be read by
// itself. No code, no tables.
QStringList blocksOf(const QString& page, const QString& heading) {
    static const QRegularExpression comment(QStringLiteral("<!--[^\\n]*-->\\n?"));
    QString text = helpPageText(page).remove(comment);
    if (!heading.isEmpty()) {
        text = text.mid(text.indexOf(QStringLiteral("\n## ") + heading + u'\n') + 1).section(u'\n', 1);
        text = text.section(QStringLiteral("\n## "), 0, 0);
    }
    QStringList blocks;
    for (const QString& block : text.split(QStringLiteral("\n\n"), Qt::SkipEmptyParts)) {
        if (!block.startsWith(QStringLiteral("    ")) && !block.startsWith(u'#') && !block.trimmed().startsWith(u'|')) {
            blocks << block.trimmed();
        }
    }
    return blocks;
}

qsizetype foundIn(const QString& block, const QStringList& words) {
    const QString plain = plainWords(block);
    return std::count_if(words.begin(), words.end(), [&](const QString& word) { return plain.contains(word); });
}

// The one with most of the words; of equals the first.
QString bestOf(const QStringList& blocks, const QStringList& words) {
    const auto best = std::max_element(blocks.begin(), blocks.end(), [&](const QString& a, const QString& b) {
        return foundIn(a, words) < foundIn(b, words);
    });
    return best == blocks.end() ? QString() : *best;
}

// By its title.
QString linkTo(const QString& page) {
    return QStringLiteral("[%1](help:%2)").arg(helpPageText(page).section(u'\n', 0, 0).mid(2), page);
}

HelpAnswer withLink(const QString& page, QString text) {
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w-]+)\\.md(#[\\w-]+)?\\)"));
    text.replace(link, QStringLiteral("](help:\\1)"));
    return {page, text + QStringLiteral("\n\n") + HelpText::tr("More in the help: %1").arg(linkTo(page))};
}

QStringList searchedPages() {
    static const QRegularExpression link(QStringLiteral("\\]\\(([\\w-]+)\\.md\\)"));
    QStringList pages;
    for (auto it = link.globalMatch(helpPageText(QStringLiteral("README"))); it.hasNext();) {
        pages << it.next().captured(1);
    }
    return pages;
}

}  // namespace

HelpAnswers::HelpAnswers() {
    QFile file(QStringLiteral(":/help/questions.json"));
    const QJsonObject all =
        file.open(QFile::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
    m_program = byLanguage(all[QLatin1String("program")]);
    m_you = byLanguage(all[QLatin1String("you")]);
    m_polite = byLanguage(all[QLatin1String("polite")]);
    m_tasks = byLanguage(all[QLatin1String("tasks")]);
    m_subjects = byLanguage(all[QLatin1String("subjects")]);
    m_skipped = all[QLatin1String("skipped")].toString().split(u' ', Qt::SkipEmptyParts);
    for (const QJsonValue& topic : all[QLatin1String("topics")].toArray()) {
        const QString page = topic[QLatin1String("page")].toString();
        m_topics.append({page, topic[QLatin1String("from")].toString(page), topic[QLatin1String("heading")].toString(),
                         byLanguage(topic[QLatin1String("sure")]), byLanguage(topic[QLatin1String("asked")])});
    }
}

QStringList HelpAnswers::offered() {
    return {HelpText::tr("Which models can this program open?"),
            HelpText::tr("Does this program send my data anywhere?")};
}

// By the longest phrase; of equals the first. A question that only names the program is
// of the topic without a page.
const HelpAnswers::Topic* HelpAnswers::topicOf(const QString& plain) const {
    const Topic* best = nullptr;
    qsizetype longest = 0;
    const auto take = [&](const Topic& topic, const QStringList& phrases) {
        for (const QString& phrase : phrases) {
            if (phrase.size() > longest && plain.contains(phrase)) {
                longest = phrase.size();
                best = &topic;
            }
        }
    };
    const bool isNamed = hasOneOf(plain, m_program);
    for (const Topic& topic : m_topics) {
        for (qsizetype language = 0; language < m_you.size(); ++language) {
            take(topic, topic.sure[language]);
            if (isNamed || hasOneOf(plain, m_you[language])) {
                take(topic, topic.asked[language]);
            }
        }
    }
    if (best == nullptr && isNamed) {
        best = &*std::find_if(m_topics.begin(), m_topics.end(), [](const Topic& each) { return each.page.isEmpty(); });
    }
    return best;
}

bool HelpAnswers::isTask(const QString& plain) const {
    QString rest = plain;
    for (bool isPolite = true; isPolite;) {
        isPolite = false;
        for (const QStringList& phrases : m_polite) {
            for (const QString& phrase : phrases) {
                if (rest.startsWith(phrase)) {
                    rest = rest.mid(phrase.size() - 1);
                    isPolite = true;
                }
            }
        }
    }
    const auto begins = [&](const QString& phrase) { return rest.startsWith(phrase); };
    return hasOneOf(plain, m_subjects) || std::any_of(m_tasks.begin(), m_tasks.end(), [&](const QStringList& phrases) {
               return std::any_of(phrases.begin(), phrases.end(), begins);
           });
}

// The beginnings of the words that say what is asked, without endings.
QStringList HelpAnswers::contentOf(const QString& plain) const {
    QString rest = plain;
    for (const QStringList& phrases : m_program) {
        for (const QString& phrase : phrases) {
            rest.replace(phrase, QStringLiteral(" "));
        }
    }
    static const QRegularExpression ending(QStringLiteral("(ing|es|s|e)$"));
    QStringList words;
    for (QString word : rest.split(u' ', Qt::SkipEmptyParts)) {
        if (!m_skipped.contains(word)) {
            words << u' ' + (word.size() > 4 ? word.remove(ending) : word);
        }
    }
    return words;
}

HelpAnswer HelpAnswers::answerFrom(const Topic& topic, const QString& plain) const {
    const QStringList words = contentOf(plain);
    if (!topic.page.isEmpty()) {
        QString text = bestOf(blocksOf(topic.from, topic.heading), topic.from == topic.page ? words : QStringList());
        if (topic.page == QStringLiteral("models") && topic.heading == QStringLiteral("What can be opened")) {
            QStringList families;
            for (const std::string& name : engine::family_names()) {
                families << QString::fromStdString(name);
            }
            text += QStringLiteral("\n\n") + HelpText::tr("Families: %1.").arg(families.join(QStringLiteral(", ")));
        }
        return withLink(topic.page, text);
    }
    QString page, found;
    for (const QString& each : searchedPages()) {
        const QString block = bestOf(blocksOf(each, {}), words);
        if (words.size() >= kFewestFound && found.isEmpty() && foundIn(block, words) == words.size()) {
            page = each;
            found = block;
        }
    }
    return found.isEmpty() ? HelpAnswer{QStringLiteral("start"),
                                        HelpText::tr("The demo model does not know this program well enough to answer. "
                                                     "%1 says where everything is, and the search in the help (F1) "
                                                     "looks through all of its pages.")
                                            .arg(linkTo(QStringLiteral("start")))}
                           : withLink(page, found);
}

std::optional<HelpAnswer> HelpAnswers::answerOf(const QString& typed) const {
    const QString plain = plainWords(typed);
    if (plain.count(u' ') > kLongestQuestion + 1 || isTask(plain)) {
        return std::nullopt;
    }
    const Topic* const topic = topicOf(plain);
    return topic == nullptr ? std::nullopt : std::optional(answerFrom(*topic, plain));
}

}  // namespace offstage::ui
