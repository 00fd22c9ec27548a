#pragma once

#include <QKeySequence>
#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace offstage::ui {

class KeyBindings;
class KeyEdit;

// Every command of the menus with its keys, which the user can change. Keys that belong
// to another command are refused with its name; a button takes them from that command.
class KeysPage : public QWidget {
    Q_OBJECT

  public:
    explicit KeysPage(KeyBindings& keys, QWidget* parent = nullptr);

    QTreeWidget& list() const { return *m_list; }
    QPushButton& resetButton() const { return *m_reset; }
    QString chosen() const;  // the command's id; empty: none

  private:
    void refresh();
    void refreshChosen();
    void filter();
    void onEntered(const QKeySequence& keys);
    void say(const QString& text, const QKeySequence& wanted = {});

    KeyBindings& m_keys;
    QLineEdit* m_filter;
    QTreeWidget* m_list;
    KeyEdit* m_edit;
    QPushButton* m_none;
    QPushButton* m_reset;
    QPushButton* m_resetAll;
    QLabel* m_notice;
    QPushButton* m_take;
    QKeySequence m_wanted;  // the keys that m_take gives to the chosen command
};

}  // namespace offstage::ui
