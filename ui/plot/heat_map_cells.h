#pragma once

#include <cstdint>
#include <vector>

#include <QPalette>
#include <QString>

#include "ui/plot/color_scale.h"
#include "ui/plot/heat_map_summary.h"
#include "ui/plot/plot_colors.h"

namespace offstage::ui {

// What a heat map shows: rows x columns of shares on a colour scale, or of categories,
// and the colour of each cell.
class HeatMapCells {
  public:
    struct Cell {
        int row = 0;
        int column = 0;
        bool operator==(const Cell&) const = default;
    };
    // Cells of some rows and columns, the last ones included.
    struct Area {
        int firstRow = 0, lastRow = 0;
        int firstColumn = 0, lastColumn = 0;
        bool operator==(const Area&) const = default;
        bool contains(Cell c) const {
            return c.row >= firstRow && c.row <= lastRow && c.column >= firstColumn && c.column <= lastColumn;
        }
        int count() const { return (lastRow - firstRow + 1) * (lastColumn - firstColumn + 1); }
    };
    // One kind of cell. Its colour is seriesColour(colour), or the background's for
    // kQuiet: for the most usual kind, which should not stand out.
    struct Category {
        static constexpr int kQuiet = -1;
        QString name;
        QString glyph;  // one or two characters, written upon cells that are large enough
        int colour = 0;
        Pattern pattern = Pattern::Solid;
        bool operator==(const Category&) const = default;
        QColor colourOn(const QPalette& palette) const;
    };

    explicit HeatMapCells(const QPalette& palette) { setPalette(palette); }

    // As the functions of HeatMap; false: nothing changed.
    bool setValues(int rows, int columns, std::vector<double> values, double top);
    bool setCategories(int rows, int columns, std::vector<std::uint8_t> kinds, std::vector<Category> categories);
    bool setBrightness(std::vector<double> shares);
    void setPalette(const QPalette& palette);
    void setSummaryKind(HeatMapSummary::Kind kind);

    int rows() const { return m_rows; }
    int columns() const { return m_columns; }
    double top() const { return m_top; }
    bool isCategorical() const { return !m_kinds.empty(); }
    const std::vector<Category>& categories() const { return m_categories; }
    bool contains(Cell cell) const {
        return cell.row >= 0 && cell.row < m_rows && cell.column >= 0 && cell.column < m_columns;
    }
    double valueAt(Cell cell) const;              // of categories: the index
    const Category* categoryAt(Cell cell) const;  // null: none
    // Without hatching and glyph.
    QRgb colourAt(Cell cell) const;
    QRgb colourOfKind(std::size_t kind) const { return m_categoryColours[kind]; }
    bool fades() const { return m_brightness.size() == static_cast<std::size_t>(m_rows * m_columns); }
    double brightnessAt(Cell cell) const { return m_brightness[indexOf(cell)]; }
    HeatMapSummary::Kind summaryKind() const { return m_summaryKind; }
    const HeatMapSummary& summary() const;

  private:
    std::size_t indexOf(Cell cell) const {
        return static_cast<std::size_t>(cell.row) * static_cast<std::size_t>(m_columns) +
               static_cast<std::size_t>(cell.column);
    }

    int m_rows = 0;
    int m_columns = 0;
    std::vector<double> m_values;
    double m_top = 1;
    std::vector<std::uint8_t> m_kinds;
    std::vector<Category> m_categories;
    std::vector<QRgb> m_categoryColours;
    QPalette m_palette;
    ColorScale m_scale;
    QRgb m_ground = 0;
    std::vector<double> m_brightness;
    HeatMapSummary::Kind m_summaryKind = HeatMapSummary::Kind::None;
    mutable HeatMapSummary m_summary;  // worked out when it is first asked for
    mutable bool m_summaryStale = true;
};

}  // namespace offstage::ui
