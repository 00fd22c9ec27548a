#include "ui/panels/cache_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QTableWidget>

#include "engine/plan/schedule.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/panels/page_tabs.h"
#include "ui/panels/selection.h"
#include "ui/panels/tiles.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr int kNarrowestPlot = 300, kTallestPlot = 340;
constexpr int kWidestChoice = 320;
constexpr int kSumsLines = 3;
constexpr int kPoliciesPage = 2;
constexpr int kAllLine = 0, kLayerLine = 1;
constexpr int kRecallLine = 0, kPrecisionLine = 1;

engine::ExpertOutcome useOf(const engine::AssignmentEvent& a) {
    const auto way = static_cast<engine::ExecutionTarget>(a.target);
    return way == engine::ExecutionTarget::kResident ? engine::ExpertOutcome::kHit
           : way == engine::ExecutionTarget::kCopy   ? engine::ExpertOutcome::kCopied
           : way == engine::ExecutionTarget::kCpu    ? engine::ExpertOutcome::kCpu
                                                     : engine::ExpertOutcome::kElsewhere;
}

double shareOf(double part, double whole) {
    return whole > 0 ? std::min(part / whole, 1.0) : kNothing;
}

}  // namespace

CachePanel::CachePanel(EngineController& engine, Selection& selection, QWidget* parent)
    : Panel(engine, parent),
      m_selection(selection),
      m_tabs(new PageTabs),
      m_layer(new QComboBox),
      m_mean(new QComboBox),
      m_hits(new LinePlot),
      m_prefetch(new LinePlot),
      m_bytes(new LinePlot),
      m_exchanges(new LinePlot),
      m_usesLayer(new QComboBox),
      m_uses(new ExpertUsePlot),
      m_sums(textLabel(tr("Sums since the model was loaded"))),
      m_slots(new QSpinBox),
      m_compare(new QPushButton),
      m_progress(new QProgressBar),
      m_comparison(mutedLabel(tr("What was compared"))),
      m_policies(new BarPlot),
      m_table(new QTableWidget),
      m_replays(new CacheComparison(this)) {
    describe(*m_layer, tr("Layer whose hit rate is shown beside that of all"));
    for (const int tokens : {1, 16, 64}) {
        m_mean->addItem(tokens == 1 ? tr("Each token") : tr("Mean of %1 tokens").arg(tokens), tokens);
    }
    m_mean->setCurrentIndex(1);
    describe(*m_mean, tr("Over how many tokens lines are averaged"));

    m_hits->setPercentMode(tr("hit rate"));
    m_hits->addSeries(tr("all layers"));
    describe(
        *m_hits, tr("Hit rate over time"),
        tr("Share of (token, expert) pairs that found their expert on the device; of experts that are copied without "
           "some of their neurons, the share of the needed ones that were there. A click selects the token."));
    m_prefetch->setPercentMode(tr("prefetch"));
    m_prefetch->addSeries(tr("recall"));
    m_prefetch->addSeries(tr("precision"));
    describe(*m_prefetch, tr("Prefetch recall and precision over time"),
             tr("Recall: of the calls whose expert had no place on the device, those that a guess had "
                "brought in time.\nPrecision: of the experts copied on a guess, those that were "
                "called."));
    m_bytes->addSeries(tr("copied per token"));
    m_bytes->setYAxis({tr("copied per token"), Unit::Bytes});
    describe(*m_bytes, tr("Bytes moved per token"),
             tr("Bytes of weights that were copied to the device, by each token"));
    m_exchanges->addSeries(tr("exchanged per token"));
    m_exchanges->setYAxis({tr("experts exchanged per token"), Unit::Plain});
    describe(*m_exchanges, tr("Experts exchanged per token"),
             tr("Experts that were admitted to the device, each in the place of one that was evicted"));
    for (LinePlot* plot : {m_hits, m_prefetch, m_bytes, m_exchanges}) {
        plot->setCapacity(kPoints);
        plot->setXAxis({tr("step"), Unit::Count});
        plot->setLeastLabel(QStringLiteral("100 %"));
        plot->setNamesHighest(true);
        plot->setMinimumHeight(100);
        plot->setMaximumHeight(kTallestPlot);
        plot->setFileName(plot->accessibleName());
    }
    m_hits->setEmptyText(tr("Write a prompt to see how many calls find their expert on the device."));
    m_prefetch->setEmptyText(tr("Write a prompt to see how good the guesses are."));
    m_bytes->setEmptyText(tr("Write a prompt to see how much is copied."));
    m_exchanges->setEmptyText(tr("Write a prompt to see how many experts are exchanged."));

    reserveLines(*m_sums, kSumsLines);
    for (QComboBox* choice : {m_layer, m_mean}) {
        choice->setMaximumWidth(kWidestChoice);
    }
    auto* plots = new Tiles(kNarrowestPlot);
    for (LinePlot* plot : {m_hits, m_prefetch, m_bytes, m_exchanges}) {
        plots->add(plot);
    }
    m_tabs->addPage(columnOf({rowOf({{m_layer, 1}, {m_mean, 1}, Stretch{}}), m_sums, {plots, 100}, Stretch{1}}),
                    tr("Over time"));
    buildUses();
    m_tabs->addPage(columnOf({rowOf({m_usesLayer, Stretch{1}}), {m_uses, 100}, Stretch{1}}), tr("Experts"));
    m_tabs->addPage(columnOf({buildComparison(), m_comparison, m_policies, m_table, Stretch{1}}), tr("Policies"));
    m_tabs->setAccessibleName(tr("What is shown of the cache"));
    body().addWidget(m_tabs, 1);
    leaveScrollingToPages();
    setEmptyText(tr("Open a model and write a prompt to see how well its cache of experts works."));

    connect(m_layer, &QComboBox::currentIndexChanged, this, &CachePanel::startAgain);
    connect(m_mean, &QComboBox::currentIndexChanged, this, &CachePanel::startAgain);
    connect(&m_selection.log(), &TokenLog::shownBegun, this, &CachePanel::startAgain);
    connect(&m_selection.log(), &TokenLog::stepsAdded, this, [this] {
        if (isVisible()) {
            catchUp();
        }
    });
    connect(m_hits, &LinePlot::clicked, this, [this](double x) {
        if (const auto token = m_selection.log().tokenOfStep(m_selection.log().firstOfPresentModel() +
                                                             static_cast<StepId>(std::max(0.0, x)))) {
            m_selection.selectToken(token->message, token->index);
        }
    });
    connect(&engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        const bool isTouched = m_slots->value() != m_slotsInForce;
        if (report.state == engine::ReplanState::kDone && hasAccelerator() && !isTouched) {
            m_slots->setValue(static_cast<int>(report.resident_experts));
            m_slotsInForce = m_slots->value();
        }
    });
    connect(m_tabs, &QTabWidget::currentChanged, this, &CachePanel::refreshUses);
    connect(m_compare, &QPushButton::clicked, this, &CachePanel::compareOrCancel);
    connect(m_replays, &CacheComparison::finished, this, &CachePanel::showResults);
    m_progressTimer.setInterval(50);
    connect(&m_progressTimer, &QTimer::timeout, this,
            [this] { m_progress->setValue(static_cast<int>(1000 * m_replays->progress())); });
    linkCrosshairs();
    modelChanged();
}

CachePanel::~CachePanel() = default;

void CachePanel::buildUses() {
    describe(*m_usesLayer, tr("Layer whose experts are shown over tokens"));
    m_uses->setAccessibleName(tr("Experts over tokens"));
    m_uses->setFileName(m_uses->accessibleName());
    m_uses->setToolTip(tr("Which experts of the layer each of the latest %1 steps called, and where they ran: one "
                          "column for each token of an answer, one for a prompt. A click selects the token.")
                           .arg(ExpertUsePlot::kMostColumns));
    m_uses->setEmptyText(tr("Write a prompt to see which experts its tokens call."));
    m_uses->setMinimumHeight(190);
    m_uses->setMaximumHeight(420);
    m_uses->setTextSource([this](StepId step) { return m_selection.textOfStep(step); });
    connect(m_usesLayer, &QComboBox::currentIndexChanged, this, &CachePanel::refreshUses);
    connect(m_uses, &ExpertUsePlot::stepClicked, this, [this](quint64 step) {
        if (const auto token = m_selection.log().tokenOfStep(step)) {
            m_selection.selectToken(token->message, token->index);
        }
    });
}

QLayout* CachePanel::buildComparison() {
    auto* label = labelOf(m_slots, tr("Experts in the cache"));
    describe(*m_slots, tr("Experts in the cache"),
             tr("How many experts each policy may keep; at first as many as are on the device now"));
    m_slots->setRange(0, 0);
    m_compare->setToolTip(tr("Replays the recorded calls under each policy, without running the model"));
    m_progress->setRange(0, 1000);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Progress of the comparison"));
    keepRoom(*m_progress);
    m_progress->hide();
    // The width is enough for both of its texts.
    m_compare->setText(tr("Compare policies"));
    m_compare->setMinimumWidth(m_compare->sizeHint().width());
    footer().addLayout(rowOf({m_compare, {m_progress, 1}}));
    reserveNotice(2);
    m_policies->setValueAxis({tr("hit rate"), Unit::Share});
    m_policies->setAccessibleName(tr("Hit rate by cache policy"));
    m_policies->setFileName(m_policies->accessibleName());
    m_policies->hide();
    m_table->setColumnCount(4);
    m_table->setHorizontalHeaderLabels({tr("Policy"), tr("Hit rate"), tr("Answers"), tr("Copies")});
    m_table->horizontalHeaderItem(1)->setToolTip(tr("Share of calls that found their expert on the device"));
    m_table->horizontalHeaderItem(2)->setToolTip(tr("The same of answers alone, without prompts"));
    m_table->horizontalHeaderItem(3)->setToolTip(tr("Experts copied to the device, per token"));
    showRows(*m_table, tr("Cache policies compared"), false);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->hide();
    connect(m_table->horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column) {
        if (column == 0) {
            fitTable();
        }
    });
    return rowOf({label, m_slots, Stretch{1}});
}

// All lines have the engine's steps as x: the crosshair moves in all of them.
void CachePanel::linkCrosshairs() {
    const std::array plots = {m_hits, m_prefetch, m_bytes, m_exchanges};
    for (LinePlot* plot : plots) {
        connect(plot, &LinePlot::crosshairMoved, this, [this, plots, plot] {
            if (m_linking) {
                return;
            }
            const QScopedValueRollback<bool> linking(m_linking, true);
            for (LinePlot* other : plots) {
                if (other != plot) {
                    other->setCrosshair(plot->crosshair());
                }
            }
        });
    }
}

bool CachePanel::hasAccelerator() const {
    return engine().model() && engine().model()->device != "cpu";
}

void CachePanel::modelChanged() {
    const auto& model = engine().model();
    {
        const QSignalBlocker blocker(m_layer);
        m_layer->clear();
        m_layer->addItem(tr("All layers"), -1);
        for (int layer = 0; model && layer < static_cast<int>(model->n_layers); ++layer) {
            m_layer->addItem(tr("All, and layer %1").arg(model->layer_number(layer)), layer);
        }
    }
    {
        const QSignalBlocker blocker(m_usesLayer);
        m_usesLayer->clear();
        for (int layer = 0; model && layer < static_cast<int>(model->n_layers); ++layer) {
            m_usesLayer->addItem(tr("Layer %1").arg(model->layer_number(layer)), layer);
        }
    }
    m_replays->cancel();
    m_policies->hide();
    m_table->hide();
    const int experts = model ? static_cast<int>(model->n_layers * model->n_experts) : 0;
    m_slots->setRange(0, experts);
    m_slots->setValue(hasAccelerator() ? static_cast<int>(model->resident_experts) : experts / 2);
    m_slotsInForce = m_slots->value();
    startAgain();
    setEmpty(!model);
}

// Draws all lines of single tokens again.
void CachePanel::startAgain() {
    m_nextStep = m_selection.log().firstShown();
    for (RunningMean* mean : {&m_means.hits, &m_means.layerHits, &m_means.bytes, &m_means.missed, &m_means.guessed,
                              &m_means.used, &m_means.admissions, &m_means.neededNeurons, &m_means.heldNeurons}) {
        mean->reset(m_mean->currentData().toInt());
    }
    m_prompts.clear();
    m_neuronLine = -1;
    m_hits->removeAllSeries();
    m_hits->addSeries(tr("all layers"));
    if (const int layer = m_layer->currentData().toInt(); layer >= 0) {
        m_hits->addSeries(tr("layer %1").arg(engine().model() ? engine().model()->layer_number(layer) : layer));
    }
    for (LinePlot* plot : {m_prefetch, m_bytes, m_exchanges}) {
        plot->clearPoints();
    }
    catchUp();
}

void CachePanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    catchUp();
}

void CachePanel::catchUp() {
    const TokenLog& log = m_selection.log();
    const auto& steps = log.steps();
    auto step =
        std::partition_point(steps.begin(), steps.end(), [this](const LoggedStep& s) { return s.id < m_nextStep; });
    for (; step != steps.end(); ++step) {
        // The newest may not be whole yet.
        if (step + 1 == steps.end() && engine().isAnswering()) {
            break;
        }
        addStep(*step);
        m_nextStep = step->id + 1;
    }
    refreshUses();
    refreshControls();
}

// Rebuilt from the log, whose steps come four times a second: while the panel is hidden,
// nothing is kept or done.
void CachePanel::refreshUses() {
    const auto& model = engine().model();
    if (!m_uses->isVisible() || !model) {
        return;
    }
    const TokenLog& log = m_selection.log();
    const int layer = std::max(0, m_usesLayer->currentData().toInt());
    std::vector<ExpertUsePlot::Column> columns;
    for (auto step = log.steps().rbegin();
         step != log.steps().rend() && step->id >= log.firstShown() && columns.size() < ExpertUsePlot::kMostColumns;
         ++step) {
        // The newest may not be whole yet.
        if (step == log.steps().rbegin() && engine().isAnswering()) {
            continue;
        }
        const auto event = std::find_if(step->layers.begin(), step->layers.end(),
                                        [layer](const engine::LayerEvent& e) { return e.layer == layer; });
        if (event == step->layers.end()) {
            continue;
        }
        ExpertUsePlot::Column column{
            step->id, static_cast<qint64>(step->id - log.firstOfPresentModel()), step->tokens(), step->isPrompt(), {}};
        for (const engine::AssignmentEvent& a : step->assignmentsOf(*event)) {
            column.calls.emplace_back(a.expert, useOf(a));
        }
        columns.push_back(std::move(column));
    }
    std::reverse(columns.begin(), columns.end());
    m_uses->setUses(QString::fromStdString(model->name), static_cast<int>(model->layer_number(layer)),
                    static_cast<int>(model->n_experts), std::move(columns));
}

void CachePanel::addStep(const LoggedStep& step) {
    const auto x = static_cast<double>(step.id - m_selection.log().firstOfPresentModel());
    if (step.isPrompt()) {
        m_prompts.push_back({x, tr("prompt")});
        if (m_prompts.size() > static_cast<std::size_t>(kPromptMarks)) {
            m_prompts.erase(m_prompts.begin());
        }
        m_hits->setEvents(m_prompts);
        return;
    }
    const StepFigures all = figuresOf(step, -1);
    if (hasAccelerator()) {
        m_hits->append(kAllLine, x, m_means.hits.add(all.hitRate()));
        if (const int layer = m_layer->currentData().toInt(); layer >= 0) {
            m_hits->append(kLayerLine, x, m_means.layerHits.add(figuresOf(step, layer).hitRate()));
        }
        // Shown only if experts are copied without some of their neurons.
        if (all.neededNeurons > 0) {
            if (m_neuronLine < 0) {
                m_neuronLine = m_hits->addSeries(tr("neurons"), LinePlot::Line::Dashed);
            }
            const double needed = m_means.neededNeurons.add(static_cast<double>(all.neededNeurons));
            m_hits->append(m_neuronLine, x,
                           shareOf(m_means.heldNeurons.add(static_cast<double>(all.heldNeurons)), needed));
        }
        m_bytes->append(0, x, m_means.bytes.add(static_cast<double>(all.bytes)));
        m_exchanges->append(0, x, m_means.admissions.add(static_cast<double>(all.admissions)));
        // Shares of sums, not means of shares: otherwise a token with one guess would
        // count as much as one with ten.
        const double missed = m_means.missed.add(static_cast<double>(all.missed));
        const double guessed = m_means.guessed.add(static_cast<double>(all.guessed));
        const double used = m_means.used.add(static_cast<double>(all.used));
        m_prefetch->append(kRecallLine, x, guessed > 0 ? shareOf(used, missed) : kNothing);
        m_prefetch->append(kPrecisionLine, x, shareOf(used, guessed));
    }
}

void CachePanel::showSnapshot(const engine::Snapshot&) {
    catchUp();
}

void CachePanel::refreshControls() {
    const bool accelerator = hasAccelerator();
    for (LinePlot* plot : {m_hits, m_prefetch, m_bytes, m_exchanges}) {
        plot->setVisible(accelerator);
    }
    m_layer->setEnabled(accelerator);
    m_mean->setEnabled(accelerator);
    const engine::DispatchTotals& totals = snapshot().totals;
    const QLocale locale;
    if (!accelerator) {
        m_sums->setText(
            tr("The model runs on the CPU: there is no accelerator whose memory would be a cache for experts. What a "
               "cache would do can be tried under Policies."));
    } else if (totals.routed_tokens > 0) {
        QString text =
            tr("Since loading, prompts included: hit rate %1; %2 copied; %3 experts exchanged")
                .arg(percentText(totals.hit_rate()), valueText(Unit::Bytes, static_cast<double>(totals.bytes_copied)),
                     locale.toString(static_cast<qulonglong>(totals.admissions)));
        text += QStringLiteral("; ") + (totals.guessed_copies > 0
                                            ? tr("%1 of %2 guesses used")
                                                  .arg(locale.toString(static_cast<qulonglong>(totals.used_guesses)),
                                                       locale.toString(static_cast<qulonglong>(totals.guessed_copies)))
                                            : tr("no expert was copied on a guess"));
        if (totals.needed_neurons > 0) {
            text += QStringLiteral("; ") + tr("neurons hit: %1").arg(percentText(totals.neuron_hit_rate()));
        }
        m_sums->setText(text);
    } else {
        m_sums->clear();
    }
    const bool any =
        !m_selection.log().steps().empty() && m_selection.log().isOfPresentModel(m_selection.log().steps().back().id);
    const bool running = m_replays->isRunning();
    m_compare->setText(running ? tr("Cancel") : tr("Compare policies"));
    m_compare->setEnabled(running || (any && engine().model()));
    m_compare->setToolTip(!m_compare->isEnabled()
                              ? tr("Write a prompt first: policies are compared on its recorded calls")
                          : running ? tr("Stop the comparison")
                                    : tr("Replays the recorded calls under each policy, without running the model"));
    for (QComboBox* choice : {m_layer, m_mean}) {
        choice->setToolTip(accelerator ? choice->accessibleName()
                                       : tr("The model runs on the CPU: there is no cache whose lines could be drawn"));
    }
    m_slots->setEnabled(!running);
    m_progress->setVisible(running);
    if (!running && m_table->isHidden()) {
        m_comparison->setText(
            any ? tr("Different rules of what goes when room is needed, beside the best that is possible, "
                     "on the calls of this model that were recorded.")
                : tr("Write a prompt first: policies are compared on its recorded calls."));
    }
}

void CachePanel::compareOrCancel() {
    if (m_replays->isRunning()) {
        m_replays->cancel();
        return;
    }
    const auto& model = engine().model();
    if (!model) {
        return;
    }
    m_tabs->setCurrentIndex(kPoliciesPage);
    m_selection.log().poll();
    engine::CacheCalls calls =
        cacheCallsOf(m_selection.log(), static_cast<int>(model->n_layers), static_cast<int>(model->n_experts));
    if (calls.calls.empty()) {
        say(tr("No step is recorded whole; write a prompt and try again."), Notice::Problem);
        return;
    }
    say({});
    auto popularity = engine::Popularity::uniform(model->n_layers, model->n_experts, model->n_active);
    const std::vector<float> planned = engine().plannedPopularity();
    if (planned.size() == popularity.counts.size()) {
        std::copy(planned.begin(), planned.end(), popularity.counts.begin());
        popularity.n_tokens = 1;  // shares, as of one token
    }
    m_replayedSteps = static_cast<std::int64_t>(calls.layers.size()) / std::max<std::int64_t>(1, calls.n_layers);
    m_comparison->setText(tr("Replaying %1 steps…").arg(QLocale().toString(qlonglong{m_replayedSteps})));
    m_replays->start(std::move(calls), std::move(popularity), m_slots->value());
    m_progress->setValue(0);
    m_progressTimer.start();
    refreshControls();
}

// Long names take two lines.
void CachePanel::fitTable() {
    m_table->resizeRowsToContents();
    m_table->setFixedHeight(m_table->horizontalHeader()->height() + m_table->verticalHeader()->length() +
                            2 * m_table->frameWidth());
}

void CachePanel::showResults(const std::vector<PolicyResult>& results) {
    m_progressTimer.stop();
    m_policies->setVisible(!results.empty());
    m_table->setVisible(!results.empty());
    if (!results.empty()) {
        QStringList names;
        std::vector<double> rates;
        m_table->setRowCount(static_cast<int>(results.size()));
        const QLocale locale;
        for (int row = 0; row < static_cast<int>(results.size()); ++row) {
            const PolicyResult& policy = results[static_cast<std::size_t>(row)];
            const engine::ReplayResult& r = policy.result;
            names << policy.name;
            rates.push_back(r.all.rate());
            const double tokens = static_cast<double>(std::max<std::int64_t>(1, m_replayedSteps));
            const QString cells[] = {policy.name, percentText(r.all.rate()),
                                     r.decode.calls > 0 ? percentText(r.decode.rate()) : QStringLiteral("–"),
                                     locale.toString(static_cast<double>(r.copies()) / tokens, 'f', 1)};
            for (int column = 0; column < 4; ++column) {
                auto* item = new QTableWidgetItem(cells[column]);
                item->setTextAlignment((column == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
                m_table->setItem(row, column, item);
            }
        }
        m_policies->setBars({tr("hit rate"), names, rates});
        fitTable();
        m_comparison->setText(
            tr("%1 of %2 experts in the cache, %3 steps replayed; each policy begins with the experts planned for.")
                .arg(locale.toString(qlonglong{results.front().result.n_slots}), locale.toString(m_slots->maximum()),
                     locale.toString(qlonglong{m_replayedSteps})));
        bringIntoView(*m_table);
    }
    refreshControls();
}

}  // namespace offstage::ui
