#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ui/plot/heat_map_painter.h"
#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// Rows x columns of cells of whole pixels: shares on a colour scale, or categories with
// colours, hatching and glyphs. One cell may be current: under the mouse, or chosen with
// the arrow keys; one selected, set by the panel; any number ringed. With many columns a
// part can be shown: zoomed and panned as other plots; the arrow keys scroll their target
// into view. Beyond the keys of every plot: Home and End go along the row, page keys along
// the column.
//
// An area of cells is marked by dragging (with Shift if the map is zoomed in, because
// there dragging pans), by a click on the number or the summary of a row or column, or
// with Shift and the arrow keys; Shift+Space marks the row, Ctrl+Space the column, Ctrl+A
// all, Escape none.
class HeatMap : public PlotWidget {
    Q_OBJECT

  public:
    using Cell = HeatMapCells::Cell;
    using Area = HeatMapCells::Area;
    using Category = HeatMapCells::Category;
    using Columns = HeatMapGeometry::Columns;
    using Sign = HeatMapPainter::Sign;
    using Mark = HeatMapPainter::Mark;

    // With fewer columns zooming is useless: cells are large enough, and the wheel
    // scrolls the panel around.
    static constexpr int kZoomedColumns = 17;
    static constexpr int kFewestShown = 8;

    explicit HeatMap(QWidget* parent = nullptr);

    // row-major, rows * columns values >= 0; `top` is the value at the end of the scale.
    void setValues(int rows, int columns, std::vector<double> values, double top);
    // row-major, rows * columns indices into `categories`; an index outside is painted as
    // an empty cell.
    void setCategories(int rows, int columns, std::vector<std::uint8_t> kinds, std::vector<Category> categories);
    // A second value for each cell, 0..1, row-major: 0 fades it almost to the background
    // (recency). Empty or of a wrong length: no cell is faded.
    void setBrightness(std::vector<double> shares);
    // Cells with a ring (the experts of a chosen token); cells outside the map are
    // ignored.
    void setHighlighted(std::vector<Cell> cells);
    // Signs in the corners of cells, in every channel; those outside the map are left
    // out.
    void setMarks(std::vector<Mark> marks);
    const std::vector<Mark>& marks() const { return m_marks; }
    // Bars beside rows and below columns: for values of the given kind, for categories
    // (unless None) their shares.
    void setSummary(HeatMapSummary::Kind kind);
    void clear();
    // Of the axes, and what one row and one column are called; empty: as their axis.
    void setTitles(const QString& rows, const QString& columns, const QString& row = {}, const QString& column = {});
    // The names of rows; rows beyond its end use their index, from 0.
    void setRowNumbers(std::vector<std::int32_t> numbers);
    int rowNumber(int row) const {
        const auto at = static_cast<size_t>(row);
        return at < m_rowNumbers.size() ? m_rowNumbers[at] : row;
    }
    // The name of the values, for numbers under the mouse and in files; Unit::Share by
    // default.
    void setValueUnit(const QString& name, Unit unit);

    int rows() const { return m_cells.rows(); }
    int columns() const { return m_cells.columns(); }
    bool isCategorical() const { return m_cells.isCategorical(); }
    // In a categorical map, the index of the category.
    double valueAt(Cell cell) const { return m_cells.valueAt(cell); }
    Columns shownColumns() const;
    void showColumns(int begin, int end);
    std::optional<Cell> cellAt(QPoint at) const;
    // Null: its column is zoomed out of sight.
    QRect rectOf(Cell cell) const { return geometryNow().rectOf(cell); }
    std::optional<Cell> current() const { return m_current; }
    std::optional<Cell> selected() const { return m_selected; }
    void setSelected(std::optional<Cell> cell);
    const std::optional<Area>& area() const { return m_area; }
    void setArea(std::optional<Area> area);
    // The row or column whose number or summary is pointed at, and its summary's text.
    const std::optional<Area>& line() const { return m_line; }
    QString lineText(const Area& line) const;
    std::optional<Area> lineAt(QPoint at) const;
    const HeatMapSummary& summary() const { return m_cells.summary(); }
    const std::vector<Cell>& highlighted() const { return m_highlighted; }
    // Without hatching and glyph.
    QRgb colourOf(Cell cell) const { return m_cells.colourAt(cell); }
    const std::vector<Category>& categories() const { return m_cells.categories(); }

    QString csv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void currentChanged();  // or the line
    void areaChanged();
    // Also for Return and Space at the current cell (as the left button). Selects nothing
    // by itself.
    void cellClicked(offstage::ui::HeatMap::Cell cell, Qt::MouseButton button);
    // By the left button beside the cells, or by Escape where one is selected.
    void blankClicked();
    // The context menu opens on this cell, or on a line that is marked now and begins
    // with it; receivers add what can be done with it.
    void cellMenuRequested(offstage::ui::HeatMap::Cell cell, QMenu* menu);

  protected:
    bool isEmpty() const override { return rows() == 0 || columns() == 0; }
    ZoomRange* zoomRange() override { return columns() >= kZoomedColumns ? &m_zoom : nullptr; }
    Axis zoomAxis() const override;
    std::optional<double> keyZoomCentre() const override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;
    void extendMenu(QMenu& menu, QPoint at) override;

    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    HeatMapGeometry geometryNow() const;
    int leftLabels() const;
    int cellWidth(int columns) const;
    void limitHeight();
    int stripSize() const;
    QRect rectOfArea(const Area& area) const;
    void setPointed(std::optional<Cell> cell, std::optional<Area> line);
    void extendArea(int right, int down);
    void dataChanged(QSize before);  // `before`: columns and rows
    void setCurrent(std::optional<Cell> cell) { setPointed(cell, std::nullopt); }
    QString textOf(Cell cell) const;

    HeatMapCells m_cells;
    std::vector<Mark> m_marks;
    std::vector<Cell> m_highlighted;
    std::vector<std::int32_t> m_rowNumbers;
    QString m_rowTitle;
    QString m_columnTitle;
    QString m_rowName;
    QString m_columnName;
    QString m_valueName;
    Unit m_unit = Unit::Share;
    std::optional<Cell> m_current;
    std::optional<Cell> m_selected;
    std::optional<Area> m_area;
    std::optional<Area> m_line;
    std::optional<Area> m_anchor;  // an area grows from here: while the mouse is held, or while keys extend it
    QPoint m_anchoredAt;
    bool m_growing = false;  // by the mouse
    ZoomRange m_zoom;        // over columns
};

}  // namespace offstage::ui
