#pragma once
// What is said of fields and buttons, and the room that they keep.

#include <QComboBox>
#include <QLabel>

namespace offstage::ui {

// Its name for screen readers, and what the pointer shows over it.
inline void describe(QWidget& widget, const QString& name, const QString& tip) {
    widget.setAccessibleName(name);
    widget.setToolTip(tip);
}
inline void describe(QWidget& widget, const QString& both) {
    describe(widget, both, both);
}

// The label of `field`, whose mnemonic leads to it.
inline QLabel* labelOf(QWidget* field, const QString& text) {
    auto* label = new QLabel(text);
    label->setBuddy(field);
    return label;
}

// Room for so many lines of text, which begins above: what is below never moves.
inline void reserveLines(QLabel& label, int lines, int more = 0) {
    label.setAlignment(Qt::AlignTop | Qt::AlignLeft);
    label.setMinimumHeight(lines * label.fontMetrics().lineSpacing() + more);
}

// Keeps its place while it is hidden.
inline void keepRoom(QWidget& widget) {
    QSizePolicy policy = widget.sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    widget.setSizePolicy(policy);
}

inline void setWeight(QWidget& widget, QFont::Weight weight) {
    QFont font = widget.font();
    font.setWeight(weight);
    widget.setFont(font);
}

// As wide as the layout makes it, and never narrower than so many characters.
inline void letShrink(QComboBox& box, int characters) {
    box.setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box.setMinimumContentsLength(characters);
}

}  // namespace offstage::ui
