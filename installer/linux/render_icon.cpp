// render_icon SVG SIZE PNG: draws the icon in one size.
#include <QImage>
#include <QPainter>
#include <QString>
#include <QSvgRenderer>

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const int size = QString::fromLocal8Bit(argv[2]).toInt();
    QSvgRenderer icon(QString::fromLocal8Bit(argv[1]));
    QImage image(size, size, QImage::Format_ARGB32_Premultiplied);
    if (!icon.isValid() || image.isNull()) return 1;
    image.fill(Qt::transparent);
    QPainter painter(&image);
    icon.render(&painter);
    painter.end();
    return image.save(QString::fromLocal8Bit(argv[3])) ? 0 : 1;
}
