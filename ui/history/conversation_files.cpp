#include "ui/history/conversation_files.h"

#include <cmath>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>

#include "ui/base/prompt_text.h"
#include "ui/base/save_file.h"
#include "ui/engine/format.h"
#include "ui/history/conversation_tree.h"
#include "ui/history/history_json.h"

namespace offstage::ui {

namespace {

constexpr qint64 kMaxFileBytes = qint64{1} << 30;
const QLatin1String kFormat("offstage.conversation");
constexpr int kVersion = 1;

struct FilesText {
    Q_DECLARE_TR_FUNCTIONS(ConversationFiles)
};

QString numberOrText(const QJsonValue& value) {
    switch (value.type()) {
        case QJsonValue::Undefined:
            return FilesText::tr("missing");
        case QJsonValue::Null:
            return QStringLiteral("null");
        case QJsonValue::Bool:
            return value.toBool() ? QStringLiteral("true") : QStringLiteral("false");
        case QJsonValue::Double:
            return QString::number(value.toDouble(), 'g', 15);
        case QJsonValue::String:
            return u'"' + value.toString().left(40) + u'"';
        case QJsonValue::Array:
            return FilesText::tr("a list");
        case QJsonValue::Object:
            return FilesText::tr("an object");
    }
    return {};
}

// Thrown and caught in this file: reading ends at the first fault.
struct Fault {
    QString sentence;
};

// One object of the file, with its place for the messages: conversations[0].messages[3].
class Reader {
  public:
    Reader(const QJsonValue& value, QString file, QString place) : m_file(std::move(file)), m_place(std::move(place)) {
        if (!value.isObject()) {
            throw Fault{
                FilesText::tr("%1: %2 is %3; an object was expected.").arg(m_file, m_place, numberOrText(value))};
        }
        m_object = value.toObject();
    }

    [[noreturn]] void fail(const char* field, const QString& expected) const {
        const QString place = m_place.isEmpty() ? QString::fromLatin1(field) : m_place + u'.' + QLatin1String(field);
        throw Fault{FilesText::tr("%1: %2 is %3; %4 was expected.")
                        .arg(m_file, place, numberOrText(m_object[QLatin1String(field)]), expected)};
    }
    QJsonValue operator[](const char* field) const { return m_object[QLatin1String(field)]; }
    bool has(const char* field) const { return m_object.contains(QLatin1String(field)); }

    QString string(const char* field, bool required = false) const {
        if (!has(field) && !required) {
            return {};
        }
        if (!(*this)[field].isString()) {
            fail(field, FilesText::tr("a text"));
        }
        return (*this)[field].toString();
    }
    bool boolean(const char* field) const {
        if (has(field) && !(*this)[field].isBool()) {
            fail(field, FilesText::tr("true or false"));
        }
        return (*this)[field].toBool();
    }
    qint64 whole(const char* field, qint64 low, qint64 high, bool required, const QString& expected) const {
        if (!has(field) && !required) {
            return 0;
        }
        const double value = (*this)[field].toDouble(std::nan(""));
        if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high) && value == std::floor(value))) {
            fail(field, expected);
        }
        return static_cast<qint64>(value);
    }
    qint64 time(const char* field) const {
        return whole(field, 0, qint64{1} << 53, false, FilesText::tr("a time in milliseconds"));
    }
    QJsonArray list(const char* field) const {
        if (!(*this)[field].isArray()) {
            fail(field, FilesText::tr("a list"));
        }
        return (*this)[field].toArray();
    }
    const QString& file() const { return m_file; }
    QString placeOf(const char* field, qsizetype index) const {
        const QString here = m_place.isEmpty() ? QString() : m_place + u'.';
        return QStringLiteral("%1%2[%3]").arg(here, QLatin1String(field)).arg(index);
    }
    QString placeOf(const char* field) const { return m_place + u'.' + QLatin1String(field); }

  private:
    QJsonObject m_object;
    QString m_file;
    QString m_place;
};

Message readMessage(const Reader& in, qsizetype number) {
    Message m;
    m.id = static_cast<MessageId>(
        in.whole("number", number, number, true, FilesText::tr("%1, its place in the list,").arg(number)));
    m.parent = static_cast<MessageId>(
        in.whole("parent", 0, number - 1, true, FilesText::tr("0, or the number of an earlier message,")));
    const auto kind = messageKind(in.string("kind", true));
    if (!kind || *kind == Message::Kind::Problem) {
        in.fail("kind", QStringLiteral("\"prompt\" / \"answer\""));
    }
    m.kind = *kind;
    if (in.has("state")) {
        const auto state = messageState(in.string("state"));
        if (!state || *state == Message::State::Waiting || *state == Message::State::Streaming) {
            in.fail("state", QStringLiteral("\"done\" / \"stopped\" / \"failed\""));
        }
        m.state = *state;
    }
    m.text = in.string("text", true);
    m.author = in.string("author");
    m.helpPage = in.string("help");
    if (!m.helpPage.isEmpty() && m.kind == Message::Kind::Prompt) {
        in.fail("kind", QStringLiteral("\"answer\""));
    }
    m.note = in.string("note");
    m.createdMs = in.time("created_ms");
    m.edited = in.boolean("edited");
    if (in.has("cut")) {
        m.cut = in.string("cut");
    }
    if (in.has("figures")) {
        if (!in["figures"].isObject()) {
            in.fail("figures", FilesText::tr("an object"));
        }
        const QJsonObject figures = in["figures"].toObject();
        for (auto it = figures.begin(); it != figures.end(); ++it) {
            if (!it->isDouble()) {
                Reader(figures, in.file(), in.placeOf("figures"))
                    .fail(it.key().toLatin1().constData(), FilesText::tr("a number"));
            }
        }
        m.figures = figuresFrom(figures);
    }
    if (in.has("thought")) {
        const Reader thought(in["thought"], in.file(), in.placeOf("thought"));
        thought.string("text", true);
        for (const char* field : {"open", "tokens", "seconds"}) {
            if (thought.has(field) && !thought[field].isDouble()) {
                thought.fail(field, FilesText::tr("a number"));
            }
        }
        m.thought = thoughtFrom(in["thought"].toObject());
    }
    if (in.has("attachments")) {
        const QJsonArray attachments = in.list("attachments");
        for (qsizetype i = 0; i < attachments.size(); ++i) {
            const Reader attachment(attachments[i], in.file(), in.placeOf("attachments", i));
            attachment.string("name", true);
            attachment.string("text", true);
            attachment.whole("bytes", 0, qint64{1} << 53, false, FilesText::tr("a number"));
        }
        m.attachments = attachmentsFrom(attachments);
    }
    return m;
}

StoredConversation readConversation(const Reader& in) {
    StoredConversation out;
    out.info.title = in.string("title").simplified();
    out.info.titleByPerson = !out.info.title.isEmpty();
    out.info.pinned = in.boolean("pinned");
    out.info.archived = in.boolean("archived");
    out.info.createdMs = in.time("created_ms");
    out.info.changedMs = in.time("changed_ms");
    out.info.model = in.string("model");
    out.info.systemPrompt = in.string("system_prompt");
    out.info.draft = in.string("draft");
    out.info.persona = in.string("persona");
    out.info.folder = in.string("folder").simplified();
    if (in.has("sampler")) {
        const Reader sampler(in["sampler"], in.file(), in.placeOf("sampler"));
        QString complaint;
        out.info.sampling = samplingFrom(in["sampler"].toObject(), &complaint);
        if (!complaint.isEmpty()) {
            sampler.fail(complaint.toLatin1().constData(), FilesText::tr("a value in the range of this setting"));
        }
    }
    const QJsonArray messages = in.list("messages");
    for (qsizetype i = 0; i < messages.size(); ++i) {
        out.messages.append(readMessage(Reader(messages[i], in.file(), in.placeOf("messages", i)), i + 1));
    }
    out.info.activeLeaf = static_cast<MessageId>(
        in.whole("active", 0, messages.size(), false, FilesText::tr("0, or the number of a message,")));
    return out;
}

}  // namespace

QByteArray conversationsToJson(const QList<StoredConversation>& conversations) {
    QJsonArray list;
    for (const StoredConversation& conversation : conversations) {
        QHash<MessageId, qint64> numbers = {{0, 0}};
        QJsonArray messages;
        for (const Message& m : conversation.messages) {
            if (m.kind == Message::Kind::Problem) {
                numbers.insert(m.id, numbers.value(m.parent));  // damaged: its children are attached to its parent
                continue;
            }
            const qint64 number = messages.size() + 1;
            numbers.insert(m.id, number);
            const bool incomplete = m.state == Message::State::Waiting || m.state == Message::State::Streaming;
            QJsonObject message = {{QStringLiteral("number"), number},
                                   {QStringLiteral("parent"), numbers.value(m.parent)},
                                   {QStringLiteral("kind"), nameOf(m.kind)},
                                   {QStringLiteral("state"), nameOf(incomplete ? Message::State::Stopped : m.state)},
                                   {QStringLiteral("text"), m.text},
                                   {QStringLiteral("created_ms"), m.createdMs}};
            if (!m.author.isEmpty()) {
                message[QStringLiteral("author")] = m.author;
            }
            if (!m.helpPage.isEmpty()) {
                message[QStringLiteral("help")] = m.helpPage;
            }
            if (!m.note.isEmpty()) {
                message[QStringLiteral("note")] = m.note;
            }
            if (m.edited) {
                message[QStringLiteral("edited")] = true;
            }
            if (m.cut) {
                message[QStringLiteral("cut")] = *m.cut;
            }
            if (m.figures) {
                message[QStringLiteral("figures")] = toJson(*m.figures);
            }
            if (!m.thought.isEmpty()) {
                message[QStringLiteral("thought")] = toJson(m.thought);
            }
            if (!m.attachments.isEmpty()) {
                message[QStringLiteral("attachments")] = toJson(m.attachments);
            }
            messages.append(message);
        }
        const ConversationInfo& info = conversation.info;
        QJsonObject one = {{QStringLiteral("title"), info.title},
                           {QStringLiteral("pinned"), info.pinned},
                           {QStringLiteral("archived"), info.archived},
                           {QStringLiteral("created_ms"), info.createdMs},
                           {QStringLiteral("changed_ms"), info.changedMs},
                           {QStringLiteral("model"), info.model},
                           {QStringLiteral("system_prompt"), info.systemPrompt},
                           {QStringLiteral("sampler"), toJson(info.sampling)},
                           {QStringLiteral("active"), numbers.value(info.activeLeaf)},
                           {QStringLiteral("messages"), messages}};
        if (!info.draft.isEmpty()) {
            one[QStringLiteral("draft")] = info.draft;
        }
        if (!info.persona.isEmpty()) {
            one[QStringLiteral("persona")] = info.persona;
        }
        if (!info.folder.isEmpty()) {
            one[QStringLiteral("folder")] = info.folder;
        }
        list.append(one);
    }
    const QJsonObject all = {
        {QStringLiteral("format"), kFormat},
        {QStringLiteral("version"), kVersion},
        {QStringLiteral("program"), QStringLiteral("offstage ") + QCoreApplication::applicationVersion()},
        {QStringLiteral("conversations"), list}};
    return QJsonDocument(all).toJson();
}

ImportedConversations conversationsFromJson(const QByteArray& json, const QString& name) {
    ImportedConversations out;
    QJsonParseError syntax;
    const QJsonDocument document = QJsonDocument::fromJson(json, &syntax);
    if (syntax.error != QJsonParseError::NoError) {
        out.error =
            FilesText::tr("%1: this is not JSON (%2 at byte %3).").arg(name, syntax.errorString()).arg(syntax.offset);
        return out;
    }
    try {
        const Reader file(document.isObject() ? QJsonValue(document.object()) : QJsonValue(document.array()), name,
                          QString());
        if (file["format"].toString() != kFormat) {
            file.fail("format", u'"' + QString(kFormat) + u'"');
        }
        file.whole("version", 1, kVersion, true, FilesText::tr("a version up to %1").arg(kVersion));
        const QJsonArray list = file.list("conversations");
        QList<StoredConversation> read;
        for (qsizetype i = 0; i < list.size(); ++i) {
            read.append(readConversation(Reader(list[i], name, file.placeOf("conversations", i))));
        }
        out.conversations = read;
    } catch (const Fault& fault) {
        out.error = fault.sentence;
    }
    return out;
}

ImportedConversations readConversations(const QString& file) {
    const QString name = QFileInfo(file).fileName();
    QFile in(file);
    if (!in.open(QIODevice::ReadOnly)) {
        return {{}, FilesText::tr("%1 cannot be read: %2.").arg(name, in.errorString())};
    }
    if (in.size() > kMaxFileBytes) {
        return {
            {},
            FilesText::tr("%1 is too large: %2 bytes; up to %3 are read.").arg(name).arg(in.size()).arg(kMaxFileBytes)};
    }
    return conversationsFromJson(in.readAll(), name);
}

QString conversationToMarkdown(const StoredConversation& conversation) {
    ConversationTree tree;
    tree.reset(conversation.messages, conversation.info.activeLeaf);
    QString out = QStringLiteral("# %1\n\n").arg(conversation.info.title);
    if (!conversation.info.systemPrompt.trimmed().isEmpty()) {
        out += QStringLiteral("> %1: %2\n\n")
                   .arg(FilesText::tr("System prompt"),
                        conversation.info.systemPrompt.trimmed().replace(u'\n', QStringLiteral("\n> ")));
    }
    for (const Message& message : tree.path()) {
        if (message.kind == Message::Kind::Problem || (message.text.isEmpty() && message.thought.text.isEmpty())) {
            continue;
        }
        if (message.cut) {
            out += QStringLiteral("---\n\n> %1\n\n").arg(cutText(message).replace(u'\n', QStringLiteral("\n> ")));
        }
        out += QStringLiteral("## %1\n\n").arg(speakerOf(message));
        if (!message.thought.text.isEmpty()) {
            out += QStringLiteral("> *%1*\n>\n> %2\n\n")
                       .arg(thoughtText(message.thought, false),
                            message.thought.text.trimmed().replace(u'\n', QStringLiteral("\n> ")));
        }
        if (!message.text.isEmpty()) {
            out += promptForModel(message.text.trimmed(), message.attachments) + QStringLiteral("\n\n");
        }
    }
    return out;
}

QString writeFile(const QString& file, const QByteArray& content) {
    const QString why = saveFile(file, content);
    return why.isEmpty() ? QString() : FilesText::tr("%1 cannot be written: %2.").arg(QFileInfo(file).fileName(), why);
}

}  // namespace offstage::ui
