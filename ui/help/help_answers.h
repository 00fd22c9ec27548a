#pragma once

#include <QList>
#include <QString>

namespace offstage::ui {

// A question about the program, which the manual answers and no model need know.
struct HelpAnswer {
    QString question;
    QString page;   // HelpPage::id
    QString title;  // the page's heading
    QString text;   // the beginning of the answer, without Markdown
};

// In the order in which they are offered.
QList<HelpAnswer> helpAnswers();

}  // namespace offstage::ui
