#pragma once
// One conversation, token by token, on a model whose plan changes meanwhile: shared by
// tests of re-planning.

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/emulated_accelerator.h"
#include "engine/error.h"
#include "engine/experts/interleave_expert.h"
#include "engine/run/loaded_model.h"
#include "engine/run/replanner.h"
#include "tests/engine/test_models.h"

namespace offstage::test {

inline engine::TokenId best(std::span<const float> logits) {
    return static_cast<engine::TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Between two steps, as a session's request; planned at once.
inline void begin_replan(engine::Replanner& replanner, std::uint64_t id, const engine::ReplanRequest& request,
                         std::int64_t at_token) {
    engine::Plan target;
    try {
        target = replanned(replanner.inputs(), request);
    } catch (const engine::Error& error) {
        return replanner.refuse(id, error.message(), at_token);
    }
    replanner.begin(id, std::move(target), at_token);
}

// A model, the objects that move its experts, and one conversation.
struct Play {
    explicit Play(const engine::LoadRequest& request)
        : model(request, engine::LoadedModel::Text::kWanted, {}, {}), replanner(model), sequence(model.new_sequence()) {
        model.forward().set_between_layers([this] { replanner.between_layers(); });
        replanner.set_tokens_in_use([this] { return sequence.size(); });
    }
    // Logits of the last token; empty: failed.
    std::span<const float> step(std::span<const engine::TokenId> tokens) {
        const double begin_us = model.device().now_us();
        replanner.between_steps(made);
        if (replanner.in_force().context != sequence.capacity()) sequence.set_capacity(replanner.in_force().context);
        if (before_step) before_step();
        const engine::Segment segment{&sequence, tokens};
        if (model.forward().step({&segment, 1}, engine::Forward::Logits::kLast, {}) !=
            engine::Forward::Outcome::kDone) {
            return {};
        }
        if (tokens.size() == 1) steps_us.push_back(model.device().now_us() - begin_us);
        model.runtime().learn(model.forward().routing(), static_cast<std::int64_t>(tokens.size()));
        ++made;
        return model.forward().logits();
    }
    void checkBudgets() {
        const engine::ArenaUsage vram = model.device().memory().usage();
        const engine::ArenaUsage ram = model.ram().usage();
        QVERIFY2(vram.high_water_bytes <= vram.budget_bytes && ram.high_water_bytes <= ram.budget_bytes,
                 "a budget was passed");
    }
    // No step, including a re-plan's work before and in it, may be longer than three
    // times the median plus the copy of one expert in the master's format. For fully
    // accounted devices, where times are deterministic.
    void checkSteps() {
        const auto& device = dynamic_cast<const engine::EmulatedAccelerator&>(model.device());
        QVERIFY(device.info().emulated_host && !steps_us.empty());
        std::vector<double> sorted = steps_us;
        std::sort(sorted.begin(), sorted.end());
        const double median = sorted[sorted.size() / 2];
        const double copy = device.profile().copy_us(static_cast<double>(model.demand().expert_bytes));
        const QString figures = QStringLiteral("%1 steps: median %2 us, longest %3 us, one expert's copy %4 us")
                                    .arg(sorted.size())
                                    .arg(median, 0, 'f', 1)
                                    .arg(sorted.back(), 0, 'f', 1)
                                    .arg(copy, 0, 'f', 1);
        qInfo("%s", qPrintable(figures));
        QVERIFY2(sorted.back() <= 3 * median + copy, qPrintable(figures));
    }

    engine::LoadedModel model;
    engine::Replanner replanner;
    engine::KvSequence sequence;
    std::int64_t made = 0;
    std::vector<double> steps_us;       // of one token each, by the device's clock
    std::function<void()> before_step;  // when places and formats of the step are settled
};

// The demo model and its budgets, with separate caches.
struct ReplanSetup {
    engine::LoadRequest on(const std::string& device, const std::string& model = demoModel()) const {
        engine::LoadRequest request;
        request.model = model;
        request.device = device;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = quantized_.path().toStdString();
        request.context = 2560;
        request.n_threads = 1;  // several models at once, each with a thread that packs
        request.prefetch = engine::PrefetchMode::kOff;
        return request;
    }
    void measureModel() {
        const Play play(on("emulated:rtx-3060-desktop"));
        const engine::Plan& plan = play.model.plan();
        expert_bytes_ = play.model.demand().expert_bytes;
        // For steps of 512 tokens, as if not all experts fit.
        const std::int64_t longer = std::max<std::int64_t>(0, plan.max_step - 512);
        fixed_bytes_ = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes -
                       static_cast<std::uint64_t>(longer) * play.model.demand().workspace_bytes_per_token;
        dense_bytes_ = plan.dense_bytes;
        host_fixed_bytes_ = play.model.demand().host_fixed_bytes;
        const auto golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
        prompt_ = tokensOf(golden[QLatin1String("cases")].toArray()[0].toObject()[QLatin1String("tokens")].toArray());
    }
    // VRAM for everything except experts, and for this many experts, including staging.
    std::uint64_t vramFor(std::int64_t n) const {
        const std::int64_t staging = n < 64 ? 2 : 0;
        return fixed_bytes_ + static_cast<std::uint64_t>(n + staging) * expert_bytes_ + 4096;
    }
    // Sets the formats at once, between two steps: for references that compute on the
    // CPU.
    static void setFormats(engine::LoadedModel& model, const std::vector<kernels::WeightType>& formats) {
        engine::ExpertStore& experts = model.experts();
        for (std::size_t i = 0; i < experts.size(); ++i) {
            if (experts.format(i) == formats[i]) continue;
            const engine::ExpertKey key = experts.key(i);
            std::byte* block = experts.copies().prepare_ram(i, formats[i]);
            model.source().pack(engine::LayerIndex{key.layer}, engine::ExpertIndex{key.expert}, formats[i], block,
                                model.pool());
            engine::interleave_expert(experts.ram_layout(formats[i]), block, model.pool());
            experts.copies().commit(i, true, false);
        }
    }

    QTemporaryDir cache_, quantized_;
    std::uint64_t expert_bytes_ = 0, fixed_bytes_ = 0, dense_bytes_ = 0, host_fixed_bytes_ = 0;
    std::vector<engine::TokenId> prompt_;
};

}  // namespace offstage::test
