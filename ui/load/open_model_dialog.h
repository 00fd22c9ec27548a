#pragma once

#include <QDialog>

#include "engine/run/fit_estimate.h"

class QLineEdit;
class QPushButton;

namespace offstage::ui {

class EngineController;
class FitView;

// File > Open with options: a model, how it is to be loaded, and whether it fits so. accepted() leaves request() to be
// opened by who asked. What the program holds now counts as free: it is given back before the load.
class OpenModelDialog : public QDialog {
    Q_OBJECT

  public:
    explicit OpenModelDialog(const EngineController& engine, QWidget* parent = nullptr);

    void setModel(const QString& model);
    engine::LoadRequest request() const;
    FitView& view() const { return *m_view; }
    QLineEdit& path() const { return *m_path; }
    QPushButton& openButton() const { return *m_open; }

  private:
    void choose();
    void refresh();

    QLineEdit* m_path;
    FitView* m_view;
    QPushButton* m_open;
};

// What a loaded model holds, by its latest snapshot.
engine::FitHeld heldBy(const EngineController& engine);

}  // namespace offstage::ui
