#include "ui/window/status_line.h"

#include <utility>

#include <QEvent>
#include <QLabel>
#include <QLocale>
#include <QResizeEvent>
#include <QStatusBar>

#include "ui/engine/context_in_force.h"
#include "ui/engine/format.h"
#include "ui/engine/speed_meter.h"
#include "ui/widgets/context_meter.h"
#include "ui/widgets/fields.h"

namespace offstage::ui {

namespace {

constexpr int kWideEnoughForAName = 760;

}  // namespace

StatusLine::StatusLine(EngineController& engine, QStatusBar& bar)
    : QObject(&bar),
      m_engine(engine),
      m_state(new QLabel),
      m_speed(new QLabel),
      m_meter(new SpeedMeter(engine, this)),
      m_theta(new QLabel),
      m_model(new QLabel),
      m_context(new ContextMeter) {
    for (QLabel* label : {m_state, m_speed, m_theta, m_model}) {
        label->setTextFormat(Qt::PlainText);
    }
    m_state->setAccessibleName(tr("What the engine does"));
    m_speed->setAccessibleName(tr("Speed"));
    m_model->setAccessibleName(tr("Model"));
    describe(*m_theta, tr("Neurons that are skipped"),
             tr("Neurons of the experts whose activation is at most this, or at most their expert's own threshold, are "
                "skipped: the answers are not the model's own. The Budget panel changes it."));
    m_theta->setContentsMargins(6, 0, 6, 0);
    m_state->setContentsMargins(10, 3, 10, 3);
    m_speed->setContentsMargins(2, 0, 6, 0);
    m_model->setContentsMargins(10, 0, 10, 0);
    m_speed->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    connect(m_meter, &SpeedMeter::changed, this, &StatusLine::refreshSpeed);
    bar.setSizeGripEnabled(false);
    bar.addWidget(m_state, 1);
    bar.addPermanentWidget(m_speed);
    bar.addPermanentWidget(m_theta);
    bar.addPermanentWidget(m_context);
    bar.addPermanentWidget(m_model);
    bar.installEventFilter(this);

    connect(&m_engine, &EngineController::stateChanged, this, &StatusLine::refreshState);
    connect(&m_engine, &EngineController::servingChanged, this, &StatusLine::refreshState);
    connect(&m_engine, &EngineController::thetaChanged, this, &StatusLine::refreshTheta);
    connect(&m_engine, &EngineController::loadStarted, this, &StatusLine::refreshTheta);
    connect(&m_engine, &EngineController::modelLoaded, this, [this] {
        setContextUsed(0);
        refreshState();
    });
    connect(&m_engine, &EngineController::replanEnded, this, [this] { setContextUsed(m_contextUsed); });
    connect(&m_engine, &EngineController::streamed, this, [this] { onStreamed(); });
    connect(&m_engine, &EngineController::answered, this, [this] {
        if (!m_isOfShown) {
            m_meter->leaveAnswer();
        }
    });
    connect(&m_engine, &EngineController::promptRead, this,
            [this](RequestId, qint64 read, qint64 tokens) { m_state->setText(readingText(read, tokens)); });
    refreshState();
    refreshTheta();
}

// Called with each piece of an answer. A label of fixed size causes no layout, which
// would be the whole window's: it grows only if a text needs more room.
void StatusLine::refreshSpeed() {
    const QString text = m_meter->text(!m_isNarrow);
    if (text.isEmpty() || m_meter->isSimulated() != m_showsSimulated) {
        m_speed->setMinimumSize(0, 0);
        m_speed->setMaximumSize(QWIDGETSIZE_MAX, QWIDGETSIZE_MAX);
        m_showsSimulated = m_meter->isSimulated();
        m_speed->setToolTip(
            m_showsSimulated
                ? tr("Tokens written per second, after the first token.\nSimulated: what the emulated device would "
                     "reach, worked out from its datasheet.\nHere: how fast the text really came on this computer, "
                     "which does that device's work.")
                : tr("Tokens written per second, after the first token, as measured."));
    }
    m_speed->setText(text);
    const QMargins margins = m_speed->contentsMargins();
    const int width = m_speed->fontMetrics().horizontalAdvance(text) + margins.left() + margins.right() + 1;
    if (!text.isEmpty() && width > m_speed->minimumWidth()) {
        m_speed->setFixedSize(m_speed->sizeHint().expandedTo({width, 0}));
    }
    Q_EMIT speedChanged();
}

void StatusLine::setConversation(quint64 shown) {
    if (std::exchange(m_conversation, shown) != shown) {
        m_meter->leaveAnswer();
    }
}

void StatusLine::refreshTheta() {
    m_theta->setVisible(m_engine.theta().leaves_out());
    m_theta->setText(ui::thetaText(m_engine.theta()));
}

QString StatusLine::thetaText() const {
    return m_theta->text();
}

QString StatusLine::speedText() const {
    return m_speed->text();
}

// In a narrow window the numbers take the room of the model's name, which the tool bar
// shows too, and the speed is the device's alone.
bool StatusLine::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) {
        const int width = static_cast<QResizeEvent*>(event)->size().width();
        m_model->setVisible(width >= kWideEnoughForAName);
        if (std::exchange(m_isNarrow, width < kWideEnoughForAName) != m_isNarrow) {
            m_showsSimulated.reset();  // the label has another size now
            refreshSpeed();
        }
    }
    return QObject::eventFilter(watched, event);
}

QString StatusLine::stateText() const {
    return m_state->text();
}

QString StatusLine::contextText() const {
    return m_context->text();
}

void StatusLine::refreshState() {
    using State = EngineController::State;
    const auto& model = m_engine.model();
    m_model->setText(model ? QString::fromStdString(model->name) : QString());
    switch (m_engine.state()) {
        case State::NoModel:
            m_state->setText(tr("No model"));
            m_context->setUsed(0, 0);
            break;
        case State::Loading:
            m_state->setText(tr("Loading the model…"));
            m_context->setUsed(0, 0);
            break;
        case State::Ready:
            m_state->setText(m_engine.isServingOthers() ? tr("Answering another program") : tr("Ready"));
            break;
        case State::Generating:
            m_state->setText(m_engine.isServingOthers() ? tr("Waiting for the end of another program's answer…")
                                                        : tr("Reading the prompt…"));
            m_first = true;
            break;
        case State::Stopping:
            m_state->setText(tr("Stopping…"));
            break;
    }
}

void StatusLine::setContextUsed(qint64 tokens) {
    m_contextUsed = tokens;
    if (m_engine.model()) {
        m_context->setUsed(tokens, contextInForce(m_engine));
    }
}

void StatusLine::onStreamed() {
    if (!m_engine.model()) {
        return;
    }
    if (m_first) {
        m_first = false;
        m_state->setText(tr("Writing"));
    }
    m_isOfShown = m_followsAnswer;
    const auto snapshot = m_engine.snapshot();
    if (m_followsAnswer && snapshot) {
        setContextUsed(snapshot->context_used);
    }
}

}  // namespace offstage::ui
