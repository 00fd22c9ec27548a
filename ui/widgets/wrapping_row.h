#pragma once

#include <QLayout>

namespace offstage::ui {

// Items side by side, each as wide as it likes to be; what has no room goes into another
// row below, as words of a text do.
class WrappingRow : public QLayout {
  public:
    explicit WrappingRow(int between) { setSpacing(between); }
    ~WrappingRow() override { qDeleteAll(m_items); }

    void addItem(QLayoutItem* item) override { m_items.append(item); }
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override;

    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return arrange({0, 0, width, 0}, false); }
    QSize sizeHint() const override;     // in one row
    QSize minimumSize() const override;  // of the widest item
    void setGeometry(const QRect& rect) override;

  private:
    int arrange(const QRect& rect, bool places) const;  // the height that is taken

    QList<QLayoutItem*> m_items;
};

}  // namespace offstage::ui
