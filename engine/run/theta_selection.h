#pragma once

#include <mutex>
#include <optional>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// The user's choice of the thresholds below which neurons are left out: any thread sets
// it, and the next step takes it.
class ThetaSelection {
  public:
    // ---- the engine's thread
    // The model's own thresholds are in force; it must outlive close().
    void open(const LoadedModel& model) {
        const std::lock_guard lock(mutex_);
        used_.reset();
        selected_.reset();
        model_ = &model;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        model_ = nullptr;
    }
    // Between two steps.
    void apply(LoadedModel& model) {
        const std::optional<ThetaChoice> selected = [this] {
            const std::lock_guard lock(mutex_);
            return selected_;
        }();
        if (selected == used_) return;
        model.use_theta(selected);
        used_ = selected;
    }

    // ---- any thread
    // Throws Error (kInvalidInput): out of range, or the model has no such
    // thresholds.
    void select(const ThetaChoice& choice) {
        check_theta(choice.theta);
        if (choice.loss != 0) check_theta_loss(choice.loss);
        const std::lock_guard lock(mutex_);
        if (model_ != nullptr) static_cast<void>(model_->thetas_of(choice));
        selected_ = choice;
    }

  private:
    // The lock is held only to copy the choice or to look up a loss in the model.
    std::mutex mutex_;
    std::optional<ThetaChoice> selected_;  // nothing: as opened
    const LoadedModel* model_ = nullptr;   // nullptr: none is open
    std::optional<ThetaChoice> used_;      // of the last step; the engine's thread only
};

}  // namespace offstage::engine
