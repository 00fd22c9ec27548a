#include "ui/window/main_menu.h"

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

#include "ui/base/icons.h"
#include "ui/base/language.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/message_body.h"
#include "ui/engine/format.h"
#include "ui/help/help_desk.h"
#include "ui/settings/appearance.h"
#include "ui/settings/key_bindings.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/answer_tokens.h"
#include "ui/window/core.h"
#include "ui/window/model_opener.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

MainMenu::MainMenu(QMainWindow& window, const Parts& parts)
    : QObject(&window),
      m_window(window),
      m_core(parts.core),
      m_page(parts.page),
      m_panels(parts.panels),
      m_opener(parts.opener) {
    createFileMenu(parts.hardware);
    createEditMenu();
    createConversationMenu();
    createViewMenu(parts.tokens, parts.appearance);
    createHelpMenu(parts.help);
    m_palette = new CommandPalette(*window.menuBar(), &window);
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

void MainMenu::createFileMenu(QMenu& hardware) {
    QMenu& file = *m_window.menuBar()->addMenu(tr("&File"));
    m_newConversation = command(file, "newConversation", tr("&New conversation"), QKeySequence::New, [this] {
        m_panels.columns().showMiddle();
        m_core.chat.newConversation();
        m_page.input().setFocus();
    });
    m_open = command(file, "openModel", tr("&Open model…"), QKeySequence::Open, [this] { m_opener.choose(); });
    command(file, "openWithOptions", tr("Open with o&ptions…"), QKeySequence(tr("Ctrl+Shift+O")),
            [this] { m_opener.openWithOptions(); });
    m_recent = file.addMenu(tr("&Recent models"));
    m_recent->setToolTipsVisible(true);
    // Checked anew each time: a disk may have come or gone.
    connect(m_recent, &QMenu::aboutToShow, this, &MainMenu::listRecent);
    connect(&m_opener.recent(), &RecentModels::changed, this, &MainMenu::listRecent);
    listRecent();
    file.addMenu(&hardware);
    command(file, "localServer", tr("&Local server…"), {}, [this] { Q_EMIT serverSettingsRequested(); });
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
    command(edit, "find", tr("&Find in this conversation…"), QKeySequence::Find, [this] {
        m_panels.columns().showMiddle();
        m_page.find();
    });
    edit.addSeparator();
    m_stop = command(edit, "stop", tr("&Stop"), QKeySequence(Qt::Key_Escape), [this] { m_core.chat.stop(); });
    edit.addSeparator();
    command(edit, "settings", tr("Se&ttings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), [this] {
        Q_EMIT settingsRequested();
    })->setMenuRole(QAction::PreferencesRole);
}

// For the shown conversation, or the one selected in the list.
void MainMenu::createConversationMenu() {
    QMenu* menu = m_window.menuBar()->addMenu(tr("&Conversation"));
    ConversationList* const list = &m_panels.panel<ConversationList>();
    QList<QAction*> ofOne;
    const auto add = [&](const char* name, const QString& text, const QKeySequence& keys,
                         void (ConversationList::*what)(ConversationId), bool showsList) {
        ofOne.append(command(*menu, name, text, keys, [this, list, what, showsList] {
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
    add("rename", tr("&Rename"), QKeySequence(Qt::Key_F2), &ConversationList::rename, true);
    QAction* pinned = add("pin", tr("&Pinned"), {}, &ConversationList::togglePinned, false);
    QAction* archived = add("archive", tr("&Archived"), {}, &ConversationList::toggleArchived, false);
    add("export", tr("&Export…"), {}, &ConversationList::chooseExport, true);
    add("delete", tr("&Delete"), {}, &ConversationList::remove, true);
    menu->addSeparator();
    command(*menu, "exportAll", tr("Export a&ll conversations…"), {}, [list] { list->chooseExport(0); });
    command(*menu, "import", tr("&Import conversations…"), {}, [list] { list->chooseImport(); });
    pinned->setCheckable(true);
    archived->setCheckable(true);
    connect(menu, &QMenu::aboutToShow, this, [this, list, ofOne, pinned, archived] {
        const ConversationId id = list->chosen();
        for (QAction* action : ofOne) {
            action->setEnabled(id != 0);
        }
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

void MainMenu::listRecent() {
    m_recent->clear();
    if (!m_opener.demoModel().isEmpty()) {
        m_recent->addAction(tr("Demo model"), this, [this] { m_opener.open(m_opener.demoModel()); });
        m_recent->addSeparator();
    }
    for (const QString& model : m_opener.recent().models()) {
        const bool missing = RecentModels::isMissing(model);
        QString name = modelNameOf(model);
        name.replace(QStringLiteral("&"), QStringLiteral("&&"));
        QAction* entry = m_recent->addAction(missing ? tr("%1 (missing)").arg(name) : name, this,
                                             [this, model] { m_opener.open(model); });
        entry->setToolTip(model);
        entry->setEnabled(!missing);
    }
    if (!m_opener.recent().models().isEmpty()) {
        m_recent->addSeparator();
        // Queued: clearing rebuilds this menu, which would delete the chosen entry during
        // its own click.
        auto* clear = m_recent->addAction(tr("Clear the list"));
        connect(clear, &QAction::triggered, &m_opener.recent(), &RecentModels::clear, Qt::QueuedConnection);
    }
    m_recent->setEnabled(!m_recent->isEmpty());
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
           "Everything runs on this computer; nothing is sent anywhere but to machines that you add.\n\nApache License "
           "2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).")
            .arg(QString::fromLatin1(qVersion())));
    box->open();
}

}  // namespace offstage::ui
