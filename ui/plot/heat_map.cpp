#include "ui/plot/heat_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QStaticText>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

constexpr int kLargestCell = 44;
constexpr int kMapMargin = 2;
constexpr int kSmallestHatched = 6;
constexpr int kStripGap = 4;
constexpr int kStrip = 28, kNarrowStrip = 14;  // a summary's longest bar
constexpr int kNarrow = 420;
constexpr double kMostFaded = 0.82;  // share of the ground in a cell of no brightness

ColorScale scaleFor(const QPalette& palette) {
    return ColorScale::on(isDark(palette) ? ColorScale::Ground::Dark : ColorScale::Ground::Light);
}

// Nearly square; very narrow cells may be higher than wide, so that they are visible.
int tallestCell(int width) {
    return std::min(kLargestCell, width < 6 ? 4 * width : 2 * width);
}

// Every how many-th label fits: 1, 2, 4, 8, ...
int labelStep(int cell, int needed) {
    int step = 1;
    while (cell * step < needed) {
        step *= 2;
    }
    return step;
}

HeatMap::Area joined(const HeatMap::Area& a, const HeatMap::Area& b) {
    return {std::min(a.firstRow, b.firstRow), std::max(a.lastRow, b.lastRow), std::min(a.firstColumn, b.firstColumn),
            std::max(a.lastColumn, b.lastColumn)};
}

QRgb faded(QRgb colour, QRgb ground, double shareOfGround) {
    const int share = static_cast<int>(std::lround(256 * shareOfGround));
    const auto channel = [share](int a, int b) { return a + (b - a) * share / 256; };
    return qRgb(channel(qRed(colour), qRed(ground)), channel(qGreen(colour), qGreen(ground)),
                channel(qBlue(colour), qBlue(ground)));
}

}  // namespace

HeatMap::HeatMap(QWidget* parent) : PlotWidget(parent), m_scale(scaleFor(palette())) {
    m_zoom.setSmallestSpan(kFewestShown);
    findCategoryColours();
}

// ---------------------------------------------------------------- data

void HeatMap::setShape(int rows, int columns) {
    if (rows == m_rows && columns == m_columns) {
        return;
    }
    m_rows = rows;
    m_columns = columns;
    m_zoom.reset();
    m_zoom.setFull({0, static_cast<double>(std::max(1, columns))});
    std::erase_if(m_highlighted, [this](Cell cell) { return !isInside(cell); });
    std::erase_if(m_marks, [this](const Mark& mark) { return !isInside(mark.cell); });
    setCurrent(std::nullopt);
    setSelected(std::nullopt);
    setArea(std::nullopt);
    limitHeight();
    updateGeometry();
    markStale(Layer::Frame);
}

void HeatMap::setValues(int rows, int columns, std::vector<double> values, double top) {
    Q_ASSERT(values.size() == static_cast<size_t>(rows) * static_cast<size_t>(columns));
    const double end = top > 0 ? top : 1;
    if (rows == m_rows && columns == m_columns && m_kinds.empty() && end == m_top && values == m_values) {
        return;
    }
    m_values = std::move(values);
    m_top = end;
    m_kinds.clear();
    m_categories.clear();
    m_summaryStale = true;
    setShape(rows, columns);
    markStale(Layer::Data);
}

void HeatMap::setCategories(int rows, int columns, std::vector<std::uint8_t> kinds, std::vector<Category> categories) {
    Q_ASSERT(kinds.size() == static_cast<size_t>(rows) * static_cast<size_t>(columns));
    if (rows == m_rows && columns == m_columns && kinds == m_kinds && categories == m_categories) {
        return;
    }
    m_kinds = std::move(kinds);
    m_categories = std::move(categories);
    m_values.clear();
    m_summaryStale = true;
    findCategoryColours();
    setShape(rows, columns);
    markStale(Layer::Data);
}

void HeatMap::findCategoryColours() {
    const Colours colours = Colours::of(palette());
    m_categoryColours.clear();
    for (const Category& category : m_categories) {
        m_categoryColours.push_back(categoryColour(category, palette()).rgb());
    }
    m_ground = colours.surface.rgb();
}

QColor HeatMap::categoryColour(const Category& category, const QPalette& palette) {
    const Colours colours = Colours::of(palette);
    return category.colour == Category::kQuiet ? mixed(colours.surface, colours.text, 0.11)
                                               : seriesColour(category.colour, palette);
}

void HeatMap::setBrightness(std::vector<double> shares) {
    if (shares != m_brightness) {
        m_brightness = std::move(shares);
        m_summaryStale = true;
        markStale(Layer::Data);
    }
}

void HeatMap::setMarks(std::vector<Mark> marks) {
    std::erase_if(marks, [this](const Mark& mark) { return !isInside(mark.cell); });
    if (marks != m_marks) {
        m_marks = std::move(marks);
        update();
    }
}

// Dark on a light edge: visible on every colour.
void HeatMap::paintMarks(QPainter& painter) const {
    const Colours colours = Colours::of(palette());
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Mark& mark : m_marks) {
        const QRectF cell = rectOf(mark.cell);
        if (cell.isNull()) {
            continue;
        }
        const double side = std::clamp(std::min(cell.width(), cell.height()) * 0.45, 3.0, 9.0);
        const QPointF corner = cell.topRight();
        painter.setPen(QPen(palette().color(QPalette::Window), 1.5));
        painter.setBrush(mark.sign == Sign::Hollow ? palette().color(QPalette::Window) : colours.text);
        if (mark.sign == Sign::Dot) {
            painter.drawEllipse(QRectF(cell.left() + 1, cell.bottom() - side * 0.8 - 1, side * 0.8, side * 0.8));
            continue;
        }
        const QPolygonF triangle{corner, corner - QPointF(side, 0), corner + QPointF(0, side)};
        painter.drawPolygon(triangle);
        if (mark.sign == Sign::Hollow) {
            painter.setPen(QPen(colours.text, 1.2));
            painter.setBrush(Qt::NoBrush);
            painter.drawPolygon(triangle);
        }
    }
    painter.restore();
}

void HeatMap::setHighlighted(std::vector<Cell> cells) {
    std::erase_if(cells, [this](Cell cell) { return !isInside(cell); });
    if (cells != m_highlighted) {
        m_highlighted = std::move(cells);
        update();
    }
}

void HeatMap::setSummary(HeatMapSummary::Kind kind) {
    if (kind != m_summaryKind) {
        m_summaryKind = kind;
        m_summaryStale = true;
        limitHeight();
        markStale(Layer::Frame);
    }
}

const HeatMapSummary& HeatMap::summary() {
    if (m_summaryStale) {
        m_summaryStale = false;
        const auto kinds = static_cast<int>(m_categories.size());
        const bool known = m_brightness.size() == m_values.size();
        m_summary = isCategorical() ? HeatMapSummary(m_rows, m_columns, m_kinds, kinds)
                                    : HeatMapSummary(m_rows, m_columns, m_values,
                                                     known ? m_brightness : std::vector<double>(), m_summaryKind);
    }
    return m_summary;
}

void HeatMap::clear() {
    setValues(0, 0, {}, 1);
}

void HeatMap::setTitles(const QString& rows, const QString& columns) {
    m_rowTitle = rows;
    m_columnTitle = columns;
    markStale(Layer::Frame);
}

void HeatMap::setRowNumbers(std::vector<std::int32_t> numbers) {
    m_rowNumbers = std::move(numbers);
    markStale(Layer::Frame);
}

void HeatMap::setValueUnit(const QString& name, Unit unit) {
    m_valueName = name;
    m_unit = unit;
}

bool HeatMap::isInside(Cell cell) const {
    return cell.row >= 0 && cell.row < m_rows && cell.column >= 0 && cell.column < m_columns;
}

size_t HeatMap::indexOf(Cell cell) const {
    return static_cast<size_t>(cell.row) * static_cast<size_t>(m_columns) + static_cast<size_t>(cell.column);
}

double HeatMap::valueAt(Cell cell) const {
    return isCategorical() ? m_kinds[indexOf(cell)] : m_values[indexOf(cell)];
}

const HeatMap::Category* HeatMap::categoryOf(Cell cell) const {
    const size_t kind = isCategorical() ? m_kinds[indexOf(cell)] : m_categories.size();
    return kind < m_categories.size() ? &m_categories[kind] : nullptr;
}

QRgb HeatMap::colourAt(size_t index) const {
    QRgb colour = 0;
    if (isCategorical()) {
        const size_t kind = m_kinds[index];
        colour = kind < m_categoryColours.size() ? m_categoryColours[kind] : m_ground;
    } else {
        colour = m_scale.at(m_values[index] / m_top);
    }
    if (m_brightness.size() == static_cast<size_t>(m_rows) * static_cast<size_t>(m_columns)) {
        const double bright = std::isfinite(m_brightness[index]) ? std::clamp(m_brightness[index], 0.0, 1.0) : 0;
        colour = faded(colour, m_ground, (1 - bright) * kMostFaded);
    }
    return colour;
}

QRgb HeatMap::colourOf(Cell cell) const {
    return colourAt(indexOf(cell));
}

QString HeatMap::textOf(Cell cell) const {
    const Category* category = categoryOf(cell);
    const QString value = isCategorical() ? (category != nullptr ? category->name : QStringLiteral("–"))
                                          : valueText(m_unit, valueAt(cell));
    return tr("%1 %2, %3 %4: %5", "heat map cell: title of rows, row, title of columns, column, value")
        .arg(m_rowTitle)
        .arg(rowNumber(cell.row))
        .arg(m_columnTitle)
        .arg(cell.column)
        .arg(value);
}

QString HeatMap::csv() const {
    const bool fades = m_brightness.size() == static_cast<size_t>(m_rows) * static_cast<size_t>(m_columns);
    const auto named = [](const QString& name, const char* otherwise) {
        return name.isEmpty() ? QString::fromLatin1(otherwise) : name;
    };
    QStringList head{named(m_rowTitle, "row"), named(m_columnTitle, "column"), named(m_valueName, "value")};
    if (fades) {
        head << QStringLiteral("brightness");
    }
    QString text = csvLine(head);
    for (int row = 0; row < m_rows; ++row) {
        for (int column = 0; column < m_columns; ++column) {
            const Cell cell{row, column};
            const Category* category = categoryOf(cell);
            QStringList fields{
                QString::number(rowNumber(row)), QString::number(column),
                isCategorical() ? (category != nullptr ? category->name : QString()) : csvNumber(valueAt(cell))};
            if (fades) {
                fields << csvNumber(m_brightness[indexOf(cell)]);
            }
            text += csvLine(fields);
        }
    }
    return text;
}

// ---------------------------------------------------------------- places

HeatMap::Geometry HeatMap::geometryNow() const {
    Geometry g;
    if (isEmpty()) {
        return g;
    }
    g.left = leftLabels();
    g.columns = shownColumns();
    g.top = kMapMargin + 2 * fontMetrics().height() + 4;
    g.strip = stripSize();
    const int high = std::max(1, (height() - g.top - g.strip - kMapMargin) / m_rows);
    g.cell = cellWidth(g.columns.count());
    g.height = std::min(high, kLargestCell);
    // Nearly squares if there is room for both.
    if (!m_zoom.isZoomed()) {
        g.cell = std::min(g.cell, std::max(g.height * 2, 2));
    }
    g.height = std::min(g.height, tallestCell(g.cell));
    const int smaller = std::min(g.cell, g.height);
    g.gap = smaller >= 14 ? 2 : smaller >= 6 ? 1 : 0;
    return g;
}

QRect HeatMap::rectOf(Cell cell) const {
    const Geometry g = geometryNow();
    if (!g.columns.contains(cell.column)) {
        return {};
    }
    return {g.xOf(cell.column), g.top + cell.row * g.height, std::max(1, g.cell - g.gap),
            std::max(1, g.height - g.gap)};
}

QRect HeatMap::rectOfArea(const Area& area) const {
    const Columns shown = shownColumns();
    const int first = std::max(area.firstColumn, shown.begin), last = std::min(area.lastColumn, shown.end - 1);
    return first > last ? QRect() : rectOf(Cell{area.firstRow, first}) | rectOf(Cell{area.lastRow, last});
}

std::optional<HeatMap::Area> HeatMap::lineAt(QPoint at) const {
    const Geometry g = geometryNow();
    if (g.cell == 0) {
        return std::nullopt;
    }
    const QRect cells(g.left, g.top, g.width(), m_rows * g.height);
    const bool beside =
        at.x() < cells.left() || (g.strip > 0 && at.x() > cells.right() && at.x() <= cells.right() + g.strip);
    const bool aboveOrBelow =
        at.y() < cells.top() || (g.strip > 0 && at.y() > cells.bottom() && at.y() <= cells.bottom() + g.strip);
    if (beside && at.y() >= cells.top() && at.y() <= cells.bottom()) {
        const int row = (at.y() - g.top) / g.height;
        return Area{row, row, 0, m_columns - 1};
    }
    if (aboveOrBelow && at.x() >= cells.left() && at.x() <= cells.right()) {
        const int column = g.columns.begin + (at.x() - g.left) / g.cell;
        return Area{0, m_rows - 1, column, column};
    }
    return std::nullopt;
}

std::optional<HeatMap::Cell> HeatMap::cellAt(QPoint at) const {
    const Geometry g = geometryNow();
    if (g.cell == 0 || at.x() < g.left || at.y() < g.top) {
        return std::nullopt;
    }
    const Cell cell{(at.y() - g.top) / g.height, g.columns.begin + (at.x() - g.left) / g.cell};
    return isInside(cell) && g.columns.contains(cell.column) ? std::optional(cell) : std::nullopt;
}

HeatMap::Columns HeatMap::shownColumns() const {
    const Range view = m_zoom.view();
    const int count = std::clamp(static_cast<int>(std::lround(view.hi - view.lo)), 1, std::max(1, m_columns));
    const int begin = std::clamp(static_cast<int>(std::lround(view.lo)), 0, std::max(0, m_columns - count));
    return {begin, std::min(m_columns, begin + count)};
}

void HeatMap::showColumns(int begin, int end) {
    if (zoomRange() != nullptr && m_zoom.show({static_cast<double>(begin), static_cast<double>(end)})) {
        markStale(Layer::Frame);
    }
}

Axis HeatMap::zoomAxis() const {
    const Geometry g = geometryNow();
    return {{},
            static_cast<double>(g.columns.begin),
            static_cast<double>(g.columns.end),
            static_cast<double>(g.left),
            static_cast<double>(g.left + g.width())};
}

std::optional<double> HeatMap::keyZoomCentre() const {
    return m_current ? std::optional(m_current->column + 0.5) : std::nullopt;
}

QSize HeatMap::sizeHint() const {
    return {340, std::clamp(m_rows * 22 + 60, 200, 420)};
}

QSize HeatMap::minimumSizeHint() const {
    // At least one pixel for each cell.
    return {std::max(200, m_columns + 56 + kStripGap + kNarrowStrip), std::max(120, m_rows * 2 + 50 + stripSize())};
}

void HeatMap::limitHeight() {
    // No taller than the cells of this width can be: so the parts below stay near.
    const int labels = kMapMargin * 2 + 2 * fontMetrics().height() + 4 + stripSize();
    setMaximumHeight(m_rows > 0 ? labels + m_rows * tallestCell(cellWidth(m_columns)) : QWIDGETSIZE_MAX);
}

int HeatMap::stripSize() const {
    return m_summaryKind == HeatMapSummary::Kind::None ? 0 : kStripGap + (width() < kNarrow ? kNarrowStrip : kStrip);
}

int HeatMap::cellWidth(int columns) const {
    return std::clamp((width() - leftLabels() - stripSize() - kMapMargin) / std::max(1, columns), 1, kLargestCell);
}

int HeatMap::leftLabels() const {
    // Row numbers, and the rows' title, which is vertical.
    return kMapMargin + fontMetrics().horizontalAdvance(QString::number(m_rows > 0 ? rowNumber(m_rows - 1) : 0)) + 8 +
           fontMetrics().height();
}

void HeatMap::resizeEvent(QResizeEvent* event) {
    PlotWidget::resizeEvent(event);
    limitHeight();
}

void HeatMap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) {
        m_scale = scaleFor(palette());
        findCategoryColours();
    }
    PlotWidget::changeEvent(event);
}

// ---------------------------------------------------------------- pointing

void HeatMap::setPointed(std::optional<Cell> cell, std::optional<Area> line) {
    if (cell != m_current || line != m_line) {
        m_current = cell;
        m_line = line;
        setReading(cell ? textOf(*cell) : line ? lineText(*line) : QString());
        update();
        Q_EMIT currentChanged();
    }
}

QString HeatMap::lineText(const Area& line) const {
    const bool isRow = line.firstRow == line.lastRow;
    const QString name =
        isRow ? tr("%1 %2", "title of rows, number of one").arg(m_rowTitle, QString::number(rowNumber(line.firstRow)))
              : tr("%1 %2", "title of columns, number of one").arg(m_columnTitle, QString::number(line.firstColumn));
    if (m_summaryKind == HeatMapSummary::Kind::None) {
        return name;
    }
    const HeatMapSummary& all = const_cast<HeatMap*>(this)->summary();
    QStringList parts;
    if (isCategorical()) {
        const auto counts = isRow ? all.kindsOfRow(line.firstRow) : all.kindsOfColumn(line.firstColumn);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] > 0) {
                parts << tr("%1 %2", "how many cells, of which kind").arg(counts[i]).arg(m_categories[i].name);
            }
        }
    } else {
        const QString value = valueText(m_unit, isRow ? all.row(line.firstRow) : all.column(line.firstColumn));
        parts << (m_summaryKind == HeatMapSummary::Kind::Mean ? tr("%1 on average").arg(value)
                                                              : tr("%1 at most").arg(value));
    }
    return tr("%1: %2", "row or column, its summary").arg(name, parts.join(QStringLiteral(", ")));
}

void HeatMap::setArea(std::optional<Area> area) {
    if (area && (!isInside({area->firstRow, area->firstColumn}) || !isInside({area->lastRow, area->lastColumn}))) {
        area.reset();
    }
    if (!area) {
        m_anchor.reset();
        m_growing = false;
    }
    if (area != m_area) {
        m_area = area;
        update();
        Q_EMIT areaChanged();
    }
}

void HeatMap::setSelected(std::optional<Cell> cell) {
    if (cell && !isInside(*cell)) {
        cell.reset();
    }
    if (cell != m_selected) {
        m_selected = cell;
        update();
    }
}

void HeatMap::pointAt(std::optional<QPoint> at) {
    const auto cell = at ? cellAt(*at) : std::nullopt;
    setPointed(cell, at && !cell ? lineAt(*at) : std::nullopt);
}

void HeatMap::extendArea(int right, int down) {
    const Cell from = m_current.value_or(Cell{0, shownColumns().begin});
    if (!m_anchor || m_growing) {
        m_anchor = Area{from.row, from.row, from.column, from.column};
        m_growing = false;
    }
    stepByKey(right, down);
    setArea(joined(*m_anchor, {m_current->row, m_current->row, m_current->column, m_current->column}));
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
    PlotWidget::mousePressEvent(event);
    m_growing = false;
    if (event->button() != Qt::LeftButton) {
        return;
    }
    m_anchoredAt = event->position().toPoint();
    if (m_line) {
        m_anchor = m_line;
        m_growing = true;
        dropPress();
        setArea(m_line);
    } else if (m_current && (!m_zoom.isZoomed() || (event->modifiers() & Qt::ShiftModifier) != 0)) {
        m_anchor = Area{m_current->row, m_current->row, m_current->column, m_current->column};
        m_growing = true;
    }
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (!m_growing || !m_anchor || (event->buttons() & Qt::LeftButton) == 0) {
        PlotWidget::mouseMoveEvent(event);
        return;
    }
    pointAt(at);
    if ((at - m_anchoredAt).manhattanLength() < QApplication::startDragDistance()) {
        return;
    }
    dropPress();
    // If a row or column is marked, only the direction across it counts. Outside of the
    // cells: the nearest cell.
    const Geometry g = geometryNow();
    const bool rows = m_anchor->firstColumn == 0 && m_anchor->lastColumn == m_columns - 1 && m_columns > 1;
    const bool columns = m_anchor->firstRow == 0 && m_anchor->lastRow == m_rows - 1 && m_rows > 1;
    const int row = std::clamp((at.y() - g.top) / std::max(1, g.height), 0, m_rows - 1);
    const int column =
        std::clamp(g.columns.begin + (at.x() - g.left) / std::max(1, g.cell), g.columns.begin, g.columns.end - 1);
    const Area here{columns ? 0 : row, columns ? m_rows - 1 : row, rows ? 0 : column, rows ? m_columns - 1 : column};
    setArea(joined(*m_anchor, here));
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
    m_growing = false;
    PlotWidget::mouseReleaseEvent(event);
}

void HeatMap::step(int right, int down) {
    const Columns shown = shownColumns();
    const Cell from = m_current.value_or(Cell{0, shown.begin});
    const Cell to{std::clamp(from.row + down, 0, m_rows - 1), std::clamp(from.column + right, 0, m_columns - 1)};
    if (to.column < shown.begin) {
        showColumns(to.column, to.column + shown.count());
    } else if (to.column >= shown.end) {
        showColumns(to.column + 1 - shown.count(), to.column + 1);
    }
    setCurrent(to);
}

void HeatMap::click(Qt::MouseButton button) {
    if (button == Qt::LeftButton) {
        setArea(std::nullopt);
    }
    if (!m_current) {
        if (button == Qt::LeftButton) {
            setSelected(std::nullopt);
        }
        return;
    }
    const Cell cell = *m_current;
    if (button == Qt::LeftButton) {
        setSelected(cell);
    }
    Q_EMIT cellClicked(cell, button);
}

void HeatMap::extendMenu(QMenu& menu, QPoint at) {
    const auto cell = pointedByKey() ? m_current : cellAt(at);
    const auto line = cell || pointedByKey() ? std::nullopt : lineAt(at);
    if (line) {
        setArea(line);
    }
    if (cell || line) {
        Q_EMIT cellMenuRequested(cell ? *cell : Cell{line->firstRow, line->firstColumn}, &menu);
    }
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
    if (isEmpty()) {
        event->ignore();
        return;
    }
    const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
    const bool control = (event->modifiers() & Qt::ControlModifier) != 0;
    const int key = event->key();
    if (shift && (key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down)) {
        return extendArea(key == Qt::Key_Left    ? -1
                          : key == Qt::Key_Right ? 1
                                                 : 0,
                          key == Qt::Key_Up     ? -1
                          : key == Qt::Key_Down ? 1
                                                : 0);
    }
    if (m_current && key == Qt::Key_Space && (shift || control)) {
        return setArea(shift ? Area{m_current->row, m_current->row, 0, m_columns - 1}
                             : Area{0, m_rows - 1, m_current->column, m_current->column});
    }
    if (control && key == Qt::Key_A) {
        return setArea(Area{0, m_rows - 1, 0, m_columns - 1});
    }
    if (key == Qt::Key_Escape && m_area) {
        return setArea(std::nullopt);
    }
    switch (key) {
        case Qt::Key_Home:
            return stepByKey(-m_columns, 0);
        case Qt::Key_End:
            return stepByKey(m_columns, 0);
        case Qt::Key_PageUp:
            return stepByKey(0, -m_rows);
        case Qt::Key_PageDown:
            return stepByKey(0, m_rows);
        default:
            PlotWidget::keyPressEvent(event);
    }
}

void HeatMap::focusInEvent(QFocusEvent* event) {
    PlotWidget::focusInEvent(event);
    if (pointedByKey() && !m_current && !isEmpty()) {
        setCurrent(Cell{0, shownColumns().begin});
    }
}

// ---------------------------------------------------------------- painting

void HeatMap::paintFrame(QPainter& painter) {
    const Geometry g = geometryNow();
    const int line = fontMetrics().height();
    painter.setPen(Colours::of(palette()).muted);
    const int widest = fontMetrics().horizontalAdvance(QString::number(m_columns - 1));
    const int columnStep = labelStep(g.cell, widest + 8);
    const int firstLabel = (g.columns.begin + columnStep - 1) / columnStep * columnStep;
    for (int column = firstLabel; column < g.columns.end; column += columnStep) {
        const int x = g.xOf(column) + (g.cell - g.gap) / 2;
        painter.drawText(QRect(x - 40, g.top - line - 3, 80, line), Qt::AlignHCenter | Qt::AlignVCenter,
                         QString::number(column));
    }
    const int rowStep = labelStep(g.height, line);
    const int firstRow = (rowStep - rowNumber(0) % rowStep) % rowStep;  // round numbers where they follow each other
    for (int row = firstRow; row < m_rows; row += rowStep) {
        const int y = g.top + row * g.height + (g.height - g.gap) / 2;
        painter.drawText(QRect(0, y - line / 2, g.left - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(rowNumber(row)));
    }
    const QString title = m_zoom.isZoomed()
                              ? tr("%1 %2–%3 of %4", "title of columns, those that are shown, their number")
                                    .arg(m_columnTitle)
                                    .arg(g.columns.begin)
                                    .arg(g.columns.end - 1)
                                    .arg(m_columns)
                              : m_columnTitle;
    painter.drawText(QRect(g.left, 0, std::max(g.width(), 160), line), Qt::AlignLeft | Qt::AlignVCenter, title);
    painter.save();
    painter.translate(0, g.top + m_rows * g.height);
    painter.rotate(-90);
    painter.drawText(QRect(0, 0, m_rows * g.height, line), Qt::AlignRight | Qt::AlignVCenter, m_rowTitle);
    painter.restore();
}

void HeatMap::paintData(QPainter& painter) {
    // Tens of thousands of small rectangles are several times faster as rows of pixels
    // than as calls of fillRect.
    const Geometry g = geometryNow();
    const double ratio = painter.device()->devicePixelRatioF();
    const auto pixel = [ratio](int layout) { return static_cast<int>(std::lround(layout * ratio)); };
    QImage image(pixel(g.width()), pixel(m_rows * g.height), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    const int high = std::max(1, g.height - g.gap);
    const int wide = std::max(1, g.cell - g.gap);
    const bool glyphs = glyphSize(g) > 0;
    std::vector<QRgb> colours(static_cast<size_t>(m_columns));
    std::vector<QRgb> inks(static_cast<size_t>(m_columns));
    std::vector<Pattern> patterns(static_cast<size_t>(m_columns));
    for (int row = 0; row < m_rows; ++row) {
        bool hatched = false;
        for (int column = g.columns.begin; column < g.columns.end; ++column) {
            const auto at = static_cast<size_t>(column);
            colours[at] = colourOf({row, column});
            const Category* category = categoryOf({row, column});
            const bool large = std::min(high, wide) >= kSmallestHatched;
            patterns[at] = category != nullptr && large && (!glyphs || category->glyph.isEmpty()) ? category->pattern
                                                                                                  : Pattern::Solid;
            if (patterns[at] != Pattern::Solid) {
                hatched = true;
                inks[at] = patternInk(colours[at]).rgb();
            }
        }
        const int top = pixel(row * g.height);
        const int bottom = std::max(top + 1, pixel(row * g.height + high));
        for (int y = top; y < bottom && y < image.height(); ++y) {
            auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
            if (y > top && !hatched) {
                std::copy_n(reinterpret_cast<const QRgb*>(image.constScanLine(top)), image.width(), line);
                continue;
            }
            for (int column = g.columns.begin; column < g.columns.end; ++column) {
                const auto at = static_cast<size_t>(column);
                const int x0 = (column - g.columns.begin) * g.cell;
                const int left = pixel(x0);
                const int right = std::min(image.width(), std::max(left + 1, pixel(x0 + wide)));
                if (patterns[at] == Pattern::Solid) {
                    std::fill(line + left, line + right, colours[at]);
                } else {
                    for (int x = left; x < right; ++x) {
                        line[x] = hasInk(patterns[at], x - left, y - top) ? inks[at] : colours[at];
                    }
                }
            }
        }
    }
    painter.drawImage(QPointF(g.left, g.top), image);
    if (g.strip > 0) {
        paintSummaries(painter, g);
    }
    if (glyphs) {
        paintGlyphs(painter, g);
    }
}

void HeatMap::paintSummaries(QPainter& painter, const Geometry& g) {
    const HeatMapSummary& all = summary();
    const Colours colours = Colours::of(palette());
    const QColor track = mixed(colours.surface, colours.text, 0.06), bar = mixed(colours.surface, colours.text, 0.45);
    const int longest = g.strip - kStripGap;
    // `place` of a bar's piece from `begin` to `end` of its length.
    const auto paint = [&](double value, std::span<const int> kinds, const auto& place) {
        painter.fillRect(place(0, longest), track);
        if (!isCategorical()) {
            painter.fillRect(place(0, static_cast<int>(std::lround(longest * std::clamp(value / m_top, 0.0, 1.0)))),
                             bar);
            return;
        }
        const int cells = std::max(1, std::accumulate(kinds.begin(), kinds.end(), 0));
        int before = 0;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const int begin = before * longest / cells;
            before += kinds[i];
            painter.fillRect(place(begin, before * longest / cells), QColor(m_categoryColours[i]));
        }
    };
    const bool kinds = isCategorical();
    for (int row = 0; row < m_rows; ++row) {
        paint(kinds ? 0 : all.row(row), kinds ? all.kindsOfRow(row) : std::span<const int>(), [&](int begin, int end) {
            return QRect(g.left + g.width() + kStripGap + begin, g.top + row * g.height, end - begin,
                         std::max(1, g.height - g.gap));
        });
    }
    for (int column = g.columns.begin; column < g.columns.end; ++column) {
        paint(kinds ? 0 : all.column(column), kinds ? all.kindsOfColumn(column) : std::span<const int>(),
              [&](int begin, int end) {
                  return QRect(g.xOf(column), g.top + m_rows * g.height + kStripGap + begin,
                               std::max(1, g.cell - g.gap), end - begin);
              });
    }
}

int HeatMap::glyphSize(const Geometry& g) const {
    constexpr int kSmallestGlyph = 7;
    const int size = std::min({(g.height - g.gap) * 3 / 4, (g.cell - g.gap) * 3 / 4, fontMetrics().height() * 3 / 4});
    return isCategorical() && size >= kSmallestGlyph ? size : 0;
}

void HeatMap::paintGlyphs(QPainter& painter, const Geometry& g) {
    QFont glyphFont = font();
    glyphFont.setPixelSize(glyphSize(g));
    glyphFont.setBold(true);
    // Laid out once for each kind, not once for each cell.
    std::vector<QStaticText> glyphs;
    std::vector<QPointF> offsets;
    for (const Category& category : m_categories) {
        QStaticText text(category.glyph);
        text.setTextFormat(Qt::PlainText);
        text.prepare({}, glyphFont);
        offsets.emplace_back((g.cell - g.gap - text.size().width()) / 2, (g.height - g.gap - text.size().height()) / 2);
        glyphs.push_back(std::move(text));
    }
    painter.save();
    painter.setFont(glyphFont);
    QRgb penFor = 0;
    for (int row = 0; row < m_rows; ++row) {
        for (int column = g.columns.begin; column < g.columns.end; ++column) {
            const size_t kind = m_kinds[indexOf({row, column})];
            if (kind >= glyphs.size() || m_categories[kind].glyph.isEmpty()) {
                continue;
            }
            const QRgb colour = colourOf({row, column});
            if (colour != penFor) {
                const QColor ink = inkOn(QColor(colour));
                // Quiet cells get quiet glyphs.
                painter.setPen(m_categories[kind].colour == Category::kQuiet ? mixed(QColor(colour), ink, 0.55) : ink);
                penFor = colour;
            }
            painter.drawStaticText(QPointF(g.xOf(column), g.top + row * g.height) + offsets[kind], glyphs[kind]);
        }
    }
    painter.restore();
}

void HeatMap::ring(QPainter& painter, Cell cell, const QColor& colour, int width) const {
    // At least seven pixels wide, so that the ring of a cell of one pixel is visible;
    // with a halo, so that it is visible on any colour.
    QRect inner = rectOf(cell);
    if (inner.isNull()) {
        return;  // zoomed out of sight
    }
    const int lackX = std::max(0, 5 - inner.width());
    const int lackY = std::max(0, 5 - inner.height());
    inner.adjust(-(lackX / 2 + 1), -(lackY / 2 + 1), (lackX + 1) / 2, (lackY + 1) / 2);
    painter.setPen(QPen(palette().color(QPalette::Window), 1));
    painter.drawRect(inner.adjusted(-width - 1, -width - 1, width + 1, width + 1));
    painter.setPen(QPen(colour, 1));
    for (int i = 0; i < width; ++i) {
        painter.drawRect(inner.adjusted(-i, -i, i, i));
    }
}

void HeatMap::paintOver(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    paintMarks(painter);
    painter.setBrush(Qt::NoBrush);
    if (!m_highlighted.empty()) {
        // The others step back.
        const Geometry g = geometryNow();
        QRegion others(g.left, g.top, g.width(), m_rows * g.height);
        for (const Cell& cell : m_highlighted) {
            others -= rectOf(cell);
        }
        QColor veil = palette().color(QPalette::Window);
        veil.setAlphaF(0.55F);
        for (const QRect& part : others) {
            painter.fillRect(part, veil);
        }
        for (const Cell& cell : m_highlighted) {
            ring(painter, cell, colours.text, 1);
        }
    }
    if (m_area) {
        const QRect cells = rectOfArea(*m_area).adjusted(-2, -2, 1, 1);
        painter.setPen(QPen(palette().color(QPalette::Window), 4));
        painter.drawRect(cells);
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(cells);
    }
    if (m_selected) {
        ring(painter, *m_selected, colours.accent, 2);
    }
    if (m_current && !rectOf(*m_current).isNull()) {
        paintRings(painter, rectOf(*m_current));
    }
}

}  // namespace offstage::ui
