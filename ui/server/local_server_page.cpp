#include "ui/server/local_server_page.h"

#include <QCheckBox>
#include <QClipboard>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>

#include "ui/server/local_server_switch.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

QPushButton* quietButton(const QString& text, const QString& tip) {
    auto* made = new QPushButton(text);
    made->setToolTip(tip);
    made->setAutoDefault(false);
    return made;
}

QHBoxLayout* fieldRow(const QList<QWidget*>& widgets) {
    auto* made = new QHBoxLayout;
    for (QWidget* widget : widgets) {
        made->addWidget(widget, qobject_cast<QLineEdit*>(widget) != nullptr ? 1 : 0);
    }
    return made;
}

}  // namespace

LocalServerPage::LocalServerPage(LocalServerSwitch& server, QWidget* parent)
    : QWidget(parent),
      m_server(server),
      m_on(new QCheckBox(tr("&Local server on"))),
      m_startsWithProgram(new QCheckBox(tr("Switch it on &when Offstage starts"))),
      m_address(new QLineEdit(server.choices().address)),
      m_port(new QSpinBox),
      m_token(new QLineEdit),
      m_copyToken(quietButton(tr("&Copy"), tr("Copy the token"))),
      m_newToken(
          quietButton(tr("&New token"), tr("Make another token. Programs that bring the one before are refused from "
                                           "then on, and what is being answered is stopped."))),
      m_origins(new QLineEdit(server.choices().origins.join(u' '))),
      m_url(new QLineEdit),
      m_copyUrl(quietButton(tr("C&opy"), tr("Copy the address for other programs"))),
      m_state(textLabel(tr("State of the local server"))),
      m_stop(quietButton(tr("&Stop this answer"), tr("Stop the answer that another program is getting"))),
      m_outside(textLabel()),
      m_problem(textLabel(tr("Problem"))) {
    build();
    connect(m_on, &QCheckBox::clicked, this, [this](bool on) {
        keepChoices();
        m_server.setOn(on);
        refresh();  // also where nothing changed
    });
    connect(m_startsWithProgram, &QCheckBox::clicked, this, &LocalServerPage::keepChoices);
    connect(m_address, &QLineEdit::textEdited, this, &LocalServerPage::keepChoices);
    connect(m_origins, &QLineEdit::textEdited, this, &LocalServerPage::keepChoices);
    connect(m_port, &QSpinBox::valueChanged, this, &LocalServerPage::keepChoices);
    connect(m_newToken, &QPushButton::clicked, &m_server, &LocalServerSwitch::renewToken);
    connect(m_copyToken, &QPushButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_server.token()); });
    connect(m_copyUrl, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_url->text()); });
    connect(m_stop, &QPushButton::clicked, &m_server, &LocalServerSwitch::stopAnswer);
    connect(&m_server, &LocalServerSwitch::changed, this, &LocalServerPage::refresh);
    m_server.readToken();
    refresh();
}

void LocalServerPage::build() {
    describe(*m_address, tr("Address to listen on"), tr("127.0.0.1: programs of this computer alone"));
    m_port->setAccessibleName(tr("Port"));
    m_port->setRange(0, LocalServerChoices::kLargestPort);
    m_port->setSpecialValueText(tr("any free one"));
    m_port->setGroupSeparatorShown(false);
    m_port->setValue(m_server.choices().port);
    m_token->setAccessibleName(tr("Token"));
    m_token->setReadOnly(true);
    m_token->setEchoMode(QLineEdit::Password);
    m_token->setPlaceholderText(tr("made when first switched on"));
    m_token->setToolTip(tr("What other programs call the API key. Kept in %1, which only you can read.")
                            .arg(LocalServerSwitch::tokenFile()));
    m_origins->setPlaceholderText(tr("none, or http://localhost:3000"));
    describe(*m_origins, tr("Web pages that may use the server"),
             tr("Where pages come from that may use the server, with blanks between"));
    m_url->setAccessibleName(tr("Address for other programs"));
    m_url->setReadOnly(true);
    m_url->setPlaceholderText(tr("shown while the server is on"));
    m_startsWithProgram->setChecked(m_server.choices().startsWithProgram);
    m_outside->setText(
        tr("Other computers can reach this address. What is asked and answered, and the token, pass the "
           "network as plain text."));
    setWeight(*m_state, QFont::DemiBold);
    setWeight(*m_problem, QFont::DemiBold);
    m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);

    QLabel* what = mutedLabel();
    what->setText(
        tr("While it is on, other programs can ask the model that is open, by parts of the HTTP APIs of OpenAI, "
           "Anthropic and Ollama. Your own messages go first."));
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    const auto add = [form](const QString& text, QWidget* buddy, QLayout* fields) {
        auto* label = labelOf(buddy, text);
        form->addRow(label, fields);
    };
    auto* port = labelOf(m_port, tr("&Port"));
    add(tr("&Address"), m_address, fieldRow({m_address, port, m_port}));
    add(tr("Web pa&ges"), m_origins, fieldRow({m_origins}));
    add(tr("&Token"), m_token, fieldRow({m_token, m_copyToken, m_newToken}));
    add(tr("For other p&rograms"), m_url, fieldRow({m_url, m_copyUrl}));
    columnOf(this,
             {m_on, what, form, m_outside, m_startsWithProgram, rowOf({{m_state, 1}, m_stop}), m_problem, Stretch{1}},
             flush(12));
}

void LocalServerPage::keepChoices() {
    static const QRegularExpression between(QStringLiteral("[\\s,]+"));
    LocalServerChoices choices;
    choices.address = m_address->text().trimmed();
    choices.port = m_port->value();
    choices.origins = m_origins->text().split(between, Qt::SkipEmptyParts);
    choices.startsWithProgram = m_startsWithProgram->isChecked();
    m_server.setChoices(choices);
}

void LocalServerPage::refresh() {
    const bool on = m_server.isOn();
    m_on->setChecked(on);
    for (QWidget* choice :
         {static_cast<QWidget*>(m_address), static_cast<QWidget*>(m_port), static_cast<QWidget*>(m_origins)}) {
        choice->setEnabled(!on);
    }
    m_token->setText(m_server.token());
    m_token->setCursorPosition(0);
    m_copyToken->setEnabled(!m_server.token().isEmpty());
    m_url->setText(m_server.url());
    m_copyUrl->setEnabled(on);
    m_state->setText(m_server.stateText());
    m_stop->setEnabled(m_server.isAnswering());
    m_outside->setVisible(m_server.isReachedFromOutside());
    m_problem->setText(m_server.problem());
    m_problem->setVisible(!m_server.problem().isEmpty());
}

}  // namespace offstage::ui
