#include "ui/panels/forecast_table.h"

#include <algorithm>
#include <numeric>

#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/engine/engine_text.h"
#include "ui/panels/what_if_panel.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

constexpr int kNarrowestForecast = 560;

}  // namespace

QTableWidgetItem* forecastItem(const QString& text, bool number) {
    auto* cell = new QTableWidgetItem(text);
    cell->setTextAlignment((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    return cell;
}

QString machinesOf(qint64 count, const QString& name) {
    return count > 1 ? WhatIfPanel::tr("%1 × %2").arg(count).arg(name) : name;
}

std::vector<int> fastestFirst(const std::vector<engine::WhatIfRow>& rows) {
    std::vector<int> places(rows.size());
    std::iota(places.begin(), places.end(), 0);
    const auto speed = [&rows](int i) {
        const engine::WhatIfRow& row = rows[static_cast<std::size_t>(i)];
        return row.failure.empty() ? row.tokens_per_s : -1;
    };
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return speed(a) > speed(b); });
    return places;
}

void showFailure(QTableWidget& table, int row, int column, const engine::WhatIfRow& forecast) {
    auto* cell =
        forecastItem(forecast.lacks_memory ? WhatIfPanel::tr("does not fit") : WhatIfPanel::tr("not possible"), false);
    cell->setToolTip(engineText(forecast.failure));
    table.setItem(row, column, cell);
    table.setSpan(row, column, 1, 2);
}

void setRowTips(QTableWidget& table, int row, const QString& name) {
    QStringList tip{name};
    for (int column = 1; column < table.columnCount(); ++column) {
        if (const QString text = table.item(row, column)->text(); !text.isEmpty()) {
            tip << WhatIfPanel::tr("%1: %2", "column: its text").arg(table.horizontalHeaderItem(column)->text(), text);
        }
    }
    for (int column = 0; column < table.columnCount(); ++column) {
        table.item(row, column)->setToolTip(tip.join(u'\n'));
    }
}

QTableWidget* forecastTable(const QStringList& headers, const QString& name) {
    auto* table = new QTableWidget(0, static_cast<int>(headers.size()));
    const QFontMetrics metrics = table->fontMetrics();
    showRows(*table, name);
    table->setHorizontalHeaderLabels(headers);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setMinimumHeight(7 * metrics.lineSpacing());
    table->horizontalHeader()->setHighlightSections(false);  // bold heads would be cut
    table->horizontalHeader()->setMinimumSectionSize(metrics.averageCharWidth() * 8);
    for (int column = 0; column < table->columnCount(); ++column) {
        table->setColumnWidth(column, std::max(metrics.horizontalAdvance(QStringLiteral("000.0 GiB")) + 8,
                                               metrics.horizontalAdvance(headers[column]) + 12));
    }
    QLabel* const empty = mutedLabel();
    empty->setText(WhatIfPanel::tr("Nothing is worked out yet. Press Forecast."));
    empty->setAlignment(Qt::AlignCenter);
    columnOf(table->viewport(), {empty});
    const auto refresh = [table, empty] { empty->setVisible(table->rowCount() == 0); };
    QObject::connect(table->model(), &QAbstractItemModel::rowsInserted, empty, refresh);
    QObject::connect(table->model(), &QAbstractItemModel::rowsRemoved, empty, refresh);
    return table;
}

Tiles* sideBySide(QWidget* table, QWidget* plot, Tiles::Narrow narrow) {
    auto* tiles = new Tiles(kNarrowestForecast);
    tiles->add(table);
    tiles->add(plot, 1, narrow);
    return tiles;
}

}  // namespace offstage::ui
