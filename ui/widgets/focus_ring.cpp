#include "ui/widgets/focus_ring.h"

#include <QAbstractScrollArea>
#include <QEvent>
#include <QPainter>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

// The nearest parent with room beyond the widget's edges.
QWidget* surroundingsOf(QWidget& widget) {
    QWidget* around = widget.parentWidget();
    while (around != nullptr && !around->isWindow()) {
        const auto* area = qobject_cast<QAbstractScrollArea*>(around->parentWidget());
        if (area != nullptr && area->viewport() == around) {
            break;
        }
        around = around->parentWidget();
    }
    return around;
}

}  // namespace

FocusRing::FocusRing(QWidget& around) : QWidget(surroundingsOf(around)), m_around(&around) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    for (QWidget* each = &around; each != nullptr && each != parentWidget(); each = each->parentWidget()) {
        each->installEventFilter(this);
    }
    place();
}

FocusRing::~FocusRing() = default;

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
    switch (event->type()) {
        case QEvent::Move:
        case QEvent::Resize:
        case QEvent::Show:
        case QEvent::Hide:
        case QEvent::ZOrderChange:
            place();
            break;
        default:
            break;
    }
    return QWidget::eventFilter(watched, event);
}

void FocusRing::place() {
    if (!m_around || parentWidget() == nullptr) {
        hide();
        return;
    }
    const QRect within(m_around->mapTo(parentWidget(), QPoint()), m_around->size());
    setGeometry(within.adjusted(-kRoom, -kRoom, kRoom, kRoom));
    setVisible(m_around->isVisibleTo(parentWidget()));
    raise();
}

void FocusRing::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Colours::of(palette()).accent, 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);
}

}  // namespace offstage::ui
