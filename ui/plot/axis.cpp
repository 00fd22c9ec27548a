#include "ui/plot/axis.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>
#include <QLocale>

namespace offstage::ui {

namespace {

struct AxisText {
    Q_DECLARE_TR_FUNCTIONS(Axis)
};

constexpr int kMostDecimals = 9;
// The steps are 1, 2 or 5 times a power of ten. kFinerStep: the largest ratio of two
// neighbouring steps. kMostOfAFinerStep: the most ticks of the finer step if the coarser
// one leaves a single tick.
constexpr double kFinerStep = 2.5;
constexpr int kMostOfAFinerStep = 5;

// The number of decimals with which two numbers one step apart differ.
int decimalsFor(double step) {
    return step > 0 ? std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, kMostDecimals) : 0;
}

// Three significant digits, but never fewer than all before the point.
int decimalsOf(double value, int most) {
    const double size = std::abs(value);
    return size > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, most) : 0;
}

QString number(double value, int decimals) {
    QString text = QLocale().toString(value, 'f', decimals);
    if (decimals > 0) {
        // 1.50 is 1.5, 2.00 is 2.
        while (text.endsWith(u'0')) {
            text.chop(1);
        }
        if (!text.isEmpty() && !text.back().isDigit()) {
            text.chop(1);
        }
    }
    return text;
}

QString withUnit(const QString& text, const QString& unit) {
    return unit.isEmpty() ? text : text + QChar(u'\u00a0') + unit;
}

}  // namespace

UnitScale unitScaleFor(Unit unit, double largest) {
    const double size = std::isfinite(largest) ? std::abs(largest) : 0;
    switch (unit) {
        case Unit::Bytes: {
            constexpr double kKib = 1024;
            if (size >= kKib * kKib * kKib * kKib) {
                return {kKib * kKib * kKib * kKib, AxisText::tr("TiB")};
            }
            if (size >= kKib * kKib * kKib) {
                return {kKib * kKib * kKib, AxisText::tr("GiB")};
            }
            if (size >= kKib * kKib) {
                return {kKib * kKib, AxisText::tr("MiB")};
            }
            return size >= kKib ? UnitScale{kKib, AxisText::tr("KiB")} : UnitScale{1, AxisText::tr("B")};
        }
        case Unit::Microseconds:
            if (size >= 1e6) {
                return {1e6, AxisText::tr("s")};
            }
            return size >= 1e3 ? UnitScale{1e3, AxisText::tr("ms")} : UnitScale{1, AxisText::tr("µs")};
        case Unit::TokensPerSecond:
            return {1, AxisText::tr("tokens/s")};
        case Unit::Share:
            return {0.01, QStringLiteral("%")};
        case Unit::Plain:
        case Unit::Count:
            break;
    }
    return {};
}

QString valueText(Unit unit, double value) {
    if (!std::isfinite(value)) {
        return QStringLiteral("–");
    }
    const UnitScale scale = unitScaleFor(unit, value);
    const double shown = value / scale.divisor;
    const int most = unit == Unit::Count ? 1 : unit == Unit::Share && std::abs(shown) >= 0.1 ? 1 : 3;
    return withUnit(number(shown, decimalsOf(shown, most)), scale.name);
}

double niceStep(double span, int most) {
    if (!(span > 0) || !std::isfinite(span)) {
        return 1;
    }
    const double raw = span / std::max(1, most);
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double digit = raw / power;
    const double slack = 1 + 1e-9;
    return power * (digit <= slack ? 1 : digit <= 2 * slack ? 2 : digit <= 5 * slack ? 5 : 10);
}

Range niceRange(double lo, double hi, int steps) {
    if (!std::isfinite(lo) || !std::isfinite(hi) || lo > hi) {
        return {0, 1};
    }
    if (lo == hi) {
        if (lo == 0) {
            return {0, 1};
        }
        const double half = std::abs(lo) / 10;
        lo -= half;
        hi += half;
    }
    const double step = niceStep(hi - lo, steps);
    const double below = std::floor(lo / step + 1e-9) * step;
    const double above = std::ceil(hi / step - 1e-9) * step;
    return above > below ? Range{below, above} : Range{below, below + step};
}

Axis::Axis(AxisSpec spec, double lo, double hi, double fromPixel, double toPixel)
    : m_spec(std::move(spec)), m_lo(lo), m_hi(hi), m_from(fromPixel), m_to(toPixel) {
    if (!std::isfinite(m_lo) || !std::isfinite(m_hi)) {
        m_lo = 0;
        m_hi = 1;
    }
    if (m_hi <= m_lo) {
        m_hi = m_lo + std::max(1.0, std::abs(m_lo) * 1e-9);
    }
    m_perUnit = (m_to - m_from) / (m_hi - m_lo);
}

double Axis::pixelOf(double value) const {
    return m_from + (value - m_lo) * m_perUnit;
}

double Axis::valueAt(double pixel) const {
    return m_perUnit == 0 ? m_lo : m_lo + (pixel - m_from) / m_perUnit;
}

std::vector<Tick> Axis::ticks(int most) const {
    most = std::clamp(most, 1, 200);
    const UnitScale scale = unitScaleFor(m_spec.unit, std::max(std::abs(m_lo), std::abs(m_hi)));
    std::vector<Tick> ticks;
    // Bytes use powers of 1024: ticks are round in the shown unit.
    const double unit = m_spec.unit == Unit::Bytes ? scale.divisor : 1;
    double step = unit * niceStep((m_hi - m_lo) / unit, most);
    if (m_spec.unit == Unit::Count) {
        step = std::max(1.0, step);
    }
    const auto fits = [&] { return std::floor(m_hi / step + 1e-9) - std::ceil(m_lo / step - 1e-9) + 1; };
    while (fits() < 2 && (m_spec.unit != Unit::Count || step > 1) && step > 1e-12 * (m_hi - m_lo)) {
        step = unit * niceStep(step / unit / kFinerStep, 1);
    }
    const int decimals = decimalsFor(step / scale.divisor);
    const double first = std::ceil(m_lo / step - 1e-9);
    for (int i = 0; i <= std::max(most + 1, kMostOfAFinerStep); ++i) {
        const double multiple = first + i;
        const double value = multiple == 0 ? 0 : multiple * step;
        if (value > m_hi + 1e-9 * step) {
            break;
        }
        const QString label = QLocale().toString(value / scale.divisor, 'f', decimals);
        ticks.push_back({value, m_spec.unit == Unit::Share ? withUnit(label, scale.name) : label});
    }
    return ticks;
}

QString Axis::textAt(double value) const {
    if (!std::isfinite(value)) {
        return QStringLiteral("–");
    }
    const UnitScale scale = unitScaleFor(m_spec.unit, std::max(std::abs(m_lo), std::abs(m_hi)));
    const double pixel = std::abs(1 / m_perUnit);
    const int decimals =
        m_spec.unit == Unit::Count && value == std::floor(value) ? 0 : decimalsFor(pixel / scale.divisor);
    return withUnit(QLocale().toString(value / scale.divisor, 'f', decimals), scale.name);
}

QString Axis::caption() const {
    const QString unit = unitScaleFor(m_spec.unit, std::max(std::abs(m_lo), std::abs(m_hi))).name;
    if (m_spec.unit == Unit::Share) {
        return m_spec.title;  // each number has its sign
    }
    if (m_spec.title.isEmpty() || unit.isEmpty()) {
        return m_spec.title.isEmpty() ? unit : m_spec.title;
    }
    return AxisText::tr("%1 (%2)", "what an axis measures, and its unit").arg(m_spec.title, unit);
}

void ZoomRange::setFull(Range full) {
    const bool whole = !isZoomed();
    const bool followsEnd = m_view.hi >= m_full.hi;
    const double span = m_view.hi - m_view.lo;
    m_full = full;
    if (whole) {
        m_view = full;
    } else {
        take(followsEnd ? full.hi - span : m_view.lo, span);
    }
}

bool ZoomRange::take(double lo, double span) {
    const double whole = m_full.hi - m_full.lo;
    // Below this the doubles themselves have steps.
    const double finest = 1e-12 * std::max({std::abs(m_full.lo), std::abs(m_full.hi), 1e-300});
    const double held = std::clamp(span, std::min(whole, std::max(m_smallest, finest)), whole);
    Range view = m_full;
    if (held < whole) {
        view.lo = std::clamp(lo, m_full.lo, m_full.hi - held);
        view.hi = view.lo + held;
    }
    if (view == m_view) {
        return false;
    }
    m_view = view;
    return true;
}

bool ZoomRange::zoom(double at, double factor) {
    const double span = m_view.hi - m_view.lo;
    const double whole = m_full.hi - m_full.lo;
    const double wanted = std::clamp(span * factor, std::min(whole, m_smallest), whole);
    const double inside = std::clamp(at, m_view.lo, m_view.hi);
    return take(inside - (inside - m_view.lo) * (span > 0 ? wanted / span : 1), wanted);
}

bool ZoomRange::pan(double by) {
    return take(m_view.lo + by, m_view.hi - m_view.lo);
}

bool ZoomRange::show(Range view) {
    return take(view.lo, view.hi - view.lo);
}

bool ZoomRange::reset() {
    return take(m_full.lo, m_full.hi - m_full.lo);
}

}  // namespace offstage::ui
