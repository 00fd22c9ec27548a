#include "engine/run/local_session.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "engine/error.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPublishInterval = std::chrono::milliseconds(16);

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
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
    auto model = std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, progress, stop);
    cache_ = KvCache(model->config(), model->summary().context);
    recorder_.reshape(model->config().n_layers, model->config().n_experts, model->config().n_active);
    model_ = std::move(model);
    publish(Publish::kNow);
    return model_->summary();
}

void LocalSession::unload() {
    model_.reset();
    cache_ = KvCache();
    cached_tokens_.clear();
    recorder_.reshape(0, 0, 0);
    publish(Publish::kNow);
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
    for (const ChatMessage& message : messages) {
        const std::size_t invalid = find_invalid_utf8(message.content);
        if (invalid == std::string::npos) continue;
        throw Error(ErrorKind::kInvalidInput, "The " + std::string(name_of(message.role)) +
                                                  " message is not UTF-8 text: byte " + std::to_string(invalid + 1) +
                                                  " starts no character.");
    }
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
    if (!request.raw) return render(request.messages);
    const Tokenizer& tokenizer = require_tokenizer();
    std::vector<TokenId> tokens = tokenizer.encode(request.raw_prompt);
    if (tokenizer.adds_bos()) tokens.insert(tokens.begin(), tokenizer.bos());
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

bool LocalSession::feed(std::span<const TokenId> tokens, const std::stop_token& stop) {
    while (!tokens.empty()) {
        const std::size_t n = std::min<std::size_t>(tokens.size(), Forward::kMaxStep);
        const bool last = n == tokens.size();
        Forward& forward = model_->forward();
        if (!forward.step(tokens.first(n), cache_, last ? Forward::Logits::kLast : Forward::Logits::kNone, stop)) {
            return false;
        }
        recorder_.record(forward.routing(), static_cast<std::int64_t>(n));
        cached_tokens_.insert(cached_tokens_.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
        publish(Publish::kWhenDue);
        tokens = tokens.subspan(n);
    }
    return true;
}

bool LocalSession::is_end(TokenId token) const {
    const auto& ends = model_->config().eos_tokens;
    return token == model_->tokenizer()->eos() || std::find(ends.begin(), ends.end(), token) != ends.end();
}

GenerationResult LocalSession::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                        std::stop_token stop) {
    const auto start = Clock::now();
    const LoadedModel& model = require_model();
    validate(request.sampler);
    const std::vector<TokenId> prompt = prompt_tokens(request);
    check_fits(static_cast<std::int64_t>(prompt.size()));

    GenerationResult result;
    result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
    result.seed = request.sampler.seed != 0 ? request.sampler.seed : random_seed();
    result.reused_tokens = reuse_prefix(prompt);
    Sampler sampler(request.sampler, result.seed);
    Utf8Stream stream;
    bool strip_space = !request.raw;  // sentencepiece begins a text with a space that nobody typed

    const auto emit = [&](std::string text, TokenId token) {
        if (strip_space && !text.empty()) {
            if (text.front() == ' ') text.erase(0, 1);
            strip_space = false;
        }
        result.text += text;
        if (on_delta) {
            on_delta(
                {std::move(text), token, static_cast<std::int64_t>(result.tokens.size()), result.decode_tokens_per_s});
        }
    };

    std::span<const TokenId> next(prompt);
    next = next.subspan(static_cast<std::size_t>(result.reused_tokens));
    Clock::time_point first_token;
    TokenId token = -1;
    while (true) {
        if (stop.stop_requested() || !feed(next, stop)) {
            result.finish = FinishReason::kStopped;
            break;
        }
        token = sampler.sample(model_->forward().logits(), cached_tokens_);
        if (result.tokens.empty()) {
            result.ttft_s = seconds_since(start);
            first_token = Clock::now();
        }
        if (token < 0) {
            throw Error(ErrorKind::kInvalidModel, "The model " + model.summary().name +
                                                      " computed no usable probabilities (all are not a number); its "
                                                      "weights seem to be damaged.");
        }
        if (is_end(token)) {
            result.finish = FinishReason::kEndOfTurn;
            break;
        }
        result.tokens.push_back(token);
        if (result.tokens.size() > 1) {
            result.decode_tokens_per_s = static_cast<double>(result.tokens.size() - 1) / seconds_since(first_token);
        }
        emit(stream.push(model.tokenizer()->piece_bytes(token)), token);
        if (request.max_tokens > 0 && static_cast<int>(result.tokens.size()) >= request.max_tokens) {
            result.finish = FinishReason::kMaxTokens;
            break;
        }
        if (cache_.size() >= cache_.capacity()) {
            result.finish = FinishReason::kContextFull;
            break;
        }
        next = std::span<const TokenId>(&token, 1);
    }
    const std::string rest = stream.finish();
    if (!rest.empty()) emit(rest, -1);
    publish(Publish::kNow);
    return result;
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
    snapshot.context_used = cache_.size();
    snapshot.context_size = cache_.capacity();
    board_.publish(std::move(snapshot));
}

}  // namespace offstage::engine
