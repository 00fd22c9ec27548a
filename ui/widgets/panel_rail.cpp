#include "ui/widgets/panel_rail.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QPainter>
#include <QStyleOptionToolButton>
#include <QToolButton>

#include "ui/base/theme.h"

namespace offstage::ui {

namespace {

constexpr int kTabIcon = 20;
constexpr int kTabMarginX = 8, kTabMarginY = 6;
constexpr int kTabGap = 2;   // between icon and name
constexpr int kTabMark = 3;  // width of the stripe of a tab that is chosen

QFont tabFont(QFont font) {
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

// Icon above name. Fusion's own button would mark the chosen one by a hardly visible
// shade.
class RailTab : public QToolButton {
  public:
    explicit RailTab(QAction& action) {
        setDefaultAction(&action);
        setAccessibleName(QString(action.text()).remove(u'&'));
        setFocusPolicy(Qt::TabFocus);
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }

    QSize sizeHint() const override {
        const QFontMetrics metrics(tabFont(font()));
        return {std::max(metrics.horizontalAdvance(text()) + 2 * kTabMarginX, 64),
                kTabIcon + kTabGap + metrics.height() + 2 * kTabMarginY};
    }
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Colours colours = Colours::of(palette());
        if (isChecked() || underMouse() || isDown()) {
            QColor ground = isChecked() ? colours.prompt : colours.raised;
            painter.fillRect(rect(), ground);
        }
        if (isChecked()) {
            painter.fillRect(QRect(0, 0, kTabMark, height()), colours.accent);
        }
        const QRect picture((width() - kTabIcon) / 2, kTabMarginY, kTabIcon, kTabIcon);
        icon().paint(&painter, picture, Qt::AlignCenter, isEnabled() ? QIcon::Normal : QIcon::Disabled);
        QFont font = tabFont(this->font());
        font.setWeight(isChecked() ? QFont::DemiBold : QFont::Normal);
        painter.setFont(font);
        painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::WindowText));
        const QRect name(0, picture.bottom() + kTabGap, width(), QFontMetrics(font).height() + 2);
        painter.drawText(name, Qt::AlignHCenter | Qt::AlignTop | Qt::TextSingleLine, text());
        if (hasFocus()) {
            painter.setPen(QPen(colours.accent, 2));
            painter.drawRoundedRect(rect().adjusted(2, 2, -2, -2), 3, 3);
        }
    }
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
    addWidget(new RailTab(action));
}

}  // namespace offstage::ui
