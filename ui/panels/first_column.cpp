#include "ui/panels/first_column.h"

#include <algorithm>

#include <QEvent>
#include <QTableView>

namespace offstage::ui {

FirstColumn::FirstColumn(QTableView& table, int least) : QObject(&table), m_table(table), m_least(least) {
    table.viewport()->installEventFilter(this);
}

bool FirstColumn::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && m_table.model() != nullptr) {
        fit();
    }
    return QObject::eventFilter(watched, event);
}

void FirstColumn::fit() {
    const int room = m_table.viewport()->width() - m_least;
    int others = 0;
    for (int column = 1; column < m_table.model()->columnCount(); ++column) {
        if (others + m_table.columnWidth(column) > room) {
            break;
        }
        others += m_table.columnWidth(column);
    }
    m_table.setColumnWidth(0, std::max(m_least, m_table.viewport()->width() - others));
}

}  // namespace offstage::ui
