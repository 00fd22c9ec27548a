// Questions to the demo model: those about the program are answered from the manual, all
// others are the model's.

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "ui/help/help_answers.h"
#include "ui/help/help_pages.h"

using namespace offstage::ui;

namespace {

QJsonObject jsonOf(const QString& path) {
    QFile file(path);
    return file.open(QFile::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

}  // namespace

class TestHelpAnswers : public QObject {
    Q_OBJECT

    const HelpAnswers m_answers;
    const QJsonObject m_asked = jsonOf(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/ui/data/help_questions.json"));

  private Q_SLOTS:
    void question_isAnsweredFromItsPage_data() {
        QTest::addColumn<QString>("question");
        QTest::addColumn<QString>("page");
        const QJsonObject pages = m_asked[QLatin1String("pages")].toObject();
        for (auto page = pages.begin(); page != pages.end(); ++page) {
            for (const QJsonValue& question : page.value().toArray()) {
                QTest::newRow(qPrintable(question.toString())) << question.toString() << page.key();
            }
        }
    }
    void question_isAnsweredFromItsPage() {
        QFETCH(const QString, question);
        QFETCH(const QString, page);
        const std::optional<HelpAnswer> answer = m_answers.answerOf(question);
        QVERIFY(answer);
        QCOMPARE(answer->page, page);
        QVERIFY2(answer->text.size() > 80 && answer->text.contains(QStringLiteral("](help:%1)").arg(page)),
                 qPrintable(answer->text));
        QVERIFY2(!answer->text.contains(QStringLiteral(".md)")), qPrintable(answer->text));
    }

    // The part of the page that says it, not any other one.
    void answer_saysWhatWasAsked_data() {
        QTest::addColumn<QString>("question");
        QTest::addColumn<QString>("words");
        const QJsonObject texts = m_asked[QLatin1String("texts")].toObject();
        for (auto text = texts.begin(); text != texts.end(); ++text) {
            QTest::newRow(qPrintable(text.key())) << text.key() << text.value().toString();
        }
    }
    void answer_saysWhatWasAsked() {
        QFETCH(const QString, question);
        QFETCH(const QString, words);
        const std::optional<HelpAnswer> answer = m_answers.answerOf(question);
        QVERIFY(answer);
        QVERIFY2(answer->text.simplified().contains(words), qPrintable(answer->text));
    }

    // Whoever asks in another language than the window's reads in that one that the text
    // is English.
    void questionInAnotherLanguage_saysThatTheHelpIsEnglish() {
        const auto begins = [this](const char* question, const char* text) {
            const std::optional<HelpAnswer> answer = m_answers.answerOf(QString::fromUtf8(question));
            return answer && answer->text.startsWith(QString::fromUtf8(text));
        };
        QVERIFY(begins("Wie lösche ich eine Unterhaltung?", "Die Hilfe gibt es nur auf Englisch"));
        QVERIFY(begins("Was ist Quantisierung?", "Die Hilfe gibt es nur auf Englisch"));
        QVERIFY(begins("Làm sao xóa cuộc trò chuyện?", "Phần trợ giúp"));
        QVERIFY(begins("How do I delete a conversation?", "The **Conversation** menu"));
    }

    // What is taken falsely is worse than what is missed.
    void everydayPrompt_isTheModels_data() {
        QTest::addColumn<QString>("prompt");
        for (const QJsonValue& prompt : m_asked[QLatin1String("model")].toArray()) {
            QTest::newRow(qPrintable(prompt.toString())) << prompt.toString();
        }
    }
    void everydayPrompt_isTheModels() {
        QFETCH(const QString, prompt);
        const std::optional<HelpAnswer> answer = m_answers.answerOf(prompt);
        QVERIFY2(!answer, answer ? qPrintable(answer->page + u' ' + answer->text) : "");
    }

    // Words of everyday life decide nothing, in whichever question they stand.
    void everydayWord_decidesNothing() {
        const QStringList words =
            QStringLiteral(
                "safe secure private slow quality language temperature seed instructions branch "
                "answer voice menu button manual style mistakes cpu gpu ram processor persona "
                "benchmark shortcut dispatch simulated licence program app sicher privat langsam "
                "qualität sprache temperatur anweisungen zweig antwort stimme menü knopf anleitung "
                "fehler prozessor lizenz protokoll programm modell")
                .split(u' ');
        const QStringList frames = QStringLiteral(
                                       "Is it %1?|How do I find the %1?|Can you tell me about the %1?|Do you like %1?|"
                                       "What is the %1?|Ist das %1?|Kannst du mir %1 erklären?|Was ist %1?|Gibt es %1?")
                                       .split(u'|');
        QStringList taken;
        for (const QString& frame : frames) {
            for (const QString& word : words) {
                if (m_answers.answerOf(frame.arg(word))) {
                    taken << frame.arg(word);
                }
            }
        }
        // Whole questions in which the program is meant.
        QCOMPARE(taken, (QStringList{QStringLiteral("Is it safe?"), QStringLiteral("Ist das sicher?"),
                                     QStringLiteral("Ist das privat?")}));
    }

    // What the demo model was trained for, but for the program.
    void promptOfTheModelsOwnSubjects_isTheModels() {
        const QJsonObject domains = jsonOf(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model/heldout.json"));
        qsizetype n = 0;
        for (auto domain = domains.begin(); domain != domains.end(); ++domain) {
            for (const QJsonValue& row : domain.value().toArray()) {
                const QString prompt = row[QLatin1String("prompt")].toString();
                if (domain.key() != QStringLiteral("offstage")) {
                    QVERIFY2(!m_answers.answerOf(prompt), qPrintable(prompt));
                    ++n;
                }
            }
        }
        QVERIFY(n >= 300);
    }

    void longTextsAndTasks_areTheModels() {
        const QString question = QStringLiteral("Can you open GGUF files?");
        QVERIFY(m_answers.answerOf(question));
        QVERIFY(m_answers.answerOf(question + u'\n'));
        QVERIFY(!m_answers.answerOf(question + u'\n' + question));
        QVERIFY(m_answers.answerOf(QStringLiteral("well ").repeated(15) + question));
        QVERIFY(!m_answers.answerOf(QStringLiteral("well ").repeated(16) + question));
        QVERIFY(!m_answers.answerOf(QStringLiteral("Please write a poem about Offstage.")));
        QVERIFY(!m_answers.answerOf(QStringLiteral("Can you make your answer about Offstage shorter?")));
        QVERIFY(!m_answers.answerOf({}));
    }

    void everyTopic_hasItsPartOfAPage() {
        const QJsonArray topics = jsonOf(QStringLiteral(":/help/questions.json"))[QLatin1String("topics")].toArray();
        QVERIFY(topics.size() > 20);
        for (const QJsonValue& topic : topics) {
            const QString page = topic[QLatin1String("page")].toString();
            const QString heading = topic[QLatin1String("heading")].toString();
            const QString text = helpPageText(topic[QLatin1String("from")].toString(page));
            QVERIFY2(page.isEmpty() || !text.isEmpty(), qPrintable(page));
            QVERIFY2(heading.isEmpty() || text.contains(QStringLiteral("\n## %1\n").arg(heading)),
                     qPrintable(page + u' ' + heading));
        }
    }
};

QTEST_GUILESS_MAIN(TestHelpAnswers)
#include "tst_help_answers.moc"
