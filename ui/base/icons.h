#pragma once

#include <QColor>
#include <QIcon>
#include <QPalette>

namespace offstage::ui {

// An icon of resources/icons/NAME.svg, drawn in this palette's text colour (and its
// disabled colour).
QIcon themedIcon(const QString& name, const QPalette& palette);
QIcon colouredIcon(const QString& name, const QColor& colour);
// The program's own, in its own colours.
QIcon programIcon();
// The files of resources/offstage.qrc can be opened from now on.
void keepResources();

}  // namespace offstage::ui
