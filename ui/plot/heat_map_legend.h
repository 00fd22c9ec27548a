#pragma once

#include <vector>

#include <QWidget>

#include "ui/plot/heat_map.h"

namespace offstage::ui {

// The scale beside its numbers, with one value marked (the uniform share), or the names
// of the categories; below, what the signs on cells mean.
class HeatMapLegend : public QWidget {
    Q_OBJECT

  public:
    explicit HeatMapLegend(QWidget* parent = nullptr);

    // What the end of the scale is: the end of what can be, the highest value that there
    // is, or a limit that was chosen, beyond which values look alike.
    enum class End { Whole, Highest, Fixed };
    void setRange(double top, double mark, const QString& markText, End end = End::Whole);
    QString endText() const;  // as it stands there
    double top() const { return m_top; }
    double mark() const { return m_mark; }
    // Names instead of a scale; setRange() brings the scale back.
    void setCategories(const std::vector<HeatMap::Category>& categories);
    struct SignName {
        HeatMap::Sign sign = HeatMap::Sign::Filled;
        QString name;
        bool operator==(const SignName&) const = default;
    };
    void setSigns(const std::vector<SignName>& signs);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

    // A line below the colour scale and its number, which begins at `left`.
    struct ScaleTick {
        int x = 0, left = 0;
        QString text;
    };
    std::vector<ScaleTick> ticks() const;

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    QRect scaleBar() const;
    std::vector<LegendEntry> entries() const;
    std::vector<LegendEntry> signEntries() const;
    int signsHeight(int width) const;
    void refreshName();
    void paintScale(QPainter& painter) const;

    double m_top = 1;
    double m_mark = 0;
    End m_end = End::Whole;
    QString m_markText;
    std::vector<HeatMap::Category> m_categories;
    std::vector<SignName> m_signs;
};

}  // namespace offstage::ui
