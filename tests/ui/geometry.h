#pragma once
// The places of a window's controls, to find out whether any of them moved.

#include <QAbstractButton>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLineEdit>
#include <QMap>
#include <QScrollBar>
#include <QWidget>

namespace offstage::test {

// By the control, in the screen's coordinates; only what can be seen.
inline QMap<const QWidget*, QRect> placesOf(const QWidget& root) {
    QMap<const QWidget*, QRect> places;
    for (const QWidget* w : root.findChildren<QWidget*>()) {
        const bool isControl =
            qobject_cast<const QAbstractButton*>(w) != nullptr || qobject_cast<const QAbstractSpinBox*>(w) != nullptr ||
            qobject_cast<const QComboBox*>(w) != nullptr || qobject_cast<const QLineEdit*>(w) != nullptr ||
            (qobject_cast<const QAbstractSlider*>(w) != nullptr && qobject_cast<const QScrollBar*>(w) == nullptr);
        if (isControl && w->isVisible()) {
            places.insert(w, QRect(w->mapToGlobal(QPoint()), w->size()));
        }
    }
    return places;
}

inline QString nameOf(const QWidget& w) {
    const auto* button = qobject_cast<const QAbstractButton*>(&w);
    return QString::fromLatin1(w.metaObject()->className()) + u' ' +
           (button != nullptr && !button->text().isEmpty() ? button->text() : w.accessibleName());
}

// Those that were visible before and are visible now; a line for each.
inline QStringList movedSince(const QMap<const QWidget*, QRect>& before, const QWidget& root) {
    QStringList moved;
    const auto now = placesOf(root);
    for (auto place = before.begin(); place != before.end(); ++place) {
        const auto found = now.find(place.key());
        if (found != now.end() && *found != *place) {
            const auto text = [](const QRect& r) {
                return QStringLiteral("%1,%2 %3x%4").arg(r.x()).arg(r.y()).arg(r.width()).arg(r.height());
            };
            moved << nameOf(*place.key()) + QStringLiteral(": ") + text(*place) + QStringLiteral(" -> ") + text(*found);
        }
    }
    return moved;
}

}  // namespace offstage::test
