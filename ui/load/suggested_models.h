#pragma once

#include <vector>

#include <QAbstractTableModel>

#include "engine/model/model_finder.h"
#include "engine/run/suggestions.h"
#include "ui/base/background_thread.h"

namespace offstage::ui {

// The models that people run and what this computer makes of each, as they are found out
// on a separate thread: first with the costs that are known, then, on request, with those
// that are measured. GUI thread only.
class SuggestedModels : public QAbstractTableModel {
    Q_OBJECT

  public:
    enum Column { Name, Room, Speed, FirstWord, LongSpeed, LongFirstWord, File, GoodFor, Weights, Columns };
    enum Role {
        SortRole = Qt::UserRole + 1,  // what the column is sorted by
        HasRoomRole,                  // bool
    };

    explicit SuggestedModels(QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    const engine::Suggestion& at(int row) const { return m_rows[static_cast<std::size_t>(row)]; }

    // All of them again; finished() follows. What was begun before is given up.
    void look(const engine::SuggestionRequest& request, const std::vector<engine::FoundModel>& found);
    bool isLooking() const { return m_looking; }
    bool isMeasuring() const { return m_looking && m_request.measure; }
    void cancelMeasuring();  // finished() follows
    // For an owner that goes while this looks: it ends by itself, and nobody waits for it.
    void letGo();
    // Models with room whose speed nobody has measured.
    int unknown() const;
    bool hasLongForecast(int row) const;  // has LongSpeed and LongFirstWord

  Q_SIGNALS:
    void progressed(const QString& model, double share);
    void finished(const offstage::engine::Message& problem);  // empty: complete, or cancelled

  private:
    QString rowText(int row) const;
    void take(std::vector<engine::Suggestion> rows, const engine::Message& problem);

    engine::SuggestionRequest m_request;
    std::vector<engine::Suggestion> m_rows;
    bool m_looking = false;
    BackgroundThread m_thread;
};

}  // namespace offstage::ui
