#include "engine/run/answer_steps.h"

#include <utility>

#include "engine/error.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

void AnswerSteps::begin(bool goes_on) {
    // A step is a user's wait for a token, so a re-plan's work before it counts.
    began_us_ = goes_on ? parts_.model.forward().next_begun_us() : parts_.model.device().now_us();
    moved_ = parts_.replans.between_steps();
    if (moved_) parts_.drafts.forget_times();
    parts_.conversation.follow_context(parts_.replans.replanner().in_force().context);
    parts_.thetas.apply(parts_.model);
}

Forward::Outcome AnswerSteps::run(std::span<const Segment> segments, Forward::Logits wanted,
                                  const std::stop_token& stop, std::int64_t n_prompt, TokenChooser* chooser) {
    LayerDrafter* const layer = parts_.model.layer_drafter();
    if (layer != nullptr) layer->begin_step(segments, n_prompt);
    const Forward::Outcome outcome = parts_.model.forward().step(segments, wanted, stop, n_prompt, chooser);
    if (layer != nullptr) layer->end_step(wanted, outcome == Forward::Outcome::kDone);
    if (outcome == Forward::Outcome::kFailed) {
        Backend& device = parts_.model.device();
        const Message failure = device.failure();
        device.clear_failure();
        const auto& failed = device.ok() ? messages::device_failed_once : messages::device_failed_for_good;
        throw Error(ErrorKind::kDevice, failed(device_name(device.info()), failure));
    }
    if (outcome == Forward::Outcome::kDone) add(segments);
    return outcome;
}

void AnswerSteps::accept_draft(const Segment& segment, std::size_t at) {
    parts_.model.forward().accept_draft(*segment.sequence, segment.tokens[at]);
    if (LayerDrafter* const layer = parts_.model.layer_drafter(); layer != nullptr) {
        layer->accept(*segment.sequence, segment.tokens[at]);
    }
    const std::span<const std::int32_t> routing = parts_.model.forward().routing();
    const std::size_t row = routing.size() / segment.tokens.size();
    const Segment accepted{segment.sequence, segment.tokens.subspan(at, 1)};
    parts_.conversation.add_step({&accepted, 1}, routing.subspan(at * row, row));
}

void AnswerSteps::add(std::span<const Segment> segments) {
    std::int64_t n_tokens = 0;
    for (const Segment& segment : segments) n_tokens += static_cast<std::int64_t>(segment.tokens.size());
    const std::span<const std::int32_t> routing = parts_.model.forward().routing();
    const DispatchTotals& totals = parts_.model.dispatcher().recorder().all_totals();
    const double now_us = parts_.model.device().now_us();
    last_us_ = now_us - began_us_;
    const double before_us = std::exchange(ended_us_, now_us);
    if (n_tokens == 1 && !moved_) {
        parts_.watch.add(last_us_, before_us > 0 ? now_us - before_us : last_us_, totals);
    } else {
        parts_.watch.pass(totals);
    }
    parts_.machines.after_step(last_us_, n_tokens);
    parts_.conversation.add_step(segments, routing);
    parts_.model.runtime().learn(routing, n_tokens);
    parts_.publisher.publish(SnapshotPublisher::When::kWhenDue, parts_.conversation.state(parts_.watch.overhead_us()));
}

}  // namespace offstage::engine
