#include "ui/plot/plot_colors.h"

#include <array>
#include <cmath>

#include <QFontMetrics>
#include <QImage>
#include <QPainter>
#include <QPainterPath>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

// Blue, orange, bluish green, vermillion, sky blue, reddish purple, grey; then dark blue,
// green, blue, purple, olive, dark red, orange, dark grey.
constexpr std::array<QRgb, kSeriesColours> kSeriesOnLight = {
    0xff005b96, 0xffb37a00, 0xff008f68, 0xffc85200, 0xff3590c6, 0xffae5588, 0xff69707d, 0xff0b3a75,
    0xff51957d, 0xff2c93d9, 0xffbb74b6, 0xff8b9050, 0xff771808, 0xffc57508, 0xff3a3c40};
constexpr std::array<QRgb, kSeriesColours> kSeriesOnDark = {0xff3b8bd0, 0xffe6a11a, 0xff1fb58a, 0xffe8743b, 0xff8fd0f7,
                                                            0xffdb8fb9, 0xffa3abb8, 0xff146cb8, 0xff7ad5a6, 0xffb4efff,
                                                            0xffdeb3fb, 0xfff2f1ad, 0xffb34737, 0xfffeb44f, 0xff686b72};
constexpr int kMarkers = 7;

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminanceOf(const QColor& c) {
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

constexpr int kSwatch = 14;
constexpr int kSwatchGap = 5;
constexpr int kEntryGap = 14;

int entryWidth(const QFontMetrics& metrics, const LegendEntry& entry) {
    return kSwatch + kSwatchGap + metrics.horizontalAdvance(entry.text);
}

// Calls place(entry, x, line) for each; returns the number of lines.
template <typename Place>
int flow(const QFontMetrics& metrics, const std::vector<LegendEntry>& entries, int width, Place place) {
    int x = 0;
    int line = 0;
    for (const LegendEntry& entry : entries) {
        const int wide = entryWidth(metrics, entry);
        if (x > 0 && x + wide > width) {
            x = 0;
            ++line;
        }
        place(entry, x, line);
        x += wide + kEntryGap;
    }
    return entries.empty() ? 0 : line + 1;
}

}  // namespace

QColor seriesColour(int index, const QPalette& palette) {
    const auto at = static_cast<size_t>(((index % kSeriesColours) + kSeriesColours) % kSeriesColours);
    return isDark(palette) ? kSeriesOnDark[at] : kSeriesOnLight[at];
}

double contrastOf(const QColor& a, const QColor& b) {
    const double x = luminanceOf(a);
    const double y = luminanceOf(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor inkOn(const QColor& colour) {
    return contrastOf(colour, Qt::black) > contrastOf(colour, Qt::white) ? Qt::black : Qt::white;
}

QColor mixed(const QColor& a, const QColor& b, double shareOfB) {
    const auto channel = [shareOfB](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * shareOfB)); };
    return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

Pattern patternOf(int index) {
    const int held = std::abs(index);
    return static_cast<Pattern>((held + held / kSeriesColours) % kPatterns);
}

bool hasInk(Pattern pattern, int x, int y) {
    constexpr int kInk = 2;
    const auto in = [](int v) { return ((v % kPatternPeriod) + kPatternPeriod) % kPatternPeriod < kInk; };
    switch (pattern) {
        case Pattern::Solid:
            return false;
        case Pattern::Diagonal:
            return in(x + y);
        case Pattern::BackDiagonal:
            return in(x - y);
        case Pattern::Horizontal:
            return in(y);
        case Pattern::Vertical:
            return in(x);
        case Pattern::Cross:
            return in(x + y) || in(x - y);
        case Pattern::Dots:
            return in(x) && in(y);
    }
    return false;
}

QColor patternInk(const QColor& colour) {
    return mixed(colour, inkOn(colour), 0.32);
}

QBrush patternBrush(const QColor& colour, Pattern pattern) {
    if (pattern == Pattern::Solid) {
        return colour;
    }
    QImage tile(kPatternPeriod, kPatternPeriod, QImage::Format_RGB32);
    const QRgb ink = patternInk(colour).rgb();
    for (int y = 0; y < kPatternPeriod; ++y) {
        for (int x = 0; x < kPatternPeriod; ++x) {
            tile.setPixel(x, y, hasInk(pattern, x, y) ? ink : colour.rgb());
        }
    }
    return QBrush(tile);
}

LegendEntry areaEntry(const QString& text, int series, const QPalette& palette) {
    return {.text = text, .colour = seriesColour(series, palette), .pattern = patternOf(series)};
}

LegendEntry outlineEntry(const QString& text, const QPalette& palette) {
    return {.text = text, .kind = LegendEntry::Kind::Outline, .colour = Colours::of(palette).muted};
}

int legendHeight(const QFontMetrics& metrics, const std::vector<LegendEntry>& entries, int width) {
    const int lines = flow(metrics, entries, width, [](const LegendEntry&, int, int) {});
    return lines * (metrics.height() + 2);
}

void paintLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& entries,
                 const QPalette& palette) {
    const QFontMetrics metrics(painter.font(), painter.device());
    const Colours colours = Colours::of(palette);
    flow(metrics, entries, area.width(), [&](const LegendEntry& entry, int x, int line) {
        const int top = area.top() + line * (metrics.height() + 2);
        const QRect swatch(area.left() + x, top + (metrics.height() - kSwatch + 2) / 2, kSwatch, kSwatch - 2);
        switch (entry.kind) {
            case LegendEntry::Kind::Area:
                painter.fillRect(swatch, patternBrush(entry.colour, entry.pattern));
                if (!entry.glyph.isEmpty()) {
                    QFont small = painter.font();
                    small.setPixelSize(kSwatch - 4);
                    painter.save();
                    painter.setFont(small);
                    painter.setPen(inkOn(entry.colour));
                    painter.drawText(swatch, Qt::AlignCenter, entry.glyph);
                    painter.restore();
                }
                break;
            case LegendEntry::Kind::Sign:
                entry.paintSign(painter, swatch);
                break;
            case LegendEntry::Kind::Outline:
                painter.setPen(QPen(entry.colour, 1));
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(swatch.adjusted(0, 2, -1, -3));
                break;
            case LegendEntry::Kind::Line:
            case LegendEntry::Kind::DashedLine: {
                const double y = swatch.center().y() + 0.5;
                QPen pen(entry.colour, 2);
                if (entry.kind == LegendEntry::Kind::DashedLine) {
                    pen.setDashPattern({2, 1.5});
                }
                painter.setPen(pen);
                painter.drawLine(QPointF(swatch.left(), y), QPointF(swatch.right() + 1, y));
                if (entry.marker >= 0) {
                    paintMarker(painter, {swatch.left() + kSwatch / 2.0, y}, entry.marker, entry.colour);
                }
                break;
            }
        }
        painter.setPen(colours.text);
        const QRect text(swatch.right() + 1 + kSwatchGap, top, area.right() - swatch.right() - kSwatchGap,
                         metrics.height());
        painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(entry.text, Qt::ElideRight, text.width()));
    });
}

void paintMarker(QPainter& painter, QPointF at, int marker, const QColor& colour) {
    constexpr double kHalf = 3.5;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    switch (((marker % kMarkers) + kMarkers) % kMarkers) {
        case 0:
            painter.drawEllipse(at, kHalf, kHalf);
            break;
        case 1:
            painter.drawRect(QRectF(at.x() - 3, at.y() - 3, 6, 6));
            break;
        case 2:
            painter.drawPolygon(QPolygonF({at + QPointF(0, -4.5), at + QPointF(4.2, 3), at + QPointF(-4.2, 3)}));
            break;
        case 3:
            painter.drawPolygon(
                QPolygonF({at + QPointF(0, -4.6), at + QPointF(4.6, 0), at + QPointF(0, 4.6), at + QPointF(-4.6, 0)}));
            break;
        case 4:
            painter.drawPolygon(QPolygonF({at + QPointF(0, 4.5), at + QPointF(4.2, -3), at + QPointF(-4.2, -3)}));
            break;
        case 5:
            painter.drawRect(QRectF(at.x() - 4.5, at.y() - 1.5, 9, 3));
            painter.drawRect(QRectF(at.x() - 1.5, at.y() - 4.5, 3, 9));
            break;
        default:
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(colour, 1.5));
            painter.drawEllipse(at, kHalf, kHalf);
    }
    painter.restore();
}

}  // namespace offstage::ui
