#pragma once

#include <optional>

#include <QMainWindow>

#include "ui/chat/chat_controller.h"
#include "ui/engine_controller.h"
#include "ui/recent_models.h"
#include "ui/theme.h"

class QLabel;

namespace offstage::ui {

class ChatPage;
class DropHint;
class ExpertsPanel;
class SamplingPanel;
class StatusLine;

class MainWindow : public QMainWindow {
    Q_OBJECT

  public:
    struct Options {
        QString demoModel;           // empty: none at hand
        std::optional<Theme> theme;  // overrides the one kept in the settings
    };

    MainWindow(SessionFactory factory, const Options& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    void openModel(const QString& model);
    // Sends it now, or as soon as the model is ready.
    bool sendPrompt(const QString& prompt);

    EngineController& engine() { return m_engine; }
    ConversationModel& conversation() { return m_conversation; }
    ChatController& chat() { return m_chat; }
    ChatPage& page() const { return *m_page; }
    ExpertsPanel& expertsPanel() const { return *m_experts; }
    SamplingPanel& samplingPanel() const { return *m_sampling; }
    StatusLine& statusLine() const { return *m_status; }
    RecentModels& recentModels() { return m_recent; }

  public Q_SLOTS:
    void newConversation();
    void chooseModel();
    void resetLayout();

  protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    struct Actions {
        QAction* newConversation = nullptr;
        QAction* open = nullptr;
        QAction* stop = nullptr;
        QAction* copy = nullptr;
        QAction* copyConversation = nullptr;
    };

    void createActions();
    void createMenus();
    void createToolBar();
    void createDocks();
    void setTheme(Theme theme);
    void refreshIcons();
    void refreshState();
    void refreshRecent();
    void handle(ProblemAction action);
    void onLoadFailed(const QString& model, const EngineFailure& failure);
    void about();

    Options m_options;
    EngineController m_engine;
    ConversationModel m_conversation;
    ChatController m_chat;
    RecentModels m_recent;
    ChatPage* m_page = nullptr;
    ExpertsPanel* m_experts = nullptr;
    SamplingPanel* m_sampling = nullptr;
    StatusLine* m_status = nullptr;
    QDockWidget* m_expertsDock = nullptr;
    QDockWidget* m_samplingDock = nullptr;
    QMenu* m_recentMenu = nullptr;
    QLabel* m_modelLabel = nullptr;
    QLabel* m_hardwareLabel = nullptr;
    DropHint* m_dropHint = nullptr;
    Actions m_actions;
    Theme m_theme = Theme::System;
    QString m_openedModel;    // the one that works
    QString m_previousModel;  // the one before a load that failed
};

// The path that a drag of files stands for; empty when it is none that could be a model.
QString modelPathIn(const QMimeData* mime);

}  // namespace offstage::ui
