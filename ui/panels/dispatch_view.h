#pragma once
// The dispatch panel's view of steps: bars by layer, the spans of a timeline, and the
// reason for an expert's place.

#include <array>
#include <vector>

#include <QString>

#include "engine/run/session.h"
#include "ui/panels/token_log.h"
#include "ui/plot/stacked_bar.h"
#include "ui/plot/timeline_plot.h"

namespace offstage::ui {

// The sides of a layer's work, as indices: of TimelinePlot's lanes in reverse order, and
// of the sums below.
enum class Side { Gpu, Copy, Cpu, Machine };  // Machine: another one, whose time is not in a layer's event
inline constexpr int kSides = 3;              // with a time

// Means over steps of one layer.
struct LayerMeans {
    int layer = 0;
    int number = 0;  // the model's own of it
    int steps = 0;
    // (token, expert) pairs by place: resident on the GPU, copied to it, on the CPU, on
    // other machines.
    std::array<double, kSides + 1> tokens{};
    std::array<double, kSides> us{};  // each side's work: GPU, copy, CPU
    std::array<double, kSides> predicted_us{};
};
std::vector<LayerMeans> layerMeans(const std::vector<const LoggedStep*>& steps, int layers);

// Rows for the bars: tokens, or microseconds with a predicted row under each measured
// one.
std::vector<StackedBar::Row> tokenRows(const std::vector<LayerMeans>& means);
std::vector<StackedBar::Row> timeRows(const std::vector<LayerMeans>& means);
// The layer of one of these rows.
int layerOfTokenRow(const std::vector<LayerMeans>& means, int row);
int layerOfTimeRow(const std::vector<LayerMeans>& means, int row);

// A span's id: its layer and kind.
enum class SpanKind { Attention, Gpu, Copy, Cpu };
inline qint64 spanId(int layer, SpanKind kind) {
    return qint64{layer} * 4 + static_cast<int>(kind);
}
inline int layerOfSpan(qint64 id) {
    return static_cast<int>(id / 4);
}
inline SpanKind kindOfSpan(qint64 id) {
    return static_cast<SpanKind>(id % 4);
}
// The lanes of a timeline, CPU first; a model without an accelerator has only that lane.
QStringList laneNames(bool accelerator);
QStringList spanCategories();
// The layers of a step one after the other, one span per layer and lane. Durations are
// measured. The start of a side's work within its layer is not: it is drawn at the
// layer's beginning, or for a GPU that waits for copies, so that it ends with the layer.
std::vector<TimelinePlot::Span> spansOf(const LoggedStep& step, bool accelerator);
// The share of a token's time in which each side was idle; empty with one side only.
QString idleText(const LoggedStep& step, bool accelerator);
// The share of these tokens' computing that was hidden behind the loading of experts, and
// the reverse (CORM, table 3), as a mean; on the CPU alone a sentence that nothing is
// loaded. Empty where no expert was loaded.
QString hiddenText(const std::vector<const LoggedStep*>& steps, bool accelerator);
// What drafted tokens gained in these steps, and the experts that they cost
// (draftsText()); of steps whose tokens the log has. Empty without drafts.
QString draftsOf(const std::vector<const LoggedStep*>& steps, const TokenLog& log);
// The neurons that a theta left out of the token, and the saved bus bytes; empty without
// one.
QString leftOutText(const LoggedStep& step);
// From the first layer's begin to the last one's end.
double durationOf(const LoggedStep& step);

// Explains where this layer's experts ran: both costs of each choice. `side`: only this
// side's; `emulated`: the times are an emulated device's and are not called measured.
QString whyText(const LoggedStep& step, int layer, std::optional<Side> side, bool emulated = false);

}  // namespace offstage::ui
