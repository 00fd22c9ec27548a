#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "engine/run/expert_host.h"
#include "engine/run/layer_drafter.h"
#include "engine/run/load_planner.h"
#include "engine/run/model_drafter.h"
#include "engine/run/model_runtime.h"
#include "engine/run/session.h"
#include "engine/run/text_of_model.h"
#include "engine/telemetry/draft_report.h"

namespace offstage::engine {

// A whole loaded model: its experts (ExpertHost), the parts that make steps with them
// (ModelRuntime), and its tokenizer. The constructor is the sequence of a load: open,
// plan, measure costs, load the dense weights, fill in the experts, describe. Built whole
// or not at all.
class LoadedModel : public ExpertHost {
  public:
    enum class Text { kWanted, kNotNeeded };  // kNotNeeded: logits and benches; the folder may lack a tokenizer

    // Throws Error; progress and stop as in Session::load.
    LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress, const std::stop_token& stop);
    ~LoadedModel();

    const ModelSummary& summary() const { return summary_; }
    const Tokenizer* tokenizer() const { return text_->tokenizer.get(); }             // nullptr: none
    const ChatTemplate* chat_template() const { return text_->chat_template.get(); }  // nullptr: none
    const ModelDefaults& defaults() const { return text_->defaults; }
    const ThinkingFormat& thinking() const { return text_->thinking; }
    const std::vector<ThinkingChoice>& thinking_choices() const { return text_->thinking_choices; }
    TextOfModel& text() { return *text_; }
    const TextOfModel& text() const { return *text_; }

    ModelRuntime& runtime() { return *runtime_; }
    LayerDrafter* layer_drafter() { return layer_drafter_.get(); }  // these two: nullptr: none
    ModelDrafter* model_drafter() { return model_drafter_.get(); }
    DraftReport& drafts() { return drafts_; }  // of all answers, which add theirs
    const Plan& plan() const { return runtime_->plan(); }
    KvCache& kv() { return runtime_->kv(); }
    Forward& forward() { return runtime_->forward(); }
    KvSequence new_sequence() { return runtime_->new_sequence(); }
    WeightReads reads() const { return runtime_->reads(); }
    // As opened: the request's thresholds, or the plan's choice within
    // QualityFloor::max_kl.
    const ExpertThetas& thetas() const { return thetas_; }
    // The choice of the last use_theta().
    const ThetaChoice& theta() const { return used_theta_; }
    // From the next step on; nothing: as opened. Throws Error as thetas_of() does.
    void use_theta(const std::optional<ThetaChoice>& choice);
    // Any thread. Throws Error (kInvalidInput) if no thresholds were chosen for the loss,
    // or if they belong to another model's experts.
    ExpertThetas thetas_of(const ThetaChoice& choice) const;
    // For forecasts: stores the routing's habits since the last call, beside those of
    // earlier runs. Nothing for a dry run, and not before there are enough tokens.
    void keep_habits();

  private:
    // Before all else, so that problems with the text files are found at once.
    static std::shared_ptr<TextOfModel> open_text(const LoadRequest& request, Text text);
    // Before the memory for the model is measured.
    static std::unique_ptr<ModelDrafter> open_model_drafter(const LoadRequest& request, const LoadProgressFn& progress,
                                                            const std::stop_token& stop);
    LoadedModel(std::chrono::steady_clock::time_point start, std::shared_ptr<TextOfModel> text,
                std::unique_ptr<ModelDrafter> model_drafter, const LoadRequest& request, const LoadProgressFn& progress,
                const std::stop_token& stop);
    Plan plan_within_memory(Measurements& measurements, const LoadProgressFn& progress, const std::stop_token& stop);
    void open_layer_drafter();
    void note_memory(const Plan& plan, const LoadProgressFn& progress);
    std::optional<CostModel> costs_for(const Plan& plan, Measurements& measurements, const LoadProgressFn& progress,
                                       const std::stop_token& stop);
    void describe(std::uint64_t dense_bytes);
    void read_thresholds();

    std::unique_ptr<ModelDrafter> model_drafter_;
    std::shared_ptr<TextOfModel> text_;
    std::optional<ModelRuntime> runtime_;
    std::unique_ptr<LayerDrafter> layer_drafter_;
    DraftReport drafts_;
    ModelSummary summary_;
    ThetaChoice opened_theta_, used_theta_;
    ExpertThetas thetas_;  // for opened_theta_
};

}  // namespace offstage::engine
