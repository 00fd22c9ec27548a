#pragma once

#include <optional>

#include <QList>
#include <QString>
#include <QStringList>

namespace offstage::ui {

// What the manual says to a question about the program, so that no model need know it.
struct HelpAnswer {
    QString page;  // HelpPage::id
    QString text;  // a part of the page, Markdown, and a link to it: "help:models"
};

// Knows questions about the program in all of the window's languages, by the phrases of
// resources/help/questions.json, and finds their answers in the manual. What is taken
// falsely is worse than what is missed. Any thread.
class HelpAnswers {
  public:
    HelpAnswers();

    // Those that are offered where nothing was said yet.
    static QStringList offered();
    // That of offered()[question], in whichever words it was shown.
    HelpAnswer answerOfOffered(qsizetype question) const;
    // The answer of a short text that is about this program: the part of a page that suits
    // best, or where to look. Nothing: it is about something else, goes on with the
    // conversation, or asks for what only a model can do.
    std::optional<HelpAnswer> answerOf(const QString& typed) const;

  private:
    // Words between blanks. Where the beginning of the last word counts there is no blank
    // behind it; that of a whole question has the marks of its begin and end.
    using Phrases = QStringList;
    struct Topic {
        QString page, from, heading;  // of the text, in the page `from`; no page: in any
        Phrases sure, asked, named;   // `named` count only beside m_program, `asked` also beside m_frames
    };

    const Topic* topicOf(const QString& plain) const;
    bool isTask(const QString& plain) const;
    HelpAnswer answerFrom(const Topic& topic, const QString& plain) const;
    QStringList contentOf(const QString& plain) const;

    QList<Topic> m_topics;
    Phrases m_program, m_frames, m_polite, m_tasks, m_subjects, m_answers, m_changes;
    QStringList m_skipped;
};

}  // namespace offstage::ui
