#pragma once

#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace offstage::ui {

class LocalServerSwitch;

// Switches the local server on and off, and shows how other programs reach it. Its
// address can be changed while it is off.
class LocalServerPage : public QWidget {
    Q_OBJECT

  public:
    explicit LocalServerPage(LocalServerSwitch& server, QWidget* parent = nullptr);

    QPushButton& stopButton() const { return *m_stop; }

  private:
    void build();
    void keepChoices();
    void refresh();

    LocalServerSwitch& m_server;
    QCheckBox* m_on;
    QCheckBox* m_startsWithProgram;
    QLineEdit* m_address;
    QSpinBox* m_port;
    QLineEdit* m_token;
    QPushButton* m_copyToken;
    QPushButton* m_newToken;
    QLineEdit* m_origins;
    QLineEdit* m_url;
    QPushButton* m_copyUrl;
    QLabel* m_state;
    QPushButton* m_stop;
    QLabel* m_outside;
    QLabel* m_problem;
};

}  // namespace offstage::ui
