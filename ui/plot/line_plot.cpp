#include "ui/plot/line_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QPainter>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

double clampedTo(const QRectF& area, double y) {
    // Far outside, the rasteriser would only work in vain.
    return std::clamp(y, area.top() - 2000, area.bottom() + 2000);
}

}  // namespace

LinePlot::LinePlot(QWidget* parent) : PlotWidget(parent) {}

// ---------------------------------------------------------------- data

int LinePlot::addSeries(const QString& name, Line line) {
    const int index = seriesCount();
    m_series.push_back({name, line, index, PointRing(m_capacity)});
    markStale(Layer::Frame);
    return index;
}

void LinePlot::removeAllSeries() {
    m_series.clear();
    dataChanged();
}

const PointRing& LinePlot::points(int series) const {
    return m_series[static_cast<size_t>(series)].points;
}

void LinePlot::setCapacity(std::size_t points) {
    m_capacity = std::max<std::size_t>(2, points);
    for (Series& series : m_series) {
        series.points.setCapacity(m_capacity);
    }
    dataChanged();
}

void LinePlot::setPoints(int series, const std::vector<double>& x, const std::vector<double>& y) {
    Q_ASSERT(x.size() == y.size() && std::is_sorted(x.begin(), x.end()));
    std::vector<QPointF> points;
    points.reserve(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        points.emplace_back(x[i], y[i]);
    }
    m_series[static_cast<size_t>(series)].points.assign(std::move(points));
    dataChanged();
}

bool LinePlot::append(int series, double x, double y) {
    PointRing& points = m_series[static_cast<size_t>(series)].points;
    if (!std::isfinite(x) || (!points.empty() && x < points.back().x())) {
        return false;
    }
    points.append({x, y});
    dataChanged();
    return true;
}

void LinePlot::clearPoints() {
    for (Series& series : m_series) {
        series.points.clear();
    }
    dataChanged();
}

void LinePlot::dataChanged() {
    // The rest is done at the next painting, once for all points appended before it.
    m_zoom.setFull(rangeOfX());
    markStale(Layer::Frame);
}

bool LinePlot::isEmpty() const {
    return std::all_of(m_series.begin(), m_series.end(), [](const Series& s) { return s.points.empty(); });
}

Range LinePlot::rangeOfX() const {
    double lo = std::numeric_limits<double>::infinity();
    double hi = -lo;
    for (const Series& series : m_series) {
        if (!series.points.empty()) {
            lo = std::min(lo, series.points.front().x());
            hi = std::max(hi, series.points.back().x());
        }
    }
    return lo < hi ? Range{lo, hi} : std::isfinite(lo) ? Range{lo, lo + 1} : Range{0, 1};
}

Range LinePlot::rangeOfY() const {
    if (m_isPercent) {
        return {0, 1};
    }
    double lo = 0;
    double hi = 0;
    const Range view = m_zoom.view();
    for (const Series& series : m_series) {
        const PointRing& points = series.points;
        for (std::size_t i = points.lowerBound(view.lo); i < points.size() && points[i].x() <= view.hi; ++i) {
            if (std::isfinite(points[i].y())) {
                lo = std::min(lo, points[i].y());
                hi = std::max(hi, points[i].y());
            }
        }
    }
    return niceRange(lo, hi, 5);
}

// ---------------------------------------------------------------- axes

void LinePlot::setXAxis(const AxisSpec& spec) {
    m_xSpec = spec;
    dataChanged();
}

void LinePlot::setYAxis(const AxisSpec& spec) {
    m_ySpec = spec;
    markStale(Layer::Frame);
}

void LinePlot::setPercentMode(const QString& title) {
    m_isPercent = true;
    setYAxis({title, Unit::Share});
}

void LinePlot::setEvents(const std::vector<PlotMark>& events) {
    if (events != m_events) {
        m_events = events;
        markStale(Layer::Frame);
    }
}

Axis LinePlot::xAxis() {
    ensureLaidOut();
    return m_x;
}

void LinePlot::zoomChanged() {
    refreshReading();
}

void LinePlot::layOut() {
    const QFontMetrics metrics = fontMetrics();
    const Range y = rangeOfY();
    const Range x = m_zoom.view();
    m_legendHeight = m_series.size() > 1 ? legendHeight(metrics, legend(), width() - 2 * kEdge) : 0;
    const bool captioned = !Axis(m_ySpec, y.lo, y.hi, 0, 1).caption().isEmpty();
    const int top = kEdge + m_legendHeight + (captioned ? metrics.height() + 3 : metrics.height() / 2);
    const int bottom = height() - kEdge - bottomAxisHeight(Axis(m_xSpec, x.lo, x.hi, 0, 1).caption()) + 1;
    m_yTicks = leftTicks(m_ySpec, y, top, bottom);
    m_area = areaBeside(m_yTicks, top, bottom);
    const int least = kEdge + metrics.horizontalAdvance(m_leastLabel) + 7;
    m_area.setLeft(std::max(m_area.left(), std::min(least, m_area.right() - 10)));
    m_x = Axis(m_xSpec, x.lo, x.hi, m_area.left(), m_area.right());
    m_y = Axis(m_ySpec, y.lo, y.hi, m_area.bottom(), m_area.top());
}

void LinePlot::setLeastLabel(const QString& label) {
    m_leastLabel = label;
    markStale(Layer::Frame);
}

void LinePlot::setNamesHighest(bool names) {
    m_namesHighest = names;
    markStale(Layer::Data);
}

std::optional<double> LinePlot::highestSeen() const {
    std::optional<double> highest;
    const Range view = m_zoom.view();
    for (const Series& series : m_series) {
        const PointRing& points = series.points;
        for (std::size_t i = points.lowerBound(view.lo); i < points.size() && points[i].x() <= view.hi; ++i) {
            if (std::isfinite(points[i].y())) {
                highest = std::max(highest.value_or(points[i].y()), points[i].y());
            }
        }
    }
    return highest;
}

QString LinePlot::highestText() const {
    const std::optional<double> highest = m_namesHighest ? highestSeen() : std::nullopt;
    return highest ? tr("highest %1").arg(valueText(m_ySpec.unit, *highest)) : QString();
}

// ---------------------------------------------------------------- painting

std::vector<LegendEntry> LinePlot::legend() const {
    std::vector<LegendEntry> entries;
    for (const Series& series : m_series) {
        const bool dashed = series.line == Line::Dashed;
        entries.push_back({.text = series.name,
                           .kind = dashed ? LegendEntry::Kind::DashedLine : LegendEntry::Kind::Line,
                           .colour = seriesColour(series.colour, palette()),
                           .marker = dashed ? -1 : series.colour});
    }
    return entries;
}

void LinePlot::paintFrame(QPainter& painter) {
    if (m_legendHeight > 0) {
        paintLegend(painter, QRect(kEdge, 2, width() - 2 * kEdge, m_legendHeight), legend(), palette());
    }
    paintLeftAxis(painter, m_y, m_yTicks, m_area, m_area.top() - fontMetrics().height() - 4);
    paintBottomAxis(painter, m_x, m_area);
}

void LinePlot::paintData(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    painter.save();
    painter.setClipRect(QRectF(m_area).adjusted(-4, -4, 5, 5));
    for (const Series& series : m_series) {
        paintSeries(painter, series);
    }
    painter.restore();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(colours.muted);
    const QRect captions(kEdge, m_area.top() - fontMetrics().height() - 4, width() - 2 * kEdge, fontMetrics().height());
    if (fontMetrics().horizontalAdvance(m_y.caption() + QStringLiteral("   ") + highestText()) <= captions.width()) {
        painter.drawText(captions, Qt::AlignRight | Qt::AlignVCenter, highestText());
    }
    QPen pen(colours.text, 1);
    pen.setDashPattern({1, 3});
    int freeFrom = m_area.left();
    for (const PlotMark& event : m_events) {
        if (event.at >= m_x.lo() && event.at <= m_x.hi()) {
            const int x = static_cast<int>(std::lround(m_x.pixelOf(event.at)));
            painter.setPen(pen);
            painter.drawLine(x, m_area.top(), x, m_area.bottom());
            const int wide = fontMetrics().horizontalAdvance(event.text);
            if (x + 3 >= freeFrom && x + 3 + wide <= m_area.right()) {
                painter.setPen(colours.text);
                painter.drawText(x + 3, m_area.top() + fontMetrics().ascent(), event.text);
                freeFrom = x + wide + 8;
            }
        }
    }
}

void LinePlot::paintSeries(QPainter& painter, const Series& series) const {
    const PointRing& points = series.points;
    if (points.empty()) {
        return;
    }
    // One point beyond each edge, so that lines reach it.
    std::size_t begin = points.lowerBound(m_x.lo());
    begin -= begin > 0 ? 1 : 0;
    std::size_t end = begin;
    if (points.back().x() <= m_x.hi()) {
        end = points.size();
    } else {
        end = std::min(points.size(), points.lowerBound(m_x.hi()) + 1);
    }
    if (end - begin <= static_cast<std::size_t>(m_area.width())) {
        paintPoints(painter, series, begin, end);
    } else {
        paintColumns(painter, series, begin, end);
    }
    if (series.line == Line::Solid && m_series.size() > 1) {
        paintMarkers(painter, series, begin, end);
    }
}

void LinePlot::paintPoints(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const {
    QPen pen(seriesColour(series.colour, palette()), 1.6);
    pen.setJoinStyle(Qt::BevelJoin);
    if (series.line == Line::Dashed) {
        pen.setDashPattern({4, 3});
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    const QRectF area(m_area);
    QPolygonF run;
    const auto finish = [&] {
        if (run.size() == 1) {
            paintMarker(painter, run.front(), series.colour, pen.color());
        } else {
            painter.drawPolyline(run);
        }
        run.clear();
    };
    for (std::size_t i = begin; i < end; ++i) {
        const QPointF& point = series.points[i];
        if (std::isfinite(point.y())) {
            run.append({m_x.pixelOf(point.x()) + 0.5, clampedTo(area, m_y.pixelOf(point.y())) + 0.5});
        } else if (!run.empty()) {
            finish();
        }
    }
    if (!run.empty()) {
        finish();
    }
}

void LinePlot::paintColumns(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const {
    // Each column of pixels is one stroke from its lowest to its highest value, extended
    // to the end of the one before it: no hole between them, and no line that would have
    // to be smoothed.
    const double perUnit = (m_x.pixelOf(m_x.hi()) - m_x.pixelOf(m_x.lo())) / (m_x.hi() - m_x.lo());
    const auto columns = decimate(series.points, begin, end, perUnit, m_area.left() - m_x.lo() * perUnit);
    std::vector<QLineF> strokes;
    strokes.reserve(columns.size() * 2);
    const QRectF area(m_area);
    const auto pixel = [&](double y) { return clampedTo(area, m_y.pixelOf(y)); };
    const Column* before = nullptr;
    for (const Column& column : columns) {
        double low = pixel(column.low);
        double high = pixel(column.high);
        if (column.joined && before != nullptr) {
            const double from = pixel(before->last);
            if (column.x - before->x > 1) {
                strokes.emplace_back(before->x, from, column.x, pixel(column.first));
            } else {
                low = std::max(low, from);
                high = std::min(high, from);
            }
        }
        strokes.emplace_back(column.x, high, column.x, std::max(low, high + 1));
        before = &column;
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(seriesColour(series.colour, palette()), 1));
    painter.drawLines(strokes.data(), static_cast<int>(strokes.size()));
}

void LinePlot::paintMarkers(QPainter& painter, const Series& series, std::size_t begin, std::size_t end) const {
    // A few marks distinguish lines without colour; each series has them at other places.
    constexpr int kMarks = 5;
    const QColor colour = seriesColour(series.colour, palette());
    const double shift = (1 + series.colour % 4) / 5.0;
    for (int i = 0; i < kMarks; ++i) {
        const double x = m_x.valueAt(m_area.left() + (i + shift) * m_area.width() / kMarks);
        const std::size_t at = series.points.lowerBound(x);
        if (at >= begin && at < end && std::isfinite(series.points[at].y())) {
            const QPointF& point = series.points[at];
            const QPointF where(m_x.pixelOf(point.x()) + 0.5, m_y.pixelOf(point.y()) + 0.5);
            if (QRectF(m_area).contains(where)) {
                paintMarker(painter, where, series.colour, colour);
            }
        }
    }
}

void LinePlot::paintOver(QPainter& painter) {
    if (!m_crosshair || *m_crosshair < m_x.lo() || *m_crosshair > m_x.hi()) {
        return;
    }
    const Colours colours = Colours::of(palette());
    const double x = m_x.pixelOf(*m_crosshair);
    painter.setPen(QPen(mixed(colours.surface, colours.text, 0.55), 1));
    const int column = static_cast<int>(std::lround(x));
    painter.drawLine(column, m_area.top(), column, m_area.bottom());
    for (const Series& series : m_series) {
        const QPointF* point = pointAtCrosshair(series);
        if (point != nullptr && std::isfinite(point->y())) {
            const double y = m_y.pixelOf(point->y());
            if (y >= m_area.top() - 1 && y <= m_area.bottom() + 1) {
                paintMarker(painter, {x + 0.5, y + 0.5}, series.colour, seriesColour(series.colour, palette()));
            }
        }
    }
    paintReading(painter, {column, m_area.top()}, reading());
}

// ---------------------------------------------------------------- pointing

std::optional<double> LinePlot::nearestX(double x) const {
    std::optional<double> nearest;
    const auto offer = [&](double candidate) {
        if (!nearest || std::abs(candidate - x) < std::abs(*nearest - x)) {
            nearest = candidate;
        }
    };
    for (const Series& series : m_series) {
        const std::size_t at = series.points.lowerBound(x);
        if (at < series.points.size()) {
            offer(series.points[at].x());
        }
        if (at > 0) {
            offer(series.points[at - 1].x());
        }
    }
    return nearest;
}

const QPointF* LinePlot::pointAtCrosshair(const Series& series) const {
    const std::size_t at = series.points.lowerBound(*m_crosshair);
    const QPointF* nearest = at < series.points.size() ? &series.points[at] : nullptr;
    if (at > 0 && (nearest == nullptr || *m_crosshair - series.points[at - 1].x() < nearest->x() - *m_crosshair)) {
        nearest = &series.points[at - 1];
    }
    // Series sampled at other times: a neighbour a few pixels away will do.
    constexpr double kNear = 4;
    const bool near = nearest != nullptr && std::abs(m_x.pixelOf(nearest->x()) - m_x.pixelOf(*m_crosshair)) <= kNear;
    return near ? nearest : nullptr;
}

void LinePlot::refreshReading() {
    if (!m_crosshair) {
        setReading({});
        return;
    }
    ensureLaidOut();
    QStringList lines{m_xSpec.title.isEmpty() ? m_x.textAt(*m_crosshair)
                                              : m_xSpec.title + u' ' + m_x.textAt(*m_crosshair)};
    for (const Series& series : m_series) {
        if (const QPointF* point = pointAtCrosshair(series)) {
            const QString value = valueText(m_ySpec.unit, point->y());
            lines << (series.name.isEmpty() ? value : tr("%1: %2", "series and value").arg(series.name, value));
        }
    }
    setReading(lines.join(u'\n'));
}

void LinePlot::setCrosshair(std::optional<double> x) {
    const auto held = x ? nearestX(*x) : std::nullopt;
    if (held != m_crosshair) {
        m_crosshair = held;
        refreshReading();
        update();
        Q_EMIT crosshairMoved();
    }
}

void LinePlot::pointAt(std::optional<QPoint> at) {
    ensureLaidOut();
    const bool inside = at && at->x() >= m_area.left() - 8 && at->x() <= m_area.right() + 8;
    setCrosshair(inside ? std::optional(m_x.valueAt(at->x())) : std::nullopt);
}

void LinePlot::step(int right, int) {
    if (right == 0) {
        return;
    }
    ensureLaidOut();
    if (!m_crosshair) {
        setCrosshair(right > 0 ? m_x.lo() : m_x.hi());
        return;
    }
    // Moves to the next point, but at least by a pixel: with a thousand points to a pixel
    // nothing would seem to move.
    double x = *m_crosshair;
    for (int i = 0; i < std::abs(right); ++i) {
        const double here = m_x.pixelOf(x);
        std::optional<double> next;
        for (const Series& series : m_series) {
            const PointRing& points = series.points;
            if (right > 0) {
                std::size_t at = points.lowerBound(m_x.valueAt(here + 1));
                const std::size_t beyond = points.lowerBound(std::nextafter(x, std::numeric_limits<double>::max()));
                at = std::max(at, beyond) < points.size() ? std::max(at, beyond) : points.size() - 1;
                if (!points.empty() && points[at].x() > x && (!next || points[at].x() < *next)) {
                    next = points[at].x();
                }
            } else {
                const std::size_t end = std::min(points.lowerBound(x), points.lowerBound(m_x.valueAt(here - 1)) + 1);
                if (end > 0 && points[end - 1].x() < x && (!next || points[end - 1].x() > *next)) {
                    next = points[end - 1].x();
                }
            }
        }
        if (!next) {
            break;
        }
        x = *next;
    }
    setCrosshair(x);
    if (x < m_x.lo() || x > m_x.hi()) {
        const Range view = m_zoom.view();
        m_zoom.show({x - (view.hi - view.lo) / 2, x + (view.hi - view.lo) / 2});
        markStale(Layer::Frame);
    }
}

void LinePlot::click(Qt::MouseButton button) {
    if (m_crosshair && button == Qt::LeftButton) {
        Q_EMIT clicked(*m_crosshair);
    }
}

QString LinePlot::csv() const {
    QStringList head{csvHeading(m_xSpec, QStringLiteral("x"))};
    for (const Series& series : m_series) {
        head << csvHeading({series.name, m_ySpec.unit}, QStringLiteral("y"));
    }
    QString text = csvLine(head);
    std::vector<std::size_t> next(m_series.size(), 0);
    for (;;) {
        double x = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < m_series.size(); ++i) {
            const PointRing& points = m_series[i].points;
            x = next[i] < points.size() ? std::min(x, points[next[i]].x()) : x;
        }
        if (!std::isfinite(x)) {
            return text;
        }
        QStringList fields{csvNumber(x)};
        for (std::size_t i = 0; i < m_series.size(); ++i) {
            const PointRing& points = m_series[i].points;
            const bool here = next[i] < points.size() && points[next[i]].x() == x;
            fields << (here ? csvNumber(points[next[i]++].y()) : QString());
        }
        text += csvLine(fields);
    }
}

}  // namespace offstage::ui
