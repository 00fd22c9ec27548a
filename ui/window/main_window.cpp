#include "ui/window/main_window.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QDateTime>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QKeyEvent>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QScreen>
#include <QStatusBar>
#include <QStyle>
#include <QTimer>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/base/icons.h"
#include "ui/base/settings.h"
#include "ui/chat/attachment_file.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/draft_attachments.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/token_choices_view.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_budget.h"
#include "ui/engine/speed_meter.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_form.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/picture_dialog.h"
#include "ui/server/local_server_switch.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/drop_hint.h"
#include "ui/window/side_columns.h"
#include "ui/window/status_line.h"
#include "ui/window/unsaved_bar.h"

namespace offstage::ui {

namespace {}  // namespace

MainWindow::MainWindow(SessionFactory factory, const Options& options, QWidget* parent)
    : QMainWindow(parent),
      m_options(options),
      m_appearance(options.theme),
      m_engine(std::move(factory)),
      m_machines(options.machines, m_engine),
      m_chat(m_engine, m_conversation, m_history),
      m_tokens(m_engine),
      m_selection(m_tokens) {
    setWindowTitle(tr("Offstage"));
    setWindowIcon(programIcon());
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    if (!options.historyFolder.isEmpty()) {
        m_history.open(options.historyFolder);
    }

    m_page = new ChatPage(m_engine, m_conversation, m_chat);
    createUnsavedBar();
    auto* middle = new QWidget;
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_unsaved);
    column->addWidget(m_page, 1);
    setCentralWidget(middle);
    m_status = new StatusLine(m_engine, *statusBar());
    createActions();
    createDocks();
    createToolBar();
    createLocalServer();
    createMenus();
    createHardwareMenu();
    m_palette = new CommandPalette(*menuBar(), this);
    m_dropHint = new DropHint(this);

    connect(m_page, &ChatPage::openRequested, this, &MainWindow::chooseModel);
    connect(m_page, &ChatPage::actionChosen, this, &MainWindow::handle);
    connect(&m_page->emptyState(), &EmptyState::emulatedRequested, this, &MainWindow::tryEmulatedGpu);
    connect(&m_engine, &EngineController::stateChanged, this, &MainWindow::refreshState);
    connect(&m_engine, &EngineController::loadFailed, this, &MainWindow::onLoadFailed);
    connect(&m_engine, &EngineController::modelLoaded, this, [this](const engine::ModelSummary& model) {
        m_openedModel = QString::fromStdString(model.source);
        if (m_openedModel != m_options.demoModel) {
            m_recent.add(m_openedModel);
        }
        settings::kLastModel.set(m_openedModel);
        refreshState();
    });
    connect(&m_recent, &RecentModels::changed, this, &MainWindow::refreshRecent);
    connect(&m_settings, &SettingsWatch::troubled, this, [this](const QString& sentence) {
        m_log.append(LogKind::Problem, sentence);
        statusBar()->showMessage(sentence, 8000);
    });
    createSetupBar();
    connectConversation();
    createPersonaBar();
    connectTokenChoices();
    offerModels();

    m_appearance.apply();
    refreshIcons();
    resize(1280, 800);
    restoreGeometry(settings::kWindowGeometry.value());
    m_hasLayout = restoreState(settings::kWindowState.value(), kLayoutVersion);
    m_columns->fit(width());
    refreshRoom();
    refreshRecent();
    refreshState();
    m_page->input().setFocus();
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

MainWindow::~MainWindow() {
    // Before the widgets that listen to it.
    delete m_server;
    m_engine.shutdown();
}

void MainWindow::connectTokenChoices() {
    m_choicesView = new TokenChoicesView(m_choices, m_page->view());
    connect(&m_chat, &ChatController::answerExtended, &m_choices, &TokenChoices::add);
    connect(m_choicesView, &TokenChoicesView::rivalChosen, this, &MainWindow::goOnWith);
    const std::pair<QAction*, const Setting<bool>*> switches[] = {
        {m_actions.tokenProbabilities, &settings::kShowsProbabilities},
        {m_actions.surprise, &settings::kShowsSurprise}};
    const auto apply = [this] {
        m_choicesView->setShowsProbabilities(m_actions.tokenProbabilities->isChecked());
        m_choicesView->setShowsSurprise(m_actions.surprise->isChecked());
        m_chat.setWantsChoices(m_actions.tokenProbabilities->isChecked() || m_actions.surprise->isChecked());
    };
    for (const auto& [action, setting] : switches) {
        action->setChecked(setting->value());
        connect(action, &QAction::toggled, this, [apply, setting = setting](bool on) {
            setting->set(on);
            apply();
        });
    }
    apply();
}

// Another branch: the answer up to this token, an alternative in its place, continued by
// the model.
void MainWindow::goOnWith(MessageId answer, int index, engine::TokenId rival) {
    const Message* message = m_conversation.find(answer);
    const ChosenToken* token = m_choices.token(answer, index);
    const auto beginning = m_choices.beginningWith(answer, index, rival);
    if (!message || !token || !beginning) {
        return;
    }
    if (message->figures && message->figures->tokensOut != m_choices.count(answer)) {
        statusBar()->showMessage(tr("The beginning of this answer was written before its probabilities were kept; it "
                                    "cannot be gone on from here."),
                                 8000);
        return;
    }
    const MessageId branch =
        m_chat.branchFrom(answer, message->text.left(token->begin) + beginning->rivalText, beginning->ids);
    if (branch == 0) {
        statusBar()->showMessage(tr("An answer is on its way. Choose again after that."), 8000);
        return;
    }
    m_choices.addBranch(branch, answer, index, rival);
    m_page->input().setFocus();
}

void MainWindow::connectConversation() {
    ConversationView& view = m_page->view();
    connect(&view, &ConversationView::promptEdited, this, [this](MessageId id, const QString& text) {
        if (m_chat.editPrompt(id, text)) {
            m_page->view().finishEditing(id);
            m_page->input().setFocus();
        } else {
            m_page->view().refuseEdit(id,
                                      m_engine.state() == EngineController::State::NoModel
                                          ? tr("No model is open. Your text stays here.")
                                          : tr("An answer is on its way. Your text stays here: send it after that."));
        }
    });
    connect(&view, &ConversationView::answerEdited, this, [this](MessageId id, const QString& text) {
        if (m_chat.editAnswer(id, text)) {
            m_page->view().finishEditing(id);
            m_page->input().setFocus();
        } else {
            m_page->view().refuseEdit(id, tr("An answer is on its way. Your text stays here: save it after that."));
        }
    });
    connect(&view, &ConversationView::regenerateRequested, this, [this](MessageId id) {
        m_chat.regenerate(id);
        m_page->input().setFocus();  // the next typed text is a message
    });
    connect(&view, &ConversationView::continueRequested, this, [this](MessageId id) {
        m_chat.continueAnswer(id);
        m_page->input().setFocus();
    });
    connect(&view, &ConversationView::branchRequested, this, [this](MessageId id, int branch) {
        if (const Message* message = m_conversation.find(id)) {
            m_chat.switchBranch(id, branch - message->branch);
        }
    });

    connect(&m_chat, &ChatController::answerExtended, &m_tokens, &TokenLog::addTokens);
    connect(&view, &ConversationView::tokenPicked, &m_selection, &Selection::selectTokenAt);
    connect(&view, &ConversationView::tokenTimelineRequested, this, [this](MessageId id) {
        if (m_selection.selectToken(id, m_tokens.tokenCount(id) - 1)) {
            showPanel(QStringLiteral("dispatch"));
        } else {
            statusBar()->showMessage(tr("The timeline of this answer is no longer kept: it was written before Offstage "
                                        "was started, or long ago."),
                                     8000);
        }
    });
    m_selection.setTextSource([this](MessageId id, const TextRange& range) {
        const Message* message = m_conversation.find(id);
        return message != nullptr ? message->text.mid(range.begin, range.end - range.begin) : QString();
    });
    connect(&m_selection, &Selection::tokenMarked, this, [this](quint64 message, const TextRange& range) {
        m_page->view().markPickedToken(message, {range.begin, range.end});
    });
    connect(&m_selection, &Selection::underlined, this, [this](quint64 message, const QList<TextRange>& ranges) {
        ConversationView::SourceRanges source;
        for (const TextRange& range : ranges) {
            source.append({range.begin, range.end});
        }
        m_page->view().underlineTokens(message, source);
    });

    connect(m_list, &ConversationList::newRequested, this, &MainWindow::newConversation);
    connect(m_list, &ConversationList::opened, this, [this] {
        showConversationPage();
        m_page->input().setFocus();
    });
    connect(m_list, &ConversationList::messageFound, this, [this](MessageId message, const QString& words) {
        const int row = m_conversation.rowOf(message);
        if (row >= 0) {
            // The search also finds other forms of a word; then the message's beginning
            // is shown.
            const qsizetype place = m_conversation.messages()[row].text.indexOf(
                words.simplified().section(QLatin1Char(' '), 0, 0), 0, Qt::CaseInsensitive);
            m_page->view().showSource(message, static_cast<int>(std::max<qsizetype>(0, place)));
        }
    });
    connect(m_list, &ConversationList::thoughtFound, &view, &ConversationView::showThought);
    connect(&m_chat, &ChatController::currentChanged, this, &MainWindow::showConversation);
    connect(&m_page->input().edit(), &QPlainTextEdit::textChanged, this,
            [this] { m_chat.setDraft(m_page->input().edit().toPlainText()); });
    connect(m_sampling, &SamplingPanel::samplingChanged, &m_chat, &ChatController::setSampling);
    const auto showThinking = [this] {
        m_page->input().setThinking(m_sampling->thinkingChoices(), m_sampling->sampling().thinking);
    };
    connect(&m_page->input(), &InputBar::thinkingChosen, m_sampling, &SamplingPanel::chooseThinking);
    connect(m_sampling, &SamplingPanel::samplingChanged, this, showThinking);
    connect(&m_chat, &ChatController::currentChanged, m_sampling, showThinking);  // after showConversation()
    connect(&m_engine, &EngineController::modelLoaded, m_sampling, [this, showThinking](const auto& model) {
        QStringList choices;
        for (const std::string& choice : model.thinking_choices) {
            choices += QString::fromStdString(choice);
        }
        m_sampling->setThinkingChoices(choices);
        m_sampling->setAdvised(model.defaults);
        showThinking();
    });
    connect(m_sampling, &SamplingPanel::systemPromptChanged, &m_chat, &ChatController::setSystemPrompt);
    connect(m_sampling, &SamplingPanel::systemPromptChanged, &m_page->counter(), &ContextCounter::countSoon);
    m_chat.setSampling(m_sampling->sampling());
    m_chat.setSystemPrompt(m_sampling->systemPrompt());
    connect(m_benchmark, &BenchmarkPanel::picturesRequested, this, [this] {
        QStringList about;
        if (const auto& model = m_engine.model()) {
            about << QString::fromStdString(model->name) << hardwareText() << settingText(settingInForce(m_engine));
        }
        about << tr("Offstage, %1").arg(QLocale().toString(QDateTime::currentDateTime(), QLocale::ShortFormat));
        auto* dialog = new PictureDialog(plotsOf(m_docks), about.join(QStringLiteral(" · ")), this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        connect(dialog, &PictureDialog::saved, this,
                [this](const QString& sentence) { statusBar()->showMessage(sentence, 8000); });
        dialog->open();
    });
    connect(&m_benchmark->runner(), &BenchmarkRunner::began, &m_chat, [this] { m_chat.setHeld(true); });
    connect(&m_benchmark->runner(), &BenchmarkRunner::ended, &m_chat, [this] { m_chat.setHeld(false); });
    connect(&m_benchmark->runner(), &BenchmarkRunner::ended, this, &MainWindow::refreshSetup);
    for (SpeedMeter* meter : findChildren<SpeedMeter*>()) {  // the status line's and What if's
        connect(&m_benchmark->runner(), &BenchmarkRunner::began, meter, &SpeedMeter::beginTrial);
        connect(&m_benchmark->runner(), &BenchmarkRunner::ended, meter, &SpeedMeter::endTrial);
    }
    connect(&m_page->counter(), &ContextCounter::counted, m_status, &StatusLine::setContextUsed);
    const auto follow = [this] { m_status->setFollowsAnswer(m_chat.isAnswering()); };
    connect(&m_chat, &ChatController::waitingChanged, m_status, follow);
    connect(&m_chat, &ChatController::currentChanged, m_status, follow);
    m_log.follow(m_engine);
    connect(&m_machines, &Machines::connecting, &m_log, &EventLog::appendConnection);
    connect(&m_machines, &Machines::noted, this, [this](const QString& sentence, bool isProblem) {
        m_log.append(isProblem ? LogKind::Problem : LogKind::Note, sentence);
        statusBar()->showMessage(sentence, isProblem ? 15'000 : 8'000);
    });
    connect(&m_log, &EventLog::appended, this, &MainWindow::keepBudget);
    connect(&m_engine, &EngineController::loadStarted, this, [this] { m_lastReplanKept = 0; });
    connect(&m_history, &History::noticed, &m_chat, &ChatController::reportProblem);
    for (const Problem& notice : m_history.notices()) {
        m_chat.reportProblem(notice);
    }
}

// Another conversation: its settings and its draft take their places.
void MainWindow::showConversation() {
    m_sampling->setSampling(m_chat.sampling());
    m_sampling->setSystemPrompt(m_chat.systemPrompt());
    const QString draft = m_chat.draft();
    if (m_page->input().edit().toPlainText() != draft) {
        const QSignalBlocker quiet(&m_page->input().edit());
        m_page->input().edit().setPlainText(draft);
    }
}

bool MainWindow::sendPrompt(const QString& prompt) {
    return m_chat.send(prompt);
}

// Closes a panel that covers the conversation, in a narrow window.
void MainWindow::showConversationPage() {
    m_columns->showMiddle();
}

void MainWindow::newConversation() {
    showConversationPage();
    m_chat.newConversation();
    m_page->input().setFocus();
}

void MainWindow::chooseModel() {
    chooseModelFile(this, [this](const QString& path) { openModel(path); });
}

void MainWindow::handle(ProblemAction action) {
    switch (action) {
        case ProblemAction::OpenWithOptions:
            openWithOptions();
            break;
        case ProblemAction::OpenModel:
            chooseModel();
            break;
        case ProblemAction::OpenPreviousModel:
            openModel(m_previousModel);
            break;
        case ProblemAction::OpenDemoModel:
            openModel(m_options.demoModel);
            break;
        case ProblemAction::EditPrompt:
            m_chat.editFailedPrompt();
            break;
        case ProblemAction::TryAgain:
            m_chat.tryAgain();
            break;
    }
}

// Stored while a model is being opened: a later start that finds it knows that the
// program ended there.
void MainWindow::refreshOpening() {
    const QString opening = m_engine.state() == EngineController::State::Loading ? m_loadingModel : QString();
    if (opening == m_notedOpening) {
        return;
    }
    m_notedOpening = opening;
    settings::kOpeningModel.set(opening);
}

QString MainWindow::modelToBeginWith() const {
    const QString last = settings::kLastModel.value();
    const bool endedTheProgram = !last.isEmpty() && settings::kOpeningModel.value() == last;
    return last.isEmpty() || endedTheProgram || RecentModels::isMissing(last) ? m_options.demoModel : last;
}

void MainWindow::onLoadFailed(const QString& model, const EngineFailure& failure) {
    settings::kOpeningModel.remove();
    if (failure.kind == engine::ErrorKind::kOutOfMemory || failure.kind == engine::ErrorKind::kInvalidInput) {
        KeptBudget::forget(model, m_device);  // it fitted once
    }
    Problem problem;
    if (failure.kind == engine::ErrorKind::kOutOfMemory) {
        problem.actions.append(ProblemAction::OpenWithOptions);
    }
    problem.actions.append(ProblemAction::OpenModel);
    if (!m_previousModel.isEmpty() && m_previousModel != model) {
        problem.actions.append(ProblemAction::OpenPreviousModel);
    }
    if (!m_options.demoModel.isEmpty() && m_options.demoModel != model && m_options.demoModel != m_previousModel) {
        problem.actions.append(ProblemAction::OpenDemoModel);
    }
    const bool cancelled = failure.kind == engine::ErrorKind::kCancelled;
    problem.title = cancelled ? tr("Loading “%1” was cancelled").arg(modelNameOf(model))
                              : tr("“%1” could not be opened").arg(modelNameOf(model));
    problem.sentence = cancelled ? tr("No model is open now.") : failure.sentence;
    problem.detail = cancelled ? QString() : failure.detail;
    m_chat.reportProblem(problem);
}

void MainWindow::refreshState() {
    refreshOpening();
    const auto& model = m_engine.model();
    const bool loading = m_engine.state() == EngineController::State::Loading;
    refreshHardware();
    // Also beside the demo model: users who open their own model need no list of models
    // on the start page any more.
    const QString& current = m_openedModel.isEmpty() ? m_loadingModel : m_openedModel;
    m_page->emptyState().setModelsShown(m_engine.state() == EngineController::State::NoModel ||
                                        current == m_options.demoModel);
    m_modelLabel->setText(model ? QString::fromStdString(model->name) : loading ? tr("Loading…") : tr("No model"));
    m_modelLabel->setToolTip(model ? QString::fromStdString(model->source) + u'\n' + modelText(*model) : QString());
    m_actions.stop->setEnabled(m_engine.state() == EngineController::State::Generating || m_chat.hasWaitingPrompt());
    setWindowTitle(model ? tr("%1 – Offstage").arg(QString::fromStdString(model->name)) : tr("Offstage"));
}

// Keys that no other widget uses begin a message.
void MainWindow::keyPressEvent(QKeyEvent* event) {
    const QString text = event->text();
    const bool types = !text.isEmpty() && text.front().isPrint() && !text.front().isSpace() &&
                       (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) == 0;
    QWidget& edit = m_page->input().edit();
    if (types && edit.isEnabled() && !edit.hasFocus()) {
        showConversationPage();
        edit.setFocus();
        QCoreApplication::sendEvent(&edit, event);
        return;
    }
    QMainWindow::keyPressEvent(event);
}

QString modelPathIn(const QMimeData* mime) {
    const QList<QUrl> urls = mime->urls();
    if (urls.isEmpty() || !urls.first().isLocalFile()) {
        return {};
    }
    const QString first = QDir::cleanPath(urls.first().toLocalFile());
    // Several files are a model where they are parts of one: NAME-00001-of-00003.gguf.
    static const QRegularExpression part(QStringLiteral("^(.*)-\\d{5}(-of-\\d{5}\\.gguf)$"),
                                         QRegularExpression::CaseInsensitiveOption);
    const auto whole = [](const QString& path) {
        const QRegularExpressionMatch match = part.match(path);
        return match.hasMatch() ? match.captured(1) + match.captured(2) : QString();
    };
    const bool isOne = std::all_of(urls.begin() + 1, urls.end(), [&](const QUrl& url) {
        return !whole(first).isEmpty() && whole(QDir::cleanPath(url.toLocalFile())) == whole(first);
    });
    return isOne ? first : QString();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QStringList files = attachablePathsIn(event->mimeData());
    const QString path = modelPathIn(event->mimeData());
    if (path.isEmpty() && files.isEmpty()) {
        return;
    }
    event->acceptProposedAction();
    m_dropHint->setText(files.isEmpty()     ? tr("Drop to open %1").arg(QFileInfo(path).fileName())
                        : files.size() == 1 ? tr("Drop to attach %1").arg(QFileInfo(files.first()).fileName())
                                            : tr("Drop to attach %n files", nullptr, static_cast<int>(files.size())));
    m_dropHint->setGeometry(rect());
    m_dropHint->raise();
    m_dropHint->show();
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) {
    m_dropHint->hide();
}

void MainWindow::dropEvent(QDropEvent* event) {
    m_dropHint->hide();
    const QStringList files = attachablePathsIn(event->mimeData());
    const QString path = modelPathIn(event->mimeData());
    if (!files.isEmpty()) {
        event->acceptProposedAction();
        showConversationPage();
        m_page->attachments().attach(files);
    } else if (!path.isEmpty()) {
        event->acceptProposedAction();
        openModel(path);
    }
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    m_dropHint->setGeometry(rect());
    m_columns->fit(event->size().width());
    m_laidOutHeight = 0;
    m_settles->start();
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    if (!m_hasLayout) {
        m_hasLayout = true;
        QTimer::singleShot(0, this, &MainWindow::resizePanels);
    }
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_actions.open) {
        refreshIcons();
    }
}

}  // namespace offstage::ui
