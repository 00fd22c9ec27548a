#pragma once

#include <optional>
#include <vector>

#include <QObject>
#include <QPointer>

#include "engine/model/model_finder.h"
#include "ui/base/message.h"
#include "ui/engine/device_choice.h"
#include "ui/engine/engine_values.h"
#include "ui/window/recent_models.h"

class QMainWindow;
class QDialog;
class QMessageBox;

namespace offstage::ui {

class DownloadQueue;
class DownloadsDialog;
class EmptyState;
class FitWorker;
class HelpDesk;
class LocalModels;
struct Core;

// Opens models: on which device, with which budgets, and what is offered after a failure.
// GUI thread only.
class ModelOpener : public QObject {
    Q_OBJECT

  public:
    struct Options {
        QString demoModel;      // empty: none at hand
        QString device;         // engine::LoadRequest::device; empty: the one kept in the settings, else the best
        quint64 vramBytes = 0;  // budget on that device; 0: all that it has to give
        bool looksAtFilesFirst = false;  // before the model that is open makes room for another
        // The places that are searched for models; nothing: none.
        std::optional<std::vector<engine::ModelPlace>> modelPlaces;
    };

    // `start`: the page that lists the models on this computer.
    ModelOpener(QMainWindow& window, Core& core, EmptyState& start, HelpDesk& help, const Options& options);

    const QString& demoModel() const { return m_options.demoModel; }
    // The model that is being opened, also while its files are looked at; empty: none is.
    QString opening() const;
    DeviceChoices& devices() { return m_devices; }
    const QString& device() const { return m_device; }  // the chosen one
    RecentModels& recent() { return m_recent; }
    LocalModels* local() const { return m_local; }  // nullptr: none are looked for
    // The model that was open last, if it still exists; otherwise the demo model. Not one
    // whose opening ended the program.
    QString modelToBeginWith() const;

    // The kept settings for this model on this device.
    engine::LoadRequest requestFor(const QString& model, const QString& device, quint64 vramBytes) const;
    // On the chosen device.
    void open(const QString& model) { load(requestFor(model, m_device, m_vramBytes)); }
    // Of a list: one that does not fit, or needs a chat template, is opened with options,
    // which show what helps.
    void openListed(const QString& model);
    // The user chose it so: device and budget are kept.
    void openAsChosen(const engine::LoadRequest& request);
    // Opens the open model again, on another device. vramBytes 0: all memory that the
    // device has.
    void useDevice(const QString& device, quint64 vramBytes = 0);
    // An emulated GPU that is too small for the demo model: experts come and go.
    void tryEmulatedGpu();

    // Whether the window may close now; false: a question about the downloads that this
    // would interrupt, whose answer closes the window or not.
    bool mayClose();

  public Q_SLOTS:
    // Those remedies of a problem that open a model.
    void handle(offstage::ui::ProblemAction action);
    void choose();
    // Empty: the open one. forTemplate: to choose how messages are written for it.
    void openWithOptions(const QString& model = {}, bool forTemplate = false);
    void showSuggestions();  // "What runs here"

  Q_SIGNALS:
    void deviceChosen();

  private:
    engine::LoadRequest requestForOthers() const;
    void keepDevice(const QString& device, quint64 vramBytes);
    void offerModels();
    void estimateLocal();
    void load(const engine::LoadRequest& request);
    void loadNow(const engine::LoadRequest& request);
    DownloadsDialog* showDownloads(QDialog& list);
    void refresh();
    void onLoadFailed(const QString& model, const EngineFailure& failure);
    // The open model, or the one being opened.
    const QString& current() const { return m_opened.isEmpty() ? m_loading : m_opened; }

    QMainWindow& m_window;
    Core& m_core;
    EmptyState& m_start;
    HelpDesk& m_help;
    Options m_options;
    DeviceChoices m_devices;
    QString m_device;
    quint64 m_vramBytes = 0;
    RecentModels m_recent;
    LocalModels* m_local = nullptr;
    DownloadQueue* m_downloads;
    QPointer<QMessageBox> m_question;  // whether to close
    std::vector<quint64> m_mayPause;   // downloads that it was answered for
    FitWorker* m_looker = nullptr;     // made when first needed
    engine::LoadRequest m_lookedAt;
    bool m_isLooking = false;
    QString m_opened;    // the working one
    QString m_loading;   // the one being opened
    QString m_previous;  // the one before a load that failed
    QString m_notedOpening;
};

}  // namespace offstage::ui
