#pragma once

#include <QImage>
#include <QString>

class QWidget;

namespace offstage::ui {

// What a picture of a plot says besides the plot.
struct PictureTexts {
    QString title;              // what is shown; may be empty
    QWidget* legend = nullptr;  // explains the colours; nullptr: none
};

// The painted plot without blank edges, with its title above and its legend below, in the
// plot's font and colours. The legend is laid out for the picture, and then as before.
// GUI thread only.
QImage finishedPicture(const QImage& painted, const PictureTexts& texts, const QWidget& plot);

}  // namespace offstage::ui
