#include "ui/plot/heat_map_painter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <QStaticText>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kSmallestHatched = 6;
constexpr int kSmallestHaloed = 8;  // inside the ring, too

}  // namespace

void HeatMapPainter::paintCells() {
    // Tens of thousands of small rectangles are several times faster as rows of pixels
    // than as calls of fillRect.
    const HeatMapGeometry& g = m_geometry;
    const double ratio = m_painter.device()->devicePixelRatioF();
    const auto pixel = [ratio](int layout) { return static_cast<int>(std::lround(layout * ratio)); };
    QImage image(pixel(g.width()), pixel(g.rows * g.height), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    const int high = std::max(1, g.height - g.gap);
    const int wide = std::max(1, g.cell - g.gap);
    const bool glyphs = glyphSize() > 0;
    std::vector<QRgb> colours(static_cast<std::size_t>(m_cells.columns()));
    std::vector<QRgb> inks(static_cast<std::size_t>(m_cells.columns()));
    std::vector<Pattern> patterns(static_cast<std::size_t>(m_cells.columns()));
    for (int row = 0; row < g.rows; ++row) {
        bool hatched = false;
        for (int column = g.columns.begin; column < g.columns.end; ++column) {
            const auto at = static_cast<std::size_t>(column);
            colours[at] = m_cells.colourAt({row, column});
            const HeatMapCells::Category* category = m_cells.categoryAt({row, column});
            const bool large = std::min(high, wide) >= kSmallestHatched;
            patterns[at] = category != nullptr && large && (!glyphs || category->glyph.isEmpty()) ? category->pattern
                                                                                                  : Pattern::Solid;
            if (patterns[at] != Pattern::Solid) {
                hatched = true;
                inks[at] = patternInk(colours[at]).rgb();
            }
        }
        const int top = pixel(row * g.height);
        const int bottom = std::max(top + 1, pixel(row * g.height + high));
        for (int y = top; y < bottom && y < image.height(); ++y) {
            auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
            if (y > top && !hatched) {
                std::copy_n(reinterpret_cast<const QRgb*>(image.constScanLine(top)), image.width(), line);
                continue;
            }
            for (int column = g.columns.begin; column < g.columns.end; ++column) {
                const auto at = static_cast<std::size_t>(column);
                const int x0 = (column - g.columns.begin) * g.cell;
                const int left = pixel(x0);
                const int right = std::min(image.width(), std::max(left + 1, pixel(x0 + wide)));
                if (patterns[at] == Pattern::Solid) {
                    std::fill(line + left, line + right, colours[at]);
                } else {
                    for (int x = left; x < right; ++x) {
                        line[x] = hasInk(patterns[at], x - left, y - top) ? inks[at] : colours[at];
                    }
                }
            }
        }
    }
    m_painter.drawImage(QPointF(g.left, g.top), image);
    if (g.strip > 0) {
        paintSummaries();
    }
    if (glyphs) {
        paintGlyphs();
    }
}

void HeatMapPainter::paintSummaries() {
    const HeatMapGeometry& g = m_geometry;
    const HeatMapSummary& all = m_cells.summary();
    const Colours colours = Colours::of(m_palette);
    const QColor track = mixed(colours.surface, colours.text, 0.06), bar = mixed(colours.surface, colours.text, 0.45);
    const int longest = g.strip - HeatMapGeometry::kStripGap;
    // `place` of a bar's piece from `begin` to `end` of its length.
    const auto paint = [&](double value, std::span<const int> kinds, const auto& place) {
        m_painter.fillRect(place(0, longest), track);
        if (!m_cells.isCategorical()) {
            m_painter.fillRect(
                place(0, static_cast<int>(std::lround(longest * std::clamp(value / m_cells.top(), 0.0, 1.0)))), bar);
            return;
        }
        const int cells = std::max(1, std::accumulate(kinds.begin(), kinds.end(), 0));
        int before = 0;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const int begin = before * longest / cells;
            before += kinds[i];
            m_painter.fillRect(place(begin, before * longest / cells), QColor(m_cells.colourOfKind(i)));
        }
    };
    const bool kinds = m_cells.isCategorical();
    for (int row = 0; row < g.rows; ++row) {
        paint(kinds ? 0 : all.row(row), kinds ? all.kindsOfRow(row) : std::span<const int>(), [&](int begin, int end) {
            return QRect(g.left + g.width() + HeatMapGeometry::kStripGap + begin, g.top + row * g.height, end - begin,
                         std::max(1, g.height - g.gap));
        });
    }
    for (int column = g.columns.begin; column < g.columns.end; ++column) {
        paint(kinds ? 0 : all.column(column), kinds ? all.kindsOfColumn(column) : std::span<const int>(),
              [&](int begin, int end) {
                  return QRect(g.xOf(column), g.top + g.rows * g.height + HeatMapGeometry::kStripGap + begin,
                               std::max(1, g.cell - g.gap), end - begin);
              });
    }
}

int HeatMapPainter::glyphSize() const {
    const HeatMapGeometry& g = m_geometry;
    constexpr int kSmallestGlyph = 7;
    const int size =
        std::min({(g.height - g.gap) * 3 / 4, (g.cell - g.gap) * 3 / 4, QFontMetrics(m_font).height() * 3 / 4});
    return m_cells.isCategorical() && size >= kSmallestGlyph ? size : 0;
}

void HeatMapPainter::paintGlyphs() {
    const HeatMapGeometry& g = m_geometry;
    QFont glyphFont = m_font;
    glyphFont.setPixelSize(glyphSize());
    glyphFont.setBold(true);
    // Laid out once for each kind, not once for each cell.
    std::vector<QStaticText> glyphs;
    std::vector<QPointF> offsets;
    for (const HeatMapCells::Category& category : m_cells.categories()) {
        QStaticText text(category.glyph);
        text.setTextFormat(Qt::PlainText);
        text.prepare({}, glyphFont);
        offsets.emplace_back((g.cell - g.gap - text.size().width()) / 2, (g.height - g.gap - text.size().height()) / 2);
        glyphs.push_back(std::move(text));
    }
    m_painter.save();
    m_painter.setFont(glyphFont);
    QRgb penFor = 0;
    for (int row = 0; row < g.rows; ++row) {
        for (int column = g.columns.begin; column < g.columns.end; ++column) {
            const auto kind = static_cast<std::size_t>(m_cells.valueAt({row, column}));
            if (kind >= glyphs.size() || m_cells.categories()[kind].glyph.isEmpty()) {
                continue;
            }
            const QRgb colour = m_cells.colourAt({row, column});
            if (colour != penFor) {
                const QColor ink = inkOn(QColor(colour));
                // Quiet cells get quiet glyphs.
                m_painter.setPen(m_cells.categories()[kind].colour == HeatMapCells::Category::kQuiet
                                     ? mixed(QColor(colour), ink, 0.55)
                                     : ink);
                penFor = colour;
            }
            m_painter.drawStaticText(QPointF(g.xOf(column), g.top + row * g.height) + offsets[kind], glyphs[kind]);
        }
    }
    m_painter.restore();
}

void HeatMapPainter::paintMarks(const std::vector<Mark>& marks) {
    for (const Mark& mark : marks) {
        if (const QRectF cell = m_geometry.rectOf(mark.cell); !cell.isNull()) {
            paintSign(m_painter, cell, mark.sign, m_palette);
        }
    }
}

// Dark on a light edge: visible on every colour.
void HeatMapPainter::paintSign(QPainter& painter, const QRectF& cell, Sign sign, const QPalette& palette) {
    const Colours colours = Colours::of(palette);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const double side = std::clamp(std::min(cell.width(), cell.height()) * 0.45, 3.0, 9.0);
    const QPointF corner = cell.topRight();
    const QPolygonF triangle{corner, corner - QPointF(side, 0), corner + QPointF(0, side)};
    painter.setPen(QPen(palette.color(QPalette::Window), 1.5));
    painter.setBrush(sign == Sign::Hollow ? palette.color(QPalette::Window) : colours.text);
    if (sign == Sign::Dot) {
        painter.drawEllipse(QRectF(cell.left() + 1, cell.bottom() - side * 0.8 - 1, side * 0.8, side * 0.8));
    } else {
        painter.drawPolygon(triangle);
    }
    if (sign == Sign::Hollow) {
        painter.setPen(QPen(colours.text, 1.2));
        painter.setBrush(Qt::NoBrush);
        painter.drawPolygon(triangle);
    }
    painter.restore();
}

void HeatMapPainter::paintRing(Cell cell, const QColor& colour, int width) {
    // At least seven pixels wide, so that the ring of a cell of one pixel is visible; with
    // a halo outside, and inside where the cell has room, so that it is visible on any
    // colour.
    QRect inner = m_geometry.rectOf(cell);
    if (inner.isNull()) {
        return;  // zoomed out of sight
    }
    const int lackX = std::max(0, 5 - inner.width());
    const int lackY = std::max(0, 5 - inner.height());
    inner.adjust(-(lackX / 2 + 1), -(lackY / 2 + 1), (lackX + 1) / 2, (lackY + 1) / 2);
    m_painter.setPen(QPen(m_palette.color(QPalette::Window), 1));
    m_painter.drawRect(inner.adjusted(-width, -width, width, width));
    if (std::min(inner.width(), inner.height()) >= kSmallestHaloed) {
        m_painter.drawRect(inner.adjusted(1, 1, -1, -1));
    }
    m_painter.setPen(QPen(colour, 1));
    for (int i = 0; i < width; ++i) {
        m_painter.drawRect(inner.adjusted(-i, -i, i, i));
    }
}

}  // namespace offstage::ui
