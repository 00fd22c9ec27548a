#include "ui/widgets/fitting_columns.h"

#include <algorithm>

#include <QAbstractItemModel>
#include <QEvent>
#include <QHeaderView>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QTableView>

#include "ui/base/delay.h"

namespace offstage::ui {

FittingColumns::FittingColumns(QTableView& table, int least, int always)
    : QObject(&table), m_table(table), m_least(least), m_always(always) {
    table.viewport()->installEventFilter(this);
    callAfter(m_later, 0, this, &FittingColumns::fit);
    connect(table.horizontalHeader(), &QHeaderView::sectionResized, this, [this] {
        if (!m_fitting) {
            m_later.start();
        }
    });
    if (table.model() != nullptr) {
        connect(table.model(), &QAbstractItemModel::rowsInserted, &m_later, qOverload<>(&QTimer::start));
    }
}

void FittingColumns::leaveOut(int column, bool left) {
    if (left != m_leftOut.contains(column)) {
        left ? void(m_leftOut.insert(column)) : void(m_leftOut.remove(column));
        fit();
    }
}

void FittingColumns::fitContents() {
    {
        const QScopedValueRollback<bool> fitting(m_fitting, true);
        for (int column = 0; column < m_table.model()->columnCount(); ++column) {
            m_table.setColumnHidden(column, false);
        }
        m_table.resizeColumnsToContents();
    }
    fit();
}

void FittingColumns::keepScrollBarRoom() {
    m_keepsScrollBarRoom = true;
    fit();
}

bool FittingColumns::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) {
        fit();
    }
    return QObject::eventFilter(watched, event);
}

void FittingColumns::fit() {
    if (m_table.model() == nullptr) {
        return;
    }
    const QScopedValueRollback<bool> fitting(m_fitting, true);
    const int width = m_keepsScrollBarRoom
                          ? m_table.maximumViewportSize().width() - m_table.verticalScrollBar()->sizeHint().width()
                          : m_table.viewport()->width();
    int room = width - m_least;
    bool isFull = false;
    for (int column = 1; column < m_table.model()->columnCount(); ++column) {
        if (m_leftOut.contains(column)) {
            m_table.setColumnHidden(column, true);
            continue;
        }
        m_table.setColumnHidden(column, false);  // a hidden one has no width
        // Heads alone say little about the width that numbers need.
        if (column >= m_always && m_table.columnWidth(column) > room && m_table.model()->rowCount() > 0) {
            m_table.resizeColumnToContents(column);  // one that was dragged too wide would be gone
        }
        const int taken = m_table.columnWidth(column);
        isFull = column >= m_always && (isFull || taken > room);
        m_table.setColumnHidden(column, isFull);
        room -= isFull ? 0 : taken;
    }
    m_table.setColumnWidth(0, m_least + std::max(0, room));
}

}  // namespace offstage::ui
