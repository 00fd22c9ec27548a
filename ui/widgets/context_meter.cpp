#include "ui/widgets/context_meter.h"

#include <algorithm>

#include <QLocale>
#include <QPainter>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kBarWidth = 56;
constexpr int kBarHeight = 6;
constexpr int kMeterGap = 8;
constexpr double kNearlyFull = 0.9;

}  // namespace

ContextMeter::ContextMeter(QWidget* parent) : QWidget(parent) {
    setUsed(0, 0);
}

void ContextMeter::setUsed(qint64 used, qint64 size) {
    if (used == m_used && size == m_size && !toolTip().isEmpty()) {
        return;
    }
    // With each piece of an answer: numbers within the context change no size.
    const bool mayGrow = size != m_size || std::max(used, m_used) > size;
    m_used = used;
    m_size = size;
    setAccessibleName(tr("Context used: %1").arg(text()));
    setToolTip(tr("This conversation in the model's context: %1").arg(text()));
    setVisible(size > 0);
    if (mayGrow) {
        updateGeometry();
    }
    update();
}

QString ContextMeter::text() const {
    return textOf(m_used);
}

QString ContextMeter::textOf(qint64 used) const {
    return tr("%1 of %2 tokens")
        .arg(used < 0 ? QStringLiteral("–") : QLocale().toString(used), QLocale().toString(m_size));
}

QSize ContextMeter::sizeHint() const {
    // As wide as the full context's text: growing numbers move nothing, until attached
    // files exceed the room.
    const int width =
        std::max(fontMetrics().horizontalAdvance(textOf(m_size)), fontMetrics().horizontalAdvance(text()));
    return {width + kMeterGap + kBarWidth + 4, fontMetrics().height() + 4};
}

void ContextMeter::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    const QRectF bar(width() - kBarWidth - 2.0, (height() - kBarHeight) / 2.0, kBarWidth, kBarHeight);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colours.line);
    painter.drawRoundedRect(bar, 3, 3);
    if (m_size > 0 && m_used > 0) {
        const double share = std::clamp(static_cast<double>(m_used) / static_cast<double>(m_size), 0.02, 1.0);
        painter.setBrush(share > kNearlyFull ? colours.problem : palette().color(QPalette::Highlight));
        painter.drawRoundedRect(QRectF(bar.topLeft(), QSizeF(share * kBarWidth, kBarHeight)), 3, 3);
    }
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(0, 0, width() - kBarWidth - kMeterGap - 2, height()), Qt::AlignRight | Qt::AlignVCenter,
                     text());
}

}  // namespace offstage::ui
