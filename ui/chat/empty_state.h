#pragma once

#include <QScrollArea>

#include "ui/chat/suggested_prompts.h"

class QLabel;
class QVBoxLayout;

namespace offstage::ui {

class LocalModelView;
class LocalModels;

// What a conversation shows before its first message: who will answer, and a few prompts to begin with. Scrolls where
// there is too little room for it.
class EmptyState : public QScrollArea {
    Q_OBJECT

  public:
    explicit EmptyState(QWidget* parent = nullptr);

    void setHeading(const QString& heading, const QString& explanation);
    void setPrompts(const QList<SuggestedPrompt>& prompts);
    void setOpenOffered(bool offered);  // a button to open a model
    // The models that were found on this computer, below the rest. Shown where
    // setModelsShown(true) says so.
    void offer(LocalModels& models);
    void setModelsShown(bool shown);
    LocalModelView* offered() const { return m_models; }  // nullptr: none are
    // Where models run, and whether a GPU to try is offered.
    void setHardware(const QString& text, bool emulatedOffered);
    QString hardware() const;

  Q_SIGNALS:
    void promptChosen(const QString& prompt);
    void openRequested();
    void emulatedRequested();
    void modelChosen(const QString& path);
    void allModelsRequested();

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
    QLabel* m_hardware;
    QWidget* m_emulated;
    QVBoxLayout* m_column;
    LocalModelView* m_models = nullptr;
};

}  // namespace offstage::ui
