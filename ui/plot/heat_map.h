#pragma once

#include <optional>
#include <vector>

#include <QPixmap>
#include <QWidget>

#include "ui/plot/color_scale.h"

namespace offstage::ui {

// Rows x columns of shares as coloured cells of whole pixels. One cell may be current: under the mouse, or chosen with
// the arrow keys. The cells are painted once into a pixmap, and again only when values, size or colours change.
class HeatMap : public QWidget {
    Q_OBJECT

  public:
    struct Cell {
        int row = 0;
        int column = 0;
        bool operator==(const Cell&) const = default;
    };

    explicit HeatMap(QWidget* parent = nullptr);

    // row-major, rows * columns values >= 0; `top` is the value at the end of the scale.
    void setValues(int rows, int columns, std::vector<double> values, double top);
    void clear();
    void setEmptyText(const QString& text);
    void setTitles(const QString& rows, const QString& columns);

    int rows() const { return m_rows; }
    int columns() const { return m_columns; }
    double valueAt(Cell cell) const;
    std::optional<Cell> cellAt(QPoint at) const;
    QRect rectOf(Cell cell) const;
    std::optional<Cell> current() const { return m_current; }
    QRgb colourOf(Cell cell) const;
    int renderCount() const { return m_renderCount; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void currentChanged();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    struct Geometry {
        int left = 0, top = 0;     // of the first cell
        int cell = 0, height = 0;  // pixels from one cell to the next
        int gap = 0;
    };

    Geometry geometryNow() const;
    int leftLabels() const;
    int cellWidth() const;
    void limitHeight();
    void setCurrent(std::optional<Cell> cell);
    void render();
    void paintLabels(QPainter& painter, const Geometry& g) const;

    int m_rows = 0;
    int m_columns = 0;
    std::vector<double> m_values;
    double m_top = 1;
    QString m_emptyText;
    QString m_rowTitle;
    QString m_columnTitle;
    std::optional<Cell> m_current;
    bool m_currentByKey = false;
    ColorScale m_scale;
    QPixmap m_pixmap;
    bool m_stale = true;
    int m_renderCount = 0;
};

// The scale beside its numbers, with one value marked (the uniform share).
class HeatMapLegend : public QWidget {
    Q_OBJECT

  public:
    explicit HeatMapLegend(QWidget* parent = nullptr);

    void setRange(double top, double mark, const QString& markText);
    double top() const { return m_top; }
    double mark() const { return m_mark; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    double m_top = 1;
    double m_mark = 0;
    QString m_markText;
};

}  // namespace offstage::ui
