#pragma once
// The pieces that What if's pages are made of.

#include <vector>

#include <QStringList>

#include "ui/panels/tiles.h"
#include "ui/panels/what_if_worker.h"

class QTableWidget;
class QTableWidgetItem;
class QWidget;

namespace offstage::ui {

// Where it has no rows it says how they come.
QTableWidget* forecastTable(const QStringList& headers, const QString& name);
QTableWidgetItem* forecastItem(const QString& text, bool number = true);
// Each cell tells all of the row, whose last columns may have no room.
void setRowTips(QTableWidget& table, int row, const QString& name);
// Over the two columns from this one on.
void showFailure(QTableWidget& table, int row, int column, const engine::WhatIfRow& forecast);
// "2 × GeForce RTX 3060"
QString machinesOf(qint64 count, const QString& name);
// Indices into `rows`; impossible ones come last, in the order of the profiles.
std::vector<int> fastestFirst(const std::vector<engine::WhatIfRow>& rows);

// If the dock is wide enough; otherwise one below the other, or without the plot.
Tiles* sideBySide(QWidget* table, QWidget* plot, Tiles::Narrow narrow = Tiles::Narrow::Below);
}  // namespace offstage::ui
