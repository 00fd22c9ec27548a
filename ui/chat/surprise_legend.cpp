#include "ui/chat/surprise_legend.h"

#include <QLocale>
#include <QPainter>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kLegendLine = 18, kLegendGap = 4, kLegendBetween = 12;  // pixels
constexpr int kLegendWindow = 900;

QString boundText(double bound) {
    return SurpriseLegend::tr("< %1 %", "probability of a word").arg(QLocale().toString(100 * bound));
}

}  // namespace

QPen surprisePen(std::size_t level, bool dark) {
    static constexpr std::array<QRgb, 4> kLight = {0x7d93aa, 0x0072b2, 0xc77700, 0xc43c00};
    static constexpr std::array<QRgb, 4> kDark = {0x8fa9c4, 0x56b4e9, 0xe69f00, 0xff7a45};
    static constexpr std::array<double, 4> kWidth = {1.5, 2, 2, 3.5};
    static const std::array<QList<double>, 4> kDashes = {QList<double>{1.5, 1.5}, QList<double>{3.5, 1.5}, {}, {}};
    QPen pen(QColor(dark ? kDark[level] : kLight[level]), kWidth[level], Qt::SolidLine, Qt::FlatCap);
    if (!kDashes[level].isEmpty()) {
        pen.setDashPattern(kDashes[level]);
    }
    return pen;
}

SurpriseLegend::SurpriseLegend(QWidget* parent) : QWidget(parent) {
    QStringList bounds;
    for (const double bound : kSurpriseBounds) {
        bounds << boundText(bound);
    }
    setAccessibleName(tr("Lines under unlikely words: dotted %1, dashed %2, solid %3, thick %4")
                          .arg(bounds[0], bounds[1], bounds[2], bounds[3]));
    setToolTip(accessibleName());
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void SurpriseLegend::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    window()->installEventFilter(this);
}

bool SurpriseLegend::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) {
        updateGeometry();
    }
    return QWidget::eventFilter(watched, event);
}

QSize SurpriseLegend::sizeHint() const {
    int width = 0;
    for (const double bound : kSurpriseBounds) {
        width += kLegendLine + kLegendGap + fontMetrics().horizontalAdvance(boundText(bound)) + kLegendBetween;
    }
    return {window()->width() < kLegendWindow ? 0 : width, fontMetrics().height() + 4};
}

void SurpriseLegend::paintEvent(QPaintEvent*) {
    if (width() < sizeHint().width()) {
        return;
    }
    QPainter painter(this);
    int x = 0;
    std::size_t level = 0;
    for (const double bound : kSurpriseBounds) {
        const QString text = boundText(bound);
        painter.setPen(surprisePen(level++, isDark(palette())));
        const double y = fontMetrics().ascent() + 3.5;
        painter.drawLine(QPointF(x, y), QPointF(x + kLegendLine, y));
        x += kLegendLine + kLegendGap;
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(QPointF(x, fontMetrics().ascent() + 2), text);
        x += fontMetrics().horizontalAdvance(text) + kLegendBetween;
    }
}

}  // namespace offstage::ui
