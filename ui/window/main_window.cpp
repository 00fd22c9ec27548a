#include "ui/window/main_window.h"

#include <algorithm>
#include <utility>

#include <QApplication>
#include <QDateTime>
#include <QDockWidget>
#include <QFile>
#include <QKeyEvent>
#include <QLocale>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QScreen>
#include <QSettings>
#include <QStatusBar>
#include <QStyle>
#include <QVBoxLayout>

#include "engine/manual/demo_model.h"
#include "ui/base/icons.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/draft_attachments.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/persona_bar.h"
#include "ui/chat/title_writer.h"
#include "ui/engine/speed_meter.h"
#include "ui/help/help_answers.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_pages.h"
#include "ui/load/local_models.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_form.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/picture_dialog.h"
#include "ui/server/local_server_switch.h"
#include "ui/server/server_indicator.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/settings/settings_dialog.h"
#include "ui/settings/storage_page.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/panel_action.h"
#include "ui/window/answer_tokens.h"
#include "ui/window/budget_keeper.h"
#include "ui/window/drop_target.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/main_menu.h"
#include "ui/window/main_tool_bar.h"
#include "ui/window/model_menu.h"
#include "ui/window/panel_docks.h"
#include "ui/window/setup_watch.h"
#include "ui/window/side_columns.h"
#include "ui/window/status_line.h"
#include "ui/window/steps_owner.h"
#include "ui/window/unsaved_bar.h"
#include "ui/window/unsaved_guard.h"

namespace offstage::ui {

MainWindow::MainWindow(SessionFactory factory, const Options& options, QWidget* parent)
    : QMainWindow(parent),
      m_options(options),
      m_appearance(options.theme),
      m_core(std::move(factory), options.machines) {
    setWindowTitle(tr("Offstage"));
    setWindowIcon(programIcon());
    if (!options.historyFolder.isEmpty()) {
        m_core.history.open(options.historyFolder);
    }
    createMiddle();
    auto* status = new StatusLine(m_core.engine, *statusBar());
    connect(&m_page->counter(), &ContextCounter::counted, status, &StatusLine::setContextUsed);
    const auto follow = [this, status] { status->setFollowsAnswer(m_core.chat.isAnswering()); };
    connect(&m_core.chat, &ChatController::waitingChanged, status, follow);
    connect(&m_core.chat, &ChatController::currentChanged, status, follow);
    connect(&m_core.chat, &ChatController::currentChanged, status, &StatusLine::setConversation);
    status->setConversation(m_core.chat.current());

    m_panels = new PanelDocks(*this, m_core);
    m_help = new HelpDesk(*this, *menuBar());
    m_opener = new ModelOpener(*this, m_core, m_page->emptyState(), *m_help, options.models);
    connect(m_page, &ChatPage::openRequested, m_opener, &ModelOpener::choose);
    connect(m_page, &ChatPage::actionChosen, m_opener, &ModelOpener::handle);
    answerQuestions();
    auto* hardware = new HardwareMenu(m_core, *m_opener, m_page->emptyState(), this);
    auto* models = new ModelMenu(m_core.engine, *m_opener, this);
    auto* tokens = new AnswerTokens(*this, m_core, *m_page, *m_panels);
    m_menu = new MainMenu(*this,
                          {m_core, *m_page, *m_panels, *m_opener, *tokens, m_appearance, *m_help, *models, *hardware});
    connect(m_menu, &MainMenu::settingsRequested, this, [this](std::optional<SettingsDialog::Page> page) {
        SettingsDialog& dialog = openSettings();
        if (page) {
            dialog.showPage(*page);
        }
    });
    addToolBar(new MainToolBar(*m_menu, *m_panels, *models, *hardware, this));
    createServer();
    createTitles();
    auto* drop = new DropTarget(*this);
    connect(drop, &DropTarget::modelDropped, m_opener, &ModelOpener::open);
    connect(drop, &DropTarget::filesDropped, this, [this](const QStringList& files) {
        m_panels->columns().showMiddle();
        m_page->attachments().attach(files);
    });
    connect(&m_core.engine, &EngineController::stateChanged, this, [this] {
        const auto& model = m_core.engine.model();
        setWindowTitle(model ? tr("%1 – Offstage").arg(QString::fromStdString(model->name)) : tr("Offstage"));
    });
    connectList();
    connectSampling();
    connectBenchmark();
    connectProblems();

    m_appearance.apply();
    m_menu->refreshIcons();
    m_panels->refreshIcons();
    resize(1280, 800);
    restoreGeometry(settings::kWindowGeometry.value());
    m_panels->restore();
    hintAtPanels();
    followLastConversation(options.reopensLast);
    m_page->input().setFocus();
}

MainWindow::~MainWindow() {
    // QWidget's destructor hides a visible window too, but only after its layout is
    // deleted: what follows the docks' visibility would read that.
    hide();
    // Before the widgets that listen to it.
    delete m_server;
    m_core.engine.shutdown();
}

// The conversation that is shown is the one to begin with at the next start. One without
// messages does not exist then: the start page comes.
void MainWindow::followLastConversation(bool reopens) {
    if (reopens && settings::kReopensLast.value()) {
        m_core.chat.openConversation(settings::kLastConversation.value());
    }
    const auto keep = [this] { settings::kLastConversation.set(m_core.chat.current()); };
    connect(&m_core.chat, &ChatController::currentChanged, this, keep);
    connect(&m_core.history, &History::added, this, [this, keep](quint64 conversation) {
        if (conversation == m_core.chat.current()) {
            keep();
        }
    });
}

void MainWindow::handle(const OneInstance::Request& request) {
    setWindowState(windowState() & ~Qt::WindowMinimized);
    raise();
    activateWindow();
    if (!request.model.isEmpty()) {
        m_opener->open(request.model);
    }
    if (request.newChat || !request.prompt.isEmpty()) {
        m_panels->columns().showMiddle();
        m_core.chat.newConversation(request.prompt.isEmpty() ? ChatController::Beside::Messages
                                                             : ChatController::Beside::Draft);
    }
    const bool isAnswered = isOfTheDemo() && answerFromHelp(request.prompt, 0);
    if (!request.prompt.isEmpty() && !isAnswered && !m_core.chat.send(request.prompt)) {  // no model is open
        m_page->input().edit().setPlainText(request.prompt);
    }
}

// Once, until a panel was opened or the hint closed: somebody who only chats needs none.
void MainWindow::hintAtPanels() {
    EmptyState& start = m_page->emptyState();
    const auto seen = [&start] {
        settings::kKnowsPanels.set(true);
        start.setPanelsHinted(false);
    };
    const QList<QDockWidget*> tabs = m_panels->tabbed();
    const bool anyShown =
        std::any_of(tabs.begin(), tabs.end(), [](const QDockWidget* each) { return !each->isHidden(); });
    start.setPanelsHinted(!anyShown && !settings::kKnowsPanels.value());
    connect(&start, &EmptyState::panelsHintClosed, this, seen);
    for (const QDockWidget* each : tabs) {
        connect(each, &QDockWidget::visibilityChanged, this, [seen](bool visible) {
            if (visible) {
                seen();
            }
        });
    }
}

void MainWindow::createMiddle() {
    m_page = new ChatPage(m_core.engine, m_core.conversation, m_core.chat);
    setHelpPage(*m_page, QStringLiteral("chat"));
    m_unsaved = new UnsavedGuard(*this, m_core.history);
    auto* middle = new QWidget;
    columnOf(middle, {&m_unsaved->bar(), {m_page, 1}}, flush(0));
    middle->setFocusProxy(&m_page->input().edit());
    setCentralWidget(middle);
}

// Questions about the program are answered from the manual, with its page at hand. The
// demo model would answer them falsely; others are asked what was typed.
void MainWindow::answerQuestions() {
    const QStringList offered = HelpAnswers::offered();
    m_page->emptyState().setQuestions(offered);
    connect(&m_page->emptyState(), &EmptyState::questionChosen, this, [this, offered](int question) {
        giveAnswer(offered[question], m_helpAnswers.answerOfOffered(question), 0);
    });
    m_page->setAnsweredByHelp(
        [this](const QString& prompt, MessageId beside) { return isOfTheDemo() && answerFromHelp(prompt, beside); });
}

// While it loads, only the bundled one is known. What is asked then is for that model.
bool MainWindow::isOfTheDemo() const {
    const auto& model = m_core.engine.model();
    const QString opening = m_opener->opening();
    const bool isOpen = opening.isEmpty() || opening == QString::fromStdString(m_core.engine.loadRequest().model);
    return model && isOpen ? engine::is_demo_model(*model) : !opening.isEmpty() && opening == m_opener->demoModel();
}

bool MainWindow::answerFromHelp(const QString& question, MessageId beside) {
    const std::optional<HelpAnswer> answer = m_helpAnswers.answerOf(question);
    return answer && giveAnswer(question, *answer, beside);
}

bool MainWindow::giveAnswer(const QString& question, const HelpAnswer& answer, MessageId beside) {
    const bool isTaken = m_core.chat.answerFromHelp(question.trimmed(), answer.text, answer.page, beside);
    if (isTaken) {
        m_page->input().setFocus();
    }
    return isTaken;
}

void MainWindow::createTitles() {
    m_titles = new TitleWriter(m_core.engine, m_core.chat, m_opener->demoModel(), this);
    connect(&m_page->input().edit(), &QPlainTextEdit::textChanged, m_titles, &TitleWriter::giveUp);
}

// Off, unless the user chose that it starts with the program.
void MainWindow::createServer() {
    m_server = new LocalServerSwitch(m_core.engine, this);
    auto* indicator = new ServerIndicator(*m_server);
    statusBar()->addPermanentWidget(indicator);
    connect(indicator, &ServerIndicator::settingsRequested, this,
            [this] { openSettings().showPage(SettingsDialog::Page::Server); });
    if (m_server->choices().startsWithProgram) {
        m_server->setOn(true);
    }
}

void MainWindow::connectList() {
    auto* const list = &m_panels->panel<ConversationList>();
    ConversationView& view = m_page->view();
    connect(list, &ConversationList::newRequested, m_menu->newConversation(), &QAction::trigger);
    connect(list, &ConversationList::opened, this, [this] {
        m_panels->columns().showMiddle();
        m_page->input().setFocus();
    });
    connect(list, &ConversationList::composed, this, [this](QInputMethodEvent* event) {
        passToInput(*event, event->preeditString().isEmpty() && !event->commitString().isEmpty());
    });
    connect(list, &ConversationList::messageFound, &view, [this, &view](MessageId message, const QString& words) {
        QHash<MessageId, QList<QPair<int, int>>> places;
        MessageId first = message;
        qsizetype left = 1000;  // of a title's words, which may be anywhere
        for (const Message& each : m_core.conversation.messages()) {
            if (left <= 0) {
                break;
            }
            const bool isMeant = message == 0 ? each.kind != Message::Kind::Problem : each.id == message;
            if (const auto found = isMeant ? placesOfWords(each, words) : ConversationView::SourceRanges();
                !found.isEmpty()) {
                places[each.id] = message == 0 ? found.first(std::min(left, found.size())) : found;
                left -= found.size();
                first = first == 0 ? each.id : first;
            }
        }
        view.setFound(places);
        view.setCurrentFound(places.contains(first) ? first : 0, places.value(first).value(0));
        view.showSource(first, places.value(first).value(0).first);  // without a place: its beginning
    });
    const auto unmark = [&view] {
        view.setFound({});
        view.setCurrentFound(0, {});
    };
    connect(&m_core.chat, &ChatController::currentChanged, &view, unmark);
    connect(list, &ConversationList::searchChanged, &view, unmark);
    connect(list, &ConversationList::thoughtFound, &view, &ConversationView::showThought);
    connect(list, &ConversationList::fileFound, &view, &ConversationView::showFile);
}

// The panel has the settings of the shown conversation, and changes them.
void MainWindow::connectSampling() {
    auto* const panel = &m_panels->panel<SamplingPanel>();
    ChatController& chat = m_core.chat;
    const auto showThinking = [this, panel] {
        m_page->input().setThinking(panel->thinkingChoices(), panel->sampling().thinking);
    };
    connect(&chat, &ChatController::currentChanged, panel, [&chat, panel, showThinking] {
        panel->setSampling(chat.sampling());
        panel->setSystemPrompt(chat.systemPrompt());
        showThinking();
    });
    connect(panel, &SamplingPanel::samplingChanged, &chat, [&chat](const Sampling& sampling) {
        chat.setSampling(sampling);
        writeSampling(chat.samplingOfNew());
    });
    connect(panel, &SamplingPanel::samplingChanged, this, showThinking);
    connect(panel, &SamplingPanel::systemPromptChanged, &chat, &ChatController::setSystemPrompt);
    connect(panel, &SamplingPanel::systemPromptChanged, &m_page->counter(), &ContextCounter::countSoon);
    connect(&m_page->input(), &InputBar::thinkingChosen, panel, &SamplingPanel::chooseThinking);
    connect(&m_core.engine, &EngineController::modelLoaded, panel, [panel, showThinking](const auto& model) {
        QStringList choices;
        for (const std::string& choice : model.thinking_choices) {
            choices += QString::fromStdString(choice);
        }
        panel->setThinkingChoices(choices);
        panel->setAdvised(model.defaults);
        showThinking();
    });
    chat.setSampling(panel->sampling());
    auto* persona = new PersonaBar(m_core.personas, chat, *panel, m_core.engine);
    qobject_cast<QVBoxLayout*>(m_page->layout())->insertWidget(0, persona);
    persona->setMinimumWidth(0);
    connect(persona, &PersonaBar::systemPromptRequested, this, [this, panel] {
        m_panels->show(QStringLiteral("sampling"));
        panel->editSystemPrompt();
    });
    connect(persona, &PersonaBar::said, this,
            [this](const QString& sentence) { statusBar()->showMessage(sentence, 8000); });
    m_menu->addToPalette(tr("Persona"), persona->choices());
    m_menu->addToPalette(tr("Persona"), persona->presets().menu());
    const BenchmarkRunner& runner = m_panels->panel<BenchmarkPanel>().runner();
    new SetupWatch(m_core, *m_opener, *m_page, *persona, runner, this);
    new BudgetKeeper(m_core.engine, runner, this);
    new StepsOwner(
        m_core, runner,
        {&m_panels->panel<ExpertsPanel>(), &m_panels->panel<CachePanel>(), &m_panels->panel<DispatchPanel>()}, this);
}

// A benchmark's answers follow each other, without others in between.
void MainWindow::connectBenchmark() {
    auto* const panel = &m_panels->panel<BenchmarkPanel>();
    const auto hold = [this](bool held) {
        m_server->setHeld(held);
        m_titles->setHeld(held);
        m_core.chat.setHeld(held);
    };
    connect(&panel->runner(), &BenchmarkRunner::began, m_server, [hold] { hold(true); });
    connect(&panel->runner(), &BenchmarkRunner::ended, m_server, [hold] { hold(false); });
    connect(&panel->runner(), &BenchmarkRunner::ended, &m_core.log, [this](const QString& problem) {
        if (!problem.isEmpty()) {
            m_core.log.append(LogKind::Problem, problem);
        }
    });
    for (SpeedMeter* meter : findChildren<SpeedMeter*>()) {  // the status line's and What if's
        connect(&panel->runner(), &BenchmarkRunner::began, meter, &SpeedMeter::beginTrial);
        connect(&panel->runner(), &BenchmarkRunner::ended, meter, &SpeedMeter::endTrial);
    }
    connect(panel, &BenchmarkPanel::picturesRequested, this, [this] {
        QStringList about;
        if (const auto& model = m_core.engine.model()) {
            about << QString::fromStdString(model->name) << findChild<HardwareMenu*>()->text()
                  << settingText(settingInForce(m_core.engine));
        }
        about << tr("Offstage, %1").arg(QLocale().toString(QDateTime::currentDateTime(), QLocale::ShortFormat));
        auto* dialog = new PictureDialog(plotsOf(m_panels->all()), about.join(QStringLiteral(" · ")), this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &PictureDialog::saved, this,
                [this](const QString& sentence) { statusBar()->showMessage(sentence, 8000); });
        dialog->open();
    });
}

void MainWindow::connectProblems() {
    const auto note = [this](const QString& sentence, bool isProblem, int ms) {
        m_core.log.append(isProblem ? LogKind::Problem : LogKind::Note, sentence);
        statusBar()->showMessage(sentence, ms);
    };
    connect(&m_settings, &SettingsWatch::troubled, this,
            [note](const QString& sentence) { note(sentence, true, 8000); });
    connect(&m_core.machines, &Machines::connecting, &m_core.log, &EventLog::appendConnection);
    connect(&m_core.machines, &Machines::noted, this,
            [note](const QString& sentence, bool isProblem) { note(sentence, isProblem, isProblem ? 15'000 : 8'000); });
    auto noteTrouble = [this, noted = QString()]() mutable {  // which the UnsavedBar tells
        const QString trouble = m_core.history.trouble();
        if (trouble != std::exchange(noted, trouble) && !trouble.isEmpty()) {
            m_core.log.append(LogKind::Problem, trouble);
        }
    };
    noteTrouble();
    connect(&m_core.history, &History::troubleChanged, this, noteTrouble);
    connect(&m_core.history, &History::noticed, &m_core.chat, &ChatController::reportProblem);
    for (const Problem& notice : m_core.history.notices()) {
        m_core.chat.reportProblem(notice);
    }
}

void MainWindow::fitToScreen() {
    const QRect room = screen()->availableGeometry();
    // The frame's size is unknown before the window manager has shown the window: assume
    // a title bar's height and a border.
    const QSize frame(
        2 * style()->pixelMetric(QStyle::PM_MdiSubWindowFrameWidth),
        style()->pixelMetric(QStyle::PM_TitleBarHeight) + 2 * style()->pixelMetric(QStyle::PM_MdiSubWindowFrameWidth));
    resize(size().boundedTo(room.size() - frame));
    const QRect inside(room.topLeft(), room.size() - frame - size() + QSize(1, 1));
    if (testAttribute(Qt::WA_Moved) && !inside.contains(pos())) {
        move(std::clamp(pos().x(), inside.left(), std::max(inside.left(), inside.right())),
             std::clamp(pos().y(), inside.top(), std::max(inside.top(), inside.bottom())));
    }
}

SettingsDialog& MainWindow::openSettings() {
    if (!m_settingsDialog) {
        QStringList others;
        for (const engine::ModelPlace& place :
             m_options.models.modelPlaces.value_or(std::vector<engine::ModelPlace>())) {
            others += QFile::decodeName(place.folder.string().c_str());
        }
        m_settingsDialog = new SettingsDialog({m_appearance, m_menu->keys(), *m_server, m_core.engine,
                                               m_options.historyFolder, LocalModels::addedFolders(), others},
                                              this);
        LocalModels* const local = m_opener->local();
        StoragePage& storage = m_settingsDialog->storagePage();
        storage.addModelsButton().setEnabled(local != nullptr);
        if (local != nullptr) {
            connect(&storage, &StoragePage::modelFolderAdded, local, &LocalModels::addFolder);
            connect(&storage, &StoragePage::modelFolderRemoved, local, &LocalModels::removeFolder);
            connect(local, &LocalModels::foldersChanged, &storage,
                    [&storage, others] { storage.setModelFolders(LocalModels::addedFolders(), others); });
        }
        m_settingsDialog->setAttribute(Qt::WA_DeleteOnClose);
        m_settingsDialog->addAction(m_help->action());  // its keys count there, too
    }
    m_settingsDialog->show();
    m_settingsDialog->raise();
    m_settingsDialog->activateWindow();
    return *m_settingsDialog;
}

// Keys that no other widget uses begin a message.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (!beginsMessage(*event) || !passToInput(*event, true)) {
        QMainWindow::keyPressEvent(event);
    }
}

// The focus follows, unless text is still being composed: that would end it. False: not now.
bool MainWindow::passToInput(QEvent& event, bool focusFollows) {
    QWidget& edit = m_page->input().edit();
    // A menu that is open passes the keys that it has no use for to the menu bar.
    if (QApplication::activePopupWidget() != nullptr || !edit.isEnabled() || edit.hasFocus()) {
        return false;
    }
    QCoreApplication::sendEvent(&edit, &event);
    if (focusFollows) {
        m_panels->columns().showMiddle();
        edit.setFocus();
    }
    return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if ((!m_unsaved->sessionEnds() && !m_opener->mayClose()) || !m_unsaved->mayClose()) {
        event->ignore();
        return;
    }
    QSettings kept;
    settings::kWindowGeometry.set(kept, saveGeometry());
    m_panels->save(kept);
    kept.sync();
    if (kept.status() == QSettings::AccessError) {
        qWarning("offstage: the settings cannot be saved as %s", qPrintable(kept.fileName()));
    }
    // Hidden at once; the engine obeys the stop within a layer's time.
    hide();
    m_server->setOn(false);
    m_core.engine.shutdown();
    m_core.history.close();
    event->accept();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_menu != nullptr) {
        m_menu->refreshIcons();
        m_panels->refreshIcons();
    }
}

// The View menu's entries, for a right click on a panel's title.
QMenu* MainWindow::createPopupMenu() {
    auto* menu = new QMenu(this);
    for (QDockWidget* dock : m_panels->all()) {
        menu->addAction(&PanelAction::of(*dock));
    }
    return menu;
}

}  // namespace offstage::ui
