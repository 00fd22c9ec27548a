#include "ui/widgets/panel_rail.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QPainter>
#include <QToolButton>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kTabIcon = 20;
constexpr int kTabMarginX = 8, kTabMarginY = 6;
constexpr int kTabGap = 2;   // between icon and name
constexpr int kTabMark = 3;  // width of the stripe of a tab that is chosen
constexpr int kWidestTabName = 72;

QFont tabFont(QFont font) {
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

// In two lines, where one would be wide: broken where they are most alike.
QStringList linesOf(const QString& name, const QFontMetrics& metrics) {
    QStringList best{name};
    int width = metrics.horizontalAdvance(name);
    if (width <= kWidestTabName) {
        return best;
    }
    for (qsizetype at = name.indexOf(u' '); at >= 0; at = name.indexOf(u' ', at + 1)) {
        const QString first = name.left(at), second = name.mid(at + 1);
        const int wider = std::max(metrics.horizontalAdvance(first), metrics.horizontalAdvance(second));
        if (wider < width) {
            width = wider;
            best = {first, second};
        }
    }
    return best;
}

// Icon above name. Fusion's own button would mark the chosen one by a hardly visible
// shade.
class RailTab : public QToolButton {
  public:
    // `opensBelow`: no tab, but a button with a frame, whose lower edge has the stripe
    // while its panel is open.
    RailTab(QAction& action, bool opensBelow) : m_opensBelow(opensBelow) {
        setDefaultAction(&action);
        setAccessibleName(QString(action.text()).remove(u'&'));
        if (opensBelow) {
            setAccessibleDescription(PanelRail::tr("Opens below the conversation"));
        }
        setFocusPolicy(Qt::TabFocus);
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }

    QSize sizeHint() const override {
        QFont widest = tabFont(font());
        widest.setWeight(QFont::DemiBold);  // of the tab that is chosen
        const QFontMetrics metrics(widest);
        const QStringList lines = linesOf(text(), QFontMetrics(tabFont(font())));
        int width = 0;
        for (const QString& line : lines) {
            width = std::max(width, metrics.horizontalAdvance(line));
        }
        return {std::max(width + 2 * kTabMarginX, 64),
                kTabIcon + kTabGap + static_cast<int>(lines.size()) * metrics.height() + 2 * kTabMarginY};
    }
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Colours colours = Colours::of(palette());
        const QColor ground = isChecked()                ? colours.prompt
                              : underMouse() || isDown() ? colours.raised
                                                         : QColor(Qt::transparent);
        if (m_opensBelow) {
            paintFrame(painter, ground);
        } else {
            painter.fillRect(rect(), ground);
            if (isChecked()) {
                painter.fillRect(QRect(0, 0, kTabMark, height()), colours.accent);
            }
        }
        const QRect picture((width() - kTabIcon) / 2, kTabMarginY, kTabIcon, kTabIcon);
        icon().paint(&painter, picture, Qt::AlignCenter, isEnabled() ? QIcon::Normal : QIcon::Disabled);
        QFont font = tabFont(this->font());
        font.setWeight(isChecked() ? QFont::DemiBold : QFont::Normal);
        painter.setFont(font);
        painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::WindowText));
        const QRect name(0, picture.bottom() + kTabGap, width(), height() - picture.bottom());
        painter.drawText(name, Qt::AlignHCenter | Qt::AlignTop,
                         linesOf(text(), QFontMetrics(tabFont(this->font()))).join(u'\n'));
        if (hasFocus()) {
            painter.setPen(QPen(colours.accent, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(rect().adjusted(2, 2, -2, -2), 3, 3);
        }
    }

  private:
    void paintFrame(QPainter& painter, const QColor& ground) const {
        const Colours colours = Colours::of(palette());
        painter.setRenderHint(QPainter::Antialiasing);
        const QRectF frame = QRectF(rect()).adjusted(3.5, 1.5, -3.5, -1.5);
        painter.setPen(colours.muted);
        painter.setBrush(ground);
        painter.drawRoundedRect(frame, 4, 4);
        if (isChecked()) {  // as the tabs have their stripe
            painter.fillRect(QRectF(frame.left() + 4, frame.bottom() - kTabMark, frame.width() - 8, kTabMark),
                             colours.accent);
        }
    }

    const bool m_opensBelow;
};

}  // namespace

PanelRail::PanelRail(const QString& title, QWidget* parent) : QToolBar(title, parent) {
    setMovable(false);
    setFloatable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    setAccessibleName(title);
    setContentsMargins(0, 0, 0, 0);
}

void PanelRail::addTab(QAction& action) {
    addWidget(new RailTab(action, false));
}

void PanelRail::addDock(QAction& action) {
    if (!m_hasDocks) {
        m_hasDocks = true;
        auto* space = new QWidget;
        space->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);
        addWidget(space);
    }
    addWidget(new RailTab(action, true));
}

}  // namespace offstage::ui
