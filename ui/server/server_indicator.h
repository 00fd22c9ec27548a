#pragma once

#include <QWidget>

class QToolButton;

namespace offstage::ui {

class LocalServerSwitch;

// In the status bar: that the local server is on and where it listens, with a button that stops the answer another
// program is getting. A click asks for its settings. Hidden while the server is off and nothing is to be said about it.
class ServerIndicator : public QWidget {
    Q_OBJECT

  public:
    explicit ServerIndicator(LocalServerSwitch& server);

    QToolButton& button() const { return *m_button; }
    QToolButton& stopButton() const { return *m_stop; }

  Q_SIGNALS:
    void settingsRequested();

  protected:
    void changeEvent(QEvent* event) override;

  private:
    void refresh();

    LocalServerSwitch& m_server;
    QToolButton* m_button;
    QToolButton* m_stop;
};

}  // namespace offstage::ui
