#pragma once

#include <QList>
#include <QString>

namespace offstage::ui {

// A question about the program, which the manual answers and no model need know.
struct HelpAnswer {
    QString question;
    QString page;           // HelpPage::id
    QString title;          // the page's heading
    QString text;           // the beginning of the answer, Markdown; its links are pages: "models.md"
    bool isOffered = true;  // as a card where nothing was said yet
    // Other ways to ask the same begin with a word of the first list, and have one of
    // each of the others. Words and phrases in lower case, between commas.
    QStringList words;
};

// In the order in which they are offered.
QList<HelpAnswer> helpAnswers();

// The answer of a question that is clearly about this program; nullptr: another subject,
// no question, or more than one short line.
const HelpAnswer* answerOf(const QList<HelpAnswer>& answers, const QString& typed);

}  // namespace offstage::ui
