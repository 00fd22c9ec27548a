#include "ui/help/help_answers.h"

#include <algorithm>
#include <array>

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

constexpr qsizetype kLongestQuestion = 20;  // words
constexpr qsizetype kFewestFound = 2;       // words of a question that a part of a page must have

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

struct Offered {
    const char* question;
    QLatin1String page, heading;
};
constexpr std::array kOffered{
    Offered{QT_TRANSLATE_NOOP("HelpAnswers", "Which models can this program open?"), QLatin1String("models"),
            QLatin1String("What can be opened")},
    Offered{QT_TRANSLATE_NOOP("HelpAnswers", "Does this program send my data anywhere?"), QLatin1String("privacy"),
            QLatin1String("What connects, what listens")},
};

struct Block {
    QString text, plain;
};

// Words alone, each between blanks.
QString plainWords(const QString& text) {
    QString out;
    for (const QChar c : text.normalized(QString::NormalizationForm_C).toLower()) {
        out += c.isLetterOrNumber() ? c : u' ';
    }
    return u' ' + out.simplified() + u' ';
}

// With marks of its begin and end.
QString wholeQuestion(const QString& plain) {
    return QStringLiteral("^%1$").arg(plain);
}

// In all languages.
QStringList phrasesOf(const QJsonValue& lists) {
    QStringList out;
    const QJsonObject all = lists.toObject();
    for (const QJsonValue& list : all) {
        for (const QString& each : list.toString().split(u',', Qt::SkipEmptyParts)) {
            const QString phrase = each.trimmed(), words = plainWords(phrase);
            out << (phrase.startsWith(u'=') ? wholeQuestion(words) : phrase.endsWith(u'*') ? words.chopped(1) : words);
        }
    }
    return out;
}

bool hasOneOf(const QString& plain, const QStringList& phrases) {
    return std::any_of(phrases.begin(), phrases.end(), [&](const QString& each) { return plain.contains(each); });
}

// Paragraphs and whole lists below the heading, or of the whole page: what can be read by
// itself. No code, no tables.
QList<Block> blocksOf(const QString& page, const QString& heading) {
    static const QRegularExpression comment(QStringLiteral("<!--[^\\n]*-->\\n?"));
    QString text = helpPageText(page).remove(comment);
    if (!heading.isEmpty()) {
        text = text.mid(text.indexOf(QStringLiteral("\n## ") + heading + u'\n') + 1).section(u'\n', 1);
        text = text.section(QStringLiteral("\n## "), 0, 0);
    }
    QList<Block> blocks;
    for (const QString& block : text.split(QStringLiteral("\n\n"), Qt::SkipEmptyParts)) {
        if (!block.startsWith(QStringLiteral("    ")) && !block.startsWith(u'#') && !block.trimmed().startsWith(u'|')) {
            blocks.append({block.trimmed(), plainWords(block)});
        }
    }
    return blocks;
}

qsizetype foundIn(const Block& block, const QStringList& words) {
    return std::count_if(words.begin(), words.end(), [&](const QString& word) { return block.plain.contains(word); });
}

// The first one with most of the words, where it has at least two of them; else the first.
Block bestOf(const QList<Block>& blocks, const QStringList& words) {
    Block best = blocks.value(0);
    for (const Block& each : blocks) {
        if (foundIn(each, words) >= std::max(kFewestFound, foundIn(best, words) + 1)) {
            best = each;
        }
    }
    return best;
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
    m_program = phrasesOf(all[QLatin1String("program")]);
    m_frames = phrasesOf(all[QLatin1String("frames")]);
    m_polite = phrasesOf(all[QLatin1String("polite")]);
    m_tasks = phrasesOf(all[QLatin1String("tasks")]);
    m_subjects = phrasesOf(all[QLatin1String("subjects")]);
    m_answers = phrasesOf(all[QLatin1String("answers")]);
    m_changes = phrasesOf(all[QLatin1String("changes")]);
    m_skipped = all[QLatin1String("skipped")].toString().split(u' ', Qt::SkipEmptyParts);
    for (const QJsonValue& topic : all[QLatin1String("topics")].toArray()) {
        const QString page = topic[QLatin1String("page")].toString();
        m_topics.append({page, topic[QLatin1String("from")].toString(page), topic[QLatin1String("heading")].toString(),
                         phrasesOf(topic[QLatin1String("sure")]), phrasesOf(topic[QLatin1String("asked")]),
                         phrasesOf(topic[QLatin1String("named")])});
    }
}

QStringList HelpAnswers::offered() {
    QStringList questions;
    for (const Offered& each : kOffered) {
        questions << HelpText::tr(each.question);
    }
    return questions;
}

HelpAnswer HelpAnswers::answerOfOffered(qsizetype question) const {
    const Offered& offered = kOffered.at(static_cast<size_t>(question));
    return answerFrom({offered.page, offered.page, offered.heading, {}, {}, {}}, {});
}

// By the longest phrase; of equals the first. A question that only names the program is
// of the topic without a page.
const HelpAnswers::Topic* HelpAnswers::topicOf(const QString& plain) const {
    const QString whole = wholeQuestion(plain);
    const Topic *best = nullptr, *any = nullptr;
    qsizetype longest = 0;
    const auto take = [&](const Topic& topic, const Phrases& phrases) {
        for (const QString& phrase : phrases) {
            if (phrase.size() > longest && whole.contains(phrase)) {
                longest = phrase.size();
                best = &topic;
            }
        }
    };
    const bool isNamed = hasOneOf(plain, m_program), isAsked = isNamed || hasOneOf(plain, m_frames);
    for (const Topic& topic : m_topics) {
        take(topic, topic.sure);
        if (isAsked) {
            take(topic, topic.asked);
        }
        if (isNamed) {
            take(topic, topic.named);
        }
        if (topic.page.isEmpty()) {
            any = &topic;
        }
    }
    return best == nullptr && isNamed ? any : best;
}

bool HelpAnswers::isTask(const QString& plain) const {
    QString rest = plain;
    for (bool isPolite = true; isPolite;) {
        isPolite = false;
        for (const QString& phrase : m_polite) {
            if (rest.startsWith(phrase)) {
                rest = rest.mid(phrase.size() - 1);
                isPolite = true;
            }
        }
    }
    const auto begins = [&](const QString& phrase) { return rest.startsWith(phrase); };
    return hasOneOf(plain, m_subjects) || std::any_of(m_tasks.begin(), m_tasks.end(), begins);
}

// The beginnings of the words that say what is asked, without endings.
QStringList HelpAnswers::contentOf(const QString& plain) const {
    QString rest = plain;
    for (const QString& phrase : m_program) {
        rest.replace(phrase, QStringLiteral(" "));
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
        QString text =
            bestOf(blocksOf(topic.from, topic.heading), topic.from == topic.page ? words : QStringList()).text;
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
        const Block block = bestOf(blocksOf(each, {}), words);
        if (words.size() >= kFewestFound && found.isEmpty() && foundIn(block, words) == words.size()) {
            page = each;
            found = block.text;
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
    const bool isLong = typed.trimmed().contains(u'\n') || plain.count(u' ') > kLongestQuestion + 1;
    const bool goesOn = hasOneOf(plain, m_answers) && hasOneOf(plain, m_changes);
    if (isLong || goesOn || isTask(plain)) {
        return std::nullopt;
    }
    const Topic* const topic = topicOf(plain);
    return topic == nullptr ? std::nullopt : std::optional(answerFrom(*topic, plain));
}

}  // namespace offstage::ui
