#pragma once

#include <optional>

#include <QKeySequence>
#include <QObject>

#include "ui/base/message.h"
#include "ui/settings/settings_dialog.h"

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
class ModelMenu;
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
        ModelMenu& models;
        QMenu& hardware;
    };

    MainMenu(QMainWindow& window, const Parts& parts);

    QAction* newConversation() const { return m_newConversation; }
    QAction* open() const { return m_open; }
    QAction* stop() const { return m_stop; }
    KeyBindings& keys() const { return *m_keys; }
    // The palette lists what is in this menu below that path.
    void addToPalette(const QString& path, QMenu& menu);
    void refreshIcons();

  Q_SIGNALS:
    void settingsRequested(std::optional<offstage::ui::SettingsDialog::Page> page);  // nothing: any

  private:
    template <typename Slot>
    QAction* command(QMenu& menu, const char* name, const QString& text, const QKeySequence& keys, Slot slot);
    void createFileMenu(ModelMenu& models, QMenu& hardware);
    void createEditMenu();
    void createConversationMenu();
    void createMessageCommands(QMenu& menu);
    const Message* lastOf(Message::Kind kind) const;  // of the conversation shown; nullptr: none
    void createViewMenu(AnswerTokens& tokens, Appearance& appearance);
    void createAppearanceMenus(QMenu& view, Appearance& appearance);
    void createHelpMenu(HelpDesk& help);
    void addSettingsToPalette();
    void addSynonyms();
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
};

}  // namespace offstage::ui
