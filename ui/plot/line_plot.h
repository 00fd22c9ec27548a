#pragma once

#include <cstddef>
#include <vector>

#include "ui/plot/plot_widget.h"
#include "ui/plot/point_ring.h"

namespace offstage::ui {

// Several series over time or index. A value that is NaN is a gap. With more points than
// pixels, each column of pixels shows the lowest and the highest of its values.
class LinePlot : public PlotWidget {
    Q_OBJECT

  public:
    enum class Line { Solid, Dashed };  // dashed: predicted

    explicit LinePlot(QWidget* parent = nullptr);

    // Returns the series' index, which is its colour too.
    int addSeries(const QString& name, Line line = Line::Solid);
    void removeAllSeries();
    int seriesCount() const { return static_cast<int>(m_series.size()); }
    const PointRing& points(int series) const;
    // Points kept per series, the latest ones; 100,000 by default. At least 2.
    void setCapacity(std::size_t points);

    // x never decreasing, of the length of y.
    void setPoints(int series, const std::vector<double>& x, const std::vector<double>& y);
    // False, and nothing is taken, where x is smaller than the last one or not finite.
    bool append(int series, double x, double y);
    void clearPoints();

    void setXAxis(const AxisSpec& spec);
    void setYAxis(const AxisSpec& spec);
    // Shares on a fixed axis from 0 to 100 %; otherwise the range of y follows the
    // visible values, and includes 0.
    void setPercentMode(const QString& title = {});
    void setEvents(const std::vector<PlotMark>& events);  // values of x
    // Numbers at the left get at least this label's room: plots one below the other begin
    // at the same x.
    void setLeastLabel(const QString& label);
    // Writes the highest visible value at the right above the plot.
    void setNamesHighest(bool names);
    QString highestText() const;

    Axis xAxis();
    // The x of the crosshair, always that of a point. Other plots set it to link them;
    // nullopt hides it.
    std::optional<double> crosshair() const { return m_crosshair; }
    void setCrosshair(std::optional<double> x);

    QString csv() const override;

  Q_SIGNALS:
    void crosshairMoved();
    void clicked(double x);  // at the crosshair

  protected:
    bool isEmpty() const override;
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    ZoomRange* zoomRange() override { return &m_zoom; }
    Axis zoomAxis() const override { return m_x; }
    void zoomChanged() override;
    std::optional<double> keyZoomCentre() const override { return m_crosshair; }
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;

  private:
    struct Series {
        QString name;
        Line line = Line::Solid;
        int colour = 0;
        PointRing points;
    };

    void dataChanged();
    std::optional<double> highestSeen() const;
    Range rangeOfX() const;
    Range rangeOfY() const;
    std::optional<double> nearestX(double x) const;
    const QPointF* pointAtCrosshair(const Series& series) const;
    void refreshReading();
    void paintSeries(QPainter& painter, const Series& series) const;
    void paintPoints(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const;
    void paintColumns(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const;
    void paintMarkers(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const;
    std::vector<LegendEntry> legend() const;

    std::vector<Series> m_series;
    std::size_t m_capacity = 100'000;
    AxisSpec m_xSpec, m_ySpec;
    bool m_isPercent = false;
    std::vector<PlotMark> m_events;
    ZoomRange m_zoom;
    Axis m_x, m_y;
    std::vector<Tick> m_yTicks;
    QRect m_area;
    int m_legendHeight = 0;
    std::optional<double> m_crosshair;
    QString m_leastLabel;
    bool m_namesHighest = false;
};

}  // namespace offstage::ui
