#include "ui/panels/dispatch_view.h"

#include <algorithm>
#include <span>

#include <QCoreApplication>
#include <QStringList>

#include "engine/plan/schedule.h"
#include "ui/engine/format.h"
#include "ui/panels/expert_channels.h"

namespace offstage::ui {

namespace {

using engine::AssignmentEvent;
using engine::ExecutionTarget;
using engine::LayerEvent;
using engine::Place;

struct DispatchText {
    Q_DECLARE_TR_FUNCTIONS(offstage::ui::DispatchPanel)
};

constexpr int kCpuLane = 0, kCopyLane = 1, kGpuLane = 2;

Side sideOf(const AssignmentEvent& assignment) {
    const auto way = static_cast<ExecutionTarget>(assignment.target);
    return way == ExecutionTarget::kResident ? Side::Gpu
           : way == ExecutionTarget::kCopy   ? Side::Copy
           : way == ExecutionTarget::kCpu    ? Side::Cpu
                                             : Side::Machine;
}

// A side has the same colour and pattern in the bars and in the timeline, where attention
// has the first.
int categoryOf(std::size_t side) {
    return 1 + static_cast<int>(side);
}

QString us(double value) {
    return valueText(Unit::Microseconds, value);
}

QString sideName(Side side) {
    switch (side) {
        case Side::Gpu:
            return DispatchText::tr("GPU");
        case Side::Copy:
            return DispatchText::tr("copy");
        case Side::Cpu:
            return DispatchText::tr("CPU");
        case Side::Machine:
            return DispatchText::tr("other machines");
    }
    return {};
}

// "experts 2, 5"; a prompt's many are counted.
QString expertsText(const std::vector<AssignmentEvent>& assignments, bool (*belongs)(Side)) {
    QStringList experts;
    for (const AssignmentEvent& a : assignments) {
        if (belongs(sideOf(a))) {
            experts << QString::number(a.expert);
        }
    }
    if (experts.isEmpty()) {
        return DispatchText::tr("experts");
    }
    constexpr int kMostNamed = 8;
    if (experts.size() > kMostNamed) {
        return DispatchText::tr("%1 experts").arg(experts.size());
    }
    return experts.size() == 1 ? DispatchText::tr("expert %1").arg(experts.front())
                               : DispatchText::tr("experts %1").arg(experts.join(QStringLiteral(", ")));
}

QString sentenceOf(const AssignmentEvent& a, engine::PolicyKind policy, std::span<const engine::FormatRow> formats) {
    const QString who =
        DispatchText::tr("Expert %1 (%2)")
            .arg(a.expert)
            .arg(a.n_tokens == 1
                     ? DispatchText::tr("one token, %1").arg(formatText(formats, a.format))
                     : DispatchText::tr("%1 tokens, %2").arg(a.n_tokens).arg(formatText(formats, a.format)));
    if (sideOf(a) == Side::Machine) {
        return DispatchText::tr("%1 was computed by another machine, which holds it.").arg(who);
    }
    const bool chosen = a.cpu_us > 0 || a.gpu_us > 0;
    const QString cpu = us(double{a.cpu_us}), gpu = us(double{a.gpu_us}), copy = us(double{a.copy_us});
    if (!chosen) {
        return DispatchText::tr("%1 was computed on the CPU: there is no accelerator to choose.").arg(who);
    }
    const bool copyIsShorter = a.copy_us + a.gpu_us < a.cpu_us;
    switch (static_cast<ExecutionTarget>(a.target)) {
        case ExecutionTarget::kResident:
            return a.copy_us > 0
                       ? DispatchText::tr(
                             "%1 had been brought to the device ahead, on a guess: %2 to compute there, against %3 "
                             "on the CPU.")
                             .arg(who, gpu, cpu)
                       : DispatchText::tr("%1 was on the device: %2 to compute there, against %3 on the CPU.")
                             .arg(who, gpu, cpu);
        case ExecutionTarget::kCopy: {
            const QString text = DispatchText::tr(
                                     "%1 lay %2 and was brought to the device: %3 to copy and %4 to compute there, "
                                     "against %5 on the CPU.")
                                     .arg(who, placeText(a.place), copy, gpu, cpu);
            return copyIsShorter ? text
                   : policy == engine::PolicyKind::kTransfer
                       ? text + u' ' + DispatchText::tr("The policy “transfer” copies whatever is missing.")
                       : text + u' ' +
                             DispatchText::tr(
                                 "Alone the CPU would be faster; beside its other work in this layer it is not.");
        }
        case ExecutionTarget::kCpu: {
            const QString text =
                DispatchText::tr(
                    "%1 lay %2 and was computed on the CPU: %3, against %4 to copy it and %5 to compute on the "
                    "device.")
                    .arg(who, placeText(a.place), cpu, copy, gpu);
            return !copyIsShorter ? text
                   : policy == engine::PolicyKind::kStatic
                       ? text + u' ' + DispatchText::tr("The policy “static” computes whatever is missing on the CPU.")
                       : text + u' ' +
                             DispatchText::tr(
                                 "Alone the copy would be faster; side by side with the rest of the layer it is "
                                 "not.");
        }
    }
    return {};
}

}  // namespace

std::vector<LayerMeans> layerMeans(const std::vector<const LoggedStep*>& steps, int layers) {
    std::vector<LayerMeans> means(static_cast<std::size_t>(std::max(0, layers)));
    for (std::size_t i = 0; i < means.size(); ++i) {
        means[i].layer = static_cast<int>(i);
    }
    for (const LoggedStep* step : steps) {
        for (const LayerEvent& event : step->layers) {
            if (event.layer < 0 || event.layer >= layers) {
                continue;
            }
            LayerMeans& mean = means[static_cast<std::size_t>(event.layer)];
            mean.number = step->layerNumber(event.layer);
            ++mean.steps;
            for (std::size_t i = 0; i < event.n_assignments; ++i) {
                const AssignmentEvent& a = step->assignments[event.first_assignment + i];
                mean.tokens[static_cast<std::size_t>(sideOf(a))] += a.n_tokens;
            }
            const float measured[] = {event.gpu_us, event.copy_us, event.cpu_us};
            const float predicted[] = {event.predicted_gpu_us, event.predicted_copy_us, event.predicted_cpu_us};
            for (std::size_t side = 0; side < kSides; ++side) {
                mean.us[side] += double{measured[side]};
                mean.predicted_us[side] += double{predicted[side]};
            }
        }
    }
    std::erase_if(means, [](const LayerMeans& mean) { return mean.steps == 0; });
    for (LayerMeans& mean : means) {
        for (const std::span<double> sums :
             {std::span<double>(mean.tokens), std::span<double>(mean.us), std::span<double>(mean.predicted_us)}) {
            for (double& sum : sums) {
                sum /= mean.steps;
            }
        }
    }
    return means;
}

std::vector<StackedBar::Row> tokenRows(const std::vector<LayerMeans>& means) {
    const QString names[] = {DispatchText::tr("resident on the GPU"), DispatchText::tr("copied"),
                             DispatchText::tr("CPU")};
    std::vector<StackedBar::Row> rows;
    for (const LayerMeans& mean : means) {
        StackedBar::Row row;
        row.name = DispatchText::tr("layer %1").arg(mean.number);
        for (std::size_t side = 0; side < kSides; ++side) {
            row.parts.push_back({names[side], mean.tokens[side], categoryOf(side)});
        }
        if (mean.tokens[kSides] > 0) {
            row.parts.push_back({sideName(Side::Machine), mean.tokens[kSides], categoryOf(kSides)});
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<StackedBar::Row> timeRows(const std::vector<LayerMeans>& means) {
    const QString names[] = {DispatchText::tr("GPU"), DispatchText::tr("copying"), DispatchText::tr("CPU")};
    std::vector<StackedBar::Row> rows;
    for (const LayerMeans& mean : means) {
        for (const bool predicted : {false, true}) {
            StackedBar::Row row;
            row.predicted = predicted;
            row.sideBySide = true;  // the sides work at the same time
            row.name = predicted ? DispatchText::tr("predicted") : DispatchText::tr("layer %1").arg(mean.number);
            for (std::size_t side = 0; side < kSides; ++side) {
                row.parts.push_back(
                    {names[side], predicted ? mean.predicted_us[side] : mean.us[side], categoryOf(side)});
            }
            rows.push_back(std::move(row));
        }
    }
    return rows;
}

int layerOfTokenRow(const std::vector<LayerMeans>& means, int row) {
    return row >= 0 && row < static_cast<int>(means.size()) ? means[static_cast<std::size_t>(row)].layer : -1;
}

int layerOfTimeRow(const std::vector<LayerMeans>& means, int row) {
    return row < 0 ? -1 : layerOfTokenRow(means, row / 2);
}

QStringList laneNames(bool accelerator) {
    return accelerator ? QStringList{DispatchText::tr("CPU"), DispatchText::tr("copy"), DispatchText::tr("GPU")}
                       : QStringList{DispatchText::tr("CPU")};
}

QStringList spanCategories() {
    return {DispatchText::tr("attention and router"), DispatchText::tr("experts on the GPU"),
            DispatchText::tr("experts copied"), DispatchText::tr("experts on the CPU")};
}

std::vector<TimelinePlot::Span> spansOf(const LoggedStep& step, bool accelerator) {
    std::vector<TimelinePlot::Span> spans;
    double begin_us = 0;
    for (const LayerEvent& event : step.layers) {
        const auto assignments = step.assignmentsOf(event);
        const auto add = [&](int lane, SpanKind kind, double at_us, float lasts_us, const QString& label,
                             bool predicted) {
            if (lasts_us > 0) {
                spans.push_back({accelerator ? lane : kCpuLane, at_us, at_us + double{lasts_us}, label,
                                 static_cast<int>(kind), spanId(event.layer, kind), predicted});
            }
        };
        add(kGpuLane, SpanKind::Attention, begin_us, event.attention_us,
            DispatchText::tr("layer %1: attention and router").arg(step.layerNumber(event.layer)), false);
        begin_us += double{event.attention_us};
        const QString layer = DispatchText::tr("layer %1: ").arg(step.layerNumber(event.layer));
        const QString onGpu =
            layer + expertsText(assignments, [](Side side) { return side == Side::Gpu || side == Side::Copy; });
        const QString copied = layer + expertsText(assignments, [](Side side) { return side == Side::Copy; });
        const QString onCpu = layer + expertsText(assignments, [](Side side) { return side == Side::Cpu; });
        const bool waits = std::none_of(assignments.begin(), assignments.end(),
                                        [](const AssignmentEvent& a) { return sideOf(a) == Side::Gpu; });
        const auto gpuBegin = [&](float layer_us, float gpu_us) {
            return begin_us + (waits ? std::max(0.0, double{layer_us} - double{gpu_us}) : 0);
        };
        add(kCpuLane, SpanKind::Cpu, begin_us, event.cpu_us, onCpu, false);
        add(kCopyLane, SpanKind::Copy, begin_us, event.copy_us, copied, false);
        add(kGpuLane, SpanKind::Gpu, gpuBegin(event.layer_us, event.gpu_us), event.gpu_us, onGpu, false);
        if (accelerator) {  // on the CPU alone there is no choice, and so no prediction
            add(kCpuLane, SpanKind::Cpu, begin_us, event.predicted_cpu_us, onCpu, true);
            add(kCopyLane, SpanKind::Copy, begin_us, event.predicted_copy_us, copied, true);
            add(kGpuLane, SpanKind::Gpu, gpuBegin(event.predicted_layer_us, event.predicted_gpu_us),
                event.predicted_gpu_us, onGpu, true);
        }
        begin_us += double{event.layer_us};
    }
    return spans;
}

double durationOf(const LoggedStep& step) {
    double sum_us = 0;
    for (const LayerEvent& event : step.layers) {
        sum_us += double{event.attention_us} + double{event.layer_us};
    }
    return sum_us;
}

QString idleText(const LoggedStep& step, bool accelerator) {
    const double all_us = durationOf(step);
    if (!accelerator || all_us <= 0) {
        return {};
    }
    double gpu_us = 0, copy_us = 0, cpu_us = 0;
    for (const LayerEvent& event : step.layers) {
        gpu_us += double{event.attention_us} + double{event.gpu_us};
        copy_us += double{event.copy_us};
        cpu_us += double{event.cpu_us};
    }
    const auto idle = [all_us](double busy_us) {
        return valueText(Unit::Share, std::clamp(1 - busy_us / all_us, 0.0, 1.0));
    };
    return DispatchText::tr("Idle: GPU %1, copy engine %2, CPU %3 of the token's %4.")
        .arg(idle(gpu_us), idle(copy_us), idle(cpu_us), us(all_us));
}

QString hiddenText(const std::vector<const LoggedStep*>& steps, bool accelerator) {
    if (!accelerator) {
        return steps.empty() ? QString()
                             : DispatchText::tr(
                                   "On the CPU alone no expert is loaded to a device, so that no "
                                   "computing is hidden behind loading.");
    }
    engine::LoadingTimes sum;
    for (const LoggedStep* step : steps) {
        for (const LayerEvent& event : step->layers) {
            sum += event.loading;
        }
    }
    if (sum.loading_us <= 0) {
        return {};
    }
    const engine::LoadingTimes mean = sum.times(1.0 / static_cast<double>(steps.size()));
    return DispatchText::tr(
               "Hidden: %1 of the computing behind loading, %2 of the loading behind computing. Loading "
               "%3, computing %4, both at once %5.",
               "share, share, time, time, time")
        .arg(valueText(Unit::Share, mean.hidden_computing()), valueText(Unit::Share, mean.hidden_loading()),
             us(mean.loading_us), us(mean.computing_us), us(mean.overlap_us));
}

QString draftsOf(const std::vector<const LoggedStep*>& steps, const TokenLog& log) {
    qint64 n = 0, written = 0, drafted = 0;
    double called = 0, needed = 0;
    for (const LoggedStep* step : steps) {
        const int tokens = step->isPrompt() ? 0 : log.tokenCountOfStep(step->id);
        if (tokens == 0) {
            continue;
        }
        ++n;
        written += tokens;
        drafted += step->drafted();
        for (const LayerEvent& event : step->layers) {
            double rows = 0;
            for (const engine::AssignmentEvent& one : step->assignmentsOf(event)) {
                rows += one.n_tokens;
            }
            called += event.n_assignments;
            needed += rows / std::max(1, event.n_tokens);
        }
    }
    const double more = needed > 0 ? called / needed - 1 : 0;
    return n == 0 ? QString()
                  : draftsText(drafted, written - n, static_cast<double>(written) / static_cast<double>(n), more);
}

QString leftOutText(const LoggedStep& step) {
    quint64 neurons = 0, active = 0, saved = 0;
    for (const LayerEvent& event : step.layers) {
        neurons += event.neurons;
        active += event.active_neurons;
        saved += event.copy_bytes_saved;
    }
    if (neurons == 0) {
        return {};
    }
    const double share = 1 - static_cast<double>(active) / static_cast<double>(neurons);
    QString text = DispatchText::tr("Skipped: %1 of the neurons.").arg(valueText(Unit::Share, share));
    if (saved > 0) {
        text +=
            u' ' + DispatchText::tr("Not copied for it: %1.").arg(valueText(Unit::Bytes, static_cast<double>(saved)));
    }
    return text;
}

QString whyText(const LoggedStep& step, int layer, std::optional<Side> side, bool emulated) {
    const auto event =
        std::find_if(step.layers.begin(), step.layers.end(), [layer](const LayerEvent& e) { return e.layer == layer; });
    if (event == step.layers.end()) {
        return {};
    }
    const auto assignments = step.assignmentsOf(*event);
    const auto policy = static_cast<engine::PolicyKind>(event->policy);
    const bool chosen = std::any_of(assignments.begin(), assignments.end(),
                                    [](const AssignmentEvent& a) { return a.cpu_us > 0 || a.gpu_us > 0; });
    QStringList lines;
    const QString name = QString::fromUtf8(engine::name_of(policy).data());
    const QString how = emulated ? DispatchText::tr("by the emulated device's clock") : DispatchText::tr("measured");
    if (!chosen) {
        lines << DispatchText::tr("Layer %1: %2 %3.", "layer, time, how it is known")
                     .arg(step.layerNumber(layer))
                     .arg(us(double{event->layer_us}), how);
    } else if (side && *side != Side::Machine) {
        const float measured[] = {event->gpu_us, event->copy_us, event->cpu_us};
        const float predicted[] = {event->predicted_gpu_us, event->predicted_copy_us, event->predicted_cpu_us};
        const auto at = static_cast<std::size_t>(*side);
        lines << DispatchText::tr("Layer %1, %2: %3 %4, %5 predicted. Policy: %6.",
                                  "layer, side, time, how it is known, time, name")
                     .arg(step.layerNumber(layer))
                     .arg(sideName(*side), us(double{measured[at]}), how, us(double{predicted[at]}), name);
    } else {
        lines << DispatchText::tr("Layer %1: %2 %3, %4 predicted. Policy: %5.",
                                  "layer, time, how it is known, time, name")
                     .arg(step.layerNumber(layer))
                     .arg(us(double{event->layer_us}), how, us(double{event->predicted_layer_us}), name);
    }
    if (!side && event->loading.loading_us > 0) {
        lines << DispatchText::tr("Loading %1, computing %2, both at once %3.", "time, time, time")
                     .arg(us(event->loading.loading_us), us(event->loading.computing_us),
                          us(event->loading.overlap_us));
    }
    if (assignments.empty()) {
        lines << DispatchText::tr("Which experts these were is no longer known.");
    }
    for (const AssignmentEvent& a : assignments) {
        const Side where = sideOf(a);
        // The GPU also computes copied experts.
        if (!side || where == *side || (*side == Side::Gpu && where == Side::Copy)) {
            lines << sentenceOf(a, policy, step.formats);
        }
    }
    return lines.join(u'\n');
}

}  // namespace offstage::ui
