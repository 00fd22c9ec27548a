#pragma once

#include <QHash>
#include <QList>
#include <QWidget>

class QGridLayout;

namespace offstage::ui {

// Places widgets one below the other in little width, and side by side, row by row, in
// more width: a panel in a wide dock shows its plots together. All widgets in a row are
// equally high, and equally wide unless shares are given. Hidden widgets take no place.
// GUI thread only.
class Tiles : public QWidget {
    Q_OBJECT

  public:
    // No tile becomes narrower than this to fit beside another.
    explicit Tiles(int narrowest, QWidget* parent = nullptr);

    enum class Narrow { Below, Without };  // where there is no room beside another tile
    // `share` of the width if all are in one row.
    void add(QWidget* tile, int share = 1, Narrow narrow = Narrow::Below);
    int columns() const { return m_columns; }

    QSize minimumSizeHint() const override;  // as wide as one tile: they can always stand one below the other

  protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void arrange();

    int m_narrowest;
    int m_columns = 0;
    QList<QWidget*> m_tiles;
    QHash<QWidget*, int> m_shares;
    QList<QWidget*> m_roomy;  // those that are hidden in little width
    QList<QWidget*> m_shown;  // as they stand in the grid
    QGridLayout* m_grid;
};

}  // namespace offstage::ui
