#pragma once
// What skipping weak neurons leaves of a model and changes in its answers, as far as it
// was measured.

#include <optional>

#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

using MaybeModel = std::optional<engine::ModelSummary>;

// "all", "62 %", "not measured"
QString activeNeuronsText(const MaybeModel& model, const engine::ThetaChoice& theta);
// In nats per token; nothing: it was not measured, or guesses are accepted, whose own
// cost depends on them.
std::optional<double> skippedKl(const MaybeModel& model, const engine::ThetaChoice& theta);
// "none", "KL 0.002", "not measured"
QString skippedNeuronsText(const MaybeModel& model, const engine::ThetaChoice& theta);

}  // namespace offstage::ui
