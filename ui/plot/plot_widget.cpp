#include "ui/plot/plot_widget.h"

#include <algorithm>
#include <cmath>

#include <QAbstractScrollArea>
#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTimer>

#include "ui/base/save_file.h"
#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr double kZoomPerNotch = 0.8;
constexpr int kNoticeMs = 4000;

// The wheel scrolls the area around, even at its end, if that area can scroll at all.
bool scrollsAround(const QWidget& plot, Qt::Orientation way) {
    for (const QWidget* around = plot.parentWidget(); around != nullptr; around = around->parentWidget()) {
        if (const auto* area = qobject_cast<const QAbstractScrollArea*>(around)) {
            const QScrollBar* bar = way == Qt::Vertical ? area->verticalScrollBar() : area->horizontalScrollBar();
            if (bar->maximum() > bar->minimum()) {
                return true;
            }
        }
        if (around->isWindow()) {
            break;
        }
    }
    return false;
}

bool isOurKey(const QKeyEvent& event) {
    if (event.matches(QKeySequence::Copy)) {
        return true;
    }
    return event.modifiers() == (Qt::ControlModifier | Qt::AltModifier) && event.key() == Qt::Key_C;
}

}  // namespace

PlotWidget::PlotWidget(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void PlotWidget::setEmptyText(const QString& text) {
    m_emptyText = text;
    update();
}

QSize PlotWidget::sizeHint() const {
    return {360, 200};
}

QSize PlotWidget::minimumSizeHint() const {
    return {180, 110};
}

void PlotWidget::markStale(Layer layer) {
    m_dataStale = true;
    m_frameStale = m_frameStale || layer == Layer::Frame;
    update();
}

// ---------------------------------------------------------------- painting

void PlotWidget::ensureRendered() {
    const double ratio = devicePixelRatioF();
    const QSize pixels = (QSizeF(size()) * ratio).toSize();
    if (m_frame.size() != pixels) {
        m_frame = QPixmap(pixels);
        m_frame.setDevicePixelRatio(ratio);
        m_frameStale = true;
    }
    if (m_frameStale) {
        layOut();
        m_frame.fill(Qt::transparent);
        QPainter painter(&m_frame);
        painter.setFont(font());
        paintFrame(painter);
        m_frameStale = false;
        m_dataStale = true;
    }
    if (m_dataStale) {
        m_pixmap = m_frame;
        QPainter painter(&m_pixmap);
        painter.setFont(font());
        paintData(painter);
        m_dataStale = false;
        ++m_renderCount;
    }
}

void PlotWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Colours colours = Colours::of(palette());
    if (isEmpty()) {
        painter.setPen(colours.muted);
        painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
    } else {
        ensureRendered();
        painter.drawPixmap(0, 0, m_pixmap);
        paintOver(painter);
    }
    if (!m_notice.isEmpty()) {
        paintReading(painter, {width(), 0}, m_notice);
    }
    if (hasFocus() && m_byKey) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

void PlotWidget::ensureLaidOut() {
    if (m_frameStale) {
        layOut();
    }
}

bool PlotWidget::captionIsBelow(const QString& caption) const {
    return fontMetrics().horizontalAdvance(caption) > width() / 3;
}

int PlotWidget::bottomAxisHeight(const QString& caption) const {
    return (captionIsBelow(caption) ? 2 : 1) * fontMetrics().height() + 4;
}

std::vector<PlotWidget::BottomTick> PlotWidget::bottomTicks(const Axis& axis, const QRect& area) const {
    constexpr int kBetween = 18;
    constexpr int kLeast = 6;  // between two numbers
    const QFontMetrics metrics = fontMetrics();
    const QString caption = axis.caption();
    const bool isBeside = !caption.isEmpty() && !captionIsBelow(caption);
    const int end = isBeside ? width() - 4 - metrics.horizontalAdvance(caption) - 4 - 8 : width();
    // The width of the numbers depends on them: two rounds are enough.
    std::vector<Tick> ticks;
    int most = std::max(2, area.width() / 60);
    for (int round = 0; round < 3; ++round) {
        ticks = axis.ticks(most);
        int widest = 0;
        for (const Tick& tick : ticks) {
            widest = std::max(widest, metrics.horizontalAdvance(tick.label));
        }
        const int fits = std::max(1, area.width() / (widest + kBetween));
        if (static_cast<int>(ticks.size()) <= fits + 1) {
            break;
        }
        most = fits;
    }
    std::vector<BottomTick> out;
    int freeFrom = 1;
    for (const Tick& tick : ticks) {
        const int x = static_cast<int>(std::lround(axis.pixelOf(tick.value)));
        const int wide = metrics.horizontalAdvance(tick.label);
        const int left = std::max(1, x - wide / 2);
        QRect place;
        if (left >= freeFrom && left + wide <= end) {
            place = QRect(left, area.bottom() + 4, wide + 1, metrics.height());
            freeFrom = left + wide + kLeast;
        }
        out.push_back({x, place, tick.label});
    }
    return out;
}

void PlotWidget::paintBottomAxis(QPainter& painter, const Axis& axis, const QRect& area) const {
    const Colours colours = Colours::of(palette());
    for (const BottomTick& tick : bottomTicks(axis, area)) {
        painter.setPen(colours.line);
        painter.drawLine(tick.x, area.top(), tick.x, area.bottom());
        if (!tick.place.isEmpty()) {
            painter.setPen(colours.muted);
            painter.drawText(tick.place, Qt::AlignLeft | Qt::AlignVCenter, tick.label);
        }
    }
    const QString caption = axis.caption();
    const int line = fontMetrics().height();
    const int top = area.bottom() + 4 + (captionIsBelow(caption) ? line : 0);
    painter.setPen(colours.muted);
    painter.drawText(QRect(0, top, width() - 4, line), Qt::AlignRight | Qt::AlignVCenter, caption);
}

std::vector<Tick> PlotWidget::leftTicks(const AxisSpec& spec, Range range, int top, int bottom) const {
    return Axis(spec, range.lo, range.hi, bottom, top)
        .ticks(std::max(2, (bottom - top) / (2 * fontMetrics().height() + 6)));
}

QRect PlotWidget::areaBeside(const std::vector<Tick>& ticks, int top, int bottom) const {
    int widest = 0;
    for (const Tick& tick : ticks) {
        widest = std::max(widest, fontMetrics().horizontalAdvance(tick.label));
    }
    const int left = kEdge + widest + 7;
    return {QPoint(left, top), QPoint(std::max(left + 10, width() - kEdge - 8), std::max(top + 10, bottom))};
}

void PlotWidget::paintLeftAxis(QPainter& painter, const Axis& axis, const std::vector<Tick>& ticks, const QRect& area,
                               int captionTop) const {
    const Colours colours = Colours::of(palette());
    const int line = fontMetrics().height();
    painter.setPen(colours.muted);
    painter.drawText(QRect(kEdge, captionTop, width() - 2 * kEdge, line), Qt::AlignLeft | Qt::AlignVCenter,
                     axis.caption());
    for (const Tick& tick : ticks) {
        const int y = static_cast<int>(std::lround(axis.pixelOf(tick.value)));
        painter.setPen(colours.line);
        painter.drawLine(area.left(), y, area.right(), y);
        painter.setPen(colours.muted);
        // The highest one stays below the caption.
        const int top = std::max(y - line / 2, captionTop + line);
        painter.drawText(QRect(0, top, area.left() - 6, line), Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
}

void PlotWidget::paintRings(QPainter& painter, const QRectF& around) const {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Window), 1));
    painter.drawRect(around.adjusted(-2, -2, 1, 1));
    painter.setPen(QPen(Colours::of(palette()).text, 1));
    painter.drawRect(around.adjusted(-3, -3, 2, 2));
}

void PlotWidget::paintReading(QPainter& painter, QPoint near, const QString& text) const {
    constexpr int kInside = 6;
    constexpr int kAway = 12;
    const Colours colours = Colours::of(palette());
    const QRect room = rect().adjusted(2, 2, -2, -2);
    const QRect bounds = fontMetrics().boundingRect(QRect(0, 0, std::max(40, room.width() - 2 * kInside), 10'000),
                                                    Qt::AlignLeft | Qt::TextWordWrap, text);
    QRect box(0, 0, bounds.width() + 2 * kInside + 1, bounds.height() + 2 * kInside - 4);
    box.moveTopLeft(near + QPoint(kAway, kAway));
    if (box.right() > room.right()) {
        box.moveRight(near.x() - kAway);
    }
    if (box.bottom() > room.bottom()) {
        box.moveBottom(near.y() - kAway);
    }
    box.moveLeft(std::max(room.left(), std::min(box.left(), room.right() - box.width() + 1)));
    box.moveTop(std::max(room.top(), std::min(box.top(), room.bottom() - box.height() + 1)));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(mixed(colours.surface, colours.text, 0.35));
    painter.setBrush(palette().color(QPalette::ToolTipBase));
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setPen(colours.text);
    painter.drawText(box.adjusted(kInside, kInside - 2, -kInside + 2, 0), Qt::AlignLeft | Qt::TextWordWrap, text);
    painter.restore();
}

void PlotWidget::setPictureTexts(const QString& title, QWidget* legend) {
    m_pictureTexts = {title, legend};
}

QImage PlotWidget::picture(double ratio) {
    return finishedPicture(painted(ratio), m_pictureTexts, *this);
}

QImage PlotWidget::painted(double ratio) {
    QImage image((QSizeF(size()) * ratio).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(palette().color(QPalette::Window));
    QPainter painter(&image);
    painter.setFont(font());
    if (!isEmpty()) {
        layOut();
        paintFrame(painter);
        paintData(painter);
    }
    return image;
}

QImage PlotWidget::pictureOf(QSize size, double ratio) {
    const QSize kept = this->size();
    const bool updates = updatesEnabled();
    setUpdatesEnabled(false);
    resize(size);
    QImage image = picture(ratio);
    resize(kept);
    setUpdatesEnabled(updates);
    return image;
}

// ---------------------------------------------------------------- taking it away

void PlotWidget::copyPicture() {
    QApplication::clipboard()->setImage(picture());
    say(tr("Picture copied"));
}

void PlotWidget::copyCsv() {
    QApplication::clipboard()->setText(csv());
    say(tr("Numbers copied"));
}

bool PlotWidget::savePicture(const QString& path) {
    return sayWhetherSaved(path, savePng(path, picture()));
}

bool PlotWidget::saveCsv(const QString& path) {
    return sayWhetherSaved(path, saveFile(path, csv().toUtf8()));
}

bool PlotWidget::sayWhetherSaved(const QString& path, const QString& failure) {
    if (!failure.isEmpty()) {
        say(tr("%1 could not be written: %2").arg(path, failure));
        return false;
    }
    say(tr("Saved"));
    return true;
}

QString PlotWidget::suggestedName() const {
    QString name = m_fileName.isEmpty() ? accessibleName() : m_fileName;
    for (QChar& c : name) {
        c = c.isLetterOrNumber() ? c.toLower() : QChar(u'-');
    }
    return name.isEmpty() ? tr("plot") : name;
}

void PlotWidget::askWhereToSave(bool asPicture) {
    const QString filter = asPicture ? tr("PNG picture (*.png)") : tr("Comma-separated values (*.csv)");
    openSaveDialog(this, asPicture ? tr("Save picture") : tr("Save numbers"), {filter}, suggestedName(),
                   [this, asPicture](const QString& path) { asPicture ? savePicture(path) : saveCsv(path); });
}

void PlotWidget::say(const QString& notice) {
    m_notice = notice;
    update();
    QTimer::singleShot(kNoticeMs, this, [this, notice] {
        if (m_notice == notice) {
            m_notice.clear();
            update();
        }
    });
}

void PlotWidget::contextMenuEvent(QContextMenuEvent* event) {
    if (isEmpty()) {
        event->ignore();
        return;
    }
    m_pressed.reset();
    m_dragging = false;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    extendMenu(*menu, event->pos());
    if (!menu->isEmpty()) {
        menu->addSeparator();
    }
    menu->addAction(tr("Copy pi&cture\tCtrl+C"), this, &PlotWidget::copyPicture);
    menu->addAction(tr("&Save picture…"), this, [this] { askWhereToSave(true); });
    menu->addAction(tr("Copy &numbers (CSV)\tCtrl+Alt+C"), this, &PlotWidget::copyCsv);
    menu->addAction(tr("Sa&ve numbers (CSV)…"), this, [this] { askWhereToSave(false); });
    if (ZoomRange* zoom = zoomRange()) {
        menu->addSeparator();
        QAction* all = menu->addAction(tr("Show &all\tHome"), this, &PlotWidget::showAll);
        all->setEnabled(zoom->isZoomed());
    }
    menu->popup(event->globalPos());
}

// ---------------------------------------------------------------- mouse

void PlotWidget::afterZoom() {
    zoomChanged();
    markStale(Layer::Frame);
}

void PlotWidget::showAll() {
    if (zoomRange()->reset()) {
        afterZoom();
    }
}

void PlotWidget::mousePressEvent(QMouseEvent* event) {
    m_byKey = false;
    m_pressed = event->position().toPoint();
    m_dragging = false;
    pointAt(m_pressed);
}

void PlotWidget::mouseMoveEvent(QMouseEvent* event) {
    m_byKey = false;
    const QPoint at = event->position().toPoint();
    ZoomRange* zoom = zoomRange();
    if (m_pressed && zoom != nullptr && (event->buttons() & Qt::LeftButton) != 0) {
        m_dragging = m_dragging || (at - *m_pressed).manhattanLength() >= QApplication::startDragDistance();
        if (m_dragging) {
            const Axis axis = zoomAxis();
            const double by = axis.valueAt(m_pressed->x()) - axis.valueAt(at.x());
            m_pressed = at;
            setCursor(Qt::ClosedHandCursor);
            if (zoom->pan(by)) {
                afterZoom();
            }
        }
    }
    pointAt(at);
}

void PlotWidget::mouseReleaseEvent(QMouseEvent* event) {
    const bool clicked = m_pressed.has_value() && !m_dragging;
    if (m_dragging) {
        unsetCursor();
    }
    m_pressed.reset();
    m_dragging = false;
    if (clicked && !isEmpty()) {
        click(event->button());
    }
}

void PlotWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (zoomRange() == nullptr || event->button() != Qt::LeftButton) {
        mousePressEvent(event);
        return;
    }
    m_pressed.reset();
    showAll();
    pointAt(event->position().toPoint());
}

void PlotWidget::wheelEvent(QWheelEvent* event) {
    ZoomRange* zoom = zoomRange();
    const QPoint turned = event->angleDelta();
    const bool sideways = std::abs(turned.x()) > std::abs(turned.y());
    const bool meant = (event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) != 0;
    if (zoom == nullptr || isEmpty() || turned.isNull() ||
        (!meant && scrollsAround(*this, sideways ? Qt::Horizontal : Qt::Vertical))) {
        event->ignore();
        return;
    }
    bool changed = false;
    if (sideways || (event->modifiers() & Qt::ShiftModifier) != 0) {
        const double notches = (sideways ? turned.x() : turned.y()) / 120.0;
        const Range view = zoom->view();
        changed = zoom->pan(-notches * (view.hi - view.lo) / 10);
    } else {
        const double at = zoomAxis().valueAt(event->position().x());
        changed = zoom->zoom(at, std::pow(kZoomPerNotch, turned.y() / 120.0));
    }
    // If it is zoomed out completely, the panel around may scroll.
    event->setAccepted(changed);
    if (changed) {
        afterZoom();
        pointAt(event->position().toPoint());
    }
}

void PlotWidget::leaveEvent(QEvent*) {
    if (!m_byKey) {
        pointAt(std::nullopt);
    }
}

// ---------------------------------------------------------------- keyboard

bool PlotWidget::event(QEvent* event) {
    // The window has another Copy; here the plot is copied.
    if (event->type() == QEvent::ShortcutOverride && isOurKey(*static_cast<QKeyEvent*>(event))) {
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

void PlotWidget::stepByKey(int right, int down) {
    m_byKey = true;
    step(right, down);
    update();
}

void PlotWidget::keyPressEvent(QKeyEvent* event) {
    if (isEmpty()) {
        event->ignore();
        return;
    }
    if (isOurKey(*event)) {
        if ((event->modifiers() & Qt::AltModifier) != 0) {
            copyCsv();
        } else {
            copyPicture();
        }
        return;
    }
    ZoomRange* zoom = zoomRange();
    const int by = (event->modifiers() & Qt::ShiftModifier) != 0 ? 10 : 1;
    const auto zoomBy = [this, zoom](double factor) {
        const Range view = zoom->view();
        if (zoom->zoom(keyZoomCentre().value_or((view.lo + view.hi) / 2), factor)) {
            afterZoom();
        }
    };
    switch (event->key()) {
        case Qt::Key_Left:
            return stepByKey(-by, 0);
        case Qt::Key_Right:
            return stepByKey(by, 0);
        case Qt::Key_Up:
            return stepByKey(0, -by);
        case Qt::Key_Down:
            return stepByKey(0, by);
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            if (zoom != nullptr) {
                return zoomBy(kZoomPerNotch * kZoomPerNotch);
            }
            break;
        case Qt::Key_Minus:
            if (zoom != nullptr) {
                return zoomBy(1 / (kZoomPerNotch * kZoomPerNotch));
            }
            break;
        case Qt::Key_Home:
            if (zoom != nullptr) {
                return showAll();
            }
            break;
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_Space:
            click(Qt::LeftButton);
            return;
        case Qt::Key_Escape:
            if (!m_reading.isEmpty()) {
                pointAt(std::nullopt);
                return;
            }
            break;
        default:
            break;
    }
    event->ignore();
}

void PlotWidget::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    m_byKey = m_byKey || event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
    update();
}

void PlotWidget::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    // A menu over the plot, or another program: the current item stays current.
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) {
        m_byKey = false;
        pointAt(std::nullopt);
    }
    update();
}

void PlotWidget::setReading(const QString& text) {
    if (text == m_reading) {
        return;
    }
    // Only items reached by key are announced: a description that follows the mouse would
    // never be silent.
    const bool aloud = m_byKey && hasFocus();
    if (m_reading.isEmpty() || !m_said) {
        m_description = accessibleDescription();
    }
    m_reading = text;
    if (aloud || m_said) {
        m_said = aloud && !text.isEmpty();
        setAccessibleDescription(m_said ? text : m_description);
    }
}

void PlotWidget::resizeEvent(QResizeEvent*) {
    markStale(Layer::Frame);
}

void PlotWidget::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::LanguageChange || event->type() == QEvent::LocaleChange) {
        markStale(Layer::Frame);
    }
}

}  // namespace offstage::ui
