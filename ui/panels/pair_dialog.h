#pragma once

#include <QDialog>

class QCheckBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace offstage::ui {

class Machines;

// Adds a machine: its address, and the eight words that it shows. GUI thread only.
class PairDialog : public QDialog {
    Q_OBJECT

  public:
    explicit PairDialog(Machines& machines, QWidget* parent = nullptr);

    QLineEdit& address() const { return *m_address; }
    QLineEdit& words() const { return *m_words; }
    QLineEdit& name() const { return *m_name; }
    QString problem() const;

  public Q_SLOTS:
    // Cancels running work; otherwise closes.
    void reject() override;

  private:
    void pair();
    void refresh();
    void say(const QString& sentence, bool isProblem);

    Machines& m_machines;
    QLineEdit* m_address;
    QLineEdit* m_words;
    QLineEdit* m_name;
    QCheckBox* m_use;
    QProgressBar* m_progress;
    QLabel* m_said;
    QPushButton* m_pair;
    bool m_cancelling = false;
};

}  // namespace offstage::ui
