#include "ui/plot/bar_plot.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QPainter>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

constexpr double kBarShare = 0.78;  // of a bar's room, except in a histogram

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
    // Bins begin at multiples of their width; if the range does not, one more bin is
    // needed.
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

void BarPlot::setBars(Bars bars) {
    if (!m_isHistogram && bars == m_bars) {
        return;
    }
    m_isHistogram = false;
    m_bars = std::move(bars);
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
    m_bars = {};
    changed();
}

void BarPlot::changed() {
    if (m_current && *m_current >= barCount()) {
        m_current.reset();
    }
    setReading(m_current ? textOf(*m_current) : QString());
    if (const QSize hint = sizeHint(); hint != m_hint) {  // otherwise each value would cause a new layout around it
        m_hint = hint;
        updateGeometry();
    }
    keepWhole();
    markStale(Layer::Frame);
}

void BarPlot::setWhole(bool whole) {
    m_whole = whole;
    keepWhole();
}

void BarPlot::keepWhole() {
    if (m_whole) {
        const int line = fontMetrics().lineSpacing();
        setMinimumHeight(barCount() * ((namesStandAbove() ? 2 : 1) * line + 4) + 50);
    }
}

void BarPlot::resizeEvent(QResizeEvent* event) {
    PlotWidget::resizeEvent(event);
    keepWhole();
}

int BarPlot::widestName() const {
    int widest = 0;
    for (const QString& name : m_bars.names) {
        widest = std::max(widest, fontMetrics().horizontalAdvance(name) + 2);
    }
    return widest;
}

void BarPlot::clear() {
    setBars({});
}

void BarPlot::setValueAxis(const AxisSpec& spec) {
    m_valueSpec = spec;
    markStale(Layer::Frame);
}

void BarPlot::setEmphasised(int bar) {
    if (bar != m_emphasised) {
        m_emphasised = bar;
        markStale(Layer::Frame);
    }
}

int BarPlot::barCount() const {
    return static_cast<int>(m_isHistogram ? std::ssize(m_histogram.counts) : std::ssize(m_bars.values));
}

double BarPlot::valueOf(int bar) const {
    return (m_isHistogram ? m_histogram.counts : m_bars.values)[static_cast<size_t>(bar)];
}

QString BarPlot::nameOf(int bar) const {
    if (!m_isHistogram) {
        return m_bars.names[bar];
    }
    const double from = m_histogram.lo + bar * m_histogram.width;
    if (m_histogram.openEnd && bar == barCount() - 1) {
        return tr("from %1").arg(m_bins.textAt(from));
    }
    return tr("%1 to %2").arg(m_bins.textAt(from), m_bins.textAt(from + m_histogram.width));
}

// ---------------------------------------------------------------- places

QSize BarPlot::sizeHint() const {
    const int line = fontMetrics().height();
    return m_isHistogram ? PlotWidget::sizeHint() : QSize(360, std::max(120, barCount() * (line + 10) + 3 * line));
}

void BarPlot::layOut() {
    const QFontMetrics metrics = fontMetrics();
    double highest = 0;
    m_widestValue = 0;
    for (int bar = 0; bar < barCount(); ++bar) {
        highest = std::max(highest, valueOf(bar));
        m_widestValue = std::max(m_widestValue, metrics.horizontalAdvance(valueText(m_valueSpec.unit, valueOf(bar))));
    }
    const Range range = niceRange(0, highest, 5);
    const Range bins{m_histogram.lo, m_histogram.lo + m_histogram.width * barCount()};
    const Axis below =
        m_isHistogram ? Axis(m_binSpec, bins.lo, bins.hi, 0, 1) : Axis(m_valueSpec, range.lo, range.hi, 0, 1);
    const int bottom = height() - kEdge - bottomAxisHeight(below.caption());
    if (!m_isHistogram) {
        m_namesAbove = namesStandAbove();
        const int left = kEdge + (m_namesAbove ? 0 : widestName() + 8);
        const int right = width() - kEdge - m_widestValue - 8;
        m_area = QRect(QPoint(left, kEdge), QPoint(std::max(left + 10, right), std::max(20, bottom)));
        m_values = Axis(m_valueSpec, range.lo, range.hi, m_area.left(), m_area.right() + 1);
        return;
    }
    const bool captioned = !Axis(m_valueSpec, range.lo, range.hi, 0, 1).caption().isEmpty();
    const int forMarks = m_marks.empty() ? 0 : metrics.height() * 3 / 2;
    const int top = kEdge + (captioned ? metrics.height() + 2 : 2) + metrics.height() / 2 + forMarks;
    m_ticks = leftTicks(m_valueSpec, range, top, bottom);
    m_area = areaBeside(m_ticks, top, bottom);
    m_values = Axis(m_valueSpec, range.lo, range.hi, m_area.bottom() + 1, m_area.top());
    m_bins = Axis(m_binSpec, bins.lo, bins.hi, m_area.left(), m_area.right() + 1);
}

QStringList BarPlot::numbersBelow() {
    ensureLaidOut();
    QStringList numbers;
    for (const BottomTick& tick : bottomTicks(m_isHistogram ? m_bins : m_values, m_area)) {
        if (!tick.place.isEmpty()) {
            numbers << tick.label;
        }
    }
    return numbers;
}

QStringList BarPlot::names() {
    ensureLaidOut();
    QStringList names;
    for (int bar = 0; !m_isHistogram && bar < barCount(); ++bar) {
        names << fontMetrics().elidedText(m_bars.names[bar], Qt::ElideMiddle, static_cast<int>(nameRect(bar).width()));
    }
    return names;
}

QRectF BarPlot::nameRect(int bar) const {
    const double top = m_area.top() + bar * room();
    return m_namesAbove ? QRectF(kEdge, top, width() - 2 * kEdge, std::min<double>(fontMetrics().height(), room()))
                        : QRectF(kEdge, top, m_area.left() - kEdge - 6, room());
}

double BarPlot::room() const {
    return static_cast<double>(m_isHistogram ? m_area.width() : m_area.height()) / barCount();
}

QRectF BarPlot::rectOf(int bar) {
    ensureLaidOut();
    const double share = m_isHistogram ? 1 : kBarShare;
    const double above = m_isHistogram || !m_namesAbove ? 0 : std::min<double>(fontMetrics().height(), room() / 2);
    const double thick = (room() - above) * share;
    const double from = bar * room() + above + (room() - above) * (1 - share) / 2;
    const double end = m_values.pixelOf(valueOf(bar));
    const double gap = thick > 4 ? 1 : 0;
    return m_isHistogram ? QRectF(m_area.left() + from, std::min(end, m_area.bottom() + 0.0), thick - gap,
                                  std::max(1.0, m_area.bottom() + 1 - end))
                         : QRectF(m_area.left(), m_area.top() + from, std::max(1.0, end - m_area.left()), thick - gap);
}

std::optional<int> BarPlot::barAt(QPoint at) {
    ensureLaidOut();
    if (!m_area.contains(at)) {
        return std::nullopt;
    }
    // The whole room of a bar counts, also above a low one, so that a bar of one pixel
    // can be pointed at.
    const double along = m_isHistogram ? at.x() - m_area.left() : at.y() - m_area.top();
    return std::clamp(static_cast<int>(along / room()), 0, barCount() - 1);
}

// ---------------------------------------------------------------- painting

void BarPlot::paintFrame(QPainter& painter) {
    if (m_isHistogram) {
        paintLeftAxis(painter, m_values, m_ticks, m_area, m_area.top() - fontMetrics().height() * 3 / 2 - 3);
        paintBottomAxis(painter, m_bins, m_area);
        return;
    }
    const Colours colours = Colours::of(palette());
    paintBottomAxis(painter, m_values, m_area);
    for (int bar = 0; bar < barCount(); ++bar) {
        const QRectF box = nameRect(bar);
        QFont named = font();
        named.setBold(bar == m_emphasised);
        painter.setFont(named);
        painter.setPen(bar == m_emphasised ? colours.text : colours.muted);
        painter.drawText(
            box, (m_namesAbove ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
            QFontMetrics(named).elidedText(m_bars.names[bar], Qt::ElideMiddle, static_cast<int>(box.width())));
    }
    painter.setFont(font());
}

void BarPlot::paintData(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    if (m_emphasised >= 0 && m_emphasised < barCount() && !m_isHistogram) {
        QColor ground = colours.accent;
        ground.setAlphaF(0.10F);
        painter.fillRect(QRectF(m_area.left(), m_area.top() + m_emphasised * room(), m_area.width(), room()), ground);
    }
    paintMarks(painter);
    const QColor colour = seriesColour(0, palette());
    for (int bar = 0; bar < barCount(); ++bar) {
        const double value = valueOf(bar);
        const QRectF rect = rectOf(bar);
        if (m_isHistogram && value == 0) {
            continue;
        }
        if (m_bars.predicted) {
            painter.setPen(QPen(colour, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(rect.adjusted(1, 1, -1, -1));
        } else {
            painter.fillRect(rect, colour);
        }
        const QString text = valueText(m_valueSpec.unit, value);
        const int wide = metrics.horizontalAdvance(text);
        painter.setPen(colours.text);
        if (m_isHistogram && m_widestValue <= rect.width() + 1) {
            const QRectF place(rect.center().x() - wide / 2.0 - 2, rect.top() - line, wide + 4, line);
            painter.fillRect(place.adjusted(2, 2, -2, -1), palette().color(QPalette::Window));  // a mark may cross it
            painter.drawText(place, Qt::AlignCenter, text);
        } else if (!m_isHistogram && rect.height() >= line * 0.7) {
            painter.drawText(QRectF(rect.right() + 5, rect.center().y() - line / 2.0, wide + 4, line),
                             Qt::AlignLeft | Qt::AlignVCenter, text);
        }
    }
}

std::vector<const PlotMark*> BarPlot::shownMarks() const {
    std::vector<const PlotMark*> shown;
    for (const PlotMark& mark : m_marks) {
        if (mark.at >= m_bins.lo() && mark.at <= m_bins.hi()) {
            shown.push_back(&mark);
        }
    }
    return shown;
}

int BarPlot::captionEnd() const {
    return kEdge + fontMetrics().horizontalAdvance(m_values.caption());
}

// Above the highest number; none covers another or the axis's caption, or is cut at the
// edge.
std::vector<QRect> BarPlot::markNames() {
    constexpr int kFromLine = 4, kApart = 6;
    ensureLaidOut();
    const int line = fontMetrics().height();
    std::vector<QRect> places;
    int freeFrom = std::max(m_area.left(), captionEnd() + kApart);
    for (const PlotMark* mark : shownMarks()) {
        const int x = static_cast<int>(std::lround(m_bins.pixelOf(mark->at)));
        const int wide = fontMetrics().horizontalAdvance(mark->text);
        const bool isRight = x + kFromLine + wide <= m_area.right();
        const int left = std::max(isRight ? x + kFromLine : x - kFromLine - wide, freeFrom);
        freeFrom = left + wide + kApart;
        places.emplace_back(left, m_area.top() - 2 * line, wide + 2, line);
    }
    int freeTo = m_area.right();
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        place->moveRight(std::min(place->right(), freeTo + 1));
        freeTo = place->left() - kApart;
    }
    return places;
}

void BarPlot::paintMarks(QPainter& painter) {
    const std::vector<const PlotMark*> marks = shownMarks();
    const std::vector<QRect> places = markNames();
    QPen pen(Colours::of(palette()).text, 1);
    pen.setDashPattern({3, 3});
    painter.setPen(pen);
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const int x = static_cast<int>(std::lround(m_bins.pixelOf(marks[i]->at)));
        painter.drawLine(x, x > captionEnd() ? places[i].top() : m_area.top(), x, m_area.bottom());
        painter.drawText(places[i], Qt::AlignLeft | Qt::AlignVCenter, marks[i]->text);
    }
}

void BarPlot::paintOver(QPainter& painter) {
    if (m_current) {
        const QRectF rect = rectOf(*m_current);
        paintRings(painter, rect);
        paintReading(painter, QPointF(rect.center().x(), rect.top() + 4).toPoint(), reading());
    }
}

// ---------------------------------------------------------------- pointing

QString BarPlot::textOf(int bar) const {
    const QString value = valueText(m_valueSpec.unit, valueOf(bar));
    if (m_isHistogram) {
        const double all = std::accumulate(m_histogram.counts.begin(), m_histogram.counts.end(), 0.0);
        return tr("%1\n%2, %3 of all", "bin; count, share")
            .arg(nameOf(bar), value, valueText(Unit::Share, all > 0 ? valueOf(bar) / all : 0));
    }
    return nameOf(bar) + u'\n' + tr("%1: %2", "series and value").arg(m_bars.what, value);
}

void BarPlot::setCurrent(std::optional<int> bar) {
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
    setCurrent(m_current ? std::clamp(*m_current + (m_isHistogram ? right : down), 0, barCount() - 1) : 0);
}

QString BarPlot::csv() const {
    if (m_isHistogram) {
        QString text = csvLine({csvHeading({QStringLiteral("from"), m_binSpec.unit}, {}),
                                csvHeading({QStringLiteral("to"), m_binSpec.unit}, {}),
                                csvHeading(m_valueSpec, QStringLiteral("count"))});
        for (int bin = 0; bin < barCount(); ++bin) {
            const double from = m_histogram.lo + bin * m_histogram.width;
            const bool open = m_histogram.openEnd && bin == barCount() - 1;
            text += csvLine(
                {csvNumber(from), open ? QString() : csvNumber(from + m_histogram.width), csvNumber(valueOf(bin))});
        }
        return text;
    }
    QString text =
        csvLine({QStringLiteral("group"), csvHeading({m_bars.what, m_valueSpec.unit}, QStringLiteral("value"))});
    for (int bar = 0; bar < barCount(); ++bar) {
        text += csvLine({m_bars.names[bar], csvNumber(valueOf(bar))});
    }
    return text;
}

}  // namespace offstage::ui
