#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/run/answer_call.h"
#include "engine/run/answer_drafts.h"
#include "engine/run/answer_record.h"
#include "engine/run/answer_steps.h"
#include "engine/run/answer_strategy.h"
#include "engine/run/conversation_cache.h"
#include "engine/run/model_text.h"

namespace offstage::engine {

// One answer while it is made: its prompt is read in slices, then its strategy chooses
// tokens from the logits of each step, which are shown as deltas. AnswerBatch makes the
// steps. One thread, the engine's.
class RunningAnswer {
  public:
    // Finds the beginning of the prompt in the KV cache. Throws Error as
    // Session::generate() does. The referents must outlive this object.
    RunningAnswer(const AnswerCall& call, const SessionParts& parts);
    RunningAnswer(const RunningAnswer&) = delete;
    RunningAnswer& operator=(const RunningAnswer&) = delete;

    const GenerationRequest& request() const { return *call_.request; }
    const std::stop_token& stop() const { return call_.stop; }
    bool ended() const { return ended_; }
    // Ends it before its own end.
    void end(FinishReason reason);
    void fail(std::exception_ptr problem);
    // Once, when it has ended: gives the result, or the problem, to its caller. Its
    // conversation stays in the KV cache.
    void finish();

    // ---- the prompt
    // Whether there are tokens to read before the answer begins or goes on.
    bool reads() const { return prefix_->tokens.size() < target_.size(); }
    std::int64_t n_to_read() const { return static_cast<std::int64_t>(target_.size() - prefix_->tokens.size()); }
    struct Slice {
        Segment segment;
        Forward::Logits wanted = Forward::Logits::kNone;
        std::int64_t n_prompt = 0;  // see Forward::step()
    };
    Slice next_slice(std::size_t most_tokens);
    // After its step, which took `us`. The prompt's last slice begins the answer.
    void add_slice(const Slice& slice, double us);

    // ---- the answer
    std::span<const Segment> next() const {
        return drafted_.empty() ? strategy_->next() : std::span<const Segment>(&drafted_step_, 1);
    }
    TokenChooser* chooser();
    // next() has drafted tokens now, if they are likely to pay, for a step without
    // others; drop_draft(): it has none, and had some.
    void draft();
    bool drop_draft();
    // After a step of next(): a row for each segment, or for each token of one with
    // drafts, (rows, vocab_size). alone: without other answers.
    void add_step(std::span<const float> logits, AnswerSteps& steps, bool alone);

    // ---- room in the KV cache
    bool exceeds(std::span<const Segment> segments) const;  // the context that its sequences may have
    // An answer of one sequence, or one that has not begun, gives its blocks up and reads
    // what is lost of them again later: the prompt in slices, and the answer's tokens
    // one by one, as they were computed.
    bool can_be_set_aside() const { return strategy_ == nullptr || !has_several(request()); }
    bool is_aside() const { return is_aside_; }
    void set_aside();
    void take_up();
    // Several sequences: beams, drawn answers.
    static bool has_several(const GenerationRequest& request) {
        return request.n_answers > 1 || request.beam.width > 1;
    }

  private:
    // The device does not begin a step before drafts for it were looked for.
    class StepByStep final : public TokenChooser {
      public:
        TokenChooser* chooser = nullptr;
        std::optional<kernels::TokenRule> rule(int n_ahead) override {
            return n_ahead > 0 ? std::nullopt : chooser->rule(n_ahead);
        }
        bool needs_logits() const override { return chooser->needs_logits(); }
    };

    double seconds_since(double us) const { return (parts_.model.device().now_us() - us) / 1e6; }
    void find_state_place();
    bool wants_drafts() const;
    std::vector<AnswerDrafts::Source> draft_sources();
    void begin_answer();
    void score(const Slice& slice);
    void advance(std::span<const float> logits);
    std::span<const float> possible(std::span<const float> logits);
    void show(ThoughtSplitter::Piece piece, bool in_thought, TokenId token, std::int64_t n_tokens,
              std::optional<TokenChoice> choice, std::vector<ToolCallDelta> calls = {}) const;
    void report();

    const AnswerCall call_;
    const SessionParts parts_;
    const ModelText text_;
    const double started_us_;  // by the device's clock: on an emulated device, accounted time
    GenerationResult result_;
    std::string kept_in_;
    ReplanQueue::Mark replans_before_;
    AnswerRecord record_;
    ConversationCache::Running prefix_;
    std::vector<TokenId> target_;  // to be in the sequence before the answer begins or goes on; begins with the prompt
    std::size_t n_prompt_ = 0;
    std::size_t n_known_ = 0;                   // of the prompt, at first
    bool keeps_state_ = false;                  // shortly before the prompt's end
    std::unique_ptr<AnswerStrategy> strategy_;  // nullptr: the answer has not begun
    std::vector<float> endless_logits_;         // see possible()
    bool is_followed_ = false;                  // LayerDrafter::follow()
    std::optional<AnswerDrafts> drafts_;        // nullopt: none are made
    std::vector<TokenId> drafted_;              // the next token and drafted ones; empty: there are none of these
    Segment drafted_step_;
    StepByStep step_by_step_;
    double first_token_us_ = 0;
    std::int64_t n_chosen_ = 0;  // in one sequence
    bool is_aside_ = false;
    bool ended_ = false;
    std::exception_ptr problem_;
};

}  // namespace offstage::engine
