#include "ui/widgets/panel_area.h"

#include <QEvent>
#include <QScrollBar>

namespace offstage::ui {

namespace {

constexpr int kLeastLines = 5;

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
    const int bar = verticalScrollBarPolicy() == Qt::ScrollBarAlwaysOn ? verticalScrollBar()->sizeHint().width() : 0;
    return {widget()->minimumSizeHint().width() + bar, widget()->sizeHint().height()};
}

QSize PanelArea::minimumSizeHint() const {
    return {sizeHint().width(), kLeastLines * fontMetrics().lineSpacing()};
}

// A scroll area does not tell its parent that its content needs another width. Live
// content is laid out many times a second, and seldom needs one.
bool PanelArea::eventFilter(QObject* watched, QEvent* event) {
    if (watched == widget() && event->type() == QEvent::LayoutRequest) {
        if (const int needed = minimumSizeHint().width(); needed != m_neededWidth) {
            m_neededWidth = needed;
            updateGeometry();
        }
    }
    return QScrollArea::eventFilter(watched, event);
}

}  // namespace offstage::ui
