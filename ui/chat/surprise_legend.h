#pragma once

#include <array>

#include <QPen>
#include <QWidget>

namespace offstage::ui {

// Levels of words that the model did not expect: their probability is below this.
inline constexpr std::array kSurpriseBounds = {0.5, 0.2, 0.05, 0.01};
// The line under such a word. Its pattern and its colour both show the level; the colours
// can be distinguished without seeing red or green.
QPen surprisePen(std::size_t level, bool dark);

// What the lines under unlikely words mean: each with the probability that it is below.
// Takes no room in a narrow window.
class SurpriseLegend : public QWidget {
    Q_OBJECT

  public:
    explicit SurpriseLegend(QWidget* parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace offstage::ui
