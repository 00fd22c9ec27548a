#pragma once

#include <span>
#include <vector>

#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// Values of equal, neighbouring bins.
struct Histogram {
    double lo = 0;
    double width = 1;
    std::vector<double> counts;
    bool openEnd = false;  // the last bin also counts what lies beyond it
    bool operator==(const Histogram&) const = default;
};
// Bins of a nice width, at most `most`; values that are not finite are left out. Values beyond the given quantile
// (0..1) are counted in the last bin, so that a few outliers do not squeeze the rest.
Histogram histogramOf(std::span<const double> values, int most, double quantile = 1);

// Grouped bars: one group per name, one bar in it per series; or a histogram. Each bar's value is written at it where
// there is room.
class BarPlot : public PlotWidget {
    Q_OBJECT

  public:
    struct Series {
        QString name;
        std::vector<double> values;  // one per group, >= 0; NaN: no bar
        bool predicted = false;      // drawn as an outline
        bool operator==(const Series&) const = default;
    };
    struct BarIndex {
        int group = 0;
        int series = 0;
        bool operator==(const BarIndex&) const = default;
    };

    explicit BarPlot(QWidget* parent = nullptr);

    // Qt::Horizontal: bars lie, groups below each other (long names); Qt::Vertical, the default: bars stand.
    void setOrientation(Qt::Orientation orientation);
    void setGroups(const QStringList& groups, std::vector<Series> series);
    // Bars without space between them over an axis of `bins`; marks are lines at values of that axis (median, p99).
    void setHistogram(const Histogram& histogram, const AxisSpec& bins, const std::vector<PlotMark>& marks = {});
    void clear();
    void setValueAxis(const AxisSpec& spec);
    // The group that is "now", emphasised; -1: none.
    void setEmphasised(int group);

    int groupCount() const;
    std::optional<BarIndex> barAt(QPoint at);
    QRectF rectOf(BarIndex bar);
    std::optional<BarIndex> current() const { return m_current; }

    QString csv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void barClicked(int group, int series);

  protected:
    bool isEmpty() const override { return groupCount() == 0 || seriesCount() == 0; }
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;

  private:
    void changed();
    bool lies() const { return m_orientation == Qt::Horizontal && !m_isHistogram; }
    int seriesCount() const;
    double valueOf(BarIndex bar) const;
    QString textOf(BarIndex bar) const;
    QString groupText(int group) const;
    void setCurrent(std::optional<BarIndex> bar);
    std::vector<LegendEntry> legend() const;

    Qt::Orientation m_orientation = Qt::Vertical;
    QStringList m_groups;
    std::vector<Series> m_series;
    bool m_isHistogram = false;
    Histogram m_histogram;
    AxisSpec m_binSpec;
    AxisSpec m_valueSpec;
    std::vector<PlotMark> m_marks;
    int m_emphasised = -1;
    Axis m_values;
    Axis m_bins;
    std::vector<Tick> m_ticks;
    int m_widestValue = 0;  // pixels of the longest value's text
    QRect m_area;
    std::optional<BarIndex> m_current;
};

}  // namespace offstage::ui
