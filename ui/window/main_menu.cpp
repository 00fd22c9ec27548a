#include "ui/window/main_menu.h"

#include <algorithm>

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QTabWidget>

#include "ui/base/icons.h"
#include "ui/base/language.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/message_body.h"
#include "ui/engine/format.h"
#include "ui/help/help_desk.h"
#include "ui/history/conversation_list_model.h"
#include "ui/settings/appearance.h"
#include "ui/settings/key_bindings.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/menu_commands.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/answer_tokens.h"
#include "ui/window/core.h"
#include "ui/window/model_menu.h"
#include "ui/window/model_opener.h"
#include "ui/window/panel_docks.h"
#include "ui/window/panel_list.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

MainMenu::MainMenu(QMainWindow& window, const Parts& parts)
    : QObject(&window),
      m_window(window),
      m_core(parts.core),
      m_page(parts.page),
      m_panels(parts.panels),
      m_opener(parts.opener) {
    createFileMenu(parts.models, parts.hardware);
    createEditMenu();
    createConversationMenu();
    createViewMenu(parts.tokens, parts.appearance);
    createHelpMenu(parts.help);
    m_palette = new CommandPalette(*window.menuBar(), &window);
    addSettingsToPalette();
    addSynonyms();
    m_keys = new KeyBindings(*window.menuBar(), this);
    connect(m_keys, &KeyBindings::changed, this, &MainMenu::nameKeys);
    nameKeys();
    const auto refreshStop = [this] {
        m_stop->setEnabled(m_core.engine.state() == EngineController::State::Generating ||
                           m_core.chat.hasWaitingPrompt());
    };
    connect(&m_core.engine, &EngineController::stateChanged, this, refreshStop);
    connect(&m_core.chat, &ChatController::waitingChanged, this, refreshStop);
    refreshStop();
}

// `name`: the key of its shortcut (KeyBindings).
template <typename Slot>
QAction* MainMenu::command(QMenu& menu, const char* name, const QString& text, const QKeySequence& keys, Slot slot) {
    QAction* made = menu.addAction(text, this, slot);
    made->setObjectName(QLatin1String(name));
    made->setShortcut(keys);
    return made;
}

void MainMenu::createFileMenu(ModelMenu& models, QMenu& hardware) {
    QMenu& file = *m_window.menuBar()->addMenu(tr("&File"));
    m_newConversation = command(file, "newConversation", tr("&New conversation"), QKeySequence::New, [this] {
        m_panels.columns().showMiddle();
        m_core.chat.newConversation();
        m_page.input().setFocus();
    });
    m_open = command(file, "openModel", tr("&Open model…"), QKeySequence::Open, [&models] { models.open(); });
    command(file, "openWithOptions", tr("Open with o&ptions…"), QKeySequence(tr("Ctrl+Shift+O")),
            [this] { m_opener.openWithOptions(); });
    command(file, "suggestions", tr("What &runs here…"), {}, [this] { m_opener.showSuggestions(); });
    file.addMenu(&models);
    file.addMenu(&hardware);
    command(file, "localServer", tr("&Local server…"), {},
            [this] { Q_EMIT settingsRequested(SettingsDialog::Page::Server); });
    file.addSeparator();
    command(file, "quit", tr("&Quit"), QKeySequence(tr("Ctrl+Q")), [this] {
        m_window.close();
    })->setMenuRole(QAction::QuitRole);
}

void MainMenu::createEditMenu() {
    QMenu& edit = *m_window.menuBar()->addMenu(tr("&Edit"));
    // Ctrl+C itself stays with the widget that has the focus.
    m_copy = command(edit, "copy", tr("&Copy"), {}, [] {
        if (auto* body = qobject_cast<MessageBody*>(QApplication::focusWidget())) {
            body->copySelection();
        } else if (auto* text = qobject_cast<QPlainTextEdit*>(QApplication::focusWidget())) {
            text->copy();
        }
    });
    command(edit, "copyConversation", tr("Copy the whole con&versation"), QKeySequence(tr("Ctrl+Shift+C")),
            [this] { QGuiApplication::clipboard()->setText(m_core.conversation.toMarkdown()); });
    command(edit, "copyAnswer", tr("Copy the last &answer"), QKeySequence(tr("Ctrl+Shift+A")), [this] {
        if (const Message* answer = lastOf(Message::Kind::Answer)) {
            QGuiApplication::clipboard()->setText(answer->text);
        }
    });
    command(edit, "find", tr("&Find in this conversation…"), QKeySequence::Find, [this] {
        m_panels.columns().showMiddle();
        m_page.find();
    });
    edit.addSeparator();
    m_stop = command(edit, "stop", tr("&Stop"), QKeySequence(Qt::Key_Escape), [this] { m_core.chat.stop(); });
    edit.addSeparator();
    command(edit, "settings", tr("Se&ttings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), [this] {
        Q_EMIT settingsRequested(std::nullopt);
    })->setMenuRole(QAction::PreferencesRole);
}

// For the shown conversation, or the one selected in the list.
void MainMenu::createConversationMenu() {
    QMenu* menu = m_window.menuBar()->addMenu(tr("&Conversation"));
    ConversationList* const list = &m_panels.panel<ConversationList>();
    QList<QAction*> ofOne;
    const auto add = [&](const char* name, const QString& text, const QKeySequence& keys,
                         void (ConversationList::*what)(ConversationId), bool showsList,
                         void (ConversationList::*ofFolder)(const QString&) = nullptr) {
        ofOne.append(command(*menu, name, text, keys, [this, list, what, showsList, ofFolder] {
            if (const QString folder = list->chosenFolder(); ofFolder != nullptr && !folder.isEmpty()) {
                (list->*ofFolder)(folder);
                return;
            }
            const ConversationId id = list->chosen();
            if (id != 0 && showsList) {
                m_panels.show(QStringLiteral("conversations"));  // there it is seen, and can be undone
            }
            if (id != 0) {
                (list->*what)(id);
            }
        }));
        return ofOne.last();
    };
    add("rename", tr("&Rename"), QKeySequence(Qt::Key_F2), &ConversationList::rename, true,
        &ConversationList::renameFolder);
    QAction* pinned = add("pin", tr("&Pinned"), {}, &ConversationList::togglePinned, false);
    QAction* archived = add("archive", tr("&Archived"), {}, &ConversationList::toggleArchived, false);
    QMenu* folders = menu->addMenu(tr("Move to &folder"));
    const auto fillFolders = [list, folders] {
        const ConversationId id = list->chosen();
        list->fillFolderMenu(*folders, id);
        folders->setEnabled(id != 0);
    };
    fillFolders();
    connect(&list->model().folders(), &ConversationFolders::changed, folders, fillFolders,
            Qt::QueuedConnection);  // the entry that was chosen goes with the others
    add("export", tr("&Export…"), {}, &ConversationList::chooseExport, true, &ConversationList::chooseFolderExport);
    add("delete", tr("&Delete"), {}, &ConversationList::remove, true, &ConversationList::removeFolder);
    command(*menu, "newFolder", tr("New f&older"), {}, [this, list] {
        m_panels.show(QStringLiteral("conversations"));
        list->newFolder();
    });
    menu->addSeparator();
    createMessageCommands(*menu);
    menu->addSeparator();
    command(*menu, "nextConversation", tr("&Next conversation"), QKeySequence(tr("Ctrl+PgDown")),
            [list] { list->openNext(+1); });
    command(*menu, "previousConversation", tr("Pre&vious conversation"), QKeySequence(tr("Ctrl+PgUp")),
            [list] { list->openNext(-1); });
    menu->addSeparator();
    command(*menu, "exportAll", tr("Export a&ll conversations…"), {}, [list] { list->chooseExport(0); });
    command(*menu, "import", tr("&Import conversations…"), {}, [list] { list->chooseImport(); });
    pinned->setCheckable(true);
    archived->setCheckable(true);
    connect(menu, &QMenu::aboutToShow, this, [this, list, ofOne, pinned, archived, fillFolders] {
        const ConversationId id = list->chosen();
        for (QAction* action : ofOne) {
            action->setEnabled(id != 0 || !list->chosenFolder().isEmpty());
        }
        fillFolders();
        pinned->setEnabled(id != 0);
        archived->setEnabled(id != 0);
        pinned->setChecked(id != 0 && m_core.history.info(id).pinned);
        archived->setChecked(id != 0 && m_core.history.info(id).archived);
    });
    // While the menu is closed its shortcut checks by itself.
    connect(menu, &QMenu::aboutToHide, this, [ofOne] {
        for (QAction* action : ofOne) {
            action->setEnabled(true);
        }
    });
}

const Message* MainMenu::lastOf(Message::Kind kind) const {
    const QList<Message>& all = m_core.conversation.messages();
    const auto found = std::find_if(all.rbegin(), all.rend(), [kind](const Message& m) { return m.kind == kind; });
    return found == all.rend() ? nullptr : &*found;
}

void MainMenu::createMessageCommands(QMenu& menu) {
    command(menu, "regenerate", tr("An&swer again"), QKeySequence(tr("Ctrl+R")), [this] {
        if (const Message* answer = lastOf(Message::Kind::Answer)) {
            m_core.chat.regenerate(answer->id);
        }
    });
    command(menu, "editLast", tr("Edit the last &message"), QKeySequence(tr("Ctrl+Shift+E")), [this] {
        if (const Message* prompt = lastOf(Message::Kind::Prompt)) {
            m_panels.columns().showMiddle();
            m_page.view().startEditing(prompt->id);
        }
    });
}

void MainMenu::createViewMenu(AnswerTokens& tokens, Appearance& appearance) {
    QMenu& view = *m_window.menuBar()->addMenu(tr("&View"));
    for (QDockWidget* dock : m_panels.all()) {
        view.addAction(&PanelAction::of(*dock));
    }
    view.addSeparator();
    view.addAction(tokens.probabilitiesAction());
    view.addAction(tokens.surpriseAction());
    view.setToolTipsVisible(true);
    view.addSeparator();
    command(view, "palette", tr("&Command palette…"), QKeySequence(tr("Ctrl+K")), [this] { m_palette->open(); });
    view.addSeparator();
    createAppearanceMenus(view, appearance);
}

void MainMenu::createAppearanceMenus(QMenu& view, Appearance& appearance) {
    const auto name = [](QAction* action, const QString& id) {
        action->setObjectName(id);
        return action;
    };
    QMenu* theme = view.addMenu(tr("&Theme"));
    auto* group = new QActionGroup(this);
    const std::pair<Theme, QString> themes[] = {
        {Theme::System, tr("As the &system")}, {Theme::Light, tr("&Light")}, {Theme::Dark, tr("&Dark")}};
    for (const auto& [value, text] : themes) {
        QAction* choice = name(theme->addAction(text), QStringLiteral("theme.") + nameOf(value));
        choice->setCheckable(true);
        choice->setData(static_cast<int>(value));
        group->addAction(choice);
        connect(choice, &QAction::triggered, this, [&appearance, chosen = value] { appearance.setTheme(chosen); });
    }
    view.addSeparator();
    command(view, "resetLayout", tr("&Reset layout"), {}, [this] { m_panels.reset(); });

    QMenu* text = view.addMenu(tr("Te&xt size"));
    command(*text, "largerText", tr("&Larger"), QKeySequence::ZoomIn,
            [&appearance] { appearance.setTextSize(appearance.textSize() + 1); });
    command(*text, "smallerText", tr("&Smaller"), QKeySequence::ZoomOut,
            [&appearance] { appearance.setTextSize(appearance.textSize() - 1); });
    command(*text, "systemText", tr("&As the system"), QKeySequence(tr("Ctrl+0")),
            [&appearance] { appearance.setTextSize(0); });

    QMenu* language = view.addMenu(tr("&Language"));
    auto* spoken = new QActionGroup(this);
    QList<Language> choices = languages();
    choices.prepend({QString(), tr("As the s&ystem")});
    for (const Language& choice : choices) {
        QAction* entry = name(language->addAction(choice.name), QStringLiteral("language.") + choice.code);
        entry->setCheckable(true);
        entry->setData(choice.code);
        spoken->addAction(entry);
        connect(entry, &QAction::triggered, this, [&appearance, code = choice.code] { appearance.setLanguage(code); });
    }
    const auto refresh = [&appearance, group, spoken] {
        for (QAction* each : group->actions()) {
            each->setChecked(each->data().toInt() == static_cast<int>(appearance.theme()));
        }
        for (QAction* each : spoken->actions()) {
            each->setChecked(each->data().toString() == appearance.language());
        }
    };
    connect(&appearance, &Appearance::changed, this, refresh);
    connect(&appearance, &Appearance::languageChanged, this, [this] {
        m_window.statusBar()->showMessage(tr("The language changes when Offstage starts again."), 8000);
    });
    refresh();
}

void MainMenu::createHelpMenu(HelpDesk& desk) {
    QMenu& help = *m_window.menuBar()->addMenu(tr("&Help"));
    help.addAction(desk.action());
    command(help, "helpStart", tr("&First steps"), {}, [&desk] { desk.open(QStringLiteral("start")); });
    command(help, "helpKeys", tr("&Keys"), {}, [&desk] { desk.open(QStringLiteral("keys")); });
    help.addSeparator();
    command(help, "about", tr("&About Offstage"), {}, [this] { about(); })->setMenuRole(QAction::AboutRole);
}

// What is set elsewhere than in a menu is found in the palette, too.
void MainMenu::addSettingsToPalette() {
    const auto add = [this](const QString& path, const QString& words, auto show) {
        auto* action = new QAction(path, this);
        setSynonyms(*action, words);
        connect(action, &QAction::triggered, this, show);
        m_palette->add(*action);
    };
    const auto page = [this](SettingsDialog::Page which) { return [this, which] { Q_EMIT settingsRequested(which); }; };
    using Page = SettingsDialog::Page;
    add(tr("Settings › Appearance"), tr("theme, dark, light, colours, text size, font, language"),
        page(Page::Appearance));
    add(tr("Settings › Conversations"), tr("start, last conversation, reopen, titles, names"),
        page(Page::Conversations));
    add(tr("Settings › Keys"), tr("shortcuts, keyboard, hotkeys"), page(Page::Keys));
    add(tr("Settings › Memory"), tr("context kept, conversations, RAM, KV cache"), page(Page::Memory));
    add(tr("Settings › Local server"), tr("API, OpenAI, port, address, HTTP"), page(Page::Server));
    add(tr("Settings › Storage"), tr("folders, model folders, cache, disk, history, delete"), page(Page::Storage));
    const auto panel = [this](const char* name) {
        return [this, name] { PanelAction::of(*m_panels.dock(QLatin1String(name))).showByKeys(); };
    };
    add(tr("Instructions and sampling › System prompt"), tr("persona, role, character"), [this] {
        m_panels.show(QStringLiteral("sampling"));
        m_panels.panel<SamplingPanel>().editSystemPrompt();
    });
    add(tr("Instructions and sampling › Temperature, top-p, seed"),
        tr("creativity, randomness, top-k, min-p, repetition penalty, beam, longest answer, max tokens, thinking"),
        panel("sampling"));
    add(tr("Budget › Memory, context and quality"),
        tr("VRAM, RAM, GPU memory, context length, offload layers, quantization, bits, KV cache, experts"),
        panel("budget"));
    for (const PanelEntry& entry : panelList()) {
        const QString name = QString::fromLatin1(entry.name);
        for (auto* tabs : m_panels.dock(name)->findChildren<QTabWidget*>()) {
            for (int i = 0; i < tabs->count(); ++i) {
                add(entry.title() + QStringLiteral(" › ") + tabs->tabText(i), {}, [this, name, tabs, i] {
                    m_panels.show(name);
                    tabs->setCurrentIndex(i);
                    tabs->setFocus(Qt::ShortcutFocusReason);
                });
            }
        }
    }
}

void MainMenu::addToPalette(const QString& path, QMenu& menu) {
    m_palette->add(path, menu);
}

// What else people call a command.
void MainMenu::addSynonyms() {
    const std::pair<const char*, QString> words[] = {
        {"newConversation", tr("chat, start, clear")},
        {"openModel", tr("load, file, GGUF, folder, switch model, change model")},
        {"openWithOptions", tr("load, context, device, GPU, quantization")},
        {"suggestions", tr("suggest, catalogue, which model, download")},
        {"localServer", tr("API, OpenAI, port, serve")},
        {"quit", tr("exit, close")},
        {"copyConversation", tr("clipboard, Markdown")},
        {"copyAnswer", tr("clipboard, reply, response")},
        {"find", tr("search")},
        {"stop", tr("cancel, interrupt, halt")},
        {"settings", tr("preferences, options, configuration")},
        {"rename", tr("title, name")},
        {"export", tr("save, Markdown, JSON, download")},
        {"exportAll", tr("save, backup, JSON, download")},
        {"import", tr("load, restore, JSON")},
        {"delete", tr("remove, erase")},
        {"newFolder", tr("group, category, project")},
        {"regenerate", tr("retry, redo, try again, another answer")},
        {"editLast", tr("change, correct, prompt")},
        {"tokenProbabilities", tr("logits, logprobs, alternatives")},
        {"surprise", tr("perplexity, uncertain, surprise")},
        {"theme.dark", tr("night, black, appearance")},
        {"theme.light", tr("day, white, appearance")},
        {"language.en", tr("English")},
        {"language.de", tr("German")},
        {"language.vi", tr("Vietnamese")},
        {"largerText", tr("zoom in, font size, bigger")},
        {"smallerText", tr("zoom out, font size")},
        {"resetLayout", tr("panels, windows, default")},
        {"panel.experts", tr("heat map, router, routing")},
        {"panel.cache", tr("hit rate, copies, policy")},
        {"panel.dispatch", tr("timeline, CPU, GPU, layers")},
        {"panel.budget", tr("memory, VRAM, RAM, context, quantization")},
        {"panel.whatIf", tr("forecast, hardware, buy, upgrade")},
        {"panel.machines", tr("network, nodes, cluster, pair")},
        {"panel.benchmark", tr("speed, tokens per second, measure, compare")},
        {"panel.log", tr("events, connections, errors")},
        {"panel.sampling", tr("temperature, top-p, seed, system prompt")},
        {"panel.conversations", tr("chats, history, list")},
    };
    for (const MenuCommand& command : menuCommands(*m_window.menuBar())) {
        for (const auto& [name, text] : words) {
            if (command.action->objectName() == QLatin1String(name)) {
                setSynonyms(*command.action, text);
            }
        }
    }
    for (QAction* common : {m_newConversation, m_open}) {
        common->setPriority(QAction::HighPriority);
    }
}

// Texts with keys use the user's keys.
void MainMenu::nameKeys() {
    const QString stop = m_stop->shortcut().toString(QKeySequence::NativeText);
    m_stop->setToolTip(stop.isEmpty() ? tr("Stop the answer") : tr("Stop the answer (%1)").arg(stop));
    m_page.input().setKeys(stop, m_open->shortcut().toString(QKeySequence::NativeText));
}

void MainMenu::refreshIcons() {
    const QPalette& colours = m_window.palette();
    m_newConversation->setIcon(themedIcon(QStringLiteral("new"), colours));
    m_open->setIcon(themedIcon(QStringLiteral("open"), colours));
    m_stop->setIcon(themedIcon(QStringLiteral("stop"), colours));
    m_copy->setIcon(themedIcon(QStringLiteral("copy"), colours));
}

void MainMenu::about() {
    auto* box = new QMessageBox(&m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("About Offstage"));
    box->setIconPixmap(programIcon().pixmap(64, 64));
    box->setTextFormat(Qt::PlainText);
    box->setText(tr("Offstage %1").arg(QApplication::applicationVersion()));
    box->setInformativeText(
        tr("Chat with Mixture-of-Experts models that do not fit into the GPU's memory, and see which experts are "
           "called. "
           "Everything runs on this computer; nothing is sent anywhere but to machines that you add and to the hub of "
           "a model that you ask for.\n\nApache License "
           "2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).")
            .arg(QString::fromLatin1(qVersion())));
    box->open();
}

}  // namespace offstage::ui
