#include "ui/plot/bar_plot.h"

#include <algorithm>
#include <cmath>

#include <QPainter>

#include "ui/plot/csv.h"
#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kSideRoom = 6;
constexpr double kGroupShare = 0.78;  // of a group's room that is bars

}  // namespace

Histogram histogramOf(std::span<const double> values, int most, double quantile) {
    std::vector<double> sorted;
    std::copy_if(values.begin(), values.end(), std::back_inserter(sorted), [](double v) { return std::isfinite(v); });
    Histogram histogram;
    if (sorted.empty()) {
        return histogram;
    }
    std::sort(sorted.begin(), sorted.end());
    const double share = std::clamp(quantile, 0.0, 1.0);
    const double highest = sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
    most = std::max(2, most);
    // Bins begin at multiples of their width; one more is needed where the range lies across.
    const Range range = niceRange(sorted.front(), highest, most - 1);
    histogram.width = niceStep(range.hi - range.lo, most);
    histogram.lo = std::floor(sorted.front() / histogram.width + 1e-9) * histogram.width;
    const auto binOf = [&](double v) {
        return static_cast<size_t>(std::max(0.0, std::floor((v - histogram.lo) / histogram.width + 1e-9)));
    };
    histogram.counts.assign(binOf(highest) + 1, 0);
    for (const double value : sorted) {
        const size_t bin = binOf(std::min(value, highest));
        histogram.counts[bin] += 1;
        histogram.openEnd =
            histogram.openEnd ||
            value >= histogram.lo + histogram.width * static_cast<double>(histogram.counts.size()) * (1 + 1e-9);
    }
    return histogram;
}

BarPlot::BarPlot(QWidget* parent) : PlotWidget(parent) {}

// ---------------------------------------------------------------- data

void BarPlot::setOrientation(Qt::Orientation orientation) {
    m_orientation = orientation;
    updateGeometry();
    markStale(Layer::Frame);
}

void BarPlot::setGroups(const QStringList& groups, std::vector<Series> series) {
    if (!m_isHistogram && groups == m_groups && series == m_series) {
        return;
    }
    m_isHistogram = false;
    m_groups = groups;
    m_series = std::move(series);
    m_marks.clear();
    changed();
}

void BarPlot::setHistogram(const Histogram& histogram, const AxisSpec& bins, const std::vector<PlotMark>& marks) {
    if (m_isHistogram && histogram == m_histogram && bins == m_binSpec && marks == m_marks) {
        return;
    }
    m_isHistogram = true;
    m_histogram = histogram;
    m_binSpec = bins;
    m_marks = marks;
    m_groups.clear();
    m_series.clear();
    changed();
}

void BarPlot::changed() {
    if (m_current && (m_current->group >= groupCount() || m_current->series >= seriesCount())) {
        m_current.reset();
    }
    setReading(m_current ? textOf(*m_current) : QString());
    updateGeometry();
    markStale(Layer::Frame);
}

void BarPlot::clear() {
    setGroups({}, {});
}

void BarPlot::setValueAxis(const AxisSpec& spec) {
    m_valueSpec = spec;
    markStale(Layer::Frame);
}

void BarPlot::setEmphasised(int group) {
    if (group != m_emphasised) {
        m_emphasised = group;
        markStale(Layer::Frame);
    }
}

int BarPlot::groupCount() const {
    return static_cast<int>(m_isHistogram ? std::ssize(m_histogram.counts) : std::ssize(m_groups));
}

int BarPlot::seriesCount() const {
    return m_isHistogram ? 1 : static_cast<int>(m_series.size());
}

double BarPlot::valueOf(BarIndex bar) const {
    const auto group = static_cast<size_t>(bar.group);
    if (m_isHistogram) {
        return m_histogram.counts[group];
    }
    const auto& values = m_series[static_cast<size_t>(bar.series)].values;
    return group < values.size() ? values[group] : std::nan("");
}

QString BarPlot::groupText(int group) const {
    if (!m_isHistogram) {
        return m_groups[group];
    }
    const double from = m_histogram.lo + group * m_histogram.width;
    if (m_histogram.openEnd && group == groupCount() - 1) {
        return tr("from %1").arg(m_bins.textAt(from));
    }
    return tr("%1 to %2").arg(m_bins.textAt(from), m_bins.textAt(from + m_histogram.width));
}

// ---------------------------------------------------------------- places

QSize BarPlot::sizeHint() const {
    if (m_orientation == Qt::Horizontal && !m_isHistogram) {
        const int thick = std::max(1, seriesCount()) * (fontMetrics().height() + 2) + 8;
        return {360, std::max(120, groupCount() * thick + 3 * fontMetrics().height())};
    }
    return {360, 200};
}

QSize BarPlot::minimumSizeHint() const {
    return {180, 110};
}

void BarPlot::layOut() {
    const QFontMetrics metrics = fontMetrics();
    double highest = 0;
    double lowest = 1e300;
    m_widestValue = 0;
    for (int group = 0; group < groupCount(); ++group) {
        for (int series = 0; series < seriesCount(); ++series) {
            const double value = valueOf({group, series});
            if (std::isfinite(value)) {
                highest = std::max(highest, value);
                lowest = value > 0 ? std::min(lowest, value) : lowest;
                m_widestValue = std::max(m_widestValue, metrics.horizontalAdvance(valueText(m_valueSpec.unit, value)));
            }
        }
    }
    Range range = niceRange(0, highest, 5);
    if (m_valueSpec.logarithmic && highest > 0) {
        range = {std::pow(10, std::floor(std::log10(lowest) - 1e-9)), std::pow(10, std::ceil(std::log10(highest)))};
    }
    const int legendHigh = seriesCount() > 1 ? legendHeight(metrics, legend(), width() - 2 * kSideRoom) : 0;
    const int bottom = height() - kSideRoom - metrics.height() - 4;
    if (lies()) {
        int widest = 0;
        for (const QString& group : m_groups) {
            widest = std::max(widest, metrics.horizontalAdvance(group));
        }
        const int left = kSideRoom + std::min(widest + 2, width() * 2 / 5) + 8;
        const int right = width() - kSideRoom - m_widestValue - 8;
        m_area = QRect(QPoint(left, kSideRoom + legendHigh), QPoint(std::max(left + 10, right), std::max(20, bottom)));
        m_values = Axis(m_valueSpec, range.lo, range.hi, m_area.left(), m_area.right() + 1);
        return;
    }
    const bool captioned = m_valueSpec.unit == Unit::Share
                               ? !m_valueSpec.title.isEmpty()
                               : !Axis(m_valueSpec, range.lo, range.hi, 0, 1).caption().isEmpty();
    const int top = kSideRoom + legendHigh + (captioned ? metrics.height() + 2 : 2) + metrics.height() / 2;
    m_ticks = Axis(m_valueSpec, range.lo, range.hi, bottom, top)
                  .ticks(std::max(2, (bottom - top) / (2 * metrics.height() + 6)));
    int widest = 0;
    for (const Tick& tick : m_ticks) {
        widest = std::max(widest, metrics.horizontalAdvance(tick.label));
    }
    const int left = kSideRoom + widest + 7;
    m_area = QRect(QPoint(left, top), QPoint(std::max(left + 10, width() - kSideRoom - 8), std::max(top + 10, bottom)));
    m_values = Axis(m_valueSpec, range.lo, range.hi, m_area.bottom() + 1, m_area.top());
    m_bins = Axis(m_binSpec, m_histogram.lo, m_histogram.lo + m_histogram.width * groupCount(), m_area.left(),
                  m_area.right() + 1);
}

QRectF BarPlot::rectOf(BarIndex bar) {
    ensureLaidOut();
    const double value = valueOf(bar);
    if (!std::isfinite(value)) {
        return {};
    }
    const double share = m_isHistogram ? 1 : kGroupShare;
    const double room = static_cast<double>(lies() ? m_area.height() : m_area.width()) / groupCount();
    const double thick = room * share / seriesCount();
    const double from = bar.group * room + room * (1 - share) / 2 + bar.series * thick;
    const double end = m_values.pixelOf(value);
    const double gap = thick > 4 ? 1 : 0;
    return lies() ? QRectF(m_area.left(), m_area.top() + from, std::max(1.0, end - m_area.left()), thick - gap)
                  : QRectF(m_area.left() + from, std::min(end, m_area.bottom() + 0.0), thick - gap,
                           std::max(1.0, m_area.bottom() + 1 - end));
}

std::optional<BarPlot::BarIndex> BarPlot::barAt(QPoint at) {
    ensureLaidOut();
    if (!m_area.contains(at)) {
        return std::nullopt;
    }
    // All of a bar's room counts, also above a low one: a bar of one pixel can be met.
    const double room = static_cast<double>(lies() ? m_area.height() : m_area.width()) / groupCount();
    const double along = lies() ? at.y() - m_area.top() : at.x() - m_area.left();
    const int group = std::clamp(static_cast<int>(along / room), 0, groupCount() - 1);
    const double share = m_isHistogram ? 1 : kGroupShare;
    const double inside = along - group * room - room * (1 - share) / 2;
    const int series =
        std::clamp(static_cast<int>(inside / (room * share / seriesCount())), 0, std::max(0, seriesCount() - 1));
    return seriesCount() > 0 && std::isfinite(valueOf({group, series})) ? std::optional(BarIndex{group, series})
                                                                        : std::nullopt;
}

// ---------------------------------------------------------------- painting

std::vector<LegendEntry> BarPlot::legend() const {
    std::vector<LegendEntry> entries;
    for (int i = 0; i < seriesCount() && !m_isHistogram; ++i) {
        LegendEntry entry;
        entry.text = m_series[static_cast<size_t>(i)].name;
        entry.kind = m_series[static_cast<size_t>(i)].predicted ? LegendEntry::Kind::Outline : LegendEntry::Kind::Area;
        entry.colour = seriesColour(i, palette());
        entry.pattern = patternOf(i);
        entries.push_back(std::move(entry));
    }
    return entries;
}

void BarPlot::paintFrame(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    if (seriesCount() > 1) {
        paintLegend(painter, QRect(kSideRoom, 2, width() - 2 * kSideRoom, m_area.top()), legend(), palette());
    }
    const double room = static_cast<double>(lies() ? m_area.height() : m_area.width()) / groupCount();
    if (lies()) {
        paintBottomAxis(painter, m_values, m_area);
    } else {
        painter.setPen(colours.muted);
        painter.drawText(QRect(kSideRoom, m_area.top() - line - line / 2 - 3, width() - 2 * kSideRoom, line),
                         Qt::AlignLeft | Qt::AlignVCenter,
                         m_valueSpec.unit == Unit::Share ? m_valueSpec.title : m_values.caption());
        for (const Tick& tick : m_ticks) {
            const int y = static_cast<int>(std::lround(m_values.pixelOf(tick.value)));
            painter.setPen(colours.line);
            painter.drawLine(m_area.left(), y, m_area.right(), y);
            painter.setPen(colours.muted);
            painter.drawText(QRect(0, y - line / 2, m_area.left() - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                             tick.label);
        }
    }
    if (m_isHistogram) {
        paintBottomAxis(painter, m_bins, m_area);
        return;
    }
    const int every = lies() ? 1 : std::max(1, static_cast<int>(std::ceil(24 / room)));
    for (int group = 0; group < groupCount(); group += every) {
        const double from = group * room;
        const QRectF box = lies() ? QRectF(kSideRoom, m_area.top() + from, m_area.left() - kSideRoom - 6, room)
                                  : QRectF(m_area.left() + from - 2, m_area.bottom() + 4, room * every - 2, line);
        QFont named = font();
        named.setBold(group == m_emphasised);
        painter.setFont(named);
        painter.setPen(group == m_emphasised ? colours.text : colours.muted);
        painter.drawText(
            box, lies() ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignHCenter | Qt::AlignVCenter,
            QFontMetrics(named).elidedText(m_groups[group], Qt::ElideRight, static_cast<int>(box.width())));
    }
    painter.setFont(font());
}

void BarPlot::paintData(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    if (m_emphasised >= 0 && m_emphasised < groupCount() && !m_isHistogram) {
        const double room = static_cast<double>(lies() ? m_area.height() : m_area.width()) / groupCount();
        QColor ground = colours.accent;
        ground.setAlphaF(0.10F);
        painter.fillRect(lies() ? QRectF(m_area.left(), m_area.top() + m_emphasised * room, m_area.width(), room)
                                : QRectF(m_area.left() + m_emphasised * room, m_area.top(), room, m_area.height()),
                         ground);
    }
    for (int series = 0; series < seriesCount(); ++series) {
        const QColor colour = seriesColour(series, palette());
        const QBrush brush = patternBrush(colour, m_isHistogram ? Pattern::Solid : patternOf(series));
        const bool outline = !m_isHistogram && m_series[static_cast<size_t>(series)].predicted;
        for (int group = 0; group < groupCount(); ++group) {
            const double value = valueOf({group, series});
            const QRectF rect = rectOf({group, series});
            if (rect.isEmpty() || (m_isHistogram && value == 0)) {
                continue;
            }
            if (outline) {
                painter.setPen(QPen(colour, 2));
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(rect.adjusted(1, 1, -1, lies() ? -1 : 0));
            } else {
                painter.fillRect(rect, brush);
            }
            // Where the axis names the unit, and it is the same for all values, the number is enough.
            const bool named = lies() || m_valueSpec.unit != Unit::TokensPerSecond;
            const QString text = valueText(named ? m_valueSpec.unit : Unit::Plain, value);
            const int wide = metrics.horizontalAdvance(text);
            painter.setPen(colours.text);
            if (lies()) {
                if (rect.height() >= line * 0.7) {
                    painter.drawText(QRectF(rect.right() + 5, rect.center().y() - line / 2.0, wide + 4, line),
                                     Qt::AlignLeft | Qt::AlignVCenter, text);
                }
            } else if (m_isHistogram ? m_widestValue <= rect.width() + 1 : wide <= rect.width() + 2) {
                painter.drawText(QRectF(rect.center().x() - wide / 2.0 - 2, rect.top() - line, wide + 4, line),
                                 Qt::AlignCenter, text);
            }
        }
    }
    int freeFrom = m_area.left();
    int row = 0;
    for (const PlotMark& mark : m_marks) {
        if (!m_isHistogram || mark.at < m_bins.lo() || mark.at > m_bins.hi()) {
            continue;
        }
        const int x = static_cast<int>(std::lround(m_bins.pixelOf(mark.at)));
        QPen pen(colours.text, 1);
        pen.setDashPattern({3, 3});
        painter.setPen(pen);
        painter.drawLine(x, m_area.top(), x, m_area.bottom());
        const int wide = metrics.horizontalAdvance(mark.text);
        const int left = x + 4 + wide <= m_area.right() ? x + 4 : x - 4 - wide;
        row = left < freeFrom ? row + 1 : 0;
        freeFrom = std::max(freeFrom, left + wide + 6);
        painter.setPen(colours.text);
        painter.drawText(QRect(left, m_area.top() + row * line, wide + 2, line), Qt::AlignLeft | Qt::AlignVCenter,
                         mark.text);
    }
}

void BarPlot::paintOver(QPainter& painter) {
    if (!m_current) {
        return;
    }
    const QRectF rect = rectOf(*m_current);
    if (rect.isEmpty()) {
        return;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Window), 1));
    painter.drawRect(rect.adjusted(-2, -2, 1, 1));
    painter.setPen(QPen(Colours::of(palette()).text, 1));
    painter.drawRect(rect.adjusted(-3, -3, 2, 2));
    paintReading(painter, QPointF(rect.center().x(), rect.top() + 4).toPoint(), reading());
}

// ---------------------------------------------------------------- pointing

QString BarPlot::textOf(BarIndex bar) const {
    const QString value = valueText(m_valueSpec.unit, valueOf(bar));
    if (m_isHistogram) {
        double all = 0;
        for (const double count : m_histogram.counts) {
            all += count;
        }
        return tr("%1\n%2, %3 of all", "bin; count, share")
            .arg(groupText(bar.group), value, valueText(Unit::Share, all > 0 ? valueOf(bar) / all : 0));
    }
    const QString& name = m_series[static_cast<size_t>(bar.series)].name;
    return groupText(bar.group) + u'\n' + (name.isEmpty() ? value : tr("%1: %2", "series and value").arg(name, value));
}

void BarPlot::setCurrent(std::optional<BarIndex> bar) {
    if (bar != m_current) {
        m_current = bar;
        setReading(bar ? textOf(*bar) : QString());
        update();
    }
}

void BarPlot::pointAt(std::optional<QPoint> at) {
    setCurrent(at && !isEmpty() ? barAt(*at) : std::nullopt);
}

void BarPlot::step(int right, int down) {
    ensureLaidOut();
    if (seriesCount() == 0) {
        return;
    }
    // Along the groups; across them from series to series.
    const int along = lies() ? down : right;
    const int across = lies() ? right : -down;
    const int all = groupCount() * seriesCount();
    int at = 0;
    if (m_current) {
        const int group = std::clamp(m_current->group + along, 0, groupCount() - 1);
        at = std::clamp(group * seriesCount() + m_current->series + across, 0, all - 1);
    }
    setCurrent(BarIndex{at / seriesCount(), at % seriesCount()});
}

void BarPlot::click(Qt::MouseButton button) {
    if (m_current && button == Qt::LeftButton) {
        Q_EMIT barClicked(m_current->group, m_current->series);
    }
}

QString BarPlot::csv() const {
    if (m_isHistogram) {
        QString text = csvLine({csvHeading({QStringLiteral("from"), m_binSpec.unit, false}, {}),
                                csvHeading({QStringLiteral("to"), m_binSpec.unit, false}, {}),
                                csvHeading(m_valueSpec, QStringLiteral("count"))});
        for (int bin = 0; bin < groupCount(); ++bin) {
            const double from = m_histogram.lo + bin * m_histogram.width;
            const bool open = m_histogram.openEnd && bin == groupCount() - 1;
            text += csvLine({csvNumber(from), open ? QString() : csvNumber(from + m_histogram.width),
                             csvNumber(valueOf({bin, 0}))});
        }
        return text;
    }
    QStringList head{QStringLiteral("group")};
    for (const Series& series : m_series) {
        head << csvHeading({series.name, m_valueSpec.unit, false}, QStringLiteral("value"));
    }
    QString text = csvLine(head);
    for (int group = 0; group < groupCount(); ++group) {
        QStringList fields{m_groups[group]};
        for (int series = 0; series < seriesCount(); ++series) {
            fields << csvNumber(valueOf({group, series}));
        }
        text += csvLine(fields);
    }
    return text;
}

}  // namespace offstage::ui
