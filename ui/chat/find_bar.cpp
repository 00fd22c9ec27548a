#include "ui/chat/find_bar.h"

#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/on_palette.h"
#include "ui/base/theme.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/conversation_view.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

void nameHitButton(QToolButton& button, const QString& text) {
    button.setAutoRaise(true);
    button.setIconSize({16, 16});
    describe(button, text, text);
}

}  // namespace

HitSteps::HitSteps(QWidget* parent)
    : QWidget(parent), m_count(new QLabel), m_previous(new QToolButton), m_next(new QToolButton) {
    m_count->setForegroundRole(QPalette::PlaceholderText);
    m_count->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_count->setMinimumWidth(m_count->fontMetrics().horizontalAdvance(QStringLiteral("20,000 / 20,000")));
    nameHitButton(*m_previous, tr("Previous hit (Shift+Enter)"));
    nameHitButton(*m_next, tr("Next hit (Enter)"));
    rowOf(this, {m_count, m_previous, m_next}, flush(4));
    connect(m_previous, &QToolButton::clicked, this, &HitSteps::previous);
    connect(m_next, &QToolButton::clicked, this, &HitSteps::next);
    onPalette(this, [this] {
        m_previous->setIcon(themedIcon(QStringLiteral("up"), palette()));
        m_next->setIcon(themedIcon(QStringLiteral("below"), palette()));
    });
    clear();
}

QString HitSteps::text() const {
    return m_count->text();
}

void HitSteps::enable(bool any) {
    m_previous->setEnabled(any);
    m_next->setEnabled(any);
}

void HitSteps::clear() {
    m_count->clear();
    m_count->setAccessibleName({});
    enable(false);
}

void HitSteps::setHits(qsizetype current, qsizetype count) {
    const QLocale locale;
    m_count->setText(count == 0 ? tr("Not found")
                                : tr("%1 / %2").arg(locale.toString(current + 1), locale.toString(count)));
    m_count->setAccessibleName(count == 0 ? m_count->text() : tr("Hit %1 of %2").arg(current + 1).arg(count));
    enable(count > 0);
}

FindBar::FindBar(ConversationFind& find, ConversationView& view, QWidget* parent)
    : QFrame(parent),
      m_find(find),
      m_view(view),
      m_edit(new QLineEdit(this)),
      m_steps(new HitSteps),
      m_close(new QToolButton) {
    setAutoFillBackground(true);
    m_edit->setPlaceholderText(tr("Find in this conversation"));
    m_edit->setAccessibleName(tr("Find in this conversation"));
    m_edit->setClearButtonEnabled(true);
    m_edit->installEventFilter(this);
    nameHitButton(*m_close, tr("Close (Esc)"));
    rowOf(this, {Stretch{1}, {m_edit, 6}, Gap{6}, m_steps, m_close, Stretch{1}}, inset(12, 6, 8, 6, 4));
    m_edit->setMaximumWidth(420);
    for (QToolButton* button : findChildren<QToolButton*>()) {
        button->installEventFilter(this);
    }

    connect(m_edit, &QLineEdit::textChanged, this, [this](const QString& text) {
        if (isVisibleTo(parentWidget())) {
            m_find.setText(text);
        }
    });
    connect(m_steps, &HitSteps::previous, &m_find, &ConversationFind::previous);
    connect(m_steps, &HitSteps::next, &m_find, &ConversationFind::next);
    connect(m_close, &QToolButton::clicked, this, &FindBar::leave);
    connect(&m_find, &ConversationFind::hitsChanged, this, [this] {
        m_view.setFound(m_find.byMessage());
        refresh();
    });
    connect(&m_find, &ConversationFind::currentChanged, this, &FindBar::showCurrent);
    onPalette(this, [this] { m_close->setIcon(themedIcon(QStringLiteral("close"), palette())); });
    refresh();
    hide();
}

void FindBar::start() {
    show();
    m_edit->setFocus(Qt::ShortcutFocusReason);
    m_edit->selectAll();
    m_find.setText(m_edit->text());
}

void FindBar::leave() {
    hide();
    m_find.setText({});
    Q_EMIT left();
}

void FindBar::refresh() {
    if (m_find.text().isEmpty()) {
        m_steps->clear();
    } else {
        m_steps->setHits(m_find.current(), m_find.count());
    }
}

void FindBar::showCurrent() {
    refresh();
    if (m_find.current() < 0) {
        m_view.setCurrentFound(0, {});
        return;
    }
    const ConversationFind::Hit& hit = m_find.hits()[m_find.current()];
    m_view.setCurrentFound(hit.message, hit.range);
    m_view.showSource(hit.message, hit.range.first);
}

bool FindBar::eventFilter(QObject* watched, QEvent* event) {
    const bool press = event->type() == QEvent::KeyPress;
    if (press || event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = watched == m_edit && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter);
        const bool escape = key->key() == Qt::Key_Escape;  // elsewhere in the window it stops the answer
        if (escape || enter || key->key() == Qt::Key_F3) {
            event->accept();
            if (press && escape) {
                leave();
            } else if (press && (key->modifiers() & Qt::ShiftModifier) != 0) {
                m_find.previous();
            } else if (press) {
                m_find.next();
            }
            return press;
        }
    }
    return QFrame::eventFilter(watched, event);
}

}  // namespace offstage::ui
