#pragma once

#include <memory>
#include <vector>

#include "engine/run/answer_steps.h"
#include "engine/run/conversation_cache.h"
#include "engine/run/decode_watch.h"
#include "engine/run/loaded_model.h"
#include "engine/run/machine_links.h"
#include "engine/run/replan_queue.h"
#include "engine/run/session.h"
#include "engine/run/snapshot_publisher.h"

namespace offstage::engine {

// The engine on this machine, returned by Session::create(): a loaded model, the
// conversations in its KV cache, and what other threads read and request of them.
// AnswerBatch makes the answers.
class LocalSession final : public Session {
  public:
    ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) override;
    void unload() override;
    bool is_loaded() const override { return model_ != nullptr; }
    std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const override;
    std::string text_of(std::span<const TokenId> tokens) const override;
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override;
    void generate_together(const NextAnswerFn& next, int most) override;
    void reset_conversation() override;
    void begin_conversation() override;
    Snapshot snapshot() const override;
    LayerEvents layer_events(std::uint64_t i) const override { return publisher_.layer_events(i); }
    PromptProgress prompt_progress() const override { return reading_.progress(); }
    std::vector<float> planned_popularity() const override { return publisher_.planned_popularity(); }
    void set_theta(const ThetaChoice& choice) override { thetas_.select(choice); }
    void join(const JoinMachinesFn& join, const std::stop_token& stop) override;
    std::vector<Message> take_machine_notes() override { return machines_.take_notes(); }
    ReplanPreview preview(const ReplanRequest& request) override;
    void request_preview(const ReplanRequest& request, PreviewFn done) override {
        replans_.request_preview(request, std::move(done));
    }
    std::uint64_t replan(const ReplanRequest& request) override { return replans_.replan(request); }
    void cancel_replan() override { replans_.cancel(); }
    std::uint64_t change_experts(const ExpertChange& change) override { return replans_.change_experts(change); }
    std::vector<ReplanReport> replans() const override { return replans_.reports(); }
    void advance(const std::stop_token& stop) override;
    Message take_note() override { return conversation_.take_file_problem(); }

    // For tests and benches.
    LoadedModel* model() { return model_.get(); }  // nullptr: none
    // Until a plan that is being made is there to be finished, or another request is.
    void wait_for_plan() { replans_.wait_for_plan(); }

  private:
    LoadedModel& require_model() const;
    void follow_context();  // of the present plan
    void publish(SnapshotPublisher::When when);

    PromptReading reading_;
    std::unique_ptr<LoadedModel> model_;
    MachineLinks machines_;
    ThetaSelection thetas_;
    DecodeWatch watch_;
    ReplanQueue replans_;
    SnapshotPublisher publisher_;
    ConversationCache conversation_;  // destroyed before the model
    DraftPolicy drafts_;
};

}  // namespace offstage::engine
