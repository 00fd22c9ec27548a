#include "ui/panels/experts_panel.h"

#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QVBoxLayout>

#include "ui/engine_controller.h"
#include "ui/panels/snapshot_poller.h"

namespace offstage::ui {

namespace {

QString percent(double share) {
    return QLocale().toString(100 * share, 'f', 1) + QStringLiteral(" %");
}

}  // namespace

ExpertsPanel::ExpertsPanel(EngineController& engine, QWidget* parent)
    : QWidget(parent),
      m_span(new QComboBox),
      m_map(new HeatMap),
      m_legend(new HeatMapLegend),
      m_readout(new QLabel),
      m_poller(nullptr) {
    m_span->addItem(tr("Last %1 tokens").arg(engine::kRoutingWindow));
    m_span->addItem(tr("Conversation"));
    m_span->setAccessibleName(tr("Which tokens are counted"));
    m_span->setToolTip(tr("Which tokens are counted: prompt and answer, the latest ones or all of the conversation"));
    auto* label = new QLabel(tr("&Show"));
    label->setBuddy(m_span);

    m_map->setTitles(tr("layers"), tr("experts"));
    m_map->setEmptyText(tr("When the model reads or writes, this shows which experts its router calls."));
    m_map->setAccessibleName(tr("Expert heat map"));
    m_map->setAccessibleDescription(
        tr("Share of tokens that the router sent to each expert, by layer. Arrow keys move from cell to cell."));
    m_readout->setTextFormat(Qt::PlainText);
    m_readout->setWordWrap(true);
    m_readout->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_readout->setMinimumHeight(3 * fontMetrics().lineSpacing() + 2);
    m_readout->setAccessibleName(tr("Numbers of the chosen expert"));

    auto* top = new QHBoxLayout;
    top->addWidget(label);
    top->addWidget(m_span, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 10, 12, 10);
    column->setSpacing(8);
    column->addLayout(top);
    column->addWidget(m_map, 100);
    column->addWidget(m_legend);
    column->addWidget(m_readout);
    column->addStretch(1);

    m_poller = new SnapshotPoller(engine, *this);
    connect(m_poller, &SnapshotPoller::changed, this, &ExpertsPanel::setSnapshot);
    connect(m_span, &QComboBox::currentIndexChanged, this, &ExpertsPanel::refresh);
    connect(m_map, &HeatMap::currentChanged, this, &ExpertsPanel::refreshReadout);
    refresh();
}

QString ExpertsPanel::readout() const {
    return m_readout->text();
}

ExpertsPanel::Span ExpertsPanel::span() const {
    return m_span->currentIndex() == 0 ? Span::Window : Span::Conversation;
}

void ExpertsPanel::setSpan(Span span) {
    m_span->setCurrentIndex(span == Span::Window ? 0 : 1);
}

void ExpertsPanel::setSnapshot(const engine::Snapshot& snapshot) {
    m_snapshot = snapshot;
    refresh();
}

qint64 ExpertsPanel::tokensSeen() const {
    return span() == Span::Window ? m_snapshot.window_tokens : m_snapshot.conversation_tokens;
}

quint64 ExpertsPanel::tokensOf(HeatMap::Cell cell) const {
    const auto at =
        static_cast<size_t>(cell.row) * static_cast<size_t>(m_snapshot.n_experts) + static_cast<size_t>(cell.column);
    return span() == Span::Window ? m_snapshot.window_counts[at] : m_snapshot.conversation_counts[at];
}

void ExpertsPanel::refresh() {
    const auto cells = static_cast<size_t>(std::max<std::int64_t>(0, m_snapshot.n_layers * m_snapshot.n_experts));
    const bool whole = m_snapshot.window_counts.size() == cells && m_snapshot.conversation_counts.size() == cells;
    const qint64 seen = tokensSeen();
    m_legend->setVisible(cells > 0 && whole && seen > 0);
    if (cells == 0 || !whole || seen <= 0) {
        m_map->clear();
        refreshReadout();
        return;
    }
    const int layers = static_cast<int>(m_snapshot.n_layers);
    const int experts = static_cast<int>(m_snapshot.n_experts);
    const double uniform = static_cast<double>(m_snapshot.n_active) / static_cast<double>(experts);
    std::vector<double> shares(cells);
    double highest = 0;
    for (int layer = 0; layer < layers; ++layer) {
        for (int expert = 0; expert < experts; ++expert) {
            const auto at = static_cast<size_t>(layer) * static_cast<size_t>(experts) + static_cast<size_t>(expert);
            shares[at] = static_cast<double>(tokensOf({layer, expert})) / static_cast<double>(seen);
            highest = std::max(highest, shares[at]);
        }
    }
    const double scaleTop = std::max(highest, uniform);
    m_map->setValues(layers, experts, std::move(shares), scaleTop);
    m_legend->setRange(scaleTop, uniform, tr("even use:"));
    refreshReadout();
}

void ExpertsPanel::refreshReadout() {
    const auto cell = m_map->current();
    const qint64 seen = tokensSeen();
    m_readout->setForegroundRole(cell ? QPalette::WindowText : QPalette::PlaceholderText);
    if (m_map->rows() == 0) {
        m_readout->clear();
        return;
    }
    if (!cell) {
        const QString tokens = QLocale().toString(seen);
        m_readout->setText((span() == Span::Window ? tr("Share of the last %1 tokens that each expert was called for.")
                                                   : tr("Share of all %1 tokens that each expert was called for."))
                               .arg(tokens) +
                           u'\n' + tr("Point at a cell for its numbers."));
        return;
    }
    const quint64 tokens = tokensOf(*cell);
    const double uniform = static_cast<double>(m_snapshot.n_active) / static_cast<double>(m_snapshot.n_experts);
    m_readout->setText(tr("Layer %1, expert %2\n%3 of %4 tokens: %5 of this layer's tokens\nEven use would be %6")
                           .arg(cell->row)
                           .arg(cell->column)
                           .arg(QLocale().toString(static_cast<qulonglong>(tokens)), QLocale().toString(seen),
                                percent(m_map->valueAt(*cell)), percent(uniform)));
}

}  // namespace offstage::ui
