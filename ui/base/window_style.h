#pragma once

#include <QProxyStyle>

namespace offstage::ui {

// Fusion, with what is missing there: a dock's title in the dock's present font, texts of
// boxes cut in their middle, whole in the tip and in the list below, those of buttons cut
// at their end, a tool bar's overflow button and outlines of unchecked boxes that can be
// seen in the dark, marks of lists and tables that have the focus and of rows that
// something can be dropped on, and one quiet style of scroll bars.
class WindowStyle : public QProxyStyle {
    Q_OBJECT

  public:
    static constexpr int kScrollBar = 12;  // pixels wide

    WindowStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* data) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                            const QWidget* widget) const override;
    QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                         const QWidget* widget) const override;
    using QProxyStyle::polish;
    void polish(QWidget* widget) override;

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace offstage::ui
