#include "ui/widgets/panel_area.h"

#include <algorithm>

#include <QScrollBar>

namespace offstage::ui {

namespace {

constexpr int kLeastLines = 5;
constexpr int kLeastCharacters = 24;  // in widths of an x

}  // namespace

PanelArea::PanelArea(QWidget* content) {
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    viewport()->setAutoFillBackground(false);
    setWidget(content);
    content->setAutoFillBackground(false);  // setWidget() has turned it on
}

QSize PanelArea::sizeHint() const {
    const int bar = verticalScrollBar()->sizeHint().width();
    return {widget()->minimumSizeHint().width() + bar, widget()->sizeHint().height()};
}

QSize PanelArea::minimumSizeHint() const {
    const int most = kLeastCharacters * fontMetrics().horizontalAdvance(u'x');
    return {std::min(most, sizeHint().width()), kLeastLines * fontMetrics().lineSpacing()};
}

}  // namespace offstage::ui
