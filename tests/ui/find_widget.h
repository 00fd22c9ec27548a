#pragma once
// Widgets found by what they are called.

#include <QLabel>

namespace offstage::test {

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
