#include "engine/run/answer_strategy.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/run/answer_constraint.h"
#include "engine/run/beam_search.h"
#include "engine/run/sampler.h"
#include "engine/text/tool_call_splitter.h"

namespace offstage::engine {
namespace {

// The reason to end a sequence after its newest token, if there is one.
std::optional<FinishReason> finish_after(const GenerationRequest& request, std::size_t n_tokens,
                                         const KvSequence& sequence) {
    if (request.max_tokens > 0 && n_tokens >= as_size(request.max_tokens)) return FinishReason::kMaxTokens;
    if (sequence.size() >= sequence.capacity()) return FinishReason::kContextFull;
    return std::nullopt;
}

bool contains(const std::vector<TokenId>& tokens, TokenId token) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

class Sampling final : public AnswerStrategy, private TokenChooser {
  public:
    explicit Sampling(const AnswerStart& start)
        : start_(start),
          ends_(start.text.end_tokens()),
          sampler_(start.request.sampler, start.seed),
          splitter_(start.text.splitter(start.request, start.tokens)),
          constraint_(AnswerConstraint::make(start.text, start.request, start.tokens, splitter_)),
          stops_(start.text.stop_texts(start.request)),
          strip_space_(start.text.strips_space(start.request)) {
        const ToolUse& tools = start.request.tools;
        if (tools.any()) calls_.emplace(start.text.tool_calls(), ToolDefinitions::parse(tools.definitions));
    }

    Progress advance(const Logits& logits) override {
        segments_.clear();
        end_long_thought();
        const bool is_given = n_given_ < thought_end_.size();
        if (logits.chosen || is_given) sampler_.count_choice();
        token_ = is_given        ? thought_end_[n_given_++]
                 : logits.chosen ? *logits.chosen
                                 : sampler_.sample(logits.possible, start_.tokens, constraint_.get());
        if (token_ < 0) start_.text.throw_no_probabilities();
        std::optional<TokenChoice> choice;
        if (start_.request.n_alternatives >= 0) {
            choice = start_.text.choice(logits.model, token_, start_.request.n_alternatives);
        }
        if (contains(ends_, token_)) {
            finish_ = FinishReason::kEndOfTurn;
            end_choice_ = std::move(choice);
            return {};
        }
        tokens_.push_back(token_);
        if (choice.has_value()) choices_.push_back(*choice);
        const auto finish = finish_after(start_.request, tokens_.size(), start_.sequence);
        if (finish.has_value()) {
            finish_ = *finish;
        } else {
            segments_.push_back({&start_.sequence, {&token_, 1}});
        }
        const bool thought_before = splitter_.in_thought();
        const bool is_call_marker = calls_ && !thought_before && calls_->is_marker(token_);
        ThoughtSplitter::Piece piece =
            shown(splitter_.push(token_, is_call_marker ? std::string() : start_.text.piece(token_)));
        if (constraint_ != nullptr) {
            constraint_->push(token_, thought_before, splitter_, piece.answer);
            if (constraint_->is_complete()) {
                finish_ = FinishReason::kEndOfTurn;
                segments_.clear();
            }
        }
        const bool in_thought = (thought_before || splitter_.in_thought()) && piece.answer.empty();
        std::vector<ToolCallDelta> calls = take_calls(piece.answer, is_call_marker);
        if (calls_ && !start_.request.tools.parallel && !calls_->calls().empty() && !calls_->in_call()) {
            finish_ = FinishReason::kEndOfTurn;
            segments_.clear();
        }
        if (piece.text_was_thought) {
            stops_.finish();
            n_shown_ = stripped_ = 0;
            thought_tokens_ = static_cast<std::int64_t>(tokens_.size());
        }
        std::string answer = stops_.push(piece.answer);
        if (!calls.empty()) answer += stops_.finish();  // no stop text goes on across a call
        piece.answer = cut(std::move(answer));
        thought_tokens_ += in_thought ? 1 : 0;
        return {true,
                std::move(piece.answer),
                std::move(piece.thought),
                in_thought,
                token_,
                static_cast<std::int64_t>(tokens_.size()),
                std::move(choice),
                piece.text_was_thought,
                std::move(calls)};
    }
    std::span<const Segment> next() const override { return segments_; }
    TokenChooser* chooser() override {
        const bool may_be_given = has_bound() && (splitter_.in_thought() || n_given_ < thought_end_.size());
        return constraint_ == nullptr && !may_be_given ? this : nullptr;
    }
    void end(FinishReason reason) override { finish_ = reason; }
    ThoughtSplitter::Piece finish(GenerationResult& result) override {
        ThoughtSplitter::Piece rest = shown(splitter_.finish(finish_ != FinishReason::kEndOfTurn));
        if (calls_) {
            rest.answer = calls_->push(rest.answer).text;
            rest.answer += calls_->finish(finish_ != FinishReason::kEndOfTurn).text;
            result.tool_calls = calls_->calls();
        }
        rest.answer = cut(stops_.push(rest.answer));
        rest.answer += cut(stops_.finish());
        result.text = calls_ ? text_ : splitter_.answer().substr(stripped_, n_shown_);
        result.thought = splitter_.thought();
        result.thought_is_open = splitter_.in_thought();
        result.thought_tokens = thought_tokens_;
        result.tokens = std::move(tokens_);
        result.choices = std::move(choices_);
        result.end_choice = std::move(end_choice_);
        result.finish = finish_;
        return rest;
    }

  private:
    bool has_bound() const { return start_.request.max_thought_tokens > 0; }
    // Once: where the model goes on thinking all the same, for example inside code, it
    // may.
    void end_long_thought() {
        if (!has_bound() || !thought_end_.empty() || !splitter_.in_thought()) return;
        if (thought_tokens_ < start_.request.max_thought_tokens) return;
        thought_end_ = start_.text.end_of_thought(token_);
        splitter_.expect_second_end();
    }

    std::optional<kernels::TokenRule> rule(int n_ahead) override {
        const auto n_tokens = static_cast<std::int64_t>(tokens_.size()) + n_ahead;
        if (n_ahead > 0 && start_.request.max_tokens > 0 && n_tokens >= start_.request.max_tokens) return std::nullopt;
        // One more than a rule has room for says that there are too many.
        const std::size_t n_before = std::min<std::size_t>(start_.tokens.size(), kernels::TokenRule::kMostListed + 1);
        before_.assign(start_.tokens.end() - static_cast<std::ptrdiff_t>(n_before), start_.tokens.end());
        if (n_ahead > 0) before_.push_back(token_);
        return sampler_.rule(static_cast<std::size_t>(n_ahead), start_.text.vocab_size(),
                             start_.request.ignore_end ? std::span<const TokenId>(ends_) : std::span<const TokenId>(),
                             before_);
    }
    bool needs_logits() const override { return start_.request.n_alternatives >= 0; }

    ThoughtSplitter::Piece shown(ThoughtSplitter::Piece piece) {
        if (strip_space_ && !(piece.answer.empty() && piece.thought.empty())) {
            if (piece.answer.starts_with(' ') && splitter_.thought().empty()) {
                piece.answer.erase(0, 1);
                stripped_ = 1;
            }
            strip_space_ = false;
        }
        return piece;
    }

    // Leaves the text outside calls in `answer`, and returns the calls.
    std::vector<ToolCallDelta> take_calls(std::string& answer, bool is_marker) {
        if (!calls_) return {};
        ToolCallSplitter::Piece piece = calls_->take(token_, is_marker, answer, splitter_);
        answer = std::move(piece.text);
        return std::move(piece.calls);
    }

    // Counts the shown text of the answer, and ends it where a stop text was found.
    std::string cut(std::string shown) {
        n_shown_ += shown.size();
        if (calls_) text_ += shown;
        if (stops_.found()) {
            finish_ = FinishReason::kEndOfTurn;
            segments_.clear();
        }
        return shown;
    }

    AnswerStart start_;
    std::vector<TokenId> ends_;
    Sampler sampler_;
    ThoughtSplitter splitter_;
    std::unique_ptr<AnswerConstraint> constraint_;  // nullptr: any answer
    std::optional<ToolCallSplitter> calls_ = {};    // nullopt: there are no tools
    std::string text_;                              // shown, with calls_
    StopTexts stops_;
    std::size_t n_shown_ = 0;  // bytes of the answer
    bool strip_space_;
    std::size_t stripped_ = 0;  // removed leading spaces of the answer, which are not part of its text
    std::int64_t thought_tokens_ = 0;
    std::vector<TokenId> thought_end_;  // GenerationRequest::max_thought_tokens
    std::size_t n_given_ = 0;           // of these
    std::vector<TokenId> tokens_;
    std::vector<TokenChoice> choices_;
    std::optional<TokenChoice> end_choice_;
    TokenId token_ = -1;
    std::vector<TokenId> before_;  // see rule()
    std::vector<Segment> segments_;
    FinishReason finish_ = FinishReason::kStopped;
};

// Several sequences side by side, each with its answer; the result's text is the first
// one's.
class SideBySide : public AnswerStrategy {
  public:
    std::span<const Segment> next() const override { return segments_; }
    ThoughtSplitter::Piece finish(GenerationResult& result) override {
        result.answers = answers();
        const bool strips_space = start_.text.strips_space(start_.request);
        for (std::size_t i = result.answers.size(); i-- > 0;) {
            Answer& answer = result.answers[i];
            ModelText::Split split =
                start_.text.split(answer.tokens, splitter_, strips_space, answer.finish != FinishReason::kEndOfTurn);
            StopTexts stops = start_.text.stop_texts(start_.request);
            answer.text = stops.push(split.text);
            answer.text += stops.finish();
            if (stops.found()) answer.finish = FinishReason::kEndOfTurn;
            answer.thought = std::move(split.thought);
            result.thought_is_open = split.thought_is_open;  // the last assignment is the first answer's
            result.thought_tokens = split.thought_tokens;
        }
        if (result.answers.empty()) {
            result.finish = FinishReason::kStopped;
            return {};
        }
        const Answer& best = result.answers.front();
        result.text = best.text;
        result.thought = best.thought;
        result.tokens = best.tokens;
        result.choices = best.choices;
        result.end_choice = best.end_choice;
        result.finish = best.finish;
        return {best.thought, best.text};
    }

  protected:
    explicit SideBySide(const AnswerStart& start)
        : start_(start), splitter_(start.text.splitter(start.request, start.tokens)) {}
    virtual std::vector<Answer> answers() = 0;

    AnswerStart start_;
    ThoughtSplitter splitter_;  // before the reply
    std::int64_t n_steps_ = 0;
    std::vector<TokenId> fed_;
    std::vector<Segment> segments_;
};

class Beams final : public SideBySide {
  public:
    explicit Beams(const AnswerStart& start)
        : SideBySide(start), search_(start.request.beam, start.text.end_tokens(), max_tokens(start)) {
        sequences_.push_back(start.sequence.fork());
    }

    Progress advance(const Logits& logits) override {
        const auto branches = search_.advance(logits.possible, start_.text.vocab_size());
        ++n_steps_;
        segments_.clear();
        fed_.clear();
        if (search_.done()) return {true, {}, {}, false, -1, n_steps_};
        std::vector<KvSequence> next;
        for (const BeamSearch::Branch& branch : branches) {
            next.push_back(sequences_[as_size(branch.parent)].fork());
            fed_.push_back(branch.token);
        }
        sequences_ = std::move(next);  // the parents' blocks are released before new ones are taken
        for (std::size_t b = 0; b < sequences_.size(); ++b) segments_.push_back({&sequences_[b], {&fed_[b], 1}});
        return {true, {}, {}, false, fed_.front(), n_steps_};
    }
    void end(FinishReason reason) override {
        finish_ = reason;
        search_.finish();
    }

  private:
    static std::int64_t max_tokens(const AnswerStart& start) {
        const std::int64_t room = start.sequence.capacity() - start.sequence.size() + 1;
        return start.request.max_tokens > 0 ? std::min<std::int64_t>(start.request.max_tokens, room) : room;
    }
    std::vector<Answer> answers() override {
        std::vector<Answer> answers;
        for (BeamAnswer& beam : search_.answers()) {
            Answer answer;
            answer.finish = beam.ended ? FinishReason::kEndOfTurn : finish_;
            answer.log_probability = beam.log_probability;
            answer.score = beam.score;
            answer.tokens = std::move(beam.tokens);
            answers.push_back(std::move(answer));
        }
        return answers;
    }

    BeamSearch search_;
    std::vector<KvSequence> sequences_;
    FinishReason finish_ = FinishReason::kMaxTokens;
};

class DrawnAnswers final : public SideBySide {
  public:
    explicit DrawnAnswers(const AnswerStart& start)
        : SideBySide(start), ends_(start.text.end_tokens()), answers_(as_size(start.request.n_answers)) {
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            answers_[i].seed = answer_seed(start.seed, i);
            live_.push_back({i, start.sequence.fork(), Sampler(start.request.sampler, answers_[i].seed), start.tokens,
                             splitter_, start.text.stop_texts(start.request),
                             AnswerConstraint::make(start.text, start.request, start.tokens, splitter_)});
        }
    }

    Progress advance(const Logits& logits) override {
        const std::size_t vocab = as_size(start_.text.vocab_size());
        const bool from_prompt = n_steps_++ == 0;
        std::vector<Drawn> going_on;
        for (std::size_t i = 0; i < live_.size(); ++i) {
            const std::size_t row = from_prompt ? 0 : i * vocab;
            if (choose(live_[i], {logits.model.subspan(row, vocab), logits.possible.subspan(row, vocab)})) {
                going_on.push_back(std::move(live_[i]));
            }
        }
        live_ = std::move(going_on);
        segments_.clear();
        fed_.clear();
        for (const Drawn& drawn : live_) fed_.push_back(drawn.context.back());
        for (std::size_t i = 0; i < live_.size(); ++i) segments_.push_back({&live_[i].sequence, {&fed_[i], 1}});
        if (live_.empty()) return {true, {}, {}, false, -1, n_steps_};
        const std::vector<TokenChoice>& choices = answers_[live_.front().answer].choices;
        return {true,
                {},
                {},
                false,
                fed_.front(),
                n_steps_,
                choices.empty() ? std::nullopt : std::optional<TokenChoice>(choices.back())};
    }
    void end(FinishReason reason) override {
        for (const Drawn& drawn : live_) answers_[drawn.answer].finish = reason;
    }

  private:
    struct Drawn {
        std::size_t answer;
        KvSequence sequence;
        Sampler sampler;
        std::vector<TokenId> context;  // prompt and answer, for the repeat penalty
        ThoughtSplitter splitter;      // for the two below
        StopTexts stops;
        std::unique_ptr<AnswerConstraint> constraint;
    };

    // Returns whether the answer goes on.
    bool choose(Drawn& drawn, const Logits& row) {
        Answer& answer = answers_[drawn.answer];
        const TokenId token = drawn.sampler.sample(row.possible, drawn.context, drawn.constraint.get());
        if (token < 0) start_.text.throw_no_probabilities();
        const int n_alternatives = start_.request.n_alternatives;
        TokenChoice choice = choice_of(row.model, token, std::max(0, n_alternatives));
        answer.log_probability += choice.chosen.log_probability;
        if (n_alternatives >= 0) start_.text.describe(choice);
        if (contains(ends_, token)) {
            answer.finish = FinishReason::kEndOfTurn;
            if (n_alternatives >= 0) answer.end_choice = std::move(choice);
            return false;
        }
        answer.tokens.push_back(token);
        if (n_alternatives >= 0) answer.choices.push_back(std::move(choice));
        drawn.context.push_back(token);
        auto finish = finish_after(start_.request, answer.tokens.size(), drawn.sequence);
        const bool thought_before = drawn.splitter.in_thought();
        const std::string added = drawn.splitter.push(token, start_.text.piece(token)).answer;
        drawn.stops.push(added);
        if (drawn.constraint != nullptr) drawn.constraint->push(token, thought_before, drawn.splitter, added);
        const bool is_complete = drawn.constraint != nullptr && drawn.constraint->is_complete();
        if (drawn.stops.found() || is_complete) finish = FinishReason::kEndOfTurn;
        if (finish.has_value()) answer.finish = *finish;
        return !finish.has_value();
    }
    std::vector<Answer> answers() override { return std::move(answers_); }

    std::vector<TokenId> ends_;
    std::vector<Answer> answers_;
    std::vector<Drawn> live_;
};

}  // namespace

std::unique_ptr<AnswerStrategy> make_strategy(const AnswerStart& start) {
    if (start.request.beam.width > 1) return std::make_unique<Beams>(start);
    if (start.request.n_answers > 1) return std::make_unique<DrawnAnswers>(start);
    return std::make_unique<Sampling>(start);
}

}  // namespace offstage::engine
