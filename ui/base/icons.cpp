#include "ui/base/icons.h"

#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

// The linker drops resources of a static library unless they are named; the macro must be
// outside of namespaces.
static void initResources() {
    Q_INIT_RESOURCE(offstage);
}

namespace offstage::ui {

void keepResources() {
    initResources();
}

namespace {

QPixmap draw(const QString& name, int size, const QColor& tint) {
    keepResources();
    QSvgRenderer svg(QStringLiteral(":/icons/%1.svg").arg(name));
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    svg.render(&painter);
    if (tint.isValid()) {
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(pixmap.rect(), tint);
    }
    return pixmap;
}

}  // namespace

QIcon themedIcon(const QString& name, const QPalette& palette) {
    QIcon icon;
    for (const int size : {16, 20, 24, 32, 48}) {
        icon.addPixmap(draw(name, size, palette.color(QPalette::Active, QPalette::ButtonText)));
        icon.addPixmap(draw(name, size, palette.color(QPalette::Disabled, QPalette::ButtonText)), QIcon::Disabled);
    }
    return icon;
}

QIcon colouredIcon(const QString& name, const QColor& colour) {
    QIcon icon;
    QColor faint = colour;
    faint.setAlphaF(0.35F);
    for (const int size : {16, 20, 24, 32, 48}) {
        icon.addPixmap(draw(name, size, colour));
        icon.addPixmap(draw(name, size, faint), QIcon::Disabled);  // Qt's own would be a lighter grey in the dark
    }
    return icon;
}

QIcon programIcon() {
    QIcon icon;
    for (const int size : {16, 24, 32, 48, 64, 128, 256}) {
        icon.addPixmap(draw(QStringLiteral("offstage"), size, {}));
    }
    return icon;
}

}  // namespace offstage::ui
