#pragma once
// Answers of whole models on a CUDA that runs on the host, step by step, with what the
// engine recorded of them.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/loaded_model.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

namespace offstage::test {

// Every CUDA thread is a fiber here, and sanitizers make it ten times slower still: they
// run a shorter play.
inline constexpr int kTokens = kSanitized ? 2 : 6;

struct Greedy {
    std::vector<engine::TokenId> tokens;
    std::vector<std::vector<float>> logits;
};

inline Greedy greedy(engine::LoadedModel& model, const std::vector<engine::TokenId>& prompt, int n_tokens = kTokens) {
    engine::KvSequence sequence = model.new_sequence();
    Greedy result;
    std::span<const engine::TokenId> next(prompt);
    for (int i = 0; i < n_tokens; ++i) {
        const engine::Segment segment{&sequence, next};
        if (model.forward().step({&segment, 1}, engine::Forward::Logits::kLast, {}) != engine::Forward::Outcome::kDone)
            return {};
        const auto logits = model.forward().logits();
        result.logits.emplace_back(logits.begin(), logits.end());
        result.tokens.push_back(
            static_cast<engine::TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        next = std::span<const engine::TokenId>(result.tokens).last(1);
    }
    return result;
}

struct RecordedAnswer {
    std::vector<std::vector<float>> logits;
    std::vector<std::vector<std::int32_t>> routing;
    std::vector<int> waits;  // of the engine's thread for the device
    std::vector<std::vector<std::uint64_t>> events;
    std::vector<std::vector<std::uint64_t>> uses;
    std::vector<double> habits;
    std::vector<engine::TokenId> tokens;
    int n_ahead = 0;
    // For each step: started and built graphs, calls of the runtime, single kernels.
    std::vector<int> replays, built, calls, launches;
};

// All but times.
inline void addEvents(const engine::Recorder& recorder, std::uint64_t first, RecordedAnswer& answer) {
    for (std::uint64_t i = first; i < recorder.n_events(); ++i) {
        const engine::LayerEvent& event = recorder.event(i);
        answer.events.push_back({static_cast<std::uint64_t>(event.layer), static_cast<std::uint64_t>(event.n_tokens),
                                 event.policy, event.is_prefill, event.bytes_copied, event.device_read_bytes,
                                 event.guessed_copies, event.used_guesses, event.admissions, event.neurons});
        for (std::size_t n = 0; n < event.n_assignments; ++n) {
            const engine::AssignmentEvent& a = recorder.assignment(i, n);
            for (const std::uint64_t value : {std::uint64_t{a.expert}, std::uint64_t{a.target}, std::uint64_t{a.place},
                                              std::uint64_t{a.format}, std::uint64_t{a.n_tokens}}) {
                answer.events.back().push_back(value);
            }
        }
    }
}

inline void addUses(engine::LoadedModel& model, RecordedAnswer& answer) {
    std::vector<engine::ExpertUse> uses;
    model.dispatcher().recorder().uses(uses);
    for (const engine::ExpertUse& use : uses) answer.uses.push_back({use.tokens, use.resident_tokens, use.last_step});
}

// Of the demo model's golden answers.
inline std::vector<engine::TokenId> goldenPrompt(int i) {
    const QJsonObject golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
    const QJsonArray cases = golden[QLatin1String("cases")].toArray();
    return tokensOf(cases[i].toObject()[QLatin1String("tokens")].toArray());
}

inline std::unique_ptr<engine::LoadedModel> loadModel(const engine::LoadRequest& request) {
    keepCosts(request);
    return std::make_unique<engine::LoadedModel>(request, engine::LoadedModel::Text::kNotNeeded,
                                                 engine::LoadProgressFn{}, std::stop_token{});
}

// Closes the model; the test fails if this CUDA has found a mistake.
inline void closeModel(std::unique_ptr<engine::LoadedModel>& model) {
    model.reset();
    if (!problems_on_host().isEmpty()) QTest::qFail(qPrintable(problems_on_host()), __FILE__, __LINE__);
}

inline engine::LoadRequest onHostLayer(const QTemporaryDir& cache, const QString& policy, int megabytes) {
    engine::LoadRequest request;
    request.model = demoModel();
    request.context = 256;
    request.device = "cuda";
    request.dispatch = engine::parse_dispatch(policy.toStdString());
    request.vram_bytes = static_cast<std::uint64_t>(megabytes) << 20;
    request.cache_directory = cache.path().toStdString();
    request.checks_costs = false;
    request.quant_cache_directory = cache.filePath("quantized").toStdString();
    request.opens_device = open_on_host;
    return request;
}

}  // namespace offstage::test
