#pragma once

#include <array>
#include <vector>

#include <QTimer>

#include "ui/engine/engine_controller.h"
#include "ui/panels/budget_form.h"
#include "ui/panels/panel.h"

class QGridLayout;
class QProgressBar;
class QPushButton;

namespace offstage::ui {

class StackedBar;

// The uses of VRAM and RAM, and the budgets that the user moves: every change is
// previewed (its cost and effect) before Apply carries it out in the background. Undo
// restores the budgets before. GUI thread only.
class BudgetPanel : public Panel {
    Q_OBJECT

  public:
    static constexpr int kPreviewDelayMs = 150;
    static constexpr int kProgressIntervalMs = 100;
    static constexpr std::size_t kMostUndo = 20;

    explicit BudgetPanel(EngineController& engine, QWidget* parent = nullptr);

    BudgetForm& form() const { return *m_form; }
    StackedBar& bars() const { return *m_bars; }
    QProgressBar& progress() const { return *m_progress; }
    // The present setting, as far as this panel knows.
    const BudgetSetting& inForce() const { return m_inForce; }
    // The preview's figures, one per line; empty: there is none.
    QString problem() const { return m_problem; }  // why there is no preview

  Q_SIGNALS:
    void expertsRequested();  // the panel of single experts

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;

  private:
    struct Figure {
        QLabel* name;
        QLabel* now;
        QLabel* then;
        void setVisible(bool visible) const;
    };

    // In the order of the table.
    QStringList figureTexts(const engine::Forecast& f, const engine::ThetaChoice& theta, const QString& resident) const;
    // One column; dashes without texts.
    void setFigures(QLabel* Figure::*column, const QStringList& texts);
    Figure addFigure(QGridLayout& grid, const QString& name, const QString& tip);
    void buildPreview();
    void showFigures();  // those of the choices that are shown
    void formChanged();
    void askPreview();
    // Requests the present plan's figures: once per answer and plan, while the panel is
    // visible, and not instead of a preview.
    void askNow();
    // The column "now"; dashes until its figures are known.
    void showNow();
    void showPreview(const engine::ReplanPreview& preview, const QString& problem);
    // The table stays in its place, without figures.
    void clearPreview(const QString& why = {});
    // Each memory's present parts, and below them, as a ghost, the parts after Apply.
    void showBars();
    // Rows of a memory that is not there, and of formats that were there for a moment,
    // would be blank.
    void reserveBars();
    void apply();
    void undo();
    void begin(const BudgetSetting& target, bool isUndo);
    void follow();
    void finish(const engine::ReplanReport& report);
    // The request has been carried out; Undo leads to the state before it.
    void remember();
    void refreshButtons();
    // The preview is of a level of quality that leaves everything as it is.
    bool changesNothing() const;
    // Counted, since the cache moves experts all the time: the only number of them that
    // is shown as present.
    QString onDeviceNow() const;
    QString keptFormatsText(double bits) const;
    QString qualityText(double predictedLoss, std::optional<double> formatKl, const engine::ThetaChoice& theta) const;

    BudgetForm* m_form;
    StackedBar* m_bars;
    QWidget* m_preview;
    QLabel* m_planNote;
    QLabel* m_basis;  // whether "now" was measured
    QString m_problem;
    std::array<Figure, 8> m_figures;
    QPushButton* m_apply;
    QPushButton* m_undo;
    QPushButton* m_reset;
    QPushButton* m_cancel;
    QProgressBar* m_progress;
    QLabel* m_progressText;
    QTimer m_previewTimer;
    QTimer m_progressTimer;

    BudgetSetting m_inForce;
    std::vector<BudgetSetting> m_history;        // settings to go back to, the last on top
    std::optional<engine::ReplanPreview> m_now;  // its figures before are those of now
    std::optional<BudgetSetting> m_previewed;    // the setting of the preview
    std::optional<double> m_keptBits;            // of the preview, where a floor of bits changes no format
    bool m_movesNothing = false;                 // of the preview: neither memory nor experts change
    engine::Plan m_plan;                         // its result
    bool m_cancelling = false;                   // requested, not yet done
    bool m_undoing = false;
    bool m_hasModel = false;
    bool m_hasLimits = false;
    bool m_asksNow = false;     // m_now is requested as soon as nothing else is
    RequestId m_previewId = 0;  // 0: none is requested
    RequestId m_nowId = 0;      // of a preview without changes; 0: none is requested
    quint64 m_replanId = 0;     // 0: none of ours is under way
};

}  // namespace offstage::ui
