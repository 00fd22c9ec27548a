#pragma once

#include <QWidget>

namespace offstage::ui {

// What the program does with conversations by itself. Each choice applies at once.
class ConversationsPage : public QWidget {
    Q_OBJECT

  public:
    explicit ConversationsPage(QWidget* parent = nullptr);
};

}  // namespace offstage::ui
