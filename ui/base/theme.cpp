#include "ui/base/theme.h"

#include <algorithm>

#include <QApplication>

#include "ui/base/window_style.h"

namespace offstage::ui {

namespace {

struct Shades {
    QRgb window, base, alternate, text, muted, button, mid, dark, highlight, highlightedText, link, tip, disabled;
};

constexpr Shades kLight{0xfff3f4f7, 0xffffffff, 0xfff7f8fa, 0xff1b1f27, 0xff5c6472, 0xffffffff, 0xffd3d7df,
                        0xffa9b0bd, 0xff2459a6, 0xffffffff, 0xff1f5fae, 0xffffffff, 0xff747c89};
constexpr Shades kDark{0xff1b1e25, 0xff14161b, 0xff20242c, 0xffe7e9ee, 0xff9ca4b3, 0xff2a2f39, 0xff3a404c,
                       0xff0e1014, 0xff5b96e6, 0xff0d1117, 0xff7fb2f5, 0xff2a2f39, 0xff808897};

QPalette paletteOf(const Shades& s) {
    QPalette p;
    p.setColor(QPalette::Window, s.window);
    p.setColor(QPalette::WindowText, s.text);
    p.setColor(QPalette::Base, s.base);
    p.setColor(QPalette::AlternateBase, s.alternate);
    p.setColor(QPalette::Text, s.text);
    p.setColor(QPalette::PlaceholderText, s.muted);
    p.setColor(QPalette::Button, s.button);
    p.setColor(QPalette::ButtonText, s.text);
    p.setColor(QPalette::BrightText, s.highlightedText);
    p.setColor(QPalette::ToolTipBase, s.tip);
    p.setColor(QPalette::ToolTipText, s.text);
    p.setColor(QPalette::Highlight, s.highlight);
    p.setColor(QPalette::HighlightedText, s.highlightedText);
    p.setColor(QPalette::Link, s.link);
    p.setColor(QPalette::LinkVisited, s.link);
    p.setColor(QPalette::Light, QColor(s.button).lighter(110));
    p.setColor(QPalette::Midlight, QColor(s.mid).lighter(106));
    p.setColor(QPalette::Mid, s.mid);
    p.setColor(QPalette::Dark, s.dark);
    p.setColor(QPalette::Shadow, 0xff000000);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, s.disabled);
    }
    p.setColor(QPalette::Disabled, QPalette::Button, s.window);  // flat
    p.setColor(QPalette::Disabled, QPalette::Highlight, s.mid);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, s.muted);
    return p;
}

QColor mix(const QColor& a, const QColor& b, double shareOfB) {
    const auto channel = [shareOfB](float x, float y) { return static_cast<float>(x * (1 - shareOfB) + y * shareOfB); };
    return QColor::fromRgbF(channel(a.redF(), b.redF()), channel(a.greenF(), b.greenF()),
                            channel(a.blueF(), b.blueF()));
}

}  // namespace

Theme themeFromName(const QString& name) {
    if (name.compare(QStringLiteral("light"), Qt::CaseInsensitive) == 0) {
        return Theme::Light;
    }
    return name.compare(QStringLiteral("dark"), Qt::CaseInsensitive) == 0 ? Theme::Dark : Theme::System;
}

QString nameOf(Theme theme) {
    switch (theme) {
        case Theme::Light:
            return QStringLiteral("light");
        case Theme::Dark:
            return QStringLiteral("dark");
        case Theme::System:
            break;
    }
    return QStringLiteral("system");
}

void applyTheme(QApplication& app, Theme theme) {
    // The desktop's own palette, saved before our first change. The application owns it.
    static const char kKey[] = "offstageDesktopIsDark";
    if (!app.property(kKey).isValid()) {
        app.setProperty(kKey, isDark(app.palette()));
        app.setStyle(new WindowStyle);
    }
    const bool dark = theme == Theme::Dark || (theme == Theme::System && app.property(kKey).toBool());
    app.setPalette(paletteOf(dark ? kDark : kLight));
}

void applyTextSize(QApplication& app, int steps) {
    static const char kKey[] = "offstageDesktopPointSize";
    QFont font = QApplication::font();
    if (!app.property(kKey).isValid()) {
        app.setProperty(kKey, font.pointSizeF());
    }
    font.setPointSizeF(app.property(kKey).toDouble() + std::clamp(steps, kTextSmallest, kTextLargest));
    if (font != QApplication::font()) {
        QApplication::setFont(font);
    }
}

bool isDark(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

Colours Colours::of(const QPalette& palette) {
    Colours c;
    const bool dark = isDark(palette);
    c.text = palette.color(QPalette::Text);
    c.muted = palette.color(QPalette::PlaceholderText);
    c.surface = palette.color(QPalette::Base);
    c.raised = mix(c.surface, c.text, dark ? 0.075 : 0.04);
    c.accent = palette.color(QPalette::Link);
    c.prompt = mix(c.surface, palette.color(QPalette::Highlight), dark ? 0.24 : 0.11);
    c.line = mix(c.surface, c.text, dark ? 0.17 : 0.13);
    c.problem = dark ? QColor(0xf2, 0x9d, 0x68) : QColor(0xb4, 0x4a, 0x12);
    c.problemSurface = mix(c.surface, c.problem, dark ? 0.13 : 0.07);
    return c;
}

}  // namespace offstage::ui
