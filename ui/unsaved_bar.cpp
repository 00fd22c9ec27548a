#include "ui/unsaved_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace offstage::ui {

UnsavedBar::UnsavedBar(QWidget* parent)
    : QFrame(parent),
      m_title(new QLabel(tr("Not everything is saved yet"))),
      m_sentence(new QLabel),
      m_tryAgain(new QPushButton(tr("Try again"))),
      m_save(new QPushButton(tr("Save as a file…"))),
      m_close(new QPushButton(tr("Close without saving"))) {
    setAutoFillBackground(true);
    setAccessibleName(m_title->text());
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    m_title->setFont(bold);
    m_title->setTextFormat(Qt::PlainText);
    m_title->setWordWrap(true);
    m_sentence->setTextFormat(Qt::PlainText);
    m_sentence->setWordWrap(true);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_tryAgain->setAccessibleDescription(tr("Saves what is not saved, and closes the window"));
    m_save->setAccessibleDescription(
        tr("Puts the conversations that are not saved into a file, and closes the window"));
    auto* away = new QToolButton;
    away->setText(QStringLiteral("✕"));
    away->setAutoRaise(true);
    away->setAccessibleName(tr("Keep the window open"));
    away->setToolTip(away->accessibleName());

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    for (QPushButton* button : {m_tryAgain, m_save, m_close}) {
        button->setAccessibleName(button->text());
        buttons->addWidget(button);
    }
    buttons->addStretch();
    auto* texts = new QVBoxLayout;
    texts->setSpacing(4);
    texts->addWidget(m_title);
    texts->addWidget(m_sentence);
    texts->addSpacing(4);
    texts->addLayout(buttons);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(24, 10, 16, 10);
    row->addLayout(texts, 1);
    row->addWidget(away, 0, Qt::AlignTop);

    connect(m_tryAgain, &QPushButton::clicked, this, &UnsavedBar::tryAgainRequested);
    connect(m_save, &QPushButton::clicked, this, &UnsavedBar::fileRequested);
    connect(m_close, &QPushButton::clicked, this, &UnsavedBar::closeRequested);
    connect(away, &QToolButton::clicked, this, &QWidget::hide);
}

void UnsavedBar::ask(const QString& reason, bool fileOffered) {
    const QString loss = tr("What was written last is lost if Offstage closes now.");
    m_sentence->setText(reason.isEmpty() ? loss : reason + u' ' + loss);
    setAccessibleDescription(m_sentence->text());
    m_save->setVisible(fileOffered);
    show();
    m_tryAgain->setFocus();
}

QString UnsavedBar::sentence() const {
    return m_sentence->text();
}

}  // namespace offstage::ui
