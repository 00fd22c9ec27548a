#pragma once

#include <QObject>

class QTableView;

namespace offstage::ui {

// Keeps a table's columns and rows in proportion to its text, and no column narrower than
// its heading: fixed widths would be too small for larger text. The table owns it.
class HeadRoom : public QObject {
    Q_OBJECT

  public:
    explicit HeadRoom(QTableView& table);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void fit();

    QTableView& m_table;
    int m_lineSpacing;  // for which the widths were computed
};

}  // namespace offstage::ui
