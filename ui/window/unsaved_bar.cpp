#include "ui/window/unsaved_bar.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/base/icons.h"
#include "ui/base/on_palette.h"
#include "ui/base/theme.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kWideBar = 560;
constexpr int kSentenceLines = 4, kNarrowSentenceLines = 6;

}  // namespace

UnsavedBar::UnsavedBar(QWidget* parent)
    : QFrame(parent),
      m_icon(new QLabel),
      m_title(textLabel()),
      m_sentence(textLabel()),
      m_tryAgain(new QPushButton(tr("Try again"))),
      m_save(new QPushButton(tr("Save as a file…"))),
      m_close(new QPushButton(tr("Close without saving"))),
      m_stay(new QToolButton),
      m_texts(new QVBoxLayout),
      m_buttons(new QHBoxLayout) {
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    m_title->setFont(bold);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_stay->setText(QStringLiteral("✕"));
    m_stay->setAutoRaise(true);
    describe(*m_stay, tr("Keep the window open"));

    m_buttons->setSpacing(8);
    for (QPushButton* button : {m_tryAgain, m_save, m_close}) {
        button->setAccessibleName(button->text());
        button->setMinimumSize(button->sizeHint() + QSize(18, 6));
        m_buttons->addWidget(button);
    }
    m_buttons->addStretch();
    m_texts->setSpacing(4);
    addTo(*m_texts, {m_title, m_sentence, Gap{4}, m_buttons});
    rowOf(this, {{m_icon, 0, Qt::AlignTop}, {m_texts, 1}, {m_stay, 0, Qt::AlignTop}}, inset(24, 10, 16, 10, 12));
    onPalette(this, [this] {
        m_icon->setPixmap(colouredIcon(QStringLiteral("notice"), Colours::of(palette()).problem).pixmap(20, 20));
    });

    connect(m_tryAgain, &QPushButton::clicked, this, &UnsavedBar::tryAgainRequested);
    connect(m_save, &QPushButton::clicked, this, &UnsavedBar::fileRequested);
    connect(m_close, &QPushButton::clicked, this, &UnsavedBar::closeRequested);
    connect(m_stay, &QToolButton::clicked, this, &UnsavedBar::stayRequested);
}

void UnsavedBar::tell(const QString& sentence, bool fileOffered) {
    m_tryAgain->setAccessibleDescription(tr("Saves what is not saved"));
    m_save->setAccessibleDescription(tr("Puts the conversations that are not saved into a file"));
    present(false, tr("Conversations are not saved"), sentence, fileOffered);
}

void UnsavedBar::ask(const QString& reason, bool fileOffered) {
    m_tryAgain->setAccessibleDescription(tr("Saves what is not saved, and closes the window"));
    m_save->setAccessibleDescription(
        tr("Puts the conversations that are not saved into a file, and closes the window"));
    const QString loss = tr("What is not saved is lost if Offstage closes now.");
    present(true, tr("Not everything is saved yet"), reason.isEmpty() ? loss : reason + u' ' + loss, fileOffered);
    m_tryAgain->setFocus();
}

void UnsavedBar::present(bool asking, const QString& title, const QString& sentence, bool fileOffered) {
    m_asking = asking;
    m_title->setText(title);
    m_sentence->setText(sentence);
    setAccessibleName(title);
    setAccessibleDescription(sentence);
    m_save->setVisible(fileOffered);
    m_close->setVisible(asking);
    m_stay->setVisible(asking);
    arrangeButtons();
    show();
}

void UnsavedBar::takeBack() {
    m_asking = false;
    hide();
}

QString UnsavedBar::sentence() const {
    return m_sentence->text();
}

void UnsavedBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    painter.fillRect(rect(), colours.problemSurface);
    painter.fillRect(QRect(0, height() - 1, width(), 1), colours.line);
    painter.fillRect(QRect(0, 0, 3, height() - 1), colours.problem);
}

void UnsavedBar::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    arrangeButtons();
}

// Side by side, or one below the other where that would cut them off.
void UnsavedBar::arrangeButtons() {
    int sideBySide = -m_buttons->spacing();
    int widest = 0;
    for (const QPushButton* button : {m_tryAgain, m_save, m_close}) {
        if (!button->isHidden()) {
            const int needed = std::max(button->minimumWidth(), button->sizeHint().width());  // larger text
            sideBySide += needed + m_buttons->spacing();
            widest = std::max(widest, needed);
        }
    }
    // Room for additions to the sentence while the bar is shown: the buttons keep their
    // place.
    const int lines = width() >= kWideBar ? kSentenceLines : kNarrowSentenceLines;
    m_sentence->setMinimumHeight(m_asking ? 0 : lines * m_sentence->fontMetrics().lineSpacing());
    m_sentence->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    const int around = layout()->totalSizeHint().width() - m_texts->sizeHint().width();
    setMinimumWidth(widest + around);
    m_buttons->setDirection(sideBySide + around <= width() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

}  // namespace offstage::ui
