#pragma once

#include <QWidget>

class QToolButton;

namespace offstage::ui {

class LocalServerSwitch;

// In the status bar: shows that the local server is on and its address, with a button
// that stops another program's answer. A click opens its settings. Hidden while the
// server is off and there is no problem.
class ServerIndicator : public QWidget {
    Q_OBJECT

  public:
    explicit ServerIndicator(LocalServerSwitch& server);

    QToolButton& button() const { return *m_button; }
    QToolButton& stopButton() const { return *m_stop; }

  Q_SIGNALS:
    void settingsRequested();

  private:
    void refresh();

    LocalServerSwitch& m_server;
    QToolButton* m_button;
    QToolButton* m_stop;
};

}  // namespace offstage::ui
