#include "ui/engine/speed_meter.h"

#include <tuple>

#include "ui/engine/format.h"

namespace offstage::ui {

SpeedMeter::SpeedMeter(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    connect(&engine, &EngineController::streamed, this, [this](quint64 id, const StreamedText& piece) {
        if (id != m_answer) {
            m_answer = id;
            m_firstTokens = piece.tokens;
            m_here = 0;
            m_sinceFirst.start();
        }
        streamed(piece);
    });
    connect(&engine, &EngineController::answered, this,
            [this](quint64, const engine::GenerationResult& result) { answered(result); });
    connect(&engine, &EngineController::loadStarted, this, &SpeedMeter::forget);
    connect(&engine, &EngineController::loadFailed, this, &SpeedMeter::forget);
}

bool SpeedMeter::isSimulated() const {
    return m_engine.model() && m_engine.model()->emulated;
}

void SpeedMeter::streamed(const StreamedText& piece) {
    const double seconds = static_cast<double>(m_sinceFirst.nsecsElapsed()) / 1e9;
    if (piece.tokens > m_firstTokens && seconds > 0) {
        m_here = static_cast<double>(piece.tokens - m_firstTokens) / seconds;
    }
    if (piece.tokensPerSecond > 0) {
        m_byDevice = piece.tokensPerSecond;
    }
    Q_EMIT changed();
}

void SpeedMeter::answered(const engine::GenerationResult& result) {
    m_answer = 0;
    if (result.decode_tokens_per_s > 0) {
        m_byDevice = result.decode_tokens_per_s;
    }
    Q_EMIT changed();
}

void SpeedMeter::beginTrial() {
    if (!m_beforeTrial) {
        m_beforeTrial = {m_byDevice, m_here};
    }
}

void SpeedMeter::endTrial() {
    if (m_beforeTrial) {
        m_answer = 0;
        std::tie(m_byDevice, m_here) = *std::exchange(m_beforeTrial, std::nullopt);
        Q_EMIT changed();
    }
}

void SpeedMeter::leaveAnswer() {
    if (!m_engine.isAnswering() && !m_beforeTrial) {
        forget();
    }
}

void SpeedMeter::forget() {
    m_answer = 0;
    if (m_beforeTrial) {
        m_beforeTrial = {0, 0};  // those were another model's
    }
    m_byDevice = m_here = 0;
    Q_EMIT changed();
}

QString SpeedMeter::text(bool withArrival) const {
    if (m_byDevice <= 0) {
        return {};
    }
    const QString speed = tokenSpeedText(m_byDevice, isSimulated());
    return withArrival && isSimulated() && m_here > 0
               ? speed + QStringLiteral(" · ") + tr("here %1").arg(speedText(m_here, SpeedKind::Measured))
               : speed;
}

}  // namespace offstage::ui
