#pragma once

#include <QList>
#include <QString>
#include <QStringList>

namespace offstage::ui {

// A question about the program, which the manual answers and no model need know.
struct HelpAnswer {
    QString question;  // as it is offered where nothing was said yet; empty: it is not
    QString page;      // HelpPage::id
    QString text;      // the beginning of the answer, Markdown, and a link to the page: "help:models"
    // For each language: ways to ask this begin with a word of the first list, and have
    // one of each of the others. Words and phrases in lower case, between commas.
    QList<QStringList> words;
};

// From resources/help/questions.json, in its order.
QList<HelpAnswer> helpAnswers();

// The answer of a question that is clearly about this program, in any of the window's
// languages; nullptr: another subject, no question, or more than one short line.
const HelpAnswer* answerOf(const QList<HelpAnswer>& answers, const QString& typed);

}  // namespace offstage::ui
