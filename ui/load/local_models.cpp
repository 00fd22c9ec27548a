#include "ui/load/local_models.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <QDir>
#include <QLocale>
#include <QSet>

#include "engine/error.h"
#include "ui/base/settings.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_budget.h"

namespace offstage::ui {

namespace {

constexpr qsizetype kMostWatched = 512;
constexpr int kLastAgainMs = 128'000;

QString pathText(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
}

// In the usual form: ~ for the user's home folder.
QString shortPath(const std::filesystem::path& path) {
    const QString text = pathText(path);
    const QString home = QDir::homePath() + u'/';
    return text.startsWith(home) ? QStringLiteral("~/") + text.mid(home.size()) : text;
}

QString originText(engine::ModelOrigin origin) {
    return origin == engine::ModelOrigin::kFolder ? LocalModels::tr("folder")
                                                  : QString::fromUtf8(name_of(origin).data());
}

// The reason without the path, which the row has no room for. `isSentence`: with a capital
// letter, unless it begins with the name of a file.
QString reasonOf(const engine::FoundModel& model, bool isSentence = false) {
    QString text = engineText(model.problem);
    const QString ofIt = pathText(model.path) + QStringLiteral(": ");
    const QString around = pathText(model.path.parent_path()) + u'/';
    const bool namesFile = text.startsWith(around) && !text.startsWith(ofIt);
    for (const QString& part : {ofIt, pathText(model.path) + u'/', around}) {
        text.remove(part);
    }
    return isSentence && !namesFile ? text.left(1).toUpper() + text.mid(1) : text;
}

// The folders that were searched; of too many the places, and those that changed last.
QStringList foldersToWatch(const std::vector<engine::ModelPlace>& places, std::vector<std::filesystem::path> folders) {
    if (folders.size() > kMostWatched) {
        std::vector<std::tuple<bool, std::filesystem::file_time_type, std::filesystem::path>> order;
        for (std::filesystem::path& folder : folders) {
            const bool isPlace = std::ranges::find(places, folder, &engine::ModelPlace::folder) != places.end();
            std::error_code code;
            const auto time = std::filesystem::last_write_time(folder, code);
            order.emplace_back(isPlace, code ? std::filesystem::file_time_type::min() : time, std::move(folder));
        }
        std::ranges::partial_sort(order, order.begin() + kMostWatched, std::ranges::greater());
        folders.clear();
        for (auto& [isPlace, time, folder] : std::span(order).first(kMostWatched)) {
            folders.push_back(std::move(folder));
        }
    }
    QStringList texts;
    std::ranges::transform(folders, std::back_inserter(texts), pathText);
    return texts;
}

bool isSame(const engine::FoundModel& before, const engine::FoundModel& now) {
    // A problem may have been found since, when its tokenizer was read.
    return std::tie(before.path, before.name, before.bytes, before.bits, before.n_experts, before.n_layers,
                    before.has_chat_template) ==
               std::tie(now.path, now.name, now.bytes, now.bits, now.n_experts, now.n_layers, now.has_chat_template) &&
           (now.supported() || !before.supported());
}

bool saysFits(const LocalModel& model) {
    return model.fit == LocalModel::Fit::Fits || model.fit == LocalModel::Fit::FitsWithDisk;
}

}  // namespace

QString LocalModel::path() const {
    return pathText(found.path);
}

bool LocalModel::needsTemplate() const {
    return found.supported() && !found.has_chat_template && KeptBudget::chatTemplate(path()).isEmpty();
}

LocalModels::LocalModels(std::vector<engine::ModelPlace> places, QObject* parent)
    : LocalModels(std::move(places), Pauses(), parent) {}

LocalModels::LocalModels(std::vector<engine::ModelPlace> places, const Pauses& pauses, QObject* parent)
    : QAbstractListModel(parent),
      m_pauses(pauses),
      m_places(std::move(places)),
      m_watcher(this),
      m_changeTimer(this),
      m_againTimer(this) {
    m_thread.setMaxThreadCount(1);
    m_changeTimer.setSingleShot(true);
    m_changeTimer.setObjectName(QStringLiteral("changes"));
    m_againTimer.setSingleShot(true);
    connect(&m_changeTimer, &QTimer::timeout, this, &LocalModels::searchByItself);
    connect(&m_againTimer, &QTimer::timeout, this, [this] {
        m_againMs *= 2;
        searchByItself();
    });
    for (const auto changed : {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged}) {
        connect(&m_watcher, changed, this, &LocalModels::searchSoon);
    }
}

LocalModels::~LocalModels() {
    stopWork();
    m_thread.waitForDone();
}

int LocalModels::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_models.size());
}

QVariant LocalModels::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const LocalModel& model = m_models[static_cast<std::size_t>(index.row())];
    const engine::FoundModel& found = model.found;
    switch (role) {
        case Qt::DisplayRole:
            return QString::fromStdString(found.name);
        case PathRole:
            return model.path();
        case FitRole:
            return static_cast<int>(model.fit);
        case NeedsTemplateRole:
            return model.needsTemplate();
        case FactsRole: {
            QStringList facts;  // most important first: the end may be cut
            if (found.bytes > 0) {
                facts << bytesText(found.bytes);
            }
            if (found.bits > 0) {
                facts << tr("%1 bits").arg(QLocale().toString(found.bits, 'f', 1));
            }
            facts << originText(found.origin);
            if (!found.publisher.empty()) {
                facts.last() += QStringLiteral(" (%1)").arg(QString::fromStdString(found.publisher));
            }
            if (!found.family.empty()) {
                facts << QString::fromStdString(found.family);
            }
            if (model.needsTemplate() && !saysFits(model)) {
                facts << tr("no chat template");
            }
            if (found.n_experts > 0) {
                facts << tr("%1 experts × %2 layers").arg(found.n_experts).arg(found.n_layers);
            }
            return facts.join(QStringLiteral(" · "));
        }
        case VerdictRole: {
            if (found.incomplete()) {
                return reasonOf(found, true);
            }
            // If it is not known, choosing the model shows that, and offers to measure
            // it.
            const QString speed =
                model.tokensPerSecond > 0 ? speedText(model.tokensPerSecond, SpeedKind::Forecast) : QString();
            if (saysFits(model) && model.needsTemplate()) {
                return tr("Fits, but needs a chat template");
            }
            switch (model.fit) {
                case LocalModel::Fit::Unknown:
                    return QString();
                case LocalModel::Fit::Fits:
                    return speed.isEmpty() ? tr("Fits") : tr("Fits · %1").arg(speed);
                case LocalModel::Fit::FitsWithDisk:
                    return speed.isEmpty() ? tr("Fits, partly on disk") : tr("Fits, partly on disk · %1").arg(speed);
                case LocalModel::Fit::TooLarge:
                    return model.shortBy > 0 ? tr("Does not fit: %1 are missing").arg(bytesText(model.shortBy))
                                             : tr("Does not fit");
                case LocalModel::Fit::NotSupported:
                    return tr("Cannot be opened: %1").arg(reasonOf(found));
            }
            return {};
        }
        case Qt::ToolTipRole:
            return found.supported() ? model.path() : model.path() + u'\n' + engineText(found.problem);
        case Qt::AccessibleTextRole: {
            QStringList parts;
            for (const int part :
                 {static_cast<int>(Qt::DisplayRole), static_cast<int>(FactsRole), static_cast<int>(VerdictRole)}) {
                const QString text = data(index, part).toString();
                if (!text.isEmpty()) {
                    parts << text;
                }
            }
            return parts.join(QStringLiteral(", "));
        }
        default:
            return {};
    }
}

int LocalModels::rowOf(const QString& path) const {
    const auto found =
        std::find_if(m_models.begin(), m_models.end(), [&](const LocalModel& model) { return model.path() == path; });
    return found == m_models.end() ? -1 : static_cast<int>(found - m_models.begin());
}

std::vector<engine::FoundModel> LocalModels::found() const {
    std::vector<engine::FoundModel> found;
    for (const LocalModel& model : m_models) {
        found.push_back(model.found);
    }
    return found;
}

std::vector<engine::ModelPlace> LocalModels::places() const {
    std::vector<engine::ModelPlace> all = m_places;
    for (const QString& folder : addedFolders()) {
        all.push_back({engine::ModelOrigin::kFolder, folder.toStdString()});
    }
    return all;
}

void LocalModels::stopWork() {
    m_stop.request_stop();
    m_stop = std::stop_source();
    ++m_round;
}

// Not restarted: a file that grows all the time is read again as it grows.
void LocalModels::searchSoon() {
    if (!m_changeTimer.isActive()) {
        m_changeTimer.start(static_cast<int>(std::max<qint64>(m_pauses.afterChangeMs, m_nextTime.remainingTime())));
    }
}

// When idle: a search would give up the one before, and the estimates that are made.
void LocalModels::searchByItself() {
    if (m_quiet || m_searching || m_thread.activeThreadCount() > 0 || !m_nextTime.hasExpired()) {
        searchSoon();
        return;
    }
    search();
    m_byItself = true;
}

void LocalModels::search() {
    stopWork();
    m_searching = true;
    m_byItself = false;
    // The destructor waits for this thread: `this` is there while it runs.
    m_thread.start([this, round = m_round, places = places(), stop = m_stop.get_token()] {
        engine::FoundModels found = engine::find_models(places, stop);
        QStringList folders = foldersToWatch(places, std::exchange(found.folders, {}));
        QMetaObject::invokeMethod(
            this,
            [this, round, found = std::move(found), folders = std::move(folders)] {
                if (round == m_round) {
                    take(found, folders);
                }
            },
            Qt::QueuedConnection);
    });
}

void LocalModels::take(engine::FoundModels found, const QStringList& folders) {
    std::vector<LocalModel> models;
    std::size_t nBefore = 0;
    bool hasChanged = false;
    for (engine::FoundModel& model : found.models) {
        const auto before = std::find_if(m_models.begin(), m_models.end(),
                                         [&model](const LocalModel& each) { return isSame(each.found, model); });
        nBefore += before != m_models.end() ? 1 : 0;
        if (before != m_models.end()) {
            before->again = model.supported() && !before->found.supported();
            if (!model.supported()) {
                hasChanged = hasChanged || before->found.problem.english() != model.problem.english();
                before->found.problem = model.problem;  // more of the file is there now
            }
            models.push_back(*before);
        } else {
            const auto fit = model.supported() ? LocalModel::Fit::Unknown : LocalModel::Fit::NotSupported;
            models.push_back({std::move(model), fit});
        }
    }
    found.models.clear();
    const bool isOther = !m_searched || nBefore != models.size() || nBefore != m_models.size();
    m_found = std::move(found);
    m_searching = false;
    m_searched = true;
    if (m_byItself) {
        m_nextTime.setRemainingTime(m_pauses.betweenMs);
    }
    if (isOther) {
        beginResetModel();
        m_models = std::move(models);
        sort();
        endResetModel();
    } else if (!m_models.empty()) {
        Q_EMIT dataChanged(index(0), index(rowCount() - 1));
    }
    watch(folders);
    lookAgain(isOther || hasChanged);
    Q_EMIT searched();
    startEstimates();
}

void LocalModels::watch(const QStringList& folders) {
    QSet<QString> gone, wanted;
    for (const QStringList& watched : {m_watcher.files(), m_watcher.directories()}) {
        gone += QSet<QString>(watched.begin(), watched.end());
    }
    QStringList paths;
    for (const LocalModel& model : m_models) {
        if (!model.found.supported() && paths.size() < kMostWatched / 2) {
            paths << model.path();
        }
    }
    QStringList added;
    for (const QString& path : paths + folders) {
        if (wanted.size() < kMostWatched && !wanted.contains(path)) {
            wanted.insert(path);
            if (!gone.remove(path)) {
                added << path;
            }
        }
    }
    if (!gone.isEmpty()) {
        m_watcher.removePaths(gone.values());
    }
    if (!added.isEmpty()) {
        m_watcher.addPaths(added);
    }
    // A file may have come into a new folder between its search and its watch.
    if (m_byItself && !added.isEmpty()) {
        searchSoon();
    }
}

// A watch does not see the files in a folder grow, nor the later parts of a model.
void LocalModels::lookAgain(bool hasChanged) {
    if (hasChanged) {
        m_againTimer.stop();
        m_againMs = m_pauses.firstAgainMs;
    }
    const bool lacksSomething =
        std::ranges::any_of(m_models, [](const LocalModel& model) { return !model.found.supported(); });
    if (lacksSomething && m_againMs <= kLastAgainMs && !m_againTimer.isActive()) {
        m_againTimer.start(m_againMs);
    }
}

void LocalModels::sort() {
    const auto place = [this](const LocalModel& model) {
        const qsizetype at = m_recent.indexOf(model.path());
        return std::tuple(!model.found.supported(), at < 0 ? m_recent.size() : at);
    };
    // Equal ones stay in the order of their names.
    std::stable_sort(m_models.begin(), m_models.end(), [](const LocalModel& a, const LocalModel& b) {
        return QString::fromStdString(a.found.name).compare(QString::fromStdString(b.found.name), Qt::CaseInsensitive) <
               0;
    });
    std::stable_sort(m_models.begin(), m_models.end(),
                     [&](const LocalModel& a, const LocalModel& b) { return place(a) < place(b); });
}

void LocalModels::setRecent(const QStringList& recent) {
    if (recent == m_recent) {
        return;
    }
    m_recent = recent;
    if (!m_models.empty()) {
        beginResetModel();
        sort();
        endResetModel();
    }
}

void LocalModels::estimate(const engine::LoadRequest& request, const engine::FitHeld& held) {
    m_request = request;
    m_held = held;
    ++m_nRequests;
    if (!m_searching) {
        startEstimates();
    }
}

void LocalModels::startEstimates() {
    std::vector<std::pair<std::string, std::string>> models;  // with the chat template chosen for each
    for (const LocalModel& model : m_models) {
        if (model.again || (model.found.supported() && model.estimated != m_nRequests)) {
            models.emplace_back(model.found.path.string(), KeptBudget::chatTemplate(model.path()).toStdString());
        }
    }
    if (models.empty()) {
        return;
    }
    stopWork();
    m_thread.start([this, round = m_round, models = std::move(models), request = m_request, held = m_held,
                    stop = m_stop.get_token()]() mutable {
        for (const auto& [model, chatTemplate] : models) {
            if (stop.stop_requested()) {
                return;
            }
            request.model = model;
            request.chat_template = chatTemplate;
            const auto report = [&](auto show) {
                QMetaObject::invokeMethod(this, std::move(show), Qt::QueuedConnection);
            };
            const QString path = QString::fromStdString(model);
            std::optional<engine::FitEstimator> estimator;
            try {
                estimator.emplace(model);
            } catch (const engine::Error& error) {  // what the search did not read, such as a vocabulary
                report([this, round, path, problem = error.message()] { setProblem(round, path, problem); });
                continue;
            } catch (const std::exception&) {
                continue;
            }
            try {
                report([this, round, path, estimate = estimator->estimate(request, held)] {
                    setFit(round, path, estimate);
                });
            } catch (const std::exception&) {
                continue;  // of the device or the budgets; choosing the model shows the problem
            }
        }
    });
}

void LocalModels::setProblem(quint64 round, const QString& path, const engine::Message& problem) {
    const int row = rowOf(path);
    if (round != m_round || row < 0) {
        return;
    }
    LocalModel& model = m_models[static_cast<std::size_t>(row)];
    const bool hasChanged = model.found.problem.english() != problem.english();
    model.found.problem = problem;
    model.again = false;
    model.fit = LocalModel::Fit::NotSupported;
    if (m_watcher.files().size() + m_watcher.directories().size() < kMostWatched) {
        m_watcher.addPath(path);
    }
    lookAgain(hasChanged);
    // Behind those that can be opened; the others keep their order.
    const auto at = m_models.begin() + row;
    const auto behind =
        std::find_if(at + 1, m_models.end(), [](const LocalModel& other) { return !other.found.supported(); });
    const int to = static_cast<int>(behind - m_models.begin());
    if (to > row + 1) {
        beginMoveRows({}, row, row, {}, to);
        std::rotate(at, at + 1, behind);
        endMoveRows();
    }
    Q_EMIT dataChanged(index(to - 1), index(to - 1));
}

void LocalModels::setFit(quint64 round, const QString& path, const engine::FitEstimate& estimate) {
    const int row = rowOf(path);
    if (round != m_round || row < 0) {
        return;
    }
    LocalModel& model = m_models[static_cast<std::size_t>(row)];
    const bool lackedSomething = !model.found.supported();
    model.found.problem = {};
    model.again = false;
    model.estimated = m_nRequests;
    model.fit = !estimate.fits                                 ? LocalModel::Fit::TooLarge
                : estimate.plan.n_in(engine::Place::kDisk) > 0 ? LocalModel::Fit::FitsWithDisk
                                                               : LocalModel::Fit::Fits;
    model.shortBy = estimate.short_by;
    model.tokensPerSecond = estimate.forecast ? estimate.forecast->decode_tokens_per_s : 0;
    model.emulated = estimate.inputs.device.emulated;
    Q_EMIT dataChanged(index(row), index(row));
    if (lackedSomething) {
        beginResetModel();
        sort();
        endResetModel();
    }
}

QString LocalModels::summary() const {
    if (!m_searched) {
        return m_searching ? tr("Looking for models on this computer…") : QString();
    }
    QStringList sentences;
    if (m_models.empty()) {
        QStringList looked;
        for (const engine::ModelPlace& place : places()) {
            looked << QStringLiteral("%1 (%2)").arg(originText(place.origin), shortPath(place.folder));
        }
        sentences
            << tr("No Mixture-of-Experts models were found. Looked in: %1.").arg(looked.join(QStringLiteral(", ")));
    }
    if (m_found.n_others > 0) {
        sentences << tr("%n other model(s) are no Mixture-of-Experts models.", nullptr,
                        static_cast<int>(m_found.n_others));
    }
    for (const engine::Message& problem : m_found.problems) {
        const QString said = engineText(problem);
        sentences << said + (said.endsWith(u'.') ? QString() : QStringLiteral("."));
    }
    if (!m_found.complete) {
        sentences << tr("There are too many files: not all were looked at.");
    }
    return sentences.join(u' ');
}

QStringList LocalModels::addedFolders() {
    return settings::kModelFolders.value();
}

void LocalModels::addFolder(const QString& folder) {
    QStringList folders = addedFolders();
    if (!folders.contains(folder)) {
        folders << folder;
        settings::kModelFolders.set(folders);
        Q_EMIT foldersChanged();
    }
    search();
}

void LocalModels::removeFolder(const QString& folder) {
    QStringList folders = addedFolders();
    if (folders.removeAll(folder) > 0) {
        settings::kModelFolders.set(folders);
        Q_EMIT foldersChanged();
        search();
    }
}

}  // namespace offstage::ui
