#include "engine/run/local_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "engine/error.h"
#include "engine/plan/measured_forecast.h"
#include "engine/run/beam_search.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPublishInterval = std::chrono::milliseconds(16);

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

std::vector<float> shares_of(const Popularity& popularity) {
    if (popularity.n_tokens == 0) return {};
    std::vector<float> shares;
    for (std::int64_t layer = 0; layer < popularity.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < popularity.n_experts; ++expert)
            shares.push_back(static_cast<float>(popularity.share(layer, expert)));
    }
    return shares;
}

// By the model itself: temperature 1, nothing cut off.
double log_probability_of(std::span<const float> logits, TokenId token) {
    const float largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
    return static_cast<double>(logits[static_cast<std::size_t>(token)] - largest) - std::log(sum);
}

void check_utf8(const ChatMessage& message) {
    const std::size_t invalid = find_invalid_utf8(message.content);
    if (invalid == std::string::npos) return;
    throw Error(ErrorKind::kInvalidInput, "The " + std::string(name_of(message.role)) +
                                              " message is not UTF-8 text: byte " + std::to_string(invalid + 1) +
                                              " starts no character.");
}

// sentencepiece begins a text with a space that nobody typed; the middle of a text has its own.
bool strips_space(const GenerationRequest& request) {
    return !request.raw && !(request.continue_last && !request.messages.back().content.empty());
}

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1u;  // never 0, which asks for a new one
}

}  // namespace

std::unique_ptr<Session> Session::create() {
    return std::make_unique<LocalSession>();
}

std::string_view name_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::kEndOfTurn:
            return "end_of_turn";
        case FinishReason::kMaxTokens:
            return "max_tokens";
        case FinishReason::kStopped:
            return "stopped";
        case FinishReason::kContextFull:
            return "context_full";
    }
    return "?";
}

ModelSummary LocalSession::load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) {
    unload();
    model_ = std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, progress, stop);
    cache_ = model_->new_sequence();
    replanner_ = std::make_unique<Replanner>(*model_);
    planning_ = std::make_unique<PlanningThread>();
    plan_awaited_ = false;
    replanner_->set_tokens_in_use([this] { return cache_.size(); });
    model_->forward().set_between_layers([this] { replanner_->between_layers(); });
    {
        const std::lock_guard lock(orders_mutex_);
        n_layers_ = model_->spec().experts.n_layers;
        n_experts_ = model_->spec().experts.n_experts;
        model_->dispatcher().recorder().reshape(n_layers_, n_experts_);
        events_ = model_->dispatcher().shared_recorder();
        popularity_ = shares_of(model_->popularity());
    }
    filler_.reset();
    tokens_made_ = 0;
    recorder_.reshape(model_->spec().experts.n_layers, model_->spec().experts.n_experts,
                      model_->spec().experts.n_active);
    publish(Publish::kNow);
    return model_->summary();
}

void LocalSession::unload() {
    cache_ = KvSequence();
    planning_.reset();
    replanner_.reset();
    sample_.reset();
    meter_ = DecodeMeter();
    overhead_us_ = 0;
    {
        const std::lock_guard lock(orders_mutex_);
        orders_.clear();
        reports_.clear();
        events_.reset();
        popularity_.clear();
        n_layers_ = n_experts_ = 0;
    }
    model_.reset();
    cached_tokens_.clear();
    recorder_.reshape(0, 0, 0);
    publish(Publish::kNow);
}

double LocalSession::seconds_since(double start_us) const {
    return (model_->device().now_us() - start_us) / 1e6;
}

LoadedModel& LocalSession::require_model() const {
    if (model_ == nullptr) throw Error(ErrorKind::kInvalidInput, "No model is loaded; open one first.");
    return *model_;
}

const Tokenizer& LocalSession::require_tokenizer() const {
    const LoadedModel& model = require_model();
    if (model.tokenizer() != nullptr) return *model.tokenizer();
    throw Error(ErrorKind::kUnsupported,
                "The model " + model.summary().name + " has no tokenizer, so it cannot read or write text.");
}

std::int64_t LocalSession::count_tokens(const std::vector<ChatMessage>& messages) const {
    return static_cast<std::int64_t>(render(messages).size());
}

std::vector<TokenId> LocalSession::render(const std::vector<ChatMessage>& messages) const {
    const Tokenizer& tokenizer = require_tokenizer();
    for (const ChatMessage& message : messages) check_utf8(message);
    if (model_->chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, "The model " + model_->summary().name +
                                                 " has no chat template (tokenizer_config.json, \"chat_template\"); "
                                                 "it can only continue a raw prompt.");
    }
    const auto piece = [&](TokenId token) { return token >= 0 ? tokenizer.piece_name(token) : std::string(); };
    return tokenizer.encode_with_special(
        model_->chat_template()->render(messages, {piece(tokenizer.bos()), piece(tokenizer.eos())}, true));
}

std::vector<TokenId> LocalSession::prompt_tokens(const GenerationRequest& request) const {
    const Tokenizer& tokenizer = require_tokenizer();
    if (!request.raw && request.continue_last) {
        if (request.messages.empty() || request.messages.back().role != Role::kAssistant) {
            throw Error(ErrorKind::kInvalidInput,
                        "There is no answer to go on with: the last message is not the assistant's.");
        }
        check_utf8(request.messages.back());
        std::vector<TokenId> tokens = render({request.messages.begin(), request.messages.end() - 1});
        const std::vector<TokenId> begun =
            tokenizer.encode_after(tokens.empty() ? TokenId{-1} : tokens.back(), request.messages.back().content);
        tokens.insert(tokens.end(), begun.begin(), begun.end());
        return tokens;
    }
    if (!request.raw) return render(request.messages);
    std::vector<TokenId> tokens = tokenizer.encode(request.raw_prompt);
    if (tokenizer.adds_bos()) tokens.insert(tokens.begin(), tokenizer.bos());
    if (tokenizer.adds_eos()) tokens.push_back(tokenizer.eos());
    if (request.raw_tokens > 0 && request.raw_tokens < static_cast<std::int64_t>(tokens.size())) {
        tokens.resize(static_cast<std::size_t>(request.raw_tokens));
    }
    return tokens;
}

void LocalSession::check_fits(std::int64_t n_prompt) const {
    if (n_prompt == 0) throw Error(ErrorKind::kInvalidInput, "The prompt is empty; expected at least one token.");
    if (n_prompt < cache_.capacity()) return;
    throw Error(ErrorKind::kInvalidInput,
                "The prompt has " + std::to_string(n_prompt) + " tokens, but the context of " + model_->summary().name +
                    " holds " + std::to_string(cache_.capacity()) +
                    " and the answer needs room too; shorten it or start a new conversation.");
}

std::int64_t LocalSession::reuse_prefix(const std::vector<TokenId>& prompt) {
    const auto [cached, wanted] =
        std::mismatch(cached_tokens_.begin(), cached_tokens_.end(), prompt.begin(), prompt.end());
    // The last token is always computed: its logits begin the answer.
    const auto n = std::min(std::distance(prompt.begin(), wanted), static_cast<std::ptrdiff_t>(prompt.size()) - 1);
    cached_tokens_.resize(static_cast<std::size_t>(n));
    cache_.truncate(n);
    return n;
}

Forward::Outcome LocalSession::step(std::span<const Segment> segments, Forward::Logits wanted,
                                    const std::stop_token& stop, std::int64_t n_prompt) {
    Forward& forward = model_->forward();
    // A step is what a person waits for a token: what a re-plan does before it counts.
    const double begin_us = model_->device().now_us();
    const bool moved = between_steps();
    const Forward::Outcome outcome = forward.step(segments, wanted, stop, n_prompt);
    if (outcome == Forward::Outcome::kFailed) {
        Backend& device = model_->device();
        const std::string failure = device.failure();
        device.clear_failure();
        throw Error(ErrorKind::kDevice, device.info().name + " failed while it computed: " + failure +
                                            (device.ok() ? " The next answer may succeed."
                                                         : " Load the model again, or choose another device."));
    }
    if (outcome == Forward::Outcome::kDone) {
        std::int64_t n_tokens = 0;
        for (const Segment& segment : segments) n_tokens += static_cast<std::int64_t>(segment.tokens.size());
        recorder_.record(forward.routing(), n_tokens);
        const DispatchTotals& totals = model_->dispatcher().recorder().all_totals();
        if (n_tokens == 1) steps_us_.push_back(model_->device().now_us() - begin_us);
        if (n_tokens == 1 && !moved) {
            meter_.add(steps_us_.back(), totals);
        } else {
            meter_.pass(totals);
        }
        if (trace_ != nullptr) trace_step(segments);
        model_->learn(forward.routing(), n_tokens);
        publish(Publish::kWhenDue);
    }
    return outcome;
}

bool LocalSession::feed(std::span<const TokenId> tokens, const std::stop_token& stop) {
    const auto n_prompt = static_cast<std::int64_t>(tokens.size());
    while (!tokens.empty()) {
        const std::size_t n =
            std::min<std::size_t>(tokens.size(), static_cast<std::size_t>(model_->forward().max_step()));
        const bool last = n == tokens.size();
        const Segment segment{&cache_, tokens.first(n)};
        if (step({&segment, 1}, last ? Forward::Logits::kLast : Forward::Logits::kNone, stop, n_prompt) !=
            Forward::Outcome::kDone) {
            return false;
        }
        cached_tokens_.insert(cached_tokens_.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
        tokens = tokens.subspan(n);
    }
    return true;
}

std::vector<TokenId> LocalSession::end_tokens() const {
    std::vector<TokenId> ends = model_->spec().eos_tokens;
    const TokenId eos = model_->tokenizer()->eos();
    if (eos >= 0 && std::find(ends.begin(), ends.end(), eos) == ends.end()) ends.push_back(eos);
    return ends;
}

std::span<const float> LocalSession::choosable(std::span<const float> logits, const GenerationRequest& request) {
    if (!request.ignore_end) return logits;
    endless_logits_.assign(logits.begin(), logits.end());
    const auto vocab = static_cast<std::size_t>(model_->spec().vocab_size);
    for (const TokenId end : end_tokens()) {
        if (end < 0 || static_cast<std::size_t>(end) >= vocab) continue;
        for (std::size_t i = static_cast<std::size_t>(end); i < endless_logits_.size(); i += vocab)
            endless_logits_[i] = -std::numeric_limits<float>::infinity();
    }
    return endless_logits_;
}

bool LocalSession::is_end(TokenId token) const {
    const auto& ends = model_->spec().eos_tokens;
    return token == model_->tokenizer()->eos() || std::find(ends.begin(), ends.end(), token) != ends.end();
}

std::string LocalSession::decode(std::span<const TokenId> tokens, bool strip_space) const {
    Utf8Stream stream;
    std::string text;
    for (const TokenId token : tokens) text += stream.push(model_->tokenizer()->piece_bytes(token));
    text += stream.finish();
    if (strip_space && text.starts_with(' ')) text.erase(0, 1);
    return text;
}

void LocalSession::throw_no_probabilities() const {
    throw Error(ErrorKind::kInvalidModel, "The model " + model_->summary().name +
                                              " computed no usable probabilities (all are not a number); its weights "
                                              "seem to be damaged.");
}

GenerationResult LocalSession::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                        std::stop_token stop) {
    started_us_ = require_model().device().now_us();
    validate(request.sampler);
    validate(request.beam);
    if (request.n_answers < 1 || request.n_answers > Forward::kMaxSegments) {
        throw Error(ErrorKind::kInvalidInput, "n_answers is " + std::to_string(request.n_answers) + "; expected 1 to " +
                                                  std::to_string(Forward::kMaxSegments) + ".");
    }
    if (request.n_answers > 1 && request.beam.width > 1) {
        throw Error(ErrorKind::kInvalidInput,
                    "Beam search and several drawn answers exclude each other; set one of them to 1.");
    }
    const std::vector<TokenId> prompt = prompt_tokens(request);
    check_fits(static_cast<std::int64_t>(prompt.size()));
    model_->dispatcher().reset_totals();
    const std::uint64_t reports_before = replanner_->reports().empty() ? 0 : replanner_->reports().back().id;
    const bool moved_before = replanner_->moving();
    steps_us_.clear();
    trace_.reset();
    if (!request.trace_file.empty()) {
        const ExpertGrid& grid = model_->spec().experts;
        TraceHeader header;
        header.model = model_->summary().name;
        header.n_layers = grid.n_layers;
        header.n_experts = grid.n_experts;
        header.n_active = grid.n_active;
        trace_ = std::make_unique<TraceWriter>(request.trace_file, header);
    }

    GenerationResult result;
    result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
    result.seed = request.sampler.seed != 0 ? request.sampler.seed : random_seed();
    result.reused_tokens = reuse_prefix(prompt);
    const auto fresh = std::span<const TokenId>(prompt).subspan(static_cast<std::size_t>(result.reused_tokens));
    if (stop.stop_requested() || !feed(fresh, stop)) {
        result.finish = FinishReason::kStopped;
    } else if (request.beam.width > 1) {
        answer_by_beams(request, on_delta, stop, result);
    } else if (request.n_answers > 1) {
        answer_several(request, on_delta, stop, result);
    } else {
        answer_one(request, on_delta, stop, result);
    }
    report(result);
    measure_overhead();
    if (const std::unique_ptr<TraceWriter> trace = std::move(trace_)) {
        trace->finish();
        result.traced_tokens = trace->n_tokens();
    }
    for (const ReplanReport& replan : replanner_->reports()) {
        if (replan.id > reports_before || (moved_before && replan.id == reports_before))
            result.replans.push_back(replan);
    }
    // A re-plan under way reports its own.
    if (!replanner_->moving()) {
        if (std::string note = model_->source().take_cache_problem(); !note.empty()) result.notes.push_back(note);
    }
    publish(Publish::kNow);
    return result;
}

void LocalSession::answer_one(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              const std::stop_token& stop, GenerationResult& result) {
    Sampler sampler(request.sampler, result.seed);
    Utf8Stream stream;
    bool strip_space = strips_space(request);
    const auto emit = [&](std::string text, TokenId token) {
        if (strip_space && !text.empty()) {
            if (text.front() == ' ') text.erase(0, 1);
            strip_space = false;
        }
        result.text += text;
        if (on_delta) {
            on_delta({std::move(text), token, static_cast<std::int64_t>(result.tokens.size()),
                      result.decode_tokens_per_s, model_->dispatcher().recorder().last_step()});
        }
    };
    while (true) {
        const TokenId token = sampler.sample(choosable(model_->forward().logits(), request), cached_tokens_);
        if (result.tokens.empty()) {
            result.ttft_s = seconds_since(started_us_);
            first_token_us_ = model_->device().now_us();
        }
        if (token < 0) throw_no_probabilities();
        if (is_end(token)) {
            result.finish = FinishReason::kEndOfTurn;
            break;
        }
        result.tokens.push_back(token);
        ++tokens_made_;
        if (result.tokens.size() > 1) {
            result.decode_tokens_per_s = static_cast<double>(result.tokens.size() - 1) / seconds_since(first_token_us_);
        }
        emit(stream.push(model_->tokenizer()->piece_bytes(token)), token);
        if (request.max_tokens > 0 && static_cast<int>(result.tokens.size()) >= request.max_tokens) {
            result.finish = FinishReason::kMaxTokens;
            break;
        }
        if (cache_.size() >= cache_.capacity()) {
            result.finish = FinishReason::kContextFull;
            break;
        }
        if (stop.stop_requested() || !feed({&token, 1}, stop)) {
            result.finish = FinishReason::kStopped;
            break;
        }
    }
    const std::string rest = stream.finish();
    if (!rest.empty()) emit(rest, -1);
}

void LocalSession::answer_by_beams(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                   const std::stop_token& stop, GenerationResult& result) {
    const std::int64_t room = cache_.capacity() - cache_.size() + 1;
    const std::int64_t max_tokens = request.max_tokens > 0 ? std::min<std::int64_t>(request.max_tokens, room) : room;
    BeamSearch search(request.beam, end_tokens(), max_tokens);
    std::vector<KvSequence> beams, next;
    beams.push_back(cache_.fork());
    FinishReason finish = FinishReason::kMaxTokens;
    std::vector<TokenId> tokens;
    std::vector<Segment> segments;
    std::int64_t n_steps = 0;
    while (true) {
        const auto branches = search.advance(choosable(model_->forward().logits(), request), model_->spec().vocab_size);
        if (n_steps++ == 0) {
            result.ttft_s = seconds_since(started_us_);
            first_token_us_ = model_->device().now_us();
        } else {
            result.decode_tokens_per_s = static_cast<double>(n_steps - 1) / seconds_since(first_token_us_);
        }
        if (search.done()) break;
        if (on_delta)
            on_delta({{},
                      branches.front().token,
                      n_steps,
                      result.decode_tokens_per_s,
                      model_->dispatcher().recorder().last_step()});
        next.clear();
        tokens.clear();
        segments.clear();
        for (const BeamSearch::Branch& branch : branches) {
            next.push_back(beams[static_cast<std::size_t>(branch.parent)].fork());
            tokens.push_back(branch.token);
        }
        beams.swap(next);
        next.clear();  // the parents' blocks go back before new ones are asked for
        for (std::size_t b = 0; b < beams.size(); ++b) segments.push_back({&beams[b], {&tokens[b], 1}});
        const Forward::Outcome outcome =
            stop.stop_requested() ? Forward::Outcome::kStopped : step(segments, Forward::Logits::kLast, stop);
        if (outcome != Forward::Outcome::kDone) {
            finish = outcome == Forward::Outcome::kFull ? FinishReason::kContextFull : FinishReason::kStopped;
            search.finish();
            break;
        }
    }
    for (BeamAnswer& beam : search.answers()) {
        Answer answer;
        answer.text = decode(beam.tokens, strips_space(request));
        answer.finish = beam.ended ? FinishReason::kEndOfTurn : finish;
        answer.log_probability = beam.log_probability;
        answer.score = beam.score;
        answer.tokens = std::move(beam.tokens);
        result.answers.push_back(std::move(answer));
    }
    deliver(result, on_delta);
}

void LocalSession::answer_several(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                  const std::stop_token& stop, GenerationResult& result) {
    struct Drawn {
        std::size_t answer;
        KvSequence sequence;
        Sampler sampler;
        std::vector<TokenId> context;  // prompt and answer, for the repeat penalty
    };
    const auto n_answers = static_cast<std::size_t>(request.n_answers);
    const auto vocab = static_cast<std::size_t>(model_->spec().vocab_size);
    result.answers.resize(n_answers);
    const std::span<const float> first = model_->forward().logits();
    std::vector<float> prompt_logits(first.begin(), first.end());
    std::vector<Drawn> live;
    for (std::size_t i = 0; i < n_answers; ++i) {
        result.answers[i].seed = answer_seed(result.seed, i);
        live.push_back({i, cache_.fork(), Sampler(request.sampler, result.answers[i].seed), cached_tokens_});
    }
    std::vector<TokenId> tokens;
    std::vector<Segment> segments;
    std::int64_t n_steps = 0;
    bool from_prompt = true;
    while (!live.empty()) {
        tokens.clear();
        segments.clear();
        std::vector<Drawn> going_on;
        for (std::size_t row = 0; row < live.size(); ++row) {
            Drawn& drawn = live[row];
            Answer& answer = result.answers[drawn.answer];
            const std::span<const float> logits = from_prompt ? std::span<const float>(prompt_logits)
                                                              : model_->forward().logits().subspan(row * vocab, vocab);
            const TokenId token = drawn.sampler.sample(choosable(logits, request), drawn.context);
            if (token < 0) throw_no_probabilities();
            if (is_end(token)) {
                answer.log_probability += log_probability_of(logits, token);
                answer.finish = FinishReason::kEndOfTurn;
                continue;
            }
            answer.tokens.push_back(token);
            answer.log_probability += log_probability_of(logits, token);
            drawn.context.push_back(token);
            if (request.max_tokens > 0 && static_cast<int>(answer.tokens.size()) >= request.max_tokens) {
                answer.finish = FinishReason::kMaxTokens;
            } else if (drawn.sequence.size() >= drawn.sequence.capacity()) {
                answer.finish = FinishReason::kContextFull;
            } else {
                going_on.push_back(std::move(drawn));
            }
        }
        live = std::move(going_on);
        if (n_steps++ == 0) {
            result.ttft_s = seconds_since(started_us_);
            first_token_us_ = model_->device().now_us();
        } else {
            result.decode_tokens_per_s = static_cast<double>(n_steps - 1) / seconds_since(first_token_us_);
        }
        from_prompt = false;
        if (live.empty()) break;
        if (on_delta)
            on_delta({{},
                      live.front().context.back(),
                      n_steps,
                      result.decode_tokens_per_s,
                      model_->dispatcher().recorder().last_step()});
        for (const Drawn& drawn : live) tokens.push_back(drawn.context.back());
        for (std::size_t i = 0; i < live.size(); ++i) segments.push_back({&live[i].sequence, {&tokens[i], 1}});
        const Forward::Outcome outcome =
            stop.stop_requested() ? Forward::Outcome::kStopped : step(segments, Forward::Logits::kLast, stop);
        if (outcome == Forward::Outcome::kDone) continue;
        for (const Drawn& drawn : live) {
            result.answers[drawn.answer].finish =
                outcome == Forward::Outcome::kFull ? FinishReason::kContextFull : FinishReason::kStopped;
        }
        break;
    }
    for (Answer& answer : result.answers) answer.text = decode(answer.tokens, strips_space(request));
    deliver(result, on_delta);
}

void LocalSession::deliver(GenerationResult& result, const TextDeltaFn& on_delta) const {
    if (result.answers.empty()) {
        result.finish = FinishReason::kStopped;
        return;
    }
    const Answer& best = result.answers.front();
    result.text = best.text;
    result.tokens = best.tokens;
    result.finish = best.finish;
    if (on_delta && !best.text.empty()) {
        on_delta({best.text, -1, static_cast<std::int64_t>(best.tokens.size()), result.decode_tokens_per_s,
                  model_->dispatcher().recorder().last_step()});
    }
}

void LocalSession::report(GenerationResult& result) const {
    DeviceReport& report = result.device;
    Backend& device = model_->device();
    if (!device.shares_host_memory()) report.vram_high_water_bytes = device.memory().usage().high_water_bytes;
    report.ram_high_water_bytes = model_->ram().usage().high_water_bytes;
    const DispatchTotals& totals = model_->dispatcher().totals();
    // On the CPU a hit is an expert that is in RAM; which ones those are does not change.
    report.hit_rate = device.shares_host_memory() ? model_->summary().expected_hit_rate : totals.hit_rate();
    report.bytes_copied = totals.bytes_copied;
    if (totals.steps_us > 0) {
        report.dispatch_overhead = model_->dispatcher().recorder().overhead_us() / totals.steps_us;
        report.decision_overhead = model_->dispatcher().deciding_us() / totals.steps_us;
    }
    report.decode_policy = name_of(model_->dispatcher().decode_policy());
    const auto& decisions = model_->dispatcher().decisions();
    report.decisions.assign(decisions.begin(), decisions.end());
    report.guessed_copies = totals.guessed_copies;
    report.used_guesses = totals.used_guesses;
    report.admissions = totals.admissions;
    for (const double us : steps_us_) report.steps_s.push_back(static_cast<float>(us / 1e6));
    if (!steps_us_.empty()) {
        std::vector<double> sorted = steps_us_;
        std::sort(sorted.begin(), sorted.end());
        report.median_step_s = sorted[sorted.size() / 2] / 1e6;
        report.longest_step_s = sorted.back() / 1e6;
    }
    Plan now = replanner_->in_force();
    now.formats = model_->experts().formats();
    model_->basis().describe_formats(now);
    report.mean_bits = now.mean_bits;
}

// Prompts are one segment of several tokens; beams and drawn answers one token each.
void LocalSession::trace_step(std::span<const Segment> segments) {
    std::vector<std::int64_t> positions;
    bool prompt = false;
    for (const Segment& segment : segments) {
        const auto n = static_cast<std::int64_t>(segment.tokens.size());
        prompt |= n > 1;
        for (std::int64_t t = 0; t < n; ++t) positions.push_back(segment.sequence->size() - n + t);
    }
    trace_->add_step(model_->forward().routing(), positions, prompt ? TokenKind::kPrompt : TokenKind::kDecode);
}

// ---------------------------------------------------------------- budgets that move

std::uint64_t LocalSession::post(const std::function<Order(std::uint64_t id)>& make) {
    const std::lock_guard lock(orders_mutex_);
    if (n_layers_ == 0) throw Error(ErrorKind::kInvalidInput, "No model is loaded; open one first.");
    const std::uint64_t id = ++last_id_;
    orders_.push_back(make(id));
    return id;
}

void LocalSession::plan_elsewhere(std::uint64_t id, const ReplanRequest& request, PreviewFn preview) {
    plan_awaited_ |= !preview;
    planning_->start({id, std::move(preview), request, draft()});
}

PlanDraft LocalSession::draft() const {
    PlanDraft draft = replanner_->draft();
    draft.measured = meter_.figures(!model_->device().shares_host_memory());
    return draft;
}

// Once an answer, and for decode alone: a whole forecast takes longer.
void LocalSession::measure_overhead() {
    overhead_us_ = 0;
    if (model_->device().shares_host_memory()) return;  // what the CPU does beside experts says nothing of a GPU
    const MeasuredDecode measured = meter_.figures(true);
    const PlanBasis& basis = model_->basis();
    if (measured.n_steps == 0 || !basis.cost.table().has_accelerator()) return;
    if (!sample_.has_value()) sample_.emplace(basis.demand, basis.popularity);
    const PlanDraft now = replanner_->draft();
    DecodeCosts times(basis.demand, basis.cost, now.decode);
    Forecast told;
    told.decode_tokens_per_s = 1e6 / (sample_->play(now.now, times).us + basis.cost.table().dense_us);
    overhead_us_ = overhead_us(told, measured);
}

bool LocalSession::take_plans() {
    bool any = false;
    while (auto result = planning_->poll()) {
        any = true;
        if (result->preview) {
            result->preview(result->previewed, result->problem);
            continue;
        }
        plan_awaited_ = false;
        if (result->target.has_value()) {
            replanner_->begin(result->id, std::move(*result->target), tokens_made_);
        } else {
            replanner_->refuse(result->id, result->problem, tokens_made_);
        }
    }
    return any;
}

bool LocalSession::between_steps() {
    bool any = take_plans();
    while (!plan_awaited_) {
        Order next;
        {
            const std::lock_guard lock(orders_mutex_);
            if (orders_.empty()) break;
            next = std::move(orders_.front());
            orders_.pop_front();
        }
        next(*replanner_);
        any = true;
    }
    if (replanner_->moving()) {
        meter_.clear();
        overhead_us_ = 0;
        replanner_->between_steps(tokens_made_);
        any = true;
    }
    // Also where the plan came into force outside of here, between two answers.
    const std::int64_t context = replanner_->in_force().context;
    if (context != cache_.capacity() && context >= cache_.size()) cache_.set_capacity(context);
    if (!any) return false;
    const std::lock_guard lock(orders_mutex_);
    reports_.assign(replanner_->reports().begin(), replanner_->reports().end());
    return true;
}

std::size_t LocalSession::index_of(std::int64_t layer, std::int64_t expert) const {
    const std::lock_guard lock(orders_mutex_);
    if (layer < 0 || layer >= n_layers_ || expert < 0 || expert >= n_experts_) {
        throw Error(ErrorKind::kInvalidInput, "There is no expert " + std::to_string(expert) + " in layer " +
                                                  std::to_string(layer) + " of the loaded model; it has " +
                                                  std::to_string(n_layers_) + " layers of " +
                                                  std::to_string(n_experts_) + ".");
    }
    return static_cast<std::size_t>(layer * n_experts_ + expert);
}

Snapshot LocalSession::snapshot() const {
    looked_at_ms_.store(now_ms(), std::memory_order_relaxed);
    return board_.latest();
}

LayerEvents LocalSession::layer_events(std::uint64_t i) const {
    std::shared_ptr<const Recorder> events;
    {
        const std::lock_guard lock(orders_mutex_);
        events = events_;
    }
    return events ? events->copy(i) : LayerEvents{i, {}, {}};
}

std::vector<float> LocalSession::planned_popularity() const {
    const std::lock_guard lock(orders_mutex_);
    return popularity_;
}

void LocalSession::request_preview(const ReplanRequest& request, PreviewFn done) {
    post([&](std::uint64_t) {
        return [this, request, done = std::move(done)](Replanner&) { plan_elsewhere(0, request, done); };
    });
}

ReplanPreview LocalSession::preview(const ReplanRequest& request) {
    static_cast<void>(require_model());
    return draft().preview(request);
}

std::uint64_t LocalSession::replan(const ReplanRequest& request) {
    return post([&](std::uint64_t id) { return [this, id, request](Replanner&) { plan_elsewhere(id, request, {}); }; });
}

void LocalSession::cancel_replan() {
    post([](std::uint64_t) { return [](Replanner& replanner) { replanner.cancel(); }; });
}

std::uint64_t LocalSession::pin_expert(std::int64_t layer, std::int64_t expert, bool pinned) {
    const std::size_t index = index_of(layer, expert);
    return post([&](std::uint64_t id) {
        return [this, id, index, pinned](Replanner& replanner) { replanner.pin(id, index, pinned, tokens_made_); };
    });
}

std::uint64_t LocalSession::evict_expert(std::int64_t layer, std::int64_t expert) {
    const std::size_t index = index_of(layer, expert);
    return post([&](std::uint64_t id) {
        return [this, id, index](Replanner& replanner) { replanner.evict(id, index, tokens_made_); };
    });
}

std::uint64_t LocalSession::set_expert_format(std::int64_t layer, std::int64_t expert, kernels::WeightType format) {
    const std::size_t index = index_of(layer, expert);
    return post([&](std::uint64_t id) {
        return
            [this, id, index, format](Replanner& replanner) { replanner.set_format(id, index, format, tokens_made_); };
    });
}

std::vector<ReplanReport> LocalSession::replans() const {
    const std::lock_guard lock(orders_mutex_);
    return reports_;
}

void LocalSession::advance(std::stop_token stop) {
    static_cast<void>(require_model());
    bool any = between_steps();
    while ((planning_->busy() || replanner_->moving()) && !stop.stop_requested()) {
        // First what a plan may make needless.
        if (planning_->busy()) {
            planning_->wait(stop);
        } else {
            replanner_->finish(stop);
        }
        any |= between_steps();
        publish(Publish::kWhenDue);
    }
    between_steps();
    {
        const std::lock_guard lock(orders_mutex_);
        reports_.assign(replanner_->reports().begin(), replanner_->reports().end());
    }
    if (any) publish(Publish::kNow);  // who looks next sees what is in force
}

void LocalSession::reset_conversation() {
    cache_.truncate(0);
    cached_tokens_.clear();
    recorder_.reset();
    publish(Publish::kNow);
}

void LocalSession::publish(Publish when) {
    const auto now = Clock::now();
    if (when == Publish::kWhenDue && now - last_published_ < kPublishInterval) return;
    last_published_ = now;
    Snapshot snapshot;
    recorder_.fill(snapshot);
    snapshot.revision = ++revision_;
    const bool looked_at =
        now_ms() - looked_at_ms_.load(std::memory_order_relaxed) < std::chrono::milliseconds(kLookedAt).count();
    if (model_ != nullptr && (looked_at || when == Publish::kNow)) {
        filler_.fill(*model_, snapshot);
    }
    snapshot.context_used = cache_.size();
    snapshot.context_size = cache_.capacity();
    snapshot.decode_overhead_us = overhead_us_;
    board_.publish(std::move(snapshot));
}

}  // namespace offstage::engine
