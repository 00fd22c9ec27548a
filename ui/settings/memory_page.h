#pragma once

#include <QTimer>
#include <QWidget>

class QCheckBox;
class QLabel;
class QSpinBox;

namespace offstage::ui {

class EngineController;

// How much of other conversations stays in memory beside the running one, so that going
// back to one does not read it again: on or off, how many tokens, and their present
// memory. Choices apply to the open model, and are stored for later ones. GUI thread
// only.
class MemoryPage : public QWidget {
    Q_OBJECT

  public:
    explicit MemoryPage(EngineController& engine, QWidget* parent = nullptr);

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    qint64 chosen() const;
    void apply();
    void refresh();

    EngineController& m_engine;
    QCheckBox* m_on;
    QSpinBox* m_tokens;
    QLabel* m_inForce;
    QTimer m_soon;     // a number that is still being typed is not carried out
    QTimer m_look;     // while the page is seen
    quint64 m_id = 0;  // of the last requested re-plan; 0: none
};

}  // namespace offstage::ui
