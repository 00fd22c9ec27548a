#pragma once

#include <optional>

#include <QString>
#include <QStringList>

#include "engine/manual/manual_answers.h"

namespace offstage::ui {

// A part of the manual as a card shows it.
struct HelpAnswer {
    QString page;  // HelpPage::id
    QString text;  // Markdown, and a link to the page: "help:models"
};

// What the manual of the program's resources says to questions about the program, in the
// window's language around it. Any thread.
class HelpAnswers {
  public:
    HelpAnswers();

    // Those that are offered where nothing was said yet.
    static QStringList offered();
    // That of offered()[question], in whichever words it was shown.
    HelpAnswer answerOfOffered(qsizetype question) const;
    // As ManualAnswers::answer_of().
    std::optional<HelpAnswer> answerOf(const QString& typed) const;

  private:
    engine::ManualAnswers m_manual;
};

}  // namespace offstage::ui
