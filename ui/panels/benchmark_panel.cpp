#include "ui/panels/benchmark_panel.h"

#include <algorithm>

#include <QCoreApplication>
#include <QDir>
#include <QFormLayout>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTableView>
#include <QThreadPool>

#include "engine/run/fit_estimate.h"
#include "ui/base/save_file.h"
#include "ui/engine/format.h"
#include "ui/panels/comparison_view.h"
#include "ui/panels/page_tabs.h"
#include "ui/panels/tiles.h"
#include "ui/plot/bar_plot.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/fitting_columns.h"
#include "ui/widgets/head_room.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

constexpr int kBins = 30;
constexpr int kNarrowestTile = 420;

QSpinBox* spinBox(const QString& name, const QString& tip, int lo, int hi, int value) {
    auto* box = new QSpinBox;
    describe(*box, name, tip);
    box->setRange(lo, hi);
    box->setValue(value);
    box->setGroupSeparatorShown(true);
    box->setAlignment(Qt::AlignRight);
    return box;
}

}  // namespace

BenchmarkPanel::BenchmarkPanel(EngineController& engine, QWidget* parent)
    : Panel(engine, parent),
      m_answers(new BenchmarkTable(this)),
      m_scenarios(new BenchmarkTable(this)),
      m_runner(new BenchmarkRunner(engine, this)),
      m_tabs(new PageTabs),
      m_histogram(new BarPlot),
      m_summary(mutedLabel()),
      m_progress(new QProgressBar),
      m_cancel(new QPushButton(tr("Cancel"))),
      m_export(new QPushButton(tr("Export…"))),
      m_pictures(new QPushButton(tr("Pictures…"))) {
    setEmptyText(tr("Open a model to measure its answers, to run scenarios and to compare plans."));
    m_tabs->addPage(buildAnswers(), tr("Answers"));
    m_tabs->addPage(buildScenario(), tr("Scenario"));
    m_tabs->addPage(buildCompare(), tr("Two plans"));
    body().addWidget(m_tabs, 1);
    leaveScrollingToPages();

    m_progress->setAccessibleName(tr("Progress of the benchmark"));
    m_cancel->setToolTip(tr("Stop the run; a plan that was changed for it is put back"));
    m_export->setToolTip(tr("Save all results with hardware, model, plan, budgets and seed, as CSV, JSON or Markdown"));
    m_pictures->setToolTip(tr("Save pictures of plots as PNG: which ones is asked first"));
    footer().addLayout(rowOf({m_export, m_pictures, Stretch{1}}));
    setBusyWidget(*widgetOf(rowOf({{m_progress, 1}, m_cancel}, flush())));
    reserveNotice(2);

    connect(&engine, &EngineController::answered, this, [this](RequestId id, const engine::GenerationResult& result) {
        if (!m_runner->owns(id)) {
            addAnswer(result);
        }
    });
    connect(&engine, &EngineController::stateChanged, this, &BenchmarkPanel::refreshButtons);
    connect(&engine, &EngineController::replanEnded, this, [this] {
        if (m_hasLimits) {
            showSnapshot(snapshot());
        }
    });
    connect(m_runner, &BenchmarkRunner::progressed, this, [this](int done, int all, const QString& what) {
        m_progress->setRange(0, all);
        m_progress->setValue(done);
        m_progress->setFormat(what);
        refreshButtons();
    });
    connect(m_runner, &BenchmarkRunner::runFinished, this, [this](BenchmarkRun run) {
        run.setting = settingInForce(this->engine());
        run.device = deviceNow();
        m_scenarios->append(run);
        showMedian();
        readFingerprint();
    });
    connect(m_runner, &BenchmarkRunner::compared, this, [this](BenchmarkComparison comparison) {
        comparison.a.device = comparison.b.device = deviceNow();
        m_comparisons.push_back(comparison);
        const auto& model = this->engine().model();
        m_comparison->setComparison(comparison, model && model->emulated);
        bringIntoView(*m_comparison);
        readFingerprint();
    });
    connect(m_runner, &BenchmarkRunner::ended, this, [this](const QString& problem) {
        say(problem, Notice::Problem);
        refreshButtons();
    });
    connect(m_run, &QPushButton::clicked, this, [this] {
        say({});
        m_runner->runScenario(
            {m_in->value(), m_out->value(), m_repeats->value(), static_cast<quint64>(std::max(0, m_seed->value()))});
        refreshButtons();
    });
    connect(m_compare, &QPushButton::clicked, this, [this] {
        say({});
        BenchmarkRunner::Comparison comparison;
        comparison.prompt = m_prompt->toPlainText().trimmed();
        comparison.sampler.seed = static_cast<std::uint64_t>(std::max(0, m_seed->value()));
        comparison.maxTokens = m_maxTokens->value();
        comparison.a = settingInForce(this->engine());
        comparison.b = m_planB->setting();
        m_runner->runComparison(comparison);
        refreshButtons();
    });
    connect(m_cancel, &QPushButton::clicked, m_runner, &BenchmarkRunner::cancel);
    connect(m_export, &QPushButton::clicked, this, &BenchmarkPanel::askWhereToSave);
    connect(m_pictures, &QPushButton::clicked, this, &BenchmarkPanel::picturesRequested);
    connect(m_planB, &BudgetForm::changed, this, &BenchmarkPanel::refreshButtons);
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &BenchmarkPanel::refreshButtons);
    connect(m_answersView->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &BenchmarkPanel::showHistogram);
    modelChanged();
}

QTableView* BenchmarkPanel::makeTable(BenchmarkTable& table, const QString& name) {
    const int labelWidth = fontMetrics().averageCharWidth() * 26;
    auto* view = new QTableView;
    view->setModel(&table);
    new FittingColumns(*view, labelWidth);
    showRows(*view, name);
    view->setSelectionMode(QAbstractItemView::SingleSelection);
    view->horizontalHeader()->setHighlightSections(false);  // bold heads would be cut
    view->horizontalHeader()->setMinimumSectionSize(30);
    // As wide as their usual numbers: what is looked for first is whole in a narrow
    // panel.
    const QStringList usual{{},
                            QStringLiteral("0,000.0"),
                            QStringLiteral("00,000"),
                            QStringLiteral("00,000"),
                            QStringLiteral("00,000"),
                            QStringLiteral("000.00"),
                            QStringLiteral("000.00"),
                            QStringLiteral("000.00"),
                            QStringLiteral("100.0 %"),
                            QStringLiteral("000.0 MB")};
    view->setColumnWidth(BenchmarkTable::Label, labelWidth);
    for (int column = BenchmarkTable::Label + 1; column < BenchmarkTable::Columns; ++column) {
        const QString head = table.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        view->setColumnWidth(
            column,
            std::max(fontMetrics().horizontalAdvance(head), fontMetrics().horizontalAdvance(usual[column])) + 10);
    }
    // Two lines for the name, which wraps.
    view->verticalHeader()->setDefaultSectionSize(2 * view->fontMetrics().lineSpacing() + 6);
    view->setMinimumHeight(6 * fontMetrics().lineSpacing());
    new HeadRoom(*view);
    return view;
}

QLayout* BenchmarkPanel::buildAnswers() {
    m_answersView = makeTable(*m_answers, tr("Answers of this session"));
    m_histogram->setAccessibleName(tr("Time from one token to the next"));
    m_histogram->setAccessibleDescription(tr("How many of the engine's decode steps took how long"));
    m_histogram->setEmptyText(tr("Ask something: each answer is measured, and this shows how evenly its tokens came."));
    m_histogram->setFileName(QStringLiteral("itl"));
    m_histogram->setMinimumHeight(150);
    auto* tiles = new Tiles(kNarrowestTile);
    tiles->add(m_answersView);
    tiles->add(m_histogram);
    return columnOf({{tiles, 1}, m_summary});
}

QLayout* BenchmarkPanel::buildScenario() {
    m_in = spinBox(tr("Tokens of the prompt"),
                   tr("So many: words of several fields, cut to this length by the tokenizer"), 1, 1'000'000, 512);
    m_out = spinBox(tr("Tokens of the answer"), tr("So many: where the model would end its answer, it goes on"), 1,
                    100'000, 32);
    m_repeats = spinBox(tr("Repeats"), tr("How often it is run"), 1, 100, 3);
    m_seed = spinBox(tr("Seed"), tr("Of words and sampling, also for the comparison of two plans"), 0, 1'000'000, 1);
    m_run = new QPushButton(tr("Run"));
    m_run->setToolTip(tr("Run it through the loaded model; the conversation stays as it is"));
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(8);
    const auto add = [&](int row, int at, const QString& text, QWidget* field) {
        auto* label = labelOf(field, text);
        grid->addWidget(label, row, at);
        grid->addWidget(field, row, at + 1);
    };
    add(0, 0, tr("Prompt"), m_in);
    add(0, 2, tr("Answer"), m_out);
    add(1, 0, tr("Repeats"), m_repeats);
    add(1, 2, tr("Seed"), m_seed);
    grid->addWidget(m_run, 2, 0, 1, 2);
    grid->setColumnStretch(4, 1);
    m_scenariosView = makeTable(*m_scenarios, tr("Scenario runs"));
    m_median = textLabel(tr("Median of the runs"));
    reserveLines(*m_median, 2);
    return columnOf({grid, {m_scenariosView, 1}, m_median});
}

QLayout* BenchmarkPanel::buildCompare() {
    m_prompt = new QPlainTextEdit;
    m_prompt->setAccessibleName(tr("Prompt for both plans"));
    m_prompt->setPlaceholderText(tr("Prompt for both plans"));
    m_prompt->setTabChangesFocus(true);
    m_prompt->setMaximumHeight(4 * fontMetrics().lineSpacing());
    m_planB = new BudgetForm(BudgetForm::Plan::Other);
    m_maxTokens = spinBox(tr("Tokens of the answers"), tr("At most so many, for both plans"), 1, 100'000, 128);
    m_compare = new QPushButton(tr("Compare"));
    m_compare->setToolTip(tr(
        "Plan A is what is in force. It answers, then plan B does, then plan A is put back. Both use the same seed"));
    auto* planB = new QLabel(tr("Plan B (plan A is as it is now)"));
    planB->setForegroundRole(QPalette::PlaceholderText);
    m_comparison = new ComparisonView;
    auto* act =
        rowOf({labelOf(m_maxTokens, tr("At most")), m_maxTokens, new QLabel(tr("tokens")), Stretch{1}, m_compare});
    return columnOf({m_prompt, planB, m_planB, act, m_comparison, Stretch{1}});
}

void BenchmarkPanel::showPage(Page page) {
    m_tabs->setCurrentIndex(page);
}

void BenchmarkPanel::modelChanged() {
    const bool has = engine().model().has_value();
    setEmpty(!has);
    m_hasLimits = false;
    // Results stay while the same model is opened again, as on another device.
    if (has && m_resultsOf != QString::fromStdString(engine().model()->source)) {
        m_resultsOf = QString::fromStdString(engine().model()->source);
        m_answers->clear();
        m_scenarios->clear();
        m_comparisons.clear();
        m_comparison->clear();
        m_median->clear();
        m_histogram->clear();
        m_summary->clear();
    }
    say({});
    setHint(timingText());
    if (const auto snapshot = engine().snapshot(); has && snapshot) {
        showSnapshot(*snapshot);
    }
    refreshButtons();
}

QString BenchmarkPanel::timingText() const {
    if (!engine().model()) {
        return {};
    }
    const bool isEmulated = engine().model()->emulated;
    const auto hasOther = [isEmulated](const BenchmarkTable& table) {
        return std::ranges::any_of(table.runs(), [isEmulated](const BenchmarkRun& run) {
            return run.device.startsWith(QLatin1String("emulated:")) != isEmulated;
        });
    };
    if (hasOther(*m_answers) || hasOther(*m_scenarios)) {
        return tr(
            "Emulated devices have simulated times and speeds, the others measured ones: the pointer over a row "
            "shows its device.");
    }
    return isEmulated ? tr("Times and speeds are simulated: the device is emulated.")
                      : tr("Times and speeds are measured, by the device's clock.");
}

// Plan B begins as what is in force, and follows it until a person changes it.
void BenchmarkPanel::showSnapshot(const engine::Snapshot& snapshot) {
    if (!engine().model() || m_runner->isRunning()) {
        return;
    }
    // The first snapshot of a model may be of the one before, with other limits.
    if (m_hasLimits && (!(m_planB->setting() == m_beginningOfB) || m_planB->isAncestorOf(window()->focusWidget()))) {
        return;
    }
    const BudgetSetting inForce = settingInForce(engine());
    m_planB->setLimits(*engine().model(), snapshot);
    m_planB->setSetting(inForce);
    m_beginningOfB = m_planB->setting();
    m_hasLimits = true;
    refreshButtons();
}

QString BenchmarkPanel::deviceNow() const {
    return engine().model() ? QString::fromStdString(engine().model()->device) : QString();
}

void BenchmarkPanel::addAnswer(const engine::GenerationResult& result) {
    if (result.tokens.empty()) {
        return;  // stopped before its first token: there is nothing to measure
    }
    BenchmarkRun run = runOf(result);
    run.setting = settingInForce(this->engine());
    run.device = deviceNow();
    run.label = run.text.simplified().left(60);
    run.text.clear();
    m_answers->append(run);
    m_answersView->setCurrentIndex(m_answers->index(m_answers->rowCount() - 1, 0));
    m_answersView->scrollToBottom();
    showHistogram();
    readFingerprint();
    refreshButtons();
}

// Once per model, while the engine works: it reads a little of each of the model's
// tensors.
void BenchmarkPanel::readFingerprint() {
    if (!engine().model() || m_fingerprintOf == QString::fromStdString(engine().model()->source)) {
        return;
    }
    m_fingerprintOf = QString::fromStdString(engine().model()->source);
    m_fingerprint.clear();
    QThreadPool::globalInstance()->start([panel = QPointer<BenchmarkPanel>(this), source = m_fingerprintOf] {
        QString text;
        try {
            engine::FitEstimator model(source.toStdString(), engine::FitEstimator::Text::kNotNeeded);
            text = QString::fromStdString(model.fingerprint());
        } catch (const std::exception&) {
            return;  // the file is gone meanwhile: the export has no fingerprint
        }
        QMetaObject::invokeMethod(
            QCoreApplication::instance(),
            [panel, source, text] {
                if (panel && panel->m_fingerprintOf == source) {
                    panel->m_fingerprint = text;
                }
            },
            Qt::QueuedConnection);
    });
}

void BenchmarkPanel::showHistogram() {
    const int row = m_answersView->currentIndex().row();
    if (row < 0 || row >= m_answers->rowCount()) {
        m_histogram->clear();
        m_summary->clear();
        return;
    }
    const BenchmarkRun& run = m_answers->runs()[static_cast<std::size_t>(row)];
    std::vector<double> us;
    for (const double s : run.itlSeconds) {
        us.push_back(s * 1e6);
    }
    m_summary->setText(us.empty()
                           ? tr("One token: there is no time between tokens.")
                           : tr("Time between tokens (ITL) of %1 decode steps, by the device's clock: p50 %2, p95 "
                                "%3, p99 %4")
                                 .arg(us.size())
                                 .arg(valueText(Unit::Microseconds, 1e6 * run.itl(0.5)),
                                      valueText(Unit::Microseconds, 1e6 * run.itl(0.95)),
                                      valueText(Unit::Microseconds, 1e6 * run.itl(0.99))));
    if (us.empty()) {
        m_histogram->clear();
        return;
    }
    m_histogram->setHistogram(histogramOf(us, kBins, 0.99), {tr("from one token to the next"), Unit::Microseconds},
                              {{1e6 * run.itl(0.5), tr("p50")}, {1e6 * run.itl(0.95), tr("p95")}});
    m_histogram->setValueAxis({tr("steps"), Unit::Count});
}

// Shows the median of the newest scenario's runs: the last runs with its length and
// budgets.
void BenchmarkPanel::showMedian() {
    const std::vector<BenchmarkRun>& runs = m_scenarios->runs();
    std::vector<double> speeds, firsts;
    for (auto run = runs.rbegin();
         run != runs.rend() && run->tokensIn == runs.back().tokensIn && run->tokensOut == runs.back().tokensOut &&
         run->setting == runs.back().setting && run->device == runs.back().device;
         ++run) {
        if (run->hasSpeed()) {
            speeds.push_back(run->tokensPerSecond);
        }
        firsts.push_back(run->ttftSeconds);
    }
    if (firsts.size() < 2) {
        m_median->clear();
        return;
    }
    const auto median = [](std::vector<double> values) {
        std::sort(values.begin(), values.end());
        const std::size_t half = values.size() / 2;
        return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    };
    const bool simulated = engine().model() && engine().model()->emulated;
    const double speed = median(speeds);
    m_median->setText(
        tr("Median of %1 runs: %2, first token after %3.")
            .arg(firsts.size())
            .arg(speed > 0 ? tokenSpeedText(speed, simulated) : QStringLiteral("–"), firstTokenText(median(firsts))));
}

void BenchmarkPanel::refreshButtons() {
    const bool running = m_runner->isRunning();
    QWidget* const focused = focusAmong({m_run, m_compare, m_cancel});
    const bool idle = engine().state() == EngineController::State::Ready && !running;
    const QString busy = running ? tr("A run is under way") : tr("An answer is being written; wait for its end");
    m_run->setEnabled(idle);
    m_run->setToolTip(idle ? tr("Run it through the loaded model; the conversation stays as it is") : busy);
    const bool differs = engine().model() && m_hasLimits && !(m_planB->setting() == settingInForce(this->engine()));
    m_compare->setEnabled(idle && differs && !m_prompt->toPlainText().trimmed().isEmpty());
    m_compare->setToolTip(
        !idle      ? busy
        : !differs ? tr("Plan B is plan A as yet: change one of its budgets")
        : m_compare->isEnabled()
            ? tr("Plan A is what is in force. It answers, then plan B does, then plan A is put back. Both use the same "
                 "seed")
            : tr("Write a prompt for both plans first"));
    showBusy(running);
    m_export->setEnabled(m_answers->rowCount() > 0 || m_scenarios->rowCount() > 0 || !m_comparisons.empty());
    m_export->setToolTip(
        m_export->isEnabled()
            ? tr("Save all results with hardware, model, plan, budgets and seed, as CSV, JSON or Markdown")
            : tr("There are no results yet: ask something, or run a scenario"));
    // Under way it can be cancelled; then it can be run again, or be changed first.
    const bool compares = m_tabs->currentIndex() == Compare;
    passFocus(focused, running    ? QList<QWidget*>{m_cancel}
                       : compares ? QList<QWidget*>{m_compare, m_prompt}
                                  : QList<QWidget*>{m_run, m_in});
}

BenchmarkReport BenchmarkPanel::report() const {
    BenchmarkReport report = beginReport();
    if (engine().model()) {
        report.model = *engine().model();
    }
    if (const auto snapshot = engine().snapshot()) {
        report.meanBits = snapshot->mean_bits;
    }
    report.setting = settingInForce(this->engine());
    report.fingerprint = m_fingerprint;
    report.answers = m_answers->runs();
    report.scenarios = m_scenarios->runs();
    report.comparisons = m_comparisons;
    return report;
}

void BenchmarkPanel::askWhereToSave() {
    openSaveDialog(this, tr("Save the results"), {tr("JSON (*.json)"), tr("CSV (*.csv)"), tr("Markdown (*.md)")},
                   QStringLiteral("offstage-benchmark"), [this](const QString& path) {
                       QString why;
                       if (saveBenchmark(report(), path, &why)) {
                           say(tr("Saved as %1.").arg(QDir::toNativeSeparators(path)));
                       } else {
                           say(why, Notice::Problem);
                       }
                   });
}

}  // namespace offstage::ui
