#include "ui/plot/color_scale.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace offstage::ui {

namespace {

// OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
struct Lab {
    double l, a, b;
};

double toLinear(double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double fromLinear(double c) {
    c = std::clamp(c, 0.0, 1.0);
    return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
}

Lab toLab(QRgb colour) {
    const double r = toLinear(qRed(colour) / 255.0);
    const double g = toLinear(qGreen(colour) / 255.0);
    const double b = toLinear(qBlue(colour) / 255.0);
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

QRgb fromLab(const Lab& c) {
    const double l = std::pow(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
    const double m = std::pow(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
    const double s = std::pow(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);
    const auto byte = [](double v) { return static_cast<int>(std::lround(255 * fromLinear(v))); };
    return qRgb(byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
}

// Anchors, evenly spaced; their lightness is evenly spaced too (the tests measure it).
constexpr QRgb kOnDark[] = {0xff1a2140, 0xff254578, 0xff1f7089, 0xff2f9c87, 0xff84c56a, 0xfff7e45c};
constexpr QRgb kOnLight[] = {0xfff6f3dc, 0xffc4dfa6, 0xff77bf9d, 0xff3591a0, 0xff295f92, 0xff1d2b63};

}  // namespace

ColorScale::ColorScale(Ground ground) {
    const std::span<const QRgb> anchors = ground == Ground::Dark ? std::span(kOnDark) : std::span(kOnLight);
    const double first = toLab(anchors.front()).l;
    const double last = toLab(anchors.back()).l;
    for (int i = 0; i < kSteps; ++i) {
        const double share = i / (kSteps - 1.0);
        const double at = share * static_cast<double>(anchors.size() - 1);
        const auto below = std::min(static_cast<size_t>(at), anchors.size() - 2);
        const double t = at - static_cast<double>(below);
        const Lab x = toLab(anchors[below]);
        const Lab y = toLab(anchors[below + 1]);
        // Hue from the anchors, lightness from a straight line.
        m_table[static_cast<size_t>(i)] =
            fromLab({first + (last - first) * share, x.a + (y.a - x.a) * t, x.b + (y.b - x.b) * t});
    }
}

const ColorScale& ColorScale::on(Ground ground) {
    static const ColorScale light(Ground::Light);
    static const ColorScale dark(Ground::Dark);
    return ground == Ground::Dark ? dark : light;
}

QRgb ColorScale::at(double share) const {
    const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
    return m_table[static_cast<size_t>(std::lround(clamped * (kSteps - 1)))];
}

}  // namespace offstage::ui
