#pragma once
// Widgets found by what they are called.

#include <QAbstractButton>
#include <QAction>
#include <QLabel>

namespace offstage::test {

template <typename Widget>
Widget& child(const QWidget& root) {
    auto* found = root.findChild<Widget*>();
    Q_ASSERT(found != nullptr);
    return *found;
}

// By its accessible name, or by a button's text without its mnemonic.
template <typename Widget>
Widget& find(const QWidget& root, const char* name) {
    const QString wanted = QString::fromUtf8(name);
    for (Widget* widget : root.findChildren<Widget*>()) {
        const auto* button = qobject_cast<const QAbstractButton*>(widget);
        if (widget->accessibleName() == wanted || (button != nullptr && button->text().remove(u'&') == wanted)) {
            return *widget;
        }
    }
    qFatal("no widget is called %s", name);
}

// By its text without its mnemonic.
inline QAction& action(const QObject& root, const char* text) {
    for (QAction* each : root.findChildren<QAction*>()) {
        if (each->text().remove(u'&') == QString::fromUtf8(text)) {
            return *each;
        }
    }
    qFatal("no action is called %s", text);
}

// What the label of this accessible name shows.
inline QString textOf(const QWidget& root, const QString& name) {
    for (const QLabel* label : root.findChildren<QLabel*>()) {
        if (label->accessibleName() == name) {
            return label->text();
        }
    }
    qFatal("no label is called %s", qPrintable(name));
}

}  // namespace offstage::test
