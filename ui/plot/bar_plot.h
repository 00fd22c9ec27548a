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
// Bins of a round width, at most `most`; values that are not finite are left out. Values
// beyond the given quantile (0..1) are counted in the last bin, so that a few outliers do
// not compress the rest.
Histogram histogramOf(std::span<const double> values, int most, double quantile = 1);

// Horizontal bars, one below the other, each with its name; or a histogram. Each bar's
// value is written beside it if there is room. Names that would take more than two fifths
// of the width stand above their bars, as whole as they can be.
class BarPlot : public PlotWidget {
    Q_OBJECT

  public:
    struct Bars {
        QString what;  // the values' name: "hit rate"
        QStringList names;
        std::vector<double> values;  // one per name, >= 0
        bool predicted = false;      // drawn as outlines
        bool operator==(const Bars&) const = default;
    };

    explicit BarPlot(QWidget* parent = nullptr);

    void setBars(Bars bars);
    // Bars without space between them over an axis of `bins`; marks are lines at values
    // of that axis (median, p99).
    void setHistogram(const Histogram& histogram, const AxisSpec& bins, const std::vector<PlotMark>& marks = {});
    void clear();
    void setValueAxis(const AxisSpec& spec);
    // Never lower than its bars and their names need.
    void setWhole(bool whole);
    // The bar that is "now", emphasised; -1: none.
    void setEmphasised(int bar);

    int barCount() const;
    std::optional<int> barAt(QPoint at);
    QRectF rectOf(int bar);
    QStringList numbersBelow();      // as they are painted below the plot
    QStringList names();             // as they are painted
    std::vector<QRect> markNames();  // places of the names of visible marks
    std::optional<int> current() const { return m_current; }

    QString csv() const override;
    QSize sizeHint() const override;

  protected:
    bool isEmpty() const override { return barCount() == 0; }
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void changed();
    void keepWhole();
    int widestName() const;
    bool namesStandAbove() const { return widestName() > width() * 2 / 5; }
    int captionEnd() const;
    QRectF nameRect(int bar) const;
    double valueOf(int bar) const;
    // The width of one bar's room.
    double room() const;
    QString textOf(int bar) const;
    QString nameOf(int bar) const;
    void setCurrent(std::optional<int> bar);
    std::vector<const PlotMark*> shownMarks() const;
    void paintMarks(QPainter& painter);

    Bars m_bars;
    bool m_isHistogram = false;
    Histogram m_histogram;
    AxisSpec m_binSpec;
    AxisSpec m_valueSpec;
    std::vector<PlotMark> m_marks;
    int m_emphasised = -1;
    bool m_whole = false;
    bool m_namesAbove = false;
    Axis m_values;
    Axis m_bins;
    std::vector<Tick> m_ticks;
    int m_widestValue = 0;  // pixels of the longest value's text
    QSize m_hint;           // known to the layout
    QRect m_area;
    std::optional<int> m_current;
};

}  // namespace offstage::ui
