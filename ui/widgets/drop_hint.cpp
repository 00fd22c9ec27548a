#include "ui/widgets/drop_hint.h"

#include <QPainter>

#include "ui/base/theme.h"

namespace offstage::ui {

DropHint::DropHint(QWidget* window) : QWidget(window) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    hide();
}

void DropHint::setText(const QString& text) {
    m_text = text;
    setAccessibleName(text);
    update();
}

void DropHint::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Colours colours = Colours::of(palette());
    QColor veil = colours.surface;
    veil.setAlphaF(0.88f);
    painter.fillRect(rect(), veil);
    const QRectF frame = QRectF(rect()).adjusted(24, 24, -24, -24);
    painter.setPen(QPen(colours.accent, 2, Qt::DashLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(frame, 16, 16);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.5);
    painter.setFont(large);
    painter.setPen(colours.text);
    painter.drawText(frame.adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap, m_text);
}

}  // namespace offstage::ui
