#include "ui/load/download_queue.h"

#include <algorithm>
#include <filesystem>

#include "engine/error.h"
#include "engine/hub/hub_download.h"
#include "engine/hub/hub_messages.h"
#include "engine/hub/hub_preview.h"
#include "engine/model/model_messages.h"
#include "ui/base/settings.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

engine::HubDownload describedByHub(const QString& name, const std::stop_token& stop) {
    const engine::HubName wanted = engine::parse_hub_name(name.toStdString());
    engine::HubDownload download;
    download.access = engine::hub_access();
    download.cache = engine::hub_cache();
    engine::HubConnection connection(download.access);
    download.repository = engine::read_hub_repository(connection, wanted.repository, wanted.revision, stop);
    download.model = engine::choose_model(download.repository, wanted);
    return download;
}

// What `work` throws, for a person; empty: nothing.
template <typename Work>
engine::Message problemOf(Work work) {
    try {
        work();
    } catch (const engine::Error& error) {
        return error.message();
    } catch (const std::filesystem::filesystem_error& error) {
        return engine::messages::cannot_write_model(error.path1().string(),
                                                    engine::from_outside(error.code().message()));
    } catch (const std::exception&) {  // no memory, say
        return engine::messages::loading_cancelled;
    }
    return {};
}

// "OWNER/NAME:TYPE" where that means the same file as `name`, which may be an address.
QString shortName(const engine::HubDownload& download, const QString& name) {
    const std::string& type = download.model.type;
    const std::string plain = download.repository.name + (type.empty() ? "" : ":" + type);
    bool isSame = false;
    problemOf([&] {  // types of files have signs that no name may have
        isSame = engine::choose_model(download.repository, engine::parse_hub_name(plain)).files.front().path ==
                 download.model.files.front().path;
    });
    return isSame && download.repository.revision == "main" ? QString::fromStdString(plain) : name;
}

std::string repositoryOf(const QString& name) {
    return engine::parse_hub_name(name.toStdString()).repository;
}

QString statusText(const Download& download) {
    switch (download.state) {
        case Download::State::Waiting:
            return DownloadQueue::tr("waits");
        case Download::State::Running:
            return download.bytesPerS > 0
                       ? DownloadQueue::tr("%1/s").arg(bytesText(static_cast<quint64>(download.bytesPerS)))
                       : DownloadQueue::tr("begins");
        case Download::State::Checking:
            return DownloadQueue::tr("is checked");
        case Download::State::Paused:
            return DownloadQueue::tr("paused");
        case Download::State::Failed:
            return engineText(download.problem);
        case Download::State::Done:
            break;
    }
    return DownloadQueue::tr("done");
}

}  // namespace

DownloadQueue::DownloadQueue(QObject* parent) : QAbstractTableModel(parent) {
    m_threads.setMaxThreadCount(3);  // one that gets, one that looks, one that discards
    for (const QString& name : settings::kDownloads.value()) {
        Download download;
        download.id = ++m_lastId;
        download.name = name;
        download.state = Download::State::Paused;
        for (const QString& got : settings::kDownloadsGot.value()) {
            if (got.section(u' ', 2) == name) {
                download.bytesDone = got.section(u' ', 0, 0).toULongLong();
                download.bytesTotal = got.section(u' ', 1, 1).toULongLong();
            }
        }
        m_downloads.push_back(download);
    }
}

DownloadQueue::~DownloadQueue() {
    keepGot();
    m_stop.request_stop();
    m_stopLook.request_stop();
    m_threads.waitForDone();
}

// Calls on the GUI thread; the destructor waits for the threads, so `this` is there.
template <typename Call>
void DownloadQueue::tell(Call call) {
    QMetaObject::invokeMethod(this, call, Qt::QueuedConnection);
}

void DownloadQueue::look(const QString& name, const engine::LoadRequest& load, const engine::FitHeld& held) {
    stopLooking();
    m_stopLook = std::stop_source();
    Q_EMIT asked(QString::fromStdString(engine::hub_host()), name);
    m_threads.start([this, name, load, held, look = m_lastLook, stop = m_stopLook.get_token()] {
        HubOffer offer;
        offer.name = name;
        offer.problem = problemOf([&] {
            const engine::HubDownload download = describedByHub(name, stop);
            offer.host = QString::fromStdString(engine::HubConnection(download.access).host());
            offer.folder = QString::fromStdString(download.cache.string());
            offer.bytes = download.model.bytes();
            offer.withoutRoom = engine::bytes_without_room(download);
            offer.name = shortName(download, name);
            const engine::HubPreview preview(download, stop);
            engine::FitEstimator estimator(preview.model().string(), engine::FitEstimator::Text::kHeadersAlone);
            engine::LoadRequest request = load;
            request.model = preview.model().string();
            offer.fit = estimator.estimate(request, held);
        });
        tell([this, offer, look] {
            if (look == m_lastLook) {
                Q_EMIT looked(offer);
            }
        });
    });
}

void DownloadQueue::stopLooking() {
    m_stopLook.request_stop();
    ++m_lastLook;
}

void DownloadQueue::add(const QString& name) {
    const auto same = std::find_if(m_downloads.begin(), m_downloads.end(),
                                   [&](const Download& download) { return download.name == name; });
    if (same != m_downloads.end()) {
        resume(static_cast<int>(same - m_downloads.begin()));
        return;
    }
    beginInsertRows({}, rowCount(), rowCount());
    Download download;
    download.id = ++m_lastId;
    download.name = name;
    m_downloads.push_back(download);
    endInsertRows();
    next();
}

void DownloadQueue::pause(int row) {
    Download& download = m_downloads[static_cast<std::size_t>(row)];
    if (m_running == download.id) {
        m_stop.request_stop();
    }
    download.state = Download::State::Paused;
    download.bytesPerS = 0;
    changed(row);
}

void DownloadQueue::resume(int row) {
    Download& download = m_downloads[static_cast<std::size_t>(row)];
    if (download.state == Download::State::Paused || download.state == Download::State::Failed) {
        download.state = Download::State::Waiting;
        changed(row);
    }
    next();
}

void DownloadQueue::remove(int row) {
    const Download download = at(row);
    beginRemoveRows({}, row, row);
    m_downloads.erase(m_downloads.begin() + row);
    endRemoveRows();
    if (m_running == download.id) {
        m_stop.request_stop();  // its end discards the parts
    } else if (download.state != Download::State::Done) {
        discardParts(download);
    }
    changed(-1);
}

std::vector<Download> DownloadQueue::underWay() const {
    std::vector<Download> found;
    std::copy_if(m_downloads.begin(), m_downloads.end(), std::back_inserter(found),
                 [](const Download& download) { return download.state < Download::State::Paused; });
    return found;
}

bool DownloadQueue::isAlone(const Download& download) const {
    bool alone = true;
    problemOf([&] {
        const std::string repository = repositoryOf(download.name);
        alone = std::none_of(m_downloads.begin(), m_downloads.end(), [&](const Download& other) {
            return other.id != download.id && other.state != Download::State::Done &&
                   repositoryOf(other.name) == repository;
        });
    });
    return alone;
}

// A hundred gigabytes take the disk a while.
void DownloadQueue::discardParts(const Download& download) {
    if (!isAlone(download)) {
        m_left.insert(repositoryOf(download.name));
        return;
    }
    m_left.erase(repositoryOf(download.name));
    ++m_discards;
    m_threads.start([this, name = download.name] {
        problemOf([&] { engine::discard_parts(engine::hub_cache(), repositoryOf(name)); });
        tell([this] {
            --m_discards;
            next();
        });
    });
}

// Begins the first that waits, unless one runs, or parts are deleted that may be its own.
void DownloadQueue::next() {
    changed(-1);
    const auto waiting = std::find_if(m_downloads.begin(), m_downloads.end(), [](const Download& download) {
        return download.state == Download::State::Waiting;
    });
    if (m_running || m_discards > 0 || waiting == m_downloads.end()) {
        return;
    }
    waiting->state = Download::State::Running;
    waiting->problem = {};
    m_running = waiting->id;
    m_stop = std::stop_source();
    changed(static_cast<int>(waiting - m_downloads.begin()));
    Q_EMIT asked(QString::fromStdString(engine::hub_host()), waiting->name);
    m_threads.start([this, id = waiting->id, name = waiting->name, stop = m_stop.get_token()] {
        QString path;
        const engine::Message problem = problemOf([&] {
            engine::HubDownload download = describedByHub(name, stop);
            download.progress = [this, id](const engine::HubProgress& now) {
                tell([this, id, now] {
                    const int row = rowOf(id);
                    if (row < 0 ||
                        (at(row).state != Download::State::Running && at(row).state != Download::State::Checking)) {
                        return;  // it was paused, and may wait again
                    }
                    Download& shown = m_downloads[static_cast<std::size_t>(row)];
                    shown.state = now.checking ? Download::State::Checking : Download::State::Running;
                    shown.bytesDone = now.bytes_done;
                    shown.bytesTotal = now.bytes_total;
                    shown.bytesPerS = now.bytes_per_s;
                    changed(row);
                });
            };
            path = QString::fromStdString(engine::get_model(download, stop).string());
        });
        tell([this, id, name, path, problem, stopped = stop.stop_requested()] {
            m_running.reset();
            const int row = rowOf(id);
            if (row < 0) {
                Download removed;
                removed.id = id;
                removed.name = name;
                discardParts(removed);
            } else if (!path.isEmpty() || !stopped) {
                Download& ended = m_downloads[static_cast<std::size_t>(row)];
                ended.state = path.isEmpty() ? Download::State::Failed : Download::State::Done;
                ended.path = path;
                ended.problem = problem;
                changed(row);
                if (!path.isEmpty()) {
                    if (m_left.contains(repositoryOf(name))) {
                        discardParts(ended);
                    }
                    Q_EMIT done(path);
                }
            }
            next();
        });
    });
}

// Keeps the list too; row -1: the list alone.
void DownloadQueue::changed(int row) {
    QStringList names;
    for (const Download& download : m_downloads) {
        if (download.state != Download::State::Done) {
            names.append(download.name);
        }
    }
    if (names != settings::kDownloads.value()) {
        settings::kDownloads.set(names);
    }
    constexpr quint64 kKeptParts = 100;  // a written file for each piece would be too many
    const bool isPiece = row >= 0 && at(row).state == Download::State::Running;
    if (!isPiece || at(row).bytesDone > m_keptDone + at(row).bytesTotal / kKeptParts) {
        m_keptDone = isPiece ? at(row).bytesDone : 0;
        keepGot();
    }
    if (row >= 0) {
        Q_EMIT dataChanged(index(row, 0), index(row, Columns - 1));
    }
}

void DownloadQueue::keepGot() const {
    QStringList all;
    for (const Download& each : m_downloads) {
        if (each.state != Download::State::Done && each.bytesTotal > 0) {
            all << QStringLiteral("%1 %2 %3").arg(each.bytesDone).arg(each.bytesTotal).arg(each.name);
        }
    }
    if (all != settings::kDownloadsGot.value()) {
        settings::kDownloadsGot.set(all);
    }
}

int DownloadQueue::rowOf(quint64 id) const {
    for (int row = 0; row < rowCount(); ++row) {
        if (at(row).id == id) {
            return row;
        }
    }
    return -1;
}

int DownloadQueue::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_downloads.size());
}

int DownloadQueue::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : Columns;
}

QVariant DownloadQueue::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    return section == Name ? tr("Model") : section == Progress ? tr("Got") : tr("State");
}

QVariant DownloadQueue::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount() || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) {
        return {};
    }
    const Download& download = at(index.row());
    switch (index.column()) {
        case Name:
            return download.name;
        case Progress:
            return download.bytesTotal == 0 || download.state == Download::State::Done
                       ? QString()
                       : tr("%1 of %2").arg(bytesText(download.bytesDone), bytesText(download.bytesTotal));
        default:
            return statusText(download);
    }
}

}  // namespace offstage::ui
