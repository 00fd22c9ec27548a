#pragma once
// Pictures of widgets to look at, in the folder that OFFSTAGE_PICTURES names, if any.

#include <initializer_list>

#include <QApplication>
#include <QWidget>

#include "ui/base/theme.h"

namespace offstage::test {

// As it is.
inline void takePicture(QWidget& widget, const QString& name) {
    const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
    if (!folder.isEmpty()) {
        widget.grab().save(folder + u'/' + name + QStringLiteral(".png"));
    }
}

// In both themes and so wide each.
inline void picture(QWidget& widget, const QString& name, std::initializer_list<int> widths = {360, 900},
                    int height = 760) {
    const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
    if (folder.isEmpty()) {
        return;
    }
    for (const ui::Theme theme : {ui::Theme::Light, ui::Theme::Dark}) {
        ui::applyTheme(*qApp, theme);
        for (const int width : widths) {
            widget.resize(width, height);
            for (int pass = 0; pass < 4; ++pass) {  // rows find their height once they were laid out
                QCoreApplication::processEvents();
            }
            widget.grab().save(QStringLiteral("%1/%2-%3-%4.png").arg(folder, name, nameOf(theme)).arg(width));
        }
    }
    ui::applyTheme(*qApp, ui::Theme::Light);
}

}  // namespace offstage::test
