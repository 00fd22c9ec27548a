#pragma once
// Rows and columns of widgets, written as they are seen:
//   columnOf(this, {m_title, rowOf({m_search, {m_kind, 1}, Stretch{}}, apart(8))},
//   flush());

#include <initializer_list>
#include <optional>

#include <QBoxLayout>
#include <QWidget>

namespace offstage::ui {

struct Stretch {
    int share = 0;
};
struct Gap {
    int pixels = 0;
};

// Something in a row or column: a widget, a layout, or empty space.
struct BoxItem {
    BoxItem(QWidget* of, int share = 0, Qt::Alignment at = {}) : widget(of), stretch(share), alignment(at) {}
    BoxItem(QLayout* of, int share = 0) : layout(of), stretch(share) {}
    BoxItem(Stretch of) : stretch(of.share) {}
    BoxItem(Gap of) : pixels(of.pixels) {}

    QWidget* widget = nullptr;
    QLayout* layout = nullptr;
    int stretch = 0;
    int pixels = 0;
    Qt::Alignment alignment;
};

// The space around and between the items; what is not given is the style's.
struct BoxSpace {
    std::optional<QMargins> around;
    int between = -1;
};
inline BoxSpace apart(int between) {
    return {{}, between};
}
inline BoxSpace flush(int between = -1) {
    return {QMargins(), between};
}
inline BoxSpace inset(int left, int top, int right, int bottom, int between = -1) {
    return {QMargins(left, top, right, bottom), between};
}

// Adds to what is there already.
inline void addTo(QBoxLayout& box, std::initializer_list<BoxItem> items) {
    for (const BoxItem& item : items) {
        if (item.widget != nullptr) {
            box.addWidget(item.widget, item.stretch, item.alignment);
        } else if (item.layout != nullptr) {
            box.addLayout(item.layout, item.stretch);
        } else if (item.pixels > 0) {
            box.addSpacing(item.pixels);
        } else {
            box.addStretch(item.stretch);
        }
    }
}

template <typename Box>
Box* boxOf(QWidget* parent, std::initializer_list<BoxItem> items, const BoxSpace& space) {
    auto* box = new Box(parent);
    if (space.around) {
        box->setContentsMargins(*space.around);
    }
    if (space.between >= 0) {
        box->setSpacing(space.between);
    }
    addTo(*box, items);
    return box;
}

// The layout of `parent`, or one that another layout takes.
inline QHBoxLayout* rowOf(QWidget* parent, std::initializer_list<BoxItem> items, const BoxSpace& space = {}) {
    return boxOf<QHBoxLayout>(parent, items, space);
}
inline QHBoxLayout* rowOf(std::initializer_list<BoxItem> items, const BoxSpace& space = {}) {
    return rowOf(nullptr, items, space);
}
inline QVBoxLayout* columnOf(QWidget* parent, std::initializer_list<BoxItem> items, const BoxSpace& space = {}) {
    return boxOf<QVBoxLayout>(parent, items, space);
}
inline QVBoxLayout* columnOf(std::initializer_list<BoxItem> items, const BoxSpace& space = {}) {
    return columnOf(nullptr, items, space);
}

// A widget that is only there to hold `layout`.
inline QWidget* widgetOf(QLayout* layout) {
    auto* widget = new QWidget;
    widget->setLayout(layout);
    return widget;
}

}  // namespace offstage::ui
