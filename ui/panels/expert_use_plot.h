#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "engine/eval/cache_picture.h"
#include "ui/panels/token_log.h"
#include "ui/plot/plot_widget.h"

namespace offstage::ui {

// Experts over tokens, for one layer: the experts that each of the latest steps called,
// and where they ran (Mixtral-Offloading, figure 1). One column for each step, the tokens
// of a prompt together. GUI thread only.
class ExpertUsePlot : public PlotWidget {
    Q_OBJECT

  public:
    static constexpr int kMostColumns = 512;

    struct Column {
        StepId step = 0;
        qint64 number = 0;  // of the step since the model was loaded
        int tokens = 1;
        bool prompt = false;
        std::vector<std::pair<int, engine::ExpertOutcome>> calls;  // expert, where it ran
        bool operator==(const Column&) const = default;
    };

    explicit ExpertUsePlot(QWidget* parent = nullptr);

    // Gives the text of a step's token, for the item at the pointer and for files.
    void setTextSource(std::function<QString(StepId)> textOf) { m_textOf = std::move(textOf); }
    // Columns ascending in number. The latest are visible until the user moves or zooms
    // the view.
    void setUses(const QString& model, int layer, int experts, std::vector<Column> columns);
    const std::vector<Column>& columns() const { return m_columns; }

    std::optional<std::pair<qint64, int>> cellAt(QPoint at);  // the step's number and the expert
    QRectF rectOf(qint64 number, int expert);

    QString csv() const override;
    // The same picture as from offstage-cli replay.
    QByteArray svg() const;
    bool saveSvg(const QString& path);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void stepClicked(quint64 step);

  protected:
    bool isEmpty() const override { return m_columns.empty(); }
    void layOut() override;
    void paintFrame(QPainter& painter) override;
    void paintData(QPainter& painter) override;
    void paintOver(QPainter& painter) override;
    ZoomRange* zoomRange() override { return &m_zoom; }
    Axis zoomAxis() const override { return m_x; }
    void zoomChanged() override;
    std::optional<double> keyZoomCentre() const override;
    void pointAt(std::optional<QPoint> at) override;
    void step(int right, int down) override;
    void click(Qt::MouseButton button) override;
    void extendMenu(QMenu& menu, QPoint at) override;

  private:
    const Column* columnOf(qint64 number) const;
    QString textOf(const Column& column) const;
    std::vector<LegendEntry> legend() const;
    void setCurrent(std::optional<std::pair<qint64, int>> cell);

    std::function<QString(StepId)> m_textOf;
    QString m_model;
    int m_layer = 0;
    int m_experts = 0;
    std::vector<Column> m_columns;
    ZoomRange m_zoom;
    bool m_moved = false;  // the view, by hand
    Axis m_x, m_y;
    QRect m_area;
    std::optional<std::pair<qint64, int>> m_current;
};

}  // namespace offstage::ui
