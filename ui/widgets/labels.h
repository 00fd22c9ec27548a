#pragma once
// Labels whose text is shown unchanged, never read as HTML. `name`: for screen readers.

#include <QLabel>

namespace offstage::ui {

// One line, as wide as its text.
inline QLabel* lineLabel(const QString& name = {}) {
    auto* label = new QLabel;
    label->setTextFormat(Qt::PlainText);
    label->setAccessibleName(name);
    return label;
}

// Wraps where it has too little width.
inline QLabel* textLabel(const QString& name = {}) {
    QLabel* label = lineLabel(name);
    label->setWordWrap(true);
    return label;
}

// The same in the colour of secondary text.
inline QLabel* mutedLabel(const QString& name = {}) {
    QLabel* label = textLabel(name);
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

}  // namespace offstage::ui
