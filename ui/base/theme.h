#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

class QApplication;

namespace offstage::ui {

enum class Theme { System, Light, Dark };

Theme themeFromName(const QString& name);  // "light", "dark", anything else: System
QString nameOf(Theme theme);

// Applies Fusion style with our light or dark palette, or the palette that the desktop
// gave at the start.
void applyTheme(QApplication& app, Theme theme);

// Sets the text size in points above the size that the desktop gave at the start:
// kTextSmallest .. kTextLargest.
inline constexpr int kTextSmallest = -2;
inline constexpr int kTextLargest = 8;
void applyTextSize(QApplication& app, int steps);

bool isDark(const QPalette& palette);

// Colours beyond QPalette's roles, derived from it: read again on PaletteChange.
struct Colours {
    QColor text;
    QColor muted;    // captions; at least 4.5:1 on the surface
    QColor surface;  // behind the conversation
    QColor raised;   // cards, code
    QColor prompt;   // the user's bubble
    QColor line;     // hairlines
    QColor accent;   // focus, links, chosen things
    QColor problem;  // the error card's stripe and icon
    QColor problemSurface;

    static Colours of(const QPalette& palette);
};

}  // namespace offstage::ui
