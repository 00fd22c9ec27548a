#include "ui/widgets/wrapping_row.h"

#include <algorithm>

namespace offstage::ui {

QLayoutItem* WrappingRow::takeAt(int index) {
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

QSize WrappingRow::sizeHint() const {
    QSize size(-spacing(), 0);
    for (const QLayoutItem* item : m_items) {
        const QSize hint = item->sizeHint();
        size = {size.width() + spacing() + hint.width(), std::max(size.height(), hint.height())};
    }
    return size.expandedTo({0, 0});
}

QSize WrappingRow::minimumSize() const {
    QSize size(0, 0);
    for (const QLayoutItem* item : m_items) {
        size = size.expandedTo(item->minimumSize());
    }
    return size;
}

void WrappingRow::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

int WrappingRow::arrange(const QRect& rect, bool places) const {
    int y = rect.top();
    for (qsizetype first = 0, end = 0; first < m_items.size(); first = end) {
        int used = 0, tallest = 0;
        for (; end < m_items.size(); ++end) {
            const QSize hint = m_items[end]->sizeHint();
            const int with = used + (end > first ? spacing() : 0) + hint.width();
            if (end > first && with > rect.width()) {
                break;
            }
            used = with;
            tallest = std::max(tallest, hint.height());
        }
        for (int x = rect.left(); places && first < end; ++first) {
            const int width = m_items[first]->sizeHint().width();
            m_items[first]->setGeometry({x, y, width, tallest});
            x += width + spacing();
        }
        y += tallest + spacing();
    }
    return std::max(0, y - spacing() - rect.top());
}

}  // namespace offstage::ui
