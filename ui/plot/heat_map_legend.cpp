#include <cmath>

#include <QLocale>
#include <QPainter>

#include "ui/plot/heat_map.h"
#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kBar = 12;   // height of the coloured bar
constexpr int kSide = 22;  // half a label stands out at each end

QString percent(double share) {
    const double value = 100 * share;
    return QLocale().toString(value, 'f', value < 10 && std::abs(value - std::round(value)) > 0.05 ? 1 : 0) +
           QStringLiteral(" %");
}

}  // namespace

HeatMapLegend::HeatMapLegend(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void HeatMapLegend::setRange(double top, double mark, const QString& markText) {
    if (top != m_top || mark != m_mark || markText != m_markText) {
        m_top = top;
        m_mark = mark;
        m_markText = markText;
        setAccessibleName(tr("Colour scale: from 0 to %1; %2 %3").arg(percent(top), markText, percent(mark)));
        update();
    }
}

QSize HeatMapLegend::sizeHint() const {
    return {240, 2 * fontMetrics().height() + kBar + 14};
}

void HeatMapLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    const ColorScale scale(isDark(palette()) ? ColorScale::Ground::Dark : ColorScale::Ground::Light);
    const int line = fontMetrics().height();
    const QRect bar(kSide, line + 6, std::max(40, width() - 2 * kSide), kBar);
    for (int x = 0; x < bar.width(); ++x) {
        painter.fillRect(bar.left() + x, bar.top(), 1, bar.height(), QColor(scale.at(x / (bar.width() - 1.0))));
    }
    painter.setPen(colours.line);
    painter.drawRect(bar.adjusted(0, 0, -1, -1));
    painter.setPen(colours.muted);
    constexpr int kTicks = 4;
    for (int i = 0; i <= kTicks; ++i) {
        const int x = bar.left() + i * (bar.width() - 1) / kTicks;
        painter.drawLine(x, bar.bottom() + 1, x, bar.bottom() + 4);
        painter.drawText(QRect(x - 40, bar.bottom() + 5, 80, line), Qt::AlignHCenter | Qt::AlignTop,
                         percent(m_top * i / kTicks));
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
