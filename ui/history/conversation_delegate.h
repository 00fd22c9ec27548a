#pragma once

#include <QStyledItemDelegate>

namespace offstage::ui {

// Paints a row of ConversationListModel: above the first of a day or week its heading;
// the title, and below it, smaller, the time of its change or the search hit, with the
// matches in bold, and in the colour of problems if the conversation is not saved. A
// folder has one line, and its conversations stand further in.
class ConversationDelegate : public QStyledItemDelegate {
    Q_OBJECT

  public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    // What the user types stays, though the row's name changes meanwhile.
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const override;
};

}  // namespace offstage::ui
