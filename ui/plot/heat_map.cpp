#include "ui/plot/heat_map.h"

#include <algorithm>

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kLargestCell = 44;
constexpr int kMargin = 2;

ColorScale scaleFor(const QPalette& palette) {
    return ColorScale(isDark(palette) ? ColorScale::Ground::Dark : ColorScale::Ground::Light);
}

// Near enough to a square; very narrow cells may stand upright, to be seen at all.
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

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QWidget(parent), m_scale(scaleFor(palette())) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void HeatMap::setValues(int rows, int columns, std::vector<double> values, double top) {
    Q_ASSERT(values.size() == static_cast<size_t>(rows) * static_cast<size_t>(columns));
    const bool shape = rows != m_rows || columns != m_columns;
    m_rows = rows;
    m_columns = columns;
    m_values = std::move(values);
    m_top = top > 0 ? top : 1;
    m_stale = true;
    if (shape) {
        setCurrent(std::nullopt);
        limitHeight();
        updateGeometry();
    }
    update();
}

void HeatMap::clear() {
    setValues(0, 0, {}, 1);
}

void HeatMap::setEmptyText(const QString& text) {
    m_emptyText = text;
    update();
}

void HeatMap::setTitles(const QString& rows, const QString& columns) {
    m_rowTitle = rows;
    m_columnTitle = columns;
    m_stale = true;
}

double HeatMap::valueAt(Cell cell) const {
    return m_values[static_cast<size_t>(cell.row) * static_cast<size_t>(m_columns) + static_cast<size_t>(cell.column)];
}

QRgb HeatMap::colourOf(Cell cell) const {
    return m_scale.at(valueAt(cell) / m_top);
}

HeatMap::Geometry HeatMap::geometryNow() const {
    Geometry g;
    if (m_rows == 0 || m_columns == 0) {
        return g;
    }
    g.left = leftLabels();
    g.top = kMargin + 2 * fontMetrics().height() + 4;
    const int high = std::max(1, (height() - g.top - kMargin) / m_rows);
    g.cell = cellWidth();
    g.height = std::min(high, kLargestCell);
    // Near enough to squares where there is room for both.
    g.cell = std::min(g.cell, std::max(g.height * 2, 2));
    g.height = std::min(g.height, tallestCell(g.cell));
    const int smaller = std::min(g.cell, g.height);
    g.gap = smaller >= 14 ? 2 : smaller >= 6 ? 1 : 0;
    return g;
}

QRect HeatMap::rectOf(Cell cell) const {
    const Geometry g = geometryNow();
    return {g.left + cell.column * g.cell, g.top + cell.row * g.height, std::max(1, g.cell - g.gap),
            std::max(1, g.height - g.gap)};
}

std::optional<HeatMap::Cell> HeatMap::cellAt(QPoint at) const {
    const Geometry g = geometryNow();
    if (g.cell == 0 || at.x() < g.left || at.y() < g.top) {
        return std::nullopt;
    }
    const Cell cell{(at.y() - g.top) / g.height, (at.x() - g.left) / g.cell};
    return cell.row < m_rows && cell.column < m_columns ? std::optional(cell) : std::nullopt;
}

QSize HeatMap::sizeHint() const {
    return {340, std::clamp(m_rows * 22 + 60, 200, 420)};
}

QSize HeatMap::minimumSizeHint() const {
    // At least one pixel for each cell.
    return {std::max(200, m_columns + 60), std::max(120, m_rows * 2 + 50)};
}

void HeatMap::setCurrent(std::optional<Cell> cell) {
    if (cell != m_current) {
        m_current = cell;
        update();
        Q_EMIT currentChanged();
    }
}

void HeatMap::render() {
    m_stale = false;
    ++m_renderCount;
    const double ratio = devicePixelRatioF();
    if (m_pixmap.size() != size() * ratio) {
        m_pixmap = QPixmap(size() * ratio);
        m_pixmap.setDevicePixelRatio(ratio);
    }
    m_pixmap.fill(Qt::transparent);
    QPainter painter(&m_pixmap);
    const Geometry g = geometryNow();
    for (int row = 0; row < m_rows; ++row) {
        for (int column = 0; column < m_columns; ++column) {
            painter.fillRect(rectOf({row, column}), QColor(colourOf({row, column})));
        }
    }
    paintLabels(painter, g);
}

void HeatMap::paintLabels(QPainter& painter, const Geometry& g) const {
    const int line = fontMetrics().height();
    painter.setPen(Colours::of(palette()).muted);
    const int widest = fontMetrics().horizontalAdvance(QString::number(m_columns - 1));
    const int columnStep = labelStep(g.cell, widest + 8);
    for (int column = 0; column < m_columns; column += columnStep) {
        const int x = g.left + column * g.cell + (g.cell - g.gap) / 2;
        painter.drawText(QRect(x - 40, g.top - line - 3, 80, line), Qt::AlignHCenter | Qt::AlignVCenter,
                         QString::number(column));
    }
    const int rowStep = labelStep(g.height, line);
    for (int row = 0; row < m_rows; row += rowStep) {
        const int y = g.top + row * g.height + (g.height - g.gap) / 2;
        painter.drawText(QRect(0, y - line / 2, g.left - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(row));
    }
    painter.drawText(QRect(g.left, 0, m_columns * g.cell, line), Qt::AlignLeft | Qt::AlignVCenter, m_columnTitle);
    painter.save();
    painter.translate(0, g.top + m_rows * g.height);
    painter.rotate(-90);
    painter.drawText(QRect(0, 0, m_rows * g.height, line), Qt::AlignRight | Qt::AlignVCenter, m_rowTitle);
    painter.restore();
}

void HeatMap::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    if (m_rows == 0) {
        painter.setPen(colours.muted);
        painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
        return;
    }
    if (m_stale || m_pixmap.size() != size() * devicePixelRatioF()) {
        render();
    }
    painter.drawPixmap(0, 0, m_pixmap);
    if (m_current) {
        // Two rings: one of them stands out on every colour.
        const QRect cell = rectOf(*m_current);
        painter.setPen(QPen(palette().color(QPalette::Window), 1));
        painter.drawRect(cell.adjusted(-2, -2, 1, 1));
        painter.setPen(QPen(colours.text, 1));
        painter.drawRect(cell.adjusted(-3, -3, 2, 2));
    }
    if (hasFocus() && m_currentByKey) {
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
    m_currentByKey = false;
    setCurrent(cellAt(event->position().toPoint()));
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
    setCurrent(cellAt(event->position().toPoint()));
}

void HeatMap::leaveEvent(QEvent*) {
    if (!m_currentByKey) {
        setCurrent(std::nullopt);
    }
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
    if (m_rows == 0) {
        event->ignore();
        return;
    }
    Cell cell = m_current.value_or(Cell{});
    switch (event->key()) {
        case Qt::Key_Left:
            --cell.column;
            break;
        case Qt::Key_Right:
            ++cell.column;
            break;
        case Qt::Key_Up:
            --cell.row;
            break;
        case Qt::Key_Down:
            ++cell.row;
            break;
        case Qt::Key_Home:
            cell.column = 0;
            break;
        case Qt::Key_End:
            cell.column = m_columns - 1;
            break;
        case Qt::Key_PageUp:
            cell.row = 0;
            break;
        case Qt::Key_PageDown:
            cell.row = m_rows - 1;
            break;
        default:
            event->ignore();
            return;
    }
    m_currentByKey = true;
    setCurrent(Cell{std::clamp(cell.row, 0, m_rows - 1), std::clamp(cell.column, 0, m_columns - 1)});
    update();
}

void HeatMap::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    m_currentByKey = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    if (m_currentByKey && !m_current && m_rows > 0) {
        setCurrent(Cell{});
    }
    update();
}

void HeatMap::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    m_currentByKey = false;
    setCurrent(std::nullopt);
    update();
}

void HeatMap::resizeEvent(QResizeEvent*) {
    m_stale = true;
    limitHeight();
}

void HeatMap::limitHeight() {
    // No taller than the cells of this width can be: what follows below stays near.
    const int labels = kMargin * 2 + 2 * fontMetrics().height() + 4;
    setMaximumHeight(m_rows > 0 ? labels + m_rows * tallestCell(cellWidth()) : QWIDGETSIZE_MAX);
}

int HeatMap::cellWidth() const {
    return std::clamp((width() - leftLabels() - kMargin) / std::max(1, m_columns), 1, kLargestCell);
}

int HeatMap::leftLabels() const {
    // Row numbers, and the rows' title, which stands upright.
    return kMargin + fontMetrics().horizontalAdvance(QString::number(std::max(0, m_rows - 1))) + 8 +
           fontMetrics().height();
}

void HeatMap::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        m_scale = scaleFor(palette());
        m_stale = true;
        update();
    }
}

}  // namespace offstage::ui
