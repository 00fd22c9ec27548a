#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "ui/panels/benchmark_runner.h"
#include "ui/panels/panel.h"

class QLayout;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableView;

namespace offstage::ui {

class BarPlot;
class ComparisonView;
class PageTabs;

// Runs as rows: tokens in and out, TTFT, tokens/s, ITL, hit rate, bytes. Numbers, not
// their texts, under Qt::UserRole.
class BenchmarkTable : public QAbstractTableModel {
    Q_OBJECT

  public:
    // What is looked for first stands where a narrow panel shows it.
    enum Column { Label, Speed, Ttft, In, Out, P50, P95, P99, HitRate, Bytes, Columns };
    static constexpr std::size_t kMostRuns = 1000;  // the oldest go first

    using QAbstractTableModel::QAbstractTableModel;

    void append(const BenchmarkRun& run);
    void clear();
    const std::vector<BenchmarkRun>& runs() const { return m_runs; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  private:
    std::vector<BenchmarkRun> m_runs;
};

// The figures of this session's answers, scenarios, and two plans on one prompt; all can
// be saved as files. ITL is each decode step of the engine by the device's clock, not the
// arrival of text in the window. GUI thread only.
class BenchmarkPanel : public Panel {
    Q_OBJECT

  public:
    enum Page { Answers, Scenario, Compare };

    explicit BenchmarkPanel(EngineController& engine, QWidget* parent = nullptr);

    BenchmarkTable& answers() const { return *m_answers; }
    BenchmarkTable& scenarios() const { return *m_scenarios; }
    const std::vector<BenchmarkComparison>& comparisons() const { return m_comparisons; }
    BenchmarkRunner& runner() const { return *m_runner; }
    BarPlot& histogram() const { return *m_histogram; }
    BudgetForm& planB() const { return *m_planB; }
    QPlainTextEdit& prompt() const { return *m_prompt; }
    QSpinBox& repeats() const { return *m_repeats; }
    void showPage(Page page);

    BenchmarkReport report() const;

  Q_SIGNALS:
    // The user wants pictures of plots: the owner of the panels shows a PictureDialog.
    void picturesRequested();

  protected:
    void showSnapshot(const engine::Snapshot& snapshot) override;
    void modelChanged() override;
    QString timingText() const;  // whether the rows' times are simulated or measured

  private:
    QLayout* buildAnswers();
    QLayout* buildScenario();
    QLayout* buildCompare();
    QTableView* makeTable(BenchmarkTable& table, const QString& name);
    QString deviceNow() const;
    void addAnswer(const engine::GenerationResult& result);
    void readFingerprint();
    void showHistogram();
    void showMedian();
    void refreshButtons();
    void askWhereToSave();

    BenchmarkTable* m_answers;
    BenchmarkTable* m_scenarios;
    std::vector<BenchmarkComparison> m_comparisons;
    BenchmarkRunner* m_runner;
    bool m_hasLimits = false;
    BudgetSetting m_beginningOfB;  // what the form showed when it was filled
    QString m_fingerprint;
    QString m_resultsOf;  // the source of the model
    QString m_fingerprintOf;

    PageTabs* m_tabs;
    QTableView* m_answersView;
    QTableView* m_scenariosView;
    BarPlot* m_histogram;
    QLabel* m_summary;
    QSpinBox* m_in;
    QSpinBox* m_out;
    QSpinBox* m_repeats;
    QSpinBox* m_seed;
    QPushButton* m_run;
    QPlainTextEdit* m_prompt;
    BudgetForm* m_planB;
    QSpinBox* m_maxTokens;
    QPushButton* m_compare;
    ComparisonView* m_comparison;
    QLabel* m_median;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QPushButton* m_export;
    QPushButton* m_pictures;
};

}  // namespace offstage::ui
