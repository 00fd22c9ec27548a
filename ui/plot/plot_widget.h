#pragma once

#include <optional>

#include <QImage>
#include <QPixmap>
#include <QWidget>

#include "ui/plot/axis.h"
#include "ui/plot/plot_colors.h"
#include "ui/plot/plot_picture.h"

class QMenu;

namespace offstage::ui {

// A line across a plot at one value, with a word beside it.
struct PlotMark {
    double at = 0;
    QString text;
    bool operator==(const PlotMark&) const = default;
};

// The common parts of all plots. Two cached layers (the frame with axes, grid and legend,
// and the data on it) are painted again only when marked stale; parts that follow the
// mouse (crosshair, rings, the box with numbers) are painted over them. Any number of
// changes before the next paint event cost one painting.
//
// Mouse: pointing shows numbers, Ctrl and the wheel zoom (the wheel alone if no parent
// scrolls), Shift and the wheel or dragging pan, a double click shows all, the context
// menu copies or saves the picture or the numbers. Keyboard: arrows move the crosshair
// (Shift: ten steps), + and - zoom, Home shows all, Return clicks, Escape hides the
// crosshair, Ctrl+C copies the picture, Ctrl+Alt+C the numbers. GUI thread only.
class PlotWidget : public QWidget {
    Q_OBJECT

  public:
    explicit PlotWidget(QWidget* parent = nullptr);

    // Shown in place of a plot without data.
    void setEmptyText(const QString& text);

    // The plot without crosshair, focus and blank edges, on the window's background, with
    // its title above and its legend below; ratio: pixels per unit of the layout.
    QImage picture(double ratio = 2);
    // The same laid out at this size, independent of the window's size.
    QImage pictureOf(QSize size, double ratio = 2);
    // PictureTexts; the legend must outlive this widget.
    void setPictureTexts(const QString& title, QWidget* legend);
    bool hasData() const { return !isEmpty(); }
    // The numbers of the picture, with a line of headings: all of them, also outside of
    // the zoomed part.
    virtual QString csv() const = 0;
    void copyPicture();
    void copyCsv();
    // Whole file or none; on a failure false, and the notice has the reason.
    bool savePicture(const QString& path);
    bool saveCsv(const QString& path);
    // The name without folder and ending that file dialogs suggest; by default the
    // accessible name.
    void setFileName(const QString& name) { m_fileName = name; }

    // The numbers at the crosshair, as text; empty where nothing is pointed at.
    QString reading() const { return m_reading; }
    // The result of the last copy or file; empty some seconds later.
    QString notice() const { return m_notice; }
    // The number of paintings of the data layer.
    int renderCount() const { return m_renderCount; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  protected:
    enum class Layer { Frame, Data };

    // Frame includes data.
    void markStale(Layer layer);

    virtual bool isEmpty() const = 0;
    virtual void paintFrame(QPainter& painter) = 0;
    virtual void paintData(QPainter& painter) = 0;
    virtual void paintOver(QPainter& painter) = 0;
    // Lays out for the present size and data; called before a painting of the frame.
    virtual void layOut() {}
    void ensureLaidOut();

    // The range that dragging pans and the wheel zooms; null: neither does.
    virtual ZoomRange* zoomRange() { return nullptr; }
    virtual Axis zoomAxis() const { return {}; }
    virtual void zoomChanged() {}
    // The fixed point of + and -; nullopt: the middle.
    virtual std::optional<double> keyZoomCentre() const { return std::nullopt; }

    // The mouse is here; nullopt: it left.
    virtual void pointAt(std::optional<QPoint> at) = 0;
    // Arrow keys: steps of one.
    virtual void step(int right, int down) = 0;
    // A click that was no drag, or Return at the crosshair.
    virtual void click(Qt::MouseButton button) { Q_UNUSED(button); }
    // The context menu opens at this point; actions that are added come first.
    virtual void extendMenu(QMenu& menu, QPoint at) {
        Q_UNUSED(menu);
        Q_UNUSED(at);
    }

    void setReading(const QString& text);
    bool pointedByKey() const { return m_byKey; }
    // The press had another purpose: its release is no click.
    void dropPress() {
        m_pressed.reset();
        m_dragging = false;
    }
    // As an arrow key does.
    void stepByKey(int right, int down);
    // The name that file dialogs suggest, without ending; and a notice whether a file was
    // written (`failure`: why not).
    QString suggestedName() const;
    bool sayWhetherSaved(const QString& path, const QString& failure);
    // A box with lines of text near a point, inside the widget.
    void paintReading(QPainter& painter, QPoint near, const QString& text) const;

    // Two rings around the current item: one of them stands out on every colour.
    void paintRings(QPainter& painter, const QRectF& around) const;

    static constexpr int kEdge = 6;  // between the widget's edge and its contents
    // For an axis on these pixels, as many as there is room for.
    std::vector<Tick> leftTicks(const AxisSpec& spec, Range range, int top, int bottom) const;
    // The area of a plot with these numbers to its left.
    QRect areaBeside(const std::vector<Tick>& ticks, int top, int bottom) const;
    // Paints lines of the grid across the area, their numbers to its left, and the axis'
    // caption above, from captionTop on.
    void paintLeftAxis(QPainter& painter, const Axis& axis, const std::vector<Tick>& ticks, const QRect& area,
                       int captionTop) const;
    // The room of an axis below the area: a line for its numbers, and one more for a
    // caption that would take too much of that line.
    int bottomAxisHeight(const QString& caption) const;
    struct BottomTick {
        int x = 0;      // of its line
        QRect place;    // of its number; empty: there is no room for it
        QString label;  // that number
    };
    std::vector<BottomTick> bottomTicks(const Axis& axis, const QRect& area) const;
    // Paints vertical lines of the grid, numbers below the area, and the axis' caption at
    // their right end, or below them if bottomAxisHeight() left room there.
    void paintBottomAxis(QPainter& painter, const Axis& axis, const QRect& area) const;

    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

  private:
    bool captionIsBelow(const QString& caption) const;
    void ensureRendered();
    void afterZoom();
    QImage painted(double ratio);
    void showAll();
    void askWhereToSave(bool asPicture);
    void say(const QString& notice);

    QString m_emptyText;
    QString m_fileName;
    PictureTexts m_pictureTexts;
    QString m_reading;
    QString m_description;  // the owner's, while the reading stands in its place
    bool m_said = false;    // it does
    QString m_notice;
    QPixmap m_frame;
    QPixmap m_pixmap;
    bool m_frameStale = true;
    bool m_dataStale = true;
    int m_renderCount = 0;
    bool m_byKey = false;
    std::optional<QPoint> m_pressed;
    bool m_dragging = false;
};

}  // namespace offstage::ui
