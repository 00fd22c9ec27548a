#pragma once

#include <vector>

#include <QString>

namespace offstage::ui {

// The kind of number on an axis; the value itself is always in the unit named here.
enum class Unit {
    Plain,            // a number without a name
    Count,            // whole things: tokens, experts; no tick between two of them
    Bytes,            // bytes; shown in KiB, MiB, GiB, as budgets are given
    TokensPerSecond,  // tokens/s
    Microseconds,     // us; shown in us, ms or s
    Share,            // 0..1; shown in percent
};

// The multiple of a unit in which the numbers of one axis are written.
struct UnitScale {
    double divisor = 1;
    QString name;  // "GiB", "ms", "tokens/s"; empty for Plain and Count
};
UnitScale unitScaleFor(Unit unit, double largest);

// One value for display, with its unit: "1.25 GiB", "340 µs", "37.5 tokens/s", "12.5 %".
// NaN is a dash.
QString valueText(Unit unit, double value);

struct Tick {
    double value = 0;
    QString label;  // in the axis' UnitScale, without its name
};

// The quantity of an axis.
struct AxisSpec {
    QString title;
    Unit unit = Unit::Plain;
    bool operator==(const AxisSpec&) const = default;
};

// One axis: a range of values upon a range of pixels. lo < hi.
class Axis {
  public:
    Axis() = default;
    Axis(AxisSpec spec, double lo, double hi, double fromPixel, double toPixel);

    const AxisSpec& spec() const { return m_spec; }
    double lo() const { return m_lo; }
    double hi() const { return m_hi; }
    double pixelOf(double value) const;
    double valueAt(double pixel) const;
    // Multiples of 1, 2 or 5 times a power of ten inside lo..hi, at most about `most`; if
    // that leaves fewer than two, which show no scale, a few more (axes of whole numbers
    // have none in between).
    std::vector<Tick> ticks(int most) const;
    // A value of this axis, with its unit, as exact as one pixel is.
    QString textAt(double value) const;
    // Title and unit, as written at the end of the axis: "copied (GiB)", "ms".
    QString caption() const;

  private:
    AxisSpec m_spec;
    double m_lo = 0, m_hi = 1;
    double m_from = 0, m_to = 1;
    double m_perUnit = 1;  // pixels
};

// The step of 1, 2 or 5 times a power of ten that cuts `span` into at most `most` pieces.
double niceStep(double span, int most);
// The smallest range of whole nice steps around lo..hi; never empty, and finite for any
// input.
struct Range {
    double lo = 0, hi = 1;
    bool operator==(const Range&) const = default;
};
Range niceRange(double lo, double hi, int steps);

// The visible part of a full range: zoomed, panned, reset.
class ZoomRange {
  public:
    // A whole view stays whole; one at the end of the full range follows that end.
    void setFull(Range full);
    void setSmallestSpan(double span) { m_smallest = span; }
    Range full() const { return m_full; }
    Range view() const { return m_view; }
    bool isZoomed() const { return m_view != m_full; }
    // All return whether the view changed. factor < 1 zooms in; `at` stays in place.
    bool zoom(double at, double factor);
    bool pan(double by);
    bool show(Range view);
    bool reset();

  private:
    bool take(double lo, double span);

    Range m_full;
    Range m_view;
    double m_smallest = 0;
};

}  // namespace offstage::ui
