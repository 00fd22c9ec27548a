#include "ui/panels/skipped_neurons.h"

#include <QLocale>

#include "ui/engine/format.h"
#include "ui/panels/budget_panel.h"

namespace offstage::ui {

namespace {

engine::ThresholdLoss lossOf(const MaybeModel& model, const engine::ThetaChoice& theta) {
    return model ? engine::expected_loss(model->thresholds, theta) : engine::ThresholdLoss();
}

}  // namespace

QString activeNeuronsText(const MaybeModel& model, const engine::ThetaChoice& theta) {
    if (!theta.leaves_out()) {
        return BudgetPanel::tr("all", "neurons");
    }
    const engine::ThresholdLoss loss = lossOf(model, theta);
    return loss.known ? percentText(loss.active_share) : BudgetPanel::tr("not measured");
}

std::optional<double> skippedKl(const MaybeModel& model, const engine::ThetaChoice& theta) {
    const engine::ThresholdLoss loss = lossOf(model, theta);
    return loss.known && !theta.accepts_guesses() ? std::optional(loss.mean_kl) : std::nullopt;
}

QString skippedNeuronsText(const MaybeModel& model, const engine::ThetaChoice& theta) {
    if (!theta.leaves_out()) {
        return BudgetPanel::tr("none");
    }
    const std::optional<double> kl = skippedKl(model, theta);
    return kl ? BudgetPanel::tr("KL %1").arg(QLocale().toString(*kl, 'g', 2)) : BudgetPanel::tr("not measured");
}

}  // namespace offstage::ui
