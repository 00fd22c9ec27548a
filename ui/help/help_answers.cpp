#include "ui/help/help_answers.h"

#include <algorithm>

#include <QCoreApplication>
#include <QStringList>

#include "engine/model/model_finder.h"
#include "ui/help/help_pages.h"

namespace offstage::ui {

namespace {

constexpr qsizetype kLongestQuestion = 16;

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

// Whom and how one asks; the subjects stand with the answers.
constexpr char kBegins[] = QT_TRANSLATE_NOOP("HelpAnswers", "can, could, may, do, does, is, are, will, which, what");
constexpr char kProgram[] =
    QT_TRANSLATE_NOOP("HelpAnswers", "you, your, i, this program, the program, this app, offstage");

// In English and in the window's language.
QString words(const char* english) {
    return QString::fromUtf8(english) + u',' + HelpText::tr(english);
}

// Below this heading of the page, up to the first blank line: a paragraph, or one item of
// a list after the other.
QString beginningOf(const QString& text, const QString& heading) {
    const qsizetype at = text.indexOf(QStringLiteral("## ") + heading + u'\n');
    const QString below = at < 0 ? text.section(u'\n', 1) : text.mid(at).section(u'\n', 1);
    return below.trimmed().section(QStringLiteral("\n\n"), 0, 0).trimmed();
}

// Words alone, each between blanks.
QString plainWords(const QString& text) {
    QString out;
    for (const QChar c : text.toLower()) {
        out += c.isLetterOrNumber() ? c : u' ';
    }
    return u' ' + out.simplified() + u' ';
}

bool hasOneOf(const QString& plain, const QString& phrases, bool atItsBeginning) {
    const QStringList all = phrases.split(u',', Qt::SkipEmptyParts);
    return std::any_of(all.begin(), all.end(), [&](const QString& phrase) {
        const QString wanted = plainWords(phrase);
        return atItsBeginning ? plain.startsWith(wanted) : plain.contains(wanted);
    });
}

}  // namespace

QList<HelpAnswer> helpAnswers() {
    QList<HelpAnswer> answers;
    const auto add = [&answers](const QString& question, const char* page, const char* heading, bool isOffered,
                                const char* verbs, const char* subjects) {
        const QString id = QString::fromLatin1(page), text = helpPageText(id);
        answers.append({question,
                        id,
                        text.section(u'\n', 0, 0).mid(2),
                        beginningOf(text, QString::fromLatin1(heading)),
                        isOffered,
                        {words(kBegins), words(kProgram), words(verbs), words(subjects)}});
    };
    add(HelpText::tr("Which models can this program open?"), "models", "What can be opened", true,
        QT_TRANSLATE_NOOP("HelpAnswers", "open, load, read, run, support, accept, know"),
        QT_TRANSLATE_NOOP("HelpAnswers",
                          "gguf, safetensors, which models, what models, other models, another model, own models, "
                          "model files, model formats, file formats, checkpoints"));
    QStringList families;
    for (const std::string& name : engine::family_names()) {
        families << QString::fromStdString(name);
    }
    answers.last().text +=
        QStringLiteral("\n\n") + HelpText::tr("Families: %1.").arg(families.join(QStringLiteral(", ")));
    add(HelpText::tr("Does this program send my data anywhere?"), "privacy", "What connects, what listens", true,
        QT_TRANSLATE_NOOP("HelpAnswers", "send, upload, share, collect, connect, need, use, have, go, work"),
        QT_TRANSLATE_NOOP("HelpAnswers",
                          "my data, my conversations, my messages, the internet, internet access, internet connection, "
                          "network connection, offline, online, the cloud, telemetry"));
    add(HelpText::tr("Which files can go with a message?"), "chat", "Files with a message", false,
        QT_TRANSLATE_NOOP("HelpAnswers", "read, open, attach, take, accept, see, send, upload"),
        QT_TRANSLATE_NOOP(
            "HelpAnswers",
            "pdf, pdfs, pdf files, which files, what files, kinds of files, attachments, images, pictures, "
            "photos, my files"));
    add(HelpText::tr("Can other computers help?"), "machines", "Machines", false,
        QT_TRANSLATE_NOOP("HelpAnswers", "use, connect, share, spread, run, borrow, help"),
        QT_TRANSLATE_NOOP("HelpAnswers",
                          "other machines, other computers, another machine, another computer, several machines, "
                          "several computers, two machines, two computers, a cluster"));
    add(HelpText::tr("Which panels are there?"), "start", "", false, "",
        QT_TRANSLATE_NOOP("HelpAnswers", "panel, panels"));
    answers.last().text = beginningOf(helpPageText(QStringLiteral("README")), QStringLiteral("The panels"));
    answers.last().words.remove(1, 2);  // there is nothing else that has panels
    return answers;
}

const HelpAnswer* answerOf(const QList<HelpAnswer>& answers, const QString& typed) {
    const QString plain = plainWords(typed);
    if (typed.trimmed().contains(u'\n') || plain.count(u' ') > kLongestQuestion + 1) {
        return nullptr;
    }
    const auto found = std::find_if(answers.begin(), answers.end(), [&plain](const HelpAnswer& answer) {
        if (plain == plainWords(answer.question)) {
            return true;
        }
        for (qsizetype i = 0; i < answer.words.size(); ++i) {
            if (!hasOneOf(plain, answer.words[i], i == 0)) {
                return false;
            }
        }
        return !answer.words.isEmpty();
    });
    return found == answers.end() ? nullptr : &*found;
}

}  // namespace offstage::ui
