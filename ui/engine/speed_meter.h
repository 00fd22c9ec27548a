#pragma once

#include <optional>
#include <utility>

#include <QElapsedTimer>
#include <QObject>

#include "ui/engine/engine_controller.h"

namespace offstage::ui {

// The speed of the open model: by the device's clock (measured, or simulated if the
// device is emulated) and, by this computer's clock, of the text's arrival. Of the
// running or last answer. GUI thread only.
class SpeedMeter : public QObject {
    Q_OBJECT

  public:
    explicit SpeedMeter(EngineController& engine, QObject* parent = nullptr);

    // Tokens per second after the first token; 0: not known.
    double here() const { return m_here; }
    bool isSimulated() const;
    // The following output is a benchmark's, perhaps of another plan: its speed is shown
    // until the trial ends, and then the earlier one again.
    void beginTrial();
    void endTrial();
    // The last answer is no longer of interest. Ignored while one is being written, and
    // during a trial.
    void leaveAnswer();
    // "1,193.0 tokens/s (measured)"; "2,000.0 tokens/s (simulated) · here 57.1 tokens/s
    // (measured)", its second part only `withArrival`. Empty: not known.
    QString text(bool withArrival = true) const;

  Q_SIGNALS:
    void changed();

  private:
    void streamed(const StreamedText& piece);
    void answered(const engine::GenerationResult& result);
    void forget();

    EngineController& m_engine;
    QElapsedTimer m_sinceFirst;
    qint64 m_firstTokens = 0;  // of the first piece
    quint64 m_answer = 0;      // 0: none is being written
    double m_byDevice = 0, m_here = 0;
    std::optional<std::pair<double, double>> m_beforeTrial;  // the two, while a benchmark runs
};

}  // namespace offstage::ui
