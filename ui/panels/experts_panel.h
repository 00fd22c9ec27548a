#pragma once

#include <QWidget>

#include "engine/telemetry/snapshot.h"
#include "ui/plot/heat_map.h"

class QComboBox;
class QLabel;

namespace offstage::ui {

class EngineController;
class SnapshotPoller;

// Which experts the router called: layers x experts, over the last tokens or the whole conversation.
class ExpertsPanel : public QWidget {
    Q_OBJECT

  public:
    enum class Span { Window, Conversation };

    explicit ExpertsPanel(EngineController& engine, QWidget* parent = nullptr);

    HeatMap& map() const { return *m_map; }
    HeatMapLegend& legend() const { return *m_legend; }
    SnapshotPoller& poller() const { return *m_poller; }
    QString readout() const;

    Span span() const;
    void setSpan(Span span);
    void setSnapshot(const engine::Snapshot& snapshot);

  private:
    void refresh();
    void refreshReadout();
    // Tokens routed to this expert, and tokens that passed its layer.
    quint64 tokensOf(HeatMap::Cell cell) const;
    qint64 tokensSeen() const;

    engine::Snapshot m_snapshot;
    QComboBox* m_span;
    HeatMap* m_map;
    HeatMapLegend* m_legend;
    QLabel* m_readout;
    SnapshotPoller* m_poller;
};

}  // namespace offstage::ui
