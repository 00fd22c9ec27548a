#include "ui/panels/dispatch_panel.h"

#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>
#include <QLocale>
#include <QToolButton>

#include "ui/engine/engine_controller.h"
#include "ui/panels/selection.h"
#include "ui/panels/tiles.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr int kNarrowestDispatch = 420;
constexpr int kTallestTimeline = 220;
constexpr int kWhyLines = 4;  // more of them scroll
// Shares of the width, side by side: a token of many layers needs more of it than the
// bars.
constexpr int kTimelineShare = 3, kBarsShare = 2;

}  // namespace

DispatchPanel::DispatchPanel(EngineController& engine, Selection& selection, QWidget* parent)
    : Panel(engine, parent),
      m_selection(selection),
      m_previous(new QToolButton),
      m_next(new QToolButton),
      m_token(lineLabel(tr("The token that is shown"))),
      m_which(new QComboBox),
      m_amount(new QComboBox),
      m_bars(new StackedBar),
      m_timeline(new TimelinePlot),
      m_idle(textLabel(tr("How long each side had nothing to do"))),
      m_hidden(textLabel(tr("How much of the computing was hidden behind loading"))),
      m_why(textLabel(tr("Why experts ran where they ran"))) {
    m_previous->setArrowType(Qt::LeftArrow);
    describe(*m_previous, tr("Previous token of the answer"));
    m_next->setArrowType(Qt::RightArrow);
    describe(*m_next, tr("Next token of the answer"));
    for (QToolButton* button : {m_previous, m_next}) {
        button->setFocusPolicy(Qt::StrongFocus);
        button->setAutoRepeat(true);
    }
    m_token->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);

    m_which->addItem(tr("This token"), 0);
    for (const int tokens : {16, 64, 256}) {
        m_which->addItem(tr("Mean of the last %1 tokens").arg(tokens), tokens);
    }
    describe(*m_which, tr("Which tokens the bars are of"),
             tr("Which tokens the bars are of: the one that is shown, or the mean of the latest"));
    m_amount->addItem(tr("Time"));
    m_amount->addItem(tr("Tokens"));
    describe(*m_amount, tr("What the bars measure"),
             tr("Time: how long each side worked on the layer, all at once; beneath it what was predicted.\n"
                "Tokens: how many calls of experts each side served."));

    m_bars->setCompact(true);
    m_bars->setAccessibleName(tr("Where each layer's experts ran"));
    m_bars->setFileName(tr("dispatch by layer"));
    m_timeline->setAccessibleName(tr("Timeline of one token"));
    m_timeline->setFileName(tr("token timeline"));
    m_timeline->setCategories(spanCategories());
    m_timeline->setMinimumHeight(150);
    m_timeline->setMaximumHeight(kTallestTimeline);
    m_timeline->setToolTip(
        tr("Durations are the device's; where a side begins within its layer is not known.\nOutlines are what "
           "was predicted. Ctrl and the wheel or + and - zoom, a click says why."));
    m_hidden->setToolTip(
        tr("Of the tokens that the bars are of, in the mean. Loading: the copy engine brings experts to the device, "
           "asked for or guessed.\nComputing: the device computes attention or experts, or the CPU experts, or both. "
           "What both share is hidden: a token takes\nloading and computing less that time, as in CORM's table 3. "
           "Measured by the device's events and the host's clock."));
    m_why->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_why->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);

    // The timeline is wide; the layers are beside it if there is room. Plots take the
    // available height, up to lanes that are easy to click.
    const auto partOf = [](QHBoxLayout* first, QWidget* plot, QLabel* below) {
        const int share = plot->sizePolicy().verticalPolicy() == QSizePolicy::Expanding ? 1000 : 0;
        return widgetOf(columnOf({first, {plot, share}, below, Stretch{1}}, flush()));
    };
    m_idle->setMinimumHeight(fontMetrics().lineSpacing());
    auto* tiles = new Tiles(kNarrowestDispatch);
    tiles->add(partOf(rowOf({m_previous, m_next, {m_token, 1}}), m_timeline, m_idle), kTimelineShare);
    tiles->add(partOf(rowOf({{m_which, 1}, m_amount}), m_bars, m_hidden), kBarsShare);
    body().addWidget(tiles, 1);
    // A click has a visible answer near it, even in a low panel.
    auto* why = new PanelArea(m_why);
    why->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    why->setFixedHeight(kWhyLines * fontMetrics().lineSpacing() + 2);
    footer().addWidget(why);
    setEmptyText(tr("Write a prompt to see where the experts of each layer run, and why."));

    connect(m_previous, &QToolButton::clicked, this, [this] { m_selection.stepToken(-1); });
    connect(m_next, &QToolButton::clicked, this, [this] { m_selection.stepToken(1); });
    connect(m_which, &QComboBox::currentIndexChanged, this, &DispatchPanel::refreshBars);
    connect(m_amount, &QComboBox::currentIndexChanged, this, &DispatchPanel::refreshBars);
    connect(m_timeline, &TimelinePlot::spanClicked, this, [this](qint64 id) {
        const SpanKind kind = kindOfSpan(id);
        explain(layerOfSpan(id), kind == SpanKind::Gpu    ? std::optional(Side::Gpu)
                                 : kind == SpanKind::Copy ? std::optional(Side::Copy)
                                 : kind == SpanKind::Cpu  ? std::optional(Side::Cpu)
                                                          : std::nullopt);
    });
    connect(m_bars, &StackedBar::partClicked, this, [this](int row, int part) {
        const int layer = amount() == Amount::Time ? layerOfTimeRow(m_means, row) : layerOfTokenRow(m_means, row);
        explain(layer, part == StackedBar::kFree ? std::nullopt : std::optional(static_cast<Side>(part)));
    });
    connect(&m_selection, &Selection::tokenChanged, this, &DispatchPanel::refresh);
    connect(&m_selection.log(), &TokenLog::stepsAdded, this, &DispatchPanel::logChanged);
    connect(&m_selection.log(), &TokenLog::shownBegun, this, &DispatchPanel::logChanged);
    refresh();
}

DispatchPanel::Amount DispatchPanel::amount() const {
    return m_amount->currentIndex() == 0 ? Amount::Time : Amount::Tokens;
}

int DispatchPanel::meanOf() const {
    return m_which->currentData().toInt();
}

void DispatchPanel::modelChanged() {
    m_whyLayer = -1;
    refresh();
}

void DispatchPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    refresh();
}

void DispatchPanel::logChanged() {
    if (isVisible()) {
        refresh();
    }
}

bool DispatchPanel::hasAccelerator() const {
    return engine().model() && engine().model()->device != "cpu";
}

const LoggedStep* DispatchPanel::shownStep() const {
    const TokenLog& log = m_selection.log();
    if (m_selection.token()) {
        return log.step(m_selection.token()->step);
    }
    // The newest may not be whole yet.
    const auto& steps = log.steps();
    for (auto step = steps.rbegin(); step != steps.rend() && step->id >= log.firstShown(); ++step) {
        if (!step->isPrompt() && (step != steps.rbegin() || !engine().isAnswering())) {
            return &*step;
        }
    }
    return steps.empty() || steps.back().id < log.firstShown() ? nullptr : &steps.back();
}

void DispatchPanel::refresh() {
    setEmpty(shownStep() == nullptr && !m_selection.token());
    refreshToken();
    refreshTimeline();
    refreshBars();
}

void DispatchPanel::refreshToken() {
    m_previous->setEnabled(m_selection.canStepToken(-1));
    m_next->setEnabled(m_selection.canStepToken(1));
    m_previous->setToolTip(m_previous->isEnabled() ? tr("Previous token of the answer")
                                                   : tr("There is no earlier token that is kept"));
    m_next->setToolTip(m_next->isEnabled() ? tr("Next token of the answer") : tr("This is the latest token"));
    const LoggedStep* step = shownStep();
    const QLocale locale;
    QString text;
    if (const auto& token = m_selection.token()) {
        text =
            tr("Token %1 of %2")
                .arg(locale.toString(token->index + 1), locale.toString(m_selection.log().tokenCount(token->message)));
    } else {
        text = tr("Latest token");
    }
    if (step != nullptr) {
        text += QStringLiteral(" · ") + valueText(Unit::Microseconds, durationOf(*step));
        if (step->isPrompt() && step->tokens() > 1) {
            text += QStringLiteral(" · ") + tr("with the prompt's last %1 tokens").arg(locale.toString(step->tokens()));
        }
    } else if (m_selection.token()) {
        text += QStringLiteral(" · ") + (m_selection.log().droppedSteps() > 0 ? tr("no longer kept, for want of memory")
                                                                              : tr("not written down yet"));
    }
    m_token->setText(text);
    m_token->setToolTip(text);
}

void DispatchPanel::refreshTimeline() {
    const LoggedStep* step = shownStep();
    const StepId id = step != nullptr ? step->id : ~StepId{0};
    const std::size_t layers = step != nullptr ? step->layers.size() : 0;
    if (id != m_timelineStep || layers != m_timelineLayers) {
        m_timelineStep = id;
        m_timelineLayers = layers;
        m_timeline->setLanes(laneNames(hasAccelerator()));
        m_timeline->setSpans(step != nullptr ? spansOf(*step, hasAccelerator()) : std::vector<TimelinePlot::Span>{});
    }
    QStringList lines;
    if (step != nullptr) {
        lines = {idleText(*step, hasAccelerator()), leftOutText(*step)};
        lines.removeAll(QString());
    }
    m_idle->setText(lines.join(u' '));
    refreshWhy();
}

void DispatchPanel::refreshBars() {
    std::vector<const LoggedStep*> steps;
    if (meanOf() == 0) {
        if (const LoggedStep* step = shownStep()) {
            steps.push_back(step);
        }
    } else {
        const TokenLog& log = m_selection.log();
        const auto& all = log.steps();
        for (auto step = all.rbegin();
             step != all.rend() && step->id >= log.firstShown() && static_cast<int>(steps.size()) < meanOf(); ++step) {
            if (!step->isPrompt()) {
                steps.push_back(&*step);
            }
        }
    }
    const int layers = engine().model() ? static_cast<int>(engine().model()->n_layers) : 0;
    m_means = layerMeans(steps, layers);
    const bool time = amount() == Amount::Time;
    m_bars->setUnit(time ? Unit::Microseconds : Unit::Plain);
    m_bars->setRows(time ? timeRows(m_means) : tokenRows(m_means));
    QStringList lines = {hiddenText(steps, hasAccelerator()), draftsOf(steps, m_selection.log())};
    lines.removeAll(QString());
    m_hidden->setText(lines.join(u'\n'));
    m_hidden->setVisible(!m_hidden->text().isEmpty());
}

void DispatchPanel::explain(int layer, std::optional<Side> side) {
    m_whyLayer = layer;
    m_whySide = side;
    refreshWhy();
}

void DispatchPanel::refreshWhy() {
    const LoggedStep* step = shownStep();
    const bool emulated = engine().model() && engine().model()->emulated;
    const QString text =
        m_whyLayer >= 0 && step != nullptr ? whyText(*step, m_whyLayer, m_whySide, emulated) : QString();
    setMuted(*m_why, text.isEmpty());
    m_why->setText(step == nullptr  ? QString()
                   : text.isEmpty() ? tr("Click a bar to read why its experts ran there: both costs of the choice.")
                                    : text);
}

}  // namespace offstage::ui
