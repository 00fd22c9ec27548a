#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QMainWindow>
#include <QPointer>
#include <QSet>

#include "engine/model/model_finder.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_controller.h"
#include "ui/chat/token_choices.h"
#include "ui/engine/device_choice.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/machines.h"
#include "ui/history/history.h"
#include "ui/panels/event_log.h"
#include "ui/panels/selection.h"
#include "ui/panels/token_log.h"
#include "ui/settings/appearance.h"
#include "ui/settings/personas.h"
#include "ui/settings/settings_watch.h"
#include "ui/window/recent_models.h"

class QLabel;
class QTimer;
class QToolButton;

namespace offstage::ui {

class BenchmarkPanel;
class BudgetPanel;
class ConversationList;
class ChatPage;
class CommandPalette;
class DropHint;
class ExpertsPanel;
class HelpDesk;
class KeyBindings;
struct PanelEntry;
class PanelRail;
class PersonaBar;
class SamplingPanel;
class ServerIndicator;
class SettingsDialog;
class SetupBar;
struct ConversationSetup;
class SideColumns;
class FitWorker;
class LocalModels;
class LocalServerSwitch;
class StatusLine;
class TokenChoicesView;
class UnsavedBar;

class MainWindow : public QMainWindow {
    Q_OBJECT

  public:
    // Version of the saved layout: an older one had no inspector, and is not restored.
    static constexpr int kLayoutVersion = 2;

    struct Options {
        QString demoModel;           // empty: none at hand
        QString historyFolder;       // of the conversations' files; empty: in memory only
        std::optional<Theme> theme;  // overrides the one kept in the settings
        QString device;              // engine::LoadRequest::device; empty: the one kept in the settings, else the best
        quint64 vramBytes = 0;       // budget on that device; 0: all that it has to give
        bool looksAtFilesFirst = false;  // before the model that is open makes room for another
        // The user's other machines; nullptr: the program was built without connections
        // to any.
        std::shared_ptr<engine::MachineNetwork> machines;
        // The places that are searched for models; nothing: none.
        std::optional<std::vector<engine::ModelPlace>> modelPlaces;
    };

    MainWindow(SessionFactory factory, const Options& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    // On the chosen device.
    void openModel(const QString& model);
    // Opens the open model again, on another device. vramBytes 0: all memory that the
    // device has.
    void useDevice(const QString& device, quint64 vramBytes = 0);
    // An emulated GPU that is too small for the demo model: experts come and go.
    void tryEmulatedGpu();
    const DeviceChoices& devices() const { return m_devices; }
    // Sends it now, or as soon as the model is ready.
    bool sendPrompt(const QString& prompt);

    EngineController& engine() { return m_engine; }
    Machines& machines() { return m_machines; }
    ConversationModel& conversation() { return m_conversation; }
    ChatController& chat() { return m_chat; }
    History& history() { return m_history; }
    TokenLog& tokenLog() { return m_tokens; }
    Selection& selection() { return m_selection; }
    TokenChoices& tokenChoices() { return m_choices; }
    TokenChoicesView& tokenChoicesView() const { return *m_choicesView; }
    CommandPalette& commandPalette() const { return *m_palette; }
    ChatPage& page() const { return *m_page; }
    // "experts", "budget", "sampling" ...; nullptr: no such panel.
    QDockWidget* dock(const QString& name) const;
    void showPanel(const QString& name);
    QMenu* createPopupMenu() override;
    BenchmarkPanel& benchmarkPanel() const { return *m_benchmark; }
    ConversationList& conversationList() const { return *m_list; }
    EventLog& log() { return m_log; }
    BudgetPanel& budgetPanel() const { return *m_budget; }
    ExpertsPanel& expertsPanel() const { return *m_experts; }
    SamplingPanel& samplingPanel() const { return *m_sampling; }
    LocalServerSwitch& localServer() const { return *m_server; }
    ServerIndicator& serverIndicator() const { return *m_serverIndicator; }
    HelpDesk& help() const { return *m_help; }
    KeyBindings& keys() const { return *m_keys; }
    Appearance& appearance() { return m_appearance; }
    Personas& personas() { return m_personas; }
    PersonaBar& personaBar() const { return *m_personaBar; }
    SettingsDialog* settingsDialog() const;  // nullptr: not open
    StatusLine& statusLine() const { return *m_status; }
    // Shown above the input box if the conversation was answered with another setup than
    // the present one.
    SetupBar& setupBar() const { return *m_setup; }
    SideColumns& columns() const { return *m_columns; }
    PanelRail& rail() const { return *m_rail; }              // the inspector's tabs; hidden where the window is narrow
    QToolButton& panelsButton() const { return *m_panels; }  // in the rail's place then
    QString hardwareText() const;                            // of the tool bar
    // No larger than the screen has room for, and inside it; before it is shown.
    void fitToScreen();
    // The model that was open last, if it still exists; otherwise the demo model. Not one
    // whose opening ended the program.
    QString modelToBeginWith() const;
    RecentModels& recentModels() { return m_recent; }
    LocalModels* localModels() const { return m_local; }  // nullptr: none are looked for
    // Shown while History::trouble() lasts. It becomes a question when the window is
    // closed and could not save everything; a second close closes it.
    UnsavedBar& unsavedBar() const { return *m_unsaved; }
    // Saves the unsaved conversations in ConversationList::exportTo()'s format, with
    // their drafts; then closes, if the window was to be closed.
    void saveUnsavedTo(const QString& file);

  public Q_SLOTS:
    void newConversation();
    void chooseModel();
    void openWithOptions(const QString& model = {});  // empty: the open one
    void resetLayout();
    // The desktop's session ends: saves everything possible, and closing shows no
    // question any more.
    void endSession();

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    struct Actions {
        QAction* newConversation = nullptr;
        QAction* open = nullptr;
        QAction* stop = nullptr;
        QAction* localServer = nullptr;
        QAction* copy = nullptr;
        QAction* copyConversation = nullptr;
        QAction* palette = nullptr;
        QAction* openWithOptions = nullptr;
        QAction* find = nullptr;
        QAction* tokenProbabilities = nullptr;
        QAction* surprise = nullptr;
        QAction* settings = nullptr;
        QAction* help = nullptr;
    };

    void createActions();
    void createConversationMenu();
    void createMenus();
    void createToolBar();
    void createDocks();
    void resizePanels();
    void bringToFront(QDockWidget& dock);
    void giveRoom(QDockWidget& dock);
    void keepLowerHeight();
    void createRail();
    void refreshRoom();
    void showConversationPage();
    void addDock(const PanelEntry& entry, QWidget* panel);
    QList<QDockWidget*> tabbedDocks() const;
    static QString iconOf(const QDockWidget& dock);
    void createAppearanceMenus(QMenu& view);
    void createHelpMenu();
    SettingsDialog& openSettings();
    void nameKeys();
    void refreshIcons();
    void refreshState();
    void refreshRecent();
    void connectConversation();
    void connectTokenChoices();
    void goOnWith(MessageId answer, int index, engine::TokenId rival);
    void offerModels();
    void estimateLocal();
    engine::LoadRequest requestFor(const QString& model) const;
    void open(const engine::LoadRequest& request);
    void load(const engine::LoadRequest& request);
    void showConversation();
    void createLocalServer();
    void createHardwareMenu();
    void refreshHardwareMenu();
    void keepBudget();
    void refreshHardware();
    void refreshOpening();
    void handle(ProblemAction action);
    void onLoadFailed(const QString& model, const EngineFailure& failure);
    void about();
    void createPersonaBar();
    bool personaWantsAnotherModel() const;
    void createSetupBar();
    ConversationSetup setupNow() const;
    void noteSetup();
    void refreshSetup();
    void openSetup();
    void createUnsavedBar();
    void refreshUnsaved();
    void tryToSaveAgain();
    void askAboutUnsaved();
    void closeWithoutSaving();
    void chooseFileForUnsaved();

    Options m_options;
    SettingsWatch m_settings;
    Appearance m_appearance;
    Personas m_personas;
    EngineController m_engine;
    Machines m_machines;
    ConversationModel m_conversation;
    History m_history;
    ChatController m_chat;
    TokenLog m_tokens;
    Selection m_selection;
    TokenChoices m_choices;
    RecentModels m_recent;
    ChatPage* m_page = nullptr;
    TokenChoicesView* m_choicesView = nullptr;
    ExpertsPanel* m_experts = nullptr;
    SamplingPanel* m_sampling = nullptr;
    FitWorker* m_looker = nullptr;  // made when first needed
    LocalModels* m_local = nullptr;
    engine::LoadRequest m_lookedAt;
    quint64 m_lastReplanKept = 0;  // of the open model
    StatusLine* m_status = nullptr;
    LocalServerSwitch* m_server = nullptr;
    ServerIndicator* m_serverIndicator = nullptr;
    BudgetPanel* m_budget = nullptr;
    BenchmarkPanel* m_benchmark = nullptr;
    ConversationList* m_list = nullptr;
    EventLog m_log;
    QList<QDockWidget*> m_docks;  // in the menu's order
    SideColumns* m_columns = nullptr;
    PanelRail* m_rail = nullptr;
    QToolButton* m_panels = nullptr;
    QAction* m_panelsPlace = nullptr;  // of m_panels in the tool bar
    QToolButton* m_listButton = nullptr;
    QSet<QDockWidget*> m_roomy;   // shown before, at our size or the user's
    bool m_hasLayout = false;     // the user's own, or ours has its sizes
    int m_lowerHeight = 0;        // preferred for the docks below; a low window gives less
    int m_laidOutHeight = 0;      // of the window when its docks last followed it; 0: not yet
    QTimer* m_settles = nullptr;  // runs until they have
    QMenu* m_recentMenu = nullptr;
    QLabel* m_modelLabel = nullptr;
    QToolButton* m_hardware = nullptr;
    QString m_notedOpening;
    QMenu* m_hardwareMenu = nullptr;
    CommandPalette* m_palette = nullptr;
    DeviceChoices m_devices;
    QString m_device;  // the chosen one
    quint64 m_vramBytes = 0;
    DropHint* m_dropHint = nullptr;
    PersonaBar* m_personaBar = nullptr;
    SetupBar* m_setup = nullptr;
    ConversationId m_goesOnAnyway = 0;  // the user has dismissed the bar
    UnsavedBar* m_unsaved = nullptr;
    QTimer* m_reading = nullptr;        // runs while the bar's question is new
    quint64 m_askedAt = 0;              // changes of the history at the question
    QStringList m_sinceTrouble;         // the tries since the trouble began, for the bar
    std::optional<quint64> m_inFileAt;  // changes of the history when all that is unsaved was saved as a file
    bool m_closesUnsaved = false;
    bool m_sessionEnds = false;
    Actions m_actions;
    HelpDesk* m_help = nullptr;
    KeyBindings* m_keys = nullptr;
    QPointer<SettingsDialog> m_settingsDialog;
    QString m_openedModel;    // the working one
    QString m_loadingModel;   // the one being opened
    QString m_previousModel;  // the one before a load that failed
};

// The path of a drag of files; empty if it cannot be a model.
QString modelPathIn(const QMimeData* mime);

}  // namespace offstage::ui
