#pragma once

#include <optional>

#include <QWidget>

#include "engine/run/session.h"

class QComboBox;
class QGridLayout;
class QLabel;
class QToolButton;

namespace offstage::ui {

class EngineController;
class LeftOutEdit;
class QualityEdit;
class ValueSlider;

// A user's whole budget for a model.
struct BudgetSetting {
    quint64 vramBytes = 0;  // 0 on a device without separate memory
    quint64 ramBytes = 0;
    qint64 context = 0;
    engine::KvType kv = engine::KvType::kBf16;
    engine::QualityFloor quality;
    std::optional<engine::FormatId> experts;  // all in this format
    engine::ThetaChoice theta;                // EngineController::theta()

    bool operator==(const BudgetSetting& other) const;
};

// The setting that a model was loaded with.
BudgetSetting settingOf(const engine::ModelSummary& model, const engine::LoadRequest& request);
// The setting in force: as loaded, or as changed by the last completed re-plan.
BudgetSetting settingInForce(const EngineController& engine);
// The request that leads from one setting to the other: only the differences; theta is
// for its preview only, because no plan contains it.
engine::ReplanRequest changeBetween(const BudgetSetting& from, const BudgetSetting& to);
// "VRAM 6.0 GiB, RAM 20.0 GiB, context 4,096, at least 4.00 bits"; fields of 0 are left
// out.
QString settingText(const BudgetSetting& setting);

// Sliders with spin boxes for VRAM, RAM and context, levels of quality, and, unfolded,
// the choices that the levels are made of: formats and floors of experts, and neurons
// that are skipped. Disabled rows show the reason. GUI thread only.
class BudgetForm : public QWidget {
    Q_OBJECT

  public:
    // Another plan than that in force has no line of what its quality changes, and no way
    // to single experts.
    enum class Plan { InForce, Other };

    explicit BudgetForm(Plan plan = Plan::InForce, QWidget* parent = nullptr);

    // The sliders' ranges: from the model and the machine's present state. Keeps the
    // setting.
    void setLimits(const engine::ModelSummary& model, const engine::Snapshot& snapshot);
    // With a floor of measured loss `theta` is the plan's last choice
    // (LeftOutEdit::set()).
    BudgetSetting setting() const;
    void setSetting(const BudgetSetting& setting);  // emits nothing

    ValueSlider& vram() const { return *m_vram; }
    ValueSlider& ram() const { return *m_ram; }
    ValueSlider& context() const { return *m_context; }
    QComboBox& kv() const { return *m_kv; }
    QComboBox& level() const { return *m_level; }
    QualityEdit& quality() const { return *m_quality; }
    LeftOutEdit& leftOut() const { return *m_leftOut; }
    // Why VRAM cannot be set; empty where it can.
    QString vramReason() const;
    // What the shown quality changes: a line below its level.
    void setQualityChange(const QString& text);
    bool isUnfolded() const;  // Advanced is open

  Q_SIGNALS:
    void changed();  // by the user
    void unfolded(bool all);
    void singleExpertsRequested();

  private:
    void build(Plan plan);
    void buildAdvanced(QGridLayout& grid);
    void fillLevels();
    void levelChosen();
    void refreshLevel();
    void unfold(bool all);

    ValueSlider* m_vram;
    ValueSlider* m_ram;
    ValueSlider* m_context;
    QComboBox* m_kv;
    QComboBox* m_level;
    engine::ExpertFormats m_formats;  // that it offers levels of
    QLabel* m_change;
    QToolButton* m_advanced;
    QList<QWidget*> m_folded;
    QualityEdit* m_quality;
    LeftOutEdit* m_leftOut;
    QLabel* m_vramReason;
    bool m_hasVram = true;
};

}  // namespace offstage::ui
