#include "ui/panels/experts_panel.h"

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>

#include "ui/base/settings.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/selection.h"
#include "ui/panels/snapshot_poller.h"
#include "ui/plot/heat_map_legend.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

constexpr int kReadoutLines = 7;
constexpr int kReadoutLinesBeside = 2;             // and more where there is height
constexpr int kLowPanel = 430, kWideEnough = 520;  // for the map with the readout beside it
constexpr int kPlanIntervalMs = 1000;              // between two reads of the placement's popularity
constexpr double kFaintest = 0.3;                  // brightness of an expert that was not called lately

// Of the parts side by side.
int leastWidth(const QBoxLayout& parts) {
    int width = 0;
    for (int i = 0; i < parts.count(); ++i) {
        if (const QLayoutItem& part = *parts.itemAt(i); !part.isEmpty()) {
            width += part.minimumSize().width() + (width > 0 ? parts.spacing() : 0);
        }
    }
    return width;
}

QString endOfScale(double share) {
    return QLocale().toString(100 * share, 'f', 0) + QStringLiteral(" %");
}

}  // namespace

ExpertsPanel::ExpertsPanel(EngineController& engine, QWidget* parent)
    : Panel(engine, parent),
      m_channel(new QComboBox),
      m_fading(new QCheckBox(tr("Dim unused"))),
      m_scale(new QComboBox),
      m_choices(new QBoxLayout(QBoxLayout::TopToBottom)),
      m_plot(new QBoxLayout(QBoxLayout::TopToBottom)),
      m_said(nullptr),
      m_map(new HeatMap),
      m_legend(new HeatMapLegend),
      m_readout(textLabel(tr("Numbers of the chosen expert"))),
      m_readoutArea(new PanelArea(m_readout)),  // longer text scrolls: the map does not shrink under the mouse
      m_change(new QToolButton),
      m_apply(new QPushButton(tr("Apply"))),
      m_drop(new QPushButton(tr("Discard"))),
      m_undo(new QPushButton(tr("Undo"))),
      m_actions(new ExpertActions(engine, this)) {
    for (int i = 0; i < kExpertChannels; ++i) {
        m_channel->addItem(channelName(static_cast<ExpertChannel>(i)));
        m_channel->setItemData(i, channelExplanation(static_cast<ExpertChannel>(i)), Qt::ToolTipRole);
    }
    m_channel->setAccessibleName(tr("What is shown of each expert"));
    letShrink(*m_channel, 6);
    auto* label = labelOf(m_channel, tr("Show"));
    m_fading->setChecked(true);
    describe(*m_fading, tr("Dim experts that were not called lately"),
             tr("Shows experts that were not called lately in a faint colour"));

    m_scale->setAccessibleName(tr("End of the colour scale"));
    m_scale->addItem(tr("highest"), 0.0);
    for (const double end : {0.1, 0.25, 0.5, 1.0}) {
        m_scale->addItem(endOfScale(end), end);
    }
    m_scale->setCurrentIndex(std::max(0, m_scale->findData(settings::kExpertScale.value())));
    letShrink(*m_scale, 4);

    m_map->setTitles(tr("layers"), tr("experts"), tr("layer"), tr("expert"));
    m_map->setEmptyText(tr("When the model reads or writes, this shows which experts its router calls."));
    m_map->setAccessibleName(tr("Expert heat map"));
    m_map->setAccessibleDescription(
        tr("Layers by experts. Arrow keys move from cell to cell, Return selects an expert, the menu key changes "
           "it. Shift and the arrow keys mark several, Shift and Space the layer, Control and Space the column."));
    m_readout->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_readoutArea->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    keepRoom(*m_legend);
    m_change->setText(tr("Change"));
    describe(*m_change, tr("Change the selected experts"),
             tr("Pin, evict or change the precision of the selected experts"));
    m_change->setPopupMode(QToolButton::InstantPopup);
    m_change->setToolButtonStyle(Qt::ToolButtonTextOnly);
    m_change->setFocusPolicy(Qt::TabFocus);
    auto* menu = new QMenu(m_change);
    menu->setToolTipsVisible(true);
    m_change->setMenu(menu);
    m_change->setEnabled(false);
    footer().addLayout(rowOf({m_change, m_apply, m_drop, m_undo, Stretch{1}}, apart(8)));
    addTo(*m_choices, {rowOf({label, {m_channel, 1}}),
                       rowOf({m_fading, Stretch{1}, labelOf(m_scale, tr("Scale up to")), m_scale})});
    m_said = widgetOf(columnOf({m_legend, {m_readoutArea, 1}}, flush(8)));
    addTo(*m_plot, {{m_map, 100}, m_said, Stretch{}});
    addTo(body(), {m_choices, {m_plot, 100}, Stretch{1}});
    arrange();
    setFocusProxy(m_map);
    reserveNotice(3);
    setEmptyText(tr("Open a model to see its experts."));
    poller().setLively(true);

    connect(m_channel, &QComboBox::currentIndexChanged, this, &ExpertsPanel::refresh);
    connect(m_fading, &QCheckBox::toggled, this, &ExpertsPanel::refresh);
    connect(m_scale, &QComboBox::activated, this, [this] {
        settings::kExpertScale.set(m_scale->currentData().toDouble());
        refresh();
    });
    connect(m_map, &HeatMap::currentChanged, this, &ExpertsPanel::refreshReadout);
    connect(m_map, &HeatMap::cellClicked, this, &ExpertsPanel::click);
    connect(m_map, &HeatMap::cellMenuRequested, this, [this](HeatMap::Cell cell, QMenu* on) { fillMenu(*on, cell); });
    connect(m_map, &HeatMap::areaChanged, this, [this] {
        m_actions->drop();  // it was of other experts
        if (m_map->area() && m_selection != nullptr) {
            m_selection->clearExpert();  // one of both is chosen
        }
        refreshSelected();
    });
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        if (const auto& area = m_map->area()) {
            fillMenu(*menu, {area->firstRow, area->firstColumn});
        } else if (const auto cell = m_map->selected()) {
            fillMenu(*menu, *cell);
        }
    });
    connect(m_actions, &ExpertActions::said, this, [this](const QString& text, bool isProblem) {
        say(text, isProblem ? Notice::Problem : Notice::Plain);
        refreshMarks();
        refreshButtons();
    });
    connect(m_actions, &ExpertActions::proposed, this, [this](const QString& what) {
        say(what);
        refreshButtons();
        if (!what.isEmpty()) {
            m_apply->setFocus(Qt::OtherFocusReason);
        }
    });
    connect(m_apply, &QPushButton::clicked, m_actions, &ExpertActions::apply);
    connect(m_drop, &QPushButton::clicked, m_actions, &ExpertActions::drop);
    connect(m_undo, &QPushButton::clicked, m_actions, &ExpertActions::undo);
    refreshButtons();
    refresh();
}

void ExpertsPanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    arrange();
}

void ExpertsPanel::changeEvent(QEvent* event) {
    Panel::changeEvent(event);
    if (event->type() == QEvent::FontChange) {  // its parts have their sizes in the next turn
        QMetaObject::invokeMethod(this, &ExpertsPanel::arrange, Qt::QueuedConnection);
    }
}

// In a low and wide panel the map keeps the height: the choices stand in one row, and what
// is said of the map beside it, each where all of it has room.
void ExpertsPanel::arrange() {
    const bool isLow = height() < kLowPanel && width() >= kWideEnough;
    const QMargins margins = body().contentsMargins();
    const int bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    const int room = width() - margins.left() - margins.right() - bar;
    const auto directionOf = [isLow, room](const QBoxLayout& parts) {
        return isLow && leastWidth(parts) <= room ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom;
    };
    m_choices->setDirection(directionOf(*m_choices));
    m_plot->setDirection(directionOf(*m_plot));
    const bool isBeside = m_plot->direction() == QBoxLayout::LeftToRight;
    m_plot->setStretch(1, isBeside ? 100 : 0);
    m_plot->setStretch(2, isBeside ? 0 : 1);  // the map has a largest height
    const int line = fontMetrics().lineSpacing();
    m_readoutArea->setMinimumHeight((isBeside ? kReadoutLinesBeside : kReadoutLines) * line + 2);
    m_readoutArea->setMaximumHeight(isBeside ? QWIDGETSIZE_MAX : m_readoutArea->minimumHeight());
}

void ExpertsPanel::setSelection(Selection& selection) {
    m_selection = &selection;
    connect(m_selection, &Selection::tokenChanged, this, &ExpertsPanel::refresh);
    connect(m_selection, &Selection::expertChanged, this, &ExpertsPanel::refreshSelected);
    connect(m_map, &HeatMap::blankClicked, m_selection, &Selection::clearExpert);
    connect(m_selection, &Selection::underlined, this, &ExpertsPanel::refreshReadout);
    refreshRings();
    refreshSelected();
}

ExpertChannel ExpertsPanel::channel() const {
    return static_cast<ExpertChannel>(m_channel->currentIndex());
}

void ExpertsPanel::setChannel(ExpertChannel channel) {
    m_channel->setCurrentIndex(static_cast<int>(channel));
}

bool ExpertsPanel::hasOwnMemory() const {
    return snapshot().vram.total > 0 || (engine().model() && engine().model()->device != "cpu");
}

void ExpertsPanel::modelChanged() {
    m_sincePlanned.invalidate();
    const auto& model = engine().model();
    m_map->setRowNumbers(model ? model->layer_numbers : std::vector<std::int32_t>());
    m_map->setArea(std::nullopt);
    say({});
    refresh();
}

void ExpertsPanel::showSnapshot(const engine::Snapshot&) {
    refresh();
}

void ExpertsPanel::lookAtPlan() {
    if (!m_sincePlanned.isValid() || m_sincePlanned.elapsed() >= kPlanIntervalMs) {
        m_planned = engine().plannedPopularity();
        m_sincePlanned.start();
    }
}

void ExpertsPanel::refresh() {
    lookAtPlan();
    const ExpertCells cells = expertCells(channel(), snapshot(), m_planned, hasOwnMemory());
    setEmpty(snapshot().n_layers * snapshot().n_experts == 0 && !engine().model());
    m_fading->setEnabled(!cells.kinds.empty());
    m_fading->setToolTip(m_fading->isEnabled()
                             ? tr("Shows experts that were not called lately in a faint colour")
                             : tr("Of residency, precision and machines alone: other colours are amounts"));
    m_legend->setVisible(!cells.isEmpty());
    std::vector<HeatMapLegend::SignName> signs{{HeatMap::Sign::Dot, tr("other bits", "sign: by the user")}};
    if (hasOwnMemory()) {
        signs.insert(signs.begin(), {{HeatMap::Sign::Filled, tr("pinned", "sign")},
                                     {HeatMap::Sign::Hollow, tr("taken off", "sign: the device")}});
    }
    m_legend->setSigns(signs);
    refreshScale(cells);
    m_channel->setToolTip(channelExplanation(channel()));
    // The mean share is the same in all layers, so that the highest is shown.
    m_map->setSummary(isShareOfTokens(channel()) ? HeatMapSummary::Kind::Highest : HeatMapSummary::Kind::Mean);
    const auto& model = engine().model();
    if (cells.isEmpty() && model && picksToken() && channel() != ExpertChannel::Active &&
        channel() != ExpertChannel::Machine) {
        // Nothing is counted now, but the experts of the selected token are known.
        const auto layers = static_cast<int>(model->n_layers), experts = static_cast<int>(model->n_experts);
        m_map->setValueUnit(channelName(channel()), Unit::Share);
        m_map->setValues(layers, experts, std::vector<double>(static_cast<std::size_t>(layers) * experts), 1);
        m_map->setBrightness({});
    } else if (cells.isEmpty()) {
        m_map->setEmptyText(channel() == ExpertChannel::Profile
                                ? tr("The experts were placed without knowing how popular they are.")
                            : channel() == ExpertChannel::Active
                                ? tr("All neurons are computed. The Budget panel can skip those near zero.")
                            : channel() == ExpertChannel::Machine
                                ? tr("No other machine helps. The Machines panel adds one.")
                                : tr("When the model reads or writes, this shows which experts its router calls."));
        m_map->clear();
    } else if (!cells.kinds.empty()) {
        m_map->setCategories(cells.layers, cells.experts, cells.kinds, cells.categories);
        std::vector<double> brightness = m_fading->isChecked() ? recencyOf(snapshot()) : std::vector<double>{};
        for (double& share : brightness) {
            share = kFaintest + (1 - kFaintest) * share;
        }
        m_map->setBrightness(std::move(brightness));
        auto counted = cells.categories;
        for (std::size_t i = 0; i < counted.size(); ++i) {
            counted[i].name = tr("%1: %2", "legend: kind of experts, how many")
                                  .arg(counted[i].name, QLocale().toString(cells.counts[i]));
        }
        m_legend->setCategories(counted);
    } else {
        m_map->setValueUnit(channelName(channel()), Unit::Share);
        const double fixed = m_scale->currentData().toDouble();
        const bool isShare = isShareOfTokens(channel());
        const double top = isShare && fixed > 0 ? fixed : cells.top;
        m_map->setValues(cells.layers, cells.experts, cells.values, top);
        m_map->setBrightness(cells.known);
        m_legend->setRange(top, cells.mark, cells.markText,
                           !isShare    ? HeatMapLegend::End::Whole
                           : fixed > 0 ? HeatMapLegend::End::Fixed
                                       : HeatMapLegend::End::Highest);
    }
    refreshMarks();
    refreshRings();
    refreshSelected();
}

// Whether its end can be chosen, and what a picture says of it.
void ExpertsPanel::refreshScale(const ExpertCells& cells) {
    const bool isShare = isShareOfTokens(channel());
    const double fixed = m_scale->currentData().toDouble();
    m_scale->setEnabled(isShare);
    m_scale->setToolTip(isShare ? tr("The value that has the last colour. With a fixed one, pictures of different "
                                     "moments and models can be compared; higher values look like it")
                                : tr("Of how often experts are called alone: other amounts always end at 100 %"));
    QString title = tr("Colour: %1", "title of a picture").arg(channelName(channel()));
    if (isShare) {
        title += QStringLiteral("; ") +
                 (fixed > 0 ? tr("fixed scale up to %1").arg(endOfScale(fixed)) : tr("scale up to the highest value"));
    }
    m_map->setPictureTexts(title, cells.isEmpty() ? nullptr : m_legend);
}

// A token of the model that is open now.
bool ExpertsPanel::picksToken() const {
    return m_selection != nullptr && m_selection->token() &&
           m_selection->log().isOfPresentModel(m_selection->token()->step);
}

// The user's changes, in every channel: experts that are pinned, that were evicted, and
// that have another format than the rest.
void ExpertsPanel::refreshMarks() {
    std::vector<HeatMap::Mark> marks;
    const auto& pinned = snapshot().experts.pinned;
    const auto columns = static_cast<std::size_t>(snapshot().n_experts);
    for (std::size_t at = 0; columns > 0 && at < pinned.size(); ++at) {
        if (pinned[at] != 0) {
            marks.push_back({{static_cast<int>(at / columns), static_cast<int>(at % columns)}, HeatMap::Sign::Filled});
        }
    }
    const auto isPinned = [&](const std::pair<int, int>& e) {
        const std::size_t at = static_cast<std::size_t>(e.first) * columns + static_cast<std::size_t>(e.second);
        return at < pinned.size() && pinned[at] != 0;
    };
    for (const auto& expert : m_actions->evicted()) {
        if (!isPinned(expert)) {
            marks.push_back({{expert.first, expert.second}, HeatMap::Sign::Hollow});
        }
    }
    for (const auto& expert : m_actions->reformatted()) {
        marks.push_back({{expert.first, expert.second}, HeatMap::Sign::Dot});
    }
    m_map->setMarks(std::move(marks));
}

// The map loses its ring whenever it has nothing to show; the selection ends with the
// model, or by the user.
void ExpertsPanel::refreshSelected() {
    const auto expert = m_selection != nullptr ? m_selection->expert() : std::nullopt;
    m_map->setSelected(expert ? std::optional(HeatMap::Cell{expert->layer, expert->expert}) : std::nullopt);
    m_change->setEnabled(m_map->area() || m_map->selected());
    refreshReadout();
}

void ExpertsPanel::refreshRings() {
    std::vector<HeatMap::Cell> rings;
    if (picksToken()) {
        for (const ExpertId& expert : m_selection->expertsOfToken()) {
            rings.push_back({expert.layer, expert.expert});
        }
    }
    if (rings != m_map->highlighted()) {
        m_map->setHighlighted(std::move(rings));
    }
}

// The line's text while nothing is pointed at.
QString ExpertsPanel::restText() const {
    QStringList lines{channelExplanation(channel())};
    if (!hasOwnMemory() && (channel() == ExpertChannel::Residency || channel() == ExpertChannel::HitRate)) {
        lines << tr("The model runs on the CPU: there is no accelerator to bring experts to.");
    }
    if (!m_map->highlighted().empty()) {
        lines << tr("Ringed: the experts that the selected token called.");
    } else if (m_selection != nullptr && m_selection->token()) {
        lines << tr(
            "The selected token was written by the step that read the prompt, all its tokens at once: which of "
            "them called which expert is not known.");
    }
    lines << tr("Point at a cell for its numbers; drag to mark several, click a number for its layer or column.");
    return lines.join(u'\n');
}

void ExpertsPanel::refreshReadout() {
    const bool isChosen = m_map->area() || m_map->selected();
    m_change->setToolTip(isChosen ? tr("Pin, evict or change the precision of the selected experts")
                                  : tr("Click an expert first, or drag to mark several"));
    const auto cell = m_map->current() ? m_map->current() : m_map->selected();
    const bool onMap = m_map->rows() > 0;
    const bool onArea = m_map->area() && !m_map->current();
    setMuted(*m_readout, !onMap || (!cell && !onArea));
    if (!onMap) {
        m_readout->clear();
        return;
    }
    if (onArea) {
        const QString line = m_map->line() ? m_map->lineText(*m_map->line()) + u'\n' : QString();
        m_readout->setText(line + expertsText(snapshot(), *m_map->area(), *m_map));
        return;
    }
    if (const auto& line = m_map->line()) {
        m_readout->setText(m_map->lineText(*line));
        return;
    }
    if (!cell) {
        m_readout->setText(restText());
        return;
    }
    QString text = expertText(channel(), snapshot(), m_planned, hasOwnMemory(), *cell, m_map->rowNumber(cell->row));
    if (m_selection != nullptr && m_selection->expert() == ExpertId{cell->row, cell->column}) {
        int pieces = 0;
        for (const auto& ranges : m_selection->textOfExpert()) {
            pieces += static_cast<int>(ranges.size());
        }
        text += u'\n' + (pieces == 0 ? tr("Selected; no token in the chat called it")
                                     : tr("Selected; underlined in the chat: %n place(s)", nullptr, pieces));
    }
    m_readout->setText(text);
}

void ExpertsPanel::click(HeatMap::Cell cell, Qt::MouseButton button) {
    if (m_selection == nullptr || button != Qt::LeftButton) {
        return;
    }
    const ExpertId expert{cell.row, cell.column};
    if (m_selection->expert() == expert) {
        m_selection->clearExpert();
    } else {
        m_selection->selectExpert(expert);
    }
}

void ExpertsPanel::refreshButtons() {
    QWidget* const focused = focusAmong({m_apply, m_drop, m_undo});
    const bool proposes = m_actions->hasProposal();
    m_apply->setEnabled(proposes);
    m_apply->setToolTip(proposes ? tr("Carry this out in the background; the conversation goes on meanwhile")
                                 : tr("Changes of several experts are shown first, and wait for this"));
    m_drop->setEnabled(proposes);
    m_drop->setToolTip(proposes ? tr("Leave these experts as they are") : tr("There is nothing to discard"));
    m_undo->setEnabled(m_actions->canUndo());
    m_undo->setToolTip(m_undo->isEnabled() ? tr("Go back to the state before the last change of experts")
                                           : tr("No experts were changed yet"));
    passFocus(focused, {m_undo, m_change});
}

// For the marked area, or for this cell if it is outside of it.
void ExpertsPanel::fillMenu(QMenu& menu, HeatMap::Cell cell) {
    const auto& marked = m_map->area();
    const HeatMap::Area area =
        marked && marked->contains(cell) ? *marked : HeatMap::Area{cell.row, cell.row, cell.column, cell.column};
    const engine::ExpertStates& states = snapshot().experts;
    std::vector<ExpertId> experts;
    ExpertActions::State state{true, false, std::nullopt};
    bool oneFormat = true;
    for (int layer = area.firstRow; layer <= area.lastRow; ++layer) {
        for (int expert = area.firstColumn; expert <= area.lastColumn; ++expert) {
            const std::size_t at = static_cast<std::size_t>(layer) * static_cast<std::size_t>(snapshot().n_experts) +
                                   static_cast<std::size_t>(expert);
            experts.push_back({layer, expert});
            if (at >= states.pinned.size() || at >= states.place.size() || at >= states.format.size()) {
                state.pinned = oneFormat = false;
                continue;
            }
            const engine::FormatId format{states.format[at]};
            state.pinned = state.pinned && states.pinned[at] != 0;
            state.onDevice = state.onDevice || static_cast<engine::Place>(states.place[at]) == engine::Place::kDevice;
            oneFormat = oneFormat && state.format.value_or(format) == format;
            state.format = format;
        }
    }
    if (!oneFormat) {
        state.format.reset();
    }
    m_actions->fill(menu, experts, state);
}

}  // namespace offstage::ui
