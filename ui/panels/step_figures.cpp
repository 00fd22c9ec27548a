#include "ui/panels/step_figures.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/schedule.h"
#include "ui/panels/token_log.h"

namespace offstage::ui {

StepFigures figuresOf(const LoggedStep& step, int layer) {
    StepFigures figures;
    for (const engine::LayerEvent& event : step.layers) {
        if (layer >= 0 && event.layer != layer) {
            continue;
        }
        figures.bytes += event.bytes_copied;
        figures.guessed += event.guessed_copies;
        figures.used += event.used_guesses;
        figures.admissions += event.admissions;
        figures.neededNeurons += event.needed_neurons;
        figures.heldNeurons += event.held_neurons;
        figures.missed += event.used_guesses;
        for (std::size_t i = 0; i < event.n_assignments; ++i) {
            const engine::AssignmentEvent& a = step.assignments[event.first_assignment + i];
            figures.tokens += a.n_tokens;
            const bool resident = static_cast<engine::ExecutionTarget>(a.target) == engine::ExecutionTarget::kResident;
            figures.resident += resident ? a.n_tokens : 0;
            figures.missed += resident ? 0 : 1;
        }
    }
    return figures;
}

void RunningMean::reset(int length) {
    m_values.clear();
    m_next = 0;
    m_length = static_cast<std::size_t>(std::max(1, length));
}

double RunningMean::add(double value) {
    if (!std::isfinite(value)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (m_values.size() < m_length) {
        m_values.push_back(value);
    } else {
        m_values[m_next] = value;
        m_next = (m_next + 1) % m_length;
    }
    double sum = 0;
    for (const double v : m_values) {
        sum += v;
    }
    return sum / static_cast<double>(m_values.size());
}

}  // namespace offstage::ui
