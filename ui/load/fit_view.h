#pragma once

#include <QTimer>
#include <QWidget>

#include "engine/run/fit_estimate.h"
#include "ui/engine/device_choice.h"
#include "ui/engine/engine_values.h"

class QComboBox;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace offstage::ui {

class FileChoice;
class FitWorker;
class QualityEdit;
class StackedBar;
class ValueSlider;

// How a model would be loaded (device, budgets, context, formats, cache) and whether it
// fits so, before any weight is read. GUI thread only; a separate thread makes the
// estimates.
class FitView : public QWidget {
    Q_OBJECT

  public:
    static constexpr int kDelayMs = 120;

    explicit FitView(QWidget* parent = nullptr);
    ~FitView() override;

    // Begins with the choices of this request.
    void setRequest(const engine::LoadRequest& request);
    void setModel(const QString& model);
    // Memory that the program releases before the load.
    void setHeld(const engine::FitHeld& held);
    // The choices, as a load takes them.
    engine::LoadRequest request() const;
    // The same for other models: with a context only if it was chosen here.
    engine::LoadRequest requestForOthers() const;

    bool isEstimating() const;
    // The newest; nothing if none is known or the model cannot be used.
    const std::optional<engine::FitEstimate>& estimate() const { return m_estimate; }
    // It is known and fits.
    bool fits() const { return m_estimate && m_estimate->fits && !isEstimating(); }
    QString verdict() const;  // the sentence below the bars
    QString speed() const;    // the expected speed, or a note that this machine was not measured
    bool isMeasuring() const { return m_isMeasuring; }
    // During other computations nothing is measured: both would be disturbed.
    void setMayMeasure(bool may);

    QComboBox& device() const { return *m_device; }
    ValueSlider& vram() const { return *m_vram; }
    ValueSlider& ram() const { return *m_ram; }
    ValueSlider& context() const { return *m_context; }
    QComboBox& kv() const { return *m_kv; }
    QualityEdit& quality() const { return *m_quality; }
    QComboBox& cache() const { return *m_cache; }
    FileChoice& chatTemplate() const { return *m_template; }
    FileChoice& draftModel() const { return *m_draftModel; }
    ValueSlider& neuronCache() const { return *m_neuronCache; }  // hidden on the CPU
    StackedBar& bars() const { return *m_bars; }
    QPushButton& measureButton() const { return *m_measure; }  // or to cancel that
    // One button per change that would make the model fit.
    QList<QPushButton*> changeButtons() const;

  Q_SIGNALS:
    void changed();  // the choices, or the estimate for them

  private:
    void build();
    void fillDevices();
    void choose(const QString& device);
    void proposeContext(std::int64_t context);
    void choiceChanged();
    void deviceChosen();
    void ask();
    void showEstimate(const engine::FitEstimate& estimate);
    void showFailure(const EngineFailure& failure);
    void showChanges();
    void showSpeed();
    void forgetEstimate();
    void measureOrCancel();
    enum class Verdict { Good, Slow, Bad };
    void setVerdict(const QString& text, Verdict verdict);
    void changeEvent(QEvent* event) override;

    QString m_model;
    engine::LoadRequest m_base;  // fields without controls
    engine::FitHeld m_held;
    std::optional<engine::FitEstimate> m_estimate;
    DeviceChoices m_devices;
    bool m_asked = false;
    QString m_askedModel;  // of the last request
    bool m_filling = false;
    bool m_choseContext = false;  // the person, here
    Verdict m_shownVerdict = Verdict::Bad;
    bool m_mayMeasure = true;
    bool m_isMeasuring = false;
    int m_percent = 0;  // of the measurement

    QComboBox* m_device;
    ValueSlider* m_vram;
    ValueSlider* m_ram;
    ValueSlider* m_context;
    QComboBox* m_kv;
    QualityEdit* m_quality;
    QComboBox* m_cache;
    ValueSlider* m_neuronCache;
    FileChoice* m_template;
    FileChoice* m_draftModel;
    QLabel* m_neuronCacheName;
    StackedBar* m_bars;
    QLabel* m_verdict;
    QLabel* m_detail;
    QLabel* m_speed;
    QPushButton* m_measure;
    QVBoxLayout* m_changes;
    FitWorker* m_worker;
    QTimer m_timer;
};

}  // namespace offstage::ui
