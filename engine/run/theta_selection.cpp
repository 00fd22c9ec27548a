#include "engine/run/theta_selection.h"

#include "engine/run/load_planner.h"

namespace offstage::engine {

void ThetaSelection::select(const ThetaChoice& choice) {
    check_theta(choice.theta);
    if (choice.loss != 0) check_theta_loss(choice.loss);
    const std::lock_guard lock(mutex_);
    if (model_ != nullptr) static_cast<void>(model_->thetas_of(choice));
    selected_ = choice;
}

}  // namespace offstage::engine
