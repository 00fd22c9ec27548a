#pragma once

#include <vector>

#include <QWidget>

#include "ui/plot/heat_map.h"

namespace offstage::ui {

// The scale beside its numbers, with one value marked (the uniform share); or the names
// of the categories.
class HeatMapLegend : public QWidget {
    Q_OBJECT

  public:
    explicit HeatMapLegend(QWidget* parent = nullptr);

    void setRange(double top, double mark, const QString& markText);
    double top() const { return m_top; }
    double mark() const { return m_mark; }
    // Names instead of a scale; setRange() brings the scale back.
    void setCategories(const std::vector<HeatMap::Category>& categories);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return !m_categories.empty(); }
    int heightForWidth(int width) const override;

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    std::vector<LegendEntry> entries() const;
    void paintScale(QPainter& painter) const;

    double m_top = 1;
    double m_mark = 0;
    QString m_markText;
    std::vector<HeatMap::Category> m_categories;
};

}  // namespace offstage::ui
