#include "ui/base/window_style.h"

#include <algorithm>

#include <QAbstractItemView>
#include <QComboBox>
#include <QHelpEvent>
#include <QPainter>
#include <QStyleOption>
#include <QToolBar>
#include <QToolTip>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kLeastHandle = 32;
constexpr int kMargin = 3;  // of a button's cut text
constexpr qreal kHandleMargin = 2;

// Elides a text that is too long for its box in the middle, because "…, changed" is at
// its end.
QStyleOptionComboBox elided(const QStyleOptionComboBox& box, const QStyle& style, const QWidget* widget) {
    constexpr int kMargins = 2;  // of the text in its field
    QStyleOptionComboBox shown = box;
    const int field = style.subControlRect(QStyle::CC_ComboBox, &box, QStyle::SC_ComboBoxEditField, widget).width();
    if (box.fontMetrics.horizontalAdvance(box.currentText) > field) {
        shown.currentText = box.fontMetrics.elidedText(box.currentText, Qt::ElideMiddle, field - kMargins);
    }
    return shown;
}

// The list of a narrow box is as wide as its texts.
QRect widened(const QRect& list, const QComboBox& box) {
    const int bar = box.count() > box.maxVisibleItems() ? WindowStyle::kScrollBar : 0;
    const int wanted = box.view()->sizeHintForColumn(box.modelColumn()) + 2 * box.view()->frameWidth() + bar;
    return {list.topLeft(), QSize(std::max(list.width(), wanted), list.height())};
}

// Fusion's outline of an unchecked box has a shade of the window's colour.
void paintIndicator(const QStyleOption& option, QPainter& painter, bool isBox) {
    const auto group = option.state & QStyle::State_Enabled ? QPalette::Active : QPalette::Disabled;
    const QRectF frame = QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(
        option.palette.color(group, group == QPalette::Disabled ? QPalette::Text : QPalette::PlaceholderText));
    if (isBox) {
        painter.drawRoundedRect(frame, 1.5, 1.5);
    } else {
        painter.drawEllipse(frame);
    }
}

// The ground is that of what is scrolled. Without anything to scroll there is no handle.
void paintScrollBar(const QStyleOptionSlider& bar, QPainter& painter, const QRect& handle, const QWidget* widget) {
    const auto* area = widget != nullptr ? qobject_cast<const QAbstractScrollArea*>(widget->parentWidget()) : nullptr;
    if (area == nullptr && widget != nullptr && widget->parentWidget() != nullptr) {  // in a container of the area's
        area = qobject_cast<const QAbstractScrollArea*>(widget->parentWidget()->parentWidget());
    }
    const QWidget* const ground = area != nullptr ? area->viewport() : widget;
    painter.fillRect(bar.rect, ground != nullptr ? ground->palette().color(ground->backgroundRole())
                                                 : bar.palette.color(QPalette::Window));
    if (bar.maximum <= bar.minimum) {
        return;
    }
    const bool isHeld = (bar.state & QStyle::State_MouseOver || bar.state & QStyle::State_Sunken) &&
                        bar.activeSubControls & QStyle::SC_ScrollBarSlider;
    QColor colour = Colours::of(bar.palette).muted;
    colour.setAlphaF(isHeld ? 1.0F : 0.45F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const QRectF shape = QRectF(handle).adjusted(kHandleMargin, kHandleMargin, -kHandleMargin, -kHandleMargin);
    const qreal radius = std::min(shape.width(), shape.height()) / 2;
    painter.drawRoundedRect(shape, radius, radius);
}

// "»", or the same downwards: the style's picture of it is dark in the dark theme, too.
void paintOverflow(const QStyleOption& option, QPainter& painter, bool isFlat) {
    constexpr qreal kArm = 3.5, kBetweenArms = 5;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(option.palette.color(QPalette::ButtonText), 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.translate(QRectF(option.rect).center());
    painter.rotate(isFlat ? 0 : 90);
    for (const qreal tip : {(kArm - kBetweenArms) / 2, (kArm + kBetweenArms) / 2}) {
        const QPointF corners[] = {{tip - kArm, -kArm}, {tip, 0}, {tip - kArm, kArm}};
        painter.drawPolyline(corners, 3);
    }
}

}  // namespace

int WindowStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    return metric == PM_ScrollBarExtent      ? kScrollBar
           : metric == PM_ScrollBarSliderMin ? kLeastHandle
                                             : QProxyStyle::pixelMetric(metric, option, widget);
}

// The desktop's icons of "Close" and "Cancel" are dark and hardly visible on a dark
// button.
int WindowStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                           QStyleHintReturn* data) const {
    return hint == SH_DialogButtonBox_ButtonsHaveIcons ? 0 : QProxyStyle::styleHint(hint, option, widget, data);
}

void WindowStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                              const QWidget* widget) const {
    const auto* box = element == CE_ComboBoxLabel ? qstyleoption_cast<const QStyleOptionComboBox*>(option) : nullptr;
    if (box != nullptr && !box->editable && box->currentIcon.isNull()) {
        const QStyleOptionComboBox shown = elided(*box, *proxy(), widget);
        QProxyStyle::drawControl(element, &shown, painter, widget);
        return;
    }
    const auto* button =
        element == CE_ToolButtonLabel ? qstyleoption_cast<const QStyleOptionToolButton*>(option) : nullptr;
    if (button != nullptr && (button->icon.isNull() || button->toolButtonStyle == Qt::ToolButtonTextOnly) &&
        button->fontMetrics.size(Qt::TextShowMnemonic, button->text).width() > button->rect.width()) {
        QStyleOptionToolButton shown = *button;
        shown.text = button->fontMetrics.elidedText(button->text, Qt::ElideRight, button->rect.width() - 2 * kMargin,
                                                    Qt::TextShowMnemonic);
        QProxyStyle::drawControl(element, &shown, painter, widget);
        return;
    }
    if (button != nullptr && widget != nullptr && widget->objectName() == QStringLiteral("qt_toolbar_ext_button")) {
        const auto* bar = qobject_cast<const QToolBar*>(widget->parentWidget());
        painter->save();
        paintOverflow(*option, *painter, bar == nullptr || bar->orientation() == Qt::Horizontal);
        painter->restore();
        return;
    }
    // Qt keeps the font that a dock's title had when the dock was made, not that of the
    // present text size.
    painter->save();
    if (element == CE_DockWidgetTitle && widget != nullptr) {
        painter->setFont(widget->font());
    }
    QProxyStyle::drawControl(element, option, painter, widget);
    painter->restore();
}

void WindowStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                                const QWidget* widget) const {
    if (element == PE_IndicatorItemViewItemDrop) {  // around a row that what is dragged can be dropped on
        painter->save();
        painter->setPen(QPen(option->palette.color(QPalette::Highlight), 2));
        painter->drawRect(option->rect.adjusted(1, 1, -1, -1));
        painter->restore();
        return;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool isBox = element == PE_IndicatorCheckBox, isRadio = element == PE_IndicatorRadioButton;
    const bool isFocused = element == PE_Frame && option->state & State_HasFocus &&
                           qobject_cast<const QAbstractItemView*>(widget) != nullptr;
    if (!isFocused && ((!isBox && !isRadio) || !isDark(option->palette))) {
        return;
    }
    painter->save();
    if (isFocused) {
        painter->setPen(option->palette.color(QPalette::Highlight));
        painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    } else {
        paintIndicator(*option, *painter, isBox);
    }
    painter->restore();
}

void WindowStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                     const QWidget* widget) const {
    const auto* bar = control == CC_ScrollBar ? qstyleoption_cast<const QStyleOptionSlider*>(option) : nullptr;
    if (bar == nullptr) {
        return QProxyStyle::drawComplexControl(control, option, painter, widget);
    }
    painter->save();
    paintScrollBar(*bar, *painter, proxy()->subControlRect(control, option, SC_ScrollBarSlider, widget), widget);
    painter->restore();
}

void WindowStyle::polish(QWidget* widget) {
    QProxyStyle::polish(widget);
    if (qobject_cast<QComboBox*>(widget) != nullptr) {
        widget->installEventFilter(this);
    }
}

bool WindowStyle::eventFilter(QObject* watched, QEvent* event) {
    auto* box = event->type() == QEvent::ToolTip ? qobject_cast<QComboBox*>(watched) : nullptr;
    if (box == nullptr || box->isEditable()) {
        return QProxyStyle::eventFilter(watched, event);
    }
    QStyleOptionComboBox option;
    option.initFrom(box);
    option.currentText = box->currentText();
    if (elided(option, *proxy(), box).currentText == option.currentText) {
        return false;
    }
    const QString whole = box->currentText() + (box->toolTip().isEmpty() ? QString() : u'\n' + box->toolTip());
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), whole, box);
    return true;
}

// A scroll bar has no buttons at its ends.
QRect WindowStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                                  const QWidget* widget) const {
    const auto* bar = control == CC_ScrollBar ? qstyleoption_cast<const QStyleOptionSlider*>(option) : nullptr;
    if (bar == nullptr) {
        const QRect rect = QProxyStyle::subControlRect(control, option, part, widget);
        const auto* box = part == SC_ComboBoxListBoxPopup ? qobject_cast<const QComboBox*>(widget) : nullptr;
        return box != nullptr ? widened(rect, *box) : rect;
    }
    const bool isFlat = bar->orientation == Qt::Horizontal;
    const int all = isFlat ? bar->rect.width() : bar->rect.height();
    const qint64 range = qint64{bar->maximum} - bar->minimum;
    const qint64 shown = range > 0 ? all * qint64{bar->pageStep} / (range + bar->pageStep) : all;
    const int length = std::min(all, std::max(kLeastHandle, static_cast<int>(shown)));
    const int begin =
        sliderPositionFromValue(bar->minimum, bar->maximum, bar->sliderPosition, all - length, bar->upsideDown);
    const auto between = [&](int from, int to) {
        const QRect along =
            isFlat ? QRect(from, 0, to - from, bar->rect.height()) : QRect(0, from, bar->rect.width(), to - from);
        return visualRect(bar->direction, bar->rect, along.translated(bar->rect.topLeft()));
    };
    switch (part) {
        case SC_ScrollBarSlider:
            return between(begin, begin + length);
        case SC_ScrollBarSubPage:
            return between(0, begin);
        case SC_ScrollBarAddPage:
            return between(begin + length, all);
        case SC_ScrollBarGroove:
            return bar->rect;
        default:
            return {};
    }
}

}  // namespace offstage::ui
