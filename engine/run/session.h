#pragma once
// The session façade: everything that a user interface or a command line needs of the
// engine, as plain values.

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plan/load_request.h"
#include "engine/run/answer_call.h"
#include "engine/run/generation.h"
#include "engine/run/joined_machines.h"
#include "engine/run/model_summary.h"
#include "engine/run/prompt_reading.h"
#include "engine/run/replan.h"
#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

// One loaded model and its KV cache. Calls come from one thread at a time (the engine's
// worker), except for functions marked "any thread". Errors are thrown as engine::Error
// and leave the session usable: after a failed load no model is loaded, after a failed
// generate the next one works.
class Session {
  public:
    static std::unique_ptr<Session> create();  // the engine on this machine
    virtual ~Session() = default;

    // Replaces the model. The calling thread reports progress, at most about 30 times a
    // second. A stop request ends in Error (kCancelled), and the memory is freed.
    virtual ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) = 0;
    virtual void unload() = 0;
    virtual bool is_loaded() const = 0;

    // Tokens that the messages would take, with the template and the generation prompt.
    virtual std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const = 0;

    // The text of these tokens, valid UTF-8; control tokens give nothing. Throws Error
    // (kUnsupported) without a tokenizer.
    virtual std::string text_of(std::span<const TokenId> tokens) const;

    // Streams an answer. The longest prefix of the prompt in the KV cache, of any
    // conversation, is not computed again. A stop request is obeyed within one layer's
    // time and is no error: the result holds the tokens generated so far.
    virtual GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                      std::stop_token stop) = 0;

    // Makes the answers that `next` gives, begun in that order and up to `most` (1 or
    // more) at a time, until it has none and all have ended. Sessions that cannot make
    // several at a time make one after the other. What concerns one answer ends that one
    // alone, a stop of it within a step of the others; what concerns the model or the
    // device ends all that run; so does an exception of `next`, which is thrown on.
    // AnswerCall's functions must not throw.
    virtual void generate_together(const NextAnswerFn& next, int most);

    // Forgets all conversations: KV cache and the conversation's routing counts.
    virtual void reset_conversation() = 0;
    // Begins another conversation: routing counts begin anew. The present one stays in
    // the KV cache while there is room, so that going back to it does not read it again.
    virtual void begin_conversation() { reset_conversation(); }

    // A copied value; any thread.
    virtual Snapshot snapshot() const = 0;
    // Any thread: records of layers, from the i-th event since the model was loaded on;
    // at most Recorder::kCopiedAtOnce events at a time, none where there are no more.
    // Numbers begin again with each load.
    virtual LayerEvents layer_events(std::uint64_t i) const;
    // Any thread: of the answer being made.
    virtual PromptProgress prompt_progress() const { return {}; }
    // The popularity of experts when the plan was made, (n_layers, n_experts) shares of
    // their layer; empty: not known. Any thread.
    virtual std::vector<float> planned_popularity() const;

    // Any thread, also while an answer is generated: LoadRequest::theta, theta_loss and
    // neuron_guesses of the model, from the next step on, without loading anything. The
    // KV cache's contents stay as they were computed. Throws Error: kInvalidInput unless
    // theta is 0 or a positive number, and where no thresholds were chosen for the loss;
    // kUnsupported where the session cannot.
    virtual void set_theta(const ThetaChoice& choice);

    // The thread that calls generate(), between two answers: from now on these machines
    // also compute experts of the loaded model, replacing the machines before; an empty
    // function: none does. unload() and load() end this. Throws Error: kUnsupported where
    // the session cannot.
    virtual void join(const JoinMachinesFn& join, const std::stop_token& stop);
    // Any thread: notes about them since the last call.
    virtual std::vector<Message> take_machine_notes();

    // ---- budgets that move. Any thread, also while an answer is generated, unless
    // marked otherwise.
    // The outcome of a request: computed at once, by the thread that calls generate().
    // Throws Error where no plan can be made.
    virtual ReplanPreview preview(const ReplanRequest& request);
    // The same for any thread. The preview is planned beside the steps, from the end of
    // the running step on. `done` is called once on the thread that calls generate(), at
    // the end of a later step or in advance(); or never, if the model is removed first.
    virtual void request_preview(const ReplanRequest& request, PreviewFn done);
    // Plans and carries the request out in the background, from the end of the running
    // step on, or in advance() while no answer is made. It replaces a running request.
    // Returns its number, which reports contain.
    virtual std::uint64_t replan(const ReplanRequest& request);
    virtual void cancel_replan();  // goes back to the plan before
    // Carried out as one re-plan, independent of the budgets.
    virtual std::uint64_t change_experts(const ExpertChange& change);
    // The newest report of each request since the model was loaded, the last 256.
    virtual std::vector<ReplanReport> replans() const;
    // For the thread that calls generate(), between two answers: continues moving experts
    // and writes what GenerationRequest::kept_in asked for, until all is done or a stop
    // is requested. Returns at once if there is nothing to do.
    virtual void advance(const std::stop_token& stop);
    // What advance() could not write; empty: nothing. Otherwise the next answer notes it.
    virtual Message take_note();
};

}  // namespace offstage::engine
