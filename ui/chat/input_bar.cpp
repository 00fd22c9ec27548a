#include "ui/chat/input_bar.h"

#include <algorithm>

#include <QActionGroup>
#include <QEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QTextBlock>
#include <QToolButton>
#include <QUrl>

#include "ui/base/icons.h"
#include "ui/base/on_palette.h"
#include "ui/base/theme.h"
#include "ui/chat/message_column.h"
#include "ui/chat/paste_offer.h"
#include "ui/engine/sampling.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kMostLines = 8;
constexpr int kBarMargin = 24;  // as the conversation's

}  // namespace

bool beginsMessage(const QKeyEvent& key) {
    const QString text = key.text();
    return !text.isEmpty() && text.front().isPrint() && !text.front().isSpace() &&
           (key.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) == 0;
}

PromptEdit::PromptEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setFrameShape(QFrame::NoFrame);
    setTabChangesFocus(true);
    setPlaceholderText(tr("Write a message"));
    setAccessibleName(tr("Message"));
    setAccessibleDescription(tr("Enter sends, Shift and Enter begins a new line"));
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    document()->setDocumentMargin(2);
    connect(document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
            [this] { updateGeometry(); });
}

int PromptEdit::heightFor(int lines) const {
    return lines * fontMetrics().lineSpacing() + 2 * static_cast<int>(document()->documentMargin()) + 2;
}

QSize PromptEdit::sizeHint() const {
    // QPlainTextDocumentLayout counts its height in lines.
    const int lines = static_cast<int>(document()->documentLayout()->documentSize().height());
    return {400, heightFor(std::clamp(lines, 1, kMostLines))};
}

QSize PromptEdit::minimumSizeHint() const {
    return {120, sizeHint().height()};
}

void PromptEdit::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    updateGeometry();
}

void PromptEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier) {
        Q_EMIT sendRequested();
        return;
    }
    if (enter && (event->modifiers() & Qt::ShiftModifier) != 0) {
        textCursor().insertBlock();  // a paragraph, not the line separator that Qt would insert
        ensureCursorVisible();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

void PromptEdit::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) {
        event->ignore();
    } else {
        QPlainTextEdit::dragEnterEvent(event);
    }
}

void PromptEdit::dragMoveEvent(QDragMoveEvent* event) {
    if (event->mimeData()->hasUrls()) {
        event->ignore();
    } else {
        QPlainTextEdit::dragMoveEvent(event);
    }
}

bool PromptEdit::canInsertFromMimeData(const QMimeData* source) const {
    return source->hasText() || source->hasUrls();
}

void PromptEdit::insertFromMimeData(const QMimeData* source) {
    QStringList files;
    const QList<QUrl> urls = source->urls();
    for (const QUrl& url : urls) {
        if (url.isLocalFile()) {
            files += url.toLocalFile();
        }
    }
    if (!files.isEmpty() && files.size() == urls.size()) {
        Q_EMIT filesPasted(files);
    } else if (source->hasText()) {
        const int from = textCursor().selectionStart();
        insertPlainText(source->text());
        Q_EMIT textPasted(from, textCursor().position());
    }
}

InputBar::InputBar(QWidget* parent)
    : QFrame(parent),
      m_edit(new PromptEdit),
      m_button(new QToolButton),
      m_thinking(new QToolButton),
      m_chips(new AttachmentChips(AttachmentChip::Kind::Removable, Qt::AlignLeft)),
      m_paste(new PasteOffer(*m_edit)),
      m_notice(textLabel()),
      m_reading(textLabel(tr("Files being read"))),
      m_cancelReading(new QPushButton(tr("Cancel"))),
      m_attach(new QToolButton),
      m_hint(mutedLabel()),
      m_box(new QWidget) {
    m_button->setFixedSize(36, 36);
    m_button->setIconSize({20, 20});

    m_attach->setFixedSize(36, 36);
    m_attach->setIconSize({20, 20});
    m_attach->setAutoRaise(true);
    m_attach->setFocusPolicy(Qt::StrongFocus);
    describe(*m_attach, tr("Attach files"),
             tr("Attach files: text, source code, CSV, Markdown, PDF. Dropping or pasting them does the same"));

    m_cancelReading->setAccessibleName(tr("Cancel reading files"));
    auto* inside =
        rowOf({{m_edit, 1, Qt::AlignVCenter}, Gap{4}, {m_attach, 0, Qt::AlignBottom}, {m_button, 0, Qt::AlignBottom}},
              apart(4));
    columnOf(m_box, {m_chips, m_paste, m_notice, rowOf({{m_reading, 1}, m_cancelReading}), inside},
             inset(14, 8, 8, 8, 6));
    m_chips->hide();
    m_notice->hide();
    m_reading->hide();
    m_cancelReading->hide();
    columnOf(this, {m_box, rowOf({{m_hint, 1}, {m_thinking, 0, Qt::AlignTop}}, apart(8))},
             inset(kBarMargin, 8, kBarMargin, 8, 4));
    m_thinking->setAutoRaise(true);
    m_thinking->setPopupMode(QToolButton::InstantPopup);
    m_thinking->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_thinking->setFocusPolicy(Qt::StrongFocus);
    m_thinking->setMenu(new QMenu(m_thinking));
    m_thinking->hide();

    standOnColumn(*this);
    setFocusProxy(m_edit);
    m_edit->installEventFilter(this);
    connect(m_edit, &PromptEdit::sendRequested, this, &InputBar::send);
    connect(m_edit, &PromptEdit::filesPasted, this, &InputBar::filesOffered);
    connect(m_edit, &PromptEdit::textPasted, m_paste, &PasteOffer::pasted);
    connect(m_attach, &QToolButton::clicked, this, &InputBar::attachRequested);
    connect(m_cancelReading, &QPushButton::clicked, this, &InputBar::readingCancelled);
    connect(m_edit, &QPlainTextEdit::textChanged, this, [this] {
        m_sendsNext = false;  // it is being written on
        refresh();
    });
    connect(m_button, &QToolButton::clicked, this, [this] {
        if (m_mode == Mode::Busy || m_mode == Mode::Queued) {
            Q_EMIT stopRequested();
        } else {
            send();
        }
    });
    onPalette(this, [this] { refresh(); });
}

void InputBar::setThinking(const QStringList& choices, const QString& chosen) {
    const QString now = choices.contains(chosen) ? chosen : QString();
    QStringList offered = choices;
    offered.prepend(QString());
    QMenu* menu = m_thinking->menu();
    QStringList before;
    for (const QAction* action : menu->actions()) {
        before += action->data().toString();
    }
    if (before != offered) {  // else the action that led here may be one of these
        menu->clear();
        delete menu->findChild<QActionGroup*>();
        auto* group = new QActionGroup(menu);
        for (const QString& choice : std::as_const(offered)) {
            QAction* action = group->addAction(thinkingText(choice));
            action->setCheckable(true);
            action->setData(choice);
            menu->addAction(action);
            connect(action, &QAction::triggered, this, [this, choice] { Q_EMIT thinkingChosen(choice); });
        }
    }
    for (QAction* action : menu->actions()) {
        action->setChecked(action->data().toString() == now);
    }
    m_thinking->setText(now.isEmpty() ? tr("Thinking") : tr("Thinking: %1").arg(thinkingText(now)));
    describe(*m_thinking, tr("Thinking: %1").arg(thinkingText(now)),
             tr("How much the model thinks before it answers. From the next answer on"));
    m_thinking->setVisible(!choices.isEmpty());
}

QString InputBar::hint() const {
    return m_hint->text();
}

void InputBar::setFiles(const QList<AttachmentChips::File>& files) {
    m_chips->setFiles(files);
    m_chips->setVisible(!files.isEmpty());
    // Before the text, in their order.
    QWidget* before = m_edit->previousInFocusChain();
    while (before != m_edit && (m_chips->isAncestorOf(before) || (before->focusPolicy() & Qt::TabFocus) == 0)) {
        before = before->previousInFocusChain();
    }
    for (AttachmentChip* chip : m_chips->chips()) {
        setTabOrder(before, chip);
        before = chip;
    }
    refresh();
}

void InputBar::setNotice(const QString& notice) {
    m_notice->setText(notice);
    m_notice->setAccessibleName(notice);
    m_notice->setVisible(!notice.isEmpty());
}

QString InputBar::notice() const {
    return m_notice->text();
}

void InputBar::setReading(const QString& sentence) {
    m_reading->setText(sentence);
    m_reading->setVisible(!sentence.isEmpty());
    m_cancelReading->setVisible(!sentence.isEmpty());
}

QString InputBar::reading() const {
    return m_reading->text();
}

void InputBar::setBlocked(const QString& why) {
    if (m_blocked != why) {
        m_blocked = why;
        refresh();
    }
}

void InputBar::send() {
    const bool sends = m_mode == Mode::Send || m_mode == Mode::Queue || m_mode == Mode::QueueBehind;
    if (sends && !isBlocked()) {
        const QString prompt = text();
        if (!prompt.trimmed().isEmpty()) {
            Q_EMIT sendRequested(prompt);
        }
        return;
    }
    if (m_mode != Mode::NoModel && !text().trimmed().isEmpty() && !sends) {
        setSendsNext(!m_sendsNext);
        return;
    }
    refresh();
    if (!isBlocked()) {
        m_hint->setForegroundRole(QPalette::Link);  // the line below already has the reason
    }
}

void InputBar::setKeys(const QString& stop, const QString& open) {
    m_stopKeys = stop;
    m_openKeys = open;
    refresh();
}

void InputBar::setMode(Mode mode) {
    const bool isStopped = mode == Mode::Stopping && m_mode != Mode::Stopping;
    m_sendsNext = m_sendsNext && !isStopped && mode != Mode::NoModel;
    m_mode = mode;
    refresh();
}

void InputBar::setSendsNext(bool sendsNext) {
    m_sendsNext = sendsNext;
    refresh();
}

void InputBar::refresh() {
    const bool stops = m_mode == Mode::Busy || m_mode == Mode::Stopping || m_mode == Mode::Queued;
    const bool empty = text().trimmed().isEmpty();
    QString hint;
    switch (m_mode) {
        case Mode::Send:
            hint = tr("Enter sends · Shift+Enter begins a new line");
            break;
        case Mode::Queue:
            hint = tr("The model is loading. Write on: your message is sent as soon as it is ready");
            break;
        case Mode::QueueBehind:
            hint = tr("The model is busy with something else. Write on: your message is sent when that is done");
            break;
        case Mode::Queued:
            hint = m_stopKeys.isEmpty() ? tr("Your message waits for the model")
                                        : tr("Your message waits for the model. %1 takes it back").arg(m_stopKeys);
            break;
        case Mode::NoModel:
            hint = tr("No model is open: open one (%1), or drop its folder or GGUF file on this window")
                       .arg(m_openKeys.isEmpty() ? tr("File menu") : m_openKeys);
            break;
        case Mode::Busy:
            hint = m_stopKeys.isEmpty() ? tr("Answering") : tr("Answering · %1 stops").arg(m_stopKeys);
            break;
        case Mode::Stopping:
            hint = tr("Stopping…");
            break;
    }
    if (m_sendsNext) {
        hint = tr("This is sent when the answer is complete · Enter again keeps it here");
    }
    const bool blocked = isBlocked() && !stops && m_mode != Mode::NoModel;
    if (blocked) {
        hint = m_blocked;
    }
    m_hint->setText(hint);
    m_hint->setForegroundRole(blocked ? QPalette::WindowText : QPalette::PlaceholderText);  // below: as a problem
    const QString name = m_mode == Mode::Queued ? tr("Take the message back") : stops ? tr("Stop") : tr("Send");
    describe(*m_button, name,
             m_mode == Mode::NoModel || blocked               ? hint
             : empty && !stops && !m_chips->chips().isEmpty() ? tr("Write what is to be done with the files")
             : empty && !stops                                ? tr("Write something to send")
             : stops ? (m_stopKeys.isEmpty() ? name : tr("%1 (%2)").arg(name, m_stopKeys))
                     : name + tr(" (Enter)"));
    m_button->setEnabled(stops ? m_mode != Mode::Stopping : !empty && !blocked && m_mode != Mode::NoModel);
    const Colours colours = Colours::of(palette());
    const QColor ink = m_button->isEnabled() ? palette().color(QPalette::HighlightedText) : colours.muted;
    m_button->setIcon(colouredIcon(stops ? QStringLiteral("stop") : QStringLiteral("send"), ink));
    m_attach->setIcon(colouredIcon(QStringLiteral("attach"), colours.muted));
    QPalette warns = palette();
    warns.setColor(QPalette::WindowText, colours.problem);
    for (QLabel* label : {m_notice, m_hint}) {
        if (label->palette().color(QPalette::WindowText) != colours.problem) {
            label->setPalette(warns);
        }
    }
    const QColor fill = m_button->isEnabled() ? palette().color(QPalette::Highlight) : colours.raised;
    m_button->setStyleSheet(QStringLiteral("QToolButton { border: 1px solid transparent; border-radius: 9px; "
                                           "background: %1; } QToolButton:focus { border: 2px solid %2; }")
                                .arg(fill.name(), colours.text.name()));
}

void InputBar::returnPrompt(const QString& prompt) {
    const QString typed = text();
    if (typed != prompt) {
        m_edit->setPlainText(typed.trimmed().isEmpty() ? prompt : prompt + QStringLiteral("\n\n") + typed);
    }
    m_edit->moveCursor(QTextCursor::End);
    m_edit->setFocus();
}

void InputBar::offerPrompt(const QString& prompt) {
    if (text().trimmed().isEmpty()) {
        m_edit->setPlainText(prompt);
        m_edit->moveCursor(QTextCursor::End);
    }
}

void InputBar::withdrawPrompt(const QString& prompt) {
    if (text() == prompt) {
        m_edit->clear();
    }
}

bool InputBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_edit && (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)) {
        update();
    }
    return QFrame::eventFilter(watched, event);
}

void InputBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    const bool focus = m_edit->hasFocus();
    painter.setPen(QPen(focus ? colours.accent : colours.line, focus ? 1.6 : 1));
    painter.setBrush(palette().color(QPalette::Base));
    painter.drawRoundedRect(QRectF(m_box->geometry()).adjusted(1, 1, -1, -1), 14, 14);
}

}  // namespace offstage::ui
