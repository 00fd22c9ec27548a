#include "ui/window/conversation_setup.h"

#include <exception>

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

Setting<QVariantMap> settingOf(ConversationId id) {
    return settings::kConversationSetup[QString::number(id)];
}

}  // namespace

void ConversationSetups::keep(ConversationId id, const ConversationSetup& setup) {
    if (id == 0 || of(id) == setup) {
        return;
    }
    QVariantMap map{{QStringLiteral("model"), setup.model},
                    {QStringLiteral("name"), setup.name},
                    {QStringLiteral("device"), setup.device},
                    {QStringLiteral("vram"), setup.budget.vramBytes},
                    {QStringLiteral("ram"), setup.budget.ramBytes},
                    {QStringLiteral("context"), setup.budget.context},
                    {QStringLiteral("kv"), QString::fromUtf8(engine::name_of(setup.budget.kv).data())},
                    {QStringLiteral("bits"), setup.budget.quality.min_mean_bits},
                    {QStringLiteral("loss"), setup.budget.quality.max_loss},
                    {QStringLiteral("maxKl"), setup.budget.quality.max_kl},
                    {QStringLiteral("theta"), setup.budget.theta.theta},
                    {QStringLiteral("thetaLoss"), setup.budget.theta.loss},
                    {QStringLiteral("acceptsGuesses"), setup.budget.theta.accepts_guesses()},
                    {QStringLiteral("vramInForce"), setup.inForce.vramBytes},
                    {QStringLiteral("ramInForce"), setup.inForce.ramBytes},
                    {QStringLiteral("contextInForce"), setup.inForce.context}};
    if (setup.budget.experts) {
        map.insert(QStringLiteral("experts"),
                   QString::fromStdString(std::string(engine::format_row(*setup.budget.experts).option)));
    }
    QSettings open;
    QStringList order = settings::kConversationSetupOrder.value();
    order.removeAll(QString::number(id));
    order.append(QString::number(id));
    while (order.size() > kMostKept) {
        settings::kConversationSetup[order.takeFirst()].remove(open);
    }
    settings::kConversationSetupOrder.set(open, order);
    settingOf(id).set(open, map);
}

std::optional<ConversationSetup> ConversationSetups::of(ConversationId id) {
    const QVariantMap map = settingOf(id).value();
    if (map.isEmpty()) {
        return std::nullopt;
    }
    ConversationSetup setup;
    setup.model = map.value(QStringLiteral("model")).toString();
    setup.name = map.value(QStringLiteral("name")).toString();
    setup.device = map.value(QStringLiteral("device")).toString();
    setup.budget.vramBytes = map.value(QStringLiteral("vram")).toULongLong();
    setup.budget.ramBytes = map.value(QStringLiteral("ram")).toULongLong();
    setup.budget.context = map.value(QStringLiteral("context")).toLongLong();
    setup.budget.quality.min_mean_bits = map.value(QStringLiteral("bits")).toDouble();
    setup.budget.quality.max_loss = map.value(QStringLiteral("loss")).toDouble();
    setup.budget.quality.max_kl = map.value(QStringLiteral("maxKl")).toDouble();
    setup.budget.theta = {map.value(QStringLiteral("theta")).toDouble(),
                          map.value(QStringLiteral("thetaLoss")).toDouble(),
                          map.value(QStringLiteral("acceptsGuesses")).toBool() ? engine::NeuronGuesses::kAccept
                                                                               : engine::NeuronGuesses::kCorrect};
    try {  // values of another version are ignored
        setup.budget.kv = engine::parse_kv_type(map.value(QStringLiteral("kv")).toString().toStdString());
        if (const QString experts = map.value(QStringLiteral("experts")).toString(); !experts.isEmpty()) {
            setup.budget.experts = engine::parse_quant("experts=" + experts.toStdString()).experts;
        }
    } catch (const std::exception&) {
        return std::nullopt;
    }
    setup.inForce = setup.budget;
    // Earlier versions stored a sentence instead: then only the requested values are
    // known.
    if (map.contains(QStringLiteral("ramInForce"))) {
        setup.inForce.vramBytes = map.value(QStringLiteral("vramInForce")).toULongLong();
        setup.inForce.ramBytes = map.value(QStringLiteral("ramInForce")).toULongLong();
        setup.inForce.context = map.value(QStringLiteral("contextInForce")).toLongLong();
    }
    return setup;
}

SetupBar::SetupBar(QWidget* parent)
    : QFrame(parent),
      m_sentence(textLabel(tr("What this conversation was answered with"))),
      m_open(new QPushButton(tr("Open it"))) {
    m_open->setToolTip(tr("Open this model with these budgets; the conversation stays"));
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Go on with the model that is open"));
    close->setToolTip(close->accessibleName());
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(24, 6, 16, 6);
    row->addWidget(m_sentence, 1);
    row->addWidget(m_open);
    row->addWidget(close);
    connect(m_open, &QPushButton::clicked, this, &SetupBar::openRequested);
    connect(close, &QToolButton::clicked, this, &SetupBar::dismissed);
    hide();
}

void SetupBar::tell(const ConversationSetup& setup, const QString& device, bool missing) {
    const QString budgets = settingText(setup.inForce);
    const QString used = budgets.isEmpty()
                             ? tr("This conversation used %1 on %2.", "model, device").arg(setup.name, device)
                             : tr("This conversation used %1 on %2, with %3.", "model, device, budgets")
                                   .arg(setup.name, device, budgets);
    m_sentence->setText(
        missing
            ? used + u' ' + tr("It is no longer at %1: answers will come from the model that is open.").arg(setup.model)
            : used);
    m_open->setVisible(!missing);
    show();
}

void SetupBar::tell(const Persona& persona, bool missing) {
    const QString wanted = tr("The persona “%1” goes with %2.", "model").arg(persona.name, persona.modelName);
    m_sentence->setText(
        missing ? wanted + u' ' +
                      tr("It is no longer at %1: answers will come from the model that is open.").arg(persona.model)
                : wanted);
    m_open->setVisible(!missing);
    show();
}

QString SetupBar::sentence() const {
    return isHidden() ? QString() : m_sentence->text();
}

void SetupBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    painter.fillRect(rect(), colours.raised);
    painter.fillRect(QRect(0, 0, width(), 1), colours.line);
    painter.fillRect(QRect(0, 1, 3, height() - 1), colours.accent);
}

}  // namespace offstage::ui
