#include "engine/run/model_drafter.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/json.h"
#include "engine/run/loaded_model.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

LoadRequest request_of_drafter(const LoadRequest& request) {
    LoadRequest own;
    own.model = request.draft_model;
    own.device = "cpu";
    own.n_threads = request.n_threads;
    own.context = request.context;
    own.compute = request.compute;
    own.kv = request.kv;
    own.cache_directory = request.cache_directory;
    own.quant_cache_directory = request.quant_cache_directory;
    own.checks_costs = request.checks_costs;
    own.times_product = request.times_product;
    own.learn_placement = false;
    return own;
}

}  // namespace

ModelDrafter::ModelDrafter(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop)
    : model_(std::make_unique<LoadedModel>(request_of_drafter(request), LoadedModel::Text::kWanted, progress, stop)),
      sequence_(model_->new_sequence()) {}

ModelDrafter::~ModelDrafter() = default;

void ModelDrafter::require_tokens_of(const LoadedModel& model) {
    n_tokens_ = std::min(model.spec().vocab_size, model_->spec().vocab_size);
    const Tokenizer* const theirs = model.tokenizer();
    const Tokenizer* const mine = model_->tokenizer();
    if (theirs == nullptr || mine == nullptr) return;
    for (std::int64_t i = 0; i < n_tokens_; ++i) {
        const auto token = static_cast<TokenId>(i);
        const std::string a = mine->piece_name(token), b = theirs->piece_name(token);
        if (a == b) continue;
        throw Error(ErrorKind::kInvalidInput, messages::draft_model_has_other_tokens(model_->name(), model.name(), i,
                                                                                     in_quotes(a), in_quotes(b)));
    }
}

std::size_t ModelDrafter::n_common(std::span<const TokenId> tokens) const {
    const std::span<const WrittenToken> held = sequence_.written();
    const auto [mine, its] = std::ranges::mismatch(held, tokens, {}, &WrittenToken::token);
    return std::min(as_size(mine - held.begin()), tokens.size() - 1);  // the last one has logits
}

double ModelDrafter::bytes_read(std::span<const TokenId> tokens, std::size_t n_drafted) {
    const std::size_t n_new = tokens.size() - n_common(tokens);
    const auto n_steps = static_cast<double>(n_drafted + n_new / as_size(model_->forward().max_step()));
    return n_steps * static_cast<double>(model_->reads().total());
}

bool ModelDrafter::step(std::span<const TokenId> tokens, bool with_logits, const std::stop_token& stop) {
    const Segment segment{&sequence_, tokens};
    const auto wanted = with_logits ? Forward::Logits::kLast : Forward::Logits::kNone;
    return model_->forward().step({&segment, 1}, wanted, stop) == Forward::Outcome::kDone;
}

std::size_t ModelDrafter::draft(std::span<const TokenId> tokens, std::span<TokenId> draft,
                                const std::stop_token& stop) {
    if (draft.empty() || tokens.empty()) return 0;
    if (static_cast<std::int64_t>(tokens.size() + draft.size()) > sequence_.capacity()) return 0;
    if (std::ranges::any_of(tokens, [&](TokenId token) { return token >= n_tokens_; })) return 0;
    auto at = as_size(sequence_.truncate(static_cast<std::int64_t>(n_common(tokens))));
    while (at < tokens.size()) {
        const std::size_t n = std::min(tokens.size() - at, as_size(model_->forward().max_step()));
        if (!step(tokens.subspan(at, n), at + n == tokens.size(), stop)) return 0;
        at += n;
    }
    sequence_.checkpoint();  // the next draft begins here: its states and windows stay
    for (std::size_t i = 0; i < draft.size(); ++i) {
        const std::span<const float> logits = model_->forward().logits().first(as_size(n_tokens_));
        draft[i] = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
        if (i + 1 < draft.size() && !step(draft.subspan(i, 1), true, stop)) return 0;
    }
    return draft.size();
}

}  // namespace offstage::engine
