#pragma once

#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include <QAbstractTableModel>
#include <QThreadPool>

#include "engine/run/fit_estimate.h"
#include "ui/base/message.h"

namespace offstage::ui {

// A file of a hub as its headers describe it, before it is got.
struct HubOffer {
    QString name;    // "unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M"
    QString host;    // that is asked
    QString folder;  // where it goes
    quint64 bytes = 0;
    quint64 withoutRoom = 0;  // bytes that the disk lacks
    std::optional<engine::FitEstimate> fit;
    engine::Message problem;  // why there is none of these; empty otherwise
};

struct Download {
    enum class State { Waiting, Running, Checking, Paused, Failed, Done };
    quint64 id = 0;
    QString name;  // as HubOffer's
    State state = State::Waiting;
    quint64 bytesDone = 0, bytesTotal = 0;
    double bytesPerS = 0;
    QString path;             // to open; empty until it is done
    engine::Message problem;  // of Failed
};

// Models that a person asked for, got one after the other. What is not done is kept in
// the settings; after a start it is paused, so that nothing is asked of the network
// before a person does. GUI thread only; the work is done on separate threads.
class DownloadQueue : public QAbstractTableModel {
    Q_OBJECT

  public:
    enum Column { Name, Progress, Status, Columns };

    explicit DownloadQueue(QObject* parent = nullptr);
    ~DownloadQueue() override;  // what runs goes on after the next start

    // Reads the headers of a hub's file; looked() follows, for the newest call only.
    // `name`: of a repository, with a type behind a colon or without.
    void look(const QString& name, const engine::LoadRequest& load, const engine::FitHeld& held);
    void stopLooking();  // looked() does not follow
    void add(const QString& name);
    void pause(int row);
    void resume(int row);
    // With the parts that have come, unless it is done, or another one of its repository
    // is not: parts do not tell whose they are.
    void remove(int row);

    // What runs or waits, so that closing the program would interrupt it.
    std::vector<Download> underWay() const;

    // No other one of its repository is still to be got.
    bool isAlone(const Download& download) const;

    const Download& at(int row) const { return m_downloads[static_cast<std::size_t>(row)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  Q_SIGNALS:
    void looked(const offstage::ui::HubOffer& offer);
    void done(const QString& path);
    void asked(const QString& host, const QString& name);  // the network, for this

  private:
    void next();
    void changed(int row);
    void discardParts(const Download& download);
    void keepGot() const;
    int rowOf(quint64 id) const;
    template <typename Call>
    void tell(Call call);

    std::vector<Download> m_downloads;
    quint64 m_lastId = 0, m_lastLook = 0;
    std::optional<quint64> m_running;
    int m_discards = 0;            // under way
    std::set<std::string> m_left;  // repositories with parts of removed ones
    quint64 m_keptDone = 0;        // of that one, bytes
    std::stop_source m_stop, m_stopLook;
    QThreadPool m_threads;
};

}  // namespace offstage::ui
