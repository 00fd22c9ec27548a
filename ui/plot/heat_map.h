#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ui/plot/color_scale.h"
#include "ui/plot/heat_map_summary.h"
#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// Rows x columns of cells of whole pixels: shares on a colour scale, or categories with
// colours, hatching and glyphs. One cell may be current: under the mouse, or chosen with
// the arrow keys; one selected, by a click; any number ringed. With many columns a part
// can be shown: zoomed and panned as other plots; the arrow keys scroll their target into
// view. Beyond the keys of every plot: Home and End go along the row, page keys along the
// column.
//
// An area of cells is marked by dragging (with Shift if the map is zoomed in, because
// there dragging pans), by a click on the number or the summary of a row or column, or
// with Shift and the arrow keys; Shift+Space marks the row, Ctrl+Space the column, Ctrl+A
// all, Escape none.
class HeatMap : public PlotWidget {
    Q_OBJECT

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
    };

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
    enum class Sign { Filled, Hollow, Dot };
    struct Mark {
        Cell cell;
        Sign sign = Sign::Filled;
        bool operator==(const Mark&) const = default;
    };
    void setMarks(std::vector<Mark> marks);
    const std::vector<Mark>& marks() const { return m_marks; }
    // Bars beside rows and below columns: for values of the given kind, for categories
    // (unless None) their shares.
    void setSummary(HeatMapSummary::Kind kind);
    void clear();
    void setTitles(const QString& rows, const QString& columns);
    // The names of rows; rows beyond its end use their index, from 0.
    void setRowNumbers(std::vector<std::int32_t> numbers);
    int rowNumber(int row) const {
        const auto at = static_cast<size_t>(row);
        return at < m_rowNumbers.size() ? m_rowNumbers[at] : row;
    }
    // The name of the values, for numbers under the mouse and in files; Unit::Share by
    // default.
    void setValueUnit(const QString& name, Unit unit);

    int rows() const { return m_rows; }
    int columns() const { return m_columns; }
    bool isCategorical() const { return !m_kinds.empty(); }
    // In a categorical map, the index of the category.
    double valueAt(Cell cell) const;
    struct Columns {
        int begin = 0, end = 0;
        int count() const { return end - begin; }
        bool contains(int column) const { return column >= begin && column < end; }
    };
    Columns shownColumns() const;
    void showColumns(int begin, int end);
    std::optional<Cell> cellAt(QPoint at) const;
    QRect rectOf(Cell cell) const;  // null: its column is zoomed out of sight
    std::optional<Cell> current() const { return m_current; }
    std::optional<Cell> selected() const { return m_selected; }
    void setSelected(std::optional<Cell> cell);
    const std::optional<Area>& area() const { return m_area; }
    void setArea(std::optional<Area> area);
    // The row or column whose number or summary is pointed at, and its summary's text.
    const std::optional<Area>& line() const { return m_line; }
    QString lineText(const Area& line) const;
    std::optional<Area> lineAt(QPoint at) const;
    const HeatMapSummary& summary();
    const std::vector<Cell>& highlighted() const { return m_highlighted; }
    // Without hatching and glyph.
    QRgb colourOf(Cell cell) const;
    const std::vector<Category>& categories() const { return m_categories; }
    static QColor categoryColour(const Category& category, const QPalette& palette);

    QString csv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void currentChanged();  // or the line
    void areaChanged();
    // Also for Return and Space at the current cell (as the left button).
    void cellClicked(offstage::ui::HeatMap::Cell cell, Qt::MouseButton button);
    // The context menu opens on this cell, or on a line that is marked now and begins
    // with it; receivers add what can be done with it.
    void cellMenuRequested(offstage::ui::HeatMap::Cell cell, QMenu* menu);

  protected:
    bool isEmpty() const override { return m_rows == 0 || m_columns == 0; }
    ZoomRange* zoomRange() override { return m_columns >= kZoomedColumns ? &m_zoom : nullptr; }
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
    struct Geometry {
        int left = 0, top = 0;     // of the first cell
        int cell = 0, height = 0;  // pixels from one cell to the next
        int gap = 0;
        int strip = 0;  // the width of the summaries, right and below
        Columns columns;
        int xOf(int column) const { return left + (column - columns.begin) * cell; }
        int width() const { return columns.count() * cell; }
    };

    Geometry geometryNow() const;
    int leftLabels() const;
    int cellWidth(int columns) const;
    void limitHeight();
    int stripSize() const;
    QRect rectOfArea(const Area& area) const;
    void setPointed(std::optional<Cell> cell, std::optional<Area> line);
    void extendArea(int right, int down);
    void paintSummaries(QPainter& painter, const Geometry& g);
    void setShape(int rows, int columns);
    void setCurrent(std::optional<Cell> cell) { setPointed(cell, std::nullopt); }
    bool isInside(Cell cell) const;
    size_t indexOf(Cell cell) const;
    const Category* categoryOf(Cell cell) const;
    QRgb colourAt(size_t index) const;
    QString textOf(Cell cell) const;
    void findCategoryColours();
    // Pixels of the characters upon cells; 0: cells are too small for any.
    int glyphSize(const Geometry& g) const;
    void paintGlyphs(QPainter& painter, const Geometry& g);
    void ring(QPainter& painter, Cell cell, const QColor& colour, int width) const;

    int m_rows = 0;
    int m_columns = 0;
    std::vector<double> m_values;
    double m_top = 1;
    std::vector<std::uint8_t> m_kinds;
    std::vector<Category> m_categories;
    std::vector<QRgb> m_categoryColours;
    QRgb m_ground = 0;
    std::vector<double> m_brightness;
    std::vector<Mark> m_marks;
    void paintMarks(QPainter& painter) const;
    std::vector<Cell> m_highlighted;
    std::vector<std::int32_t> m_rowNumbers;
    QString m_rowTitle;
    QString m_columnTitle;
    QString m_valueName;
    Unit m_unit = Unit::Share;
    std::optional<Cell> m_current;
    std::optional<Cell> m_selected;
    std::optional<Area> m_area;
    std::optional<Area> m_line;
    std::optional<Area> m_anchor;  // an area grows from here: while the mouse is held, or while keys extend it
    QPoint m_anchoredAt;
    bool m_growing = false;  // by the mouse
    HeatMapSummary::Kind m_summaryKind = HeatMapSummary::Kind::None;
    HeatMapSummary m_summary;
    bool m_summaryStale = true;
    ColorScale m_scale;
    ZoomRange m_zoom;  // over columns
};

}  // namespace offstage::ui
