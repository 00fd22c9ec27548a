#include "ui/plot/timeline_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QPainter>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

constexpr double kSmallestView_us = 1;

}  // namespace

TimelinePlot::TimelinePlot(QWidget* parent) : PlotWidget(parent) {
    m_zoom.setSmallestSpan(kSmallestView_us);
}

// ---------------------------------------------------------------- data

void TimelinePlot::setLanes(const QStringList& names) {
    m_lanes = names;
    setSpans(std::move(m_spans));
}

void TimelinePlot::setCategories(const QStringList& names) {
    m_categories = names;
    markStale(Layer::Frame);
}

void TimelinePlot::setSpans(std::vector<Span> spans) {
    std::erase_if(spans, [this](const Span& s) {
        return s.lane < 0 || s.lane >= m_lanes.size() || !std::isfinite(s.begin_us) || !std::isfinite(s.end_us) ||
               s.end_us < s.begin_us;
    });
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin_us < b.begin_us; });
    m_spans = std::move(spans);
    index();
    setCurrent(std::nullopt);
    m_pointer_us.reset();
    markStale(Layer::Frame);
}

void TimelinePlot::index() {
    m_tracks.assign(2 * static_cast<size_t>(m_lanes.size()), {});
    m_hasPredicted = false;
    double lo = std::numeric_limits<double>::infinity();
    double hi = -lo;
    for (int i = 0; i < static_cast<int>(m_spans.size()); ++i) {
        const Span& span = m_spans[static_cast<size_t>(i)];
        Track& track = trackOf(span.lane, span.predicted);
        track.latestEnd.push_back(track.spans.empty() ? span.end_us : std::max(track.latestEnd.back(), span.end_us));
        track.spans.push_back(i);
        m_hasPredicted = m_hasPredicted || span.predicted;
        lo = std::min(lo, span.begin_us);
        hi = std::max(hi, span.end_us);
    }
    m_zoom.setFull(lo < hi ? Range{lo, hi} : std::isfinite(lo) ? Range{lo, lo + 1} : Range{0, 1});
}

Axis TimelinePlot::axis() {
    ensureLaidOut();
    return m_x;
}

// ---------------------------------------------------------------- places

QSize TimelinePlot::sizeHint() const {
    return {420, 60 + 44 * std::max<int>(2, static_cast<int>(m_lanes.size()))};
}

QSize TimelinePlot::minimumSizeHint() const {
    return {200, 50 + 22 * std::max<int>(2, static_cast<int>(m_lanes.size()))};
}

void TimelinePlot::layOut() {
    const QFontMetrics metrics = fontMetrics();
    int widest = 0;
    for (const QString& lane : m_lanes) {
        widest = std::max(widest, metrics.horizontalAdvance(lane));
    }
    const int left = kEdge + std::min(widest, width() / 4) + 8;
    const int top = kEdge + legendHeight(metrics, legend(), width() - 2 * kEdge) + 3;
    const int bottom = height() - kEdge - metrics.height() - 4;
    m_area = QRect(QPoint(left, top), QPoint(std::max(left + 10, width() - kEdge - 4), std::max(top + 10, bottom)));
    const Range view = m_zoom.view();
    m_x = Axis({QString(), Unit::Microseconds}, view.lo, view.hi, m_area.left(), m_area.right() + 1);
}

QRectF TimelinePlot::trackRect(int lane, bool predicted) const {
    constexpr double kBetweenLanes = 6;
    constexpr double kMeasured = 0.7;  // of a lane's height, if there is a prediction below
    const double high = static_cast<double>(m_area.height()) / std::max<int>(1, static_cast<int>(m_lanes.size()));
    const double top = m_area.top() + lane * high + kBetweenLanes / 2;
    const double room = std::max(4.0, high - kBetweenLanes);
    if (!m_hasPredicted) {
        return {static_cast<double>(m_area.left()), std::floor(top), static_cast<double>(m_area.width()),
                predicted ? 0 : std::floor(room)};
    }
    const double measured = std::floor(room * kMeasured);
    return {static_cast<double>(m_area.left()), std::floor(top) + (predicted ? measured + 1 : 0),
            static_cast<double>(m_area.width()), predicted ? std::floor(room) - measured - 1 : measured};
}

QRectF TimelinePlot::rectOf(int span) {
    ensureLaidOut();
    const Span& held = m_spans[static_cast<size_t>(span)];
    const QRectF track = trackRect(held.lane, held.predicted);
    const double left = m_x.pixelOf(held.begin_us);
    return {left, track.top(), std::max(1.0, m_x.pixelOf(held.end_us) - left), track.height()};
}

std::optional<int> TimelinePlot::spanAtTime(const Track& track, double from_us, double to_us) const {
    // Searches backwards from the last span that begins in time, as long as an earlier
    // span could still reach here.
    auto at = std::upper_bound(track.spans.begin(), track.spans.end(), to_us,
                               [this](double time, int i) { return time < m_spans[static_cast<size_t>(i)].begin_us; }) -
              track.spans.begin();
    while (at > 0 && track.latestEnd[static_cast<size_t>(at - 1)] >= from_us) {
        --at;
        const int span = track.spans[static_cast<size_t>(at)];
        if (m_spans[static_cast<size_t>(span)].end_us >= from_us) {
            return span;
        }
    }
    return std::nullopt;
}

std::optional<int> TimelinePlot::spanAt(QPoint at) {
    ensureLaidOut();
    if (!m_area.contains(at)) {
        return std::nullopt;
    }
    for (int lane = 0; lane < m_lanes.size(); ++lane) {
        for (const bool predicted : {false, true}) {
            const QRectF rect = trackRect(lane, predicted);
            if (at.y() >= rect.top() && at.y() < rect.bottom()) {
                const Track& track = trackOf(lane, predicted);
                const auto exact = spanAtTime(track, m_x.valueAt(at.x()), m_x.valueAt(at.x() + 1));
                return exact ? exact : spanAtTime(track, m_x.valueAt(at.x() - 2), m_x.valueAt(at.x() + 3));
            }
        }
    }
    return std::nullopt;
}

// ---------------------------------------------------------------- painting

std::vector<LegendEntry> TimelinePlot::legend() const {
    std::vector<LegendEntry> entries;
    for (int i = 0; i < m_categories.size(); ++i) {
        entries.push_back(areaEntry(m_categories[i], i, palette()));
    }
    if (m_hasPredicted) {
        entries.push_back(outlineEntry(tr("predicted"), palette()));
    }
    return entries;
}

void TimelinePlot::paintFrame(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    paintLegend(painter, QRect(kEdge, 3, width() - 2 * kEdge, m_area.top()), legend(), palette());
    for (int lane = 0; lane < m_lanes.size(); ++lane) {
        const QRectF measured = trackRect(lane, false);
        const double bottom = m_hasPredicted ? trackRect(lane, true).bottom() : measured.bottom();
        painter.fillRect(QRectF(measured.topLeft(), QPointF(measured.right(), bottom)),
                         mixed(palette().color(QPalette::Window), colours.text, 0.05));
        painter.setPen(colours.text);
        const QRect name(kEdge, static_cast<int>(measured.top()), m_area.left() - kEdge - 6,
                         static_cast<int>(bottom - measured.top()));
        painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(m_lanes[lane], Qt::ElideRight, name.width()));
    }
    paintBottomAxis(painter, m_x, m_area);
}

void TimelinePlot::paintData(QPainter& painter) {
    painter.save();
    painter.setClipRect(m_area);
    for (int lane = 0; lane < m_lanes.size(); ++lane) {
        paintTrack(painter, lane, false);
        if (m_hasPredicted) {
            paintTrack(painter, lane, true);
        }
    }
    painter.restore();
}

void TimelinePlot::paintTrack(QPainter& painter, int lane, bool predicted) {
    constexpr double kHatchedFrom = 8;
    constexpr double kLabelledFrom = 26;
    const Track& track = trackOf(lane, predicted);
    const QFontMetrics metrics = fontMetrics();
    const QRectF room = trackRect(lane, predicted);
    const bool tall = room.height() >= metrics.height();
    std::vector<QColor> colours;
    std::vector<QBrush> brushes;
    for (int i = 0; i < std::max<int>(1, static_cast<int>(m_categories.size())); ++i) {
        colours.push_back(seriesColour(i, palette()));
        brushes.push_back(patternBrush(colours.back(), patternOf(i)));
    }
    const double from = m_x.lo();
    const double to = m_x.hi();
    auto at = static_cast<size_t>(std::lower_bound(track.latestEnd.begin(), track.latestEnd.end(), from) -
                                  track.latestEnd.begin());
    double painted = -1;  // the last column of pixels that a narrow span was painted in
    for (; at < track.spans.size(); ++at) {
        const Span& span = m_spans[static_cast<size_t>(track.spans[at])];
        if (span.begin_us > to) {
            break;
        }
        const double left = std::max(m_x.pixelOf(span.begin_us), m_area.left() - 8.0);
        const double right = std::min(m_x.pixelOf(span.end_us), m_area.right() + 8.0);
        const auto kind = static_cast<size_t>(std::clamp(span.category, 0, static_cast<int>(colours.size()) - 1));
        const double wide = right - left;
        if (wide < 2) {
            // Thousands may share a column; one is seen.
            const double column = std::floor(left);
            if (column != painted && right >= m_area.left()) {
                painter.fillRect(QRectF(column, room.top(), 1, room.height()), colours[kind]);
                painted = column;
            }
            continue;
        }
        const QRectF rect(left, room.top(), wide > 4 ? wide - 1 : wide, room.height());
        if (predicted) {
            painter.setPen(QPen(colours[kind], 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(rect.adjusted(0, 0, -1, -1));
            continue;
        }
        painter.fillRect(rect, wide >= kHatchedFrom ? brushes[kind] : QBrush(colours[kind]));
        if (tall && wide >= kLabelledFrom && !span.label.isEmpty()) {
            const QRectF seen = rect & QRectF(m_area);
            // "layer 3: experts 1, 4": without the part after the colon if there is no
            // room for it, or as "3".
            const int space = static_cast<int>(seen.width()) - 8;
            const auto fits = [&](const QString& words) { return metrics.horizontalAdvance(words) <= space; };
            QString text = span.label;
            if (!fits(text)) {
                text = text.section(QStringLiteral(": "), 0, 0);
            }
            if (!fits(text)) {
                text = text.section(u' ', -1);
            }
            if (fits(text)) {
                const double textWide = metrics.horizontalAdvance(text) + 4;
                const QRectF box(seen.left() + 2, room.center().y() - metrics.height() / 2.0, textWide,
                                 metrics.height());
                painter.fillRect(box, colours[kind]);
                painter.setPen(inkOn(colours[kind]));
                painter.drawText(box, Qt::AlignCenter, text);
            }
        }
    }
}

void TimelinePlot::paintOver(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    if (m_pointer_us && *m_pointer_us >= m_x.lo() && *m_pointer_us <= m_x.hi()) {
        const int x = static_cast<int>(std::lround(m_x.pixelOf(*m_pointer_us)));
        painter.setPen(QPen(mixed(colours.surface, colours.text, 0.55), 1));
        painter.drawLine(x, m_area.top(), x, m_area.bottom());
        if (!m_current) {
            paintReading(painter, {x, m_area.top()}, reading());
        }
    }
    if (m_current) {
        const QRectF rect = rectOf(*m_current) & QRectF(m_area).adjusted(-1, 0, 1, 0);
        if (rect.isEmpty()) {
            return;
        }
        paintRings(painter, rect);
        const double x = m_pointer_us && !pointedByKey() ? m_x.pixelOf(*m_pointer_us) : rect.center().x();
        paintReading(painter, QPointF(x, rect.bottom() - 6).toPoint(), reading());
    }
}

// ---------------------------------------------------------------- pointing

QString TimelinePlot::textOf(int index) const {
    const Span& span = m_spans[static_cast<size_t>(index)];
    QStringList head;
    if (!span.label.isEmpty()) {
        head << span.label;
    }
    if (span.category >= 0 && span.category < m_categories.size()) {
        head << m_categories[span.category];
    }
    const QString kind = span.predicted ? tr("%1, predicted", "lane").arg(m_lanes[span.lane]) : m_lanes[span.lane];
    head << kind;
    return head.join(QStringLiteral(" · ")) + u'\n' +
           tr("%1 from %2", "duration, begin")
               .arg(valueText(Unit::Microseconds, span.end_us - span.begin_us), m_x.textAt(span.begin_us));
}

void TimelinePlot::setCurrent(std::optional<int> span) {
    if (span != m_current) {
        m_current = span;
        update();
    }
}

void TimelinePlot::refreshReading() {
    setReading(m_current ? textOf(*m_current) : m_pointer_us ? m_x.textAt(*m_pointer_us) : QString());
}

void TimelinePlot::bringIntoSight(int index) {
    const Span& span = m_spans[static_cast<size_t>(index)];
    const Range view = m_zoom.view();
    if (span.end_us > view.hi || span.begin_us < view.lo) {
        const double wide = std::max(view.hi - view.lo, 1.2 * (span.end_us - span.begin_us));
        const double middle = (span.begin_us + span.end_us) / 2;
        m_zoom.show({middle - wide / 2, middle + wide / 2});
        markStale(Layer::Frame);
    }
}

void TimelinePlot::zoomChanged() {
    layOut();
    refreshReading();
}

std::optional<double> TimelinePlot::keyZoomCentre() const {
    if (m_current) {
        const Span& span = m_spans[static_cast<size_t>(*m_current)];
        return (span.begin_us + span.end_us) / 2;
    }
    return m_pointer_us;
}

void TimelinePlot::pointAt(std::optional<QPoint> at) {
    ensureLaidOut();
    const bool inside = at && m_area.contains(*at);
    const auto pointer = inside ? std::optional(m_x.valueAt(at->x())) : std::nullopt;
    if (pointer != m_pointer_us) {
        m_pointer_us = pointer;
        update();
    }
    setCurrent(inside ? spanAt(*at) : std::nullopt);
    refreshReading();
}

void TimelinePlot::step(int right, int down) {
    m_pointer_us.reset();
    ensureLaidOut();
    std::optional<int> next = m_current;
    if (!m_current) {
        // The first visible one.
        const auto seen = std::find_if(m_spans.begin(), m_spans.end(),
                                       [this](const Span& s) { return s.end_us >= m_zoom.view().lo; });
        next = static_cast<int>(std::min<std::ptrdiff_t>(seen - m_spans.begin(), std::ssize(m_spans) - 1));
    } else if (right != 0) {
        const Span& span = m_spans[static_cast<size_t>(*m_current)];
        const auto& spans = trackOf(span.lane, span.predicted).spans;
        const auto here = std::lower_bound(spans.begin(), spans.end(), *m_current) - spans.begin();
        next = spans[static_cast<size_t>(std::clamp<std::ptrdiff_t>(here + right, 0, std::ssize(spans) - 1))];
    } else {
        // The next track with a span in it, at the same time as near as can be.
        const Span& span = m_spans[static_cast<size_t>(*m_current)];
        const double middle = (span.begin_us + span.end_us) / 2;
        const int direction = down > 0 ? 1 : -1;
        for (int track = 2 * span.lane + (span.predicted ? 1 : 0) + direction;
             track >= 0 && track < static_cast<int>(m_tracks.size()); track += direction) {
            const Track& other = m_tracks[static_cast<size_t>(track)];
            if (!other.spans.empty()) {
                const auto away = [&](int i) {
                    const Span& s = m_spans[static_cast<size_t>(i)];
                    return std::max({0.0, s.begin_us - middle, middle - s.end_us});
                };
                next = *std::min_element(other.spans.begin(), other.spans.end(),
                                         [&](int a, int b) { return away(a) < away(b); });
                break;
            }
        }
    }
    setCurrent(next);
    bringIntoSight(*next);
    ensureLaidOut();
    refreshReading();
}

void TimelinePlot::click(Qt::MouseButton button) {
    if (m_current && button == Qt::LeftButton) {
        Q_EMIT spanClicked(m_spans[static_cast<size_t>(*m_current)].id);
    }
}

QString TimelinePlot::csv() const {
    QString text = csvLine({QStringLiteral("lane"), QStringLiteral("begin (us)"), QStringLiteral("end (us)"),
                            QStringLiteral("label"), QStringLiteral("category"), QStringLiteral("predicted"),
                            QStringLiteral("id")});
    for (const Span& span : m_spans) {
        text += csvLine({m_lanes[span.lane], csvNumber(span.begin_us), csvNumber(span.end_us), span.label,
                         m_categories.value(span.category), span.predicted ? QStringLiteral("1") : QStringLiteral("0"),
                         QString::number(span.id)});
    }
    return text;
}

}  // namespace offstage::ui
