#include "ui/chat/problem_card.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/on_palette.h"
#include "ui/base/theme.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/wrapping_row.h"

namespace offstage::ui {

QString textOf(ProblemAction action) {
    switch (action) {
        case ProblemAction::OpenWithOptions:
            return ProblemCard::tr("See what would fit…");
        case ProblemAction::OpenModel:
            return ProblemCard::tr("Open another model…");
        case ProblemAction::OpenPreviousModel:
            return ProblemCard::tr("Back to the previous model");
        case ProblemAction::OpenDemoModel:
            return ProblemCard::tr("Open the demo model");
        case ProblemAction::ChooseTemplate:
            return ProblemCard::tr("Choose a chat template…");
        case ProblemAction::EditPrompt:
            return ProblemCard::tr("Edit the prompt");
        case ProblemAction::TryAgain:
            return ProblemCard::tr("Try again");
        case ProblemAction::AskAnew:
            return ProblemCard::tr("Ask in a new conversation");
        case ProblemAction::LargerContext:
            return ProblemCard::tr("Use the larger context");
        case ProblemAction::LeaveOutOldest:
            return ProblemCard::tr("Go on without the oldest turns");
        case ProblemAction::SummariseOldest:
            return ProblemCard::tr("Summarise the oldest turns and go on");
    }
    return {};
}

ProblemCard::ProblemCard(const Message& message, QWidget* parent)
    : QFrame(parent), m_id(message.id), m_icon(new QLabel(this)), m_title(textLabel()), m_sentence(textLabel()) {
    const Problem& problem = message.problem;
    m_title->setParent(this);
    m_sentence->setParent(this);  // before the buttons: the keyboard comes to it first
    setAccessibleName(problem.title);
    setAccessibleDescription(problem.sentence);

    m_title->setText(problem.title);
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    m_title->setFont(bold);
    m_sentence->setText(problem.sentence);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);

    auto* texts = columnOf({m_title, m_sentence}, apart(4));
    if (!problem.detail.isEmpty()) {
        m_details = new QPlainTextEdit(problem.detail, this);
        m_details->setReadOnly(true);
        m_details->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
        m_details->setFixedHeight(110);
        m_details->setAccessibleName(tr("Details of the problem"));
        m_details->hide();
        addTo(*texts, {Gap{4}, m_details});
    }
    auto* buttons = new WrappingRow(8);
    for (const ProblemAction action : problem.actions) {
        auto* button = new QPushButton(textOf(action), this);
        button->setAccessibleName(textOf(action));
        connect(button, &QPushButton::clicked, this, [this, action, problem] { Q_EMIT actionChosen(action, problem); });
        button->setMinimumSize(button->sizeHint() + QSize(18, 6));
        buttons->addWidget(button);
    }
    if (m_details) {
        m_detailsButton = new QToolButton(this);
        m_detailsButton->setText(tr("Details"));
        m_detailsButton->setAccessibleName(tr("Show the details of the problem"));
        m_detailsButton->setCheckable(true);
        m_detailsButton->setAutoRaise(true);
        m_detailsButton->setArrowType(Qt::RightArrow);
        m_detailsButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        connect(m_detailsButton, &QToolButton::toggled, this, [this](bool open) {
            m_details->setVisible(open);
            m_detailsButton->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
            Q_EMIT heightChanged();
        });
        buttons->addWidget(m_detailsButton);
    }
    addTo(*texts, {Gap{6}, buttons});

    auto* close = new QToolButton(this);
    close->setAutoRaise(true);
    close->setIconSize({16, 16});
    describe(*close, tr("Close this notice"));
    connect(close, &QToolButton::clicked, this, [this] { Q_EMIT closed(m_id); });
    rowOf(this, {{m_icon, 0, Qt::AlignTop}, {texts, 1}, {close, 0, Qt::AlignTop}}, inset(18, 14, 12, 14, 12));
    onPalette(this, [this, close] {
        close->setIcon(themedIcon(QStringLiteral("close"), palette()));
        const Colours colours = Colours::of(palette());
        m_icon->setPixmap(colouredIcon(QStringLiteral("notice"), colours.problem).pixmap(20, 20));
    });
}

int ProblemCard::layoutFor(int width) {
    layout()->activate();
    return layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : layout()->totalSizeHint().height();
}

void ProblemCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    painter.setPen(QPen(colours.line));
    painter.setBrush(colours.problemSurface);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colours.problem);
    painter.drawRoundedRect(QRectF(0, 10, 3, height() - 20), 1.5, 1.5);
}

}  // namespace offstage::ui
