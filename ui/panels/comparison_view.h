#pragma once

#include <array>

#include <QWidget>

#include "ui/panels/benchmark_runner.h"

class QGridLayout;
class QLabel;

namespace offstage::ui {

// Two plans on one prompt: the figures as a table, and below it each plan's budgets and
// answer, side by side where both have room. GUI thread only.
class ComparisonView : public QWidget {
    Q_OBJECT

  public:
    explicit ComparisonView(QWidget* parent = nullptr);

    // `simulated`: the speeds are an emulated device's.
    void setComparison(const BenchmarkComparison& comparison, bool simulated);
    void clear();

  protected:
    void changeEvent(QEvent* event) override;

  private:
    static constexpr int kRows = 8, kColumns = 4;  // with the head, with the names
    struct Side {
        QLabel* budgets;
        QLabel* answer;
    };
    QWidget* newSide(Side& side, const QString& plan, const QString& letter);
    static QStringList names(bool simulated);
    void buildFigures();
    void setRow(int row, const QString& name, const QStringList& texts);
    void fitColumns();
    void showFigures(const BenchmarkComparison& comparison, bool simulated);

    QLabel* m_headline;
    QWidget* m_result;
    QGridLayout* m_figures;
    std::array<std::array<QLabel*, kColumns>, kRows> m_cells{};
    std::array<Side, 2> m_sides{};  // plan A and plan B
};

}  // namespace offstage::ui
