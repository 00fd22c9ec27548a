#pragma once

#include <QScrollArea>

#include "ui/chat/suggested_prompts.h"

class QLabel;
class QVBoxLayout;

namespace offstage::ui {

class LocalModelView;
class LocalModels;

// A conversation before its first message: the model and its device, and a few prompts to
// begin with. Scrolls if there is too little room.
class EmptyState : public QScrollArea {
    Q_OBJECT

  public:
    explicit EmptyState(QWidget* parent = nullptr);

    void setHeading(const QString& heading, const QString& explanation);
    void setPrompts(const QList<SuggestedPrompt>& prompts);
    // About the program, which no model is asked: shown below the prompts, if there is
    // any.
    void setQuestions(const QStringList& questions) { m_questions = questions; }
    void setOpenOffered(bool offered);  // a button to open a model
    // The models found on this computer, below the rest. Shown if setModelsShown(true)
    // was called.
    void offer(LocalModels& models);
    void setModelsShown(bool shown);                      // and a button for models that would run here
    LocalModelView* offered() const { return m_models; }  // nullptr: none are
    // The device of models, and whether a GPU can be emulated for a try.
    void setHardware(const QString& text, bool emulatedOffered);
    QString hardware() const;
    void setPanelsHinted(bool hinted);  // a sentence about the panels, which can be closed

  Q_SIGNALS:
    void promptChosen(const QString& prompt);
    void questionChosen(int question);
    void openRequested();
    void emulatedRequested();
    void modelChosen(const QString& path);
    void allModelsRequested();
    void suggestionsRequested();
    void panelsHintClosed();

  protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void restyle();
    void arrangePrompts();

    QLabel* m_logo;
    QLabel* m_heading;
    QLabel* m_explanation;
    QWidget* m_open;
    QWidget* m_chips;
    QList<QWidget*> m_prompts;  // in m_chips
    QStringList m_questions;
    QLabel* m_hardware;
    QWidget* m_emulated;
    QWidget* m_hint;
    QWidget* m_suggestions;
    QVBoxLayout* m_column;
    LocalModelView* m_models = nullptr;
};

}  // namespace offstage::ui
