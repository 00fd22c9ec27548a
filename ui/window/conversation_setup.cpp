#include "ui/window/conversation_setup.h"

#include <exception>

#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>

#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

Setting<QVariantMap> settingOf(ConversationId id) {
    return settings::kConversationSetup[QString::number(id)];
}

const QString kKv = QStringLiteral("kv"), kExperts = QStringLiteral("experts"),
              kAcceptsGuesses = QStringLiteral("acceptsGuesses");

// The names of what is kept as it is.
void eachField(auto& setup, const auto& act) {
    act("model", setup.model);
    act("name", setup.name);
    act("device", setup.device);
    act("vram", setup.budget.vramBytes);
    act("ram", setup.budget.ramBytes);
    act("context", setup.budget.context);
    act("bits", setup.budget.quality.min_mean_bits);
    act("loss", setup.budget.quality.max_loss);
    act("maxKl", setup.budget.quality.max_kl);
    act("theta", setup.budget.theta.theta);
    act("thetaLoss", setup.budget.theta.loss);
}
void eachInForce(auto& setup, const auto& act) {
    act("vramInForce", setup.inForce.vramBytes);
    act("ramInForce", setup.inForce.ramBytes);
    act("contextInForce", setup.inForce.context);
}

}  // namespace

void ConversationSetups::keep(ConversationId id, const ConversationSetup& setup) {
    if (id == 0 || of(id) == setup) {
        return;
    }
    QVariantMap map{{kKv, QString::fromUtf8(engine::name_of(setup.budget.kv).data())},
                    {kAcceptsGuesses, setup.budget.theta.accepts_guesses()}};
    const auto write = [&map](const char* key, const auto& value) {
        map.insert(QLatin1String(key), QVariant::fromValue(value));
    };
    eachField(setup, write);
    eachInForce(setup, write);
    if (setup.budget.experts) {
        map.insert(kExperts, QString::fromStdString(std::string(engine::format_row(*setup.budget.experts).option)));
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
    const auto read = [&map](const char* key, auto& value) {
        value = map.value(QLatin1String(key)).value<std::remove_reference_t<decltype(value)>>();
    };
    eachField(setup, read);
    setup.budget.theta.guesses =
        map.value(kAcceptsGuesses).toBool() ? engine::NeuronGuesses::kAccept : engine::NeuronGuesses::kCorrect;
    try {  // values of another version are ignored
        setup.budget.kv = engine::parse_kv_type(map.value(kKv).toString().toStdString());
        if (const QString experts = map.value(kExperts).toString(); !experts.isEmpty()) {
            setup.budget.experts = engine::parse_quant("experts=" + experts.toStdString()).experts;
        }
    } catch (const std::exception&) {
        return std::nullopt;
    }
    setup.inForce = setup.budget;
    // Earlier versions stored a sentence instead: then only the requested values are
    // known.
    if (map.contains(QLatin1String("ramInForce"))) {
        eachInForce(setup, read);
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
    describe(*close, tr("Go on with the model that is open"));
    rowOf(this, {{m_sentence, 1}, m_open, close}, inset(24, 6, 16, 6));
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
