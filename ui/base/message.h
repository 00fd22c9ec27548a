#pragma once
// One entry of a conversation, as a plain value.

#include <optional>

#include <QCoreApplication>
#include <QJsonArray>
#include <QList>
#include <QMetaType>
#include <QString>

namespace offstage::ui {

// Unique among all messages of a history, in every conversation; 0: none.
using MessageId = quint64;

// The figures of one answer.
struct AnswerFigures {
    double ttftSeconds = 0;
    double tokensPerSecond = 0;
    qint64 tokensIn = 0;
    qint64 tokensReused = 0;  // of tokensIn, found in the KV cache
    qint64 tokensOut = 0;
    bool emulated = false;  // times are an emulated device's: worked out, not measured
    // Set if neurons of experts were left out, so that the answer is not the model's own.
    // theta: neurons up to this value; thetaLoss: each expert's own theta for this loss;
    // acceptsGuesses: guessed neurons were used too (engine::ThetaChoice).
    double theta = 0;
    double thetaLoss = 0;
    bool acceptsGuesses = false;
    // Of its steps of decode (engine::DraftReport): drafted tokens, and those of them
    // that the model then wrote; tokens of a step; how many more experts drafts called.
    qint64 drafted = 0, accepted = 0;
    double tokensPerStep = 0, moreExperts = 0;
};

// The model's thinking before its answer.
struct Thought {
    QString text;         // empty: nothing
    bool isOpen = false;  // it goes on, or the answer was cut short within it
    qint64 tokens = 0;
    double seconds = 0;  // the user's waiting time for it

    bool isEmpty() const { return text.isEmpty() && tokens == 0; }
    bool operator==(const Thought&) const = default;
};

// A file that goes to the model together with a prompt.
struct Attachment {
    QString name;      // without its folder
    qint64 bytes = 0;  // of the file
    QString text;      // the whole of it, lines ended by '\n'

    bool operator==(const Attachment&) const = default;
};

// The buttons of an error card.
enum class ProblemAction {
    OpenWithOptions,
    OpenModel,
    OpenPreviousModel,
    OpenDemoModel,
    ChooseTemplate,  // of the model that is open
    EditPrompt,
    TryAgain,
    AskAnew,  // in a new conversation
    // The conversation fills the context: a larger one, or it goes on without its oldest
    // turns, or with a summary of them.
    LargerContext,
    LeaveOutOldest,
    SummariseOldest,
};

struct Problem {
    QString title;
    QString sentence;
    QString detail;  // may be empty
    QList<ProblemAction> actions;
    qint64 context = 0;  // tokens, of LargerContext
    QJsonArray kept;     // title and sentence of a prompt that was never answered, for the disk (keptText())
};

struct Message {
    enum class Kind { Prompt, Answer, Problem };
    enum class State {
        Done,
        Waiting,  // an answer whose model is still loading, or whose prompt is being read
        Streaming,
        Stopped,  // by the user, at the limit of tokens, because the model or the conversation was changed, or
                  // because the user wrote its end: it can be continued
        Failed,   // an answer that ended in a problem; a prompt that was never answered
    };

    MessageId id = 0;
    // Messages form a tree: an edited prompt and an edited or regenerated answer are
    // siblings of the original. A ConversationModel shows one path through it.
    MessageId parent = 0;
    int branch = 0;        // place among its siblings, from 0
    int branches = 1;      // siblings, itself included
    qint64 createdMs = 0;  // since 1970, UTC; 0: not known
    Kind kind = Kind::Prompt;
    State state = State::Done;
    QString text;
    QList<Attachment> attachments;  // of a prompt
    Thought thought;                // an answer's
    QString author;                 // the model of an answer
    // HelpPage::id of an answer that the manual gave: the model sees neither it nor its
    // prompt. Empty: the model wrote it.
    QString helpPage;
    bool edited = false;  // an answer whose text, or the beginning of it, the user wrote
    // Of a prompt: the model no longer sees what stands above it, but only this summary
    // of that, which may be empty.
    std::optional<QString> cut;
    QString note;  // e.g. why an answer ended early: noteText()
    std::optional<AnswerFigures> figures;
    Problem problem;  // for Kind::Problem; of a prompt that was never answered: why
};

// Notes that stay with messages. They are stored in English, because the window's
// language may change.
inline constexpr char kClosedWhileWriting[] =
    QT_TRANSLATE_NOOP("History", "Offstage was closed while this was being written");
inline constexpr char kClosedBefore[] = QT_TRANSLATE_NOOP("History", "Offstage was closed before this was answered");
inline constexpr char kStopped[] = QT_TRANSLATE_NOOP("History", "Stopped");
inline constexpr char kNotAnswered[] = QT_TRANSLATE_NOOP("History", "Not answered");
inline constexpr char kNotComplete[] = QT_TRANSLATE_NOOP("History", "Not complete");
inline constexpr char kEndedInThought[] =
    QT_TRANSLATE_NOOP("History", "The model ended its turn within the thought, without an answer");
inline constexpr char kContextWasFull[] = QT_TRANSLATE_NOOP("History", "The context is full");
inline constexpr char kEndedAtLimit[] =
    QT_TRANSLATE_NOOP("History", "Ended at the limit of %1 tokens (Instructions and sampling)");
// In the window's language.
QString noteText(const QString& note);

// Who speaks, for people.
inline QString speakerOf(const Message& message) {
    return message.kind == Message::Kind::Prompt ? QCoreApplication::translate("Message", "You")
           : !message.helpPage.isEmpty()         ? QCoreApplication::translate("Message", "From the help")
           : message.author.isEmpty()            ? QCoreApplication::translate("Message", "Offstage")
                                                 : message.author;
}

}  // namespace offstage::ui

Q_DECLARE_METATYPE(offstage::ui::Message)
