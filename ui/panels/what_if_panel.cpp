#include "ui/panels/what_if_panel.h"

#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableWidget>

#include "engine/error.h"
#include "ui/base/delay.h"
#include "ui/engine/device_choice.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/speed_meter.h"
#include "ui/panels/budget_form.h"
#include "ui/panels/forecast_table.h"
#include "ui/panels/page_tabs.h"
#include "ui/panels/profile_editor.h"
#include "ui/panels/tiles.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/line_plot.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/fitting_columns.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kWhatIfNoticeLines = 3;
constexpr int kHereLines = 3;
constexpr int kNarrowestPart = 240;
constexpr int kHardwareLetters = 20;
constexpr int kProfileLetters = 32;  // GPUs differ in their names' middle or end
constexpr int kBesideChoice = 24;    // as the pages have, with their bar
constexpr double kSameBits = 0.005;

// What is looked for first stands where a narrow panel shows it.
enum ForecastColumn { Name, Speed, Ttft, Vram, Hits, Resident, Columns };
enum MachineColumn { Count, MachineSpeed, MachineTtft, PerPrice, MachineHits, Busiest, NetworkShare, MachineColumns };

}  // namespace

WhatIfPanel::WhatIfPanel(EngineController& engine, QWidget* parent)
    : Panel(engine, parent),
      m_profile(new QComboBox),
      m_machines(new QSpinBox),
      m_network(new QComboBox),
      m_price(new QSpinBox),
      m_run(new QPushButton(tr("Forecast"))),
      m_cancel(new QPushButton(tr("Cancel"))),
      m_edit(new QPushButton(tr("Edit a copy…"))),
      m_progress(new QProgressBar),
      m_tabs(new PageTabs),
      m_bars(new BarPlot),
      m_curve(new LinePlot),
      m_here(textLabel(tr("How fast the model is here"))),
      m_machineCurve(new LinePlot),
      m_meter(new SpeedMeter(engine, this)),
      m_worker(new WhatIfWorker(this)) {
    setEmptyText(tr("Open a model to see how fast it would be on other hardware."));
    showClaim(0);
    m_tabs->addPage(buildGpus(), tr("GPUs"));
    m_tabs->addPage(buildVram(), tr("VRAM"));
    m_tabs->addPage(buildMachines(), tr("Machines"));
    reserveLines(*m_here, kHereLines);
    body().addLayout(columnOf({buildChoice(), m_here}, inset(0, 0, kBesideChoice, 0, 8)));
    footer().addLayout(rowOf({m_run, Stretch{1}, m_edit}));
    reserveNotice(kWhatIfNoticeLines);
    setBusyWidget(*buildRunning());
    body().addWidget(m_tabs, 1);
    leaveScrollingToPages();

    callAfter(m_delay, kDelayMs, this, &WhatIfPanel::run);
    connect(m_worker, &WhatIfWorker::progressed, this, [this](const engine::Message& stage, int done, int total) {
        m_progress->setRange(0, total);
        m_progress->setValue(done);
        m_progress->setFormat(stage.empty() ? tr("Forecasts") : engineText(stage));
    });
    connect(m_worker, &WhatIfWorker::answered, this, &WhatIfPanel::showResult);
    connect(m_run, &QPushButton::clicked, this, &WhatIfPanel::run);
    connect(m_cancel, &QPushButton::clicked, this, &WhatIfPanel::cancel);
    connect(m_edit, &QPushButton::clicked, this, &WhatIfPanel::edit);
    connect(m_meter, &SpeedMeter::changed, this, &WhatIfPanel::showHere);
    // The speed of the plan before is not that of what runs now.
    connect(&engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        if (report.state == engine::ReplanState::kDone) {
            m_hasChanged = m_hasChanged || !m_meter->text().isEmpty();
            m_meter->leaveAnswer();
        }
    });
    fillProfiles();
    connect(m_profile, &QComboBox::currentIndexChanged, this, &WhatIfPanel::choiceChanged);
    connect(m_machines, &QSpinBox::valueChanged, this, &WhatIfPanel::choiceChanged);
    connect(m_network, &QComboBox::currentIndexChanged, this, &WhatIfPanel::choiceChanged);
    modelChanged();
}

QWidget* WhatIfPanel::buildChoice() {
    describe(*m_profile, tr("GPU whose VRAM and machines are varied"),
             tr("The forecasts over VRAM and over machines are of this GPU"));
    letShrink(*m_profile, kProfileLetters);
    m_edit->setToolTip(tr("Make a profile of your own from the chosen one"));
    m_run->setToolTip(tr("Work it out. Measures this computer's CPU for up to three seconds first"));
    m_machines->setRange(1, WhatIfWorker::kMostMachines);
    describe(*m_machines, tr("Number of machines"),
             tr("So many computers like this one, with one GPU each, share the experts of every layer among them.\n"
                "A layer is done when the slowest of them is, and their results have gone over the network."));
    m_network->setAccessibleName(tr("Network between the machines"));
    letShrink(*m_network, 10);
    for (const engine::Network& network : engine::network_presets()) {
        m_network->addItem(engineText(network.name), QString::fromStdString(network.id));
        m_network->setItemData(
            m_network->count() - 1,
            tr("%1 GB/s, %2 µs a message")
                    .arg(QLocale().toString(network.gbps, 'g', 4), QLocale().toString(network.latency_us, 'g', 4)) +
                u'\n' + engineText(network.source),
            Qt::ToolTipRole);
    }
    m_network->setCurrentIndex(m_network->findData(QStringLiteral("10gbe")));
    auto* label = labelOf(m_machines, tr("Machines"));

    auto* rows = new Tiles(kNarrowestPart);
    rows->resize(kNarrowestPart, rows->height());  // below each other until there is room
    rows->add(m_profile);
    rows->add(widgetOf(rowOf({label, m_machines, {m_network, 1}}, flush())));
    return rows;
}

QWidget* WhatIfPanel::buildRunning() {
    m_cancel->setToolTip(tr("Stop working it out"));
    m_progress->setAccessibleName(tr("Progress of the forecast"));
    return widgetOf(rowOf({{m_progress, 1}, m_cancel}, flush()));
}

QLayout* WhatIfPanel::buildGpus() {
    m_table = forecastTable({tr("GPU"), tr("tokens/s"), tr("first token"), tr("VRAM"), tr("hit rate"), tr("experts")},
                            tr("Forecasts by GPU"));
    auto* columns = new FittingColumns(*m_table, kHardwareLetters * fontMetrics().averageCharWidth());
    // GPUs differ in their names' middle or end: they are not cut, but take two lines.
    columns->keepScrollBarRoom();
    connect(m_table->horizontalHeader(), &QHeaderView::sectionResized, m_table, [this](int column) {
        if (column == Name) {
            m_table->resizeRowsToContents();
        }
    });
    m_table->horizontalHeaderItem(Vram)->setToolTip(tr("Of each machine"));
    m_table->horizontalHeaderItem(Resident)->setToolTip(tr("Experts that are on it"));
    m_table->horizontalHeaderItem(Hits)->setToolTip(
        tr("Share of an answer's expert calls that find their expert there"));
    m_table->horizontalHeaderItem(Speed)->setToolTip(tr("Forecast, not measured"));
    m_bars->setAccessibleName(tr("Forecast tokens per second by GPU"));
    m_bars->setValueAxis({tr("forecast"), Unit::TokensPerSecond});
    m_bars->setEmptyText(tr("Press Forecast to compare hardware."));
    m_bars->setFileName(QStringLiteral("what-if"));
    m_bars->setWhole(true);
    // The bars repeat the table: they stand beside it, or not at all.
    return columnOf({{sideBySide(m_table, m_bars, Tiles::Narrow::Without), 1}});
}

QLayout* WhatIfPanel::buildVram() {
    m_gain = textLabel(tr("What more VRAM would bring"));
    m_curve->setAccessibleName(tr("Forecast tokens per second over VRAM"));
    m_curve->setXAxis({tr("VRAM"), Unit::Bytes});
    m_curve->setYAxis({tr("forecast"), Unit::TokensPerSecond});
    m_curve->setEmptyText(tr("The speed over more and less VRAM."));
    m_curve->setFileName(QStringLiteral("what-if-vram"));
    m_curve->setMinimumHeight(160);
    return columnOf({m_gain, {m_curve, 1}});
}

QLayout* WhatIfPanel::buildMachines() {
    m_machinesText = textLabel(tr("What more machines would bring"));
    m_machineTable = forecastTable({tr("machines"), tr("tokens/s"), tr("first token"), tr("per 1,000 USD"),
                                    tr("hit rate"), tr("busiest"), tr("network")},
                                   tr("Forecasts by number of machines"));
    m_machineColumns = new FittingColumns(*m_machineTable, m_machineTable->columnWidth(Count), PerPrice + 1);
    m_machineTable->horizontalHeaderItem(Busiest)->setToolTip(
        tr("A token's experts of one layer on the machine that has most of them, on average"));
    m_machineTable->horizontalHeaderItem(NetworkShare)
        ->setToolTip(tr("Share of a token's time that the network takes"));
    m_machineTable->horizontalHeaderItem(PerPrice)->setToolTip(
        tr("Tokens per second for 1,000 USD that machines and network cards cost"));
    m_machineColumns->leaveOut(PerPrice, true);
    m_price->setRange(0, 1'000'000);
    m_price->setSingleStep(100);
    m_price->setGroupSeparatorShown(true);
    m_price->setSuffix(tr(" USD"));
    m_price->setSpecialValueText(tr("not given"));
    describe(
        *m_price, tr("Price of a machine"),
        tr("What one machine costs, without its network card. The table then says how much speed the money buys."));
    connect(m_price, &QSpinBox::valueChanged, this, &WhatIfPanel::showPrices);
    auto* priceLabel = labelOf(m_price, tr("Price of a machine"));
    m_machineCurve->setAccessibleName(tr("Forecast tokens per second over the number of machines"));
    m_machineCurve->setXAxis({tr("machines"), Unit::Count});
    m_machineCurve->setYAxis({tr("forecast"), Unit::TokensPerSecond});
    m_machineCurve->setEmptyText(tr("The speed over the number of machines."));
    m_machineCurve->setFileName(QStringLiteral("what-if-machines"));
    m_machineCurve->setMinimumHeight(160);
    return columnOf(
        {m_machinesText, rowOf({priceLabel, m_price, Stretch{1}}), {sideBySide(m_machineTable, m_machineCurve), 1}});
}

// The last column, of the forecasts that are shown.
void WhatIfPanel::showPrices() {
    m_machineColumns->leaveOut(PerPrice, m_price->value() == 0);
    const std::string chosen = m_network->currentData().toString().toStdString();
    const engine::Network& network = engine::find_network(chosen);
    for (int row = 0; row < m_machineTable->rowCount(); ++row) {
        QTableWidgetItem* const cell = m_machineTable->item(row, PerPrice);
        const double tokensPerSecond = cell != nullptr ? cell->data(Qt::UserRole).toDouble() : 0;
        const double usd = engine::price_usd(row + 1, m_price->value(), network);
        if (tokensPerSecond > 0 && usd > 0) {
            cell->setText(rateText(1000 * tokensPerSecond / usd));
        }
    }
}

QString WhatIfPanel::machinesText() const {
    return m_machinesText->text();
}

void WhatIfPanel::fillProfiles() {
    const QString chosen = m_profile->currentData().toString();
    m_profile->clear();
    std::vector<engine::HardwareProfile> profiles;
    QStringList places;  // ids, and files
    const auto add = [&](const QString& place) {
        try {
            profiles.push_back(engine::find_hardware_profile(place.toStdString()));
            places << place;
        } catch (const engine::Error&) {
            // a file that is none: nothing to choose
        }
    };
    for (const std::string& id : engine::hardware_profile_ids()) {
        add(QString::fromStdString(id));
    }
    for (const QString& path : ProfileEditor::own()) {
        add(path);
    }
    const QStringList names = hardwareNames(profiles);
    for (qsizetype i = 0; i < places.size(); ++i) {
        const bool taken = m_profile->findText(names[i]) >= 0;
        m_profile->addItem(taken ? tr("%1 (%2)").arg(names[i], QFileInfo(places[i]).baseName()) : names[i], places[i]);
    }
    m_profile->setCurrentIndex(std::max(0, m_profile->findData(chosen)));
}

void WhatIfPanel::modelChanged() {
    m_worker->giveUp();
    m_delay.stop();
    m_asked = m_hasChanged = false;
    ++m_model;
    setEmpty(!engine().model());
    m_table->setRowCount(0);
    m_bars->clear();
    m_curve->removeAllSeries();
    m_gain->clear();
    m_machineTable->setRowCount(0);
    m_machineCurve->removeAllSeries();
    m_machinesText->clear();
    m_forecastHere.reset();
    showHere();
    say({});
    if (engine().model() && engine().model()->emulated) {
        const QString device = QString::fromStdString(engine().loadRequest().device).section(u':', 1);
        const int index = m_profile->findData(device);
        if (index >= 0) {
            m_profile->setCurrentIndex(index);
        }
    }
    refreshButtons();
}

// Before the first forecast nothing was requested.
void WhatIfPanel::choiceChanged() {
    if (m_asked) {
        m_worker->giveUp();
        m_delay.start();
        m_progress->setRange(0, 0);
        say({});
    }
    refreshButtons();
}

WhatIfChoice WhatIfPanel::choice() const {
    WhatIfChoice choice;
    for (int i = 0; i < m_profile->count(); ++i) {
        choice.profiles << m_profile->itemData(i).toString();
        choice.names << m_profile->itemText(i);
    }
    choice.chosen = m_profile->currentIndex();
    choice.cluster = {m_machines->value(), engine::find_network(m_network->currentData().toString().toStdString())};
    const auto snapshot = engine().snapshot();
    choice.overheadUs = snapshot ? snapshot->decode_overhead_us : 0;
    const quint64 inForce =
        snapshot && snapshot->vram.budget > 0 ? snapshot->vram.budget : engine().model()->vram_budget_bytes;
    static const std::string kEmulated = "emulated:";
    if (const std::string& device = engine().loadRequest().device; device.starts_with(kEmulated)) {
        choice.here = QString::fromStdString(device.substr(kEmulated.size()));
        choice.hereBudget = inForce;
    }
    // The present budget, if the chosen GPU is the running one.
    if (engine().model()->emulated &&
        "emulated:" + m_profile->currentData().toString().toStdString() == engine().loadRequest().device) {
        choice.budget = inForce;
    }
    return choice;
}

void WhatIfPanel::run() {
    m_delay.stop();
    if (m_worker->isRunning() || !engine().model()) {
        return;
    }
    m_asked = true;
    say({});
    m_progress->setRange(0, 0);
    m_worker->ask(request(), m_model, choice());
    refreshButtons();
}

engine::LoadRequest WhatIfPanel::request() const {
    engine::LoadRequest request = engine().loadRequest();
    const BudgetSetting now = settingInForce(engine());
    request.context = now.context;
    request.kv = now.kv;
    request.theta = now.theta.theta;
    request.theta_loss = now.theta.loss;
    request.neuron_guesses = now.theta.guesses;
    if (const auto snapshot = engine().snapshot()) {
        request.kept_context = snapshot->kept_context;
    }
    return request;
}

void WhatIfPanel::cancel() {
    if (m_delay.isActive()) {
        m_delay.stop();
        sayCancelled();
    } else {
        m_worker->cancel();
    }
}

void WhatIfPanel::sayCancelled() {
    m_asked = false;
    say(m_table->rowCount() == 0 ? tr("Cancelled.") : tr("Cancelled. What is shown was worked out before."));
    refreshButtons();
}

void WhatIfPanel::showResult(const WhatIfResult& result) {
    refreshButtons();
    if (result.cancelled) {
        sayCancelled();
        return;
    }
    if (!result.problem.empty()) {
        say(engineText(result.problem), Notice::Problem);
        return;
    }
    showClaim(result.choice.overheadUs);
    m_forecastHere = result.here;
    showHere();
    showGpus(result);
    showVram(result);
    showMachines(result);
}

QString WhatIfPanel::hereText() const {
    return m_here->text();
}

// The known speed of the present run beside its forecast, for comparison.
void WhatIfPanel::showHere() {
    const auto& model = engine().model();
    if (!model) {
        m_here->clear();
        return;
    }
    const QString meter = m_meter->text();
    m_hasChanged = m_hasChanged && meter.isEmpty();
    const QString speed = m_hasChanged      ? tr("not measured since the last change: ask again")
                          : meter.isEmpty() ? tr("not measured yet: ask something")
                                            : meter;
    QStringList helping;
    for (const engine::MachineFigures& machine : snapshot().machines) {
        if (machine.state == engine::MachineState::kUp) {
            helping << QString::fromStdString(machine.name);
        }
    }
    const auto beside = [](const QString& measured, double tokensPerSecond) {
        return tokensPerSecond > 0 ? measured + QStringLiteral(" · ") + speedText(tokensPerSecond, SpeedKind::Forecast)
                                   : measured;
    };
    const double alone = m_forecastHere && m_forecastHere->failure.empty() ? m_forecastHere->tokens_per_s : 0;
    // The forecasts are of the files' own formats.
    const double bits = snapshot().mean_bits;  // 0: not known
    const bool isOriginal = bits <= 0 || std::abs(bits - model->expert_formats.bits) < kSameBits;
    const auto original = [alone] { return speedText(alone, SpeedKind::Forecast); };
    if (helping.isEmpty()) {
        m_here->setText(tr("Here, as it runs now: %1").arg(beside(speed, isOriginal ? alone : 0)) + u'.' +
                        (isOriginal || alone <= 0 ? QString() : u' ' + tr("In original quality: %1.").arg(original())));
        return;
    }
    // The measurement includes all machines; the panel's own forecasts are for single
    // computers.
    const engine::MachineShape& shape = snapshot().machine_shape;
    const QString how = shape.decentralised ? tr("every machine makes each step") : tr("desktop and helpers");
    const double us = shape.in_force().us();
    QString text = tr("Here, as it runs now with %1 (%2): %3")
                       .arg(helping.join(QStringLiteral(", ")), how, beside(speed, us > 0 ? 1e6 / us : 0)) +
                   u'.';
    if (alone > 0) {
        text += u' ' + (isOriginal ? tr("Without: %1.") : tr("Without, in original quality: %1.")).arg(original());
    }
    m_here->setText(text);
}

void WhatIfPanel::showSnapshot(const engine::Snapshot&) {
    showHere();
}

void WhatIfPanel::showClaim(double overheadUs) {
    QString text =
        tr("Forecasts from datasheets and this computer's measured CPU, not measurements. Experts count as in the "
           "model's files.");
    if (overheadUs >= 0.5) {
        text += u' ' + tr("Each token includes %1 µs measured here beyond the forecast.")
                           .arg(QLocale().toString(overheadUs, 'f', 0));
    }
    m_claim = text;
    setHint(text);
}

void WhatIfPanel::showGpus(const WhatIfResult& result) {
    std::vector<int> order = fastestFirst(result.rows);
    BarPlot::Bars bars{tr("forecast tokens/s"), {}, {}, true};
    int emphasised = -1;
    for (const int i : order) {
        const engine::WhatIfRow& r = result.rows[static_cast<std::size_t>(i)];
        if (r.failure.empty()) {
            emphasised = i == result.choice.chosen ? static_cast<int>(bars.values.size()) : emphasised;
            bars.names << machinesOf(r.n_machines, result.choice.names[i]);
            bars.values.push_back(r.tokens_per_s);
        }
    }
    m_bars->setBars(bars);
    m_bars->setEmphasised(emphasised);
    // The chosen one, which others are compared with, can be seen without scrolling.
    std::stable_partition(order.begin(), order.end(), [&](int i) { return i == result.choice.chosen; });
    m_table->clearSpans();
    m_table->setRowCount(static_cast<int>(order.size()));
    int row = 0;
    for (const int i : order) {
        const engine::WhatIfRow& r = result.rows[static_cast<std::size_t>(i)];
        const QString name = machinesOf(r.n_machines, result.choice.names[i]);
        const bool runs = r.failure.empty();
        m_table->setItem(row, Name, forecastItem(name, false));
        m_table->setItem(row, Speed, forecastItem(runs ? rateText(r.tokens_per_s) : QString()));
        m_table->setItem(row, Ttft, forecastItem(runs ? firstTokenText(r.ttft_s) : QString()));
        m_table->setItem(row, Vram, forecastItem(bytesText(r.vram_bytes)));
        m_table->setItem(row, Hits, forecastItem(runs ? percentText(r.hit_rate) : QString()));
        m_table->setItem(row, Resident, forecastItem(runs ? tr("%1 of %2").arg(r.resident).arg(r.total) : QString()));
        setRowTips(*m_table, row, r.own_host ? tr("%1: that CPU, not this computer's").arg(name) : name);
        if (!runs) {
            showFailure(*m_table, row, Speed, r);
        }
        ++row;
    }
    m_table->setCurrentCell(0, Name);
    m_table->resizeRowsToContents();
    m_table->scrollToTop();
}

void WhatIfPanel::showVram(const WhatIfResult& result) {
    const WhatIfChoice& choice = result.choice;
    const QString name = machinesOf(choice.cluster.n_machines, choice.names[choice.chosen]);
    m_curve->removeAllSeries();
    const int series = m_curve->addSeries(tr("forecast, %1").arg(name), LinePlot::Line::Dashed);
    std::vector<double> x, y;
    for (const engine::WhatIfRow& r : result.curve) {
        if (r.failure.empty()) {
            x.push_back(static_cast<double>(r.vram_bytes));
            y.push_back(r.tokens_per_s);
        }
    }
    m_curve->setPoints(series, x, y);
    if (result.now && result.more && result.now->failure.empty() && result.more->failure.empty()) {
        m_curve->setEvents({{static_cast<double>(result.now->vram_bytes), tr("budget")}});
        const double gain = result.more->tokens_per_s - result.now->tokens_per_s;
        m_gain->setText(gain < 0.05
                            ? tr("%1 with %2 of VRAM: 1 GiB more would change nothing (forecast).")
                                  .arg(name, bytesText(result.now->vram_bytes))
                            : tr("%1 with %2 of VRAM: 1 GiB more would bring %3 tokens/s, from %4 to %5 (forecast).")
                                  .arg(name, bytesText(result.now->vram_bytes), rateText(gain),
                                       rateText(result.now->tokens_per_s), rateText(result.more->tokens_per_s)));
    } else {
        m_curve->setEvents({});
        m_gain->setText(result.now ? engineText(result.now->failure) : QString());
    }
}

void WhatIfPanel::showMachines(const WhatIfResult& result) {
    const WhatIfChoice& choice = result.choice;
    const QString name = choice.names[choice.chosen];
    const QString network = engineText(choice.cluster.network.name);
    m_machineTable->clearSpans();
    m_machineTable->setRowCount(static_cast<int>(result.machines.size()));
    std::vector<double> x, y;
    const engine::WhatIfRow* fastest = nullptr;
    QString failure;  // the first
    int row = 0;
    for (const engine::WhatIfRow& r : result.machines) {
        m_machineTable->setItem(row, Count, forecastItem(QLocale().toString(static_cast<qint64>(r.n_machines))));
        for (int column = MachineSpeed; column < MachineColumns; ++column) {
            m_machineTable->setItem(row, column, forecastItem({}));
        }
        if (r.failure.empty()) {
            m_machineTable->setItem(row, MachineSpeed, forecastItem(rateText(r.tokens_per_s)));
            m_machineTable->setItem(row, MachineTtft, forecastItem(firstTokenText(r.ttft_s)));
            m_machineTable->setItem(row, MachineHits, forecastItem(percentText(r.hit_rate)));
            m_machineTable->setItem(row, Busiest, forecastItem(QLocale().toString(r.busiest_experts, 'f', 2)));
            m_machineTable->setItem(row, NetworkShare, forecastItem(percentText(r.network_share)));
            m_machineTable->item(row, PerPrice)->setData(Qt::UserRole, r.tokens_per_s);
            setRowTips(*m_machineTable, row, machinesOf(r.n_machines, name));
            x.push_back(static_cast<double>(r.n_machines));
            y.push_back(r.tokens_per_s);
            if (fastest == nullptr || r.tokens_per_s > fastest->tokens_per_s) {
                fastest = &r;
            }
        } else {
            showFailure(*m_machineTable, row, MachineSpeed, r);
            failure = failure.isEmpty() ? engineText(r.failure) : failure;
        }
        ++row;
    }
    m_machineTable->selectRow(static_cast<int>(choice.cluster.n_machines) - 1);
    showPrices();
    m_machineCurve->removeAllSeries();
    const int series = m_machineCurve->addSeries(tr("forecast, %1 over %2").arg(name, network), LinePlot::Line::Dashed);
    m_machineCurve->setPoints(series, x, y);
    m_machineCurve->setEvents({{static_cast<double>(choice.cluster.n_machines), tr("chosen")}});
    if (fastest == nullptr) {
        m_machinesText->setText(failure);
    } else if (fastest->n_machines == 1) {
        m_machinesText->setText(
            tr("%1 over %2: more machines would not be faster than one, with %3 tokens/s (forecast).")
                .arg(name, network, rateText(fastest->tokens_per_s)));
    } else {
        m_machinesText->setText(tr("%1 over %2: fastest with %3 machines, %4 tokens/s (forecast).")
                                    .arg(name, network, QLocale().toString(static_cast<qint64>(fastest->n_machines)),
                                         rateText(fastest->tokens_per_s)));
    }
}

void WhatIfPanel::edit() {
    try {
        const engine::HardwareProfile profile =
            engine::find_hardware_profile(m_profile->currentData().toString().toStdString());
        auto* editor = new ProfileEditor(profile, this);
        editor->setAttribute(Qt::WA_DeleteOnClose);
        connect(editor, &QDialog::accepted, this, [this, editor] {
            fillProfiles();
            m_profile->setCurrentIndex(std::max(0, m_profile->findData(editor->savedPath())));
        });
        editor->open();
    } catch (const engine::Error& error) {
        say(engineText(error.message()), Notice::Problem);
    }
}

void WhatIfPanel::refreshButtons() {
    QWidget* const focused = focusAmong({m_run, m_cancel});
    m_run->setEnabled(!isRunning() && engine().model().has_value());
    m_run->setToolTip(m_run->isEnabled() ? tr("Work it out. Measures this computer's CPU for up to three seconds first")
                      : isRunning()      ? tr("It is being worked out")
                                         : tr("Open a model first"));
    showBusy(isRunning());
    m_network->setEnabled(m_machines->value() > 1);
    m_network->setToolTip(m_network->isEnabled() ? tr("What the machines send their results over after every layer")
                                                 : tr("One machine needs no network"));
    passFocus(focused, {m_cancel, m_run});
}

}  // namespace offstage::ui
