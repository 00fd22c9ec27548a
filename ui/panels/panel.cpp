#include "ui/panels/panel.h"

#include <algorithm>
#include <cmath>

#include <QElapsedTimer>
#include <QEvent>
#include <QFrame>
#include <QLabel>
#include <QLocale>
#include <QMainWindow>
#include <QPainter>
#include <QPointer>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStackedWidget>
#include <QStyleOption>
#include <QVBoxLayout>

#include "ui/base/theme.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/panels/snapshot_poller.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr int kPanelMargin = 12;
constexpr int kNoticeMargin = 5;
constexpr int kLeastNoticeLines = 2;
constexpr int kBodyPage = 0;
constexpr int kEmptyPage = 1;

// One line, which ends in "…" where it has too little width.
class CutLabel : public QLabel {
  public:
    explicit CutLabel(const QString& name) {
        setTextFormat(Qt::PlainText);
        setAccessibleName(name);
    }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        QStyleOption frame;
        frame.initFrom(this);
        style()->drawPrimitive(QStyle::PE_Widget, &frame, &painter, this);
        const QRect room = contentsRect();
        style()->drawItemText(&painter, room, Qt::AlignLeft | Qt::AlignVCenter, palette(), isEnabled(),
                              fontMetrics().elidedText(text(), Qt::ElideRight, room.width()), foregroundRole());
    }
};

}  // namespace

Panel::Panel(EngineController& engine, QWidget* parent)
    : QWidget(parent),
      m_engine(engine),
      m_stack(new QStackedWidget),
      m_bodyArea(nullptr),
      m_empty(mutedLabel()),
      m_body(nullptr),
      m_actions(new QVBoxLayout),
      m_actionsPlace(new QWidget),
      m_notice(textLabel(tr("What happened"))),
      m_noticeArea(nullptr),
      m_noticePlace(new QStackedWidget),
      m_badge(new CutLabel(tr("Emulated device"))),
      m_owner(new CutLabel(tr("Whose figures these are"))),
      m_cost(new CutLabel(tr("What the panels cost"))),
      m_poller(nullptr) {
    auto* content = new PanelContent;
    m_body = new QVBoxLayout(content);
    m_body->setContentsMargins(kPanelMargin, 10, kPanelMargin, 6);
    m_body->setSpacing(8);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setMargin(2 * kPanelMargin);
    m_bodyArea = new PanelArea(content);
    m_stack->addWidget(m_bodyArea);
    m_stack->addWidget(new PanelArea(m_empty));

    m_notice->setContentsMargins(kPanelMargin, kNoticeMargin, kPanelMargin, kNoticeMargin);
    m_notice->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_noticeArea = new PanelArea(m_notice);
    m_noticeArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_noticePlace->addWidget(m_noticeArea);
    m_noticePlace->hide();
    m_actions->setContentsMargins(kPanelMargin, 8, kPanelMargin, 4);
    m_actions->setSpacing(6);
    auto* line = new QFrame;
    line->setFrameShape(QFrame::HLine);
    line->setForegroundRole(QPalette::Mid);
    line->setFrameShadow(QFrame::Plain);
    columnOf(m_actionsPlace, {line, m_actions}, flush(0));
    m_actionsPlace->hide();

    m_badge->setMinimumWidth(fontMetrics().horizontalAdvance(tr("emulated")) + 12);  // a long name is cut
    m_cost->setMinimumWidth(fontMetrics().horizontalAdvance(tr("Panels")));
    m_cost->setForegroundRole(QPalette::PlaceholderText);
    m_owner->setForegroundRole(QPalette::PlaceholderText);

    columnOf(this,
             {{m_stack, 1},
              m_actionsPlace,
              m_noticePlace,
              rowOf({m_badge, m_owner, Stretch{1}, m_cost}, inset(kPanelMargin, 2, kPanelMargin, 6, 8))},
             flush(0));

    m_poller = new SnapshotPoller(engine, *this);
    connect(m_poller, &SnapshotPoller::changed, this, &Panel::take);
    const auto changed = [this] {
        m_cost->clear();  // of the model before
        refreshBadge();
        modelChanged();
    };
    connect(&engine, &EngineController::modelLoaded, this, changed);
    connect(&engine, &EngineController::loadFailed, this, changed);
    restyle();
    refreshBadge();
    refreshCost();
}

void Panel::setSnapshot(const engine::Snapshot& snapshot) {
    take(snapshot);
}

QString Panel::emptyText() const {
    return m_stack->currentIndex() == kEmptyPage ? m_empty->text() : QString();
}

QString Panel::badge() const {
    return m_badge->isHidden() ? QString() : m_badge->text();
}

QString Panel::cost() const {
    return m_cost->text();
}

QString Panel::notice() const {
    return m_said;
}

void Panel::setOwner(const QString& text, const QString& tip) {
    m_owner->setText(text);
    m_owner->setToolTip(tip);
}

QSize Panel::sizeHint() const {
    return {360, 420};
}

void Panel::setEmptyText(const QString& text) {
    m_empty->setText(text);
}

void Panel::setEmpty(bool empty) {
    m_stack->setCurrentIndex(empty ? kEmptyPage : kBodyPage);
}

void Panel::setMuted(QWidget& label, bool muted) {
    const QPalette::ColorRole role = muted ? QPalette::PlaceholderText : QPalette::WindowText;
    if (label.foregroundRole() != role) {
        label.setForegroundRole(role);
    }
}

QWidget* Panel::focusAmong(const QList<QWidget*>& widgets) {
    for (QWidget* widget : widgets) {
        if (widget->window()->focusWidget() == widget) {
            return widget;
        }
    }
    return nullptr;
}

void Panel::passFocus(QWidget* from, const QList<QWidget*>& next) {
    if (from == nullptr) {
        return;
    }
    for (QWidget* widget : QList<QWidget*>{from} + next) {
        if (widget->isEnabled() && widget->isVisibleTo(widget->window())) {
            if (widget->window()->focusWidget() != widget) {
                widget->setFocus(Qt::OtherFocusReason);
            }
            return;
        }
    }
}

QList<QWidget*> Panel::conversation() const {
    const auto* main = qobject_cast<const QMainWindow*>(window());
    return main != nullptr ? QList<QWidget*>{main->centralWidget()} : QList<QWidget*>();
}

void Panel::leaveScrollingToPages() {
    m_bodyArea->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    m_body->setContentsMargins(kPanelMargin, 10, 0, 6);  // the pages' bars stand at the edge
}

QVBoxLayout& Panel::footer() {
    m_actionsPlace->show();
    return *m_actions;
}

void Panel::reserveNotice(int lines) {
    m_noticeLines = lines;
    refreshNotice();
}

void Panel::setHint(const QString& text) {
    if (text != m_hint) {
        m_hint = text;
        refreshNotice();
    }
}

void Panel::setBusyWidget(QWidget& widget) {
    m_busy = new QWidget;
    columnOf(m_busy, {{&widget, 0, Qt::AlignTop}}, inset(kPanelMargin, kNoticeMargin, kPanelMargin, kNoticeMargin));
    m_noticePlace->addWidget(m_busy);
    fitNotice();
}

void Panel::showBusy(bool busy) {
    m_noticePlace->setCurrentWidget(busy && m_busy != nullptr ? m_busy : static_cast<QWidget*>(m_noticeArea));
}

void Panel::bringIntoView(QWidget& part) {
    QMetaObject::invokeMethod(
        this,
        [shown = QPointer<QWidget>(&part)] {
            for (QWidget* each = shown; each != nullptr; each = each->parentWidget()) {
                if (auto* area = qobject_cast<PanelArea*>(each)) {
                    area->widget()->layout()->activate();
                    area->ensureWidgetVisible(shown, 0, 0);
                }
            }
        },
        Qt::QueuedConnection);
}

void Panel::say(const QString& text, Notice kind) {
    if (text != m_said || kind != m_noticeKind) {
        m_noticeKind = kind;
        m_said = text;
        refreshNotice();
    }
}

void Panel::refreshNotice() {
    m_notice->setText(m_said.isEmpty() ? m_hint : m_said);
    m_noticePlace->setVisible(m_noticeLines > 0 || !m_said.isEmpty());
    fitNotice();
    m_noticeArea->verticalScrollBar()->setValue(0);
    restyle();
}

void Panel::fitNotice() {
    const QFontMetrics font(m_notice->font());
    const QRect room(0, 0, width() - 2 * kPanelMargin, QWIDGETSIZE_MAX);
    const int hint = room.width() > 0 ? font.boundingRect(room, Qt::TextWordWrap, m_hint).height() : 0;
    const int lines = std::max(m_noticeLines, kLeastNoticeLines) * font.lineSpacing();
    const int busy = m_busy != nullptr ? m_busy->minimumSizeHint().height() : 0;
    m_noticePlace->setFixedHeight(std::max(std::max(lines, hint) + 2 * kNoticeMargin, busy));
}

void Panel::take(const engine::Snapshot& snapshot) {
    QElapsedTimer clock;
    clock.start();
    m_snapshot = snapshot;
    showSnapshot(m_snapshot);
    const double us = static_cast<double>(clock.nsecsElapsed()) / 1e3;
    m_refresh_us = m_refresh_us == 0 ? us : 0.95 * m_refresh_us + 0.05 * us;
    refreshCost();
}

void Panel::refreshBadge() {
    const auto& model = m_engine.model();
    m_badge->setVisible(model && model->emulated);
    if (!model || !model->emulated) {
        return;
    }
    // The engine's name may contain it, too.
    const QString name = QString::fromStdString(model->device_name).remove(QStringLiteral(" (emulated)"));
    m_badge->setText(tr("emulated: %1").arg(name));
    m_badge->setToolTip(
        m_badge->text() + u'\n' +
        tr("There is no such accelerator here: its memory is part of this computer's, and its times are worked out. "
           "They are no measurements."));
}

void Panel::refreshCost() {
    // An emulated device's time is computed, but the time of recording events is
    // measured: their ratio has no meaning.
    const bool emulated = m_engine.model() && m_engine.model()->emulated;
    m_cost->setVisible(!emulated);
    if (emulated || m_snapshot.answer_us <= 0) {
        m_cost->clear();
        m_cost->setToolTip({});
        return;
    }
    const double share = m_snapshot.telemetry_us / m_snapshot.answer_us;
    m_cost->setText(share < 5e-4 ? tr("Panels cost under %1 of speed").arg(percentText(1e-3))
                                 : tr("Panels cost %1 of speed").arg(percentText(share)));
    m_cost->setToolTip(
        tr("Share of the answer's time that the engine spends on writing down what the panels show.\nWorking out what "
           "this panel shows takes %1 ms each time, in the window's own thread.")
            .arg(QLocale().toString(m_refresh_us / 1e3, 'f', 2)));
}

void Panel::restyle() {
    const Colours colours = Colours::of(palette());
    const QColor stripe = m_noticeKind == Notice::Problem ? colours.problem : colours.accent;
    const QColor ground = m_noticeKind == Notice::Problem ? colours.problemSurface : colours.raised;
    m_notice->setStyleSheet(m_said.isEmpty() ? QStringLiteral("QLabel { color: %1; }").arg(colours.muted.name())
                                             : QStringLiteral("QLabel { background: %1; border-left: 3px solid %2; }")
                                                   .arg(ground.name(), stripe.name()));
    m_badge->setStyleSheet(
        QStringLiteral("QLabel { border: 1px solid %1; border-radius: 3px; padding: 0 4px; color: %1; }")
            .arg(colours.problem.name()));
}

void Panel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    if (event->oldSize().width() != event->size().width()) {
        fitNotice();
    }
}

void Panel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        restyle();
    } else if (event->type() == QEvent::FontChange) {
        // A widget with a style sheet keeps its first font.
        m_notice->setFont(font());
        refreshNotice();
        m_badge->setFont(font());
        m_badge->setMinimumWidth(fontMetrics().horizontalAdvance(tr("emulated")) + 12);
        m_cost->setMinimumWidth(fontMetrics().horizontalAdvance(tr("Panels")));
    }
}

}  // namespace offstage::ui
