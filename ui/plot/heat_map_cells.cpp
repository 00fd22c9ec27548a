#include "ui/plot/heat_map_cells.h"

#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr double kMostFaded = 0.82;  // share of the ground in a cell of no brightness

QRgb faded(QRgb colour, QRgb ground, double shareOfGround) {
    const int share = static_cast<int>(std::lround(256 * shareOfGround));
    const auto channel = [share](int a, int b) { return a + (b - a) * share / 256; };
    return qRgb(channel(qRed(colour), qRed(ground)), channel(qGreen(colour), qGreen(ground)),
                channel(qBlue(colour), qBlue(ground)));
}

}  // namespace

QColor HeatMapCells::Category::colourOn(const QPalette& palette) const {
    const Colours colours = Colours::of(palette);
    return colour == kQuiet ? mixed(colours.surface, colours.text, 0.11) : seriesColour(colour, palette);
}

bool HeatMapCells::setValues(int rows, int columns, std::vector<double> values, double top) {
    Q_ASSERT(values.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    const double end = top > 0 ? top : 1;
    if (rows == m_rows && columns == m_columns && m_kinds.empty() && end == m_top && values == m_values) {
        return false;
    }
    m_rows = rows;
    m_columns = columns;
    m_values = std::move(values);
    m_top = end;
    m_kinds.clear();
    m_categories.clear();
    m_summaryStale = true;
    return true;
}

bool HeatMapCells::setCategories(int rows, int columns, std::vector<std::uint8_t> kinds,
                                 std::vector<Category> categories) {
    Q_ASSERT(kinds.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    if (rows == m_rows && columns == m_columns && kinds == m_kinds && categories == m_categories) {
        return false;
    }
    m_rows = rows;
    m_columns = columns;
    m_kinds = std::move(kinds);
    m_categories = std::move(categories);
    m_values.clear();
    m_summaryStale = true;
    setPalette(m_palette);
    return true;
}

bool HeatMapCells::setBrightness(std::vector<double> shares) {
    if (shares == m_brightness) {
        return false;
    }
    m_brightness = std::move(shares);
    m_summaryStale = true;
    return true;
}

void HeatMapCells::setPalette(const QPalette& palette) {
    m_palette = palette;
    m_scale = ColorScale::on(isDark(palette) ? ColorScale::Ground::Dark : ColorScale::Ground::Light);
    m_ground = Colours::of(palette).surface.rgb();
    m_categoryColours.clear();
    for (const Category& category : m_categories) {
        m_categoryColours.push_back(category.colourOn(palette).rgb());
    }
}

void HeatMapCells::setSummaryKind(HeatMapSummary::Kind kind) {
    m_summaryKind = kind;
    m_summaryStale = true;
}

double HeatMapCells::valueAt(Cell cell) const {
    return isCategorical() ? m_kinds[indexOf(cell)] : m_values[indexOf(cell)];
}

const HeatMapCells::Category* HeatMapCells::categoryAt(Cell cell) const {
    const std::size_t kind = isCategorical() ? m_kinds[indexOf(cell)] : m_categories.size();
    return kind < m_categories.size() ? &m_categories[kind] : nullptr;
}

QRgb HeatMapCells::colourAt(Cell cell) const {
    const std::size_t index = indexOf(cell);
    QRgb colour = 0;
    if (isCategorical()) {
        const std::size_t kind = m_kinds[index];
        colour = kind < m_categoryColours.size() ? m_categoryColours[kind] : m_ground;
    } else {
        colour = m_scale.at(m_values[index] / m_top);
    }
    if (fades()) {
        const double bright = std::isfinite(m_brightness[index]) ? std::clamp(m_brightness[index], 0.0, 1.0) : 0;
        colour = faded(colour, m_ground, (1 - bright) * kMostFaded);
    }
    return colour;
}

const HeatMapSummary& HeatMapCells::summary() const {
    if (m_summaryStale) {
        m_summaryStale = false;
        const bool known = m_brightness.size() == m_values.size();
        m_summary = isCategorical() ? HeatMapSummary(m_rows, m_columns, m_kinds, static_cast<int>(m_categories.size()))
                                    : HeatMapSummary(m_rows, m_columns, m_values,
                                                     known ? m_brightness : std::vector<double>(), m_summaryKind);
    }
    return m_summary;
}

}  // namespace offstage::ui
