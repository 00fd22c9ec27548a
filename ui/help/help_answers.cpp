#include "ui/help/help_answers.h"

#include <QCoreApplication>
#include <QTextDocument>

#include "ui/help/help_pages.h"

namespace offstage::ui {

namespace {

struct HelpText {
    Q_DECLARE_TR_FUNCTIONS(HelpAnswers)
};

// Below this heading of the page, up to the first blank line: a paragraph, or one item of
// a list after the other.
QString beginningOf(const QString& text, const QString& heading) {
    const qsizetype at = text.indexOf(QStringLiteral("## ") + heading + u'\n');
    const QString below = at < 0 ? text.section(u'\n', 1) : text.mid(at).section(u'\n', 1);
    QTextDocument plain;
    plain.setMarkdown(below.trimmed().section(QStringLiteral("\n\n"), 0, 0));
    return plain.toPlainText().trimmed();
}

}  // namespace

QList<HelpAnswer> helpAnswers() {
    QList<HelpAnswer> answers;
    const auto add = [&answers](const QString& question, const char* page, const char* heading) {
        const QString id = QString::fromLatin1(page), text = helpPageText(id);
        answers.append(
            {question, id, text.section(u'\n', 0, 0).mid(2), beginningOf(text, QString::fromLatin1(heading))});
    };
    add(HelpText::tr("Which models can this program open?"), "models", "What can be opened");
    add(HelpText::tr("Does this program send my data anywhere?"), "privacy", "What connects, what listens");
    return answers;
}

}  // namespace offstage::ui
