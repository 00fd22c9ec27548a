#include "ui/widgets/head_room.h"

#include <algorithm>

#include <QEvent>
#include <QHeaderView>
#include <QTableView>

namespace offstage::ui {

HeadRoom::HeadRoom(QTableView& table)
    : QObject(&table), m_table(table), m_lineSpacing(table.horizontalHeader()->fontMetrics().lineSpacing()) {
    table.horizontalHeader()->installEventFilter(this);
}

bool HeadRoom::eventFilter(QObject* watched, QEvent* event) {
    // When shown: the header's margins depend on the style, which it has by then.
    if (event->type() == QEvent::FontChange || event->type() == QEvent::Show) {
        fit();
    }
    return QObject::eventFilter(watched, event);
}

void HeadRoom::fit() {
    QHeaderView& head = *m_table.horizontalHeader();
    const int now = head.fontMetrics().lineSpacing();
    const int before = m_lineSpacing;
    m_lineSpacing = now;
    for (int column = 0; column < head.count(); ++column) {
        const bool isHidden = head.isSectionHidden(column);
        head.setSectionHidden(column, false);  // a hidden one has no size
        const int wide = head.sectionSize(column) * now / before;
        head.resizeSection(column, std::max(wide, head.sectionSizeHint(column)));
        head.setSectionHidden(column, isHidden);
    }
    if (now != before) {
        QHeaderView& rows = *m_table.verticalHeader();
        rows.setDefaultSectionSize(rows.defaultSectionSize() + now - before);
    }
}

}  // namespace offstage::ui
