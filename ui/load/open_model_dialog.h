#pragma once

#include <functional>

#include <QDialog>

#include "engine/run/fit_estimate.h"

class QLineEdit;
class QPushButton;
class QSplitter;
class QTimer;

namespace offstage::ui {

class EngineController;
class FitView;
class LocalModelView;
class LocalModels;
class PanelArea;

// File > Open with options: a model, how it is to be loaded, and whether it fits so.
// After accepted(), the caller opens request(). The program's present memory counts as
// free: it is released before the load.
class OpenModelDialog : public QDialog {
    Q_OBJECT

  public:
    explicit OpenModelDialog(const EngineController& engine, QWidget* parent = nullptr);

    void setModel(const QString& model);
    // Shows the models found on this computer beside the choices, and searches again.
    // `models` must outlive the dialog.
    void offer(LocalModels& models);
    LocalModelView* offered() const { return m_offered; }  // nullptr: nothing is
    void showTemplate();                                   // gives the choice of a chat template the focus
    engine::LoadRequest request() const;
    FitView& view() const { return *m_view; }
    QLineEdit& path() const { return *m_path; }
    QPushButton& openButton() const { return *m_open; }

  private:
    void refresh();
    void arrange();
    void resizeEvent(QResizeEvent* event) override;

    const EngineController& m_engine;
    QLineEdit* m_path;
    FitView* m_view;
    PanelArea* m_area;  // around it
    QPushButton* m_open;
    QSplitter* m_parts;
    LocalModelView* m_offered = nullptr;
    QTimer* m_estimates = nullptr;  // of the listed models, once the choices rest
};

// Lets the user choose a model: a GGUF file, or a file of a model's folder, which stands
// for the folder. The first time, the dialog begins beside `model`.
void chooseModelFile(QWidget* parent, const std::function<void(const QString&)>& chosen, const QString& model);
// The same for a model's folder as published: config.json and *.safetensors.
void chooseModelFolder(QWidget* parent, const std::function<void(const QString&)>& chosen, const QString& model);

// A loaded model's memory, by its latest snapshot.
engine::FitHeld heldBy(const EngineController& engine);

}  // namespace offstage::ui
