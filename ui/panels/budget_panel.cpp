#include "ui/panels/budget_panel.h"

#include <algorithm>

#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>

#include "ui/base/delay.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/load/memory_rows.h"
#include "ui/load/quality_levels.h"
#include "ui/panels/left_out_edit.h"
#include "ui/panels/planned_memory.h"
#include "ui/panels/skipped_neurons.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"

namespace offstage::ui {

namespace {

constexpr int kBudgetNoticeLines = 3, kBudgetLegendLines = 2, kProgressHeight = 10;
constexpr int kLoss = 4, kOnDevice = 5, kActive = 6, kSkipped = 7;  // rows of figures

QString lossText(double loss) {
    return loss < 1e-9 ? BudgetPanel::tr("none") : QLocale().toString(100 * loss, 'f', 3) + QStringLiteral(" %");
}

}  // namespace

BudgetPanel::BudgetPanel(EngineController& engine, QWidget* parent)
    : Panel(engine, parent),
      m_form(new BudgetForm),
      m_bars(new StackedBar),
      m_preview(new QWidget),
      m_planNote(textLabel(tr("A note on the plan"))),
      m_basis(mutedLabel(tr("What the figures rest on"))),
      m_apply(new QPushButton(tr("Apply"))),
      m_undo(new QPushButton(tr("Undo"))),
      m_reset(new QPushButton(tr("Reset"))),
      m_cancel(new QPushButton(tr("Cancel"))),
      m_progress(new QProgressBar),
      m_progressText(textLabel(tr("What is being moved"))) {
    setEmptyText(tr("Open a model to see what its memory is spent on, and to change its budgets."));
    m_bars->setOwnScales(true);
    m_bars->setAccessibleName(tr("What memory is spent on"));
    m_bars->setAccessibleDescription(
        tr("VRAM and RAM, each divided into what holds it. Arrow keys move from part to "
           "part."));
    m_bars->setFileName(QStringLiteral("budget"));
    m_bars->setShrinking(true);
    addTo(body(), {m_form, {m_bars, 100}});  // the form above all that may grow
    buildPreview();
    reserveNotice(kBudgetNoticeLines);

    m_cancel->setToolTip(tr("Stop moving experts and go back to the plan before"));
    m_progress->setAccessibleName(tr("Progress of the re-plan"));
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(kProgressHeight);
    reserveLines(*m_progressText, 2);
    auto* moving = new QWidget;
    columnOf(moving, {rowOf({{m_progressText, 1}, m_cancel}, apart(8)), m_progress}, flush(4));
    // The width is enough for both of its texts.
    m_cancel->setText(tr("Cancelling…"));
    m_cancel->setFixedWidth(m_cancel->sizeHint().width());
    m_cancel->setText(tr("Cancel"));
    footer().addLayout(rowOf({m_apply, m_reset, m_undo, Stretch{1}}, apart(8)));
    setBusyWidget(*moving);
    addTo(body(), {m_preview, Stretch{1}});

    callAfter(m_previewTimer, kPreviewDelayMs, this, &BudgetPanel::askPreview);
    m_progressTimer.setInterval(kProgressIntervalMs);
    connect(&m_progressTimer, &QTimer::timeout, this, &BudgetPanel::follow);
    connect(m_form, &BudgetForm::changed, this, &BudgetPanel::formChanged);
    connect(m_form, &BudgetForm::singleExpertsRequested, this, &BudgetPanel::expertsRequested);
    connect(m_form, &BudgetForm::unfolded, this, &BudgetPanel::showFigures);
    connect(m_apply, &QPushButton::clicked, this, &BudgetPanel::apply);
    connect(m_undo, &QPushButton::clicked, this, &BudgetPanel::undo);
    connect(m_reset, &QPushButton::clicked, this, [this] {
        m_form->setSetting(m_inForce);
        formChanged();
    });
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        m_cancelling = true;
        this->engine().cancelReplan();
        follow();
        refreshButtons();
    });
    connect(&engine, &EngineController::previewed, this,
            [this](RequestId id, const engine::ReplanPreview& preview, const QString& problem) {
                if (id == m_previewId) {
                    m_previewId = 0;
                    showPreview(preview, problem);
                } else if (id == m_nowId) {
                    m_nowId = 0;
                    m_now = problem.isEmpty() ? std::optional(preview) : std::nullopt;
                    showNow();
                }
            });
    connect(&engine, &EngineController::answered, this, [this] {
        m_asksNow = true;
        askNow();
    });
    connect(&engine, &EngineController::loadStarted, this, [this] { modelChanged(); });
    modelChanged();
}

BudgetPanel::Figure BudgetPanel::addFigure(QGridLayout& grid, const QString& name, const QString& tip) {
    const int row = grid.rowCount();
    Figure figure{new QLabel(name), new QLabel, new QLabel};
    int column = 0;
    for (QLabel* label : {figure.name, figure.now, figure.then}) {
        label->setTextFormat(Qt::PlainText);
        label->setToolTip(tip);
        grid.addWidget(label, row, column++);
    }
    figure.now->setAlignment(Qt::AlignRight);
    figure.then->setAlignment(Qt::AlignRight);
    figure.now->setAccessibleName(tr("%1, now").arg(name));
    figure.then->setAccessibleName(tr("%1, after").arg(name));
    setWeight(*figure.then, QFont::Bold);
    return figure;
}

QStringList BudgetPanel::figureTexts(const engine::Forecast& f, const engine::ThetaChoice& theta,
                                     const QString& resident) const {
    return {rateText(f.decode_tokens_per_s),
            firstTokenText(f.ttft_s),
            percentText(f.hit_rate),
            QLocale().toString(f.mean_bits, 'f', 2),
            lossText(f.predicted_loss),
            resident,
            activeNeuronsText(engine().model(), theta),
            skippedNeuronsText(engine().model(), theta)};
}

void BudgetPanel::setFigures(QLabel* Figure::*column, const QStringList& texts) {
    for (std::size_t i = 0; i < m_figures.size(); ++i) {
        (m_figures[i].*column)->setText(texts.value(static_cast<qsizetype>(i), QStringLiteral("–")));
    }
}

void BudgetPanel::buildPreview() {
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(1);
    grid->setColumnStretch(0, 1);
    QFont bold = font();
    bold.setWeight(QFont::Bold);
    const int widest = QFontMetrics(bold).horizontalAdvance(percentText(1));  // dashes take less
    int place = 1;
    for (const QString& title : {tr("now"), tr("after")}) {
        auto* label = new QLabel(title);
        label->setAlignment(Qt::AlignRight);
        label->setForegroundRole(QPalette::PlaceholderText);
        grid->setColumnMinimumWidth(place, widest);
        grid->addWidget(label, 0, place++);
    }
    m_figures[0] = addFigure(
        *grid, tr("Tokens/s"),
        tr("Now: as measured, where something was; after: the forecast from measured costs, put right by that"));
    m_figures[1] = addFigure(*grid, tr("First token"),
                             tr("Forecast time to the first token of a prompt of 512 tokens, of both plans"));
    m_figures[2] = addFigure(
        *grid, tr("Hit rate of answers"),
        tr("Share of expert calls that find their expert on the accelerator; measured: of tokens written, prompts "
           "not counted"));
    m_figures[3] = addFigure(*grid, tr("Mean bits"), tr("Per expert weight"));
    m_figures[kLoss] =
        addFigure(*grid, tr("Predicted loss"),
                  tr("Squared relative error of the experts' weights, weighed by how often each is used"));
    m_figures[kOnDevice] = addFigure(*grid, tr("Experts on the device"), tr("Of all experts of all layers"));
    m_figures[kActive] = addFigure(*grid, tr("Active neurons"),
                                   tr("Share of a token's neurons that is not skipped, as measured over a text"));
    m_figures[kSkipped] = addFigure(*grid, tr("Loss by skipped neurons"),
                                    tr("Kullback-Leibler divergence from the whole model, as measured over a text by "
                                       "“offstage-cli sensitivity --keep”"));
    reserveLines(*m_basis, 1);
    columnOf(m_preview, {grid, m_basis, m_planNote}, flush(3));
    showFigures();
}

void BudgetPanel::Figure::setVisible(bool visible) const {
    for (QLabel* label : {name, now, then}) {
        label->setVisible(visible);
    }
}

void BudgetPanel::showFigures() {
    const bool skips = m_form->setting().theta.leaves_out() || m_inForce.theta.leaves_out();
    m_figures[kLoss].setVisible(m_form->isUnfolded());
    m_figures[kActive].setVisible(m_form->isUnfolded() && skips);
    m_figures[kSkipped].setVisible(m_form->isUnfolded() && skips);
}

void BudgetPanel::modelChanged() {
    const auto& model = engine().model();
    m_hasModel = model.has_value();
    m_hasLimits = false;
    m_history.clear();
    m_replanId = 0;
    m_previewId = m_nowId = 0;
    m_now.reset();
    m_asksNow = m_hasModel;
    m_previewTimer.stop();
    m_progressTimer.stop();
    clearPreview();
    say({});  // the old one was of another model
    setEmpty(!m_hasModel);
    if (model) {
        reserveBars();
        m_figures[kOnDevice].setVisible(model->device != "cpu");
        m_inForce = settingInForce(engine());
        showFigures();
        if (const auto snapshot = engine().snapshot()) {
            showSnapshot(*snapshot);
        }
    }
    refreshButtons();
}

void BudgetPanel::reserveBars() {
    if (const auto& model = engine().model()) {  // another one may be loading
        m_bars->setReserve(model->device == "cpu" ? 1 : 2, kBudgetLegendLines);
    }
}

void BudgetPanel::showSnapshot(const engine::Snapshot& snapshot) {
    const auto& model = engine().model();
    if (!model) {
        return;
    }
    showBars();
    if (m_now) {
        m_figures[kOnDevice].now->setText(onDeviceNow());
    }
    // Others move budgets too: a benchmark that compares plans.
    if (m_replanId == 0) {
        const bool untouched = m_form->setting() == m_inForce;
        const BudgetSetting before = m_inForce;
        m_inForce = settingInForce(engine());
        if (!(before == m_inForce)) {
            m_now.reset();
            m_asksNow = true;
            showFigures();
            showNow();
        }
        if (untouched && m_hasLimits) {
            m_form->setSetting(m_inForce);
        }
    }
    // The sliders' ranges follow other programs' memory, but not while the user operates
    // them.
    if (!m_hasLimits || (m_form->setting() == m_inForce && !m_form->isAncestorOf(window()->focusWidget()))) {
        m_form->setLimits(*model, snapshot);
        m_form->setSetting(m_inForce);
        m_hasLimits = true;
    }
    askNow();
}

void BudgetPanel::askNow() {
    const bool isIdle = m_replanId == 0 && m_previewId == 0 && !m_previewTimer.isActive();
    if (!m_asksNow || !m_hasModel || !isVisible() || !isIdle) {
        return;
    }
    m_asksNow = false;
    m_nowId = engine().requestPreview({});
}

void BudgetPanel::showBars() {
    const engine::Snapshot& now = snapshot();
    std::vector<StackedBar::Row> rows;
    if (now.vram.total > 0) {
        rows.push_back(memoryRow(tr("VRAM"), now.vram, now.formats));
    }
    if (now.ram.total > 0) {
        rows.push_back(memoryRow(tr("RAM"), now.ram, now.formats));
    }
    if (m_previewed && now.vram.total > 0) {
        addGhost(rows.front(), now.vram, vramAfter(m_plan, now.vram), m_previewed->vramBytes, now.formats);
    }
    if (m_previewed && now.ram.total > 0) {
        addGhost(rows.back(), now.ram, ramAfter(m_plan, now.ram), m_previewed->ramBytes, now.formats);
    }
    m_bars->setVisible(!rows.empty());
    m_bars->setRows(std::move(rows));
}

void BudgetPanel::formChanged() {
    say({});
    showFigures();
    m_form->setQualityChange({});
    m_previewId = 0;
    if (m_form->setting() == m_inForce) {
        m_previewTimer.stop();
        clearPreview();
    } else {
        m_previewTimer.start();  // restart: only the slider's final position counts
    }
    refreshButtons();
}

void BudgetPanel::askPreview() {
    if (!m_hasModel) {
        return;
    }
    m_nowId = 0;  // this preview includes it
    engine::ReplanRequest request = changeBetween(m_inForce, m_form->setting());
    request.chooses_theta = m_form->setting().quality.max_kl > 0;
    m_previewId = engine().requestPreview(request);
    if (m_previewId == 0) {
        clearPreview(tr("This engine cannot be re-planned now."));
    } else if (engine().isAnswering() && !m_previewed) {
        setHint(tr("Working it out…"));
    }
    refreshButtons();
}

void BudgetPanel::clearPreview(const QString& why) {
    m_previewed.reset();
    m_problem = why;
    setFigures(&Figure::then, {});
    showFigures();
    showNow();
    m_planNote->hide();
    setHint(tr("Move a slider to see what it would change. Nothing happens before Apply."));
    if (!why.isEmpty()) {
        say(why, Notice::Problem);
    }
    showBars();
}

void BudgetPanel::showPreview(const engine::ReplanPreview& p, const QString& problem) {
    if (!problem.isEmpty()) {
        clearPreview(problem);
        refreshButtons();
        return;
    }
    if (m_form->setting().quality.max_kl > 0 && p.plan.theta) {
        m_form->leftOut().set(*p.plan.theta);  // Apply will carry this out
    }
    m_now = p;
    showNow();
    setFigures(&Figure::then, figureTexts(p.after, m_form->setting().theta,
                                          tr("%1 of %2").arg(p.plan.n_resident()).arg(p.plan.places.size())));
    const bool isTraded = p.plan.theta.has_value();  // by the measured loss of each
    const auto kl = isTraded ? std::optional(p.plan.format_kl) : measuredKl(engine().model(), p.plan.formats);
    m_form->setQualityChange(qualityText(p.after.predicted_loss, kl, m_form->setting().theta));
    QString move =
        p.bytes_to_move == 0 ? tr("Nothing has to be moved.")
        : p.was_timed
            ? tr("%1 to move, about %2.").arg(bytesText(p.bytes_to_move), secondsText(p.seconds))
            : tr("%1 to move, at least %2 (not timed yet).").arg(bytesText(p.bytes_to_move), secondsText(p.seconds));
    // A floor of bits alone asks for no fewer: the plan takes what is fastest.
    const bool keepsFormats = m_form->setting().quality.min_mean_bits > 0 && !(p.after.predicted_loss > 0);
    m_keptBits = keepsFormats ? std::optional(p.after.mean_bits) : std::nullopt;
    // Three lines have room.
    move += u' ' + (m_keptBits        ? keptFormatsText(*m_keptBits)
                    : p.quantized > 0 ? tr("Less for experts that were quantized before.")
                                      : tr("Pale, below the bars: the plan after."));
    m_movesNothing = p.bytes_to_move == 0;
    m_planNote->setText(engineText(p.plan.note));
    m_planNote->setVisible(!p.plan.note.empty());  // in the last row: nothing moves
    m_problem.clear();
    say({});
    setHint(move);
    m_previewed = m_form->setting();  // a later change would have dropped this preview
    m_plan = p.plan;
    showBars();
    refreshButtons();
}

void BudgetPanel::showNow() {
    if (!m_now) {
        setFigures(&Figure::now, {});
        m_basis->clear();
        return;
    }
    const engine::ReplanPreview& p = *m_now;
    setFigures(&Figure::now, figureTexts(p.before, m_inForce.theta, onDeviceNow()));
    if (m_form->setting() == m_inForce) {
        m_form->setQualityChange(qualityText(p.before.predicted_loss,
                                             measuredKl(engine().model(), snapshot().experts.format), m_inForce.theta));
    }
    const bool simulated = engine().model() && engine().model()->emulated;
    const int steps = static_cast<int>(p.measured_steps);
    m_basis->setText(steps > 0 && simulated ? tr("Now: simulated, %n token(s). The rest: forecast.", nullptr, steps)
                     : steps > 0            ? tr("Now: measured, %n token(s). The rest: forecast.", nullptr, steps)
                                            : tr("Nothing measured yet: “now” is a forecast too."));
    m_basis->setToolTip(steps > 0 ? tr("Tokens/s and hit rate now are of the last tokens that were written with this "
                                       "plan; everything else is a forecast")
                                  : QString());
}

QString BudgetPanel::onDeviceNow() const {
    const auto& places = snapshot().experts.place;
    return places.empty() ? QStringLiteral("–")
                          : QLocale().toString(qlonglong{std::count(
                                places.begin(), places.end(), static_cast<std::uint8_t>(engine::Place::kDevice))});
}

QString BudgetPanel::qualityText(double predictedLoss, std::optional<double> formatKl,
                                 const engine::ThetaChoice& theta) const {
    const auto skipped = theta.leaves_out() ? skippedKl(engine().model(), theta) : std::nullopt;
    return tr("Quality change: %1").arg(qualityChangeText({predictedLoss, formatKl, theta.leaves_out(), skipped}));
}

QString BudgetPanel::keptFormatsText(double bits) const {
    return tr("Experts stay in %1 bits: fewer are not known to be faster here.").arg(QLocale().toString(bits, 'f', 2));
}

void BudgetPanel::apply() {
    begin(m_form->setting(), false);
}

void BudgetPanel::undo() {
    if (!m_history.empty()) {
        begin(m_history.back(), true);
    }
}

void BudgetPanel::begin(const BudgetSetting& target, bool isUndo) {
    if (!m_hasModel || target == m_inForce) {
        return;
    }
    if (target.theta != m_inForce.theta && !engine().setTheta(target.theta)) {
        say(tr("This engine cannot skip neurons."), Notice::Problem);
        return;
    }
    BudgetSetting samePlan = m_inForce;
    samePlan.theta = target.theta;
    m_undoing = isUndo;
    m_keptBits = isUndo ? std::nullopt : m_keptBits;
    if (samePlan == target) {
        remember();
        say(target.theta.leaves_out()
                ? tr("In force from the next token on: %1. Answers are no longer the model's own.")
                      .arg(thetaText(target.theta))
                : tr("In force from the next token on: no neurons are skipped."));
        refreshButtons();
        return;
    }
    const quint64 id = engine().replan(changeBetween(m_inForce, target));
    if (id == 0) {
        engine().setTheta(m_inForce.theta);
        say(tr("This engine cannot be re-planned now."), Notice::Problem);
        return;
    }
    m_replanId = id;
    m_cancelling = false;
    say({});
    m_progressTimer.start();
    follow();
    refreshButtons();
}

void BudgetPanel::follow() {
    const std::vector<engine::ReplanReport> reports = engine().replans();
    const auto found = std::find_if(reports.rbegin(), reports.rend(),
                                    [this](const engine::ReplanReport& r) { return r.id == m_replanId; });
    if (m_replanId == 0) {
        m_progressTimer.stop();
        return;
    }
    if (found == reports.rend()) {  // not begun: the running step ends first
        m_progress->setRange(0, 0);
        m_progressText->setText(engine().isAnswering() ? tr("Waiting for the end of a step")
                                                       : tr("Working out the plan"));
        return;
    }
    using State = engine::ReplanState;
    if (found->state == State::kWaiting || found->state == State::kMoving) {
        m_progress->setRange(0, static_cast<int>(std::max<std::int64_t>(1, found->requested)));
        m_progress->setValue(static_cast<int>(found->visible));
        if (m_cancelling) {  // an expert that is being packed is finished first, which may take seconds
            m_progress->setRange(0, 0);
            m_progressText->setText(
                found->seconds_left > 0
                    ? tr("Going back to the plan before; about %1 left").arg(secondsText(found->seconds_left))
                    : tr("Going back to the plan before"));
            return;
        }
        QString done = tr("%1 of %2 copies, %3 of %4")
                           .arg(found->visible)
                           .arg(found->requested)
                           .arg(bytesText(found->bytes_moved), bytesText(found->bytes_requested));
        if (found->seconds_left > 0) {
            done = tr("%1; about %2 left").arg(done, secondsText(found->seconds_left));
        }
        m_progressText->setText(done);
        return;
    }
    finish(*found);
}

void BudgetPanel::remember() {
    if (m_undoing) {
        m_history.pop_back();
    } else {
        m_history.push_back(m_inForce);
        if (m_history.size() > kMostUndo) {
            m_history.erase(m_history.begin());
        }
    }
    m_inForce = settingInForce(engine());
    m_form->setSetting(m_inForce);
    m_now.reset();  // was the plan before's
    m_asksNow = true;
    clearPreview();
}

void BudgetPanel::finish(const engine::ReplanReport& report) {
    if (report.state != engine::ReplanState::kDone && engine().theta() != m_inForce.theta) {
        engine().setTheta(m_inForce.theta);  // a change is made whole or not at all
    }
    using State = engine::ReplanState;
    m_replanId = 0;
    m_cancelling = false;
    m_progressTimer.stop();
    reserveBars();
    const QString why = engineText(report.problem);
    switch (report.state) {
        case State::kDone: {
            remember();
            const QString moved =
                report.bytes_moved == 0
                    ? tr("In force: nothing had to be moved.")
                    : tr("In force: %1 moved in %2.").arg(bytesText(report.bytes_moved), secondsText(report.seconds));
            say(moved + u' ' +
                (m_keptBits ? keptFormatsText(report.mean_bits)
                            : tr("%1 bits on average.").arg(QLocale().toString(report.mean_bits, 'f', 2))));
            break;
        }
        case State::kCancelled:
            say(tr("Cancelled: the plan before is in force again. %1 of %2 copies had been made.")
                    .arg(report.visible)
                    .arg(report.requested));
            break;
        case State::kSuperseded:
            say(tr("Another change took its place."));
            break;
        default:
            say(why.isEmpty() ? tr("The change could not be made; the plan before is in force.") : why,
                Notice::Problem);
    }
    if (const auto snapshot = engine().snapshot()) {
        setSnapshot(*snapshot);
    }
    refreshButtons();
}

bool BudgetPanel::changesNothing() const {
    BudgetSetting sameQuality = m_form->setting();
    sameQuality.quality = m_inForce.quality;
    return m_previewed == m_form->setting() && m_keptBits && m_movesNothing && sameQuality == m_inForce;
}

void BudgetPanel::refreshButtons() {
    const bool moving = m_replanId != 0;
    QWidget* const focused = focusAmong({m_apply, m_reset, m_undo, m_cancel});
    showBusy(moving);
    m_cancel->setEnabled(!m_cancelling);
    m_cancel->setText(m_cancelling ? tr("Cancelling…") : tr("Cancel"));
    const bool changed = m_hasModel && !(m_form->setting() == m_inForce);
    // Nothing is applied that was not shown first.
    m_apply->setEnabled(changed && !moving && m_previewed == m_form->setting() && !changesNothing());
    m_apply->setToolTip(m_apply->isEnabled()
                            ? tr("Carry this out in the background; the conversation goes on meanwhile")
                        : moving              ? tr("A change is under way")
                        : !changed            ? tr("Nothing is changed yet: move a slider")
                        : changesNothing()    ? keptFormatsText(*m_keptBits)
                        : m_problem.isEmpty() ? tr("What it would change is being worked out")
                                              : m_problem);
    m_reset->setEnabled(changed && !moving);
    m_reset->setToolTip(m_reset->isEnabled() ? tr("Put the sliders back to what is in force")
                        : moving             ? tr("A change is under way")
                                             : tr("The sliders show what is in force"));
    m_undo->setEnabled(m_hasModel && !m_history.empty() && !moving);
    m_undo->setToolTip(m_history.empty() ? tr("Go back to the budgets before; there are none yet")
                                         : tr("Go back to %1").arg(settingText(m_history.back())));
    // A running re-plan can be cancelled; afterwards it can be undone or changed further.
    QList<QWidget*> next{m_cancel};
    if (!moving) {
        next = {m_apply, m_undo};
    }
    // What is typed next is a message; where the chat is covered, a slider takes no letters.
    passFocus(focused, next << conversation() << &m_form->vram().slider() << &m_form->ram().slider());
}

}  // namespace offstage::ui
