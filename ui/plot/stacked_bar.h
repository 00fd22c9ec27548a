#pragma once

#include <vector>

#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// One horizontal bar per row, of named parts with sizes in bytes: the contents of a
// memory. All rows share one scale by default.
class StackedBar : public PlotWidget {
    Q_OBJECT

  public:
    struct Part {
        QString name;
        double size = 0;   // >= 0, in the unit of setUnit(), bytes by default
        int category = 0;  // colour and pattern; parts of one category look alike in every row
        bool operator==(const Part&) const = default;
    };
    struct Row {
        QString name;
        std::vector<Part> parts;
        double total = 0;        // of the memory; the rest is shown as free. 0: not known
        double budget = 0;       // a marker line; 0: none
        bool predicted = false;  // drawn as outlines
        // The parts are amounts of the same time, not parts of a sum: each has a separate
        // lane, from 0 on.
        bool sideBySide = false;
        // The row after a planned change, drawn as a ghost below the bar; empty: nothing
        // is planned.
        std::vector<Part> ghost = {};
        double ghostBudget = 0;
        bool operator==(const Row&) const = default;
    };
    struct PartIndex {
        int row = 0;
        int part = 0;  // index in Row::parts; kFree for the free part
        bool operator==(const PartIndex&) const = default;
    };
    static constexpr int kFree = -1;

    explicit StackedBar(QWidget* parent = nullptr);

    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const { return m_rows; }
    void setUnit(Unit unit);
    // Many thin rows that shrink, with their names to the left of them and no texts upon
    // them; of the thinnest, not every row has room for its name.
    void setCompact(bool compact);
    // Rows become thinner where there is little height.
    void setShrinking(bool shrinks);
    // Every row fills the width, with its own scale: for memories of very different
    // sizes. There is no axis then.
    void setOwnScales(bool own);
    // Room for at least so many rows and lines of the legend; it never shrinks until the
    // next call, so that the parts below do not move.
    void setReserve(int rows, int legendLines);

    std::optional<PartIndex> partAt(QPoint at);
    // Empty where the part has no size.
    QRectF rectOf(PartIndex part);
    // The room for its name, without the mark of the budget.
    QRectF labelRectOf(PartIndex part);
    // For a part of Row::ghost.
    QRectF ghostRectOf(PartIndex part);
    std::optional<PartIndex> current() const { return m_current; }

    QString csv() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

  Q_SIGNALS:
    void partClicked(int row, int part);  // part may be kFree

  protected:
    bool isEmpty() const override { return m_rows.empty(); }
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    const Row& rowAt(int row) const { return m_rows[static_cast<size_t>(row)]; }
    // Paints a part's name and size, as much as fits; `ground` is painted under the
    // letters if it is valid.
    void writeUpon(QPainter& painter, const QRectF& rect, const QString& name, const QString& size, const QColor& ink,
                   const QColor& ground = {}) const;
    double end() const;
    double endOf(const Row& row) const;
    double pixelOf(int row, double size) const;
    double used(const Row& row) const;
    std::vector<double> widthsOf(int row) const;
    std::vector<LegendEntry> legend() const;
    QStringList legendTexts() const;
    void setCurrent(std::optional<PartIndex> part);
    QString textOf(PartIndex part) const;
    int heightOf(const std::vector<LegendEntry>& entries, int width) const;
    int contentHeight(int width, int rowHeight) const;
    void refreshHeight();
    void paintGhost(QPainter& painter, int row);
    int fullRow() const;  // its height where there is room
    int thinnestRow() const;
    int rowHeight() const;
    int barHeight() const;
    int aboveBar() const;
    int namesWidth() const;  // left of the bars

    std::vector<Row> m_rows;
    Unit m_unit = Unit::Bytes;
    bool m_compact = false;
    bool m_shrinks = false;
    bool m_ownScales = false;
    int m_reservedRows = 0, m_reservedLines = 0;
    int m_keptRows = 0;                     // the most that there were
    std::vector<LegendEntry> m_keptLegend;  // the highest that there was, at the width of then
    Axis m_x;
    QRect m_area;  // of all bars
    std::optional<PartIndex> m_current;
};

}  // namespace offstage::ui
