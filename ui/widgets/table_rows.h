#pragma once

#include <QHeaderView>
#include <QTableView>

namespace offstage::ui {

// Rows to read and to choose, not to write in; Tab leaves the table. `striped`: low rows
// that are told apart by their ground, not by lines.
inline void showRows(QTableView& table, const QString& name, bool striped = true) {
    table.setAccessibleName(name);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setTabKeyNavigation(false);
    table.verticalHeader()->hide();
    if (striped) {
        table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().lineSpacing() + 6);
        table.setAlternatingRowColors(true);
        table.setShowGrid(false);
    }
}

}  // namespace offstage::ui
