#pragma once
// Conversations of a tiny model without a tokenizer, read and continued greedily as
// LocalSession does, so that answers can be compared bit by bit.

#include <algorithm>
#include <random>
#include <span>
#include <stop_token>
#include <vector>

#include <QtTest>

#include "engine/run/loaded_model.h"
#include "tests/engine/test_models.h"

namespace offstage::test {

using Tokens = std::vector<engine::TokenId>;

inline constexpr std::int64_t kVocab = 45;  // no tiny model has fewer

// With n_prompt of a long prompt no result depends on the steps in which tokens are read
// (SumOrder::kMany), so that all can be compared bit by bit.
inline constexpr std::int64_t kInAnySteps = 1000;

// Its times are the profile's: nothing is measured when a model is opened.
inline constexpr const char* kEmulatedCard = "emulated:rtx-3060-desktop";

inline Tokens someText(std::int64_t n, int which) {
    std::mt19937 random(static_cast<unsigned>(which));
    Tokens tokens;
    for (std::int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<engine::TokenId>(random() % kVocab));
    return tokens;
}

inline Tokens joined(Tokens first, const Tokens& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

inline engine::LoadRequest requestFor(const QString& model, const QString& device = QStringLiteral("cpu"),
                                      std::int64_t context = 512) {
    engine::LoadRequest request;
    request.checks_costs = false;
    request.model = tinyModel(model);
    request.device = device.toStdString();
    request.compute = engine::ComputeMode::kF32;
    request.context = context;
    request.n_threads = 1;
    request.learn_placement = false;
    return request;
}

struct GreedyAnswer {
    std::int64_t reused = 0;
    std::int64_t prefilled = 0;  // tokens of the prompt that steps computed
    Tokens tokens;
    std::vector<float> logits;  // of the prompt's last token and of each of `tokens`
    Tokens whole;               // prompt and answer

    bool isLike(const GreedyAnswer& other) const { return logits == other.logits && tokens == other.tokens; }
};

// One model; where its conversations are, a test says.
struct GreedyReader {
    explicit GreedyReader(const engine::LoadRequest& request)
        : model(request, engine::LoadedModel::Text::kNotNeeded, engine::LoadProgressFn{}, std::stop_token{}) {}
    virtual ~GreedyReader() = default;

    virtual engine::KvSequence& sequence() = 0;
    virtual void wasRead(const engine::Segment& segment) = 0;

    // Of a prompt of which `reused` tokens are in the sequence.
    GreedyAnswer continued(const Tokens& prompt, std::int64_t reused, int n_tokens) {
        GreedyAnswer answer;
        answer.reused = reused;
        answer.prefilled = std::ssize(prompt) - reused;
        std::span<const engine::TokenId> left = std::span(prompt).subspan(static_cast<std::size_t>(reused));
        const bool has_states = model.kv().has_states();
        if (has_states && left.size() > 8) {
            feed(answer, left.first(left.size() - 8), false);
            left = left.last(8);
            sequence().checkpoint();
        }
        feed(answer, left, true);
        if (!has_states) sequence().checkpoint();
        answer.whole = prompt;
        for (int i = 0; i < n_tokens; ++i) {
            const std::span<const float> last = model.forward().logits();
            const auto token = static_cast<engine::TokenId>(std::max_element(last.begin(), last.end()) - last.begin());
            answer.tokens.push_back(token);
            answer.whole.push_back(token);
            feed(answer, {&token, 1}, true);
        }
        return answer;
    }
    void feed(GreedyAnswer& answer, std::span<const engine::TokenId> tokens, bool keeps_logits) {
        using engine::Forward;
        const engine::Segment segment{&sequence(), tokens};
        const auto outcome = model.forward().step({&segment, 1}, Forward::Logits::kLast, {}, kInAnySteps);
        QTest::qVerify(outcome == Forward::Outcome::kDone, "a step is made", "", __FILE__, __LINE__);
        wasRead(segment);
        const std::span<const float> logits = model.forward().logits();
        if (keeps_logits) answer.logits.insert(answer.logits.end(), logits.begin(), logits.end());
    }

    engine::LoadedModel model;
};

}  // namespace offstage::test
