#include "ui/plot/heat_map.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>

#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

constexpr int kLargestCell = 44;
constexpr int kMapMargin = 2;
constexpr int kStrip = 28, kNarrowStrip = 14;  // a summary's longest bar
constexpr int kNarrow = 420;

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

}  // namespace

HeatMap::HeatMap(QWidget* parent) : PlotWidget(parent), m_cells(palette()) {
    m_zoom.setSmallestSpan(kFewestShown);
}

// ---------------------------------------------------------------- data

void HeatMap::setValues(int rows, int columns, std::vector<double> values, double top) {
    const QSize before(m_cells.columns(), m_cells.rows());
    if (m_cells.setValues(rows, columns, std::move(values), top)) {
        dataChanged(before);
    }
}

void HeatMap::setCategories(int rows, int columns, std::vector<std::uint8_t> kinds, std::vector<Category> categories) {
    const QSize before(m_cells.columns(), m_cells.rows());
    if (m_cells.setCategories(rows, columns, std::move(kinds), std::move(categories))) {
        dataChanged(before);
    }
}

void HeatMap::setBrightness(std::vector<double> shares) {
    if (m_cells.setBrightness(std::move(shares))) {
        markStale(Layer::Data);
    }
}

void HeatMap::dataChanged(QSize before) {
    if (before != QSize(columns(), rows())) {
        m_zoom.reset();
        m_zoom.setFull({0, static_cast<double>(std::max(1, columns()))});
        std::erase_if(m_highlighted, [this](Cell cell) { return !m_cells.contains(cell); });
        std::erase_if(m_marks, [this](const Mark& mark) { return !m_cells.contains(mark.cell); });
        setCurrent(std::nullopt);
        setSelected(std::nullopt);
        setArea(std::nullopt);
        limitHeight();
        updateGeometry();
        markStale(Layer::Frame);
    }
    markStale(Layer::Data);
}

void HeatMap::setSummary(HeatMapSummary::Kind kind) {
    if (kind != m_cells.summaryKind()) {
        m_cells.setSummaryKind(kind);
        limitHeight();
        markStale(Layer::Frame);
    }
}

void HeatMap::setMarks(std::vector<Mark> marks) {
    std::erase_if(marks, [this](const Mark& mark) { return !m_cells.contains(mark.cell); });
    if (marks != m_marks) {
        m_marks = std::move(marks);
        update();
    }
}

void HeatMap::setHighlighted(std::vector<Cell> cells) {
    std::erase_if(cells, [this](Cell cell) { return !m_cells.contains(cell); });
    if (cells != m_highlighted) {
        m_highlighted = std::move(cells);
        update();
    }
}

void HeatMap::clear() {
    setValues(0, 0, {}, 1);
}

void HeatMap::setTitles(const QString& rows, const QString& columns, const QString& row, const QString& column) {
    m_rowTitle = rows;
    m_columnTitle = columns;
    m_rowName = row.isEmpty() ? rows : row;
    m_columnName = column.isEmpty() ? columns : column;
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

QString HeatMap::textOf(Cell cell) const {
    const Category* category = m_cells.categoryAt(cell);
    const QString value = isCategorical() ? (category != nullptr ? category->name : QStringLiteral("–"))
                                          : valueText(m_unit, valueAt(cell));
    return tr("%1 %2, %3 %4: %5", "heat map cell: name of a row, its number, name of a column, its number, value")
        .arg(m_rowName)
        .arg(rowNumber(cell.row))
        .arg(m_columnName)
        .arg(cell.column)
        .arg(value);
}

QString HeatMap::csv() const {
    const auto named = [](const QString& name, const char* otherwise) {
        return name.isEmpty() ? QString::fromLatin1(otherwise) : name;
    };
    QStringList head{named(m_rowTitle, "row"), named(m_columnTitle, "column"), named(m_valueName, "value")};
    if (m_cells.fades()) {
        head << QStringLiteral("brightness");
    }
    QString text = csvLine(head);
    for (int row = 0; row < rows(); ++row) {
        for (int column = 0; column < columns(); ++column) {
            const Cell cell{row, column};
            const Category* category = m_cells.categoryAt(cell);
            QStringList fields{
                QString::number(rowNumber(row)), QString::number(column),
                isCategorical() ? (category != nullptr ? category->name : QString()) : csvNumber(valueAt(cell))};
            if (m_cells.fades()) {
                fields << csvNumber(m_cells.brightnessAt(cell));
            }
            text += csvLine(fields);
        }
    }
    return text;
}

// ---------------------------------------------------------------- places

HeatMapGeometry HeatMap::geometryNow() const {
    HeatMapGeometry g;
    if (isEmpty()) {
        return g;
    }
    g.rows = rows();
    g.left = leftLabels();
    g.columns = shownColumns();
    g.top = kMapMargin + 2 * fontMetrics().height() + 4;
    g.strip = stripSize();
    const int high = std::max(1, (height() - g.top - g.strip - kMapMargin) / rows());
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

QRect HeatMap::rectOfArea(const Area& area) const {
    const Columns shown = shownColumns();
    const int first = std::max(area.firstColumn, shown.begin), last = std::min(area.lastColumn, shown.end - 1);
    return first > last ? QRect() : rectOf(Cell{area.firstRow, first}) | rectOf(Cell{area.lastRow, last});
}

std::optional<HeatMap::Area> HeatMap::lineAt(QPoint at) const {
    const HeatMapGeometry g = geometryNow();
    if (g.cell == 0) {
        return std::nullopt;
    }
    const QRect cells = g.all();
    const bool beside =
        at.x() < cells.left() || (g.strip > 0 && at.x() > cells.right() && at.x() <= cells.right() + g.strip);
    const bool aboveOrBelow =
        at.y() < cells.top() || (g.strip > 0 && at.y() > cells.bottom() && at.y() <= cells.bottom() + g.strip);
    if (beside && at.y() >= cells.top() && at.y() <= cells.bottom()) {
        const int row = (at.y() - g.top) / g.height;
        return Area{row, row, 0, columns() - 1};
    }
    if (aboveOrBelow && at.x() >= cells.left() && at.x() <= cells.right()) {
        const int column = g.columns.begin + (at.x() - g.left) / g.cell;
        return Area{0, rows() - 1, column, column};
    }
    return std::nullopt;
}

std::optional<HeatMap::Cell> HeatMap::cellAt(QPoint at) const {
    const HeatMapGeometry g = geometryNow();
    if (g.cell == 0 || at.x() < g.left || at.y() < g.top) {
        return std::nullopt;
    }
    const Cell cell{(at.y() - g.top) / g.height, g.columns.begin + (at.x() - g.left) / g.cell};
    return m_cells.contains(cell) && g.columns.contains(cell.column) ? std::optional(cell) : std::nullopt;
}

HeatMap::Columns HeatMap::shownColumns() const {
    const Range view = m_zoom.view();
    const int count = std::clamp(static_cast<int>(std::lround(view.hi - view.lo)), 1, std::max(1, columns()));
    const int begin = std::clamp(static_cast<int>(std::lround(view.lo)), 0, std::max(0, columns() - count));
    return {begin, std::min(columns(), begin + count)};
}

void HeatMap::showColumns(int begin, int end) {
    if (zoomRange() != nullptr && m_zoom.show({static_cast<double>(begin), static_cast<double>(end)})) {
        markStale(Layer::Frame);
    }
}

Axis HeatMap::zoomAxis() const {
    const HeatMapGeometry g = geometryNow();
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
    return {340, std::clamp(rows() * 22 + 60, 200, 420)};
}

QSize HeatMap::minimumSizeHint() const {
    // At least one pixel for each cell.
    return {std::max(200, columns() + 56 + HeatMapGeometry::kStripGap + kNarrowStrip),
            std::max(120, rows() * 2 + 50 + stripSize())};
}

void HeatMap::limitHeight() {
    // No taller than the cells of this width can be: so the parts below stay near.
    const int labels = kMapMargin * 2 + 2 * fontMetrics().height() + 4 + stripSize();
    setMaximumHeight(rows() > 0 ? labels + rows() * tallestCell(cellWidth(columns())) : QWIDGETSIZE_MAX);
}

int HeatMap::stripSize() const {
    return m_cells.summaryKind() == HeatMapSummary::Kind::None
               ? 0
               : HeatMapGeometry::kStripGap + (width() < kNarrow ? kNarrowStrip : kStrip);
}

int HeatMap::cellWidth(int columns) const {
    return std::clamp((width() - leftLabels() - stripSize() - kMapMargin) / std::max(1, columns), 1, kLargestCell);
}

int HeatMap::leftLabels() const {
    // Row numbers, and the rows' title, which is vertical.
    return kMapMargin + fontMetrics().horizontalAdvance(QString::number(rows() > 0 ? rowNumber(rows() - 1) : 0)) + 8 +
           fontMetrics().height();
}

void HeatMap::resizeEvent(QResizeEvent* event) {
    PlotWidget::resizeEvent(event);
    limitHeight();
}

void HeatMap::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) {
        m_cells.setPalette(palette());
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
        isRow ? tr("%1 %2", "name of a row, its number").arg(m_rowName, QString::number(rowNumber(line.firstRow)))
              : tr("%1 %2", "name of a column, its number").arg(m_columnName, QString::number(line.firstColumn));
    if (m_cells.summaryKind() == HeatMapSummary::Kind::None) {
        return name;
    }
    const HeatMapSummary& all = summary();
    QStringList parts;
    if (isCategorical()) {
        const auto counts = isRow ? all.kindsOfRow(line.firstRow) : all.kindsOfColumn(line.firstColumn);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] > 0) {
                parts << tr("%1 %2", "how many cells, of which kind").arg(counts[i]).arg(categories()[i].name);
            }
        }
    } else {
        const QString value = valueText(m_unit, isRow ? all.row(line.firstRow) : all.column(line.firstColumn));
        parts << (m_cells.summaryKind() == HeatMapSummary::Kind::Mean ? tr("%1 on average").arg(value)
                                                                      : tr("%1 at most").arg(value));
    }
    return tr("%1: %2", "row or column, its summary").arg(name, parts.join(QStringLiteral(", ")));
}

void HeatMap::setArea(std::optional<Area> area) {
    if (area && (!m_cells.contains({area->firstRow, area->firstColumn}) ||
                 !m_cells.contains({area->lastRow, area->lastColumn}))) {
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
    if (cell && !m_cells.contains(*cell)) {
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
    const HeatMapGeometry g = geometryNow();
    const bool wholeRows = m_anchor->firstColumn == 0 && m_anchor->lastColumn == columns() - 1 && columns() > 1;
    const bool wholeColumns = m_anchor->firstRow == 0 && m_anchor->lastRow == rows() - 1 && rows() > 1;
    const int row = std::clamp((at.y() - g.top) / std::max(1, g.height), 0, rows() - 1);
    const int column =
        std::clamp(g.columns.begin + (at.x() - g.left) / std::max(1, g.cell), g.columns.begin, g.columns.end - 1);
    const Area here{wholeColumns ? 0 : row, wholeColumns ? rows() - 1 : row, wholeRows ? 0 : column,
                    wholeRows ? columns() - 1 : column};
    setArea(joined(*m_anchor, here));
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
    m_growing = false;
    PlotWidget::mouseReleaseEvent(event);
}

void HeatMap::step(int right, int down) {
    const Columns shown = shownColumns();
    const Cell from = m_current.value_or(Cell{0, shown.begin});
    const Cell to{std::clamp(from.row + down, 0, rows() - 1), std::clamp(from.column + right, 0, columns() - 1)};
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
    if (m_current) {
        Q_EMIT cellClicked(*m_current, button);
    } else if (button == Qt::LeftButton) {
        Q_EMIT blankClicked();
    }
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
        return setArea(shift ? Area{m_current->row, m_current->row, 0, columns() - 1}
                             : Area{0, rows() - 1, m_current->column, m_current->column});
    }
    if (control && key == Qt::Key_A) {
        return setArea(Area{0, rows() - 1, 0, columns() - 1});
    }
    if (key == Qt::Key_Escape && m_area) {
        return setArea(std::nullopt);
    }
    if (key == Qt::Key_Escape && m_selected) {
        Q_EMIT blankClicked();
        return;
    }
    switch (key) {
        case Qt::Key_Home:
            return stepByKey(-columns(), 0);
        case Qt::Key_End:
            return stepByKey(columns(), 0);
        case Qt::Key_PageUp:
            return stepByKey(0, -rows());
        case Qt::Key_PageDown:
            return stepByKey(0, rows());
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
    const HeatMapGeometry g = geometryNow();
    const int line = fontMetrics().height();
    painter.setPen(Colours::of(palette()).muted);
    const int widest = fontMetrics().horizontalAdvance(QString::number(columns() - 1));
    const int columnStep = labelStep(g.cell, widest + 8);
    const int firstLabel = (g.columns.begin + columnStep - 1) / columnStep * columnStep;
    for (int column = firstLabel; column < g.columns.end; column += columnStep) {
        const int x = g.xOf(column) + (g.cell - g.gap) / 2;
        painter.drawText(QRect(x - 40, g.top - line - 3, 80, line), Qt::AlignHCenter | Qt::AlignVCenter,
                         QString::number(column));
    }
    const int rowStep = labelStep(g.height, line);
    const int firstRow = (rowStep - rowNumber(0) % rowStep) % rowStep;  // round numbers where they follow each other
    for (int row = firstRow; row < rows(); row += rowStep) {
        const int y = g.top + row * g.height + (g.height - g.gap) / 2;
        painter.drawText(QRect(0, y - line / 2, g.left - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(rowNumber(row)));
    }
    const QString title = m_zoom.isZoomed()
                              ? tr("%1 %2–%3 of %4", "title of columns, those that are shown, their number")
                                    .arg(m_columnTitle)
                                    .arg(g.columns.begin)
                                    .arg(g.columns.end - 1)
                                    .arg(columns())
                              : m_columnTitle;
    painter.drawText(QRect(g.left, 0, std::max(g.width(), 160), line), Qt::AlignLeft | Qt::AlignVCenter, title);
    painter.save();
    painter.translate(0, g.top + rows() * g.height);
    painter.rotate(-90);
    const int length = std::max(rows() * g.height, fontMetrics().horizontalAdvance(m_rowTitle));  // whole in a low map
    painter.drawText(QRect(0, 0, length, line), Qt::AlignRight | Qt::AlignVCenter, m_rowTitle);
    painter.restore();
}

void HeatMap::paintData(QPainter& painter) {
    HeatMapPainter(painter, m_cells, geometryNow(), font(), palette()).paintCells();
}

void HeatMap::paintOver(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const HeatMapGeometry g = geometryNow();
    HeatMapPainter cells(painter, m_cells, g, font(), palette());
    cells.paintMarks(m_marks);
    painter.setBrush(Qt::NoBrush);
    if (!m_highlighted.empty()) {
        // The others step back.
        QRegion others(g.all());
        for (const Cell& cell : m_highlighted) {
            others -= g.rectOf(cell);
        }
        QColor veil = palette().color(QPalette::Window);
        veil.setAlphaF(0.55F);
        for (const QRect& part : others) {
            painter.fillRect(part, veil);
        }
        for (const Cell& cell : m_highlighted) {
            cells.paintRing(cell, colours.text, 1);
        }
    }
    if (m_area) {
        const QRect around = rectOfArea(*m_area).adjusted(-2, -2, 1, 1);
        painter.setPen(QPen(palette().color(QPalette::Window), 4));
        painter.drawRect(around);
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(around);
    }
    if (m_selected) {
        cells.paintRing(*m_selected, colours.accent, 2);
    }
    if (m_current && !g.rectOf(*m_current).isNull()) {
        paintRings(painter, g.rectOf(*m_current));
    }
}

}  // namespace offstage::ui
