#include "ui/window/model_opener.h"

#include <algorithm>

#include <QApplication>
#include <QMainWindow>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>

#include "ui/base/settings.h"
#include "ui/chat/empty_state.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_budget.h"
#include "ui/engine/kept_context.h"
#include "ui/help/help_desk.h"
#include "ui/help/help_pages.h"
#include "ui/load/download_queue.h"
#include "ui/load/downloads_dialog.h"
#include "ui/load/fit_worker.h"
#include "ui/load/local_model_view.h"
#include "ui/load/local_models.h"
#include "ui/load/open_model_dialog.h"
#include "ui/load/suggestions_dialog.h"
#include "ui/window/core.h"

namespace offstage::ui {

ModelOpener::ModelOpener(QMainWindow& window, Core& core, EmptyState& start, HelpDesk& help, const Options& options)
    : QObject(&window),
      m_window(window),
      m_core(core),
      m_start(start),
      m_help(help),
      m_options(options),
      m_device(options.device),
      m_vramBytes(options.vramBytes),
      m_downloads(new DownloadQueue(this)) {
    if (m_device.isEmpty()) {
        m_device = settings::kDevice.value();
        m_vramBytes = m_device == QStringLiteral("cpu") ? 0 : settings::kDeviceVram.value();
    }
    connect(&m_devices, &DeviceChoices::changed, this, [this] {
        // The first start on a machine with a GPU uses the GPU without a question.
        if (m_options.device.isEmpty() && !settings::kDevice.kept() && m_devices.hasGpu()) {
            useDevice(QStringLiteral("cuda:0"));
        }
    });
    m_devices.look();
    connect(&m_start, &EmptyState::emulatedRequested, this, &ModelOpener::tryEmulatedGpu);
    connect(&m_core.engine, &EngineController::stateChanged, this, &ModelOpener::refresh);
    connect(&m_core.engine, &EngineController::loadFailed, this, &ModelOpener::onLoadFailed);
    connect(&m_core.engine, &EngineController::modelLoaded, this, [this](const engine::ModelSummary& model) {
        m_opened = QString::fromStdString(model.source);
        if (m_opened != m_options.demoModel) {
            m_recent.add(m_opened);
        }
        settings::kLastModel.set(m_opened);
        if (model.has_tokenizer && !model.has_chat_template) {
            Problem notice;
            notice.title = tr("“%1” has no chat template").arg(QString::fromStdString(model.name));
            notice.sentence =
                tr("Without one messages cannot be written for it. Choose that of its family, or a file.");
            notice.actions = {ProblemAction::ChooseTemplate, ProblemAction::OpenModel};
            m_core.chat.showNotice(notice);
        }
        refresh();
    });
    if (m_options.modelPlaces) {
        offerModels();
    }
    connect(&m_start, &EmptyState::suggestionsRequested, this, &ModelOpener::showSuggestions);
    connect(m_downloads, &DownloadQueue::asked, this, [this](const QString& host, const QString& name) {
        m_core.log.appendConnection(host, tr("the model %1").arg(name));
    });
    connect(m_downloads, &DownloadQueue::done, this, [this](const QString& path) {
        m_window.statusBar()->showMessage(tr("“%1” is on this computer now").arg(modelNameOf(path)), 10'000);
        if (m_local != nullptr) {
            m_local->search();
        }
    });
    if (const int paused = m_downloads->rowCount(); paused > 0) {  // they ran when the program was closed, or waited
        const QString text = tr("%n download(s) can be resumed: File › What runs here › Downloads", nullptr, paused);
        // Once the window is shown: before, the message would be written over the state.
        QMetaObject::invokeMethod(
            this, [this, text] { m_window.statusBar()->showMessage(text, 20'000); }, Qt::QueuedConnection);
    }
    refresh();
}

engine::LoadRequest ModelOpener::requestFor(const QString& model, const QString& device, quint64 vramBytes) const {
    engine::LoadRequest request;
    request.model = model.toStdString();
    request.device = device.toStdString();
    request.vram_bytes = vramBytes;
    request.kept_context = KeptContext::tokens();
    request.chat_template = KeptBudget::chatTemplate(model).toStdString();
    request.draft_model = KeptBudget::draftModel(model).toStdString();
    if (m_options.device.isEmpty()) {  // the command line's choice counts
        KeptBudget::applyTo(request);
    }
    return request;
}

// An emulated GPU's memory was chosen for the model that is open.
engine::LoadRequest ModelOpener::requestForOthers() const {
    return requestFor({}, m_device, m_device.startsWith(QLatin1String("emulated:")) ? 0 : m_vramBytes);
}

// Lists the models on this computer, on the start page and in the dialog.
void ModelOpener::offerModels() {
    m_local = new LocalModels(*m_options.modelPlaces, this);
    m_local->setRecent(m_recent.models());
    m_start.offer(*m_local);
    connect(&m_recent, &RecentModels::changed, m_local, [this] { m_local->setRecent(m_recent.models()); });
    connect(&m_start, &EmptyState::modelChosen, this, &ModelOpener::openListed);
    connect(&m_start, &EmptyState::allModelsRequested, this, [this] { openWithOptions(); });
    connect(&m_core.engine, &EngineController::modelLoaded, this, &ModelOpener::estimateLocal);
    connect(&m_devices, &DeviceChoices::changed, this, &ModelOpener::estimateLocal);
    connect(&m_core.engine, &EngineController::stateChanged, m_local,
            [this] { m_local->setQuiet(m_core.engine.isAnswering()); });
    m_local->search();
}

void ModelOpener::openListed(const QString& model) {
    const int row = m_local != nullptr ? m_local->rowOf(model) : -1;
    const QModelIndex index = m_local != nullptr ? m_local->index(row) : QModelIndex();
    const bool needsTemplate = index.data(LocalModels::NeedsTemplateRole).toBool();
    if (needsTemplate || index.data(LocalModels::FitRole).toInt() == static_cast<int>(LocalModel::Fit::TooLarge)) {
        openWithOptions(model, needsTemplate);
    } else {
        open(model);
    }
}

// Estimates with the settings of the start page.
void ModelOpener::estimateLocal() {
    if (!m_start.offered()->isHidden()) {  // the dialog sees to itself
        m_local->estimate(requestFor({}, m_device, m_vramBytes), heldBy(m_core.engine));
    }
}

// The open model is closed only for one whose files can be read.
void ModelOpener::load(const engine::LoadRequest& request) {
    if (!m_options.looksAtFilesFirst || !m_core.engine.model()) {
        loadNow(request);
        return;
    }
    QStatusBar* const bar = m_window.statusBar();
    if (!m_looker) {
        m_looker = new FitWorker(this);
        connect(m_looker, &FitWorker::estimated, this, [this, bar] {
            m_isLooking = false;
            bar->clearMessage();
            loadNow(m_lookedAt);
            m_core.chat.setHeldFor(*this, {});
        });
        connect(m_looker, &FitWorker::failed, this, [this, bar](const EngineFailure& failure) {
            m_isLooking = false;
            bar->clearMessage();
            m_core.chat.setHeldFor(*this, {});
            Problem problem;
            problem.title = tr("“%1” could not be opened").arg(modelNameOf(QString::fromStdString(m_lookedAt.model)));
            problem.sentence = sentenceOf(failure) + u'\n' + tr("The model that is open stays open.");
            problem.detail = failure.detail;
            problem.actions = {ProblemAction::OpenModel};
            m_core.chat.reportProblem(problem);
        });
    }
    m_lookedAt = request;
    m_isLooking = true;
    const QString looking = tr("Looking at the files of “%1”…").arg(modelNameOf(QString::fromStdString(request.model)));
    bar->showMessage(looking);
    m_core.chat.setHeldFor(*this, looking);  // what is asked now is for that model
    m_looker->ask(request, heldBy(m_core.engine));
}

QString ModelOpener::opening() const {
    const bool isLoading = m_core.engine.state() == EngineController::State::Loading;
    return m_isLooking ? QString::fromStdString(m_lookedAt.model)
           : isLoading ? QString::fromStdString(m_core.engine.loadRequest().model)
                       : QString();
}

void ModelOpener::loadNow(const engine::LoadRequest& request) {
    if (!m_opened.isEmpty()) {
        m_previous = m_opened;
        m_opened.clear();
    }
    m_loading = QString::fromStdString(request.model);
    engine::LoadRequest paced = request;
    paced.kept_context = KeptContext::tokens();
    paced.paced = request.device.starts_with("emulated:");
    paced.drafts = engine::DraftMode::kAuto;
    m_core.engine.openModel(paced);
}

void ModelOpener::choose() {
    chooseModelFile(
        &m_window, [this](const QString& path) { open(path); }, recent().models().value(0));
}

void ModelOpener::openWithOptions(const QString& model, bool forTemplate) {
    auto* dialog = new OpenModelDialog(m_core.engine, &m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->addAction(m_help.action());  // its keys count there, too
    setHelpPage(*dialog, QStringLiteral("models"));
    dialog->setModel(model.isEmpty() ? current() : model);
    if (m_local != nullptr) {
        dialog->offer(*m_local);
        connect(dialog, &QDialog::finished, this, &ModelOpener::estimateLocal);
    }
    connect(dialog, &QDialog::accepted, this, [this, dialog] { openAsChosen(dialog->request()); });
    dialog->open();
    if (forTemplate) {
        dialog->showTemplate();
    }
}

void ModelOpener::showSuggestions() {
    auto* dialog =
        new SuggestionsDialog(m_core.engine, requestForOthers(),
                              m_local != nullptr ? m_local->found() : std::vector<engine::FoundModel>(), &m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->addAction(m_help.action());
    setHelpPage(*dialog, QStringLiteral("models"));
    connect(dialog, &SuggestionsDialog::chosen, this, &ModelOpener::openListed);
    if (m_local != nullptr) {
        connect(m_local, &LocalModels::searched, dialog, [this, dialog] { dialog->setFound(m_local->found()); });
    }
    connect(dialog, &SuggestionsDialog::downloadsRequested, this, [this, dialog] { showDownloads(*dialog); });
    connect(dialog, &SuggestionsDialog::wanted, this,
            [this, dialog](const QString& name) { Q_EMIT showDownloads(*dialog)->wanted(name); });
    dialog->open();
}

// Above the list that it was asked for in, which is there again afterwards unless a model
// was chosen: what that opens stands alone.
DownloadsDialog* ModelOpener::showDownloads(QDialog& list) {
    auto* dialog = new DownloadsDialog(*m_downloads, &list);
    connect(dialog, &DownloadsDialog::wanted, this,
            [this, dialog](const QString& name) { dialog->offer(name, requestForOthers(), heldBy(m_core.engine)); });
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->addAction(m_help.action());
    setHelpPage(*dialog, QStringLiteral("models"));
    connect(dialog, &DownloadsDialog::chosen, this, [this, &list](const QString& model) {
        list.accept();
        openListed(model);
    });
    dialog->open();
    return dialog;
}

// Nothing that has come is lost, but the download does not go on by itself.
bool ModelOpener::mayClose() {
    const std::vector<Download> downloads = m_downloads->underWay();
    const bool isAgreed = std::ranges::all_of(downloads, [this](const Download& download) {
        return std::ranges::find(m_mayPause, download.id) != m_mayPause.end();
    });
    if (isAgreed || !m_window.isVisible()) {
        return true;
    }
    if (m_question == nullptr) {
        const Download& first = downloads.front();
        const int n = static_cast<int>(downloads.size());
        m_question = new QMessageBox(&m_window);
        m_question->setAttribute(Qt::WA_DeleteOnClose);
        m_question->setWindowTitle(tr("Close Offstage"));
        m_question->setTextFormat(Qt::PlainText);
        m_question->setText(n == 1 ? tr("%1 is still being downloaded.").arg(first.name)
                                   : tr("%n model(s) are still being downloaded.", nullptr, n));
        const QString come =
            first.bytesTotal == 0
                ? QString()
                : tr("%1 of %2 have come.").arg(bytesText(first.bytesDone), bytesText(first.bytesTotal));
        const QString kept = tr("Closing pauses this. What has come is kept, and the next start can resume it.");
        m_question->setInformativeText(n == 1 && !come.isEmpty() ? come + u' ' + kept : kept);
        QPushButton* close = m_question->addButton(tr("Close"), QMessageBox::AcceptRole);
        QPushButton* stay = m_question->addButton(tr("Keep downloading"), QMessageBox::RejectRole);
        m_question->setDefaultButton(stay);
        m_question->setEscapeButton(stay);
        connect(close, &QPushButton::clicked, this, [this] {
            m_mayPause.clear();
            for (const Download& download : m_downloads->underWay()) {
                m_mayPause.push_back(download.id);
            }
            m_window.close();
        });
        m_question->open();
    }
    m_window.setWindowState(m_window.windowState() & ~Qt::WindowMinimized);
    QApplication::alert(&m_window);
    return false;
}

void ModelOpener::openAsChosen(const engine::LoadRequest& request) {
    keepDevice(QString::fromStdString(request.device), request.vram_bytes);
    KeptBudget::keep(request);
    load(request);
}

// Also for the next start.
void ModelOpener::keepDevice(const QString& device, quint64 vramBytes) {
    m_device = device;
    m_vramBytes = vramBytes;
    settings::kDevice.set(device);
    settings::kDeviceVram.set(vramBytes);
    Q_EMIT deviceChosen();
}

void ModelOpener::useDevice(const QString& device, quint64 vramBytes) {
    keepDevice(device, vramBytes);
    const QString model = current();
    if (vramBytes > 0) {
        KeptBudget::forget(model, m_device);
    }
    if (!model.isEmpty()) {
        open(model);
    }
}

void ModelOpener::tryEmulatedGpu() {
    useDevice(DeviceChoices::demonstrationDevice(), DeviceChoices::kDemonstrationVram);
}

void ModelOpener::handle(ProblemAction action) {
    switch (action) {
        case ProblemAction::OpenWithOptions:
            openWithOptions();
            break;
        case ProblemAction::ChooseTemplate:
            openWithOptions({}, true);
            break;
        case ProblemAction::OpenModel:
            choose();
            break;
        case ProblemAction::OpenPreviousModel:
            open(m_previous);
            break;
        case ProblemAction::OpenDemoModel:
            open(m_options.demoModel);
            break;
        case ProblemAction::EditPrompt:
        case ProblemAction::TryAgain:
        case ProblemAction::AskAnew:
        case ProblemAction::LargerContext:
        case ProblemAction::LeaveOutOldest:
        case ProblemAction::SummariseOldest:
            break;
    }
}

QString ModelOpener::modelToBeginWith() const {
    const QString last = settings::kLastModel.value();
    const bool endedTheProgram = !last.isEmpty() && settings::kOpeningModel.value() == last;
    return last.isEmpty() || endedTheProgram || RecentModels::isMissing(last) ? m_options.demoModel : last;
}

void ModelOpener::refresh() {
    using State = EngineController::State;
    const State state = m_core.engine.state();
    // Also beside the demo model: users who open their own model need no list of models
    // on the start page any more.
    m_start.setModelsShown(state == State::NoModel || current() == m_options.demoModel);
    // Stored while a model is being opened: a later start that finds it knows that the
    // program ended there.
    const QString opening = state == State::Loading ? m_loading : QString();
    if (opening != m_notedOpening) {
        m_notedOpening = opening;
        settings::kOpeningModel.set(opening);
    }
}

void ModelOpener::onLoadFailed(const QString& model, const EngineFailure& failure) {
    settings::kOpeningModel.remove();
    if (failure.kind == engine::ErrorKind::kOutOfMemory || failure.kind == engine::ErrorKind::kInvalidInput) {
        KeptBudget::forget(model, m_device);  // it fitted once
    }
    Problem problem;
    if (failure.kind == engine::ErrorKind::kOutOfMemory) {
        problem.actions.append(ProblemAction::OpenWithOptions);
    }
    problem.actions.append(ProblemAction::OpenModel);
    if (!m_previous.isEmpty() && m_previous != model) {
        problem.actions.append(ProblemAction::OpenPreviousModel);
    }
    if (!m_options.demoModel.isEmpty() && m_options.demoModel != model && m_options.demoModel != m_previous) {
        problem.actions.append(ProblemAction::OpenDemoModel);
    }
    const bool cancelled = failure.kind == engine::ErrorKind::kCancelled;
    problem.title = cancelled ? tr("Loading “%1” was cancelled").arg(modelNameOf(model))
                              : tr("“%1” could not be opened").arg(modelNameOf(model));
    problem.sentence = cancelled ? tr("No model is open now.") : failure.sentence;
    if (cancelled) {
        m_core.chat.showNotice(problem);
        return;
    }
    problem.detail = failure.detail;
    m_core.chat.reportProblem(problem);
}

}  // namespace offstage::ui
