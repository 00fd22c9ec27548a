#include "engine/eval/draft_bench.h"

#include <algorithm>
#include <vector>

#include "engine/as_size.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/run/answer_drafts.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

// One answer to the prompt.
class DraftedDecode {
  public:
    DraftedDecode(LoadedModel& model, DraftPolicy& policy, std::span<const TokenId> prompt)
        : model_(model),
          policy_(policy),
          layer_(policy.mode() == DraftMode::kOff ? nullptr : model.layer_drafter()),
          sequence_(model.new_sequence()),
          drafts_(policy, {}, sources(), prompt) {
        if (layer_ != nullptr) layer_->follow(sequence_, {});
        const auto most = as_size(model.forward().max_step());
        for (std::size_t at = 0; at < prompt.size(); at += most) {
            const std::size_t n = std::min(most, prompt.size() - at);
            step({&sequence_, prompt.subspan(at, n)}, Forward::Logits::kLast, std::ssize(prompt));
        }
        choose(0);
    }
    ~DraftedDecode() {
        if (layer_ != nullptr) layer_->leave(sequence_);
    }
    DraftedDecode(const DraftedDecode&) = delete;
    DraftedDecode& operator=(const DraftedDecode&) = delete;

    // Tokens a second.
    double run(std::int64_t n_tokens, DraftReport& report) {
        Backend& device = model_.device();
        const double start_us = device.now_us();
        for (std::int64_t left = n_tokens; left > 0;) {
            const double begun_us = device.now_us();
            std::vector<TokenId> tokens = {next_};
            const std::int64_t most = std::min(left - 1, sequence_.capacity() - sequence_.size() - 1);
            const std::span<const TokenId> draft = drafts_.next(as_size(std::max<std::int64_t>(0, most)));
            const auto n_drafted = as_size(sequence_.room_for_drafts(std::ssize(draft)));
            tokens.insert(tokens.end(), draft.begin(), draft.begin() + static_cast<std::ptrdiff_t>(n_drafted));
            step({&sequence_, tokens, n_drafted}, n_drafted > 0 ? Forward::Logits::kAll : Forward::Logits::kLast, 0);
            if (!drafts_.probed()) policy_.add_step(n_drafted, device.now_us() - begun_us, drafts_.drafter());
            choose(0);
            std::size_t n_accepted = 0;
            while (n_accepted < n_drafted && next_ == tokens[n_accepted + 1]) {
                model_.forward().accept_draft(sequence_, next_);
                if (layer_ != nullptr) layer_->accept(sequence_, next_);
                choose(++n_accepted);
            }
            DraftReport of_step{.steps = 1,
                                .tokens = static_cast<std::int64_t>(1 + n_accepted),
                                .drafted = static_cast<std::int64_t>(n_drafted),
                                .accepted = static_cast<std::int64_t>(n_accepted)};
            of_step.of(drafts_.drafter()) = {of_step.drafted, of_step.accepted};
            report += of_step;
            left -= of_step.tokens;
        }
        return 1e6 * static_cast<double>(n_tokens) / (device.now_us() - start_us);
    }

  private:
    std::vector<AnswerDrafts::Source> sources() {
        std::vector<AnswerDrafts::Source> sources;
        if (policy_.mode() == DraftMode::kOff) return sources;
        if (layer_ != nullptr) {
            sources.push_back({Drafter::kLayer, [this](std::span<const TokenId> tokens, std::span<TokenId> draft) {
                                   return layer_->draft(tokens.back(), draft);
                               }});
        }
        return sources;
    }
    void step(const Segment& segment, Forward::Logits wanted, std::int64_t n_prompt) {
        if (layer_ != nullptr) layer_->begin_step({&segment, 1}, n_prompt);
        const Forward::Outcome outcome = model_.forward().step({&segment, 1}, wanted, {}, n_prompt);
        if (layer_ != nullptr) layer_->end_step(wanted, outcome == Forward::Outcome::kDone);
        require_done(outcome, model_.device());
    }
    // The next token, by the last step's row.
    void choose(std::size_t row) {
        const auto vocab = as_size(model_.spec().vocab_size);
        const std::span<const float> logits = model_.forward().logits().subspan(row * vocab, vocab);
        next_ = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
        drafts_.add(next_);
    }

    LoadedModel& model_;
    DraftPolicy& policy_;
    LayerDrafter* const layer_;
    KvSequence sequence_;
    AnswerDrafts drafts_;
    TokenId next_ = 0;
};

}  // namespace

DraftGain bench_drafts(LoadedModel& model, std::span<const TokenId> prompt, std::int64_t n_tokens, int repeats) {
    DraftPolicy policy, off;
    policy.set_mode(model.request().drafts);
    DraftGain gain;
    std::vector<double> with, without;
    for (int repeat = 0; repeat <= repeats; ++repeat) {
        DraftReport report, none;
        const double plain = DraftedDecode(model, off, prompt).run(n_tokens, none);
        const double drafted = DraftedDecode(model, policy, prompt).run(n_tokens, report);
        if (repeat == 0) continue;
        without.push_back(plain);
        with.push_back(drafted);
        gain.drafts += report;
    }
    gain.tokens_per_s = median(std::move(with));
    gain.plain_tokens_per_s = median(std::move(without));
    return gain;
}

}  // namespace offstage::engine
