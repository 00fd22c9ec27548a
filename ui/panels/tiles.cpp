#include "ui/panels/tiles.h"

#include <algorithm>

#include <QEvent>
#include <QGridLayout>

namespace offstage::ui {

namespace {

// Rows as full as possible: four tiles, of which three would fit in a row, are arranged
// two and two.
int columnsFor(int tiles, int fitting) {
    if (fitting >= tiles || tiles == 0) {
        return std::max(1, tiles);
    }
    const int rows = (tiles + fitting - 1) / fitting;
    return (tiles + rows - 1) / rows;
}

}  // namespace

Tiles::Tiles(int narrowest, QWidget* parent) : QWidget(parent), m_narrowest(narrowest), m_grid(new QGridLayout(this)) {
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(8);
}

void Tiles::add(QWidget* tile, int share, Narrow narrow) {
    m_tiles.append(tile);
    if (narrow == Narrow::Without) {
        m_roomy.append(tile);
    }
    m_shares.insert(tile, share);
    tile->installEventFilter(this);
    arrange();
}

QSize Tiles::minimumSizeHint() const {
    int width = 0;
    for (const QWidget* tile : m_shown) {
        width = std::max({width, tile->minimumSizeHint().width(), tile->minimumWidth()});
    }
    return {width, QWidget::minimumSizeHint().height()};
}

void Tiles::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

bool Tiles::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShowToParent || event->type() == QEvent::HideToParent) {
        arrange();
    }
    return QWidget::eventFilter(watched, event);
}

void Tiles::arrange() {
    for (QWidget* tile : std::as_const(m_roomy)) {
        tile->setParent(this);
        tile->setVisible(width() >= 2 * m_narrowest + m_grid->spacing());
    }
    QList<QWidget*> shown;
    for (QWidget* tile : std::as_const(m_tiles)) {
        if (tile->parentWidget() != this || !tile->isHidden()) {
            shown.append(tile);
        }
    }
    const int gap = m_grid->spacing();
    const int fitting = std::max(1, (width() + gap) / (m_narrowest + gap));
    const int columns = columnsFor(static_cast<int>(shown.size()), fitting);
    if (columns == m_columns && shown == m_shown) {
        return;
    }
    for (QWidget* tile : std::as_const(m_shown)) {
        m_grid->removeWidget(tile);
    }
    for (int column = 0; column < std::max(columns, m_columns); ++column) {
        // Only a single row has columns of one tile each.
        const int share = shown.size() <= columns && column < shown.size() ? m_shares.value(shown[column]) : 1;
        m_grid->setColumnStretch(column, column < columns ? share : 0);
    }
    const int rows = (static_cast<int>(shown.size()) + columns - 1) / columns;
    for (int row = 0; row < std::max(rows, m_grid->rowCount()); ++row) {
        m_grid->setRowStretch(row, row < rows ? 1 : 0);
    }
    m_columns = columns;
    m_shown = shown;
    for (int i = 0; i < shown.size(); ++i) {
        m_grid->addWidget(shown[i], i / columns, i % columns);
    }
    // If no tile can grow further, the space around them takes the room.
    int tallest = 0;
    for (const QWidget* tile : std::as_const(shown)) {
        tallest = std::max(tallest, tile->maximumHeight());
    }
    setMaximumHeight(rows > 0 && tallest < QWIDGETSIZE_MAX ? rows * (tallest + gap) - gap : QWIDGETSIZE_MAX);
    m_grid->activate();
    updateGeometry();
}

}  // namespace offstage::ui
