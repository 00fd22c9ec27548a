#include "ui/plot/heat_map_legend.h"

#include <algorithm>
#include <cmath>

#include <QImage>
#include <QLocale>
#include <QPainter>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kScaleBar = 12;    // height of the coloured bar
constexpr int kLegendSide = 22;  // half a label stands out at each end
constexpr int kBetweenTicks = 6;

QString percent(double share) {
    const double value = 100 * share;
    return QLocale().toString(value, 'f', value < 10 && std::abs(value - std::round(value)) > 0.05 ? 1 : 0) +
           QStringLiteral(" %");
}

}  // namespace

HeatMapLegend::HeatMapLegend(QWidget* parent) : QWidget(parent) {
    // Not Fixed: that would use the hint's height, which belongs to the width before a
    // resize, as the limit.
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void HeatMapLegend::setRange(double top, double mark, const QString& markText, End end) {
    const bool other = !m_categories.empty();
    if (other || top != m_top || mark != m_mark || markText != m_markText || end != m_end) {
        m_categories.clear();
        m_top = top;
        m_mark = mark;
        m_markText = markText;
        m_end = end;
        refreshName();
        if (other) {
            updateGeometry();
        }
        update();
    }
}

QString HeatMapLegend::endText() const {
    const QString top = percent(m_top);
    return m_end == End::Whole     ? top
           : m_end == End::Highest ? tr("highest: %1", "end of the colour scale").arg(top)
                                   : tr("%1 and more (fixed)", "end of the colour scale").arg(top);
}

void HeatMapLegend::setCategories(const std::vector<HeatMap::Category>& categories) {
    if (categories == m_categories) {
        return;
    }
    m_categories = categories;
    refreshName();
    updateGeometry();
    update();
}

void HeatMapLegend::setSigns(const std::vector<SignName>& signs) {
    if (signs == m_signs) {
        return;
    }
    m_signs = signs;
    refreshName();
    updateGeometry();
    update();
}

void HeatMapLegend::refreshName() {
    QStringList names;
    for (const auto& category : m_categories) {
        names << (category.glyph.isEmpty() ? category.name : category.glyph + QStringLiteral(": ") + category.name);
    }
    QString text = m_categories.empty()
                       ? tr("Colour scale: from 0 to %1; %2 %3").arg(endText(), m_markText, percent(m_mark))
                       : tr("Colours: %1").arg(names.join(QStringLiteral(", ")));
    names.clear();
    for (const SignName& each : m_signs) {
        names << each.name;
    }
    if (!names.isEmpty()) {
        text += QStringLiteral(". ") + tr("Signs in corners: %1").arg(names.join(QStringLiteral(", ")));
    }
    setAccessibleName(text);
}

std::vector<LegendEntry> HeatMapLegend::signEntries() const {
    std::vector<LegendEntry> entries;
    for (const SignName& each : m_signs) {
        LegendEntry& entry = entries.emplace_back();
        entry.text = each.name;
        entry.kind = LegendEntry::Kind::Sign;
        entry.paintSign = [sign = each.sign, colours = palette()](QPainter& painter, const QRect& place) {
            painter.fillRect(place, mixed(colours.color(QPalette::Window), Colours::of(colours).text, 0.2));
            HeatMapPainter::paintSign(painter, place, sign, colours);
        };
    }
    return entries;
}

int HeatMapLegend::signsHeight(int width) const {
    return m_signs.empty() ? 0 : legendHeight(fontMetrics(), signEntries(), width - 2) + 2;
}

std::vector<LegendEntry> HeatMapLegend::entries() const {
    std::vector<LegendEntry> entries;
    for (const auto& category : m_categories) {
        entries.push_back({.text = category.name,
                           .colour = category.colourOn(palette()),
                           .pattern = category.pattern,
                           .glyph = category.glyph});
    }
    return entries;
}

int HeatMapLegend::heightForWidth(int width) const {
    // The same height for every content, unless there are many kinds: the map above keeps
    // its place.
    const int scale = 2 * fontMetrics().height() + kScaleBar + 14;
    const int names = m_categories.empty() ? 0 : legendHeight(fontMetrics(), entries(), width - 2) + 4;
    return std::max(scale, names) + signsHeight(width);
}

QSize HeatMapLegend::sizeHint() const {
    return {240, heightForWidth(std::max(240, width()))};
}

QSize HeatMapLegend::minimumSizeHint() const {
    return m_categories.empty() ? sizeHint() : QSize(120, sizeHint().height());
}

void HeatMapLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (m_categories.empty()) {
        paintScale(painter);
    } else {
        paintLegend(painter, rect().adjusted(2, 2, 0, 0), entries(), palette());
    }
    if (!m_signs.empty()) {
        paintLegend(painter, rect().adjusted(2, height() - signsHeight(width()) + 2, 0, 0), signEntries(), palette());
    }
}

QRect HeatMapLegend::scaleBar() const {
    return {kLegendSide, fontMetrics().height() + 6, std::max(40, width() - 2 * kLegendSide), kScaleBar};
}

// As many as have room for their numbers: quarters, halves, or the ends alone.
std::vector<HeatMapLegend::ScaleTick> HeatMapLegend::ticks() const {
    const QRect bar = scaleBar();
    for (const int steps : {4, 2, 1}) {
        std::vector<ScaleTick> ticks;
        bool fits = true;
        int from = 0;
        for (int i = 0; i <= steps; ++i) {
            const QString text = i == steps ? endText() : percent(m_top * i / steps);
            const int wide = fontMetrics().horizontalAdvance(text);
            const int x = bar.left() + i * (bar.width() - 1) / steps;
            const int left = std::clamp(x - wide / 2, 0, std::max(0, width() - wide));
            fits = fits && left >= from;
            from = left + wide + kBetweenTicks;
            ticks.push_back({x, left, text});
        }
        if (fits || steps == 1) {
            return ticks;
        }
    }
    return {};
}

void HeatMapLegend::paintScale(QPainter& painter) const {
    const Colours colours = Colours::of(palette());
    const ColorScale& scale = ColorScale::on(isDark(palette()) ? ColorScale::Ground::Dark : ColorScale::Ground::Light);
    const int line = fontMetrics().height();
    const QRect bar = scaleBar();
    QImage columns(bar.width(), 1, QImage::Format_RGB32);
    for (int x = 0; x < bar.width(); ++x) {
        columns.setPixel(x, 0, scale.at(x / (bar.width() - 1.0)));
    }
    painter.drawImage(bar, columns);
    painter.setPen(colours.line);
    painter.drawRect(bar.adjusted(0, 0, -1, -1));
    painter.setPen(colours.muted);
    for (const ScaleTick& tick : ticks()) {
        painter.drawLine(tick.x, bar.bottom() + 1, tick.x, bar.bottom() + 4);
        painter.drawText(QRect(tick.left, bar.bottom() + 5, width(), line), Qt::AlignLeft | Qt::AlignTop, tick.text);
    }
    if (m_mark > 0 && m_mark <= m_top) {
        const int x = bar.left() + static_cast<int>(std::lround(m_mark / m_top * (bar.width() - 1)));
        painter.setPen(QPen(palette().color(QPalette::Window), 3));
        painter.drawLine(x, bar.top() - 4, x, bar.bottom() + 1);
        painter.setPen(QPen(colours.text, 1));
        painter.drawLine(x, bar.top() - 4, x, bar.bottom() + 1);
        const QString text = m_markText + QStringLiteral(" ") + percent(m_mark);
        const int textWidth = fontMetrics().horizontalAdvance(text);
        const int left = std::clamp(x - textWidth / 2, 0, std::max(0, width() - textWidth));
        painter.drawText(QRect(left, 0, textWidth + 2, line), Qt::AlignLeft | Qt::AlignVCenter, text);
    }
}

}  // namespace offstage::ui
