#pragma once

#include <QObject>

class QTableView;

namespace offstage::ui {

// Gives a table's first column the width that the others leave, and never less than
// `least` pixels: if there is too little room the table scrolls, and as many of the
// others as have room are seen whole. Exists as long as the table. GUI thread only.
class FirstColumn : public QObject {
    Q_OBJECT

  public:
    FirstColumn(QTableView& table, int least);

    void fit();  // after columns have become wider, or are shown

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    QTableView& m_table;
    int m_least;
};

}  // namespace offstage::ui
