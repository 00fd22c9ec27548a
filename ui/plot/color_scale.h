#pragma once

#include <array>

#include <QColor>

namespace offstage::ui {

// A sequential scale from blue over teal to yellow. Interpolated in OKLab, so that equal
// steps look equal; lightness changes in one direction only, so that the order is visible
// for every kind of colour vision and in grey. On a dark ground 0 is dark, on a light
// ground 0 is light: large values stand out.
class ColorScale {
  public:
    enum class Ground { Light, Dark };

    explicit ColorScale(Ground ground = Ground::Light);
    // Made once: a paint event must not work it out.
    static const ColorScale& on(Ground ground);

    // share in 0..1; outside it is clamped.
    QRgb at(double share) const;

  private:
    static constexpr int kSteps = 256;
    std::array<QRgb, kSteps> m_table;
};

}  // namespace offstage::ui
