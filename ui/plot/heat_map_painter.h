#pragma once

#include <QFont>
#include <QPainter>

#include "ui/plot/heat_map_cells.h"

namespace offstage::ui {

// Where the cells of a heat map are, in the widget's pixels.
struct HeatMapGeometry {
    using Cell = HeatMapCells::Cell;
    struct Columns {
        int begin = 0, end = 0;
        int count() const { return end - begin; }
        bool contains(int column) const { return column >= begin && column < end; }
    };
    static constexpr int kStripGap = 4;

    int left = 0, top = 0;     // of the first cell
    int cell = 0, height = 0;  // pixels from one cell to the next
    int gap = 0;
    int strip = 0;  // the width of the summaries, right and below
    int rows = 0;
    Columns columns;

    int xOf(int column) const { return left + (column - columns.begin) * cell; }
    int width() const { return columns.count() * cell; }
    QRect all() const { return {left, top, width(), rows * height}; }
    QSize cellSize() const { return {std::max(1, cell - gap), std::max(1, height - gap)}; }
    // Null: its column is zoomed out of sight.
    QRect rectOf(Cell of) const {
        return columns.contains(of.column) ? QRect(QPoint(xOf(of.column), top + of.row * height), cellSize()) : QRect();
    }
};

// Paints a heat map's cells where a geometry has them.
class HeatMapPainter {
  public:
    using Cell = HeatMapCells::Cell;
    // Signs in the corners of cells.
    enum class Sign { Filled, Hollow, Dot };
    struct Mark {
        Cell cell;
        Sign sign = Sign::Filled;
        bool operator==(const Mark&) const = default;
    };

    HeatMapPainter(QPainter& painter, const HeatMapCells& cells, const HeatMapGeometry& geometry, const QFont& font,
                   const QPalette& palette)
        : m_painter(painter), m_cells(cells), m_geometry(geometry), m_font(font), m_palette(palette) {}

    // With hatching, glyphs and summaries.
    void paintCells();
    void paintMarks(const std::vector<Mark>& marks);
    // In a corner of a cell with these edges.
    static void paintSign(QPainter& painter, const QRectF& cell, Sign sign, const QPalette& palette);
    void paintRing(Cell cell, const QColor& colour, int width);

  private:
    int glyphSize() const;
    void paintGlyphs();
    void paintSummaries();

    QPainter& m_painter;
    const HeatMapCells& m_cells;
    HeatMapGeometry m_geometry;
    QFont m_font;
    QPalette m_palette;
};

}  // namespace offstage::ui
