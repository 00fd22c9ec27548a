#include "ui/panels/expert_channels.h"

#include <algorithm>
#include <array>
#include <bit>

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include "ui/engine/format.h"
#include "ui/load/format_categories.h"
#include "ui/panels/panel.h"

namespace offstage::ui {

namespace {

using engine::Place;
using engine::Snapshot;

struct ChannelText {
    Q_DECLARE_TR_FUNCTIONS(offstage::ui::ExpertsPanel)
};

std::size_t cellsOf(const Snapshot& snapshot) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, snapshot.n_layers * snapshot.n_experts));
}

bool hasStates(const Snapshot& snapshot) {
    const std::size_t cells = cellsOf(snapshot);
    const engine::ExpertStates& states = snapshot.experts;
    return cells > 0 && states.place.size() == cells && states.format.size() == cells &&
           states.pinned.size() == cells && states.uses.size() == cells;
}

double evenShare(const Snapshot& snapshot) {
    return static_cast<double>(snapshot.n_active) / static_cast<double>(std::max<std::int64_t>(1, snapshot.n_experts));
}

template <typename Counts>
void fillShares(ExpertCells& cells, const Snapshot& snapshot, const Counts& counts, double whole) {
    if (counts.size() != cellsOf(snapshot) || counts.empty() || whole <= 0) {
        return;
    }
    cells.values.reserve(counts.size());
    for (const auto count : counts) {
        cells.values.push_back(static_cast<double>(count) / whole);
    }
    cells.mark = evenShare(snapshot);
    cells.markText = ChannelText::tr("even use:");
    cells.top = std::max(*std::max_element(cells.values.begin(), cells.values.end()), cells.mark);
}

void fillRecency(ExpertCells& cells, const Snapshot& snapshot) {
    cells.values = recencyOf(snapshot);
    cells.top = 1;
    cells.mark = 0.5;
    cells.markText = ChannelText::tr("%1 steps ago:").arg(kRecencySteps / 2);
}

void fillResidency(ExpertCells& cells, const Snapshot& snapshot, bool ownMemory) {
    if (!hasStates(snapshot)) {
        return;
    }
    using Category = HeatMap::Category;
    std::vector<std::uint8_t> indexOf;  // by 2 * place + pinned
    if (ownMemory) {
        cells.categories = {
            Category{ChannelText::tr("on the device"), ChannelText::tr("G", "glyph: on the GPU"), 0, Pattern::Solid},
            Category{ChannelText::tr("on the device, pinned"), ChannelText::tr("P", "glyph: pinned"), 1,
                     Pattern::Solid},
            Category{ChannelText::tr("in RAM"), ChannelText::tr("R", "glyph: in RAM"), Category::kQuiet,
                     Pattern::Solid},
            Category{ChannelText::tr("on disk"), ChannelText::tr("D", "glyph: on disk"), 5, Pattern::Diagonal}};
        indexOf = {0, 1, 2, 2, 3, 3};
    } else {
        cells.categories = {
            Category{ChannelText::tr("in RAM"), ChannelText::tr("R", "glyph: in RAM"), 0, Pattern::Solid},
            Category{ChannelText::tr("on disk"), ChannelText::tr("D", "glyph: on disk"), 5, Pattern::Diagonal}};
        indexOf = {0, 0, 0, 0, 1, 1};
    }
    cells.counts.assign(cells.categories.size(), 0);
    const engine::ExpertStates& states = snapshot.experts;
    for (std::size_t i = 0; i < states.place.size(); ++i) {
        const std::size_t at = 2 * std::size_t{states.place[i]} + (states.pinned[i] != 0 ? 1 : 0);
        cells.kinds.push_back(at < indexOf.size() ? indexOf[at] : std::uint8_t{255});
        if (cells.kinds.back() < cells.counts.size()) {
            ++cells.counts[cells.kinds.back()];
        }
    }
}

// Formats of as many bits, as of a file's blocks and of our own: 4a, 4b.
void tellApart(std::vector<HeatMap::Category>& formats) {
    for (std::size_t first = 0; first < formats.size(); ++first) {
        const QString bits = formats[first].glyph;
        std::vector<HeatMap::Category*> alike;
        for (HeatMap::Category& format : formats) {
            if (format.glyph == bits) {
                alike.push_back(&format);
            }
        }
        for (std::size_t i = 0; alike.size() > 1 && i < alike.size(); ++i) {
            alike[i]->glyph = (bits.size() == 1 ? bits : QString()) + QChar(u'a' + static_cast<char16_t>(i % 26));
        }
    }
}

void fillPrecision(ExpertCells& cells, const Snapshot& snapshot) {
    if (!hasStates(snapshot)) {
        return;
    }
    const std::span<const engine::FormatRow> formats = snapshot.formats;
    const std::vector<int> categories = formatCategories(formats);
    std::vector<int> counts(formats.size(), 0);
    for (const std::uint8_t format : snapshot.experts.format) {
        if (format < counts.size()) {
            ++counts[format];
        }
    }
    std::vector<std::uint8_t> indexOf(counts.size(), 255);
    for (std::size_t format = 0; format < counts.size(); ++format) {
        if (counts[format] > 0) {
            indexOf[format] = static_cast<std::uint8_t>(cells.categories.size());
            // The first format of a colour has no pattern: a map full of it is easier to
            // read.
            cells.categories.push_back({formatText(formats[format]), QString::number(formats[format].bits),
                                        categories[format], static_cast<Pattern>(categories[format] / kSeriesColours)});
            cells.counts.push_back(counts[format]);
        }
    }
    tellApart(cells.categories);
    for (const std::uint8_t format : snapshot.experts.format) {
        cells.kinds.push_back(format < indexOf.size() ? indexOf[format] : std::uint8_t{255});
    }
}

void fillHitRate(ExpertCells& cells, const Snapshot& snapshot) {
    if (!hasStates(snapshot)) {
        return;
    }
    std::uint64_t tokens = 0, resident = 0;
    for (const engine::ExpertUse& use : snapshot.experts.uses) {
        cells.values.push_back(
            use.tokens > 0 ? static_cast<double>(use.resident_tokens) / static_cast<double>(use.tokens) : 0);
        cells.known.push_back(use.tokens > 0 ? 1 : 0);
        tokens += use.tokens;
        resident += use.resident_tokens;
    }
    cells.top = 1;
    cells.mark = tokens > 0 ? static_cast<double>(resident) / static_cast<double>(tokens) : 0;
    cells.markText = ChannelText::tr("all experts:");
}

// Counted for the experts of a layer together.
void fillActive(ExpertCells& cells, const Snapshot& snapshot) {
    if (snapshot.active_shares.size() != static_cast<std::size_t>(std::max<std::int64_t>(0, snapshot.n_layers))) {
        return;
    }
    double sum = 0;
    int counted = 0;
    for (const float share : snapshot.active_shares) {
        const bool known = share >= 0;
        sum += known ? static_cast<double>(share) : 0;
        counted += known ? 1 : 0;
        const auto experts = static_cast<std::size_t>(snapshot.n_experts);
        cells.values.insert(cells.values.end(), experts, known ? static_cast<double>(share) : 0);
        cells.known.insert(cells.known.end(), experts, known ? 1 : 0);
    }
    cells.top = 1;
    cells.mark = counted > 0 ? sum / counted : 0;
    cells.markText = ChannelText::tr("all layers:");
}

// The joined machine that holds each expert, or computes it if every machine makes each
// step: "1" is the first.
void fillMachines(ExpertCells& cells, const Snapshot& snapshot) {
    if (snapshot.machines.empty() || snapshot.elsewhere.size() != cellsOf(snapshot) || snapshot.elsewhere.empty()) {
        return;
    }
    using Category = HeatMap::Category;
    const bool owned = snapshot.expert_owners.size() == snapshot.elsewhere.size();
    cells.categories.push_back(Category{owned ? ChannelText::tr("this machine") : ChannelText::tr("this machine alone"),
                                        QString(), Category::kQuiet});
    for (std::size_t i = 0; i < snapshot.machines.size(); ++i) {
        const int colour = 1 + static_cast<int>(i);
        cells.categories.push_back(Category{QString::fromStdString(snapshot.machines[i].name), QString::number(i + 1),
                                            colour, static_cast<Pattern>(colour / kSeriesColours)});
    }
    if (snapshot.machines.size() > 1 && !owned) {
        cells.categories.push_back(Category{ChannelText::tr("several machines"),
                                            ChannelText::tr("+", "glyph: on several machines"), 0, Pattern::Diagonal});
    }
    cells.counts.assign(cells.categories.size(), 0);
    for (std::size_t i = 0; i < snapshot.elsewhere.size(); ++i) {
        const std::uint16_t held = snapshot.elsewhere[i];
        const int n = std::popcount(held);
        const std::size_t kind = owned    ? snapshot.expert_owners[i]
                                 : n == 0 ? 0
                                 : n == 1 ? 1 + static_cast<std::size_t>(std::countr_zero(held))
                                          : 1 + snapshot.machines.size();
        cells.kinds.push_back(kind < cells.counts.size() ? static_cast<std::uint8_t>(kind) : std::uint8_t{255});
        if (kind < cells.counts.size()) {
            ++cells.counts[kind];
        }
    }
}

}  // namespace

QString channelName(ExpertChannel channel) {
    switch (channel) {
        case ExpertChannel::Window:
            return ChannelText::tr("Frequency: latest tokens");
        case ExpertChannel::Conversation:
            return ChannelText::tr("Frequency: from the start");
        case ExpertChannel::Profile:
            return ChannelText::tr("Frequency: planned");
        case ExpertChannel::Recency:
            return ChannelText::tr("Recency");
        case ExpertChannel::Residency:
            return ChannelText::tr("Residency");
        case ExpertChannel::Precision:
            return ChannelText::tr("Precision");
        case ExpertChannel::HitRate:
            return ChannelText::tr("Hit rate");
        case ExpertChannel::Active:
            return ChannelText::tr("Active neurons");
        case ExpertChannel::Machine:
            return ChannelText::tr("Machine");
    }
    return {};
}

QString channelExplanation(ExpertChannel channel) {
    switch (channel) {
        case ExpertChannel::Window:
            return ChannelText::tr(
                       "Share of the latest tokens, at most %1 of prompt and answer, that the router sent to each "
                       "expert.")
                .arg(engine::kRoutingWindow);
        case ExpertChannel::Conversation:
            return ChannelText::tr(
                "Share of all tokens that the router sent to each expert, since what the panel names (a conversation, "
                "a benchmark) began.");
        case ExpertChannel::Profile:
            return ChannelText::tr("Share of tokens that the placement of experts was planned with.");
        case ExpertChannel::Recency:
            return ChannelText::tr(
                       "How long ago each expert was called: 100 % in the last step, 0 % not within %1 steps.")
                .arg(kRecencySteps);
        case ExpertChannel::Residency:
            return ChannelText::tr("The fastest memory that holds a copy of each expert.");
        case ExpertChannel::Precision:
            return ChannelText::tr("The number format in which each expert is kept.");
        case ExpertChannel::HitRate:
            return ChannelText::tr(
                "Share of each expert's tokens, since the model was loaded and prompts included, that found it on the "
                "device.");
        case ExpertChannel::Active:
            return ChannelText::tr(
                "Share of the neurons that were not skipped in the last steps, counted for each layer's experts "
                "together.");
        case ExpertChannel::Machine:
            return ChannelText::tr(
                "Which other machines hold each expert beside this one and can compute it; where every machine makes "
                "each step, which one computes it.");
    }
    return {};
}

bool isShareOfTokens(ExpertChannel channel) {
    return channel == ExpertChannel::Window || channel == ExpertChannel::Conversation ||
           channel == ExpertChannel::Profile;
}

std::vector<double> recencyOf(const Snapshot& snapshot) {
    std::vector<double> recency;
    if (!hasStates(snapshot)) {
        return recency;
    }
    recency.reserve(snapshot.experts.uses.size());
    for (const engine::ExpertUse& use : snapshot.experts.uses) {
        const std::uint64_t age = snapshot.experts.step - std::min(snapshot.experts.step, use.last_step);
        recency.push_back(use.tokens == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(age) / kRecencySteps));
    }
    return recency;
}

ExpertCells expertCells(ExpertChannel channel, const Snapshot& snapshot, const std::vector<float>& planned,
                        bool ownMemory) {
    ExpertCells cells;
    cells.layers = static_cast<int>(snapshot.n_layers);
    cells.experts = static_cast<int>(snapshot.n_experts);
    switch (channel) {
        case ExpertChannel::Window:
            fillShares(cells, snapshot, snapshot.window_counts, static_cast<double>(snapshot.window_tokens));
            break;
        case ExpertChannel::Conversation:
            fillShares(cells, snapshot, snapshot.conversation_counts,
                       static_cast<double>(snapshot.conversation_tokens));
            break;
        case ExpertChannel::Profile:
            fillShares(cells, snapshot, planned, 1);
            break;
        case ExpertChannel::Recency:
            fillRecency(cells, snapshot);
            break;
        case ExpertChannel::Residency:
            fillResidency(cells, snapshot, ownMemory);
            break;
        case ExpertChannel::Precision:
            fillPrecision(cells, snapshot);
            break;
        case ExpertChannel::HitRate:
            fillHitRate(cells, snapshot);
            break;
        case ExpertChannel::Active:
            fillActive(cells, snapshot);
            break;
        case ExpertChannel::Machine:
            fillMachines(cells, snapshot);
            break;
    }
    return cells;
}

QString placeText(std::uint8_t place) {
    switch (static_cast<Place>(place)) {
        case Place::kDevice:
            return ChannelText::tr("on the device");
        case Place::kRam:
            return ChannelText::tr("in RAM");
        case Place::kDisk:
            return ChannelText::tr("on disk");
    }
    return {};
}

QString machinesText(const Snapshot& snapshot, std::size_t at) {
    QStringList names;
    for (std::size_t i = 0; at < snapshot.elsewhere.size() && i < snapshot.machines.size(); ++i) {
        if ((snapshot.elsewhere[at] >> i & 1) != 0) {
            names << QString::fromStdString(snapshot.machines[i].name);
        }
    }
    return names.join(QStringLiteral(", "));
}

QString expertText(ExpertChannel channel, const Snapshot& snapshot, const std::vector<float>& planned, bool ownMemory,
                   HeatMap::Cell cell, int layerNumber) {
    const std::size_t at = static_cast<std::size_t>(cell.row) * static_cast<std::size_t>(snapshot.n_experts) +
                           static_cast<std::size_t>(cell.column);
    if (cell.row < 0 || cell.column < 0 || at >= cellsOf(snapshot)) {
        return {};
    }
    const QLocale locale;
    QStringList lines;
    QString first = ChannelText::tr("Layer %1, expert %2").arg(layerNumber).arg(cell.column);
    const bool known = hasStates(snapshot);
    if (known) {
        const engine::ExpertStates& states = snapshot.experts;
        first += QStringLiteral(" · ") + placeText(states.place[at]);
        if (states.pinned[at] != 0) {
            first += QStringLiteral(", ") + ChannelText::tr("pinned");
        }
        first += QStringLiteral(" · ") + formatText(snapshot.formats, states.format[at]);
    }
    lines << first;
    if (const QString machines = machinesText(snapshot, at); !machines.isEmpty()) {
        lines << ChannelText::tr("Held by %1, too").arg(machines);
    }
    if (at < snapshot.expert_owners.size()) {
        const std::size_t owner = snapshot.expert_owners[at];
        lines << (owner == 0 || owner > snapshot.machines.size()
                      ? ChannelText::tr("Computed by this machine in every step")
                      : ChannelText::tr("Computed by %1 in every step")
                            .arg(QString::fromStdString(snapshot.machines[owner - 1].name)));
    }
    const bool conversation = channel == ExpertChannel::Conversation;
    const auto& seen = conversation ? snapshot.conversation_tokens : snapshot.window_tokens;
    const std::size_t counted = conversation ? snapshot.conversation_counts.size() : snapshot.window_counts.size();
    if (seen > 0 && at < counted) {
        const auto tokens = conversation ? snapshot.conversation_counts[at] : snapshot.window_counts[at];
        lines << ChannelText::tr("%1 of %2 tokens: %3 of this layer's tokens")
                     .arg(locale.toString(static_cast<qulonglong>(tokens)), locale.toString(qlonglong{seen}),
                          percentText(static_cast<double>(tokens) / static_cast<double>(seen)));
        QString even = ChannelText::tr("Even use would be %1").arg(percentText(evenShare(snapshot)));
        if (at < planned.size()) {
            even += QStringLiteral("; ") + ChannelText::tr("planned: %1").arg(percentText(double{planned[at]}));
        }
        lines << even;
    } else if (at < planned.size()) {
        lines << ChannelText::tr("Planned: %1 of this layer's tokens").arg(percentText(double{planned[at]}));
    }
    if (known) {
        const engine::ExpertUse& use = snapshot.experts.uses[at];
        if (use.tokens == 0) {
            lines << ChannelText::tr("Not called since the model was loaded");
        } else {
            const std::uint64_t age = snapshot.experts.step - std::min(snapshot.experts.step, use.last_step);
            QString calls =
                ChannelText::tr("Tokens since loading: %1").arg(locale.toString(static_cast<qulonglong>(use.tokens)));
            if (ownMemory) {
                calls +=
                    QStringLiteral(", ") +
                    ChannelText::tr("hit rate %1")
                        .arg(percentText(static_cast<double>(use.resident_tokens) / static_cast<double>(use.tokens)));
            }
            lines << calls + QStringLiteral("; ") +
                         (age == 0   ? ChannelText::tr("called in the last step")
                          : age == 1 ? ChannelText::tr("called one step before the last")
                                     : ChannelText::tr("called %1 steps before the last")
                                           .arg(locale.toString(static_cast<qulonglong>(age))));
        }
    }
    return lines.join(u'\n');
}

QString expertsText(const Snapshot& snapshot, const HeatMap::Area& area, const HeatMap& map) {
    const auto range = [](int first, int last, const QString& one, const QString& several) {
        return first == last ? one.arg(first) : several.arg(QStringLiteral("%1–%2").arg(first).arg(last));
    };
    const QLocale locale;
    QStringList lines{ChannelText::tr("Marked: %1, %2: %n expert(s)", "layers, experts", area.count())
                          .arg(range(map.rowNumber(area.firstRow), map.rowNumber(area.lastRow),
                                     ChannelText::tr("layer %1"), ChannelText::tr("layers %1")),
                               range(area.firstColumn, area.lastColumn, ChannelText::tr("expert %1"),
                                     ChannelText::tr("experts %1")))};
    if (!hasStates(snapshot)) {
        return lines.join(u'\n');
    }
    std::array<int, 3> places{};
    std::vector<int> formats(snapshot.formats.size());
    int pinned = 0;
    for (int layer = area.firstRow; layer <= area.lastRow; ++layer) {
        for (int expert = area.firstColumn; expert <= area.lastColumn; ++expert) {
            const auto at = static_cast<std::size_t>(layer) * static_cast<std::size_t>(snapshot.n_experts) +
                            static_cast<std::size_t>(expert);
            const engine::ExpertStates& states = snapshot.experts;
            ++places[std::min<std::size_t>(states.place[at], places.size() - 1)];
            pinned += states.pinned[at];
            if (states.format[at] < formats.size()) {
                ++formats[states.format[at]];
            }
        }
    }
    const auto counted = [&](int n, const QString& what) {
        return ChannelText::tr("%1 %2", "how many experts, where they are or in what").arg(locale.toString(n), what);
    };
    QStringList parts;
    for (std::size_t place = 0; place < places.size(); ++place) {
        if (places[place] > 0) {
            parts << counted(places[place], placeText(static_cast<std::uint8_t>(place)));
        }
    }
    if (pinned > 0) {
        parts << counted(pinned, ChannelText::tr("pinned"));
    }
    lines << parts.join(QStringLiteral(", "));
    parts.clear();
    for (std::size_t format = 0; format < formats.size(); ++format) {
        if (formats[format] > 0) {
            parts << ChannelText::tr("%1 in %2", "how many experts, a format")
                         .arg(locale.toString(formats[format]), formatText(snapshot.formats, format));
        }
    }
    lines << parts.join(QStringLiteral(", "));
    return lines.join(u'\n');
}

}  // namespace offstage::ui
