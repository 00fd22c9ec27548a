#pragma once

#include <vector>

#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// Spans of time in lanes (CPU, copy, GPU), in microseconds. Measured spans are filled;
// predicted ones are outlines on a narrower track beneath them.
class TimelinePlot : public PlotWidget {
    Q_OBJECT

  public:
    struct Span {
        int lane = 0;
        double begin_us = 0;
        double end_us = 0;  // >= begin_us
        QString label;
        int category = 0;  // colour and pattern, named by setCategories()
        qint64 id = 0;     // the caller's; comes back with spanClicked()
        bool predicted = false;
        bool operator==(const Span&) const = default;
    };

    explicit TimelinePlot(QWidget* parent = nullptr);

    void setLanes(const QStringList& names);
    void setCategories(const QStringList& names);
    // Spans of an unknown lane are left out. Those of one lane and kind should not
    // overlap; if they do, the one that begins later is on top.
    void setSpans(std::vector<Span> spans);
    // By begin.
    const std::vector<Span>& spans() const { return m_spans; }

    Axis axis();
    // Index in spans().
    std::optional<int> spanAt(QPoint at);
    QRectF rectOf(int span);
    std::optional<int> current() const { return m_current; }

    QString csv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void spanClicked(qint64 id);

  protected:
    bool isEmpty() const override { return m_spans.empty(); }
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    ZoomRange* zoomRange() override { return &m_zoom; }
    Axis zoomAxis() const override { return m_x; }
    void zoomChanged() override;
    std::optional<double> keyZoomCentre() const override;
    void pointAt(std::optional<QPoint> at) override;
    // Left and right: the previous and next span of the lane; up and down: the nearest
    // span of the next lane.
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;

  private:
    // Spans of one lane and kind, by begin, with the latest end so far, which allows a
    // search from the left.
    struct Track {
        std::vector<int> spans;
        std::vector<double> latestEnd;
    };

    Track& trackOf(int lane, bool predicted) { return m_tracks[static_cast<size_t>(2 * lane + (predicted ? 1 : 0))]; }
    const Track& trackOf(int lane, bool predicted) const {
        return m_tracks[static_cast<size_t>(2 * lane + (predicted ? 1 : 0))];
    }
    void index();
    std::optional<int> spanAtTime(const Track& track, double from_us, double to_us) const;
    QRectF trackRect(int lane, bool predicted) const;
    void setCurrent(std::optional<int> span);
    void refreshReading();
    void bringIntoSight(int index);
    void paintTrack(QPainter& painter, int lane, bool predicted);
    QString textOf(int span) const;
    std::vector<LegendEntry> legend() const;

    QStringList m_lanes;
    QStringList m_categories;
    std::vector<Span> m_spans;
    std::vector<Track> m_tracks;
    bool m_hasPredicted = false;
    ZoomRange m_zoom;
    Axis m_x;
    QRect m_area;
    std::optional<int> m_current;
    std::optional<double> m_pointer_us;
};

}  // namespace offstage::ui
