#pragma once

#include <QObject>
#include <QSet>
#include <QTimer>

class QTableView;

namespace offstage::ui {

// A table without a sideways scroll: those of its columns are shown that have room, from
// the left, and the first has what they leave. The first `always` are always shown: a
// name, and what is looked for first. Exists as long as the table. GUI thread only.
class FittingColumns : public QObject {
    Q_OBJECT

  public:
    // The first column is never narrower than `least` pixels.
    FittingColumns(QTableView& table, int least, int always = 3);

    void leaveOut(int column, bool left);  // also where there is room
    void fitContents();                    // each as wide as its contents, where there is room
    // Rows whose heights follow the first column's width may need the scroll bar or not
    // because of it: its room is kept, so that the width never follows the heights.
    void keepScrollBarRoom();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void fit();

    QTableView& m_table;
    int m_least, m_always;
    bool m_keepsScrollBarRoom = false;
    QSet<int> m_leftOut;
    QTimer m_later;  // what resizes sections may not have ended
    bool m_fitting = false;
};

}  // namespace offstage::ui
