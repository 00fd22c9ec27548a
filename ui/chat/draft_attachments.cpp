#include "ui/chat/draft_attachments.h"

#include <algorithm>
#include <utility>

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>

#include "ui/base/delay.h"
#include "ui/base/prompt_text.h"
#include "ui/base/settings.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/attachment_file.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/full_context.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/paste_offer.h"
#include "ui/engine/context_in_force.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

// Replaces the user's text: some templates leave an empty message out.
constexpr char kProbe[] = ".";
constexpr int kSoonMs = 250;

}  // namespace

DraftAttachments::DraftAttachments(EngineController& engine, ChatController& chat, ContextCounter& counter,
                                   InputBar& input, QObject* parent)
    : QObject(parent), m_engine(engine), m_chat(chat), m_counter(counter), m_input(input) {
    callAfter(m_soon, kSoonMs, this, [this] {
        if (m_reader.isReading() && m_input.reading().isEmpty()) {
            m_input.setReading(tr("Reading files…"));
        }
    });
    connect(&m_reader, &AttachmentReader::progressed, this, [this](const QString& name, int page, int nPages) {
        if (nPages > 1) {  // takes its time
            const QLocale locale;
            m_input.setReading(
                tr("Reading %1: page %2 of %3").arg(name, locale.toString(page), locale.toString(nPages)));
        }
    });
    connect(&m_reader, &AttachmentReader::finished, this, &DraftAttachments::onRead);
    connect(&m_input, &InputBar::readingCancelled, this, [this] {
        m_sendsWhenCounted = false;
        m_reader.cancel();
    });
    connect(&m_input, &InputBar::filesOffered, this, &DraftAttachments::attach);
    connect(&m_input, &InputBar::attachRequested, this, &DraftAttachments::chooseFiles);
    connect(&m_input.chips(), &AttachmentChips::clicked, this, &DraftAttachments::remove);
    connect(&m_input.pasteOffer(), &PasteOffer::accepted, this, [this] {
        if (attachText(m_input.pasteOffer().text())) {
            m_input.pasteOffer().removeText();
        }
        m_input.setFocus();
    });
    connect(&m_input.edit(), &QPlainTextEdit::textChanged, this, [this] {
        m_sendsWhenCounted = false;
        if (m_input.isBlocked()) {
            checkFit();
        }
    });
    connect(&m_chat, &ChatController::draftAttachmentsChanged, this, [this] {
        m_sendsWhenCounted = false;
        showChips();
        checkFit();
        countNext();
    });
    connect(&m_chat, &ChatController::currentChanged, this, [this] {
        m_input.setNotice({});
        m_sendsWhenCounted = false;
        showChips();
        checkFit();
        countNext();
    });
    connect(&m_counter, &ContextCounter::settled, this, &DraftAttachments::onSettled);
    connect(&m_engine, &EngineController::tokensCounted, this, &DraftAttachments::onCounted);
    connect(&m_engine, &EngineController::stateChanged, this, [this](EngineController::State state) {
        if (state == EngineController::State::NoModel || state == EngineController::State::Loading) {
            forgetCounts();
        }
        checkFit();
        countNext();
    });
}

void DraftAttachments::attach(const QStringList& paths) {
    if (paths.isEmpty()) {
        return;
    }
    m_batches.append({m_chat.current(), paths});
    tellAwaited();
    m_input.setFocus();
    readNext();
}

void DraftAttachments::tellAwaited() {
    QSet<ConversationId> conversations;
    for (const Batch& batch : m_batches) {
        conversations.insert(batch.conversation);
    }
    m_chat.setAwaitFiles(conversations);
}

void DraftAttachments::readNext() {
    if (m_batches.isEmpty() || m_reader.isReading()) {
        return;
    }
    // Files beyond the limit are not read.
    const qsizetype free = kMostFiles - m_chat.draftAttachmentsOf(m_batches.first().conversation).size();
    m_reader.start(m_batches.first().paths.first(std::clamp<qsizetype>(free, 0, m_batches.first().paths.size())));
    m_soon.start();
}

void DraftAttachments::onRead(const QList<ReadAttachment>& read) {
    const Batch batch = m_batches.takeFirst();
    tellAwaited();
    m_soon.stop();
    m_input.setReading({});
    const bool isShown = batch.conversation == m_chat.current();
    QStringList problems;
    const QList<Attachment> before = m_chat.draftAttachmentsOf(batch.conversation);
    QList<Attachment> files;
    for (const ReadAttachment& each : read) {
        if (!each.error.isEmpty()) {
            problems += each.error;
        } else if (before.contains(each.attachment) || files.contains(each.attachment)) {
            problems += tr("%1 is attached already.").arg(each.attachment.name);
        } else {
            files.append(each.attachment);
        }
    }
    for (const QString& path : batch.paths.mid(read.size())) {
        problems += tooManyFor(QFileInfo(path).fileName());
    }
    const bool sends = std::exchange(m_sendsWhenCounted, false) && isShown && problems.isEmpty();
    constexpr qsizetype kMostSentences = 4;
    if (problems.size() > kMostSentences) {
        const qsizetype more = problems.size() - kMostSentences + 1;
        problems = problems.first(kMostSentences - 1);
        problems += tr("%n more files were not attached.", nullptr, static_cast<int>(more));
    }
    m_chat.addDraftAttachments(batch.conversation, files);
    if (isShown) {
        m_input.setNotice(problems.join(u'\n'));
    }
    readNext();
    if (sends) {  // requested while they were read
        if (maySend()) {
            Q_EMIT readyToSend();
        }
    }
}

QString DraftAttachments::tooManyFor(const QString& name) {
    return tr("%1 was not attached: a message can have %2 files.").arg(name).arg(kMostFiles);
}

bool DraftAttachments::attachText(const QString& text) {
    const QList<Attachment> files = m_chat.draftAttachments();
    QString name = tr("Pasted text") + QStringLiteral(".txt");
    const auto isTaken = [&files, &name] {
        return std::any_of(files.begin(), files.end(), [&name](const Attachment& file) { return file.name == name; });
    };
    for (int number = 2; isTaken(); ++number) {
        name = tr("Pasted text") + QStringLiteral(" %1.txt").arg(number);
    }
    if (files.size() >= kMostFiles) {
        m_input.setNotice(tooManyFor(name));
        return false;
    }
    m_chat.attachPasted({name, text.toUtf8().size(), text});
    return true;
}

void DraftAttachments::chooseFiles() {
    auto* dialog = new QFileDialog(&m_input, tr("Attach files"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setDirectory(settings::folderOf(settings::kLastAttachFolder));
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& files) {
        if (!files.isEmpty()) {
            settings::kLastAttachFolder.set(QFileInfo(files.first()).path());
        }
        attach(files);
    });
    dialog->open();
}

void DraftAttachments::remove(int index) {
    QList<Attachment> files = m_chat.draftAttachments();
    if (index < 0 || index >= files.size()) {
        return;
    }
    const bool byKeyboard = m_input.chips().chips()[index]->hasFocus();
    files.removeAt(index);
    m_input.setNotice({});
    m_chat.setDraftAttachments(files);
    const QList<AttachmentChip*>& left = m_input.chips().chips();
    if (byKeyboard && !left.isEmpty()) {
        left[std::min<qsizetype>(index, left.size() - 1)]->setFocus();
    } else {
        m_input.setFocus();
    }
}

void DraftAttachments::showChips() {
    QList<AttachmentChips::File> shown;
    for (const Attachment& attachment : m_chat.draftAttachments()) {
        const QString size = bytesText(static_cast<quint64>(attachment.bytes));
        const qint64 tokens = m_tokens.value(keyOf(attachment), kNotCounted);
        const QString count = tokens == kNotCounted ? QStringLiteral("…") : QLocale().toString(tokens);
        shown.append({attachment.name, tokens == kCannotCount ? size : tr("%1 · %2 tokens").arg(size, count)});
    }
    m_input.setFiles(shown);
}

// One request at a time: the probe first, then each file.
void DraftAttachments::countNext() {
    if (m_asked != 0 || m_engine.state() != EngineController::State::Ready) {
        return;
    }
    for (const Attachment& attachment : m_chat.draftAttachments()) {
        if (m_tokens.contains(keyOf(attachment))) {
            continue;
        }
        QString content = QString::fromLatin1(kProbe);
        m_askedFor = {};
        if (m_frameTokens != kNotCounted) {
            m_askedFor = keyOf(attachment);
            content = promptForModel(content, {attachment});
        }
        m_asked = m_engine.countTokens({{engine::Role::kUser, content.toStdString()}});
        return;
    }
}

void DraftAttachments::onCounted(RequestId id, qint64 tokens) {
    if (id != m_asked || id == 0) {
        return;
    }
    m_asked = 0;
    if (m_askedFor == Key()) {
        m_frameTokens = std::max<qint64>(0, tokens);
    } else {
        m_tokens[m_askedFor] = tokens < 0 ? kCannotCount : std::max<qint64>(0, tokens - m_frameTokens);
        showChips();
    }
    countNext();
}

// Another model counts differently.
void DraftAttachments::forgetCounts() {
    m_tokens.clear();
    m_frameTokens = kNotCounted;
    m_asked = 0;
    showChips();
}

// The engine refuses a prompt that fills its whole context: the answer needs room too. A
// larger one is offered on the card of a refused prompt; what exceeds the largest is not
// sent, unless it fits without the oldest turns, which that card offers as well.
void DraftAttachments::checkFit() {
    const auto& model = m_engine.model();
    const qint64 context = model ? std::max(contextInForce(m_engine), qint64{model->max_context}) : 0;
    const std::optional<qint64> used = m_counter.lastCount();
    const bool known = context > 0 && used && m_engine.state() == EngineController::State::Ready;
    const qint64 tooMany = known ? *used + 1 - context : 0;
    const QList<Attachment> files = m_chat.draftAttachments();
    if (tooMany <= 0 || (files.isEmpty() && !isLongText())) {
        m_input.setBlocked({});
        return;
    }
    const QLocale locale;
    if (files.isEmpty()) {
        Message prompt;
        prompt.text = m_input.text();
        const ConversationTree* shown = m_chat.conversations().open(m_chat.current());
        const QList<Message> path = (shown ? shown->path() : QList<Message>()) << prompt;
        m_input.setBlocked(
            isPromptTooLong(path, *used + 1, context)
                ? tr("Too long by %1 tokens: with this text and the first token of an answer the "
                     "conversation takes %2, and the context holds %3. Shorten it.")
                      .arg(locale.toString(tooMany), locale.toString(*used + 1), locale.toString(context))
                : QString());
        return;
    }
    m_input.setBlocked(
        tr("Too long by %1 tokens: with these files and the first token of an answer the conversation takes %2, and "
           "the context holds %3. Remove a file, or attach a part of it.")
            .arg(locale.toString(tooMany), locale.toString(*used + 1), locale.toString(context)));
}

bool DraftAttachments::isLongText() const {
    return m_input.text().size() > PasteOffer::kLongPaste;
}

void DraftAttachments::onSettled() {
    checkFit();
    if (std::exchange(m_sendsWhenCounted, false)) {
        Q_EMIT readyToSend();
    }
}

bool DraftAttachments::maySend() {
    if (!m_batches.isEmpty() && m_batches.first().conversation == m_chat.current()) {
        m_sendsWhenCounted = true;  // with the files that are being read
        return false;
    }
    if (m_chat.draftAttachments().isEmpty() && !isLongText()) {
        return true;
    }
    // While a model loads nothing can be counted; the engine then refuses too long
    // prompts.
    if (m_engine.state() == EngineController::State::Ready && !m_counter.isUpToDate()) {
        m_sendsWhenCounted = true;
        return false;
    }
    return !m_input.isBlocked();
}

}  // namespace offstage::ui
