#include "ui/plot/plot_picture.h"

#include <algorithm>
#include <iterator>

#include <QPainter>
#include <QWidget>

namespace offstage::ui {

namespace {

// Without the rows and columns at the edges that have nothing but the ground, except for
// a margin.
QImage trimmed(const QImage& image, QRgb ground, int margin) {
    QRect content;
    for (int y = 0; y < image.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        const auto* end = line + image.width();
        const auto differs = [ground](QRgb pixel) { return pixel != ground; };
        const auto* first = std::find_if(line, end, differs);
        if (first != end) {
            const auto last = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(line), differs);
            content |=
                QRect(QPoint(static_cast<int>(first - line), y), QPoint(static_cast<int>(last.base() - line) - 1, y));
        }
    }
    const QRect whole = content.adjusted(-margin, -margin, margin, margin) & image.rect();
    QImage out = content.isEmpty() ? image : image.copy(whole);
    out.setDevicePixelRatio(image.devicePixelRatio());
    return out;
}

}  // namespace

QImage finishedPicture(const QImage& painted, const PictureTexts& texts, const QWidget& plot) {
    constexpr int kMargin = 8, kLegendWidth = 380;
    const double ratio = painted.devicePixelRatio();
    const QColor ground = plot.palette().color(QPalette::Window);
    const QImage shown = trimmed(painted, ground.rgb(), static_cast<int>(kMargin * ratio));
    if (texts.title.isEmpty() && texts.legend == nullptr) {
        return shown;
    }
    const QSize size = (QSizeF(shown.size()) / ratio).toSize();
    const int width = std::max(size.width(), kLegendWidth);
    const QRect title = plot.fontMetrics().boundingRect(QRect(kMargin, kMargin, width - 2 * kMargin, 200),
                                                        Qt::TextWordWrap, texts.title);
    const int top = texts.title.isEmpty() ? 0 : title.bottom() + 1;
    QWidget* const legend = texts.legend;
    const QSize kept = legend != nullptr ? legend->size() : QSize();
    int below = 0;
    if (legend != nullptr) {
        const int wide = width - 2 * kMargin;
        below = legend->hasHeightForWidth() ? legend->heightForWidth(wide) : legend->sizeHint().height();
        legend->resize(wide, below);
    }
    QImage image((QSizeF(width, top + size.height() + below + (below > 0 ? kMargin : 0)) * ratio).toSize(),
                 QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(ground);
    QPainter painter(&image);
    painter.setFont(plot.font());
    painter.setPen(plot.palette().color(QPalette::WindowText));
    painter.drawText(title, Qt::TextWordWrap, texts.title);
    painter.drawImage(QPoint(0, top), shown);
    if (legend != nullptr) {
        legend->render(&painter, QPoint(kMargin, top + size.height()));
        legend->resize(kept);
    }
    return image;
}

}  // namespace offstage::ui
