#pragma once

#include <QKeySequence>
#include <QObject>

class QAction;
class QMainWindow;
class QMenu;

namespace offstage::ui {

class AnswerTokens;
class Appearance;
class ChatPage;
class CommandPalette;
class HelpDesk;
class KeyBindings;
class ModelOpener;
class PanelDocks;
struct Core;

// The menu bar: the commands, their keys, and the palette that lists them. GUI thread
// only.
class MainMenu : public QObject {
    Q_OBJECT

  public:
    struct Parts {
        Core& core;
        ChatPage& page;
        PanelDocks& panels;
        ModelOpener& opener;
        AnswerTokens& tokens;
        Appearance& appearance;
        HelpDesk& help;
        QMenu& hardware;
    };

    MainMenu(QMainWindow& window, const Parts& parts);

    QAction* newConversation() const { return m_newConversation; }
    QAction* open() const { return m_open; }
    QAction* stop() const { return m_stop; }
    KeyBindings& keys() const { return *m_keys; }
    void refreshIcons();

  Q_SIGNALS:
    void settingsRequested();
    void serverSettingsRequested();

  private:
    template <typename Slot>
    QAction* command(QMenu& menu, const char* name, const QString& text, const QKeySequence& keys, Slot slot);
    void createFileMenu(QMenu& hardware);
    void createEditMenu();
    void createConversationMenu();
    void createViewMenu(AnswerTokens& tokens, Appearance& appearance);
    void createAppearanceMenus(QMenu& view, Appearance& appearance);
    void createHelpMenu(HelpDesk& help);
    void listRecent();
    void nameKeys();
    void about();

    QMainWindow& m_window;
    Core& m_core;
    ChatPage& m_page;
    PanelDocks& m_panels;
    ModelOpener& m_opener;
    CommandPalette* m_palette;
    KeyBindings* m_keys;
    QAction* m_newConversation;
    QAction* m_open;
    QAction* m_stop;
    QAction* m_copy;
    QMenu* m_recent;
};

}  // namespace offstage::ui
