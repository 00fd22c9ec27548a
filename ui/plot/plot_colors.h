#pragma once
// Colours, patterns and marks that distinguish series; none of them is used alone.

#include <functional>
#include <vector>

#include <QBrush>
#include <QColor>
#include <QPalette>
#include <QRect>
#include <QString>

class QFontMetrics;
class QPainter;

namespace offstage::ui {

// Each has 3:1 against the palette's background. The first seven are hues after Okabe and
// Ito (Color Universal Design, 2008). The eight behind them are for parts of a bar that
// touch (ui/load/format_categories.h): dark blue, red and grey have 3:1 against green,
// blue, purple, olive and orange, and no two look alike for any kind of colour vision.
// index >= 0; larger indices repeat the hues.
inline constexpr int kSeriesColours = 15;
QColor seriesColour(int index, const QPalette& palette);

// Black or white, whichever is more readable on the colour.
QColor inkOn(const QColor& colour);
// The contrast ratio of WCAG 2, 1..21.
double contrastOf(const QColor& a, const QColor& b);
// a with `shareOfB` of b.
QColor mixed(const QColor& a, const QColor& b, double shareOfB);

enum class Pattern { Solid, Diagonal, Dots, BackDiagonal, Horizontal, Cross, Vertical };
// A pattern for the index-th category; patterns repeat so that colour and pattern
// together repeat after kSeriesColours * kPatterns.
inline constexpr int kPatterns = 7;
Pattern patternOf(int index);
// Whether the pattern is drawn at this pixel; all repeat after kPatternPeriod pixels in
// both directions.
inline constexpr int kPatternPeriod = 6;
bool hasInk(Pattern pattern, int x, int y);
QColor patternInk(const QColor& colour);
QBrush patternBrush(const QColor& colour, Pattern pattern);

struct LegendEntry {
    enum class Kind { Area, Line, DashedLine, Outline, Sign };
    QString text;
    Kind kind = Kind::Area;
    QColor colour;
    Pattern pattern = Pattern::Solid;
    int marker = -1;     // for a line: shape as drawn by paintMarker, -1 for none
    QString glyph = {};  // for an area: a letter on it
    std::function<void(QPainter&, const QRect& place)> paintSign = {};
};

// Of a series' areas, and of an outline that belongs to no series.
LegendEntry areaEntry(const QString& text, int series, const QPalette& palette);
LegendEntry outlineEntry(const QString& text, const QPalette& palette);

// Entries from left to right, on as many lines as they need.
int legendHeight(const QFontMetrics& metrics, const std::vector<LegendEntry>& entries, int width);
void paintLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& entries,
                 const QPalette& palette);
// Circle, square, triangle, diamond, ... of about 6 pixels in the painter's pen colour.
void paintMarker(QPainter& painter, QPointF at, int marker, const QColor& colour);

}  // namespace offstage::ui
