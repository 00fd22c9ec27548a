// MainWindow's actions, menus, tool bar and docks.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

#include "ui/base/icons.h"
#include "ui/base/language.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/message_body.h"
#include "ui/engine/format.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_pages.h"
#include "ui/load/local_models.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/server/local_server_switch.h"
#include "ui/server/server_indicator.h"
#include "ui/settings/key_bindings.h"
#include "ui/settings/settings_dialog.h"
#include "ui/settings/storage_page.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_rail.h"
#include "ui/window/main_window.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

void MainWindow::createActions() {
    // `name`: the key of its shortcut (KeyBindings).
    const auto action = [this](const char* name, const QString& text, const QKeySequence& key, auto slot) {
        auto* made = new QAction(text, this);
        made->setObjectName(QLatin1String(name));
        made->setShortcut(key);
        connect(made, &QAction::triggered, this, slot);
        return made;
    };
    m_actions.newConversation =
        action("newConversation", tr("&New conversation"), QKeySequence::New, [this] { newConversation(); });
    m_actions.open = action("openModel", tr("&Open model…"), QKeySequence::Open, [this] { chooseModel(); });
    m_actions.openWithOptions = action("openWithOptions", tr("Open with o&ptions…"), QKeySequence(tr("Ctrl+Shift+O")),
                                       [this] { openWithOptions(); });
    m_actions.find = action("find", tr("&Find in this conversation…"), QKeySequence::Find, [this] {
        showConversationPage();
        m_page->find();
    });
    m_actions.localServer = action("localServer", tr("&Local server…"), {},
                                   [this] { openSettings().showPage(SettingsDialog::Page::Server); });
    m_actions.stop = action("stop", tr("&Stop"), QKeySequence(Qt::Key_Escape), [this] { m_chat.stop(); });
    connect(&m_chat, &ChatController::waitingChanged, this, &MainWindow::refreshState);
    // Ctrl+C itself stays with the widget that has the focus.
    m_actions.copy = action("copy", tr("&Copy"), {}, [] {
        if (auto* body = qobject_cast<MessageBody*>(QApplication::focusWidget())) {
            body->copySelection();
        } else if (auto* edit = qobject_cast<QPlainTextEdit*>(QApplication::focusWidget())) {
            edit->copy();
        }
    });
    m_actions.settings =
        action("settings", tr("Se&ttings…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), [this] { openSettings(); });
    m_actions.settings->setMenuRole(QAction::PreferencesRole);
    m_actions.help = action("help", tr("&Contents"), QKeySequence(Qt::Key_F1), [this] { m_help->openHere(); });
    const auto choice = [this](const char* name, const QString& text, const QString& tip) {
        auto* made = new QAction(text, this);
        made->setObjectName(QLatin1String(name));
        made->setCheckable(true);
        made->setToolTip(tip);
        made->setStatusTip(tip);
        return made;
    };
    m_actions.tokenProbabilities = choice(
        "tokenProbabilities", tr("Token pro&babilities"),
        tr("At a word of an answer: how probable its tokens were, what else could stand there, and a branch from "
           "there (right mouse button). For answers from now on"));
    m_actions.surprise = choice("surprise", tr("S&urprise under the text"),
                                tr("Lines under what the model itself did not expect: dotted below 50 %, dashed below "
                                   "20 %, solid below 5 %, thick below 1 %. For answers from now on"));
    m_actions.palette =
        action("palette", tr("&Command palette…"), QKeySequence(tr("Ctrl+K")), [this] { m_palette->open(); });
    m_actions.copyConversation =
        action("copyConversation", tr("Copy the whole con&versation"), QKeySequence(tr("Ctrl+Shift+C")),
               [this] { QGuiApplication::clipboard()->setText(m_conversation.toMarkdown()); });
}

// Off, unless the user chose that it starts with the program.
void MainWindow::createLocalServer() {
    m_server = new LocalServerSwitch(m_engine, this);
    m_serverIndicator = new ServerIndicator(*m_server);
    statusBar()->addPermanentWidget(m_serverIndicator);
    connect(m_serverIndicator, &ServerIndicator::settingsRequested, this,
            [this] { openSettings().showPage(SettingsDialog::Page::Server); });
    // A benchmark's answers follow each other, without others in between.
    connect(&m_benchmark->runner(), &BenchmarkRunner::began, m_server, [this] { m_server->setHeld(true); });
    connect(&m_benchmark->runner(), &BenchmarkRunner::ended, m_server, [this] { m_server->setHeld(false); });
    if (m_server->choices().startsWithProgram) {
        m_server->setOn(true);
    }
}

void MainWindow::createMenus() {
    QMenu* file = menuBar()->addMenu(tr("&File"));
    file->addAction(m_actions.newConversation);
    file->addAction(m_actions.open);
    file->addAction(m_actions.openWithOptions);
    m_recentMenu = file->addMenu(tr("&Recent models"));
    m_recentMenu->setToolTipsVisible(true);
    // Checked anew each time: a disk may have come or gone.
    connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::refreshRecent);
    file->addMenu(m_hardwareMenu);
    file->addAction(m_actions.localServer);
    file->addSeparator();
    auto* quit = file->addAction(tr("&Quit"), this, &QWidget::close);
    quit->setObjectName(QStringLiteral("quit"));
    quit->setShortcut(QKeySequence(tr("Ctrl+Q")));
    quit->setMenuRole(QAction::QuitRole);

    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
    edit->addAction(m_actions.copy);
    edit->addAction(m_actions.copyConversation);
    edit->addAction(m_actions.find);
    edit->addSeparator();
    edit->addAction(m_actions.stop);
    edit->addSeparator();
    edit->addAction(m_actions.settings);

    createConversationMenu();

    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (QDockWidget* dock : m_docks) {
        view->addAction(&PanelAction::of(*dock));
    }
    view->addSeparator();
    view->addAction(m_actions.tokenProbabilities);
    view->addAction(m_actions.surprise);
    view->setToolTipsVisible(true);
    view->addSeparator();
    view->addAction(m_actions.palette);
    view->addSeparator();
    createAppearanceMenus(*view);
    createHelpMenu();
    m_keys = new KeyBindings(*menuBar(), this);
    connect(m_keys, &KeyBindings::changed, this, &MainWindow::nameKeys);
    nameKeys();
}

void MainWindow::createAppearanceMenus(QMenu& view) {
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
        connect(choice, &QAction::triggered, this, [this, chosen = value] { m_appearance.setTheme(chosen); });
    }
    view.addSeparator();
    name(view.addAction(tr("&Reset layout"), this, &MainWindow::resetLayout), QStringLiteral("resetLayout"));

    QMenu* text = view.addMenu(tr("Te&xt size"));
    const auto size = [&](const QString& title, const char* id, const QKeySequence& keys, auto slot) {
        name(text->addAction(title, this, slot), QLatin1String(id))->setShortcut(keys);
    };
    size(tr("&Larger"), "largerText", QKeySequence::ZoomIn,
         [this] { m_appearance.setTextSize(m_appearance.textSize() + 1); });
    size(tr("&Smaller"), "smallerText", QKeySequence::ZoomOut,
         [this] { m_appearance.setTextSize(m_appearance.textSize() - 1); });
    size(tr("&As the system"), "systemText", QKeySequence(tr("Ctrl+0")), [this] { m_appearance.setTextSize(0); });

    QMenu* language = view.addMenu(tr("&Language"));
    auto* spoken = new QActionGroup(this);
    QList<Language> choices = languages();
    choices.prepend({QString(), tr("As the s&ystem")});
    for (const Language& choice : choices) {
        QAction* entry = name(language->addAction(choice.name), QStringLiteral("language.") + choice.code);
        entry->setCheckable(true);
        entry->setData(choice.code);
        spoken->addAction(entry);
        connect(entry, &QAction::triggered, this, [this, code = choice.code] { m_appearance.setLanguage(code); });
    }
    const auto refresh = [this, group, spoken] {
        for (QAction* each : group->actions()) {
            each->setChecked(each->data().toInt() == static_cast<int>(m_appearance.theme()));
        }
        for (QAction* each : spoken->actions()) {
            each->setChecked(each->data().toString() == m_appearance.language());
        }
    };
    connect(&m_appearance, &Appearance::changed, this, refresh);
    connect(&m_appearance, &Appearance::languageChanged, this,
            [this] { statusBar()->showMessage(tr("The language changes when Offstage starts again."), 8000); });
    refresh();
}

void MainWindow::createHelpMenu() {
    m_help = new HelpDesk(*this, *menuBar());
    setHelpPage(*m_page, QStringLiteral("chat"));
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    help->addAction(m_actions.help);
    const auto page = [&](const QString& text, const char* name, const QString& id) {
        help->addAction(text, this, [this, id] { m_help->open(id); })->setObjectName(QLatin1String(name));
    };
    page(tr("&First steps"), "helpStart", QStringLiteral("start"));
    page(tr("&Keys"), "helpKeys", QStringLiteral("keys"));
    help->addSeparator();
    QAction* about = help->addAction(tr("&About Offstage"), this, &MainWindow::about);
    about->setObjectName(QStringLiteral("about"));
    about->setMenuRole(QAction::AboutRole);
}

SettingsDialog* MainWindow::settingsDialog() const {
    return m_settingsDialog;
}

SettingsDialog& MainWindow::openSettings() {
    if (!m_settingsDialog) {
        QStringList others;
        for (const engine::ModelPlace& place : m_options.modelPlaces.value_or(std::vector<engine::ModelPlace>())) {
            others += QFile::decodeName(place.folder.string().c_str());
        }
        m_settingsDialog = new SettingsDialog(
            {m_appearance, *m_keys, *m_server, m_engine, m_options.historyFolder, LocalModels::addedFolders(), others},
            this);
        StoragePage& storage = m_settingsDialog->storagePage();
        storage.addModelsButton().setEnabled(m_local != nullptr);
        if (m_local != nullptr) {
            connect(&storage, &StoragePage::modelFolderAdded, m_local, &LocalModels::addFolder);
            connect(&storage, &StoragePage::modelFolderRemoved, m_local, &LocalModels::removeFolder);
            connect(m_local, &LocalModels::foldersChanged, &storage,
                    [&storage, others] { storage.setModelFolders(LocalModels::addedFolders(), others); });
        }
        m_settingsDialog->setAttribute(Qt::WA_DeleteOnClose);
        m_settingsDialog->addAction(m_actions.help);  // its keys count there, too
    }
    m_settingsDialog->show();
    m_settingsDialog->raise();
    m_settingsDialog->activateWindow();
    return *m_settingsDialog;
}

// Texts with keys use the user's keys.
void MainWindow::nameKeys() {
    const QString stop = m_actions.stop->shortcut().toString(QKeySequence::NativeText);
    m_actions.stop->setToolTip(stop.isEmpty() ? tr("Stop the answer") : tr("Stop the answer (%1)").arg(stop));
    m_page->input().setKeys(stop, m_actions.open->shortcut().toString(QKeySequence::NativeText));
}

// For the shown conversation, or the one selected in the list.
void MainWindow::createConversationMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Conversation"));
    QList<QAction*> ofOne;
    const auto add = [&](const char* name, const QString& text, void (ConversationList::*what)(ConversationId),
                         bool showsList) {
        QAction* action = menu->addAction(text, this, [this, what, showsList] {
            const ConversationId id = m_list->chosen();
            if (id != 0 && showsList) {
                showPanel(QStringLiteral("conversations"));  // there it is seen, and can be undone
            }
            if (id != 0) {
                (m_list->*what)(id);
            }
        });
        action->setObjectName(QLatin1String(name));
        ofOne.append(action);
        return action;
    };
    add("rename", tr("&Rename"), &ConversationList::rename, true)->setShortcut(QKeySequence(Qt::Key_F2));
    QAction* pinned = add("pin", tr("&Pinned"), &ConversationList::togglePinned, false);
    QAction* archived = add("archive", tr("&Archived"), &ConversationList::toggleArchived, false);
    add("export", tr("&Export…"), &ConversationList::chooseExport, true);
    add("delete", tr("&Delete"), &ConversationList::remove, true);
    menu->addSeparator();
    menu->addAction(tr("Export a&ll conversations…"), this, [this] { m_list->chooseExport(0); })
        ->setObjectName(QStringLiteral("exportAll"));
    menu->addAction(tr("&Import conversations…"), m_list, &ConversationList::chooseImport)
        ->setObjectName(QStringLiteral("import"));
    pinned->setCheckable(true);
    archived->setCheckable(true);
    const auto refresh = [this, ofOne, pinned, archived] {
        const ConversationId id = m_list->chosen();
        for (QAction* action : ofOne) {
            action->setEnabled(id != 0);
        }
        pinned->setChecked(id != 0 && m_history.info(id).pinned);
        archived->setChecked(id != 0 && m_history.info(id).archived);
    };
    connect(menu, &QMenu::aboutToShow, this, refresh);
    // While the menu is closed its shortcut checks by itself.
    connect(menu, &QMenu::aboutToHide, this, [ofOne] {
        for (QAction* action : ofOne) {
            action->setEnabled(true);
        }
    });
}

void MainWindow::createToolBar() {
    m_hardwareMenu = new QMenu(tr("&Hardware"), this);
    m_hardwareMenu->setToolTipsVisible(true);
    QToolBar* bar = addToolBar(tr("Main tool bar"));
    bar->setObjectName(QStringLiteral("mainToolBar"));
    bar->setMovable(false);
    bar->setIconSize({20, 20});
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    bar->addAction(m_actions.newConversation);
    bar->addAction(m_actions.open);
    bar->addAction(m_actions.stop);  // here, where no long name pushes it out of a narrow window
    bar->addSeparator();
    m_modelLabel = new QLabel;
    m_modelLabel->setTextFormat(Qt::PlainText);
    m_modelLabel->setAccessibleName(tr("Model"));
    m_modelLabel->setContentsMargins(8, 0, 8, 0);
    QFont bold = m_modelLabel->font();
    bold.setWeight(QFont::DemiBold);
    m_modelLabel->setFont(bold);
    bar->addWidget(m_modelLabel);
    m_hardware = new QToolButton;
    m_hardware->setAccessibleName(tr("Hardware"));
    m_hardware->setPopupMode(QToolButton::InstantPopup);
    m_hardware->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_hardware->setMenu(m_hardwareMenu);
    bar->addWidget(m_hardware);
    auto* space = new QWidget;
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(space);
    // The docks at the left are opened from the left; the panels have their tabs, or this
    // menu if there is no room.
    QAction* list = &PanelAction::of(*dock(QStringLiteral("conversations")));
    bar->insertAction(bar->actions().constFirst(), list);
    m_listButton = qobject_cast<QToolButton*>(bar->widgetForAction(list));
    m_panels = new QToolButton;
    m_panels->setText(tr("Panels"));
    m_panels->setAccessibleName(tr("Panels"));
    m_panels->setToolTip(tr("Open one of the panels: budgets, experts, forecasts and more"));
    m_panels->setPopupMode(QToolButton::InstantPopup);
    m_panels->setToolButtonStyle(Qt::ToolButtonTextOnly);
    auto* panels = new QMenu(m_panels);
    for (QDockWidget* each : tabbedDocks()) {
        panels->addAction(&PanelAction::of(*each));
    }
    m_panels->setMenu(panels);
    // Before the names, which may be long: the end of the bar is hidden without room.
    m_panelsPlace = bar->insertWidget(m_actions.newConversation, m_panels);
    createRail();
    refreshRoom();
    for (QAction* action : bar->actions()) {
        if (auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action))) {
            button->setAccessibleName(QString(action->text()).remove(u'&').remove(u'…').trimmed());
            button->setFocusPolicy(Qt::TabFocus);
        }
    }
}

void MainWindow::createRail() {
    m_rail = new PanelRail(tr("Panels"), this);
    m_rail->setObjectName(QStringLiteral("panelRail"));
    for (QDockWidget* each : tabbedDocks()) {
        m_rail->addTab(PanelAction::of(*each));
    }
    addToolBar(Qt::RightToolBarArea, m_rail);
    connect(m_columns, &SideColumns::roomChanged, this, &MainWindow::refreshRoom);
}

// In a narrow window a menu replaces the inspector's tabs.
void MainWindow::refreshRoom() {
    const bool narrow = m_columns->room() == SideColumns::Room::One;
    m_rail->setVisible(!narrow);
    m_panelsPlace->setVisible(narrow);
    m_listButton->setToolButtonStyle(narrow ? Qt::ToolButtonIconOnly : Qt::ToolButtonTextBesideIcon);
}

void MainWindow::refreshIcons() {
    const QPalette& colours = palette();
    m_actions.newConversation->setIcon(themedIcon(QStringLiteral("new"), colours));
    m_actions.open->setIcon(themedIcon(QStringLiteral("open"), colours));
    m_actions.stop->setIcon(themedIcon(QStringLiteral("stop"), colours));
    m_actions.copy->setIcon(themedIcon(QStringLiteral("copy"), colours));
    for (QDockWidget* dock : m_docks) {
        if (const QString icon = iconOf(*dock); !icon.isEmpty()) {
            PanelAction::of(*dock).setIcon(themedIcon(icon, colours));
        }
    }
}

void MainWindow::refreshRecent() {
    m_recentMenu->clear();
    if (!m_options.demoModel.isEmpty()) {
        m_recentMenu->addAction(tr("Demo model"), this, [this] { openModel(m_options.demoModel); });
        m_recentMenu->addSeparator();
    }
    for (const QString& model : m_recent.models()) {
        const bool missing = RecentModels::isMissing(model);
        QString name = modelNameOf(model);
        name.replace(QStringLiteral("&"), QStringLiteral("&&"));
        QAction* entry = m_recentMenu->addAction(missing ? tr("%1 (missing)").arg(name) : name, this,
                                                 [this, model] { openModel(model); });
        entry->setToolTip(model);
        entry->setEnabled(!missing);
    }
    if (!m_recent.models().isEmpty()) {
        m_recentMenu->addSeparator();
        // Queued: clearing rebuilds this menu, which would delete the chosen entry during
        // its own click.
        auto* clear = m_recentMenu->addAction(tr("Clear the list"));
        connect(clear, &QAction::triggered, &m_recent, &RecentModels::clear, Qt::QueuedConnection);
    }
    m_recentMenu->setEnabled(!m_recentMenu->isEmpty());
}

void MainWindow::about() {
    auto* box = new QMessageBox(this);
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
