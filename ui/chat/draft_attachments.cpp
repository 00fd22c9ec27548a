#include "ui/chat/draft_attachments.h"

#include <algorithm>
#include <utility>

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QSettings>

#include "ui/chat/attachment_chips.h"
#include "ui/chat/attachment_file.h"
#include "ui/chat/input_bar.h"
#include "ui/context_counter.h"
#include "ui/format.h"

namespace offstage::ui {

namespace {

// Stands for what the person will write: some templates leave an empty message out.
constexpr char kProbe[] = ".";

}  // namespace

DraftAttachments::DraftAttachments(EngineController& engine, ChatController& chat, ContextCounter& counter,
                                   InputBar& input, QObject* parent)
    : QObject(parent), m_engine(engine), m_chat(chat), m_counter(counter), m_input(input) {
    connect(&m_input, &InputBar::filesOffered, this, &DraftAttachments::attach);
    connect(&m_input, &InputBar::attachRequested, this, &DraftAttachments::chooseFiles);
    connect(&m_input.chips(), &AttachmentChips::clicked, this, &DraftAttachments::remove);
    connect(&m_input.edit(), &QPlainTextEdit::textChanged, this, [this] { m_sendsWhenCounted = false; });
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
    QStringList problems;
    QList<Attachment> files = m_chat.draftAttachments();
    const qsizetype before = files.size();
    for (const QString& path : paths) {
        if (files.size() >= kMostFiles) {
            problems +=
                tr("%1 was not attached: a message can have %2 files.").arg(QFileInfo(path).fileName()).arg(kMostFiles);
            continue;
        }
        const ReadAttachment read = readAttachment(path);
        if (!read.error.isEmpty()) {
            problems += read.error;
        } else if (files.contains(read.attachment)) {
            problems += tr("%1 is attached already.").arg(read.attachment.name);
        } else {
            files.append(read.attachment);
        }
    }
    constexpr qsizetype kMostSentences = 4;
    if (problems.size() > kMostSentences) {
        const qsizetype more = problems.size() - kMostSentences + 1;
        problems = problems.first(kMostSentences - 1);
        problems += tr("%n more files were not attached.", nullptr, static_cast<int>(more));
    }
    m_input.setNotice(problems.join(u'\n'));
    if (files.size() > before) {
        m_chat.setDraftAttachments(files);
    }
    m_input.setFocus();
}

void DraftAttachments::chooseFiles() {
    auto* dialog = new QFileDialog(&m_input, tr("Attach files"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setDirectory(QSettings().value(QStringLiteral("lastAttachFolder"), QDir::homePath()).toString());
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& files) {
        if (!files.isEmpty()) {
            QSettings().setValue(QStringLiteral("lastAttachFolder"), QFileInfo(files.first()).path());
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

// The engine refuses a prompt that fills its whole context: the answer needs room too.
void DraftAttachments::checkFit() {
    const auto& model = m_engine.model();
    const std::optional<qint64> used = m_counter.lastCount();
    const bool known = model && used && m_engine.state() == EngineController::State::Ready;
    const qint64 tooMany = known ? *used + 1 - model->context : 0;
    if (m_chat.draftAttachments().isEmpty() || tooMany <= 0) {
        m_input.setBlocked({});
        return;
    }
    const QLocale locale;
    m_input.setBlocked(
        tr("Too long by %1 tokens: with these files the conversation takes %2, and the context holds %3. "
           "Remove a file, or attach a part of it.")
            .arg(locale.toString(tooMany), locale.toString(*used), locale.toString(model->context)));
}

void DraftAttachments::onSettled() {
    checkFit();
    if (std::exchange(m_sendsWhenCounted, false)) {
        Q_EMIT readyToSend();
    }
}

bool DraftAttachments::maySend() {
    if (m_chat.draftAttachments().isEmpty()) {
        return true;
    }
    // While a model loads nothing can be counted; what is too long is refused by the engine then.
    if (m_engine.state() == EngineController::State::Ready && !m_counter.isUpToDate()) {
        m_sendsWhenCounted = true;
        return false;
    }
    return !m_input.isBlocked();
}

}  // namespace offstage::ui
