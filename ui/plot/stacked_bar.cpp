#include "ui/plot/stacked_bar.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <QPainter>
#include <QResizeEvent>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

constexpr int kBar = 22;
constexpr int kThinBar = 12;  // without texts upon it
constexpr int kAfterBar = 10;
constexpr int kThinRow = 16;  // of a compact bar: three lanes of four pixels, and the gap below
constexpr int kThinnestRow = 8;
constexpr double kLeastOutline = 3;  // a lower one has no inside: it is pale instead
constexpr double kPaleness = 0.6;
constexpr int kAboveGhost = 2, kGhost = 7;  // within kAfterBar
constexpr double kSliver = 3;               // the width of tiny parts

}  // namespace

StackedBar::StackedBar(QWidget* parent) : PlotWidget(parent) {
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void StackedBar::setRows(std::vector<Row> rows) {
    for (Row& row : rows) {
        for (auto* parts : {&row.parts, &row.ghost}) {
            for (Part& part : *parts) {
                part.size = std::isfinite(part.size) ? std::max(0.0, part.size) : 0;
            }
        }
    }
    if (rows == m_rows) {
        return;
    }
    const QStringList namesBefore = legendTexts();
    const std::size_t rowsBefore = m_rows.size();
    m_rows = std::move(rows);
    if (m_current && (m_current->row >= static_cast<int>(m_rows.size()) ||
                      m_current->part >= static_cast<int>(rowAt(m_current->row).parts.size()))) {
        m_current.reset();
    }
    setReading(m_current ? textOf(*m_current) : QString());
    if (m_rows.size() != rowsBefore || legendTexts() != namesBefore) {  // the height depends on these only
        if (m_reservedRows > 0) {
            m_keptRows = std::max(m_keptRows, static_cast<int>(m_rows.size()));
            if (heightOf(legend(), width()) > heightOf(m_keptLegend, width())) {
                m_keptLegend = legend();
            }
        }
        refreshHeight();
    }
    markStale(Layer::Frame);
}

void StackedBar::setReserve(int rows, int legendLines) {
    m_reservedRows = m_keptRows = rows;
    m_reservedLines = legendLines;
    m_keptLegend.clear();
    refreshHeight();
}

// The layout keeps what it was told of another width or of other rows.
void StackedBar::refreshHeight() {
    setMaximumHeight(m_shrinks ? contentHeight(width(), fullRow()) : QWIDGETSIZE_MAX);
    updateGeometry();
}

void StackedBar::changeEvent(QEvent* event) {
    PlotWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        refreshHeight();
    }
}

void StackedBar::resizeEvent(QResizeEvent* event) {
    PlotWidget::resizeEvent(event);
    if (event->oldSize().width() != width()) {
        refreshHeight();
    }
}

void StackedBar::setUnit(Unit unit) {
    if (unit != m_unit) {
        m_unit = unit;
        markStale(Layer::Frame);
    }
}

void StackedBar::setCompact(bool compact) {
    m_compact = compact;
    setShrinking(compact);
}

void StackedBar::setShrinking(bool shrinks) {
    m_shrinks = shrinks;
    QSizePolicy policy = sizePolicy();
    policy.setVerticalPolicy(shrinks ? QSizePolicy::Expanding : QSizePolicy::Minimum);
    setSizePolicy(policy);
    refreshHeight();
    markStale(Layer::Frame);
}

void StackedBar::setOwnScales(bool own) {
    m_ownScales = own;
    updateGeometry();
    markStale(Layer::Frame);
}

double StackedBar::used(const Row& row) const {
    double sum = 0;
    for (const Part& part : row.parts) {
        sum = row.sideBySide ? std::max(sum, part.size) : sum + part.size;
    }
    return sum;
}

double StackedBar::endOf(const Row& row) const {
    const double end = std::max({row.total, row.budget, row.ghostBudget, used(row)});
    return end > 0 ? end : 1;
}

double StackedBar::end() const {
    double end = 0;
    for (const Row& row : m_rows) {
        end = std::max(end, endOf(row));
    }
    return end > 0 ? end : 1;
}

double StackedBar::pixelOf(int row, double size) const {
    return m_ownScales ? m_area.left() + size / endOf(rowAt(row)) * m_area.width() : m_x.pixelOf(size);
}

// ---------------------------------------------------------------- places

int StackedBar::fullRow() const {
    return m_compact ? std::max(kThinRow, fontMetrics().height() - 1) : aboveBar() + kBar + kAfterBar;
}

int StackedBar::thinnestRow() const {
    return m_compact ? kThinnestRow : aboveBar() + (m_shrinks ? kThinBar : kBar) + kAfterBar;
}

int StackedBar::rowHeight() const {
    const int rows = std::max({1, static_cast<int>(m_rows.size()), m_keptRows});
    return std::clamp((height() - contentHeight(width(), 0)) / rows, thinnestRow(), fullRow());
}

int StackedBar::barHeight() const {
    return m_compact ? std::min(rowHeight(), kThinRow) * 3 / 4 : rowHeight() - aboveBar() - kAfterBar;
}

int StackedBar::aboveBar() const {
    return m_compact ? 0 : fontMetrics().height() + 3;
}

int StackedBar::namesWidth() const {
    int widest = 0;
    for (const Row& row : m_rows) {
        widest = m_compact ? std::max(widest, fontMetrics().horizontalAdvance(row.name)) : 0;
    }
    return widest > 0 ? widest + 8 : 0;
}

int StackedBar::heightOf(const std::vector<LegendEntry>& entries, int width) const {
    return legendHeight(fontMetrics(), entries, width - 2 * kEdge);
}

int StackedBar::contentHeight(int width, int rowHeight) const {
    const int rows = std::max(static_cast<int>(m_rows.size()), m_keptRows);
    const int legendRoom = std::max(
        {heightOf(legend(), width), heightOf(m_keptLegend, width), m_reservedLines * fontMetrics().lineSpacing()});
    return kEdge + rows * rowHeight + legendRoom + (m_ownScales ? 4 : fontMetrics().height() + 8 + kEdge);
}

int StackedBar::heightForWidth(int width) const {
    return contentHeight(width, thinnestRow());
}

QSize StackedBar::sizeHint() const {
    return {360, contentHeight(std::max(360, width()), fullRow())};
}

QSize StackedBar::minimumSizeHint() const {
    return {180, m_rows.empty() ? 60 : heightForWidth(std::max(180, width()))};
}

void StackedBar::layOut() {
    // Only the bars themselves, without the line above the first.
    const int left = kEdge + namesWidth();
    const int top = kEdge + aboveBar();
    const int high = static_cast<int>(m_rows.size()) * rowHeight() - aboveBar();
    m_area = QRect(left, top, std::max(20, width() - left - kEdge - 4),
                   std::max(barHeight(), high - (m_compact ? 0 : kAfterBar - 4)));
    m_x = Axis({QString(), m_unit}, 0, end(), m_area.left(), m_area.right() + 1);
}

// The pixel widths of the parts, from left to right, and then of the free part.
std::vector<double> StackedBar::widthsOf(int row) const {
    std::vector<double> widths;
    double from = 0;
    for (const Part& part : rowAt(row).parts) {
        widths.push_back(pixelOf(row, from + part.size) - pixelOf(row, from));
        from += part.size;
    }
    widths.push_back(std::max(0.0, pixelOf(row, rowAt(row).total) - pixelOf(row, from)));
    // Every part with a size is visible: the widest part becomes narrower for it.
    const auto widest = std::max_element(widths.begin(), widths.end());
    for (auto width = widths.begin(); !m_compact && width != widths.end(); ++width) {
        if (*width > 0 && *width<kSliver&& * widest> 4 * kSliver) {
            *widest -= kSliver - *width;
            *width = kSliver;
        }
    }
    return widths;
}

QRectF StackedBar::rectOf(PartIndex index) {
    ensureLaidOut();
    if (index.row < 0 || index.row >= static_cast<int>(m_rows.size())) {
        return {};
    }
    if (const Row& row = rowAt(index.row); row.sideBySide) {
        if (index.part < 0 || index.part >= static_cast<int>(row.parts.size()) ||
            row.parts[static_cast<size_t>(index.part)].size <= 0) {
            return {};
        }
        const double lane = static_cast<double>(barHeight()) / static_cast<double>(row.parts.size());
        const double left = pixelOf(index.row, 0);
        return {left, m_area.top() + index.row * rowHeight() + index.part * lane,
                pixelOf(index.row, row.parts[static_cast<size_t>(index.part)].size) - left, lane};
    }
    const std::vector<double> widths = widthsOf(index.row);
    const std::size_t place = index.part == kFree ? widths.size() - 1 : static_cast<std::size_t>(index.part);
    if (place >= widths.size() || (index.part != kFree && place + 1 == widths.size()) || widths[place] <= 0) {
        return {};
    }
    double left = pixelOf(index.row, 0);
    for (std::size_t i = 0; i < place; ++i) {
        left += widths[i];
    }
    return {left, static_cast<double>(m_area.top() + index.row * rowHeight()), widths[place],
            static_cast<double>(barHeight())};
}

QRectF StackedBar::labelRectOf(PartIndex index) {
    const QRectF rect = rectOf(index);
    const double budget = rect.isEmpty() ? 0 : rowAt(index.row).budget;
    constexpr double kBesideMark = 4;
    const double mark = std::floor(pixelOf(index.row, budget));
    if (budget <= 0 || mark + kBesideMark <= rect.left() || mark - kBesideMark >= rect.right()) {
        return rect;
    }
    const QRectF before(rect.topLeft(), QPointF(std::max(rect.left(), mark - kBesideMark), rect.bottom()));
    const QRectF after(QPointF(std::min(rect.right(), mark + kBesideMark), rect.top()), rect.bottomRight());
    return before.width() >= after.width() ? before : after;
}

std::optional<StackedBar::PartIndex> StackedBar::partAt(QPoint at) {
    std::optional<PartIndex> found;
    double thinnest = 1e9;
    for (int row = 0; row < static_cast<int>(m_rows.size()); ++row) {
        for (int part = kFree; part < static_cast<int>(rowAt(row).parts.size()); ++part) {
            // A part thinner than the pointer can still be pointed at.
            const QRectF rect = rectOf({row, part});
            const double grow = rect.isEmpty() ? 0 : std::max(0.0, 4 - rect.width()) / 2;
            const bool hit =
                !rect.isEmpty() && rect.adjusted(-grow, 0, grow, 0).contains(QPointF(at) + QPointF(0.5, 0.5));
            if (hit && rect.width() < thinnest) {
                thinnest = rect.width();
                found = PartIndex{row, part};
            }
        }
    }
    return found;
}

// ---------------------------------------------------------------- painting

std::vector<LegendEntry> StackedBar::legend() const {
    std::map<int, QString> names;  // by category, the first name of each
    for (const Row& row : m_rows) {
        for (const Part& part : row.parts) {
            if (part.size > 0) {
                names.emplace(part.category, part.name);
            }
        }
    }
    std::vector<LegendEntry> entries;
    for (const auto& [category, name] : names) {
        entries.push_back(areaEntry(name, category, palette()));
    }
    return entries;  // what is empty needs none
}

QStringList StackedBar::legendTexts() const {
    QStringList texts;
    for (const LegendEntry& entry : legend()) {
        texts << entry.text;
    }
    return texts;
}

void StackedBar::paintFrame(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    if (!m_ownScales) {
        paintBottomAxis(painter, m_x, m_area);
    }
    const int below = m_area.bottom() + (m_ownScales ? 12 : metrics.height() + 10);  // the axis
    paintLegend(painter, QRect(kEdge, below, width() - 2 * kEdge, height() - below), legend(), palette());
    int nameEnd = m_area.top() - metrics.height();  // of the last name that was drawn
    for (int i = 0; i < static_cast<int>(m_rows.size()); ++i) {
        const Row& row = rowAt(i);
        if (m_compact) {
            const int top = m_area.top() + i * rowHeight() + (barHeight() - metrics.height()) / 2;
            if (top + 1 >= nameEnd) {
                painter.setPen(row.predicted ? colours.muted : colours.text);
                painter.drawText(QRect(kEdge, top, m_area.left() - kEdge - 8, metrics.height()),
                                 Qt::AlignRight | Qt::AlignVCenter, row.name);
                nameEnd = top + metrics.height();
            }
            continue;
        }
        const QRect line(kEdge, m_area.top() + i * rowHeight() - metrics.height() - 3, width() - 2 * kEdge,
                         metrics.height());
        QString sum = row.total > 0 ? tr("%1 of %2").arg(valueText(m_unit, used(row)), valueText(m_unit, row.total))
                                    : valueText(m_unit, used(row));
        if (row.budget > 0) {
            const QString budget = tr(" · budget %1").arg(valueText(m_unit, row.budget));
            // If that is too long, only its mark in the bar is shown.
            if (metrics.horizontalAdvance(row.name + sum + budget) + 10 <= line.width()) {
                sum += budget;
            }
        }
        const bool over = (row.total > 0 && used(row) > row.total) || (row.budget > 0 && used(row) > row.budget);
        painter.setPen(over ? colours.problem : colours.muted);
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, sum);
        const int room = line.width() - metrics.horizontalAdvance(sum) - 10;
        painter.setPen(colours.text);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(row.name, Qt::ElideRight, room));
    }
}

void StackedBar::paintData(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    for (int i = 0; i < static_cast<int>(m_rows.size()); ++i) {
        const Row& row = rowAt(i);
        const QRectF free = rectOf({i, kFree});
        if (!free.isEmpty()) {
            painter.setPen(QPen(colours.muted, 1));
            painter.setBrush(colours.surface);
            painter.drawRect(free.adjusted(0.5, 0.5, -0.5, -0.5));
            writeUpon(painter, labelRectOf({i, kFree}), tr("free"), valueText(m_unit, row.total - used(row)),
                      colours.muted);
        }
        for (int part = 0; part < static_cast<int>(row.parts.size()); ++part) {
            const Part& held = row.parts[static_cast<size_t>(part)];
            const QRectF rect = rectOf({i, part});
            if (rect.isEmpty()) {
                continue;
            }
            const QColor colour = seriesColour(held.category, palette());
            // A hairline of the ground between parts; never so that a thin part vanishes.
            const QRectF inner = row.sideBySide     ? rect.adjusted(0, 0, 0, rect.height() > 3 ? -1 : 0)
                                 : rect.width() > 3 ? rect.adjusted(0, 0, -1, 0)
                                                    : rect;
            if (row.predicted && inner.height() < kLeastOutline) {
                painter.fillRect(inner, mixed(colour, colours.surface, kPaleness));
                continue;
            }
            if (row.predicted) {
                painter.setPen(QPen(colour, 1));
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(inner.adjusted(0.5, 0.5, -0.5, -0.5));
                continue;
            }
            // Hatching has no room in a lane.
            painter.fillRect(inner, row.sideBySide ? QBrush(colour) : patternBrush(colour, patternOf(held.category)));
            if (m_compact) {
                continue;
            }
            writeUpon(painter, labelRectOf({i, part}).intersected(inner), held.name, valueText(m_unit, held.size),
                      inkOn(colour), colour);
        }
        paintGhost(painter, i);
        if (row.budget > 0) {
            const double x = std::floor(pixelOf(i, row.budget));
            const double top = m_area.top() + i * rowHeight();
            painter.fillRect(QRectF(x - 2, top - 4, 4, barHeight() + 8), palette().color(QPalette::Window));
            painter.fillRect(QRectF(x - 1, top - 4, 2, barHeight() + 8), colours.text);
            painter.fillRect(QRectF(x - 4, top - 5, 8, 2), colours.text);
        }
        if (row.total > 0 && used(row) > row.total) {
            // The part beyond the total is framed.
            const double from = pixelOf(i, row.total);
            const QRectF beyond(from, m_area.top() + i * rowHeight(), pixelOf(i, used(row)) - from, barHeight());
            painter.setPen(QPen(colours.problem, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(beyond.adjusted(0, -2, -1, 2));
        }
    }
}

QRectF StackedBar::ghostRectOf(PartIndex index) {
    ensureLaidOut();
    if (index.row < 0 || index.row >= static_cast<int>(m_rows.size()) || index.part < 0 ||
        index.part >= static_cast<int>(rowAt(index.row).ghost.size())) {
        return {};
    }
    double from = 0;
    for (int i = 0; i < index.part; ++i) {
        from += rowAt(index.row).ghost[static_cast<size_t>(i)].size;
    }
    const double left = pixelOf(index.row, from);
    const double right = pixelOf(index.row, from + rowAt(index.row).ghost[static_cast<size_t>(index.part)].size);
    const double top = m_area.top() + index.row * rowHeight() + barHeight() + kAboveGhost;
    return {left, top, std::min(right, m_area.right() + 1.0) - left, kGhost};
}

// Thinner and paler than the present parts, and framed, to distinguish it.
void StackedBar::paintGhost(QPainter& painter, int row) {
    const Row& of = rowAt(row);
    for (int part = 0; part < static_cast<int>(of.ghost.size()); ++part) {
        const QRectF rect = ghostRectOf({row, part});
        if (rect.width() < 1) {
            continue;
        }
        const QColor colour = seriesColour(of.ghost[static_cast<size_t>(part)].category, palette());
        QColor pale = colour;
        pale.setAlphaF(0.35f);
        painter.fillRect(rect, pale);
        painter.setPen(QPen(colour, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (of.ghostBudget > 0 && !m_compact) {
        const double x = std::floor(pixelOf(row, of.ghostBudget));
        const double top = m_area.top() + row * rowHeight();
        painter.setPen(QPen(Colours::of(palette()).text, 2, Qt::DotLine));
        painter.drawLine(QPointF(x, top - 4), QPointF(x, top + barHeight() + kAboveGhost + kGhost + 1));
    }
}

void StackedBar::writeUpon(QPainter& painter, const QRectF& rect, const QString& name, const QString& size,
                           const QColor& ink, const QColor& ground) const {
    const QFontMetrics metrics = fontMetrics();
    if (rect.height() < metrics.height()) {
        return;
    }
    QString text = name + QChar(u' ') + size;
    if (metrics.horizontalAdvance(text) + 10 > rect.width()) {
        text = name;
    }
    const int wide = metrics.horizontalAdvance(text);
    if (wide + 10 > rect.width()) {
        return;
    }
    const QRectF box(rect.left() + 4, rect.center().y() - metrics.height() / 2.0, wide + 4, metrics.height());
    if (ground.isValid()) {
        painter.fillRect(box, ground);  // letters upon hatching are hard to read
    }
    painter.setPen(ink);
    painter.drawText(box, Qt::AlignCenter, text);
}

void StackedBar::paintOver(QPainter& painter) {
    if (!m_current) {
        return;
    }
    const QRectF rect = rectOf(*m_current);
    if (rect.isEmpty()) {
        return;
    }
    paintRings(painter, rect);
    paintReading(painter, QPointF(rect.center().x(), rect.bottom() - 6).toPoint(), reading());
}

// ---------------------------------------------------------------- pointing

QString StackedBar::textOf(PartIndex index) const {
    const Row& row = rowAt(index.row);
    const bool free = index.part == kFree;
    const double size = free ? row.total - used(row) : row.parts[static_cast<size_t>(index.part)].size;
    const QString name = free ? tr("free") : row.parts[static_cast<size_t>(index.part)].name;
    const double whole = row.total > 0 ? row.total : used(row);
    QString text = tr("%1\n%2: %3", "row; part: size").arg(row.name, name, valueText(m_unit, size));
    if (whole > 0) {
        text += tr(", %1 of %2").arg(valueText(Unit::Share, size / whole), valueText(m_unit, whole));
    }
    return text;
}

void StackedBar::setCurrent(std::optional<PartIndex> part) {
    if (part != m_current) {
        m_current = part;
        setReading(part ? textOf(*part) : QString());
        update();
    }
}

void StackedBar::pointAt(std::optional<QPoint> at) {
    setCurrent(at ? partAt(*at) : std::nullopt);
}

void StackedBar::step(int right, int down) {
    const int lastRow = static_cast<int>(m_rows.size()) - 1;
    const int row = std::clamp((m_current ? m_current->row : 0) + down, 0, lastRow);
    // Left to right: the visible parts, then the free part.
    std::vector<int> parts;
    for (int part = 0; part < static_cast<int>(rowAt(row).parts.size()); ++part) {
        if (rowAt(row).parts[static_cast<size_t>(part)].size > 0) {
            parts.push_back(part);
        }
    }
    if (rowAt(row).total > used(rowAt(row))) {
        parts.push_back(kFree);
    }
    if (parts.empty()) {
        return;
    }
    int at = 0;
    if (m_current) {
        const auto here = std::find(parts.begin(), parts.end(), m_current->part);
        at = (here == parts.end() ? 0 : static_cast<int>(here - parts.begin())) + right;
    }
    setCurrent(PartIndex{row, parts[static_cast<size_t>(std::clamp(at, 0, static_cast<int>(parts.size()) - 1))]});
}

void StackedBar::click(Qt::MouseButton button) {
    if (m_current && button == Qt::LeftButton) {
        Q_EMIT partClicked(m_current->row, m_current->part);
    }
}

QString StackedBar::csv() const {
    QString text = csvLine(
        {QStringLiteral("row"), QStringLiteral("part"), csvHeading({QString(), m_unit}, QStringLiteral("size"))});
    for (const Row& row : m_rows) {
        for (const Part& part : row.parts) {
            text += csvLine({row.name, part.name, csvNumber(part.size)});
        }
        if (row.total > 0) {
            text += csvLine({row.name, tr("free"), csvNumber(std::max(0.0, row.total - used(row)))});
            text += csvLine({row.name, QStringLiteral("total"), csvNumber(row.total)});
        }
        if (row.budget > 0) {
            text += csvLine({row.name, QStringLiteral("budget"), csvNumber(row.budget)});
        }
    }
    return text;
}

}  // namespace offstage::ui
