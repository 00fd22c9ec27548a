#pragma once

#include <memory>
#include <optional>

#include <QMainWindow>
#include <QPointer>

#include "ui/help/help_answers.h"
#include "ui/settings/appearance.h"
#include "ui/settings/settings_watch.h"
#include "ui/window/core.h"
#include "ui/window/model_opener.h"
#include "ui/window/one_instance.h"

namespace offstage::ui {

class ChatPage;
class HelpDesk;
class LocalServerSwitch;
class MainMenu;
class PanelDocks;
class SettingsDialog;
class TitleWriter;
class UnsavedGuard;

// Makes the window's parts, which have one job each, and joins them.
class MainWindow : public QMainWindow {
    Q_OBJECT

  public:
    struct Options {
        ModelOpener::Options models;
        QString historyFolder;       // of the conversations' files; empty: in memory only
        std::optional<Theme> theme;  // overrides the one kept in the settings
        // The user's other machines; nullptr: the program was built without connections
        // to any.
        std::shared_ptr<engine::MachineNetwork> machines;
        bool reopensLast = false;  // shows the last conversation again, unless the settings say no
    };

    MainWindow(SessionFactory factory, const Options& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    Core& core() { return m_core; }
    ModelOpener& opener() const { return *m_opener; }
    // No larger than the screen has room for, and inside it; before it is shown.
    void fitToScreen();
    QMenu* createPopupMenu() override;
    // Comes to the front with what the program, or a second one, was started for. A prompt
    // begins a new conversation; without a model it goes into the input box.
    void handle(const OneInstance::Request& request);

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void createMiddle();
    void answerQuestions();
    bool isOfTheDemo() const;
    bool answerFromHelp(const QString& question, MessageId beside);
    bool giveAnswer(const QString& question, const HelpAnswer& answer, MessageId beside);
    void hintAtPanels();
    void followLastConversation(bool reopens);
    void createServer();
    void createTitles();
    void connectSampling();
    void connectList();
    void connectBenchmark();
    void connectProblems();
    SettingsDialog& openSettings();
    bool passToInput(QEvent& event, bool focusFollows);

    Options m_options;
    SettingsWatch m_settings;
    Appearance m_appearance;
    Core m_core;
    const HelpAnswers m_helpAnswers;
    ChatPage* m_page;
    UnsavedGuard* m_unsaved;
    HelpDesk* m_help;
    PanelDocks* m_panels;
    ModelOpener* m_opener;
    MainMenu* m_menu = nullptr;  // made after the panels
    LocalServerSwitch* m_server;
    TitleWriter* m_titles;
    QPointer<SettingsDialog> m_settingsDialog;
};

}  // namespace offstage::ui
