#include "ui/base/theme.h"

#include <algorithm>

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleOption>
#include <QWidget>

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

// Qt keeps the font that a dock's title had when the dock was made. This style uses the
// dock's present font, which follows the text size.
class DockTitleStyle : public QProxyStyle {
  public:
    DockTitleStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
        const auto* box =
            element == CE_ComboBoxLabel ? qstyleoption_cast<const QStyleOptionComboBox*>(option) : nullptr;
        if (box != nullptr && !box->editable && box->currentIcon.isNull()) {
            drawBoxLabel(*box, painter, widget);
            return;
        }
        const bool title = element == CE_DockWidgetTitle && widget != nullptr;
        if (title) {
            painter->save();
            painter->setFont(widget->font());
        }
        QProxyStyle::drawControl(element, option, painter, widget);
        if (title) {
            painter->restore();
        }
    }

    // Elides a text that is too long for its box in the middle, because "…, changed" is
    // at its end.
    void drawBoxLabel(const QStyleOptionComboBox& box, QPainter* painter, const QWidget* widget) const {
        constexpr int kMargins = 2;  // of the text in its field
        QStyleOptionComboBox shown = box;
        const int field = proxy()->subControlRect(CC_ComboBox, &box, SC_ComboBoxEditField, widget).width();
        if (box.fontMetrics.horizontalAdvance(box.currentText) > field) {
            shown.currentText = box.fontMetrics.elidedText(box.currentText, Qt::ElideMiddle, field - kMargins);
        }
        QProxyStyle::drawControl(CE_ComboBoxLabel, &shown, painter, widget);
    }

    // The desktop's icons of "Close" and "Cancel" are dark and hardly visible on a dark
    // button.
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* data) const override {
        return hint == SH_DialogButtonBox_ButtonsHaveIcons ? 0 : QProxyStyle::styleHint(hint, option, widget, data);
    }

    // Fusion's outline of an unchecked box has a shade of the window's colour and is
    // hardly visible in a dark theme.
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override {
        QProxyStyle::drawPrimitive(element, option, painter, widget);
        const bool isBox = element == PE_IndicatorCheckBox, isRadio = element == PE_IndicatorRadioButton;
        if ((!isBox && !isRadio) || !isDark(option->palette)) {
            return;
        }
        const auto group = option->state & State_Enabled ? QPalette::Active : QPalette::Disabled;
        const QRectF frame = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setBrush(Qt::NoBrush);
        painter->setPen(
            option->palette.color(group, group == QPalette::Disabled ? QPalette::Text : QPalette::PlaceholderText));
        if (isBox) {
            painter->drawRoundedRect(frame, 1.5, 1.5);
        } else {
            painter->drawEllipse(frame);
        }
        painter->restore();
    }
};

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
        app.setStyle(new DockTitleStyle);
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
