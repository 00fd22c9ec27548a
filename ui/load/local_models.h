#pragma once

#include <stop_token>
#include <vector>

#include <QAbstractListModel>
#include <QDeadlineTimer>
#include <QFileSystemWatcher>
#include <QStringList>
#include <QThreadPool>
#include <QTimer>

#include "engine/model/model_finder.h"
#include "engine/run/fit_estimate.h"

namespace offstage::ui {

// A model found on this computer, and the known facts about loading it.
struct LocalModel {
    enum class Fit { Unknown, Fits, FitsWithDisk, TooLarge, NotSupported };
    engine::FoundModel found;
    Fit fit = Fit::Unknown;
    quint64 shortBy = 0;         // bytes that are missing
    double tokensPerSecond = 0;  // forecast; 0: not known
    bool emulated = false;       // the device that this is of
    quint64 estimated = 0;       // the request that `fit` is of; 0: none
    bool again = false;          // what it lacked may have come to the disk
    QString path() const;
    // It fits, but cannot answer messages: it brings none, and none was chosen for it.
    bool needsTemplate() const;
};

// The models in the caches of other programs and in the folders that the user added,
// recently opened ones first, then by name, unusable ones last. The disk is searched again
// by itself when something comes into a searched folder, or a file of an unusable model
// changes, such as one that is still being copied: at most every 15 s, and not while an
// answer is written. Files and folders are read on a separate thread. GUI thread only.
class LocalModels : public QAbstractListModel {
    Q_OBJECT

  public:
    enum Role {
        PathRole = Qt::UserRole + 1,  // QString: to open
        FactsRole,                    // QString: "17.3 GiB · 4.8 bits · Hugging Face (unsloth) · ..."
        VerdictRole,                  // QString: whether it fits and its expected speed, or why it cannot be opened
        FitRole,                      // int: LocalModel::Fit
        NeedsTemplateRole,            // bool: LocalModel::needsTemplate()
    };

    // Before a search by itself; tests take shorter ones.
    struct Pauses {
        int afterChangeMs = 1000;
        int betweenMs = 15'000;   // after the one before it
        int firstAgainMs = 2000;  // while something cannot be opened: twice as long each time
    };

    // `places`: besides the folders that the user added.
    explicit LocalModels(std::vector<engine::ModelPlace> places, QObject* parent = nullptr);
    LocalModels(std::vector<engine::ModelPlace> places, const Pauses& pauses, QObject* parent = nullptr);
    ~LocalModels() override;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    int rowOf(const QString& path) const;  // -1: not there
    std::vector<engine::FoundModel> found() const;

    // Searches the disk again; searched() follows. What was found before keeps its row's
    // contents; the model is reset only if something else is there now.
    void search();
    bool isSearching() const { return m_searching; }
    bool wasSearched() const { return m_searched; }
    // No search but those that are asked for: they would take time from an answer.
    void setQuiet(bool isQuiet) { m_quiet = isQuiet; }
    // The request for loading each model, with its path filled in. Estimates follow one
    // by one; those of an earlier request are given up.
    void estimate(const engine::LoadRequest& request, const engine::FitHeld& held);
    // The models opened lately, the latest first.
    void setRecent(const QStringList& recent);

    QString summary() const;  // a sentence in addition to the rows; without rows: the searched places

    // Kept in the settings.
    static QStringList addedFolders();
    void addFolder(const QString& folder);
    void removeFolder(const QString& folder);  // from the list; its files stay

  Q_SIGNALS:
    void searched();
    void foldersChanged();

  private:
    std::vector<engine::ModelPlace> places() const;
    void stopWork();
    void take(engine::FoundModels found, const QStringList& folders);
    void watch(const QStringList& folders);
    void lookAgain(bool hasChanged);
    void searchSoon();
    void searchByItself();
    void startEstimates();
    void setFit(quint64 round, const QString& path, const engine::FitEstimate& estimate);
    void setProblem(quint64 round, const QString& path, const engine::Message& problem);
    void sort();

    const Pauses m_pauses;
    std::vector<engine::ModelPlace> m_places;
    std::vector<LocalModel> m_models;
    engine::FoundModels m_found;  // without its models
    QStringList m_recent;
    engine::LoadRequest m_request;
    engine::FitHeld m_held;
    quint64 m_nRequests = 0;
    bool m_searching = false;
    bool m_searched = false;
    quint64 m_round = 0;           // of estimates; those of an earlier one are dropped
    QFileSystemWatcher m_watcher;  // of models that cannot be opened and of searched folders
    QTimer m_changeTimer;
    bool m_byItself = false;    // the search that runs
    QDeadlineTimer m_nextTime;  // the next one not before
    bool m_quiet = false;
    QTimer m_againTimer;  // while something cannot be opened: less and less often, then no more
    int m_againMs = 0;
    std::stop_source m_stop;
    QThreadPool m_thread;
};

}  // namespace offstage::ui
